# SPDX-License-Identifier: MIT
# The same mutations (test_model_mutations.sh) with readers of a file.
[ "${TEST_SLOWNESS:-1}" -eq 1 ] || { echo "the model does not depend on the build"; exit 77; }
exec bash "$TESTSUITE/model/check-model.sh" --mutations=file,ahead "$SRCDIR"
