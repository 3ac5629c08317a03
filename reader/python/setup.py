"""Takes libtrace-reader.so into the package where the tree has one that was built (`make`); else it is looked for when it is wanted."""
import os
import shutil
from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.environ.get("LIBTRACE_READER") or os.path.join(HERE, "../../build/lib/libtrace/libtrace-reader.so")


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        if os.path.exists(LIBRARY):
            shutil.copy2(LIBRARY, os.path.join(self.build_lib, "ncu_report", "libtrace-reader.so"))


class BuiltDistribution(Distribution):
    """The wheel is for this machine's kind if it holds the library."""

    def has_ext_modules(self):
        return os.path.exists(LIBRARY)


try:
    from setuptools.command.bdist_wheel import bdist_wheel  # setuptools >= 70.1
except ImportError:
    from wheel.bdist_wheel import bdist_wheel


class AnyPython(bdist_wheel):
    """By ctypes: one wheel for every version of Python."""

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


setup(cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": AnyPython}, distclass=BuiltDistribution)
