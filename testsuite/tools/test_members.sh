# SPDX-License-Identifier: MIT
# The JSON Schema that a command prints is one, what the command writes is by it, and the page
# lists the same members.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }

record --rounds 3 --users 2
for command in $(sed -n 's/^COMMAND(\([a-z]*\),.*/\1/p' "$SRCDIR/eventring/tools/commands.def"); do
  "$EVENTRING" "$command" --help | grep -q -e --json-schema || continue
  "$EVENTRING" "$command" --json-schema >"$command.schema" || fail "$command --json-schema: $?"
  says_nothing "members of $command" python3 "$TESTSUITE/tools/_members.py" "$SRCDIR/doc/commands/$command.md" <"$command.schema"
done
"$EVENTRING" list kept --json | jq -c 'select(.path | test("kept/"))' >list.json
"$EVENTRING" list kept --csv | grep -e ^pid, -e kept/ >list.csv
for command in show stats spans pauses; do
  "$EVENTRING" "$command" --json "$file" >"$command.json" || fail "$command: $?"
done
for command in list show stats spans pauses; do
  says_nothing "$command is by its schema" python3 "$TESTSUITE/tools/_schema.py" "$command.schema" "$command.json"
done
is "an object and a value" 'kind: not one of the members' \
  "$(python3 "$TESTSUITE/tools/_schema.py" list.schema <(jq -c '. + {kind: 1}' list.json))"
echo 'local x = 1' | SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=dash "$SAROS" - ||
  fail "a program from standard input: $?"
has "a program that is called -" "program      -" "$("$EVENTRING" show dash.eventring)"
is "rows have titles" pid "$(sed -n 's/,.*//; 1p' list.csv)"
is "rows" "$(query list.json .pid)" "$(sed -n 's/,.*//; 2p' list.csv)"
finish
