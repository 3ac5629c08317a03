#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""trace merge: reports of ranks in one, clocks of hosts that differ, who was late, reports that cannot be merged."""
import os
import random
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _made_database as made  # noqa: E402
import lib_merge  # noqa: E402
import libdevice as device  # noqa: E402
import libskew  # noqa: E402
from _paths import path_of  # noqa: E402
from lib import Report, app, folder, main, receipts_agree, recorded, tap, trace  # noqa: E402
from lib_merge import RANKS, launchers, merged, program  # noqa: E402

LATE, ROUNDS, LATE_US = 1, 12, 30000


def ranks(name, launcher, variable, end):
    place = folder()
    paths = lib_merge.record(launcher, variable, [program("mpi_rounds" + end), str(LATE), str(ROUNDS), str(LATE_US)], place)
    if not tap.ok(paths, f"{name}: each rank has a report"):
        return
    one_host(name, paths, place)
    hosts(name, paths, place)
    place = folder()
    calls = lib_merge.record(launcher, variable, [program("mpi_rounds" + end), str(LATE), "4", str(LATE_US)], place, sources="mpi,osrt")
    if not tap.ok(calls, f"{name}: each rank has a report of its calls"):
        return
    target = os.path.join(place, "calls.rep")
    merged(calls, target)
    rank, instead = lib_merge.latest(target)
    tap.ok(rank == str(LATE) and instead.startswith("call ") and " <- main <- " in instead, f"{name}: without ranges, the call that it waited in, with names", instead)


def one_host(name, paths, place):
    """Reports of one boot have one clock: nothing changes but ids."""
    target = os.path.join(place, "job.rep")
    result = merged(paths, target)
    report = Report(target)
    tap.ok(result.status == 0 and report.check().status == 0 and not receipts_agree(report) and report.info()["verdict"].startswith("complete"),
           f"{name}: the merged report is sound and complete", result.err)
    tap.ok(lib_merge.errors(paths, target) == [(0, 0)] * RANKS and lib_merge.bounds(target) == [0] * RANKS, f"{name}: all events, at their times")
    waited = lib_merge.latest(target)
    tap.ok(waited == (str(LATE), "range :planted"), f"{name}: the late rank, and what it did instead", waited)
    alone = lib_merge.rows("mpi_late_sum", paths[0])
    tap.ok(len(alone) == 1 and "trace merge" in alone[0]["Name"], f"{name}: the report of one rank points to trace merge", alone)
    sent = sorted((r["From Rank"], r["To Rank"], r["Messages"], r["Max"]) for r in lib_merge.rows("mpi_matrix", target))
    wanted = [(str(a), str(b), str(ROUNDS), "64") for a in range(RANKS) for b in range(RANKS) if a != b]
    tap.ok(sent == wanted, f"{name}: the message matrix", sent)
    by_range = {r["Range"]: r for r in lib_merge.rows("mpi_range_sum", target)}
    tap.ok(by_range[":planted"]["Slowest Rank"] == str(LATE) and by_range[":work"]["Ranks"] == str(RANKS - 1), f"{name}: ranges by rank", by_range)
    waits = {r["Rank"]: int(r["Others' Wait (ns)"]) for r in lib_merge.rows("mpi_straggler_sum", target)}
    tap.ok(max(waits, key=waits.get) == str(LATE), f"{name}: the straggler, without clocks", waits)


