#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
# alone: it makes a release in the folder of the build
"""Run the files of a release (make release) on older and newer systems: Ubuntu 13.04 to 24.04, Debian 10 to 13, with their own C libraries; read
reports on Alpine.

scripts/old-root unpacks the systems in build/roots, which are kept; a system whose archive cannot be reached is skipped, by its name. The short test
runs the oldest ones, the newest and Alpine, TORTURE=1 all of them. OLD_SUITES='bionic focal' names others.
"""

import hashlib
import http.server
import io
import json
import os
import shutil
import sys
import tarfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import BUILD, SRC, TORTURE, clean_env, folder, main, run, tap  # noqa: E402

ROOT = os.path.join(BUILD, "release/root")
SYSTEMS = {  # by suite: its name and its C library
    "raring": "Ubuntu 13.04, glibc 2.17 as in CentOS 7",
    "xenial": "Ubuntu 16.04, glibc 2.23",
    "bionic": "Ubuntu 18.04, glibc 2.27",
    "buster": "Debian 10, glibc 2.28",
    "bullseye": "Debian 11, glibc 2.31",
    "focal": "Ubuntu 20.04, glibc 2.31",
    "jammy": "Ubuntu 22.04, glibc 2.35",
    "bookworm": "Debian 12, glibc 2.36",
    "noble": "Ubuntu 24.04, glibc 2.39",
    "trixie": "Debian 13, glibc 2.41",
    "alpine": "Alpine 3.20, musl 1.2",
}
OLDEST_AND_NEWEST = ("raring", "xenial", "buster", "trixie", "alpine")
PYTHON = "import subprocess, threading; [t.start() or t.join() for t in [threading.Thread(target=subprocess.call, args=(['ls', '/'],)) for _ in range(8)]]"
PROGRAMS = {
    "a program without threads": ["ls", "/usr"],
    "a shell with a pipe": ["sh", "-c", "ls / | cat; exit 3"],
    "threads that make processes": ["python3", "-c", PYTHON],
    "abort": ["python3", "-c", "import os; os.abort()"],
    "forks": ["perl", "-e", "for (1..5) { fork || exit(0); wait } print qq(done\\n)"],
}
READER = "import ctypes, sys; ctypes.CDLL('/opt/lib/libtrace/libtrace-reader.so', ctypes.RTLD_GLOBAL); print('loaded')"


def unpacked(suite):
    """Return the folder of the system, or None after a skip."""
    place = os.path.join(BUILD, "roots", suite)
    if not os.path.isdir(place):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        made = run([os.path.join(SRC, "scripts/old-root"), suite, place, "python3", "perl-base", "coreutils", "dash"], env=clean_env(), limit=240)
        if made.status == 3 or made.hung:
            tap.skip(SYSTEMS[suite], made.err.decode().strip() or "the archive does not answer")
            return None
        if not tap.ok(made.status == 0, f"{suite} is unpacked", made.err.decode()):
            return None
    return place


