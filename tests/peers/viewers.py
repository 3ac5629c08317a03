#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Read our exports by the packages of the viewers: XProf (xprof), Holistic Trace Analysis, Perfetto's messages and its trace_processor, Firefox's profiler, Google's pprof.

VIEWERS names a virtual environment with the packages of tests/peers/viewers.txt (default: build/viewers); tests of a package that is not installed are skipped.
FIREFOX: a folder made by npm install --prefix FOLDER node@24 @firefox-devtools/profiler-cli@0.10.0 (default: build/firefox).
No package of PyPI or Debian has trace_processor: TRACE_PROCESSOR names the program, or the package perfetto fetches the one of its version. CUDA programs run on
the simulated device: these tests have not run on a GPU."""
import collections
import contextlib
import csv
import io
import json
import os
import re
import shutil
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import libdevice as device  # noqa: E402
from timeline_export import SLICES  # noqa: E402
from lib import BUILD, Report, app, clean_env, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

PYTHON = os.path.join(os.environ.get("VIEWERS") or os.path.join(BUILD, "viewers"), "bin/python3")
PROCESSOR = os.environ.get("TRACE_PROCESSOR")
FIREFOX = os.path.join(os.environ.get("FIREFOX") or os.path.join(BUILD, "firefox"), "node_modules")


def has(module):
    return os.path.exists(PYTHON) and run([PYTHON, "-c", f"import {module}"], env=clean_env(), limit=60).status == 0


def asked(program, *arguments, **env):
    """Run a Python program; return the last line that it prints, parsed as JSON."""
    result = run([PYTHON, "-c", program, *arguments], env=clean_env(TF_CPP_MIN_LOG_LEVEL="3", HOME=folder(), **env), limit=120)
    if result.status != 0:
        raise RuntimeError(f"{result.status} {result.err[-2000:]!r}")
    return json.loads(result.out.splitlines()[-1])


def recorded(name, **options):
    """Trace a CUDA program on the simulated device; return its report, or None if the program cannot run here."""
    reason = device.missing(name)
    if reason:
        tap.skip(name, reason)
        return None
    work, spool = folder(), spool_folder()
    report = Report(os.path.join(work, "r.rep"))
    result = run([device.app(name)], env=device.env(base=traced_env(report.path, spool, LIBTRACE_TRACE="cuda,nvtx,osrt", **options)), cwd=work)
    return report if tap.ok(wait_spool_gone(spool, 30) and result.status == 0, f"{name}: recorded", result.err) else None


def exported(report, kind, suffix, *options):
    path = os.path.splitext(report.path)[0] + "." + suffix
    trace("export", "-t", kind, *options, report.path, limit=100)
    return path


def stats(report, name):
    return list(csv.DictReader(io.StringIO(trace("stats", "-r", name, "-f", "csv", report.path).out.decode())))


XPROF = """
import json, sys
from xprof.convert import raw_to_tool_data
found = {}
for tool in sys.argv[2:]:
    data, _ = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], tool, {})
    found[tool] = json.loads(data)
