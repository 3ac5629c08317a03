#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Check `trace why` and `what-if` on ranks of NCCL of which a known one is late. A stand-in for NCCL on the simulated device (this has not run on a GPU, nor with NCCL)."""
import csv
import glob
import io
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
from _paths import gapless, path_of, stages  # noqa: E402
from lib import Report, clean_env, folder, main, tap, trace  # noqa: E402

LATE, LATE_MS = 1, 40
TRIES = 4  # the ranks that wait do so for 600 ms, which a very busy machine exceeds
MODES = {"allreduce": ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "AllReduce"), "sendrecv": ("ncclDevKernel_SendRecv", "Recv")}


def recorded(mode, *options, ranks=3, name="r.rep"):
    """Record the ranks. Return the folder."""
    place = folder()
    result = trace("run", "-t", "cuda,osrt,nccl", "-o", os.path.join(place, name), *options, "--", device.app("nccl_ranks"), str(ranks), str(LATE), mode, str(LATE_MS),
                   env=device.env(base=clean_env()))
    tap.ok(result.status == 0, f"{mode}: recorded", result.err)
    return place


def followed(segments, mode):
    """Return the kernel that waited, if the path leads from it to the launch of the late rank after its stage; else None."""
    kernel, collective = MODES[mode]
    cause = f"kernel {kernel}, after waiting for rank {LATE} (NCCL {collective})"
    found = [n for n, s in enumerate(segments) if s["Cause"] == cause]
    if len(found) != 1 or stages(segments)[-1:] != ["late"] or gapless(segments):
        return None
    before = segments[found[0] - 1]
    return segments[found[0]] if before["Rank"] == LATE and before["Cause"] in ("cuLaunchKernel", f"launch of kernel {kernel}") else None


def one_report():
    """The path leads from the kernel of a rank that waited to the stage of the late rank, and what it did meanwhile is blamed."""
    for mode in MODES:
        for _ in range(TRIES):
            report = Report(os.path.join(recorded(mode), "r.rep"))
            segments = path_of(report)
            waited = followed(segments, mode)
            if waited:
                break
        tap.ok(waited and waited["Sure"] == "exact" and waited["Rank"] != LATE, f"{mode}: a kernel that waited for rank {LATE} leads to what made that late", segments)
        blamed = list(csv.DictReader(io.StringIO(trace("stats", "-r", "blame_sum", "-f", "csv", report.path).out.decode())))
        late = [r for r in blamed if r["Wait"] == f"waiting for rank {LATE} (NCCL {MODES[mode][1]})" and r["Cause"] == "usleep" and r["At"].startswith("late ")]
        tap.ok(len(late) == 1 and int(late[0]["Total Time (ns)"]) >= LATE_MS * 1e6 and late[0]["Rank"] == str(LATE), f"{mode}: the stage is blamed for the wait", blamed)
        replayed(report, mode)


def replayed(report, mode):
    """What-if knows that the kernels of a collective go on together; of messages it says that it does not."""
    said = trace("what-if", "--json", report.path, "at late* x0")
    if mode == "sendrecv":
        tap.ok(said.status == 2 and b"waits on the path that nobody is known to have ended" in said.err, f"{mode}: what-if refuses", said)
        return
    found = json.loads(said.out or b"{}")
    stage = found["changes"][0]["applies_to_ns"] if found else 0
    tap.ok(found and abs(found["wall_ns"] - found["predicted_ns"] - stage) < 0.2 * stage, f"{mode}: what-if saves the stage of the late rank", said)


def merged():
    """The reports of ranks are merged: the path crosses them. Without that of the late rank it is unknown who was waited for."""
    for mode, (_, collective) in MODES.items():
        for _ in range(TRIES):
            place = recorded(mode, name="r-%p.rep")
            files = sorted(glob.glob(os.path.join(place, "r-*.rep")))
            ranks = {file: json.loads(trace("query", "-f", "json", file, "SELECT rank FROM LIBTRACE_NCCL_COMMUNICATOR").out or b"[]") for file in files}
            whole, part = (os.path.join(place, name) for name in ("whole.rep", "part.rep"))
            trace("merge", "-o", whole, *files)
            trace("merge", "-o", part, *[file for file in files if ranks[file] != [{"rank": LATE}]])
            segments = path_of(Report(whole))
            waited = followed(segments, mode)
            if waited:
                break
        tap.ok(waited and waited["Sure"] == "exact", f"{mode}: in merged reports the path leads to the late rank", segments)
        segments = path_of(Report(part))
        text = f"waiting for rank {LATE}, which is not in the report (NCCL Recv)" if mode == "sendrecv" else f"waiting for a rank that is not in the report (NCCL {collective})"
        unknown = [s for s in segments if s["Cause"] == text]
        tap.ok(len(files) == 4 and len(unknown) == 1 and unknown[0]["Sure"] == "unknown" and not gapless(segments), f"{mode}: a rank that is not in the report is an unknown wait",
               segments)
        refused = trace("what-if", part, "kernel * x0.5")
        tap.ok(refused.status == 2 and b"nobody is known to have ended" in refused.err, f"{mode}: what-if refuses what it cannot replay", refused)


