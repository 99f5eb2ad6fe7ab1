"""Discrete-element simulation of one-dimensional chains of beads, with every contact law
written once."""

from importlib import import_module

# In place of typing's own: importing typing takes longer than all of this module, and until it is
# done a signal is a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    # isort: off
    from granchain import (
        analysis as analysis,
        errors as errors,
        figures as figures,
        theory as theory,
    )
    from granchain.case import (
        Case as Case,
        MechanismCase as MechanismCase,
        load_case as load_case,
        load_mechanism as load_mechanism,
    )
    from granchain.certificates import Certificate as Certificate, certificate as certificate
    from granchain.citation import cite as cite
    from granchain.comparison import Comparison as Comparison, compare as compare
    from granchain.comparison.impacts import (
        ImpactComparison as ImpactComparison,
        compare_impacts as compare_impacts,
    )
    from granchain.contact import laws as laws
    from granchain.contact.guard import Elastoplastic as Elastoplastic
    from granchain.contact.law import (
        OPEN as OPEN,
        ContactLaw as ContactLaw,
        Quantity as Quantity,
        Source as Source,
    )
    from granchain.contact.pair import Pair as Pair
    from granchain.figures.motion import animate as animate
    from granchain.material import Material as Material, materials as materials
    from granchain.mechanism.runs import run_mechanism as run_mechanism
    from granchain.pages.report import report as report
    from granchain.progress import ProgressLine as ProgressLine
    from granchain.sensor import Sensor as Sensor
    from granchain.simulation import run as run
    from granchain.store import Result as Result, open_result as open_result
    from granchain.studies import (
        Ensemble as Ensemble,
        open_ensemble as open_ensemble,
        run_many as run_many,
    )
    from granchain.studies.bands import bands as bands
    from granchain.studies.collisions import impacts as impacts
    from granchain.studies.equivalent import Equivalent as Equivalent, equivalent as equivalent
    from granchain.studies.fit import Fit as Fit, fit as fit
    from granchain.studies.gradient import Gradient as Gradient, gradient as gradient
    from granchain.studies.modes import mode_study as mode_study
    from granchain.studies.orbit import Orbit as Orbit, orbit as orbit
    from granchain.studies.plan import (
        Disorder as Disorder,
        Distribution as Distribution,
        disorder as disorder,
        distribution as distribution,
        lognormal as lognormal,
        normal as normal,
        uniform as uniform,
    )
    from granchain.studies.sweep import sweep as sweep
    from granchain.traces import Trace as Trace, read_trace as read_trace
    from granchain.two_body import ImpactResult as ImpactResult, impact as impact
    from granchain.verification import Verification as Verification, verify as verify
    from granchain.waves.dispersion import dispersion as dispersion
    from granchain.waves.modes import Modes as Modes, modes as modes
    from granchain.waves.spectra import Spectrum as Spectrum, spectrum as spectrum

__version__ = "0.1.0"

# Where each public name lives. It is imported when it is asked for: `import granchain` costs
# nothing.
_HOMES = {
    "granchain.case": ("Case", "MechanismCase", "load_case", "load_mechanism"),
    "granchain.certificates": ("Certificate", "certificate"),
    "granchain.citation": ("cite",),
    "granchain.comparison": ("Comparison", "compare"),
    "granchain.comparison.impacts": ("ImpactComparison", "compare_impacts"),
    "granchain.contact": ("laws",),
    "granchain.contact.guard": ("Elastoplastic",),
    "granchain.contact.law": ("OPEN", "ContactLaw", "Quantity", "Source"),
    "granchain.contact.pair": ("Pair",),
    "granchain.two_body": ("ImpactResult", "impact"),
    "granchain.waves.dispersion": ("dispersion",),
    "granchain.figures.motion": ("animate",),
    "granchain.material": ("Material", "materials"),
    "granchain.waves.modes": ("Modes", "modes"),
    "granchain.mechanism.runs": ("run_mechanism",),
    "granchain.pages.report": ("report",),
    "granchain.store": ("Result", "open_result"),
    "granchain.progress": ("ProgressLine",),
    "granchain.sensor": ("Sensor",),
    "granchain.simulation": ("run",),
    "granchain.waves.spectra": ("Spectrum", "spectrum"),
    "granchain.studies": ("Ensemble", "open_ensemble", "run_many"),
    "granchain.studies.bands": ("bands",),
    "granchain.studies.gradient": ("Gradient", "gradient"),
    "granchain.studies.modes": ("mode_study",),
    "granchain.studies.orbit": ("Orbit", "orbit"),
    "granchain.studies.plan": (
        "Disorder",
        "Distribution",
        "disorder",
        "distribution",
        "lognormal",
        "normal",
        "uniform",
    ),
    "granchain.studies.collisions": ("impacts",),
    "granchain.studies.equivalent": ("Equivalent", "equivalent"),
    "granchain.studies.fit": ("Fit", "fit"),
    "granchain.studies.sweep": ("sweep",),
    "granchain.traces": ("Trace", "read_trace"),
    "granchain.verification": ("Verification", "verify"),
}
# Modules whose functions are called by their own names: `gc.figures.force_traces`.
_MODULES = ("analysis", "errors", "figures", "theory")
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name: str) -> "Any":
    if name in _MODULES:
        return import_module(f"granchain.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'granchain' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
