#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check that `trace import` adds text annotations to a report, and that `trace export --type nvtxt` writes them again without loss.

Our results for the fixtures in SHARED are compared with those of NVIDIA's importer. tests/peers/nvtxt_importnvtxt.py tests the opposite direction.
"""
import glob
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import Report, app, fixtures, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone, wait_until  # noqa: E402

NVTX_KINDS = ("nvtx_mark", "nvtx_range", "nvtx_start_end", "nvtx_name")
FIXTURES = fixtures("nvtxt")
OPAQUE_BLACK = 0xff000000  # the color that NVIDIA's importer uses if none is set


def recorded(name, argv):
    """Trace a program in a folder of its own; return its report."""
    place, spool = folder(), spool_folder()
    path = os.path.join(place, name)
    run(argv, env=traced_env(path, spool), cwd=place)
    wait_spool_gone(spool)
    return path


def written(text, name="notes.nvtxt", place=None):
    path = os.path.join(place or folder(), name)
    with open(path, "wb") as out:
        out.write(text if isinstance(text, bytes) else text.encode())
    return path


def content(path):
    with open(path, "rb") as source:
        return source.read()


def imported(*arguments):
    return trace("import", *arguments)


def events(path, absolute=False):
    """Return the NVTX events of a report without what differs between reports: process ids, and the flag of imported events."""
    report = Report(path)
    found = [e for kind in NVTX_KINDS for e in report.events("--kind", kind, *(["--absolute"] if absolute else []))]
    for e in found:
        e.pop("process")
        if "flags" in e:
            e["flags"] = [flag for flag in e["flags"] if flag != "imported"]
    return sorted(found, key=lambda e: json.dumps(e, sort_keys=True))


def sound(path):
    checked = Report(path).check()
    return checked.status == 0 and "sound" in checked.out.decode()


# ---- fixtures ----

def normal_of_nvidia(expected):
    """Return (type, start, end, text, color, pid, tid) from NVIDIA's JSON."""
    rows = []
    for e in expected["events"]:
        if "META" in e:
            continue
        tid = int(e["GlobalTid"])
        start = int(e["Timestamp"])
        rows.append((e["Type"], start, int(e.get("EndTimestamp", start)), e.get("Text", ""), e.get("Color", 0), tid >> 24 & 0xffffff, tid & 0xffffff))
    return sorted(rows)


def normal_of_ours(path):
    types = {"nvtx_mark": 65, "nvtx_range": 70, "nvtx_start_end": 71}
    rows, names = [], []
    for e in (e for kind in NVTX_KINDS for e in Report(path).events("--kind", kind, "--absolute")):
        if "imported" in e.get("flags", []):
            start = e["time_ns"] if e["kind"] == "nvtx_mark" else e["start_ns"]
            rows.append((types[e["kind"]], start, start + e.get("duration_ns", 0), e["text"], int(e["color"], 16) or OPAQUE_BLACK, e["pid"], e["tid"]))
        elif e["kind"] == "nvtx_name" and e["what"] in ("process", "thread"):
            names.append((e["what"], e["pid"], e["identifier"], e["name"]))
    origin = min((r[1] for r in rows), default=0) // 1000000 * 1000000
    return sorted((t, s - origin, e - origin, text, color, pid, tid) for t, s, e, text, color, pid, tid in rows), sorted(names)


def names_of_nvidia(expected):
    names = []
    for e in expected["events"]:
        meta = e.get("META", {})
        if meta.get("Type") == 73:
            pid = int(meta["Process"]["GlobalProcessId"]) >> 24
            names.append(("process", pid, pid, meta["Process"]["Name"]))
        elif meta.get("Type") == 72:
            tid = int(meta["Thread"]["GlobalThreadId"])
            names.append(("thread", tid >> 24, tid & 0xffffff, meta["Thread"]["Name"]))
    return sorted(names)


def display_name(path):
    imports = Report(path).info()["imports"]
    return imports[0]["display_name"] or imports[0]["name"]


