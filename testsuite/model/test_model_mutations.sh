# SPDX-License-Identifier: MIT
# Each mutation of the model fails, with a reader through a mapping, or is one that
# another step covers.
[ "${TEST_SLOWNESS:-1}" -eq 1 ] || { echo "the model does not depend on the build"; exit 77; }
exec bash "$TESTSUITE/model/check-model.sh" --mutations=mapping "$SRCDIR"
