#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenMP of GNU's libgomp (-t openmp), which has no tool interface: programs of gcc and gfortran, by its entry points."""
import collections
import json
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import SRC, Report, app, clean_env, folder, main, receipts_agree, run, tap, trace  # noqa: E402

PROGRAM = app("openmp_gomp")
THREADS = 3

FORTRAN = """
program main
  use omp_lib
  integer :: i, total, twice
  integer :: parts(3)
  total = 0
  parts = 0
  !$omp parallel num_threads(3) private(i)
  !$omp do schedule(dynamic, 2) reduction(+:total)
  do i = 1, 20
    total = total + i
  end do
  !$omp end do
  !$omp critical (named)
  parts(omp_get_thread_num() + 1) = omp_get_num_threads()
  !$omp end critical (named)
  !$omp single
  do i = 1, 5
    !$omp task firstprivate(i) shared(total)
    !$omp atomic
    total = total + i * 100
    !$omp end task
  end do
  !$omp end single
  !$omp end parallel
  twice = 0
  !$omp parallel do num_threads(2) schedule(dynamic) reduction(+:twice)
  do i = 1, 10
    twice = twice + 2 * i
  end do
  print *, total, parts, twice
end program
"""


# The first word of the data of a parallel region with a reduction of tasks is libgomp's; tasks that are cancelled before they began do not run.
DISCARDED = """
#include <stdio.h>

int main(void)
{
	int sum = 0, ran = 0;
#pragma omp parallel num_threads(2) reduction(task, +: sum)
#pragma omp single
	for (int i = 0; i < 10; i++) {
#pragma omp task in_reduction(+: sum)
		sum += i;
	}
#pragma omp parallel num_threads(1)
#pragma omp single
#pragma omp taskgroup
	for (int i = 0; i < 20; i++) {
#pragma omp task shared(ran)
		{
			ran++;
#pragma omp cancel taskgroup
		}
	}
	printf("%d, %s\\n", sum, ran < 20 ? "tasks were discarded" : "all tasks ran");
	return 0;
}
"""

# The second thread creates a task while the first one waits for it within dlopen(), so with the loader's lock.
CONSTRUCTOR = """
#include <omp.h>
#include <stdio.h>

__attribute__((constructor)) static void begin(void)
{
	int ran = 0;
#pragma omp parallel num_threads(2)
	if (omp_get_thread_num() == 1) {
#pragma omp task shared(ran)
		ran = 1;
	}
	printf("ran %d\\n", ran);
}
"""
LOADER = """
#include <dlfcn.h>

int main(int argc, char **argv)
{
	return argc < 2 || !dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
}
"""

# A program that calls library_main() of the library that it is given.
CALLER = """
#include <dlfcn.h>

int main(int c, char **v)
{
	int (*f)(int, char **) = (int (*)(int, char **))dlsym(dlopen(v[1], RTLD_NOW | RTLD_LOCAL), "library_main");
	return f ? f(c - 1, v + 1) : 1;
}
"""

# A child whose first call that could be recorded is a parallel region.
FORKED = """
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	int sum = 0;
	if (!fork()) {
#pragma omp parallel num_threads(2) reduction(+: sum)
		sum++;
		_exit(sum);
	}
	wait(&sum);
	return WEXITSTATUS(sum) != 2;
}
"""


def record(*command, options=(), status=0, sources="openmp"):
    """Record a program. A test fails if its output, status or report is not as it should be. Return the report."""
    path = os.path.join(folder(), "report.rep")
    env = clean_env(OMP_CANCELLATION="true" if command[-1] in ("constructs", "discarded") else "false")
    plain = run(list(command), env=env)
    traced = trace("run", "-t", sources, "-o", path, *options, "--", *command, env=env)
    report = Report(path)
    tap.ok(traced.status == status and traced.out == plain.out and report.check().status == 0 and receipts_agree(report) is None and not report.dropped(),
           f"{command[-1]}: output and status are those of the untraced program, and the report is sound", f"{traced}\n{plain}")
    return report


