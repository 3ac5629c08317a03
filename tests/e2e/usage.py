#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check errors that a new user encounters in all commands: closed pipes, full disks, files that are not reports, names that do not exist."""
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import LIBRARY, TRACE, app, clean_env, fixtures, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

PLACE = folder()


def recorded(name, *command, **more):
    path, spool = os.path.join(PLACE, name + ".rep"), spool_folder()
    run(list(command), env=traced_env(path, spool, **more))
    wait_spool_gone(spool)
    return path


REPORT = recorded("calls", app("lock_holder"), LIBTRACE_OSRT_BACKTRACE_THRESHOLD=0)


# ---- output that goes nowhere ----

def printing():
    """Return commands that print something on standard output."""
    return [["info", REPORT], ["info", "--json", REPORT], ["dump", REPORT], ["dump", "--json", REPORT], ["check", REPORT], ["stats", REPORT],
            ["stats", "-f", "csv", REPORT], ["stats", "-r", "callchain_tree", REPORT], ["stats", "-r", "cuda_api_sum", REPORT], ["analyze", REPORT],
            ["analyze", "--list"], ["report", REPORT], ["query", REPORT, "SELECT * FROM StringIds"], ["export", "-t", "json", "-o", "-", REPORT],
            ["export", "-t", "folded", "-o", "-", REPORT], ["export", "-t", "perfetto", "-o", "-", REPORT], ["export", "--list"], ["symbolize", REPORT],
            ["diff", REPORT, "--", REPORT], ["nightly", "run", "--help"], ["help"], ["help", "--man"], ["run", "--help"], ["--help"], ["--version"]]


def said_in(result):
    """Return the messages about the output; the other messages are about the report."""
    return [line for line in result.stderr.splitlines() if b"cannot write" in line or b"rror" in line or b"Traceback" in line]


def closed_pipes():
    for arguments in printing():
        ends = os.pipe()
        os.close(ends[0])
        result = subprocess.run([TRACE, *arguments], env=clean_env(), stdin=subprocess.DEVNULL, stdout=ends[1], stderr=subprocess.PIPE, check=False)
        os.close(ends[1])
        tap.ok(result.returncode == -signal.SIGPIPE and not said_in(result), f"{' '.join(arguments[:3])}: a closed pipe ends it by SIGPIPE, without a word", result)


def full_disks():
    for arguments in printing():
        with open("/dev/full", "wb") as full:
            result = subprocess.run([TRACE, *arguments], env=clean_env(), stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, check=False)
        said = said_in(result)
        tap.ok(result.returncode == 2 and said == [b"trace: cannot write 'standard output': No space left on device"],
               f"{' '.join(arguments[:3])}: a full disk is reported in one line", result)


def unknown_options_have_neighbors():
    for words, said in ((("stats", "--reprot", "x"), "unknown option '--reprot'; did you mean report? see 'trace help stats'"),
                        (("run", "--trce=nvtx", "true"), "unknown option '--trce=nvtx'; did you mean trace? see 'trace help run'"),
                        (("run", "--function", "x", "true"), "ambiguous option '--function': --functions, --functions-file, --functions-backtrace-threshold; see 'trace help run'"),
                        (("stats", "--zzzzzz"), "unknown option '--zzzzzz'; see 'trace help stats'")):
        done = trace(*words)
        tap.ok(done.status == 2 and done.err.decode() == f"trace: {said}\n", f"{' '.join(words)}: options with a similar name", done)


def a_run_nobody_listens_to():
    """Check that `trace run` ends as the program did, even if nobody reads its output."""
    for command, status in ((["sh", "-c", "exit 3"], 3), (["sh", "-c", "kill -PIPE $$"], -signal.SIGPIPE)):
        ends = os.pipe()
        os.close(ends[0])
        result = subprocess.run([TRACE, "run", "-f", "true", "-o", os.path.join(PLACE, "unheard"), "--", *command], env=clean_env(), stdin=subprocess.DEVNULL,
                                stderr=ends[1], check=False)
        os.close(ends[1])
        tap.ok(result.returncode == status, f"trace run whose messages nobody reads ends with {status}", result)


