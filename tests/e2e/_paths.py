# SPDX-License-Identifier: Apache-2.0
"""Critical paths that are known: those of tests/apps/waited.c and mpi_waited.c, whose stages sleep."""
import json
import re

from lib import tap, trace

STAGE_NS = 8e6  # stages sleep for at least 10 ms, waits for them are shorter parts of the path


def path_of(report, *options):
    """Return the segments in order of time, as `trace why --path` prints them."""
    result = trace("why", "--path", "-f", "json", *options, report.path)
    if result.status:
        tap.ok(False, "trace why ends with status 0", result.err.decode())
    return json.loads(result.out or b"[]")


def unnamed(cause):
    """Return a cause without what its call used: the file, lock or thread in parentheses."""
    return re.sub(r" \(.*\)$", "", cause)


def gapless(segments):
    """Return the first segment that does not begin where the one before it ends, or None. Parts of a segment, by functions or CPU samples, have its start, and
    lack parts of a ns."""
    begin, parts, ns = None, 0, 0
    for s in segments:
        if begin is not None and s["Start (ns)"] != begin:
            if not 0 <= s["Start (ns)"] - begin - ns <= parts - 1:
                return begin, ns, s
            parts = ns = 0
        begin, parts, ns = s["Start (ns)"], parts + 1, ns + s["Duration (ns)"]
    return None


def stages(segments):
    """Return the functions that slept on the path, in order; parts of one that follow each other are one."""
    found = []
    for s in segments:
        if s["Cause"] == "usleep" and s["Duration (ns)"] >= STAGE_NS:
            name = (s["At"] or "?").split(" ")[0]
            if not found or found[-1] != name:
                found.append(name)
    return found
