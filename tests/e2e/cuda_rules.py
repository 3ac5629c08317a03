#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check the rules of the driver and CUPTI that a tracer must follow, each on the simulated device. docs/simulated-device.md lists the
rules and the test of each.

This file tests how the source starts, where CUPTI is found, failures of every call of CUPTI, versions whose clock is not reliable, contexts that are
older than the tracer, programs that use CUDA in unusual places, a second tool, and CUPTI left alone after the last window.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
from cuda import Traced, no_cuda, no_violations, runs, same, traced  # noqa: E402
from lib import folder, main, run, tap  # noqa: E402

# Calls of CUPTI, and what is recorded when each of them fails: "nothing", "calls" (and no activity), "all".
FAILING = {"Subscribe": "nothing", "EnableDomain": "nothing", "ActivityEnable": "nothing", "ActivityRegisterCallbacks": "nothing", "GetVersion": "nothing",
           "ActivityGetNextRecord": "calls", "ActivityFlushAll": "calls", "GetTimestamp": "calls",
           "ActivityRegisterTimestampCallback": "all", "ActivityGetNumDroppedRecords": "all", "GetCallbackName": "all", "GetContextId": "all", "GetGraphId": "all",
           "GetGraphExecId": "all", "GetGraphNodeId": "all", "SetThreadIdType": "all", "ActivityFlushPeriod": "all", "ActivityConfigureUnifiedMemoryCounter": "all",
           "ActivityGetAttribute": "all", "ActivityDisable": "all"}
PLUGIN = """
#include <cuda.h>
int run(void)
{
	CUcontext context;
	CUdeviceptr memory;
	return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxPushCurrent(context) || cuMemAlloc(&memory, 64) || cuMemsetD8(memory, 1, 64) || cuCtxSynchronize();
}
"""


def of_kind(t, kind):
    return len(t.events[kind])


def library_of(t):
    return [e["library"] for e in t.events["cuda_setup"]]


# ---- how the source starts ----

def starts():
    if not runs("starts", "vector_add"):
        return
    for name, program in (("the runtime opens the driver", "vector_add"), ("the program is linked with the driver", "driver_api"), ("Python opens the driver", "ctypes_driver.py")):
        t = traced(name, device.command(program))
        if t:
            same(f"{name}: all kernels", of_kind(t, "cuda_kernel"), device.did(t.result)["kernels"])
    brought_by_a_plugin()


def brought_by_a_plugin():
    """Check a dlopen() of a library that is linked with the driver: no dlopen() of the driver is seen, but the driver calls getenv() for its tool."""
    name, work = "a plugin brings the driver", folder()
    plugin, source = os.path.join(work, "libplugin.so"), os.path.join(work, "plugin.c")
    with open(source, "w", encoding="ascii") as file:
        file.write(PLUGIN)
    include = next((path for path in ("/usr/local/cuda/include", os.path.join(os.environ.get("BUILD", "build"), "cuda/include")) if os.path.exists(os.path.join(path, "cuda.h"))), None)
    built = include and run([os.environ.get("CC") or "cc", "-shared", "-fPIC", f"-I{include}", "-o", plugin, source, os.path.join(device.folder(), "libcuda.so.1")])
    if not built or built.status:
        tap.skip(name, f"not built: {built and built.err}")
        return
    t = traced(name, [sys.executable, "-c", f"import ctypes, sys; sys.exit(ctypes.CDLL({plugin!r}).run())"])
    if t:
        same(f"{name}: the report has what the program did", (of_kind(t, "cuda_memset"), of_kind(t, "cuda_sync")), (1, 1))
        no_violations(name, t)


# ---- where CUPTI is found ----

