#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""The pages of `trace report --html` and `trace diff --html` besides the timeline: first screen, tables, flame graphs. SCREENSHOTS=DIR keeps pictures."""
import json
import os
import pty
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import TRACE, app, clean_env, fixtures, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402
import _made_database as made  # noqa: E402
import _page  # noqa: E402
from _page import about, search  # noqa: E402

PLACE = folder()
SHOTS = os.environ.get("SCREENSHOTS")


def page(name, *files):
    """Return the data of the page of `files`, and its path."""
    path = os.path.join(PLACE, name + ".html")
    return _page.write(path, *files).content, path


def facts_of(report):
    return dict(report["facts"])


def traced(name, *command, **more):
    path, spool = os.path.join(PLACE, name + ".rep"), spool_folder()
    run(list(command), env=traced_env(path, spool, **more))
    wait_spool_gone(spool)
    return path


def texts(browser, selector):
    return browser.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)")


def shows(browser, name, path):
    browser.open(path)
    _, wrong = browser.requests()
    failed = browser.evaluate("document.documentElement.dataset.failed || ''")
    tap.ok(not failed and not wrong, f"{name}: shown without a complaint", (failed, wrong))
    if SHOTS:
        os.makedirs(SHOTS, exist_ok=True)
        browser.screenshot(os.path.join(SHOTS, name.replace(" ", "-") + ".png"), True)


# ---- first screen ----

REPORT = traced("calls", app("lock_holder"), LIBTRACE_OSRT_BACKTRACE_THRESHOLD=0)
NSYS = {"2022": ("EXPORT_META_DATA", "2022.1.3.3", "2.9.1"), "2026": ("META_DATA_EXPORT", "2026.1.3.425", "3.24.18")}


