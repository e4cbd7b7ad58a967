# SPDX-License-Identifier: MIT
# What the owner of the file may do to it while it is recorded into: the program
# runs on and ends as it would, a reader ends with a status of its own.
. "$TESTSUITE/faults/_faults.sh"
cat >busy.lua <<'END'
local eventring, domain = require "saros.eventring", require "saros.domain"
while not io.open("stop", "r") do
  for i = 1, 500 do eventring.counter("n", i); local t = {i} end
  domain.sleep(0.002)
end
io.write("ran\n")
os.exit(7, true)
END

# harm WHAT COMMAND [STATUS]: with $file the file, an attached reader beside it. STATUS
# is that of the reader where it is certain: an error where what it must read is gone or
# impossible, none where the file is only renamed.
harm() {
  rm -f stop dump.txt # what the reader before has printed says nothing of this one
  "$SAROS" busy.lua >output.txt 2>errors.txt &
  pid=$!
  await $pid
  file=$pid.eventring
  timeout $PATIENCE "$EVENTRING" dump --json --follow $pid >dump.txt 2>dump.err &
  reader=$!
  until_so [ -s dump.txt ] || fail "$1: the reader does not get attached"
  eval "$2"
  sleep 0.2
  timeout $PATIENCE "$EVENTRING" stats --seconds 0.1 $file >/dev/null 2>stats.err
  status=$?
  [ $status -le 1 ] || fail "$1: a new reader ends with status $status"
  touch stop
  wait $pid
  is "$1: status" 7 $?
  is "$1: output" ran "$(cat output.txt)"
  [ "$(wc -l <errors.txt)" -le 1 ] || fail "$1: $(cat errors.txt)"
  wait $reader
  status=$?
  [ $status -le 1 ] || fail "$1: the attached reader ends with status $status"
  [ -z "${3-}" ] || is "$1: status of the attached reader" "$3" "$status"
  [ $status -eq 0 ] || [ -s dump.err ] || fail "$1: the reader does not say what is wrong"
  echo "$1: reader $status, $(head -n 1 errors.txt dump.err | tr '\n' ' ')"
  rm -rf ./*.eventring
}
harm "cut to nothing" ': >$file' 1
harm "cut within the header" 'truncate -s 100 $file' 1
harm "cut after the header" 'truncate -s 4096 $file' 1
harm "cut after the front" 'truncate -s 65536 $file' 1
harm "cut within the rings" 'truncate -s 300000 $file' 1
harm "cut and grown again" ': >$file; truncate -s 3000000 $file' 1
harm "unlinked" 'rm $file' 0
harm "replaced" 'rm $file; echo new >$file' 0
harm "its name a directory" 'rm $file; mkdir $file' 0
harm "overwritten with noise" 'head -c 3000000 /dev/urandom | dd of=$file conv=notrunc status=none' 1
harm "overwritten with ones" 'tr "\\0" "\\377" </dev/zero | head -c 3000000 | dd of=$file conv=notrunc status=none' 1
harm "overwritten with zeros" 'head -c 3000000 /dev/zero | dd of=$file conv=notrunc status=none' 1
harm "a copy over it" 'cp /bin/ls $file' 1
harm "holes punched" 'fallocate -p -o 8192 -l 2500000 $file || fail "no holes can be punched here"' 1
harm "no permissions" 'chmod 0 $file' 0
for i in 1 2 3 4 5 6 7 8; do
  harm "noise in a page, $i" 'for page in 0 1 2 3; do
    head -c 4096 /dev/urandom | dd of=$file bs=4096 seek=$((i * 19 + page)) conv=notrunc status=none; done'
done

# A program that waits: the thread that asks for its stacks is the only one that touches the
# file, and it is to live with that, too.
mkfifo input
SAROS_EVENTRING_STACKS=10ms "$SAROS" -e 'io.read() io.write("ran\n") os.exit(7, true)' \
  <input >output.txt 2>errors.txt &
pid=$!
exec 3>input
await $pid
: >$pid.eventring
sleep 0.2
echo >&3
exec 3>&-
wait $pid
is "cut while it waits: status" 7 $?
is "cut while it waits: output" ran "$(cat output.txt)"
finish
