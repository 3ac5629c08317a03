# SPDX-License-Identifier: Apache-2.0
"""Run NVIDIA's Nsight Systems, to compare with it, where it is installed: NSIGHT_SYSTEMS names its folder (the one with bin/nsys); by default nsys
of PATH is used.

This project does not contain or fetch it. In some packages the importers are in a folder where nsys does not find them: they are called from here.
"""
import csv
import glob
import os
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from lib import clean_env, folder, run  # noqa: E402


def root():
    named = os.environ.get("NSIGHT_SYSTEMS")
    found = shutil.which("nsys")
    place = named or (found and os.path.dirname(os.path.dirname(os.path.realpath(found))))
    return place if place and os.path.exists(os.path.join(place, "bin/nsys")) else None


def program(name):
    """Return the path of a program of Nsight Systems; None if it is not installed."""
    places = [path for pattern in (f"bin/{name}", f"host-*/{name}") for path in sorted(glob.glob(os.path.join(root() or "/nonexistent", pattern)))]
    return places[0] if places else None


def version():
    return run([program("nsys"), "--version"], env=clean_env(), limit=60).out.decode(errors="replace").split("version ")[-1].strip()


def profile(argv, sources="nvtx", options=(), **variables):
    """Trace a program by nsys, its NVTX calls or what `sources` names. Return the path of the report (None if nsys wrote none), and the exit status."""
    place = folder()
    base = os.path.join(place, "r")
    result = run([program("nsys"), "profile", "-t", sources, *options, "-s", "none", "--cpuctxsw=none", "-o", base, *argv],
                 env=clean_env(PYTHONPATH=os.environ.get("PYTHONPATH"), **variables), cwd=place, limit=120)
    if not os.path.exists(base + ".nsys-rep") and os.path.exists(base + ".qdstrm"):
        run([program("QdstrmImporter"), "-i", base + ".qdstrm", "-o", base + ".nsys-rep"], env=clean_env(), cwd=place, limit=120)
    return (base + ".nsys-rep" if os.path.exists(base + ".nsys-rep") else None), result.status


def stats(database, reports):
    """Return {name: rows} of the reports of `nsys stats`, each row as a dictionary."""
    output = os.path.join(folder(), "s")
    run([program("nsys"), "stats", "-r", ",".join(reports), "-f", "csv", "-o", output, "--force-export=false", database], env=clean_env(), limit=120)
    found = {}
    for name in reports:
        with open(f"{output}_{name}.csv", encoding="utf-8", newline="") as source:
            found[name] = list(csv.DictReader(source))
    return found


def recipe(name, report, python):
    """Run a recipe of nsys by a Python interpreter that has what recipes import, on a report whose tables are in Parquet files beside it. Return {name: rows} of
    the .csv files that it wrote, and the result. In Debian's package two things that recipes look for are missing: a copy gets them here.
    """
    place = folder()
    target, output = os.path.join(place, "target-linux-x64"), os.path.join(place, "output")
    nsys = glob.glob(os.path.join(root(), "target-linux-*"))[0]
    shutil.copytree(os.path.join(nsys, "python"), os.path.join(target, "python"))
    os.makedirs(os.path.join(target, "python/packages/nsys_recipe/third_party"), exist_ok=True)
    for each in ("rules", "reports"):
        os.symlink(os.path.join(nsys, each), os.path.join(target, each))
    sqlite = next((words[-1] for words in map(str.split, run(["ldconfig", "-p"], env=clean_env(PATH="/sbin:/usr/sbin:" + os.environ["PATH"])).out.decode().splitlines())
                   if words and words[0] == "libsqlite3.so.0"), "libsqlite3.so.0")
    os.symlink(sqlite, os.path.join(target, "libsqlite3.so.0"))
    result = run([python, "-W", "ignore", "-m", "nsys_recipe", name, "--input", report, "--output", output, "--csv"], cwd=place, limit=200,
                 env=clean_env(NSYS_DIR=place, PYTHONPATH=os.path.join(target, "python/packages"), HOME=place))
    found = {}
    for path in glob.glob(os.path.join(output, "*.csv")):
        with open(path, encoding="utf-8", newline="") as source:
            found[os.path.basename(path)] = list(csv.DictReader(source))
    return found, result


def export(report, kind):
    output = report + "." + kind
    run([program("nsys"), "export", "-t", kind, "-o", output, "-f", "true", report], env=clean_env(), cwd=os.path.dirname(report), limit=120)
    return output if os.path.exists(output) else None


PAYLOADS = ("uint64Value", "int64Value", "doubleValue", "uint32Value", "int32Value", "floatValue")


class Nvtx:
    """The NVTX_EVENTS of a database in nsys's schema, without what differs between two runs: times, ids, pids and tids."""
    def __init__(self, path):
        self.database = sqlite3.connect(path)
        self.database.row_factory = sqlite3.Row
        self.database.text_factory = lambda text: text.decode("utf-8", "backslashreplace")  # nsys writes invalid bytes unchanged, we write \\xNN
        tables = {row[0] for row in self.database.execute("select name from sqlite_master")}
        self.rows = [dict(row) for row in self.database.execute("select e.*, coalesce(e.text, s.value, '') as message from NVTX_EVENTS e "
                                                                "left join StringIds s on s.id = e.textId")] if "NVTX_EVENTS" in tables else []
        self.domains = {(row["globalTid"] >> 24, row["domainId"]): row["message"] for row in self.rows if row["eventType"] == 75}
        pids = sorted({row["globalTid"] >> 24 for row in self.rows})
        tids = sorted({tid for row in self.rows for tid in (row["globalTid"], row["endGlobalTid"]) if tid})
        self.threads = {tid: (pids.index(tid >> 24), [t for t in tids if t >> 24 == tid >> 24].index(tid)) for tid in tids}

    def _key(self, row):
        payload = next(((name, row[name]) for name in PAYLOADS if row[name] is not None), None)
        return (row["eventType"], self.threads[row["globalTid"]], self.threads[row["endGlobalTid"] or row["globalTid"]],
                self.domains.get((row["globalTid"] >> 24, row["domainId"]), ""), row["message"], row["category"] or 0, (row["color"] or 0) & 0xffffffff, payload,
                row["end"] is not None)

    def marks_and_names(self):
        return [self._key(row) for row in sorted(self.rows, key=lambda row: row["start"]) if row["eventType"] in (33, 34, 39, 75, 76)]

    def ranges(self, kind):
        """Return the ranges of each thread, in the order of their starts, each with its nesting level in its thread."""
        found = []
        stacks = {}
        for row in sorted((row for row in self.rows if row["eventType"] == kind), key=lambda row: (row["globalTid"], row["start"], -(row["end"] or 1 << 62))):
            stack = stacks.setdefault(row["globalTid"], [])
            while stack and stack[-1] < (row["end"] or 1 << 62):
                stack.pop()
            found.append(self._key(row) + (len(stack) if kind == 59 else 0,))
            stack.append(row["end"] or 1 << 62)
        return found
