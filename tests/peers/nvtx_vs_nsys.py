#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Trace the same programs by NVIDIA's nsys and by this tracer, and check that both record the same ranges, with the same nesting, texts, categories,
colors and payloads.

Both reports are exported to the SQLite schema of nsys and read by the same code (lib_nsys.py). Differences are printed. Skipped if nsys is not
installed.
"""
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib_nsys  # noqa: E402
from lib import app, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

# Known differences from nsys 2023.4, and the reasons; the test prints them as comments.
KNOWN = {
    "dies": "nsys's library crashes the program on a mark without a text",
    "open": "in nsys, a range that was not ended ends with the session; in ours, it has no end",
    "clearenv": "a library whose first NVTX call comes after clearenv() does not find nsys",
    "disabled": "nsys 2023.4 does not implement nvtxDomainIsEnabled(), which the Python package calls first: it records only domains",
    "loses": "nsys loses the events of a process that ends by _exit()",
}
PROGRAMS = (("nvtx_peer", [], None), ("nvtx_peer", ["open"], "open"), ("nvtx_peer", ["invalid"], None), ("nvtx_peer", ["long"], None), ("nvtx_peer", ["null"], "dies"),
            ("nvtx_cxx", [], None), ("nvtx_early", [], "clearenv"), ("nvtx_fork", [], "loses"), ("nvtx_open", ["return"], "open"), ("nvtx_open", ["_exit"], "loses"))


# A program that uses the package nvtx of PyPI; skipped if the package is not installed.
PYTHON = """
import nvtx
with nvtx.annotate('from python', domain='py', color='red', category='c', payload=7):
    nvtx.mark('a mark', domain='py', payload=0.5)
@nvtx.annotate('a function')
def f(depth):
    r = nvtx.start_range('started', domain='py')
    if depth:
        f(depth - 1)
    nvtx.end_range(r)
for _ in range(20):
    f(3)
nvtx.push_range('pushed \u20ac', domain='py')
nvtx.pop_range(domain='py')
"""


def ours(argv):
    place, spool = folder(), spool_folder()
    report = os.path.join(place, "r.rep")
    result = run(argv, env=traced_env(report, spool, LIBTRACE_TRACE="nvtx", PYTHONPATH=os.environ.get("PYTHONPATH")), cwd=place)
    wait_spool_gone(spool, 30)
    trace("export", "-t", "sqlite", "-o", report + ".sqlite", report)
    return lib_nsys.Nvtx(report + ".sqlite"), result.status


def theirs(argv):
    report, status = lib_nsys.profile(argv)
    database = report and lib_nsys.export(report, "sqlite")
    return (lib_nsys.Nvtx(database) if database else None), status


def listed(theirs_rows, ours_rows):
    left, right = collections.Counter(map(repr, theirs_rows)), collections.Counter(map(repr, ours_rows))
    return [f"nsys {count}x {row}" for row, count in sorted((left - right).items())] + [f"ours {count}x {row}" for row, count in sorted((right - left).items())]


def expected(known, left, right):
    """Return whether the results of nsys (left) and ours (right) are equal, apart from a known difference."""
    if known == "open":
        return [row[:8] + row[9:] for row in left] == [row[:8] + row[9:] for row in right]
    if known == "disabled":  # a newer nsys may implement it
        return left == right or (right and all(row[0] in (75, 76) for row in left))
    if known in ("loses", "clearenv"):
        return len(left) <= len(right)
    return left == right


def compare(title, argv, known):
    mine, own_status = ours(argv)
    other, status = theirs(argv)
    if known == "dies":
        theirs_count = len(other.rows) if other else 0
        tap.ok(status not in (0, None) and own_status == 0 and theirs_count <= len(mine.rows),
               f"{title}: under nsys the program ended with {status} and left {theirs_count} events; under ours with {own_status} and {len(mine.rows)}")
        print(f"# known difference: {KNOWN[known]}")
        return
    if not other:
        tap.ok(False, f"{title}: nsys made a report", status)
        return
    for what, left, right in (("ranges of push and pop, their order and nesting", other.ranges(59), mine.ranges(59)),
                              ("ranges of start and end", other.ranges(60), mine.ranges(60)), ("marks and names", other.marks_and_names(), mine.marks_and_names())):
        differences = listed(left, right)
        tap.ok(expected(known, left, right), f"{title}: {what}: {len(left)} of nsys, {len(right)} of ours, {len(differences)} differences", "\n".join(differences))
        for line in differences if known else []:
            print(f"# known difference ({KNOWN[known]}): {line[:200]}")


def same_as_nsys():
    if not lib_nsys.root():
        tap.skip("the same as nsys", "nsys is not installed; NSIGHT_SYSTEMS names its folder")
        return
    if not os.path.exists(app("nvtx_peer")):
        tap.skip("the same as nsys", "the programs are not built: no headers of NVTX")
        return
    print(f"# nsys {lib_nsys.version()}")
    for name, arguments, known in PROGRAMS:
        compare(" ".join([name, *arguments]), [app(name), *arguments], known)
    if run([sys.executable, "-c", "import nvtx"], env=dict(os.environ)).status:
        tap.skip("the Python package", "nvtx of PyPI is not installed")
    else:
        compare("the Python package", [sys.executable, "-c", PYTHON], "disabled")


main(same_as_nsys)
