# SPDX-License-Identifier: Apache-2.0
"""Hardware metrics of kernels and NVTX ranges (--gpu-metrics) on the simulated device, whose metrics are facts of its own log. Not run on a GPU."""
import collections
import csv
import io
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
import lib  # noqa: E402
from lib import clean_env, folder, main, tap, trace  # noqa: E402
from libmetrics import DURATION, REGISTERS, THREADED, THREADS, WIDE  # noqa: E402


def recorded(argv, metrics=f"{DURATION},{THREADS}", fault=None, toolkit="cuda13", trace="cuda", **options):
    """Return the report, and the kernels of the device's log in the order of their launches."""
    log = os.path.join(folder(), "device.json")
    report = lib.recorded(argv, f"{os.path.basename(argv[0])} {fault or ''}", environment=lambda base: device.env(toolkit, log, fault=fault, base=base), limit=100,
                          LIBTRACE_TRACE=trace, LIBTRACE_GPU_METRICS=metrics, **options)
    return report, device.truth(log, "kernel")


def values(report):
    """Return {correlation id: {metric: value}} of launches, without graphs."""
    found = {}
    for event in report.events("--kind", "cuda_metric"):
        if not event["node"]:
            found.setdefault(event["correlation_id"], {})[event["metric"]] = event["value"]
    return found


def true_values(kernels):
    def threads(kernel):
        count = 1
        for number in kernel["grid"] + kernel["block"]:
            count *= number
        return count
    return {k["correlation"]: {DURATION: k["end"] - k["start"], THREADS: threads(k)} for k in kernels}


def notes(report):
    return [d["text"] for d in report.info()["diagnostics"] if "hardware metric" in d["text"]]


def each_kernel():
    for program in ("driver_api", "vector_add", "pipeline"):
        if device.missing(program):
            tap.skip(program, device.missing(program))
            continue
        report, kernels = recorded([device.app(program)])
        tap.ok(kernels and values(report) == true_values(kernels), f"{program}: the metrics of each launch are those of its kernel", (values(report), true_values(kernels)))
        tap.ok(report.info()["verdict"].startswith("complete"), f"{program}: nothing lost", report.info()["verdict"])


def many():
    """More launches than a batch has."""
    if device.missing("launch_loop"):
        tap.skip("many launches", device.missing("launch_loop"))
        return
    report, kernels = recorded([device.app("launch_loop"), "2"])
    tap.ok(len(kernels) == 1001 and values(report) == true_values(kernels), "1,001 launches have their metrics", len(kernels))


def groups():
    """What does not fit one pass is in other runs."""
    wanted = f"{DURATION},{WIDE},{THREADS},{REGISTERS},bogus.sum,{DURATION}"
    found = []
    for number in (1, 2, 3):
        report, kernels = recorded([device.app("driver_api")], wanted, LIBTRACE_GPU_METRICS_PASS=number)
        found.append({metric for row in values(report).values() for metric in row})
    tap.ok(found == [{DURATION, THREADS}, {REGISTERS}, {DURATION, THREADS}], "each run counts a group, the third the first again", found)
    said = notes(report)
    tap.ok(len(said) == 3 and any("'bogus.sum' is not recorded: SIM100 does not have it" in s for s in said) and any(f"'{WIDE}' is not recorded: SIM100 needs 2 passes" in s for s in said)
           and any("group 1 of 2" in s for s in said), "what is left out is named, and the group", said)
    report, kernels = recorded([device.app("driver_api")], f"{WIDE},bogus.sum,")
    tap.ok(not values(report) and any("none of them can be collected" in s for s in notes(report)) and report.info()["verdict"].startswith("complete"), "nothing can be collected: said", notes(report))


