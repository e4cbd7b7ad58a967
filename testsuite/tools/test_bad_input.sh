# SPDX-License-Identifier: MIT
# What is asked about is wrong: status 1, a message that names it, nothing shown.
. "$TESTSUITE/tools/_tools.sh"

record --rounds 20
cp "$file" sound.eventring
size=$(stat -c %s sound.eventring)

: >empty.eventring
echo "this is not a recording, though it has a line of text" >text.eventring
head -c 100000 /dev/zero >zero.eventring
head -c 50 sound.eventring >header.eventring
head -c 4096 sound.eventring >page.eventring
head -c $((size / 2)) sound.eventring >half.eventring
mkdir directory.eventring
ln -s missing.eventring link.eventring
ln -s pipe.eventring link-to-pipe.eventring
mkfifo pipe.eventring

for command in show dump stats; do
  for bad in empty text zero header page link link-to-pipe pipe directory; do
    ends 1 "$bad.eventring" timeout $PATIENCE "$EVENTRING" $command $bad.eventring
    is "output of $command $bad.eventring" "" "$(cat stdout.txt)"
  done
  ends 1 "missing.eventring" "$EVENTRING" $command missing.eventring
  ends 1 "999999999" "$EVENTRING" $command 999999999
  ends 1 "$$" "$EVENTRING" $command $$ # lives, but does not record
done
has "a text file" "not an eventring file" "$("$EVENTRING" show text.eventring 2>&1)"

# Where the version and the byte order stand is the format's business: found by
# what changing a byte of the first words leads to.
version=no order=no
for offset in $(seq 8 31); do
  cp sound.eventring other.eventring
  printf '\x63' | dd of=other.eventring bs=1 seek=$offset conv=notrunc status=none
  message=$("$EVENTRING" show other.eventring 2>&1 >/dev/null)
  [[ $message == *other.eventring*version* ]] && version=yes
  [[ $message == *other.eventring*"byte order"* ]] && order=yes
done
is "another version is reported" yes $version
is "another byte order is reported" yes $order

# A file cut in its rings: what is there is shown, or an error; never silence.
"$EVENTRING" stats half.eventring >stdout.txt 2>stderr.txt
status=$?
[ $status -eq 1 ] && [ -s stderr.txt ] || fail "half a file: status $status"

# A command that cannot be, or does not record
ends 127 "no-such-program" "$EVENTRING" stats -- no-such-program
ends 126 "sound.eventring" "$EVENTRING" stats -- ./sound.eventring
ends 1 "recorded nothing" "$EVENTRING" stats -- true

ends 1 "no ring \`r' in this recording; it has runtime user" "$EVENTRING" dump --ring r "$file"
ends 1 "no class \`c' in this recording; it has lifecycle gc" "$EVENTRING" dump --class c "$file"

# Outputs
ends 1 "sound.eventring" "$EVENTRING" snapshot -o sound.eventring "$file"
ends 1 "no/such/copy" "$EVENTRING" snapshot -o no/such/copy "$file"
ends 1 "no/such/report" "$EVENTRING" stats -o no/such/report "$file"
"$EVENTRING" dump "$file" >/dev/full 2>stderr.txt
is "status when the disk is full" 1 $?
has "message when the disk is full" "cannot write" "$(cat stderr.txt)"
ends 1 "no/such" "$EVENTRING" list no/such
ends 1 "no/such" "$EVENTRING" clean no/such
finish