# ---- files that are not reports ----

def strangers():
    """Check the message about files of other kinds, and the commands that it names."""
    database, made = os.path.join(PLACE, "calls.sqlite"), {}
    with open(REPORT, "rb") as file:
        whole = file.read(100)
    trace("export", "-t", "sqlite", "-o", database, REPORT)
    for name, data in (("empty", b""), ("noise", bytes(range(128)) * 9), ("words.txt", b"nothing but words\n" * 30), ("calls.nsys-rep", b"\x01\x02\x03" * 99),
                       ("n.rep", b"N"), ("six.rep", whole[:6]), ("nine.rep", whole[:9]), ("x.gz", b"\x1f\x8b\x08" + bytes(99))):
        made[name] = os.path.join(PLACE, name)
        with open(made[name], "wb") as file:
            file.write(data)
    found = [(database, b"a database; info, dump, check, export, stats, analyze, report, query and diff read it"), (app("lock_holder"), b"ELF"), (PLACE, b"a folder"),
             (made["empty"], b"an empty file"), (made["noise"], b"any other known format"), (made["words.txt"], b"a text file"),
             *((made[name], b"the beginning of a report: it is truncated") for name in ("n.rep", "six.rep", "nine.rep")), (made["calls.nsys-rep"], b"nsys export -t sqlite"), (made["x.gz"], b"gzip")]
    xspace = os.path.join(fixtures("xplane"), "own_cuda_min.xplane.pb")
    return found + ([(xspace, b"an XSpace of a profiler; info, dump, check, export, stats, analyze, report and query read it")] if os.path.exists(xspace) else [])


def files_that_are_no_reports():
    reading = {kind: ("dump", "report", "info", "check", "stats", "analyze", "export") for kind in (b"a database", b"an XSpace")}
    for path, text in strangers():
        taken = next((commands for kind, commands in reading.items() if text.startswith(kind)), ())
        for command in ("dump", "report", "info", "check", "stats", "analyze", "details", "symbolize", "export"):
            result = trace(command, *(("-t", "json", "-o", "-") if command == "export" else ()), path)
            if command in taken:
                tap.ok(result.status == 0 and result.out, f"{command} reads {text[:12]}, as is said", result)
            else:
                tap.ok(result.status == 2 and not result.out and result.err.count(b"\n") == 1 and b"not a report" in result.err and text in result.err
                       and path.encode() in result.err, f"{command}: one line says that it is {text[:30]}", result)


def imports_of_other_files():
    for path, text in [(REPORT, b"a report; 'trace info'"), *strangers()]:
        result = trace("import", path)
        if os.path.basename(path) == "empty":
            tap.ok(result.status == 0 and not result.err, "import: an empty file is a text without a line", result)
            continue
        if os.path.basename(path) == "n.rep":
            continue  # a single letter is a text, too
        text = {b"a folder": b"not a regular file", b"any other known format": b"not a text file", b"a text file": b"not NVTXT, nor a file of CodeXL"}.get(text, text)
        tap.ok(result.status == 2 and result.err.count(b"\n") == 1 and not result.out and text in result.err and path.encode() in result.err,
               f"import: one line says that it is {text[:30]}", result)
    for options in ([], ["-o", os.path.join(folder(), "job.rep")]):
        result = trace("import", *options, REPORT, REPORT)
        tap.ok(result.status == 2 and result.err.count(b"\n") == 1 and b"'trace merge'" in result.err and not os.path.exists(options[-1] if options else ""),
               f"import {' '.join(options[:1])} of two reports: one line names trace merge", result)


# ---- names that do not exist ----

