"""Likelihood: the posterior density of case parameters for a trace, as samplers need it."""

import math
import time
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp
from support.noise_kinds import noisy
from support.refused import assert_refused
from support.short_chains import short
from support.traces import changed

import granchain as gc
from granchain.engine import batch
from granchain.errors import CaseError, TraceError
from granchain.measured import Trace

# for psi and speed, single runs take no longer than a stack and its compilation
pytestmark = pytest.mark.usefixtures("plain_members")

FREE = {"contact.psi": gc.uniform(2.0, 4.0), "striker.speed": gc.normal(1.75, 0.2)}
# values of the case steel-chain
TRUE = [2.84, 1.77]
# number of members from which they are advanced together
COMPILED = batch.COMPILED
INTERVAL, QUIET, CLOCK = 1e-6, 150, 1.3e-5


@cache
def recorded(**changes):
    return gc.run(short(**changes))


def record(kind="white", seed=1, level=0.01, said=None, gains=1.0, delays=0.0, **changes):
    """Return a trace of a run with one kind of noise, in units of the largest force."""
    run = recorded(**changes)
    _, force = gc.Sensor(interval=INTERVAL).read(run.time, run.sensor_force)
    force = np.vstack([np.zeros((QUIET, force.shape[1])), force])
    time = INTERVAL * np.arange(len(force))
    delays = np.broadcast_to(delays, force.shape[1])
    moved = [np.interp(time - one, time, row) for one, row in zip(delays, force.T, strict=True)]
    force = noisy(gains * np.array(moved).T, INTERVAL, kind, level * force.max(), seed)
    about = {"title": "made up", "kind": "synthetic", "uncertainty": said or {}}
    return Trace(time=time + CLOCK, force=force, beads=run.sensor_bead, about=about)


@cache
def problem():
    return gc.likelihood(short(), record(), FREE)


def grid_about(problem, count=13, reach=4.5):
    """Return points on a grid along the axes of the posterior, and their probabilities."""
    near = problem.start(200, 0)
    root = np.linalg.cholesky(np.atleast_2d(np.cov(near.T)))
    axis = np.linspace(-reach, reach, count)
    grid = np.stack(np.meshgrid(*[axis] * len(root), indexing="ij"), axis=-1)
    points = near.mean(axis=0) + grid.reshape(-1, len(root)) @ root.T
    density = problem(points)
    return points, np.exp(density - logsumexp(density))


def drawn(problem, count=200, seed=0):
    """Return points near the posterior, their weights, and the logarithm of the evidence.

    Importance sampling with Student's distribution, which has wide tails.
    """
    near = problem.start(200, seed)
    proposal = stats.multivariate_t(near.mean(axis=0), np.cov(near.T), df=5, seed=seed)
    points = proposal.rvs(count)
    excess = problem(points) - proposal.logpdf(points)
    return points, np.exp(excess - logsumexp(excess)), logsumexp(excess) - math.log(count)


def moments(points, weights):
    mean = weights @ points
    return mean, np.sqrt(weights @ (points - mean) ** 2)


@pytest.mark.long
def test_standard_deviations_are_those_of_a_fit():
    # priors that are far wider than the posterior, so that noise alone determines it
    fit = gc.fit(short(), record(), list(FREE), "traces")
    mean, wide = moments(*grid_about(problem()))
    # if the scatter exceeds 1, the errors of a fit are multiplied by it
    errors = np.array(list(fit.errors.values())) / max(fit.scatter, 1.0)
    assert wide == pytest.approx(errors, rel=0.05)
    assert abs(mean - list(fit.values.values())) == pytest.approx(
        [0.0, 0.0], abs=0.3 * errors.min()
    )


