#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes events of the lines that a program prints, with numbers and texts as fields, and sums them up.
set -eu
cd "$(dirname "$0")/.."
trace=${BUILD:-build}/bin/trace
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck disable=SC2016
"$trace" run -t none -o "$folder/log" --log-events '(?#epoch)^epoch (?<epoch>\d+) loss (?<loss>\S+)|(?#message)^(?<level>WARN|ERROR) ' -- sh -c '
	for epoch in 1 2 3 4; do
		echo "epoch $epoch loss 0.$((9 - epoch))"
		[ $epoch != 3 ] || echo "WARN the learning rate is high"
	done'
"$trace" stats -r generic_sum "$folder/log.rep"
# Another pattern for the same report:
"$trace" export -t sqlite --log-events 'rate is (?<rate>\w+)' -o "$folder/log.sqlite" "$folder/log.rep"
"$trace" query "$folder/log.sqlite" 'SELECT timestamp, data FROM GENERIC_EVENTS'
