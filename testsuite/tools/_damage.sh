# SPDX-License-Identifier: MIT
# Sourced by what tests `eventring cut` of damaged files: recordings of each layout, and random damage to them.

# ring FILE [PRODUCER-OPTIONS...], stream FILE [PRODUCER-OPTIONS...]
ring() { SAROS_EVENTRING_WSIZE=12 record "${@:2}"; mv "$file" "$1"; }
stream() {
  SAROS_EVENTRING_STREAM=$1 SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 \
    "$PRODUCER" "${@:2}" >producer.txt 2>&1
}

RECORDINGS="ring dead stream killed recorded" # NAME.eventring each

make_recordings() {
  ring ring.eventring --domains 3 --rounds 300 --extras --open
  ring dead.eventring --domains 2 --rounds 300 --extras --open --die 2>/dev/null
  stream stream.eventring --domains 3 --rounds 200 --extras --open
  stream killed.eventring --domains 2 --rounds 200 --die
  "$EVENTRING" record -q -o recorded.eventring -- "$PRODUCER" --domains 2 --rounds 200
}

# damage NAME SEED TURNS: in a directory of its own, which is left if something is wrong
damage() {
  local place=$1.$2
  mkdir "$place" && cd "$place" || return
  if timeout 250 python3 "$TESTSUITE/tools/_damage.py" "$EVENTRING" \
       "../$1.eventring" "$2" "$3" >out.txt 2>&1; then
    cd .. && rm -r "$place"
  else
    fail "$(tail -5 out.txt)"
    cd ..
  fi
}
