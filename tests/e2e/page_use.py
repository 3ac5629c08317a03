#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""The page as somebody uses it in a browser, at several widths: one report, the two of `trace diff`, a night. SCREENSHOTS=DIR keeps pictures."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import app, clean_env, fixtures, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402
from _page import ABOUT, CANVAS, about, find_event, search, shows  # noqa: E402
import _made_database as made  # noqa: E402
import _page  # noqa: E402
import libdevice as device  # noqa: E402

PLACE = folder()
SHOTS = os.environ.get("SCREENSHOTS")
WIDTHS = (1400, 1000, 700, 400)


def page(name, *files):
    """Return the data of the page of `files`, and its path."""
    path = os.path.join(PLACE, name + ".html")
    return _page.write(path, *files).content, path


def traced(name, command, **more):
    path, spool = os.path.join(PLACE, name + ".rep"), spool_folder()
    result = run(command, env=traced_env(path, spool, LIBTRACE_OSRT_BACKTRACE_THRESHOLD=0, **more))
    wait_spool_gone(spool)
    if result.status != 0:
        raise RuntimeError(result)
    return path


def texts(browser, selector):
    return browser.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)")


def press_key(browser, key):
    """Press a key on the element that has the focus."""
    code = {"Tab": 9, "Enter": 13}[key]
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **({"text": "\r"} if key == "Enter" and kind == "keyDown" else {}))


def status(browser, column=0):
    """Return the line below the timeline of a column, once all is drawn."""
    browser.settle()
    return texts(browser, ".timeline .status")[column]


def in_view(text):
    return text.partition("in view: ")[2].partition(" \u00b7 ")[0]


def colors_at(browser, y, *places):
    """Return the colors of eight pixels after each position, in CSS pixels from its corner, of a line of the timeline."""
    line = browser.evaluate(f"(() => {{ const c = document.querySelector({json.dumps(CANVAS)}), k = c.width / c.clientWidth; "
                            f"return [...new Uint32Array(c.getContext('2d').getImageData(0, {y} * k, c.width, 1).data.buffer)]; }})()")
    return [set(line[int(place):int(place) + 8]) for place in places]


# ---- one report ----

def made_database():
    """Create a database: a thread that waits, works and waits for a file, each for a quarter of its life, a GPU, and long names."""
    path = os.path.join(PLACE, "made.sqlite")
    if not os.path.exists(path):
        d = made.Made(path)
        d.osrt(0, 250_000, made.T1, "poll")
        d.osrt(250_000, 500_000, made.T1, "main")
        d.osrt(750_000, 1_000_000, made.T1, "poll")
        d.api(500_000, 600_000, made.T1, "cudaLaunchKernel_v7000", 5)
        d.kernel(600_000, 900_000, made.P1, 5, "void " + "long_name_" * 30 + "<float>(float *, int)", "long_name")
        d.row("PROCESSES", globalPid=made.P1, pid=1000, name="solver_with_a_long_name_" * 4)
        d.finish()
    return path


def colors_of_waiting(browser):
    """Check that waiting, working and being alive look different."""
    shows(browser, "colors", page("made", made_database())[1])
    _, top, width, _ = browser.box(CANVAS)
    gutter = float(browser.evaluate("document.querySelector('.timeline').dataset.gutter"))
    at = find_event(browser, "main", "lasted 250.0 us")
    down = at[1] - top
    plot = width - gutter
    waits, works, alive = colors_at(browser, down + 5, *(gutter + plot * part for part in (0.125, 0.375, 0.68)))
    tap.ok(not waits & works and not waits & alive and not works & alive and len(waits) > 1 and len(works) == len(alive) == 1,
           "a wait, work and a thread that is alive have different colors, and only the wait is hatched", (waits, works, alive))


