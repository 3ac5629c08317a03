# SPDX-License-Identifier: Apache-2.0
"""Hardware metrics that need several runs in one report (`run --gpu-metrics-pass all`, `merge --metrics`) on the simulated device. Not run on a GPU."""
import csv
import io
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
import lib  # noqa: E402
from lib import folder, main, tap, trace  # noqa: E402
from libmetrics import BLOCKS, DURATION, REGISTERS, THREADED, THREADS, WIDE  # noqa: E402

WANTED = f"{DURATION},{REGISTERS},{THREADS},{BLOCKS}"  # groups: duration; registers; threads; blocks


def pass_of(number, argv, metrics=WANTED, trace_="cuda", **options):
    """Record one group. Return the report, and the kernels of the device's log."""
    log = os.path.join(folder(), "device.json")
    report = lib.recorded(argv, f"{os.path.basename(argv[0])}, group {number}", environment=lambda base: device.env(truth=log, base=base), limit=100,
                          LIBTRACE_TRACE=trace_, LIBTRACE_GPU_METRICS=metrics, LIBTRACE_GPU_METRICS_PASS=number, **options)
    return report, device.truth(log, "kernel")


def registers_of(report):
    return {(e["correlation_id"], 0): e["registers_per_thread"] for e in report.events("--kind", "cuda_kernel")}


def values(path, kind="cuda_metric"):
    """Return {kernel or range: {metric: value}}."""
    found = {}
    for e in lib.Report(path).events("--kind", kind):
        key = (e["correlation_id"], e["node"]) if kind == "cuda_metric" else (e["start_ns"], e["thread_id"], e["domain"], e["range"])
        found.setdefault(key, {})[e["metric"]] = e["value"]
    return found


def of_kernel(kernel):
    blocks = kernel["grid"][0] * kernel["grid"][1] * kernel["grid"][2]
    threads = blocks * kernel["block"][0] * kernel["block"][1] * kernel["block"][2]
    return {DURATION: kernel["end"] - kernel["start"], THREADS: threads, BLOCKS: blocks}


def joined(*reports, status=0, name="joined.rep"):
    out = os.path.join(folder(), name)
    result = trace("merge", "--metrics", "-o", out, *(r.path for r in reports))
    tap.ok(result.status == status and os.path.exists(out) == (status == 0), f"merge --metrics of {len(reports)} reports ends with {status}", (result.status, result.err))
    return out, result.err.decode()


def is_sound(path):
    report = lib.Report(path)
    return report.check().status == 0 and not lib.receipts_agree(report) and report.info()["verdict"].startswith("complete")


def each_kernel():
    for program in ("driver_api", "vector_add", "pipeline"):
        if device.missing(program):
            tap.skip(program, device.missing(program))
            continue
        runs = [pass_of(number, [device.app(program)]) for number in (1, 2, 3, 4)]
        registers = registers_of(runs[0][0])
        truth = {(k["correlation"], 0): {**of_kernel(k), REGISTERS: registers[(k["correlation"], 0)]} for k in runs[0][1]}
        out, said = joined(*(report for report, _ in runs))
        tap.ok(truth and values(out) == truth and is_sound(out), f"{program}: each launch has the metrics of all runs", (values(out), truth, said))
        tap.ok(values(runs[0][0].path) == {workload: {DURATION: row[DURATION]} for workload, row in truth.items()}, f"{program}: the first report is as it was", values(runs[0][0].path))
    again, said = joined(lib.Report(out), runs[2][0], name="again.rep")
    tap.ok(values(again) == values(out) and "no value" in said, "values that are there are not added again", said)
    readers(runs[0][0], out, truth)