def database(name, ranks, collectives, kernels, messages=(), hosts=False):
    """Make a database of ranks: one process each, with its kernels (rank, start, end, launch) and the collectives (rank, start, name, sequence, root) or messages
    (rank, start, name, peer) that were reported after the launches; `ranks`: how many the communicator has. Return the segments of the path, in ms."""
    path = os.path.join(folder(), name)
    d = sqlite3.connect(path)
    d.executescript("""
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
                                                 demangledName INTEGER, shortName INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
                                                          syncType INTEGER, eventId INTEGER);
        CREATE TABLE LIBTRACE_NCCL (start INTEGER, duration INTEGER, globalTid INTEGER, nameId INTEGER, kind INTEGER, comm INTEGER, rank INTEGER, sequence INTEGER, number INTEGER,
                                    parent INTEGER, peer INTEGER);
        CREATE TABLE LIBTRACE_NCCL_COMMUNICATOR (start INTEGER, globalTid INTEGER, comm INTEGER, rank INTEGER, ranks INTEGER);
        CREATE TABLE LIBTRACE_PROCESS (globalPid INTEGER, pid INTEGER, parentPid INTEGER, start INTEGER, end INTEGER);
        INSERT INTO StringIds VALUES (1, 'cuLaunchKernel'), (2, 'cuStreamSynchronize'), (3, 'ncclDevKernel_Generic');""")
    names = {}

    def text(value):
        names.setdefault(value, 10 + len(names))
        return names[value]

    for rank in {k[0] for k in kernels}:
        pid = (1 + rank * hosts) << 48 | (100 + rank) << 24
        tid = pid + 100 + rank
        own = [k for k in kernels if k[0] == rank]
        for number, (_, start, end, launch) in enumerate(own, 1):
            d.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 1, ?, ?, 1, 0)", (launch * 1e6 // 1, launch * 1e6 + 1000, tid, number))
            d.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, 3, 3)", (int(start * 1e6), int(end * 1e6), number, pid))
        last = max(k[2] for k in own)
        sync = max(k[3] for k in own) + 0.5
        d.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 1, ?, 99, 2, 0)", (int(sync * 1e6), int(last * 1e6) + 1000, tid))
        d.execute("INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (?, ?, 1, 7, 99, ?, 3, NULL)", (int(sync * 1e6), int(last * 1e6) + 1000, pid))
        d.execute("INSERT INTO LIBTRACE_NCCL_COMMUNICATOR VALUES (0, ?, 5, ?, ?)", (tid, rank, ranks))
        rows = [(c[1], c[2], 1, c[3], c[4]) for c in collectives if c[0] == rank] + [(m[1], m[2], 2, 0, m[3]) for m in messages if m[0] == rank]
        for number, (start, what, kind, sequence, peer) in enumerate(rows, 1):
            d.execute("INSERT INTO LIBTRACE_NCCL VALUES (?, 10, ?, ?, ?, 5, ?, ?, ?, 0, ?)", (int(start * 1e6), tid, text(what), kind, rank, sequence, number, peer))
        d.execute("INSERT INTO LIBTRACE_PROCESS VALUES (?, ?, 1, 0, ?)", (pid, 100 + rank, int(last * 1e6) + 1000))
    d.executemany("INSERT INTO StringIds VALUES (?, ?)", [(number, value) for value, number in names.items()])
    d.commit()
    d.close()
    said = trace("why", "--path", "-f", "json", path)
    return [(s["Rank"], s["Cause"], s["Sure"], round(s["Duration (ns)"] / 1e6, 1)) for s in json.loads(said.out or b"[]") if s["Duration (ns)"] >= 50_000]


KERNEL = "kernel ncclDevKernel_Generic"


