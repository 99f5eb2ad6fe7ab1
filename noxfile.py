#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox", "uv", "granchain"]
# [tool.uv.sources]
# granchain = { path = "." }
# ///
"""Check the package with other versions of Python and of its packages, and on another processor.

    nox -s lowest        # the lowest versions that pyproject.toml allows
    nox -s locked-3.13   # the versions of uv.lock with another Python
    nox -s newest        # the newest versions
    nox -s arm64         # the versions of uv.lock on an emulated arm64, in a quarter of an hour

Each session runs the reference case from the command line, and tests that take seconds.
"""

import logging
from pathlib import Path

import nox

# nox logs everything, and Numba would describe each step of its compiler.
logging.getLogger("numba").setLevel(logging.WARNING)
nox.needs_version = ">=2025.10.14"  # --download-python
nox.options.default_venv_backend = "uv"
nox.options.error_on_missing_interpreters = False

# Tests that take seconds as plain Python: time steps, spheres, dashpots, and scans of laws.
FAST = [f"tests/test_{name}.py" for name in ("spheres", "timestep", "viscous", "specialise")]
# Loops without history, with a residual overlap, and with an exponent. Each compiles for a minute
# under emulation.
PINNED = "a_run_has_the_pinned_bits and (hertz or ma-liu or tsuji)"


def run_reference_case(session: nox.Session, *granchain: str, **environment: str) -> None:
    """Run the reference case, and require the data that the environment of nox computes."""
    import granchain as gc

    file = str(Path(session.create_tmp()).resolve() / "steel-chain.h5")
    arguments = ("run", "steel-chain", "--out", file, "--overwrite")
    session.run(*granchain, *arguments, env=environment)
    expected = gc.run(gc.load_case("steel-chain")).provenance["data_sha256"]
    if gc.open(file).data_sha256 != expected:
        session.error("steel-chain: the data differ from the data in the environment of nox.")


def run_fast_tests(session: nox.Session, *pytest: str, **environment: str) -> None:
    """Run the fast tests without compiled code."""
    options = ("-q", "-p", "no:cacheprovider", "-m", "plain and not long")
    session.run(*pytest, *options, *FAST, env={**environment, "NUMBA_DISABLE_JIT": "1"})


def run_pinned_tests(session: nox.Session, *pytest: str, **environment: str) -> None:
    """Compare compiled runs with the pinned states."""
    options = ("-q", "-p", "no:cacheprovider", "-m", "not long", "-k", PINNED)
    session.run(*pytest, *options, "tests/test_pinned.py", env=environment)


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """Check the lowest versions that pyproject.toml allows."""
    session.install("--resolution", "lowest-direct", "-r", "pyproject.toml")
    session.install("--no-deps", ".")
    session.install("--group", "fast")
    run_reference_case(session, "granchain")
    run_fast_tests(session, "pytest")


@nox.session(python=["3.12", "3.13", "3.14"])
def locked(session: nox.Session) -> None:
    """Check the versions of uv.lock with another Python."""
    options = ("--locked", "--no-default-groups", "--group", "fast", "--no-editable")
    folder = {"UV_PROJECT_ENVIRONMENT": session.virtualenv.location}
    session.run_install("uv", "sync", "-q", *options, env=folder)
    run_reference_case(session, "granchain")
    run_fast_tests(session, "pytest")


@nox.session(default=False)
def newest(session: nox.Session) -> None:
    """Check the newest versions with the Python of nox."""
    session.install("--group", "fast", ".")
    run_reference_case(session, "granchain")
    run_pinned_tests(session, "pytest")
    run_fast_tests(session, "pytest")


@nox.session(default=False, reuse_venv=True)
def arm64(session: nox.Session) -> None:
    """Check the versions of uv.lock on an emulated arm64, with mmdebstrap and qemu-user-static."""
    folder = Path(session.create_tmp()).resolve()
    root, site, listed = (str(folder / name) for name in ("root", "site", "requirements.txt"))
    if not Path(root).exists():
        packages = "--include=python3.11,libstdc++6,libgomp1"
        options = ("--quiet", "--variant=extract", "--architectures=arm64", packages)
        session.run_install("mmdebstrap", *options, "bookworm", root, external=True)
    options = ("--locked", "--no-default-groups", "--group", "fast", "--no-emit-project")
    session.run_install("uv", "export", "-q", *options, "-o", listed)
    target = ("--python-platform", "aarch64-manylinux_2_28", "--python-version", "3.11")
    session.install("--only-binary", ":all:", *target, "--target", site, "-r", listed)
    python = ("qemu-aarch64-static", "-L", root, f"{root}/usr/bin/python3.11", "-B")
    environment = {"PYTHONPATH": f"{Path.cwd()}:{site}", "NUMBA_CACHE_DIR": str(folder / "cache")}
    pytest = (*python, "-m", "pytest", "--timeout", "3600")
    run_reference_case(session, *python, "-m", "granchain", **environment)
    run_pinned_tests(session, *pytest, **environment)
    run_fast_tests(session, *pytest, **environment)


if __name__ == "__main__":
    nox.main()
