#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""`trace doctor` in sandboxes that take away, one at a time, what recording depends on: each line says so, and what to do about it."""

import glob
import json
import os
import platform
import resource
import shutil
import struct
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
from lib import LIBRARY, PRODUCTS, TRACE, clean_env, folder, main, run, tap  # noqa: E402

PLACE = folder()
NAMES = ["record", "spool", "callchains", "samples", "functions", "openmp", "clock", "driver", "cupti", "counters", "fecs", "ptrace", "perf_event", "mpi", "debuginfod"]
STATES = {"yes", "partly", "no", "absent"}
SYS_PTRACE, SYS_PERF_EVENT_OPEN = 101, 298
EPERM = 1
seen = set()  # names of checks that a sandbox took something away from


def written(name, text):
    path = os.path.join(PLACE, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def filter_file(*refused):
    """Write a system call filter for bwrap that permits everything but these calls, as an open file."""
    code = [struct.pack("=HBBI", 0x20, 0, 0, 0)]  # load the number
    for number in refused:
        code.append(struct.pack("=HBBI", 0x15, 0, 1, number))
        code.append(struct.pack("=HBBI", 0x06, 0, 0, 0x00050000 | EPERM))
    code.append(struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000))
    file = tempfile.TemporaryFile(dir=PLACE)
    file.write(b"".join(code))
    file.seek(0)
    return file


