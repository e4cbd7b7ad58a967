# SPDX-License-Identifier: MIT
# No text that others chose gets to a terminal as it is: names of files and directories, of
# programs, domains, events and classes, payloads, arguments, the environment. Every
# subcommand of commands.def runs over hostile ones, and so does saros with its warnings.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
helper=$TESTSUITE/tools/_foreign_text.py
PATH=$PATH:/bin
unset LC_ALL

# hostile SIZE AT: bytes in a variable, which $() would not change but for a newline at the end
hostile() { python3 "$helper" name "$1" "$2"; }

# shows_harmless COMMAND...: whatever its status, its output has nothing hostile. The outputs
# are checked at the end, all at once.
runs=0
mkdir outputs
shows_harmless() {
  runs=$((runs + 1))
  timeout $PATIENCE "$@" >outputs/$runs 2>&1 </dev/null
  local status=$?
  [ $status -ne 124 ] && [ $status -lt 128 ] || fail "status $status: $(printf '%q ' "$@")"
  printf '%q ' "${@##*/}" >outputs/$runs.command
}

python3 "$helper" write hostile.eventring || { fail "no recording"; finish; }
# The three have all that is hostile. Builds with sanitizers find what is done with such texts,
# not which of them gets through: these take the one with what is not UTF-8.
places="0 34 67"
[ "$TEST_SLOWNESS" -eq 1 ] || places=67
arguments=()
for at in $places; do arguments+=("$(hostile 136 "$at")x"); done

# Directories of hostile names, with files that have such names too: readable ones, one that
# is none, and one that is damaged
directories=()
for argument in "${arguments[@]}"; do
  mkdir "$argument" || continue
  directories+=("$argument")
  cp hostile.eventring "$argument/$argument.eventring"
  cp hostile.eventring "$argument/1.eventring"
  echo "no recording" >"$argument/no-$argument.eventring"
  cp hostile.eventring "$argument/damaged-$argument.eventring"
  printf '\x77' | dd of="$argument/damaged-$argument.eventring" bs=1 seek=4096 conv=notrunc \
    status=none
