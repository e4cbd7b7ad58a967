# SPDX-License-Identifier: MIT
# Files that earlier builds recorded, of each version of the format, are read as they were then,
# or refused: see corpus.py and corpus/README.
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
export PYTHONIOENCODING=utf-8 PYTHONDONTWRITEBYTECODE=1
exec python3 "$TESTSUITE/format/corpus.py" check
