#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 1800
"""Check the aarch64 build (make aarch64) under qemu-user: programs behave as untraced, and have the events, callchains and counts that they have
on this machine; each machine's command reads the other's reports.

qemu does not start the writer as the kernel does (clone without an exit signal), so the writer is run after the program, as `trace recover` does, and
`trace run` cannot be used. What an emulator cannot show is in docs/limitations.md.
"""
import collections
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
import stepped as steps  # noqa: E402
from lib import BUILD, LIBRARY as OWN_LIBRARY, SRC, TRACE, Books, Report, clean_env, folder, main, run, spool_folder, tap, traced_env, wait_spool_gone  # noqa: E402

OTHER = os.environ.get("AARCH64") or os.path.join(BUILD, "aarch64")
ROOT = os.path.join(OTHER, "root")
LIBRARY, WRITER = (os.path.join(OTHER, "lib/libtrace", name) for name in ("libtrace.so", "libtrace-writer"))
COMPILER, EMULATOR, OBJDUMP = "aarch64-linux-gnu-gcc", "qemu-aarch64-static", "aarch64-linux-gnu-objdump"
START = ["main", "libc.so.6", "libc.so.6", "_start"]
TICK_NS = 16  # of qemu's counter
FOUND_THERE = {"PATH": os.environ["PATH"], "QEMU_LD_PREFIX": os.path.realpath(ROOT)}  # files that programs open, such as the kernel's clock source


def missing():
    """Return what this test lacks here, or an empty text."""
    tools = [tool for tool in (COMPILER, EMULATOR, OBJDUMP) if not shutil.which(tool)]
    return ", ".join([*tools, *([] if os.path.exists(LIBRARY) and os.path.exists(WRITER) else ["the aarch64 build (make aarch64)"])])


def built(place, *flags):
    program = os.path.join(place, "machine")
    subprocess.run([COMPILER, f"--sysroot={os.path.realpath(ROOT)}", "-O1", "-g", *flags, "-o", program, os.path.join(SRC, "tests/apps/machine.c")], check=True)
    return program


def emulated(place, argv, page=4096, processor="max", **environment):
    """Run a program under the emulator. Return (status, output). Variables of the loader are the program's only."""
    own = {name: environment.pop(name) for name in ("LD_LIBRARY_PATH",) if name in environment}
    if environment:
        own["LD_PRELOAD"] = LIBRARY
    settings = [word for name, value in own.items() for word in ("-E", f"{name}={value}")]
    env = {**FOUND_THERE, "QEMU_PAGESIZE": str(page), **environment}
    ran = subprocess.run([EMULATOR, "-cpu", processor, *settings, *argv], cwd=place, env=env, capture_output=True, text=True, timeout=240)
    return ran.returncode, ran.stdout + ran.stderr


def recorded(place, argv, page=4096, **more):
    """Return (status, output, report) of a traced run."""
    spools, report = os.path.join(place, "spools"), os.path.join(place, "run.rep")
    os.mkdir(spools)
    got = emulated(place, argv, page, **{"LIBTRACE_SPOOL_DIR": spools, "LIBTRACE_HELPER": "false", "LIBTRACE_OUTPUT": report, "LIBTRACE_OSRT_THRESHOLD": "0",
                                         "LIBTRACE_OSRT_BACKTRACE_THRESHOLD": "0", **more})
    tree = os.path.join(spools, os.listdir(spools)[0])
    subprocess.run([EMULATOR, WRITER, "--recover", tree, "-o", report], check=True, env=FOUND_THERE, capture_output=True, timeout=240)
    return (*got, Report(report))


def functions(event):
    """Return the names of a callchain; of a function without a name, that of the file."""
    return [frame["function"] or os.path.basename(frame["module"] or "") for frame in event["callchain"]]


def chains(report):
    found = [functions(event) for event in report.events() if event.get("function") == "read" and event.get("callchain")]
    return [chain for chain in found if chain[0] == "leaf"]


