# SPDX-License-Identifier: MIT
# eventring diff --profile of samples. The oracle: samples that are drawn from shares that are
# known. Equal shares are not found to have changed, others are, and the error that is shown
# contains the true difference as often as it says. Then, samples of a program.
. "$TESTSUITE/tools/_tools.sh"
echo '{}' >empty.json
case $("$EVENTRING" diff --profile empty.json empty.json 2>&1) in
  *"without jansson"*) echo "built without jansson (Debian package: libjansson-dev)"; exit 77 ;;
esac
pairs=$((TEST_SLOWNESS > 1 ? 25 : 100))

cat >draw.lua <<'END'
-- NAME SAMPLES SEED MOVED: draws samples of ten functions; the first one has given MOVED points
-- of its share to the second one
local name, samples, seed, moved = arg[1], tonumber(arg[2]), tonumber(arg[3]), tonumber(arg[4])
math.randomseed(seed)
local shares, counts = {30 - moved, 20 + moved, 15, 10, 8, 7, 4, 3, 2, 1}, {}
for i = 1, #shares do counts[i] = 0 end
for _ = 1, samples do
  local at, i = math.random() * 100, 1
  while i < #shares and at >= shares[i] do at = at - shares[i] i = i + 1 end
  counts[i] = counts[i] + 1
end
local rows = {}
for i = 1, #shares do
  rows[i] = ('{"name":"f%d","source":"a \\u00e4\\"b.lua","line":%d,"count":%d,"exclusive_ns":%d,"x":[{}]}')
    :format(i, i, samples, counts[i] * 1000000)
end
local f <close> = assert(io.open(name, "w"))
f:write(('{"version":1,"source":"samples","total":{"ns":%d,"samples":%d},"by":"function",\n"rows":[%s]}\n')
  :format(samples * 1000000, samples, table.concat(rows, ", ")))
END
draw() { "$SAROS" draw.lua "$@" || fail "draw.lua $*"; }
diff_of() { "$EVENTRING" diff --profile --json "$@"; }

# equal shares
for ((i = 0; i < pairs; i++)); do
  draw a.json 3000 $i 0
  draw b.json 2000 $((1000 + i)) 0
  diff_of a.json b.json || fail "equal shares, $i"
done >equal.jsons
is "comparisons" $pairs "$(wc -l <equal.jsons)"
found=$(jq -s '[.[] | select([.rows[].differs] | any)] | length' equal.jsons)
[ "$found" -le $((pairs / 10)) ] || fail "$found of $pairs pairs of equal shares differ"
is "one run a side says of no change" 0 \
  "$(jq -s '[.[] | select([.rows[].changed] | any)] | length' equal.jsons)"
is "the error contains the difference" true "$(jq -s '[.[].rows[] | .error > (.difference | fabs)] |
  (map(select(.)) | length) / length | . > 0.9 and . < 0.99' equal.jsons)"

# three points moved
draw a.json 20000 1 0
draw b.json 20000 2 3
diff_of a.json b.json >moved.json || fail "moved shares"
is "what differs" '["f1","f2"]' "$(query moved.json '[.rows[] | select(.differs) | .name] | sort')"
is "by three points" true "$(query moved.json '[.rows[:2][] | ((.difference | fabs) - 0.03) | fabs < 0.015] | all')"
is "with the error of sampling" true "$(query moved.json '[.rows[:2][] | .error > 0.005 and .error < 0.01] | all')"
is "a name" '["a ä\"b.lua",1]' "$(query moved.json '.rows[] | select(.name == "f1") | [.source, .line]')"
has "text" "f1 a ä\"b.lua:1" "$("$EVENTRING" diff --profile a.json b.json | tr -s ' ')"
has "text" "few runs" "$("$EVENTRING" diff --profile a.json b.json)"
has "few runs" "too few runs to tell" "$("$EVENTRING" diff --profile a.json b.json)"
# too few samples to see them
draw a.json 200 1 0
draw b.json 200 2 3
is "few samples" '[]' "$(diff_of a.json b.json | jq -c '[.rows[] | select(.differs)]')"
# three runs a side
for i in 1 2 3 4; do draw a$i.json 5000 1$i 0; draw b$i.json 5000 2$i 6; done
diff_of a1.json b1.json a2.json b2.json a3.json b3.json a4.json b4.json >runs.json || fail "runs"
is "runs" '[4,true,20000]' "$(query runs.json '[.total.runs, .total.enough, .total.a_samples]')"
is "changed in runs" true "$(query runs.json '[.rows[:2][] | .changed] | all')"

