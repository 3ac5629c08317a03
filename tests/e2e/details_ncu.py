#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
"""Compare `trace details` with NVIDIA's ncu, line by line over all reports of the fixtures, if ncu has been fetched (PEERS, default
/tmp/peers).

That ncu is of 2024.1.1: it knows neither the device of one report nor all sections of another, which are of 2025. All differences are named
here and in docs/ncu-peers.md, and left out or made equal before the lines are compared.
"""
import csv
import itertools
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from details import FILTERS, FIXTURES, PAGES, REPORTS, chosen, page, rows, words_of  # noqa: E402
from lib import folder, main, run, tap, trace  # noqa: E402
from libncu import Template, WORKLOADS, push, started, state  # noqa: E402
from libpeers import NCU  # noqa: E402

UNKNOWN_DEVICE = "transposeMatrix-2025.2.1"  # compute capability 12.0: ncu 2024.1.1 gives its metrics no units
# Sections of 2025 whose filters ncu 2024.1.1 does not understand: it shows these metrics, which the report does not have, as n/a
UNKNOWN_FILTERS = {
    "path_tracer-2025.4.1": ("Preferred Cluster Size", "MC Channel", "WorkId/CLC", "WorkID/CLC", "preferred_cluster", "mcc__cycles", "wid_clc",
                            "Section: Launch Statistics"),
}
# Units of these metrics depend on what else ncu prints
UNIT_VARIES = ("membar", "no_inst")
# Metrics that the device of compute capability 7.5 does not have: their units are then guessed by words in their names
UNIT_GUESSED = ("lts__average_gcomp_input_sector_success_rate.pct", "nvlrx__bytes.sum.per_second", "nvltx__bytes.sum.per_second")
OPTIONS = {
    "details": [
        "", "--csv", "--print-details all", "--print-details body --csv", "--print-details all --csv --print-units base",
        "--print-details all --print-metric-name label-name --print-fp", "--print-metric-name name --print-units base --print-fp",
        "--print-details body --print-metric-instances details --print-rule-details", "--print-kernel-base mangled --print-nvtx-rename kernel",
        "--print-summary per-kernel", "--print-summary per-kernel --csv", "--print-summary per-gpu --print-units base", "--print-summary per-gpu --csv",
        "--print-summary per-nvtx", "--print-summary per-nvtx --csv",
    ],
    "raw": ["", "--csv", "--print-metric-instances details", "--print-metric-instances values --print-fp", "--csv --print-units base --print-metric-instances details"],
    "session": ["", "--csv"],
}


def ncu_page(path, name, *options):
    done = run([NCU, "--import", path, "--page", name, *options], env=dict(os.environ), limit=100)
    return [line.rstrip() for line in done.out.decode().splitlines() if not line.startswith("==WARNING==")]


def printed(path, name, *options):
    """Return our lines; the message that no kernel was in a range is on stderr."""
    done = trace("details", "--page", name, *options, path)
    if done.status != 0 or (done.err and not any(text in done.err for text in (b"no kernel was launched in an NVTX range", b"no kernel matches the options"))):
        raise RuntimeError(f"trace details {path}: {done.status} {done.err!r}")
    return done.out.decode().splitlines()


def without_unknown(name, lines):
    hidden = UNKNOWN_FILTERS.get(name, ())
    return [line for line in lines if not any(text in line for text in hidden)]


def without_widths(lines):
    """Return the lines without the widths of columns and without empty tables: rows that only one side has change both."""
    lines = [" ".join(line.replace("-", " ").split()) for line in lines]
    return [line for line in lines if line not in ("", "Metric Name Metric Unit Metric Value", "Metric Name Metric Unit Minimum Maximum Average")]


def without_note(lines):
    """Return the lines without the note after a summary, which each side words differently."""
    for i, line in enumerate(lines):
        if line.startswith(("  Note: ", "  Average: ")):
            return lines[:i]
    return lines


def without_guesses(lines):
    """Return the lines without units that ncu guesses: on the line of the metric, or in its column of a raw page in CSV."""
    lines = [re.sub(r"([ '])(%|sector|byte(/second)?)(?=[ '])", r"\1UNIT", line) if any(part in line for part in UNIT_GUESSED) else line for line in lines]
    if len(lines) > 2 and lines[0].startswith('"ID"') and UNIT_GUESSED[0] in lines[0]:
        heading, units = list(csv.reader(lines[:2]))
        lines[1] = repr([unit for column, unit in zip(heading, units) if column not in UNIT_GUESSED])
    return [" ".join(line.split()) if any(part in line for part in UNIT_GUESSED) else line for line in lines]


