#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NCCL's profiler plug-in interface (-t nccl): a stand-in for NCCL that reports events in the documented order, without and with a user's plug-in."""
import collections
import csv
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _page  # noqa: E402
from libwire import fields, one  # noqa: E402
from lib import LIBRARY, SRC, Report, app, clean_env, folder, main, receipts_agree, run, tap, trace  # noqa: E402

LOADER = app("nccl_loader")
COLL, P2P, OPERATION, STEP, KERNEL = 1, 2, 3, 4, 6


def record(*arguments, status=0, options=(), sources="nccl", **variables):
    """Record the stand-in. Return the report, and what the program wrote."""
    path = os.path.join(folder(), "report.rep")
    traced = trace("run", "-t", sources, "-o", path, *options, "--", LOADER, *arguments, env=clean_env(**variables))
    report = Report(path)
    tap.ok(traced.status == status and b"failed" not in traced.out and b"changed" not in traced.out and report.check().status == 0
           and receipts_agree(report) is None and not report.dropped(), f"{' '.join(arguments)}: the report is sound", str(traced))
    return report, traced


def kinds(events):
    return collections.Counter(e["kind"] for e in events)


def versions():
    plain = run([LOADER, "6"], env=clean_env())
    tap.ok(plain.out == b"no profiler\n", "without the tracer there is no plug-in", str(plain))
    for version in "12345678":
        report, traced = record(version)
        known = min(int(version), 7)
        is_old = known < 4  # no communicators, kernels without the GPU's times, messages without channels; before 3 no kernels
        tap.ok(traced.out == f"version {known} mask 0x4e\ndone\n".encode(), f"NCCL that knows version {version} gets version {known}", str(traced))
        events = report.events("--kind", "nccl")
        wanted = {COLL: 2, P2P: 1, OPERATION: 4, **({KERNEL: 2} if known > 2 else {})}
        tap.ok(kinds(events) == wanted and {e["comm"] for e in events if e["sequence"]} == {"0xabcd"}, "each event that was asked for is a row", str(kinds(events)))
        by_number = {e["number"]: e for e in events}
        reduces = [e for e in events if e["kind"] == COLL]
        tap.ok([(e["name"], e["sequence"], e["count"], e["type"], e["algorithm"], e["protocol"], e["channels"], e["comm"], e["rank"]) for e in reduces] ==
               [("AllReduce", 7, 1 << 20, "ncclFloat32", "RING", "SIMPLE", 4, "0xabcd", 1), ("AllReduce", 8, 1 << 20, "ncclFloat32", "TREE", "SIMPLE", 4, "0xabcd", 1)],
               "collectives have communicator, sequence number, size and algorithm", str(reduces))
        message = next(e for e in events if e["kind"] == P2P)
        tap.ok((message["name"], message["peer"], message["count"], message["type"], message["channels"]) == ("Send", 3, 4096, "ncclInt8", 0 if is_old else 2), "so has a message", str(message))
        sends = [e for e in events if e["name"] == "Network Send"]
        tap.ok([(by_number[e["parent"]]["sequence"], e["sequence"], e["peer"], e["steps"], e["bytes"], e["channels"]) for e in sends] ==
               [(7, 7, 2, 2, 131072, 3), (8, 8, 2, 2, 131072, 3)], "network operations belong to their collective, which has ended", str(sends))
        tap.ok({e["parent"] for e in events if e["name"] == "Network Receive"} == {0}, "an operation for another process has no parent here")
        tap.ok([(e["sequence"], e["channels"], e["device_start"], e["device_end"]) for e in events if e["kind"] == KERNEL] ==
               ([(7, 5, 1000, 5000), (8, 5, 1001, 5001)] if not is_old else [(7, 5, 0, 0), (8, 5, 0, 0)] if known == 3 else []),
               "kernels have the GPU's times")
        world = report.events("--kind", "nccl_communicator")
        tap.ok([(e["name"], e["comm"], e["rank"], e["ranks"], e["nodes"], e["version"]) for e in world] == ([] if is_old else [("world", "0xabcd", 1, 4, 1, known)]), "the communicator", str(world))
    report, traced = record("5", options=("--nccl-steps", "true"))
    steps = [e for e in report.events("--kind", "nccl") if e["kind"] == STEP]
    tap.ok(b"mask 0x5e" in traced.out and [(e["steps"], e["bytes"], e["sequence"]) for e in steps] == [(0, 65536, 7), (1, 65536, 7), (0, 65536, 8), (1, 65536, 8)],
           "steps of the network by option", f"{traced}{steps}")
    database = os.path.join(folder(), "r.sqlite")
    trace("export", "-t", "sqlite", "-o", database, report.path)
    with sqlite3.connect(database) as db:
        rows = db.execute("SELECT sequence, count(*) FROM LIBTRACE_NCCL WHERE kind = 3 AND parent > 0 GROUP BY sequence ORDER BY 1").fetchall()
    tap.ok(rows == [(7, 1), (8, 1)], "SQL has them", str(rows))


