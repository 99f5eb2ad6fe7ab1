"""Reports about answers, descriptions of laws, and the interactive page of a case."""
