#!/bin/bash
# SPDX-License-Identifier: MIT
# Weak tables change between the pieces of a minor collection (weak_changes_in_pieces.lua), under
# the heap verifier, where there is one: few, since each piece is followed by a look at all.
[ "$TEST_SLOWNESS" -lt 20 ] || { echo "a stress build takes minutes for it, and runs it without"; exit 77; }
[ "$TEST_SLOWNESS" -gt 1 ] || TEST_SLOWNESS=5
export TEST_SLOWNESS SAROS_VERIFY=1
exec "$SAROS" "$TESTSUITE/lua/gc/weak_changes_in_pieces.lua"