def unknown_names():
    for arguments, text in ((("stats", "-r", "cuda_kern_sum", REPORT), b"unknown report 'cuda_kern_sum'; did you mean cuda_api_sum, cuda_gpu_kern_sum or cuda_gpu_sum?"),
                            (("stats", "-r", "osrt_sum,osrt_sums", REPORT), b"unknown report 'osrt_sums'; did you mean osrt_sum"),
                            (("analyze", "-r", "lockconvoy", REPORT), b"unknown rule 'lockconvoy'; did you mean lock_convoy?"),
                            (("anaylze", REPORT), b"unknown command 'anaylze'; did you mean analyze?"), (("quux",), b"unknown command 'quux'; see 'trace help'")):
        result = trace(*arguments)
        tap.ok(result.status == 2 and text in result.err and result.err.count(b"\n") == 1, f"{arguments[0]}: {text.decode()}", result)
    result = trace("stats", "-r", "x", REPORT)
    lines = result.err.decode().splitlines()
    listed = {name.strip() for name in " ".join(lines[1:]).split(",")}
    tap.ok(result.status == 2 and max(map(len, lines)) <= 100 and {"osrt_sum", "callchain_tree", "um_total_sum", "mpi_event_trace"} <= listed and len(listed) > 30,
           "stats -r x lists all of them, in lines that can be read", result.err.decode())


# ---- mistakes ----

COMMANDS = ("run", "info", "dump", "check", "stats", "analyze", "diff", "report", "query", "details", "sections", "rules", "derive", "merge", "symbolize", "import",
            "recover", "export", "help")


def is_one_line(result, text):
    return result.status == 2 and not result.out and result.err.startswith(b"trace: ") and result.err.count(b"\n") == 1 and text.encode() in result.err


def unknown_options():
    """Check that the message names the error in an option and the help that explains the command."""
    for command in COMMANDS:
        for option, what in (("--nonsense", "unknown option '--nonsense'"), ("-Z", "unknown option '-Z'"), ("--help=x", "option '--help=x' takes no argument")):
            result = trace(command, option)
            tap.ok(is_one_line(result, f"{what}; see 'trace help {command}'\n"), f"{command} {option}", result)
    for arguments, text in ((("run", "--output"), "option '--output' needs an argument; see 'trace help run'"),
                            (("stats", "-r"), "option '-r' needs an argument; see 'trace help stats'"),
                            (("stats", "--nvtx", "x"), "ambiguous option '--nvtx': --nvtx-include, --nvtx-exclude, --nvtx-push-pop-scope; see 'trace help stats'")):
        result = trace(*arguments)
        tap.ok(is_one_line(result, text), " ".join(arguments), result)


