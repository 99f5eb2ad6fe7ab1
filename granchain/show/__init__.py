"""Interactive page of a case."""
