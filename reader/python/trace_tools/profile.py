# SPDX-License-Identifier: Apache-2.0
"""The profile of a run: items with their counts and times, aligned by identity and never by time.

An item is (kind, program, path, name). kind: a row of KINDS. program: base name of the executable. path: the NVTX
ranges that were open on its thread (for work on a device: around the call that launched it), outermost first. name: the
name of the function, kernel, copy or range.
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

from . import Failure, convert

Integers = npt.NDArray[numpy.int64]
Row = Tuple[Any, ...]  # row of a database, with the types of its columns


class Key(NamedTuple):
    """The identity of an item; see the head of this file."""

    kind: str
    program: str
    path: str
    name: str


# kind: its name in reports. The order is that of reports.
KINDS = {
    "process": "process",
    "thread": "thread",
    "function": "function",
    "startup": "start-up",
    "range": "NVTX range",
    "device": "device, busy",
    "kernel": "kernel",
    "copy": "copy",
    "memory": "device memory at the peak",
    "allocation": "allocation",
    "sync": "device wait",
    "api": "CUDA call",
    "call": "OS runtime call",
    "wait": "wait",
    "gil": "wait for the GIL",
    "library": "library call",
    "chain": "callchain",
}

# Functions that block until another thread or process acts: their time is the waiting time, their count the number of
# requests.
WAITS = re.compile(
    r"^(pthread_(mutex_(timed|clock)?lock|rwlock_.*lock|spin_lock|cond_.*wait.*|join|timedjoin_np|barrier_wait)"
    r"|sem_.*wait|p?poll|p?select|epoll_p?wait2?|wait(3|4|id|pid)?|sleep|usleep|nanosleep|clock_nanosleep|pause"
    r"|sigwait.*|sigtimedwait|sigsuspend|futex|accept4?|sched_yield)$"
)

# Functions that return the number of bytes that they read or wrote.
TRANSFERS = re.compile(r"^(p?(read|write)v?2?(64)?|recv(from|msg)?|send(to|msg|file)?(64)?|copy_file_range|splice)$")

METRIC = "metric "  # prefix of a hardware metric in Item.code
VERSION_SUFFIX = re.compile(r"_v\d{4}$")
NUMBER = re.compile(r"\d+")
# Labels for databases without any: up to schema 2.9 there are no ENUM tables.
COPY_KINDS: dict[int, str] = dict(
    enumerate(
        "Unknown,Host-to-Device,Device-to-Host,Host-to-Array,Array-to-Host,Array-to-Array,Array-to-Device,Device-to-Array,"
        "Device-to-Device,Host-to-Host,Peer-to-Peer,Unified Host-to-Device,Unified Device-to-Host,"
        "Unified Device-to-Device".split(",")
    )
)
SYNC_TYPES = dict(enumerate(("Unknown", "Event sync", "Stream wait sync", "Stream sync", "Context sync")))
# Before schema 3.17 nsys numbered waits in its own way, and labels of its ENUM table are those of other numbers.
OLD_SYNC_TYPES = {1: "Context sync", 2: "Event sync", 3: "Stream sync"}
PUSH_POP, START_END = (59, 70), (60, 71)
PYTHON_FRAME = re.compile(r"(.*) \(([^()]*)(:\d+)\)")  # its module is the path of the file
PYTHON_LIBRARY = re.compile(r"/(site|dist)-packages/|/lib/python[2-9]|^<frozen ")  # as in reader/symbols/python.c


@dataclasses.dataclass
class Item:
    count: int = 0
    total_ns: int = 0
    typical_ns: float = float("nan")  # median over the instances; for a range, the time without its children
    bytes: int = 0
    lines: set[str] = dataclasses.field(default_factory=set)  # of a callchain: "train.py:42", its innermost in Python
    cpu_ns: int = 0  # processor time of a process, thread or function; count is the number of samples of a function
    more: dict[str, float] = dataclasses.field(default_factory=dict)  # of a process or thread: metrics of samples.MORE
    code: dict[str, str] = dataclasses.field(
        default_factory=dict
    )  # facts of a function's or a kernel's code: causes.py

    def add(self, more: Item) -> None:
        """Add the instances of another item. The typical time is weighted by their number."""
        typical_ns = more.typical_ns
        if self.count and typical_ns == typical_ns:
            before = self.typical_ns if self.typical_ns == self.typical_ns else typical_ns
            typical_ns = (before * self.count + typical_ns * more.count) / (self.count + more.count)
        self.count += more.count
        self.total_ns += more.total_ns
        self.typical_ns = typical_ns
        self.bytes += more.bytes
        self.lines |= more.lines
        self.cpu_ns += more.cpu_ns
        self.code |= more.code
        for metric, value in more.more.items():
            self.more[metric] = self.more.get(metric, 0.0) + value


@dataclasses.dataclass
class Profile:
    path: str
    items: dict[Key, Item] = dataclasses.field(default_factory=dict)
    summed: set[str] = dataclasses.field(
        default_factory=set
    )  # names of functions whose calls were not all recorded one by one
    facts: dict[str, str] = dataclasses.field(default_factory=dict)  # fingerprint: name -> text
    problems: list[str] = dataclasses.field(default_factory=list)  # reasons why the run is not complete and valid
    samples: int = 0  # CPU samples of all functions


def copy_of(found: Profile) -> Profile:
    """Return a copy of a profile, since a comparison changes its profiles."""
    return dataclasses.replace(
        found,
        items={key: dataclasses.replace(item) for key, item in found.items.items()},
        summed=set(found.summed),
        facts=dict(found.facts),
        problems=list(found.problems),
    )


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
        """Return the rows of a statement that reads `table`; none if there is no such table."""
        if table not in self.tables:
            return []
        try:
            return self.connection.execute(sql).fetchall()
        except (sqlite3.Error, OverflowError) as error:
            raise Failure(f"'{self.name}': {table}: {error}") from None

    def process_names(self) -> str:
        """Return the column of LIBTRACE_PROCESS with the name of a process; older databases have only the file."""
        return "name" if self.has("LIBTRACE_PROCESS", "name") else "executable"

    def columns(self, table: str, sql: str, count: int) -> Integers:
        """Return the rows of a statement as arrays of 64-bit integers, one for each column."""
        rows = self.rows(table, sql)
        try:
            table_ = numpy.array(rows, dtype=numpy.int64) if rows else numpy.empty((0, count), numpy.int64)
        except (TypeError, ValueError, OverflowError):
            raise Failure(f"'{self.name}': {table} has a value that is not a number") from None
        return table_.T

    def has(self, table: str, column: str) -> bool:
        return any(row[1].lower() == column.lower() for row in self.rows(table, f"PRAGMA table_info({table})"))

    def require(self, table: str, *columns: str) -> None:
        """Raise Failure if the table lacks one of the columns, without which figures would be wrong."""
        for column in columns:
            if table in self.tables and not self.has(table, column):
                raise Failure(f"'{self.name}': the table {table} has no column {column}, which is needed to compare")

    def optional(self, table: str, column: str, value: str = "NULL") -> str:
        """Return the column, or a replacement if an older version of nsys did not write it."""
        return column if self.has(table, column) else value

    def process(self, table: str) -> str:
        """Return the column globalPid of a table. If it is missing, return the process of the API calls, if there is
        only one.
        """
        if table not in self.tables or self.has(table, "globalPid"):
            return "globalPid"
        calls = "CUPTI_ACTIVITY_KIND_RUNTIME"
        found = self.rows(calls, f"SELECT min(globalTid & ~0xffffff), max(globalTid & ~0xffffff) FROM {calls}")
        if not found or found[0][0] is None or found[0][0] != found[0][1]:
            self.require(table, "globalPid")
        return str(found[0][0])


class Names:
    """A table that numbers texts."""

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
    """The NVTX path that is open at a time, on one thread."""

    def __init__(self, times: list[int], paths: list[int]) -> None:
        self.times, self.paths = numpy.asarray(times, numpy.int64), numpy.asarray(paths, numpy.int64)

    def at(self, times: Integers) -> Integers:
        if not len(self.times):
            return numpy.zeros(len(times), numpy.int64)
        place = numpy.searchsorted(self.times, times, side="right") - 1
        return numpy.where(place >= 0, self.paths[numpy.maximum(place, 0)], 0)

    def index_at(self, time: int) -> int:
        """Return the path at one time."""
        return int(self.at(numpy.array([time], numpy.int64))[0])


def frame_name(symbol: str, module: str) -> tuple[str, str]:
    """Return the name of a frame that is the same in all runs of a program, and its line if it is Python of the program
    itself: lines move when a file is edited, its functions keep their names.
    """
    if symbol.startswith("0x"):  # addresses differ between runs
        return f"[{os.path.basename(module)}]", ""
    python = PYTHON_FRAME.fullmatch(symbol)
    if not python or python[2] != os.path.basename(module):
        return symbol, ""
    return f"{python[1]} ({python[2]})", "" if PYTHON_LIBRARY.search(module) else python[2] + python[3]


class Reader:
    """Builder of the profile of one database. Path 0: no range is open."""

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
        self.threads: dict[int, Timeline] = {}  # key: globalTid
        self.operations: list[tuple[Integers, ...]] = []  # of devices: (process, device, start, end)
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
        """Add to an item; several processes of a program share it."""
        self.profile.items.setdefault(key, Item()).add(Item(count, total_ns, typical_ns, data))

    def text(self, number: int) -> str:
        return self.strings.get(number, f"[{number}]")

    # ---- NVTX ----

    def range_name(self, domain: str, text: str) -> str:
        name = f"{domain}:{text}".replace("/", "\\/")
        return NUMBER.sub("#", name) if self.merge_numbers else name

    def domains(self) -> dict[tuple[int, int], str]:
        self.db.require("NVTX_EVENTS", "start", "end", "eventType", "globalTid", "domainId", "text")
        id_column = self.db.optional("NVTX_EVENTS", "textId")
        rows = self.db.rows(
            "NVTX_EVENTS",
            f"SELECT globalTid, domainId, text, {id_column} FROM NVTX_EVENTS WHERE eventType = 75 AND domainId <> 0 "
            "AND globalTid IS NOT NULL",
        )
        return {
            (tid >> 24, domain): text if text is not None else self.text(text_id) for tid, domain, text, text_id in rows
        }

    def read_ranges(self) -> None:
        domains = self.domains()
        by_thread: collections.defaultdict[int, list[tuple[int, int, str]]] = collections.defaultdict(list)
        single: collections.defaultdict[tuple[int, str], list[int]] = collections.defaultdict(list)
        id_column = self.db.optional("NVTX_EVENTS", "textId")
        end_column = self.db.optional("NVTX_EVENTS", "endGlobalTid")
        rows = self.db.rows(
            "NVTX_EVENTS",
            f'SELECT start, "end", eventType, globalTid, {end_column}, domainId, text, {id_column} FROM NVTX_EVENTS '
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
        """Process the ranges of a thread in order: compute paths, times without children, and the path open at each
        time. A range that ends after the one in which it begins (another domain's, or Python's beside TraceMe's) is not
        a part of it, and the time that both share is not counted twice in the range around them.
        """
        ranges.sort(key=lambda r: r[:2])
        own: collections.defaultdict[int, list[int]] = collections.defaultdict(list)
        stack: list[list[int]] = []  # open ranges: [end, path, time of its children, begin]
        times: list[int] = []
        paths: list[int] = []

        def close(now: int) -> None:
            end, path, children, begin = stack.pop()
            own[path].append(end - begin - children)
            if stack:
                stack[-1][2] += min(end, now) - begin
            times.append(min(end, now))
            paths.append(stack[-1][1] if stack else 0)

        for begin, negative_end, name in ranges:
            end = max(-negative_end, begin)
            while stack and (stack[-1][0] <= begin or stack[-1][0] < end):
                close(begin)
            path = self.paths.add(f"{self.paths.texts[stack[-1][1]]}/{name}" if stack else name)
            stack.append([end, path, 0, begin])
            times.append(begin)
            paths.append(path)
        while stack:
            close(stack[-1][0])
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
        self.db.require("OSRT_API", "start", "end", "globalTid", "nameId", "eventClass")
        chain_column = self.db.optional("OSRT_API", "callchainId", "0")
        value_column = self.db.optional("OSRT_API", "returnValue", "0")
        start, end, tid, name, chain, value = self.db.columns(
            "OSRT_API",
            f'SELECT start, "end", globalTid, nameId, coalesce({chain_column}, 0), coalesce({value_column}, 0) '
            "FROM OSRT_API WHERE eventClass = 27 AND globalTid IS NOT NULL",
            6,
        )
        summed = self.db.columns(
            "LIBTRACE_OSRT_SUMMARY",
            "SELECT globalTid, nameId, count, total FROM LIBTRACE_OSRT_SUMMARY WHERE globalTid IS NOT NULL",
            4,
        )
        self.profile.summed = {self.text(int(n)) for n in numpy.unique(summed[1])}
        if not self.db.rows(
            "LIBTRACE_PROCESS", "SELECT 1 FROM LIBTRACE_PROCESS LIMIT 1"
        ):  # nsys leaves out short calls
            self.profile.summed |= {self.text(int(n)) for n in numpy.unique(name)}
        waits = {int(n): bool(WAITS.match(self.text(int(n)))) for n in numpy.unique(name)}
        is_wait = numpy.array([waits[int(n)] for n in name], bool) if len(name) else numpy.zeros(0, bool)
        transfers = [int(n) for n in numpy.unique(name) if TRANSFERS.match(self.text(int(n)))]
        moved = numpy.where(numpy.isin(name, transfers), numpy.maximum(value, 0), 0)
        paths = self.paths_at(tid, start)
        for kind, chosen in (("call", ~is_wait), ("wait", is_wait)):
            names = name[chosen], self.text
            self.add(kind, tid[chosen] >> 24, paths[chosen], names, (end - start)[chosen], moved[chosen])
        for t, n, count, total in summed.T:
            text = self.text(int(n))
            self.put(
                Key("wait" if WAITS.match(text) else "call", self.program(t >> 24), "", text),
                int(count),
                int(total),
                float("nan"),
            )
        self.read_chains(tid, name, chain, end - start)

    def read_gil(self) -> None:
        start, ns, tid = self.db.columns(
            "LIBTRACE_GIL_WAIT",
            "SELECT start, duration, globalTid FROM LIBTRACE_GIL_WAIT WHERE globalTid IS NOT NULL",
            3,
        )
        one = numpy.zeros(len(tid), numpy.int64), lambda _: "Python's GIL"
        self.add("gil", tid >> 24, self.paths_at(tid, start), one, ns)

    def read_library_calls(self) -> None:
        table = "LIBTRACE_FUNCTION_CALL"
        start, ns, tid, name, library = self.db.columns(
            table,
            f"SELECT start, duration, globalTid, functionId, coalesce(libraryId, 0) FROM {table} "
            "WHERE globalTid IS NOT NULL",
            5,
        )

        def text(key: int) -> str:
            return f"{self.text(key >> 32)} ({self.text(key & 0xFFFFFFFF)})"

        self.add("library", tid >> 24, self.paths_at(tid, start), (name << 32 | library, text), ns)

    def read_chains(self, tid: Integers, name: Integers, chain: Integers, ns: Integers) -> None:
        """Read the callers of each function, if all its recorded calls have a callchain. Otherwise chance decides which
        calls have one.
        """
        whole = [
            n
            for n in numpy.unique(name)
            if (chain[name == n] != 0).all() and self.text(int(n)) not in self.profile.summed
        ]
        chosen = numpy.isin(name, whole)
        if not chosen.any():
            return
        frames: collections.defaultdict[int, list[str]] = collections.defaultdict(list)
        lines: dict[int, str] = {}
        for number, symbol, module in self.db.rows(
            "OSRT_CALLCHAINS", "SELECT id, symbol, module FROM OSRT_CALLCHAINS ORDER BY id, stackDepth"
        ):
            text, line = frame_name(self.text(symbol), self.text(module))
            frames[number].append(text)
            if line:
                lines.setdefault(number, line)
        names = Names()
        names_of = {int(n): names.add(" < ".join(frames.get(int(n), ["?"]))) for n in numpy.unique(chain[chosen])}
        self.add(
            "chain",
            tid[chosen] >> 24,
            numpy.zeros(chosen.sum(), numpy.int64),
            (numpy.array([names_of[int(n)] for n in chain[chosen]]), lambda number: names.texts[number]),
            ns[chosen],
        )
        lines_of: collections.defaultdict[str, set[str]] = collections.defaultdict(set)
        for number, name_ in names_of.items():
            if number in lines:
                lines_of[names.texts[name_]].add(lines[number])
        for key, item in self.profile.items.items():
            if key.kind == "chain":
                item.lines |= lines_of.get(key.name, set())

    # ---- CUDA ----

    def read_api(self) -> None:
        table = "CUPTI_ACTIVITY_KIND_RUNTIME"
        self.db.require(table, "start", "end", "globalTid", "nameId", "correlationId")
        kind = self.db.optional(table, "eventClass", "0")
        # A row of class 67 repeats a call, with its callchain (nsys 2021 and 2022, --cudabacktrace).
        start, end, tid, name, correlation = self.db.columns(
            table,
            f'SELECT start, "end", globalTid, nameId, coalesce(correlationId, 0) FROM {table} '
            f"WHERE globalTid IS NOT NULL AND ({kind} IS NOT 67 OR "
            f"NOT EXISTS (SELECT 1 FROM {table} WHERE {kind} IS NOT 67))",
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
        process_column = self.db.process(table)
        self.db.require(table, "start", "end", "correlationId", *(c for c in sql.split(", ") if not c.isdigit()))
        device_column = self.db.optional(table, "deviceId", "0")
        start, end, process, correlation, device, name, data = self.db.columns(
            table,
            f'SELECT start, "end", coalesce({process_column}, 0), coalesce(correlationId, 0), '
            f"coalesce({device_column}, 0), {sql} FROM {table}",
            7,
        )
        if kind != "sync":
            self.operations.append((process >> 24, device, start, end))
        self.add(
            kind,
            process >> 24,
            self.launch_paths(process >> 24, correlation),
            (name, texts),
            end - start,
            data if with_bytes else None,
        )

    def read_devices(self) -> None:
        prefix = "CUPTI_ACTIVITY_KIND_"
        labels = COPY_KINDS | dict(self.db.rows("ENUM_CUDA_MEMCPY_OPER", "SELECT id, label FROM ENUM_CUDA_MEMCPY_OPER"))
        is_new = self.db.has(prefix + "SYNCHRONIZATION", "deprecatedSyncType")
        syncs = SYNC_TYPES if is_new else OLD_SYNC_TYPES
        self.read_device(prefix + "KERNEL", "kernel", "demangledName, 0", self.text)
        self.read_launches(prefix + "KERNEL")
        self.read_device(
            prefix + "MEMCPY", "copy", "copyKind, bytes", lambda n: f"[CUDA memcpy {labels.get(n, n)}]", True
        )
        self.read_device(prefix + "MEMSET", "copy", "0, bytes", lambda n: "[CUDA memset]", True)
        self.read_busy()
        self.read_device(prefix + "SYNCHRONIZATION", "sync", "syncType, 0", lambda n: f"[{syncs.get(n, n)}]")

    def gpus(self, processes: Integers) -> dict[tuple[int, int], str]:
        """Return the GPU that each device number of a process is, if it is known: its UUID, else its number in
        TARGET_INFO_GPU (as in reports/shared/devices.sql).
        """
        found: dict[tuple[int, int], str] = {}
        table = "LIBTRACE_CUDA_DEVICE"
        columns = ", ".join(self.db.optional(table, column) for column in ("globalTid", "deviceId", "uuidId"))
        for tid, device, uuid in self.db.rows(table, f"SELECT {columns} FROM {table}"):
            if tid is not None and self.strings.get(uuid):
                found.setdefault((tid >> 24, device), self.strings[uuid])
        table = "TARGET_INFO_CUDA_DEVICE"
        columns = ", ".join(self.db.optional(table, column) for column in ("pid", "cudaId", "gpuId"))
        for pid, device, gpu in self.db.rows(table, f"SELECT {columns} FROM {table}"):
            for process in processes[processes & 0xFFFFFF == pid] if gpu is not None else ():
                found.setdefault((int(process), device), str(gpu))
        return found

    def read_busy(self) -> None:
        """Add the time in which each GPU did something: of operations that overlap once. An item has the GPUs that
        are device N of their processes, e.g. of ranks that see one GPU each. A GPU that is not known is a GPU of
        its process alone.
        """
        process, device, start, end = numpy.concatenate(self.operations, axis=1)
        processes, process_at = numpy.unique(process, return_inverse=True)
        devices, device_at = numpy.unique(device, return_inverse=True)
        pairs, pair_at = numpy.unique(process_at * len(devices) + device_at, return_inverse=True)
        known = self.gpus(processes)
        numbers: dict[Any, int] = {}  # GPU -> the least device number
        gpus: list[Any] = []  # of each pair
        for pair in pairs:
            key = int(processes[pair // len(devices)]), int(devices[pair % len(devices)])
            gpus.append(known.get(key, key))
            numbers[gpus[-1]] = min(numbers.get(gpus[-1], key[1]), key[1])
        for gpu, number in numbers.items():
            order = numpy.flatnonzero(numpy.array([g == gpu for g in gpus])[pair_at])
            order = order[numpy.argsort(start[order], kind="stable")]
            begin, until = start[order], numpy.maximum.accumulate(end[order])
            fresh = numpy.maximum(begin, numpy.concatenate(([begin[0]], until[:-1])))
            self.put(
                Key("device", "", "", f"GPU {number}"), 1, int(numpy.maximum(until - fresh, 0).sum()), float("nan")
            )

    def read_launches(self, table: str) -> None:
        """Add to the kernels what their code needs: registers and local memory of a thread, and the block."""
        columns = ("registersPerThread", "localMemoryPerThread", "blockX", "blockY", "blockZ")
        if not all(self.db.has(table, c) for c in columns):
            return
        found: collections.defaultdict[str, set[Row]] = collections.defaultdict(set)
        for name, *facts in self.db.rows(table, f"SELECT DISTINCT demangledName, {', '.join(columns)} FROM {table}"):
            found[self.text(name)].add(tuple(facts))
        for key, item in self.profile.items.items():
            if key.kind == "kernel" and len(found[key.name]) == 1:
                registers, local, *block = next(iter(found[key.name]))
                item.code = {
                    "registers": str(registers),
                    "local memory": f"{local} bytes",
                    "block": "x".join(str(n) for n in block),
                }

    def read_kernel_code(self, path: str) -> None:
        """Add the hash of their code and their occupancy to the kernels, as cuda_kern_occupancy has them. A kernel has
        a hash only if that of all its launches is known.
        """
        kernels = [(key, item) for key, item in self.profile.items.items() if key.kind == "kernel"]
        if not kernels or not {"TARGET_INFO_GPU", "LIBTRACE_CUDA_KERNEL_CODE"} & self.db.tables:
            return
        found: dict[str, collections.defaultdict[str, set[str]]] = {
            fact: collections.defaultdict(set) for fact in ("hash", "occupancy")
        }
        for row in convert.report("cuda_kern_occupancy", path):
            found["hash"][row["Name"]].add(row.get("Code", ""))
            if row.get("Occupancy (%)"):
                found["occupancy"][row["Name"]].add(f"{float(row['Occupancy (%)']):.0f} %")
        for key, item in kernels:
            for fact, values in found.items():
                if len(values[key.name]) == 1 and values[key.name] != {""}:
                    item.code[fact] = next(iter(values[key.name]))

    def read_kernel_metrics(self) -> None:
        """Add the means of their hardware metrics to the kernels."""
        table = "LIBTRACE_CUDA_METRIC"
        kernels = "CUPTI_ACTIVITY_KIND_KERNEL"
        process = self.db.process(kernels)
        rows = self.db.rows(
            table,
            f"SELECT k.process, k.correlationId, k.name, m.metricId, m.value FROM {table} AS m "
            f"JOIN (SELECT {process} >> 24 AS process, correlationId, demangledName AS name FROM {kernels}) AS k "
            "ON k.process = m.globalTid >> 24 AND k.correlationId = m.correlationId "
            "WHERE m.node = 0 AND m.value IS NOT NULL",
        )
        found: collections.defaultdict[tuple[Key, str], list[float]] = collections.defaultdict(list)
        paths = self.launch_paths(*(numpy.array([row[i] for row in rows], numpy.int64) for i in (0, 1)))
        for (program, _, name, metric, value), place in zip(rows, paths):
            key = Key("kernel", self.program(program), self.paths.texts[place], self.text(name))
            found[key, self.text(metric)].append(value)
        for (key, metric), values in found.items():
            if key in self.profile.items:
                self.profile.items[key].code[METRIC + metric] = repr(sum(values) / len(values))

    def read_range_metrics(self) -> None:
        """Add the means of their hardware metrics to the NVTX ranges. The path open just before a range is its outer
        one.
        """
        rows = self.db.rows(
            "LIBTRACE_CUDA_RANGE_METRIC",
            "SELECT globalTid, threadId, start, domainNameId, rangeId, metricId, value FROM LIBTRACE_CUDA_RANGE_METRIC "
            "WHERE value IS NOT NULL AND globalTid IS NOT NULL",
        )
        tids = numpy.array([row[0] >> 24 << 24 | row[1] & 0xFFFFFF for row in rows], numpy.int64)
        outers = self.paths_at(tids, numpy.array([row[2] for row in rows], numpy.int64))
        found: collections.defaultdict[tuple[Key, str], list[float]] = collections.defaultdict(list)
        for (process, _, _, domain, text, metric, value), outer in zip(rows, outers):
            name = self.range_name(self.strings.get(domain, ""), self.strings.get(text, ""))
            key = Key("range", self.program(process >> 24), self.paths.texts[outer], name)
            found[key, self.text(metric)].append(value)
        for (key, metric), values in found.items():
            if key in self.profile.items:
                self.profile.items[key].code[METRIC + metric] = repr(sum(values) / len(values))

    # ---- processes ----

    def read_processes(self) -> None:
        """Read processes. A child between fork or vfork and its exec is not a separate process; one without exec has
        its parent's name.
        """
        rows = self.db.rows(
            "LIBTRACE_PROCESS",
            f'SELECT globalPid, {self.db.process_names()}, start, "end" FROM LIBTRACE_PROCESS '
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
            ("kernel", "CUPTI_ACTIVITY_KIND_KERNEL", "1", self.db.process("CUPTI_ACTIVITY_KIND_KERNEL")),
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
    """Split a path: 'a/b/c' -> ('a/b', '/', 'c'). A slash within a name has a backslash before it."""
    place = len(path)
    while True:
        place = path.rfind("/", 0, place)
        if place <= 0 or path[place - 1] != "\\":
            break
    return (path[:place], "/", path[place + 1 :]) if place > 0 else ("", "", path)


def range_names(path: str, name: str) -> set[str]:
    """Return the texts of all NVTX ranges of the database `path`, which messages call `name`."""
    database = Database(path, name)
    try:
        strings: dict[int, str] = dict(database.rows("StringIds", "SELECT id, value FROM StringIds"))
        column = database.optional("NVTX_EVENTS", "textId")
        texts = database.rows(
            "NVTX_EVENTS",
            f"SELECT DISTINCT text, {column} FROM NVTX_EVENTS "
            'WHERE eventType IN (59, 60, 70, 71) AND "end" IS NOT NULL',
        )
        return {text if isinstance(text, str) else strings.get(number, f"[{number}]") for text, number in texts}
    except TypeError:
        raise Failure(f"'{name}': a table holds values of the wrong type") from None
    finally:
        database.connection.close()


def read(path: str, name: str, merge_numbers: bool = False) -> Profile:
    """Return the profile of the database `path`, which messages call `name`."""
    from . import fingerprint, memory, samples

    reader = Reader(Database(path, name), merge_numbers)
    try:
        reader.read_ranges()
        reader.read_calls()
        reader.read_gil()
        reader.read_library_calls()
        reader.read_api()
        reader.read_devices()
        reader.read_kernel_code(path)
        reader.read_kernel_metrics()
        reader.read_range_metrics()
        memory.read(reader)
        reader.read_processes()
        samples.read(reader)
        fingerprint.read(reader.db, reader.profile)
    except (TypeError, ValueError, AttributeError, OverflowError):
        raise Failure(f"'{name}': a table has values of the wrong type") from None
    finally:
        reader.db.connection.close()
    return reader.profile
