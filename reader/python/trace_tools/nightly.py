"""`trace nightly`: one line in a cron job or CI file records a benchmark, keeps what was recorded, compares with the nights before, and leaves a verdict."""
import argparse
import configparser
import datetime
import os
import shutil
import socket
import sys

from . import Failure, night, nights_report, store


def at_least_one(text):
    """The type of an option that counts runs."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is less than 1")
    return number


def parser():
    p = argparse.ArgumentParser(prog="trace nightly", allow_abbrev=False, description="Records a benchmark every night, and says whether it got worse.",
                                epilog="Exit status of run: that of the command if it failed; else 0: ok, 1: worse, 2: cannot tell, or it failed itself.")
    commands = p.add_subparsers(dest="command", required=True, metavar="run | report | list | accept | prune")

    def common(sub):
        sub.add_argument("--config", metavar="FILE", help="options of this command, as NAME = VALUE lines in a section [nightly]; what the command line says counts more")
        sub.add_argument("--name", help="of the benchmark")
        sub.add_argument("--folder", metavar="DIR", default="nightly", help="where everything is kept; default nightly")
        sub.add_argument("--store", metavar="FILE|URL", help="SQLite file, or PostgreSQL (postgresql://...); default DIR/nightly.sqlite")
        sub.add_argument("--host", default=socket.gethostname(), help="nights of different hosts are never compared; default: this host's name")
        return sub

    run = common(commands.add_parser("run", allow_abbrev=False, help="record a night and compare it", usage="trace nightly run --name NAME [OPTION...] -- COMMAND [ARGUMENT...]"))
    run.add_argument("--runs", type=at_least_one, default=10, help="how often the command is recorded; default 10")
    run.add_argument("--untraced", type=int, default=0, help="how often it also runs without the tracer, to state what recording costs; default 0")
    run.add_argument("--timeout", type=float, default=3600, metavar="SEC", help="a run that takes longer is ended, and counts as hung; default 3600")
    run.add_argument("--trace-options", default="", metavar="TEXT", help="options of 'trace run', as in '-t nvtx,osrt --osrt-threshold 0'")
    run.add_argument("--ranks", metavar="LIST", help="with {trace} in COMMAND: ranks that are recorded, as in 0,2; default all")
    run.add_argument("--rank-variable", metavar="NAME", help="with {trace} in COMMAND: variable that has a process's rank; default: that of Slurm, Open MPI, MPICH or PMI")
    run.add_argument("--commit", help="what was built; default: the commit of the git repository here")
    run.add_argument("--baseline-nights", type=int, default=5, help="how many of the last good nights are compared with; default 5")
    run.add_argument("--alpha", type=float, default=None, help="as of 'trace diff'")
    run.add_argument("--min-effect", type=float, default=None, metavar="PERCENT", help="as of 'trace diff'")
    run.add_argument("--force", action="store_true", help="compare with nights of another fingerprint, too")
    run.add_argument("--keep-days", type=float, default=90, help="reports of older nights are removed; default 90")
    run.add_argument("--keep-mib", type=float, default=2048, help="reports take no more than this, of all nights of the benchmark and host; default 2048")
    run.add_argument("--run-mib", type=float, default=1024, help="a report that grows larger ends its run, which counts as too large; default 1024")
    run.add_argument("--now", help=argparse.SUPPRESS)  # the time, as 2026-11-21T03:00:00: for tests
    run.add_argument("--dry-run", action="store_true", help="only say what would be done")
    report = common(commands.add_parser("report", allow_abbrev=False, help="the history of a benchmark as HTML"))
    report.add_argument("--output", "-o", metavar="FILE", help="default: DIR/NAME/HOST/history.html")
    common(commands.add_parser("list", allow_abbrev=False, help="the nights"))
    accept = common(commands.add_parser("accept", allow_abbrev=False, help="make a night the baseline, since what is worse is wanted"))
    accept.add_argument("night", type=int, nargs="?", help="its number in 'list'; default: the last one")
    prune = common(commands.add_parser("prune", allow_abbrev=False, help="remove old reports, never those of the baseline"))
    prune.add_argument("--keep-days", type=float, default=90)
    prune.add_argument("--keep-mib", type=float, default=2048)
    prune.add_argument("--baseline-nights", type=int, default=5)
    prune.add_argument("--now", help=argparse.SUPPRESS)
    return p, commands.choices


def config_read(path, sub):
    """The options of a file as arguments."""
    config = configparser.ConfigParser(interpolation=None)
    try:
        with open(path, encoding="utf-8") as file:
            config.read_file(file)
    except (OSError, configparser.Error, UnicodeDecodeError) as error:
        raise Failure(f"cannot read '{path}': {str(error).splitlines()[0]}") from None
    if not config.has_section("nightly"):
        raise Failure(f"'{path}': there is no section [nightly]")
    known = {option.lstrip("-"): action for action in sub._actions for option in action.option_strings}  # noqa: SLF001 - argparse tells in no other way
    arguments = []
    for name, value in config["nightly"].items():
        action = known.get(name.replace("_", "-"))
        if not action or name == "config":
            raise Failure(f"'{path}': '{name}' is no option")
        if action.nargs == 0:
            if value.lower() not in ("true", "yes", "on", "1", "false", "no", "off", "0"):
                raise Failure(f"'{path}': '{name}' is true or false")
            arguments += [f"--{name.replace('_', '-')}"] if value.lower() in ("true", "yes", "on", "1") else []
        else:
            arguments.append(f"--{name.replace('_', '-')}={value}")
    return arguments


def parse(arguments):
    """(options, the command behind --)."""
    own, program = (arguments[:arguments.index("--")], arguments[arguments.index("--") + 1:]) if "--" in arguments else (arguments, [])
    p, subs = parser()
    given = p.parse_args(own)
    if given.config:
        given = p.parse_args([own[0], *config_read(given.config, subs[given.command]), *own[1:]])
    if given.name and (os.sep in given.name or given.name.startswith(".")):
        raise Failure(f"'{given.name}' is no name of a benchmark: it becomes a folder")
    if not given.name and given.command != "list":
        raise Failure(f"--name says which benchmark; see 'trace nightly {given.command} --help'")
    given.store = given.store or os.path.join(given.folder, "nightly.sqlite")
    return given, program


def list_nights(given):
    kept = store.Store(given.store)
    rows = [("Night", "Begun", "Benchmark", "Host", "Commit", "Verdict", "Baseline", "Reason")]
    for n in kept.nights(given.name):
        rows.append((str(n["id"]), n["begun"], n["benchmark"], n["host"], (n["commit_id"] or "-")[:12], n["verdict"] or n["state"], "yes" if n["is_baseline"] else "-",
                     (n["reason"] or "").split("\n")[0][:80]))
    kept.close()
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    for r in rows:
        print("  ".join(cell.ljust(w) for cell, w in zip(r, widths)).rstrip())
    return 0


def accept(given):
    kept = store.Store(given.store)
    nights = kept.nights(given.name, given.host)
    if not nights:
        raise Failure(f"there are no nights of '{given.name}' on '{given.host}'")
    chosen = next((n for n in nights if n["id"] == given.night), None) if given.night is not None else nights[-1]
    if not chosen:
        raise Failure(f"night {given.night} is none of '{given.name}' on '{given.host}'")
    kept.accept(chosen["id"])
    kept.close()
    print(f"night {chosen['id']} ({chosen['begun']}) is the baseline of '{given.name}' on '{given.host}'")
    return 0


def time_of(given):
    if not getattr(given, "now", None):
        return datetime.datetime.now(datetime.timezone.utc)
    return datetime.datetime.fromisoformat(given.now).replace(tzinfo=datetime.timezone.utc)


def prune(kept, given, now):
    """Removes reports of old nights, and of the oldest ones while all take too much; the baseline's and the last night's stay. Returns the nights."""
    nights = kept.nights(given.name, given.host)
    baseline = {n["id"] for n in night.baseline_of(nights, given.baseline_nights)} | ({nights[-1]["id"]} if nights else set())
    sizes = {n["id"]: folder_bytes(n["folder"]) for n in nights}
    total, gone = sum(sizes.values()), []
    for n in nights:
        age_days = (now - datetime.datetime.fromisoformat(n["begun"]).replace(tzinfo=datetime.timezone.utc)).total_seconds() / 86400
        if n["id"] in baseline or not sizes[n["id"]] or not (age_days > given.keep_days or total > given.keep_mib * 2**20):
            continue
        for name in os.listdir(n["folder"]):
            if not name.startswith("verdict."):
                path = os.path.join(n["folder"], name)
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        total -= sizes[n["id"]]
        kept.report_gone(n["id"])
        gone.append(n)
    return gone


def folder_bytes(folder):
    """Of a night's files but for its verdict, which is never removed."""
    try:
        return sum(os.stat(os.path.join(folder, name)).st_blocks * 512 for name in os.listdir(folder) if not name.startswith("verdict."))
    except OSError:
        return 0


def main(arguments):
    given, program = parse(arguments)
    if given.command == "list":
        return list_nights(given)
    if given.command == "accept":
        return accept(given)
    if given.command == "report":
        return nights_report.write(given)
    if given.command == "prune":
        kept = store.Store(given.store)
        gone = prune(kept, given, time_of(given))
        kept.close()
        print(f"removed the reports of {len(gone)} nights" + "".join(f"\n  {n['folder']}" for n in gone))
        return 0
    if not program:
        raise Failure("run: which command? it stands behind --; see 'trace nightly run --help'")
    try:
        return night.Night(given, program, time_of(given)).record(prune)
    except OSError as error:
        print(f"trace: nightly: {error.filename or given.folder}: {error.strerror}", file=sys.stderr)
        return 2
