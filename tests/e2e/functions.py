#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Calls of library functions (--functions): a program with all kinds of arguments, results and ways out of a call; real libraries; every function of every
library of programs that nobody here wrote."""
import collections
import csv
import io
import json
import os
import platform
import shutil
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import SRC, Report, app, clean_env, folder, main, receipts_agree, run, tap, trace  # noqa: E402

# The calls of tests/apps/functions.cpp. A call that throws, jumps or ends its thread is abandoned: the next one, or the thread's end, closes it.
WHOLE = {"f_ints": 2, "f_doubles": 1, "f_big_result": 1, "f_big_argument": 1, "f_two_doubles": 1, "f_mixed": 1, "f_int128": 1, "f_long_double": 1,
         "f_vectors": 1, "f_variadic": 1, "f_call": 3001, "f_fork": 1, "f_count": 6}
ABANDONED = {"f_call": 20 * (1 + 2 + 3 + 4 + 5), "f_jump": 50, "f_exit_thread": 4}


def record(command, *options, status=0):
    """Record a command; return its output and its report. A test fails if its status, or the report, is not as it should be."""
    path = os.path.join(folder(), "report.rep")
    result = trace("run", "-o", path, *options, "--", *command, env=clean_env(CCACHE_DISABLE=None))
    report = Report(path)
    tap.ok(result.status == status and report.exists() and report.check().status == 0 and receipts_agree(report) is None and not report.dropped(),
              f"{os.path.basename(command[0])} is recorded with {' '.join(options)[:60]}", f"status {result.status}\n{result.err!r}")
    return result.out, report


def calls(report):
    return report.events("--kind", "function_call")


def receipt(report):
    return collections.Counter() + sum((collections.Counter(r["functions"]) for r in report.receipts() if "functions" in r), collections.Counter())


def ways_of_a_call(name):
    program = app(name)
    plain = run([program])
    out, report = record([program], "--functions", "libfunctions.so:f_*")
    tap.ok(out == plain.out and plain.out.count(b"\n") == 17, f"{name}: the output is that of the untraced program", f"{out!r}")
    found = calls(report)
    whole = collections.Counter(c["function"] for c in found if not c["flags"])
    left = collections.Counter(c["function"] for c in found if "abandoned" in c["flags"])
    tap.ok(whole == WHOLE and left == ABANDONED, f"{name}: each call is recorded once", f"{whole}\n{left}")
    by_name = {c["function"]: c for c in found if not c["flags"]}
    tap.ok(int(str(by_name["f_ints"]["return_word"]), 0) in (385, 1) and {c["library"] for c in found} == {"libfunctions.so"},
              f"{name}: return word and library", str(by_name["f_ints"]))
    levels = collections.Counter(c["level"] for c in found if c["function"] == "f_call" and not c["flags"])
    tap.ok([levels[n] for n in range(255)] == [1] * 255 and levels[255] == 3001 - 255, f"{name}: calls have their levels", str(levels)[:200])
    counts = receipt(report)
    tap.ok(counts["patched"] >= counts["functions"] >= len(WHOLE | ABANDONED) and not counts["unresolved"], f"{name}: the receipt counts functions and slots",
              str(counts))
    return report


def lazy():
    report = ways_of_a_call("functions")
    result = trace("stats", "-r", "function_sum", "-f", "csv", report.path)
    lines = [line for line in result.out.decode().splitlines() if "," in line]
    rows = {row["Name"]: row for row in csv.DictReader(io.StringIO("\n".join(lines)))}
    events = collections.defaultdict(list)
    for call in calls(report):
        events[call["function"]].append(call["duration_ns"])
    right = all(int(rows[name]["Num Calls"]) == len(times) and int(rows[name]["Total Time (ns)"]) == sum(times) and
                int(rows[name]["Min (ns)"]) == min(times) and int(rows[name]["Max (ns)"]) == max(times) for name, times in events.items())
    tap.ok(right and rows.keys() == events.keys(), "function_sum agrees with the events", result.out.decode()[:500])
    database = os.path.join(folder(), "a.sqlite")
    trace("export", "-t", "sqlite", "-o", database, report.path)
    with sqlite3.connect(database) as connection:
        rows = dict(connection.execute("SELECT s.value, count(*) FROM LIBTRACE_FUNCTION_CALL AS f JOIN StringIds AS s ON s.id = f.functionId GROUP BY 1"))
    tap.ok(rows == {name: len(times) for name, times in events.items()}, "the SQLite export has each call", str(rows))


def bound_at_start():
    ways_of_a_call("functions_now")


def by_flags(found, flag):
    return collections.Counter(c["function"] for c in found if c["flags"] == ([flag] if flag else []))


def hard_cases():
    """Vectors on the stack, rounding modes, cancellation, fibers, plugins with copies of a library, unloaded code: the program prints what it got."""
    program = app("functions_hard")
    plain = run([program])
    for pattern in ("libfunctions*:*", "*:*"):
        out, report = record([program], "--functions", pattern)
        tap.ok(out == plain.out and plain.out.count(b"\n") > 14, f"functions_hard, {pattern}: the output is that of the untraced program", f"{out!r}")
        found = calls(report)
        whole, left = by_flags(found, None), by_flags(found, "abandoned")
        tap.ok(whole["h_call"] == 18 and left["h_call"] == 22 and whole["f_ints"] == 24 and whole["h_divide"] == 8,
                  f"functions_hard, {pattern}: each call is recorded once", f"{whole}\n{left}")
        # Two plugins loaded with RTLD_DEEPBIND, and twice after that: whose f_identity() and f_which() they get is not known, nor the second f_which() before.
        # The last one is that of a plugin that was not linked with the library.
        tap.ok(receipt(report)["unresolved"] == 10, f"functions_hard, {pattern}: slots that are left alone are counted", str(receipt(report)))


def little_stack():
    """Where there is too little stack to record a call, the program makes it all the same, and it counts as dropped."""
    program = app("functions_stack")
    plain = run([program])
    path = os.path.join(folder(), "report.rep")
    result = trace("run", "-o", path, "-t", "none", "--functions", "libfunctions.so:*", "--", program)
    tap.ok(result.status == plain.status == 0 and result.out == plain.out, "functions_stack: runs as untraced", f"{plain} {result}")
    report = Report(path)
    made, held = int(plain.out.split()[0]), len(calls(report)) if report.exists() else -1
    tap.ok(report.exists() and report.check().status == 0 and receipts_agree(report) is None and 22 <= held and held + report.dropped() == made,
           "functions_stack: each call is recorded or counted as dropped", f"made {made}, in the report {held}, dropped {report.dropped() if report.exists() else '?'}")


def addresses():
    """Calls by addresses that the program takes are not seen: the receipt says how many functions that are."""
    program = app("functions_noplt")
    plain = run([program])
    out, report = record([program], "--functions", "libfunctions.so:f_*")
    counts = receipt(report)
    names = {c["function"] for c in calls(report)}
    tap.ok(out == plain.out and names <= {"f_count"} and counts["addresses"] >= 14, "functions_noplt: imports of addresses are counted",
              f"{counts} {names}")
    noplt = trace("run", "-f", "true", "-o", report.path, "--functions", "libfunctions.so:f_ints,libfunctions.so:f_none", "--", program)
    tap.ok(b"f_none' matches no function" in noplt.err and b"f_ints'" not in noplt.err, "a pattern that matches only such functions matches", noplt.err)
    out, report = record([program], "--functions", "libfunctions.so:f_*")
    result = trace("info", "-v", report.path)
    tap.ok(b"imports of an address (its calls are not recorded)" in result.out, "info says that their calls are not recorded", result.out.decode()[-600:])


def looked_up():
    """Functions whose addresses the program got from dlsym(), called from several threads, and from code without unwind tables."""
    program = app("functions_looked_up")
    command = [program, os.path.dirname(program)]
    plain = run(command)
    if plain.status == 77:
        tap.skip("functions that are looked up", "no libfunctions.so")
        return
    for pattern in ("libfunctions*:*", "*:*"):
        out, report = record(command, "--functions", pattern)
        found = collections.Counter(c["function"] for c in calls(report))
        wanted = {"f_ints": 1, "f_big_argument": 1, "f_variadic": 1, "f_many": 1, "f_identity": 800, "f_which": 800}
        tap.ok(out == plain.out and plain.out.count(b"\n") == 7, f"functions_looked_up, {pattern}: the output is that of the untraced program", f"{out!r}")
        tap.ok(wanted.items() <= found.items() and receipt(report)["looked_up"] >= 1604, f"functions_looked_up, {pattern}: each call is recorded", f"{found} {receipt(report)}")
    _, report = record(command, "--functions", "libz.so*:*")
    tap.ok(not receipt(report)["looked_up"], "functions that no pattern selects are given as they are", str(receipt(report)))


def build(place, name, text, *options):
    """Build a program, or a library with -shared, of the text."""
    path = os.path.join(place, name)
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run([os.environ.get("CC", "gcc"), "-w", "-o", path, path + ".c", *options], check=True)
    return path


LIBSAME = "int f_one(void) { return 1; }\nint f_two(void) { return 2; }\n"


def build_same(place):
    return build(place, "libsame.so", LIBSAME, "-shared", "-fPIC", "-Wl,-soname,libsame.so"), "-Wl,-rpath," + place


SAME_ADDRESS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char path[4096];
	static void *in_child;
	strcat(strcpy(path, argv[1]), "/libsame.so");
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *before = dlsym(library, "f_one");
	strcat(strcpy(path, argv[1]), "/libtaker.so");
	dlopen(path, RTLD_NOW | RTLD_LOCAL);
	pid_t child = vfork();
	if (!child) {
		in_child = dlsym(library, "f_two");
		_exit(0);
	}
	int (*one)(void) = dlsym(library, "f_one"), (*two)(void) = dlsym(library, "f_two");
	printf("%d %d %d\\n", before == (void *)one, in_child == (void *)two, one() + two());
	return 0;
}
"""


