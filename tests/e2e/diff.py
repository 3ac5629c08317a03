#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 200
"""Check `trace diff`: it finds and names what changed between runs, and nothing else; it refuses runs that must not be compared.

Times are drawn from known distributions by fixed seeds, or only counts are compared, so the load of the machine does not matter.
"""
import contextlib
import fcntl
import io
import json
import math
import os
import pty
import re
import sqlite3
import struct
import subprocess
import sys
import termios
import threading
import xml.etree.ElementTree as xml

import _made_database
import lib
import lib_compare as made
from lib import tap

made.enter_interpreter("trace diff")
import trace_tools  # noqa: E402
from trace_tools import compare, convert, diff as trace_diff, fingerprint, formats, profile, progress, renames, terminal  # noqa: E402


def diff(base, other, *options, **environment):
    return made.command("diff", *options, *base, "--", *other, **environment)


def as_json(base, other, *options):
    """Compare within this process, since most of a command's time is the start of Python. Return (exit status, the JSON, what failed)."""
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            status = trace_diff.main([*(f"--base={b}" for b in base), *(f"--other={o}" for o in other), "--format=json", *options])
    except trace_tools.Failure as failure:
        return 2, None, str(failure)
    return status, json.loads(out.getvalue()), ""


def places(found, *results):
    return {(f["kind"], f["path"], f["name"], f["metric"]) for f in found["findings"] if f["result"] in results}


def finds_planted_changes():
    folder = lib.folder()
    base = made.runs(folder, "base", 10, 1)
    planted = {
        "a range that takes 3 % longer": (dict(solve_ns=51500), ("range", ":item", ":solve", "typical (ns)")),
        "one more lock per item": (dict(locks=2), ("wait", ":item/:store", "pthread_mutex_lock", "count")),
        "a kernel that takes 3 % longer": (dict(kernel_ns=9270), ("kernel", ":item/:compute", "void scale<float>(float*)", "typical (ns)")),
    }
    for number, (what, (change, place)) in enumerate(planted.items()):
        status, found, err = as_json(base, made.runs(folder, f"other{number}", 10, 2 + number, **change))
        tap.ok(status == 1 and found and place in places(found, "worse"), f"{what} is found", f"{status} {err} {found and sorted(places(found, 'worse'))}")
        tap.ok(found and {p[1:3] for p in places(found, "worse", "better") if p[0] == "range"} <= {place[1:3], ("", place[1]), (":item", ":store")},
               f"{what}: no other range is named", found and sorted(places(found, "worse", "better")))
    status, found, err = as_json(base, made.runs(folder, "same", 10, 9))
    tap.ok(status == 0 and found["verdict"] == "ok" and not places(found, "worse", "better", "changed"), "runs of the same program are equal", f"{status} {err}")
    faster = made.runs(folder, "faster", 10, 11, solve_ns=45000)
    status, found, err = as_json(base, faster)
    tap.ok(status == 0 and ("range", ":item", ":solve", "typical (ns)") in places(found, "better"), "a faster item is better, and not a failure", f"{status} {err}")
    ratio = next(f for f in found["findings"] if f["name"] == ":solve" and f["metric"] == "typical (ns)")
    tap.ok(ratio["interval"][0] <= 0.9 <= ratio["interval"][1], "the interval holds the true effect of 10 %", ratio)


def compares_databases_of_nsys():
    folder = lib.folder()
    base = made.runs(folder, "base", 10, 1, of_libtrace=False)
    status, found, err = as_json(base, made.runs(folder, "other", 10, 2, of_libtrace=False, solve_ns=53000))
    tap.ok(status == 1 and ("range", ":item", ":solve", "typical (ns)") in places(found, "worse"), "databases of nsys are compared", f"{status} {err}")
    status, found, err = as_json(base, made.runs(folder, "ours", 10, 3))
    tap.ok(status == 2 and "recorded by differs" in found["reason"], "runs of nsys and of this tracer are not compared with each other", f"{status} {err}")


def tells_new_vanished_and_renamed():
    folder = lib.folder()
    base = made.runs(folder, "base", 8, 1)
    status, found, err = as_json(base, made.runs(folder, "renamed", 8, 2, store="store results"))
    renamed = {(f["formerly"], f["path"], f["name"]) for f in found["findings"] if f["presence"] == "renamed"}
    tap.ok(status == 0 and (":item/:store", ":item", ":store results") in renamed, "a range with another name is the same one", f"{status} {err} {renamed}")
    tap.ok(not any(f["presence"] in ("new", "vanished") for f in found["findings"]), "items within a renamed range move along with it")
    status, found, err = as_json(base, made.runs(folder, "kernel", 8, 3, kernel="fused_attention_kernel", kernel_ns=90000))
    presence = {f["name"]: f["presence"] for f in found["findings"] if f["kind"] == "kernel"}
    tap.ok(presence == {"fused_attention_kernel": "new", "void scale<float>(float*)": "vanished"}, "a kernel that is another one is new, the old one vanished", presence)
    tap.ok(status == 1, "more work on the device is worse", f"{status} {err}")