def check(name, flags, page, *arguments, **more):
    place = folder()
    program = built(place, *flags)
    plain = emulated(place, [program, *arguments], page)
    status, output, report = recorded(place, [program, *arguments], page, **more)
    tap.ok((status, output) == plain and "1 handled, child 4" in output, f"{name}: status and output as untraced", (plain, status, output))
    found = chains(report)
    wanted = [["leaf", *["middle"] * (1 + i % 5), *START] for i in range(50)]
    tap.ok([chain for chain in found if "middle" in chain] == wanted, f"{name}: 50 calls by the right callers", found[:3])
    handlers = [chain for chain in found if "handler" in chain]
    tap.ok(len(handlers) in (1, 2) and handlers[0][:2] == ["leaf", "handler"] and handlers[0][-4:] == START, f"{name}: the callers of an interrupted call", handlers)
    tap.ok(["leaf", *START] in found, f"{name}: the call of a forked child", found[-3:])
    tap.ok(report.info()["verdict"].startswith("complete"), f"{name}: nothing lost", report.info()["verdict"])
    return report, output, handlers


def plain():
    """Callchains as libunwind finds them; the clock's resolution is in the report, and commands say what it means."""
    report, *_ = check("plain", [], 4096, LIBTRACE_BACKTRACE="check")
    told = [line for line in str(report.info()).replace("\\n", "\n").split("callchains compared")[1:]]
    tap.ok(told and all("different: 0," in line for line in told), "plain: libunwind finds the same callers", told)
    facts = report.info()["session"]["facts"] if "session" in report.info() else report.info()["facts"]
    tap.ok("machine=aarch64" in facts and f"counter_hz={10**9 // TICK_NS}" in facts, "the report has the machine and the counter's frequency", facts)
    times = [event["duration_ns"] for event in report.events() if event.get("duration_ns", 10**9) < 10**4]  # in longer ones the clock's rate shows
    text, note = run([TRACE, "info", report.path]).out.decode(), run([TRACE, "stats", report.path]).err.decode()
    tap.ok(f"a tick is {TICK_NS} ns" in text and f"multiples of {TICK_NS} ns" in note and times and all(abs(ns - TICK_NS * round(ns / TICK_NS)) <= 2 for ns in times),
           "info and stats say that durations are multiples of a tick, and they are", (times, text, note))
    database = report.path + ".sqlite"
    run([TRACE, "export", "-t", "sqlite", "-o", database, report.path])
    asked = run([TRACE, "query", database, "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name IN ('CpuArchitecture', 'IsX86BasedDevice')"]).out.decode()
    tap.ok("aarch64" in asked and "x86" not in asked, "a database for nsys names the machine", asked)


def signed():
    check("signed return addresses, landing pads", ["-mbranch-protection=standard"], 4096)
    check("signed with key B, leaf functions, too", ["-mbranch-protection=pac-ret+leaf+b-key"], 4096)


def pages():
    check("pages of 16 KiB", ["-Wl,-z,max-page-size=65536"], 16384)
    check("pages of 64 KiB", ["-Wl,-z,max-page-size=65536"], 65536)


def old_processor():
    """A processor of Armv8.0, without the instructions of the short path."""
    check("Armv8.0", [], 4096, processor="cortex-a72")


def killed():
    check("killed", [], 4096, "kill")


def vectors():
    """SVE: a handler that is traced leaves all vectors as they were, and callers are found through the larger signal frame."""
    _, output, handlers = check("vectors", [], 4096, "vectors")
    tap.ok("vectors lost: 0, 2 handled" in output, "vectors: registers of SVE are kept", output)
    tap.ok(len(handlers) == 2 and handlers[1][:2] == ["leaf", "handler"] and "vectors_lost" in handlers[1] and handlers[1][-4:] == START,
           "vectors: the callers of code that uses SVE", handlers)


