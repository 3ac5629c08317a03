#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""The page's thread states, CPU samples, waits for the GIL and flame graphs of time, in its data and in a browser. SCREENSHOTS=DIR keeps pictures.

The database is written here, so that each state is known to the nanosecond. Programs that know their own times are in thread_time.py and wall_gpu.py.
"""
import collections
import json
import os
import re
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import app, fixtures, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402
from _page import CANVAS, about, find_event, level_rows, search, shows  # noqa: E402
import _made_database as made  # noqa: E402
import _page  # noqa: E402

PLACE = folder()
SHOTS = os.environ.get("SCREENSHOTS")
TABLES = {
    "LIBTRACE_THREAD_TIME": "timestamp, globalTid, which, cpuTime, runDelay, voluntary, involuntary, minorFaults, majorFaults",
    "LIBTRACE_GIL_WAIT": "start, globalTid, duration, holderTid, callchainId, callchainMethod",
    "LIBTRACE_THREAD_START": "timestamp, globalTid, nameId, parentTid, flags, priority",
    "LIBTRACE_THREAD_END": "timestamp, globalTid",
    "LIBTRACE_CPU_SAMPLE": "id INTEGER PRIMARY KEY, cpuTime, flags, nameId",
    "COMPOSITE_EVENTS": "id INTEGER PRIMARY KEY, start, cpu, threadState, globalTid, cpuCycles",
    "SCHED_EVENTS": "start, cpu, isSchedIn, globalTid, threadState, threadBlock",
    **dict.fromkeys(("SAMPLING_CALLCHAINS", "OSRT_CALLCHAINS"), "id, symbol, module, unresolved, specialEntry, originalIP, stackDepth, PRIMARY KEY (id, stackDepth)"),
}
# T1 lives for 1 ms. It is in poll() from 200 to 500 us. Until 800 us it has a CPU for 50 us and is runnable for 250 us; after that, nothing says
# what it did.
STATES = {("running", 0, 200_000), ("blocked", 200_000, 500_000), ("runnable", 500_000, 800_000), ("unknown", 800_000, 1_000_000)}
# T1B has context switches: it loses its CPU, and waits.
SWITCHES = {("running", 0, 100_000), ("runnable", 100_000, 300_000), ("running", 300_000, 400_000), ("blocked", 400_000, 900_000)}
READINGS = ((0, 13, 0, 0), (500_000, 12, 200_000, 0), (800_000, 12, 250_000, 250_000), (1_000_000, 14, 250_000, 250_000))
SAMPLES = ((100_000, 100_000), (190_000, 90_000), (750_000, 60_000))


def database():
    path = os.path.join(PLACE, "states.sqlite")
    if os.path.exists(path):
        return path
    d = made.Made(path)
    for table, columns in TABLES.items():
        d.db.execute(f"CREATE TABLE {table} ({columns})")

    def chain(table, number, *functions):
        for depth, name in enumerate(functions):
            d.row(table, id=number, symbol=d.text(name), module=d.text("/usr/bin/solver"), stackDepth=depth)
    d.row("PROCESSES", globalPid=made.P1, pid=1000, name="solver")
    d.osrt(200_000, 500_000, made.T1, "poll")
    d.db.execute("UPDATE OSRT_API SET callchainId = 1")
    chain("OSRT_CALLCHAINS", 1, "poll", "wait_here", "main")
    d.nvtx(0, 1_000_000, made.T1, "whole")
    d.row("LIBTRACE_THREAD_START", timestamp=0, globalTid=made.T1)
    d.row("LIBTRACE_THREAD_END", timestamp=1_000_000, globalTid=made.T1)
    for time, which, cpu, delay in READINGS:
        d.row("LIBTRACE_THREAD_TIME", timestamp=time, globalTid=made.T1, which=which, cpuTime=cpu, runDelay=delay, voluntary=1, involuntary=1, minorFaults=0, majorFaults=0)
    for number, (time, cpu) in enumerate(SAMPLES, 1):
        d.row("COMPOSITE_EVENTS", id=number, start=time, cpu=2, threadState=1, globalTid=made.T1, cpuCycles=1)
        d.row("LIBTRACE_CPU_SAMPLE", id=number, cpuTime=cpu, flags=0)
        chain("SAMPLING_CALLCHAINS", number, "hot" if number < 3 else "cold", "main")
    d.row("LIBTRACE_GIL_WAIT", start=300_000, globalTid=made.T1, duration=150_000, holderTid=1001, callchainId=1, callchainMethod=0)
    for time, is_in, state in ((0, 1, None), (100_000, 0, 1), (300_000, 1, None), (400_000, 0, 2), (900_000, 1, None)):
        d.row("SCHED_EVENTS", start=time, cpu=3, isSchedIn=is_in, globalTid=made.T1B, threadState=state)
    d.finish()
    return path


def page(name, *files):
    path = os.path.join(PLACE, name + ".html")
    return _page.write(path, *files).reports[0], path


def texts(browser, selector):
    return browser.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)")


# ---- data ----

def states_of(report, tid):
    """Return the states {(state, start, end)} of a thread at the finest level, and their details."""
    timeline = report["timeline"]
    names = {number: (text, detail) for number, kind, text, detail in timeline["names"]}
    tracks = {track[0] for track in timeline["tracks"] if track[2] == tid and track[3] == "state"}
    rows = [row for row in level_rows(timeline["levels"][0]) if row.track in tracks]
    return {(names[row.name][0], row.start, row.start + row.length) for row in rows}, {names[row.name] for row in rows}


def data_of_states():
    report, _ = page("states", database())
    found, details = states_of(report, 1000)
    tap.ok(found == STATES, "states of a thread, from calls and readings", found)
    tap.ok(("blocked", "in poll") in details and any(text == "runnable" and "running 20 %, runnable 80 %" in detail for text, detail in details), "with what they are based on", details)
    found, details = states_of(report, 1001)
    tap.ok(found == SWITCHES and ("running", "on CPU 3") in details, "states of a thread with context switches", (found, details))
    timeline = report["timeline"]
    order = [track[3] for track in timeline["tracks"] if track[2] == 1000]
    tap.ok(order == ["nvtx", "state", "sample", "gil", "osrt"], "states, samples and waits for the GIL are under the ranges", order)
    tap.ok(timeline["events"] == 1 + 1 + len(SAMPLES) + 1, "states are not counted as events", timeline["events"])


def sums(graph, kind=None):
    return sum(node[3] for node in graph["nodes"] if kind in (None, node[2]))


def data_of_flames():
    report, _ = page("states", database())
    graphs = {graph["name"]: graph for graph in report["flames"]}
    tap.ok(list(graphs) == ["wall", "offcpu", "cpu", "calls"], "four flame graphs", list(graphs))
    tap.ok(sums(graphs["wall"]) == 1_000_000 and sums(graphs["offcpu"]) == 750_000 and sums(graphs["cpu"]) == 250_000 and sums(graphs["calls"]) == 300_000,
           "wall time is the thread's life, off-CPU time all but its processor time", {name: sums(graph) for name, graph in graphs.items()})
    names = dict(graphs["wall"]["texts"])
    kinds = {names[node[1]]: node[2] for node in graphs["wall"]["nodes"] if node[2] > 1}
    tap.ok(kinds == {"poll": 2, "[runnable, no CPU]": 4, "[unknown]": 4}, "leaves are waits and states", kinds)


def data_of_nsys():
    """Check a database of nsys with samples and context switches: all its samples, and states without the threads' account."""
    path = os.path.join(fixtures("nsys"), "nvtx_sampling-2023.3.1.sqlite")
    if not os.path.exists(path):
        tap.skip("a database of nsys", "no fixtures")
        return
    report, _ = page("nsys", path)
    wanted = json.loads(trace("query", "-f", "json", path, "SELECT sum(c.cpuCycles) AS samples, count(DISTINCT c.globalTid) AS threads FROM COMPOSITE_EVENTS AS c "
                              "WHERE c.id IN (SELECT id FROM SAMPLING_CALLCHAINS)").out)[0]
    graphs = {graph["name"]: graph for graph in report["flames"]}
    tap.ok("wall" not in graphs and sum(node[4] for node in graphs["cpu"]["nodes"]) == wanted["samples"], "the flame graph has the samples", (list(graphs), wanted))
    switched = json.loads(trace("query", "-f", "json", path, "SELECT globalTid & 16777215 AS tid, start, lead(start) OVER (PARTITION BY globalTid ORDER BY start) - start AS ns, isSchedIn FROM SCHED_EVENTS").out)
    running = collections.Counter()
    for row in switched:
        running[row["tid"]] += row["ns"] or 0 if row["isSchedIn"] else 0
    found = {tid: sum(end - start for state, start, end in states_of(report, tid)[0] if state == "running") for tid in running}
    tap.ok(running and found == running, "threads run between their switches", (found, running))


