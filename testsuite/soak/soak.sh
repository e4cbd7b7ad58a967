#!/bin/bash
# SPDX-License-Identifier: MIT
# soak.sh: hours of all that comes and goes around one recording, with what may not grow.
#
#   SAROS=... EVENTRING=... SOAK_WATCH=... [SOAK_SECONDS=n] [SOAK_ROWS=n] soak.sh
#
# In a directory of its own:
#   - a guest (_soak.lua) that lives as long as the test: storms of domains, coroutines,
#     cursors, classes switched, commands, forks;
#   - a reader (watch.c) on it that follows it to its end and compares emitted with missed +
#     delivered + lost for each ring, with the recording paused, every few seconds, and at the end;
#   - commands that attach and leave: show, list, dump, stats, control, snapshot; each snapshot
#     is compared in the same way;
#   - short-lived guests, every other one killed, whose files are compared and cleaned.
# A row of the table is a part of the time: what had happened by its end, and the least
# memory and the fewest descriptors of the guest and of the reader that were seen in it.
#
# Status 1: a count differs, a command or process fails, or something grows: what was least in
# the last third of the rows is more than the most that was least in the second third, plus 5 %
# and 1 MiB for memory. The time begins after SOAK_WARM rounds of the guest, by which its
# memory has doubled and trebled to what it needs; how long those take depends on the load.
# SOAK_SEED=n starts from other random numbers. SOAK_MEMORY=0: memory is shown and not judged
# (sanitizers keep what was freed), and rounds are not waited for. SOAK_LEAK=memory or
# descriptors: the guest leaks, to see that it is noticed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
seconds=${SOAK_SECONDS:-7200} rows=${SOAK_ROWS:-30} seed=${SOAK_SEED:-$RANDOM}
[ "$seconds" -ge "$rows" ] || rows=$seconds
work=$(mktemp -d "${TMPDIR:-/tmp}/saros-soak.XXXXXX") || exit 1
cd "$work" || exit 1
mkdir kept short
: >failures.txt
started=() # processes of ours, by id

fail() { echo "FAILED: $*" >>failures.txt; }
stopping() { [ -e stop ]; }

