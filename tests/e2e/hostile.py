#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check reports that are built to be slow to read: one result with as many NVTX domains, texts and ranges as fit. Each page is printed within
seconds of processor time.
"""
import os
import resource
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libncu  # noqa: E402
from lib import TRACE, folder, main, tap  # noqa: E402
from libncu import data, number, real  # noqa: E402

SECONDS_MAX = 5  # of processor time; a search through all items for each item takes more than twice that
MANY, STATES = 100_000, 4_000
COMMANDS = (("details",), ("details", "--page", "raw", "--csv"), ("details", "--nvtx-include", "a/*/b"), ("export", "-t", "sqlite", "-f", "true", "-o", "OUT"),
            ("details", "--print-summary", "per-nvtx"))


def stacks():
    """Return an NVTX state with many domains, and stacks that belong to none of them."""
    return b"".join(data(1, number(1, i) + data(2, "d")) for i in range(MANY)) + data(2, number(1, 1) + b"".join(
        data(2, number(1, MANY + i) + data(3, libncu.push("a"))) for i in range(MANY)))


def ranges():
    return b"".join(data(1, number(1, i) + data(2, "d")) for i in range(MANY)) + b"".join(
        data(3, number(1, MANY + i) + data(3, libncu.started(i, "r"))) for i in range(MANY))


def texts():
    """Return an NVTX state with messages by handles that do not exist."""
    registered = b"".join(data(3, number(1, i) + data(2, "s")) for i in range(MANY))
    return data(1, number(1, 0) + data(2, "x") + registered) + data(2, number(1, 1) + data(2, number(1, 0) + b"".join(
        data(3, libncu.push("a", message_type=3, handle=MANY + i)) for i in range(MANY))))


def states():
    return libncu.state({1: {d: [libncu.push("a")] for d in range(STATES)}}, {d: [libncu.started(d, "r")] for d in range(STATES)})


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_MAX, SECONDS_MAX))


def run_all():
    where = folder()
    for make in (stacks, ranges, texts, states):
        path, names, wrong = os.path.join(where, make.__name__ + ".ncu-rep"), [], []
        libncu.write(path, names, [libncu.launch(names, {"launch__one": 7}, nvtx=make())])
        for command in COMMANDS:
            argv = [os.path.join(where, "out.sqlite") if word == "OUT" else word for word in command]
            done = subprocess.run([TRACE, *argv, path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=limit, check=False)
            too_many = command[-1] == "per-nvtx" and done.returncode == 1 and b"too many different NVTX ranges" in done.stderr
            if done.returncode and not too_many:
                wrong.append(f"{' '.join(command)}: {done.returncode} {done.stderr.decode(errors='replace')}")
        tap.ok(not wrong, f"{make.__name__}: each page ends", "\n".join(wrong))


def many_metrics():
    """Check many metrics whose names each occur once, so that no search can start at the last match: linear searches would take a minute."""
    path, names = os.path.join(folder(), "metrics.ncu-rep"), [f"m{i}" for i in range(2 * MANY)]
    message = libncu.launch([], {}) + b"".join(data(13, number(1, i) + data(2, real(3, 1e300 if i == len(names) - 1 else 1.5))) for i in range(len(names)))
    libncu.write(path, names, [message])
    done = subprocess.run([TRACE, "details", "--page", "raw", "--print-summary", "per-kernel", "--csv", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=limit, check=False)
    rows = done.stdout.decode().splitlines()
    tap.ok(done.returncode == 0 and len(rows) == len(names) + 1, "a summary has a row for each metric", (done.returncode, len(rows), done.stderr))
    cells = [cell.strip('"') for cell in max(rows, key=len).split(",")[-3:]] if rows else []
    tap.ok(len(set(cells)) == 1 and float(cells[0]) == 1e300, "numbers of a summary are not cut", cells)


if __name__ == "__main__":
    main(run_all, many_metrics)
