#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check `trace info` and `trace stats` of XSpaces (.xplane.pb) that other profilers wrote, and of our own.

In SHARED/fixtures/xplane each foreign XSpace has a file with its expected content. CUDA programs run on the simulated device: this test has not
run on a GPU.
"""
import collections
import csv
import glob
import io
import json
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
from lib import Report, fixtures, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

FIXTURES = fixtures("xplane")
LINE_KEYS = ("id", "name", "timestamp_ns", "events", "sum_duration_ps", "min_offset_ps", "max_end_ps")


def rows(name, path):
    return list(csv.DictReader(io.StringIO(trace("stats", "-r", name, "-f", "csv", path).out.decode())))


def foreign():
    paths = sorted(glob.glob(os.path.join(FIXTURES, "*.xplane.pb")))
    if not paths:
        tap.skip("XSpaces of others", f"none in {FIXTURES}")
    for path in paths:
        name = os.path.basename(path)
        with open(path.replace(".xplane.pb", ".expected.json"), encoding="utf-8") as file:
            expected = json.load(file)
        found = json.loads(trace("info", "--json", path).out)
        tap.ok((found["hostnames"], found["errors"], found["warnings"]) == (expected["hostnames"], expected["errors"], expected["warnings"]), f"{name}: host, errors", found)
        tap.ok(len(found["planes"]) == len(expected["planes"]), "all planes are found")
        for have, want in zip(found["planes"], expected["planes"]):
            keys = ("id", "name", "event_metadata", "stat_metadata")
            lines = [[line[key] for key in LINE_KEYS] for line in have["lines"]]
            wanted = [[line[key] or 0 for key in LINE_KEYS] for line in want["lines"]]
            tap.ok([have[k] for k in keys] == [want[k] for k in keys] and have["plane_stats"] == want["plane_stats"] and lines == wanted, f"{want['name']}: {len(lines)} lines",
                   f"{have}\n{want}")
        text = trace("info", path).out.decode()
        tap.ok(all(plane["name"] in text for plane in expected["planes"]) and f"with {expected['total_events']} events" in text, "info prints planes and events", text)
        kernels_of(path, expected)


def kernels_of(path, expected):
    """Check the kernels: all events on the devices' lines except copies and sets."""
    counts = collections.Counter()
    for plane in expected["planes"]:
        if plane["name"].startswith("/device:GPU:"):
            counts["events"] += sum(line["events"] for line in plane["lines"])
            counts["kernels"] += sum(number for use, number in plane["event_stat_uses"].items() if use.startswith("kernel_details:"))
    found = rows("cuda_gpu_kern_sum", path)
    tap.ok(sum(int(row["Instances"]) for row in found) == counts["kernels"] <= counts["events"] and bool(found) == bool(counts["kernels"]), f"stats: {counts['kernels']} kernels", found)
    tops = {name: number for plane in expected["planes"] if plane["name"].startswith("/device:GPU:") for line in plane["lines"] if len(plane["lines"]) == 1 for name, number in line["top_names"]}
    have = {row["Name"]: int(row["Instances"]) for row in found}
    tap.ok(all(have[name] == number for name, number in tops.items() if name in have), "stats: kernels by name", f"{tops} {have}")


