#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check `trace report`: the text for a terminal, and the page, in a real browser if one is installed. SCREENSHOTS=DIR keeps pictures of the page."""
import json
import os
import pty
import re
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import TRACE, app, clean_env, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402
import _browser  # noqa: E402
from _page import ABOUT, CANVAS, about, find_event, level_rows, next_match, rows_of, search, shows  # noqa: E402
import _made_database as made  # noqa: E402
import _page  # noqa: E402
import libdevice as device  # noqa: E402

PLACE = folder()
MADE = os.path.join(PLACE, "made.sqlite")
made.make(MADE)
WAITING = {"lock", "wait", "sync", "io", "net", "mpi", "nvtx", "openmp", "function", "output"}  # kinds that are never counted as busy
EVIL = "</script><script>window.owned = 1</script><img src=x onerror='window.owned = 2'>\u2028\"]}"
LABEL_BYTES = 18  # the text before a value of the overview
BUILT = b"built without npm" not in trace("report", "--html", "-o", os.path.join(PLACE, "first.html"), MADE).err


def traced(name, *command, **more):
    """Return a report of a program; None if it cannot be built here."""
    path, spool = os.path.join(PLACE, name + ".rep"), spool_folder()
    run(list(command), env=traced_env(path, spool, **more))
    wait_spool_gone(spool)
    return path


def with_a_wait():
    """Return a report of lock_holder in which a thread waited for the lock: on a busy machine it may come too late to wait."""
    while True:
        path = traced("calls", app("lock_holder"), LIBTRACE_OSRT_BACKTRACE_THRESHOLD=0)
        if json.loads(trace("query", "-f", "json", path, "SELECT count(*) AS n FROM OSRT_API JOIN StringIds ON id = nameId WHERE value = 'pthread_mutex_lock'").out)[0]["n"]:
            return path


REPORT = with_a_wait()


# ---- text ----

def text_widths():
    for file in (MADE, REPORT):
        for width in (60, 80, 132):
            result = trace("report", file, env=clean_env(COLUMNS=width))
            # A path is never broken, so that it can be copied: a line may hold one word that is wider.
            long = [line for line in result.out.decode().splitlines() if len(line) > width and " " in line[LABEL_BYTES:].strip()]
            tap.ok(result.status == 0 and not long and not result.err, f"text is at most {width} wide: {os.path.basename(file)}", "\n".join(long) or result)


def text_says_what_others_say():
    text = trace("report", "--text", REPORT).out.decode()
    info = json.loads(trace("info", "--json", REPORT).out)
    tap.ok(f"verdict:          {info['verdict']}\n" in text, "the verdict is that of trace info", text[-300:])
    written = sum(process["receipt"]["written"] for process in info["processes"] if process.get("receipt"))
    tap.ok(f" {written} written," in text, "the receipt sums up those of all processes", text[:900])
    rows = json.loads(trace("stats", "-r", "osrt_sum", "-f", "json", REPORT).out)
    first = f"{rows[0]['Total Time (ns)']:,}"
    tap.ok(re.search(rf"^ +[0-9.]+ +{first} .*{rows[0]['Name']} *$", text, re.M), "tables have the numbers of trace stats", (rows[0], text))
    found = [each["title"] for each in json.loads(trace("analyze", "-f", "json", MADE).out) if each["severity"] != "info" and each["rows"]]
    made_text = trace("report", MADE).out.decode()
    tap.ok(found and all(f"\n{title}\n" in made_text for title in found), "every warning of trace analyze is there", (found, made_text[-2000:]))


def text_in_a_pipe_is_whole():
    path, name = os.path.join(PLACE, "long-names.sqlite"), "void " + "long_" * 60 + "name<float>(float *, int)"
    d = made.Made(path)
    d.api(0, 10, made.T1, "cudaLaunchKernel_v7000", 1)
    d.kernel(20, 30, made.P1, 1, name, "long")
    d.copy(40, 50, made.P1, 0, 40000, 1, 1, 2)
    d.finish()
    text = trace("report", path, env={k: v for k, v in clean_env().items() if k != "COLUMNS"}).out.decode()
    tap.ok(name in text and " StdDev (ns)" in text, "a name is not cut where there is no terminal, and no column left out", text)
    names = page("long-names", path)[0].reports[0]["timeline"]["names"]
    tap.ok(any(name in detail for _, _, _, detail in names), "nor in the data of the page", names)
    tap.ok(re.search(r"^ +0\.040 +1 +0\.040 .*Host-to-Device", text, re.M), "40 kB are 0.040 MB", text)


def text_has_costs_and_merges():
    """Check that the text ends with the three largest costs, as the page begins with them, and merges numbers in names."""
    rows = {name: json.loads(trace("stats", "-r", name, "-f", "json", MADE).out) for name in ("osrt_sum", "cuda_api_sum", "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum")}
    found = sorted(((row["Total Time (ns)"], row.get("Name") or row["Operation"], name) for name, of in rows.items() for row in of), reverse=True)
    waits = {"nanosleep", "poll", "epoll_wait", "pthread_cond_wait", "pthread_join", "select", "sleep", "usleep", "waitpid"}
    longest = next((each for each in found if each[2] == "osrt_sum" and each[1] in waits), None)
    wanted = [each for each in found if each[1] not in waits or each == longest][:3]
    lines = trace("report", MADE).out.decode().split("largest costs:")[-1].splitlines()[:3]
    tap.ok(len(lines) == 3 and f"{wanted[0][1]}: " in lines[0] and all(f": {ns / 1000:.3f} us in " in line for line, (ns, _, _) in zip(lines, wanted)),
           "text: the three largest costs", (lines, wanted))
    path = os.path.join(PLACE, "steps.sqlite")
    d = made.Made(path)
    for number in range(300):
        d.row("NVTX_EVENTS", start=number * 10, end=number * 10 + 5, eventType=59, text=f"step {number}", globalTid=made.T1)
    d.finish()
    text = trace("report", path).out.decode()
    tap.ok("which merges 300 names into 1\n" in text and re.search(r" step #|:step #", text) and "largest costs:    " in text.replace(":step", "step"),
           "text: numbers in names are merged, and ranges are costs where there is nothing else", text)


def text_colors():
    tap.ok(b"\033" not in trace("report", REPORT).out, "no colors where it is no terminal")
    for name, more, wanted in (("colors on a terminal", {}, True), ("none with NO_COLOR", {"NO_COLOR": "1"}, False)):
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(TRACE, [TRACE, "report", REPORT], clean_env(**more))
        out = b""
        try:
            while data := os.read(fd, 65536):
                out += data
        except OSError:
            pass
        os.close(fd)
        _, status = os.waitpid(pid, 0)
        tap.ok(status == 0 and (b"\033[1m" in out) == wanted, name, out[-200:])


