#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check `trace why` on programs whose critical path is known: the stages on the path, in their order, and that its parts add up to the run."""
import csv
import io
import json
import os
import platform
import re
import shutil
import sqlite3
import sys
import types

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
from _paths import STAGE_NS, gapless, path_of, stages, unnamed  # noqa: E402
from lib import SRC, app, folder, main, recorded, run, tap, trace  # noqa: E402

sys.path.insert(0, os.path.join(SRC, "reader/python"))
sys.dont_write_bytecode = True
from trace_tools.alike import Name, groups  # noqa: E402

UNKNOWN_MOST = 0.02  # of the run
TRIES = 4  # on a busy machine a thread may begin so late that another stage is on the path


def life_of(report):
    """Return start and end of the first process, in ns of the report."""
    processes = json.loads(trace("query", "-f", "json", report.path, 'SELECT start, "end" FROM LIBTRACE_PROCESS ORDER BY start LIMIT 1').out)
    return processes[0]["start"], processes[0]["end"]


def known_path(mode, expected, sure, command=None, sources="osrt", **options):
    """The path of a mode of waited.c has these stages; `sure`: cause -> how sure the report is of what ended it."""
    for _ in range(TRIES):
        report = recorded(command or [app("waited"), mode], LIBTRACE_TRACE=sources, **options)
        if not report:
            return
        segments = path_of(report)
        unknown = sum(s["Duration (ns)"] for s in segments if s["Sure"] == "unknown" or s["Cause"] == "before the first event")
        start, end = life_of(report)
        if stages(segments) == expected and unknown <= UNKNOWN_MOST * (end - start):
            break
    tap.ok(unknown <= UNKNOWN_MOST * (end - start), f"{mode}: of at most 2 % of the time it is not known who took it", [s for s in segments if s["Sure"] == "unknown"])
    first, last = segments[0], segments[-1]
    tap.ok(not gapless(segments) and first["Start (ns)"] == start and last["Start (ns)"] + last["Duration (ns)"] == end,
           f"{mode}: the segments follow each other from the start of the program to its end", (gapless(segments), first, last, start, end))
    tap.ok(stages(segments) == expected, f"{mode}: the stages on the path are {' '.join(expected)}", segments)
    wakes = {unnamed(s["Cause"]).rpartition(" ")[2]: s["Sure"] for s in segments if s["Cause"].startswith("waking up from")}
    tap.ok({name: wakes.get(name) for name in sure} == sure, f"{mode}: what ended the waits is as sure as it can be", wakes)
    sums = list(csv.DictReader(io.StringIO(trace("why", "-f", "csv", report.path).out.decode())))
    total = sum(int(r["Total Time (ns)"]) for r in sums)
    tap.ok(abs(total - (end - start)) <= len(sums), f"{mode}: the sums by cause add up to the run", (total, end - start))
    blamed = list(csv.DictReader(io.StringIO(trace("stats", "-r", "blame_sum", "-f", "csv", report.path).out.decode())))
    waited = {name for r in blamed for name in [unnamed(r["Wait"])] if int(r["Total Time (ns)"]) >= STAGE_NS}
    tap.ok(waited & set(sure), f"{mode}: the time is blamed on what others did during these waits", (waited, blamed))


def joins():
    known_path("join", ["third", "first"], {"pthread_join": "likely"})


def exits():
    """A process ends by exit() in a thread, while its first one waits for nobody."""
    report = recorded([app("waited"), "exit"], LIBTRACE_TRACE="osrt")
    segments = path_of(report) if report else []
    tap.ok(stages(segments) == ["second"] and not any(s["Sure"] == "unknown" and s["Duration (ns)"] >= STAGE_NS for s in segments), "exit: the stage on the path is second", segments)


def reaped():
    """waitpid() of a process whose last record is older, or whose end was noticed later, or which only asks, waits for nobody who is not known; nor does vfork()."""
    path, tid, child = os.path.join(folder(), "reaped.sqlite"), 1 << 48 | 1000 << 24 | 1000, 1 << 48
    d = sqlite3.connect(path)
    d.executescript(f"""
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER);
        CREATE TABLE LIBTRACE_PROCESS (globalPid INTEGER, pid INTEGER, parentPid INTEGER, start INTEGER, end INTEGER);
        INSERT INTO StringIds VALUES (1, 'waitpid'), (2, 'vfork');
        INSERT INTO OSRT_API VALUES (10000000, 60000000, 27, {tid}, 1, 1001, 0), (70000000, 80000000, 27, {tid}, 1, 0, 0), (82000000, 84000000, 27, {tid}, 2, 1002, 0),
            (90000000, 99000000, 27, {tid}, 1, 1002, 0);
        INSERT INTO LIBTRACE_PROCESS VALUES ({tid & ~0xffffff}, 1000, 1, 0, 100000000), ({child | 1001 << 24}, 1001, 1000, 1000, 5000000),
            ({child | 1002 << 24}, 1002, 1000, 85000000, 99050000);
        CREATE TABLE LIBTRACE_CHILD (timestamp INTEGER, globalTid INTEGER, childPid INTEGER);
        INSERT INTO LIBTRACE_CHILD VALUES (85000000, {tid}, 1002);""")
    d.close()
    segments = json.loads(trace("why", "--path", "-f", "json", path).out or b"[]")
    causes = [(s["TID"], s["Cause"]) for s in segments if s["Cause"] != "computing" or s["TID"] != 1000]
    tap.ok(causes == [(1000, "waitpid"), (1000, "waitpid"), (1000, "vfork"), (1002, "computing")] and not any(s["Sure"] for s in segments),
           "reaped: who waits for a process that is about to end, only asks, or returns before its end is noticed", segments)


def locks():
    known_path("lock", ["third", "second"], {"pthread_join": "likely"})
    known_path("rwlock", ["third", "second", "first"], {"pthread_rwlock_wrlock": "exact"}, LIBTRACE_OSRT_LOCKS="all")


def conditions():
    known_path("condition", ["second", "third"], {"pthread_cond_wait": "exact"})
    for mode, wait in (("held", "pthread_cond_wait"), ("taken", "pthread_mutex_lock")):
        known_path(mode, ["second", "third", "first"], {wait: "exact"}, LIBTRACE_OSRT_LOCKS="all", threshold="0")


def held_changed():
    """A stage that a thread does under a mutex after it has signaled holds up who waits for the condition: what-if knows that."""
    report = recorded([app("waited"), "held"], LIBTRACE_OSRT_LOCKS="all", threshold="0")
    found = json.loads(trace("what-if", "--json", report.path, "at third x0.5").out or b"{}") if report else {}
    tap.ok(found and abs(found["wall_ns"] - found["predicted_ns"] - found["changes"][0]["applies_to_ns"] / 2) < 1e6, "held: half of the stage under the mutex is saved", found)


def barriers():
    known_path("barrier", ["third", "second"], {"pthread_barrier_wait": "exact"})


def children():
    known_path("child", ["first", "third", "second"], {"waitpid": "exact"})


def pipes():
    known_path("pipe", ["third", "first"], {"read": "exact"})
    known_path("relay", ["third", "second", "first"], {"read": "exact"})
    known_path("pair", ["second", "third", "first"], {"recv": "exact"})
    known_path("poll", ["third", "first"], {"poll": "likely"})
    known_path("select", ["third", "first"], {"select": "likely"})
    known_path("epoll", ["third", "first"], {"epoll_wait": "likely"})
    known_path("reused", ["third", "first"], {"read": "exact"})
    known_path("full", ["third", "second"], {"write": "exact"})