print(json.dumps(found))
"""


def rows_of(table):
    names = [column["id"] for column in table["cols"]]
    return [{name: cell["v"] for name, cell in zip(names, row["c"])} for row in table["rows"]]


def xprof_reads_it():
    if not has("xprof"):
        tap.skip("XProf", f"no xprof in {PYTHON}")
        return
    for name, step in (("nvtx_launch", "step"), ("pipeline", None), ("vector_add", None)):
        report = recorded(name)
        if not report:
            continue
        path = exported(report, "xplane", "xplane.pb", *(("--steps", step) if step else ()))
        events = report.events()
        found = asked(XPROF, path, "kernel_stats", "memory_profile", "overview_page", "trace_viewer", "framework_op_stats")
        kernels_are_ours(found["kernel_stats"], report)
        memory_is_ours(found["memory_profile"], events)
        operations_are_ours(found["framework_op_stats"][0], report, events)
        viewer_has_all(found["trace_viewer"]["traceEvents"], events)
        if step:
            tap.ok(any(table.get("p", {}).get("device_compute_32bit_percent") == "100.0%" for table in found["overview_page"]), "the overview has the device's time")
            steps_are_ours(found, events, step)


def kernels_are_ours(table, report):
    have = collections.defaultdict(lambda: [0, 0])
    for row in rows_of(table):
        have[row["kernel_name"]][0] += int(row["occurrences"])
        have[row["kernel_name"]][1] += round(row["total_duration_us"] * 1000)
    wanted = {row["Name"]: [int(row["Instances"]), int(row["Total Time (ns)"])] for row in stats(report, "cuda_gpu_kern_sum")}
    tap.ok(wanted and wanted == dict(have), "kernel statistics: names, counts and durations are those of trace stats", f"{wanted} {dict(have)}")
    wanted = {(row["Name"], ",".join(re.findall(r"\d+", row["GridXYZ"])), ",".join(re.findall(r"\d+", row["BlockXYZ"]))): int(row["Instances"])
              for row in stats(report, "cuda_gpu_kern_gb_sum")}
    have = collections.Counter()
    for row in rows_of(table):
        have[row["kernel_name"], row["grid_dim"], row["block_dim"]] += int(row["occurrences"])
    tap.ok(wanted == dict(have), "by shape", f"{wanted} {dict(have)}")


def memory_is_ours(profile, events):
    sums, peaks, counts = collections.Counter(), collections.Counter(), collections.Counter()
    for event in (e for e in events if e["kind"] == "cuda_memory"):
        sums[event["memory_kind"]] += event["bytes"] if event["operation"] == 1 else -event["bytes"]
        peaks[event["memory_kind"]] = max(peaks[event["memory_kind"]], sums[event["memory_kind"]])
        counts[event["memory_kind"]] += 1
    found = profile.get("memoryProfilePerAllocator", {}).values()
    have = sorted((int(p["profileSummary"]["peakBytesUsageLifetime"]), len(p["sampledTimelineSnapshots"])) for p in found)
    tap.ok(sorted((peaks[kind], counts[kind]) for kind in counts) == have, "memory profile: peaks and counts by kind of memory", f"{peaks} {counts} {have}")


def viewer_has_all(found, events):
    wanted = collections.Counter(e["duration_ns"] for e in events if e["kind"] in ("cuda_kernel", "cuda_memcpy", "cuda_api", "osrt_call", "nvtx_range"))
    have = collections.Counter(round(e["dur"] * 1000) for e in found if e.get("ph") == "X")
    tap.ok(not wanted - have, "the trace viewer has every event", wanted - have)
    arrows = collections.Counter(e["args"]["correlation_id"] for e in found if e.get("ph") == "X" and "correlation_id" in e.get("args", {}) and "flow" in e["args"])
    joined = {str(e["correlation_id"]) for e in events if e["kind"] in ("cuda_kernel", "cuda_memcpy")} & {str(e["correlation_id"]) for e in events if e["kind"] == "cuda_api"}
    tap.ok(joined and all(arrows[number] >= 2 for number in joined), "with arrows from calls to the device", joined - set(arrows))


def steps_are_ours(found, events, step):
    wanted = [e["duration_ns"] for e in sorted((e for e in events if e["kind"] == "nvtx_range" and e["text"] == step), key=lambda e: e["start_ns"])]
    marks = {int(e["args"]["step_num"]): round(e["dur"] * 1000) for e in found["trace_viewer"]["traceEvents"] if e.get("ph") == "X" and "step_num" in e.get("args", {})}
    tap.ok(wanted and [marks.get(n) for n in range(len(wanted))] == wanted, "steps: as many and as long as the NVTX ranges", f"{wanted} {marks}")
    table = next(t for t in found["overview_page"] if any(c["id"] == "stepnum" for c in t["cols"]))
    have = {row["stepnum"]: round(row["deviceComputeTimeMs"] * 1e6) for row in rows_of(table)}
    ranges = sorted((e for e in events if e["kind"] == "nvtx_range" and e["text"] == step), key=lambda e: e["start_ns"])
    calls = {e["correlation_id"]: e for e in events if e["kind"] == "cuda_api" and e["level"] == 0}
    kernels = [e for e in events if e["kind"] == "cuda_kernel"]
    begins = [min(k["start_ns"] for k in kernels if lies_in(calls[k["correlation_id"]], r)) for r in ranges]
    ends = [*begins[1:], 1 << 63]
    busy = {str(n): busy_ns([(k["start_ns"], k["start_ns"] + k["duration_ns"]) for k in kernels if begins[n] <= k["start_ns"] < ends[n]]) for n in range(len(ranges))}
    tap.ok(busy == have, "with what the device did from a step's first kernel to that of the next", f"{busy} {have}")


def busy_ns(spans):
    """Return the time in which the device was busy, the union of the spans: kernels of two streams may run at the same time."""
    found = until = 0
    for start, end in sorted(spans):
        found += max(0, end - max(start, until))
        until = max(until, end)
    return found


def operations_are_ours(table, report, events):
    """Check the table of operations: those of the host are the NVTX ranges, where XProf adds up ranges with the same text; those of the device are its work for
    the calls in a range.
    """
    have = collections.Counter()
    for row in rows_of(table):
        have[row["host_or_device"], row["operation"].split("/")[0]] += round(row["total_time"] * 1000)
    have = collections.Counter({key: ns for key, ns in have.items() if key[1] != "IDLE"})
    wanted = collections.Counter()
    for event in events:
        if event["kind"] in ("nvtx_range", "nvtx_start_end"):
            wanted["Host", event["text"].replace(":", "_")] += event["duration_ns"]
    tap.ok(wanted == collections.Counter({k: v for k, v in have.items() if k[0] == "Host"}), "operations of the host are NVTX ranges", f"{wanted} {have}")
    work = sum(e["duration_ns"] for e in events if e["kind"] in ("cuda_kernel", "cuda_memcpy", "cuda_memset"))
    device_ns = [v for k, v in have.items() if k[0] == "Device"]
    tap.ok(work and sum(device_ns) == work and len(device_ns) > bool(wanted), "those of the device are all it did, by NVTX range", f"{work} {have} {report.path}")


def lies_in(call, around):
    return around["tid"] == call["tid"] and around["start_ns"] <= call["start_ns"] < around["start_ns"] + around["duration_ns"]


TOOLS = """
import json, os, shutil, sys
from google.protobuf import json_format
from google.protobuf.unknown_fields import UnknownFieldSet
from xprof.convert import raw_to_tool_data
from xprof.protobuf import kernel_stats_pb2, memory_profile_pb2, op_metrics_pb2, op_stats_pb2, steps_db_pb2, trace_events_old_pb2
KINDS = {"kernel_stats": kernel_stats_pb2.KernelStatsDb, "step_db": steps_db_pb2.StepDatabaseResult, "host_op_metrics": op_metrics_pb2.OpMetricsDb, "op_stats": op_stats_pb2.OpStats,
         "device_op_metrics": op_metrics_pb2.OpMetricsDb, "memory_profile": memory_profile_pb2.MemoryProfile, "trace": trace_events_old_pb2.Trace}
