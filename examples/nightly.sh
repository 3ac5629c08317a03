#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a small benchmark twice, as on two nights: the first has nothing to compare with, the second is compared with it.
# Needs numpy and scipy, which scripts/setup --python installs.
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
