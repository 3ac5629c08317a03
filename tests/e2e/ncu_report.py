#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check the Python package ncu_report: every fixture of Nsight Compute is compared with values that an independent reader took from them
(SHARED/fixtures/ncu/expected.json). If NVIDIA's own module has been fetched (PEERS, default /tmp/peers), one script runs with both
modules and is compared answer by answer, with the compiled part of the package, where it was built, and without.

Only the metrics of KNOWN may differ (docs/python.md says why).
"""
import glob
import itertools
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import PRODUCTS, app, fixtures, folder, main, run, tap  # noqa: E402
from libncu import Template, WORKLOADS  # noqa: E402
from libpeers import ncu_python  # noqa: E402

SRC = os.environ.get("SRC") or os.getcwd()
PACKAGE = os.path.join(SRC, "reader/python")
LIBRARY = os.path.join(PRODUCTS, "lib/libtrace/libtrace-reader.so")
FIXTURES = fixtures("ncu")
REPORTS = sorted(glob.glob(os.path.join(FIXTURES, "*.ncu-rep")))
WAYS = {"": "1", "without the compiled part, ": "0"}  # prefix of a test's title: value of LIBTRACE_READER_COMPILED
NO_SUCH_DEVICE = "transposeMatrix-2025.2.1"  # NVIDIA's module of 2024 does not know this device, and then knows nothing of hardware metrics
# Metrics for which NVIDIA's module answers otherwise: for some it knows more than their names say, for others it takes names for texts
KNOWN = {
    ("lts__average_gcomp_input_sector_success_rate.pct", "type"), ("lts__gcomp_input_sectors.sum", "type"),
    ("nvlrx__bytes.sum.per_second", "type"), ("nvltx__bytes.sum.per_second", "type"),
    ("lts__average_gcomp_input_sector_success_rate.pct", "unit"), ("nvlrx__bytes.sum.per_second", "unit"), ("nvltx__bytes.sum.per_second", "unit"),
    ("TriageA.l1tex__t_sector_hit_rate_realtime.pct", "subtype"), ("derived__pct_occupancy_per_block_size", "unit"),
}

SCRIPT = """
import json, sys
import ncu_report
from ncu_report import IMetric

def metric(m):
    keys = m.correlation_ids()
    return dict(name=m.name(), kind=m.kind(), value=repr(m.value()), has=[m.has_value(), m.has_value(m.kind()), m.has_value(IMetric.ValueKind_FLOAT)],
                double=repr(m.as_double()), whole=m.as_uint64(), text=m.as_string(), has_keys=m.has_correlation_ids(), type=m.metric_type(),
                subtype=m.metric_subtype(), rollup=m.rollup_operation(), unit=m.unit(), description=m.description(), str=str(m),
                instances=[[m.kind(i), repr(m.value(i)), repr(m.as_double(i)), m.as_uint64(i), m.as_string(i)] for i in range(m.num_instances())],
                beyond=[repr(m.value(99999)), m.kind(99999), m.as_double(99999), m.as_uint64(99999), m.as_string(99999)],
                keys=keys and [keys.name(), keys.kind(), repr(keys.value()), keys.has_value(), keys.num_instances(), keys.has_correlation_ids(),
                               [[keys.kind(i), repr(keys.value(i)), keys.as_uint64(i)] for i in range(keys.num_instances())]])

def range_(r):
    return [r.name(), r.has_attributes(), r.category(), r.color(), r.payload_type(), r.payload_as_uint64(), r.payload_as_double(),
            r.payload_as_string(), r.message()]

def state(s):
    if s is None:
        return None
    return [[key, str(s[key]), s.domain_by_id(key).name(), list(s[key].push_pop_ranges()), list(s[key].start_end_ranges()),
             [range_(s[key].push_pop_range(i)) for i in range(len(s[key].push_pop_ranges()))], s[key].push_pop_range(99), s[key].start_end_range(99)]
            for key in s] + [len(s), list(s.domains()), s.domain_by_id(12345) is None]