unknown = []
def look(message, path):
    unknown.extend(f"{path}/{field.field_number}" for field in UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type:
            for part in (value.values() if hasattr(value, "values") else value if hasattr(value, "append") or hasattr(value, "add") else [value]):
                if hasattr(part, "ListFields"):
                    look(part, f"{path}/{field.name}")
def read(path, kind):
    message = kind()
    with open(path, "rb") as file:
        message.ParseFromString(file.read())
    look(message, kind.__name__)
    return message
as_dict = lambda message: json_format.MessageToDict(message, preserving_proto_field_name=True)
xplane, folder = sys.argv[1:]
ours = {name: as_dict(read(os.path.join(folder, name + ".pb"), kind)) for name, kind in KINDS.items()}
tools = ("kernel_stats", "framework_op_stats", "overview_page", "pod_viewer")
shown = [{tool: json.loads(raw_to_tool_data.xspace_to_tool_data([xplane], tool, {})[0]) for tool in (*tools, "memory_profile")}]
cache = os.path.join(os.path.dirname(xplane), "ALL_HOSTS.op_stats_v2.pb")
theirs = as_dict(read(cache, op_stats_pb2.OpStats))
shutil.copyfile(os.path.join(folder, "op_stats.pb"), cache)
shown.append({tool: json.loads(raw_to_tool_data.xspace_to_tool_data([xplane], tool, {})[0]) for tool in tools})
print(json.dumps({"ours": ours, "theirs": theirs, "shown": shown, "unknown": unknown}))
"""


def xprof_makes_the_same_messages():
    if not has("xprof"):
        tap.skip("XProf's messages", f"no xprof in {PYTHON}")
        return
    for name, step in (("nvtx_launch", "step"), ("pipeline", None)):
        report = recorded(name)
        if not report:
            continue
        steps = ("--steps", step) if step else ()
        found = asked(TOOLS, exported(report, "xplane", "xplane.pb", *steps), exported(report, "xplane-tools", "xplane-tools", *steps))
        tap.ok(not found["unknown"], f"{name}: every field is one of XProf's messages", found["unknown"])
        ours, theirs = found["ours"], found["theirs"]
        same_kernels(ours["kernel_stats"], theirs["kernel_stats_db"])
        same_operations(ours["device_op_metrics"], theirs["device_op_metrics_db"], "device")
        same_operations(ours["host_op_metrics"], theirs["host_op_metrics_db"], "host")
        same_steps(ours["step_db"], theirs["step_db"])
        same_memory(ours["memory_profile"], found["shown"][0]["memory_profile"])
        same_pages(*found["shown"], step)


def same_kernels(ours, theirs):
    def rows(message):
        return sorted((k["name"], k["op_name"], k["block_dim"], k["grid_dim"], k["occurrences"], k["total_duration_ns"], k["min_duration_ns"], k["max_duration_ns"],
                       k.get("registers_per_thread"), k.get("static_shmem_bytes"), k.get("dynamic_shmem_bytes"), k.get("occupancy_pct")) for k in message["reports"])
    tap.ok(rows(ours) == rows(theirs), "KernelStatsDb is XProf's", f"{ours} {theirs}")


def same_operations(ours, theirs, which):
    """Compare operations by name. For the host, XProf adds up ranges with the same text, and its idle time of threads is not compared."""
    def rows(message):
        found = collections.defaultdict(lambda: [0, 0, 0])
        for row in message.get("metrics_db", ()):
            if row["name"] != "IDLE":
                entry = found[row["name"]]
                entry[:] = [entry[0] + int(row.get("occurrences", 0)), entry[1] + int(row.get("time_ps", 0)), entry[2] + int(row.get("self_time_ps", 0))]
        return dict(found)
    tap.ok(rows(ours) == rows(theirs) and ours.get("total_op_time_ps") == theirs.get("total_op_time_ps"), f"OpMetricsDb of the {which} is XProf's", f"{ours} {theirs}")
    if which == "device":  # XProf counts concurrent work twice
        idle = [int(next(r["time_ps"] for r in m["metrics_db"] if r["name"] == "IDLE")) for m in (ours, theirs)]
        twice = int(ours["total_op_time_ps"]) - int(ours["busy_time_ps"])
        tap.ok(ours["total_time_ps"] == theirs["total_time_ps"] and idle[0] == idle[1] + twice, "with the time in all, and idle time", f"{ours} {theirs}")


def same_steps(ours, theirs):
    def rows(message):
        return [(s.get("step_num", 0), core, info.get("begin_ps"), info.get("duration_ps"), {k: v for k, v in info["step_breakdown"]["type_ps"].items() if v != "0"},
                 [(t.get("occurrence"), t.get("time_us"), t.get("bytes_transferred")) for t in s["device_memory_transfers"]])
                for s in message.get("step_sequence", ()) for core, info in s["step_info_per_core"].items()]
    tap.ok(rows(ours) == rows(theirs), "StepDatabaseResult is XProf's", f"{rows(ours)} {rows(theirs)}")


def same_memory(ours, theirs):
    def rows(profile):
        found = {}
        for name, allocator in profile.items():
            summary = allocator.get("profile_summary") or allocator.get("profileSummary")
            snapshots = allocator.get("sampled_timeline_snapshots") or allocator.get("sampledTimelineSnapshots")
            whole = json.loads(re.sub(r"_([a-z])", lambda m: m[1].upper(), json.dumps([summary, snapshots])))
            found[name] = (whole[0]["peakBytesUsageLifetime"], whole[0]["peakStatsTimePs"],
                           [(s["timeOffsetPs"], s["aggregationStats"].get("heapAllocatedBytes", "0"), s["aggregationStats"]["peakBytesInUse"],
                             s["activityMetadata"]["memoryActivity"], s["activityMetadata"]["allocationBytes"], s["activityMetadata"]["address"]) for s in whole[1]])
        return found
    mine, xprofs = rows(ours["memory_profile_per_allocator"]), rows(theirs["memoryProfilePerAllocator"])
    tap.ok(mine and mine == xprofs, "MemoryProfile is XProf's", f"{mine} {xprofs}")


def same_pages(theirs, ours, step):
    """Check that XProf shows the same pages for its messages and for ours."""
    tap.ok(rows_of(theirs["kernel_stats"]) == rows_of(ours["kernel_stats"]) != [], "its page of kernels is the same of our OpStats", ours["kernel_stats"])
    pages = [{(r["host_or_device"], r["operation"]): (r["occurrences"], r["total_time"]) for r in rows_of(found["framework_op_stats"][1]) if r["host_or_device"] == "Device"}
             for found in (theirs, ours)]
    tap.ok(pages[0] == pages[1] != {}, "that of operations", pages)
    if step:
        tables = [next(t for t in found["overview_page"] if any(c["id"] == "stepnum" for c in t["cols"])) for found in (theirs, ours)]
        rows = [[(r["stepnum"], r["deviceComputeTimeMs"]) for r in rows_of(table)] for table in tables]
        tap.ok([(f"{step} {n}", ms) for n, ms in rows[0]] == rows[1] != [], "and the overview's steps", rows)


COPIES = {1: "Memcpy HtoD", 2: "Memcpy DtoH", 8: "Memcpy DtoD"}
HTA = """
import json, logging, os, sys
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, include_last_profiler_step=True)
_, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=1000)
frame, names = analysis.t.get_trace(0), analysis.t.symbol_table.get_sym_table()
mean = {row["name"]: row["mean (us)"] for _, row in kernels.iterrows()}
rows = frame[(frame["stream"] >= 0) & (frame["cat"].map(lambda n: names[n]) != "cuda_sync")]
summary = analysis.get_memory_bw_summary()
bandwidth = {} if summary is None else {name[-1] if isinstance(name, tuple) else name: float(value) for name, value in summary[("memory_bw_gbps", "mean")].items()}
counts = {names[n]: int(c) for n, c in rows["name"].value_counts().items()}
print(json.dumps({"sums": {row["name"]: row["sum (us)"] for _, row in kernels.iterrows()}, "counts": counts, "bandwidth": bandwidth,
                  "joined": int((rows["index_correlation"] >= 0).sum()),
                  "steps": sorted({names[n] for n in frame["name"] if names[n].startswith("ProfilerStep#")})}))