def data_of_odd_rows():
    """Check that a row whose values are of other types does not cost the page."""
    path = os.path.join(PLACE, "odd.sqlite")
    shutil.copy(database(), path)
    db = sqlite3.connect(path)
    db.execute("INSERT INTO LIBTRACE_THREAD_TIME (timestamp, globalTid, which, cpuTime) VALUES ('when', 'who', X'00', NULL), (NULL, 1.5, 13, 'much')")
    db.execute("INSERT INTO SCHED_EVENTS VALUES ('text', NULL, 'in', 'thread', X'ff', 0)")
    db.commit()
    db.close()
    report, _ = page("odd", path)
    tap.ok(states_of(report, 1000)[0] == STATES, "rows of other types are left out", states_of(report, 1000)[0])


# ---- in a browser ----

def track_and_details(browser):
    """Check what a click on each of the new tracks shows."""
    shows(browser, "states", page("states", database())[1])
    for wanted, lines in (("runnable", {"how": "running 20 %"}), ("blocked", {"how": "in poll"})):
        browser.click(*find_event(browser, wanted, lines["how"]))
        shown, _ = about(browser)
        tap.ok(lines["how"] in shown.get("how", "") and "states" in shown["where"], f"a click on {wanted} says how that is known", shown)
        tap.ok("the longest" not in texts(browser, _page.ABOUT)[0], "and does not speak of details that it never has", texts(browser, _page.ABOUT))
    search(browser, "cold")
    lines, frames = about(browser)
    tap.ok(lines.get("on CPU") == "2" and lines.get("processor time since the last sample (ns)") == "60000" and [frame.split()[0] for frame in frames] == ["cold", "main"],
           "a sample has its CPU, time and callchain", (lines, frames))
    search(browser, "wait for the GIL")
    lines, frames = about(browser)
    tap.ok(lines.get("held by thread") == "1001" and lines["lasted"] == "150.0 us" and [frame.split()[0] for frame in frames] == ["poll", "wait_here", "main"],
           "a wait for the GIL has its holder and callchain", (lines, frames))