# The record alone gives the gain to 0.0024: with the second error, the prior matters as well.
@pytest.mark.parametrize("error", [0.03, 0.005])
def test_clocks_and_gains_are_integrated_out(error):
    # the same integral as a sum of residuals of a fit over a grid
    found = gc.likelihood(short(), record(said={"common_gain": error}, gains=1.02), FREE, threads=1)
    problem = found._problem
    (model,) = problem._computed([np.array(TRUE)])

    def square(clock, gain):
        off = problem.data_residuals(model, np.full(3, clock), np.full(3, 1.0 + gain))
        return float(off @ off)

    arrival = np.median(problem.arrival - model.arrivals)
    middle = min(arrival + np.linspace(-5e-7, 5e-7, 101), key=lambda clock: square(clock, 0.02))
    clocks, gains = middle + np.linspace(-1e-7, 1e-7, 41), np.linspace(-0.01, 0.05, 41)
    density = -0.5 * np.array([[square(clock, gain) for gain in gains] for clock in clocks])
    density += stats.norm.logpdf(gains, scale=error)
    # the prior of the clock is normal, with the duration of the record as standard deviation
    density += stats.norm.logpdf(clocks, scale=np.ptp(problem.trace.time))[:, None]
    density -= sum(np.log(np.diag(one.root)).sum() for one in problem.predictions.values())
    density -= 0.5 * problem.count * math.log(2.0 * math.pi)
    cell = np.diff(clocks)[0] * np.diff(gains)[0]
    expected = logsumexp(density) + math.log(cell)
    assert found.log_likelihood(TRUE) == pytest.approx(expected, abs=5e-3)


@pytest.mark.long
@pytest.mark.parametrize(
    ("said", "more"),
    [
        ({"gain": 0.05}, {"gains": [1.05, 0.95, 1.0]}),
        ({"time": 3e-7}, {"delays": [3e-7, -3e-7, 0.0]}),
    ],
)
def test_errors_of_each_sensor_widen_the_posterior(said, more):
    plain, aware = (gc.likelihood(short(), record(said=one, **more), FREE) for one in (None, said))
    points, weights = grid_about(aware)
    mean, wide = moments(points, weights)
    assert (abs(mean - TRUE) < 3.0 * wide).all()
    # without the stated errors, the record does not agree with any point
    assert aware.log_likelihood(TRUE) > plain.log_likelihood(TRUE) + 20.0
    assert (wide > 1.2 * moments(*grid_about(plain))[1]).any()


@pytest.mark.long
def test_points_are_independent_of_their_neighbours():
    found = gc.likelihood(short(), record(), FREE, threads=2)
    good = found.start(20, 1)
    bad = [[math.nan, 1.77], [2.84, -1.0], [2.84, 1e-9], [math.inf, 1.77]]
    before = found.failed
    values = found.log_likelihood(np.vstack([good[:7], bad, good[7:]]))
    # nan, a value out of range, a pulse that arrives after the end, and infinity
    assert np.isneginf(values[7:11]).all() and found.failed == before + 4
    alone = gc.likelihood(short(), record(), FREE, threads=1)
    assert values[[*range(7), *range(11, 24)]].tolist() == [
        float(alone.log_likelihood(point)) for point in good
    ]
    # points outside the prior are not counted as failures
    before = found.failed
    assert np.isneginf(found([[1.9, 1.77], [math.nan, 1.77]])).all()
    assert found.failed == before + 1


def test_posterior_is_the_product_of_prior_and_likelihood():
    points = problem().start(5, 0)
    prior = FREE["contact.psi"].logpdf(points[:, 0]) + FREE["striker.speed"].logpdf(points[:, 1])
    assert problem().log_prior(points) == pytest.approx(prior)
    assert problem()(points) == pytest.approx(prior + problem().log_likelihood(points))
    assert problem().names == ("contact.psi", "striker.speed")
    # a single point returns a number
    assert problem()(points[0]) == problem()(points)[0]
    assert problem().prior_transform([0.25, 0.5]) == pytest.approx([2.5, 1.75])
    assert problem().prior_transform([[0.25, 0.5]]).shape == (1, 2)
    with pytest.raises(CaseError, match=r"theta: the shape \(3,\) is not valid. It must be \(k,\)"):
        problem()([1.0, 2.0, 3.0])


