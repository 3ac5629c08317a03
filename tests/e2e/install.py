#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# alone: it installs by files in the folder of the build
"""Check `make install`: the installed files work, have no file name of another package, and are gone after `make uninstall`."""

import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import BUILD, SRC, clean_env, folder, main, run, tap  # noqa: E402

PLACE = folder()
PREFIX = "lt-"


def make(target, place):
    build = os.path.dirname(BUILD) if os.path.basename(BUILD).startswith("san-") else BUILD
    env = clean_env(CC=os.environ.get("CC", "gcc"))
    words = [f"O={os.path.relpath(build, SRC)}", f"PREFIX={place}", f"PROGRAM_PREFIX={PREFIX}", f"CC={env['CC']}", f"SAN={os.environ.get('SAN', '')}"]
    return run(["make", "-C", SRC, target, *words], env=env, limit=180)


def all_files(place):
    return sorted(
        os.path.relpath(os.path.join(root, name), place) for root, _, names in os.walk(place) for name in names
    )


def installed():
    result = make("install", PLACE)
    if not tap.ok(result.status == 0, "make install succeeds", result.err):
        return
    files = all_files(PLACE)
    names = {os.path.basename(path) for path in files if path.startswith(("bin/", "share/man/", "share/bash-completion/"))}
    tap.ok(f"{PREFIX}trace" in names and "trace" not in names, "the command has its prefix, and nothing is called trace", names)
    libraries = [path for path in files if path.startswith("lib/lib") and path.count("/") == 1]
    tap.ok(not libraries, "no library is where -ltrace would find it", libraries)
    report = os.path.join(PLACE, "first.rep")
    command = os.path.join(PLACE, "bin", f"{PREFIX}trace")
    result = run([command, "run", "-o", report, "--", "/bin/true"], limit=60)
    tap.ok(result.status == 0 and os.path.exists(report), "the installed command records", result.err)
    result = run([command, "info", "--json", report], limit=60)
    tap.ok(result.status == 0 and json.loads(result.out)["verdict"].startswith("complete"), "the installed command reads what it recorded", result.out + result.err)
    result = run([os.path.join(PLACE, "bin/libtrace-nightly"), "--help"], limit=60, env=clean_env(PATH="/usr/bin:/bin"))
    tap.ok(b"trace nightly" in result.out + result.err, "libtrace-nightly finds the prefixed command", result.out + result.err)


def package_config():
    if not shutil.which("pkg-config"):
        tap.skip("libtrace.pc", "no pkg-config here")
        return
    env = clean_env(PKG_CONFIG_PATH=os.path.join(PLACE, "lib/pkgconfig"))
    version = run(["pkg-config", "--modversion", "libtrace"], env=env).out.decode().strip()
    with open(os.path.join(SRC, "VERSION"), encoding="utf-8") as file:
        tap.ok(version == file.read().strip(), "libtrace.pc has the version", version)
    preload = run(["pkg-config", "--variable=preload", "libtrace"], env=env).out.decode().strip()
    tap.ok(os.path.isfile(preload), "the variable `preload` of libtrace.pc names the library", preload)
    flags = run(["pkg-config", "--cflags", "libtrace"], env=env).out.decode().split()
    program = os.path.join(PLACE, "switch")
    built = subprocess.run([os.environ.get("CC", "gcc"), *flags, os.path.join(SRC, "examples/switch.c"), "-o", program], capture_output=True)
    tap.ok(built.returncode == 0, "a program builds with its flags", built.stderr)


def what_a_release_needs():
    """Check that scripts/setup --release, which README names alone, fetches also the headers of CUDA, without which no release is portable."""
    if not shutil.which("bwrap") or run(["bwrap", "--ro-bind", "/", "/", "true"]).status:
        tap.skip("what a release needs", "bwrap is missing, or not permitted here")
        return
    hidden = [word for place in ("/usr/local", "/opt") if os.path.isdir(place) for word in ("--tmpfs", place)]
    result = run(["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", *hidden, "--chdir", SRC, "scripts/setup", "--release", "--list"],
                 env=clean_env(O=folder(), CUDA_HOME=None, PATH="/usr/bin:/bin"))
    tap.ok(result.status == 0 and {b"cuda-headers", b"libunwind-source", b"packaging-environment"} <= set(result.out.split()),
           "scripts/setup --release takes all that a release needs, and --list prints it", result)


def removed():
    os.remove(os.path.join(PLACE, "first.rep"))
    os.remove(os.path.join(PLACE, "switch"))
    result = make("uninstall", PLACE)
    tap.ok(result.status == 0 and not all_files(PLACE), "make uninstall leaves nothing", result.err or all_files(PLACE))


if __name__ == "__main__":
    main(installed, package_config, what_a_release_needs, removed)
