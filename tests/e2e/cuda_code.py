#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check the code of CUDA modules in the report (`--cuda-cubins true`): it is whole, stored once, and its kernels refer to it.

The content is compared with the program's file, with readelf and, if NVIDIA's ncu has been fetched (PEERS, default /tmp/peers), by its
disassembly. The simulated device passes the cubins of nvcc to CUPTI's client: this test has not run on a GPU.
"""
import collections
import csv
import io
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
from lib import Report, clean_env, folder, main, run, tap, trace  # noqa: E402
from libpeers import NCU  # noqa: E402
from libwire import blocks, entries, fields  # noqa: E402
from ncu_export import results  # noqa: E402

ENTRY = 0x10  # flag of st_other: a kernel
LOADER = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, module = ctypes.c_void_p(), ctypes.c_void_p()
def check(result): result and sys.exit(str(result))
check(cuda.cuInit(0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxPushCurrent_v2(context))
for path in sys.argv[1:]:
    check(cuda.cuModuleLoadData(ctypes.byref(module), open(path, "rb").read()))
"""


def traced(argv, **options):
    return device.recorded(argv, limit=100, LIBTRACE_TRACE="cuda", **options)


def sources(path):
    """Return the fields of each module in the file."""
    for header, payload in blocks(path):
        yield from map(fields, entries(payload, header[1][0]))


def functions(source):
    return sorted(fields(f)[1][0].decode() for f in fields(source[9][0])[1]) if source[9] else []


def by_readelf(binary):
    """Return the names of the functions of a cubin."""
    path = os.path.join(folder(), "a.cubin")
    with open(path, "wb") as file:
        file.write(binary)
    table = run(["readelf", "-sW", path], env=clean_env()).out.decode().splitlines()
    return sorted(line.split()[-1] for line in table if " FUNC " in line and " UND " not in line)


def notes(report):
    return [d["text"] for d in report.info()["diagnostics"] if "code of" in d["text"]]


def kept():
    for program in ("vector_add", "pipeline", "graph"):
        if device.missing(program):
            tap.skip(f"{program}: its code is kept", device.missing(program))
            continue
        report = traced([device.app(program)], LIBTRACE_CUDA_CUBINS="true", LIBTRACE_CUDA_GRAPH="node")
        if not report:
            continue
        found = list(sources(report.path))
        modules = [e for e in report.events("--kind", "cuda_module") if not e["is_unload"]]
        file = open(device.app(program), "rb").read()
        tap.ok(found and all(s[4][0] in file for s in found), f"{program}: what is kept stands in its file, byte by byte", f"{len(found)} of {len(modules)}")
        told_of = {(int(str(e["cubin_hash"]), 0) | 1, e["cubin_bytes"]) for e in modules if int(str(e["cubin_hash"]), 0)}
        tap.ok({(s[1][0], len(s[4][0])) for s in found} == told_of and len(found) == len(told_of), f"{program}: one entry for each content",
               f"{[(s[1][0], len(s[4][0])) for s in found]} {told_of}")
        tap.ok(all(functions(s) == by_readelf(s[4][0]) for s in found), f"{program}: its functions, as readelf names them", [functions(s) for s in found])
        tap.ok(all((s[5][0], s[6][0]) == (9, 9 << 16) for s in found), f"{program}: for which architecture", [(s[5], s[6]) for s in found])
        by_reference = {s[1][0]: functions(s) for s in found}
        made = [r for _, r in results(report.path, alone=False)]
        led = [fields(r[15][0])[1][0] for r in made]
        tap.ok(made and all(r[5][0].decode() in by_reference.get(reference, ()) for r, reference in zip(made, led)),
               f"{program}: each kernel leads to the module that has it", f"{collections.Counter(led)} {list(by_reference)}")
        tap.ok(not notes(report), f"{program}: nothing is missing", notes(report))
        exported(program, report.path, by_reference)
        if program == "vector_add":
            disassembled(report.path)


def exported(program, path, by_reference):
    """Check that in `trace export -t ncu` all launches, not only those that the writer keeps, refer to their code, which is stored once."""
    made = os.path.join(os.path.dirname(path), "made.ncu-rep")
    tap.ok(trace("export", "-t", "ncu", "-o", made, path).status == 0, f"{program}: exported")
    tap.ok({s[1][0]: bytes(s[4][0]) for s in sources(made)} == {s[1][0]: bytes(s[4][0]) for s in sources(path)} and len(list(sources(made))) == len(by_reference),
           f"{program}: the code of each module, once", f"{[s[1] for s in sources(made)]} {list(by_reference)}")
    launches = list(results(made))
    kernels = [e for e in Report(path).events("--kind", "cuda_kernel")]
    led = [(r[5][0].decode(), fields(r[15][0])[1][0]) for _, r in launches]
    tap.ok(len(led) == len(kernels) > 0 and all(name in by_reference.get(reference, ()) for name, reference in led), f"{program}: each of {len(kernels)} launches leads to the module that has it", led[:5])
    if program == "vector_add":
        disassembled(made)