def nsys_database(version):
    """Create a database with one kernel, and with the tables of this version of nsys that describe the recording."""
    path = os.path.join(PLACE, f"nsys-{version}.sqlite")
    if os.path.exists(path):
        return path
    d = made.Made(path)
    d.kernel(1000, 251000, made.P1, 1, "void add<float>(float *, int)", "add")
    table, product, schema = NSYS[version]
    d.db.execute(f"CREATE TABLE IF NOT EXISTS {table} (name TEXT NOT NULL, value TEXT)")
    for name, value in (("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"), ("EXPORT_PRODUCT_VERSION", product), ("EXPORT_SCHEMA_VERSION", schema)):
        d.row(table, name=name, value=value)
    d.row("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1783304336779662573, utcTime="2026-07-06T02:18:56", localTime="2026-07-05T21:18:56", systemClockNs=5)
    d.row("ANALYSIS_DETAILS", globalVid=made.GLOBAL, duration=606865969, startTime=5, stopTime=606865974)
    for number in range(2):
        d.row("TARGET_INFO_GPU", vmId=made.GLOBAL, id=number, name="NVIDIA RTX A4500")
    d.db.execute("CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum INTEGER, value TEXT)")
    for name, value in (("Hostname", "node7"), ("CpuCores", "32"), ("OsDescription", "Ubuntu 26.04 LTS")):
        d.row("TARGET_INFO_SYSTEM_ENV", name=name, value=value)
    if version != "2022":
        d.db.execute("CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT)")
        for name, value in (("PROCESS_0:COMMAND", "build/solve"), ("PROCESS_0:ARGUMENT_0", "--token"), ("PROCESS_0:ARGUMENT_1", "s3cret"), ("PROCESS_0:ARGUMENT_2", "big.mtx")):
            d.row("META_DATA_CAPTURE", name=name, value=value)
    d.finish()
    return path


def facts_of_reports():
    facts = facts_of(page("calls", REPORT)[0]["reports"][0])
    info = json.loads(trace("info", "--json", REPORT).out)
    tap.ok(facts["command"] == app("lock_holder") and facts["ended"] == "exit 0" and facts["host"] == info["session"]["hostname"] and facts["lasted"].endswith(" s"),
           "a report says what ran, how it ended, how long, and where", facts)
    killed = facts_of(page("killed", traced("killed", "sh", "-c", "kill -TERM $$"))[0]["reports"][0])
    tap.ok(killed["command"] == "sh -c kill -TERM $$" and not killed["ended"].startswith("exit 0"), "a program that was killed did not end well", killed)
    text = trace("report", REPORT).out.decode()
    tap.ok(f"command           {app('lock_holder')}\nended             exit 0\n" in text, "the text has the same facts", text[:400])


def facts_of_databases():
    for version, (_, product, schema) in NSYS.items():
        facts = facts_of(page(f"nsys-{version}", nsys_database(version))[0]["reports"][0])
        wanted = {"version": f"NVIDIA Nsight Systems {product}, schema {schema}", "began": "2026-07-06 02:18:56 UTC", "lasted": "0.606866 s", "GPU": "2 x NVIDIA RTX A4500",
                  "host": "node7", "system": "Ubuntu 26.04 LTS, 32 processors"}
        tap.ok({name: facts.get(name) for name in wanted} == wanted, f"a database of nsys {version} says its version, date, GPU and duration", facts)
        tap.ok(facts.get("command") == (None if version == "2022" else "build/solve --token REDACTED big.mtx"), f"nsys {version}: the command without its secrets", facts)
    odd = os.path.join(PLACE, "odd.sqlite")
    d = made.Made(odd)
    d.osrt(0, 100, made.T1, "read")
    d.db.execute("CREATE TABLE META_DATA_CAPTURE (value INTEGER PRIMARY KEY, other) WITHOUT ROWID")
    d.db.execute("CREATE TABLE TARGET_INFO_SYSTEM_ENV (value)")
    d.db.execute("INSERT INTO TARGET_INFO_GPU VALUES (1, 1, x'ff00', NULL)")
    d.db.execute("INSERT INTO ANALYSIS_DETAILS VALUES (1, 'long', x'00', 2.5)")
    d.finish()
    result = trace("report", odd)
    tap.ok(result.status == 0 and not result.err and b"read" in result.out, "facts in tables of another shape are left out", result)


def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def field(number, value):
    """Encode a field of protobuf: a number, or bytes."""
    return varint(number << 3) + varint(value) if isinstance(value, int) else varint(number << 3 | 2) + varint(len(value)) + value


def plane(name, stats=(), events=()):
    """Encode a plane of an XSpace: its name, its stats, and a line with events (name, start, ns)."""
    out = field(2, name.encode())
    if events:
        out += field(3, field(1, 7) + field(2, b"line") + b"".join(field(4, field(1, at) + field(2, start * 1000) + field(3, ns * 1000)) for at, (_, start, ns) in enumerate(events, 1)))
    out += b"".join(field(4, field(1, at) + field(2, field(1, at) + field(2, event[0].encode()))) for at, event in enumerate(events, 1))
    out += b"".join(field(5, field(1, at) + field(2, field(1, at) + field(2, stat.encode()))) for at, (stat, _) in enumerate(stats, 1))
    return field(1, out + b"".join(field(6, field(1, at) + (field(3, value) if isinstance(value, int) else field(5, value.encode()))) for at, (_, value) in enumerate(stats, 1)))


def xspace(name, *planes, hosts=()):
    path = os.path.join(PLACE, name + ".xplane.pb")
    with open(path, "wb") as file:
        file.write(b"".join(planes) + b"".join(field(4, host.encode()) for host in hosts))
    return path


GPU_STATS = (("device_vendor", "AMD"), ("core_count", 304), ("memory_size", 206141652992))


def facts_of_xspaces():
    host = plane("/host:CPU", (), (("matmul", 1000, 4000), ("matmul", 9000, 2000), ("argsort", 6000, 500)))
    whole = xspace("whole", *(plane(f"/device:GPU:{number}", GPU_STATS) for number in range(3)), plane("/device:TPU:0", (("device_type_string", "TPU v4"),)), plane("/device:CUSTOM:sums"), host,
                   plane("Task Environment", (("profile_start_time", 1772334000 * 10**9), ("profile_stop_time", 1772334002 * 10**9 + 500_000_000))), hosts=("node7",))
    facts = facts_of(page("whole", whole)[0]["reports"][0])
    wanted = {"host": "node7", "GPU": "3 x AMD (304 cores, 206.1 GB)", "device": "TPU TPU v4", "began": "2026-03-01 03:00:00 UTC", "lasted": "2.500000 s", "events": "3 in 1 lines of 1 planes"}
    tap.ok({name: facts.get(name) for name in wanted} == wanted and "XSpace" in facts["version"], "an XSpace says its host, devices, date, duration and number of events", facts)
    text = trace("report", whole).out.decode()
    tap.ok(all(f"{name:18}{value}\n" in text for name, value in wanted.items()), "the text has the same facts", text[:800])
    bare = page("bare", xspace("bare", host))[0]["reports"][0]
    tap.ok(bare["ranges"] == "host events" and page("one-nsys", nsys_database("2026"))[0]["reports"][0]["ranges"] == "NVTX", "ranges of an XSpace are not called NVTX", bare["ranges"])
    bare = facts_of(bare)
    tap.ok(bare["lasted"] == "0.000010 s, from the first event to the last" and not {"host", "GPU", "device", "began"} & set(bare), "of a CPU alone, without a start, the events say how long it lasted", bare)
    evil = facts_of(page("evil", xspace("evil", plane("/device:GPU:0", (("gpu_device_name", "x" * 5000), ("core_count", 2**63), ("memory_size", 2**64 - 1))),
                                        plane("/device:" + "y" * 5000), *(plane(f"/device:KIND{number}:0") for number in range(40)), host, hosts=("h" * 5000, "i" * 5000)))[0]["reports"][0])
    tap.ok(evil["events"].startswith("3 in ") and max(map(len, evil.values())) < 400, "long names of an XSpace are cut", evil)
    real = fixtures("xplane")
    for name, (events, where, gpu) in {"jax08_gemm": (3782, "tw003", "8 x AMD (304 cores, 206.1 GB)"), "own_cuda_min": (7, "demo-host", "Example GPU (132 cores, 150.8 GB)")}.items():
        path = os.path.join(real, name + ".xplane.pb")
        if not os.path.exists(path):
            tap.skip(f"an XSpace of JAX: {name}", f"none in {real}")
            continue
        report = page(name, path)[0]["reports"][0]
        facts = facts_of(report)
        tap.ok(facts["events"].startswith(f"{events} in ") and facts["host"] == where and facts["GPU"] == gpu and float(facts["lasted"].split()[0]) > 0, f"{name}: its facts", facts)
        tap.ok(report["api"] == ("HIP" if name == "jax08_gemm" else "CUDA"), f"{name}: the API of its GPUs", report["api"])


def browser_xspace(browser):
    path = os.path.join(fixtures("xplane"), "jax08_gemm.xplane.pb")
    if not os.path.exists(path):
        tap.skip("the first screen of an XSpace", f"none in {fixtures('xplane')}")
        return
    shows(browser, "an XSpace of JAX", page("jax08_gemm", path)[1])
    said = dict(zip(texts(browser, "#summary .first dt"), texts(browser, "#summary .first dd")))
    tap.ok(list(said) == ["lasted", "GPU", "host", "began", "version", "events"], "the first screen has what the file says", said)
    costs = texts(browser, ".costs li a")
    rows = {row["Name"] for row in json.loads(trace("stats", "-r", "cuda_gpu_kern_sum", "-f", "json", path).out)}
    tap.ok(len(costs) == 3 and set(costs) <= rows, "and the three largest costs", costs)
    low = browser.evaluate("document.querySelector('.costs').getBoundingClientRect().bottom")
    tap.ok(low < 500, "long names of kernels do not push all else from the first screen", low)
    legend = texts(browser, ".timeline .legend")[0]
    tap.ok("HIP API" in legend and "CUDA" not in legend, "calls of HIP are not called CUDA", legend)
    tap.ok("NVTX" not in legend, "and ranges not NVTX", legend)
    status = browser.wait("document.querySelector('.timeline .status')?.textContent")
    tap.ok(status.startswith("3,782 events"), "all its events are in the timeline", status)


def waits_database():
    """Create a database in which three functions that wait take more time than all work."""
    path = os.path.join(PLACE, "long-waits.sqlite")
    if not os.path.exists(path):
        d = made.Made(path)
        for at, (name, ns) in enumerate((("poll", 9_000_000), ("epoll_wait", 7_000_000), ("sleep", 5_000_000), ("read", 400_000), ("main", 300_000), ("write", 200_000))):
            d.osrt(at * 10**7, at * 10**7 + ns, made.T1, name)
        d.finish()
    return path


def costs_name_what_they_leave_out():
    text = trace("report", waits_database()).out.decode()
    costs = text.split("largest costs:")[-1]
    tap.ok([name for name in ("poll:", "read:", "main:") if name in costs] == ["poll:", "read:", "main:"] and "Of OS functions that wait, only the longest is listed; the next is epoll_wait." in " ".join(costs.split()),
           "text: the largest costs say that a longer wait is left out", costs)
    tap.ok("poll: 9.000 ms in 1 call, waiting" in costs and "read: 400.000 us in 1 call, may have waited" in costs and "main: 300.000 us in 1 call (" in costs,
           "text: and which of them wait, and which may have waited, such as reads of pipes", costs)
    path = os.path.join(PLACE, "one-wait.sqlite")
    d = made.Made(path)
    for at, (name, ns) in enumerate((("poll", 9_000_000), ("read", 400_000), ("main", 300_000), ("write", 200_000), ("sleep", 100_000))):
        d.osrt(at * 10**7, at * 10**7 + ns, made.T1, name)
    d.finish()
    text = trace("report", path).out.decode()
    tap.ok("largest costs:" in text and "that wait, only" not in text, "and nothing where none is left out", text[-500:])


def sampled_database():
    """Create a database of a program of OpenMP with CPU samples, in which lifetimes and a call that blocks are longest."""
    path = os.path.join(PLACE, "sampled.sqlite")
    if os.path.exists(path):
        return path
    d = made.Made(path)
    d.row("PROCESSES", globalPid=made.P1, pid=1000, name="solver")
    for kind, columns in (("PARALLEL", "parallelId INTEGER, parentTaskId INTEGER"), ("WORKSHARE", "parallelId INTEGER, taskId INTEGER, count INTEGER"),
                          ("CRITICAL_SECTION", "waitId INTEGER")):
        d.db.execute(f"DROP TABLE IF EXISTS OPENMP_EVENT_KIND_{kind}")
        d.db.execute(f"CREATE TABLE OPENMP_EVENT_KIND_{kind} (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, {columns})")
    for kind, name, ns, numbers in (("TASK", "Implicit Task", 9_000_000, {}), ("TASK", "Task", 8_000_000, {}), ("PARALLEL", "Initial Thread", 7_000_000, {"parallelId": 1, "parentTaskId": 0}),
                                    ("PARALLEL", "Parallel Region", 300_000, {"parallelId": 7, "parentTaskId": 3}),
                                    ("WORKSHARE", "Loop Region", 200_000, {"parallelId": 7, "taskId": 5, "count": 64}),
                                    ("CRITICAL_SECTION", "Critical Region", 100_000, {"waitId": 0xabc})):
        d.row(f"OPENMP_EVENT_KIND_{kind}", start=0, end=ns, eventClass=78, globalTid=made.T1, nameId=d.text(name), **numbers)
    d.osrt(0, 6_000_000, made.T1, "read")
    d.osrt(0, 5_000_000, made.T1, "poll")
    for table, columns in (("COMPOSITE_EVENTS", "id INTEGER PRIMARY KEY, start INTEGER, cpu INTEGER, threadState INTEGER, globalTid INTEGER, cpuCycles INTEGER"),
                           ("SAMPLING_CALLCHAINS", "id INTEGER, symbol INTEGER, module INTEGER, unresolved INTEGER, specialEntry INTEGER, originalIP INTEGER, stackDepth INTEGER"),
                           ("LIBTRACE_CPU_SAMPLE", "id INTEGER, cpuTime INTEGER, nameId INTEGER"),
                           ("LIBTRACE_STREAM_WRITE", "timestamp INTEGER, globalTid INTEGER, stream INTEGER, textId INTEGER, redirected INTEGER")):
        d.db.execute(f"CREATE TABLE {table} ({columns})")
    for number in range(4):
        d.row("COMPOSITE_EVENTS", id=number, start=number * 1000, cpu=0, globalTid=made.T1, cpuCycles=1)
        d.row("SAMPLING_CALLCHAINS", id=number, symbol=d.text("multiply"), module=d.text("/usr/bin/solver"), stackDepth=0)
        d.row("LIBTRACE_CPU_SAMPLE", id=number, cpuTime=1_000_000)
    d.row("LIBTRACE_STREAM_WRITE", timestamp=2000, globalTid=made.T1, stream=2, textId=d.text("step 1\n"), redirected=0)
    d.finish()
    return path


def costs_are_costs():
    text = trace("report", sampled_database()).out.decode()
    costs = [line.split(":")[0].strip() for line in text.split("largest costs:")[-1].splitlines()[:3]]
    tap.ok(costs == ["poll", "multiply", "Parallel Region"], "lifetimes of OpenMP are no costs, nor a call that may have waited where samples say what computed", text[-700:])
    timeline = page("sampled", sampled_database())[0]["reports"][0]["timeline"]
    tracks = {track[3] for track in timeline["tracks"]}
    names = {(kind, text, detail) for _, kind, text, detail in timeline["names"]}
    tap.ok({"openmp", "output"} <= tracks and {("openmp", "Parallel Region", ""), ("output", "step 1\n", "standard error")} <= names and ("openmp", "Implicit Task", "") not in names,
           "regions of OpenMP and output have tracks in the timeline, implicit tasks have none", (tracks, names))


def browser_details(browser):
    """Check what a click on events of OpenMP and of output shows."""
    shows(browser, "details of OpenMP and output", page("sampled-details", sampled_database())[1])
    for text, wanted in (("Parallel Region", {"region number": "7", "number of the parent task": "3"}),
                         ("Loop Region", {"region number": "7", "task number": "5", "iterations or sections": "64"}), ("Critical Region", {"lock": "0xabc"}),
                         ("step 1", {"stream": "standard error", "bytes": "7", "text": "step 1\n"})):
        search(browser, text)
        lines = about(browser)[0]
        tap.ok(wanted.items() <= lines.items(), f"a click on '{text}' shows what the tables have about it", lines)


def browser_costs(browser):
    shows(browser, "samples and OpenMP", page("sampled", sampled_database())[1])
    tap.ok(texts(browser, ".costs li a") == ["poll", "multiply", "Parallel Region"], "the page has the same costs", texts(browser, ".costs li"))
    legend = texts(browser, ".timeline .legend")[0]
    tap.ok("OpenMP" in legend and "output" in legend, "the legend has OpenMP and output", legend)
    shows(browser, "long waits", page("long-waits", waits_database())[1])
    left = texts(browser, ".costs .left-out")
    tap.ok(texts(browser, ".costs li a") == ["poll", "read", "main"] and left == ["Of OS functions that wait, only the longest is listed; also long: epoll_wait 7.000 ms, sleep 5.000 ms"],
           "the page says which waits are left out of the largest costs", left)
    browser.evaluate("document.querySelector('.costs .left-out a').click()")
    tap.ok(texts(browser, "#tables tr.marked td:last-child") == ["epoll_wait"], "with links to them", texts(browser, "#tables tr.marked"))


def browser_first_screen(browser):
    content, path = page("calls", REPORT)
    shows(browser, "first screen", path)
    tap.ok(browser.evaluate("document.title") == "calls.rep (lock_holder) \u2013 libtrace" and texts(browser, "h1") == ["calls.rep (lock_holder)"],
           "the title names file and program", browser.evaluate("document.title"))
    tap.ok(texts(browser, "#summary .first dt")[:3] == ["command", "ended", "lasted"] and texts(browser, "#summary .verdict") == ["verdict: " + content["reports"][0]["verdict"]],
           "the first screen begins with what ran, and has the verdict", texts(browser, "#summary .first dt"))
    rows = json.loads(trace("stats", "-r", "osrt_sum", "-f", "json", REPORT).out)
    costs = texts(browser, ".costs li a")
    waits = [name for name in costs if name in ("pthread_join", "pthread_barrier_wait")]
    tap.ok(len(costs) == 3 and costs[0] == rows[0]["Name"] and set(costs) <= {row["Name"] for row in rows} and len(waits) <= 1, "the three largest costs, one wait at most", (costs, rows[:4]))
    last = browser.evaluate("(() => { document.querySelectorAll('#tables details').forEach((d) => { d.open = false; }); const a = document.querySelector('.costs li:last-child a'); "
                            "a.click(); const d = document.getElementById(a.hash.slice(1)); return [d.open, d.querySelector('tr.marked td:last-child').textContent]; })()")
    tap.ok(last == [True, costs[2]], "the link of a cost opens its table and marks its row", last)
    one, path = page("nsys-2026", nsys_database("2026"))
    shows(browser, "a database of nsys", path)
    browser.wait("document.querySelector('.timeline .status')?.textContent")  # drawn after the first frame
    tap.ok(one["reports"][0]["timeline"]["events"] == 1 and texts(browser, ".timeline .status")[0].startswith("1 event \u00b7"), "one event is no plural", texts(browser, ".timeline .status"))
    tap.ok(texts(browser, ".costs li small")[0].startswith(" 250.0 us in 1 launch \u00b7"), "the cost of a single kernel", texts(browser, ".costs li"))


# ---- tables ----

LONG_NAME = "void " + "cutlass::" * 150 + "kernel<float>(float *, int)"


def steps_database(name, count):
    """Create ranges with different numbers in their names, and kernels with very different times, one with a long name."""
    path = os.path.join(PLACE, name + ".sqlite")
    if os.path.exists(path):
        return path
    d = made.Made(path)
    for number in range(count):
        d.nvtx(number * 2000, number * 2000 + 1000 + number, made.T1, f"step {number}, loss 0.{number}")
    d.nvtx(0, 2000 * count, made.T1, "epoch")
    for number, ns in enumerate((900, 45_000_000, 2_500_000)):
        d.kernel(10, 10 + ns, made.P1, number + 1, LONG_NAME if number else "short()", "short")
    d.finish()
    return path


def table_of(content, name, side=0):
    return next(each for each in content["reports"][side]["tables"] if each["name"] == name)


def names_are_merged():
    table = table_of(page("steps", steps_database("steps", 300))[0], "nvtx_sum")
    rows = {row[-1]: row for row in table["rows"]}
    lengths = [1000 + number for number in range(300)]
    tap.ok(set(rows) == {":epoch", ":step #, loss #.#"} and table["merged"] == [301, 2], "hundreds of names that differ in numbers are one", table)
    step = rows.get(":step #, loss #.#", [None] * 9)
    tap.ok(step[1:7] == [sum(lengths), 300, sum(lengths) / 300, 1149.5, 1000, 1299], "with the sum, median and extremes of all of them", step)
    few = table_of(page("few", steps_database("few", 150))[0], "nvtx_sum")
    tap.ok(len(few["rows"]) == 151 and "merged" not in few, "few names stay as they are", len(few["rows"]))
    stats = json.loads(trace("stats", "-r", "nvtx_sum:merge", "-f", "json", steps_database("few", 150)).out)
    tap.ok({row["Range"]: row["Instances"] for row in stats} == {":epoch": 1, ":step #, loss #.#": 150}, "stats -r nvtx_sum:merge does it on request", stats)


def names_are_whole():
    names = [row[-1] for row in table_of(page("steps", steps_database("steps", 300))[0], "cuda_gpu_kern_sum")["rows"]]
    tap.ok(LONG_NAME in names and len(LONG_NAME) > 1300, "a name of 1,300 letters is whole", names)


def browser_tables(browser):
    content, path = page("steps", steps_database("steps", 300))
    shows(browser, "tables", path)
    table = table_of(content, "cuda_gpu_kern_sum")
    head = texts(browser, "#table-0-cuda_gpu_kern_sum th")
    tap.ok(head[1] == "Total Time (us)" and {title.rpartition(" ")[2] for title in head if title.split()[0] in ("Avg", "Med", "Min", "Max", "StdDev")} == {"(us)"},
           "all times of a table have one unit", head)
    cells = texts(browser, "#table-0-cuda_gpu_kern_sum tbody td:nth-child(2)")
    tap.ok([float(cell.replace(",", "")) for cell in cells] == [row[1] / 1e3 for row in table["rows"]], "the numbers of a column are in that unit", (cells, [row[1] for row in table["rows"]]))
    exact = browser.evaluate("[...document.querySelectorAll('#table-0-cuda_gpu_kern_sum tbody td:nth-child(2)')].map((e) => e.title)")
    tap.ok(exact == [f"{row[1]:,} ns" for row in table["rows"]], "the exact time is in its hint", exact)
    cut = browser.evaluate("[...document.querySelectorAll('#tables td.text')].filter((e) => e.offsetParent && e.scrollWidth > e.clientWidth).length")
    shown = texts(browser, "#table-0-cuda_gpu_kern_sum td.text")
    tap.ok(cut == 0 and LONG_NAME in shown, "labels are shown whole", (cut, shown))
    tap.ok(any("301 names into 2" in text for text in texts(browser, "#tables .hint")), "the table says that names are merged", texts(browser, "#tables .hint"))
    _, path = page("merged-and-not", steps_database("steps", 300), steps_database("few", 150))
    browser.open(path)
    names = texts(browser, "#comparison details:first-child tbody td:last-child")
    tap.ok(sorted(names) == ["PushPop :epoch", "PushPop :step #, loss #.#"], "a comparison joins merged names with those that are not", names)


UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}, {"GB": 1e9, "MB": 1e6, "kB": 1e3, "bytes": 1}


