#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
"""Compare `trace details --print-summary` with NVIDIA's ncu, over all reports of the fixtures and some derived from them, if ncu has been
fetched.

ncu's CSV is not a table: a metric without a number has only the cells of the launch, attributes of a device have fewer cells than there are
columns, and lines break after as many cells as there are columns. So cells are compared in one row, without those. Other differences are
named here and in docs/ncu-peers.md.
"""
import csv
import itertools
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from details import FIXTURES, REPORTS  # noqa: E402
from details_ncu import UNKNOWN_DEVICE, comparable, ncu_page, nvtx_states, printed, without_guesses, without_note  # noqa: E402
from lib import folder, main, tap  # noqa: E402
from libncu import Template, WORKLOADS  # noqa: E402
from libpeers import NCU  # noqa: E402

PAGES = ("raw", "details", "details --print-details body", "details --print-details all")
KINDS = ("per-kernel", "per-gpu", "per-nvtx")
# Each option with each page, over a report with ranges and three kernels and one with many metrics. ncu accepts names of metrics for the
# details page only.
OPTIONS = ("--print-units base", "--print-fp --csv", "--print-kernel-base mangled --print-nvtx-rename kernel", "--kernel-name regex:_", "--print-metric-instances values",
           "--kernel-name regex:(add|axpy|init) --csv", "--print-metric-instances details --csv")
NAMES = ("--print-metric-name name", "--print-metric-name label-name --csv")


def is_skipped():
    if os.path.exists(NCU) and REPORTS:
        return False
    tap.skip("summaries as ncu prints them", "no ncu in PEERS or /tmp/peers, or no fixtures")
    return True


def ours_as_cells(lines):
    """Return our rows; those of a device have only the cells that ncu prints."""
    heading, *body = csv.reader(lines)
    if any(len(row) != len(heading) for row in body):
        raise RuntimeError("rows are not as wide as the heading")
    launches = heading.index("Invocations")
    return [heading] + [[row[3], "", "", "", "", row[9], "", "", "", row[13]] if row[launches] == "" else row for row in body]


def theirs_as_cells(lines):
    heading = next(csv.reader(lines[:1]))
    cells = [cell for row in csv.reader(line.rstrip(",") for line in lines[1:]) for cell in row]
    launch, front, at, body = heading.index("Invocations") + 1, len(heading) - 5, 0, []
    while at < len(cells):
        if "Section Name" not in heading and cells[at + 1:at + 5] == [""] * 4:
            body.append(cells[at:at + 10])
            at += 10
        elif front > launch and cells[at + front:at + front + launch] == cells[at:at + launch] or at + front >= len(cells):
            at += front
        else:
            body.append(cells[at:at + len(heading)])
            at += len(heading)
    return [heading] + body


def mean_once(line):
    """Return the line with the right mean. With all tables, ncu adds a metric that a section has twice to the sum twice: its mean is above the maximum."""
    found = re.fullmatch(r"(.* )([0-9.]+) ([0-9.]+)", line)
    return f"{found[1]}{found[2]} {found[2]}" if found and float(found[3]) > float(found[2]) else line


def without_empty_tables(lines):
    """Return the lines without tables that have no rows, which ncu prints if none of its metrics has a number."""
    out = []
    for line in (line.rstrip() for line in lines if line.strip()):
        if not line.strip("- ") and out and out[-1] == line and out[-2].split()[:2] == ["Metric", "Name"]:
            del out[-3:]
            while out[-1].split()[0] == "Table":
                del out[-1]
        else:
            out.append(line)
    return out


def lines_of(name, words, lines, as_cells):
    if "--csv" in words:
        lines = [" ".join(repr(cell) for cell in row[:-1]) + " " + row[-1] for row in as_cells(lines)]
        lines = [re.sub(r"'([0-9.]+)' ([0-9.]+)$", r"\1 \2", line) for line in lines]
    lines = comparable(name, words, without_note(lines))
    if "all" in words:  # the width of the last column is that of the wrong mean
        lines = [mean_once(" ".join(line.split())) for line in lines]
        lines = [line for line in lines if line.replace("-", " ").strip()]
    return lines


