#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""OpenCL (--trace=opencl) on PoCL: calls, commands with the times of their device, what the program can see of its queues; statistics, CodeXL's timeline."""
import collections
import csv
import io
import os
import platform
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import SRC, TRACE, Report, app, clean_env, folder, main, receipts_agree, run, tap, trace, wait_until  # noqa: E402
from libcodexl import Atp  # noqa: E402

# The commands of a round of tests/apps/opencl_commands.c, in their order: cl_command_type and function.
ROUND = [(0x1207, "clEnqueueFillBuffer"), (0x11f4, "clEnqueueWriteBuffer"), (0x11f0, "clEnqueueNDRangeKernel"), (0x11f0, "clEnqueueNDRangeKernel"),
         (0x11f1, "clEnqueueTask"), (0x11f5, "clEnqueueCopyBuffer"), (0x1203, "clEnqueueCopyBufferRect"), (0x11f5, "clEnqueueCopyBuffer"),
         (0x11fb, "clEnqueueMapBuffer"), (0x11fd, "clEnqueueUnmapMemObject"), (0x11f3, "clEnqueueReadBuffer")]
BYTES = [16384, 16384, 0, 0, 0, 1024, 256, 1024, 16384, 0, 16384]
SIZES = {2: ("add", 1, (4096, 0, 0), (64, 0, 0)), 3: ("scale", 2, (64, 64, 0), (0, 0, 0)), 4: ("scale", 1, (1, 0, 0), (1, 0, 0))}
HOME = folder()  # for caches of compiled kernels
QUEUES, THREADS, ROUNDS = 5, 3, 2
ENQUEUES = {*range(52, 74), *range(101, 106), *range(114, 119), *range(124, 129), 135, 136, 139}  # of AMD's list
RECEIPT = ("opencl_enqueued", "opencl_recorded", "opencl_no_room")


def environment(**more):
    return clean_env(OCL_ICD_VENDORS="/etc/OpenCL/vendors", HOME=HOME, **more)


def record(command, *options, status=0, **env):
    """Record a command; return its output and its report. A test fails if its status, or the report, is not as it should be."""
    path = os.path.join(folder(), "report.rep")
    result = trace("run", "-o", path, *options, "--", *command, env=environment(**env))
    report = Report(path)
    tap.ok(result.status == status and report.exists() and report.check().status == 0 and receipts_agree(report) is None and not report.dropped(),
           f"{os.path.basename(command[0])} is recorded with {' '.join(options)}", f"status {result.status}\n{result.err!r}")
    return result.out, report


def counts(report):
    all_counts = sum((collections.Counter(r["functions"]) for r in report.receipts() if "functions" in r), collections.Counter())
    return tuple(all_counts[name] for name in RECEIPT)


def commands(report):
    return report.events("--kind", "opencl_command")


def calls(report):
    """The calls that enqueued a command, by its number."""
    return {c["arguments"]["command"]: c for c in report.events("--kind", "function_call") if c["arguments"].get("command")}


def times_are_right(report):
    """Each command begins after its call, in the order of its queue, and a call that waits for it returns after its end."""
    enqueued, last, wrong = calls(report), {}, []
    for c in sorted(commands(report), key=lambda c: c["correlation_id"]):
        call = enqueued[c["correlation_id"]]
        queued, end, returned = c["start_ns"] - c["since_queued_ns"], c["start_ns"] + c["duration_ns"], call["start_ns"] + call["duration_ns"]
        right = c["clock"] in (1, 2, 3) and c["since_queued_ns"] >= c["since_submitted_ns"] and call["start_ns"] - 2000 <= queued <= returned + 2000 and \
            c["tid"] == 0 and c["call_tid"] == call["tid"]
        if call["arguments"].get("blocking"):
            right = right and end <= returned + 2000
        if (c["queue"], c["call_tid"]) in last:
            right = right and c["start_ns"] >= last[c["queue"], c["call_tid"]] - 1000
        last[c["queue"], c["call_tid"]] = end
        wrong += [] if right else [(c, call)]
    tap.ok(not wrong, "times of commands agree with their calls", str(wrong[:2]))


