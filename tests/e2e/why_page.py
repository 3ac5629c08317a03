#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Check `trace why --html`: the page has the segments of `trace why --path` on tracks of their threads and streams, and the sums; a click shows more."""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _page import Page, about, find_event, level_rows, run_in_browser, shows  # noqa: E402
from lib import SRC, app, folder, main, recorded, run, tap, trace  # noqa: E402

PLACE = folder()


def database():
    path = os.path.join(PLACE, "made.sqlite")
    if not os.path.exists(path):
        run([sys.executable, os.path.join(SRC, "tests/bench/wait_database.py"), path, "500"])
    return path


def page(name, file, *options):
    path = os.path.join(PLACE, name + ".html")
    result = trace("why", "--html", "--force-overwrite", "true", "-o", path, *options, file)
    if result.status or result.err:
        raise RuntimeError(result)
    return Page(path).reports[0], path


def path_in(report):
    """Return the segments of the path in a page: (start, duration, thread or stream, cause)."""
    timeline = report["timeline"]
    names = {number: text for number, _, text, _ in timeline["names"]}
    tracks = {track[0]: (track[2] or None, track[5] or None) for track in timeline["tracks"] if track[3] == "path"}
    return sorted((row.start, row.length, *tracks[row.track], names[row.name]) for row in level_rows(timeline["levels"][0]) if row.track in tracks)


def data():
    report, _ = page("made", database())
    segments = json.loads(trace("why", "--path", "-f", "json", database()).out)
    wanted = sorted((s["Start (ns)"], s["Duration (ns)"], s["TID"], s["Stream"], s["Cause"]) for s in segments)
    tap.ok(path_in(report) == wanted and len({each[2:4] for each in wanted}) > 3, "the page has the segments of trace why --path, on tracks of their threads and streams",
           (path_in(report)[:5], wanted[:5]))
    sums = json.loads(trace("why", "-f", "json", database()).out)
    table = report["path"][0]
    tap.ok(table["name"] == "critical_path_sum" and [[row[1], row[-3]] for row in table["rows"]] == [[row["Total Time (ns)"], row["Cause"]] for row in sums],
           "and the sums by cause", (table["rows"][:2], sums[:2]))
    plain = os.path.join(PLACE, "plain.html")
    trace("report", "--html", "-o", plain, database())
    without = Page(plain).reports[0]
    tap.ok("path" not in without and not path_in(without) and without["timeline"]["events"] == report["timeline"]["events"], "trace report --html has neither; segments are no events")
    trace("report", "--html", "--critical-path", "-f", "true", "-o", plain, database())
    tap.ok(path_in(Page(plain).reports[0]) == wanted, "trace report --html --critical-path has both")


def ranges():
    report = recorded([app("nvtx_threads"), "5"])
    if not report:
        return
    found, _ = page("ranges", report.path, "--range", "first")
    segments = json.loads(trace("why", "--path", "-f", "json", "--range", "first", report.path).out)
    tap.ok(sum(each[1] for each in path_in(found)) == sum(s["Duration (ns)"] for s in segments) > 0, "--range: the paths of the ranges")


def refusals():
    for options, text in (("--html", "--json"), b"cannot be used with"), (("-o", os.path.join(PLACE, "x")), b"need --html"), (("--html", "-o", PLACE + "/made.html"), b"exists"):
        refused = trace("why", *options, database())
        tap.ok(refused.status == 2 and text in refused.err and refused.err.count(b"\n") == 1 and not refused.out, f"{' '.join(options)} is refused", refused)


def of_two_runs():
    """Check that A -- B with --html is a page of both runs with their paths, and that options that A -- B cannot have are refused by name."""
    path = os.path.join(PLACE, "two.html")
    other = os.path.join(PLACE, "other.sqlite")
    shutil.copy(database(), other)
    done = trace("why", "--html", "--force-overwrite", "true", "-o", path, database(), "--", other)
    tap.ok(done.status == 0 and not done.err, "why --html A -- B writes a page", done)
    found = Page(path).reports if done.status == 0 else []
    tap.ok(len(found) == 2 and all(path_in(each) for each in found), "of both runs, with their paths", len(found))
    for options in (("--path",), ("-f", "csv"), ("-u", "msec")):
        refused = trace("why", *options, database(), "--", other)
        tap.ok(refused.status == 2 and refused.err.startswith(b"trace: --") and b" cannot be used with A -- B" in refused.err and refused.err.count(b"\n") == 1, f"why {' '.join(options)} A -- B is refused", refused)
    refused = trace("why", "--html", "-o", path, database(), other, "--", other)
    tap.ok(refused.status == 2 and b"expected one run on each side" in refused.err, "one run on each side", refused)


def in_browser(browser):
    """A click on a segment says where the path comes from and goes on, and a click on that goes there."""
    shows(browser, "the critical path", page("made", database())[1])
    browser.click(*find_event(browser, "kernel scale", "critical path"))
    lines, _ = about(browser)
    tap.ok("launch of kernel scale" in lines.get("the path comes from", "") and "waking up from cudaStreamSynchronize" in lines.get("and goes on with", ""),
           "a segment says where the path comes from, and goes on", lines)
    browser.evaluate("document.querySelector('.timeline .details button.jump').click()")
    before, _ = about(browser)
    tap.ok("kernel scale" in before.get("and goes on with", ""), "a click on one goes there", before)
    shown = browser.evaluate("document.querySelector('#path').textContent")
    tap.ok("Critical Path Summary" in shown and "Blame Summary" in shown, "the sums are a part of the page", shown[:300])


def chains(browser):
    """A click on a call on the path shows its callchain."""
    report = recorded([app("waited"), "lock"])
    if not report:
        return
    shows(browser, "a recorded program", page("recorded", report.path)[1])
    browser.click(*find_event(browser, "usleep", "critical path"))
    lines, frames = about(browser)
    tap.ok(any("second" in frame or "third" in frame for frame in frames), "a call on the path has its callchain", (lines, frames))


def browsers():
    run_in_browser((in_browser, chains))


if b"built without npm" in trace("why", "--html", "-o", os.path.join(PLACE, "first.html"), database()).err:
    tap.skip("the page of the critical path", "the page was not built: no npm")
    tap.finish()
else:
    main(data, ranges, refusals, of_two_runs, browsers)