"""


def holistic_trace_analysis_reads_it():
    if not has("hta.trace_analysis"):
        tap.skip("Holistic Trace Analysis", f"no HolisticTraceAnalysis in {PYTHON}")
        return
    for name, step in (("nvtx_launch", "step"), ("pipeline", None)):
        report = recorded(name)
        if not report:
            continue
        path = exported(report, "chrome", "trace.json", *(("--steps", step) if step else ()))
        found = asked(HTA, path, HTA_DISABLE_NS_ROUNDING="1")
        kernels = {row["Name"]: [int(row["Instances"]), int(row["Total Time (ns)"])] for row in stats(report, "cuda_gpu_kern_sum")}
        have = {n: [found["counts"][n], round(found["sums"][n] * 1000)] for n in kernels if n in found["sums"]}
        tap.ok(kernels and kernels == have, f"{name}: names, counts and durations of kernels are those of trace stats", f"{kernels} {have}")
        events = report.events()
        work = [e for e in events if e["kind"] in ("cuda_kernel", "cuda_memcpy", "cuda_memset") and e["correlation_id"]]
        speeds = collections.defaultdict(list)
        for event in (e for e in work if e["kind"] == "cuda_memcpy"):
            speeds[COPIES[event["copy_kind"]]].append(event["bytes"] / event["duration_ns"])
        tap.ok(all(abs(found["bandwidth"].get(n, 0) - sum(v) / len(v)) < 0.01 * max(v) for n, v in speeds.items()), "bandwidths of copies are those of the events",
               f"{found['bandwidth']} {dict(speeds)}")
        tap.ok(found["joined"] == len(work), "work of the device is joined with its calls", f"{found['joined']} {len(work)}")
        if step:
            count = sum(e["kind"] == "nvtx_range" and e["text"] == step for e in events)
            tap.ok(len(found["steps"]) == count, "the steps are there", found["steps"])


MESSAGES = """
import collections, json, sys
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2
# GpuCorrelation, an extension that the package does not have: protos/perfetto/trace/gpu/gpu_track_event.proto of google/perfetto
parent = perfetto_trace_pb2.TrackEvent.DESCRIPTOR
file = descriptor_pb2.FileDescriptorProto(name="gpu_track_event.proto", package="perfetto.protos", syntax="proto2", dependency=[parent.file.name])
message = file.message_type.add(name="GpuCorrelation")
for number, name in enumerate(("render_stage_submission_event_ids", "render_stage_wait_event_ids"), 1):
    message.field.add(name=name, number=number, label=3, type=4)