def test_a_seed_determines_the_starting_points_and_the_noise():
    first, again, other = (problem().start(3, seed) for seed in (1, 1, 2))
    assert (first == again).all() and (first != other).all()
    plain, first, again, other = (problem().simulate(TRUE, seed) for seed in (None, 1, 1, 2))
    assert (first == again).all() and (first != other).any() and (first != plain).any()
    assert (plain == problem().simulate(TRUE)).all()


def test_starting_points_have_mean_and_width_of_the_posterior_with_a_narrow_prior():
    # the record alone gives 1.77, the prior alone 1.79
    found = gc.likelihood(short(), record(), {"striker.speed": gc.normal(1.79, 0.004)})
    speeds = np.linspace(1.76, 1.81, 101)[:, None]
    density = found(speeds)
    mean, wide = moments(speeds, np.exp(density - logsumexp(density)))
    near = found.start(400, 0)
    # 4 standard errors of 400 points: 0.2 of a mean, 0.14 of a width
    assert abs(near.mean(axis=0) - mean) < 0.2 * wide
    assert near.std(axis=0) == pytest.approx(wide, rel=0.14)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["white", "AR(1)"])
def test_simulated_numbers_have_the_noise_of_the_record(kind):
    found = gc.likelihood(short(), record(kind, said={"common_gain": 0.01}), FREE)
    plain = found.simulate(TRUE)
    rows = found.simulate([TRUE] * 400, seed=3)
    assert rows.shape == (400, len(found.measured)) and (found.simulate([TRUE])[0] == plain).all()
    # noise, plus the gain times the force
    covariance = np.cov(rows.T)
    roots = [np.linalg.inv(inverse) for _, inverse in found._whitening]
    variances = np.concatenate([np.sum(root**2, axis=1) for root in roots])
    expected = variances + (0.01 * plain) ** 2
    assert np.mean(np.diag(covariance) / expected) == pytest.approx(1.0, abs=0.05)
    # 3 standard deviations of the mean square of a row
    whitened = [inverse @ (found.measured - plain)[where] for where, inverse in found._whitening]
    assert np.mean(np.concatenate(whitened) ** 2) == pytest.approx(1.0, abs=0.5)
    assert np.isnan(found.simulate([2.84, -1.0])).all()


@pytest.mark.long
def test_sensors_with_halves_of_equal_mass_need_no_masses():
    # the other method to compute forces, from the contact forces
    half = 0.5 * float(recorded().mass[1])
    about = record().about.model_copy(
        update={"sensor": record().about.sensor.model_copy(update={"front_mass": half})}
    )
    halves = gc.likelihood(short(), changed(record(), about=about), FREE)
    assert halves.log_likelihood(TRUE) == pytest.approx(problem().log_likelihood(TRUE), abs=1e-6)


def test_both_sides_go_through_a_filter():
    found = gc.likelihood(short(), record(), FREE, cutoff=1e5)
    mean, wide = moments(*grid_about(found))
    assert (abs(mean - TRUE) < 3.0 * wide).all()


# Free inputs of laws, and their priors.
RIVALS = {
    "ma-liu": {"contact.psi": gc.uniform(2.0, 4.0)},
    "tsuji": {"contact.restitution": gc.uniform(0.5, 0.95)},
    "flores": {"contact.restitution": gc.uniform(0.5, 0.95)},
}
SPEED = {"striker.speed": gc.normal(1.77, 0.1)}
SENSORS = [2, 4, 6, 8]


def of_law(law):
    start = {"contact.restitution": 0.8} if law != "ma-liu" else {}
    changes = {"chain.beads": 10, "sensors.beads": SENSORS, "contact.law": law}
    return short(**changes, **start)


