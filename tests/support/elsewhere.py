"""The package elsewhere: with the lowest versions that it allows, with other Pythons, on another
processor. As a script, from the project's folder:

    python tests/support/elsewhere.py versions [--wheel FILE] [--whole]
    python tests/support/elsewhere.py later [--wheel FILE] [--whole]
    python tests/support/elsewhere.py arm64
    python tests/support/elsewhere.py here

The last is for the machine of a workflow, with the package and its tests installed. Each place
computes the main job, to the bits that it has here, and passes some fast tests; with --whole, where
the packages are the lock's, all but the long tests too. What ran is kept in
docs/where-it-runs.json, from which docs/where_it_runs.py prints the table of README.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]
FILE = PROJECT / "docs" / "where-it-runs.json"
# What tests of physics need beside the package.
TOOLS = ("pytest", "pytest-timeout", "hypothesis")
# Plain Python, some seconds: steps, spheres, dashpots, and the scans of laws.
FAST = ("test_spheres", "test_timestep", "test_viscous", "test_specialise")
# Each loop compiles for a minute where emulated: without memory, with a dent, an exponent.
PINNED = "a_run_has_the_pinned_bits and (hertz or ma-liu or tsuji)"
# A Python that Numba is built for and nothing here has, and the release of Debian that has it.
LATER, RELEASE = "3.14", "forky"


def lowest() -> list[str]:
    """Every dependency in the lowest version that its bound allows."""
    needs = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["dependencies"]
    found = [re.match(r"([A-Za-z0-9_.-]+)>=([0-9.]+)", need) for need in needs]
    assert all(found), needs
    return [f"{bound[1]}=={bound[2]}" for bound in found if bound]


def locked() -> list[str]:
    """Every package of uv.lock in its version for each Python."""
    options = ("--frozen", "--no-hashes", "--no-emit-project", "--no-annotate", "--no-header")
    return said([sys.executable, "-m", "uv", "export", "-q", *options]).splitlines()


def pythons() -> dict[str, str]:
    """The other Pythons from 3.11 on that are here, by version: on the path, and pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    named = [shutil.which(f"python3.{minor}") for minor in range(11, 30)]
    there = [*filter(None, named), *map(str, sorted(pyenv.glob("*/bin/python")))]
    found: dict[str, str] = {}
    for python in there:
        code = "import sys; print('%d %d %s' % (*sys.version_info[:2], sys.implementation.name))"
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
        major, minor, kind = (done.stdout.split() or ["0", "0", ""])[:3]
        if (int(major), int(minor)) >= (3, 11) and kind == "cpython" and not done.returncode:
            found.setdefault(f"{major}.{minor}", python)
    return {version: python for version, python in found.items() if version != here()}


def here() -> str:
    """Version of this Python, two numbers."""
    return "{}.{}".format(*sys.version_info)


def said(command: Sequence[str | os.PathLike[str]], cwd: Path = PROJECT, **environment: str) -> str:
    """What a command prints; its last lines where it fails."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=cwd, env=clean | environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(
            f"elsewhere: {' '.join(map(str, command))}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
        )
    return done.stdout


def main_job(python: Sequence[str], folder: Path, **environment: str) -> str:
    """Hash of the data of the main job, computed and saved by the command line."""
    file = folder / "steel-chain.h5"
    run = [*python, "-m", "granchain", "run", "steel-chain", "--out", file]
    said(run, folder, **environment)
    code = f"import granchain; print(granchain.open({str(file)!r}).data_sha256)"
    return said([*python, "-c", code], folder, **environment).strip()


def passed(text: str) -> int:
    """How many tests a run of pytest says have passed."""
    found = re.search(r"(\d+) passed", text)
    assert found is not None, text
    return int(found[1])


def facts(python: Sequence[str | os.PathLike[str]], **environment: str) -> dict[str, Any]:
    """Kind of system and of processor, and versions, of a Python."""
    code = (
        "import json, platform as p; from importlib.metadata import version as v; "
        "print(json.dumps([p.system(), p.machine(), p.python_version(), v('numba'), v('numpy')]))"
    )
    names = ("system", "processor", "python", "numba", "numpy")
    return dict(zip(names, json.loads(said([*python, "-c", code], **environment)), strict=True))


def fast_tests(pytest: Sequence[str | os.PathLike[str]], **environment: str) -> int:
    """How many of the fast tests pass."""
    options = ("-q", "-p", "no:cacheprovider", "-m", "plain and not long")
    files = [f"tests/{name}.py" for name in FAST]
    return passed(said([*pytest, *options, *files], **environment, NUMBA_DISABLE_JIT="1"))


def pinned_tests(pytest: Sequence[str | os.PathLike[str]], **environment: str) -> int:
    """How many compiled runs have the pinned bits."""
    options = ("-q", "-p", "no:cacheprovider", "-m", "not long", "-k", PINNED)
    return passed(said([*pytest, *options, "tests/test_pinned.py"], **environment))


def in_environment(
    python: str, packages: Sequence[str], constraints: Sequence[str], bits: str, folder: Path
) -> dict[str, Any]:
    """What a new environment of this Python with these packages passes."""
    began, place = time.monotonic(), folder / "environment"
    uv = [sys.executable, "-m", "uv"]
    said([*uv, "venv", "-q", "--python", python, place])
    mine = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    listed = folder / "constraints.txt"
    listed.write_text("\n".join(constraints))
    said([*uv, "pip", "install", "-q", "--python", mine, "-c", listed, *packages, *TOOLS])
    own = {"NUMBA_CACHE_DIR": str(folder / "cache")}
    found = main_job([str(mine)], folder, **own)
    assert found == bits, f"{python}: data hash {found}, here {bits}"
    # not python -m pytest, which would find the tree's own package
    tests = fast_tests([mine.with_name("pytest")], **own)
    return facts([mine]) | {"tests": tests, "seconds": round(time.monotonic() - began)}


def whole_set(python: Path, folder: Path) -> dict[str, Any]:
    """What an environment with the lock's packages passes of all but the long tests."""
    said([sys.executable, "-m", "uv", "pip", "install", "-q", "--python", python, *locked()])
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    own = {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(PROJECT), "PATH": path}
    options = ("-q", "-p", "no:cacheprovider", "-m", "not long")
    text = said([python, "-m", "pytest", *options], **own)
    return {"whole": {"passed": passed(text), "day": time.strftime("%Y-%m-%d")}}


