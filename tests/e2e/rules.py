#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check `trace rules`: our own rule files run on a generated report, with each way in which a rule can fail. NVIDIA's own rules, if they have
been fetched (PEERS, default /tmp/peers), run unchanged on the fixtures, and their messages are compared with those stored in the fixtures.
"""
import json
import os
import struct
import sys
import textwrap

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import PRODUCTS, SRC, fixtures, folder, main, run, tap, trace  # noqa: E402
from libpeers import NCU, NCU_SECTIONS  # noqa: E402

LIBRARY = os.path.join(PRODUCTS, "lib/libtrace/libtrace-reader.so")
os.environ["LIBTRACE_READER"] = LIBRARY
sys.path.insert(0, os.path.join(SRC, "reader/python"))
sys.dont_write_bytecode = True

FIXTURES = fixtures("ncu")
RESULTS = 3


# ---- a generated report ----

def report_make(path):
    """Write three kernels with two metrics and the section Made, one block each; the first block has the names of the metrics."""
    from libtrace_rules._encode import blob, real, text, whole
    with open(path, "wb") as out:
        out.write(b"NVR\0" + struct.pack("<I", 2) + b"\x08\x07")
        for number in range(RESULTS):
            kernel = (b"".join(whole(n, 1) for n in range(1, 5)) + text(5, "_Z4made") + text(6, f"made{number}") + text(7, "") + whole(8, 3)
                      + blob(9, b"") + blob(10, whole(1, 2)) + blob(11, whole(1, 32)))
            kernel += blob(13, whole(1, 0) + blob(2, real(3, 100.0 + number))) + blob(13, whole(1, 1) + blob(2, whole(5, 7)))
            kernel += blob(15, whole(1, 1)) + blob(17, text(1, "Made") + text(2, "Made section"))
            kernel += blob(19, text(1, "old") + text(2, "Old rule")) + whole(22, 1) + whole(999, 5)
            names = text(1, "gpu__time_duration.sum") + text(1, "made__count") if not number else b""
            header = whole(1, 0) + whole(2, 1) + blob(4, names) + whole(5, 4 + len(kernel)) + blob(6, whole(1, 1)) + whole(7, 0)
            out.write(struct.pack("<I", len(header)) + header + struct.pack("<I", len(kernel)) + kernel)


HEAD = """
import NvRules
def get_identifier(): return "{name}"
def get_name(): return "{name} by name"
def get_description(): return "{name} told"
"""


def rules_make(place, **bodies):
    """Write rule files, named by the identifiers of their rules. Return the folder."""
    os.makedirs(place, exist_ok=True)
    for name, body in bodies.items():
        with open(os.path.join(place, name + ".py"), "w") as out:
            out.write(HEAD.format(name=name) + textwrap.dedent(body))
    return place


def apply(report, *folders, rules=(), options=()):
    command = ["rules", "apply", report, *options]
    for place in folders:
        command += ["--rule-folder", place]
    for rule in rules:
        command += ["--rule", rule]
    return trace(*command, limit=120)


def found(path):
    """Return {identifier: RuleResult} for each result."""
    import ncu_report
    return [{rule["identifier"]: rule for rule in action.fields("rule_results") or []} for action in ncu_report.load_report(path)[0]]


def messages(rule):
    return [item["message"]["message"] for item in rule.get("body", {}).get("items", []) if "message" in item]


# ---- rules that succeed ----

SPEAKER = """
def get_section_identifier(): return "Made"
def apply(handle):
    ctx = NvRules.get_context(handle)
    action, fe = ctx.range_by_idx(0).action_by_idx(0), ctx.frontend()
    F = NvRules.IFrontend
    print("rules may print")
    number = fe.message(F.MsgType_MSG_OPTIMIZATION, action.name() + " took " + str(action["gpu__time_duration.sum"].value()), "Titled")
    assert fe.speedup(number, F.SpeedupType_GLOBAL, 12.5) and not fe.speedup(99, F.SpeedupType_LOCAL, 1)
    assert fe.focus_metric(number, "made__count", 7, F.Severity_SEVERITY_HIGH, "more of it")
    assert fe.message("plain") == 2
    fe.source_marker("here", 4096, F.MarkerKind_SASS, F.MsgType_MSG_WARNING)
    fe.source_marker("there", 12, F.MarkerKind_SOURCE, "a.cu")
    ctx.controller().propose_rule("other")
    fe.load_chart_from_file("made.chart")
    fe.send_dict_to_children({"weight": 3})
