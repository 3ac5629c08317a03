# SPDX-License-Identifier: Apache-2.0
"""Hardware metrics of GPU chips by the real libcupti, which needs no GPU (trace gpu-metrics)."""
import glob
import os

import lib
from lib import tap, trace

CUPTI = next((path for pattern in ("/usr/local/cuda*/lib*/libcupti.so.13", "/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.13", os.path.join(lib.BUILD, "cuda/lib/libcupti.so.13"))
              for path in sorted(glob.glob(pattern))), None)


def asked(*arguments):
    return trace("gpu-metrics", "--cupti", CUPTI, *arguments)


def passes(chip, metrics, *options):
    result = asked(chip, "--metrics", metrics, *options)
    words = dict(line.split(": ") for line in result.out.decode().splitlines())
    return result.status, int(words.get("passes", 0)), int(words.get("bytes of the configuration", 0))


def lists():
    chips = asked().out.decode().split()
    tap.ok({"TU102", "GA100", "GA102", "GH100", "AD102", "GB202"} <= set(chips), "chips of five generations are listed", chips)
    for chip in ("TU102", "GA100", "GH100"):
        result = asked(chip)
        rows = {line.split()[0]: line.split() for line in result.out.decode().splitlines()}
        tap.ok(result.status == 0 and len(rows) > 1000 and rows["sm__cycles_active"][1:] == "counter gpc_cycle sm # of cycles with at least one warp in flight".split()
               and rows["sm__throughput"][1] == "throughput" and {row[1] for row in rows.values()} == {"counter", "ratio", "throughput"},
               f"{chip}: metrics with type, unit, hardware unit and description", (len(rows), rows.get("sm__cycles_active")))


def plans():
    status, one, small = passes("GH100", "sm__cycles_active.avg")
    tap.ok((status, one) == (0, 1) and small > 0, "one metric is collected in one pass", (status, one, small))
    many = ("sm__cycles_active.avg,sm__throughput.avg.pct_of_peak_sustained_elapsed,dram__bytes.sum,l1tex__t_sector_hit_rate.pct,"
            "smsp__inst_executed.sum,lts__t_sectors_op_read.sum,sm__warps_active.avg.pct_of_peak_sustained_active")
    status, more, large = passes("GH100", many)
    tap.ok(status == 0 and more > 1 and large > small, "metrics of many units take several passes", (status, more, large))
    result = asked("GH100", "--metrics", "sm__cycles_active.avg,bogus__metric.sum,dram__bytes.sum")
    tap.ok(result.status == 2 and not result.out and result.err.count(b"\n") == 1 and b"GH100 has no metric 'bogus__metric.sum'" in result.err, "an unknown metric is named, and no other", result.err)


def sets():
    """Each set is known for all chips since Turing; each of its metrics is counted in one pass."""
    for chip in ("TU102", "GA100", "GA102", "AD102", "GH100", "GB202"):
        found = {name: passes(chip, name) for name in ("basic", "memory", "instructions")}
        tap.ok(all(status == 0 and size > 0 and count <= 4 for status, count, size in found.values()), f"{chip} has the metrics of each set, in at most one pass each", found)


def runs_of(chip, metrics, *options):
    """Return the metrics of each run, and of none."""
    lines = [line.split(": ") for line in asked(chip, "--metrics", metrics, *options).out.decode().splitlines()]
    return [value.split(",") for name, value in lines if name.startswith("run ")], [value for name, value in lines if name == "no run"]


def runs():
    """Which run of `--gpu-metrics LIST` counts what: each takes one pass, and all together the list."""
    both = "sm__cycles_active.avg,dram__bytes.sum,lts__t_bytes.sum,dram__bytes.sum,l1tex__t_sector_hit_rate.pct,smsp__inst_executed.sum,sm__inst_executed_pipe_fma.sum"
    more = ("sm__inst_executed_pipe_tensor.sum,l1tex__data_bank_conflicts_pipe_lsu.sum,lts__t_sectors_op_read.sum,"
            "smsp__thread_inst_executed_per_inst_executed.ratio")
    for chip, options in (("TU102", ()), ("GH100", ()), ("GB202", ()), ("GH100", ("--sampled",))):
        metrics = both if options else f"{both},{more}"
        found, never = runs_of(chip, metrics, *options)
        counted = [name for run in found for name in run]
        tap.ok(len(found) >= 2 and sorted(counted + [n.split()[0] for n in never]) == sorted(set(metrics.split(","))) and all(passes(chip, ",".join(run), *options)[1] == 1 for run in found),
               f"{chip} {' '.join(options)}: {len(found)} runs of one pass count all", (found, never))
        grown = [passes(chip, ",".join([*run, after[0]]), *options)[1] for run, after in zip(found, found[1:])]
        tap.ok(all(count > 1 for count in grown), f"{chip} {' '.join(options)}: and no run could count the next metric, too", grown)
    found, never = runs_of("GH100", "sm__cycles_active.avg,sm__throughput.avg.pct_of_peak_sustained_elapsed")
    tap.ok(found == [["sm__cycles_active.avg"]] and never == ["sm__throughput.avg.pct_of_peak_sustained_elapsed (8 passes alone)"], "a metric that takes several passes alone is in no run", (found, never))


def samples():
    """By sampling, CUPTI schedules metrics in other passes than by kernel."""
    for chip in ("TU102", "GA100", "GA102", "AD102", "GH100", "GB202"):
        found = {name: passes(chip, name, "--sampled")[:2] for name in ("basic", "memory", "instructions")}
        tap.ok(found["memory"] == (0, 1) and found["basic"] == (0, 2) and (found["instructions"] in ((0, 5), (0, 6)) or (chip, found["instructions"]) == ("GA100", (2, 0))),
               f"{chip} samples the set memory in one pass, basic in two, instructions in five or six, or GA100 not all of these", found)
    result = asked("GA100", "--metrics", "instructions", "--sampled")
    tap.ok(result.status == 2 and b"GA100 has no metric" in result.err, "which metric cannot be sampled is said", result.err)
    result = asked("GH100", "--sampled")
    tap.ok(result.status == 2 and b"--sampled needs --metrics" in result.err, "--sampled needs metrics", result.err)


def refusals():
    result = asked("XX100")
    tap.ok(result.status == 2 and result.err == b"trace: CUPTI does not know the chip 'XX100'; 'trace gpu-metrics' lists those that it knows\n", "an unknown chip is refused", result.err)
    for name in ("basic", "memory", "instructions"):
        result = asked(name)
        tap.ok(result.status == 2 and f"'{name}' is a set of metrics, not a chip; use 'trace gpu-metrics CHIP --metrics {name}'".encode() in result.err, f"{name} is no chip", result.err)
    result = trace("gpu-metrics", "--cupti", "/nonexistent/libcupti.so")
    tap.ok(result.status == 2 and b"no CUPTI of CUDA 12.6" in result.err, "without CUPTI it says so", result.err)
    result = asked("--metrics", "sm__cycles_active.avg")
    tap.ok(result.status == 2 and b"needs a chip" in result.err, "metrics need a chip", result.err)


if not CUPTI:
    tap.skip("trace gpu-metrics", "no libcupti.so.13")
    tap.finish()
lib.main(lists, plans, sets, runs, samples, refusals)
