#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check the Python packages as users install them: by pip from the tree into an environment of its own, without access to the tree, with the
compiled part and, as on a machine without a compiler, without it.

CPython 3.8, the oldest supported version, is checked by its grammar, by the parts of the standard library that the packages use (vermin, of
PyPI), and by each python3.X that is installed.
"""
import ast
import glob
import os
import shutil
import sys
import sysconfig

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import PRODUCTS, SRC, clean_env, folder, main, run, tap  # noqa: E402
from rules import report_make  # noqa: E402

PACKAGES = os.path.join(SRC, "reader/python")
NAMES = ("ncu_report", "NvRules", "libtrace_rules")
LIBRARY = os.path.join(PRODUCTS, "lib/libtrace/libtrace-reader.so")
OLDEST = (3, 8)
VERMIN = "vermin==1.6.0"
PLACE = folder()
REPORT = os.path.join(PLACE, "made.ncu-rep")
# Imports every module of the package, and reads a report in each way.
SCRIPT = """
import sys
import ncu_report, NvRules, libtrace_rules._apply, libtrace_rules._encode, libtrace_rules._process, libtrace_rules._rules
report = ncu_report.load_report(sys.argv[1])
for action in report[0]:
    values = [(name, action[name].value(), action[name].unit(), action[name].as_double(), action[name].num_instances()) for name in action]
    assert action.source_info(4096) is None and action.nvtx_state() is None and not action.rule_results()
    assert action.fields("rule_results")[0]["display_name"] == "Old rule"
assert values == [("gpu__time_duration.sum", 102.0, "nsecond", 102.0, 0), ("made__count", 7, "", 7.0, 0)], values
assert list(report.events()) == [] and report.session() == {} and not report.problems()
print(sys.version_info[:2], ncu_report.__file__, ncu_report.COMPILED)
"""


def files():
    return sorted(path for name in NAMES for path in glob.glob(os.path.join(PACKAGES, name, "*.py")))


def installed():
    compiles = os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")) and (shutil.which("cc") or shutil.which("gcc"))
    if compiles:
        install("", True)
    else:
        tap.skip("pip install compiles a part", "no compiler, or no headers of this Python (python3-dev)")
    install("without a compiler: ", False, CC="/bin/false")


def install(title, compiled, **more):
    """Install from a copy, since pip builds in the folder that it installs from."""
    venv, source, wheels = (os.path.join(PLACE, name + "-" * compiled) for name in ("venv", "source", "wheels"))
    made = run([sys.executable, "-m", "venv", "--without-pip", venv], env=clean_env(), limit=100)
    if made.status:
        tap.skip(title + "pip install from the tree", f"no venv: {made.err.decode()[-80:]!r}")
        return
    run(["cp", "-r", PACKAGES, source], env=clean_env())
    python = os.path.join(venv, "bin/python3")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LIBTRACE")) and name != "CC"}
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    result = run([*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, source], env=dict(env, LIBTRACE_READER=LIBRARY, **more), limit=200)
    if result.status and any(word in result.err for word in (b"ConnectionError", b"NewConnectionError", b"No matching distribution found for setuptools")):
        tap.skip(title + "pip install from the tree", "PyPI, which has what builds the package, is not reached")
        return
    wheel, = glob.glob(os.path.join(wheels, "*.whl")) or [""]
    version = "cp{}{}".format(*sys.version_info)
    tag = f"-{version}-{version}-linux_" if compiled else "-py3-none-linux_"
    tap.ok(tag in wheel, f"{title}the wheel is for what it holds: {tag[1:-7]}", f"{wheel} {result.err}")
    result = run([*pip, "install", "--quiet", wheel], env=env, limit=200)
    tap.ok(result.status == 0, title + "pip install from the tree", result.err)
    result = run([python, "-c", SCRIPT, REPORT], env=dict(env, PATH="/usr/bin:/bin"), cwd=PLACE, limit=60)
    tap.ok(result.status == 0 and venv.encode() in result.out and f" {compiled}\n".encode() in result.out,
           title + "it is read without the tree, by the library in the package", f"{result.out} {result.err.decode()}")
    result = run([*pip, "show", "--files", "libtrace-reader"], env=env, limit=60)
    listed = [name for name in ("ncu_report/py.typed", "ncu_report/libtrace-reader.so", *(os.path.relpath(path, PACKAGES) for path in files()))
              if f"  {name}\n" not in result.out.decode()]
    tap.ok(not listed, title + "all files of the packages are in it", listed)


def grammar():
    wrong = []
    for path in files():
        with open(path, encoding="utf-8") as file:
            try:
                ast.parse(file.read(), path, feature_version=OLDEST)
            except SyntaxError as error:
                wrong.append(f"{path}:{error.lineno}: {error.msg}")
    tap.ok(not wrong and len(files()) > 10, f"{len(files())} files are Python {OLDEST[0]}.{OLDEST[1]} by their grammar", "\n".join(wrong))
    tools = os.path.join(PLACE, "tools")
    result = run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target", tools, VERMIN], env=dict(os.environ), limit=100)
    if result.status:
        tap.skip("what they use of the standard library", f"no {VERMIN}: PyPI is not reached")
        return
    vermin = [sys.executable, "-c", "import vermin; vermin.main()", f"-t={OLDEST[0]}.{OLDEST[1]}-", "--violations", "--no-tips"]
    result = run([*vermin, *files()], env=dict(os.environ, PYTHONPATH=tools), limit=100)
    tap.ok(result.status == 0, f"what they use of the standard library is in Python {OLDEST[0]}.{OLDEST[1]}", result.out + result.err)
    newer = os.path.join(PLACE, "newer.py")
    with open(newer, "w", encoding="utf-8") as out:
        out.write("import functools\nfunctools.cache\n")
    result = run([*vermin, newer], env=dict(os.environ, PYTHONPATH=tools), limit=100)
    tap.ok(result.status == 1 and b"functools.cache" in result.out, "and what is not would be found", result.out + result.err)


def interpreters():
    """Return each installed interpreter, but not shims (pyenv) for interpreters that are missing."""
    seen = set()
    for name in [f"python3.{minor}" for minor in range(OLDEST[1], 20)]:
        for python in [os.path.join(place, name) for place in os.environ.get("PATH", "").split(":")] + glob.glob(os.path.expanduser(f"~/.pyenv/versions/*/bin/{name}")):
            if name in seen or not os.path.exists(python) or run([python, "-c", ""], env=dict(os.environ), limit=60).status:
                continue
            seen.add(name)
            result = run([python, "-B", "-c", SCRIPT, REPORT], env=clean_env(PYTHONPATH=PACKAGES, LIBTRACE_READER=LIBRARY), limit=60)
            tap.ok(result.status == 0, f"{name} reads a report", result.err)
    if f"python{OLDEST[0]}.{OLDEST[1]}" not in seen:
        tap.skip(f"python{OLDEST[0]}.{OLDEST[1]} reads a report", "it is not here")


if __name__ == "__main__":
    if not os.path.exists(LIBRARY) or os.environ.get("SAN"):
        tap.skip("the Python packages", "no libtrace-reader.so, or one with sanitizers, which Python cannot load")
        tap.finish()
    report_make(REPORT)
    main(installed, grammar, interpreters)
