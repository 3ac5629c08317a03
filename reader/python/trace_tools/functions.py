# SPDX-License-Identifier: Apache-2.0
"""The comparison of functions by CPU samples.

Whole runs are exchanged between the sides, as for times (statistics.py), because the spread of a function between runs
is that of the samples and that of the machine together: a permutation test needs a model of neither. A quasi-Poisson
test found as much, and Mann and Whitney's ranks less, with 10 and 20 runs a side (docs/comparing.md has the figures).
What differs from times: functions are a family of their own, with its own alpha; means are compared, since medians of
counts waste a third of the samples; and the spread of the samples is no reason to distrust a change that the test
found, so there is no noise floor within a side.

If the processor time of a program changed, which is known exactly, some of its functions changed too. The alarm is
raised by then, and what remains is to name the function: functions of this program that changed in the same direction
are named at NAMING_ALPHA, but not those that only the machine may have changed.

Neighbours, clock rates and the memory's speed change all functions of a run by about the same factor, which hides a
change of a few percent. So the ratio of each function to the other functions of its program is tested too, in the same
family: that factor cancels in it. A ratio does not show which of its two parts changed. The function's own time does:
it must have changed in the same direction, at OWN_ALPHA, and by at least half as much as the ratio did. If the runs
of both sides were recorded in turn, the differences of neighboring runs are tested for that, in which what slows the
machine for minutes cancels, too. The tests limit what an outlier counts, and a mean does not; so both must have the
same direction.
"""

from __future__ import annotations

import collections
import dataclasses
import math
import re
from typing import Iterable, Sequence, TypeVar

import numpy

from . import fingerprint, renames, statistics
from .profile import Item, Key, Profile
from .statistics import Reals

Value = TypeVar("Value")

CPU, SAMPLES = "processor time (ns)", "samples"
TOO_FEW = "too few samples"  # begins `why`
NAMING_ALPHA = 0.05
OWN_ALPHA = 0.1  # of the function's own time, one-sided, if its ratio to the other functions changed
LEAST_PAIRS = 5  # of runs that were recorded in turn, of which the differences are tested
FEW = 3  # functions of a program; for more, the test of all of them together is better than Shaffer's correction
PARTS = 1e9  # ratios are tested in parts of this, since the test adds 1 to them
LEAST_SAMPLES = 50  # of a function, in all runs; a function with fewer is not compared
MOST = 1000  # most functions that are compared
MOST_RENAMED = 64  # most functions of each side that are compared by name
EQUAL = 0.1  # an item is equal if a change of this size would have been found
LEVEL = 0.95  # of intervals
TRIGGER = "option sampling_trigger"  # what runs in the kernel has no sample if it is perf
PERIODS = ("option sampling_frequency", "option sampling_period")  # facts that say what a sample stands for
# Suffixes of the copies that compilers make of a function.
CLONE = re.compile(r"( \[clone [^\]]*\]|\.(constprop|isra|part|cold|lto_priv|llvm|clone)(\.\d+)*)+(?= \(|$)")
LIBRARY_FILE = re.compile(r"(?<=[(\[])[^()\[\]]+\.so[^()\[\]]*(?=[)\]]$)")  # of a function's name: its module


@dataclasses.dataclass
class Judged:
    """The comparison of one function. base, other: means over the runs."""

    key: Key
    metric: str
    base: float
    other: float
    samples: tuple[int, int]  # of all runs of each side
    result: str = "undecided"
    why: str = ""
    p: float = math.nan
    ratio: float = math.nan
    interval: tuple[float, float] | None = None
    floor: float = math.nan  # the smallest change that would have been found
    formerly: str = ""
    lines: str = ""

    def presence(self) -> str:
        """Return whether the function is new, vanished or renamed."""
        if self.formerly:
            return "renamed"
        is_known = sum(self.samples) >= LEAST_SAMPLES
        return "new" if is_known and not self.samples[0] else "vanished" if is_known and not self.samples[1] else ""