def raised(function):
    try:
        return repr(function())
    except Exception as error:
        return type(error).__name__

report = ncu_report.load_report(sys.argv[1])
first = report[0][0]
out = dict(
    sizes=[report.num_ranges(), len(report), report.range_by_idx(99) is None, report[0].num_actions(), len(report[0]), report[0].action_by_idx(99) is None,
           len(report[0:1]), len(report[0][0:2]), len(report[0][-1:]), len(list(report)), str(report[0][-1])],
    outside=[report.frontend(), report.controller()],
    raised=[raised(f) for f in (lambda: report[7], lambda: report[-2], lambda: report["a"], lambda: report[0][99], lambda: report[0]["a"],
            lambda: first["no such"], lambda: first[3], lambda: first.metric_by_name("no such"), lambda: first.metric_by_name(3),
            lambda: first.name(99), lambda: ncu_report.load_report("/nonexistent"), lambda: ncu_report.load_report(3))],
    constants=[{name: getattr(c, name) for name in dir(c) if name[0].isupper() and isinstance(getattr(c, name), int)}
               for c in (IMetric, ncu_report.INvtxRange)],
    actions=[dict(names=[a.name(), a.name(a.NameBase_FUNCTION), a.name(a.NameBase_DEMANGLED), a.name(a.NameBase_MANGLED), str(a)], count=len(a),
                  metric_names=list(a.metric_names()), same=list(a) == list(a.metric_names()), nvtx=state(a.nvtx_state()),
                  metrics=[metric(a[name]) for name in a]) for r in report for a in r])
