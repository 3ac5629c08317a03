#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check the output of `trace` about callchains by independent parsers: Python's json and csv, a parser of folded stacks, the schema of
speedscope.

The report is written by tests/unit/test_reader_profile, with its names stored in it.
"""
import collections
import csv
import glob
import io
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib  # noqa: E402
from lib import BUILD, TRACE, app, folder, main, recorded, tap  # noqa: E402
from libwire import fields, one, varint  # noqa: E402

MAKER = os.path.join(BUILD, "tests/unit/test_reader_profile")
PLACE = folder()
REPORT = os.path.join(PLACE, "chains.rep")
UNNAMED = re.compile(r"(\S+\+)?0x[0-9a-f]+|\[not in the file\]")
NESTED = ["main", "run(int; char)", "helper", 'std::inl<"x">', "read"]


def trace(*arguments):
    done = subprocess.run([TRACE, *arguments], capture_output=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f"trace {arguments}: {done.returncode} {done.stderr!r}")
    return done.stdout


def exported(kind, *options):
    return trace("export", "--type", kind, "--output", "-", *options, REPORT)


def dump_is_json():
    rows = [json.loads(line) for line in trace("dump", "--json", "--kind", "osrt_call", REPORT).splitlines()]
    chains = [[frame["function"] for frame in row["callchain"]] for row in rows]
    tap.ok([*reversed(NESTED[:-1])] in chains, "dump --json has the chain, innermost first", chains)
    frames = next(row["callchain"] for row in rows if len(row["callchain"]) == 4)
    tap.ok([f["inlined"] for f in frames] == [True, False, False, False], "inlined frames are marked", frames)
    tap.ok((frames[0]["file"], frames[0]["line"], frames[1]["offset"]) == ('/src/inl "q".h', 3, 24), "inlined frames have line and offset", frames)
    tap.ok(any(f.get("reason") == "no such file" for row in rows for f in row["callchain"]), "an unresolved frame has a reason", rows)
    raw = [json.loads(line) for line in trace("dump", "--json", "--no-symbols", REPORT).splitlines()]
    keys = {key for row in raw for frame in row.get("callchain", []) for key in frame}
    tap.ok(keys == {"address"}, "--no-symbols gives addresses alone", keys)


def dump_is_for_grep():
    lines = trace("dump", REPORT).decode("utf-8", "surrogateescape").splitlines()
    found = [line for line in lines if re.search(r'callchain="[^"]*helper <- run\(int; char\) <- main"', line.replace('\\"', "'"))]
    tap.ok(len(found) == 2, "a chain is found by one pattern on the line of its call", lines)


def statistics_agree():
    rows = list(csv.DictReader(io.StringIO(trace("stats", "-r", "callchain_tree", "-f", "csv", REPORT).decode())))
    tap.ok(all(set(row) == set(rows[0]) and None not in row.values() for row in rows), "callchain_tree as csv has all columns")
    total = sum(int(row["Self Time (ns)"]) for row in rows)
    roots = sum(int(row["Total Time (ns)"]) for row in rows if row["Depth"] == "0")
    tap.ok(total == roots == 1480, f"self times add up to the totals of the roots: {total}, {roots}")
    flat = json.loads(trace("stats", "-r", "callchain_flat", "-f", "json", "-w", "count", REPORT))
    by_name = {row["Name"]: row for row in flat}
    tap.ok(sum(row["Self Time (ns)"] for row in flat) == total, "callchain_flat has the same sum")
    tap.ok(by_name["run(int; char)"]["Calls"] == 4, "recursion counts once", by_name["run(int; char)"])
    some = json.loads(trace("stats", "-r", "callchain_flat", "-f", "json", "--name", "poll", "--thread", "100", REPORT))
    tap.ok({row["Name"] for row in some} == {"main", "run(int; char)", "poll"}, "filters choose calls", some)


def parse_folded(text):
    stacks = {}
    for line in text.decode("utf-8").splitlines():
        match = re.fullmatch(r"(.+) (\d+)", line)  # the pattern of flamegraph.pl
        frames = match.group(1).split(";")
        if tuple(frames) in stacks:
            raise ValueError(f"twice: {line}")
        stacks[tuple(frames)] = int(match.group(2))
    return stacks


def folded():
    stacks = parse_folded(exported("folded"))
    wanted = ("app (100)", "main (100)", *(name.replace(";", ":") for name in NESTED))
    tap.ok(stacks.get(wanted) == 200, "folded: process, thread, functions, weight", stacks)
    tap.ok(sum(stacks.values()) == 1480, "folded weights add up", stacks)
    tap.ok(sum(parse_folded(exported("folded", "-w", "count")).values()) == 6, "folded weights can count calls")
    raw = parse_folded(exported("folded", "--no-symbols"))
    unnamed = [frame for stack in raw for frame in stack[2:-1] if not UNNAMED.fullmatch(frame)]
    tap.ok(raw and not unnamed and sum(raw.values()) == 1480, "folded --no-symbols: module and offset alone, the same weights", raw)
    tool = shutil.which("flamegraph.pl")
    if not tool:
        tap.skip("flamegraph.pl draws it", "no flamegraph.pl")
        return
    drawn = subprocess.run([tool], input=exported("folded"), capture_output=True, timeout=60)
    tap.ok(drawn.returncode == 0 and b"std::inl" in drawn.stdout, "flamegraph.pl draws it", drawn.stderr)


def numbers(packed):
    """Return the numbers of a packed field, of which a message may have several pieces."""
    found = []
    for piece in packed:
        at = 0
        while at < len(piece):
            value, at = varint(piece, at)
            found.append(value)
    return found


def pprof_samples(profile):
    """Return [(labels as [(key, value)], values)] of a parsed profile of pprof."""
    texts = [text.decode() for text in profile[6]]
    return [([(texts[one(label, 1)], texts[one(label, 2)]) for label in map(fields, of[3])], numbers(of[2])) for of in map(fields, profile[2])]


def parse_pprof(data):
    """Return (types of values, {stack as in folded: values}, {function: (file, line, module)}) of a profile of pprof, by its specification profile.proto."""
    profile = fields(data)
    texts = [text.decode() for text in profile[6]]
    functions = {one(of, 1): of for of in map(fields, profile[5])}
    mappings = {one(of, 1): texts[one(of, 5)] for of in map(fields, profile[3])}
    names, places = {}, {}
    for of in map(fields, profile[4]):
        line, = map(fields, of[4])
        function = functions[one(line, 1)]
        name = names[one(of, 1)] = texts[one(function, 2)]
        places[name] = texts[one(function, 4)], one(line, 2), mappings.get(one(of, 2))
    stacks = {}
    for of in map(fields, profile[2]):
        labels = {texts[one(label, 1)]: texts[one(label, 2)].replace(";", ":") for label in map(fields, of[3])}
        stack = (labels["process"], labels["thread"], *(names[number].replace(";", ":") for number in reversed(numbers(of[1]))))
        if stack in stacks:
            raise ValueError(f"twice: {stack}")
        stacks[stack] = numbers(of[2])
    types = [(texts[one(of, 1)], texts[one(of, 2)]) for of in map(fields, profile[1])]
    return types, texts[0], texts[one(profile, 14)], stacks, places


def pprof():
    types, first, shown, stacks, places = parse_pprof(exported("pprof"))
    tap.ok(types == [("calls", "count"), ("time", "nanoseconds")] and first == "" and shown == "time", "pprof: two values, by time at first", (types, first, shown))
    for value, weight in enumerate(("count", "time")):
        wanted = parse_folded(exported("folded", "-w", weight))
        found = {stack: values[value] for stack, values in stacks.items() if values[value]}
        tap.ok(found == wanted, f"pprof: callchains and {weight} as folded has them", (found, wanted))
    tap.ok(places['std::inl<"x">'][:2] == ('/src/inl "q".h', 3) and any(module for _, _, module in places.values()), "pprof: file, line and module", places)
    tap.ok(parse_pprof(exported("pprof", "-w", "count"))[2] == "calls", "pprof --weight count: calls at first")


def pprof_labels():
    """Check the labels process, thread and nvtx against the events: a call is in the ranges of its thread that are open when it begins."""
    if not os.path.exists(app("nvtx_chains")):
        tap.skip("pprof: labels", "no nvtx_chains: built without NVTX")
        return
    report = recorded([app("nvtx_chains")], LIBTRACE_OSRT_BACKTRACE_THRESHOLD=0)
    events = report.events() if report else []
    ranges = [e for e in events if e["kind"] == "nvtx_range" and "unfinished" not in str(e.get("flags"))]
    wanted, names = collections.defaultdict(lambda: [0, 0]), set()
    for e in events:
        if e["kind"] == "osrt_call" and e.get("callchain"):
            around = sorted((r for r in ranges if r["tid"] == e["tid"] and r["start_ns"] <= e["start_ns"] < r["start_ns"] + r["duration_ns"]), key=lambda r: (r["start_ns"], -r["duration_ns"]))
            entry = wanted[e["tid"], tuple(f"{r.get('domain') or ''}:{r['text']}" for r in around)]
            entry[0] += 1
            entry[1] += e["duration_ns"]
            names.add(e["pid"])
    path = os.path.join(os.path.dirname(report.path), "labels.pprof") if report else None
    done = report and lib.trace("export", "-t", "pprof", "-o", path, report.path).status == 0
    if not tap.ok(done and wanted, "pprof: a program with ranges", wanted):
        return
    have = collections.defaultdict(lambda: [0, 0])
    with open(path, "rb") as file:
        samples = pprof_samples(fields(file.read()))
    for labels, values in samples:
        one_of = dict(labels)
        tid = int(re.search(r"\((\d+)\)$", one_of["thread"]).group(1))
        entry = have[tid, tuple(value for key, value in labels if key == "nvtx")]
        entry[0] += values[0]
        entry[1] += values[1]
    tap.ok(any(ranges for _, ranges in have) and {key: tuple(v) for key, v in have.items()} == {key: tuple(v) for key, v in wanted.items()},
           "pprof: a sample has a label nvtx for each range around its calls", (dict(have), dict(wanted)))
    tap.ok(all({"process", "thread"} <= dict(labels).keys() and re.search(r"\((\d+)\)$", dict(labels)["process"]) and "thread (" not in dict(labels)["thread"] for labels, _ in samples)
           and {int(re.search(r"\((\d+)\)$", dict(labels)["process"]).group(1)) for labels, _ in samples} == names, "and process and thread, by name", samples[:3])


def schema_path():
    """Return the path of the schema in speedscope's npm package, which is installed or fetched; None if neither is possible."""
    if not shutil.which("npm"):
        return None
    root = subprocess.run(["npm", "root", "-g"], capture_output=True, text=True, timeout=lib.HANG_S).stdout.strip()
    installed = glob.glob(os.path.join(root, "speedscope/dist/release/file-format-schema*.json"))
    if installed:
        return installed[0]
    try:
        subprocess.run(["npm", "pack", "--silent", "speedscope"], cwd=PLACE, capture_output=True, timeout=40, check=True)
        subprocess.run(["tar", "xzf", *glob.glob(os.path.join(PLACE, "speedscope-*.tgz"))], cwd=PLACE, timeout=30, check=True)
    except (subprocess.SubprocessError, OSError):
        return None
    return next(iter(glob.glob(os.path.join(PLACE, "package/dist/release/file-format-schema*.json"))), None)


