#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""Where recorded calls of library functions show besides statistics: flame graphs, the page, the largest costs, comparisons. A program whose library calls
another one is recorded; what is shown is compared with sums of its events that are computed here."""
import collections
import json
import os
import platform
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import Report, folder, main, receipts_agree, tap, trace  # noqa: E402
from libwire import fields, varint  # noqa: E402

PLACE = folder()
LIBRARY = """
#include <time.h>
static void compute(long us)
{
	struct timespec begin, now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < us * 1000);
}
#ifdef INNER
void f_inner(long us) { compute(us); }
#else
void f_inner(long us);
void f_outer(long us)
{
	f_inner(us);
	compute(us);
	f_inner(us);
}
#endif
"""
PROGRAM = """
#include <pthread.h>
#include <stdlib.h>
void f_inner(long us);
void f_outer(long us);
static void *work(void *times)
{
	for (long i = 0; i < (long)times; i++)
		f_outer(200);
	f_inner(100);
	return times;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	long times = argc > 1 ? atol(argv[1]) : 5;
	pthread_create(&thread, NULL, work, (void *)times);
	work((void *)(2 * times));
	return pthread_join(thread, NULL);
}
"""


def build():
    """Compile the libraries and the program; return the program."""
    program = os.path.join(PLACE, "nested")
    inner, outer = (os.path.join(PLACE, f"libnested{which}.so") for which in ("_inner", ""))
    for path, text, options in ((inner, LIBRARY, ["-DINNER", "-shared", "-fPIC", "-Wl,-soname,libnested_inner.so"]),
                                (outer, LIBRARY, ["-shared", "-fPIC", "-Wl,-soname,libnested.so", inner]), (program, PROGRAM, [outer, inner, "-lpthread"])):
        with open(path + ".c", "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run([os.environ.get("CC", "gcc"), "-g", "-o", path, path + ".c", *options, "-Wl,-rpath," + PLACE], check=True)
    return program


def record(name, *arguments, program=build()):
    report = Report(os.path.join(PLACE, name))
    result = trace("run", "-o", report.path, "--functions", "libnested*.so:*", "--functions-backtrace-threshold", "0", "--osrt-backtrace-threshold", "0",
                   "--", program, *arguments)
    tap.ok(result.status == 0 and report.check().status == 0 and receipts_agree(report) is None and not report.dropped(), f"{name} is recorded", result)
    return report


def own_times(report):
    """Return the own time and the number of calls by the path of recorded functions: an outer call's time without that of the calls in it."""
    found = collections.defaultdict(lambda: [0, 0])
    calls = report.events("--kind", "function_call")
    for c in calls:
        inside = [i for i in calls if i["tid"] == c["tid"] and i["level"] == c["level"] + 1 and c["start_ns"] <= i["start_ns"] < c["start_ns"] + c["duration_ns"]]
        around = [o["function"] for o in calls if o["tid"] == c["tid"] and o["level"] < c["level"] and o["start_ns"] <= c["start_ns"] < o["start_ns"] + o["duration_ns"]]
        item = found[c["tid"], *around, c["function"]]
        item[0] += c["duration_ns"] - sum(i["duration_ns"] for i in inside)
        item[1] += 1
    return dict(found)


def folded(report, *options):
    """Return the weights of `folded` by thread and recorded functions, and the callers of the outermost ones."""
    found, callers = {}, set()
    for line in trace("export", "-t", "folded", "--source", "functions", "-o", "-", *options, report.path).out.decode().splitlines():
        stack, _, weight = line.rpartition(" ")
        frames = stack.split(";")
        functions = [f for f in frames[2:] if f.startswith("f_")]
        found[int(re.search(r"\((\d+)\)$", frames[1])[1]), *functions] = int(weight)
        callers.add(tuple(f for f in frames[2:] if not f.startswith("f_"))[-1:])
    return found, callers


