#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check NVTX: how programs find the tracer, and which marks, ranges and names the report has.

Without the headers of NVTX (scripts/setup --cuda) the programs are not built, and their tests are skipped.
"""
import collections
import csv
import io
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import LIBRARY, Report, app, clean_env, folder, main, receipts_agree, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

KINDS = ("nvtx_mark", "nvtx_range", "nvtx_start_end", "nvtx_name")


class Traced:
    def __init__(self, argv, cwd=None, **options):
        self.folder, self.spool = folder(), spool_folder()
        env = traced_env(os.path.join(self.folder, "r.rep"), self.spool, **options)
        self.result = run(argv, env=env, cwd=cwd or self.folder)
        self.finished = wait_spool_gone(self.spool)
        self.report = Report(os.path.join(self.folder, "r.rep"))
        self.events = {kind: self.report.events("--kind", kind) for kind in KINDS} if self.report.exists() else None

    def texts(self, kind):
        return [e["text"] for e in self.events[kind]]


def traced(name, argv, status=0, **options):
    if not os.path.exists(argv[0]):
        tap.skip(name, "not built: no headers of NVTX")
        return None
    t = Traced(argv, **options)
    ok = t.finished and t.result.status == status and t.events is not None and not receipts_agree(t.report) and t.report.check().status == 0
    tap.ok(ok, f"{name}: runs as it should, and its report is sound",
           f"status {t.result.status}, hung {t.result.hung}\n{t.result.out.decode()}\n{t.result.err.decode()}\n"
           f"{t.report.exists() and (receipts_agree(t.report), t.report.check().out)}")
    return t if t.events is not None else None


def same(name, got, wanted):
    tap.ok(got == wanted, name, f"wanted {wanted}\n   got {got}")


def calls_from_c():
    t = traced("nvtx_calls", [app("nvtx_calls")])
    if not t:
        return
    marks, ranges = t.events["nvtx_mark"], t.events["nvtx_range"]
    same("texts of marks: empty ones, invalid UTF-8, wide characters", t.texts("nvtx_mark"),
         ["payload"] * 6 + ["plain", "registered", "x" * 1999, "", "not \udcff UTF-8", "wide \u20ac \U0001f600", ""])
    same("every kind of payload", [(e["payload_type"], e["payload"]) for e in marks[:6]],
         [("uint64", 1 << 63), ("int64", -5000000000), ("double", -0.1), ("uint32", 4000000000), ("int32", -7), ("float", 1.5)])
    same("an event without a payload has none", (marks[6]["payload_type"], marks[6]["payload"]), ("none", None))
    same("an event has its category and color", (marks[6]["category"], marks[6]["color"]), (9, "0xff00aa55"))
    same("domains", {e["domain"] for e in marks[:8]} | {"|"} | {e["domain"] for e in marks[8:]}, {"test domain", "|", ""})
    same("a registered string says so", [i for i, e in enumerate(marks) if "registered" in e["flags"]], [7])
    same("ranges of push and pop", [(e["domain"], e["text"], e["level"], e["flags"]) for e in ranges],
         [("", "outer", 0, []), ("", "middle", 1, []), ("test domain", "inner", 0, []), ("", "of another thread", 0, []),
          ("", "open at the thread's end", 0, ["unfinished"]), ("", "never popped", 0, ["unfinished"])])
    outer, middle, inner = ranges[:3]
    tap.ok(outer["start_ns"] <= middle["start_ns"] <= inner["start_ns"] and
           middle["start_ns"] + middle["duration_ns"] <= outer["start_ns"] + outer["duration_ns"], "nested ranges lie within each other", ranges[:3])
    spans = t.events["nvtx_start_end"]
    same("ranges of start and end", [(e["domain"], e["text"], e["tid"] == e["start_tid"], e["flags"]) for e in spans],
         [("", "started", False, []), ("test domain", "same thread", True, []), ("", "never ended", True, ["unfinished"])])
    tap.ok(len({e["range_id"] for e in spans}) == 3, "start/end ranges have different ids", spans)
    same("names", [(e["what"], e["domain"], e["name"]) for e in t.events["nvtx_name"]],
         [("domain", "test domain", "test domain"), ("resource", "test domain", "a resource"), ("resource destroyed", "", ""),
          ("category", "test domain", "nine"), ("category", "", "three"), ("thread", "", "the main thread"), ("domain destroyed", "test domain", "")])


def calls_from_cxx():
    t = traced("nvtx_cxx", [app("nvtx_cxx")])
    if t:
        same("C++: ranges, also one left by an exception", [(e["domain"], e["text"], e["level"], e["color"], e["payload"]) for e in t.events["nvtx_range"]],
             [("", "C++ outer", 0, "0x0", None), ("C++ domain", "left by an exception", 0, "0xffff0001", 42)])
        same("C++: a registered string", [(e["domain"], e["text"], e["flags"]) for e in t.events["nvtx_mark"]], [("C++ domain", "registered in C++", ["registered"])])
        same("C++: a unique range is recorded", t.texts("nvtx_start_end"), ["C++ unique"])


def found_early_and_late():
    for name, library in (("absolute path", LIBRARY), ("relative path", os.path.relpath(LIBRARY, "/"))):
        t = traced(f"nvtx_early, {name}", [app("nvtx_early")], cwd="/", preload=(library,))
        if t:
            same(f"{name}: from a constructor, after clearenv() and chdir(), in each object", (t.texts("nvtx_mark"), t.texts("nvtx_range")),
                 (["from a constructor", "after clearenv and chdir"], ["from a library"]))


def open_ranges_are_closed():
    for how, status in (("return", 0), ("_exit", 0), ("exec", 0), ("kill", -9), ("abort", -6)):
        t = traced(f"nvtx_open {how}", [app("nvtx_open"), how], status=status)
        if not t:
            continue
        found = sorted((e["text"], e["level"] if "level" in e else e["range_id"] > 0, e["category"])
                       for kind in KINDS[1:3] for e in t.events[kind] if "unfinished" in e["flags"])
        same(f"{how}: open ranges are recorded as unfinished", found,
             [("outer and open", 0, 0), ("registered and open", 1, 5), ("started by another thread", True, 0)])
        closed = [e["text"] for kind in KINDS[1:3] for e in t.events[kind] if not e["flags"]]
        same(f"{how}: closed ranges are recorded once", (closed.count("closed"), closed.count("ended")), (1000, 1000))


def forked_child():
    t = traced("nvtx_fork", [app("nvtx_fork")])
    if t:
        same("each process has its own ranges", [(e["domain"], e["text"]) for e in t.events["nvtx_range"]], [("forked domain", "made before the fork")] * 2)
        same("in different processes", len({e["process"] for e in t.events["nvtx_range"]}), 2)
        same("a child has names made before the fork", [(e["domain"], e["text"]) for e in t.events["nvtx_mark"]], [("forked domain", "made before the fork")])
        same("a range that the parent started is ended by the parent alone", [e["flags"] for e in t.events["nvtx_start_end"]], [["registered"]])


def sources_are_chosen():
    for sources, nvtx, osrt in (("none", None, None), ("osrt", False, True), ("nvtx", True, False), ("osrt,nvtx", True, True), (None, True, True)):
        if not os.path.exists(app("nvtx_open")):
            tap.skip(f"LIBTRACE_TRACE={sources}", "not built: no headers of NVTX")
            continue
        t = Traced([app("nvtx_open")], LIBTRACE_TRACE=sources)
        found = t.events and any(t.events.values())
        calls = t.events and bool(t.report.events("--kind", "osrt_call") + t.report.events("--kind", "osrt_summary"))
        tap.ok((found, calls) == (nvtx, osrt) and t.result.status == 0, f"LIBTRACE_TRACE={sources}", f"status {t.result.status}, NVTX {found}, calls {calls}")
    if os.path.exists(app("nvtx_open")):
        where, spool = folder(), spool_folder()
        result = trace("run", "-t", "nvtx", "-o", os.path.join(where, "r"), "--", app("nvtx_open"), env=clean_env(LIBTRACE_SPOOL_DIR=spool))
        report = Report(os.path.join(where, "r.rep"))
        tap.ok(result.status == 0 and len(report.events("--kind", "nvtx_range")) == 1002 and not report.events("--kind", "osrt_call"), "trace run -t nvtx records NVTX and no calls", result.err)


def rows(report, name):
    """Return the rows of a report of `trace stats`, as dictionaries."""
    result = trace("stats", "-r", name, "-f", "csv", report.path)
    if result.status:
        raise RuntimeError(f"trace stats: {result.status} {result.err!r}")
    return list(csv.DictReader(io.StringIO(result.out.decode())))


def expected_sum(events):
    """Return the sums by nsys's formulas: for each name, over the ranges that were ended."""
    groups = collections.defaultdict(list)
    for e in events:
        if "unfinished" not in e["flags"]:
            groups[f"{e['domain']}:{e['text']}"].append(e["duration_ns"])
    whole = sum(map(sum, groups.values()))
    return sorted([f"{100 * sum(v) / whole:.1f}", str(sum(v)), str(len(v)), f"{statistics.mean(v):.1f}", f"{statistics.median(v):.1f}", str(min(v)), str(max(v)),
                   f"{statistics.stdev(v) if len(v) > 1 else 0:.1f}", name] for name, v in groups.items())


