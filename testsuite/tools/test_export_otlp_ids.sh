# SPDX-License-Identifier: MIT
# Which trace `export --to otlp` says that a span belongs to: ids that were said, what follows from
# them, and when; the same in each export; the attributes of the process.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
HOST=$BUILDDIR/testsuite/tools/traced_host helper=$TESTSUITE/tools/_otlp.py
[ -x "$HOST" ] || { echo "$HOST is not built"; exit 77; }
export PYTHONIOENCODING=utf-8 PYTHONDONTWRITEBYTECODE=1
unset OTEL_SERVICE_NAME OTEL_RESOURCE_ATTRIBUTES

# says X [PARENT]: ids whose trace begins with X0, and the span with X1; remote X, around X: the
# parent X2, which is none of these spans, and X1
says() { printf 'trace %s0%030d%s1%014d%s01\n' "$1" 0 "$1" 0 "${2:-0000000000000000}"; }
remote() { printf '%s2%014d' "$1" 0; }
around() { printf '%s1%014d' "$1" 0; }
recorded() { # NAME <SCRIPT
  cat >$1.script
  rm -f $1.eventring
  TRACED_EVENTRING_STREAM=./$1.eventring "$HOST" <$1.script || fail "$1: host"
}
# exported NAME [OPTION...]: NAME.jsonl
exported() {
  local name=$1
  shift
  rm -f $name.jsonl
  "$EVENTRING" export --to otlp_json "$@" -o $name.jsonl $name.eventring || fail "$name $*: export"
}
# spans NAME EXPECTED [OPTION...]: each by its begin, as NAME|TRACE|ID|PARENT|KIND|FLAGS[|LINK...]
spans() {
  local name=$1 expected=$2
  shift 2
  exported $name "$@"
  is "$name $*" "$expected" "$(python3 "$helper" spans $name.jsonl $name.script)"
}

# Said before what is within has begun, and after it has ended; the last one holds
{ echo "begin early"; says a "$(remote a)"; echo "begin part"; echo "end part"; echo "end early"
  echo "begin late"; echo "begin part"; echo "begin deep"; echo "end deep"; echo "end part"
  says b; says c "$(remote c)"; echo "begin more"; echo "end more"; echo "end late"
  echo "begin alone"; echo "begin own"; echo "end own"; echo "end alone"; } | recorded said
spans said "early|a0|a1|a2|2|0x301
part|a0|part|a1|1|0x101
late|c0|c1|c2|2|0x301
part|c0|part|c1|1|0x101
deep|c0|deep|part|1|0x101
more|c0|more|c1|1|0x101
alone|of alone|alone|-|1|0x101
own|of alone|own|alone|1|0x101"

# Said of a span within others: these join the first trace without a parent
{ echo "begin outer"; echo "begin middle"; echo "begin call"; says a; echo "end call"
  echo "begin next"; says b; echo "begin own"; echo "end own"; echo "end next"; echo "end middle"
  echo "begin request"; says c "$(remote c)"; echo "begin step"; echo "begin call"
  sed "s/^trace d0/trace c0/" < <(says d "$(around c)"); echo "end call"; echo "end step"
  echo "end request"; echo "end outer"; } | sed 's/^trace c00\(.*\)d1/trace c00\1d1/' | recorded within
spans within "outer|a0|outer|-|1|0x101|c0 c1 within
middle|a0|middle|outer|1|0x101|b0 b1 within
call|a0|a1|middle|1|0x101
next|b0|b1|-|1|0x101
own|b0|own|b1|1|0x101
request|c0|c1|c2|2|0x301
step|c0|step|c1|1|0x101
call|c0|d1|step|1|0x101"

# Inherited by a context, which another one does not
{ echo "context 7"; says a; echo "begin first"; echo "begin part"; echo "end part"; echo "end first"
  echo "context 8"; echo "begin other"; echo "end other"; echo "context 7"; echo "begin second"
  says b "$(around a)"; echo "end second"; says c; echo "begin third"; echo "end third"
} | recorded inherited
spans inherited "first|a0|first|a1|1|0x101
part|a0|part|first|1|0x101
other|of other|other|-|1|0x101
second|b0|b1|a1|1|0x101
third|c0|third|c1|1|0x101"

