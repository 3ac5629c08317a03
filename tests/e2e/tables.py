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
from lib import SRC, folder, main, tap, trace  # noqa: E402

PLACE = folder()


def text_of(path):
    with open(os.path.join(SRC, path), encoding="utf-8") as file:
        return file.read()


def rows():
    """Return the rows of the list: kind, name of the table, and the other texts."""
    found = re.findall(r"^(WRITTEN|READ|ABSENT)\((\w+),((?:[^()\"]|\"[^\"]*\")*)\)", text_of("reader/export/sqlite/documented_tables.def"), re.M)
    return [(kind, name, re.findall(r'"([^"]*)"', rest)) for kind, name, rest in found]


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


main(listed, written, read, names_of_numbers)