def tables_of(browser):
    """Return the tables of a page, open or not: the headings, and the rows of texts."""
    return browser.evaluate("[...document.querySelectorAll('table')].map((t) => [[...t.querySelectorAll('th')].map((h) => h.textContent), "
                            "[...t.querySelectorAll('tbody tr')].map((r) => [...r.children].map((c) => c.textContent))])")


def units_in(head):
    """Return the units of times, and those of sizes, that headings name."""
    named = {title.rpartition(" (")[2].rstrip(")") for title in head if title.endswith(")")}
    return [named & set(units) for units in UNITS]


def have_one_unit(browser, name):
    """Check each table of the page that is open: it has one unit of times and one of sizes at most. Return how many tables have such a unit."""
    tables = [head for head, _ in tables_of(browser)]
    wrong = [head for head in tables if any(len(units) > 1 for units in units_in(head))]
    tap.ok(tables and not wrong, f"{name}: each of {len(tables)} tables has one unit", wrong)
    return sum(any(units_in(head)) for head in tables)


def units_database(name, times, sizes):
    path = os.path.join(PLACE, name + ".sqlite")
    d = made.Made(path)
    at = 0
    for number, ns in enumerate(times):
        d.kernel(at, at + ns, made.P1, number + 1, f"kernel_{number}()", f"kernel_{number}")
        at += ns
    for number, size in enumerate(sizes):
        d.copy(at, at + 10, made.P1, number + 100, size, (1, 2, 8)[number], 1, 2)
        at += 10
    d.finish()
    return path


