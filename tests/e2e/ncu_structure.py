#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check reports of Nsight Compute whose structure leaves a choice to readers: metrics stored twice, numbers of all sizes, several launches in a column.

This test generates every report, so nothing of NVIDIA's is needed. The expected answers are those of ncu 2024.1.1 and of the module ncu-report 2026.3.1 for the same
reports; tests/peers/ncu_differential.py compares with both where they are installed.
"""
import csv
import io
import json
import os
import sqlite3
import struct
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), "../peers")]
from lib import PRODUCTS, fixtures, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402
from lib_ncu_mutate import Report as Mutated  # noqa: E402
from libncu import launch, section, write  # noqa: E402
from libwire import put_bytes as data, put_number as number_, put_real as real  # noqa: E402

SRC = os.environ.get("SRC") or os.getcwd()
PLACE = folder()
RATE = "sm__cycles_elapsed.avg.per_second"
SECTION = section("Some", "Some Section", [("gpu__time_duration.sum", "Duration"), (RATE, "SM Frequency")])


def made(name, *metrics, code=None, **more):
    """Write a report with a launch for each dict, or list of pairs, of metrics; return its path."""
    path, names = os.path.join(PLACE, name + ".ncu-rep"), []
    write(path, names, [launch(names, of, **{"kernel": f"kernel{i}", "sections": [SECTION], **more}) for i, of in enumerate(metrics)], code=code)
    return path


def same(found, wanted, name):
    tap.ok(found == wanted, name, f"found  {found!r}\nwanted {wanted!r}")


def printed(*arguments):
    done = trace(*arguments)
    if done.status:
        raise RuntimeError(f"trace {arguments}: {done.status} {done.err!r}")
    return done.out.decode()


def raw_csv(path, *options):
    """Return the raw page as {column: [unit, value of each launch]}."""
    rows = list(csv.reader(io.StringIO(printed("details", "--page", "raw", "--csv", *options, path))))
    return {name: [row[i] for row in rows[1:]] for i, name in enumerate(rows[0])}


def raw_text(path):
    """Return the raw page as {metric: (unit, value)} of each launch."""
    found = []
    for line in printed("details", "--page", "raw", path).splitlines():
        words = line.split()
        if line.startswith("  kernel"):
            found.append({})
        elif words and "__" in words[0]:
            value = " ".join(words[-2:]) if "(!)" in words else words[-1]
            unit = words[1] if len(words) > 2 and words[1] != "(!)" else ""
            found[-1][words[0]] = (unit, value)
    return found


def python(path, program, **more):
    """Run a Python program in which `a` is the first result of the report; return what it prints, parsed as JSON."""
    env = dict(os.environ, **more, PYTHONPATH=os.path.join(SRC, "reader/python"), LIBTRACE_READER=os.path.join(PRODUCTS, "lib/libtrace/libtrace-reader.so"))
    done = run([sys.executable, "-c", "import json, sys, ncu_report\na = ncu_report.load_report(sys.argv[1])[0][0]\n" + program, path], env=env)
    if done.status:
        raise RuntimeError(done.err.decode())
    return json.loads(done.out)


def doubled_metrics():
    """Check a metric that a result has twice: the last one counts, with its instances or without."""
    path = made("doubled", [("gpu__time_duration.sum", 143390.0), (RATE, 5e8), ("inst_executed", (7, {1: 3, 2: 4})), ("gpu__time_duration.sum", 145120.0),
                            ("inst_executed", 9)])
    same(raw_csv(path)["gpu__time_duration.sum"], ["usecond", "145.120000"], "a metric stored twice: the last one, on the raw page as CSV")
    same(raw_text(path)[0]["gpu__time_duration.sum"], ("usecond", "145.12"), "as text")
    tap.ok("145.12" in printed("details", path) and "143.39" not in printed("details", path), "on the details page")
    answers = python(path, "m = a['inst_executed']\nprint(json.dumps([a['gpu__time_duration.sum'].value(), m.value(), m.num_instances(), len(a), len(list(a))]))")
    same(answers, [145120.0, 9, 0, 3, 3], "in Python")
    to = os.path.join(PLACE, "doubled.sqlite")
    printed("export", "-t", "sqlite", "-f", "true", "-o", to, path)
    found = sqlite3.connect(to).execute("SELECT s.value, m.value FROM LIBTRACE_NCU_METRIC AS m JOIN StringIds AS s ON s.id = m.nameId ORDER BY 1").fetchall()
    same(found, [("gpu__time_duration.sum", 145120.0), ("inst_executed", 9), (RATE, 5e8)], "in SQLite, one row each")
    rows = {row["Metric"]: row["Sum"] for row in json.loads(printed("stats", "-f", "json", "-r", "ncu_metric_sum", path))}
    same(rows["gpu__time_duration.sum"], 145120.0, "in statistics")


def instances_alone():
    """Check a metric that has only instances: its value is 0 if they are numbers, as NVIDIA's module says."""
    path, to = made("alone", {"memory_type": (None, {16: 4}), "rate.pct": (None, {16: 2.5}), "name": (None, {16: "a"}), "none": None}), os.path.join(PLACE, "alone.sqlite")
    printed("export", "-t", "sqlite", "-f", "true", "-o", to, path)
    found = sqlite3.connect(to).execute("SELECT s.value, m.value, typeof(m.value) FROM LIBTRACE_NCU_METRIC AS m JOIN StringIds AS s ON s.id = m.nameId ORDER BY m.id").fetchall()
    same(found, [("memory_type", 0, "integer"), ("rate.pct", 0, "real"), ("name", None, "null"), ("none", None, "null")], "a metric that has instances only, in SQLite")
    same(python(path, "print(json.dumps([a[name].value() for name in ('memory_type', 'rate.pct', 'name', 'none')]))"), [0, 0.0, None, None], "in Python")