def hosts(name, paths, place):
    """Ranks of hosts whose clocks differ: every time is as exact as stated, and the late rank is named."""
    target = os.path.join(place, "hosts.rep")
    others = lib_merge.spread(paths, random.Random(7))
    result = merged(others, target)
    info = Report(target).info()
    tap.ok(result.status == 0 and Report(target).check().status == 0 and [m["clock"] for m in info["merged"]] == ["same", "messages", "messages"],
           f"{name}: clocks are aligned by messages", (result.err, info["merged"]))
    tap.ok(lib_merge.kept(paths, target), f"{name}: all times are as exact as stated", (lib_merge.errors(paths, target), lib_merge.bounds(target)))
    tap.ok(lib_merge.pairs_kept(paths, target), f"{name}: each two hosts are as close as stated for the pair", [m.get("pairs") for m in info["merged"]])
    aligned = os.path.join(place, "aligned")
    result = trace("merge", "--separate", "-o", aligned, *others)
    parts = [os.path.join(aligned, os.path.basename(path)) for path in others]
    tap.ok(result.status == 0 and lib_merge.errors(parts, target) == [(0, 0)] * RANKS and not any(Report(part).check().status for part in parts),
           f"{name}: reports by themselves have the events and times of the merged one", result.err)
    alone = [Report(part).info()["merged"] for part in parts]
    tap.ok([[{**m, "number": number} for m in of] for number, of in enumerate(alone, 1)] == [[m] for m in info["merged"]], f"{name}: and what is known of their clocks", alone)
    moved = os.path.join(place, "moved.rep")
    libskew.skew(paths[1], moved, "boot-1", 10**8)
    tap.ok(not lib_merge.kept(others, target) and not lib_merge.pairs_kept([paths[0], moved, paths[2]], target), f"{name}: the comparisons would see wrong times")
    base = target + ".sqlite"
    trace("export", "-t", "sqlite", "-o", base, target)
    pairs = sqlite3.connect(base).execute("SELECT host, otherHost, error, errorEnds FROM LIBTRACE_MERGED_PAIR ORDER BY 1, 2").fetchall()
    stated = [(m["host"], p["host"], p["error_ns"], p["error_ends_ns"]) for m in info["merged"] for p in m.get("pairs", [])]
    tap.ok(len(pairs) == 3 and pairs == stated, f"{name}: errors of pairs in SQL", (pairs, stated))
    waited = lib_merge.latest(target)
    tap.ok(waited == (str(LATE), "range :planted"), f"{name}: the late rank of another host", waited)
    text = trace("info", target).out.decode()
    tap.ok("wrong by at most" in text and "between two hosts" in text, f"{name}: trace info states the errors", text)


def each_implementation():
    for name, launcher, variable, end in launchers():
        if not launcher or not program("mpi_rounds" + end):
            tap.skip(name, "it is not installed, or what builds its programs is not")
            continue
        ranks(name, launcher, variable, end)


def commands():
    """Without MPI: the wall clock, whose error is not known. Two processes with one pid are two. All commands read the report."""
    report = recorded([app("slow_reads"), "5"])
    place = folder()
    a, b, target = (os.path.join(place, n) for n in ("a.rep", "b.rep", "both.rep"))
    libskew.skew(report.path, a, "boot-a", 0)
    libskew.skew(report.path, b, "boot-b", 5 * 10**9)
    result = merged([a, b], target)
    both = Report(target)
    tap.ok(result.status == 0 and both.check().status == 0 and b"its error is not known" in trace("info", target).out and b"wall clock" in result.err,
           "without messages, the wall clock is used, and said to prove nothing", result.err)
    tap.ok([m.get("error_ns") for m in both.info()["merged"]] == [0, None], "no bound is claimed", both.info()["merged"])
    shifts = lib_merge.errors([a, a], target)
    tap.ok(shifts == [(0, 0), (0, 0)], "the clock's origin is corrected", shifts)
    base = os.path.join(place, "both.sqlite")
    trace("export", "-t", "sqlite", "-o", base, target)
    pids = sqlite3.connect(base).execute("SELECT count(DISTINCT globalTid >> 24), count(DISTINCT globalTid >> 24 & 0xffffff) FROM OSRT_API").fetchone()
    tap.ok(pids == (2, 1), "processes with one pid on two hosts are two", pids)
    reads = [e for e in both.events("--kind", "osrt_call") if e["function"] == "read"]
    tap.ok(len(reads) == 10 and len({e["process"] for e in reads}) == 2, "each has its calls", len(reads))
    for arguments in (("stats",), ("analyze",), ("why",), ("report", "--text"), ("report", "--html", "-o", os.path.join(place, "p.html")),
                      ("export", "-t", "perfetto", "-o", os.path.join(place, "p.perfetto")), ("query", target, "SELECT count(*) FROM LIBTRACE_MERGED")):
        result = trace(*arguments, *([] if target in arguments else [target]))
        tap.ok(result.status in (0, 1) and b"cannot" not in result.err and b"damaged" not in result.err, f"trace {arguments[0]} reads it", (result.status, result.err))