file.extension.add(name="gpu_correlation", number=3000, label=1, type=11, type_name=".perfetto.protos.GpuCorrelation", extendee="." + parent.full_name)
pool = parent.file.pool
pool.Add(file) if hasattr(pool, "Add") else pool.AddSerializedFile(file.SerializeToString())
correlation = pool.FindExtensionByName("perfetto.protos.gpu_correlation")
message_factory.GetMessageClass(correlation.message_type)
trace = perfetto_trace_pb2.Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
unknown = collections.Counter()
def look(message, path):
    for field in UnknownFieldSet(message):
        unknown[f"{path}/{field.field_number}"] += 1
    for field, value in message.ListFields():
        if field.message_type:
            for part in value if hasattr(value, "append") or hasattr(value, "add") else [value]:
                look(part, f"{path}/{field.name}")
look(trace, "")
submitted = [i for p in trace.packet if p.HasField("track_event") and p.track_event.HasExtension(correlation)
             for i in p.track_event.Extensions[correlation].render_stage_submission_event_ids]
types = collections.Counter(p.track_event.type for p in trace.packet if p.HasField("track_event"))
stages = [p.gpu_render_stage_event for p in trace.packet if p.HasField("gpu_render_stage_event")]
print(json.dumps({"submitted": submitted, "stage_ids": sorted({s.event_id for s in stages}), "unknown": unknown, "types": types, "stages": len(stages), "ns": sum(s.duration for s in stages),
                  "gpus": [[g.name, g.uuid.hex()] for p in trace.packet for g in p.gpu_info.gpus], "clock": trace.packet[0].clock_snapshot.primary_trace_clock,
                  "samples": sum(p.HasField("perf_sample") for p in trace.packet), "threads": sum(p.track_descriptor.HasField("thread") for p in trace.packet), "frames": sum(len(p.interned_data.frames) for p in trace.packet)}))