def drawn_record(law, kind, seed, level, said):
    """Return a record of a case with values drawn from the prior, and these values."""
    random, free = np.random.default_rng(seed), SPEED | RIVALS[law]
    truth = {key: float(prior.rvs(random_state=random)) for key, prior in free.items()}
    run = gc.run(of_law(law).replace(truth))
    gains = 1.0 + said.get("common_gain", 0.0) * random.standard_normal()
    gains = gains + said.get("gain", 0.0) * random.standard_normal(len(SENSORS))
    _, force = gc.Sensor(interval=INTERVAL).read(run.time, run.sensor_force)
    force = np.vstack([np.zeros((300, len(SENSORS))), gains * force])
    force = noisy(force, INTERVAL, kind, level * force.max(), seed)
    time = INTERVAL * (np.arange(len(force)) + 100.0 * random.random())
    about = {"title": "made up", "kind": "synthetic", "uncertainty": said}
    return Trace(time=time, force=force, beads=run.sensor_bead, about=about), truth


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_true_values_have_uniform_ranks_in_the_posterior():
    # Simulation-based calibration (Talts et al. 2018, arXiv:1804.06788): 120 records with values
    # drawn from the prior, for each of two laws and two kinds of noise
    said = {"common_gain": 0.03, "gain": 0.01}
    chances = []
    for law, kind in product(("ma-liu", "tsuji"), ("white", "AR(1)")):
        ranks = []
        for seed in range(120):
            trace, truth = drawn_record(law, kind, seed, 0.02, said)
            problem = gc.likelihood(of_law(law), trace, SPEED | RIVALS[law])
            points, weights, _ = drawn(problem, seed=seed)
            ranks.append(weights @ (points < list(truth.values())))
        for key, column in zip(truth, np.transpose(ranks), strict=True):
            chances.append(stats.kstest(column, "uniform").pvalue)
            print(law, kind, key, chances[-1], np.histogram(column, 6, (0, 1))[0], flush=True)
    # Holm (1979): the smallest of n is multiplied by n, the next by n - 1
    assert (np.sort(chances) * np.arange(len(chances), 0, -1)).min() > 0.01


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_features_have_the_covariance_of_the_noise_before_the_trigger():
    step = 1e-3
    changes = step * np.array(TRUE) * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    random, ratios = np.random.default_rng(99), []
    for seed in range(4):
        found = gc.likelihood(short(), record(seed=seed), FREE, "features")
        fit = found._problem
        plus, minus, faster, slower = (
            np.concatenate([run.peaks, run.arrivals]) for run in fit._computed(list(TRUE + changes))
        )
        slopes = np.array([plus - minus, faster - slower]).T / (2.0 * step * np.array(TRUE))
        # the shift of the clock is free
        slopes = np.column_stack([slopes, np.repeat([0.0, 1.0], 3)])
        pulses, _, _ = fit.scaled_to_measured(fit._computed([np.array(TRUE)])[0])
        # 1,600 samples: their standard deviation has an error of 1/sqrt(2 * 1600) = 1.8 %
        readings = []
        for _ in range(1600):
            noise = [
                noise.size * np.convolve(random.standard_normal(len(pulses)), response, "same")
                for noise in fit.measured.noises
                for response in [noise.response if len(noise.response) else np.ones(1)]
            ]
            readings.append(fit.read(pulses + np.transpose(noise)).ravel())
        inverse = np.linalg.inv(np.cov(np.transpose(readings)))
        expected = np.sqrt(np.diag(np.linalg.inv(slopes.T @ inverse @ slopes)))[:2]
        ratios.append(moments(*grid_about(found))[1] / expected)
        print(seed, ratios[-1], flush=True)
    # the 400 values of the likelihood scatter by 3.5 %, and the mean of four records by 1.8 %
    assert np.array(ratios) == pytest.approx(np.ones((4, 2)), abs=0.12)
    assert np.mean(ratios, axis=0) == pytest.approx([1.0, 1.0], abs=0.05)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_evidence_selects_the_true_law():
    right = 0
    for seed in range(20):
        true = [*RIVALS][seed % 3]
        trace, _ = drawn_record(true, "white", 1000 + seed, 0.02, {"common_gain": 0.03})
        evidence = {
            law: drawn(gc.likelihood(of_law(law), trace, SPEED | free), 400)[2]
            for law, free in RIVALS.items()
        }
        print(seed, true, evidence, flush=True)
        best = max(evidence, key=evidence.get)
        right += best == true
        # odds of 100 in favour of a wrong law
        assert evidence[best] - evidence[true] < math.log(100.0)
    assert right >= 19


