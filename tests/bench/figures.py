# SPDX-License-Identifier: Apache-2.0
"""Code that the sections of tests/bench/run share: run programs, find the peers, print the table."""
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

SRC = os.environ.get("SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD") or os.path.join(SRC, "build")
BENCH = os.path.join(BUILD, "tests/bench")
LIBRARY = os.path.join(BUILD, "lib/libtrace/libtrace.so")
TRACE = os.path.join(BUILD, "bin/trace")
TIME_LIMIT = 90


def note(text):
    print(text, file=sys.stderr, flush=True)


def program(name):
    return os.path.join(BENCH, name)


# ---- the table ----

class Table:
    """A table with rows of figure, unit, min, median, limit, ratio and verdict.

    The median is compared with the limit; `noisy` means that only the smallest value is within the limit.
    """

    def __init__(self):
        self.rows = []

    def head(self, text):
        self.rows.append((text,))

    def add(self, figure, unit, least, median, limit=None, ratio=None, lower_is_better=True):
        verdict = ""
        if limit is not None:
            def within(value):
                return value <= limit if lower_is_better else value >= limit
            verdict = "ok" if within(median) else "noisy" if within(least) else "over"
        sign = "" if limit is None else ("<= " if lower_is_better else ">= ")
        self.rows.append((figure, unit, number(least), number(median), sign + number(limit), ratio or "", verdict))
        note("    " + " | ".join(str(cell) for cell in self.rows[-1]))

    def skip(self, figure, why):
        self.rows.append((figure, "", "", "", "", why, "skipped"))

    def print(self, markdown):
        titles = ("figure", "unit", "min", "median", "limit", "ratio", "")
        cells = [titles] + [row for row in self.rows if len(row) > 1]
        widths = [max(len(row[i]) for row in cells) for i in range(len(titles))]
        if markdown:
            print("| " + " | ".join(titles) + " |\n|---|---|--:|--:|--:|---|---|")
        for row in self.rows if markdown else [titles] + self.rows:
            if len(row) == 1:
                print(f"| **{row[0]}** | | | | | | |" if markdown else f"\n{row[0]}")
            elif markdown:
                print("| " + " | ".join(row) + " |")
            else:
                print("  ".join(cell.rjust(width) if 2 <= i <= 4 else cell.ljust(width)
                                for i, (cell, width) in enumerate(zip(row, widths))).rstrip())

    def over(self):
        return sum(row[-1] == "over" for row in self.rows)


def number(value):
    if value is None:
        return ""
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def extra(runs, tool, least, median):
    """Return the cost of `tool` over `base`, as two numbers: the difference of their smallest values over all rounds, and the median over the rounds of
    the difference of their medians. `runs` is a list of rounds, {tool: line}; `least` and `median` name fields of a line.
    """
    rounds = [r for r in runs if tool in r and "base" in r]
    if not rounds:
        return None
    low = min(r[tool][least] for r in rounds) - min(r["base"][least] for r in rounds)
    return low, statistics.median(r[tool][median] - r["base"][median] for r in rounds)


def ratio_text(value, reference, name):
    return f"{value / reference:.2f} of {name}" if reference and reference > 0 else ""


# ---- running ----

class Runner:
    def __init__(self, sections):
        self.scratch = tempfile.mkdtemp(prefix="libtrace-bench.", dir=os.environ.get("SCRATCH"))
        self.count = 0
        self.lttng = Lttng(self.scratch) if sections & {"calls", "cpu", "startup", "instructions", "tail", "size"} else None

    def close(self):
        if self.lttng:
            self.lttng.down()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def report(self):
        self.count += 1
        return os.path.join(self.scratch, f"report{self.count}.rep")

    def environment(self, tool, report=None):
        """Return the environment variables of a run of `tool`."""
        ours = {"LD_PRELOAD": LIBRARY, "LIBTRACE_OUTPUT": report or "", "LIBTRACE_OSRT_LOCKS": "all"}
        return {
            "base": {},
            "floor": {"LD_PRELOAD": program("libfloor.so")},
            "forward": {"LD_PRELOAD": program("libfloor.so"), "FLOOR": "0"},
            "none": {**ours, "LIBTRACE_TRACE": "none"},
            "nvtx": {**ours, "LIBTRACE_TRACE": "nvtx"},
            "recorded": {**ours, "LIBTRACE_OSRT_THRESHOLD": "0"},
            "below": {**ours, "LIBTRACE_OSRT_THRESHOLD": "10000000000"},
            "default": {"LD_PRELOAD": LIBRARY, "LIBTRACE_OUTPUT": report or ""},
            "lttng": {"LD_PRELOAD": program("liblttng.so"), "LTTNG_UST_CLOCK_PLUGIN": program("lttng-clock.so")},
        }[tool]

    def run(self, argv, tool="base", keep=None, **more):
        """Run argv and wait until all processes that it starts have ended. Return a Run. The report is written to `keep`; without it, it is deleted."""
        report = keep or self.report()
        usage = os.path.join(self.scratch, "usage")
        env = {k: v for k, v in os.environ.items() if not k.startswith(("LIBTRACE_", "LD_PRELOAD"))}
        settings = [f"{k}={v}" for k, v in {**self.environment(tool, report), **more}.items()]
        if tool == "lttng":
            self.lttng.start()
        # env sets the preload last, so that reap and env are not traced themselves
        command = [program("reap"), usage, "env", *settings, *argv] if settings else [program("reap"), usage, *argv]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=TIME_LIMIT, cwd=self.scratch)
        result = Run(done, usage)
        if tool == "lttng":
            result.left += self.lttng.stop()
        if not keep and os.path.exists(report):
            os.unlink(report)
        return result