def text_of_hostile_names():
    path = hostile_database()
    out = trace("report", path).out
    tap.ok(b"\033" not in out and b"\\x1b" in out, "control characters of names do not reach the terminal", out[:500])


def wrong_use():
    for name, arguments, message in (("both forms", ["--html", "--text", MADE], b"--html and --text"), ("no file", [], b"no FILE given"),
                                     ("a file that is not there", [os.path.join(PLACE, "none.rep")], b"none.rep"),
                                     ("text into a file", ["-o", os.path.join(PLACE, "x"), MADE], b"--output"),
                                     ("the path as text", ["--critical-path", MADE], b"--critical-path needs --html")):
        result = trace("report", *arguments)
        tap.ok(result.status == 2 and message in result.err and result.err.count(b"\n") == 1, f"{name}: one line on standard error, and status 2", result)


# ---- the page as a file ----

def page(name, *files):
    path = os.path.join(PLACE, name + ".html")
    return _page.write(path, *files), path


def page_stands_alone():
    made_page, path = page("made", MADE)
    addresses = [value for _, attributes in made_page.tags for name, value in attributes.items() if name in ("src", "href", "data", "action")]
    tap.ok(not addresses, "the page names no other file", addresses)
    tap.ok("default-src 'none'" in made_page.policy and "unsafe-inline" not in made_page.policy and "http" not in made_page.policy,
           "the policy of the page allows only its own script", made_page.policy)
    tap.ok("d3-zoom" in made_page.text and "Permission to use, copy, modify" in made_page.text, "the licences of what is bundled are in it")
    tap.ok(os.path.getsize(path) <= 10 << 20, "the page has at most 10 MB", os.path.getsize(path))


def page_has_all_events():
    """Check that level 0 has each event if there are few; tracks and names are those of the database."""
    report = page("calls", REPORT)[0].reports[0]
    timeline = report["timeline"]
    names = {number: (kind, text, detail) for number, kind, text, detail in timeline["names"]}
    tracks = {track[0]: track[1:] for track in timeline["tracks"]}
    shown = sorted((tracks[track][1], start, length, names[name][1]) for track, _, start, length, name, count, *_ in level_rows(timeline["levels"][0]) if count == 1)
    query = "SELECT globalTid & 16777215, start, \"end\" - start, value FROM OSRT_API JOIN StringIds ON StringIds.id = nameId"
    wanted = sorted(tuple(row.values()) for row in json.loads(trace("query", "-f", "json", REPORT, query).out))
    tap.ok(len(timeline["levels"]) == 1 and shown == wanted and len(shown) > 5, f"the timeline has every call ({len(shown)})", (shown[:3], wanted[:3]))
    kinds = {text: kind for kind, text, _ in names.values()}
    tap.ok(kinds.get("pthread_mutex_lock") == "lock" and kinds.get("syscall") == "wait" and kinds.get("pthread_join") == "wait", "calls are classified by what they wait for", kinds)
    overlap = [(a, b) for track in timeline["levels"][0]["track_rows"] for a, b in zip(rows_of(track[2]), rows_of(track[2])[1:]) if a[0] + a[1] > b[0] and track[1] < 63]
    tap.ok(not overlap, "events of a row do not overlap", overlap[:3])
    stats = json.loads(trace("stats", "-r", "osrt_sum", "-f", "json", REPORT).out)
    table = next(each for each in report["tables"] if each["name"] == "osrt_sum")
    tap.ok([(row[1], row[2], row[-1]) for row in table["rows"]] == [(row["Total Time (ns)"], row["Num Calls"], row["Name"]) for row in stats],
           "tables are those of trace stats")


def page_flame_sums():
    report = page("calls", REPORT)[0].reports[0]
    nodes = report["flames"][-1]["nodes"]
    query = "SELECT sum(\"end\" - start) AS ns, count(*) AS calls FROM OSRT_API WHERE callchainId > 0"
    wanted = json.loads(trace("query", "-f", "json", REPORT, query).out)[0]
    tap.ok(sum(node[3] for node in nodes) == wanted["ns"] and sum(node[4] for node in nodes) == wanted["calls"],
           "the flame graph has the time and number of all calls with a callchain", (wanted, nodes[:3]))
    texts = dict(report["flames"][-1]["texts"])
    tap.ok("main" in {texts.get(node[1]) for node in nodes if not node[2]} and all(node[0] < index + 1 for index, node in enumerate(nodes)),
           "functions have names, and come behind their callers", list(texts.items())[:5])