def found():
    """Check that CUPTI is found near the runtime, in the layouts of toolkits and Python packages: the newest one that fits the driver."""
    if not runs("found", "vector_add"):
        return
    layouts = (("a toolkit of old", "lib64", "extras/CUPTI/lib64"), ("packages of PyPI", "nvidia/cuda_runtime/lib", "nvidia/cuda_cupti/lib"), ("one folder", "lib", "lib"))
    for name, runtime, cupti in layouts:
        root = folder()
        for place, files in ((runtime, ("libcudart.so.13",)), (cupti, ("libcupti.so.13", "libcupti.so.12"))):
            os.makedirs(os.path.join(root, place), exist_ok=True)
            for file in files:
                os.symlink(os.path.join(device.folder("cuda12" if file.endswith(".12") else "cuda13"), file), os.path.join(root, place, file))
        for fault, wanted in ((None, "libcupti.so.13"), ("fail=cuptiSubscribe:1:15", "libcupti.so.12")):
            t = placed(name, os.path.join(root, runtime), fault)
            got = [os.path.realpath(path) for path in library_of(t)]
            same(f"{name}, {'the newest does not fit' if fault else 'the newest'}: {wanted} from there", got,
                 [os.path.realpath(os.path.join(root, cupti, wanted))])
            same("the report has all kernels and no diagnostic", (of_kind(t, "cuda_kernel"), [text for text in t.notes() if "CUDA" in text]), (device.did(t.result)["kernels"], []))


def placed(name, runtime, fault):
    """Run vector_add with its runtime in a folder of its own, before the folder without CUPTI."""
    before = device.env

    def env(*arguments, **options):
        made = before(*arguments, **options)
        made["LD_LIBRARY_PATH"] = f"{runtime}:{device.folder('nocupti')}"
        return made

    device.env = env
    try:
        return Traced([device.app("vector_add")], fault=fault)
    finally:
        device.env = before


# ---- CUPTI refuses ----

def each_call_fails():
    if not runs("calls of CUPTI fail", "graph"):
        return
    for call, wanted in FAILING.items():
        name = f"cupti{call} fails"
        t = traced(name, [device.app("graph")], fault=f"fail=cupti{call}:0:999", LIBTRACE_CUPTI=os.path.join(device.folder(), "libcupti.so.13"))
        if not t:
            continue
        notes = [text for text in t.notes() if "CUDA" in text or "CUPTI" in text]
        tap.ok(device.did(t.result) is not None and len(notes) == (wanted == "nothing" or call == "ActivityFlushAll"), f"{name}: the program's results are right, and one line says what is not recorded", notes)
        has = "nothing" if not of_kind(t, "cuda_api") else "all" if of_kind(t, "cuda_memset") == device.did(t.result)["sets"] else "calls"
        same(f"{name}: recorded", has, wanted)
        if wanted == "calls":
            receipt, verdict = t.receipt(), t.report.info()["verdict"]
            tap.ok(receipt["impossible"] or not verdict.startswith("complete"), f"{name}: what is missing is counted", f"{receipt} {verdict}")


# ---- clocks ----

def versions():
    """Check that the timestamp callback is used in the versions of CUPTI where it works."""
    if not runs("versions", "vector_add"):
        return
    for toolkit, version, ours in (("cuda11", 15, False), ("cuda11", 17, True), ("cuda12", 19, True), ("cuda12", 21, False), ("cuda12", 22, True), ("cuda12", 24, False), ("cuda12", 27, False),
                                   ("cuda13", 130000, False), ("cuda13", 130100, True)):
        t = Traced([device.app("vector_add")], toolkit=toolkit, fault=f"cupti_version={version}")
        same(f"CUPTI {version}: {'our clock' if ours else 'its own, converted'}", [e["clock"] for e in t.events["cuda_setup"]], [1 if ours else 2])
        wanted = {line["correlation"]: line["start"] for line in t.of_truth("kernel")}
        apart = max((abs(e["start_ns"] - wanted[e["correlation_id"]]) for e in t.events["cuda_kernel"]), default=None)
        tap.ok(of_kind(t, "cuda_kernel") == len(wanted) and apart is not None and apart <= 20000, f"CUPTI {version}: times are those of the device", apart)