def differences(path, options):
    """Return the number of lines of ncu, and the differences."""
    (page, *words), name = options.split(), os.path.basename(path)[: -len(".ncu-rep")]
    theirs = lines_of(name, words, ncu_page(path, page, *words), theirs_as_cells)
    ours = lines_of(name, words, [line.rstrip() for line in printed(path, page, *words)], ours_as_cells)
    wrong = [f"{options}: {a!r} | {b!r}" for a, b in itertools.zip_longest(ours, theirs) if a != b]
    return len(theirs), wrong


def compare(what, path, choices):
    lines, wrong = 0, []
    for options in choices:
        count, differs = differences(path, options)
        lines += count
        wrong += differs[:5]
    tap.ok(not wrong, f"{what}: {lines} lines of {len(choices)} summaries as ncu's", "\n".join(wrong[:20]))


def reports():
    if is_skipped():
        return
    for path in REPORTS:
        if UNKNOWN_DEVICE not in path:
            compare(os.path.basename(path), path, [f"{page} --print-summary {kind} {form}" for page, kind, form in itertools.product(PAGES, KINDS, ("", "--csv"))])


def options():
    """Compare options that change texts, units and names, and options that select launches."""
    if is_skipped():
        return
    for name in ("manual_nvtx", "vec_add-2024.1.1"):
        path = os.path.join(FIXTURES, name + ".ncu-rep")
        choices = [f"{page} --print-summary {kind} {more}" for page, (kind, more) in itertools.product(PAGES, zip(itertools.cycle(KINDS), OPTIONS))]
        choices += [f"{page} --print-summary per-gpu {more}" for page, more in itertools.product(PAGES[1:], NAMES)]
        compare(f"{name} with options", path, [of for of in choices if "all" not in of or "instances" not in of])


def made_as_ncu():
    """Compare launches of one kernel with different values; results of ranges, command lists and graphs are results of a kernel stored as such, since no
    report with real ones is available.
    """
    if is_skipped():
        return
    path = os.path.join(folder(), "made.ncu-rep")
    forms = [f"{page} --print-summary {kind} {form}" for page, kind, form in itertools.product(PAGES[:3], KINDS[:2], ("", "--csv"))]
    Template(os.path.join(FIXTURES, "manual_nvtx.ncu-rep")).write(path, [(0, None, "k"), (1, None, "k"), (2, None, "k")])
    compare("three launches of a kernel", path, forms)
    for workload in WORKLOADS:
        Template(os.path.join(FIXTURES, "vec_add-2024.1.1.ncu-rep")).write_as(path, workload)
        lines, wrong = 0, []
        # ncu crashes with --csv, and without it prints no line for the process. Its summaries of command lists have a table
        # that is for launches only
        for options_ in (of for of in forms if "--csv" not in of and ("body" not in of or workload != "cmdlist")):
            page, *words = options_.split()
            theirs = without_guesses(without_empty_tables(without_note(ncu_page(path, page, *words))))
            ours = without_guesses(without_empty_tables(without_note([line.rstrip() for line in printed(path, page, *words)])[1:]))
            lines += len(theirs)
            wrong += [f"{options_}: {a!r} | {b!r}" for a, b in itertools.zip_longest(ours, theirs) if a != b][:5]
        tap.ok(not wrong and lines > 1000, f"a {workload}: {lines} lines of summaries as ncu's", "\n".join(wrong[:20]))


def states_as_ncu():
    """Compare raw pages of launches in NVTX ranges of all kinds."""
    if is_skipped():
        return
    path = os.path.join(folder(), "nvtx.ncu-rep")
    template = Template(os.path.join(FIXTURES, "manual_nvtx.ncu-rep"))
    for name, launches in nvtx_states(template.tid()).items():
        template.write(path, launches)
        compare(f"NVTX, {name}", path, ["raw --print-summary per-nvtx", "raw --print-summary per-nvtx --csv"])


if __name__ == "__main__":
    main(reports, options, made_as_ncu, states_as_ncu)