def python_callchain(browser):
    """Check that a click on a call of a Python program shows the functions of Python and those of its interpreter."""
    script = os.path.join(PLACE, "sleeper.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write("import time\n\n\ndef rest():\n    time.sleep(0.05)\n\n\ndef work():\n    rest()\n\n\nwork()\n")
    report = traced("python", [sys.executable, script], LIBTRACE_PYTHON_BACKTRACE="auto")
    query = ("SELECT n.value AS name FROM OSRT_API AS o JOIN StringIds AS n ON n.id = o.nameId JOIN OSRT_CALLCHAINS AS c ON c.id = o.callchainId "
             "JOIN StringIds AS s ON s.id = c.symbol WHERE s.value LIKE 'rest (%' ORDER BY o.\"end\" - o.start DESC")
    found = json.loads(trace("query", "-f", "json", report, query).out)
    if not found:
        tap.skip("the callchain of a Python program", f"no frames of {sys.version.split()[0]}")
        return
    shows(browser, "a Python program", page("python", report)[1])
    search(browser, found[0]["name"])
    lines, frames = about(browser)
    rest, work = (next((at for at, frame in enumerate(frames) if frame.startswith(f"{name} Python, sleeper.py:{line}")), -1) for name, line in (("rest", 5), ("work", 9)))
    tap.ok(0 < rest < work < len(frames) - 1 and frames[0].startswith(found[0]["name"]) and "sleeper.py:5" in lines["called at"],
           "a callchain has the functions of Python with their lines, between native ones", (lines, frames))


def screen_reader_and_keys(browser):
    content, path = page("made", made_database())
    shows(browser, "roles", path)
    browser.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    found = browser.evaluate("[document.documentElement.lang, document.querySelectorAll('main').length, document.querySelectorAll('header nav a').length, "
                             "[...document.querySelectorAll('nav a')].filter((a) => !document.getElementById(a.hash.slice(1))).length, "
                             "[...document.querySelectorAll('h1, h2')].map((h) => h.tagName).join('')]")
    tap.ok(found[:2] == ["en", 1] and found[2] >= 6 and found[3] == 0 and found[4].startswith("H1H2H2"), "the page has a language, landmarks, and links that lead somewhere", found)
    unnamed = browser.evaluate("[...document.querySelectorAll('button, input, select, canvas')].filter((e) => !e.hidden && e.getAttribute('aria-hidden') !== 'true' && "
                               "!((e.getAttribute('aria-label') || '') + e.textContent + (e.closest('label')?.textContent || '')).trim()).map((e) => e.outerHTML)")
    tap.ok(not unnamed, "each control and picture has a name", unnamed)
    live = browser.evaluate("['.timeline .spoken', '.timeline .toolbar .matches', '.flamegraph .status'].map((s) => { const e = document.querySelector(s); return e ? e.getAttribute('role') || e.getAttribute('aria-live') : null; })")
    tap.ok(live[:2] == ["status", "status"], "what changes is announced", live)
    head = "document.querySelector('#tables th:last-child')"
    browser.evaluate(f"{head}.focus()")
    press_key(browser, "Enter")
    first = browser.evaluate(f"{head}.getAttribute('aria-sort')")
    press_key(browser, "Enter")
    tap.ok([first, browser.evaluate(f"{head}.getAttribute('aria-sort')")] == ["ascending", "descending"], "Enter on a heading sorts, and the heading says how", first)
    reached = set()
    browser.evaluate("document.body.focus()")
    for _ in range(80):
        press_key(browser, "Tab")
        reached.add(browser.evaluate("(() => { const e = document.activeElement; return e.tagName + ' ' + (e.closest('section[id]')?.id || ''); })()"))
    tap.ok({"A ", "A summary", "INPUT timeline", "CANVAS timeline", "TH tables", "SUMMARY tables"} <= reached, "the tabulator leads through all parts", sorted(reached))
    said = dict(zip(texts(browser, "#summary .first dt"), texts(browser, "#summary .first dd")))
    tap.ok(content["reports"][0]["timeline"]["events"] == 5 and said == {"lasted": "1.000 ms, from the first event to the last", "events": "5"},
           "a database that says nothing of itself has the duration and number of its events on the first screen", said)


def gpu_of_a_report(browser):
    reason = device.missing("pipeline")
    if reason:
        tap.skip("the GPU of a report", reason)
        return
    path, spool = os.path.join(PLACE, "pipeline.rep"), spool_folder()
    run([device.app("pipeline")], env=device.env(base=traced_env(path, spool)))
    wait_spool_gone(spool)
    shows(browser, "a CUDA program", page("pipeline", path)[1])
    said = dict(zip(texts(browser, "#summary .first dt"), texts(browser, "#summary .first dd")))
    wanted = json.loads(trace("query", "-f", "json", path, "SELECT DISTINCT name FROM TARGET_INFO_GPU").out)
    tap.ok({"command", "ended", "lasted", "GPU", "host"} <= set(said) and wanted and wanted[0]["name"] in said["GPU"] and said["ended"] == "exit 0", "the first screen of a CUDA program names its GPU", (said, wanted))
    tap.ok(len(texts(browser, ".costs li a")) == 3, "and its three largest costs", texts(browser, ".costs"))


HEIGHTS = "(() => { const b = document.querySelector('.timeline').getBoundingClientRect(), c = document.querySelector('.scroller').getBoundingClientRect(); return [b.height, c.height, c.top - b.top]; })()"


def panel_of_an_event(browser):
    """Check that the panel of an event is in view beside the event, that it can be closed."""
    path = os.path.join(PLACE, "tall.sqlite")
    d = made.Made(path)
    for number in range(40):
        tid = made.P1 | (1000 + number)
        d.osrt(number * 1000, number * 1000 + 900, tid, "poll" if number % 2 else "main")
    d.finish()
    shows(browser, "many threads", page("tall", path)[1])
    browser.call("Emulation.setDeviceMetricsOverride", width=1400, height=500, deviceScaleFactor=1, mobile=False)
    search(browser, "main")
    browser.box(CANVAS)
    browser.settle()
    top, bottom, high = browser.evaluate("(() => { const b = document.querySelector('.timeline .about').getBoundingClientRect(); return [b.top, b.bottom, window.innerHeight]; })()")
    natural = browser.evaluate("document.querySelector('.timeline .status').getBoundingClientRect().bottom")
    tap.ok(0 < top and bottom <= high + 1 and natural > top, "the panel of an event is in view, also where the timeline is higher than the window", (top, bottom, high, natural))
    heights = [browser.evaluate(HEIGHTS)]
    for text in ("poll", "zzz", "m"):
        search(browser, text)
        heights.append(browser.evaluate(HEIGHTS))
    browser.evaluate("document.querySelector('.about .close').click()")
    heights.append(browser.evaluate(HEIGHTS))
    tap.ok(heights[0][1] > 100 and all(each == heights[0] for each in heights), "neither a search nor a selection changes the height of the timeline, or moves it", heights)
    tap.ok(not browser.evaluate(f"document.querySelector('{ABOUT}')"), "its button closes it", about(browser))
    set_width(browser, 1400)


def program_is_named(browser):
    """Check that the title names the program that ran, not what started it, and that calls are found, not the states of threads in them."""
    shows(browser, "env", page("env", traced("env", ["env", "sleep", "0.01"], LIBTRACE_THREAD_TIME="process-tree"))[1])
    tap.ok(texts(browser, "h1") == ["env.rep (sleep)"], "the title names the program that env executed", texts(browser, "h1"))
    search(browser, "nanosleep")
    tap.ok(texts(browser, f"{ABOUT} h3") in (["nanosleep"], ["clock_nanosleep"]), "a search for a call selects the call", texts(browser, ABOUT))


# ---- widths ----

def set_width(browser, width):
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)