class System:
    def __init__(self, root):
        self.root, self.place = root, folder()

    def run(self, argv, **env):
        bwrap = ["bwrap", "--ro-bind", self.root, "/", "--proc", "/proc", "--dev-bind", "/dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp", "--tmpfs", "/opt",
                 "--ro-bind", os.path.join(ROOT, "bin"), "/opt/bin", "--ro-bind", os.path.join(ROOT, "lib"), "/opt/lib", "--bind", self.place, "/srv",
                 "--chdir", "/srv", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin:/opt/bin", "--setenv", "HOME", "/srv"]
        for name, value in env.items():
            bwrap += ["--setenv", name, value]
        return run([*bwrap, *argv], env=clean_env(), limit=100)


def programs_are_recorded(suite, system):
    for number, (name, argv) in enumerate(PROGRAMS.items()):
        plain = system.run(argv)
        alone = system.run(argv, LD_PRELOAD="/opt/lib/libtrace/libtrace.so", LIBTRACE_OUTPUT=f"alone{number}.rep")
        tap.ok(plain[:3] == alone[:3] and not alone.hung and os.path.exists(os.path.join(system.place, f"alone{number}.rep")), f"{suite}: {name}: as without the tracer, by the preload alone",
               (plain, alone))
        traced = system.run(["trace", "run", "-o", f"{number}.rep", "--osrt-threshold", "0", "--osrt-backtrace-threshold", "0", "--", *argv])
        info = system.run(["trace", "info", "--json", f"{number}.rep"])
        found = json.loads(info.out) if info.status == 0 else {"processes": [], "verdict": "", "diagnostics": []}
        tap.ok(plain[:2] == traced[:2] and not traced.hung and traced.err.startswith(b"report: ") and found["processes"]
               and system.run(["trace", "check", f"{number}.rep"]).status == 0, f"{suite}: {name}: as without the tracer, and the report is sound", (plain, traced, info))
        lost = {drop["reason"] for process in found["processes"] for drop in (process.get("receipt") or {}).get("drops", ())}
        tap.ok(not lost, f"{suite}: {name}: nothing is lost, not even calls of constructors that run before the tracer's (libselinux)", lost)


def reports_are_read(suite, system):
    for words in (["stats", "2.rep"], ["dump", "--json", "2.rep"], ["query", "2.rep", "SELECT COUNT(*) FROM OSRT_API"], ["symbolize", "2.rep"],
                  ["export", "-t", "perfetto", "-o", "2.pb", "2.rep"], ["report", "--html", "-o", "2.html", "2.rep"]):
        result = system.run(["trace", *words])
        tap.ok(result.status == 0, f"{suite}: trace {words[0]}", result)
    named = [line for line in system.run(["trace", "dump", "--json", "--kind", "osrt_call", "2.rep"]).out.splitlines() if b'"function":"Py' in line or b'"function":"_Py' in line]
    tap.ok(named, f"{suite}: callchains have names of functions of python3")
    loaded = system.run(["python3", "-c", READER])
    tap.ok(loaded.out == b"loaded\n", f"{suite}: libtrace-reader.so is loaded", loaded.err)
    # libunwind in place of our own rules, and both compared.
    result = system.run(["trace", "run", "-o", "u.rep", "--osrt-threshold", "0", "--osrt-backtrace-threshold", "0", "--", "python3", "-c", PYTHON], LIBTRACE_BACKTRACE="check")
    said = [text["text"] for text in json.loads(system.run(["trace", "info", "--json", "u.rep"]).out)["diagnostics"]]
    compared = [text for text in said if "compared with libunwind" in text]
    tap.ok(result.status == 0 and compared and all(", different: 0," in text for text in compared), f"{suite}: libunwind is loaded and finds the same callchains", said)
    doctor = json.loads(system.run(["trace", "doctor", "--json"]).out)
    tap.ok(doctor["can_record"], f"{suite}: trace doctor agrees", doctor)


def reports_alone(suite, system):
    """Read a report on a system of musl, where no program can be recorded."""
    run([os.path.join(ROOT, "bin/trace"), "run", "-o", os.path.join(system.place, "r.rep"), "--", "sh", "-c", "ls / | cat"], env=clean_env())
    for words in (["info", "r.rep"], ["check", "r.rep"], ["stats", "r.rep"], ["query", "r.rep", "SELECT COUNT(*) FROM OSRT_API"], ["symbolize", "r.rep"],
                  ["export", "-t", "sqlite", "-o", "r.sqlite", "r.rep"], ["report", "--html", "-o", "r.html", "r.rep"]):
        result = system.run(["trace", *words])
        tap.ok(result.status == 0, f"{suite}: trace {words[0]}", result)
    plain, traced = system.run(["ls", "/"]), system.run(["trace", "run", "-o", "none.rep", "--", "ls", "/"])
    tap.ok(plain[:2] == traced[:2] and b"another C library" in traced.err and not os.path.exists(os.path.join(system.place, "none.rep")),
           f"{suite}: a program runs as without the tracer, and trace run says why it is not recorded", (plain, traced))


def systems():
    chosen = os.environ.get("OLD_SUITES", "").split() or (SYSTEMS if TORTURE else OLDEST_AND_NEWEST)
    for suite in chosen:
        root = unpacked(suite)
        if root and suite == "alpine":
            reports_alone(suite, System(root))
        elif root:
            system = System(root)
            programs_are_recorded(suite, system)
            reports_are_read(suite, system)


def archives():
    """Check scripts/old-root with an archive on this machine: a whole system is unpacked if its sum is right, an archive that does not answer is named."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as packed:
        for name in ("./bin/busybox", "../outside", "./dev/null"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.size = (tarfile.CHRTYPE, 0) if "null" in name else (tarfile.REGTYPE, 2)
            packed.addfile(entry, io.BytesIO(b"#!") if entry.size else None)
    sums = {"right": hashlib.sha256(content.getvalue()).hexdigest(), "wrong": "0" * 64}

    class Archive(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(sums[self.path.split("/")[1]].encode() if self.path.endswith(".sha256") else content.getvalue())

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Archive)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place = folder()
    fetch = lambda suite, part: run([os.path.join(SRC, "scripts/old-root"), suite, os.path.join(place, suite), "none"],  # noqa: E731
                                    env=clean_env(OLD_ROOT_ARCHIVE=f"http://127.0.0.1:{server.server_port}/{part}"))
    wrong = fetch("alpine", "wrong")
    tap.ok(wrong.status == 1 and b"does not have the sum" in wrong.err and not os.path.exists(os.path.join(place, "alpine")), "a system with another sum is refused", wrong)
    right = fetch("alpine", "right")
    tap.ok(right.status == 0 and os.path.exists(os.path.join(place, "alpine/bin/busybox")) and not os.path.exists(os.path.join(place, "outside"))
           and not os.path.exists(os.path.join(place, "alpine/dev/null")), "a whole system is unpacked, inside its folder and without devices", (right, os.listdir(place)))
    server.shutdown()
    server.server_close()
    silent = fetch("buster", "right")
    tap.ok(silent.status == 3 and b"cannot fetch buster from http://127.0.0.1" in silent.err, "an archive that does not answer is named", silent)


if __name__ == "__main__":
    if os.environ.get("SAN") or os.path.basename(BUILD).startswith("san") or not os.path.exists(os.path.join(BUILD, "libunwind/libunwind.a")):
        tap.skip("other systems", "there is no release here (scripts/setup --release)")
        tap.finish()
    if not shutil.which("bwrap") or run(["bwrap", "--ro-bind", "/", "/", "true"]).status:
        tap.skip("other systems", "bwrap is missing, or not permitted here")
        tap.finish()
    if not os.path.isdir(ROOT):
        made = run(["make", "-C", SRC, "release", f"O={os.path.relpath(BUILD, SRC)}"], env=clean_env(CC=os.environ.get("CC", "gcc")), limit=300)
        if made.status:
            tap.ok(False, "make release", made.err.decode())
            tap.finish()
    main(archives, systems)
