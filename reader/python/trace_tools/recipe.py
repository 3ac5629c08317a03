# SPDX-License-Identifier: Apache-2.0
"""`trace recipe`: ready analyses of many reports, run by DuckDB on the output of `trace export -t parquet`.

A recipe is recipes/NAME.sql: after the license line follow its title and lines that begin with a key:

  tables      names of the tables that it reads
  optional    tables that may be missing, with the columns that it reads of them, as NAME(column column:text); repeated
  before      files of recipes/shared that create views which it reads

Each table is a view of all folders, with a column `folder` in addition to those of the files. The last statement
returns the rows.
"""

from __future__ import annotations

import glob
import os
import re
import sys
import tempfile
from typing import TYPE_CHECKING, Any, NamedTuple

from . import Failure, arguments

if TYPE_CHECKING:
    import duckdb

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recipes")


MEMORY_MIB, MEMORY_MIB_MIN = 4096, 64


class Recipe(NamedTuple):
    title: str
    tables: list[str]
    optional: dict[str, list[str]]  # table -> columns, "name" or "name:text"
    before: list[str]  # SQL
    sql: str


def text_of(*path: str) -> str:
    with open(os.path.join(FOLDER, *path), encoding="utf-8") as file:
        return file.read()


def recipes() -> dict[str, Recipe]:
    """Return the recipes by their names."""
    found = {}
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.sql"))):
        text = text_of(path)
        keys: dict[str, str] = {}
        for key, value in re.findall(r"^-- (tables|optional|before): (.*)", text, re.M):
            keys[key] = f"{keys.get(key, '')} {value}"
        optional = {
            table: columns.split() for table, columns in re.findall(r"(\w+)\((.*?)\)", keys.get("optional", ""))
        }
        before = [text_of("shared", f"{name}.sql") for name in keys.get("before", "").split()]
        found[os.path.basename(path)[:-4]] = Recipe(
            text.splitlines()[1][3:], keys["tables"].split(), optional, before, text
        )
    return found


def tables_of(words: str) -> set[str]:
    """Return the tables that a list of tables and recipes, separated by commas, names."""
    known, found = recipes(), set()
    for word in words.split(","):
        if word not in known and not re.search("[A-Z]", word):
            raise Failure(f"unknown table or recipe '{word}'; see 'trace recipe'")
        found |= {*known[word].tables, *known[word].optional} if word in known else {word}
    return found


def views_make(connection: duckdb.DuckDBPyConnection, recipe: Recipe, folders: list[str]) -> None:
    """Create a view for each table that a recipe reads, and those of its shared files."""
    for table in [*recipe.tables, *recipe.optional]:
        files = [path for folder in folders if os.path.exists(path := os.path.join(folder, f"{table}.parquet"))]
        if not files and table in recipe.optional:
            columns = [column.partition(":") for column in recipe.optional[table]]
            typed = [f'NULL::{"VARCHAR" if kind else "BIGINT"} AS "{name}"' for name, _, kind in columns]
            connection.execute(f"CREATE VIEW {table} AS SELECT {', '.join(typed)}, '' AS folder WHERE false")
            continue
        if not files:
            raise Failure(
                f"none of the {len(folders)} folders has the table {table}; its events were not recorded or exported"
            )
        listed = ", ".join("'" + path.replace("'", "''") + "'" for path in files)
        connection.execute(
            f"CREATE VIEW {table} AS SELECT *, parse_dirpath(filename) AS folder FROM read_parquet([{listed}], "
            "union_by_name = true, filename = true)"
        )
    for sql in recipe.before:
        connection.execute(sql)


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


def spill_folder() -> tempfile.TemporaryDirectory[str]:
    """Create the folder of what does not fit into the memory; it is removed with the object."""
    parent = os.environ.get("TMPDIR") or "/var/tmp"
    try:
        return tempfile.TemporaryDirectory(prefix="trace-recipe-", dir=parent)
    except OSError as error:
        raise Failure(f"cannot create a folder in '{parent}': {error.strerror}; set TMPDIR") from None


def main(argv: list[str]) -> int:
    import duckdb

    known = recipes()
    p = arguments.Parser(
        prog="trace recipe", epilog="recipes: " + "; ".join(f"{n}: {r.title}" for n, r in known.items())
    )
    p.add_argument("--memory", type=int, default=MEMORY_MIB, metavar="MIB", help="memory to use; default %(default)s")
    p.add_argument("--format", "-f", choices=("table", "csv", "json"), default="table")
    p.add_argument("name", nargs="?", help="recipe to run; without it, list the recipes")
    p.add_argument("folder", nargs="*", help="folders (*.pqtdir) that 'trace export -t parquet' wrote")
    given = p.parse_intermixed_args(argv)
    if not given.name:
        for name, recipe in known.items():
            print(f"{name:<14}{recipe.title}")
        return 0
    if given.name not in known:
        raise Failure(f"unknown recipe '{given.name}': expected {', '.join(known)}")
    if not given.folder:
        raise Failure("no DIR given; write one with 'trace export -t parquet'")
    missing = [f for f in given.folder if not os.path.isdir(f)]
    if missing:
        raise Failure(f"'{missing[0]}' is not a folder; write one with 'trace export -t parquet'")
    if given.memory < MEMORY_MIB_MIN:
        raise Failure(f"--memory is at least {MEMORY_MIB_MIN} MiB")
    with spill_folder() as spill:
        connection = duckdb.connect(config={"memory_limit": f"{given.memory}MiB", "temp_directory": spill})
        connection.execute("SET enable_progress_bar = false")  # it would be in the output
        try:
            views_make(connection, known[given.name], [os.path.abspath(f) for f in given.folder])
            result = connection.execute(known[given.name].sql)
            print_table([d[0] for d in result.description or []], result.fetchall(), given.format)
        except duckdb.Error as error:
            raise Failure(f"recipe {given.name}: {str(error).splitlines()[0]}") from None
        finally:
            connection.close()
    return 0
