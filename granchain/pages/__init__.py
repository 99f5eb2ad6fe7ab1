"""Blocks of reports, of terminal output, and of documentation pages."""
