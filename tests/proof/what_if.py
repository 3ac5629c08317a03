#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well `trace what-if` predicts: random programs of threads, processes, locks, barriers, pipes, ranges and sleeps (--computing: also of computing and
reads of a file; --devices: of simulated kernels, copies and launches) are recorded once, predicted with changed durations, and run with them.

    tests/proof/what_if.py [PROGRAMS=100] [SEED=1] [--computing | --devices] [--real-time] [--slower=10]      after make all apps (and cuda-apps)

A prediction is good if it misses the median of RUNS real runs by at most 3 % of that or 1 ms. Prints a line per program and the share of good ones; status 0 if
that is at least 95 %. A prediction has the differences of the one run that it is made from, too: so the program is also recorded RUNS times without the change,
and the median of their predictions is compared as well. Where runs of the same program, changed or not, differ by more than 3 % and 1 ms, a miss says nothing
about the prediction: the last line counts the others. --slower multiplies all durations, for a machine on which runs of the same program differ by more than
that. --real-time (chrt, which needs the privilege): the programs go before all others of the machine. Not a test: it measures time. tests/e2e/what_if.py checks the replay on times that are made up.
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
REAL_TIME = ["chrt", "--rr", "50"] if "--real-time" in sys.argv else []
SLOWER = next((int(word[9:]) for word in sys.argv if word.startswith("--slower=")), 1)
FACTORS = (0, 0.3, 0.5, 0.8, 1.5, 2)


