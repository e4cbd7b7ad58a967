# SPDX-License-Identifier: MIT
# Pages of damaged recordings: a page that can be read or a message, soon, and nothing else.
# VIEW_MUTATIONS=500 and VIEW_SEED=n read others.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
"$EVENTRING" view nothing.eventring 2>&1 | grep -q "without zlib" && { echo "built without zlib"; exit 77; }

for packed in "$TESTSUITE"/format/corpus/v3*.eventring.gz; do
  gunzip -c "$packed" >"$(basename "$packed" .gz)"
done
record --rounds 30 --domains 2 --flood 3000 --hold-ms 50
mv "$file" flood.eventring
python3 "$TESTSUITE/tools/_view_mutations.py" "$EVENTRING" "${VIEW_MUTATIONS:-60}" \
  "${VIEW_SEED:-4711}" ./*.eventring >out.txt 2>&1 || fail "$(cat out.txt)"
finish
