#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 1800
# alone: it makes a release in the folder of the build
"""Check the packages that `make dist` builds: the same bytes each time, and everything in them works.

They are built from the objects of this build. With TORTURE=1 they are built once more from nothing, in another folder, which must give the same
bytes. scripts/setup --release fetches what the build and the checks need.
"""

import ctypes
import filecmp
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import types
import unittest.mock
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import BUILD, SRC, TORTURE, Report, clean_env, folder, main, run, tap  # noqa: E402

PLACE = folder()
DIST = os.path.join(PLACE, "dist")
ROOT = os.path.join(BUILD, "release/root")
BUILD_HANG_S = 1500  # of a build and of all packages: on a busy machine a build without a compiler cache took more than 480 s
PROGRAM = "import subprocess, threading; [t.start() or t.join() for t in [threading.Thread(target=subprocess.run, args=(['true'],)) for _ in range(4)]]"
PARTS = ("Apache-2.0", "LGPL-2.1", "LGPL-3", "GPL-3", "glibc", "elfutils", "libgcc", "libunwind", "zstd", "protobuf-c", "d3")


def packages(end):
    return [os.path.join(DIST, name) for name in sorted(os.listdir(DIST)) if name.endswith(end)]


def make(build, *words, **more):
    return run(["make", "-C", SRC, *words, f"O={os.path.relpath(build, SRC)}", f"CC={os.environ.get('CC', 'gcc')}"], env=clean_env(**more), limit=BUILD_HANG_S)


def sums(place):
    with open(os.path.join(place, "SHA256SUMS"), encoding="ascii") as file:
        return dict(reversed(line.split()) for line in file)


def built():
    result = make(BUILD, "release")
    if not tap.ok(result.status == 0, "make release succeeds, and its files are portable", result):
        tap.finish()
    made = run([os.path.join(SRC, "scripts/make-packages"), ROOT, DIST], env=clean_env(), limit=BUILD_HANG_S)
    if not tap.ok(made.status == 0 and len(sums(DIST)) == 5, "all packages are made", made):
        tap.finish()
    again = os.path.join(PLACE, "again")
    shutil.copytree(ROOT, os.path.join(PLACE, "copy"), copy_function=shutil.copyfile)  # other times and modes
    for name in os.listdir(os.path.join(ROOT, "bin")):
        os.chmod(os.path.join(PLACE, "copy/bin", name), 0o700)
    for name in ("libtrace-host", "libtrace-writer"):
        os.chmod(os.path.join(PLACE, "copy/lib/libtrace", name), 0o755)
    compiled = os.path.join(PLACE, "copy/lib/libtrace/python/trace_tools/__pycache__")
    os.makedirs(compiled, exist_ok=True)
    with open(os.path.join(compiled, "diff.cpython-311.pyc"), "wb") as file:
        file.write(b"what Python leaves in a tree that was used")
    run([os.path.join(SRC, "scripts/make-packages"), os.path.join(PLACE, "copy"), again, "wheel", "deb", "image", "recipes"], env=clean_env(TZ="Asia/Tokyo", LC_ALL="C"), limit=BUILD_HANG_S)
    tap.ok(len(sums(again)) == 4 and sums(again).items() <= sums(DIST).items(), "times, modes and time zone of the build, and Python's compiled files, change no byte of a package", (sums(DIST), sums(again)))
    if not TORTURE:
        return
    other = os.path.join(BUILD, "again")
    shutil.rmtree(other, ignore_errors=True)
    os.makedirs(other)
    for name in ("libunwind", "cuda", "web"):  # what was fetched
        if os.path.exists(os.path.join(BUILD, name)):
            os.symlink(os.path.join(BUILD, name), os.path.join(other, name))
    result = make(other, f"-j{os.cpu_count()}", "dist")
    if tap.ok(result.status == 0, "a second build in another folder succeeds", result):
        differ = sorted({name for name, _ in contents(ROOT).items() ^ contents(os.path.join(other, "release/root")).items()})
        tap.ok(sums(os.path.join(other, "dist")) == sums(DIST), "a second build in another folder gives the same bytes", ("files that differ", differ, sums(DIST)))
    shutil.rmtree(other)