def options_by_name():
    """Check that a diagnostic names what the user gave: the option of `trace run`, or the variable if that is set."""
    path, environment = os.path.join(folder(), "named.rep"), device.env("cuda13", base=clean_env())
    for variables, expected in (({}, "--gpu-metrics-pass chooses it"), ({"LIBTRACE_GPU_METRICS_PASS": "1"}, "LIBTRACE_GPU_METRICS_PASS chooses it")):
        lib.run([lib.TRACE, "run", "-f", "true", "-o", path, "-t", "cuda", "--gpu-metrics", f"{DURATION},{THREADS},{REGISTERS}", "--", device.app("driver_api")], env={**environment, **variables})
        said = notes(lib.Report(path))
        tap.ok(len(said) == 1 and said[0].endswith(expected), f"{variables}: {expected}", said)
    help_lines = re.sub(r"\n {32}", " ", trace("help", "run").out.decode()).splitlines()
    rows = [(re.search(r"--([a-z-]+)", line).group(1), re.search(r"\(LIBTRACE_([A-Z_]+)\)$", line).group(1)) for line in help_lines if re.search(r"\(LIBTRACE_[A-Z_]+\)$", line)]
    tap.ok(len(rows) > 40 and all(option == variable.lower().replace("_", "-") for option, variable in rows), "an option has the name of its variable", rows)


def refused():
    """Without permission, with an old CUPTI, and when the profiler fails later."""
    report, kernels = recorded([device.app("driver_api")], fault="fail=cuptiRangeProfilerEnable:0:35")
    said = notes(report)
    tap.ok(len(said) == 1 and "only to administrators (https://developer.nvidia.com/ERR_NVGPUCTRPERM)" in said[0] and not values(report), "without permission: one line", said)
    tap.ok(len(report.events("--kind", "cuda_kernel")) == len(kernels) and report.info()["verdict"].startswith("complete"), "and nothing else is lost", report.info()["verdict"])
    skipped = trace("stats", "-r", "cuda_kern_metric_sum", report.path)
    tap.ok(b"SKIPPED: " in skipped.out and f"does not contain hardware metric data: {said[0]}.".encode() in skipped.out, "stats says why there are none, too", skipped)
    report, kernels = recorded([device.app("driver_api")], toolkit="cuda11")
    tap.ok(notes(report) == ["hardware metrics are not recorded: CUPTI is older than that of CUDA 12.6"] and len(report.events("--kind", "cuda_kernel")) == len(kernels), "old CUPTI: one line", notes(report))
    for function in ("cuptiRangeProfilerStop", "cuptiRangeProfilerDecodeData", "cuptiProfilerHostEvaluateToGpuValues"):
        report, kernels = recorded([device.app("driver_api")], fault=f"fail={function}:1:999")
        tap.ok(len(report.events("--kind", "cuda_kernel")) == len(kernels) and not report.info()["verdict"].startswith("complete"), f"{function} fails: kernels are there, the verdict says that something is missing", report.info()["verdict"])
    for function in ("cuptiRangeProfilerStart", "cuptiProfilerInitialize", "cuptiProfilerHostInitialize", "cuptiDeviceGetChipName"):
        report, kernels = recorded([device.app("driver_api")], fault=f"fail={function}:1:999")
        tap.ok(len(report.events("--kind", "cuda_kernel")) == len(kernels) and len(notes(report)) == 1, f"{function} fails: one line, and kernels are there", notes(report))


def threads():
    """Launches of three threads at the same time are told apart."""
    report, kernels = recorded([sys.executable, "-c", THREADED])
    truth, found = true_values(kernels), values(report)
    tap.ok(len(kernels) == 300 and found == truth and report.info()["verdict"].startswith("complete"), "three threads: each launch has its values", (len(found), report.info()["verdict"]))


