#!/bin/bash
# SPDX-License-Identifier: MIT
# check.sh SOURCE_TREE BUILD: arm64, built by a cross compiler and run by qemu's emulation of
# user programs.
#
# Builds in ./arm64 (kept): libeventring, the command, saros and the tests that need no package
# for arm64 (with cmocka for arm64 the unit tests as well). Then
#   - those tests run under emulation;
#   - what arm64 programs record, ended and killed, is read the same by the command of BUILD (of
#     this machine), by that of arm64, and by testsuite/format/reader.py;
#   - what programs of this machine record is read the same by the command of arm64, and so is
#     the corpus of earlier files;
#   - the command of this machine reads and pauses a live arm64 process.
# Emulation runs the threads of a program with the memory order of this machine: it cannot
# show that an order is too weak for arm64 (HACKING.md).
#
# Status 0 also when it is skipped, with the reason.
set -u
tree=$(cd "$1" && pwd) native=$(cd "$2" && pwd)
prefix=/usr/aarch64-linux-gnu qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static)
skip() { echo "skipped: $1 is missing (Debian package: $2)"; exit 0; }
command -v aarch64-linux-gnu-gcc >/dev/null || skip aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
[ -e $prefix/lib/libc.so.6 ] || skip "$prefix/lib/libc.so.6" libc6-dev-arm64-cross
[ -n "$qemu" ] || skip qemu-aarch64 qemu-user
command -v python3 >/dev/null || skip python3 python3
mkdir -p arm64/work && cd arm64 || exit 1
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
# Processes of ours, by id.
live=
trap '[ -z "$live" ] || kill -KILL $live 2>/dev/null' EXIT

# ---- Build

programs="testsuite/concurrency/eventring_race_test testsuite/concurrency/eventring_points_test
  testsuite/fuzz/mutations_test testsuite/faults/victim testsuite/format/shapes
  testsuite/tools/producer testsuite/soak/watch"
[ -e Makefile ] ||
  PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig \
    "$tree/configure" --host=aarch64-linux-gnu --quiet --enable-werror --without-libffi \
    --without-libedit >configure.log 2>&1 || { tail -n 20 configure.log; exit 1; }
units=
if grep -q "^S\[\"HAVE_CMOCKA_TRUE\"\]=\"\"" config.status; then
  units=$(make -s -f Makefile -f - units 2>/dev/null <<<'units: ; @echo $(filter testsuite/unit/%,$(check_PROGRAMS))')
fi
# shellcheck disable=SC2086
make -s -j"$(nproc)" saros eventring/eventring libeventring.la $programs $units >build.log 2>&1 ||
  { tail -n 20 build.log; exit 1; }
echo "built with $(aarch64-linux-gnu-gcc -dumpfullversion), without warnings; $("$qemu" --version | head -n 1)"
[ -n "$units" ] || echo "unit tests are left out: cmocka for arm64 is missing (libcmocka-dev:arm64)"

# emulator NAME PROGRAM: a command that runs an arm64 program
emulator() {
  printf '#!/bin/sh\nQEMU_LD_PREFIX=%s exec %s %s "$@"\n' $prefix "$qemu" "$PWD/$2" >"work/$1"
  chmod +x "work/$1"
}
emulator saros saros
emulator eventring eventring/eventring
for program in $programs $units; do emulator "$(basename "$program")" "$program"; done
unset SAROS_EVENTRING_NAME SAROS_EVENTRING_CLASSES
export SRCDIR=$tree BUILDDIR=$native PYTHONDONTWRITEBYTECODE=1 PYTHONIOENCODING=utf-8
cd work && rm -rf ./*.eventring kept t || exit 1

# ---- Tests

emulated() { # WHAT COMMAND...
  local what=$1
  shift
  (mkdir -p t && cd t && timeout 300 "$@") >output.txt 2>&1 && echo "passed: $what" ||
    { fail "$what: status $?"; tail -n 5 output.txt; }
}
for unit in $units; do
  case $unit in *_test) emulated "$unit" "$PWD/$(basename "$unit")" ;; esac
done
emulated "race_test" "$PWD/eventring_race_test" 200
emulated "points_test" "$PWD/eventring_points_test"
emulated "mutations_test" "$PWD/mutations_test" 300
for mode in smallest full twice; do emulated "victim $mode" "$PWD/victim" $mode; done

# ---- Recordings of one, read by the other

record() { # NAME EXPECTED_STATUS COMMAND...
  local name=$1 expected=$2
  shift 2
  rm -rf kept && mkdir kept
  { SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_WSIZE=12 \
    SAROS_EVENTRING_PREFIX=kept timeout 120 "$@" >output.txt 2>&1; } 2>/dev/null # "Killed"
  [ $? = "$expected" ] || { fail "$name: status"; tail -n 3 output.txt; }
  mv kept/*.eventring "$name.eventring" || fail "$name: no recording"
}
read_by_all() { # NAME
  "$native/eventring/eventring" dump --json "$1.eventring" >native.json || fail "$1: dump"
  ./eventring dump --json "$1.eventring" >arm64.json || fail "$1: dump of arm64"
  [ -s native.json ] && cmp -s native.json arm64.json || fail "$1: the two dumps differ"
  EVENTRING=$native/eventring/eventring python3 "$tree/testsuite/format/compare.py" "$1" \
    "$1.eventring" || fail "$1: reader.py"
}
program=$tree/testsuite/format/corpus/program.lua
record arm64-saros 0 ./saros "$program"
DIE=1 record arm64-saros-killed 137 ./saros "$program"
record arm64-shapes 0 ./shapes --rounds 100
record arm64-shapes-killed 137 ./shapes --rounds 100 --die
record native-saros 0 "$native/saros" "$program"
for name in arm64-saros arm64-saros-killed arm64-shapes arm64-shapes-killed native-saros; do
  read_by_all $name
done
"$native/eventring/eventring" show arm64-saros.eventring | grep -q '^clock  *cntvct' ||
  fail "the clock of arm64 is not its counter"
(mkdir -p t && cd t && EVENTRING=$PWD/../eventring SAROS=$PWD/../saros \
  python3 "$tree/testsuite/format/corpus.py" check) >output.txt 2>&1 &&
  echo "passed: the corpus, by readers of arm64" || { fail "corpus"; cat output.txt; }

# ---- A live process

mkfifo -m 600 input 2>/dev/null
SAROS_EVENTRING_START=1 SAROS_EVENTRING_WSIZE=12 ./shapes --rounds 50 --wait <input >ready.txt 2>&1 &
live=$!
exec 3>input
for _ in $(seq 300); do grep -q ready ready.txt && break; sleep 0.1; done
file=$live.eventring
"$native/eventring/eventring" control --pause "$file" || fail "pause of a live process"
"$native/eventring/eventring" show "$file" | grep -q '^state.*paused' || fail "it is not paused"
"$native/testsuite/soak/watch" --file "$file" || fail "its events are not accounted for"
"$native/eventring/eventring" control --resume "$file" || fail "resume of a live process"
exec 3>&-
wait $live || fail "the live process: status $?"
live=
rm -f input
[ $failures = 0 ] || { echo "$failures checks failed"; exit 1; }
echo "arm64: everything passed"
