"""Small intersphinx inventories, so that types in docstrings link to other documentations.

The build needs no network: the objects that granchain's docstrings mention are listed here, and
`conf.py` writes them as inventories. The addresses were correct for the stable versions in 2026.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import NamedTuple


class Project(NamedTuple):
    """A documentation that intersphinx links to.

    Parameters
    ----------
    address : str
        Base address of the documentation.
    page : str
        Address of an object's page; `{name}` is the object's name.
    objects : tuple of str
        Names of the objects, each with its role in Sphinx's Python domain.
    """

    address: str
    page: str
    objects: tuple[tuple[str, str], ...]


PROJECTS = {
    "python": Project(
        "https://docs.python.org/3/",
        "",
        (
            ("int", "class library/functions.html#int"),
            ("float", "class library/functions.html#float"),
            ("bool", "class library/functions.html#bool"),
            ("str", "class library/stdtypes.html#str"),
            ("list", "class library/stdtypes.html#list"),
            ("tuple", "class library/stdtypes.html#tuple"),
            ("dict", "class library/stdtypes.html#dict"),
            ("collections.abc.Callable", "class library/collections.abc.html"),
            ("collections.abc.Mapping", "class library/collections.abc.html"),
            ("concurrent.futures.Executor", "class library/concurrent.futures.html"),
            ("pathlib.Path", "class library/pathlib.html#pathlib.Path"),
        ),
    ),
    "numpy": Project(
        "https://numpy.org/doc/stable/",
        "reference/generated/{name}.html",
        (("numpy.ndarray", "class"), ("numpy.polyfit", "function")),
    ),
    "xarray": Project(
        "https://docs.xarray.dev/en/stable/",
        "generated/{name}.html",
        (
            ("xarray.Dataset", "class"),
            ("xarray.DataArray", "class"),
            ("xarray.open_dataset", "function"),
        ),
    ),
    "scipy": Project(
        "https://docs.scipy.org/doc/scipy/",
        "reference/generated/{name}.html",
        (
            ("scipy.stats.sobol_indices", "function"),
            ("scipy.optimize.least_squares", "function"),
            ("scipy.optimize.minimize", "function"),
            ("scipy.optimize.differential_evolution", "function"),
        ),
    ),
    "matplotlib": Project(
        "https://matplotlib.org/stable/",
        "",
        (
            ("matplotlib.figure.Figure", "class api/figure_api.html#matplotlib.figure.Figure"),
            ("matplotlib.axes.Axes", "class api/_as_gen/matplotlib.axes.Axes.html"),
        ),
    ),
    "pandas": Project(
        "https://pandas.pydata.org/docs/",
        "reference/api/{name}.html",
        (("pandas.DataFrame", "class"),),
    ),
}
# Types as the docstrings write them.
ALIASES = {
    "array": "numpy.ndarray",
    "arrays": "numpy.ndarray",
    "Figure": "matplotlib.figure.Figure",
    "Axes": "matplotlib.axes.Axes",
    "Path": "pathlib.Path",
    "callable": "collections.abc.Callable",
    "mapping": "collections.abc.Mapping",
    "Executor": "concurrent.futures.Executor",
}


def inventory(name: str, project: Project) -> bytes:
    """Return a project's inventory in version 2 of Sphinx's format."""
    lines = []
    for target, description in project.objects:
        role, _, address = description.partition(" ")
        lines.append(f"{target} py:{role} 1 {address or project.page.format(name=target)} -\n")
    head = f"# Sphinx inventory version 2\n# Project: {name}\n# Version: stable\n"
    head += "# The remainder of this file is compressed using zlib.\n"
    return head.encode() + zlib.compress("".join(lines).encode())


def write(folder: Path) -> dict[str, tuple[str, str]]:
    """Write the inventories, and return Sphinx's `intersphinx_mapping`."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for name, project in PROJECTS.items():
        file = folder / f"{name}.inv"
        file.write_bytes(inventory(name, project))
        mapping[name] = (project.address, str(file))
    return mapping