def long_database():
    """Write 60,000 events of two threads and a stream, most of them short and close together, with a nested range around each thousand."""
    path = os.path.join(PLACE, "long.sqlite")
    if os.path.exists(path):
        return path
    made.make(path)
    database = sqlite3.connect(path)
    for table in ("OSRT_API", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET", "NVTX_EVENTS"):
        database.execute(f"DELETE FROM {table}")
    name = database.execute("SELECT id, value FROM StringIds WHERE value IN ('main', 'worker', 'other', 'poll', 'read')").fetchall()
    columns = [row[1] for row in database.execute("PRAGMA table_info(OSRT_API)")]
    calls = []
    for number in range(60000):
        start = number * 5000 + (number * 7919) % 3000
        row = dict.fromkeys(columns, 0) | {"start": start, "end": start + 200 + (number * 104729) % 1500, "eventClass": 27,
                                           "globalTid": made.T1 if number % 2 else made.T1B, "nameId": name[number % 5][0]}
        calls.append([row[column] for column in columns])
    database.executemany(f"INSERT INTO OSRT_API VALUES ({', '.join('?' * len(columns))})", calls)
    columns = [row[1] for row in database.execute("PRAGMA table_info(NVTX_EVENTS)")]
    for number in range(120):
        row = dict.fromkeys(columns) | {"start": number * 2500000, "end": number * 2500000 + 2400000, "eventType": 59, "text": f"step {number}", "globalTid": made.T1}
        database.execute(f"INSERT INTO NVTX_EVENTS VALUES ({', '.join('?' * len(columns))})", [row[column] for column in columns])
    database.commit()
    database.close()
    return path


def page_levels():
    """Check that each level of detail represents all events: none is lost or counted twice."""
    timeline = page("long", long_database())[0].reports[0]["timeline"]
    levels = timeline["levels"]
    kinds = {number: kind for number, kind, _, _ in timeline["names"]}
    busy_of = lambda each: each[7] if each[7] is not None else 0 if kinds[each[4]] in WAITING else each[3]  # noqa: E731
    sums = [(sum(each[5] for each in rows), sum(each[6] for each in rows), sum(map(busy_of, rows))) for rows in map(level_rows, levels)]
    tap.ok(len(levels) >= 3 and len(set(sums)) == 1 and sums[0][0] == timeline["events"] > 60120, f"{len(levels)} levels have the same events, time and busy time", sums)
    query = "SELECT sum(end - start) FROM OSRT_API JOIN StringIds ON StringIds.id = nameId WHERE value NOT IN ('poll', 'read')"
    database = sqlite3.connect(long_database())
    working = database.execute(query).fetchone()[0]
    database.close()
    tap.ok(sums[0][2] == working > 0, "the busy time has no waits, and nothing that may wait", (sums[0], working))
    sizes = [level["rows"] for level in levels]
    tap.ok(all(b <= a / 2 for a, b in zip(sizes, sizes[1:])) and sizes[-1] <= 4096 * 3 and [level["rows"] for level in levels] == [len(level_rows(level)) for level in levels],
           "each level has at most half the rows of the one before", sizes)
    wrong = [each for level in levels for each in level_rows(level) if each[5] > 1 and each[3] > 2 * level["cell_ns"]]
    tap.ok(not wrong, "events shown as one are within two cells", wrong[:3])
    tracks = {track[0]: track for track in timeline["tracks"]}
    names = {number: text for number, _, text, _ in timeline["names"]}
    steps = [each for each in level_rows(levels[-1]) if tracks[each[0]][3] == "nvtx"]
    tap.ok(len(steps) == 120 and {names[each[4]] for each in steps} == {f"step {number}" for number in range(120)}, "long ranges stay single in the coarsest", steps[:2])


def hostile_database():
    path = os.path.join(PLACE, "hostile.sqlite")
    if not os.path.exists(path):
        made.make(path)
        database = sqlite3.connect(path)
        database.execute("UPDATE StringIds SET value = char(27) || '[31m' || ? || id || value", (EVIL,))
        database.execute("UPDATE NVTX_EVENTS SET text = ? WHERE text IS NOT NULL", (EVIL,))
        database.execute("UPDATE PROCESSES SET name = ?", (EVIL + "x" * 100000,))
        database.commit()
        database.close()
    return path


def page_of_hostile_names():
    hostile, path = page("hostile", hostile_database())
    clean, _ = page("made", MADE)
    tap.ok([tag for tag, _ in hostile.tags] == [tag for tag, _ in clean.tags], "names of a report make no elements", [tag for tag, _ in hostile.tags])
    names = [each[2] for each in hostile.reports[0]["timeline"]["names"]]
    tap.ok(any(EVIL in name for name in names), "hostile texts are in the data unchanged", names[:2])
    tap.ok(os.path.getsize(path) < 400000, "long texts are cut", os.path.getsize(path))


def page_of_impossible_times():
    """Check that impossible times, and names that are not texts, do not make the command fail."""
    path = os.path.join(PLACE, "times.sqlite")
    made.make(path)
    database = sqlite3.connect(path)
    times = [(-2**63, 2**63 - 1), (2**63 - 1, -2**63), (0, 2**62), ("abc", b"\xff"), (2**63 - 1, 2**63 - 1), (5, 7)]
    rows = [row for row, in database.execute("SELECT rowid FROM CUPTI_ACTIVITY_KIND_RUNTIME")]
    for number, row in enumerate(rows):
        database.execute("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = ?, \"end\" = ? WHERE rowid = ?", (*times[number % len(times)], row))
    database.execute("UPDATE StringIds SET value = x'fffe3c00' WHERE id % 3 = 0")
    database.commit()
    database.close()
    timeline = page("times", path)[0].reports[0]["timeline"]
    whole = page("made", MADE)[0].reports[0]["timeline"]
    possible = len(range(5, len(rows), len(times)))
    tap.ok(timeline["events"] == whole["events"] - len(rows) + possible and timeline["end_ns"] < 2**60, "events with impossible times are not in the timeline, all others are",
           (timeline["events"], whole["events"], len(rows)))


def page_of_times_since_1970():
    """Check that times since 1970 are in the timeline, from the first event on: scripts count exactly up to 2^53."""
    path = os.path.join(PLACE, "since1970.sqlite")
    made.make(path)
    database = sqlite3.connect(path)
    for table, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        for column in {"start", "end", "startedAt"} & {row[1] for row in database.execute(f"PRAGMA table_info({table})")}:
            database.execute(f'UPDATE {table} SET "{column}" = "{column}" + 1790000000000000000 WHERE "{column}" IS NOT NULL')
    database.commit()
    database.close()
    timeline, whole = (page(name, of)[0].reports[0]["timeline"] for name, of in (("since1970", path), ("made", MADE)))
    tap.ok(timeline["events"] == whole["events"] > 0 and timeline["end_ns"] - timeline["start_ns"] == whole["end_ns"] - whole["start_ns"] and
           timeline["start_ns"] == 0, "times since 1970 are in the timeline, from the first event on",
           [{key: of[key] for key in ("events", "start_ns", "end_ns")} for of in (timeline, whole)])


def page_failures():
    target = os.path.join(PLACE, "kept.html")
    with open(target, "w", encoding="ascii") as file:
        file.write("mine")
    result = trace("report", "--html", "-o", target, MADE)
    with open(target, encoding="ascii") as file:
        tap.ok(result.status == 2 and b"exists" in result.err and file.read() == "mine", "a file that is there stays", result)
    before = sorted(os.listdir(PLACE))
    result = trace("report", "--html", "-o", os.path.join(PLACE, "half.html"), MADE, os.path.join(PLACE, "none.rep"))
    tap.ok(result.status == 2 and b"none.rep" in result.err and sorted(os.listdir(PLACE)) == before, "a failed page leaves no file", result)
    result = trace("report", "--html", MADE, MADE, MADE)
    tap.ok(result.status == 2 and b"two" in result.err, "three files are one too many", result)
    full = trace("report", "--html", "-o", "/dev/full", MADE)
    tap.ok(full.status == 2 and b"/dev/full" in full.err, "a full disk is reported", full)


# ---- the page in a browser ----

SHOTS = os.environ.get("SCREENSHOTS")
VIEW = ".timeline .status"


def picture(browser, name, whole=False):
    if SHOTS:
        os.makedirs(SHOTS, exist_ok=True)
        browser.screenshot(os.path.join(SHOTS, name + ".png"), whole)


def text_of(browser, selector):
    return browser.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")


def colors_in(browser, selector):
    """Return how many colors a canvas has: an empty canvas has one."""
    return browser.evaluate(f"(() => {{ const c = document.querySelector({json.dumps(selector)}); "
                            "const d = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer); return new Set(d).size; })()")


def in_view_ns(browser):
    """Return the time span that the line below the timeline says is in view."""
    return in_view_ns_of(text_of(browser, VIEW))


def in_view_ns_of(text):
    number, unit = re.search(r"in view: ([0-9.]+) (\w+)", text).groups()
    return float(number) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]


