# SPDX-License-Identifier: MIT
# The screen of `top`, on terminals of 80x24 and 200x60: rows and their order, keys, one process, what
# changes processes; resized and too small, interrupted and stopped; processes that die meanwhile,
# stand by, lose their file. The terminal is afterwards as it was.
. "$TESTSUITE/tools/_tools.sh"
. "$TESTSUITE/tools/_terminal.sh"
ldd "$EVENTRING" | command grep -q ncurses || { echo "built without ncurses (Debian package: libncurses-dev)"; exit 77; }

export LC_ALL=C.UTF-8 SAROS_EVENTRING_PREFIX=$PWD
cat >work.lua <<'LUA'
local eventring = require "saros.eventring"
local function leaf() local t = {} for i = 1, 2000 do t[i] = { i } end return t end
local co = coroutine.create(function() coroutine.yield() end)
coroutine.resume(co)
eventring.begin_span "whole"
while true do eventring.span("request", leaf) end
LUA
running=
trap 'kill -KILL $running 2>/dev/null' EXIT
start_it() { # NAME [VARIABLE=VALUE...]: sets `pid`
  cp work.lua "$1.lua"
  env SAROS_EVENTRING_START=1 "${@:2}" "$SAROS" "$1.lua" >/dev/null 2>&1 &
  pid=$!
  running="$running $pid"
  await $pid
}
start_it alpha
alpha=$pid
start_it beta
beta=$pid
start_it gamma SAROS_EVENTRING_START=standby
gamma=$pid
status_of() { "$EVENTRING" control --status --json "$1" | jq -r "$2"; }
is_so() { [ "$(status_of "$1" "$2")" = "$3" ]; }
becomes() { until_so is_so "$@" || fail "$2 of $1 is $(status_of "$1" "$2"), not $3"; }
row() { screen | command grep -n -e "^ *$1 " | cut -d: -f1; }
is_above() { local a b; a=$(row "$1") b=$(row "$2"); [ -n "$a" ] && [ -n "$b" ] && [ "$a" -lt "$b" ]; }

# ---- the list, 80x24 ------------------------------------------------------------------------
on_terminal 80 24 "$EVENTRING" top $alpha $beta $gamma
appears "eventring top .* 3 processes  by cpu  each 1"
appears "^ *pid program  *state  *CPU .* GC .* pause .* alloc/s .* heap .* resident"
appears "^ *$alpha  *alpha"
appears "standby"
is "a row is a line" "" "$(screen | awk 'length > 80')"
is "rows" 3 "$(screen | command grep -c -E "^ *($alpha|$beta|$gamma) ")"
# sorted by pid: three keys before it
keys S S
appears "by pid"
until_so is_above $alpha $beta || fail "not by pid: $(screen)"
keys r
appears "least first"
until_so is_above $beta $alpha || fail "not the other way round: $(screen)"
keys r f
appears "^filter: "
keys b e t
appears "1 of 3 processes"
vanishes "^ *$alpha "
keys Escape
appears "^ *$alpha "
keys / a l p Enter
appears "filter alp"
vanishes "^ *$beta "
keys f BSpace BSpace BSpace Enter
appears "^ *$beta "
keys Space
appears FROZEN
keys Space
vanishes FROZEN
keys h
appears "q  quit$"
keys x
vanishes "q  quit$"
keys -
appears "each 2"
keys +
appears "each 1.000"

# ---- what changes a process -----------------------------------------------------------------
keys Home
keys p
appears "the recording pauses"
becomes $alpha .state paused
appears paused
keys p
appears "it records"
becomes $alpha .state running
keys End p
becomes $gamma .state running
vanishes standby
keys Home c
appears "^.  off  calls"
letter=$(screen | sed -n 's/^\(.\)  o[nf]*  *user$/\1/p')
keys "$letter"
appears "class user is off"
appears "^$letter  off  user"
keys "$letter"
appears "class user is on"
keys Escape
appears "^ *$beta "
says() { [ "$(status_of $alpha "$1")" = true ]; }
keys m
appears "allocations are sampled"
until_so says '.memprof_rate > 0' || fail "not sampled"
keys l
appears "a profile of calls is kept"
until_so says '.profile != "off"' || fail "no profile"
keys l
appears "no profile of calls is kept any more"
keys w
appears "snapshot: /"
until_so test -n "$(ls $alpha-*.eventring)" || fail "no snapshot"
path=$(mux capture-pane -p -J | sed -n 's/.*snapshot: \(\/[^ ]*\.eventring\).*/\1/p')
[ "${#path}" -gt 60 ] || is "its path" "$(ls $PWD/$alpha-*.eventring)" "$path"
"$EVENTRING" show $alpha-*.eventring >/dev/null || fail "the snapshot: $?"

# ---- one process, 80x24 ---------------------------------------------------------------------
keys Enter
appears "^1 functions   eventring profile"
appears " leaf "
keys 3
appears "^3 pauses"
vanishes "^1 functions"
appears "steps of the collector"
appears "minor, nursery"
keys 4
appears "^4 spans"
appears "request"
is "no head of its own" "" "$(screen | command grep "still running")"
keys 5
appears "domain 0 main"
keys 6
appears "1 coroutine waits"
keys 7
appears "alpha.lua:"
keys 0 PgDn PgDn PgDn PgDn PgDn PgDn PgDn
vanishes "^1 functions"
keys Home
appears "^1 functions"
keys Escape
appears "^ *$beta "
keys q
appears "ended: 0"
appears "icanon echo\|echo icanon"

