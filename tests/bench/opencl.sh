#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints what --trace=opencl costs: a cheap call, and a command with clFinish(), each the least of all rounds of five runs.
set -u
SRC=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
BUILD=${BUILD:-$SRC/build}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
program=$BUILD/tests/bench/opencl_calls
[ -x "$program" ] || { echo "opencl: make apps has not built $program" >&2; exit 77; }
least() { sort -t ' ' -k2n | awk '{ if (!c || $2 < c) c = $2; if (!d || $5 < d) d = $5 } END { print "call", c, "ns, command", d, "ns" }'; }
echo "untraced: $(for _ in 1 2 3 4 5; do "$program"; done | least)"
echo "recorded: $(for _ in 1 2 3 4 5; do "$BUILD/bin/trace" run -o "$scratch/a.rep" -f true -t opencl -- "$program" 2>/dev/null; done | least)"