def graphs():
    if device.missing("graph"):
        tap.skip("graphs", device.missing("graph"))
        return
    report, kernels = recorded([device.app("graph")], LIBTRACE_CUDA_GRAPH="node")
    rows = [e for e in report.events("--kind", "cuda_metric") if e["node"] and e["metric"] == DURATION]
    launched = {}
    for kernel in kernels:
        launched[kernel["correlation"]] = launched.get(kernel["correlation"], 0) + 1
    counts = {}
    for row in rows:
        counts[row["correlation_id"]] = counts.get(row["correlation_id"], 0) + 1
    tap.ok(counts and all(launched.get(launch) == count for launch, count in counts.items()), "kernels of a graph belong to its launch", (counts, launched))
    tap.ok(all(true_values(kernels).get(launch) == row for launch, row in values(report).items()), "and other launches have theirs", values(report))
    report, _ = recorded([device.app("graph")])
    tap.ok(not notes(report), "launches that were captured, and so have no kernels: nothing is said to be missing", notes(report))


def samples_of(report):
    """Return {device: {metric: [(start, end, value)]}}, times as in the device's log."""
    origin, found = report.info()["session"]["start_ns"], {}
    for e in report.events("--kind", "cuda_metric_sample"):
        start = origin + e["start_ns"]
        found.setdefault(e["device_id"], {}).setdefault(e["metric"], []).append((start, start + e["duration_ns"], e["value"]))
    return found


def sampled():
    """Metrics in time: each sample counts what ran in its interval, on its device; samples follow each other."""
    wanted, hz = f"{DURATION},{THREADS},{REGISTERS}", 2000
    for program, arguments, options in (("driver_api", ["300"], ""), ("pipeline", [], "devices=2"), ("driver_api", ["300"], "samples_by_cycles=1")):
        if device.missing(program):
            tap.skip(f"samples of {program}", device.missing(program))
            continue
        report, kernels = recorded([device.app(program), *arguments], wanted, fault=f"kernel_ns=500000,{options}", LIBTRACE_GPU_METRICS_FREQUENCY=hz)
        found, length = samples_of(report), 750_000 if "cycles" in options else 500_000
        # REGISTERS takes a pass of its own, so it belongs to another run.
        tap.ok(found and all(set(metrics) == {DURATION, THREADS} for metrics in found.values()) and set(found) == {k["device"] for k in kernels},
               f"{program} {options}: metrics of one pass, of each device", {d: list(m) for d, m in found.items()})
        for number, metrics in found.items():
            own = [k for k in kernels if k["device"] == number]
            first, last = metrics[DURATION][0][0], metrics[DURATION][-1][1]
            gaps = [b[0] - a[1] for a, b in zip(metrics[DURATION], metrics[DURATION][1:])]
            tap.ok(len(gaps) > 3 and all(abs(g) <= 1000 for g in gaps) and all(abs(e - s - length) <= 1000 for s, e, _ in metrics[DURATION]),
                   f"{program} {options}: {len(gaps) + 1} samples of device {number} follow each other", (gaps[:20], metrics[DURATION][:3]))
            far = [(s, e, v) for s, e, v in metrics[DURATION] if abs(v - sum(max(0, min(e, k["end"]) - max(s, k["start"])) for k in own)) > 2000 * (1 + len(own))]
            ran = sum(max(0, min(last, k["end"]) - max(first, k["start"])) for k in own)
            tap.ok(not far and abs(sum(v for *_, v in metrics[DURATION]) - ran) <= 2000, f"{program} {options}: each sample of device {number} has the time of its kernels", (far, ran))
            threads = sum(true_values([k])[k["correlation"]][THREADS] for k in own if first <= k["start"] < last)
            tap.ok(sum(v for *_, v in metrics[THREADS]) == threads > 0, f"{program} {options}: and all their threads", (sum(v for *_, v in metrics[THREADS]), threads))
        tap.ok(report.info()["verdict"].startswith("complete") and not values(report), f"{program} {options}: nothing lost, nothing counted by kernel", report.info()["verdict"])
    sampled_readers(report)