"""


def perfetto_knows_every_field():
    if not has("perfetto.protos.perfetto.trace.perfetto_trace_pb2"):
        tap.skip("Perfetto's messages", f"no perfetto in {PYTHON}")
        return
    report = recorded("nvtx_launch", LIBTRACE_CUDA_BACKTRACE="all")
    if not report:
        return
    found = asked(MESSAGES, exported(report, "perfetto", "perfetto-trace"))
    tap.ok(not found["unknown"], "every field is one of Perfetto's messages", found["unknown"])
    events = report.events()
    work = [e["duration_ns"] for e in events if e["kind"] in ("cuda_kernel", "cuda_memcpy", "cuda_memset", "cuda_graph_trace")]
    count = sum(e["kind"] in SLICES for e in events) - len(work)
    tap.ok(found["types"]["1"] == found["types"]["2"] == count and found["clock"] == 3, "as many slices as events", f"{found} {count}")
    tap.ok(work and found["stages"] == len(work) and found["ns"] == sum(work), "work of GPUs is typed", (found["stages"], len(work)))
    calls = {e["correlation_id"] for e in events if e["kind"] == "cuda_api" and e["level"] == 0}
    started = {e["correlation_id"] for e in events if e["kind"] in ("cuda_kernel", "cuda_memcpy", "cuda_memset", "cuda_graph_trace")} & calls
    tap.ok(started and set(found["stage_ids"]) <= set(found["submitted"]) and len(set(found["submitted"]) & set(found["stage_ids"])) == len(started),
           "GpuCorrelation leads from each call to the work that it started", (found["submitted"], found["stage_ids"]))
    tap.ok(found["gpus"] == [[e["name"], e["uuid"]] for e in sorted((e for e in events if e["kind"] == "cuda_device"), key=lambda e: e["device_id"])], "and so are GPUs", found["gpus"])
    tap.ok(found["threads"] > 0 and found["frames"] > 0, "with threads, and frames of callchains", found)


def perfetto_knows_samples():
    """Check the messages of CPU samples and of threads' states."""
    if not has("perfetto.protos.perfetto.trace.perfetto_trace_pb2"):
        tap.skip("Perfetto's messages of samples", f"no perfetto in {PYTHON}")
        return
    work, spool = folder(), spool_folder()
    report = Report(os.path.join(work, "r.rep"))
    run([app("accounted"), "threads", "400"], env=traced_env(report.path, spool, LIBTRACE_SAMPLE="process-tree"), cwd=work)
    wait_spool_gone(spool, 30)
    found = asked(MESSAGES, exported(report, "perfetto", "perfetto-trace"))
    count = sum(e["kind"] == "cpu_sample" for e in report.events())
    tap.ok(count and found["samples"] == count and not found["unknown"], "as many samples as in the report, and every field is one of Perfetto's messages", (count, found))