@dataclasses.dataclass
class Limits:
    """What a change must have to count: see compare.Options."""

    alpha: float
    min_effect: float
    seed: int


def pair_of(values: Iterable[Value]) -> tuple[Value, Value]:
    """Return the values of the base and of the other runs as a pair."""
    base, other = values
    return base, other


def drop(profiles: Iterable[Profile], kind: str) -> None:
    """Remove all items of a kind."""
    for profile in profiles:
        for key in [k for k in profile.items if k.kind == kind]:
            del profile.items[key]


def library_of(name: str) -> str:
    """Return the library of a function, without its version; "" if it is in no library."""
    file = LIBRARY_FILE.search(name)
    return fingerprint.library(file[0])[0] if file else ""


def lasting_name(name: str) -> str:
    """Return the name of a function that compilers and versions of its library do not change."""
    return LIBRARY_FILE.sub(lambda file: fingerprint.library(file[0])[0], CLONE.sub("", name))


def settle_names(profiles: Iterable[Profile]) -> None:
    """Give functions their lasting names, and add the copies that the compiler made of a function to the function."""
    for profile in profiles:
        for key in [k for k in profile.items if k.kind == "function"]:
            name = lasting_name(key.name) if "." in key.name else key.name
            if name != key.name:
                profile.items.setdefault(key._replace(name=name), Item()).add(profile.items.pop(key))


def settle_functions(runs: list[Profile]) -> list[str]:
    """Remove the functions if some runs cannot have them, or count them by another period. Return notes about that."""
    without = sum(not p.samples for p in runs)
    periods = {tuple(p.facts.get(name) for name in PERIODS) for p in runs}
    is_exact = all(item.cpu_ns for p in runs for key, item in p.items.items() if key.kind == "function")
    triggers = {p.facts.get(TRIGGER) or "timer" for p in runs}
    note = ""
    if 0 < without < len(runs):
        note = f"{without} of {len(runs)} runs have no CPU samples, so functions are not compared"
    elif not without and not is_exact and len(periods) > 1:
        note = "the sampling periods of the runs differ, so functions are not compared"
    elif not without and len(triggers) > 1:
        by = " and ".join(sorted(triggers))
        note = f"the samples of the runs were triggered by {by}, so functions are not compared"
    if without or note:
        drop(runs, "function")
    settle_names(runs)
    return [note] if note else []


def settle_times(runs: list[Profile]) -> list[str]:
    """Remove processor times that some runs lack, and the only thread of a program, whose time is that of the process.
    Return notes about that.
    """
    timed = [any(k.kind == "thread" for k in p.items) for p in runs]
    names: collections.defaultdict[str, set[Key]] = collections.defaultdict(set)
    for key in set().union(*(p.items for p in runs)):
        if key.kind == "thread":
            names[key.program].add(key)
    for keys in names.values():
        for profile in runs if len(keys) == 1 else ():
            profile.items.pop(next(iter(keys)), None)
    if all(timed) or not any(timed):
        return []
    drop(runs, "thread")
    for profile in runs:
        for item in profile.items.values():
            item.cpu_ns = 0
    return [f"{timed.count(False)} of {len(runs)} runs have no times of threads, so processor time is not compared"]


def settle_field(runs: list[Profile], kinds: tuple[str, ...], field: str) -> None:
    """Set a number of items of some kinds to 0 if some runs have none of it: older versions did not store it."""
    found = [[i for k, i in p.items.items() if k.kind in kinds] for p in runs]
    if not all(any(getattr(i, field) for i in items) for items in found):
        for item in (i for items in found for i in items):
            setattr(item, field, 0)


def settle_allocations(runs: list[Profile]) -> None:
    """Remove the allocations if some runs have device memory and none of them: older versions did not store them."""
    kinds = [{k.kind for k in p.items} for p in runs]
    if any("memory" in found and "allocation" not in found for found in kinds):
        drop(runs, "allocation")


