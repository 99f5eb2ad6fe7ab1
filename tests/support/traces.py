"""Traces of tests."""

import granchain as gc


def changed(trace, **changes):
    """A trace with other arguments, as a new one."""
    arguments = {
        "time": trace.time,
        "force": trace.sensor_force,
        "beads": trace.sensor_bead,
        "about": trace.about,
    }
    return gc.Trace(**{**arguments, **changes})