OUT_OF_VIEW = ("[...document.querySelectorAll('header, h1, nav a, h2, .verdict, .costs, dl, .toolbar button, .toolbar input, .toolbar select, .status, .legend span, canvas, summary, .wide, .more')]"
               ".filter((e) => e.offsetParent && (e.getBoundingClientRect().right > window.innerWidth + 1 || e.getBoundingClientRect().left < -1)).map((e) => e.outerHTML.slice(0, 80))")


def widths(browser):
    """Check that all is within the window at each width; only tables scroll sideways, and begin with their names then."""
    real = os.path.join(fixtures("xplane"), "jax08_gemm.xplane.pb")
    for name, *files in (("made", made_database()), ("steps", made_database(), made_database()), *([("jax", real)] if os.path.exists(real) else [])):
        path = page(f"wide-{name}", *files)[1]
        for width in WIDTHS:
            set_width(browser, width)
            browser.open(path)
            browser.settle()
            wide = browser.evaluate("document.documentElement.scrollWidth")
            out = browser.evaluate(OUT_OF_VIEW)
            tap.ok(wide <= width and not out, f"{name}, {width} pixels: nothing is out of view", (wide, out))
            if SHOTS:
                os.makedirs(SHOTS, exist_ok=True)
                browser.screenshot(os.path.join(SHOTS, f"{name}-{width}.png"), True)
            narrow = browser.evaluate("[...document.querySelectorAll('#tables .wide')].filter((t) => t.offsetParent && t.querySelector('tbody td:nth-child(2)').getBoundingClientRect().left > window.innerWidth - 40).length")
            tap.ok(not narrow, f"{name}, {width} pixels: a long name leaves room for the next column", narrow)
            if width < 1000:
                seen = browser.evaluate("[...document.querySelectorAll('#tables table')].filter((t) => t.offsetParent).map((t) => t.querySelector('tbody td').className.split(' ')[0])")
                tap.ok(seen and set(seen) == {"text"}, f"{name}, {width} pixels: tables begin with names", seen)
            broken = browser.evaluate("[...document.querySelectorAll('td.text')].filter((c) => c.offsetParent && c.textContent.length <= 15 && (() => { const r = document.createRange(); r.selectNodeContents(c); return r.getClientRects().length > 1; })()).map((c) => c.textContent)")
            tap.ok(not broken, f"{name}, {width} pixels: short words are not broken", broken)
    set_width(browser, 1400)