def settle(base: list[Profile], other: list[Profile]) -> list[str]:
    """Remove items that cannot be compared, because some runs lack them. Return notes about that."""
    settle_allocations(base + other)
    settle_field(base + other, ("call", "wait"), "bytes")
    settle_field(base + other, ("range",), "cpu_ns")
    settle_field(base + other, ("device",), "total_ns")
    return settle_times(base + other) + settle_functions(base + other)


def rename(base: list[Profile], counts: dict[Key, tuple[int, int]]) -> dict[Key, str]:
    """Give functions of the base runs the name that they have in the other runs, if one with a similar name and time
    vanished and one is new. Return {key: former name}.
    """
    gone, new = (
        sorted(
            (k for k, c in counts.items() if not c[1 - side] and c[side] >= LEAST_SAMPLES),
            key=lambda k: -counts[k][side],
        )[:MOST_RENAMED]
        for side in (0, 1)
    )
    alike = renames.Likeness()
    pairs = sorted(
        (-alike(old.name, key.name), old, key)
        for old in gone
        for key in new
        if old.program == key.program
        and max(counts[old][0], counts[key][1]) <= 2 * min(counts[old][0], counts[key][1])
        and alike(old.name, key.name) >= renames.LEAST_LIKENESS
    )
    formerly: dict[Key, str] = {}
    taken: set[Key] = set()
    for _, old, key in pairs:
        if old in taken or key in formerly:
            continue
        taken.add(old)
        formerly[key] = old.name
        counts[key] = (counts.pop(old)[0], counts[key][1])
        for profile in base:
            if old in profile.items:
                profile.items[key] = profile.items.pop(old)
    return formerly


def line_of(profiles: list[Profile], key: Key) -> str:
    """Return the line of a function of Python that is the hottest one in most of the runs."""
    found = collections.Counter(line for p in profiles if key in p.items for line in p.items[key].lines)
    return min(found, key=lambda line: (-found[line], line), default="")


def lines_text(base: list[Profile], other: list[Profile], key: Key) -> str:
    was, now = line_of(base, key), line_of(other, key)
    return f"{now} (was {was})" if was and now and was != now else now or was


def ratios(base: Reals, other: Reals, alpha: float) -> list[tuple[float, tuple[float, float] | None, float]]:
    """Return the ratio of the means of each function, its interval, and the smallest change that would be found among
    so many functions. The error of a mean is that between the runs, as in a quasi-Poisson model.
    """
    import scipy.stats

    before, after = base.mean(axis=0), other.mean(axis=0)
    freedom = len(base) + len(other) - 2
    errors = numpy.hypot(*(scipy.stats.sem(v, axis=0) / numpy.maximum(v.mean(axis=0), 1e-9) for v in (base, other)))
    wide, strict = (scipy.stats.t.isf(p / 2, freedom) for p in (1 - LEVEL, alpha / base.shape[1]))
    found: list[tuple[float, tuple[float, float] | None, float]] = []
    for a, b, error in zip(before, after, errors):
        if a and b:
            around = math.exp(min(wide * error, 700))
            found.append((b / a, (b / a / around, b / a * around), math.expm1(min(strict * error, 700))))
        else:
            found.append((math.inf if b else 0.0, None, math.nan))
    return found


def corrected(values: tuple[Reals, Reals], columns: list[int], alpha: float, seed: int) -> Reals:
    """Return the corrected p-values of some of the functions, as one family."""
    base, other = (side[:, columns] for side in values)
    return statistics.test_family(base, other, alpha, numpy.random.default_rng(seed)).p