def sampled_readers(report):
    found = samples_of(report)[0]
    for generation in ("2.9", "3.4", "3.24"):
        database = report.path + generation
        trace("export", "-t", "sqlite", "--compat", generation, "-o", database, report.path)
        got = json.loads(trace("query", "-f", "json", database, "SELECT t.typeName, t.metricName AS name, m.value FROM GPU_METRICS AS m JOIN TARGET_INFO_GPU_METRICS AS t "
                               "ON t.typeId = m.typeId AND t.metricId = m.metricId ORDER BY m.timestamp").out)
        tap.ok(all([r["value"] for r in got if r["name"] == name] == [v for *_, v in found[name]] for name in found) and {r["typeName"] for r in got} == {"Hardware metrics of GPU 0"},
               f"GPU_METRICS of schema {generation} has each sample", got[:5])
    rows = {r["Metric"]: r for r in json.loads(trace("stats", "-r", "gpu_metric_sum", "-f", "json", report.path).out)}
    tap.ok(all(rows[name]["Samples"] == len(found[name]) for name in found), "gpu_metric_sum sums them up", rows)
    chrome = report.path + ".json"
    trace("export", "-t", "chrome", "-o", chrome, report.path)
    with open(chrome, encoding="utf-8") as file:
        counters = [e for e in json.load(file)["traceEvents"] if e["ph"] == "C"]
    tap.ok(all([e["args"]["value"] for e in counters if e["name"] == f"GPU 0, {name}"] == [v for *_, v in found[name]] for name in found), "timelines have a counter for each metric", counters[:3])


def sampled_processes():
    """Two processes whose device 0 is another GPU: samples are of GPUs, not of numbers of devices."""
    if device.missing("driver_api"):
        tap.skip("samples of two processes", device.missing("driver_api"))
        return
    both = f"for n in 0 1; do SIM_DEVICE=first_gpu=$n '{device.app('driver_api')}' 300 & done; wait"
    report, _ = recorded(["/bin/sh", "-c", both], THREADS, LIBTRACE_GPU_METRICS_FREQUENCY=2000)
    events = report.events("--kind", "cuda_metric_sample")
    counts = sorted(collections.Counter(e["pid"] for e in events).values())
    rows = json.loads(trace("stats", "-r", "gpu_metric_sum", "-f", "json", report.path).out)
    tap.ok({e["device_id"] for e in events} == {0} and [r["GPU"] for r in rows] == [0, 1] and sorted(r["Samples"] for r in rows) == counts,
           "GPUs that processes number alike are summed up each for itself", (rows, counts))


def samples_refused():
    """Without permission, without room, and when CUPTI fails."""
    app, once = [device.app("driver_api"), "300"], {"LIBTRACE_GPU_METRICS_FREQUENCY": 2000}
    report, kernels = recorded(app, fault="fail=cuptiPmSamplingEnable:0:35", **once)
    tap.ok(len(notes(report)) == 1 and "only to administrators" in notes(report)[0] and not samples_of(report) and len(report.events("--kind", "cuda_kernel")) == len(kernels)
           and report.info()["verdict"].startswith("complete"), "samples without permission: one line, and nothing else is lost", notes(report))
    report, kernels = recorded(app, toolkit="cuda11", **once)
    tap.ok(notes(report) == ["hardware metrics are not recorded: CUPTI is older than that of CUDA 12.6"], "samples by an old CUPTI: one line", notes(report))
    report, kernels = recorded(app, fault="samples_max=2", **once)
    said = [d["text"] for d in report.info()["diagnostics"] if "buffer was full" in d["text"]]
    tap.ok(len(said) == 1 and samples_of(report) and not report.info()["verdict"].startswith("complete"), "a full buffer of the device: one line, and the verdict says that samples are missing", (said, report.info()["verdict"]))
    for function in ("cuptiPmSamplingSetConfig", "cuptiPmSamplingStart"):
        report, kernels = recorded(app, fault=f"fail={function}:0:999", **once)
        tap.ok(len(report.events("--kind", "cuda_kernel")) == len(kernels) and len(notes(report)) == 1 and not samples_of(report), f"{function} fails: one line, and kernels are there", notes(report))
    for function in ("cuptiPmSamplingDecodeData", "cuptiPmSamplingGetCounterDataInfo", "cuptiPmSamplingCounterDataGetSampleInfo"):
        report, kernels = recorded(app, fault=f"fail={function}:1:999", **once)
        said, wanted = [d["text"] for d in report.info()["diagnostics"]], [] if "SampleInfo" in function else ["samples of hardware metrics are missing: CUPTI cannot decode them (error 999)"]
        tap.ok([s for s in said if "are missing" in s] == wanted, f"{function} fails: the cause is said", said)
        tap.ok(len(report.events("--kind", "cuda_kernel")) == len(kernels) and not report.info()["verdict"].startswith("complete"), f"{function} fails: kernels are there, the verdict says that something is missing", report.info()["verdict"])


