#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Check sequential comparisons: the rate of false alarms over all looks, nights and `trace diff --run` that stop when the verdict is sure, and the planned number
of runs. Times are drawn from fixed seeds or simulated (tests/apps/simulated_cost.c), so the load of the machine does not matter.
"""
import json
import os
import sqlite3
import sys

import lib
import lib_compare as made
from lib import tap

made.enter_interpreter("sequential comparisons")
import numpy  # noqa: E402
from trace_tools import compare, functions, profile, samples, sequential, statistics  # noqa: E402

PROGRAM = lib.app("simulated_cost")


def the_chance_of_a_false_alarm_is_that_of_all_looks_together():
    """Simulate equal programs, at an alpha that few families suffice to judge. Looking again and again at the whole alpha must raise too many alarms."""
    alpha, families, bounds, metrics = 0.2, 400, sequential.Runs(5, 30), 4
    rng = numpy.random.default_rng(1)
    usual, statistics.PERMUTATIONS = statistics.PERMUTATIONS, 999
    split = naive = last = 0
    looks = list(sequential.looks(bounds, alpha))
    try:
        for _ in range(families):
            values = numpy.exp(rng.normal(0, 0.05, (2, bounds.last, metrics)))
            least = [statistics.test_family(values[0, :n], values[1, :n], alpha, rng).p.min() for n, _ in looks]
            split += any(p <= part for p, (_, part) in zip(least, looks))
            naive += any(p <= alpha for p in least)
            last += least[-1] <= alpha
    finally:
        statistics.PERMUTATIONS = usual
    figures = f"of {families}: {split} by the parts of alpha, {naive} by alpha at each look, {last} by one look at the end"
    tap.ok([n for n, _ in looks] == [5, 8, 12, 19, 30] and abs(sum(part for _, part in looks) - alpha) < 1e-9, "the looks share alpha", looks)
    tap.ok(split <= alpha * families, f"false alarms stay below alpha {alpha}: {figures}", figures)
    tap.ok(naive > 1.5 * alpha * families, f"the test can fail: looking at alpha each time would not keep it: {figures}", figures)
    tap.ok(split > alpha * families / 8, f"the boundary is not needlessly strict: {figures}", figures)


def runs_of(rng, count, factor=1.0, spread=0.03):
    """Return runs of a program with three ranges, the first of which takes most of the time."""
    found = []
    for number in range(count):
        items = {}
        for name, ns in (("solve", 5e6 * factor), ("load", 2e6), ("save", 1e6)):
            typical = ns * numpy.exp(rng.normal(0, spread))
            items[profile.Key("range", "app", "", f":{name}")] = profile.Item(10, int(10 * typical), typical)
        total = sum(i.total_ns for i in items.values())
        items[profile.Key("process", "app", "", "app")] = profile.Item(1, total, float(total), cpu_ns=total)
        items[profile.Key("thread", "app", "", "main")] = profile.Item(1, total, cpu_ns=total)
        items[profile.Key("thread", "app", "", "other")] = profile.Item(1, total, cpu_ns=1000)
        found.append(profile.Profile(f"run-{number}", items, facts={"host": "a"}))
    return found


def planned_runs_find_the_change():
    rng = numpy.random.default_rng(2)
    first = compare.compare(runs_of(rng, 10), runs_of(rng, 10), compare.Options())
    planned = {f.key.name: n for f, n in sequential.plans(first, 0.05, 0.005)}
    tap.ok(set(planned) == {"app", ":solve", ":load", ":save"} and all(planned.values()), "runs are planned for what takes most of the time", planned)
    needed = sequential.runs_needed(0.03, 0.05, 0.005, first.tested)
    found = sum(any(f.key.name == ":solve" for f in compare.compare(runs_of(rng, needed), runs_of(rng, needed, 1.05), compare.Options()).of("worse")) for _ in range(40))
    tap.ok(34 <= found <= 40, f"a change of 5 % is found in {found} of 40 comparisons of the planned {needed} runs (plan: 36)")
    few = sum(any(f.key.name == ":solve" for f in compare.compare(runs_of(rng, needed // 3), runs_of(rng, needed // 3, 1.05), compare.Options()).of("worse")) for _ in range(40))
    tap.ok(few < 20, f"a third of the runs would not have been enough: {few} of 40", needed)
    tap.ok(sequential.runs_needed(0, 0.05, 0.005, 10) == statistics.least_runs(0.005) and sequential.runs_needed(10, 0.001, 0.005, 10) is None, "no noise needs the least number of runs, too much of it none")


def a_comparison_is_sure_when_it_has_the_planned_runs():
    rng = numpy.random.default_rng(3)
    quiet = compare.compare(runs_of(rng, 8, spread=0.001), runs_of(rng, 8, spread=0.001), compare.Options())
    loud = compare.compare(runs_of(rng, 8, spread=0.1), runs_of(rng, 8, spread=0.1), compare.Options())
    worse = compare.compare(runs_of(rng, 8, spread=0.001), runs_of(rng, 8, 1.1, 0.001), compare.Options())
    tap.ok(quiet.verdict == compare.OK and sequential.is_sure(quiet, 0.02, 0.005), "quiet runs: ok, and sure", quiet.reason)
    tap.ok(not sequential.is_sure(loud, 0.02, 0.005), "loud runs: not sure", loud.reason)
    tap.ok(worse.verdict == compare.WORSE and sequential.is_sure(worse, 0.02, 0.005), "worse: sure", worse.reason)
    base, more = (runs_of(rng, 5, spread=0.001) for _ in range(2))
    for item in (i for p in more for k, i in p.items.items() if k.name == ":load"):
        item.count = 20
    few = compare.compare(base, more, compare.Options(alpha=0.005 / 8))
    tap.ok(not sequential.is_sure(few, 0.02, 0.005) and not few.decidable, "5 runs, which show counts but no times at the alpha of a first look: not sure", few.reason)
    tap.ok(any(m.metric == functions.CPU and m.key.kind == "process" for m in sequential.main_metrics(quiet)), "of a process the processor time is planned, where it is known")


def commands_are_recorded_in_turn():
    folder = lib.folder()
    for name, cost in (("fast", 400000), ("slow", 480000)):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(f"{cost}\n")
    link = os.path.join(folder, "newer")
    os.symlink(PROGRAM, link)

    def diff(a, b, *more):
        return lib.run([lib.TRACE, "diff", "--run", a, "--run", b, "--trace-options", "-t nvtx", *more], env=lib.clean_env(LIBTRACE_PYTHON=sys.executable), cwd=folder)

    result = diff(f"{PROGRAM} fast count 1 1", f"{link} slow count 1 1", "-f", "text,json:out.json", "--keep", "kept")
    said = (result.out + result.err).decode()
    with open(os.path.join(folder, "out.json"), encoding="utf-8") as file:
        comparison = json.load(file)
    named = [f["name"] for f in comparison["findings"] if f["result"] == "worse"]
    tap.ok(result.status == 1 and "simulated:cost" in named and not any(f["presence"] for f in comparison["findings"]), "a slower command is worse, whatever the name of its program", said)
    tap.ok("program 'newer' is compared as 'simulated_cost'" in said and "looked at after 5" in said, "the text says so, and how often it was looked at", said)
    runs = [len(comparison[side]) for side in ("base", "other")]
    tap.ok(runs[0] == runs[1] and runs[0] in (8, 12), "it stops as soon as the verdict is sure", runs)
    order = sorted((os.stat(os.path.join(folder, "kept", n)).st_mtime_ns, n[0]) for n in os.listdir(os.path.join(folder, "kept")) if n.endswith(".rep"))
    tap.ok("".join(n for _, n in order) == "abba" * (runs[0] // 2), "the order is A B, B A, ...", order)
    result = lib.run([lib.TRACE, "diff", *["--run", f"{lib.app('numeric')} 0 1000 100"] * 2, "--runs", "5", "-f", "json"], env=lib.clean_env(LIBTRACE_PYTHON=sys.executable), cwd=folder)
    comparison = json.loads(result.out)
    metrics = {f["metric"] for f in comparison["findings"]}
    if {functions.CPU, samples.UNDISTURBED} <= metrics:
        tap.ok(all(comparison["functions"]["samples"]), "without --trace-options there are CPU samples", comparison["functions"])
    else:
        tap.skip("CPU samples without --trace-options", "the kernel shows no times of threads")
    result = diff("sh -c 'echo no input >&2; exit 3'", "true")
    tap.ok(result.status == 2 and b"run 1 of A" in result.err and b"failed (status 3): no input" in result.err and result.err.count(b"\n") == 1, "a command that fails is reported in one line", result.err)
    for words, what in ((["--run", "true"], b"expected --run twice"), (["--run", "true", "--run", "true", "--", "x.rep"], b"expected no FILE beside it"), (["--run", "'", "--run", "true"], b"not a list of shell words"),
                        (["--run", " ", "--run", "true"], b"the command is empty"), (["--run", "true", "--run", "true", "--runs", "3..9"], b"at least 5 runs")):
        result = lib.run([lib.TRACE, "diff", *words], env=lib.clean_env(LIBTRACE_PYTHON=sys.executable), cwd=folder)
        tap.ok(result.status == 2 and what in result.err and result.err.count(b"\n") == 1, f"one line: {what.decode()}", result.err)


def a_night_stops_when_it_is_sure():
    folder = lib.folder()

    def night(day, cost):
        with open(os.path.join(folder, "cost"), "w", encoding="ascii") as file:
            file.write(f"{cost}\n")
        result = lib.run([lib.TRACE, "nightly", "run", "--name=n", f"--folder={folder}/kept", "--host=a", "--runs=5..12", f"--now=2026-03-0{day}T03:00:00", "--trace-options=-t nvtx",
                          "--", PROGRAM, "cost", "count", "1", "1"], env=lib.clean_env(LIBTRACE_PYTHON=sys.executable), cwd=folder)
        store = sqlite3.connect(os.path.join(folder, "kept/nightly.sqlite"))
        runs = store.execute("SELECT count(*) FROM run WHERE night_id = (SELECT max(id) FROM night)").fetchone()[0]
        store.close()
        return result, runs

    first, runs = night(1, 400000)
    tap.ok(runs == 12 and first.status == 2, "the first night records all runs, for those after it", first.out + first.err)
    worse, runs = night(2, 600000)
    tap.ok(worse.status == 1 and runs < 12 and f"stopped after {runs} of at most 12 runs".encode() in worse.err, f"a night that is worse stops early, after {runs} runs", worse.out + worse.err)


if os.path.exists(PROGRAM):
    lib.main(the_chance_of_a_false_alarm_is_that_of_all_looks_together, planned_runs_find_the_change, a_comparison_is_sure_when_it_has_the_planned_runs, commands_are_recorded_in_turn,
             a_night_stops_when_it_is_sure)
else:
    tap.skip("sequential comparisons", "no headers of NVTX")
    tap.finish()