def for_everybody(browser):
    """Check the legend, and what screen readers get."""
    shows(browser, "legend", page("states", database())[1])
    legend = texts(browser, ".timeline .legend span")
    tap.ok({"thread running", "runnable, without a CPU", "blocked", "state unknown", "CPU samples", "waits for the GIL"} <= set(legend), "the legend names all states", legend)
    hatched = browser.evaluate("[...document.querySelectorAll('.timeline .legend span')].filter((s) => s.querySelector('i.waits')).map((s) => s.textContent)")
    tap.ok({"blocked", "waits for the GIL"} <= set(hatched) and "thread running" not in hatched, "waits differ not only by color", hatched)
    said = []
    for key in ["ArrowDown"] * 6 + ["ArrowRight"] * 2:
        browser.evaluate(f"document.querySelector({json.dumps(CANVAS)}).dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}'}}))")
        said.append(texts(browser, ".timeline .spoken")[0])
        if ": states" in said[-1]:
            break
    browser.evaluate(f"document.querySelector({json.dumps(CANVAS)}).dispatchEvent(new KeyboardEvent('keydown', {{key: 'ArrowRight'}}))")
    state = texts(browser, ".timeline .spoken")[0]
    tap.ok(said[-1].endswith("states, 4 events in view") and state.startswith("running in no recorded call; then: running 100 %"), "the arrow keys read tracks and states aloud", (said, state))
    if SHOTS:
        os.makedirs(SHOTS, exist_ok=True)
        browser.screenshot(os.path.join(SHOTS, "states.png"), True)


def flame_graphs(browser):
    """Check the graphs of the chooser: names, sums, colors and descriptions."""
    shows(browser, "flame graphs", page("states", database())[1])
    choose = ("(() => { const s = document.querySelector('.flamegraph select[aria-label=graph]'); s.value = '%s'; s.dispatchEvent(new Event('change')); "
              "return [document.querySelector('.flamegraph canvas').getAttribute('aria-label').split(':')[0], document.querySelector('.flamegraph select[aria-label=weight]').lastChild.textContent]; })()")
    options = texts(browser, ".flamegraph select[aria-label=graph] option")
    tap.ok(options == ["wall time of threads", "off-CPU time of threads", "on-CPU samples", "recorded calls"], "a chooser of graphs", options)

    def keys(*names):
        for name in names:
            browser.evaluate(f"document.querySelector('.flamegraph canvas').dispatchEvent(new KeyboardEvent('keydown', {{key: '{name}'}}))")
        return texts(browser, ".flamegraph .status")[0]
    seen = {}
    for name, noun in (("wall", "event"), ("offcpu", "wait"), ("cpu", "sample"), ("calls", "call")):
        label = browser.evaluate(choose % name)
        seen[name] = keys("Escape", "ArrowDown")
        tap.ok(label == [options[len(seen) - 1], f"by {noun}s"], f"{name}: the picture and its weights have names", label)
    tap.ok([text.rsplit("\u00b7 ", 1)[1] for text in seen.values()] == ["1.000 ms", "750.0 us", "250.0 us", "300.0 us"], "each graph has its sum", seen)
    browser.evaluate(choose % "wall")
    leaf = keys("Escape", *["ArrowDown"] * 2, *["ArrowDown"] * 2)
    tap.ok(leaf.endswith("poll \u00b7 300.0 us \u00b7 call that waited") and "main \u203a wait_here" in leaf, "a leaf says that it waited", leaf)
    legend = texts(browser, ".flamegraph .legend span")
    tap.ok("call that waited" in legend and "no CPU, stopped or unknown" in legend and "function: the innermost ran" in legend, "and so does the legend", legend)
    colors = browser.evaluate("(() => { const c = document.querySelector('.flamegraph canvas'); const d = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer); return new Set(d).size; })()")
    tap.ok(colors > 5, "it is drawn", colors)


