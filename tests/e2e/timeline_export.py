#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check `trace export -t perfetto`, `-t chrome` and `-t xplane`: every event that the format can have, with track and time as in the report, and
a note about the others.

The files are read by small parsers of this test and compared with `trace dump --json` and `trace stats` of the same report.
tests/peers/viewers.py uses real readers, if they are installed. CUDA programs run on the simulated device: this test has not run on a
GPU.
"""
import collections
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _page  # noqa: E402
import libdevice as device  # noqa: E402
from lib import Report, app, folder, main, recorded, tap, trace  # noqa: E402
from libwire import fields, fixed, one, real, signed  # noqa: E402

SLICES = ("osrt_call", "nvtx_range", "nvtx_start_end", "cuda_api", "cuda_kernel", "cuda_memcpy", "cuda_memset", "cuda_graph_trace", "cuda_sync",
          "cuda_unified_memory", "cuda_overhead", "cuda_jit", "cuda_mem_decompress", "cuda_device_graph")
CATEGORIES = {"osrt_call": "osrt", "nvtx_range": "nvtx", "nvtx_start_end": "nvtx", "cuda_api": "cuda_api", "cuda_kernel": "kernel", "cuda_memcpy": "memcpy",
              "cuda_memset": "memset", "cuda_graph_trace": "graph", "cuda_sync": "cuda_sync", "cuda_unified_memory": "unified_memory",
              "cuda_overhead": "overhead", "cuda_jit": "jit", "cuda_mem_decompress": "decompress", "cuda_device_graph": "graph"}
NAMED_BY = {"osrt_call": "function", "nvtx_range": "text", "nvtx_start_end": "text", "cuda_api": "function", "cuda_kernel": "name"}


def exported(report, kind, suffix, *options):
    path = os.path.splitext(report.path)[0] + "." + suffix
    result = trace("export", "-t", kind, *options, report.path, limit=100)
    done = tap.ok(result.status == 0 and os.path.exists(path), f"{kind}: the export succeeds", f"{result.status} {result.err}")
    return (path, result.err.decode()) if done else (None, "")


def name_of(event):
    """Return the name of an event whose name is a text; None if it is a number."""
    column = NAMED_BY.get(event["kind"])
    name = event[column] if column else None
    return re.sub(r"_v[0-9]{4,}$", "", name) if event["kind"] == "cuda_api" else name


def told(report, events):
    """Return {(category, name): (number, nanoseconds)} of slices; the name is "" if the event has a number instead."""
    found = collections.defaultdict(lambda: [0, 0])
    for event in events:
        if event["kind"] in SLICES:
            entry = found[CATEGORIES[event["kind"]], name_of(event) or ""]
            entry[0] += 1
            entry[1] += event["duration_ns"]
    return dict(found)


# ---- Perfetto ----

class Perfetto:
    """A parsed trace: its slices (category, name, start, duration, track, flow, chain, arguments), instant events, values of counters, and tracks."""
    def __init__(self, path):
        self.tracks, self.slices, self.moments, self.values, self.samples = {}, [], [], [], []
        self.names, self.categories, self.arguments, self.chains, self.frames, self.functions = {}, {}, {}, {}, {}, {}
        self.kinds, self.queues, self.counters, self.gpus, self.stages = {}, {}, {}, [], []
        self.primary = self.default = None
        open_slices = collections.defaultdict(list)
        events = []
        for order, data in enumerate(fields(open(path, "rb").read())[1]):
            packet = fields(data)
            self.intern(packet)
            self.clocks(packet)
            for track in packet[60]:
                track = fields(track)
                self.tracks[one(track, 1)] = track
            for sample in map(fields, packet[66]):
                self.samples.append({"start": one(packet, 8), "cpu": one(sample, 1), "pid": one(sample, 2), "tid": one(sample, 3), "chain": self.chains.get(one(sample, 4)) or []})
            for info in packet[128]:
                self.gpus = [fields(gpu) for gpu in fields(info)[1]]
            for stage in packet[53]:
                self.take_stage(one(packet, 8), fields(stage))
            for counter in map(fields, packet[52]):
                value = fields(one(counter, 2))
                self.values.append((self.counters[one(counter, 4)][one(value, 1)], one(packet, 8), signed(one(value, 2))))
            for event in packet[11]:
                events.append((one(packet, 8), order, fields(event)))
        for ns, _, event in sorted(events, key=lambda e: e[:2]):  # as trace_processor sorts: by time, then by position in the file
            self.take(ns, event, open_slices)
        self.unended = sum(map(len, open_slices.values()))

    def clocks(self, packet):
        for clocks in packet[6]:
            self.primary = one(fields(clocks), 2)
        for defaults in packet[59]:
            self.default = one(fields(defaults), 58)

    def intern(self, packet):
        for data in packet[12]:
            table = fields(data)
            for number, kept in ((1, self.categories), (2, self.names), (3, self.arguments), (5, self.functions)):
                for entry in map(fields, table[number]):
                    kept[one(entry, 1)] = one(entry, 2, b"").decode()
            for entry in map(fields, table[24]):
                self.kinds[one(entry, 1)] = one(entry, 2).decode()
            for entry in map(fields, table[47]):
                specs = map(fields, fields(one(entry, 2))[1])
                self.counters[one(entry, 1)] = {one(spec, 1): one(spec, 2).decode() for spec in specs}
            for entry in map(fields, table[6]):
                self.frames[one(entry, 1)] = self.functions.get(one(entry, 2), "")
            for entry in map(fields, table[7]):
                self.chains[one(entry, 1)] = [self.frames[n] for n in entry[2]]

    def take_stage(self, ns, stage):
        """Keep work of a GPU as a slice, too; its shape as arguments of a launch."""
        arguments = {one(fields(extra), 1).decode(): one(fields(extra), 2).decode() for extra in stage[6]}
        for what, number in (("grid", 1), ("block", 2)):
            shape = fields(one(fields(one(stage, 21, b"")), number, b""))
            arguments.update({f"{what}_{axis}": {3: [one(shape, n)]} for axis, n in zip("xyz", (1, 2, 3))} if shape else {})
        entry = {"category": self.kinds[one(stage, 14)], "name": self.names[one(stage, 20)], "start": ns, "duration": one(stage, 2), "track": self.kinds[one(stage, 13)],
                 "flow": one(stage, 1) or None, "chain": None, "arguments": arguments, "gpu": one(stage, 11)}
        self.slices.append(entry)
        self.stages.append(entry)

    def take(self, ns, event, open_slices):
        track = one(event, 11)
        assert track in self.tracks
        if one(event, 9) == 2:
            entry = open_slices[track].pop()
            entry["duration"] = ns - entry["start"]
            return
        if one(event, 9) == 4:
            self.values.append((track, ns, signed(one(event, 30)) if 30 in event else real(one(event, 44))))
            return
        entry = {"category": self.categories[one(event, 3)] if 3 in event else one(event, 22).decode(),
                 "name": self.names[one(event, 10)] if 10 in event else one(event, 23).decode(), "start": ns, "track": track,
                 "flow": fixed(one(event, 47)) if 47 in event else one(fields(one(event, 3000)), 1) if 3000 in event else None, "chain": self.chains.get(one(event, 56)),
                 "arguments": {self.arguments[one(a, 1)] if 1 in a else one(a, 10).decode(): a for a in map(fields, event[4])}}
        if one(event, 9) == 3:
            self.moments.append(entry)
            return
        self.slices.append(entry)
        open_slices[track].append(entry)

    def summed(self, by_number):
        found = collections.defaultdict(lambda: [0, 0])
        for entry in self.slices:
            key = entry["category"], "" if entry["category"] in by_number else entry["name"]
            found[key][0] += 1
            found[key][1] += entry["duration"]
        return dict(found)


BY_NUMBER = {CATEGORIES[kind] for kind in SLICES} - {CATEGORIES[kind] for kind in NAMED_BY}


def perfetto_is_the_report(report, events, chains, *options):
    path, note = exported(report, "perfetto", "perfetto-trace", *options)
    if not path:
        return None
    found = Perfetto(path)
    tap.ok(found.unended == 0 and found.primary == found.default == 3, "every slice ends; times are CLOCK_MONOTONIC", f"{found.unended} {found.primary}")
    wanted, have = told(report, events), found.summed(BY_NUMBER)
    tap.ok(wanted and wanted == have, "counts, names and durations are those of the events", {k: (wanted.get(k), have.get(k)) for k in {*wanted, *have}
                                                                                                  if wanted.get(k) != have.get(k)})
    origin = next(e for e in fields(open(path, "rb").read())[1])  # the first packet has the clocks
    start = one(fields(fields(fields(origin)[6][0])[1][0]), 2)
    left = collections.Counter((e["start_ns"] + start, e["duration_ns"]) for e in events if e["kind"] in SLICES)
    tap.ok(left == collections.Counter((s["start"], s["duration"]) for s in found.slices), "each slice has its start and duration")
    threads = {(one(t, 1), one(t, 2)) for track in found.tracks.values() for t in map(fields, track[4])}
    tap.ok(threads >= {(e["pid"], e["tid"]) for e in events if e["kind"] in ("osrt_call", "cuda_api", "nvtx_range")}, "each thread has a track", threads)
    roots = [t for t in found.tracks.values() if not t[3] and not t[4]]
    tap.ok(all(one(t, 5) in found.tracks for t in roots), "every other track belongs to one")
    wanted = [[f.get("function") or "" for f in reversed(e["callchain"])] for e in events if e.get("callchain") and e["kind"] in SLICES]
    have = [s["chain"] for s in found.slices if s["chain"]]
    tap.ok(bool(wanted) == chains and sorted(map(len, wanted)) == sorted(map(len, have)), "chains are there, with all their frames", f"{len(wanted)} {len(have)}")
    tap.ok(sorted(c for c in wanted if "" not in c) == sorted(c for c in have if "" not in c), "outermost first, by name")
    said = {kind: int(number) for number, kind in re.findall(r"(\d+) ([a-z_]+)(?:,|$)", note.split("cannot store them: ")[-1].strip())} if "cannot store" in note else {}
    kinds = collections.Counter(e["kind"] for e in events)
    tap.ok(all(kinds[kind] == number for kind, number in said.items()) and said.get("osrt_summary", 0) == kinds["osrt_summary"], "kinds of events without a track are reported", note)
    return found


def arrows_join_calls_and_device(found, events):
    calls = {e["correlation_id"] for e in events if e["kind"] == "cuda_api" and e["level"] == 0}
    work = [e for e in events if e["kind"] in ("cuda_kernel", "cuda_memcpy", "cuda_memset") and e["correlation_id"] in calls]
    flows = collections.Counter((s["flow"], s["category"]) for s in found.slices if s["flow"])
    from_calls = {flow for flow, category in flows if category == "cuda_api"}
    to_device = [flow for (flow, category), n in flows.items() for _ in range(n) if category in ("kernel", "memcpy", "memset")]
    tap.ok(len(from_calls) == len(calls) and len(to_device) == len(work) and from_calls >= set(to_device), "arrows lead from calls to all they did",
           f"{len(from_calls)} {len(calls)} {len(to_device)} {len(work)}")
    for kernel in (s for s in found.slices if s["category"] == "kernel"):
        if one(kernel["arguments"]["grid_x"], 3) != next(e for e in events if e["kind"] == "cuda_kernel" and e["correlation_id"] == kernel["flow"] & 0xffffffff)["grid_x"]:
            tap.ok(False, "kernels have the columns of their launch", kernel)
            return
    tap.ok(True, "kernels have the columns of their launch")


def gpus_are_typed(found, events):
    """Check the typed events: devices by their numbers, each piece of work on its device and stream, counters by device."""
    devices = {e["device_id"]: (e["name"], e["uuid"], f"sm_{e['compute_capability_major']}{e['compute_capability_minor']}") for e in events if e["kind"] == "cuda_device"}
    have = {n: (one(gpu, 1).decode(), one(gpu, 5).hex(), one(gpu, 4).decode()) for n, gpu in enumerate(found.gpus)}
    tap.ok(devices and devices == have, "gpu_info has name, UUID and architecture of each device", (devices, have))
    work = [e for e in events if e["kind"] in ("cuda_kernel", "cuda_memcpy", "cuda_memset", "cuda_graph_trace")]
    wanted = collections.Counter((e["device_id"], f"stream {e['stream_id']}", e["duration_ns"]) for e in work)
    have = collections.Counter((s["gpu"], s["track"].rsplit(", ", 1)[-1], s["duration"]) for s in found.stages)
    tap.ok(wanted and wanted == have, "gpu_render_stage_event: all work, on its device and stream", (wanted - have, have - wanted))
    tap.ok({name for names in found.counters.values() for name in names.values()} == {name for name, _, _ in found.values if isinstance(name, str)} != set(),
           "gpu_counter_event: each counter has its name", found.counters)


def memory_is_counted(found, events):
    sums, wanted = collections.Counter(), []
    for event in (e for e in events if e["kind"] == "cuda_memory"):
        sums[event["memory_kind"]] += event["bytes"] if event["operation"] == 1 else -event["bytes"]
        wanted.append(sums[event["memory_kind"]])
    tap.ok(wanted and wanted == [value for _, _, value in found.values], "counters have the device memory in use", f"{wanted} {found.values}")


def session_start(path):
    """Return the start of the session, in ns of CLOCK_MONOTONIC; the first packet has the clocks."""
    with open(path, "rb") as file:
        origin = next(e for e in fields(file.read())[1])
    return one(fields(fields(fields(origin)[6][0])[1][0]), 2)


def thread_of(found, track):
    """Return the thread whose track, or the parent of whose track, this is."""
    described = found.tracks[track]
    return one(fields((described[4] or found.tracks[one(described, 5)][4])[0]), 2)


def of_samples():
    """Check samples, states of threads and waits for the GIL in Perfetto's trace, against the report."""
    report = recorded([app("accounted"), "threads", "400"], LIBTRACE_SAMPLE="process-tree")
    path, note = exported(report, "perfetto", "perfetto-trace") if report else (None, "")
    if not path:
        return
    found, events, start = Perfetto(path), report.events(), session_start(path)
    wanted = sorted((e["time_ns"] + start, e["cpu"], e["pid"], e["tid"], [f.get("function") or "" for f in reversed(e.get("callchain") or [])]) for e in events if e["kind"] == "cpu_sample")
    have = sorted((s["start"], s["cpu"], s["pid"], s["tid"], s["chain"]) for s in found.samples)
    tap.ok(wanted and wanted == have, "perfetto: CPU samples with CPU, thread and callchain", (wanted[:2], have[:2]))
    tap.ok("cpu_sample" not in note, "they are not reported as left out", note)
    states = [s for s in found.slices if s["category"] == "state"]
    lives = {int(r["TID"]): int(r["Life (ns)"]) for r in csv.DictReader(io.StringIO(trace("stats", "-r", "thread_time_sum", "-f", "csv", report.path).out.decode()))}
    by_thread = collections.defaultdict(list)
    for s in states:
        by_thread[thread_of(found, s["track"])].append((s["start"], s["start"] + s["duration"], s["name"]))
    overlaps = [pair for rows in by_thread.values() for pair in zip(sorted(rows), sorted(rows)[1:]) if pair[0][1] > pair[1][0]]
    covered = {tid: sum(end - begin for begin, end, _ in rows) for tid, rows in by_thread.items()}
    tap.ok(set(covered) == set(lives) and not overlaps and all(abs(covered[tid] - life) <= 1000 for tid, life in lives.items()), "states cover each thread's life, without overlap",
           ({tid: (covered.get(tid), life) for tid, life in lives.items() if abs(covered.get(tid, 0) - life) > 1000}, overlaps[:2]))
    tap.ok({s["name"] for s in states} <= {"running", "runnable", "blocked", "stopped", "unknown"}, "and have the five names", {s["name"] for s in states})
    sleeps = {(e["start_ns"] + start, e["duration_ns"]) for e in events if e["kind"] == "osrt_call" and e["function"] == "nanosleep"}
    blocked = {(s["start"], s["duration"]) for s in states if s["name"] == "blocked" and one(s["arguments"]["detail"], 6) == b"in nanosleep"}
    tap.ok(sleeps and sleeps == blocked, "a thread is blocked in its sleeps, exactly", (len(sleeps), len(blocked)))


