#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check `trace details` on reports of Nsight Compute: its values against those that an independent reader took from them
(SHARED/fixtures/ncu/expected.json), its pages against each other, and its behavior on damaged reports. details_ncu.py compares with NVIDIA's
ncu.
"""
import csv
import glob
import io
import json
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import PRODUCTS, fixtures, folder, main, run, tap, trace  # noqa: E402
from libncu import data, launch, push, section, started, state, write  # noqa: E402

FIXTURES = fixtures("ncu")
REPORTS = sorted(glob.glob(os.path.join(FIXTURES, "*.ncu-rep")))
PAGES = ("details", "raw", "session")
PLACE = folder()


def page(path, name, *options):
    result = trace("details", "--page", name, *options, path)
    none_told = f"trace: '{path}': no kernel matches the options\n".encode()
    unknown = b"trace: --metrics: no metric named 'no_such_metric'\n" if any("no_such_metric" in option for option in options) else b""
    if result.status != 0 or result.err not in (unknown, none_told):
        raise RuntimeError(f"trace details {path}: {result.status} {result.err!r}")
    return result.out.decode()


def rows(text):
    return list(csv.reader(io.StringIO(text)))


def triple(values):
    return "(" + ", ".join(str(v) for v in values) + ")"


def results_as_expected(path, expected):
    """Check the launch of each result on the raw page."""
    heading, _, *found = rows(page(path, "raw", "--csv"))
    column = {name: i for i, name in enumerate(heading)}
    wrong = [] if len(found) == len(expected["results"]) else [f"{len(found)} results"]
    for row, want in zip(found, expected["results"]):
        launch = {"Kernel Name": want["demangled"] or want["function"], "Context": str(want["ctx"]), "Stream": str(want["stream"]),
                  "Block Size": triple(want["block"]), "Grid Size": triple(want["grid"])}
        wrong += [f"{key}: {row[column[key]]}, not {value}" for key, value in launch.items() if row[column[key]] != value]
        for name, value in want["strings_metrics"].items():
            if row[column[name]] != value:
                wrong.append(f"{name}: {row[column[name]]}, not {value}")
        for name in ("launch__grid_size", "launch__block_size", "launch__waves_per_multiprocessor"):
            value = want["sample"].get(name)
            if value is not None and abs(float(row[column[name]]) - value) > 0.005:
                wrong.append(f"{name}: {row[column[name]]}, not {value}")
        duration = want["sample"].get("gpu__time_duration.sum")
        if duration is not None and abs(float(row[column["gpu__time_duration.sum"]]) * 1000 - duration) > 0.001:
            wrong.append(f"duration: {row[column['gpu__time_duration.sum']]} usecond, not {duration} ns")
    return wrong


def rules_as_expected(path, expected):
    """Check how many messages of each rule are on the details page."""
    heading, *found = rows(page(path, "details", "--csv"))
    wanted = sum(len(rule["messages"]) for result in expected["results"] for rule in result["rules"])
    if "Rule Name" not in heading:
        return [] if not wanted else [f"no rules, {wanted} messages are stored"]
    shown = [row for row in found if len(row) > heading.index("Rule Name") and row[heading.index("Rule Name")]]
    return [] if len(shown) == wanted else [f"{len(shown)} messages of rules, {wanted} are stored"]


def values():
    if not REPORTS:
        tap.skip("values of the fixtures", "no fixtures")
        return
    with open(os.path.join(FIXTURES, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    for path in REPORTS:
        name = os.path.basename(path)
        want = expected[name]
        wrong = results_as_expected(path, want) + rules_as_expected(path, want)
        tap.ok(not wrong, f"{name}: {len(want['results'])} results as expected", "\n".join(wrong))
        session = dict(row for row in rows(page(path, "session", "--csv")) if len(row) == 2)
        wrong = [pair for pair in want["versions"] if session.get(pair[0]) != pair[1]]
        tap.ok(not wrong and session.get("display_name") == want["devices"][0][1], f"{name}: versions and device", wrong)


# Options, and the indexes of the results that they choose; ncu 2024.1.1 chooses the same.
FILTERS = {
    "ex-gpu.s10": [
        ("", "012345"), ("-k init_array", "01"), ("-k init_arra", ""), ("-k regex:add", "23"), ("-k regex:^vector_add$", "2"),
        ("--kernel-name-base mangled -k regex:Z", "012345"), ("--kernel-name-base demangled -k regex:double", "012345"),
        ("-k regex:vector -s 1 -c 2", "34"), ("--launch-skip-before-match 1 -k regex:init", "1"), ("--launch-skip-before-match 1 -k regex:init -s 1", ""),
        ("--kernel-id ::init_array:2", "1"), ("--kernel-id ::regex:v:2|3", "34"), ("--kernel-id 1:7:regex:v:[2-3]", "34"), ("--kernel-id 2:7::", ""),
        ("--kernel-id :7::4", "3"), ("--kernel-id ::vector_.*:1", ""), ("--kernel-id ::init_array:1 -k vector_add", "0"), ("--filter-mode global -c 1", "0"),
    ],
    "manual_nvtx": [
        ("--nvtx-include daxpy]", "1"), ("--nvtx-exclude daxpy]", "02"), ("--nvtx-include regex:.*a.*]", "01"), ("--nvtx-include regex:da]", "01"),
        ("--nvtx-include run_test", ""), ("--nvtx-include [run_test --nvtx-exclude init_data/", "12"), ("--nvtx-include daxpy] -s 1", ""),
        ("--nvtx-include run_test/+/daxpy", ""), ("--nvtx-include run_test/*/daxpy", "1"), ("--nvtx-include [daxpy", ""),
        ("--nvtx-include <default_domain>@daxpy]", "1"), ("--nvtx-include run_test/ -c 1", "0"), ("--nvtx-include run_test/init_data", "0"),
        ("--nvtx-include daxpy] --launch-skip-before-match 1", ""), ("--nvtx-include regex:^d@da]", ""), ("--nvtx-include other@daxpy]", ""),
        ("--nvtx-include run_test/ --nvtx-exclude check_results/", "01"), ("--nvtx-include daxpy/ --nvtx-include init_data/", "01"),
    ],
}


def words_of(options):
    return [word.replace("_domain", " domain") for word in options.split()]


def chosen(text):
    """Return the numbers of the results on a raw page."""
    return "".join(row[0] for row in rows(text)[2:])


def filters():
    if not REPORTS:
        tap.skip("launches by name, place and NVTX ranges", "no fixtures")
        return
    wrong, count = [], 0
    for name, cases in FILTERS.items():
        path = os.path.join(FIXTURES, name + ".ncu-rep")
        for options, wanted in cases:
            ours = chosen(page(path, "raw", "--csv", *words_of(options)))
            told = b"no kernel matches the options" in trace("details", *words_of(options), path).err
            if ours != wanted or told == bool(wanted):
                wrong.append(f"{name} {options}: {ours}, not {wanted}")
            count += 1
    tap.ok(not wrong, f"launches by name, place and NVTX ranges: {count} choices", "\n".join(wrong))
    path = os.path.join(FIXTURES, "manual_nvtx.ncu-rep")
    ours = chosen(page(path, "raw", "--csv", "-k", "*_kernel"))
    tap.ok(ours == "012", "shell patterns choose kernels, too", ours)
    for words in (("--kernel-id", "a"), ("--kernel-id", "::regex:(:1"), ("-k", "regex:("), ("--filter-mode", "per-gpu"), ("--nvtx-include", "a@b@c")):
        result = trace("details", *words, path)
        tap.ok(result.status == 2 and result.err.count(b"trace: ") == 1, f"refused: {' '.join(words)}", f"{result.status} {result.err!r}")


def sections_as_raw():
    """Check that sections show a metric as the raw page does: by name, in header and body, in base units, for every result."""
    if not REPORTS:
        tap.skip("metrics of sections as on the raw page", "no fixtures")
        return
    for path in REPORTS:
        heading, units, *results = rows(page(path, "raw", "--csv", "--print-units", "base"))
        raw = {row[0]: dict(zip(heading, row)) for row in results}
        columns, *shown = rows(page(path, "details", "--csv", "--print-details", "all", "--print-metric-name", "name", "--print-units", "base"))
        at = {name: i for i, name in enumerate(columns)}
        wrong, count = [], 0
        for row in shown:
            name = row[at["Metric Name"]] if len(row) > 12 else ""
            if not name or row[at["Metric Value"]] == "n/a":
                continue
            want, value = raw[row[0]].get(name), row[at["Metric Value"]].split(" (")[0]
            if want is None or value != want.split(" (")[0]:
                wrong.append(f"{row[0]} {name}: {value}, raw {want}")
            count += 1
        tap.ok(not wrong and count, f"{os.path.basename(path)}: {count} metrics of sections as on the raw page", "\n".join(wrong[:20]))


def summaries():
    """Check that summaries have minimum, maximum and mean of the results' own values, and every metric of a header once per kernel."""
    if not REPORTS:
        tap.skip("summaries", "no fixtures")
        return
    for path in REPORTS:
        options = ("--csv", "--print-units", "base", "--print-metric-name", "name")
        columns, *each = rows(page(path, "details", *options))
        values = {}
        at = {name: i for i, name in enumerate(columns)}
        for row in each:
            try:
                number = float(row[at["Metric Value"]])
            except ValueError:
                continue
            kernel = tuple(row[at[name]] for name in ("Kernel Name", "Block Size", "Grid Size"))
            values.setdefault((*kernel, row[at["Section Name"]], row[at["Metric Name"]]), []).append(number)
        for how in ("per-kernel", "per-gpu"):
            columns, *summed = rows(page(path, "details", "--print-summary", how, *options))
            at = {name: i for i, name in enumerate(columns)}
            wrong = [] if len(summed) == len(values) else [f"{len(summed)} rows, {len(values)} metrics"]
            for row in summed:
                key = tuple(row[at[name]] for name in ("Kernel Name", "Block Size", "Grid Size", "Section Name", "Metric Name"))
                own = values.get(key, [0])
                want = (min(own), max(own), sum(own) / len(own))
                found = [float(row[at[name]]) for name in ("Minimum", "Maximum", "Average")]
                if any(abs(a - b) > 0.011 for a, b in zip(found, want)) or int(row[at["Invocations"]]) != len(own):
                    wrong.append(f"{key}: {found}, not {want}")
            tap.ok(not wrong, f"{os.path.basename(path)}: {len(summed)} metrics {how}", "\n".join(wrong[:20]))


