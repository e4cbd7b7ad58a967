# SPDX-License-Identifier: MIT
# eventring profile --hz: samples of a program that it starts, of its children, of a live
# process; what is not known is not asserted: how many samples, only what they must have.
. "$TESTSUITE/tools/_tools.sh"
unset SAROS_EVENTRING_START
profile() { timeout $PATIENCE "$EVENTRING" profile "$@"; }

cat >work.lua <<'END'
local function leaf(n) local s = 0 for i = 1, n do s = s + i end return s end
local function work() leaf(100000) return string.rep("x", 1000) end
local until_time = os.time() + tonumber(arg and arg[2] or 2) -- a second at least
while os.time() < until_time do work() end
os.exit(tonumber(arg and arg[1] or 0))
END

# a program: its status, its functions
profile --hz 500 --json --top 0 -- "$SAROS" work.lua 7 >program.json 2>err
is "status of the program" 7 $?
is "samples" true "$(query program.json '.total.samples > 0 and .source == "samples"')"
# but those from before it was loaded, and from after it
is "the outermost function has all" true "$(query program.json '
  [.rows[] | select(.source == "work.lua")] | (map(select(.line == 0)) | .[0].count) as $all |
  $all > 0 and all(.count <= $all)')"
is "exclusive times add up" true "$(query program.json \
  '([.rows[].exclusive_ns] | add) == .total.ns and .total.ns == .total.samples * 2000000')"
is "nothing else" '[]' "$(query program.json \
  '[.rows[] | select(.source == "work.lua") | .line] - [0, 1, 2]')"
ends 3 "" "$EVENTRING" profile --hz 100 -- "$SAROS" -e "os.exit(3)"
ends 127 "cannot launch" "$EVENTRING" profile --hz 100 -- ./there-is-no-such-program
ends 1 "does not run Saros" "$EVENTRING" profile --hz 100 -- sleep 0.2

# one that has ended before it could be sampled, whatever was read of it last: no "damaged", no
# process that is gone ("it cannot be read")
for _ in $(seq 20); do
  "$EVENTRING" profile --hz 1000 -- "$SAROS" -e '' >short.txt 2>short.err ||
    has "a short program" "ended after" "$(cat short.err)"
  is "a short program: nothing is damaged" "" "$(grep "introspection" short.err)"
done

# children: of a program that is none of Saros itself
profile --children --hz 200 --per-domain --json --top 0 -- \
  sh -c '"$1" work.lua & "$1" work.lua; wait; exit 5' sh "$SAROS" >children.json 2>err
is "status with children" 5 $?
is "domains of children" 2 "$(query children.json '[.rows[].domain_name] | unique | length')"
is "each has its rows" true "$(query children.json \
  '[.rows[] | select(.line == 0 and .source == "work.lua")] | length == 2')"

# Short ones: each that runs for 50 ms is seen, and what was missed is said. Where the sampler is
# slow there are half as many, which run longer: what is not seen at once is tried again.
many=$((TEST_SLOWNESS > 1 ? 10 : 20))
cat >short.lua <<END
local begun = os.clock()
while os.clock() - begun < 0.05 * $((TEST_SLOWNESS > 1 ? 3 : 1)) do end
END
# On a busy machine some are not; those are counted.
sample_short_ones() {
  profile --children --hz 1000 --json --top 0 -- \
    sh -c 'for i in $(seq "$2"); do "$1" short.lua; done' sh "$SAROS" $many >short.json 2>err || fail "short: $(cat err)"
  is "short children" true "$(query short.json '.loss.unsampled <= .total.processes and
    .loss.unseen_ms >= 10 and .total.domains + .loss.unsampled >= .total.processes')"
  [ "$(query short.json "[.total.processes, .total.domains] | min >= $((many * 9 / 10))")" = true ]
}
until_so sample_short_ones || fail "short children: $(jq -c '[.total, .loss]' short.json)"
profile --children --hz 1000 -- sh -c '"$1" short.lua' sh "$SAROS" >short.txt 2>err || fail "short: $(cat err)"
has "in a sentence" " ended before a sample was taken of them; one that lives for less than" "$(tr '\n' ' ' <short.txt)"

# A child that has the memory of its parent, as until posix_spawn executes, which waits here for
# a writer of a pipe, is not another process with the same domains.
if "$SAROS" -e 'require "saros.ffi"' 2>/dev/null; then
  mkfifo pipe
  cat >spawns.lua <<'END'
