# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""Samples of the machine (--machine-samples): GPUs by a stand-in for NVML (tests/apps/libnvml.c), which also hangs, crashes and lies; network
interfaces of the real /sys/class/net and of a made-up /sys; CPUs. No real NVML, GPU or InfiniBand is here."""
import errno
import json
import os
import select
import shutil
import socket
import sqlite3
import struct
import subprocess
import threading

import _page
import lib
import libdevice as device
from lib import tap, trace

GPU_VALUES = ("utilization_percent", "memory_utilization_percent", "memory_used_bytes", "sm_clock_mhz", "memory_clock_mhz", "throttle_reasons", "power_mw",
              "temperature_celsius", "pcie_rx_bytes_per_s", "pcie_tx_bytes_per_s", "nvlink_rx_bytes_per_s", "nvlink_tx_bytes_per_s")
HOST = os.path.join(lib.PRODUCTS, "lib/libtrace/libtrace-host")
PERIOD_NS = 100_000_000


def nvml(**numbers):
    """Return the path of a stand-in for NVML that behaves so."""
    path = os.path.join(lib.folder(), "libnvidia-ml.so.1")
    shutil.copy(lib.app("libnvml.so"), path)
    with open(path + ".txt", "w", encoding="ascii") as file:
        file.writelines(f"NVML_{name.upper()}={number}\n" for name, number in numbers.items())
    return path


def written(what, library):
    """Return how many records the process that samples has written, at most."""
    for pid in processes(library):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as command, open(f"/proc/{pid}/io", encoding="ascii") as io:
                if what.encode() in command.read().split(b"\0"):
                    return int(io.read().split()[3]) // RECORD.size
        except OSError:
            pass
    return 0


def opened(pipe):
    """Open a named pipe that a program reads, which is its end. Return False if none reads it yet."""
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        return True
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return False


def recorded(library, *command, when="always", env=None, wanted=(), note=None):
    """Record a command, and return the path of the report and the result of `trace run`. `cat PIPE` in the command waits until the processes that
    sample have written the wanted numbers of records: what, number...; then until the report says `note`."""
    path = os.path.join(lib.folder(), "r.rep")
    pipe = os.path.join(os.path.dirname(path), "pipe")
    if wanted:
        os.mkfifo(pipe)
        command = [word.replace("PIPE", pipe) for word in command]

        def release():
            lib.wait_until(lambda: all(written(what, library) >= number for what, number in wanted))
            lib.wait_until(lambda: not note or note.encode() in trace("info", "--no-wait", path).out, 60)
            lib.wait_until(lambda: opened(pipe))

        threading.Thread(target=release, daemon=True).start()
    variables = dict(env or lib.clean_env(), LIBTRACE_NVML=library)
    return path, lib.run([lib.TRACE, "run", "-o", path, *(["--machine-samples", when] if when else []), "--", *command], env=variables)


def rows(path, kind):
    """Return the events of a kind; addresses and bits, which are hexadecimal texts, as numbers."""
    found = [json.loads(line) for line in trace("dump", "--json", "--kind", kind, path).out.splitlines()]
    return [{name: int(value, 16) if str(value).startswith("0x") else value for name, value in row.items()} for row in found]


def processes(word):
    """Return the processes that have the word among their arguments and run."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                found += [pid] if word.encode() in file.read() else []
        except OSError:
            pass
    return found


def is_complete(path):
    return trace("check", path).status == 0