def naming(judged: list[Judged], values: tuple[Reals, Reals], moved: dict[str, str], seed: int) -> set[int]:
    """Return the functions that are named as those that changed the processor time of their program. At least one of
    its functions changed, so at most all but one did not: of few functions, this is the better correction (Shaffer's).
    """
    named: set[int] = set()
    for program, result in moved.items():
        columns = [i for i, j in enumerate(judged) if j.key.program == program]
        if columns:
            if len(columns) <= FEW:
                others = max(len(columns) - 1, 1)
                p = numpy.concatenate([corrected(values, [i], NAMING_ALPHA, seed) * others for i in columns])
            else:
                p = corrected(values, columns, NAMING_ALPHA, seed)
            named |= {
                i for i, q in zip(columns, p) if q <= NAMING_ALPHA and (judged[i].ratio > 1) == (result == "worse")
            }
    return named


def beside_others(values: tuple[Reals, Reals], judged: list[Judged]) -> tuple[Reals, Reals]:
    """Return the ratio of each function to all others of its program, in each run; 0 if there is no other."""
    programs = numpy.array([j.key.program for j in judged])

    def ratio(side: Reals) -> Reals:
        whole = numpy.zeros_like(side)
        for program in set(programs):
            columns = programs == program
            whole[:, columns] = side[:, columns].sum(axis=1, keepdims=True)
        return numpy.divide(side, whole - side, out=numpy.zeros_like(side), where=whole > side)

    return ratio(values[0]), ratio(values[1])


def shifts(sides: tuple[Reals, Reals]) -> Reals:
    """Return the logarithm of the change of each column's mean; NaN if a mean is 0."""
    before, after = (side.mean(axis=0) for side in sides)
    known = (before > 0) & (after > 0)
    return numpy.where(known, numpy.log(numpy.where(known, after, 1) / numpy.where(known, before, 1)), numpy.nan)


def in_turn(base: list[Profile], other: list[Profile]) -> list[tuple[int, int]]:
    """Return the pairs of runs (indices of a base run and of another) that were recorded one after the other, if the
    runs of both sides were recorded in turn; else nothing.
    """
    began = [[int(p.facts.get(fingerprint.BEGAN, 0)) for p in side] for side in (base, other)]
    order = sorted((ns, side, run) for side in (0, 1) for run, ns in enumerate(began[side]))
    pairs = [(first[1:], second[1:]) for first, second in zip(order[::2], order[1::2])]
    if len({ns for ns, *_ in order}) < len(order) or any(first[0] == second[0] for first, second in pairs):
        return []
    return [(first[1], second[1]) if first[0] == 0 else (second[1], first[1]) for first, second in pairs]


def changed_beside_others(
    values: tuple[Reals, Reals], beside: tuple[Reals, Reals], p: Reals, limits: Limits, pairs: list[tuple[int, int]]
) -> set[int]:
    """Return the functions that changed more than the others of their program, and changed themselves. beside: what
    beside_others() returned; p: the p-values of these ratios; pairs: what in_turn() returned.
    """
    own, apart = shifts(values), shifts(beside)
    is_candidate = (p <= limits.alpha) & (own * apart > 0) & (abs(own) >= 0.5 * abs(apart))
    found: set[int] = set()
    for sign in (1, -1):
        columns = [int(i) for i in numpy.flatnonzero(is_candidate & (apart * sign > 0))]
        if columns:
            rng = numpy.random.default_rng(limits.seed)
            if len(pairs) >= LEAST_PAIRS:
                before, after = (values[side][[pair[side] for pair in pairs]][:, columns] for side in (0, 1))
                own_p, signs = statistics.test_pairs(before, after, rng)
            else:
                family = statistics.test_family(values[0][:, columns], values[1][:, columns], 2 * OWN_ALPHA, rng)
                own_p, signs = family.p, family.signs
            found |= {i for i, q, s in zip(columns, own_p, signs) if q <= 2 * OWN_ALPHA and s == sign}  # two-sided
    return found


def carried_along(values: tuple[Reals, Reals], beside: tuple[Reals, Reals], p: Reals) -> set[int]:
    """Return the functions that changed in one direction, and less than the others of their program: what all of them
    share may be the machine. The arguments are those of changed_beside_others().
    """
    return set(numpy.flatnonzero((p <= NAMING_ALPHA) & (shifts(values) * shifts(beside) < 0)).tolist())


