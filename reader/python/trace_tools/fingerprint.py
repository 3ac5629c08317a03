"""What a run was made with: machine, driver, libraries, options, arguments. Says which differences forbid a comparison."""
import collections
import os

Difference = collections.namedtuple("Difference", "name base other refuses")

# Facts that change what is measured: runs that differ in one are not compared unless that is asked for. Others are told.
REFUSING = {
    "host", "processor", "cpus", "gpu", "option trace", "option osrt_threshold", "option osrt_locks", "option cuda_trivial", "option cuda_graph",
    "option capture_range", "option delay_ns", "option duration_ns", "option nvtx_domain_include", "option nvtx_domain_exclude", "program", "recorded by",
}
# Options that say where a report goes, not what is in it.
PLAIN_OPTIONS = {"output", "overwrite", "spool_dir", "helper", "exit_wait", "flush_interval_ns", "compress", "memory"}


def read(db, profile):
    """Fills facts and problems of the profile."""
    facts = profile.facts
    env = collections.defaultdict(set)
    for name, value in db.rows("TARGET_INFO_SYSTEM_ENV", "SELECT name, value FROM TARGET_INFO_SYSTEM_ENV"):
        env[name].add(str(value))
    for fact, name in (("host", "Hostname"), ("processor", "CpuDescription"), ("cpus", "CpuCores"), ("kernel", "SoftwareReleaseVersion"),
                       ("driver", "NvDriverVersion"), ("CUDA driver", "CudaDriverVersion")):
        if env[name]:
            facts[fact] = ", ".join(sorted(env[name]))
    gpus = sorted(str(row[0]) for row in db.rows("TARGET_INFO_GPU", "SELECT name FROM TARGET_INFO_GPU"))
    if gpus:
        facts["gpu"] = ", ".join(f"{gpus.count(g)} x {g}" for g in sorted(set(gpus)))
    ours = "LIBTRACE_PROCESS" in db.tables
    facts["recorded by"] = "libtrace" if ours else "nsys"
    capture = db.rows("META_DATA_CAPTURE", "SELECT name, value FROM META_DATA_CAPTURE")
    for name, value in capture:
        option, _, text = (value or "").partition("=")
        if name == "LIBTRACE_OPTION" and option not in PLAIN_OPTIONS:
            facts[f"option {option}"] = text
        elif name == "LIBTRACE_FACT":
            facts[option] = text
        elif name == "OS_RUNTIME_OPTIONS:DURATION_THRESHOLD_NS" and not ours:
            facts["option osrt_threshold"] = value
    arguments = [value or "" for name, value in capture if name.startswith("PROCESS_0:ARGUMENT_")]
    if arguments:
        facts["arguments"] = " ".join(arguments)
    program = next((value for name, value in capture if name == "PROCESS_0:COMMAND"), None)
    if program:
        facts["program"] = os.path.basename(program)
    read_end(db, profile)


def read_end(db, profile):
    """Whether the run is a whole one."""
    root = {row[0] for row in db.rows("LIBTRACE_REPORT", "SELECT rootPid FROM LIBTRACE_REPORT")}
    for pid, executable, how, status, dropped in db.rows("LIBTRACE_PROCESS", "SELECT pid, executable, endHow, exitStatus, dropped FROM LIBTRACE_PROCESS"):
        name = os.path.basename(executable or "?")
        if dropped:
            profile.problems.append(f"{dropped} events of {name} ({pid}) were dropped")
        if pid in root and how == "exit" and status:
            profile.problems.append(f"{name} ended with status {status}")
        elif pid in root and how not in ("exit", "exec"):
            profile.problems.append(f"{name} did not end by itself ({how})")


def differences(base, other):
    """Facts in which the runs of two sides (lists of profiles) differ, each side's values as one text; sorted, refusing ones first."""
    found = []
    names = sorted({name for profile in base + other for name in profile.facts})
    for name in names:
        sides = [sorted({profile.facts.get(name, "not known") for profile in side}) for side in (base, other)]
        if sides[0] != sides[1] or len(sides[0]) > 1:
            found.append(Difference(name, " | ".join(sides[0]), " | ".join(sides[1]), name in REFUSING))
    return sorted(found, key=lambda d: (not d.refuses, d.name))