def asked(options=(), refused=None, command=(TRACE,), prefix=(), **env):
    """Return the findings by name, and the exit status, of a sandbox."""
    argv = ["bwrap", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--bind", PLACE, PLACE, *options]
    fds = {}
    if refused is not None:
        file = filter_file(*refused)
        argv += ["--seccomp", str(file.fileno())]
        fds = {"pass_fds": (file.fileno(),)}
    env = clean_env(**{"TMPDIR": PLACE, **env})
    result = run([*prefix, *argv, *command, "doctor", "--json"], env=env, **fds)
    try:
        said = json.loads(result.out)
    except ValueError:
        return {}, result
    return {check["name"]: check for check in said["checks"]}, result


def says(name, what, text, state, sandbox, advice=None, status=0):
    """Check one finding: its state, words of its text, words of its advice."""
    found, result = sandbox
    check = found.get(name, {})
    if state != "yes":
        seen.add(name)
    tap.ok(check.get("state") == state and text in check["text"] and (advice is None) == (check["advice"] is None) and (advice or "") in (check["advice"] or "")
           and result.status == status, f"{what}: {name} is '{state}'", (check, result))


def everything_there():
    found, result = asked()
    tap.ok(list(found) == NAMES and all(check["state"] in STATES for check in found.values()) and result.status == 0 and not result.err,
           "JSON has every check", result)
    says("record", "nothing is taken away", "complete: nothing lost", "yes", (found, result))
    text = run([TRACE, "doctor"], env=clean_env(TMPDIR=PLACE))
    lines = text.out.decode().splitlines()
    first = [line for line in lines if line[:4].strip() or line.startswith("  -")]
    tap.ok(text.status == 0 and len([line for line in first[1:]]) == len(NAMES) and len(lines) <= 30, "the text has a line for each check, and fits a screen", text.out.decode())
    left = [name for name in os.listdir(PLACE) if "doctor" in name]
    tap.ok(not left, "nothing is left of the recording", left)


def the_library():
    sandbox = asked(LIBTRACE_HOME="/none")
    says("record", "no library", "libtrace.so and libtrace-writer are not in", "no", sandbox, "install libtrace again", 1)
    if run(["readelf", "-lW", TRACE]).out.count(b"INTERP"):
        tap.skip("no C library", "trace is not linked statically here")
        return
    bare = ["--tmpfs", "/", "--ro-bind", os.path.join(PRODUCTS, "bin"), "/x/bin", "--ro-bind", os.path.join(PRODUCTS, "lib"), "/x/lib", "--proc", "/proc", "--dev", "/dev",
            "--dir", "/tmp"]
    sandbox = asked(bare, command=("/x/bin/trace",), TMPDIR=None)
    says("record", "no glibc, as on Alpine", "there is no glibc here", "no", sandbox, "reports can be read here", 1)
    sandbox = asked(TMPDIR="/none")
    says("record", "no folder to write to", "cannot create a folder", "no", sandbox, "set TMPDIR", 1)


def shared_memory():
    sandbox = asked(["--ro-bind", "/dev/shm", "/dev/shm"])
    says("spool", "/dev/shm cannot be written to", "/dev/shm: Read-only file system", "no", sandbox, "set LIBTRACE_SPOOL_DIR", 1)
    says("record", "/dev/shm cannot be written to", "cannot create a folder in '/dev/shm'", "no", sandbox, "trace run -- ls", 1)
    sandbox = asked(["--ro-bind", "/dev/shm", "/dev/shm"], LIBTRACE_SPOOL_DIR=PLACE)
    says("spool", "LIBTRACE_SPOOL_DIR helps", f"{PLACE}: ", "yes", sandbox)
    says("record", "LIBTRACE_SPOOL_DIR helps", "complete: nothing lost", "yes", sandbox)
    sandbox = asked(["--size", str(16 << 20), "--tmpfs", "/dev/shm"])
    says("spool", "little shared memory, as Docker has it", "/dev/shm: 16 MiB free", "partly", sandbox, "--shm-size=1g")


def system_calls():
    sandbox = asked(refused=())
    says("callchains", "a system call filter", "a system call filter (seccomp) is in force", "no", sandbox, "seccomp=unconfined")
    says("samples", "a system call filter", "a system call filter (seccomp) is in force", "no", sandbox)
    sandbox = asked(refused=(SYS_PTRACE, SYS_PERF_EVENT_OPEN))
    says("ptrace", "ptrace() is refused", "debuggers cannot attach: Operation not permitted", "no", sandbox, "SYS_PTRACE")
    says("perf_event", "perf_event_open() is refused", "perf events are refused: Operation not permitted", "no", sandbox, "PERFMON")
    says("record", "both are refused, and nothing needs them", "complete: nothing lost", "yes", sandbox)
    sandbox = asked(["--tmpfs", "/proc"])
    says("callchains", "no /proc", "/proc is not mounted", "partly", sandbox, "mount -t proc", sandbox[1].status)


def old_libc():
    """Check the line of --functions with a libtrace-host that reports an old C library, and with one that cannot run."""
    home = os.path.join(PLACE, "home")
    for name in os.listdir(os.path.dirname(LIBRARY)):
        if name != "libtrace-host":
            os.makedirs(home, exist_ok=True)
            os.symlink(os.path.join(os.path.dirname(LIBRARY), name), os.path.join(home, name))
    host = written("home/libtrace-host", "#!/bin/sh\necho glibc=2.31\n")
    os.chmod(host, 0o755)
    sandbox = asked(LIBTRACE_HOME=home)
    says("functions", "glibc 2.31", "glibc 2.31 is older than 2.35", "no", sandbox)
    says("openmp", "glibc 2.31", "not GNU's libgomp, which has no OMPT: glibc 2.31 is older than 2.35", "partly", sandbox)
    written("home/libtrace-host", "#!/bin/sh\nexit 1\n")
    sandbox = asked(LIBTRACE_HOME=home)
    says("functions", "no glibc", "there is no glibc here", "no", sandbox, None, 1)
    found = asked()
    wanted = "yes" if platform.machine() == "x86_64" and tuple(map(int, platform.libc_ver()[1].split(".")[:2])) >= (2, 35) else "no"
    says("functions", "this machine", "--functions", wanted, found)


def kernel_settings():
    scope, paranoid = written("ptrace_scope", "1\n"), written("perf_event_paranoid", "3\n")
    options = ["--tmpfs", "/proc/sys/kernel", "--dir", "/proc/sys/kernel/yama", "--ro-bind", scope, "/proc/sys/kernel/yama/ptrace_scope",
               "--ro-bind", paranoid, "/proc/sys/kernel/perf_event_paranoid"]
    sandbox = asked(options)
    says("ptrace", "ptrace_scope is 1", "their own children only (ptrace_scope 1)", "partly", sandbox, "kernel.yama.ptrace_scope=0")
    tap.ok("perf_event_paranoid 3" in sandbox[0]["perf_event"]["text"], "perf_event_paranoid is read from the kernel", sandbox[0]["perf_event"])
    written("ptrace_scope", "2\n")
    says("ptrace", "ptrace_scope is 2", "processes as root only (ptrace_scope 2)", "partly", asked(options), "kernel.yama.ptrace_scope=0")
    source = written("clocksource", "hpet\n")
    sandbox = asked(["--ro-bind", source, "/sys/devices/system/clocksource/clocksource0/current_clocksource"])
    says("clock", "the kernel uses another clock", "the kernel's clock source is 'hpet'", "partly", sandbox)
    least = min(8, resource.getrlimit(resource.RLIMIT_SIGPENDING)[1])
    sandbox = asked(prefix=["prlimit", f"--sigpending={least}"])
    says("samples", "few signals may be pending", f"only {least} signals may be pending", "partly", sandbox, "ulimit -i")


def cuda():
    if not os.path.isdir("/proc/driver"):
        tap.skip("a GPU's driver", "there is no /proc/driver to put it into")
        return
    version = written("nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06\n")
    params = {state: written(f"nvidia/params{state}", f"EnableMSI: 1\nRmProfilingAdminOnly: {state}\n") for state in (0, 1)}

    def driver(state, *more):
        return ["--tmpfs", "/proc/driver", "--dir", "/proc/driver/nvidia", "--ro-bind", version, "/proc/driver/nvidia/version", "--ro-bind", params[state],
                "/proc/driver/nvidia/params", "--tmpfs", "/usr/local", "--cap-drop", "ALL", *more]

    installed = {os.path.realpath(path) for path in glob.glob("/usr/lib/x86_64-linux-gnu/libcuda.so*")}
    none = asked(["--tmpfs", "/proc/driver", "--tmpfs", "/usr/local", *(word for path in installed for word in ("--ro-bind", written("none", ""), path))])
    says("driver", "no driver", "no libcuda.so.1", "absent", none)
    says("cupti", "no driver", "libcupti.so is not in the loader's path", "absent", none)
    says("counters", "no driver", "no NVIDIA driver in this kernel", "absent", none)
    says("fecs", "no driver", "no NVIDIA driver in this kernel", "absent", none)
    sandbox = asked(driver(1))
    says("fecs", "a driver, and no permission", "root alone (this is not root)", "no", sandbox, "trace run -t cuda")
    says("counters", "counters for administrators only", "RmProfilingAdminOnly: 1", "no", sandbox, "NVreg_RestrictProfilingToAdminUsers=0")
    if not glob.glob("/usr/lib/x86_64-linux-gnu/libcuda.so.1"):
        says("driver", "a driver, and no library of it", "580.65.06", "no", sandbox, "docker run --gpus all")
    says("counters", "counters for everybody", "permitted", "yes", asked(driver(0)))
    reason = device.missing()
    if reason:
        tap.skip("CUPTI", reason)
        return
    none = asked(driver(0), LD_LIBRARY_PATH=device.folder("nocupti"))
    says("driver", "a driver and a device", "CUDA 13", "yes", none)
    says("cupti", "no CUPTI", "not in the loader's path or in /usr/local/cuda", "partly", none, "LIBTRACE_CUPTI")
    hidden = asked(driver(0), LD_LIBRARY_PATH=device.folder("nocupti"), SIM_FAULT="fail=cuInit:0:100")
    says("driver", "a driver, and no device is visible", "CUDA 13.0, but cuInit() failed: 100", "no", hidden, "run nvidia-smi; error 100: no device is visible")
    old = asked(driver(0), LD_LIBRARY_PATH=device.folder("cuda11"), SIM_FAULT="cupti_version=12", LIBTRACE_CUPTI=os.path.join(device.folder("cuda11"), "libcupti.so.11.8"))
    says("cupti", "CUPTI of CUDA 10", "libcupti.so.11.8, interface 12", "no", old, "install CUPTI of CUDA 11 or later")
    for name, library, interface in (("cuda12", "libcupti.so.12", "24"), ("cuda11", "libcupti.so.11.8", "18")):
        path = os.path.join(device.folder(name), library)
        says("cupti", f"CUPTI of {name}", f"{path}, interface {interface}", "yes", asked(driver(0), LIBTRACE_CUPTI=path))
    says("cupti", "LIBTRACE_CUPTI is wrong", "LIBTRACE_CUPTI is '/none.so', which cannot be loaded", "no", asked(LIBTRACE_CUPTI="/none.so"))


def tools():
    place = os.path.join(PLACE, "mpi")
    written("mpi/orterun", "#!/bin/sh\n")
    os.chmod(os.path.join(place, "orterun"), 0o755)
    os.symlink("orterun", os.path.join(place, "mpiexec"))
    bwrap = os.path.dirname(shutil.which("bwrap"))
    hidden = [word for folder in ("/usr/bin", "/usr/local/bin") if not os.path.samefile(folder, bwrap) for word in ("--tmpfs", folder)]
    says("mpi", "Open MPI", "%q{OMPI_COMM_WORLD_RANK}", "yes", asked(hidden, PATH=f"{place}:{bwrap}"))
    os.remove(os.path.join(place, "mpiexec"))
    none = asked(prefix=[], command=("/usr/bin/env", f"PATH={place}", TRACE))
    says("mpi", "no MPI", "no mpiexec, mpirun or srun in PATH", "absent", none)
    says("debuginfod", "no server is named", "DEBUGINFOD_URLS is not set", "absent", none, "export DEBUGINFOD_URLS=")
    libraries = sorted({os.path.realpath(path) for path in glob.glob("/usr/lib/x86_64-linux-gnu/libdebuginfod.so.1*")})
    if not libraries:
        tap.skip("debuginfod", "no libdebuginfod")
        return
    says("debuginfod", "a server is named", "http://one", "yes", asked(DEBUGINFOD_URLS="http://one"))
    empty = written("empty", "")
    sandbox = asked([word for path in libraries for word in ("--ro-bind", empty, path)], DEBUGINFOD_URLS="http://one")
    says("debuginfod", "the library is missing", "libdebuginfod.so.1 cannot be loaded", "no", sandbox, "libdebuginfod1 on Debian")


def every_line():
    """Check that the functions above took away what each check needs. It runs last, and only if all of them ran."""
    left = [name for name in NAMES if name not in seen]
    if not os.path.isdir("/proc/driver"):
        left = [name for name in left if name not in ("driver", "cupti", "counters", "fecs")]
    tap.ok(not left or len(sys.argv) > 1, "a sandbox takes away what each line depends on", left)


if __name__ == "__main__":
    if not shutil.which("bwrap") or run(["bwrap", "--ro-bind", "/", "/", "true"]).status:
        tap.skip("trace doctor in sandboxes", "bwrap is missing, or not permitted here")
        tap.finish()
    main(everything_there, the_library, shared_memory, system_calls, old_libc, kernel_settings, cuda, tools, every_line)
