# SPDX-License-Identifier: Apache-2.0
"""`trace nightly`: one line in a cron job or CI file that records a benchmark, keeps the reports, compares them with
the nights before, and leaves a verdict.
"""

from __future__ import annotations

import argparse
import configparser
import datetime
import os
import re
import shutil
import socket
import sys
from typing import Callable

from . import Failure, arguments, bisection, night, nights_report, pictures, sequential, statistics, store


def ranks(text: str) -> set[int]:
    """Parse ranks: '0,2,4-6' -> {0, 2, 4, 5, 6}."""
    if not re.fullmatch(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of ranks, such as 0,2 or 0-3,8")
    ends = [(part.partition("-")[0], part.rpartition("-")[2]) for part in text.split(",")]
    return {rank for first, last in ends for rank in range(int(first), int(last) + 1)}


def variable(text: str) -> str:
    """Check the name of an environment variable."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not the name of an environment variable")
    return text


def baseline(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--baseline-nights",
        type=arguments.count(1),
        default=5,
        metavar="N",
        help="number of the last good nights to compare with, which also keep their reports; default 5",
    )


def comparing(sub: argparse.ArgumentParser) -> None:
    """Add the options of a comparison."""
    sub.add_argument("--alpha", type=arguments.probability, help="as in 'trace diff'")
    sub.add_argument("--min-effect", type=arguments.amount, metavar="PERCENT", help="as in 'trace diff'")
    sub.add_argument("--force", action="store_true", help="also compare with nights of a different fingerprint")


def keeping(sub: argparse.ArgumentParser) -> None:
    """Add the options that choose which reports are kept."""
    baseline(sub)
    sub.add_argument(
        "--keep-days",
        type=arguments.amount,
        default=90,
        metavar="DAYS",
        help="remove reports of older nights; default 90",
    )
    sub.add_argument(
        "--keep-mib",
        type=arguments.amount,
        default=2048,
        metavar="MIB",
        help="greatest size of all reports of the benchmark and host; default 2048",
    )
    sub.add_argument(
        "--keep-nights",
        type=arguments.count(1),
        default=100,
        metavar="N",
        help="greatest number of nights of the benchmark and host with reports, including the baseline; default 100",
    )
    sub.add_argument("--now", help=argparse.SUPPRESS)  # the current time for tests, as 2026-11-21T03:00:00


def recording(sub: argparse.ArgumentParser) -> None:
    """Add the options of a recorded run."""
    sub.add_argument(
        "--timeout",
        type=arguments.amount,
        default=3600,
        metavar="SEC",
        help="longest time of a run; a longer run is killed and counts as hung; default 3600",
    )
    sub.add_argument(
        "--trace-options",
        type=arguments.words,
        default=[],
        metavar="TEXT",
        help="options of 'trace run' as one argument, such as '-t nvtx,osrt --osrt-threshold 0'",
    )
    sub.add_argument(
        "--run-mib",
        type=arguments.amount,
        default=1024,
        metavar="MIB",
        help="greatest size of a report; a run whose report grows larger is killed "
        "and counts as too large; default 1024",
    )


def bisecting(sub: argparse.ArgumentParser) -> None:
    """Add the options of `bisect`."""
    sub.add_argument("--config", metavar="FILE", help="file with options, as for run")
    sub.add_argument("--good", metavar="COMMIT", help="a commit that is not worse yet")
    sub.add_argument("--bad", metavar="COMMIT", help="a commit that is worse")
    sub.add_argument(
        "--build",
        metavar="TEXT",
        help="shell command that builds a commit; if it fails, the commit is skipped; "
        "default: COMMAND builds, in a first run that is not recorded",
    )
    sub.add_argument(
        "--runs",
        type=sequential.runs,
        default=sequential.Runs(statistics.EXACT_RUNS, 30),
        metavar="N..M",
        help="least and greatest number of recorded runs of GOOD and BAD; a commit between them has at most M; "
        "default 5..30",
    )
    sub.add_argument(
        "--item",
        metavar="TEXT",
        help="look for an item with this in its name; default: the one that the verdict names first",
    )
    sub.add_argument("--reset", action="store_true", help="end a bisection, and go back to where the tree was")
    recording(sub)
    comparing(sub)
    sub.add_argument("--now", help=argparse.SUPPRESS)


def parser() -> tuple[arguments.Parser, dict[str, arguments.Parser]]:
    p = arguments.Parser(
        prog="trace nightly",
        description="Records a benchmark every night and reports whether it got worse.",
        epilog="Exit status of run: that of the command if it failed; else 0: ok, 1: worse, 2: cannot tell, or nightly "
        "itself failed.",
    )
    commands = p.add_subparsers(
        dest="command", required=True, metavar="run | bisect | report | page | list | accept | prune"
    )

    def common(sub: arguments.Parser) -> arguments.Parser:
        sub.add_argument(
            "--config",
            metavar="FILE",
            help="file with options, as NAME = VALUE lines in a section [nightly]; the command line overrides it",
        )
        sub.add_argument("--name", help="name of the benchmark")
        sub.add_argument(
            "--folder",
            metavar="DIR",
            default="nightly",
            help="folder for reports, comparisons and history; default nightly",
        )
        sub.add_argument(
            "--store",
            metavar="FILE|URL",
            help="SQLite file, or PostgreSQL (postgresql://...); default DIR/nightly.sqlite",
        )
        sub.add_argument(
            "--host",
            default=socket.gethostname(),
            help="name of the host; nights of different hosts are never compared; default: this host's name",
        )
        return sub

    run = common(
        commands.add_parser(
            "run",
            help="record a night and compare it",
            usage="trace nightly run --name NAME [OPTION...] -- COMMAND [ARGUMENT...]",
        )
    )
    run.add_argument(
        "--runs",
        type=sequential.runs,
        default=sequential.Runs(10, 10),
        metavar="N|N..M",
        help="number of recorded runs, or N..M: at least N, then until the verdict is sure, at most M; default 10",
    )
    sequential.see(run)
    run.add_argument(
        "--untraced",
        type=arguments.count(0),
        default=0,
        metavar="N",
        help="number of runs without the tracer, to measure the cost of recording; default 0",
    )
    recording(run)
    run.add_argument(
        "--ranks",
        type=ranks,
        metavar="LIST",
        help="with {trace} in COMMAND: ranks to record, such as 0,2 or 0-3,8; default all",
    )
    run.add_argument(
        "--rank-variable",
        type=variable,
        metavar="NAME",
        help="with {trace} in COMMAND: variable with the rank of a process; "
        "default: that of Slurm, Open MPI, MPICH or PMI",
    )
    run.add_argument("--commit", help="commit of the benchmarked program; default: that of the git repository here")
    run.add_argument(
        "--prometheus",
        metavar="FILE",
        help="also write the verdict and the heaviest items to FILE, for the textfile collector of node_exporter",
    )
    run.add_argument(
        "--on-worse",
        metavar="TEXT",
        help="shell command to run when the night is worse: the verdict is its input, NIGHTLY_NAME, _HOST, _VERDICT, "
        "_REASON, _FOLDER and _COMMIT are in its environment",
    )
    run.add_argument("--page", action="store_true", help="also write the page of the night, verdict.html in its folder")
    comparing(run)
    keeping(run)
    run.add_argument("--dry-run", action="store_true", help="only print what would be done")
    bisecting(
        commands.add_parser(
            "bisect",
            help="find the commit that made a benchmark worse",
            usage="trace nightly bisect --good COMMIT --bad COMMIT [OPTION...] -- COMMAND [ARGUMENT...]",
            description="Finds the commit that made a benchmark worse, by git bisect in this working tree, with "
            "the verdict as its test. After an interruption, the same command goes on.",
            epilog="Exit status: 0: found, and confirmed by a comparison with its parent; 2: cannot tell, or BAD is "
            "not worse than GOOD.",
        )
    )
    report = common(
        commands.add_parser(
            "report", help="write the history of a benchmark as HTML; without --name, of all, with an index"
        )
    )
    report.add_argument(
        "--output", "-o", metavar="FILE", help="default: DIR/NAME/HOST/history.html; without --name, DIR/index.html"
    )
    report.add_argument(
        "--last",
        type=arguments.count(1),
        default=365,
        metavar="N",
        help="number of nights to show, the last ones; default 365",
    )
    report.add_argument(
        "--commit-url",
        metavar="URL",
        help="link each commit to URL, in which {commit} stands for its hash: https://host/project/commit/{commit}",
    )
    page = common(commands.add_parser("page", help="write a page that shows a night beside the nights before it"))
    page.add_argument("--output", "-o", metavar="FILE", help="default: verdict.html in the folder of the night")
    page.add_argument(
        "night", type=int, nargs="?", help="number of the night in 'list'; default: the last one with a complete run"
    )
    comparing(page)
    baseline(page)
    common(commands.add_parser("list", help="list the nights"))
    accept = common(commands.add_parser("accept", help="make a night the baseline, to accept an intended change"))
    accept.add_argument(
        "night", type=int, nargs="?", help="number of the night in 'list'; default: the last one with a complete run"
    )
    pruning = common(
        commands.add_parser("prune", help="remove old reports, never those of the baseline and of the last night")
    )
    keeping(pruning)
    pruning.add_argument("--dry-run", action="store_true", help="only print what would be removed")
    return p, commands.choices


def options_of(sub: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Return {name: action} of a command's options."""
    return {option.lstrip("-"): action for action in sub._actions for option in action.option_strings}


def config_read(path: str, subs: dict[str, arguments.Parser], command: str) -> list[str]:
    """Return the options of a file as arguments of the command. One file serves all commands: options that only other
    commands have are skipped.
    """
    config = configparser.ConfigParser(interpolation=None)
    try:
        with open(path, encoding="utf-8") as file:
            config.read_file(file)
    except (OSError, configparser.Error, UnicodeDecodeError) as error:
        raise Failure(f"cannot read '{path}': {str(error).splitlines()[0]}") from None
    if not config.has_section("nightly"):
        raise Failure(f"'{path}': no section [nightly]")
    known = {name for sub in subs.values() for name in options_of(sub)}
    own = options_of(subs[command])
    arguments = []
    for name, value in config["nightly"].items():
        if name.replace("_", "-") not in known or name == "config":
            raise Failure(f"'{path}': unknown option '{name}'")
        action = own.get(name.replace("_", "-"))
        if not action:
            continue
        if action.nargs == 0:
            if value.lower() not in ("true", "yes", "on", "1", "false", "no", "off", "0"):
                raise Failure(f"'{path}': invalid value for '{name}': expected true or false")
            arguments += [f"--{name.replace('_', '-')}"] if value.lower() in ("true", "yes", "on", "1") else []
        else:
            arguments.append(f"--{name.replace('_', '-')}={value}")
    return arguments


def with_values(given: list[str]) -> list[str]:
    """Replace --trace-options '-t nvtx' by --trace-options='-t nvtx': argparse refuses a value that begins with "-"."""
    joined: list[str] = []
    for argument in given:
        if joined and joined[-1] == "--trace-options":
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Parse the arguments. Returns (options, the command after --)."""
    own, program = (argv[: argv.index("--")], argv[argv.index("--") + 1 :]) if "--" in argv else (argv, [])
    own = with_values(own)
    p, subs = parser()
    given = p.parse_args(own)
    if given.config:
        given = p.parse_args([own[0], *config_read(given.config, subs, given.command), *own[1:]])
    for what, name in (("benchmark", getattr(given, "name", None)), ("host", getattr(given, "host", None))):
        if name and (os.sep in name or name.startswith(".")):
            raise Failure(f"invalid {what} name '{name}': it must be usable as a folder name")
    if given.command == "bisect":
        return given, program
    if not given.name and given.command not in ("list", "report"):
        raise Failure(f"no benchmark given; use --name NAME; see 'trace nightly {given.command} --help'")
    given.store = given.store or os.path.join(given.folder, "nightly.sqlite")
    return given, program


def list_nights(given: argparse.Namespace) -> int:
    kept = store.Store(given.store)
    nights = kept.nights(given.name)
    if given.name and not nights:
        raise Failure(f"no nights of '{given.name}'")
    rows = [("Night", "Begun", "Benchmark", "Host", "Commit", "Verdict", "Baseline", "Reason")]
    for n in nights:
        rows.append(
            (
                str(n["id"]),
                n["begun"],
                n["benchmark"],
                n["host"],
                (n["commit_id"] or "-")[:12],
                n["verdict"] or n["state"],
                "yes" if n["is_baseline"] else "-",
                (n["reason"] or "").split("\n")[0][:80],
            )
        )
    kept.close()
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    for r in rows:
        print("  ".join(cell.ljust(w) for cell, w in zip(r, widths)).rstrip())
    return 0


def chosen_night(given: argparse.Namespace, kept: store.Store, otherwise: str) -> tuple[store.Row, list[store.Row]]:
    """Return the night that the arguments name, else the last night with a complete run, and all nights. otherwise:
    the consequence of a failure, for its message.
    """
    nights = kept.nights(given.name, given.host)
    if not nights:
        raise Failure(f"no nights of '{given.name}' on '{given.host}'")
    if given.night is None:
        chosen = next((n for n in reversed(nights) if kept.has_whole_run(n["id"])), None)
        if not chosen:
            raise Failure(
                f"no night of '{given.name}' on '{given.host}' has a complete run to compare with; {otherwise}"
            )
        return chosen, nights
    chosen = next((n for n in nights if n["id"] == given.night), None)
    if not chosen:
        raise Failure(f"unknown night {given.night} of '{given.name}' on '{given.host}'")
    if not kept.has_whole_run(chosen["id"]):
        raise Failure(
            f"night {given.night} has no complete run to compare with "
            f"({(chosen['reason'] or chosen['state']).splitlines()[0]}); {otherwise}"
        )
    return chosen, nights


def accept(given: argparse.Namespace) -> int:
    kept = store.Store(given.store)
    chosen, _ = chosen_night(given, kept, "the baseline is unchanged")
    kept.accept(chosen["id"])
    kept.close()
    print(f"night {chosen['id']} ({chosen['begun']}) is the baseline of '{given.name}' on '{given.host}'")
    return 0


def write_page(given: argparse.Namespace) -> int:
    kept = store.Store(given.store)
    chosen, nights = chosen_night(given, kept, "there is no page")
    before = night.baseline_of([n for n in nights if n["id"] < chosen["id"]], given.baseline_nights)
    output = given.output or os.path.join(chosen["folder"], night.PAGE)
    comparison = night.compare_night(given, kept, chosen["id"], before)
    night.write_page(given, kept, chosen["id"], comparison, output)
    kept.close()
    print(output)
    return 0


def time_of(given: argparse.Namespace) -> datetime.datetime:
    if not getattr(given, "now", None):
        return datetime.datetime.now(datetime.timezone.utc)
    return datetime.datetime.fromisoformat(given.now).replace(tzinfo=datetime.timezone.utc)


def prune(
    kept: store.Store, given: argparse.Namespace, now: datetime.datetime, is_dry: bool = False
) -> list[tuple[store.Row, int]]:
    """Remove the reports of old nights, and of the oldest nights while all reports take too much space or too many
    nights have reports; keep those of the baseline and of the last night. Return [(night, bytes)]. is_dry: only return
    what would be removed.
    """
    nights = kept.nights(given.name, given.host)
    baseline = {n["id"] for n in night.baseline_of(nights, given.baseline_nights)} | (
        {nights[-1]["id"]} if nights else set()
    )
    sizes = {n["id"]: folder_bytes(n["folder"]) for n in nights}
    total, holding, gone = sum(sizes.values()), sum(1 for size in sizes.values() if size), []
    for n in nights:
        age_days = (
            now - datetime.datetime.fromisoformat(n["begun"]).replace(tzinfo=datetime.timezone.utc)
        ).total_seconds() / 86400
        if (
            n["id"] in baseline
            or not sizes[n["id"]]
            or not (age_days > given.keep_days or total > given.keep_mib * 2**20 or holding > given.keep_nights)
        ):
            continue
        if not is_dry:
            reports_remove(n["folder"])
            kept.report_gone(n["id"])
        total, holding = total - sizes[n["id"]], holding - 1
        gone.append((n, sizes[n["id"]]))
    return gone


def reports_remove(folder: str) -> None:
    for name in os.listdir(folder):
        if not name.startswith(pictures.KEPT):
            path = os.path.join(folder, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


def folder_bytes(folder: str) -> int:
    """Return the size of a night's files, except its verdict, pictures and profile, which are never removed."""
    try:
        return sum(
            os.stat(os.path.join(folder, name)).st_blocks * 512
            for name in os.listdir(folder)
            if not name.startswith(pictures.KEPT)
        )
    except OSError:
        return 0


def main(argv: list[str]) -> int:
    given, program = parse(argv)
    if given.command == "list":
        return list_nights(given)
    if given.command == "accept":
        return accept(given)
    if given.command == "report":
        return nights_report.write(given)
    if given.command == "bisect":
        return with_files(given, lambda: bisection.main(given, program, time_of(given)))
    if given.command == "page":
        return write_page(given)
    if given.command == "prune":
        kept = store.Store(given.store)
        gone = prune(kept, given, time_of(given), given.dry_run)
        kept.close()
        print(
            f"{'would remove' if given.dry_run else 'removed'} the reports of {len(gone)} nights; "
            "those of the baseline and of the last night are always kept"
            + "".join(f"\n  {n['folder']}  {size / 2**20:.1f} MiB" for n, size in gone)
        )
        return 0
    if not program:
        raise Failure("run: no COMMAND given after --; see 'trace nightly run --help'")
    return with_files(given, lambda: night.Night(given, program, time_of(given)).record(prune))


def with_files(given: argparse.Namespace, action: Callable[[], int]) -> int:
    """Run a command that writes files; report their errors."""
    try:
        return action()
    except OSError as error:
        print(f"trace: nightly: {error.filename or given.folder}: {error.strerror}", file=sys.stderr)
        return 2