def program():
    command = [app("opencl_commands"), str(ROUNDS), str(THREADS)]
    plain = run(command, env=environment())
    tap.ok(plain.status == 0 and plain.out.count(b"sum") == QUEUES + THREADS, "the program runs", repr(plain))
    out, report = record(command, "-t", "opencl")
    tap.ok(out == plain.out, "the program sees its queues and events as without the tracer", f"{plain.out}\n{out}")
    found, enqueued = commands(report), calls(report)
    tap.ok(len(found) == len(ROUND) * ROUNDS * (QUEUES + THREADS) and len({c["correlation_id"] for c in found}) == len(found) and
           enqueued.keys() == {c["correlation_id"] for c in found}, "each command is recorded once, and its call has its number", f"{len(found)} {len(enqueued)}")
    tap.ok(counts(report) == (len(found), len(found), 0), "the receipt counts commands", str(counts(report)))
    lists = collections.defaultdict(list)
    for c in sorted(found, key=lambda c: c["correlation_id"]):
        lists[c["queue"], c["call_tid"]].append(c)
    wrong = [c for each in lists.values() for n, c in enumerate(each) if (c["command_type"], enqueued[c["correlation_id"]]["function"]) != ROUND[n % len(ROUND)] or
             c["bytes"] != BYTES[n % len(ROUND)] or c["status"]]
    tap.ok(len(lists) == QUEUES + THREADS and not wrong, "kind and bytes of each command", str(wrong[:2]))
    wrong = [c for each in lists.values() for n, c in enumerate(each) if n % len(ROUND) in SIZES and SIZES[n % len(ROUND)] != (
        c["name"], c["dimensions"], tuple(c["global_" + d] for d in "xyz"), tuple(c["local_" + d] for d in "xyz"))]
    tap.ok(not wrong, "names and sizes of kernels", str(wrong[:2]))
    times_are_right(report)
    objects(report)
    failed = [c for c in report.events("--kind", "function_call") if c["function"] in {f for _, f in ROUND} and int(str(c["return_word"]), 0) & 0xffffffff in
              (2**32 - 30, 2**32 - 53)]
    tap.ok(len(failed) == 2 * QUEUES and not any(c["arguments"]["command"] for c in failed), "a call that fails has no command", str(failed[:1]))
    reports(report, found)
    timeline(report, found)
    out, report = record(command, "-t", "opencl,osrt,nvtx")
    tap.ok(out == plain.out and counts(report) == (len(found), len(found), 0), "beside OS runtime calls", str(counts(report)))
    out, report = record(command, "-t", "opencl", "--delay", "1000")
    tap.ok(out == plain.out and not report.events("--kind", "function_call") and not commands(report), "nothing changes, or is recorded, outside of the window")
    out, report = record(command, "-t", "osrt")
    tap.ok(out == plain.out and not commands(report) and not any("functions" in r for r in report.receipts()), "nothing is patched unless it was asked for")


def objects(report):
    queues = {q["queue"]: q for q in report.events("--kind", "opencl_queue")}
    tap.ok(sorted((q["profiling"], int(str(q["properties"]), 0)) for q in queues.values()) == [(1, 2), (1, 2), (2, 0), (2, 0), (2, 0), (2, 1)],
           "queues: properties of the program, and who enabled profiling", str(queues))
    kernels = report.events("--kind", "opencl_kernel")
    tap.ok(collections.Counter((k["name"], k["arguments"]) for k in kernels) == {("add", 2): QUEUES + THREADS, ("scale", 1): QUEUES + THREADS} and
           all(k["group_size_max"] > 0 for k in kernels), "kernels", str(kernels[:2]))
    builds = report.events("--kind", "opencl_build")
    tap.ok([(b["options"], b["result"], b["program"] == kernels[0]["program"]) for b in builds] == [("-cl-mad-enable", 0, True)], "the build of the program", str(builds))
    devices = report.events("--kind", "opencl_device")
    tap.ok(len(devices) == 1 and "Portable" in devices[0]["platform"] and devices[0]["compute_units"] > 0 and
           {c["device_name"] for c in commands(report)} == {devices[0]["name"]}, "the device", str(devices))


