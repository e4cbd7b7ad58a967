#!/bin/bash
# SPDX-License-Identifier: MIT
# A misspelt variable SAROS_... is reported, once and on standard error only; environment.def has
# those that the sources read, and doc/saros.md those for users.
. "$TESTSUITE/_checks.sh"

# warns VARIABLE=VALUE: what is printed on standard error
warns() { env "$1" "$SAROS" -e "print(1)" 2>&1 >out.txt; is "output with $1" 1 "$(cat out.txt)"; }

is "transposed" "warning: no variable SAROS_EVENTRING_STRAT; did you mean SAROS_EVENTRING_START?" \
  "$(warns SAROS_EVENTRING_STRAT=1 | sed 's/^[^ ]* //')"
is "left out" "warning: no variable SAROS_PROFIL; did you mean SAROS_PROFILE?" \
  "$(warns SAROS_PROFIL=calls | sed 's/^[^ ]* //')"
is "in the middle" "warning: no variable SAROS_EVNTRING_START; did you mean SAROS_EVENTRING_START?" \
  "$(warns SAROS_EVNTRING_START=1 | sed 's/^[^ ]* //')"
for other in SAROS_HOME=/x SAROS_=1 SAROS=1 SAROSEVENTRING_START=1 XSAROS_PROFIL=1 \
  SAROS_EVENTRING_TRIGGER= SAROS_HISTORY=; do
  is "$other" "" "$(warns "$other")"
done
is "control characters and length are passed over" "" "$(warns "SAROS_$(printf 'x%.0s' {1..5000})=1")"
is "for whom it only prints help" "" "$(SAROS_PROFIL=1 "$SAROS" --help 2>&1 >/dev/null)"
is "status" 0 "$(SAROS_PROFIL=1 "$SAROS" -e "" 2>/dev/null; echo $?)"

listed=$(sed -n 's/^VARIABLE(\(.*\))$/\1/p' "$SRCDIR/stdlib/environment.def" | sort)
read_in() {
  (cd "$SRCDIR" && grep -hoE '"SAROS_[A-Z_]+"' runtime/*.c vm/*.c stdlib/*.c | tr -d '"' |
     sed 's/^SAROS_//' | grep -vx EVENTRING
   sed -n '/variables\[\]\|static const struct/,/};/p' eventring/producer/config.c |
     grep -oE '\{"[A-Z_]+", parse_' | sed 's/{"\(.*\)",.*/EVENTRING_\1/') | grep -v '^$' | sort -u
}
is "those that the sources read" "$listed" "$(read_in)"
documented=$(grep -ohE '^\| `SAROS_[A-Z_]+`' "$SRCDIR/doc/saros.md" | sed 's/.*SAROS_\(.*\)`/\1/' | sort)
[ "$(wc -w <<<"$documented")" -gt 15 ] || fail "variables of doc/saros.md: $documented"
is "documented ones that are not listed" "" "$(comm -13 <(echo "$listed") <(echo "$documented"))"
finish
