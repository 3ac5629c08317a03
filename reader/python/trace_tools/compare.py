# SPDX-License-Identifier: Apache-2.0
"""Base runs against other runs: aligns their items, tests the metrics, and comes to a verdict."""

from __future__ import annotations

import collections
import dataclasses
import difflib
import math
from typing import Sequence

import numpy

from . import fingerprint, statistics
from .fingerprint import Difference
from .profile import KINDS, Item, Key, Profile, split_path
from .statistics import Reals

OK, WORSE, CANNOT_TELL = 0, 1, 2
VERDICTS = {OK: "ok", WORSE: "worse", CANNOT_TELL: "cannot tell"}

COUNT, TYPICAL, TOTAL, BYTES = "count", "typical (ns)", "total (ns)", "bytes"
# What is compared of each kind.
METRICS: collections.defaultdict[str, tuple[str, ...]] = collections.defaultdict(
    lambda: (COUNT, TYPICAL, TOTAL),
    process=(COUNT, TYPICAL),
    startup=(TYPICAL,),
    copy=(COUNT, TYPICAL, TOTAL, BYTES),
    wait=(COUNT, TOTAL),
)
# Time metrics of items with a smaller share of the run than this are not compared; decided over all runs of both sides,
# so that it favors neither. Totals include occasional work of the tracer and the system, which matters in small items.
LEAST_SHARE = {TYPICAL: 0.001, TOTAL: 0.01}
RENAMED_LIKENESS = 0.5


@dataclasses.dataclass
class Options:
    alpha: float = 0.005
    min_effect: float = 0.01
    force: bool = False
    seed: int = 1


@dataclasses.dataclass
class Finding:
    """One metric of one item. result: worse, better, changed (neither), equal, or untested (why says the reason)."""

    key: Key
    metric: str
    base: float  # medians over the runs; NaN = in no run
    other: float
    result: str = "untested"
    why: str = ""
    presence: str = ""  # new, vanished, renamed
    formerly: str = ""  # of a renamed item: its place in the base runs
    p: float = math.nan  # corrected
    ratio: float = math.nan
    interval: tuple[float, float] | None = None
    floor: float = math.nan
    exact: bool = False
    impact_ns: float = 0.0


@dataclasses.dataclass
class Comparison:
    base: list[Profile]
    other: list[Profile]
    options: Options
    findings: list[Finding] = dataclasses.field(default_factory=list)
    differences: list[Difference] = dataclasses.field(default_factory=list)
    problems: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)  # (side, path, text)
    notes: list[str] = dataclasses.field(default_factory=list)
    tested: int = 0
    verdict: int = OK
    reason: str = ""

    def of(self, *results: str) -> list[Finding]:
        return [f for f in self.findings if f.result in results]


def fold_summed(profiles: list[Profile]) -> set[str]:
    """Merge the items of each function whose short calls were summed up in some run: the NVTX range is known of only
    some of these calls, so they become one item.
    """
    summed: set[str] = set().union(*(p.summed for p in profiles))
    for profile in profiles:
        for key in [k for k in profile.items if k.kind in ("call", "wait") and k.name in summed]:
            item = profile.items.pop(key)
            whole = profile.items.setdefault(key._replace(path=""), Item())
            whole.count += item.count
            whole.total_ns += item.total_ns
        for key in [k for k in profile.items if k.kind == "chain" and k.name.split(" < ")[0] in summed]:
            del profile.items[key]
    return summed


def median_of(profiles: list[Profile], key: Key, field: str) -> float:
    return float(numpy.median([getattr(p.items[key], field) if key in p.items else 0 for p in profiles]))


def presence(base: list[Profile], other: list[Profile]) -> tuple[set[Key], set[Key]]:
    """Items of no base run that are in every other run, and the reverse."""
    everywhere = [set.intersection(*(set(p.items) for p in side)) for side in (base, other)]
    somewhere = [set.union(*(set(p.items) for p in side)) for side in (base, other)]
    return everywhere[1] - somewhere[0], everywhere[0] - somewhere[1]