# Pipelines, what they wait for as a rule, and for whom each program does: (program, role of its calls) -> the other program. seq and sort write, and sort
# and uniq read, by stdio.
PIPELINES = (("yes | head -n 2000000 > /dev/null", "write", {("yes", "write"): "head", ("head", "read"): "yes"}),
             ("seq 400000 | sort | uniq -c | tail -n 1", "read",
              {("seq", "write"): "sort", ("sort", "read"): "seq", ("sort", "write"): "uniq", ("uniq", "read"): "sort", ("uniq", "write"): "tail", ("tail", "read"): "uniq"}))


def pipeline_waits(report):
    """Return for whom the programs of a pipeline waited for more than 1 ms, how often, and how sure that is."""
    return json.loads(trace("query", "-f", "json", report.path,
                            "SELECT p.name AS program, w.kind AS role, o.name AS other, w.sure AS sure, count(*) AS calls FROM LIBTRACE_WAIT_GRAPH AS w "
                            "JOIN LIBTRACE_PROCESS AS p ON p.globalPid >> 24 = w.track >> 24 AND p.endHow <> 'exec' LEFT JOIN LIBTRACE_PROCESS AS o "
                            "ON o.globalPid >> 24 = w.other >> 24 AND o.endHow <> 'exec' WHERE w.kind IN ('read', 'write') AND w.\"end\" - w.start > 1000000 "
                            "AND w.sure IS NOT NULL GROUP BY 1, 2, 3, 4").out or b"[]")


def pipelines():
    """Programs of a shell's pipeline wait for their neighbors, although the calls that make its pipes, and most reads, are shorter than the threshold."""
    for shell in ("sh", "bash"):
        for line, role, expected in PIPELINES:
            for _ in range(TRIES):  # a program that began late may have had nobody to wait for
                report = shutil.which(shell) and recorded([shell, "-c", line])
                rows = report and pipeline_waits(report)
                if not report or role in {r["role"] for r in rows}:
                    break
            if not report:
                tap.skip(f"{shell}: {line}", "no such shell")
                continue
            found = {(r["program"], r["role"]): r["other"] for r in rows}
            tap.ok(rows and found.items() <= expected.items() and {r["sure"] for r in rows} <= {"exact", "likely"} and sum(r["calls"] for r in rows) == sum(
                r["calls"] for r in rows if found[r["program"], r["role"]] == r["other"]), f"{shell}: {line}: each waits for its neighbor", rows)
            segments = path_of(report)
            unknown = sum(s["Duration (ns)"] for s in segments if s["Sure"] == "unknown")
            start, end = life_of(report)
            tap.ok(not gapless(segments) and unknown <= UNKNOWN_MOST * (end - start), f"{shell}: {line}: of at most 2 % of the path it is not known who took it",
                   [s for s in segments if s["Sure"] == "unknown"])


def calls_report(name, calls, **more):
    """Return the path of a report of calls of threads of process 1000: (start, end in us, thread, name, returned, object or None); `more`: rows of other tables,
    in which "tid N" is a thread and "text ..." an id of StringIds."""
    path, texts = os.path.join(folder(), name), {}
    d = sqlite3.connect(path)
    d.executescript(f"""
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER);
        CREATE TABLE LIBTRACE_OSRT_CALL (id INTEGER, errno INTEGER, object INTEGER, holderTid INTEGER, flags INTEGER);
        CREATE TABLE LIBTRACE_FILE_PATH (timestamp INTEGER, globalTid INTEGER, descriptor INTEGER, pathId INTEGER);
        CREATE TABLE LIBTRACE_PROCESS (globalPid INTEGER, pid INTEGER, parentPid INTEGER, start INTEGER, end INTEGER);
        CREATE TABLE LIBTRACE_THREAD_START (timestamp INTEGER, globalTid INTEGER, parentTid INTEGER, flags INTEGER);
        CREATE TABLE LIBTRACE_THREAD_END (timestamp INTEGER, globalTid INTEGER);
        CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
        CREATE TABLE COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start INTEGER, globalTid INTEGER);
        CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER, symbol INTEGER, stackDepth INTEGER);
        INSERT INTO LIBTRACE_PROCESS VALUES ({1 << 48 | 1000 << 24}, 1000, 1, 0, {max(c[1] for c in calls)}000);""")

    def value(of):
        kind, _, rest = of.partition(" ") if isinstance(of, str) else ("", "", "")
        return 1 << 48 | 1000 << 24 | int(rest) if kind == "tid" else texts.setdefault(rest, len(texts) + 1) if kind == "text" else of

    for number, (start, end, thread, function, returned, used) in enumerate(calls, 1):
        d.execute("INSERT INTO OSRT_API VALUES (?, ?, 27, ?, ?, ?, 0)", (start * 1000, end * 1000, value(f"tid {thread}"), value(f"text {function}"), returned))
        if used is not None:
            d.execute("INSERT INTO LIBTRACE_OSRT_CALL VALUES (?, 0, ?, 0, 0)", (number, used))
    for table, rows in more.items():
        d.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", [[value(v) for v in row] for row in rows])
    d.executemany("INSERT INTO StringIds VALUES (?, ?)", [(number, text) for text, number in texts.items()])
    d.commit()
    d.close()
    return path


def waits_in(path):
    """Return who ended the waits of thread 1000: (start in us, thread, how sure)."""
    rows = json.loads(trace("query", "-f", "json", path, "SELECT start / 1000 AS start, other & 0xffffff AS other, sure FROM LIBTRACE_WAIT_GRAPH "
                            "WHERE track & 0xffffff = 1000 AND kind = 'read' ORDER BY start").out or b"[]")
    return [(r["start"], r["other"], r["sure"]) for r in rows]


PIPE = 3 | 4 << 24  # the descriptors that pipe() returned


def pipe_holders():
    """Who wrote to a pipe once is likely to have ended later waits for it, by calls that are not recorded, but not after its own end."""
    calls = [(10, 30, 1000, "pipe", 0, PIPE), (100, 5000, 1000, "read", 1, 3), (4900, 4990, 1001, "write", 1, 4), (6000, 8000, 1000, "read", 1, 3), (20000, 40000, 1000, "read", 1, 3)]
    path = calls_report("holders.sqlite", calls, LIBTRACE_THREAD_START=[(50000, "tid 1001", 1000, 0)], LIBTRACE_THREAD_END=[(9_000_000, "tid 1001")])
    found = waits_in(path)
    tap.ok(found == [(100, 1001, "exact"), (6000, 1001, "likely"), (20000, None, "unknown")], "holders: a writer is exact by a write, likely without, and nobody after its end", found)


def older_fopen():
    """fopen() of a report without its descriptors does not make standard input a file."""
    calls = [(10, 30, 1000, "pipe", 0, 4 << 24), (40, 60, 1000, "fopen", 1 << 30, None), (100, 5000, 1000, "read", 1, 0), (4900, 4990, 1001, "write", 1, 4)]
    found = waits_in(calls_report("fopen.sqlite", calls))
    tap.ok(found == [(100, 1001, "exact")], "fopen: a wait for standard input is one", found)


def late_open():
    """A descriptor is that of an open() from its end on: until then another thread may have had that number."""
    calls = [(50, 90000, 1001, "open", 3, None), (20000, 50000, 1000, "read", 1, 3), (95000, 99000, 1000, "read", 1, 3)]
    path = calls_report("open.sqlite", calls, LIBTRACE_FILE_PATH=[(10_000, "tid 1000", 3, "text /d/old.bin"), (50_000, "tid 1001", 3, "text /d/fifo")])
    causes = [s["Cause"] for s in json.loads(trace("why", "--path", "-f", "json", path).out or b"[]") if s["Cause"].startswith("read")]
    tap.ok(causes == ["read (old.bin)", "read (fifo)"], "open: who blocks in it has no descriptor yet", causes)


