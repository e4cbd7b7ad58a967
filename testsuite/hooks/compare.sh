#!/bin/bash
# Compares what hooks see of programs (events.lua) under saros and under the reference: each
# call, tail call, return and line, in their order. Count events are not compared: they count
# instructions, which are not those of the reference.
#
#   testsuite/hooks/compare.sh --saros=PROGRAM --reference=PROGRAM [--except=FILE] LUA-FILE...
#
# Lines are compared with 5.4.8 only: older ones have others where a call goes over several lines.
# What the reference does not run to a status of 0 in ten seconds (modules of Saros, say) is left
# out. A line of FILE (default: exceptions.txt) has, between tabs, a file's name, what is left out
# of its logs (an extended regular expression for lines; "all"; or "order": lines may stand in
# another order), and the reason; a file may have several. Logs are kept in the current directory
# where they differ.
# Exit status 1 then, 2 on wrong usage.
# SPDX-License-Identifier: MIT
set -u
here=$(cd "$(dirname "$0")" && pwd)
saros= reference= exceptions=$here/exceptions.txt
while [ $# -gt 0 ]; do
  case $1 in
    --saros=*) saros=$(realpath "$(command -v "${1#*=}")") ;;
    --reference=*) reference=$(realpath "$(command -v "${1#*=}")") ;;
    --except=*) exceptions=${1#*=} ;;
    --*) set -- ;;
    *) break ;;
  esac
  shift
done
[ -x "$saros" ] && [ -x "$reference" ] && [ $# -gt 0 ] ||
  { sed -n '6s/^# *//p' "$0" >&2; exit 2; }

without=^$
case $("$reference" -v) in *" 5.4."[0-7]" "*) without='^line ' ;; esac

# except NAME: what the exceptions say of this file
except() { awk -F '\t+' -v name="$1" '$1 == name { print $2 }' "$exceptions"; }

# watch SECONDS WHO PROGRAM FILE: the log is WHO.log, with its names alone; returns the status
watch() {
  local seconds=$1 status; shift
  local file=$3
  rm -rf run && mkdir run
  (cd run && LUA_PATH="$(dirname "$file")/?.lua;$here/../lua/?.lua;;" \
    timeout $((seconds * ${TEST_SLOWNESS:-1})) "$2" "$here/events.lua" "../$1.log" "$file") \
    >"$1.out" 2>&1 </dev/null
  status=$?
  rm -rf run
  return $status
}

# Of logs that were cut, what both have
same_length() {
  local n
  [ "$(tail -qn 1 reference.log saros.log | sort -u)" = cut ] || return 0
  n=$(wc -l reference.few saros.few | awk 'NR == 1 || $1 < n { n = $1 } END { print n }')
  for who in reference saros; do head -n "$((n - 1))" $who.few >few && mv few $who.few; done
}

compared=0 events=0 left_out=0 differ=0
for file in "$@"; do
  file=$(realpath "$file")
  name=$(basename "$(dirname "$file")")/$(basename "$file")
  pattern=$(except "$name" | grep -v '^order$' | paste -sd '|') order=$(except "$name" | grep '^order$')
  if [ "$pattern" = all ] || ! watch 10 reference "$reference" "$file"; then
    left_out=$((left_out + 1))
    continue
  fi
  watch 60 saros "$saros" "$file"
  status=$?
  for who in reference saros; do
    grep -vE "$without|${pattern:-^$}" $who.log >$who.few
    [ -z "$order" ] || sort -o $who.few $who.few
  done
  same_length
  compared=$((compared + 1)) events=$((events + $(wc -l <saros.few)))
  if [ $status -eq 0 ] && cmp -s reference.few saros.few; then continue; fi
  differ=$((differ + 1))
  echo "FAILED: $name (status $status)"
  diff -U 3 --label reference reference.few --label saros saros.few | head -n 20
  for who in reference saros; do mv $who.few "$(basename "$file" .lua).$who"; done
done
rm -f {reference,saros}.{log,out,few}
echo "hooks: $compared programs compared, $events events, $left_out programs left out, $differ differ"
[ $differ -eq 0 ] && [ $compared -gt 0 ]