local ffi, domain = require "saros.ffi", require "saros.domain"
domain.spawn(function() while true do end end)
ffi.cdef [[
  int posix_spawn_file_actions_init(void *actions);
  int posix_spawn_file_actions_addopen(void *actions, int fd, const char *path, int flags, unsigned mode);
  int posix_spawn(int *pid, const char *path, const void *actions, const void *attributes,
                  const char *const *arguments, const char *const *environment);
]]
local actions, pid = ffi.new("char[1024]"), ffi.new("int[1]")
local arguments = ffi.new("const char *[2]", {"true"})
assert(ffi.C.posix_spawn_file_actions_init(actions) == 0)
assert(ffi.C.posix_spawn_file_actions_addopen(actions, 0, "pipe", 0, 0) == 0)
ffi.C.posix_spawn(pid, "/bin/true", actions, nil, arguments, arguments + 1)
END
  "$SAROS" spawns.lua &
  pid=$!
  has_child() { [ -n "$(cat /proc/$pid/task/$pid/children)" ] && "$EVENTRING" stack $pid | grep -q spawns.lua:2; }
  until_so has_child || fail "no child"
  profile --children --seconds 0.3 --per-domain --json --top 0 $pid >shared.json 2>err || fail "$(cat err)"
  is "domains of one memory" 2 "$(query shared.json '[.rows[].domain_name] | unique | length')"
  kill -KILL $pid
  wait $pid 2>/dev/null
  : <>pipe # its child goes on, and ends
fi

# a live process: it keeps no profile of calls
"$SAROS" work.lua 0 100000 &
pid=$!
until_so sh -c '"$1" stack --json $2 | grep -q work.lua' sh "$EVENTRING" $pid
sampled() { profile --seconds 0.5 "$@" $pid; }
has_rows() { sampled --json --by line >line.json 2>err && [ "$(query line.json '.rows | length > 2')" = true ]; }
until_so has_rows || fail "by line: $(cat err)"
is "lines of the main chunk" true "$(query line.json \
  '[.rows[] | select(.name == "main chunk") | .line == 4] | all')"
has "by stack" " > " "$(sampled --by stack)"
has "tree" "domain 0 main" "$(sampled --tree)"
has "callers" "main chunk work.lua" "$(sampled --callers work)"
has "--graph" "digraph profile" "$(sampled --graph)"
ends 1 "no function \`frob'" "$EVENTRING" profile --seconds 0.1 --callers frob $pid
ends 2 "one of --to" "$EVENTRING" profile --hz 1 --to folded --json $pid
ends 2 "must be one of" "$EVENTRING" profile --hz 1 --to frob $pid
"$EVENTRING" profile --json $pid >without.json 2>without.err &
sampler=$!
until_so grep -qs "no profile of calls" without.err || fail "no message: $(cat without.err)"
sleep 0.3
kill -INT $sampler
kill -KILL $pid
wait $sampler || fail "sampling ended with status $?"
is "samples instead" '"samples"' "$(query without.json .source)"
wait $pid 2>/dev/null

# A sampler that gets no processor while the program runs: it is stopped for most of that time.
# The program knows how long it ran and how long it slept; what the sampler missed is not left
# out, which would make that program sleep for most of its time.
cat >truth.lua <<'END'
local function up() local f <close> = io.open "/proc/uptime" return f:read "n" end
local function busy(until_so)
  local s = 0
  repeat for i = 1, 20000 do s = s + i % 7 end until until_so()
end
local function nap() io.popen("sleep 0.6"):read "a" end
while not io.open "begin" do end
io.open("busy", "w"):close()
local begun = up()
busy(function() return io.open "go" end)
local seen = up()
busy(function() return up() - seen > 0.2 end)
local ran = up()
nap()
print((ran - begun) / (up() - begun))
END
sample_with_a_stop() {
  rm -f begin busy go
  "$SAROS" truth.lua >truth.txt &
  pid=$!
  "$EVENTRING" profile --hz 500 --seconds 10m --json --top 0 $pid >truth.json 2>truth.err &
  sampler=$!
  sleep 0.3
  touch begin
  until_so test -e busy
  sleep 0.2
  kill -STOP $sampler
  sleep 1
  kill -CONT $sampler
  touch go
  wait $pid && wait $sampler
}
# Within a tenth, of a share of two thirds or more; without the late ones it is below a half.
tells_the_truth() {
  sample_with_a_stop &&
    jq -e --argjson truth "$(cat truth.txt)" '([.rows[] | select(.source == "truth.lua")] |
      (map(select(.line == 2)) | .[0].inclusive_ns) as $busy |
      (map(select(.line == 6)) | .[0].inclusive_ns) as $nap | $busy / ($busy + $nap)) as $seen |
      ($seen - $truth | fabs) < 0.1' truth.json >seen.txt 2>&1
}
until_so tells_the_truth ||
  fail "truth: $(cat truth.txt truth.err) $(jq -c '.rows[] | [.line, .inclusive_ns]' truth.json)"
is "late ones are counted, and said" true "$(query truth.json '.total.samples * 2000000 ==
  .total.ns and .loss.late > 100 and .total.stacks == .total.samples - .loss.late')"
"$EVENTRING" profile --hz 500 -- "$SAROS" -e "for i = 1, 1e7 do end" >late.txt || fail "text"
has "what late means" "were late: the next one counts for them" "$(tr '\n' ' ' <late.txt)"

finish
