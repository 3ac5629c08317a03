# SPDX-License-Identifier: Apache-2.0
"""Compare base runs with other runs: align their items, test the metrics, and reach a verdict."""

from __future__ import annotations

import collections
import dataclasses
import math
from typing import Sequence

import numpy
import numpy.typing as npt

from . import causes, fingerprint, functions, renames, statistics
from .fingerprint import Difference
from .profile import KINDS, Item, Key, Profile, split_path
from .renames import full_path, median_of, presence
from .samples import BLOCKED, COUNTERS, DELAY, FAULTS, LOADS, MODES, MORE, PROCESS_METRICS, STEAL, UNDISTURBED
from .statistics import Reals

OK, WORSE, CANNOT_TELL = 0, 1, 2
VERDICTS = {OK: "ok", WORSE: "worse", CANNOT_TELL: "cannot tell"}

COUNT, TYPICAL, TOTAL, BYTES = "count", "typical (ns)", "total (ns)", "bytes"
# Metrics that are compared, by kind of item.
METRICS: collections.defaultdict[str, tuple[str, ...]] = collections.defaultdict(
    lambda: (COUNT, TYPICAL, TOTAL),
    process=(COUNT, TYPICAL, UNDISTURBED, functions.CPU, *MODES, *COUNTERS, *PROCESS_METRICS),
    call=(COUNT, TYPICAL, TOTAL, BYTES),
    thread=(functions.CPU, *MODES, *COUNTERS),
    range=(COUNT, TYPICAL, TOTAL, functions.CPU, *MODES),
    function=(),  # functions.py compares them
    startup=(TYPICAL,),
    device=(TOTAL,),
    copy=(COUNT, TYPICAL, TOTAL, BYTES),
    memory=(COUNT, BYTES),
    allocation=(COUNT, BYTES),
    wait=(COUNT, TOTAL),
)
# Time metrics of items with a smaller share of the run than this are not compared; decided over all runs of both sides,
# so that it favors neither. Totals include occasional work of the tracer and the system, which matters in small items.
LEAST_SHARE = {TYPICAL: 0.001, TOTAL: 0.01, functions.CPU: 0.01}
# The same of metrics that are samples, by samples.py or by the kernel's tick, and of the processor time of the program.
LEAST_SAMPLED_SHARE = 0.05
WHOLES = ("process", "thread", "device")  # kinds of items that contain others


@dataclasses.dataclass
class Options:
    alpha: float = 0.005
    min_effect: float = 0.01
    force: bool = False
    seed: int = 1


@dataclasses.dataclass
class Finding:
    """One metric of one item. result: worse, better, changed (neither), equal, or undecided (`why` is the reason)."""

    key: Key
    metric: str
    base: float  # medians over the runs; NaN = in no run
    other: float
    result: str = "undecided"
    why: str = ""
    presence: str = ""  # new, vanished, renamed
    formerly: str = ""  # path of a renamed item in the base runs
    lines: str = ""  # of a callchain through Python: its innermost lines, "train.py:42 (was train.py:40)"
    p: float = math.nan  # corrected
    ratio: float = math.nan
    interval: tuple[float, float] | None = None
    floor: float = math.nan
    exact: bool = False
    impact_ns: float = 0.0
    stands_out: bool = True  # whether it may be shown where there are too few runs for a test
    samples: tuple[int, int] | None = None  # of a function, in all runs of each side
    cause: str = ""  # in words, of what got worse or better

    def has_too_few(self) -> bool:
        """Return whether a function has too few samples for a result."""
        return self.samples is not None and self.why.startswith(functions.TOO_FEW)


@dataclasses.dataclass
class Comparison:
    base: list[Profile]
    other: list[Profile]
    options: Options
    findings: list[Finding] = dataclasses.field(default_factory=list)
    differences: list[Difference] = dataclasses.field(default_factory=list)
    problems: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)  # (side, path, text)
    notes: list[str] = dataclasses.field(default_factory=list)
    machine: list[str] = dataclasses.field(default_factory=list)  # what the machine did, in words
    tested: int = 0
    decidable: bool = True  # whether enough runs were compared to find a metric whose sides do not overlap
    functions: int = 0  # of `tested`
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


