# SPDX-License-Identifier: Apache-2.0
"""One night of a benchmark: run it, keep the reports, compare with the nights before, and always leave a verdict."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import fcntl
import json
import os
import re
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable

from . import Failure, compare, convert, fingerprint, formats, notify, pages, pictures, profile, sequential, store
from .compare import Comparison
from .store import Row

RANK_VARIABLES = ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "MPI_RANK", "PMI_RANK")
PAGE = "verdict.html"  # in the folder of the night; files of this stem are not pruned
VERDICT_BYTES = 64 << 10  # reserved at the start, so that the verdict can be written even if the disk is full
GRACE_S = 10  # time between SIGTERM and SIGKILL
POLL_S = 0.2
LOG_END_BYTES = 4096
CAUSE_CHARACTERS = 200


def baseline_of(nights: list[Row], count: int) -> list[Row]:
    """Return the last good nights, from the last accepted night on. nights: rows of the store, in their order."""
    good = [n for n in nights if n["is_baseline"]]
    return good[-count:]


def compare_night(
    given: argparse.Namespace, kept: store.Store, night: int, baseline: list[Row], alpha: float | None = None
) -> Comparison | None:
    """Return the comparison with the baseline; None if there is no baseline, or nothing to compare. alpha: that of a
    look, if the night looks at its runs several times.
    """
    base = [kept.profiles(n["id"]) for n in baseline]
    other = kept.profiles(night)
    if not any(base) or not other:
        return None
    options = compare.Options(force=given.force)
    options.alpha = alpha or given.alpha or options.alpha
    options.min_effect = given.min_effect / 100 if given.min_effect is not None else options.min_effect
    return compare.compare([p for n in base for p in n], other, options, [len(n) for n in base if n])


def median_report(given: argparse.Namespace, profiles: list[profile.Profile], whose: str) -> str:
    """Return the report of the median run of those whose reports are left."""
    there = [p for p in profiles if os.path.exists(os.path.join(given.folder, p.path))]
    if not there:
        raise Failure(f"no report of {whose} is left to show")
    return os.path.join(given.folder, compare.median_run(there).path)


def write_page(
    given: argparse.Namespace, kept: store.Store, night: int, comparison: Comparison | None, output: str
) -> None:
    """Write the page of a night: its median run beside that of the baseline, or alone if there is nothing to compare
    with.
    """
    other = median_report(given, comparison.other if comparison else kept.profiles(night), f"night {night}")
    shown = [median_report(given, comparison.base, "the baseline"), other] if comparison else [other]
    pages.write(comparison, shown, output)


class Lock:
    """A lock held by one instance for a benchmark on a host, and across machines if the filesystem supports locks."""

    def __init__(self, path: str) -> None:
        self.file = open(path, "a+", encoding="ascii")  # noqa: SIM115  # stays open: it holds the lock
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.file.seek(0)
            holder = self.file.read().strip() or "?"
            raise Failure(f"'{path}': another instance is running (process {holder})") from None
        self.file.seek(0)
        self.file.truncate()
        self.file.write(f"{os.getpid()}\n")
        self.file.flush()


class VerdictFile:
    """verdict.json of a night. It exists from the start and says that the night was cut off; at the end its text is
    replaced in place.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        with contextlib.suppress(OSError):  # a later write may fail then; the exit status says so
            os.posix_fallocate(self.fd, 0, VERDICT_BYTES)
        self.put({"verdict": "cannot tell", "exit_status": 2, "reason": "the night was cut off"})

    def put(self, content: dict[str, Any]) -> None:
        text = (json.dumps(content) + "\n").encode()
        if len(text) > VERDICT_BYTES:
            text = (json.dumps({k: content[k] for k in ("verdict", "exit_status", "reason")}) + "\n").encode()
        os.pwrite(
            self.fd, text + b" " * (VERDICT_BYTES - len(text) - 1) + b"\n" if len(text) < VERDICT_BYTES else text, 0
        )

    def close(self, content: dict[str, Any]) -> None:
        self.put(content)
        os.ftruncate(self.fd, len(os.pread(self.fd, VERDICT_BYTES, 0).rstrip()) + 1)
        os.close(self.fd)