def regions(report):
    return report.events("--kind", "openmp")


def count(events):
    return collections.Counter(e["name"] for e in events)


def agree(found, wanted, name):
    wrong = {key: (found[key], number) for key, number in wanted.items() if found[key] != number}
    tap.ok(not wrong, name, f"found, wanted: {wrong}\n{found}")


CONSTRUCTS = {"Critical Region": THREADS, "Waiting to enter Critical Region": THREADS, "Waiting for Lock": THREADS + 2, "Waiting for Nested Lock": 2 * THREADS,
              "Mutex Released": 3 * THREADS + 2, "Lock Init": 2, "Lock Destroy": 2, "Sections Region": THREADS, "Loop Region": 2 * THREADS,
              "Single Region (Executor)": 1, "Single Region (Waiting)": THREADS - 1, "Ordered Region": 6, "Waiting to enter Ordered Region": 6, "Cancel": 1}


def constructs():
    report = record(PROGRAM, "constructs")
    events = regions(report)
    agree(count(events), CONSTRUCTS, "each construct is recorded as often as it is run")
    tap.ok({(e["name"], e["object"]) for e in events if e["region"] == 36} ==
           {("Loop Region", 90), ("Loop Region", 6), ("Sections Region", 2), ("Single Region (Executor)", 1), ("Single Region (Waiting)", 1)},
           "work has its number of iterations", str([e for e in events if e["region"] == 36]))
    first = next(e for e in events if e["name"] == "Parallel Region")
    tap.ok((first["parallel_id"], first["task_id"], first["object"], first["team_size"]) == (2, 1, THREADS, THREADS),
           "the first region is number 2, of task 1, with its team", str(first))
    tap.ok(str(first["code"]).startswith("exclusion (openmp_regions.c:"), "it has its function and line", str(first))
    mine = [e for e in events if e["parallel_id"] == 2 and e["name"] == "Implicit Task"]
    end = first["start_ns"] + first["duration_ns"]
    tap.ok(sorted(e["thread_number"] for e in mine) == list(range(THREADS)) and {e["team_size"] for e in mine} == {THREADS} and len({e["tid"] for e in mine}) == THREADS
           and all(first["start_ns"] <= e["start_ns"] and e["start_ns"] + e["duration_ns"] <= end for e in mine),
           "each thread has its number and its task, within the region", str(mine))
    inner = [e for e in events if e["name"] == "Parallel Region"][-1]
    team = {(e["thread_number"], e["team_size"]) for e in events if e["name"] == "Implicit Task" and e["parallel_id"] == inner["parallel_id"]}
    tap.ok(str(inner["code"]).startswith("constructs (openmp_regions.c:") and inner["team_size"] == 2 and team == {(0, 2), (1, 2)},
           "a target region on the host has the parallel region of its team", f"{inner} {team}")
    info = trace("info", "-v", report.path)
    tap.ok(info.out.count(b"no interface for tools (OMPT)") == 1, "the report says what cannot be seen", info.out.decode()[-900:])
    tap.ok(not report.events("--kind", "function_call"), "calls of libgomp are not recorded as such")


def tasks():
    report = record(PROGRAM, "tasks")
    events = regions(report)
    created = {e["other_task_id"] for e in events if e["name"] == "Explicit Task Creation"}
    # fibonacci(10) creates two tasks for each of its 88 calls with an argument of 2 or more; then 5 and 1. Those of taskloop are not seen.
    tap.ok(len(created) == 176 + 5 + 1, "each task is created once", str(len(created)))
    parts = [e for e in events if e["name"] == "Explicit Task"]
    tap.ok({e["task_id"] for e in parts} == created and {e["parallel_id"] for e in parts} == {2}, "each task runs, in the region that created it", str(parts[:3]))
    spans = collections.defaultdict(list)
    for e in parts:
        spans[e["tid"]].append((e["start_ns"], e["start_ns"] + e["duration_ns"]))
    overlaps = sum(after[0] < before[1] - 1 for s in spans.values() for before, after in zip(sorted(s), sorted(s)[1:]))
    tap.ok(not overlaps, "a thread runs one task at a time", str(overlaps))
    agree(count(events), {"Task Schedule": 2 * len(created), "Taskloop Region": 1}, "switches of tasks and the taskloop are recorded")


