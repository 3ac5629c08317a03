#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
"""Python frames in what reads a report: the choice --callchains everywhere, the place of an event, CUDA and NVTX, the page, `trace diff`."""
import glob
import importlib.util
import json
import os
import re
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
from _browser import Browser, find  # noqa: E402
from _packages import PACKAGES, SMALL, fetch  # noqa: E402
from lib import BUILD, SRC, folder, main, run, tap, trace  # noqa: E402
from libpeers import NSYS  # noqa: E402
from python_chains import Traced, interpreters, is_known  # noqa: E402
from _page import about, find_event, search, shows  # noqa: E402

TRAIN = """
import os
import threading
import time

class Model:
    def step(self):
        list(map(lambda n: self.rest(n), [1]))

    def rest(self, n):
        time.sleep(0.3)

def in_library():
    event = threading.Event()
    event.wait(0.02)

Model().step()
in_library()
"""
REST, OUTER, NATIVE = b"Model.rest (train.py:11)", b"<module> (train.py:17)", b"__libc_start_main"
VIEWS = {"merged": (True, True), "native": (False, True), "python": (True, False)}  # whether Python frames, and others, are there

GPU = """
import ctypes
import sys
import time

PTX = b'''//
.version 7.0
.target sm_75
.address_size 64
.visible .entry leave_alone(.param .u64 values)
{
  ret;
}
'''
cuda = ctypes.CDLL("libcuda.so.1")

def check(error):
    if error:
        sys.exit(f"error {error}")

def upload(values, data):
    check(cuda.cuMemcpyHtoD_v2(values, data, ctypes.c_size_t(4096)))

def launch(function, values):
    arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(values), ctypes.c_void_p))
    check(cuda.cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, None, arguments, None))

def wait():
    check(cuda.cuCtxSynchronize())

def main():
    context, module, function, values = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
    check(cuda.cuInit(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"leave_alone"))
    check(cuda.cuMemAlloc_v2(ctypes.byref(values), ctypes.c_size_t(4096)))
    upload(values, ctypes.create_string_buffer(4096))
    launch(function, values)
    wait()
    time.sleep(0.01)

main()
"""

RANGES = """
import nvtx

def marked():
    nvtx.mark("a mark")

@nvtx.annotate("a function")
def annotated():
    marked()

def nested():
    with nvtx.annotate("a block", domain="py"):
        annotated()
        return 1

nested()
"""


def line_of(source, text):
    return next(number for number, line in enumerate(source.splitlines(), 1) if text in line)


def python():
    known = {version: path for version, path in interpreters().items() if is_known(version)}
    return known[sorted(known)[-1]]


def traced(name, source, **options):
    script = os.path.join(folder(), name)
    with open(script, "w", encoding="utf-8") as out:
        out.write(source)
    return Traced(options.pop("python", None) or python(), [script], **options), script


def exported(report, kind, *options):
    """Return what an export of this format contains."""
    path = os.path.join(folder(), f"out.{kind}")
    made = trace("export", "-t", kind, "-o", path, *options, report)
    if made.status:
        return b"export failed: " + made.err
    with open(path, "rb") as file:
        return file.read()


def page_of(report, *options):
    path = os.path.join(folder(), "page.html")
    made = trace("report", "--html", "-o", path, *options, report)
    if made.status:
        return b"no page: " + made.err
    with open(path, "rb") as file:
        return file.read()


def is_view(content, view):
    """Return whether a content has the frames of a view, and no others. HTML and JSON may escape '<'."""
    with_python, with_native = VIEWS[view]
    content = content.replace(b"\\u003c", b"<")
    return (REST in content and OUTER in content) == with_python and (NATIVE in content) == with_native and (b".py:11" in content) == with_python


