#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the simulated device itself: programs run on it, a bare CUPTI client (tests/cuda/libbare.c) gets the records that the device has logged,
and each fault has its documented effect. The tracer is not used.

timeout: 600
"""
import collections
import os
import sys

import libdevice as device
import lib
from lib import tap

PROGRAMS = ("vector_add", "pipeline", "graph", "other_calls", "driver_api", "ctypes_driver.py")
CLOCKS_NS = 20000  # allowed difference between two ways to read a clock on a loaded machine
KINDS = {"memcpy": {1: "copies_htod", 2: "copies_dtoh", 8: "copies_dtod"}, "memcpy_peer": "copies_peer", "memset": "sets"}


def run(name, *arguments, bare=None, kinds=2, **options):
    """Run a program in a folder of its own. Return (result, truth, output of the bare client)."""
    work = lib.folder()
    truth, log = os.path.join(work, "truth"), os.path.join(work, "bare")
    more = options.pop("more", {})
    if bare:
        more = {"LD_PRELOAD": device.app("libbare.so"), "BARE_LOG": log, "BARE_KINDS": kinds, "BARE_CUPTI": bare if bare is not True else None, **more}
    env = device.env(truth=truth, **options, **more)
    result = lib.run([*device.command(name), *map(str, arguments)], env=env)
    return result, device.lines(truth) if os.path.exists(truth) else [], device.lines(log) if os.path.exists(log) else []


def of(lines, *types):
    return [line for line in lines if line["type"] in types]


def counted(truth):
    """Return the truth by the kinds that programs count; work of graphs is counted separately."""
    counts = collections.Counter()
    for line in truth:
        if line["type"] == "kernel":
            counts["graph_kernels" if line["graph"] else "kernels"] += 1
        elif line["type"] in KINDS and not line["graph"]:
            kind = KINDS[line["type"]]
            counts[kind if isinstance(kind, str) else kind[line["copy_kind"]]] += 1
        elif line["type"] == "graph":
            counts["graph_launches"] += 1
        elif line["type"] == "synchronization" and line["sync_type"] in (3, 4):
            counts["syncs"] += 1
    return counts


def skipped(title, *names):
    reason = device.missing(*names)
    if reason:
        tap.skip(title, reason)
    return reason


def test_programs():
    for name in PROGRAMS:
        if skipped(f"{name} runs", name):
            continue
        for devices in (1, 2):
            result, truth, _ = run(name, device=f"devices={devices}")
            did = device.did(result)
            happened = counted(truth)
            tap.ok(result.status == 0 and did and did == {kind: happened[kind] for kind in did},
                   f"{name} on {devices} device(s): results are right, and the truth has what it says it did", f"{result}\n{dict(happened)}")
            unfinished = [line for line in truth if "start" in line and line["end"] < line["start"]]
            tap.ok(truth and not unfinished, f"{name} on {devices} device(s): nothing ends before it starts", unfinished)


def test_numba():
    if skipped("numba_add.py", "numba_add.py"):
        return
    importable = lib.run([sys.executable, "-c", "import numba.cuda, numpy"]).status == 0
    result, truth, _ = run("numba_add.py") if importable else (None, None, None)
    if not importable or b"nvrtc" in result.err and result.status:
        tap.skip("numba_add.py", "no Numba, or no NVRTC for it (PyPI: numba-cuda, nvidia-cuda-nvrtc, nvidia-nvvm)")
        return
    did, happened = device.did(result), counted(truth)
    tap.ok(result.status == 0 and did and did == {kind: happened[kind] for kind in did}, "Numba launches kernels on the simulated device", f"{result}\n{happened}")


def same_times(one, other):
    return abs(one["start"] - other["start"]) <= CLOCKS_NS and abs(one["end"] - other["end"]) <= CLOCKS_NS


def compare(title, truth, records, types, keys):
    """Check that records and truth correspond one to one by keys, and that their times agree."""
    def key(line):
        return tuple(tuple(line[name]) if isinstance(line[name], list) else line[name] for name in keys)

    expected, got = sorted(of(truth, *types), key=lambda line: (line["start"], key(line))), of(records, *types)
    left = collections.defaultdict(list)
    for line in expected:
        left[key(line)].append(line)
    wrong = []
    for line in sorted(got, key=lambda line: line["start"]):
        candidates = left[key(line)]
        if candidates and same_times(candidates[0], line):
            candidates.pop(0)
        else:
            wrong.append(("no such", line, candidates[:1]))
    wrong += [("missing", line) for lines in left.values() for line in lines]
    tap.ok(expected and not wrong, f"{title}: {len(expected)} records", "\n".join(map(str, wrong[:20])))


def test_bare_client():
    for name in PROGRAMS:
        if skipped(f"bare client of {name}", name):
            continue
        result, truth, records = run(name, bare=True, device="devices=2")
        tap.ok(result.status == 0 and device.did(result), f"{name} under the bare client still gives right results", result)
        compare(f"{name}: kernels as the truth has them", truth, records, ("kernel",), ("name", "correlation", "device", "context", "stream", "grid", "block", "graph_node"))
        compare(f"{name}: copies and sets", truth, records, ("memcpy", "memset"), ("correlation", "bytes", "stream"))
        compare(f"{name}: API calls", truth, records, ("api",), ("domain", "name", "correlation", "result"))
        if of(truth, "memcpy_peer"):
            compare(f"{name}: copies between devices", truth, records, ("memcpy_peer",), ("correlation", "bytes", "source_device", "target_device"))
        compare(f"{name}: synchronizations", truth, records, ("synchronization",), ("sync_type", "correlation"))
        end = records[-1]
        tap.ok(end["type"] == "end" and end["dropped"] == 0 and not of(truth, "violation"), f"{name}: nothing dropped, no rule of CUPTI broken", [end] + of(truth, "violation"))


def test_callbacks():
    if skipped("callbacks", "vector_add"):
        return
    result, truth, records = run("vector_add", bare=True, kinds=3)
    calls = of(truth, "api")
    sites = collections.Counter((line["correlation"], line["domain"], line["site"]) for line in of(records, "callback"))
    enters = sum(count for (_, _, site), count in sites.items() if site == 0)
    tap.ok(result.status == 0 and enters == len(calls) and enters * 2 == sum(sites.values()), "each call has one callback at its beginning and one at its end",
           f"{enters} of {len(calls)}")
    launches = [line for line in of(records, "callback") if line["name"] in ("cudaLaunchKernel", "cuLaunchKernel")]
    tap.ok(len(launches) == 40 and all(line["symbol"] == "vector_add" for line in launches), "callbacks of launches name the kernel", launches[:3])
    outer = {line["correlation"] for line in calls if line["domain"] == "runtime"}
    inner = [line for line in calls if line["nested"]]
    tap.ok(inner and all(line["correlation"] in outer for line in inner), "driver calls inside runtime calls have their correlation id")


def test_all_kinds():
    """Compare kinds that the bare client only counts with the truth."""
    kinds = {17: "overhead", 25: "unified_memory", 36: "event", 49: "memory", 50: "memory_pool"}
    made = {9: 1, 27: 6, 37: 3}  # the callback that belongs to each record: context, module, stream
    for name in PROGRAMS:
        if skipped(f"all kinds of {name}", name):
            continue
        result, truth, records = run(name, bare=True, kinds=4, device="devices=2")
        got = collections.Counter(line["kind"] for line in of(records, "kind"))
        expected = collections.Counter({kind: len(of(truth, type_)) for kind, type_ in kinds.items()})
        expected.update({kind: sum(line["cbid"] == cbid for line in of(truth, "resource")) for kind, cbid in made.items()})
        expected.update({8: 2})  # devices
        expected.update({52: len(of(truth, "jit"))})
        tap.ok(result.status == 0 and got == +expected, f"{name}: events, memory, pools, unified memory, overhead, JIT, contexts, streams, modules, devices",
               f"got {dict(got)}, expected {dict(+expected)}")


def test_whole_graphs():
    if skipped("graphs as a whole", "graph"):
        return
    _, truth, records = run("graph", bare=True, more={"BARE_GRAPHS": "1"})
    compare("graphs as a whole", truth, records, ("graph",), ("correlation", "graph", "stream"))
    tap.ok(not of(records, "kernel") and of(truth, "kernel"), "with graphs recorded whole, their kernels have no records of their own", of(records, "kernel")[:3])
    _, truth, records = run("graph", bare=True)
    compare("graphs node by node", truth, records, ("kernel",), ("correlation", "graph_node"))
    starts = {}
    for line in of(truth, "kernel"):
        starts.setdefault(line["correlation"], []).append((line["start"], line["end"]))
    forked = [times for times in starts.values() if len(times) == 3]
    tap.ok(forked and all(one[1] == two[0] == three[0] for one, two, three in map(sorted, forked)), "nodes begin when what they depend on has ended", forked[:2])


def test_violations():
    if skipped("rules of CUPTI", "vector_add"):
        return
    result, truth, _ = run("vector_add", bare=True, more={"BARE_MISUSE": "1"})
    rules = {line["rule"] for line in of(truth, "violation")}
    tap.ok(result.status == 0 and rules == {"flush from a buffer callback", "timestamp callback registered more than once", "cuptiFinalize called"},
           "a client that breaks rules of CUPTI is reported in the simulator's log", rules)


def test_toolkits():
    if skipped("older CUPTI", "vector_add"):
        return
    for toolkit, library, version in (("cuda12", "libcupti.so.12", 24), ("cuda11", "libcupti.so.11.8", 18)):
        result, truth, records = run("vector_add", bare=library, toolkit=toolkit)
        tap.ok(result.status == 0 and records and records[-1].get("cupti") == version, f"{toolkit}: says version {version}", records[-1:])
        compare(f"{toolkit}: records of its shape", truth, records, ("kernel",), ("name", "correlation", "grid", "block"))
        compare(f"{toolkit}: copies", truth, records, ("memcpy", "memset"), ("correlation", "bytes"))
    result, _, records = run("vector_add", bare=True, toolkit="nocupti", more={"BARE_CUPTI": "libcupti.so.99"})
    tap.ok(result.status == 0 and [line["type"] for line in records] == ["error"], "nocupti: the program runs without it", records)


def test_replay():
    """Check that buffers that the bare client saved are replayed, record by record, in another process."""
    if skipped("recorded buffers", "pipeline", "vector_add"):
        return
    for toolkit, library in (("cuda13", None), ("cuda11", "libcupti.so.11.8")):
        raw = lib.folder()
        _, _, recorded = run("pipeline", bare=library or True, kinds=4, toolkit=toolkit, more={"BARE_RAW": raw})
        result, _, replayed = run("vector_add", bare=library or True, kinds=0, toolkit=toolkit, more={"SIM_REPLAY": raw})
        one, other = (sorted(map(str, (line for line in lines if line["type"] not in ("end", "callback")))) for lines in (recorded, replayed))
        tap.ok(result.status == 0 and len(one) > 100 and one == other, f"{toolkit}: {len(one)} recorded records come again, with their texts", set(one) ^ set(other))


def test_faults():
    if skipped("faults", "vector_add"):
        return

    def faulty(fault, **options):
        result, truth, records = run("vector_add", 40, bare=True, fault=fault, **options)
        return result, of(truth, "kernel", "memcpy", "memset", "synchronization"), of(records, "kernel", "memcpy", "memset", "synchronization"), records

    _, truth, got, _ = faulty("kernel_ns=3000000")
    tap.ok(len(got) == len(truth) and all(line["end"] - line["start"] == 3000000 for line in of(got, "kernel")), "kernel_ns: each kernel lasts that long, and none is lost")
    result, truth, got, records = faulty("drop_every=5")
    tap.ok(result.status == 0 and len(got) == len(truth) - len(truth) // 5 and records[-1]["dropped"] == len(truth) // 5, "drop_every: records are dropped and counted", records[-1])
    _, truth, got, records = faulty("unknown_every=4")
    unknown = [line for line in of(records, "kind") if line["kind"] == 63]
    tap.ok(len(unknown) == len(truth) // 4 and len(got) == len(truth), "unknown_every: records of an unknown kind between the others", len(unknown))
    _, truth, _, records = faulty("longer_records=16")
    compare("longer_records: longer than the header says, and still right", truth, records, ("kernel",), ("name", "correlation", "grid", "block"))
    _, _, got, records = faulty("fail=cuptiActivityRegisterCallbacks:0:7")
    tap.ok(not got and records[-1]["records"] == 0 and records[-1]["dropped"] > 0, "fail: of CUPTI, too; without callbacks everything is dropped", records[-1:])
    _, truth, got, _ = faulty("zero_every=4")
    tap.ok(sum(line["start"] == line["end"] == 0 for line in got) == len(truth) // 4, "zero_every: records have stamps of zero")
    _, truth, got, _ = faulty("invert_every=4")
    tap.ok(sum(line["end"] < line["start"] for line in got) == len(truth) // 4, "invert_every: records end before they start")
    _, truth, got, _ = faulty("unordered=1")
    ends = [line["end"] for line in got]
    tap.ok(len(got) == len(truth) and ends == sorted(ends, reverse=True), "unordered: all records come in reverse order")
    _, truth, got, records = faulty("late_ms=10000")
    places = [line["type"] == "api" for line in records if line["type"] in ("api", "kernel")]
    tap.ok(len(got) == len(truth) and len(set(places)) == 2 and places in (sorted(places), sorted(places, reverse=True)), "late_ms: late records all come, after those that are in time", places[:5])
    _, truth, got, _ = faulty("worker=1,buffer_delay_us=1000")
    tap.ok(len(got) == len(truth), "worker: buffers completed by another thread are all there")
    _, truth, got, _ = faulty("skew_ns=1000000")
    times = {line["correlation"]: line["start"] for line in truth if line["type"] == "kernel"}
    early = [times[line["correlation"]] - line["start"] for line in got if line["type"] == "kernel"]
    tap.ok(len(early) == 40 and all(abs(ns - 1000000) <= CLOCKS_NS for ns in early), "skew_ns: times are that much too early", early[:5])
    _, _, got, records = faulty("subscribe_fails=39")
    tap.ok(not got and any(line.get("result") == 39 for line in of(records, "error")), "subscribe_fails: CUPTI acts as if another tool were there", records[:3])
    _, truth, got, records = faulty("enable_fails=10")
    tap.ok(any(line.get("result") == 35 for line in of(records, "error")) and not of(got, "kernel") and of(got, "memcpy"), "enable_fails: one kind is refused, the others are delivered")
    result, _, _, _ = faulty("fail=cudaMalloc:2:2")
    tap.ok(result.status == 3 and b"error 2" in result.err, "fail: the second cudaMalloc fails, the program says so", result)
    result, _, _, _ = faulty("no_such_option=1")
    tap.ok(result.status == 2 and b"unknown option" in result.err, "an unknown option stops the program", result)
    result, truth, _ = run("vector_add", toolkit="none")
    tap.ok(result.status != 0 and not truth, "without the folder nothing of the simulated device is used", result)


lib.main(test_programs, test_numba, test_bare_client, test_callbacks, test_all_kinds, test_whole_graphs, test_violations, test_toolkits, test_replay, test_faults)
