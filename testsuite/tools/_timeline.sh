# SPDX-License-Identifier: MIT
# Sourced by the tests of exports of all events: recordings of several kinds, and what a
# timeline must show of them.
#
#   whole.eventring    all kinds of events, contexts, links, spans that stay open
#   few.eventring      rings that were overwritten: losses before the first event, spans that
#                      were open there
#   damaged.eventring  a stream of which some blocks are gone: losses in between, torn spans
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
export PYTHONIOENCODING=utf-8 PYTHONDONTWRITEBYTECODE=1
MODULES=${NPM:-$BUILDDIR/npm}/node_modules

# needs_module NAME: of npm
needs_module() {
  command -v node >/dev/null || { echo "node is missing (Debian package: nodejs)"; exit 77; }
  [ -d "$MODULES/$1" ] ||
    { echo "$1 is not in $MODULES (./runtests installs it, where node, npm and their registry are)"; exit 77; }
}

record_all() {
  record --domains 2 --rounds 20 --extras --stray --open --work-us 2
  mv "$file" whole.eventring
  SAROS_EVENTRING_WSIZE=11 record --domains 2 --rounds 200 --extras --open
  mv "$file" few.eventring
  SAROS_EVENTRING_STREAM=./damaged.eventring "$PRODUCER" --rounds 1200 --users 2 >producer.txt ||
    fail "producer"
  # every second block of events, from the third on
  python3 - damaged.eventring <<'PY' || fail "damaging"
import sys
with open(sys.argv[1], "r+b") as file:
    data = file.read()
    events = [at for at in range(65536, len(data) - 4095, 4096)
              if any(data[at:at + 8]) and data[at + 8:at + 10] == b"\1\0"]
    for at in events[2:-1:2]:
        file.seek(at)
        file.write(bytes(4096))
PY
  for name in whole few damaged; do
    "$EVENTRING" dump --json $name.eventring >$name.dump 2>$name.errors
    "$EVENTRING" show --json $name.eventring >$name.show 2>/dev/null
  done
}

# export_to FORMAT NAME OUT: status 1 of the damaged one, which says so
export_to() {
  local status=0 expected=0
  [ "$2" != damaged ] || expected=1
  rm -rf "$3"
  "$EVENTRING" export --to "$1" -o "$3" "$2.eventring" 2>export.errors || status=$?
  is "status of export --to $1 of $2: $(cat export.errors)" $expected $status
}

# by_time FILE: its lines, without the depths of spans that begin or end at a moment at which
# another one of their thread does: which is around the other cannot be told from times, which is
# all that these formats have.
by_time() {
  python3 - "$1" <<'PY'
import collections, sys
lines = [line.rstrip("\n").split("\t") for line in open(sys.argv[1], encoding="utf-8")]
spans = [line for line in lines if line[0] == "span" and len(line) == 7]
borders = lambda span: (int(span[4]), int(span[4]) + int(span[5]))
seen = collections.Counter((span[1], at) for span in spans for at in set(borders(span)))
for span in spans:
    if any(seen[span[1], at] > 1 for at in borders(span)):
        span[6] = "-"
print("\n".join(sorted("\t".join(line) for line in lines)))
PY
}
# same_facts WHAT EXPECTED ACTUAL: two files of lines
same_facts() {
  cmp -s "$2" "$3" || diff <(by_time "$2") <(by_time "$3") >different ||
    fail "$1: $(head -20 different)"
}

# What was compared has losses, torn and open spans (NAME.expected of each recording).
has_kinds_of_facts() {
  has "losses" "lost" "$(cat few.expected)"
  has "torn spans" "torn" "$(cat damaged.expected)"
  has "open spans" "open" "$(cat whole.expected)"
}
