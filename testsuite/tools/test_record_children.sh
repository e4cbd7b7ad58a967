# SPDX-License-Identifier: MIT
# eventring record of several processes: of those named, of what a launched program starts
# (by fork, by exec, and what outlives it), and of children of a process that runs already.
# Each is in a file of its own, with all that it reported.
. "$TESTSUITE/tools/_tools.sh"

# What a report says, each domain's own last event added; what a recording has; its sums.
emitted() { awk '{ n += $4 + ($3 == "runtime") } END { print n + 0 }' "$@"; }
recorded() {
  "$EVENTRING" stats --json "$1" >stats.json || fail "stats $1: status $?"
  query stats.json '[.domains[].rings[].delivered] | add'
}
sums() { query stats.json '[.domains[].rings[] | .emitted == .missed + .delivered + .lost] | all'; }

# ---- A program and what it starts ----------------------------------------------------------

# Two children, one of them below a shell, and the program itself, which is exec'ed.
cat >tree.sh <<EOF
"$PRODUCER" --domains 2 --rounds 200 --pause-us 10 --report >report.1 & echo \$! >pid.1
bash -c '"$PRODUCER" --rounds 300 --report >report.2 & echo \$! >pid.2; wait' &
echo \$\$ >pid.3
wait
exec "$PRODUCER" --rounds 100 --report >report.3
EOF
ends 0 "3 processes" \
  "$EVENTRING" record --strict --children -o tree.eventring -- bash tree.sh
is "files of the tree" 3 "$(ls tree.*.eventring | wc -l)"
for i in 1 2 3; do
  is_same "child $i" "$(emitted report.$i)" "$(recorded "tree.$(cat pid.$i).eventring")"
done

# The status is the program's; %p stands for the number.
ends 7 "1 process" "$EVENTRING" record -c -o 'status-%p.eventring' -- \
  bash -c "\"$PRODUCER\" --rounds 1 & echo \$! >pid.1; wait; exit 7"
[ -f "status-$(cat pid.1).eventring" ] || fail "no status-$(cat pid.1).eventring: $(ls)"
ends 1 "recorded nothing" "$EVENTRING" record -c -o none.eventring -- true

# What outlives the program is recorded to its end.
"$EVENTRING" record -q -c -o late.eventring -- bash -c \
  "\"$PRODUCER\" --rounds 400 --pause-us 500 --report >report.4 & echo \$! >pid.4" ||
  fail "outlives: status $?"
is_same "outlives" "$(emitted report.4)" "$(recorded "late.$(cat pid.4).eventring")"

# Many that end at once: none is missed.
"$EVENTRING" record -q --strict -c --buffers 1 --buffer-size 64K -o many.eventring -- bash -c \
  "for i in {1..40}; do \"$PRODUCER\" --rounds 3 --report >many.\$i & done; wait" ||
  fail "many: status $?"
all=0
for file in many.*.eventring; do all=$((all + $(recorded "$file"))); done
is "many: files" 40 "$(ls many.*.eventring | wc -l)"
is_same "many: events" "$(emitted many.?  many.??)" $all

# One process that execs itself has several recordings.
if "$SAROS" -e 'require "ffi"' 2>/dev/null; then
  cat >again.lua <<'END'
local ffi = require "ffi"
ffi.cdef [[int execv(const char *, char *const *); int fork(void);
  int waitpid(int, int *, int); int usleep(unsigned); int setenv(const char *, const char *, int);]]