def status_becomes(browser, other_than):
    """Wait until the line has changed and everything is drawn; return the line."""
    browser.wait(f"document.querySelector('{VIEW}').textContent !== {json.dumps(other_than)}")
    browser.settle()
    return text_of(browser, VIEW)


def press(browser, label):
    browser.evaluate(f"[...document.querySelectorAll('.timeline .toolbar button')].find((b) => b.textContent === {json.dumps(label)}).click()")


def browser_timeline(browser):
    shows(browser, "a long report", page("long", long_database())[1])
    picture(browser, "long")
    whole, first = in_view_ns(browser), text_of(browser, VIEW)
    tap.ok(colors_in(browser, ".timeline .scroller canvas") > 20, "the timeline is drawn")
    x, y, width, height = browser.box(".timeline .scroller canvas")
    browser.mouse("mouseWheel", x + width * 0.6, y + height / 2, deltaX=0, deltaY=-400, modifiers=2)
    place = status_becomes(browser, first)
    tap.ok(in_view_ns(browser) < whole * 0.9, "ctrl and the wheel zoom", (first, place))
    browser.mouse("mousePressed", x + width * 0.7, y + height / 2, button="left", buttons=1, clickCount=1)
    browser.mouse("mouseMoved", x + width * 0.5, y + height / 2, button="left", buttons=1)
    browser.mouse("mouseReleased", x + width * 0.5, y + height / 2, button="left", clickCount=1)
    moved = status_becomes(browser, place)
    tap.ok(moved.split(" from ")[0] == place.split(" from ")[0], "dragging moves, and does not zoom", (place, moved))
    for _ in range(12):
        press(browser, "+")
    place = status_becomes(browser, moved)
    picture(browser, "long-zoomed")
    press(browser, "all")
    tap.ok(status_becomes(browser, place) == first, "a zoomed timeline can be reset", (first, text_of(browser, VIEW)))
    browser.evaluate("(() => { const i = document.querySelector('.timeline input'); i.value = 'step 1'; i.dispatchEvent(new Event('input')); })()")
    browser.wait("document.querySelector('.timeline .matches').textContent === '31 found'")
    browser.evaluate("document.querySelector('.timeline input').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))")
    status_becomes(browser, first)
    tap.ok(text_of(browser, ".timeline .matches") == "1 of 31" and text_of(browser, VIEW).startswith("step 1"), "a search finds events by name and goes to them",
           (text_of(browser, ".timeline .matches"), text_of(browser, VIEW)))
    picture(browser, "long-found")


def browser_hover(browser):
    shows(browser, "a report of calls", page("calls", REPORT)[1])
    x, y, width, height = browser.box(".timeline .scroller canvas")
    seen = set()
    for down in range(30, int(height), 17):
        for part in range(20, 100, 8):
            browser.mouse("mouseMoved", x + width * part / 100, y + down)
            seen.add(browser.evaluate("(() => { const t = document.querySelector('.tip'); return t && !t.hidden ? t.textContent : ''; })()"))
    picture(browser, "calls")
    tap.ok(any("pthread_mutex_lock" in text and "held by" in text and "lasted" in text for text in seen), "hovering over an event shows its name and duration", list(seen)[:5])
    browser.box(".flamegraph .scroller")
    picture(browser, "calls-flame")
    tap.ok(colors_in(browser, ".flamegraph canvas") > 10, "the flame graph is drawn")
    x, y, width, _ = browser.box(".flamegraph canvas")
    browser.click(x + width / 2, y + 18 * 2 + 9)
    tap.ok("\u203a" in text_of(browser, ".flamegraph .status"), "a click enlarges a function", text_of(browser, ".flamegraph .status"))
    browser.evaluate("document.querySelector('#tables th:last-child').click()")
    cells = browser.evaluate("[...document.querySelectorAll('#tables details:first-child tbody tr td:last-child')].map((c) => c.textContent)")
    tap.ok(len(cells) > 2 and cells == sorted(cells), "a click on a heading sorts", cells)
    picture(browser, "calls-all", whole=True)


def browser_details(browser):
    """Check that a click shows all that the report has about an event."""
    shows(browser, "a report of calls", page("calls", REPORT)[1])
    browser.click(*find_event(browser, "pthread_mutex_lock", "held by"))
    lines, frames = about(browser)
    query = ("SELECT o.start, o.end - o.start AS ns, returnValue, object, holderTid FROM OSRT_API AS o JOIN StringIds AS s ON s.id = nameId "
             "JOIN LIBTRACE_OSRT_CALL AS f ON f.id = o.rowid WHERE holderTid > 0")
    call = json.loads(trace("query", "-f", "json", REPORT, query).out)[0]
    tap.ok(lines.get("arguments") == f"mutex = {call['object']:#x}" and lines.get("returned") == "0" and f"held by thread {call['holderTid']}" in lines.get("what", "")
           and lines.get("lasted") == f"{call['ns'] / 1e6:.2f} ms", "a click on a call shows its arguments, result and duration", (lines, call))
    tap.ok(any(frame.startswith("main ") and "lock_holder.c:" in frame for frame in frames) and "pthread_mutex_lock" in frames[0], "and its callchain with files and lines", frames)
    picture(browser, "calls-details", whole=True)
    path, spool = os.path.join(PLACE, "failing.rep"), spool_folder()
    run(["cat", PLACE], env=traced_env(path, spool, LIBTRACE_OSRT_FILE_ACCESS="true"))
    wait_spool_gone(spool)
    shows(browser, "a call that fails", page("failing", path)[1])
    search(browser, "read")
    lines = {}
    for _ in range(20):
        lines, _ = about(browser)
        if lines.get("errno"):
            break
        next_match(browser)
    tap.ok(lines.get("errno") == "EISDIR" and lines["returned"] == "-1" and lines["file"] == PLACE and re.fullmatch(r"fd = [0-9]+, \w+, \w+", lines["arguments"]),
           "a call that failed has its errno, descriptor and file", lines)