def statistics(path, name):
    result = trace("stats", "-r", name, "-f", "csv", path)
    lines = [line for line in result.out.decode().splitlines() if "," in line]
    return list(csv.DictReader(io.StringIO("\n".join(lines))))


def reports(report, found):
    kernels = collections.defaultdict(list)
    for c in found:
        if c["operation"] == 20:
            kernels[c["name"]].append(c["duration_ns"])
    rows = {row["Name"]: (int(row["Instances"]), int(row["Total Time (ns)"])) for row in statistics(report.path, "opencl_kernel_sum")}
    tap.ok(rows == {name: (len(ns), sum(ns)) for name, ns in kernels.items()}, "opencl_kernel_sum", str(rows))
    rows = {row["Command"]: (int(row["Count"]), int(row["Total (bytes)"])) for row in statistics(report.path, "opencl_command_sum")}
    work = ROUNDS * (QUEUES + THREADS)
    tap.ok(rows.get("CL_COMMAND_COPY_BUFFER") == (2 * work, 2048 * work) and rows.get("CL_COMMAND_NDRANGE_KERNEL") == (2 * work, 0) and
           sum(count for count, _ in rows.values()) == len(found), "opencl_command_sum", str(rows))
    rows = {row["Name"]: (int(row["Num Calls"]), int(row["Kernels"]), int(row["Kernel Time (ns)"])) for row in statistics(report.path, "opencl_sum")}
    tap.ok(rows.get("clEnqueueTask", ())[:2] == (work, work) and rows.get("clFinish", (0, 1))[1] == 0 and
           sum(ns for _, _, ns in rows.values()) == sum(map(sum, kernels.values())), "opencl_sum: calls and their kernels", str(rows))
    rows = statistics(report.path, "opencl_command_trace")
    tap.ok([int(row["Number"]) for row in rows] == [c["correlation_id"] for c in sorted(found, key=lambda c: (c["start_ns"], c["correlation_id"]))],
           "opencl_command_trace: each command in order", str(rows[:1]))


def exported(path):
    result = trace("export", "-t", "atp", "-o", "-", path)
    return result.out.decode(), result.err.decode()


