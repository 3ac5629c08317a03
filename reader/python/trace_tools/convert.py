# SPDX-License-Identifier: Apache-2.0
"""Conversion of reports to databases by `trace export -t sqlite`; databases are used as they are."""

from __future__ import annotations

import concurrent.futures
import csv
import io
import os
import subprocess
import sys
from typing import Callable, TypeVar

from . import Failure

Result = TypeVar("Result")
TRUNCATED = "' is truncated: "
SQLITE_MAGIC = b"SQLite format 3\0"


def command() -> str:
    """Return the `trace` that started us, or else the first `trace` in PATH."""
    return os.environ.get("LIBTRACE_COMMAND") or "trace"


def is_database(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except OSError as error:
        raise Failure(f"cannot open '{path}': {error.strerror}") from None


def pass_on_truncated(stderr: bytes) -> None:
    """Print the lines of a command of `trace` that say that a report is truncated."""
    for line in stderr.decode(errors="replace").splitlines():
        if TRUNCATED in line:
            print(line, file=sys.stderr)


def run(words: list[str], output: str) -> int:
    """Run a command of `trace` that writes the file `output`. Returns its exit status, 0 or 1 (a damaged report).
    Raises Failure with the last line that the command printed.
    """
    try:
        result = subprocess.run(
            [command(), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
    except OSError as error:
        raise Failure(f"cannot run '{command()}': {error.strerror}") from None
    pass_on_truncated(result.stderr)
    if result.returncode not in (0, 1) or not os.path.exists(output):
        lines = result.stderr.decode(errors="replace").strip().splitlines() or [
            f"trace {words[0]} ended with status {result.returncode}"
        ]
        raise Failure(lines[-1].removeprefix("trace: "))
    return result.returncode


def export(path: str, database: str) -> bool:
    """Write `database` from a report. Returns whether the report is damaged; raises Failure as run()."""
    return run(["export", "-t", "sqlite", "-f", "true", "-o", database, "--", path], database) == 1


def report(name: str, database: str) -> list[dict[str, str]]:
    """Return the rows of a report of `trace stats`, a text for each column; none if it cannot be computed."""
    result = subprocess.run(
        [command(), "stats", "-r", name, "-f", "csv", "--", database],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return list(csv.DictReader(io.StringIO(result.stdout.decode(errors="replace")))) if not result.returncode else []


def each(paths: list[str], folder: str, use: Callable[[str, str, bool], Result]) -> list[Result]:
    """Call use(path, database, damaged) for each path and return the results in their order. Databases that are
    exported from reports are written to `folder` and deleted right after their use.
    """

    def one(number: int, path: str) -> Result:
        if is_database(path):
            return use(path, path, False)
        database = os.path.join(folder, f"{number}.sqlite")
        try:
            damaged = export(path, database)
            return use(path, database, damaged)
        finally:
            if os.path.exists(database):
                os.unlink(database)

    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        return list(pool.map(one, range(len(paths)), paths))
