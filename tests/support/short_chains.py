"""Short chains of twelve or twenty beads, which run in some milliseconds."""

import granchain as gc

SHORT = {"chain.beads": 12, "sensors.beads": [3, 6, 9], "sensors.contacts": []}
SHORT |= {"snapshots": None, "time.end": 2e-4, "time.step": "fast"}
# The same for a command line, which stores the snapshots.
AS_OPTIONS = [f"--set={key}={value}" for key, value in SHORT.items() if key != "snapshots"]


def short(**changes):
    """Return the case steel-chain with twelve beads."""
    return gc.load_case("steel-chain").replace(**(SHORT | changes))


def elastic(**changes):
    """Return the elastic chain with twenty beads and a matching end time."""
    end = gc.load_case("steel-chain-hertz").time.end
    own = SHORT | {"chain.beads": 20, "sensors.beads": [5, 15], "time.end": end}
    return gc.load_case("steel-chain-hertz").replace(**(own | changes))
