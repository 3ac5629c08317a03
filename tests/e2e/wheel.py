#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 500
"""Check the packages that `make dist` makes: the same bytes each time, and what is in them works.

They are built from the objects of this build. With TORTURE=1 they are built once more from nothing, in another folder, which must give the same
bytes. scripts/setup --release fetches what the build and the checks need.
"""

import ast
import ctypes
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import BUILD, SRC, TORTURE, Report, clean_env, folder, main, run, tap  # noqa: E402

PLACE = folder()
DIST = os.path.join(PLACE, "dist")
ROOT = os.path.join(BUILD, "release/root")
PROGRAM = "import subprocess, threading; [t.start() or t.join() for t in [threading.Thread(target=subprocess.run, args=(['true'],)) for _ in range(4)]]"
PARTS = ("Apache-2.0", "LGPL-2.1", "LGPL-3", "GPL-3", "glibc", "elfutils", "libgcc", "libunwind", "zstd", "protobuf-c", "d3")


def packages(end):
    return [os.path.join(DIST, name) for name in sorted(os.listdir(DIST)) if name.endswith(end)]


def make(build, *words, **more):
    return run(["make", "-C", SRC, *words, f"O={os.path.relpath(build, SRC)}", f"CC={os.environ.get('CC', 'gcc')}"], env=clean_env(**more), limit=480)


def sums(place):
    with open(os.path.join(place, "SHA256SUMS"), encoding="ascii") as file:
        return dict(reversed(line.split()) for line in file)


def built():
    result = make(BUILD, "release")
    if not tap.ok(result.status == 0, "make release succeeds, and its files are portable", (result.out + result.err).decode()):
        tap.finish()
    made = run([os.path.join(SRC, "scripts/make-packages"), ROOT, DIST], env=clean_env(), limit=120)
    if not tap.ok(made.status == 0 and len(sums(DIST)) == 4, "all packages are made", made.err.decode()):
        tap.finish()
    again = os.path.join(PLACE, "again")
    shutil.copytree(ROOT, os.path.join(PLACE, "copy"), copy_function=shutil.copyfile)  # other times and modes
    for name in os.listdir(os.path.join(ROOT, "bin")):
        os.chmod(os.path.join(PLACE, "copy/bin", name), 0o700)
    for name in ("libtrace-host", "libtrace-writer"):
        os.chmod(os.path.join(PLACE, "copy/lib/libtrace", name), 0o755)
    run([os.path.join(SRC, "scripts/make-packages"), os.path.join(PLACE, "copy"), again, "wheel", "deb", "image"], env=clean_env(TZ="Asia/Tokyo", LC_ALL="C"), limit=120)
    tap.ok(len(sums(again)) == 3 and sums(again).items() <= sums(DIST).items(), "times, modes and time zone of the build change no byte of a package", (sums(DIST), sums(again)))
    if not TORTURE:
        return
    other = os.path.join(BUILD, "again")
    shutil.rmtree(other, ignore_errors=True)
    os.makedirs(other)
    for name in ("libunwind", "cuda"):
        if os.path.exists(os.path.join(BUILD, name)):
            os.symlink(os.path.join(BUILD, name), os.path.join(other, name))
    result = make(other, "dist")
    tap.ok(result.status == 0 and sums(os.path.join(other, "dist")) == sums(DIST), "a second build in another folder gives the same bytes",
           (result.err.decode()[-2000:], sums(DIST)))
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
    done = run([*pip, "install", "--no-index", "--no-compile", file], env=clean_env(), limit=120)
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
    run([*pip, "uninstall", "-y", "libtrace"], env=clean_env(), limit=120)
    left = {name for name in listing(venv) - before if "__pycache__" not in name}
    tap.ok(not left, "pip uninstall leaves nothing", left)


def version():
    with open(os.path.join(SRC, "VERSION"), encoding="ascii") as file:
        return file.read().strip()


def listing(place):
    return {os.path.join(base, name) for base, _, names in os.walk(place) for name in names}


def archive():
    (file,) = packages(".tar.xz")
    place = os.path.join(PLACE, "archive")
    with tarfile.open(file) as packed:
        packed.extractall(place)
    (top,) = os.listdir(place)
    records(os.path.join(place, top, "bin/trace"), "archive")
    texts = os.listdir(os.path.join(place, top, "share/doc/libtrace/licenses"))
    tap.ok(all(f"{part}.txt" in texts for part in PARTS), "the license texts are in the archive", texts)


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
    if not shutil.which("lintian"):
        tap.skip("lintian", "not installed")
        return
    user = ["--allow-root"] if os.geteuid() == 0 else []
    result = run(["lintian", *user, "--fail-on", "error,warning", file], env=clean_env(), limit=120)
    tap.ok(result.status == 0 and not result.out, "lintian has nothing to say", (result.out + result.err).decode())


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


def recipes():
    """Check what can be checked of the recipes without Spack and conda-build."""
    with open(os.path.join(SRC, "packaging/spack/package.py"), encoding="utf-8") as file:
        spack = file.read()
    calls = [node.func.id for node in ast.walk(ast.parse(spack)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    tap.ok({"depends_on", "version", "license", "make"} <= set(calls), "the recipe of Spack is Python with what Spack asks for", calls)
    with open(os.path.join(SRC, "packaging/conda/meta.yaml"), encoding="utf-8") as file:
        conda = [line.rstrip() for line in file]
    sections = [line[:-1] for line in conda if line.endswith(":") and not line.startswith((" ", "#"))]
    tap.ok(sections == ["package", "source", "build", "requirements", "test", "about"] and not any("\t" in line for line in conda), "the recipe of conda has its sections", sections)
    makefile = run(["make", "-C", SRC, "-n", "install", "PREFIX=/none", "CC=" + os.environ.get("CC", "gcc"), "AR=ar", f"O={os.path.relpath(BUILD, SRC)}"], env=clean_env(), limit=120)
    tap.ok(makefile.status == 0 and b"/none/lib/libtrace" in makefile.out, "the Makefile has the targets and variables of the recipes", makefile.err)


if __name__ == "__main__":
    if os.environ.get("SAN") or os.path.basename(BUILD).startswith("san"):
        tap.skip("packages", "a sanitizer build has none")
        tap.finish()
    if not os.path.exists(os.path.join(BUILD, "libunwind/libunwind.a")):
        tap.skip("packages", f"no {BUILD}/libunwind (scripts/setup --release)")
        tap.finish()
    main(built, what_is_not_portable_is_found, names_of_errors, wheel, archive, debian_package, image, recipes)