# Ids that are none are not said
{ echo "begin span"; says 0; echo "event trace 0011"; echo "end span"; } | sed 's/010*01$/00/' | recorded none
spans none "span|of span|span|-|1|0x101"

# A span ends while one begun within it is open: that one stays, and what ends later is what it was
{ echo "begin request 1"; says a "$(remote a)"; echo "begin db 2"; echo "end request 1"
  echo "begin request 3"; says b "$(remote b)"; echo "begin db 4"; echo "begin row"
  echo "end request 3"; echo "begin last"; echo "end last"; echo "end row"; echo "end db 4"
  echo "end db 2"; } | recorded crossed
spans crossed "request|a0|a1|a2|2|0x301
db|a0|db|a1|1|0x101|b0 b1 within
request|b0|b1|b2|2|0x301
db|b0|db|b1|1|0x101
row|b0|row|db|1|0x101
last|b0|last|row|1|0x101"
# complete NAME: each span once, none torn that is not, as `dump` and `stats` have them
complete() {
  "$EVENTRING" dump --json $1.eventring >$1.dump && "$EVENTRING" show --json $1.eventring >$1.show
  "$EVENTRING" stats --json $1.eventring >$1.stats
  python3 "$helper" check $1.dump $1.show $1.jsonl remote >$1.checked || fail "$1: check"
  python3 "$helper" sums $1.stats $1.jsonl || fail "$1: sums"
}
complete crossed
has "crossed" "marked 0 " "$(cat crossed.checked)"
python3 - >random.script <<'END'
import random
random.seed(7)
for _ in range(20000):
    action, name = random.randrange(20), "span%d" % random.randrange(5)
    print("context %d" % random.randrange(4) if action < 3 else "event note" if action == 3 else
          "trace %032x%016x%016x01" % (random.getrandbits(126) + 1, random.getrandbits(62) + 1, 0)
          if action == 4 else ("begin " if action < 12 else "end ") + name)
END
recorded random <random.script
exported random
complete random

# A window has the ids and values that were said before it
{ echo "begin request 1"; says a "$(remote a)"; echo "begin db 2"; echo "repeat 300"
  echo "begin work"; echo "end work"; echo "again"; echo "end request 1"; echo "begin late"; says b
  echo "end late"; echo "end db 2"; echo "context 4"; says c; echo "begin other"; echo "end other"
} | recorded window
middle=$("$EVENTRING" dump --json window.eventring | jq -s '[.[] | select(.name == "work")][300].ns')
start=$("$EVENTRING" show --json window.eventring | jq .start_ns)
all() { jq -c '.resourceSpans[].scopeSpans[].spans[]? | [.name, .traceId, .spanId, .parentSpanId, .kind,
  .startTimeUnixNano, (.attributes[] | select(.key == "eventring.value"))]' "$1" | sort; }
exported window
all window.jsonl >all.txt
exported window --since "$(jq -n "($middle - $start) / 1e9")"
all window.jsonl >part.txt
is "of a window, what the whole has not" "" "$(comm -23 part.txt all.txt)"
is "spans of the window" "db late other request work" "$(jq -r '.[0]' part.txt | sort -u | paste -sd ' ')"
[ "$(grep -c '"work"' part.txt)" -lt 200 ] || fail "the window has what lies before it"

# More than is held
{ echo "begin outer"; echo "spans 100000 work"; says a; echo "spans 1 late"; echo "end outer"
} | recorded much
exported much
python3 "$helper" spans much.jsonl much.script | sort | uniq -c | sed 's/^ *//' >much.txt
is "more than is held" "1 late|of outer|late|outer|1|0x101
1 outer|of outer|outer|-|1|0x101|a0 a1 ids said late
100000 work|of outer|work|outer|1|0x101" "$(sort much.txt)"

# A request within a span that stays open is not held
{ echo "begin loop"; echo "repeat 300"; echo "begin request"; says a "$(remote a)"
  echo "spans 1000 part"; echo "end request"; echo "again"; echo "end loop"; } | recorded requests