def decide(j: Judged, is_found: bool, is_beside: bool, min_effect: float, between: float) -> None:
    """Set the result of a function that was tested. is_beside: it changed more than the others of its program."""
    effect = max(j.ratio, 1 / j.ratio) - 1 if j.ratio > 0 else math.inf
    if not (is_found or is_beside):
        if j.floor <= EQUAL:
            j.result = "equal"
        else:
            j.why = f"{TOO_FEW}: a change of less than {100 * j.floor:.0f} % would not have been found"
        return
    j.result = "equal"
    if effect <= min_effect:
        j.why = "less than --min-effect"
    elif effect <= between:
        j.why = "less than the noise between nights"
    elif not is_beside and j.interval and j.interval[0] <= 1 <= j.interval[1]:
        j.why = "the interval of the effect includes 'no change'"
    else:
        j.result = "worse" if j.ratio > 1 else "better"


def columns_of(profiles: list[Profile], keys: list[Key], field: str) -> Reals:
    """Return an array of runs x functions; 0 for a function that is not in a run."""
    return numpy.array([[getattr(p.items.get(k, Item()), field) for k in keys] for p in profiles], float)


def listed(base: list[Profile], other: list[Profile]) -> tuple[list[Judged], tuple[Reals, Reals]]:
    """Return all functions, those with most samples first, and arrays of runs x functions with their metric."""
    keys = {k for p in base + other for k in p.items if k.kind == "function"}
    counts = {k: pair_of(sum(p.items[k].count for p in side if k in p.items) for side in (base, other)) for k in keys}
    formerly = rename(base, counts)
    order = sorted(counts, key=lambda k: (-sum(counts[k]), k))
    is_timed = all(p.items[k].cpu_ns for p in base + other for k in order if k in p.items)
    values = pair_of(columns_of(side, order, "cpu_ns" if is_timed else "count") for side in (base, other))
    found: list[Judged] = []
    for key, before, after in zip(order, *(v.mean(axis=0) for v in values)):
        j = Judged(key, CPU if is_timed else SAMPLES, float(before), float(after), counts[key])
        j.formerly, j.lines = formerly.get(key, ""), lines_text(base, other, key)
        few = sum(j.samples) < LEAST_SAMPLES
        j.why = (
            f"{TOO_FEW}: fewer than {LEAST_SAMPLES}" if few else "" if len(found) < MOST else "not among the largest"
        )
        found.append(j)
    return found, values


def judge(
    base: list[Profile], other: list[Profile], nights: Sequence[int], moved: dict[str, str], limits: Limits
) -> list[Judged]:
    """Compare the functions of the runs, which settle() has prepared. nights: as for compare.compare(). moved: the
    result of the processor time of each program for which it changed.
    """
    found, values = listed(base, other)
    judged = [j for j in found if not j.why]
    if min(len(base), len(other)) < 2 or not judged:
        return found
    values = values[0][:, : len(judged)], values[1][:, : len(judged)]
    for j, facts in zip(judged, ratios(*values, limits.alpha)):
        j.ratio, j.interval, j.floor = facts
    beside = beside_others(values, judged)
    tested = pair_of(numpy.hstack([own, ratio * PARTS]) for own, ratio in zip(values, beside))
    own_p, beside_p = numpy.split(corrected(tested, list(range(2 * len(judged))), limits.alpha, limits.seed), 2)
    between = statistics.noise_between(values[0], nights, numpy.mean) if len(nights) > 1 else numpy.zeros(len(judged))
    named = naming(judged, values, moved, limits.seed) - carried_along(values, beside, beside_p)
    apart = changed_beside_others(values, beside, beside_p, limits, in_turn(base, other))
    for i, j in enumerate(judged):
        j.p = float(min(own_p[i], beside_p[i]) if i in apart else own_p[i])
        decide(j, own_p[i] <= limits.alpha or i in named, i in apart, limits.min_effect, float(between[i]))
    return found
