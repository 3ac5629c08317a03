#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the list of the tables that NVIDIA documents for exports of nsys: that it is true, and that the documents have it."""
import csv
import io
import os
import re
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _made_database as made  # noqa: E402
import libdevice as device  # noqa: E402
from _documented_tables import filled, rows, sources_of, tables_of, text_of  # noqa: E402
from lib import app, clean_env, folder, main, tap, trace  # noqa: E402

PLACE = folder()


def listed():
    said = trace("export", "--list-tables")
    names = [line.split()[0] for line in said.out.decode().splitlines()[2:] if line[:1].strip()]
    tap.ok(said.status == 0 and names == [name for _, name, _ in rows()] and len(names) == 54, "--list-tables has every documented table", names)
    tap.ok(said.out.decode() in text_of("docs/tables.md"), "docs/tables.md has what --list-tables prints", "put the output there")


def written():
    tables = set(re.findall(r"^TABLE\((\w+),", text_of("reader/export/sqlite/nsys_tables.def"), re.M))
    wrong = [name for kind, name, _ in rows() if (kind == "WRITTEN") != (name in tables)]
    tap.ok(not wrong, "exactly the tables that an export can have are said to be filled", wrong)
    untested = [name for kind, name, rest in rows() if kind == "WRITTEN" and name not in text_of(f"tests/e2e/{rest[-1]}.py")]
    tap.ok(not untested, "the test of each table names it", untested)


NAMES = {"SLI_QUERIES": "SLI query", "SLI_P2P": "SLI transfer", "SLI_STATS": "SLI statistics"}  # these tables have no names


def name_of(table):
    return NAMES.get(table) or f"an event of {table}"


def add_event(d, table):
    """Create the table with NVIDIA's columns, and give it an event of its own name."""
    columns = made.GRAPHICS[table]
    d.db.execute(f"CREATE TABLE {table} ({columns})")
    more = {"nameId" if "nameId" in columns else "taskName": d.text(name_of(table))} if table not in NAMES else {}
    if "eventClass" in columns:
        more["eventClass"] = 0
    d.row(table, start=1000, end=3000, globalTid=made.T1, **more)


def read():
    path = os.path.join(PLACE, "read.sqlite")
    d = made.Made(path)
    tables = [(name, rest[-1]) for kind, name, rest in rows() if kind == "READ"]
    for name, _ in tables:
        add_event(d, name)
    d.finish()
    for report in sorted({report for _, report in tables}):
        said = trace("stats", "-r", report, "-f", "csv", path)
        found = list(csv.DictReader(io.StringIO(said.out.decode())))
        missing = [name for name, of in tables if of == report and not any(
            row["Name"] == name_of(name) and row["Total Time (ns)"] == "2000" for row in found)]
        tap.ok(said.status == 0 and not missing, f"{report} reads each table that the list names", (missing, said))


def names_of_numbers():
    report, database = os.path.join(PLACE, "run.rep"), os.path.join(PLACE, "old.sqlite")
    ran = trace("run", "-o", report, "--", "true")
    exported = trace("export", "-t", "sqlite", "--compat", "2.9", "-o", database, report)
    with sqlite3.connect(database) as d:
        found = d.execute("SELECT number, name FROM UnwindMethodType ORDER BY number LIMIT 3").fetchall()
    tap.ok(found == [(0, "Unknown"), (1, "FramePointer"), (2, "UnwindTable")], "UnwindMethodType names the numbers of nsys", (found, ran, exported))


# What fills the tables of a source: options of `trace run`, and the command. A program of the simulated device is named by its file.
ROUNDS = {"osrt": [(["-t", "osrt", "--osrt-backtrace-threshold", "0"], [app("callchain")])],
          "nvtx": [(["-t", "nvtx"], [app("user_events")])],
          "--log-events": [(["-t", "none", "--log-events", r"^loss (?<loss>\d+)$"], ["sh", "-c", "echo loss 7"])],
          "streams": [(["-t", "none", "--streams", "process-tree"], ["sh", "-c", "echo out; echo error >&2"])],
          "cpu": [(["-t", "none", "--sample", "process-tree"], [app("sampled"), "split", "200"])],
          "sched": [(["-t", "none", "--cpuctxsw", "process-tree"], [app("accounted"), "alone", "200"])],
          "openmp": [*((["-t", "openmp"], [app("openmp_regions"), what]) for what in ("constructs", "tasks")), (["-t", "openmp"], [app("openmp_gomp")])],
          "cuda": [(["-t", "cuda", "--cuda-backtrace", "all:0"], name) for name in ("pipeline", "other_calls", "graph")],
          "cublas": [(["-t", "cublas"], "call_libraries")], "cudnn": [(["-t", "cudnn"], "call_libraries")]}
# Rows of the list whose text says that they need more than a program of the source.
NEED_MORE = r"newer runtimes|where the driver|compat|as in nsys since"


def recorded(options, command):
    """Return the documented tables that have rows in the export of a report; None if the command does not run here."""
    is_cuda = isinstance(command, str)
    if is_cuda and device.missing(command) or not is_cuda and os.path.isabs(command[0]) and not os.path.exists(command[0]):
        return None
    path, database = (os.path.join(PLACE, "filled." + suffix) for suffix in ("rep", "sqlite"))
    environment = device.env() if is_cuda else clean_env(OMP_CANCELLATION="true")
    ran = trace("run", "-f", "true", "-o", path, *options, "--", *([device.app(command)] if is_cuda else command), env=environment)
    made = trace("export", "-t", "sqlite", "-f", "true", "-o", database, path)
    tap.ok(ran.status in (0, 7) and made.status == 0,  # 7: a program that found its own times unlikely
            f"{' '.join(options)} {command}: recorded and exported", (ran, made))
    return filled(database) if made.status == 0 else set()


def by_source():
    """A report of each source: the tables that have rows are those that the list names for it. Those of Vulkan and OpenGL are compared in graphics.py."""
    needing_more = {name for kind, name, texts in rows() if kind == "WRITTEN" and re.search(NEED_MORE, texts[0])}
    named = set().union(*(sources_of(texts) for kind, _, texts in rows() if kind == "WRITTEN"))
    for source, rounds in ROUNDS.items():
        found = [recorded(*each) for each in rounds]
        ran = [each for each in found if each is not None]
        extra = set().union(*ran) - tables_of(source)
        tap.ok(source in named and not extra, f"{source}: no table is filled that the list has for other sources only", extra)
        if None in found or (source == "sched" and not ran[0] & tables_of(source) - tables_of()):
            tap.skip(f"{source}: each of its tables", "its programs are not built, or recording is not permitted")
            continue
        missing = tables_of(source) - tables_of() - needing_more - set().union(*ran)
        tap.ok(not missing, f"{source}: each table that the list has for it is filled", missing)


main(listed, written, read, names_of_numbers, by_source)