def same_address():
    """All lookups of a function return one address, also after a module that imports the address was loaded, or the first one was in a vfork() child."""
    place = folder()
    build(place, "libtaker.so", "int f_one(void);\nvoid *taken(void) { return (void *)f_one; }\n", "-shared", "-fPIC", *build_same(place))
    out, report = record([build(place, "same", SAME_ADDRESS, "-ldl"), place], "--functions", "libsame.so:*")
    tap.ok(out == b"1 1 3\n" and [c["function"] for c in calls(report)] == ["f_one"], "each lookup of a function returns the same address", f"{out} {calls(report)}")


def no_exports():
    """Calls by a library that exports nothing, of which GNU ld writes an empty hash table, and whose entries are not bound yet."""
    place = folder()
    with open(os.path.join(place, "none.map"), "w", encoding="utf-8") as file:
        file.write("{ local: *; };\n")
    same = build_same(place)
    quiet = build(place, "libquiet.so", "int f_one(void);\n__attribute__((constructor)) static void start(void) { f_one(); }\n", "-shared", "-fPIC", *same,
                  "-Wl,-z,lazy,--version-script=" + os.path.join(place, "none.map"))
    _, report = record([build(place, "main", "int main(void) { return 0; }\n", "-Wl,--no-as-needed", quiet, *same)], "--functions", "libsame.so:*")
    tap.ok([c["function"] for c in calls(report)] == ["f_one"], "the calls of a library that exports nothing are recorded", f"{calls(report)} {receipt(report)}")