def raw_summaries():
    """Check that raw summaries have every number of the raw page once per kernel; attributes of a device have one value, with per-gpu in rows of the device."""
    names, path, of = [], os.path.join(PLACE, "summary.ncu-rep"), "device__attribute_"
    metrics = [{"m__a.sum": 1.0, "m__text": "x", "m__some": 4, of + "display_name": "one", of + "device_index": 0, "m__list": (None, {1: 2.0})},
               {"m__a.sum": 2.0, "m__text": "y", of + "display_name": "other", of + "device_index": 0},
               {"m__a.sum": 4.5, "m__text": 3, of + "display_name": "two", of + "device_index": 1}]
    write(path, names, [launch(names, each) for each in metrics] + [launch(names, metrics[0], kernel="b")])
    wanted = {"0": [["m__a.sum", "", "1.000000", "2.000000", "1.500000"], ["m__some", "", "4.000000", "4.000000", "4.000000"]],
              "1": [["m__a.sum", "", "4.500000", "4.500000", "4.500000"], ["m__text", "", "3.000000", "3.000000", "3.000000"]]}
    own = {device: [[of + "device_index", "", "", "", device], [of + "display_name", "", "", "", text]] for device, text in (("0", "one"), ("1", "two"))}
    heading, *found = rows(page(path, "raw", "--print-summary", "per-kernel", "--csv"))
    for device in "01":
        now = [row[9:] for row in found if row[3] == "compute()" and row[6] == device]
        tap.ok(now == own[device] + wanted[device], f"the raw page of a kernel on device {device}", now)
    tap.ok(heading[-5:] == ["Metric Name", "Metric Unit", "Minimum", "Maximum", "Average"] and {len(row) for row in found} == {len(heading)}, "a summary has its heading", heading)
    heading, *found = rows(page(path, "raw", "--print-summary", "per-gpu", "--csv"))
    for device in "01":
        now = [row[9:] for row in found if row[3] == device and row[5] in ("", "compute()")]
        tap.ok(now == own[device] + wanted[device] and [row[5] for row in found if row[3] == device].count("") == 2, f"per GPU: device {device}", now)
    text = page(path, "raw", "--print-summary", "per-gpu")
    tap.ok(text.count("Metric Value") == 2 and text.count("Minimum") == 3 and text.count("  Device ") == 2, "a table for each device and kernel", text)
    some = rows(page(path, "raw", "--print-summary", "per-kernel", "--csv", "--metrics", "m__some"))
    tap.ok([row[-5] for row in some[1:]] == ["m__some", "m__some"], "a summary with --metrics has these metrics", some)


