"""The peak of the contacts of a sensor bead in a study equals that of single runs.

The peak of the sensor is the fraction of it that holds for the solitary wave."""

import numpy as np
import pytest

import granchain as gc

SPEEDS = [0.5, 2.0]


def chain(law="hertz", **changes):
    case = gc.load_case("steel-chain-hertz", ["chain.beads=12", "sensors.beads=[1, 5, 12]"])
    return case.replace({"contact.law": law, "time.end": 2e-4} | changes)


def larger_of_two(result):
    """Return the larger of the largest forces of the two contacts of each sensor bead."""
    peaks = dict(zip(result.contact.tolist(), result.contact_peak_force.tolist(), strict=True))
    return [
        max(peaks.get(bead - 1, 0.0), peaks.get(bead, 0.0)) for bead in result.sensor_bead.tolist()
    ]


@pytest.mark.parametrize(
    "case",
    [
        chain(),
        pytest.param(
            chain("kelvin-voigt", **{"contact.stiffness": 1e7, "contact.restitution": 0.8}),
            marks=pytest.mark.long,
        ),
        pytest.param(
            chain(**{"ends.left": "wall", "ends.right": "wall"}, striker=None,
                  initial={"velocity": [1.0, *[0.0] * 11]}),
            marks=pytest.mark.long,
        ),
    ],
    ids=["struck", "force jumps", "walls"],
)  # fmt: skip
def test_the_contact_peak_of_a_study_is_that_of_each_run(case):
    key = "striker.speed" if case.striker else "chain.drag"
    expected = [larger_of_two(gc.run(case.replace({key: value}))) for value in SPEEDS]
    study = gc.sweep(case, {key: SPEEDS})
    assert study.contact_peak.dims == (key, "sensor_bead")
    assert study.contact_peak.values.tolist() == expected
    assert np.all(study.contact_peak.values >= study.peak.fillna(0.0).values)


def test_the_sensor_peak_of_a_solitary_wave_is_the_known_fraction_of_the_contact_peak():
    # the mean of two contacts of the discrete solitary wave (docs/how-to/record.md)
    fraction = gc.theory.solitary_wave().bead_force
    case = gc.load_case("steel-chain-hertz", ["sensors.beads=[40]"])
    study = gc.sweep(case, {"striker.speed": [1.0]})
    assert float(study.peak[0, 0] / study.contact_peak[0, 0]) == pytest.approx(fraction, abs=1e-4)
