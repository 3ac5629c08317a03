# SPDX-License-Identifier: Apache-2.0
"""What one run did: items with their counts and times, aligned by what they are and never by when they were.

An item is (kind, program, path, name). kind: a row of KINDS. program: base name of the executable. path: the NVTX
ranges that were open on its thread (of work on a device: around the call that launched it), outermost first. name: of
the function, kernel, copy or range.
"""

from __future__ import annotations

import collections
import dataclasses
import os
import re
import sqlite3
import urllib.parse
from typing import Any, Callable, NamedTuple, Tuple

import numpy
import numpy.typing as npt

from . import Failure

Integers = npt.NDArray[numpy.int64]
Row = Tuple[Any, ...]  # of a database, with the types that its columns have


class Key(NamedTuple):
    """What an item is; see the head of this file."""

    kind: str
    program: str
    path: str
    name: str


# kind: what it is called in reports. The order is that of reports.
KINDS = {
    "process": "process",
    "startup": "start-up",
    "range": "NVTX range",
    "kernel": "kernel",
    "copy": "copy",
    "sync": "device wait",
    "api": "CUDA call",
    "call": "OS runtime call",
    "wait": "wait",
    "chain": "callchain",
}

# Functions that block until another thread or process acts: their time is the waiting time, their count the number of
# requests.
WAITS = re.compile(
    r"^(pthread_(mutex_(timed|clock)?lock|rwlock_.*lock|spin_lock|cond_.*wait.*|join|timedjoin_np|barrier_wait)"
    r"|sem_.*wait|p?poll|p?select|epoll_p?wait2?|wait(3|4|id|pid)?|sleep|usleep|nanosleep|clock_nanosleep|pause"
    r"|sigwait.*|sigtimedwait|sigsuspend|futex|accept4?|sched_yield)$"
)

VERSION_SUFFIX = re.compile(r"_v\d{4}$")
PUSH_POP, START_END = (59, 70), (60, 71)


@dataclasses.dataclass
class Item:
    count: int = 0
    total_ns: int = 0
    typical_ns: float = float("nan")  # median over the instances; of a range without its children
    bytes: int = 0


@dataclasses.dataclass
class Profile:
    path: str
    items: dict[Key, Item] = dataclasses.field(default_factory=dict)
    summed: set[str] = dataclasses.field(
        default_factory=set
    )  # functions of which not every call was recorded one by one
    facts: dict[str, str] = dataclasses.field(default_factory=dict)  # fingerprint: name -> text
    problems: list[str] = dataclasses.field(default_factory=list)  # why it is not a whole, sound run


class Database:
    """A database of ours or of nsys, opened read-only. Its content is considered hostile: nothing of its schema is
    trusted.
    """

    def __init__(self, path: str, name: str) -> None:
        self.name = name
        try:
            self.connection = sqlite3.connect(
                f"file:{urllib.parse.quote(os.path.abspath(path))}?mode=ro&immutable=1",
                uri=True,
                check_same_thread=False,
            )
            self.connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            self.connection.execute("PRAGMA trusted_schema = OFF")
            self.connection.execute("PRAGMA query_only = ON")
            self.tables = {
                row[0] for row in self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            }
        except sqlite3.Error as error:
            raise Failure(f"'{name}': {error}") from None

    def rows(self, table: str, sql: str) -> list[Row]:
        """Rows of a statement that reads `table`; none where that is not there."""
        if table not in self.tables:
            return []
        try:
            return self.connection.execute(sql).fetchall()
        except (sqlite3.Error, OverflowError) as error:
            raise Failure(f"'{self.name}': {table}: {error}") from None

    def columns(self, table: str, sql: str, count: int) -> Integers:
        """The same as arrays of 64-bit integers, one for each column."""
        rows = self.rows(table, sql)
        try:
            table_ = numpy.array(rows, dtype=numpy.int64) if rows else numpy.empty((0, count), numpy.int64)
        except (TypeError, ValueError, OverflowError):
            raise Failure(f"'{self.name}': {table} holds what is no number") from None
        return table_.T


