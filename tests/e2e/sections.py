#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check `trace sections`: section files of folders, their errors with file, line and column, sets, and metrics by architecture and scope. If
NVIDIA's ncu has been fetched (PEERS, default /tmp/peers), its own section files are read, and the output is compared with ncu's.
"""
import csv
import io
import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import folder, main, run, tap, trace  # noqa: E402
from libpeers import NCU, NCU_SECTIONS, NCU_TEMPLATES  # noqa: E402

STOCK = [NCU_SECTIONS, NCU_TEMPLATES]
PLACE = folder()

FIRST = """# our own
Identifier: "First"
DisplayName: "First of all"
Order: 7
Sets { Identifier: "basic" }
Sets { Identifier: "full" }
Filter { CollectionFilter { CollectionScopes: CollectionScope_Launch } }
Header {
  Metrics { Label: "Duration" Name: "gpu__time_duration.sum" Filter { CollectionFilter { Importance: Required } } }
  Metrics { Label: "Bytes" Name: "dram__bytes.sum" Filter { MaxArch: CC_70 }
    Options { Name: "fbpa__bytes.sum" Filter { MinArch: CC_75 MaxArch: CC_86 } } }
}
Body { Items { HorizontalContainer { Items { HistogramChart { Metric { Name: "sm__cycles_active.avg" } } } } } }
SourceMetrics { Metrics { Label: "" Name: "inst_executed" } }
"""


def write(name, text):
    path = os.path.join(PLACE, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def sections(*options):
    result = trace("sections", *options, "-f", "csv")
    return result.status, list(csv.reader(io.StringIO(result.out.decode()))), result.err.decode()


def small(identifier, name="x"):
    return f'Identifier: "{identifier}" DisplayName: "{name}"\n'


def folders():
    write("a/one.section", FIRST)
    write("a/no-section.txt", "x")
    write("a/.hidden.section", "x")
    write("a/in/two.section", small("Second"))
    write("a/in/deeper/three.section", small("Third"))
    place = os.path.join(PLACE, "a")
    status, rows, err = sections("--section-folder", place)
    tap.ok((status, rows[0], [row[0] for row in rows[1:]], err) == (0, ["Identifier", "Display Name", "Enabled", "Filename"], ["First"], ""),
           "--section-folder reads a folder without its subfolders", f"{status} {rows} {err}")
    status, rows, err = sections("--section-folder-recursive", place)
    tap.ok((status, [row[0] for row in rows[1:]], err) == (0, ["First", "Second", "Third"], ""), "--section-folder-recursive reads a folder and its subfolders", f"{rows} {err}")
    write("b/again.section", small("First", "Another"))
    for order, name in ((("a", "b"), "Another"), (("b", "a"), "First of all")):
        _, rows, _ = sections(*(word for folder_ in order for word in ("--section-folder", os.path.join(PLACE, folder_))))
        tap.ok([row[1] for row in rows[1:]] == [name], f"folders {order}: of two files with the same identifier, the last one is used", rows)
    status, rows, err = sections("--section-folder", os.path.join(PLACE, "none"))
    tap.ok(status == 2 and "none': No such file" in err, "a missing folder is an error", err)
    status, rows, err = sections()
    tap.ok(status == 2 and "--section-folder" in err, "without a section folder the command says so", err)


def chosen():
    place = os.path.join(PLACE, "a")
    for options, wanted in ((("--section", "Second"), ["Second"]), (("--section", "regex:^[FT]"), ["First", "Third"]), (("--set", "full"), ["First"]),
                            (("--section", "Third", "--set", "basic"), ["First", "Third"])):
        status, rows, err = sections("--section-folder-recursive", place, *options)
        tap.ok(status == 0 and [row[0] for row in rows[1:] if row[2] == "yes"] == wanted, f"{' '.join(options)}: {wanted}", f"{rows} {err}")
    for options in (("--section", "Nothing"), ("--set", "nothing")):
        status, _, err = sections("--section-folder", place, *options)
        tap.ok(status == 2 and "othing" in err, f"{' '.join(options)} is an error", err)
    status, rows, _ = sections("--section-folder", place, "--list-sets")
    tap.ok(rows[1:] == [["basic", "First", "yes"], ["full", "First", "yes"]], "sets and what is in them", rows)


def metrics():
    place = ("--section-folder", os.path.join(PLACE, "a"), "--list-metrics")
    _, rows, _ = sections(*place)
    wanted = [["First", "gpu__time_duration.sum", "Duration", "", "launch", "required"], ["First", "dram__bytes.sum", "Bytes", "-7.0", "launch", ""],
              ["First", "fbpa__bytes.sum", "Bytes", "7.5-8.6", "launch", ""], ["First", "sm__cycles_active.avg", "", "", "launch", ""],
              ["First", "inst_executed", "", "", "launch", ""]]
    tap.ok(rows[1:] == wanted, "--list-metrics lists the metrics of header, body and source metrics, with their filters", rows)
    for architecture, scope, names in (("7.0", "launch", {"dram__bytes.sum"}), ("7.2", "launch", set()), ("8.6", "launch", {"fbpa__bytes.sum"}), ("9.0", "launch", set())):
        _, rows, _ = sections(*place, "--architecture", architecture, "--scope", scope)
        found = {row[1] for row in rows[1:] if "bytes" in row[1]}
        tap.ok(found == names and len(rows) == 4 + len(names), f"--architecture {architecture}: {names or 'neither'}", rows)
    for wrong in ("86x", "86"):
        result = trace("sections", *place, "--architecture", wrong)
        tap.ok(result.status == 2 and b"such as 8.6" in result.err and not result.out, f"--architecture {wrong}: the message shows the form of an architecture", result)
    _, rows, _ = sections(*place, "--architecture", "7.0", "--scope", "range")
    tap.ok(rows[1:] == [], "--scope range lists no section for launches", rows)


WRONG = {"unknown.section": ('Identifier: "Unknown"\nDisplayName: "x"\n  Ordr: 5\n', "3:3: warning: ProfilerSection has no field Ordr: left out", 0),
         "quote.section": ('Identifier: "a"\nDisplayName: "Bad\nOrder: 5\n', "2:14: error: unterminated string", 1),
         "brace.section": ('Identifier: "a"\nHeader { Metrics { Name: "x" }\n', "3:1: error: expected a field or } before the end of the text", 1),
         "nameless.section": ('DisplayName: "x"\n', ": error: no Identifier", 1), "blank.section": (small("a b"), ": error: blank in the Identifier", 1),
         "empty.section": ("", ": error: no Identifier", 1)}


def errors():
    for name, (text, message, status) in WRONG.items():
        path = write(f"wrong/{name}", text)
        result = trace("sections", "--section-folder", os.path.dirname(path))
        tap.ok(result.status == status and f"{path}:{message}".replace("::", ":") in result.err.decode(), f"{name}: {message}", result.err)
        os.unlink(path)
    os.symlink("/dev/zero", os.path.join(PLACE, "wrong/device.section"))
    os.mkdir(os.path.join(PLACE, "wrong/folder.section"))
    os.symlink(os.path.join(PLACE, "wrong"), os.path.join(PLACE, "wrong/loop"))
    with open(write("wrong/large.section", "x"), "r+", encoding="utf-8") as file:
        file.truncate(5 << 20)
    write("wrong/good.section", small("Good"))
    status, rows, err = sections("--section-folder-recursive", os.path.join(PLACE, "wrong"))
    tap.ok(status == 1 and len(err.splitlines()) == 3 and "larger than 4 MiB" in err and err.count("not a regular file") == 2 and rows[1][0] == "Good",
           "devices, folders, loops and large files are reported, and the other files are read", f"{status} {rows} {err}")


def damaged():
    chance, wrong, seen = random.Random(7), [], set()
    for i in range(100):
        text = bytearray(FIRST.encode())
        for _ in range(i % 5):
            text[chance.randrange(len(text))] = chance.choice(b'{}<>[]:"\'\\-.019aA\n\0\xff')
        path = os.path.join(PLACE, "damaged/x.section")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text[: chance.randrange(len(text))] if i % 3 == 0 else text)
        result = trace("sections", "--section-folder", os.path.dirname(path), "--list-metrics")
        seen.add(result.status)
        if result.status not in (0, 1) or (result.status and not result.err):
            wrong.append(f"{i}: {result.status} {result.err[:100]!r}")
    tap.ok(not wrong and seen == {0, 1}, "100 damaged section files do not crash", "\n".join(wrong))


def table_of(text, heading):
    """Return the rows of a table as ncu prints it: the line of dashes gives the columns; texts continue in the next lines."""
    lines, rows, columns = text.splitlines(), [], []
    at = next(i for i, line in enumerate(lines) if line.startswith(heading))
    for match in re.finditer("-+", lines[at + 1]):
        columns.append(match.span())
    for line in lines[at + 2:]:
        cells = [line[begin:end] for begin, end in columns]
        if line[:1] == "-" or not line.strip():
            break
        if cells[0].strip():
            rows.append([cell.rstrip() for cell in cells])
        else:
            rows[-1] = [before + cell.rstrip() for before, cell in zip(rows[-1], cells)]
    return rows


def as_ncu():
    if not os.path.exists(NCU):
        tap.skip("section files of NVIDIA", "no ncu in PEERS or /tmp/peers")
        return
    places = [word for place in STOCK for word in ("--section-folder", place)]
    status, rows, err = sections(*places)
    files = sum(name.endswith(".section") for place in STOCK for name in os.listdir(place))
    tap.ok(status == 0 and not err and len(rows) == files + 1, f"NVIDIA's {files} section files load without a warning", err)
    env = dict(os.environ, HOME=PLACE)
    theirs = table_of(run([NCU, *places, "--list-sections"], env=env, limit=100).out.decode(), "Identifier")
    tap.ok([row[:2] for row in theirs] == [row[:2] for row in rows[1:]], f"{len(theirs)} sections as ncu lists them", theirs)
    theirs = table_of(run([NCU, *places, "--list-sets"], env=env, limit=100).out.decode(), "Identifier")
    _, rows, _ = sections(*places, "--list-sets")
    tap.ok(len(theirs) > 3 and [[row[0], row[1].replace(" ", "")] for row in theirs] == [[row[0], row[1].replace(" ", "")] for row in rows[1:]],
           f"{len(theirs)} sets as ncu lists them", f"{theirs}\n{rows}")
    _, rows, _ = sections(*places, "--list-metrics")
    listed = run([NCU, *places, "--section", "regex:.*", "--list-metrics"], env=env, limit=100).out.decode()
    theirs = {(name, int(least or 0), int(most or 0)) for least, most, name in re.findall(r"^ -(?:arch:([0-9]+):([0-9]+):)?(\S+)$", listed, re.M)}
    ours = {wanted for row in rows[1:] if ":" not in row[1] for wanted in architectures(row[1], row[3])}
    missing = {wanted for wanted in ours - theirs if (wanted[0] + ".sum",) + wanted[1:] not in theirs}
    tap.ok(len(ours) > 300 and not missing, f"{len(ours)} metrics with their architectures, as ncu would collect them",
           f"{len(theirs)} of ncu\n" + "\n".join(map(str, sorted(missing))))


def architectures(name, ranges):
    """Return (name, first, last) for each range of a text like "7.0-8.6, 9.0-"; an open end is the last architecture that ncu 2024.1 knows."""
    if not ranges:
        return [(name, 0, 0)]
    if "," in ranges:  # rows for which ncu prints nothing
        return []
    numbers = [[end.replace(".", "") for end in one.split("-")] for one in ranges.split(", ")]
    return [(name, int(least or 50), int(most or 90)) for least, most in numbers]


if __name__ == "__main__":
    main(folders, chosen, metrics, errors, damaged, as_ncu)
