#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
"""Compare our reading of Nsight Compute reports with that of NVIDIA's own readers, and print the differences by class.

    tests/peers/ncu_differential.py FILE...

Python values are compared with those of the module ncu-report of PyPI (tests/peers/viewers.txt; VIEWERS names its environment), and pages line by line with
those of ncu 2024.1.1 (PEERS names its folder, as for tests/e2e/details_ncu.py). A class says what differs and how, without the numbers; a class with a reason
in EXPLAINED is expected. Without arguments, this is a test on the reports of the fixtures and on mutations of them (lib_ncu_mutate.py). Readers that are not
installed are skipped."""
import collections
import csv
import difflib
import json
import os
import random
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../e2e")]
from details_ncu import UNIT_GUESSED, comparable, ncu_page  # noqa: E402
from lib import BUILD, PRODUCTS, clean_env, fixtures, folder, main, run, tap, trace  # noqa: E402
from libpeers import NCU, NCU_SAMPLES  # noqa: E402
from lib_ncu_mutate import MUTATIONS, Report  # noqa: E402

SRC = os.environ.get("SRC") or os.path.dirname(os.path.dirname(HERE))
PYTHON = os.path.join(os.environ.get("VIEWERS") or os.path.join(BUILD, "viewers"), "bin/python3")
VALUES = os.path.join(HERE, "lib_ncu_values.py")
PAGES = ("--page raw", "--page raw --csv", "--page details --print-details all", "--page details --print-details all --csv --print-units base", "--page session")
JUDGED = (2024, 2)  # pages are compared for reports of releases before this one, since ncu 2024.1.1 reads no later ones
SPELLINGS = (("ns", "nsecond"), ("us", "usecond"), ("hz", "cycle/second"))  # units in 2026.3.1, and the same in 2024.1.1
VALUE_METHODS = ("as_double", "as_uint64", "as_string", "value", "instances", "keys", "rule_message", "message", "source_location")

# Expected differences of Python values: a pattern of the class, and the reason. docs/python.md and docs/ncu-peers.md list the same ones.
EXPLAINED = (
    (r"metric metric_type \S+ -> 0", "the device does not have the metric; NVIDIA looks that up in its database of the device"),
    (r"metric metric_type 2 -> 3", "NVIDIA's database calls this ratio a throughput"),
    (r"metric unit .* \(not on this device\)", "units of metrics that the device does not have are guessed by words in their names"),
    (r"metric unit .* \(as 2024\.1\.1\)", "NVIDIA's two releases differ, and pages follow 2024.1.1"),
    (r"(metric|aligned) metric_subtype None -> 20", "NVIDIA reads only the last part of names with a triage group"),
)
EXPLAINED_PAGES = (
    (r"--page session: .*(/\S+ -> absent|--- --- -> --- ---)", "a process without a name in one block is printed by its name in another"),
)
# Metrics whose unit 2026.3.1 changed. We use the unit of 2024.1.1, because pages are compared with that release.
OF_2024 = re.compile(r"(l1tex__.*(requests|lsuin|writeback)|(sm|smsp)__sass_branch_targets|smsp__branch_targets|launch__(occupancy_limit_barriers|persisting_l2|"
                     r"uses_blocks_as_clusters|block_dim)|derived__(memory_l1|pct_occupancy_per_block)|regex:|smsp__pcsamp_warps_issue_stalled_branch|memory_l1_|"
                     r"branch_inst_executed|sm__sass_l1tex_t_requests|sm__inst_executed$|idc__requests|smsp__l1tex_tmem|lts__t_requests|.*_bank_conflicts|.*wavefronts)")


def asked(program, path, **env):
    done = run([*program, VALUES, path], env=clean_env(HOME=folder(), **env), limit=300)
    if done.status:
        raise RuntimeError(f"{program[0]}: {path}: {done.status} {done.err.decode()[-500:]}")
    return {tuple(key): value for key, value in map(json.loads, done.out.decode().splitlines())}


def base_unit(text):
    """Convert a unit of 2026.3.1 to the spelling of 2024.1.1 in Python."""
    unit = text.strip("'")
    unit = dict(SPELLINGS).get(unit, re.sub(r"/s$", "/second", unit))
    return {"1/cycle": "", "1/second": ""}.get(unit, unit).replace("/", "_per_")


def class_of(key, ours, theirs, values):
    """Return the class of a difference of two values, or None if only the spelling of a unit differs."""
    path = [part for part in key if not re.match(r"(range|action) \d+$", part)]
    method = path[-1]
    of = path[0] if len(path) > 1 else "report"
    if of in ("source_info", "ptx_by_pc"):
        method = ""
    if method == "unit":
        wanted = base_unit(theirs)
        if ours == repr(wanted):
            return None
        kind = values.get((*key[:-1], "metric_type"))
        why = " (as 2024.1.1)" if OF_2024.match(path[1]) else " (not on this device)" if kind == "0" else ""
        return f"metric unit {ours} -> {wanted!r}{why}"
    if method in VALUE_METHODS or isinstance(theirs, (list, dict)):
        return f"{of} {method}"
    return f"{of} {method} {ours} -> {theirs}"


