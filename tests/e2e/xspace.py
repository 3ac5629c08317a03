#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""`trace info` and `trace stats` of XSpaces (.xplane.pb) that other profilers wrote, and of our own. SHARED/fixtures/xplane has the content
of the foreign ones beside them. CUDA programs run on the simulated device; nothing here has run on a GPU.
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
    """Return the kernels: all events of the devices' lines except copies and sets."""
    counts = collections.Counter()
    for plane in expected["planes"]:
        if plane["name"].startswith("/device:GPU:"):
            counts["events"] += sum(line["events"] for line in plane["lines"])
            counts["kernels"] += sum(number for use, number in plane["event_stat_uses"].items() if use.startswith("kernel_details:"))
    found = rows("cuda_gpu_kern_sum", path)
    tap.ok(sum(int(row["Instances"]) for row in found) == counts["kernels"] <= counts["events"] and bool(found) == bool(counts["kernels"]), f"stats: {counts['kernels']} kernels", found)
    tops = {name: number for plane in expected["planes"] if plane["name"].startswith("/device:GPU:") for line in plane["lines"] if len(plane["lines"]) == 1 for name, number in line["top_names"]}
    have = {row["Name"]: int(row["Instances"]) for row in found}
    tap.ok(all(have[name] == number for name, number in tops.items() if name in have), "by name", f"{tops} {have}")


def our_own():
    reason = device.missing("pipeline", "nvtx_launch")
    if reason:
        tap.skip("our own", reason)
        return
    for name in ("pipeline", "nvtx_launch"):
        work, spool = folder(), spool_folder()
        report = Report(os.path.join(work, "r.rep"))
        result = run([device.app(name)], env=device.env(base=traced_env(report.path, spool, LIBTRACE_TRACE="cuda,nvtx")), cwd=work)
        if not tap.ok(wait_spool_gone(spool, 30) and result.status == 0, f"{name}: recorded", result.err):
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
                found[row["Range"]] += int(row["Total Time (ns)"])  # an XSpace does not distinguish start/end ranges from push/pop ranges
        tap.ok(sums[0] == sums[1], "NVTX ranges have their domain", sums)


def damaged():
    """An XSpace that is cut off or changed ends with one line, or is read as far as possible."""
    work = folder()
    device_plane = b"\x12\x0d/device:GPU:0" + b"\x1a\x0e\x08\x07\x12\x06Stream\x22\x02\x08\x01" + b"\x22\x09\x08\x01\x12\x05\x08\x01\x12\x01k"
    whole = b"\x0a" + bytes([len(device_plane)]) + device_plane
    path = os.path.join(work, "x.xplane.pb")

    def told(data):
        with open(path, "wb") as file:
            file.write(data)
        return trace("info", path)

    good = told(whole)
    tap.ok(good.status == 0 and b"Stream (7): 1 events" in good.out, "a small XSpace is read", f"{good.out} {good.err}")
    bad = [told(whole[:-cut]) for cut in range(1, 12)]
    tap.ok(all(r.status == 2 and r.err.count(b"\n") == 1 and b"x.xplane.pb" in r.err for r in bad), "an XSpace that is cut off is reported in one line with its name", [r.err for r in bad])
    bad = told(whole.replace(b"\x22\x02\x08\x01", b"\x22\x7f\x08\x01"))
    tap.ok(bad.status == 2 and b"damaged" in bad.err, "a length beyond the end", bad.err)
    dice = random.Random(7)
    for _ in range(40):
        data = bytearray(whole)
        for _ in range(dice.randrange(1, 4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        result = told(bytes(data))
        stats = trace("stats", "-r", "cuda_gpu_kern_sum", path)
        if result.status not in (0, 2) or stats.status not in (0, 2):
            tap.ok(False, "an XSpace with changed bytes does not crash", f"{bytes(data)!r} {result} {stats}")
            return
    tap.ok(True, "changed bytes never end it by a signal")


if __name__ == "__main__":
    main(foreign, our_own, damaged)
