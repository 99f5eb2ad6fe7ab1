"""`granchain verify`: a case at three or four steps, its observed order, and the error bars of
its peaks and arrivals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from granchain.cli.options import (
    MISSED,
    CaseArgument,
    JsonOption,
    LawModuleOption,
    SetOption,
    app,
    blamed,
    load_laws,
)
from granchain.cli.text import notify, number_text, paragraph, print_json, print_text, text_table
from granchain.errors import CaseError

if TYPE_CHECKING:
    from granchain.verification import Verification

# The tolerance where none is given.
TOLERANCE = 1e-3


@app.command()
def verify(
    case: CaseArgument,
    changes: SetOption = None,
    tolerance: Annotated[
        str | None,
        typer.Option(
            metavar="T",
            help="Relative error allowed to every peak and arrival, 1e-3 for 0.1 %: else exit code "
            "5.",
        ),
    ] = None,
    law_module: LawModuleOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a case at three or four time steps: observed order, error bars of peaks and arrivals, and
    the step that gives 0.1 %.

    With --tolerance, exit code 5 where an error bar is larger or the order is not the law's.
    """
    load_laws(law_module)
    allowed = TOLERANCE if tolerance is None else tolerance_of(tolerance)
    from granchain.case import load_case
    from granchain.contact import laws
    from granchain.verification import verify as verified

    asked = load_case(case, changes or [])
    with blamed(laws()[asked.contact.law]):
        found = verified(asked, allowed)
    missed = tolerance is not None and not found.kept
    if as_json:
        print_json(
            {
                "command": "verify",
                "case": case,
                **found.as_dict(),
                "tolerance_stated": tolerance is not None,
            }
        )
    else:
        print_verification(found)
    if missed:
        notify(what_is_missed(found))
        raise typer.Exit(MISSED)


def tolerance_of(text: str) -> float:
    """The tolerance as a number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value < 1.0:
        raise CaseError(
            f'--tolerance: got "{text[:60]}", allowed a number above 0 and below 1; give 1e-3 for '
            "0.1 %"
        )
    return value


def print_verification(found: Verification) -> None:
    """Steps with their ledgers, order, error bars, and what to do with them."""
    rows = []
    for step, residual in zip(found.steps, found.residuals, strict=True):
        rows.append(
            (
                f"{step:.6g}",
                f"{step / found.limit:.3g}",
                f"{residual:.1e}" if math.isfinite(residual) else "-",
            )
        )
    print_text(
        text_table(
            [("step [s]", "of the stability limit", "largest ledger residual"), *rows], ">>>"
        )
    )
    print_text(paragraph(about_order(found)))
    if not found.sensors:
        print_text(
            "no sensor has the peak of its first pulse in the run: no error bar; name beads under "
            "[sensors], or run longer"
        )
        return
    heads = (
        "sensor bead",
        "peak [N]",
        "+- step",
        "+- samples",
        "arrival [us]",
        "+- step",
        "+- samples",
        "of all [%]",
    )
    bars = [
        (
            str(one.bead),
            number_text(one.peak),
            f"{one.peak_error:.2g}",
            f"{one.peak_sampling:.2g}",
            number_text(one.arrival * 1e6),
            f"{one.arrival_error * 1e6:.2g}",
            f"{one.arrival_sampling * 1e6:.2g}",
            f"{100.0 * one.relative_of_all:.2g}",
        )
        for one in found.sensors
    ]
    print_text(text_table([heads, *bars], ">>>>>>>>"))
    print_text(paragraph(step_words(found)))


def about_order(found: Verification) -> str:
    """The observed order against the law's own."""
    if math.isnan(found.order):
        return f"The motion is the same at all steps, to rounding ({found.law})."
    sentence = (
        "Observed order of the motion, from the velocities of all bodies over the whole run: "
        f"{found.order:.2f}; "
    )
    sentence += f"{found.law} states {found.order_stated}."
    if not found.confirmed:
        sentence += (
            f" {found.doubt} The error bars of the step are made with order "
            f"{found.order_used:.2g} and three times the extrapolation's."
        )
    return sentence


def step_words(found: Verification) -> str:
    """Which step meets the tolerance, and what the samples do to it."""
    step, percent = found.sufficient_step, 100.0 * found.tolerance
    sentence = (
        f"At the case's own step, {found.time_step:.4g} s, every peak and arrival is within "
        f"{100.0 * found.largest:.2g} %, the samples every {found.interval:.3g} s included. A step "
        f"of {step:.3g} s, {step / found.limit:.3g} of the stability limit, gives {percent:.3g} %"
    )
    if step >= found.largest_known_step:
        sentence += " or better; no larger one is recommended, for the order is not known there"
    sampled = max((one.relative_of_samples for one in found.sensors), default=0.0)
    if sampled > found.tolerance:
        sentence += (
            f". The samples alone cost a peak or an arrival up to {100.0 * sampled:.2g} %: take a "
            "shorter sensors.interval"
        )
    return f"{sentence}."


def what_is_missed(found: Verification) -> str:
    """The sentence of a missed tolerance."""
    if math.isnan(found.largest):
        why = (
            "no sensor has the peak of its first pulse in the run; name beads under [sensors], or "
            "run longer"
        )
    elif not found.confirmed:
        why = (
            f"order {found.order:.2f} was seen, {found.law} states {found.order_stated}; take a "
            "smaller step"
        )
    else:
        by_step = max(sensor.relative for sensor in found.sensors)
        advice = (
            f"a step of {found.sufficient_step:.3g} s"
            if by_step > found.tolerance
            else "a shorter sensors.interval"
        )
        why = f"the error bars reach {found.largest:.2g} of a peak or an arrival; take {advice}"
    return f"the tolerance of {found.tolerance:g} is not shown to be kept: {why}"
