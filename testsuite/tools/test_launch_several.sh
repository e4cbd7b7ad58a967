# SPDX-License-Identifier: MIT
# `-- PROGRAM` of which several processes record, or one several times, by exec: the answer is of all
# of them; a stream of the user is made; copies of triggers are not lost with the temporary
# directory, which is never made in the current one.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
unset SAROS_EVENTRING_PREFIX SAROS_EVENTRING_PRESERVE SAROS_EVENTRING_STREAM SAROS_EVENTRING_TRIGGER
export TMPDIR=$PWD/tmp
mkdir tmp
cat >inner.lua <<'END'
local e = require "saros.eventring"
for i = 1, 5 do e.span("inner", tostring, i) end
local kept = {}
for i = 1, 2e4 do kept[i] = {i} end
collectgarbage()
END
cat >both.sh <<'END'
#!/bin/sh
"$SAROS" inner.lua && "$SAROS" inner.lua
END
chmod +x both.sh
if "$SAROS" -e 'require "ffi"' 2>/dev/null; then
  cat >outer.lua <<'END'
local e, ffi = require "saros.eventring", require "ffi"
ffi.cdef "int execlp(const char *, const char *, const char *, void *);"
for i = 1, 3 do e.span("outer", tostring, i) end
ffi.C.execlp(arg[1], arg[1], "inner.lua", nil)
END
  executes=1
fi

begun() { # FILE: how many spans of the program begin in it, by name
  jq -cs '[(.[0].traceEvents // .[0])[] | select(.name == ("inner", "outer") and .ph == ("B", "X"))] | group_by(.name) | map({(.[0].name): length}) | add' "$1"
}

all() { # WHAT SPANS PROGRAM...
  local what=$1 spans=$2
  shift 2
  "$EVENTRING" stats --json -o report.json -- "$@" 2>errors.txt || fail "$what: stats: $?"
  is "$what: stats" "$spans" "$(query report.json '[.spans[] | select(.ring == "user")] | group_by(.name) | map({(.[0].name): map(.count) | add}) | add')"
  has "$what: stats says so" "2 recordings: this is of all of them" "$(cat errors.txt)"
  "$EVENTRING" spans --json -- "$@" >report.json 2>errors.txt || fail "$what: spans: $?"
  is "$what: spans" "$spans" "$(query report.json '.total.names | sort_by(.name) | map({(.name): .count}) | add')"
  "$EVENTRING" check -e 'count(span("inner")) >= 5; signal == 0; error == 0; lost == 0' -- "$@" >check.txt 2>&1
  is "$what: check" 0 $?
  SAROS_MEMPROF=1 "$EVENTRING" heap --json -- "$@" >report.json 2>errors.txt || fail "$what: heap: $?"
  "$EVENTRING" profile -- "$@" >profile.txt 2>errors.txt || fail "$what: profile: $(cat errors.txt)"
  has "$what: profile" "inner.lua" "$(cat profile.txt)"
  "$EVENTRING" view -o page.html -- "$@" 2>errors.txt || fail "$what: view: $(cat errors.txt)"
  python3 "$TESTSUITE/tools/_view.py" page.html head >head.json || fail "$what: no page"
  is "$what: the page's commands are of the program" "\"-- $*\"" "$(query head.json .run.target)"
  is "$what: the page was made by" "\"eventring view -o page.html -- $*\"" "$(query head.json .command)"
  rm -f page.html
  "$EVENTRING" dump --json -- "$@" >dump.json 2>errors.txt || fail "$what: dump: $?"
  is "$what: dump" "$spans" "$(jq -cs '[.[] | select(.ring == "user" and .kind == "end")] | group_by(.name) | map({(.[0].name): length}) | add' dump.json)"
  has "$what: dump says so" "2 recordings: that of process" "$(cat errors.txt)"
  is "$what: dump: in the order of time" true "$(jq -s '[.[] | select(.ring == "user") | .ns] | . == sort' dump.json)"
  is "$what: dump --events" 4 "$("$EVENTRING" dump --json --class user --events 4 -- "$@" 2>/dev/null | jq -s length)"
  for to in chrome csv sqlite; do
    rm -f "exported.$to"
    "$EVENTRING" export --to $to -o exported.$to -- "$@" 2>errors.txt || fail "$what: export --to $to: $?"
    has "$what: export --to $to says so" "2 recordings: this is of all of them" "$(cat errors.txt)"
  done
  is "$what: chrome" "$spans" "$(begun exported.chrome)"
  "$EVENTRING" export --to chrome -o - -- "$@" 2>errors.txt >exported.chrome || fail "$what: export -o -: $?"
  is "$what: chrome to standard output" "$spans" "$(begun exported.chrome)"
  "$EVENTRING" diff --json --runs 1 -- "$@" -- "$@" >diff.json 2>errors.txt || fail "$what: diff: $?"
  is "$what: diff" "$spans" "$(query diff.json '[.rows[] | select(.name | test("^(in|out)ner, count$|^outer, count$"))] | sort_by(.name) | map({(.name | sub(", count"; "")): .a}) | add')"
  is "$what: diff says so, once a side" 2 "$(grep -c "2 recordings: this is of all of them" errors.txt)"
  is "$what: left in TMPDIR" "" "$(ls tmp)"
}
all "a script" '{"inner":10}' ./both.sh
[ -z "${executes-}" ] || all "exec" '{"inner":5,"outer":3}' "$SAROS" outer.lua "$SAROS"

# exec while a child that knows nothing of the recording still has the lock of its file: the new
# recording then has another name, and the first one is the process's past all the same
if [ -n "${executes-}" ] && [ "$(uname -m)" = x86_64 ]; then
  cat >clone.lua <<'END'