def comparable(name, options, lines):
    lines = without_guesses(lines)
    lines = [re.sub(r"\b(byte|warp|inst)\b", "UNIT", line) if any(part in line for part in UNIT_VARIES) else line for line in lines]
    if "--print-summary" in options:
        lines = without_note(lines)
    if name in UNKNOWN_FILTERS:
        lines = without_widths(without_unknown(name, lines))
    if name == UNKNOWN_DEVICE:  # ncu splits that report's Windows path and quotes it differently
        lines = [line for line in lines if "Profiler Command Line" not in line]
    return lines


def as_ncu():
    if not os.path.exists(NCU) or not REPORTS:
        tap.skip("as ncu prints it", "no ncu in PEERS or /tmp/peers, or no fixtures")
        return
    for path in REPORTS:
        name = os.path.basename(path)[: -len(".ncu-rep")]
        for page_name in PAGES:
            for options in OPTIONS[page_name]:
                if name == UNKNOWN_DEVICE and page_name != "session":
                    continue
                words = options.split()
                theirs = comparable(name, words, ncu_page(path, page_name, *words))
                ours = comparable(name, words, [line.rstrip() for line in printed(path, page_name, *words)])
                wrong = [f"{a!r} | {b!r}" for a, b in zip(ours, theirs) if a != b]
                tap.ok(not wrong and len(ours) == len(theirs), f"{name} {page_name} {options}: {len(theirs)} lines as ncu's",
                       f"{len(ours)} lines\n" + "\n".join(wrong[:20]))


def units_of_unknown_device():
    """Check that numbers are the same for the device of which that ncu knows no units."""
    if not os.path.exists(NCU) or not REPORTS:
        tap.skip("numbers of a device that ncu does not know", "no ncu in PEERS or /tmp/peers, or no fixtures")
        return
    path = os.path.join(FIXTURES, UNKNOWN_DEVICE + ".ncu-rep")
    ours, theirs = rows(page(path, "raw", "--csv")), rows("\n".join(ncu_page(path, "raw", "--csv")))
    scales = {"K": 1e3, "M": 1e6, "G": 1e9, "usecond": 1e3}
    wrong = []
    for i, name in enumerate(ours[0]):
        k = theirs[0].index(name)
        unit = ours[1][i]
        scale = scales.get(unit, scales.get(unit[:1], 1) if unit[1:5] == "byte" else 1)
        for mine, other in zip(ours[2:], theirs[2:]):
            try:
                same = abs(float(mine[i]) * scale - float(other[k])) <= max(0.01, 1e-6 * abs(float(other[k])))
            except ValueError:
                same = mine[i] == other[k]
            if not same and theirs[1][k] == "" and unit:
                wrong.append(f"{name}: {mine[i]} {unit}, {other[k]}")
    tap.ok(not wrong and len(ours[0]) == len(theirs[0]), f"numbers of a device that ncu does not know: {len(ours[0])} columns", "\n".join(wrong))


def nvtx_states(tid):
    """Return reports by name, with everything that NVTX can state about a launch."""
    def of(stacks, ranges=(), **more):
        return state({tid: stacks}, ranges, **more)
    x = push("X", payload=("i64", -5))
    both = {0: [started(11, "SE")], 1: [started(13, "SO")]}
    return {
        "domains": [(0, of({0: [push("A")], 1: [x, push("Y")]}), "k"), (1, of({1: [x, push("Y")]}), "l"), (2, of({1: [x, push("Y")]}), "l"), (1, None, "m")],
        "names of domains": [(0, of({i: [push("A")]}, domains=("zeta", "alpha", "zeta")), "k") for i in range(3)],
        "attributes": [(0, of({0: [push("A", **more)]}), "k") for more in (
            {}, {"color": 1}, {"payload": ("u64", 3)}, {"payload": ("u64", 4)}, {"category": 4}, {"category": 5}, {"color": 2, "payload": ("u64", 1)},
            {"payload": ("double", 2.5)}, {"payload": ("float", -2.5)}, {"payload": ("i32", -2)}, {"payload": ("u32", 7)}, {"text": "z"},
            {"text": "y", "message_type": 2}, {"handle": 77}, {"color": 0xFF00FF00, "text": "z"})],
        "registered strings": [(0, of({0: [push("A", handle=77), push("B", handle=78)], 1: [push("C", handle=77)]}, strings={77: "text"}), "k")],
        "stacks": [(0, of({0: [push("B"), push("C")]}), "k"), (1, of({0: [push("A")]}), "k"), (2, of({0: [push("B")]}), "k"), (0, of({0: []}), "k"),
                   (1, of({0: [push("A")]}), "i"), (1, of({0: [push("A")]}), "k")],
        "started ranges": [(0, of({0: []}, {0: [started(11, "SE", color=5)]}), "k"), (1, of({0: []}, {0: [started(12, "SE", color=5)]}), "k"),
                           (2, of({0: [push("Z")]}, {0: [started(15, "SE", color=5), started(11, "SD")]}), "k"), (0, of({}, both), "k"), (1, of({1: []}, both), "k"),
                           (0, of({0: [push("Z")], 1: [push("Q")]}, both), "k"), (2, of({1: [push("Q")]}, {2: [started(13, "S3")], 1: [started(14, "S1")]}), "k"),
                           (0, of({0: [push("Z")]}, {1: [started(13, "SO")]}), "k"), (0, of({0: [push("Z")]}, {0: [started(11, "SE")], 1: [started(17, "SP")]}), "k")],
        "other threads": [(0, state({tid + 1: {0: [push("A")]}}, {0: [started(11, "SE")]}), "k"), (1, state({tid: {0: [push("A")]}, tid + 1: {0: [push("B")]}}), "k")],
    }


