#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Libraries, writers and reports of different versions.

tests/reports has a report of each released version, VERSION.rep, and what that version's own command read in it, VERSION.json. Writers
that do not fit the library are built by the Makefile (tests/other).
"""

import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import BUILD, PRODUCTS, SRC, Report, clean_env, folder, main, run, tap, trace, wait_until  # noqa: E402

REPORTS = os.path.join(SRC, "tests/reports")
PROGRAM = ["sh", "-c", "ls -d /; echo to stderr >&2; exit 3"]


def mixture(kind):
    """Return a folder with our library and a writer of another version."""
    place = os.path.join(folder(), "libtrace")
    shutil.copytree(os.path.join(PRODUCTS, "lib/libtrace"), place)
    shutil.copy(os.path.join(BUILD, "tests/other", kind, "libtrace-writer"), place)
    return place


def recorded_with(kind):
    """Run the program with such a folder by `trace run`, then with the preload alone. Return both results and reports."""
    place, work, spool = mixture(kind), folder(), folder()
    plain = run(PROGRAM, clean_env())
    by_run, alone = Report(os.path.join(work, "run.rep")), Report(os.path.join(work, "alone.rep"))
    first = trace("run", "-o", by_run.path, "--", *PROGRAM, env=clean_env(LIBTRACE_HOME=place, LIBTRACE_SPOOL_DIR=spool))
    tap.ok(first[:2] == plain[:2] and plain.err in first.err and not first.hung, f"{kind}: trace run: the program runs as without the tracer", (plain, first))
    second = run(PROGRAM, clean_env(LD_PRELOAD=os.path.join(place, "libtrace.so"), LIBTRACE_OUTPUT=alone.path, LIBTRACE_SPOOL_DIR=spool))
    tap.ok(second[:3] == plain[:3] and not second.hung, f"{kind}: preload alone: the program runs as without the tracer", (plain, second))
    return first, by_run, alone


def writer_of_another_version():
    """Check that the program runs with a writer that does not fit, and that a message says so."""
    first, _, _ = recorded_with("tree")
    said = first.err.decode()
    tap.ok("created by another version of libtrace.so; install library and writer together" in said, "a writer that does not know the tree says so", said)
    _, by_run, alone = recorded_with("spool")
    for report in (by_run, alone):
        wait_until(lambda report=report: report.exists() and report.check().status == 0)
        said = [text["text"] for text in report.info()["diagnostics"]]
        tap.ok(any("it was created by another version of the library" in text for text in said) and not report.info()["verdict"].startswith("complete"),
               f"a writer that cannot read spools says so in {os.path.basename(report.path)}", (said, report.info()["verdict"]))


def read_like_then(name):
    with open(os.path.join(REPORTS, name + ".json"), encoding="utf-8") as file:
        then = json.load(file)
    work = folder()
    path = os.path.join(work, "r.rep")
    shutil.copy(os.path.join(REPORTS, name + ".rep"), path)
    report = Report(path)
    tap.ok(report.check().status == 0, f"{name}: sound", report.check())
    info = report.info()
    now = {"verdict": info["verdict"], "processes": [[p["arguments"], p["receipt"]["produced"], p["receipt"]["written"]] for p in info["processes"]],
           "events": sorted([e["kind"], e.get("function") or "", e["duration_ns"]] for e in report.events("--kind", "osrt_call"))}
    for part in ("verdict", "processes", "events"):
        tap.ok(now[part] == then[part] and then[part], f"{name}: {part} as that version read them", (now[part], then[part]))
    for words in (["stats", path], ["stats", "-r", "callchain_tree", path], ["analyze", path], ["report", path], ["symbolize", path], ["export", "-t", "sqlite", "-o", os.path.join(work, "x.sqlite"), path],
                  ["report", "--html", "-o", os.path.join(work, "x.html"), path]):
        result = trace(*words)
        tap.ok(result.status == 0, f"{name}: trace {' '.join(words[:3]) if words[1] == '-r' else words[0]}", result)


def reports_of_released_versions():
    names = sorted(name[:-4] for name in os.listdir(REPORTS) if name.endswith(".rep"))
    with open(os.path.join(SRC, "NEWS.md"), encoding="utf-8") as file:
        released = re.findall(r"^## (\d\S*)", file.read(), re.M)
    tap.ok("0.1.0" in released and sorted(released) == names, "there is a report of each released version, from 0.1.0 on", (released, names))
    for name in names:
        read_like_then(name)


def report_of_another_machine():
    """Read a report of aarch64 (recorded under qemu-user) whose program is not here: callers by the names stored in it, facts, the tick of its counter."""
    path = os.path.join(REPORTS, "machines/aarch64.rep")
    report = Report(path)
    chains = [[frame["function"] for frame in event["callchain"]][:-3] for event in report.events("--kind", "osrt_call") if event.get("callchain") and event["function"] == "read"]
    wanted = [["leaf", *["middle"] * (1 + i % 5), "main"] for i in range(50)]
    tap.ok([chain for chain in chains if chain[:2] == wanted[0][:2]] == wanted, "aarch64: callers by the names that are stored in the report", chains[:3])
    told = trace("info", path).out.decode()
    tap.ok("machine=aarch64" in told and "a tick is 16 ns" in told and report.info()["verdict"].startswith("complete"), "aarch64: machine, tick and verdict", told)
    tap.ok(b"multiples of 16 ns" in trace("stats", path).err, "aarch64: stats say how coarse its times are", trace("stats", path))
    database = os.path.join(folder(), "x.sqlite")
    trace("export", "-t", "sqlite", "-o", database, path)
    said = trace("query", database, "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name IN ('CpuArchitecture', 'IsX86BasedDevice')").out.decode().split()
    tap.ok(said[2:] == ["aarch64", "0"], "aarch64: a database for nsys names the machine", said)


if __name__ == "__main__":
    main(writer_of_another_version, reports_of_released_versions, report_of_another_machine)
