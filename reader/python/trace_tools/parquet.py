# SPDX-License-Identifier: Apache-2.0
"""`trace export -t parquet`: a report, or a database, as a folder with a Parquet file for each table, for engines that
read many of them at once.

The files are NAME.pqtdir/TABLE.parquet. Each row begins with _report (the file's name without its suffix), _host, and
_rank (from "rank-N" or "rank_N" in the name, else the rank of MPI if there is one, else NULL), so that tables of many
folders can be read as one.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sqlite3
import tempfile
import urllib.parse
from typing import Any

import pyarrow
import pyarrow.parquet

from . import Failure, arguments, convert
from .recipe import tables_of

ROWS = 65536  # rows of a row group, and rows held in memory at a time
RANK = re.compile(r"rank[-_]?(\d+)")
TYPES: dict[str, pyarrow.DataType] = {
    "INTEGER": pyarrow.int64(),
    "REAL": pyarrow.float64(),
    "DOUBLE PRECISION": pyarrow.float64(),
}


FIXED: list[tuple[str, pyarrow.DataType]] = [
    ("_report", pyarrow.string()),
    ("_host", pyarrow.string()),
    ("_rank", pyarrow.int64()),
]


def export_database(given: argparse.Namespace, path: str, database: str) -> int:
    options = [
        f"--{name.replace('_', '-')}={value}"
        for name in ("symbol_path", "filter_time", "callchains", "tables")
        if (value := getattr(given, name))
    ]
    options += ["--no-symbols"] if given.no_symbols is not None else []
    return convert.run(["export", "-t", "sqlite", "-o", database, *options, "--", path], database)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def array_of(values: tuple[Any, ...], kind: pyarrow.DataType) -> pyarrow.Array[Any]:
    """Return the values of a column; of a text column, numbers and blobs become texts."""
    try:
        return pyarrow.array(values, type=kind)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        if kind != pyarrow.string():
            raise
        return pyarrow.array([v if v is None or isinstance(v, str) else str(v) for v in values], type=kind)


def write_table(connection: sqlite3.Connection, table: str, folder: str, fixed: list[pyarrow.Array[Any]]) -> None:
    """Write a table. fixed: the columns _report, _host and _rank of ROWS rows."""
    columns = connection.execute(f"PRAGMA table_info({quoted(table)})").fetchall()
    names, types = [c[1] for c in columns], [TYPES.get((c[2] or "").upper(), pyarrow.string()) for c in columns]
    schema = pyarrow.schema([*FIXED, *zip(names, types)])
    rows = connection.execute(f"SELECT {', '.join(map(quoted, names))} FROM {quoted(table)}")
    with pyarrow.parquet.ParquetWriter(os.path.join(folder, f"{table}.parquet"), schema, compression="zstd") as out:
        while part := rows.fetchmany(ROWS):
            arrays = [array[: len(part)] for array in fixed]
            arrays += [array_of(values, kind) for values, kind in zip(zip(*part), types)]
            out.write_batch(pyarrow.record_batch(arrays, schema=schema))


def value_of(connection: sqlite3.Connection, tables: list[str], table: str, query: str) -> Any:
    """Return the value that a query of a table finds; None if there is no such row or table."""
    row = connection.execute(query).fetchone() if table in tables else None
    return row[0] if row else None


def write_folder(database: str, path: str, output: str, only: set[str] | None) -> None:
    """Write the tables of a database as files of a folder, which gets its name when it is complete."""
    stem = os.path.splitext(os.path.basename(path))[0]
    parent = os.path.dirname(os.path.abspath(output))
    try:
        connection = sqlite3.connect(
            f"file:{urllib.parse.quote(os.path.abspath(database))}?mode=ro&immutable=1", uri=True
        )
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.execute("PRAGMA trusted_schema = OFF")
        tables = [
            row[0]
            for row in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
            )
        ]
        bad = [t for t in tables if not re.fullmatch(r"\w+", t, re.ASCII)]
        if bad:
            raise Failure(f"'{path}': invalid table name '{bad[0]}'")
        host = value_of(
            connection,
            tables,
            "TARGET_INFO_SYSTEM_ENV",
            "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'",
        )
        # HAVING without GROUP BY needs SQLite 3.39
        only_rank = "SELECT CASE WHEN min(rank) = max(rank) THEN min(rank) END FROM MPI_RANKS"
        rank = value_of(connection, tables, "MPI_RANKS", only_rank)
        named = RANK.search(stem)
        values = (stem, host, int(named.group(1)) if named else rank)
        fixed = [pyarrow.array([value] * ROWS, type=kind) for value, (_, kind) in zip(values, FIXED)]
        made = tempfile.mkdtemp(prefix=".trace-parquet-", dir=parent)
        try:
            for table in tables:
                if not only or table in only:
                    write_table(connection, table, made, fixed)
            os.chmod(made, 0o755)
            os.rename(made, output)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except sqlite3.Error as error:
        raise Failure(f"'{path}': {error}") from None
    except (pyarrow.ArrowException, TypeError, OverflowError) as error:
        raise Failure(f"'{path}': {str(error).splitlines()[0]}") from None
    except OSError as error:
        raise Failure(f"cannot write '{output}': {error.strerror}") from None
    connection.close()


def main(argv: list[str]) -> int:
    p = arguments.Parser(prog="trace export -t parquet")
    p.add_argument("--file", action="append", required=True)
    p.add_argument("--output")
    p.add_argument("--force-overwrite", choices=("true", "false"), default="false")
    p.add_argument("--symbol-path")
    p.add_argument("--callchains")
    p.add_argument("--filter-time")
    p.add_argument("--no-symbols", nargs="?", const="")
    p.add_argument("--tables")
    given = p.parse_args(argv)
    only = tables_of(given.tables) if given.tables else None
    given.tables = ",".join(sorted(only)) if only else None
    if given.output and len(given.file) > 1:
        raise Failure("--output needs a single report; several reports are written to one folder each, beside them")
    status = 0
    for path in given.file:
        output = given.output or os.path.splitext(path)[0] + ".pqtdir"
        if os.path.lexists(output):
            if given.force_overwrite != "true":
                raise Failure(f"cannot write '{output}': it exists; use '--force-overwrite true' to replace it")
            if not os.path.isdir(output) or any(not name.endswith(".parquet") for name in os.listdir(output)):
                raise Failure(f"cannot replace '{output}': not a folder of Parquet files")
        with tempfile.TemporaryDirectory(prefix="trace-parquet-") as folder:
            database = path
            if not convert.is_database(path):
                database = os.path.join(folder, "report.sqlite")
                status = max(status, export_database(given, path, database))
            if os.path.isdir(output):
                shutil.rmtree(output)
            write_folder(database, path, output, only)
    return status
