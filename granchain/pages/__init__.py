"""Pages: of contact laws, for the documentation and a terminal; of the files of a computation,
as one file of HTML."""