def real_program(browser):
    """Check a page of a program with samples: the first graph is that of wall time, and a sum of an area leaves states out."""
    path, spool = os.path.join(PLACE, "accounted.rep"), spool_folder()
    run([app("accounted"), "threads", "300"], env=traced_env(path, spool, LIBTRACE_SAMPLE="process-tree"))
    wait_spool_gone(spool)
    report, file = page("accounted", path)
    lives = json.loads(trace("stats", "-r", "thread_time_sum", "-f", "json", path).out)
    graphs = {graph["name"]: graph for graph in report["flames"]}
    whole = sum(row["Life (ns)"] for row in lives)
    tap.ok("wall" in graphs and abs(sums(graphs["wall"]) - whole) <= 1000 * len(lives), "wall time adds up to the threads' lives", (sums(graphs["wall"]), whole))
    shows(browser, "a program with samples", file)
    tap.ok(texts(browser, ".flamegraph select[aria-label=graph] option")[0] == "wall time of threads", "its first flame graph is that of wall time")
    browser.evaluate("[...document.querySelectorAll('.timeline .toolbar button')].find((b) => b.textContent === 'sum').click()")
    lines, _ = about(browser)
    calls = json.loads(trace("query", "-f", "json", path, 'SELECT sum("end" - start) AS ns FROM OSRT_API WHERE eventClass = 27').out)[0]["ns"]
    unit = {"ms": 1e6, "s": 1e9, "us": 1e3}
    number, name = lines["time in calls and on GPUs"].split()
    tap.ok(abs(float(number) * unit[name] - calls) <= 0.001 * calls + 1000, "states and samples are in no sum of time", (lines, calls))


def modules_of_two_builds(browser):
    """Check that a table of two captures joins the functions of a module that was in two folders."""
    paths = []
    for place in ("/build/a", "/build/b/lib"):
        paths.append(os.path.join(PLACE, place.replace("/", "-") + ".sqlite"))
        shutil.copy(database(), paths[-1])
        with sqlite3.connect(paths[-1]) as d:
            d.execute("UPDATE StringIds SET value = ? WHERE value = '/usr/bin/solver'", (f"{place}/solver",))
    browser.open(page("two-builds", *paths)[1])
    rows = browser.evaluate("[...document.querySelectorAll('#comparison details')].filter((d) => /CPU Samples by Function/.test(d.firstChild.textContent))"
                            ".flatMap((d) => [...d.querySelectorAll('tbody tr')].map((r) => [...r.children].map((c) => c.textContent)))")
    tap.ok(len(rows) == 3 and all(row[0] == row[1] for row in rows) and {row[-1] for row in rows} == {"hot solver", "cold solver", "main solver"}, "functions of two builds are joined", rows)


def many_processes(browser):
    """Check that of a deep tree of processes only the first and its children are unfolded."""
    report = os.path.join(PLACE, "deep.rep")
    code = "f() { [ $1 -eq 0 ] || (f $(($1 - 1)); :); }; f 24"  # each subshell starts the next one
    done = trace("run", "-o", report, "--", "sh", "-c", code)
    shows(browser, "many processes", page("deep", report)[1])
    press = ("(() => { document.querySelector(%s).dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown'})); return document.querySelector('.timeline .spoken').textContent; })()"
             % json.dumps(CANVAS))
    said = [browser.evaluate(press) for _ in range(40)]
    heads = list(dict.fromkeys(line for line in said if re.search(r"^sh .*, (open|closed)", line)))
    tap.ok(len(heads) == 2 and ", folded" in heads[1] and ", folded" not in heads[0], "descendants of the children are folded", (heads, said[:6], done.err))
    tap.ok(browser.evaluate("getComputedStyle(document.querySelector('#tables th.number')).whiteSpace") == "normal", "headings of numbers are wrapped where a table would not fit")


def in_browser():
    _page.run_in_browser((track_and_details, many_processes, modules_of_two_builds, for_everybody, flame_graphs, real_program))


BUILT = b"built without npm" not in trace("report", "--html", "-o", os.path.join(PLACE, "first.html"), database()).err
if BUILT:
    main(data_of_states, data_of_flames, data_of_nsys, data_of_odd_rows, in_browser)
else:
    tap.skip("the page's states", "the page was not built: no npm")
    tap.finish()