json.dump([getattr(ncu_report, "COMPILED", None), out], sys.stdout)
"""


def answers(path, package, way=""):
    place = os.path.join(folder(), "ask.py")
    with open(place, "w") as out:
        out.write(SCRIPT)
    env = dict(os.environ, PYTHONPATH=package, LIBTRACE_READER=LIBRARY, LIBTRACE_READER_COMPILED=WAYS[way])
    result = run([sys.executable, place, path], env=env, limit=120)
    if result.status:
        raise RuntimeError(f"{package}: {os.path.basename(path)}: {result.status} {result.err.decode()[-400:]}")
    compiled, found = json.loads(result.out)
    if compiled and way:
        raise RuntimeError(f"{os.path.basename(path)}: LIBTRACE_READER_COMPILED=0, and it is compiled")
    return found


def wrong_values(action, want):
    """Return the values that differ from those of the independent reader."""
    metrics = {m["name"]: m for m in action["metrics"]}
    wrong = [] if len(metrics) == action["count"] else ["count"]
    if action["names"][:2] != [want["function"]] * 2:
        wrong.append(f"names {action['names']}")
    for name, value in want["sample"].items():
        if metrics[name]["value"] not in (repr(value), repr(float(value)) if isinstance(value, int) else None):
            wrong.append(f"{name}: {metrics[name]['value']}, not {value!r}")
    for name, value in want["strings_metrics"].items():
        if metrics[name]["text"] != value:
            wrong.append(f"{name}: {metrics[name]['text']!r}, not {value!r}")
    return wrong


def as_expected(expected):
    for path, way in itertools.product(REPORTS, WAYS):
        got = answers(path, PACKAGE, way)["actions"]
        want = expected[os.path.basename(path)]["results"]
        wrong = [] if len(got) == len(want) else [f"{len(got)} results"]
        for action, wanted in zip(got, want):
            wrong += wrong_values(action, wanted)
        tap.ok(not wrong, f"{os.path.basename(path)}: {way}names and values of every result", "\n".join(wrong[:10]))


def is_known(path, name, part, theirs, ours):
    if part == "description":  # the texts differ, so only whether there is one is compared
        return bool(theirs) <= bool(ours)
    if part in ("unit", "type") and NO_SUCH_DEVICE in path:
        return theirs in ("", 0)
    if part == "unit" and name.startswith("gpu__time_duration."):
        return (theirs, ours) == ("second", "nsecond")
    if part == "unit" and name.startswith("regex:"):
        return (theirs, ours) == ("%", "inst")
    return (name, part) in KNOWN


def compare_metrics(path, theirs, ours):
    return [f"{their['name']}: {part}: {their[part]!r:.200}, ours {our[part]!r:.200}" for their, our in zip(theirs, ours) for part in their
            if their[part] != our[part] and not is_known(path, their["name"], part, their[part], our[part])]


def other_workloads():
    """Write reports of ranges, command lists and graphs, which no fixture has: results of kernels under the field numbers of these messages."""
    template = Template(os.path.join(FIXTURES, "manual_nvtx.ncu-rep"))
    for workload in WORKLOADS:
        path = os.path.join(folder(), workload + ".ncu-rep")
        template.write_as(path, workload)
        yield path


def names_of_workloads():
    for path in other_workloads():
        got = [action["names"] for action in answers(path, PACKAGE)["actions"]]
        workload = os.path.basename(path)[: -len(".ncu-rep")]
        wanted = ["init_data", "daxpy", "check_results"] if workload == "cmdlist" else [workload] * 3
        tap.ok(len(got) == 3 and all(text in names[0] for names, text in zip(got, wanted)), f"{workload}: names of results", got)


def as_theirs():
    package = ncu_python()
    if not package:
        tap.skip("the same answers as NVIDIA's module", "no ncu_report in PEERS or /tmp/peers")
        return
    for path in [*REPORTS, *other_workloads()]:
        try:
            theirs = answers(path, package)
        except RuntimeError as error:
            tap.skip(f"{os.path.basename(path)}: the same answers as NVIDIA's module", f"it does not run here: {str(error)[-80:]!r}")
            return
        for way in WAYS:
            compare(path, way, theirs, answers(path, PACKAGE, way))


def compare(path, way, theirs, ours):
    wrong = [f"{part}: {theirs[part]}, ours {ours[part]}" for part in theirs if part != "actions" and theirs[part] != ours[part]]
    wrong += [] if len(theirs["actions"]) == len(ours["actions"]) else ["number of results"]
    count = 0
    for their, our in zip(theirs["actions"], ours["actions"]):
        wrong += [f"{part}: {their[part]}, ours {our[part]}" for part in their if part != "metrics" and their[part] != our[part]]
        wrong += compare_metrics(path, their["metrics"], our["metrics"])
        count += len(their["metrics"])
    tap.ok(not wrong and count, f"{os.path.basename(path)}: {way}the same answers as NVIDIA's module, {count} metrics", "\n".join(wrong[:20]))


SURFACE = """
import inspect, json, sys
import ncu_report
json.dump({name: sorted(member for member in dir(thing) if member[0] != "_") if inspect.isclass(thing) else None
           for name, thing in vars(ncu_report).items() if name[0] in "IR" or name == "load_report"}, sys.stdout)
