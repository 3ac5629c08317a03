# SPDX-License-Identifier: Apache-2.0
"""Packages of PyPI that tests of NVTX use, fetched once into NVTX_PACKAGES, or a folder beside the build."""
import os
import sys

from lib import BUILD, run

PACKAGES = os.environ.get("NVTX_PACKAGES") or os.path.join(BUILD, "nvtx-packages")
SMALL = ("nvtx==0.2.17", "nvidia-nvtx-cu12==12.1.105")  # the last wheel with libnvToolsExt
fetched = {}


def fetch(packages):
    """Install packages. Return None, or the reason why they cannot be installed."""
    if packages not in fetched:
        stamp = os.path.join(PACKAGES, "-".join(packages).replace("=", ""))
        if not os.path.exists(stamp):
            result = run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", "--target", PACKAGES, *packages],
                         env=dict(os.environ, PIP_RETRIES="1"), limit=400)
            if result.status == 0:
                open(stamp, "w").close()
            fetched[packages] = None if result.status == 0 else "not to be had from PyPI: " + result.err.decode(errors="replace").strip().splitlines()[-1]
        else:
            fetched[packages] = None
    return fetched[packages]