def of_gpus():
    library = nvml(gpus=2)
    path, result = recorded(library, "cat", "PIPE", wanted=(("gpus", 3 + 2 * 18), ("host", 4)))
    tap.ok(result.status == 0 and is_complete(path), "a program is recorded with samples, and the report is sound", result.err)
    tap.ok(lib.wait_until(lambda: not processes(library), 10), "no process that samples is left", processes(library))
    devices = rows(path, "gpu_device")
    tap.ok([(d["gpu"], d["name"], d["uuid"], d["bus_id"]) for d in devices] ==
           [(n, f"Made up?{n}", f"GPU-00000000-0000-0000-0000-{n:012}", f"00000000:{n + 1:02}:00.0") for n in (0, 1)], "GPUs have their identity", devices)
    samples = {gpu: [s for s in rows(path, "gpu_sample") if s["gpu"] == gpu] for gpu in (0, 1)}
    turns = [s["memory_used_bytes"] - 1_000_000_000 for s in samples[0]]
    tap.ok(len(turns) > 3 and turns == list(range(1, len(turns) + 1)), "every sample that NVML gave is in the report, once, in order", turns)
    right = all(s["utilization_percent"] == 80 + gpu and s["power_mw"] == 250000 + gpu and s["temperature_celsius"] == 61 and s["memory_clock_mhz"] == 2619
                and (s["sm_clock_mhz"], s["throttle_reasons"]) == ((1290, 4) if (s["memory_used_bytes"] - 1_000_000_000) % 3 == 0 else (1410, 0))
                for gpu in (0, 1) for s in samples[gpu])
    tap.ok(right, "values are those of NVML", [s[:4] for s in samples.values()])
    # Counts became rates: the rate times the time between two samples is what was counted, but for the time that the sample itself took.
    exact = all(abs(b[name] * (b["time_ns"] - a["time_ns"]) / 1e9 / counted - 1) < 1e-6
                for a, b in zip(samples[0], samples[0][1:])
                for name, counted in (("pcie_rx_bytes_per_s", 1e6), ("pcie_tx_bytes_per_s", 2e6), ("nvlink_rx_bytes_per_s", 3072000), ("nvlink_tx_bytes_per_s", 4096000)))
    tap.ok(exact and samples[0][0]["reported"] == 0xff and all(s["reported"] == 0xfff for s in samples[0][1:]), "counts become rates, from the second sample on", samples[0][:3])
    older = [s for s in samples[1] if s["reported"] >> 8]
    tap.ok(older and all((s["reported"], s["pcie_tx_bytes_per_s"], s["pcie_rx_bytes_per_s"]) == (0x3ff, 500000, 510000) for s in older)
           and len(older) < len(samples[1]), "a GPU that does not count bytes is asked for its rate, in turns; what it does not report is not known", samples[1][:3])
    tables(path, samples)
    views(path, samples)


def tables(path, samples):
    for generation in ("2.9", "3.4", "3.24"):
        database = path + generation
        trace("export", "-t", "sqlite", "--compat", generation, "-o", database, path)
        with sqlite3.connect(database) as c:
            found = c.execute("SELECT m.typeId & 0xff, t.metricName, m.value FROM GPU_METRICS AS m JOIN TARGET_INFO_GPU_METRICS AS t "
                              "ON t.typeId = m.typeId AND t.metricId = m.metricId ORDER BY m.timestamp").fetchall()
            names = {name for (name,) in c.execute("SELECT typeName FROM TARGET_INFO_GPU_METRICS")}
        wanted = [s["sm_clock_mhz"] for s in samples[0]]
        tap.ok([v for gpu, name, v in found if (gpu, name) == (0, "NVML SM clock [MHz]")] == wanted
               and len(found) == sum(bin(s["reported"]).count("1") for of in samples.values() for s in of)
               and names == {"NVML samples of GPU 0 [Made up?0]", "NVML samples of GPU 1 [Made up?1]"},
               f"GPU_METRICS of schema {generation} has each value that was reported", (names, found[:20]))


