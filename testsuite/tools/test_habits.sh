# SPDX-License-Identifier: MIT
# What people try without reading: help of a command, several recordings at once, standard output,
# parts of names, an order of the list; and what they are told when nothing is there.
. "$TESTSUITE/tools/_tools.sh"

# ---- help -----------------------------------------------------------------------------------
is_same "help stats" "$("$EVENTRING" stats --help)" "$("$EVENTRING" help stats)"
is_same "help" "$("$EVENTRING" --help)" "$("$EVENTRING" help)"
ends 2 "did you mean \`stats'" "$EVENTRING" help stast

ends 2 "try \`eventring stats 4711'" "$EVENTRING" 4711
ends 2 "try \`eventring stats a.eventring'" "$EVENTRING" a.eventring

# ---- list: the oldest first, what cannot be read last ---------------------------------------
mkdir many
for name in c a b; do
  SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_PREFIX=$PWD/many \
    SAROS_EVENTRING_NAME=$name "$PRODUCER" --rounds 2 >/dev/null || fail "producer $name: $?"
done
echo none >many/0.eventring
is "order" "c.eventring a.eventring b.eventring 0.eventring" \
  "$(echo $("$EVENTRING" list --json many | grep -F many/ | jq -r .path | sed 's|.*/||'))"

ends 1 "eventring show FILE" "$EVENTRING" list many/a.eventring

# ---- several --------------------------------------------------------------------------------
"$EVENTRING" show many/a.eventring many/b.eventring >two.txt || fail "show of two: $?"
is "both are shown" 2 "$(grep -c '^clock' two.txt)"
is "objects of show --json" '[1,1]' \
  "$("$EVENTRING" show --json many/a.eventring many/b.eventring | jq -s -c '[.[].version | if . > 0 then 1 else 0 end]')"
ends 1 "0.eventring" "$EVENTRING" show many/0.eventring many/a.eventring
has "the sound one is shown" "a.eventring" "$(cat stdout.txt)"
start --rounds 1000000 --pause-us 1000
one=$pid
start --rounds 1000000 --pause-us 1000
two=$pid
"$EVENTRING" control --pause "$one" "$two" || fail "control --pause of two: $?"
states() { "$EVENTRING" control --status --json "$one" "$two" | jq -s -c '[.[].state]'; }
is "both pause" '["paused","paused"]' "$(states)"
ends 1 "" "$EVENTRING" control --resume "$one" 999999999 "$two"
is "both go on, the one that is not there apart" '["running","running"]' "$(states)"
ends 2 "needs one PID or FILE" "$EVENTRING" control --snapshot x.eventring "$one" "$two"
ends 2 "not the number of a process" "$EVENTRING" control --start "$one" many/a.eventring
kill -9 "$one" "$two"
wait "$one" "$two" 2>/dev/null

# ---- standard output ------------------------------------------------------------------------
file=many/a.eventring
for format in chrome perfetto csv openmetrics otlp otlp_json; do
  "$EVENTRING" export --to $format -o "file.$format" $file || fail "export --to $format: $?"
  "$EVENTRING" export --to $format -o - $file >"out.$format" || fail "export --to $format -o -: $?"
  cmp "file.$format" "out.$format" || fail "export --to $format: another output"
done
ends 1 "not \`-o -'" "$EVENTRING" export --to sqlite -o - $file
ends 1 "not \`-o -'" "$EVENTRING" export --to ctf -o - $file
"$EVENTRING" snapshot -o copy.eventring $file || fail "snapshot: $?"
"$EVENTRING" snapshot -o - $file >out.eventring || fail "snapshot -o -: $?"
cmp copy.eventring out.eventring || fail "snapshot -o -: another copy"
"$EVENTRING" cut -q --domain 0 -o cut.eventring $file || fail "cut: $?"
"$EVENTRING" cut -q --domain 0 -o - $file | cat >cut_out.eventring || fail "cut -o -: $?"
cmp cut.eventring cut_out.eventring || fail "cut -o -: another copy"
"$EVENTRING" strip -o - $file 2>said.txt >strip.eventring || fail "strip -o -: $?"
has "the summary goes to standard error" "standard output: " "$(cat said.txt)"
"$EVENTRING" show strip.eventring >/dev/null || fail "show of strip -o -: $?"
"$EVENTRING" merge -o - $file many/b.eventring 2>said.txt >merged.eventring || fail "merge -o -: $?"
has "the summary of merge" "2 recordings" "$(cat said.txt)"
"$EVENTRING" show merged.eventring >/dev/null || fail "show of merge -o -: $?"
is_same "stats -o -" "$("$EVENTRING" stats $file)" "$("$EVENTRING" stats -o - $file)"
ends 2 "written in place" "$EVENTRING" record -o - $file
ends 2 "cannot both write to standard output" "$EVENTRING" control --snapshot - --status $file
is "no file is called -" "" "$(ls | grep -x -e - -e -.partial)"
is "a full disk is an error" 1 "$("$EVENTRING" snapshot -o - $file >/dev/full 2>/dev/null; echo $?)"
if command -v script >/dev/null; then
  for output in "snapshot -o -" "export --to perfetto -o -"; do
    has "$output to a terminal" "is not written to a terminal" \
      "$(script -qec "'$EVENTRING' $output $file" /dev/null </dev/null)"
  done
  has "text to a terminal" '"traceEvents"' \
    "$(script -qec "'$EVENTRING' export --to chrome -o - $file" /dev/null </dev/null)"
