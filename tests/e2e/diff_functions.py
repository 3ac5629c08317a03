#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 200
"""Check `trace diff` and `trace nightly` on CPU samples: they name the function that takes longer, and nothing where nothing changed or samples are too few.

Samples are drawn from known distributions by fixed seeds, so the load of the machine does not matter. One comparison is of real runs, with a change that is
much larger than any noise.
"""
import contextlib
import io
import json
import os
import re
import sqlite3
import sys
import xml.etree.ElementTree as xml

import lib
import lib_compare as made
from lib import tap

made.enter_interpreter("trace diff of CPU samples")
import numpy  # noqa: E402
import trace_tools  # noqa: E402
from trace_tools import compare, diff as trace_diff, functions, nightly, nights_report, profile, samples, sequential, store  # noqa: E402

PERIOD_NS = 10_309_278
SOLVE, TRANSFORM = ("solve", "/opt/app"), ("transform", "/opt/app")
OTHER_TID = made.GLOBAL_TID + 1


class Sampled(made.Run):
    """One run with CPU samples: draws functions by their share of the processor time."""

    def __init__(self, seed, host="here", options=("sample=process-tree",)):
        super().__init__(seed, host, options)
        self.samples = []  # (globalTid, frames, ns)
        self.exact = {}  # processor time of each thread
        self.names = {made.GLOBAL_TID: "app"}
        self.with_samples = self.with_times = True

    def work_in(self, times_ns, tid=made.GLOBAL_TID):
        """Use the processor: {frames: ns}. A frame is (symbol, module), the innermost one first."""
        spread = self.chance.lognormvariate(0, 0.005)
        total = int(sum(times_ns.values()) * spread)
        drawn = self.chance.choices(list(times_ns), list(times_ns.values()), k=total // PERIOD_NS)
        self.samples += [(tid, frames, PERIOD_NS) for frames in drawn]
        self.exact[tid] = self.exact.get(tid, 0) + total
        self.now += total

    def write(self, path, of_libtrace=True):
        rows, chains = [], []
        for number, (tid, frames, ns) in enumerate(self.samples if self.with_samples else (), 1):
            rows.append((number, 1000 * number, 0, 1, tid, 1, ns))
            chains += [(number, self.id(symbol), self.id(module), depth) for depth, (symbol, module) in enumerate(frames)]
        names = [(self.id(name), tid) for tid, name in self.names.items()]
        super().write(path, of_libtrace)
        with contextlib.closing(sqlite3.connect(path)) as c, c:
            if rows:
                c.execute("CREATE TABLE COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start INTEGER, cpu INTEGER, threadState INTEGER, globalTid INTEGER, cpuCycles INTEGER)")
                c.execute("CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, specialEntry INTEGER, stackDepth INTEGER, PRIMARY KEY (id, stackDepth))")
                c.executemany("INSERT INTO COMPOSITE_EVENTS VALUES (?, ?, ?, ?, ?, ?)", [r[:6] for r in rows])
                c.executemany("INSERT INTO SAMPLING_CALLCHAINS VALUES (?, ?, ?, NULL, ?)", chains)
            if rows and of_libtrace:
                c.execute("CREATE TABLE LIBTRACE_CPU_SAMPLE (id INTEGER PRIMARY KEY, cpuTime INTEGER, flags INTEGER, nameId INTEGER)")
                c.executemany("INSERT INTO LIBTRACE_CPU_SAMPLE VALUES (?, ?, 0, NULL)", [(r[0], r[6]) for r in rows])
            if of_libtrace and self.with_times:
                c.execute("CREATE TABLE LIBTRACE_THREAD_TIME (timestamp INTEGER, globalTid INTEGER, which INTEGER, cpuTime INTEGER)")
                c.executemany("INSERT INTO LIBTRACE_THREAD_TIME VALUES (?, ?, 1, ?)", [row for tid, ns in self.exact.items() for row in ((0, tid, 5000), (self.now, tid, ns + 5000))])
            c.execute("CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER)")
            c.executemany("INSERT INTO ThreadNames VALUES (?, 0, ?)", names)
        return path


def numeric(run, solve=1.0, transform=1.0, more=None, seconds=4):
    """Add the program of two numeric functions. more: {frames: seconds}."""
    below = (("main", "/opt/app"),)
    run.work_in({(SOLVE, *below): solve * seconds * 5e8, (TRANSFORM, *below): transform * seconds * 5e8,
                 **{frames: 1e9 * s for frames, s in (more or {}).items()}})
    return run


def runs(folder, name, count, seed, make=numeric, of_libtrace=True, **what):
    """Write `count` databases; return their paths. with_samples, with_times: what they have."""
    paths = []
    for number in range(count):
        run = Sampled(seed * 1000 + number)
        run.with_samples, run.with_times = what.get("with_samples", True), what.get("with_times", True)
        make(run, **{k: v for k, v in what.items() if not k.startswith("with_")})
        paths.append(run.write(os.path.join(folder, f"{name}-{number}.sqlite"), of_libtrace))
    return paths


def as_json(base, other, *options):
    """Return (exit status, the JSON, what failed) of a comparison within this process."""
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            status = trace_diff.main([*(f"--base={b}" for b in base), *(f"--other={o}" for o in other), "--format=json", *options])
    except trace_tools.Failure as failure:
        return 2, None, str(failure)
    return status, json.loads(out.getvalue()), ""


def of_functions(found, *results):
    return [f for f in found["findings"] if f["kind"] == "function" and (not results or f["result"] in results)]


def names_the_slower_function():
    folder = lib.folder()
    base, same = runs(folder, "base", 10, 1), runs(folder, "same", 10, 2)
    status, found, err = as_json(base, runs(folder, "slow", 10, 3, solve=1.15))
    worse = [f for f in found["findings"] if f["result"] == "worse"]
    tap.ok(status == 1 and worse[0]["kind"] == "function" and worse[0]["name"] == "solve (app)", "the function that takes 15 % longer is named first", f"{err} {worse}")
    tap.ok([f["name"] for f in of_functions(found, "worse", "better")] == ["solve (app)"], "and no other function", of_functions(found))
    first = worse[0]
    tap.ok(first["interval"][0] <= 1.15 <= first["interval"][1] and first["interval"][0] > 1, "its interval holds the true change", first)
    counted = [sum(made_of["solve"] for made_of in map(leaves, side)) for side in (base, [os.path.join(folder, f"slow-{i}.sqlite") for i in range(10)])]
    tap.ok(first["samples"] == counted, "it has the number of its samples on each side", (first["samples"], counted))
    tap.ok(first["metric"] == "processor time (ns)" and abs(first["base"] - 2e9) < 0.2e9, "its processor time is that of a run", first)
    tap.ok(any(f["kind"] == "process" and f["metric"] == "processor time (ns)" for f in worse), "the processor time of the process is worse, too", worse)
    tap.ok(not any(f["kind"] == "thread" for f in found["findings"]), "the only thread of a program is no item beside it")
    status, found, err = as_json(base, same)
    tap.ok(status == 0 and not of_functions(found, "worse", "better"), "runs of the same program have no function that changed", f"{err} {found['reason']}")
    status, found, err = as_json(base, runs(folder, "fast", 10, 4, solve=0.8))
    better = of_functions(found, "better")
    tap.ok(status == 0 and [f["name"] for f in better] == ["solve (app)"], "a faster function is better, and not a failure", f"{err} {better}")


def leaves(path):
    """Return the number of samples of each innermost function of a database."""
    with contextlib.closing(sqlite3.connect(path)) as c:
        return dict(c.execute("SELECT s.value, count(*) FROM SAMPLING_CALLCHAINS AS f JOIN StringIds AS s ON s.id = f.symbol WHERE f.stackDepth = 0 GROUP BY 1"))


def refuses_too_few_samples():
    folder = lib.folder()
    rare, some = (("rare", "/opt/app"),), (("some", "/opt/app"),)
    more = {rare: 0.02, some: 0.15}
    base = runs(folder, "base", 10, 1, more=more)
    status, found, err = as_json(base, runs(folder, "other", 10, 2, more={rare: 0.022, some: 0.16}))
    by = {f["name"]: f for f in of_functions(found)}
    tap.ok(by["rare (app)"]["result"] == "undecided" and by["rare (app)"]["why"].startswith("too few samples: fewer than"), "a function with few samples is not compared", f"{err} {by['rare (app)']}")
    tap.ok(by["some (app)"]["result"] == "undecided" and "would not have been found" in by["some (app)"]["why"], "one whose change could be large is not called equal", by["some (app)"])
    tap.ok(by["some (app)"]["interval"] and by["some (app)"]["noise_floor"] > functions.EQUAL, "its interval is printed", by["some (app)"])
    long_base, long_same = (runs(folder, name, 10, seed, seconds=20) for name, seed in (("long", 3), ("long-same", 4)))
    status, found, err = as_json(long_base, long_same)
    by = {f["name"]: f for f in of_functions(found)}
    tap.ok(status == 0 and by["solve (app)"]["result"] == "equal" and by["solve (app)"]["noise_floor"] <= functions.EQUAL, "with enough samples it is equal", f"{err} {by['solve (app)']}")


def compares_what_all_runs_have():
    folder = lib.folder()
    base = runs(folder, "base", 6, 1)
    status, found, err = as_json(base, runs(folder, "bare", 6, 2, with_samples=False))
    tap.ok(status == 0 and not of_functions(found) and any("6 of 12 runs have no CPU samples" in note for note in found["notes"]), "runs without samples: functions are not compared, with a note", f"{err} {found and found['notes']}")
    status, found, err = as_json(base, runs(folder, "timeless", 6, 3, with_times=False))
    tap.ok(of_functions(found)[0]["metric"] == "samples" and any("no times of threads" in note for note in found["notes"]) and not any(f["metric"] == "processor time (ns)" for f in found["findings"]),
           "runs without times of threads: samples are compared, with a note", f"{err} {found['notes']}")
    other = runs(folder, "perf", 6, 6)
    for path in other:
        with contextlib.closing(sqlite3.connect(path)) as c, c:
            c.execute("INSERT INTO META_DATA_CAPTURE VALUES ('LIBTRACE_OPTION', 'sampling_trigger=perf')")
    status, found, err = as_json(base, other)
    tap.ok(not of_functions(found) and any("triggered by perf and timer" in note for note in found["notes"]), "runs of different triggers: functions are not compared, with a note", f"{err} {found['notes']}")
    status, found, err = as_json(made.runs(folder, "plain", 6, 4), made.runs(folder, "plain-other", 6, 5))
    tap.ok(not of_functions(found) and not found["notes"] and found["functions"] == {"tested": 0, "samples": [0, 0]}, "reports without samples: as before", f"{err} {found['notes']}")
    said = made.command("diff", *made.runs(folder, "p", 6, 4), "--", *made.runs(folder, "q", 6, 5)).out
    tap.ok(b"functions:" not in said and b"processor time" not in said, "and no word about functions", said)


def compares_databases_of_nsys():
    folder = lib.folder()
    base = runs(folder, "base", 10, 1, of_libtrace=False, seconds=4)
    status, found, err = as_json(base, runs(folder, "slow", 10, 2, of_libtrace=False, solve=1.5, seconds=4))
    worse = of_functions(found, "worse")
    tap.ok(status == 1 and [(f["name"], f["metric"]) for f in worse] == [("solve (app)", "samples")], "databases of nsys: samples are compared", f"{err} {of_functions(found)}")
    other = runs(folder, "period", 10, 3, of_libtrace=False)
    for path, period in [(p, 1000000) for p in base] + [(p, 2000000) for p in other]:
        with contextlib.closing(sqlite3.connect(path)) as c, c:
            c.execute("INSERT INTO META_DATA_CAPTURE VALUES ('LINUX_PERF_OPTIONS:SAMPLING_PERIOD', ?)", (str(period),))
    status, found, err = as_json(base, other)
    tap.ok(not of_functions(found) and any("sampling periods" in note for note in found["notes"]), "not if their sampling periods differ", f"{err} {found['notes']}")


def aligns_functions():
    folder = lib.folder()
    train = "/src/train.py"
    kernel = ("sgemm_kernel", "/usr/lib/libblas.so.3")

    def python(run, line, slower=1.0):
        run.work_in({(kernel, (f"Net.forward (train.py:{line})", train), (f"main (train.py:{line + 50})", train)): slower * 6e8,
                     ((f"Net.step (train.py:{line + 9})", train), (f"main (train.py:{line + 50})", train)): 9e8})

    base = runs(folder, "py", 10, 1, python, line=10)
    status, found, err = as_json(base, runs(folder, "py-slow", 10, 2, python, line=14, slower=1.6))
    by = {f["name"]: f for f in of_functions(found)}
    tap.ok(set(by) == {"Net.forward (train.py)", "Net.step (train.py)", "sgemm_kernel (libblas.so.3)"}, "functions of Python have their qualified name and file", f"{err} {sorted(by)}")
    tap.ok({n for n, f in by.items() if f["result"] == "worse"} == {"Net.forward (train.py)", "sgemm_kernel (libblas.so.3)"}, "native code counts for the function of Python that calls it, too", by)
    tap.ok(by["Net.forward (train.py)"]["lines"] == "train.py:14 (was train.py:10)", "a function that moved is the same, with both lines", by["Net.forward (train.py)"])
    clone, template = (("solve.constprop.0", "/opt/app"),), (("reduce<float>", "/opt/app"),)
    base = runs(folder, "cc", 10, 3, more={template: 0.6})
    other = runs(folder, "cc-new", 10, 4, solve=0.001, more={clone: 1.0, (("reduce<double>", "/opt/app"),): 0.6})
    status, found, err = as_json(base, other)
    by = {f["name"]: f for f in of_functions(found)}
    tap.ok(status == 0 and by["solve (app)"]["result"] != "worse" and not any("constprop" in name for name in by), "copies that the compiler made belong to their function", f"{err} {sorted(by)}")
    tap.ok(by["reduce<double> (app)"]["presence"] == "renamed" and by["reduce<double> (app)"]["formerly"] == "reduce<float> (app)", "a function with another name is the same one", by)
    fresh = (("validate_everything", "/opt/app"),)
    status, found, err = as_json(base, runs(folder, "cc-more", 10, 5, more={template: 0.6, fresh: 0.5}))
    by = {f["name"]: f for f in of_functions(found)}
    tap.ok(status == 1 and by["validate_everything (app)"]["result"] == "worse" and by["validate_everything (app)"]["presence"] == "new" and by["validate_everything (app)"]["ratio"] == "inf",
           "a new function is worse, from 0", f"{err} {by['validate_everything (app)']}")


def bounds_the_items():
    folder = lib.folder()
    many = {((f"f{i}", "/opt/app"),): 0.05 for i in range(3000)}
    path, = runs(folder, "many", 1, 1, more=many)
    found = profile.read(path, "many")
    names = [k for k in found.items if k.kind == "function"]
    tap.ok(len(names) == samples.FUNCTIONS and {"solve (app)", "transform (app)"} <= {k.name for k in names}, "a run has a bounded number of functions, those with most samples", len(names))
    judged = compare.compare([profile.read(path, "a")] * 2, [profile.read(path, "b")] * 2, compare.Options())
    tap.ok(0 < judged.functions <= functions.MOST, "and a comparison", judged.functions)


def tells_threads_apart():
    folder = lib.folder()

    def two(run, loader=1.0):
        numeric(run)
        run.names[OTHER_TID] = "loader-7"
        run.work_in({(("read_block", "/opt/app"),): loader * 1e9}, OTHER_TID)

    status, found, err = as_json(runs(folder, "two", 10, 1, two), runs(folder, "two-slow", 10, 2, two, loader=1.3))
    worse = {(f["kind"], f["name"]) for f in found["findings"] if f["result"] == "worse" and f["metric"] == "processor time (ns)"}
    tap.ok(worse == {("thread", "loader-#"), ("process", "app"), ("function", "read_block (app)")}, "threads have their processor time, numbers in their names are merged", f"{err} {worse}")


def prints_all_formats():
    folder = lib.folder()
    base, other = runs(folder, "base", 10, 1, more={(("rare", "/opt/app"),): 0.02, (("some", "/opt/app"),): 0.15}), runs(folder, "slow", 10, 3, solve=1.15, more={(("some", "/opt/app"),): 0.15})
    files = {kind: os.path.join(folder, f"out.{kind}") for kind in ("markdown", "junit", "html")}
    result = made.command("diff", *base, "--", *other, *(f"--format={kind}:{file}" for kind, file in files.items()), "-f", "text", "--all")
    text = result.out.decode()
    head = next(line for line in text.splitlines() if line.startswith("functions:"))
    tap.ok(" base and " in head and " other CPU samples" in head and "too few samples of" in head and "rare (app)" in head, "text: the samples of each side, and functions with too few", head)
    rows = [line for line in text.splitlines() if "solve (app)" in line and line.startswith("worse")]
    tap.ok(len(rows) == 1 and " samples" in rows[0] and "% .. +" in rows[0], "text: a row with samples, change and interval", text)
    tap.ok(any(line.startswith("too few samples") and "some (app)" in line for line in text.splitlines()), "text: too few samples, not equal", text)
    suite = xml.parse(files["junit"]).getroot().find("testsuite")
    cases = {c.get("name"): c for c in suite.iter("testcase")}
    tap.ok(cases["solve (app): processor time (ns)"].find("failure") is not None and cases["some (app): processor time (ns)"].find("skipped") is not None
           and suite.get("skipped") == str(sum(c.find("skipped") is not None for c in cases.values())), "junit: a failure; too few samples are skipped", sorted(cases))
    for kind in ("markdown", "html"):
        with open(files[kind], encoding="utf-8") as file:
            said = file.read()
        tap.ok("solve (app)" in said and "CPU samples" in said and "and no" not in said, f"{kind}: the function, and the samples", said[:2000])
    page = os.path.join(folder, "page.html")
    result = made.command("diff", "--html", page, *base, "--", *other)
    with open(page, encoding="utf-8") as file:
        said = file.read()
    tap.ok(result.status == 1 and "solve (app)" in said, "--html: the page has the function", result.err)


def night_of(kept, number, run_paths):
    """Store a night of runs as `trace nightly` does."""
    night = kept.night_begin("job", "here", f"2026-03-{number:02}T03:00:00", None, "/none")
    for index, path in enumerate(run_paths):
        kept.run_add(night, index, None, True, "ok", 0, None, 1, path, 1, profile.read(path, path))
    return night


def compares_nights():
    folder = lib.folder()
    url = os.path.join(folder, "nightly.sqlite")
    kept = store.Store(url)
    nights = [night_of(kept, n, runs(folder, f"night{n}", 8, 10 + n, solve=1.3 if n == 4 else 1.0)) for n in (1, 2, 3, 4)]
    rows = [n for n in kept.nights("job", "here") if n["id"] in nights]
    given = nightly.parse(["run", "--name=job", f"--folder={folder}", "--host=here", "--", "true"])[0]
    comparison = trace_tools.night.compare_night(given, kept, nights[3], rows[:3])
    worse = comparison.of("worse")
    tap.ok(comparison.verdict == compare.WORSE and worse[0].key.name == "solve (app)" and worse[0].samples[0] > 1000, "nightly: the function is named first", [f.key for f in worse])
    comparison = trace_tools.night.compare_night(given, kept, nights[2], rows[:2])
    tap.ok(comparison.verdict == compare.OK and not comparison.of("worse"), "nightly: an unchanged night is ok", comparison.reason)
    profiles = kept.profiles(nights[0])
    read = profile.read(os.path.join(folder, "night1-0.sqlite"), "x")
    tap.ok(profiles[0].samples == read.samples and {k: (i.count, i.cpu_ns) for k, i in profiles[0].items.items()} == {k: (i.count, i.cpu_ns) for k, i in read.items.items()}, "the store keeps samples and processor time")
    kept.close()
    with contextlib.closing(sqlite3.connect(url)) as old, old:
        old.execute("DROP TABLE store")
        old.execute("ALTER TABLE item DROP COLUMN cpu_ns")
        old.execute("ALTER TABLE run DROP COLUMN samples")
        old.execute("DELETE FROM item WHERE kind IN ('function', 'thread')")
    kept = store.Store(url)
    new = night_of(kept, 5, runs(folder, "night5", 8, 15))
    comparison = trace_tools.night.compare_night(given, kept, new, rows[:3])
    tap.ok(comparison.verdict == compare.OK and any("no CPU samples" in note for note in comparison.notes), "a store of an older version gets the columns; its nights have no samples", (comparison.reason, comparison.notes))
    kept.close()


def shows_the_history_of_processor_time():
    """Check that the history has the processor time of programs and functions, and says in which night a function changed."""
    folder = lib.folder()
    url, output = (os.path.join(folder, name) for name in ("history.sqlite", "history.html"))
    kept, late = store.Store(url), {(("late", "/opt/app"), ("main", "/opt/app")): 1.0}
    for n in range(1, 17):
        night_of(kept, n, runs(folder, f"h{n}", 3, 200 + n, seconds=3, more=late if n > 8 else None))
    kept.close()
    given = nightly.parse(["report", "--name=job", f"--folder={folder}", "--host=here", f"--store={url}", f"--output={output}"])[0]
    with contextlib.redirect_stdout(io.StringIO()):
        nights_report.write(given)
    with open(output, encoding="utf-8") as file:
        page = file.read()
    moved = re.findall("<li>.*?</li>", page)
    tap.ok(all(f"<h3>{title}: processor time (ns)</h3>" in page for title in ("process app", "function solve (app)", "function late (app)")), "the history has processor time of processes and functions",
           re.findall("<h3>.*?</h3>", page))
    tap.ok(any("function late (app): processor time" in line and "from 0" in line and "night 9 " in line for line in moved), "it says in which night a function is new", moved)
    tap.ok(any("process app: processor time" in line and "night 9 " in line for line in moved) and not any("function solve" in line or "samples" in line for line in moved),
           "and that its program takes longer, but not the other functions", moved)


def holds_its_error_rate():
    """Check false alarms of the family of functions, at an alpha of 0.05 so that few comparisons suffice, and what is named of a program that changed."""
    chance = numpy.random.default_rng(5)
    shares = numpy.array([0.4, 0.3, 0.1, 0.1, 0.05, 0.05])

    def side(count, factor=1.0):
        found = []
        for _ in range(count):
            weights = shares * ([factor] + [1] * 5)
            total = weights.sum() * 4e9 * chance.lognormal(0, 0.01)
            counts = chance.multinomial(int(total / PERIOD_NS), weights / weights.sum())
            items = {profile.Key("function", "app", "", f"f{i} (app)"): profile.Item(int(n), cpu_ns=int(total * n / counts.sum())) for i, n in enumerate(counts) if n}
            found.append(profile.Profile("run", items, samples=int(counts.sum())))
        return found

    def changed(base, other, moved, alpha):
        return {j.key.name for j in functions.judge(base, other, (), moved, functions.Limits(alpha, 0.01, 1)) if j.result in ("worse", "better")}

    usual, functions.statistics.PERMUTATIONS = functions.statistics.PERMUTATIONS, 2000
    alarms = sum(bool(changed(side(10), side(10), {}, 0.05)) for _ in range(150))
    tap.ok(alarms <= 14, "false alarms among functions: at most 5 % of families and what chance adds (99 %)", alarms)
    named = [changed(side(10), side(10, 1.15), {"app": "worse"}, 0.005) for _ in range(60)]
    tap.ok(sum("f0 (app)" in n for n in named) >= 48, "of a program whose processor time changed, the function is named in most cases", named)
    tap.ok(sum(bool(n - {"f0 (app)"}) for n in named) <= 9, "and others in at most 5 % of cases and what chance adds (99 %)", named)
    functions.statistics.PERMUTATIONS = usual


def sees_through_noise_of_the_machine():
    """Check functions that all vary from run to run by the same factor: one that takes 3 % longer is named by its ratio to the others, and a large
    change of one does not name the others.
    """
    chance = numpy.random.default_rng(11)

    def side(count, *factors):
        found = []
        for _ in range(count):
            machine = chance.lognormal(0, 0.03)
            times = [int(1e9 * machine * factor * chance.lognormal(0, 0.005)) for factor in factors]
            items = {profile.Key("function", "app", "", f"f{i} (app)"): profile.Item(1000, cpu_ns=ns) for i, ns in enumerate(times)}
            found.append(profile.Profile("run", items, samples=1000 * len(times)))
        return found

    def named(base, other, alpha=0.005, moved=()):
        judged = functions.judge(base, other, (), dict(moved), functions.Limits(alpha, 0.01, 1))
        return {(j.key.name, j.result) for j in judged if j.result in ("worse", "better")}

    usual, functions.statistics.PERMUTATIONS = functions.statistics.PERMUTATIONS, 2000
    slower = [named(side(20, 1, 1), side(20, 1.03, 1)) for _ in range(60)]
    tap.ok(sum(n == {("f0 (app)", "worse")} for n in slower) >= 48, "3 % of one of two functions is named alone where the machine varies by 3 %", slower)
    much = [named(side(10, 1, 1), side(10, 1.03 * 1.15, 1.03), moved={"app": "worse"}) for _ in range(60)]
    tap.ok(all(("f0 (app)", "worse") in n for n in much) and sum(len(n) > 1 for n in much) <= 18,
           "15 % of one rarely names the other that is 3 % slower with it, as by a slower machine", much)
    both = [named(side(10, 1, 1), side(10, 1.15, 1.15), moved={"app": "worse"}) for _ in range(60)]
    tap.ok(sum(len(n) == 2 for n in both) >= 52, "15 % of both names both", both)
    faster = [named(side(20, 1, 1, 1, 1), side(20, 1, 1, 0.95, 1)) for _ in range(60)]
    tap.ok(sum(n == {("f2 (app)", "better")} for n in faster) >= 52, "a function of four that is 5 % faster is named alone", faster)
    large = [named(side(10, *[1] * 6), side(10, 3, *[1] * 5)) for _ in range(60)]
    tap.ok(all(("f0 (app)", "worse") in n for n in large) and sum(len(n) > 1 for n in large) <= 6,
           "a function that takes three times as long changes the ratios of all others, which are not named", large)
    alarms = sum(bool(named(side(10, 1, 1, 1), side(10, 1, 1, 1), 0.05)) for _ in range(150))
    tap.ok(alarms <= 14, "false alarms: at most 5 % of families and what chance adds (99 %)", alarms)
    functions.statistics.PERMUTATIONS = usual


def runs_in_turn_cancel_drift():
    """Check runs on a machine whose speed wanders between the rounds: which of two functions changed shows in the differences of neighboring runs."""
    chance = numpy.random.default_rng(13)

    def sides(factor, are_in_turn, rounds=10):
        speed, both = 0.0, ([], [])
        for number in range(rounds):
            speed += chance.normal(0, 0.25)
            for place, side in enumerate(chance.permutation(2)):
                wanders = speed + chance.normal(0, 0.03)
                times = [int(1e9 * factors * numpy.exp(wanders) * chance.lognormal(0, 0.02)) for factors in (factor if side else 1, 1)]
                items = {profile.Key("function", "app", "", f"f{i} (app)"): profile.Item(1000, cpu_ns=ns) for i, ns in enumerate(times)}
                facts = {"began": str(1_000_000 * (2 * number + place + 1))} if are_in_turn else {}
                both[side].append(profile.Profile("run", items, facts=facts, samples=2000))
        return both

    def named(factor, are_in_turn, alpha=0.005):
        judged = functions.judge(*sides(factor, are_in_turn), (), {}, functions.Limits(alpha, 0.01, 1))
        return {(j.key.name, j.result) for j in judged if j.result in ("worse", "better")}

    usual, functions.statistics.PERMUTATIONS = functions.statistics.PERMUTATIONS, 2000
    found = [sum(named(1.15, are_in_turn) == {("f0 (app)", "worse")} for _ in range(60)) for are_in_turn in (True, False)]
    tap.ok(found[0] >= 54 and found[0] - found[1] >= 20, "15 % is named where the machine drifts by more, if the runs were recorded in turn, and less often otherwise", found)
    alarms = sum(bool(named(1, True, 0.05)) for _ in range(150))
    tap.ok(alarms <= 14, "false alarms of runs in turn: at most 5 % of families and what chance adds (99 %)", alarms)
    functions.statistics.PERMUTATIONS = usual
    nulls = [1e9 * numpy.exp(chance.normal(0, 0.25, (10, 1, 1)) + chance.normal(0, 0.03, (10, 3, 2))) for _ in range(400)]
    least = numpy.array([functions.statistics.test_pairs(n[..., 0], n[..., 1], chance)[0].min() for n in nulls])
    rates = [int((least <= level).sum()) for level in (0.05, 0.2)]
    tap.ok(7 <= rates[0] <= 36 and 55 <= rates[1] <= 107, "pairs without a difference: 5 and 20 % of 400 families of three are below these levels, but for chance (99.9 %)", rates)
    faster = numpy.array([0.98, 0.97, 0.99, 0.98, 0.97, 0.98, 0.97, 0.99, 0.98, 0.97, 0.98, 0.98, 0.97, 3.0])[:, None]
    same = numpy.ones_like(faster)
    p, signs = functions.statistics.test_pairs(1e9 * same, 1e9 * faster, chance)
    tap.ok(p[0] <= 0.2 and signs[0] == -1 and faster.mean() > 1, "one slow round turns the mean up, and not the sign of the test", (p, signs))
    values = tuple(1e9 * numpy.hstack([side, same]) for side in (same, faster))
    limits, in_turn = functions.Limits(0.005, 0.01, 1), [(n, n) for n in range(len(same))]
    beside = tuple(side / side[:, ::-1] for side in values)
    found = [functions.changed_beside_others(values, beside, numpy.zeros(2), limits, pairs) for pairs in (in_turn, [])]
    tap.ok(found == [set(), set()], "a function whose mean and test have opposite directions is not named, whether or not runs were in turn", found)
    steady = tuple(numpy.where(side > 2e9, 0.98e9, side) for side in values)
    found = [functions.changed_beside_others(steady, tuple(s / s[:, ::-1] for s in steady), numpy.zeros(2), limits, pairs) for pairs in (in_turn, [])]
    tap.ok(found == [{0}, {0}], "without the slow round it is", found)
    base, other = sides(1, True, 4)
    pairs = functions.in_turn(base, other)
    tap.ok(pairs == [(n, n) for n in range(4)], "runs that were recorded one after the other are pairs", pairs)
    for p in other:
        p.facts["began"] = str(int(p.facts["began"]) + 10**9)
    tap.ok(functions.in_turn(base, other) == [] and functions.in_turn(*sides(1, False)) == [], "runs of one side after those of the other are not, nor runs whose start is unknown")


def plans_the_samples():
    """Check that the planned number of samples finds a change in about 90 of 100 comparisons, and a third of it does not."""
    chance = numpy.random.default_rng(7)

    def side(total, factor=1.0, runs=20):
        found = []
        for _ in range(runs):
            share, time = factor / (1 + factor), 1e9 * (1 + factor)
            count = int(chance.binomial(total // runs, share))
            names = {"solve (app)": count, "transform (app)": total // runs - count}
            items = {profile.Key("function", "app", "", n): profile.Item(k, cpu_ns=int(time * k / (total // runs))) for n, k in names.items()}
            found.append(profile.Profile("run", items, samples=total // runs))
        return found

    def found_in(total, tries=60):
        limits = functions.Limits(0.05, 0.001, 1)
        return sum(any(j.key.name == "solve (app)" and j.result == "worse" for j in functions.judge(side(total), side(total, 1.03), (), {}, limits)) for _ in range(tries))

    usual, functions.statistics.PERMUTATIONS = functions.statistics.PERMUTATIONS, 2000
    needed = sequential.samples_needed(0.5, 0.03, 0.05, 2)
    many, few = found_in(needed), found_in(needed // 3)
    functions.statistics.PERMUTATIONS = usual
    tap.ok(48 <= many < 60 and few < 36, f"3 % of half of a program is found in {many} of 60 comparisons of the planned {needed:,} samples a side (plan: 54), in {few} of a third of them")
    tap.ok(abs(sequential.samples_needed(0.1, 0.03, 0.05, 2) / needed - 9) < 0.01, "a tenth of a program needs nine times as many as half of it")
    folder = lib.folder()
    base, same = runs(folder, "base", 10, 1), runs(folder, "same", 10, 2)
    _, found, err = as_json(base, same)
    plan = {f["name"]: f["samples"] for f in found["samples_plan"]}
    tap.ok(set(plan) == {"solve (app)", "transform (app)"} and all(50_000 < n < 200_000 for n in plan.values()), "diff plans the samples for 2 %", (err, plan))
    text = made.command("diff", *base, "--", *same).out.decode()
    tap.ok(re.search(r"CPU samples a side to see 2 % of a function, if nothing else varied \([\d,]+ were recorded; .*\): .*solve \(app\): [\d,]+", text), "and prints them", text)


def tests_the_time_of_a_program_first():
    """Check which programs count as changed: the test decides, not the noise floor of the base runs; over nights, another night is no change."""
    def programs(over_nights, **what):
        c = compare.Comparison([], [], compare.Options())
        c.findings = [compare.Finding(profile.Key("process", "app", "", "app"), functions.CPU, 100.0, **{"other": 101.5, "result": "equal", "p": 0.001, **what})]
        return compare.moved_programs(c, over_nights)

    tap.ok(programs(False) == {"app": "worse"} and programs(False, other=98.0) == {"app": "better"}, "a program whose processor time passed the test has changed")
    tap.ok(programs(False, p=0.02) == {} and programs(False, other=100.0) == {}, "else it has not")
    tap.ok(programs(True) == {} and programs(True, result="worse") == {"app": "worse"}, "over nights, the change must also be larger than their noise")


def reads_hostile_samples():
    folder = lib.folder()
    good = runs(folder, "good", 1, 1)
    cases = {"text": "UPDATE LIBTRACE_CPU_SAMPLE SET cpuTime = 'soon' WHERE id = 3", "null": "UPDATE COMPOSITE_EVENTS SET globalTid = NULL",
             "large": "UPDATE COMPOSITE_EVENTS SET cpuCycles = 9223372036854775807", "negative": "UPDATE LIBTRACE_CPU_SAMPLE SET cpuTime = -5",
             "no chains": "DROP TABLE SAMPLING_CALLCHAINS", "no samples": "DROP TABLE COMPOSITE_EVENTS", "no column": "ALTER TABLE COMPOSITE_EVENTS DROP COLUMN cpuCycles",
             "names": "UPDATE StringIds SET value = NULL"}
    for what, statement in cases.items():
        path = os.path.join(folder, f"{what}.sqlite")
        with open(good[0], "rb") as source, open(path, "wb") as target:
            target.write(source.read())
        with contextlib.closing(sqlite3.connect(path)) as c, c:
            with contextlib.suppress(sqlite3.IntegrityError):
                c.execute(statement)
        status, found, err = as_json(good, [path])
        tap.ok(status == 2 and (found or (err and "\n" not in err)), f"hostile samples ({what}): a comparison or one line", f"{status} {err}")
    for what, start in (("text", "soon"), ("real", 1.5e18), ("NULL", None)):
        sides = [runs(folder, f"{what} {side}", 2, seed) for seed, side in ((2, "base"), (3, "other"))]
        for path in sides[0] + sides[1]:
            with contextlib.closing(sqlite3.connect(path)) as c, c:
                c.execute("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs)")
                c.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?)", (start,))
        status, found, err = as_json(*sides)
        tap.ok(status == 2 and found and of_functions(found) and "began" not in profile.read(path, "run").facts,
               f"a start that is {what} is not known, and the runs are compared", f"{status} {err}")


def names_a_function_of_reports():
    """Check real runs, one side of which calls one function four times as long."""
    folder = lib.folder()
    reports = {}
    for number in range(6):
        for percent in ("0", "300"):
            report = os.path.join(folder, f"{percent}-{number}.rep")
            result = lib.trace("run", "-t", "none", "--sample=process-tree", "-o", report, "--", lib.app("numeric"), percent, "1000", "100")
            reports.setdefault(percent, []).append(report)
            if result.status:
                tap.ok(False, "each run is recorded", result.err)
    if b"cpu_sample" not in lib.trace("info", "-v", reports["0"][0]).out:
        tap.skip("a function of reports is named", "no CPU samples on this system")
        return
    status, found, err = as_json(reports["0"], reports["300"])
    worse = [f for f in found["findings"] if f["result"] == "worse"]
    tap.ok(status == 1 and worse[0]["name"] == "solve (numeric)" and worse[0]["kind"] == "function", "reports: the function is named first", f"{status} {err} {worse[:2]}")


def ranges_have_their_processor_time():
    """A sample counts for the innermost range that is open at its time."""
    def runs_with(seed, share, modes=(), count=10):
        found = []
        for number in range(count):
            run = numeric(Sampled(seed + number))
            run.ranges.append((500, 1000 * int(share * len(run.samples)) + 500, 59, "inner", made.GLOBAL_TID, 0))
            run.ranges.append((400, 1000 * len(run.samples) + 600, 59, "outer", made.GLOBAL_TID, 0))
            path = run.write(os.path.join(lib.folder(), "ranges.sqlite"))
            with contextlib.closing(sqlite3.connect(path)) as c, c:
                for sql in modes:
                    c.execute(sql)
            found.append(profile.read(path, path))
            os.unlink(path)
        return found

    base, other = runs_with(1, 0.3), runs_with(101, 0.4)
    spent = {k.name: i.cpu_ns / 4e9 for k, i in base[0].items.items() if k.kind == "range"}
    tap.ok(abs(spent[":inner"] - 0.3) < 0.02 and abs(spent[":outer"] - 0.7) < 0.02, "a range has the processor time of its samples, without the ranges in it", spent)
    c = compare.compare(base, other, compare.Options())
    found = {f.key.name: f.result for f in c.findings if f.key.kind == "range" and f.metric == functions.CPU}
    tap.ok(found == {":inner": "worse", ":outer": "better"}, "and is compared by it", f"{found} {c.reason}")
    tap.ok(not any(i.more for k, i in base[0].items.items() if k.kind == "range"), "where samples do not say whether they are in a system call, ranges have no system time")
    in_system = ("ALTER TABLE LIBTRACE_CPU_SAMPLE ADD COLUMN mode INTEGER DEFAULT 1", "UPDATE LIBTRACE_CPU_SAMPLE SET mode = 2 WHERE id % 4 = 0")
    for modes, wanted in ((in_system, {":inner": (0.3, 0.25), ":outer": (0.7, 0.25)}),
                          ((*in_system, "UPDATE LIBTRACE_CPU_SAMPLE SET mode = 0 WHERE id = 1"), {":outer": (0.7, 0.25)})):
        items = {k.name: i for k, i in runs_with(1, 0.3, modes, 1)[0].items.items() if k.kind == "range" and i.more}
        parts = {name: (sum(i.more.values()) / 4e9, i.more[samples.SYSTEM] / i.cpu_ns) for name, i in items.items()}
        tap.ok(set(parts) == set(wanted) and all(abs(a - b) < 0.02 for name, values in wanted.items() for a, b in zip(parts[name], values)),
               "user and system time of ranges are the samples outside and in system calls, if it is known of all of them", parts)
    old = [profile.copy_of(p) for p in runs_with(201, 0.3)]
    for item in (i for p in old for k, i in p.items.items() if k.kind == "range"):
        item.cpu_ns = 0
    c = compare.compare(old, runs_with(301, 0.3), compare.Options())
    tap.ok(c.verdict == compare.OK, "nights of older versions, which have no such time, are no reason for a verdict", c.reason)


lib.main(names_the_slower_function, refuses_too_few_samples, compares_what_all_runs_have, compares_databases_of_nsys, aligns_functions, bounds_the_items,
         tells_threads_apart, prints_all_formats, compares_nights, shows_the_history_of_processor_time, holds_its_error_rate,
         sees_through_noise_of_the_machine, runs_in_turn_cancel_drift, plans_the_samples, tests_the_time_of_a_program_first, reads_hostile_samples, names_a_function_of_reports,
         ranges_have_their_processor_time)
