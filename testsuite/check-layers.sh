#!/bin/bash
# Proves the arrows eventring <- runtime <- vm <- stdlib <- vm/main.c.
#
#   testsuite/check-layers.sh SOURCE-DIR BUILD-DIR
#
# 1. No file of a layer includes a header of a layer above it.
# 2. No object of a layer refers to a symbol that only a layer above defines.
# 3. libeventring exports eventring_* only, and needs libc and pthread only.
# 4. Every source file is listed in its folder's local.mk.
# Prints each violation; exit status 1 when there is one.

set -u
srcdir=${1:?source directory} builddir=${2:?build directory}
layers=(eventring runtime vm stdlib)
violations=0

violation() { echo "$*"; violations=$((violations + 1)); }

rank() { # of a folder; programs (vm/main.c) stand above all
  local i
  for i in "${!layers[@]}"; do
    [ "${layers[$i]}" = "$1" ] && { echo "$i"; return; }
  done
  echo -1
}

rank_of_file() {
  case $1 in
    vm/main.c | vm/repl*.c) echo "${#layers[@]}" ;;
    *) rank "${1%%/*}" ;;
  esac
}

# Which folder an include resolves to: next to the includer first, then from the top.
folder_of_include() {
  local from=$1 name=$2
  if [ -e "$srcdir/$(dirname "$from")/$name" ]; then
    local real; real=$(realpath -m --relative-to="$srcdir" "$srcdir/$(dirname "$from")/$name")
    echo "${real%%/*}"
  else
    echo "${name%%/*}"
  fi
}

check_includes() {
  local file name mine theirs folder
  while IFS=: read -r file name; do
    mine=$(rank_of_file "$file")
    folder=$(folder_of_include "$file" "$name")
    theirs=$(rank "$folder")
    [ "$theirs" -gt "$mine" ] && violation "$file includes $name of the upper layer $folder"
  done < <(cd "$srcdir" && grep -RHoE --include='*.[ch]' --include='*.def' \
             '^[ \t]*#[ \t]*include[ \t]*["<][^">]+[">]' "${layers[@]}" |
           sed -E 's/:[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]/:\1/')
}

archive() { # of a layer
  case $1 in
    eventring) echo "$builddir/libeventring_host.a" ;;
    *) echo "$builddir/lib$1.a" ;;
  esac
}

symbols() { # undefined|defined, layer
  local filter='$2 ~ /^[TDBRVWCiu]$/'
  [ "$1" = undefined ] && filter='$2 == "U"'
  "${NM:-nm}" -P -g "$(archive "$2")" 2>/dev/null | awk "NF >= 2 && $filter {print \$1}" | sort -u
}

check_symbols() {
  local i j low high scratch
  scratch=$(mktemp -d)
  for i in "${layers[@]}"; do
    [ -e "$(archive "$i")" ] || { violation "$(archive "$i") is not built"; continue; }
    symbols undefined "$i" >"$scratch/$i.undefined"
    symbols defined "$i" >"$scratch/$i.defined"
  done
  for ((i = 0; i < ${#layers[@]}; i++)); do
    low=${layers[$i]}
    for ((j = i + 1; j < ${#layers[@]}; j++)); do
      high=${layers[$j]}
      while read -r symbol; do
        violation "$low refers to $symbol, which the upper layer $high defines"
      done < <(comm -12 "$scratch/$low.undefined" "$scratch/$high.defined" |
               comm -23 - "$scratch/$low.defined")
    done
  done
  rm -rf "$scratch"
}

check_shared_library() {
  local library=$builddir/.libs/libeventring.so
  [ -e "$library" ] || { echo "note: no shared libeventring in this build"; return; }
  while read -r symbol; do
    violation "libeventring exports $symbol"
  done < <("${NM:-nm}" -D --defined-only -P "$library" | awk '$2 != "A" {print $1}' |
           grep -vE '^eventring_')
  while read -r needed; do
    violation "libeventring needs $needed"
  done < <("${READELF:-readelf}" -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
           grep -vE '^(libc|libpthread|libm|ld-linux.*|lib[atu]b?san|libgcc_s)\.so' |
           grep -vE '^lib(asan|ubsan|tsan)\.so')
}

check_lists() {
  local file
  while read -r file; do
    grep -RqF "$file" "$srcdir"/*/local.mk || violation "$file is in no local.mk"
  done < <(cd "$srcdir" && find "${layers[@]}" \( -name '*.[ch]' -o -name '*.def' \) | sort)
}

check_includes
check_symbols
check_shared_library
check_lists
if [ "$violations" -gt 0 ]; then echo "check-layers: $violations violations"; exit 1; fi
echo "check-layers: the arrows hold"
