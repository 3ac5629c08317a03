# SPDX-License-Identifier: Apache-2.0
# Jobs, traps, pipes, here-documents, process substitution, coprocesses, subshells.
set -u
trap 'echo trap usr1' USR1
trap 'echo leaving $?' EXIT
kill -USR1 $$
for i in 1 2 3 4 5; do (exit $i) & wait $!; echo "job $i: $?"; done
seq 1000 | sort -R | sort -n | tail -1
diff <(seq 10) <(seq 10) && echo same
bash -c 'coproc cat; echo through >&"${COPROC[1]}"; head -n 1 <&"${COPROC[0]}"; exec {COPROC[1]}>&-' 2>/dev/null # bash reports a lost coprocess in some runs only
cat <<EOF >file
here $((6 * 7))
EOF
while read -r a b; do echo "$b $a"; done <file
x=$(echo nested $(echo deeper $(echo deepest))); echo "$x"
(ulimit -n 20; for i in 1 2 3; do : <file; done; echo limit) 
bash -c 'sleep 100 & kill $!; wait $!; echo "killed: $?"'
false | true; echo "${PIPESTATUS[*]}"
exec 7<>pipe.tmp; echo data >&7; exec 7>&-; cat pipe.tmp
nosuchcommand; echo $?
timeout 0.05 sleep 10; echo $?
exit 42
