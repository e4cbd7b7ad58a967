#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves the arrows of HACKING.md, folder by folder.
#
#   testsuite/check-layers.sh SOURCE-DIR BUILD-DIR
#
# 1. No file includes a header of a part that its own part does not see. An include is
#    resolved as the compiler does it: next to the file, then along the include path that
#    Makefile.am gives the file's target.
# 2. No object refers to a symbol of a part that its own part does not see. The public
#    functions, eventring_*, are the whole library's: who is not part of the library may
#    call them all. So with luaopen_*: stdlib/init.c lists the libraries, also that of ffi.
# 3. libeventring exports eventring_* only, and needs libc and pthread only. libsaros and the
#    stand-in for liblua5.4 export Lua's C API (libsaros saros_*, too), under their version
#    nodes; they link libeventring and have nothing of it inside. None needs static TLS, of which
#    a program that loads many libraries has none left.
# 4. Every source file is listed in its folder's local.mk.
# Prints each violation; exit status 1 when there is one.

set -u
srcdir=$(realpath "${1:?source directory}") builddir=$(realpath "${2:?build directory}")
violations=0

violation() { echo "$*"; violations=$((violations + 1)); }

# ---- The arrows -----------------------------------------------------------------

# Each part, the target whose include path its files are compiled with, and the parts
# that it sees besides itself. `library`: it is part of libeventring. `base` are the inline
# helpers of format/ that tools see, too. `program` is vm/main.c and the prompt.
parts='
public    libeventring_host_a  -
base      libeventring_host_a  public
format    libeventring_host_a  public base                           library
conditions libeventring_host_a public base format                    library
producer  libeventring_host_a  public base format conditions calls   library
reader    libeventring_host_a  public base format conditions         library
calls     libeventring_host_a  public                                library
symbols   libeventring_host_a  -
self      libeventring_host_a  public format producer reader         library
trigger   libeventring_host_a  public format conditions producer reader self library
analysis  libanalysis_a        public base
remote    libremote_a          public base symbols
export    libexport_a          public base analysis
view      libview_a            public base analysis export
tools     eventring_eventring  public base analysis export remote view
api       libruntime_a         -
runtime   libruntime_a         public api
vm        libvm_a              public symbols api runtime
stdlib    libstdlib_a          public analysis api runtime vm
ffi       libstdlib_a          public api runtime vm stdlib
program   saros                public api runtime vm stdlib ffi
'

# What is allowed for now: "PART FILE" lets the files of a part include that header, and
# call what the source of that name defines. An exception that nobody needs is a violation.
exceptions='
'