def mistakes():
    """Check that one line names the thing and the cause, and what to do if that is not obvious."""
    none, taken = os.path.join(PLACE, "none.rep"), os.path.join(PLACE, "taken.json")
    with open(taken, "w", encoding="ascii") as file:
        file.write("mine")
    for arguments, text in ((("info", none), f"cannot open '{none}': No such file or directory"), (("info",), "no FILE given; see 'trace help info'"),
                            (("derive", REPORT, REPORT), "too many arguments: expected one FILE ('trace merge' joins reports); see 'trace help derive'"), (("run",), "no PROGRAM given; see 'trace help run'"),
                            (("run", "-t", "nonsense", "true"), "invalid argument 'nonsense' for --trace: expected a list of: cuda nvtx osrt openmp openacc none cublas cudnn"),
                            (("run", "-d", "soon", "true"), "invalid argument 'soon' for --duration: expected seconds"),
                            (("run", "--kill", "x", "true"), "invalid argument 'x' for --kill: expected none, sigkill, sigterm or a signal number"),
                            (("run", "-o", os.path.join(PLACE, "calls"), "true"), "calls.rep' exists; use '--force-overwrite true' to replace it"),
                            (("run", "--capture-range", "signal:KILL", "true"), "unsupported signal; expected HUP"),
                            (("run", "--nvtx-capture", "a", "true"), "--nvtx-capture needs --capture-range=nvtx"),
                            (("dump", "-k", "nonsense", REPORT), "unknown event kind 'nonsense'; known kinds: "), (("dump", "-p", "me", REPORT), "for --process: expected an unsigned integer"),
                            (("stats", "--filter-time", "soon", REPORT), "invalid time window 'soon': expected [START]/[END], such as '1s/2500ms'"),
                            (("stats", "-u", "parsec", REPORT), "unknown time unit 'parsec': expected nsec, usec, msec or seconds"),
                            (("stats", "-f", "xml", REPORT), "invalid argument 'xml' for --format: expected one of: table column csv tsv json"),
                            (("analyze", "--rows", "0", REPORT), "invalid argument '0' for --rows: expected an integer of at least 1, or all"),
                            (("query", REPORT), "expected FILE and SQL; see 'trace help query'"), (("query", REPORT, "DELETE FROM StringIds"), "only read-only statements are allowed"),
                            (("query", REPORT, "SELEC"), 'syntax error'), (("query", REPORT, ""), "the statement is empty"),
                            (("export", "-t", "nonsense", REPORT), "invalid argument 'nonsense' for --type: expected one of: json folded"),
                            (("export", "-t", "XProf", REPORT), "invalid argument 'XProf' for --type: did you mean 'xplane'? expected one of: json folded"),
                            (("export", "-t", "codexl", REPORT), "did you mean 'atp'?"),
                            (("export", "-o", taken, REPORT), f"'{taken}' exists; use '--force-overwrite true' to replace it"),
                            (("export", "-t", "sqlite", "-o", "-", REPORT), "cannot write a SQLite database to standard output; use -o FILE"),
                            (("export", "-o", REPORT, "-f", "true", REPORT), "it is the input file"), (("diff", REPORT), "expected runs of both sides, BASE... -- OTHER..., or --run twice; see 'trace help diff'"),
                            (("report", "--html", "--text", REPORT), "--html and --text cannot be used together"), (("report", "-o", "x", REPORT), "--output needs --html"),
                            (("recover", none), f"cannot open '{none}': No such file or directory"), (("recover", REPORT), "not the folder of a recording, such as /dev/shm/libtrace-UID-..."),
                            (("import", "--into", REPORT), "no FILE given; see 'trace help import'"), (("sections",), "no section files given; use --section-folder DIR"),
                            (("rules", "run"), "expected 'apply REPORT' or 'list'; see 'trace help rules'"), (("rules", "list"), "no folder with rules given; use --rule-folder DIR"),
                            (("derive", REPORT), "no output file given; use --output FILE"), (("merge", REPORT), "no output file given; use --output FILE"), (("help", "nonsense"), "unknown command 'nonsense'; see 'trace help'"),
                            (("--nonsense",), "unknown option '--nonsense'; see 'trace help'"),
                            (("recover", "/usr"), "not the folder of a recording, such as /dev/shm/libtrace-UID-...")):
        result = trace(*arguments)
        tap.ok(is_one_line(result, text), " ".join(arguments).replace(PLACE, ""), result)