def older_context():
    """Check that the times of a context that is older than the tracer, which has CUPTI's own clock, are converted, and that no event is lost."""
    if not runs("an older context", "ends"):
        return
    early = device.app("libearly.so")
    for toolkit in ("cuda11", "cuda13"):
        t = Traced([device.app("ends"), "exit"], toolkit=toolkit, preload=("@", early))
        receipt = t.receipt()
        sets = {line["correlation"]: line["start"] for line in t.of_truth("memset")}
        apart = max((abs(e["start_ns"] - sets[e["correlation_id"]]) for e in t.events["cuda_memset"]), default=None)
        tap.ok(t.result.status == 0 and of_kind(t, "cuda_memset") == len(sets) and apart is not None and apart <= 20000 and receipt["impossible"] == 0,
               f"{toolkit}: a context older than the tracer: at the times of the device", f"{apart} {receipt}")
        tap.ok(receipt["converted"] >= len(sets), f"{toolkit}: the receipt says that times were converted", receipt)


# ---- unusual programs ----

def odd():
    """Check a program whose operator new calls CUDA, so that each of its containers does, and that CUPTI stays loaded to the end."""
    if runs("operator new calls CUDA", "own_new"):
        t = traced("operator new calls CUDA", [device.app("own_new")], sources="cuda,osrt,nvtx")
        if t:
            same("operator new calls CUDA: everything is there", (device.did(t.result) is not None, of_kind(t, "cuda_kernel")), (True, len(t.of_truth("kernel"))))
            no_violations("operator new calls CUDA", t)
    if runs("CUPTI stays loaded", "vector_add"):
        code = "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0); print('libcupti' in open('/proc/self/maps').read())"
        for fault in (None, "subscribe_fails=39"):
            t = Traced([sys.executable, "-c", code], fault=fault)
            same(f"CUPTI stays loaded{' where it refuses' if fault else ''}", t.result.out.decode().split(), ["True"])


def two_tools():
    """Check that another CUPTI client in the process that subscribes first gets everything, as without the tracer."""
    if not runs("two tools", "vector_add"):
        return
    log = os.path.join(folder(), "bare")
    t = traced("two tools", [device.app("vector_add")], sources="cuda,osrt", preload=("@", device.app("libbare.so")), BARE_LOG=log, BARE_KINDS=1)
    if t:
        lines = device.lines(log)
        same("the other tool has all kernels, and was refused nothing", (sum(line["type"] == "kernel" for line in lines), [line for line in lines if line["type"] == "error"]),
             (device.did(t.result)["kernels"], []))
        no_cuda("two tools", t, ["another tool"])


def memory_taken():
    if not runs("memory of the device", "vector_add"):
        return
    t = Traced([device.app("vector_add")])
    same("the device's memory that CUPTI takes is in the report", [(e["device_bytes"], e["device_bytes_max"]) for e in t.events["cuda_setup"]], [(3 * 3200000, 250 * 3200000)])


# ---- after the last window ----

def left_alone():
    """Check that one second after the last window activity kinds and callbacks of CUPTI are disabled, so that they cost the program nothing."""
    if not runs("after the last window", "ends"):
        return
    counts = {}
    for way, end in (("window", "stop"), ("window_later", "stop"), ("window_later", "repeat")):
        t = traced(f"{way}, {end}", [device.app("ends"), way], LIBTRACE_CAPTURE_RANGE="cudaProfilerApi", LIBTRACE_CAPTURE_RANGE_END=end)
        if not t:
            return
        counts[way, end] = t.receipt()["unwanted"]
        same(f"{way}, {end}: the window itself is whole", of_kind(t, "cuda_memset"), 5)
        no_violations(f"{way}, {end}", t)
    tap.ok(counts["window_later", "stop"] == counts["window", "stop"] and counts["window_later", "repeat"] >= counts["window", "stop"] + 5,
           "after the last window CUPTI delivers nothing, unless another window may follow", counts)


if __name__ == "__main__":
    main(starts, found, each_call_fails, versions, older_context, odd, two_tools, memory_taken, left_alone)
