#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check that clients of CUDA that do not run on the simulated device behave as without the tracer, with one diagnostic in the report: programs with the static
runtime, and PyTorch, CuPy and Numba if they are installed (CUDA_PYTHON: a python that has them).

They run without a driver, and over the simulated driver, which their runtime refuses. scripts/gpu-validate checks the recorded events
on a GPU.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
from lib import Report, clean_env, folder, main, receipts_agree, run, spool_folder, tap, traced_env, wait_spool_gone  # noqa: E402

PYTHON = os.environ.get("CUDA_PYTHON") or sys.executable
IMPORTS = {
    "torch": "import torch; print(torch.cuda.is_available(), torch.cuda.device_count(), (torch.ones(4) * 2).sum().item())",
    "cupy": "import cupy\ntry: print(cupy.cuda.runtime.getDeviceCount())\nexcept Exception as e: print(type(e).__name__, e)",
    "numba": "from numba import cuda\nprint(cuda.is_available())",
}


def essence(text):
    """Return the text without addresses, process ids and times, which differ from run to run."""
    return re.sub(rb"0x[0-9a-f]+|\[\d[^\]]*\]|\b\d{4,}\b", b"N", text)


def same_as_untraced(name, argv, env, driver):
    plain = run(argv, env=dict(clean_env(), **env), limit=120)
    work, spool = folder(), spool_folder()
    report = Report(os.path.join(work, "r.rep"))
    traced = run(argv, env=dict(traced_env(report.path, spool), **env), cwd=work, limit=120)
    finished = wait_spool_gone(spool)
    tap.ok((plain.status, plain.out, essence(plain.err)) == (traced.status, traced.out, essence(traced.err)), f"{name}: the same traced as without the tracer",
           f"{plain.status} {plain.out[-300:]} {plain.err[-300:]}\n{traced.status} {traced.out[-300:]} {traced.err[-300:]}")
    tap.ok(finished and report.exists() and report.check().status == 0 and not receipts_agree(report), f"{name}: its report is sound")
    notes = [d["text"] for d in report.info()["diagnostics"] if "CUDA" in d["text"]]
    kinds = [e["kind"] for e in report.events() if e["kind"] in ("cuda_kernel", "cuda_memcpy")]
    tap.ok(len(notes) <= 1 and (driver or all("cannot find the driver" in text for text in notes)), f"{name}: at most one line about CUDA, with the reason", notes)
    tap.ok(not kinds, f"{name}: nothing ran on a device")
    return notes


def without_driver(name, argv, env=None):
    if os.path.exists("/dev/nvidiactl"):
        tap.skip(name, "there may be a driver")
        return
    notes = same_as_untraced(f"{name}, no driver", argv, env or {}, driver=False)
    tap.ok(len(notes) == 1 or name != "static runtime", f"{name}, no driver: it asked for one, and the line says so", notes)


def static_runtime():
    reason = device.missing("vector_add_static")
    if reason:
        tap.skip("static runtime", reason)
        return
    argv = [device.app("vector_add_static")]
    without_driver("static runtime", argv)
    same_as_untraced("static runtime, simulated driver", argv, {"LD_LIBRARY_PATH": device.folder()}, driver=True)


def packages():
    for name, code in IMPORTS.items():
        home = {"HOME": folder()}  # CuPy creates its cache there
        if run([PYTHON, "-c", f"import {name}"], env=dict(clean_env(), **home), limit=120).status:
            tap.skip(name, f"not installed for {PYTHON} (CUDA_PYTHON)")
            continue
        without_driver(name, [PYTHON, "-c", code], home)


if __name__ == "__main__":
    main(static_runtime, packages)