def kernels():
    """Kernels of the device, and their results, are those of all reports."""
    why = device.missing("driver_api")
    if why:
        tap.skip("kernels", why)
        return
    parts = [device.recorded([device.app("driver_api")], LIBTRACE_TRACE="cuda") for _ in range(2)]
    target = os.path.join(folder(), "two.rep")
    result = merged([part.path for part in parts], target)
    two = Report(target)
    counts = [(len(r.events("--kind", "cuda_kernel")), r.info()["results"]) for r in (*parts, two)]
    tap.ok(result.status == 0 and two.check().status == 0 and all(counts[0]) and counts[2] == tuple(map(sum, zip(*counts[:2]))),
           "kernels and results of both reports", (result.err, counts))
    launched = [sum(int(row["Count"]) for row in lib_merge.rows("cuda_kern_exec_sum", r.path)) for r in (*parts, two)]
    tap.ok(launched[0] and launched[2] == sum(launched[:2]), "each kernel has its launch", launched)


def equal_pids():
    """Processes of two reports with one pid and one correlation id (containers, hosts): no report mixes them."""
    path = os.path.join(folder(), "pids.sqlite")
    d = made.Made(path)
    d.db.execute("CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER, memKind INTEGER, address INTEGER, bytes INTEGER, "
                 "localMemoryPoolAddress INTEGER, correlationId INTEGER, memoryOperationType INTEGER)")
    d.db.execute("CREATE TABLE LIBTRACE_CUDA_DEVICE (globalTid INTEGER, deviceId INTEGER, uuidId INTEGER)")
    d.db.execute("ALTER TABLE TARGET_INFO_GPU ADD COLUMN uuid TEXT")
    for table in ("WDDM_DMA_PACKET_START_EVENTS", "WDDM_DMA_PACKET_STOP_EVENTS"):
        d.db.execute(f"CREATE TABLE {table} ({made.GRAPHICS[table]})")
    for rank, (allocate, copy) in enumerate((("cudaMalloc", "cudaMemcpyAsync"), ("cudaMallocManaged", "cudaMemcpy"))):
        pid, at = (rank + 1) << 48 | 77 << 24, 1000 * rank
        d.api(at + 100, at + 200, pid | 77, allocate, 1)
        d.row("CUDA_GPU_MEMORY_USAGE_EVENTS", start=at + 150, globalPid=pid, deviceId=0, memKind=2, address=4096, bytes=64, correlationId=1, memoryOperationType=0)
        d.nvtx(at + 50, at + 250, pid | 77, f"rank{rank}")
        d.api(at + 300, at + 400, pid | 77, copy, 2)
        d.copy(at + 350, at + 390, pid, 2, 8, 1, 0, 2)
        d.api(at + 500, at + 510, pid | 77, "cudaLaunchKernel", 3)
        d.kernel(at + 600, at + 700, pid, 3, "k", "k")
        d.nvtx(at + 20000, at + 120000, pid | 77, "work")
        d.osrt(at + 30000, at + 90000, pid | 77, "usleep")
        d.row("LIBTRACE_CUDA_DEVICE", globalTid=pid | 77, deviceId=0, uuidId=d.text(f"aa0{rank}"))
        d.row("TARGET_INFO_GPU", vmId=pid, id=rank, name=f"GPU {rank}", uuid=f"aa-0{rank}")
        d.row("TARGET_INFO_CUDA_DEVICE", gpuId=rank, cudaId=0, pid=77)
        for start, number in ((at, 1), (at + 200, 2)):
            d.row("WDDM_DMA_PACKET_START_EVENTS", start=start, globalTid=pid | 77, gpu=0, context=rank, engineType=1, uliSubmissionId=number)
            d.row("WDDM_DMA_PACKET_STOP_EVENTS", start=start + 100, globalTid=pid | 77, gpu=0, context=rank, uliCompletionId=number)
    d.finish()
    live = sorted((r["API Name"], r["NVTX Range"]) for r in lib_merge.rows("cuda_memory_live", path))
    tap.ok(live == [("cudaMalloc", "rank0"), ("cudaMallocManaged", "rank1")], "each allocation has the call and range of its process", live)
    launched = [(r["PID"], r["Count"]) for r in lib_merge.rows("cuda_kern_exec_sum", path)]
    tap.ok(launched == [("77", "1")] * 2, "launches are summed by process", launched)
    result = trace("analyze", "-r", "cuda_memcpy_async", "-f", "json", path)
    tap.ok(result.out.count(b"cudaMemcpyAsync") == 1, "a synchronous copy has no asynchronous call", result)
    result = trace("analyze", "-r", "gpu_gaps:gap=0.0001", "-f", "json", path)
    tap.ok(result.out.count(b"210") and not result.out.count(b"650"), "a device waits between operations of one process, not of two", result)
    gpus = {(r["Name"], r["Device"]) for r in lib_merge.rows("cuda_gpu_trace", path) if r["Name"] == "k"}
    tap.ok(gpus == {("k", "GPU 0 (0)"), ("k", "GPU 1 (1)")}, "device 0 of each process is the GPU of its machine, by its number", gpus)
    queues = [(r["PID"], r["Context"], r["Instances"], r["Utilization (%)"]) for r in lib_merge.rows("wddm_queue_sum", path)]
    tap.ok(sorted(queues) == [("77", "0", "2", "66.7"), ("77", "1", "2", "66.7")], "queues are busy for a part of the time of their process", queues)
    calls = [(r["PID"], r["Segments"]) for r in lib_merge.rows("critical_path_sum:range=work", path) if r["Cause"] == "usleep"]
    tap.ok(calls == [("77", "1")] * 2, "segments of critical paths are summed by process", calls)
    report = recorded(["sh", "-c", "sleep 0.1; true"])
    place = folder()
    a, b, target = (os.path.join(place, n) for n in ("a.rep", "b.rep", "both.rep"))
    libskew.skew(report.path, a, "boot-a", 0)
    libskew.skew(report.path, b, "boot-b", 10**7)
    result = merged([a, b], target)
    said = trace("query", "-f", "csv", target, "SELECT kind, count(*), sum(track >> 48 = other >> 48) FROM LIBTRACE_WAIT_GRAPH "
                 "WHERE other IS NOT NULL AND kind IN ('track', 'process') GROUP BY 1")
    tap.ok(said.out.decode().splitlines()[1:] == ["process,2,2", "track,2,2"], "a child has the parent of its own report, and is waited for by it", (said, result.err))


