# SPDX-License-Identifier: Apache-2.0
"""A benchmark of two functions of Python, one of which may take longer (tests/proof/functions.py).

Usage: numeric.py PERCENT STEPS SWEEPS. Each of STEPS calls transform() and solve(), each with SWEEPS passes over a small list; solve() does PERCENT more
of them.
"""
import sys

POINTS = 256
percent, steps, sweeps = map(int, sys.argv[1:])


def solve(field, passes):
    for _ in range(passes):
        for i in range(1, POINTS - 1):
            field[i] = 0.5 * (field[i - 1] + field[i + 1] - 1e-3)


def transform(spectrum, passes):
    for _ in range(passes):
        for i in range(1, POINTS - 1):
            spectrum[i] = 0.5 * (spectrum[i - 1] - 0.25 * spectrum[i + 1] + 1.0)


values, others = [0.0] * POINTS, [0.0] * POINTS
for _ in range(steps):
    transform(others, sweeps)
    solve(values, sweeps + sweeps * percent // 100)