def parents_of(events):
    """Return {(tid, start, end): how many ranges of the thread contain this one}."""
    done = [(e["tid"], e["start_ns"], e["start_ns"] + e["duration_ns"]) for e in events if "unfinished" not in e["flags"]]
    return collections.Counter({r: sum(o != r and o[0] == r[0] and o[1] <= r[1] and o[2] >= r[2] for o in done) for r in done})


def statistics_agree():
    for program in ("nvtx_open", "nvtx_calls"):
        t = traced(f"{program} for statistics", [app(program)])
        if not t:
            return
        for name, kind in (("nvtx_pushpop_sum", "nvtx_range"), ("nvtx_startend_sum", "nvtx_start_end")):
            found = rows(t.report, name)
            same(f"{program}: {name}", sorted(list(row.values()) for row in found), expected_sum(t.events[kind]))
            totals = [int(row["Total Time (ns)"]) for row in found]
            tap.ok(totals == sorted(totals, reverse=True), f"{program}: {name} is in the order of the totals", totals)
        both = rows(t.report, "nvtx_sum")
        same(f"{program}: nvtx_sum has both styles", sorted((r["Style"], r["Range"], r["Instances"]) for r in both),
             sorted([("PushPop", r[-1], r[2]) for r in expected_sum(t.events["nvtx_range"])] + [("StartEnd", r[-1], r[2]) for r in expected_sum(t.events["nvtx_start_end"])]))
        found, ids = rows(t.report, "nvtx_pushpop_trace"), {}
        same(f"{program}: nvtx_pushpop_trace has every range, at its depth",
             sorted((int(r["TID"]), int(r["Start (ns)"]), int(r["End (ns)"]), int(r["Lvl"])) for r in found),
             sorted((*key, depth) for key, depth in parents_of(t.events["nvtx_range"]).items()))
        ids = {r["RangeId"]: r for r in found}
        wrong = [r for r in found if r["RangeStack"] != (ids[r["ParentId"]]["RangeStack"] if r["ParentId"] else "") + ":" + r["RangeId"]
                 or r["NameTree"] != "--" * int(r["Lvl"]) + r["Name"] or int(r["Duration (ns)"]) != int(r["DurChild (ns)"]) + int(r["DurNonChild (ns)"])
                 or int(r["DurChild (ns)"]) != sum(int(c["Duration (ns)"]) for c in found if c["ParentId"] == r["RangeId"])
                 or int(r["NumChild"]) != sum(c["ParentId"] == r["RangeId"] for c in found)]
        tap.ok(not wrong, f"{program}: its columns agree with each other", wrong[:3])
    empty = Traced([app("nvtx_open")], LIBTRACE_TRACE="osrt")
    result = trace("stats", "-r", "nvtx_sum", empty.report.path)
    tap.ok(b"SKIPPED:" in result.out and b"NV Tools Extension (NVTX) data" in result.out, "a report without NVTX is skipped, as nsys says it", result.out)


