#!/usr/bin/env python3
# timeout: 240
"""`trace details` on reports of Nsight Compute: against values an independent reader took from them (SHARED/fixtures/ncu/expected.json),
and, where NVIDIA's ncu has been fetched (PEERS, default /tmp/peers), line by line against what that prints.

That ncu is of 2024.1.1: it knows neither the device of one report nor all sections of another, which are of 2025. What differs there is
named below and checked.
"""
import csv
import glob
import io
import json
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import BUILD, folder, main, run, tap, trace  # noqa: E402

FIXTURES = os.path.join(os.environ.get("SHARED") or "/nonexistent", "fixtures/ncu")
REPORTS = sorted(glob.glob(os.path.join(FIXTURES, "*.ncu-rep")))
PAGES = ("details", "raw", "session")
NCU = os.path.join(os.environ.get("PEERS") or "/tmp/peers", "root/usr/lib/nsight-compute/ncu")
PLACE = folder()
UNKNOWN_DEVICE = "transposeMatrix-2025.2.1"  # compute capability 12.0: ncu 2024.1.1 gives its metrics no units
# Sections of 2025 whose filters ncu 2024.1.1 does not understand: it shows these metrics, which the report does not have, as n/a
UNKNOWN_FILTERS = {"path_tracer-2025.4.1": {"Preferred Cluster Size", "Average MC Channel Active Cycles", "Total MC Channel Elapsed Cycles"}}


def page(path, name, *options):
    result = trace("details", "--page", name, *options, path)
    if result.status != 0 or result.err:
        raise RuntimeError(f"trace details {path}: {result.status} {result.err!r}")
    return result.out.decode()


def rows(text):
    return list(csv.reader(io.StringIO(text)))


def triple(values):
    return "(" + ", ".join(str(v) for v in values) + ")"


def results_as_expected(path, expected):
    """Each result's launch, from the raw page."""
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
    """How many messages each rule left, from the details page."""
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


def ncu_page(path, name, *options):
    done = run([NCU, "--import", path, "--page", name, *options], env=dict(os.environ), limit=100)
    return [line.rstrip() for line in done.out.decode().splitlines() if not line.startswith("==WARNING==")]


def without_unknown(name, lines):
    hidden = UNKNOWN_FILTERS.get(name, ())
    return [line for line in lines if not ("n/a" in line and any(text in line for text in hidden))]


def without_widths(lines):
    """Rows that only one side has change how wide the columns of their table are."""
    return [" ".join(line.replace("-", " ").split()) for line in lines]


def as_ncu():
    if not os.path.exists(NCU) or not REPORTS:
        tap.skip("as ncu prints it", "no ncu in PEERS or /tmp/peers, or no fixtures")
        return
    for path in REPORTS:
        name = os.path.basename(path)[: -len(".ncu-rep")]
        for page_name in PAGES:
            for options in ((), ("--csv",)):
                if name == UNKNOWN_DEVICE and page_name != "session":
                    continue
                theirs = ncu_page(path, page_name, *options)
                ours = [line.rstrip() for line in page(path, page_name, *options).splitlines()]
                if name in UNKNOWN_FILTERS:
                    theirs, ours = without_widths(without_unknown(name, theirs)), without_widths(ours)
                if name == UNKNOWN_DEVICE:  # it takes that report's path of Windows apart, and quotes it otherwise
                    theirs, ours = (
                        [line for line in lines if "Profiler Command Line" not in line] for lines in (theirs, ours))
                wrong = [f"{a!r} | {b!r}" for a, b in zip(ours, theirs) if a != b]
                tap.ok(not wrong and len(ours) == len(theirs), f"{name} {page_name} {' '.join(options)}: {len(theirs)} lines as ncu's",
                       f"{len(ours)} lines\n" + "\n".join(wrong))


