# SPDX-License-Identifier: Apache-2.0
"""Packages of PyPI that tests of NVTX use, fetched once into NVTX_PACKAGES, or a folder beside the build."""
import fcntl
import os
import sys

from lib import BUILD, run

PACKAGES = os.environ.get("NVTX_PACKAGES") or os.path.join(BUILD, "nvtx-packages")
SMALL = ("nvtx==0.2.17", "nvidia-nvtx-cu12==12.1.105")  # the last wheel with libnvToolsExt
fetched = {}


def fetch(packages):
    """Install packages, one test at a time. Return None, or the reason why they cannot be installed."""
    if packages not in fetched:
        os.makedirs(PACKAGES, exist_ok=True)
        with open(os.path.join(PACKAGES, "lock"), "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            fetched[packages] = install(packages)
    return fetched[packages]


def install(packages):
    stamp = os.path.join(PACKAGES, "-".join(packages).replace("=", ""))
    if os.path.exists(stamp):
        return None
    result = run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", "--target", PACKAGES, *packages],
                 env=dict(os.environ, PIP_RETRIES="1"), limit=400)
    if result.status:
        return "not to be had from PyPI: " + result.err.decode(errors="replace").strip().splitlines()[-1]
    open(stamp, "w").close()
    return None