# In the middle of a lookup, when our library has been left for the start-up code of the program, a handler looks up, or forks.
HANDLER = """
#include "stepping.h"
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
typedef int (*f)(void);
void _init(void);
static volatile int mode, stepping;
static volatile f nested;
static volatile pid_t child;
static void on_step(int number, siginfo_t *info, void *context)
{
	ucontext_t *at = context;
	int now = mode;
	step_end(at);
	if (now && at->uc_mcontext.gregs[REG_RIP] == (greg_t)_init) {
		mode = 0;
		if (now == 1)
			nested = (f)dlsym(RTLD_DEFAULT, "f_two");
		else
			child = fork();
	}
	if (stepping)
		step_next(at);
}
static f found(int what)
{
	mode = what;
	stepping = 1;
	STEP_TRAP();
	f one = (f)dlsym(RTLD_DEFAULT, "f_one");
	stepping = 0;
	return one;
}
int main(void)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	int status = 0;
	sigaction(SIGTRAP, &action, NULL);
	f one = found(1);
	printf("%d %d %d\\n", mode, one ? one() : -1, nested ? nested() : -1);
	fflush(stdout);
	child = -1;
	one = found(2);
	if (!child)
		_exit(one ? one() : 77);
	waitpid(child, &status, 0);
	printf("%d %d %d\\n", mode, one ? one() : -1, WEXITSTATUS(status));
	return 0;
}
"""


