#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check `trace export -t ncu`: every launch is a result of Nsight Compute, with its names, the NVTX ranges that were open and the callchain of
its call.

The export is compared with the events of the same report, by `trace details`, by the bytes of the file, and, where they have been fetched
(PEERS, default /tmp/peers), by NVIDIA's ncu and its Python module. Programs run on the simulated device: this test has not run on a GPU.
"""
import collections
import csv
import io
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
from cuda_results import by_ncu, by_trace, in_ns, listed, told  # noqa: E402
from libwire import blocks, entries, fields  # noqa: E402
from lib import Report, clean_env, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402
from libpeers import NCU, ncu_python  # noqa: E402

PUSH_POP, START_END = ("thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
                       "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg")
KERNEL = "void work::scale<float>(float*, unsigned int)"
DEFAULT = "<default domain>"


def exported(command, toolkit="cuda13", **options):
    """Trace a program and export its report. Return (path of the report of Nsight Compute, the report); None if that failed."""
    work, spool = folder(), spool_folder()
    report = Report(os.path.join(work, "r.rep"))
    env = device.env(toolkit, base=traced_env(report.path, spool, LIBTRACE_TRACE="cuda,nvtx", **options))
    result = run(command, env=env, cwd=work)
    sound = wait_spool_gone(spool) and result.status == 0 and report.check().status == 0
    made = trace("export", "-t", "ncu", report.path, limit=100) if sound else result
    path = os.path.join(work, "r.ncu-rep")
    done = tap.ok(sound and made.status == 0 and os.path.exists(path), f"{' '.join(command)[-60:]}: the export is sound", f"{made.status} {made.err}")
    return (path, report, made.err.decode()) if done else None


def results(path, alone=True):
    """Yield (fields of the process, fields of the result) of each result in a file. With `alone`, check that the file has nothing else."""
    for header, payload in blocks(path):
        first = header.get(1, [0])[0]  # sources come before results
        found = list(entries(payload, first + header[2][0]))
        yield from ((fields(header[6][0]), fields(result)) for result in found[first:])
        if alone and len(payload) != sum(4 + len(result) for result in found):
            raise RuntimeError("a payload has more than its results")


def chain(result):
    """Return the callchain of a result: [(module, address, function)], innermost first."""
    frames = [fields(frame) for stack in result[28] for frame in fields(stack)[1]]
    return [(f[1][0].decode(), f[2][0], f[4][0].decode()) for f in frames]


def state(result):
    """Return what Events.open() returns, read from the NVTX state of a result: its thread and all domains with an open range."""
    nvtx = fields(result[21][0])
    names = {domain[1][0]: domain[2][0].decode() for domain in map(fields, nvtx[1])}
    found = {DEFAULT: ([], [])}
    for thread in map(fields, nvtx[2]):
        for domain in map(fields, thread[2]):
            texts_of = [fields(r)[1][0].decode() for r in domain[3]]
            if thread[1][0] == result[1][0]:
                found.setdefault(names[domain[1][0]], ([], []))[0].extend(texts_of)
    for domain in map(fields, nvtx[3]):
        found.setdefault(names[domain[1][0]], ([], []))[1].extend(fields(r)[2][0].decode() for r in domain[3])
    return {domain: (tuple(stack), tuple(spans)) for domain, (stack, spans) in found.items() if domain == DEFAULT or stack or spans}


# ---- what was open at a call, from the events ----

class Events:
    def __init__(self, report):
        rows = report.events("--absolute")
        self.kernels = sorted((e for e in rows if e["kind"] == "cuda_kernel"), key=lambda e: e["start_ns"])
        self.calls = {(e["pid"], e["correlation_id"]): e for e in rows if e["kind"] == "cuda_api" and "Launch" in e["function"] and not e["level"]}
        self.attributes = {e["attribute"]: e["value"] for e in rows if e["kind"] == "cuda_device_attribute"}
        self.ranges = [e for e in rows if e["kind"] == "nvtx_range"]
        self.spans = [e for e in rows if e["kind"] == "nvtx_start_end"]

    def call(self, kernel):
        return self.calls[kernel["pid"], kernel["correlation_id"]]

    def open(self, kernel):
        """Return {domain: (texts of the launching thread's stack, texts of start/end ranges)}, for domains in which a range of any thread is open."""
        call = self.call(kernel)
        found = {DEFAULT: ([], [])}
        for rows, place in ((self.ranges, 0), (self.spans, 1)):
            for e in sorted(rows, key=lambda e: (e["start_ns"], e.get("level", 0))):
                if e["pid"] == call["pid"] and e["start_ns"] <= call["start_ns"] < e["start_ns"] + e["duration_ns"]:
                    lists = found.setdefault(e["domain"] or DEFAULT, ([], []))
                    if place or e["tid"] == call["tid"]:
                        lists[place].append(e["text"])
        return {domain: (tuple(stack), tuple(spans)) for domain, (stack, spans) in found.items() if domain == DEFAULT or stack or spans}


def texts(cell):
    """Return the (domain, text) pairs in a cell of a page, whose ranges are quoted."""
    parts = [part.split(":") for part in cell.split('"')[1::2]]
    return [tuple(part[1:3] if part[0].isdigit() else part[:2]) for part in parts]


def flat(state, place):
    return collections.Counter((domain, text) for domain, lists in state.items() for text in lists[place])


def rows_of(page):
    return list(csv.DictReader(io.StringIO(page)))[1:]


def pages(path, events):
    wanted = told(events.kernels)
    for name, read in (("trace details", by_trace), ("ncu", by_ncu)):
        if read is by_ncu and not os.path.exists(NCU):
            tap.skip(f"{name} reads it", "no ncu in PEERS or /tmp/peers")
            continue
        page = read(path)
        rows = rows_of(page)
        got = collections.Counter({(*key[:5], round(key[5], 2), *key[6:]): n for key, n in listed(page).items()})
        tap.ok(rows and got == in_ns(page, wanted), f"{name} lists every launch with its facts", f"{got}\n{in_ns(page, wanted)}")
        clocks = {tuple(row[f"device__attribute_{what}"].replace(",", "") for what in ("clock_rate", "memory_clock_rate", "global_memory_bus_width")) for row in rows}
        tap.ok(clocks == {tuple(str(events.attributes[number]) for number in (13, 36, 37))}, f"{name}: attributes that only CUPTI's list of attributes has", clocks)
        tap.ok({row["Kernel Name"] for row in rows} == {KERNEL}, f"{name}: names are readable", {row["Kernel Name"] for row in rows})
        wrong = [f"{row['ID']}: {row[column]}" for row, kernel in zip(rows, events.kernels) for place, column in ((0, PUSH_POP), (1, START_END))
                 if collections.Counter(texts(row[column])) != flat(events.open(kernel), place)]
        tap.ok(len(rows) == len(events.kernels) and not wrong, f"{name}: NVTX ranges open at the launch", "\n".join(wrong))
        page = read(path, "details")
        shown = collections.Counter(row["Metric Name"] for row in csv.DictReader(io.StringIO(page)) if row["Section Name"] == "Launch Statistics")
        tap.ok(shown["Duration"] == shown["Registers Per Thread"] == len(rows) and len(shown) == 8, f"{name}: the page of details, too", shown)
    if os.path.exists(NCU):
        ours, theirs = ([list(row.values())[:12] for row in rows_of(read(path))] for read in (by_trace, by_ncu))
        tap.ok(ours == theirs, "trace details and ncu print launches and ranges alike, payloads and colors, too", f"{ours}\n{theirs}"[:3000])


ASK = """
import json, sys
sys.path.insert(0, sys.argv[1])
import ncu_report
rows = []
for action in ncu_report.load_report(sys.argv[2]).range_by_idx(0):
    state = action.nvtx_state()
    rows.append([action.name(), action.name(action.NameBase_DEMANGLED), action.name(action.NameBase_MANGLED),
        action["gpu__time_duration.sum"].as_uint64(), action["launch__grid_dim_x"].as_uint64(),
        {state[i].name(): [state[i].push_pop_ranges(), state[i].start_end_ranges()] for i in state.domains()}])
print(json.dumps(rows))
"""


def python_module(path, events):
    module = ncu_python()
    if not module:
        tap.skip("ncu_report reads it", "no ncu_report in PEERS or /tmp/peers")
        return
    result = run(["python3", "-c", ASK, module, path], env=clean_env(HOME=module), limit=100)
    if result.status and b"ImportError" in result.err:
        tap.skip("ncu_report reads it", "its module is for another Python")
        return
    wanted = [["scale", KERNEL, "_ZN4work5scaleIfEEvPT_j", e["duration_ns"], e["grid_x"],
               {domain: [list(part) for part in lists] for domain, lists in events.open(e).items() if domain == DEFAULT or any(lists)}]
              for e in events.kernels]
    got = json.loads(result.out or b"[]")
    for row in got:
        row[5] = {domain: lists for domain, lists in row[5].items() if domain == DEFAULT or any(lists)}
    wrong = [f"{g}\n{w}" for g, w in zip(got, wanted) if g != w]
    tap.ok(len(got) == len(wanted) and not wrong, "ncu_report: names, durations and the NVTX state of every launch", f"{result.err}\n" + "\n".join(wrong))


def ranges():
    if device.missing("nvtx_launch"):
        tap.skip("NVTX", device.missing("nvtx_launch"))
        return
    made = exported([device.app("nvtx_launch"), "14"], LIBTRACE_CUDA_BACKTRACE="kernel")
    if not made:
        return
    path, report, _ = made
    events = Events(report)
    pages(path, events)
    python_module(path, events)
    found = [result for _, result in results(path)]
    tap.ok([r[1][0] for r in found] == [events.call(e)["tid"] for e in events.kernels], "each result has the thread of its call")
    tap.ok(all(events.call(e)["callchain"] for e in events.kernels), "each call carries its callchain")
    program = os.path.realpath(device.app("nvtx_launch"))
    wrong = []
    for result in found:
        names = [function for module, address, function in chain(result) if module == program and address]
        if names[:2] != ["launch_inner", "launch_outer"]:
            wrong.append(str(chain(result)))
    tap.ok(found and not wrong, "each result has the callchain of its call, innermost frame first", "\n".join(wrong[:3]))


def own():
    """Check the results in the report itself. The writer builds them, so they have only ranges of the launching thread, and no function names."""
    if device.missing("nvtx_launch"):
        tap.skip("own results", device.missing("nvtx_launch"))
        return
    for toolkit, rounds in (("cuda13", 14), ("cuda11", 90)):
        name = f"own results, {rounds} rounds with {toolkit}"
        made = exported([device.app("nvtx_launch"), str(rounds)], toolkit=toolkit, LIBTRACE_CUDA_BACKTRACE="kernel", LIBTRACE_CUDA_FLUSH=5)
        if not made:
            continue
        path, report, _ = made
        events = Events(report)
        kernels = {e["correlation_id"]: e for e in events.kernels}
        found = {result[2][0]: result for _, result in results(report.path, alone=False)}
        tap.ok(len(found) == min(len(kernels), 500) and set(found) <= set(kernels), f"{name}: each kernel has a result", f"{len(found)} of {len(kernels)}")
        wrong = [f"{state(r)}\nwanted {events.open(kernels[n])}" for n, r in found.items() if state(r) != events.open(kernels[n])]
        tap.ok(found and not wrong, f"{name}: NVTX ranges open at the call", "\n".join(wrong[:3]))
        wanted = {result[2][0]: chain(result) for _, result in results(path)}
        short = {n: [(module, address) for module, address, _ in chain(r)] for n, r in found.items()}
        long = {n: [frame for i, frame in enumerate(c) if not i or c[i - 1][1] != frame[1]] for n, c in wanted.items()}
        wrong = [n for n in found if not short[n] or short[n] != [(module, address) for module, address, _ in long[n]]]
        tap.ok(not wrong, f"{name}: the callchain of the call, module and address", f"{[(short[n], long[n]) for n in wrong[:1]]}")
        for reader, read in (("trace details", by_trace), ("ncu", by_ncu)):
            if read is by_ncu and not os.path.exists(NCU):
                tap.skip(f"{name}: {reader}", "no ncu in PEERS or /tmp/peers")
                continue
            rows = rows_of(read(report.path))
            got = [collections.Counter(pair for row in rows for pair in texts(row[column])) for column in (PUSH_POP, START_END)]
            told_of = [sum((flat(events.open(kernels[n]), place) for n in found), collections.Counter()) for place in (0, 1)]
            tap.ok(len(rows) == len(found) and got == told_of, f"{name}: {reader} prints those ranges", f"{got}\n{told_of}")


def several():
    """Check reports with more launches than the writer keeps as results, and with two processes."""
    if device.missing("driver_api"):
        tap.skip("several", device.missing("driver_api"))
        return
    program = device.app("driver_api")
    made = exported(["/bin/sh", "-c", f"{program} 700 & {program} 20; wait"])
    if not made:
        return
    path, report, notes = made
    by_process = collections.Counter(e["pid"] for e in report.events("--kind", "cuda_kernel"))
    got = collections.Counter(process[1][0] for process, _ in results(path))
    tap.ok(sorted(by_process.values()) == [20, 700] and got == by_process, "every launch of either process, under its process", f"{got} {by_process}")
    tap.ok("have no call" not in notes, "the call of each is found", notes)
    page = by_trace(path)
    told_of = collections.Counter({(*key[:5], round(key[5], 2), *key[6:]): n for key, n in listed(page).items()})
    tap.ok(told_of == in_ns(page, told(report.events("--kind", "cuda_kernel"))), "the page prints the facts of each kernel")
    tap.ok(not any(result[21] for _, result in results(path)), "without NVTX in the report, no result has an NVTX state")


def none():
    if device.missing("ends"):
        tap.skip("none", device.missing("ends"))
        return
    work, spool = folder(), spool_folder()
    report = Report(os.path.join(work, "r.rep"))
    result = run([device.app("ends"), "exit"], env=device.env(base=traced_env(report.path, spool, LIBTRACE_TRACE="cuda,nvtx")), cwd=work)
    done = trace("export", "-t", "ncu", report.path) if wait_spool_gone(spool) else result
    tap.ok(done.status == 2 and done.err.decode() == f"trace: '{report.path}': nothing to export as ncu\n" and not os.path.exists(os.path.join(work, "r.ncu-rep")),
           "a report without kernels is not exported", done)


if __name__ == "__main__":
    main(ranges, own, several, none)
