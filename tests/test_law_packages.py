"""Laws of installed packages: announced by an entry point, loaded when they are asked for and not
before, named in the error of who does not ask, and in where a result comes from."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_user_law import LAW as OWN_LAW

import granchain as gc
from granchain.cli import obey
from granchain.contact import laws
from granchain.contact import user as users
from granchain.contact.law import registered, reinstate
from granchain.errors import CaseError, GranchainError, LawError
from granchain.store.stored import StoredEnsemble
from granchain.studies.elsewhere import law_files, load_same_package

LAW = OWN_LAW.replace("own-spring", "package-spring")
pytestmark = pytest.mark.plain
SHORT = {"chain.beads": 3, "sensors.beads": [2], "sensors.contacts": [1], "time.end": 2e-6}
SPRING = {"contact.law": "package-spring", "contact.stiffness": 1e6}
RUN = ["run", "steel-chain", *(f"--set={key}={value}" for key, value in (SHORT | SPRING).items())]
WAY = (
    "The installed package Spring_Laws 1.4 has this law. Load it with --law-package Spring_Laws "
    "(in Python: import spring_laws)"
)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """A folder of installed packages with one that announces a law."""
    before, about = laws(), tmp_path / "site" / "spring_laws-1.4.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: Spring_Laws\nVersion: 1.4\n")
    points = about / "entry_points.txt"
    points.write_text("[granchain.laws]\npackage-spring = spring_laws\n")
    module = tmp_path / "site" / "spring_laws.py"
    module.write_text(LAW)
    monkeypatch.syspath_prepend(module.parent)
    monkeypatch.chdir(tmp_path)
    users._announced_by.cache_clear()
    yield SimpleNamespace(module=module, points=points)
    reinstate(before)
    sys.modules.pop("spring_laws", None)
    users._announced_by.cache_clear()


def test_a_law_of_a_package_is_named_with_the_way_to_it_and_no_code_is_loaded(installed, obeyed):
    with pytest.raises(CaseError) as raised:
        gc.load_case("steel-chain").replace(**SPRING)
    assert WAY in str(raised.value)
    for command in (RUN, ["laws", "package-spring"], ["impact", "package-spring"]):
        assert WAY in obeyed(*command, code=2).err, command
    assert "spring_laws" not in sys.modules and "package-spring" not in registered()


def test_asked_for_it_runs_and_the_file_says_of_which_package(installed, plain_loop, capsys):
    assert obey([*RUN, "--law-package", "spring.laws", "--out", "a.h5"]) == 0
    assert gc.open_result("a.h5").provenance["law_packages"] == "Spring_Laws 1.4"
    assert obey(["info", "a.h5"]) == 0 and "Spring_Laws 1.4" in capsys.readouterr().out
    # in Python: as soon as it is imported
    case = gc.load_case("steel-chain").replace(**SHORT, **SPRING)
    many = gc.run_many([case, case.replace(**{"striker.speed": 2.0})])
    many.save("many.h5")
    assert StoredEnsemble("many.h5").provenance["law_packages"] == "Spring_Laws 1.4"
    assert law_files([case]) == [{"package": "Spring_Laws", "version": "1.4"}]
    load_same_package("Spring_Laws", "1.4")
    with pytest.raises(
        GranchainError,
        match=r"the law package Spring_Laws has version 1\.4, but the study started with 1\.3",
    ):
        load_same_package("Spring_Laws", "1.3")
    of_ours = gc.run(gc.load_case("steel-chain").replace(**SHORT))
    assert "law_packages" not in of_ours.provenance


def test_what_is_wrong_with_a_package_is_a_sentence(installed, obeyed):
    with pytest.raises(LawError, match=r'"spring-lows" not found\. .* are Spring_Laws\. '
                       'Did you mean "Spring_Laws"'):  # fmt: skip
        users.load_law_package("spring-lows")
    installed.module.write_text(LAW + "\n1 / 0\n")
    said = obeyed(*RUN, "--law-package=Spring_Laws", code=2).err
    assert "law package Spring_Laws: spring_laws: ZeroDivisionError" in said
    assert "Traceback" not in said and "package-spring" not in registered()
    # an interruption that comes meanwhile is none of its own
    installed.module.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    with pytest.raises(KeyboardInterrupt):
        users.load_law_package("Spring_Laws")
    installed.module.write_text(LAW)
    installed.points.write_text("[granchain.laws]\nanother = spring_laws\n")
    with pytest.raises(LawError, match=r"law another not found\. A package must define the laws"):
        users.load_law_package("spring_laws")


def test_where_a_law_of_a_package_fails_the_sentence_names_both(installed, obeyed):
    installed.module.write_text(LAW.replace("(inputs.stiffness,)", "(1 / 0,)"))
    said = obeyed(*RUN, "--law-package=Spring_Laws", code=2).err
    assert 'contact law "package-spring" of Spring_Laws' in said and "ZeroDivisionError" in said