def nvtx_as_ncu():
    """Compare ranges of all kinds, in details, in cells, and as the groups of a summary."""
    path = os.path.join(FIXTURES, "manual_nvtx.ncu-rep")
    if not os.path.exists(NCU) or not os.path.exists(path):
        tap.skip("NVTX states as ncu prints them", "no ncu in PEERS or /tmp/peers, or no fixtures")
        return
    template = Template(path)
    for name, launches in nvtx_states(template.tid()).items():
        made = os.path.join(folder(), "nvtx.ncu-rep")
        template.write(made, launches)
        wrong = []
        for options in ("--print-summary per-nvtx", "--print-summary per-nvtx --csv", "", "--csv"):
            words = options.split()
            theirs, ours = (comparable("", words, lines) for lines in (ncu_page(made, "details", *words), printed(made, "details", *words)))
            wrong += [f"{options}: {a!r} | {b!r}" for a, b in zip((line.rstrip() for line in ours), theirs) if a != b]
            wrong += [f"{options}: {len(ours)} lines, {len(theirs)} of ncu"] * (len(ours) != len(theirs))
        tap.ok(not wrong, f"NVTX, {name}: {len(launches)} launches as ncu prints them", "\n".join(wrong[:10]))


def filters_as_ncu():
    """Check that the filters of details.py choose the launches that ncu chooses."""
    if not os.path.exists(NCU) or not REPORTS:
        tap.skip("launches as ncu chooses them", "no ncu in PEERS or /tmp/peers, or no fixtures")
        return
    for name, cases in FILTERS.items():
        path = os.path.join(FIXTURES, name + ".ncu-rep")
        wrong = []
        for options, wanted in cases:
            theirs = chosen("\n".join(ncu_page(path, "raw", "--csv", *words_of(options))))
            if theirs != wanted:
                wrong.append(f"{options}: {theirs} by ncu, {wanted} by us")
        tap.ok(not wrong, f"{name}: {len(cases)} choices of launches as ncu makes them", "\n".join(wrong))


def workloads_as_ncu():
    """Compare results of ranges, command lists and graphs: results of kernels stored as such, since no report with real ones is available."""
    if not os.path.exists(NCU) or not REPORTS:
        tap.skip("ranges, command lists and graphs as ncu prints them", "no ncu in PEERS or /tmp/peers, or no fixtures")
        return
    for name, workload in itertools.product(("vec_add-2024.1.1", "manual_nvtx"), WORKLOADS):
        made, wrong, lines = os.path.join(folder(), "made.ncu-rep"), [], 0
        Template(os.path.join(FIXTURES, name + ".ncu-rep")).write_as(made, workload)
        for options in ("--page details", "--page details --csv", "--page details --print-details header --print-nvtx-rename kernel", "--page raw",
                        "--page raw --csv", f"--page details --kernel-name {workload}", "--page details --kernel-name regex:v", "--page details --launch-skip 1"):
            words = options.split()
            theirs, ours = (without_guesses(of) for of in (ncu_page(made, *words[1:]), [line.rstrip() for line in printed(made, *words[1:])]))
            lines += len(theirs)
            wrong += [f"{options}: {a!r} | {b!r}" for a, b in zip(ours, theirs) if a != b]
            wrong += [f"{options}: {len(ours)} lines, {len(theirs)} of ncu"] * (len(ours) != len(theirs))
        tap.ok(not wrong and lines > 1000, f"{name} as a {workload}: {lines} lines as ncu prints them", "\n".join(wrong[:10]))


if __name__ == "__main__":
    main(nvtx_as_ncu, as_ncu, units_of_unknown_device, filters_as_ncu, workloads_as_ncu)
