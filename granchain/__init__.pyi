# The public names by task, one per line, in the order of the Python reference: type checkers read
# the module of a name here, and `granchain` imports the name from it when it is used first.

# Run a case
from .case import load_case as load_case
from .case import Case as Case
from .simulation import run as run
from .store import Result as Result
from .verification import verify as verify
from .verification import Verification as Verification
from .progress import ProgressLine as ProgressLine
from .mechanisms.case import load_mechanism as load_mechanism
from .mechanisms.case import MechanismCase as MechanismCase
from .mechanisms.runs import run_mechanism as run_mechanism
from .structures import beam_modes as beam_modes

# Contact laws and impacts
from .contact import laws as laws
from .certificates import certificate as certificate
from .certificates import Certificate as Certificate
from .two_body import impact as impact
from .two_body import ImpactResult as ImpactResult
from .studies.collisions import impacts as impacts
from .contact.pair import Pair as Pair
from .material import materials as materials
from .material import Material as Material
from .contact.law import ContactLaw as ContactLaw
from .contact.guard import Elastoplastic as Elastoplastic
from .contact.law import Quantity as Quantity
from .contact.law import Source as Source
from .contact.law import OPEN as OPEN
from .citation import cite as cite
from . import theory as theory

# Studies
from .studies.sweep import sweep as sweep
from .studies.evaluate import evaluate as evaluate
from .studies.evaluate import run_many as run_many
from .studies.ensemble import Ensemble as Ensemble
from .studies.bands import bands as bands
from .studies.design import gradient as gradient
from .studies.design import Gradient as Gradient
from .studies.design import optimize as optimize
from .studies.design import Optimum as Optimum
from .studies.plan import plan as plan
from .studies.plan import Plan as Plan
from .studies.plan import normal as normal
from .studies.plan import uniform as uniform
from .studies.plan import lognormal as lognormal
from .studies.plan import disorder as disorder
from .studies.plan import Disorder as Disorder
from .studies.plan import derived as derived
from .studies.plan import Derived as Derived

# Waves and orbits
from .waves.dispersion import dispersion as dispersion
from .waves.dispersion import Dispersion as Dispersion
from .waves.modes import modes as modes
from .waves.modes import Modes as Modes
from .studies.sweep import mode_study as mode_study
from .waves.spectra import spectrum as spectrum
from .waves.spectra import Spectrum as Spectrum
from .orbits.orbit import orbit as orbit
from .orbits.orbit import Orbit as Orbit
from .orbits.continuation import continuation as continuation
from .orbits.continuation import Branch as Branch

# Measured data
from .measured import read_trace as read_trace
from .measured import Trace as Trace
from .measured.sensor import Sensor as Sensor
from .measured.compare import compare as compare
from .measured import Comparison as Comparison
from .measured.fit import fit as fit
from .measured.fitted import Fit as Fit
from .measured.ranking import Ranking as Ranking
from .measured.likelihood import likelihood as likelihood
from .measured.likelihood import Likelihood as Likelihood
from .measured.equivalent import equivalent as equivalent
from .measured.equivalent import Equivalent as Equivalent
from .measured.impacts import compare_impacts as compare_impacts
from .measured.impacts import ImpactComparison as ImpactComparison

# Figures and analysis
from . import figures as figures
from .figures.motion import animate as animate
from .show.explore import explore as explore
from . import analysis as analysis

# Files and errors
from .store.answer import open as open
from .store.answer import save as save
from .show.report import report as report
from . import errors as errors

__version__: str