def scaled_values():
    """Check that numbers are scaled by their size, except negative ones and NaN."""
    wanted = [(975e6, "cycle/usecond", "975"), (999.0, "cycle/second", "999"), (1e3, "cycle/msecond", "1"), (1.5e9, "cycle/nsecond", "1.50"),
              (-2e9, "cycle/second", "-2000000000"), (0.0, "cycle/second", "0"), (-0.0, "cycle/second", "0"),
              (float("nan"), "cycle/second", "(!) nan"), (float("inf"), "cycle/nsecond", "(!) inf"), (-float("inf"), "cycle/second", "(!) inf")]
    text = raw_text(made("scaled", *({RATE: of[0]} for of in wanted)))
    same([of[RATE] for of in text], [of[1:] for of in wanted], "rates of all sizes")
    sizes = raw_text(made("sizes", {"dram__bytes.sum": 2.5e15, "gpu__time_duration.sum.per_second": 5e6, "dram__bytes.sum.peak_sustained": 4e3}))[0]
    same(sizes, {"dram__bytes.sum": ("Pbyte", "2.50"), "gpu__time_duration.sum.per_second": ("msecond/second", "5"),
                     "dram__bytes.sum.peak_sustained": ("Kbyte/cycle", "4")}, "prefixes")


def column_units():
    """Check that the unit of a column fits the greatest value of all launches."""
    for values, unit in (((5.0, 5e3, 5e6), "usecond"), ((5e6, 5.0), "usecond"), ((0.0, 5e3, float("nan")), "msecond"), ((-5e9, 5.0), "second"), ((0.0, 0.0), "second")):
        found = raw_csv(made("column", *({RATE: of} for of in values)))[RATE]
        by = {"second": 1, "msecond": 1e3, "usecond": 1e6}[unit]
        same(found, [f"cycle/{unit}"] + ["nan" if of != of else f"{of / by:.6f}" for of in values], f"a column of {values}")