def views(path, samples):
    total = len(samples[0])
    throttled = sum(s["throttle_reasons"] != 0 for s in samples[0])
    clock = sum(s["sm_clock_mhz"] for s in samples[0]) / total
    row = json.loads(trace("stats", "-r", "gpu_clock_sum", "-f", "json", path).out)[0]
    tap.ok(abs(row["Throttled (%)"] - 100 * throttled / total) <= 0.051 and row["By Power (%)"] == row["Throttled (%)"] and row["By Temperature (%)"] == 0
           and abs(row["Avg SM Clock (MHz)"] - clock) <= 0.051 and row["Samples"] == total and (row["Min SM Clock (MHz)"], row["Max SM Clock (MHz)"]) == (1290, 1410),
           "gpu_clock_sum: clocks, and the share of the samples that were throttled", row)
    said = trace("analyze", "-r", "gpu_throttled", path).out.decode()
    tap.ok("Throttled GPU" in said and "1,290.0" in said and "1,410.0" in said, "analyze warns of a throttled GPU", said)
    metric = {(r["GPU"], r["Metric"]): r for r in json.loads(trace("stats", "-r", "gpu_metric_sum", "-f", "json", path).out)}
    tap.ok(metric[1, "NVML power [mW]"]["Avg"] == 250001 and metric[0, "NVML SM clock [MHz]"]["Samples"] == total, "gpu_metric_sum: each metric of each GPU", metric)
    (content,) = _page.write(path + ".html", path).content["reports"]
    timeline = content["timeline"]
    texts = {number: text for number, _, text, _ in timeline["names"]}
    track = {row[0] for row in timeline["tracks"] if row[3] == "machine" and (row[4], row[5]) == (0, 1)}
    got = [texts[row.name] for row in sorted(_page.level_rows(timeline["levels"][0])) if row.track in track]
    hosts = [h for h in rows(path, "host_sample") if h["reported"] & 1]
    loads = [(h["time_ns"], f"up to {(h['busy_permille'] + 124) // 125 * 12.5} % busy") for h in hosts]
    cpus = {row[0] for row in timeline["tracks"] if row[3] == "machine" and (row[4], row[5]) == (0, 3)}
    drawn = [texts[row.name] for row in sorted(_page.level_rows(timeline["levels"][0])) if row.track in cpus]
    wanted = [text for n, (time, text) in enumerate(loads) if not n or loads[n - 1][1] != text or time - loads[n - 1][0] > 3 * PERIOD_NS]
    tap.ok(len(cpus) == 1 and len(loads) > 1 and drawn == wanted, "the page has a track of the load of the CPUs", (drawn, loads))
    states = ["up to 100 % busy" + (", throttled by power" if s["throttle_reasons"] else "") for s in samples[0]]
    tap.ok(len(track) == 1 and got == [s for n, s in enumerate(states) if not n or states[n - 1] != s], "the page has a track for each GPU, with the times in which it was throttled", got)
    chrome = path + ".json"
    trace("export", "-t", "chrome", "-o", chrome, path)
    with open(chrome, encoding="utf-8") as file:
        events = [e for e in json.load(file)["traceEvents"] if e["ph"] == "C"]
    tap.ok([e["args"]["value"] for e in events if e["name"] == "GPU 0, NVML SM clock [MHz]"] == [s["sm_clock_mhz"] for s in samples[0]]
           and any(e["name"] == "CPUs, busy [permille]" for e in events), "timelines have a counter for each value", events[:5])


def when():
    """`auto` samples once a process uses CUDA, where NVML can be loaded; a program without CUDA is not sampled."""
    library = nvml(gpus=1)
    path, result = recorded(library, "sleep", "0.5", when=None)
    tap.ok(result.status == 0 and not rows(path, "host_sample"), "without CUDA nothing is sampled")
    missing = device.missing("launch_loop")
    if missing:
        tap.skip("with CUDA", missing)
        return
    launch = f"{device.app('launch_loop')} 1;"
    for name, where, wait, wanted in (("by default", library, "cat PIPE", (("gpus", 3), ("host", 1))), ("where there is no NVML", "/nonexistent.so", "sleep 1", ())):
        path, result = recorded(where, "sh", "-c", f"{launch} {wait}", when=None, env=device.env(), wanted=wanted)
        found = (bool(rows(path, "gpu_sample")), bool(rows(path, "host_sample")))
        tap.ok(result.status == 0 and is_complete(path) and found == (bool(wanted), bool(wanted)), f"a program with CUDA is {'' if wanted else 'not '}sampled {name}",
               (found, result.err))
    path, result = recorded(library, "sh", "-c", f"{launch} sleep 1", when="none", env=device.env())
    tap.ok(result.status == 0 and not rows(path, "gpu_sample"), "--machine-samples=none: no samples")
    result = lib.trace("run", "--machine-samples", "often", "--", "true")
    tap.ok(result.status == 2 and b"auto" in result.err, "another word is refused", result.err)