def views(train):
    report = train.report.path
    outputs = {
        "dump": lambda *options: trace("dump", "-n", "clock_nanosleep", *options, report).out,
        "dump --json": lambda *options: trace("dump", "--json", "-n", "clock_nanosleep", *options, report).out,
        "stats callchain_tree": lambda *options: trace("stats", "-r", "callchain_tree", "-f", "csv", *options, report).out,
        "stats callchain_flat": lambda *options: trace("stats", "-r", "callchain_flat", "-f", "csv", *options, report).out,
        "analyze": lambda *options: trace("analyze", "-r", "thread_waits", "-f", "json", *options, report).out,
        "report --html": lambda *options: page_of(report, *options),
        **{f"export {kind}": lambda *options, kind=kind: exported(report, kind, *options) for kind in ("json", "folded", "speedscope", "sqlite", "perfetto")},
    }
    outputs["query"] = lambda *options: trace(
        "query", "-f", "csv", *options, report, "SELECT s.value FROM OSRT_CALLCHAINS JOIN StringIds AS s ON s.id = symbol").out
    for name, output in outputs.items():
        if name == "report --html" and b"no page" in output():
            tap.skip(name, "built without npm")
            continue
        for view in VIEWS:
            content = output("--callchains", view)
            if name == "export sqlite":  # its StringIds has code objects, too, for their own table
                database = os.path.join(folder(), "view.sqlite")
                with open(database, "wb") as out:
                    out.write(content)
                with sqlite3.connect(database) as connection:
                    content = "\n".join(row[0] for row in connection.execute("SELECT s.value FROM OSRT_CALLCHAINS JOIN StringIds AS s ON s.id = symbol")).encode()
            tap.ok(is_view(content, view), f"{name}: --callchains {view}", content[-3000:])
        tap.ok(is_view(output(), "merged"), f"{name}: merged is the default")
    folded = exported(report, "folded", "--callchains", "native").decode().splitlines()
    tap.ok(any(re.search(r"__libc_start_main;[^;]*;\[Python\];clock_nanosleep", line) for line in folded), "native: Python frames in a row are one frame", folded)
    wrong = trace("dump", "--callchains", "all", report)
    tap.ok(wrong.status == 2 and b"--callchains" in wrong.err and wrong.err.count(b"\n") == 1, "another word is refused in one line", wrong.err)


READS = """
import sys
import ncu_report
report = ncu_report.load_report(sys.argv[1])
for callchains in ("merged", "native", "python"):
    event = next(iter(report.events(name="clock_nanosleep", callchains=callchains)))
    print(" < ".join(str(frame.function) for frame in event.callchain()))
try:
    report.events(callchains="all")
except ValueError as error:
    print(error)
"""


def api(train):
    """Check that ncu_report has the same choice."""
    trace("symbolize", train.report.path)
    env = dict(os.environ, PYTHONPATH=os.path.join(SRC, "reader/python"), LIBTRACE_READER=os.path.join(BUILD, "lib/libtrace/libtrace-reader.so"))
    read = run([sys.executable, "-c", READS, train.report.path], env=env)
    lines = read.out.decode().splitlines()
    for line, view in zip(lines, VIEWS):
        tap.ok(is_view(line.encode(), view), f"ncu_report: events(callchains='{view}')", line)
    tap.ok(len(lines) == 4 and "'all'" in lines[3], "ncu_report: another word is refused", (lines, read.err))


def without_python(train):
    """Check that a thread without Python frames has a callchain in each view."""
    plain, _ = traced("plain.py", TRAIN, LIBTRACE_PYTHON_BACKTRACE="off")
    lines = exported(plain.report.path, "folded", "--callchains", "python").decode().splitlines()
    tap.ok(lines and all("[native code]" in line for line in lines), "python: a callchain without Python is '[native code]'", lines[:3])
    lines = [line for line in exported(train.report.path, "folded", "--callchains", "python").decode().splitlines() if ".py:" in line]
    tap.ok(lines and not any("[native code]" in line for line in lines), "others have Python frames only", lines[:3])
    native = [exported(plain.report.path, "folded", "--callchains", view) for view in ("merged", "native")]
    tap.ok(native[0] == native[1] and b"_PyEval_EvalFrameDefault" in native[0], "native is merged where no Python frames were recorded")


