#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the causes that `trace diff` names: whether the code of a function changed (hashes of compiled functions, which may move), what a kernel needs, numbers of
calls, a busier machine.
"""
import html
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys

import lib
import lib_compare as made
from lib import tap

made.enter_interpreter("causes")
import _made_database as made_database  # noqa: E402
import cuda_code  # noqa: E402
import libdevice as device  # noqa: E402
from trace_tools import code, compare, convert, fingerprint, formats, functions, profile, samples, store  # noqa: E402

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
int table[100] = {1, 2, 3};
static int limit = 7;
%(before)s
__attribute__((noinline)) int helper(int x) { return table[x %% 100] + limit++; }
__attribute__((noinline)) int solve(int n)
{
	int sum = %(start)s;
	for (int i = 0; i < n; i++) {
		sum += helper(i) * 3;
		if (sum > 100000)
			printf("%%d\\n", sum);
		switch (sum %% 7) {
		case 0: sum += limit; break;
		case 1: sum ^= n; break;
		case 2: sum -= 5; break;
		case 3: sum *= 3; break;
		case 4: sum += rand(); break;
		case 5: sum <<= 1; break;
		}
	}
	return sum;
}
int main(int argc, char **argv) { (void)argv; return solve(argc) %(more)s > 5; }
"""
GROWN = "int grown[333] = {5}; __attribute__((noinline)) int first(int a, int b) { for (int i = 0; i < a; i++) b += grown[i % 333] * a; printf(\"%d\", b); return abs(b) + getenv(\"X\")[0]; }"


def hash_of(binary, name="solve"):
    listed = subprocess.run(["nm", binary], capture_output=True, text=True, check=True).stdout.split("\n")
    address = next(int(line.split()[0], 16) for line in listed if line.endswith(f" T {name}"))
    return code.Binary(binary).hash_at(address + 3)


def hashes_survive_a_move_and_show_a_change():
    folder, compilers = lib.folder(), [c for c in ("gcc", "clang") if shutil.which(c)]
    if not compilers or not shutil.which("nm") or os.uname().machine != "x86_64":
        tap.skip("hashes of functions", "no compiler, no nm, or another processor")
        return
    versions = {"old": ("", "1", ""), "moved": (GROWN, "1", "+ first(2, argc)"), "changed": ("", "2", "")}
    for compiler in compilers:
        for level in ("-O0", "-O2"):
            found = {}
            for version, (before, start, more) in versions.items():
                binary = os.path.join(folder, version)
                subprocess.run([compiler, level, "-g", "-Wno-unused-result", "-x", "c", "-", "-o", binary], input=SOURCE % {"before": before, "start": start, "more": more}, text=True, check=True)
                found[version] = hash_of(binary)
            tap.ok(found["old"] and found["old"] == found["moved"], f"{compiler} {level}: a function that only moved has the same hash", found)
            tap.ok(found["old"] != found["changed"], f"{compiler} {level}: a constant that changed is another hash", found)
    known, build_id = code.Hashes(), code.Binary(os.path.join(folder, "old")).build_id
    tap.ok(not build_id or not known.get(os.path.join(folder, "old"), "00", 0x1200), "a file of another build has no hashes", build_id)
    hostile_files_have_none(folder)