def hangs():
    """A hang or a crash of NVML holds up neither the program, nor the other samples, nor the end."""
    for name, numbers, count, note in (
            ("hangs at its start", {"hangs": 1}, 0, "NVML has not answered for 5 s"),
            ("hangs after two samples", {"hangs_after": 2}, 2, "NVML has not answered for 5 s"),
            ("crashes after two samples", {"crashes": 2}, 2, "NVML has crashed libtrace-host")):
        library = nvml(gpus=1, **numbers)
        # How much a process that crashed has written cannot be asked.
        path, result = recorded(library, "cat", "PIPE", note=note, wanted=(("host", 4), *[("gpus", 1 + bool(count) + count)] * ("crashes" not in numbers)))
        info = json.loads(trace("info", "--json", path).out)
        tap.ok(result.status == 0 and is_complete(path) and len(rows(path, "gpu_sample")) == count and len(rows(path, "host_sample")) > 3,
               f"NVML {name}: everything else is recorded", (result, trace("check", path), len(rows(path, "gpu_sample")), len(rows(path, "host_sample"))))
        tap.ok(note in json.dumps(info), f"NVML {name}: the report says so", info)
        tap.ok(lib.wait_until(lambda library=library: not processes(library), 10), f"NVML {name}: no process is left")


def lies():
    library = nvml(gpus=2, lies=1)
    path, result = recorded(library, "cat", "PIPE", wanted=(("gpus", 3 + 2),))
    samples, devices = rows(path, "gpu_sample"), rows(path, "gpu_device")
    tap.ok(result.status == 0 and is_complete(path) and len(devices) == 2 and set(devices[0]["name"]) == {"?"} and len(devices[0]["uuid"]) == 63,
           "NVML lies: texts without an end are cut, and made printable", devices)
    tap.ok(samples and all(s["reported"] == 1 << 1 and not any(s[v] for v in GPU_VALUES if v != "memory_utilization_percent") for s in samples),
           "NVML lies: what no GPU can have, and what it did not store, is not known", samples[:3])


def killed():
    """A killed program and its writer leave no process behind, and the samples so far are in the report."""
    library = nvml(gpus=1)
    path, result = recorded(library, "sh", "-c", "cat PIPE; kill -9 $$", wanted=(("gpus", 2 + 4),))
    tap.ok(result.status and is_complete(path) and len(rows(path, "gpu_sample")) > 3, "a killed program has its samples", result)
    spool = lib.spool_folder()
    environment = dict(lib.traced_env(path + "2", spool), LIBTRACE_MACHINE_SAMPLES="always", LIBTRACE_NVML=library)
    with subprocess.Popen(["sleep", "30"], env=environment) as child:
        started = lib.wait_until(lambda: len(processes(library)) >= 2, 20)
        writer = lib.writer_of(spool)
        os.kill(writer, 9)
        gone = lib.wait_until(lambda: not processes(library), 10)
        child.kill()
    tap.ok(started and gone, "the processes that sample end with a killed writer", (started, processes(library)))