GIL = """import threading, time
def spin():
    end = time.thread_time() + 0.15
    while time.thread_time() < end: pass
threads = [threading.Thread(target=spin) for _ in range(3)]
for t in threads: t.start()
for t in threads: t.join()
"""


def of_the_gil():
    report = recorded([sys.executable, "-c", GIL], name="threads that wait for the GIL")
    waits = [e for e in report.events() if e["kind"] == "gil_wait"] if report else []
    if not waits:
        tap.skip("waits for the GIL in timelines", f"{sys.version.split()[0]} has none that are known")
        return
    path, _ = exported(report, "perfetto", "perfetto-trace")
    found, start = Perfetto(path), session_start(path)
    have = sorted((s["start"], s["duration"], thread_of(found, s["track"])) for s in found.slices if s["category"] == "gil")
    tap.ok(have == sorted((e["start_ns"] + start, e["duration_ns"], e["tid"]) for e in waits), "perfetto: waits for the GIL are slices of their threads", (len(have), len(waits)))
    chrome = json.load(open(exported(report, "chrome", "trace.json")[0], encoding="utf-8"))
    tap.ok(sum(e["name"] == "gil_wait" and e["ph"] == "X" for e in chrome["traceEvents"]) == len(waits), "and in Chrome's JSON", len(waits))