def hostile_files_have_none(folder):
    with open(os.path.join(folder, "old"), "rb") as file:
        sound = file.read()
    chance, path, tried = random.Random(1), os.path.join(folder, "hostile"), 0
    for number in range(300):
        data = bytearray(sound[:chance.choice((len(sound), len(sound) // 2, 64, 100))])
        for _ in range(chance.randint(1, 8)):
            data[chance.randrange(min(len(data), chance.choice((64, 700, len(data)))))] = chance.choice((0, 255, 127, chance.randrange(256)))
        with open(path, "wb") as file:
            file.write(data)
        one = code.Hashes()
        binary = one.binary(path)
        tried += binary is not None
        if binary:
            one.get(path, binary.build_id, chance.choice((0, 0x1150, 0x1200, 1 << 63)))
    tap.ok(tried > 20, f"files with wrong bytes are read to the end or refused ({tried} of 300 were read)")
    os.mkfifo(path + ".pipe")
    tap.ok(code.Hashes().binary(path + ".pipe") is None and code.Hashes().binary(folder) is None and code.Hashes().binary("/none") is None, "pipes, folders and missing files have none")


def runs_of(**more):
    """Return runs with a function whose processor time is `ns`, and whose code has these facts."""
    folder, found = lib.folder(), []
    ns, code_of, calls = more.get("ns", 1e9), more.get("code", {}), more.get("calls", 50)
    chance = random.Random(more.get("seed", 1))
    for number in range(10):
        items = {}
        spent = int(ns * chance.lognormvariate(0, 0.01))
        items[profile.Key("process", "app", "", "app")] = profile.Item(1, spent, float(spent), cpu_ns=spent)
        for name, part in (("solve (app)", spent - 500_000_000), ("load (app)", 500_000_000)):
            items[profile.Key("function", "app", "", name)] = profile.Item(200, cpu_ns=part, code=dict(code_of) if name.startswith("solve") else {"hash": "x"})
        for path, count in zip((":a", ":b"), more.get("recorded", ())):
            items[profile.Key("library", "app", path, "solve (app)")] = profile.Item(count, count * 1_000_000, 1e6)
        items[profile.Key("kernel", "app", "", "gemm")] = profile.Item(calls, calls * 1_000_000, more.get("kernel_ns", 1e6) * chance.lognormvariate(0, 0.001), code=more.get("kernel", {}))
        items[profile.Key("thread", "app", "", "a")] = profile.Item(1, spent, cpu_ns=spent)
        items[profile.Key("thread", "app", "", "b")] = profile.Item(1, 1000, cpu_ns=1000)
        found.append(profile.Profile(os.path.join(folder, str(number)), items, samples=400))
    return found


def causes_of(base, other):
    c = compare.compare(runs_of(seed=1, **base), runs_of(seed=2, **other), compare.Options())
    return {f.key.name: f.cause for f in c.of("worse") if f.metric != compare.COUNT}, c


def causes_are_named():
    found, c = causes_of({"code": {"hash": "a"}}, {"code": {"hash": "b"}, "ns": 1.2e9})
    tap.ok(found.get("solve (app)") == "its code changed" and "cause: function solve (app)" in formats.text(c, False), "a function whose code changed", found)
    document = json.loads(formats.as_json(c, False))
    tap.ok(any(f["cause"] == "its code changed" for f in document["findings"]) and "its code changed" in formats.junit(c, False) and "its code changed" in formats.markdown(c, False)
           and "its code changed" in formats.as_html(c, False), "all formats have the cause")
    found, _ = causes_of({"code": {"hash": "a"}}, {"code": {"hash": "a"}, "ns": 1.2e9})
    tap.ok(found.get("solve (app)") == "same code: more work, or slower", "a function with the same code", found)
    found, _ = causes_of({}, {"code": {"hash": "a"}, "ns": 1.2e9})
    tap.ok(found.get("solve (app)") == "", "nothing is said where a side has no hash", found)
    found, _ = causes_of({"kernel": {"registers": "64", "local memory": "0 bytes", "block": "256x1x1"}},
                         {"kernel": {"registers": "96", "local memory": "120 bytes", "block": "256x1x1"}, "kernel_ns": 1.3e6})
    tap.ok(found.get("gemm") == "registers 64 -> 96; local memory 0 bytes -> 120 bytes", "a kernel that needs more registers", found)
    found, _ = causes_of({}, {"calls": 60, "kernel_ns": 1.3e6})
    tap.ok("calls +20 %" in found.get("gemm", ""), "more launches", found)
    found, _ = causes_of({"kernel": {"hash": "a"}}, {"kernel": {"hash": "a"}, "calls": 60, "kernel_ns": 1.3e6})
    tap.ok(found.get("gemm") == "same code, more work; calls +20 %", "more launches of the same code", found)
    for recorded, wanted in (((50, 65), "same code, more work; calls +15 %"), ((50, 50), "same code: more work, or slower")):
        _, c = causes_of({"code": {"hash": "a"}, "recorded": (50, 50)}, {"code": {"hash": "a"}, "ns": 1.2e9, "recorded": recorded})
        found = [f.cause for f in c.of("worse") if f.key.kind == "function"]
        tap.ok(found == [wanted], f"a sampled function whose calls were recorded, too, in two ranges: 100 and {sum(recorded)}", found)


def clocks_are_named():
    path = os.path.join(lib.folder(), "clocks.sqlite")
    c = sqlite3.connect(path)
    c.execute("CREATE TABLE LIBTRACE_GPU_SAMPLE (gpu INTEGER, smClockMhz INTEGER, utilizationPercent INTEGER, reported INTEGER, throttleReasons INTEGER)")
    c.executemany("INSERT INTO LIBTRACE_GPU_SAMPLE VALUES (?, ?, ?, 63, ?)", [(0, 210, 0, 1), (0, 1410, 90, 0), (0, 1290, 80, 4), (0, 1395, 70, 2), (1, 0, 50, 4)])
    c.execute("CREATE TABLE LIBTRACE_HOST_SAMPLE (clockMhz INTEGER, reported INTEGER)")
    c.executemany("INSERT INTO LIBTRACE_HOST_SAMPLE VALUES (?, ?)", [(3000, 2), (3400, 2), (0, 1)])
    c.commit()
    c.close()
    found = {n: v for n, v in profile.read(path, path).facts.items() if n.startswith(fingerprint.SAMPLED)}
    tap.ok(found == {f"{fingerprint.CLOCK}0": "1395", f"{fingerprint.HELD}0": "25", fingerprint.CPU_CLOCK: "3200"},
           "the clock of a GPU is that while it has work; it is throttled in a part of all samples; the mean clock of the CPUs", found)

    def named(before, after, kernel_ns, ns=1e9):
        sides = [runs_of(seed=seed, kernel={"hash": "a"}, kernel_ns=kernel, code={"hash": "b"}, ns=spent) for seed, kernel, spent in ((1, 1e6, 1e9), (2, kernel_ns, ns))]
        for side, facts in zip(sides, (before, after)):
            for p in side:
                p.facts = {fact: str(value) for fact, value in zip((f"{fingerprint.CLOCK}0", f"{fingerprint.HELD}0", fingerprint.CPU_CLOCK), facts)}
        c = compare.compare(*sides, compare.Options())
        return {f.key.kind: f.cause for f in c.of("worse", "better") if f.key.kind in ("kernel", "function", "process")}, c

    found, c = named((1410, 0), (1290, 31), 1.1e6)
    text = "clock of GPU 0 1410 -> 1290 MHz; GPU 0 throttled for 0 % -> 31 % of the run"
    tap.ok(found == {"kernel": f"same code, slower; {text}"} and not c.differences, "a lower clock of a throttled GPU is the cause", found)
    tap.ok(f"machine: {text}" in formats.text(c, False) and f"machine: {text}" in formats.markdown(c, False) and f"machine: {html.escape(text)}" in formats.as_html(c, False)
           and json.loads(formats.as_json(c, False))["machine"] == text.split("; ") and f'name="machine" value="{html.escape(text)}"' in formats.junit(c, False), "all formats have it", c.machine)
    found, c = named((1410, 31), (1410, 31), 1e6)
    tap.ok(not found and c.machine == ["GPU 0 throttled for 31 % -> 31 % of the run"], "a throttled GPU is a fact of the verdict where nothing changed", (found, c.machine))
    for before, after in (((1410,), (1400,)), ((1290,), (1410,)), ((1410, 0), (1410, 3))):
        found, _ = named(before, after, 1.1e6)
        tap.ok(found == {"kernel": "same code"}, f"what explains nothing is no cause: {before} {after}", found)
    found, c = named((1410, 0, 3400), (1410, 0, 2800), 1e6, 1.2e9)
    text = "clock of the CPUs 3400 -> 2800 MHz"
    tap.ok(found == {"function": f"same code, slower; {text}", "process": text} and c.machine == [text], "a lower clock of the CPUs is the cause of processor times", (found, c.machine))


def reports_and_stores_hold_the_facts():
    folder = lib.folder()
    database, report = os.path.join(folder, "k.sqlite"), os.path.join(folder, "x.rep")
    made.program(made.Run(1), items=3).write(database)
    c = sqlite3.connect(database)
    for column, value in (("registersPerThread", 40), ("localMemoryPerThread", 16), ("blockX", 128), ("blockY", 2), ("blockZ", 1)):
        c.execute(f"ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN {column} INTEGER DEFAULT {value}")
    c.commit()
    c.close()
    found = profile.read(database, database)
    kernel = next(i for k, i in found.items.items() if k.kind == "kernel")
    tap.ok(kernel.code == {"registers": "40", "local memory": "16 bytes", "block": "128x2x1"}, "a kernel has what its code needs", kernel)
    kept = store.Store(os.path.join(folder, "n.sqlite"))
    night = kept.night_begin("b", "h", "2026-03-01T00:00:00", None, "/none")
    kept.run_add(night, 1, None, True, "ok", 0, None, 5, "x", 1, found)
    again = next(i for k, i in kept.profiles(night)[0].items.items() if k.kind == "kernel")
    tap.ok(again.code == kernel.code and not again.more, "a store returns it", again)
    kept.close()
    lib.trace("run", "-t", "none", "--sample=process-tree", "-o", report, "--", lib.app("numeric"), "0", "2000", "100")
    convert.export(report, database + "2")
    hashes = {k.name: i.code.get("hash") for k, i in profile.read(database + "2", report).items.items() if k.kind == "function" and "(numeric)" in k.name}
    if not hashes:
        tap.skip("hashes of a recorded run", "it has no samples")
        return
    tap.ok(all(hashes.values()) and len(set(hashes.values())) == len(hashes), "functions of a recorded run have hashes", hashes)


def libraries_and_page_faults_are_named():
    tap.ok([fingerprint.library(f) for f in ("libz.so.1.2.13", "libz.so.1", "libc-2.31.so", "libpython3.11.so.1.0", "libgone.so", "app")]
           == [("libz.so.1", "1.2.13"), ("libz.so.1", "1"), ("libc.so", "2.31"), ("libpython3.11.so.1", "1.0"), ("libgone.so", ""), ("app", "")], "versions of libraries")
    tap.ok([functions.lasting_name(n) for n in ("deflate (libz.so.1.2.13)", "[libz.so.1.3.1]", "solve.constprop.0 (app)", "at (a.so.py)")]
           == ["deflate (libz.so.1)", "[libz.so.1]", "solve (app)", "at (a.so.py)"], "names of functions without the version of their library")

    def sides(version, build, ns, faults=1000):
        found = runs_of(seed=ns, ns=ns)
        for p in found:
            p.items[profile.Key("function", "app", "", f"deflate (libz.so.{version})")] = p.items.pop(profile.Key("function", "app", "", "solve (app)"))
            p.items[profile.Key("process", "app", "", "app")].more = {samples.FAULTS: float(faults)}
            p.facts = {"build-id libz.so.1": build, "library libz.so.1": version}
        return found

    for other, wanted in ((("1.3.1", "b", 1_200_000_000), "library libz.so.1 1.2.13 -> 1.3.1"), (("1.2.13", "b", 1_200_000_000), "library libz.so.1 is another build"),
                          (("1.2.13", "a", 1_200_000_000, 301_000), "page faults 1,000 -> 301,000"), (("1.2.13", "a", 1_200_000_000, 1500), "")):
        c = compare.compare(sides("1.2.13", "a", 1_000_000_000), sides(*other), compare.Options())
        found = {f.key.name: f.cause for f in c.of("worse") if f.key.kind == "function"}
        tap.ok(found == {"deflate (libz.so.1)": wanted}, wanted or "page faults that explain little are not named", f"{found} {c.reason}")


LAUNCHER = """
function, pointers = ctypes.c_void_p(), None
check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"big"))
for _ in range(5):
    check(cuda.cuLaunchKernel(function, 100, 1, 1, 128, 1, 1, SHARED, None, None, None))
check(cuda.cuCtxSynchronize())
"""


def kernels_have_the_hash_of_their_code():
    if device.missing():
        tap.skip("the code of kernels", device.missing())
        return
    work, found, reports = lib.folder(), {}, {}
    for name, shared, image in (("old", 0, cuda_code.elf(900)), ("same", 0, cuda_code.elf(1200)), ("changed", 40000, cuda_code.elf(900, seed=1))):
        path, database = os.path.join(work, name), os.path.join(work, f"{name}.sqlite")
        with open(path, "wb") as file:
            file.write(image)
        report = cuda_code.traced([sys.executable, "-c", cuda_code.LOADER + LAUNCHER.replace("SHARED", str(shared)), path], SIM_DEVICE="kernel_ns=5000000")
        if not report:
            return
        reports[name] = report.path
        convert.export(report.path, database)
        found[name] = next(i.code for k, i in profile.read(database, name).items.items() if k.kind == "kernel")
    hashes = [found[name].get("hash") for name in ("old", "same", "changed")]
    tap.ok(all(hashes) and hashes[0] == hashes[1] != hashes[2], "the hash of a kernel is that of its instructions, whatever else its module has", found)
    tap.ok(found["old"]["occupancy"] == "100 %" and found["changed"]["occupancy"] != "100 %", "kernels have their occupancy", found)
    named = causes_of({"kernel": found["old"]}, {"kernel": found["changed"], "kernel_ns": 1.3e6})[0].get("gemm")
    for other, wanted in (("same", "same"), ("changed", "changed")):
        rows = json.loads(lib.trace("why", "--json", reports["old"], "--", reports[other]).out or b'{"causes": []}')["causes"]
        tap.ok([r["code"] for r in rows if r["cause"] == "kernel big"] == [wanted], f"trace why A -- B: code of the kernel on both paths: {wanted}", rows)
    tap.ok(named == f"its code changed; occupancy 100 % -> {found['changed']['occupancy']}", "both are named as causes", named)


def hardware_metrics_are_causes():
    """A kernel has the means of its launches in each range; a metric that changed by 5 % is named."""
    if device.missing("regressed_launch"):
        tap.skip("hardware metrics", device.missing("regressed_launch"))
        return
    report = lib.recorded([device.app("regressed_launch"), "none", "3"], environment=lambda base: device.env(base=base), LIBTRACE_TRACE="cuda,nvtx",
                          LIBTRACE_GPU_METRICS="sim__threads.sum")
    database = report.path + ".sqlite"
    convert.export(report.path, database)
    # Give the last launch of "scale" a range of its own, and one value that is not a number.
    connection = sqlite3.connect(database)
    last, = connection.execute("SELECT max(correlationId) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE demangledName = (SELECT id FROM StringIds WHERE value = 'scale')").fetchone()
    start, tid = connection.execute("SELECT start, globalTid FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId = ?", (last,)).fetchone()
    connection.execute("INSERT INTO NVTX_EVENTS (start, \"end\", eventType, text, globalTid) VALUES (?, ?, 59, 'apart', ?)", (start - 1, start + 1, tid))
    connection.execute("UPDATE LIBTRACE_CUDA_METRIC SET value = 7.5 WHERE correlationId = ?", (last,))
    connection.execute("UPDATE LIBTRACE_CUDA_METRIC SET value = NULL WHERE correlationId = (SELECT min(correlationId) FROM LIBTRACE_CUDA_METRIC)")
    connection.commit()
    connection.close()
    found = {(k.name, k.path.rpartition("/")[2]): i.code.get("metric sim__threads.sum") for k, i in profile.read(database, "x").items.items() if k.kind == "kernel"}
    tap.ok(found == {("scale", ":compute"): "64000.0", ("scale", ":apart"): "7.5", ("solve", ":compute"): "256000.0"}, "each range has the means of its own launches", found)
    named = causes_of({"kernel": {"metric a.sum": "100.0", "metric b.sum": "50.0"}}, {"kernel": {"metric a.sum": "104.0", "metric b.sum": "60.0"}, "kernel_ns": 1.3e6})[0].get("gemm")
    tap.ok(named == "b.sum 50 -> 60", "a metric that changed is a cause, one that hardly changed is not", named)


def hardware_metrics_of_ranges_are_causes():
    """A range has the means of its instances, in its place within others: item/compute has 500 blocks of 128 threads, and those of solve."""
    if device.missing("regressed_launch"):
        tap.skip("hardware metrics of ranges", device.missing("regressed_launch"))
        return
    report = lib.recorded([device.app("regressed_launch"), "none", "3"], environment=lambda base: device.env(base=base), LIBTRACE_TRACE="cuda,nvtx",
                          LIBTRACE_GPU_METRICS="sim__threads.sum", LIBTRACE_GPU_METRICS_RANGE="nvtx:compute")
    database = report.path + ".sqlite"
    convert.export(report.path, database)
    found = {(k.path, k.name): i.code.get("metric sim__threads.sum") for k, i in profile.read(database, "x").items.items() if k.kind == "range"}
    threads = [int(row[0]) for row in sqlite3.connect(database).execute("SELECT value FROM LIBTRACE_CUDA_RANGE_METRIC")]
    tap.ok(len(threads) == 3 and threads[0] > 64000 and len(set(threads)) == 1 and found[":item", ":compute"] == repr(float(threads[0])) and {v for k, v in found.items() if k[1] != ":compute"} == {None},
           "the range that was measured has the mean of its instances, others have none", (found, threads))
    with sqlite3.connect(database) as c:
        c.execute("UPDATE LIBTRACE_CUDA_RANGE_METRIC SET value = value * 2")
    c.close()
    slower = {k: i for k, i in profile.read(database, "x").items.items() if k.name == ":compute"}
    tap.ok([i.code["metric sim__threads.sum"] for i in slower.values()] == [repr(2.0 * threads[0])], "the means are those of the values", slower)


def code_by_one_name_in_several_modules():
    """The kernel mul has 0, 1 or 2 hashes in the process that launches it; add is launched by another process, too, where its hash is not known."""
    names = {name: (cuda_code.name_hash(b"_Z" + name) ^ 1 << 63) - (1 << 63) for name in (b"mul", b"add")}
    for hashes, wanted in (((), None), ((5, 5), f"{5:016x}"), ((5, 6), None)):
        path = os.path.join(lib.folder(), "made.sqlite")
        made_database.make(path)
        with sqlite3.connect(path) as c:
            c.execute("CREATE TABLE LIBTRACE_CUDA_KERNEL_CODE (globalTid INTEGER, nameHash INTEGER, codeHash INTEGER)")
            c.executemany("INSERT INTO LIBTRACE_CUDA_KERNEL_CODE VALUES (?, ?, ?)", [(made_database.T1, name, value) for name in names.values() for value in hashes])
        c.close()
        found = {k.name.split("<")[0]: i.code.get("hash") for k, i in profile.read(path, path).items.items() if k.kind == "kernel" and "float" in k.name}
        tap.ok(found == {"void mul": wanted, "void add": None}, f"a kernel with {len(set(hashes))} hashes in its process", found)


lib.main(hashes_survive_a_move_and_show_a_change, causes_are_named, clocks_are_named, reports_and_stores_hold_the_facts, libraries_and_page_faults_are_named, kernels_have_the_hash_of_their_code, code_by_one_name_in_several_modules, hardware_metrics_are_causes, hardware_metrics_of_ranges_are_causes)
