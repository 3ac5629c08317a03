# SPDX-License-Identifier: Apache-2.0
"""Steps of scripts/gpu-validate.py that check what `trace` computes of a report: against the device's own counts, and
against what must hold whatever the device is. `machine` and `section` are gpu-validate's Machine and Section.
"""

from __future__ import annotations

import glob
import json
import os
import sys
from typing import Any, Dict

Json = Dict[str, Any]

SRC = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("BUILD") or os.path.join(SRC, "build")
TRACE = os.path.join(BUILD, "bin/trace")
APPS = os.path.join(BUILD, "tests/cuda")
GRANULE_BYTES = 2 << 20  # the device hands out memory in pieces of this size: its own count may be larger by one each
WORK = ("cuda_kernel", "cuda_memcpy", "cuda_memset")
# Reports that are kept as captures: the program of each, and its options.
CAPTURED = {"pipeline": ("pipeline", ()), "graph-nodes": ("graph", ("--cuda-graph", "node"))}


def parsed(text: str) -> Any:
    """Parse JSON; return {} if the text is not JSON, because the command failed or was not run."""
    try:
        return json.loads(text)
    except ValueError:
        return {}


def record(machine: Any, name: str, argv: list[str], *options: str) -> tuple[str, str]:
    """Record CUDA and NVTX of a program. Return the report, and what the program printed; "" for a report that failed.
    The report is among those that are kept."""
    report = os.path.join(machine.out, name + ".rep")
    status, output = machine.run([TRACE, "run", "-f", "true", "-t", "cuda,nvtx", *options, "-o", report, "--", *argv])
    return (report if status == 0 and os.path.exists(report) else "", output)


def device_counts(machine: Any, section: Any) -> None:
    """Compare the peak of memory, and the blocks that fit on a multiprocessor, with what the device says."""
    report, output = record(
        machine, "device-counts", [sys.executable, os.path.join(SRC, "tests/cuda/device_counts.py")]
    )
    device = next((parsed(line)["device"] for line in output.splitlines() if line.startswith('{"did"')), None)
    if not report or not device:
        section.fail("device's own counts: the program failed")
        return
    memory = parsed(machine.run([TRACE, "stats", "-r", "cuda_memory_sum", "-f", "json", report])[1])
    peaks = [row["Peak Bytes"] for row in memory]
    rows = parsed(machine.run([TRACE, "stats", "-r", "cuda_kern_occupancy", "-f", "json", report])[1])
    found = sorted([int(r["BlockXYZ"].split()[0]), r["DymSMem (B)"], r["Blocks per SM"]] for r in rows)
    unlike = [pair for pair in zip(sorted(device["blocks"]), found) if pair[0] != pair[1]]
    asked, used = device["asked"], device["used"]
    if peaks != [asked] or not asked <= used <= asked + 3 * GRANULE_BYTES:
        section.fail(
            f"memory: the report has a peak of {peaks}, the program asked for {asked}, the device counts {used}"
        )
    if unlike or len(found) != len(device["blocks"]):
        section.fail(f"occupancy: (device's, report's) [threads, shared bytes, blocks]: {unlike}")
    section.data["device counts"] = {"peaks": peaks, "device": device, "occupancy": found}
    section.add("### Memory and occupancy, beside the device's own counts", "")
    section.table(
        ("", "report", "program", "device"),
        (
            ("peak of memory (bytes)", ", ".join(map(str, peaks)), asked, used),
            ("launches with the device's blocks", len(found) - len(unlike), len(device["blocks"]), ""),
        ),
    )


def perfetto_work(path: str) -> int | None:
    """Return the number of typed events of GPU work in a Perfetto trace; None without the package perfetto."""
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return None
    trace = perfetto_trace_pb2.Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    return sum(bool(packet.HasField("gpu_render_stage_event")) for packet in trace.packet)