def nested():
    events = regions(record(PROGRAM, "nested"))
    outer = [e for e in events if e["name"] == "Parallel Region"]
    inner = [e for e in outer if e["task_id"] != 1]
    tap.ok(len(outer) == 3 and len(inner) == 2 and {e["team_size"] for e in outer} == {2}, "nested regions have their parent tasks and teams", str(outer))
    teams = collections.Counter(e["parallel_id"] for e in events if e["name"] == "Implicit Task")
    tap.ok(sorted(teams.values()) == [2, 2, 2], "each team has two threads", str(teams))


def killed():
    events = regions(record(PROGRAM, "killed", status=-signal.SIGKILL))
    agree(count(e for e in events if e["flags"] == ["unfinished"]), {"Parallel Region": 1, "Implicit Task": THREADS, "Critical Region": 1},
          "regions that a kill left open are in the report")


def rules_and_chains():
    report = record(PROGRAM, "imbalance", options=("--openmp-backtrace-threshold", "0"))
    chains = [e for e in regions(report) if e["name"] == "Parallel Region" and "imbalance" in str(e.get("callchain"))]
    tap.ok(len(chains) == 20, "regions have the callchain of the construct", str(regions(report)[:2]))
    found = {rule["rule"]: rule["rows"] for rule in json.loads(trace("analyze", "-r", "openmp_imbalance,openmp_barriers", "-f", "json", report.path).out)}
    row = found["openmp_imbalance"][0] if found["openmp_imbalance"] else {}
    tap.ok(row.get("Regions") == 20 and row.get("Threads") == THREADS and str(row.get("Region")).startswith("imbalance (openmp_regions.c:"),
           "the rule finds uneven work, and names the region", str(found))
    waits = found["openmp_barriers"][0] if found["openmp_barriers"] else {}
    tap.ok(waits.get("Waits") == 20 * THREADS, "workers wait from the end of their task to that of the region", str(found))


def other_sources():
    """Without -t openmp nothing is recorded; with --functions, calls are recorded as well."""
    tap.ok(not regions(record(PROGRAM, "nested", sources="osrt")), "off by default")
    report = record(PROGRAM, "nested", options=("--functions", "libgomp*:GOMP_parallel"))
    calls = report.events("--kind", "function_call")
    tap.ok(len(calls) == 3 and count(regions(report))["Parallel Region"] == 3, "calls and regions are recorded side by side", str(calls))


def other_builds():
    """Calls through addresses instead of a procedure linkage table, and a library that is loaded later."""
    work = folder()
    program, library, loader = (os.path.join(work, name) for name in ("noplt", "library.so", "loader"))
    build = ["gcc", "-O1", "-g", "-fopenmp", "-I", SRC, os.path.join(SRC, "tests/apps/openmp_regions.c")]
    subprocess.run(build + ["-fno-plt", "-Wl,-z,now", "-o", program], check=True)
    agree(count(regions(record(program, "constructs"))), CONSTRUCTS, "a program without PLT is recorded")
    subprocess.run(build + ["-shared", "-fPIC", "-Dmain=library_main", "-o", library], check=True)
    with open(loader + ".c", "w", encoding="ascii") as file:
        file.write(CALLER)
    subprocess.run(["gcc", "-o", loader, loader + ".c"], check=True)
    agree(count(regions(record(loader, library, "constructs"))), CONSTRUCTS, "a library that is loaded later is recorded")


