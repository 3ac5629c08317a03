#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check the code of kernels in the Python package ncu_report: sass_by_pc(), ptx_by_pc(), source_info(), source_files() at every address of every
function of the reports in SHARED/fixtures/ncu.

Where NVIDIA's own module has been fetched (PEERS, default /tmp/peers), its answers are compared: all PTX and lines, and instructions where
an nvdisasm is installed (NVIDIA's module has its own). Otherwise a stand-in prints what nvdisasm would.
"""
import json
import os
import re
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import folder, main, run, tap  # noqa: E402
from libpeers import ncu_python, nvdisasm_folder  # noqa: E402
from ncu_report import FIXTURES, LIBRARY, PACKAGE, REPORTS  # noqa: E402
from source_page import tool, with_source  # noqa: E402

VEC_ADD, NVTX = (os.path.join(FIXTURES, name + ".ncu-rep") for name in ("vec_add-2024.1.1", "manual_nvtx"))
UNKNOWN_TO_THEIRS = "transposeMatrix-2025.2.1"  # NVIDIA's module of 2024 prints ??? for code of that device
SCRIPT = """
import json, sys, warnings
import ncu_report
warnings.simplefilter("error" if "strict" in sys.argv else "ignore")
actions, out = ncu_report.load_report(sys.argv[1])[0], []
for action in (actions[0], actions[-1]):
    for name, begin, end in json.loads(sys.argv[2]):
        for address in range(begin - 16, end, 8):
            info = action.source_info(address)
            out.append([name, address - begin, action.sass_by_pc(address), action.ptx_by_pc(address), info and [info.file_name(), info.line()]])
json.dump([out, [dict(action.source_files()) for action in actions]], sys.stdout)
"""


# ---- the addresses of functions: RelocationData, read here from the file ----

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, at, shift = value | (byte & 127) << shift, at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = (8, at) if tag & 7 == 1 else (4, at) if tag & 7 == 5 else varint(data, at)
            value, at = data[at:at + size], at + size
        yield tag >> 3, value


def functions_of(path):
    with open(path, "rb") as file:
        data = file.read()
    at, found = 8 + struct.unpack_from("<I", data, 4)[0], []
    while at < len(data):
        size, = struct.unpack_from("<I", data, at)
        header = dict(fields(data[at + 4:at + 4 + size]))
        at = begin = at + 4 + size
        for _ in range(header.get(1, 0)):
            size, = struct.unpack_from("<I", data, begin)
            for number, value in fields(data[begin + 4:begin + 4 + size]):
                entries = [dict(fields(entry)) for kind, entry in fields(value) if kind == 1] if number == 9 else []
                found += [(entry[1].decode(), entry[2]) for entry in entries]
            begin += 4 + size
        at += header.get(5, 0)
    found.sort(key=lambda entry: entry[1])
    ends = [begin for _, begin in found[1:]] + [1 << 64]
    return [(name, begin, min(end, begin + 8192)) for (name, begin), end in zip(found, ends)]


def asked(path, package, *words, tools=None):
    place = os.path.join(folder(), "ask.py")
    with open(place, "w") as out:
        out.write(SCRIPT)
    env = dict(os.environ, PYTHONPATH=package, LIBTRACE_READER=LIBRARY, PATH=f"{tools or '/nonexistent'}:/usr/bin:/bin")
    return run([sys.executable, "-B", place, path, json.dumps(functions_of(path)), *words], env=env, limit=60)


def answers(*arguments, **named):
    result = asked(*arguments, **named)
    if result.status:
        raise RuntimeError(result.err.decode()[-400:])
    return json.loads(result.out)


# ---- compared with NVIDIA's module ----

def as_theirs():
    package = ncu_python()
    if not package or not REPORTS:
        tap.skip("code as NVIDIA's module has it", "no ncu_report in PEERS or /tmp/peers, or no fixtures")
        return
    found = nvdisasm_folder()
    for path in REPORTS:
        name = os.path.basename(path)
        (theirs, their_files), (ours, our_files) = answers(path, package), answers(path, PACKAGE, tools=found)
        wrong = [f"{a}, ours {b}" for a, b in zip(theirs, ours) if a[:2] + a[3:] != b[:2] + b[3:]]
        wrong += [] if len(theirs) == len(ours) and their_files == our_files else ["number of answers, or source files"]
        known = sum(bool(row[3]) + bool(row[4]) for row in ours)
        tap.ok(not wrong and (path != NVTX or known == 704), f"{name}: PTX and lines of {len(ours)} addresses, {known} of them known", "\n".join(wrong[:20]))
        if not found:
            tap.skip(f"{name}: instructions", "no nvdisasm")
            continue
        wrong, count = [], 0
        names = [function for function, _, _ in functions_of(path)]
        for (function, offset, their, _, _), (_, _, our, _, _) in zip(theirs, ours):
            if offset % 16 or offset < 0 or UNKNOWN_TO_THEIRS in path:  # NVIDIA's module disassembles the second half of an instruction, too
                continue
            count += bool(our)
            is_named = "`(" in our or "32@" in our  # an operand that the linker sets: nvdisasm prints its name, NVIDIA's module 0x0
            is_second = names.count(function) > 1 and not their  # NVIDIA's module finds only one of two functions with the same name
            if our.split() != their.split() and not (is_named and "0x0" in their) and not is_second:
                wrong.append(f"{function}+{offset:#x}: {their!r}, ours {our!r}")
        tap.ok(not wrong, f"{name}: {count} instructions", "\n".join(wrong[:20]))


# ---- with a stand-in for nvdisasm ----

PRINTS = r"""head -c 4 "$2" | grep -q ELF || exit 9
cat <<'END'
.text._Z7vec_addPfS_S_i:
.L_x_7:
        /*0000*/                   FIRST R1.reuse, R2, c[0x0][0x28] ;
        /*0010*/              @!P0 BRA `(.L_x_9) ;
        /*0020*/                   CALL `(elsewhere), `(.L_x_8) ;
.L_x_9:
        /*0030*/                   BRA `(.L_x_7);
.L_x_8:
END
"""


def stand_in():
    if not os.path.exists(VEC_ADD):
        tap.skip("instructions", "no fixtures")
        return
    begin = functions_of(VEC_ADD)[0][1]
    rows = answers(VEC_ADD, PACKAGE, "strict", tools=tool("prints", PRINTS))[0]
    found = {offset: text for _, offset, text, _, _ in rows if text}
    wanted = {0: "FIRST R1, R2, c[0x0][0x28]", 16: f"@!P0 BRA {begin + 0x30:#x}", 32: "CALL `(elsewhere), `(.L_x_8)", 48: f"BRA {begin:#x}"}
    tap.ok(found == wanted, "labels are addresses, hints are left out", f"{found}\n{wanted}")
    for name, text, warning in (("failing", "exit 3\n", "nvdisasm failed"), ("noise", "head -c 100000 /dev/urandom\n", None), (None, None, "no nvdisasm")):
        if not name and os.path.exists("/usr/local/cuda/bin/nvdisasm"):
            tap.skip("no nvdisasm", "there is one in /usr/local/cuda")
            continue
        tools = name and tool(name, text)
        rows = answers(VEC_ADD, PACKAGE, tools=tools)[0]
        strict = asked(VEC_ADD, PACKAGE, "strict", tools=tools)
        tap.ok(not any(row[2] for row in rows) and (strict.status == 0 if warning is None else warning.encode() in strict.err and b"RuntimeWarning" in strict.err),
               f"nvdisasm {name or 'absent'}: no text{', and a warning' if warning else ''}", strict.err)


WRONG = """
import sys
import ncu_report
action = ncu_report.load_report(sys.argv[1])[0][0]
for function in (action.sass_by_pc, action.ptx_by_pc, action.source_info):
    for value, error in ((-1, OverflowError), (1 << 64, OverflowError), ("1", TypeError), (1.5, TypeError), (None, TypeError)):
        try:
            function(value)
        except error:
            continue
        sys.exit("{} took {!r}".format(function.__name__, value))
    assert not function(0) and not function((1 << 64) - 1)
"""


def source():
    if not os.path.exists(NVTX):
        tap.skip("source files", "no fixtures")
        return
    path = os.path.join(folder(), "with.ncu-rep")
    with open(NVTX, "rb") as file, open(path, "wb") as out:
        out.write(with_source(file.read(), b"/src/made.cu", b"one\ntwo\n"))
    package = ncu_python()
    files = [answers(path, module)[1] for module in filter(None, (PACKAGE, package))]
    tap.ok(all(found == [{"/src/made.cu": "one\ntwo\n"}] * 3 for found in files), "a source file in the report" + (", as NVIDIA's module has it" if package else ""), files)
    result = run([sys.executable, "-B", "-c", WRONG, NVTX], env=dict(os.environ, PYTHONPATH=PACKAGE, LIBTRACE_READER=LIBRARY), limit=60)
    tap.ok(result.status == 0, "an invalid address is refused", result.err)
    rows = answers(NVTX, PACKAGE)[0]
    seen = {row[3] for row in rows if re.search(r"\.cu$", (row[4] or [""])[0])}
    tap.ok("ld.global.f64 %fd1, [%rd4];" in seen, "PTX is reported with its source line", seen)


if __name__ == "__main__":
    if not os.path.exists(LIBRARY) or os.environ.get("SAN"):
        tap.skip("ncu_report", "no libtrace-reader.so, or one with sanitizers, which Python cannot load")
        tap.finish()
    main(as_theirs, stand_in, source)
