"""Wrong units of a case are reported."""

import warnings

import granchain as gc
from granchain.errors import GranchainWarning

SHORT = {"chain.beads": 3, "sensors.beads": [2], "sensors.contacts": [], "snapshots": None}
SHORT |= {"energy.ledger": False, "time.end": 1e-5}


def test_a_radius_above_half_a_metre_is_reported():
    for radii, reported in (
        ({"chain.radius": 4.76}, True),
        ({"chain.radius": 4.76, "chain.mass": 3.5e-3}, True),
        ({"striker.radius": 0.51}, True),
        ({"chain.radius": 0.5, "striker.radius": 0.5}, False),
        ({}, False),
    ):
        case = gc.load_case("steel-chain-hertz").replace(**SHORT | radii)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            gc.run(case)
        texts = [one for one in found if issubclass(one.category, GranchainWarning)]
        texts = [one for one in texts if str(one.message).startswith("radius:")]
        assert len(texts) == reported, radii
        assert all(one.filename == __file__ for one in texts)
