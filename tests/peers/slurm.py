#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Trace jobs of a real Slurm cluster that consists of this machine (munged, slurmctld, slurmd), in a temporary folder.

Needs root, and the packages slurm-wlm and munge, which scripts/setup does not install; skipped without them. With LONG=1 it also waits for
a time limit of Slurm, whose unit is minutes.
"""
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import lib  # noqa: E402
import lib_compare  # noqa: E402
from lib import TRACE, Report, clean_env, folder, run, tap, wait_until  # noqa: E402

os.environ["PATH"] += ":/usr/sbin:/sbin"
CONFIGURATION = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={place}/munge/socket
SlurmUser=root
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES State=UP MaxTime=INFINITE
"""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Cluster:
    def __init__(self):
        self.place = folder()
        os.chmod(self.place, 0o755)
        self.configuration = os.path.join(self.place, "slurm.conf")
        self.daemons = []

    def env(self, **more):
        return clean_env(SLURM_CONF=self.configuration, HOME=self.place, LIBTRACE_PYTHON=lib_compare.interpreter(), **more)

    def start(self, *command, **popen):
        self.daemons.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.env(), **popen))

    def begin(self):
        """Start the cluster. Return whether a node accepts jobs."""
        munge = os.path.join(self.place, "munge")
        for name in ("munge", "state", "spool"):
            os.mkdir(os.path.join(self.place, name))
        with open(f"{munge}/key", "wb") as key:
            key.write(os.urandom(1024))
        os.chmod(f"{munge}/key", 0o400)
        for path in (munge, f"{munge}/key"):
            shutil.chown(path, "munge", "munge")
        with open(self.configuration, "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(host=socket.gethostname().split(".")[0], place=self.place, ports=free_ports(2)))
        self.start("munged", "--foreground", f"--key-file={munge}/key", f"--socket={munge}/socket", f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed",
                   "--force", user="munge", group="munge", extra_groups=[])
        if not wait_until(lambda: os.path.exists(f"{munge}/socket")):
            return False
        self.start("slurmctld", "-D", "-f", self.configuration)
        self.start("slurmd", "-D", "-f", self.configuration)
        return wait_until(lambda: b"idle" in self.run("sinfo", "-h", "-o", "%T").out)

    def run(self, *command, limit=lib.HANG_S, **more):
        return run([*map(str, command)], env=self.env(**more), cwd=self.place, limit=limit)

    def reports(self, prefix):
        names = sorted(n for n in os.listdir(self.place) if n.startswith(prefix) and n.endswith(".rep"))
        return names, all(Report(os.path.join(self.place, n)).check().status == 0 for n in names)

    def end(self):
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()


def steps(cluster):
    for how, script, status in (("statuses", "sleep 0.2; exit $SLURM_PROCID", 1), ("a rank is killed", "[ $SLURM_PROCID = 0 ] || kill -9 $$; sleep 1", 137)):
        plain = cluster.run("srun", "-n", 2, "sh", "-c", script)
        traced = cluster.run("srun", "-n", 2, TRACE, "run", "-f", "true", "-o", "step-%q{SLURM_PROCID}", "--", "sh", "-c", script)
        tap.ok(plain.status == traced.status == status, f"srun, {how}: its status", f"{plain} {traced}")
        tap.ok(wait_until(lambda: cluster.reports("step-") == (["step-0.rep", "step-1.rep"], True)), "and a whole report for each rank", cluster.reports("step-"))
    result = cluster.run("srun", f"--export=ALL,LD_PRELOAD={lib.LIBRARY}", "-n", 2, "sh", "-c", "exit $SLURM_PROCID", LIBTRACE_OUTPUT="pre-%q{SLURM_PROCID}")
    tap.ok(result.status == 1 and wait_until(lambda: cluster.reports("pre-") == (["pre-0.rep", "pre-1.rep"], True)), "srun of a program with LD_PRELOAD", f"{result} {cluster.reports('pre-')}")
    result = cluster.run(TRACE, "run", "-o", "around", "--", "srun", "-n", 2, "sh", "-c", "exit $SLURM_PROCID")
    tap.ok(result.status == 1 and cluster.reports("around") == (["around.rep"], True), "the tracer around srun", result)


def jobs(cluster):
    """Check the reports after scancel and after a time limit: Slurm ends all processes by SIGTERM, and later by SIGKILL."""
    script = os.path.join(cluster.place, "job.sh")
    with open(script, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\nsrun -n 2 {TRACE} run -o 'job-%q{{SLURM_PROCID}}' -- sleep 600\n")
    job = cluster.run("sbatch", "--parsable", "-n", 2, "-o", "job.out", script).out.decode().strip()
    begun = wait_until(lambda: len(cluster.reports("job-")[0]) == 2)
    cluster.run("scancel", job)
    ended = wait_until(lambda: not cluster.run("squeue", "-h", "-j", job).out.strip())
    whole = wait_until(lambda: cluster.reports("job-") == (["job-0.rep", "job-1.rep"], True))
    tap.ok(begun and ended and whole, "sbatch, scancel: a whole report for each rank", cluster.reports("job-"))
    if not os.environ.get("LONG"):
        tap.skip("a time limit", "it takes minutes (LONG=1)")
        return
    result = cluster.run("srun", "-t", 1, "-n", 2, TRACE, "run", "-o", "limit-%q{SLURM_PROCID}", "--", "sleep", 600, limit=300)
    whole = wait_until(lambda: cluster.reports("limit-") == (["limit-0.rep", "limit-1.rep"], True))
    tap.ok(result.status == 143 and whole, "a time limit: a whole report for each rank", f"{result} {cluster.reports('limit-')}")


def nights(cluster):
    def night(name, *command, status, options=()):
        result = cluster.run(TRACE, "nightly", "run", "--name", name, "--folder", "nights", "--host=h", "--runs=1", *options, "--", "srun", "-n", 2, "{trace}", *command)
        names = sorted(n for _, _, files in os.walk(os.path.join(cluster.place, "nights", name)) for n in files if n.endswith(".rep"))
        whole = all(Report(os.path.join(base, n)).check().status == 0 for base, _, files in os.walk(os.path.join(cluster.place, "nights", name)) for n in files if n.endswith(".rep"))
        tap.ok(result.status == status, f"nightly, {name}: its status", result)
        return names, whole

    both = ["run-01-rank-0.rep", "run-01-rank-1.rep"]
    tap.ok(night("good", "/bin/true", status=2) == (both, True), "the first night: a whole report for each rank")
    tap.ok(night("chosen", "sh", "-c", "exit $SLURM_PROCID", status=1, options=["--ranks=1"]) == (both[1:], True), "ranks that are chosen")
    tap.ok(night("hung", "sleep", "600", status=137, options=["--timeout=3"]) == (both, True), "srun kills the ranks of a run that hangs with all their writers: the reports are whole")


def main():
    missing = [name for name in ("munged", "slurmctld", "slurmd", "srun") if not shutil.which(name)]
    if missing or os.geteuid():
        tap.skip("Slurm", f"{missing[0]} is not installed" if missing else "only root can run slurmd")
        return
    pwd.getpwnam("munge")
    cluster = Cluster()
    try:
        if tap.ok(cluster.begin(), "a cluster of one machine has begun", cluster.run("sinfo")):
            steps(cluster)
            jobs(cluster)
            if lib_compare.interpreter():
                nights(cluster)
            else:
                tap.skip("nightly", "no python3 with numpy and scipy (scripts/setup --python)")
    finally:
        cluster.end()


lib.main(main)
