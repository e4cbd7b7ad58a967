# SPDX-License-Identifier: MIT
# A recording of which more blocks are missing than one poll tries is read to its end by every
# command, every export and guests: all have the same events, and as many are lost as the
# program emitted beside them.
. "$TESTSUITE/tools/_losses.sh"
record_losses
"$EVENTRING" stats --json whole.eventring >whole.json || fail "stats of the whole: status $?"
is "emitted" "$EMITTED" "$(query whole.json '.domains[0].rings.user.emitted')"

cat >read.lua <<'LUA'
local cursor = assert(require "saros.eventring".cursor { path = arg[1] })
local events, lost = 0, 0
local callbacks = { lost = function(_, _, n) lost = lost + (math.tointeger(n) or 0) end }
local polls = 0
repeat
  local sound, n, all = pcall(cursor.poll, cursor, {}, polls == 0 and 10 or nil)
  if sound and polls == 0 then assert(n == 10 and all == false) end
  polls = polls + 1
  assert(polls < 100)
until sound and all
assert(cursor:finished() and select(2, cursor:poll {}) == true)
local info = cursor:info()
print(math.tointeger(info.delivered), math.tointeger(info.lost))
LUA

# What everybody has to find: `events` in all rings and `lost`.
all_find() { # NAME STATUS
  local file=$1.eventring expected=$2 events lost tool status
  lost=$(query $1.stats '.domains[0].rings.user.lost')
  is "$1: events of the program in stats" "$EMITTED" \
    "$(query $1.stats '.domains[0].rings.user | .delivered + .missed + .lost')"
  events=$(query $1.stats '[.domains[].rings[].delivered] | add')
  find_it() { is "$1: events and lost of $2" "[$events,$lost]" "$3"; }
  for tool in spans autopsy "check -e lost>=0"; do
    status=0
    "$EVENTRING" ${tool%% *} --json ${tool#"${tool%% *}"} $file >tool.json 2>tool.errors ||
      status=$?
    is "$1: status of $tool: $(cat tool.errors)" "$expected" $status
    find_it $1 "$tool" "$(query tool.json '[.loss.delivered, .loss.lost]')"
  done
  "$EVENTRING" dump --json $file >dump.json 2>/dev/null
  find_it $1 dump "$(jq -sc '[([.[] | select(.kind != "lost" and .kind != "open" and
    .synthetic != true)] | length), ([.[] | select(.kind == "lost") | .count] | add)]' dump.json)"
  [ $1 = damaged ] || "$EVENTRING" diff --json $file $file >tool.json 2>/dev/null
  [ $1 = damaged ] || is "$1: lost of diff" "$lost" "$(query tool.json '.a[0].missing')"
  "$EVENTRING" sql --json $file "select sum(count) as n from losses" >tool.json 2>/dev/null
  is "$1: lost of sql" "$lost" "$(query tool.json '.rows[0].n')"
  "$EVENTRING" export --to openmetrics -o om.txt $file 2>/dev/null
  is "$1: lost of openmetrics" "$lost" \
    "$(awk '/^eventring_events_lost_total.*before="0"/ { n = $2 } END { print n }' om.txt)"
  "$EVENTRING" export --to chrome -o chrome.json $file 2>/dev/null
  is "$1: lost of chrome" "$lost" \
    "$(jq '[.traceEvents[] | select(.name == "events lost") | .args.count] | add' chrome.json)"
  is "$1: spans of chrome" "$(query $1.stats '.total.spans[] | select(.name == "o") | .count')" \
    "$(jq '[.traceEvents[] | select(.name == "o" and .ph == "X" and .args.torn == null)] | length' \
       chrome.json)"
  is "$1: status of merge" "$expected" \
    "$("$EVENTRING" merge -q -o merged-$1.eventring $file 2>/dev/null; echo $?)"
  "$EVENTRING" stats --json merged-$1.eventring >tool.json 2>/dev/null
  find_it $1 merge "$(query tool.json \
    '[([.domains[].rings[].delivered] | add), ([.domains[].rings[].lost] | add)]')"
  find_it $1 "a guest" "[$("$SAROS" read.lua $file | tr '\t' ',')]"
}

for name in lossy damaged; do
  status=0
  [ $name = lossy ] || status=1
  "$EVENTRING" stats --json $name.eventring >$name.stats 2>/dev/null
  is "status of stats of $name" $status $?
  all_find $name $status
done
rm -f cut.eventring
"$EVENTRING" cut -q --domain 0 -o cut.eventring lossy.eventring || fail "cut: status $?"
"$EVENTRING" stats --json cut.eventring >cut.json || fail "stats of the cut: status $?"
is "lost of the cut" "$(query lossy.stats '.domains[0].rings.user.lost')" \
  "$(query cut.json '.domains[0].rings.user.lost')"

# What is there of a ring is that which is delivered, also where its newest blocks are missing.
for name in lossy full; do
  "$EVENTRING" dump --json $name.eventring >dump.json || fail "dump of $name: status $?"
  there=$(jq -s '[.[] | select(.ring == "user" and .kind != "lost" and .kind != "open" and
    .synthetic != true)] | length' dump.json)
  "$EVENTRING" stats --json $name.eventring >tool.json || fail "stats of $name: status $?"
  is "$name: there by stats" "[$there,$there]" \
    "$(query tool.json '.domains[0].rings.user | [.available, .delivered]')"
  "$EVENTRING" show --json $name.eventring >tool.json || fail "show of $name: status $?"
  is "$name: there by show" "$there" \
    "$(query tool.json '.domains[0].rings.user.available')"
  "$EVENTRING" autopsy --json $name.eventring >tool.json || fail "autopsy of $name: status $?"
  is "$name: there by autopsy, and that it reaches back" "[$there,true]" \
    "$(query tool.json '.rings[] | select(.ring == "user") | [.available, .reach_ns > 0]')"
done

# What ran while the collector did: within a gap nobody knows, however many steps are asked for.
steps='[.rows[] | [.domain, .ns, .span]] | sort'
for name in lossy damaged; do
  "$EVENTRING" pauses --json --top 30 $name.eventring >few.json 2>/dev/null
  "$EVENTRING" pauses --json --top 100000 $name.eventring >all.json 2>/dev/null
  is_same "$name: what ran while the collector did" "$(jq -c ".rows |= .[:30] | $steps" all.json)" \
    "$(jq -c "$steps" few.json)"
  is "$name: it is known of some steps, and of some not" "true true" \
    "$(jq -r '[.rows[].span] | "\(any(. == null)) \(any(. != null))"' all.json)"
done

# A real one, by a recorder that falls behind, if it does: what is lost is up to the machine.
SAROS_EVENTRING_WSIZE=11 "$EVENTRING" record -q -o real.eventring -- "$SAROS" loss.lua $SPANS ||
  fail "record: status $?"
"$EVENTRING" stats --json real.eventring >real.stats || fail "stats of the real one: status $?"
is "what the real one has and lacks" "$EMITTED" \
  "$(query real.stats '.domains[0].rings.user | .delivered + .missed + .lost')"
"$EVENTRING" dump --json real.eventring >dump.json || fail "dump of the real one: status $?"
is "what dump has of the real one" \
  "$(query real.stats '[([.domains[].rings[].delivered] | add),
                        ([.domains[].rings[] | .missed + .lost] | add)]')" \
  "$(jq -sc '[([.[] | select(.kind != "lost" and .kind != "open" and .synthetic != true)] |
     length), ([.[] | select(.kind == "lost") | .count] | add // 0)]' dump.json)"
finish