def body_summaries():
    """Check summaries of the tables of bodies: they keep their order, texts have no mean, and instances with the same key have the mean over launches."""
    names, path = [], os.path.join(PLACE, "bodies.ncu-rep")
    metric_a, metric_b = (data(5, data(1, name) + data(2, label)) for name, label in (("m__a.sum", "A"), ("m__b.sum", "B")))
    items = [data(1, data(1, "Second") + metric_b + data(8, "About it")), data(1, data(1, "First") + metric_b + metric_a),
             data(1, data(1, "Texts") + data(5, data(1, "m__text") + data(2, "T")))]
    body = data(5, b"".join(data(1, item) for item in items) + data(2, "Body"))
    shown = section("Demo", "Demo Section", [("m__a.sum", "Head A")], body=body)
    values = [{"m__a.sum": 1.0, "m__b.sum": (8.0, {7: 2.0, 9: 6.0}), "m__text": "t"}, {"m__a.sum": 4.0, "m__b.sum": (2.0, {9: 1.0, 7: 1.0}), "m__text": "t"}]
    write(path, names, [launch(names, each, sections=[shown]) for each in values])

    def found(*options):
        return [row[9:] for row in rows(page(path, "details", "--print-summary", "per-kernel", "--csv", *options))[1:]]
    of_b, of_a = ["Demo Section", "B", "", "2.00", "8.00", "5.00"], ["Demo Section", "A", "", "1.00", "4.00", "2.50"]
    head = [of_a[0], "Head A", *of_a[2:]]
    tap.ok(found() == [head], "--print-details header prints only the header", found())
    tap.ok(found("--print-details", "body") == [of_b, of_a, of_b], "--print-details body prints the tables of the body", found("--print-details", "body"))
    tap.ok(found("--print-details", "all") == [head, of_b, head, of_b], "both: a metric has one label in a section", found("--print-details", "all"))
    text = page(path, "details", "--print-summary", "per-kernel", "--print-details", "body").splitlines()
    titles = [line.strip() for line in text if line.startswith("    ") and line[4] not in "-MAB"]
    tap.ok(titles == ["Section: Demo Section", "Table Name : Second", "Table Description : About it", "Table Name : First"] and "    Body" in text, "as text", text)
    for how, wanted in (("values", "5.00 [1.50,3.50,]"), ("details", "5.00 [7: 1.50; 9: 3.50; ]")):
        now = found("--print-details", "body", "--print-metric-instances", how)
        tap.ok([row[-1] for row in now] == [wanted, "2.50", wanted], f"{how} of instances", now)


