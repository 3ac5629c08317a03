# SPDX-License-Identifier: Apache-2.0
"""`trace what-if`: predicts how long a run takes with changed durations, by a replay of who waits for whom."""

from __future__ import annotations

import bisect
import collections
import copy
import csv
import fnmatch
import functools
import io
import itertools
import json
import re
import subprocess
from typing import Iterator, NamedTuple

from . import Failure
from .arguments import Parser
from .convert import command, pass_on_truncated
from .replay import ACQUIRE, RELEASE, WAITS, Graph, Outcome, Row, Scale, Track

QUERY = "SELECT * FROM LIBTRACE_WAIT_GRAPH"
NAMES = (
    "SELECT o.globalPid >> 24 AS process, o.object AS object, s.value AS name FROM LIBTRACE_OBJECT AS o "
    "JOIN StringIds AS s ON s.id = o.nameId"
)
WITHOUT_FUNCTIONS = " WHERE kind <> 'function'"
ROWS_MAX = 3_000_000  # a row takes 0.8 to 1.6 kilobytes here
SCATTER_NS = 500_000  # what two runs of a program on a quiet machine differ by: this and
SCATTER_PART = 0.01  # this part of their time (tests/proof/what_if.py)
RANKED = 12  # items that --rank tries
MISSED_PERCENT = 1  # if the replay misses the run by more, that is said
IO = (
    "fsync",
    "fdatasync",
    "sync",
    "syncfs",
    "open*",
    "pread*",
    "pwrite*",
    "read*",
    "write*",
    "fread*",
    "fwrite*",
    "fflush*",
    "lseek*",
)
WHATS = ("kernel", "copy", "call", "at", "compute", "function", "range", "lock", "io", "launch", "process")
CHANGE = re.compile(rf"({'|'.join(WHATS)})(?: +(.*\S))? +x([0-9]*\.?[0-9]+)")


class Change(NamedTuple):
    what: str
    pattern: str
    factor: float

    def text(self) -> str:
        return " ".join([self.what, *([self.pattern] if self.pattern != "*" else []), f"x{self.factor:g}"])


def parse(text: str) -> Change:
    match = CHANGE.fullmatch(text.strip())
    if not match:
        raise Failure(
            f"invalid change '{text}': expected WHAT [PATTERN] xFACTOR in quotes, such as 'kernel gemm* x0.5'; WHAT is "
            f"{', '.join(WHATS[:-1])} or {WHATS[-1]}"
        )
    return Change(match[1], match[2] or "*", float(match[3]))


def number(text: str) -> int | None:
    return int(text) if text else None


