# SPDX-License-Identifier: MIT
# runtests, without --all: prepares what tests name as the way to what they miss, runs the
# suite, and its status is that of the suite. What installs and builds is replaced here.
. "$TESTSUITE/_checks.sh"
mkdir -p tree/scripts build
cp "$SRCDIR/runtests" tree/
cat >tree/scripts/prepare.sh <<'END'
build_packages= test_packages= all_packages=
say() { echo "==> $*"; }
install_missing() { :; }
generate_configure() { :; }
install_npm() { echo "$1" >"$top/npm.txt"; }
build() {
  mkdir -p "$1/testsuite/log" && : >"$1/testsuite/log/results.txt"
  printf 'check-built:\n\t@echo "NPM is %s"; echo "%s"\n' '$(NPM)' "$SUITE" >"$1/Makefile"
}
END
runs() { # LINE: its status
  SUITE=$1 bash tree/runtests "$PWD/build" >out.txt 2>&1
}
runs "3 passed, 0 failed, 1 skipped"
is "a suite that passes" 0 $?
is "its line" "3 passed, 0 failed, 1 skipped" "$(tail -n 1 out.txt)"
is "packages of npm are installed for the build" "$PWD/build" "$(cat tree/npm.txt)"
has "and tests find them" "NPM is $PWD/build/npm" "$(cat out.txt)"
has "as they say" './runtests installs it' "$(cat "$TESTSUITE/tools/_export.sh")"
runs "2 passed, 1 failed"
is "a suite that fails" 1 $?
runs "make: nothing to be done"
is "a suite of which nothing runs" 1 $?
is "its line" "0 passed, 1 failed" "$(tail -n 1 out.txt)"
