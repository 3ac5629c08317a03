# SPDX-License-Identifier: Apache-2.0
# needs: gdb
# numbers: no
gdb -q -batch -nx -ex 'set debuginfod enabled off' -ex 'break holder' -ex run -ex 'bt 1' -ex continue -ex 'p 6*7' --args "$APPS/lock_holder" 2>&1 | grep -v '^\[\|warning\|^Using host\|^Download' | sed 's/0x[0-9a-f]*/ADDRESS/g'
gdb -q -batch -nx -ex 'set debuginfod enabled off' -ex run -ex 'info program' --args "$APPS/exits" segv 2>&1 | grep -c 'SIGSEGV'
gdb -q -batch -nx -ex 'set debuginfod enabled off' -ex 'set follow-fork-mode child' -ex run --args "$APPS/forks" spawn 2>&1 | grep -c 'exited'