def disassembled(path):
    if not os.path.exists(NCU):
        tap.skip("ncu prints the code", "no ncu in PEERS or /tmp/peers")
        return
    page = run([NCU, "--import", path, "--page", "source", "--print-source", "sass", "--csv"], env=clean_env(HOME=folder()), limit=100).out.decode()
    tap.ok('"Kernel Name","vector_add"' in page and "FADD" in page and "LDG" in page, f"ncu disassembles the kernel from {os.path.basename(path)}", page[:500])


def not_asked_for():
    if device.missing("vector_add"):
        tap.skip("not asked for", device.missing("vector_add"))
        return
    report = traced([device.app("vector_add")])
    if report:
        tap.ok(not list(sources(report.path)) and [e for e in report.events("--kind", "cuda_module") if e["cubin_bytes"]], "modules are recorded without their code by default")


def twice():
    if device.missing("vector_add"):
        tap.skip("twice", device.missing("vector_add"))
        return
    program = device.app("vector_add")
    report = traced(["/bin/sh", "-c", f"{program} & {program}; wait"], LIBTRACE_CUDA_CUBINS="true")
    if report:
        made = os.path.join(os.path.dirname(report.path), "made.ncu-rep")
        trace("export", "-t", "ncu", "-o", made, report.path)
        tap.ok(len(list(sources(made))) == 1 and {fields(r[15][0])[1][0] for _, r in results(made)} == {next(sources(made))[1][0]}, "exported: the code is stored once, and kernels lead to it")
        led = {fields(r[15][0])[1][0] for _, r in results(report.path, alone=False)}
        found = list(sources(report.path))
        tap.ok(len(found) == 1 and led == {found[0][1][0]}, "two processes with the same code: the code is stored once, and kernels of both lead to it", f"{len(found)} {led}")


