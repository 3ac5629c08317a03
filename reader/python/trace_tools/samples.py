# SPDX-License-Identifier: Apache-2.0
"""The processor time of a run: of processes and threads by the kernel's counters, of functions by CPU samples.

A function is an item with its name and the base name of its module. A sample counts for the function that was running,
and, if that is native code called by Python, for the innermost function of Python as well. The processor time of a
function is its share of the samples of each thread, times the exact processor time of the thread. Databases of nsys
have samples, and no exact time.
"""

from __future__ import annotations

import collections
import dataclasses
import os
from typing import TYPE_CHECKING, Iterable

import numpy

from . import code
from .profile import NUMBER, PYTHON_FRAME, Item, Key, frame_name, split_path

if TYPE_CHECKING:
    from .profile import Reader, Row

# Metrics of a process that its threads have together (Item.more), where the kernel's counters were read.
PROCESS_METRICS = (
    DELAY := "waits for a CPU (ns)",
    STEAL := "taken by the hypervisor (ns)",
    BLOCKED := "waits for events (ns)",
    FAULTS := "page faults",
    LOADS := "page faults with input",
)
MODES = (USER := "user time (ns)", SYSTEM := "system time (ns)")  # of a process, thread or range (Item.more)
COUNTERS = (INSTRUCTIONS := "instructions", CYCLES := "cycles")  # of a process or thread, in user mode (Item.more)
UNDISTURBED = "without waits for a CPU (ns)"  # wall time of a process, without DELAY and STEAL of its main thread
MORE = (*PROCESS_METRICS, *MODES, *COUNTERS, UNDISTURBED)  # all metrics of Item.more
RUN_DELAY_KNOWN, FAULTS_KNOWN, SYSTEM_KNOWN, COUNTERS_KNOWN = 4, 8, 32, 64  # bits of LIBTRACE_THREAD_TIME.which
SYSTEM_MODE = 2  # LIBTRACE_CPU_SAMPLE.mode of a system call; 0 is unknown
HASHED = 100  # most functions of a run whose code is hashed
FUNCTIONS = 2000  # most functions of a run; those with the fewest samples are left out
THREADS = 200  # most names of threads of a run
TICK_NS = 10_000_000  # the kernel counts in such ticks what a hypervisor took


@dataclasses.dataclass
class Share:
    """The samples of one function in one thread."""

    tid: int
    key: Key
    line: str
    samples: int
    ns: int


def function_name(symbol: str, module: str) -> tuple[str, str]:
    """Return the name of a function with its module (of Python: its file), and the line that was running, if it is
    Python of the program itself.
    """
    name, line = frame_name(symbol, module)
    is_whole = bool(PYTHON_FRAME.fullmatch(symbol)) or not module or symbol.startswith("0x")
    return (name if is_whole else f"{name} ({os.path.basename(module)})"), line


def is_python(symbol: str, module: str) -> bool:
    """Return whether a frame is a function of Python: its module is the file that its symbol names."""
    frame = PYTHON_FRAME.fullmatch(symbol)
    return bool(frame and frame[2] == os.path.basename(module))


def exact_ns(reader: Reader) -> dict[int, int]:
    """Return the exact processor time of each thread that has one."""
    return dict(
        reader.db.rows(
            "LIBTRACE_THREAD_TIME",
            "SELECT globalTid, max(cpuTime) - min(cpuTime) FROM LIBTRACE_THREAD_TIME "
            "WHERE globalTid IS NOT NULL GROUP BY globalTid",
        )
    )


def python_frames(reader: Reader) -> list[int]:
    """Return the numbers of the texts that name functions of Python in callchains of samples."""
    return [
        symbol
        for symbol, module in reader.db.rows(
            "SAMPLING_CALLCHAINS", "SELECT DISTINCT symbol, module FROM SAMPLING_CALLCHAINS"
        )
        if is_python(reader.text(symbol), reader.text(module))
    ]