def options_without_effect():
    """Check that an option of run that would do nothing, since another one is missing, is an error that names that one."""
    cuda, nvtx, osrt, sample, metrics = ("cuda in --trace", "nvtx in --trace", "osrt in --trace", "--sample=process-tree", "--gpu-metrics")
    for arguments, needs in ((("--gpu-metrics-range=nvtx",), metrics), (("--gpu-metrics-frequency=10",), metrics), (("--gpu-metrics-pass=2",), metrics),
                             (("-t", "osrt", "--gpu-metrics=basic"), cuda), (("-t", "cuda", "--gpu-metrics=basic", "--gpu-metrics-range=nvtx"), nvtx),
                             *((("-t", "osrt", option), cuda) for option in ("--cuda-backtrace=all", "--cuda-graph=node", "--cuda-trivial=record", "--cuda-memory=true",
                                                                            "--cuda-unified-memory=true", "--cuda-cubins=true", "--cupti=/x", "--capture-range=cudaProfilerApi")),
                             *((("-t", "osrt", option), nvtx) for option in ("--nvtx-backtrace-threshold=0", "--nvtx-domain-include=a", "--nvtx-domain-exclude=a",
                                                                            "--pytorch=autograd-nvtx", "--capture-range=nvtx:a")),
                             *((("-t", "nvtx", option), osrt) for option in ("--osrt-threshold=0", "--osrt-backtrace-threshold=0", "--osrt-file-access=true", "--osrt-locks=all")),
                             (("--openmp-backtrace-threshold=0",), "openmp in --trace"), (("--nccl-steps=true",), "nccl in --trace"), (("--vulkan-gpu-workload=batch",), "vulkan in --trace"),
                             (("--functions-backtrace-threshold=0",), "--functions"), (("--sampling-frequency=50",), sample), (("--sampling-trigger=timer",), sample),
                             (("--streams-limit=1",), "--streams=process-tree"), (("--capture-range-end=repeat",), "--capture-range"), (("--kill=sigterm",), "--duration")):
        result = trace("run", "-o", os.path.join(PLACE, "none"), *arguments, "--", "true")
        option = arguments[-1].split("=")[0]
        tap.ok(result.status == 2 and result.err.decode() == f"trace: {option} needs {needs}\n", f"run {' '.join(arguments)}: needs {needs}", result)
    for arguments in (("--gpu-metrics=basic", "--gpu-metrics-range=nvtx"), ("-t", "openmp", "--openmp-backtrace-threshold=0"), ("-t", "osrt", "--cuda-backtrace=none", "--cuda-memory=false"),
                      ("--sample=process-tree", "--sampling-trigger=timer"), ("--log-events=x", "--streams-limit=1"), ("--kill=none",),
                      ("-t", "cublas", "--functions-backtrace-threshold=0"), ("--functions=libz.so*:*", "--functions-backtrace-threshold=0"), ("-c", "signal:USR1", "--capture-range-end=repeat"),
                      ("-d", "9", "--kill=sigterm")):
        result = trace("run", "--dry-run", "-o", os.path.join(PLACE, "none"), *arguments, "--", "true")
        tap.ok(result.status == 0, f"run {' '.join(arguments)}: is taken", result)
    for variables, status in (({"LIBTRACE_TRACE": "osrt"}, 2), ({"LIBTRACE_TRACE": "nccl"}, 0)):
        result = trace("run", "--dry-run", "-o", os.path.join(PLACE, "none"), "--nccl-steps=true", "--", "true", env=clean_env(**variables))
        tap.ok(result.status == status, f"run --nccl-steps=true with {variables}: {status}", result)
    result = trace("run", "--dry-run", "-o", os.path.join(PLACE, "none"), "--", "true", env=clean_env(LIBTRACE_GPU_METRICS_PASS="2"))
    tap.ok(result.status == 0, "a variable without effect is no error: it stays set for many runs", result)


def every_help():
    for command in COMMANDS:
        result = trace("help", command)
        lines = result.out.decode().splitlines()
        tap.ok(result.status == 0 and not result.err and lines[0].startswith(f"usage: trace {command} ") and max(map(len, lines)) <= 100
               and trace(command, "--help").out == result.out, f"help {command}", result)


def defaults_are_said_once():
    """Check that the help of variables and options names each default once."""
    for words in (("help", "env"), ("help", "run")):
        entries = re.sub(r"\n {32}", " ", trace(*words).out.decode()).splitlines()  # continued lines begin at a column
        twice = [line for line in entries if len(re.findall("; default[ :]", line)) > 1 or "; none; default none" in line]
        tap.ok(any("; default " in line for line in entries) and not twice, f"{' '.join(words)}: each default is there once", twice)


def nothing_matches():
    """Check that a filter that matches nothing is not reported as a report without data."""
    for options, text in ((("--name", "no_such_function"), "matches the filter"), (("--process", "1"), "matches the filter"), ((), None)):
        result = trace("stats", "-r", "osrt_sum", *options, REPORT)
        words = f"SKIPPED: no event in {REPORT} matches the filter.".encode()
        tap.ok(result.status == 0 and (words in result.out) == bool(text) and b"does not contain" not in result.out, f"stats {' '.join(options)}", result)
    result = trace("stats", "-r", "nvtx_sum", REPORT)
    tap.ok(b"does not contain NV Tools Extension (NVTX) data" in result.out, "stats of what was not recorded", result)


