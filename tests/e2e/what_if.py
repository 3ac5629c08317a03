#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Check `trace what-if` on databases with made-up times: the replay with a changed duration ends when the same program would, by a simulation of its own."""
import contextlib
import io
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _random_programs import Simulation, program  # noqa: E402
from lib import SRC, TRACE, app, folder, main, recorded, tap, trace  # noqa: E402

sys.path.insert(0, os.path.join(SRC, "reader/python"))
sys.dont_write_bytecode = True
from trace_tools import Failure, what_if  # noqa: E402
from trace_tools.replay import Graph, Row  # noqa: E402
from trace_tools.what_if import SCATTER_NS, SCATTER_PART, Scaling, parse  # noqa: E402

SEEDS = range(1, 16)
FACTORS = (0.3, 0.5, 0.8, 1.5, 2)
TRIES = 4  # on a busy machine a run may take longer than its sleeps
TOLERANCE_NS = 300_000  # what calls take that did not wait in the run, and wait now, is an estimate


def predicted(path, *changes):
    result = trace("what-if", "--json", path, *changes)
    return json.loads(result.out) if result.status == 0 else {"predicted_ns": -1, "error_ns": 0, "why": result.err}


def random_programs():
    """Each stage of a random program changes by a factor; a program of threads, processes, locks, barriers and pipes."""
    wrong, missed, tried = [], [], 0
    for seed in SEEDS:
        processes = program(seed)
        stages = sorted({step[1] for threads in processes for script in threads for step in script if step[0] == "s"})
        path = os.path.join(folder(), "made.sqlite")
        run = Simulation(processes)
        run.write(path)
        stage, factor = stages[seed % len(stages)], FACTORS[seed % len(FACTORS)]
        found, changed = predicted(path, f"at stage{stage} x{factor}"), Simulation(processes, stage, factor).wall
        tried += 1
        off = found["predicted_ns"] - changed
        if abs(off) > TOLERANCE_NS:
            wrong.append((seed, stage, factor, run.wall, changed, off, found))
        if found["predicted_ns"] >= 0 and found["wall_ns"] != run.wall:
            missed.append((seed, found["wall_ns"], run.wall))
    tap.ok(not missed, "the replay begins from the duration of the run", missed)
    tap.ok(tried and not wrong, f"{tried} random programs: predictions are those of a simulation with the changed duration", "\n".join(map(str, wrong)))


def made(name, *scripts, **options):
    """Write the database of a program whose one process has these threads. Return its path and duration."""
    path = os.path.join(folder(), f"{name}.sqlite")
    simulation = Simulation([list(scripts)], **options)
    simulation.write(path)
    return path, simulation.wall


def rankings():
    """What pays most is what is on the path, and not what has the most time."""
    path, wall = made("rank", [("s", 1, 9000), ("b",), ("s", 2, 3000)], [("s", 3, 8000), ("b",), ("s", 4, 1000)], [("b",), ("s", 5, 1000)])
    result = trace("what-if", "--rank", "--json", path)
    rank = json.loads(result.out or b"{}").get("rank", [])
    tap.ok([row["change"] for row in rank[:2]] == ["at stage1 x0.99", "at stage2 x0.99"] and rank[0]["saved_per_percent_ns"] == 90_000,
           "--rank: the stages on the path come first, with what one percent of them saves", (rank, result.err))
    tap.ok(json.loads(result.out or b"{}").get("files") == [path], "the JSON names the files in a list", result.out[:200])
    third = next(row for row in rank if "stage3" in row["change"])
    tap.ok(third["saved_per_percent_ns"] == 0 and rank[0]["saved_if_removed_ns"] < 1_100_000, "the second-longest stage saves nothing, and bounds what the longest saves", rank)
    locked, wall = made("lock", [("l", 0), ("s", 1, 9000), ("u", 0)], [("s", 2, 100), ("l", 0), ("s", 3, 5000), ("u", 0)])
    found = predicted(locked, "lock x0.5")
    tap.ok(abs(found["predicted_ns"] - (wall - 7_000_000)) < TOLERANCE_NS, "lock x0.5: what is done under a lock takes half as long", (found, wall))
    with sqlite3.connect(locked) as d:
        process, lock = d.execute("SELECT globalTid >> 24 << 24, object FROM OSRT_API AS a JOIN LIBTRACE_OSRT_CALL AS c ON c.id = a.rowid WHERE object BETWEEN 4096 AND 8191").fetchone()
        d.executescript("CREATE TABLE LIBTRACE_OBJECT (globalPid INTEGER, object INTEGER, nameId INTEGER); INSERT INTO StringIds VALUES (910, 'queue+0x8')")
        d.execute("INSERT INTO LIBTRACE_OBJECT VALUES (?, ?, 910)", (process, lock))
    by_name, other = predicted(locked, "lock queue* x0.5"), predicted(locked, "lock pool* x0.5")
    tap.ok(by_name["predicted_ns"] == found["predicted_ns"] and "applies to" in str(other.get("why")), "a lock may be given by its name", (by_name, other))
    rank = json.loads(trace("what-if", "--rank", "--json", locked).out or b"{}").get("rank", [])
    tap.ok("lock queue+0x8 x0.99" in [row["change"] for row in rank], "--rank names the lock", rank)