def lookup_interrupted():
    """A lookup finds its function if a signal handler looks up another one in between, or forks: then both processes do."""
    place = folder()
    program = build(place, "handler", HANDLER, "-I" + os.path.join(SRC, "tests/apps"), "-Wl,--no-as-needed", *build_same(place), "-ldl")
    out, report = record([program], "--functions", "libsame.so:*")
    found = collections.Counter(c["function"] for c in calls(report))
    tap.ok(out == b"0 1 2\n0 1 1\n" and found == {"f_one": 3, "f_two": 1}, "a lookup that a handler interrupts finds its function", f"{out} {found}")


# The same source is each of the libraries, with another number, and a plugin without start-up code, whose lookups cannot be recorded.
BY_CALLER_LIBRARY = """
#define _GNU_SOURCE
#include <dlfcn.h>
int f_where(void) { return NUMBER; }
void *NAME(default)(const char *name) { void *found = dlsym(RTLD_DEFAULT, name); return found; }
void *NAME(next)(const char *name) { void *found = dlsym(RTLD_NEXT, name); return found; }
void *NAME(version)(void *handle, const char *name, const char *version) { void *found = dlvsym(handle, name, version); return found; }
int f_old(void) { return 10 * NUMBER; }
int f_new(void) { return 10 * NUMBER + 1; }
#ifdef VERSIONS
__asm__(".symver f_old, f_versioned@V1");
__asm__(".symver f_new, f_versioned@@V2");
#endif
#ifdef DEEP
int f_only_below(void) { return 77; }
#endif
"""

