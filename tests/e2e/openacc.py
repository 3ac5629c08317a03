#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenACC (-t openacc): programs of gcc, whose libgomp runs them on the host, and a stand-in for a runtime with a device."""
import collections
import os
import signal
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import LIBRARY, Report, app, clean_env, folder, main, receipts_agree, run, tap, trace  # noqa: E402

PROGRAM = app("openacc_constructs")
RUNTIME = app("openacc_runtime")
# tests/apps/openacc_constructs.c, once
ONCE = {"Enter Data": 2, "Exit Data": 2, "Compute Construct": 2, "Update": 1}
TOOL = """
#include <unistd.h>
static void called(void *info, void *event, void *api) { (void)info, (void)event, (void)api; if (write(2, "TOOL\\n", 5)) {} }
void acc_register_library(void (*add)(int, void (*)(void *, void *, void *), int), void *remove, void *lookup)
{
	(void)remove, (void)lookup;
	add(16, called, 0);
}
"""


def record(*command, status=0, sources="openacc", **variables):
    """Record a program. A test fails if its output, status or report is not as it should be. Return the report, and what the program wrote."""
    path = os.path.join(folder(), "report.rep")
    env = clean_env(**variables)
    plain = run(list(command), env=env)
    traced = trace("run", "-t", sources, "-o", path, "--", *command, env=env)
    report = Report(path)
    tap.ok(traced.status == status and traced.out == plain.out and report.check().status == 0 and receipts_agree(report) is None and not report.dropped(),
           f"{command[-1]}: output and status are those of the untraced program, and the report is sound", f"{traced}\n{plain}")
    return report, traced


def constructs_of(report):
    return report.events("--kind", "openacc")


def count(events):
    return collections.Counter(e["name"] for e in events)


def times(number):
    return {name: number * value for name, value in ONCE.items()}


def constructs():
    report, _ = record(PROGRAM)
    events = constructs_of(report)
    tap.ok(count(events) == collections.Counter(ONCE) + collections.Counter({"Device Init": 1}), "each construct is recorded as often as it is run", str(count(events)))
    tap.ok({e["device_type"] for e in events if e["name"] != "Device Init"} == {2}, "they ran on the host", str(events))
    entered = [e for e in events if e["name"] == "Compute Construct"]
    tap.ok(all(e["duration_ns"] > 0 for e in entered) and sorted(e["start_ns"] for e in events) == [e["start_ns"] for e in events],
           "they have times, in the order of the program", str(events))
    database = os.path.join(folder(), "r.sqlite")
    trace("export", "-t", "sqlite", "-o", database, report.path)
    with sqlite3.connect(database) as db:
        rows = db.execute("SELECT s.value, k.name, d.name, lineNo, srcFile, start > 0, end >= start FROM CUPTI_ACTIVITY_KIND_OPENACC_OTHER AS e "
                          "JOIN StringIds AS s ON s.id = nameId JOIN ENUM_OPENACC_EVENT_KIND AS k ON k.id = eventKind "
                          "JOIN ENUM_OPENACC_DEVICE AS d ON d.id = DeviceType ORDER BY start").fetchall()
    tap.ok(len(rows) == len(events) and rows[1] == ("Enter Data", "CUPTI_OPENACC_EVENT_KIND_ENTER_DATA", "acc_device_host", -1, None, 1, 1),
           "they are rows of nsys's table", str(rows))
    stats = trace("stats", "-r", "openacc_sum", "-f", "csv", report.path)
    tap.ok(b",Compute Construct" in stats.out and stats.out.count(b"\n") >= 6, "stats openacc_sum sums them up", stats.out.decode())


def processes():
    report, _ = record(PROGRAM, "fork")
    by_process = collections.defaultdict(collections.Counter)
    for event in constructs_of(report):
        by_process[event["pid"]][event["name"]] += event["name"] != "Device Init"
    tap.ok(len(by_process) == 2 and all(+found == collections.Counter(ONCE) for found in by_process.values()), "a forked child has its own", str(by_process))
    report, _ = record(PROGRAM, "threads")
    by_thread = collections.defaultdict(collections.Counter)
    for event in constructs_of(report):
        by_thread[event["tid"]][event["name"]] += event["name"] != "Device Init"
    tap.ok(len(by_thread) == 4 and all(+found == collections.Counter(ONCE) for found in by_thread.values()), "each thread has its own", str(by_thread))
    report, _ = record(PROGRAM, "kill", status=-signal.SIGKILL)
    tap.ok(+collections.Counter({**count(constructs_of(report)), "Device Init": 0}) == collections.Counter(ONCE), "those of a killed program are in the report")