class Run:
    def __init__(self, done, usage):
        if done.returncode:
            raise RuntimeError(f"{' '.join(done.args)[-300:]}: status {done.returncode}: {done.stderr[-300:]}")
        self.stderr = done.stderr
        self.stdout = done.stdout
        self.lines = [line.split("\t") for line in done.stdout.splitlines()]
        fields = open(usage).read().split("\t")
        self.wall, self.cpu, self.left, self.peak_kib, self.waited = (int(f) for f in fields[1:6])  # ns, KiB

    def calls(self):
        """Return {least, median, cpu_least, cpu_median, count} of the output line `calls`."""
        line = next(line for line in self.lines if line[0] == "calls")
        names = ("count", "least", "median", "cpu_least", "cpu_median")
        return dict(zip(names, (float(f) for f in line[3:])))

    def pairs(self, kind):
        """Return {name: (least, median)} of the output lines that begin with `kind`."""
        return {line[1]: (float(line[2]), float(line[3])) for line in self.lines if line[0] == kind}


def trace(*arguments, **popen):
    return subprocess.run([TRACE, *arguments], capture_output=True, text=True, timeout=TIME_LIMIT, **popen)


def report_info(path):
    return json.loads(trace("info", "--json", path).stdout)


# ---- LTTng: its fastest configuration, one event per call, with the time-stamp counter as clock ----

class Lttng:
    SESSION = "libtrace-bench"

    def __init__(self, scratch):
        self.daemon = None
        self.ready = False
        self.why = self.up(scratch)
        if self.why:
            note(f"no LTTng row: {self.why}")
        self.ready = not self.why

    def up(self, scratch):
        if not shutil.which("lttng") or not shutil.which("lttng-sessiond"):
            return "lttng-tools is not installed"
        source = os.path.join(SRC, "tests/bench/lttng")
        for output, name in (("liblttng.so", "liblttng.c"), ("lttng-clock.so", "clock.c")):
            built = subprocess.run([os.environ.get("CC") or "cc", "-O2", "-fPIC", "-shared", "-I" + source, "-o", program(output),
                                    os.path.join(source, name), "-llttng-ust", "-ldl"], capture_output=True)
            if built.returncode:
                return "liblttng-ust-dev is not installed"
        if subprocess.run(["pgrep", "-x", "lttng-sessiond"], capture_output=True).returncode:
            pid_file = os.path.join(scratch, "sessiond.pid")
            subprocess.run(["lttng-sessiond", "--background", "--no-kernel", f"--pidfile={pid_file}"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.daemon = int(open(pid_file).read())
        self.command("destroy", self.SESSION)
        self.output = os.path.join(scratch, "lttng")
        for words in (("create", self.SESSION, "--output=" + self.output),
                      ("enable-channel", "-u", "-s", self.SESSION, "--subbuf-size=4M", "--num-subbuf=8", "c"),
                      ("enable-event", "-u", "-s", self.SESSION, "-c", "c", "libtrace_bench:*")):
            if self.command(*words):
                return f"lttng {words[0]} failed"
        return None

    def command(self, *words):
        return subprocess.run(["lttng", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode

    def consumer_cpu(self):
        total = 0
        for path in glob.glob("/proc/[0-9]*/comm"):
            try:
                if open(path).read().startswith("lttng-consumerd"):
                    fields = open(path[:-4] + "stat").read().rsplit(")", 1)[1].split()
                    total += int(fields[11]) + int(fields[12])
            except OSError:
                pass
        return total * 1000000000 // os.sysconf("SC_CLK_TCK")

    def start(self):
        self.before = self.consumer_cpu()
        self.command("start", self.SESSION)

    def stop(self):
        """End recording and return the consumer's CPU time since start()."""
        self.command("stop", self.SESSION)
        used = self.consumer_cpu() - self.before
        return used

    def bytes(self):
        return sum(os.path.getsize(path) for path in glob.glob(self.output + "/**", recursive=True) if os.path.isfile(path))

    def down(self):
        if self.ready:
            self.command("destroy", self.SESSION)
        if self.daemon:
            os.kill(self.daemon, 15)
