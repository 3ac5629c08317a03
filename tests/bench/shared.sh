#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs another benchmark suite of tracers (bench/run.sh) with this tracer as an additional row, and prints the rows of its report that can be compared.
#
#     tests/bench/shared.sh [SECTION...]     default: limits events sustained startup lifecycle
#
# SHARED: the folder with bench/run.sh (default ../shared), which is copied. ROUNDS (default 3) is passed to the suite. FULL=1 prints the whole report.
set -u
SRC=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
BUILD=${BUILD:-$SRC/build}
SHARED=${SHARED:-$SRC/../shared}
export ROUNDS=${ROUNDS:-3}
[ -x "$SHARED/bench/run.sh" ] || { echo "no $SHARED/bench/run.sh" >&2; exit 77; }
[ -x "$BUILD/bin/trace" ] || { echo "no $BUILD/bin/trace" >&2; exit 77; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cp -r "$SHARED/bench" "$scratch/bench"
chmod -R u+w "$scratch/bench"
cd "$scratch/bench" || exit 1

export TRACER_NAME=libtrace
export TRACER_CMD="$BUILD/bin/trace run --trace=osrt --osrt-threshold=0 --osrt-locks=all -o %o.rep --"
# The suite measures and deletes the file %o, so the report is moved to that name.
cat >"$scratch/trace" <<END
#!/bin/bash
# trace FILE COMMAND...
file=\$1
shift
"$BUILD/bin/trace" run -f true --osrt-threshold=0 --osrt-locks=all -o "\$file.rep" -- "\$@"
status=\$?
mv "\$file.rep" "\$file"
exit \$status
END
chmod +x "$scratch/trace"
export TRACER_CMD="$scratch/trace %o"
export TRACER_LIB="$BUILD/lib/libtrace/libtrace.so"
export LIBTRACE_OUTPUT="$scratch/lib-%p-%n.rep"

[ $# -gt 0 ] || set -- limits events sustained startup lifecycle
./run.sh "$@" >"$scratch/report.md" 2>"$scratch/log" || { tail -5 "$scratch/log" >&2; exit 1; }
if [ -n "${FULL:-}" ]; then
	cat "$scratch/report.md"
else
	# Headings, titles of tables, and the rows to compare.
	grep -E '^(#|\| (tool|operation|what|command)|\|--)|libtrace|untraced|32 B ring|LTTng|uftrace|heaptrack|EZTrace' "$scratch/report.md"
fi
