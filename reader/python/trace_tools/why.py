# SPDX-License-Identifier: Apache-2.0
"""`trace why A -- B`: explains the difference of two runs by what is on their critical paths."""

from __future__ import annotations

import collections
import json
import math
import subprocess
from typing import Any, NamedTuple

from . import Failure
from .alike import KERNEL, Name, groups
from .arguments import Parser
from .convert import command, pass_on_truncated, report

QUERY = (
    "SELECT cause, place, sum(duration) AS ns, count(*) AS segments FROM LIBTRACE_CRITICAL_PATH "
    "GROUP BY cause, place ORDER BY ns DESC"
)
ROWS = 30  # causes in the table, unless --rows says how many
NAMED = 3  # most causes in the sentence
LEAST = 0.1  # of the difference: smaller ones are not in the sentence


class Item(NamedTuple):
    """A cause, and the time and the segments that it has on both paths. The names of some causes differ between the
    runs: then it has those of both.
    """

    cause: str
    place: str
    base_ns: int
    other_ns: int
    base_segments: int
    other_segments: int
    code: str  # "changed" or "same", of a kernel whose code is known in both runs; else ""
    names: list[Name]  # what is summed up

    def difference(self) -> int:
        return self.other_ns - self.base_ns

    def name(self) -> str:
        return Name(self.cause, self.place).text()

    def change(self) -> str:
        """Say how the cause changed, and whether a kernel has other code."""
        return self.time_change() + (", code of the kernel changed" if self.code == "changed" else "")

    def time_change(self) -> str:
        if not self.base_segments:
            return "appeared"
        if not self.other_segments:
            return "is gone"
        more = self.difference() > 0
        often = math.log(self.other_segments / self.base_segments)
        longer = math.log(max(self.other_ns, 1) / max(self.base_ns, 1))
        if abs(often) >= math.log(1.1) and often * longer > 0 and abs(often) >= 0.5 * abs(longer):
            times = f"({self.other_segments} times instead of {self.base_segments})"
            return f"is there {'more' if more else 'less'} often {times}"
        return "takes longer" if more else "is shorter"

    def query(self) -> str:
        conditions = [
            f"cause = {quoted(cause)} AND place {f'= {quoted(place)}' if place else 'IS NULL'}"
            for cause, place in self.names
        ]
        return f"SELECT sum(duration) FROM LIBTRACE_CRITICAL_PATH WHERE {' OR '.join(conditions)}"


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def path_of(file: str, options: list[str]) -> dict[str, Any]:
    """Return what `trace why --json` says of a run."""
    result = subprocess.run(
        [command(), "why", "--json", *options, "--no-wait", file],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    pass_on_truncated(result.stderr)
    if result.returncode not in (0, 1):
        lines = result.stderr.decode(errors="replace").strip().splitlines() or ["trace why failed"]
        raise Failure(lines[-1].removeprefix("trace: "))
    found: dict[str, Any] = json.loads(result.stdout.decode(errors="replace"))
    if not found["ns"]:
        raise Failure(f"'{file}' has no critical path: it does not contain recorded calls")
    return found


Sums = dict[Name, tuple[int, int]]  # ns and segments


def sums_of(path: dict[str, Any]) -> Sums:
    """Sum up time and segments by cause and place, over threads and streams."""
    sums: Sums = {}
    for row in path["causes"]:
        key = Name(row["Cause"], row["At"] or "")
        ns, segments = sums.get(key, (0, 0))
        sums[key] = (ns + row["Total Time (ns)"], segments + row["Segments"])
    return sums


def sum_of(sums: Sums, names: list[Name]) -> tuple[int, int]:
    found = [sums[name] for name in names if name in sums]
    return sum(ns for ns, _ in found), sum(segments for _, segments in found)


def codes_of(path: dict[str, Any]) -> dict[str, str]:
    """Return the hash of the code of each kernel on a path, if that of all its launches is known, and the same."""
    found: dict[str, set[str]] = collections.defaultdict(set)
    if any(row["Cause"].startswith(KERNEL) for row in path["causes"]):
        for row in report("cuda_kern_occupancy", path["file"]):
            found[KERNEL + row["Name"]].add(row.get("Code", ""))
    return {cause: next(iter(codes)) for cause, codes in found.items() if len(codes) == 1 and codes != {""}}


def compared(base: dict[str, Any], other: dict[str, Any]) -> list[Item]:
    """Return the causes, those whose time changed most first."""
    one, two = sums_of(base), sums_of(other)
    codes = (codes_of(base), codes_of(other))

    def code(cause: str) -> str:
        if cause not in codes[0] or cause not in codes[1]:
            return ""
        return "same" if codes[0][cause] == codes[1][cause] else "changed"

    items = []
    for name, names in groups(one, two).items():
        (base_ns, base_segments), (other_ns, other_segments) = (sum_of(sums, names) for sums in (one, two))
        items.append(Item(*name, base_ns, other_ns, base_segments, other_segments, code(name.cause), names))
    return sorted(items, key=lambda i: (-abs(i.difference()), i.cause, i.place))


class Wait(NamedTuple):
    """A wait for a lock, and how long others did on both paths what it waited for."""

    wait: str
    base_ns: int
    other_ns: int

    def difference(self) -> int:
        return self.other_ns - self.base_ns


def waits_compared(base: dict[str, Any], other: dict[str, Any]) -> list[Wait]:
    """Return the waits for locks, those whose time changed most first."""
    one, two = ({Name(row["wait"], ""): row["ns"] for row in path["waits"]} for path in (base, other))
    waits = [
        Wait(name.cause, *(sum(sums.get(each, 0) for each in names) for sums in (one, two)))
        for name, names in groups(one, two).items()
    ]
    return sorted(waits, key=lambda w: (-abs(w.difference()), w.wait))


def waits_sentence(base_ns: int, difference: int, waits: list[Wait]) -> str:
    """Name the waits for locks that changed by a tenth of the difference, "" = none."""
    parts = [
        f"{100 * abs(w.difference()) / base_ns:.1f} % {'more' if w.difference() > 0 else 'less'} waiting for {w.wait}"
        for w in waits
        if abs(w.difference()) >= LEAST * abs(difference)
    ]
    return f" Of locks: {'; '.join(parts[:NAMED])}." if parts else ""


def sentence(base: dict[str, Any], other: dict[str, Any], items: list[Item], waits: list[Wait]) -> str:
    difference = other["ns"] - base["ns"]
    percent = 100 * difference / base["ns"]
    if abs(percent) < 0.05:
        return f"B takes as long as A: {base['ns'] / 1e9:.6f} s."
    named: dict[bool, list[str]] = {True: [], False: []}  # those that go the way of the difference, and others
    for i in items:
        if abs(i.difference()) >= LEAST * abs(difference):
            named[i.difference() * difference > 0].append(
                f"{100 * i.difference() / base['ns']:+.1f} % {i.name()} {i.change()}"
            )
    parts, against = (named[way][:NAMED] for way in (True, False))
    return (
        f"B is {abs(percent):.1f} % {'slower' if difference > 0 else 'faster'} than A "
        f"({other['ns'] / 1e9:.6f} s instead of "
        f"{base['ns'] / 1e9:.6f} s): {'; '.join(parts) or 'no single cause has a tenth of it'}"
        f"{', but ' + '; '.join(against) if against else ''}."
        f"{waits_sentence(base['ns'], difference, waits)}"
    )


def print_text(text: str, items: list[Item], left: int, files: tuple[str, str], ranged: str | None) -> None:
    print(text)
    print()
    print(f"{'B - A (ns)':>18}  {'A (ns)':>16}  {'B (ns)':>16}  {'Segments A':>10}  {'Segments B':>10}  Cause")
    for i in items:
        print(
            f"{i.difference():>+18,}  {i.base_ns:>16,}  {i.other_ns:>16,}  {i.base_segments:>10}  "
            f"{i.other_segments:>10}  {i.name()}{' (code of the kernel changed)' if i.code == 'changed' else ''}"
        )
    if left:
        print(f"{left} more; --rows all prints all of them")
    print()
    for letter, file in zip("AB", files):
        how = (
            f"trace why --range {quoted(ranged)} {quoted(file)}" if ranged else f'trace query {quoted(file)} "{QUERY}"'
        )
        print(f"Column {letter}: {how}")


def main(arguments: list[str]) -> int:
    p = Parser(prog="trace why")
    for name in ("base", "other"):
        p.add_argument(f"--{name}", required=True)
    for name in ("range", "symbol-path", "callchains", "memory"):
        p.add_argument(f"--{name}")
    p.add_argument("--rows")
    for name in ("json", "no-symbols", "no-wait"):
        p.add_argument(f"--{name}", action="store_true")
    given = p.parse_args(arguments)
    options = [
        f"--{name}={value}"
        for name, value in (
            ("range", given.range),
            ("symbol-path", given.symbol_path),
            ("callchains", given.callchains),
            ("memory", given.memory),
        )
        if value
    ]
    options += ["--no-symbols"] if given.no_symbols else []
    base, other = (path_of(file, options) for file in (given.base, given.other))
    items = compared(base, other)
    waits = waits_compared(base, other)
    text = sentence(base, other, items, waits)
    rows_most = None if given.rows == "all" or (given.json and not given.rows) else int(given.rows or ROWS)
    left = len(items[rows_most:]) if rows_most is not None else 0
    items = items[:rows_most]
    if given.json:
        rows = [
            {
                **i._asdict(),
                "names": [name._asdict() for name in i.names],
                "difference_ns": i.difference(),
                "query": None if given.range else i.query(),
            }
            for i in items
        ]
        of_waits = [{**w._asdict(), "difference_ns": w.difference()} for w in waits]
        print(
            json.dumps(
                {
                    "sentence": text,
                    "base_ns": base["ns"],
                    "other_ns": other["ns"],
                    "causes": rows,
                    "waits": of_waits,
                }
            )
        )
    else:
        print_text(text, items, left, (given.base, given.other), given.range)
    return 0