# ---- Chrome's JSON ----

def chrome_is_the_report(report, events, step=None):
    path, note = exported(report, "chrome", "trace.json", *(("--steps", step) if step else ()))
    if not path:
        return None
    found = json.load(open(path, encoding="utf-8"))
    slices = [e for e in found["traceEvents"] if e["ph"] == "X"]
    wanted = collections.Counter((e["start_ns"], e["duration_ns"]) for e in events if e["kind"] in SLICES)
    have = collections.Counter((round(e["ts"] * 1000), round(e["dur"] * 1000)) for e in slices)
    tap.ok(wanted == have, "each slice of Chrome's JSON has its start, to the nanosecond", f"{wanted - have} {have - wanted}")
    names = collections.Counter(name_of(e) for e in events if e["kind"] in NAMED_BY and (e["kind"] != "nvtx_range" or name_of(e) != step))
    have = collections.Counter(e["name"] for e in slices)
    tap.ok(all(have[name] == number for name, number in names.items()), "each slice has its name", {n: (c, have[n]) for n, c in names.items() if have[n] != c})
    ids = {e["pid"] for e in found["traceEvents"]}
    tap.ok(ids <= {e["pid"] for e in found["traceEvents"] if e["name"] == "process_name"}, "all processes and devices have names", ids)
    named = collections.Counter((e["pid"], e["args"]["name"]) for e in found["traceEvents"] if e["name"] == "process_name")
    tap.ok(set(named.values()) == {1}, "and each has it once", named)
    arrows = {phase: collections.Counter(e["id"] for e in found["traceEvents"] if e["ph"] == phase) for phase in "sf"}
    calls = {(e["pid"], e["correlation_id"]) for e in events if e["kind"] == "cuda_api" and e["correlation_id"]}
    work = {(e["pid"], e["correlation_id"]) for e in events if e["kind"] in ("cuda_kernel", "cuda_memcpy", "cuda_memset", "cuda_graph_launch")}
    tap.ok(arrows["s"] == arrows["f"] and set(arrows["s"].values()) <= {1} and len(arrows["s"]) >= len(calls & work),
           "each arrow has one start and one end, and each call that started work has one", (arrows["s"] - arrows["f"], arrows["f"] - arrows["s"], len(arrows["s"]), len(calls & work)))
    begins = {(e["pid"], e["tid"], e["ts"]) for e in slices}
    tap.ok(all((e["pid"], e["tid"], e["ts"]) in begins for e in found["traceEvents"] if e["ph"] in "sf"), "arrows start and end at slices")
    chains = any(e.get("callchain") for e in events)
    tap.ok(("callchains" in note) == chains, "callchains are said to be left out where there are some", note)
    return found


