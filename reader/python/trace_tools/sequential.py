# SPDX-License-Identifier: Apache-2.0
"""Sequential testing: how many runs to record before a verdict, and when the verdict is sure.

A comparison looks at its runs several times (LOOKS numbers of runs in geometric steps) and may stop at each look. Each
look has a part of alpha: half of it is for the last look, the other half is divided equally among the looks before. The
chance of a false alarm at any look is at most the sum of the parts, whatever the distribution and however the looks
depend on each other (Bonferroni). Half for the last look, so that recording all runs finds nearly what one test of all
runs at the whole alpha would find.

A verdict "worse" is sure as soon as there are enough runs to test times. "ok" is sure when the runs are enough to see a
change of `see` in the largest items by the plan (runs_needed()). Otherwise the last look decides.
"""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Iterator, NamedTuple

import numpy

from . import arguments, functions, statistics
from .compare import COUNT, FIELDS, OK, TYPICAL, WORSE, title
from .profile import Item, Key, Profile
from .samples import MORE
from .statistics import Reals

if TYPE_CHECKING:
    from .compare import Comparison, Finding

LOOKS = 5  # most looks at the runs
POWER = 0.9  # chance to find a change of the planned size
MOST_RUNS = 100_000  # a plan for more runs is none
SHARE = 0.1  # least part of the run that an item takes whose runs are planned
SEE = 0.02  # the change that a plan is for
TIMES = (TYPICAL, functions.CPU)
FLOOR_SPREADS = 8.7  # distance of the medians that exceeds the noise floor in POWER of the tries, times sqrt(runs)


