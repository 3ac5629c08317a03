#!/usr/bin/env python3
# timeout: 200
"""Names of addresses against binutils' addr2line, and `trace symbolize`: what it adds, and what it leaves alone.

Reports are made by tests/unit/test_reader_profile, of the addresses of libraries that are compiled here.
"""
import fcntl
import json
import os
import re
import resource
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import BUILD, TRACE, folder, main, tap  # noqa: E402

MAKER = os.path.join(BUILD, "tests/unit/test_reader_profile")
PLACE = folder()
C_SOURCE = """
extern int (*volatile out)(int);
int (*volatile out)(int);
static inline __attribute__((always_inline)) int twice(int x)
{
	return out(x) +
		out(x + 1);
}
static inline __attribute__((always_inline)) int some(int x)
{
	for (int i = 0; i < x; i++) {
		int y = twice(i);
		if (y == x)
			return i;
	}
	return 0;
}
static __attribute__((noinline)) int hidden(int x)
{
	return some(x) ^ twice(x);
}
int first(int x)
{
	return hidden(x) + some(x + 3);
}
int second(int x)
{
	return some(some(x));
}
"""
CXX_SOURCE = """
#include <map>
#include <string>
namespace shop {
template <class T> struct Shelf {
	std::map<std::string, T> all;
	T take(const std::string &name) { auto it = all.find(name); return it == all.end() ? T() : it->second; }
};
long sell(Shelf<long> &s, const char *name) { return s.take(name) + s.take("other"); }
}
"""


def trace(*arguments, status=0, **options):
    done = subprocess.run([TRACE, *arguments], capture_output=True, text=True, errors="surrogateescape", timeout=60, **options)
    if done.returncode != status:
        raise RuntimeError(f"trace {arguments}: {done.returncode} {done.stdout!r} {done.stderr!r}")
    return done


def library(name, source, *compiler):
    path, text = os.path.join(PLACE, name), os.path.join(PLACE, name + (".cc" if "g++" in compiler[0] else ".c"))
    with open(text, "w", encoding="utf-8") as file:
        file.write(source)
    subprocess.run([*compiler, "-g", "-fPIC", "-shared", "-Wl,--build-id", "-o", path, text], check=True, capture_output=True, timeout=120)
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True, timeout=30).stdout
    return path, re.search(r"Build ID: (\w+)", notes).group(1)


def code_addresses(path, step=1):
    """Of the functions in the symbol table, every `step`th byte."""
    lines = subprocess.run(["nm", "-S", "--defined-only", path], capture_output=True, text=True, check=True, timeout=30).stdout
    found = set()
    for begin, size in re.findall(r"^(\w+) (\w+) [tTwW] ", lines, re.MULTILINE):
        found |= set(range(int(begin, 16), int(begin, 16) + int(size, 16), step))
    return sorted(found)


def report(name, path, build_id, addresses, **env):
    made = os.path.join(PLACE, name)
    subprocess.run([MAKER, "--save-addresses", made, path, build_id, *map(hex, addresses)], check=True, timeout=30, env={**os.environ, **env})
    return made


def chains(made, *options):
    rows = [json.loads(line) for line in trace("dump", "--json", "--kind", "osrt_call", *options, made).stdout.splitlines()]
    return [row["callchain"] for row in rows]


def shown(frames):
    return [(f["function"], os.path.basename(f["file"] or "?"), f["line"]) for f in frames]