# ---- NVTX ranges ----


def range_rows(report):
    """Return [(domain, range, {metric: value})] of NVTX ranges, in the order of their begin."""
    found = {}
    for e in report.events("--kind", "cuda_range_metric"):
        found.setdefault((e["start_ns"], e["thread_id"], e["domain"], e["range"]), {})[e["metric"]] = e["value"]
    return [(domain, name, row) for (_, _, domain, name), row in sorted(found.items(), key=lambda item: item[0])]


def ranged(what="nvtx", rounds=1, program="nvtx_launch", **options):
    return recorded([device.app(program), str(rounds)], trace="cuda,nvtx", LIBTRACE_GPU_METRICS_RANGE=what, **options)


def sums(kernels):
    rows = true_values(kernels).values()
    return {DURATION: sum(r[DURATION] for r in rows), THREADS: sum(r[THREADS] for r in rows)}


def by_range():
    """The kernels that the context gets during a range, in any thread: nvtx_launch launches grids of 1, then 3, 2 (another thread), 4 in "step", 5, and 6 in "step" of a domain."""
    report, kernels = ranged(rounds=3)
    truth = [row for at in range(0, 18, 6) for row in (("", "step", sums(kernels[at + 1:at + 4])), ("a domain", "step", sums(kernels[at + 5:at + 6])))]
    tap.ok([k["grid"][0] for k in kernels] == [1, 3, 2, 4, 5, 6] * 3 and range_rows(report) == truth, "each range has the metrics of the kernels in it", (range_rows(report), truth))
    tap.ok(not values(report) and len(report.events("--kind", "cuda_kernel")) == 18, "kernels themselves are not measured, but recorded", values(report))
    outer = [("step", 288), ("step", 192)]
    for what, expected in (("nvtx:inner", [("inner", 160)]), ("nvtx:s?ep@a*", outer[1:]), ("nvtx:st*", outer), ("nvtx:*@?*", [("span", 192), ("step", 192)]), ("nvtx:stepp", [])):
        report, kernels = ranged(what)
        found = [(name, row[THREADS]) for _, name, row in range_rows(report)]
        tap.ok(found == expected, f"--gpu-metrics-range {what}", found)


def range_batches():
    """More ranges than a batch has."""
    report, kernels = ranged(rounds=200)
    found = [(name, row[THREADS]) for _, name, row in range_rows(report)]
    tap.ok(len(kernels) == 1200 and found == [("step", 288), ("step", 192)] * 200 and report.info()["verdict"].startswith("complete"), "400 ranges have their metrics", len(found))


