"""Traces for tests."""

import granchain as gc


def changed(trace, **changes):
    """Return a new trace with changed arguments."""
    arguments = {
        "time": trace.time,
        "force": trace.sensor_force,
        "beads": trace.sensor_bead,
        "about": trace.about,
    }
    return gc.Trace(**{**arguments, **changes})
