#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenMP (-t openmp): each construct of tests/apps/openmp_regions.c is in the report, by libomp's tool interface."""
import collections
import csv
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _made_database as made  # noqa: E402
from lib import LIBRARY, SRC, Report, app, clean_env, folder, main, receipts_agree, run, tap, trace  # noqa: E402

PROGRAM = app("openmp_regions")
THREADS = 3
with open(os.path.join(SRC, "tests/apps/openmp_regions.c"), encoding="utf-8") as source_file:
    DEPENDENT = next(f"(openmp_regions.c:{number})" for number, line in enumerate(source_file, 1) if "depend(inout" in line)
TABLE = {15: "OPENMP_EVENT_KIND_TASK_CREATE", 16: "OPENMP_EVENT_KIND_TASK_SCHEDULE", 17: "OPENMP_EVENT_KIND_CANCEL",
         20: "OPENMP_EVENT_KIND_MUTEX_RELEASED", 21: "OPENMP_EVENT_KIND_LOCK_INIT", 22: "OPENMP_EVENT_KIND_LOCK_DESTROY",
         25: "OPENMP_EVENT_KIND_DISPATCH", 26: "OPENMP_EVENT_KIND_FLUSH", 27: "OPENMP_EVENT_KIND_THREAD", 28: "OPENMP_EVENT_KIND_PARALLEL",
         29: "OPENMP_EVENT_KIND_SYNC_REGION_WAIT", 30: "OPENMP_EVENT_KIND_SYNC_REGION", 31: "OPENMP_EVENT_KIND_TASK", 32: "OPENMP_EVENT_KIND_MASTER",
         33: "OPENMP_EVENT_KIND_REDUCTION", 34: "OPENMP_EVENT_KIND_MUTEX_WAIT", 35: "OPENMP_EVENT_KIND_CRITICAL_SECTION",
         36: "OPENMP_EVENT_KIND_WORKSHARE"}


def record(what, *options, status=0, environment=None, sources="openmp", program=PROGRAM):
    """Record a mode of the program. A test fails if its output, status or report is not as it should be. Return the report."""
    environment = {"OMP_CANCELLATION": "true", **(environment or {})}
    path = os.path.join(folder(), "report.rep")
    plain = run([program, what], env=clean_env(**environment))
    traced = trace("run", "-t", sources, "-o", path, *options, "--", program, what, env=clean_env(**environment))
    report = Report(path)
    tap.ok(traced.status == status and (traced.out == plain.out or program != PROGRAM) and report.check().status == 0 and receipts_agree(report) is None and not report.dropped(),
           f"{what}: output and status are those of the untraced program, and the report is sound", f"{traced}\n{plain}")
    return report


def named(events, flagged=False):
    """Count the rows by name: those that ended, or of `flagged` all."""
    return collections.Counter(e["name"] for e in events if flagged or not e["flags"])


def agree(found, wanted, name):
    wrong = {key: (found[key], count) for key, count in wanted.items() if found[key] != count}
    tap.ok(not wrong, name, f"found, wanted: {wrong}\n{found}")


def constructs():
    report = record("constructs")
    events = report.events("--kind", "openmp")
    found = named(events, flagged=True)
    # Per thread: one critical region, two locks (of the first thread three more, and a test that fails), a nested lock that is set twice.
    agree(found, {"Waiting to enter Critical Region": THREADS, "Critical Region": THREADS, "Waiting for Lock": THREADS + 2,
                  "Waiting for Nested Lock": THREADS, "Mutex Released": 2 * THREADS + 2, "Lock Init": 2, "Lock Destroy": 2, "Flush": THREADS,
                  "Master Region": 1, "Explicit Barrlier": THREADS, "Ordered Region": 6, "Waiting to enter Ordered Region": 6},
          "waits, locks, critical, ordered and master regions are recorded once each")
    work = collections.Counter((e["name"], e["object"]) for e in events if e["region"] == 36)
    agree(work, {("Sections Region", 2): THREADS, ("Single Region (Executor)", 1): 1, ("Single Region (Waiting)", 1): THREADS - 1},
          "work regions have their kinds and counts")
    tap.ok(sum(n for (name, _), n in work.items() if name == "Loop Region") >= 4 * THREADS, "loops are recorded on each thread", str(work))
    tap.ok(found["Cancel"] >= 1, "a cancellation is recorded", str(found))
    lock = [e["duration_ns"] for e in events if e["name"] == "Waiting for Lock" and e["thread_number"] == 0][1:]
    held = [e["duration_ns"] for e in events if e["name"] == "Master Region"][0]
    tap.ok(held > 2000000 and all(ns < held for ns in lock), "a test of a lock that fails is no wait", f"{lock} {held}")
    teams(events)
    target(events)
    tables(report, events)
    summary(report, events)