def compares_captures_of_pytorch():
    """Check captures with 18,494 names that contain a number, which is different in the other run. The work is counted, not its time."""
    folder = lib.folder()
    base = made.runs(folder, "base", 1, 1, made.operators)
    other = made.runs(folder, "other", 1, 2, made.operators, first=1000000)
    _, found, err = as_json(base, other)
    names = {f["name"] for f in found["findings"] if f["kind"] == "range"}
    tap.ok(names == {":layer", ":aten::to, op_id = #", ":aten::add_, op_id = #", ":aten::linear, op_id = #"}, "numbers in thousands of names are merged", f"{sorted(names)[:9]} {err}")
    tap.ok("--no-merge-numbers" in found["notes"][0] and " 36989 names are 4" in found["notes"][0], "and that is said", found["notes"])
    compared = []
    usual = renames.Likeness.compute

    def counted(self, a, b):
        compared.append(len(a) * len(b))
        return usual(self, a, b)

    renames.Likeness.compute = counted
    try:
        _, found, err = as_json(base, other, "--no-merge-numbers")
    finally:
        renames.Likeness.compute = usual
    items = {(f["name"], f["presence"]) for f in found["findings"] if f["kind"] == "range" and f["name"] != ":layer"} if found else set()
    tap.ok(len(items) == 2 * 18494, "--no-merge-numbers: each name is an item", f"{len(items)} {err}")
    tap.ok(len(compared) <= 40 * renames.CROWD, f"{len(compared)} pairs of names are compared, of 342 million", len(compared))
    tap.ok(any("36988 items" in note and "not compared by name" in note for note in found["notes"]), "and how many items were left alone is said", found["notes"])
    few = made.runs(folder, "few", 1, 1, made.operators, names=100) + made.runs(folder, "few-other", 1, 2, made.operators, names=100)
    _, found, err = as_json(few[:1], few[1:])
    tap.ok(len(found["findings"]) > 100 and not found["notes"], "numbers in a hundred names are kept", f"{found['notes']} {err}")
    _, found, err = as_json(few[:1], few[1:], "--merge-numbers")
    tap.ok(len({f["name"] for f in found["findings"] if f["kind"] == "range"}) == 4, "unless --merge-numbers asks for it", f"{found['findings'][:3]} {err}")


def renamed_ranges_cost_what_is_in_them():
    """Check that the search for items that were renamed does not begin anew after each renamed range. The work is counted, not its time."""
    folder = lib.folder()
    base = made.runs(folder, "base", 1, 1, made.nested_operators)
    other = made.runs(folder, "other", 1, 1, made.nested_operators, first=5001)
    items = sum(len(profile.read(path, path).items) for path in base + other)
    looked_up = []
    usual = renames.median_of
    renames.median_of = lambda profiles, key, field: (looked_up.append(key), usual(profiles, key, field))[1]
    try:
        _, found, err = as_json(base, other, "--no-merge-numbers")
    finally:
        renames.median_of = usual
    renamed = {f["formerly"]: f["path"] + "/" + f["name"] for f in found["findings"] if f["presence"] == "renamed" and f["kind"] == "range"}
    tap.ok(len(renamed) >= renames.OUTER_RENAMES and renamed.get(":step 1") == "/:step 5001", f"{len(renamed)} ranges whose names have another number are renamed", f"{err} {sorted(renamed.items())[:9]}")
    tap.ok(len(looked_up) <= 6 * items, f"{len(looked_up)} counts and times of {items} items are looked up", len(looked_up))
    whole = {(f["path"], f["name"]) for f in found["findings"] if f["kind"] == "range"}
    tap.ok(all(f["path"] == "" or tuple(profile.split_path(f["path"])[::2]) in whole for f in found["findings"] if f["kind"] in ("range", "kernel")),
           "and what is inside a renamed range moved along")


def many_renamed_ranges_are_paired_in_order():
    """Check that names that differ only in numbers are paired by these where there are many, not compared each with each."""
    folder = lib.folder()
    base = made.runs(folder, "base", 1, 1, made.layered_operators)
    other = made.runs(folder, "other", 1, 1, made.layered_operators, first=123457)
    compared = []
    usual = renames.Likeness.compute
    renames.Likeness.compute = lambda self, a, b: (compared.append(a), usual(self, a, b))[1]
    try:
        _, found, err = as_json(base, other, "--no-merge-numbers")
    finally:
        renames.Likeness.compute = usual
    renamed = [(f["formerly"], f["path"] + "/" + f["name"]) for f in found["findings"] if f["presence"] == "renamed" and f["kind"] == "range"]
    number = lambda text: int(text.rsplit(" ", 1)[1])  # noqa: E731
    tap.ok(len(set(renamed)) >= 20 * 32 and all(number(new) == number(old) + 123456 for old, new in renamed),
           "each of 640 renamed ranges is the one with the number of its place", f"{len(set(renamed))} {[p for p in renamed if number(p[1]) != number(p[0]) + 123456][:5]} {err}")
    tap.ok(0 < len(compared) <= 6 * 20 * 32, f"{len(compared)} pairs of names are compared, of 41,000", len(compared))
    key = profile.Key("range", "app", "", ":x " + "9" * 5000)
    tap.ok(renames.numbers_of(key._replace(name=":x 10")) < renames.numbers_of(key), "a number of 5,000 digits has its place in the order")


