#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Compare the report of CUDA programs on the simulated device with the device's own log (its truth). This test has not run on a GPU.

Each fault of the simulated CUPTI reproduces a fault that users of tracers have reported.
"""
import collections
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
from lib import Report, folder, main, receipts_agree, run, spool_folder, tap, traced_env, wait_spool_gone  # noqa: E402

TOOLKITS = ("cuda13", "cuda12", "cuda11")
PROGRAMS = ("vector_add", "pipeline", "graph", "driver_api")
OPERATIONS = {"cuda_kernel": ("kernel",), "cuda_memcpy": ("memcpy", "memcpy_peer"), "cuda_memset": ("memset",)}
TRIVIAL = ("cudaGetLastError", "cudaPeekAtLastError", "cudaGetDevice", "cuCtxSetCurrent", "cuCtxGetCurrent", "cuCtxPushCurrent", "cuCtxPopCurrent",
           "cuDeviceGet", "cuDeviceGetAttribute", "__cudaPushCallConfiguration", "__cudaPopCallConfiguration", "cudaStreamIsCapturing")


class Traced:
    """The run of a traced program on the simulated device: its result, its report, the rows by kind, the device's truth."""

    def __init__(self, argv, toolkit="cuda13", sources="cuda", sim_device=None, fault=None, preload=(), **options):
        self.folder, self.spool = folder(), spool_folder()
        self.truth_path = os.path.join(self.folder, "truth-%p")
        base = traced_env(os.path.join(self.folder, "r.rep"), self.spool, preload=preload, LIBTRACE_TRACE=sources, **options)
        env = device.env(toolkit, truth=self.truth_path, device=sim_device, fault=fault, base=base)
        self.result = run(argv, env=env, cwd=self.folder)
        self.finished = wait_spool_gone(self.spool)
        self.report = Report(os.path.join(self.folder, "r.rep"))
        self.events = collections.defaultdict(list)
        for event in self.report.events("--absolute") if self.report.exists() else []:
            self.events[event["kind"]].append(event)

    @property
    def truth(self):
        lines = []
        for name in sorted(os.listdir(self.folder)):
            if name.startswith("truth-"):
                lines += device.lines(os.path.join(self.folder, name))
        return lines

    def of_truth(self, *types):
        return [line for line in self.truth if line["type"] in types]

    def notes(self):
        return [d["text"] for d in self.report.info()["diagnostics"]]

    def receipt(self):
        return self.events["cuda_receipt"][0]


def traced(name, argv, status=0, **options):
    t = Traced(argv, **options)
    ok = t.finished and t.result.status == status and t.report.exists() and not receipts_agree(t.report) and t.report.check().status == 0
    tap.ok(ok, f"{name}: runs as it should, and its report is sound",
           f"status {t.result.status}, hung {t.result.hung}\n{t.result.out.decode()}\n{t.result.err.decode()}\n"
           f"{t.report.exists() and (receipts_agree(t.report), t.report.check().out)}")
    return t if t.report.exists() else None


def same(name, got, wanted):
    tap.ok(got == wanted, name, f"wanted {wanted}\n   got {got}")


def no_violations(name, t):
    same(f"{name}: no rule of CUPTI is broken", t.of_truth("violation"), [])


def runs(name, program):
    reason = device.missing(program)
    if reason:
        tap.skip(name, reason)
    return not reason


def api_name(event):
    """Return the name without the version that CUPTI adds to runtime functions; driver functions have their exported names in both."""
    base, mark, version = event["function"].rpartition("_v")
    return base if mark and version.isdigit() and event["api"] == "runtime" else event["function"]


def strip(name):
    base, mark, version = name.rpartition("_v")
    return base if mark and version.isdigit() else name


# ---- everything that happened, and nothing else ----

def operations_agree(name, t, graph_nodes):
    for kind, types in OPERATIONS.items():
        wanted = [line for line in t.of_truth(*types) if graph_nodes or not line["graph"]]
        same(f"{name}: every {kind}, by correlation", sorted(e["correlation_id"] for e in t.events[kind]),
             sorted(line["correlation"] for line in wanted))
        same(f"{name}: how long each {kind} lasted", sorted((e["correlation_id"], e["duration_ns"]) for e in t.events[kind]),
             sorted((line["correlation"], line["end"] - line["start"]) for line in wanted))