bounded() {
  is "$1: at most $2 KiB" yes "$([ "$(tail -1 peak.txt)" -le "$2" ] && echo yes || tail -1 peak.txt)"
}
if [ -x /usr/bin/time ] && ! sanitized; then
  /usr/bin/time -o peak.txt -f %M "$EVENTRING" export --to otlp -o requests.otlp requests.eventring ||
    fail "requests"
  bounded "300,000 spans" 24000
  /usr/bin/time -o peak.txt -f %M "$EVENTRING" export --to otlp -o much.otlp much.eventring || fail "much"
  bounded "spans that are held" 48000
fi

# The same ids of a window, of a copy, of another export
record --domains 2 --rounds 20 --extras --open --work-us 2
cp "$file" run.eventring
# (of an async span whose begin is before the window they are others)
ids() {
  jq -c '.resourceSpans[].scopeSpans[].spans[]? | select(any(.attributes[]; .key == "eventring.torn") | not)
    | [.name, .traceId, .spanId]' "$1" | sort
}
exported run
ids run.jsonl >all.txt
start=$("$EVENTRING" show --json run.eventring | jq .start_ns)
half=$("$EVENTRING" dump --json run.eventring |
  jq -s --argjson start "$start" '([.[] | select(.kind == "end")] | .[length / 2 | floor].ns - $start) / 1e9')
for window in "--since 0.001" "--until $half" "--domain 1"; do
  # shellcheck disable=SC2086
  exported run $window
  ids run.jsonl >part.txt
  is "ids of $window that the whole has not" "" "$(comm -23 part.txt all.txt)"
  [ -s part.txt ] || fail "$window: nothing"
done
"$EVENTRING" cut -q -o copy.eventring run.eventring || fail "cut"
exported copy
is "ids of a copy" "$(md5sum <all.txt)" "$(ids copy.jsonl | md5sum)"
rm -f both.eventring
"$EVENTRING" merge -q -o both.eventring run.eventring said.eventring || fail "merge"
exported both
is "ids of a merged recording" "" "$(ids both.jsonl | comm -13 - all.txt)"
is "its processes" 2 "$(jq -c '.resourceSpans[].resource' both.jsonl | sort -u | wc -l)"

# Attributes of the process
resource() { # EXPECTED [OPTION...]
  local expected=$1
  shift
  exported said "$@" 2>errors.txt
  is "resource $*" "$expected" "$(jq -r '[.resourceSpans[0].resource.attributes[]
    | select(.key | startswith("telemetry.sdk") or . == "process.pid" | not)
    | "\(.key)=\(.value.stringValue)"] | join(" ")' said.jsonl)"
}
resource "service.name=unknown_service:traced process.executable.name=traced"
export OTEL_RESOURCE_ATTRIBUTES='deployment.environment=a%2Cb%25, team = x ,service.name=from list'
resource "deployment.environment=a,b% team=x service.name=from list process.executable.name=traced"
export OTEL_SERVICE_NAME="shop"
resource "service.name=shop deployment.environment=a,b% team=x process.executable.name=traced"
resource "service.name=own team=y deployment.environment=a,b% process.executable.name=traced" \
  --resource service.name=own,team=y
is "no message" "" "$(cat errors.txt)"
export OTEL_RESOURCE_ATTRIBUTES='a=1,b=%zz'
resource "service.name=shop process.executable.name=traced"
has "message" "OTEL_RESOURCE_ATTRIBUTES is not used" "$(cat errors.txt)"
export OTEL_RESOURCE_ATTRIBUTES='x=1,a=b,a=c,service.name='
unset OTEL_SERVICE_NAME
resource "service.name=unknown_service:traced x=2 y=3 a=c process.executable.name=traced" \
  --resource x=2 --resource y=3
is "no message of these" "" "$(cat errors.txt)"
unset OTEL_RESOURCE_ATTRIBUTES
for wrong in novalue =b a=%00x a=%1 x=1,b=%zz; do
  ends 2 "--resource: must be KEY=VALUE" "$EVENTRING" export --to otlp --resource $wrong -o x.otlp said.eventring
done
ends 2 "--resource goes with" "$EVENTRING" export --to csv --resource a=b -o x.csv said.eventring
[ ! -e x.otlp ] || fail "a file is left"
finish
