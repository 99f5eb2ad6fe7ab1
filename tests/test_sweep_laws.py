"""Sweeps over contact laws: their names, and inputs that only some of the laws have."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import granchain as gc
from granchain.errors import CaseError
from granchain.figures.studies import coordinate_text
from granchain.store.answer import open_study

# five contacts: as plain Python, they take less time than the compilation of their loops
pytestmark = pytest.mark.usefixtures("plain_loop")
SHORT = {"chain.beads": 4, "sensors.beads": [1, 3], "sensors.contacts": [], "snapshots": None}
SHORT |= {"energy.ledger": False, "time.end": 4e-5, "time.step": "fast"}


@pytest.fixture(scope="module")
def case():
    return gc.load_case("steel-chain").replace(**SHORT)


def test_a_sweep_over_contact_tables_has_the_name_of_each_law(case, tmp_path):
    tables = [{"law": "hertz"}, {"law": "tsuji", "restitution": 0.8}]
    study = gc.sweep(case, {"contact": tables}, out=tmp_path / "study.h5", progress=False)
    assert study.attrs["law"] == "hertz, tsuji"
    assert study["law"].dims == ("contact",)
    assert study["law"].values.tolist() == ["hertz", "tsuji"]
    assert [coordinate_text(study, "contact", place) for place in (0, 1)] == ["hertz", "tsuji"]
    again = open_study(tmp_path / "study.h5")
    assert again["law"].values.tolist() == ["hertz", "tsuji"]


def test_a_product_over_laws_computes_a_law_once_along_inputs_it_does_not_have(case, tmp_path):
    vary = {"contact.law": ["hertz", "tsuji"], "contact.restitution": [0.6, 0.9]}
    counts = []
    study = gc.sweep(case, vary, progress=lambda done, of: counts.append((done, of)), threads=1)
    peak = study["peak"].values
    assert np.array_equal(peak[0, 0], peak[0, 1])
    assert not np.array_equal(peak[1, 0], peak[1, 1])
    single = gc.sweep(case, {"contact.law": ["hertz"]}, progress=False)
    assert np.array_equal(peak[0, 0], single["peak"].values[0])
    stored = gc.sweep(case, vary, progress=False, out=tmp_path / "study.h5")
    assert np.array_equal(stored["peak"].values, peak)
    assert (study["status"] == "complete").all()
    # an input that no law of the study has is still an error
    with pytest.raises(CaseError, match=r"contact\.psi"):
        gc.sweep(case, {"contact.law": ["hertz"], "contact.psi": [2.0, 3.0]}, progress=False)


def test_a_study_of_contact_tables_names_all_laws_in_report_and_sources(case, tmp_path):
    tsuji = {"law": "tsuji", "restitution": 0.7}
    tables = [{"law": "ma-liu", "psi": 2.84, "xi": 13.0}, {"law": "hertz"}, tsuji]
    names = [table["law"] for table in tables]
    study = gc.sweep(case, {"contact": tables}, progress=False, out=tmp_path / "study.h5")
    assert study.attrs["law"] == "ma-liu, hertz, tsuji"
    gc.report([tmp_path / "study.h5"], tmp_path / "report.html")
    report = (tmp_path / "report.html").read_text()
    for name in names:
        assert name in report
    inputs = {"contact.law": ["ma-liu", "hertz"], "contact.psi": [2.6, 2.84]}
    with ThreadPoolExecutor(2) as pool:
        for vary in ({"contact": tables}, inputs):
            sent, here = (gc.sweep(case, vary, executor=x, progress=False) for x in (pool, None))
            assert np.array_equal(sent["peak"], here["peak"])
            assert sent.attrs["law"] == here.attrs["law"]
    ensemble = gc.run_many([case.replace({"contact": table}) for table in tables])
    assert ensemble.to_xarray().attrs["law"] == "ma-liu, hertz, tsuji"