def what_is_not_portable_is_found():
    """Check that scripts/check-portable finds a library that was linked with this machine's C library."""
    place = os.path.join(PLACE, "not-portable")
    shutil.copytree(ROOT, os.path.join(place, "release/root"))
    for name in ("old-libc", "config.mk", "gen"):
        os.symlink(os.path.join(BUILD, name), os.path.join(place, name))
    check = lambda: run([os.path.join(SRC, "scripts/check-portable")], env=clean_env(O=place))  # noqa: E731
    tap.ok(check().status == 0, "files of a release are portable")
    shutil.copy(os.path.join(BUILD, "lib/libtrace/libtrace-host"), os.path.join(place, "release/root/lib/libtrace/libtrace-host"))
    result = check()
    tap.ok(result.status == 1 and b"libtrace-host: asks for GLIBC_2." in result.out, "a file that needs a new C library is found", result.out)
    shutil.copy(os.path.join(BUILD, "tests/apps/forks"), os.path.join(place, "release/root/bin/trace"))
    result = check()
    tap.ok(result.status == 1 and b"bin/trace: is not linked statically" in result.out, "a command that needs a loader is found", result.out)


def names_of_errors():
    """Compare the names of errno in packaging/old_libc.c with those of the C library."""
    source, library = os.path.join(PLACE, "names.c"), os.path.join(PLACE, "names.so")
    with open(source, "w", encoding="ascii") as file:
        file.write(f'#define strerrorname_np our_name\n#include "{SRC}/packaging/old_libc.c"\n')
    subprocess.run([os.environ.get("CC", "gcc"), "-w", "-shared", "-fPIC", "-o", library, source], check=True)
    ours, theirs = ctypes.CDLL(library).our_name, ctypes.CDLL(None).strerrorname_np
    for function in (ours, theirs):
        function.restype, function.argtypes = ctypes.c_char_p, (ctypes.c_int,)
    differ = [n for n in range(-3, 300) if ours(n) != theirs(n)]
    tap.ok(not differ and ours(2) == b"ENOENT", "names of errno are those of the C library", differ)


def records(command, name, **more):
    """Record Python with the command, and read the report with it."""
    place = folder()
    env = clean_env(**more)
    result = run([command, "run", "--osrt-threshold", "0", "--osrt-backtrace-threshold", "0", "--", "python3", "-c", PROGRAM], env=env, cwd=place)
    report = os.path.join(place, "report1.rep")
    read = run([command, "stats", report], env=env)
    info = run([command, "info", "--json", report], env=env)
    found = json.loads(info.out) if info.status == 0 else {}
    tap.ok(result.status == 0 and read.status == 0 and b"OS Runtime Summary" in read.out and len(found.get("processes", ())) >= 5
           and found["verdict"].startswith("complete"), f"{name}: records python3 and prints statistics", (result, read, info))
    dump = run([command, "dump", "--json", "--kind", "osrt_call", report], env=env)
    named = [event for event in map(json.loads, dump.out.splitlines()) if any(frame["function"] for frame in event.get("callchain") or ())]
    tap.ok(named, f"{name}: callchains have names of functions", dump.err)
    page = run([command, "report", "--html", "-o", os.path.join(place, "page.html"), report], env=env)
    tap.ok(page.status == 0 and os.path.getsize(os.path.join(place, "page.html")) > 50000, f"{name}: writes the HTML page", page)
    return report


