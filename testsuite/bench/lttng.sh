#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs a program in an LTTng session of its own: lttng.sh snapshot|stream PROGRAM
#
# The session daemon is started here, with a home in a temporary folder, and ended here
# by its process id, whatever happens; standard input and output are the program's.
# (For root, LTTng's sockets are in /var/run/lttng whatever the home is: with another
# session daemon there this one is not started.)
set -u
mode=$1 program=$2
home=$(mktemp -d "${TMPDIR:-/tmp}/saros-lttng.XXXXXX") || exit 1
export LTTNG_HOME=$home HOME=$home
daemon=

cleanup() {
  [ -n "$daemon" ] && { lttng --no-sessiond destroy --all; kill "$daemon"; wait "$daemon"; }
  rm -rf "$home"
} >/dev/null 2>&1
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

fail() { echo "lttng.sh: $*" >&2; exit 1; }
quietly() { "$@" >>"$home/log" 2>&1 </dev/null || { cat "$home/log" >&2; fail "$*"; }; }

lttng --no-sessiond list >/dev/null 2>&1 && fail "a session daemon is running already"
lttng-sessiond --no-kernel >"$home/daemon" 2>&1 </dev/null &
daemon=$!
for _ in $(seq 500); do
  lttng --no-sessiond list >/dev/null 2>&1 && break
  kill -0 $daemon 2>/dev/null || { cat "$home/daemon" >&2; daemon=; fail "no session daemon"; }
  sleep 0.02
done

case $mode in
  snapshot) quietly lttng --no-sessiond create bench --snapshot --output="$home/trace"
            kind="--overwrite --subbuf-size=64k --num-subbuf=4" ;;
  stream) quietly lttng --no-sessiond create bench --output="$home/trace"
          kind="--discard --subbuf-size=1M --num-subbuf=4" ;;
  *) fail "no mode $mode" ;;
esac
# shellcheck disable=SC2086
quietly lttng --no-sessiond enable-channel --userspace $kind channel
quietly lttng --no-sessiond enable-event --userspace --channel=channel 'saros_bench:span_*'
quietly lttng --no-sessiond start
LTTNG_UST_REGISTER_TIMEOUT=20000 "$program"
