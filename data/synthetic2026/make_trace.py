"""Make the synthetic trace of tests and documentation anew: a run of the case steel-chain, read by
a sensor with noise. No experiment.

    python data/synthetic2026/make_trace.py FILE

writes FILE as a four-channel oscilloscope would have exported it, in volts. The folder then holds
what `granchain traces import FILE --kind synthetic` makes of it.
"""

import sys
from pathlib import Path

import numpy as np

import granchain as gc

# Four channels: the first and the last sensor of the case, and two between.
BEADS = (9, 24, 40, 63)
# Made up, and true of no instrument: what the import is told is 0.02 V/N, so that the calibration
# is 3 % off.
GAIN, NOISE, INTERVAL, BEFORE, SEED = 0.0194, 0.15, 1e-6, 40, 2026
# Volts of a step of the made-up converter.
STEP = 0.0005


def oscilloscope_file() -> str:
    """The text of the file."""
    result = gc.run(gc.load_case("steel-chain"))
    columns = [int(np.flatnonzero(result.sensor_bead == bead)[0]) for bead in BEADS]
    # The recorder had been running for a while when the striker came: a stretch without force, in
    # front.
    interval = float(result.time[-1] - result.time[0]) / (len(result.time) - 1)
    quiet = round(BEFORE * INTERVAL / interval)
    force = np.vstack([np.zeros((quiet, len(BEADS))), result.sensor_force[:, columns]])
    time, volts = gc.Sensor(interval=INTERVAL, noise=NOISE, gain=GAIN).read(
        interval * np.arange(len(force)), force, seed=SEED
    )
    volts = STEP * np.round(volts / STEP)
    lines = [
        "Model,SYNTHETIC - no instrument",
        "Firmware Version,case steel-chain with made-up noise and gain; no experiment",
        f"Record Length,{len(time)}",
        f"Sample Interval,{INTERVAL:g}",
        "Horizontal Units,s",
        "Vertical Units,V",
        "",
        ",".join(["TIME", *(f"Bead {bead}" for bead in BEADS)]),
    ]
    # Its clock starts when it likes.
    lines += [
        ",".join([f"{t - 1.3e-5:.6e}", *(f"{v:.4f}" for v in row)])
        for t, row in zip(time, volts, strict=True)
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(oscilloscope_file())
