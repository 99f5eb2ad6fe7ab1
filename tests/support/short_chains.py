"""Short chains: twelve beads, or twenty, that run in some milliseconds."""

import granchain as gc

SHORT = {"chain.beads": 12, "sensors.beads": [3, 6, 9], "sensors.contacts": []}
SHORT |= {"snapshots": None, "time.end": 2e-4, "time.step": "fast"}
# The same for a command line, which keeps the snapshots.
AS_OPTIONS = [f"--set={key}={value}" for key, value in SHORT.items() if key != "snapshots"]


def short(**changes):
    """The steel chain, of twelve beads."""
    return gc.load_case("steel-chain").replace(**(SHORT | changes))


def elastic(**changes):
    """The elastic chain, of twenty beads and as long as it is."""
    end = gc.load_case("steel-chain-hertz").time.end
    own = SHORT | {"chain.beads": 20, "sensors.beads": [5, 15], "time.end": end}
    return gc.load_case("steel-chain-hertz").replace(**(own | changes))