# ---- XSpace ----

class Xspace:
    """A parsed XSpace. events: (plane, line, name, start, duration, stats) with times in nanoseconds since the start."""
    def __init__(self, path):
        self.events, self.planes, self.lines = [], {}, []
        space = fields(open(path, "rb").read())
        self.hostname = one(space, 4, b"").decode()
        for plane in map(fields, space[1]):
            name = one(plane, 2).decode()
            names = {number: one(fields(one(entry, 2)), 2, b"").decode() for entry in map(fields, plane[4]) for number in entry[1]}
            stats = {number: one(fields(one(entry, 2)), 2, b"").decode() for entry in map(fields, plane[5]) for number in entry[1]}
            self.planes[name] = self.stats_of(plane[6], stats)
            for line in map(fields, plane[3]):
                self.lines.append((name, one(line, 1), one(line, 2, b"").decode()))
                for event in map(fields, line[4]):
                    self.events.append((name, one(line, 2).decode(), names[one(event, 1)], signed(one(event, 2)) / 1000, one(event, 3) / 1000,
                                        self.stats_of(event[4], stats)))

    @staticmethod
    def stats_of(entries, names):
        found = {}
        for entry in map(fields, entries):
            value = (real(entry[2][0]) if 2 in entry else entry[3][0] if 3 in entry else signed(entry[4][0]) if 4 in entry else
                     entry[5][0].decode() if 5 in entry else names[entry[7][0]])
            found[names[one(entry, 1)]] = value
        return found