def launches_in_ranges():
    """Check a generated report of four kernels in NVTX ranges of two domains, and one outside."""
    names, path = [], os.path.join(PLACE, "ranges.ncu-rep")
    shown = [section("Demo", "Demo Section", [("gpu__time_duration.sum", "Duration")])]
    step, started_too = push("step", color=0x5, payload=("i64", -5)), {0: [started(11, "all")], 1: [started(12, "epoch")]}
    states = [state({1: {0: [step], 1: [push("load")]}}), state({1: {0: [step]}}), state({1: {0: [step]}}, started_too), state({2: {0: [step]}}), None]
    write(path, names, [launch(names, {"gpu__time_duration.sum": 1000.0 * 2**i}, nvtx=nvtx, sections=shown) for i, nvtx in enumerate(states)])
    in_step = ' "step:Int64:-5:RGB:0x5:ASCII:step" '
    none = ":none:none:none:none:none:none"
    wanted = [["<default domain>", in_step, "2", "1.00", "2.00", "1.50"],
              ["<default domain>", f'{in_step} "all{none}"  "epoch{none}" ', "1", "4.00", "4.00", "4.00"], ["other", f' "load{none}" ', "1", "1.00", "1.00", "1.00"]]
    heading, *found = rows(page(path, "details", "--print-summary", "per-nvtx", "--csv"))
    found = [[*row[:2], row[7], *row[-3:]] for row in found]
    tap.ok(found == wanted and heading[:3] == ["Domain", "Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg", "Kernel Name"], "a summary per NVTX state", found)
    text = [line for line in page(path, "details", "--print-summary", "per-nvtx").splitlines() if line[4:5].strip() or line.startswith("    Int64")]
    lines = [line.strip() for line in text]
    tap.ok(lines[:6] == ["== NVTX State ==", "<default domain>", "<step>", "Int64: -5", "RGB: 0x5", "ASCII: step"] and "<11, all>" in lines and
           "other" in lines[lines.index("<11, all>"):], "CSV and text have the same values", lines)
    none_left = trace("details", "--print-summary", "per-nvtx", "--nvtx-exclude", "step/", "--nvtx-exclude", "load/", path)
    tap.ok(none_left.status == 0 and b"no kernel was launched in an NVTX range" in none_left.err, "launches in no range are no state", none_left)
    none_left = trace("details", "--print-summary", "per-nvtx", "-k", "nothing", path)
    tap.ok(none_left.err.count(b"trace: ") == 1 and b"no kernel matches the options" in none_left.err, "one line says that no kernel was selected", none_left)


