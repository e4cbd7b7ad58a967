# SPDX-License-Identifier: MIT
# What holds for each command, and is not to be forgotten with a new one: help with examples on a
# page, misspelt options in a line that says what was meant, completion of all options by bash
# and zsh as they are installed, all options in its manual page, no colours.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
commands=$(sed -n 's/^COMMAND(\([a-z]*\),.*/\1/p' "$SRCDIR/eventring/tools/commands.def")
[ "$(wc -w <<<"$commands")" -gt 20 ] || fail "the commands: $commands"
PATH=$(dirname "$EVENTRING"):$PATH
. "$BUILDDIR/eventring/completion/eventring"

# completes WORD...: the last one, by bash and by zsh
completes_bash() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _eventring
  printf '%s\n' "${COMPREPLY[@]}"
}
completes_zsh() {
  zsh -f -c '
    _describe() { local name=${@[-1]}; print -rl -- ${${(P)name}%%:*}; }
    _files() { : }
    words=("$@") CURRENT=$# PREFIX=${@[-1]}
    source "$0"' "$BUILDDIR/eventring/completion/_eventring" "$@"
}
shells=bash
if command -v zsh >/dev/null; then shells="bash zsh"; fi
for shell in $shells; do
  is_same "commands, $shell" "$(sort <<<"$commands")" \
    "$(completes_$shell eventring "" | grep -v -e '^--' -e '^help$' | sort)"
done

for command in $commands; do
  "$EVENTRING" $command --help >help.txt || fail "$command --help: $?"
  options=$(sed -n 's/^  \(-., \|    \)\(--[a-z0-9-]*\).*/\2/p' help.txt)
  has "options of $command" "--help" "$options"
  has "help of $command" "Examples:" "$(cat help.txt)"
  is "wide lines of $command --help" "" "$(LC_ALL=C.UTF-8 awk 'length > 80' help.txt)"
  for shell in $shells; do
    is_same "options of $command, $shell" "$(sort <<<"$options")" \
      "$(completes_$shell eventring $command -- | sort)"
  done
  page=$(sed 's/\\f[A-Z]//g; s/\\//g' "$BUILDDIR/doc/eventring-$command.1")
  for option in $options; do
    [[ $option == --help || $page =~ $option([^a-z-]|$) ]] ||
      fail "$option is not in the manual page of $command"
    misspelt=${option%?}q
    status=0
    said=$("$EVENTRING" $command "$misspelt" 2>&1 >/dev/null) || status=$?
    is "status of $command $misspelt" 2 $status
    is "lines of $command $misspelt" 1 "$(wc -l <<<"$said")"
    has "$command $misspelt" "no option \`$misspelt'" "$said"
    [ ${#option} -lt 6 ] || has "$command $misspelt" "did you mean \`--" "$said"
  done
done

# on a terminal, too, there are no colours, and nothing else that moves it but lines that replace
# each other
record --rounds 50
cat >terminal.py <<'PY'
import os, pty, sys
written = bytearray()


def read(fd):
    data = os.read(fd, 65536)
    written.extend(data)
    return data


os.environ["TERM"] = "xterm-256color"
for words in (["list", os.path.dirname(sys.argv[2])], ["show", sys.argv[2]], ["stats", sys.argv[2]],
              ["pauses", sys.argv[2]], ["spans", sys.argv[2]], ["autopsy", sys.argv[2]],
              ["dump", sys.argv[2]], ["--help"], ["stast"]):
    pty.spawn([sys.argv[1], *words], read)
bad = {byte for byte in written if byte < 32} - {10, 13}
print(len(written), bad)
sys.exit(bool(bad) or len(written) < 1000)
PY
python3 terminal.py "$EVENTRING" "$file" >terminal.txt 2>&1 </dev/null ||
  fail "control characters on a terminal: $(tail -1 terminal.txt)"
finish