def short_holds():
    """Threads that hold a lock for less than a microsecond, again and again, do not queue: a waiter that wakes up finds that others came before it."""
    scripts = [[("s", stage, us), *[("l", 0), ("u", 0)] * 400] for stage, us in ((1, 3000), (2, 5000), (3, 12000))]
    path, wall = made("short", *scripts)
    found, changed = predicted(path, "at stage3 x0.5"), Simulation([scripts], 3, 0.5).wall
    tap.ok(changed < wall - 4_500_000 and abs(found["predicted_ns"] - changed) < TOLERANCE_NS, "threads that hold a lock for a short time do not queue for it", (found, wall, changed))


def functions():
    """A change of a function of a library applies to all that happens within its calls; its name may be with its library, or without."""
    path, wall = made("functions", [("s", 1, 9000), ("s", 2, 3000)])
    with sqlite3.connect(path) as d:
        start, end, thread = d.execute("SELECT start, end, globalTid FROM OSRT_API JOIN StringIds ON nameId = id WHERE value = 'usleep' ORDER BY start LIMIT 1").fetchone()
        d.execute("CREATE TABLE LIBTRACE_FUNCTION_CALL (start INTEGER, duration INTEGER, globalTid INTEGER, functionId INTEGER, libraryId INTEGER)")
        d.execute("INSERT INTO StringIds VALUES (900, 'H5Dread'), (901, 'libhdf5.so')")
        d.execute("INSERT INTO LIBTRACE_FUNCTION_CALL VALUES (?, ?, ?, 900, 901)", (start, end - start, thread))
    for change in ("function H5Dread x0.5", "function H5* (libhdf5.so) x0.5"):
        found = predicted(path, change)
        tap.ok(found["wall_ns"] - found["predicted_ns"] == (end - start) / 2 and found["changes"][0]["applies_to_ns"] == end - start, f"{change}: half of its call is saved", (found, wall))
    count = json.loads(trace("query", "-f", "json", path, "SELECT count(*) AS n FROM LIBTRACE_WAIT_GRAPH WHERE kind <> 'function'").out)[0]["n"]
    what_if.command, what_if.ROWS_MAX = lambda: TRACE, count

    def is_replayed(*arguments):
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                return what_if.main(["--json", "--file", path, *arguments]) == 0
        except Failure:
            return False
    tap.ok(is_replayed("--change", "call usleep x0.5") and not is_replayed("--change", "function H5Dread x0.5") and not is_replayed("--rank"),
           "calls of functions count towards what can be replayed only where they are asked for")
    rank = json.loads(trace("what-if", "--rank", "--json", path).out or b"{}").get("rank", [])
    tap.ok("function H5Dread (libhdf5.so) x0.99" in [row["change"] for row in rank], "--rank has functions", rank)