def many_files():
    """A call that reads many files in one place has a row for some of them, and one for the rest."""
    calls = [(100 * n, 100 * n + 90, 1000, "read", 1, 3) for n in range(1, 1001)]
    path = calls_report("files.sqlite", calls, LIBTRACE_FILE_PATH=[(c[0] * 1000 - 1000, "tid 1000", 3, f"text /d/{c[0]}.jpg") for c in calls])
    found = {c["Cause"]: c["Total Time (ns)"] for c in json.loads(trace("why", "--json", path).out or b'{"causes": []}')["causes"] if c["Cause"].startswith("read")}
    tap.ok(len(found) == 21 and found.get("read") == 980 * 90000, "files: 20 of 1000 have a name, the others are one row", found)


def steps_of_names(count):
    """Return the steps in thousands that SQLite takes to find the names of so many locks and threads, and how many have one."""
    steps = []
    d = sqlite3.connect(":memory:")
    d.executescript("""
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE PATH_SUMS (track, object, object_chain, name, other, wait_track, wait_object, wait_object_chain, wait_name, wait_other);
        CREATE TABLE PATH_CHAINS (source, id, place, PRIMARY KEY (source, id)) WITHOUT ROWID;
        CREATE TABLE PATH_PROGRAM_STARTS (process, start, name);
        CREATE TABLE LIBTRACE_OBJECT (globalPid INTEGER, object INTEGER, nameId INTEGER);
        CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
        CREATE TABLE OSRT_API (callchainId INTEGER, globalTid INTEGER);
        CREATE TABLE OSRT_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, stackDepth INTEGER);
        INSERT INTO StringIds VALUES (1, 'queue'), (2, 'worker'), (3, 'begins'), (4, 'app');""")
    numbers = [(n,) for n in range(1, count + 1)]
    d.executemany("INSERT INTO PATH_SUMS VALUES (1 << 24, ?1, NULL, 'pthread_mutex_lock', ?1, NULL, NULL, NULL, NULL, NULL)", numbers)
    d.executemany("INSERT INTO LIBTRACE_OBJECT VALUES (1 << 24, ?, 1)", numbers)
    d.executemany("INSERT INTO ThreadNames SELECT 2, 1, ?1 WHERE ?1 % 2", numbers)
    d.executemany("INSERT INTO OSRT_API VALUES (?1, ?1)", numbers)
    d.executemany("INSERT INTO OSRT_CALLCHAINS VALUES (?, 3, 4, 0)", numbers)
    with open(os.path.join(SRC, "reader/reports/shared/path.sql"), encoding="utf-8") as file:
        found = [each for each in file.read().split(";\n") if re.search(r"(TABLE|INTO|UPDATE) PATH_(VARIABLES|OBJECTS|GIVEN_NAMES|NAMED_THREADS|ENTRIES)\b", each)]
    d.set_progress_handler(lambda: steps.append(1), 1000)
    for each in found:
        d.execute(each)
    d.set_progress_handler(None, 0)
    return len(steps), [d.execute(f"SELECT count(name) FROM {table}").fetchone()[0] for table in ("PATH_OBJECTS", "PATH_NAMED_THREADS")]


def many_names():
    """The work for names of locks and threads grows with their number, not with its square."""
    (few, named), (many, _) = steps_of_names(500), steps_of_names(4000)
    tap.ok(named == [500, 500] and few > 0 and many < 12 * few, "eight times the locks and threads take eight times the steps", (few, many, named))


def causes_of(report):
    """Return the causes and waits that have names, of all outputs that show them, and whether these agree."""
    causes = {r["Cause"] for r in json.loads(trace("why", "--json", report.path).out)["causes"]}
    shown = {s["Cause"] for s in path_of(report)}
    table = {r["cause"] for r in json.loads(trace("query", "-f", "json", report.path, "SELECT DISTINCT cause FROM LIBTRACE_CRITICAL_PATH").out)}
    waits = {r["Wait"] for r in csv.DictReader(io.StringIO(trace("stats", "-r", "blame_sum", "-f", "csv", report.path).out.decode()))}
    return causes, waits, causes == shown == table


def lock_names():
    """A lock has the name of the variable that it is in, else of the function that waited for it first; threads that of the function that they began in."""
    for mode, lock in (("lock", "queue+0x8"), ("heap", "lock of wants_inner")):
        for _ in range(TRIES):
            reports = [recorded([app("waited"), mode], LIBTRACE_OSRT_LOCKS="all", threshold="0") for _ in range(2)]
            if not all(reports):
                return
            found = [causes_of(report) for report in reports]
            if all(stages(path_of(report)) == ["third", "second"] for report in reports):
                break
        held = f"pthread_mutex_lock ({lock}, held by holds_both)"
        tap.ok(all(f"waking up from {held}" in causes and held in waits for causes, waits, _ in found), f"{mode}: the lock and who held it have names", found)
        tap.ok(all("waking up from pthread_join (wants_inner)" in causes for causes, _, _ in found), f"{mode}: the thread that was joined has a name", found)
        tap.ok(all(same for _, _, same in found), f"{mode}: --json, --path and LIBTRACE_CRITICAL_PATH have the same names", found)
        both = json.loads(trace("why", "--json", reports[0].path, "--", reports[1].path).out or b'{"causes": []}')["causes"]
        of_lock = [r for r in both if held in r["cause"]]
        tap.ok(of_lock and all(r["base_segments"] and r["other_segments"] for r in of_lock), f"{mode}: two runs have the same names", both)


def lock_functions():
    """A lock is held in the function that took it, by the callchain of its call, else by what the callchains of the holder during the wait have in common."""
    for threshold, places in (("0", ("flush", "refill")), ("2000", ("flush", "refill")), ("none", (None,))):
        for _ in range(TRIES):
            report = recorded([app("waited"), "twice"], LIBTRACE_OSRT_LOCKS="all", threshold="0", LIBTRACE_OSRT_BACKTRACE_THRESHOLD=threshold)
            if not report:
                return
            causes, waits, same = causes_of(report)
            held = {f"pthread_mutex_lock (queue+0x8, held by holds_twice in {place}())" if place else "pthread_mutex_lock" for place in places}
            of_lock = {wait for wait in waits if unnamed(wait) == "pthread_mutex_lock"}
            if of_lock == held:
                break
        tap.ok(of_lock == held and {f"waking up from {each}" for each in held} <= causes and same, f"callchains from {threshold} ns: the functions in which the lock was held", (of_lock, causes))
        blamed = {(r["At"].partition(" ")[0], r["Wait"].partition(" in ")[2]) for r in csv.DictReader(io.StringIO(trace("stats", "-r", "blame_sum", "-f", "csv", report.path).out.decode()))
                  if r["Cause"] == "usleep" and unnamed(r["Wait"]) == "pthread_mutex_lock"}
        tap.ok(threshold == "none" or blamed == {("first", "flush())"), ("second", "flush())"), ("third", "refill())"), ("aside", "refill())")},
               f"callchains from {threshold} ns: what was done in which function is blamed on the waits for it", blamed)


