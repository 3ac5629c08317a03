#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints what --functions costs: a call, as the least of rounds of 1,000 calls of tests/apps/functions; a call in a tight loop that the writer must follow,
# and how many were dropped; and the start of a program, by slot.
# usage: tests/bench/functions.sh [PROGRAM [ARGUMENT...]]    the program whose start is measured; default: python3 -c pass
set -u
SRC=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
BUILD=${BUILD:-$SRC/build}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
[ $# -gt 0 ] || set -- python3 -c pass
program=$BUILD/tests/apps/functions

least() { sort -n | head -n 1; }
record() { "$BUILD/bin/trace" run -o "$scratch/a.rep" -f true -t none --functions "$@" 2>/dev/null; }
echo "untraced: $(for _ in {1..8}; do "$program" calls 200000; done | least)"
echo "recorded: $(for _ in {1..8}; do record 'libfunctions.so:*' -- "$program" calls 200000; done | least)"
begin=$(date +%s%N)
record 'libfunctions.so:*' -- "$program" calls 20000000 >"$scratch/out"
"$BUILD/bin/trace" info --json "$scratch/a.rep" | python3 -c '
import json, sys
process = json.load(sys.stdin)["processes"][0]
print("20,000,000 calls in a loop:", (int(sys.argv[2]) - int(sys.argv[1])) // 20000000, "ns each with start and end of the process;", process["dropped"], "dropped")
' "$begin" "$(date +%s%N)"

# Prints the tracer's own time in ns, least of forty, and the number of slots: start PATTERN PROGRAM
# Nothing is recorded, so that this is the time of the start alone.
start() {
	local pattern=$1
	shift
	for _ in {1..40}; do
		record "$pattern" --delay 1000 -- "$@" >"$scratch/out"
		"$BUILD/bin/trace" info --json "$scratch/a.rep" | python3 -c '
import json, sys
r = json.load(sys.stdin)["processes"][0]["receipt"]
print(r["tracer_ns"], r["functions"]["slots"], r["functions"]["patched"])'
	done | least
}
read -r none slots patched <<<"$(start 'none:none' "$@")"
read -r all slots patched <<<"$(start '*:*' "$@")"
echo "start of $1: $slots slots, $patched patched; tracer's own time $none ns if no name matches, $all ns if all names do"
echo "a slot: $(((all - none) / slots)) ns more if all names match"