def python_classes(path):
    """Compare the Python values of a report. Return {class: [(path, ours, theirs)]} of the differences, and the number of values."""
    ours = asked([sys.executable], path, PYTHONPATH=os.path.join(SRC, "reader/python"), LIBTRACE_READER=os.path.join(PRODUCTS, "lib/libtrace/libtrace-reader.so"))
    theirs = asked([PYTHON], path)
    found = collections.defaultdict(list)
    for key in {**theirs, **ours}:
        mine, other = ours.get(key, "absent"), theirs.get(key, "absent")
        if mine != other:
            name = class_of(key, mine, other, theirs)
            if name:
                found[name].append((" / ".join(key), mine, other))
    return found, len(theirs)


def shape(line):
    """Return a line without its numbers and the widths of its columns."""
    return " ".join(re.sub(r"-?\d+(\.\d+)?", "N", re.sub(r"[-=]{3,}", "---", line)).split())[:100]


def csv_lines(lines):
    """Return a line for each cell of a raw page in CSV: the metric, the number of the row, and the cell."""
    rows = list(csv.reader(lines))
    return [f"{name} | {'unit' if i == 1 else 'launch'} | {row[k]}" for k, name in enumerate(rows[0]) for i, row in enumerate(rows)
            if i and k < len(row) and not (i == 1 and name in UNIT_GUESSED)]


def page_classes(path):
    found, count = collections.defaultdict(list), 0
    for options in PAGES:
        words = options.split()
        done = trace("details", *words, path, limit=100)
        mine = [line.rstrip() for line in done.out.decode().splitlines()]
        other = ncu_page(path, *words[1:])
        if options == "--page raw --csv" and mine and other:
            mine, other = csv_lines(mine), csv_lines(other)
        mine, other = (comparable("", words, lines) for lines in (mine, other))
        count += len(other)
        for tag, a, b, c, d in difflib.SequenceMatcher(None, mine, other, autojunk=False).get_opcodes() if mine != other else ():
            if tag != "equal":
                example = (mine[a] if a < b else "absent", other[c] if c < d else "absent")
                found[f"{options}: {shape(example[0])} -> {shape(example[1])}"].append((options, *example))
    return found, count


def release(path):
    """Return (year, number) of the Nsight Compute release that wrote a report."""
    text = trace("details", "--page", "session", path).out.decode()
    found = re.search(r"(?:Nsight Compute|Version)\D*(20\d\d)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def reason(name):
    return next((why for pattern, why in (*EXPLAINED, *EXPLAINED_PAGES) if re.fullmatch(pattern, name)), None)


def judged(path, name, with_pages=True):
    """Compare our reading of a report with that of each installed reader."""
    for installed, what, classes in ((os.path.exists(PYTHON), "values of Python", python_classes),
                                     (os.path.exists(NCU) and release(path) < JUDGED, "lines of pages", page_classes))[:1 + with_pages]:
        if not installed:
            tap.skip(f"{name}: {what}", "not installed, or not of a release that it knows")
            continue
        found, count = classes(path)
        open_ = {key: of for key, of in found.items() if not reason(key)}
        lines = [f"{len(of)}x {key}: e.g. {str(of[0][0])[:90]}: ours {str(of[0][1])[:90]}, theirs {str(of[0][2])[:90]}" for key, of in open_.items()]
        explained = sum(len(of) for key, of in found.items() if reason(key))
        tap.ok(not open_, f"{name}: {count} {what}, {explained} explained differences, {len(open_)} classes of others", "\n".join(lines))


def named(paths):
    for path in paths:
        judged(path, os.path.basename(path))


FIXTURES = fixtures("ncu")
# Mutations whose pages are not compared: the details page of ncu ends at a number that is not finite (odd) and at a chart whose metric is missing (fewer), and
# the units of metrics that a device does not have are guessed (renamed).
NO_PAGES = ("odd", "fewer", "renamed")
MADE = {"vec_add-2024.1.1": tuple(MUTATIONS), "manual_nvtx": ("doubled", "lines_doubled", "absolute_lines", "reordered", "renamed"),
        "path_tracer-2025.4.1": ("reordered", "rules_doubled")}


def of_samples():
    """The reports that come with ncu."""
    paths = sorted(os.path.join(place, name) for place, _, names in os.walk(NCU_SAMPLES) for name in names if name.endswith(".ncu-rep"))
    for path in paths:
        judged(path, os.path.basename(path))
    if not paths:
        tap.skip("the reports that come with ncu", "not in PEERS or /tmp/peers")


def of_fixtures():
    for name in sorted(of for of in os.listdir(FIXTURES) if of.endswith(".ncu-rep")) if os.path.isdir(FIXTURES) else []:
        judged(os.path.join(FIXTURES, name), name)
    if not os.path.isdir(FIXTURES):
        tap.skip("reports of the fixtures", "no fixtures")


def mutated():
    """Compare the readers on reports with a changed structure."""
    if not os.path.isdir(FIXTURES):
        tap.skip("reports made of the fixtures", "no fixtures")
        return
    path = os.path.join(folder(), "mutated.ncu-rep")
    for name, mutations in MADE.items():
        for mutation in mutations:
            report = Report(os.path.join(FIXTURES, name + ".ncu-rep"))
            MUTATIONS[mutation](report, random.Random(mutation))
            report.write(path)
            judged(path, f"{name}, {mutation}", mutation not in NO_PAGES)


if __name__ == "__main__":
    if all(os.path.exists(argument) for argument in sys.argv[1:]) and len(sys.argv) > 1:
        named(sys.argv[1:])
        tap.finish()
    else:
        main(of_fixtures, of_samples, mutated)
