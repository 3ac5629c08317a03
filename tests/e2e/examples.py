#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check that the programs of examples/ do what their head comments say."""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import BUILD, LIBRARY, SRC, TRACE, clean_env, folder, main, run, tap  # noqa: E402

EXAMPLES = os.path.join(SRC, "examples")
PLACE = folder()
REPORT = os.path.join(PLACE, "switch.rep")
ENV = clean_env(BUILD=BUILD, SIM=os.environ.get("SIM"), LIBTRACE_PYTHON=os.environ.get("LIBTRACE_PYTHON"))


def switch():
    program = os.path.join(PLACE, "switch")
    source = os.path.join(EXAMPLES, "switch.c")
    subprocess.run([os.environ.get("CC", "gcc"), f"-I{SRC}/include", source, "-o", program], check=True)
    tap.ok(run([program]).out == b"done\n", "switch.c runs without a tracer")
    result = run([TRACE, "run", "-c", "libtraceApi", "-o", REPORT, "--", program])
    tap.ok(result.out == b"done\n", "switch.c runs with the tracer", result)
    dump = run([TRACE, "dump", "--name", "nanosleep", REPORT])
    tap.ok(dump.out.count(b"nanosleep") == 3, "the three sleeps of the work are recorded, that of the setup is not", dump)


def slowest_calls():
    if os.environ.get("SAN"):
        tap.skip("slowest_calls.py", "Python cannot load a library with sanitizers")
        return
    env = dict(ENV, PYTHONPATH=os.path.join(SRC, "reader/python"), LIBTRACE_READER=os.path.join(os.path.dirname(LIBRARY), "libtrace-reader.so"))
    result = run([sys.executable, "-B", os.path.join(EXAMPLES, "slowest_calls.py"), REPORT, "2"], env=env)
    lines = result.out.decode().splitlines()
    tap.ok(len(lines) == 2 and all(re.search(r"\d ns  nanosleep  .*switch\+0x", line) for line in lines), "slowest_calls.py", result)


def simulated_cuda():
    result = run([os.path.join(EXAMPLES, "simulated_cuda.sh")], env=ENV)
    if result.status == 77:
        tap.skip("simulated_cuda.sh", result.err.decode().strip())
    else:
        tap.ok(result.status == 0 and b"vector_add" in result.out, "simulated_cuda.sh", result)


def log_events():
    result = run([os.path.join(EXAMPLES, "log_events.sh")], env=ENV)
    tap.ok(result.status == 0 and re.search(rb"4 +2\.6 .* epoch +loss", result.out) and b'"rate":"high"' in result.out, "log_events.sh", result)


def nightly():
    result = run([os.path.join(EXAMPLES, "nightly.sh")], env=ENV, limit=120)
    if b"numpy" in result.err:
        tap.skip("nightly.sh", "no numpy and scipy: scripts/setup --python")
        return
    tap.ok(result.status == 0 and b"night 1: exit status 2" in result.out, "nightly.sh: the first night has nothing to compare with", result)
    tap.ok(re.search(rb"night 2: (ok|worse|cannot tell)", result.out), "the second night has a verdict", result)


if __name__ == "__main__":
    main(switch, slowest_calls, simulated_cuda, log_events, nightly)