def browser_units(browser):
    """Check that a table has one unit, in which its small numbers are not zeros and its large ones are readable."""
    for name, times, sizes, wanted in (("small", (7, 900, 44), (40, 800), ("ns", "bytes")), ("large", (30_000_000_000, 2_000_000_000), (3_000_000_000, 2_000_000_000), ("s", "GB")),
                                       ("mixed", (30_000_000_000, 900, 45_000), (3_000_000_000, 40, 52_428_800), ("ms", "MB")), ("apart", (613_025_508, 100), (1_500_000,), ("ms", "MB")), ("one", (45_000_000,), (1_500_000,), ("ms", "MB"))):
        content, path = page(f"units-{name}", units_database(f"units-{name}", times, sizes))
        browser.open(path)
        have_one_unit(browser, name)
        found = {}
        for at, (table_name, unit) in enumerate(zip(("cuda_gpu_kern_sum", "cuda_gpu_mem_size_sum"), wanted)):
            head, rows = texts(browser, f"#table-0-{table_name} th"), browser.evaluate(
                f"[...document.querySelectorAll('#table-0-{table_name} tbody tr')].map((r) => [...r.children].map((c) => c.textContent))")
            data = table_of(content, table_name)
            scale = UNITS[at][unit] / (1, 1e6)[at]
            cells = [(row[column], value[column] / scale) for row, value in zip(rows, data["rows"]) for column, title in enumerate(head)
                     if title.endswith(f"({unit})") and not title.startswith("StdDev")]
            found[table_name] = units_in(head)[at], [each for each in cells if abs(float(each[0].replace(",", "")) - each[1]) > max(abs(each[1]) / 200, 1e-9)], max((len(each[0]) for each in cells), default=0)
        tap.ok([found[each][0] for each in found] == [{unit} for unit in wanted], f"{name}: the unit is that of neither the least nor the greatest", found)
        tap.ok(not any(found[each][1] for each in found), f"{name}: each number has its value to two digits at least, however small", found)
        tap.ok(all(found[each][2] <= 16 for each in found), f"{name}: and at most 16 characters", found)
    for name, *files in (("calls", REPORT), ("steps", steps_database("steps", 300)), ("nsys-2026", nsys_database("2026")), ("merged-and-not", steps_database("steps", 300), steps_database("few", 150))):
        browser.open(page(name, *files)[1])
        tap.ok(have_one_unit(browser, name) >= 1, f"{name}: there are units")
    browser.open(page("calls", REPORT)[1])
    browser.wait("document.querySelector('.timeline .status')?.textContent")
    browser.evaluate("[...document.querySelectorAll('.timeline .toolbar button')].find((b) => b.textContent === 'sum').click()")
    area = texts(browser, ".timeline .details th")
    tap.ok(len(units_in(area)[0]) == 1, "the sums of an area have one unit, too", area)


