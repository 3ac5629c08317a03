#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check derived metrics: `--metrics NAME=EXPRESSION` and the definitions of section files, over reports of Nsight Compute and our own, and `trace
derive`, which writes them to a report.

Metrics that Nsight Compute derived itself are computed again from the same expressions. Where NVIDIA's ncu and its Python module have been
fetched (PEERS, default /tmp/peers), they read the written reports. Our own kernels ran on the simulated device, none on a GPU.
"""
import csv
import glob
import io
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
from cuda_results import traced  # noqa: E402
from lib import clean_env, fixtures, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402
from libpeers import NCU, ncu_python  # noqa: E402

FIXTURES = fixtures("ncu")
REPORTS = sorted(glob.glob(os.path.join(FIXTURES, "*.ncu-rep")))
PLACE = folder()
# The derived metrics that NVIDIA's section SourceCounters defines.
STORED = {"derived__avg_thread_executed": "thread_inst_executed / inst_executed",
          "derived__avg_thread_executed_true": "thread_inst_executed_true / inst_executed",
          "derived__memory_l1_conflicts_shared_nway": "memory_l1_wavefronts_shared / inst_executed",
          "derived__memory_l2_theoretical_sectors_global_excessive":
              "memory_l2_theoretical_sectors_global - memory_l2_theoretical_sectors_global_ideal",
          "derived__memory_l1_wavefronts_shared_excessive": "memory_l1_wavefronts_shared - memory_l1_wavefronts_shared_ideal",
          "derived__smsp__inst_executed_op_branch_pct": "smsp__inst_executed_op_branch.sum / smsp__inst_executed.sum"}
OLD = "manual_nvtx"  # a report of 2022.3, in which the aggregate of a derived metric is computed from the two aggregates


def raw(path, *options):
    result = trace("details", "--page", "raw", "--csv", "--print-units", "base", *options, path, limit=100)
    rows = list(csv.DictReader(io.StringIO(result.out.decode())))
    return rows[1:], result


def again():
    if not REPORTS:
        tap.skip("what ncu derived", "no fixtures")
        return
    seen = set()
    for path in REPORTS:
        name = os.path.basename(path)[: -len(".ncu-rep")]
        wanted = ",".join(f"derived_again_{i}={text}" for i, text in enumerate(STORED.values()))
        stored, _ = raw(path, "--print-metric-instances", "details")
        ours, _ = raw(path, "--print-metric-instances", "details", "--metrics", wanted)
        wrong, count = [], 0
        for result, mine in zip(stored, ours):
            for i, metric in enumerate(STORED):
                was, now = result.get(metric), mine.get(f"derived_again_{i}")
                if was is None:
                    continue
                count += 1
                seen.add(metric)
                if name == OLD and " (" in was:
                    was, now = was.partition(" (")[2], now.partition(" (")[2]
                if was != now:
                    wrong.append(f"{metric}: {was[:200]} | {now[:200]}")
        if count:
            tap.ok(not wrong, f"{name}: {count} metrics that ncu derived, derived again", "\n".join(wrong))
    tap.ok(seen == set(STORED), f"{len(seen)} expressions of NVIDIA's", set(STORED) - seen)


def shown():
    if not REPORTS:
        tap.skip("--metrics", "no fixtures")
        return
    path = os.path.join(FIXTURES, "vec_add-2024.1.1.ncu-rep")
    rows, result = raw(path, "--metrics", "x=launch__grid_size * 2.5,y=revise_max(inst_executed * x),launch__block_size,regex:^launch__grid_dim")
    columns = [name for name in rows[0] if name not in ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size",
                                                       "Grid Size", "Device", "CC")]
    tap.ok(columns == ["launch__block_size", "launch__grid_dim_x", "launch__grid_dim_y", "launch__grid_dim_z", "x", "y"], "the metrics asked for, by name", columns)
    tap.ok((float(rows[0]["x"]), float(rows[0]["y"])) == (4096 * 2.5, 32768 * 4096 * 2.5), "a derived metric may use another one", rows)
    result = trace("details", "--metrics", "x=launch__grid_size * 2.5", path)
    lines = [line.split() for line in result.out.decode().splitlines()]
    tap.ok("Section: Command line profiler metrics" in result.out.decode() and ["x", "10240"] in lines and result.out.decode().count("Section:") == 1,
           "a section of their own", result.out)
    for metrics, cause in (("x=a +", "column 4"), ("x y=1", "invalid metric name"), ("x=f(1)", "unknown function f")):
        result = trace("details", "--metrics", metrics, path)
        tap.ok(result.status == 2 and cause in result.err.decode() and not result.out, f"--metrics '{metrics}': {cause}", result.err)
    result = trace("details", "--metrics", "x=nothing * 2", path)
    tap.ok(result.status == 0 and b"no result has a number for 'nothing'" in result.err and b"n/a" in result.out, "a metric that is missing", result.err)


SECTION = """Identifier: "Threads" DisplayName: "Threads" Order: 3
MetricDefinitions {
  MetricDefinitions { Name: "threads__twice" Expression: "threads__all * 2" }
  MetricDefinitions { Name: "threads__all" Expression: "launch__grid_size * launch__block_size" }
  MetricDefinitions { Name: "threads__old" Expression: "1 + 1" Filter { MaxArch: CC_60 } }
  MetricDefinitions { Name: "threads__wrong" Expression: "1 +" }
}
Header { Metrics { Label: "All" Name: "threads__all" } Metrics { Label: "Twice" Name: "threads__twice" } Metrics { Label: "Old" Name: "threads__old" } }
"""


def section():
    place = os.path.join(PLACE, "sections")
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(place, "threads.section"), "w", encoding="utf-8") as file:
        file.write(SECTION)
    return place


def files():
    if not REPORTS:
        tap.skip("definitions of section files", "no fixtures")
        return
    result = trace("details", "--section-folder", section(), "--csv", os.path.join(FIXTURES, "vec_add-2024.1.1.ncu-rep"))
    found = {row["Metric Name"]: row["Metric Value"] for row in csv.DictReader(io.StringIO(result.out.decode()))}
    tap.ok(found == {"All": "1048576", "Twice": "2097152", "Old": "n/a"}, "the sections of files, and what they define, in any order", result.out)
    tap.ok(b"metric definition 'threads__wrong': column 4: " in result.err, "an invalid definition is reported, and does not affect the others", result.err)
    path = os.path.join(FIXTURES, "vec_add-2024.1.1.ncu-rep")
    for options, wanted in ((("--section", "Occupancy"), ["Occupancy"]), (("--section", "regex:^L|^Occ"), ["Launch Statistics", "Occupancy"]),
                            (("--set", "basic"), ["GPU Speed Of Light Throughput", "Launch Statistics", "Occupancy", "GPU and Memory Workload Distribution"])):
        rows = csv.DictReader(io.StringIO(trace("details", *options, "--csv", path).out.decode()))
        names = {row["Section Name"] for row in rows if row["Metric Name"]}
        tap.ok(names and names <= set(wanted) and (len(wanted) > 2 or names == set(wanted)), f"{' '.join(options)} of the report's own sections", names)


ASK = """
import json, sys
sys.path.insert(0, sys.argv[1])
import ncu_report
rows = []
for action in ncu_report.load_report(sys.argv[2]).range_by_idx(0):
    metric = action[sys.argv[3]]
    ids = metric.correlation_ids() if metric.has_correlation_ids() else None
    rows.append([metric.value(), [[ids.value(i), metric.value(i)] for i in range(metric.num_instances())] if ids else []])
print(json.dumps(rows))
"""


def by_python(path, metric):
    """Return (value, instances) of each result by NVIDIA's module; None if the module is not there."""
    module = ncu_python()
    if not module:
        return None
    result = run(["python3", "-c", ASK, module, path, metric], env=clean_env(HOME=module), limit=100)
    return None if b"ImportError" in result.err else json.loads(result.out or b"[]")


def written_of(path, name, metrics, options=()):
    """Write a report with derived metrics; check that it is sound, that its other data is unchanged, and that NVIDIA's tool reads it. Return its path."""
    out = os.path.join(PLACE, f"{name}.ncu-rep")
    result = trace("derive", "-o", out, "--metrics", ",".join(f"{k}={v}" for k, v in metrics.items()), *options, path)
    if not tap.ok(result.status in (0, 1) and os.path.exists(out) and trace("check", out).status == 0, f"{name}: written", result.err):
        return None
    before, after = raw(path)[0], raw(out)[0]
    kept = [{key: value for key, value in row.items() if key not in metrics and not key.startswith("threads__")} for row in after]
    tap.ok(before and kept == before and all(set(metrics) <= set(row) for row in after), f"{name}: what it said, and {len(metrics)} metrics more")
    if not os.path.exists(NCU):
        tap.skip(f"{name}: read by ncu", "no ncu in PEERS or /tmp/peers")
        return out
    text = run([NCU, "--import", out, "--page", "raw", "--csv", "--print-units", "base"], env=clean_env(HOME=PLACE), limit=100).out.decode()
    theirs = list(csv.DictReader(io.StringIO(text[text.index('"ID"'):])))[1:]
    wrong = [f"{key}: {ours[key]} | {row.get(key)}" for row, ours in zip(theirs, after) for key in metrics
             if row.get(key) is None or abs(float(row[key].replace(",", "")) - float(ours[key])) > 1e-6 * abs(float(ours[key])) + 0.005]
    tap.ok(len(theirs) == len(after) and not wrong, f"{name}: ncu reads {len(after)} results with them", "\n".join(wrong[:5]))
    return out


def written():
    if not REPORTS:
        tap.skip("written reports", "no fixtures")
        return
    metrics = {"my__threads": "launch__grid_size * launch__block_size", "my__half": "my__threads / 2.0"}
    for path in REPORTS:
        name = os.path.basename(path)[: -len(".ncu-rep")]
        written_of(path, name, metrics)
        same = os.path.join(PLACE, "same.ncu-rep")
        result = trace("derive", "-o", same, "-f", "true", path)
        with open(path, "rb") as one, open(same, "rb") as other:
            tap.ok(result.status == 0 and one.read() == other.read(), f"{name}: byte-equal where nothing is added", result.err)
    path = os.path.join(FIXTURES, "vec_add-2024.1.1.ncu-rep")
    out = written_of(path, "instances", {"my__share": "revise_max(inst_executed * 100.0 / simplify(inst_executed))"}, ("--section-folder", section()))
    shown_ = trace("details", "--section", "Threads", "--csv", out).out.decode()
    tap.ok('"Threads","All","","1048576"' in shown_, "the section of the file is in the report", shown_)
    if os.path.exists(NCU):
        text = run([NCU, "--import", out], env=clean_env(HOME=PLACE), limit=100).out.decode()
        tap.ok("Section: Threads" in text and ["All", "thread", "1048576"] in [line.split() for line in text.splitlines()],
               "ncu shows the section, and finds a unit by what it was computed from", text[:2000])
    found = by_python(out, "my__share")
    if found is None:
        tap.skip("ncu_report reads instances", "no ncu_report in PEERS or /tmp/peers, or for another Python")
    else:
        share = 100.0 * 32768 / 491520
        tap.ok(len(found) == 1 and len(found[0][1]) == 15 and all(abs(value - share) < 1e-9 for value in [found[0][0], *(v for _, v in found[0][1])]),
               "ncu_report reads the instances and their aggregate", found)


def own():
    if device.missing("driver_api"):
        tap.skip("our own reports", device.missing("driver_api"))
        return
    path, kernels = traced("driver_api", 20)
    metrics = {"my__threads": "launch__grid_size * launch__block_size"}
    rows, _ = raw(path, "--metrics", ",".join(f"{k}={v}" for k, v in metrics.items()))
    wanted = sorted(e["grid_x"] * e["grid_y"] * e["grid_z"] * e["block_x"] * e["block_y"] * e["block_z"] for e in kernels)
    tap.ok(kernels and sorted(int(float(row["my__threads"])) for row in rows) == wanted, f"derived from {len(rows)} results of ours", rows[:1])
    out = written_of(path, "ours", metrics)
    if out:
        before, after = (trace("dump", "--json", name).out for name in (path, out))
        tap.ok(before == after, "their events are as they were")


def refused():
    if not REPORTS:
        tap.skip("what is refused", "no fixtures")
        return
    path = os.path.join(FIXTURES, "CuVectorAddDrv.ncu-rep")
    out = os.path.join(PLACE, "refused.ncu-rep")
    empty, out = os.path.join(folder(), "empty.rep"), os.path.join(folder(), "out")
    spool = spool_folder()
    run(["true"], env=traced_env(empty, spool, LIBTRACE_TRACE="nvtx"))
    wait_spool_gone(spool)
    result = trace("derive", "--metrics", "a=1+1", "-o", out, empty)
    tap.ok(result.status == 2 and b"no results of kernels" in result.err and not os.path.exists(out), "a report without results is refused", result.err)
    result = trace("derive", path)
    tap.ok(result.status == 2 and b"--output" in result.err, "trace derive without --output is refused", result.err)
    shutil.copy(path, out)
    result = trace("derive", "-o", out, "--metrics", "x=1", path)
    tap.ok(result.status == 2 and b"exists" in result.err, "an existing file is not overwritten", result.err)
    with open(path, "rb") as file:
        whole = file.read()
    for cut in (len(whole) - 1, len(whole) // 2, 20):
        torn, made = os.path.join(PLACE, "torn.ncu-rep"), os.path.join(PLACE, "made.ncu-rep")
        with open(torn, "wb") as file:
            file.write(whole[:cut])
        result = trace("derive", "-o", made, "--metrics", "x=1", torn)
        tap.ok(result.status == 2 and result.err and not os.path.exists(made), f"a report cut off at {cut}: nothing is written", result.err)


if __name__ == "__main__":
    main(again, shown, files, written, own, refused)