def kernels_agree(name, t, graph_nodes):
    wanted = collections.Counter((line["name"], *line["grid"], *line["block"], line["device"], line["stream"], line["registers"], line["static_shared"],
                                  line["dynamic_shared"]) for line in t.of_truth("kernel") if graph_nodes or not line["graph"])
    got = collections.Counter((e["name"].split("(")[0], *(e[f"{what}_{axis}"] for what in ("grid", "block") for axis in "xyz"), e["device_id"],
                               e["stream_id"], e["registers_per_thread"], e["static_shared_memory"], e["dynamic_shared_memory"])
                              for e in t.events["cuda_kernel"])
    wanted = collections.Counter({(key[0] if not key[0].startswith("_Z") else None, *key[1:]): n for key, n in wanted.items()})
    got = collections.Counter({(key[0] if (key[0], *key[1:]) in wanted else None, *key[1:]): n for key, n in got.items()})
    same(f"{name}: kernels with the facts of their launch", got, wanted)


def calls_agree(name, t):
    """Check that calls that are only counted are in the sums, and that all others are rows, with result, thread and nesting."""
    wanted, got = collections.Counter(), collections.Counter()
    for line in t.of_truth("api"):
        wanted[strip(line["name"]), line["domain"]] += 1
    for e in t.events["cuda_api"]:
        got[strip(e["function"]), e["api"]] += 1
    for e in t.events["cuda_api_summary"]:
        got[strip(e["function"]), e["api"]] += e["count"]
    first = [key for key in wanted if key[0] in ("cuInit", "cuDriverGetVersion")]  # calls of the tracer itself while it starts
    for key in first:
        wanted.pop(key), got.pop(key, None)
    same(f"{name}: every call of both APIs, as a row or in a sum", got, wanted)
    rows = {(e["correlation_id"], e["api"], e["return_value"], e["tid"], bool(e["level"])) for e in t.events["cuda_api"]}
    known = {(line["correlation"], line["domain"], line["result"], line["tid"], line["nested"]) for line in t.of_truth("api")}
    same(f"{name}: correlation, result, thread and nesting of calls", sorted(rows - known), [])


def causes_agree(name, t):
    calls = {e["correlation_id"]: e for e in t.events["cuda_api"] if not e["level"]}
    orphans = [(kind, e["correlation_id"]) for kind in OPERATIONS for e in t.events[kind] if e["correlation_id"] not in calls]
    same(f"{name}: each operation has its API call", orphans, [])
    receipt = t.receipt()
    same(f"{name}: by the receipt no operation began before its call", (receipt["too_early"], receipt["impossible"], receipt["dropped"], receipt["ignored"]),
         (0, 0, 0, 0))
    checked = sum(len(t.events[kind]) for kind in OPERATIONS)
    same(f"{name}: each operation was compared with its call", receipt["checked"], checked)
    same(f"{name}: rows = records", receipt["rows"], receipt["records"])


def programs():
    for program in PROGRAMS:
        for toolkit in TOOLKITS:
            name = f"{program} with {toolkit}"
            if not runs(name, program):
                continue
            t = traced(name, [device.app(program)], toolkit=toolkit)
            if not t:
                continue
            tap.ok(device.did(t.result) is not None, f"{name}: the program computes the right results", t.result.out.decode())
            whole_graphs = bool(t.events["cuda_graph_trace"])
            operations_agree(name, t, graph_nodes=not whole_graphs)
            kernels_agree(name, t, graph_nodes=not whole_graphs)
            calls_agree(name, t)
            causes_agree(name, t)
            no_violations(name, t)


def graphs():
    name = "graph"
    if not runs(name, "graph"):
        return
    t = traced("graphs whole", [device.app("graph")])
    if t:
        same("a launched graph is one event", len(t.events["cuda_graph_trace"]), device.did(t.result)["graph_launches"])
        created = [e for e in t.events["cuda_graph"]]
        tap.ok({e["operation"] for e in created} >= {2, 3} or {e["operation"] for e in created} >= {"cloned", "instantiated"},
               "graphs, their copies and executable graphs are recorded", str(created))
        calls = {e["correlation_id"] for e in t.events["cuda_api"] if not e["level"]}
        tap.ok(t.events["cuda_graph_node"] and all(e["correlation_id"] in calls for e in t.events["cuda_graph_node"]),
               "each node of a graph has the API call that created it", str(t.events["cuda_graph_node"][:3]))
    t = traced("graphs by node", [device.app("graph")], LIBTRACE_CUDA_GRAPH="node")
    if t:
        did = device.did(t.result)
        same("with --cuda-graph node there are no whole graphs", t.events["cuda_graph_trace"], [])
        same("each kernel of a graph is an event", len([e for e in t.events["cuda_kernel"] if e["graph_node_id"]]), did["graph_kernels"])
        copies = {e["graph_node_id"] for e in t.events["cuda_graph_node"]}
        tap.ok(all(e["graph_node_id"] in copies for e in t.events["cuda_kernel"] if e["graph_node_id"]), "the node of each kernel of a graph is known")