def range_cases():
    """What is measured of ranges that are nested, at the same time, left open, without kernels, around a fork, ... and what is said of those that are not."""
    beside, left = "threads had ranges at the same time", "were never popped"
    for what, expected, said, dropped in (
            ("threads", [("main", 96), ("alone", 64)], beside, 1),
            ("open", [("closed", 32)], left, 1),
            ("left", [("after", 32)], left, 1),
            ("fork", [("before", 32), ("around", 160), ("after", 128)], None, 0),
            ("early", [("early", 32), ("late", 64)], None, 0),
            ("empty", [("full", 64)], None, 0),
            ("handler", [("after", 32)], "in a signal handler", 1),
            ("popped", [("alone", 64)], left, 1),
            ("stale", [("fresh", 64)], None, 0),
            ("crowd", [("late", 64)], "more than 64 threads", 1),
            ("capture", [("before", 32), ("after", 64)], "while a stream was captured", 45)):
        report, kernels = ranged(rounds=what, program="metric_ranges")
        found = [(name, row[THREADS]) for _, name, row in range_rows(report)]
        tap.ok(found == expected, f"{what}: ranges that are measured", found)
        tap.ok([said in s for s in notes(report)] == [True] * bool(said), f"{what}: what is left out is said, in one line", notes(report))
        asked = [e["count"] for e in report.events("--kind", "cuda_api_summary") if e["function"] == "cuCtxGetCurrent"]
        tap.ok(asked == [1], f"{what}: the tracer's own calls of the driver are not counted as the program's", asked)
        lost = report.info()["verdict"]
        tap.ok(lost.startswith(f"{dropped} event{'s' * (dropped > 1)} dropped" if dropped else "complete"), f"{what}: {dropped} dropped", lost)
    report, _ = ranged()
    tap.ok(len(notes(report)) == 1 and "NVTX ranges within measured ones are left out" in notes(report)[0] and report.info()["verdict"].startswith("complete"), "nested ranges: said in one line, nothing is lost", notes(report))


def range_names():
    """Messages that do not fit in a record, and more names than there is room for."""
    text = "x" * 1999
    for what, ends in (("nvtx", (1, 2, 3)), ("nvtx:*x2", (2,))):
        report, _ = ranged(what, "long", "metric_ranges")
        found = [(name, row[THREADS]) for _, name, row in range_rows(report)]
        tap.ok(found == [(f"{text}{n}", 32 * n) for n in ends], f"{what}: messages of 2,000 bytes", [(name[:4], name[920:], threads) for name, threads in found])
    report, _ = ranged("nvtx", "names", "metric_ranges")
    found = [(name, row[THREADS]) for _, name, row in range_rows(report)]
    tap.ok(found == [("registered", 32), ("(too many names)", 64)], "20,000 messages of 900 bytes leave room for other names", found)
    kernels = {e["name"] for e in report.events("--kind", "cuda_kernel")}
    tap.ok(not any("too many" in name for name in kernels) and len(kernels) == 1, "kernels have their names", kernels)


def range_children():
    """Children of processes that have not called CUDA are measured: forked while another thread has the lock, or before there is a driver."""
    report, _ = ranged("nvtx", "children", "metric_ranges")
    found = [(name, row[THREADS]) for _, name, row in range_rows(report)]
    tap.ok(found == [("child", 32)] * 4 and report.info()["verdict"].startswith("complete") and not notes(report), "children of a process that has not used CUDA: ranges are measured", (found, report.info()["verdict"], notes(report)))
    report, kernels = recorded([sys.executable, "-c", "import os\nif os.fork(): os._exit(os.wait()[1] != 0)\n" + THREADED])
    tap.ok(len(kernels) == 300 and values(report) == true_values(kernels), "a child of a process without a driver: kernels are measured", (len(kernels), notes(report)))


def range_options():
    for options, cause in (({"LIBTRACE_GPU_METRICS_RANGE": "nvtx", "trace": "cuda"}, "NVTX is not traced"), ({"LIBTRACE_GPU_METRICS_RANGE": "nvt"}, "neither kernel nor nvtx"),
                           ({"LIBTRACE_GPU_METRICS_RANGE": "nvtx", "LIBTRACE_GPU_METRICS_FREQUENCY": 2000}, "not sampled in time")):
        report, kernels = recorded([device.app("nvtx_launch"), "1"], **{"trace": "cuda,nvtx", **options})
        tap.ok(len(notes(report)) == 1 and cause in notes(report)[0] and not range_rows(report) and not values(report) and len(report.events("--kind", "cuda_kernel")) == len(kernels),
               f"{options}: one line, and kernels are there", notes(report))
    report, kernels = ranged("kernel", "empty", "metric_ranges")
    tap.ok(len(values(report)) == len(kernels) == 2 and not range_rows(report), "--gpu-metrics-range kernel: as without it", values(report))
    for function in ("cuptiRangeProfilerPushRange", "cuptiRangeProfilerPopRange", "cuptiRangeProfilerStop", "cuptiRangeProfilerCounterDataGetRangeInfo"):
        report, kernels = ranged(fault=f"fail={function}:0:999")
        tap.ok(len(report.events("--kind", "cuda_kernel")) == len(kernels) and not report.info()["verdict"].startswith("complete") and len(report.events("--kind", "nvtx_range")) == 5,
               f"{function} fails: kernels and ranges are there, the verdict says that something is missing", (report.info()["verdict"], notes(report)))


