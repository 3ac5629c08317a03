#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check callchains through code that is generated at run time: java, node and python3 are traced with the maps that they write, as their manuals
describe.

Each program makes a recorded call in three nested functions of its own. The functions must be in the chain by name, also after the map is
gone and `trace symbolize` has stored them. PYTHON_PERF names an interpreter that knows -X perf (3.12 or later).
"""
import glob
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import Report, folder, main, receipts_agree, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

JAVA = """
public class Hot {
    static void innermost(int n) throws Exception { if (n % 100 == 0) Thread.sleep(1); }
    static void middle(int n) throws Exception { innermost(n); }
    static void outer(int n) throws Exception { middle(n); }
    public static void main(String[] a) throws Exception {
        for (int i = 1; i <= 3000; i++) outer(i);
        System.out.println("done");
    }
}
"""
NODE = """
const fs = require('fs');
const fd = fs.openSync('/dev/zero', 'r'), buffer = Buffer.alloc(1);
let sum = 0;
function innermost(n) { sum += n; if (n % 1000 === 0) fs.readSync(fd, buffer, 0, 1, 0); }
function middle(n) { innermost(n); }
function outer(n) { middle(n); }
for (let i = 1; i <= 400000; i++) outer(i);
console.log("done");
"""
PYTHON = """
import os
fd = os.open("/dev/zero", os.O_RDONLY)
def innermost():
    return os.pread(fd, 1, 0)
def middle():
    return innermost()
def outer():
    return middle()
for i in range(100):
    outer()
print("done")
"""


def maps_of(pid):
    return [path for path in (f"/tmp/perf-{pid}.map", f"/tmp/jit-{pid}.dump") if os.path.exists(path)]


def maps_remove(pid):
    for path in maps_of(pid):
        os.unlink(path)


class Traced:
    def __init__(self, argv, source, name):
        self.folder, spool = folder(), spool_folder()
        self.path = os.path.join(self.folder, "r.rep")
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as out:
            out.write(source)
        self.result = run([part.replace("@", self.folder) for part in argv], cwd=self.folder,
                          env=traced_env(self.path, spool, LIBTRACE_OSRT_BACKTRACE_THRESHOLD=0, LIBTRACE_OSRT_BACKTRACE_DEPTH=64))
        finished = wait_spool_gone(spool)
        self.report = Report(self.path)
        self.wrong = self.result.status or self.result.out != b"done\n" or not finished or receipts_agree(self.report) or self.report.check().status
        self.pids = [] if self.wrong else [p["pid"] for p in self.report.info()["processes"]]
        self.maps = [path for pid in self.pids for path in maps_of(pid)]

    def calls(self, functions):
        return [c for c in self.report.events("--kind", "osrt_call") if c["function"] in functions]


def chain_of(call):
    return [frame["function"] or "?" for frame in call["callchain"] or []]


def leads_through(call, wanted):
    """Return whether the names are parts of functions of the chain, in this order, innermost first, with or without others between them."""
    chain = iter(chain_of(call))
    return all(any(name in function for function in chain) for name in wanted)


def hold(name, traced, functions, wanted, least):
    """Check that at least `least` calls lead through the functions: with the map, and from the report alone after the map is gone."""
    tap.ok(not traced.wrong and traced.maps, f"{name}: runs, its report is sound, and it leaves a map", (traced.wrong, traced.result.err, traced.maps))
    if traced.wrong:
        return
    calls = traced.calls(functions)
    found = [c for c in calls if leads_through(c, wanted)]
    tap.ok(len(found) >= least, f"{name}: {len(found)} calls are made from {' <- '.join(wanted)}, by name", [chain_of(c) for c in calls[-3:]])
    stored = trace("symbolize", traced.path)
    for pid in traced.pids:
        maps_remove(pid)
    again = [c for c in traced.calls(functions) if leads_through(c, wanted)]
    tap.ok(stored.status == 0 and len(again) == len(found), f"{name}: symbolize stores the names, the map may go", stored.out + stored.err)


def java():
    if not (shutil.which("java") and shutil.which("javac")):
        tap.skip("java", "no java or no javac")
        return
    classes = folder()
    with open(os.path.join(classes, "Hot.java"), "w", encoding="utf-8") as out:
        out.write(JAVA)
    if subprocess.run(["javac", "-d", classes, os.path.join(classes, "Hot.java")], capture_output=True, timeout=120).returncode:
        tap.skip("java", "javac does not work here")
        return
    with subprocess.Popen(["java", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as probe:
        status = probe.wait(120)
    maps_remove(probe.pid)
    if status:
        tap.skip("java", "a java before 17: no -XX:+DumpPerfMapAtExit")
        return
    argv = ["java", "-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-Xcomp", "-XX:CompileCommand=quiet",
            "-XX:CompileCommand=compileonly,Hot.*", "-XX:CompileCommand=dontinline,Hot.*", "-cp", classes, "Hot"]
    hold("java", Traced(argv, "", "unused"), ("pthread_cond_timedwait", "pthread_cond_wait"), ["JVM_Sleep", "Hot.innermost", "Hot.middle", "Hot.outer", "Hot.main", "JavaMain"], 25)


def node():
    if not shutil.which("node"):
        tap.skip("node", "no node")
        return
    hold("node", Traced(["node", "--perf-basic-prof", "--no-turbo-inlining", "@/hot.js"], NODE, "hot.js"), ("pread", "pread64"),
         ["readSync", "innermost", "middle", "outer", "node::StartExecution"], 100)


def python_with(option):
    """Return an interpreter that has the option: PYTHON_PERF, one of the PATH, or one that pyenv has."""
    names = [os.environ.get("PYTHON_PERF"), *(shutil.which(f"python3.{minor}") for minor in (14, 13, 12)), sys.executable,
             *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")), reverse=True)]
    for python in filter(None, names):
        probe = subprocess.run([python, "-X", option, "-c", "import os, sys; assert sys.is_stack_trampoline_active(); print(os.getpid())"], capture_output=True, timeout=60, text=True)
        maps_remove(probe.stdout.strip() or 0)
        if probe.returncode == 0:
            return python
    return None


def python():
    for option in ("perf", "perf_jit"):
        found = python_with(option)
        if not found:
            tap.skip(f"python3 -X {option}", "no python3 that has it (PYTHON_PERF names one)")
            continue
        hold(f"python3 -X {option}", Traced([found, "-X", option, "@/hot.py"], PYTHON, "hot.py"), ("pread", "pread64"),
             ["py::innermost", "py::middle", "py::outer", "py::<module>", "main"], 100)


main(java, node, python)