def unowned():
    """While no process of the tree lives, identities of GPUs wait for the next one; other records too, as far as there is room."""
    home, spool = lib.folder(), lib.spool_folder()
    for name in ("libtrace.so", "libtrace-writer"):
        shutil.copy(os.path.join(os.path.dirname(lib.LIBRARY), name), home)
    path, library, host, records = (os.path.join(home, name) for name in ("r.rep", "libtrace.so", "libtrace-host", "records"))
    start, fill, end, resume = pipes = [os.path.join(home, f"pipe{number}") for number in range(4)]
    for name in pipes:
        os.mkfifo(name)
    with open(records, "wb") as file:
        file.write(RECORD.pack(1, 0, 3, 0, 0, *[0] * 12, b"Kept", b"", b"") + RECORD.pack(1, 0, 6, 0, 1, *[7] * 12, b"", b"", b"") * 1000)
    with open(host, "w", encoding="ascii") as file:
        file.write(f"#!{os.sys.executable}\nimport os, sys, time\nif sys.argv[2] != 'gpus':\n  sys.exit(1)\nopen({fill!r}).close()\nos.set_blocking(1, True)\n"
                   f"with open({records!r}, 'rb', {RECORD.size}) as file:\n  while os.write(1, file.read({RECORD.size})):\n    pass\nopen({end!r}).close()\ntime.sleep(1000)\n")
    os.chmod(host, 0o755)
    program = f"import os; open({start!r}).close(); os.execv({lib.app('static_child')!r}, ['untraced', {resume!r}, 'sleep', '0.1'])"
    env = lib.traced_env(path, spool, preload=(library,), LIBTRACE_MACHINE_SAMPLES="always", LIBTRACE_HOME=home)
    with subprocess.Popen([os.sys.executable, "-c", program], env=env) as process:
        steps = [lib.wait_until(lambda: processes(host)), lib.wait_until(lambda: opened(start))]
        # The spool is removed when its process has all its rows.
        steps.append(lib.wait_until(lambda: not [name for name in lib.leftovers(spool) if os.path.basename(name).startswith(f"{process.pid}-")]))
        steps += [lib.wait_until(lambda pipe=pipe: opened(pipe)) for pipe in (fill, end, resume)] + [process.wait(30) == 0, lib.wait_spool_gone(spool)]
    devices, found = rows(path, "gpu_device"), rows(path, "host_sample")
    tap.ok(all(steps) and [d["name"] for d in devices] == ["Kept"], "identities of GPUs that arrive while no process lives are kept", (steps, devices))
    info = trace("info", "--json", path).out.decode()
    tap.ok(is_complete(path) and f"{1000 - len(found)} samples of the machine are missing" in info, "other records are counted where there is no room", (len(found), info))


def hostile():
    """Whatever a sampler writes, the report is sound, and at most 256 records wait for their rows."""
    home = lib.folder()
    for name in ("libtrace.so", "libtrace-writer"):
        shutil.copy(os.path.join(os.path.dirname(lib.LIBRARY), name), home)
    marker = os.path.join(home, "marker")
    kinds = b"".join(RECORD.pack(2**64 - 1, 2**64 - 1, kind, 2**32 - 1, 2**64 - 1, *[2**64 - 1] * 12, *[b"\xff" * 64] * 3) for kind in (0, 1, 2, 3, 4, 5, 6, 7, 2**32 - 1))
    for name, written in (("random bytes", "head -c 1000003 /dev/urandom"), ("half a record", "head -c 100 /dev/zero"), ("impossible records", f"cat {marker}")):
        with open(os.path.join(home, "libtrace-host"), "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n[ $2 = gpus ] || exit 1\nfor n in 1 2 3 4 5 6 7 8; do {written}; done\nexec sleep 1000 {marker}\n")
        os.chmod(os.path.join(home, "libtrace-host"), 0o755)
        with open(marker, "wb") as file:
            file.write(kinds * 100)
        path, result = recorded(marker, "sleep", "0.7", env=lib.clean_env(LIBTRACE_HOME=home))
        tap.ok(result.status == 0 and is_complete(path), f"a sampler that writes {name}: the report is sound", (result.err, trace("check", path).out))
        tap.ok(lib.wait_until(lambda: not processes(marker), 10), f"a sampler that writes {name}: it is ended", processes(marker))