def long_texts(*arguments, status=0):
    """Check texts that are too long for a record: they are whole up to a limit; longer ones are cut and flagged, wherever they occur."""
    name = " ".join(("nvtx_long", *arguments))
    t = traced(name, [app("nvtx_long"), *arguments], status=status)
    if not t:
        return
    limit, euro = 65000, "\u20ac"
    shown = {kind: [(e["text"], e["flags"]) for e in t.events[kind]] for kind in KINDS[:3]}
    same(f"{name}: marks", shown["nvtx_mark"],
         [("a" * 928, []), ("b" * 929, []), ("c" * 5000, []), ("c" * 5000, []), ("d" * limit, []), ("e" * limit, ["text_cut"]), (euro * 3000, []), (euro * (limit // 3), ["text_cut"]),
          ("r" * 5000, ["registered"]), ("c" * 5000, []), ("f" * 5000, ["registered"]), ("u" * 2000, ["registered"])])
    far = [e for e in t.events["nvtx_mark"] if e["domain"]]
    same(f"{name}: domains", [e["domain"] for e in far], ["D" * 5000, euro * 1000])
    same(f"{name}: texts that payloads refer to", far[0]["payload"], {"message": "f" * 5000, "other": euro * 3000})
    same(f"{name}: a layout's name", [e["name"] for e in t.report.events("--kind", "nvtx_schema")], ["n" * 2000, ""])
    same(f"{name}: ranges", sorted(shown["nvtx_range"]), [("c" * 5000, []), ("o" * 5000, ["unfinished"]), ("p" * limit, ["text_cut"])])
    same(f"{name}: ranges of start and end", sorted(shown["nvtx_start_end"]), [("c" * 5000, []), ("s" * 5000, []), ("t" * 5000, ["unfinished"])])


def very_long_texts():
    long_texts()
    long_texts("kill", status=-9)
    t = traced("many long texts", [app("nvtx_long"), "many"])
    if not t:
        return
    marks = [e for e in t.events["nvtx_mark"] if e["text"].startswith("number ")]
    whole = [e for e in marks if len(e["text"]) == 20000]
    cut = [e for e in marks if len(e["text"]) == 928]
    tap.ok(len(marks) == 1000 and len(whole) + len(cut) == 1000 and all(not e["flags"] for e in whole) and all(e["flags"] == ["text_cut"] for e in cut) and len(whole) > 300,
           "long texts beyond the memory limit are cut and flagged", (len(marks), len(whole), len(cut)))
    same("many long texts: each is itself", sorted(int(e["text"][7:13]) for e in marks), list(range(1000)))
    same("many long texts: registered strings still have names", [e["text"] for e in t.events["nvtx_mark"] if "registered" in e["flags"]][3:], ["registered at the end"])


def notes_of(report):
    return [line for line in trace("info", report.path).out.decode().splitlines() if "names another tool" in line]


def another_tool():
    if not os.path.exists(app("nvtx_chained")):
        tap.skip("another tool", "not built: no headers of NVTX")
        return
    tool = app("libnvtx_tool.so")
    for mode, note in (("", "NVTX calls are passed on to it"), ("refuse", "it refused to start"), ("part", "it handles only a part of NVTX"), ("differ", "NVTX calls are passed on to it")):
        alone = run([app("nvtx_chained")], env=clean_env(NVTX_INJECTION64_PATH=tool, NVTX_TOOL=mode))
        t = traced(f"another tool {mode}", [app("nvtx_chained")], NVTX_INJECTION64_PATH=tool, NVTX_TOOL=mode)
        if not t:
            return
        notes = notes_of(t.report)
        tap.ok(len(notes) == 1 + (mode == "differ") and note in notes[0] and ("different functions for different objects" in notes[-1]) == (mode == "differ"),
               f"another tool {mode}: the report says what became of it", notes)
        if mode != "refuse":
            same(f"another tool {mode}: it receives the same calls, and returns the same results, as alone", t.result.out, alone.out)
        found = [(e["domain"], e["text"]) for kind in KINDS[:3] for e in t.events[kind]]
        same(f"another tool {mode}: what is recorded", found, [] if mode == "part" else
             [("", "from a constructor"), *([("", "plain")] if mode != "differ" else []), ("chained", "a registered one"), ("chained", "a registered one"), ("", "outer"), ("chained", "a registered one"), ("", "started"), ("", "open")])
        if mode == "part":
            continue
        same(f"another tool {mode}: levels, and the range that is open", ([e["level"] for e in t.events["nvtx_range"]], [e["flags"] for e in t.events["nvtx_start_end"]]),
             ([0, 0], [[], ["unfinished"]]))
        same(f"another tool {mode}: a payload that has one of its handles", [e["payload"] for e in t.events["nvtx_mark"] if e["payload"]],
             [{"message": "a registered one", "number": 5}])
    t = traced("another tool that is not there", [app("nvtx_open")], NVTX_INJECTION64_PATH="/nonexistent/other-tool.so")
    if t:
        notes = notes_of(t.report)
        tap.ok(len(t.events["nvtx_range"]) == 1002 and len(notes) == 1 and "cannot load it" in notes[0], "a tool that is not there: NVTX is recorded, and the report says so", notes)
    link = os.path.join(folder(), "other-name.so")
    os.symlink(LIBRARY, link)
    for name, path in (("by its name", LIBRARY), ("by another name", link)):
        t = traced(f"named by the user {name}", [app("nvtx_open")], NVTX_INJECTION64_PATH=path)
        if t:
            tap.ok(len(t.events["nvtx_range"]) == 1002 and not notes_of(t.report), f"this library {name} is no other tool", len(t.events["nvtx_range"]))


main(calls_from_c, calls_from_cxx, found_early_and_late, open_ranges_are_closed, forked_child, sources_are_chosen, statistics_agree, very_long_texts, another_tool)