def browser_launch(browser):
    """Check that a kernel and the call that launched it link to each other; both have the NVTX ranges around the call."""
    path = os.path.join(PLACE, "launch.sqlite")
    d = made.Made(path)
    d.nvtx(0, 100000, made.T1, "epoch 3")
    d.nvtx(10000, 60000, made.T1, "forward")
    d.nvtx(10000, 60000, made.T1B, "not around it")
    d.api(20000, 30000, made.T1, "cudaLaunchKernel_v7000", 5)
    d.api(40000, 50000, made.T2, "cudaLaunchKernel_v7000", 5)
    d.kernel(50000, 90000, made.P1, 5, "void add<float>(float *, int)", "add")
    d.db.execute("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET callchainId = 1 WHERE globalTid = ?", (made.T1,))
    d.db.execute("CREATE TABLE CUDA_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, unresolved INTEGER, originalIP INTEGER, stackDepth INTEGER)")
    for depth, symbol in enumerate(("launch_it", "py::train:/src/train.py", "main")):
        d.row("CUDA_CALLCHAINS", id=1, symbol=d.text(symbol), module=d.text("/usr/bin/app"), stackDepth=depth)
    d.finish()
    shows(browser, "a launch", page("launch", path)[1])
    browser.click(*find_event(browser, "add", "GPU 0, stream 7"))
    lines, frames = about(browser)
    tap.ok("cudaLaunchKernel" in lines["launched by"] and lines["began after the call"] == "30.0 us" and lines["stream"] == "7" and lines["NVTX"] == "epoch 3 \u203a forward"
           and "grid 1 x 1 x 1, block 128 x 1 x 1" in lines["what"], "a click on a kernel shows its launch, stream and NVTX ranges", lines)
    tap.ok(frames == ["launch_it app", "train Python, /src/train.py", "main app"], "and the callchain of the launch, with Python's functions", frames)
    browser.evaluate(f"document.querySelector('{ABOUT} .jump').click()")
    lines, _ = about(browser)
    tap.ok(text_of(browser, ABOUT + " h3") == "cudaLaunchKernel" and "thread main (1000)" not in lines["where"] and "add" in lines["on the GPU"] and lines["returned"] == "0"
           and "(1000)" in lines["where"], "its link leads to the call of the same process, which has the kernel", (text_of(browser, ABOUT), lines))


def pixels(browser, selector, down):
    """Return the numbers of different colors in the quarters of a line of a canvas right of the titles."""
    return browser.evaluate(f"(() => {{ const c = document.querySelector({json.dumps(selector)}), k = c.width / c.clientWidth, w = c.width - 220 * k; "
                            f"return [0, 1, 2, 3].map((q) => new Set(new Uint32Array(c.getContext('2d').getImageData(220 * k + q * w / 4, {down} * k, w / 4, 1).data.buffer)).size); }})()")


def marked(browser, top, bottom):
    """Return how many pixels of the timeline between two heights, right of the titles, have the color of arrows and selections."""
    return browser.evaluate("(() => { const c = document.querySelector('.timeline .scroller canvas'), k = c.width / c.clientWidth, mark = getComputedStyle(document.documentElement).getPropertyValue('--mark').trim(); "
                            f"const d = c.getContext('2d').getImageData(212 * k, {top} * k, c.width - 212 * k, ({bottom} - {top}) * k).data; "
                            "const [r, g, b] = [1, 3, 5].map((at) => parseInt(mark.slice(at, at + 2), 16)); let n = 0; "
                            "for (let i = 0; i < d.length; i += 4) n += d[i] === r && d[i + 1] === g && d[i + 2] === b; return n; })()")


def browser_arrows(browser):
    """Check the arrows of a selected event: from a call to its kernels, and from the thread that released a lock to the one that got it."""
    path = os.path.join(PLACE, "arrows.sqlite")
    d = made.Made(path)
    d.api(20000, 30000, made.T1, "cudaLaunchKernel_v7000", 5)
    d.kernel(50000, 90000, made.P1, 5, "void add<float>(float *, int)", "add")
    d.kernel(8000, 13000, made.P1, 6, "void alone(int)", "alone")
    d.finish()
    shows(browser, "a call and its kernel", page("arrows", path)[1])
    bands = (22, 22 + 20), (22 + 22 + 2, 22 + 22 + 18)  # stream, thread
    none = [marked(browser, *band) for band in bands]
    browser.click(*find_event(browser, "alone"))
    browser.settle()
    tap.ok(none == [0, 0] and marked(browser, *bands[0]) > 0 and marked(browser, *bands[1]) == 0, "a kernel without a call is marked, and has no arrow", none)
    browser.click(*find_event(browser, "add"))
    browser.settle()
    tap.ok(marked(browser, *bands[1]) > 4, "an arrow leads from the call to the kernel", marked(browser, *bands[1]))
    picture(browser, "arrows")
    at = find_event(browser, "cudaLaunchKernel")
    for count in (1, 2):
        browser.mouse("mousePressed", *at, button="left", buttons=1, clickCount=count)
        browser.mouse("mouseReleased", *at, button="left", clickCount=count)
    browser.settle()
    tap.ok("GPU 0, stream 7" in tracks_of(browser), "the track to which an arrow leads is not hidden", tracks_of(browser))
    browser.evaluate(f"document.querySelector('{CANVAS}').focus()")
    type_key(browser, "Escape")
    tap.ok("GPU 0, stream 7" not in settled_tracks(browser, lambda found: len(found) < 3), "but when nothing is selected", tracks_of(browser))

    path = os.path.join(PLACE, "locks.sqlite")
    first, second, third = made.T1, made.T1B, made.P1 | 1002
    d = made.Made(path)
    d.db.execute("CREATE TABLE LIBTRACE_OSRT_CALL (id INTEGER NOT NULL PRIMARY KEY, errno INTEGER, object INTEGER, holderTid INTEGER, flags INTEGER)")
    for number, (start, end, thread, lock, holder) in enumerate(((10, 50, second, 0xabc0, 1000), (20, 90, third, 0xabc0, 1000), (5, 40, first, 0xdef0, 1002), (60, 80, first, 0xfed0, 0)), 1):
        d.osrt(start * 1000, end * 1000, thread, "pthread_mutex_lock")
        d.row("LIBTRACE_OSRT_CALL", id=number, errno=0, object=lock, holderTid=holder, flags=0)
    d.finish()
    database = sqlite3.connect(path)
    tap.ok([row for row, in database.execute("SELECT rowid FROM OSRT_API ORDER BY rowid")] == [1, 2, 3, 4], "calls have the ids of their facts")
    database.close()
    shows(browser, "locks", page("locks", path)[1])
    said = {}
    for ns, thread in (("lasted 40.0 us", "1001"), ("lasted 70.0 us", "1002"), ("lasted 20.0 us", "1000")):
        browser.click(*find_event(browser, "pthread_mutex_lock", ns, f"thread {thread}:"))
        browser.settle()
        said[thread] = about(browser)[0]
    tap.ok(said["1001"]["released by"].startswith("thread 1000, which held it when the wait began") and "1002" in said["1001"]["released to"]
           and said["1002"]["released by"].startswith("thread 1001, which got it during the wait") and "not known" in said["1000"]["released by"],
           "a lock has who released it, or that the report does not know", said)
    track = 22 + 2 * 22 + 2
    third_only = marked(browser, track, track + 14)
    browser.click(*find_event(browser, "pthread_mutex_lock", "lasted 70.0 us"))
    browser.settle()
    tap.ok(third_only == 0 and marked(browser, track - 22, track - 8) > 4 and marked(browser, 24, 38) == 0, "an arrow leads from the thread that released a lock, and no other, to the one that got it",
           (third_only, marked(browser, track - 22, track - 8), marked(browser, 24, 38)))
    picture(browser, "locks")