def options():
    name = "options"
    if not runs(name, "vector_add"):
        return
    t = traced("trivial calls recorded", [device.app("vector_add")], LIBTRACE_CUDA_TRIVIAL="record")
    if t:
        same("with --cuda-trivial record no call is only counted", t.events["cuda_api_summary"], [])
        tap.ok(any(api_name(e) in TRIVIAL for e in t.events["cuda_api"]), "with --cuda-trivial record trivial calls are rows")
    t = traced("callchains of launches", [device.app("vector_add")], LIBTRACE_CUDA_BACKTRACE="kernel")
    if t:
        launches = [e for e in t.events["cuda_api"] if "Launch" in e["function"]]
        others = [e for e in t.events["cuda_api"] if "Launch" not in e["function"]]
        tap.ok(launches and all(e["callchain"] for e in launches), "every launch has a callchain", str(launches[:1]))
        tap.ok(not any(e["callchain"] for e in others), "no other call has a callchain")
    t = traced("without memory events", [device.app("vector_add")], LIBTRACE_CUDA_MEMORY="false")
    if t:
        same("with LIBTRACE_CUDA_MEMORY=false no memory event is recorded", (t.events["cuda_memory"], t.events["cuda_memory_pool"]), ([], []))
    t = traced("without the source", [device.app("vector_add")], sources="osrt")
    if t:
        same("without -t cuda nothing of CUDA is recorded", [kind for kind in t.events if kind.startswith("cuda")], [])


# ---- starting ----

def no_cuda(name, t, words):
    same(f"{name}: the program's results are right", device.did(t.result) is not None, True)
    notes = [text for text in t.notes() if "CUDA" in text]
    tap.ok(len(notes) == 1 and all(word in notes[0] for word in words), f"{name}: one line says why", str(notes))
    rows = [kind for kind, events in t.events.items() if kind.startswith("cuda_") and events]
    same(f"{name}: nothing of CUDA is recorded", rows, [])
    tap.ok(t.events["osrt_call"] or t.events["osrt_summary"], f"{name}: everything else goes on")


def cannot_start():
    if not runs("no CUPTI", "vector_add"):
        return
    cases = (("another tool has CUPTI", dict(fault="subscribe_fails=39"), ["another tool"]),
             ("CUPTI does not fit the driver", dict(fault="subscribe_fails=15", LIBTRACE_CUPTI=os.path.join(device.folder(), "libcupti.so.13")), ["are incompatible"]),
             ("CUPTI fails with 999", dict(fault="subscribe_fails=999", LIBTRACE_CUPTI=os.path.join(device.folder(), "libcupti.so.13")), ["no usable driver"]),
             ("no CUPTI", dict(LIBTRACE_CUPTI="/nonexistent/libcupti.so"), ["cannot find CUPTI"]),
             ("kernels may not be recorded", dict(fault="enable_fails=10"), ["administrators"]))
    for name, options_, words in cases:
        t = traced(name, [device.app("vector_add")], sources="cuda,osrt", **options_)
        if t:
            no_cuda(name, t, words)


def no_driver():
    """Run a program that looks for CUPTI: the real CUPTI, if there is one, without a driver."""
    t = Traced([sys.executable, "-c", "import ctypes\ntry: ctypes.CDLL('libcuda.so.1')\nexcept OSError: print('none')\n"
                "print('libcupti' in open('/proc/self/maps').read())"], toolkit="none", sources="cuda,osrt")
    if t.result.out.decode().split()[:1] != ["none"]:
        tap.skip("no driver", "there is one")
        return
    same("without a driver CUPTI is not loaded", t.result.out.decode().split(), ["none", "False"])
    same("one diagnostic says that there is no driver", [text for text in t.notes() if "CUDA" in text], ["CUDA is not recorded: cannot find the driver (libcuda.so.1)"])


