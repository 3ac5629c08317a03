#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print the slowest OS runtime calls of a report, each with the innermost frame of its callchain.

    PYTHONPATH=reader/python python3 examples/slowest_calls.py REPORT [COUNT]
"""
import heapq
import sys

import ncu_report

report = ncu_report.load_report(sys.argv[1])
count = int(sys.argv[2]) if len(sys.argv) > 2 else 5
for call in heapq.nlargest(count, report.api_calls(), key=lambda call: call.duration_ns):
    chain = call.callchain()
    where = f"{chain[0].module}+0x{chain[0].offset:x}" if chain else ""
    print(f"{call.duration_ns:>14,} ns  {call.function}  {where}")