def speedscope():
    for weight, unit, whole in (("time", "nanoseconds", 1480), ("count", "none", 6)):
        scope = json.loads(exported("speedscope", "--weight", weight))
        frames = [frame["name"] for frame in scope["shared"]["frames"]]
        sums = 0
        weighted = [profile for profile in scope["profiles"] if profile["type"] != "evented"]
        for profile in weighted:
            held = (profile["type"], profile["unit"], profile["startValue"]) == ("sampled", unit, 0)
            held &= len(profile["samples"]) == len(profile["weights"]) and sum(profile["weights"]) == profile["endValue"]
            held &= all(0 <= frame < len(frames) for sample in profile["samples"] for frame in sample)
            tap.ok(held, f"speedscope, {weight}: {profile['name']!r} is consistent", profile)
            sums += profile["endValue"]
        chains = [[frames[i] for i in sample] for profile in weighted for sample in profile["samples"]]
        tap.ok(NESTED in chains and sums == whole, f"speedscope, {weight}: chains and sum", chains)
    raw = json.loads(exported("speedscope", "--no-symbols"))
    called = {json.loads(line)["function"] for line in trace("dump", "--json", "--kind", "osrt_call", REPORT).splitlines()}
    unnamed = [f for f in raw["shared"]["frames"] if f["name"] not in called and (not UNNAMED.fullmatch(f["name"]) or "line" in f)]
    tap.ok(raw["profiles"] and not unnamed, "speedscope --no-symbols: module and offset alone", unnamed)
    path = schema_path()
    try:
        import jsonschema
    except ImportError:
        path = None
    if path is None:
        tap.skip("speedscope's own schema", "no npm, no network, or no jsonschema")
        return
    with open(path, encoding="utf-8") as file:
        try:
            jsonschema.validate(json.loads(exported("speedscope")), json.load(file))
            tap.ok(True, "speedscope's own schema")
        except jsonschema.ValidationError as error:
            tap.ok(False, "speedscope's own schema", error)


