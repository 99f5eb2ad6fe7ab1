"""Registry of the figures of results, with the variables that they require."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

from granchain.errors import GranchainError
from granchain.figures.frame import labels_of, styled
from granchain.store import Result
from granchain.store.answer import check_result
from granchain.store.schema import Unread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    Draw = Callable[[], tuple[Figure, Any]]

_P = ParamSpec("_P")
_Made = TypeVar("_Made")

# Largest number of plotted beads or contacts; more are not visible in a figure.
MOST_PLACES = 2**20


class Registered(NamedTuple):
    """A figure of results: function, required variables, and whether it combines several results.

    `unless` returns why a result with these variables has no such figure, or an empty text.
    """

    draw: Callable[..., tuple[Any, Any]]
    needed: tuple[str, ...]
    several: bool
    unless: Callable[[Result], str]


_REGISTERED: dict[str, Registered] = {}


def of_results(
    *needed: str, unless: Callable[[Result], str] = lambda result: ""
) -> Callable[[Callable[_P, _Made]], Callable[_P, _Made]]:
    """Register a figure of one result, or of `*results`.

    It rejects results that lack a required variable, and is drawn in granchain's style.
    """

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
    """Raise an error if a result lacks one of the variables, with the result's message."""
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
    """Return why a figure cannot be drawn from a result; empty if it can."""
    try:
        need(result, *figure.needed)
    except GranchainError as error:
        return str(error)
    return figure.unless(result)


def figures_of(names: Iterable[str]) -> dict[str, Registered]:
    """Return the figures of results with these variables.

    They are the figures of a mechanism if there is a crank angle, otherwise those of a chain.
    """
    crank = "crank_angle" in names
    return {
        name: figure
        # Sorted by module, independent of the order of imports: the figures of pulses come first.
        for name, figure in sorted(_REGISTERED.items(), key=lambda one: one[1].draw.__module__)
        if crank == ("crank_angle" in figure.needed)
    }


def known_figures(result: Result) -> list[str]:
    """Return the names of all figures of this kind of result.

    Figures whose variables are missing are included.
    """
    return list(figures_of(result.variables))


def lacking(result: Result) -> dict[str, str]:
    """Return the figures that cannot be drawn from a result.

    The result is a mapping of names to the settings that they require in the case.
    """
    check_result(result, "figures")
    reasons = {
        name: lack(result, one).removeprefix(f"{name}: ")
        for name, one in figures_of(result.variables).items()
    }
    return {name: reason[:1].upper() + reason[1:] for name, reason in reasons.items() if reason}


def all_figures(result: Result) -> dict[str, Draw]:
    """Return the figures that can be drawn from the variables of a result.

    The result is a mapping of names to functions without arguments.

    `lacking` reports what the other figures require.
    """
    absent = lacking(result)
    known = figures_of(result.variables).items()
    return {name: partial(one.draw, result) for name, one in known if name not in absent}


def several_figures(
    results: Sequence[Result], labels: Sequence[str] | None = None
) -> dict[str, Draw]:
    """Return the figures that combine several results of one kind.

    Each figure shows the results that have its variables.

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


# Largest size of a plotted variable [bytes]; plotting takes about seven times as much.
LARGEST_DRAWN = 2**28


def drawn(headers: Mapping[str, Unread]) -> list[str]:
    """Return the variables of a file that its figures use.

    Variables that are too large for the memory are omitted.
    """
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
