# SPDX-License-Identifier: MIT
# eventring strip: no text of the program is left in any byte of the copy; times, counts and
# nesting are those of the recording; the same text has the same replacement.
. "$TESTSUITE/tools/_tools.sh"
[ -x "$SAROS" ] || { echo "no saros"; exit 77; }

# Texts of all sorts, each with "hidden" in it, in an error that ends the program as well
cat >hidden-program.lua <<'LUA'
local eventring, domain = require "saros.eventring", require "saros.domain"
local function work(times)
  local eventring = require "saros.eventring"
  for i = 1, times do
    eventring.span("hidden span", function()
      eventring.event("hidden event", "hidden payload " .. i % 7)
      eventring.event("hidden long", ("hidden text "):rep(1 + i % 90))
    end)
    eventring.counter("hidden counter", i)
  end
end
local other = domain.spawn({name = "hidden domain"}, work, 300)
work(300)
other:join()
load("return 1", "=hidden chunk")()
for i = 1, 100 do eventring.event("hidden " .. i) end
local t = {}
for i = 1, 2e5 do t[i % 100] = {i} end
error("hidden error")
LUA
export SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_CLASSES=all
export SAROS_EVENTRING_TRIGGER='span("hidden span") > 3600s, max=1; span("hidden \"quoted\"") > 3600s, max=1; span("hidden span of a name that is too long for the name of the event of its trigger") > 3600s, max=1'
export SAROS_PROFILE=calls SAROS_MEMPROF=1e-3
SAROS_EVENTRING_START=1 SAROS_EVENTRING_NAME=hidden-ring.eventring "$SAROS" hidden-program.lua \
  2>/dev/null
SAROS_EVENTRING_STREAM=hidden-stream.eventring "$SAROS" hidden-program.lua 2>/dev/null
unset SAROS_EVENTRING_TRIGGER
# what a recording has of itself: that of another program, without texts of its own
SAROS_EVENTRING_TRIGGER='span("?") > 3600s, max=1' SAROS_EVENTRING_NAME=vocabulary.eventring "$SAROS" -e 'local t = {}
  for i = 1, 2e5 do t[i % 100] = {i} end'
unset SAROS_EVENTRING_CLASSES SAROS_EVENTRING_PRESERVE SAROS_PROFILE SAROS_MEMPROF
"$EVENTRING" snapshot -o hidden-saved.eventring hidden-ring.eventring || fail "snapshot"
record --domains 3 --rounds 300 --extras --open --stray
mv "$file" producer.eventring
record --domains 2 --rounds 100 --extras --open --die 2>/dev/null
mv "$file" dead.eventring

"$EVENTRING" merge -q -o merged.eventring dead.eventring producer.eventring || fail "merge"
files="hidden-ring hidden-stream hidden-saved producer dead merged"
if "$EVENTRING" record -q --zstd -o packed.eventring hidden-stream.eventring 2>/dev/null; then
  files="$files packed"
fi

# What stats counts, without names; and the events, with ids in the place of names
counts() {
  "$EVENTRING" stats --json "$1" >stats.json || fail "stats $1"
  query stats.json '[.first_ns, .last_ns, [.total | .delivered, .missed, .lost, .torn],
    ([.spans[] | [.domain, .id, .count, .torn, .open, .total_ns]] | sort),
    ([.counters[] | [.domain, .id, .samples, .sum, .last]] | sort)]'
}
shape() {
  "$EVENTRING" dump --json "$1" >dump.json || fail "dump $1"
  query dump.json 'def size: if type == "string" then utf8bytelength
                             elif type == "array" or type == "object" then map(size)
                             else . end;
    [.ns, .domain, .incarnation, .ring, .kind, .id, .depth, .context, .duration_ns, .link,
     (.value | size)]' | sort
}

for file in $files; do
  [ $file = packed ] || grep -qa "hidden\|worker" $file.eventring || fail "$file has no text"
  for option in "" --keep-names; do
    rm -f copy.eventring
    "$EVENTRING" strip -q $option -o copy.eventring $file.eventring || fail "$file $option: $?"
    "$EVENTRING" show copy.eventring >show.txt 2>errors.txt || fail "$file: show"
    is "complaints of $file" "" "$(cat errors.txt)"
    is_same "counts of $file" "$(counts $file.eventring)" "$(counts copy.eventring)"
    shape $file.eventring >whole.txt
    shape copy.eventring | cmp -s whole.txt - || fail "events of $file differ"
    [ -s whole.txt ] || fail "$file has no events"
    [ -n "$option" ] && continue
    # nothing of the program, whole or in words
    texts="hidden payload counter traceback worker request flood producer saros"
    case $file in (producer | dead)
      texts="$texts parse note tick coroutine transfer message sized unnamed double" ;;
    esac
    for text in $texts; do
      grep -qa "$text" copy.eventring && fail "$file: \"$text\" is left: $(
        grep -ao ".\{0,20\}$text.\{0,20\}" copy.eventring | head -2 | cat -v)"
    done
  done
  grep -qa "hidden span\|request" copy.eventring || fail "$file: --keep-names has no names"
  grep -qa "payload\|hidden error" copy.eventring && fail "$file: a payload is left with --keep-names"