local left = tonumber(os.getenv "LEFT")
collectgarbage()
if left > 0 then
  ffi.C.setenv("LEFT", tostring(left - 1), 1)
  local words, argv = {arg[-1], arg[0]}, ffi.new "char *[3]"
  for i, word in ipairs(words) do
    words[i] = ffi.new("char[?]", #word + 1, word)
    argv[i - 1] = words[i]
  end
  ffi.C.execv(argv[0], argv)
  error "exec failed"
end
local child = ffi.C.fork()
if child == 0 then
  for i = 1, 20 do collectgarbage(); ffi.C.usleep(10000) end
  os.exit(0, true)
end
ffi.C.waitpid(child, nil, 0)
END
  ends 0 "4 processes" env LEFT=2 "$EVENTRING" record -c -o exec.eventring -- "$SAROS" again.lua
  is "exec: files" 4 "$(ls exec.*.eventring | wc -l)"
  is "exec: names" 2 "$(ls exec.*-[23].eventring | wc -l)"
fi

# ---- Processes that run -------------------------------------------------------------------

SAROS_EVENTRING_PRESERVE=1 start --rounds 100000 --pause-us 200 --report
first=$pid
SAROS_EVENTRING_PRESERVE=1 start --rounds 100000 --pause-us 200
second=$pid
"$EVENTRING" record --strict -s 1 -o two.eventring "$first" "$second" 2>errors.txt ||
  fail "two: status $?"
has "two: summary" "2 processes" "$(cat errors.txt)"
for p in "$first" "$second"; do
  [ "$(recorded "two.$p.eventring")" -gt 100 ] || fail "two.$p: few events"
  is "two.$p: sums" true "$(sums)"
done
# one that is not there does not keep the other one from being recorded
ends 1 "no process 999999999" "$EVENTRING" record -s 1 -o one.eventring 999999999 "$first"
[ -f "one.$first.eventring" ] || fail "one: $(ls)"
kill "$first" "$second"
wait "$first" "$second" 2>/dev/null

# Children of a process that runs: those that it starts from then on.
cat >parent.sh <<EOF
"$PRODUCER" --rounds 100000 --pause-us 1000 & echo \$! >pid.5
while [ ! -f go ]; do sleep 0.05; done
"$PRODUCER" --rounds 1000 --pause-us 500 --report >report.6 & echo \$! >pid.6
wait \$!
kill "\$(cat pid.5)"
wait
EOF
rm -f pid.5
SAROS_EVENTRING_START=1 "$SAROS" -e 'os.execute "bash parent.sh"' &
parent=$!
await $parent
until_so test -s pid.5 || fail "family: the first child does not begin"
# there NAME: a file of that recording
there() { ls "$1".*.eventring >/dev/null 2>&1; }
"$EVENTRING" record -q -c -o family.eventring $parent &
recorder=$!
until_so there family || fail "family: nothing is recorded"
touch go
wait $recorder || fail "family: status $?"
wait $parent
is_same "family: files" "$(printf '%s\n' family.{$parent,$(cat pid.5),$(cat pid.6)}.eventring | sort)" \
  "$(ls family.*.eventring)"
recorded "family.$(cat pid.6).eventring" >/dev/null
is "family: sums" true "$(sums)"

# ---- Limits, rotation, mistakes -------------------------------------------------------------

SAROS_EVENTRING_WSIZE=18 "$EVENTRING" record -c --max-size 4M -o full.eventring -- bash -c \
  "for i in 1 2; do \"$PRODUCER\" --rounds 300000 --pause-us 1 & echo \$! >>pids; done; wait" \
  2>errors.txt &
recorder=$!
until_so grep -qs "max-size is reached" errors.txt || fail "max-size: $(cat errors.txt)"
kill $(cat pids)
wait $recorder
size=$(cat full.*.eventring | wc -c)
[ "$size" -gt 3000000 ] && [ "$size" -lt 16000000 ] || fail "max-size: $size bytes"

ends 0 "2 processes" "$EVENTRING" record -c --rotate-size 256K --buffer-size 64K --keep 3 \
  -o turn.eventring -- bash -c \
  "for i in 1 2; do \"$PRODUCER\" --rounds 20000 --pause-us 20 & done; wait"
is "rotation: files" 6 "$(ls turn.*.*.eventring | wc -l)"

start --rounds 1000 --pause-us 200
"$EVENTRING" record -q -s 0.1 -o 'one-%p-%%p.eventring' $pid || fail "%p: status $?"
[ -f "one-$pid-%p.eventring" ] || fail "%p: $(ls one*)"
kill $pid
wait $pid 2>/dev/null

# One recording of all, from which the others are gone; if it cannot be made, they stay.
ends 0 "2 processes" "$EVENTRING" record -c --merge -o merged.eventring -- bash -c \
  "for i in 1 2; do \"$PRODUCER\" --rounds 50 --report >merged.\$i & done; wait"
is "merged: files" merged.eventring "$(ls merged*.eventring)"
is_same "merged: events" "$(emitted merged.1 merged.2)" "$(recorded merged.eventring)"
is "merged: processes" 2 "$("$EVENTRING" show --json merged.eventring | jq '.processes | length')"
ends 1 "File exists" "$EVENTRING" record -c --merge -o merged.eventring -- "$PRODUCER"
ends 2 "cannot be combined with several files" "$EVENTRING" record -c --merge --keep 2 -o x.eventring -- true
ends 1 "in a file of its own" "$EVENTRING" record -c --merge -o half.eventring -- bash -c \
  "\"$PRODUCER\" --rounds 5; touch half.eventring"
is "not merged: files" 2 "$(ls half*.eventring | wc -l)"

# A name with a percent sign; one that would be several; SIGUSR2 begins no further file.
ends 0 "1 process" "$EVENTRING" record -c --merge -o 'half%%full.eventring' -- "$PRODUCER" --rounds 5
[ -f half%full.eventring ] || fail "merge, percent: $(ls half*)"
ends 2 "must not contain %p or %i" "$EVENTRING" record -c --merge -o '%i.eventring' -- "$PRODUCER"
"$EVENTRING" record -q -c --merge -o single.eventring -- "$PRODUCER" --rounds 1000 --pause-us 500 \
  --report >single.1 &
recorder=$!
until_so there single || fail "merge, SIGUSR2: nothing is recorded"
kill -USR2 $recorder
wait $recorder || fail "merge, SIGUSR2: status $?"
is "merge, SIGUSR2: files" single.eventring "$(ls single*.eventring)"
is_same "merge, SIGUSR2: events" "$(emitted single.1)" "$(recorded single.eventring)"

# A signal that comes when time is up, and PROGRAM runs, is for PROGRAM.
"$EVENTRING" record -q -c --seconds 0.1 -o late.eventring -- bash -c \
  "trap 'exit 5' TERM; \"$PRODUCER\" --rounds 5; touch late; while :; do sleep 0.05; done" &
recorder=$!
until_so test -f late || fail "late signal: the program does not begin"
sleep 0.3
kill $recorder
wait $recorder
is "late signal: status" 5 $?

# Processes that have ended hold nothing: more of them than there may be open files.
(
  ulimit -n 64
  ends 0 "80 processes" "$EVENTRING" record -c -o many.eventring -- bash -c \
    "for i in {1..80}; do \"$PRODUCER\" --rounds 2; done"
  exit "$failures"
) || fail "many processes"

ends 2 "needs one process, no more" "$EVENTRING" record -c --command-fifo ctl -o x.eventring -- true
ends 1 "cannot create" "$EVENTRING" record -c -o /nonexistent/x.eventring -- "$PRODUCER" --rounds 1
finish
