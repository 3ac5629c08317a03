# SPDX-License-Identifier: Apache-2.0
"""Find NVIDIA's tools, with which tests compare, if they have been fetched (PEERS, default /tmp/peers)."""
import glob
import os
import shutil

from lib import BUILD, folder

ROOT = os.path.join(os.environ.get("PEERS") or "/tmp/peers", "root/usr/lib")
NCU = os.path.join(ROOT, "nsight-compute/ncu")
NCU_SECTIONS = os.path.join(ROOT, "x86_64-linux-gnu/nsight-compute/sections")
NCU_TEMPLATES = os.path.join(ROOT, "nsight-compute/extras/RuleTemplates")
NCU_SAMPLES = os.path.join(ROOT, "../share/doc/nsight-compute/examples")  # reports of compute capability 8.6, with all sections
NSYS = os.path.join(ROOT, "nsight-systems/target-linux-x64/nsys")
VIEWERS = os.environ.get("VIEWERS") or os.path.join(BUILD, "viewers")  # a virtual environment with tests/peers/viewers.txt


def nvdisasm_folder():
    """Return the folder of NVIDIA's disassembler: in PATH, in CUDA, or in the virtual environment of viewers; None if there is none."""
    places = ["/usr/local/cuda/bin", *glob.glob(os.path.join(VIEWERS, "lib/python3*/site-packages/nvidia/*/bin"))]
    found = shutil.which("nvdisasm") or shutil.which("nvdisasm", path=os.pathsep.join(places))
    return found and os.path.dirname(found)


def ncu_python():
    """Return a folder that ncu_report can be imported from; the module finds its libraries by its own location. None if it has not been
    fetched.
    """
    module, target = os.path.join(ROOT, "python3/dist-packages"), os.path.join(ROOT, "x86_64-linux-gnu/nsight-compute/target")
    if not os.path.exists(os.path.join(module, "_ncu_report.so")) or not os.path.isdir(target):
        return None
    place = folder()
    python = os.path.join(place, "extras/python")
    os.makedirs(python)
    os.symlink(target, os.path.join(place, "target"))
    for name in ("ncu_report.py", "_ncu_report.so"):
        os.symlink(os.path.join(module, name), os.path.join(python, name))
    return python