def range_readers():
    """Statistics, results of ranges in Nsight Compute's form, and the cause of a slower range."""
    report, kernels = ranged(rounds=2)
    rows = json.loads(trace("stats", "-r", f"nvtx_metric_sum:metric={THREADS}", "-f", "json", report.path).out)
    tap.ok([(r["Ranges"], r["Sum"], r["Min"], r["Metric"], r["Range"]) for r in rows] == [(2, 576, 288, THREADS, ":step"), (2, 384, 192, THREADS, "a domain:step")], "nvtx_metric_sum sums up ranges by domain and name", rows)
    exported = report.path + ".ncu-rep"
    trace("export", "-t", "ncu", "-o", exported, report.path)
    rows = list(csv.DictReader(io.StringIO(trace("details", "--csv", "--page", "raw", "--print-units", "base", exported).out.decode())))
    found = [(r["Kernel Name"], r.get(THREADS)) for r in rows]
    tap.ok([f for f in found if f[0] == "range"] == [("range", "288"), ("range", "192")] * 2 and len(found) == 17, "they are results of ranges in a report of Nsight Compute", found)
    text = trace("details", exported).out.decode().split("  range, ")[1:]
    tap.ok(len(text) == 4 and "<0,step>" in text[0] and "a domain" in text[1] and "a domain" not in text[0], "with the NVTX range that they are", text)


def readers():
    """Statistics, Nsight Compute's form, and the cause of a slower kernel."""
    report, kernels = recorded([device.app("driver_api")])
    rows = list(csv.DictReader(io.StringIO(trace("stats", "-r", "cuda_kern_metric_sum", "-f", "csv", report.path).out.decode())))
    truth = true_values(kernels)
    tap.ok(sum(int(r["Kernels"]) for r in rows) == 2 * len(truth) and sum(float(r["Sum"]) for r in rows if r["Metric"] == THREADS) == sum(t[THREADS] for t in truth.values()),
           "cuda_kern_metric_sum sums up all launches", rows)
    exported = report.path + ".ncu-rep"
    trace("export", "-t", "ncu", "-o", exported, report.path)
    rows = list(csv.DictReader(io.StringIO(trace("stats", "-r", f"ncu_metric_sum:metric={DURATION}", "-f", "csv", exported).out.decode())))
    tap.ok(sum(int(r["Values"]) for r in rows) == len(truth) and sum(float(r["Sum"]) for r in rows) == sum(t[DURATION] for t in truth.values()), "they are metrics of the results in a report of Nsight Compute", rows)
    database = report.path + ".sqlite"
    trace("export", "-t", "sqlite", "-o", database, report.path)
    got = json.loads(trace("query", "-f", "json", database, "SELECT typeof(value) AS type, count(*) AS n FROM LIBTRACE_CUDA_METRIC GROUP BY 1").out)
    tap.ok(got == [{"type": "real", "n": 2 * len(truth)}], "values are numbers in SQLite", got)


if device.missing("driver_api"):
    tap.skip("hardware metrics", device.missing("driver_api"))
    tap.finish()
main(each_kernel, many, groups, options_by_name, refused, threads, graphs, sampled, sampled_processes, samples_refused, by_range, range_batches, range_cases, range_names, range_children, range_options, range_readers, readers)