local e, ffi = require "saros.eventring", require "ffi"
ffi.cdef "long syscall(long, ...); int execlp(const char *, const char *, const char *, void *); int usleep(unsigned);"
for i = 1, 3 do e.span("outer", tostring, i) end
local FORK, EXIT = 57, 231
if ffi.C.syscall(FORK) == 0 then
  ffi.C.usleep(300000)
  ffi.C.syscall(EXIT, 0)
end
ffi.C.execlp(arg[1], arg[1], "slow.lua", nil)
END
  cat >slow.lua <<'END'
local e = require "saros.eventring"
e.span("inner", function() local ends = os.clock() + 0.6 repeat until os.clock() > ends end)
io.open("names.txt", "w"):write(e.path()):close()
END
  "$EVENTRING" stats -- "$SAROS" clone.lua "$SAROS" >out.txt 2>errors.txt || fail "locked: $? $(cat errors.txt)"
  has "locked: another name" ".2.eventring" "$(cat names.txt)"
  is "locked: left in TMPDIR" "" "$(ls tmp)"
  rm -rf tmp/*
fi

# the status is that of the program; a process that was killed is said to be
cat >fails.sh <<'END'
#!/bin/sh
"$SAROS" inner.lua
"$SAROS" -e 'require "saros.eventring".counter("c", 1) os.execute("kill -KILL $PPID") while true do end'
exit 5
END
chmod +x fails.sh
"$EVENTRING" stats -o report.txt -- ./fails.sh 2>errors.txt
is "status" 5 $?
has "what was killed is kept" "kept $TMPDIR/" "$(cat errors.txt)"
rm -rf tmp/*
"$EVENTRING" check -e 'signal == 0' -- ./fails.sh >check.txt 2>&1
is "check of one that was killed: the program's own status" 5 $?
rm -rf tmp/*

# what cannot be merged is said to be missing
cat >blocked.sh <<'END'
#!/bin/sh
"$SAROS" inner.lua && "$SAROS" inner.lua && mkdir "$SAROS_EVENTRING_PREFIX/blocked.sh-$$"
END
chmod +x blocked.sh
for command in stats spans profile "export --to csv -o csv"; do
  # shellcheck disable=SC2086
  "$EVENTRING" $command -- ./blocked.sh >report.txt 2>errors.txt
  is "not merged: $command" 1 $?
  has "not merged: $command says so" "2 recordings: this is of one of them" "$(cat errors.txt)"
done
rm -rf tmp/*

# retain asks each process that runs
cat >waits.lua <<'END'
KEPT = { setmetatable({}, { __name = arg[1] }) }
local ends = os.time() + 120
repeat local t = { {} } until os.time() > ends or io.open "stop"
END
cat >pair.sh <<'END'
#!/bin/sh
"$SAROS" -e 'local t = {}'
"$SAROS" waits.lua First &
"$SAROS" waits.lua Second
wait
END
chmod +x pair.sh
(until_so grep -qs Second retained.txt && until_so grep -qs First retained.txt; touch stop) & a=$!
"$EVENTRING" retain --top 100 --seconds 1 -- ./pair.sh >retained.txt 2>errors.txt || fail "retain: $? $(cat errors.txt)"
wait $a
is "retain: processes" 2 "$(grep -c '^waits.lua, process' retained.txt)"
has "retain: the one" "First" "$(cat retained.txt)"
has "retain: the other" "Second" "$(cat retained.txt)"
rm -f stop
(until_so eval '[ "$(jq -s length retained.json 2>/dev/null)" = 2 ]'; touch stop) & a=$!
"$EVENTRING" retain --json --seconds 1 -- ./pair.sh >retained.json 2>errors.txt || fail "retain --json: $?"
wait $a
is "retain --json: an object each" 2 "$(jq -s 'map(.pid) | unique | length' retained.json)"
rm -f stop

# a stream
SAROS_EVENTRING_STREAM=whole "$EVENTRING" stats --json -o report.json -- "$SAROS" inner.lua || fail "stream: $?"
is "stream: spans" 5 "$(query report.json '.spans[] | select(.name == "inner") | .count')"
is "stream: its file" 5 "$("$EVENTRING" stats --json whole.eventring | jq '.spans[] | select(.name == "inner") | .count')"
is "stream: left in TMPDIR" "" "$(ls tmp)"

# copies of a trigger
mkdir here && cd here
SAROS_EVENTRING_TRIGGER='span("inner") >= 0ns' "$EVENTRING" stats -- "$SAROS" ../inner.lua >out.txt 2>errors.txt || fail "trigger: $?"
is "copies of a trigger" 1 "$(ls ./*trigger*.eventring | wc -l)"
has "copies of a trigger are named" "kept $PWD/" "$(cat errors.txt)"
"$EVENTRING" show ./*trigger*.eventring >/dev/null || fail "the copy: $?"
rm -f ./*.eventring

# preserved, on another file system too; the temporary directory is elsewhere meanwhile
cat >look.lua <<'END'
local found = io.popen "ls -d eventring-* 2>/dev/null":read "a"
io.open("found.txt", "w"):write(found):close()
END
for tmp in "$TMPDIR" /dev/shm; do
  [ -w "$tmp" ] || continue
  rm -f ./*.eventring
  TMPDIR=$tmp SAROS_EVENTRING_PRESERVE=1 "$EVENTRING" stats -- "$SAROS" look.lua >out.txt 2>errors.txt || fail "preserved: $?"
  is "preserved" 1 "$(ls ./*.eventring | wc -l)"
  is "no directory here" "" "$(cat found.txt)"
  "$EVENTRING" show ./*.eventring >/dev/null || fail "what was preserved: $?"
done
is "left in TMPDIR" "" "$(ls "$TMPDIR")"
finish
