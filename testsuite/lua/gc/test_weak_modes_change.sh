#!/bin/bash
# SPDX-License-Identifier: MIT
# Tables change their weakness (_weak_modes_change.lua) under the heap verifier, where there is one.
SAROS_VERIFY=1 exec "$SAROS" "$TESTSUITE/lua/gc/_weak_modes_change.lua"
