# SPDX-License-Identifier: Apache-2.0
# needs: script stty
# A program started on a terminal still finds a terminal.
script -qec 'test -t 0 && test -t 1 && echo both; stty size >/dev/null && echo size; exit 6' /dev/null </dev/null; echo $?