# No process stays, whatever ends this script.
clean_up() {
  : >stop
  for id in "${started[@]}"; do kill -KILL "$id" 2>/dev/null; done
  cd / && rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# ---- What comes and goes -----------------------------------------------------------------

# try COMMAND...: it succeeds, or the guest is about to end
try() {
  timeout 60 "$@" >output.txt 2>&1 && return 0
  local status=$?
  stopping || fail "status $status: $*: $(tail -n 3 output.txt)"
  return 1
}

compare_snapshot() {
  rm -f copy.eventring
  try "$EVENTRING" snapshot -o copy.eventring "$guest" || return
  timeout 60 "$SOAK_WATCH" --file copy.eventring >output.txt 2>&1 ||
    fail "a snapshot: $(tail -n 3 output.txt)"
}

commands() {
  local n=0
  mkdir commands && cd commands || return
  ln -s ../stop stop # seen from here, too
  ln -s ../failures.txt failures.txt
  until stopping; do
    try "$EVENTRING" show "$guest"
    try "$EVENTRING" list "$work/kept"
    try "$EVENTRING" dump --last 0.01 "$guest"
    try "$EVENTRING" stats --json --seconds 0.2 "$guest"
    try "$EVENTRING" control --disable gc "$guest"
    try "$EVENTRING" control --status "$guest"
    try "$EVENTRING" control --enable gc "$guest"
    compare_snapshot
    "$EVENTRING" clean "$work/kept" >output.txt 2>&1 # of children that did not end in order
    n=$((n + 9))
    echo $n >../commands.txt
    sleep 0.2
  done
}

# Removes what killed guests left. Their children, which hold it, end soon.
cleaned() {
  for _ in $(seq 300); do
    "$EVENTRING" clean . >clean.txt 2>&1
    [ -n "$(ls ./*.eventring 2>/dev/null)" ] || return 0
    sleep 0.1
  done
  return 1
}

short_lived() {
  local n=0 id file status
  cd short || return
  ln -s ../failures.txt failures.txt
  until [ -e ../stop ]; do
    rm -f stop
    SAROS_EVENTRING_PREFIX=. SAROS_EVENTRING_WSIZE=12 \
      "$SAROS" "$here/_soak.lua" stop progress $((seed + n)) >said.txt 2>&1 &
    id=$!
    sleep "0.$((RANDOM % 9 + 1))"
    if [ $((n % 2)) = 0 ]; then kill -KILL $id; else : >stop; fi
    wait $id 2>/dev/null
    status=$?
    [ $((n % 2)) = 0 ] || [ $status = 0 ] || fail "a short-lived guest: status $status: $(tail -n 3 said.txt)"
    for file in ./*.eventring; do
      [ -e "$file" ] || continue
      timeout 60 "$SOAK_WATCH" --file "$file" >output.txt 2>&1 ||
        [ ! -e "$file" ] || # that of a child of it, which has ended in order meanwhile
        fail "file of a killed guest: $(tail -n 3 output.txt)"
    done
    cleaned || fail "left behind: $(echo ./*.eventring): $(cat clean.txt)"
    n=$((n + 1))
    echo $n >../short.txt
  done
}

# ---- The guest and its reader ---------------------------------------------------------------

export SAROS_EVENTRING_START=1 SAROS_EVENTRING_PREFIX=$work/kept SAROS_EVENTRING_WSIZE=12
unset SAROS_EVENTRING_PRESERVE SAROS_EVENTRING_NAME SAROS_EVENTRING_CLASSES
"$SAROS" "$here/_soak.lua" stop progress.txt "$seed" ${SOAK_LEAK:+"$SOAK_LEAK"} >guest.txt 2>&1 &
guest=$!
started+=($guest)
for _ in $(seq 600); do
  [ -s progress.txt ] && break
  kill -0 $guest 2>/dev/null || break
  sleep 0.1
done
[ -s progress.txt ] || { echo "the guest does not get going:"; cat guest.txt; exit 1; }
"$SOAK_WATCH" --live $guest $((seconds < 60 ? 1 : 5)) watch.txt >watched.txt 2>&1 &
watch=$!
started+=($watch)
(commands) &
commands=$!
started+=($commands)
(short_lived) &
short_lived=$!
started+=($short_lived)

# ---- The table --------------------------------------------------------------------------------

descriptors() { ls "/proc/$1/fd" 2>/dev/null | wc -l; }
number() { [ -s "$1" ] && cat "$1" || echo 0; }
least() { # VARIABLE VALUE
  local -n held=$1
  [ "$2" -gt 0 ] 2>/dev/null && { [ -z "$held" ] || [ "$2" -lt "$held" ]; } && held=$2
}

sample() {
  local anonymous='' resident='' watched=''
  read -r rounds domains forks ran cursors anonymous resident <progress.txt
  read -r comparisons delivered lost missed watched <watch.txt
  least least_anonymous "$anonymous"
  least least_resident "$resident"
  least least_watch "$watched"
  least least_descriptors "$(descriptors $guest)"
  least least_watch_descriptors "$(descriptors $watch)"
}

row() {
  printf '%7d %7d %8d %6d %7d %8d %6d %12s %10s | %7d %7d %4d | %7d %4d\n' "$1" "$rounds" \
    "$domains" "$forks" "$(number commands.txt)" "$comparisons" "$(number short.txt)" \
    "$delivered" "$lost" $((least_anonymous)) $((least_resident)) $((least_descriptors)) \
    $((least_watch)) $((least_watch_descriptors))
  echo $((least_anonymous)) $((least_resident)) $((least_descriptors)) $((least_watch)) \
    $((least_watch_descriptors)) >>rows.txt
}

echo "seed $seed, $seconds s; memory in KiB"
printf '%7s %7s %8s %6s %7s %8s %6s %12s %10s | %7s %7s %4s | %7s %4s\n' "" "" "" "" attach- compar- \
  "" "" "" "guest:" "" "" "reader:" ""
printf '%7s %7s %8s %6s %7s %8s %6s %12s %10s | %7s %7s %4s | %7s %4s\n' seconds rounds domains \
  forks ments isons short delivered lost anon rss fds rss fds
warm=${SOAK_WARM:-200}
[ "${SOAK_MEMORY:-1}" = 0 ] && warm=0
until=$((SECONDS + 300))
while read -r rounds _ <progress.txt; [ "${rounds:-0}" -lt "$warm" ]; do
  kill -0 $guest 2>/dev/null && kill -0 $watch 2>/dev/null || break
  [ $SECONDS -lt $until ] || { fail "in 300 s the guest has done $rounds of $warm rounds"; break; }
  sleep 0.2
done
SECONDS=0
for ((n = 1; n <= rows; n++)); do
  least_anonymous='' least_resident='' least_watch='' least_descriptors='' least_watch_descriptors=''
  until=$((seconds * n / rows))
  while :; do
    sleep 0.2
    sample
    kill -0 $guest 2>/dev/null || break 2
    kill -0 $watch 2>/dev/null || break 2
    [ $SECONDS -ge $until ] && break
  done
  row "$SECONDS"
done
[ "$n" -gt "$rows" ] || fail "guest or reader ended early: $(tail -n 3 guest.txt watched.txt)"

# ---- The end ------------------------------------------------------------------------------------

: >stop
ended() { # WHAT PID: ends by itself, with status 0
  for _ in $(seq 1200); do kill -0 "$2" 2>/dev/null || break; sleep 0.1; done
  kill -0 "$2" 2>/dev/null && { fail "$1 does not end"; kill -KILL "$2"; }
  wait "$2" || fail "$1: status $?"
}
ended "the guest ($(tail -n 3 guest.txt))" $guest
ended "the reader" $watch
ended "the commands" $commands
ended "the short-lived guests" $short_lived
started=()
[ -s watched.txt ] && fail "the reader: $(cat watched.txt)"
"$EVENTRING" clean kept >output.txt 2>&1
[ -z "$(ls kept)" ] || fail "left behind: $(ls kept)"
sample 2>/dev/null
echo "last: $rounds rounds, $domains domains, $cursors cursors of its own, $ran commands of its own," \
  "$comparisons comparisons, delivered $delivered, lost $lost, missed $missed"

# What may not grow: column, name, whether it is memory.
judge() {
  awk -v column="$1" -v name="$2" -v memory="$3" -v judged="${SOAK_MEMORY:-1}" '
    { value[NR] = $column }
    END {
      third = int(NR / 3)
      if (third < 1 || (memory && !judged)) exit
      for (i = NR - 2 * third + 1; i <= NR - third; i++) if (value[i] > most) most = value[i]
      low = value[NR]
      for (i = NR - third + 1; i <= NR; i++) if (value[i] < low) low = value[i]
      allowed = memory ? most * 1.05 + 1024 : most
      if (low > allowed)
        printf "FAILED: %s grows: at most %d in the second third, at least %d in the last\n", name, most, low
    }' rows.txt >>failures.txt
}
judge 1 "anonymous memory of the guest" 1
judge 2 "resident memory of the guest" 1
judge 3 "descriptors of the guest" 0
judge 4 "resident memory of the reader" 1
judge 5 "descriptors of the reader" 0
[ "${comparisons:-0}" -gt 1 ] || fail "only ${comparisons:-0} comparisons"
[ "$(number short.txt)" -gt 0 ] && [ "$(number commands.txt)" -gt 0 ] || fail "no readers came and went"
if [ -s failures.txt ]; then
  cat failures.txt
  exit 1
fi
echo "nothing grew, every event is accounted for"