def skipped_reports_name_options():
    """Check that stats says which option records what a report lacks, for every report that recording can fill, and that run has the option."""
    listed = trace("stats", "-r", "nonsense", REPORT).err.decode().split(";", 1)[1].split(":", 1)[1]
    others = {"syscall_sum", "graphics_sum", "dx12_pix_sum", "wddm_queue_sum", "ncu_metric_sum"}
    known = trace("help", "run").out.decode()
    for name in re.split(r"[,\s]+", listed.strip()):
        said = re.search(r"SKIPPED: .* data( \(.*\)|: .*)?\.\n", trace("stats", "-r", name, REPORT).out.decode())
        options = re.findall(r"--[a-z-]+", said.group(1) or "") if said else []
        tap.ok(not said or (options and all(option in known for option in options)) or name in others or "marker" in name or "khr" in name, f"{name}: {options}", said and said.group())
    for name, option in (("gpu_metric_sum", "(--machine-samples, or --gpu-metrics with --gpu-metrics-frequency)"), ("cuda_gpu_kern_sum", "(--trace=cuda)"), ("nvtx_sum", "(--trace=nvtx)")):
        result = trace("stats", "-r", name, REPORT)
        tap.ok(f"data {option}.".encode() in result.out, f"{name}: {option}", result)


# ---- dry runs ----

def dry_runs():
    place = folder()
    os.mkdir(os.path.join(place, "mk"))
    for arguments, status, text in ((["-o", "a", "--", "ls", "-l"], 0, f"program: ls -l\nreport: {place}/a.rep\n"),
                                    (["-o", "mk", "ls"], 0, f"program: ls\nreport: {place}/mk/report1.rep\n"),
                                    (["-o", "r-%p", "ls"], 0, "program: ls\nreport: r-%p (one per process)\n"),
                                    (["no-such-program"], 127, "trace: cannot run 'no-such-program': No such file or directory\n"),
                                    (["/etc/passwd"], 126, "trace: cannot run '/etc/passwd': Permission denied\n"),
                                    (["-o", "none/a", "ls"], 2, f"trace: cannot write report '{place}/none/a.rep': its folder does not exist\n"),
                                    (["-o", "/proc/a", "ls"], 2, "trace: cannot create report '/proc/a.rep': No such file or directory\n" if os.access("/proc", os.W_OK) else None),
                                    (["--capture-range=x", "ls"], 2, None)):
        result = trace("run", "--dry-run", *arguments, cwd=place)
        said = (result.out + result.err).decode()
        tap.ok(result.status == status and (said == text or (not text and said.count("\n") == 1)), f"run --dry-run {' '.join(arguments)}", result)
    tap.ok(os.listdir(place) == ["mk"] and not os.listdir(os.path.join(place, "mk")), "--dry-run creates no file", os.listdir(place))
    for number in (1, 2):
        result = trace("run", "-o", "mk", "--", "true", cwd=place)
        tap.ok(result.status == 0 and f"report: {place}/mk/report{number}.rep ".encode() in result.err and os.path.exists(f"{place}/mk/report{number}.rep"),
               f"-o FOLDER: report{number}.rep in it, and that is said", result)


def dry_runs_find_as_runs_do():
    """Check that a dry run searches for a program, and explains why it is not found, as a run and execvp() do."""
    place = folder()
    for name in ("tools", "others", "tools/folder", "here-folder"):
        os.mkdir(os.path.join(place, name))
    for name, mode in (("here", 0o755), ("tools/tool", 0o755), ("tools/closed", 0o644), ("tools/both", 0o644), ("others/both", 0o755), ("tools/file", 0o644)):
        with open(os.path.join(place, name), "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nexit 0\n")
        os.chmod(file.name, mode)
    tools, others = os.path.join(place, "tools"), os.path.join(place, "others")
    for path, program, status in (("/bin", tools, 126), ("/bin", "./here-folder", 126), (tools, "folder", 126), (tools, "tool", 0), (tools, "closed", 126),
                                  (f"{tools}:{others}", "closed", 126), (f"{tools}:{others}", "both", 0), (tools, "none", 127), ("", "here", 0),
                                  (f":{tools}", "here", 0), (f"{tools}:", "here", 0), (f"{tools}::{others}", "here", 0), (f"{tools}:{others}", "here", 127),
                                  (f"{tools}/file", "tool", 126), (tools, "", 127), ("/bin", "tools/file/x", 126)):
        for options, variables in (((), {"PATH": path}), (("--env-var", f"A=B,PATH={path}"), {"PATH": "/none"})):
            dry, real = (trace("run", *more, "-f", "true", "-o", "a", *options, "--", program, cwd=place, env=clean_env(**variables)) for more in (("--dry-run",), ()))
            tap.ok(dry.status == real.status == status and (not status or dry.err.splitlines()[0] == real.err.splitlines()[0]),
                   f"PATH={path.replace(place, '')} {options[:1]} {program.replace(place, '')!r}: {status}, dry or not", (dry, real))