"""
CHILD = """
def get_parent_rules_identifiers(): return ["speaker", "nobody"]
def apply(handle):
    fe = NvRules.get_context(handle).frontend()
    fe.message("weight {:g}, nobody {}".format(fe.receive_dict_from_parent("speaker")["weight"], fe.receive_dict_from_parent("nobody")))
"""
ADDER = """
def apply(handle):
    action = NvRules.get_context(handle).range_by_idx(0).action_by_idx(0)
    M = NvRules.IMetric
    action.add_integer_metric("made__count", M.ValueKind_UINT64, action["made__count"].value() + 1)
    action.add_string_metric("new__text", M.ValueKind_STRING, "Gr\\u00fc\\u00dfe")
    metric = action.add_metric("new__instanced")
    metric.set_double(M.ValueKind_DOUBLE, 6.5)
    for i in range(2):
        metric.set_double(i, M.ValueKind_DOUBLE, i + 3)
        metric.mutable_correlation_ids().set_uint64(i, M.ValueKind_UINT64, i + 40)
"""
USER = """
def get_parent_rules_identifiers(): return ["adder"]
def evaluate(handle):
    NvRules.require_metrics(handle, ["made__count", "new__text"])
    NvRules.require_rules(handle, ["adder"])
def apply(handle):
    action = NvRules.get_context(handle).range_by_idx(0).action_by_idx(0)
    NvRules.get_context(handle).frontend().message("{} {}".format(action["made__count"].value(), action["new__text"]), "Sum")