def places(train):
    dumped = trace("dump", "-k", "osrt_call", train.report.path).out.decode()
    slept = [line for line in dumped.splitlines() if "function=clock_nanosleep" in line]
    tap.ok(len(slept) == 1 and " at train.py:11 " in slept[0], "dump: the place of a call", slept)
    library = [line for line in dumped.splitlines() if "in_library (train.py" in line and "(threading.py:" in line]
    line = line_of(TRAIN, "event.wait")
    tap.ok(library and all(re.search(rf" at train\.py:({line}|{line - 1}) ", text) for text in library), "not in the standard library, but where the program calls it", library)
    waits = json.loads(trace("analyze", "-r", "thread_waits", "-f", "json", train.report.path).out)[0]["rows"]
    tap.ok(waits and waits[0]["Mostly In"] == "clock_nanosleep at train.py:11", "analyze: the place of the longest wait", waits)
    off, _ = traced("train.py", TRAIN, LIBTRACE_PYTHON_BACKTRACE="off")
    waits = json.loads(trace("analyze", "-r", "thread_waits", "-f", "json", off.report.path).out)[0]["rows"]
    tap.ok(waits and waits[0]["Mostly In"] == "clock_nanosleep", "and no place without Python frames", waits)
    deep, _ = traced("deep.py", "import time\ndef f(n):\n    f(n - 1) if n else list(map(time.sleep, [0.001]))\nf(140)\n")
    query = ("SELECT sum(s.value LIKE '%(deep.py:%') AS python, sum(s.value LIKE '__libc_start_main%') AS native FROM OSRT_CALLCHAINS AS c "
             "JOIN StringIds AS s ON s.id = c.symbol GROUP BY c.id ORDER BY 1 DESC LIMIT 1")
    frames = json.loads(trace("query", "-f", "json", deep.report.path, query).out)
    tap.ok(frames == [{"python": 128, "native": 1}], "128 Python frames leave room for the native ones", frames)


def gpu_report(**options):
    return traced("gpu.py", GPU, LIBTRACE_TRACE="cuda,osrt", LIBTRACE_CUDA_BACKTRACE="all", LD_LIBRARY_PATH=device.folder(), **options)


def cuda():
    missing = device.missing()
    if missing:
        tap.skip("CUDA", missing)
        return
    made, script = gpu_report()
    calls = {event["function"]: event for event in made.report.events("--kind", "cuda_api")} if not made.wrong() else {}
    for name, function, text in (("cuMemcpyHtoD_v2", "upload", "cuMemcpyHtoD_v2"), ("cuLaunchKernel", "launch", "cuLaunchKernel"), ("cuCtxSynchronize", "wait", "cuCtxSynchronize")):
        frames = [(f["function"], f["file"], f["line"]) for f in calls.get(name, {}).get("callchain") or [] if str(f["file"]).endswith(".py")]
        wanted = [(f"{at} (gpu.py:{line})", script, line) for at, line in (
            (function, line_of(GPU, f"cuda.{text}(")), ("main", [n for n, each in enumerate(GPU.splitlines(), 1) if each.startswith(f"    {function}(")][0]),
            ("<module>", len(GPU.splitlines())))]
        tap.ok(frames == wanted, f"{name}: the Python frames of the call", (made.wrong(), frames, wanted))
    line = line_of(GPU, "cuda.cuCtxSynchronize(")
    rows = json.loads(trace("analyze", "-r", "cuda_api_sync", "-f", "json", made.report.path).out)[0]["rows"]
    tap.ok([row["API Name"] for row in rows] == [f"cuCtxSynchronize at gpu.py:{line}"], "analyze: the place of a wait for the device", rows)
    launched = f"launch (gpu.py:{line_of(GPU, 'cuda.cuLaunchKernel(')})".encode()
    for view, (with_python, with_native) in VIEWS.items():
        content = exported(made.report.path, "ncu", "--callchains", view)
        tap.ok((launched in content) == with_python and (NATIVE in content) == with_native, f"export ncu: --callchains {view}: the CPU stack of a result")
    database = os.path.join(made.folder, "g.sqlite")
    trace("export", "-t", "sqlite", "-o", database, made.report.path)
    with sqlite3.connect(database) as connection:
        rows = connection.execute("SELECT s.value, m.value FROM CUDA_CALLCHAINS c JOIN StringIds s ON s.id = c.symbol JOIN StringIds m ON m.id = c.module "
                                  "WHERE s.value = ?", (launched.decode(),)).fetchall()
    tap.ok(rows == [(launched.decode(), script)], "CUDA_CALLCHAINS: the module is the file", rows)
    nsys_scripts(database)
    page_details(made.report.path)


