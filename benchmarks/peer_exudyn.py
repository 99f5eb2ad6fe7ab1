"""The chain in Exudyn, in a separate process and environment.

The input is JSON on standard input, and the output is JSON on standard output. Masses have one
coordinate. A connector between neighbours computes the force with a symbolic user function, which
Exudyn evaluates in C++. The integrator is Exudyn's explicit velocity Verlet. Timed runs write
nothing and have no sensors.
"""

import itertools
import json
import sys
import time

import exudyn as exu
import numpy as np
from exudyn.advancedUtilities import CreateSymbolicUserFunction
from exudyn.itemInterface import (
    CoordinateSpringDamper,
    MarkerNodeCoordinate,
    Mass1D,
    Node1D,
    SensorNode,
)


def chain(mbs, asked):
    """Return nodes, contacts, and the force function, which must outlive the run."""
    symbolic, stiffness = exu.symbolic, asked["stiffness"]

    def contact(mbs, t, item, u, v, k, d, offset):
        gap = symbolic.max(-u, 0.0)
        return -stiffness * gap * symbolic.sqrt(gap)

    force = CreateSymbolicUserFunction(
        mbs,
        function=contact,
        userFunctionName="springForceUserFunction",
        itemTypeName="ObjectConnectorCoordinateSpringDamper",
    )
    speeds = [asked["speed"], *[0.0] * (asked["n_bodies"] - 1)]
    nodes = [
        mbs.AddNode(
            Node1D(referenceCoordinates=[0.0], initialCoordinates=[0.0], initialVelocities=[speed])
        )
        for speed in speeds
    ]
    for node in nodes:
        mbs.AddObject(Mass1D(nodeNumber=node, mass=asked["mass"]))
    markers = [mbs.AddMarker(MarkerNodeCoordinate(nodeNumber=node, coordinate=0)) for node in nodes]
    for pair in itertools.pairwise(markers):
        mbs.AddObject(
            CoordinateSpringDamper(markerNumbers=list(pair), springForceUserFunction=force)
        )
    return force, nodes


def run(asked, sensor=None):
    """Return final displacements and velocities, and seconds.

    With `sensor`, also return the force at a bead at each step.
    """
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    _force, nodes = chain(mbs, asked)
    near = [] if sensor is None else nodes[sensor - 1 : sensor + 2]
    kind = exu.OutputVariableType.Coordinates
    sensors = [
        mbs.AddSensor(
            SensorNode(
                nodeNumber=node, storeInternal=True, writeToFile=False, outputVariableType=kind
            )
        )
        for node in near
    ]
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = asked["n_steps"]
    settings.timeIntegration.endTime = asked["n_steps"] * asked["time_step"]
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.explicit.computeEndOfStepAccelerations = False
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = asked["time_step"]
    settings.show.statistics = False
    begin = time.thread_time()
    mbs.SolveDynamic(
        settings, solverType=exu.DynamicSolverType.VelocityVerlet, showCausingItems=False
    )
    taken = time.thread_time() - begin
    u, v = mbs.systemData.GetODE2Coordinates(), mbs.systemData.GetODE2Coordinates_t()
    before, here, after = (
        (mbs.GetSensorStoredData(number)[:, 1] for number in sensors)
        if sensors
        else np.zeros((3, 1))
    )
    left, right = np.maximum(before - here, 0.0), np.maximum(here - after, 0.0)
    return u, v, taken, 0.5 * asked["stiffness"] * (left * np.sqrt(left) + right * np.sqrt(right))


def answer(asked):
    """Return the final state, the seconds of each run, and the force at a bead if requested."""
    runs = [run(asked) for _ in range(asked["repeats"])]
    u, v, _, _ = runs[-1]
    found = {
        "version": exu.config.Version(),
        "seconds": [taken for _, _, taken, _ in runs],
        "u": list(u),
        "v": list(v),
    }
    if asked["sensor"] is not None:
        found["force"] = list(run(asked, asked["sensor"])[-1])
    return found


if __name__ == "__main__":
    reply = answer(json.load(sys.stdin))
    print("\n" + json.dumps(reply))