DEVICE = [("Enter Data@solver.c:10", 11), ("Alloc@solver.c:10", 15), ("Create@solver.c:10", 13), ("Enqueue Upload@solver.c:10", 5),
          ("Compute Construct@solver.c:12", 9), ("Enqueue Launch@solver.c:12 (solve_12_gpu)", 4), ("Implicit Wait@solver.c:12", 8),
          ("Enqueue Download@solver.c:14", 6), ("Delete@solver.c:14", 14), ("Free@solver.c:14", 16), ("Runtime Shutdown@solver.c", 3)]


def device():
    """What a runtime with a device says, from the stand-in: file and line, data, launches."""
    report, _ = record(RUNTIME)
    events = constructs_of(report)
    tap.ok([(e["name"], e["kind"]) for e in events] == DEVICE, "all kinds of events, an end without a begin left out", str([(e["name"], e["kind"]) for e in events]))
    tap.ok({(e["device_type"], e["device"], e["file"], e["function"], e["queue"]) for e in events} == {(4, 1, "/src/solver.c", "solve", 7)},
           "device, place and queue", str(events))
    tap.ok({(e["variable"], e["bytes"]) for e in events if e["kind"] in (5, 6, 13, 14, 15, 16)} == {("a", 4096)}, "data has name and size")
    database = os.path.join(folder(), "r.sqlite")
    trace("export", "-t", "sqlite", "-o", database, report.path)
    with sqlite3.connect(database) as db:
        text = "(SELECT value FROM StringIds WHERE id = {})".format
        data = db.execute(f"SELECT {text('nameId')}, bytes, {text('varName')}, lineNo, cuDeviceId FROM CUPTI_ACTIVITY_KIND_OPENACC_DATA ORDER BY start, rowid").fetchall()
        launches = db.execute(f"SELECT numGangs, numWorkers, vectorLength, {text('kernelName')}, {text('srcFile')}, {text('funcName')} "
                              "FROM CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH").fetchall()
        others = db.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_OPENACC_OTHER").fetchone()
    tap.ok(len(data) == 6 and ("Enqueue Upload@solver.c:10", 4096, "a", 10, 1) in data, "nsys's table of data", str(data))
    tap.ok(launches == [(32, 4, 128, "solve_12_gpu", "/src/solver.c", "solve")] and others == (4,), "nsys's tables of launches and of the rest", str(launches))
    report, _ = record(RUNTIME, "short")
    events = constructs_of(report)
    tap.ok([e["name"] for e in events] == [name.split("@", 1)[0].replace("Implicit ", "") for name, _ in DEVICE] and
           {(e["file"], e["variable"], e["line"], e["bytes"]) for e in events} == {("", "", -1, 0)},
           "members that a runtime does not fill in are not read", str(events))


def others():
    """The program's own profiling library gets what it would have got; nothing is answered without -t openacc."""
    work = folder()
    tool = os.path.join(work, "tool.so")
    with open(tool + ".c", "w", encoding="ascii") as file:
        file.write(TOOL)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tool, tool + ".c"], check=True)
    for program in [RUNTIME] + [PROGRAM] * os.path.exists(PROGRAM):
        report, traced = record(program, ACC_PROFLIB=tool)
        calls = count(constructs_of(report))
        tap.ok(traced.err.count(b"TOOL") == (1 if program == RUNTIME else 2) and sum(n for name, n in calls.items() if name.startswith("Compute")),
               "a library in ACC_PROFLIB and ours are both called", f"{traced}\n{calls}")
        report, traced = record(program, sources="osrt")
        tap.ok(not constructs_of(report), "off by default")
    _, traced = record(RUNTIME, "again", ACC_PROFLIB=tool)
    tap.ok(b"kept\n" in traced.out, "a list that a runtime has got stays as it is", str(traced))
    env = clean_env(LIBTRACE_OUTPUT=os.path.join(work, "r.rep"), LIBTRACE_TRACE="openacc", LD_PRELOAD=f"{LIBRARY}:{tool}")
    result = run([RUNTIME, "exported"], env=env)
    events = constructs_of(Report(os.path.join(work, "r.rep")))
    tap.ok(result.out == b"done\n" and result.err.count(b"TOOL") == 1 and len(events) == len(DEVICE), "so is the next exported acc_register_library()", f"{result} {len(events)}")
    env = clean_env(LIBTRACE_OUTPUT=os.path.join(work, "s.rep"), LIBTRACE_TRACE="osrt", LD_PRELOAD=f"{LIBRARY}:{tool}")
    result = run([RUNTIME, "exported"], env=env)
    tap.ok(result.out == b"done\n" and result.err.count(b"TOOL") == 1, "and without -t openacc", str(result))


if not os.path.exists(PROGRAM):
    tap.skip("OpenACC by libgomp", "gcc does not compile programs of OpenACC")
    main(device, others)
else:
    main(constructs, processes, device, others)