def xplane_is_the_report(report, events, step=None):
    path, _ = exported(report, "xplane", "xplane.pb", *(("--steps", step) if step else ()))
    if not path:
        return
    found = Xspace(path)
    wanted = collections.Counter((e["start_ns"], e["duration_ns"]) for e in events if e["kind"] in SLICES)
    have = collections.Counter((start, duration) for _, _, name, start, duration, stats in found.events
                               if name not in ("MemoryAllocation", "MemoryDeallocation") and "_r" not in stats)
    tap.ok(wanted and wanted == have, "XSpace: each event has its start, to the nanosecond", f"{wanted - have} {have - wanted}")
    for kind, detail in (("cuda_kernel", "kernel_details"), ("cuda_memcpy", "memcpy_details"), ("cuda_memset", "Memset_details")):
        wanted = collections.Counter((e["correlation_id"], e["start_ns"]) for e in events if e["kind"] == kind)
        have = collections.Counter((s["correlation_id"], start) for plane, _, _, start, _, s in found.events if plane.startswith("/device:GPU:") and detail in s)
        tap.ok(wanted == have, f"{kind}: on their device, with correlation id and details", f"{wanted - have} {have - wanted}")
    for kernel in (e for e in events if e["kind"] == "cuda_kernel"):
        shape = "grid:{grid_x},{grid_y},{grid_z} block:{block_x},{block_y},{block_z}".format(**kernel)
        if not any(start == kernel["start_ns"] and name == kernel["name"] and shape in s.get("kernel_details", "") and line.startswith(f"Stream #{kernel['stream_id']}(")
                   for _, line, name, start, _, s in found.events):
            tap.ok(False, "kernels have name, shape and stream", kernel)
            break
    operations_are_ranges(found)
    calls = {e["correlation_id"] for e in events if e["kind"] == "cuda_api"}
    have = {s["correlation_id"] for plane, _, _, _, _, s in found.events if plane == "/host:CPU" and "correlation_id" in s}
    tap.ok(calls <= have, "calls have their correlation id", calls - have)
    start, stop = (found.planes["Task Environment"][f"profile_{word}_time"] for word in ("start", "stop"))
    tap.ok(stop - start == max(e["start_ns"] + e.get("duration_ns", 0) for e in events if e["kind"] in SLICES) and start > 1_600_000_000_000_000_000,
           "the environment has the time of the day", f"{start} {stop}")
    ids = collections.Counter((plane, number) for plane, number, _ in found.lines)
    tap.ok(max(ids.values()) == 1, "lines have different ids", ids)
    if step:
        wanted = sorted((e["start_ns"], e["duration_ns"]) for e in events if e["kind"] == "nvtx_range" and e["text"] == step)
        have = sorted((start, duration) for _, _, name, start, duration, s in found.events if name == "train" and s.get("_r") == 1)
        tap.ok(wanted and wanted == have, "steps are roots of groups", f"{wanted} {have}")
        inside = {e["correlation_id"]: e for e in events if e["kind"] == "cuda_kernel"}
        have = [s.get("nvtx_range", "") for _, _, _, _, _, s in found.events if "kernel_details" in s]
        tap.ok(len(have) == len(inside) and any(have), "kernels have the NVTX range of their call", have)


def operation_of(domain, text):
    return text.replace(":", "_") + ":" + (re.sub("[^a-z0-9_]", "_", domain.lower()) or "nvtx")


def operations_are_ranges(found):
    """Check the operations that XProf sums up: each NVTX range, and all device work with the range of its call."""
    wrong = []
    for plane, _, name, _, duration, stats in found.events:
        wanted = None
        if plane.startswith("/device:GPU:"):
            wanted = operation_of(*stats["nvtx_range"].split(":", 1)) if "nvtx_range" in stats else "no NVTX range:none"
        elif name.startswith("NVTX:") and (duration or "tf_op" in stats):
            wanted = operation_of(*name.split(":", 2)[1:])
        wrong += [(name, stats)] if stats.get("tf_op") != wanted else []
    tap.ok(not wrong, "operations are NVTX ranges", wrong[:3])
    details = [s["kernel_details"] for _, _, _, _, _, s in found.events if "kernel_details" in s]
    tap.ok(all(0 < float(text.split("occ_pct:")[1]) <= 100 for text in details), "kernels have an occupancy", details)


def of_program(name, **options):
    """Return the report of a CUDA program; None, with a message, if it cannot run or failed."""
    if device.missing(name):
        return tap.skip(name, device.missing(name))
    return device.recorded([device.app(name)], **options)


def of_a_device():
    report = of_program("pipeline", LIBTRACE_TRACE="cuda,osrt", LIBTRACE_CUDA_BACKTRACE="all")
    if not report:
        return
    events = report.events()
    found = perfetto_is_the_report(report, events, True)
    if found:
        arrows_join_calls_and_device(found, events)
        memory_is_counted(found, events)
        gpus_are_typed(found, events)
    generic = perfetto_is_the_report(report, events, True, "-f", "true", "--gpu-tracks", "generic")
    if generic:
        arrows_join_calls_and_device(generic, events)
        memory_is_counted(generic, events)
        tap.ok(not generic.stages and not generic.gpus and not generic.counters, "--gpu-tracks generic: no typed events", generic.stages[:3])
    xplane_is_the_report(report, events)
    made = chrome_is_the_report(report, events)
    rows = list(csv.DictReader(io.StringIO(trace("stats", "-r", "cuda_gpu_kern_sum", "-f", "csv", report.path).out.decode())))
    have = collections.defaultdict(lambda: [0, 0])
    for event in made["traceEvents"] if made else ():
        if event.get("cat") == "kernel":
            have[event["name"]][0] += 1
            have[event["name"]][1] += round(event["dur"] * 1000)
    tap.ok(rows and {r["Name"]: [int(r["Instances"]), int(r["Total Time (ns)"])] for r in rows} == dict(have), "kernels are those of trace stats", have)


def of_visible_devices():
    """Check that a GPU has one number in all outputs, though each of two processes sees another GPU as its device 0, as with CUDA_VISIBLE_DEVICES: in both
    orders of the processes, where NVML numbers the GPUs the other way round, and in reports of two hosts that were merged in both orders."""
    reason = device.missing("nvtx_memory_use", "driver_api")
    if reason:
        tap.skip("processes with different visible devices", reason)
        return

    def of_gpus(*gpus, **options):
        programs = "; ".join(f"SIM_DEVICE=devices=1,memory_mib=16,first_gpu={gpu} {device.app(('nvtx_memory_use', 'driver_api')[gpu])}" for gpu in gpus)
        return recorded(["/bin/sh", "-c", programs], environment=lambda base: device.env(base=base), LIBTRACE_TRACE="cuda", **options)
    one_each, merged = [of_gpus(gpu) for gpu in (0, 1)], os.path.join(folder(), "merged.rep")
    of_order = {"GPU 1 first": (of_gpus(1, 0), [0, 1]), "GPU 0 first": (of_gpus(0, 1), [0, 1]), "numbers of NVML": (of_gpus(0, 1, LIBTRACE_MACHINE_SAMPLES="always", LIBTRACE_NVML=nvml_backwards()), [1, 0])}
    for name, (report, numbers) in of_order.items():
        if report:
            one_number(name, report, numbers)
    if all(one_each):
        for numbers in ([0, 1], [1, 0]):
            tap.ok(trace("merge", "-o", merged, "-f", "true", *(one_each[number].path for number in numbers)).status == 0, "two reports are merged")
            one_number(f"merged, the report of GPU {numbers[0]} first", Report(merged), numbers)


