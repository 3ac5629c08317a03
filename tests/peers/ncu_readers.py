#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check that programs that read reports of Nsight Compute also read ours, and get the same from our module and pages as from NVIDIA's.

VIEWERS names a virtual environment with tests/peers/viewers.txt in it (default: build/viewers). nsightful (github.com/brycelelbach/nsightful), which is not on
PyPI, is read from the folders in READERS, which has the form of PYTHONPATH. Readers that are absent are skipped."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../e2e")]
import libdevice as device  # noqa: E402
from details_ncu import UNKNOWN_DEVICE, UNKNOWN_FILTERS, ncu_page  # noqa: E402
from lib import BUILD, PRODUCTS, Report, clean_env, fixtures, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402
from libmetrics import BLOCKS, REGISTERS, THREADS  # noqa: E402
from libpeers import NCU  # noqa: E402

SRC = os.environ.get("SRC") or os.path.dirname(os.path.dirname(HERE))
PYTHON = os.path.join(os.environ.get("VIEWERS") or os.path.join(BUILD, "viewers"), "bin/python3")
READERS = os.environ.get("READERS", "")
OURS = {"PYTHONPATH": os.path.join(SRC, "reader/python"), "LIBTRACE_READER": os.path.join(PRODUCTS, "lib/libtrace/libtrace-reader.so")}
FIXTURES = fixtures("ncu")
REPORTS = sorted(os.path.join(FIXTURES, name) for name in os.listdir(FIXTURES) if name.endswith(".ncu-rep")) if os.path.isdir(FIXTURES) else []
PROGRAM = "ctypes_driver.py"
CLOCK_RATE, MEMORY_CLOCK_RATE = 13, 36  # CUdevice_attribute
NSIGHT = """
import json, sys
from nsight import extraction, utils
metrics, quiet = ["gpu__time_duration.sum", "launch__grid_dim_x"], utils.VerbosityLevel(0)
frame = extraction.extract_df_from_report(sys.argv[1], metrics, [()], int(sys.argv[2]), lambda: None, None, None, quiet)
print(json.dumps(json.loads(frame.drop(columns="Host").to_json(orient="records"))))
"""
UNITS = """
import json, sys
import ncu_report
action = ncu_report.load_report(sys.argv[1]).range_by_idx(0).action_by_idx(0)
print(json.dumps({name: action.metric_by_name(name).unit() for name in action.metric_names()}))
"""
METRICS = """
import json, sys
import ncu_report
part = ncu_report.load_report(sys.argv[1]).range_by_idx(0)
actions = [part.action_by_idx(i) for i in range(part.num_actions())]
print(json.dumps([{name: a.metric_by_name(name).value() for name in a.metric_names() if name.startswith("sim__")} for a in actions]))
"""
# As nsight-python does around what it measures
ANNOTATED = """
import runpy, sys
import nvtx
with_range = nvtx.start_range(message="work", domain="nsight-python")
try:
    runpy.run_path(sys.argv.pop(1), run_name="__main__")
finally:
    nvtx.end_range(with_range)
"""
PERFDIGEST = """
import dataclasses, json, sys
from perfdigest.adapters.nsight.pri_reader import load_kernels, raw_metrics
kernels = load_kernels(sys.argv[1])
print(json.dumps([{"kernels": [dataclasses.asdict(kernel) for kernel in kernels]}, raw_metrics(sys.argv[1], 0, "all")], default=str))
"""
NSIGHTFUL = """
import json, sys
from nsightful.ncu import convert_ncu_csv_to_flat_markdown
print(json.dumps(convert_ncu_csv_to_flat_markdown(open(sys.argv[1]))))
"""


def path_of(env):
    return os.pathsep.join(part for part in (env.get("PYTHONPATH"), READERS) if part)


def has(module):
    return os.path.exists(PYTHON) and run([PYTHON, "-c", f"import {module}"], env=clean_env(PYTHONPATH=READERS), limit=100).status == 0


def asked(program, *arguments, **env):
    """Return the last line that the program prints, parsed as JSON; a message where it fails."""
    done = run([PYTHON, "-c", program, *arguments], env=clean_env(HOME=folder(), **{**env, "PYTHONPATH": path_of(env)}), limit=100)
    return json.loads(done.out.splitlines()[-1]) if done.status == 0 else f"{done.status} {done.err.decode()[-500:]}"


def exported():
    """Return (export of a CUDA program in a range of nsight-python, its events); None if it cannot run here."""
    reason = device.missing(PROGRAM)
    if reason:
        tap.skip("our export", reason)
        return None
    work, spool = folder(), spool_folder()
    report = Report(os.path.join(work, "r.rep"))
    env = device.env(base=traced_env(report.path, spool, LIBTRACE_TRACE="cuda,nvtx"))
    done = run([PYTHON, "-c", ANNOTATED, device.command(PROGRAM)[-1], "3"], env=env, cwd=work, limit=100)
    sound = wait_spool_gone(spool, 30) and done.status == 0 and trace("export", "-t", "ncu", report.path, limit=100).status == 0
    return (os.path.join(work, "r.ncu-rep"), report.events()) if tap.ok(sound, f"{PROGRAM}: recorded and exported", done.err) else None