def refusals():
    """A prediction that would be worthless is refused, and so is what the run does not have."""
    path, _ = made("plain", [("s", 1, 9000)])
    for change, text in (("stage1 x2", b"invalid change"), ("io", b"xFACTOR in quotes"), ("at stage1", b"invalid change"), ("at stage1 xhalf", b"invalid change"),
                         ("kernel gemm* x0.5", b"has nothing that 'kernel gemm* x0.5' applies to")):
        refused = trace("what-if", path, change)
        tap.ok(refused.status == 2 and text in refused.err and refused.err.count(b"\n") == 1 and not refused.out, f"'{change}' is refused", refused)
    alone = trace("what-if", path)
    tap.ok(alone.status == 2 and b"expected FILE and changes" in alone.err, "what-if without a change says what it needs", alone)
    unknown = os.path.join(folder(), "unknown.sqlite")
    simulation = Simulation([[[("s", 1, 9000)]]])
    simulation.calls.append(((1000, 1000), "sem_wait", simulation.ends[1000, 1000] - 1000, simulation.ends[1000, 1000] + 3_000_000, 0, 0x3000, 0))
    simulation.ends[1000, 1000] += 3_001_000
    simulation.write(unknown)
    refused, allowed = trace("what-if", unknown, "at stage1 x0.5"), trace("what-if", "--json", "--allow-unknown", "50", unknown, "at stage1 x0.5")
    found = json.loads(allowed.out or b"{}")
    scatter_ns = SCATTER_NS + SCATTER_PART * found.get("predicted_ns", 0)
    tap.ok(refused.status == 2 and b"a prediction is worthless" in refused.err and 0 <= found.get("error_ns", 0) - scatter_ns - 3_000_000 < 10_000,
           "a run that waited for somebody who is not known is refused; if it is allowed, the wait is in the error bound, with what runs differ by", (refused, allowed))


def comparisons():
    """The difference of two runs in one sentence, and each number by the query that is named."""
    scripts = [("s", 1, 9000), ("l", 0), ("s", 2, 3000), ("u", 0)], [("s", 3, 2000)]
    one, one_ns = made("one", *scripts)
    two, two_ns = made("two", [("s", 1, 9000), ("l", 0), ("s", 2, 4500), ("u", 0), ("s", 4, 600)], scripts[1])
    result, again = trace("why", one, "--", two), trace("why", one, "--", two)
    first = result.out.decode().splitlines()[0]
    slower, stage2, stage4 = (100 * ns / one_ns for ns in (two_ns - one_ns, 1_500_000, 600_000))
    wanted = (f"B is {slower:.1f} % slower than A ({two_ns / 1e9:.6f} s instead of {one_ns / 1e9:.6f} s): +{stage2:.1f} % usleep at stage2 takes longer; "
              f"+{stage4:.1f} % usleep at stage4 appeared.")
    tap.ok(first == wanted, "the sentence names the causes with most of the difference", (first, wanted, result.err))
    tap.ok(result.out == again.out, "the same runs give the same text")
    for files in ((one, "--", two), (one,)):
        for form in ((), ("--json",)):
            refused = trace("why", "--rows", "0", *form, *files)
            tap.ok(refused.status == 2 and refused.err == b"trace: invalid argument '0' for --rows: expected an integer of at least 1, or all\n" and not refused.out,
                   f"--rows 0 is refused {form} for {len(files)} arguments", refused)
    both = json.loads(trace("why", "--json", one, "--", two).out)
    wrong = []
    for row in both["causes"]:
        for file, ns in ((one, row["base_ns"]), (two, row["other_ns"])):
            told = json.loads(trace("query", "-f", "json", file, row["query"] + " -- ").out)
            if (list(told[0].values())[0] or 0) != ns:
                wrong.append((row, told))
    tap.ok(both["causes"] and not wrong, "each number is what its query returns", wrong)
    backwards = trace("why", two, "--", one).out.decode().splitlines()[0]
    tap.ok(" % faster than A" in backwards and "usleep at stage4 is gone" in backwards, "the other way round, B is faster", backwards)
    tap.ok(trace("why", one, "--", one).out.decode().startswith("B takes as long as A"), "a run is as long as itself")
    three, _ = made("three", [("s", 1, 12000), ("l", 0), ("s", 2, 1000), ("u", 0)], scripts[1])
    first = trace("why", one, "--", three).out.decode().splitlines()[0]
    stage1, stage2 = (100 * ns / one_ns for ns in (3_000_000, 2_000_000))
    tap.ok(first.endswith(f": +{stage1:.1f} % usleep at stage1 takes longer, but -{stage2:.1f} % usleep at stage2 is shorter."), "what changed the other way is named, too", first)
    held, held_ns = made("held", [("l", 0), ("s", 1, 9000), ("u", 0)], [("s", 2, 100), ("l", 0), ("s", 3, 5000), ("u", 0)])
    longer, longer_ns = made("longer", [("l", 0), ("s", 1, 12000), ("u", 0)], [("s", 2, 100), ("l", 0), ("s", 3, 5000), ("u", 0)])
    first = trace("why", held, "--", longer).out.decode().splitlines()[0]
    more = 100 * (longer_ns - held_ns) / held_ns
    tap.ok(f"+{more:.1f} % usleep at stage1 takes longer. Of locks: {more:.1f} % more waiting for pthread_mutex_lock" in first, "the sentence names the lock that was waited for longer", first)
    waits = json.loads(trace("why", "--json", held, "--", longer).out)["waits"]
    tap.ok(len(waits) == 1 and waits[0]["difference_ns"] == longer_ns - held_ns == waits[0]["other_ns"] - waits[0]["base_ns"], "--json has the waits for locks of both runs", waits)
    many = trace("why", one, two, "--", one)
    tap.ok(many.status == 2 and b"one run on each side" in many.err, "more than two runs are refused", many)