def errors_of_pairs():
    """What is said of two hosts is proven by the error of that pair. Databases that do not state pairs have the errors through the first host."""
    pairs, us = {(2, 1): 40, (3, 1): 30, (3, 2): 20}, 1000
    for name, stated, more_us, clock_errors, sure in (
            ("stated", True, 1, {"0": "40000", "1": "40000", "2": "30000"}, ["exact", "exact"]), ("stated, shorter waits", True, -1, None, ["likely", "likely"]),
            ("not stated", False, 1, {"0": "40000", "1": "70000", "2": "70000"}, ["likely", "exact"])):
        path = os.path.join(folder(), "pairs.sqlite")
        d = made.Made(path)
        d.db.execute("CREATE TABLE LIBTRACE_MERGED (globalVid INTEGER, number INTEGER, host INTEGER, clockGroup INTEGER, clock TEXT, error INTEGER, errorEnds INTEGER)")
        d.db.execute("CREATE TABLE LIBTRACE_MPI_COMMUNICATOR (timestamp INTEGER, globalTid INTEGER, rank INTEGER, comm INTEGER, localRank INTEGER, size INTEGER, groupRoot INTEGER, "
                     "membersHash INTEGER, ordinal INTEGER)")
        if stated:
            d.db.execute("CREATE TABLE LIBTRACE_MERGED_PAIR (host INTEGER, otherHost INTEGER, error INTEGER, errorEnds INTEGER)")
            for (host, other), error in pairs.items():
                d.row("LIBTRACE_MERGED_PAIR", host=host, otherHost=other, error=error * us, errorEnds=error * us)
        tids = [(rank + 1) << 48 | 77 << 24 | 77 for rank in range(RANKS)]
        for rank, tid in enumerate(tids):
            error = pairs.get((rank + 1, 1), 0) * us
            d.row("LIBTRACE_MERGED", globalVid=(rank + 1) << 48, number=rank + 1, host=rank + 1, clockGroup=1, clock="messages" if rank else "same", error=error, errorEnds=error)
            d.row("LIBTRACE_MPI_COMMUNICATOR", timestamp=0, globalTid=tid, rank=rank, comm=1, localRank=rank, size=RANKS, groupRoot=0, membersHash=5, ordinal=0)
            d.row("MPI_RANKS", globalTid=tid, rank=rank)
            # each rank is the last one of a barrier; on the path, 2 waits for 0, 1 for 2, and 0 for 1
            for at_us, last, wait_us in ((500, 0, 100), (1000, 2, pairs[3, 2] + more_us), (1500, 1, pairs[2, 1] + more_us)):
                d.row("MPI_COLLECTIVES_EVENTS", start=(at_us - (rank != last) * wait_us) * us, end=(at_us + 5) * us, globalTid=tid, textId=d.text("MPI_Barrier"), commHandle=1, rootRank=-1,
                      size=0, recvSize=0)
        for rank, start_us, end_us in ((2, 510, 990), (1, 1010, 1490), (0, 1510, 1990)):
            d.osrt(start_us * us, end_us * us, tids[rank], "usleep")
        d.finish()
        found = {r["Rank"]: r["Clock Error (ns)"] for r in lib_merge.rows("mpi_late_sum", path)}
        tap.ok(found == (clock_errors or found) and len(found) == RANKS, f"errors of pairs, {name}: Clock Error", found)
        told = [(s["Rank"], s["Sure"]) for s in path_of(Report(path)) if s["Cause"] == "waking up from MPI_Barrier"]
        tap.ok(told == [(2, "exact"), *zip((1, 0), sure)], f"errors of pairs, {name}: what ended the waits of two ranks is as sure as the clocks of the two allow", told)


