#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check that NVIDIA's ImportNvtxt accepts the output of `trace export --type nvtxt` and reads the same ranges and marks from it, and that
`trace import --strict` accepts and refuses the same files as ImportNvtxt, where docs/nvtxt.md says so. Skipped if ImportNvtxt is not installed.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib_nsys  # noqa: E402
from lib import Report, app, clean_env, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

TYPES = {"nvtx_mark": 65, "nvtx_range": 70, "nvtx_start_end": 71}
MS = 1000000

# Files in the language; True: ImportNvtxt accepts it, and --strict must accept it, too.
HEAD = "TimeBase = Manual\n@Marker, Time, Message\n"
SENTENCES = (
    (True, HEAD + "Marker, 1, a-b_9 # c"), (True, HEAD + "Marker, 1, 'a \"b\"',"), (True, HEAD + "Marker, 0x1F, \"a\\\"b\""), (True, "@Foo, Time\nFoo, 1"),
    (True, "Message = Time\n@Marker, $Message\nTimeBase = Manual\nMarker, 5"), (True, HEAD + "@Marker, Message, Time\nMarker, a, 1"), (True, HEAD + "@Marker, Message\nMarker, a"),
    (True, "TimeBase = Manual\n@RangePop, Time\nRangePop, 5"), (True, "TimeBase = Manual\n@RangeStartEnd, Start, End\nRangeStartEnd, 5, 5"),
    (True, "NameProcess, 5, p\nNameOsThread, 5, 6, t\nSetFileDisplayName, f"), (True, HEAD + "Color = Grey\nMarker, 1, a"),
    (False, HEAD + "Marker, 1, \"a"), (False, HEAD + "Marker, 1, \"a\\\\\""), (False, HEAD + "Marker, 1, a b"), (False, HEAD + "Marker, 12ab, b"), (False, HEAD + "Marker, 1, a.b"),
    (False, HEAD + "Marker, 1,, a"), (False, HEAD + "Marker 1, a"), (False, HEAD + "Marker, 1"), (False, HEAD + "Marker, 1, $Foo"), (False, HEAD + "Marker, 1, a\nMarker, 2, $Message"),
    (False, HEAD + "Marker, -1, a"), (False, HEAD + "Marker, 1, 17"), (False, HEAD + "Marker, \"1\", a"), (False, "ThreadId = 16777216"), (False, "CategoryId = 4294967296"),
    (False, "ProcessId = 16777216\n" + HEAD + "Marker, 1, a"), (False, "x = 5"), (False, "Color ="), (False, "Color = Red, Blue"), (False, "@Marker"), (False, "@Marker, 5"),
    (False, "@ Marker, Time"), (False, "5, 6"), (False, "Foo, 1"), (False, "@Marker, Time\nMarker, 1"), (False, "TimeBase = Qpc\n@Marker, Time\nMarker, 1"),
    (False, "TimeBase = Manual\n@Marker, Time, Foo\nMarker, 1, 2"), (False, "RangeStartEnd, 1, 5, Manual, 7, 8, 1, Red, m, 3"), (False, "NameCategory, 1, c"),
    (False, "TimeBase = Manual\n@RangePush, Time\n@RangePop, Time\nRangePush, 5\nRangePop, 3"), (False, HEAD + "Marker, 9223372036854775808, a"),
    (False, "@NameProcess, Name, ProcessId\nNameProcess, p, 5"),
)


CLOCKS = (("lerp", "50", "950", None, None, None), ("lerp", "150", "250", "1100", "1200", None), ("lin", "500", None, None, None, "30000000"),
          ("lin", "500", None, "1001", None, "30000000"), ("lerp", "7", "1000000007", "5", "3000", None))  # mode, ns-a, ns-b, nvtxt-a, nvtxt-b, freq


def import_nvtxt(path, *options):
    """Run ImportNvtxt. Return the events that it reads from a file, (type, start, end, text, color, pid, tid), its exit status and its messages."""
    place = folder()
    report = os.path.join(place, "o.nsys-rep")
    result = run([lib_nsys.program("ImportNvtxt"), "--cmd", "create", "-n", path, "-o", report, *options], env=clean_env(), cwd=place, limit=120)
    text = lib_nsys.export(report, "json") if os.path.exists(report) else None
    rows = []
    with open(text or os.devnull, encoding="utf-8", errors="replace") as source:
        for line in source:
            event = json.loads(line).get("NvtxtEvent") if '"NvtxtEvent"' in line else None
            if event:
                e = event["Nvtx"]
                tid, start = int(e["GlobalTid"]), int(e["Timestamp"])
                rows.append((e["Type"], start, int(e.get("EndTimestamp", start)), e.get("Text", ""), int(e.get("Color", 0)), tid >> 24 & 0xffffff, tid & 0xffffff))
    return sorted(rows), result.status, result.out.decode(errors="replace") + result.err.decode(errors="replace")


