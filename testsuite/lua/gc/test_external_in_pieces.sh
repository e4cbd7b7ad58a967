#!/bin/bash
# SPDX-License-Identifier: MIT
# Userdata with memory outside the heap (_external_in_pieces.lua) under the heap verifier,
# where there is one.
SAROS_VERIFY=1 exec "$SAROS" "$TESTSUITE/lua/gc/_external_in_pieces.lua"