BY_CALLER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
typedef int (*f)(void);
void *first_default(const char *), *first_next(const char *), *second_default(const char *), *second_next(const char *);
void *first_version(void *, const char *, const char *), *second_version(void *, const char *, const char *);
static void show(const char *what, void *found)
{
	printf("%s %d\\n", what, found ? ((f)found)() : -1);
}
int main(int argc, char **argv)
{
	char path[4096];
	void *first = dlopen("libfirst.so", RTLD_NOW | RTLD_NOLOAD), *second = dlopen("libsecond.so", RTLD_NOW | RTLD_NOLOAD);
	show("main default", dlsym(RTLD_DEFAULT, "f_where"));
	show("main next", dlsym(RTLD_NEXT, "f_where"));
	show("first default", first_default("f_where"));
	show("first next", first_next("f_where"));
	show("second default", second_default("f_where"));
	show("second next", second_next("f_where"));
	printf("error %s\\n", dlerror() ? "yes" : "no");
	show("default 1", dlvsym(RTLD_DEFAULT, "f_versioned", "V1"));
	show("default 2", dlvsym(RTLD_DEFAULT, "f_versioned", "V2"));
	show("handle 1", dlvsym(second, "f_versioned", "V1"));
	show("first next 1", first_version(RTLD_NEXT, "f_versioned", "V1"));
	show("second next 1", second_version(RTLD_NEXT, "f_versioned", "V1"));
	show("no version", first_version(RTLD_DEFAULT, "f_versioned", "V3"));
	void *one = dlsym(first, "f_where"), *two = dlsym(second, "f_where");
	printf("equal %d %d %d %d %d\\n", one == dlsym(RTLD_DEFAULT, "f_where"), one == dlsym(RTLD_NEXT, "f_where"), one == second_default("f_where"),
	       one == first_default("f_where"), two == first_next("f_where"));
	printf("equal %d %d\\n", dlvsym(second, "f_versioned", "V2") == dlsym(second, "f_versioned"),
	       dlvsym(second, "f_versioned", "V1") == dlsym(second, "f_versioned"));
	for (int bare = 0; bare < 2; bare++) {
		snprintf(path, sizeof(path), "%s/%s", argv[1], bare ? "libbare.so" : "libplugin.so");
		void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL), *(*find)(const char *) = dlsym(plugin, bare ? "bare_default" : "plugin_default"),
		     *(*next)(const char *) = dlsym(plugin, bare ? "bare_next" : "plugin_next");
		show("plugin default", find("f_where"));
		show("plugin below", find("f_only_below"));
		show("plugin next", next("f_where"));
		if (!bare)
			printf("equal %d\\n", find("f_where") == dlsym(RTLD_DEFAULT, "f_where"));
	}
	show("main below", dlsym(RTLD_DEFAULT, "f_only_below"));
	return 0;
}
"""


def by_caller():
    """Lookups that depend on the module that makes them find what they find untraced, and their calls are recorded; versions, too."""
    place = folder()
    cc = os.environ.get("CC", "gcc")
    texts = {"library.c": BY_CALLER_LIBRARY, "main.c": BY_CALLER, "version.map": "V1 { };\nV2 { } V1;\n"}
    for name, text in texts.items():
        with open(os.path.join(place, name), "w", encoding="utf-8") as file:
            file.write(text)
    shared = ["-shared", "-fPIC", "-L" + place, "-Wl,-rpath," + place]
    for number, (name, more) in enumerate((("deep", ["-DDEEP"]), ("first", []), ("second", ["-DVERSIONS", "-Wl,--version-script=" + os.path.join(place, "version.map")]),
                                           ("plugin", ["-Wl,--no-as-needed", "-ldeep"]), ("bare", ["-nostartfiles", "-Wl,--no-as-needed", "-ldeep"]))):
        subprocess.run([cc, "-w", "-O1", "-o", os.path.join(place, f"lib{name}.so"), os.path.join(place, "library.c"), f"-DNUMBER={number}", f"-DNAME(x)={name}_##x", *shared,
                        f"-Wl,-soname,lib{name}.so", *more], check=True)
    program = os.path.join(place, "main")
    subprocess.run([cc, "-w", "-o", program, os.path.join(place, "main.c"), "-L" + place, "-Wl,-rpath," + place, "-lfirst", "-lsecond"], check=True)
    plain = run([program, place])
    for pattern in ("libfirst.so:*,libsecond.so:*,libdeep.so:*", "*:*"):
        out, report = record([program, place], "--functions", pattern)
        tap.ok(out == plain.out and out.count(b"\n") == 23, f"lookups by caller, {pattern}: as untraced", f"{plain.out.decode()}\n{out.decode()}")
        found = collections.Counter((c["library"], c["function"]) for c in calls(report) if c["function"].startswith("f_"))
        wanted = {("libfirst.so", "f_where"): 5, ("libsecond.so", "f_where"): 1, ("libsecond.so", "f_versioned"): 4, ("libdeep.so", "f_only_below"): 1}
        tap.ok(wanted.items() <= found.items(), f"lookups by caller, {pattern}: calls are recorded", f"{found}")


def no_such_function():
    _, report = record([app("functions")], "--functions", "libfunctions.so:nothing*,libnone.so:*")
    tap.ok(not calls(report) and not receipt(report)["patched"] and receipt(report)["slots"], "the receipt says that nothing was patched",
              str(receipt(report)))
    result = trace("info", report.path)
    tap.ok(b"0 matched" in result.out and b"record them with --trace=osrt" in result.out, "info says so, too", result.out.decode()[-600:])
    path = os.path.join(folder(), "r.rep")
    said = trace("run", "-o", path, "--functions", "libnone.so:*,lib*.so:f_ints,libfunctions.so:nothing(int a, _)", "--", "sh", "-c", f"{app('functions')}; :").err.decode()
    notes = [line for line in said.splitlines() if "matches no function" in line]
    tap.ok(len(notes) == 2 and "'libnone.so:*'" in notes[0] and "'libfunctions.so:nothing(int a, _)'" in notes[1], "trace run names the patterns that no function of any process matches", said)
    tap.ok(b"matches no function" not in trace("run", "-f", "true", "-o", path, "--functions", "libfunctions.so:f_*", "--", app("functions")).err, "and none that one does")
    _, report = record([app("functions")])
    tap.ok(not calls(report) and not receipt(report), "nothing is recorded, or counted, unless it was asked for")


STATIC = """
__attribute__((noinline)) int f_linked(int i) { __asm__ volatile(""); return i; }
__attribute__((noinline)) int f_other(int i) { __asm__ volatile(""); return i; }
__attribute__((noinline)) int cublasCreate_v2(int i) { __asm__ volatile(""); return i; }
int main(void) { return f_linked(0) + f_other(0) + cublasCreate_v2(0); }
"""


def linked_statically():
    """Functions of the program's own file are not recorded: the receipt counts those that a pattern names, with one for an example."""
    place = folder()
    program, path = build(place, "static", STATIC), os.path.join(place, "r.rep")
    trace("run", "-o", path, "--functions", "libfunctions.so:f_link*", "--", program)
    process = Report(path).info()["processes"][0]
    said = trace("info", path).out.decode()
    tap.ok((process.get("static_functions"), process.get("static_example")) == (1, "f_linked") and "linked statically: 1 function of the names to record, such as f_linked," in said,
           "functions that are linked statically are in the receipt", (process, said))
    trace("run", "-f", "true", "-o", path, "--functions", "libfunctions.so:f_link*", "--", "sh", "-c", f"env -u LIBTRACE_FUNCTIONS {program}; {program}; :")
    found = [("functions" in p["receipt"], p.get("static_functions")) for p in Report(path).info()["processes"] if p.get("executable") == program]
    tap.ok(found == [(False, None), (True, 1)], "also if functions were not recorded in an earlier process of the same file", found)
    for pattern in ("libfunctions.so:f_nothing*", "static:f_link*", "libfunctions.so:*", "libfunctions.so:f_*"):
        trace("run", "-f", "true", "-o", path, "--functions", pattern, "--", program)
        tap.ok("static_functions" not in Report(path).info()["processes"][0] and Report(path).check().status == 0, f"{pattern} names no such function, or any function")
    trace("run", "-f", "true", "-o", path, "-t", "osrt,cublas", "--", program)
    process = Report(path).info()["processes"][0]
    tap.ok((process.get("static_functions"), process.get("static_example")) == (1, "cublasCreate_v2"), "so are those of a library of --trace", process)
    with open(program, "r+b") as file:
        file.seek(0x28)  # e_shoff
        file.write(b"\xf8\xff\xff\xff\xff\xff\xff\x7f")
    trace("run", "-f", "true", "-o", path, "--functions", "libfunctions.so:f_link*", "--", program)
    tap.ok("static_functions" not in Report(path).info()["processes"][0], "a file whose sections are nowhere has none")