def wheel():
    (file,) = packages(".whl")
    auditwheel = os.path.join(BUILD, "packaging/bin/auditwheel")
    if os.path.exists(auditwheel):
        result = run([auditwheel, "show", file], env=clean_env())
        tap.ok(b'the following platform tag: "manylinux_2_17_x86_64"' in b" ".join(result.out.split()), "auditwheel agrees with the tag of the wheel", result)
    else:
        tap.skip("auditwheel", "not installed (scripts/setup --release)")
    names = zipfile.ZipFile(file).namelist()
    tap.ok(all(f"libtrace-{version()}.dist-info/licenses/{part}.txt" in names for part in PARTS), "the license texts are in the wheel", names)
    venv = os.path.join(PLACE, "venv")
    if subprocess.run([sys.executable, "-m", "venv", venv], capture_output=True).returncode:
        tap.skip("pip install", f"{sys.executable} cannot make a virtual environment")
        return
    before = listing(venv)
    pip = [os.path.join(venv, "bin/python3"), "-m", "pip", "--disable-pip-version-check", "-q"]
    done = run([*pip, "install", "--no-index", "--no-compile", file], env=clean_env(), limit=BUILD_HANG_S)
    tap.ok(done.status == 0, "pip installs the wheel", done.err)
    # No compiler, no toolkit: nothing but python3 and what it needs.
    path = f"{venv}/bin:/usr/bin:/bin"
    report = records("trace", "wheel", PATH=path)
    records(os.path.join(venv, "bin/trace"), "wheel, its environment not activated")
    tools = run([os.path.join(venv, "bin/trace"), "diff", report, "--", report], env=clean_env())
    said = tools.err.decode()
    tap.ok(tools.status == 2 and f"which {venv}/bin/python3" in said and "pip install 'libtrace[diff]'" in said and said.count("\n") == 1,
           "trace diff uses the environment's python3 and says how to install numpy", said)
    module = run([os.path.join(venv, "bin/python3"), "-c", f"import ncu_report; print(ncu_report.__file__, ncu_report.load_report({report!r}))"],
                 env=clean_env(PYTHONPATH=os.path.join(venv, "lib/libtrace/python")))
    tap.ok(b"IContext" in module.out or module.err.count(b"is not a report of Nsight Compute"), "ncu_report loads the reader's library", (module.out, module.err))
    for command in ("libtrace-run", "libtrace-nightly"):
        result = run([os.path.join(venv, "bin", command), "--help"], env=clean_env(PATH=path))
        tap.ok(b"usage: libtrace-run" in result.out or b"'trace nightly' needs numpy" in result.err, f"{command} runs", result)
    run([*pip, "uninstall", "-y", "libtrace"], env=clean_env(), limit=BUILD_HANG_S)
    left = {name for name in listing(venv) - before if "__pycache__" not in name}
    tap.ok(not left, "pip uninstall leaves nothing", left)


def version():
    with open(os.path.join(SRC, "VERSION"), encoding="ascii") as file:
        return file.read().strip()


def listing(place):
    return {os.path.join(base, name) for base, _, names in os.walk(place) for name in names}


def archive():
    (file,) = packages("-linux-x86_64.tar.xz")
    place = os.path.join(PLACE, "archive")
    with tarfile.open(file) as packed:
        packed.extractall(place)
    (top,) = os.listdir(place)
    records(os.path.join(place, top, "bin/trace"), "archive")
    texts = os.listdir(os.path.join(place, top, "share/doc/libtrace/licenses"))
    tap.ok(all(f"{part}.txt" in texts for part in PARTS), "the license texts are in the archive", texts)


def license_texts(tree):
    """Return the license texts that are in a tree and are those of the release."""
    ours = os.path.join(ROOT, "share/doc/libtrace/licenses")
    found = set()
    for part in PARTS:
        path = os.path.join(tree, f"{part}.txt")
        if os.path.exists(path) and filecmp.cmp(path, os.path.join(ours, f"{part}.txt"), shallow=False) and os.path.getsize(path) > 500:
            found.add(part)
    return found


def debian_package():
    (file,) = packages(".deb")
    if not shutil.which("dpkg-deb"):
        tap.skip("Debian package", "no dpkg-deb")
        return
    place = os.path.join(PLACE, "deb")
    result = run(["dpkg-deb", "-x", file, place], env=clean_env())
    tap.ok(result.status == 0, "dpkg-deb unpacks the package", result.err)
    records(os.path.join(place, "usr/bin/trace"), "Debian package")
    files = {os.path.relpath(path, place) for path in listing(place)}
    others = {"usr/include/libtrace.h", "usr/lib/libtrace.so", "usr/lib/x86_64-linux-gnu/libtrace.so", "usr/bin/perf"}
    tap.ok(not files & others, "no file of libtrace3-dev or of perf", files & others)
    texts = license_texts(os.path.join(place, "usr/share/doc/libtrace-tracer/licenses"))
    with open(os.path.join(place, "usr/share/doc/libtrace-tracer/copyright"), encoding="utf-8") as copyright_file:
        about = copyright_file.read()
    # The text of the Apache License is in every Debian system.
    tap.ok(texts == set(PARTS) - {"Apache-2.0"} and "/usr/share/common-licenses/Apache-2.0" in about, "the license texts are in the Debian package", texts)
    if not shutil.which("lintian"):
        tap.skip("lintian", "not installed")
        return
    user = ["--allow-root"] if os.geteuid() == 0 else []
    result = run(["lintian", *user, "--fail-on", "error,warning", file], env=clean_env(), limit=BUILD_HANG_S)
    tap.ok(result.status == 0 and not result.out, "lintian has nothing to say", (result.out + result.err).decode())