def sampled_functions():
    """Without callchains of the holder's calls, the function is what its CPU samples during the wait have in common, or one that is known to take the lock."""
    locks = [(10, 20, 1001, "pthread_mutex_lock", 0, 7), (100, 5000, 1000, "pthread_mutex_lock", 0, 7), (4990, 4995, 1001, "pthread_mutex_unlock", 0, 7),
             (5100, 5200, 1000, "pthread_mutex_unlock", 0, 7)]
    for name, chains, function in (("one", [["inner", "flush", "work"]], None), ("site", [["inner", "flush", "work"]], "flush()"), ("common", [["inner", "flush", "work"], ["other", "flush", "work"]], "flush()"),
                                   ("cxx", [["std::mutex::lock()", "Queue::flush(int)", "work"], ["Queue::flush(int)", "work"]], "Queue::flush(int)"), ("none", [], None)):
        samples = [(n, 1_000_000 * n, "tid 1001") for n in range(1, len(chains) + 1)]
        frames = [(n, f"text {frame}", depth) for n, chain in enumerate(chains, 1) for depth, frame in enumerate(chain)]
        path = calls_report(f"{name}.sqlite", locks, LIBTRACE_THREAD_START=[(5000, "tid 1001", 1000, 0)], ThreadNames=[("text writer", 10, "tid 1001")],
                            **({"COMPOSITE_EVENTS": samples, "SAMPLING_CALLCHAINS": frames} if chains else {}))
        if name == "site":
            with sqlite3.connect(path) as d:
                d.executescript("""
                    CREATE TABLE OSRT_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, unresolved INTEGER, originalIP INTEGER, stackDepth INTEGER);
                    INSERT INTO OSRT_CALLCHAINS SELECT 1, s.id, m.id, 0, 0, 0 FROM StringIds AS s, StringIds AS m WHERE s.value = 'flush' AND m.value = 'writer';
                    UPDATE OSRT_API SET callchainId = 1 WHERE start = 100000;""")
        found = {c["Cause"] for c in json.loads(trace("why", "--json", path).out or b'{"causes": []}')["causes"] if c["Cause"].startswith("waking up from")}
        held = "held by writer" + (f" in {function}" if function else "")
        tap.ok(len(found) == 1 and found.pop().endswith(f"{held})"), f"samples, {name}: the lock is {held}", found)


def alike_names():
    """Names of two runs that differ only in numbers belong together where no equal ones are left."""
    def lock_of(name):
        return f"pthread_mutex_lock (queue, held by {name})"
    for what, one, two, wanted in (
            ("a thread", [lock_of("worker-12 in flush()")], [lock_of("worker-17 in flush()")], {lock_of("worker-* in flush()"): 2}),
            ("another function", [lock_of("worker-12 in flush()")], [lock_of("worker-12 in flush2()")], {lock_of("worker-12 in flush()"): 1, lock_of("worker-12 in flush2()"): 1}),
            ("equal ones first", [lock_of("w1"), lock_of("w2")], [lock_of("w1"), lock_of("w3")], {lock_of("w1"): 1, lock_of("w*"): 2}),
            ("several are summed up", [lock_of("w1"), lock_of("w2")], [lock_of("w3")], {lock_of("w*"): 3}),
            ("one side only", [lock_of("w1"), lock_of("w2")], [], {lock_of("w1"): 1, lock_of("w2"): 1}),
            ("an address", ["sem_wait (0x7f00deadbeef)"], ["sem_wait (0x7fffdeadb000)"], {"sem_wait (*)": 2}),
            ("temporary files", ["read (tmpab1_x9qz)", "read (sortAb3dEf)", "write (ccWq31Zz.s)"], ["read (tmpqqwweerr)", "read (sortZZ9yyy)", "write (cc12Zz9Q.s)"],
             {"read (tmp*)": 2, "read (sort*)": 2, "write (cc*.s)": 2}),
            ("other files", ["read (train_images.bin)", "read (a.hidden)"], ["read (valid_labels.bin)", "read (a.spoken)"],
             {name: 1 for name in ("read (train_images.bin)", "read (a.hidden)", "read (valid_labels.bin)", "read (a.spoken)")}),
            ("kernels", ["kernel gemm_128x64", "usleep"], ["kernel gemm_256x64", "usleep"], {"kernel gemm_128x64": 1, "kernel gemm_256x64": 1, "usleep": 1})):
        found = {name.cause: len(names) for name, names in groups([Name(cause, "") for cause in one], [Name(cause, "") for cause in two]).items()}
        tap.ok(found == wanted, f"names: {what}", found)
    long_name = "read (" + " in ()" * 100_000  # a name of a report is as long as its writer likes
    tap.ok(groups([Name(long_name + "1)", "")], [Name(long_name + "2)", ""), Name(long_name, "")]).keys() >= {Name(long_name, "")}, "names: long ones, with what could begin a function all over")
    paths = []
    for run_name, thread, pid in (("before", "worker-12", 1001), ("after", "worker-17", 1002)):
        calls = [(10, 20, pid, "pthread_mutex_lock", 0, 7), (100, 5000, 1000, "pthread_mutex_lock", 0, 7), (4990, 4995, pid, "pthread_mutex_unlock", 0, 7)]
        paths.append(calls_report(f"{run_name}.sqlite", calls, LIBTRACE_THREAD_START=[(5000, f"tid {pid}", 1000, 0)], ThreadNames=[(f"text {thread}", 10, f"tid {pid}")]))
    both = json.loads(trace("why", "--json", paths[0], "--", paths[1]).out or b'{"causes": []}')
    of_lock = [row for row in both["causes"] if "worker" in row["cause"]]
    told = [json.loads(trace("query", "-f", "json", path, of_lock[0]["query"]).out)[0] for path in paths] if of_lock else []
    tap.ok(len(of_lock) == 1 and "held by worker-*)" in of_lock[0]["cause"] and [list(row.values())[0] for row in told] == [of_lock[0]["base_ns"], of_lock[0]["other_ns"]],
           "why A -- B: a lock whose holder has another number is one cause, and its query returns its time", (of_lock, told))


def file_names():
    """Calls are named after the file of their descriptor, which a shell opened and copied."""
    place = folder()
    with open(os.path.join(place, "in.bin"), "wb") as file:
        file.write(bytes(1 << 22))
    report = recorded(["sh", "-c", f"exec dd bs=65536 < {place}/in.bin > {place}/out.bin 2> /dev/null"])
    if not report:
        return
    causes, _, same = causes_of(report)
    of_data = {c for c in causes if unnamed(c) in ("read", "write")}
    tap.ok({"read (in.bin)", "write (out.bin)"} <= causes and same, "files: reads and writes have the names of the files", causes)
    tap.ok(not {"read", "write"} & of_data, "files: none of them has no name", of_data)
    made = recorded([sys.executable, "-c", "import socket, os; a, b = socket.socketpair(); a.send(bytes(50000)); r, w = os.pipe(); os.write(w, bytes(50000)); "
                     "s = socket.socket(); os.close(r); s.close(); open('late.txt', 'wb', 0).write(bytes(1 << 22))"])
    if made:
        causes = [s["Cause"] for s in path_of(made)]
        late = [n for n, cause in enumerate(causes) if cause.endswith("(late.txt)")]
        written = {c for c in causes[late[0]:] if unnamed(c) == "write"} if late else set()
        tap.ok(written == {"write (late.txt)"}, "files: a number that is used again has its new name", causes)
    again = recorded([sys.executable, "-c", "import os, threading; os.close(os.open('/etc/passwd', os.O_RDONLY)); e = os.eventfd(0); "
                      "threading.Timer(0.05, os.eventfd_write, (e, 1)).start(); os.read(e, 8)"], threshold=10**6)
    if again:
        causes, _, _ = causes_of(again)
        waits = {c for c in causes if unnamed(c) == "read" and "passwd" in c}
        tap.ok("read" in {unnamed(c) for c in causes} and not waits, "files: a number that was closed, and used again by a call that is not recorded, has no name", causes)


