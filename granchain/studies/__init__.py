"""Many runs that belong together."""

from granchain.studies.ensemble import Ensemble, open_ensemble
from granchain.studies.many import run_many

__all__ = ["Ensemble", "open_ensemble", "run_many"]
