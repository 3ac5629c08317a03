#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure how long `trace report --html` takes for a report of a million calls, how large the page is, and when a browser first shows it.

    make && tests/bench/page.py [CALLS]         # needs chromium for the last figure
"""
import os
import resource
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from lib import app, folder, run, spool_folder, trace, traced_env, wait_spool_gone  # noqa: E402
import _browser  # noqa: E402

place, spool = folder(), spool_folder()
report, page = os.path.join(place, "calls.rep"), os.path.join(place, "calls.html")
calls = int(sys.argv[1]) if len(sys.argv) > 1 else 1000000
run([app("many_calls"), str(calls // 2), "4"], env=traced_env(report, spool, LIBTRACE_MEMORY=256), limit=300)
wait_spool_gone(spool)
before = resource.getrusage(resource.RUSAGE_CHILDREN)
result = trace("report", "--html", "-o", page, report, limit=600)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
if result.status != 0:
    sys.exit(result.err.decode())
events = trace("query", "-f", "csv", report, "SELECT count(*) FROM OSRT_API").out.split()[-1].decode()
print(f"{events} events, {os.path.getsize(report)} bytes of report, {os.path.getsize(page)} bytes of page")
print(f"made in {used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime:.2f} s of CPU, {result.seconds:.2f} s")
if not _browser.find():
    sys.exit("no chromium: the time of the first paint was not measured")
with _browser.Browser() as browser:
    for _ in range(3):
        browser.open(page)
        paint = browser.wait("performance.getEntriesByName('first-contentful-paint').length && performance.getEntriesByName('first-contentful-paint')[0].startTime")
        print(f"first paint after {paint:.0f} ms, the report drawn after {browser.evaluate('document.documentElement.dataset.drawn')} ms")