# ---- reports without data ----

def nothing_recorded():
    for options, reason in ((["-t", "nvtx"], "no NVTX call was made; no other sources were selected (trace=nvtx)"),
                            (["-t", "nvtx", "--nvtx-domain-include", "a"], "no NVTX call was made in the selected domains"),
                            (["-t", "cuda,nvtx"], "CUDA was not used"), (["--delay", "1000"], "recording never began"),
                            (["--capture-range=nvtx:never"], "recording never began")):
        path = os.path.join(PLACE, "nothing.rep")
        told = trace("run", "-f", "true", "-o", path, *options, "--", "true")
        info, stats = trace("info", path), trace("stats", path)
        verdict = next(line for line in info.out.decode().splitlines() if line.startswith("verdict:"))
        tap.ok("complete: nothing lost; but it has no events: " in verdict and reason in verdict, f"run {' '.join(options)}: complete, but without events, and why", info.out.decode())
        tap.ok(b"has no events: " in stats.err and reason.encode() in stats.err and stats.status == 0, "stats says why a report holds no events, too", stats)
        tap.ok(told.status == 0 and (b"complete, but nothing was recorded" in told.err or b"recording never began" in told.err), "run says why a report holds no events", told)
    some = trace("info", REPORT), trace("stats", REPORT)
    tap.ok(b"but it has no events" not in some[0].out and b"has no events" not in some[1].err, "not of a report that has some", some)
    cut = os.path.join(PLACE, "cut.rep")
    with open(path, "rb") as whole, open(cut, "wb") as out:
        out.write(whole.read()[:-20])
    info, stats = trace("info", cut), trace("stats", cut)
    tap.ok(b"torn tail: " in info.out and b"has no events" not in info.out + stats.err, "a report that is cut off is not said to hold no events", (info, stats))


def processes_are_counted_once():
    """Check that a process that executes another program is one process, in the last line of run and in info."""
    for command, wanted in (("exec true", b"processes: 1, with 2 program images (an exec begins a new one)\n"), ("sleep 0.01 & wait", b"processes: 2, with 3 program images (an exec begins a new one)\n"), (":", b"processes: 1\n")):
        report = os.path.join(folder(), "counted.rep")
        done = trace("run", "-o", report, "--", "sh", "-c", command)
        count = int(wanted.split()[1].rstrip(b","))
        said = f" {count} process{'' if count == 1 else 'es'}; complete".encode()
        text = trace("info", report).out
        tap.ok(wanted in text and said in done.err, f"sh -c '{command}': {count} process{'' if count == 1 else 'es'}", (text, done.err))
        first = [line for line in trace("report", report).out.splitlines() if line.startswith(b"processes ")]
        tap.ok(len(first) == 1 and first[0].split(None, 1)[1] == wanted.split(None, 1)[1].strip(), "report counts them as info does", first)


def ncu_verdict():
    path = os.path.join(fixtures("ncu"), "path_tracer-2025.4.1.ncu-rep")
    if not os.path.exists(path):
        tap.skip("a report of Nsight Compute: info says so", "no fixtures")
        return
    info = trace("info", path)
    tap.ok(b"verdict:   a report of Nsight Compute, not written by libtrace" in info.out and b"'trace details'" in info.out, "a report of Nsight Compute: info says so, and what reads it", info)


main(nothing_recorded, processes_are_counted_once, ncu_verdict, unknown_options, mistakes, options_without_effect, every_help, defaults_are_said_once, nothing_matches, skipped_reports_name_options, dry_runs, dry_runs_find_as_runs_do, unknown_names, files_that_are_no_reports, imports_of_other_files, closed_pipes, full_disks,
     unknown_options_have_neighbors, a_run_nobody_listens_to)