def code():
    """What must hold of the library's instructions: none of SVE; landing pads; the head of a lane is published by an addition with release."""
    listing = subprocess.run([OBJDUMP, "-d", "--no-show-raw-insn", LIBRARY], check=True, capture_output=True, text=True).stdout
    tap.ok(not re.search(r"\t[a-z0-9]+\t[^\n]*\b[zp][0-9]+(\.[bhsd]|/[mz])", listing), "the library has no instruction of SVE")
    notes = subprocess.run(["readelf", "-nW", LIBRARY], check=True, capture_output=True, text=True).stdout
    tap.ok("BTI" in notes, "the library is marked as having landing pads", notes)
    wrapper = re.search(r"<read>:\n(.*?)\n\n", listing, re.S)[1]
    stores = re.findall(r"\t(stlxr|stxr|stlr|stadd|staddl|ldadd)\t", wrapper)
    tap.ok(stores.count("staddl") == 1 and "\tdmb" not in wrapper, "a wrapper publishes by one addition with release, and has no barrier", stores)
    tap.ok("stxr" not in stores and "ldadd" in stores, "a wrapper changes shared words by one instruction each", stores)


WAYS = (("call", "pread", steps.once), ("calls", "fcntl", steps.once), ("switch", "sched_yield", steps.once), ("cross", "pread", steps.once),
        ("jump", "pread", steps.jumped), ("fork", "fcntl", steps.forked), ("bare", "pread", steps.forked),
        *((way, "f_count", steps.of_library) for way in ("call", "switch", "jump")))


def stepped():
    """A handler at each instruction of a call, as on this machine (stepped.py)."""
    program, stacks = (os.path.join(OTHER, "tests/apps", name) for name in ("stepped", "stepped_stacks"))
    if not os.path.exists(program) or not os.path.exists(stacks):
        tap.skip("stepped", "the programs are not built (make aarch64-quick)")
        return
    for way, call, judge in WAYS:
        stride = ("0", "41" if way == "calls" else "23" if way == "cross" else "3" if call == "f_count" or judge is steps.forked else "1")
        for options in ({}, {"LIBTRACE_OSRT_THRESHOLD": "10000000000"}) if call != "f_count" else (steps.FUNCTIONS,):
            status, output, report = recorded(folder(), [program, way, call, *stride], APP_FACTS="1", LIBTRACE_OSRT_BACKTRACE_THRESHOLD="none", **options)
            name, facts = f"{way} at each instruction of {call}{', below the threshold' if 'LIBTRACE_OSRT_THRESHOLD' in options else ''}", steps.facts(output)
            tap.ok(status == 0 and "trials" in facts, f"{name}: the program passes", output)
            judge(way, call, report, name, *facts["call"], *facts["trials"])
    for which in ("first", "second"):
        status, output, report = recorded(folder(), [stacks, which, "0", "3"], APP_FACTS="1", LIBTRACE_OSRT_BACKTRACE_THRESHOLD="none")
        made = steps.facts(output)["call"][0]
        tap.ok(status == 0 and report.total("pread") == made, f"two stacks, {which}: each call is there once", (output, made, report.total("pread")))


def shape(event):
    """Return what an event of another run, on another machine, has in common."""
    return tuple(str(event.get(key)) for key in ("kind", "function", "name", "text", "domain", "category", "color", "payload", "level", "result", "bytes"))


def same_events(name, events, native):
    mine, wanted = (collections.Counter(map(shape, found)) for found in (events, native))
    tap.ok(mine == wanted and sum(wanted.values()) > 5, f"{name}: the events that it has on this machine", (mine - wanted, wanted - mine))


def native(argv, environment=lambda base: base, **more):
    """Return the report of a run on this machine."""
    spool, path = spool_folder(), os.path.join(folder(), "native.rep")
    ran = run(argv, env=environment(traced_env(path, spool, **more)))
    wait_spool_gone(spool)
    return ran, Report(path)