# ---- flame graph ----

CUT = "[Max depth]"
CHAINS = (  # the outermost function first, and the duration of one call
    (("main", "loop", "work", "leaf"), 1000),
    ((CUT, "work", "leaf", "deeper"), 500),  # work calls leaf at one place only
    ((CUT, "other", "leaf"), 100),  # nothing says where this belongs
    (("main", "again", "again", "end"), 300),
    (("main", "one", "twice", "same"), 40),
    (("main", "two", "twice", "same"), 30),
    ((CUT, "twice", "same", "inner"), 20),  # there are two such places
)


def chains_database(name, chains=CHAINS):
    path = os.path.join(PLACE, name + ".sqlite")
    if os.path.exists(path):
        return path
    d = made.Made(path)
    d.db.execute("CREATE TABLE OSRT_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER, module INTEGER, unresolved INTEGER, originalIP INTEGER, stackDepth INTEGER NOT NULL, "
                 "PRIMARY KEY (id, stackDepth)) WITHOUT ROWID")
    d.row("PROCESSES", globalPid=made.P1, pid=1000, name="solver")
    at = 0
    for number, (frames, ns) in enumerate(chains, 1):
        for depth, frame in enumerate(reversed(frames)):
            d.row("OSRT_CALLCHAINS", id=number, symbol=d.text(frame), module=d.text("/usr/bin/solver"), stackDepth=depth)
        d.row("OSRT_API", start=at, end=at + ns, eventClass=27, globalTid=made.T1, nameId=d.text("read"), returnValue=0, nestingLevel=0, callchainId=number, argumentsId=0)
        at += ns + 10
    d.finish()
    return path