def contents(place):
    """Return what a folder has: a hash by file, the target by link, nothing by folder. What dpkg writes about its work is left out."""
    found = {}
    for base, folders, names in os.walk(place):
        for name in folders + names:
            path = os.path.join(base, name)
            inside = os.path.relpath(path, place)
            if inside.startswith(("var/lib/dpkg", "var/log", "srv/")):
                continue
            if os.path.islink(path):
                found[inside] = os.readlink(path)
            elif name in folders:
                found[inside] = ""
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    found[inside] = hashlib.sha256(file.read()).hexdigest()
    return found


def beside_others():
    """Install the Debian package by dpkg beside libtrace3, libtrace3-dev and perf of Debian 12, and remove it.

    The three are installed in a system that scripts/old-root unpacks in build/roots; what they depend on is there, but unknown to dpkg.
    """
    (file,) = packages(".deb")
    if not shutil.which("bwrap") or run(["bwrap", "--unshare-user", "--uid", "0", "--gid", "0", "--ro-bind", "/", "/", "true"]).status:
        tap.skip("Debian package beside others", "bwrap is missing, or not permitted here")
        return
    unpacked, place = os.path.join(BUILD, "roots/neighbors"), os.path.join(PLACE, "neighbors")
    if not os.path.isdir(unpacked):
        os.makedirs(os.path.dirname(unpacked), exist_ok=True)
        made = run([os.path.join(SRC, "scripts/old-root"), "--keep", "bookworm", unpacked, "dpkg", "libc-bin", "diffutils", "dash", "coreutils", "sed", "grep",
                    "libtrace3-dev", "linux-perf"], env=clean_env(), limit=BUILD_HANG_S)
        if made.status == 3 or made.hung:
            tap.skip("Debian package beside others", made.err.decode().strip() or "the archive does not answer")
            return
        if not tap.ok(made.status == 0, "Debian 12 with libtrace3 and perf is unpacked", made.err.decode()):
            return
    shutil.copytree(unpacked, place, symlinks=True)
    for name in ("info", "updates", "triggers"):
        os.makedirs(os.path.join(place, "var/lib/dpkg", name), exist_ok=True)
    os.makedirs(os.path.join(place, "var/log"), exist_ok=True)
    for name in ("status", "available"):
        with open(os.path.join(place, "var/lib/dpkg", name), "w", encoding="ascii"):
            pass
    shutil.copy(file, os.path.join(place, "srv/ours.deb"))
    inside = lambda *words: run(["bwrap", "--bind", place, "/", "--proc", "/proc", "--dev", "/dev", "--unshare-user", "--uid", "0", "--gid", "0",  # noqa: E731
                                 "--cap-add", "ALL", "--chdir", "/srv", "--clearenv", "--setenv", "PATH", "/usr/sbin:/usr/bin:/sbin:/bin",
                                 "--setenv", "DEBIAN_FRONTEND", "noninteractive", *words], env=clean_env(), limit=BUILD_HANG_S)
    others = ("libtrace3", "libtrace3-dev", "linux-perf")
    result = inside("sh", "-c", "cd /var/cache/apt/archives && exec dpkg --force-depends -i libc6_*.deb libgcc-s1_*.deb gcc-12-base_*.deb libtrace3_*.deb libtrace3-dev_*.deb linux-perf_*.deb")
    if not tap.ok(result.status == 0, "libtrace3 and perf of Debian are installed", result):
        return
    before = contents(place)
    result = inside("dpkg", "-i", "ours.deb")
    states = inside("dpkg-query", "-W", "-f", "${Package}=${db:Status-Status} ", *others, "libtrace-tracer").out.decode().split()
    tap.ok(result.status == 0 and states == [f"{name}=installed" for name in ("libtrace-tracer", *others)], "dpkg -i installs the package beside libtrace3 and perf", (result, states))
    told = inside("trace", "--version")
    tap.ok(told.status == 0 and version().encode() in told.out, "the installed package's trace --version", told)
    recorded, read = inside("trace", "run", "-o", "r.rep", "--", "ls", "/"), inside("trace", "stats", "r.rep")
    tap.ok(recorded.status == 0 and read.status == 0 and b"OS Runtime Summary" in read.out, "the installed package records and reads", (recorded, read))
    perf = inside("perf", "--version")
    changed = inside("dpkg", "--verify", *others)
    now = contents(place)
    lost = [name for name, found in before.items() if now.get(name) != found]
    tap.ok(perf.status == 0 and b"perf version" in perf.out and changed.status == 0 and not changed.out and not lost, "no file of another package changes", (perf, changed, lost))
    result = inside("dpkg", "--purge", "libtrace-tracer")
    now = contents(place)
    left = sorted(name for name in {*now, *before} if now.get(name) != before.get(name))
    info = [name for name in os.listdir(os.path.join(place, "var/lib/dpkg/info")) if name.startswith("libtrace-tracer")]
    tap.ok(result.status == 0 and not left and not info, "removing the package leaves nothing", (result, left, info))


