#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
"""Check `trace export -t otlp` by OpenTelemetry's own module of PyPI, against the profile of pprof, which callchain_formats.py checks against the events; and
`-t firefox` against the events. tests/peers/viewers.py opens the latter in Firefox's own viewer."""
import collections
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _packages import PACKAGES, fetch  # noqa: E402
from lib import BUILD, app, folder, main, recorded, tap, trace  # noqa: E402
from libwire import fields, one  # noqa: E402

OTLP = ("opentelemetry-proto==1.45.2", "protobuf==6.33.2")
MAKER = os.path.join(BUILD, "tests/unit/test_reader_profile")
PLACE = folder()
REPORT = os.path.join(PLACE, "chains.rep")
TABLES = ("mapping", "location", "function", "link", "string", "attribute", "stack")


def exported(kind, path, *options):
    return trace("export", "-t", kind, "-o", "-", *options, path).out


def numbers(packed):
    """Return the numbers of a packed field."""
    found, value, shift = [], 0, 0
    for byte in b"".join(packed):
        value, shift = value | (byte & 127) << shift, shift + 7
        if byte < 128:
            found.append(value)
            value = shift = 0
    return found


def of_pprof(data):
    """Return {(pid, tid, NVTX ranges, functions from the outermost, files and lines): (count, ns)} of a profile of pprof."""
    profile = fields(data)
    texts = [text.decode() for text in profile[6]]
    functions = {one(of, 1): (texts[one(of, 2)], texts[one(of, 4)]) for of in map(fields, profile[5])}
    places, found = {}, collections.Counter()
    for of in map(fields, profile[4]):
        line, = map(fields, of[4])
        places[one(of, 1)] = (*functions[one(line, 1)], one(line, 2))
    for of in map(fields, profile[2]):
        labels = [(texts[one(label, 1)], texts[one(label, 2)]) for label in map(fields, of[3])]
        pid, tid = (int(re.search(r"\((\d+)\)$", dict(labels)[key])[1]) for key in ("process", "thread"))
        key = pid, tid, tuple(value for name, value in labels if name == "nvtx"), tuple(places[n] for n in reversed(numbers(of[1])))
        for value, weight in zip(numbers(of[2]), ("calls", "time")):
            found[(weight, *key)] += value
    return {key: value for key, value in found.items() if value}


def of_otlp(data, module):
    """Return (the same of a ProfilesData, the types of its profiles, its dictionary)."""
    whole = module.ProfilesData.FromString(data)
    d, found = whole.dictionary, collections.Counter()
    functions = [(d.string_table[f.name_strindex], d.string_table[f.filename_strindex]) for f in d.function_table]
    profiles = [p for r in whole.resource_profiles for s in r.scope_profiles for p in s.profiles]
    types = [(d.string_table[p.sample_type.type_strindex], d.string_table[p.sample_type.unit_strindex]) for p in profiles]
    for profile, (kind, _) in zip(profiles, types):
        for sample in profile.samples:
            rows = [d.attribute_table[i] for i in sample.attribute_indices]
            given = {d.string_table[row.key_strindex]: row.value for row in rows}
            if len(given) != len(rows):
                raise ValueError(f"an attribute twice: {rows}")
            ranges = tuple(v.string_value for v in given["nvtx.ranges"].array_value.values) if "nvtx.ranges" in given else ()
            lines = [d.location_table[i].lines[0] for i in d.stack_table[sample.stack_index].location_indices]
            stack = tuple((*functions[line.function_index], line.line) for line in reversed(lines))
            found[(kind, given["process.pid"].int_value, given["thread.id"].int_value, ranges, stack)] += sample.values[0]
    return dict(found), types, whole


def dictionary_holds(whole):
    """Return what breaks the rules of the dictionary: first rows are empty, no row twice, none without use."""
    d, wrong = whole.dictionary, []
    for name in TABLES:
        rows = [row if name == "string" else row.SerializeToString(deterministic=True) for row in getattr(d, f"{name}_table")]
        if not rows or rows[0] or len(set(rows)) != len(rows):
            wrong.append((name, rows[:3], len(rows), len(set(rows))))
    profiles = whole.resource_profiles[0].scope_profiles[0].profiles
    stacks = {s.stack_index for p in profiles for s in p.samples}
    attributes = {i for p in profiles for s in p.samples for i in s.attribute_indices}
    for name, used in (("stack", stacks), ("attribute", attributes)):
        if used != set(range(1, len(getattr(d, f"{name}_table")))):
            wrong.append((name, "not used"))
    return wrong


def module_of_otlp():
    """Return OpenTelemetry's module, or None and the reason."""
    missing = fetch(OTLP)
    if missing:
        return None, missing
    sys.path.insert(0, PACKAGES)
    from opentelemetry.proto.profiles.v1development import profiles_pb2  # noqa: PLC0415
    return profiles_pb2, None


def otlp():
    module, reason = module_of_otlp()
    if not module:
        tap.skip("otlp: read by opentelemetry-proto", reason)
        return
    reports = [REPORT]
    if os.path.exists(app("nvtx_chains")):
        ranges = recorded([app("nvtx_chains")], LIBTRACE_OSRT_BACKTRACE_THRESHOLD=0)
        tap.ok(ranges is not None, "a program with NVTX ranges is recorded")
        reports += [ranges.path] if ranges else []
    else:
        tap.skip("otlp: NVTX ranges", "no nvtx_chains: built without NVTX")
    for path in reports:
        wanted = of_pprof(exported("pprof", path))
        found, types, whole = of_otlp(exported("otlp", path), module)
        tap.ok(found == wanted and found, f"otlp: {os.path.basename(path)}: what pprof has: callchains with lines, process, thread, ranges, count and time", (found, wanted))
        tap.ok(types == [("time", "nanoseconds"), ("calls", "count")], "two profiles, by time at first", types)
        wrong = dictionary_holds(whole)
        tap.ok(not wrong, "rules of the dictionary hold", wrong)
    counted = of_otlp(exported("otlp", REPORT, "-w", "count"), module)[1]
    tap.ok(counted[0] == ("calls", "count"), "--weight count: calls at first", counted)
    tap.ok(any(key[3] for key in found) or len(reports) == 1, "samples have ranges", list(found)[:5])