def items_that_become_one_are_added():
    items = [profile.Item(2, 30, 15.0), profile.Item(1, 60, 60.0, lines={"a.py:1"})]
    one, two = (profile.Key("range", "app", "", name) for name in ("old", "new"))
    run = profile.Profile("run", {key: item for key, item in zip((one, two), items)})
    renames.Moves([run]).rename(one, two)
    tap.ok(run.items == {two: profile.Item(3, 90, 30.0, lines={"a.py:1"})}, "two items that are called the same are one with the counts of both", run.items)


def ranges_that_cross_are_beside_each_other():
    """Check ranges of one thread that begin in another and end after it, as profilers of JAX record Python beside TraceMe: no time is counted twice."""
    path = os.path.join(lib.folder(), "crossing.sqlite")
    d = _made_database.Made(path)
    d.row("PROCESSES", globalPid=_made_database.P1, pid=1000, name="python3")
    ranges = (("outer", 0, 1000), ("init", 100, 300), ("inner", 120, 280), ("step", 250, 900), ("forward", 260, 800))
    for text, start, end in ranges:
        d.row("NVTX_EVENTS", start=start, end=end, eventType=59, text=text, globalTid=_made_database.T1, domainId=0)
    d.finish()
    items = {(key.path, key.name): item.total_ns for key, item in profile.read(path, "run").items.items() if key.kind == "range"}
    wanted = {("", ":outer"): 200, (":outer", ":init"): 70, (":outer/:init", ":inner"): 160, (":outer", ":step"): 110, (":outer/:step", ":forward"): 540}
    tap.ok(items == wanted, "a range that ends after the one it begins in is not a part of it, and no time is negative", (items, wanted))


def reads_databases_of_old_versions():
    """Check databases of schema 2.9, which has no ENUM tables, its own numbers of waits, and a second row of calls with a callchain."""
    folder = lib.folder()

    def old(name, *statements):
        path = made.program(made.Run(1)).write(os.path.join(folder, name), of_libtrace=False)
        with contextlib.closing(sqlite3.connect(path)) as c, c:
            c.executescript("""
                CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, correlationId, globalPid, copyKind, bytes);
                CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, correlationId, globalPid, syncType);
                INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY SELECT start, end, 1, globalPid, 11, 10 FROM CUPTI_ACTIVITY_KIND_KERNEL;
                INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION SELECT start, end, 1, globalPid, 1 FROM CUPTI_ACTIVITY_KIND_KERNEL;""")
            for statement in statements:
                c.execute(statement)
        return path

    def names(path):
        return {(key.kind, key.path, key.name): item.count for key, item in profile.read(path, "old").items.items()}

    usual = old("usual.sqlite")
    found = names(usual)
    tap.ok({name for kind, _, name in found if kind in ("copy", "sync")} == {"[CUDA memcpy Unified Host-to-Device]", "[Context sync]"}, "copies and waits have labels", found)
    newer = old("newer.sqlite", "ALTER TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION ADD COLUMN deprecatedSyncType")
    tap.ok("[Event sync]" in {name for kind, _, name in names(newer) if kind == "sync"}, "and those of newer versions theirs", names(newer))
    for number, label in profile.COPY_KINDS.items():
        said = lib.trace("query", "-f", "csv", usual, f"SELECT enum_label('ENUM_CUDA_MEMCPY_OPER', {number})").out.split(b"\n")[1]
        tap.ok(said.strip(b'\r"') == label.encode(), f"copy kind {number} is called as in stats", said)
    twice = old("twice.sqlite", "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT start - 1, end + 1, 67, globalTid, correlationId, nameId, 0 FROM CUPTI_ACTIVITY_KIND_RUNTIME")
    tap.ok(names(twice) == found, "calls count once", names(twice))
    derived = old("derived.sqlite", *(f"ALTER TABLE CUPTI_ACTIVITY_KIND_{t} DROP COLUMN globalPid" for t in ("KERNEL", "MEMCPY", "SYNCHRONIZATION")))
    tap.ok(names(derived) == found, "the process of kernels is derived where there is one only", names(derived))
    several = old("several.sqlite", "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN globalPid",
                  "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT start, end, 0, globalTid + (1 << 24), correlationId, nameId, 0 FROM CUPTI_ACTIVITY_KIND_RUNTIME")
    _, _, err = as_json([usual], [several])
    tap.ok("CUPTI_ACTIVITY_KIND_KERNEL has no column globalPid" in err, "else the column is named", err)
    _, found, _ = as_json([usual], [twice])
    tap.ok(found["notes"] and not any("--osrt" in note for note in found["notes"]), "no option of ours is advised for recordings of nsys", found["notes"])


