"""The chain in Exudyn, in a process and an environment of its own: a question in JSON on standard
input, the answer on standard output.

Masses with one coordinate, and a connector between neighbours whose force is a symbolic user
function, which Exudyn evaluates in C++; its explicit velocity Verlet. Nothing is written and no
sensor is kept while the time is taken.
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
    """Nodes and contacts; the force function, which has to outlive the run, and the nodes."""
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
    """Final displacements and velocities, seconds, and the force at a bead at each step where
    one is asked."""
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
    """Final state; seconds of each run; the force at the asked bead at each step, where that is
    asked."""
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