def nsight_python_reads_our_export():
    if not has("nsight.extraction"):
        tap.skip("nsight-python", f"no nsight-python in {PYTHON}")
        return
    made = exported()
    if not made:
        return
    path, events = made
    kernels = sorted((e for e in events if e["kind"] == "cuda_kernel"), key=lambda e: e["start_ns"])
    attributes = {e["attribute"]: e["value"] for e in events if e["kind"] == "cuda_device_attribute"}
    name = next(e["name"] for e in events if e["kind"] == "cuda_device")
    wanted = [("work", value, metric, "leave_alone", name, attributes[CLOCK_RATE], attributes[MEMORY_CLOCK_RATE]) for kernel in kernels
              for metric, value in (("gpu__time_duration.sum", kernel["duration_ns"]), ("launch__grid_dim_x", kernel["grid_x"]))]
    columns = ("Annotation", "Value", "Metric", "Kernel", "GPU", "ComputeClock", "MemoryClock")
    for which, env in (("NVIDIA's module", {}), ("ours", OURS)):
        rows = asked(NSIGHT, path, str(len(kernels)), **env)
        got = [tuple(row[column] for column in columns) for row in rows] if isinstance(rows, list) else rows
        tap.ok(len(kernels) == 3 and got == wanted, f"nsight-python with {which}: annotation, values, device and clocks of launches are those of the events",
               f"{str(got)[:1500]}\n{str(wanted)[:1500]}")


def ncu_report_has_units():
    """Check that NVIDIA's newest reader knows the units of our metrics, which it does only for a device whose chip it knows."""
    if not has("ncu_report"):
        tap.skip("ncu_report of PyPI", "no VIEWERS with tests/peers/viewers.txt")
        return
    made = recorded_report()
    if made:
        wanted = {"gpu__time_duration.sum": "ns", "launch__registers_per_thread": "register/thread", "launch__shared_mem_per_block_static": "byte/block"}
        units = asked(UNITS, made)
        tap.ok({name: units.get(name) for name in wanted} == wanted, "ncu_report of PyPI: metrics of our reports have units", units)
        for path in REPORTS:
            theirs = asked(UNITS, path)
            both = set(units) & set(theirs)
            tap.ok(len(both) > 40 and all(units[name] == theirs[name] for name in both), f"{os.path.basename(path)}: the units of {len(both)} metrics are those of NVIDIA's report",
                   {name: (units[name], theirs[name]) for name in both if units[name] != theirs[name]})


def ncu_report_has_metrics_of_all_runs():
    """A report that joins the metrics of three runs of a program."""
    if not has("ncu_report") or device.missing("driver_api"):
        tap.skip("metrics of several runs", device.missing("driver_api") or "no ncu_report")
        return
    path, groups = os.path.join(folder(), "all.rep"), (THREADS, REGISTERS, BLOCKS)
    done = trace("run", "-t", "cuda", "--gpu-metrics", ",".join(groups), "--gpu-metrics-pass", "all", "-o", path, "--", device.app("driver_api"), env=device.env())
    exported = path + ".ncu-rep"
    trace("export", "-t", "ncu", "-o", exported, path)
    truth = {}
    for event in Report(path).events("--kind", "cuda_metric"):
        truth.setdefault(event["correlation_id"], {})[event["metric"]] = event["value"]
    found = asked(METRICS, exported)
    tap.ok(done.status == 0 and truth and found == [truth[launch] for launch in sorted(truth)] and all(set(row) == set(groups) for row in found),
           "ncu_report of PyPI: launches have the metrics of all runs", (found, truth, done.err))


def recorded_report():
    """Return the report of a CUDA program; None if it cannot run here."""
    if device.missing("driver_api"):
        tap.skip("our report", device.missing("driver_api"))
        return None
    path, spool = os.path.join(folder(), "r.rep"), spool_folder()
    done = run([device.app("driver_api")], env=device.env(base=traced_env(path, spool, LIBTRACE_TRACE="cuda")), limit=100)
    return path if tap.ok(wait_spool_gone(spool, 30) and done.status == 0, "driver_api: recorded", done) else None


def perfdigest_says_the_same():
    if not has("perfdigest.adapters.nsight.pri_reader"):
        tap.skip("perfdigest", "not in VIEWERS or READERS")
        return
    for path in REPORTS:
        ours, theirs = asked(PERFDIGEST, path, **OURS), asked(PERFDIGEST, path)
        tap.ok(isinstance(theirs, list) and theirs[0]["kernels"] and ours == theirs, f"perfdigest: {os.path.basename(path)}", f"{str(ours)[:1500]}\n{str(theirs)[:1500]}")


def nsightful_says_the_same():
    if not has("nsightful.ncu") or not os.path.exists(NCU):
        tap.skip("nsightful", "READERS names no folder with it, or no ncu in PEERS or /tmp/peers")
        return
    for path in REPORTS:
        name = os.path.basename(path)[: -len(".ncu-rep")]
        if name == UNKNOWN_DEVICE or name in UNKNOWN_FILTERS:
            continue  # ncu 2024.1.1 does not know all of it
        words = ("--page", "details", "--csv")
        found = []
        for page in (trace("details", *words, path).out.decode(), "\n".join(ncu_page(path, *words[1:]))):
            file = os.path.join(folder(), "page.csv")
            with open(file, "w", encoding="utf-8") as out:
                out.write(page)
            found.append(asked(NSIGHTFUL, file))
        read = found[0].startswith("# ") or "KeyError: 'Rule Name'" in found[0]  # it reads no page without rules, of either
        tap.ok(found[0] == found[1] and read, f"nsightful: {name}: {len(found[0])} characters", f"{found[0][:800]}\n{found[1][:800]}")


if __name__ == "__main__":
    main(nsight_python_reads_our_export, ncu_report_has_units, ncu_report_has_metrics_of_all_runs, perfdigest_says_the_same, nsightful_says_the_same)