def of_wheels():
    """A copy of libgomp of another name, as wheels of PyPI have it (PyTorch, scikit-learn), beside the library that calls it."""
    work = folder()
    name, loader = "libgomp-0123abcd.so.1.0.0", os.path.join(work, "loader")
    real = run(["gcc", "-print-file-name=libgomp.so.1"], env=clean_env()).out.decode().strip()
    copy, part, library = (os.path.join(work, each) for each in (name, "part.o", "library.so"))
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "/dev/null", f"-Wl,-soname,{name}", "-o", copy], check=True)
    subprocess.run(["gcc", "-O1", "-g", "-fopenmp", "-fPIC", "-I", SRC, "-Dmain=library_main", "-c", os.path.join(SRC, "tests/apps/openmp_regions.c"), "-o", part], check=True)
    subprocess.run(["gcc", "-shared", part, "-Wl,--no-as-needed", copy, "-Wl,-rpath," + work, "-o", library], check=True)
    shutil.copyfile(real, copy)
    with open(loader + ".c", "w", encoding="ascii") as file:
        file.write(CALLER)
    subprocess.run(["gcc", "-o", loader, loader + ".c"], check=True)
    agree(count(regions(record(loader, library, "constructs"))), CONSTRUCTS, "a libgomp of a wheel is recorded")


def discarded():
    """Check that tasks are discarded as without the tracer, and regions that reduce over tasks work."""
    program = os.path.join(folder(), "discarded")
    with open(program + ".c", "w", encoding="ascii") as file:
        file.write(DISCARDED)
    subprocess.run(["gcc", "-O1", "-fopenmp", "-o", program, program + ".c"], check=True)
    report = record(program, "discarded")
    out = run([program], env=clean_env(OMP_CANCELLATION="true")).out
    tap.ok(out == b"45, tasks were discarded\n" and count(regions(report))["Explicit Task Creation"] == 30, "their creation is recorded", (out, count(regions(report))))


def built(name, text, *flags):
    """Build a program of C. Return its path."""
    path = os.path.join(folder(), name)
    with open(path + ".c", "w", encoding="ascii") as file:
        file.write(text)
    subprocess.run(["gcc", "-O1", "-g", "-fopenmp", *flags, "-o", path, path + ".c"], check=True)
    return path


def constructor():
    """Nothing takes the loader's lock at a call: another thread may hold it and wait for the caller."""
    report = record(built("loader", LOADER, "-fno-openmp"), built("library.so", CONSTRUCTOR, "-shared", "-fPIC"))
    agree(count(regions(report)), {"Parallel Region": 1, "Explicit Task Creation": 1, "Explicit Task": 1}, "regions of a constructor are recorded")


def forked():
    for source in ("openmp", "openmp,osrt"):
        events = regions(record(built("forked", FORKED), sources=source))
        agree(count(events), {"Parallel Region": 1, "Implicit Task": 2}, f"the first region of a forked child is recorded (-t {source})")


def fortran():
    if not shutil.which("gfortran"):
        tap.skip("a program of Fortran", "gfortran is not installed")
        return
    work = folder()
    program = os.path.join(work, "fortran")
    with open(program + ".f90", "w", encoding="ascii") as file:
        file.write(FORTRAN)
    subprocess.run(["gfortran", "-O1", "-g", "-fopenmp", "-o", program, program + ".f90"], check=True)
    events = regions(record(program))
    agree(count(events), {"Parallel Region": 2, "Critical Region": 3, "Explicit Task Creation": 5, "Single Region (Executor)": 1},
          "a program of Fortran is recorded")
    tap.ok(len({e["task_id"] for e in events if e["name"] == "Implicit Task"}) == 5, "each thread of its teams has a task")
    tap.ok({e["object"] for e in events if e["name"] == "Loop Region"} == {20, 10}, "its loops have their iterations", str(events))
    tap.ok({str(e["code"]).split(":")[0] for e in events if e["name"] == "Parallel Region"} == {"MAIN__ (fortran.f90"}, "its regions have function and line", str(events[:1]))


main(constructs, tasks, nested, killed, rules_and_chains, other_sources, other_builds, of_wheels, discarded, constructor, forked, fortran)
