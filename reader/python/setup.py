# SPDX-License-Identifier: Apache-2.0
"""Copy libtrace-reader.so into the package where the tree has a built one (`make`); else the package looks for it when
it is imported.

ncu_report/_fast.c is compiled where there are a compiler and the headers of CPython; without them the package does the
same, more slowly.
"""

import os
import shutil
import sys
import sysconfig
from typing import Tuple

from setuptools import Distribution, Extension, setup
from setuptools.command.build_py import build_py

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.environ.get("LIBTRACE_READER") or os.path.join(HERE, "../../build/lib/libtrace/libtrace-reader.so")


class BuildWithLibrary(build_py):
    def run(self) -> None:
        super().run()
        if os.path.exists(LIBRARY):
            shutil.copy2(LIBRARY, os.path.join(self.build_lib, "ncu_report", "libtrace-reader.so"))


class BuiltDistribution(Distribution):
    """The wheel is for this machine's kind if it holds the library, or may hold what is compiled."""

    def has_ext_modules(self) -> bool:
        return os.path.exists(LIBRARY) or bool(self.ext_modules)


try:
    from setuptools.command.bdist_wheel import bdist_wheel  # setuptools >= 70.1
except ImportError:
    from wheel.bdist_wheel import bdist_wheel  # type: ignore[import-not-found,no-redef]  # the same class


class AnyPython(bdist_wheel):
    """Without what is compiled, which may have failed: one wheel for every version of Python."""

    def get_tag(self) -> Tuple[str, str, str]:
        built = self.get_finalized_command("build_ext").get_outputs() if self.distribution.ext_modules else []
        return super().get_tag() if any(map(os.path.exists, built)) else ("py3", "none", super().get_tag()[2])


# Of another Python, or one without the interpreter's lock, _fast.c knows nothing.
WITH_FAST = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
FAST = [Extension("ncu_report._fast", ["ncu_report/_fast.c"], optional=True)] if WITH_FAST else []

setup(
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": AnyPython},  # type: ignore[arg-type]  # stubs know one base
    distclass=BuiltDistribution,
    ext_modules=FAST,
)