def made_files():
    """A call that uses a path and returns 0 has not opened descriptor 0."""
    report = recorded([sys.executable, "-c", "import os; os.mkfifo('made.fifo'); os.close(os.open('made.txt', os.O_CREAT))"], LIBTRACE_OSRT_FILE_ACCESS="true")
    if report:
        rows = json.loads(trace("query", "-f", "json", report.path, "SELECT s.value AS path, p.descriptor FROM LIBTRACE_FILE_PATH AS p JOIN StringIds AS s ON s.id = p.pathId "
                                "WHERE s.value GLOB 'made.*' ORDER BY p.timestamp").out or b"[]")
        found = [(row["path"], row["descriptor"]) for row in rows]
        tap.ok(found[:1] == [("made.fifo", -1)] and len(found) == 2 and found[1][1] > 0, "files: mkfifo() returns no descriptor, open() does", rows)


def programs():
    """Each segment has the program that the process ran then."""
    report = recorded(["sh", "-c", "sleep 0.03; exec sleep 0.06"])
    if not report:
        return
    segments = path_of(report)
    slept = [s for s in segments if "nanosleep" in s["Cause"]]
    shell = {s["Program"] for s in segments if s["Cause"] in ("fork", "vfork", "execve", "pipe") or s["Cause"].startswith("waking up from wait")}
    tap.ok(len(slept) == 2 and {s["Program"] for s in slept} == {"sleep"} and shell == {"sh"} and slept[-1]["PID"] in {s["PID"] for s in segments if s["Program"] == "sh"},
           "programs: a process that executes another program is that from then on", segments)
    execs = [n for n, s in enumerate(segments) if s["Cause"] == "execve"]  # the shell tries each folder of PATH
    tap.ok(execs and {s["Program"] for s in segments[execs[-1] + 1:]} == {"sleep"}, "programs: loading a program is a part of it", segments)
    rows = json.loads(trace("query", "-f", "json", report.path, "SELECT program FROM LIBTRACE_CRITICAL_PATH ORDER BY start").out)
    tap.ok([r["program"] for r in rows] == [s["Program"] for s in segments] and b" Program " in trace("why", "--path", report.path).out,
           "programs: in LIBTRACE_CRITICAL_PATH, and in the table", rows)
    sums = json.loads(trace("why", "--json", report.path).out)["causes"]
    tap.ok({(r["Program"], r["PID"]) for r in sums} == {(s["Program"], s["PID"]) for s in segments}, "programs: and in the sums", sums)


def teams():
    """Threads of OpenMP wait for the last one that comes to a barrier."""
    known_path("openmp_waits", ["third", "second", "first", "third", "second", "first"], {"Barrier": "exact"}, command=[app("openmp_waits")], sources="osrt,openmp")


def steps_of_barriers(tasks):
    """Return the steps in thousands that SQLite takes to find who came to the barriers of so many tasks of OpenMP."""
    steps = []
    d = sqlite3.connect(":memory:")
    for name in ("TASK", "SYNC_REGION"):
        d.execute(f"CREATE TABLE OPENMP_EVENT_KIND_{name} (id INTEGER PRIMARY KEY, globalTid, parallelId, start, \"end\", kind)")
        d.executemany(f"INSERT INTO OPENMP_EVENT_KIND_{name} VALUES (?, 1, ?, ?, ?, 2)", [(n, n, 10**6 * n, 10**6 * n + 900) for n in range(1, tasks + 1)])
    with open(os.path.join(SRC, "reader/reports/shared/path.sql"), encoding="utf-8") as file:
        found = [each for each in file.read().split(";\n") if re.search(r"(TABLE|ON) PATH_(BARRIERS|ARRIVALS)\b", each)]
    d.set_progress_handler(lambda: steps.append(1), 1000)
    for each in found:
        d.execute(each)
    d.set_progress_handler(None, 0)
    return len(steps), d.execute("SELECT count(*) FROM PATH_ARRIVALS").fetchone()[0]


def many_tasks():
    """The work for tasks of OpenMP grows with their number, not with its square."""
    (few, arrivals), (many, _) = steps_of_barriers(500), steps_of_barriers(4000)
    tap.ok(arrivals == 500 and few > 0 and many < 12 * few, "eight times the tasks take eight times the steps", (few, many, arrivals))


def windows():
    """The answer does not depend on how much is in memory, and what is not is in a file."""
    path = os.path.join(folder(), "windows.sqlite")
    run([sys.executable, os.path.join(SRC, "tests/bench/wait_database.py"), path, "50000"])
    whole, none = (trace("why", "--path", "--rows", "all", "--memory", memory, path) for memory in ("512", "0"))
    tap.ok(whole.status == none.status == 0 and whole.out == none.out and len(none.out) > 1_000_000, "windows: the path is the same with no call in memory", (whole.err, none.err))
    for mode in ("relay", "lock", "barrier"):
        report = recorded([app("waited"), mode])
        texts = [trace("why", *more, report.path).out for more in ((), ("--memory", "0"))] if report else ["", ""]
        tap.ok(texts[0] == texts[1] and b"Critical Path Summary" in texts[0], f"windows: {mode}", texts)
    for form in ([], ["--html", "-o", "-"]):
        refused = trace("why", "--memory", "0", *form, path, env={**os.environ, "TMPDIR": os.path.join(folder(), "missing")})
        if form and b"built without npm" in refused.err:
            tap.skip("windows: of a page", "built without npm")
            continue
        tap.ok(refused.status == 2 and b"No such file or directory; set TMPDIR" in refused.err and refused.err.count(b"\n") == 1,
               f"windows: a file that cannot be created is an error {form}", refused)
    for memory in ("abc", "", "-1"):
        refused = trace("stats", "-r", f"critical_path_sum:memory={memory}", path)
        tap.ok(refused.status == 2 and b"invalid argument memory: expected a number of MiB" in refused.err and refused.err.count(b"\n") == 1, f"windows: memory={memory} is refused", refused)
    refused = trace("why", "--html", "--time-unit", "msec", path)
    tap.ok(refused.status == 2 and b"--time-unit" in refused.err and refused.err.count(b"\n") == 1, "windows: a page has no unit", refused)


def children_without_pid():
    """Check that the path goes on in the program that called system(), which does not learn its child's process id."""
    report = recorded([sys.executable, "-c", "import os, time; time.sleep(0.2); os.system('sleep 0.1')"])
    segments = report and path_of(report)
    if segments:
        slept = [s for s in segments if "nanosleep" in s["Cause"] and s["Duration (ns)"] >= 90_000_000]
        tap.ok(len(slept) == 2 and not any(s["Cause"] == "before the first event" for s in segments) and segments[0]["Start (ns)"] == life_of(report)[0],
               "system(): the path leads from the child to its parent", segments)


def outlived():
    """The path is that of the program, also if a process that it started ends after it, and executed another one with init as its parent."""
    child = "(while kill -0 $$ 2>&-; do :; done; exec sleep 0.3) & exit"
    report = recorded(["sh", "-c", f"sh -c '{child}'; true"], LIBTRACE_TRACE="osrt")
    if not report:
        return
    segments = path_of(report)
    tap.ok(segments and (segments[0]["Start (ns)"], segments[-1]["Start (ns)"] + segments[-1]["Duration (ns)"]) == life_of(report),
           "a process that outlives the program does not become the program of the path", (segments, life_of(report)))


def interrupted():
    """Check that the path leads from a wait that SIGCHLD interrupts, as make's, to the child that ended."""
    place = folder()
    with open(os.path.join(place, "Makefile"), "w", encoding="ascii") as file:
        file.write("all: a b\na b:\n\t@sleep 0.2\n")
    report = recorded(["make", "-s", "-j2", "-C", place])
    segments = report and path_of(report)
    if segments:
        slept = [s for s in segments if "nanosleep" in s["Cause"] and s["Duration (ns)"] >= 180_000_000]
        tap.ok(slept and not any(s["Sure"] == "unknown" and s["Duration (ns)"] >= 150_000_000 for s in segments), "make: the path leads to the child that ended", segments)