def image():
    (file,) = packages(".oci.tar")
    with tarfile.open(file) as packed:
        content = {entry.name: packed.extractfile(entry).read() for entry in packed if entry.isfile()}
    wrong = [name for name, data in content.items() if name.startswith("blobs/") and hashlib.sha256(data).hexdigest() != os.path.basename(name)]
    blob = lambda entry: content["blobs/sha256/" + entry["digest"].split(":")[1]]  # noqa: E731
    manifest = json.loads(blob(json.loads(content["index.json"])["manifests"][0]))
    config, layer = json.loads(blob(manifest["config"])), blob(manifest["layers"][0])
    plain = gzip.decompress(layer)
    tap.ok(not wrong and manifest["layers"][0]["size"] == len(layer) and config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(plain).hexdigest()],
           "digests and sizes of the image are right", wrong)
    place = os.path.join(PLACE, "image")
    with tarfile.open(fileobj=io.BytesIO(plain)) as packed:
        packed.extractall(place)
    texts = license_texts(os.path.join(place, "usr/local/share/doc/libtrace/licenses"))
    tap.ok(texts == set(PARTS), "the license texts are in the image", texts)
    if not shutil.which("bwrap") or run(["bwrap", "--ro-bind", "/", "/", "true"]).status:
        tap.skip("the image runs", "bwrap is missing, or not permitted here")
        return
    report = Report(os.path.join(place, "tmp/r.rep"))
    run([os.path.join(ROOT, "bin/trace"), "run", "-o", report.path, "--", "ls", "/"], env=clean_env())
    for words in (["info"], ["stats"], ["query", "{}", "SELECT COUNT(*) FROM PROCESSES"]):
        inside = ["bwrap", "--bind", place, "/", "--proc", "/proc", "--dev", "/dev", "--unshare-all", *config["config"]["Entrypoint"],
                  *([word.format("/tmp/r.rep") for word in words] if "{}" in words else [*words, "/tmp/r.rep"])]
        result = run(inside, env=clean_env())
        tap.ok(result.status == 0 and result.out, f"trace {words[0]} works in the image, which has no C library", result)


def installers():
    """Install and run the wheel by uv and pipx, which create an environment of their own, without a network."""
    (file,) = packages(".whl")
    tools = os.path.join(BUILD, "packaging/bin")
    for tool, environment, once, install in (
        ("uv", {"UV_OFFLINE": 1, "UV_NO_CONFIG": 1, "UV_PYTHON_DOWNLOADS": "never", "UV_CACHE_DIR": "{}/cache", "UV_TOOL_DIR": "{}/tools", "UV_TOOL_BIN_DIR": "{}/bin"},
         ["uvx", "--from", file], ["uv", "tool", "install", file]),
        ("pipx", {"PIP_NO_INDEX": 1, "PIPX_HOME": "{}/home", "PIPX_BIN_DIR": "{}/bin", "PIPX_MAN_DIR": "{}/man", "PIPX_DEFAULT_PYTHON": os.path.realpath(sys.executable)},
         ["pipx", "run", "--spec", file], ["pipx", "install", file])):
        if not os.path.exists(os.path.join(tools, tool)):
            tap.skip(f"{tool} installs the wheel", "not installed (scripts/setup --release; pipx needs Python 3.11)")
            continue
        place = folder()
        env = clean_env(HOME=place, PATH="/usr/bin:/bin", **{name: str(value).format(place) for name, value in environment.items()})
        one = run([os.path.join(tools, once[0]), *once[1:], "trace", "run", "-o", "one.rep", "--", "python3", "-c", "print(1)"], env, cwd=place)
        read = run([os.path.join(tools, once[0]), *once[1:], "trace", "stats", "one.rep"], env, cwd=place)
        tap.ok(one.status == 0 and one.out == b"1\n" and read.status == 0 and b"OS Runtime Summary" in read.out, f"{' '.join(once[:2])}: records and reads without installing", (one, read))
        done = run([os.path.join(tools, install[0]), *install[1:]], env, cwd=place, limit=BUILD_HANG_S)
        if tap.ok(done.status == 0, f"{tool} installs the wheel", done):
            records(os.path.join(place, "bin/trace"), f"installed by {tool}, by a link to the command", HOME=place)