def nsys_scripts(database):
    """Check that NVIDIA's statistics scripts still read the database."""
    if not os.path.exists(NSYS):
        tap.skip("nsys stats", "nsys has not been fetched")
        return
    for name in ("cuda_api_sum", "cuda_gpu_kern_sum", "cuda_api_trace", "cuda_kern_exec_sum", "cuda_gpu_mem_time_sum", "osrt_sum"):
        done = run([NSYS, "stats", "--report", name, "--format", "csv", "--force-export=false", database], env=dict(os.environ), limit=100)
        here = trace("stats", "-r", name, "-f", "csv", database).out.decode().splitlines()
        lines = done.out.decode(errors="replace").splitlines()
        tap.ok(done.status == 0 and b"ERROR" not in done.out + done.err and len(here) > 1 and here[0] in lines and len([each for each in lines if each.count(",") >= 5]) == len(here),
               f"nsys's own {name} reads the database: {len(here) - 1} rows", (done.status, lines[-5:], here[:3], done.err[-500:]))


def page_details(report):
    if b"no page" in page_of(report):
        tap.skip("the page", "built without npm")
        return
    if not find():
        tap.skip("the page", "no chromium here")
        return
    path = os.path.join(folder(), "page.html")
    with open(path, "wb") as out:
        out.write(page_of(report))
    with Browser() as browser:
        shows(browser, "a page with Python frames", path)
        search(browser, "cuMemcpyHtoD_v2")
        browser.settle()
        browser.evaluate("document.querySelector('.timeline .scroller canvas').dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}))")
        browser.click(*find_event(browser, "cuMemcpyHtoD_v2"))
        lines, frames = about(browser)
        line = line_of(GPU, "cuda.cuMemcpyHtoD_v2(")
        tap.ok(lines.get("called at") == f"gpu.py:{line}", "a click on an event shows the place in the program", lines)
        shown = [text for text in frames if "Python" in text]
        tap.ok([text.split(" Python")[0] for text in shown] == ["upload", "main", "<module>"] and shown[0] == f"upload Python, gpu.py:{line}", "and its Python frames", frames)
        browser.evaluate("(() => { const i = document.querySelector('.flamegraph input[type=search]'); i.value = 'main (gpu.py:'; i.dispatchEvent(new Event('input')); })()")
        browser.settle()
        matches = browser.evaluate("document.querySelector('.flamegraph .matches').textContent")
        tap.ok(re.match(r"[0-9.]+ %", matches) and float(matches.split()[0]) > 0, "the flame graph has them", matches)


def nvtx_package(python_):
    """Return None, or why Python's package of NVTX cannot be used."""
    missing = fetch(SMALL)
    if not missing and subprocess.run([python_, "-c", "import nvtx"], env=dict(os.environ, PYTHONPATH=PACKAGES), capture_output=True, check=False).returncode:
        return f"the package that was fetched is not for {python_}"
    return missing


def nvtx():
    path = sys.executable
    missing = nvtx_package(path)
    if missing:
        tap.skip("NVTX", missing)
        return
    packages = os.path.join(folder(), "site-packages")  # where pip installs packages for all users
    os.symlink(PACKAGES, packages)
    made, _ = traced("ranges.py", RANGES, python=path, LIBTRACE_TRACE="nvtx", LIBTRACE_NVTX_BACKTRACE_THRESHOLD=0, PYTHONPATH=packages)
    events = {event["text"]: event for event in made.report.events() if event["kind"] in ("nvtx_range", "nvtx_mark")} if not made.wrong() else {}
    for text, wanted in (("a mark", ["marked", "annotated", "nested", "<module>"]), ("a function", ["nested", "<module>"]), ("a block", ["nested", "<module>"])):
        frames = [f["function"].split(" (")[0] for f in events.get(text, {}).get("callchain") or [] if str(f["file"]).endswith("ranges.py")]
        tap.ok(frames == wanted, f"NVTX: {text}: the Python frames", (made.wrong(), frames, events.get(text)))
    line = line_of(RANGES, "nvtx.mark(")
    dumped = trace("dump", "-k", "nvtx_mark", made.report.path).out.decode()
    tap.ok(f" at ranges.py:{line} " in dumped, "its place is in the program, not in the package", dumped)


