# SPDX-License-Identifier: MIT
# doc/FORMAT.md is enough to write a reader from: one in another language, written
# from that page, sees the very events that `eventring dump` shows, with their contexts
# and values.
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
export LC_ALL=C PYTHONIOENCODING=utf-8
producer=$BUILDDIR/testsuite/tools/producer
[ -x "$producer" ] || { echo "$producer is not built"; exit 77; }
status=0

compare() { # WHAT FILE
  python3 "$TESTSUITE/unit/format_reader.py" "$2" | sort >by-page.txt || status=1
  "$EVENTRING" dump --json "$2" | python3 "$TESTSUITE/unit/dump_lines.py" | sort >by-dump.txt || status=1
  if ! [ -s by-page.txt ] || ! cmp by-page.txt by-dump.txt; then
    echo "FAILED: $1"
    diff by-page.txt by-dump.txt | head
    status=1
  fi
}

record() { # WHAT WSIZE PRODUCER-OPTIONS...
  local what=$1 wsize=$2
  shift 2
  rm -f ./*.eventring
  SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_WSIZE=$wsize \
    "$producer" "$@" >/dev/null || echo "producer: status $?"
  compare "$what" ./*.eventring
}

record "not wrapped" 14 --rounds 100 --users 2 --domains 3
record "wrapped" 11 --rounds 300 --users 5 --domains 2 --flood 5000 --open
record "contexts, links and values" 14 --rounds 100 --domains 3 --extras
record "the same, wrapped" 11 --rounds 500 --domains 3 --extras --open
record "killed" 12 --rounds 500 --users 3 --die
"$EVENTRING" snapshot -o copy.snapshot ./*.eventring && compare "snapshot" copy.snapshot
exit $status