def gpus_are_busy_each_by_itself():
    """Two processes have overlapping kernels; the devices are those of their processes, of the GPUs that are known by UUID, by number, or not at all."""
    cases = (("not known", (0, 0), (), {"GPU 0": (2, 200)}), ("two UUIDs", (0, 0), ("aa", "bb"), {"GPU 0": (2, 200)}), ("one UUID", (0, 0), ("aa", "aa"), {"GPU 0": (1, 150)}),
             ("one UUID by two numbers", (0, 1), ("aa", "aa"), {"GPU 0": (1, 150)}), ("two numbers of nsys", (0, 0), (4, 5), {"GPU 0": (2, 200)}),
             ("one number of nsys", (0, 0), (4, 4), {"GPU 0": (1, 150)}), ("two devices", (0, 1), (4, 5), {"GPU 0": (1, 100), "GPU 1": (1, 100)}))
    for name, devices, gpus, wanted in cases:
        path = os.path.join(lib.folder(), "gpus.sqlite")
        d = _made_database.Made(path)
        d.db.execute("CREATE TABLE LIBTRACE_CUDA_DEVICE (globalTid INTEGER, deviceId INTEGER, uuidId INTEGER, coreClockRate INTEGER)")
        for i, (pid, device) in enumerate(zip((_made_database.P1, _made_database.P2), devices)):
            d.kernel(1000 + 50 * i, 1100 + 50 * i, pid, 1, "k", "k", device=device)
            if gpus and isinstance(gpus[i], str):
                d.row("LIBTRACE_CUDA_DEVICE", globalTid=pid + 7, deviceId=device, uuidId=d.text(gpus[i]))
            elif gpus:
                d.row("TARGET_INFO_CUDA_DEVICE", gpuId=gpus[i], cudaId=device, pid=pid >> 24 & 0xffffff)
        d.finish()
        found = {key.name: (item.count, item.total_ns) for key, item in profile.read(path, path).items.items() if key.kind == "device"}
        tap.ok(found == wanted, f"time in which GPUs are busy: {name}", found)


def long_names_have_a_budget():
    likeness = renames.Likeness(cells=10000)
    tap.ok(likeness("k<" + "a" * 50 + ">", "k<" + "a" * 49 + "b>") > 0.9 and not likeness.spent, "what two names begin and end with costs nothing")
    tap.ok(likeness("ab" * 40, "ba" * 40) > 0.9, "like names", likeness.known)
    tap.ok(likeness("abc" * 100, "cab" * 100) == 0 and likeness.spent, "names that are longer than the budget are not compared", likeness.cells)


def shows_progress_after_a_second():
    def lines(seconds, *texts):
        stream, progress.SECONDS = io.StringIO(), seconds
        with contextlib.redirect_stderr(stream), progress.Progress("diff") as p:
            for text in texts:
                p.say(text)
                while seconds < 1 and p.shown != text:
                    threading.Event().wait(0.001)
        return stream.getvalue().splitlines()

    usual, repeat, progress.REPEAT = progress.SECONDS, progress.REPEAT, 1 << 30
    tap.ok(usual == 1 and repeat == 10, "progress begins after a second, and is repeated after ten", (usual, repeat))
    tap.ok(lines(0.001, "reading", "comparing") == ["trace: diff: reading", "trace: diff: comparing"], "a line for each thing that takes longer than that")
    progress.REPEAT = 2
    stream, progress.SECONDS = io.StringIO(), 0.001
    with contextlib.redirect_stderr(stream), progress.Progress("diff") as p:
        p.say("reading")
        while stream.getvalue().count("\n") < 3:
            threading.Event().wait(0.001)
    said = stream.getvalue().splitlines()
    tap.ok(said[0] == "trace: diff: reading" and all(line.startswith("trace: diff: reading (for ") for line in said[1:]), "what takes long is said again, with its time", said)
    progress.REPEAT = repeat
    tap.ok(lines(1000, "reading", "comparing") == [], "and none for what does not")
    progress.SECONDS = usual


