# SPDX-License-Identifier: Apache-2.0
"""Ranks that are recorded one by one, made to come from hosts whose clocks differ, and merged: how far the merged report is from the truth.

All ranks run on one host, so the times in their own reports are the truth.
"""
import csv
import io
import json
import os
import shutil

import libskew
from lib import BUILD, TRACE, Report, clean_env, run, trace

RANKS = 3
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def launchers(ranks=RANKS):
    """Return (name, command, variable with the rank, end of the programs' names) of each implementation; the command is None where it is missing."""
    open_mpi = shutil.which("mpirun.openmpi") or shutil.which("orterun")
    hydra = shutil.which("mpiexec.hydra")
    return [("Open MPI", open_mpi and [open_mpi, "--oversubscribe", "-n", str(ranks)], "OMPI_COMM_WORLD_RANK", "_open"),
            ("MPICH", hydra and [hydra, "-n", str(ranks)], "PMI_RANK", "")]


def program(name):
    path = os.path.join(BUILD, "tests", "apps", name)
    return path if os.path.exists(path) else None


def record(launcher, variable, command, place, ranks=RANKS, sources="mpi,nvtx"):
    """Record each rank in a report of its own. Return the reports' paths, or None after a failure."""
    result = run([*launcher, TRACE, "run", "-t", sources, "-o", os.path.join(place, "rank-%q{" + variable + "}"), "--", *command], cwd=place,
                 env=clean_env(HOME=place, **ROOT), limit=300)
    paths = [os.path.join(place, f"rank-{rank}.rep") for rank in range(ranks)]
    return paths if result.status == 0 and all(map(os.path.exists, paths)) else None


def spread(paths, rng):
    """Rewrite the reports of all ranks but the first one as if each came from another host. Return their paths."""
    origin = Report(paths[0]).info()["session"]["start_ns"]
    others = []
    for rank, path in enumerate(paths):
        target = path.replace("rank-", "host-")
        offset, ppm = (rng.randint(-10**9, 10**12), rng.uniform(-200, 200)) if rank else (0, 0)
        libskew.skew(path, target, f"boot-{rank}", offset, ppm, origin)
        others.append(target)
    return others


def merged(paths, target, *options):
    return trace("merge", "-o", target, "-f", "true", *options, *paths, limit=300)


def events_by_process(path):
    """Return the events of each process, those of a kind and thread in the order of their times."""
    found = {}
    for event in Report(path).each_event("--absolute"):
        found.setdefault(event["process"], []).append(event)
    return found


def moment(event):
    return event.get("start_ns", event.get("time_ns"))


def shifts(paths, target):
    """Return, for each rank, (true time, how far the merged time is from it) of each of its events; None if events differ in more than times."""
    info = Report(target).info()
    found = events_by_process(target)
    result = []
    for number, path in enumerate(paths, 1):
        ours = [e for p in info["processes"] if p.get("report") == number for e in found.get(p["id"], [])]
        truth = [e for events in events_by_process(path).values() for e in events]

        def key(event):
            return event["kind"], event["tid"], moment(event), json.dumps([event.get(n) for n in ("name", "function", "text", "path", "request")])

        ours.sort(key=key)
        truth.sort(key=key)
        same = len(ours) == len(truth) and all(a["kind"] == b["kind"] and a["tid"] == b["tid"] for a, b in zip(ours, truth))
        result.append(sorted((moment(b), moment(a) - moment(b)) for a, b in zip(ours, truth)) if same and truth else None)
    return result


def errors(paths, target):
    """Return, for each rank, how far its merged times are from the true ones: (least, greatest) in ns; None if events differ in more than times."""
    return [of and (min(s for _, s in of), max(s for _, s in of)) for of in shifts(paths, target)]


def between(one, other):
    """Return how far two ranks are apart, at most, at the times of the events of `one`: the shift of the other one is interpolated between its events."""
    most, at = 0, 0
    for time, shift in one:
        while at + 1 < len(other) and other[at + 1][0] <= time:
            at += 1
        if at + 1 < len(other) and other[at][0] <= time:
            (t, s), (u, v) = other[at:at + 2]
            most = max(most, abs(shift - (s + (v - s) * (time - t) / max(u - t, 1))))
    return most


def pairs_kept(paths, target):
    """Return whether each two ranks of different hosts are as close to each other as stated for the pair, which is never more than both errors; and stated."""
    merged_from, of = Report(target).info()["merged"], shifts(paths, target)
    for late, later in enumerate(merged_from):
        stated = {pair["host"]: pair["error_ends_ns"] for pair in later.get("pairs", [])}
        for early, earlier in enumerate(merged_from[:late]):
            bound = stated.get(earlier["host"])
            if bound is None or not of[late] or not of[early] or bound > later["error_ends_ns"] + earlier["error_ends_ns"] + 2:
                return False
            if max(between(of[late], of[early]), between(of[early], of[late])) > bound + 4:  # as in kept(), for both
                return False
    return True


def bounds(target):
    """Return the stated errors of the reports in a merged report; None = not stated."""
    return [m.get("error_ends_ns") for m in Report(target).info()["merged"]]


def kept(paths, target):
    """Return whether all times of all ranks are as exact as stated, and stated at all."""
    # a nanosecond for the rounding of the rewritten times, another one for that of the merged ones
    return all(e and stated is not None and max(abs(e[0]), abs(e[1])) <= stated + 2 for e, stated in zip(errors(paths, target), bounds(target)))


def rows(report, path):
    return list(csv.DictReader(io.StringIO(trace("stats", "-r", report, "-f", "csv", path).out.decode())))


def latest(target):
    """Return the rank for which others waited longest, and what it did instead."""
    waits = {}
    for row in rows("mpi_late_sum", target):
        if row["Rank"]:
            waits[row["Rank"], row["Instead"]] = waits.get((row["Rank"], row["Instead"]), 0) + int(row["Total Wait (ns)"])
    return max(waits, key=waits.get) if waits else None