done
[ ${#directories[@]} -eq "$(wc -w <<<"$places")" ] || fail "directories: ${#directories[@]}"

# ---- What only one of the subcommands has

# Of a host whose functions lie in a file of a hostile name
sampled=$PWD/sampled.eventring
HEAP_EVENTRING_START=1 HEAP_EVENTRING_PRESERVE=1 HEAP_EVENTRING_NAME=sampled \
  "$BUILDDIR/testsuite/tools/sample_heap" --collections 2 --source "${arguments[0]}" >/dev/null ||
  fail "no heap profile"
directory=${directories[0]} file=${directories[0]}/1.eventring
run_list() {
  shows_harmless "$EVENTRING" list "${directories[@]}"
  shows_harmless "$EVENTRING" list --json "${directories[@]}"
}
run_show() { :; }
run_top() {
  shows_harmless "$EVENTRING" top --once "$file"
  for argument in "${arguments[@]}"; do
    for option in --filter --by --interval; do
      shows_harmless "$EVENTRING" top --once $option "$argument" "$file"
    done
    shows_harmless "$EVENTRING" top --once "$argument/1.eventring"
    shows_harmless "$EVENTRING" top --once --json "$argument/1.eventring"
  done
}
run_dump() {
  for argument in "${arguments[@]}"; do
    for option in --ring --class --name --time --domain --seconds; do
      shows_harmless "$EVENTRING" dump $option "$argument" "$file"
    done
  done
  shows_harmless "$EVENTRING" dump --follow --seconds 0.01 "$file"
  shows_harmless "$EVENTRING" dump --time wall "$file"
}
run_profile() {
  for argument in "${arguments[@]}"; do
    shows_harmless "$EVENTRING" profile --callers "$argument" "$file"
    shows_harmless "$EVENTRING" profile --by "$argument" "$file"
    shows_harmless "$EVENTRING" profile --perf "$argument" "$file"
  done
}
run_stats() {
  for argument in "${arguments[@]}"; do
    shows_harmless "$EVENTRING" stats -o "no/$argument" "$file"
    shows_harmless "$EVENTRING" stats --env-prefix "$argument" -- true
  done
}
run_question() { # of a command with a file that others named
  for argument in "${arguments[@]}"; do
    shows_harmless "$EVENTRING" "$1" "$argument/1.eventring"
    shows_harmless "$EVENTRING" "$1" --json --top 100 "$argument/1.eventring"
    shows_harmless "$EVENTRING" "$1" --domain "$argument" "$file"
  done
}
run_pauses() { run_question pauses; }
run_spans() {
  run_question spans
  for argument in "${arguments[@]}"; do
    for option in --class --name; do shows_harmless "$EVENTRING" spans $option "$argument" "$file"; done
  done
}
run_sql() {
  for argument in "${arguments[@]}"; do
    shows_harmless "$EVENTRING" sql "$file" "select * from spans limit 20; select * from events limit 20"
    shows_harmless "$EVENTRING" sql --json "$file" "select * from events where kind = 'event' limit 20"
    shows_harmless "$EVENTRING" sql "$argument/1.eventring" "select * from domains"
    shows_harmless "$EVENTRING" sql "$file" "select 1 as '$argument'"
    shows_harmless "$EVENTRING" sql "$file" "$argument"
  done
}
run_view() {
  for argument in "${arguments[@]}"; do
    rm -f page.html
    shows_harmless "$EVENTRING" view -o page.html "$argument/1.eventring"
    shows_harmless "$EVENTRING" view -o "no/$argument" "$file"
    shows_harmless "$EVENTRING" view --domain "$argument" "$file"
  done
}
run_retain() { run_question retain; }
run_coroutines() { run_question coroutines; }
run_memory() {
  for argument in "${arguments[@]}"; do
    shows_harmless "$EVENTRING" memory "$argument/1.eventring"
    shows_harmless "$EVENTRING" memory --json "$argument/1.eventring"
    shows_harmless "$EVENTRING" memory --domain "$argument" "$file"
  done
}
run_autopsy() { run_question autopsy; }
run_check() {
  for argument in "${arguments[@]}"; do
    shows_harmless "$EVENTRING" check -e "count(\"$argument\") == 1" "$file"
    shows_harmless "$EVENTRING" check --json -e "lost == 0; p50(\"$argument\") < 1" "$file"
    shows_harmless "$EVENTRING" check "$argument" "$file"
    shows_harmless "$EVENTRING" check -e "lost == 0" "$argument/1.eventring"
    shows_harmless "$EVENTRING" check -e "lost == 0" --env-prefix "$argument" -- true
  done
}
run_diff() {
  for argument in "${arguments[@]}"; do
    shows_harmless "$EVENTRING" diff "$argument/1.eventring" "$argument/$argument.eventring"
    shows_harmless "$EVENTRING" diff --json "$argument/1.eventring" "$argument/1.eventring"
    shows_harmless "$EVENTRING" diff "$argument" "$file"
    shows_harmless "$EVENTRING" diff --heap --by "$argument" "$sampled" "$sampled"
    shows_harmless "$EVENTRING" diff --heap "$argument/1.eventring" "$sampled"
    shows_harmless "$EVENTRING" diff --profile "$argument/1.eventring" "$sampled"
    jq -n --arg name "$argument" '{source: "samples", by: "function", total: {ns: 1, samples: 1},
      rows: [{name: $name, source: $name, exclusive_ns: 1}]}' >samples.json
    shows_harmless "$EVENTRING" diff --profile samples.json samples.json
    shows_harmless "$EVENTRING" diff --profile --json samples.json samples.json
  done
}
run_heap() {
  run_question heap
  for argument in "${arguments[@]}"; do
    shows_harmless "$EVENTRING" heap --by "$argument" "$file"
    shows_harmless "$EVENTRING" heap --to "$argument" "$file"
    shows_harmless "$EVENTRING" heap -o "no/$argument" "$sampled"
    shows_harmless "$EVENTRING" heap --to folded -o "no/$argument" "$sampled"
    for by in stack line function span domain; do
      shows_harmless "$EVENTRING" heap --by $by "$sampled"
      shows_harmless "$EVENTRING" heap --by $by --json "$sampled"
    done
  done
}
run_export() {
  run_question export
  for argument in "${arguments[@]}"; do
    shows_harmless "$EVENTRING" export --to "$argument" -o x "$sampled"
    for format in chrome perfetto csv sqlite otlp otlp_json; do
      shows_harmless "$EVENTRING" export --to $format -o "no/$argument" "$file"
      shows_harmless "$EVENTRING" export --to $format -o "out-$argument.$format" "$argument/1.eventring"
    done
    shows_harmless "$EVENTRING" export --to otlp --resource "$argument" -o "out-$argument.otlp" "$file"
    shows_harmless "$EVENTRING" export --to pprof -o "no/$argument" "$sampled"
    shows_harmless "$EVENTRING" export --to pprof -o "$directory/1.eventring" "$sampled"
  done
}
run_snapshot() {
  for argument in "${arguments[@]}"; do
    shows_harmless "$EVENTRING" snapshot -o "no/$argument" "$file"
    shows_harmless "$EVENTRING" snapshot -o "$directory/1.eventring" "$file"
    shows_harmless "$EVENTRING" snapshot -o "copy-$argument" "$argument/1.eventring"
    shows_harmless "$EVENTRING" show "copy-$argument"
  done
}
run_record() {
  for argument in "${arguments[@]}"; do
    shows_harmless "$EVENTRING" record -o "no/$argument" "$file"
    shows_harmless "$EVENTRING" record -o "$directory/1.eventring" "$file"
    shows_harmless "$EVENTRING" record -o "kept-$argument" "$file"
    shows_harmless "$EVENTRING" record -o "kept-$argument" -w "$argument" "$file"
    shows_harmless "$EVENTRING" show "kept-$argument"
  done
}
run_stack() {
  for argument in "${arguments[@]}"; do shows_harmless "$EVENTRING" stack "$argument"; done
}
run_merge() {
  for argument in "${arguments[@]}"; do
    shows_harmless "$EVENTRING" merge -o "no/$argument" "$file"
    shows_harmless "$EVENTRING" merge -o "$directory/1.eventring" "$file"
    shows_harmless "$EVENTRING" merge --clock "$argument" -o "one-$argument" "$file"
    shows_harmless "$EVENTRING" merge -o "merged-$argument" "$file" "$argument/1.eventring"
    shows_harmless "$EVENTRING" merge -o "twice-$argument" "$argument/1.eventring" "$argument/1.eventring"
    for command in show "show --json" "dump --json" stats; do
      shows_harmless "$EVENTRING" $command "merged-$argument"
    done
  done
}

run_cut() {
  for argument in "${arguments[@]}"; do
    shows_harmless "$EVENTRING" cut --since 0 -o "no/$argument" "$file"
    shows_harmless "$EVENTRING" cut --since 0 -o "$directory/1.eventring" "$file"
    shows_harmless "$EVENTRING" cut --since 0 -o "part-$argument" "$argument/1.eventring"
    shows_harmless "$EVENTRING" show "part-$argument"
    shows_harmless "$EVENTRING" cut -o "sound-$argument" "$argument/damaged-$argument.eventring"
    shows_harmless "$EVENTRING" show "sound-$argument"
  done
}
run_strip() {
  for argument in "${arguments[@]}"; do
    for option in "" --keep-names; do
      shows_harmless "$EVENTRING" strip $option -o "bare$option-$argument" "$argument/1.eventring"
      shows_harmless "$EVENTRING" show "bare$option-$argument"
    done
  done
}
run_control() {
  for argument in "${arguments[@]}"; do
    shows_harmless "$EVENTRING" control --status "$argument/1.eventring"
    shows_harmless "$EVENTRING" control --status --json "$argument/1.eventring"
    shows_harmless "$EVENTRING" control --enable "$argument" "$file"
    shows_harmless "$EVENTRING" control --pause "$argument/1.eventring"
    shows_harmless "$EVENTRING" control --snapshot "no/$argument" "$file"
  done
}
run_metrics() {
  for argument in "${arguments[@]}"; do
    shows_harmless "$EVENTRING" metrics --max-series "$argument"
    shows_harmless "$EVENTRING" metrics --every "$argument"
    shows_harmless "$EVENTRING" metrics -o "no/$argument/x.prom"
  done
}
run_serve() {
  for argument in "${arguments[@]}"; do
    shows_harmless "$EVENTRING" serve --listen "$argument"
    shows_harmless "$EVENTRING" serve --listen "unix:no/$argument/socket"
    shows_harmless "$EVENTRING" serve --max-series "$argument"
  done
}
run_clean() {
  for argument in "${arguments[@]}"; do
    shows_harmless "$EVENTRING" clean --dry-run "$argument"
    shows_harmless "$EVENTRING" clean "$argument/1.eventring"
  done
}

# ---- All of them; `clean` last, which removes the files

commands=$(python3 "$helper" commands "$TESTSUITE/../eventring/tools/commands.def")
has "commands.def" clean "$commands"
for command in ${commands/clean/} clean; do
  before=$runs
  for argument in "${arguments[@]}"; do
    for options in "" --json --status; do
      for operand in "$argument" "$argument/$argument.eventring" "$argument/1.eventring" \
                     "$argument/no-$argument.eventring" "$argument/damaged-$argument.eventring"; do
        [ $command = clean ] && [ "$operand" != "$argument" ] && continue
        shows_harmless "$EVENTRING" $command $options "$operand"
      done
    done
    shows_harmless "$EVENTRING" $command "--$argument"
    shows_harmless "$EVENTRING" $command "-$argument"
    shows_harmless "$EVENTRING" $command "$argument" "$argument"
    shows_harmless "$EVENTRING" $command -- "./$argument"
    [ $command = serve ] || # which would not end
      SAROS_EVENTRING_PREFIX=$argument shows_harmless "$EVENTRING" $command
  done
  [ "$(type -t run_$command)" = function ] || { fail "say in this test how $command is used"; continue; }
  run_$command
  [ $runs -gt $((before + 7 * ${#arguments[@]})) ] || fail "$command: $((runs - before)) runs"
done
for argument in "${arguments[@]}"; do
  shows_harmless "$EVENTRING" "$argument"
done

# ---- A process that records to such a directory, and what it and its readers say

for directory in "${directories[@]}"; do # with a newline a live file is not found
  [[ $directory == *$'\n'* ]] || break
done
printf 'io.write("runs\\n") io.flush() io.read()\n' >"$directory/$directory.lua"
mkfifo input
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PREFIX=$directory "$SAROS" "$directory/$directory.lua" \
  <input >output.txt 2>&1 &
pid=$!
exec 3>input
await $pid
for options in "list $directory" "list" "show $pid" "control --status $pid" \
               "control --status --json $pid" "control --enable gc,$directory $pid"; do
  # no hostile character is a blank
  IFS=' ' read -r -a words <<<"$options"
  SAROS_EVENTRING_PREFIX=$directory shows_harmless "$EVENTRING" "${words[@]}"
done
shows_harmless "$EVENTRING" stats --seconds 0.05 $pid
exec 3>&-
wait $pid

for argument in "${arguments[@]}"; do
  for name in START PREFIX PRESERVE WSIZE CLASSES NAME; do
    shows_harmless env SAROS_EVENTRING_START=1 "SAROS_EVENTRING_$name=no/$argument" \
      "$SAROS" -e 'return 1'
  done
done
cat >lost.lua <<'END'
local d = require "domain".spawn(function() error("\x1b[31m\xe2\x80\xae\x9b\n", 0) end)
d = nil
collectgarbage() collectgarbage()
END
shows_harmless "$SAROS" lost.lua
has "an error that nobody reads" 'not joined: \x1B[31m\xE2\x80\xAE' "$(cat outputs/$runs)"
python3 "$helper" check outputs || fail "what is shown"
echo "$runs runs"
finish
