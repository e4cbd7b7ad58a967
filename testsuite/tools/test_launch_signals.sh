# SPDX-License-Identifier: MIT
# `-- PROGRAM`: signals at any moment reach the program, each of them, and nothing is left.
. "$TESTSUITE/tools/_tools.sh"
command -v cc >/dev/null || { echo "no C compiler"; exit 77; }
cc -shared -fPIC -o moments.so "$TESTSUITE/tools/_moments.c" -ldl || fail "cc: $?"
export TMPDIR=$PWD/tmp
mkdir tmp
export ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0

# at MOMENT PROGRAM...: starts it in the background, with the signals of a terminal; sets
# `pid`
at() {
  local moment=$1
  shift
  env --default-signal=INT,TERM,HUP LD_PRELOAD="$PWD/moments.so" MOMENT=$moment \
    "$EVENTRING" stats -- "$@" >out.txt 2>errors.txt &
  pid=$!
}

# ended WHAT STATUS: what became of it
ended() {
  wait "$pid"
  is "$1: status" "$2" $?
  is "$1: left in TMPDIR" "" "$(ls tmp)"
  kill "$(cat program.pid 2>/dev/null)" 2>/dev/null && fail "$1: the program lives on"
  rm -rf tmp/* before-exec go-on program.pid
}

cat >endless <<'SCRIPT'
#!/bin/sh
echo $$ >program.pid
exec sleep 100
SCRIPT
chmod +x endless

# before the program is there
at directory-INT ./endless
ended "SIGINT after the directory was made" 130
at directory-TERM ./endless
ended "SIGTERM after the directory was made" 143

# between fork and exec: the terminal sends SIGINT to both, others send SIGTERM to one
for signal in INT TERM; do
  at exec ./endless
  until_so [ -e before-exec ] || fail "no child"
  child=$(pgrep -P $pid)
  if [ $signal = INT ]; then kill -INT $pid "$child"; else kill -TERM $pid; fi
  sleep 0.2
  : >go-on
  ended "SIG$signal before exec" $([ $signal = INT ] && echo 130 || echo 143)
done

# a second signal while the first is passed on
cat >both <<'SCRIPT'
#!/bin/bash
trap 'echo TERM >>got' TERM
trap 'echo HUP >>got' HUP
: >ready
for ((i = 0; i < 500; i++)); do
  [ "$(sort got 2>/dev/null | xargs)" = "HUP TERM" ] && exit 5
  sleep 0.01
done
exit 6
SCRIPT
chmod +x both
at kill ./both
until_so [ -e ready ] || fail "no program"
kill -TERM $pid
ended "two signals" 5
is "the program got both" "HUP TERM" "$(sort got | xargs)"

# a file of the same name is not replaced
mkdir wanted
cat >names <<SCRIPT
#!/bin/bash
echo precious >wanted/\$\$.eventring
echo precious >wanted/\$\$-2.eventring
echo \$\$ >name
exec "$PRODUCER" --rounds 3
SCRIPT
chmod +x names
SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_PREFIX=wanted \
  "$EVENTRING" stats -o report -- ./names >producer.txt 2>errors.txt || fail "preserved: $?"
name=$(cat name)
is "what was there" "precious precious" "$(cat wanted/"$name".eventring wanted/"$name"-2.eventring | xargs)"
has "the message" "wanted/$name-3.eventring" "$(cat errors.txt)"
is "what was kept" "$name" "$("$EVENTRING" show --json wanted/"$name"-3.eventring | jq .pid)"
is "left in TMPDIR" "" "$(ls tmp)"

# The end of a program is seen although the command's parent ignores SIGCHLD.
timeout -s KILL 60 env --ignore-signal=CHLD "$EVENTRING" record -q -o ignored.eventring -- \
  "$SAROS" -e "os.exit(7)"
is "status with SIGCHLD ignored" 7 $?
finish