def nvtx():
    for name in ("nvtx_calls", "nvtx_threads"):
        theirs, ours = (os.path.join(base, "tests/apps", name) for base in (OTHER, BUILD))
        if not os.path.exists(theirs):
            tap.skip(f"{name}", "the programs are not built (make ARCH=aarch64 apps)")
            continue
        place = folder()
        status, output, report = recorded(place, [theirs], LIBTRACE_TRACE="nvtx", NVTX_INJECTION64_PATH=LIBRARY)
        ran, own = native([ours], LIBTRACE_TRACE="nvtx", NVTX_INJECTION64_PATH=OWN_LIBRARY)
        tap.ok(status == ran.status == 0, f"{name}: runs", (status, output, ran))
        same_events(name, *([e for e in r.events() if e["kind"].startswith("nvtx")] for r in (report, own)))


def threads():
    program = os.path.join(OTHER, "tests/apps/counter_workload")
    if not os.path.exists(program):
        tap.skip("threads", "the programs are not built (make ARCH=aarch64 apps)")
        return
    place = folder()
    books = os.path.join(place, "books")
    status, output, report = recorded(place, [program, books, "3", "finish", "1"])
    kept = Books(books)
    wrong = kept.compare(report)
    tap.ok(len(kept.threads) == 3 and kept.done() == 3 * 4 * 100 and wrong is None and report.info()["verdict"].startswith("complete"),
           "three threads: each call is recorded", (status, output, kept.done(), wrong))


def simulated_device():
    sim, program, own = os.path.join(OTHER, "sim/cuda13"), os.path.join(OTHER, "tests/cuda/driver_api"), device.app("driver_api")
    if not os.path.exists(program) or not os.path.exists(own):
        tap.skip("simulated device", "it is not built (make ARCH=aarch64 cuda-apps)")
        return
    place = folder()
    status, output, report = recorded(place, [program, "20"], LD_LIBRARY_PATH=sim, LIBTRACE_TRACE="cuda", CUDA_INJECTION64_PATH=LIBRARY)
    ran, mine = native([own, "20"], lambda base: device.env(base=base), LIBTRACE_TRACE="cuda", CUDA_INJECTION64_PATH=OWN_LIBRARY)
    tap.ok(status == ran.status == 0, "simulated device: the program's own results are right", (status, output, ran))
    same_events("simulated device", *([e for e in r.events() if e["kind"].startswith("cuda")] for r in (report, mine)))


def library_functions():
    """Calls of a library's functions by lazily bound tables, tables bound at the start and write-protected, and by addresses in tables."""
    for name in ("functions", "functions_now", "functions_noplt"):
        theirs, ours = (os.path.join(base, "tests/apps", name) for base in (OTHER, BUILD))
        if not os.path.exists(theirs):
            tap.skip(name, "it is not built (make aarch64-quick)")
            continue
        plain = emulated(folder(), [theirs])
        for page in (4096, 65536):
            wanted = {"LIBTRACE_TRACE": "none", "LIBTRACE_FUNCTIONS": "libfunctions.so:f_*"}
            status, output, report = recorded(folder(), [theirs], page, **wanted)
            _, mine = native([ours], **wanted)
            tap.ok((status, output) == plain and output.count("\n") == 17, f"{name}, pages of {page}: status and output as untraced", (plain, status, output))
            found, own = ([e for e in r.events() if e["kind"] == "function_call"] for r in (report, mine))
            counts = [collections.Counter((e["function"], e["level"], str(e["flags"])) for e in events) for events in (found, own)]
            tap.ok(counts[0] == counts[1] and (name == "functions_noplt" or sum(counts[1].values()) > 3000),
                   f"{name}, pages of {page}: the calls that it has on this machine", (counts[0] - counts[1], counts[1] - counts[0]))
            verdict = report.info()["verdict"]
            tap.ok(verdict.startswith("complete"), f"{name}, pages of {page}: nothing lost", verdict)