def unseen_writes():
    """A writer that used stdio is known by its end; a raw system call is not seen, and the wait is not the reader's own time."""
    known_path("stdio", ["third", "first"], {"read": "likely"})
    known_path("stream", ["third", "first"], {"fread": "exact"})
    for _ in range(TRIES):
        report = recorded([app("waited"), "silent"])
        segments = path_of(report) if report else []
        if stages(segments) == ["first"]:
            break
    found = [s for s in segments if s["Cause"] == "read (pipe)" and s["Duration (ns)"] >= STAGE_NS]
    tap.ok(len(found) == 1 and found[0]["Sure"] == "unknown", "silent: who ended a read of a pipe is unknown", segments)


def timeouts():
    """A wait that its timeout ends is a sleep: nobody is missing from the report."""
    report = recorded([app("waited"), "timeout"])
    segments = path_of(report) if report else []
    found = [(s["Cause"], s["Sure"]) for s in segments if s["Duration (ns)"] >= STAGE_NS and s["Cause"] != "computing"]
    tap.ok(found == [(f"{name} (timeout)", None) for name in ("poll", "select", "sem_timedwait (semaphore)", "syscall")],
           "timeout: poll() and select() without descriptors are sleeps, and so are waits for a semaphore and a futex that time out", segments)


def file_locks():
    """Nobody knows who holds the lock of a file: the wait is unknown, and no time of the thread's own."""
    report = recorded(["bash", "-c", "mkfifo f; (flock lock sh -c 'echo > f; sleep 0.2') & read < f; flock lock true; wait"])
    waits = [s for s in path_of(report) if unnamed(s["Cause"]) == "flock"] if report else []
    tap.ok(waits and {s["Sure"] for s in waits} == {"unknown"}, "flock: nobody is known to have released the lock", waits)


def files():
    """Reading a file that the process has opened is its own time."""
    report = recorded([sys.executable, "-c", "open('f', 'wb').write(bytes(1 << 24)); print(len(open('f', 'rb', 0).read(1 << 24)))"])
    segments = path_of(report) if report else []
    tap.ok(segments and not [s for s in segments if unnamed(s["Cause"]) == "read" and s["Sure"]], "files: nobody is missing who wrote a file for a reader", segments)


def gap(name, table, rows, **more):
    """Return the path of a thread that makes no call for 100 ms, by tables that say what it did meanwhile: (cause, sure, ms); and what trace why prints."""
    path, tid = os.path.join(folder(), name), 1 << 48 | 1000 << 24 | 1000
    d = sqlite3.connect(path)
    d.executescript(f"""
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER);
        CREATE TABLE LIBTRACE_PROCESS (globalPid INTEGER, pid INTEGER, parentPid INTEGER, start INTEGER, end INTEGER);
        CREATE TABLE LIBTRACE_THREAD_TIME (timestamp INTEGER, globalTid INTEGER, which INTEGER, cpuTime INTEGER, runDelay INTEGER);
        CREATE TABLE SCHED_EVENTS (start INTEGER, cpu INTEGER, isSchedIn INTEGER, globalTid INTEGER, threadState INTEGER);
        CREATE TABLE COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start INTEGER, globalTid INTEGER);
        CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER, symbol INTEGER, stackDepth INTEGER);
        CREATE TABLE LIBTRACE_FUNCTION_CALL (start INTEGER, duration INTEGER, globalTid INTEGER, functionId INTEGER, libraryId INTEGER);
        INSERT INTO StringIds VALUES (1, 'fsync'), (11, 'f'), (12, 'g'), (13, 'lib.so.1'), (14, 'inner');
        INSERT INTO OSRT_API VALUES (0, 1000000, 27, {tid}, 1, 0, 0), (101000000, 102000000, 27, {tid}, 1, 0, 0);
        INSERT INTO LIBTRACE_PROCESS VALUES ({tid & ~0xffffff}, 1000, 1, 0, 102000000);""")
    for into, values in {table: rows, **more}.items():
        d.executemany(f"INSERT INTO {into} VALUES ({', '.join('?' * len(values[0]))})", [[tid if value == "tid" else value for value in row] for row in values])
    d.commit()
    d.close()
    segments = json.loads(trace("why", "--path", "-f", "json", path).out or b"[]")
    return [(s["Cause"], s["Sure"], s["Duration (ns)"] / 1e6) for s in segments if s["Cause"] != "fsync"], gapless(segments), trace("why", path).out


def processors():
    """The time between two calls is split by what the kernel's counters, or context switches, say of it."""
    found, apart, _ = gap("counters.sqlite", "LIBTRACE_THREAD_TIME", [(1_000_000, "tid", 4, 0, 0), (101_000_000, "tid", 4, 60_000_000, 30_000_000)])
    tap.ok(found == [("computing", None, 60), ("runnable, no CPU", "likely", 30), ("off the CPU, in no recorded call", "unknown", 10)] and not apart,
           "counters: how long a thread ran, waited for a CPU, and did neither", (found, apart))
    found, apart, _ = gap("switches.sqlite", "SCHED_EVENTS", [(1_000_000, 0, 1, "tid", None), (41_000_000, 0, 0, "tid", 1), (61_000_000, 0, 1, "tid", None), (101_000_000, 0, 0, "tid", 1)])
    tap.ok(found == [("computing", None, 40), ("runnable, no CPU", "exact", 20), ("computing", None, 40)] and not apart, "switches: when a thread had no CPU", (found, apart))
    found, _, said = gap("nothing.sqlite", "StringIds", [(2, "x")])
    tap.ok(found == [("computing", None, 100)] and b"had a CPU while they computed is not known" in said, "neither: trace why says that it is not known", (found, said))


def long_reads():
    """A read whose writer is not known is a wait only as far as the thread was blocked, by the kernel's counters; these count a wait for a CPU when it ends."""
    for name, readings, expected in (
            ("preempted", [(101, 20, 80)], [("computing in read", "likely", 20), ("runnable, no CPU, in read", "likely", 80)]),
            ("blocked", [(101, 20, 30)], [("computing in read", "likely", 20), ("runnable, no CPU, in read", "likely", 30), ("read", "unknown", 50)]),
            ("late", [(51, 10, 0), (101, 20, 80)], [("computing in read", "likely", 20), ("runnable, no CPU, in read", "likely", 80)])):
        times = [(1_000_000, "tid", 4, 0, 0), *((at * 1_000_000, "tid", 4, cpu * 1_000_000, delay * 1_000_000) for at, cpu, delay in readings)]
        path = os.path.join(folder(), f"{name}.sqlite")
        found, apart, said = gap(path, "LIBTRACE_THREAD_TIME", times, StringIds=[(2, "read")], OSRT_API=[(1_000_000, 101_000_000, 27, "tid", 2, 5, 0)])
        sums = {}
        for cause, sure, ms in found:
            sums[cause, sure] = sums.get((cause, sure), 0) + ms
        tap.ok([(*key, ms) for key, ms in sums.items()] == expected and not apart, f"{name}: what a thread did in a long read", (found, apart))
        tap.ok(b"0 exact, 0 likely" in said and b"0.0 % lie between" in said, f"{name}: parts of a call are neither waits whose end is known nor between calls", said[-300:])
        ranked = trace("what-if", "--rank", path)
        tap.ok((ranked.status == 0) == (name != "blocked") and (b"49.0 % of the run are waits" in ranked.err) == (name == "blocked"), f"{name}: what-if counts what the thread was blocked as unknown", ranked)