def fixtures_as_nvidia_reads_them():
    files = sorted(glob.glob(os.path.join(FIXTURES, "*.nvtxt")))
    if not files:
        tap.skip("fixtures", "no fixtures of NVTXT beside the repository")
        return
    base = recorded("r.rep", ["/bin/true"])
    for file in files:
        with open(file[:-len("nvtxt")] + "expected.json", encoding="utf-8") as source:
            expected = json.load(source)
        report, name = shutil.copy(base, folder()), os.path.basename(file)
        strict = imported("--strict", file)
        result = imported(file, "--into", report)
        tap.ok((strict.status == 0) == (expected["rc"] == 0), f"{name}: --strict refuses what NVIDIA's importer refuses", strict.err)
        if expected["rc"]:
            tap.ok(result.status == 1 and b":7:1: range error: time base Qpc" in result.err, f"{name}: a missing option is reported with line and column", result.err)
            scaled = imported(file, "--into", report, "--mode", "lin", "--ns-a", "5000000000", "--freq", "10000000")
            rows = normal_of_ours(report)[0]
            tap.ok(scaled.status == 0 and [(r[2] - r[1], r[3]) for r in rows] == [(20906800, "My Message")], f"{name}: read with the rate of its ticks", rows)
            continue
        rows, names = normal_of_ours(report)
        tap.ok(result.status == 0 and sound(report), f"{name}: the file is added to a report", result.err)
        tap.ok(rows == normal_of_nvidia(expected), f"{name}: the report has the same events", f"wanted {normal_of_nvidia(expected)}\n   got {rows}")
        tap.ok(names == names_of_nvidia(expected), f"{name}: the report has the same names", f"wanted {names_of_nvidia(expected)}\n   got {names}")
        file_names = [e["META"]["File"]["Name"] for e in expected["events"] if e.get("META", {}).get("Type") == 74]
        tap.ok(display_name(report) == file_names[0] or file_names[0] == "x.nvtxt", f"{name}: the report has the same display name of the file", display_name(report))


# ---- import into a report ----

ANNOTATED = """TimeBase = Relative
@RangePush, Time, ProcessId, ThreadId, Message, Color, CategoryId, Payload
@RangePop, Time, ProcessId, ThreadId
@RangeStartEnd, Start, End, ProcessId, ThreadId, Message
@Marker, Time, ProcessId, ThreadId, Message
NameProcess, {pid}, "annotated"
NameOsThread, {pid}, {pid}, "main thread"
NameCategory, 7, "the seventh"
RangePush, 1000, {pid}, {pid}, "outer", SteelBlue, 7, 42
RangePush, 2000, {pid}, {pid}, "inner", 0xFF00FF00, 0, 0
RangePop, 3000, {pid}, {pid}
RangePop, 9000, {pid}, {pid}
RangeStartEnd, 1500, 2500, 99, 98, "of a process that was not traced"
Marker, 1234, {pid}, {pid}, 'said "so"'
"""


def annotations_join():
    report = recorded("r.rep", ["/bin/sleep", "0.01"])
    before, pid = Report(report).info(), Report(report).info()["processes"][0]["pid"]
    notes = written(ANNOTATED.format(pid=pid))
    result = imported(notes, "--into", report)
    tap.ok(result.status == 0 and b"3 ranges, 1 marks, 3 names" in result.out, "annotations are added", (result.out, result.err))
    tap.ok(sound(report), "the report is sound: receipts count them, too", Report(report).check())
    after = Report(report).info()
    tap.ok(sorted((p["pid"], p.get("imported_from")) for p in after["processes"]) == sorted([(pid, None), (0, "notes.nvtxt"), (99, "notes.nvtxt")]),
           "annotations belong to the process that the file names, or to one known from the file only", after["processes"])
    tap.ok(after["verdict"] == before["verdict"], "the verdict is the same", after["verdict"])
    ranges = {e["text"]: e for e in Report(report).events("--kind", "nvtx_range")}
    outer, inner = ranges["outer"], ranges["inner"]
    tap.ok((outer["start_ns"], outer["duration_ns"], outer["category"], outer["color"], outer["payload_type"], outer["payload"], outer["level"]) ==
           (1000, 8000, 7, "0xff4682b4", "int64", 42, 0) and (inner["start_ns"], inner["level"], inner["flags"]) == (2000, 1, ["imported"]),
           "dump shows them with all columns", (outer, inner))
    stats = trace("stats", "-r", "nvtx_pushpop_trace", "-f", "csv", report).out.decode()
    tap.ok(",--:inner" in stats and ",:outer" in stats, "statistics count them, and nest them", stats)
    database = report + ".sqlite"
    trace("export", "-t", "sqlite", "-o", database, report)
    rows = sqlite3.connect(database).execute("select text, end - start, color & 0xffffffff, globalTid >> 24 & 0xffffff from NVTX_EVENTS where text in "
                                             "('outer', 'of a process that was not traced') order by text").fetchall()
    tap.ok([(text, ns, owner) for text, ns, color, owner in rows] == [("of a process that was not traced", 1000, 99), ("outer", 8000, pid)] and
           rows[1][2] == 0xff4682b4, "the SQLite export has the annotations", rows)
    size = os.path.getsize(report)
    again = imported(notes, "--into", report)
    tap.ok(again.status == 0 and b"has it already" in again.err and os.path.getsize(report) == size, "a second time adds nothing", again.err)