def later_python(folder: Path) -> str:
    """A Python of a later Debian, unpacked, which the loader of its own C library starts."""
    root = folder / "root"
    python = root / "usr" / "bin" / f"python{LATER}"
    moved = python.with_name(f"{python.name}-of-debian")
    if not moved.exists():
        native = said(["dpkg", "--print-architecture"]).strip()
        debian(folder / "apt", [python.name], native, root, RELEASE)
        python.rename(moved)
    (loader,) = root.glob("usr/lib/*/ld-linux-*.so.*")
    start = (loader, "--library-path", loader.parent, "--argv0")
    words = " ".join(shlex.quote(str(one)) for one in start)
    python.write_text(f'#!/bin/sh\nexec {words} "$0" {shlex.quote(str(moved))} "$@"\n')
    python.chmod(0o755)
    return str(python)


def versions(
    wheel: str | None, places: Sequence[tuple[str, str, str, list[str]]], whole: bool
) -> list[dict[str, Any]]:
    """Places: the packages, a Python's version and file, and what is pinned in its environment."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if wheel is None:
            build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder]
            said([*build, PROJECT])
            (wheel,) = map(str, folder.glob("*.whl"))
        bits = main_job([sys.executable], folder, PYTHONPATH=str(PROJECT))
        print(f"elsewhere: {', '.join(f'{one[0]} with Python {one[1]}' for one in places)}")

        def at(place: tuple[str, str, str, list[str]]) -> dict[str, Any]:
            packages, version, python, pins = place
            mine = folder / f"{packages}-{version}"
            mine.mkdir()
            pinned = [] if pins else locked()
            row = in_environment(python, [str(wheel), *pins], pinned, bits, mine)
            if whole and not pins:
                row |= whole_set(mine / "environment" / "bin" / "python", mine)
            print(f"elsewhere: {packages} {row}", flush=True)
            return {"packages": packages, **row}

        own = {**facts([sys.executable]), "packages": "lock", "tests": "all", "bits": bits}
        with ThreadPoolExecutor(2) as pool:
            return [own, *pool.map(at, places)]


def those_here(wheel: str | None, whole: bool) -> list[dict[str, Any]]:
    """The lowest versions with this Python, and the lock's with every other one."""
    others = [("lock", version, python, []) for version, python in pythons().items()]
    return versions(wheel, [("lowest", here(), sys.executable, lowest()), *others], whole)


def later(wheel: str | None, whole: bool) -> list[dict[str, Any]]:
    """A Python that is not here, with the lock's packages."""
    folder = PROJECT / "build" / f"python{LATER}"
    folder.mkdir(parents=True, exist_ok=True)
    return [
        {**row, "of": f"Debian {RELEASE}"} if row["python"].startswith(LATER) else row
        for row in versions(wheel, [("lock", LATER, later_python(folder), [])], whole)
    ]


