"""Many runs that belong together."""

from granchain.studies.many import Ensemble, run_many

__all__ = ["Ensemble", "run_many"]
