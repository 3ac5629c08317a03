# SPDX-License-Identifier: Apache-2.0
"""The store of nights: a SQLite file, or PostgreSQL by a connection string (postgresql://..., or libpq's host=...
dbname=...) for many machines at once.

Tables (docs/nightly.md): night, run, item. Reports remain files; the store holds the data that comparisons
need. Every write is one transaction: a writer that is killed leaves nothing half done, and several may write at the
same time.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any, Callable, ContextManager, Dict, TypeVar

from . import Failure
from .profile import Item, Key, Profile

Row = Dict[str, Any]  # a row of a table: values by column name
Result = TypeVar("Result")

# {id}: type of the row number, which differs between the databases.
SCHEMA = (
    """CREATE TABLE IF NOT EXISTS night (
      id {id}, benchmark TEXT NOT NULL, host TEXT NOT NULL, begun TEXT NOT NULL, commit_id TEXT, folder TEXT NOT NULL,
      state TEXT NOT NULL, verdict TEXT, reason TEXT, is_baseline INTEGER NOT NULL DEFAULT 0,
      overhead DOUBLE PRECISION, notes TEXT)""",
    """CREATE TABLE IF NOT EXISTS run (
      id {id}, night_id BIGINT NOT NULL REFERENCES night (id), number INTEGER NOT NULL, rank TEXT,
      is_traced INTEGER NOT NULL, outcome TEXT NOT NULL,
      exit_status INTEGER, signal INTEGER, wall_ns BIGINT, report TEXT, report_bytes BIGINT, facts TEXT,
      problems TEXT, summed TEXT, samples BIGINT NOT NULL DEFAULT 0)""",
    """CREATE TABLE IF NOT EXISTS item (
      run_id BIGINT NOT NULL REFERENCES run (id), kind TEXT NOT NULL, program TEXT NOT NULL, path TEXT NOT NULL,
      name TEXT NOT NULL, count BIGINT NOT NULL, total_ns BIGINT NOT NULL, typical_ns DOUBLE PRECISION,
      bytes BIGINT NOT NULL, cpu_ns BIGINT NOT NULL DEFAULT 0, more TEXT NOT NULL DEFAULT '')""",
    "CREATE TABLE IF NOT EXISTS store (version INTEGER NOT NULL)",
    "CREATE INDEX IF NOT EXISTS night_by_benchmark ON night (benchmark, host, id)",
    "CREATE INDEX IF NOT EXISTS run_by_night ON run (night_id)",
    "CREATE INDEX IF NOT EXISTS item_by_run ON item (run_id)",
)
# Version of the schema: 1 had no table store; 2 has it, and item.more.
VERSION = 2
# Columns that older stores lack: (table, column, its type).
ADDED = (
    ("run", "samples", "BIGINT NOT NULL DEFAULT 0"),
    ("item", "cpu_ns", "BIGINT NOT NULL DEFAULT 0"),
    ("item", "more", "TEXT NOT NULL DEFAULT ''"),
)
WAIT_S = 60  # time to wait for other writers
NIGHT = (
    "id",
    "benchmark",
    "host",
    "begun",
    "commit_id",
    "folder",
    "state",
    "verdict",
    "reason",
    "is_baseline",
    "overhead",
    "notes",
)
RUN = (
    "id",
    "night_id",
    "number",
    "rank",
    "is_traced",
    "outcome",
    "exit_status",
    "signal",
    "wall_ns",
    "report",
    "report_bytes",
    "facts",
    "problems",
    "summed",
    "samples",
)
ITEM = ("run_id", "kind", "program", "path", "name", "count", "total_ns", "typical_ns", "bytes", "cpu_ns", "more")


def is_postgresql(url: str) -> bool:
    return url.startswith(("postgresql://", "postgres://")) or ("=" in url and "/" not in url.split("=", 1)[0])


class Store:
    """One connection, for use by one thread."""

    def __init__(self, url: str) -> None:
        self.url, self.is_postgresql = url, is_postgresql(url)
        if self.is_postgresql:
            try:
                import psycopg
            except ImportError as error:
                raise Failure(
                    f"a PostgreSQL store needs psycopg ({error}); install it with 'scripts/setup --python'"
                ) from None
            self.errors: tuple[type[Exception], ...] = (psycopg.Error,)
            # An sqlite3.Connection or a psycopg.Connection: both have the methods called here, but with other types.
            self.connection: Any = self.guard(lambda: psycopg.connect(url, autocommit=True, connect_timeout=WAIT_S))
        else:
            self.errors = (sqlite3.Error,)
            self.connection = self.guard(lambda: sqlite3.connect(url, timeout=WAIT_S, isolation_level=None))
        self.guard(self.make_tables)

    def guard(self, action: Callable[[], Result]) -> Result:
        try:
            return action()
        except self.errors as error:
            raise Failure(
                f"store '{without_password(self.url)}': "
                f"{str(error).splitlines()[0] if str(error) else type(error).__name__}"
            ) from None

    def make_tables(self) -> None:
        if self.version() == VERSION:
            return
        number = (
            "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
            if self.is_postgresql
            else "INTEGER PRIMARY KEY AUTOINCREMENT"
        )
        with self.transaction():
            if self.is_postgresql:
                self.connection.execute(
                    "SELECT pg_advisory_xact_lock(1279869524)"
                )  # otherwise, of two processes that create the tables at once, one fails
            if self.version() == VERSION:  # by another process meanwhile
                return
            for statement in SCHEMA:
                self.connection.execute(statement.format(id=number))
            for table, column, kind in ADDED:
                if column not in self.columns(table):
                    self.connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind}")
            self.connection.execute("DELETE FROM store")
            self.connection.execute(f"INSERT INTO store VALUES ({VERSION})")

    def version(self) -> int:
        """Return the version of the schema; 0 if the database is empty. Raises Failure if the database is not a store,
        or one of a newer version.
        """
        name = without_password(self.url)
        if not self.columns("night"):
            if not self.is_postgresql and self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise Failure(f"store '{name}': it is a database of something else")
            return 0
        lacking = [c for c in ("id", "benchmark", "host", "begun", "verdict") if c not in self.columns("night")]
        if lacking:
            raise Failure(
                f"store '{name}': its table 'night' has no column '{lacking[0]}', so it is no store of nights"
            )
        if not self.columns("store"):
            return 1
        found = self.connection.execute("SELECT max(version) FROM store").fetchone()[0]
        if (found or 0) > VERSION:
            raise Failure(
                f"store '{name}': a newer libtrace wrote it (schema {found}; this one knows up to {VERSION}): "
                "update libtrace, or name another --store"
            )
        return int(found or 1)

    def columns(self, table: str) -> set[str]:
        """Return the names of a table's columns; none if there is no such table."""
        if self.is_postgresql:
            there = "information_schema.columns WHERE table_schema = current_schema() AND table_name = %s"
            known = self.connection.execute(f"SELECT column_name FROM {there}", (table,))
        else:
            known = self.connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        return {row[0] for row in known.fetchall()}

    def transaction(self) -> ContextManager[object]:
        return self.connection.transaction() if self.is_postgresql else Transaction(self.connection)

    def execute(self, sql: str, *values: object) -> Any:
        return self.guard(
            lambda: self.connection.execute(sql.replace("?", "%s") if self.is_postgresql else sql, values)
        )

    def insert(self, sql: str, *values: object) -> int:
        """Insert a row and return its id. SQLite has RETURNING since 3.35 only, which RHEL 9 lacks."""
        if self.is_postgresql:
            row: int = self.execute(f"{sql} RETURNING id", *values).fetchone()[0]
        else:
            row = self.execute(sql, *values).lastrowid
        return row

    def rows(self, names: tuple[str, ...], sql: str, *values: object) -> list[Row]:
        return [dict(zip(names, row)) for row in self.execute(sql, *values).fetchall()]

    def close(self) -> None:
        self.connection.close()

    # ---- nights ----

    def night_begin(self, benchmark: str, host: str, begun: str, commit: str | None, folder: str) -> int:
        def insert() -> int:
            with self.transaction():
                return self.insert(
                    "INSERT INTO night (benchmark, host, begun, commit_id, folder, state) VALUES (?, ?, ?, ?, ?, "
                    "'running')",
                    benchmark,
                    host,
                    begun,
                    commit,
                    folder,
                )

        return self.guard(insert)

    def night_end(
        self, night: int, verdict: str, reason: str, is_baseline: bool, overhead: float | None, notes: str
    ) -> None:
        def update() -> None:
            with self.transaction():
                self.execute(
                    "UPDATE night SET state = 'done', verdict = ?, reason = ?, is_baseline = ?, overhead = ?, "
                    "notes = ? WHERE id = ?",
                    verdict,
                    reason,
                    int(is_baseline),
                    overhead,
                    notes,
                    night,
                )

        self.guard(update)

    def cut_off(self, benchmark: str, host: str) -> None:
        """Mark nights that were never finished because their process was killed. Call it with the lock of the
        benchmark held.
        """

        def update() -> None:
            with self.transaction():
                self.execute(
                    "UPDATE night SET state = 'cut off', verdict = 'cannot tell', reason = 'the night was cut off' "
                    "WHERE benchmark = ? AND host = ? AND state = 'running'",
                    benchmark,
                    host,
                )

        self.guard(update)

    def accept(self, night: int) -> None:
        """Make a night the baseline; earlier nights are no longer baselines."""

        def update() -> None:
            with self.transaction():
                found = self.rows(NIGHT, f"SELECT {', '.join(NIGHT)} FROM night WHERE id = ?", night)
                if not found:
                    raise Failure(f"store: unknown night {night}")
                self.execute(
                    "UPDATE night SET is_baseline = 0 WHERE benchmark = ? AND host = ? AND id < ?",
                    found[0]["benchmark"],
                    found[0]["host"],
                    night,
                )
                self.execute("UPDATE night SET is_baseline = 1 WHERE id = ?", night)

        self.guard(update)

    def nights(self, benchmark: str | None = None, host: str | None = None) -> list[Row]:
        sql = f"SELECT {', '.join(NIGHT)} FROM night WHERE 1 = 1"
        values: list[str] = []
        for column, value in (("benchmark", benchmark), ("host", host)):
            if value is not None:
                sql, values = f"{sql} AND {column} = ?", [*values, value]
        return self.rows(NIGHT, sql + " ORDER BY id", *values)

    # ---- runs ----

    def run_add(
        self,
        night: int,
        number: int,
        rank: str | None,
        is_traced: bool,
        outcome: str,
        exit_status: int | None,
        signal: int | None,
        wall_ns: int,
        report: str | None,
        report_bytes: int | None,
        profile: Profile | None,
    ) -> int:
        """Add a run and its items (profile: None if there is no report), in one transaction."""
        facts = problems = summed = None
        if profile:
            facts, problems, summed = (
                json.dumps(profile.facts),
                json.dumps(profile.problems),
                json.dumps(sorted(profile.summed)),
            )

        def insert() -> int:
            with self.transaction():
                run = self.insert(
                    "INSERT INTO run (night_id, number, rank, is_traced, outcome, exit_status, signal, wall_ns, "
                    "report, report_bytes, facts, problems, summed, samples) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    night,
                    number,
                    rank,
                    int(is_traced),
                    outcome,
                    exit_status,
                    signal,
                    wall_ns,
                    report,
                    report_bytes,
                    facts,
                    problems,
                    summed,
                    profile.samples if profile else 0,
                )
                items = [
                    (
                        run,
                        *(clean(t) for t in key),
                        i.count,
                        i.total_ns,
                        i.typical_ns if i.typical_ns == i.typical_ns else None,
                        i.bytes,
                        i.cpu_ns,
                        json.dumps({**i.more, "code": i.code}) if i.more or i.code else "",
                    )
                    for key, i in (profile.items.items() if profile else ())
                ]
                sql = f"INSERT INTO item ({', '.join(ITEM)}) VALUES ({', '.join('?' * len(ITEM))})"
                if self.is_postgresql:
                    with self.connection.cursor() as cursor:
                        cursor.executemany(sql.replace("?", "%s"), items)
                else:
                    self.connection.executemany(sql, items)
                return run

        return self.guard(insert)

    def runs(self, night: int) -> list[Row]:
        return self.rows(RUN, f"SELECT {', '.join(RUN)} FROM run WHERE night_id = ? ORDER BY id", night)

    def has_whole_run(self, night: int) -> bool:
        """Return whether a night has a run that others can be compared with."""
        return any(run["is_traced"] and run["outcome"] == "ok" and run["facts"] is not None for run in self.runs(night))

    def profiles(self, night: int, whole_only: bool = True) -> list[Profile]:
        """Return the profiles of the traced runs of a night, as they were read from the reports."""
        found = []
        for run in self.runs(night):
            if not run["is_traced"] or run["facts"] is None or (whole_only and run["outcome"] != "ok"):
                continue
            items = {}
            for row in self.execute(
                f"SELECT {', '.join(ITEM[1:])} FROM item WHERE run_id = ?",
                run["id"],
            ).fetchall():
                more = json.loads(row[9]) if row[9] else {}
                code = more.pop("code", {})
                items[Key(*row[:4])] = Item(
                    row[4],
                    row[5],
                    row[6] if row[6] is not None else float("nan"),
                    row[7],
                    cpu_ns=row[8],
                    more=more,
                    code=code,
                )
            found.append(
                Profile(
                    run["report"],
                    items,
                    set(json.loads(run["summed"])),
                    json.loads(run["facts"]),
                    json.loads(run["problems"]),
                    run["samples"],
                )
            )
        return found

    def report_gone(self, night: int) -> None:
        """Record that the reports of a night were removed; the data read from them stays."""

        def update() -> None:
            with self.transaction():
                self.execute("UPDATE run SET report_bytes = NULL WHERE night_id = ?", night)
                self.execute("UPDATE night SET state = 'pruned' WHERE id = ?", night)

        self.guard(update)


class Transaction:
    """A transaction of SQLite that takes the write lock at the start, so that it cannot fail half way because of
    another writer.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def __enter__(self) -> None:
        self.connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.connection.execute("ROLLBACK" if kind else "COMMIT")


def clean(text: str) -> str:
    """Replace NUL, which PostgreSQL refuses in texts, and surrogates, which both databases refuse."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def without_password(url: str) -> str:
    import re

    return re.sub(r"password=\S+", "password=REDACTED", re.sub(r"(//[^:/@]*):[^@/]*@", r"\1:REDACTED@", url))