UNITS = {
    "lts__average_gcomp_input_sector_success_rate.pct": "%", "launch__occupancy_cluster_gpu_pct": "%", "launch__occupancy_cluster_pct": "%",
    "nvlrx__bytes.sum.per_second": "byte/second", "smsp__threads_launched.sum": "thread", "pmsampling:sm__ctas_launched.sum": "block",
    "profiler__pmsampler_interval_time": "nsecond", "derived__sm__sass_thread_inst_executed_op_hfma_pred_on_x4": "thread",
    "derived__pct_occupancy_per_barrier_count": "", "derived__lts__lts2xbar_bytes.sum.per_second": "byte", "memory_l2_sectors_global": "byte",
    "sm__ops_path_tensor_src_fp16.sum.per_cycle_elapsed": "", "smsp__average_inst_executed_per_warp.ratio": "inst/warp",
    "sm__cycles_active.avg.per_cycle_elapsed": "", "sm__warps_launched.sum.per_cycle_elapsed": "warp/cycle", "sm__warps_active.avg.per_cycle_active": "warp",
    "sm__ctas_active.avg.per_cycle_active": "block", "l1tex__t_set_conflicts.sum": "cycle", "smsp__issue_active.sum": "cycle",
}


def units():
    found = raw_csv(made("units", {name: 0.0 for name in UNITS}))
    same({name: found[name][0] for name in UNITS}, UNITS, "units of metrics by their names")


def rules_in_python():
    """Check that each item has an answer, with NVIDIA's keys and numbers, also one without a message."""
    message = lambda text, kind, number, title: data(1, data(1, text) + number_(2, kind) + number_(3, number) + data(4, title))  # noqa: E731
    focus = data(8, number_(1, 1) + data(2, "sm__cycles.sum") + real(3, 2.5) + number_(4, 2) + data(5, "less"))
    items = [message("first", 4, 1, "One") + focus + data(10, number_(1, 2) + real(2, 12.5)), message("second", 2, 2, ""), message("third", 1, 3, "Three"), b""]
    rule = data(1, "Rule") + data(2, "The Rule") + data(3, b"".join(data(1, item) for item in items)) + data(4, "Some")
    marker = data(5, number_(1, 0) + number_(3, 4096) + data(4, "here") + number_(5, 2)) + data(5, number_(1, 1) + number_(2, 7) + data(4, "there") + data(6, "a.cu"))
    silent = data(1, "Silent") + data(2, "Says Nothing") + data(3, b"")
    path = made("rules", {"gpu__time_duration.sum": 1.0}, rules=[rule + marker, silent])
    found = python(path, "print(json.dumps([a.rule_results_as_dicts(), a.source_markers(), [str(r) for r in a.rule_results()], len(a.sections()[0].rules())]))")
    of = {"rule_identifier": "Rule", "name": "The Rule", "section_identifier": "Some"}
    same(found[0], [{**of, "rule_message": {"title": "One", "message": "first", "type": 2},
                     "focus_metrics": [{"name": "sm__cycles.sum", "value": 2.5, "severity": 2, "info": "less"}], "speedup_estimation": {"type": 2, "speedup": 12.5}},
                    {**of, "rule_message": {"title": "", "message": "second", "type": 3}}, {**of, "rule_message": {"title": "Three", "message": "third", "type": 1}},
                    {**of, "rule_message": {"title": "", "message": "", "type": 0}}], "rule_results_as_dicts(): one for each item")
    apart = made("apart", {"gpu__time_duration.sum": 1.0}, rules=[data(1, "Rule") + data(2, "The Rule") + data(3, data(1, message("alone", 2, 1, "")))])
    tap.ok(any("WRN   alone" in line for line in printed("details", apart).splitlines()), "the details page has rules of no section, too")
    of = {"rule_identifier": "Rule", "section_identifier": "Some"}
    same(found[1], [{**of, "kind": 0, "message_type": 2, "message": "here", "source_address": 4096},
                    {**of, "kind": 1, "message_type": 0, "message": "there", "source_location": {"file_name": "a.cu", "line": 7}}], "source_markers()")
    same(found[2:], [["The Rule"] * 4, 4], "names, and those of the section")