@pytest.mark.long
def test_points_cost_little_more_than_the_runs_of_their_cases(monkeypatch):
    monkeypatch.setattr(batch, "COMPILED", COMPILED)
    # 1,000 fresh points of a chain of 70 beads at the fast step, on two threads, in processor time
    case = gc.load_case("steel-chain").replace({"time.step": "fast", "snapshots": None})
    run = gc.run(case)
    _, force = gc.Sensor(interval=INTERVAL).read(run.time, run.sensor_force)
    force = np.vstack([np.zeros((QUIET, force.shape[1])), force])
    force = noisy(force, INTERVAL, "white", 0.01 * force.max(), 1)
    about = {"title": "made up", "kind": "synthetic"}
    samples = INTERVAL * np.arange(len(force))
    trace = Trace(time=samples, force=force, beads=run.sensor_bead, about=about)
    found = gc.likelihood(case, trace, FREE, threads=2)
    random, ratios = np.random.default_rng(0), []
    for count in (32, 1000, 1000, 1000):
        points = found.prior_transform(random.random((count, 2)))
        cases = found._cases(points)
        start = time.process_time()
        found(points)
        middle = time.process_time()
        gc.evaluate(cases, "traces", threads=2)
        ratios.append((middle - start) / (time.process_time() - middle))
    # the first turn compiles
    assert min(ratios[1:]) <= 1.4


@pytest.mark.long
def test_emcee_samples_the_posterior():
    emcee = pytest.importorskip("emcee")
    sampler = emcee.EnsembleSampler(16, 2, problem(), vectorize=True)
    sampler.random_state = np.random.RandomState(0).get_state()
    sampler.run_mcmc(problem().start(16, 0), 250)
    chain = sampler.get_chain(discard=50, flat=True)
    mean, wide = moments(*grid_about(problem()))
    # 3,200 points, of which one in 30 is independent: about 100, so that means have errors of 0.1
    # standard deviations, and standard deviations have errors of 7 %
    assert abs(chain.mean(axis=0) - mean) / wide == pytest.approx([0.0, 0.0], abs=0.35)
    assert chain.std(axis=0) == pytest.approx(wide, rel=0.25)


@pytest.mark.long
def test_dynesty_gives_the_evidence():
    dynesty = pytest.importorskip("dynesty")
    free = {"striker.speed": gc.uniform(1.7, 1.85)}
    found = gc.likelihood(short(), record(), free, threads=1)
    sampler = dynesty.NestedSampler(
        found.log_likelihood, found.prior_transform, 1, nlive=60, rstate=np.random.default_rng(0)
    )
    sampler.run_nested(dlogz=0.1, print_progress=False)
    speeds = np.linspace(1.7, 1.85, 801)[:, None]
    # trapezoidal rule, with negligible end terms
    evidence = logsumexp(found.log_likelihood(speeds)) - math.log(800)
    assert sampler.results.logz[-1] == pytest.approx(
        evidence, abs=3.0 * sampler.results.logzerr[-1]
    )


def test_invalid_arguments_are_reported():
    rows = [
        ({"free": {}}, "free: missing. It must be a mapping of at least one key to its prior"),
        ({"free": ["contact.psi"]}, "free: a list is not valid. It must be a mapping"),
        ({"free": {"contact.psi": 2.8}}, "free.contact.psi: 2.8 is not valid. The prior must be"),
        ({"free": {"contact.phi": gc.normal(1.0, 0.1)}}, "contact.phi: "),
        ({"free": {"contact.psi": stats.norm(2.8, -1.0)}}, "norm.* is out of range"),
        ({"free": FREE, "measure": "peak"}, "measure: "),
    ]
    trace = record()
    assert_refused(lambda arguments: gc.likelihood(short(), trace, **arguments), rows)
    flat = changed(trace, force=trace.sensor_force[:100].mean() + 0.0 * trace.sensor_force)
    with pytest.raises(TraceError, match="trace: no sensor has traces to compare"):
        gc.likelihood(short(), flat, FREE)
