# SPDX-License-Identifier: MIT
# doc/FORMAT.md is enough to write a reader and a producer from: reader.py and producer.py,
# written from that page, agree with `eventring dump` and with each other, on what this library
# and saros record, on files that hold what they never write, and on damaged ones.
# FORMAT_MUTATIONS: how many damaged files (40); FORMAT_SEED: which.
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
. "$TESTSUITE/_checks.sh"
export EVENTRING PYTHONIOENCODING=utf-8 PYTHONDONTWRITEBYTECODE=1
folder=$TESTSUITE/format producer=$BUILDDIR/testsuite/tools/producer
shapes=$BUILDDIR/testsuite/format/shapes
for program in "$producer" "$shapes"; do
  [ -x "$program" ] || { echo "$program is not built"; exit 77; }
done
unset SAROS_EVENTRING_START SAROS_EVENTRING_PREFIX SAROS_EVENTRING_PRESERVE \
      SAROS_EVENTRING_WSIZE SAROS_EVENTRING_CLASSES SAROS_EVENTRING_SECONDS

# agree WHAT FILE [EXPECTED]: sets `line`, how many there are of each kind
agree() {
  line=$(python3 "$folder/compare.py" "$@") || fail "$1"
  echo "$line"
}

# has_kinds KIND...: that the recording shows what it is to show
has_kinds() { for kind; do has "kinds of ${line%%:*}" " $kind" "$line"; done; }

# record NAME WSIZE COMMAND...: a preserved recording, NAME.eventring
record() {
  local name=$1 wsize=$2
  shift 2
  mkdir -p kept
  SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_WSIZE=$wsize \
    SAROS_EVENTRING_PREFIX=kept "$@" >/dev/null 2>&1 ||
    [[ " $* " == *" --die "* ]] || fail "$name: $*"
  mv kept/*.eventring "$name.eventring" || fail "$name: no recording"
  agree "$name" "$name.eventring"
}

# ---- What the library records

record "not-wrapped" 14 "$producer" --rounds 100 --users 2 --domains 3 --extras
record "wrapped" 11 "$producer" --rounds 300 --users 5 --domains 2 --flood 5000 --open --extras
has_kinds lost open
SAROS_EVENTRING_SECONDS=1000 record "grown" 11 \
  "$producer" --rounds 300 --users 5 --domains 2 --flood 5000 --open --extras
has_kinds open
[[ "${line%%:*} $line" == *" lost"* ]] && fail "a ring that grew has lost events: $line"
SAROS_EVENTRING_SECONDS=1000 SAROS_EVENTRING_GROW=256K record "grown-and-wrapped" 11 \
  "$producer" --rounds 300 --users 5 --domains 2 --flood 5000 --open --extras
has_kinds lost open
for file in "streamed 14" "streamed-in-part 11,rings=runtime"; do
  SAROS_EVENTRING_STREAM=$PWD/${file% *}.eventring${file#* 1?} SAROS_EVENTRING_WSIZE=11 \
    "$producer" --rounds 300 --users 5 --domains 2 --flood 5000 --open --extras >/dev/null ||
    fail "${file% *}"
  agree "${file% *}" "${file% *}.eventring"
  has_kinds open
done
record "shapes" 16 "$shapes" --rounds 50
has_kinds linked open counter
record "shapes-wrapped" 11 "$shapes" --rounds 600 # with more switches than the log holds
has_kinds lost linked open
record "killed" 12 "$shapes" --rounds 200 --die
has_kinds lost open
"$EVENTRING" snapshot -o killed.snapshot killed.eventring || fail "snapshot of a dead recording"
agree "snapshot-of-killed" killed.snapshot

"$EVENTRING" merge -q -o merged.eventring shapes-wrapped.eventring shapes.eventring \
  killed.eventring wrapped.eventring || fail "merge"
agree "merged" merged.eventring # each process has the log of its switches
has_kinds lost linked open
"$EVENTRING" merge -q -o merged-again.eventring merged.eventring not-wrapped.eventring || fail "merge"
agree "merged-again" merged-again.eventring
has_kinds lost linked open

# ---- A process that still runs: a snapshot of it

mkfifo input
SAROS_EVENTRING_START=1 SAROS_EVENTRING_WSIZE=12 "$shapes" --rounds 150 --wait <input >output &
pid=$!
exec 3>input
until_so grep -qs ready output || fail "shapes does not get ready"
"$EVENTRING" snapshot -o running.snapshot "$pid" || fail "snapshot of a running process"
exec 3>&-
wait "$pid" || fail "shapes: status $?"
agree "snapshot-of-running" running.snapshot
has_kinds open

# ---- What saros records: coroutines with spans, domains, collections

cat >program.lua <<'LUA'
local eventring, domain = require "saros.eventring", require "saros.domain"
local function work(n)
  local garbage = {}
  for i = 1, n do garbage[i] = { i } end
  return #garbage
end
local tasks = {}
for i = 1, 100 do
  tasks[i] = coroutine.wrap(function()
    for round = 1, 20 do
      eventring.begin_span("task")
      eventring.counter("round", round / 2)
      coroutine.yield()
      eventring.span("step", work, 50)
      if round % 3 > 0 then eventring.end_span("task") end
      coroutine.yield()
    end
  end)
end
for _ = 1, 40 do
  for _, task in ipairs(tasks) do task() end
end
local domains = {}
for i = 1, 6 do
  domains[i] = domain.spawn(function(n)
    local eventring = require "saros.eventring"
    for round = 1, n do
      eventring.span("of a domain", string.rep, "x", round)
      eventring.event("done", "roun\xc3\xa9")
    end
  end, 50)
end
for _, each in ipairs(domains) do each:join() end
collectgarbage()
LUA
record "saros" 16 "$SAROS" program.lua
has_kinds lifecycle counter
record "saros-wrapped" 11 "$SAROS" program.lua
has_kinds lost

# ---- What the producer in Python writes

for mode in ended dead dying damage copy; do
  python3 "$folder/producer.py" "$mode" "python-$mode.eventring" || fail "producer.py $mode"
  agree "python-$mode" "python-$mode.eventring" "python-$mode.eventring.expected"
  has_kinds lost linked open
done

# ---- Damaged files

python3 "$folder/mutate.py" "${FORMAT_MUTATIONS:-40}" "${FORMAT_SEED:-1}" \
  python-ended.eventring python-dead.eventring killed.eventring shapes-wrapped.eventring \
  running.snapshot python-copy.eventring wrapped.eventring saros-wrapped.eventring ||
  { fail "damaged files"; cp differs-*.eventring "${TMPDIR:-/tmp}"; }
finish