def shares(reader: Reader) -> Iterable[Share]:
    """Return the samples of each function and thread: of the innermost frame, and of the innermost one of Python."""
    if not {"COMPOSITE_EVENTS", "SAMPLING_CALLCHAINS"} <= reader.db.tables:
        return
    frames = {"leaf": "SELECT id, symbol, module, stackDepth FROM SAMPLING_CALLCHAINS WHERE stackDepth = 0"}
    python = python_frames(reader)
    if python:
        frames["python"] = (
            "SELECT id, symbol, module, min(stackDepth) AS stackDepth FROM SAMPLING_CALLCHAINS "
            f"WHERE symbol IN ({', '.join(map(str, map(int, python)))}) GROUP BY id"
        )
    ns, join = ("0", "")
    if "LIBTRACE_CPU_SAMPLE" in reader.db.tables:
        ns, join = "sum(coalesce(l.cpuTime, 0))", "LEFT JOIN LIBTRACE_CPU_SAMPLE AS l ON l.id = c.id "
    for which, sql in frames.items():
        beyond = " WHERE f.stackDepth > 0" if which == "python" else ""  # the innermost frame is counted already
        rows: list[Row] = reader.db.rows(
            "COMPOSITE_EVENTS",
            f"WITH frames AS ({sql}) SELECT c.globalTid, f.symbol, f.module, sum(c.cpuCycles), {ns} "
            f"FROM COMPOSITE_EVENTS AS c JOIN frames AS f ON f.id = c.id {join}{beyond} GROUP BY 1, 2, 3",
        )
        for tid, symbol, module, samples, spent in rows:
            name, line = function_name(reader.text(symbol), reader.text(module))
            yield Share(
                tid,
                Key("function", reader.program(tid >> 24), "", name),
                line,
                max(int(samples), 0),
                max(int(spent), 0),
            )


def hashes(reader: Reader) -> dict[Key, str]:
    """Return the hash of the code of each function that was sampled, of those with most samples."""
    if "LIBTRACE_MODULE_LOAD" not in reader.db.tables or "SAMPLING_CALLCHAINS" not in reader.db.tables:
        return {}
    modules: collections.defaultdict[tuple[int, str], list[tuple[int, int, int, str]]] = collections.defaultdict(list)
    for tid, begin, end, bias, path, build_id in reader.db.rows(
        "LIBTRACE_MODULE_LOAD",
        'SELECT globalTid, begin, "end", bias, pathId, buildId FROM LIBTRACE_MODULE_LOAD WHERE globalTid IS NOT NULL',
    ):
        modules[tid >> 24, reader.text(path)].append((begin, end, bias, reader.text(build_id)))
    known, found = code.Hashes(), {}
    for tid, symbol, module, address, _ in reader.db.rows(
        "COMPOSITE_EVENTS",
        "SELECT c.globalTid, f.symbol, f.module, f.originalIP, count(*) FROM COMPOSITE_EVENTS AS c "
        "JOIN SAMPLING_CALLCHAINS AS f ON f.id = c.id WHERE f.stackDepth = 0 AND coalesce(f.kernelMode, 0) = 0 "
        f"AND f.originalIP > 0 GROUP BY c.globalTid >> 24, 2, 3 ORDER BY 5 DESC LIMIT {HASHED}",
    ):
        name, _ = function_name(reader.text(symbol), reader.text(module))
        for begin, end, bias, build_id in modules[tid >> 24, reader.text(module)]:
            if begin <= address < end:
                found[Key("function", reader.program(tid >> 24), "", name)] = known.get(
                    reader.text(module), build_id, address - bias
                )
    return found


def sampled_ns(reader: Reader) -> dict[int, int]:
    """Return the processor time that the samples of each thread represent."""
    return dict(
        reader.db.rows(
            "LIBTRACE_CPU_SAMPLE",
            "SELECT c.globalTid, sum(l.cpuTime) FROM COMPOSITE_EVENTS AS c "
            "JOIN LIBTRACE_CPU_SAMPLE AS l ON l.id = c.id GROUP BY 1",
        )
        if "COMPOSITE_EVENTS" in reader.db.tables
        else ()
    )


