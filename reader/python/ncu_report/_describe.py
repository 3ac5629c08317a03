# SPDX-License-Identifier: Apache-2.0
"""The description of a hardware metric, derived from its name by the rules of the profiling guide:
unit__quantity_qualifiers.rollup.submetric.
"""

import re
from functools import lru_cache

from . import _names

_UNITS = {
    "ctc": "the interface to other GPUs",
    "dram": "device memory",
    "fbp": "a device memory partition",
    "fbpa": "the device memory controller",
    "fe": "the command front end",
    "gpc": "a cluster of TPCs",
    "gpu": "the whole GPU",
    "gr": "the graphics engine",
    "host": "the interface to the host",
    "idc": "the indexed constant cache",
    "l1tex": "the L1 and texture cache",
    "lrc": "the L2 request coalescer",
    "lts": "an L2 cache slice",
    "ltc": "the L2 cache",
    "mcc": "the system memory controller",
    "mmu": "the memory management unit",
    "nvdec": "the video decoder",
    "nvenc": "the video encoder",
    "nvlrx": "the receiving side of NVLink",
    "nvltx": "the sending side of NVLink",
    "pcie": "PCI Express",
    "pm": "performance monitoring",
    "raster": "the rasterizer",
    "sm": "a streaming multiprocessor",
    "smsp": "a sub-partition of a streaming multiprocessor",
    "sys": "the system clock",
    "tpc": "a cluster of SMs",
}
_QUALIFIERS = {
    "aperture": "aperture",
    "evict": "eviction",
    "lookup": "lookup",
    "mem": "memory",
    "op": "operation",
    "pipe": "pipe",
    "srcnode": "from",
    "srcunit": "from",
}
_SPLIT = re.compile(r"_({})_".format("|".join(_QUALIFIERS)))
_SUFFIX = re.compile("_(cycles_active|hit_rate)$")  # these suffixes belong to the quantity
_WORDS = {
    "inst": "instructions",
    "req": "requests",
    "issued": "issued",
    "t": "tag stage:",
    "d": "data stage:",
    "m": "memory stage:",
    "f": "filter stage:",
    "sass": "by instrumentation:",
    "lg": "local and global",
    "ld": "load",
    "st": "store",
    "atom": "atomic",
    "red": "reduction",
    "pct": "percent",
    "avg": "mean",
    "pred": "predicate",
    "dot": "",
}
_ROLLUPS = {0: "", 1: "mean of the units", 2: "maximum of the units", 3: "minimum of the units", 4: "sum of the units"}
_SUBMETRICS = {
    "per_second": "per second",
    "per_cycle_active": "per active cycle",
    "per_cycle_elapsed": "per elapsed cycle",
    "per_cycle_in_frame": "per cycle of the frame",
    "per_cycle_in_region": "per cycle of the region",
    "pct_of_peak_sustained_active": "in % of the peak sustained rate, over active cycles",
    "pct_of_peak_sustained_elapsed": "in % of the peak sustained rate, over elapsed cycles",
    "pct_of_peak_sustained_frame": "in % of the peak sustained rate, in the frame",
    "pct_of_peak_sustained_region": "in % of the peak sustained rate, in the region",
    "peak_sustained": "the peak sustained rate, per cycle",
    "max_rate": "the maximum of the ratio",
    "pct": "in %",
    "ratio": "as a ratio",
}


def _words(text: str) -> str:
    return " ".join(filter(None, (_WORDS.get(word, word) for word in text.split("_"))))


@lru_cache(maxsize=65536)
def describe(name: str) -> str:
    """Return the description; "" if the metric is not a counter, ratio or throughput of hardware."""
    if _names.analyze(name)[0] == _names.OTHER:
        return ""
    base, *rest = name.split(".")
    unit, _, counter = base.partition("__")
    rollup = _names.ROLLUPS.get(rest[0], 0) if rest else 0
    submetric = ".".join(rest[1:] if rollup else rest)
    counter, *suffix = _SUFFIX.split(counter)[:2]
    quantity, *qualifiers = _SPLIT.split(counter)
    of = [f"{_QUALIFIERS[kind]} {_words(value)}" for kind, value in zip(qualifiers[::2], qualifiers[1::2])]
    how = [_ROLLUPS[rollup], _SUBMETRICS.get(submetric, submetric.replace("_", " ").replace(".", ", "))]
    return "{} of {}{}{}".format(
        _words("_".join([quantity, *suffix])),
        _UNITS.get(unit, unit),
        " ({})".format(", ".join(of)) if of else "",
        "".join("; " + text for text in how if text),
    )