# ---- 200x60: all parts at once --------------------------------------------------------------
on_terminal 200 60 "$EVENTRING" top $beta
appears "^ *$beta "
keys Enter
appears "^1 functions"
appears "^2 lines"
appears "samples, .* the next one counts for them"
appears "2: shows them"
keys 2
appears "leaf beta.lua:2"
keys 4
appears "whole"

# ---- resized, and too small ------------------------------------------------------------------
on_terminal 80 24 "$EVENTRING" top $alpha
appears "^ *$alpha "
mux resize-window -x 100 -y 10
appears "^ *$alpha "
mux resize-window -x 20 -y 3
appears "too small"
mux resize-window -x 80 -y 24
appears "^ *$alpha "

# ---- a process that dies while it is shown ---------------------------------------------------
keys Enter
appears "^1 functions"
kill -KILL $alpha
wait $alpha 2>/dev/null
appears dead
keys p
appears "the process has ended"
keys Escape q
appears "ended: 0"

# ---- signals ----------------------------------------------------------------------------------
for signal in INT TERM HUP; do
  on_terminal 80 24 "$EVENTRING" top $beta
  appears "^ *$beta "
  top=$(program_of_terminal)
  kill -$signal $top
  appears "ended: 0"
  appears "icanon echo\|echo icanon"
done
on_terminal 80 24 "$EVENTRING" top $beta
appears "^ *$beta "
keys C-c
appears "ended: 0"

# stopped from the keyboard, and continued
TERMINAL_SHELL="env PS1=ready: HISTFILE= bash --norc -i" in_shell 80 24
appears "^ready:"
keys -l "$EVENTRING top $beta"
keys Enter
appears "^ *$beta "
keys Enter
appears "^1 functions"
keys C-z
appears Stopped
vanishes "^1 functions"
keys -l "clear; stty -a | tr ' ;' '\\n\\n' | grep -x -e echo -e icanon"
keys Enter
appears "^icanon"
appears "^echo"
keys -l "clear; fg"
keys Enter
appears "^1 functions"
keys q
appears "^ready:"

# ---- terminals that show no screen ------------------------------------------------------------
for term in dumb no-such-terminal ""; do
  on_terminal 80 24 env TERM="$term" "$EVENTRING" top --seconds 0.5 $beta
  appears "can show no screen"
  appears "^ *$beta "
  appears "ended: 0"
done

# ---- where memory may not be read ---------------------------------------------------------------
echo "ptrace_scope of this machine: $(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo none)"
if command -v python3 >/dev/null; then
  on_terminal 80 24 python3 "$TESTSUITE/tools/_forbid_reading.py" "$EVENTRING" top $beta
  appears "^ *$beta \|ended: 77"
  if shows_screen "^ *$beta "; then
    keys Enter 1
    appears "safepoint"
    appears "leaf"
    keys 5
    appears "by the process itself, at safepoints"
    keys 6
    appears "$beta: "
    keys 3
    appears "steps of the collector"
  fi
fi

# ---- many rows, and names that a terminal would obey ---------------------------------------------
mkfifo fifo
exec 4<>fifo
many=
for i in $(seq 30); do
  SAROS_EVENTRING_START=standby SAROS_EVENTRING_NAME=many$i "$SAROS" -e 'io.read()' <fifo 2>/dev/null &
  many="$many $!"
done
running="$running $many"
evil=$'\e]0;evil title\a\e[31mred\x9b\xc3.lua'
echo 'io.read()' >"$evil"
SAROS_EVENTRING_START=standby SAROS_EVENTRING_NAME=evil "$SAROS" "$evil" <fifo &
foul=$!
running="$running $foul"
for one in $many $foul; do await $one; done
for locale in C.UTF-8 C; do
  LC_ALL=$locale on_terminal 80 24 env LC_ALL=$locale "$EVENTRING" top --by pid $many $foul
  appears "31 processes"
  keys End
  appears "^ *$foul "
  appears "evil title"
  is "the title is not obeyed" "" "$(mux display -p '#{pane_title}' | command grep evil)"
  keys Home
  appears "^ *$(echo $many | cut -d' ' -f1) "
  keys Enter
  appears "^1 functions"
  keys -l "$(printf '%0500d' 0)"
  appears "^1 functions"
  keys q
  appears "ended: 0"
done

# ---- a file that is deleted, and a terminal that goes --------------------------------------------
on_terminal 80 24 "$EVENTRING" top --filter beta
appears "^ *$beta "
rm -f $beta.eventring
until_so test -e $beta.eventring || fail "it has not gone on in a new file"
goes_on() { [ "$(screen | command grep -c "^ *$beta .* MiB$")" = 1 ] && ! shows_screen "$beta.* ended"; }
until_so goes_on || fail "not once: $(screen)"
top=$(program_of_terminal)
mux kill-server
until_so test ! -e /proc/$top || fail "it goes on without a terminal"
finish
