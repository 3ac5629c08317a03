#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well `trace what-if` predicts: random programs of threads, processes, locks, barriers, pipes and simulated kernels are recorded once,
predicted with changed durations, and run with them.

    tests/proof/what_if.py [PROGRAMS=100] [SEED=1] [--devices] [--slower=10]      after make all apps (and cuda-apps)

A prediction is good if it misses the median of RUNS real runs by at most 3 % of that or 1 ms. Prints a line per program and the share of good ones; status 0 if
that is at least 95 %. --slower multiplies all durations, for a machine on which runs of the same program differ by more than that. Not a test: it measures time. tests/e2e/what_if.py checks the replay on times that are made up.
"""
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

SRC = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SRC, "tests/e2e"))
from _random_programs import program, words  # noqa: E402

BUILD = os.environ.get("BUILD") or os.path.join(SRC, "build")
TRACE = os.path.join(BUILD, "bin/trace")
RUNS = 3
SLOWER = next((int(word[9:]) for word in sys.argv if word.startswith("--slower=")), 1)
FACTORS = (0, 0.3, 0.5, 0.8, 1.5, 2)


def record(path, command, environment, sources):
    options = ["-t", sources, "--osrt-locks", "all", "--osrt-threshold", "0", "-f", "true", "-o", path]
    subprocess.run([TRACE, "run", *options, "--", *command], env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    row = json.loads(subprocess.run([TRACE, "query", "-f", "json", path, 'SELECT "end" - start AS ns FROM LIBTRACE_PROCESS ORDER BY start LIMIT 1'],
                                    stdout=subprocess.PIPE, check=True).stdout)
    return row[0]["ns"]


def case(folder, seed, devices):
    """Return what is changed, the duration of the run, the prediction with its bound, and durations of real runs, in ns."""
    r = random.Random(-1 - seed)
    path, factor = os.path.join(folder, "r.rep"), r.choice(FACTORS)
    if devices:
        kernel, sizes = r.randint(1, 20) * 1000000 * SLOWER, [str(r.randint(1, 4)), str(r.randint(1, 6))]
        change, sources = f"kernel * x{factor or 0.1}", "cuda,osrt"

        def command(scale):
            library = os.path.join(BUILD, "sim/cuda13")
            environment = {**os.environ, "LD_LIBRARY_PATH": library, "SIM_DEVICE": f"kernel_ns={round(kernel * scale)}"}
            return [os.path.join(BUILD, "tests/cuda/pipeline"), *sizes], environment
        factor = factor or 0.1
    else:
        processes = program(seed, SLOWER)
        stages = sorted({step[1] for threads in processes for script in threads for step in script if step[0] == "s"})
        if not stages:
            return None
        stage = r.choice(stages)
        change, sources = f"at stage{stage} x{factor}", "osrt"

        def command(scale):
            return [os.path.join(BUILD, "tests/apps/replayed"), *words(processes, stage, scale)], dict(os.environ)
    wall = record(path, *command(1), sources)
    result = subprocess.run([TRACE, "what-if", "--json", path, change], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if result.returncode:
        return change, wall, None, result.stderr.decode().strip(), []
    predicted = json.loads(result.stdout)
    real = [record(os.path.join(folder, "changed.rep"), *command(factor), sources) for _ in range(RUNS)]
    return change, wall, predicted["predicted_ns"], predicted["error_ns"], real


def main():
    numbers = [word for word in sys.argv[1:] if word.isdigit()]
    count, first = int(numbers[0]) if numbers else 100, int(numbers[1]) if len(numbers) > 1 else 1
    good = bounded = tried = steady = steady_good = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            found = case(folder, seed, "--devices" in sys.argv)
            if not found:
                continue
            change, wall, predicted, error, real = found
            tried += 1
            if predicted is None:
                print(f"{seed}: {change}: refused: {error}", flush=True)
                continue
            middle = statistics.median(real)
            off = predicted - middle
            is_good = abs(off) <= max(0.03 * middle, 1e6)
            good += is_good
            is_steady = max(real) - min(real) <= max(0.03 * middle, 1e6)
            steady += is_steady
            steady_good += is_steady and is_good
            bounded += abs(off) <= error
            print(f"{seed}: {change}: {wall / 1e6:.1f} ms; predicted {predicted / 1e6:.1f} +- {error / 1e6:.1f}; really {middle / 1e6:.1f} "
                  f"({', '.join(f'{ns / 1e6:.1f}' for ns in real)}); off by {off / 1e6:+.1f} ms, {100 * off / middle:+.1f} %{'' if is_good else '  WRONG' if is_steady else '  wrong, as the runs differ'}", flush=True)
    print(f"{good} of {tried} predictions miss the median of {RUNS} runs by at most 3 % or 1 ms; {bounded} are within their error bound")
    print(f"{steady_good} of {steady}, of the programs whose {RUNS} runs differ by at most 3 % or 1 ms")
    return 0 if tried and good >= 0.95 * tried else 1


sys.exit(main())