def messages_break():
    """Check that lines of messages are up to 110 characters wide with the blank before them, as in ncu; a word that is longer is broken, and keeps the blank."""
    whole, long = "a" * 54 + " " + "b" * 54, "y" * 120
    for text, lines in ((whole + " c", [whole, "c"]), (whole + "b", [whole + "b"]), (whole + "b c", ["a" * 54, "b" * 55 + " c"]),
                        ("w " + long, ["w", " " + "y" * 109, "y" * 11]), ("one\ntwo " + long, ["one", "two", " " + "y" * 109, "y" * 11])):
        rule = data(1, "Rule") + data(2, "R") + data(3, data(1, data(1, data(1, text) + number_(2, 2)))) + data(4, "Some")
        page = printed("details", made("wrapped", {"gpu__time_duration.sum": 1.0}, rules=[rule])).splitlines()
        at = next((i for i, line in enumerate(page) if line.startswith("    WRN   ")), len(page))
        same([line[10:] for line in page[at:at + len(lines)]], lines, f"a message of {len(text)} characters")


def memory_tables():
    """Check that the tables of memory are the groups that a result stores."""
    groups = {"chart": 105, "shared_table": 101, "first_level_cache_table": 106, "l2_cache_table": 107, "l2_cache_evict_policy_table": 111, "dram_table": 104}
    items = b"".join(data(1, data(field, data(1, f"Table {group}"))) for group, field in groups.items())
    metrics = {f"lts__{group}.sum": 3.0 for group in groups}
    lists = {f"group:memory__{group}": f"lts__{group}.sum,lts__absent.sum" for group in groups}
    path = made("memory", {**metrics, "lts__other.sum": 4.0, **lists}, sections=[section("Memory", "Memory Section", body=data(5, items))])
    tables, title = {}, None
    for line in printed("details", "--print-details", "all", path).splitlines():
        words = line.split()
        title = words[-1] if line.startswith("    Table Name : Table ") else title
        if words and words[0].startswith("lts__"):
            tables.setdefault(title, []).append(words[0])
    same(tables, {group: [f"lts__{group}.sum"] for group in groups}, "tables of memory")


def sections_in_python():
    chart = data(5, data(1, data(2, data(1, "Chart") + data(5, data(1, "sm__b.sum") + data(2, "B")) + data(5, data(1, "gpu__time_duration.sum") + data(2, "Time")))))
    late = section("Late", "Late Section", [("gpu__time_duration.sum", "Later")]) + number_(3, 99) + data(7, "About it.") + data(9, "Some")
    path = made("sections", {"gpu__time_duration.sum": 1.0, "sm__b.sum": 2.0, "sm__c.sum": 3.0}, sections=[late, SECTION + chart])
    program = """
print(json.dumps([[[s.identifier(), s.name(), s.description(), s.parent_identifier(), s.order(), [m.name() for m in s.header_metrics()],
                    [m.name() for m in s.body_metrics()]] for s in a.sections()], [a[n].label() for n in a], a.timed_warp_samples(), a.timelines().aligned_metric(a["sm__b.sum"])]))"""
    found = python(path, program)
    same(found[0], [["Late", "Late Section", "About it.", "Some", 99, ["gpu__time_duration.sum"], []],
                    ["Some", "Some Section", "", "", 10, ["gpu__time_duration.sum"], ["sm__b.sum"]]], "sections(): what their header and their body show")
    same(found[1:], [["Duration", "B", ""], [], None], "label(): that of the section with the least order")