def library_places():
    """A line of Python's own library, whose frame has its file and line in the name, has them once."""
    path = os.path.join(folder(), "place.sqlite")
    gap(path, "StringIds", [(2, "C.f (m.py:3)"), (3, "/usr/lib/python3.11/m.py")])
    with sqlite3.connect(path) as d:
        d.executescript("""
            CREATE TABLE OSRT_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, unresolved INTEGER, originalIP INTEGER, stackDepth INTEGER);
            CREATE TABLE LIBTRACE_OSRT_CALLCHAINS (id INTEGER, stackDepth INTEGER, fileId INTEGER, line INTEGER);
            INSERT INTO OSRT_CALLCHAINS VALUES (1, 2, 3, 0, 0, 0);
            INSERT INTO LIBTRACE_OSRT_CALLCHAINS VALUES (1, 0, 3, 3);
            UPDATE OSRT_API SET callchainId = 1;""")
    places = {c["At"] for c in json.loads(trace("why", "--json", path).out or b'{"causes": []}')["causes"] if c["Cause"] == "fsync"}
    tap.ok(places == {"C.f (m.py:3)"}, "the place of a frame of Python's library has its line once", places)


# Calls of a thread: g() is within f(), which is called once more, last from a call that does not end before the next call of another source.
FUNCTIONS = [(11_000_000, 30_000_000, "tid", 11, 13), (21_000_000, 10_000_000, "tid", 12, 13), (61_000_000, 10_000_000, "tid", 11, 13), (91_000_000, 11_000_000, "tid", 12, 13),
             (101_500_000, 400_000, "tid", 11, 13)]


def functions():
    """The time between two calls is that of the innermost function of a library that the thread was in."""
    found, _, said = gap("functions.sqlite", "LIBTRACE_FUNCTION_CALL", FUNCTIONS)
    tap.ok(found == [("computing", None, 50), ("computing in f (lib.so.1)", None, 30), ("computing in g (lib.so.1)", None, 20)] and b"100 %" not in said,
           "functions: how long a thread was in which, and in none", found)
    found, _, _ = gap("functions_shared.sqlite", "LIBTRACE_FUNCTION_CALL", FUNCTIONS,
                      LIBTRACE_THREAD_TIME=[(1_000_000, "tid", 4, 0, 0), (101_000_000, "tid", 4, 60_000_000, 30_000_000)])
    tap.ok(sorted(found) == sorted((text + of, sure, ms * part) for text, joined, sure, part in (
        ("computing", " in ", None, 0.6), ("runnable, no CPU", ", in ", "likely", 0.3), ("off the CPU", " in ", "unknown", 0.1))
        for of, ms in ((", in no recorded call" if text == "off the CPU" else "", 50), (f"{joined}f (lib.so.1)", 30), (f"{joined}g (lib.so.1)", 20))),
        "functions: each has its part of the time in which the thread ran, had no CPU, and did neither", found)
    path = os.path.join(folder(), "functions_sampled.sqlite")
    gap(path, "LIBTRACE_FUNCTION_CALL", FUNCTIONS, COMPOSITE_EVENTS=[(1, 15_000_000, "tid"), (2, 25_000_000, "tid"), (3, 70_000_000, "tid"), (4, 80_000_000, "tid")],
        SAMPLING_CALLCHAINS=[(1, 11, 0), (2, 12, 0), (3, 14, 0), (4, 14, 0)])
    sums = {(c["Cause"], c["At"]): c["Total Time (ns)"] / 1e6 for c in json.loads(trace("why", "--json", path).out or b'{"causes": []}')["causes"] if c["Cause"] != "fsync"}
    tap.ok(sums == {("computing in f (lib.so.1)", "f"): 15, ("computing in f (lib.so.1)", "inner"): 15, ("computing in g (lib.so.1)", "g"): 20, ("computing", "inner"): 50},
           "functions: samples say where in each its time was", sums)
    places = {(s["Cause"], s["At"]): s["Duration (ns)"] / 1e6 for s in path_of(types.SimpleNamespace(path=path)) if s["Cause"] != "fsync"}
    tap.ok(places == sums, "functions: the segments have the same times as the sums", (places, sums))


def recorded_functions():
    """A program that was really recorded: its calls of a library are causes."""
    if platform.machine() != "x86_64":
        tap.skip("calls of functions on the path", "tried on x86-64 only")
        return
    path = os.path.join(folder(), "recorded_functions.rep")
    ran = trace("run", "-o", path, "--functions", "libfunctions.so:f_*", "--", app("functions"))
    causes = {c["Cause"] for c in json.loads(trace("why", "--json", path).out or b'{"causes": []}')["causes"]}
    tap.ok(ran.status == 0 and "computing in f_call (libfunctions.so)" in causes, "calls of a library that were recorded are causes", (ran, causes))
    ran = trace("run", "-f", "true", "-o", path, "-t", "none", "--functions", "libfunctions.so:f_*", "--", app("functions"))
    said = trace("why", "--json", path)
    why = json.loads(said.out) if said.status == 0 else {"causes": [], "ns": 0}
    of_calls = sum(c["Total Time (ns)"] for c in why["causes"] if c["Cause"].startswith("computing in f_"))
    process = json.loads(trace("query", "-f", "json", path, 'SELECT "end" - start AS ns FROM LIBTRACE_PROCESS').out)[0]["ns"]
    tap.ok(ran.status == 0 and 0 < of_calls < why["ns"] == process, "a report of nothing but such calls: the path is that of the process, part of it in them", (ran, said, process))


def stream_events():
    """A stream waits for the event of another one: the path leads from its kernel to that stream's, whichever event is recorded last before the wait."""
    path, pid = os.path.join(folder(), "events.sqlite"), 1 << 48 | 1000 << 24
    d = sqlite3.connect(path)
    d.executescript(f"""
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
                                                 demangledName INTEGER, shortName INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
                                                          syncType INTEGER, eventId INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, eventId INTEGER);
        INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'cudaStreamSynchronize_v3020'), (3, 'first'), (4, 'late'), (5, 'last');
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 1000, 0, {pid + 1000}, 1, 1, 0), (2000, 3000, 0, {pid + 1000}, 3, 1, 0), (8000, 9000, 0, {pid + 1000}, 6, 1, 0),
                                                       (10000, 95000, 0, {pid + 1000}, 7, 2, 0);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000, 52000, 0, 1, 7, 1, {pid}, 3, 3), (52000, 60000, 0, 1, 7, 3, {pid}, 4, 4), (53000, 90000, 0, 1, 8, 6, {pid}, 5, 5);
        INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (1, 7, 2, {pid}, 1);
        INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (7000, 7000, 1, 8, 5, {pid}, 2, 1), (10000, 95000, 1, 8, 7, {pid}, 3, NULL);""")
    d.commit()
    d.close()
    segments = json.loads(trace("why", "--path", "-f", "json", path).out or b"[]")
    found = [(s["Cause"], s["Stream"], s["Duration (ns)"]) for s in segments]
    tap.ok(found == [("cudaLaunchKernel", None, 1000), ("launch of kernel first", 7, 1000), ("kernel first", 7, 50000), ("between operations of a stream", 8, 1000),
                     ("kernel last", 8, 37000), ("waking up from cudaStreamSynchronize", None, 5000)], "the kernel before the record of the event is on the path, not the one after", found)


