#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check `trace details --page source`: metrics by instruction and by source line, disassembly by nvdisasm if it is installed.

If NVIDIA's ncu has been fetched (PEERS, default /tmp/peers), every value is compared with what ncu prints. ncu has its own disassembler,
so texts of instructions are compared only if an nvdisasm is installed.
"""
import csv
import io
import os
import random
import re
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import TRACE, clean_env, fixtures, folder, main, run, tap  # noqa: E402
from libpeers import NCU, nvdisasm_folder  # noqa: E402
from libwire import entry, fields, put_bytes, put_varint  # noqa: E402

FIXTURES = fixtures("ncu")
PLACE = folder()
LINES = os.path.join(PLACE, "manual_nvtx.cu")  # the name that the report's line table has
FEW = ("vec_add-2024.1.1", "manual_nvtx")  # the reports with metrics by instruction
# For a line, ncu's command line prints the sum of these over its instructions, although the section says that it is the mean.
MEANS = {"Avg. Threads Executed", "Avg. Predicated-On Threads Executed"}
HEADINGS = ("Kernel Name", "File Path", "Function Name")


def fixture(name):
    return os.path.join(FIXTURES, name + ".ncu-rep")


def page(path, *options, tools=None):
    """Print the source page; return standard output and error. tools: a folder to put first in PATH."""
    env = clean_env(PATH=f"{tools or '/nonexistent'}:/usr/bin:/bin", HOME=PLACE)
    result = run([TRACE, "details", "--page", "source", *options, path], env=env, limit=100)
    return result.status, result.out.decode(errors="replace"), result.err.decode(errors="replace")


def blocks(text):
    """Return (headings, titles, rows) of each table."""
    found, fresh = [], True
    for row in csv.reader(io.StringIO(text)):
        if not row or row[0].startswith("=="):
            continue
        if row[0] in HEADINGS:
            if fresh or not found or found[-1][1]:
                found.append(({}, [], []))
            fresh = False
            found[-1][0][row[0]] = row[1]
        elif not found[-1][1]:
            found[-1][1].extend(row)
        else:
            found[-1][2].append(row)
    return [block for block in found if block[1]]


def lines_file():
    with open(LINES, "w", encoding="utf-8") as file:
        file.write("".join(f"line {i}\n" for i in range(1, 201)))


def without_counts(text):
    """Return a cell without the number of instructions, which ncu appends to a word for several instructions of a line: 'Global(3)'."""
    return re.sub(r"\([0-9]+\)", "", text)


def as_ncu():
    if not os.path.exists(NCU) or not os.path.isdir(FIXTURES):
        tap.skip("as ncu prints it", "no ncu in PEERS or /tmp/peers, or no fixtures")
        return
    lines_file()
    for name in FEW:
        for view in ("sass", "cuda,sass"):
            options = ("--csv", "--print-source", view, "--resolve-source-file", LINES)
            _, text, _ = page(fixture(name), *options)
            theirs = run([NCU, "--import", fixture(name), "--page", "source", *options], env=clean_env(HOME=PLACE), limit=100).out.decode()
            ours, theirs = blocks(text), blocks(theirs)
            wrong, count = [] if len(ours) == len(theirs) else [f"{len(ours)} functions, not {len(theirs)}"], 0
            for (_, titles, mine), (_, their_titles, other) in zip(ours, theirs):
                if set(titles) != set(their_titles) or len(mine) != len(other):
                    wrong.append(f"{len(mine)} rows, not {len(other)}; {set(titles) ^ set(their_titles)}")
                    continue
                for row, want in zip(mine, other):
                    for i, title in enumerate(titles):
                        is_code = title == "Source" and titles[i - 1] == "Address"
                        if is_code or (title in MEANS and view != "sass"):
                            continue
                        k = i if title == "Source" else their_titles.index(title)
                        count += 1
                        if row[i] != without_counts(want[k]):
                            wrong.append(f"{row[:3]} {title}: {row[i]}, not {want[k]}")
            tap.ok(not wrong and (count > 500 or name == "vec_add-2024.1.1"), f"{name} {view}: {count} cells as ncu's", "\n".join(wrong[:20]))


def sums():
    if not os.path.isdir(FIXTURES):
        tap.skip("sums", "no fixtures")
        return
    for name in FEW:
        whole = run([TRACE, "details", "--page", "raw", "--csv", fixture(name)], env=clean_env(), limit=100).out.decode()
        wanted = [float(row["inst_executed"]) for row in list(csv.DictReader(io.StringIO(whole)))[1:]]
        _, text, _ = page(fixture(name), "--csv")
        found = [sum(float(row[titles.index("Instructions Executed")]) for row in rows) for _, titles, rows in blocks(text)]
        tap.ok(wanted and found == wanted, f"{name}: instructions add up to what the kernel executed", f"{found} {wanted}")
    _, text, _ = page(fixture("vec_add-2024.1.1"), "--csv", "--metrics", "inst_executed,half=inst_executed / 2,launch__grid_size")
    titles, rows = blocks(text)[0][1:]
    tap.ok(titles == ["Address", "Source", "inst_executed", "half"] and rows[0][2:] == ["32768", "16384"], "--metrics, derived ones, too", f"{titles} {rows[:1]}")
    status, text, err = page(fixture("vec_add-2024.1.1"), "--csv", "--print-source", "cuda,sass")
    tap.ok(status == 0 and not blocks(text) and "no source lines" in err, "code without line tables is reported", f"{text[:200]} {err}")


# Reports without metrics by instruction, and the kernel or device function of each table. The compiler's own functions and other kernels are left out.
WITHOUT = {
    "CuVectorAddDrv": ["VecAdd_kernel"],
    "ex-gpu.s10": ["init_array", "init_array", "vector_add", "vector_add1", "vector_mul", "vector_dot"],
    "path_tracer-2025.4.1": ["_Z15SphereDrawPoint", "calculate"] * 11,
}


def is_linked(text):
    """Return whether an instruction has an operand that the linker sets: nvdisasm prints its name, ncu 0x0."""
    return "`(" in text or "32@" in text


def without_metrics():
    if not os.path.isdir(FIXTURES):
        tap.skip("instructions without metrics", "no fixtures")
        return
    found = nvdisasm_folder()
    for name, functions in WITHOUT.items():
        status, text, err = page(fixture(name), "--csv", tools=found)
        ours = blocks(text)
        names = [headings.get("Function Name", headings["Kernel Name"]) for headings, _, _ in ours]
        right = len(names) == len(functions) and all(a.startswith(b) for a, b in zip(names, functions))
        tap.ok(status == 0 and right and all(titles == ["Address", "Source"] for _, titles, _ in ours), f"{name}: instructions without metrics", f"{names} {err}")
        if not os.path.exists(NCU):
            tap.skip(f"{name}: addresses as ncu's", "no ncu in PEERS or /tmp/peers")
            continue
        theirs = run([NCU, "--import", fixture(name), "--page", "source", "--csv"], env=clean_env(HOME=PLACE), limit=100).out.decode()
        mine, other = ([row for _, _, rows in of for row in rows] for of in (ours, blocks(theirs)))
        tap.ok([row[0] for row in mine] == [row[0] for row in other], f"{name}: {len(mine)} addresses, in ncu's order", f"{mine[:2]} {other[:2]}")
        if not found:
            tap.skip(f"{name}: instructions as ncu's", "no nvdisasm in PATH, CUDA or VIEWERS")
            continue
        wrong = [f"{a}, not {b}" for a, b in zip(mine, other) if a[1].split() != b[1].split() and not (is_linked(a[1]) and "0x0" in b[1])]
        tap.ok(not wrong and all(row[1] for row in mine), f"{name}: {len(mine)} instructions as ncu's, with the addresses of jumps", "\n".join(wrong[:10]))


def tool(name, text):
    place = os.path.join(PLACE, name)
    os.makedirs(place, exist_ok=True)
    path = os.path.join(place, "nvdisasm")
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return place


GOOD = r"""[ "$1" = -c ] && head -c 4 "$2" | grep -q ELF || exit 9
printf '.text._Z7vec_addPfS_S_i:\n        /*0000*/                   FIRST R1, c[0x0][0x28] ;\n        /*0010*/  @P0 SECOND ;\n.L_x_1:\n        /*0020*/  BRA `(.L_x_1) ;\n'
echo noise >&2
"""


def disassembly():
    if not os.path.isdir(FIXTURES):
        tap.skip("disassembly", "no fixtures")
        return
    path = fixture("vec_add-2024.1.1")

    def instructions(tools):
        status, text, err = page(path, "--csv", tools=tools)
        return status, [row[1] for row in blocks(text)[0][2]], err

    status, texts, err = instructions(tool("good", GOOD))
    target = blocks(page(path, "--csv")[1])[0][2][2][0]
    tap.ok(status == 0 and texts[:4] == ["FIRST R1, c[0x0][0x28]", "@P0 SECOND", f"BRA {target}", ""] and not err,
           "instructions of nvdisasm are beside their addresses, and jumps have the address", f"{texts} {err}")
    for name, text in (("failing", "exit 3\n"), ("killed", "kill -9 $$\n"), ("silent", ""), ("noise", "head -c 100000 /dev/urandom\n")):
        status, texts, err = instructions(tool(name, text))
        tap.ok(status == 0 and not any(texts) and len(texts) == 16 and ("failed" in err) == (name in ("failing", "killed")), f"nvdisasm {name}", f"{texts} {err}")
    if os.path.exists("/usr/local/cuda/bin/nvdisasm"):
        tap.skip("no nvdisasm", "there is one in /usr/local/cuda")
    else:
        status, texts, err = instructions(None)
        tap.ok(status == 0 and not any(texts) and "nvdisasm is not installed" in err, "no nvdisasm", f"{texts} {err}")
    found = nvdisasm_folder()
    if not found or not os.path.exists(NCU):
        tap.skip("texts as ncu's", "no nvdisasm, or no ncu in PEERS or /tmp/peers")
        return
    _, texts, _ = instructions(found)
    theirs = run([NCU, "--import", path, "--page", "source", "--csv"], env=clean_env(HOME=PLACE), limit=100).out.decode()
    wanted = [row[1].split() for row in blocks(theirs)[0][2]]
    tap.ok([text.split()[:1] for text in texts[:15]] == [words[:1] for words in wanted[:15]], "instructions as ncu disassembles them", texts)


# ---- a source text in the report ----

def with_source(data, path, text):
    """Return the report with a source file added to its first module."""
    _, at = entry(data, 4)
    while at < len(data):
        header, begin = entry(data, at)
        counts = fields(header)
        if counts[1] == [1]:  # NumSources
            source, end = entry(data, begin)
            more = put_bytes(8, put_bytes(1, put_bytes(1, path) + put_bytes(2, text)))
            old = b"\x28" + put_varint(4 + len(source))  # PayloadSize
            assert header.count(old) == 1
            new = header.replace(old, b"\x28" + put_varint(4 + len(source) + len(more)))
            return (data[:at] + struct.pack("<I", len(new)) + new + struct.pack("<I", len(source) + len(more)) + source + more + data[end:])
        at = begin + counts[5][0]
    raise RuntimeError("no module")


def embedded():
    if not os.path.isdir(FIXTURES):
        tap.skip("source texts in the report", "no fixtures")
        return
    with open(fixture("manual_nvtx"), "rb") as file:
        data = file.read()
    path = os.path.join(PLACE, "embedded.ncu-rep")
    with open(path, "wb") as file:
        file.write(with_source(data, b"/usr/local/parallel_forall/posts/nvtx/manual_nvtx.cu", b"".join(b"own %d\r\n" % i for i in range(1, 70))))
    _, text, _ = page(path, "--csv", "--print-source", "cuda,sass")
    shown = {row[0]: row[1] for _, _, rows in blocks(text) for row in rows if row[0]}
    tap.ok(shown["54"] == "own 54" and shown["69"] == "own 69" and shown["73"] == "", "lines of a source text that the report has", shown)
    lines_file()
    _, text, _ = page(fixture("manual_nvtx"), "--csv", "--print-source", "cuda,sass", "--resolve-source-file", f"/nonexistent/other.cu,{LINES}")
    shown = {row[0]: row[1] for _, _, rows in blocks(text) for row in rows if row[0]}
    tap.ok(shown["54"] == "line 54" and blocks(text)[0][0]["Function Name"] == "init_data_kernel(int, double *)", "lines of a file that is named", shown)


def listings():
    """Compare --print-source ptx and cuda with ncu: texts without metrics, each once."""
    path = fixture("manual_nvtx")
    if not os.path.exists(path):
        tap.skip("PTX and source files", "no fixtures")
        return
    lines_file()
    views = ("--print-source ptx", "--print-source ptx --csv", "--print-source ptx --csv -k daxpy_kernel", f"--print-source cuda --resolve-source-file {LINES}",
             f"--print-source cuda --csv --resolve-source-file {LINES}")
    printed = {view: page(path, *view.split()) for view in views}
    ptx = list(csv.reader(io.StringIO(printed[views[1]][1])))
    tap.ok(ptx[0] == ["Line No", "Source"] and [row[0] for row in ptx[1:]] == [str(i) for i in range(1, 174)] and ptx[9][1] == ".version 7.8" and
           sum(".visible .entry" in text for _, text in ptx[1:]) == 3, "the PTX of three kernels, once", ptx[:12])
    source = list(csv.reader(io.StringIO(printed[views[4]][1])))
    tap.ok(source == [["File Name", LINES], ["Line No", "Source"]] + [[str(i), f"line {i}"] for i in range(1, 201)], "the source file of three kernels, once",
           source[:5])
    tap.ok(all(status == 0 and not err for status, _, err in printed.values()), "there is no message if nothing is missing", printed.values())
    for view, said in (("ptx", "no PTX in the report"), ("cuda", "no source lines")):
        status, out, err = page(fixture("path_tracer-2025.4.1"), "--print-source", view)
        tap.ok(status == 0 and not out and said in err and err.count("\n") == 1, f"{view}: a missing view is reported once", err)
    status, out, err = page(path, "--print-source", "cuda")
    tap.ok(status == 0 and not out and "--resolve-source-file" in err, "a missing source file is reported", err)
    if not os.path.exists(NCU):
        tap.skip("PTX and source files as ncu prints them", "no ncu in PEERS or /tmp/peers")
        return
    theirs = {view: run([NCU, "--import", path, "--page", "source", *view.split()], env=dict(os.environ), limit=100).out.decode() for view in views}
    wrong = [view for view in views if theirs[view] != printed[view][1]]
    tap.ok(not wrong, f"PTX and source files: {len(views)} pages as ncu's", wrong)


def damaged():
    if not os.path.isdir(FIXTURES):
        tap.skip("damaged reports", "no fixtures")
        return
    with open(fixture("manual_nvtx"), "rb") as file:
        whole = file.read()
    begin = whole.index(b"\x7fELF")
    chance, wrong, seen = random.Random(7), [], set()
    for i in range(40):
        data = bytearray(whole)
        for _ in range(30):
            place = begin + chance.randrange(11416) if i % 2 else chance.randrange(len(data))
            data[place] = chance.randrange(256)
        path = os.path.join(PLACE, "damaged.ncu-rep")
        with open(path, "wb") as file:
            file.write(data)
        status, _, err = page(path, "--csv", "--print-source", "cuda,sass")
        seen.add(status)
        if status not in (0, 1, 2) or (status and not err):
            wrong.append(f"{i}: {status} {err[:100]}")
    tap.ok(not wrong and 0 in seen, f"40 damaged reports, half of them in the code: statuses {sorted(seen)}", "\n".join(wrong))


if __name__ == "__main__":
    main(as_ncu, sums, without_metrics, disassembly, embedded, listings, damaged)