def drawn(browser):
    """Draw the timeline again; return the texts on it."""
    return browser.evaluate("new Promise((done) => { const proto = CanvasRenderingContext2D.prototype, was = proto.fillText, texts = []; "
                            "proto.fillText = function (...each) { if (this.canvas.parentNode.parentNode.className === 'scroller') texts.push(each[0]); return was.apply(this, each); }; "
                            "document.querySelector('.timeline .scroller').dispatchEvent(new Event('scroll')); proto.fillText = was; done(texts); })")


def tracks_of(browser):
    """Return the texts left of the plot: processes and tracks."""
    return [text for text in drawn(browser) if text and text[0] in "\u25be\u25b8\u229e\u229f" or ": " in text or text.startswith("GPU ")]


def settled_tracks(browser, wanted):
    """Wait until tracks are those that a condition accepts; return them."""
    for _ in range(200):
        found = tracks_of(browser)
        if wanted(found):
            break
        browser.evaluate("new Promise((done) => setTimeout(done, 50))")
    return found


def browser_tree(browser):
    """Check that processes are below those that started them, and fold."""
    path, spool = os.path.join(PLACE, "tree.rep"), spool_folder()
    run(["sh", "-c", "sh -c 'cat /dev/null; cat /dev/null; true'; true"], env=traced_env(path, spool))
    wait_spool_gone(spool)
    shows(browser, "a tree of processes", page("tree", path)[1])
    of = {row["pid"]: row["parentPid"] for row in json.loads(trace("query", "-f", "json", path, "SELECT pid, parentPid FROM LIBTRACE_PROCESS").out)}
    heads = [text for text in tracks_of(browser) if text[0] in "\u25be\u25b8"]
    order = [int(re.search(r"\(([0-9]+)\)", head).group(1)) for head in heads]
    root = next(pid for pid in of if of[pid] not in of)
    tap.ok(len(order) == 4 and order[0] == root and set(order) == set(of) and all(order.index(of[pid]) < order.index(pid) for pid in order[1:]),
           "children come behind their parents", (heads, of))
    x, y, _, _ = browser.box(CANVAS)
    browser.click(x + 12, y + 10)
    browser.settle()
    folded = [text for text in tracks_of(browser) if text[0] in "\u25be\u25b8"]
    tap.ok(len(folded) == 1 and "3 processes folded" in folded[0] and "\u229e" in tracks_of(browser), "a click on the mark folds the children", folded)
    picture(browser, "tree-folded")
    browser.click(x + 12, y + 10)
    browser.settle()
    tap.ok([text for text in tracks_of(browser) if text[0] in "\u25be\u25b8"] == heads, "and unfolds them")
    picture(browser, "tree")


def tracks_database():
    """Create a database: two threads that work at different times, one of them with a long name, and a stream."""
    path = os.path.join(PLACE, "tracks.sqlite")
    if os.path.exists(path):
        return path
    d = made.Made(path)
    d.osrt(0, 100000, made.T1, "main")
    d.osrt(200000, 300000, made.T1, "poll")
    d.osrt(800000, 900000, made.T1B, "read")
    d.kernel(850000, 1000000, made.P1, 5, "void add<float>(float *, int)", "add")
    d.row("ThreadNames", nameId=d.text("the_thread_that_loads_the_data"), priority=1, globalTid=made.T1B)
    d.finish()
    return path


def browser_tracks(browser):
    """Check that tracks without events in view are hidden, a search filters, names are whole."""
    shows(browser, "tracks", page("tracks", tracks_database())[1])
    name = "the_thread_that_loads_the_data (1001): OS runtime"
    all_tracks = ["\u25be process (1000)", "GPU 0, stream 7", "thread 1000: OS runtime", name]
    tap.ok(tracks_of(browser) == all_tracks, "all tracks are there, with their whole names", tracks_of(browser))
    x, y, _, _ = browser.box(CANVAS)
    browser.mouse("mouseMoved", x + 30, y + 22 + 2 * 22 + 8)
    tap.ok(text_of(browser, ".tip").startswith(name), "a name is shown whole at the pointer", text_of(browser, ".tip"))
    at = find_event(browser, "main", "100.0 us")
    browser.mouse("mousePressed", *at, button="left", buttons=1, clickCount=2)
    browser.mouse("mouseReleased", *at, button="left", clickCount=2)
    zoomed = settled_tracks(browser, lambda found: len(found) < 4)
    tap.ok(zoomed == [all_tracks[0], all_tracks[2]], "zoomed in, tracks without an event are hidden", zoomed)
    browser.evaluate("document.querySelector('.timeline input[type=checkbox]').click()")
    tap.ok(tracks_of(browser) == all_tracks, "unless asked for", tracks_of(browser))
    browser.evaluate("document.querySelector('.timeline input[type=checkbox]').click()")
    press(browser, "all")
    settled_tracks(browser, lambda found: len(found) == 4)
    find_text(browser, "read")
    found = settled_tracks(browser, lambda found: len(found) < 4)
    tap.ok(found == [all_tracks[0], name] and "only what was found" in text_of(browser, VIEW) and not {"main", "poll", "add"} & set(drawn(browser)) and "read" in drawn(browser),
           "a search shows what it finds, and nothing else", (found, drawn(browser), text_of(browser, VIEW)))
    find_text(browser, "nothing of that name")
    browser.wait("document.querySelector('.timeline .matches').textContent === '0 found'")
    tap.ok(tracks_of(browser) == all_tracks, "a search that finds nothing hides nothing", tracks_of(browser))
    find_text(browser, "")
    tap.ok(len(settled_tracks(browser, lambda found: len(found) == 4)) == 4, "without a text all is back")


def find_text(browser, text):
    browser.evaluate(f"(() => {{ const i = document.querySelector('.timeline input'); i.value = {json.dumps(text)}; i.dispatchEvent(new Event('input')); }})()")
    browser.wait(f"document.querySelector('.timeline .matches').textContent {'!==' if text else '==='} ''")