# ---- two reports ----

def diff_reports():
    return [traced(f"run{number}", [app("lock_holder")]) for number in (1, 2)]


def diff_page(browser):
    """Check A beside B: both can be explored, move together on demand, and have one flame graph."""
    a, b = diff_reports()
    path = os.path.join(PLACE, "diff.html")
    result = trace("diff", "--html", path, a, "--", b)
    if not os.path.exists(path):
        tap.skip("the page of trace diff", result.err.decode().strip())
        return
    shows(browser, "trace diff", path)
    sections = texts(browser, "nav a")
    tap.ok(sections == ["Verdict", "Summary", "Timeline", "A against B", "Tables", "Findings", "Flame graph", "Receipt"], "the page begins with the verdict", sections)
    for part in ("summary", "timeline", "tables", "receipt"):
        boxes = browser.evaluate(f"[...document.querySelectorAll('#{part} .column')].map((c) => {{ const b = c.getBoundingClientRect(); return [b.x, b.right, b.y]; }})")
        heads = texts(browser, f"#{part} .column > h3")
        tap.ok(len(boxes) == 2 and boxes[0][1] <= boxes[1][0] and boxes[0][2] == boxes[1][2] and heads == [f"A: {a}", f"B: {b}"], f"{part}: A is beside B", (boxes, heads))
    units = browser.evaluate("[0, 1].map((side) => [...document.querySelectorAll(`#table-${side}-osrt_sum th`)].map((h) => h.textContent))")
    tap.ok(units[0] == units[1] and units[0], "the tables of A and B have the same unit", units)
    said = browser.evaluate("(() => { const a = document.querySelectorAll('#summary .column')[1].querySelector('.costs a'); a.click(); "
                            "const d = document.getElementById(a.hash.slice(1)); return [a.hash, d.open, d.querySelector('tr.marked')?.textContent.includes(a.textContent), d.closest('.column') === document.querySelectorAll('#tables .column')[1]]; })()")
    tap.ok(said == ["#table-1-osrt_sum", True, True, True], "the costs of B lead to the tables of B", said)
    zoom = "[...document.querySelectorAll('#timeline .column')[{}].querySelectorAll('.toolbar button')].find((b) => b.textContent === '{}').click()"
    whole = [in_view(status(browser, side)) for side in (0, 1)]
    browser.evaluate(zoom.format(0, "+"))
    alone = [in_view(status(browser, side)) for side in (0, 1)]
    tap.ok(alone[0] != whole[0] and alone[1] == whole[1], "each timeline zooms alone", (whole, alone))
    browser.evaluate("document.querySelector('#timeline .link input').click()")
    browser.evaluate(zoom.format(0, "+"))
    both = [in_view(status(browser, side)) for side in (0, 1)]
    tap.ok(both[0] != alone[0] and both[0].split(" from ")[0] == both[1].split(" from ")[0], "linked, both zoom", (alone, both))
    browser.evaluate(zoom.format(1, "+"))
    other = [in_view(status(browser, side)) for side in (0, 1)]
    tap.ok(other[1] != both[1] and other[0].split(" from ")[0] == other[1].split(" from ")[0], "from either side", (both, other))
    browser.evaluate("document.querySelector('#timeline .link input').click()")
    for side in (0, 1):
        browser.evaluate(zoom.format(side, "all"))
    browser.evaluate("document.querySelectorAll('#timeline .column')[1].querySelector('canvas[role]').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown'}))")
    for key in ("ArrowDown", "ArrowRight"):
        browser.evaluate(f"document.querySelectorAll('#timeline .column')[1].querySelector('canvas[role]').dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}'}}))")
    details = [browser.evaluate(f"[...document.querySelectorAll('#timeline .column')[{side}].querySelectorAll('.details dt')].map((d) => d.textContent)") for side in (0, 1)]
    tap.ok(not details[0] and {"lasted", "arguments", "returned"} <= set(details[1]), "an event of B has its details below B", details)
    rows = browser.evaluate("[...document.querySelectorAll('#comparison tbody tr')].map((r) => r.children.length)")
    tap.ok(rows and set(rows) == {5}, "a table has A, B, their difference and ratio", rows)
    names = browser.evaluate("[document.querySelectorAll('#flame > .flamegraph').length, document.querySelectorAll('#flame .column details').length]")
    tap.ok(names == [1, 2], "one flame graph is of both, and each has its own, folded", names)
    canvas = browser.evaluate("(() => { document.querySelectorAll('#flame .column details').forEach((d) => { d.open = true; }); return 1; })()")
    browser.settle()
    drawn = browser.evaluate("[...document.querySelectorAll('#flame canvas')].map((c) => { const d = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer); return new Set(d).size; })")
    tap.ok(canvas and len(drawn) == 3 and all(colors > 3 for colors in drawn), "all three are drawn", drawn)
    if SHOTS:
        browser.screenshot(os.path.join(SHOTS, "diff.png"), True)
    set_width(browser, 700)
    browser.settle()
    boxes = browser.evaluate("[...document.querySelectorAll('#timeline .column')].map((c) => { const b = c.getBoundingClientRect(); return [b.x, b.bottom, b.y]; })")
    tap.ok(boxes[0][0] == boxes[1][0] and boxes[0][1] <= boxes[1][2] and not browser.evaluate(OUT_OF_VIEW), "in a narrow window B is below A", (boxes, browser.evaluate(OUT_OF_VIEW)))
    set_width(browser, 1400)


