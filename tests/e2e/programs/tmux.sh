# SPDX-License-Identifier: Apache-2.0
# needs: tmux
export TMUX_TMPDIR=$PWD; unset TMUX
t() { tmux -L s -f /dev/null "$@"; }
t new-session -d -x 80 -y 24 -s one 'sh -c "echo in tmux; echo done >flag; sleep 100"'
for i in $(seq 200); do [ -s flag ] && break; sleep 0.05; done
t list-sessions -F '#{session_name} #{session_windows}'; t split-window -d -t one 'sleep 100'; t list-panes -t one -F '#{pane_index}'
for i in $(seq 100); do t capture-pane -p -t one.0 | grep -q 'in tmux' && break; sleep 0.05; done; t capture-pane -p -t one.0 | head -1
t kill-server; echo $?; for i in $(seq 100); do t has-session 2>/dev/null || break; sleep 0.05; done; t has-session >/dev/null 2>&1; echo $?
rm -rf tmux-*