done

# Each text that any command shows of the recordings, if it is in the bytes of the file, is in
# none of the copy; but for those of the vocabulary.
texts_of() { # FILE
  for command in show dump spans stats "profile --top 0" "heap --by line" autopsy memory; do
    "$EVENTRING" $command --json "$1" 2>/dev/null | jq -r '.. | strings'
  done | LC_ALL=C awk 'length >= 4' | LC_ALL=C sort -u
}
for file in hidden-ring hidden-stream hidden-saved; do
  rm -f copy.eventring
  "$EVENTRING" strip -q -o copy.eventring $file.eventring || fail "$file: $?"
  texts_of $file.eventring >texts.txt
  left=0 kinds=0
  while IFS= read -r text; do
    grep -qaF -- "$text" $file.eventring || continue
    grep -qaF -- "$text" vocabulary.eventring && continue
    kinds=$((kinds + 1))
    grep -qaF -- "$text" copy.eventring && { left=$((left + 1)); fail "$file: left: $text"; }
    [ $left -lt 10 ] || break
  done <texts.txt
  [ $kinds -gt 100 ] || fail "$file: only $kinds texts were looked for"
done
rm -f copy.eventring
"$EVENTRING" strip -q -o copy.eventring hidden-ring.eventring
conditions() { "$EVENTRING" show --json "$1" | jq -r '.. | strings' | grep '^trigger ' | sed 's/"[^"]*"*/"..."/g'; }
has "conditions stay" 'trigger span("...") > 3600s' "$(conditions copy.eventring)"

# The processes of a merged one have other names, and their domains are theirs
rm -f copy.eventring
"$EVENTRING" strip -q -o copy.eventring merged.eventring || fail "merged: status $?"
for f in merged copy; do
  "$EVENTRING" show --json $f.eventring >$f.json || fail "show $f"
done
is_same "processes" "$(query merged.json '[.processes[] | del(.program, .path, .error_text)]')" \
  "$(query copy.json '[.processes[] | del(.program, .path, .error_text)]')"
is_same "domains of processes" "$(query merged.json '[.domains[] | .process]')" \
  "$(query copy.json '[.domains[] | .process]')"

# The vocabulary of the runtime stays
rm -f copy.eventring
"$EVENTRING" strip -q -o copy.eventring hidden-ring.eventring
"$EVENTRING" show copy.eventring >show.txt
has "vocabulary" "minor_roots" "$(cat show.txt)"

# The same text, the same replacement: as many different payloads as before, as often
values() { "$EVENTRING" dump --json "$1" | jq -r 'select(.value | type == "string") | .value' |
  sort | uniq -c | awk '{ print $1 }' | sort -n; }
is_same "payloads" "$(values hidden-ring.eventring)" "$(values copy.eventring)"
# (a function may be called like an event of the runtime: the name of that stays)
names() { "$EVENTRING" dump --json "$1" | jq -r '.class + " " + .name' | sort -u | wc -l; }
is_same "names" "$(names hidden-ring.eventring)" "$(names copy.eventring)"
# and another one in another copy
"$EVENTRING" strip -q -o second.eventring hidden-ring.eventring
cmp -s copy.eventring second.eventring && fail "the replacements can be foreseen"

# A live process
start --domains 2 --rounds 100000 --pause-us 100
sleep 0.2
"$EVENTRING" strip -q -o live.eventring "$pid" || fail "live"
grep -qa "worker\|request" live.eventring && fail "live: a text is left"
"$EVENTRING" stats live.eventring >/dev/null || fail "stats of a live copy"
kill "$pid"
wait "$pid" 2>/dev/null

ends 2 "no -o FILE" "$EVENTRING" strip producer.eventring
ends 1 "File exists" "$EVENTRING" strip -o copy.eventring producer.eventring
finish