def replayed():
    """A program that was really recorded: the graph has its pipes, locks, threads and processes, and the replay ends when the run did."""
    report = recorded([app("replayed"), "l1,s1:20000,u1,b,w1,r2", "s2:5000,l1,s3:10000,u1,b", "--", "r1,s4:30000,w2"],
                      LIBTRACE_OSRT_LOCKS="all", threshold="0")
    if not report:
        return
    rows = json.loads(trace("query", "-f", "json", report.path, "SELECT kind, name, sure FROM LIBTRACE_WAIT_GRAPH WHERE kind <> 'call'").out)
    kinds = {row["kind"] for row in rows}
    tap.ok(kinds >= {"track", "lock", "barrier", "read", "write", "join", "process"}, "the graph has each kind of wait", kinds)
    found = predicted(report.path, "--allow-unknown=60", "at stage4 x0.5")  # on a busy machine a write() may wait for a processor
    tap.ok(found["predicted_ns"] > 0 and found["wall_ns"] - found["predicted_ns"] >= 10_000_000 and found["error_ns"] < found["wall_ns"],
           "stage 4, which the others wait for through pipes, saves its half when it takes half as long", found)


def timed_waits():
    """A wait for a condition in steps, each of which timed out, ends when the signal comes: as a run with the changed duration shows."""
    for _ in range(TRIES):
        reports = [recorded([app("replayed"), "t1:30000,s2:5000", f"s1:{us},g1"], LIBTRACE_OSRT_LOCKS="all", threshold="0") for us in (400000, 200000, 700000)]
        if not all(reports):
            return
        wall, *real = [predicted(report.path, "at stage2 x1").get("wall_ns", 0) for report in reports]
        both = [(factor, predicted(reports[0].path, f"at stage1 x{factor}"), changed) for changed, factor in zip(real, ("0.5", "1.75"))]
        good = [found["predicted_ns"] > 0 and abs(found["predicted_ns"] - changed) < abs(wall - changed) / 5 for _, found, changed in both]
        if all(good):
            break
    for (factor, found, changed), is_good in zip(both, good):
        tap.ok(is_good, f"waits that timed out: stage 1 x{factor} takes as long as a run with that", (found, changed))
    one, two = 1 << 24 | 1, 1 << 24 | 2
    rows = [row("track", 0, one, 0, 10_100_000, value=1), row("track", 0, two, 0, 10_000_000), row("call", 1, two, 0, 9_000_000, "usleep"),
            row("signal", 2, two, 9_000_000, 9_000_100, "pthread_cond_signal", object=7, value=0),
            *(row("condition", 3 + n, one, 3_000_000 * n + 100, 3_000_000 * n + 2_000_100, "pthread_cond_timedwait", object=7, value=110) for n in range(3)),
            row("condition", 9, one, 8_900_000, 9_000_100, "pthread_cond_timedwait", object=7, value=0, other=two, other_time=9_000_000, sure="exact")]
    graph = Graph(rows)
    base, half = graph.replay(), graph.replay(Scaling(graph, [parse("call usleep x0.5")]))
    tap.ok(abs(base.ns - graph.wall_ns()) < 10_000, "waits that timed out: the replay takes as long as the run", (base, graph.wall_ns()))
    # up to 4.5 ms: a wait, 1 ms of work, and a part of the next wait; then 1.9 ms of work that it might not have done
    tap.ok(abs(half.ns - 7_500_000) < 200_000 and 1_800_000 < half.unknown_ns < 2_000_000, "waits that timed out: work after an early signal is in the error bound", half)
    three = one + 2
    late = Graph([row("track", 0, one, 0, 6_000_000), row("track", 0, two, 0, 20_000_000), row("track", 0, three, 0, 9_000_000, value=1),
                  row("condition", 1, one, 0, 1_000_000, "pthread_cond_timedwait", object=7, value=110), row("lock", 2, one, 1_000_100, 1_000_200, "pthread_mutex_lock", object=8, value=0),
                  row("call", 3, one, 5_000_000, 5_000_100, "pthread_mutex_unlock", object=8, value=0), row("call", 4, two, 0, 15_000_000, "usleep"),
                  row("signal", 5, two, 15_000_000, 15_000_100, "pthread_cond_signal", object=7, value=0),
                  row("lock", 6, three, 3_000_000, 5_000_100, "pthread_mutex_lock", object=8, value=0, other=one, other_time=5_000_000, sure="exact"),
                  row("call", 7, three, 8_000_000, 8_000_100, "pthread_mutex_unlock", object=8, value=0)])
    tap.ok(late.timeouts and abs(late.replay().ns - late.wall_ns()) < 10_000, "waits that timed out: who timed out gets a lock before those that come later, also if the signal is known", late.replay())
    several = Graph([*rows, row("track", 0, one + 2, 0, 5_000_000), row("condition", 20, one + 2, 0, 1_000_000, "pthread_cond_timedwait", object=7, value=110)])
    tap.ok(not several.timeouts, "waits that timed out: of several threads, nobody knows which one a signal wakes")