def ours(report):
    """Return the events of a report in the same form, without what NVTXT cannot express."""
    rows = []
    for kind, number in TYPES.items():
        for e in Report(report).events("--kind", kind):
            start = e["time_ns"] if kind == "nvtx_mark" else e["start_ns"]
            duration = e.get("duration_ns", 0)
            text = f"{e['domain']}:{e['text']}" if e["domain"] else e["text"]
            text = "".join(c for c in text if not "\udc80" <= c <= "\udcff")  # ImportNvtxt removes bytes that are not UTF-8
            rows.append((number, start, start + (duration or number == 71), text, int(e["color"], 16), e["pid"], e["tid"]))
    origin = min(row[1] for row in rows) // MS * MS
    return sorted((t, s - origin, e - origin, text, color, pid, tid) for t, s, e, text, color, pid, tid in rows)


def exports_are_read():
    if not lib_nsys.program("ImportNvtxt"):
        tap.skip("exports are read by ImportNvtxt", "it is not installed; NSIGHT_SYSTEMS names the folder of nsys")
        return
    for name in ("nvtx_calls", "nvtx_peer", "nvtx_cxx", "nvtx_fork", "nvtx_open"):
        if not os.path.exists(app(name)):
            tap.skip(name, "not built: no headers of NVTX")
            continue
        place, spool = folder(), spool_folder()
        report, text = os.path.join(place, "r.rep"), os.path.join(place, "r.nvtxt")
        run([app(name)], env=traced_env(report, spool), cwd=place)
        wait_spool_gone(spool, 30)
        trace("export", "-t", "nvtxt", "-o", text, report)
        theirs, status, messages = import_nvtxt(text)
        mine = ours(report)
        tap.ok(status == 0 and f"{len(mine) + sum(row[0] == 70 for row in mine)} events imported" in messages, f"{name}: accepted, {len(mine)} ranges and marks", messages)
        tap.ok(theirs == mine, f"{name}: the same ranges, threads, texts and colors", "\n".join(
            [f"wanted {row}" for row in mine if row not in theirs][:10] + [f"   got {row}" for row in theirs if row not in mine][:10]))


def the_language_is_the_same():
    if not lib_nsys.program("ImportNvtxt"):
        tap.skip("--strict refuses what ImportNvtxt refuses", "it is not installed")
        return
    place = folder()
    for taken, text in SENTENCES:
        path = os.path.join(place, "x.nvtxt")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text + "\n")
        _, status, messages = import_nvtxt(path)
        strict = trace("import", "--strict", path)
        tap.ok((status == 0, strict.status == 0) == (taken, taken), f"{'taken' if taken else 'refused'} by both: {text.splitlines()[-1]!r}",
               f"ImportNvtxt: {status} {messages[:300]}\nours: {strict.status} {strict.err.decode()}")


def the_clock_is_the_same():
    if not lib_nsys.program("ImportNvtxt"):
        tap.skip("--mode converts times as ImportNvtxt does", "it is not installed")
        return
    place, spool = folder(), spool_folder()
    base, notes = os.path.join(place, "r.rep"), os.path.join(place, "x.nvtxt")
    run(["/bin/true"], env=traced_env(base, spool), cwd=place)
    wait_spool_gone(spool, 30)
    with open(notes, "w", encoding="utf-8") as out:
        out.write("TimeBase = Manual\n@Marker, Time\nMarker, 1000\nMarker, 1001\nMarker, 3000\nMarker, 2999\n")
    for number, clock in enumerate(CLOCKS):
        given = list(zip(("mode", "ns-a", "ns-b", "nvtxt-a", "nvtxt-b", "freq"), clock))
        theirs, _, messages = import_nvtxt(notes, *[word for name, value in given if value for word in ("--" + name.replace("-", "_"), value)])
        output = os.path.join(place, f"{number}.rep")
        trace("import", notes, "--into", base, "-o", output, *[word for name, value in given if value for word in ("--" + name, value)])
        mine = sorted(e["time_ns"] for e in Report(output).events("--kind", "nvtx_mark", "--absolute"))
        origin = min(mine, default=0) // MS * MS
        tap.ok(len(mine) == 4 and [row[1] for row in theirs] == [ns - origin for ns in mine], f"--mode {' '.join(filter(None, clock))}: the same times", (theirs, mine, messages))


main(exports_are_read, the_language_is_the_same, the_clock_is_the_same)