def flame_status(browser):
    return texts(browser, ".flamegraph .status")[0]


def flame_keys(browser, *keys):
    for key in keys:
        browser.evaluate(f"document.querySelector('.flamegraph canvas').dispatchEvent(new KeyboardEvent('keydown', {{key: {json.dumps(key)}}}))")
    return flame_status(browser)


def flame_find(browser, text, only=False):
    browser.evaluate(f"(() => {{ const i = document.querySelector('.flamegraph input'), o = document.querySelector('.flamegraph .only'); o.checked = {json.dumps(only)}; "
                     f"o.dispatchEvent(new Event('change')); i.value = {json.dumps(text)}; i.dispatchEvent(new Event('input')); }})()")
    return texts(browser, ".flamegraph .matches")[0]


def browser_flame(browser):
    shows(browser, "flame graph", page("flame", chains_database("flame"))[1])
    tap.ok(flame_status(browser).startswith("21 functions \u00b7 1 place where cut callchains were joined"), "a cut callchain is joined where its outer functions are at exactly one place",
           flame_status(browser))
    tap.ok(flame_keys(browser, *["ArrowDown"] * 6) == "all \u203a solver (1000) \u203a main \u203a loop \u203a work \u203a leaf \u203a deeper \u00b7 500 ns", "it is below its callers; arrows go there",
           flame_status(browser))
    path = flame_keys(browser, "Escape", "ArrowDown", "ArrowDown", "ArrowRight")
    tap.ok(path == f"all \u203a solver (1000) \u203a {CUT} \u00b7 120 ns", "cut callchains without a place, or with two, stay below one root", path)
    tap.ok(flame_find(browser, "leaf") == f"{100 * 1600 / 1990:.1f} %", "a search says what share of the time it finds", texts(browser, ".flamegraph .matches"))
    share = flame_find(browser, "deeper", True)
    tap.ok(share == "100.0 %" and flame_status(browser).startswith("6 functions \u00b7"), "a filter leaves the callchains with a match", (share, flame_status(browser)))
    flame_find(browser, "leaf")
    browser.evaluate("document.querySelector('.flamegraph input').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))")
    height = browser.evaluate("document.querySelector('.flamegraph canvas').style.height")
    tap.ok(flame_status(browser).startswith("callers and callees of leaf \u00b7 1.60 us \u00b7") and height == f"{18 * 6 + 2}px", "a sandwich has four callers above, one callee below",
           (flame_status(browser), height))
    if SHOTS:
        browser.screenshot(os.path.join(SHOTS, "sandwich.png"))
    x, y, width, _ = browser.box(".flamegraph canvas")
    browser.click(x + width / 3, y + 18 * 3 + 9)
    tap.ok(flame_status(browser).startswith("callers and callees of work \u00b7 1.50 us"), "the row above is its caller; a click shows that", flame_status(browser))
    browser.evaluate("document.querySelector('.flamegraph .all').click()")
    tap.ok("callers" not in flame_status(browser), "all: the whole graph again", flame_status(browser))
    flame_find(browser, "again")
    browser.evaluate("document.querySelector('.flamegraph input').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))")
    tap.ok(flame_status(browser).startswith("callers and callees of again \u00b7 300 ns"), "a function that calls itself counts once", flame_status(browser))


