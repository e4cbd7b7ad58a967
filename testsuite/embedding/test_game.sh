# SPDX-License-Identifier: MIT
# examples/game: no step of the collector in what a frame computes, memory within the budget.
[ -x "$SAROS" ] || { echo "there is no interpreter in this build"; exit 77; }
. "$TESTSUITE/tools/_installed.sh"

example=$(find "$PWD/root" -type d -path '*/examples/game')
cp -r "$example" game
make -C game CC=cc CFLAGS="-O1 -Wall -Wextra -Werror" \
  LDFLAGS="-Wl,-rpath,$(dirname "$pkgconfig")" >make.txt 2>&1 ||
  { cat make.txt; fail "make in examples/game: $?"; finish; }
cd game || finish
play() { # OPTION...: sets `frames` and others
  ./game --hz 200 "$@" >counts.txt || fail "game $*: $?"
  while read -r name number; do printf -v "$name" %s "$number"; done <counts.txt
}
play --frames 100
is "frames" 100 "$frames"
is "no budget exceeded" 0 "$shed"
is "no file" 0 "$(ls -- *.eventring 2>/dev/null | wc -l)"

# Labels are dropped when they exceed the budget: 30 kB a frame until then.
play --frames 200 --budget-kb 1200
[ "$shed" -ge 1 ] || fail "never above the budget: $(cat counts.txt)"
[ "$most_kb" -le 2200 ] || fail "far above the budget: $(cat counts.txt)"
[ "$last_kb" -le 1200 ] || fail "above the budget at the end: $(cat counts.txt)"

# A cap: labels grow until Lua gets no more; the frame is over, they are dropped, the game goes on.
play --frames 200 --cap-kb 1000
[ "$refused" -ge 1 ] || fail "never at the cap: $(cat counts.txt)"
[ "$held_most_kb" -le 1000 ] || fail "above the cap: $(cat counts.txt)"
is "frames with a cap" 200 "$frames"
is "held after lua_close" 0 "$held_last_kb"
play --frames 50 --cap-kb 100000
is "refused with a cap far away" 0 "$refused"

export SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1
play --frames 60
"$EVENTRING" dump --json ./*.eventring >dump.json || fail "dump: $?"
# of the steps of the collector: where they began
within() {
  jq -r 'select(.kind == "begin" or .kind == "end") | [.kind, .name] | @tsv' dump.json | awk -v span="$1" '
    $2 == span { inside = $1 == "begin"; if (inside) spans++ }
    $1 == "begin" && ($2 == "minor" || $2 == "major_slice") { if (inside) steps++ }
    END { print spans + 0, (steps > 0 ? "some" : "none") }'
}
is "in updates" "60 none" "$(within update)"
[ "$steps" = 0 ] || is "in the idle part" "60 some" "$(within idle)"
ends 1 "cannot open missing.lua" ./game missing.lua
ends 2 "usage: game" ./game --frames
finish