def exported():
    """The path is a table for other programs, and other tables keep their columns beside it."""
    report = recorded([app("waited"), "barrier"])
    if not report:
        return
    path = os.path.join(folder(), "path.sqlite")
    result = trace("export", "-t", "sqlite", "--critical-path", "-o", path, report.path)
    rows = sqlite3.connect(path).execute('SELECT start, duration, cause FROM LIBTRACE_CRITICAL_PATH').fetchall() if result.status == 0 else []
    tap.ok(rows == [(s["Start (ns)"], s["Duration (ns)"], s["Cause"]) for s in path_of(report)] and rows, "export --critical-path: the segments of trace why --path", (result, rows))
    both = trace("query", "-f", "json", report.path, "SELECT count(*) AS calls, count(DISTINCT o.nestingLevel IS NULL) AS levels, (SELECT count(*) FROM LIBTRACE_CRITICAL_PATH) AS path, "
                 "(SELECT count(*) FROM LIBTRACE_WAIT_GRAPH WHERE kind <> 'track') AS graph FROM OSRT_API AS o")
    found = json.loads(both.out or b"[{}]")[0]
    tap.ok(found.get("path") == len(rows) and found.get("graph") == found.get("calls") and found.get("levels") == 1,
           "query: path and graph beside a column of nsys that no report of ours reads", (both, found))


def semaphores():
    known_path("semaphore", ["third", "second"], {"sem_wait": "exact"}, LIBTRACE_OSRT_LOCKS="all")


def stages_only(name, command, expected, names=None):
    """The path of a program has these stages; names: those of places that are lines."""
    for _ in range(TRIES):
        report = recorded(command, LIBTRACE_TRACE="osrt", LIBTRACE_OSRT_LOCKS="all", threshold="0")
        segments = path_of(report) if report else []
        found = [(names or {}).get(stage, stage) for stage in stages(segments)]
        if found == expected:
            break
    tap.ok(segments and not gapless(segments) and found == expected, f"{name}: the stages on the path are {' '.join(expected)}",
           [s for s in segments if s["Duration (ns)"] >= STAGE_NS])


def python():
    """Threads of Python: locks of the interpreter, and the GIL."""
    with open(os.path.join(SRC, "tests/apps/waited.py"), encoding="ascii") as file:
        lines = file.read().splitlines()
    names = {f"waited.py:{n}": lines[n - 2].split()[1].partition("(")[0] for n, line in enumerate(lines, 1) if "usleep(" in line and lines[n - 2].startswith("def ")}
    for mode, expected in (("queue", ["third", "second"]), ("event", ["third", "second", "first"]), ("gil", ["third_held", "first", "second"]), ("future", ["third", "first"])):
        stages_only(f"Python, {mode}", [sys.executable, os.path.join(SRC, "tests/apps/waited.py"), mode], expected, names)


def cxx():
    """Threads of C++. libstdc++ waits for futures, semaphores and latches by system calls."""
    for mode in ("condition", "future", "semaphore", "latch"):
        stages_only(f"C++, {mode}", [app("waited_cxx"), mode], ["second()", "aside()", "third()", "first()"])


def devices():
    """A program of the simulated device: it waits for kernels, which are on the path. This test has not run on a GPU."""
    reason = device.missing("pipeline")
    if reason:
        tap.skip("the path leads through the device", reason)
        return
    report = device.recorded([device.app("pipeline"), "1", "4"], SIM_DEVICE="kernel_ns=20000000")
    if not report:
        return
    segments = path_of(report)
    tap.ok(not gapless(segments), "device: the segments follow each other", gapless(segments))
    kernels = [s for s in segments if s["Stream"] is not None and s["Cause"].startswith("kernel scale")]
    tap.ok(len(kernels) >= 2 and all(s["Duration (ns)"] >= 19e6 for s in kernels), "device: the kernels of a stream that a thread waits for are on the path, one after the other", kernels)
    woken = {s["Sure"] for s in segments if s["Cause"] == "waking up from cudaStreamSynchronize"}
    tap.ok(woken == {"exact"}, "device: which stream a thread waited for is known", woken)


def ranges():
    """With --range each NVTX range of the name is a path of its own."""
    report = recorded([app("nvtx_threads")], LIBTRACE_OSRT_BACKTRACE_THRESHOLD="none")
    if not report:
        return
    rows = json.loads(trace("query", "-f", "json", report.path,
                            "SELECT text AS name, sum(\"end\" - start) AS ns FROM NVTX_EVENTS WHERE \"end\" > start AND eventType IN (59, 60) AND text <> '' "
                            "AND text NOT GLOB '*[*?:,[]*' GROUP BY text ORDER BY ns DESC LIMIT 3").out or b"[]")
    tap.ok(rows, "the program has ranges", rows)
    for row in rows:
        segments = path_of(report, "--range", row["name"])
        tap.ok(sum(s["Duration (ns)"] for s in segments) == row["ns"], f"--range {row['name']}: the segments add up to the ranges", (row, segments))
    wrong = trace("why", "--range", rows[0]["name"] + "x", report.path)
    tap.ok(wrong.status == 2 and f"no NVTX range '{rows[0]['name']}x'; did you mean {rows[0]['name']}?".encode() in wrong.err and not wrong.out,
           "a range that is not in the report is an error that names ranges like it", wrong)
    few = trace("why", "--json", "--rows", "1", report.path)
    whole = json.loads(few.out or b"{}")
    tap.ok(few.status == 0 and len(whole["causes"]) == 1 < whole["segments_total"] and whole["ns"] == life_of(report)[1] - life_of(report)[0],
           "--json --rows 1: one cause, and the totals of the whole path", whole)
    refused = trace("why", "--range", "a:b", report.path)
    tap.ok(refused.status == 2 and b"write ? for" in refused.err, "a range with a colon is refused with what to write instead", refused)


def rows():
    """A table has 30 rows and says how many are left, unless --rows says how many it has."""
    path = os.path.join(folder(), "rows.sqlite")
    run([sys.executable, os.path.join(SRC, "tests/bench/wait_database.py"), path, "2000"])
    whole = json.loads(trace("why", "--path", "-f", "json", path).out)
    for options, shown in (([], 30), (["--rows", "7"], 7), (["--rows", "all"], len(whole))):
        out = trace("why", "--path", *options, path).out.decode()
        printed = len(re.findall(r"^ +[0-9,]+  +[0-9,]+ ", out, re.M))
        left = f"{len(whole) - shown} more; --rows all prints all of them" if shown < len(whole) else "prints all"
        tap.ok(len(whole) > 40 and printed == shown and (left in out) == (shown < len(whole)), f"{options}: a table of {shown} rows", (printed, len(whole), out[-500:]))


def samples():
    """Code without a symbol has the name of its module, whatever its addresses; samples alone are no path."""
    report = recorded([app("sampled"), "split", "200"], LIBTRACE_TRACE="osrt", LIBTRACE_SAMPLE="process-tree")
    if not report:
        return
    result = trace("why", "--json", "--no-symbols", report.path, "--", report.path)
    places = [r["place"] for r in json.loads(result.out or b'{"causes": []}')["causes"] if r["cause"] == "computing" and r["place"]]
    tap.ok("[no symbol] sampled" in places and not [name for name in places if "0x" in name],
           "computing in code without a symbol is in its module, in one row", (places, result.err))
    alone = recorded([app("sampled"), "split", "50"], LIBTRACE_TRACE="nvtx", LIBTRACE_SAMPLE="process-tree")
    refused = alone and trace("why", alone.path)
    tap.ok(refused and refused.status == 2 and b"record with -t osrt" in refused.err and not refused.out, "samples without recorded calls: what to record", refused)


main(many_names, pipe_holders, older_fopen, late_open, many_files, samples, rows, joins, exits, reaped, locks, conditions, held_changed, barriers, children, pipes, pipelines, lock_names, lock_functions, sampled_functions, alike_names, file_names, made_files, programs, teams, many_tasks, windows, children_without_pid, outlived, interrupted, unseen_writes, timeouts, file_locks, files, processors, long_reads, library_places,
     functions, recorded_functions, stream_events, exported, semaphores, python, cxx, devices, ranges)
