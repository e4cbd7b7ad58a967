# SPDX-License-Identifier: MIT
# eventring record: a recording in several files. Each file is complete, and each event is in
# one of them: over all files, emitted = delivered + lost, for each ring.
. "$TESTSUITE/tools/_tools.sh"

emitted() {
  awk -v ring="$1" '$3 == ring { sum += $4 + (ring == "runtime") } END { print sum + 0 }' \
    producer.txt
}

# files NAME: the files NAME.N.eventring in the order of their numbers
files() { for f in "$1".*.eventring; do echo "$f"; done | sort -t. -k2n; }

# sums FILE...: reads all; all.json has, of each file, what it says of each ring
sums() {
  : >all.json
  for f in "$@"; do
    "$EVENTRING" stats --json "$f" >stats.json 2>errors2.txt || fail "$f: stats: status $?"
    [ -s errors2.txt ] && fail "$f: $(cat errors2.txt)"
    is "$f: sums" true \
      "$(query stats.json '[.domains[].rings[] | .emitted == .missed + .delivered + .lost] | all')"
    "$EVENTRING" show "$f" >show.txt || fail "$f: show: status $?"
    grep -q "ended" show.txt || fail "$f has not ended: $(head -5 show.txt)"
    cat stats.json >>all.json
  done
}

# What a ring had emitted at the end of a file, that must be missed in the next one in which it
# is: else what lies between is lost (or doubled, if it is negative).
SEAMS='[.[].domains[] | .domain as $d | .rings | to_entries[] |
        {ring: [$d, .key], missed: .value.missed, delivered: .value.delivered,
         lost: .value.lost, emitted: .value.emitted}]
       | map(select(.emitted > .missed)) | group_by(.ring)'
seams() { jq -sc "$SEAMS | map(. as \$f | [range(1; length) |
            \$f[.].missed - \$f[. - 1].emitted]) | flatten" all.json; }
# total RING FIELD
total() { jq -s "[.[].domains[].rings.$1.$2 // 0] | add" all.json; }

# ---- By size and by time: nothing lost -----------------------------------------------------