def teams(events):
    first = next(e for e in events if e["name"] == "Parallel Region")
    mine = [e for e in events if e["parallel_id"] == first["parallel_id"] and e["name"] == "Implicit Task"]
    tap.ok(first["parallel_id"] == 2 and first["task_id"] == 1 and first["object"] == THREADS, "the first region is number 2, of task 1", str(first))
    sizes = {(e["parallel_id"], e["team_size"]) for e in events if e["name"] in ("Parallel Region", "Implicit Task") and e["parallel_id"] > 1}
    tap.ok(first["team_size"] == THREADS and len(sizes) == len({number for number, _ in sizes}), "a region has the size of its team", str(sizes))
    tap.ok(str(first["code"]).startswith("exclusion (openmp_regions.c:"), "a region has its function and line", str(first))
    tap.ok(sorted(e["thread_number"] for e in mine) == list(range(THREADS)) and {e["team_size"] for e in mine} == {THREADS} and
           sorted(e["task_id"] for e in mine) == [2, 3, 4], "each thread of the team has its number, and a task", str(mine))
    inside = [e for e in mine if e["start_ns"] >= first["start_ns"] and
              (e["thread_number"] or e["start_ns"] + e["duration_ns"] <= first["start_ns"] + first["duration_ns"])]
    tap.ok(len(inside) == THREADS, "implicit tasks are within their region", f"{first}\n{mine}")


def target(events):
    """A target region runs on the host: its teams, and the threads and loop of its team, with the line of the construct."""
    placed = [e for e in events if "__omp_offloading_" in str(e["code"]) and "constructs" in str(e["code"]) and "(openmp_regions.c:" in str(e["code"])]
    work = collections.Counter((e["name"], e["object"]) for e in placed if e["region"] == 36)
    agree(work, {("Distribute Region", 4): 1, ("Loop Region", 4): 2}, "a target region on the host has the work of its teams and of their threads")
    inner = [e for e in placed if e["name"] == "Parallel Region" and e["team_size"] == 2]
    tasks_in = {(e["thread_number"], e["team_size"]) for e in events if inner and e["name"] == "Implicit Task" and e["parallel_id"] == inner[0]["parallel_id"]}
    tap.ok(len(inner) == 1 and tasks_in == {(0, 2), (1, 2)}, "and the parallel region of its team", f"{inner} {tasks_in}")


def tables(report, events):
    """The tables have nsys's names, and each row of the report once."""
    path = os.path.join(folder(), "a.sqlite")
    trace("export", "-t", "sqlite", "-o", path, report.path)
    rows = collections.Counter(e["region"] for e in events)
    with sqlite3.connect(path) as database:
        for kind, count in sorted(rows.items()):
            found = database.execute(f"SELECT count(*), min(eventKind), max(eventKind), min(eventClass), count(s.value) FROM {TABLE[kind]} "
                                     "JOIN StringIds AS s ON s.id = nameId WHERE end >= start").fetchone()
            tap.ok(found == (count, kind, kind, 78, count), f"{TABLE[kind]} has each event", f"{found}, wanted {count}")
        labels = database.execute("SELECT count(*) FROM OPENMP_EVENT_KIND_SYNC_REGION AS r JOIN ENUM_OPENMP_SYNC_REGION AS e ON e.id = r.kind").fetchone()[0]
        tap.ok(labels == rows[30], "kinds are those of ENUM_OPENMP_SYNC_REGION", str(labels))