def records(paths: list[str], query: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a query on a report, or on several as one."""
    result = subprocess.run(
        [command(), "query", "-f", "csv", "--", *paths, query],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    pass_on_truncated(result.stderr)
    if result.returncode not in (0, 1):
        lines = result.stderr.decode(errors="replace").strip().splitlines() or ["trace query failed"]
        raise Failure(lines[-1].removeprefix("trace: "))
    yield from csv.DictReader(io.StringIO(result.stdout.decode(errors="replace")))


def rows_of(paths: list[str], query: str) -> Iterator[Row]:
    """Read the graph of a report, or of several as one."""
    for count, r in enumerate(records(paths, query)):
        if count == ROWS_MAX:
            raise Failure(f"'{paths[0]}' has more than {ROWS_MAX} calls: too many to replay")
        yield Row(
            r["kind"],
            int(r["id"] or 0),
            int(r["track"]),
            int(r["start"] or 0),
            int(r["end"] or 0),
            r["name"],
            number(r["object"]),
            number(r["value"]),
            number(r["other"]),
            number(r["otherTime"]),
            r["sure"] or None,
            r["place"] or None,
            number(r["unknown"]),
        )


Names = dict[tuple[int, int], str]  # of locks: by process and address


def names_of(paths: list[str]) -> Names:
    """Return the names of locks that are variables of a program; none for databases that do not have them."""
    try:
        return {(int(r["process"]), int(r["object"])): r["name"] for r in records(paths, NAMES)}
    except Failure as failure:
        if "no such table" in str(failure):
            return {}
        raise


@functools.lru_cache(maxsize=65536)
def matches(name: str, pattern: str) -> bool:
    """fnmatchcase() is called for each part of a run in each replay: remember its answers."""
    return fnmatch.fnmatchcase(name, pattern)


def is_function(row: Row, pattern: str) -> bool:
    """Return whether the name of a function, with its library or without, matches."""
    return any(matches(name, pattern) for name in (row.name, row.name.rpartition(" (")[0] or row.name))


def union(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in sorted(intervals):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


class Intervals:
    """Intervals of time, in which each look-up is a bisection: a replay has one for each delay."""

    def __init__(self, intervals: list[tuple[int, int]]) -> None:
        apart = union(intervals)
        self.starts = [start for start, _ in apart]
        self.ends = [end for _, end in apart]
        self.before = [0, *itertools.accumulate(end - start for start, end in apart)]  # time in those before each

    def holds(self, time: int) -> bool:
        """Return whether a time is in an interval, or at its start or end."""
        index = bisect.bisect_left(self.ends, time)
        return index < len(self.ends) and self.starts[index] <= time

    def until(self, time: int) -> int:
        """Return how much of the time before `time` is in the intervals."""
        index = bisect.bisect_left(self.ends, time)
        return self.before[index] + (max(time - self.starts[index], 0) if index < len(self.ends) else 0)

    def overlap(self, start: int, end: int) -> float:
        """Return the part of the time from start to end that is in the intervals."""
        return (self.until(end) - self.until(start)) / (end - start) if end > start else 0


NOWHERE = Intervals([])


def fits(change: Change, kind: str, name: str, place: str | None) -> bool:
    """Return whether a change is one of calls, operations or launches with such a name or place."""
    what, pattern, _ = change
    if kind == "latency":
        return what == "launch" and matches(name, pattern)
    if kind == "work":
        is_kernel = name.startswith("kernel ")
        return what == ("kernel" if is_kernel else "copy") and matches(name[7:] if is_kernel else name, pattern)
    if what == "launch":
        return "launch" in name.lower() and name.startswith("cu") and matches(name, pattern)
    if what == "io":
        return any(matches(name, known) for known in IO) and matches(name, pattern)
    text = name if what == "call" else place if what == "at" else None
    return text is not None and matches(text, pattern)


class Scaling(Scale):
    """New durations by changes. Counts what the changes applied to."""

    def __init__(self, graph: Graph, changes: list[Change], names: Names | None = None) -> None:
        self.changes = changes
        self.changed_ns = [0.0] * len(changes)
        self.inside: list[dict[int, Intervals]] = []
        for change in changes:
            found: dict[int, list[tuple[int, int]]] = collections.defaultdict(list)
            if change.what == "range":
                for row in graph.ranges:
                    if matches(row.name, change.pattern):
                        found[row.track].append((row.start, row.end))
            elif change.what == "function":
                for row in graph.functions:
                    if is_function(row, change.pattern):
                        found[row.track].append((row.start, row.end))
            elif change.what == "lock":
                for track, lock, start, end in graph.holds:
                    name = (names or {}).get((track >> 24, lock))
                    if matches(hex(lock), change.pattern) or (name and matches(name, change.pattern)):
                        found[track].append((start, end))
            self.inside.append({track: Intervals(times) for track, times in found.items()})
        self.affected: dict[int, list[tuple[int, float]]] = {}  # by the only change: steps of a track, and time in each
        self.fitting: list[dict[tuple[str, str, str | None], bool]] = [{} for _ in changes]  # what fits() said
        self.reach = [self.tracks_of(graph, number) for number in range(len(changes))]

    def with_factor(self, factor: float) -> Scaling:
        """Return the same changes by another factor, which share what was found out."""
        other = copy.copy(self)
        other.changes = [change._replace(factor=factor) for change in self.changes]
        other.changed_ns = [0.0] * len(self.changes)
        return other

    def difference_ns(self) -> float:
        """Return by how much what the changes applied to became shorter or longer, in sum."""
        return sum(abs(1 - change.factor) * ns for change, ns in zip(self.changes, self.changed_ns))

    def tracks_of(self, graph: Graph, number: int) -> set[int] | None:
        """Return the tracks with something that a change may apply to; None = any."""
        what, pattern, _ = self.changes[number]
        if what in ("lock", "function"):
            return set(self.inside[number])
        if what == "range":
            return None
        shift = {"process": 24, "compute": 0}.get(what)
        if shift is None:
            return {n for n, track in graph.tracks.items() if any(self.fits(number, row) for row in track.kinds)}
        return {track for track in graph.tracks if track >= 0 and matches(str(track >> shift & 0xFFFFFF), pattern)}

    def fits(self, number: int, row: Row) -> bool:
        """fits() for a row, which repeats names: remember its answers."""
        key = row.kind, row.name, row.place
        known = self.fitting[number].get(key)
        if known is None:
            known = self.fitting[number][key] = fits(self.changes[number], *key)
        return known

    def durations(self, track: Track) -> list[float] | None:
        number = track.row.track
        if not any(reach is None or number in reach for reach in self.reach):
            return None
        delays = ((i, step) for i, step in enumerate(track.steps) if step.kind == "delay")
        found = track.recorded.copy()
        if len(self.changes) > 1:
            for i, step in delays:
                found[i] = self(track, step.row, step.start, step.end)
            return found
        if number not in self.affected:
            parts = ((i, self.part(0, track, step.row, step.start, step.end)) for i, step in delays)
            self.affected[number] = [(i, part * found[i]) for i, part in parts if part]
        for i, ns in self.affected[number]:
            self.changed_ns[0] += ns
            found[i] += ns * (self.changes[0].factor - 1)
        return found

    def part(self, number: int, track: Track, row: Row | None, start: int, end: int) -> float:
        """Return to which part of a delay a change applies."""
        what = self.changes[number].what
        if what in ("range", "lock", "function"):
            is_operation = row is not None and row.kind in ("work", "latency") and what == "range"
            if row and is_operation and row.other is not None and row.other_time is not None:
                return float(self.inside[number].get(row.other, NOWHERE).holds(row.other_time))
            return self.inside[number].get(track.row.track, NOWHERE).overlap(start, end)
        if what == "process":
            return 1.0  # of tracks_of()
        if row is None:
            return float(what == "compute")
        return float(self.fits(number, row))

    def __call__(self, track: Track, row: Row | None, start: int, end: int) -> float:
        ns = float(end - start)
        for number, change in enumerate(self.changes):
            reach = self.reach[number]
            if reach is not None and track.row.track not in reach:
                continue
            part = self.part(number, track, row, start, end)
            if part:
                self.changed_ns[number] += ns * part
                ns *= 1 + part * (change.factor - 1)
        return ns


class Prediction(NamedTuple):
    wall_ns: int
    ns: float
    error_ns: float  # of the replay
    unknown: float  # part of the run that is waits which nobody is known to have ended

    def bound_ns(self) -> float:
        """Return what a real run on a quiet machine may differ by."""
        return self.error_ns + SCATTER_NS + SCATTER_PART * self.ns


def predict(graph: Graph, base: Outcome, changed: Outcome, scaling: Scaling) -> Prediction:
    """The replay without changes misses the run by something; the prediction is moved by that. A poll that timed out
    would have ended earlier if what others changed had come earlier, by no more than the changes take away.
    """
    wall = graph.wall_ns()
    miss = wall - base.ns
    error = abs(miss) + max(base.unknown_ns, changed.unknown_ns) + max(base.wake_ns, changed.wake_ns)
    error += min(changed.polls_ns, scaling.difference_ns())
    return Prediction(wall, max(changed.ns + miss, 0), error, base.unknown_ns / wall if wall else 0)


def candidates(graph: Graph, names: Names) -> list[Change]:
    """Return what could be changed by itself, that with the most time first."""
    total: dict[tuple[str, str], float] = collections.defaultdict(float)
    for track in graph.tracks.values():
        busy = 0
        for call in track.calls:
            busy += call.end - call.start
            ns = call.end - call.start
            if call.kind == "work":
                is_kernel = call.name.startswith("kernel ")
                total["kernel" if is_kernel else "copy", call.name[7:] if is_kernel else call.name] += ns
            elif call.name not in ACQUIRE + RELEASE and (
                call.kind not in (*WAITS, "rank")
                or (call.kind == "read" and call.unknown_part() < 1 and not graph.waits.get(call.id))
            ):
                total["at" if call.place else "call", call.place or call.name] += ns
        if track.row.track >= 0:
            total["compute", str(track.row.track & 0xFFFFFF)] += track.row.end - track.row.start - busy
    for row in graph.functions:
        total["function", row.name] += row.end - row.start
    for holder, lock, start, end in graph.holds:
        total["lock", names.get((holder >> 24, lock), hex(lock))] += end - start
    ordered = sorted(total.items(), key=lambda item: (-item[1], item[0]))[:RANKED]
    return [Change(what, re.sub(r"([*?\[])", r"[\1]", name), 0.9) for (what, name), _ in ordered]


def ranking(graph: Graph, base: Outcome, names: Names) -> list[dict[str, object]]:
    """Return what each item saves. A saving cannot be told if it is within its error bound, or above the time in the
    item and the bound.
    """
    rows: list[dict[str, object]] = []
    for change in candidates(graph, names):
        scaling = Scaling(graph, [change], names)
        faster = graph.replay(scaling)
        removed = scaling.with_factor(0.0)
        gone = graph.replay(removed)
        saved, item = round(base.ns - gone.ns), round(scaling.changed_ns[0])
        error, per_percent = round(predict(graph, base, gone, removed).error_ns), round((base.ns - faster.ns) / 10)
        rows.append(
            {
                "change": change._replace(factor=0.99).text(),
                "program": program_of(graph, change),
                "item_ns": item,
                "saved_per_percent_ns": per_percent,
                "saved_if_removed_ns": saved,
                "error_ns": error,
                "is_known": saved >= error and max(saved, 100 * (per_percent - 1)) <= item + error,
            }
        )
    return sorted(
        rows,
        key=lambda row: (
            not row["is_known"],
            -int(str(row["saved_per_percent_ns"])),
            -int(str(row["saved_if_removed_ns"])),
            str(row["change"]),
        ),
    )


def advice(graph: Graph) -> str:
    """Say what makes a replay take as long as the run, as far as that is known."""
    if not graph.locks:
        return "record with --osrt-locks all --osrt-threshold 0, or "
    late = graph.late_ns()
    if late < graph.wall_ns() * MISSED_PERCENT / 100:
        return ""
    return (
        f"threads took {seconds(late)} in sum to go on after they had been woken up, as they do without a CPU: run "
        "fewer threads than there are processors, or "
    )


def program_of(graph: Graph, change: Change) -> str:
    """Return the name of the program whose thread computes; "" = another item, or not known."""
    if change.what != "compute":
        return ""
    return next((t.row.name for t in graph.tracks.values() if str(t.row.track & 0xFFFFFF) == change.pattern), "")


def seconds(ns: float) -> str:
    return f"{ns / 1e9:.6f} s"


def print_text(
    files: str, found: Prediction | None, changes: list[Change], scaling: Scaling, ranked: list[dict[str, object]]
) -> None:
    if found:
        difference = 100 * (found.ns - found.wall_ns) / found.wall_ns if found.wall_ns else 0
        print(
            f"Predicted: {seconds(found.ns)} instead of {seconds(found.wall_ns)} ({difference:+.1f} %), "
            f"give or take {seconds(found.bound_ns())}; runs on a busy machine differ by more."
        )
        for change, ns in zip(changes, scaling.changed_ns):
            print(f"  {change.text()}: applies to {seconds(ns)}")
    if ranked:
        print(
            f"{'Saved per 1 % (ns)':>20}  {'Saved if removed (ns)':>21}  {'+- (ns)':>16}  {'Time in it (ns)':>16}  What"
        )
        for row in ranked:
            saved = (
                f"{row['saved_per_percent_ns']:>20,}  {row['saved_if_removed_ns']:>21,}"
                if row["is_known"]
                else f"{'cannot be told':>43}"
            )
            program = f" ({row['program']})" if row["program"] else ""
            print(f"{saved}  {row['error_ns']:>16,}  {row['item_ns']:>16,}  {row['change']}{program}")
    print(f"Calls and what they wait for: trace query {files} '{QUERY}'")


def main(arguments: list[str]) -> int:
    p = Parser(prog="trace what-if")
    p.add_argument("--file", action="append", required=True)
    p.add_argument("--change", action="append", default=[])
    p.add_argument("--rank", action="store_true")
    p.add_argument("--json", action="store_true")
    p.add_argument("--allow-unknown", type=float, default=5.0)
    given = p.parse_args(arguments)
    changes = [parse(text) for text in given.change]
    uses_functions = given.rank or any(change.what == "function" for change in changes)
    name = given.file[0] if len(given.file) == 1 else f"{given.file[0]} and {len(given.file) - 1} more"
    graph = Graph(rows_of(given.file, QUERY if uses_functions else QUERY + WITHOUT_FUNCTIONS))
    if not graph.goal or graph.wall_ns() <= 0:
        raise Failure(f"'{name}' has no calls to replay")
    base = graph.replay()
    has_names = given.rank or any(change.what == "lock" and change.pattern != "*" for change in changes)
    names = names_of(given.file) if has_names else {}
    scaling = Scaling(graph, changes, names)
    found = predict(graph, base, graph.replay(scaling) if changes else base, scaling)
    if 100 * found.unknown > given.allow_unknown:
        raise Failure(
            f"'{name}': {100 * found.unknown:.1f} % of the run are waits on the path that nobody is known to "
            "have ended, so a prediction is worthless; see 'trace why', record with --osrt-locks all --osrt-threshold "
            "0, or allow it by --allow-unknown=PERCENT"
        )
    missed = 100 * (base.ns - found.wall_ns) / found.wall_ns
    replayed = (
        f"the replay without changes takes {seconds(base.ns)} instead of {seconds(found.wall_ns)} ({missed:+.1f} %)"
    )
    if abs(missed) > given.allow_unknown:
        raise Failure(
            f"'{name}': {replayed}, so a prediction is worthless; {advice(graph)}allow it by --allow-unknown=PERCENT"
        )
    useless = next((c for c, ns in zip(changes, scaling.changed_ns) if not ns), None)
    if useless:
        raise Failure(f"'{name}' has nothing that '{useless.text()}' applies to")
    ranked = ranking(graph, base, names) if given.rank else []
    if given.json:
        print(
            json.dumps(
                {
                    "files": given.file,
                    "wall_ns": found.wall_ns,
                    "replay_ns": round(base.ns),
                    "predicted_ns": round(found.ns),
                    "error_ns": round(found.bound_ns()),
                    "unknown_part": round(found.unknown, 6),
                    "changes": [
                        {"change": c.text(), "applies_to_ns": round(ns)} for c, ns in zip(changes, scaling.changed_ns)
                    ],
                    "rank": ranked,
                    "query": QUERY,
                }
            )
        )
    else:
        if abs(missed) >= MISSED_PERCENT:
            print(f"Note: {replayed}.")
        files = f"'{name}'" if len(given.file) == 1 else "FILE..."
        print_text(files, found if changes else None, changes, scaling, ranked)
    return 0
