"""Laws whose formula ends at an overlap: an impact is refused only if it reaches this overlap."""

import pytest

import granchain as gc
from granchain.contact import laws


@pytest.mark.long
@pytest.mark.parametrize("yield_stress", [200e6, 300e6, 400e6])
def test_jackson_green_computes_an_impact_of_soft_steel(yield_stress):
    found = gc.impact(law="jackson-green", speed=0.05, pair={"yield_stress": yield_stress})
    limit = laws()["jackson-green"].overlap_limit(found.coefficients)
    assert 0.0 < found.restitution < 1.0
    assert found.max_overlap < 0.01 * limit