# Kills a program that waits in a call. The program has said that it is ready before it calls, so its sleep is looked for, too.
KILLER = """
import subprocess, sys, time
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
p.stdout.readline()
while open(f'/proc/{p.pid}/syscall').read().split()[0] != '34':  # pause
    time.sleep(0.01)
p.kill()
p.wait()
"""


def ends():
    for mode, names in (("wait", ["f_call", "f_wait"]), ("exit", ["f_call", "f_exit"])):
        command, status = [app("functions"), mode], 5
        if mode == "wait":
            command, status = [sys.executable, "-c", KILLER, app("functions"), "wait"], 0
        _, report = record(command, "--functions", "libfunctions.so:f_*", status=status)
        found = [(c["function"], c["level"], c["flags"]) for c in sorted(calls(report), key=lambda c: c["level"])]
        tap.ok(found == [(name, level, ["unfinished"]) for level, name in enumerate(names)], f"{mode}: calls that never return are recorded", str(found))


def callchains():
    _, report = record([app("functions")], "--functions", "libfunctions.so:f_ints", "--functions-backtrace-threshold", "0")
    chains = [c["callchain"] for c in calls(report)]
    functions = [[f["function"] for f in chain] for chain in chains if chain]
    tap.ok(functions and any("main" in " ".join(map(str, f)) for f in functions), "calls have callchains by threshold", str(functions))