def parents_of_other_reports():
    """A child that is in another report than its parent is linked to it if both ran on one host and the times fit."""
    base = os.path.join(folder(), "base.sqlite")
    trace("export", "-t", "sqlite", "-o", base, recorded(["sh", "-c", "sleep 0.1; true"]).path)
    for name, hosts, earlier_ns, wanted in (("one host", (1, 1), 0, ["process,1", "track,1"]), ("two hosts", (1, 2), 0, []), ("hosts are not known", (None, None), 0, ["process,1", "track,1"]),
                                            ("a child of an earlier time", (1, 1), 5 * 10**9, [])):
        path = os.path.join(folder(), "moved.sqlite")
        shutil.copy(base, path)
        with sqlite3.connect(path) as c:
            ((pid, ), ) = c.execute("SELECT DISTINCT pid FROM LIBTRACE_PROCESS WHERE parentPid IN (SELECT pid FROM LIBTRACE_PROCESS)").fetchall()
            for (table, ) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                for column in {row[1] for row in c.execute(f"PRAGMA table_info('{table}')")} & {"globalTid", "globalPid"}:
                    c.execute(f"UPDATE {table} SET {column} = {column} + (1 << 48) WHERE {column} >> 24 & 0xffffff = ?", (pid, ))
            c.execute("UPDATE LIBTRACE_CHILD SET timestamp = timestamp - ?", (earlier_ns, ))
            c.execute("CREATE TABLE IF NOT EXISTS LIBTRACE_MERGED (globalVid INTEGER, host INTEGER)")
            c.executemany("INSERT INTO LIBTRACE_MERGED (globalVid, host) VALUES (?, ?)", [((vm + 1) << 48, host) for vm, host in enumerate(hosts)])
        c.close()
        said = trace("query", "-f", "csv", path, "SELECT kind, count(*) FROM LIBTRACE_WAIT_GRAPH WHERE track >> 48 <> other >> 48 AND kind IN ('track', 'process') GROUP BY 1")
        tap.ok(said.status == 0 and said.out.decode().splitlines()[1:] == wanted, f"child in another report: {name}", said)


