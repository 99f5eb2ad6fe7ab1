"""`gc.explore`, which opens the interactive page of a case."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from granchain.case import Case, load_case
from granchain.progress import in_notebook

if TYPE_CHECKING:
    from granchain.measured import Trace
    from granchain.show.server import Explorer


def explore(
    case: Case | str | Path,
    trace: Trace | str | Path | None = None,
    *,
    port: int = 0,
    browser: bool = True,
) -> Explorer:
    """Open an interactive page of a case, which computes each change of a parameter.

    The page is served on this computer only. In a notebook, it is the display of the returned
    object. Requires the extra `explore`.

    Parameters
    ----------
    case : Case, str, or Path
        A case, the name of a built-in case, or the path of a case file.
    trace : Trace, str, or Path, optional
        Measured trace, or its folder, which is plotted with the forces.
    port : int
        Port of the server. Default: a free one.
    browser : bool
        Open the page in a browser, except in a notebook.

    Returns
    -------
    Explorer
        Server with the address of the page, `url`, the `case` and the `result` that the page
        shows, and `stop()`. In a script, call `wait()`, because the server ends with Python.

    Raises
    ------
    CaseError, FileError, TraceError
        If the case or the trace is invalid, or the port cannot be used.

    Examples
    --------
    >>> import granchain as gc
    >>> page = gc.explore("steel-chain", browser=False)  # doctest: +SKIP
    >>> page.stop()  # doctest: +SKIP
    """
    # Bokeh is an extra, and takes half a second to load.
    from granchain.show.server import Explorer

    source = "" if isinstance(case, Case) else str(case)
    loaded = case if isinstance(case, Case) else load_case(case)
    if isinstance(trace, (str, Path)):
        # The import is here so that the page opens sooner.
        from granchain.measured import read_trace

        trace = read_trace(trace)
    explorer = Explorer(loaded, source, trace, port)
    if browser and not in_notebook():
        webbrowser.open(explorer.url)
    return explorer