def summary(report, events):
    result = trace("stats", "-r", "openmp_sum", "-f", "csv", report.path)
    lines = [line for line in result.out.decode().splitlines() if "," in line]
    rows = {row["Name"]: row for row in csv.DictReader(io.StringIO("\n".join(lines)))}
    times = collections.defaultdict(list)
    for e in events:
        times[e["name"]].append(e["duration_ns"])
    right = rows.keys() == times.keys() and all(
        (int(rows[name]["Count"]), int(rows[name]["Total Time (ns)"])) == (len(all_ns), sum(all_ns)) for name, all_ns in times.items())
    tap.ok(right, "openmp_sum agrees with the events", result.out.decode()[:2000])


def tasks():
    report = record("tasks")
    events = report.events("--kind", "openmp")
    created = {e["other_task_id"]: e["task_id"] for e in events if e["name"] == "Explicit Task Creation"}
    created_at = {e["other_task_id"]: str(e["code"]).rsplit(" ", 1)[-1] for e in events if e["name"] == "Explicit Task Creation"}
    # fibonacci(10) creates two tasks for each of its 88 calls with an argument of 2 or more; then 5, 4 and 1.
    tap.ok(len(created) == 176 + 5 + 4 + 1, "each task is created once", str(len(created)))
    parts = collections.defaultdict(list)
    for e in events:
        if e["name"] == "Explicit Task":
            parts[e["task_id"]].append((e["tid"], e["start_ns"], e["start_ns"] + e["duration_ns"]))
    tap.ok(parts.keys() == created.keys(), "each task runs", f"{len(parts)} {len(created)}")
    chain = [task for task, at in created_at.items() if at == DEPENDENT]
    spans = sorted((min(part[1] for part in parts[task]), max(part[2] for part in parts[task]), task) for task in chain)
    tap.ok(len(chain) == 5 and [task for _, _, task in spans] == sorted(chain) and all(a[1] <= b[0] + 1 for a, b in zip(spans, spans[1:])),
           "tasks that depend on each other run one after another, in the order of their creation", f"{spans} {collections.Counter(created_at.values())}")
    by_thread = collections.defaultdict(list)
    for task in parts.values():
        for tid, start, end in task:
            by_thread[tid].append((start, end))
    overlaps = sum(after[0] < before[1] - 1 for spans in by_thread.values() for before, after in zip(sorted(spans), sorted(spans)[1:]))
    tap.ok(not overlaps, "a thread runs one task at a time: parts of tasks do not overlap", str(overlaps))
    waits = [e for e in events if e["name"] == "Taskwait"]
    tap.ok(len(waits) >= 88 and not [e for e in events if e["flags"] == ["abandoned"]], "each taskwait is recorded, and no region is lost", str(len(waits)))
    switches = sum(e["name"] == "Task Schedule" for e in events)
    tap.ok(switches >= 2 * len(created), "task switches are recorded", str(switches))


def nested():
    events = record("nested").events("--kind", "openmp")
    regions = [e for e in events if e["name"] == "Parallel Region"]
    inner = [e for e in regions if e["task_id"] != 1]
    tap.ok(len(regions) == 3 and len(inner) == 2, "nested regions have their parent tasks", str(regions))
    teams_of = collections.Counter((e["parallel_id"], e["team_size"]) for e in events if e["name"] == "Implicit Task")
    tap.ok(sorted(teams_of.values()) == [2, 2, 2] and {size for _, size in teams_of} == {2}, "each team has two threads", str(teams_of))


def children():
    report = record("fork")
    by_process = collections.defaultdict(collections.Counter)
    for e in report.events("--kind", "openmp"):
        by_process[e["pid"]][e["name"]] += 1
    counts = sorted((c["Parallel Region"], c["Implicit Task"]) for c in by_process.values())
    tap.ok(counts == [(1, 2), (1, THREADS)], "a forked child's regions are its own", str(by_process))


