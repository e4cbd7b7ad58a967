# SPDX-License-Identifier: MIT
# dump: filters, --last, times; hostile text cannot reach the terminal.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }

record --rounds 30 --domains 2 --hold-ms 200
count() { "$EVENTRING" dump --json "$@" "$file" | jq -s 'length'; }
all=$(count)
is "by domain" "$all" $(($(count --domain 0) + $(count -d 1)))
is "by ring" "$all" $(($(count --ring runtime) + $(count --ring=user)))
is "by name" 120 "$(count --name minor)"
is "by class" true "$([ "$(count --class gc)" -gt 0 ] && echo true)"
is "nothing of it" 0 "$(count --class nothing)"
is "all of the last hour" "$all" "$(count --last 1h)"
is "only the end" true "$([ "$(count --last 10ms)" -lt 20 ] && echo true)"

text=$("$EVENTRING" dump "$file")
is "lines of text" "$all" "$(echo "$text" | wc -l)"
has "begin" "> minor_roots" "$text"
has "counter" "= allocated_words = 1000 words" "$text"
has "string, escaped" '! note = "a "note"\x09with é"' "$text"
is "string in JSON" true "$("$EVENTRING" dump --json --name note "$file" |
  jq -s '[.[] | .value == "a \"note\"\twith é"] | all')"
is "double in JSON" true \
  "$("$EVENTRING" dump --json --name load "$file" | jq -s '[.[] | .value == 0.5] | all')"
[[ $("$EVENTRING" dump --time wall "$file" | head -n 1) == 20??-??-??\ * ]] || fail "--time wall"
is "show and the catalogue" true "$("$EVENTRING" show --json "$file" |
  jq '[.catalogue[] | select(.name == "promoted_words") | .unit == "words" and .class == "gc"] | any')"
has "show as text" "promoted_words" "$("$EVENTRING" show "$file")"

# A write that fails is reported as what it is, also when the lines were collected until then
# (50 of them are more than a buffer of a stream, and less than what is collected)
if [ -c /dev/full ]; then
  for events in 1 20 50 100; do
    "$EVENTRING" dump --json --name minor --events "$events" "$file" >/dev/full 2>errors.txt
    is "$events events to a full disk" 1 $?
    has "$events events to a full disk" "No space left on device" "$(cat errors.txt)"
  done
fi
for events in 1 20 50 100; do # to a pipe that nobody reads any more
  (trap "" PIPE
   "$EVENTRING" dump --json --name minor --events "$events" "$file" 2>errors.txt
   echo $? >status.txt) | :
  is "$events events to a closed pipe" "0 " "$(cat status.txt) $(cat errors.txt)"
done

# A message on damage comes where the damage is between the lines, in text and in JSON
SAROS_EVENTRING_STREAM=./stream.eventring "$PRODUCER" --rounds 1200 >producer.txt || fail "producer"
python3 - stream.eventring <<'PY' || fail "damaging"
import sys
with open(sys.argv[1], "r+b") as file:
    data = file.read()
    events = [at for at in range(65536, len(data) - 4095, 4096)
              if any(data[at:at + 8]) and data[at + 8:at + 10] == b"\1\0"]
    file.seek(events[len(events) // 2])
    file.write(bytes(4096))
PY
message_at() { "$EVENTRING" dump "$@" stream.eventring 2>&1 | grep -n "^eventring: "; }
has "message on damage" "is not there" "$(message_at)"
is "position of the message on damage" "$(message_at)" "$(message_at --json)"
finish