def our_own():
    reason = device.missing("pipeline", "nvtx_launch")
    if reason:
        tap.skip("our own", reason)
        return
    for name in ("pipeline", "nvtx_launch"):
        work, spool = folder(), spool_folder()
        report = Report(os.path.join(work, "r.rep"))
        result = run([device.app(name)], env=device.env(base=traced_env(report.path, spool, LIBTRACE_TRACE="cuda,nvtx")), cwd=work)
        if not tap.ok(wait_spool_gone(spool) and result.status == 0, f"{name}: recorded", result.err):
            continue
        path = os.path.join(work, "r.xplane.pb")
        trace("export", "-t", "xplane", report.path)
        for statistic in ("cuda_gpu_kern_sum", "cuda_gpu_kern_gb_sum"):
            wanted = rows(statistic, report.path)
            tap.ok(wanted and wanted == rows(statistic, path), f"{statistic} of the XSpace is that of the report", f"{wanted} {rows(statistic, path)}")
        for statistic in ("cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum"):
            keys = ("Total Time (ns)", "Total (MB)", "Count", "Operation")
            wanted, have = ([{k: row[k] for k in keys if k in row} for row in rows(statistic, p) if "Unified" not in row["Operation"]] for p in (report.path, path))
            tap.ok(wanted == have, f"{statistic}: copies and sets, too", f"{wanted} {have}")
        sums = [collections.Counter(), collections.Counter()]
        for found, source in zip(sums, (report.path, path)):
            for row in rows("nvtx_sum", source):
                if not row["Range"].startswith("TraceMe:"):  # an XSpace has other events of the host, too
                    found[row["Range"]] += int(row["Total Time (ns)"])  # an XSpace does not distinguish start/end ranges from push/pop ranges
        tap.ok(sums[0] == sums[1], "NVTX ranges have their domain", sums)