def killed():
    report = record("killed", status=-signal.SIGKILL)
    open_ones = collections.Counter(e["name"] for e in report.events("--kind", "openmp") if e["flags"] == ["unfinished"])
    agree(open_ones, {"Parallel Region": 1, "Implicit Task": THREADS, "Critical Region": 1, "Initial Thread": 1, "Worker Thread": THREADS - 1},
          "regions that a kill left open are in the report")
    path = os.path.join(folder(), "a.sqlite")
    trace("export", "-t", "sqlite", "-o", path, report.path)
    with sqlite3.connect(path) as database:
        tasks_found = database.execute("SELECT count(*) FROM OPENMP_EVENT_KIND_TASK WHERE kind = 2 AND end IS NOT NULL").fetchone()[0]
    tap.ok(tasks_found == THREADS, "in SQLite they end with the process", str(tasks_found))


def callchains():
    report = record("imbalance", "--openmp-backtrace-threshold", "0")
    events = report.events("--kind", "openmp")
    chains = [e for e in events if e["name"] == "Parallel Region" and e.get("callchain")]
    tap.ok(len(chains) == 20 and all("imbalance" in str(e["callchain"]) for e in chains), "regions have the callchain of the construct", str(chains[:1]))
    found = json.loads(trace("analyze", "-r", "openmp_imbalance", "-f", "json", report.path).out)[0]["rows"]
    tap.ok([(row["Regions"], str(row["Region"]).split(":")[0]) for row in found] == [(20, "imbalance (openmp_regions.c")],
           "the rule names the function and line of the region", str(found))
    events = record("imbalance", "--openmp-backtrace-threshold", "none").events("--kind", "openmp")
    tap.ok(events and not [e for e in events if e.get("callchain")], "threshold none: no callchains")


def small_tasks():
    """The rule about small tasks counts those of a program, and names what created them."""
    report = record("small_tasks")
    times = [e["duration_ns"] for e in report.events("--kind", "openmp") if e["name"] == "Explicit Task"]
    rows = json.loads(trace("analyze", "-r", "openmp_small_tasks", "-f", "json", report.path).out)[0]["rows"]
    wanted = [(sum(times), 20000, "small_tasks.omp_outlined")] if sum(times) < 2000 * 20000 else []  # a busy machine may stretch them
    found = [(r["Total Time (ns)"], r["Tasks"], "_".join(str(r["Created by"]).split("_")[:3])) for r in rows]
    tap.ok(len(times) == 20000 and found == wanted, "the rule finds small tasks, and the line that creates them", f"{rows} {len(times)} {sum(times)}")


OUTLINED = """
#include <unistd.h>
static void before(void) { usleep(1); }
static void solve(void)
{
	before();
#pragma omp parallel num_threads(2)
	usleep(2000);
}
int main(void)
{
	solve();
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp task
	usleep(2000);
}
"""


def outlined():
    """Check that functions into which clang moves constructs are named after the function that has the construct."""
    place = folder()
    source, program, path = (os.path.join(place, name) for name in ("outlined.c", "outlined", "report.rep"))
    with open(source, "w", encoding="utf-8") as file:
        file.write(OUTLINED)
    built = run(["clang", "-g", "-O1", "-fopenmp", "-o", program, source], env=clean_env())
    traced = trace("run", "-t", "osrt", "-o", path, "--osrt-backtrace-threshold", "0", "--", program, env=clean_env())
    rows = csv.DictReader(io.StringIO(trace("stats", "-r", "callchain_flat", "-f", "csv", path).out.decode()))
    found = {row["Name"] for row in rows if ".omp_" in row["Name"]}
    functions = {(name.split(".")[0], name.split(".")[1].split("_debug")[0]) for name in found}
    wanted = {("solve", "omp_outlined"), ("main", "omp_outlined")}
    tap.ok(built.status == 0 and traced.status == 0 and wanted <= functions and all(function for function, _ in functions),
           "outlined constructs have the name of the function around them", f"{found} {built.err} {traced}")