VARIANT = "float plain(float x){};\n__attribute__((aarch64_vector_pcs)) float variant(float x){};\n"
VARIANT_LIBRARY = VARIANT.replace("{};", " { return x + 1; }")
VARIANT_PROGRAM = VARIANT.replace("{}", "") + '#include <stdio.h>\nint main(void) { printf("%g %g\\n", plain(1), variant(2)); }\n'


def other_conventions():
    """Functions with another calling convention than usual are left alone."""
    place = folder()
    for name, text, *flags in (("libvariant.so", VARIANT_LIBRARY, "-fPIC", "-shared"), ("variant", VARIANT_PROGRAM, f"-L{place}", "-lvariant", f"-Wl,-rpath,{place}")):
        source = os.path.join(place, name + ".c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run([COMPILER, f"--sysroot={os.path.realpath(ROOT)}", "-O1", "-o", os.path.join(place, name), source, *flags], check=True)
    status, output, report = recorded(place, [os.path.join(place, "variant")], LIBTRACE_FUNCTIONS="libvariant.so:*")
    found = [event["function"] for event in report.events() if event["kind"] == "function_call"]
    tap.ok((status, output, found) == (0, "2 3\n", ["plain"]), "a function with the calling convention of vectors is left alone", (status, output, found))


def read_there():
    """The other machine's command reads a report of this one, with its symbols: the same as this machine's command."""
    command = os.path.join(OTHER, "bin/trace")
    if not os.path.exists(command):
        tap.skip("reading there", "the command is not built (make aarch64)")
        return
    _, report = native([os.path.join(BUILD, "tests/apps/machine")], LIBTRACE_OSRT_BACKTRACE_THRESHOLD=0)
    mine = run([TRACE, "dump", "--json", report.path], env=clean_env()).out
    theirs = run([EMULATOR, "-cpu", "max", command, "dump", "--json", report.path], env=clean_env(), limit=240)
    tap.ok(theirs.out == mine and b'"function":"middle"' in mine, "a report of this machine is read there, with symbols", theirs.err)


def packages():
    """Packages of the machine, if they were made: names, and the machine of what is in them; the command of the wheel runs."""
    made = os.path.join(OTHER, "dist")
    found = [os.path.basename(path) for path in sorted(glob.glob(os.path.join(made, "*")))]
    if not found:
        tap.skip("packages", "they are not made (make ARCH=aarch64 dist)")
        return
    ends = ("_arm64.deb", "-arm64.oci.tar", "-linux-aarch64.tar.xz", "-py3-none-manylinux_2_17_aarch64.whl")
    tap.ok(all(any(name.endswith(end) for name in found) for end in ends), "packages: wheel, archive, Debian package, image", found)
    place = folder()
    run(["python3", "-m", "zipfile", "-e", glob.glob(os.path.join(made, "*.whl"))[0], place])
    programs = [path for path in glob.glob(os.path.join(place, "**"), recursive=True) if os.path.isfile(path) and open(path, "rb").read(4) == b"\x7fELF"]
    machines = {open(path, "rb").read(20)[18] for path in programs}
    tap.ok(machines == {183} and len(programs) >= 6, "packages: all programs of the wheel are the machine's", (machines, programs))
    (command,) = glob.glob(os.path.join(place, "*.data/scripts/trace"))
    os.chmod(command, 0o755)  # zipfile does not; pip does
    said = run([EMULATOR, command, "--version"])
    tap.ok(said.status == 0 and b"trace" in said.out + said.err, "packages: the command of the wheel runs", said)
    control = run(["dpkg-deb", "-f", glob.glob(os.path.join(made, "*.deb"))[0], "Architecture"])
    tap.ok(control.out.strip() == b"arm64", "packages: the Debian package is for arm64", control)


if __name__ == "__main__":
    lacks = missing()
    if lacks:
        print(f"1..0 # SKIP needs {lacks}")
        sys.exit(0)
    main(plain, signed, pages, old_processor, killed, vectors, code, stepped, nvtx, threads, simulated_device, library_functions, other_conventions, read_there, packages)
