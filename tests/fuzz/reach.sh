#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints what the fuzzers reach: how many functions and lines of each file of reader/ and writer/ or, with -f, the functions that none of them enters.
# Usage: tests/fuzz/reach.sh [-f] [FOLDER]
# The inputs of fuzz_NAME are those in tests/fuzz/corpus/NAME, build/fuzz/found/NAME and FOLDER/NAME.
set -eu
cd "$(dirname "$0")/../.."
functions=
[ "${1:-}" != -f ] || { functions=1; shift; }
more=${1:-}
names=$(for file in tests/fuzz/fuzz_*.c; do basename "$file" .c; done)
# shellcheck disable=SC2046
make -j"$(nproc)" REACH=1 $(for name in $names; do echo "build/fuzz/reach/$name"; done) >/dev/null
mkdir -p build/fuzz/reach/profiles
rm -f build/fuzz/reach/profiles/*
objects=()
for name in $names; do
	inputs=()
	for folder in "tests/fuzz/corpus/${name#fuzz_}" "build/fuzz/found/${name#fuzz_}" "$more/${name#fuzz_}"; do
		[ ! -d "$folder" ] || inputs+=("$folder")
	done
	objects+=(-object "build/fuzz/reach/$name")
	[ ${#inputs[@]} = 0 ] || LLVM_PROFILE_FILE="build/fuzz/reach/profiles/$name.profraw" \
		"build/fuzz/reach/$name" -runs=0 -close_fd_mask=3 -max_len=300000 "${inputs[@]}" >/dev/null 2>&1 || echo "$name: exit status $?" >&2
done
llvm-profdata merge -sparse -o build/fuzz/reach/all.profdata build/fuzz/reach/profiles/*.profraw
if [ -n "$functions" ]; then
	# shellcheck disable=SC2046
	llvm-cov report "${objects[@]:1}" -instr-profile=build/fuzz/reach/all.profdata -show-functions $(git ls-files 'reader/*.c' 'writer/*.c') |
		awk '/^File / { file = $2; sub(/:$/, "", file) } $2 + 0 > 0 && $2 == $3 && $1 != "TOTAL" { print file ": " $1 }'
	exit
fi
llvm-cov report "${objects[@]:1}" -instr-profile=build/fuzz/reach/all.profdata reader writer build/gen |
	awk 'NF >= 10 && $5 + 0 > 0 { printf "%-44s %4d of %4d functions  %6d of %6d lines  %s\n", $1, $5 - $6, $5, $8 - $9, $8, $10 }'
