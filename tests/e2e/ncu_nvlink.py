#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check the tables of NVLink of `trace details`, on reports made for this test: with NVIDIA's ncu, if it has been fetched, and with the expected cells.

The metrics are those of the Profiling Guide ("NVLink Topology Metrics"): instances by logical link, by device or by port.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libncu  # noqa: E402
from details_ncu import ncu_page  # noqa: E402
from lib import folder, main, tap, trace  # noqa: E402
from libpeers import NCU  # noqa: E402
from libwire import put_bytes as data, put_number as number  # noqa: E402

TOPOLOGY, PROPERTIES, THROUGHPUT = 108, 109, 110  # fields of ProfilerSectionBodyItem
PORTS = 12
RECEIVED, SENT = "nvlrx__bytes.sum.per_second", "nvltx__bytes.sum.per_second"


def by_place(*values):
    """Return a metric with an instance for each value."""
    return values[0], dict(enumerate(values))


def metrics(**other):
    """Return the metrics of a result on GPU 0, which is linked with GPU 1 and GPU 2. other: {name without nvlink__: metric, None = absent}."""
    of = {"count_physical": by_place(2, 2), "count_logical": 2, "bandwidth": by_place(50_000_000, 50_000_001),
          "source_ports": by_place("2,3", "3,4"), "destination_ports": by_place("0,1", "1,2"), "dev0Id": by_place(0, 0), "dev1Id": by_place(1, 2),
          "dev0type": by_place(1, 1), "dev1type": by_place(1, 1), "dev_display_name_all": by_place("GPU A", "GPU B", "GPU C"),
          "enabled_mask": by_place(0xfff, 0xfff, 0xfff), "is_direct_link": by_place(1, 1), "is_nvswitch_connected": 0, "max_count": by_place(PORTS, PORTS, PORTS),
          "peer_access": by_place(1, 1), "peer_atomic": by_place(1, 0), "system_access": by_place(0, 1), "system_atomic": by_place(0, 0)}
    found = {"device__attribute_compute_capability_major": 8, "device__attribute_compute_capability_minor": 0, "device__attribute_device_index": 0,
             RECEIVED: by_place(*(100.0 * (i + 1) for i in range(PORTS))), SENT: by_place(*(1e6 * (i + 1) for i in range(PORTS)))}
    found.update({"nvlink__" + name: value for name, value in of.items()})
    found.update({name if "__" in name else "nvlink__" + name: value for name, value in other.items()})
    return {name: value for name, value in found.items() if value is not None}


def body(*fields):
    return data(5, b"".join(data(1, data(field, data(1, "label"))) for field in fields) + data(2, "Links"))


def section(name, order, *bodies, shown=()):
    return libncu.section(name.replace(" ", "_"), name, shown, b"".join(bodies)).replace(number(3, 10), number(3, order), 1)


SECTIONS = (section("NVLink", 60, shown=(("nvlink__count_logical", "Logical Links"),)), section("NVLink Topology", 61, body(TOPOLOGY)),
            section("NVLink Tables", 62, body(PROPERTIES, THROUGHPUT), body(TOPOLOGY)))
HEADLESS = tuple(each.replace(data(4, b""), b"", 1) for each in SECTIONS[1:])  # as NVIDIA's section files have them
RATELESS = {RECEIVED: 1e9, SENT: 1e9}
CASES = {
    "three GPUs": {},
    "GPU 1": {"device__attribute_device_index": 1},
    "GPU 2": {"device__attribute_device_index": 2},
    "the device is the second end": {"dev0Id": by_place(1, 0), "dev1Id": by_place(0, 2)},
    "two CPUs": {"dev1type": by_place(2, 2)},
    "CPUs": {"dev1type": by_place(2, 2), "dev1Id": by_place(7, 5)},
    "one CPU": {"dev1type": by_place(2, 2), "dev1Id": by_place(7, 7)},
    "a CPU at each end": {"dev0type": by_place(2, 1), "dev1type": by_place(1, 2), "dev0Id": by_place(2, 1), "dev1Id": by_place(1, 0)},
    "CPUs first": {"dev0type": by_place(2, 2), "device__attribute_device_index": 1},
    "another type": {"dev1type": by_place(3, 0)},
    "indirect links": {"is_direct_link": by_place(0, 1)},
    "indirect links, nothing measured": {"is_direct_link": by_place(0, 1), **RATELESS},
    "nothing measured": RATELESS,
    "nothing measured, not enabled": {"enabled_mask": by_place(0, 0, 0), **RATELESS},
    "no metric measured, not enabled": {"enabled_mask": by_place(0, 0, 0), RECEIVED: None, SENT: None},
    "only received": {SENT: 1e9},
    "only sent": {RECEIVED: 1e9},
    "not enabled": {"enabled_mask": by_place(0, 0xfff, 0xfff)},
    "one port enabled": {"enabled_mask": by_place(8, 0, 0)},
    "one link enabled": {"enabled_mask": by_place(4, 0, 0)},
    "another number of ports": {"max_count": by_place(PORTS - 1, PORTS, PORTS)},
    "no number of ports": {"max_count": None},
    "no device index": {"device__attribute_device_index": None},
    "ports beyond": {"source_ports": by_place("0,12", "255,1")},
    "all ports": {"source_ports": by_place(",".join(map(str, range(PORTS))), "11")},
    "low bandwidths": {"bandwidth": by_place(999, 1000)},
    "bandwidths": {"bandwidth": by_place(25_781_250_000, 1_500_000_000_000)},
    "great bandwidths": {"bandwidth": by_place(10 ** 15, 2 * 10 ** 18)},
    "long names": {"dev_display_name_all": by_place("NVIDIA A100-SXM4-40GB", "NVIDIA H100 80GB HBM3", "a name without any blanks")},
    "names of 11 and 12 letters": {"dev_display_name_all": by_place("ABCDEFGHIJK", "ABCDEFGHIJKL", "ABCDEFGHIJ")},
    "names of two devices": {"dev_display_name_all": by_place("GPU A", "GPU B")},
    "great numbers": {"dev1Id": by_place(1000, 100000)},
    "instances with other keys": {"dev0Id": (0, {7: 0, 9: 0}), "dev1Id": (1, {4: 1, 3: 2}), "bandwidth": (1, {1: 77, 0: 66})},
    "NVSwitch": {"is_nvswitch_connected": 1},
    "NVSwitch unknown": {"is_nvswitch_connected": None},
    "no links": {"dev0Id": 0},
    "no metric": {"dev0Id": None},
}


