# SPDX-License-Identifier: MIT
# Each mutation of the model fails, with one of the readers that it breaks, or is one that
# another step covers. `make check-model` has all readers.
[ "${TEST_SLOWNESS:-1}" -eq 1 ] || { echo "the model does not depend on the build"; exit 77; }
exec bash "$TESTSUITE/model/check-model.sh" --brief-mutations "$SRCDIR"