def publisher():
    """Check that all packages and recipes name the publisher of packaging/publisher, and nobody else."""
    place = os.path.join(PLACE, "published")
    shutil.copytree(os.path.join(SRC, "packaging"), os.path.join(place, "packaging"))
    for name in ("scripts/make-packages", "VERSION", "NEWS.md"):
        os.makedirs(os.path.dirname(os.path.join(place, name)), exist_ok=True)
        shutil.copy(os.path.join(SRC, name), os.path.join(place, name))
    told = run([os.path.join(place, "scripts/make-packages"), ROOT, os.path.join(place, "placeholders"), "recipes"], env=clean_env())
    tap.ok(told.status == 0 and b"not fit for publishing: packaging/publisher has placeholders (Email, Homepage, Repository, Maintainer)" in told.err,
           "packages with the placeholders are not called fit for publishing", told)
    with open(os.path.join(place, "packaging/publisher"), "w", encoding="ascii") as file:
        file.write("Name: A. Publisher\nEmail: them@publisher.test\nHomepage: https://publisher.test/home\nRepository: https://publisher.test/code.git\nMaintainer: somebody\n")
    made = run([os.path.join(place, "scripts/make-packages"), ROOT, os.path.join(place, "dist")], env=clean_env(), limit=BUILD_HANG_S)
    tap.ok(made.status == 0 and not made.err, "packages of another publisher are made", made)
    if not shutil.which("dpkg-deb"):
        tap.skip("the publisher's name", "no dpkg-deb")
        return
    texts = {}
    for name in os.listdir(os.path.join(place, "dist")):
        path = os.path.join(place, "dist", name)
        if name.endswith(".whl"):
            with zipfile.ZipFile(path) as wheel_file:
                (about,) = [entry for entry in wheel_file.namelist() if entry.endswith("/METADATA")]
                texts["wheel"] = wheel_file.read(about).decode()
        elif name.endswith(".deb"):
            texts["Debian package"] = run(["dpkg-deb", "-f", path], env=clean_env()).out.decode()
        elif name.endswith((".oci.tar", "recipes.tar.xz")):
            with tarfile.open(path) as packed:
                for entry in packed:
                    content = packed.extractfile(entry).read() if entry.isfile() else b""
                    if b"publisher.test" in content or b"example.org" in content or entry.name.endswith((".py", ".yaml")):
                        texts[f"{name}, {os.path.basename(entry.name)}"] = content.decode()
    wrong = [what for what, text in texts.items() if "https://publisher.test/home" not in text or "example.org" in text or re.search("@[A-Z]+@", text)]
    tap.ok(len(texts) == 5 and not wrong, "wheel, Debian package, image and both recipes have the publisher's homepage, and nobody else's", (wrong, list(texts)))


# Prints a recipe of conda-forge as rattler-build reads it for linux-64. What the format does not have is an error.
RENDER = """
import json, sys, rattler_build as rb
platform = rb.PlatformConfig(target_platform="linux-64", build_platform="linux-64", host_platform="linux-64")
variants = rb.VariantConfig({"c_compiler": ["gcc"], "c_stdlib": ["sysroot"], "c_stdlib_version": ["2.17"]})
print(json.dumps([each.recipe.to_dict() for each in rb.Stage0Recipe.from_yaml(sys.stdin.read()).render(variants, rb.RenderConfig(platform=platform))]))
"""


def spack_recipe(text):
    """Run a recipe of Spack with stand-ins for the directives that it may use. Return its class, and the directives: name, words, options."""
    said = []
    directives = {name: lambda *words, name=name, **options: said.append((name, words, options)) for name in ("license", "version", "variant", "depends_on", "conflicts")}
    package, makefile = types.ModuleType("spack.package"), types.ModuleType("makefile")
    vars(package).update(directives)
    makefile.MakefilePackage = type("MakefilePackage", (), {})
    parents = ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems")
    stand_ins = {**{name: types.ModuleType(name) for name in parents}, "spack.package": package, "spack_repo.builtin.build_systems.makefile": makefile}
    names = {}
    with unittest.mock.patch.dict(sys.modules, stand_ins):
        exec(compile(text, "package.py", "exec"), names)
    return next(value for name, value in names.items() if name == "LibtraceTracer"), names, said


