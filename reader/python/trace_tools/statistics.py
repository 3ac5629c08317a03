# SPDX-License-Identifier: Apache-2.0
"""Tests over whole runs: one value of a metric for each run, N runs of one side against M of the other.

Run times are skewed and have outliers, and events within a run are not independent. So the tests use logarithms,
clipped at some spreads from their median. They exchange whole runs between the sides (a permutation test: it assumes
nothing about the distribution), and use the largest statistic over all metrics (Westfall and Young's maxT), which
bounds the chance of any false finding however the metrics depend on each other. Clipped logarithms find a shift of
three spreads in 93 of 100 families of 30 metrics (10 runs a side, alpha 0.005), where ranks find it in 86; with
outliers among the runs, both find it equally often. Spreads and intervals come from scipy.stats.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Callable, Sequence

import numpy
import numpy.typing as npt

Reals = npt.NDArray[numpy.float64]

CUT = 3.0  # clipping limit, in spreads (1.48 x median absolute deviation) from the median
PERMUTATIONS = 20000  # number of permutations; all of them if there are fewer
SPLITS = 400  # halves of the baseline that the noise floor is learned from
EXACT_RUNS = 5  # values equal within each side of at least this many runs are not due to chance
RESAMPLES = 2000
METRICS_AT_ONCE = 1000  # bounds the memory of permutations and halves, some tens of MB


@dataclasses.dataclass
class Family:
    """Result of the test of all metrics together."""

    p: Reals  # corrected p-value of each metric
    reachable: bool  # whether a metric whose sides do not overlap would be found
    signs: Reals  # of each metric's statistic: 1 = OTHER has more, -1 = less, 0 = neither


def permutations(count: int, chosen: int, rng: numpy.random.Generator) -> tuple[npt.NDArray[numpy.float32], bool]:
    """Return ways to choose a side: rows of 0 and 1, all of them or a sample of PERMUTATIONS."""
    ways = math.comb(count, chosen)
    if ways <= PERMUTATIONS:
        rows = numpy.zeros((ways, count), numpy.float32)
        for row, side in enumerate(itertools.combinations(range(count), chosen)):
            rows[row, list(side)] = 1
        return rows, True
    rows = numpy.zeros((PERMUTATIONS, count), numpy.float32)
    order = rng.random((PERMUTATIONS, count)).argsort(axis=1)[:, :chosen]
    numpy.put_along_axis(rows, order, 1, axis=1)
    return rows, False


def scores(values: Reals) -> npt.NDArray[numpy.float32]:
    """Return runs x metrics, each metric with mean 0 and deviation 1, or all 0 if it does not vary."""
    import scipy.stats  # takes most of a second, and is not needed with one run per side

    logs = numpy.log1p(values)
    spread = scipy.stats.median_abs_deviation(logs, axis=0, scale="normal")
    cut = numpy.clip((logs - numpy.median(logs, axis=0)) / numpy.maximum(spread, 1e-12), -CUT, CUT)
    deviation = cut.std(axis=0)
    return numpy.where(deviation > 0, (cut - cut.mean(axis=0)) / numpy.where(deviation > 0, deviation, 1), 0).astype(
        numpy.float32
    )


def test_family(base: Reals, other: Reals, alpha: float, rng: numpy.random.Generator) -> Family:
    """Test all metrics together, two-sided. base, other: arrays of runs x metrics."""
    scaled = scores(numpy.vstack([base, other]))
    n = len(base)
    observed = numpy.abs(scaled[:n].sum(axis=0))
    rows, complete = permutations(len(scaled), n, rng)
    largest = numpy.zeros(len(rows), numpy.float32)
    for first in range(0, scaled.shape[1], METRICS_AT_ONCE):
        part = numpy.abs(rows @ scaled[:, first : first + METRICS_AT_ONCE]).max(axis=1)
        largest = numpy.maximum(largest, part)
    tolerance = 1e-4
    counts = len(rows) - numpy.searchsorted(numpy.sort(largest), observed - tolerance)
    p = counts / len(rows) if complete else (counts + 1) / (len(rows) + 1)
    apart = numpy.repeat([0.0, 1.0], [n, len(scaled) - n])  # the clearest possible separation
    best = abs(((apart - apart.mean()) / apart.std())[:n].sum())
    count = (largest >= best - tolerance).sum()
    best_p = max(count, 2) / len(rows) if complete else (count + 1) / (len(rows) + 1)  # itself and its mirrored choice
    return Family(p, bool(best_p <= alpha), -numpy.sign(scaled[:n].sum(axis=0)))


def test_pairs(base: Reals, other: Reals, rng: numpy.random.Generator) -> tuple[Reals, Reals]:
    """Return the corrected p-values of the metrics of runs that were recorded in turn, two-sided, and the signs of
    their statistics (see Family). base, other: arrays of runs x metrics; a row of each is a pair, whose sides are
    exchanged. What is slower for some minutes cancels.
    """
    apart = numpy.log1p(other) - numpy.log1p(base)
    spread = numpy.maximum(1.4826 * numpy.median(numpy.abs(apart), axis=0), 1e-12)
    cut = numpy.clip(apart / spread, -CUT, CUT)
    cut /= numpy.maximum(numpy.sqrt((cut**2).sum(axis=0)), 1e-12)
    pairs = len(cut)
    complete = 2**pairs <= PERMUTATIONS
    if complete:
        rows = numpy.array(list(itertools.product((-1.0, 1.0), repeat=pairs)))
    else:
        rows = rng.choice((-1.0, 1.0), (PERMUTATIONS, pairs))
    largest = numpy.sort(numpy.abs(rows @ cut).max(axis=1))
    found = cut.sum(axis=0)
    counts: Reals = len(rows) - numpy.searchsorted(largest, numpy.abs(found) - 1e-9).astype(float)
    p = counts / len(rows) if complete else (counts + 1) / (len(rows) + 1)
    return p, numpy.sign(found)


def least_runs(alpha: float) -> int | None:
    """Return the least number of runs a side with which a metric whose sides do not overlap can be found; None if no
    number is enough.
    """
    for runs in range(2, PERMUTATIONS.bit_length()):
        ways = math.comb(2 * runs, runs)
        if (2 / ways if ways <= PERMUTATIONS else 1 / (PERMUTATIONS + 1)) <= alpha:
            return runs
    return None


def interval(base: Reals, other: Reals, rng: numpy.random.Generator, level: float = 0.95) -> tuple[float, float]:
    """Return the bootstrap interval of the ratio OTHER / BASE; both are positive and have at least two runs."""
    import scipy.stats

    def ratio(a: Reals, b: Reals, axis: int = -1) -> Reals:
        quotient: Reals = numpy.median(b, axis=axis) / numpy.median(a, axis=axis)
        return quotient

    if numpy.ptp(base) == 0 and numpy.ptp(other) == 0:
        return float(other[0] / base[0]), float(other[0] / base[0])
    result = scipy.stats.bootstrap(
        (base, other),
        ratio,
        vectorized=True,
        n_resamples=RESAMPLES,
        confidence_level=level,
        method="percentile",
        random_state=rng,
    )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def noise_floors(base: Reals, rng: numpy.random.Generator) -> Reals:
    """Return for each metric the distance between the medians of two halves of the base runs that 99 of 100 random
    splits do not exceed, as a ratio - 1; NaN with fewer than four runs.
    """
    runs, metrics = base.shape
    if runs < 4 or not metrics:
        return numpy.full(metrics, numpy.nan)
    half = runs // 2
    order = rng.random((SPLITS, runs)).argsort(axis=1)
    floors = numpy.empty(metrics)
    for begin in range(0, metrics, METRICS_AT_ONCE):
        part = base[:, begin : begin + METRICS_AT_ONCE]
        first = numpy.median(part[order[:, :half]], axis=1)
        second = numpy.median(part[order[:, half : 2 * half]], axis=1)
        low, high = numpy.minimum(first, second), numpy.maximum(first, second)
        with numpy.errstate(divide="ignore", invalid="ignore"):
            apart = numpy.where(high > 0, numpy.where(low > 0, high / low - 1, numpy.inf), 0)
        floors[begin : begin + METRICS_AT_ONCE] = numpy.quantile(apart, 0.99, axis=0, method="higher")
    return floors


def noise_between(base: Reals, groups: Sequence[int], middle: Callable[..., Reals] = numpy.median) -> Reals:
    """Return for each metric the largest distance between the medians (or means) of two groups of runs, as a ratio - 1.
    The runs of a group were recorded together, in one night. Nights differ in more than the program, so a change that
    the permutation test calls significant may only be the difference between two nights.
    """
    ends = numpy.cumsum(groups)
    medians = numpy.array([middle(base[end - count : end], axis=0) for count, end in zip(groups, ends)])
    low, high = medians.min(axis=0), medians.max(axis=0)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        return numpy.where(high > 0, numpy.where(low > 0, high / low - 1, numpy.inf), 0)


def stands_out(base: Reals, other: Reals) -> bool:
    """Return whether the closest runs of the two sides are farther apart than any two runs of one side."""
    low, high = (base, other) if base.max() < other.min() else (other, base)
    gap = high.min() - low.max()
    return bool(gap > 0 and gap >= numpy.ptp(low) and gap >= numpy.ptp(high))


def is_exact(base: Reals, other: Reals) -> bool:
    """Return whether all runs of a side have the same value, and there are enough runs to rule out chance."""
    return bool(min(len(base), len(other)) >= EXACT_RUNS and numpy.ptp(base) == 0 and numpy.ptp(other) == 0)