def browser_area(browser):
    """Check that the sums of an area count what is in it, and of an event the part inside."""
    shows(browser, "an area", page("tracks", tracks_database())[1])
    press(browser, "sum")
    lines, _ = about(browser)
    rows = browser.evaluate(f"[...document.querySelectorAll('{ABOUT} tbody tr')].map((r) => [...r.children].map((c) => c.textContent))")
    tap.ok(lines["events"] == "4" and lines["time in calls and on GPUs"] == "450.0 us" and lines["of it without waits"] == "250.0 us" and lines["waits, or may wait"] == "200.0 us",
           "the sums of all that is in view", lines)
    tap.ok(sorted(rows) == [["add", "kernels", "1", "150.000"], ["main", "other calls", "1", "100.000"], ["poll", "waits", "1", "100.000"], ["read", "files", "1", "100.000"]],
           "are given by name", rows)
    x, y, width, _ = browser.box(CANVAS)
    start = find_event(browser, "poll")[1]
    gutter = float(browser.evaluate("document.querySelector('.timeline').dataset.gutter"))
    at = lambda us: x + gutter + (width - gutter) * us / 1000  # noqa: E731
    browser.mouse("mousePressed", at(250), start, button="left", buttons=1, clickCount=1, modifiers=8)
    browser.mouse("mouseMoved", at(500), start + 2, button="left", buttons=1, modifiers=8)
    browser.mouse("mouseMoved", at(700), start + 4, button="left", buttons=1, modifiers=8)
    browser.mouse("mouseReleased", at(700), start + 4, button="left", clickCount=1, modifiers=8)
    browser.settle()
    lines, _ = about(browser)
    half = float(lines["time in calls and on GPUs"].split()[0])
    tap.ok(lines["events"] == "1" and abs(half - 50) < 2 and lines["of it without waits"] == "0 ns", "of an area, only what is inside counts", lines)
    tap.ok(text_of(browser, ABOUT + " h3").endswith(", 1 track"), "and only its track", text_of(browser, ABOUT + " h3"))
    picture(browser, "area", whole=True)


def type_key(browser, name):
    text = {"Enter": "\r"}.get(name, name if len(name) == 1 else "")
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=name, **({"text": text} if text and kind == "keyDown" else {}))