def read_functions(reader: Reader, exact: dict[int, int]) -> None:
    """Add the functions to the profile."""
    sampled = sampled_ns(reader)
    found: collections.defaultdict[Key, Item] = collections.defaultdict(Item)
    lines: collections.defaultdict[Key, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for share in shares(reader):
        item, whole = found[share.key], sampled.get(share.tid, 0)
        item.count += share.samples
        item.cpu_ns += round(share.ns * exact.get(share.tid, whole) / whole) if whole else 0
        if share.line:
            lines[share.key][share.line] += share.samples
    for key in sorted(found, key=lambda k: (-found[k].count, k))[:FUNCTIONS]:
        found[key].lines = {line for line, _ in lines[key].most_common(1)}
        reader.profile.items[key] = found[key]
    for key, text in hashes(reader).items():
        if text and key in reader.profile.items:
            reader.profile.items[key].code["hash"] = text
    reader.profile.samples = sum(
        row[0] or 0 for row in reader.db.rows("COMPOSITE_EVENTS", "SELECT sum(cpuCycles) FROM COMPOSITE_EVENTS")
    )


def add_known(item: Item, metrics: tuple[str, ...], values: Iterable[float] | None) -> None:
    """Add values of metrics to an item, if they are known."""
    for metric, value in zip(metrics, values or ()):
        item.more[metric] = item.more.get(metric, 0.0) + value


def read_ranges(reader: Reader, exact: dict[int, int]) -> None:
    """Add the processor time of NVTX ranges, without the ranges in them: their share of each thread's samples, and
    which part of it was in system calls, if that is known of all of them.
    """
    sampled = sampled_ns(reader)
    if not sampled or not reader.threads:
        return
    mode = reader.db.optional("LIBTRACE_CPU_SAMPLE", "mode", "0")
    tid, start, ns, modes = reader.db.columns(
        "COMPOSITE_EVENTS",
        f"SELECT c.globalTid, c.start, coalesce(l.cpuTime, 0), coalesce({mode}, 0) FROM COMPOSITE_EVENTS AS c "
        "JOIN LIBTRACE_CPU_SAMPLE AS l ON l.id = c.id WHERE c.globalTid IS NOT NULL",
        4,
    )
    places, place = numpy.unique(numpy.stack([tid, reader.paths_at(tid, start)]), axis=1, return_inverse=True)
    sums = [numpy.bincount(place.ravel(), ns * part) for part in (1, modes == SYSTEM_MODE, modes == 0)]
    partly: set[Key] = set()  # of which the mode of some samples is unknown
    for (one, path), spent, in_system, unknown in zip(places.T, *sums):
        outer, _, name = split_path(reader.paths.texts[path])
        key = Key("range", reader.program(one >> 24), outer, name)
        item, whole = reader.profile.items.get(key), sampled.get(int(one), 0)
        if path and whole and item:
            scale = exact.get(int(one), whole) / whole
            item.cpu_ns += round(spent * scale)
            add_known(item, MODES, ((spent - in_system) * scale, in_system * scale))
            partly |= {key} if unknown else set()
    for key in partly:
        reader.profile.items[key].more = {}


def read_times(reader: Reader, exact: dict[int, int]) -> None:
    """Add the processor time of processes, and of threads by their name; numbers in names are merged. What is not known
    of all their threads is not known.
    """
    known: dict[tuple[str, ...], dict[int, tuple[float, ...]]] = {
        MODES: {
            tid: (max(cpu - system, 0), system)
            for tid, _, cpu, system in counters(reader, SYSTEM_KNOWN, "cpuTime", "systemTime")
        },
        COUNTERS: {
            tid: (instructions, cycles)
            for tid, lived, instructions, cycles in counters(reader, COUNTERS_KNOWN, "instructions", "cycles")
            if lived  # a thread with its first reading only has ended without another
        },
    }
    names: dict[int, int] = dict(
        reader.db.rows("ThreadNames", "SELECT globalTid, nameId FROM ThreadNames WHERE globalTid IS NOT NULL")
    )
    threads: collections.defaultdict[Key, Item] = collections.defaultdict(Item)
    partly: set[tuple[Key, tuple[str, ...]]] = set()
    for tid, ns in exact.items():
        program = reader.program(tid >> 24)
        name = NUMBER.sub("#", reader.text(names[tid])) if tid in names else program
        thread, process = threads[Key("thread", program, "", name)], Key("process", program, "", program)
        thread.add(Item(1, ns, cpu_ns=ns))
        of_process = reader.profile.items.get(process, Item())
        of_process.cpu_ns += ns
        for metrics, values in known.items():
            add_known(thread, metrics, values.get(tid))
            add_known(of_process, metrics, values.get(tid))
            partly |= set() if tid in values else {(process, metrics), (Key("thread", program, "", name), metrics)}
    for key in sorted(threads, key=lambda k: (-threads[k].cpu_ns, k))[:THREADS]:
        reader.profile.items[key] = threads[key]
    for key, metrics in partly:
        for metric in metrics if key in reader.profile.items else ():
            reader.profile.items[key].more.pop(metric, None)


def counters(reader: Reader, which: int, *columns: str) -> list[Row]:
    """Return the thread, its time from the first to the last reading, and the growth of counters between them."""
    table = "LIBTRACE_THREAD_TIME"
    if not all(reader.db.has(table, c) for c in ("timestamp", "which", *columns)):
        return []
    grown = ", ".join(f"max({c}) - min({c})" for c in columns)
    return reader.db.rows(
        table,
        f"SELECT globalTid, max(timestamp) - min(timestamp), {grown} FROM {table} "
        f"WHERE globalTid IS NOT NULL AND which & {which} GROUP BY 1",
    )


def steal_shares(reader: Reader) -> dict[int, float]:
    """Return for each process (globalTid >> 24) the time that the hypervisor took for each ns in which a CPU ran
    something. It is known of all CPUs together, during the life of the process, to a tick: this is the least.
    """
    table = "LIBTRACE_MACHINE_TIME"
    rows = reader.db.rows(
        table,
        f"SELECT globalTid >> 24, max(busy) - min(busy), max(steal) - min(steal) FROM {table} "
        "WHERE globalTid IS NOT NULL GROUP BY 1 HAVING count(*) > 1",
    )
    return {process: max(steal - TICK_NS, 0) / busy for process, busy, steal in rows if busy > 0}


def read_waits(reader: Reader) -> None:
    """Add waits and page faults to the processes: the kernel's counters of their threads."""
    more: collections.defaultdict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    main_away: collections.Counter[str] = collections.Counter()  # ns for which the machine kept main threads waiting
    shares = steal_shares(reader)
    for tid, lived, cpu, delay in counters(reader, RUN_DELAY_KNOWN, "cpuTime", "runDelay"):
        found, program = more[reader.program(tid >> 24)], reader.program(tid >> 24)
        stolen = round(cpu * shares.get(tid >> 24, 0.0))
        found[DELAY] += delay
        found[BLOCKED] += max(lived - cpu - delay - stolen, 0)
        if tid >> 24 in shares:
            found[STEAL] += stolen
        if tid & 0xFFFFFF == tid >> 24 & 0xFFFFFF:
            main_away[program] += delay + stolen
    for tid, _, minor, major in counters(reader, FAULTS_KNOWN, "minorFaults", "majorFaults"):
        found = more[reader.program(tid >> 24)]
        found[FAULTS] += minor
        found[LOADS] += major
    for program, metrics in more.items():
        item = reader.profile.items.get(Key("process", program, "", program))
        if item:
            item.more |= {name: float(value) for name, value in metrics.items()}
            if program in main_away:
                item.more[UNDISTURBED] = max(item.total_ns - main_away[program], 0) / max(item.count, 1)


def read(reader: Reader) -> None:
    """Add functions, threads, and the processor time of processes to the profile, after its processes."""
    exact = exact_ns(reader)
    read_functions(reader, exact)
    read_ranges(reader, exact)
    read_times(reader, exact)
    read_waits(reader)