def pprof_reads_it():
    """Compare what Google's pprof of Debian's golang prints with our statistics, of one profile and of the difference of two."""
    go = shutil.which("go")
    if not go:
        tap.skip("pprof", "no go (Debian: golang-go)")
        return
    work, spool, own, paths = folder(), spool_folder(), [], []
    for ms in ("200", "400"):
        report = Report(os.path.join(work, f"{ms}.rep"))
        run([app("sampled"), "split", ms], env=traced_env(report.path, spool, LIBTRACE_SAMPLE="process-tree", LIBTRACE_SAMPLING_FREQUENCY="1000"), cwd=work)
        wait_spool_gone(spool, 30)
        paths.append(exported(report, "pprof", "pprof", "--source", "cpu"))
        own.append(collections.Counter())
        for e in report.events():
            if e["kind"] == "cpu_sample" and e.get("callchain"):
                own[-1][e["callchain"][0]["function"]] += e["cpu_time_ns"]

    def top(*arguments):
        result = run([go, "tool", "pprof", "-top", "-nodecount=1000", "-nodefraction=0", "-edgefraction=0", "-unit=ns", *arguments], env=clean_env(HOME=work), limit=100)
        lines = re.findall(r"^\s*(-?\d+)(?:ns)?\s+\S+\s+\S+\s+\S+\s+\S+\s+(.+?)(?: \(inline\))?$", result.out.decode(), re.MULTILINE)
        return {name: int(ns) for ns, name in lines}
    found = top(paths[1])
    wrong = {name: (ns, found.get(name)) for name, ns in own[1].items() if found.get(name) != ns}
    tap.ok(own[1] and not wrong, "pprof -top: the processor time of each function", (wrong, found))
    found, names = top("-diff_base", paths[0], paths[1]), set(own[0]) | set(own[1])
    wrong = {name: found.get(name) for name in names if found.get(name, 0) != own[1][name] - own[0][name]}
    tap.ok(names and not wrong, "pprof -diff_base: the differences", (wrong, own))


NAMES = "select s.category as category, s.name as name, count(*) as number, sum(s.dur) as ns from slice s group by 1, 2"
COUNTS = "select (select count(*) from slice) as slices, (select count(*) from flow) as flows, (select count(*) from counter) as counters"
SHELL = "import json; from perfetto.trace_processor.platform import PlatformDelegate; print(json.dumps(PlatformDelegate().get_shell_path(None)))"


def processor():
    """Return the path of trace_processor, or None and the reason: TRACE_PROCESSOR, or the program that the package perfetto fetches and checks by SHA-256."""
    if PROCESSOR or not has("perfetto.trace_processor"):
        return PROCESSOR, f"TRACE_PROCESSOR is not set, and there is no perfetto in {PYTHON}"
    try:
        return asked(SHELL), ""
    except RuntimeError as error:
        return None, f"TRACE_PROCESSOR is not set, and the package perfetto could not fetch it: {str(error)[-100:]}"


def queried(program, statement, path):
    query = os.path.join(folder(), "q.sql")
    with open(query, "w", encoding="utf-8") as file:
        file.write(statement + ";\n")
    result = run([program, "-q", query, path], env=clean_env(), limit=120)
    return list(csv.DictReader(io.StringIO(result.out.decode())))


