#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Run a signal handler at each instruction of a traced call: it forks, switches stacks, does not return, or calls itself.

The trap flag stops the call after each of its instructions, so this test always finds what strays.py finds by chance.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import TORTURE, main, tap  # noqa: E402
from strays import CHAINS, facts, story, traced, verdict  # noqa: E402

FUNCTIONS = {"LIBTRACE_FUNCTIONS": "libfunctions.so:f_count"}
FUNCTION_CHAINS = {"LIBTRACE_FUNCTIONS_BACKTRACE_THRESHOLD": "0"}
BELOW = {"threshold": 1000000000}  # calls are only counted
RECORDED = {"threshold": 0, "LIBTRACE_OSRT_BACKTRACE_THRESHOLD": "none"}
STRIDE = 1 if TORTURE else 5  # trials of pairs of instructions, or of the slow path of a callchain


def runs(ways, calls=("pread", "sched_yield", "fcntl")):
    """Yield (way, report, name, calls made by the parent and by its children, trials) of each run."""
    for way in ways:
        for call in calls:
            for options in (RECORDED, BELOW):
                yield from run_one([way, call], options)


def run_one(argv, options):
    ran = traced(["stepped", *map(str, argv)], **options)
    if ran:
        report, text, name = ran
        (parent, child), (trials,) = facts(text)["call"], facts(text)["trials"]
        yield argv[0], argv[1], report, name, parent, child, trials


def forked(way, call, report, name, parent, child, trials):
    root = min(p["id"] for p in report.processes())
    held = [sum(c.all for (process, _, called), c in report.counts.items() if called == call and (process == root) == first) for first in (True, False)]
    dropped = report.dropped()
    tap.ok("could not be read" not in report.info()["verdict"], f"{name}: no lane is damaged", story(report, (parent, child), held))
    # After a raw fork, records that the child adds before it notices the fork are in its parent's lane.
    exact = held[0] == parent or (way == "bare" and held[0] > parent and verdict(report) != "complete")
    tap.ok(exact, f"{name}: the parent's calls are there once", story(report, parent, held[0]))
    # If the fork comes before the call begins, the child makes the call, too.
    tap.ok(child <= held[1] + dropped and held[1] <= child + trials, f"{name}: the children's calls are there once, or dropped", story(report, child, held[1]))


def forks():
    for ran in runs(("fork", "_Fork", "bare")):
        forked(*ran)
    for way in ("fork", "bare"):
        for ran in run_one([way, "pread", 0, STRIDE], CHAINS):
            forked(*ran)


def once(_, call, report, name, parent, child, __):
    held, dropped = report.total(call), report.dropped()
    tap.ok(child == 0 and held <= parent <= held + dropped, f"{name}: each call is there once or stated as missing", story(report, parent, held))
    tap.ok(dropped < 20 + parent / 10, f"{name}: hardly any is missing", story(report, parent, held))


def handlers():
    for ran in runs(("call", "switch")):
        once(*ran)
    for call in ("pread", "fcntl"):
        for ran in run_one(["calls", call, 0, STRIDE], RECORDED):
            once(*ran)
    for ran in run_one(["cross", "pread", 0, STRIDE], RECORDED):
        once(*ran)


def jumped(_, call, report, name, parent, __, trials):
    held = report.total(call)
    # In each trial one of two calls does not return; some of these have not begun.
    tap.ok(trials <= held <= parent, f"{name}: no call is there twice", story(report, parent, held))


def jumps():
    for ran in runs(("jump",)):
        jumped(*ran)


def of_library(_, call, report, name, parent, child, trials):
    root, held = min(p["id"] for p in report.processes()), [0, 0]
    for event in report.events("--kind", "function_call"):
        held[event["process"] != root] += event["function"] == call
    # If the fork comes before the call begins, the child makes the call, too. A call that was left is recorded if it had begun.
    tap.ok(held[0] + held[1] <= parent + child + trials, f"{name}: no call is there twice", story(report, (parent, child), held))
    tap.ok(held[0] >= parent - trials, f"{name}: the parent's calls are there", story(report, (parent, child), held))


def functions():
    """The call of a library's function, through the stub of LIBTRACE_FUNCTIONS."""
    for way, options in (("fork", {}), ("fork", FUNCTION_CHAINS), ("bare", {}), ("switch", {}), ("call", {}), ("jump", {})):
        for ran in run_one([way, "f_count", 0, STRIDE if options else 1], {**FUNCTIONS, **options}):
            of_library(*ran)


def stacks():
    """A call of one stack ends, and another begins there, at any instruction of a call on another stack that saves it."""
    for which, stride in (("first", 1), ("second", STRIDE)):
        for options in (RECORDED, BELOW):
            ran = traced(["stepped_stacks", which, "0", str(stride)], **options)
            if not ran:
                continue
            report, text, name = ran
            made, held, dropped = facts(text)["call"][0], report.total("pread"), report.dropped()
            tap.ok(held == made, f"{name}: each call is there once", story(report, made, held))
            tap.ok(dropped < 10 and (dropped == 0) == (verdict(report) == "complete"), f"{name}: complete if nothing may be missing", story(report, made, held))


if __name__ == "__main__":
    main(forks, handlers, jumps, functions, stacks)
