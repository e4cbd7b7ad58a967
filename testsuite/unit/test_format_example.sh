# SPDX-License-Identifier: MIT
# The file that doc/FORMAT.md explains byte by byte holds what the page says it holds.
for tool in python3 jq; do
  command -v $tool >/dev/null || { echo "$tool is missing (Debian package: $tool)"; exit 77; }
done
python3 - "$SRCDIR/doc/FORMAT.md" >expected.json <<'END' || exit 1
import re, sys
page = open(sys.argv[1], encoding="utf-8").read()
section = page[page.index("A small file, byte by byte"):page.index("## 16.")]
content = bytearray(94208)
rows = re.findall(r"^    ([0-9a-f]{8})  ((?:[0-9a-f]{2} )+)", section, re.MULTILINE)
if len(rows) < 40:
    sys.exit(f"only {len(rows)} rows of bytes found on the page")
for offset, row in rows:
    data = bytes.fromhex(row)
    content[int(offset, 16):int(offset, 16) + len(data)] = data
open("small.eventring", "wb").write(content)
for event in re.findall(r"^    (\{.*?\})$", section, re.MULTILINE | re.DOTALL):
    print(event)
END
"$EVENTRING" dump --json small.eventring >dump.json || { echo "FAILED: dump: status $?"; exit 1; }
jq -cS . expected.json >expected.txt && jq -cS . dump.json >dump.txt || exit 1
[ "$(wc -l <expected.txt)" = 4 ] || { echo "FAILED: the page shows $(wc -l <expected.txt) events"; exit 1; }
diff expected.txt dump.txt || { echo "FAILED: the page and dump differ"; exit 1; }