def cause_in(log: str) -> str:
    """Return ': ' and the last line that a run printed, except lines about its report; '' if there is none."""
    with open(log, "rb") as file:
        file.seek(max(0, os.path.getsize(log) - LOG_END_BYTES))
        lines = [
            line
            for line in file.read().decode(errors="replace").splitlines()
            if line.strip() and not line.startswith("report: ")
        ]
    return ": " + "".join(c if c.isprintable() else "?" for c in lines[-1].strip()[:CAUSE_CHARACTERS]) if lines else ""


def recover(folder: str) -> None:
    """Finish the reports below `folder` whose writers were killed with everything else (batch systems do that), if the
    spool is still on this machine. Wait for writers that are running.
    """
    trace, patience = convert.command(), time.monotonic() + GRACE_S
    while True:
        listed = subprocess.run(
            [trace, "recover", "--list"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        ).stdout
        found = re.findall(
            r"^(/.*): (in use|can be recovered), report " + re.escape(os.path.join(folder, "")), listed, re.MULTILINE
        )
        for tree, state in found:
            if state == "can be recovered":
                subprocess.run(
                    [trace, "recover", tree],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    check=False,
                )
        if all(state != "in use" for _, state in found) or time.monotonic() > patience:
            return
        time.sleep(POLL_S)


def commit_here() -> str | None:
    result = (
        subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
        if any(os.access(os.path.join(d, "git"), os.X_OK) for d in os.environ.get("PATH", "").split(":"))
        else None
    )
    return result.stdout.strip() if result and result.returncode == 0 else None


class Night:
    def __init__(self, given: argparse.Namespace, program: list[str], now: datetime.datetime) -> None:
        self.given, self.program, self.now = given, program, now
        self.commit = given.commit or commit_here()
        self.place = os.path.join(given.folder, given.name, given.host)
        stem = now.strftime("%Y%m%d-%H%M%S") + (f"-{self.commit[:12]}" if self.commit else "")
        self.folder = os.path.join(os.path.abspath(self.place), stem)
        self.notes: list[str] = []
        self.failed_status = 0

    # ---- the command ----

    def traced(self, number: int) -> list[str]:
        """Return the command of a recorded run: {trace} in it is replaced by the tracer; without {trace}, the tracer is
        prepended.
        """
        options = self.given.trace_options
        if "{trace}" not in self.program:
            return [
                convert.command(),
                "run",
                *options,
                "-f",
                "true",
                "-o",
                os.path.join(self.folder, f"run-{number:02}.rep"),
                "--",
                *self.program,
            ]
        named = self.given.rank_variable
        script = (
            "for v in "
            + " ".join([named] if named else RANK_VARIABLES)
            + '; do eval "r=\\${$v-}"; [ -z "$r" ] || break; done; '
            'case "$LIBTRACE_RANKS" in ""|*",$r,"*) ;; *) exec "$@";; esac; exec '
            + " ".join(map(shlex.quote, [convert.command(), "run", *options, "-f", "true", "-o"]))
            + f' {shlex.quote(self.folder)}/run-{number:02}-rank-"${{r:-0}}".rep -- "$@"'
        )
        words = []
        for word in self.program:
            words += ["/bin/sh", "-c", script, "sh"] if word == "{trace}" else [word]
        return words

    def options_check(self) -> None:
        """Check the options of `trace run`, so that invalid ones are refused before anything is run or stored."""
        words = [
            "run",
            "--dry-run",
            "-f",
            "true",
            "-o",
            os.path.join(tempfile.gettempdir(), "night.rep"),
            *self.given.trace_options,
            "--",
            "true",
        ]
        result = subprocess.run(
            [convert.command(), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if result.returncode:
            lines = result.stderr.strip().splitlines() or ["they are not options of trace run"]
            raise Failure(f"--trace-options: {lines[-1].removeprefix('trace: ')}")
        if "program: true" not in result.stdout.splitlines():
            raise Failure(f"--trace-options: not options of 'trace run' alone: {shlex.join(self.given.trace_options)}")

    def plain(self) -> list[str]:
        return [word for word in self.program if word != "{trace}"]

    def reports_of(self, number: int) -> list[tuple[str | None, str]]:
        """Return [(rank or None, path)] of a run."""
        names = sorted(n for n in os.listdir(self.folder) if n.startswith(f"run-{number:02}") and n.endswith(".rep"))
        return [(n.split("-rank-")[1][:-4] if "-rank-" in n else None, os.path.join(self.folder, n)) for n in names]

    def execute(self, command: list[str], log: str, number: int) -> tuple[str, int | None, int | None, int]:
        """Run a command until it ends or we must end. Returns (outcome, exit status, signal, wall ns)."""
        environment = {
            **os.environ,
            "LIBTRACE_GPU_METRICS_PASS": str(number),  # of --gpu-metrics: each run counts the next group
            "LIBTRACE_RANKS": f",{','.join(map(str, sorted(self.given.ranks)))}," if self.given.ranks else "",
        }
        begin = time.monotonic()
        with open(log, "ab") as out:
            try:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment, start_new_session=True
                )
            except OSError as error:
                return f"cannot be run: {error.strerror}", 127, None, 0
            try:
                outcome = self.wait(process, begin, number)
            except BaseException:  # interrupted: the process is in a session of its own
                self.end(process, signal.SIGTERM)
                raise
        wall_ns = int((time.monotonic() - begin) * 1e9)
        status = process.returncode
        if outcome == "ok" and status:
            outcome = "killed" if status < 0 else "failed"
        return outcome, status if status >= 0 else None, -status if status < 0 else None, wall_ns

    def wait(self, process: subprocess.Popen[bytes], begin: float, number: int) -> str:
        """Wait until the process ends, and terminate it if it takes too long or writes too much. The writers finish
        the reports of a terminated group.
        """
        outcome, ended = "ok", None
        while True:
            try:
                process.wait(POLL_S if ended or self.given.timeout < 1e9 else None)
                return outcome
            except subprocess.TimeoutExpired:
                pass
            now = time.monotonic()
            if outcome == "ok" and now - begin > self.given.timeout:
                outcome = "hung"
            elif (
                outcome == "ok"
                and sum(os.stat(path).st_size for _, path in self.reports_of(number)) > self.given.run_mib * 2**20
            ):
                outcome = "too large"
            if outcome != "ok":
                self.end(
                    process, signal.SIGKILL if ended and now - ended > GRACE_S else signal.SIGTERM if not ended else 0
                )
                ended = ended or now

    @staticmethod
    def end(process: subprocess.Popen[bytes], number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)

    # ---- recording ----

    def record_run(self, kept: store.Store, night: int, number: int) -> int | None:
        log = os.path.join(self.folder, f"run-{number:02}.log")
        outcome, status, signal_number, wall_ns = self.execute(self.traced(number), log, number)
        if outcome != "ok":
            recover(self.folder)
        reports = self.reports_of(number)
        if outcome != "ok":
            self.failed_status = self.failed_status or status or (128 + signal_number if signal_number else 2)
            self.notes.append(
                f"run {number}: {outcome}"
                + (
                    f" (status {status})"
                    if status is not None
                    else f" (signal {signal_number})"
                    if signal_number
                    else ""
                )
                + cause_in(log)
            )
        written: list[tuple[str | None, str | None]] = [*reports] or [(None, None)]
        for rank, path in written:
            found, result = None, outcome
            if path:
                found, result = self.read(path, outcome)
            elif outcome == "ok":
                result = "no report"
                self.notes.append(f"run {number}: wrote no report" + cause_in(log))
            kept.run_add(
                night,
                number,
                rank,
                True,
                result,
                status,
                signal_number,
                wall_ns,
                os.path.relpath(path, self.given.folder) if path else None,
                os.path.getsize(path) if path else None,
                found,
            )
        return wall_ns if outcome == "ok" else None

    def record_runs(self, kept: store.Store, night: int, baseline: list[Row]) -> tuple[list[int | None], float | None]:
        """Record the runs: all of them, or with bounds until the verdict is sure. The first night records all, since
        later ones are compared with it. Return the time of each run, and the alpha of the last look.
        """
        bounds: sequential.Runs = self.given.runs
        walls: list[int | None] = []
        alpha = None
        whole = self.given.alpha or compare.Options.alpha
        for count, alpha in sequential.looks(bounds, whole) if baseline else [(bounds.last, None)]:
            while len(walls) < count:
                walls.append(self.record_run(kept, night, len(walls) + 1))
            if count == bounds.last or any(r["outcome"] != "ok" for r in kept.runs(night)):
                break
            comparison = compare_night(self.given, kept, night, baseline, alpha)
            if comparison and sequential.is_sure(comparison, self.given.see / 100, comparison.options.alpha):
                self.notes.append(f"stopped after {count} of at most {bounds.last} runs: the verdict is sure")
                break
        return walls, alpha

    def read(self, path: str, outcome: str) -> tuple[profile.Profile | None, str]:
        """Read the reports of a run. Returns (profile or None, outcome)."""
        try:
            with tempfile.TemporaryDirectory(prefix="trace-nightly-") as folder:
                database = os.path.join(folder, "run.sqlite")
                damaged = convert.export(path, database)
                found = profile.read(database, os.path.relpath(path, self.given.folder))
        except (Failure, OSError) as error:
            self.notes.append(f"{os.path.basename(path)}: {error}")
            return None, outcome if outcome != "ok" else "cannot read the report"
        if damaged:
            found.problems.append("the report is damaged")
        if found.problems and outcome == "ok":
            self.notes += [f"{os.path.basename(path)}: {text}" for text in found.problems]
            return found, "incomplete"
        return found, outcome

    def record_untraced(self, kept: store.Store, night: int, traced_ns: list[int]) -> float | None:
        """Return the overhead of recording as a ratio of medians; None if it was not requested or is unknown."""
        plain_ns = []
        for number in range(1, self.given.untraced + 1):
            outcome, status, signal_number, wall_ns = self.execute(
                self.plain(), os.path.join(self.folder, f"untraced-{number:02}.log"), 0
            )
            kept.run_add(night, number, None, False, outcome, status, signal_number, wall_ns, None, None, None)
            if outcome == "ok":
                plain_ns.append(wall_ns)
        return statistics.median(traced_ns) / statistics.median(plain_ns) if plain_ns and traced_ns else None

    # ---- the verdict ----

    def verdict(
        self, kept: store.Store, night: int, baseline: list[Row], complete: bool, alpha: float | None
    ) -> tuple[int, str, Comparison | None, bool]:
        """Return (verdict, reason, comparison, whether this night joins the baseline)."""
        if not complete:
            return compare.CANNOT_TELL, "not all runs are complete: " + "; ".join(self.notes[:3]), None, False
        if not baseline:
            return compare.CANNOT_TELL, "first night: no earlier nights to compare with", None, True
        comparison = compare_night(self.given, kept, night, baseline, alpha)
        if not comparison:
            return compare.CANNOT_TELL, "no runs to compare", None, False
        return (
            comparison.verdict,
            comparison.reason,
            comparison,
            comparison.verdict == compare.OK
            or (
                comparison.verdict == compare.CANNOT_TELL
                and not comparison.problems
                and not any(d.refuses for d in comparison.differences)
            ),
        )

    def write_verdict(
        self,
        file: VerdictFile,
        verdict: int,
        reason: str,
        comparison: Comparison | None,
        overhead: float | None,
    ) -> None:
        content = {
            "verdict": compare.VERDICTS[verdict],
            "exit_status": verdict,
            "reason": reason,
            "benchmark": self.given.name,
            "host": self.given.host,
            "begun": self.now.isoformat(),
            "commit": self.commit,
            "overhead": overhead,
            "notes": self.notes,
            "command": fingerprint.redact(self.program),
        }
        if comparison:
            try:
                for kind, name in (
                    ("text", "verdict.txt"),
                    ("markdown", "verdict.md"),
                    ("junit", "verdict.xml"),
                    ("json", "verdict.diff.json"),
                ):
                    with open(os.path.join(self.folder, name), "w", encoding="utf-8") as out:
                        out.write(formats.FORMATS[kind](comparison, False))
            except OSError as error:
                content["notes"] = [*self.notes, f"cannot write {error.filename}: {error.strerror}"]
            content["worse"] = [
                {
                    "place": f.key.path,
                    "kind": f.key.kind,
                    "name": f.key.name,
                    "metric": f.metric,
                    "base": f.base,
                    "other": f.other,
                }
                for f in comparison.of("worse")[:20]
            ]
        file.close(content)

    def draw(self, kept: store.Store, night: int, comparison: Comparison | None) -> None:
        """Keep the profile of the night, and pictures if it is worse. Failures are notes."""
        try:
            own = median_report(self.given, comparison.other if comparison else kept.profiles(night), f"night {night}")
            pictures.keep_profile(own, self.folder)
            if comparison and comparison.verdict == compare.WORSE:
                reports = (median_report(self.given, comparison.base, "the baseline"), own)
                pictures.draw(kept, kept.nights(self.given.name, self.given.host), comparison, reports, self.folder)
        except (Failure, OSError) as error:
            self.notes.append(f"no pictures: {error}")

    def publish(self, kept: store.Store, night: int, verdict: int, reason: str, comparison: Comparison | None) -> None:
        """Write the metrics for Prometheus, and run the user's command if the night is worse. Failures are notes."""
        given = self.given
        if given.prometheus:
            worse = len(comparison.of("worse")) if comparison else 0
            profiles = kept.profiles(night)
            text = notify.prometheus(given.name, given.host, self.now.timestamp(), verdict, worse, profiles)
            try:
                notify.replace(given.prometheus, text)
            except OSError as error:
                self.notes.append(f"cannot write '{given.prometheus}': {error.strerror}")
        if given.on_worse and verdict == compare.WORSE:
            facts = {
                "NAME": given.name,
                "HOST": given.host,
                "VERDICT": compare.VERDICTS[verdict],
                "REASON": reason,
                "FOLDER": self.folder,
                "COMMIT": self.commit or "",
            }
            text = formats.text(comparison, False) if comparison else reason
            problem = notify.run_hook(given.on_worse, facts, text)
            if problem:
                self.notes.append(problem)

    def dry_run(self) -> int:
        print(f"benchmark '{self.given.name}' on '{self.given.host}', commit {self.commit or 'not known'}")
        print(f"folder    {self.folder}\nstore     {store.without_password(self.given.store)}")
        print(f"would run {self.given.runs} times: {shlex.join(fingerprint.redact(self.traced(1)))}")
        if self.given.untraced:
            print(f"and {self.given.untraced} times without the tracer: {shlex.join(fingerprint.redact(self.plain()))}")
        if os.path.exists(self.given.store):
            nights = store.Store(self.given.store).nights(self.given.name, self.given.host)
            print(
                "would compare with nights "
                + (", ".join(str(n["id"]) for n in baseline_of(nights, self.given.baseline_nights)) or "none yet")
            )
        return 0

    def record(self, prune: Callable[[store.Store, argparse.Namespace, datetime.datetime], object]) -> int:
        self.options_check()
        if self.given.dry_run:
            return self.dry_run()
        os.makedirs(self.place, exist_ok=True)
        lock = Lock(os.path.join(self.place, "lock"))
        recover(os.path.abspath(self.place))
        for more in range(1, 1000):
            try:
                os.makedirs(self.folder)
                break
            except FileExistsError:  # started in the same second, or the clock was set back
                self.folder = f"{self.folder.split('+')[0]}+{more}"
        file = VerdictFile(os.path.join(self.folder, "verdict.json"))
        kept = store.Store(self.given.store)
        kept.cut_off(self.given.name, self.given.host)
        nights = kept.nights(self.given.name, self.given.host)
        begun = self.now.isoformat(timespec="seconds").replace("+00:00", "")
        if nights and nights[-1]["begun"] > begun:
            self.notes.append(f"the clock went back: the previous night began {nights[-1]['begun']}")
        night = kept.night_begin(self.given.name, self.given.host, begun, self.commit, self.folder)
        baseline = baseline_of(nights, self.given.baseline_nights)
        walls, alpha = self.record_runs(kept, night, baseline)
        overhead = self.record_untraced(kept, night, [w for w in walls if w is not None])
        complete = all(r["outcome"] == "ok" for r in kept.runs(night) if r["is_traced"])
        verdict, reason, comparison, is_baseline = self.verdict(kept, night, baseline, complete, alpha)
        if self.given.page:
            try:
                write_page(self.given, kept, night, comparison, os.path.join(self.folder, PAGE))
            except Failure as error:
                self.notes.append(f"no page: {error}")
        self.draw(kept, night, comparison)
        self.publish(kept, night, verdict, reason, comparison)
        self.write_verdict(file, verdict, reason, comparison, overhead)
        kept.night_end(night, compare.VERDICTS[verdict], reason, is_baseline, overhead, "\n".join(self.notes))
        prune(kept, self.given, self.now)
        kept.close()
        print(
            f"night {night}: {compare.VERDICTS[verdict]}: {reason}"
            + (f"; recording overhead {100 * (overhead - 1):+.1f} %" if overhead else "")
        )
        for note in self.notes:
            print(f"trace: nightly: {note}", file=sys.stderr)
        del lock
        return self.failed_status or verdict