def flame_graphs():
    report = record("flame.rep")
    wanted = own_times(report)
    tap.ok({path[1:] for path in wanted} == {("f_outer",), ("f_outer", "f_inner"), ("f_inner",)} and len({path[0] for path in wanted}) == 2, "two threads call both functions", wanted)
    times, callers = folded(report)
    tap.ok(times == {path: item[0] for path, item in wanted.items()}, "folded: each path has its own time", (times, wanted))
    tap.ok(callers == {("work",)}, "folded: the outermost calls are below their callers", callers)
    tap.ok(folded(report, "--weight", "count")[0] == {path: item[1] for path, item in wanted.items()}, "folded: and its number of calls", wanted)
    total = sum(item[0] for item in wanted.values())
    rows = json.loads(trace("stats", "-r", "callchain_flat", "--source", "functions", "-f", "json", report.path).out)
    inner = next(row for row in rows if row["Name"] == "f_inner")
    tap.ok(inner["Module"] == "libnested_inner.so" and inner["Self Time (ns)"] == sum(i[0] for path, i in wanted.items() if path[-1] == "f_inner"), "stats: function and library", rows)
    profile = trace("export", "-t", "pprof", "--source", "functions", "-o", "-", report.path).out
    shown = json.loads(trace("export", "-t", "speedscope", "--source", "functions", "-o", "-", report.path).out)
    sampled = sum(sum(p["weights"]) for p in shown["profiles"] if p["type"] == "sampled" and p["unit"] == "nanoseconds")
    events = sum(1 for p in shown["profiles"] if p["type"] == "evented" for e in p["events"] if e["type"] == "O" and shown["shared"]["frames"][e["frame"]]["name"] == "f_outer")
    tap.ok(sampled == total, "speedscope: the times of all paths", (sampled, total))
    tap.ok(events == 15, "speedscope: and the calls over time", events)
    times = sum(packed(sample[2])[1] for sample in map(fields, fields(profile)[2]))
    tap.ok(times == total, "pprof: the times of all paths", (times, total))
    other = trace("export", "-t", "folded", "-o", "-", report.path)
    calls = sum(item[1] for item in wanted.values())
    tap.ok(f"{calls} function_call (--source functions)".encode() in other.err, "another source: a note says how to see the calls", other.err)
    none = Report(os.path.join(PLACE, "none.rep"))
    trace("run", "-o", none.path, "--", "true")
    refused = trace("export", "-t", "folded", "--source", "functions", "-o", "-", none.path)
    tap.ok(refused.status == 2 and b"record with --functions" in refused.err, "a report without such calls: what to record", refused)


def packed(values):
    """Return the numbers of a packed field."""
    data, at, found = b"".join(values), 0, []
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found


def page():
    report, path = record("page.rep", "20"), os.path.join(PLACE, "page.html")
    text = trace("report", report.path).out.decode()
    costs = text.split("largest costs:")[-1].splitlines()[:3]
    tap.ok(any(line.strip().startswith("f_outer:") for line in costs), "trace report: the function that takes the time is among the largest costs", text[-500:])
    written = trace("report", "--html", "-o", path, report.path)
    if b"built without npm" in written.err:
        tap.skip("the page", "it was not built: no npm")
        return
    with open(path, encoding="utf-8") as file:
        data = json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', file.read(), re.S)[1])
    timeline = data["reports"][0]["timeline"]
    names = {(kind, name, detail) for _, kind, name, detail in timeline["names"]}
    tap.ok(len([t for t in timeline["tracks"] if t[3] == "function"]) == 2 and {("function", "f_outer", "libnested.so"), ("function", "f_inner", "libnested_inner.so")} <= names,
           "the page has a track of functions for each thread", (timeline["tracks"], names))
    details = next((each for each in timeline["details"]["lists"] if "library" in each["labels"]), {"rows": []})
    tap.ok(len(details["rows"]) == len(report.events("--kind", "function_call")), "and details of the calls", details["rows"][:3])
    wanted = collections.defaultdict(lambda: [0, 0])
    for (_, *functions), (ns, count) in own_times(report).items():
        item = wanted[tuple(functions)]
        item[0] += ns
        item[1] += count
    shown = paths_of(next((g for g in data["reports"][0]["flames"] if g["name"] == "functions"), {"nodes": [], "texts": []}))
    tap.ok(shown == {path: tuple(item) for path, item in wanted.items()}, "and a flame graph of them: each path has its own time and its number of calls", (shown, wanted))


def paths_of(graph):
    """Return own time and calls of each node that has calls, by the texts from the outermost one inward."""
    texts, paths, found = dict(graph["texts"]), [()], {}
    for parent, symbol, kind, ns, count in graph["nodes"]:
        paths.append(paths[parent] if kind == 1 else (*paths[parent], texts[symbol]))  # kind 1: the process
        if count:
            found[paths[-1]] = (ns, count)
    return found


def comparison():
    sides = [[record(f"{times}-{n}.rep", str(times)) for n in range(2)] for times in (5, 10)]
    made = trace("diff", "-f", "json", "--force", *(r.path for r in sides[0]), "--", *(r.path for r in sides[1]), limit=100)
    if made.status == 2 and b"numpy" in made.err:
        tap.skip("trace diff", made.err.decode())
        return
    found = {(f["name"], f["metric"]): (f["base"], f["other"]) for f in json.loads(made.out)["findings"] if f["kind"] == "library"}
    tap.ok(found.get(("f_outer (libnested.so)", "count")) == (15, 30) and ("f_inner (libnested_inner.so)", "count") in found, "diff compares the calls of each function", found)


if platform.machine() != "x86_64":
    print("1..0 # SKIP functions of libraries are tried on x86-64 only")
    sys.exit(0)
main(flame_graphs, page, comparison)
