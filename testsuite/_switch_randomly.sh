#!/bin/bash
# Runs a program and meanwhile switches the instruments of its process at random, from
# outside: classes of events, profile of calls, samples of allocations, triggers, pause,
# copies, stacks, samples of stacks.
#
#   testsuite/_switch_randomly.sh SEED COMMAND [ARGUMENT...]
#
# The process becomes the program: standard input, output and status are the program's. What
# switches is no child of it, works in a directory of its own, which also has the recording,
# and ends when the program has ended. The seed determines what is switched and in which
# order, the machine when.
#
# EVENTRING      the command (default: eventring)
# SWITCH_LOG     each command is appended to this file with its status. A command may fail,
#                as the process ends or does not record; what no command may do is said
#                there in a line that begins with FAULT.
# SPDX-License-Identifier: MIT
set -u
[ $# -ge 2 ] || { sed -n '6s/^# *//p' "$0" >&2; exit 2; }
seed=$1
shift
EVENTRING=${EVENTRING:-eventring}
log=${SWITCH_LOG:-/dev/null}

# The time at which a process began: another one that gets its number has another.
began() { sed -E 's/^.*\) ([^ ]+ ){19}([0-9]+) .*/\2/' "/proc/$1/stat" 2>/dev/null; }

# run ARGUMENT...: the command, with what it says in a file
run() {
  local status
  timeout -k 5 $((60 * ${TEST_SLOWNESS:-1})) "$EVENTRING" "$@" >out 2>err </dev/null
  status=$?
  echo "$status: eventring $*" >>"$log"
  if [ $status -ge 124 ] || grep -qE 'Sanitizer|runtime error:|Assertion' err; then
    echo "FAULT status $status: eventring $*: $(head -c 2000 err)" >>"$log"
  fi
}

classes=(calls calls calls gc gc_detail user load io ffi finalizers alloc domain all)
one() { local -n list=$1; chosen=${list[RANDOM % ${#list[@]}]}; }

switch_once() { # PID
  local pid=$1
  case $((RANDOM % 27)) in
    0 | 1 | 2) run control --profile calls "$pid" ;;
    3 | 4 | 5) run control --profile off "$pid" ;;
    6 | 7) one classes; run control --enable "$chosen" "$pid" ;;
    8 | 9) one classes; run control --disable "$chosen" "$pid" ;;
    10) run control --memprof "0.$((RANDOM % 9 + 1))" "$pid" ;;
    11) run control --memprof off "$pid" ;;
    12) run control --pause "$pid" ;;
    13) run control --resume "$pid" ;;
    14) run control --trigger "pause > $((RANDOM % 9 + 1))us, dir=$PWD, max=1, size=100M" "$pid" ;;
    15) run control --trigger off "$pid" ;;
    16) run control --snapshot "copy$RANDOM.eventring" "$pid"; rm -f copy*.eventring ;;
    17) run snapshot -o "copy$RANDOM.eventring" "$pid"; rm -f copy*.eventring ;;
    18) run stack "$pid" ;;
    19) run stack --locals --coroutines "$pid" ;;
    20 | 21) run profile --hz 1000 --seconds "0.0$((RANDOM % 9 + 1))" "$pid" ;;
    22) run retain --top 1 "$pid" ;;
    24 | 25) run control --span "f$((RANDOM % 9)),M.f,main.lua:$((RANDOM % 50))" "$pid" ;;
    26) run control --no-span all "$pid" ;;
    23) run control --start --hold "$((RANDOM % 3))" "$pid" ;;
  esac
}

switch_until_end() { # PID BEGAN
  RANDOM=$seed
  while [ "$(began "$1")" = "$2" ] && ! grep -qs '^State:.*Z' "/proc/$1/status"; do
    switch_once "$1"
  done
}

directory=$(mktemp -d "${TMPDIR:-/tmp}/switches.XXXXXX") || exit 2
# A child of its own session: the program neither waits for it nor ends it.
(
  process=$$ when=$(began $$)
  cd "$directory" || exit
  trap '' HUP
  (switch_until_end "$process" "$when"; cd / && rm -rf "$directory") </dev/null >/dev/null 2>&1 &
)
case $((seed % 3)) in
  0) unset SAROS_EVENTRING_START ;;
  1) export SAROS_EVENTRING_START=standby ;;
  2) export SAROS_EVENTRING_START=1 ;;
esac
export SAROS_EVENTRING_PREFIX=$directory
exec "$@"
