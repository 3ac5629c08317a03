#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""`trace import` of files of CodeXL: the report contains the values that AMD's own parser read from SHARED/fixtures/codexl, every field is written
again by `trace export`, hostile files are refused in one line, and events that cannot be exported are reported.
"""
import glob
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import app, fixtures, folder, main, recorded, tap, trace  # noqa: E402
import libdevice as device  # noqa: E402

PLACE = folder()
FIXTURES = fixtures("codexl")
ENQUEUES = {*range(52, 74), *range(101, 106), *range(114, 119), *range(124, 129), 135, 136, 139}

TIMELINE = """TraceFileVersion=3.2
Application=/home/u/app
WorkingDirectory=/home/u
=====ocl API Trace Output=====
10
2
CL_SUCCESS = clEnqueueWriteBuffer ( 0x1;0x2;CL_TRUE;0;4096;0x3;0;NULL;NULL )
CL_SUCCESS = clEnqueueNDRangeKernel ( 0x1;0x5;1;NULL;[512];[64];0;NULL;NULL )
=====hsa API Trace Output=====
10
3
cudaSuccess = cudaMalloc ( devPtr=[0x7F00];size=16 )
hsa_shut_down (  )
4 = read ( fd=3 )
=====ocl Timestamp Output=====
10
2
54 clEnqueueWriteBuffer 1000 1100 4596 CL_COMMAND_WRITE_BUFFER 1010 1020 1200 1300 1 0x1 1 0x9 GPU 4096
66 clEnqueueNDRangeKernel 1400 1500 4592 CL_COMMAND_NDRANGE_KERNEL 1410 1420 1600 1900 1 0x1 1 0x9 GPU 0x5 fill {512} {64}
=====hsa Timestamp Output=====
10
3
1000 cudaMalloc 2000 2100
2 hsa_shut_down 2200 2300
2000 read 2400 2900
"""
CALLS = "=====hsa API Trace Output=====\n7\n{}\n{}"
TIMES = "=====hsa Timestamp Output=====\n7\n1\n{}\n"
KERNELS = "=====hsa Kernel Timestamp Output=====\n1\n{}\n"
MARKERS = "=====Perfmarker Output=====\n7\n{}\n"
HEAD = "TraceFileVersion=3.2\n"


def written(name, text):
    path = os.path.join(PLACE, name)
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return path


def imported(*paths):
    report = paths[0] + ".rep"
    result = trace("import", "-o", report, "-f", "true", *paths)
    if result.status:
        raise RuntimeError(result)
    return report, result


def events(report):
    result = trace("dump", "--json", "--absolute", report)
    if result.status:
        raise RuntimeError(result)
    return [json.loads(line) for line in result.out.decode().splitlines()]


def exported(report, kind, *options):
    result = trace("export", "-t", kind, "-o", "-", *options, report)
    if result.status:
        raise RuntimeError(result)
    return result.out.decode()


# ---- as AMD's parser prints it ----

def hexadecimal(text):
    return f"0x{int(text, 16):X}"


def command_text(call, command):
    if not call["is_opencl"] or call["type"] not in ENQUEUES:
        return ""
    if not command:
        return " missing=1 cmd=0/ Q0 S0 R0 C0 q=0/ ctx=0/ dev=[] kernel=/ g= l="
    start = command["start_ns"]
    text = (f" missing=0 cmd={command['command_type']}/{command['command']} Q{command['queued_ns']} S{command['submitted_ns']} R{start} C{start + command['duration_ns']}"
            f" q={command['stream_id']}/{hexadecimal(command['queue'])} ctx={command['context_id']}/{hexadecimal(command['context'])} dev=[{command['device_name']}]")
    if command["name"]:
        return text + f" kernel={hexadecimal(command['handle'])}/{command['name']} g={command['global_size']} l={command['group_size']}"
    return text + f" bytes={command['bytes']}"


def timeline_lines(rows):
    commands = {row["correlation_id"]: row for row in rows if row["kind"] == "codexl_command"}
    for row in rows:
        if row["kind"] == "codexl_header":
            yield f"HEADER [{row['key']}]=[{row['value']}]"
        if row["kind"] == "codexl_kernel":
            yield (f"HSAKERNEL {row['name']} h={hexadecimal(row['handle'])[2:]} {row['start_ns']}..{row['start_ns'] + row['duration_ns']}"
                   f" dev={row['device_name']}/{hexadecimal(row['agent'])} q={row['stream_id']}/{row['queue']}")
        if row["kind"] == "nvtx_range":
            yield f"MARK tid={row['tid']} t={row['start_ns']} type=0 name=[{row['text']}] group=[{row['domain'] or 'Default'}]"
            yield f"MARK tid={row['tid']} t={row['start_ns'] + row['duration_ns']} type=1"
        if row["kind"] != "codexl_call":
            continue
        yield (f"{'CL' if row['is_opencl'] else 'HSA'} tid={row['tid']} id={row['type']} {row['function']} ret=[{row['result']}] args=[{row['arguments']}]"
               f" {row['start_ns']}..{row['start_ns'] + row['duration_ns']}" + command_text(row, commands.get(row["correlation_id"])))
        parts = int(row["parts"], 16)
        if parts & 16:
            symbol, address = (row["caller"], "") if parts & 32 else ("", row["caller"].split("+")[0])
            yield f"SYM tid={row['tid']} {row['function']} sym=[{symbol}] line={row['caller_line']} file=[{row['caller_file']}] addr={address}"


def table_lines(rows):
    cells = {}
    for row in rows:
        if row["kind"] == "codexl_header":
            yield f"HDR {row['key']}={row['value']}"
        if row["kind"] == "codexl_cell":
            cells.setdefault(row["row"], []).append(row["value"])
    for number, values in cells.items():
        if number:
            yield "ROW |" + " |".join(values)
        else:
            yield from (f"COL [{name}]" for name in values)


def as_amd_reads_them():
    names = sorted(glob.glob(os.path.join(FIXTURES, "*.rcp_parse.txt")))
    if not names:
        tap.skip("reports hold what AMD's parser reads", "no fixtures")
    for name in names:
        path = name[:-len(".rcp_parse.txt")]
        base, kind = os.path.basename(path), path.rsplit(".", 1)[1]
        with open(path, "rb") as file:
            text = file.read()
        with open(name, encoding="utf-8") as file:
            wanted = sorted(line.rstrip() for line in file.read().splitlines() if line.split(" ")[0] in ("HEADER", "CL", "HSA", "HSAKERNEL", "SYM", "MARK", "HDR", "ROW", "COL"))
        report, _ = imported(written(base, text))
        made = sorted(line.rstrip() for line in (timeline_lines if kind == "atp" else table_lines)(events(report)))
        tap.ok(wanted and made == wanted, f"{base}: the report holds all that AMD's parser reads", [pair for pair in zip(made, wanted) if pair[0] != pair[1]][:2])
        tap.ok(exported(report, kind) == text.decode(), f"{base}: the export is identical to the imported file")
        tap.ok(trace("check", report).status == 0, f"{base}: the report is sound")


# ---- reports of libtrace ----

def traced(command, simulated):
    record = device.recorded if simulated else recorded
    return record(command, LIBTRACE_CUDA_BACKTRACE="all", LIBTRACE_OSRT_BACKTRACE_THRESHOLD=0).path


def round_trip(name, report, has_kernels):
    texts = {kind: exported(report, kind) for kind in ("atp", "csv", "occupancy")[: 3 if has_kernels else 1]}
    copy, result = imported(*(written(f"{name}.{kind}", text) for kind, text in texts.items()))
    tap.ok(all(exported(copy, kind) == text for kind, text in texts.items()), f"{name}: importing our exports into one report and exporting it again gives identical files", result)
    tap.ok(not result.err, f"{name}: nothing is left out", result.err)
    return copy


def ours_come_back():
    copy = round_trip("holder", traced([app("lock_holder")], False), has_kernels=False)
    calls = trace("stats", "-r", "osrt_sum", copy).out.decode()
    tap.ok("pthread_join" in calls, "statistics know the calls of an imported timeline", calls)
    if device.missing("pipeline"):
        tap.skip("a report of CUDA is exported, imported and exported again", device.missing("pipeline"))
        return
    report = traced([device.app("pipeline")], True)
    copy = round_trip("pipeline", report, has_kernels=True)
    named = [{line.split()[-1] for line in trace("stats", "-r", "cuda_gpu_kern_sum,cuda_api_sum", each).out.decode().splitlines()[3:] if line.strip()} for each in (report, copy)]
    tap.ok(len(named[0]) > 6 and named[0] == named[1], "statistics of the imported and of the first report have the same kernels and CUDA calls", named)


def statistics_know_them():
    report, _ = imported(written("mixed.atp", TIMELINE))
    tap.ok(exported(report, "atp").split() == TIMELINE.split(), "sections of OpenCL and HSA in one file keep every word")
    found = {name: trace("stats", "-r", name, "-f", "csv", report).out.decode() for name in ("cuda_gpu_kern_sum", "cuda_gpu_mem_size_sum", "cuda_api_sum", "osrt_sum")}
    tap.ok("fill" in found["cuda_gpu_kern_sum"] and "300" in found["cuda_gpu_kern_sum"], "an enqueued kernel is a kernel of the statistics", found)
    tap.ok("[CUDA memcpy Host-to-Device]" in found["cuda_gpu_mem_size_sum"] and "0.004" in found["cuda_gpu_mem_size_sum"], "a written buffer is a copy to the device, with its bytes", found)
    calls = [line.split(",")[-1] for line in found["cuda_api_sum"].split()[1:]]
    tap.ok({"cudaMalloc", "hsa_shut_down", "clEnqueueWriteBuffer", "clEnqueueNDRangeKernel"} <= set(calls) and "read" not in calls,
           "calls of CUDA, OpenCL and HSA are in the summary of calls, those of the OS runtime are not", found)
    tap.ok("CUDA API Summary" in trace("stats", report).out.decode(), "with calls of CUDA, the summary is called that of CUDA")
    tap.ok("read" in found["osrt_sum"] and "500" in found["osrt_sum"], "statistics of the imported report have the calls of the OS runtime", found)
    usual = trace("stats", report).out.decode()
    shown = [name for name in ("osrt_sum", "nvtx_sum", "cuda_api_sum", "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum") if f"({name}):" in usual]
    tap.ok(shown == ["osrt_sum", "cuda_api_sum", "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum"], "without -r stats prints the reports that have rows", usual)
    kernel, _ = imported(written("kernel.atp", HEAD + KERNELS.format("scale 0x1 100 350 GPU 0x1 7 0")))
    usual = [trace("stats", *options, kernel).out.decode() for options in ((), ("-f", "csv"))]
    tap.ok("(cuda_gpu_kern_sum):" in usual[0] and "scale" in usual[0] and "OS Runtime" not in usual[0], "of a file with kernels only, stats prints only the reports of kernels", usual)
    tap.ok(usual[1].startswith("Time (%)") and "scale" in usual[1] and "\n\n" not in usual[1].rstrip(), "one table of an imported report is printed as CSV", usual)
    database = os.path.join(PLACE, "mixed.sqlite")
    result = trace("export", "-t", "sqlite", "-o", database, report)
    with sqlite3.connect(database) as connection:
        check = connection.execute("PRAGMA integrity_check").fetchall()
    tap.ok(result.status == 0 and check == [("ok",)], "its database passes SQLite's integrity check", check)
    window = exported(report, "atp", "--filter-time", "0/500")
    tap.ok("clEnqueueWriteBuffer" in window and "cudaMalloc" not in window and window.split("=====")[2].split()[1] == "2", "--filter-time works for an imported report", window)
    lost = trace("export", "-t", "csv", "-o", "-", report)
    tap.ok(lost.status == 0 and "fill__k1_" in lost.out.decode(), "kernels of an imported timeline can be written as CSV", lost)


def calls_of_opencl_and_hsa():
    """Check that the summary of calls has the name of their API, and that copies of HSA are memory operations."""
    ocl = TIMELINE[:TIMELINE.index("=====hsa API")] + TIMELINE[TIMELINE.index("=====ocl Timestamp"):TIMELINE.index("=====hsa Timestamp")]
    report, _ = imported(written("ocl.atp", ocl))
    text = trace("stats", report).out.decode()
    tap.ok("OpenCL API Summary" in text and "OpenCL GPU Kernel Summary" in text and "clEnqueueNDRangeKernel" in text, "a timeline of OpenCL has its summary of calls", text)
    copy = CALLS.format(1, "HSA_STATUS_SUCCESS = hsa_amd_memory_async_copy ( 0x1;0x2;0x3;0x4;4096;0;NULL;0x5 )\n") + TIMES.format("12 hsa_amd_memory_async_copy 1000 1200 1300 1800 3")
    report, _ = imported(written("hsa.atp", HEAD + copy))
    text = trace("stats", report).out.decode()
    tap.ok("HSA API Summary" in text and "hsa_amd_memory_async_copy" in text, "a timeline of HSA has its summary of calls", text)
    rows = trace("stats", "-r", "cuda_gpu_mem_time_sum", "-f", "csv", report).out.decode().split("\n")
    tap.ok(rows[1] == "100.0,500,1,500.0,500.0,500,500,0.0,[HSA memcpy]", "the time of a copy on the device is counted", rows)


# ---- unreadable files ----

def refused(name, text, line, cause):
    path = written(name, text)
    output = path + ".rep"
    result = trace("import", "-o", output, path)
    said = result.err.decode()
    tap.ok(result.status == 2 and said.count("\n") == 1 and f"{path}:{line}: " in said and cause in said and not os.path.exists(output),
           f"refused by one line: {cause}", (said, result.status))


def wrong_timelines():
    cases = [
        ("", 0, "the file is empty"),
        ("hello\n", 1, "expected KEY=VALUE"),
        ("//GpuProfilerVersion=3\n", 1, "graphics"),
        ("TraceFileVersion=1.4\n=====x=====\n", 2, "graphics"),
        ("a=b\n", 1, "no TraceFileVersion"),
        ("a=b\n=====hsa API Trace Output=====\n", 2, "no TraceFileVersion"),
        (HEAD + "=====hsa API\n", 2, "=====TITLE====="),
        (HEAD + "=====hsa API Trace Output=====\nabc\n", 3, "not a thread id"),
        (HEAD + "=====hsa API Trace Output=====\n99999999999\n", 3, "not a thread id"),
        (HEAD + "=====hsa API Trace Output=====\n7\n", 3, "the number of lines of thread 7 is missing"),
        (HEAD + CALLS.format("-1", ""), 4, "not a number of lines"),
        (HEAD + CALLS.format(4294967295, "a = b ( c )\n"), 5, "line 4 announces 4294967295 lines, 4294967294 of them are missing"),
        (HEAD + CALLS.format(2, "a = b ( c )\n=====hsa Timestamp Output=====\n"), 6, "line 4 announces 2 lines, 1 of them are missing"),
        (HEAD + CALLS.format(1, "\n"), 5, "empty line"),
        (HEAD + CALLS.format(1, "a = b\n"), 5, "RESULT = NAME ( ARGUMENTS )"),
        (HEAD + "=====ocl API Trace Output=====\n7\n1\nb ( c )\n", 5, "RESULT = NAME ( ARGUMENTS )"),
        (HEAD + CALLS.format(1, "a = ( c )\n"), 5, "the name of the call is missing"),
        (HEAD + CALLS.format(1, "a = b ( c )\n") + TIMES.format("1 c 1 2"), 9, "another section has b"),
        (HEAD + TIMES.format("x c 1 2"), 5, "call type is not a number"),
        (HEAD + TIMES.format("1 c 1"), 5, "the line ends before its call"),
        (HEAD + TIMES.format("1 c 2 1"), 5, "call ends before it starts"),
        (HEAD + TIMES.format("1 c 1 99999999999999999999"), 5, "not a number up to"),
        (HEAD + TIMES.format("1 c 1 -2"), 5, "not a number up to"),
        (HEAD + "=====ocl Timestamp Output=====\n7\n1\n66 clX 1 2 4592 X 1 2\n", 5, "the line ends before its command"),
        (HEAD + "=====ocl Timestamp Output=====\n7\n1\n66 clX 1 2 4592 X 1 2 3 4 1 zz 1 0x1 G\n", 5, "neither 0x and digits nor NULL"),
        (HEAD + "=====ocl Timestamp Output=====\n7\n1\n66 clX 1 2 4592 X 1 2 3 4 1 0x1 1 0x1 G 0x1 k\n", 5, "before the sizes"),
        (HEAD + KERNELS.format("k 0x1 1 2 GPU"), 4, "handle of the agent"),
        (HEAD + KERNELS.format("k 0x11112222333344445 1 2 GPU"), 4, "neither 0x and digits nor NULL"),
        (HEAD + KERNELS.format("k 0x1 1 2 GPU 0x1 7"), 4, "before the handle of its queue"),
        (HEAD + "=====hsa Stack Trace Output=====\n7\n1\nb\tmain\tx\tfile\n", 5, "source line is not a number"),
        (HEAD + MARKERS.format("1\nclMarker 1"), 5, "expected the start or end"),
        (HEAD + MARKERS.format("2\nclBeginPerfMarker a 5\nclEndPerfMarker 4"), 6, "ends before it begins"),
        (HEAD + MARKERS.format("2\nclBeginPerfMarker a 5\nclBeginPerfMarker b 4"), 6, "begins before its enclosing marker"),
        (HEAD + CALLS.format(1, "a = b ( " + "x" * (1 << 20) + " )\n"), 5, "line of more than"),
        (HEAD * 30000 + "\0", 30001, "not a text file"),
    ]
    for number, (text, line, cause) in enumerate(cases):
        refused(f"wrong{number}.atp", text, line, cause)


def wrong_tables():
    refused("empty.csv", "", 0, "column names are missing")
    refused("other.csv", "a,b\n1,2\n", 1, "column Method is missing")
    refused("other.occupancy", "Method, x\n", 1, "column Kernel Name is missing")
    refused("wide.csv", "Method, Time\nk, 1, 2\n", 2, "more cells than the 2 columns")
    refused("late.csv", "Method, Time\n#Key=value\n", 2, "after the start of the table")
    refused("comment.csv", "#no value\n", 1, "expected KEY=VALUE")
    refused("columns.csv", "Method," * 5000 + "\n", 1, "more than 4096 columns")
    report, _ = imported(written("tabs.csv", "#ListSeparator=;\nMethod; Time\nk{1, 2}; 0.5\nshort\n"))
    tap.ok(exported(report, "csv") == "#ListSeparator=;\nMethod; Time\nk{1, 2}; 0.5\nshort\n", "the separator of the file holds, and short rows stay short", exported(report, "csv"))


def no_texts():
    with open(app("lock_holder"), "rb") as file:
        binary = file.read()
    for kind in ("atp", "csv", "occupancy", "nvtxt"):
        path = written("binary." + kind, binary)
        result = trace("import", path)
        tap.ok(result.status == 2 and result.err.count(b"\n") == 1 and path.encode() in result.err and b"not a text file" in result.err and not result.out,
               f"a binary file named .{kind} is refused in one line", result)
    result = trace("import", os.path.join(PLACE, "none.atp"))
    tap.ok(result.status == 2 and result.err.count(b"\n") == 1 and b"No such file" in result.err, "a missing file is refused in one line", result)
    result = trace("import", PLACE + "/", written("x.atp", TIMELINE))
    tap.ok(result.status == 2 and result.err.count(b"\n") == 1, "files of CodeXL and others at once are refused", result)
    result = trace("import", written("y.atp", TIMELINE), written("x.atp", TIMELINE))
    tap.ok(result.status == 2 and b"at most one .atp" in result.err, "two timelines are refused", result)
    for output, cause in (("/dev/full", b"No space left"), (os.path.join(PLACE, "none/x.rep"), b"No such file")):
        result = trace("import", "-o", output, written("x.atp", TIMELINE))
        tap.ok(result.status == 2 and result.err.count(b"\n") == 1 and output.encode() in result.err and cause in result.err, f"{output} cannot be written", result)


def losses_are_reported():
    text = HEAD + CALLS.format(1, "a = b ( c ) /* why */\n") + "=====News Output=====\n7\n1\nx\n" + MARKERS.format("3\nclEndPerfMarker 1\nclBeginPerfMarker a 5\nclEndPerfMarkerEx b 6 G")
    text = text.replace("clEndPerfMarkerEx b 6 G", "clEndPerfMarkerEx 6 b G")
    _, result = imported(written("lost.atp", text))
    said = result.err.decode()
    tap.ok(all(each in said for each in ("1 comments after calls", "1 unknown sections", "3 lines of unknown sections", "1 ends of perf markers without a begin", "1 end names")),
           "lines that a report cannot hold are counted in a message", said)
    open_one = HEAD + MARKERS.format("1\n" + "clBeginPerfMarker".ljust(20) + "a".ljust(50) + "5".ljust(20) + "   G")
    report, _ = imported(written("open.atp", open_one))
    tap.ok(exported(report, "atp") == open_one, "a perf marker that did not end stays open", exported(report, "atp"))


main(as_amd_reads_them, ours_come_back, statistics_know_them, calls_of_opencl_and_hsa, wrong_timelines, wrong_tables, no_texts, losses_are_reported)