def stacks_of(events):
    """Replay the events of an evented profile: [(time, stack)] after each time; None if they are not well-formed."""
    stack, last, found = [], 0, []
    for event in events:
        if event["at"] < last or (event["type"] == "C" and (not stack or stack.pop() != event["frame"])):
            return None
        if event["type"] == "O":
            stack.append(event["frame"])
        if found and found[-1][0] == event["at"]:
            found.pop()
        found.append((event["at"], tuple(stack)))
        last = event["at"]
    return None if stack else found


def over_time():
    """Compare the events with the calls that `trace dump` prints."""
    scope = json.loads(exported("speedscope"))
    frames = [frame["name"] for frame in scope["shared"]["frames"]]
    kinds = [profile["type"] for profile in scope["profiles"]]
    tap.ok(kinds[0] == "evented" and kinds == sorted(kinds) and "sampled" in kinds, "profiles over time come first, weighted ones after them", kinds)
    calls = [json.loads(line) for line in trace("dump", "--json", "--kind", "osrt_call", REPORT).splitlines()]
    seen = 0
    for profile in (p for p in scope["profiles"] if p["type"] == "evented"):
        steps = stacks_of(profile["events"])
        tid = int(re.search(r"\((\d+)\), over time$", profile["name"])[1])
        tap.ok(steps is not None and steps[-1][0] <= profile["endValue"] and profile["startValue"] == 0, f"{profile['name']!r}: frames nest and are all closed", profile)
        for call in (c for c in calls if c["tid"] == tid and c["duration_ns"]):
            at = max(step for step in (steps or [(0, ())]) if step[0] <= call["start_ns"])
            names = [frames[i] for i in at[1]]
            chain = [f["function"] for f in reversed(call.get("callchain", ())) if f["function"]]
            tap.ok(names[-1:] == [call["function"]] and [n for n in names if n in chain] == chain, f"{call['function']} at {call['start_ns']} is open below its callers", (names, call))
            seen += 1
    tap.ok(seen >= 5, "calls were compared", seen)


