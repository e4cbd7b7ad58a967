# SPDX-License-Identifier: MIT
# With few descriptors a program that leaves files open goes on: what is garbage is collected.
. "$TESTSUITE/_checks.sh"

(ulimit -n 256 && exec "$SAROS" "$TESTSUITE/lua/limits/_files_left_open.lua") || fail "status $?"
finish