def length_ns(profile: Profile) -> int:
    """Return the duration of a run: that of its longest process, else of its longest outermost range."""
    whole = [i.total_ns for k, i in profile.items.items() if k.kind == "process"] or [
        i.total_ns for k, i in profile.items.items() if k.kind == "range" and not k.path
    ]
    return max(whole, default=0)


def run_ns(profiles: list[Profile]) -> float:
    """Return the median duration of a run, of which shares are fractions."""
    return float(numpy.median([length_ns(p) for p in profiles]))


def median_run(profiles: list[Profile]) -> Profile:
    """Return the run whose duration is the median; of two in the middle, the shorter."""
    return sorted(profiles, key=length_ns)[(len(profiles) - 1) // 2]


FAR_APART = 2.0  # factor between the closest runs of two sides that no noise of the base runs makes doubtful
LEAST_FAULTS = 0.1  # least relevant change of page faults, which the layout of a program changes as well
FIELDS = {COUNT: "count", TYPICAL: "typical_ns", TOTAL: "total_ns", BYTES: "bytes", functions.CPU: "cpu_ns"}


def values_of(profiles: list[Profile], keys: list[Key]) -> dict[str, Reals]:
    """Return an array of runs x items for each metric. An item that is not in a run has the count, total and bytes 0,
    and the typical time NaN.
    """
    index = {key: i for i, key in enumerate(keys)}
    found: dict[str, Reals] = {metric: numpy.zeros((len(profiles), len(keys))) for metric in FIELDS}
    found[TYPICAL][:] = math.nan
    for run, profile in enumerate(profiles):
        places = [index[key] for key in profile.items]
        for metric, field in FIELDS.items():
            found[metric][run, places] = [getattr(item, field) for item in profile.items.values()]
    for metric in MORE:
        found[metric] = numpy.full((len(profiles), len(keys)), math.nan)
        for run, profile in enumerate(profiles):
            for key, item in profile.items.items():
                if metric in item.more:
                    found[metric][run, index[key]] = item.more[metric]
    return found


def lines_text(base: list[Profile], other: list[Profile], key: Key) -> str:
    """Return the lines of Python that an item had in the runs of both sides; those of the base runs if they differ."""
    was, now = (
        ", ".join(sorted(set().union(*(p.items[key].lines for p in side if key in p.items)))) for side in (base, other)
    )
    return f"{now} (was {was})" if was and now and was != now else now or was


class Table:
    """All metrics of all items as columns of numbers, one row a run."""

    def __init__(self, base: list[Profile], other: list[Profile], formerly: dict[Key, str]) -> None:
        self.findings: list[Finding] = []
        self.columns: list[tuple[Reals, Reals]] = []
        self.varies: list[bool] = []
        new, gone = presence(base, other)
        whole_ns = run_ns(base + other)
        order = list(KINDS)
        keys = sorted(set().union(*(p.items for p in base + other)), key=lambda k: (order.index(k.kind), k[1:]))
        values, split = values_of(base + other, keys), len(base)
        typical_totals = numpy.median(values[TOTAL], axis=0)
        missing: dict[str, npt.NDArray[numpy.bool_]] = {m: numpy.isnan(v) for m, v in values.items()}
        nothing = {
            m: numpy.all(missing[m], axis=0) | ((m in (BYTES, functions.CPU, STEAL)) & ~v.any(axis=0))
            for m, v in values.items()
        }
        partly = {m: numpy.any(v, axis=0) for m, v in missing.items()}
        processes = [i for i, key in enumerate(keys) if key.kind == "process"]
        cpu_ns = float(numpy.median(values[functions.CPU][:, processes].sum(axis=1)))
        with numpy.errstate(invalid="ignore"):
            before, after = (
                {m: numpy.median(v[side], axis=0) for m, v in values.items()}
                for side in (slice(split), slice(split, None))
            )
            varies = {m: numpy.ptp(v, axis=0) != 0 for m, v in values.items()}
        for i, key in enumerate(keys):
            for metric in METRICS[key.kind]:
                if nothing[metric][i]:
                    continue
                f = Finding(
                    key, metric, float(before[metric][i]), float(after[metric][i]), formerly=formerly.get(key, "")
                )
                f.lines = lines_text(base, other, key) if key.kind == "chain" else ""
                f.presence = "new" if key in new else "vanished" if key in gone else "renamed" if f.formerly else ""
                is_sampled = metric in MODES or (metric == functions.CPU and key.kind == "range")
                f.why = (
                    "in no run of one side, or only in some runs"
                    if partly[metric][i]
                    else f"its time {UNDISTURBED.removesuffix(' (ns)')} is compared"
                    if metric == TYPICAL and key.kind == "process" and not partly[UNDISTURBED][i]
                    else "too small a part of the run"
                    if key.kind not in ("process", "startup")
                    and not is_sampled
                    and typical_totals[i] < LEAST_SHARE.get(metric, 0) * whole_ns
                    else "too small a part of the processor time"
                    if is_sampled and max(f.base, f.other) < LEAST_SAMPLED_SHARE * cpu_ns
                    else ""
                )
                self.findings.append(f)
                self.columns.append((values[metric][:split, i], values[metric][split:, i]))
                self.varies.append(bool(varies[metric][i]))

    def testable(self) -> list[int]:
        return [i for i, f in enumerate(self.findings) if not f.why]


NO_DIRECTION = ("changed", "changed")


def direction(finding: Finding) -> tuple[str, str]:
    """Return the result of an increase, and that of a decrease, of the metric."""
    if finding.metric == COUNT and finding.key.kind == "range":
        return NO_DIRECTION  # an additional range is only an additional annotation
    if finding.metric in (DELAY, BLOCKED, STEAL, LOADS):
        return NO_DIRECTION  # causes of other changes; the machine's part in them is unknown
    return "worse", "better"


def least_effect(finding: Finding, options: Options) -> float:
    """Return the least relevant change of a metric."""
    if finding.metric == FAULTS:
        return max(options.min_effect, LEAST_FAULTS)
    return 0.0 if finding.metric == COUNT or finding.key.kind == "copy" else options.min_effect


def noise_text(floor: float) -> str:
    """Return why an item is not called equal, although no difference was found."""
    if math.isnan(floor):
        return "too few runs"
    size = f"of less than {100 * floor:.0f} %" if math.isfinite(floor) else "of any size"
    return f"too noisy: a change {size} would not have been found"


def are_far_apart(a: Reals, b: Reals) -> bool:
    """Return whether even the closest runs of the two sides differ by the factor FAR_APART."""
    low, high = (a, b) if a.max() < b.min() else (b, a)
    return bool(high.min() > FAR_APART * low.max())


def judge(
    f: Finding, a: Reals, b: Reals, p: float, floor: float, options: Options, rng: numpy.random.Generator
) -> None:
    """Set the result of one metric. A change counts when it is significant, and larger than the least relevant effect
    and than the noise of the base runs, which is far too much near 0: waits of 1 to 20 ms that become 500 ms. Without a
    change, the metric is equal if the noise would not have hidden one.
    """
    f.p, f.floor, f.exact = float(p), float(floor), statistics.is_exact(a, b)
    f.result = "equal"
    before, after = float(numpy.median(a)), float(numpy.median(b))
    f.ratio = after / before if before else math.inf if after else 1.0
    if not (p <= options.alpha or (f.exact and f.metric == COUNT)) or before == after:
        if not (f.exact or floor <= functions.EQUAL):
            f.result, f.why = "undecided", noise_text(floor)
        return
    effect = max(f.ratio, 1 / f.ratio) - 1 if f.ratio > 0 else math.inf
    least = least_effect(f, options) if f.metric in (COUNT, BYTES, FAULTS) else options.min_effect
    if effect <= max(least, 0.0 if math.isnan(floor) or are_far_apart(a, b) else floor):
        f.why = "less than the noise of the base runs" if effect > least else "less than --min-effect"
        if effect > least and floor > functions.EQUAL:
            f.result, f.why = "undecided", noise_text(floor)
        return
    if min(a.min(), b.min()) > 0:
        f.interval = statistics.interval(a, b, rng)
        if f.interval[0] <= 1 <= f.interval[1]:
            f.why = "the interval of the effect includes 'no change'"
            return
    f.result = direction(f)[after < before]


def is_cause(f: Finding) -> bool:
    """Return whether the finding is a changed count. Such a change explains changes of times, not the reverse."""
    return f.metric in (COUNT, BYTES) and f.exact and f.result in ("worse", "better")


def impact(f: Finding, profiles: list[Profile]) -> float:
    """Return the ns of a run that a finding accounts for; the report is ordered by it."""
    if f.metric in (TYPICAL, UNDISTURBED):
        return abs(f.other - f.base) * max(median_of(profiles, f.key, "count"), 1)
    if f.metric in (TOTAL, functions.CPU, *MODES, DELAY, BLOCKED, STEAL):
        return abs(f.other - f.base)
    total, count = (median_of(profiles, f.key, field) for field in ("total_ns", "count"))
    return total / count * abs(f.other - f.base) if f.metric == COUNT and count else 0.0


def moved_programs(comparison: Comparison, over_nights: bool) -> dict[str, str]:
    """Return the programs whose processor time changed: {program: worse or better}. The test decides; only what differs
    between nights is no change of the program.
    """
    times = [f for f in comparison.findings if f.key.kind == "process" and f.metric == functions.CPU]
    return {
        f.key.program: direction(f)[f.other < f.base]
        for f in times
        if f.p <= comparison.options.alpha
        and f.other != f.base
        and (f.result not in ("equal", "undecided") or not over_nights)
    }


def compare_functions(comparison: Comparison, nights: Sequence[int]) -> None:
    """Add the findings about functions."""
    c = comparison
    moved = moved_programs(c, len(nights) > 1)
    limits = functions.Limits(c.options.alpha, c.options.min_effect, c.options.seed)
    for j in functions.judge(c.base, c.other, nights, moved, limits):
        f = Finding(j.key, j.metric, j.base, j.other, j.result, j.why, j.presence(), j.formerly, j.lines)
        f.p, f.ratio, f.interval, f.floor, f.samples = j.p, j.ratio, j.interval, j.floor, j.samples
        f.stands_out = min(len(c.base), len(c.other)) < 2 or max(f.ratio, 1 / f.ratio if f.ratio else 0) - 1 > f.floor
        f.impact_ns = abs(j.other - j.base) if j.metric == functions.CPU else 0.0
        c.findings.append(f)
        c.functions += not math.isnan(j.ratio)
    c.tested += c.functions


def rank(f: Finding, largest_ns: float) -> tuple[int, float, float]:
    """Return the place of a finding in the report: counts that explain times, functions that explain other times, the
    rest, and what contains all of them, each by its part of the run. largest_ns: the largest part of the rest, of which
    a function must be at least half to explain it.
    """
    is_function = f.key.kind == "function" and f.result in ("worse", "better")
    explains = is_function and (f.metric != functions.CPU or 2 * f.impact_ns >= largest_ns)
    group = 0 if is_cause(f) else 1 if explains else 3 if f.key.kind in WHOLES else 2
    return group, -f.impact_ns, -abs(f.other - f.base) if is_function else 0.0


def test(comparison: Comparison, table: Table, nights: Sequence[int]) -> bool:
    """Test all metrics that vary over the runs; the others are equal, if there are enough runs. What only names causes
    is a family of its own, so that it does not make the test of what decides stricter. nights: the number of base runs
    of each group that was recorded together, or empty.
    """
    causal = [i for i in table.testable() if direction(table.findings[i]) == NO_DIRECTION]
    decisive = [i for i in table.testable() if direction(table.findings[i]) != NO_DIRECTION]
    comparison.tested = len(decisive)
    constant = [f for f, varies in zip(table.findings, table.varies) if not f.why and not varies]
    for f in constant:
        f.result, f.ratio = "equal", 1.0
    reachable = [test_metrics(comparison, table, family, nights) for family in (decisive, causal)]
    decidable = reachable[0] if any(table.varies[i] for i in decisive) else reachable[1]
    if not decidable and min(len(comparison.base), len(comparison.other)) < statistics.EXACT_RUNS:
        for f in constant:
            f.result, f.why = "undecided", "too few runs"
    if not decidable:
        for f, sides in zip(table.findings, table.columns):
            f.stands_out = statistics.stands_out(*sides)
    return decidable


def test_metrics(comparison: Comparison, table: Table, family: list[int], nights: Sequence[int]) -> bool:
    """Test metrics as one family. Return whether one whose sides do not overlap would have been found."""
    options, rng = comparison.options, numpy.random.default_rng(comparison.options.seed)
    columns = [i for i in family if table.varies[i]]
    if not columns:
        return True
    base, other = (numpy.column_stack([table.columns[i][side] for i in columns]) for side in (0, 1))
    tested = statistics.test_family(base, other, options.alpha, rng)
    floors = statistics.noise_floors(base, rng)
    if len(nights) > 1:
        floors = numpy.fmax(floors, statistics.noise_between(base, nights))
    for n, i in enumerate(columns):
        f = table.findings[i]
        judge(f, *table.columns[i], tested.p[n], floors[n], options, rng)
        if f.result in ("equal", "undecided") and not tested.reachable:
            f.result, f.why = "undecided", "too few runs"
        f.impact_ns = impact(f, comparison.other if f.other >= f.base else comparison.base)
    return tested.reachable


def runs_advice(alpha: float) -> str:
    """Return how many runs to record."""
    least = statistics.least_runs(alpha)
    if least is None:
        return f"no number of runs is enough at alpha {alpha:g}: choose a larger one"
    return f"record at least {least} runs a side, better {max(10, 2 * least - 2)}"


def reason_of(comparison: Comparison) -> tuple[int, str]:
    """Return the verdict, and its reason in words."""
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
            "with one run a side, the variation between runs is unknown, so no difference can be distinguished from "
            "chance: " + runs_advice(comparison.options.alpha)
        )
    if not comparison.decidable:
        return CANNOT_TELL, (
            f"with {len(comparison.base)} and {len(comparison.other)} runs, no difference can be distinguished from "
            f"chance among {comparison.tested} metrics at alpha {comparison.options.alpha:g}: "
            + runs_advice(comparison.options.alpha)
        )
    return OK, f"nothing is worse among {comparison.tested} metrics"