INTS = "libfunctions.so:f_ints(_, long b, _, int d, _, _, ulong g, h, _, ptr j)"


def arguments():
    """Words of arguments, in registers and on the stack: of calls that return, are left, and never return."""
    _, report = record([app("functions")], "--functions", INTS, "--functions", "libfunctions.so:f_call(_, int value),libfunctions.so:f_i*(a),libfunctions.so:f_*")
    found = calls(report)
    ints = [c["arguments"] for c in found if c["function"] == "f_ints"]
    tap.ok({"b": 2, "d": 4, "g": 7, "h": "0x8", "j": "0xa"} in ints and len(ints) == 2, "words in registers and on the stack, by name", str(ints))
    tap.ok({json.dumps(c["arguments"]) for c in found if c["function"] == "f_int128"} and not any(c["arguments"] for c in found if c["function"] == "f_mixed"),
              "the first pattern with a prototype applies; without one nothing is kept")
    deep = [c["arguments"]["value"] for c in found if c["function"] == "f_call" and not c["flags"] and c["level"] < 255]
    tap.ok(sorted(deep) == list(range(3000 - 254, 3001)), "each of the nested calls has its own words", str(deep)[:200])
    left = collections.Counter(c["arguments"].get("value") for c in found if c["function"] == "f_call" and "abandoned" in c["flags"])
    tap.ok(None not in left and len(left) > 1, "calls that were left have their words", str(left))
    text = trace("dump", "--kind", "function_call", report.path).out
    tap.ok(b"arguments=(b=2, d=4, g=7, h=0x8, j=0xa)" in text, "dump prints the words with their names", text[:300].decode())
    _, killed = record([sys.executable, "-c", KILLER, app("functions"), "wait"], "--functions", "libfunctions.so:f_*(_, int value)")
    tap.ok([c["arguments"] for c in calls(killed) if c["function"] == "f_call"] == [{"value": 0}], "a call that never returned has its words", str(calls(killed)))
    exports(report)


def exports(report):
    """The words in the database, in the timeline and in the statistics."""
    database = os.path.join(folder(), "a.sqlite")
    trace("export", "-t", "sqlite", "-o", database, report.path)
    query = ("SELECT a.value, words, word1, word2, word3, word4, word5, word6 FROM LIBTRACE_FUNCTION_CALL AS f JOIN StringIds AS s ON s.id = f.functionId "
             "LEFT JOIN StringIds AS a ON a.id = f.argumentsId WHERE s.value = 'f_ints'")
    with sqlite3.connect(database) as connection:
        rows = connection.execute(query).fetchall()
    tap.ok((INTS[INTS.index("(") + 1:-1], 5, 2, 4, 7, 8, 10, None) in rows, "the database has the prototype and the words", str(rows))
    chrome = os.path.join(folder(), "a.json")
    trace("export", "-t", "chrome", "-o", chrome, report.path)
    with open(chrome, encoding="utf-8") as file:
        shown = [e["args"].get("arguments") for e in json.load(file)["traceEvents"] if e.get("name") == "f_ints"]
    tap.ok({"b": 2, "d": 4, "g": 7, "h": "0x8", "j": "0xa"} in shown, "the timeline shows the words", str(shown))
    result = trace("stats", "-r", "function_sum:arguments", "-f", "csv", report.path)
    tap.ok(b'"f_ints(b=2, d=4, g=7, h=0x8)"' in result.out and b"f_call(value=2999)" in result.out, "function_sum:arguments groups by words other than pointers",
              result.out.decode()[:400])


def options():
    path = os.path.join(folder(), "list")
    with open(path, "w", encoding="utf-8") as file:
        file.write("# functions\nlibfunctions.so:f_ints # one\n\nlibfunctions.so:f_doubles  (long a, _)  # two\n")
    _, report = record([app("functions")], "--functions-file", path, "--functions", "libfunctions.so:f_mixed", "--functions", "lib*.so:f_int12?")
    names = {c["function"] for c in calls(report)}
    tap.ok(names == {"f_ints", "f_doubles", "f_mixed", "f_int128"}, "patterns of options and of a file", str(names))
    for arguments, message in ((["--functions", "deflate"], b"is not LIBRARY:FUNCTION"),
                               (["--functions", "libz.so:deflate(double x)"], b"LIBRARY:FUNCTION(ARGUMENTS)"), (["--functions-file", "/nonexistent"], b"cannot open")):
        result = trace("run", *arguments, "--", "true")
        tap.ok(result.status == 2 and message in result.err, f"{arguments[0]} refuses {arguments[1]}", repr(result))


