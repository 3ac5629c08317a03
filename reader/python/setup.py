# SPDX-License-Identifier: Apache-2.0
"""Copy libtrace-reader.so into the package if it is built (`make`); otherwise the package looks for it when it is
imported.

ncu_report/_fast.c is compiled if there are a compiler and the headers of CPython; without it the package works the
same, but more slowly.
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
    """A wheel for this machine's architecture if it contains the library or may contain the compiled part."""

    def has_ext_modules(self) -> bool:
        return os.path.exists(LIBRARY) or bool(self.ext_modules)


try:
    from setuptools.command.bdist_wheel import bdist_wheel  # setuptools >= 70.1
except ImportError:
    from wheel.bdist_wheel import bdist_wheel  # type: ignore[import-not-found,no-redef]  # the same class


class AnyPython(bdist_wheel):
    """A wheel for every version of Python, if there is no compiled part (its build may have failed)."""

    def get_tag(self) -> Tuple[str, str, str]:
        built = self.get_finalized_command("build_ext").get_outputs() if self.distribution.ext_modules else []
        return super().get_tag() if any(map(os.path.exists, built)) else ("py3", "none", super().get_tag()[2])


# _fast.c does not support other implementations of Python, nor free-threaded builds.
WITH_FAST = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
FAST = [Extension("ncu_report._fast", ["ncu_report/_fast.c"], optional=True)] if WITH_FAST else []

setup(
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": AnyPython},  # type: ignore[arg-type]  # stubs know one base
    distclass=BuiltDistribution,
    ext_modules=FAST,
)
