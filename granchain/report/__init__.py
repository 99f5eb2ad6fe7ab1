"""The report: one page of HTML about the files of a computation, that needs no network and no script to be read."""

from granchain.report.files import report
from granchain.report.page import PAGE_MARK

__all__ = ["PAGE_MARK", "report"]