CTYPES = "import ctypes; z = ctypes.CDLL('libz.so.1'); print([z.crc32(0, b'hello', 5) for _ in range(3)])"
ZLIB = "import zlib; d = b'hello' * 10000; print(len(zlib.compress(d)), zlib.crc32(d))"
PYTHON = """
import asyncio, hashlib, sqlite3, subprocess, threading, zlib
d = b'hello' * 10000
print(len(zlib.compress(d)), hashlib.sha256(d).hexdigest())
c = sqlite3.connect(':memory:')
c.execute('create table t(a)')
c.executemany('insert into t values(?)', [(i,) for i in range(1000)])
print(c.execute('select sum(a) from t').fetchone())
for _ in range(3):
    t = threading.Thread(target=lambda: print(sum(range(1000))))
    t.start(); t.join()
print(subprocess.run(['echo', 'hi'], capture_output=True).stdout)
async def g():
    await asyncio.sleep(0.01)
    print('async')
asyncio.run(g())
"""


def system_python():
    """Return a Python interpreter that is linked with shared libraries of the system."""
    return "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


def real_libraries():
    python = system_python()
    sql = "create table t(a); insert into t values(1),(2); select sum(a) from t"
    cases = [([python, "-c", ZLIB], "libz.so*:*", "crc32"), ([python, "-c", CTYPES], "libz.so*:crc32", "crc32")]
    if shutil.which("openssl"):
        cases.append((["openssl", "dgst", "-sha256", "/bin/sh"], "libcrypto.so*:EVP_*", "EVP_"))
    if shutil.which("sqlite3"):
        cases.append((["sqlite3", ":memory:", sql], "libsqlite3.so*:sqlite3_*", "sqlite3_"))
    for command, pattern, name in cases:
        plain = run(command)
        out, report = record(command, "--functions", pattern)
        found = [c["function"] for c in calls(report)]
        if not receipt(report)["functions"]:
            tap.skip(f"{pattern}: calls recorded", f"{command[0]} has the library inside")
            continue
        tap.ok(out == plain.out and any(name in f for f in found), f"{pattern}: calls recorded, output unchanged", str(found[:20]))


def every_function():
    work = folder()
    source = os.path.join(work, "a.cpp")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <map>\n#include <string>\nint main() { std::map<std::string, int> m; m[\"a\"]++; return (int)m.size(); }\n")
    cases = [[system_python(), "-c", PYTHON], ["bash", "-c", "for i in 1 2 3; do echo $i; ls / | wc -l; done; x=$(echo in); echo $x"],
             ["git", "--version"], ["perl", "-e", "print join(',', map {$_*2} 1..10), qq(\\n)"], ["g++", "-S", "-o", "/dev/stdout", source]]
    for command in cases:
        if not shutil.which(command[0]):
            continue
        plain = run(command, env=clean_env(CCACHE_DISABLE=None))
        out, report = record(command, "--functions", "*:*", status=plain.status)
        tap.ok(out == plain.out, f"*:*: the output of {os.path.basename(command[0])} is unchanged", f"{plain.out[:200]!r}\n{out[:200]!r}")
        tap.ok(receipt(report)["modules"] > 0, f"*:*: modules of {os.path.basename(command[0])} were patched", str(receipt(report)))


if platform.machine() != "x86_64":
    print("1..0 # SKIP functions of libraries are tried on x86-64 only")
    sys.exit(0)
main(lazy, bound_at_start, hard_cases, little_stack, addresses, looked_up, same_address, no_exports, lookup_interrupted, by_caller, no_such_function, linked_statically, ends, callchains, arguments, options, real_libraries, every_function)
