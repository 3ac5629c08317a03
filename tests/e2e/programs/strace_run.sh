# SPDX-License-Identifier: Apache-2.0
# needs: strace
strace -f -o /dev/null "$APPS/forks" all; echo $?
strace -qq -f -e trace=exit_group -o log "$APPS/exits" exit; echo $?; grep -c 'exit_group(' log; rm -f log