def readers(first, out, truth):
    database = out + ".sqlite"
    rows = {r["Metric"]: r for r in csv.DictReader(io.StringIO(trace("stats", "-r", "cuda_kern_metric_sum", "-f", "csv", out).out.decode()))}
    tap.ok(set(rows) == {DURATION, THREADS, REGISTERS, BLOCKS}, "cuda_kern_metric_sum has the metrics of all runs", rows)
    trace("export", "-t", "sqlite", "-o", database, out)
    got = json.loads(trace("query", "-f", "json", database, "SELECT count(*) AS n FROM LIBTRACE_CUDA_METRIC").out)
    tap.ok(got == [{"n": 4 * len(truth)}], "so does SQLite", got)
    exported = out + ".ncu-rep"
    trace("export", "-t", "ncu", "-o", exported, out)
    table = list(csv.DictReader(io.StringIO(trace("details", "--csv", "--page", "raw", "--print-units", "base", exported).out.decode())))
    tap.ok([(float(r[BLOCKS]), float(r[THREADS])) for r in table if r["ID"]] == [(float(row[BLOCKS]), float(row[THREADS])) for row in truth.values()],
           "and the results of a report of Nsight Compute", table[:2])
    said = [d["text"] for d in lib.Report(out).info()["diagnostics"] if "other runs" in d["text"]]
    tap.ok(len(said) == 1 and "3 other runs" in said[0] and not any("other runs" in d["text"] for d in first.info()["diagnostics"]), "a diagnostic says where they are from", said)


def threads():
    """Launches of three threads have other ids in each run: they are found by name, shape and order."""
    runs = [pass_of(number, [sys.executable, "-c", THREADED], f"{REGISTERS},{THREADS},{BLOCKS}") for number in (1, 2, 3)]
    out, _ = joined(*(report for report, _ in runs))
    registers = registers_of(runs[0][0])
    shapes = {(k["correlation"], 0): {**of_kernel(k), REGISTERS: registers[(k["correlation"], 0)]} for k in runs[0][1]}
    got = values(out)
    tap.ok(len(got) == 300 and all(row == {m: shapes[workload][m] for m in (REGISTERS, THREADS, BLOCKS)} for workload, row in got.items()) and is_sound(out),
           "three threads: each launch has the metrics of launches of its shape", [(p, r, shapes[p]) for p, r in got.items()][:3])


def graphs():
    if device.missing("graph"):
        tap.skip("graphs", device.missing("graph"))
        return
    runs = [pass_of(number, [device.app("graph")], f"{REGISTERS},{THREADS},{BLOCKS}", LIBTRACE_CUDA_GRAPH="node") for number in (1, 2, 3)]
    apart = [values(report.path) for report, _ in runs]
    out, _ = joined(*(report for report, _ in runs))
    got = values(out)
    # The program is the same in each run, so its launches have the same ids.
    tap.ok(any(node for _, node in got) and got == {workload: {**apart[0][workload], **apart[1][workload], **apart[2][workload]} for workload in apart[0]} and is_sound(out),
           "graphs: each kernel of a launch has the metrics of all runs", got)


def ranges():
    runs = [pass_of(number, [device.app("nvtx_launch"), "3"], f"{REGISTERS},{THREADS},{BLOCKS}", "cuda,nvtx", LIBTRACE_GPU_METRICS_RANGE="nvtx") for number in (1, 2, 3)]
    out, _ = joined(*(report for report, _ in runs))
    got = [(workload[2], workload[3], row) for workload, row in sorted(values(out, "cuda_range_metric").items())]
    registers = {row[REGISTERS] for *_, row in got}
    truth = [("", "step", {THREADS: 288, BLOCKS: 9}), ("a domain", "step", {THREADS: 192, BLOCKS: 6})] * 3
    tap.ok([(d, n, {m: v for m, v in row.items() if m != REGISTERS}) for d, n, row in got] == truth and len(registers) == 1 and is_sound(out), "each range has the metrics of all runs", got)
    other, _ = pass_of(3, [device.app("nvtx_launch"), "2"], f"{REGISTERS},{THREADS},{BLOCKS}", "cuda,nvtx", LIBTRACE_GPU_METRICS_RANGE="nvtx")
    out, said = joined(runs[0][0], other, status=2)
    tap.ok("no launch or range" in said, "ranges that are not as many in both runs are not joined", said)


def others():
    """What cannot be joined."""
    first, kernels = pass_of(1, [device.app("driver_api")])
    plain, _ = pass_of(1, [device.app("driver_api")], "")
    stranger, _ = pass_of(2, [device.app("metric_ranges"), "threads"])
    _, said = joined(first, plain, status=2)
    tap.ok("has no hardware metrics" in said and plain.path in said, "a report without metrics is refused", said)
    _, said = joined(first, stranger, status=2)
    tap.ok("no launch or range" in said and stranger.path in said, "a report of another program is refused", said)
    longer, more = pass_of(2, [device.app("driver_api"), "20"])
    out, said = joined(first, longer)
    got, count = values(out), min(len(kernels), len(more))
    tap.ok(len(more) != len(kernels) and sum(REGISTERS in row for row in got.values()) == count and (f"{len(more) - count} " in said or len(more) < len(kernels)),
           "launches that only one run has are left out, and counted", (len(kernels), len(more), said))
    result = trace("merge", "--metrics", "-o", os.path.join(folder(), "x.rep"), first.path)
    tap.ok(result.status == 2 and b"at least two" in result.err, "one report is not enough", result.err)


