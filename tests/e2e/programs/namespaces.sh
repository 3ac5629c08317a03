# SPDX-License-Identifier: Apache-2.0
# needs: unshare
unshare -r true 2>/dev/null || exit 0
unshare -r id -u; unshare -r "$APPS/user_namespace"; echo $?
unshare -rpf --mount-proc "$APPS/subreaper"; echo $?
unshare -rpf --mount-proc sh -c 'echo pid $$; sleep 0.01 & wait; sh -c "exit 3"; echo $?'; unshare -rm true; unshare -rn sh -c 'echo net'; unshare -ru hostname nowhere; echo $?