def says_what_cannot_be_known():
    folder = lib.folder()
    base, other = made.runs(folder, "base", 1, 1), made.runs(folder, "other", 1, 2, solve_ns=80000)
    result = made.command("diff", base[0], other[0])
    tap.ok(result.status == 2 and b"the variation between runs is unknown" in result.out and b":solve" in result.out, "with one run on each side (two files need no --) diff prints what differs, and that chance is not excluded", result.err)
    heading = next(line for line in result.out.decode().splitlines() if line.startswith("Result "))
    tap.ok("Change" in heading and not any(title in heading for title in ("Interval", "Noise", " p ")), "columns that nothing is known for are left out", heading)
    base, other = made.runs(folder, "b3", 3, 3), made.runs(folder, "o3", 3, 4, solve_ns=80000)
    status, found, _ = as_json(base, other)
    shown = diff(base, other).out.decode()
    rows = [line for line in shown.splitlines() if line.startswith("undecided")]
    hidden = re.search(r"^(\d+) metrics differ by less than could be seen with 3 runs a side; --all lists all$", shown, re.MULTILINE)
    differing = [f for f in found["findings"] if f["base"] != f["other"]]
    tap.ok(hidden and len(rows) + int(hidden[1]) == len(differing) and any(":solve" in row and "typical" in row for row in rows),
           "what stands out from the spread of three runs is printed, and the rest of the differences counted", shown)
    sides = [[profile.Profile("run", dict(items)) for items in side] for side in (
        [{profile.Key("range", "", "", name): profile.Item(1, 10**9, typical) for name, typical in run} for run in (
            [(":all", 1000.0 + n), (":some", 500.0)][: 1 + (n != last)] for n in range(3))] for last in (None, 2))]
    comparison = compare.compare(*sides, compare.Options())
    partial = [f for f in comparison.findings if f.key.name == ":some" and math.isnan(f.other)]
    told = formats.unseen(comparison)
    tap.ok(not comparison.decidable and partial and not any(f is p for p in partial for f in told + formats.chosen(comparison, False)[0])
           and any(f is p for p in partial for f in formats.chosen(comparison, True)[0]),
           "a time that only some runs of a side have is no difference that could not be seen; --all lists it", (partial, told))
    everything = diff(base, other, "--all").out.decode()
    tap.ok(len(everything.splitlines()) >= len(differing) and "copy_file" not in shown, "--all prints all of them", everything[:500])
    tap.ok(status == 2 and "record at least 6 runs a side" in found["reason"], "with three runs on each side no difference is distinguishable from chance", found["reason"])
    base, other = made.runs(folder, "b5", 5, 3), made.runs(folder, "o5", 5, 4, solve_ns=80000)
    status, found, _ = as_json(base, other, "--all")
    solve = [f for f in found["findings"] if f["name"].endswith("solve") and f["metric"].startswith("typical")]
    tap.ok(status == 2 and [(f["result"], f["why"]) for f in solve] == [("undecided", "too few runs")], "with five runs a change is not called equal", solve)
    shown = diff(base, other).out.decode()
    tap.ok("record at least 6 runs a side, better 10" in shown and "undecided" in shown and "solve" in shown, "it is printed, with the number of runs that is enough", shown[:1500])
    status, found, _ = as_json(made.runs(folder, "b6", 6, 3), made.runs(folder, "o6", 6, 4, solve_ns=80000))
    tap.ok(status == 1 and "solve" in str(places(found, "worse")), "with six runs it is decided", found["reason"])


def equal_means_that_a_change_would_have_been_found():
    """Check on known numbers that the change is that of the medians beside it, and that noise is not called equality."""
    import numpy
    from trace_tools import compare, formats, profile

    def judged(a, b, p, floor):
        f = compare.Finding(profile.Key("process", "app", "", "app"), compare.TYPICAL, float(numpy.median(a)), float(numpy.median(b)))
        compare.judge(f, numpy.array(a, float), numpy.array(b, float), p, floor, compare.Options(), numpy.random.default_rng(1))
        return f

    skewed, later = [100, 101, 102, 180, 190, 200], [150, 151, 205, 210, 220, 230]
    f = judged(skewed, later, 0.001, 0.01)
    tap.ok(f.ratio == f.other / f.base and formats.row(f)[7] == f"{100 * (f.other / f.base - 1):+.2f} %", "the change is that of the medians beside it", formats.row(f))
    for floor, result, why in ((0.05, "equal", ""), (0.5, "undecided", "too noisy: a change of less than 50 % would not have been found"),
                               (math.inf, "undecided", "too noisy: a change of any size would not have been found"), (math.nan, "undecided", "too few runs")):
        f = judged(skewed, skewed, 1.0, floor)
        tap.ok((f.result, f.why) == (result, why), f"without a difference, noise {floor}: {result}", (f.result, f.why))
    f = judged([100] * 6, [130] * 6, 0.001, 0.5)
    tap.ok((f.result, f.why) == ("undecided", "too noisy: a change of less than 50 % would not have been found"), "a difference below a large noise is not equality", (f.result, f.why))
    folder = lib.folder()
    found = as_json(made.runs(folder, "c3", 3, 3), made.runs(folder, "d3", 3, 4), "--all")[1]
    tap.ok({f["result"] for f in found["findings"]} == {"undecided"}, "with three runs a side nothing is equal, not even what does not vary", found["findings"][:3])
    shown = diff(made.runs(folder, "c6", 6, 3), made.runs(folder, "d6", 6, 4)).out.decode()
    line = next((line for line in shown.splitlines() if line.startswith("smaller changes than these")), "")
    parts = line.partition(": ")[2].split("; ")
    tap.ok(line and all(", typical: " in part and part.endswith(" %") for part in parts), "each change that can be detected has its metric", line or shown)


