#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check `trace stats`, `analyze` and `query` on databases that are foreign, damaged or malicious: they print a clear message or a result, and
never crash.
"""
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import TORTURE, TRACE, clean_env, folder, main, run, tap, trace, wait_until  # noqa: E402
import _made_database as made  # noqa: E402

PLACE = folder()
MADE = os.path.join(PLACE, "made.sqlite")
REPORTS = ("gpu_clock_sum,gpu_metric_sum,nic_metric_sum,host_sum,cuda_api_gpu_sum,cuda_api_trace,cuda_gpu_kern_gb_sum,cuda_gpu_trace,cuda_kern_exec_sum,cuda_gpu_mem_size_sum,cuda_memory_sum,cuda_memory_live,cuda_memory_fail,cuda_memory_pool_sum,cuda_kern_occupancy,cuda_kern_metric_sum,nvtx_metric_sum,cuda_graph_node_sum,nvtx_pushpop_trace,nvtx_gpu_proj_sum,"
           "nvtx_kern_sum,osrt_sum,um_sum,um_total_sum,mpi_event_trace,openmp_sum")
made.make(MADE)


def path(name):
    return os.path.join(PLACE, name)


def changed(name, *statements, binary=None):
    """Return a copy of the database, changed by SQL."""
    shutil.copy(MADE, path(name))
    db = sqlite3.connect(path(name))
    for statement in statements:
        db.execute(statement, *([binary] if binary else []))
    db.commit()
    db.close()
    return path(name)


def sane(result):
    """Return whether the command ended by itself and printed whole lines of its own."""
    return result.status in (0, 1, 2) and not result.hung and all(line.startswith(b"trace: ") for line in result.err.splitlines())


def one_line(result, *words):
    return result.status == 2 and result.err.count(b"\n") == 1 and all(word in result.err for word in words)


def encodings():
    expected = {report: trace("stats", "-f", "csv", "-r", report, MADE).out for report in ("cuda_gpu_kern_sum:base", "nvtx_gpu_proj_trace", "cuda_api_trace")}
    for encoding in ("UTF-16le", "UTF-16be"):
        made.make(path(encoding), encoding=encoding)
        for report, out in expected.items():
            result = trace("stats", "-f", "csv", "-r", report, path(encoding))
            tap.ok(result.out == out and result.out, f"{encoding}: {report} is as in UTF-8", result)
        tap.ok(b"(not UTF" not in trace("query", path(encoding), "SELECT value FROM StringIds").out, f"{encoding}: trace query reads its texts")
    latin = path("latin")
    shutil.copy(MADE, latin)
    db = sqlite3.connect(latin)
    db.execute("UPDATE StringIds SET value = CAST(x'66fc6e66' AS TEXT) WHERE value = 'main'")
    db.commit()
    db.close()
    result = trace("stats", "-f", "json", "-r", "cuda_api_trace", latin)
    tap.ok(result.status == 0 and b"f\\udcfcnf" in result.out, "bytes that are not UTF-8 are escaped in JSON, as in other output", result.out[:200])
    result = trace("stats", "-r", "cuda_api_trace", latin)
    tap.ok(result.status == 0 and b"f\\xfcnf" in result.out, "invalid UTF-8 is escaped in a table", result.out[:600])


def foreign():
    empty = path("empty")
    sqlite3.connect(empty).execute("VACUUM")
    for command in (("stats",), ("analyze",), ("stats", "-r", "cuda_api_sum")):
        result = trace(*command, empty)
        tap.ok(result.status == 0 and sane(result) and (result.out or result.err), f"an empty database: {' '.join(command)}", result)
    other = path("other")
    db = sqlite3.connect(other)
    for table in made.TABLES:
        db.execute(f"CREATE TABLE {table} (something, else_)")
        db.execute(f"INSERT INTO {table} VALUES (1, 'x')")
    db.commit()
    db.close()
    result = trace("stats", "-r", REPORTS, other)
    tap.ok(sane(result) and one_line(result, b"has no column"), "tables of the same names with other columns: one is named", result)
    tap.ok(sane(trace("analyze", other)), "rules accept such a database")
    views = path("views")
    db = sqlite3.connect(views)
    for table in made.TABLES:
        db.execute(f"CREATE VIEW {table} AS SELECT 1 AS start, 2 AS end, 'x' AS nameId")
    db.commit()
    db.close()
    tap.ok(sane(trace("stats", "-r", REPORTS, views)) and sane(trace("analyze", views)), "views of the same names")
    keyed = path("keyed")
    db = sqlite3.connect(keyed)
    db.execute("CREATE TABLE OSRT_API (start, end, eventClass, globalTid, nameId PRIMARY KEY) WITHOUT ROWID")
    db.execute("INSERT INTO OSRT_API VALUES (1, 2, 27, 3, 4)")
    db.commit()
    db.close()
    tap.ok(one_line(trace("stats", "-r", "osrt_sum", keyed)), "a table without rowid", trace("stats", "-r", "osrt_sum", keyed))
    for name in ("with space", "100%", "a?mode=rwc", "a#b", "-x", "ü"):
        shutil.copy(MADE, path(name))
        tap.ok(trace("stats", "-r", "um_sum", "./" + name, cwd=PLACE).status == 0, f"a file named '{name}'")


def files():
    os.mkfifo(path("fifo"))
    result = trace("stats", path("fifo"), limit=20)
    tap.ok(one_line(result), "a pipe is no file to read", result)
    tap.ok(one_line(trace("stats", PLACE)), "a folder is refused in one line", trace("stats", PLACE))
    with open(path("head"), "wb") as file:
        file.write(b"SQLite format 3\0")
    tap.ok(one_line(trace("stats", path("head")), b"not a database"), "a file of only the first 16 bytes is refused", trace("stats", path("head")))
    logged = path("logged")
    shutil.copy(MADE, logged)
    db = sqlite3.connect(logged)
    db.execute("PRAGMA journal_mode = WAL")
    db.close()
    before = sorted(os.listdir(PLACE))
    tap.ok(trace("stats", "-r", "um_sum", logged).status == 0 and sorted(os.listdir(PLACE)) == before, "reading a database with a write-ahead log creates no file")
    db = sqlite3.connect(logged)
    db.execute("INSERT INTO StringIds VALUES (99999, 'in the log')")
    db.commit()
    result = trace("query", logged, "SELECT value FROM StringIds WHERE id = 99999")
    tap.ok(b"in the log" in result.out, "rows in the write-ahead log are read", result)
    db.close()


def values():
    texts = changed("texts", *[f"UPDATE {table} SET start = 'begin'" for table in ("CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "OSRT_API")])
    tap.ok(sane(trace("stats", "-r", REPORTS, texts)) and sane(trace("analyze", texts)), "texts instead of times")
    blobs = changed("blobs", "UPDATE StringIds SET value = x'00ff00'", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET gridX = x'01'", "UPDATE NVTX_EVENTS SET text = zeroblob(100)")
    tap.ok(sane(trace("stats", "-r", REPORTS, blobs)) and sane(trace("analyze", blobs)), "blobs")
    most = changed("most", 'UPDATE OSRT_API SET start = -9223372036854775807, "end" = 9223372036854775807', "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = 9223372036854775807",
                   'UPDATE NVTX_EVENTS SET "end" = 9223372036854775807 WHERE "end" IS NOT NULL')
    for command in (("stats", "-r", REPORTS), ("stats", "-r", "cuda_gpu_mem_size_sum"), ("stats", "-r", "osrt_sum"), ("analyze",)):
        result = trace(*command, most)
        tap.ok(sane(result), f"the greatest numbers: {' '.join(command)}", result)
    back = changed("back", 'UPDATE OSRT_API SET "end" = start - 100', 'UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET "end" = start - 100', 'UPDATE NVTX_EVENTS SET "end" = start - 100 WHERE "end" IS NOT NULL')
    tap.ok(sane(trace("stats", "-r", REPORTS, back)) and sane(trace("analyze", back)), "events that end before they start do no harm")
    result = trace("stats", "-f", "csv", "-r", "osrt_sum", back)
    tap.ok(b"-100.0" in result.out, "a negative duration keeps its sign", result)
    huge = changed("huge", "UPDATE StringIds SET value = CAST(zeroblob(?) AS TEXT) WHERE id = 7", binary=(70 << 20,))
    result = trace("query", huge, "SELECT value FROM StringIds")
    tap.ok(one_line(result, b"too big"), "a text of 70 MB is refused", result.err)
    large = changed("large", "UPDATE StringIds SET value = replace(hex(zeroblob(?)), '0', 'x') WHERE value LIKE '%add<float>%'", binary=(4 << 20,))
    result = trace("stats", "-r", "cuda_gpu_kern_sum", large)
    tap.ok(result.status == 0 and len(result.out) < 4000 and b"..." in result.out, "a name of 8 MB is shortened in a table")
    tap.ok(len(trace("stats", "-f", "csv", "-r", "cuda_gpu_kern_sum", large).out) > 8 << 20, "a name of 8 MB is whole in CSV")
    escapes = changed("escapes", "UPDATE StringIds SET value = char(27) || '[31m' || char(10) || '\"x' WHERE value = 'poll'")
    tap.ok(b"\x1b" not in trace("stats", "-r", "osrt_sum", escapes).out and b"\x1b" not in trace("query", escapes, "SELECT value FROM StringIds").out,
           "control characters do not reach a terminal")


def harm():
    """Check that views of a hostile database load no code, and that an endless query can be interrupted."""
    evil = changed("evil", "CREATE TABLE t (a)", "CREATE VIEW SYSCALL AS SELECT load_extension('/tmp/x.so') AS start, 1 AS end, 1 AS nameId")
    result = trace("stats", "-r", "syscall_sum", evil)
    tap.ok(one_line(result), "a view that loads code", result)
    deep = changed("deep", "CREATE VIEW SYSCALL AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS start, x AS end, 1 AS nameId FROM n")
    for command in (("stats", "-r", "syscall_sum", deep), ("query", deep, "SELECT count(*) FROM SYSCALL")):
        with subprocess.Popen([TRACE, *command], env=clean_env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            time.sleep(0.5)
            running = process.poll() is None
            process.send_signal(signal.SIGINT)
            ended = wait_until(lambda: process.poll() is not None, 20)
            if not ended:
                process.kill()
            tap.ok(running and ended and process.returncode == -signal.SIGINT, f"a query without an end is stopped by a signal: trace {command[0]}", process.returncode)


def damage():
    """Check databases with wrong bytes at random places. The seed is fixed, so that a failure can be repeated."""
    with open(MADE, "rb") as file:
        good = file.read()
    chance = random.Random(5)
    bad, told = [], 0
    for turn in range(600 if TORTURE else 120):
        data = bytearray(good)
        kind = turn % 4
        if kind == 0:
            data = data[:chance.randrange(16, len(data))]
        for _ in range(chance.choice((1, 10, 200)) if kind else 0):
            place = chance.randrange(100 if kind == 1 else 16, len(data)) if kind != 2 else chance.randrange(16, 8192)
            data[place] = chance.randrange(256)
        with open(path("damaged"), "wb") as file:
            file.write(data)
        for command in (("stats", "-r", REPORTS), ("analyze",)):
            result = trace(*command, path("damaged"), limit=60)
            told += result.status == 2
            if not sane(result) or (result.status == 2 and not result.err):
                bad.append((turn, command, result))
    tap.ok(not bad, f"damaged files: a result or a cause ({told} times a cause)", bad[:2])
    tap.ok(told > 10, "some files are so damaged that the command reports it")


def no_place():
    """Check a full TMPDIR, which sorting and the temporary database of a report need."""
    result = run([TRACE, "query", MADE, "SELECT 1"], env=clean_env(TMPDIR="/nonexistent"))
    tap.ok(result.status == 0, "a small statement needs no space in TMPDIR", result)


main(encodings, foreign, files, values, harm, damage, no_place)