class Runs(NamedTuple):
    """Least and greatest number of runs of a side."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.first}" if self.first == self.last else f"{self.first} to {self.last}"


def runs(text: str) -> Runs:
    """Parse a number of runs, '10', or its bounds, '5..30'."""
    first, dots, last = text.partition("..")
    least = arguments.count(1)(first)
    if not dots:
        return Runs(least, least)
    most = arguments.number(last, f"an integer of at least {least}", int, lambda n: n >= least)
    if least < statistics.EXACT_RUNS and most > least:
        raise argparse.ArgumentTypeError(
            f"invalid value '{text}': a night that may stop early needs at least {statistics.EXACT_RUNS} runs"
        )
    return Runs(least, most)


def see(sub: argparse.ArgumentParser) -> None:
    """Add the option --see."""
    sub.add_argument(
        "--see",
        type=arguments.amount,
        default=100 * SEE,
        metavar="PERCENT",
        help=f"with --runs N..M: stop when a change of this size would have been seen; default {100 * SEE:g}",
    )


def looks(bounds: Runs, alpha: float) -> Iterator[tuple[int, float]]:
    """Yield (number of runs, alpha) of each look."""
    ratio = bounds.last / bounds.first
    numbers = sorted({round(bounds.first * ratio ** (i / (LOOKS - 1))) for i in range(LOOKS)})
    for number in numbers[:-1]:
        yield number, alpha / 2 / (len(numbers) - 1)
    yield numbers[-1], alpha / 2 if len(numbers) > 1 else alpha


def values(profiles: list[Profile], key: Key, metric: str) -> Reals:
    """Return the values of a metric in each run; 0 where there is no such item, but NaN for a typical time."""
    if metric in MORE:
        return numpy.array([p.items[key].more.get(metric, math.nan) if key in p.items else math.nan for p in profiles])
    field = FIELDS.get(metric, FIELDS[COUNT])
    nothing = Item()
    return numpy.array([getattr(p.items.get(key, nothing), field) for p in profiles], float)


def spread_of(base: Reals, other: Reals) -> float:
    """Return the standard deviation of the logarithm of a metric between the runs of a side, clipped as in the test."""
    rest = []
    for side in (base, other):
        logs = numpy.log1p(side)
        apart = logs - numpy.median(logs)
        limit = statistics.CUT * 1.4826 * float(numpy.median(numpy.abs(apart)))
        rest.append(numpy.clip(apart, -limit, limit))
    freedom = max(len(base) + len(other) - 2, 1)
    return math.sqrt(sum(float((part**2).sum()) for part in rest) / freedom)


def runs_needed(spread: float, change: float, alpha: float, tests: int, has_floor: bool = True) -> int | None:
    """Return the runs of a side that find a change (0.02: 2 %) in POWER of the tries, among so many metrics; None if
    more than MOST_RUNS. has_floor: whether the change must exceed the noise floor, too, as times must.
    """
    import scipy.stats

    least = statistics.least_runs(alpha)
    if least is None:
        return None
    if not spread:
        return least
    distance = math.log1p(change) / spread

    def finds(n: int) -> bool:
        if has_floor and n * distance**2 < FLOOR_SPREADS**2:
            return False
        limit = scipy.stats.t.isf(alpha / 2 / max(tests, 1), 2 * n - 2)
        apart = distance * math.sqrt(n / 2)
        return bool(scipy.stats.nct.sf(limit, 2 * n - 2, apart) >= POWER) if apart < 30 else True

    if not finds(MOST_RUNS):
        return None
    low, high = least - 1, MOST_RUNS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if finds(middle) else (middle, high)
    return high


def samples_needed(share: float, change: float, alpha: float, tests: int) -> int:
    """Return the CPU samples of a program, in all runs of a side, that show in POWER of the tries that a function with
    this share of its time takes longer (change 0.02: 2 %), among so many functions, if samples are the only noise.

    The relative error of a share p of n independent samples is sqrt((1 - p) / (p n)), that of the ratio of two sides
    sqrt(2) times as much; the change must be as many errors away as the normal quantiles of alpha and POWER together.
    """
    import scipy.stats

    far = float(scipy.stats.norm.isf(alpha / 2 / max(tests, 1)) + scipy.stats.norm.isf(1 - POWER))
    return math.ceil(2 * (1 - share) / share * (far / math.log1p(change)) ** 2)


def samples_planned(comparison: Comparison, change: float, alpha: float) -> list[tuple[Finding, int]]:
    """Return the CPU samples of a side that each of the main functions needs to show a change: see samples_needed()."""
    found = [f for f in main_metrics(comparison) if f.samples and sum(f.samples) and not f.presence]
    whole = sum(p.samples for p in comparison.base + comparison.other)
    if not whole:
        return []
    return [
        (f, samples_needed(sum(f.samples or ()) / whole, change, alpha, comparison.functions))
        for f in found
        if sum(f.samples or ()) < whole
    ]


def samples_text(comparison: Comparison, change: float) -> str:
    """Return how many CPU samples of a side show a change of a function, and how many there are; "" without any."""
    found = samples_planned(comparison, change, comparison.options.alpha)
    if not found:
        return ""
    have = min(sum(p.samples for p in side) for side in (comparison.base, comparison.other))
    needed = "; ".join(f"{title(f.key)}: {n:,}" for f, n in found[:4])
    return (
        f"CPU samples a side to see {100 * change:g} % of a function, if nothing else varied ({have:,} were recorded; "
        f"more runs, longer runs, or --sampling-trigger=perf --sampling-frequency 1000): {needed}"
    )


def main_metrics(comparison: Comparison) -> list[Finding]:
    """Return the time metrics for which runs are planned: processes (their processor time, if it is known), and the
    ranges, kernels and functions that take at least SHARE of the run.
    """
    exact = {f.key for f in comparison.findings if f.key.kind == "process" and f.metric == functions.CPU}
    whole = max((f.base for f in comparison.findings if f.key.kind == "process" and f.metric in TIMES), default=0.0)

    def is_main(f: Finding) -> bool:
        if f.key.kind == "process":
            return f.metric == (functions.CPU if f.key in exact else TYPICAL)
        if f.key.kind != "function" and not (f.key.kind in ("range", "kernel") and f.metric == TYPICAL):
            return False
        return max(f.base, f.other) * counts(comparison, f.key, f.metric) >= SHARE * whole > 0

    return [f for f in comparison.findings if is_main(f) and not math.isnan(f.base + f.other)]


def counts(comparison: Comparison, key: Key, metric: str) -> float:
    """Return how often an item happens in a run, for metrics of one instance."""
    if metric != TYPICAL:
        return 1.0
    return float(numpy.median([p.items[key].count if key in p.items else 0 for p in comparison.other]))


def plans(comparison: Comparison, change: float, alpha: float) -> list[tuple[Finding, int | None]]:
    """Return the runs that each of the main metrics needs to show a change."""
    if min(len(comparison.base), len(comparison.other)) < 2:
        return []
    found = []
    for f in main_metrics(comparison):
        if f.presence:
            continue
        sides = [values(side, f.key, f.metric) for side in (comparison.base, comparison.other)]
        if any(numpy.isnan(side).any() for side in sides):
            continue
        of_functions = f.key.kind == "function"
        tests = comparison.functions if of_functions else comparison.tested - comparison.functions
        needed = runs_needed(spread_of(sides[0], sides[1]), change, alpha, tests, not of_functions)
        found.append((f, needed))
    return found


def note(comparison: Comparison, bounds: Runs, alpha: float) -> str:
    """Return the note about the look at which a comparison was made."""
    count = max(len(comparison.base), len(comparison.other))
    numbers = [number for number, _ in looks(bounds, alpha)]
    return (
        f"looked at after {', '.join(str(n) for n in numbers if n <= count)} runs of at most {bounds.last}; alpha "
        f"{comparison.options.alpha:g} is the part of {alpha:g} that belongs to this look"
    )


def plan_text(comparison: Comparison, change: float) -> str:
    """Return how many runs of a side show a change; "" if nothing can be planned."""
    found = plans(comparison, change, comparison.options.alpha)
    if not found:
        return ""
    most = [f"{title(f.key)}: {n or f'more than {MOST_RUNS}'}" for f, n in found]
    return f"runs a side to see {100 * change:g} % in {100 * POWER:.0f} of 100 tries: {'; '.join(most[:4])}"


def is_sure(comparison: Comparison, change: float, alpha: float) -> bool:
    """Return whether more runs would not change the verdict: worse, or ok with enough runs to see a change. Counts may
    be worse before there are enough runs to test times, which would then be missing in the verdict.
    """
    if comparison.problems or any(d.refuses for d in comparison.differences):
        return True
    if comparison.verdict == WORSE:
        return comparison.decidable
    planned = plans(comparison, change, alpha)
    enough = min(len(comparison.base), len(comparison.other))
    return comparison.verdict == OK and bool(planned) and all(n is not None and n <= enough for _, n in planned)