# edited in between: functions without a name are known by their place, two lines further down
sed 's/"name":"f[0-9]*"/"name":"function"/g' a1.json >old.json
sed 's/"name":"f[0-9]*"/"name":"function"/g' a3.json |
  jq -c '.rows[] |= (.line += 2 | .source |= "/elsewhere/" + .)' >new.json
diff_of old.json new.json >edited.json || fail "diff of edited"
is "places" '[1,2,3,4,5,6,7,8,9,10]' \
  "$(query edited.json '[.rows[] | select(.b_line == .a_line + 2) | .a_line] | sort')"
is "no strangers" '[]' "$(query edited.json '[.rows[] | select(.differs)]')"
# lines of functions: those that one run does not have are nobody's
jq -c '.by = "line" | .rows |= map(select(.line != 4)) | .total.ns = ([.rows[].exclusive_ns] | add) |
  .total.samples = .total.ns / 1000000' new.json >lines.json
jq -c '.by = "line"' old.json >old_lines.json
diff_of old_lines.json lines.json >edited.json || fail "diff of lines"
is "lines" '[[1,3],[2,0],[3,5],[4,6]]' \
  "$(query edited.json '[.rows[] | [.a_line, .b_line]] | sort | .[:4]')"

# bad files
damaged() { # TEXT WHAT-IS-SAID
  printf '%s' "$1" >bad.json
  ends 1 "bad.json: $2" "$EVENTRING" diff --profile a.json bad.json
}
head='{"source":"samples","total":{"ns":10,"samples":2},"by":"function","rows":'
damaged "${head/samples/calls}[]}" "not a profile of samples"
damaged "$head[]}" "rows are missing"
damaged "$head"'[{"name":"a","exclusive_ns":20}]}' "its rows are more"
damaged "${head/function/stack}[]}" "its rows are not functions or lines"
damaged "${head/2/0}[]}" "it has no samples"
for text in '{' '{"' '{"a' '{"a"' '{"a":' "$head" "$head[{" "$head"'[{"name":"\u12"}]}' \
            "$head"'[{"exclusive_ns":inf}]}' "$head[]}}" "$head[,]}" '{"a":tru}' \
            "{\"a\":$(printf '[%.0s' {1..9999})"; do
  damaged "$text" "not JSON, at byte"
done
for text in '{"name":1}' '{"line":0}' '{"name":"a","line":-1}' '{"name":"a","line":1e10}' \
            '{"name":"a","exclusive_ns":-1}' '[]' 3; do
  damaged "$head[$text]}" "a row without a name"
done
damaged '{"rows":{}}' "not a profile"
damaged '{}' "not a profile"
ends 1 "not compared" "$EVENTRING" diff --profile a.json /dev/null
ends 1 "No such file" "$EVENTRING" diff --profile none.json none.json

# a program
cat >work.lua <<'END'
local function one(n) local s = 0 for i = 1, n do s = s + i % 7 end return s end
local function two(n) local s = 0 for i = 1, n do s = s + i % 7 end return s end
local part, stop = tonumber(arg[1]), os.time() + 2
while os.time() < stop do
  for i = 1, 20 do one(10 * part) two(10 * (100 - part)) end
end
END
samples() { "$EVENTRING" profile --hz 500 --json --top 0 -- "$SAROS" work.lua "$1"; }
seen() {
  samples 30 >p.json && samples 90 >q.json && diff_of p.json q.json >program.json &&
    [ "$(query program.json '[.rows[] | select(.differs) | [.line, .difference > 0.2, .difference < -0.2]] | sort')" = \
      '[[1,true,false],[2,false,true]]' ]
}
until_so seen || fail "of a program: $(cat program.json)"
finish