def timelines(machine: Any, section: Any) -> None:
    """Check that timelines have all work of the device: Chrome's, and the typed events of Perfetto."""
    report, _ = record(machine, "timelines", [os.path.join(APPS, "waited_gpu"), "copy"])
    events = parsed(machine.run([TRACE, "info", "--json", report])[1]).get("events", {})
    work, out = sum(events.get(kind, 0) for kind in WORK), os.path.join(machine.out, "timeline")
    status, _ = machine.run([TRACE, "export", "-f", "true", "-t", "chrome", "-o", out, report])
    slices: list[Json] = []
    if status == 0:
        with open(out, encoding="utf-8") as file:
            whole = json.load(file)
            slices = whole if isinstance(whole, list) else whole["traceEvents"]
    chrome = sum(e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") for e in slices)
    typed_status, _ = machine.run([TRACE, "export", "-f", "true", "-t", "perfetto", "-o", out, report])
    typed = perfetto_work(out) if typed_status == 0 else 0
    if os.path.exists(out):
        os.unlink(out)
    if not work or chrome != work or typed not in (None, work):
        section.fail(f"timelines: {work} operations of the device, Chrome has {chrome}, Perfetto {typed}")
    section.data["timelines"] = {"work": work, "chrome": chrome, "perfetto": typed}
    section.add("### Timelines", "")
    section.table(
        ("operations of the device", "Chrome", "Perfetto, typed"),
        [(work, chrome, "written; not decoded: no package perfetto" if typed is None else typed)],
    )


def paths(machine: Any, section: Any) -> None:
    """Check the critical path of kernels that wait for each other, and predictions of what faster kernels save."""
    report, _ = record(machine, "paths", [os.path.join(APPS, "waited_gpu"), "event"])
    status, text = machine.run([TRACE, "why", "--json", report])
    why = parsed(text)
    causes = why.get("causes", [])
    kernels = [row for row in causes if str(row["Cause"]).startswith("kernel ")]
    whole = sum(row["Total Time (ns)"] for row in causes)
    if status != 0 or not kernels or whole != why.get("ns"):
        section.fail(f"why: exit status {status}, {len(kernels)} kernels on the path, {whole} of {why.get('ns')} ns")
    rows = []
    for factor in ("1", "0.5", "0"):
        status, text = machine.run([TRACE, "what-if", "--json", report, f"kernel * x{factor}"])
        found = parsed(text)
        saved = found.get("wall_ns", 0) - found.get("predicted_ns", 0)
        most = sum(change["applies_to_ns"] for change in found.get("changes", [])) * (1 - float(factor))
        rows.append((f"kernel * x{factor}", status, found.get("wall_ns"), saved, found.get("error_ns")))
        # 2: refused, since it is not known what ended the waits of too much of the path.
        if status not in (0, 2) or (status == 0 and not 0 <= saved + found["error_ns"] <= most + 2 * found["error_ns"]):
            section.fail(f"what-if kernel * x{factor}: exit status {status}, saves {saved} ns, at most {most:.0f}")
    section.data["paths"] = {"why": why, "what-if": rows}
    section.add("### Critical path, and predictions", "", "waited_gpu event.", "")
    section.table(
        ("cause", "ns", "sure"),
        ((row["Cause"], row["Total Time (ns)"], row["Sure"] or "") for row in causes[:8]),
    )
    section.table(("what-if", "exit status", "ns of the run", "ns saved", "error bound (ns)"), rows)


def captures(machine: Any, section: Any) -> str:
    """Record programs, and export them to databases that tests/e2e/replayed.py plays on the simulated device. Return
    the folder."""
    folder = os.path.join(machine.out, "captures")
    os.makedirs(folder, exist_ok=True)
    rows = []
    for name, (program, options) in CAPTURED.items():
        report, _ = record(machine, f"capture-{name}", [os.path.join(APPS, program)], *options)
        path = os.path.join(folder, name + ".sqlite")
        status, _ = machine.run([TRACE, "export", "-f", "true", "-t", "sqlite", "-o", path, report])
        events = parsed(machine.run([TRACE, "info", "--json", report])[1]).get("events", {})
        size = os.path.getsize(path) if status == 0 else 0
        rows.append((name, events.get("cuda_api", 0), events.get("cuda_kernel", 0), size))
        if not size or not events.get("cuda_kernel"):
            section.fail(f"capture of {name}: exit status {status}, {events.get('cuda_kernel', 0)} kernels")
        for own in glob.glob(report) if report else ():
            os.unlink(own)
    section.data["captures"] = rows
    section.add(
        "### Captures",
        "",
        "`captures.tar.gz`: unpack it, and play them on the simulated device with `CAPTURES=FOLDER make e2e "
        "TESTS=e2e/replayed`.",
        "",
    )
    section.table(("capture", "calls", "kernels", "bytes"), rows)
    return folder