def written(name, case, sections=SECTIONS):
    path, names = os.path.join(folder(), name + ".ncu-rep"), []
    libncu.write(path, names, [libncu.launch(names, metrics(**case), sections=sections)])
    return path


def printed(path, *options):
    done = trace("details", *options, path)
    return [line.rstrip() for line in done.out.decode().splitlines()], done


def without_device(lines):
    """Return the lines without the number of the device, which ncu prints as 255 if it is unknown."""
    return [line.replace("Device 255", "Device 0").replace('"255"', '"0"') for line in lines]


def as_ncu():
    if not os.path.exists(NCU):
        tap.skip("as ncu prints them", "no ncu in PEERS or /tmp/peers")
        return
    for name, case in CASES.items():
        path = written("nvlink", case)
        for options in (("--print-details", "all"), ("--print-details", "body"), ()):
            ours, theirs = printed(path, *options)[0], without_device(ncu_page(path, "details", *options))
            wrong = [f"{a!r} | {b!r}" for a, b in zip(without_device(ours), theirs) if a != b]
            tap.ok(not wrong and len(ours) == len(theirs), f"{name} {' '.join(options)}: {len(theirs)} lines as ncu's", "\n".join([f"{len(ours)} lines", *wrong]))
    for name in ("three GPUs", "no links", "NVSwitch"):
        path = written("nvlink", CASES[name], HEADLESS)
        ours, theirs = printed(path, "--print-details", "all")[0], without_device(ncu_page(path, "details", "--print-details", "all"))
        tap.ok(without_device(ours) == theirs, f"{name}, sections without a header: {len(theirs)} lines as ncu's", (ours, theirs))
    ours, theirs = (lines[:-1] if lines and not lines[-1] else lines for lines in
                    (printed(written("nvlink", {}), "--csv", "--print-details", "all")[0], ncu_page(written("nvlink", {}), "details", "--csv", "--print-details", "all")))
    tap.ok(ours == theirs, "as CSV", (ours, theirs))


def cells():
    lines, done = printed(written("nvlink", {"enabled_mask": by_place(4, 0, 0)}), "--print-details", "all")
    rows = [line.split() for line in lines if "<->" in line]
    first = "GPU 0<->GPU 1 Yes Enabled GPU A GPU B 2 Yes No Yes No 50.00 MB/s 700.00 B/s 7.00 MB/s 14.00".split()
    second = "GPU 0<->GPU 2 Yes Disabled GPU A GPU C 2 Yes Yes No No 50.00 MB/s 900.00 B/s 9.00 MB/s 18.00".split()
    tap.ok(rows == [first, second] and done.status == 0, "a row for each link, with the throughput of the device's ports, once for a result", (rows, done))
    for case, text in (({"is_nvswitch_connected": 1}, "Not supported for NVSwitch."), ({"dev0Id": None}, "The system does not have any NVLink connections.")):
        lines, done = printed(written("nvlink", case), "--print-details", "all")
        tap.ok(lines.count("    " + text) == 1 and not any("Table Name" in line for line in lines), text, lines)
    lines, done = printed(written("nvlink", {"dev0Id": None}, HEADLESS), "--print-details", "all")
    tap.ok([line.strip() for line in lines if "Section:" in line] == ["Section: NVLink Topology"], "a section without a header, whose table has been printed, is left out", lines)
    lines, done = printed(written("nvlink", {}), "--print-details", "all", "--csv")
    tap.ok(done.err == b"trace: tables of NVLink are printed as text only\n" and not any("<->" in line for line in lines), "as CSV: a note", done)
    lacking = {name: None for name in ("dev1Id", "dev1type", "source_ports", "bandwidth", "count_physical", "is_direct_link", "peer_access", "dev_display_name_all")}
    lines, done = printed(written("nvlink", lacking), "--print-details", "all")
    rows = [line.split() for line in lines if "<->" in line]
    tap.ok(rows == ["GPU 0<->Invalid 0 n/a - No Yes No - 0.00 B/s 0.00 B/s -".split(), "GPU 0<->Invalid 0 n/a - Yes No No - 0.00 B/s 0.00 B/s -".split()] and done.status == 0,
           "values that the report lacks are empty or -", (rows, done))
    lines, done = printed(written("nvlink", {}), "--print-details", "all", "--print-summary", "per-kernel")
    tap.ok(done.status == 0 and not any("<->" in line for line in lines), "summaries are without these tables", lines)


if __name__ == "__main__":
    main(cells, as_ncu)