def charts():
    """Check charts of a body, in a generated report: they are tables of their metrics; a metric without a label has no name."""
    names, path, metric = [], os.path.join(PLACE, "charts.ncu-rep"), data(1, "m__x.sum") + data(2, "X")
    items = [data(2, data(1, "Bars") + data(5, metric)), data(3, data(1, "Histogram") + data(4, metric)), data(4, data(1, "Line") + data(4, metric)),
             data(3, data(4, metric)), data(5, data(1, data(3, data(1, "Inside") + data(4, metric))))]
    body = data(5, b"".join(data(1, item) for item in items) + data(2, "Body"))
    write(path, names, [launch(names, {"m__x.sum": (3.0, {1: 1.0, 2: 2.0})}, sections=[section("Demo", "Demo Section", body=body)])])
    text = page(path, "details", "--print-details", "body")
    found = [line[17:] for line in text.splitlines() if line.startswith("    Table Name : ")]
    tap.ok(found == ["Bars", "Histogram", "Line", "Inside"] and text.count("    X  ") == 5, "bars, histograms and lines as tables", text)


def some_metrics():
    """Check that --metrics prints the same columns and values as the whole page."""
    if not REPORTS:
        tap.skip("some metrics", "no fixtures")
        return
    for path in REPORTS:
        whole = rows(page(path, "raw", "--csv"))
        some = rows(page(path, "raw", "--csv", "--metrics", "launch__grid_size,no_such_metric", "--metrics", "regex:^launch__block_(size|dim)"))
        names = sorted(name for name in whole[0] if name == "launch__grid_size" or name.startswith(("launch__block_size", "launch__block_dim")))
        wrong = [] if some[0][-len(names):] == names else [some[0]]
        for name in [*some[0][: -len(names)], *names]:
            i, k = whole[0].index(name), some[0].index(name)
            wrong += [name for a, b in zip(whole, some) if a[i] != b[k]]
        tap.ok(not wrong and len(whole) == len(some), f"{os.path.basename(path)}: {len(names)} metrics as on the whole page", wrong)