def off_and_others():
    """Without -t openmp nothing is recorded, and a tool that the user names works, with it and without."""
    tap.ok(not record("nested", sources="osrt").events("--kind", "openmp"), "off by default")
    work = folder()
    source, tool = os.path.join(work, "tool.c"), os.path.join(work, "tool.so")
    with open(source, "w", encoding="ascii") as file:
        file.write("#include <unistd.h>\n"
                   "static int begin(void *l, int d, void *t) { (void)l, (void)d, (void)t; return write(2, \"TOOL\\n\", 5) > 0; }\n"
                   "static void end(void *t) { (void)t; }\n"
                   "static struct { void *b, *e; long t; } result = {(void *)begin, (void *)end, 0};\n"
                   "void *ompt_start_tool(unsigned v, const char *r) { (void)v, (void)r; return &result; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tool, source], check=True)
    for sources in ("osrt", "openmp"):
        for how, variables in (("OMP_TOOL_LIBRARIES", {"OMP_TOOL_LIBRARIES": tool}), ("a preloaded tool", {"LD_PRELOAD": f"{LIBRARY}:{tool}"})):
            path = os.path.join(folder(), "report.rep")
            result = run([PROGRAM, "nested"], env=clean_env(LD_PRELOAD=variables.get("LD_PRELOAD", LIBRARY), LIBTRACE_OUTPUT=path, LIBTRACE_TRACE=sources,
                                                            OMP_TOOL_LIBRARIES=variables.get("OMP_TOOL_LIBRARIES")))
            tap.ok(result.status == 0 and result.err.count(b"TOOL") == 1, f"{how} works beside -t {sources}", str(result))
            if sources == "openmp":
                info = trace("info", "-v", path)
                tap.ok(b"OpenMP is not recorded" in info.out + info.err, f"the report says that {how} is in the way", info.out.decode()[-800:])


def other_runtimes():
    """What libomp 14 does not report, from a stand-in for a runtime (tests/apps/openmp_runtime.c)."""
    report = record("all", program=app("openmp_runtime"))
    events = report.events("--kind", "openmp")
    agree(named(events), {"Reduction": 2, "Dispatch": 3, "Loop Region": 1, "Implicit Barrier": 3, "Implicit Task": 2, "Explicit Task": 1, "Task Schedule": 3,
                          "Taskwait": 0, "Parallel Region": 1, "Initial Thread": 1},
          "reductions, chunks, kinds of OpenMP 5.1, a detached task")
    tap.ok([e["object"] for e in events if e["name"] == "Dispatch"] == [0, 1, 2] and {e["kind"] for e in events if e["name"] == "Loop Region"} == {1},
           "chunks have their iterations, loops the kind of nsys", str(events))
    tap.ok([e["name"] for e in events if e["flags"]] == ["Task"], "the initial task is left open", str(events))
    tables(report, events)


def named_runtimes():
    """Runtimes that OPENMP_RUNTIMES names (with : between them), in place of LLVM's, such as libiomp5.so of intel-openmp of PyPI."""
    names = [path for path in os.environ.get("OPENMP_RUNTIMES", "").split(":") if path]
    if not names:
        tap.skip("other runtimes with OMPT", "OPENMP_RUNTIMES names none")
    for path in names:
        place = folder()
        os.symlink(path, os.path.join(place, "libomp.so.5"))
        tell = os.path.basename(path)
        counts = {what: named(record(what, environment={"LD_LIBRARY_PATH": place}).events("--kind", "openmp"), flagged=True) for what in ("constructs", "tasks", "nested")}
        agree(counts["constructs"], {"Critical Region": THREADS, "Master Region": 1, "Ordered Region": 6, "Cancel": 1, "Lock Init": 2, "Lock Destroy": 2}, f"{tell}: constructs")
        agree(counts["tasks"], {"Explicit Task Creation": 176 + 5 + 4 + 1, "Taskloop Region": 1, "Parallel Region": 1}, f"{tell}: tasks")
        agree(counts["nested"], {"Parallel Region": 3, "Implicit Task": 6}, f"{tell}: nested teams")


COMMON = "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL, parallelId INTEGER, "


def made_regions(name, busy_us, wait_us, tasks_of_ns):
    """Make a database of 100 regions with a barrier at the end, whose threads are busy and wait for so long, and 2000 tasks. Return the rules that find
    something."""
    path = os.path.join(folder(), name + ".sqlite")
    d = made.Made(path)
    for table, more in (("PARALLEL", "parentTaskId INTEGER"), ("TASK", "taskId INTEGER, kind INTEGER"), ("SYNC_REGION", "taskId INTEGER, kind INTEGER")):
        d.db.execute(f"DROP TABLE IF EXISTS OPENMP_EVENT_KIND_{table}")
        d.db.execute(f"CREATE TABLE OPENMP_EVENT_KIND_{table} ({COMMON}{more})")
    now, task, length = 0, 1, max(b + w for b, w in zip(busy_us, wait_us)) * 1000
    for region in range(2, 102):
        d.row("OPENMP_EVENT_KIND_PARALLEL", start=now, end=now + length, eventClass=78, globalTid=made.T1, nameId=d.text("Parallel Region"), parallelId=region)
        for thread, (busy, wait) in enumerate(zip(busy_us, wait_us)):
            task += 1
            owner = {"eventClass": 78, "globalTid": made.T1 + thread, "parallelId": region, "taskId": task, "kind": 2}
            d.row("OPENMP_EVENT_KIND_TASK", start=now, end=now + length, nameId=d.text("Implicit Task"), **owner)
            # the thread waits for the next region in this barrier
            d.row("OPENMP_EVENT_KIND_SYNC_REGION", start=now + busy * 1000, end=now + (busy + wait) * 1000 + (5000000 if thread else 0),
                  nameId=d.text("Implicit Barrier"), **owner)
        now += length + 1000000
    for number in range(2000):
        d.row("OPENMP_EVENT_KIND_TASK", start=now, end=now + tasks_of_ns, eventClass=78, globalTid=made.T1, nameId=d.text("Explicit Task"), parallelId=2,
              taskId=task + 1 + number, kind=4)
    d.finish()
    result = trace("analyze", "-r", "openmp_imbalance,openmp_barriers,openmp_small_tasks", "-f", "json", path)
    return {rule["rule"]: rule["rows"] for rule in json.loads(result.out)}


def rules():
    uneven = made_regions("uneven", (1000, 200, 200), (0, 800, 800), 5000)
    row = uneven["openmp_imbalance"][0] if uneven["openmp_imbalance"] else {}
    tap.ok((row.get("Idle (ns)"), row.get("Regions"), row.get("Threads")) == (160000000, 100, 3), "openmp_imbalance finds uneven work, and how much it costs",
           str(uneven))
    tap.ok([r["Waited (ns)"] for r in uneven["openmp_barriers"]] == [160000000], "time in barriers ends with the region", str(uneven))
    tap.ok(not uneven["openmp_small_tasks"], "tasks of 5 us are not too small", str(uneven))
    even = made_regions("even", (1000, 1000, 990), (10, 10, 20), 800)
    tap.ok(not even["openmp_imbalance"] and not even["openmp_barriers"], "neither rule finds anything where work is even", str(even))
    tap.ok([r["Tasks"] for r in even["openmp_small_tasks"]] == [2000], "openmp_small_tasks finds tasks of 0.8 us", str(even))
    short = made_regions("short", (100, 100, 100), (100, 100, 100), 5000)
    tap.ok(not short["openmp_imbalance"] and len(short["openmp_barriers"]) == 1, "even work in short regions is time in barriers", str(short))


if not os.path.exists(PROGRAM):
    tap.skip("OpenMP by libomp", "clang or libomp is not installed (libomp-dev)")
    main(other_runtimes, rules)
else:
    main(other_runtimes, rules, constructs, tasks, nested, children, killed, callchains, small_tasks, outlined, off_and_others, named_runtimes)
