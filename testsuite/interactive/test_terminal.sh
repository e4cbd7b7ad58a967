# SPDX-License-Identifier: MIT
# The prompt at a terminal: editing, completion, history, interruption.
set -u
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
grep -q "libedit\.so" "$SAROS" || { echo "this build has no line editing (Debian package: libedit-dev)"; exit 77; }
python3 "$TESTSUITE/interactive/_terminal.py" "$SAROS"