# ---- comparisons ----

MISSING = os.path.join(PLACE, "missing.rep")
EVIL = "</script><script>window.owned = 1</script><img src=x onerror='window.owned = 2'>"
CHANGED = tuple((frames, 2000 if frames[-1] == "deeper" else ns) for frames, ns in CHAINS if "again" not in frames) + ((("main", "loop", "added"), 700),)


def run_database(name, length, **more):
    """Create a run: a range of this length around another, with a name that would be a script."""
    path = os.path.join(PLACE, name + ".sqlite")
    d = made.Made(path)
    d.nvtx(0, length, made.T1, "whole")
    d.nvtx(10, 10 + length // 2, made.T1, EVIL)
    d.finish()
    return path


def without_python():
    """Return why `trace diff` cannot run here; None if it can."""
    result = trace("diff", MISSING, MISSING)
    return result.err.decode().strip() if b"needs " in result.err and b"scripts/setup" in result.err else None


def needs_python(test):
    """Skip a test where the Python packages of `trace diff` are not installed."""
    def instead(*arguments):
        reason = without_python()
        if reason:
            tap.skip(test.__name__, reason)
        else:
            test(*arguments)
    instead.__name__ = test.__name__
    return instead


def diff_page(name, base, other):
    path = os.path.join(PLACE, name + ".html")
    result = trace("diff", "--html", path, *base, "--", *other)
    return result, path


@needs_python
def page_of_diff():
    base = [run_database(f"base{n}", 1_000_000 + 300 * n) for n in (4, 0, 8, 2, 7, 1, 3, 5, 6)]
    other = [run_database(f"other{n}", 1_500_000 + 300 * n) for n in (1, 7, 4, 2, 5, 6, 8, 0, 3)]
    result, path = diff_page("worse", base, other)
    tap.ok(result.status == 1 and b"Traceback" not in result.err and result.out.startswith(b"verdict: worse"), "diff --html prints and ends as without it", result)
    content = _page.Page(path).content
    said, whole = json.loads(content["comparison"]), json.loads(trace("diff", "-f", "json", *base, "--", *other).out)
    tap.ok([said[name] for name in ("verdict", "reason", "base", "other")] == [whole[name] for name in ("verdict", "reason", "base", "other")] and
           said["findings"] == [f for f in whole["findings"] if f["result"] not in ("equal", "undecided")] != [], "the page has the verdict and what differs", said)
    tap.ok([facts_of(report)["file"] for report in content["reports"]] == [base[0], other[2]], "and the median run of each side", [facts_of(r)["file"] for r in content["reports"]])
    return path


def nightly(command, *arguments):
    return trace("nightly", command, "--name=job", f"--folder={PLACE}/nights", "--host=h", *arguments)


@needs_python
def page_of_night():
    run_it = ("--runs=1", "--trace-options=-t osrt", "--commit=0", "--", app("lock_holder"))
    first = nightly("run", "--page", "--now=2026-03-01T03:00:00", *run_it)
    folders = sorted(os.listdir(os.path.join(PLACE, "nights/job/h")))
    alone = _page.Page(os.path.join(PLACE, "nights/job/h", folders[0], "verdict.html")).content
    tap.ok(b"no page" not in first.err and len(alone["reports"]) == 1 and "comparison" not in alone, "the page of the first night shows it alone", first)
    nightly("run", "--now=2026-03-02T03:00:00", *run_it)
    result = nightly("page")
    path = result.out.decode().strip()
    content = _page.Page(path).content
    files = [facts_of(report)["file"] for report in content["reports"]]
    said = json.loads(content["comparison"])
    listed = nightly("list").out.decode().splitlines()[-1]
    tap.ok(result.status == 0 and path.endswith("/verdict.html") and [os.path.basename(os.path.dirname(file)) for file in files] == ["20260301-030000-0", "20260302-030000-0"],
           "a night is beside the baseline", (result, files))
    tap.ok(said["verdict"] == "cannot tell" and said["reason"][:40] in listed, "with its verdict", (said["reason"], listed))
    nightly("report")
    with open(os.path.join(PLACE, "nights/job/h/history.html"), encoding="utf-8") as file:
        tap.ok("20260302-030000-0/verdict.html'" in file.read(), "the history links to the page")
    kept = nightly("page", "1", "-o", os.path.join(PLACE, "night1.html"))
    tap.ok(kept.status == 0 and "comparison" not in _page.Page(os.path.join(PLACE, "night1.html")).content, "a night is never compared with later ones", kept)
    os.unlink(files[1])
    for name, arguments, cause in (("reports that are gone", (), b"no report of night 2 is left to show"), ("an unknown night", ("9",), b"unknown night 9")):
        result = nightly("page", *arguments)
        tap.ok(result.status == 2 and cause in result.err and result.err.count(b"\n") == 1, f"{name}: one line", result)


def wrong_comparisons():
    cmp, folder_path = os.path.join(PLACE, "cmp.json"), os.path.join(PLACE, "wrong.html")
    a, b = chains_database("flame"), chains_database("changed", CHANGED)
    for name, arguments, cause in (("no such file", ("--comparison", cmp, a, b), f"cannot read '{cmp}'"), ("one report", ("--comparison", a, a), "needs two FILEs"),
                                   ("the input", ("-f", "true", "-o", a, a), "it is the input file")):
        result = trace("report", "--html", "-o", folder_path, *arguments)
        tap.ok(result.status == 2 and cause in result.err.decode() and result.err.count(b"\n") == 1 and not os.path.exists(folder_path), f"{name}: a clear message", result)
    result = trace("report", "--comparison", a, a, b)
    tap.ok(result.status == 2 and b"needs --html" in result.err, "--comparison without a page is refused", result)
    result = trace("diff", "--html", "-", a, b)
    tap.ok(result.status == 2 and result.err.count(b"\n") == 1 and not result.out, "a page of diff needs a file", result)
    with open(cmp, "wb") as file:
        file.truncate((4 << 20) + 1)
    result = trace("report", "--html", "-o", folder_path, "--comparison", cmp, a, b)
    tap.ok(result.status == 2 and b"more than 4 MiB" in result.err, "a comparison has a limit", result)


@needs_python
def browser_diff(browser):
    shows(browser, "a worse program", os.path.join(PLACE, "worse.html"))
    tap.ok(texts(browser, "#verdict .verdict.bad")[0].startswith("worse: ") and browser.evaluate("document.title") == "base4.sqlite and other4.sqlite \u2013 libtrace", "the page begins with the verdict",
           texts(browser, "#verdict .verdict"))
    rows = texts(browser, "#verdict details:first-of-type tbody tr")
    tap.ok(any(row.startswith("worserange:whole500.600750.600+49.94 %") for row in rows) and "A (us)" in texts(browser, "#verdict th"), "the differences are rows, in one unit", rows)
    tap.ok(browser.evaluate("window.owned === undefined && !document.querySelector('img')") and any("script>window.owned = 1" in row for row in rows), "names are not script", rows)
    result, path = diff_page("changed", [chains_database("flame")], [chains_database("changed", CHANGED)])
    tap.ok(result.status == 2 and b"cannot tell" in result.out, "with one run a side there is no verdict", result)
    shows(browser, "a diff", path)
    tap.ok(len(texts(browser, "#flame > .flamegraph .status")) == 1 and flame_keys(browser, *["ArrowDown"] * 6).endswith("leaf \u203a deeper \u00b7 A 500 ns, B 2.00 us: +1.50 us"),
           "a flame graph of both says what a function took in each", flame_status(browser))
    path = flame_keys(browser, "Escape", *["ArrowDown"] * 4, "ArrowRight")
    tap.ok(path.endswith("solver \u203a main \u203a loop \u203a added \u00b7 A 0 ns, B 700 ns: +700 ns"), "also of one that is new", path)
    colors = browser.evaluate("(() => { const c = document.querySelector('.flamegraph canvas'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let red = 0, blue = 0; "
                              "for (let i = 0; i < d.length; i += 4) { red += d[i] > d[i + 2] + 60; blue += d[i + 2] > d[i] + 60; } return [red, blue]; })()")
    tap.ok(colors[0] > 1000, "what grew is red", colors)
    flame_keys(browser, "Escape")
    browser.evaluate("(() => { const s = document.querySelector('.flamegraph select[aria-label=widths]'); s.value = '0'; s.dispatchEvent(new Event('change')); })()")
    flame_find(browser, "again")
    browser.evaluate("document.querySelector('.flamegraph input').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))")
    tap.ok(flame_status(browser).startswith("callers and callees of again \u00b7 300 ns"), "the widths of A show what is gone in B", flame_status(browser))
    bad = os.path.join(PLACE, "bad.json")
    with open(bad, "wb") as file:
        file.write(b'{"verdict": "</script>\xff')
    trace("report", "--html", "-f", "true", "-o", path_of_bad := os.path.join(PLACE, "bad.html"), "--comparison", bad, chains_database("flame"), chains_database("flame"))
    browser.open(path_of_bad)
    tap.ok(texts(browser, "#page .wait")[0].startswith("This page cannot be shown: "), "a file that is not a comparison is refused with a message", texts(browser, "#page"))


# ---- what was written ----

def on_terminal(*arguments):
    """Run the command with standard error on a terminal; return what it prints there."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(TRACE, [TRACE, *arguments], clean_env())
    out = b""
    try:
        while data := os.read(fd, 65536):
            out += data
    except OSError:
        pass
    os.close(fd)
    os.waitpid(pid, 0)
    return out.decode().replace("\r\n", "\n")


def says_what_it_wrote():
    html_file, json_file, database = (os.path.join(PLACE, name) for name in ("wrote.html", "wrote.json", "wrote.sqlite"))
    for name, path, arguments in (("report --html", html_file, ("report", "--html", "-f", "true", "-o", html_file)), ("export", json_file, ("export", "-t", "json", "-f", "true", "-o", json_file)),
                                  ("export -t sqlite", database, ("export", "-t", "sqlite", "-f", "true", "-o", database))):
        said = on_terminal(*arguments, REPORT)
        tap.ok(said == f"trace: wrote '{path}', {os.path.getsize(path)} bytes\n", f"{name} says on a terminal what it wrote", said)
        result = trace(*arguments, REPORT)
        tap.ok(result.status == 0 and not result.err and not result.out, f"{name} says nothing elsewhere", result)
    failed = on_terminal("export", "-t", "json", "-o", json_file, REPORT)
    tap.ok("exists" in failed and "wrote '" not in failed, "nor if it wrote nothing", failed)


BROWSER = (browser_first_screen, browser_xspace, browser_details, browser_costs, browser_tables, browser_units, browser_flame, browser_diff)


def in_browser():
    _page.run_in_browser(BROWSER)


PAGE = (facts_of_reports, facts_of_databases, facts_of_xspaces, costs_name_what_they_leave_out, costs_are_costs, names_are_merged, names_are_whole, says_what_it_wrote, page_of_diff, page_of_night, wrong_comparisons, in_browser)


def not_built():
    for test in PAGE:
        tap.skip(test.__name__, "the page was not built: no npm")


BUILT = b"built without npm" not in trace("report", "--html", "-o", os.path.join(PLACE, "first.html"), nsys_database("2026")).err
main(*(PAGE if BUILT else (not_built,)))