TITLES = {COLL: "NCCL: Collective", P2P: "NCCL: Message", OPERATION: "NCCL: Network Operation", STEP: "NCCL: Network Step", KERNEL: "NCCL: Kernel Channel"}


def shown():
    """The events in timelines, on a track of each kind, in the HTML page, and in a statistic."""
    report, _ = record("5", options=("--nccl-steps", "true"))
    events = report.events("--kind", "nccl")
    place = folder()
    chrome, perfetto, page = (os.path.join(place, name) for name in ("r.json", "r.perfetto", "r.html"))
    trace("export", "-t", "chrome", "-o", chrome, report.path)
    with open(chrome, encoding="utf-8") as file:
        items = json.load(file)["traceEvents"]
    tracks = {(i["pid"], i["tid"]): i["args"]["name"] for i in items if i["name"] == "thread_name"}
    have = sorted((tracks[i["pid"], i["tid"]].split(" (")[0], i["name"], round(i["dur"] * 1000)) for i in items if i.get("cat") == "nccl")
    wanted = sorted((TITLES[e["kind"]], e["name"], e["duration_ns"]) for e in events)
    tap.ok(len(wanted) == 13 and have == wanted, "chrome: each event is a slice of its kind's track", f"{have}\n{wanted}")
    trace("export", "-t", "perfetto", "-o", perfetto, report.path)
    with open(perfetto, "rb") as file:
        packets = [fields(packet) for packet in fields(file.read())[1]]
    names = [one(fields(one(packet, 60)), 2) for packet in packets if 60 in packet]
    begun = [packet for packet in packets if 11 in packet and one(fields(one(packet, 11)), 9) == 1]
    tap.ok(len(begun) >= len(events) and all(title.encode() in b"\n".join(name for name in names if name) for title in TITLES.values()), "perfetto: likewise",
           f"{names} {len(begun)}")
    timeline = _page.write(page, report.path).reports[0]["timeline"]
    kinds_of = sorted(track[5] for track in timeline["tracks"] if track[3] == "nccl")
    texts = collections.Counter(text for _, kind, text, detail in timeline["names"] if kind == "nccl" and "communicator 0xabcd" in detail)
    tap.ok(kinds_of == sorted(TITLES) and set(texts) == {e["name"] for e in events}, "the page: a track for each kind, with the events' names", f"{timeline['tracks']} {texts}")
    rows = list(csv.DictReader(io.StringIO(trace("stats", "-r", "nccl_event_sum", "-f", "csv", report.path).out.decode())))
    have = sorted((row["Name"], row["Algorithm"], row["Protocol"], int(row["Count"]), int(row["Total Time (ns)"]), row["Communicator"]) for row in rows)
    sums = collections.defaultdict(lambda: [0, 0])
    for e in events:
        group = sums[e["name"], e["algorithm"] or "", e["protocol"] or ""]
        group[0] += 1
        group[1] += e["duration_ns"]
    tap.ok(have == sorted((*key, *group, "0xabcd") for key, group in sums.items()), "stats nccl_event_sum sums them up, by what NCCL chose", f"{have} {dict(sums)}")


def ends():
    report, _ = record("6", "kill", status=-signal.SIGKILL)
    tap.ok(kinds(report.events("--kind", "nccl")) == {COLL: 2, P2P: 1, OPERATION: 4, KERNEL: 2}, "events that ended before a kill are in the report")
    report, traced = record("6", sources="osrt")
    tap.ok(traced.out == b"no profiler\n" and not report.events("--kind", "nccl"), "nothing is offered without -t nccl", str(traced))


