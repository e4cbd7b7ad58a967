# SPDX-License-Identifier: MIT
# No export in lines of text holds what a terminal obeys or what hides or turns text around, and
# no cell of CSV is a formula to a spreadsheet.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
helper=$TESTSUITE/tools/_foreign_text.py

mkdir outputs
# written FORMAT FILE: keeps it for the check
written() {
  [ -s "$2" ] || fail "$1: nothing was written"
  cp "$2" outputs/$((++runs))
  echo "$1" >outputs/$runs.command
}
runs=0
python3 "$helper" write hostile.eventring || { fail "no recording"; finish; }
for format in csv chrome openmetrics otlp_json otlp_metrics_json; do # (its header is damaged: status 1)
  "$EVENTRING" export --to $format -o events.$format hostile.eventring 2>errors.txt
  written $format events.$format
done

# Of a host whose functions lie in a file of a hostile name
for at in 0 20 40 55 70; do
  HEAP_EVENTRING_START=1 HEAP_EVENTRING_PRESERVE=1 HEAP_EVENTRING_NAME=sampled-$at \
    "$BUILDDIR/testsuite/tools/sample_heap" --collections 2 \
    --source "$(python3 "$helper" name 60 $at)" >/dev/null || fail "no heap profile"
  for format in folded dot callgrind speedscope pprof svg otlp_profiles_json; do
    "$EVENTRING" export --to $format -o heap-$at.$format sampled-$at.eventring ||
      fail "--to $format: $?"
    [ $format = pprof ] || written $format heap-$at.$format
  done
  # (a file of bytes: what it must not have as a text)
  grep -qaP '\xE2\x80\xAE|\x1B\[31m' heap-$at.pprof && fail "pprof has hostile text"
done
grep -qa 'xE2.x80.xAE' heap-*.pprof || fail "no pprof says what was there"
python3 "$helper" check outputs || fail "what is exported"
[ $runs -eq 35 ] || fail "$runs files"

# Formulas
cat >formulas.py <<'END'
import sys
sys.path.insert(0, sys.argv[1])
import producer, reader
TEXTS = ["=1+2", "+1+2", "-1+2", "@SUM(A1)", "\t=1+2", "\r=1+2", "=cmd|' /C calc'!A0",
         "-5", "+1.5e3", "plain", "a\"=b", ""]
producer.PRESENT_LIVES = [(0, 1, "=domain")]
recording = producer.Recording()
recording.segment(producer.START_TICKS, producer.START_NS, 1 << 40)
recording.life(1, 0, 1, producer.START_TICKS, "=domain")
ring = producer.Ring(recording, 0, 1)
recording.define(16, 3, "=name", payload=4)
recording.define(17, 3, "negative", payload=1)
for i, text in enumerate(TEXTS):
    ring.event(producer.EVENT, 16, producer.START_TICKS + i, producer.text_words(text.encode()))
ring.event(producer.EVENT, 17, producer.START_TICKS + 99, ((1 << 64) - 7,))
for each in recording.rings + list(recording.records.values()):
    each.finish()
front = producer.front(recording, "dead", producer.START_TICKS + 200)
open("formulas.eventring", "wb").write(
    front + b"".join(reader.bytes_of(words) for words in recording.blocks))
END
cat >cells.py <<'END'
import csv
rows = list(csv.DictReader(open("formulas.csv", newline="")))
for row in rows:
    for cell in row.values():
        try: float(cell)
        except ValueError: assert not cell.startswith(("=", "+", "-", "@", "\t", "\r")), cell
print(*[row["value"] for row in rows if row["name"] == "'=name"], sep="|")
print(*{row["domain_name"] for row in rows}, *[row["value"] for row in rows if row["name"] == "negative"])
END
python3 formulas.py "$TESTSUITE/format" || fail "no recording"
"$EVENTRING" export --to csv -o formulas.csv formulas.eventring || fail "csv: $?"
python3 cells.py >cells.txt || fail "a cell is a formula"
is "cells" "'=1+2|'+1+2|'-1+2|'@SUM(A1)|\\x09=1+2|\\x0D=1+2|'=cmd|' /C calc'!A0|-5|+1.5e3|plain|a\"=b|
'=domain -7" "$(cat cells.txt)"
finish