def again(*words, argv=None, base=None, work=None, **more):
    """Run a program by `trace run` in a folder of its own. Return the result and the path of the report."""
    work = work or folder()
    out = os.path.join(work, "r.rep")
    env = device.env(base=base, **more)
    return lib.run([lib.TRACE, "run", "-t", "cuda", "-o", out, *words, "--", *(argv or [device.app("driver_api")])], env=env, cwd=work, limit=200), out


def run_all():
    """One command runs the program as often as it takes."""
    log = os.path.join(folder(), "runs")
    counted = ["/bin/sh", "-c", f"echo run >>'{log}'; exec '{device.app('driver_api')}'"]
    result, out = again("--gpu-metrics", f"{WANTED},{WIDE}", "--gpu-metrics-pass", "all", argv=counted)
    with open(log, encoding="utf-8") as file:
        runs = file.read().count("run")
    got = values(out)
    tap.ok(result.status == 0 and runs == 4 and got and all(set(row) == {DURATION, THREADS, REGISTERS, BLOCKS} for row in got.values()) and is_sound(out),
           "--gpu-metrics-pass all runs the program once for each group, and joins the metrics", (result.status, runs, result.err, got))
    tap.ok(os.listdir(os.path.dirname(out)) == ["r.rep"], "and leaves one report", os.listdir(os.path.dirname(out)))
    tap.ok(b"run 2 of 4" in result.err, "and says how many runs it takes", result.err)
    result, out = again("--gpu-metrics", f"{DURATION},{THREADS}", "--gpu-metrics-pass", "all")
    tap.ok(result.status == 0 and b"run 2" not in result.err and all(len(row) == 2 for row in values(out).values()), "metrics of one pass take one run", result.err)
    ending = ["/bin/sh", "-c", f"'{device.app('driver_api')}' || exit; echo run >>'{log}'; [ $(wc -l <'{log}') -lt 6 ]"]
    result, out = again("--gpu-metrics", WANTED, "--gpu-metrics-pass", "all", argv=ending)
    got = values(out)
    tap.ok(result.status == 1 and b"run 2" in result.err and all(set(row) == {DURATION} for row in got.values()), "a run that fails ends it, with its status; the report has the runs before", (result.status, result.err, got))
    work = folder()
    with open(os.path.join(work, "r.rep.group-2.rep"), "w", encoding="utf-8") as file:
        file.write("of the user")
    result, out = again("--gpu-metrics", WANTED, "--gpu-metrics-pass", "all", work=work)
    with open(os.path.join(work, "r.rep.group-2.rep"), encoding="utf-8") as file:
        text = file.read()
    tap.ok(result.status == 2 and b"group-2.rep" in result.err and text == "of the user" and values(out), "a file with the name of the report of a group stays as it is", (result.status, result.err, text))
    for words, cause in ((("--gpu-metrics-pass", "all"), b"needs --gpu-metrics"), (("--gpu-metrics", WANTED, "--gpu-metrics-frequency", "1000", "--gpu-metrics-pass", "all"), b"--gpu-metrics-frequency"),
                         (("--gpu-metrics", WANTED, "--gpu-metrics-pass", "all", "-o", "r-%p"), b"%p"), (("--gpu-metrics", WANTED, "--gpu-metrics-pass", "some"), b"an unsigned integer, or all")):
        result, out = again(*words)
        tap.ok(result.status == 2 and cause in result.err, f"{' '.join(words[-4:])} is refused", (result.status, result.err))


if device.missing("driver_api", "nvtx_launch", "metric_ranges"):
    tap.skip("metrics of several runs", device.missing("driver_api", "nvtx_launch", "metric_ranges"))
    tap.finish()
main(each_kernel, threads, graphs, ranges, others, run_all)