"""


def rules_speak():
    place = folder()
    report, rules = os.path.join(place, "made.ncu-rep"), rules_make(os.path.join(place, "rules"), speaker=SPEAKER, child=CHILD, adder=ADDER, user=USER)
    with open(os.path.join(rules, "made.chart"), "w") as out:
        out.write('Table { Label: "Made table" Columns: 2 Metrics { Name: "made__count" } }\n')
    report_make(report)
    output = os.path.join(place, "out.ncu-rep")
    result = apply(report, rules, options=["-o", output])
    if not tap.ok(result.status == 0 and result.out == b"", "rules are applied", f"{result.status} {result.err.decode()}"):
        return
    all_found = found(output)
    said = all_found[1]["speaker"]
    items = said["body"]["items"]
    tap.ok(items[0] == {"message": {"message": "made1 took 101.0", "type": 4, "id": 1, "name": "Titled"},
                        "focus_metrics": [{"message_id": 1, "metric_name": "made__count", "metric_value": 7, "severity": 2, "info": "more of it"}],
                        "speedup": {"speedup_type": 2, "value": 12.5}} and items[1] == {"message": {"message": "plain", "type": 0, "id": 2}},
           "messages with what belongs to them", json.dumps(items, indent=1))
    tap.ok(items[2] == {"proposal": {"identifier": "other"}} and items[3] == {"table": {"label": "Made table", "columns": 2, "metrics": [{"name": "made__count"}]}},
           "a proposal, and a chart of a file", json.dumps(items[2:]))
    tap.ok(said["source_markers"] == [{"kind": 0, "address": 4096, "tooltip": "here", "type": 2, "file_name": ""},
                                      {"kind": 1, "line_number": 12, "tooltip": "there", "type": 0, "file_name": "a.cu"}]
           and said["section_identifier"] == "Made" and said["display_name"] == "speaker by name", "source markers are stored with their section", json.dumps(said))
    tap.ok([messages(rules["child"]) for rules in all_found] == [["weight 3, nobody {}"]] * RESULTS, "a child gets its parent's numbers")
    tap.ok([messages(rules["user"]) for rules in all_found] == [["8 new__text"]] * RESULTS, "a rule sees metrics that another has added")
    tap.ok(all("old" in rules for rules in all_found) and b"rules may print" in result.err, "earlier results stay, and output of rules is not on standard output")
    metrics_added(output)
    again = apply(output, rules, rules=["child"])
    tap.ok(again.status == 0 and found(output) == all_found, "in place, one rule again, with its parents: nothing else changes", again.err.decode())
    listed = trace("rules", "list", "--rule-folder", rules)
    tap.ok(listed.status == 0 and sorted(line.split(":")[0] for line in listed.out.decode().splitlines()) == ["adder", "child", "speaker", "user"], "list",
           listed.out)
    packed = os.path.join(place, "out.ncu-repz")
    again = apply(report, rules, options=["-o", packed])
    tap.ok(again.status == 0 and open(packed, "rb").read(4) == b"\x28\xb5\x2f\xfd" and found(packed) == all_found
           and apply(packed, rules, rules=["child"]).status == 0 and open(packed, "rb").read(4) == b"\x28\xb5\x2f\xfd" and found(packed) == all_found,
           "a compressed report stays compressed", again.err.decode())
    if os.path.exists(NCU):
        theirs = run([NCU, "--import", output, "--page", "details"], env=dict(os.environ), limit=60)
        tap.ok(theirs.status == 0 and b"made1 took 101.0" in theirs.out and b"Est. Speedup: 12.5%" in theirs.out, "NVIDIA's ncu shows it", theirs.out)


def metrics_added(path):
    import ncu_report
    action = ncu_report.load_report(path)[0][2]
    tap.ok((action["made__count"].value(), action["new__text"].value(), action["new__instanced"].value(), action["new__instanced"].to_dict(), len(action),
            action.fields("context_id"), action["gpu__time_duration.sum"].value()) == (8, "Gr\u00fc\u00dfe", 6.5, {40: 3.0, 41: 4.0}, 4, 1, 102.0),
           "metrics that were added are in the report, in place of those of their names", list(action))


# ---- rules that fail ----

def rules_fail():
    place = folder()
    report, rules = os.path.join(place, "made.ncu-rep"), os.path.join(place, "rules")
    rules_make(rules, good='''
        def apply(handle):
            NvRules.get_context(handle).frontend().message("good")
        ''', throws='''
        def apply(handle):
            NvRules.get_context(handle).frontend().message("before")
            raise KeyError("thrown")
        ''', loops='''
        def apply(handle):
            while True:
                try:
                    while True: pass
                except BaseException: pass
        ''', dies='''
        import os, signal
        def apply(handle): os.kill(os.getpid(), signal.SIGSEGV)
        ''', leaves='''
        import sys
        def apply(handle): sys.exit(3)
        ''', import_loops="while True: pass", import_throws="import no_such_module", syntax="def apply(handle:", refuses='''
        def apply(handle): NvRules.raise_exception(handle, "not for this device")
        ''', lacks='''
        def evaluate(handle): NvRules.require_metrics(handle, ["no__metric"])
        def apply(handle): raise ValueError
        ''', elsewhere='''
        def get_section_identifier(): return "Other"
        def apply(handle): raise ValueError
        ''', bad_chart='''
        def apply(handle): NvRules.get_context(handle).frontend().load_chart_from_file("bad.chart")
        ''')
    with open(os.path.join(rules, "bad.chart"), "w") as out:
        out.write("Table {\n  Columns: two\n}\n")
    with open(os.path.join(rules, "incomplete.py"), "w") as out:
        out.write("def get_identifier(): return 'incomplete'\n")
    with open(os.path.join(rules, "helper.py"), "w") as out:
        out.write("answer = 42\n")
    report_make(report)
    result = apply(report, rules, os.path.join(place, "no_folder"), rules=["good", "throws", "loops", "dies", "leaves", "refuses", "lacks", "elsewhere", "bad_chart", "no_rule"],
                   options=["--time-limit", "3"])
    lines = result.err.decode().splitlines()
    tap.ok(result.status == 1, "the exit status says that rules failed", f"{result.status}\n{result.err.decode()}")
    for file, wanted in {
            "throws.py": "rule throws at result 2: line 9: KeyError: 'thrown'", "loops.py": "rule loops at result 0: did not end within 3 s; 3 results have no findings of it",
            "dies.py": "ended its process by signal 11", "leaves.py": "rule leaves at result 0: line 8: SystemExit: 3", "import_loops.py": "did not end within 3 s",
            "import_throws.py": "line 6: ModuleNotFoundError: No module named 'no_such_module'", "syntax.py": "line 6: SyntaxError:",
            "refuses.py": "line 7: SystemError: not for this device", "lacks.py": "not applied, since it needs no__metric, which the result lacks", "incomplete.py": "missing function: apply",
            "bad_chart.py": "bad.chart:2:", "no_folder": "No such file or directory", "'no_rule'": "unknown rule"}.items():
        tap.ok(any(file in line and wanted in line for line in lines), f"{file}: {wanted}", result.err.decode())
    tap.ok(not any("helper.py" in line or "elsewhere" in line for line in lines), "a file that is no rule, and a rule of another section, are nothing wrong")
    all_found = found(report)
    tap.ok([messages(rules["good"]) for rules in all_found] == [["good"]] * RESULTS, "the others are applied", all_found)
    tap.ok([messages(rules["throws"]) for rules in all_found] == [["before"]] * RESULTS, "messages of a rule before it failed are kept")
    tap.ok(all(set(rules) == {"old", "good", "throws", "leaves", "refuses", "bad_chart"} for rules in all_found), "rules that did not end leave no result", [list(r) for r in all_found])


def nothing_changes():
    place = folder()
    report, rules = os.path.join(place, "made.ncu-rep"), rules_make(os.path.join(place, "rules"), elsewhere='''
        def get_section_identifier(): return "Other"
        def apply(handle): pass
        ''')
    report_make(report)
    before = open(report, "rb").read()
    result = apply(report, rules)
    tap.ok(result.status == 0 and open(report, "rb").read() == before, "without results of rules the report is unchanged, byte by byte",
           f"{result.status} {result.err!r}")
    rules_make(rules, adder=ADDER)
    torn = os.path.join(place, "torn.ncu-rep")
    with open(torn, "wb") as out:  # cut off in the middle of a block
        out.write(before + struct.pack("<I", 100) + b"torn")
    result = apply(torn, rules)
    tap.ok(result.status == 2 and open(torn, "rb").read() == before + struct.pack("<I", 100) + b"torn" and b"it is damaged" in result.err
           and sorted(os.listdir(place)) == ["made.ncu-rep", "rules", "torn.ncu-rep"], "a report that is cut off is refused and unchanged", f"{result.status} {result.err!r}")
    evil = os.path.join(place, "NvRules.py")
    with open(evil, "w") as out:
        out.write("open('ran', 'w')\n")
    os.makedirs(os.path.join(place, "libtrace_rules"))
    with open(os.path.join(place, "libtrace_rules/__init__.py"), "w") as out:
        out.write("open('ran', 'w')\n")
    result = run([os.path.join(PRODUCTS, "bin/trace"), "rules", "apply", "made.ncu-rep", "--rule-folder", "rules"], env=dict(os.environ), cwd=place, limit=60)
    tap.ok(result.status == 0 and not os.path.exists(os.path.join(place, "ran")), "no rule of the current folder, which is the report's, runs", result.err)
    for wrong in (["rules", "apply", report], ["rules"], ["rules", "apply", "--rule-folder", rules], ["rules", "apply", "/nonexistent", "--rule-folder", rules],
                  ["rules", "apply", report, "--rule-folder", rules, "--python", "/nonexistent/python"]):
        result = trace(*wrong)
        tap.ok(result.status == 2 and result.err.startswith(b"trace: "), f"refused: {' '.join(wrong[:3])[-40:]}", f"{result.status} {result.err!r}")


# ---- NVIDIA's rules ----

def lacks_metric(rule):
    return any("could not be found. Collecting it as an additional metric" in text for text in messages(rule))


def reworded(before, after):
    """Return whether a text of 2025 differs from the text of 2024 in known words only."""
    text = json.dumps(before).replace("This workload", "This kernel").replace("warps per scheduler that", "warps per schedule that")
    return text == json.dumps(after)


def retyped(before, after):
    """Return whether the rule reported a warning in 2022, and an optimization now."""
    return json.dumps(before).replace('"type": 2', '"type": 4') == json.dumps(after)


def metric_is_there_now(before, after):
    """Return whether the optional metric was missing in the first run of the rule, which added it, and present in the second."""
    return lacks_metric(before) and not messages(after)


def wants_another_metric(before, after):
    """Return whether the rule now estimates a speedup, for which it needs a metric that was not collected in 2022."""
    return not messages(before) and lacks_metric(after)


SINCE_2022 = {"AchievedOccupancy", "Compute", "Memory", "TheoreticalOccupancy"}  # rules of sections that those reports have
# By report: rules that differ in every result, and how; and rules that did not exist yet.
DIFFER = {
    "vec_add-2024.1.1": ({"MemoryL2Compression": metric_is_there_now}, set()),
    "path_tracer-2025.4.1": ({"SOLBottleneck": reworded, "TheoreticalOccupancy": reworded}, set()),
    "manual_nvtx": ({"UncoalescedGlobalAccess": wants_another_metric, "UncoalescedSharedAccess": wants_another_metric}, SINCE_2022),
    "CuVectorAddDrv": ({"SOLBottleneck": retyped}, SINCE_2022),
    "ex-gpu.s10": ({}, set()), "transposeMatrix-2025.2.1": ({}, set()),  # without sections, so no rule runs
}


def stock():
    """Run the rules of 2024.1.1. Reports of other releases have messages of other versions of the rules: they differ exactly as DIFFER lists."""
    if not os.path.exists(os.path.join(NCU_SECTIONS, "SpeedOfLight.py")) or not os.path.isdir(FIXTURES):
        tap.skip("NVIDIA's rules", "no fixtures in SHARED, or no rules in PEERS or /tmp/peers")
        return
    for name, (known, new) in DIFFER.items():
        path, output = os.path.join(FIXTURES, name + ".ncu-rep"), os.path.join(folder(), "out.ncu-rep")
        result = apply(path, NCU_SECTIONS, options=["-o", output])
        if not tap.ok(result.status in (0, 1) and os.path.exists(output), f"{name}: NVIDIA's rules run", f"{result.status} {result.err.decode()}"):
            continue
        failed = [line for line in result.err.decode().splitlines() if "stored " not in line and "Some required metrics are missing" not in line]
        tap.ok(not failed, f"{name}: rules fail only for missing metrics", "\n".join(failed))
        wrong, same, all_before, all_after = [], 0, found(path), found(output)
        for before, after in zip(all_before, all_after):
            if set(after) != set(before) | new:
                wrong.append(f"rules: {sorted(after)}, not {sorted(set(before) | new)}")
            if not new and list(before) != list(after):
                wrong.append(f"order: {list(before)}, now {list(after)}")
            for rule in set(before) & set(after):
                is_same = before[rule] == after[rule]
                same += is_same
                if is_same == (rule in known) or rule in known and not known[rule](before[rule], after[rule]):
                    wrong.append(f"{rule}: {json.dumps(before[rule])[:300]}\nnow {json.dumps(after[rule])[:300]}")
        tap.ok(not wrong and len(all_before) == len(all_after), f"{name}: {same} results as the report holds them, {len(known)} rules differ as they should", "\n".join(wrong))
    left = [file for file in os.listdir(NCU_SECTIONS) if file == "__pycache__"]
    tap.ok(not left, "nothing is written to the folder of the rules", left)


if __name__ == "__main__":
    if os.environ.get("SAN") or not os.path.exists(LIBRARY):
        tap.skip("trace rules", "Python cannot load libtrace-reader.so with sanitizers")
        tap.finish()
    main(rules_speak, rules_fail, nothing_changes, stock)