def trace_processor_reads_it():
    """Compare the statistics of trace_processor with ours. Not run so far: no trace_processor was available (not on PyPI, npm or Debian; the package perfetto
    fetches it from a server that could not be reached)."""
    program, reason = processor()
    if not program:
        tap.skip("trace_processor", reason)
        return
    report = recorded("nvtx_launch", LIBTRACE_CUDA_BACKTRACE="all")
    if not report:
        return
    path, events = exported(report, "perfetto", "perfetto-trace", "--gpu-tracks", "generic"), report.events()
    rows = {(r["category"], r["name"]): (int(r["number"]), int(r["ns"])) for r in queried(program, NAMES, path)}
    ours = {("kernel", row["Name"]): (int(row["Instances"]), int(row["Total Time (ns)"])) for row in stats(report, "cuda_gpu_kern_sum")}
    ours.update({("osrt", row["Name"]): (int(row["Num Calls"]), int(row["Total Time (ns)"])) for row in stats(report, "osrt_sum")})
    tap.ok(ours and all(rows.get(key) == value for key, value in ours.items()), "its SQL gives what trace stats says", f"{rows} {ours}")
    calls = {e["correlation_id"] for e in events if e["kind"] == "cuda_api" and e["level"] == 0}
    wanted = {"slices": sum(e["kind"] in (*SLICES, "nvtx_mark", "gap", "child") for e in events),
              "flows": sum(e["kind"] in ("cuda_kernel", "cuda_memcpy", "cuda_memset") and e["correlation_id"] in calls for e in events),
              "counters": sum(e["kind"] in ("cuda_memory", "nvtx_sample") for e in events)}
    have = {name: int(value) for name, value in queried(program, COUNTS, path)[0].items()}
    tap.ok(wanted == have, "as many slices, arrows and values of counters as events", f"{wanted} {have}")


def firefox_reads_it():
    """Compare what Firefox's profiler computes with our statistics: processor time of functions, numbers of markers, threads."""
    node, viewer = os.path.join(FIREFOX, ".bin/node"), os.path.join(FIREFOX, "@firefox-devtools/profiler-cli/dist/profiler-cli.js")
    if not os.path.exists(node) or not os.path.exists(viewer):
        tap.skip("Firefox's profiler", f"no node@24 and @firefox-devtools/profiler-cli in {FIREFOX}")
        return
    work, spool = folder(), spool_folder()
    report = Report(os.path.join(work, "r.rep"))
    run([app("sampled"), "split", "300"], env=traced_env(report.path, spool, LIBTRACE_SAMPLE="process-tree", LIBTRACE_SAMPLING_FREQUENCY="1000"), cwd=work)
    wait_spool_gone(spool, 30)
    path, events = exported(report, "firefox", "firefox.json"), report.events()

    def viewed(*arguments):
        return run([node, viewer, *arguments], env=clean_env(PROFILER_CLI_SESSION_DIR=work), limit=60)
    for _ in range(10):  # its daemon has half a second to start
        loaded = viewed("load", path)
        late = re.search(rb"did not become ready.*kill (\d+)", loaded.err, re.DOTALL)
        if not late:
            break
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(late[1]), signal.SIGKILL)
    if not tap.ok(loaded.status == 0, "Firefox's profiler loads it", (loaded.hung, loaded.out[-500:], loaded.err[-500:])):
        return
    try:
        functions = json.loads(viewed("thread", "functions", "--json", "--thread", "t-0").out)["functions"]
        markers = json.loads(viewed("thread", "markers", "--json", "--thread", "t-0").out)
    finally:
        viewed("stop", "--all")
    ours = collections.Counter()
    for e in events:
        if e["kind"] == "cpu_sample" and e.get("callchain"):
            ours[e["callchain"][0]["function"]] += e["cpu_time_ns"]
    theirs = {f["name"].split("!")[-1]: f["selfSamples"] for f in functions}
    wrong = {name: (theirs.get(name), ns / 1e6) for name, ns in ours.items() if abs(theirs.get(name, 0) - ns / 1e6) > 0.002}
    tap.ok(ours and not wrong, "its processor time of each function is ours", (wrong, theirs))
    calls = collections.Counter(e["function"] for e in events if e["kind"] == "osrt_call")
    shown = {m["markerName"]: m["count"] for m in markers["byType"]}
    tap.ok(calls and all(shown.get(name) == count for name, count in calls.items()), "it has as many markers of each function as there were calls", (calls, shown))


if __name__ == "__main__":
    main(firefox_reads_it, pprof_reads_it, xprof_reads_it, xprof_makes_the_same_messages, holistic_trace_analysis_reads_it, perfetto_knows_every_field, perfetto_knows_samples, trace_processor_reads_it)