def record(path, command, environment, sources):
    options = ["-t", sources, "--osrt-locks", "all", "--osrt-threshold", "0", "-f", "true", "-o", path]
    subprocess.run([*REAL_TIME, TRACE, "run", *options, "--", *command], env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    row = json.loads(subprocess.run([TRACE, "query", "-f", "json", path, 'SELECT "end" - start AS ns FROM LIBTRACE_PROCESS ORDER BY start LIMIT 1'],
                                    stdout=subprocess.PIPE, check=True).stdout)
    return row[0]["ns"]


def identities(path, process, thread):
    """Return process and thread id of a thread by its place in the program: both are numbered in the order of their starts."""
    rows = json.loads(subprocess.run([TRACE, "query", "-f", "json", path, "SELECT globalTid >> 24 & 16777215 AS pid, globalTid & 16777215 AS tid FROM LIBTRACE_THREAD_START"],
                                     stdout=subprocess.PIPE, check=True).stdout)
    pid = sorted({row["pid"] for row in rows})[process]
    return pid, sorted(row["tid"] for row in rows if row["pid"] == pid)[thread]


def changes(r, processes):
    """Return what could be changed in a program: pairs of text, with {pid} and {tid}, and of a function that says whether that is a step's."""
    steps = [(number, thread, step) for number, threads in enumerate(processes) for thread, script in enumerate(threads) for step in script]
    found = []
    stages = sorted({step[1] for _, _, step in steps if step[0] == "s"})
    if stages:
        stage = r.choice(stages)
        found.append((f"at stage{stage}", 0, 0, lambda p, t, step, *_: step[0] == "s" and step[1] == stage))
    if any(step[0] == "l" for _, _, step in steps):
        found.append(("lock", 0, 0, lambda p, t, step, locked, ranges: locked))
    if any(step[0] == "i" for _, _, step in steps):
        found.append(("io", 0, 0, lambda p, t, step, *_: step[0] == "i"))
    ranges = sorted({step[1] for _, _, step in steps if step[0] == "["})
    if ranges:
        chosen = r.choice(ranges)
        found.append((f"range range{chosen}", 0, 0, lambda p, t, step, locked, inside: chosen in inside))
    computing = sorted({(p, t) for p, t, step in steps if step[0] == "c"})
    if computing:
        process, thread = r.choice(computing)
        found.append(("compute {tid}", process, thread, lambda p, t, step, *_: step[0] == "c" and (p, t) == (process, thread)))
        found.append(("process {pid}", process, thread, lambda p, t, *_: p == process))
    return found


def device_case(r, factor):
    """Return a change of the simulated device, and a function that returns its command and environment."""
    kernel, sizes = r.randint(1, 20) * 1000000 * SLOWER, [str(r.randint(1, 4)), str(r.randint(1, 6))]
    what = r.choice(("kernel", "kernel", "copy", "launch"))
    options = {"kernel_ns": kernel}
    if what == "copy":
        # as whole numbers: the factor is that of the two
        speed = max(20, 65536000 // kernel)
        options, factor = {"kernel_ns": kernel // 10, "copy_bytes_per_us": speed}, speed / round(speed / factor)
    elif what == "launch":
        options = {"kernel_ns": kernel // 10, "launch_latency_ns": kernel // 2}
    name = {"kernel": "kernel_ns", "copy": "copy_bytes_per_us", "launch": "launch_latency_ns"}[what]

    def command(scale):
        value = options[name] / scale if what == "copy" else options[name] * scale
        texts = [f"{key}={round(each)}" for key, each in {**options, name: value}.items()]
        environment = {**os.environ, "LD_LIBRARY_PATH": os.path.join(BUILD, "sim/cuda13"), "SIM_DEVICE": ",".join(texts)}
        return [os.path.join(BUILD, "tests/cuda/pipeline"), *sizes], environment
    return f"{what} x{factor:.6g}", factor, command


def case(folder, seed, devices):
    """Return what is changed, durations of runs, predictions from them, the bound of the first one, and durations of runs with the change, in ns."""
    r = random.Random(-1 - seed)
    path, factor, place = os.path.join(folder, "r.rep"), r.choice(FACTORS), None
    if devices:
        factor, sources = factor or 0.1, "cuda,osrt"
        change, factor, command = device_case(r, factor)
    else:
        processes, sources = program(seed, SLOWER, "ic[" if "--computing" in sys.argv else "["), "osrt,nvtx"
        possible = changes(r, processes)
        if not possible:
            return None
        what, *place, is_changed = r.choice(possible)
        change = f"{what} x{factor}"

        def command(scale):
            script = words(processes, lambda *step: scale if is_changed(*step) else 1)
            return [os.path.join(BUILD, "tests/apps/replayed"), *script], dict(os.environ)
    walls, found = [], []
    for _ in range(RUNS):
        walls.append(record(path, *command(1), sources))
        pid, tid = identities(path, *place) if place else (0, 0)
        result = subprocess.run([TRACE, "what-if", "--json", path, change.format(pid=pid, tid=tid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if result.returncode:
            return change, walls, None, result.stderr.decode().strip(), []
        found.append(json.loads(result.stdout))
    real = [record(os.path.join(folder, "changed.rep"), *command(factor), sources) for _ in range(RUNS)]
    return change, walls, [each["predicted_ns"] for each in found], found[0]["error_ns"], real


def is_near(one, other):
    return abs(one - other) <= max(0.03 * other, 1e6)


def ms(times):
    return ", ".join(f"{ns / 1e6:.1f}" for ns in times)


def main():
    numbers = [word for word in sys.argv[1:] if word.isdigit()]
    count, first = int(numbers[0]) if numbers else 100, int(numbers[1]) if len(numbers) > 1 else 1
    good = good_median = bounded = tried = steady = steady_good = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            found = case(folder, seed, "--devices" in sys.argv)
            if not found:
                continue
            change, walls, predicted, error, real = found
            tried += 1
            if predicted is None:
                print(f"{seed}: {change}: refused: {error}", flush=True)
                continue
            middle = statistics.median(real)
            off = predicted[0] - middle
            is_good, is_good_median = is_near(predicted[0], middle), is_near(statistics.median(predicted), middle)
            is_steady = is_near(min(real), max(real)) and is_near(min(walls), max(walls))
            good += is_good
            good_median += is_good_median
            steady += is_steady
            steady_good += is_steady and is_good
            bounded += abs(off) <= error
            wrong = "" if is_good and is_good_median else "  WRONG" if is_steady else "  wrong, as the runs differ"
            print(f"{seed}: {change}: {ms(walls)} ms; predicted {ms(predicted)} +- {error / 1e6:.1f}; really {ms(real)}; off by {off / 1e6:+.1f} ms, "
                  f"{100 * off / middle:+.1f} %{wrong}", flush=True)
    print(f"{good} of {tried} predictions miss the median of {RUNS} runs by at most 3 % or 1 ms, {good_median} if each is the median of those from {RUNS} runs; "
          f"{bounded} are within their error bound")
    print(f"{steady_good} of {steady}, of the programs whose {RUNS} runs, without and with the change, differ by at most 3 % or 1 ms")
    return 0 if tried and good >= 0.95 * tried else 1


sys.exit(main())
