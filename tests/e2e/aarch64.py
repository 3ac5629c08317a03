#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Check the aarch64 build (make aarch64) under qemu-user: a program behaves as untraced, its calls and callchains are recorded, signed return addresses and
signal handlers included, with pages of 4 and 64 KiB, and the trace of this machine reads the report.

qemu does not start the writer as the kernel does (clone without an exit signal), so the writer is run after the program, as `trace recover` does. What an
emulator cannot show is in docs/limitations.md.
"""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import BUILD, SRC, Report, folder, main, tap  # noqa: E402

OTHER = os.environ.get("AARCH64") or os.path.join(BUILD, "aarch64")
ROOT = os.path.join(OTHER, "root")
LIBRARY, WRITER = (os.path.join(OTHER, "lib/libtrace", name) for name in ("libtrace.so", "libtrace-writer"))
COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64-static"
START = ["main", "libc.so.6", "libc.so.6", "_start"]


def missing():
    """Return what this test lacks here, or an empty text."""
    tools = [tool for tool in (COMPILER, EMULATOR) if not shutil.which(tool)]
    return ", ".join([*tools, *([] if os.path.exists(LIBRARY) and os.path.exists(WRITER) else ["the aarch64 build (make aarch64)"])])


def built(place, *flags):
    program = os.path.join(place, "machine")
    subprocess.run([COMPILER, f"--sysroot={os.path.realpath(ROOT)}", "-O1", "-g", *flags, "-o", program, os.path.join(SRC, "tests/apps/machine.c")], check=True)
    return program


def emulated(place, argv, page=4096, **environment):
    """Run a program under the emulator. Return (status, output)."""
    preload = ["-E", f"LD_PRELOAD={LIBRARY}"] if environment else []
    env = {"PATH": os.environ["PATH"], "QEMU_PAGESIZE": str(page), "QEMU_LD_PREFIX": os.path.realpath(ROOT), **environment}
    ran = subprocess.run([EMULATOR, "-cpu", "max", *preload, *argv], cwd=place, env=env, capture_output=True, text=True, timeout=240)
    return ran.returncode, ran.stdout + ran.stderr


def recorded(place, argv, page=4096, **more):
    """Return (status, output, report) of a traced run."""
    spools, report = os.path.join(place, "spools"), os.path.join(place, "run.rep")
    os.mkdir(spools)
    got = emulated(place, argv, page, LIBTRACE_SPOOL_DIR=spools, LIBTRACE_HELPER="false", LIBTRACE_OUTPUT=report, LIBTRACE_OSRT_THRESHOLD="0",
                   LIBTRACE_OSRT_BACKTRACE_THRESHOLD="0", **more)
    tree = os.path.join(spools, os.listdir(spools)[0])
    subprocess.run([EMULATOR, WRITER, "--recover", tree, "-o", report], check=True, capture_output=True, timeout=240)
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
    tap.ok(len(handlers) == 1 and handlers[0][:2] == ["leaf", "handler"] and handlers[0][-4:] == START, f"{name}: the callers of an interrupted call", handlers)
    tap.ok(["leaf", *START] in found, f"{name}: the call of a forked child", found[-3:])
    tap.ok(report.info()["verdict"].startswith("complete"), f"{name}: nothing lost", report.info()["verdict"])
    return report


def plain():
    report = check("plain", [], 4096, LIBTRACE_BACKTRACE="check")
    told = [line for line in str(report.info()).replace("\\n", "\n").split("callchains compared")[1:]]
    tap.ok(told and all("different: 0," in line for line in told), "plain: libunwind finds the same callers", told)


def signed():
    check("signed return addresses", ["-mbranch-protection=standard"], 4096)
    check("signed with key B, leaf functions, too", ["-mbranch-protection=pac-ret+leaf+b-key"], 4096)


def large_pages():
    check("pages of 64 KiB", ["-Wl,-z,max-page-size=65536"], 65536)


def killed():
    check("killed", [], 4096, "kill")


if __name__ == "__main__":
    lacks = missing()
    if lacks:
        print(f"1..0 # SKIP needs {lacks}")
        sys.exit(0)
    main(plain, signed, large_pages, killed)