"""
INTERNAL = {"thisown"}  # a member that SWIG adds
HELPERS = ("IAction__", "IContext__", "IMetric_", "INvtxDomainInfo__", "INvtxState__", "IRange__")  # functions that are methods in NVIDIA's module


def surface():
    package = ncu_python()
    if not package:
        tap.skip("all that NVIDIA's module has", "no ncu_report in PEERS or /tmp/peers")
        return
    theirs, ours = (json.loads(script(SURFACE, package=place).out) for place in (package, PACKAGE))
    lacking = [f"{name}.{member}" for name, members in theirs.items() if not name.startswith(HELPERS)
               for member in ([None] if name not in ours else set(members or ()) - set(ours[name] or ()) - INTERNAL)]
    tap.ok(not lacking and len(theirs) > 20, f"all classes, methods and constants of NVIDIA's module are here: {sum(map(len, filter(None, theirs.values())))}", lacking)


FILTERS = """
import json, sys
import ncu_report
range_ = ncu_report.load_report(sys.argv[1])[0]
json.dump([range_.actions_by_nvtx(includes, excludes) for includes, excludes in json.loads(sys.argv[2])], sys.stdout)
"""
# The actions that filters choose in manual_nvtx, whose stacks are run_test and in it init_data, daxpy, check_results
CHOSEN = [((["run_test/"], ["check_results/"]), [0, 1]), ((["[run_test"], []), [0, 1, 2]), ((["daxpy]"], []), [1]), ((["run_test/init_data"], []), [0]),
          ((["[daxpy"], []), []), ((["run_test/+/daxpy"], []), []), ((["run_test/*/daxpy"], []), [1]), ((["run_test"], []), []), (([], []), []),
          (([], ["daxpy]"]), []), ((["daxpy/", "check_results/"], []), [1, 2]), ((["regex:un_t/"], []), [0, 1, 2]), ((["Other@run_test/"], []), []),
          ((["<default domain>@run_test/"], []), [0, 1, 2]), ((["[run_test/*/daxpy]"], ["init_data/"]), [1])]


def script(text, *arguments, package=PACKAGE):
    place = os.path.join(folder(), "script.py")
    with open(place, "w") as out:
        out.write(text)
    return run([sys.executable, "-B", place, *arguments], env=dict(os.environ, PYTHONPATH=package, LIBTRACE_READER=LIBRARY), limit=120)


def filters():
    path, wanted = os.path.join(FIXTURES, "manual_nvtx.ncu-rep"), [chosen for _, chosen in CHOSEN]
    if not os.path.exists(path):
        tap.skip("actions_by_nvtx", "no fixtures of Nsight Compute in SHARED")
        return
    asked = json.dumps([filters for filters, _ in CHOSEN])
    got = script(FILTERS, path, asked)
    tap.ok(got.status == 0 and json.loads(got.out) == wanted, "actions_by_nvtx", f"{got.out}\n{wanted}\n{got.err.decode()}")
    theirs = ncu_python()
    if theirs:
        other = script(FILTERS, path, asked, package=theirs)
        tap.ok(other.status == 0 and json.loads(other.out) == wanted, "NVTX filters select as NVIDIA's module does", f"{other.out}\n{other.err.decode()}")
    bad = script(FILTERS, path, '[[["a@b@c/"], []]]')
    tap.ok(bad.status == 1 and b"ValueError: 'a@b@c/'" in bad.err, "an invalid filter is reported", bad.err)


EVENTS = """
import json, sys
import ncu_report
report = ncu_report.load_report(sys.argv[1])
rows = list(report.events(symbols=False))
calls = list(report.api_calls(symbols=False))
json.dump({"rows": rows, "calls": calls, "ranges": list(report.nvtx_ranges()), "attribute": calls[0].function,
           "frames": [frame.address for frame in next(c for c in calls if c["callchain"]).callchain()],
           "nobody": list(report.events(pid=1)), "window": list(report.events("osrt_call", start_ns=calls[0].start_ns, end_ns=calls[0].start_ns + 1, symbols=False)),
           "results": len(report)}, sys.stdout)