def elf(size, machine=190, symbol_bytes=48, seed=0):
    """Return a cubin of `size` bytes with one kernel, `big`, of 64 bytes of code, which depend on `seed`. Its sections are at its end; the symbol section may have a wrong size."""
    texts = b"\0big\0"
    names_at, symbols_at, code_at = 64, 64 + 8, 64 + 8 + 48
    section = struct.Struct("<IIQQQQIIQQ")
    sections_at = size - 4 * section.size
    header = struct.pack("<4s5B7xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 65, 8, 1, machine, 1, 0, 0, sections_at, 90 << 8, 64, 0, 0, 64, 4, 0)
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, ENTRY, 3, 0, 64)
    sections = (bytes(section.size) + section.pack(0, 3, 0, 0, names_at, len(texts), 0, 0, 1, 0)
                + section.pack(0, 2, 0, 0, symbols_at, symbol_bytes, 1, 1, 8, 24) + section.pack(0, 1, 6, 0, code_at, sections_at - code_at, 0, 0, 1, 0))
    code = bytes((i * 7 + i // 251 + seed) & 255 for i in range(251)) * (size // 251 + 1)
    return header + texts.ljust(8, b"\0") + symbols + code[:sections_at - code_at] + sections


def outside():
    """Check that modules and their code are recorded outside of windows, since kernels of a later window run in them."""
    if device.missing():
        tap.skip("outside of a window", device.missing())
        return
    path = os.path.join(folder(), "small")
    with open(path, "wb") as file:
        file.write(elf(500))
    report = traced([sys.executable, "-c", LOADER, path], LIBTRACE_CUDA_CUBINS="true", LIBTRACE_CAPTURE_RANGE="nvtx:never")
    if report:
        kinds = collections.Counter(e["kind"] for e in report.events())
        tap.ok(kinds["cuda_module"] and not kinds["cuda_api"] and [functions(s) for s in sources(report.path)] == [["big"]],
               "a module loaded outside of every window is recorded, with its code", kinds)


def large_and_broken():
    if device.missing():
        tap.skip("large code", device.missing())
        return
    work = folder()
    images = {"large": elf(5_000_003), "small": elf(500), "other machine": elf(700, machine=62), "too many symbols": elf(600, symbol_bytes=1 << 60)}
    paths = []
    for name, image in images.items():
        paths.append(os.path.join(work, name))
        with open(paths[-1], "wb") as file:
            file.write(image)
    report = traced([sys.executable, "-c", LOADER, *paths], LIBTRACE_CUDA_CUBINS="true")
    if not report:
        return
    found = {len(s[4][0]): s for s in sources(report.path)}
    large = found.get(len(images["large"]))
    tap.ok(large is not None and large[4][0] == images["large"] and functions(large) == ["big"], "five megabytes come through whole", list(found))
    tap.ok(len(images["small"]) in found and len(images["other machine"]) not in found, "code that is not a cubin is not kept", list(found))
    tap.ok(len(images["too many symbols"]) in found and not functions(found[len(images["too many symbols"])]), "a table that reaches too far is not read", list(found))
    tap.ok(len(notes(report)) == 1, "one diagnostic says that code was not kept", notes(report))
    tap.ok(report.info()["verdict"].startswith("complete"), "no event is missing when code is not kept", report.info()["verdict"])


MASK = (1 << 64) - 1


def name_hash(name):
    """Hash a name by FNV-1a."""
    found = 0xCBF29CE484222325
    for letter in name:
        found = (found ^ letter) * 0x100000001B3 & MASK
    return found


def code_hash(code):
    """Hash code as tracer/cuda/kernel_code.c does."""
    found = len(code)
    for at in range(0, len(code) // 8 * 8, 8):
        found = (found ^ int.from_bytes(code[at:at + 8], "little")) * 0x100000001B3 & MASK
        found ^= found >> 32
    return (found ^ int.from_bytes(code[len(code) // 8 * 8:], "little")) * 0x100000001B3 & MASK


def kernels(cubin):
    """Return {name: code} of the kernels of a cubin."""
    (at, ), (count, ) = struct.unpack_from("<Q", cubin, 40), struct.unpack_from("<H", cubin, 60)
    sections = [struct.unpack_from("<IIQQQQIIQQ", cubin, at + n * 64) for n in range(count)]
    symbols = next(s for s in sections if s[1] == 2)
    names, found = sections[symbols[6]][4], {}
    for n in range(symbols[4], symbols[4] + symbols[5], 24):
        name, info, other, index, start, size = struct.unpack_from("<IBBHQQ", cubin, n)
        if info & 15 == 2 and other & ENTRY:
            begin = sections[index][4] + start
            found[cubin[names + name:cubin.index(b"\0", names + name)]] = cubin[begin:begin + (size or sections[index][5])]
    return found


def codes(report):
    """Return {(hash of the name, hash of the code, its bytes)} of the kernels in the report's modules."""
    return {(int(str(e["name_hash"]), 0), int(str(e["code_hash"]), 0), e["code_bytes"]) for e in report.events("--kind", "cuda_kernel_code")}


def hashes():
    """Check the hash of each kernel's code against the code itself, by nvcc and by us, and that it is known without the code in the report."""
    if device.missing():
        tap.skip("hashes of kernels", device.missing())
        return
    work = folder()
    paths = [os.path.join(work, name) for name in ("first", "longer", "other")]
    for path, image in zip(paths, (elf(500), elf(700), elf(500, seed=1))):
        with open(path, "wb") as file:
            file.write(image)
    report = traced([sys.executable, "-c", LOADER, *paths, paths[0]])
    if report:
        wanted = [(name_hash(b"big"), code_hash(kernels(elf(500, seed=seed))[b"big"]), 64) for seed in (0, 0, 1)]
        rows = [(int(str(e["name_hash"]), 0), int(str(e["code_hash"]), 0), e["code_bytes"]) for e in report.events("--kind", "cuda_kernel_code")]
        tap.ok(rows == wanted and wanted[0] != wanted[2], "equal code in two modules has one hash, other code another; a module loaded again has no rows", (rows, wanted))
    if device.missing("vector_add"):
        tap.skip("hashes of nvcc's kernels", device.missing("vector_add"))
        return
    report = traced([device.app("vector_add")], LIBTRACE_CUDA_CUBINS="true")
    if not report:
        return
    whole = {name: code for s in sources(report.path) for name, code in kernels(bytes(s[4][0])).items()}
    tap.ok(whole and codes(report) == {(name_hash(name), code_hash(code), len(code)) for name, code in whole.items()}, "vector_add: the hashes are those of the kept code", codes(report))
    table = trace("stats", "-r", "cuda_kern_occupancy:mangled", "-f", "csv", report.path).out.decode()
    got = {(r["Name"], r["Code"]) for r in csv.DictReader(io.StringIO(table))}
    tap.ok(got and got <= {(name.decode(), f"{code_hash(code):016x}") for name, code in whole.items()}, "cuda_kern_occupancy has the hash of each kernel", got)
    plain = traced([device.app("vector_add")])
    tap.ok(plain and codes(plain) == codes(report), "and without --cuda-cubins")


if __name__ == "__main__":
    main(kept, hashes, not_asked_for, twice, outside, large_and_broken)