def a_report_without_its_end():
    """Check an import into a report without an end: its processes stay unchanged, since `trace recover` may still finish it and count their events."""
    whole = recorded("r.rep", ["/bin/true"])
    pid = Report(whole).info()["processes"][0]["pid"]
    for bytes_left in (len(content(whole)) * 9 // 10, len(content(whole)) - 1):
        report = written(content(whole)[:bytes_left], "cut.rep")
        if any("receipt" in p for p in Report(report).info()["processes"]):
            continue
        before = Report(report).info()["processes"]
        result = imported(written(ANNOTATED.format(pid=pid)), "--into", report)
        after = Report(report).info()["processes"]
        tap.ok(result.status == 0 and [p for p in after if "imported_from" not in p] == before and
               (pid in [p["pid"] for p in after if "imported_from" in p]), f"a report cut at {bytes_left} bytes: what is known of its processes stays", (result, after))
        tap.ok("outer" in [e["text"] for e in Report(report).events("--kind", "nvtx_range")], "the annotations of the folder are in the report", result.err)


def writers_of(spool):
    """Return the pids of the writers that work on the folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = content(f"/proc/{pid}/cmdline") + content(f"/proc/{pid}/environ")
        except OSError:
            continue
        if b"libtrace-writer" in text.split(b"\0")[0] and spool.encode() in text:
            found.append(int(pid))
    return found


def recovered_afterwards():
    """Check the order: program and writer are killed, annotations are imported, and then `trace recover` adds the rest of the events."""
    place, spool = folder(), spool_folder()
    report = os.path.join(place, "r.rep")
    program = subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(0.001)"], env=traced_env(report, spool, LIBTRACE_FLUSH_INTERVAL=20))
    wait_until(lambda: os.path.exists(report) and os.path.getsize(report) > 20000 and writers_of(spool))
    for pid in writers_of(spool):
        os.kill(pid, signal.SIGKILL)
    program.kill()
    program.wait()
    wait_until(lambda: not writers_of(spool))
    notes = written(f"TimeBase = Relative\nProcessId = {program.pid}\n@Marker, Time, Message\nMarker, 5, a\nMarker, 6, b\n")
    incomplete = Report(report).check().status
    result = imported(notes, "--into", report)
    tap.ok(incomplete == 1 and result.status == 0, "annotations join a report that its writer left unfinished", result)
    recovered = trace("recover", os.path.join(spool, os.listdir(spool)[0]))
    tap.ok(recovered.status == 0 and sound(report) and [e["text"] for e in Report(report).events("--kind", "nvtx_mark")] == ["a", "b"],
           "trace recover finishes it then, and it is sound", (recovered, Report(report).check()))


def errors_leave_the_rest():
    report = recorded("r.rep", ["/bin/true"])
    notes = written("TimeBase = Manual\n@Marker, Time, Message\nMarker, 1, \"a\nMarker, 2, b\nMarker, -3, c\nMarker, 4\nMarker, 5, d\n")
    before = content(report)
    strict = imported("--strict", notes, "--into", report)
    tap.ok(strict.status == 1 and content(report) == before, "--strict adds nothing of a file with errors", (strict.out, strict.err))
    result = imported(notes, "--into", report)
    wanted = [b":3:12: lexing error: unterminated string", b":5:9: range error: Time: it must not be negative",
              b":6:1: parsing error: 1 values; the definition in line 2 has 2 arguments"]
    tap.ok(result.status == 1 and all(text in result.err for text in wanted), "each error is reported with line and column", result.err)
    tap.ok([e["text"] for e in Report(report).events("--kind", "nvtx_mark")] == ["b", "d"] and sound(report), "the rest of the file counts", result.out)
    nvidia = written("x = 5\nTimeBase = Manual\n@Marker, Time\nMarker, $x\n")
    lenient, strict = imported(nvidia), imported("--strict", nvidia)
    tap.ok((lenient.status, lenient.err, strict.status) == (0, b"", 1) and b":1:1: ImportNvtxt refuses: variable 'x' is not an argument" in strict.err,
           "--strict says what NVIDIA's importer refuses; without it that is taken", strict.err)


def nothing_is_lost_when_it_fails():
    report = recorded("r.rep", ["/bin/true"])
    before = content(report)
    notes = written("TimeBase = Manual\n@Marker, Time, Message\n" + "".join(f"Marker, {n}, \"text number {n}\"\n" for n in range(5000)))

    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 4096, len(before) + 4096))

    full = trace("import", notes, "--into", report, preexec_fn=small)
    tap.ok(full.status == 2 and b"cannot add events to" in full.err, "a full disk is reported", full.err)
    tap.ok(content(report) == before, "a report that could not be extended is unchanged")
    bad = before[:24] + bytes([before[24] ^ 255]) + before[25:]  # in the lengths of the first block, which are on all machines there
    damaged = written(bad, "damaged.rep")
    result = imported(notes, "--into", damaged)
    tap.ok(result.status == 1 and content(damaged) == bad, "a damaged report is left alone", (result.status, result.err))
    other = written(b"no report at all", "other.rep")
    result = imported(notes, "--into", other)
    tap.ok(result.status == 2 and content(other) == b"no report at all", "a file that is not a report is unchanged", result.err)
    missing = imported("/nonexistent.nvtxt", "--into", report)
    tap.ok(missing.status == 2 and b"/nonexistent.nvtxt" in missing.err and content(report) == before, "a file that is not there is named", missing.err)
    output = os.path.join(folder(), "out.rep")
    result = imported(notes, "--into", report, "-o", output)
    tap.ok(result.status == 0 and content(report) == before and sound(output) and len(Report(output).events("--kind", "nvtx_mark")) == 5000,
           "-o writes another report and leaves this one", result.err)
    result = imported(notes, "--into", report, "-o", output)
    tap.ok(result.status == 2 and b"exists" in result.err and not glob.glob(output + ".*"), "an existing one is not replaced, and nothing is left behind", result.err)


def files_beside_a_report():
    report = recorded("r.rep", ["/bin/true"])
    place = os.path.dirname(report)
    for name in ("a.nvtxt", "b.nvtxt", "c.txt", ".hidden.nvtxt"):
        written(f"TimeBase = Manual\n@Marker, Time, Message\nMarker, 1, \"{name}\"\n", name, place)
    result = imported("--beside", "--into", report)
    tap.ok(result.status == 0 and [e["text"] for e in Report(report).events("--kind", "nvtx_mark")] == ["a.nvtxt", "b.nvtxt"],
           "--beside adds all *.nvtxt of the folder", (result.out, result.err))
    result = imported("--beside")
    tap.ok(result.status == 2 and b"use --into REPORT" in result.err, "--beside without --into is refused", result.err)


# ---- export and import again ----

def round_trip(name, report):
    text = os.path.join(folder(), "exported.nvtxt")
    exported = trace("export", "-t", "nvtxt", "-o", text, report)
    tap.ok(exported.status == 0, f"{name}: the export succeeds", exported.err)
    other = recorded("other.rep", ["/bin/true"])
    result = imported("--strict", text, "--into", other)
    tap.ok(result.status == 0 and sound(other), f"{name}: imported into another report, also strictly", result.err)
    wanted, got = events(report, absolute=True), events(other, absolute=True)
    for e in wanted + got:  # NVTXT has no callchains; the export reports that it leaves them out
        e.pop("callchain", None)
        e.pop("callchain_method", None)
    tap.ok(wanted and wanted == got, f"{name}: every field came back", "\n".join(
        [f"- {e}" for e in wanted if e not in got][:10] + [f"+ {e}" for e in got if e not in wanted][:10]))
    return exported.err


def exports_come_back_whole():
    for name in ("nvtx_calls", "nvtx_cxx", "nvtx_fork"):
        if not os.path.exists(app(name)):
            tap.skip(name, "not built: no headers of NVTX")
            continue
        report = recorded("r.rep", [app(name)])
        calls = len(Report(report).events("--kind", "osrt_call"))
        said = f"left out, since NVTXT cannot store them: {calls} osrt_call".encode() if calls else b"cannot store them"
        told = round_trip(name, report)
        tap.ok((said in told) == bool(calls), f"{name}: events that NVTXT cannot hold are reported, and no details", told)
    if os.path.exists(app("nvtx_payloads")):
        told = trace("export", "-t", "nvtxt", "-o", os.path.join(folder(), "x.nvtxt"), recorded("r.rep", [app("nvtx_payloads")])).err
        tap.ok(b"left out: payload of " in told and b" nvtx_schema" in told, "extended payloads are reported as left out", told)
    awkward = ["plain", "", "it's \"both\"", "ends in \\", "two\nlines\r", "100 % # $x", "\udcff not UTF-8", "say \"so\"", "\x01\x7f"]
    report = recorded("r.rep", ["/bin/true"])
    encoded = b"".join(b"# libtrace: name time=%d process=5 thread=6 what=3 identifier=%d text=" % (n, n) +
                       b"".join(b"%%%02X" % byte for byte in text.encode("utf-8", "surrogateescape")) + b"\n" for n, text in enumerate(awkward, 1))
    notes = b"# libtrace: file origin=5\nTimeBase = Manual\n@Marker, Time, Message\n@RangeStartEnd, Start, End, Message\n" + encoded
    for n, text in enumerate(awkward, 1):
        notes += b"Marker, %d, x # libtrace: event text=" % n + b"".join(b"%%%02X" % byte for byte in text.encode("utf-8", "surrogateescape")) + b" domain=a%20d\n"
    notes += b"RangeStartEnd, 3, 4, instant # libtrace: event instant=1 range=18446744073709551615 start_thread=9\n"
    imported(written(notes), "--into", report)
    found = Report(report).events("--kind", "nvtx_mark")
    tap.ok([e["text"] for e in found] == awkward and {e["domain"] for e in found} == {"a d"}, "texts of any bytes are read", [e["text"] for e in found])
    round_trip("texts of any bytes", report)


def a_database_says_the_same():
    """Check that the database has the same events, also in domains that no event created: those of an imported file, and of a forked child."""
    report = recorded("r.rep", [app("nvtx_fork")] if os.path.exists(app("nvtx_fork")) else ["/bin/true"])
    notes = written("# libtrace: file origin=1000\nTimeBase = Manual\n@RangeStartEnd, Start, End, Message, ProcessId\n"
                    "RangeStartEnd, 5, 9, \"my domain:a\", 77 # libtrace: event domain=my%20domain\n"
                    "RangeStartEnd, 5, 9, \"\u00e9:b\", 77 # libtrace: event domain=%FF text=b\n")
    imported(notes, "--into", report)
    trace("export", "-t", "sqlite", "-o", report + ".sqlite", report)
    rows = [sorted(trace("stats", "-r", "nvtx_sum", "-f", "csv", source).out.decode(errors="replace").splitlines()) for source in (report, report + ".sqlite")]
    clean = [sorted(line.replace("\ufffd", "\\xff") for line in lines) for lines in rows]
    tap.ok(len(rows[0]) >= 3 and any(line.endswith("my domain:a") for line in rows[1]) and clean[0] == clean[1],
           "statistics of a report and of its database have the same domains", "\n".join(map(str, clean)))


def a_large_file():
    report = recorded("r.rep", ["/bin/true"])
    lines = ["TimeBase = Relative", "@RangePush, Time, ThreadId, Message", "@RangePop, Time, ThreadId"]
    for n in range(60000):
        lines += [f"RangePush, {n}, {n % 7}, \"range {n % 1000}\"", f"RangePop, {n + 5}, {n % 7}"]
    result = imported(written("\n".join(lines)), "--into", report)
    found = Report(report).events("--kind", "nvtx_range")
    starts = [e["start_ns"] for e in found]
    tap.ok(result.status == 0 and len(found) == 60000 and starts == sorted(starts) and sound(report), "60,000 ranges, read back in order of time", result.err)
    tap.ok({(e["text"], e["duration_ns"]) for e in found} == {(f"range {n}", 5) for n in range(1000)}, "imported ranges have their texts", len(found))


main(fixtures_as_nvidia_reads_them, annotations_join, a_report_without_its_end, recovered_afterwards, errors_leave_the_rest,
     nothing_is_lost_when_it_fails, files_beside_a_report, exports_come_back_whole, a_database_says_the_same, a_large_file)