# In awk: the part of a file.
part_of='
function part_of(file) {
  if (file ~ /^eventring\/include\//) return "public"
  if (file ~ /^eventring\/format\/(array|copy_file|now|reasons|state_directory|table)\.h$/) return "base"
  if (file ~ /^eventring\/format\//) return "format"
  if (file ~ /^eventring\/conditions\//) return "conditions"
  if (file ~ /^eventring\/trigger\//) return "trigger"
  if (file ~ /^eventring\/producer\//) return "producer"
  if (file ~ /^eventring\/reader\//) return "reader"
  if (file ~ /^eventring\/calls\//) return "calls"
  if (file ~ /^eventring\/symbols\//) return "symbols"
  if (file ~ /^eventring\/self\.c$/) return "self"
  if (file ~ /^eventring\/analysis\//) return "analysis"
  if (file ~ /^eventring\/remote\//) return "remote"
  if (file ~ /^eventring\/export\//) return "export"
  if (file ~ /^eventring\/view\//) return "view"
  if (file ~ /^eventring\/tools\//) return "tools"
  if (file ~ /^include\//) return "api"
  if (file ~ /^runtime\//) return "runtime"
  if (file ~ /^vm\/(main|repl.*|sarosc|program)\.[ch]$/) return "program"
  if (file ~ /^vm\//) return "vm"
  if (file ~ /^stdlib\/ffi\//) return "ffi"
  if (file ~ /^stdlib\//) return "stdlib"
  return ""
}
function read_part(   i) {
  target[$1] = $2
  for (i = 3; i <= NF; i++) {
    sees[$1, $i] = 1
    if ($i == "library") library[$1] = 1
  }
}
function stem(file) { sub(/\.[^.\/]*$/, "", file); return file }
function may_use(part, file) {
  if (part == part_of(file) || (part, part_of(file)) in sees) return 1
  if (!((part, stem(file)) in excepted)) return 0
  used[part " " stem(file)] = 1
  return 1
}
function tell_used(   e) { for (e in used) print "used exception " e }
'

sources() {
  (cd "$srcdir" && find eventring include runtime vm stdlib \
     \( -name '*.[ch]' -o -name '*.def' -o -name '*.hpp' \) | sort)
}

# ---- Includes ---------------------------------------------------------------------

# TARGET FOLDER..., the include path of each target in order.
include_paths() {
  awk '
    /^SEE_[A-Z_]+ *=/ { name = $1; sub(/^[^=]*= */, ""); see[name] = $0 }
    /^[a-z_]+_CPPFLAGS *=/ {
      name = $1
      sub(/_CPPFLAGS$/, "", name)
      sub(/^[^=]*= */, "")
      flags[name] = $0
    }
    END {
      for (target in flags) {
        text = flags[target]
        while (match(text, /\$\(SEE_[A-Z_]+\)/)) {
          name = substr(text, RSTART + 2, RLENGTH - 3)
          text = substr(text, 1, RSTART - 1) see[name] substr(text, RSTART + RLENGTH)
        }
        line = target
        count = split(text, word, " ")
        for (i = 1; i <= count; i++)
          if (sub(/^-I\$\(top_srcdir\)\//, "", word[i])) line = line " " word[i]
        print line
      }
    }' "$srcdir/Makefile.am"
}

# FILE "NAME" or FILE <NAME>, of all sources.
includes() {
  sources | (cd "$srcdir" && xargs grep -HoE '^[ \t]*#[ \t]*include[ \t]*("[^"]+"|<[^>]+>)' |
     sed -E 's/:[ \t]*#[ \t]*include[ \t]*/ /')
}

# Prints violations and the exceptions that were used.
check_includes() {
  awk "$part_of"'
    function normal(path,   step, count, i, kept, left, out) {
      count = split(path, step, "/")
      for (i = 1; i <= count; i++) {
        if (step[i] == "." || step[i] == "") continue
        if (step[i] == ".." && kept > 0) kept--
        else left[++kept] = step[i]
      }
      for (i = 1; i <= kept; i++) out = out (i > 1 ? "/" : "") left[i]
      return out
    }
    function resolve(file, name,   folder, plain, i, count, path) {
      plain = substr(name, 2, length(name) - 2)
      folder = file
      sub(/[^\/]*$/, "", folder)
      if (name ~ /^"/ && normal(folder plain) in exists) return normal(folder plain)
      count = split(paths[target[part_of(file)]], path, " ")
      for (i = 1; i <= count; i++)
        if (normal(path[i] "/" plain) in exists) return normal(path[i] "/" plain)
      return ""
    }
    input == 1 && NF { read_part() }
    input == 2 && NF { excepted[$1, $2] = 1 }
    input == 3 { name = $1; $1 = ""; paths[name] = $0 }
    input == 4 {
      exists[$1] = 1
      if (part_of($1) == "") print $1 " belongs to no part (check-layers.sh)"
    }
    input == 5 {
      header = resolve($1, $2)
      if (header != "" && !may_use(part_of($1), header))
        print $1 " includes " header ": " part_of($1) " does not see " part_of(header)
    }
    END { tell_used() }' \
    input=1 <(echo "$parts") input=2 <(echo "$exceptions") input=3 <(include_paths) \
    input=4 <(sources) input=5 <(includes)
}

# ---- Symbols -----------------------------------------------------------------------

# The object of each source that is built (module ffi may be left out): SOURCE OBJECT.
objects() {
  local source name object
  while read -r source; do
    name=${source##*/}
    for object in "$builddir/${source%/*}"/*-"${name%.c}.o"; do
      case ${object##*/} in testsuite_*) continue ;; esac # compiled into a test
      [ -e "$object" ] && echo "$source $object"
      break
    done
  done < <(sources | grep '\.c$')
}

check_symbols() {
  local scratch; scratch=$(mktemp -d)
  objects >"$scratch/objects"
  cut -d' ' -f2 "$scratch/objects" | xargs "${NM:-nm}" -A -P -g >"$scratch/symbols"
  awk -v without="$(grep -cs '^INTERPRETER = no' "$builddir/Makefile")" "$part_of"'
    function tell_missing(   p) {
      for (p in target)
        if (!(p in built) && p != "public" && p != "base" && p != "api" && p != "ffi" &&
            !(without && p ~ /^(runtime|vm|stdlib|program)$/))
          print "no object of " p " is built"
    }
    input == 1 && NF { read_part() }
    input == 2 && NF { excepted[$1, $2] = 1 }
    input == 3 { source[$2] = $1; built[part_of($1)] = 1 }
    input == 4 {
      sub(/:$/, "", $1)
      if ($3 ~ /^[TDBRVWCiu]$/) definer[$2] = definer[$2] " " source[$1]
      if ($3 == "U" || $3 == "w" || $3 == "v") wanted[source[$1] " " $2] = 1
    }
    END {
      tell_missing()
      for (pair in wanted) {
        split(pair, both, " ")
        mine = part_of(both[1])
        if (!(both[2] in definer)) continue
        if (both[2] ~ /^eventring_/ && !(mine in library)) continue
        if (both[2] ~ /^luaopen_/ && mine == "stdlib") continue
        count = split(definer[both[2]], from, " ")
        allowed = 0
        for (i = 1; i <= count; i++) if (may_use(mine, from[i])) allowed = 1
        if (!allowed)
          print both[1] " refers to " both[2] " of " from[1] ": " mine " does not see " \
                part_of(from[1])
      }
      tell_used()
    }' input=1 <(echo "$parts") input=2 <(echo "$exceptions") input=3 "$scratch/objects" \
       input=4 "$scratch/symbols"
  rm -rf "$scratch"
}

# ---- Both ------------------------------------------------------------------------

check_arrows() {
  local found line
  found=$(check_includes; check_symbols)
  while read -r line; do
    [ -z "$line" ] || violation "$line"
  done < <(grep -v '^used exception ' <<<"$found" | sort)
  while read -r line; do
    grep -qxF "used exception $line" <<<"$found" ||
      violation "the exception \"$line\" of check-layers.sh is not needed any more"
  done < <(grep . <<<"$exceptions")
}

# check_shared_library NAME NODE EXPORTED NEEDED: the last two are patterns, of what is exported
# and of what may be needed besides libc and the compiler's own.
check_shared_library() {
  local name=$1 node=$2 exported=$3 may_need=$4 library=$builddir/.libs/$1.so
  [ -e "$library" ] || { echo "note: no shared $name in this build"; return; }
  while read -r symbol; do
    violation "$name exports $symbol"
  done < <("${NM:-nm}" -D --defined-only -P "$library" | awk '$2 != "A" {print $1}' |
           grep -vE "^($exported)[^@]*@@$node\$")
  while read -r needed; do
    violation "$name needs $needed"
  done < <(needed_by "$library" |
           grep -vE "^(libc|libpthread|libm|ld-linux.*|lib[atu]b?san|libgcc_s$may_need)\.so" |
           grep -vE '^lib(asan|ubsan|tsan)\.so')
  ! "${READELF:-readelf}" -d "$library" | grep -q STATIC_TLS || violation "$name needs static TLS"
}

needed_by() { "${READELF:-readelf}" -d "$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p'; }

# One copy of libeventring in a process: who embeds Lua has it from the shared library.
check_links_eventring() {
  local library=$builddir/.libs/$1.so
  [ -e "$library" ] || return 0
  needed_by "$library" | grep -q '^libeventring\.so' || violation "$1 does not link libeventring"
  while read -r symbol; do
    violation "$1 has $symbol of libeventring inside"
  done < <("${NM:-nm}" --defined-only -P "$library" | awk '$1 ~ /^evr_/ {print $1}')
}

check_lists() {
  local file
  while read -r file; do
    violation "$file is in no local.mk"
  done < <(cat "$srcdir"/*/local.mk | awk 'input == 1 { sources[++count] = $1 }
    input == 2 { lists = lists " " $0 }
    END { for (i = 1; i <= count; i++) if (!index(lists, sources[i])) print sources[i] }' \
    input=1 <(sources) input=2 -)
}

check_arrows
api='lua_|luaL_|luaopen_'
check_shared_library libeventring EVENTRING_1 eventring_ ''
check_shared_library libsaros SAROS_1 "$api|saros_" '|libffi|libeventring'
check_shared_library liblua5.4 LUA_5.4 "$api" '|libffi|libeventring'
check_links_eventring libsaros
check_links_eventring liblua5.4
check_lists
if [ "$violations" -gt 0 ]; then echo "check-layers: $violations violations"; exit 1; fi
echo "check-layers: the arrows hold"