class Names:
    """Texts as numbers."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.ids: dict[str, int] = {}

    def add(self, text: str) -> int:
        number = self.ids.get(text)
        if number is None:
            number = self.ids[text] = len(self.texts)
            self.texts.append(text)
        return number


class Timeline:
    """Which NVTX path is open at a time, on one thread."""

    def __init__(self, times: list[int], paths: list[int]) -> None:
        order = numpy.argsort(
            numpy.asarray(times, numpy.int64), kind="stable"
        )  # ranges that overlap crosswise are not in order
        self.times, self.paths = numpy.asarray(times, numpy.int64)[order], numpy.asarray(paths, numpy.int64)[order]

    def at(self, times: Integers) -> Integers:
        if not len(self.times):
            return numpy.zeros(len(times), numpy.int64)
        place = numpy.searchsorted(self.times, times, side="right") - 1
        return numpy.where(place >= 0, self.paths[numpy.maximum(place, 0)], 0)


class Reader:
    """Makes the profile of one database. Path 0 is that of no range."""

    def __init__(self, database: Database, merge_numbers: bool) -> None:
        self.db, self.merge_numbers = database, merge_numbers
        self.profile = Profile(database.name)
        self.strings: dict[int, str] = dict(database.rows("StringIds", "SELECT id, value FROM StringIds"))
        self.programs = {
            pid >> 24: os.path.basename(name or "")
            for pid, name in database.rows(
                "PROCESSES", "SELECT globalPid, name FROM PROCESSES WHERE globalPid IS NOT NULL"
            )
        }
        self.paths = Names()
        self.paths.add("")
        self.threads: dict[int, Timeline] = {}  # by globalTid
        self.launches: dict[int, tuple[Integers, Integers]] = {}  # globalPid >> 24 -> (sorted correlation ids, paths)

    def program(self, process: int) -> str:
        return self.programs.get(int(process), "")

    def add(
        self,
        kind: str,
        programs: Integers,
        paths: Integers,
        names: tuple[Integers, Callable[[int], str]],
        ns: Integers,
        data: Integers | None = None,
    ) -> None:
        """Sum up instances: arrays of process (globalPid >> 24), path, id of the name, duration, bytes. names maps ids
        to texts.
        """
        ids, texts = names
        if not len(ns):
            return
        order = numpy.lexsort((ns, ids, paths, programs))
        programs, paths, ids, ns = programs[order], paths[order], ids[order], ns[order]
        data = data[order] if data is not None else None
        change = numpy.flatnonzero((numpy.diff(programs) != 0) | (numpy.diff(paths) != 0) | (numpy.diff(ids) != 0)) + 1
        for first, end in zip(numpy.concatenate(([0], change)), numpy.concatenate((change, [len(ns)]))):
            key = Key(kind, self.program(programs[first]), self.paths.texts[paths[first]], texts(int(ids[first])))
            self.put(
                key,
                int(end - first),
                int(ns[first:end].sum()),
                float(numpy.median(ns[first:end])),
                int(data[first:end].sum()) if data is not None else 0,
            )

    def put(self, key: Key, count: int, total_ns: int, typical_ns: float, data: int = 0) -> None:
        """Adds to an item: several processes of a program make one. The typical time is weighted by their instances."""
        item = self.profile.items.setdefault(key, Item())
        if item.count and typical_ns == typical_ns:
            before = item.typical_ns if item.typical_ns == item.typical_ns else typical_ns
            typical_ns = (before * item.count + typical_ns * count) / (item.count + count)
        item.count += count
        item.total_ns += total_ns
        item.typical_ns = typical_ns
        item.bytes += data

    def text(self, number: int) -> str:
        return self.strings.get(number, f"[{number}]")

    # ---- NVTX ----

    def range_name(self, domain: str, text: str) -> str:
        name = f"{domain}:{text}".replace("/", "\\/")
        return re.sub(r"\d+", "#", name) if self.merge_numbers else name

    def domains(self) -> dict[tuple[int, int], str]:
        rows = self.db.rows(
            "NVTX_EVENTS",
            "SELECT globalTid, domainId, text, textId FROM NVTX_EVENTS WHERE eventType = 75 AND domainId <> 0 AND "
            "globalTid IS NOT NULL",
        )
        return {
            (tid >> 24, domain): text if text is not None else self.text(text_id) for tid, domain, text, text_id in rows
        }

    def read_ranges(self) -> None:
        domains = self.domains()
        by_thread: collections.defaultdict[int, list[tuple[int, int, str]]] = collections.defaultdict(list)
        single: collections.defaultdict[tuple[int, str], list[int]] = collections.defaultdict(list)
        rows = self.db.rows(
            "NVTX_EVENTS",
            'SELECT start, "end", eventType, globalTid, endGlobalTid, domainId, text, textId FROM NVTX_EVENTS '
            'WHERE eventType IN (59, 60, 70, 71) AND "end" IS NOT NULL AND globalTid IS NOT NULL',
        )
        for start, end, kind, tid, end_tid, domain, text, text_id in rows:
            name = self.range_name(
                domains.get((tid >> 24, domain), ""), text if text is not None else self.text(text_id)
            )
            if kind in PUSH_POP and end_tid in (None, tid):
                by_thread[tid].append((start, -end, name))
            else:
                single[tid >> 24, name].append(end - start)
        for tid, ranges in by_thread.items():
            self.nest(tid, ranges)
        for (process, name), ns in single.items():
            self.put(
                Key("range", self.program(process), "", name + " (start/end)"),
                len(ns),
                sum(ns),
                float(numpy.median(ns)),
            )

    def nest(self, tid: int, ranges: list[tuple[int, int, str]]) -> None:
        """The ranges of a thread in their order: paths, times without children, and what is open when."""
        ranges.sort(key=lambda r: r[:2])
        own: collections.defaultdict[int, list[int]] = collections.defaultdict(list)
        stack: list[list[int]] = []  # of open ranges: [end, path, time of its children, begin]
        times: list[int] = []
        paths: list[int] = []

        def close() -> None:
            end, path, children, begin = stack.pop()
            own[path].append(end - begin - children)
            if stack:
                stack[-1][2] += end - begin
            times.append(end)
            paths.append(stack[-1][1] if stack else 0)

        for begin, negative_end, name in ranges:
            while stack and stack[-1][0] <= begin:
                close()
            path = self.paths.add(f"{self.paths.texts[stack[-1][1]]}/{name}" if stack else name)
            stack.append([max(-negative_end, begin), path, 0, begin])
            times.append(begin)
            paths.append(path)
        while stack:
            close()
        self.threads[tid] = Timeline(times, paths)
        for path, ns in own.items():
            outer, _, name = split_path(self.paths.texts[path])
            self.put(Key("range", self.program(tid >> 24), outer, name), len(ns), sum(ns), float(numpy.median(ns)))

    def paths_at(self, tids: Integers, starts: Integers) -> Integers:
        paths = numpy.zeros(len(tids), numpy.int64)
        for tid in numpy.unique(tids):
            timeline = self.threads.get(int(tid))
            if timeline:
                here = tids == tid
                paths[here] = timeline.at(starts[here])
        return paths

    # ---- OS runtime ----

    def read_calls(self) -> None:
        start, end, tid, name, chain = self.db.columns(
            "OSRT_API",
            'SELECT start, "end", globalTid, nameId, coalesce(callchainId, 0) FROM OSRT_API WHERE eventClass = 27 '
            "AND globalTid IS NOT NULL",
            5,
        )
        summed = self.db.columns(
            "LIBTRACE_OSRT_SUMMARY",
            "SELECT globalTid, nameId, count, total FROM LIBTRACE_OSRT_SUMMARY WHERE globalTid IS NOT NULL",
            4,
        )
        self.profile.summed = {self.text(int(n)) for n in numpy.unique(summed[1])}
        if not self.db.rows(
            "LIBTRACE_PROCESS", "SELECT 1 FROM LIBTRACE_PROCESS LIMIT 1"
        ):  # of nsys: what is short it leaves out
            self.profile.summed |= {self.text(int(n)) for n in numpy.unique(name)}
        waits = {int(n): bool(WAITS.match(self.text(int(n)))) for n in numpy.unique(name)}
        is_wait = numpy.array([waits[int(n)] for n in name], bool) if len(name) else numpy.zeros(0, bool)
        paths = self.paths_at(tid, start)
        for kind, chosen in (("call", ~is_wait), ("wait", is_wait)):
            self.add(kind, tid[chosen] >> 24, paths[chosen], (name[chosen], self.text), (end - start)[chosen])
        for t, n, count, total in summed.T:
            text = self.text(int(n))
            self.put(
                Key("wait" if WAITS.match(text) else "call", self.program(t >> 24), "", text),
                int(count),
                int(total),
                float("nan"),
            )
        self.read_chains(tid, name, chain, end - start)

    def read_chains(self, tid: Integers, name: Integers, chain: Integers, ns: Integers) -> None:
        """Read where each function was called from, if each recorded call of it has a callchain: else chance decides
        which calls have one.
        """
        whole = [
            n
            for n in numpy.unique(name)
            if (chain[name == n] != 0).all() and self.text(int(n)) not in self.profile.summed
        ]
        chosen = numpy.isin(name, whole)
        if not chosen.any():
            return
        lines: collections.defaultdict[int, list[str]] = collections.defaultdict(list)
        for number, symbol, module in self.db.rows(
            "OSRT_CALLCHAINS", "SELECT id, symbol, module FROM OSRT_CALLCHAINS ORDER BY id, stackDepth"
        ):
            text = self.text(symbol)
            if text.startswith("0x"):  # addresses differ between runs
                text = f"[{os.path.basename(self.text(module))}]"
            lines[number].append(text)
        self.add(
            "chain",
            tid[chosen] >> 24,
            numpy.zeros(chosen.sum(), numpy.int64),
            (chain[chosen], lambda number: " < ".join(lines.get(number, ["?"]))),
            ns[chosen],
        )

    # ---- CUDA ----

    def read_api(self) -> None:
        start, end, tid, name, correlation = self.db.columns(
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            'SELECT start, "end", globalTid, nameId, coalesce(correlationId, 0) FROM CUPTI_ACTIVITY_KIND_RUNTIME '
            "WHERE globalTid IS NOT NULL",
            5,
        )
        paths = self.paths_at(tid, start)
        self.add("api", tid >> 24, paths, (name, lambda n: VERSION_SUFFIX.sub("", self.text(n))), end - start)
        for tid_, n, count in self.db.rows(
            "LIBTRACE_CUDA_API_SUMMARY",
            "SELECT globalTid, nameId, count FROM LIBTRACE_CUDA_API_SUMMARY WHERE globalTid IS NOT NULL",
        ):
            self.put(
                Key("api", self.program(tid_ >> 24), "", VERSION_SUFFIX.sub("", self.text(n))), count, 0, float("nan")
            )
        for process in numpy.unique(tid >> 24):
            here = numpy.flatnonzero(tid >> 24 == process)
            here = here[numpy.argsort(correlation[here], kind="stable")]
            self.launches[int(process)] = (correlation[here], paths[here])

    def launch_paths(self, processes: Integers, correlations: Integers) -> Integers:
        paths = numpy.zeros(len(processes), numpy.int64)
        for process in numpy.unique(processes):
            known = self.launches.get(int(process))
            if known is None or not len(known[0]):
                continue
            here = processes == process
            place = numpy.minimum(numpy.searchsorted(known[0], correlations[here]), len(known[0]) - 1)
            paths[here] = numpy.where(
                (known[0][place] == correlations[here]) & (correlations[here] != 0), known[1][place], 0
            )
        return paths

    def read_device(
        self, table: str, kind: str, sql: str, texts: Callable[[int], str], with_bytes: bool = False
    ) -> None:
        start, end, process, correlation, name, data = self.db.columns(
            table, f'SELECT start, "end", coalesce(globalPid, 0), coalesce(correlationId, 0), {sql} FROM {table}', 6
        )
        self.add(
            kind,
            process >> 24,
            self.launch_paths(process >> 24, correlation),
            (name, texts),
            end - start,
            data if with_bytes else None,
        )

    def read_devices(self) -> None:
        labels: dict[int, str] = dict(
            self.db.rows("ENUM_CUDA_MEMCPY_OPER", "SELECT id, label FROM ENUM_CUDA_MEMCPY_OPER")
        )
        syncs: dict[int, str] = dict(self.db.rows("ENUM_CUPTI_SYNC_TYPE", "SELECT id, label FROM ENUM_CUPTI_SYNC_TYPE"))
        prefix = "CUPTI_ACTIVITY_KIND_"
        self.read_device(prefix + "KERNEL", "kernel", "demangledName, 0", self.text)
        self.read_device(
            prefix + "MEMCPY", "copy", "copyKind, bytes", lambda n: f"[CUDA memcpy {labels.get(n, n)}]", True
        )
        self.read_device(prefix + "MEMSET", "copy", "0, bytes", lambda n: "[CUDA memset]", True)
        self.read_device(prefix + "SYNCHRONIZATION", "sync", "syncType, 0", lambda n: f"[{syncs.get(n, n)}]")

    # ---- processes ----

    def read_processes(self) -> None:
        """Read processes. A child between fork or vfork and its exec is no process of its own; one without exec has
        its parent's name.
        """
        rows = self.db.rows(
            "LIBTRACE_PROCESS",
            'SELECT globalPid, executable, start, "end" FROM LIBTRACE_PROCESS '
            "WHERE traced = 'yes' AND NOT (forked AND processId IN (SELECT previousId FROM LIBTRACE_PROCESS WHERE "
            "previousId IS NOT NULL))",
        )
        lives: collections.defaultdict[str, list[Row]] = collections.defaultdict(list)
        for process, program, start, end in rows:
            lives[os.path.basename(program or "") or self.program(process >> 24)].append((process >> 24, start, end))
        for program, those in lives.items():
            ns = [end - start for _, start, end in those if start is not None and end is not None and end >= start]
            self.put(
                Key("process", program, "", program),
                len(those),
                sum(ns),
                float(numpy.median(ns)) if ns else float("nan"),
            )
        firsts = (
            ("NVTX range", "NVTX_EVENTS", "eventType IN (59, 60, 70, 71)", "globalTid"),
            ("CUDA call", "CUPTI_ACTIVITY_KIND_RUNTIME", "1", "globalTid"),
            ("kernel", "CUPTI_ACTIVITY_KIND_KERNEL", "1", "globalPid"),
        )
        for what, table, where, column in firsts:
            first: dict[int, int] = dict(
                self.db.rows(
                    table,
                    f"SELECT {column} >> 24, min(start) FROM {table} WHERE {where} AND {column} IS NOT NULL GROUP BY 1",
                )
            )
            for program, those in lives.items():
                ns = [
                    first[pid] - start
                    for pid, start, _ in those
                    if pid in first and start is not None and first[pid] >= start
                ]
                if ns:
                    self.put(
                        Key("startup", program, "", f"to the first {what}"), len(ns), sum(ns), float(numpy.median(ns))
                    )


def split_path(path: str) -> tuple[str, str, str]:
    """'a/b/c' -> ('a/b', '/', 'c'); a slash within a name has a backslash before it."""
    place = len(path)
    while True:
        place = path.rfind("/", 0, place)
        if place <= 0 or path[place - 1] != "\\":
            break
    return (path[:place], "/", path[place + 1 :]) if place > 0 else ("", "", path)


def read(path: str, name: str, merge_numbers: bool = False) -> Profile:
    """The profile of the database `path`, which messages call `name`."""
    from . import fingerprint

    reader = Reader(Database(path, name), merge_numbers)
    try:
        reader.read_ranges()
        reader.read_calls()
        reader.read_api()
        reader.read_devices()
        reader.read_processes()
        fingerprint.read(reader.db, reader.profile)
    except (TypeError, ValueError, AttributeError, OverflowError):
        raise Failure(f"'{name}': a table holds values of the wrong type") from None
    finally:
        reader.db.connection.close()
    return reader.profile
