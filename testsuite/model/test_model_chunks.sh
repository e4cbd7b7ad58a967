# SPDX-License-Identifier: MIT
# The model of how the chunks of a stream are claimed and handed over holds in all states, and
# each mutation of it fails.
[ "${TEST_SLOWNESS:-1}" -eq 1 ] || { echo "the model does not depend on the build"; exit 77; }
exec bash "$TESTSUITE/model/check-model.sh" --chunks "$SRCDIR"