def limits():
    """More communicators and open events than there is room for: counted, and a user's plug-in gets the events."""
    path = os.path.join(folder(), "r.rep")
    traced = trace("run", "-t", "nccl", "-o", path, "--", LOADER, "6", "communicators", env=clean_env())
    report = Report(path)
    tap.ok(b"one mask\n" in traced.out and len(report.events("--kind", "nccl_communicator")) == 1024 and report.dropped() == 3300 - 1024 and
           len(report.events("--kind", "nccl")) == 9, "communicators without room are counted, and change nothing for the others", f"{traced} {report.dropped()}")
    env = clean_env(NCCL_PROFILER_PLUGIN=plugin("five", "-DWITH_VERSION_5"))
    plain = run([LOADER, "5", "open"], env=env)
    traced = trace("run", "-t", "nccl", "-o", path, "--force-overwrite", "true", "--", LOADER, "5", "open", env=env)
    report = Report(path)
    events = [e for e in report.events("--kind", "nccl") if e["kind"] == P2P]
    tap.ok(len(calls(plain)) > 66000 and calls(traced) == calls(plain) and report.dropped() > 0 and len(events) + report.dropped() == 33001,
           "a user's plug-in gets events without room, which are counted", f"{len(calls(plain))} {len(calls(traced))} {len(events)} {report.dropped()}")


def plugin(name, *flags):
    path = os.path.join(folder(), f"libnccl-profiler-{name}.so")
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{SRC}", f"-I{os.environ.get('GEN', 'build/gen')}", *flags, "-o", path, os.path.join(SRC, "tests/apps/libnccl_user.c")],
                   check=True, cwd=SRC)
    return path


def calls(result):
    """Return what the user's plug-in printed, but for the line of the tracer."""
    return [line for line in result.err.decode().splitlines() if line.startswith("user: ")]


def users_plugin():
    four, five, eight = plugin("four"), plugin("five", "-DWITH_VERSION_5"), plugin("eight", "-DONLY_VERSION_8")
    for path, version, name in ((four, "4", four), (five, "5", five), (four, "4", "four"), (five, "4", five)):
        env = {"NCCL_PROFILER_PLUGIN": name, "LD_LIBRARY_PATH": os.path.dirname(path)}
        alone = run([LOADER, version], env=clean_env(**env))
        report, traced = record(version, **env)
        tap.ok(len(calls(alone)) == 18 and calls(traced) == calls(alone), f"a user's plug-in gets the same calls as without us (version {version})",
               f"{calls(alone)}\n{calls(traced)}")
        tap.ok(re.search(rb"mask 0x4f", traced.out) and kinds(report.events("--kind", "nccl")) == {COLL: 2, P2P: 1, OPERATION: 4, KERNEL: 2}, "and the report has its rows",
               str(traced))
    alone = run([LOADER, "4"], env=clean_env(NCCL_PROFILER_PLUGIN=four))
    for version in "567":
        _, traced = record(version, NCCL_PROFILER_PLUGIN=four)
        tap.ok(calls(traced) == calls(alone), f"one that has version 4 only is called by NCCL of version {version}, with groups as parents", f"{calls(alone)}\n{calls(traced)}")
    for old in "123":
        path = plugin(f"old{old}", f"-DOLD_VERSION={old}")
        alone = run([LOADER, "7"], env=clean_env(NCCL_PROFILER_PLUGIN=path))
        report, traced = record("7", NCCL_PROFILER_PLUGIN=path)
        tap.ok(len(calls(alone)) == 18 and calls(traced) == calls(alone) and traced.out.startswith(f"version {old} mask 0x4f".encode()) and
               kinds(report.events("--kind", "nccl"))[COLL] == 2, f"one that has version {old} only makes NCCL use that, and gets the same calls", f"{calls(alone)}\n{traced}")
    for newer in (4, 5):
        path = plugin(f"2and{newer}", "-DOLD_VERSION=2", f"-DWITH_VERSION_{newer}")
        for version in range(1, 6):
            used = newer if version >= newer else 2 if version > 1 else None
            alone = run([LOADER, str(version)], env=clean_env(NCCL_PROFILER_PLUGIN=path))
            report, traced = record(str(version), NCCL_PROFILER_PLUGIN=path)
            tap.ok(len(calls(alone)) == (18 if used else 0) and calls(traced) == calls(alone) and kinds(report.events("--kind", "nccl"))[COLL] == 2,
                   f"one that has versions 2 and {newer} gets the same calls of NCCL of version {version}", f"{alone}\n{traced}")
    report, traced = record("7", NCCL_PROFILER_PLUGIN=eight)
    plain = run([LOADER, "7"], env=clean_env(NCCL_PROFILER_PLUGIN=eight))
    tap.ok(traced.out == plain.out and calls(traced) == calls(plain) and b"NCCL's collectives are not recorded" in trace("info", "-v", report.path).out,
           "a plug-in with another version only is left to NCCL, and the report says so", str(traced))