def row(kind, number, track, start, end, name="", **more):
    return Row(kind, number, track, start, end, name, *(more.get(each) for each in ("object", "value", "other", "other_time", "sure", "place")))


def barrier(threads):
    """Threads that meet at one barrier."""
    return [row("track", 0, n, 0, 10**6, value=n == 1) for n in range(1, threads + 1)] + \
        [row("barrier", n, n, n, 10**5 + n, "pthread_barrier_wait", object=1) for n in range(1, threads + 1)]


def children(count):
    """A process that starts, and joins, so many threads whose order nobody knows."""
    rows = [row("track", 0, 1, 0, 10**8, value=1)]
    for n in range(count):
        rows += [row("track", 0, 100 + n, 1000 * n + 10, 1000 * n + 500, other=1), row("call", 2 * n, 1, 1000 * n, 1000 * n + 50, "clone", value=-1),
                 row("join", 2 * n + 1, 1, 1000 * n + 100, 1000 * n + 600, "pthread_join")]
    return rows


def stream(count):
    """A thread that launches so many kernels, and waits for each, which had ended."""
    rows = [row("track", 0, 1, 0, 10**8, value=1), row("track", 0, -1, 0, 0)]
    for n in range(count):
        rows += [row("call", 3 * n, 1, 1000 * n, 1000 * n + 50, "cuLaunchKernel"), row("work", 3 * n + 1, -1, 1000 * n + 60, 1000 * n + 90, other=1, other_time=1000 * n + 50),
                 row("device", 3 * n + 2, 1, 1000 * n + 100, 1000 * n + 200, "cuStreamSynchronize")]
    return rows


def within(kind, count):
    """Such a thread, each of whose launches is in a range of NVTX, or in a call of a function."""
    return stream(count) + [row(kind, n, 1, 1000 * n, 1000 * n + 50, "f") for n in range(count)]


def opcodes(function):
    """Return what a function returns, and how many instructions of Python it takes."""
    taken = [0]

    def count(frame, event, _):
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        taken[0] += event == "opcode"
        return count
    sys.settrace(count)
    try:
        return function(), taken[0]
    finally:
        sys.settrace(None)