# ---- the kernel's counts ----

RECORD = struct.Struct("=QQIIQ12Q64s64s64s")
KINDS = {2: "lost", 4: "gpu_sample", 5: "nic", 6: "host"}


class Sampler:
    """libtrace-host samples a made-up /sys and /proc."""

    def __init__(self, what, root, is_full=False):
        """is_full: the pipe has no room until free_pipe()."""
        end, other = os.pipe()
        self.pipe = os.fdopen(end, "rb", buffering=0)
        self.filled = 0
        os.set_blocking(other, False)
        try:
            while is_full:
                self.filled += os.write(other, bytes(RECORD.size))
        except BlockingIOError:
            pass
        self.process = subprocess.Popen([HOST, "sample", what, "/nonexistent.so", root], stdout=other, env={})
        os.close(other)

    def free_pipe(self):
        while self.filled:
            self.filled -= len(self.pipe.read(self.filled))

    def calls(self):
        """Return how many records it has tried to write."""
        with open(f"/proc/{self.process.pid}/io", encoding="ascii") as file:
            return int(file.read().split()[7])

    def next(self, kind):
        """Return the next record of a kind: device, duration, which values are known, values, name."""
        while True:
            data = self.pipe.read(RECORD.size)
            if len(data) < RECORD.size:
                return None
            ns, duration, number, port, known, *rest = RECORD.unpack(data)
            if KINDS.get(number) == kind:
                return port, duration, known, rest[:12], rest[12].rstrip(b"\0").decode()

    def end(self):
        self.process.kill()
        self.pipe.close()
        self.process.wait()


def write(root, files):
    for name, text in files.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + "~", "w", encoding="ascii") as file:
            file.write(text)
        os.rename(path + "~", path)


def of_network():
    """Made-up counts, by name and sum; hostile names and contents."""
    root = lib.folder()
    net = "sys/class/net/eth9/statistics"
    counts = {"rx_packets": 10, "tx_packets": 20, "rx_bytes": 1000, "tx_bytes": 2000, "rx_errors": 1, "tx_errors": 1, "rx_dropped": 1, "tx_dropped": 1}
    write(root, {f"{net}/{name}": f"{n}\n" for name, n in counts.items()})
    hostile = {"backward": "99999999999", "text": "none", "huge": "9" * 30, "minus": "-7", "empty": ""}
    for name, text in hostile.items():
        write(root, {f"sys/class/net/{name}/statistics/{file}": text for file in counts})
    os.makedirs(f"{root}/sys/class/net/{'n' * 200}/statistics")
    os.makedirs(f"{root}/sys/class/net/folder/statistics/rx_packets")
    os.makedirs(f"{root}/sys/class/net/pipe/statistics")
    os.mkfifo(f"{root}/sys/class/net/pipe/statistics/rx_packets")
    for n in range(40):  # 64 are the most
        os.makedirs(f"{root}/sys/class/net/z{n}/statistics")
    write(root, {"proc/stat": "cpu  100 0 0 100 0 0 0 0 0 0\n", "proc/loadavg": "1.25 2 3 7/99 1\n"})
    sampler = Sampler("host", root)
    first = sampler.next("host")
    tap.ok(first and first[2] == 0x18 and first[3][3:5] == [7, 125], "load and runnable threads are those of /proc/loadavg", first)
    sampler.next("host")  # so it has read the counts of the interfaces once
    write(root, {"sys/class/net/backward/statistics/rx_packets": "5"})
    write(root, {f"{net}/rx_bytes": "1500\n", f"{net}/rx_dropped": "4\n", f"{net}/rx_packets": "13\n", "proc/stat": "cpu  130 0 0 110 0 0 0 0 0 0\n"})
    port, duration, _known, values, name = sampler.next("nic")
    rest = sampler.next("nic")  # the file of packets was changed last, so nothing can follow but zeros
    tap.ok((port, name, values[:7]) == (0, "eth9", [1, 500, 0, 3, 0, 3, 0]) and 0 < duration < 100 * PERIOD_NS, "an interface: what it counted since the turn before", values)
    tap.ok(rest and rest[4] == "eth9" and not any(rest[3][1:]), "then a record of zeros; interfaces with hostile names and contents have none", rest)
    sampler.end()
    full(root)
    infiniband(lib.folder())