fi

# ---- names and parts of them ----------------------------------------------------------------
names() { "$EVENTRING" dump --json --name "$1" $file | jq -r .name | sort -u | tr '\n' ' '; }
is "exactly" "minor " "$(names minor)"
is "parts" "minor_promote minor_roots " "$(names minor_)"
is "also within" "allocated_words promoted_words live_words " \
  "$(names _words | tr ' ' '\n' | grep -v '^$' | sort | tr '\n' ' ' |
    sed 's/allocated_words live_words promoted_words/allocated_words promoted_words live_words/')"
is "none" "" "$(names no-such-name)"
spans() { "$EVENTRING" spans --json --name "$1" $file | jq -c '[.total.names[].name] | sort'; }
is "spans by a part" '["request"]' "$(spans eques)"
is "spans by the name" '["parse"]' "$(spans parse)"
is "stats by a part" '["minor_promote","minor_roots"]' \
  "$("$EVENTRING" stats --json --name minor_ $file | jq -c '[.total.spans[].name] | unique')"
cat >names.lua <<'END'
local eventring = require "saros.eventring"
for _, name in ipairs { "read file", "request line", "request", "read" } do
  eventring.span(name, function() end)
end
END
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=names "$SAROS" names.lua ||
  fail "names.lua: $?"
file=names.eventring
is "the exact one of several" '["request"]' "$(spans request)"
is "several by a part" '["request","request line"]' "$(spans req)"
is "a name of the runtime whose class is off hides nothing" '["read file"]' "$(spans 'read f')"

# ---- nothing to show ------------------------------------------------------------------------
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=bare "$SAROS" -e "" ||
  fail "saros: $?"
"$EVENTRING" spans bare.eventring >bare.txt || fail "spans of no span: $?"
has "a hint" "eventring profile --hz 1000 PID" "$(cat bare.txt)"
is "width of the hint" "" "$(awk 'length > 80' bare.txt)"
"$EVENTRING" spans --name nothing names.eventring >none.txt || fail "spans --name nothing: $?"
has "those that there are" "Those that there are: read file, request line, request, read" "$(cat none.txt)"
"$EVENTRING" spans --class io names.eventring >off.txt || fail "spans --class io: $?"
has "a class that is off" "Class \`io' is not recorded" "$(cat off.txt)"
is "JSON is what it was" '[0,[]]' "$("$EVENTRING" spans --json bare.eventring | jq -c '[.total.count, .rows]')"

ends 1 "does not record (\`eventring control --start $$' has it record" "$EVENTRING" stats $$

# ---- wrong questions ------------------------------------------------------------------------
ends 2 "syntax error" "$EVENTRING" sql names.eventring "selec 1"
ends 2 "no such column" "$EVENTRING" sql names.eventring "select nme from spans"
ends 2 "not authorized" "$EVENTRING" sql names.eventring "create table x(y)"
ends 1 "none.eventring" "$EVENTRING" sql none.eventring "select * from spans"
ends 2 "" "$EVENTRING" check -e 'max(request) < 5' names.eventring
ends 2 "" "$EVENTRING" check -e 'max(request) < 5; lost == 1' names.eventring
ends 3 "" "$EVENTRING" check -e 'max(request) < 1ns' names.eventring
finish
