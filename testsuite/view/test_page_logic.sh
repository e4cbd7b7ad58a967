# SPDX-License-Identifier: MIT
# What the page of `eventring view` computes: node's test runner on what does not draw.
. "$TESTSUITE/_checks.sh"
command -v node >/dev/null || { echo "node is missing (Debian package: nodejs)"; exit 77; }
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] || { echo "node is older than version 20"; exit 77; }
node --test --test-reporter=spec "$TESTSUITE/view/logic.test.mjs" || fail "the logic of the page"
finish
