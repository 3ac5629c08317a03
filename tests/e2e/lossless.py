#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check programs whose events were once lost under the verdict "complete": all are recorded, or the verdict says that some are missing."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import Report, app, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

CHILDREN, RANGES = 150, 3000


def verdict(report):
    return trace("info", report.path).out.decode().rstrip().rpartition("verdict:")[2].strip()


def traced(name, **env):
    """Return the report of a program after its tree has ended."""
    spool, path = spool_folder(), os.path.join(folder(), "r.rep")
    result = run([app(name)], env=traced_env(path, spool, **env))
    tap.ok(result.status == 0 and wait_spool_gone(spool), f"{name}: the program and its tree end", result)
    report = Report(path)
    tap.ok(report.check().status == 0, f"{name}: the report is sound", report.check().err)
    return report


def children_that_call_late():
    report = traced("late_children")
    processes = len(report.processes())
    tap.ok(processes == CHILDREN + 1, "the tree waits for every child", processes)
    tap.ok(report.total("pread") == 7 * (CHILDREN + 1), "the calls of all children are recorded", report.total("pread"))
    tap.ok(verdict(report).startswith("complete"), "late children: the report is complete", verdict(report))


def more_open_ranges_than_rows():
    if not os.path.exists(app("nvtx_many_open")):
        tap.skip("many open ranges", "no headers of NVTX")
        return
    report = traced("nvtx_many_open", LIBTRACE_TRACE="nvtx")
    events = report.events("--kind", "nvtx_start_end")
    own = [e for e in events if int(e["payload"]) == e["category"] - 1 and e["text"] == "left open" and e["start_tid"] == e["tid"]]
    tap.ok(len(events) == RANGES == len(own), "each open range is recorded with its own values", (len(events), len(own), events[:2]))
    tap.ok(len({e["category"] for e in events}) == RANGES, "each open range is recorded once")
    tap.ok(verdict(report).startswith("complete"), "open ranges: the report is complete", verdict(report))


main(children_that_call_late, more_open_ranges_than_rows)