def shortened():
    """Operations begin when they can, also before they did in the run: those of a new stream, those that their call waits for, and those without a launch."""
    rows = [row("track", 0, 1, 0, 260_000, value=1), *(row("track", 0, -n, start, start) for n, start in ((1, 2_500), (2, 105_000), (3, 156_000))),
            row("call", 1, 1, 1_000, 2_000, "cudaLaunchKernel"), row("work", 2, -1, 2_500, 102_500, "kernel a", other=1, other_time=2_000),
            row("device", 3, 1, 3_000, 103_000, "cudaStreamSynchronize", other=-1, other_time=102_500, sure="exact"),
            row("device", 4, 1, 104_000, 154_000, "cudaMemcpy", other=-2, other_time=153_000, sure="exact"),
            row("work", 5, -2, 105_000, 153_000, "[CUDA memcpy Host-to-Device]", other=1, other_time=154_000),
            row("call", 6, 1, 155_000, 165_000, "cudaLaunchKernel"), row("work", 7, -3, 156_000, 206_000, "kernel b", other=1, other_time=165_000),
            row("work", 8, -3, 210_000, 256_000, "kernel c"),
            row("device", 9, 1, 166_000, 257_000, "cudaStreamSynchronize", other=-3, other_time=256_000, sure="exact")]
    graph = Graph(rows)
    found = {text: graph.replay(Scaling(graph, [parse(text)])).ns for text in ("kernel * x1", "kernel a x0.5", "kernel b x0.5", "kernel c x0", "copy x0.5", "kernel * x2", "launch x2")}
    wanted = {"kernel * x1": 260_000, "kernel a x0.5": 210_000, "kernel b x0.5": 235_000, "kernel c x0": 214_000, "copy x0.5": 236_000, "kernel * x2": 456_000,
              "launch x2": 260_000 + 1_500 + 1_000 + 1_000}
    tap.ok(found == wanted, "operations of the GPU that take less, or more: the wall time is that of the path", (found, wanted))
    held = Graph([row("track", 0, 1, 0, 2_000, value=1), row("track", 0, 2, 0, 1_000), row("lock", 1, 2, 0, 10, "pthread_mutex_lock", object=7, value=0),
                  row("condition", 2, 2, 20, 900, "pthread_cond_wait", sure="unknown"), row("call", 3, 2, 950, 960, "pthread_mutex_unlock", object=7, value=0),
                  row("lock", 4, 1, 100, 110, "pthread_mutex_lock", object=7, value=0), row("call", 5, 1, 120, 130, "pthread_mutex_unlock", object=7, value=0)]).replay()
    tap.ok(not held.broken and held.ns == 2_000, "who waits for a condition does not hold its lock, also if nobody is known to have ended the wait", held)


def circle():
    """Waits that wait for each other: the one that ended first in the run is given up, and is not known; the others stay."""
    main, thread, third = 1 << 24 | 1, 1 << 24 | 2, 1 << 24 | 3
    graph = Graph([row("track", 0, main, 0, 2_000_000, value=1), row("track", 0, thread, 0, 1_900_000), row("track", 0, third, 0, 1_000_000),
                   row("join", 1, main, 10, 1_900_010, "pthread_join", other=thread, other_time=1_900_000, sure="likely"),
                   row("lock", 2, thread, 100_000, 200_000, "pthread_mutex_lock", other=third, other_time=200_000, sure="likely"),
                   row("condition", 3, third, 150_000, 300_000, "pthread_cond_wait", other=thread, other_time=250_000, sure="exact")])
    base, faster = graph.replay(), graph.replay(Scaling(graph, [parse("compute 2 x0.5")]))
    tap.ok(base == (2_000_000, 100_000, 10, 0, 1) and faster.ns == 2_000_000 - 900_000,
           "of waits that wait for each other, one is given up and counts as unknown; the program still ends after its threads", (base, faster))


