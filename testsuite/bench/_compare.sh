# What the scripts here that compare saros with a reference have in common; sourced by them.
# The options are those of the script, set before: each variable of `options` is one.
# SPDX-License-Identifier: MIT

# parse_options WORD...: sets the variables, and wanted to what is left
parse_options() {
  local word
  wanted=()
  for word in "$@"; do
    local name=${word%%=*}
    name=${name#--}
    if [[ $word == --*=* && " ${options[*]} " == *" $name "* ]]; then
      printf -v "$name" %s "${word#*=}"
    elif [[ $word == -* ]]; then
      sed -n '/^#   testsuite/,/^#$/s/^# *//p' "$0" >&2
      exit 2
    else
      wanted+=("$word")
    fi
  done
  [ -x "$saros" ] || { echo "$0: no program '$saros' (--saros=PROGRAM)" >&2; exit 2; }
  command -v "${reference%% *}" >/dev/null || { echo "$0: no program '$reference' (Debian package: lua5.4)" >&2; exit 2; }
}

# select_names PROGRAM: sets names to those that PROGRAM lists and the user wanted
select_names() {
  local name glob
  names=()
  for name in $("$saros" "$1"); do
    [ ${#wanted[@]} -eq 0 ] && names+=("$name")
    for glob in "${wanted[@]}"; do
      # shellcheck disable=SC2053
      [[ $name == $glob ]] && { names+=("$name"); break; }
    done
  done
  [ ${#names[@]} -gt 0 ] || { echo "$0: nothing is called ${wanted[*]}" >&2; exit 2; }
}

progress() { if [ -t 2 ]; then printf '\r\033[K%s' "$*" >&2; fi; }
