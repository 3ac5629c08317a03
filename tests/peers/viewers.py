#!/usr/bin/env python3
# timeout: 300
"""Our exports as the viewers' own packages read them: XProf (xprof), Holistic Trace Analysis, Perfetto's messages and its trace_processor.

VIEWERS names a virtual environment with tests/peers/viewers.txt in it (default: build/viewers); what is not there is skipped. trace_processor is not on
PyPI: TRACE_PROCESSOR names the program. CUDA programs run on the simulated device; nothing here has run on a GPU."""
import collections
import csv
import io
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import libdevice as device  # noqa: E402
from timeline_export import SLICES  # noqa: E402
from lib import BUILD, Report, clean_env, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

PYTHON = os.path.join(os.environ.get("VIEWERS") or os.path.join(BUILD, "viewers"), "bin/python3")
PROCESSOR = os.environ.get("TRACE_PROCESSOR")


def has(module):
    return os.path.exists(PYTHON) and run([PYTHON, "-c", f"import {module}"], env=clean_env(), limit=60).status == 0


def asked(program, *arguments, **env):
    """What the program prints last, as JSON."""
    result = run([PYTHON, "-c", program, *arguments], env=clean_env(TF_CPP_MIN_LOG_LEVEL="3", HOME=folder(), **env), limit=120)
    if result.status != 0:
        raise RuntimeError(f"{result.status} {result.err[-2000:]!r}")
    return json.loads(result.out.splitlines()[-1])


def recorded(name, **options):
    """A report of a CUDA program; None = it cannot run here."""
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
    ends = [*begins[1:], max(k["start_ns"] for k in kernels if lies_in(calls[k["correlation_id"]], ranges[-1])) + 1]
    busy = {str(n): busy_ns([(k["start_ns"], k["start_ns"] + k["duration_ns"]) for k in kernels if begins[n] <= k["start_ns"] < ends[n]]) for n in range(len(ranges))}
    tap.ok(busy == have, "with what the device did from a step's first kernel to that of the next", f"{busy} {have}")


def busy_ns(spans):
    """Kernels of two streams may run at the same time."""
    found = until = 0
    for start, end in sorted(spans):
        found += max(0, end - max(start, until))
        until = max(until, end)
    return found


def operations_are_ours(table, report, events):
    """By NVTX range: of the device, what it did for the calls in it; of the host, how often and how long. XProf takes ranges of one text as one."""
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


COPIES = {1: "Memcpy HtoD", 2: "Memcpy DtoH", 8: "Memcpy DtoD"}
HTA = """
import json, logging, os, sys
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, include_last_profiler_step=True)
_, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=1000)
frame, names = analysis.t.get_trace(0), analysis.t.symbol_table.get_sym_table()
mean = {row["name"]: row["mean (us)"] for _, row in kernels.iterrows()}
rows = frame[frame["stream"] >= 0]
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
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2
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
types = collections.Counter(p.track_event.type for p in trace.packet if p.HasField("track_event"))
print(json.dumps({"unknown": unknown, "types": types, "clock": trace.packet[0].clock_snapshot.primary_trace_clock,
                  "threads": sum(p.track_descriptor.HasField("thread") for p in trace.packet), "frames": sum(len(p.interned_data.frames) for p in trace.packet)}))
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
    count = sum(e["kind"] in SLICES for e in report.events())
    tap.ok(found["types"]["1"] == found["types"]["2"] == count and found["clock"] == 3, "as many slices as events", f"{found} {count}")
    tap.ok(found["threads"] > 0 and found["frames"] > 0, "with threads, and frames of callchains", found)


QUERY = "select s.category as category, s.name as name, count(*) as number, sum(s.dur) as ns from slice s group by 1, 2"


def trace_processor_reads_it():
    if not PROCESSOR:
        tap.skip("trace_processor", "TRACE_PROCESSOR does not name one")
        return
    report = recorded("nvtx_launch", LIBTRACE_CUDA_BACKTRACE="all")
    if not report:
        return
    query = os.path.join(folder(), "q.sql")
    with open(query, "w", encoding="utf-8") as file:
        file.write(QUERY + ";\n")
    result = run([PROCESSOR, "-q", query, exported(report, "perfetto", "perfetto-trace")], env=clean_env(), limit=120)
    rows = {(r["category"], r["name"]): (int(r["number"]), int(r["ns"])) for r in csv.DictReader(io.StringIO(result.out.decode()))}
    ours = {("kernel", row["Name"]): (int(row["Instances"]), int(row["Total Time (ns)"])) for row in stats(report, "cuda_gpu_kern_sum")}
    ours.update({("osrt", row["Name"]): (int(row["Num Calls"]), int(row["Total Time (ns)"])) for row in stats(report, "osrt_sum")})
    tap.ok(ours and all(rows.get(key) == value for key, value in ours.items()), "its SQL gives what trace stats says", f"{rows} {ours}")


if __name__ == "__main__":
    main(xprof_reads_it, holistic_trace_analysis_reads_it, perfetto_knows_every_field, trace_processor_reads_it)