def on_a_terminal(columns, *arguments):
    """Return the lines that `trace diff` prints on a terminal of that width."""
    control, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    env = lib.clean_env(LIBTRACE_PYTHON=sys.executable, LIBTRACE_SPOOL_DIR=os.environ["LIBTRACE_SPOOL_DIR"])
    child = subprocess.Popen([lib.TRACE, "diff", *arguments], env=env, stdin=subprocess.DEVNULL, stdout=side, stderr=subprocess.DEVNULL)
    os.close(side)
    text = b""
    with contextlib.suppress(OSError):  # EIO: nobody has the other side any more
        while True:
            part = os.read(control, 65536)
            if not part:
                break
            text += part
    os.close(control)
    return child.wait(), text.decode().splitlines()


def fits_the_terminal():
    folder = lib.folder()
    base, other = made.runs(folder, "base", 10, 1), made.runs(folder, "other", 10, 2, solve_ns=51500, locks=2)
    whole = diff(base, other).out.decode().splitlines()
    tap.ok(max(map(len, whole)) > 150, "in a pipe, a line for each row", max(map(len, whole)))
    for columns in (200, 150, 100, 60, 35):
        status, lines = on_a_terminal(columns, *base, "--", *other)
        tap.ok(status == 1 and lines and max(map(len, lines)) <= columns, f"on a terminal of {columns} columns no line is wider", max(map(len, lines), default=0))
    heading, rows = ("Name", "Count"), [("void scale<float, 17>(float*, unsigned int) const", "3"), ("x" * 40, "1,000,000"), ("", "-")]
    for room in (30, 31, 45):
        lines, cells = terminal.table(heading, rows, {1}, room), []
        wide = lines[1].index(" ")
        for line in lines[2:]:
            if line[wide:].strip():
                cells.append(["", line[wide:].strip()])
            cells[-1][0] += line[:wide].replace(" ", "")
        tap.ok([tuple(cell) for cell in cells] == [(name.replace(" ", ""), count) for name, count in rows], f"cells fold at {room}, and nothing is cut", "\n".join(lines))
    lines = terminal.table(heading, rows, {1}, 24)
    tap.ok("".join(lines).replace(" ", "") == "".join("Name" + name + "Count" + count for name, count in rows).replace(" ", ""), "where no table fits, a line for each cell", "\n".join(lines))


def refuses_what_must_not_be_compared():
    folder = lib.folder()
    base = made.runs(folder, "base", 6, 1, options=["osrt_threshold=0"])
    for name, what in (("host", dict(host="there", options=["osrt_threshold=0"])), ("option osrt_threshold", dict(options=["osrt_threshold=1000"]))):
        other = made.runs(folder, name.replace(" ", "-"), 6, 2, **what)
        status, found, err = as_json(base, other)
        tap.ok(status == 2 and f"{name} differs" in found["reason"] and not found["findings"], f"runs with another {name} are refused", f"{status} {err}")
        status, found, err = as_json(base, other, "--force")
        tap.ok(status == 0 and found["findings"] and any(d["name"] == name for d in found["differences"]), "runs that differ are compared with --force, with a note", f"{status} {err}")
    failed = made.Run(5)
    failed.status = 3
    other = made.runs(folder, "other", 5, 2, options=["osrt_threshold=0"]) + [made.program(failed).write(os.path.join(folder, "failed.sqlite"))]
    status, found, err = as_json(base, other)
    tap.ok(status == 2 and "ended with status 3" in json.dumps(found["problems"]), "a run that failed is none to compare with", f"{status} {err}")
    with contextlib.closing(sqlite3.connect(other[-1])) as cut, cut:
        cut.execute("UPDATE LIBTRACE_PROCESS SET endHow = NULL, exitStatus = NULL")
    status, found, err = as_json(base, other)
    tap.ok(status == 2 and [p["text"] for p in found["problems"]] == ["app has no end record in the report"], "a run whose report is cut off is refused", f"{status} {found} {err}")


def build_ids_differ_where_both_are_known():
    def side(*build_ids):
        return [profile.Profile("x.rep", {}, set(), {"build-id libx.so": b} if b else {}, []) for b in build_ids]

    for base, other, told in ((("a", None), ("a", None), []), (("a", "b"), ("b", "a", None), []), ((None,), ("a",), []), (("a",), (None,), []), (("a", None), ("a",), []),
                              (("a",), ("b",), [("a", "b")]), (("a",), ("a", "b"), [("a", "a | b")]), (("a", None), ("b", None), [("a | not known", "b | not known")])):
        found = fingerprint.differences(side(*base), side(*other))
        tap.ok([(d.base, d.other) for d in found] == told and not any(d.refuses for d in found), f"build ids {base} and {other}: {'differ' if told else 'no difference'}", found)


