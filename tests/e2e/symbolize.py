#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Compare names of addresses with binutils' addr2line; check the names that `trace symbolize` adds, and that it leaves other data unchanged.

Reports are written by tests/unit/test_reader_profile, with the addresses of libraries that are compiled here.
"""
import ctypes.util
import fcntl
import http.server
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import BUILD, LIBRARY, TRACE, folder, main, tap  # noqa: E402

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
__attribute__((cold, noinline)) void never(int x)
{
	out(x);
}
int in_two_parts(int x)
{
	if (x < 0) {
		never(some(x));
		return twice(x) * 3;
	}
	return some(x);
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
    done = subprocess.run([TRACE, *arguments], capture_output=True, text=True, errors="surrogateescape", timeout=120, **options)
    if done.returncode != status:
        raise RuntimeError(f"trace {arguments}: {done.returncode} {done.stdout!r} {done.stderr!r}")
    return done


def library(name, source, *compiler):
    path, text = os.path.join(PLACE, name), os.path.join(PLACE, name + (".cc" if "g++" in compiler[0] else ".c"))
    with open(text, "w", encoding="utf-8") as file:
        file.write(source)
    subprocess.run([*compiler, "-g", "-fPIC", "-shared", "-Wl,--build-id", "-o", path, text], check=True, capture_output=True, timeout=120)
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True, timeout=120).stdout
    return path, re.search(r"Build ID: (\w+)", notes).group(1)


def code_addresses(path, step=1):
    """Return every `step`th byte of the functions in the symbol table."""
    lines = subprocess.run(["nm", "-S", "--defined-only", path], capture_output=True, text=True, check=True, timeout=120).stdout
    found = set()
    for begin, size in re.findall(r"^(\w+) (\w+) [tTwW] ", lines, re.MULTILINE):
        found |= set(range(int(begin, 16), int(begin, 16) + int(size, 16), step))
    return sorted(found)


def report(name, path, build_id, addresses, **env):
    made = os.path.join(PLACE, name)
    subprocess.run([MAKER, "--save-addresses", made, path, build_id, *map(hex, addresses)], check=True, timeout=120, env={**os.environ, **env})
    return made


def chains(made, *options):
    rows = [json.loads(line) for line in trace("dump", "--json", "--kind", "osrt_call", *options, made).stdout.splitlines()]
    return [row["callchain"] for row in rows]


def shown(frames):
    return [(f["function"], os.path.basename(f["file"] or "?"), f["line"]) for f in frames]


def addr2line(path, addresses):
    text = subprocess.run(["addr2line", "-a", "-f", "-i", "-C", "-e", path, *map(hex, addresses)], capture_output=True, text=True, check=True,
                          timeout=120).stdout
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
    # Our names may have parameters. Files are not compared, since binutils 2.40 takes some file names of DWARF 5 from the wrong table.
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
    tap.ok(f"{count} addresses: {count} resolved, 0 not resolved, 0 already stored" in said, "symbolize says what it found", said)
    os.rename(path, path + ".gone")
    tap.ok(chains(made) == before, "names are there without the library")
    tap.ok(trace("export", "-t", "folded", "-o", "-", made).stdout == folded, "exports have the stored names, too")
    tap.ok("sound" in trace("check", made).stdout, "trace check finds nothing")
    now = os.path.getsize(made)
    said = trace("symbolize", made).stdout
    tap.ok(os.path.getsize(made) == now > size and f"0 resolved, 0 not resolved, {count} already stored" in said, "a second run adds nothing", said)
    tap.ok((now - size) / count < 40, f"{(now - size) / count:.1f} bytes per address")


def in_two_steps():
    path, build_id = library("late.so", C_SOURCE, "gcc", "-O2")
    away = os.path.join(PLACE, "away")
    os.makedirs(away, exist_ok=True)
    made = report("late.rep", path, build_id, code_addresses(path, 5))
    os.rename(path, os.path.join(away, "late.so"))
    said = trace("symbolize", made).stdout
    tap.ok(" 0 resolved" in said and "No such file or directory" in said, "an address without a name is reported with its reason", said)
    tap.ok(all(c[0]["function"] is None and "No such file" in c[0]["reason"] for c in chains(made)), "an address without a name stays module and offset")
    size = os.path.getsize(made)
    trace("symbolize", made)
    tap.ok(os.path.getsize(made) == size, "an address without a name is stored once")
    with_path = chains(made, "--symbol-path", away)
    tap.ok(all(c[0]["function"] for c in with_path), "a symbol path helps where nothing was stored")
    trace("symbolize", "--symbol-path", away, made)
    tap.ok(chains(made) == with_path and os.path.getsize(made) > size, "a later run adds what is found then")
    tap.ok("sound" in trace("check", made).stdout, "a symbolized report is sound")


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
    tap.ok("it is damaged" in said and content(made) == damaged, "a damaged report is not changed", said)
    for name in ("/dev/null", PLACE, __file__, os.path.join(PLACE, "none.rep")):
        trace("symbolize", name, status=2)
    tap.ok(True, "a file that is not a report is refused")
    with open(made, "wb") as file:
        file.write(whole + whole[10:-40])
    said = trace("symbolize", made)
    tap.ok("truncated last block" in said.stderr and "sound" in trace("check", made).stdout and content(made).startswith(whole), "a torn block is cut off", said)
    tap.ok(all(c[0]["function"] for c in chains(made)), "names are stored after a torn block was cut off")


def perf_map_of(tool, command):
    """Return the perf map that the program leaves in its /tmp, or None."""
    if not shutil.which(tool):
        return None
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=PLACE)
    child.wait(timeout=120)
    path = f"/tmp/perf-{child.pid}.map"
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        text = file.read()
    os.unlink(path)
    return text


def names_in(text, count):
    """Return some addresses of a perf map, each with the name in the last line that contains it."""
    rows = []
    for line in text.decode("utf-8", "surrogateescape").splitlines():
        match = re.fullmatch(r"(?:0x)?([0-9a-f]+) ([0-9a-f]+) (.+)", line)
        if match and int(match.group(2), 16):
            rows.append((int(match.group(1), 16), int(match.group(2), 16), match.group(3)))
    wanted = {}
    for begin, size, _ in rows[::max(1, len(rows) // count)]:
        address = begin + size // 2
        wanted[address] = [name for low, length, name in rows if low <= address < low + length][-1]
    return wanted


def run_time_code():
    node = ["node", "--perf-basic-prof", "-e", "let s = 0; function hot(i) { return i * 2 } for (let i = 0; i < 1e6; i++) s += hot(i)"]
    snake = next((p for p in ("python3.13", "python3.12") if shutil.which(p)), "python3")
    python = [snake, "-X", "perf", "-c", "def hot(i):\n    return i * 2\nfor i in range(1000): hot(i)"]
    for tool, command in (("node", node), (snake, python)):
        text = perf_map_of(tool, command)
        if not text:
            tap.skip(f"perf map of {os.path.basename(tool)}", "not installed, or it leaves none")
            continue
        jit = os.path.join(PLACE, f"jit-{os.path.basename(tool)}")
        os.makedirs(jit, exist_ok=True)
        with open(os.path.join(jit, "perf-4000000000.map"), "wb") as file:
            file.write(text)
        wanted = names_in(text, 200)
        made = report("jit.rep", "/none", "", [(address - 0x7f0000000000) % 2**64 for address in sorted(wanted)])
        got = [c[0]["function"] for c in chains(made, "--symbol-path", jit) if "perf-" in (c[0]["module"] or "")]
        differ = [(x, y) for x, y in zip(got, [wanted[a] for a in sorted(wanted)]) if x != y]
        tap.ok(got and not differ, f"{os.path.basename(tool)}: {len(got)} names of its perf map", differ)


class Server(http.server.BaseHTTPRequestHandler):
    """A debuginfod server: /buildid/ID/debuginfo and /buildid/ID/executable."""
    files = {}
    asked = []

    def do_GET(self):
        self.asked.append(self.path)
        data = self.files.get(self.path)
        self.send_response(200 if data else 404)
        self.send_header("Content-Length", str(len(data or b"")))
        self.end_headers()
        self.wfile.write(data or b"")

    def log_message(self, *_):
        pass


def debuginfod():
    if not ctypes.util.find_library("debuginfod"):
        tap.skip("debuginfod", "no libdebuginfod")
        return
    path, build_id = library("served.so", C_SOURCE, "gcc", "-O2")
    addresses = code_addresses(path, 5)
    wanted = chains(report("served.rep", path, build_id, addresses))
    made = os.path.join(PLACE, "served.rep")
    debug = os.path.join(PLACE, "served.debug")
    subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True, timeout=120)
    subprocess.run(["strip", path], check=True, timeout=120)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Server.files = {f"/buildid/{build_id}/debuginfo": content(debug), f"/buildid/{build_id}/executable": content(path)}
    env = {k: v for k, v in os.environ.items() if not k.startswith("DEBUGINFOD_")}
    rows = lambda name, **more: [json.loads(line)["callchain"] for line in trace(  # noqa: E731
        "dump", "-j", "-k", "osrt_call", made, env={**env, "HOME": PLACE, "DEBUGINFOD_CACHE_PATH": os.path.join(PLACE, name), **more}).stdout.splitlines()]
    rows("cache0")
    tap.ok(not Server.asked, "debuginfod is not asked unless DEBUGINFOD_URLS is set", Server.asked)
    url = f"http://127.0.0.1:{server.server_port}"
    tap.ok(rows("cache1", DEBUGINFOD_URLS=url) == wanted, "debuginfod gives the debug file", Server.asked)
    os.unlink(path)
    tap.ok(rows("cache2", DEBUGINFOD_URLS=url) == wanted, "the program itself is fetched from debuginfod, too", Server.asked)
    traced = os.path.join(PLACE, "traced.rep")
    rows("cache3", DEBUGINFOD_URLS=url, LD_PRELOAD=LIBRARY, LIBTRACE_OUTPUT=traced)
    tap.ok(not os.path.exists(traced), "the helper that asks debuginfod is not traced")
    server.shutdown()


def plain():
    symbolized({})


def compressed():
    symbolized({"COMPRESS": "1"})


if not shutil.which("addr2line") or not shutil.which("gcc"):
    tap.skip("names of addresses", "no binutils or gcc")
    tap.finish()
main(as_addr2line, run_time_code, debuginfod, plain, compressed, in_two_steps, left_alone)
