#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two nights of a small benchmark: the first has nothing to compare with, the second is compared with it.
# Needs numpy and scipy: scripts/setup --python
set -eu
cd "$(dirname "$0")/.."
trace=${BUILD:-build}/bin/trace
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for night in 1 2; do
	"$trace" nightly run --name sleep --folder "$folder" --runs 10 -- sleep 0.05 || status=$?
	echo "night $night: exit status ${status:-0} (0 ok, 1 worse, 2 cannot tell)"
	status=''
done