def children_have_the_name_of_a_program():
    """Check the names of children that execute a program after vfork, and of children that execute nothing."""
    report = os.path.join(lib.folder(), "spawns.rep")
    text = "import subprocess\nfor i in range(3): subprocess.run(['/bin/true'])\nfor i in range(2):\n try: subprocess.run(['/none/such'])\n except OSError: pass"
    result = lib.trace("run", "-o", report, "--", sys.executable, "-c", text)
    database = report + ".sqlite"
    convert.export(report, database)
    found = {key.name: item.count for key, item in profile.read(database, "spawns").items.items() if key.kind == "process"}
    pythons = [count for name, count in found.items() if name.startswith("python")]
    tap.ok(not result.status and found.get("true") == 3 and pythons == [3] and "" not in found, "processes: a child has the name of the program that it becomes", (found, result))


def prints_five_formats():
    folder = lib.folder()
    base, other = made.runs(folder, "base", 8, 1), made.runs(folder, "other", 8, 2, solve_ns=60000, kernel="k<&|>\"'")
    files = {kind: os.path.join(folder, f"out.{kind}") for kind in ("json", "markdown", "junit", "html")}
    result = diff(base, other, *(f"--format={kind}:{file}" for kind, file in files.items()), "-f", "text")
    tap.ok(result.status == 1 and result.out.startswith(b"verdict: worse"), "several formats are written at once, text to standard output", result.err)
    texts = {}
    for kind, file in files.items():
        with open(file, encoding="utf-8") as opened:
            texts[kind] = opened.read()
    found = json.loads(texts["json"])
    tap.ok(found["verdict"] == "worse" and found["exit_status"] == 1 and len(found["base"]) == 8, "json: the output is an object with verdict and runs")
    suite = xml.fromstring(texts["junit"].split("\n", 1)[1]).find("testsuite")
    failures = [c.get("name") for c in suite.iter("testcase") if c.find("failure") is not None]
    tap.ok(":item/:solve: typical (ns)" in failures and len(failures) == int(suite.get("failures")) and len(list(suite)) == int(suite.get("tests")), "junit: each metric is a test case", failures)
    lines = [line for line in texts["markdown"].splitlines() if line.startswith("|")]
    bars = {line.replace("\\|", "").count("|") for line in lines}
    tap.ok(texts["markdown"].startswith("### trace diff: worse") and bars == {12}, "markdown: the output is a table", bars)
    tap.ok("<&amp;|&gt;" not in texts["html"] and "&lt;&amp;|&gt;" in texts["html"] and "<script" not in texts["html"], "html: names are text, never markup")
    result = diff(base, other, "-f", "text,json")
    tap.ok(result.status == 2 and b"only one format" in result.err, "two formats for one output are refused", result.err)


def one_line_for_each_error():
    folder = lib.folder()
    good = made.runs(folder, "good", 1, 1)
    garbage = os.path.join(folder, "garbage.sqlite")
    with open(garbage, "wb") as file:
        file.write(b"SQLite format 3\0" + bytes(range(256)) * 40)
    wrong = os.path.join(folder, "wrong.sqlite")
    subprocess.run(["cp", good[0], wrong], check=True)
    connection = sqlite3.connect(wrong)
    connection.execute("UPDATE OSRT_API SET start = 'soon' WHERE rowid = 3")
    connection.commit()
    connection.close()
    cases = [(["/none.rep"], "/none.rep"), ([garbage], "garbage.sqlite"), ([wrong], "wrong.sqlite"), ([os.path.join(lib.SRC, "Makefile")], "Makefile")]
    for other, name in cases:
        status, _, err = as_json(good, other)
        tap.ok(status == 2 and err.count("\n") == 0 and name in err, f"one line about {os.path.basename(name)}", err)
    result = diff(good, ["/none.rep"])
    tap.ok(result.status == 2 and result.err == b"trace: cannot open '/none.rep': No such file or directory\n" and not result.out, "messages go to standard error", result.err)
    for arguments in ((), ("--", good[0]), (good[0], "--"), (good[0],)):
        result = made.command("diff", *arguments)
        tap.ok(result.status == 2 and b"both sides" in result.err, f"diff {len(arguments)} arguments: both sides are wanted", result.err)
    bare = os.path.join(folder, "python3")
    with open(bare, "w", encoding="ascii") as file:
        file.write('#!/bin/sh\nexec /usr/bin/env python3 -S "$@"\n')
    os.chmod(bare, 0o755)
    for python, what in ((bare, b"does not have"), ("/none/python3", b"needs Python 3.10 or later")):
        result = lib.run([lib.TRACE, "diff", good[0], good[0]], env=lib.clean_env(LIBTRACE_PYTHON=python))
        tap.ok(result.status == 2 and what in result.err and b"scripts/setup --python" in result.err and result.err.count(b"\n") == 1, f"{what.decode()}: one line", result.err)