for how in "--rotate-size 1M --buffer-size 64K" "--rotate-time 0.05"; do
  rm -f ./*.eventring
  # shellcheck disable=SC2086
  SAROS_EVENTRING_WSIZE=20 "$EVENTRING" record --strict $how -o all.eventring -- \
    "$PRODUCER" --domains 3 --rounds 10000 --pause-us 10 --report >producer.txt 2>errors.txt ||
    fail "$how: status $? $(cat errors.txt)"
  # shellcheck disable=SC2046
  sums $(files all)
  count=$(files all | wc -l)
  [ "$count" -ge 3 ] || fail "$how: $count files"
  has "$how: summary" "in $count files" "$(cat errors.txt)"
  for ring in runtime user; do
    is_same "$how: $ring" "$(emitted $ring)" "$(total $ring delivered)"
    is "$how: $ring lost" 0 "$(total $ring lost)"
  done
  is "$how: seams" true "$(seams | jq 'all(. == 0)')"
  # A later file may get longer while the one before it is still being finished.
  if [[ $how == *size* ]]; then
    size=$(stat -c %s all.1.eventring)
    [ "$size" -le 1048576 ] || fail "all.1.eventring has $size bytes"
  fi
done

# ---- Up to a size of all ------------------------------------------------------------------

# The last file may have room for blocks of some rings only, or of none.
SAROS_EVENTRING_WSIZE=18 start --domains 3 --rounds 300000 --pause-us 10
for size in 1100 1300 1500 2100; do
  rm -f all.*.eventring
  "$EVENTRING" record -q --rotate-size 256K --buffer-size 64K --max-size ${size}K \
    -o all.eventring "$pid" || fail "$size: status $?"
  # shellcheck disable=SC2046
  sums $(files all)
done
kill "$pid"
wait "$pid" 2>/dev/null

# ---- With losses ----------------------------------------------------------------------------

rm -f ./*.eventring
SAROS_EVENTRING_WSIZE=11 "$EVENTRING" record -w serial --rotate-size 1M --buffer-size 64K \
  -o lossy.eventring -- "$PRODUCER" --rounds 50 --flood 2000000 --report >producer.txt \
  2>errors.txt || fail "lossy: status $?"
# shellcheck disable=SC2046
sums $(files lossy)
between=$(seams | jq 'add // 0')
is "lossy: nothing twice" true "$(seams | jq 'all(. >= 0)')"
is_same "lossy: emitted" "$(($(emitted user) + $(emitted runtime)))" \
  "$(($(total user delivered) + $(total runtime delivered) + $(total user lost) +
      $(total runtime lost) + between + $(jq -sc "$SEAMS | map(.[0].missed) | add" all.json)))"
lost=$(($(total user lost) + $(total runtime lost) + between))
has "lossy: summary" "$(echo "$lost" | sed ':a;s/\B[0-9]\{3\}\>/,&/;ta') events lost" \
  "$(cat errors.txt)"

# ---- Only the newest ------------------------------------------------------------------------

rm -f ./*.eventring
touch kept.7.eventring # not of this run
"$EVENTRING" record -q --rotate-time 0.03 --keep 2 -o kept.eventring -- \
  "$PRODUCER" --domains 2 --rounds 10000 --pause-us 10 --report >producer.txt ||
  fail "keep: status $?"
[ -e kept.7.eventring ] && [ ! -s kept.7.eventring ] || fail "keep: touched a file of others"
rm -f kept.7.eventring
is "keep: files" 2 "$(files kept | wc -l)"
# shellcheck disable=SC2046
sums $(files kept)
is_same "keep: to the end" "$(emitted user)" \
  "$(query stats.json '[.domains[].rings.user.emitted // 0] | add')"

# ---- SIGUSR2 ----------------------------------------------------------------------------------

rm -f ./*.eventring
SAROS_EVENTRING_WSIZE=18 start --domains 2 --rounds 300000 --pause-us 20
"$EVENTRING" record -o sig-%i.eventring "$pid" 2>errors.txt &
recorder=$!
until_so [ -e sig-1.eventring ]
sleep 0.2
kill -USR2 $recorder
until_so [ -e sig-2.eventring ]
sleep 0.2
kill -USR2 $recorder
until_so [ -e sig-3.eventring ]
sleep 0.2
kill -INT $recorder
wait $recorder || fail "SIGUSR2: status $?"
sums sig-1.eventring sig-2.eventring sig-3.eventring
[ ! -e sig-4.eventring ] || fail "SIGUSR2: a fourth file"
is "SIGUSR2: seams" true "$(seams | jq 'all(. == 0)')"
is "SIGUSR2: each has events" true \
  "$(jq -s 'map([.domains[].rings[].delivered] | add > 0) | all' all.json)"
# without a number in the name the first file has none
"$EVENTRING" record -o plain.eventring "$pid" 2>errors.txt &
recorder=$!
until_so [ -e plain.eventring ]
kill -USR2 $recorder
until_so [ -e plain.2.eventring ]
kill -INT $recorder
wait $recorder || fail "plain: status $?"
sums plain.eventring plain.2.eventring
"$EVENTRING" record -q --seconds 0.2 --rotate-time 0.05 -o /dev/null "$pid" || fail "null: $?"
[ ! -e /dev/null.2 ] || fail "a device got a number"
mkdir gone
"$EVENTRING" record -o gone/x.eventring "$pid" 2>errors.txt &
recorder=$!
until_so [ -e gone/x.eventring ]
mv gone elsewhere
kill -USR2 $recorder
until_so grep -qs "recording goes on" errors.txt
kill -INT $recorder
wait $recorder
is "no place: status" 1 $?
has "no place: message" "recording goes on in gone/x.eventring" "$(cat errors.txt)"
sums elsewhere/x.eventring
kill "$pid"
wait "$pid" 2>/dev/null

# ---- Words -----------------------------------------------------------------------------------

ends 2 "--rotate-size" "$EVENTRING" record -o x --rotate-size 1M 1
ends 2 "--rotate-time" "$EVENTRING" record -o x --rotate-time 1ms 1
ends 2 "--keep" "$EVENTRING" record -o x --keep 0 1
finish
