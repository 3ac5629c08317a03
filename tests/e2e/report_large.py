#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
"""The page of a report of two million calls: one file of bounded size, whose merged events sum up to the totals, with details of the longest calls.

How long it takes to open is measured by tests/bench/page.py, never asserted.
"""
import collections
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import app, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402
from _page import ABOUT, CANVAS, Page, about, level_rows, shows  # noqa: E402
import _browser  # noqa: E402

CALLS = 2_000_000
PAGE_BYTES_MAX = 10 << 20
WAITING = {"lock", "wait", "sync", "io", "net", "mpi", "nvtx"}  # kinds that are never counted as busy
LONGEST = 2000  # calls whose details are looked for; the page has those of 8,000
PLACE = folder()
REPORT, PAGE, DATABASE = (os.path.join(PLACE, name) for name in ("large.rep", "large.html", "large.sqlite"))


def record():
    """Record the report. Returns why there is no page; None if it is there."""
    spool = spool_folder()
    run([app("many_calls"), str(CALLS // 2), "4"], env=traced_env(REPORT, spool, LIBTRACE_MEMORY=256), limit=300)
    wait_spool_gone(spool, 300)
    made = trace("report", "--html", "-o", PAGE, REPORT, limit=800)
    if b"built without npm" in made.err:
        return "the page was not built: no npm"
    tap.ok(made.status == 0 and not made.err, "the page of two million calls is written", made)
    trace("export", "-t", "sqlite", "-o", DATABASE, REPORT, limit=300)
    return None


def sums(rows, key):
    """Sum up the events and the time of rows by a key."""
    found = collections.defaultdict(lambda: [0, 0])
    for row in rows:
        entry = found[key(row)]
        entry[0] += row.count
        entry[1] += row.taken
    return dict(found)


def page_of_many():
    database, report = sqlite3.connect(DATABASE), Page(PAGE).reports[0]
    timeline = report["timeline"]
    calls, ns = database.execute('SELECT count(*), sum("end" - start) FROM OSRT_API').fetchone()
    tap.ok(calls >= CALLS and os.path.getsize(PAGE) <= PAGE_BYTES_MAX, f"the page of {calls} calls is one file of at most {PAGE_BYTES_MAX} bytes", (calls, os.path.getsize(PAGE)))
    levels = [level_rows(level) for level in timeline["levels"]]
    tap.ok(timeline["events"] == calls and len(levels) >= 3 and len(levels[0]) < calls / 2, "calls are merged, in several levels of detail", [len(rows) for rows in levels])
    wrong = [number for number, rows in enumerate(levels) if (sum(row.count for row in rows), sum(row.taken for row in rows)) != (calls, ns)]
    tap.ok(not wrong, f"each of {len(levels)} levels has all {calls} calls and their {ns} ns", wrong)
    tids = {track[0]: track[2] for track in timeline["tracks"]}
    wanted = {tid: [count, taken] for tid, count, taken in database.execute('SELECT globalTid & 16777215, count(*), sum("end" - start) FROM OSRT_API GROUP BY 1')}
    tap.ok(all(sums(rows, lambda row: tids[row.track]) == wanted for rows in levels) and len(wanted) == 4, "and those of each thread", wanted)
    kinds = {number: kind for number, kind, _, _ in timeline["names"]}
    busy = [sum(row.busy if row.busy is not None else 0 if kinds.get(row.name) in WAITING else row.length for row in rows) for rows in levels]
    tap.ok(len(set(busy)) == 1 and 0 < busy[0] <= ns, "all levels have the same busy time", busy)
    table = next(each for each in report["tables"] if each["name"] == "osrt_sum")
    tap.ok((sum(row[2] for row in table["rows"]), sum(row[1] for row in table["rows"])) == (calls, ns), "the table has the same totals", table["rows"][:3])
    longest = database.execute('SELECT o.start, o."end", s.value, o.globalTid & 16777215 FROM OSRT_API AS o JOIN StringIds AS s ON s.id = o.nameId '
                               f'ORDER BY o."end" - o.start DESC LIMIT {LONGEST}').fetchall()
    names = {number: text for number, _, text, _ in timeline["names"]}
    detailed = {(row[2], row[3], names.get(row[4]), tids[row[0]]): dict(zip(of["labels"], row)) for of in timeline["details"]["lists"] for row in of["rows"]}
    missing = [call for call in longest if call not in detailed]
    tap.ok(len(longest) == LONGEST and not missing, f"the longest {LONGEST} calls have their details", missing[:3])
    with_object = [call for call in longest if call in detailed and call[2] in ("pread", "pthread_mutex_lock")]
    tap.ok(with_object and all(detailed[call]["arguments"] for call in with_object) and all(detailed[call]["returned"] is not None for call in longest if call in detailed)
           and len(detailed) <= 8000, "arguments and results among them, and the page has at most 8,000", (len(detailed), len(with_object)))
    ends = database.execute('SELECT max("end") - min(start) FROM OSRT_API').fetchone()[0]
    cells = [level["cell_ns"] for level in timeline["levels"]]
    tap.ok(all(row.count == 1 or row.length <= 2 * cell for cell, rows in zip(cells, levels) for row in rows) and cells[-1] <= ends / 1000 * 4, "only short calls that are close are merged", (cells, ends))
    database.close()


def merged_with_details(pixels):
    """Return where merged calls are that the page has details of, as parts of the timeline's width: the page has those of the longest calls only."""
    timeline = Page(PAGE).reports[0]["timeline"]
    whole = timeline["end_ns"] - timeline["start_ns"]
    level = ([level for level in timeline["levels"] if level["cell_ns"] <= whole / pixels] or timeline["levels"][:1])[-1]
    detailed = collections.defaultdict(list)
    for of in timeline["details"]["lists"]:
        for track, row, start, end, *_ in of["rows"]:
            detailed[track, row].append((start, end))
    merged = [row for row in level_rows(level) if row.count > 1]
    places = [(row.start + row.length / 2 - timeline["start_ns"]) / whole for row in merged if any(row.start <= start and end <= row.start + row.length for start, end in detailed[row.track, row.row])]
    return places[::max(1, len(places) // 40)]


def leads_to_longest(browser, places):
    """Click at `places` until there are merged calls whose longest the page has details of; check that these are linked."""
    linked = f"!!document.querySelector('{ABOUT} .jump') && document.querySelector('{ABOUT} h3').textContent.includes(' events, the longest: ')"
    for at in places:
        browser.click(*at)
        if browser.evaluate(linked):
            break
    tap.ok(browser.evaluate(linked), "a click on merged calls says how many they are", browser.evaluate(f"document.querySelector('{ABOUT}')?.textContent || ''"))
    browser.evaluate(f"document.querySelector('{ABOUT} .jump').click()")
    lines, _ = about(browser)
    tap.ok({"returned", "lasted", "where"} <= set(lines), "and leads to the longest of them, with its result", lines)


def browser_of_many():
    """Check that merged calls on the page link to the longest among them."""
    if not _browser.find():
        tap.skip("the large page in a browser", "no chromium here")
        return
    database = sqlite3.connect(DATABASE)
    calls = database.execute("SELECT count(*) FROM OSRT_API").fetchone()[0]
    with _browser.Browser() as browser:
        shows(browser, "two million calls", PAGE)
        status = browser.evaluate("document.querySelector('.timeline .status').textContent")
        tap.ok(status.startswith(f"{calls:,} events"), "the page says how many calls there are", status)
        x, y, width, height = browser.box(CANVAS)
        gutter = float(browser.evaluate("document.querySelector('.timeline').dataset.gutter"))
        across = [x + gutter + (width - gutter) * part for part in merged_with_details(width - gutter)]
        if across:
            leads_to_longest(browser, [(right, y + down) for right in across for down in range(28, int(height), 8)])
        else:
            tap.skip("a click on merged calls", "the longest calls are merged nowhere on this page")
        browser.evaluate("[...document.querySelectorAll('.timeline .toolbar button')].find((b) => b.textContent === 'all').click()")
        browser.evaluate("[...document.querySelectorAll('.timeline .toolbar button')].find((b) => b.textContent === 'sum').click()")
        tap.ok(about(browser)[0]["events"] == f"{calls:,}", "the sums of all that is in view have all calls", about(browser)[0])
    database.close()


REASON = record()
if REASON:
    tap.skip("the page of two million calls", REASON)
main(*(() if REASON else (page_of_many, browser_of_many)))