def timeline(report, found):
    """CodeXL's timeline has what the report has, by AMD's numbers of functions, and our import reads it back."""
    text, notes = exported(report.path)
    atp = Atp(text)
    with open(os.path.join(SRC, "reader/sql/opencl_functions.def"), encoding="utf-8") as file:
        numbers = {name: int(number) for number, name in re.findall(r"^OPENCL_FUNCTION\((\d+), (\w+)\)", file.read(), re.M)}
    recorded = [c for c in report.events("--kind", "function_call") if c["function"] in numbers]
    lines = atp.calls("ocl")
    tap.ok(collections.Counter((c["tid"], c["function"]) for c in recorded) == collections.Counter((line[0], line[2]) for line in lines), "atp: each call is written",
           f"{len(recorded)} {len(lines)}")
    wrong = [line for line in lines if numbers[line[2]] != line[1] or (line[7] and line[1] not in ENQUEUES) or ")" in line[4] or line[5] > line[6]]
    tap.ok(not wrong and lines[0][2] == "clGetPlatformIDs" and lines[0][3] == "CL_SUCCESS", "atp: numbers of functions are those of AMD's list", str(wrong[:2]))
    tap.ok({line[3] for line in lines if line[2] == "clEnqueueCopyBuffer"} == {"CL_SUCCESS", "CL_INVALID_VALUE"} and
           all(re.fullmatch("0x[0-9A-F]+", line[3]) for line in lines if line[2] in ("clCreateKernel", "clEnqueueMapBuffer", "clCreateContext")), "atp: results")
    with_command = [line for line in lines if line[7]]
    origin = with_command[0][5] - calls(report)[min(calls(report))]["start_ns"]
    expected = sorted((c["call_tid"], c["command_type"], c["start_ns"] - c["since_queued_ns"] + origin, c["start_ns"] - c["since_submitted_ns"] + origin,
                       c["start_ns"] + origin, c["start_ns"] + c["duration_ns"] + origin) for c in found)
    tap.ok(sorted((line[0], int(line[7][0]), *map(int, line[7][2:6])) for line in with_command) == expected, "atp: four times of each command",
           f"{with_command[:1]} {expected[:1]}")
    columns = collections.Counter((line[7][1], tuple(line[7][12:] if "KERNEL" in line[7][1] or "TASK" in line[7][1] else line[7][11:])) for line in with_command)
    work = ROUNDS * (QUEUES + THREADS)
    tap.ok(columns["CL_COMMAND_NDRANGE_KERNEL", ("add", "{4096}", "{64}")] == work and columns["CL_COMMAND_NDRANGE_KERNEL", ("scale", "{64,64}", "{NULL}")] == work and
           columns["CL_COMMAND_TASK", ("scale", "{1}", "{1}")] == work and columns["CL_COMMAND_READ_BUFFER", ("16384",)] == work and
           columns["CL_COMMAND_UNMAP_MEM_OBJECT", ()] == work, "atp: kernels with sizes, copies with bytes", str(columns))
    tap.ok(any(key.startswith("Device ") and key.strip().endswith("Platform Name") and "Portable" in value for key, value in atp.header.items()), "atp: the device",
           str(atp.header))
    left = len(report.events("--kind", "function_call")) - len(lines)
    tap.ok("opencl_command" not in notes and (f"{left} function_call" in notes or not left), "atp: what is left out is printed", f"{left}\n{notes}")
    path = os.path.join(folder(), "t.atp")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    result = trace("import", "-o", path + ".rep", path)
    imported = Report(path + ".rep")
    again = imported.events("--kind", "codexl_command") if result.status == 0 else []
    tap.ok(result.status == 0 and len(again) == len(found) and
           len(imported.events("--kind", "codexl_call")) == len(lines) and exported(path + ".rep")[0] == text, "atp: import reads it back, and writes it again unchanged",
           repr(result)[:500])


def many():
    """More commands wait than can be kept: the receipt counts the others, and the program does not notice."""
    command = [app("opencl_commands"), "flood", "5000"]
    out, report = record(command, "-t", "opencl")
    enqueued, recorded, no_room = counts(report)
    tap.ok(out == b"5000 commands have ended\n" and enqueued == 5000 and 4000 <= recorded <= 4096 and recorded + no_room == enqueued and
           len(commands(report)) == recorded, "commands without room are counted", f"{out!r} {counts(report)}")
    tap.ok(f"{recorded} of 5000 commands" in trace("info", report.path).out.decode(), "info reports them")


def killed():
    """A process that is killed leaves the commands that had ended."""
    path = os.path.join(folder(), "report.rep")
    with subprocess.Popen([TRACE, "run", "-t", "opencl", "-o", path, "--", app("opencl_commands"), "100000"], env=environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: trace("dump", "--json", "--kind", "opencl_command", path).out)
        child = subprocess.run(["pgrep", "-P", str(process.pid), "opencl_command"], capture_output=True, text=True, check=False).stdout.split()
        for pid in child:
            os.kill(int(pid), signal.SIGKILL)
        process.stdout.read()
        process.wait()
    report = Report(path)
    found = commands(report)
    enqueued, recorded, no_room = counts(report)
    tap.ok(len(child) == 1 and report.check().status == 0 and found and len(found) == recorded and enqueued - 4096 <= recorded <= enqueued and not no_room,
           "commands of a process that was killed", f"{child} {len(found)} {counts(report)}")
    times_are_right(report)


