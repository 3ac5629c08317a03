#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""--pytorch autograd-nvtx: a module named torch is asked to emit NVTX ranges, once, in the main thread, when it is imported; errors do not reach the program.

The module is a stand-in with the interface that is used. Where PyTorch itself can be imported (TORCH=FOLDER names where it is), a build without CUDA says
that it has no NVTX.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import folder, main, run, tap  # noqa: E402
from python_chains import Traced, interpreters, is_known  # noqa: E402

STUB = """
import os, threading, time
from torch.autograd import profiler
log = []
time.sleep(0.1)  # an import takes time; meanwhile nothing may be turned on
imported = True
"""
PROFILER = """
import os, sys, threading
class Silent(Exception):
    def __str__(self):
        raise RuntimeError("no text")
class emit_nvtx:
    def __enter__(self):
        torch = sys.modules["torch"]
        torch.log.append((threading.current_thread() is threading.main_thread(), torch.imported))
        if os.environ.get("STUB_RAISES"):
            raise {"ValueError": ValueError, "SystemExit": SystemExit, "Silent": Silent}[os.environ["STUB_RAISES"]](os.environ["STUB_MESSAGE"])
"""
PROGRAM = """
import threading, time
def work():
    for _ in range(10):
        time.sleep(0.01)
thread = threading.Thread(target=work)
thread.start()
time.sleep(0.02)
import torch
thread.join()
for _ in range(400):
    time.sleep(0.002)
    if torch.log and _ > 40:
        break
print(torch.log)
"""


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    return path


def stub(text=STUB):
    base = folder()
    put(os.path.join(base, "torch/__init__.py"), text)
    put(os.path.join(base, "torch/autograd/__init__.py"), "")
    put(os.path.join(base, "torch/autograd/profiler.py"), PROFILER)
    return base, put(os.path.join(base, "program.py"), PROGRAM)


def said(traced):
    return [d.split(": ", 1)[1] for d in traced.diagnostics if "PyTorch" in d]


def turned_on():
    """Check that the ranges are turned on once, after the import, in the main thread."""
    base, program = stub()
    for version, python in interpreters().items():
        if not is_known(version):
            continue
        traced = Traced(python, [program], LIBTRACE_PYTORCH="autograd-nvtx", PYTHONPATH=base)
        tap.ok(not traced.wrong() and traced.result.out == b"[(True, True)]\n" and not said(traced), f"{version}: turned on once, after the import, in the main thread",
               traced.wrong() or (traced.result.out, traced.diagnostics))


def left_alone():
    base, program = stub()
    python = next(p for v, p in interpreters().items() if is_known(v))
    for options in {}, {"LIBTRACE_PYTORCH": "none"}:
        traced = Traced(python, [program], PYTHONPATH=base, **options)
        tap.ok(not traced.wrong() and traced.result.out == b"[]\n", f"not by {options or 'default'}", traced.wrong() or traced.result.out)
    traced = Traced(python, [program], PYTHONPATH=base, LIBTRACE_PYTORCH="autograd-nvtx", LIBTRACE_PYTHON_BACKTRACE="off")
    tap.ok(not traced.wrong() and traced.result.out == b"[]\n" and said(traced) == ["--python-backtrace is off"], "not without Python frames", said(traced))


def errors():
    """Check that errors are a line of the report and nothing else."""
    base, program = stub()
    python = next(p for v, p in interpreters().items() if is_known(v))
    cases = [("ValueError", "no CUDA", "ValueError: no CUDA"), ("SystemExit", "no CUDA", "SystemExit: no CUDA"),
             ("ValueError", b"a surrogate: \xff", r"ValueError: a surrogate: \udcff"), ("Silent", "", "an error that cannot be described")]
    for name, message, line in cases:
        traced = Traced(python, [program], PYTHONPATH=base, LIBTRACE_PYTORCH="autograd-nvtx", STUB_RAISES=name, STUB_MESSAGE=os.fsdecode(message))
        tap.ok(not traced.wrong() and traced.result.out == b"[(True, True)]\n" and not traced.result.err and said(traced) == [line],
               f"{line}: the program does not see it", traced.wrong() or (traced.result.out, traced.result.err, said(traced)))
    base, program = stub(STUB + "del __spec__\ndef __getattr__(name):\n    raise RuntimeError(name)\n")
    traced = Traced(python, [program], PYTHONPATH=base, LIBTRACE_PYTORCH="autograd-nvtx")
    tap.ok(not traced.wrong() and traced.result.out == b"[]\n" and not traced.result.err and said(traced) == ["RuntimeError: __spec__"],
           "an attribute that raises an error", traced.wrong() or (traced.result.out, traced.result.err, said(traced)))
    base, program = stub("log = []\nclass autograd: pass\n")
    traced = Traced(python, [program], PYTHONPATH=base, LIBTRACE_PYTORCH="autograd-nvtx")
    tap.ok(not traced.wrong() and not traced.result.err and said(traced)[0].startswith("AttributeError"), "another module named torch", (traced.result.err, said(traced)))


REAL = """
import time, torch
for _ in range(300):
    time.sleep(0.002)
x = torch.ones(3, requires_grad=True)
(x * 2).sum().backward()
print(x.grad.tolist(), torch.version.cuda)
"""


def real():
    """Run PyTorch itself."""
    where = {"PYTHONPATH": os.environ["TORCH"]} if os.environ.get("TORCH") else {}
    for version, python in interpreters().items():
        if is_known(version) and run([python, "-c", "import torch"], env=dict(os.environ, **where), limit=120).status == 0:
            traced = Traced(python, [put(os.path.join(folder(), "real.py"), REAL)], LIBTRACE_PYTORCH="autograd-nvtx", **where)
            without_cuda = traced.result.out.endswith(b"None\n")
            tap.ok(not traced.wrong() and traced.result.out.startswith(b"[2.0, 2.0, 2.0]") and len(said(traced)) == without_cuda, f"{version}: PyTorch: {said(traced)}",
                   traced.wrong() or (traced.result.out, traced.diagnostics))
            return
    tap.skip("PyTorch itself", "no interpreter here can import it")


if __name__ == "__main__":
    if os.uname().machine != "x86_64" or os.environ.get("SAN"):
        tap.skip("PyTorch", "another machine, or a library with sanitizers, which Python cannot load")
        tap.finish()
    main(turned_on, left_alone, errors, real)
