# SPDX-License-Identifier: MIT
# The file of a recording is deleted: the process goes on in a new one of the same name, whether it
# records or stands by, alone or with domains; what it was asked for holds on; who reads the former
# file is told; and a process that ends before it has looked copies out what is to be kept.
. "$TESTSUITE/recording/_recording.sh"
pid=
trap '[ "$pid" ] && kill -KILL $pid 2>/dev/null' EXIT
cat >work.lua <<'END'
local e = require "saros.eventring"
local function work()
  local stop, i = nil, 0
  while not stop do
    i = i + 1
    e.span("work", tostring, i)
    e.counter("number", i)
    if i % 100 == 0 then stop = io.open("stop") end
  end
  return i
end
if arg[1] then
  local domain = require "saros.domain"
  local other = domain.spawn(function(path)
    local e, i, stop = require "saros.eventring", 0, nil
    while not stop do
      i = i + 1
      e.span("other", tostring, i)
      if i % 100 == 0 then stop = io.open("stop") end
    end
  end)
  work()
  other:join()
else
  work()
end
END
mkdir copies
export SAROS_EVENTRING_WSIZE=11 # so that all copies are less than size= allows
begin() { # START [ARGUMENT]
  rm -f stop ./*.eventring
  SAROS_EVENTRING_START=$1 "$SAROS" work.lua "${@:2}" 2>said.txt &
  pid=$!
  until_so [ -e $pid.eventring ]
}
end() { # WHAT
  : >stop
  wait $pid
  is "$1: status of the program" 0 $?
  pid=
  is "$1: files left" "" "$(find . -name '*.eventring' ! -path './copies/*')"
}
has_copies() { [ -n "$(ls copies)" ]; }
has_new() { "$EVENTRING" show ./$pid.eventring >/dev/null 2>&1; }
state() { "$EVENTRING" list --json | jq -r "select(.pid == $pid and .liveness == \"live\") | .state"; }

# ---- recording: alone, and with a second domain
for with in "" domains; do
  begin 1 $with
  await $pid
  "$EVENTRING" control --trigger "span(\"work\") >= 0ns, dir=$PWD/copies, cooldown=100ms, max=1000" $pid ||
    fail "cannot set a trigger"
  "$EVENTRING" dump --follow $pid >followed.txt 2>told.txt &
  reader=$!
  attached $reader
  inode=$(stat -c %i $pid.eventring)
  rm $pid.eventring
  until_so has_new || fail "no new file"
  [ "$(stat -c %i $pid.eventring)" != "$inode" ] || fail "it is the same file"
  wait $reader
  is "status of who follows" 0 $?
  has "who follows is told" "was deleted" "$(cat told.txt)"
  has "who follows has read it" " work" "$(grep -m 5 " work" followed.txt)"
  has "the program is told" "was deleted: recording goes on in a new file" "$(cat said.txt)"
  is "list: state" running "$(state)"
  is "list: its file" "$PWD/$pid.eventring" "$("$EVENTRING" list --json | jq -r "select(.pid == $pid) | .path")"
  rm -f copies/*
  for name in work ${with:+other}; do
    is_there() { "$EVENTRING" stats --seconds 0.3 $pid 2>errors.txt | grep -q " $name "; }
    until_so is_there || fail "no span '$name' in the new file"
  done
  until_so has_copies || fail "triggers do not stay: $("$EVENTRING" control --status $pid)"
  # what the trigger has switched on, and somebody off, stays off
  "$EVENTRING" control --disable user $pid || fail "cannot disable a class"
  rm $pid.eventring
  until_so has_new || fail "no second new file"
  is "class user, and triggers, in the second new file" "false, 1" \
    "$("$EVENTRING" control --status --json $pid | jq -r '"\(.classes.user), \(.triggers | length)"')"
  end "recording"
done

# ---- standing by: a start comes to the new file
begin standby
until_so has_new
rm $pid.eventring
until_so has_new || fail "standing by: no new file"
is "standing by: state" standby "$(state)"
"$EVENTRING" control --start $pid || fail "standing by: cannot start"
is_there() { "$EVENTRING" stats --seconds 0.3 ./$pid.eventring 2>errors.txt | grep -q " work "; }
until_so is_there || fail "standing by: nothing is recorded after a start"
rm $pid.eventring
until_so has_new || fail "after a start: no new file"
end "standing by"

# ---- no folder: it goes on where it is, and says so once
rm -f stop
mkdir folder
export SAROS_EVENTRING_PREFIX=folder
SAROS_EVENTRING_START=1 "$SAROS" work.lua 2>said.txt &
pid=$!
until_so [ -e folder/$pid.eventring ]
await $pid
rm -r folder
until_so [ -s said.txt ] || fail "nothing is said of a folder that is gone"
sleep 1.5
is "no folder: lines on standard error" 1 "$(wc -l <said.txt)"
has "no folder" "was deleted, and recording goes on in it, for there can be no new one: " "$(cat said.txt)"
is "no folder: state" running "$(state)"
mkdir folder
until_so [ -e folder/$pid.eventring ] || fail "no new file in a folder that is there again"
end "no folder"
unset SAROS_EVENTRING_PREFIX

# ---- it ends before it has looked: what is to be kept is copied to the name
cat >ends.lua <<'END'
local e = require "saros.eventring"
e.counter("before", 42)
assert(os.remove(e.path()))
local how = arg[1]
if how == "error" then error("it failed") end
if how ~= "exit" then os.execute("kill -" .. how .. " $PPID; sleep 5") end
END
grep -q '__[at]san_init' "$SAROS" && sanitized=1 || sanitized= # which handles crashes itself
for how in error:"ended:exit" TERM:"ended:signal" SEGV:"dead:signal" ABRT:"dead:signal" exit:; do
  [ -z "$sanitized" ] || [[ "SEGV ABRT" != *${how%%:*}* ]] || continue
  rm -f ./*.eventring
  SAROS_EVENTRING_START=1 "$SAROS" ends.lua "${how%%:*}" 2>said.txt &
  pid=$!
  wait $pid 2>/dev/null
  file=$pid.eventring
  pid=
  if [ "${how%%:*}" = exit ]; then
    is "an end in order leaves" "" "$(find . -name '*.eventring' ! -path './copies/*')"
    continue
  fi
  [ -e "$file" ] || { fail "$how: no file is left"; continue; }
  is "$how: end" "${how#*:}" "$("$EVENTRING" show --json "$file" | jq -r '"\(.liveness):\(.end_reason)"')"
  is "$how: the counter" 42 "$("$EVENTRING" dump --json "$file" | jq 'select(.name == "before") | .value')"
  is "$how: mode" 600 "$(stat -c %a "$file")"
done

# ---- a question is open meanwhile: it is asked again in the new file
rm -rf stop ./*.eventring
mkfifo gate
cat >asleep.lua <<'END'
io.open("gate"):read "a"
while not io.open "stop" do for i = 1, 1000 do local t = {} end end
END
SAROS_EVENTRING_START=1 "$SAROS" asleep.lua 2>said.txt &
pid=$!
await $pid
"$EVENTRING" memory --wait 60 $pid >memory.txt 2>&1 &
asking=$!
sleep 0.3 # until it has asked; if it asks later, there is nothing to see
rm $pid.eventring
until_so [ -e $pid.eventring ] || fail "a question: no copy of the deleted file"
: >gate
status=0
wait $asking || status=$?
is "a question: status of who asked, $(tail -1 memory.txt)" 0 $status
end "a question"

# ---- a stream
rm -rf stop ./*.eventring
SAROS_EVENTRING_STREAM=all-%p "$SAROS" work.lua 2>said.txt &
pid=$!
until_so [ -e all-$pid.eventring ]
await $pid
rm all-$pid.eventring
until_so [ -e all-$pid.eventring ] || fail "stream: no new file"
: >stop
wait $pid
is "stream: status" 0 $?
is "stream: lost" 0 "$("$EVENTRING" show --json all-$pid.eventring | jq '.lost // 0')"
has "stream" " work " "$("$EVENTRING" stats all-$pid.eventring)"
pid=
finish