def nvml_backwards():
    """Return the path of a stand-in for NVML that numbers the two simulated GPUs backwards."""
    path = os.path.join(folder(), "libnvml.so")
    shutil.copy(app("libnvml.so"), path)
    with open(path + ".txt", "w", encoding="utf-8") as file:
        file.write("NVML_GPUS=2\nNVML_BACKWARDS=1\n")
    return path


def one_number(name, report, numbers):
    """Check that the GPUs 0 and 1 of the simulated device, which their processes call 0, have these numbers in all outputs."""
    events = report.events()
    uuid = {e["process"]: e["uuid"] for e in events if e["kind"] == "cuda_device"}
    pid = {e["process"]: e["pid"] for e in events if e["kind"] == "cuda_device"}
    tap.ok(len(uuid) == 2 == len(set(uuid.values())) and {e["device_id"] for e in events if e["kind"] == "cuda_device"} == {0}, f"{name}: two processes call different GPUs device 0", uuid)
    by_number = [u for _, u in sorted(zip(numbers, sorted(uuid.values())))]
    number_of = {pid[process]: by_number.index(u) for process, u in uuid.items()}
    work = collections.Counter((uuid[e["process"]], e["duration_ns"]) for e in events if e["kind"] in ("cuda_kernel", "cuda_memcpy", "cuda_memset", "cuda_graph_trace"))
    found = Perfetto(exported(report, "perfetto", "perfetto-trace", "-f", "true")[0])
    gpus = [one(gpu, 5).hex() for gpu in found.gpus]
    have = collections.Counter((gpus[s["gpu"]], s["duration"]) for s in found.stages)
    tap.ok(work and have == work and gpus == by_number, f"{name}: Perfetto: work is on its GPU", (have, work, gpus))
    chrome = json.load(open(exported(report, "chrome", "trace.json", "-f", "true")[0], encoding="utf-8"))
    names = {e["args"]["name"].split(",")[0] for e in chrome["traceEvents"] if e["name"] == "process_name" and e["args"]["name"].startswith("GPU ")}
    counters = {e["name"].split(",")[0] for e in chrome["traceEvents"] if e["ph"] == "C" and "memory in use" in e["name"]}
    tap.ok(counters == {"GPU 0", "GPU 1"} and names and names <= counters and [d["id"] for d in chrome["deviceProperties"]] == [0, 1],
           f"{name}: Chrome: each GPU has its number, memory and properties", (names, counters, chrome["deviceProperties"]))
    page = os.path.join(os.path.dirname(report.path), "p.html")
    (content,) = _page.write(page, report.path).content["reports"]
    tracks = sorted((t[1] & 0xffffff, t[4]) for t in content["timeline"]["tracks"] if t[3] == "memory")
    tap.ok(tracks == sorted(number_of.items()), f"{name}: the page: each GPU has its track of memory", (tracks, number_of))
    database = report.path + ".sqlite"
    tap.ok(trace("export", "-t", "sqlite", "-f", "true", "-o", database, report.path).status == 0, f"{name}: exported")
    db = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    rows = [(u.replace("-", ""), number) for u, number in db.execute("SELECT uuid, id FROM TARGET_INFO_GPU ORDER BY id")]
    devices = [(u.replace("-", ""), number, own) for u, number, own in db.execute("SELECT uuid, gpuId, cudaId FROM TARGET_INFO_CUDA_DEVICE ORDER BY gpuId")]
    tap.ok(rows == [(u, n) for n, u in enumerate(by_number)] and devices == [(*row, 0) for row in rows], f"{name}: SQLite: GPUs have their numbers, processes their own", (rows, devices))
    for path in (report.path, database):
        text = {which: list(csv.DictReader(io.StringIO(trace("stats", "-r", which, "-f", "csv", path).out.decode()))) for which in ("cuda_memory_sum", "cuda_memory_trace", "cuda_memory_live", "cuda_kern_exec_sum")}
        got = {which: {(int(row["PID"]), int(row.get("Device ID") or row.get("DevId"))) for row in rows} for which, rows in text.items()}
        tap.ok(all(found and found <= set(number_of.items()) for found in got.values()) and got["cuda_memory_sum"] == set(number_of.items()), f"{name}: trace stats", (got, number_of))
        lines = trace("query", "-f", "csv", path, "SELECT DISTINCT globalPid >> 24 & 0xffffff AS pid, deviceId FROM CUDA_MEMORY_USE ORDER BY 2").out.decode().split()[1:]
        tap.ok(lines == [f"{p},{n}" for p, n in sorted(number_of.items(), key=lambda of: of[1])], f"{name}: trace query", lines)
    traced = {row["Device"][-3:] for row in csv.DictReader(io.StringIO(trace("stats", "-r", "cuda_gpu_trace", "-f", "csv", database).out.decode()))}
    tap.ok(traced <= {"(0)", "(1)"} and traced, f"{name}: cuda_gpu_trace", traced)
    again = Perfetto(exported(Report(database), "perfetto", "perfetto-trace", "-f", "true")[0])
    have = collections.Counter((gpus[s["gpu"]], s["duration"]) for s in again.stages)
    tap.ok([one(gpu, 5).hex() for gpu in again.gpus] == gpus and have, f"{name}: Perfetto of the database: the same GPUs", (have, again.gpus))


