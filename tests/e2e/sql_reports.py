#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check `trace stats` on databases of nsys and of libtrace, and `trace query`.

Databases that nsys exported (SHARED/fixtures/nsys, four generations) have expected values. A generated database has rows for every report;
if NVIDIA's nsys has been fetched (PEERS, default /tmp/peers), its own `nsys stats` runs on it, too.
"""
import contextlib
import csv
import glob
import io
import json
import os
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import PRODUCTS, app, fixtures, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402
from libpeers import NSYS  # noqa: E402
import _made_database as made  # noqa: E402
import libdevice as device  # noqa: E402

PLACE = folder()
FIXTURES = fixtures("nsys")
MADE = os.path.join(PLACE, "made.sqlite")
made.make(MADE)


def stats(path, report, *options):
    """Return the rows that `trace stats` prints as CSV, the heading first."""
    result = trace("stats", "-r", report, "-f", "csv", *options, path)
    if result.status != 0:
        raise RuntimeError(f"trace stats: {result.status} {result.err!r}")
    return list(csv.reader(io.StringIO(result.out.decode())))


def query(path, sql, *options):
    result = trace("query", "-f", "csv", *options, path, sql)
    return list(csv.reader(io.StringIO(result.out.decode())))[1:]


# ---- values ----

def fixtures():
    found = sorted(glob.glob(os.path.join(FIXTURES, "expected/*/*.csv")))
    found = [path for path in found if not os.path.basename(path).startswith("rule_")]
    if not found:
        tap.skip("reports on exports of nsys", "no fixtures")
    for path in found:
        name, report = os.path.basename(os.path.dirname(path)), os.path.basename(path)[:-4]
        with open(path, "rb") as file:
            expected = file.read()
        result = trace("stats", "-r", report, "-f", "csv", os.path.join(FIXTURES, name + ".sqlite"))
        differing = [f"{a!r}\n{b!r}" for a, b in zip(result.out.splitlines(), expected.splitlines()) if a != b]
        tap.ok(result.status == 0 and result.out == expected and not result.err, f"{report} of {name}, to the letter",
               "\n".join(differing[:3]) or result)


def made_values():
    rows = {row[-1]: row for row in stats(MADE, "cuda_api_sum")[1:]}
    tap.ok(rows["cudaLaunchKernel"][1:3] == ["300", "3"] and "cudaMallocAsync_v11020" in rows and "cuMemAlloc_v2" in rows,
           "cuda_api_sum: versions of four digits are left out, others stay", rows)
    names = lambda report: {row[-1] for row in stats(MADE, report)[1:]}  # noqa: E731
    tap.ok(names("cuda_gpu_kern_sum:base") == {"add", "mul"} and "_Zadd" in names("cuda_gpu_kern_sum:mangled"), "arguments of reports: base, mangled")
    tap.ok({"exactly to the end/mul", "step/add"} <= names("cuda_gpu_kern_sum:nvtx-name:base"), "nvtx-name adds the innermost range", names("cuda_gpu_kern_sum:nvtx-name:base"))
    tap.ok(len(stats(MADE, "um_sum:rows=2")) == 3, "and rows")
    trace_rows = stats(MADE, "nvtx_pushpop_trace")[1:]
    nested = {row[5]: (row[8], row[12].count(":")) for row in trace_rows}
    tap.ok(nested["math:first"] == ("2", 3) and nested["math:overlaps"] == ("0", 1), "a range that only overlaps another lies not in it", nested)
    unfinished = os.path.join(PLACE, "unfinished.sqlite")
    made.make(unfinished, unfinished=True)
    tap.ok(stats(unfinished, "nvtx_sum") == stats(MADE, "nvtx_sum"), "ranges that were never ended are left out")


def launches_count_once():
    """Check that launches count once: calls that nsys 2022 writes twice, kernels outside of ranges, kernels that begin when their call ends."""
    once, twice = os.path.join(PLACE, "once.sqlite"), os.path.join(PLACE, "twice.sqlite")
    made.make_launches(once, False)
    made.make_launches(twice)
    for report in ("nvtx_kern_sum", "nvtx_gpu_proj_sum", "nvtx_gpu_proj_trace", "cuda_kern_exec_sum", "cuda_kern_exec_trace", "cuda_api_sum", "cuda_api_trace",
                   "cuda_api_gpu_sum", "cuda_gpu_kern_sum:nvtx-name"):
        tap.ok(stats(once, report) == stats(twice, report) and len(stats(once, report)) > 1, f"{report}: a second row of a call changes nothing",
               list(zip(stats(once, report), stats(twice, report)))[:3])
    rows = {(row[0], row[-1]): row for row in stats(twice, "nvtx_kern_sum")[1:]}
    tap.ok(rows[":step", "void in_step()"][4:7] == ["5", "5", "1500"] and rows[":outer", "void in_step()"][4:7] == ["1", "5", "1500"],
           "nvtx_kern_sum: five kernels and their time", rows)
    tap.ok(rows["", "void outside()"][1:7] == ["", "1000", "1000", "0", "1", "210"] and rows["", "void without_call()"][1:7] == ["", "", "", "0", "1", "50"],
           "and those outside of all ranges, without a range", rows)
    rows = {row[0]: row for row in stats(twice, "nvtx_gpu_proj_sum")[1:]}
    tap.ok(rows[":outer"][10] == "6" and rows[":step"][10] == "6", "nvtx_gpu_proj_sum: operations", rows)
    rows = {row[-1]: row for row in stats(twice, "cuda_kern_exec_sum")[1:]}
    tap.ok(rows["void at_the_end()"][4] == "1" and rows["void at_the_end()"][15:18] == ["0.0", "0.0", "0"], "a kernel that begins as its call ends waited 0 ns", rows)
    tap.ok(rows["void outside()"][4] == "0" and rows["void outside()"][15:20] == [""] * 5, "one that begins before that has no waiting time", rows)
    only = os.path.join(PLACE, "backtraces.sqlite")
    made.make_launches(only)
    with contextlib.closing(sqlite3.connect(only)) as cut, cut:
        cut.execute("DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE eventClass <> 67")
    rows = {row[-1]: row for row in stats(only, "cuda_kern_exec_sum")[1:]}
    tap.ok(stats(only, "cuda_api_sum")[1][2] == "5" and rows["void in_step()"][3] == "5", "calls that have no other row are counted by that one", rows)


def units_and_windows():
    for unit, title, value in (("us", "(us)", "0.500"), ("milli", "(ms)", "0.0005"), ("seconds", "(sec)", "0.0000"), ("nsec", "(ns)", "500")):
        rows = stats(MADE, "cuda_api_sum", "--time-unit", unit)
        tap.ok(rows[0][1] == f"Total Time {title}" and rows[1][1] == value, f"--time-unit {unit}", rows[:2])
    tap.ok(trace("stats", "--time-unit", "weeks", MADE).status == 2, "an unknown --time-unit is refused")
    starts = lambda *options: [row[0] for row in stats(MADE, "cuda_api_trace", *options)[1:]]  # noqa: E731
    for window, expected in (("1600/1800", ["1600"]), ("1700/1800", []), ("1701/1801", ["1800"]), ("/1600", ["1000"]), ("5.8us/", ["5800"]), ("5us600ns/5700", ["5600"])):
        tap.ok(starts("--filter-time", window) == expected, f"--filter-time {window}: what overlaps it", starts("--filter-time", window))
    for wrong in ("5", "/", "2/1", "1x/2", "1ms", "/1e400"):
        result = trace("stats", "--filter-time", wrong, MADE)
        tap.ok(result.status == 2 and result.err.count(b"\n") == 1, f"'{wrong}' is refused as a window", result)
    for name, expected in (("copy", ["2000"]), ("step/1", ["2500", "2800", "3000", "3400", "3500"]), ("first@math", ["1600"]), ("step@other", ["3200"])):
        tap.ok(starts("--filter-nvtx", name) == expected, f"--filter-nvtx {name}", starts("--filter-nvtx", name))
    for name in ("first", "step/9", "it's not there"):
        result = trace("stats", "--filter-nvtx", name, MADE)
        tap.ok(result.status == 2 and b"no NVTX range named" in result.err, f"--filter-nvtx '{name}': there is none", result)


def window_of_a_process():
    """Check that a range of one process selects its rows, not those of others at the same time."""
    path = os.path.join(PLACE, "two.sqlite")
    d = made.Made(path)
    for n, (tid, pid) in enumerate(((made.T1, made.P1), (made.T2, made.P2))):
        d.nvtx(1000 + 10 * n, 5000, tid, "same")
        d.nvtx(1000, 5000, tid, f"of {n}")
        for i in range(4 + n):
            start = 1000 + 500 * i
            d.api(start + 50, start + 60, tid, "cudaLaunchKernel_v7000", i + 1)
            d.kernel(start + 100, start + 200, pid, i + 1, "void k()", "k", device=n)
            d.copy(start + 250, start + 260, pid, 100 + i, 4096, 1, 1, 2, device=n)
            d.osrt(start + 300, start + 310, tid, "read")
            d.row("OPENMP_EVENT_KIND_TASK", start=start + 310, end=start + 320, eventClass=78, globalTid=tid, nameId=d.text("Task"), eventKind=28)
    d.finish()
    for report, column in (("cuda_api_sum", 2), ("cuda_gpu_kern_sum", 2), ("cuda_gpu_mem_time_sum", 2), ("osrt_sum", 2), ("openmp_sum", 2)):
        counts = [sum(int(row[column]) for row in stats(path, report, *options)[1:]) for options in
                  ((), ("--filter-nvtx", "of 0"), ("--filter-nvtx", "of 1"), ("--filter-nvtx", "same"), ("--filter-nvtx", "same/1"),
                   ("--filter-nvtx", "same", "--process", "2000"))]
        tap.ok(counts == [9, 4, 5, 4, 5, 5], f"{report}: --filter-nvtx goes by the range's process", counts)
    result = trace("stats", "--filter-nvtx", "of 0", "--process", "2000", path)
    tap.ok(result.status == 2 and b"no NVTX range named" in result.err, "a range of another process than --process is none", result)


def missing_columns():
    """Check that a missing column that a report needs is derived if possible, and that the error names it otherwise."""
    tables = [f"CUPTI_ACTIVITY_KIND_{name}" for name in ("KERNEL", "MEMCPY", "MEMSET")]

    def without(name, *columns, processes=1):
        path = os.path.join(PLACE, name)
        d = made.Made(path)
        for i in range(100):
            d.api(1000 * i, 1000 * i + 10, made.T1, "cudaLaunchKernel_v7000", i + 1)
            d.kernel(1000 * i + 20, 1000 * i + 1010, made.P1, i + 1, "void busy()", "busy")
        d.copy(100010, 100020, made.P1, 100, 4096, 1, 1, 2)
        d.nvtx(0, 100000, made.T1, "all")
        if processes > 1:
            d.api(0, 10, made.T2, "cudaMalloc_v3020", 1)
        for table in tables:
            for column in columns:
                d.db.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        d.finish()
        return path

    def utilization(path):
        return trace("analyze", "-r", "gpu_time_util:threshold=101", "-f", "json", path)

    whole, derived = without("whole"), without("derived", "globalPid", "contextId")
    found = [json.loads(utilization(path).out)[0]["rows"] for path in (whole, derived)]
    tap.ok([row["In-Use (%)"] for row in found[1]] == [99.0] and found[1] == [dict(row, **{"Context ID": None}) for row in found[0]],
           "gpu_time_util without globalPid: the process of the calls", found)
    for report in ("cuda_gpu_sum", "nvtx_gpu_proj_sum", "nvtx_kern_sum", "cuda_kern_exec_sum", "cuda_gpu_kern_sum"):
        tap.ok(stats(whole, report) == stats(derived, report) and len(stats(whole, report)) > 1, f"and {report}", stats(derived, report))
    tap.ok(stats(derived, "cuda_gpu_kern_sum", "--process", "1000") == stats(whole, "cuda_gpu_kern_sum") and len(stats(derived, "cuda_gpu_kern_sum", "--process", "2000")) == 1,
           "and --process")
    flat = without("flat")
    with contextlib.closing(sqlite3.connect(flat)) as c, c:
        for column in ("gridX", "blockY"):
            c.execute(f"ALTER TABLE {tables[0]} DROP COLUMN {column}")
    for report in ("cuda_gpu_kern_gb_sum", "cuda_kern_exec_trace", "cuda_kern_occupancy"):
        head, row = stats(flat, report)[:2]
        tap.ok([row[head.index(title)] for title in ("GridXYZ", "BlockXYZ")] == ["", ""], f"{report}: a shape that is not known is none, not 0", row)
    untyped = without("untyped")
    with contextlib.closing(sqlite3.connect(untyped)) as c, c:
        c.execute("ALTER TABLE NVTX_EVENTS DROP COLUMN eventType")
    result = trace("stats", "-r", "nvtx_kern_sum", untyped)
    tap.ok(result.status == 2 and b"NVTX_EVENTS has no column eventType" in result.err, "NVTX events of no type are not left out in silence", result)
    facts = {"threadsPerWarp": 32, "maxWarpsPerSm": 64, "maxBlocksPerSm": 32, "maxRegistersPerSm": 65536, "maxShmemPerSm": 232448,
             "computeMajor": 9, "computeMinor": 0, "smCount": 132}
    for column, title in (("", ""), ("dynamicSharedMemory", "DymSMem (B)"), ("registersPerThread", "Reg/Trd")):
        some = without(f"some{column}")
        with contextlib.closing(sqlite3.connect(some)) as c, c:
            for name, value in facts.items():
                c.execute(f"ALTER TABLE TARGET_INFO_GPU ADD COLUMN {name} INTEGER DEFAULT {value}")
            c.execute("INSERT INTO TARGET_INFO_GPU (vmId, id, name) VALUES (1, 0, 'GPU')")
            if column:
                c.execute(f"ALTER TABLE {tables[0]} DROP COLUMN {column}")
        head, row = stats(some, "cuda_kern_occupancy")[:2]
        found = [bool(row[head.index(t)]) for t in ("Occupancy (%)", "Limiter", "Waves", title or "Reg/Trd")]
        tap.ok(found == [not column] * 4, f"without {column}, the occupancy is not known" if column else "the occupancy is known", (head, row))
    several, device = without("several", "globalPid", processes=2), without("device", "deviceId")
    for path, column, results in ((several, b"globalPid", (utilization(several), trace("stats", "-r", "nvtx_gpu_proj_sum", several))),
                                  (device, b"deviceId", (utilization(device), trace("stats", "-r", "cuda_kern_exec_sum", device)))):
        for result in results:
            tap.ok(result.status == 2 and result.err.count(b"\n") == 1 and b"CUPTI_ACTIVITY_KIND_KERNEL has no column " + column in result.err,
                   f"else the column is named: {column.decode()}", result)
        tap.ok(stats(path, "cuda_gpu_sum") == stats(whole, "cuda_gpu_sum"), "and reports that do not need it are made", stats(path, "cuda_gpu_sum"))
        result = trace("report", path)
        tap.ok(result.status == 0 and b"gpu_time_util is left out: the table CUPTI_ACTIVITY_KIND_KERNEL has no column " + column in result.err and
               b"CUDA GPU Kernel Summary" in result.out, "trace report leaves out the tables that need it", result)


def formats():
    table = trace("stats", "-r", "cuda_gpu_kern_sum", MADE).out.decode()
    tap.ok(" ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):" in table and "Processing [" in table, "headings are those of nsys")
    rows = json.loads(trace("stats", "-r", "cuda_gpu_trace", "-f", "json", MADE).out)
    tap.ok(rows[0]["Start (ns)"] == 1750 and rows[0]["GreenCtx"] is None and rows[0]["Name"].startswith("void add"), "JSON: numbers, texts and null", rows[0])
    tsv = trace("stats", "-r", "osrt_sum", "-f", "tsv", MADE).out.decode().splitlines()
    tap.ok(tsv[0].split("\t")[0] == "Time (%)" and len(tsv) == 4, "TSV")
    result = trace("stats", "-r", "syscall_sum", MADE)
    tap.ok(b"SKIPPED: " in result.out and b"does not contain syscall data" in result.out and result.status == 0, "a report without its data says so", result)
    result = trace("stats", "-r", "sched_sum", MADE)
    tap.ok(b"does not contain threads' counters or context switches data." in result.out, "and names no options of ours where nsys recorded", result)
    result = trace("analyze", "-r", "hot_function", MADE)
    tap.ok(result.out.endswith(b"hot_function: no data: CPU samples\n"), "so do rules", result)
    helper = os.path.join(PLACE, "helper")
    d = made.Made(helper)
    d.api(0, 1000, made.T1, "cudaMalloc_v3020", 1)
    d.api(500, 9000, made.T1 + 7, "cudaFree_v3020", 2)
    d.finish()
    threads = {r["TID"] for r in json.loads(trace("stats", "-r", "critical_path_sum", "-f", "json", helper).out)}
    tap.ok(threads == {made.T1 & 0xffffff}, "the path of nsys's database is that of the first thread, not of a helper that ended later", threads)
    result = trace("why", MADE)
    tap.ok(b"Whether threads had a CPU while they computed is not known\n" in result.out, "and trace why", result)
    result = trace("stats", "-r", "nonsense", MADE)
    tap.ok(result.status == 2 and b"unknown report" in result.err and b"um_sum" in result.err, "a report that does not exist", result)
    result = trace("stats", "-r", "osrt_totals", MADE)
    tap.ok(result.status == 2 and result.err.count(b"\n") == 1, "a report that needs ours", result)
    result = trace("stats", "-r", "callchain_tree", MADE)
    tap.ok(result.status == 0 and b"does not contain callchain data" in result.out, "callchains of a database without any", result)
    result = trace("stats", "-f", "csv", "--report", "cudaapisum", "--report", "gpukernsum:base,um_sum", MADE)
    three = b"\n".join(trace("stats", "-f", "csv", "-r", name, MADE).out for name in ("cuda_api_sum", "cuda_gpu_kern_sum:base", "um_sum"))
    tap.ok(result.status == 0 and result.out == three, "--report again and again, and the names of older versions", result)
    pids = lambda *options: {row[5] for row in stats(MADE, "cuda_api_trace", *options)[1:]}  # noqa: E731
    lines = trace("stats", "-r", "cuda_api_trace", MADE).out.decode().splitlines()
    row = next((line.split() for line in lines if "cudaMalloc " in line), [])
    tap.ok(row[:1] == ["1,000"] and row[5:7] == ["1000", "1000"], "tables: times have separators of thousands, ids have none", row)
    tap.ok(pids() == {"1000", "2000"} and pids("--process", "2000") == {"2000"}, "--process")
    tap.ok({row[6] for row in stats(MADE, "cuda_api_trace", "--thread", "1001")[1:]} == {"1001"}, "--thread")
    tap.ok(len(stats(MADE, "cuda_gpu_trace", "--process", "2000")) == 3, "--process, of the GPU", stats(MADE, "cuda_gpu_trace", "--process", "2000"))
    tap.ok(trace("stats", "-r", "cuda_api_sum", "--name", "cuda*", MADE).status == 2, "--name is not for databases")
    out = trace("stats", MADE).out.decode()
    order = [line.split("(")[-1].split(")")[0] for line in out.splitlines() if line.startswith(" ** ")]
    tap.ok(order[:4] == ["nvtx_sum", "osrt_sum", "cuda_api_sum", "cuda_gpu_kern_sum"] and "syscall_sum" not in order and "um_sum" in order,
           "without -r the applicable reports are printed", order)


# ---- compared with nsys ----

def rounded(cell):
    """Parse a number, if it is one. nsys rounds halves up, printf to even, so alike() allows a difference in the last digit."""
    try:
        return float(cell)
    except ValueError:
        return cell.lstrip("-").lstrip(":")  # later versions of nsys begin the names of the default domain with a colon


def alike(ours, theirs):
    return len(ours) == len(theirs) and all(abs(a - b) <= 0.1001 if isinstance(a, float) and isinstance(b, float) else a == b for a, b in zip(ours, theirs))


def nsys_itself():
    """Compare with nsys 2023.4, except columns that later releases document differently and columns with arbitrary values."""
    if not os.path.exists(NSYS):
        tap.skip("nsys stats on the database made here", "no nsys in PEERS or /tmp/peers")
        return
    skipped = {"GreenCtx", "QStdDev (ns)", "RangeId", "ParentId", "RangeStack", "NumChild", "Avg Num Child"}
    reports = ("cuda_api_gpu_sum cuda_api_sum cuda_api_trace cuda_gpu_kern_gb_sum cuda_gpu_kern_sum cuda_gpu_kern_sum:base cuda_gpu_kern_sum:nvtx-name "
               "cuda_gpu_mem_size_sum cuda_gpu_mem_time_sum cuda_gpu_sum cuda_gpu_trace cuda_kern_exec_sum cuda_kern_exec_trace mpi_event_trace "
               "nvtx_gpu_proj_sum nvtx_gpu_proj_trace nvtx_kern_sum nvtx_pushpop_sum nvtx_pushpop_trace nvtx_startend_sum nvtx_sum openacc_sum openmp_sum "
               "osrt_sum um_sum um_total_sum um_cpu_page_faults_sum").split()
    base = os.path.join(PLACE, "nsys")
    done = run([NSYS, "stats", "-r", ",".join(reports), "-f", "csv", "--force-export=false", "-o", base, MADE], env=dict(os.environ), limit=200)
    for report in reports:
        path = f"{base}_{report.replace(':', '_')}.csv"
        if not os.path.exists(path):
            path = f"{base}_{report}.csv"
        with open(path, encoding="utf-8") as file:
            theirs = list(csv.reader(file))
        ours = stats(MADE, report)
        keep = [i for i, title in enumerate(ours[0]) if title not in skipped]
        shown = lambda rows: sorted(([rounded(row[i]) for i in keep] for row in rows[1:] if row and (row[0] or report != "nvtx_gpu_proj_trace")), key=str)  # noqa: E731,B023
        a, b = shown(ours), shown(theirs)
        tap.ok(len(a) == len(b) > 0 and all(alike(x, y) for x, y in zip(a, b)), f"{report} of nsys itself: {len(b)} rows",
               [pair for pair in zip(a, b) if not alike(*pair)][:3] or (len(a), len(b), done.err))


# ---- reports of ours ----

def both_ways():
    """Check that a statistic computed in a pass over the report equals that in SQL over its export."""
    spool, report = spool_folder(), os.path.join(PLACE, "live.rep")
    run([app("counter_workload"), os.path.join(PLACE, "books"), "4", "finish", "20"], env=traced_env(report, spool, threshold=0))
    wait_spool_gone(spool)
    database = os.path.join(PLACE, "live.sqlite")
    result = trace("export", "-t", "sqlite", "-o", database, report)
    tap.ok(result.status == 0, "a report is exported", result)
    direct, in_sql, through = (stats(report, "osrt_sum"), stats(database, "osrt_sum"), stats(report, "osrt_sum", "--filter-time", "/1000h"))
    tap.ok(len(direct) > 3 and direct == in_sql, f"osrt_sum: {len(direct) - 1} rows, by a pass and in SQL", (direct[:3], in_sql[:3]))
    tap.ok(direct == through, "a temporary database gives the same rows")
    for generation in ("2.9", "3.4"):
        older = os.path.join(PLACE, f"live-{generation}.sqlite")
        result = trace("export", "-t", "sqlite", "--compat", generation, "-o", older, report)
        tap.ok(result.status == 0 and stats(older, "osrt_sum") == direct, f"an export in the schema of {generation} gives the same rows", result)
    tmp = folder()
    rows = trace("query", "-f", "csv", report, "SELECT count(*) FROM OSRT_API", env=dict(os.environ, TMPDIR=tmp))
    calls = sum(int(row[2]) for row in direct[1:])
    tap.ok(rows.out.split()[1] == str(calls).encode() and not os.listdir(tmp), f"trace query on a report: {calls} calls, and nothing is left behind", rows)
    result = trace("query", report, "SELECT 1", env=dict(os.environ, TMPDIR=os.path.join(PLACE, "not-there")))
    tap.ok(result.status == 2 and b"not-there" in result.err and result.err.count(b"\n") == 1, "no place for it: a clear line", result)


def nvtx_both_ways():
    """Check that statistics of NVTX ranges computed in a pass equal those in SQL, except for range ids, which are arbitrary."""
    if not os.path.exists(app("nvtx_calls")):
        tap.skip("NVTX by a pass and in SQL", "built without headers of NVTX")
        return
    spool, report, database = spool_folder(), os.path.join(PLACE, "nvtx.rep"), os.path.join(PLACE, "nvtx.sqlite")
    run([app("nvtx_calls")], env=traced_env(report, spool, threshold=0))
    wait_spool_gone(spool)
    trace("export", "-t", "sqlite", "-o", database, report)
    for name in ("nvtx_sum", "nvtx_pushpop_sum", "nvtx_startend_sum"):
        a, b = stats(report, name), stats(database, name)
        tap.ok(len(a) > 1 and a == b, f"{name}: {len(a) - 1} rows, by a pass and in SQL", (a[:4], b[:4]))
    a, b = ([row[:10] + row[13:] for row in stats(path, "nvtx_pushpop_trace")] for path in (report, database))
    tap.ok(len(a) > 1 and sorted(a) == sorted(b), f"nvtx_pushpop_trace: {len(a) - 1} rows", [pair for pair in zip(sorted(a), sorted(b)) if pair[0] != pair[1]][:3])


def simulated():
    """Check that `trace stats` of a report of the simulated device prints the operations of the device."""
    why = device.missing("pipeline")
    if why:
        tap.skip("CUDA reports of a report of ours", why)
        return
    spool, report, truth = spool_folder(), os.path.join(PLACE, "cuda.rep"), os.path.join(PLACE, "truth")
    run([device.app("pipeline")], env=device.env(truth=truth, base=traced_env(report, spool, LIBTRACE_TRACE="cuda,osrt")))
    wait_spool_gone(spool)
    kernels = device.truth(truth, "kernel")
    rows = stats(report, "cuda_gpu_kern_sum")
    tap.ok(kernels and sum(int(row[2]) for row in rows[1:]) == len(kernels), f"cuda_gpu_kern_sum: {len(kernels)} kernels", (rows, len(kernels)))
    out = trace("stats", report).out.decode()
    order = [line.split("(")[-1].split(")")[0] for line in out.splitlines() if line.startswith(" ** ")]
    tap.ok(order[:3] == ["osrt_sum", "cuda_api_sum", "cuda_gpu_kern_sum"], "trace stats without a name: CUDA, too", order)


# ---- trace query ----

def queries():
    rows = query(MADE, "SELECT median(x), stddev(x), api_name('cudaMalloc_v3020') FROM (SELECT 1 AS x UNION ALL SELECT 2 UNION ALL SELECT 9)")
    tap.ok(rows[0][0] == "2.0" and rows[0][1].startswith("4.35889894354067") and rows[0][2] == "cudaMalloc", "SQL functions of the reader work in a query", rows)
    rows = query(MADE, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 400000) SELECT median(x - 200000), stddev(x) FROM n")
    tap.ok(rows[0][0] == "0.5" and rows[0][1].startswith("115470.1981"), "of more values than are held in memory", rows)
    result = trace("query", "-f", "json", MADE, "SELECT 1 AS a, NULL AS b, 'x\"y' AS c, x'00ff' AS d, 1.5 AS e UNION ALL SELECT 'text', 2, 3, 4, 5")
    tap.ok(json.loads(result.out) == [{"a": "1", "b": None, "c": "x\"y", "d": "X'00FF'", "e": 1.5}, {"a": "text", "b": 2, "c": "3", "d": "4", "e": 5}],
           "JSON of mixed columns is JSON", result)
    result = trace("query", MADE, "SELECT name FROM sqlite_master LIMIT 2")
    tap.ok(result.out.splitlines()[0].strip() == b"name" and len(result.out.splitlines()) == 4, "a table", result)
    before = os.stat(MADE)
    for sql in ("DELETE FROM StringIds", "CREATE TABLE t (a)", "CREATE TEMP TABLE t (a)", "ATTACH 'other.db' AS o", "VACUUM INTO 'other.db'",
                "PRAGMA journal_mode = WAL", "PRAGMA writable_schema = 1", "SELECT load_extension('x')", "SELECT 1; DELETE FROM StringIds", "SELECT 1; SELECT 2",
                "", "-- nothing", "SELECT * FROM nowhere", "SELECT (", "BEGIN"):
        result = trace("query", MADE, sql, cwd=PLACE)
        tap.ok(result.status == 2 and result.err.count(b"\n") == 1 and not result.out, f"refused in one line: {sql}", result)
    after = os.stat(MADE)
    tap.ok((before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size) and not os.path.exists(os.path.join(PLACE, "other.db")),
           "trace query writes nothing")
    tap.ok(trace("query", MADE).status == 2 and trace("query", MADE, "SELECT 1", "SELECT 2").status == 2, "two arguments are wanted")
    result = run(["bash", "-c", f"{PRODUCTS}/bin/trace query -f csv {MADE} 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n' | head -2"])
    tap.ok(result.out == b"x\n1\n" and not result.err and not result.hung, "a reader that goes away ends it", result)


def several_tables_are_one_document():
    """Check that the output in JSON of several files, or of several reports, is one JSON document."""
    again = os.path.join(PLACE, "again.sqlite")
    shutil.copy(MADE, again)
    wanted = ["cuda_api_sum", "osrt_sum", "cuda_gpu_kern_sum:base"]
    one = {report: json.loads(trace("stats", "-r", report, "-f", "json", MADE).out) for report in wanted}
    tap.ok(all(isinstance(rows, list) and rows for rows in one.values()), "one report of one file: an array of rows", one)
    for files, reports in (([MADE], wanted), ([MADE, again], wanted[:1]), ([MADE, again], wanted)):
        result = trace("stats", "-r", ",".join(reports), "-f", "json", *files)
        found = [(table["file"], table["report"], table["rows"]) for table in json.loads(result.out)]
        tap.ok(found == [(file, report, one[report]) for file in files for report in reports], f"{len(files)} files, {len(reports)} reports: a table each", result)
    result = trace("stats", "-f", "json", MADE)
    found = {table["report"]: table["rows"] for table in json.loads(result.out)}
    tap.ok(len(found) > 3 and found["cuda_api_sum"] == one["cuda_api_sum"], "the reports that apply", result)
    missing = trace("stats", "-r", "cuda_api_sum", "-f", "json", MADE, os.path.join(PLACE, "absent"))
    tap.ok(missing.status == 2 and len(json.loads(missing.out)) == 1, "a file that cannot be read leaves a whole document", missing)


main(several_tables_are_one_document, fixtures, made_values, launches_count_once, units_and_windows, window_of_a_process, missing_columns, formats, nsys_itself, both_ways, nvtx_both_ways, simulated, queries)