def diff():
    if importlib.util.find_spec("numpy") is None and not glob.glob(os.path.join(BUILD, "python/bin/python3")):
        tap.skip("trace diff", "no numpy")
        return
    source = "import time\n{}def rest():\n    for n in range({}):\n        time.sleep(0.002)\nrest()\n"
    base = [traced("work.py", source.format("", 3))[0].report.path for _ in range(2)]
    moved = [traced("work.py", source.format("# one\n# two\n", 3))[0].report.path for _ in range(2)]
    result = trace("diff", "-f", "json", "--force", *base, "--", *moved, limit=300)
    if result.status == 2 and b"numpy" in result.err:
        tap.skip("trace diff", result.err.decode())
        return
    findings = [f for f in json.loads(result.out)["findings"] if f["kind"] == "chain" and "rest (work.py)" in f["name"] and f["name"].startswith("clock_nanosleep")]
    tap.ok({f["presence"] for f in findings} == {None} and findings and {f["base"] for f in findings if f["metric"] == "count"} == {3},
           "a function whose lines moved is the same item", findings or result.err)
    tap.ok(findings and {f["lines"] for f in findings} == {"work.py:6 (was work.py:4)"}, "and its lines are told", findings)
    text = trace("diff", "--all", "--force", base[0], "--", moved[0], limit=300).out.decode()
    tap.ok(" at work.py:6 (was work.py:4)" in text, "in the text, too", text[-3000:])


def growth():
    """Check that 20,000 code objects, as a PyTorch program has, grow the report by at most 4 MB."""
    source = """
import os
file = os.open("/dev/null", os.O_RDONLY)
lines = []
for n in range(20000):
    lines.append(f"def function_number_{n}(argument, other=None):\\n    if argument is None:\\n        return other\\n    value = os.lseek(file, 0, 0)\\n    return value\\n")
for at in range(0, 20000, 100):
    names = {"os": os, "file": file}
    exec(compile("".join(lines[at:at + 100]), f"/usr/lib/package/module_of_some_length_{at}.py", "exec"), names)
    for n in range(at, at + 100):
        names[f"function_number_{n}"](n)
"""
    sizes, defined = {}, 0
    for option in ("off", "auto"):
        made, _ = traced("many.py", source, LIBTRACE_PYTHON_BACKTRACE=option)
        sizes[option] = os.path.getsize(made.report.path) if not made.wrong() else 0
        rows = [event for event in made.report.events("--kind", "python_code") if "/module_of_some_length_" in event["file"]]
        defined = len({(row["file"], row["name"]) for row in rows})
    grown = sizes["auto"] - sizes["off"]
    tap.ok(defined >= 20000 and sizes["off"], "20,000 code objects are defined", (defined, sizes))
    tap.ok(grown <= 4 << 20, "they grow the report by at most 4 MB", grown)
    print(f"# 20,000 code objects: {grown} bytes more, {grown / 20000:.0f} for each")


def of_train(*tests):
    def run():
        train, _ = traced("train.py", TRAIN)
        tap.ok(not train.wrong(), "a program is traced", train.wrong())
        for test in tests:
            test(train)
    return run


if __name__ == "__main__":
    if os.uname().machine != "x86_64" or os.environ.get("SAN"):
        tap.skip("Python frames", "another machine, or a library with sanitizers, which Python cannot load")
        tap.finish()
    main(of_train(views, api, without_python, places), cuda, nvtx, diff, growth)