def rules():
    """Which collectives wait for whom, and how sure that is, by databases with known times."""
    late = [(0, 1, 21, 0.9), (1, 11, 20, 10.9)]  # rank 1 is late by 10 ms; rank 0 ends last
    for name, root, sure in (("AllReduce", 0, "exact"), ("AllGather", 0, "exact"), ("Broadcast", 1, "exact"), ("Broadcast", 0, "likely"), ("Reduce", 0, "exact"),
                             ("Reduce", 1, "likely")):
        found = database(f"{name}{root}.sqlite", 2, [(0, 0.95, name, 3, root), (1, 10.95, name, 3, root)], late)
        tap.ok(found[-1] == (0, f"{KERNEL}, after waiting for rank 1 (NCCL {name})", sure, 10.0) and found[:-1] and all(rank == 1 for rank, *_ in found[:-1]),
               f"{name}, root {root}: {sure}", found)
    found = database("other.sqlite", 2, [(0, 0.95, "AllReduce", 3, 0), (1, 10.95, "AllReduce", 4, 0)], late)
    tap.ok((0, "waiting for a rank that is not in the report (NCCL AllReduce)", "unknown", 20.0) in found, "another sequence number is another collective", found)
    found = database("three.sqlite", 3, [(0, 0.95, "AllReduce", 3, 0), (1, 10.95, "AllReduce", 3, 0)], late)
    tap.ok(found[-1] == (0, f"{KERNEL}, after waiting for rank 1 (NCCL AllReduce)", "likely", 10.0), "the rank that came last of those in the report is likely", found)
    first = [(0, 1, 3, 0.9), (0, 4, 21, 3.9), (1, 1, 3, 0.9), (1, 11, 20, 10.9)]
    again = [(0, 0.95, "AllReduce", 3, 0), (0, 3.95, "AllReduce", 3, 0), (1, 10.95, "AllReduce", 3, 0)]
    twice = [(0, 1, 21, 0.9), (0, 4, 5, 3.9), (1, 11, 20, 10.9)]
    for ranks in (3, 2):
        found = database(f"again{ranks}.sqlite", ranks, again, twice)
        tap.ok(found[-1] == (0, f"{KERNEL}, after waiting for rank 1 (NCCL AllReduce)", "likely", 10.0), f"of {ranks} ranks, 2 in the report, one comes twice: likely", found)
    found = database("beyond.sqlite", 2, [(0, 0.95, "AllReduce", 3, 0), (2, 10.95, "AllReduce", 3, 0)], [late[0], (2, *late[1][1:])])
    tap.ok(found[-1] == (0, f"{KERNEL}, after waiting for rank 2 (NCCL AllReduce)", "likely", 10.0), "a rank beyond those of the communicator stands for no other", found)
    found = database("second.sqlite", 2, [(0, 0.95, "AllReduce", 1, 0), (0, 3.95, "AllReduce", 2, 0), (1, 0.95, "AllReduce", 1, 0), (1, 10.95, "AllReduce", 2, 0)], first)
    tap.ok(found[-1] == (0, f"{KERNEL}, after waiting for rank 1 (NCCL AllReduce)", "exact", 10.0), "a collective belongs to the last launch before it", found)
    found = database("messages.sqlite", 2, [], first, [(0, 0.95, "Recv", 1), (0, 3.95, "Recv", 1), (1, 0.95, "Send", 0), (1, 10.95, "Send", 0)])
    tap.ok(found[-1] == (0, f"{KERNEL}, after waiting for rank 1 (NCCL Recv)", "exact", 10.0), "the second receive follows the second send", found)
    found = database("fewer.sqlite", 2, [], first, [(0, 0.95, "Recv", 1), (0, 3.95, "Recv", 1), (1, 10.95, "Send", 0)])
    tap.ok((0, "waiting for rank 1, which is not in the report (NCCL Recv)", "unknown", 17.0) in found, "a receive without a send is unknown", found)
    found = database("send.sqlite", 2, [], late, [(0, 0.95, "Send", 1), (1, 10.95, "Recv", 0)])
    tap.ok(found[-1] == (0, f"{KERNEL}, after waiting for rank 1 (NCCL Send)", "likely", 10.0), "a send may wait for its receive", found)


def all_of_them():
    reason = device.missing("nccl_ranks")
    if reason:
        tap.skip("ranks of NCCL on the simulated device", reason)
        return
    one_report()
    merged()


main(rules, all_of_them)