def steps():
    report = of_program("nvtx_launch", LIBTRACE_TRACE="cuda,nvtx", LIBTRACE_NVTX_BACKTRACE_THRESHOLD="0")
    if not report:
        return
    events = report.events()
    perfetto_is_the_report(report, events, True)
    xplane_is_the_report(report, events, "step")
    made = chrome_is_the_report(report, events, "step")
    shared = collections.Counter((e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset"), e["args"]["correlation"]) for e in (made or {"traceEvents": ()})["traceEvents"]
                                 if "correlation" in e.get("args", {}) and e["cat"] != "cuda_sync")
    tap.ok(shared and max(shared.values()) == 1, "a correlation id belongs to one call and one device event, since readers join by it", shared.most_common(3))
    wanted = sorted((e["start_ns"], e["duration_ns"]) for e in events if e["kind"] == "nvtx_range" and e["text"] == "step")
    have = [(e["name"], round(e["ts"] * 1000), round(e["dur"] * 1000)) for e in (made or {"traceEvents": ()})["traceEvents"]
            if e["name"].startswith("ProfilerStep#")]
    tap.ok(wanted and have == [(f"ProfilerStep#{n}", *entry) for n, entry in enumerate(wanted)], "--steps names the steps of the program", f"{wanted} {have}")
    for kind in ("chrome", "xplane", "xplane-tools"):
        for pattern, lines in (("nosuch*", 1), ("st?p", 0)):
            result = trace("export", "-t", kind, "-f", "true", "--steps", pattern, "-o", report.path + "." + kind, report.path)
            told = [line for line in result.err.decode().splitlines() if "no step" in line and pattern in line]
            tap.ok(result.status == 0 and len(told) == lines, f"{kind}: --steps {pattern}: {'a range matches' if not lines else 'no range matches, which is reported'}", result.err)


def waits():
    """Chrome's JSON has waits as the PyTorch profiler does: in the process of their device, with their stream and the record of the event that they are for.
    Calls within others are not of its categories."""
    reason = device.missing("waited_gpu")
    if reason:
        tap.skip("waits for devices", reason)
        return
    report = device.recorded([device.app("waited_gpu"), "event"], LIBTRACE_TRACE="cuda")
    path, _ = exported(report, "chrome", "trace.json") if report else (None, None)
    if not path:
        return
    slices = [e for e in json.load(open(path, encoding="utf-8"))["traceEvents"] if e["ph"] == "X"]
    calls = {e["args"]["correlation"]: e["name"] for e in slices if e["cat"] == "cuda_runtime"}
    kernels = [e for e in slices if e["cat"] == "kernel"]
    synced = [e for e in slices if e["cat"] == "cuda_sync"]
    streams = [calls.get(e["args"]["correlation"]) for e in slices if e["cat"] == "cuda_sync" and e["name"] == "Stream Sync"]
    tap.ok(synced and {e["pid"] for e in synced} == {e["pid"] for e in kernels} and streams == ["cudaStreamSynchronize"], "waits are in the process of their device", synced)
    awaited = [(e["args"], calls.get(e["args"].get("wait_on_cuda_event_record_corr_id"))) for e in synced if e["name"] == "Stream Wait Event"]
    third = next(e["args"]["stream"] for e in kernels if "third" in e["name"])
    tap.ok([(name, args["wait_on_stream"], args["stream"] != third) for args, name in awaited] == [("cudaEventRecord", third, True)],
           "a wait for an event has the call that recorded it, and the stream", awaited)
    inner = [e for e in slices if e["args"].get("level")]
    tap.ok(inner and {e["cat"] for e in inner} == {"cuda_api"}, "calls within others have a category of their own", inner[:3])


def of_nvtx():
    for name in ("nvtx_random", "nvtx_payloads", "nvtx_counters"):
        if not os.path.exists(app(name)):
            tap.skip("NVTX", "built without headers of NVTX")
            return
        report = recorded([app(name)], LIBTRACE_TRACE="nvtx,osrt")
        if not report:
            continue
        events = report.events()
        found = perfetto_is_the_report(report, events, any(e.get("callchain") for e in events))
        made = chrome_is_the_report(report, events)
        if not found or not made:
            continue
        wanted = collections.Counter(e["text"] for e in events if e["kind"] == "nvtx_mark")
        for have in ((m["name"] for m in found.moments if m["category"] == "nvtx"), (e["name"] for e in made["traceEvents"] if e.get("cat") == "nvtx" and e["ph"] == "i")):
            tap.ok(wanted == collections.Counter(have), "marks have no duration", wanted)
        payloads_are_there(found, made, events)
        if name == "nvtx_counters":
            samples_are_there(found, made, events)


def payloads_are_there(found, made, events):
    wanted = [e["payload"] for e in events if e["kind"] in ("nvtx_range", "nvtx_mark", "nvtx_start_end") and isinstance(e.get("payload"), (dict, list))]
    entries = [s["arguments"]["payload"] for s in (*found.slices, *found.moments) if "payload" in s["arguments"]]
    have = [p for p in (json.loads(one(a, 9)) for a in entries if 9 in a) if isinstance(p, (dict, list))]
    tap.ok(sorted(map(json.dumps, wanted)) == sorted(map(json.dumps, have)), f"{len(wanted)} extended payloads are JSON", f"{len(have)}")
    have = [e["args"]["payload"] for e in made["traceEvents"] if isinstance(e.get("args", {}).get("payload"), (dict, list))]
    tap.ok(sorted(map(json.dumps, wanted)) == sorted(map(json.dumps, have)), "in both", f"{len(have)}")


def samples_are_there(found, made, events):
    wanted = sorted(float(e["payload"]) for e in events if e["kind"] == "nvtx_sample" and isinstance(e["payload"], (int, float)) and "payload_id" not in e)
    tap.ok(wanted and wanted == sorted(float(value) for _, _, value in found.values), "samples that are numbers are values of counters", f"{wanted}")
    have = sorted(float(e["args"]["value"]) for e in made["traceEvents"] if e["ph"] == "C")
    tap.ok(wanted == have, "in both", have)


def nothing_half_written():
    report = recorded(["/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8; do /bin/true; done"])
    if not report:
        return
    place = os.path.dirname(report.path)
    for kind in ("perfetto", "chrome", "xplane"):
        before = sorted(os.listdir(place))
        result = trace("export", "-t", kind, "-o", "/dev/full", report.path)
        tap.ok(result.status == 2 and b"No space left" in result.err and sorted(os.listdir(place)) == before, f"{kind}: a full disk is reported, and no file is left", result.err)
        result = trace("export", "-t", kind, "-o", os.path.join(place, "r.rep/x"), report.path)
        tap.ok(result.status == 2 and b"r.rep/x" in result.err, f"{kind}: so is a folder that is none", result.err)
    listed = trace("export", "--list").out.decode()
    heading, rule, *lines = listed.split("\n\n")[0].splitlines()
    begins = [heading.index(name) for name in ("Format", "File", "What it is", "Carries", "Loses")]
    formats = [[line[begin:end].strip() for begin, end in zip(begins, [*begins[1:], None])] for line in lines if not line.startswith(" ")]
    tap.ok(len(formats) >= 13 and all(all(row) for row in formats), "--list is one table that says of each format what it carries and loses", listed)
    narrow = trace("export", "--list", env={**os.environ, "COLUMNS": "80"}).out.decode().split("\n\n")[0]
    tap.ok(max(map(len, narrow.splitlines())) <= 80 and narrow.split()[0] == "Format", "the list of formats fits a terminal of 80 columns", narrow)


def processes_are_called_what_was_executed():
    """Check a program that is started by another name of its file, as `cc` is, and a child of it that executes nothing."""
    place = folder()
    called, bash = os.path.join(place, "called-so"), os.path.realpath("/bin/bash")
    os.symlink(bash, called)
    report = recorded([called, "-c", "(sleep 0.01); (exec 3</dev/null; exec 3<&-); true"], name="called-so")
    if not report:
        return
    label = f"called-so [{os.path.basename(bash)}]"
    found = {}
    chrome = json.loads(trace("export", "-t", "chrome", "-o", "-", report.path).out)["traceEvents"]
    found["chrome"] = {e["args"]["name"] for e in chrome if e["name"] == "process_name"}
    perfetto = Perfetto(exported(report, "perfetto", "perfetto-trace")[0])
    found["perfetto"] = {one(fields(one(track, 3)), 6).decode() for track in perfetto.tracks.values() if 3 in track}
    scope = json.loads(trace("export", "-t", "speedscope", "-o", "-", report.path).out)["profiles"]
    found["speedscope"] = {re.match(r"(.*) \(\d+\) .* \(\d+\), (over time|by callchain)$", p["name"])[1] for p in scope}
    for kind, names in found.items():
        tap.ok(names in ({label, "sleep"}, {label, "sleep [coreutils]"}), f"{kind}: processes are called what was executed, with their file", names)
    names = {row.split(",")[0] for row in trace("query", "-f", "csv", report.path, "SELECT name FROM PROCESSES").out.decode().split()[1:]}
    names_too = {row.split(",")[0] for row in trace("query", "-f", "csv", report.path, "SELECT name FROM LIBTRACE_PROCESS").out.decode().split()[1:]}
    tap.ok(names == {"called-so", "sleep"} == names_too, "the names in a database", (names, names_too))
    text = trace("export", "-t", "nvtxt", "-o", "-", report.path)
    tap.ok(b"called-so" in text.out or text.status == 2, "the names in NVTXT", text)


def input_is_no_output():
    """Check that no command overwrites its input, under any name of the same file, whatever --force-overwrite says."""
    report = recorded(["/bin/true"])
    if not report:
        return
    with open(report.path, "rb") as file:
        before = file.read()
    link = report.path + ".link.ncu-rep"
    os.link(report.path, link)
    commands = [("export", "-t", kind) for kind in ("json", "folded", "speedscope", "nvtxt", "perfetto", "chrome", "xplane", "sqlite", "ncu", "atp")]
    commands = [(*command, "-f", "true", "-o", output) for command in [*commands, ("report", "--html")] for output in (report.path, link)]
    commands += [("export", "-t", "ncu", "-f", "true"), ("stats", "-o", report.path), ("derive", "--metrics", "x", "-f", "true", "-o", link)]
    for command in commands:
        read = report.path if "-o" in command else link
        result = trace(*command, read)
        with open(read, "rb") as file:
            same = file.read() == before
        lines = result.err.decode().splitlines()
        told = len(lines) == 1 and "it is the input" in lines[0] and os.path.basename(read) in lines[0]
        tap.ok(result.status == 2 and told and same and not result.out, f"{' '.join(command[:3])}: the input is no output, and stays", (command, result.status, lines, same))
    for kind in ("parquet", "sqlite", "xplane-tools"):
        result = trace("export", "-t", kind, "-o", "-", report.path, cwd=os.path.dirname(report.path))
        told = result.err.decode().splitlines()
        tap.ok(result.status == 2 and len(told) == 1 and "standard output" in told[0] and not os.path.lexists(os.path.join(os.path.dirname(report.path), "-")),
               f"{kind} does not go to standard output, nor to a file of that name", told)
    for kind in ("perfetto", "json", "xplane-tools"):
        result = trace("export", "-t", kind, report.path, report.path)
        tap.ok(result.status == 2 and b"several reports, but no output file given" in result.err, f"{kind} of several reports has no name of its own", result.err)
    tap.ok(sorted(os.listdir(os.path.dirname(report.path))).count("r.rep") == 1 and trace("check", report.path).status == 0, "the report is still sound")


if __name__ == "__main__":
    main(of_a_device, of_visible_devices, steps, waits, of_nvtx, of_samples, of_the_gil, nothing_half_written, processes_are_called_what_was_executed, input_is_no_output)