def default_names():
    trace("export", "--type", "speedscope", REPORT)
    trace("export", "--type", "folded", REPORT)
    names = sorted(os.listdir(PLACE))
    tap.ok({"chains.folded", "chains.speedscope.json"} <= set(names), "exports without -o have their default names", names)


def without_callchains():
    empty = os.path.join(PLACE, "sample.rep")
    subprocess.run([MAKER, "--save-without", empty], check=True, timeout=120)
    table = trace("stats", "-r", "callchain_tree", empty).decode()
    tap.ok("does not contain callchain data" in table, "a report without callchains says so", table)
    done = subprocess.run([TRACE, "export", "-t", "folded", empty], capture_output=True, timeout=60, check=False)
    tap.ok(done.returncode == 2 and done.stderr.decode() == f"trace: '{empty}': nothing to export as folded\n" and not os.path.exists(os.path.join(PLACE, "sample.folded")),
           "folded: a report without callchains is not exported", done)
    scope = json.loads(trace("export", "-t", "speedscope", "-o", "-", empty))
    kinds = {profile["type"] for profile in scope["profiles"]}
    tap.ok(kinds == {"evented"}, "speedscope: a report without callchains gives profiles over time alone", scope)


subprocess.run([MAKER, "--save", REPORT], check=True, timeout=120)
main(dump_is_json, dump_is_for_grep, statistics_agree, folded, pprof, pprof_labels, speedscope, over_time, default_names, without_callchains)