def finds_counts_in_reports():
    """Check real runs. Only their counts are compared, since these do not depend on the machine."""
    program = lib.app("regressed")
    if not os.path.exists(program):
        tap.skip("one more call per item is found in reports", "no headers of NVTX")
        return
    folder = lib.folder()
    reports = {}
    for what in ("none", "call", "lock"):
        for i in range(5):
            report = os.path.join(folder, f"{what}{i}.rep")
            result = lib.trace("run", "-t", "nvtx,osrt", "--osrt-threshold", "0", "--osrt-locks", "all", "-o", report, "--", program, what, "20")
            reports.setdefault(what, []).append(report)
            if result.status:
                tap.ok(False, "each run is recorded", result.err)
    for what, place in (("call", ("call", ":item/:store", "write", "count")), ("lock", ("wait", ":item/:store", "pthread_mutex_lock", "count"))):
        status, found, err = as_json(reports["none"], reports[what])
        tap.ok(status == 1 and place in places(found, "worse"), f"one more {what} per item is found in reports of five runs a side", f"{status} {err}")
        first = next((f for f in found["findings"] if f["result"] == "worse"), None)
        tap.ok(first and first["path"] == place[1] and first["exact"] and first["other"] == 2 * first["base"], "the planted change is listed first", first)


STATISTICS = """
import sys, numpy
from trace_tools import statistics as s
rng = numpy.random.default_rng(7)
s.PERMUTATIONS = 5000
alarms = found = floors = 0
for n in range(150):
    common = rng.lognormal(0, 0.1, (20, 1))
    values = common * rng.lognormal(0, 0.05, (20, 30)) * numpy.where(rng.random((20, 30)) < 0.05, 10, 1)
    alarms += (s.test_family(values[:10], values[10:], 0.05, rng).p <= 0.05).any()
    if n < 40:
        values = rng.lognormal(0, 0.01, (20, 30))
        values[10:, 4] *= 1.03
        found += s.test_family(values[:10], values[10:], 0.005, rng).p[4] <= 0.005
        low, high = s.interval(values[:10, 4], values[10:, 4], rng)
        floors += low <= 1.03 <= high
family = s.test_family(numpy.arange(5.)[:, None] * numpy.ones((1, 40)), numpy.arange(5., 10.)[:, None] * numpy.ones((1, 40)), 0.01, rng)
print(alarms, found, floors, round(float(family.p[0]), 4), s.test_family(numpy.ones((3, 1)), 2 * numpy.ones((3, 1)), 0.01, rng).reachable,
      all(s.test_family(numpy.ones((n, 1)), 2 * numpy.ones((n, 1)), a, rng).reachable == (s.least_runs(a) <= n) for a in (0.005, 0.05, 0.1) for n in (2, 3, 5, 6)),
      s.least_runs(1e-6))
"""


def holds_its_error_rate():
    """Check the error rates on data drawn by a fixed seed: false alarms in 150 families without a difference (alpha 0.05), how often a shift of 3 % is found,
    and how often the interval contains the true value.
    """
    result = lib.run([sys.executable, "-c", STATISTICS], env=lib.clean_env(PYTHONPATH=made.PACKAGES))
    words = result.out.split()
    tap.ok(result.status == 0 and len(words) == 7, "the statistics run on generated data", result.err)
    alarms, found, covered, p, reachable, agrees, never = words
    tap.ok(int(alarms) <= 14, "false findings among correlated, skewed metrics: at most 5 % of families and what chance adds (99 %)", alarms)
    tap.ok(int(found) >= 28, "a shift of 3 % over noise of 1 % is found in three of four families of 30 metrics", found)
    tap.ok(int(covered) >= 32, "the 95 % interval holds the true effect in most cases (medians of ten runs)", covered)
    tap.ok(float(p) == round(2 / 252, 4) and reachable == b"False", "exact p of sides that do not overlap; three runs a side cannot reach it", words)
    tap.ok(agrees == b"True" and never == b"None", "the least number of runs is the one from which a difference can be found", words)


lib.main(finds_planted_changes, compares_databases_of_nsys, tells_new_vanished_and_renamed, compares_captures_of_pytorch, renamed_ranges_cost_what_is_in_them, many_renamed_ranges_are_paired_in_order,
         items_that_become_one_are_added, ranges_that_cross_are_beside_each_other, reads_databases_of_old_versions, gpus_are_busy_each_by_itself, long_names_have_a_budget,
         shows_progress_after_a_second, fits_the_terminal, equal_means_that_a_change_would_have_been_found, says_what_cannot_be_known, refuses_what_must_not_be_compared, build_ids_differ_where_both_are_known,
         children_have_the_name_of_a_program, prints_five_formats, one_line_for_each_error, finds_counts_in_reports, holds_its_error_rate)