# Note on functions whose calls were not all recorded; key True: the recorder was nsys.
SUMMED = {
    False: "short calls were summed up, so they are compared over the whole program: record with --osrt-threshold 0 "
    "(and --osrt-locks all) to know the NVTX range of each",
    True: "nsys leaves out the short calls, so the others are compared over the whole program",
}


def compare(
    base: list[Profile],
    other: list[Profile],
    options: Options,
    nights: Sequence[int] = (),
    progress: renames.Report = renames.silent,
) -> Comparison:
    """Compare two lists of profiles, which are modified, and return a Comparison. nights: the number of base runs of
    each group that was recorded together, in their order; the noise between these groups counts, too. progress: is
    told what is being done.
    """
    c = Comparison(base, other, options)
    c.differences = fingerprint.differences(base, other)
    c.machine = causes.machine_lines(c)
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
            "not comparable: " + "; ".join(what[:3]) + (f"; and {len(what) - 3} more" if len(what) > 3 else ""),
        )
        return c
    summed = fold_summed(base + other)
    if summed:
        c.notes.append(
            f"of {len(summed)} OS runtime functions ({', '.join(sorted(summed)[:4])}{', ...' * (len(summed) > 4)}) "
            f"{SUMMED[all(p.facts.get('recorded by') == 'nsys' for p in base + other)]}"
        )
    c.notes += functions.settle(base, other)
    renamed = renames.apply(base, other, progress)
    progress("testing the metrics")
    if renamed.left_alone:
        c.notes.append(
            f"{renamed.left_alone} items that are in the runs of one side only were not compared by name with those of "
            "the other: too many have the same count and NVTX path, so any of them may be renamed and not new"
        )
    table = Table(base, other, renamed.formerly)
    c.decidable = min(len(base), len(other)) > 1 and test(c, table, nights)
    c.findings = table.findings
    compare_functions(c, nights)
    rest = (f for f in c.of("worse", "better") if f.key.kind not in (*WHOLES, "function") and not is_cause(f))
    largest_ns = max((f.impact_ns for f in rest), default=0.0)
    c.findings.sort(key=lambda f: rank(f, largest_ns))
    if min(len(base), len(other)) < 2:
        for f in c.findings:
            f.why = f.why or "one run a side"
    for f in c.of("worse", "better"):
        f.cause = causes.cause(c, f)
    c.verdict, c.reason = reason_of(c)
    return c


def place(key: Key) -> str:
    """Return the ranges around an item, or "-"."""
    return key.path or "-"


def title(key: Key) -> str:
    return f"{KINDS[key.kind]} {full_path(key) if key.kind == 'range' else key.name}"


__all__ = ["Comparison", "Finding", "Options", "compare", "split_path"]