def full(root):
    """What a full pipe has no room for: bytes of interfaces are in the next record, and other records are counted."""
    sampler = Sampler("host", root, is_full=True)

    def tries(number):
        wanted = sampler.calls() + number
        return lib.wait_until(lambda: sampler.calls() >= wanted)

    tries(2)  # it has read the counts once
    write(root, {"sys/class/net/eth9/statistics/rx_bytes": "2100\n"})
    write(root, {"sys/class/net/eth9/statistics/rx_packets": "16\n"})
    tries(4)
    sampler.free_pipe()
    lost = sampler.next("lost")
    _port, duration, _known, values, name = sampler.next("nic")
    tap.ok((name, values[:7]) == ("eth9", [1, 600, 0, 3, 0, 0, 0]) and duration > PERIOD_NS, "a full pipe: bytes of an interface are in the next record", values)
    tap.ok(lost and lost[3][0] >= 2, "a full pipe: the number of other records that were not written is in a record", lost)
    sampler.end()


def infiniband(root):
    ports = "sys/class/infiniband/mlx5_0/ports"
    counts = {"port_rcv_packets": 0, "port_xmit_packets": 0, "port_rcv_data": 0, "port_xmit_data": 0, "port_rcv_errors": 0, "port_xmit_discards": 0, "port_xmit_wait": 0}
    for port, layer in ((1, "InfiniBand"), (2, "Ethernet")):
        write(root, {f"{ports}/{port}/link_layer": f"{layer}\n", **{f"{ports}/{port}/counters/{name}": f"{n}\n" for name, n in counts.items()}})
    sampler, found, step = Sampler("infiniband", root), {}, 0
    is_seen = False
    while len(found) < 2 and step < 100:  # a step before its first look at the files is not seen
        step += 1
        for port in (1, 2):
            write(root, {f"{ports}/{port}/counters/{name}": f"{each * step}\n" for name, each in
                         (("port_rcv_data", 1000), ("port_xmit_data", 2000), ("port_xmit_wait", 5), ("port_rcv_packets", 3))})
        while select.select([sampler.pipe], [], [], 0.3)[0]:
            port, _duration, _known, values, name = sampler.next("nic")
            found.setdefault(port, (name, *values[:7])) if values[6] else None
        if len(found) == 2 and not is_seen:  # its first look may have been during a step, and have seen a part of that
            found, is_seen = {}, True
    steps = {port: found[port][-1] // 5 for port in found}
    tap.ok(found == {port: ("mlx5_0", link, 4000 * steps[port], 8000 * steps[port], 3 * steps[port], 0, 0, 5 * steps[port]) for port, link in ((1, 2), (2, 1))},
           "InfiniBand counts in units of four bytes, by port", found)
    sampler.end()
    empty = Sampler("infiniband", lib.folder())
    tap.ok(empty.next("nic") is None and empty.process.wait(20) == 1, "without InfiniBand, or without /sys, the process ends")


def clocks():
    root = lib.folder()
    write(root, {"proc/cpuinfo": "processor\t: 0\ncpu MHz\t\t: 1000.5\nprocessor\t: 1\ncpu MHz\t\t: 3000\n"})
    sampler = Sampler("host", root)
    record = sampler.next("host")
    tap.ok(record and record[2] == 0x6 and record[3][1:3] == [2000, 1000], "a virtual machine: clocks are those of /proc/cpuinfo", record)
    sampler.end()
    write(root, {"sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "1290000\n"})
    sampler = Sampler("host", root)
    record = sampler.next("host")
    tap.ok(record and record[3][1:3] == [1290, 1290], "clocks of cpufreq come first", record)
    sampler.end()


def real_network():
    """The real /sys/class/net: packets through an interface other than loopback are in the report, where there is one."""
    names = [n for n in os.listdir("/sys/class/net") if n != "lo"] if os.path.isdir("/sys/class/net") else []
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.connect(("192.0.2.1", 9))
    except OSError:
        names = []
    if not names:
        tap.skip("the real /sys/class/net", "no interface with a route")
        return
    send = ("import socket,time\nopen('PIPE').close()\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n"
            "for n in range(20):\n  s.sendto(b'x'*1000,('192.0.2.1',9)); time.sleep(.1)")
    path, result = recorded("/nonexistent.so", "/usr/bin/env", os.path.realpath(os.sys.executable), "-c", send, wanted=(("host", 2),))
    found = rows(path, "nic_sample")
    sent = sum(s["tx_bytes"] for s in found if s["name"] in names)
    tap.ok(result.status == 0 and sent >= 1000 and all(s["duration_ns"] and s["link"] == 1 for s in found), "the real /sys/class/net: bytes that the program sent", found[:4])
    database = path + ".sqlite"
    trace("export", "-t", "sqlite", "-o", database, path)
    with sqlite3.connect(database) as c:
        table = c.execute("SELECT i.name, sum(m.value * (m.end - m.start)) / 1e6 FROM NET_NIC_METRIC AS m JOIN TARGET_INFO_NETWORK_METRICS AS t USING (metricsListId, metricsIdx) "
                          "JOIN NIC_ID_MAP AS n ON n.globalId = m.globalId JOIN TARGET_INFO_NIC_INFO AS i ON i.nicId = n.nicId WHERE t.name = 'Eth: Bytes sent' GROUP BY 1").fetchall()
    exact = {name: sum(s["tx_bytes"] for s in found if s["name"] == name) for name, _ in table}
    # A rate is rounded to 1 byte/ms.
    tap.ok(table and all(abs(total - exact[name]) <= sum(s["duration_ns"] for s in found if s["name"] == name) / 1e6 for name, total in table),
           "NET_NIC_METRIC: rates by interface", (table, exact))
    (content,) = _page.write(path + ".html", path).content["reports"]
    timeline = content["timeline"]
    texts = {number: text for number, _, text, _ in timeline["names"]}
    tracks = {row[0] for row in timeline["tracks"] if row[3] == "machine" and row[5] == 2}
    drawn = sorted(texts[row.name] for row in _page.level_rows(timeline["levels"][0]) if row.track in tracks)
    rates = [(s["name"] + f" port {s['port']}" * bool(s["port"]), 1e6 * (s["rx_bytes"] + s["tx_bytes"]) / s["duration_ns"]) for s in found]
    limits = ((1e3, "less than 1 MB/s"), (1e5, "1 to 100 MB/s"), (1e6, "0.1 to 1 GB/s"), (float("inf"), "1 GB/s or more"))
    wanted = sorted(f"{name}: " + ("nothing" if not rate else next(text for limit, text in limits if rate < limit)) for name, rate in rates)
    tap.ok(len(tracks) == len({s["name"] for s in found}) and drawn == wanted, "the page has a track for each interface, with its rates", (drawn, wanted))
    stats = json.loads(trace("stats", "-r", "nic_metric_sum", "-f", "json", path).out)
    tap.ok(any(r["Metric"] == "Eth: Bytes sent" and r["Interface"] in names and r["Total"] for r in stats), "nic_metric_sum: totals by interface", stats)


lib.main(of_gpus, when, hangs, lies, killed, unowned, hostile, of_network, clocks, real_network)
