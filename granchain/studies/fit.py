"""Fit: which numbers of a case make it give what was measured, how sure they are, and which of them
the measurement distinguishes.

Weighted least squares (`scipy.optimize.least_squares`) on the numbers that `granchain.comparison`
reads from the trace: each number's own uncertainty, from its noise, sampling, baseline and shape,
is its weight. Beside the keys the time between the clocks of the trace and of the run is found, and
by how much calibrations and clocks are off of which the trace states an uncertainty, which holds
them near none."""

from __future__ import annotations

import math
import os
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, overload

import numpy as np

from granchain.analysis.baseline import LEAST_QUIET, step_of
from granchain.analysis.definition import PULSE_BEGINS
from granchain.analysis.noise import (
    NO_SUPPORT,
    Autoregression,
    autoregression,
    sines_of_common_source,
    statistical_inefficiency,
)
from granchain.case import Case
from granchain.case.listing import quantity_of, value_at
from granchain.certificates.examples import example
from granchain.comparison.agreement import Agreement
from granchain.comparison.sides import Computed, Measured, stated_sensor
from granchain.contact import laws as known_laws
from granchain.errors import CaseError, GranchainError, RunError, TraceError
from granchain.keys import Problems, shown, suggestion
from granchain.markup import facts_card, table
from granchain.plain_data import plain_data
from granchain.sensor import Sensor
from granchain.set_up import contacts_of_cases
from granchain.status import Status
from granchain.studies.interruption import scipy_stats
from granchain.studies.many import run_many
from granchain.studies.members import check_members
from granchain.studies.plan import is_number
from granchain.studies.ranking import (
    Apart,
    Ranking,
    check_known,
    differences,
    free_in_each,
    is_law,
    number_inputs,
    ranked,
)
from granchain.studies.search import (
    NEARLY_ALIKE,
    WIDE,
    Lowest,
    descend,
    indistinguishable_groups,
    with_slopes,
)
from granchain.traces import Trace, read_trace

FITTED_TO = ("peaks", "arrivals", "features", "traces")
# The difference of the clocks, which is found beside the free keys where times are compared.
CLOCK_SHIFT, CALIBRATION = "the clock of the trace", "the calibration of the trace"
# Two keys of such a correlation have errors that are three times those that each would have if the
# other were known: 1/sqrt(1 - r^2).
CLOSE_CORRELATION = 0.95
# A part of a key's value: closer to a limit is at it.
AT_LIMIT = 1e-3
# Tables of a case that change what is computed and recorded, not what happens.
NO_PHYSICS = ("title", "time", "sensors", "snapshots", "energy", "tolerance")
# In one of a hundred fits a right case is reported to miss the measurement.
ACCUSED = 0.01
# What a case lacks has the shape of a pulse, noise has none: of the samples of a window it is in
# the first of so many cosines, the last of nearly four periods; ours: a window is some three widths
# of a pulse long. Neyman 1937, doi:10.1080/03461238.1937.10404821.
SHAPES = 8
# Quiet samples that foretell those of a pulse, at most: those nearest to it. Ours: ten times as
# many as a pulse has.
MOST_QUIET = 400
# A quiet sample further off than so many standard deviations is a disturbance.
OUTLYING = 5.0
# A spectrum that few samples show is not known below this part of its mean: ours, -20 dB.
SEEN_RANGE = 0.01
# Of a variance a line takes this part at most: ours.
LINE_SHARE = 0.5
# Correlation times of noise in a quiet stretch from which it is known.
FEW_TIMES = 5.0
# The value of a baseline is unknown beforehand: so many times what the quiet samples leave open.
UNKNOWN = 1e3
# Of the kinds of numbers, beside peaks 0 and arrivals 1: what is known beforehand from elsewhere.
STATED = 2
# Stated standard deviations beyond which a gain or a clock is the case's fault.
BEYOND = 2.0


class SensorFit(NamedTuple):
    """One sensor: what was measured, with its uncertainty, and what the fitted case gives.

    Attributes
    ----------
    bead : int
    peak, arrival : Agreement
        [N], with the calibration of the trace; [s], on its clock. Computed ones are read from
        samples as the measured ones are.
    residual : float
        Computed minus measured in standard deviations of the measurement; root mean square of the
        peak's and the arrival's, or of all samples, where those are fitted; nan where the sensor
        has nothing to compare.
    """

    bead: int
    peak: Agreement
    arrival: Agreement
    residual: float


class Nuisance(NamedTuple):
    """What is found of the measurement beside the keys: its kind, whose it is (none: all
    sensors'), and its standard deviation beforehand."""

    kind: str
    sensor: int | None
    error: float


class VarianceTerm(NamedTuple):
    """What one kind of measured numbers adds to the variances of the keys, by the degrees of
    freedom that its size is known with."""

    variance: np.ndarray
    degrees_of_freedom: float