def firefox_stack(thread, row):
    """Return the functions of a stack, the innermost first."""
    found, texts = [], thread["stringArray"]
    while row is not None:
        function = thread["frameTable"]["func"][thread["stackTable"]["frame"][row]]
        found.append(texts[thread["funcTable"]["name"][function]])
        row = thread["stackTable"]["prefix"][row]
    return tuple(found)


def firefox_tables_hold(thread):
    """Return what is wrong: columns of another length than their table's, or numbers of rows that do not exist."""
    wrong = []
    for name in ("samples", "markers", "stackTable", "frameTable", "funcTable", "resourceTable"):
        table = thread[name]
        wrong += [(name, column) for column, values in table.items() if isinstance(values, list) and len(values) != table["length"]]
    stacks = thread["stackTable"]
    wrong += [("prefix", at) for at, prefix in enumerate(stacks["prefix"]) if prefix is not None and not 0 <= prefix < at]
    of = {"frameTable": stacks["frame"], "funcTable": thread["frameTable"]["func"], "stackTable": [s for s in thread["samples"]["stack"] if s is not None]}
    wrong += [(name, row) for name, rows in of.items() for row in rows if not 0 <= row < thread[name]["length"]]
    return wrong


def firefox_rows(profile):
    """Return two Counters: of samples (tid, ns, processor time, functions) and of markers (kind, tid, name, start, end or None, functions, arguments)."""
    samples, markers = collections.Counter(), collections.Counter()
    for t in profile["threads"]:
        texts, s, m = t["stringArray"], t["samples"], t["markers"]
        for stack, ms, weight, used in zip(s["stack"], s["time"], s["weight"], s["threadCPUDelta"]):
            if round(weight * 1e6) == used:
                samples[t["tid"], round(ms * 1e6), used, firefox_stack(t, stack)] += 1
        for name, start, end, phase, data in zip(m["name"], m["startTime"], m["endTime"], m["phase"], m["data"]):
            ends = round(end * 1e6) if phase == 1 else None
            markers[data["type"], t["tid"], texts[name], round(start * 1e6), ends, firefox_stack(t, data["cause"]["stack"]) if "cause" in data else ()] += 1
    return samples, markers


def functions_of(event):
    return tuple(frame["function"] for frame in event.get("callchain") or ())


def firefox():
    if not os.path.exists(app("nvtx_chains")):
        tap.skip("firefox", "no nvtx_chains: built without NVTX")
        return
    slices = {"osrt_call": ("function", "duration_ns"), "nvtx_range": ("text", "duration_ns"), "nvtx_mark": ("text", None)}
    for command, kinds in (([app("nvtx_chains")], slices), ([app("sampled"), "split", "300"], {"osrt_call": slices["osrt_call"]})):
        report = recorded(command, LIBTRACE_OSRT_BACKTRACE_THRESHOLD=0, LIBTRACE_SAMPLE="process-tree", LIBTRACE_SAMPLING_FREQUENCY="1000")
        if not report:
            return
        events = report.events()
        profile = json.loads(exported("firefox", report.path).decode("utf-8", "surrogateescape"))
        samples, markers = firefox_rows(profile)
        wanted = collections.Counter((e["tid"], e["time_ns"], e["cpu_time_ns"], functions_of(e)) for e in events if e["kind"] == "cpu_sample")
        what = os.path.basename(command[0])
        tap.ok(samples == wanted, f"firefox: {what}: every CPU sample, with its time and functions", (samples - wanted, wanted - samples))
        wanted = collections.Counter()
        for e in events:
            if e["kind"] in kinds:
                name, duration = kinds[e["kind"]]
                start = e.get("start_ns", e.get("time_ns"))
                wanted[e["kind"], e["tid"], e[name], start, start + e[duration] if duration else None, functions_of(e)] += 1
        found = collections.Counter({key: count for key, count in markers.items() if key[0] in kinds})
        tap.ok(found == wanted and found, f"firefox: {what}: calls, ranges and marks are markers, with times and functions", (found - wanted, wanted - found))
        wrong = [row for thread in profile["threads"] for row in firefox_tables_hold(thread)]
        tap.ok(not wrong and len(profile["threads"]), "its tables fit together", wrong)
        schemas = {schema["name"]: {field["key"] for field in schema["data"]} for schema in profile["meta"]["markerSchema"]}
        unknown = [data for t in profile["threads"] for data in t["markers"]["data"] if set(data) - {"type", "cause"} - schemas.get(data["type"], set())]
        tap.ok(not unknown, "every datum of a marker is in the schema of its kind", unknown[:3])
    tap.ok(samples, "there were samples", command)


def nothing_to_export():
    empty = os.path.join(PLACE, "empty.rep")
    subprocess.run([MAKER, "--save-without", empty], check=True, timeout=120)
    done = trace("export", "-t", "otlp", "-o", os.path.join(PLACE, "x"), empty)
    tap.ok(done.status == 2 and done.err.decode() == f"trace: '{empty}': nothing to export as otlp\n" and not os.path.exists(os.path.join(PLACE, "x")),
           "otlp: a report without callchains is not exported", done)


subprocess.run([MAKER, "--save", REPORT], check=True, timeout=120)
main(otlp, firefox, nothing_to_export)
