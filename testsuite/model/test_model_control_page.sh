# SPDX-License-Identifier: MIT
# The model of the control page holds in all states, and each mutation of it fails.
[ "${TEST_SLOWNESS:-1}" -eq 1 ] || { echo "the model does not depend on the build"; exit 77; }
exec bash "$TESTSUITE/model/check-model.sh" --control "$SRCDIR"
