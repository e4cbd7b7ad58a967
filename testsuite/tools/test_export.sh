# SPDX-License-Identifier: MIT
# `eventring export`, and `heap --to`, which is short for it: the formats have the figures of
# `eventring heap`. The tests test_export_*.sh read them with the tools that they are for.
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
. "$TESTSUITE/tools/_export.sh"
export PYTHONIOENCODING=utf-8 PYTHONDONTWRITEBYTECODE=1
for format in pprof speedscope folded; do
  "$EVENTRING" export --to $format -o out.$format "$file" || fail "export --to $format"
  "$EVENTRING" heap --to $format -o again.$format "$file" || fail "heap --to $format"
  cmp -s out.$format again.$format || fail "heap --to $format is not export --to $format"
  "$EVENTRING" heap --to $format "$file" >stdout.$format || fail "heap --to $format >"
  cmp -s out.$format stdout.$format || fail "heap --to $format on standard output"
done
live=$(query heap.json .total.live_bytes) allocated=$(query heap.json .total.allocated_bytes)

about "sum of folded" "$live" "$(awk '{ sum += $NF } END { print sum }' out.folded)"
grep -q '^main (sites.lua:[0-9]*);.*;site2 (sites.lua:[0-9]*) [0-9]*$' out.folded ||
  fail "folded: $(head -3 out.folded)"
"$EVENTRING" export --to folded --allocated -o allocated.folded "$file" || fail "--allocated"
about "sum of folded, allocated" "$allocated" "$(awk '{ sum += $NF } END { print sum }' allocated.folded)"

python3 "$TESTSUITE/tools/_pprof.py" out.pprof >pprof.json || fail "the message of pprof"
about "inuse_space" "$live" "$(query pprof.json .inuse_space)"
about "alloc_space" "$allocated" "$(query pprof.json .alloc_space)"
about "alloc_objects" "$(query heap.json .total.allocated_objects)" "$(query pprof.json .alloc_objects)"
is "the outermost frame" '"main"' "$(query pprof.json '.stack[-1]')"

about "speedscope" "$live" "$(query out.speedscope '.profiles[.activeProfileIndex].weights | add | round')"
is "indices of frames" true "$(query out.speedscope \
  '(.shared.frames | length) as $n | [.profiles[].samples[][]] | all(. >= 0 and . < $n)')"

# ---- What is not there, or cannot be written

ends 2 "must be one of pprof" "$EVENTRING" export --to gif -o x "$file"
ends 2 "--to FORMAT" "$EVENTRING" export -o x "$file"
ends 1 "out.pprof" "$EVENTRING" export --to pprof -o out.pprof "$file"
[ -e /dev/full ] && ln -s /dev/full full && ends 1 "full" "$EVENTRING" export --to folded -o full "$file"
finish
