"""Many runs that belong together."""

from granchain.studies.many import Ensemble, open_ensemble, run_many

__all__ = ["Ensemble", "open_ensemble", "run_many"]