@dataclass(frozen=True, eq=False)
class Fit:
    """The numbers of a case that fit a measurement best.

    Attributes
    ----------
    values, errors : dict of str to float
        By key, in SI; an error is one standard deviation, infinite where the measurement does not
        tell the key.
    covariance, correlation : array (n_free, n_free)
        In the order of the keys; infinite and nan where a key is not determined.
    residuals : array (n_sensors,)
        Computed minus measured, in standard deviations of the measurement.
    sensors : tuple of SensorFit
    scatter : float
        Root mean square of the residuals, over the degrees of freedom: about 1 where the case
        describes the measurement.
    degrees_of_freedom : float
        Numbers measured less numbers found; a calibration that is known beforehand is found in
        part.
    describes : bool
        Whether the scatter is such as the uncertainties of the trace leave in 99 of 100 fits of a
        right case.
    misfit : float
        Root mean square of the difference, as a part of the peak [1]: of samples, where those are
        fitted, else of the peaks; noise included.
    not_told_apart : tuple of tuple of str
        Groups of keys of which the measurement knows one combination alone; a key by itself has no
        effect on it.
    time_shift : float
        To be added to the computed time [s]; nan where no times are compared.
    common_gain : float
        The measured forces over the true ones by what all sensors share, as far as the fit finds
        them off [1]; 1 where the trace states no uncertainty of it.
    gain : array (n_sensors,)
        The same of each sensor, with what is its own [1].
    shift : array (n_sensors,)
        By how much each sensor's clock is late beside `time_shift` [s]; 0 where the trace states no
        uncertainty of it.
    samples : tuple of dict
        Over the first pulse of each sensor that read it whole, the `bead`, the `time` [s], and the
        forces `measured`, above the baseline found, and `computed`, as the sensor reads it [N].
    case : Case
        With the values found.
    start : dict of str to float
    measure : str
    trace : Trace
    variance_terms : tuple of VarianceTerm
        Of the variances.
    aic : float
        Akaike's criterion (1974, doi:10.1109/TAC.1974.1100705): -2 ln L at the noise that is most
        likely, and 2 for each number found. It compares laws fitted to the same numbers.
    messages : tuple of str
        What the reader should know.
    rank : int
        Among the laws that were fitted, from 1; laws that are not told apart from the first of them
        share its rank.
    others : tuple of Apart
        The other laws, with the difference of `aic` and its scatter.
    """

    values: dict[str, float]
    errors: dict[str, float]
    covariance: np.ndarray = field(repr=False)
    correlation: np.ndarray = field(repr=False)
    residuals: np.ndarray = field(repr=False)
    sensors: tuple[SensorFit, ...] = field(repr=False)
    scatter: float
    degrees_of_freedom: float
    describes: bool
    misfit: float
    not_told_apart: tuple[tuple[str, ...], ...]
    time_shift: float
    common_gain: float
    gain: np.ndarray = field(repr=False)
    shift: np.ndarray = field(repr=False)
    samples: tuple[dict[str, Any], ...] = field(repr=False)
    case: Case = field(repr=False)
    start: dict[str, float] = field(repr=False)
    measure: str
    trace: Trace = field(repr=False)
    variance_terms: tuple[VarianceTerm, ...] = field(repr=False)
    aic: float
    messages: tuple[str, ...] = ()
    rank: int = 1
    others: tuple[Apart, ...] = ()

    @property
    def law(self) -> str:
        """The contact law."""
        return self.case.contact.law

    @property
    def cells(self) -> dict[str, str]:
        """Of a row of a table: the values with their errors, and what is left."""
        found = {
            key: f"{value:.5g} +- {self.errors[key]:.2g}" for key, value in self.values.items()
        }
        return found | {
            "AIC": f"{self.aic:.5g}",
            "misfit [%]": f"{100.0 * self.misfit:.3g}",
            "describes it": "yes" if self.describes else "no",
        }

    def interval(self, level: float = 0.9) -> dict[str, tuple[float, float]]:
        """Where the true values lie with this probability, by key.

        Quantiles of Student's distribution: the size of the scatter, of peaks and of arrivals, is
        estimated from the residuals. What the calibration adds is normal. The degrees of freedom of
        the sum are those of Welch and Satterthwaite (JCGM 100:2008, G.4.1,
        doi:10.59161/JCGM100-2008E).

        Parameters
        ----------
        level : float
            Above 0 and below 1.

        Raises
        ------
        CaseError
            For another level.
        """
        if not (is_number(level) and 0.0 < level < 1.0):
            raise CaseError(
                f"level: got {shown(level)}, allowed a number above 0 and below 1; give 0.9 for "
                "90 %"
            )
        found, degrees = {}, self.interval_degrees
        for key, value in self.values.items():
            error, half = self.errors[key], math.inf
            if math.isfinite(error):
                half = float(scipy_stats().t.ppf(0.5 + 0.5 * level, degrees[key])) * error
            found[key] = (value - half, value + half)
        return found

    @property
    def interval_degrees(self) -> dict[str, float]:
        """Degrees of freedom that the error of each key is known with, by key."""
        found = {}
        for i, key in enumerate(self.values):
            inverse = sum(
                one.variance[i] ** 2 / one.degrees_of_freedom for one in self.variance_terms
            )
            known = inverse > 0.0 and math.isfinite(self.errors[key])
            found[key] = self.errors[key] ** 4 / inverse if known else math.inf
        return found

    def _repr_html_(self) -> str:
        """What a notebook shows: the values found, and measured beside computed pulses."""
        likely, degrees = self.interval(0.68), self.interval_degrees
        facts = []
        for key, value in self.values.items():
            low, high = (f"{end:.5g}" for end in likely[key])
            few, unit = math.isfinite(degrees[key]), quantity_of(self.case, key).unit
            known = f", {degrees[key]:.2g} degrees of freedom" if few else ""
            facts += [
                (key, f"{value:.6g} +- {self.errors[key]:.2g}", unit),
                ("68 % interval", f"{low} to {high}{known}", unit),
            ]
        facts += [
            ("scatter", f"{self.scatter:.3g}", "standard deviations"),
            ("misfit", f"{100.0 * self.misfit:.3g}", "% of the peak"),
        ]
        rows = [
            (
                str(one.bead),
                *(
                    f"{factor * number:.5g}"
                    for side, factor in ((one.peak, 1.0), (one.arrival, 1e6))
                    for number in (side.measured, side.computed)
                ),
                f"{one.residual:+.3g}",
            )
            for one in self.sensors
        ]
        heads = (
            "bead", "peak [N], measured", "fitted", "arrival [us], measured", "fitted", "residual"
        )  # fmt: skip
        beads = table(heads, rows, styled=True)
        title = f"Fit to {self.measure}: {self.trace.about.title}"
        return facts_card(title, facts, beads, notes=self.messages)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, words, lists and dicts; a number that is not finite is None."""
        names = (
            "measure", "values", "start", "errors", "covariance", "correlation", "not_told_apart",
            "scatter", "degrees_of_freedom", "describes", "misfit", "time_shift", "common_gain",
            "gain", "shift", "interval_degrees", "samples", "sensors", "messages", "law", "aic",
            "rank", "others",
        )  # fmt: skip
        more = {
            "keys": list(self.values),
            "intervals": {f"{level:g}": self.interval(level) for level in (0.68, 0.9, 0.95)},
            "trace": self.trace.as_dict(),
        }
        return dict(plain_data({name: getattr(self, name) for name in names} | more))


@overload
def fit(
    case: Case,
    trace: Trace | str | os.PathLike[str],
    free: Sequence[str] = (),
    measure: str = "peaks",
    *,
    laws: None = None,
    cutoff: float | None = None,
    threads: int | None = None,
) -> Fit: ...


@overload
def fit(
    case: Case,
    trace: Trace | str | os.PathLike[str],
    free: Sequence[str] = (),
    measure: str = "peaks",
    *,
    laws: Mapping[str, Any],
    cutoff: float | None = None,
    threads: int | None = None,
) -> Ranking[Fit]: ...


def fit(
    case: Case,
    trace: Trace | str | os.PathLike[str],
    free: Sequence[str] = (),
    measure: str = "peaks",
    *,
    laws: Mapping[str, Any] | None = None,
    cutoff: float | None = None,
    threads: int | None = None,
) -> Fit | Ranking[Fit]:
    """Find the numbers of a case with which it gives what was measured.

    Parameters
    ----------
    case : Case
        The search begins at its values and stays within the limits of the keys. Its sensors are
        those of the trace.
    trace : Trace, str or path
        A measured trace, or its folder.
    free : sequence of str
        Keys of the case to be found, such as "contact.psi", "striker.speed"; where there are laws,
        of all of them that know a key.
    measure : {"peaks", "arrivals", "features", "traces"}
        Fitted to peaks of the first pulse, to their times, to both, or to all samples of the first
        pulses.
    laws : mapping, optional
        Laws that are each fitted, by name, with the keys that are free in each:
        {"flores": ["contact.restitution"], "ma-liu": ["contact.psi"]}. In place of keys a mapping
        {"free": [...], "damping": "identified"} gives inputs too, of free ones what the search
        begins at; what neither it nor the case gives begins at an example of the law's.
    cutoff : float, optional
        Of the zero-phase filter that both sides go through [Hz]; 0: none. Default: that of
        about.toml, if it gives one.
    threads : int, optional
        As many as there are processors for this process, unless given.

    Returns
    -------
    Fit, or Ranking of Fit
        Of laws a list, that of the least `aic` first. Two are told apart where it differs by more
        than two of its scatters over a block bootstrap of the trace, and by more than 2.

    Raises
    ------
    CaseError, TraceError
        With what is wrong with what is asked for, before anything is computed.
    RunError
        Where the case gives no pulses to begin with.
    """
    threads = check_members([case], threads)
    if laws is None:
        asked = [(case, _free_quantities(case, free, measure))]
    else:
        asked = _asked_of_laws(case, free, laws, measure)
    if not isinstance(trace, Trace):
        trace = read_trace(trace)
    measured = _measured(case, trace, cutoff)
    rivals = [
        Against(of_law, measured, measure, tuple(quantities), threads)
        for of_law, quantities in asked
    ]
    for against in rivals:
        _check_count(against)
    answers = [
        _descended(against, quantities, "" if laws is None else f"{against.base.contact.law}: ")
        for against, (_, quantities) in zip(rivals, asked, strict=True)
    ]
    return answers[0][1] if laws is None else _contest(rivals, answers)


def _asked_of_laws(
    case: Case, free: Any, laws: Any, measure: Any
) -> list[tuple[Case, dict[str, Any]]]:
    """The case under each law with the quantities that are free in it, or every mistake."""
    problems = Problems()
    problems.check(
        isinstance(laws, Mapping) and bool(laws),
        "laws",
        shown(laws) if laws else "none",
        "one law or more, each with its keys",
        'write {"flores": ["contact.restitution"], "ma-liu": ["contact.psi"]}',
    )
    own: dict[str, dict[str, None]] = {}
    inputs: dict[str, dict[str, Any]] = {}
    for law, entry in laws.items() if isinstance(laws, Mapping) else ():
        if is_law("laws", law, problems):
            more = dict(entry) if isinstance(entry, Mapping) else {"free": entry}
            keys = more.pop("free", [])
            inputs[law] = more
            if problems.check(
                isinstance(keys, (list, tuple)) and len({*map(str, keys)}) == len(keys),
                f"laws.{law}",
                shown(keys),
                "a list of keys, each once",
                'write for example ["contact.restitution"]',
            ):
                own[law] = dict.fromkeys(map(str, keys))
    shared = dict.fromkeys(map(str, free if isinstance(free, (list, tuple)) else []))
    problems.check(
        isinstance(free, (list, tuple)), "free", shown(free), "a list of keys", "write a list"
    )
    keys_of = free_in_each(list(own), shared, own, problems)
    found = []
    for law, keys in zip(own, keys_of, strict=True):
        known = [check_known(f"{law}: {key}", law, key, problems) for key in own[law]]
        if not keys or not all(known):
            continue
        given = inputs[law]
        starts = {
            one.name: example(known_laws()[law], one)
            for key, one in ((f"contact.{name}", one) for name, one in number_inputs(law).items())
            if key in keys and one.required and case.contact.inputs().get(one.name) is None
        }
        changes = {f"contact.{name}": value for name, value in (starts | given).items()}
        changes |= {} if case.contact.law == law else {"contact.law": law}
        try:
            of_law = case.replace(**changes)
            found.append((of_law, _free_quantities(of_law, list(keys), measure)))
        except CaseError as error:
            problems.repeat(f"{law}: {sentence}" for sentence in error.problems)
    problems.close()
    return found


def _measured(case: Case, trace: Trace, cutoff: float | None) -> Measured:
    """What the sensors of the trace read, or what is wrong with the filter or the chain."""
    if cutoff is not None and not (is_number(cutoff) and cutoff >= 0.0):
        raise TraceError(
            f"cutoff: got {shown(cutoff)}, allowed a finite number from 0 [Hz]; give 0 for no "
            "filter"
        )
    beads = trace.sensor_bead.tolist()
    outside = [bead for bead in beads if bead > case.beads]
    if outside:
        raise CaseError(
            f"chain.beads: got {case.beads}, with sensors of the trace in beads "
            f"{', '.join(map(str, outside))}, allowed a chain that "
            "holds them; give the chain that was measured"
        )
    return Measured(trace, beads, stated_sensor(trace, beads, cutoff))


def _check_count(against: Against) -> None:
    """Refuse a trace that has fewer numbers than are to be found."""
    count = len(against.keys)
    if against.count < count + against.times:
        clock = " and the time between the clocks" if against.times else ""
        why = f" ({'; '.join(against.messages)})" if against.messages else ""
        raise TraceError(
            f"free: got {count} keys{clock} for {against.count} measured numbers, "
            "allowed as many numbers at least; free fewer "
            f'keys, or take measure = "features" or "traces"{why}'
        )


def _descended(against: Against, quantities: Mapping[str, Any], whose: str) -> tuple[Lowest, Fit]:
    """Where the way down ends, and what is concluded; of an error, whose it is."""
    start = np.array([value_at(against.base, key) for key in quantities])
    low, high = (
        np.array([next(x for x in limits if x is not None) for limits in ends])
        for ends in (
            [(one.low, one.above, -math.inf) for one in quantities.values()],
            [(one.high, one.below, math.inf) for one in quantities.values()],
        )
    )
    try:
        begin, low, high, size = against.with_nuisances(start, low, high, np.abs(start))
        found = descend(against.residuals, begin, low, high, size)
        if found is not None and against.measure != "traces":
            # what reading samples does to a peak is nearly the same wherever it is found: once is
            # enough
            against.read_as_measured(found.point)
            found = descend(against.residuals, found.point, low, high, size)
        if found is None:
            raise RunError(against.why_not(begin))
    except RunError as error:
        raise RunError(f"{whose}{error}") from None
    began = dict(zip(quantities, start.tolist(), strict=True))
    return found, _concluded(against, found, began, low, high, size)


def _free_quantities(case: Case, free: Any, measure: Any) -> dict[str, Any]:
    """The quantities that are free, or every mistake in what is asked for."""
    problems = Problems()
    problems.check(
        measure in FITTED_TO,
        "measure",
        shown(measure),
        ", ".join(FITTED_TO),
        suggestion(measure, FITTED_TO, "name one of these"),
    )
    keys = list(free) if isinstance(free, (list, tuple)) else []
    problems.check(
        bool(keys),
        "free",
        shown(free) if free else "none",
        "one key or more",
        'write for example ["contact.psi"]',
    )
    found = {}
    for place, key in enumerate(keys):
        twice = key in keys[:place]
        problems.check(not twice, f"free.{key}", "the key twice", "each once", "take one out")
        table = str(key).partition(".")[0]
        if table in NO_PHYSICS:
            problems.add(
                f"free.{key}",
                "a key that changes no physics",
                "one of chain, striker, ends or contact",
                "free what the measurement may tell",
            )
            continue
        try:
            found[key], value = quantity_of(case, key), value_at(case, key)
            problems.check(
                value != 0.0,
                key,
                "0",
                "another value to begin with",
                "give the case one that is of the right size",
            )
            problems.check(
                value == 0.0 or _acts(case, key, value),
                f"free.{key}",
                "a key that changes no physics in this case",
                "one that a body, an end or a contact has something from",
                "free what the measurement may tell: a density only where no mass is given",
            )
        except CaseError as error:
            problems.repeat(error.problems)
    problems.close()
    return found


def _acts(case: Case, key: str, value: float) -> bool:
    """Whether bodies, ends or contacts are others with a thousandth less under a key."""
    try:
        rows = contacts_of_cases([case, case.replace(**{key: 0.999 * value})])
    except CaseError:
        # no case with that: what it would change is not known
        return True
    found = []
    for chain, contacts in rows:
        # what a run takes of a body's size and substance is in its mass and in its contacts
        ends = {side: replace(getattr(chain, side), material=None) for side in ("left", "right")}
        bodies = replace(chain, radius=chain.mass, material=(), **ends)
        found.append(pickle.dumps((vars(bodies), contacts.c, contacts.history)))
    return found[0] != found[1]


# --------------------------------------------------------------------------------------------------
# Computed against measured


class Against:
    """What was measured, and how far from it a case is.

    Parameters
    ----------
    case : Case
    measured : Measured
    measure : str
    keys : tuple of str
        The free ones.
    threads : int
    """

    def __init__(
        self,
        case: Case,
        measured: Measured,
        measure: str,
        keys: tuple[str, ...],
        threads: int,
    ):
        trace, beads = measured.trace, measured.beads
        self.sensor: Sensor = measured.stated
        changes: dict[str, Any] = {
            "sensors.beads": beads,
            "sensors.contacts": [],
            "snapshots": None,
            "energy.ledger": False,
        }
        if self.sensor.front_mass is not None:
            first = (case.striker is None) - case.ends.has_wall("left")
            there = range(first, case.beads + case.ends.has_wall("right"))
            contacts = {contact for bead in beads for contact in (bead - 1, bead)}
            changes["sensors.contacts"] = sorted(contacts.intersection(there))
        self.base, self.trace, self.measure = case, trace, measure
        self.case = case.replace(**changes)
        self.keys, self.threads, self.beads = keys, threads, beads
        self.measured = measured
        self.messages = [*trace.notes, *self.measured.messages()]
        self.messages_of_runs: list[str] = []
        self._kept: dict[bytes, Computed | None] = {}
        stated, readings = trace.about.uncertainty, self.measured.readings
        self.peak, self.arrival, self.peak_error, time_error = np.array(
            [
                (one.peak.value, one.arrival.value, one.peak.uncertainty, one.arrival.uncertainty)
                for one in readings
            ]
        ).T
        self.arrival_error = time_error
        self.times = measure != "peaks"
        # what reading a pulse from the trace's samples adds to its peak and to its time
        self.peak_read, self.arrival_read = np.zeros(len(beads)), np.zeros(len(beads))
        # a gain says nothing of times, a clock nothing of peaks
        count = len(beads)
        self.common_error = stated.common_gain if measure != "arrivals" else 0.0
        self.gain_error = np.array(stated.own("gain", count)) * (measure != "arrivals")
        self.time_error = np.array(stated.own("time", count)) * self.times
        # of each number that is compared: its sensor, and 0 for a peak, 1 for an arrival, 0 for a
        # sample
        compared: list[Any] = [
            np.flatnonzero(np.isfinite(values)) if measure in (name, "features") else []
            for name, values in (("peaks", self.peak), ("arrivals", self.arrival))
        ]
        self._windows: dict[int, slice] = {}
        for k, reading in enumerate(readings):
            if reading.sound and math.isfinite(reading.width.value):
                ends = reading.arrival.value - reading.before, reading.arrival.value + reading.after
                window = self._windows[k] = slice(*np.searchsorted(trace.time, ends).tolist())
                if measure == "traces":
                    compared[0] += [k] * (window.stop - window.start)
        self.labels = np.concatenate(compared).astype(int)
        self.kinds = np.repeat([0, 1], [len(one) for one in compared])
        self.count = len(self.kinds)
        has = np.bincount(self.labels, minlength=count) > 0
        self.gain_error, self.time_error = self.gain_error * has, self.time_error * has
        # what is found beside the keys, in the order of a point: of each, its kind, its sensor
        # (none: all), and the standard deviation that it is known by beforehand
        self.nuisances = [Nuisance(CLOCK_SHIFT, None, math.inf)] * self.times
        if self.common_error > 0.0:
            self.nuisances.append(Nuisance(CALIBRATION, None, self.common_error))
        for name, errors in ((CALIBRATION, self.gain_error), (CLOCK_SHIFT, self.time_error)):
            self.nuisances += [
                Nuisance(name, k, float(errors[k])) for k in np.flatnonzero(errors).tolist()
            ]
        self.known = [one for one in self.nuisances if math.isfinite(one.error)]
        # of freedom, by sensor, that the quiet stretch tells the size of its noise with; 0: not by
        # it
        self.quiet_degrees = np.zeros(count)
        if measure != "traces" and stated.noise is None:
            for k, (reading, noise) in enumerate(zip(readings, self.measured.noises, strict=True)):
                self.quiet_degrees[k] = reading.baseline.samples / noise.statistical_inefficiency
        # the same of its slow parts
        self.slow_degrees = np.zeros(count)
        # samples over which the noise of a sensor is correlated
        self.correlated = np.ones(count)
        self._lines: dict[int, np.ndarray] = {}
        self._roots: dict[int, np.ndarray] = {}
        if measure == "traces":
            self._weigh()

    def with_nuisances(
        self, start: np.ndarray, low: np.ndarray, high: np.ndarray, size: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """The search's start, box and sizes, with the difference of the clocks where times are
        compared, and the calibration's error."""
        columns = []
        if self.times:
            (model,) = self._computed([start])
            apart = self.apart(model)
            if not np.isfinite(apart).any():
                raise RunError(self.why_not(start))
            widths = np.array([one.width.value for one in self.measured.readings])
            known = widths[np.isfinite(widths)]
            width = float(np.median(known)) if len(known) else self.trace.interval
            columns.append((float(np.nanmedian(apart)), -math.inf, math.inf, width))
        columns += [
            (0.0, -1.0 if one.kind == CALIBRATION else -math.inf, math.inf, one.error)
            for one in self.known
        ]
        box = (start, low, high, size)
        return tuple(np.append(own, [one[i] for one in columns]) for i, own in enumerate(box))

    def why_not(self, point: np.ndarray) -> str:
        """Why a point has nothing to compare."""
        case = self._case(point)
        if isinstance(case, str):
            return case
        ensemble = run_many([case], threads=1)
        if ensemble.status[0].failed:
            return ensemble.messages[0].removeprefix("member 0: ")
        return (
            f"time.end: got {self.case.time.end:g} s, in which the computed pulse does not pass "
            "all the sensors at which one was measured, "
            "or little beside it, allowed a longer run; raise time.end"
        )

    def read_as_measured(self, point: np.ndarray) -> None:
        """What reading samples with noise adds to a peak and to its time, by the computed pulses at
        a point.

        The fewer the samples and the stronger the noise, the longer the stretch of a pulse that its
        peak is read from, and the more of it a curve cuts off; and which stretch is chosen depends
        on the noise itself. Of the computed pulse with what was measured and with its noise turned
        over, the mean has all of that and no noise (antithetic variates: Hammersley & Morton 1956,
        doi:10.1017/S0305004100031455).
        """
        (model,) = self._computed([point])
        if model is None:
            return
        # as high as the measured pulse, and at its time
        force = self.measured.force
        gain, shift = self.peak / model.peaks, self.apart(model)
        finite = np.isfinite(gain) & np.isfinite(shift)
        gain, shift = np.where(finite, gain, 1.0), np.where(finite, shift, self.mean_shift(model))
        modelled = gain * np.column_stack(
            [model.at(self.trace.time - one)[:, k] for k, one in enumerate(shift)]
        )
        modelled = np.nan_to_num(modelled)
        read = 0.5 * (np.array([self.peak, self.arrival]) + self._read(2.0 * modelled - force))
        if np.isnan(read).any():
            # what noise hides there
            read = np.where(np.isnan(read), self._read(modelled), read)
        self.peak_read = np.nan_to_num(read[0] / gain - model.peaks)
        self.arrival_read = np.nan_to_num(read[1] - model.arrivals - shift)

    def _read(self, force: np.ndarray) -> np.ndarray:
        """(2, sensor) Peaks [N] and arrivals [s] of forces (sample, sensor) with the noise of the
        trace."""
        readings = self.measured.read(force)
        return np.array([(one.peak.value, one.arrival.value) for one in readings]).T

    def misfit(self, point: np.ndarray) -> float:
        """Root mean square of computed less measured, over the peaks [1]."""
        (model,) = self._computed([point])
        if model is None:
            return math.nan
        shift, gain = self.of_measurement(point)
        if self.measure != "traces":
            off = (gain * model.peaks + self.peak_read) / self.peak - 1.0
            return float(np.sqrt(np.nanmean(off**2)))
        parts = [off / self.peak[k] for k, off in self.left_of_samples(model, shift, gain)]
        return float(np.sqrt(np.mean(np.concatenate(parts) ** 2)))

    def apart(self, model: Computed | None) -> np.ndarray:
        """(sensor,) From computed to measured arrivals [s]."""
        return self.arrival - (math.nan if model is None else model.arrivals)

    def mean_shift(self, model: Computed) -> float:
        """The mean time from computed to measured arrivals [s]; 0 where there are none."""
        apart = self.apart(model)
        return float(np.nanmean(apart)) if np.isfinite(apart).any() else 0.0

    def _case(self, point: np.ndarray) -> Case | str:
        """The case at a point, or why there is none."""
        try:
            return self.case.replace(**dict(zip(self.keys, map(float, point), strict=False)))
        except CaseError as error:
            return str(error)

    def _computed(self, points: Sequence[np.ndarray]) -> list[Computed | None]:
        """The computed side at each point, None where there is none: points of the same keys'
        values share a run, and so does the next call with the last that had as many."""
        keys = [point[: len(self.keys)].tobytes() for point in points]
        found = {key: self._kept.get(key) for key in keys}
        asked = {key: self._case(np.frombuffer(key)) for key, one in found.items() if one is None}
        cases = {key: case for key, case in asked.items() if isinstance(case, Case)}
        if cases:
            ensemble = run_many(cases.values(), threads=self.threads)
            if Status.INTERRUPTED in ensemble.status:
                raise KeyboardInterrupt
            for i, (key, status) in enumerate(zip(cases, ensemble.status, strict=True)):
                if not status.failed:
                    sides = self.sensor, self.sensor, self.messages_of_runs
                    found[key] = Computed(ensemble[i], self.beads, *sides)
        if len(found) >= len(self._kept):
            self._kept = found
        return [found[key] for key in keys]

    def residuals(self, points: np.ndarray) -> np.ndarray:
        """As `search.descend` takes them: computed minus measured, in standard deviations."""
        rows = []
        for point, model in zip(points, self._computed(list(points)), strict=True):
            shift, gain = self.of_measurement(point)
            # what is known of the calibrations and clocks beforehand are more numbers
            more = point[len(point) - len(self.known) :] / [one.error for one in self.known]
            rows.append([*self.off(model, shift, gain), *more])
        return np.array(rows)

    def of_measurement(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(sensor,) The time between the clocks of a sensor and of the run, and the measured force
        over the true one, at a point."""
        shift, gain = np.zeros((2, len(self.beads)))
        for one, value in zip(self.nuisances, point[len(self.keys) :].tolist(), strict=True):
            which = shift if one.kind == CLOCK_SHIFT else gain
            which[slice(None) if one.sensor is None else one.sensor] += value
        return shift, 1.0 + gain

    def common(self, point: np.ndarray, kind: str) -> float:
        """What all sensors share at a point: the clock's difference [s], or by how much the
        calibration is off [1]."""
        more = zip(self.nuisances, point[len(self.keys) :].tolist(), strict=True)
        return sum(value for one, value in more if one.kind == kind and one.sensor is None)

    def force_at(self, model: Computed, k: int, shift: float, gain: float) -> np.ndarray:
        """The computed force in the window of a sensor, as its instrument reads it [N]."""
        return gain * model.at(self.trace.time[self._windows[k]] - shift)[:, k]

    def left_of_samples(
        self, model: Computed, shift: np.ndarray, gain: np.ndarray
    ) -> list[tuple[int, np.ndarray]]:
        """Of each sensor, computed less measured force in its window [N]."""
        return [
            (
                k,
                self.force_at(model, k, shift[k], gain[k])
                + self._lines[k]
                - self.measured.force[window, k],
            )
            for k, window in self._windows.items()
        ]

    def samples(self, model: Computed, shift: np.ndarray, gain: np.ndarray) -> list[dict[str, Any]]:
        """The bead, the times [s] and the measured and computed forces [N] of each sensor."""
        return [
            {
                "bead": self.beads[k],
                "time": self.trace.time[window],
                "measured": self.measured.force[window, k] - self._lines.get(k, 0.0),
                "computed": self.force_at(model, k, shift[k], gain[k]),
            }
            for k, window in self._windows.items()
        ]

    def off(self, model: Computed | None, shift: np.ndarray, gain: np.ndarray) -> np.ndarray:
        """How far a computed side is from the measured one, in standard deviations; nan where
        it has no pulse that was measured."""
        if model is None:
            return np.full(self.count, math.nan)
        if self.measure == "traces":
            from scipy.linalg import solve_triangular

            return np.concatenate(
                [
                    solve_triangular(self._roots[k], off, lower=True, check_finite=False)
                    for k, off in self.left_of_samples(model, shift, gain)
                ]
            )
        peaks = gain * model.peaks + self.peak_read - self.peak
        arrivals = model.arrivals + shift + self.arrival_read - self.arrival
        with np.errstate(all="ignore"):
            off = np.array([peaks / self.peak_error, arrivals / self.arrival_error])
        return np.asarray(off[self.kinds, self.labels])

    def _weigh(self) -> None:
        """Of the samples of each sensor's window, what its quiet stretch foretells of them, and the
        lower Cholesky factor of their covariance where that is known.

        They have the noise of the quiet stretch, with its autocovariance and the sine that it may
        show, about a line that the quiet samples determine in part (Rasmussen & Williams 2006,
        Gaussian processes for machine learning, eq. 2.41 and 2.42). A slope is held near none by
        what it seems to be in the quiet stretch beyond its error there, and no less than half of
        that: what is slower than the stretch is a line.
        """
        from scipy.linalg import cholesky, solve_triangular, toeplitz

        quiets = {}
        for k in self._windows:
            force, baseline = self.measured.force[:, k], self.measured.readings[k].baseline
            quiets[k] = force[: baseline.samples]
        enough = [k for k in quiets if len(quiets[k]) >= LEAST_QUIET and quiets[k].any()]
        sines = dict(zip(enough, sines_of_common_source([quiets[k] for k in enough]), strict=True))
        rests = {k: one.rest for k, one in sines.items()}
        # a sine that is taken off leaves a gap about its frequency, which is no colour of the noise
        doubt = NO_SUPPORT if any(one.turn for one in sines.values()) else 0.0
        models: dict[int, tuple[Autoregression, int]] = {
            k: (autoregression([rests[k]], doubt), 0) for k in enough
        }
        # sensors of one make share a spectrum, which more samples determine better
        if len(enough) > 1:
            alike = autoregression([rests[k] for k in enough], len(enough) * doubt)
            if alike.criterion < sum(one.criterion for one, _ in models.values()):
                models = {k: (alike, i) for i, k in enumerate(enough)}
        for k, window in self._windows.items():
            force = self.measured.force[:, k]
            baseline, quiet = self.measured.readings[k].baseline, quiets[k]
            last = min(len(quiet), window.start)
            first = max(0, last - MOST_QUIET)
            count = window.stop - first
            row, wave = np.zeros((2, count))
            if k in models:
                row = models[k][0].autocovariance(models[k][1], count)
                wave = sines[k].autocovariance(count)
                if self.trace.about.uncertainty.noise is not None:
                    size = self.measured.noise[k] ** 2 / (row[0] + wave[0])
                    row, wave = size * row, size * wave
                row *= self._judged(k, len(quiet), row, len(models[k][0].coefficients) - 1)
                # two amplitudes and a frequency went with the sine
                row *= len(quiet) / max(len(quiet) - 3, 1) if sines[k].turn else 1.0
            else:
                row[0] = self.measured.raw_noise[k] ** 2
                if len(quiet) < LEAST_QUIET:
                    self._say_few(k, len(quiet), f"{LEAST_QUIET} samples and more tell its noise")
            least = PULSE_BEGINS**3 * float(np.abs(force[window]).max())
            row[0] = max(row[0], least**2) + least**2 + SEEN_RANGE * row[0]
            row[0] += step_of(self.trace.sensor_force[:, k]) ** 2 / 12.0
            row += wave
            places = np.r_[first:last, window.start : window.stop]
            # disturbances are no noise
            calm = np.abs(force) <= OUTLYING * math.sqrt(row[0])
            places = places[calm[places] | (places >= window.start)]
            ahead = int(np.sum(places < window.start))
            covariance = toeplitz(row)[np.ix_(places - first, places - first)]
            away = places - baseline.middle
            if ahead < LEAST_QUIET:
                common = baseline.uncertainty(0.5 * (window.start + window.stop))
                covariance += common**2
            else:
                line = np.column_stack([np.ones(ahead), away[:ahead]])
                quiet_root = cholesky(covariance[:ahead, :ahead], lower=True)
                basis = solve_triangular(quiet_root, line, lower=True)
                seen = solve_triangular(quiet_root, force[places[:ahead]], lower=True)
                sure = np.linalg.inv(basis.T @ basis)
                slope = float((sure @ (basis.T @ seen))[1])
                held = max(slope**2 - sure[1, 1], 0.25 * sure[1, 1])
                covariance += UNKNOWN**2 * sure[0, 0] + held * np.outer(away, away)
                # the slowest part of the noise went with the quiet stretch's mean
                covariance[ahead:, ahead:] += baseline.value_error**2
            root = np.asarray(cholesky(covariance, lower=True))
            told = solve_triangular(root[:ahead, :ahead], force[places[:ahead]], lower=True)
            self._lines[k] = root[ahead:, :ahead] @ told
            self._roots[k] = root[ahead:, ahead:]

    def _judged(self, k: int, count: int, row: np.ndarray, order: int) -> float:
        """By how much the covariance of noise is larger than so many quiet samples show it; counts
        what they tell of its size, and says where they are few."""
        apart = statistical_inefficiency(row[:count])
        self.correlated[k] = apart
        self.quiet_degrees[k] = count / apart
        # of a spectrum by an autoregression the relative variance at no frequency is 4 order/count
        # (Berk 1974, doi:10.1214/aos/1176342709), that of a size by so many degrees 2/degrees; as
        # if each sensor had its own: where all share one, that of their sum is the same
        self.slow_degrees[k] = count / (apart + 2.0 * order)
        if count < FEW_TIMES * apart:
            self._say_few(
                k,
                count,
                f"its noise is correlated over {1e6 * apart * self.trace.interval:.3g} us, and "
                f"{FEW_TIMES:g} times that tell it",
            )
        # a mean has the variance of count/times samples, a slope another: they go with the line
        # that the samples are about
        times = 2.0 * float(np.sum(row[:count] / row[0])) - 1.0
        return 1.0 / (1.0 - min(2.0 * max(times, 1.0) / count, LINE_SHARE))

    def _say_few(self, k: int, count: int, why: str) -> None:
        """Say that a quiet stretch is too short."""
        self.messages.append(
            f"bead {self.beads[k]}: the quiet stretch before the pulse is {count} samples, "
            f"{1e6 * count * self.trace.interval:.3g} us: {why}; the intervals are wider for it, "
            "and may not be wide enough; record more before the pulse"
        )

    def blocks(self) -> np.ndarray:
        """(number,) Which numbers are drawn together: those of a sensor, or samples of a sensor
        over twice as long as its noise is correlated."""
        if self.measure != "traces":
            return self.labels
        found, first = [], 0
        for k, window in self._windows.items():
            count = window.stop - window.start
            pieces = max(1, int(count / math.ceil(2.0 * self.correlated[k])))
            found.append(first + np.arange(count) * pieces // count)
            first += pieces
        return np.concatenate(found)

    def shapes(self) -> tuple[np.ndarray, np.ndarray]:
        """(shape, number) Slow shapes in the samples of each sensor, each of norm 1 and across the
        others; and (shape,) their sensors."""
        from scipy.fft import dct

        rows, labels = [], []
        for k in self._windows if self.measure == "traces" else ():
            places = np.flatnonzero(self.labels == k)
            for shape in dct(np.eye(len(places)), norm="ortho", axis=0)[:SHAPES]:
                rows.append(np.zeros(self.count))
                rows[-1][places] = shape
                labels.append(k)
        return np.reshape(rows, (-1, self.count)), np.array(labels, dtype=int)

    def of_sensors(self, residual: np.ndarray) -> np.ndarray:
        """(sensor,) Root mean square of the residuals of each sensor, with their sign where
        there is one."""
        found = np.full(len(self.beads), math.nan)
        for k in np.unique(self.labels):
            own = residual[self.labels == k]
            found[k] = own[0] if len(own) == 1 else math.sqrt(np.mean(own**2))
        return found


# --------------------------------------------------------------------------------------------------
# What is concluded


class Rest(NamedTuple):
    """What is left of the measured numbers, and of what is known beforehand, whose deviation is 1.

    Attributes
    ----------
    residual, free : array (number,)
        In standard deviations, and degrees of freedom: what is left of each beside its leverage.
    slope : array (number, parameter)
        Derivatives by a step of 1 of each parameter.
    inverse : array (parameter, number)
        Of these: the answer is a linear map of the numbers.
    own : array (number,)
        Whether it counts as misfit: what all sensors share is known from elsewhere, and that it is
        off is none of theirs.
    """

    residual: np.ndarray
    free: np.ndarray
    slope: np.ndarray
    inverse: np.ndarray
    own: np.ndarray

    def scatter(self, those: np.ndarray) -> tuple[float, float]:
        """Root mean square of some numbers over their degrees of freedom, nan without any; and
        these."""
        degrees = enough(float(self.free[those].sum()))
        if not degrees:
            return math.nan, 0.0
        return math.sqrt(float(self.residual[those] @ self.residual[those]) / degrees), degrees


def _concluded(
    against: Against,
    found: Lowest,
    start: dict[str, float],
    low: np.ndarray,
    high: np.ndarray,
    size: np.ndarray,
) -> Fit:
    """Values, errors and messages."""
    keys, count = list(against.keys), len(against.keys)
    values = dict(zip(keys, map(float, found.point), strict=False))
    slope = found.slope * size
    inverse = np.linalg.pinv(slope)
    rest = Rest(
        found.residual,
        1.0 - np.einsum("ij,ji->i", slope, inverse),
        slope,
        inverse,
        np.array([True] * against.count + [one.sensor is not None for one in against.known]),
    )
    scatter, degrees = rest.scatter(rest.own)
    shared, names = _shared_derivatives(against, found.slope)
    if indistinguishable_groups(shared, names, size[: len(names)], NEARLY_ALIKE):
        _, wide = with_slopes(against.residuals, found.point, low, high, size, WIDE)
        shared, names = _shared_derivatives(against, wide)
    groups = indistinguishable_groups(shared, names, size[: len(names)])
    terms, covariance = _variances(against, rest, size)
    untold = [i for i, key in enumerate(keys) if any(key in group for group in groups)]
    for i in untold:
        covariance[i, :] = covariance[:, i] = math.nan
        covariance[i, i] = math.inf
    errors = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore"):
        correlation = covariance / np.outer(errors, errors)
    correlation[np.diag_indices(count)] = 1.0
    at_limits = [
        key
        for i, key in enumerate(keys)
        if min(values[key] - low[i], high[i] - values[key]) < AT_LIMIT * size[i]
    ]
    chance, left = _chance_of_rest(against, rest)
    describes = not degrees or chance >= ACCUSED
    misfit = against.misfit(found.point)
    remarks = {
        "the search had not come to an end: the values are the best that it met": not found.settled,
        f"The case does not describe the measurement: {left} what the "
        f"uncertainties of the trace explain, {100.0 * misfit:.2g} % of the peaks; the case lacks "
        "something, which the errors take for noise": not describes,
        "as many numbers were measured as are found: nothing is left over that shows whether "
        "the case describes them": not degrees,
    }
    beyond = [
        _beyond(against, one, value)
        for one, value in zip(against.nuisances, found.point[count:].tolist(), strict=True)
        if abs(value) > BEYOND * one.error
    ]
    if beyond:
        remarks[
            f"{'; '.join(beyond)}: the first sign that the case lacks something, or that the trace "
            "states too little"
        ] = True
    (final,) = against._computed([found.point])
    if final is None:
        raise GranchainError(
            "fit: got no pulses of the case at the values found, allowed one at each sensor; "
            "begin with other values"
        )
    messages = (
        *against.messages,
        *_words_of_keys(values, groups, correlation, at_limits),
        *(sentence for sentence, true in remarks.items() if true),
        *against.messages_of_runs,
    )
    shift, gain = against.of_measurement(found.point)
    time_shift = against.common(found.point, CLOCK_SHIFT)
    clock = shift if against.times else shift + against.mean_shift(final)
    off = against.of_sensors(rest.residual[: against.count])
    # computed forces as the calibration of the trace reads them
    peaks = zip(
        against.peak, against.peak_error, gain * final.peaks + against.peak_read, strict=True
    )
    arrivals = zip(
        against.arrival, against.arrival_error, final.arrivals + clock + against.arrival_read,
        strict=True,
    )  # fmt: skip
    numbers, beside = _contributions(against, rest.residual)
    # a group of keys that cannot be distinguished counts as one number less
    known_keys = count - sum(any(key in keys for key in group) for group in groups)
    return Fit(
        values=values,
        errors=dict(zip(keys, errors.tolist(), strict=True)),
        covariance=covariance,
        correlation=correlation,
        residuals=off,
        sensors=tuple(
            SensorFit(
                bead, Agreement(*map(float, peak)), Agreement(*map(float, arrival)), float(one)
            )
            for bead, peak, arrival, one in zip(against.beads, peaks, arrivals, off, strict=True)
        ),
        scatter=scatter,
        degrees_of_freedom=degrees,
        describes=describes,
        misfit=misfit,
        not_told_apart=tuple(groups),
        time_shift=time_shift if against.times else math.nan,
        common_gain=1.0 + against.common(found.point, CALIBRATION),
        gain=gain,
        shift=shift - time_shift,
        samples=tuple(against.samples(final, clock, gain)),
        case=against.base.replace(**values),
        start=start,
        measure=against.measure,
        trace=against.trace,
        variance_terms=tuple(terms),
        aic=beside + float(numbers.sum()) + 2.0 * (known_keys + int(against.times)),
        messages=tuple(dict.fromkeys(messages)),
    )


def _variances(
    against: Against, rest: Rest, size: np.ndarray
) -> tuple[list[VarianceTerm], np.ndarray]:
    """What each kind of measured numbers adds to the variances of the keys, and their
    covariance."""
    count = len(against.keys)
    linear = (rest.inverse * size[:, None])[:count]
    # what is known beforehand of one sensor goes with its peaks, 0, or its arrivals, 1
    alone = [one.sensor is not None and against.measure != "traces" for one in against.known]
    kinds = np.array(
        [
            *against.kinds,
            *(
                int(one.kind == CLOCK_SHIFT) if own else STATED
                for one, own in zip(against.known, alone, strict=True)
            ),
        ]
    )
    terms, covariance = [], np.zeros((count, count))
    for kind in np.unique(kinds):
        scale, known = rest.scatter(kinds == kind)
        if kind == STATED or not known:
            scale, known = 1.0, 0.0
        # the noise of whole traces is known from many samples, and more scatter than that is the
        # case's; the uncertainties of a few peaks or arrivals, bounds where they are of the shape
        # of a pulse, are not known so well: the scatter says how large they are
        if kind != STATED and against.measure == "traces":
            scale, known = max(scale, 1.0), float(against.quiet_degrees.sum())
        rows = scale * linear[:, kinds == kind]
        terms.append(VarianceTerm(np.sum(rows**2, axis=1), known or math.inf))
        covariance = covariance + rows @ rows.T
    return terms, covariance


def _words_of_keys(
    values: Mapping[str, float],
    groups: Sequence[tuple[str, ...]],
    correlation: np.ndarray,
    at_limits: Sequence[str],
) -> list[str]:
    """Which keys the measurement does not tell, or hardly, and which lie at a limit."""
    keys = list(values)
    alike = [
        f"{', '.join(others)} and {last} are not told apart: the measurement knows one "
        "combination of them, and these values are one of many; give the case a value of "
        "one of them, or measure what tells them apart"
        if others
        else f"{last} has no effect on what was measured: its value is the one that it began with"
        for *others, last in groups
    ]
    close = [
        f"{keys[i]} and {keys[j]} are hard to tell apart: their correlation is "
        f"{correlation[i, j]:+.4f}, and each error "
        f"{1.0 / math.sqrt(max(1.0 - correlation[i, j] ** 2, 1e-12)):.2g} times what it would be "
        "if the other were known"
        for i in range(len(keys))
        for j in range(i)
        if abs(correlation[i, j]) > CLOSE_CORRELATION
    ]
    limits = [
        f"{key}: {values[key]:.6g} is at the limit of what is allowed: its error means nothing"
        for key in at_limits
    ]
    return [*alike, *close, *limits]


def _chance_of_rest(against: Against, rest: Rest) -> tuple[float, str]:
    """Chance that a right case leaves so much, of all numbers or of their slow parts; and which of
    the two is how large."""
    labels = np.append(against.labels, np.full(len(against.known), -1))[rest.own]
    chance = _chance(rest.residual[rest.own], rest.free[rest.own], labels, against.quiet_degrees)
    left = f"what is left is {rest.scatter(rest.own)[0]:.3g} times"
    rows, labels = against.shapes()
    if not len(rows):
        return chance, left
    slow = rows @ rest.residual[: against.count]
    by, back = rows @ rest.slope[: against.count], rest.inverse[:, : against.count] @ rows.T
    free = 1.0 - np.einsum("ij,ji->i", by, back)
    of_slow = _chance(slow, free, labels, against.slow_degrees)
    if of_slow < chance:
        ratio = math.sqrt(float(slow @ slow) / float(free.sum()))
        left = f"the slow part of what is left is {ratio:.3g} times"
    # of two that are looked at, the smaller (Bonferroni)
    return 2.0 * min(chance, of_slow), left


def _chance(residual: np.ndarray, free: np.ndarray, labels: np.ndarray, known: np.ndarray) -> float:
    """Chance that a right case leaves so much.

    The noise of each sensor is known from its quiet samples alone: what is left there, over its
    degrees of freedom, is distributed as F, of which the chi squared of the same chance is added.

    Parameters
    ----------
    residual, free, labels : array (number,)
        Standard deviations, with the degrees of freedom and the sensor of each; -1: of none, known
        beforehand.
    known : array (sensor,)
        Degrees of freedom that the size of its noise is known with; 0: known.
    """
    stats = scipy_stats()
    total = 0.0
    for k in np.unique(labels):
        square, degrees = (float(one[labels == k].sum()) for one in (residual**2, free))
        if k >= 0 and known[k] and degrees > 0.0:
            square = stats.chi2.isf(stats.f.sf(square / degrees, degrees, known[k]), degrees)
        total += float(square)
    return float(stats.chi2.sf(total, free.sum()))


def _contributions(against: Against, residual: np.ndarray) -> tuple[np.ndarray, float]:
    """(number,) What each measured number adds to -2 ln L, and what is added beside them, by what
    is known of noise, gains and clocks beforehand.

    The size s of the noise of each sensor is the most likely one, of what is left of its n numbers
    and of its quiet stretch, n ln s^2 + S/s^2 and the like with as many degrees of freedom; without
    a quiet stretch it is the stated one. To minimise the sum of squares over gains and
    clocks that are known beforehand is to integrate them out.
    """
    square, known = residual[: against.count] ** 2, against.quiet_degrees
    count = len(against.beads)
    numbers, left = (
        np.bincount(against.labels, weights, minlength=count) for weights in (None, square)
    )
    by_quiet = known > 0.0
    size = np.where(by_quiet, (known + left) / np.where(by_quiet, known + numbers, 1.0), 1.0)
    own = size[against.labels]
    beside = known @ (np.log(size) + 1.0 / size - 1.0)
    return np.log(own) + square / own, float(beside + np.sum(residual[against.count :] ** 2))


def _contest(rivals: Sequence[Against], answers: Sequence[tuple[Lowest, Fit]]) -> Ranking[Fit]:
    """The fits of several laws, best first, with what distinguishes them: no run is repeated."""
    fits = [one for _, one in answers]
    laws = [one.law for one in fits]
    blocks = [
        np.bincount(against.blocks(), _contributions(against, found.residual)[0])
        for against, (found, _) in zip(rivals, answers, strict=True)
    ]
    left = [1.0 - (len(one.keys) + one.times) / one.count for one in rivals]
    distances = differences(laws, [one.aic for one in fits], blocks, left)
    distinct = {
        (i, laws.index(one.law)): one.told for i, row in enumerate(distances) for one in row
    }
    places = ranked([one.aic for one in fits], lambda i, j: not distinct[i, j])
    common = set.intersection(*(set(one.messages) for one in fits))
    entries = [
        replace(
            fits[k],
            rank=rank,
            others=distances[k],
            messages=tuple(
                words if words in common else f"{laws[k]}: {words}" for words in fits[k].messages
            ),
        )
        for k, rank in places
    ]
    trace = rivals[0].trace
    return Ranking(
        entries,
        f"Laws fitted to {trace.about.title}: {trace.words}",
        measure=rivals[0].measure,
        trace=trace.as_dict(),
    )


def _shared_derivatives(against: Against, slope: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Derivatives by the keys and by what all sensors share, without what each sensor's own gain
    and clock explain of them, and the names of those."""
    # they come first
    names = [*against.keys, *(one.kind for one in against.nuisances if one.sensor is None)]
    count = len(names)
    if count < slope.shape[1]:
        basis, _ = np.linalg.qr(slope[:, count:])
        slope = slope - basis @ (basis.T @ slope)
    return slope[:, :count], names


def _beyond(against: Against, term: Nuisance, value: float) -> str:
    """That a gain or a clock is found further off than is stated."""
    whose = "all sensors" if term.sensor is None else f"bead {against.beads[term.sensor]}"
    if term.kind == CALIBRATION:
        off, stated = f"{100.0 * value:+.2g} % off", f"{100.0 * term.error:.2g} %"
    else:
        off, stated = f"{1e6 * value:+.2g} us off", f"{1e6 * term.error:.2g} us"
    return (
        f"{term.kind}, {whose}, is found {off}, {abs(value) / term.error:.2g} times the {stated} "
        "that it states"
    )


def enough(degrees: float) -> float:
    """Degrees of freedom below which there is none; ours."""
    return degrees if degrees > 0.5 else 0.0