def timelines_in_python():
    """Check that samples outside of the workload are removed, and that the later ones move forward, as NVIDIA's module 2026.3.1 does for the same reports."""
    path = os.path.join(fixtures("ncu"), "vec_add-2024.1.1.ncu-rep")
    if not os.path.exists(path):
        tap.skip("timelines", "no fixtures")
        return
    program = """
m, t = a["SM.TriageA.sm__cycles_active.avg"], a.timelines()
al = t.aligned_metric(m)
keys, times = m.correlation_ids(), al.correlation_ids()
first = keys.value(0)
print(json.dumps([m.num_instances(), [round(al.value(i)) for i in range(al.num_instances())], [times.value(i) - first for i in range(al.num_instances())],
                  [al.name() == m.name(), al.kind() == m.kind(), al.value() == m.value(), al.unit() == m.unit(), al.label() == m.label()],
                  [n for n in a.metric_names() if (t.aligned_metric(a[n]) is not None) != ("Triage" in n)]]))"""
    same(python(path, program), [23, [19669, 19624, 19692, 1505, 0, 0, 0, 0, 0, 0, 0],
                                 [0, 12992, 25952, 38912, 51840, 64768, 77728, 90656, 103616, 116576, 129504], [True] * 5, []], "the samples of the workload")
    changed = """
from ncu_report import _timelines
switch = lambda at, on: (a["SM.TriageA.sm__cycles_active.avg"].correlation_ids().value(0) + int(at * 12945), on)
out = []
for events in ([(4.5, True), (8.5, False)], [(4.5, True), (8.5, False), (15.5, True)], [(15.5, True), (8.5, False), (4.5, True)], [(4.5, False)], []):
    _timelines._switches = lambda action, group: [switch(*e) for e in events]
    al = a.timelines().aligned_metric(a["SM.TriageA.sm__cycles_active.avg"])
    out.append([al.num_instances(), [al.correlation_ids().value(i) - switch(0, 0)[0] for i in range(al.num_instances())][:5]])
print(json.dumps(out))"""
    same(python(path, changed), [[4, [0, 12928, 25888, 38816]], [11, [0, 12928, 25888, 38816, 51776]], [7, [0, 12928, 25888, 38816, 51776]], [0, []],
                                 [23, [0, 12928, 25888, 38848, 51776]]], "switches of the context, and none")


def timelines_need_a_pass():
    """Check that a sampled metric that no pass lists has no timeline, and that every one has where the result lists no passes, as in 2026.3.1."""
    place = os.path.join(fixtures("ncu"), "vec_add-2024.1.1.ncu-rep")
    if not os.path.exists(place):
        tap.skip("timelines of passes", "no fixtures")
        return
    path = os.path.join(folder(), "passes.ncu-rep")
    for old, wanted, what in (("SM.TriageA.sm__cycles_active.avg", [10, False], "a metric that no pass lists has no timeline"),
                              ("profiler__pmsampler_pass_groups", [10, True], "without a list of passes each has")):
        report = Mutated(place)
        report.rename(lambda name: b"renamed__metric.sum" if name == old.encode() else name)
        report.write(path)
        program = """
t, sampled = a.timelines(), [n for n in a.metric_names() if a[n].is_sampled() and not n.startswith("profiler__")]
print(json.dumps([len(sampled), all(t.aligned_metric(a[n]) is not None for n in sampled)]))"""
        same(python(path, program), wanted, what)


def numbers_in_python():
    """Check that as_uint64() converts values that do not fit as x86-64 does, with the compiled part and without; instances, too."""
    values = [float("nan"), float("inf"), -float("inf"), -1.5, 1e300, -1e300, 2.0 ** 63, 3.75]
    wanted = [1 << 63, 0, 1 << 63, (1 << 64) - 1, 0, 1 << 63, 1 << 63, 3]
    path = made("numbers", {**{f"m__{i}.sum": of for i, of in enumerate(values)}, "all": (1.0, dict(enumerate(values)))})
    program = """
m = a["all"]
print(json.dumps([[a[f"m__{i}.sum"].as_uint64() for i in range(8)], [m.as_uint64(i) for i in range(8)]]))"""
    for compiled in ("0", "1"):
        same(python(path, program, LIBTRACE_READER_COMPILED=compiled), [wanted, wanted], f"as_uint64() of odd numbers, LIBTRACE_READER_COMPILED={compiled}")
    program = "n = ncu_report\nprint(json.dumps([n.MsgType_ERR, n.MsgType.OPTIMIZATION, n.SpeedupType_GLOBAL, n.FocusSeverity_HIGH, n.StallReason_WAIT, n.MarkerKind.NONE]))"
    same(python(path, program), [4, 2, 2, 2, 18, 2], "constants")
    elapsed = made("elapsed", {"sm__cycles_elapsed.sum.peak_sustained_elapsed.per_second": 1.0})
    same(python(elapsed, "print(json.dumps([a[n].metric_subtype() for n in a]))"), [4], "the subtype of peak_sustained_elapsed.per_second")


FUNCTION = 0x14B104FB0200  # address of the kernel in the process