def likeness(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()


def renamed_pairs(base: list[Profile], other: list[Profile]) -> list[tuple[Key, Key]]:
    """Find pairs (old, new) of items that differ only in their name or in the range around them: equal counts, similar
    times and a similar name.
    """
    new, gone = presence(base, other)
    candidates = []
    for n in new:
        for g in gone:
            if (n.kind, n.program) != (g.kind, g.program) or (n.path != g.path and n.name != g.name):
                continue
            counts = median_of(base, g, "count"), median_of(other, n, "count")
            times = median_of(base, g, "total_ns"), median_of(other, n, "total_ns")
            same = n.name == g.name
            if (
                counts[0] == counts[1]
                and (same or max(times) <= 2 * min(times) + 1000)
                and (same or likeness(n.name, g.name) >= RENAMED_LIKENESS)
            ):
                candidates.append((-likeness(f"{g.path}/{g.name}", f"{n.path}/{n.name}"), len(n.path), g, n))
    pairs: list[tuple[Key, Key]] = []
    taken: set[Key] = set()
    for _, _, old, new_key in sorted(candidates):
        if old not in taken and new_key not in taken:
            pairs.append((old, new_key))
            taken |= {old, new_key}
    return pairs


def full_path(key: Key) -> str:
    return f"{key.path}/{key.name}" if key.path else key.name


def rename(base: list[Profile], old: Key, new: Key) -> None:
    """Gives an item of the base runs its new name, and what lies in a range its new path. Returns nothing."""
    before, after = full_path(old), full_path(new)
    for profile in base:
        moved = {}
        for key, item in profile.items.items():
            if key == old:
                key = new
            elif (
                old.kind == "range"
                and key.program == old.program
                and (key.path == before or key.path.startswith(before + "/"))
            ):
                key = key._replace(path=after + key.path[len(before) :])
            moved[key] = item
        profile.items = moved


def renames_apply(base: list[Profile], other: list[Profile]) -> dict[Key, str]:
    """Outer ranges first, since what lies in them moves along. Returns {new key: old place}."""
    formerly: dict[Key, str] = {}
    for _ in range(16):
        ranges = [(o, n) for o, n in renamed_pairs(base, other) if o.kind == "range"]
        if not ranges:
            break
        old, new = min(ranges, key=lambda pair: len(full_path(pair[0])))
        formerly[new] = full_path(old)
        rename(base, old, new)
    for old, new in renamed_pairs(base, other):
        formerly[new] = full_path(old)
        rename(base, old, new)
    return formerly


def values_of(profiles: list[Profile], key: Key, metric: str) -> Reals:
    """Of each run; NaN where there is none. What did not happen took no time and happened 0 times."""
    field = {COUNT: "count", TYPICAL: "typical_ns", TOTAL: "total_ns", BYTES: "bytes"}[metric]
    return numpy.array(
        [
            float(getattr(p.items[key], field)) if key in p.items else math.nan if metric == TYPICAL else 0.0
            for p in profiles
        ]
    )


def run_ns(profiles: list[Profile]) -> float:
    """How long a run takes: what shares refer to."""
    lengths = []
    for p in profiles:
        whole = [i.total_ns for k, i in p.items.items() if k.kind == "process"] or [
            i.total_ns for k, i in p.items.items() if k.kind == "range" and not k.path
        ]
        lengths.append(max(whole, default=0))
    return float(numpy.median(lengths))


class Table:
    """All metrics of all items as columns of numbers, one row a run."""

    def __init__(self, base: list[Profile], other: list[Profile], formerly: dict[Key, str]) -> None:
        self.findings: list[Finding] = []
        self.columns: list[tuple[Reals, Reals]] = []
        new, gone = presence(base, other)
        whole_ns = run_ns(base + other)
        order = list(KINDS)
        for key in sorted(set().union(*(p.items for p in base + other)), key=lambda k: (order.index(k.kind), k[1:])):
            typical_total = numpy.median(values_of(base + other, key, TOTAL))
            for metric in METRICS[key.kind]:
                a, b = values_of(base, key, metric), values_of(other, key, metric)
                if (numpy.isnan(a).all() and numpy.isnan(b).all()) or (metric == BYTES and not a.any() and not b.any()):
                    continue
                before, after = (float(numpy.median(x)) if not numpy.isnan(x).any() else math.nan for x in (a, b))
                f = Finding(key, metric, before, after, formerly=formerly.get(key, ""))
                f.presence = "new" if key in new else "vanished" if key in gone else "renamed" if f.formerly else ""
                f.why = (
                    "in no run of a side, or in some runs only"
                    if metric == TYPICAL and numpy.isnan(numpy.concatenate([a, b])).any()
                    else "too small a part of the run"
                    if key.kind not in ("process", "startup") and typical_total < LEAST_SHARE.get(metric, 0) * whole_ns
                    else ""
                )
                self.findings.append(f)
                self.columns.append((a, b))

    def testable(self) -> list[int]:
        return [i for i, f in enumerate(self.findings) if not f.why]


def direction(finding: Finding) -> tuple[str, str]:
    """What more of this is."""
    if finding.metric == COUNT and finding.key.kind == "range":
        return "changed", "changed"  # a range more is an annotation more
    return "worse", "better"


def judge(
    f: Finding, a: Reals, b: Reals, p: float, floor: float, options: Options, rng: numpy.random.Generator
) -> None:
    """Set the result of one metric. A change counts when it is significant, and larger than the least relevant effect
    and than the noise of the base runs.
    """
    f.p, f.floor, f.exact = float(p), float(floor), statistics.is_exact(a, b)
    f.result = "equal"
    before, after = float(numpy.median(a)), float(numpy.median(b))
    if min(a.min(), b.min()) > 0:
        f.ratio = math.exp(statistics.log_ratio(a, b))
    elif before != after:
        f.ratio = math.inf if not before else after / before
    else:
        f.ratio = 1.0
    if not (p <= options.alpha or (f.exact and f.metric == COUNT)) or before == after:
        return
    effect = max(f.ratio, 1 / f.ratio) - 1 if f.ratio > 0 else math.inf
    least = 0.0 if f.metric in (COUNT, BYTES) else options.min_effect
    if effect <= max(least, 0.0 if math.isnan(floor) else floor):
        f.why = "less than the noise of the base runs" if effect > least else "less than --min-effect"
        return
    if min(a.min(), b.min()) > 0:
        f.interval = statistics.interval(a, b, rng)
        if f.interval[0] <= 1 <= f.interval[1]:
            f.why = "the interval of the effect holds 'no change'"
            return
    f.result = direction(f)[after < before]


def is_cause(f: Finding) -> bool:
    """Something happened more or less often: that explains times, not the reverse."""
    return f.metric in (COUNT, BYTES) and f.exact and f.result in ("worse", "better")


def impact(f: Finding, profiles: list[Profile]) -> float:
    """How many ns of a run a finding stands for, for the order of the report."""
    if f.metric == TYPICAL:
        return abs(f.other - f.base) * max(median_of(profiles, f.key, "count"), 1)
    if f.metric == TOTAL:
        return abs(f.other - f.base)
    total, count = (median_of(profiles, f.key, field) for field in ("total_ns", "count"))
    return total / count * abs(f.other - f.base) if f.metric == COUNT and count else 0.0


def test(comparison: Comparison, table: Table, nights: Sequence[int]) -> bool:
    """Test all metrics that vary over the runs; the others are equal. nights: how many of the base runs belong
    together, or empty.
    """
    options, rng = comparison.options, numpy.random.default_rng(comparison.options.seed)
    columns = []
    for i in table.testable():
        a, b = table.columns[i]
        if numpy.ptp(numpy.concatenate([a, b])) == 0:
            table.findings[i].result, table.findings[i].ratio = "equal", 1.0
        else:
            columns.append(i)
    comparison.tested = len(table.testable())
    if not columns:
        return True
    base, other = (numpy.column_stack([table.columns[i][side] for i in columns]) for side in (0, 1))
    family = statistics.test_family(base, other, options.alpha, rng)
    floors = statistics.noise_floors(base, rng)
    if len(nights) > 1:
        floors = numpy.fmax(floors, statistics.noise_between(base, nights))
    for n, i in enumerate(columns):
        f = table.findings[i]
        judge(f, *table.columns[i], family.p[n], floors[n], options, rng)
        f.impact_ns = impact(f, comparison.other if f.other >= f.base else comparison.base)
    return family.reachable


def reason_of(comparison: Comparison, reachable: bool) -> tuple[int, str]:
    """Verdict and its reason in words."""
    runs = min(len(comparison.base), len(comparison.other))
    worse = comparison.of("worse")
    if worse:
        places = {f.key for f in worse}
        return (
            WORSE,
            f"{len(worse)} metric{'s' * (len(worse) > 1)} of {len(places)} item{'s' * (len(places) > 1)} got worse",
        )
    if runs < 2:
        return CANNOT_TELL, (
            "one run a side shows what happened in these runs; how much runs of the same program differ, and so "
            "whether any difference is more "
            "than chance, cannot be known from it: record at least 5 runs a side, better 10"
        )
    if not reachable:
        return CANNOT_TELL, (
            f"with {len(comparison.base)} and {len(comparison.other)} runs no difference, however clear, can be told "
            "from chance among "
            f"{comparison.tested} metrics at alpha {comparison.options.alpha:g}: record more runs, 10 a side are "
            "usually enough"
        )
    return OK, f"nothing is worse among {comparison.tested} metrics"


def compare(base: list[Profile], other: list[Profile], options: Options, nights: Sequence[int] = ()) -> Comparison:
    """Compare two lists of profiles, which are modified, and return a Comparison. nights: the number of base runs of
    each group that was recorded together, in their order; the noise between these groups counts, too.
    """
    c = Comparison(base, other, options)
    c.differences = fingerprint.differences(base, other)
    c.problems = [
        (side, p.path, text)
        for side, profiles in (("base", base), ("other", other))
        for p in profiles
        for text in p.problems
    ]
    refusing = [d for d in c.differences if d.refuses]
    if (refusing or c.problems) and not options.force:
        what = [f"{d.name} differs ('{d.base}', '{d.other}')" for d in refusing] + [
            f"'{path}': {text}" for _, path, text in c.problems
        ]
        c.verdict, c.reason = (
            CANNOT_TELL,
            "must not be compared: " + "; ".join(what[:3]) + (f"; and {len(what) - 3} more" if len(what) > 3 else ""),
        )
        return c
    summed = fold_summed(base + other)
    if summed:
        c.notes.append(
            f"of {len(summed)} OS runtime functions ({', '.join(sorted(summed)[:4])}{', ...' * (len(summed) > 4)}) "
            "short calls were summed up, so they are compared over the "
            "whole program: --osrt-threshold 0 (and --osrt-locks all) tells the NVTX range of each"
        )
    table = Table(base, other, renames_apply(base, other))
    reachable = test(c, table, nights) if min(len(base), len(other)) > 1 else False
    c.findings = sorted(table.findings, key=lambda f: (not is_cause(f), -f.impact_ns))
    if min(len(base), len(other)) < 2:
        for f in c.findings:
            f.why = f.why or "one run a side"
    c.verdict, c.reason = reason_of(c, reachable)
    return c


def place(key: Key) -> str:
    """Where an item is, in words: the ranges around it."""
    return key.path or "-"


def title(key: Key) -> str:
    return f"{KINDS[key.kind]} {full_path(key) if key.kind == 'range' else key.name}"


__all__ = ["Comparison", "Finding", "Options", "compare", "split_path"]