def recipe_of_spack(text):
    """Check a recipe of Spack without Spack: its directives, and that our Makefile takes what it passes to make."""
    recipe, names, said = spack_recipe(text)
    tap.ok(("version", (version(),), {"tag": f"v{version()}"}) in said and ("license", ("Apache-2.0",), {}) in said, "the recipe of Spack names this version and the license", said)
    variants = {words[0] for name, words, _ in said if name == "variant"}
    needs = [(words, options) for name, words, options in said if name == "depends_on"]
    kinds = {kind for _, options in needs for kind in ([options["type"]] if isinstance(options.get("type", ()), str) else options.get("type", ()))}
    conditions = {word[1:] for _, options in needs for word in options.get("when", "").split() if word[0] in "+~"}
    tap.ok(len(needs) > 5 and kinds <= {"build", "link", "run", "test"} and conditions <= variants, "its dependencies are of kinds that Spack has, on variants that it has", needs)
    calls = []
    names["make"] = lambda *words: calls.append(words)
    spec = unittest.mock.MagicMock()
    for method in (recipe.build, recipe.install):
        method(recipe(), spec, "/none")
    for words in calls:
        result = run(["make", "-C", SRC, "-n", *words, "CC=" + os.environ.get("CC", "gcc"), f"O={os.path.relpath(BUILD, SRC)}"], env=clean_env(), limit=BUILD_HANG_S)
        tap.ok(result.status == 0 and (words[0] != "install" or b"/none/lib/libtrace" in result.out), f"the Makefile takes what the recipe of Spack passes: make {words[0]}", result)


def recipe_of_conda(text):
    """Check the recipe of conda-forge with rattler-build, which needs no network for that. What it depends on is not looked up."""
    python = os.path.join(BUILD, "packaging/bin/python3")
    if run([python, "-c", "import rattler_build"]).status if os.path.exists(python) else True:
        tap.skip("the recipe of conda-forge", "no rattler-build (scripts/setup --release)")
        return
    result = run([python, "-c", RENDER], env=clean_env(), stdin=text.encode())
    (found,) = json.loads(result.out) if result.status == 0 else ({},)
    if tap.ok(result.status == 0, "rattler-build reads the recipe of conda-forge", result):
        tap.ok(found["package"] == {"name": "libtrace-tracer", "version": version()} and found["source"][0]["rev"].endswith(f"v{version()}") and len(found["tests"]) == 1
               and "sysroot_linux-64 2.17.*" in found["requirements"]["build"], "it names this version and glibc 2.17", found)
        tap.ok(found["extra"]["recipe-maintainers"] and all(os.path.exists(os.path.join(SRC, name)) for name in found["about"]["license_file"]),
               "it has maintainers and license files, which conda-forge asks for", found)
    wrong = run([python, "-c", RENDER], env=clean_env(), stdin=text.replace("requirements:", "requirments:").encode())
    tap.ok(wrong.status == 1 and b"requirments" in wrong.err, "a misspelled field is found", wrong)


def recipes():
    """Check what can be checked of the recipes without Spack and the packages of conda-forge."""
    (file,) = packages("-recipes.tar.xz")
    with tarfile.open(file) as packed:
        texts = {os.path.basename(entry.name): packed.extractfile(entry).read().decode() for entry in packed if entry.isfile()}
    recipe_of_spack(texts["package.py"])
    recipe_of_conda(texts["recipe.yaml"])