def only_asked():
    """Check that the tracer does not load the driver if the program calls dlopen(RTLD_NOLOAD) to ask whether it is loaded."""
    name = "the program asks whether there is a driver"
    if device.missing():
        tap.skip(name, device.missing())
        return
    t = Traced([sys.executable, "-c", "import ctypes, os\ntry: ctypes.CDLL('libcuda.so.1', mode=os.RTLD_NOLOAD | os.RTLD_NOW); print('loaded')\n"
                "except OSError: print('none')\nprint('libcu' in open('/proc/self/maps').read())"], sources="cuda,osrt")
    same(f"{name}: it is not loaded for that, nor is CUPTI", t.result.out.decode().split(), ["none", "False"])


def never_used():
    t = Traced(["/bin/sh", "-c", "grep -c libcupti /proc/$$/maps; ls /proc/$$/task | wc -l"], toolkit="none", sources="cuda,osrt,nvtx")
    same("a program without CUDA: no CUPTI, no thread", t.result.out.decode().split(), ["0", "1"])
    same("the report of a program without CUDA does not mention CUDA", [text for text in t.notes() if "CUDA" in text or "CUPTI" in text], [])


def kind_refused():
    if not runs("a kind is refused", "vector_add"):
        return
    t = traced("a kind of activity is refused", [device.app("vector_add")], fault="enable_fails=36")
    if t:
        same("one diagnostic names the kind that is refused", [text for text in t.notes() if "36" in text], ["CUPTI refused activity kinds 36"])
        same("all kinds that are not refused are recorded", len(t.events["cuda_kernel"]), device.did(t.result)["kernels"])


# ---- faults of CUPTI ----

def faults():
    if not runs("faults", "pipeline"):
        return
    total = len(Traced([device.app("vector_add")]).events["cuda_kernel"])
    t = traced("records dropped", [device.app("vector_add"), "100"], fault="drop_every=5")
    if t:
        receipt = t.receipt()
        tap.ok(receipt["dropped"] > 0, "CUPTI's own count is in the receipt", str(receipt))
        same("records that CUPTI drops count as drops of the process", t.report.dropped(), receipt["dropped"])
        tap.ok(t.report.info()["verdict"] != "complete", "the verdict is not complete", str(t.report.info()["verdict"]))
    for fault in ("zero_every=4", "invert_every=4"):
        t = traced(fault, [device.app("vector_add")], fault=fault)
        if not t:
            continue
        receipt, untimed = t.receipt(), t.events["cuda_untimed"]
        tap.ok(receipt["impossible"] == len(untimed) > 0, f"{fault}: impossible stamps are counted", f"{receipt}, {len(untimed)}")
        drawn = [e for kind in OPERATIONS for e in t.events[kind]]
        begin = t.events["cuda_setup"][0]["time_ns"]
        tap.ok(drawn and all(e["start_ns"] >= begin and e["duration_ns"] < 10**10 for e in drawn), f"{fault}: impossible stamps are never drawn")
        same(f"{fault}: nothing is lost", len(t.events["cuda_kernel"]) + len([e for e in untimed if e["name"]]), total)
    t = traced("times that are too early", [device.app("vector_add")], fault="skew_ns=5000000")
    if t:
        receipt = t.receipt()
        tap.ok(receipt["too_early"] > 0 and receipt["worst_early_ns"] > 0, "operations before their call are counted", str(receipt))
    for fault in ("unordered=1", "late_ms=20", "worker=1", "shared_buffer=1", "worker=1,buffer_delay_us=2000", "nested_ids=1", "launch_cbid=505",
                  "timestamp_fails=14"):
        t = traced(fault, [device.app("pipeline")], fault=fault if fault.split("=")[0] not in ("nested_ids", "launch_cbid") else None,
                   sim_device=fault if fault.split("=")[0] in ("nested_ids", "launch_cbid") else None)
        if t:
            operations_agree(fault, t, graph_nodes=True)
            no_violations(fault, t)


def few_buffers():
    """Check threads that need more buffers than the limit: CUPTI gets none if it supports that, otherwise one whose records are discarded and counted."""
    if not runs("few buffers", "pipeline"):
        return
    for toolkit in TOOLKITS:
        t = traced(f"one buffer only, {toolkit}", [device.app("pipeline"), "6", "20"], toolkit=toolkit, LIBTRACE_CUDA_BUFFERS=1)
        if t:
            tap.ok(device.did(t.result) is not None, f"{toolkit}: the program's results are right", t.result.out.decode())
            no_violations(toolkit, t)
            lost = t.report.dropped()
            kernels = len(t.of_truth("kernel"))
            tap.ok(len(t.events["cuda_kernel"]) == kernels or lost > 0, f"{toolkit}: what is missing is counted",
                   f"{len(t.events['cuda_kernel'])} of {kernels}, {t.receipt()}")


