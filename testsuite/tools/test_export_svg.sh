# SPDX-License-Identifier: MIT
# What `--to svg` draws: a flame graph whose boxes say what the folded stacks of the same
# recording say, well-formed, of a bounded size.
. "$TESTSUITE/tools/_export.sh"
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
unset SAROS_EVENTRING_START

# agrees WHAT SVG FOLDED: sets `boxes`, `levels`, `others`
agrees() {
  boxes=0 levels=0 others=0
  read -r boxes levels others < <(python3 "$TESTSUITE/tools/_svg.py" "$2" "$3" 2>errors.txt)
  [ "$boxes" -gt 0 ] || fail "$1: $(cat errors.txt)"
}

# ---- Heaps
for measure in live allocated peak temporary; do
  for format in svg folded; do
    "$EVENTRING" heap --to $format --$measure -o $measure.$format "$file" || fail "$measure, $format"
  done
  agrees "$measure" $measure.svg $measure.folded
  [ "$boxes" -ge 10 ] || fail "$measure: $boxes boxes"
done
has "what it is of" "sample_heap: bytes that were allocated</title>" "$(cat allocated.svg)"
has "a tooltip" "site2" "$(cat allocated.svg)"
"$EVENTRING" export --to svg --allocated -o export.svg "$file" || fail "export --to svg"
is "export and heap" "$(cat allocated.svg)" "$(cat export.svg)"

# ---- Names that others chose
helper=$TESTSUITE/tools/_foreign_text.py
for at in 0 20 40 55 70; do
  HEAP_EVENTRING_START=1 HEAP_EVENTRING_PRESERVE=1 HEAP_EVENTRING_NAME=foreign-$at \
    "$HOST" --collections 2 --source "$(python3 "$helper" name 60 $at)<&>\"'$(printf '\xEF\xBF\xBE')" \
    >/dev/null || fail "sample_heap"
  for format in svg folded; do
    "$EVENTRING" heap --to $format --allocated -o foreign-$at.$format foreign-$at.eventring ||
      fail "foreign, $format"
  done
  agrees "foreign names from $at" foreign-$at.svg foreign-$at.folded
done

# ---- Time: several domains, deep stacks, more functions than are shown
cat >wide.lua <<'END'
local domain = require "saros.domain"
local function deep(number) -- functions that call each other, the last of which works
  local text = { "local function f120() for i = 1, 1e5 do end return 0 end" }
  for i = 119, 1, -1 do
    text[#text + 1] = ("local function f%d() return 1 + f%d() end"):format(i, i + 1)
  end
  return ("-- %d\n%s\nfor i = 1, 10 do f1() end"):format(number, table.concat(text, "\n"))
end
local flat = "local function f%d(n) for _ = 1, n do end end f%d(20)"
local work = [[
  local function leaf(n) local s = 0 for i = 1, n do s = s + i end return s end
  local function work(n) for i = 1, n do leaf(1000) end end
  work(300)
]]
domain.spawn(load(work, "=work")):join()
load(work, "=work")()
for i = 1, 25 do load(deep(i), "=deep" .. i)() end
for i = 1, 3000 do load(flat:format(i, i), "=flat")() end
END
SAROS_PROFILE=calls SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=wide "$SAROS" wide.lua ||
  fail "wide.lua: $?"
for format in svg folded; do
  "$EVENTRING" profile --to $format -o wide.$format wide.eventring || fail "wide, $format"
done
agrees "wide" wide.svg wide.folded
[ "$boxes" -le 2001 ] || fail "$boxes boxes of functions"
[ "$boxes" -ge 1500 ] || fail "only $boxes boxes"
[ "$others" -ge 1 ] || fail "nothing is (other)"
[ "$levels" -le 102 ] || fail "$levels levels"
[ "$(stat -c %s wide.svg)" -lt 1000000 ] || fail "size: $(stat -c %s wide.svg)"

timeout $PATIENCE "$EVENTRING" profile --hz 500 --to svg -o samples.svg -- "$SAROS" -e \
  'local function leaf(n) local s = 0 for i = 1, n do s = s + i end end repeat leaf(1000) until os.clock() > 0.3' ||
  fail "samples"
has "of samples" ": samples</title>" "$(cat samples.svg)"
has "a function of samples" "leaf" "$(cat samples.svg)"

# ---- Nothing, and what it does not do
"$EVENTRING" heap --to svg --live --domain 7 -o none.svg "$file" || fail "of no domain"
python3 -c 'import xml.etree.ElementTree as e; e.parse("none.svg")' || fail "an empty picture"
ends 1 "allocated.svg" "$EVENTRING" heap --to svg -o allocated.svg "$file"
ends 2 "must be one of" "$EVENTRING" heap --to png "$file"
finish
