#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Counts the instructions that tracing adds to a recorded call (limit: 60), to a call below the threshold (60), to a call of a source that is not
# recorded (25), and to a call of --functions from a small frame (240). Unlike times, these numbers have no noise. Prints TAP. LIMIT=N replaces the limits of 60. EMULATOR='qemu-aarch64-static OPTION...' with
# BUILD=build/aarch64 counts those of that machine.
# timeout: 120
set -u
SRC=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
BUILD=${BUILD:-$SRC/build}
LIMIT=${LIMIT:-60}
CALLS=100
bench=$BUILD/tests/bench
library=$BUILD/lib/libtrace/libtrace.so
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
[ "$(uname -m)" = x86_64 ] || { echo "1..0 # SKIP counted on x86-64 only"; exit 0; }
# The start of a program varies there; more rounds would fill a chunk.
[ -z "${EMULATOR:-}" ] || CALLS=240
[ -z "${EMULATOR:-}" ] || step=$($EMULATOR --help | grep -qe -one-insn-per-tb && echo -one-insn-per-tb || echo -singlestep)

# Prints how many instructions a program executes in all, by the emulator's log: emulated NAME=VALUE... PROGRAM ARGUMENT...
emulated() {
	# shellcheck disable=SC2086
	env ${preload:+"QEMU_SET_ENV=LD_PRELOAD=$preload"} LIBTRACE_HELPER=false LIBTRACE_SPOOL_DIR="$scratch" LIBTRACE_OUTPUT="$scratch/%p-%n.rep" \
		"${@:1:$#-5}" $EMULATOR $step -d exec,nochain -D "$scratch/log" "${@: -5}" >/dev/null || return
	wc -l <"$scratch/log"
}

# Prints how many instructions CALLS rounds execute; nothing if that could not be counted: steps KIND [NAME=VALUE...]
steps() {
	local kind=$1 once twice
	shift
	if [ -n "${EMULATOR:-}" ]; then
		# Besides its repeats, the program has a tenth of a round to warm up.
		once=$(emulated "$@" "$bench/calls" -r2 -n$CALLS "$kind" -u) && twice=$(emulated "$@" "$bench/calls" -r2 -n$((2 * CALLS)) "$kind" -u) &&
			echo $(((twice - once) * 10 / 21))
		return
	fi
	env "$@" LIBTRACE_OUTPUT="$scratch/%p-%n.rep" \
		"$bench/stepcount" env ${preload:+"LD_PRELOAD=$preload"} "$bench/calls" -s -r 2 -n $CALLS "$kind" 2>&1 >"$scratch/out" | sed -n 's/^steps //p'
}

# Prints how many instructions CALLS calls of a library's function execute: function_steps [NAME=VALUE...]
function_steps() {
	env "$@" LIBTRACE_OUTPUT="$scratch/%p-%n.rep" "$bench/stepcount" env ${preload:+"LD_PRELOAD=$preload"} "$BUILD/tests/apps/functions" steps $CALLS 2>&1 |
		sed -n 's/^steps //p'
}

[ -n "${EMULATOR:-}" ] && echo 1..12 || echo 1..13
number=0 failed=0
# Prints the TAP line of a comparison: check NAME UNTRACED TRACED CALLS-PER-ROUND [LIMIT]
check() {
	number=$((number + 1))
	if [ -z "$2" ] || [ -z "$3" ]; then
		echo "not ok $number - $1: not counted"
		failed=1
		return
	fi
	local limit=${5:-$LIMIT} tenths=$((($3 - $2) * 10 / (CALLS * $4)))
	local text="$1: $((tenths / 10)).$((tenths % 10)) instructions, at most $limit"
	if [ $tenths -le $((limit * 10)) ]; then
		echo "ok $number - $text"
	else
		echo "not ok $number - $text"
		failed=1
	fi
}

for kind in read write yield mutex; do
	per_round=1
	[ $kind = mutex ] && per_round=2
	preload=
	untraced=$(steps $kind X=)
	preload=$library
	recorded=$(steps $kind LIBTRACE_OSRT_THRESHOLD=0 LIBTRACE_OSRT_LOCKS=all LIBTRACE_OSRT_BACKTRACE_THRESHOLD=10000000000)
	below=$(steps $kind LIBTRACE_OSRT_THRESHOLD=10000000000 LIBTRACE_OSRT_LOCKS=all)
	unwanted=$(steps $kind LIBTRACE_TRACE=nvtx)
	check "recorded call, $kind" "$untraced" "$recorded" $per_round
	check "call below the threshold, $kind" "$untraced" "$below" $per_round
	check "call of a source that is not recorded, $kind" "$untraced" "$unwanted" $per_round 25
done
if [ -z "${EMULATOR:-}" ]; then
	preload=
	untraced=$(function_steps X=)
	preload=$library
	check "call of a function of a library" "$untraced" "$(function_steps LIBTRACE_TRACE=none LIBTRACE_FUNCTIONS='libfunctions.so:*')" 1 240
fi
exit $failed