def clocks():
    """Check both clocks: with CUDA 13.0, whose timestamp callback is known to be broken, times are converted; CUPTI 11.8 uses our clock."""
    if not runs("clocks", "vector_add"):
        return
    for toolkit, clock in (("cuda13", 2), ("cuda12", 2), ("cuda11", 1)):
        t = traced(f"clock of {toolkit}", [device.app("vector_add")], toolkit=toolkit)
        if not t:
            continue
        same(f"{toolkit}: the report names the clock in use", t.events["cuda_setup"][0]["clock"], clock)
        wanted = sorted((line["correlation"], line["start"]) for line in t.of_truth("kernel"))
        got = sorted((e["correlation_id"], e["start_ns"]) for e in t.events["cuda_kernel"])
        apart = max((abs(a[1] - b[1]) for a, b in zip(wanted, got)), default=None)
        tap.ok([a[0] for a in wanted] == [b[0] for b in got] and apart is not None and apart <= 20000,
               f"{toolkit}: times are those of the device, on CLOCK_MONOTONIC", f"{apart} ns apart")
        late = [e["completed_ns"] - e["start_ns"] - e["duration_ns"] for e in t.events["cuda_kernel"] if e["completed_ns"]]
        tap.ok(late and all(0 <= ns < 1000000 for ns in late), f"{toolkit}: kernels complete when they end, on the same clock", late[:5])
        since_start = [e["completed_ns"] - e["start_ns"] for e in t.report.events("--kind", "cuda_kernel") if e["completed_ns"]]
        same(f"{toolkit}: a dump counts both from the same moment", since_start, [e["completed_ns"] - e["start_ns"] for e in t.events["cuda_kernel"] if e["completed_ns"]])
        setups = t.of_truth("violation")
        same(f"{toolkit}: one callback, before any context", setups, [])


# ---- ends ----

def ends():
    if not runs("ends", "ends"):
        return
    for way, status, processes in (("exit", 0, 1), ("_exit", 0, 1), ("abort", -6, 1), ("kill", -9, 1), ("exec", 0, 2), ("fork", 0, 1), ("fork_first", 0, 2)):
        t = traced(way, [device.app("ends"), way], status=status, LIBTRACE_CUDA_FLUSH=100)
        if not t:
            continue
        same(f"{way}: the report has each process", len(t.report.processes()), processes)
        same(f"{way}: nothing is missing", len(t.events["cuda_memset"]), len(t.of_truth("memset")))
        no_violations(way, t)
    t = traced("hang", [device.app("ends"), "hang"], status=-14, sim_device="copy_bytes_per_us=1", LIBTRACE_CUDA_FLUSH=100)
    if t:
        unfinished = [e["function"] for e in t.events["cuda_api"] if "unfinished" in e["flags"]]
        same("hang: the call that did not return is there", unfinished, ["cuMemcpyHtoD_v2"])


def ends_in_a_handler():
    """Check _exit() and exit() in a handler that interrupted malloc(): CUPTI is not flushed, since it allocates."""
    if not runs("end in malloc", "end_in_malloc"):
        return
    for way, backtrace in (("_exit", "dwarf"), ("_exit", "none"), ("exit", "dwarf"), ("exit", "none")):
        argv = [device.app("end_in_malloc")] + (["exit"] if way == "exit" else [])
        plain = run(argv, env=device.env())
        tap.ok(plain.status == 7, f"{way} in malloc, untraced", plain)
        t = traced(f"{way} in malloc, backtraces {backtrace}", argv, status=7, fault="worker=1", LIBTRACE_BACKTRACE=backtrace)
        if t:
            same("one diagnostic says what is missing", len([text for text in t.notes() if "signal handler" in text]), 1)


def window():
    if not runs("window", "ends"):
        return
    t = traced("window", [device.app("ends"), "window"], LIBTRACE_CAPTURE_RANGE="cudaProfilerApi")
    if t:
        same("only what was done in the program's window is there", len(t.events["cuda_memset"]), 5)
        calls = [e["function"] for e in t.events["cuda_api"] if not e["level"]]
        same("calls are recorded, too", calls.count("cuMemsetD8_v2"), 5)
        tap.ok(t.receipt()["unwanted"] >= 10, "records outside of the window are counted as unwanted", str(t.receipt()))


if __name__ == "__main__":
    main(programs, graphs, options, cannot_start, no_driver, only_asked, never_used, kind_refused, faults, few_buffers, clocks, ends, ends_in_a_handler, window)