def missed():
    """A replay that misses the run as it was predicts nothing: it is refused, or said first; a saving within its error bound, or of more than the item, is not printed."""
    rows = [
        row("track", 0, 1 << 24 | 1, 0, 2_000_000, "app", value=1), row("lock", 1, 1 << 24 | 1, 0, 1_000_000, "pthread_mutex_lock", object=7, value=0),
        row("call", 2, 1 << 24 | 1, 1_500_000, 1_500_010, "pthread_mutex_unlock", object=7, value=0), row("call", 3, 1 << 24 | 1, 1_600_000, 1_900_000, "usleep")]
    refused, read = "", (what_if.rows_of, what_if.names_of)
    what_if.rows_of, what_if.names_of = lambda *_: rows, lambda *_: {}
    try:
        what_if.main(["--file", "x", "--rank"])
    except Failure as failure:
        refused = str(failure)
    tap.ok("takes 0.001010 s instead of 0.002000 s (-49.5 %)" in refused and "--allow-unknown=PERCENT" in refused, "what the replay misses is why a prediction is refused", refused)
    tap.ok("record with" not in refused, "a report whose locks are all known is not to be recorded in another way", refused)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        what_if.main(["--file", "x", "--rank", "--allow-unknown=50"])
    what_if.rows_of, what_if.names_of = read
    lines = out.getvalue().splitlines()
    tap.ok(lines[0].startswith("Note: the replay without changes takes 0.001010 s") and "+- (ns)" in lines[1] and len(lines) > 3
           and all("cannot be told" in line for line in lines[2:-1]) and any("compute 1 x0.99 (app)" in line for line in lines),
           "if it is allowed, the first line says so; savings within the error bound are not printed; a thread has its program", lines)
    one, two = 1 << 24 | 1, 1 << 24 | 2
    late = Graph([row("track", 0, one, 0, 10_000_000, value=1), row("track", 0, two, 0, 1_200_000),
                  row("lock", 1, two, 0, 100, "pthread_mutex_lock", object=7, value=0), row("call", 2, two, 1_000_000, 1_000_100, "pthread_mutex_unlock", object=7, value=0),
                  row("lock", 3, one, 200, 9_000_000, "pthread_mutex_lock", object=7, value=0, other=two, other_time=1_000_000, sure="exact"),
                  row("call", 4, one, 9_500_000, 9_500_100, "pthread_mutex_unlock", object=7, value=0)])
    tap.ok(abs(late.replay().ns - late.wall_ns()) < 1000, "a thread that got a lock late, since it had no CPU, gets it as late in the replay", late.replay())
    advices = what_if.advice(late), what_if.advice(Graph([row("track", 0, one, 0, 10_000_000, value=1)]))
    tap.ok("0.007950 s" in advices[0] and "fewer threads" in advices[0] and "record with --osrt-locks all" in advices[1],
           "a refusal advises what can help: fewer threads where those that were woken up had no CPU, else other options", advices)
    graph = Graph([*rows[:1], *rows[3:]])
    rank = what_if.ranking(graph, graph.replay(), {})
    tap.ok([r["saved_if_removed_ns"] for r in rank] == [1_700_000, 300_000] and all(r["is_known"] for r in rank), "each item saves its time", rank)
    graph.replay = lambda scale, replay=graph.replay: replay(scale)._replace(ns=0)
    tap.ok(not any(r["is_known"] for r in what_if.ranking(graph, Graph(rows[:1]).replay(), {})), "no item saves more than the time in it", rank)


def sizes():
    """The graph of a larger run takes as much more work, and keeps as many more waits, as the run is larger."""
    for make in (barrier, children, stream):
        (few, few_taken), (many, many_taken) = (opcodes(lambda n=n: Graph(make(n))) for n in (25, 200))
        few_waits, many_waits = (sum(map(len, graph.waits.values())) for graph in (few, many))
        tap.ok(many_taken < 12 * few_taken and 0 < few_waits and many_waits <= 8 * few_waits + 8, f"{make.__name__}: eight times the calls take eight times the work",
               (few_taken, many_taken, few_waits, many_waits))
        tap.ok(not many.replay().broken, f"{make.__name__}: its replay ends", many.replay())
    for kind in ("range", "function"):
        graphs = [Graph(within(kind, n)) for n in (25, 200)]
        (few, few_taken), (many, many_taken) = (opcodes(lambda g=graph: g.replay(Scaling(g, [parse(f"{kind} f x0.5")]))) for graph in graphs)
        tap.ok(many_taken < 12 * few_taken and many.ns < graphs[1].wall_ns(), f"{kind} f x0.5: eight times the calls of f() take eight times the work", (few_taken, many_taken, many))
    graph = Graph(within("function", 200))
    faster = Scaling(graph, [parse("function f x0.9")])
    gone = faster.with_factor(0)
    _, taken = opcodes(lambda: graph.replay(faster))
    found, again = opcodes(lambda: graph.replay(gone))
    tap.ok(found == graph.replay(Scaling(graph, [parse("function f x0")])) and gone.changed_ns == faster.changed_ns and again < 0.9 * taken,
           "what a change applies to is found once for its factors", (found, taken, again))
    rows = stream(100) + [row("track", 0, 2, 0, 10**8), row("lock", 1000, 2, 0, 10, "pthread_mutex_lock", object=7, value=0), row("call", 1001, 2, 50, 60, "pthread_mutex_unlock", object=7, value=0)]
    graph = Graph(rows)
    _, recorded_taken = opcodes(graph.replay)
    for text in ("lock 0x7 x0.5", "compute 2 x0.5"):
        scaling = Scaling(graph, [parse(text)])
        _, taken = opcodes(lambda s=scaling: graph.replay(s))
        tap.ok(scaling.changed_ns[0] > 0 and taken < 1.3 * recorded_taken, f"{text}: little work is done for threads that it does not apply to", (recorded_taken, taken))