def read_as_one():
    """A command that is given several reports answers as for the report that is merged from them."""
    report = recorded([app("slow_reads"), "5"])
    place = folder()
    files, target = [os.path.join(place, f"rank-{n}.rep") for n in range(3)], os.path.join(place, "job.rep")
    for n, path in enumerate(files):
        libskew.skew(report.path, path, f"boot-{n}", n * 10**9)
    merged(files, target)
    view = f"{files[0]} and 2 more"

    def output(arguments, inputs, after):
        made = os.path.join(place, "out")
        result = trace(*[made if a == "OUT" else a for a in arguments], *inputs, *after)
        if "OUT" in arguments and result.status == 0:
            with open(made, "rb") as file:
                content = file.read()
            os.unlink(made)
            return result.status, content
        return result.status, result.out.replace('", "'.join(inputs).encode(), b"FILE").replace(view.encode(), b"FILE")

    for arguments, *after in ((("stats", "-f", "csv"), ), (("analyze", "-f", "json"), ), (("why", "--json"), ), (("dump", "--json"), ), (("report", "--text"), ),
                              (("memory", "-f", "csv"), ), (("info", "--json"), ), (("what-if", "--json", "--allow-unknown", "100"), "compute x0.5"), (("export", "-t", "chrome", "-o", "OUT"), ),
                              (("query", "-f", "csv"), "SELECT globalVid, file, host, clockGroup, error FROM LIBTRACE_MERGED")):
        several, one = output(arguments, files, after), output(arguments, [target], after)
        tap.ok(several == one and several[0] == 0 and (several[1] or arguments[0] == "memory"), f"trace {arguments[0]} of three reports", (several, one))
    aligned, other = os.path.join(place, "a/b"), os.path.join(folder(), "rank-0.rep")
    result = trace("merge", "--separate", "-o", aligned, *files)
    parts = [os.path.join(aligned, os.path.basename(path)) for path in files]
    tap.ok(result.status == 0 and lib_merge.errors(parts, target) == [(0, 0)] * 3, "trace merge --separate writes each report with its times in the merged one", result.err)
    libskew.skew(report.path, other, "boot-9", 0)
    for arguments, word in (((aligned, *files), b"exists"), ((place, *files), b"it is the input file"), ((os.path.join(place, "c"), files[0], other), b"same name"), ((files[1], *files), b"input file"),
                            ((target, *files), b"Not a directory")):
        result = trace("merge", "--separate", "-o", *arguments)
        tap.ok(result.status == 2 and word in result.err and result.err.count(b"\n") == 1, f"trace merge --separate is refused: {word.decode()}", result)
    result = trace("symbolize", *parts)
    tap.ok(result.status == 0 and result.out.count(b" addresses: ") == 3, "trace symbolize of three reports", result)
    result = trace("report", "--html", "-f", "true", "-o", os.path.join(place, "three.html"), *files)
    tap.ok(result.status in (0, 2) and (result.status == 0 or b"built without" in result.err), "trace report --html of three reports", result.err)
    base = os.path.join(place, "base.sqlite")
    trace("export", "-t", "sqlite", "-o", base, files[0])
    both = trace("stats", files[1], base)
    tap.ok(both.status == 0 and both.out.count(b"read ") == 2 and b"base.sqlite' is not a report of libtrace: the files are not merged" in both.err,
           "with a database, each file is read by itself, and a note says so", both)
    for arguments, word in ((("query", files[0], base, "SELECT 1"), b"base.sqlite'"), (("dump", files[0], base), b"base.sqlite'"), (("stats", files[0], files[0]), b"same recording"),
                            (("export", "-t", "chrome", *files), b"--output"), (("why", "--html", *files), b"--output"), (("stats", files[0], target), b"rank-0.rep"), (("info", files[0], os.path.join(place, "none")), b"none'")):
        result = trace(*arguments)
        tap.ok(result.status == 2 and word in result.err and result.err.count(b"\n") == 1 and not result.out, f"trace {arguments[0]}: one line says why not: {word.decode()}", result)


