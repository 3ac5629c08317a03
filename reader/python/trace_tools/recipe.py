# SPDX-License-Identifier: Apache-2.0
"""`trace recipe`: ready analyses of many reports, run by DuckDB on the output of `trace export -t parquet`.

A recipe is recipes/NAME.sql: after the license line follow its title and a line with the names of the tables that it
reads. Each table is a view of all folders, with a column `folder` in addition to those of the files.
"""

from __future__ import annotations

import glob
import os
import sys
from typing import Any, List, Tuple

import duckdb

from . import Failure, arguments

Recipe = Tuple[str, List[str], str]  # title, tables, SQL
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recipes")


def recipes() -> dict[str, Recipe]:
    """Return {name: (title, tables, sql)}."""
    found = {}
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.sql"))):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        _license, title, tables = text.splitlines()[:3]
        found[os.path.basename(path)[:-4]] = (title[3:], tables.removeprefix("-- tables: ").split(), text)
    return found


def views_make(connection: duckdb.DuckDBPyConnection, tables: list[str], folders: list[str]) -> None:
    for table in tables:
        files = [path for folder in folders if os.path.exists(path := os.path.join(folder, f"{table}.parquet"))]
        if not files:
            raise Failure(f"none of the {len(folders)} folders has the table {table}; its events were not recorded")
        listed = ", ".join("'" + path.replace("'", "''") + "'" for path in files)
        connection.execute(
            f"CREATE VIEW {table} AS SELECT *, parse_dirpath(filename) AS folder FROM read_parquet([{listed}], "
            "union_by_name = true, filename = true)"
        )


def print_table(names: list[str], rows: list[tuple[Any, ...]], how: str) -> None:
    if how == "json":
        import json

        print(json.dumps([dict(zip(names, row)) for row in rows], indent=1, default=str))
    elif how == "csv":
        import csv

        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)
    else:
        texts = [names] + [
            [
                "-"
                if v is None
                else f"{v:,.2f}"
                if isinstance(v, float)
                else f"{v:,}"
                if isinstance(v, int)
                else str(v)
                for v in row
            ]
            for row in rows
        ]
        right = [all(not isinstance(row[i], str) for row in rows) for i in range(len(names))]
        widths = [max(len(r[i]) for r in texts) for i in range(len(names))]
        for r in texts:
            print(
                "  ".join(c.rjust(w) if is_right else c.ljust(w) for c, w, is_right in zip(r, widths, right)).rstrip()
            )


def main(argv: list[str]) -> int:
    known = recipes()
    p = arguments.Parser(
        prog="trace recipe", epilog="recipes: " + "; ".join(f"{n}: {t}" for n, (t, *_) in known.items())
    )
    p.add_argument("--format", "-f", choices=("table", "csv", "json"), default="table")
    p.add_argument("name", nargs="?", help="recipe to run; without it, list the recipes")
    p.add_argument("folder", nargs="*", help="folders (*.pqtdir) that 'trace export -t parquet' wrote")
    given = p.parse_intermixed_args(argv)
    if not given.name:
        for name, (title, *_) in known.items():
            print(f"{name:<14}{title}")
        return 0
    if given.name not in known:
        raise Failure(f"unknown recipe '{given.name}': expected {', '.join(known)}")
    if not given.folder:
        raise Failure("no DIR given; write one with 'trace export -t parquet'")
    missing = [f for f in given.folder if not os.path.isdir(f)]
    if missing:
        raise Failure(f"'{missing[0]}' is not a folder; write one with 'trace export -t parquet'")
    _, tables, sql = known[given.name]
    connection = duckdb.connect()
    try:
        views_make(connection, tables, [os.path.abspath(f) for f in given.folder])
        result = connection.execute(sql)
        print_table([d[0] for d in result.description or []], result.fetchall(), given.format)
    except duckdb.Error as error:
        raise Failure(f"recipe {given.name}: {str(error).splitlines()[0]}") from None
    return 0
