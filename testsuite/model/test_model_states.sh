# SPDX-License-Identifier: MIT
# The model of the block transition holds in all states: the brief form of `make
# check-model`. The model is the same in every build: once is enough.
[ "${TEST_SLOWNESS:-1}" -eq 1 ] || { echo "the model does not depend on the build"; exit 77; }
exec bash "$TESTSUITE/model/check-model.sh" --brief-states "$SRCDIR"
