# SPDX-License-Identifier: MIT
# Sourced by the tests of the `eventring` command: the producer, and checks that
# say what they expected. Each test runs in an empty directory of its own.
. "$TESTSUITE/_checks.sh"

PRODUCER=$BUILDDIR/testsuite/tools/producer
[ -x "$PRODUCER" ] || { echo "$PRODUCER is not built"; exit 77; }
command -v jq >/dev/null || { echo "jq is missing (Debian package: jq)"; exit 77; }
unset SAROS_EVENTRING_START SAROS_EVENTRING_PREFIX SAROS_EVENTRING_PRESERVE \
      SAROS_EVENTRING_WSIZE SAROS_EVENTRING_CLASSES

# ends STATUS TEXT COMMAND...: exit status, and a text that standard error has
ends() {
  local status=$1 expected=$2 errors actual
  shift 2
  errors=$("$@" 2>&1 >stdout.txt </dev/null)
  actual=$?
  is "status of $*" "$status" "$actual"
  has "message of $*" "$expected" "$errors"
}

# sanitized: the command is built with a sanitizer, which needs memory and symbols of its own
sanitized() { grep -qE '__asan_init|__tsan_init' "$EVENTRING"; }

# query FILE FILTER: compact result of jq
query() { jq -c "$2" "$1" || fail "jq: $2 on $1"; }

# record [PRODUCER-OPTIONS...]: a preserved recording; sets `file`
record() {
  mkdir -p kept
  rm -f kept/*.eventring
  SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_PREFIX=kept \
    "$PRODUCER" "$@" >producer.txt || { [[ " $* " == *" --die "* ]] || fail "producer $*"; }
  file=$(echo kept/*.eventring)
}

# start [PRODUCER-OPTIONS...]: in the background, recording to the current
# directory; sets `pid` and waits until it records
start() {
  SAROS_EVENTRING_START=1 "$PRODUCER" "$@" >producer.txt &
  pid=$!
  await "$pid"
}

# rows TITLE NAME <STATS: the rows of that name in the parts of a table of `stats`, with
# single blanks
rows() {
  awk -v title="$1" -v name="$2" '/^[^ ]/ { on = index($0, title) == 1 }
    on && $1 == name { $1 = $1; print }'
}

# What stats --json says that was counted, whoever looked at it
counts_of() {
  query "$1" '{s: [.spans[] | [.domain, .name, .count, .torn, .open]],
               c: [.counters[] | [.domain, .name, .samples, .sum]],
               e: [.events[] | [.domain, .name, .count]]}'
}