PYTHON = """
import numpy, pyopencl, pyopencl.array, pyopencl.scan
context = pyopencl.Context([pyopencl.get_platforms()[0].get_devices()[0]])
queue = pyopencl.CommandQueue(context)
print(queue.properties, queue.reference_count)
a = pyopencl.array.to_device(queue, numpy.arange(10000, dtype=numpy.float32))
print((2 * a + 1).get().sum(), pyopencl.array.sum(a).get(), pyopencl.array.dot(a, a).get())
program = pyopencl.Program(context, "__kernel void twice(__global float *a) { a[get_global_id(0)] *= 2; }").build()
kernel = program.twice
for i in range(5):
    event = kernel(queue, (10000,), None, a.data)
event.wait()
try:
    print(event.profile.start)
except pyopencl.RuntimeError as error:
    print(error)
print(event.command_execution_status, a.get().sum())
"""


def pyopencl():
    """PyOpenCL, with a loader of drivers that is not linked with the program, and kernels of its own."""
    python = next((p for p in (sys.executable, "/usr/bin/python3") if run([p, "-c", "import pyopencl"], env=environment()).status == 0), None)
    if not python:
        tap.skip("PyOpenCL", "it is not installed")
        return
    command = [python, "-W", "ignore", "-c", PYTHON]
    plain = run(command, env=environment())
    out, report = record(command, "-t", "opencl")
    names = collections.Counter(c["name"] for c in commands(report))
    tap.ok(plain.status == 0 and out == plain.out, "PyOpenCL: output is unchanged", f"{plain!r}\n{out!r}")
    enqueued, recorded, no_room = counts(report)
    tap.ok(names["twice"] == 5 and len(names) >= 5 and enqueued - 1 <= recorded <= enqueued and not no_room, "PyOpenCL: its kernels", f"{names} {counts(report)}")
    times_are_right(report)


def looked_up():
    """Functions that the program asks the loader for, by both functions that look up: PoCL gives the first two, and the third is the loader's."""
    command = [app("opencl_lookups"), "clCreateSubDevicesEXT", "clNoSuchFunctionKHR"]
    plain = run(command, env=environment())
    out, report = record(command, "-t", "opencl")
    tap.ok(plain.status == 0 and out == plain.out and out.count(b"0 0 1 0") == 3, "functions of extensions: output is unchanged", f"{plain!r}\n{out!r}")
    found = collections.Counter(c["function"] for c in report.events("--kind", "function_call"))
    tap.ok(found["clGetPlatformInfo"] == 1 + 3 and found["clIcdGetPlatformIDsKHR"] == 3, "functions of extensions: their calls are recorded", str(found))
    tap.ok(found["clGetExtensionFunctionAddressForPlatform"] == 8 and found["clGetExtensionFunctionAddress"] == 4, "functions of extensions: so are the lookups", str(found))
    given = sum(r["functions"]["looked_up"] for r in report.receipts() if "functions" in r)
    # Each lookup that finds a function counts. ocl-icd finds its own functions of extensions for both of its lookups.
    tap.ok(given == out.count(b": found") * 2, "functions of extensions: the receipt counts the lookups", f"{given} {out!r}")


def missing():
    if platform.machine() != "x86_64":
        return "functions of libraries are tried on x86-64 only"
    if not os.path.exists(app("opencl_commands")):
        return "no headers of OpenCL"
    result = run([app("opencl_commands")], env=environment())
    return None if result.status == 0 else f"no OpenCL device: {result.out[:80]!r}"


reason = missing()
if reason:
    print("1..0 # SKIP", reason)
    sys.exit(0)
main(program, looked_up, many, killed, pyopencl)