def addr2line(path, addresses):
    text = subprocess.run(["addr2line", "-a", "-f", "-i", "-C", "-e", path, *map(hex, addresses)], capture_output=True, text=True, check=True,
                          timeout=60).stdout
    answers = []
    for part in re.split(r"^0x[0-9a-f]+\n", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        frames = []
        for function, place in zip(lines[::2], lines[1::2]):
            file, _, line = re.sub(r" \(discriminator \d+\)", "", place).rpartition(":")
            frames.append((function, os.path.basename(file), int(line) if line.isdigit() else None))
        answers.append(frames)
    return answers


def compare(name, path, build_id, step):
    addresses = code_addresses(path, step)
    ours = [shown(frames) for frames in chains(report("compare.rep", path, build_id, addresses))]
    theirs = addr2line(path, addresses)
    # Ours may have parameters; and files are not compared, for binutils 2.40 takes some of DWARF 5 from the wrong table.
    plain = [[(re.sub(r"\(.*|\[abi:\w+\]", "", f or "??"), n or None) for f, p, n in frames] for frames in ours]
    other = [[(re.sub(r"\(.*|\[abi:\w+\]", "", f), n or None) for f, p, n in frames] for frames in theirs]
    differ = [(hex(a), x, y) for a, x, y in zip(addresses, plain, other) if x != y]
    deep = max(len(frames) for frames in ours)
    tap.ok(len(differ) * 200 <= len(addresses), f"{name}: {len(addresses)} addresses, up to {deep} frames, as addr2line has them; {len(differ)} differ", differ)


def as_addr2line():
    for optimize in ("-O1", "-O2"):
        compare(f"C {optimize}", *library(f"c{optimize}.so", C_SOURCE, "gcc", optimize), 1)
    compare("C -gdwarf-4", *library("c4.so", C_SOURCE, "gcc", "-O2", "-gdwarf-4"), 1)
    if shutil.which("clang"):
        compare("C by clang", *library("clang.so", C_SOURCE, "clang", "-O2"), 1)
    if shutil.which("g++"):
        compare("C++", *library("cxx.so", CXX_SOURCE, "g++", "-O1"), 3)


def symbolized(env):
    path, build_id = library("lib.so", C_SOURCE, "gcc", "-O2")
    made = report("lib.rep", path, build_id, code_addresses(path), **env)
    before, folded = chains(made), trace("export", "-t", "folded", "-o", "-", made).stdout
    count, size = len(before), os.path.getsize(made)
    said = trace("symbolize", made).stdout
    tap.ok(f"{count} addresses: {count} resolved, 0 not, 0 were there" in said, "symbolize says what it found", said)
    os.rename(path, path + ".gone")
    tap.ok(chains(made) == before, "names are there without the library")
    tap.ok(trace("export", "-t", "folded", "-o", "-", made).stdout == folded, "and so are those of exports")
    tap.ok("sound" in trace("check", made).stdout, "trace check finds nothing")
    now = os.path.getsize(made)
    said = trace("symbolize", made).stdout
    tap.ok(os.path.getsize(made) == now > size and f"0 resolved, 0 not, {count} were there" in said, "a second run adds nothing", said)
    tap.ok((now - size) / count < 40, f"{(now - size) / count:.1f} bytes per address")


def in_two_steps():
    path, build_id = library("late.so", C_SOURCE, "gcc", "-O2")
    away = os.path.join(PLACE, "away")
    os.makedirs(away, exist_ok=True)
    made = report("late.rep", path, build_id, code_addresses(path, 5))
    os.rename(path, os.path.join(away, "late.so"))
    said = trace("symbolize", made).stdout
    tap.ok(" 0 resolved" in said and "No such file or directory" in said, "what is not found is told with its reason", said)
    tap.ok(all(c[0]["function"] is None and "No such file" in c[0]["reason"] for c in chains(made)), "and stays module and offset")
    size = os.path.getsize(made)
    trace("symbolize", made)
    tap.ok(os.path.getsize(made) == size, "it is not told twice")
    with_path = chains(made, "--symbol-path", away)
    tap.ok(all(c[0]["function"] for c in with_path), "a symbol path helps where nothing was stored")
    trace("symbolize", "--symbol-path", away, made)
    tap.ok(chains(made) == with_path and os.path.getsize(made) > size, "a later run adds what is found then")
    tap.ok("sound" in trace("check", made).stdout, "the report is sound")


def content(path):
    with open(path, "rb") as file:
        return file.read()


def left_alone():
    path, build_id = library("alone.so", C_SOURCE, "gcc", "-O2")
    made = report("alone.rep", path, build_id, code_addresses(path, 3))
    whole = content(made)
    with open(made, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        said = trace("symbolize", "--no-wait", made, status=2).stderr
    tap.ok("still being written" in said and content(made) == whole, "a report that is being written", said)
    limited = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 100, len(whole) + 100))  # noqa: E731
    said = trace("symbolize", made, status=2, preexec_fn=limited).stderr
    tap.ok("File too large" in said and content(made) == whole, "a file that cannot grow is as it was", said)
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0xff
    with open(made, "wb") as file:
        file.write(damaged)
    said = trace("symbolize", made, status=1).stderr
    tap.ok("nothing was changed" in said and content(made) == damaged, "a damaged report", said)
    for name in ("/dev/null", PLACE, __file__, os.path.join(PLACE, "none.rep")):
        trace("symbolize", name, status=2)
    tap.ok(True, "what is no report")
    with open(made, "wb") as file:
        file.write(whole + whole[10:-40])
    said = trace("symbolize", made)
    tap.ok("cut off" in said.stderr and "sound" in trace("check", made).stdout and content(made).startswith(whole), "a torn block goes", said)
    tap.ok(all(c[0]["function"] for c in chains(made)), "and the names are there")


def plain():
    symbolized({})


def compressed():
    symbolized({"COMPRESS": "1"})


if not shutil.which("addr2line") or not shutil.which("gcc"):
    tap.skip("names of addresses", "no binutils or gcc")
    tap.finish()
main(as_addr2line, plain, compressed, in_two_steps, left_alone)