def without_archives():
    """Build as the recipes do where there are only shared libraries, in a folder of its own: with TORTURE=1 all, otherwise configure alone."""
    place = os.path.join(BUILD, "shared")
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    compiler = os.path.join(PLACE, "cc-shared")
    with open(compiler, "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\nfor word; do case $word in -static* | -l:*.a) exit 1 ;; esac; done\nexec {os.environ.get("CC", "gcc")} "$@"\n')
    os.chmod(compiler, 0o755)
    result = run([os.path.join(SRC, "scripts/configure"), place], env=clean_env(CC=compiler))
    found = dict(line.split(" := ", 1) for line in result.out.decode().splitlines() if " := " in line)
    tap.ok(result.status == 0 and found["FORMAT_LIBS"].split() == ["-lprotobuf-c", "-lzstd"] and not found["WRITER_STATIC"] and not found["TRACE_STATIC"],
           "shared libraries are linked where there are no archives", result)
    if TORTURE:
        # What conda-forge passes to the linker, but for its folders.
        flags = "-Wl,-O2 -Wl,--sort-common -Wl,--as-needed -Wl,-z,relro -Wl,-z,now -Wl,--disable-new-dtags -Wl,--gc-sections -Wl,--allow-shlib-undefined"
        os.symlink(os.path.join(BUILD, "web"), os.path.join(place, "web"))
        made = run(["make", "-C", SRC, f"-j{os.cpu_count()}", "all", f"O={os.path.relpath(place, SRC)}", f"CC={compiler}", f"LDFLAGS={flags}"], env=clean_env(), limit=BUILD_HANG_S)
        if tap.ok(made.status == 0, "it is built with shared libraries", made):
            records(os.path.join(place, "bin/trace"), "built with shared libraries")
            shown = run(["readelf", "-lW", os.path.join(place, "lib/libtrace/libtrace.so")]).out
            tap.ok(b"LOAD" in shown and b"RELRO" not in shown, "flags of the linker do not replace ours", shown)
    shutil.rmtree(place)


def symbols(path, is_undefined):
    """Yield name, version and binding of the symbols that a shared object asks for, or has."""
    for line in run(["readelf", "--dyn-syms", "-W", path]).out.decode().splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[0].rstrip(":").isdigit() and (fields[6] == "UND") == is_undefined and fields[4] != "LOCAL":
            name, _, wanted = fields[7].partition("@")
            yield name, wanted.lstrip("@"), fields[4]


def against_the_list_of_zig():
    """Compare what the shared objects ask for with the list of what glibc 2.17 has that comes with Zig, which does not come from this machine's glibc."""
    zig = [shutil.which("zig")] if shutil.which("zig") else [os.path.join(BUILD, "packaging/bin/python3"), "-m", "ziglang"]
    if run([*zig, "version"] if os.path.exists(zig[0]) else ["false"]).status:
        tap.skip("what is asked for is in Zig's list of glibc 2.17", f"no Zig ({BUILD}/packaging/bin/pip install ziglang)")
        return
    place = os.path.join(PLACE, "zig")
    os.makedirs(place)
    with open(os.path.join(place, "main.c"), "w", encoding="ascii") as file:
        file.write("int main(void) { return 0; }\n")
    linked = run([*zig, "cc", "-target", "x86_64-linux-gnu.2.17", "-o", "main", "main.c", "-lpthread", "-ldl", "-lm"],
                 env=clean_env(HOME=place, ZIG_GLOBAL_CACHE_DIR=os.path.join(place, "cache")), cwd=place, limit=BUILD_HANG_S)
    stubs = [os.path.join(base, name) for base, _, names in os.walk(os.path.join(place, "cache")) for name in names if ".so" in name]
    have = {(name, found) for path in stubs for name, found, _ in symbols(path, False)}
    names = {name for name, _ in have}
    tap.ok(linked.status == 0 and ("memcpy", "GLIBC_2.14") in have and "memfd_create" not in names, "Zig has a list of glibc 2.17", (linked, len(have)))
    library = os.path.join(ROOT, "lib/libtrace")
    asked = [(name, symbol) for name in sorted(os.listdir(library)) if os.path.isfile(os.path.join(library, name)) for symbol in symbols(os.path.join(library, name), True)]
    wrong = [(name, symbol) for name, symbol in asked if (symbol[:2] not in have if symbol[1] else symbol[0] not in names) and symbol[2] != "WEAK"]
    tap.ok(len(asked) > 100 and not wrong, "glibc 2.17 has all that the shared objects ask for, by Zig's list", wrong)


if __name__ == "__main__":
    if os.environ.get("SAN") or os.path.basename(BUILD).startswith("san"):
        tap.skip("packages", "a sanitizer build has none")
        tap.finish()
    if not os.path.exists(os.path.join(BUILD, "libunwind/libunwind.a")):
        tap.skip("packages", f"no {BUILD}/libunwind (scripts/setup --release)")
        tap.finish()
    main(built, what_is_not_portable_is_found, against_the_list_of_zig, names_of_errors, wheel, installers, archive, debian_package, beside_others, image, publisher, recipes, without_archives)
