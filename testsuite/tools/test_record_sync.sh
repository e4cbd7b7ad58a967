# SPDX-License-Identifier: MIT
# eventring record --sync: each file is waited for, after all that is written to it and when it
# has its name, and so is its directory. Without --sync nothing is waited for. Where the wait
# fails that is said, and the status is 1.
. "$TESTSUITE/tools/_tools.sh"
sanitized && { echo "nothing can be preloaded in front of a sanitizer"; exit 77; }
command -v cc >/dev/null || { echo "no C compiler"; exit 77; }
cc -shared -fPIC -o syncs.so "$TESTSUITE/tools/_syncs.c" -ldl || fail "cc: $?"
mkdir saved
export SYNCS=$PWD/syncs.txt

# recorded OPTIONS...: the producer is recorded to a file in `saved`
recorded() {
  rm -f saved/* syncs.txt
  env LD_PRELOAD="$PWD/syncs.so" "$EVENTRING" record -q -w threads --buffer-size 64K "$@" \
    -o saved/run.eventring "$pid" 2>errors.txt
}
# order FILE: what was done to it, runs of the same thing as one
order() { sed -n "s|^\([a-z]*\) $PWD/saved/$1$|\1|p" syncs.txt | uniq | tr '\n' ' '; }

SAROS_EVENTRING_WSIZE=18 start --domains 2 --rounds 300000 --pause-us 20
recorded --seconds 0.3 || fail "without --sync: status $?"
is "nothing is waited for" "" "$(grep ^sync syncs.txt)"
grep -q "^write .*saved/run.eventring" syncs.txt || fail "no write is noted: $(sort -u syncs.txt)"

for options in "" --zstd; do
  # shellcheck disable=SC2086
  recorded --sync $options --seconds 0.3 || { [ "$options" ] && continue; fail "--sync: status $?"; }
  is "--sync $options: the file, after all that is written" "write sync " "$(order run.eventring)"
  is "--sync $options: once, then its directory" \
    "sync $PWD/saved/run.eventring sync $PWD/saved " "$(grep ^sync syncs.txt | tr '\n' ' ')"
done

recorded --sync --rotate-time 0.1 --seconds 0.5 || fail "--rotate-time: status $?"
files=$(ls saved | wc -l)
[ "$files" -gt 2 ] || fail "there are $files files"
for file in saved/*; do
  is "of ${file##*/}" "write sync " "$(order "${file##*/}")"
done
is "directories" "$files" "$(grep -c "^sync $PWD/saved$" syncs.txt)"

for what in file directory; do
  export SYNC_FAILS=$what
  recorded --sync --seconds 0.1
  is "$what: status" 1 $?
  has "$what: message" "saved/run.eventring may not be on its disk: Input/output error" \
    "$(cat errors.txt)"
  "$EVENTRING" stats saved/run.eventring >stats.txt || fail "$what: the file is not read"
done
unset SYNC_FAILS
kill "$pid"
wait "$pid" 2>/dev/null
finish