def units_of_both(browser):
    """Check that tables beside each other have the same unit, although one has greater numbers."""
    files = []
    for name, ns in (("brief", 1_001_200), ("lasting", 1_501_200)):
        files.append(os.path.join(PLACE, name + ".sqlite"))
        d = made.Made(files[-1])
        d.nvtx(0, ns, made.T1, "whole")
        d.nvtx(10, 10 + ns // 2, made.T1, "half")
        d.finish()
    heads = []
    for name, *some in (("both", *files), ("alone", files[1])):
        browser.open(page(f"units-{name}", *some)[1])
        heads += [texts(browser, f"#table-{side}-nvtx_sum th") for side in range(len(some))]
    tap.ok(heads[0] == heads[1] and set(heads[1]) != set(heads[2]) and "Total Time (us)" in heads[0] and "Total Time (ms)" in heads[2],
           "two tables beside each other have the same unit, although one alone would have another", heads)


# ---- a night ----

def night_page(browser):
    """Check that the history of a job leads to the page of a night, which shows it beside its baseline."""
    def nightly(command, *arguments):
        return trace("nightly", command, "--name=job", f"--folder={PLACE}/nights", "--host=h", *arguments, env=clean_env())

    for day in (1, 2):
        result = nightly("run", "--page", f"--now=2026-03-0{day}T03:00:00", "--runs=1", "--trace-options=-t osrt", "--commit=0", "--", app("lock_holder"))
        if b"needs " in result.err and b"scripts/setup" in result.err:
            tap.skip("the page of a night", result.err.decode().strip())
            return
    nightly("report")
    history = os.path.join(PLACE, "nights/job/h/history.html")
    browser.call("Page.navigate", url="file://" + history)
    browser.wait("location.pathname.endsWith('/history.html') && document.readyState === 'complete'")
    links = browser.evaluate("[...document.querySelectorAll('a')].map((a) => a.getAttribute('href')).filter((h) => h && h.endsWith('verdict.html'))")
    tap.ok(len(links) == 2 and "20260302-030000-0/verdict.html" in links, "the history links to the page of each night", links)
    browser.evaluate("document.querySelector('a[href=\"20260302-030000-0/verdict.html\"]').click()")
    browser.wait("location.pathname.endsWith('/verdict.html') && !!(document.documentElement?.dataset.drawn || document.documentElement?.dataset.failed)")
    browser.wait("document.querySelectorAll('.timeline .status').length === 2 && document.querySelectorAll('.timeline .status')[1].textContent !== ''")
    heads = texts(browser, "#timeline .column > h3")
    tap.ok(len(heads) == 2 and "/20260301-030000-0/" in heads[0] and "/20260302-030000-0/" in heads[1], "the baseline is beside the night", heads)
    tap.ok(texts(browser, "#verdict .verdict")[0].startswith("cannot tell: "), "with the verdict of the night first", texts(browser, "#verdict .verdict"))
    tap.ok(len(texts(browser, "#flame > .flamegraph .status")) == 1, "and one flame graph of both nights")
    browser.click(*find_event(browser, "lasted"))
    lines, _ = about(browser)
    tap.ok({"began", "lasted", "where"} <= set(lines) and browser.evaluate(f"document.querySelectorAll('{ABOUT}').length") == 1, "its events can be clicked", lines)


BROWSER = (colors_of_waiting, python_callchain, screen_reader_and_keys, gpu_of_a_report, panel_of_an_event, program_is_named, widths, diff_page, units_of_both, night_page)


def in_browser():
    _page.run_in_browser(BROWSER)


BUILT = b"built without npm" not in trace("report", "--html", "-o", os.path.join(PLACE, "first.html"), made_database()).err
if BUILT:
    main(in_browser)
else:
    tap.skip("the page in a browser", "the page was not built: no npm")
    tap.finish()
