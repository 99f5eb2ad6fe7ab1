"""Impacts over laws, speeds and inputs, as the data set of a study."""

from typing import Any

import numpy as np
import pytest

import granchain as gc

# Two beads of the chain of Wang, Liu & Liu 2022, table 8, doi:10.1016/j.ijmecsci.2022.107214: half
# the radius and mass, E/(2 (1 - nu^2)).
PAIR = gc.Pair(
    effective_radius=1.19e-3,
    effective_modulus=193e9 / (2 * (1 - 0.3**2)),
    effective_mass=0.225e-3,
    yield_stress=900e6,
)


@pytest.fixture(scope="module")
def found() -> Any:
    laws = ["hertz", "flores", "hunt-crossley"]
    vary = {"speed": [0.5, 1.0, 2.0], "restitution": [0.0, 0.6, 0.9]}
    return gc.impacts(laws, PAIR, vary)


def test_each_member_is_the_impact_of_its_law_speed_and_inputs(found: Any) -> None:
    assert dict(found.sizes) == {"law": 3, "speed": 3, "restitution": 3}
    one = gc.impact(law="flores", pair=PAIR, speed=2.0, restitution=0.6)
    there = found.sel(law="flores", speed=2.0, restitution=0.6)
    for name in ("restitution", "max_force", "max_overlap", "duration", "dissipated"):
        variable = "delivered_restitution" if name == "restitution" else name
        assert float(there[variable]) == getattr(one, name)
    assert found.max_force.attrs["units"] == "N" and found.speed.attrs["units"] == "m/s"
    assert str(there.reason.values) == ""


def test_what_has_no_impact_is_nan_with_the_reason(found: Any) -> None:
    hertz = found.sel(law="hertz")
    assert np.isnan(hertz.max_force).all()
    assert set(hertz.reason.values.ravel()) == {"hertz has no input restitution"}
    # a dashpot of Flores has no value for a restitution of 0
    at_zero = found.sel(law="flores", restitution=0.0)
    assert np.isnan(at_zero.max_force).all()
    assert all("restitution: 0" in reason for reason in at_zero.reason.values)
    assert (found.reason.values == "").sum() == np.isfinite(found.max_force.values).sum()
