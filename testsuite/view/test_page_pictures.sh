# SPDX-License-Identifier: MIT
# The page of a real run has what the pictures of the documentation show (make screenshots makes
# them), and they are small.
. "$TESTSUITE/_checks.sh"
. "$TESTSUITE/view/_pictures.sh"
command -v node >/dev/null || { echo "node is missing (Debian package: nodejs)"; exit 77; }
command -v chromium >/dev/null || { echo "chromium is missing (Debian package: chromium)"; exit 77; }
"$EVENTRING" view -o small.html -- true 2>&1 | grep -q "without zlib" && { echo "built without zlib"; exit 77; }
is "what is missing" "done" "$(pictures "$PWD")"
for picture in timeline flame; do
  for file in "$picture.png" "$SRCDIR/doc/pictures/$picture.png"; do
    size=$(stat -c %s "$file" 2>/dev/null || echo 0)
    [ "$size" -gt 10000 ] && [ "$size" -lt 300000 ] || fail "$file: $size bytes"
  done
done
finish
