# SPDX-License-Identifier: MIT
# The page of `eventring serve` in Chromium: it has the figures of `top`, which come in a stream; a
# process that dies meanwhile, and a name that is markup.
. "$TESTSUITE/tools/_tools.sh"
"$EVENTRING" serve --listen unix:nowhere/s 2>built.txt
if grep -q "built without" built.txt; then echo "built without libmicrohttpd (Debian package: libmicrohttpd-dev)"; exit 77; fi
command -v chromium >/dev/null || { echo "chromium is missing (Debian package: chromium)"; exit 77; }
command -v node >/dev/null || { echo "node is missing (Debian package: nodejs)"; exit 77; }
export SAROS_EVENTRING_PREFIX=$PWD
echo 'while true do local t = {} end' >busy.lua
echo 'io.read()' >'<b>evil.lua'
SAROS_EVENTRING_START=1 "$SAROS" busy.lua &
busy=$!
mkfifo input
exec 3<>input
SAROS_EVENTRING_START=1 "$SAROS" '<b>evil.lua' <input &
still=$!
await $busy
await $still
"$EVENTRING" serve --listen 127.0.0.1:0 >serve.txt 2>errors.txt &
server=$!
trap 'kill -9 $busy $still $server 2>/dev/null' EXIT
serves() { [ -s serve.txt ]; }
until_so serves || fail "it does not serve: $(cat errors.txt)"
at=$(sed -n 's/^serving on //p' serve.txt)
is "what is wrong" "done" "$(node "$TESTSUITE/view/_serve.mjs" chromium "$at" "$PWD" $busy $still "kill -9 $busy" 2>&1)"
finish
