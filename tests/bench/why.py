#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure time and memory of `trace why`, `what-if --rank` and `report --html` on databases of wait_database.py.

    make && tests/bench/why.py                  # about an hour, 3 GB in $TMPDIR
    tests/bench/why.py locks 10000000 why       # one database: KIND EVENTS COMMAND...
"""

import os
import subprocess
import sys
import tempfile
import time

import wait_database

TRACE = os.environ.get("TRACE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/bin/trace"))
COMMANDS = {
    "why": ["why"],
    "path": ["why", "--path"],
    "html": ["why", "--html", "-o", "/dev/null", "--force-overwrite", "true"],
    "report": ["report", "--html", "-o", "/dev/null", "--force-overwrite", "true"],
    "rank": ["what-if", "--rank", "--allow-unknown=100"],
}
USUAL = (
    ("locks", 10_000_000, ["why"]),
    ("locks", 20_000_000, ["why"]),
    ("cuda", 10_000_000, ["why"]),
    ("locks", 1_450_000, ["why", "path", "html"]),
    ("pipes", 1_200_000, ["why", "path"]),
    ("chains", 62_000, ["why", "html", "rank"]),
    ("locks", 66_000, ["why", "html", "rank"]),
)


def measure(database, name):
    start = time.monotonic()
    child = subprocess.Popen([TRACE, *COMMANDS[name], database], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    elapsed = time.monotonic() - start
    return (
        f"{elapsed:.1f} s elapsed, {used.ru_utime:.1f} s user, {used.ru_stime:.1f} s system, {used.ru_maxrss >> 10} MiB"
        + (f", status {status}" if status else "")
    )


def main():
    given = sys.argv[1:]
    for kind, events, names in [(given[0], int(given[1]), given[2:] or list(COMMANDS))] if given else USUAL:
        with tempfile.TemporaryDirectory() as folder:
            database = os.path.join(folder, "events.sqlite")
            wait_database.write(database, events, kind)
            for name in names:
                load = os.getloadavg()[0]
                print(f"{kind}, {events:,} events, {name}: {measure(database, name)}; load {load:.1f}", flush=True)


main()