def users_static_plugin():
    """A plug-in in the program itself: here in an image after ours, which is the search order of a plug-in that is linked into the program."""
    four, path = plugin("four"), os.path.join(folder(), "r.rep")
    alone = run([LOADER, "6"], env=clean_env(NCCL_PROFILER_PLUGIN="STATIC_PLUGIN", LD_PRELOAD=four))
    tap.ok(len(calls(alone)) == 18 and b"version 4" in alone.out, "untraced, version 4 is found", str(alone))
    for sources, rows in (("osrt", 0), ("nccl", 9)):
        env = clean_env(NCCL_PROFILER_PLUGIN="STATIC_PLUGIN", LD_PRELOAD=f"{LIBRARY}:{four}", LIBTRACE_OUTPUT=path, LIBTRACE_TRACE=sources, LIBTRACE_FORCE_OVERWRITE="true")
        traced = run([LOADER, "6"], env=env)
        report = Report(path)
        tap.ok(calls(traced) == calls(alone) and (rows or traced.out == alone.out) and len(report.events("--kind", "nccl")) == rows and not report.dropped(),
               f"it is called likewise with -t {sources}", f"{traced} {alone}")
    traced = run([LOADER, "6"], env=clean_env(NCCL_PROFILER_PLUGIN="STATIC_PLUGIN", LD_PRELOAD=LIBRARY, LIBTRACE_OUTPUT=path, LIBTRACE_TRACE="osrt",
                                              LIBTRACE_FORCE_OVERWRITE="true"))
    tap.ok(traced.out == b"no profiler\n", "a program without one has none", str(traced))


REAL = """
import ctypes, subprocess, sys
path, = sys.argv[1:]
getenv = ctypes.CDLL(None).getenv
getenv.restype, getenv.argtypes = ctypes.c_char_p, [ctypes.c_char_p]
ours = getenv(b"NCCL_PROFILER_PLUGIN").decode()
library, version = ctypes.CDLL(path), ctypes.c_int()
library.ncclGetVersion(ctypes.byref(version))
lines = [line.split() for line in subprocess.run(["nm", path], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()]
base = min(int(line.split("-")[0], 16) for line in open("/proc/self/maps") if path in line)
for number in range(1, 8):
    places = [int(line[0], 16) for line in lines if line[-1] == f"_Z18getNcclProfiler_v{number}Pv"]
    if places:
        found = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(base + places[0])(ctypes.CDLL(ours)._handle)
        print(number, ctypes.cast(found, ctypes.POINTER(ctypes.c_char_p))[0].decode() if found else None)
"""


def real():
    """NCCL itself, without a GPU: its own functions that look for a plug-in accept each of ours."""
    path = os.environ.get("NCCL_LIBRARY")
    if not path:
        tap.skip("NCCL itself", "NCCL_LIBRARY is not set (libnccl.so.2 of the wheel nvidia-nccl-cu12)")
        return
    result = trace("run", "-t", "nccl", "-o", os.path.join(folder(), "r.rep"), "--", sys.executable, "-c", REAL, path, env=clean_env())
    tap.ok(result.status == 0 and result.out == b"".join(b"%d libtrace\n" % number for number in range(1, 8)), "NCCL itself finds our versions of the interface", str(result))


main(versions, shown, ends, limits, users_plugin, users_static_plugin, real)
