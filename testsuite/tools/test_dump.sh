# SPDX-License-Identifier: MIT
# dump: filters, --last, times; hostile text cannot reach the terminal.
. "$TESTSUITE/tools/_tools.sh"

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
finish
