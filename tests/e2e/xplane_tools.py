#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Compare XProf's result messages, written by `trace export -t xplane-tools`, with the events and with `trace stats`.

The files are read by a small parser of this test; tests/peers/viewers.py checks that XProf's own package reads them and computes the same.
CUDA programs run on the simulated device: this test has not run on a GPU.
"""
import collections
import csv
import io
import os
import re
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
from lib import TRACE, app, folder, main, recorded, run, tap, trace  # noqa: E402
from libwire import fields, one, varint  # noqa: E402
from timeline_export import SLICES, operation_of  # noqa: E402

FILES = ("kernel_stats", "step_db", "host_op_metrics", "device_op_metrics", "memory_profile", "trace", "op_stats")
DEVICE_WORK = ("cuda_kernel", "cuda_memcpy", "cuda_memset")
MEMORY_KINDS = ("unknown", "pageable", "pinned", "device", "array", "managed", "device static", "managed static")


def exported(report, *options):
    """Export a report; return the messages by name, as bytes."""
    place = os.path.join(folder(), "runs", "tools")
    result = trace("export", "-t", "xplane-tools", "-o", place + "/", *options, report.path)
    if not tap.ok(result.status == 0 and sorted(os.listdir(place)) == sorted(name + ".pb" for name in FILES), "a file for each message, in folders made for it", result.err):
        return None
    tap.ok(all(b"not written: " in result.err and name in result.err for name in (b"InputPipelineAnalysisResult", b"RooflineModelDatabase", b"TfFunctionDb")), "messages that no recorded event can fill are named, with the reason", result.err)
    return {name: open(os.path.join(place, name + ".pb"), "rb").read() for name in FILES}


def text(message, number):
    return one(message, number, b"").decode()


def packed(data):
    at, found = 0, []
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found


def kernels(data, report):
    have, occupancies = collections.defaultdict(lambda: [0, 0, 1 << 63, 0]), []
    for kernel in map(fields, fields(data)[1]):
        entry = have[text(kernel, 1), ",".join(map(str, packed(kernel[6][0]))), ",".join(map(str, packed(kernel[5][0])))]
        entry[:] = [entry[0] + one(kernel, 13), entry[1] + one(kernel, 7), min(entry[2], one(kernel, 8)), max(entry[3], one(kernel, 9))]
        occupancies.append(struct.unpack("<f", kernel[14][0])[0])
    rows = csv.DictReader(io.StringIO(trace("stats", "-r", "cuda_gpu_kern_gb_sum", "-f", "csv", report.path).out.decode()))
    wanted = {(r["Name"], ",".join(re.findall(r"\d+", r["GridXYZ"])), ",".join(re.findall(r"\d+", r["BlockXYZ"]))):
              [int(r["Instances"]), int(r["Total Time (ns)"]), int(r["Min (ns)"]), int(r["Max (ns)"])] for r in rows}
    tap.ok(wanted and wanted == dict(have), "kernels: names, shapes, counts and durations are those of trace stats", f"{wanted} {dict(have)}")
    tap.ok(all(0 < percent <= 100 for percent in occupancies), "kernels have an occupancy", occupancies)


def operations(message):
    """Return {(name, category): [count, total, self]} of an OpMetricsDb, in ns, and its totals."""
    found = {(text(row, 6), text(row, 11)): [one(row, 3), one(row, 7) // 1000, one(row, 1) // 1000] for row in map(fields, message[10])}
    return found, {name: one(message, number) // 1000 for name, number in (("total", 11), ("sum", 12), ("idle", 14), ("busy", 15))}


def union_ns(spans):
    found = until = 0
    for start, end in sorted(spans):
        found += max(0, end - max(start, until))
        until = max(until, end)
    return found


def of_the_host(data, events):
    have, totals = operations(fields(data))
    ranges = [e for e in events if e["kind"] in ("nvtx_range", "nvtx_start_end")]
    wanted = collections.defaultdict(lambda: [0, 0])
    for event in ranges:
        entry = wanted[tuple(operation_of(event["domain"], event["text"]).rsplit(":", 1))]
        entry[:] = [entry[0] + 1, entry[1] + event["duration_ns"]]
    tap.ok(dict(wanted) == {name: entry[:2] for name, entry in have.items()}, "NVTX ranges: counts and durations by text and domain", f"{dict(wanted)} {have}")
    alone = union = 0
    for lane in {(e["kind"], e["tid"], e["domain"]) for e in ranges if e["kind"] == "nvtx_range"}:
        spans = [(e["start_ns"], e["start_ns"] + e["duration_ns"]) for e in ranges if (e["kind"], e["tid"], e["domain"]) == lane]
        union += union_ns(spans)
    alone = sum(e["duration_ns"] for e in ranges if e["kind"] == "nvtx_start_end")  # those of this program do not nest
    tap.ok(sum(entry[2] for entry in have.values()) == union + alone == totals["sum"], "times of their own add up to the time in which there was one", f"{union} {alone} {have}")


def of_the_device(data, events):
    have, totals = operations(fields(data))
    work = [e for e in events if e["kind"] in DEVICE_WORK]
    spans = [(e["start_ns"], e["start_ns"] + e["duration_ns"]) for e in work]
    busy, whole = union_ns(spans), max(end for _, end in spans) - min(start for start, _ in spans)
    idle = have.pop(("IDLE", "IDLE"))
    tap.ok(totals == {"total": whole, "sum": sum(e["duration_ns"] for e in work), "idle": whole - busy, "busy": busy} and idle[1:] == [whole - busy] * 2,
           "the device is busy as long as the events say", f"{totals} {idle} {busy} {whole}")
    tap.ok(sum(entry[0] for entry in have.values()) == len(work) and sum(entry[1] for entry in have.values()) == totals["sum"], "all its work is of a range, or of none", have)
    calls = {e["correlation_id"]: e for e in events if e["kind"] == "cuda_api" and e["level"] == 0}
    wanted = collections.Counter()
    for kernel in (e for e in events if e["kind"] == "cuda_kernel"):
        call = calls[kernel["correlation_id"]]
        around = [e for e in events if e["kind"] == "nvtx_range" and e["tid"] == call["tid"] and e["start_ns"] <= call["start_ns"] < e["start_ns"] + e["duration_ns"]]
        inner = max(around, key=lambda e: (e["start_ns"], -e["duration_ns"]), default=None)
        name, kind = operation_of(inner["domain"], inner["text"]).rsplit(":", 1) if inner else ("no NVTX range", "none")
        wanted[f"{name}/{kernel['name']}", kind] += kernel["duration_ns"]
    tap.ok({key: entry[1] for key, entry in have.items() if "Mem" not in key[0]} == dict(wanted), "kernels by the innermost range of their call", f"{dict(wanted)} {have}")


def steps(data, events, pattern):
    marks = sorted((e for e in events if e["kind"] == "nvtx_range" and e["text"] == pattern), key=lambda e: (e["start_ns"], -e["duration_ns"]))
    calls = {e["correlation_id"]: e for e in events if e["kind"] == "cuda_api" and e["level"] == 0}
    work = sorted((e for e in events if e["kind"] in DEVICE_WORK), key=lambda e: e["start_ns"])
    own = [[w for w in work if w["correlation_id"] in calls and lies_in(calls[w["correlation_id"]], mark)] for mark in marks]
    found = {}
    for sequence in map(fields, fields(data)[1]):
        core = fields(sequence[2][0])
        info = fields(core[2][0])
        any_of = fields(info[4][0])
        times = {one(fields(t), 1): one(fields(t), 2) for t in fields(any_of[2][0])[1]}
        found[one(sequence, 1)] = (text(info, 5), one(info, 3) // 1000, one(info, 2) // 1000, {k: v // 1000 for k, v in times.items()})
        if one(core, 1) != 1 or len(sequence[7]) != 3 or not text(any_of, 1).endswith("/tensorflow.profiler.GenericStepBreakdown"):
            tap.ok(False, "a step has the expected form", sequence)
    with_work = [n for n, mine in enumerate(own) if mine]
    tap.ok(with_work and sorted(found) == with_work, "steps are those with work on a device", f"{found} {with_work}")
    for place, n in enumerate(with_work):
        begin = own[n][0]["start_ns"]
        bound = own[with_work[place + 1]][0]["start_ns"] if place + 1 < len(with_work) else 1 << 63
        end = min(bound, max(w["start_ns"] + w["duration_ns"] for w in work if begin <= w["start_ns"] < bound))
        busy = union_ns([(max(w["start_ns"], begin), min(w["start_ns"] + w["duration_ns"], end)) for w in work if w["start_ns"] < end and w["start_ns"] + w["duration_ns"] > begin])
        name, started, ns, times = found.get(n, ("", 0, 0, {}))
        if (name, started, ns, sum(times.values()), sum(v for k, v in times.items() if k)) != (f"{pattern} {n}", begin, end - begin, end - begin, busy):
            tap.ok(False, "from the first work of a step to the last before the next step", f"{n}: {found.get(n)} {begin} {end} {busy}")
            return
    tap.ok(True, "from the first work of a step to the last before the next step")


def lies_in(call, mark):
    return mark["tid"] == call["tid"] and mark["start_ns"] <= call["start_ns"] < mark["start_ns"] + mark["duration_ns"]


def memory(data, events):
    message = fields(data)
    have = {}
    for entry in map(fields, message[1]):
        profile = fields(entry[2][0])
        summary = fields(profile[2][0])
        active = [(one(fields(profile[1][one(fields(a), 1)]), 1) // 1000, one(fields(a), 3)) for a in profile[3]]
        sizes = [one(fields(fields(profile[1][one(fields(a), 1)])[3][0]), 3) * one(fields(a), 3) for a in profile[3]]
        have[text(entry, 1)] = (one(summary, 1), one(summary, 3) // 1000, len(profile[5]), sum(sizes), len(active))
    wanted = {}
    for number, device_id in {(e["memory_kind"], e["device_id"]) for e in events if e["kind"] == "cuda_memory"}:
        in_use, peak, at, live, alive, count = 0, 0, 0, {}, {}, 0
        for event in (e for e in events if e["kind"] == "cuda_memory" and (e["memory_kind"], e["device_id"]) == (number, device_id)):
            count += 1
            in_use += event["bytes"] if event["operation"] == 1 else -event["bytes"]
            if event["operation"] == 1:
                live[event["address"]] = event["bytes"]
            else:
                live.pop(event["address"], None)
            if in_use >= peak:
                peak, at, alive = in_use, event["start_ns"] if "start_ns" in event else event["time_ns"], dict(live)
        wanted[f"GPU {device_id}, {MEMORY_KINDS[number]} memory in use"] = (peak, at, count, sum(alive.values()), len(set(alive.values())))
    tap.ok(wanted and wanted == have and sorted(have) == sorted(map(bytes.decode, message[3])), "memory: peaks, when, and what was in use then", f"{wanted} {have}")


def every_event(data, events):
    message = fields(data)
    have = collections.Counter((one(e, 9), one(e, 10)) for e in map(fields, message[4]) if 10 in e)
    wanted = collections.Counter((e["start_ns"] * 1000, e["duration_ns"] * 1000) for e in events if e["kind"] in SLICES and e["duration_ns"])
    tap.ok(wanted and wanted == have, "every event stands where it began", f"{wanted - have} {have - wanted}")
    lanes = {(one(fields(d), 1), one(fields(r), 1)) for d in message[1] for r in fields(fields(d)[2][0])[3]}
    tap.ok({(one(e, 1), one(e, 2)) for e in map(fields, message[4])} <= lanes, "on a lane that has a name", lanes)


def all_together(messages):
    whole = fields(messages["op_stats"])
    tap.ok([whole[n][0] for n in (1, 2, 4, 6)] == [messages[name] for name in ("host_op_metrics", "device_op_metrics", "step_db", "kernel_stats")],
           "OpStats is made of the others")
    environment = fields(whole[5][0])
    tap.ok(one(environment, 1) == 1 and text(fields(environment[3][0]), 1) == os.uname().nodename and one(environment, 16) in (1, 2), "the environment has host and kind of device", environment)


def of_a_program(name, pattern):
    reason = device.missing(name)
    if reason:
        tap.skip(name, reason)
        return
    report = device.recorded([device.app(name)], LIBTRACE_TRACE="cuda,nvtx,osrt")
    messages = report and exported(report, *(("--steps", pattern) if pattern else ()))
    if not messages:
        return
    events = report.events()
    kernels(messages["kernel_stats"], report)
    of_the_host(messages["host_op_metrics"], events)
    of_the_device(messages["device_op_metrics"], events)
    if pattern:
        steps(messages["step_db"], events, pattern)
    else:
        tap.ok(not messages["step_db"], "without --steps there are no steps")
    memory(messages["memory_profile"], events)
    every_event(messages["trace"], events)
    all_together(messages)


def with_steps():
    of_a_program("nvtx_launch", "step")


def with_streams():
    of_a_program("pipeline", None)


def without_a_device():
    report = recorded([app("nvtx_calls")], LIBTRACE_TRACE="nvtx,osrt")
    messages = report and exported(report, "--steps", "outer")
    if not messages:
        return
    events = report.events()
    marks = [e for e in events if e["kind"] == "nvtx_range" and e["text"] == "outer"]
    have = [(one(info, 3) // 1000, one(info, 2) // 1000) for info in (fields(fields(fields(s)[2][0])[2][0]) for s in fields(messages["step_db"])[1])]
    tap.ok(marks and have == [(e["start_ns"], e["duration_ns"]) for e in marks], "without a device, steps are as long as their ranges", f"{marks} {have}")
    tap.ok(not messages["kernel_stats"] and one(fields(fields(messages["op_stats"])[5][0]), 16) == 1, "no kernels, hardware: processors alone")
    every_event(messages["trace"], events)


def listed():
    lines = trace("export", "--list").out.decode().split("\nxplane-tools does not write:\n")[1].splitlines()
    tap.ok(len(lines) >= 5 and all(line.startswith("  ") for line in lines), "--list names what is not written", lines)


def too_large():
    """Check a file that may not grow: the command reports the cause, and leaves no file."""
    report = recorded([app("nvtx_calls")], LIBTRACE_TRACE="nvtx,osrt")
    if not report:
        return
    place = folder()
    result = run(["/bin/sh", "-c", 'trap "" XFSZ; ulimit -f 0; exec "$0" "$@"', TRACE, "export", "-t", "xplane-tools", "-o", os.path.join(place, "tools"), report.path])
    tap.ok(result.status == 2 and b"tools': File too large" in result.err and not os.listdir(place), "a file that cannot grow", result.err)


def folders():
    report = recorded([app("nvtx_calls")], LIBTRACE_TRACE="nvtx")
    if not report:
        return
    place = os.path.join(folder(), "tools")
    command = ("export", "-t", "xplane-tools", "-o", place)
    tap.ok(trace(*command, report.path).status == 0, "the export creates its folder")
    again = trace(*command, report.path)
    tap.ok(again.status == 2 and b"exists" in again.err and again.err.count(b"\n") == 1, "an existing folder is not overwritten", again.err)
    tap.ok(trace(*command, "--force-overwrite", "true", report.path).status == 0 and len(os.listdir(place)) == len(FILES), "an existing folder is replaced with --force-overwrite")
    open(os.path.join(place, "mine"), "w", encoding="utf-8").close()
    before = {name: os.stat(os.path.join(place, name)).st_mtime_ns for name in os.listdir(place)}
    foreign = trace(*command, "--force-overwrite", "true", report.path)
    after = {name: os.stat(os.path.join(place, name)).st_mtime_ns for name in os.listdir(place)}
    tap.ok(foreign.status == 2 and b"other files" in foreign.err and before == after, "a folder with other files is not replaced", foreign.err)
    tap.ok(os.listdir(os.path.dirname(place)) == ["tools"], "no other file is left behind", os.listdir(os.path.dirname(place)))
    to_stdout = trace("export", "-t", "xplane-tools", "-o", "-", report.path)
    tap.ok(to_stdout.status == 2 and to_stdout.err.count(b"\n") == 1 and not to_stdout.out, "standard output is no folder", to_stdout.err)
    place = os.path.join(folder(), "plugins/profile/run")
    made = trace("export", "-t", "xplane", "-o", os.path.join(place, "host.xplane.pb"), report.path)
    tap.ok(made.status == 0 and os.listdir(place) == ["host.xplane.pb"], "xplane: the folders that XProf wants are made", made.err)
    none = trace("export", "-t", "xplane", "-o", place + "/", report.path)
    tap.ok(none.status == 2 and none.err.count(b"\n") == 1 and b"folder" in none.err, "a folder is no name of a file", none.err)


if __name__ == "__main__":
    main(with_steps, with_streams, without_a_device, listed, too_large, folders)
