# SPDX-License-Identifier: Apache-2.0
(ulimit -f 4; "$APPS/forks" all; echo $?; head -c 100000 /dev/zero >big; echo $?) 2>/dev/null
(ulimit -n 12; "$APPS/forks" spawn; echo $?)
(ulimit -v 100000; "$APPS/forks" all; echo $?)
(ulimit -s 256; "$APPS/small_stack"; echo $?)
(ulimit -c 0; "$APPS/exits" abort; echo $?) 2>/dev/null
(ulimit -l 64; "$APPS/thread_churn"; echo $?)
(exec 0<&- 1>&-; "$APPS/forks" all >/dev/null; true); (exec 2>&-; "$APPS/close_all" >/dev/null; true); echo closed
