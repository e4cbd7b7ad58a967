# SPDX-License-Identifier: MIT
# What a page of `eventring view` shows is what the commands say (_view_figures.py): of the whole
# run, of ranges of cells, of windows, of one domain; with losses, contexts, domains, of killed
# processes, of compressed files, of the files of the corpus; also when the page is small.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
"$EVENTRING" view nothing.eventring 2>&1 | grep -q "without zlib" && { echo "built without zlib"; exit 77; }

# a page that has room for some of the data
small=$("$EVENTRING" view --size 1K nothing.eventring 2>&1 | sed -n 's/.* takes \([0-9]*\) bytes.*/\1/p')
small=$((small + 24 * 1024))

# compare FILE [VIEW-OPTION...]
compare() {
  local file=$1 status=0
  shift
  rm -f page.html
  "$EVENTRING" view -o page.html "$@" "$file" 2>err.txt || status=$?
  is "status of view $* $file, which says $(cat err.txt)" 0 $status
  while [[ ${1-} == --size ]]; do shift 2; done
  python3 "$TESTSUITE/tools/_view_figures.py" "$EVENTRING" page.html "$file" "$@" >figures.txt 2>&1 ||
    fail "$file $*: $(cat figures.txt)"
}

for packed in "$TESTSUITE"/format/corpus/v3*.eventring.gz; do
  gunzip -c "$packed" >corpus.eventring
  compare corpus.eventring
  compare corpus.eventring --size $small
done

record --rounds 300 --domains 2
cp "$file" plain.eventring
compare plain.eventring
compare plain.eventring --since 0.002 --until 0.01
compare plain.eventring --domain 1
rm -f page.html
"$EVENTRING" view --full -o page.html plain.eventring || fail "view --full: $?"
python3 "$TESTSUITE/tools/_view_figures.py" "$EVENTRING" page.html plain.eventring --spans all >figures.txt 2>&1 ||
  fail "--full: $(cat figures.txt)"
compare plain.eventring --last 0.003 --domain 0

SAROS_EVENTRING_WSIZE=11 record --rounds 30 --domains 2 --flood 3000 --hold-ms 50
compare "$file"

cat >contexts.lua <<'LUA'
local eventring = require "saros.eventring"
local contexts, keep = {}, {}
for i = 1, 40 do
  contexts[i] = coroutine.create(function()
    for j = 1, 50 do
      eventring.begin_span("request", i)
      eventring.begin_span("step")
      coroutine.yield()
      eventring.end_span("step")
      eventring.counter("ratio", j / 3)
      eventring.event("tick", "value " .. j)
      eventring.end_span("request")
    end
  end)
end
for round = 1, 60 do
  for i = 1, 40 do
    if coroutine.status(contexts[i]) == "suspended" then
      coroutine.resume(contexts[i])
      keep[#keep % 1000 + 1] = {i, round, tostring(i)}
    end
  end
end
LUA
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_PREFIX=kept \
  "$SAROS" contexts.lua || fail "contexts.lua: $?"
rm -f "$file"
mv kept/*.eventring contexts.eventring
compare contexts.eventring
compare contexts.eventring --size $small

# values are there as commands print them
"$EVENTRING" view -o values.html contexts.eventring
python3 "$TESTSUITE/tools/_view.py" values.html texts >texts.json
has "the value of an event" '"(\"value 50\")"' "$(cat texts.json)"
has "the value of a span" '"(40)"' "$(cat texts.json)"

if "$EVENTRING" record --zstd -o packed.eventring plain.eventring 2>err.txt; then
  compare packed.eventring
else
  has "record --zstd" "zstd" "$(cat err.txt)"
fi
finish