PYTHON_LOCK = """
import threading, time
lock = threading.Lock()
def work():
    for _ in range(8):
        with lock:
            time.sleep(0.004)
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def python_lock():
    """A lock of Python is a semaphore that is free at first, and that a thread tries to get without a wait before it waits; the GIL is a mutex and a condition."""
    report = recorded([sys.executable, "-c", PYTHON_LOCK], LIBTRACE_OSRT_LOCKS="all", threshold="0")
    if not report:
        return
    found = json.loads(trace("what-if", "--json", "--allow-unknown=60", report.path, "call *nanosleep x0.5").out or b"{}")
    tap.ok(found and abs(found["replay_ns"] - found["wall_ns"]) < found["wall_ns"] / 50, "Python's locks: the replay takes as long as the run", found)
    tap.ok(found and found["wall_ns"] - found["predicted_ns"] > 40_000_000, "Python's locks: what is done under a lock saves its half", found)


POLLS = """
import os, select, sys, time
ours, theirs = os.pipe()
if not os.fork():
    time.sleep(float(sys.argv[1]))
    os.write(theirs, b"x")
    os._exit(0)
polls = select.poll()
polls.register(ours, select.POLLIN)
while not polls.poll(50):
    pass
os.read(ours, 1)
os.wait()
"""


def timed_polls():
    """A poll in steps, as of a server, that timed out might have ended earlier: what changes take away is in the error bound."""
    long, short = (recorded([sys.executable, "-c", POLLS, seconds], threshold="0") for seconds in ("0.4", "0"))
    if not long or not short:
        return
    alike, found = (predicted(long.path, f"call *nanosleep x{factor}") for factor in (1, 0))
    wall, real = alike.get("wall_ns", 0), predicted(short.path, "compute x1").get("wall_ns", 0)
    tap.ok(found["error_ns"] + wall / 10 > abs(found["predicted_ns"] - real), "polls that timed out: the run without the sleep is within the error bound", (found, real))
    tap.ok(0 < alike["error_ns"] < wall / 4, "polls that timed out: without a change they are sleeps", alike)
    one, two = 1 << 24 | 1, 1 << 24 | 2
    rows = [row("track", 0, one, 0, 9_000_000, value=1), row("track", 0, two, 0, 9_000_000), row("call", 1, two, 0, 6_000_000, "usleep"),
            *(row("poll", 2 + n, one, 2_000_000 * n + 100, 2_000_000 * (n + 1), "poll", value=0) for n in range(4))]
    ended = row("poll", 9, one, 8_000_100, 8_500_000, "poll", value=1)
    for end, wanted in ((ended, 3_000_000), (ended._replace(value=0), 0)):
        graph = Graph([*rows, end])
        change = Scaling(graph, [parse("call usleep x0.5")])
        base, half = graph.replay(), graph.replay(change)
        error = what_if.predict(graph, base, half, change).error_ns - what_if.predict(graph, base, base, Scaling(graph, [])).error_ns
        tap.ok(error == wanted, f"polls that timed out: {wanted} ns of the bound are theirs if the last one {'was' if wanted else 'was not'} ended by others", error)


main(timed_waits, timed_polls, sizes, shortened, circle, missed, random_programs, rankings, short_holds, functions, refusals, comparisons, replayed, python_lock)
