# SPDX-License-Identifier: Apache-2.0
"""The list of the tables that NVIDIA documents for exports of nsys (reader/export/sqlite/documented_tables.def)."""
import os
import re
import sqlite3

from lib import SRC


def text_of(path):
    with open(os.path.join(SRC, path), encoding="utf-8") as file:
        return file.read()


def rows():
    """Return the rows of the list: kind, name of the table, and the other texts."""
    found = re.findall(r"^(WRITTEN|READ|ABSENT)\((\w+),((?:[^()\"]|\"[^\"]*\")*)\)", text_of("reader/export/sqlite/documented_tables.def"), re.M)
    return [(kind, name, re.findall(r'"([^"]*)"', rest)) for kind, name, rest in found]


def sources_of(texts):
    """Return the words that name sources: "cuda; more" and "nvtx: marks; --log-events" name one and two."""
    said = re.sub(r"\([^)]*\)", "", "".join(texts[:-1]))
    return {re.match(r"[\w.-]+(?: source)?", part.strip())[0] for part in said.split(";")}


def tables_of(*sources):
    """Return the tables that the list says these sources fill."""
    return {name for kind, name, texts in rows() if kind == "WRITTEN" and sources_of(texts) & {*sources, "every source"}}


def filled(database):
    """Return the documented tables of a database that have rows."""
    with sqlite3.connect(database) as d:
        there = {name for name, in d.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return {name for _, name, _ in rows() if name in there and d.execute(f"SELECT EXISTS (SELECT 1 FROM {name})").fetchone()[0]}