def in_place() -> list[dict[str, Any]]:
    """This environment, against the bits of the machine that the table was printed on."""
    (bits,) = {row["bits"] for row in json.loads(FILE.read_text()) if "bits" in row}
    with tempfile.TemporaryDirectory() as name:
        found = main_job([sys.executable], Path(name))
    assert found == bits, f"data hash {found}, in docs/where-it-runs.json {bits}"
    pytest = [sys.executable, "-m", "pytest"]
    tests = pinned_tests(pytest) + fast_tests(pytest)
    return [{**facts([sys.executable]), "packages": "newest", "tests": tests}]


def debian(
    folder: Path, packages: Sequence[str], architecture: str, into: Path, release: str = ""
) -> None:
    """Packages of Debian for an architecture with what they need, unpacked, not installed; of
    another release than this machine's where one is named."""
    for name in ("state/lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    settings = [
        f"-oAPT::Architecture={architecture}",
        f"-oAPT::Architectures={architecture}",
        f"-oDir::State={folder}/state",
        f"-oDir::State::status={folder}/status",
        f"-oDir::Cache={folder}/cache",
        "-oAPT::Sandbox::User=root",
    ]
    if release:
        source = folder / "sources.list"
        source.write_text(f"deb http://deb.debian.org/debian {release} main\n")
        settings += [f"-oDir::Etc::sourcelist={source}", "-oDir::Etc::sourceparts=/dev/null"]
    said(["apt-get", *settings, "update", "-q"])
    wanted = ["install", "-q", "-y", "--download-only", "--no-install-recommends", *packages]
    said(["apt-get", *settings, *wanted])
    into.mkdir(exist_ok=True)
    for file in sorted((folder / "cache" / "archives").glob("*.deb")):
        said(["dpkg-deb", "-x", file, into])


def arm64() -> list[dict[str, Any]]:
    """Debian's Python for arm64, with the lock's packages for it, under user-mode emulation."""
    folder = PROJECT / "build" / "arm64"
    root, site, qemu = folder / "root", folder / "site", folder / "qemu"
    folder.mkdir(parents=True, exist_ok=True)
    if not site.exists():
        native = said(["dpkg", "--print-architecture"]).strip()
        debian(folder / "apt-native", ["qemu-user-static"], native, qemu)
        debian(folder / "apt-arm64", ["python3.11", "libstdc++6", "libgomp1"], "arm64", root)
        listed = folder / "constraints.txt"
        listed.write_text("\n".join(locked()))
        needs = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["dependencies"]
        target = ["--python-platform", "aarch64-manylinux_2_28", "--python-version", "3.11"]
        install = ["pip", "install", "-q", "--only-binary", ":all:", "-c", listed, *target]
        said([sys.executable, "-m", "uv", *install, "--target", site, *needs, *TOOLS])
    emulated = [f"{qemu}/usr/bin/qemu-aarch64-static", "-L", str(root)]
    python = [*emulated, f"{root}/usr/bin/python3.11", "-B"]
    own = {"PYTHONPATH": f"{PROJECT}{os.pathsep}{site}", "NUMBA_CACHE_DIR": str(folder / "cache")}
    with tempfile.TemporaryDirectory() as name:
        bits = main_job([sys.executable], Path(name), PYTHONPATH=str(PROJECT))
        there = Path(name, "there")
        there.mkdir()
        found = main_job(python, there, **own)
        assert found == bits, f"arm64: data hash {found}, here {bits}"
    print("elsewhere: arm64 has the bits of the main job", flush=True)
    pytest = [*python, "-m", "pytest", "--timeout", "3600"]
    tests = pinned_tests(pytest, **own) + fast_tests(pytest, **own)
    return [{**facts(python, **own), "packages": "lock", "tests": tests, "emulated": True}]


def keep(rows: Sequence[Mapping[str, Any]]) -> None:
    """Write what ran over what ran before in the same places."""

    def place(row: Mapping[str, Any]) -> tuple[str, ...]:
        minor = row["python"].rpartition(".")[0]
        return row["system"], row["processor"], minor, row["packages"]

    before = json.loads(FILE.read_text()) if FILE.exists() else []
    kept = {place(row): {**row} for row in before}
    for row in rows:
        # all but the long tests, of whatever day
        whole = {"whole": kept[place(row)]["whole"]} if "whole" in kept.get(place(row), ()) else {}
        kept[place(row)] = whole | {**row}
    lines = ",\n".join(json.dumps(kept[name], sort_keys=True) for name in sorted(kept))
    FILE.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("versions", "later", "arm64", "here"))
    parser.add_argument("--wheel", help="the built package; without it, it is built")
    parser.add_argument("--whole", action="store_true", help="all but the long tests too")
    asked = parser.parse_args()
    ways = {
        "versions": lambda: those_here(asked.wheel, asked.whole),
        "later": lambda: later(asked.wheel, asked.whole),
        "arm64": arm64,
        "here": in_place,
    }
    keep(ways[asked.what]())