def refused():
    """Reports that cannot be merged are named; one that lacks its end makes the merged report incomplete."""
    report = recorded([app("slow_reads"), "5"])
    place = folder()
    target, other = (os.path.join(place, name) for name in ("t.rep", "other.rep"))
    libskew.skew(report.path, other, "boot-b", 0)
    with open(other, "rb") as file:
        data = file.read()

    def written(name, content):
        with open(os.path.join(place, name), "wb") as file:
            file.write(content)
        return os.path.join(place, name)
    double = os.path.join(place, "double.rep")
    libskew.skew(report.path, other, "boot-c", 0)
    merged([other], double)
    cases = {"twice": (shutil.copy(report.path, os.path.join(place, "copy.rep")), b"of the same recording as '" + os.path.basename(report.path).encode()),
             "text": (written("text.rep", b"no report"), b"not a report"), "damage": (written("bad.rep", data[:-40] + bytes([data[-40] ^ 1]) + data[-39:]), b""),
             "missing": (os.path.join(place, "none.rep"), b"No such file"), "merged": (double, b"merge its parts"),
             "empty": (written("empty.rep", b"NVR\0\2\0\0\0\x08\x07"), b"no valid block")}
    for name, (path, cause) in cases.items():
        result = merged([report.path, path], target)
        tap.ok(result.status == 2 and cause in result.err and os.path.basename(path).encode() in result.err and result.err.count(b"\n") <= 2
               and not os.path.exists(target), f"refused by name: {name}", (result.status, result.err))
    with open(report.path, "rb") as file:
        before = file.read()
    result = trace("merge", "-o", report.path, "-f", "true", report.path)
    with open(report.path, "rb") as file:
        tap.ok(result.status == 2 and file.read() == before, "an input is not overwritten", result.err)
    tap.ok(trace("merge", report.path).status == 2 and trace("merge", "-o", target).status == 2, "files and output must be given")
    cut = written("cut.rep", data[:-20])
    result = merged([report.path, cut], target)
    info = Report(target).info()
    tap.ok(result.status == 0 and not info["verdict"].startswith("complete") and [m["complete"] for m in info["merged"]] == [True, False]
           and "cut.rep" in str(info["diagnostics"]), "a truncated report makes the merged one incomplete", info["verdict"])


main(each_implementation, commands, kernels, equal_pids, errors_of_pairs, parents_of_other_reports, read_as_one, refused)