def damaged():
    """Check that a truncated or changed XSpace ends in one line of error, or is read as far as possible."""
    work = folder()
    device_plane = b"\x12\x0d/device:GPU:0" + b"\x1a\x0e\x08\x07\x12\x06Stream\x22\x02\x08\x01" + b"\x22\x09\x08\x01\x12\x05\x08\x01\x12\x01k"
    whole = b"\x0a" + bytes([len(device_plane)]) + device_plane
    path = os.path.join(work, "x.xplane.pb")

    def info_of(data):
        with open(path, "wb") as file:
            file.write(data)
        return trace("info", path)

    good = info_of(whole)
    tap.ok(good.status == 0 and b"Stream (7): 1 events" in good.out, "a small XSpace is read", f"{good.out} {good.err}")
    bad = [info_of(whole[:-cut]) for cut in range(1, 12)]
    tap.ok(all(r.status == 2 and r.err.count(b"\n") == 1 and b"x.xplane.pb" in r.err for r in bad), "an XSpace that is cut off is reported in one line with its name", [r.err for r in bad])
    bad = info_of(whole.replace(b"\x22\x02\x08\x01", b"\x22\x7f\x08\x01"))
    tap.ok(bad.status == 2 and b"damaged" in bad.err, "a length beyond the end", bad.err)
    dice = random.Random(7)
    for _ in range(40):
        data = bytearray(whole)
        for _ in range(dice.randrange(1, 4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        result = info_of(bytes(data))
        stats = trace("stats", "-r", "cuda_gpu_kern_sum", path)
        if result.status not in (0, 2) or stats.status not in (0, 2):
            tap.ok(False, "an XSpace with changed bytes does not crash", f"{bytes(data)!r} {result} {stats}")
            return
    tap.ok(True, "changed bytes never crash trace")


# ---- hosts ----

def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def message(*parts):
    """Return the message with these fields: (field number, number or bytes)."""
    return b"".join(varint(n << 3 | 2) + varint(len(v)) + v if isinstance(v, bytes) else varint(n << 3) + varint(v) for n, v in parts)


def plane_of(lines, stats=(), name=b"/host:CPU", clock=0, number=1):
    """Return a plane of lines (id, name, [(event, start in ns after `clock`, duration in ns, {stat: number or bytes})])."""
    names, keys = {}, {}
    encoded = []

    def stat(key, value):
        return message((1, keys.setdefault(key, len(keys) + 1)), (5 if isinstance(value, bytes) else 4, value))

    for line, title, events in lines:
        body = [message((1, names.setdefault(event, len(names) + 1)), (2, start * 1000), (3, ns * 1000), *((4, stat(k, v)) for k, v in facts.items()))
                for event, start, ns, facts in events]
        encoded.append(message((1, line), (2, title), (3, clock), *((4, event) for event in body)))
    own = [stat(key, value) for key, value in stats]
    return message((1, number), (2, name), *((3, line) for line in encoded), *((4, message((1, i), (2, message((1, i), (2, n))))) for n, i in names.items()),
                   *((5, message((1, i), (2, message((1, i), (2, k))))) for k, i in keys.items()), *((6, s) for s in own))


def write(path, *planes):
    """Write an XSpace."""
    with open(path, "wb") as file:
        file.write(message(*((1, plane) for plane in planes)))


def host(path, lines, **of):
    """Write an XSpace with one plane; for the arguments see plane_of()."""
    write(path, plane_of(lines, **of))


def computes_on_its_host():
    """Check that TraceMe, annotations, steps, functions of Python and operations of XLA are ranges of the thread of their line."""
    path = os.path.join(folder(), "cpu.xplane.pb")
    host(path, [(77, b"python3/77", [(b"train", 100, 900, {b"step_num": 7}), (b"forward", 200, 500, {}), (b"$model.py:3 step", 250, 300, {}),
                                     (b"NVTX:app:inner: x", 260, 100, {})]),
                (14300000000000000000 % (1 << 63), b"tf_XLAEigen/9", [(b"dot.1", 300, 50, {b"hlo_op": b"dot.1"}), (b"StartRegion", 400, 0, {})])],
         stats=((b"process_id", 4242), (b"profile_start_time", 1_700_000_000_000_000_000)))
    found = [(r["Name"], r["PID"], r["TID"]) for r in rows("nvtx_pushpop_trace", path)]
    tap.ok(sorted(name for name, _, _ in found) == sorted(["TraceMe:train", "TraceMe:forward", "Python:model.py:3 step", "app:inner: x", "TraceMe:dot.1"])
           and {pid for _, pid, _ in found} == {"4242"} and {tid for name, _, tid in found if name != "TraceMe:dot.1"} == {"77"}, "events of a host are ranges", found)
    dumped = [json.loads(line) for line in trace("dump", "--json", path).out.splitlines()]
    step = next(r for r in dumped if r.get("text") == "train")
    tap.ok((step["start_ns"], step["duration_ns"], step["payload"], step["level"]) == (100, 900, 7, 0), "a step has its number", step)
    tap.ok([r["text"] for r in dumped if r["kind"] == "nvtx_mark"] == ["StartRegion"], "an event without a duration is a mark", dumped)
    tap.ok({r["name"] for r in dumped if r["kind"] == "thread_name"} == {"python3", "tf_XLAEigen"}, "threads have the names of their lines", dumped)
    result = trace("stats", path)
    tap.ok(result.status == 0 and b"nvtx_sum" in result.out and not result.err, "stats of a host without devices", result)
    chrome = json.loads(trace("export", "-t", "chrome", "-o", "-", path).out)
    tap.ok(chrome["baseTimeNanoseconds"] == 1_700_000_000_000_000_000 and len([e for e in chrome["traceEvents"] if e["ph"] == "X"]) == 5, "chrome: clock and ranges", chrome)


def times_of_the_wall_clock():
    """Check times in nanoseconds since 1970, which some profilers write: the first event begins the session."""
    path, clock = os.path.join(folder(), "wall.xplane.pb"), 1_779_266_702_000_000_000
    host(path, [(5, b"python3/5", [(b"forward", 100, 50, {}), (b"back", 300, 50, {})])], clock=clock)
    chrome = json.loads(trace("export", "-t", "chrome", "-o", "-", path).out)
    found = {e["name"]: e["ts"] for e in chrome["traceEvents"] if e["ph"] == "X"}
    tap.ok(found == {"forward": 0, "back": 0.2} and chrome["baseTimeNanoseconds"] == clock + 100, "times since 1970", chrome)


def titles_name_the_api():
    calls = [(b"hipLaunchKernel", 100, 10, {b"correlation_id": 1}), (b"hipMemcpyAsync", 200, 10, {b"correlation_id": 2})]
    path = os.path.join(folder(), "hip.xplane.pb")
    host(path, [(5, b"Host Threads/5", calls)])
    text = trace("stats", path).out.decode()
    tap.ok("HIP API Summary" in text and "CUDA" not in text, "calls of HIP are not called CUDA", text)
    tap.ok("HIP API Summary" in trace("report", path).out.decode(), "calls of HIP are not called CUDA by report")
    host(path, [(5, b"Host Threads/5", [*calls, (b"cudaMalloc", 300, 10, {b"correlation_id": 3})])])
    tap.ok("CUDA API Summary" in trace("stats", path).out.decode(), "calls of both are called CUDA")


def gpu_of_amd():
    """Check an XSpace as XLA's profiler writes it for AMD's GPUs: calls of HIP in a plane of their own, copies whose kind is only in their name."""
    path = os.path.join(folder(), "amd.xplane.pb")
    copies = {b"CopyHostToDevice": "Host-to-Device", b"CopyDeviceToHost": "Device-to-Host", b"CopyDeviceToDevice": "Device-to-Device",
              b"MEMORY_COPY_HOST_TO_DEVICE": "Host-to-Device", b"MEMORY_COPY_DEVICE_TO_HOST": "Device-to-Host"}
    calls = [(b"hipModuleLaunchKernel", 100, 10, {b"device_id": 0, b"correlation_id": 1}), (b"hipMemset", 120, 10, {b"device_id": 0, b"correlation_id": 2}),
             *((b"hipMemcpyAsync", 200 + 20 * i, 10, {b"device_id": 0, b"correlation_id": 3 + i}) for i in range(len(copies)))]
    work = [(b"Cijk_Ailk_Bljk", 110, 50, {b"correlation_id": 1, b"kernel_details": b"regs:32\nstatic_shared:64\ndynamic_shared:0\ngrid:4,2,1\nblock:256,1,1\nocc_pct:50"}),
            (b"FillBuffer", 170, 5, {b"correlation_id": 2, b"Memset_details": b"kind:Unknown num_bytes:77 async:0"}),
            *((name, 300 + 20 * i, 10, {b"correlation_id": 3 + i, b"memcpy_details": b"kind:Unknown size:%d dest:0 async:1" % (1000 + i)})
              for i, name in enumerate(copies))]
    write(path, plane_of([(11, b"hip/11", calls)], name=b"/host:ROCTRACER"), plane_of([(3, b"Stream #3(Kernel,MemcpyH2D)", work)], name=b"/device:GPU:0", number=2),
          plane_of([(12, b"python/12", [(b"step", 50, 900, {b"step_num": 1}), (b"PjitFunction(f)", 60, 500, {})])], number=3))
    dumped = [json.loads(line) for line in trace("dump", "--json", path).out.splitlines()]
    kinds = collections.Counter(row["kind"] for row in dumped)
    tap.ok({kind: kinds[kind] for kind in ("cuda_api", "cuda_kernel", "cuda_memset", "cuda_memcpy", "nvtx_range")}
           == {"cuda_api": len(calls), "cuda_kernel": 1, "cuda_memset": 1, "cuda_memcpy": len(copies), "nvtx_range": 2}, "AMD: no event is left out", kinds)
    kernel = rows("cuda_gpu_trace", path)[0]
    tap.ok([kernel[name] for name in ("GrdX", "GrdY", "BlkX", "Reg/Trd")] == ["4", "2", "256", "32"], "AMD: kernels have their shape", kernel)
    counts = {row["Operation"]: int(row["Count"]) for row in rows("cuda_gpu_mem_size_sum", path) if "memcpy" in row["Operation"]}
    wanted = {f"[CUDA memcpy {name}]": list(copies.values()).count(name) for name in copies.values()}
    tap.ok(counts == wanted, "AMD: copies have their directions", counts)
    text = trace("stats", path).out.decode()
    tap.ok("HIP API Summary" in text and "Cijk_Ailk_Bljk" in text, "AMD: the reports are about HIP", text)


if __name__ == "__main__":
    main(foreign, our_own, computes_on_its_host, times_of_the_wall_clock, titles_name_the_api, gpu_of_amd, damaged)
