#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check `trace export -t atp`, `-t csv` and `-t occupancy`: this test reads the files by the grammar of CodeXL's formats.

Files whose content AMD's own parser has printed (SHARED/fixtures/codexl) check the grammar of this test.
"""
import glob
import json
import os
import re
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import SRC, app, fixtures, folder, main, recorded, tap, trace  # noqa: E402
import libdevice as device  # noqa: E402
from libcodexl import Atp, Table  # noqa: E402

PLACE = folder()
FIXTURES = fixtures("codexl")


def grammar_is_right():
    names = sorted(glob.glob(os.path.join(FIXTURES, "*.rcp_parse.txt")))
    if not names:
        tap.skip("this reader and AMD's agree", "no fixtures")
    for name in names:
        with open(name, encoding="utf-8") as file:
            wanted = file.read().splitlines()
        with open(name[:-len(".rcp_parse.txt")], encoding="utf-8") as file:
            text = file.read()
        if ".atp" in name:
            made = atp_as_amd(Atp(text))
            missing = [line for line in wanted if line.split()[0] in ("HSA", "CL", "HSAKERNEL", "MARK", "HEADER") and line.split(" missing=")[0].split(" addr=")[0] not in made]
            extra = [line for line in made if not any(each.startswith(line) for each in wanted)]
        else:
            table = Table(text)
            made = ["ROW |" + " |".join(row) for row in table.rows] + [f"COL [{column}]" for column in table.columns]
            missing = [line for line in wanted if line.split()[0] in ("ROW", "COL") and line.rstrip() not in [each.rstrip() for each in made]]
            extra = [line for line in made if line.rstrip() not in [each.rstrip() for each in wanted]]
        tap.ok(made and not missing and not extra, f"this reader and AMD's agree on {os.path.basename(name)[:-14]}", "\n".join((missing + extra)[:6]))


def atp_as_amd(atp):
    lines = [f"HEADER [{key}]=[{value}]" for key, value in atp.header.items()]
    for kind in ("hsa", "ocl"):
        lines += [f"{'HSA' if kind == 'hsa' else 'CL'} tid={tid} id={number} {name} ret=[{result}] args=[{arguments}] {start}..{end}"
                  for tid, number, name, result, arguments, start, end, _ in atp.calls(kind)]
    lines += [f"HSAKERNEL {name} h={handle:X} {start}..{end} dev={agent}/0x{agent_handle:X} q={queue}/{queue_handle}"
              for name, handle, start, end, agent, agent_handle, queue, queue_handle, _, _ in atp.kernels()]
    lines += [f"MARK tid={tid} t={time} type=0 name=[{name}] group=[{group}]" if begin else f"MARK tid={tid} t={time} type=1" for tid, time, begin, name, group in atp.markers()]
    return lines


# ---- files that `trace` writes ----

def exported(report, kind):
    result = trace("export", "-t", kind, "-o", "-", report)
    if result.status != 0:
        raise RuntimeError(result)
    return result.out.decode(), result.err.decode()


def query(report, sql):
    result = trace("query", "-f", "json", report, sql)
    if result.status != 0:
        raise RuntimeError(result)
    return [tuple(row.values()) for row in json.loads(result.out)]


def traced(command, simulated):
    record = device.recorded if simulated else recorded
    return record(command, LIBTRACE_CUDA_BACKTRACE="all", LIBTRACE_OSRT_BACKTRACE_THRESHOLD=0).path


def calls_are_all_there(name, report):
    atp = Atp(exported(report, "atp")[0])
    origin = query(report, "SELECT startClock FROM LIBTRACE_REPORT")[0][0]
    tables = [table for table in ("CUPTI_ACTIVITY_KIND_RUNTIME", "OSRT_API") if query(report, f"SELECT count(*) FROM sqlite_master WHERE name = '{table}'")[0][0]]
    wanted = sorted(row for table in tables for row in query(report, f"SELECT globalTid & 16777215, api_name(value), start + {origin}, \"end\" + {origin} FROM {table} JOIN StringIds AS s ON s.id = nameId"
                                                             + (" WHERE eventClass = 27" if table == "OSRT_API" else "")))
    calls = atp.calls("hsa")
    tap.ok(calls and sorted((call[0], call[2], call[5], call[6]) for call in calls) == wanted, f"{name}: all {len(wanted)} calls with thread, name and times", (calls[:2], wanted[:2]))
    threads = {}
    for call in calls:
        threads.setdefault(call[0], []).append(call[5])
    tap.ok(all(times == sorted(times) for times in threads.values()), f"{name}: in the order of their begin")
    stacks = atp.stacks("hsa")
    tap.ok([(stack[0], stack[1]) for stack in stacks] == [(call[0], call[2]) for call in calls] and all(len(stack) in (2, 3, 5) for stack in stacks),
           f"{name}: the stack section has a line for each call", stacks[:3])
    return atp, calls, stacks


def clock(report):
    return query(report, "SELECT startClock FROM LIBTRACE_REPORT")[0][0]


def calls_of_the_runtime():
    report = traced([app("lock_holder")], False)
    _, calls, stacks = calls_are_all_there("OS runtime", report)
    callers = {stack[1]: stack[2:] for stack in stacks if len(stack) == 5}
    caller, line, file = callers.get("pthread_join", ("", "0", ""))
    tap.ok(caller == "main", "a caller is the function outside of the call", callers)
    with open(os.path.join(SRC, "tests/apps/lock_holder.c"), encoding="utf-8") as source:
        joins = [number for number, text in enumerate(source, 1) if "pthread_join" in text]
    tap.ok(file.endswith("lock_holder.c") and int(line) in joins, "a call has the line and the file of its caller", (callers, joins))
    objects = query(report, f"SELECT globalTid & 16777215, start + {clock(report)}, object FROM OSRT_API JOIN LIBTRACE_OSRT_CALL AS f ON f.id = OSRT_API.rowid WHERE object")
    told = {(call[0], call[5]): call[4] for call in calls if call[4]}
    tap.ok(objects and told == {(tid, start): f"object={number}" for tid, start, number in objects}, "the object of a call is its argument", (list(told.items())[:2], objects[:2]))
    tap.ok({call[1] for call in calls} == {2000}, "calls of the OS runtime have a type of their own", calls[:2])


def calls_and_kernels_of_cuda():
    reason = device.missing("pipeline", "nvtx_launch")
    if reason:
        tap.skip("CUDA programs", reason)
        return
    report = traced([device.app("pipeline")], True)
    atp, calls, _ = calls_are_all_there("CUDA", report)
    origin = query(report, "SELECT startClock FROM LIBTRACE_REPORT")[0][0]
    wanted = query(report, f"SELECT s.value, start + {origin}, \"end\" + {origin}, streamId FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds AS s ON s.id = demangledName ORDER BY start")
    tap.ok(wanted and [(kernel[0], kernel[2], kernel[3], kernel[6]) for kernel in atp.kernels()] == wanted, "kernels with name, times and stream", (atp.kernels()[:1], wanted[:1]))
    launches = [call for call in calls if call[2] == "cudaLaunchKernel"]
    tap.ok(launches and all(call[3] == "cudaSuccess" and "gridDim={" in call[4] and "blockDim={" in call[4] for call in launches), "launches have their sizes as arguments", launches[:1])
    _, told = exported(report, "atp")
    copies = sum(query(report, f"SELECT count(*) FROM CUPTI_ACTIVITY_KIND_{kind}")[0][0] for kind in ("MEMCPY", "MEMSET"))
    tap.ok(f"{copies} copies and memory sets" in told and "cuda_context" in told and told.count("\n") == 2, "events that the format cannot hold are counted in a message", told)
    numbers_are_exact(report, calls, told)
    waits = [call for call in calls if call[2] == "cudaStreamSynchronize"]
    made = [call for call in calls if call[2] == "cudaMalloc"]
    tap.ok(made and all(re.fullmatch(r"address=0x[0-9A-F]+;bytes=\d+", call[4]) for call in made), "allocations have address and size as arguments", made[:1])
    tap.ok(not waits or all("stream=" in call[4] for call in waits), "waits have their stream", waits[:1])
    tables(report)


def numbers_are_exact(report, calls, told):
    """Check that the calls in the file and those reported as left out are all calls of the report."""
    events = [json.loads(line) for line in trace("dump", "--json", report).out.splitlines()]
    inner = sum(e["kind"] == "cuda_api" and e["level"] > 0 for e in events)
    every = sum(e["kind"] in ("cuda_api", "osrt_call") for e in events)
    missing = every - inner - len(calls)
    tap.ok(inner and f"{inner} CUDA calls inside other CUDA calls" in told and (f"{missing} calls that did not return" in told if missing else "did not return" not in told),
           "calls inside of others, and those that did not return, are reported with their number", (every, inner, len(calls), told))
    _, of_csv = exported(report, "csv")
    tap.ok(f"{every} calls" in of_csv, "a table leaves out all calls", (every, of_csv))
    whole = trace("export", "-f", "true", "-t", "folded", "-o", "/dev/null", report).err.decode()
    some = trace("export", "-f", "true", "-t", "folded", "-o", "/dev/null", "--filter-time", "0/1ns", report).err.decode()
    tap.ok(" cuda_api," in whole and " cuda_api," not in some and " cuda_kernel" not in some, "events that a filter excludes are not counted in this message", (whole, some))


def tables(report):
    counters = Table(exported(report, "csv")[0])
    kernels = query(report, "SELECT gridX * blockX, gridY * blockY, gridZ * blockZ, blockX, blockY, blockZ, registersPerThread, \"end\" - start, streamId FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start, \"end\"")
    rows = counters.dictionaries()
    same = [tuple(map(int, re.findall(r"\d+", row["GlobalWorkSize"] + row["WorkGroupSize"]))) + (int(row["VGPRs"]), round(float(row["Time"]) * 1e6, -1)) for row in rows]
    tap.ok(rows and same == [(*kernel[:7], round(kernel[7], -1)) for kernel in kernels], "the file of counters has a line for each kernel: sizes, registers, time", (same[:1], kernels[:1]))
    tap.ok([int(row["ExecutionOrder"]) for row in rows] == list(range(1, len(rows) + 1)) and counters.header["API"] == "HSA", "in the order in which they ran", counters.header)
    occupancy = Table(exported(report, "occupancy")[0])
    device_facts = query(report, "SELECT smCount, maxWarpsPerSm, maxBlocksPerSm, maxShmemPerSm, threadsPerWarp, computeMajor FROM TARGET_INFO_GPU WHERE id = 0")[0]
    known = [tuple(int(row[column]) for column in ("Number of compute units", "Max. number of wavefronts per CU", "Max. number of work-group per CU", "Max. amount of LDS",
                                                  "Size of wavefront", "Graphics IP Version")) for row in occupancy.dictionaries()]
    tap.ok(len(occupancy.columns) == 26 and len(known) == len(rows) == int(occupancy.header[" KernelCount"]) and set(known) == {device_facts},
           "the file of occupancy has 26 columns, and the device's facts for each kernel", (known[:1], device_facts))
    for row in occupancy.dictionaries()[:1]:
        # 128 threads, 19 registers: 4 warps of 768 registers each: 21 in a quarter of 65,536; 32 blocks of 4 warps are more than 64 warps
        tap.ok(row["Number of VGPR used"] == "19" and row["Wavefronts per work-group"] == "4" and row["Kernel occupancy"] == "100" and row["Nbr VGPR-limited waves"] == "64",
               "the occupancy file says what limits each kernel", row)
    tap.ok([row["KernelOccupancy"] for row in rows] == [row["Kernel occupancy"] for row in occupancy.dictionaries()], "counters and occupancy file have the same occupancy")


def ranges_are_markers():
    if device.missing("nvtx_launch"):
        tap.skip("NVTX ranges as perf markers", device.missing("nvtx_launch"))
        return
    report = traced([device.app("nvtx_launch")], True)
    text, told = exported(report, "atp")
    markers, open_ranges, wrong = Atp(text).markers(), {}, []
    origin = query(report, "SELECT startClock FROM LIBTRACE_REPORT")[0][0]
    ranges = []
    for tid, time, begin, name, group in markers:
        stack = open_ranges.setdefault(tid, [])
        if begin:
            stack.append((time, name, group))
        elif stack:
            ranges.append((tid, *stack.pop(), time))
        else:
            wrong.append((tid, time))
    wanted = query(report, f"SELECT globalTid & 16777215, start + {origin}, coalesce(text, s.value), \"end\" + {origin} FROM NVTX_EVENTS LEFT JOIN StringIds AS s ON s.id = textId "
                           "WHERE eventType IN (59, 70) AND \"end\" IS NOT NULL")
    shown = {(tid, start, name, end) for tid, start, name, _, end in ranges}
    missing = [each for each in wanted if each not in shown]
    across = [each for each in missing if any(each[0] == other[0] and other is not each and (other[1] <= each[1] < other[3] < each[3]) for other in wanted)]
    tap.ok(ranges and not wrong and not any(open_ranges.values()) and shown <= set(wanted) and missing == across, "ranges of push and pop begin, nest and end as they did",
           (sorted(shown)[:2], missing[:2], wrong))
    tap.ok(missing and f"{len(missing)} NVTX ranges that overlap others" in told, "ranges that overlap without nesting are left out and counted in a message", (len(missing), told))
    ends = query(report, "SELECT count(*) FROM NVTX_EVENTS WHERE eventType IN (60, 71) AND \"end\" IS NOT NULL")[0][0]
    tap.ok(not ends or f"{ends} NVTX start/end ranges" in told, "start/end ranges cannot be represented, and that is reported", told)


def callers_of_other_names():
    """Check callers in a database of nsys, whose innermost frame is the function by another name: __GI___ioctl for ioctl."""
    path = os.path.join(fixtures("nsys"), "um_osrt-2026.1.3.sqlite")
    if not os.path.exists(path):
        tap.skip("callers in databases of nsys", "no fixtures")
        return
    out = os.path.join(folder(), "nsys.atp")
    trace("export", "-t", "atp", "-o", out, path, limit=100)
    with open(out, encoding="utf-8") as file:
        stacks = [stack for stack in Atp(file.read()).stacks("hsa") if len(stack) > 2]
    names = {stack[2].split("+")[0] for stack in stacks if stack[1] in ("ioctl", "poll", "pthread_cond_wait")}
    wanted = {name for name, in sqlite3.connect(path).execute("SELECT s.value FROM OSRT_CALLCHAINS JOIN StringIds AS s ON s.id = symbol WHERE stackDepth = 1")}
    tap.ok(names and names <= wanted, "a caller is the frame after the function, whatever name the function has", (sorted(names)[:5], sorted(wanted)[:5]))


def failures():
    report = traced([app("lock_holder")], False)
    result = trace("export", "-t", "atp", "-o", "/dev/full", report)
    tap.ok(result.status == 2 and b"/dev/full" in result.err, "a full disk is reported", result)
    for kind in ("csv", "occupancy"):
        result = trace("export", "-t", kind, report)
        tap.ok(result.status == 2 and result.err.decode() == f"trace: '{report}': nothing to export as {kind}\n" and not os.path.exists(report[:-3] + kind),
               f"{kind}: there is no file of a report without kernels", result)


main(grammar_is_right, calls_of_the_runtime, calls_and_kernels_of_cuda, ranges_are_markers, callers_of_other_names, failures)