"""


def events():
    if not os.path.exists(app("nvtx_calls")):
        tap.skip("events", "no headers of NVTX, so no program with ranges")
        return
    path = os.path.join(folder(), "own.rep")
    made = run([os.path.join(PRODUCTS, "bin/trace"), "run", "-o", path, "--osrt-threshold", "0", "--osrt-backtrace-threshold", "0", "--",
                app("nvtx_calls")], env=dict(os.environ), limit=60)
    wanted = run([os.path.join(PRODUCTS, "bin/trace"), "dump", "--json", "--no-symbols", path], env=dict(os.environ), limit=60)
    result = script(EVENTS, path)
    if not tap.ok(wanted.status == 0 and result.status == 0, "the events of a report are read", f"{made.err!r} {result.err.decode()}"):
        return
    rows, got = [json.loads(line) for line in wanted.out.splitlines()], json.loads(result.out)
    tap.ok(got["rows"] == rows and rows, f"{len(rows)} events, as trace dump --json prints them")
    tap.ok(got["calls"] == [e for e in rows if e["kind"] in ("osrt_call", "cuda_api")]
           and got["ranges"] and len(got["ranges"]) == sum(e["kind"] in ("nvtx_range", "nvtx_start_end") for e in rows), "calls, and NVTX ranges")
    call = next(e for e in rows if e["kind"] == "osrt_call" and e["callchain"])
    tap.ok(got["frames"] == [frame["address"] for frame in call["callchain"]] and got["attribute"] == got["calls"][0]["function"], "callchains; columns as attributes")
    tap.ok(not got["nobody"] and got["calls"][0] in got["window"] and got["results"] == 0, "filters")
    bad = script("import ncu_report, sys; ncu_report.load_report(sys.argv[1]).events('no_kind')", path)
    tap.ok(b"ValueError: unknown event kind 'no_kind'" in bad.err, "a kind that there is not", bad.err)
    bad = script("import ncu_report, sys; ncu_report.load_report(sys.argv[0])")
    tap.ok(b"ReportError" in bad.err and b"script.py" in bad.err, "a file that is not a report raises ReportError with its name", bad.err)


CUT = """
import sys, warnings
import ncu_report
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    report = ncu_report.load_report(sys.argv[1])
    actions = [action.name() for range_ in report for action in range_]
texts = [str(warning.message) for warning in caught]
assert all(warning.category is ncu_report.ReportWarning and warning.filename == sys.argv[0] for warning in caught)
assert bool(texts) == bool(report.problems()) == bool(report.problem_texts()) and len(texts) < 2
print(len(actions), len(list(report.events())), texts)
"""


def cut_off():
    """Check that a truncated report gives each whole result, and a warning with file and position."""
    place = folder()
    own, cut = os.path.join(place, "own.rep"), os.path.join(place, "cut.rep")
    run([os.path.join(PRODUCTS, "bin/trace"), "run", "-o", own, "--osrt-threshold", "0", "--", "/bin/ls", "/"], env=dict(os.environ), limit=60)
    for path in [own, *REPORTS]:
        with open(path, "rb") as whole:
            data = whole.read()
        said = []
        for size in (11, len(data) // 2, len(data) - 1, len(data)):
            with open(cut, "wb") as out:
                out.write(data[:size])
            result = script(CUT, cut)
            if not result.status:
                said.append(result.out.decode().strip().split(" ", 2))
                continue
            tap.ok(False, f"{os.path.basename(path)}: {size} bytes are read", result.err)
        wanted = f"'{cut}': the file is truncated at offset "
        counts = [int(results) + int(events) for results, events, _ in said]
        tap.ok(counts == sorted(counts) and counts[0] < counts[-1] and said[-1][2] == "[]" and all(wanted in text for *_, text in said[:-1]),
               f"{os.path.basename(path)}: cut off, {counts} results or events, and a warning", said)
    if not REPORTS:
        tap.skip("a damaged report is reported on standard error", "no fixtures of Nsight Compute in SHARED")
        return
    damaged = bytearray(data)
    damaged[222] ^= 255
    with open(cut, "wb") as out:
        out.write(damaged)
    plain = script("import ncu_report, sys; ncu_report.load_report(sys.argv[1])", cut)
    tap.ok(plain.status == 0 and b"ReportWarning: '" + cut.encode() in plain.err, "a damaged report is reported on standard error", plain.err)


def answers_of_all():
    if not REPORTS:
        tap.skip("ncu_report on reports of Nsight Compute", "no fixtures of Nsight Compute in SHARED")
        return
    with open(os.path.join(FIXTURES, "expected.json")) as source:
        expected = json.load(source)
    as_expected(expected)
    names_of_workloads()
    as_theirs()


if __name__ == "__main__":
    if not os.path.exists(LIBRARY) or os.environ.get("SAN"):
        tap.skip("ncu_report", "no libtrace-reader.so, or one with sanitizers, which Python cannot load")
        tap.finish()
    main(answers_of_all, surface, filters, events, cut_off)