def browser_keys(browser):
    """Check that all of the timeline can be reached by keys, and is announced to screen readers."""
    shows(browser, "keys", page("tracks", tracks_database())[1])
    label = browser.evaluate(f"[document.querySelector('{CANVAS}').getAttribute('role'), document.querySelector('{CANVAS}').getAttribute('aria-label')]")
    tap.ok(label[0] == "application" and label[1].startswith("1 process, 4 events with a track, 1.000 ms"), "the timeline has a role and a label", label)
    unnamed = browser.evaluate("[...document.querySelectorAll('.timeline button, .timeline input')].filter((e) => !/[a-z]/.test((e.getAttribute('aria-label') || '') + e.textContent + "
                               "(e.closest('label') ? e.closest('label').textContent : ''))).length")
    tap.ok(unnamed == 0, "each button and field has a name", unnamed)
    browser.evaluate("document.querySelector('.timeline input').focus()")
    for _ in range(20):
        browser.call("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
        if browser.evaluate(f"document.activeElement === document.querySelector('{CANVAS}')"):
            break
    tap.ok(browser.evaluate(f"document.activeElement === document.querySelector('{CANVAS}')"), "the tabulator leads to it")
    said = []
    for name in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"):
        type_key(browser, name)
        said.append(text_of(browser, ".timeline .spoken"))
    tap.ok(said == ["process (1000), open, 3 tracks", "GPU 0, stream 7, 1 event in view", "thread 1000: OS runtime, 2 events in view", "main, 100.0 us, at 0.00 us",
                    "poll, 100.0 us, at 200.00 us", "no later event", "main, 100.0 us, at 0.00 us"], "arrows move between tracks and events, which are said", said)
    tap.ok(text_of(browser, ABOUT + " h3") == "main", "the event is selected", text_of(browser, ABOUT))
    before = text_of(browser, VIEW)
    type_key(browser, "Enter")
    browser.settle()
    type_key(browser, "Escape")
    tap.ok(in_view_ns_of(status_becomes(browser, before)) < 300000 and not browser.evaluate(f"document.querySelector('{ABOUT}')"), "Enter zooms to it, Escape deselects it", text_of(browser, VIEW))
    type_key(browser, "0")
    browser.settle()
    tap.ok(in_view_ns(browser) == 1e6, "0 shows all", text_of(browser, VIEW))
    for _ in range(4):
        type_key(browser, "ArrowUp")
    type_key(browser, "Enter")
    browser.settle()
    tap.ok(tracks_of(browser) == ["\u25b8 process (1000), 3 tracks"] and "closed" in text_of(browser, ".timeline .spoken"), "Enter closes a process", tracks_of(browser))
    type_key(browser, "/")
    tap.ok(browser.evaluate("document.activeElement === document.querySelector('.timeline input')"), "a slash leads to the search")


def browser_lifetimes(browser):
    """Check that a process that only computes is not empty, and that the timeline ends where the run ends."""
    path, spool = os.path.join(PLACE, "computes.rep"), spool_folder()
    run(["sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"], env=traced_env(path, spool, threshold=10**10))
    wait_spool_gone(spool)
    made_page, file = page("computes", path)
    timeline = made_page.reports[0]["timeline"]
    ends = json.loads(trace("query", "-f", "json", path, "SELECT pid, start, end FROM LIBTRACE_PROCESS").out)[0]
    tap.ok(timeline["end_ns"] == ends["end"] and timeline["start_ns"] == ends["start"] and [life[2:4] for life in timeline["lifetimes"] if not life[1]] == [[ends["start"], ends["end"]]],
           "the timeline is as long as the run", (timeline["lifetimes"], ends))
    shows(browser, "a process that computes", file)
    x, y, width, _ = browser.box(CANVAS)
    browser.mouse("mouseMoved", x + width * 0.6, y + 30)
    tip = text_of(browser, ".tip")
    tap.ok("no recorded call for" in tip and f"({ends['pid']})" in tip, "a thread that computes has a bar that says so", tip)
    lit = browser.evaluate("(() => { const c = document.querySelector('.timeline .scroller canvas'), p = (y) => c.getContext('2d').getImageData(c.width * 0.6, y * c.width / c.clientWidth, 1, 1).data.join(); "
                           "return [p(22 + 14), p(c.clientHeight - 3)]; })()")
    tap.ok(lit[0] != lit[1], "the bar is drawn", lit)
    picture(browser, "computes")


def browser_waits(browser):
    """Check that waits are hatched, and in no sum without waits."""
    for name, call, busy in (("waits", "poll", False), ("sync", None, False), ("works", "main", True)):
        path = os.path.join(PLACE, name + ".sqlite")
        d = made.Made(path)
        if call:
            d.osrt(0, 10**6, made.T1, call)
        else:
            d.api(0, 10**6, made.T1, "cudaDeviceSynchronize_v3020", 1)
        d.finish()
        shows(browser, f"one call: {name}", page(name, path)[1])
        row = pixels(browser, CANVAS, 22 + 4)
        tap.ok((row[2] > 1) != busy, f"{name}: {'plain' if busy else 'hatched'}", row)
        filled = browser.evaluate("(() => { const c = document.querySelector('.timeline .overview'), d = c.getContext('2d').getImageData(c.width * 0.6, c.height - 8, 1, 1).data; return d[3] > 0; })()")
        tap.ok(filled == busy, f"{name}: {'' if busy else 'not '}in the overview", filled)
        legend = browser.evaluate("[...document.querySelectorAll('.timeline .legend i.waits')].map((i) => i.parentNode.textContent)")
        tap.ok(bool(legend) != busy, f"{name}: the legend marks it", legend)


def browser_hostile(browser):
    _, path = page("hostile", hostile_database())
    shows(browser, "hostile names", path)
    browser.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    tap.ok(browser.evaluate("window.owned === undefined && !document.querySelector('img')"), "names of a report do not become script or elements")
    tap.ok(EVIL[:30] in text_of(browser, "#tables"), "hostile texts are shown as text", text_of(browser, "#tables")[:300])
    picture(browser, "hostile")


def browser_two(browser):
    shows(browser, "two reports", page("two", MADE, REPORT)[1])
    boxes = browser.evaluate("[...document.querySelectorAll('#timeline .column')].map((c) => { const b = c.getBoundingClientRect(); return [b.x, b.y, b.width]; })")
    tap.ok(len(boxes) == 2 and boxes[0][1] == boxes[1][1] and boxes[0][0] + boxes[0][2] <= boxes[1][0], "the two reports are beside each other", boxes)
    tap.ok(browser.evaluate("document.querySelectorAll('#comparison table tbody tr').length") > 2, "a table compares the two reports")
    picture(browser, "two", whole=True)


def browser_cuda(browser):
    reason = device.missing("pipeline")
    if reason:
        tap.skip("a CUDA program's page", reason)
        return
    path, spool = os.path.join(PLACE, "pipeline.rep"), spool_folder()
    run([device.app("pipeline")], env=device.env(base=traced_env(path, spool, LIBTRACE_CUDA_BACKTRACE="all")))
    wait_spool_gone(spool)
    made_page, file = page("pipeline", path)
    timeline = made_page.reports[0]["timeline"]
    kernels = {number for number, kind, _, _ in timeline["names"] if kind == "kernel"}
    shown = sum(each[5] for each in level_rows(timeline["levels"][0]) if each[4] in kernels)
    stats = json.loads(trace("stats", "-r", "cuda_gpu_kern_sum", "-f", "json", path).out)
    tap.ok(shown == sum(row["Instances"] for row in stats) > 0, f"the timeline has all {shown} kernels", stats)
    shows(browser, "a CUDA program", file)
    tracks = browser.evaluate("JSON.parse(document.getElementById('data').textContent).reports[0].timeline.tracks.map((l) => l[3])")
    tap.ok({"gpu", "api", "osrt"} <= set(tracks), "streams, API calls and waits have tracks", tracks)
    picture(browser, "pipeline", whole=True)
    unnamed = {text for _, text in page("pipeline_unnamed", "--no-symbols", path)[0].reports[0]["flames"][-1]["texts"] if "0x" in text}
    folded = trace("export", "-t", "folded", "--no-symbols", "-o", "-", path).out.decode()
    tap.ok({"pipeline", "libcudart.so.13"} <= {text.partition("+0x")[0] for text in unnamed} and unnamed >= set(re.findall(r"[^; ]+\+0x[0-9a-f]+", folded)),
           "addresses without a function are named by their file and their offset in it, as in other profiles", unnamed)


def browser_many_tracks(browser):
    """Check a process with more tracks than are opened by default: it is open if it is the first; if it is closed, its head shows its activity."""
    path, spool = os.path.join(PLACE, "threads.rep"), spool_folder()
    run([app("many_threads")], env=traced_env(path, spool))
    wait_spool_gone(spool)
    shows(browser, "many threads", page("threads", path)[1])
    high = "document.querySelector('.timeline .scroller > div').offsetHeight"
    opened = browser.evaluate(high)
    tap.ok(opened > 61 * 17, "the first process is open", opened)
    picture(browser, "threads")
    x, y, _, _ = browser.box(".timeline .scroller canvas")
    browser.click(x + 30, y + 10)
    browser.wait(f"{high} < {opened}")
    in_head = ("(() => { const c = document.querySelector('.timeline .scroller canvas'), k = c.width / c.clientWidth; "
               "return new Set(new Uint32Array(c.getContext('2d').getImageData(230 * k, 10 * k, c.width - 230 * k, 1).data.buffer)).size; })()")
    browser.wait(f"{in_head} > 1")
    tap.ok(browser.evaluate(in_head) > 1, "closed, its head shows its work")
    picture(browser, "threads_closed")


def in_browser():
    tests = (browser_timeline, browser_hover, browser_details, browser_launch, browser_arrows, browser_tree, browser_tracks, browser_area, browser_keys,
             browser_lifetimes, browser_waits, browser_hostile, browser_two, browser_cuda, browser_many_tracks)
    if not _browser.find():
        for test in tests:
            tap.skip(test.__name__, "no chromium here")
        return
    with _browser.Browser() as browser:
        for test in tests:
            test(browser)


TEXT = (text_widths, text_says_what_others_say, text_in_a_pipe_is_whole, text_has_costs_and_merges, text_colors, text_of_hostile_names, wrong_use)
PAGE = (page_stands_alone, page_has_all_events, page_flame_sums, page_levels, page_of_hostile_names, page_of_impossible_times, page_of_times_since_1970, page_failures, in_browser)


def not_built():
    result = trace("report", "--html", "-o", os.path.join(PLACE, "none.html"), MADE)
    tap.ok(result.status == 2 and result.err.count(b"\n") == 1 and b"npm" in result.err and not os.path.exists(os.path.join(PLACE, "none.html")),
           "a command built without the page says so in one line", result)
    for test in PAGE:
        tap.skip(test.__name__, "the page was not built: no npm")


main(*TEXT, *(PAGE if BUILT else (not_built,)))