def line_table():
    """Return a .debug_line of DWARF 2: two rows at the first instruction, in two files; one row 32 bytes after it."""
    files = b"/src/./bin/../gemm\0\0" + b"kernel.cu\0\x01\0\0" + b"fp16.hpp\0\x01\0\0" + b"\0"
    header = struct.pack("<BBbBB", 1, 1, -5, 14, 10) + bytes((0, 1, 1, 1, 1, 0, 0, 0, 1)) + files
    program = b"\0\x09\x02" + struct.pack("<Q", FUNCTION)
    program += b"\x03\x1f\x01" + b"\x04\x02\x03" + b"\xa4\x04" + b"\x01"  # line 32 of file 1, line 580 of file 2
    program += b"\x04\x01\x03" + b"\xdd\x7b" + b"\x02\x20\x01" + b"\x02\x20\0\x01\x01"  # 32 bytes on, line 33 of file 1; the end
    unit = struct.pack("<HI", 2, len(header)) + header + program
    return struct.pack("<I", len(unit)) + unit


def cubin():
    """Return a cubin of one function of 64 bytes, whose symbol and line table have addresses of the process."""
    texts = b"\0.shstrtab\0.strtab\0.symtab\0.debug_line\0.text.kernel0\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 5, FUNCTION, 64)
    parts = [(b".shstrtab", 3, texts, 0), (b".strtab", 3, b"\0kernel0\0", 0), (b".symtab", 2, symbols, 2), (b".debug_line", 1, line_table(), 0),
             (b".text.kernel0", 1, bytes(64), 0)]
    body, headers = b"", bytes(64)
    for name, kind, of, link in parts:
        headers += struct.pack("<IIQQQQIIQQ", texts.index(name + b"\0"), kind, 0, 0, 64 + len(body), len(of), link, 0, 1, 24 if kind == 2 else 0)
        body += of
    elf = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64, len(parts) + 1, 1)
    return elf + body + headers


def source_lines():
    """Check source lines: the first of several rows at one address is used, symbols may have addresses of the process, paths have no `..`."""
    path = made("lines", {"inst_executed": (2, {FUNCTION: 1, FUNCTION + 32: 1})}, code=data(4, cubin()) + number_(5, 8) + number_(6, 80 << 16))
    program = f"at = lambda x: [x.file_name(), x.line()] if x else None\nprint(json.dumps([at(a.source_info({FUNCTION} + i)) for i in (0, 16, 32, 64)]))"
    file = "/src/gemm/kernel.cu"
    same(python(path, program), [[file, 32], [file, 32], [file, 33], None], "source lines")


def empty_exports():
    """Check an export that would be empty: status 2, one line of error, and no file."""
    path, to = made("empty", {"gpu__time_duration.sum": 1.0}), os.path.join(PLACE, "out")
    kinds = ("folded", "speedscope", "nvtxt", "perfetto", "chrome", "firefox", "xplane", "xplane-tools")
    for kind, *options in (*((kind,) for kind in kinds), ("ncu", "--nvtx-include", "nowhere/")):
        done = trace("export", "-t", kind, "-f", "true", "-o", to, *options, path)
        tap.ok(done.status == 2 and not os.path.exists(to) and done.err.decode() == f"trace: '{path}': nothing to export as {kind}\n", f"{kind}: an export of nothing", done)
    spool = spool_folder()
    report = os.path.join(PLACE, "nothing.rep")
    run(["true"], env=traced_env(report, spool, LIBTRACE_TRACE="nvtx"))
    wait_spool_gone(spool)
    for kind in (*kinds, "ncu", "atp", "csv", "occupancy"):
        done = trace("export", "-t", kind, "-f", "true", "-o", to, report)
        tap.ok(done.status == 2 and not os.path.exists(to) and done.err.decode() == f"trace: '{report}': nothing to export as {kind}\n", f"{kind}: nothing was recorded", done)


if __name__ == "__main__":
    main(doubled_metrics, instances_alone, scaled_values, column_units, units, rules_in_python, messages_break, memory_tables, sections_in_python, timelines_in_python, timelines_need_a_pass, numbers_in_python, source_lines, empty_exports)
