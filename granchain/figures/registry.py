"""Which figures results can make: each is registered with the variables that it needs."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

from granchain.errors import GranchainError
from granchain.figures.frame import labels_of, styled
from granchain.store import Result
from granchain.store.result import check_result
from granchain.store.variables import Unread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    Draw = Callable[[], tuple[Figure, Any]]

_P = ParamSpec("_P")
_Made = TypeVar("_Made")

# Beads or contacts of a file that is drawn: a picture of more shows none of them.
MOST_PLACES = 2**20


class Registered(NamedTuple):
    """A figure of results, the variables that it needs, whether it lays several results over each
    other, and a function that says why a result that has them makes none."""

    draw: Callable[..., tuple[Any, Any]]
    needed: tuple[str, ...]
    several: bool
    unless: Callable[[Result], str]


_REGISTERED: dict[str, Registered] = {}


def of_results(
    *needed: str, unless: Callable[[Result], str] = lambda result: ""
) -> Callable[[Callable[_P, _Made]], Callable[_P, _Made]]:
    """Register a figure of one result, or of `*results`: it refuses those that lack a variable, and
    is drawn with our settings."""

    def register(function: Callable[_P, _Made]) -> Callable[_P, _Made]:
        first = next(iter(inspect.signature(function).parameters.values()))
        several = first.kind is first.VAR_POSITIONAL
        name, drawn_in_style = function.__name__, styled(function)

        @wraps(function)
        def checked(*args: _P.args, **kwargs: _P.kwargs) -> _Made:
            results: Any = args if several else args[:1]
            if not results:
                raise GranchainError(f"{name}: no result. At least one result is required.")
            for result in results:
                if absent := lack(result, _REGISTERED[name]):
                    raise GranchainError(absent)
            return drawn_in_style(*args, **kwargs)

        made: Any = checked
        _REGISTERED[name] = Registered(made, needed, several, unless)
        return checked

    return register


def need(result: Result, *names: str) -> None:
    """Raise the result's message about a variable that it does not have."""
    check_result(result, "figure")
    for name in names:
        try:
            values = getattr(result, name)
        except AttributeError as error:
            raise GranchainError(str(error)) from None
        if not len(values):
            raise GranchainError(
                f"figure: {name} is empty. It must have at least one entry. Run longer, or "
                "record more."
            )


def lack(result: Result, figure: Registered) -> str:
    """Why a result cannot make a figure; empty where it can."""
    try:
        need(result, *figure.needed)
    except GranchainError as error:
        return str(error)
    return figure.unless(result)


def figures_of(names: Iterable[str]) -> dict[str, Registered]:
    """The figures of results with these variables: those of a mechanism where there is the angle
    of a crank, else those of a chain."""
    crank = "crank_angle" in names
    return {
        name: figure
        # module by module, however these were loaded: those of pulses come first
        for name, figure in sorted(_REGISTERED.items(), key=lambda one: one[1].draw.__module__)
        if crank == ("crank_angle" in figure.needed)
    }


def known_figures(result: Result) -> list[str]:
    """Return the names of all figures of this kind of result, including those whose variables are
    missing."""
    return list(figures_of(result.variables))


def lacking(result: Result) -> dict[str, str]:
    """Return the figures that cannot be drawn from a result, as a mapping of names to the settings
    that they require in the case."""
    check_result(result, "figures")
    reasons = {
        name: lack(result, one).removeprefix(f"{name}: ")
        for name, one in figures_of(result.variables).items()
    }
    return {name: reason[:1].upper() + reason[1:] for name, reason in reasons.items() if reason}


def all_figures(result: Result) -> dict[str, Draw]:
    """Return the figures that can be drawn from the variables of a result, as a mapping of names to
    functions without arguments.

    `lacking` reports what the other figures require.
    """
    absent = lacking(result)
    known = figures_of(result.variables).items()
    return {name: partial(one.draw, result) for name, one in known if name not in absent}


def several_figures(
    results: Sequence[Result], labels: Sequence[str] | None = None
) -> dict[str, Draw]:
    """Return the figures that combine several results of one kind. Each figure shows the results
    that have its variables.

    Parameters
    ----------
    results : sequence of Result
        Results of chains, or of mechanisms.
    labels : sequence of str, optional
        A label for each result.

    Returns
    -------
    dict
        Mapping of names to functions without arguments that draw the figures.
    """
    words = labels_of(results, labels)
    found: dict[str, Draw] = {}
    for name, figure in figures_of(results[0].variables).items():
        those = [i for i, result in enumerate(results) if not lack(result, figure)]
        if figure.several and those:
            chosen = [results[i] for i in those]
            found[name] = partial(figure.draw, *chosen, labels=[words[i] for i in those])
    return found


def single_figures(result: Result) -> dict[str, Draw]:
    """Return the figures of `all_figures` that show a single result."""
    return {
        name: draw for name, draw in all_figures(result).items() if not _REGISTERED[name].several
    }


# Bytes of a variable that is drawn; drawing takes some seven times as much.
LARGEST_DRAWN = 2**28


def drawn(headers: Mapping[str, Unread]) -> list[str]:
    """Return the variables of a file that its figures use, without those that are too large for the
    memory."""
    needed = {"bead", "radius", "mass", "position", "contact", "residual_overlap", "displacement"}
    needed.update(*(figure.needed for figure in figures_of(headers).values()))
    wide = {
        name
        for name, header in headers.items()
        if header.dims == (name,) and header.shape[0] > MOST_PLACES and "time" not in name
    }
    return [
        name
        for name, header in headers.items()
        if (name in needed or name.startswith("energy_"))
        and not wide & {*header.dims}
        and 8 * math.prod(header.shape) <= LARGEST_DRAWN
    ]