def packed():
    """Check that a rewritten report has the same bytes and a compressed one (.ncu-repz) the same pages, and that truncated, changed or other files
    are refused.
    """
    if not REPORTS:
        tap.skip("reports written anew and compressed", "no fixtures")
        return
    copy, small, other = (os.path.join(PLACE, name) for name in ("copy.ncu-rep", "small.ncu-repz", "other.ncu-rep"))
    wrong = []
    for path in REPORTS:
        done = [trace("export", "-t", "ncu", "-f", "true", "-o", to, source) for source, to in ((path, copy), (path, small), (small, other))]
        with open(path, "rb") as file:
            whole = file.read()
        for name in (copy, other):
            with open(name, "rb") as file:
                if file.read() != whole:
                    wrong.append(f"{path}: {name} differs")
        if any(one.status or one.err for one in done) or os.path.getsize(small) >= len(whole) * 0.6 or page(small, "raw") != page(path, "raw"):
            wrong.append(f"{path}: {[(one.status, one.err) for one in done]}, {os.path.getsize(small)} bytes")
    tap.ok(not wrong, f"{len(REPORTS)} reports written anew: the same bytes; compressed: the same pages", "\n".join(wrong))
    with open(small, "rb") as file:
        data = file.read()
    cases = {b"truncated": data[: len(data) // 2], b"damaged": data[: len(data) // 2] + bytes(100) + data[len(data) // 2 + 100:]}
    for why, bad in cases.items():
        with open(small, "wb") as file:
            file.write(bad)
        result = trace("info", small)
        tap.ok(result.status == 2 and why in result.err and not result.out, f"a compressed report that is {why.decode()}", result.err)
    with open(small, "wb") as file:
        file.write(data)
    result = run([os.path.join(PRODUCTS, "bin/trace"), "info", small], env={**os.environ, "TMPDIR": small})
    tap.ok(result.status == 2 and b"TMPDIR" in result.err, "a compressed report without room to unpack it is an error", result.err)
    result = trace("symbolize", small)
    tap.ok(result.status == 2 and b"compressed" in result.err, "a compressed report is not changed in place", result.err)


def some_results():
    """Check `trace export -t ncu` with an NVTX filter: the other results are left out, and nothing else."""
    if not REPORTS:
        tap.skip("results by NVTX ranges", "no fixtures")
        return
    path, to = os.path.join(FIXTURES, "manual_nvtx.ncu-rep"), os.path.join(PLACE, "some.ncu-rep")
    done = trace("export", "-t", "ncu", "-f", "true", "--nvtx-include", "daxpy]", "-o", to, path)
    whole, some = rows(page(path, "raw", "--csv")), rows(page(to, "raw", "--csv"))
    tap.ok(done.status == 0 and some[:2] == whole[:2] and [row[1:] for row in some[2:]] == [whole[3][1:]], "one of three results is selected by its NVTX ranges", done.err)
    tap.ok(page(to, "session") == page(path, "session"), "the session of a filtered report is whole")


def damaged():
    """Check that truncated and changed files end in a message and a status, never in a signal."""
    if not REPORTS:
        tap.skip("damaged reports", "no fixtures")
        return
    chance = random.Random(7)
    wrong, seen = [], set()
    with open(os.path.join(FIXTURES, "CuVectorAddDrv.ncu-rep"), "rb") as file:
        whole = file.read()
    for i in range(60):
        data = bytearray(whole[: chance.randrange(1, len(whole))] if i % 2 else whole)
        for _ in range(0 if i % 2 else 20):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path = os.path.join(PLACE, "damaged.ncu-rep")
        with open(path, "wb") as file:
            file.write(data)
        for name in PAGES:
            body = ("--print-details", "all") if name == "details" else ()
            result = trace("details", "--page", name, *body, *(("--csv",) if i % 3 else ()), path)
            seen.add(result.status)
            if result.status not in (0, 1, 2) or (result.status and not result.err):
                wrong.append(f"{i} {name}: {result.status} {result.err[:100]!r}")
    tap.ok(not wrong and seen != {0}, f"60 damaged reports: statuses {sorted(seen)}", "\n".join(wrong))


def field(number, data):
    out = bytes([number << 3 & 0x7F | 2]) if number < 16 else bytes([(number << 3 & 0x7F | 2) | 0x80, number >> 4])
    size = len(data)
    while size >= 0x80:
        out += bytes([size & 0x7F | 0x80])
        size >>= 7
    return out + bytes([size]) + data


def nested():
    """Check that a section whose items are nested 10,000 deep is refused."""
    item = b""
    for _ in range(5000):  # a container (field 5) of an item that is a container ...
        item = field(5, field(1, item))
    section = field(1, b"x") + field(2, b"x") + field(5, field(1, item))
    result = field(17, section)
    header = bytes([0x10, 1, 0x28])
    size, varint = 4 + len(result), b""
    while size >= 0x80:
        varint += bytes([size & 0x7F | 0x80])
        size >>= 7
    header += varint + bytes([size])
    path = os.path.join(PLACE, "nested.ncu-rep")
    with open(path, "wb") as file:
        file.write(b"NVR\0" + (2).to_bytes(4, "little") + b"\x08\x07" + len(header).to_bytes(4, "little") + header)
        file.write(len(result).to_bytes(4, "little") + result)
    done = trace("details", path)
    tap.ok(done.status == 1 and b"malformed result" in done.err, "items in items, 10,000 deep", f"{done.status} {done.err!r}")


def foreign():
    path = os.path.join(PLACE, "own.rep")
    made = run([os.path.join(PRODUCTS, "bin/trace"), "run", "-o", path, "--", "/bin/true"], env=dict(os.environ))
    result = trace("details", path)
    tap.ok(made.status == 0 and result.status == 0 and b"has no kernel results" in result.err, "a report without results says so", result.err)


def unknown_names():
    """Check that one line reports each unknown name of --section, --set or --metrics, and no other name."""
    path = os.path.join(FIXTURES, "manual_nvtx.ncu-rep")
    if not os.path.exists(path):
        tap.skip("an option that names nothing in the report is an error", "no fixtures")
        return
    duration = "gpu__time_duration.sum"
    cases = ((("--section", "nosuch"), ["section"]), (("--set", "nosuch"), ["set"]), (("--metrics", "nosuch"), ["metrics"]),
             (("--metrics", f"{duration},nosuch"), ["metrics"]), (("--section", "SpeedOfLight", "--section", "nosuch"), ["section"]),
             (("--section", "nosuch", "--metrics", "regex:nosuch"), ["section", "metrics"]), (("--page", "raw", "--metrics", "nosuch"), ["metrics"]),
             (("--section", "SpeedOfLight"), []), (("--metrics", f"regex:^gpu__,{duration},mine={duration}*2"), []), ((), []))
    for options, wanted in cases:
        done = trace("details", *options, path)
        lines = done.err.decode().splitlines()
        sound = len(lines) == len(wanted) and all(f"--{option}: no " in line and "nosuch" in line for option, line in zip(wanted, lines))
        tap.ok(done.status == 0 and sound, f"{' '.join(options)}: {len(wanted)} unknown names are reported", lines)


if __name__ == "__main__":
    main(values, filters, sections_as_raw, summaries, raw_summaries, body_summaries, launches_in_ranges, charts, some_metrics, packed, some_results, damaged, nested, foreign, unknown_names)
