# SPDX-License-Identifier: MIT
# Sourced by the tests of recorded guest programs.
. "$TESTSUITE/_checks.sh"

command -v jq >/dev/null || { echo "jq is missing (Debian package: jq)"; exit 77; }
unset SAROS_EVENTRING_START SAROS_EVENTRING_PREFIX SAROS_EVENTRING_PRESERVE \
      SAROS_EVENTRING_WSIZE SAROS_EVENTRING_CLASSES SAROS_EVENTRING_FORK SAROS_EVENTRING_NAME