def units_of_unknown_device():
    """Where that ncu has no units, numbers are the same all the same."""
    if not os.path.exists(NCU) or not REPORTS:
        tap.skip("numbers of a device that ncu does not know", "no ncu in PEERS or /tmp/peers, or no fixtures")
        return
    path = os.path.join(FIXTURES, UNKNOWN_DEVICE + ".ncu-rep")
    ours, theirs = rows(page(path, "raw", "--csv")), rows("\n".join(ncu_page(path, "raw", "--csv")))
    scales = {"K": 1e3, "M": 1e6, "G": 1e9, "usecond": 1e3}
    wrong = []
    for i, name in enumerate(ours[0]):
        k = theirs[0].index(name)
        unit = ours[1][i]
        scale = scales.get(unit, scales.get(unit[:1], 1) if unit[1:5] == "byte" else 1)
        for mine, other in zip(ours[2:], theirs[2:]):
            try:
                same = abs(float(mine[i]) * scale - float(other[k])) <= max(0.01, 1e-6 * abs(float(other[k])))
            except ValueError:
                same = mine[i] == other[k]
            if not same and theirs[1][k] == "" and unit:
                wrong.append(f"{name}: {mine[i]} {unit}, {other[k]}")
    tap.ok(not wrong and len(ours[0]) == len(theirs[0]), f"numbers of a device that ncu does not know: {len(ours[0])} columns", "\n".join(wrong))


# options, and the results (of all, counted from 0) that they choose; ncu 2024.1.1 chooses the same
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


def chosen(text):
    found = rows(text)
    return "".join(row[0] for row in found[2:])


def filters():
    if not REPORTS:
        tap.skip("launches by name, place and NVTX ranges", "no fixtures")
        return
    wrong, count, compared = [], 0, os.path.exists(NCU)
    for name, cases in FILTERS.items():
        path = os.path.join(FIXTURES, name + ".ncu-rep")
        for options, wanted in cases:
            words = [word.replace("_domain", " domain") for word in options.split()]
            ours = chosen(page(path, "raw", "--csv", *words))
            if ours != wanted:
                wrong.append(f"{name} {options}: {ours}, not {wanted}")
            theirs = chosen("\n".join(ncu_page(path, "raw", "--csv", *words))) if compared else wanted
            if theirs != wanted:
                wrong.append(f"{name} {options}: {theirs} by ncu, not {wanted}")
            count += 1
    tap.ok(not wrong, f"launches by name, place and NVTX ranges: {count} choices{' as ncu makes them' if compared else ''}", "\n".join(wrong))
    path = os.path.join(FIXTURES, "manual_nvtx.ncu-rep")
    ours = chosen(page(path, "raw", "--csv", "-k", "*_kernel"))
    tap.ok(ours == "012", "shell patterns choose kernels, too", ours)
    for words in (("--kernel-id", "a"), ("--kernel-id", "::regex:(:1"), ("-k", "regex:("), ("--filter-mode", "per-gpu"), ("--nvtx-include", "a@b@c")):
        result = trace("details", *words, path)
        tap.ok(result.status == 2 and result.err.count(b"trace: ") == 1, f"refused: {' '.join(words)}", f"{result.status} {result.err!r}")


def damaged():
    """Cut and changed files end in a message and a status, never by a signal."""
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
            result = trace("details", "--page", name, "--csv", path)
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
    """A section whose items hold each other 10,000 deep: refused, not followed."""
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
    tap.ok(done.status == 1 and b"broken result" in done.err, "items in items, 10,000 deep", f"{done.status} {done.err!r}")


def foreign():
    path = os.path.join(PLACE, "own.rep")
    made = run([os.path.join(BUILD, "bin/trace"), "run", "-o", path, "--", "/bin/true"], env=dict(os.environ))
    result = trace("details", path)
    tap.ok(made.status == 0 and result.status == 0 and b"no results of kernels" in result.err, "a report without results says so", result.err)


if __name__ == "__main__":
    main(values, as_ncu, units_of_unknown_device, filters, damaged, nested, foreign)
