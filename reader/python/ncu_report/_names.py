# SPDX-License-Identifier: Apache-2.0
"""Parser of metric names: unit__counter[.rollup][.submetric]."""

from functools import lru_cache
from typing import Tuple

# Numbers of IMetric.MetricType_*, RollupOperation_*, MetricSubtype_*.
OTHER, COUNTER, RATIO, THROUGHPUT = range(4)
ROLLUPS = {"avg": 1, "max": 2, "min": 3, "sum": 4}
SUBTYPES = (
    "",
    "peak_sustained",
    "peak_sustained_active",
    "peak_sustained_active.per_second",
    "peak_sustained_elapsed",
    "peak_sustained_elapsed.per_second",
    "peak_sustained_frame",
    "peak_sustained_frame.per_second",
    "peak_sustained_region",
    "peak_sustained_region.per_second",
    "per_cycle_active",
    "per_cycle_elapsed",
    "per_cycle_in_frame",
    "per_cycle_in_region",
    "per_second",
    "pct_of_peak_sustained_active",
    "pct_of_peak_sustained_elapsed",
    "pct_of_peak_sustained_frame",
    "pct_of_peak_sustained_region",
    "max_rate",
    "pct",
    "ratio",
)
_RATIOS = ("max_rate", "pct", "ratio")
# Hardware units: the part of a hardware counter's name before the two underscores.
UNITS = frozenset(
    "ctc dram fbpa fe gpc gpu gr host idc l1tex lrc lts ltc mcc nvdec nvenc nvlrx nvltx pcie pm pda raster sm smsp "
    "sys tpc vaf "
    "vpc zrop crop fbp mmu".split()
)


@lru_cache(maxsize=65536)
def analyze(name: str) -> Tuple[int, int, int]:
    """Return (type, subtype, rollup) by the name alone. NVIDIA's module also uses its database of the device."""
    base, *rest = name.split(".")
    rollup = ROLLUPS.get(rest[0], 0) if rest else 0
    submetric = ".".join(rest[1:] if rollup else rest)
    # NVIDIA's module returns the subtype of peak_sustained_elapsed for both
    subtype = SUBTYPES.index(submetric) if submetric in SUBTYPES else 0
    if submetric == "peak_sustained_elapsed.per_second":
        subtype = SUBTYPES.index("peak_sustained_elapsed")
    unit, separator, counter = base.partition("__")
    if not separator or unit not in UNITS:
        return OTHER, subtype, rollup
    if submetric in _RATIOS and not rollup:
        return RATIO, 0, 0
    if not rollup:
        return COUNTER if counter.startswith("sass_") and not counter.endswith("_type") else OTHER, subtype, rollup
    return THROUGHPUT if "throughput" in counter else COUNTER, subtype, rollup
