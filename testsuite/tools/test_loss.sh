# SPDX-License-Identifier: MIT
# Under loss: emitted = missed + delivered + lost to the unit, per ring; the
# runtime ring is not touched by a flood in the other; torn spans are marked.
. "$TESTSUITE/tools/_tools.sh"

sums() { # FILE: whether each ring's figures add up
  query "$1" '[.domains[].rings[] | .emitted == .missed + .delivered + .lost] | all'
}

# A file whose user ring was overwritten many times
SAROS_EVENTRING_WSIZE=11 record --rounds 20 --users 200 --flood 50000 --report
"$EVENTRING" stats --json "$file" >file.json || fail "stats: status $?"
is "file: sums" true "$(sums file.json)"
is "file: minor" 20 "$(query file.json '.spans[] | select(.name == "minor") | .count')"
is "file: runtime ring" "[0,0]" "$(query file.json '.domains[0].rings.runtime | [.missed, .lost]')"
read -r _ _ _ count < <(grep user producer.txt)
is "file: emitted" "$count" "$(query file.json '.domains[0].rings.user.emitted')"
"$EVENTRING" dump --json "$file" >dump.json || fail "dump: status $?"
is_same "dump: lost" "$(query file.json '.domains[0].rings.user.missed')" \
  "$(jq -s '[.[] | select(.kind == "lost") | .count] | add' dump.json)"

# A reader that attaches to a flood
SAROS_EVENTRING_WSIZE=11 "$EVENTRING" stats --json -o live.json -- \
  "$PRODUCER" --rounds 50 --users 100 --flood 3000000 --domains 2 --report >producer.txt ||
  fail "stats -- producer: status $?"
is "live: sums" true "$(sums live.json)"
is "live: runtime rings" "[[0,0],[0,0]]" \
  "$(query live.json '[.domains[].rings.runtime | [.missed, .lost]]')"
is "live: minor" 100 "$(query live.json '.total.spans[] | select(.name == "minor") | .count')"
is "live: all ends come after their begins" true \
  "$(query live.json '[.spans[] | .count == 0 or .max_ns < 60e9] | all')"
is "live: not more spans than were written" true "$(query live.json '
  .total.spans[] | select(.name == "flood") | .count + .torn <= 6000000 + .torn and .count <= 6000000')"
finish
