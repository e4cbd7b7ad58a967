# SPDX-License-Identifier: MIT
# Sourced by tests of what is on a terminal: a command in tmux, whose server is the test's own.
command -v tmux >/dev/null || { echo "tmux is missing (Debian package: tmux)"; exit 77; }

TMUX_SERVER=saros-$$
servers=0
mux() { env -u TMUX TMUX_TMPDIR="$PWD" tmux -L "$TMUX_SERVER" -f /dev/null "$@"; }
trap 'mux kill-server 2>/dev/null' EXIT

# on_terminal COLUMNS ROWS COMMAND...: begins it on a terminal of that size, with a shell around it
# that says when it has ended, and how
on_terminal() {
  local columns=$1 rows=$2
  shift 2
  printf '%q ' "$@" >command.sh
  printf '\necho "ended: $?"\nstty -a | tr " ;" "\\n\\n" | grep -x -e echo -e icanon | tr "\\n" " "\nexec cat\n' >>command.sh
  TERMINAL_SHELL="bash --norc $PWD/command.sh" in_shell "$columns" "$rows"
}
# in_shell COLUMNS ROWS: a terminal with TERMINAL_SHELL
# (a server of its own: one that is about to end still takes sessions, which it ends, too)
in_shell() {
  mux kill-server 2>/dev/null
  servers=$((servers + 1))
  TMUX_SERVER=saros-$$-$servers
  mux -u new-session -d -x "$1" -y "$2" "$TERMINAL_SHELL" || fail "tmux: $?"
}
screen() { mux capture-pane -p; }
keys() { mux send-keys "$@" || fail "send-keys $*"; }
shows_screen() { screen | command grep -q -e "$1"; }
shows_no_screen() { ! shows_screen "$1"; }
# What follows depends on what the screen shows: a test whose screen is another one ends, rather
# than wait for each of the others in turn.
gives_up() { fail "$1 (line ${BASH_LINENO[1]}):
$(screen)"; exit 1; }
# appears TEXT: a line of the screen has it, soon
appears() { until_so shows_screen "$1" || gives_up "no '$1' on the screen"; }
vanishes() { until_so shows_no_screen "$1" || gives_up "'$1' stays on the screen"; }
# the process of the command
program_of_terminal() { pgrep -P "$(mux list-panes -F '#{pane_pid}')"; }
