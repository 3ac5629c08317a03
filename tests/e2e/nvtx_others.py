#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check NVTX calls of other packages: libnvToolsExt of NVTX 1 and 2, libnvtx3interop, the Python package, NCCL.

They are fetched once from PyPI into NVTX_PACKAGES, or a folder beside the build (a few megabytes). NCCL has some hundred megabytes: its
test runs if NCCL_LIBRARY names it, or in the torture run, which fetches it. Tests of packages that cannot be fetched are skipped with the reason.
"""
import glob
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _packages import PACKAGES, SMALL, fetch  # noqa: E402
from lib import app, main, recorded, run, tap  # noqa: E402

NCCL = ("nvidia-nccl-cu12==2.28.9",)


def library(pattern):
    found = glob.glob(os.path.join(PACKAGES, "nvidia", "*", "lib", pattern))
    return found[0] if found else None


def traced(name, argv, **options):
    return recorded(argv, name, limit=120, LIBTRACE_TRACE="nvtx", **options)


def same(name, got, wanted):
    tap.ok(got == wanted, name, f"wanted {wanted}\n   got {got}")


def loaded(name, path):
    report = traced(name, [app("nvtx_loaded"), path])
    if report:
        same(f"{name}: mark and ranges", [(e["kind"], e["text"], e.get("level")) for e in report.events() if e["kind"].startswith("nvtx")],
             [("nvtx_mark", "a mark", None), ("nvtx_range", "outer", 0), ("nvtx_range", "inner", 1)])


def first_versions():
    missing = fetch(SMALL)
    path = library("libnvToolsExt.so.1")
    loaded("libnvToolsExt", path) if path else tap.skip("libnvToolsExt", missing or "not in the wheel")


def interop():
    path = next((p for p in ("/usr/local/cuda/lib64/libnvtx3interop.so.1", library("libnvtx3interop.so.1")) if p and os.path.exists(p)), None)
    loaded("libnvtx3interop", path) if path else tap.skip("libnvtx3interop", "no CUDA toolkit that has it")


PROGRAM = """
import nvtx
with nvtx.annotate('from python', domain='py', color='red', category='c', payload=7):
    nvtx.mark('a mark', domain='py')
@nvtx.annotate('a function', domain='py')
def f():
    r = nvtx.start_range('started', domain='py')
    nvtx.end_range(r)
f()
nvtx.push_range('pushed', domain='py')
nvtx.pop_range(domain='py')
"""


def python_package():
    missing = fetch(SMALL)
    if missing:
        tap.skip("the Python package", missing)
        return
    report = traced("the Python package", [sys.executable, "-c", PROGRAM], PYTHONPATH=PACKAGES)
    if report:
        same("the Python package: ranges and marks", [(e["kind"], e["domain"], e["text"], e["payload"]) for e in report.events() if e["kind"] in ("nvtx_mark", "nvtx_range", "nvtx_start_end")],
             [("nvtx_range", "py", "from python", 7), ("nvtx_mark", "py", "a mark", None), ("nvtx_range", "py", "a function", None),
              ("nvtx_start_end", "py", "started", None), ("nvtx_range", "py", "pushed", None)])
        same("the Python package records its category", [(e["what"], e["name"]) for e in report.events("--kind", "nvtx_name") if e["what"] != "domain destroyed"],
             [("domain", "py"), ("category", "c")])  # some builds of Python destroy it at the end
    probe = run([sys.executable, "-c", "import numpy"], env=dict(os.environ))
    if probe.status:
        tap.skip("the Python package: arrays as payloads", "numpy is not installed")
        return
    program = "import nvtx\nwith nvtx.annotate('array', domain='py', payload=[1, 2, 3]):\n    pass\n"
    report = traced("arrays as payloads", [sys.executable, "-c", program], PYTHONPATH=PACKAGES)
    if report:
        payload = next(e["payload"] for e in report.events("--kind", "nvtx_range"))
        same("the Python package: an array becomes a payload", (payload["size"], [v if isinstance(v, int) else next(iter(v.values())) for v in payload["data"]]), (3, [1, 2, 3]))


def nccl():
    path = os.environ.get("NCCL_LIBRARY")
    if not path and os.environ.get("TORTURE"):
        missing = fetch(NCCL)
        path = library("libnccl.so.2")
        if not path:
            tap.skip("NCCL", missing or "not in the wheel")
            return
    if not path:
        tap.skip("NCCL", "NCCL_LIBRARY is not set (the torture run fetches it)")
        return
    report = traced("NCCL", [app("nvtx_loaded"), path, "nccl"])
    if report:
        same("NCCL: its own range, without a device", [(e["domain"], e["text"], e["flags"]) for e in report.events("--kind", "nvtx_range")],
             [("NCCL", "ncclCommInitAll", ["registered"])])


main(first_versions, interop, python_package, nccl)
