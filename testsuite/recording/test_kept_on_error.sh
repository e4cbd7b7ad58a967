# SPDX-License-Identifier: MIT
# A recording is kept when its program ends with an error, a status that is not 0, or by a
# fatal signal, and says why; after an orderly end nothing is left.
. "$TESTSUITE/recording/_recording.sh"
export SAROS_EVENTRING_START=1 SAROS_EVENTRING_CLASSES=gc,domain,user,load

# leaves WHAT STATUS REASON DETAIL COMMAND...: one file, that says so
leaves() {
  local what=$1 status=$2 end="$3 $4"
  shift 4
  rm -f ./*.eventring
  "$@" >output.txt 2>errors.txt
  is "$what: status" "$status" $?
  is "$what: files" 1 "$(ls ./*.eventring 2>/dev/null | wc -l)"
  "$EVENTRING" show --json ./*.eventring >show.json 2>show.err || fail "$what: show"
  is "$what: how it ended" "$end" "$(jq -r '"\(.end_reason) \(.end_detail)"' show.json)"
}
error_is() { # WHAT PATTERN...
  local what=$1
  shift
  for pattern; do has "$what: its error" "$pattern" "$(jq -r .error_text show.json)"; done
}
no_error() { is "$1: no error" null "$(jq -r .error_text show.json)"; }
nothing() { # WHAT STATUS COMMAND...
  local what=$1 status=$2
  shift 2
  rm -f ./*.eventring
  "$@" >output.txt 2>errors.txt
  is "$what: status" "$status" $?
  is "$what: files" "" "$(ls ./*.eventring 2>/dev/null)"
}

# ---- Errors ----

cat >error.lua <<'END'
local function inner() error("the end") end
local function outer() inner() end
outer()
END
leaves "an error" 1 exit 1 "$SAROS" error.lua
error_is "an error" "error.lua:1: the end" "stack traceback:" "in upvalue 'inner'"
is_same "an error: what was printed" "$(jq -r .error_text show.json)" "$(sed 's/^.*saros: //' errors.txt)"
for command in "list" "dump ./*.eventring" "stats ./*.eventring" "show ./*.eventring"; do
  # (the pattern is to be expanded)
  has "an error: ${command%% *}" "error.lua:1: the end" "$("$EVENTRING" $command 2>&1)"
  has "an error: ${command%% *}" "exit status 1" "$("$EVENTRING" $command 2>&1)"
done
for command in "list --json" "dump --json ./*.eventring" "stats --json ./*.eventring"; do
  is "an error: $command" "exit 1 true" "$("$EVENTRING" $command |
    jq -r 'select(.error_text and (.path // "" | startswith("/") | not)) |
      "\(.end_reason) \(.end_detail) \(.error_text | contains("the end"))"' | tail -1)"
done
is "an error: the last line of dump" ended "$("$EVENTRING" dump --json ./*.eventring | tail -1 | jq -r .kind)"
is "an error: dump of one event" "" "$("$EVENTRING" dump --name nothing ./*.eventring)"
is "an error: in Lua" "exit 1 error.lua:1: the end" "$(SAROS_EVENTRING_START=0 "$SAROS" - ./*.eventring <<'END' | tr '\t' ' '
  local info = require("eventring").cursor{path = arg[1]}:info()
  print(info.end_reason, info.end_detail, (info.error_text:match("[^\n]*")))
END
)"
"$EVENTRING" snapshot --output copy.saved ./*.eventring 2>/dev/null
error_file=$(ls ./*.eventring)
is "an error: clean" "1 file removed" "$("$EVENTRING" clean "$error_file" | tail -1 | cut -d, -f1)"
has "an error: the copy" "the end" "$("$EVENTRING" show copy.saved)"
rm -f copy.saved

leaves "no memory" 1 exit 1 "$SAROS" -e 'local s = ("x"):rep(1 << 50)'
# the runtime of a sanitizer needs terabytes of addresses, and handles fatal signals itself
grep -q '__[at]san_init' "$SAROS" && sanitized=1 || sanitized=
[ "$sanitized" ] || leaves "no memory for objects" 1 exit 1 sh -c 'ulimit -v 200000; exec "$0" "$@"' "$SAROS" -e '
  local t = {} for i = 1, 1e9 do t[i] = {i, i} end'
[ "$sanitized" ] || error_is "no memory for objects" "not enough memory"
leaves "stack overflow" 1 exit 1 "$SAROS" -e 'local function f() return 1 + f() end f()'
error_is "stack overflow" "stack overflow"
leaves "overflow in a message handler" 1 exit 1 "$SAROS" -e '
  error(setmetatable({}, {__tostring = function(t) return tostring(t) end}))'
leaves "an error with a text of its own" 1 exit 1 "$SAROS" -e '
  error(setmetatable({}, {__tostring = function() return "my text" end}))'
error_is "an error with a text of its own" "my text"
leaves "an error nil" 1 exit 1 "$SAROS" -e 'error()'
error_is "an error nil" "nil"
leaves "a table as an error" 1 exit 1 "$SAROS" -e 'error{}'
error_is "a table as an error" "(error object is a table value)"
leaves "a syntax error" 1 exit 1 "$SAROS" -e 'x ='
error_is "a syntax error" "near"
leaves "no such script" 1 exit 1 "$SAROS" nowhere.lua
error_is "no such script" "nowhere.lua"
leaves "no such module" 1 exit 1 "$SAROS" -l nothing
error_is "no such module" "module 'nothing' not found"
leaves "an error of saros -" 1 exit 1 sh -c 'echo "error(\"in the pipe\")" | "$0" -' "$SAROS"
error_is "an error of saros -" "in the pipe"
leaves "an error on standard input" 0 exit 0 sh -c 'echo "error(\"in the pipe\")" | "$0"' "$SAROS"
error_is "an error on standard input" "in the pipe"
leaves "an error while a variable is closed" 1 exit 1 "$SAROS" -e '
  local c <close> = setmetatable({}, {__close = function() error "at close" end}) error "first"'
error_is "an error while a variable is closed" "at close"
leaves "os.exit in a finalizer after an error" 0 exit 0 "$SAROS" -e '
  X = setmetatable({}, {__gc = function() os.exit(0) end}) error "before the finalizer"'
error_is "os.exit in a finalizer after an error" "before the finalizer"
leaves "an error and kill -9" 137 killed null "$SAROS" -e '
  X = setmetatable({}, {__gc = function() os.execute("kill -9 $PPID; sleep 5") end}) error "noted"'
error_is "an error and kill -9" "noted"

# a long one is cut between characters
leaves "a long error" 1 exit 1 "$SAROS" -e 'error("x" .. ("ä"):rep(3000), 0)'
is "a long error: bytes" "2047 true" \
  "$(jq -r '"\(.error_text | utf8bytelength) \(.error_bytes > 6000)"' show.json)"
is "a long error: characters" "äx" "$(jq -r '.error_text[-1:] + .error_text[:1]' show.json)"
leaves "an error with any bytes" 1 exit 1 "$SAROS" -e 'error("a\27[31m\xff\xc2\x9b\0b", 0)'
is "an error with any bytes" "a?[31m???" "$(jq -r '.error_text | split("\n")[0]' show.json | head -c 9)"

# no flood evicts it
leaves "a flood" 1 exit 1 env SAROS_EVENTRING_WSIZE=11 "$SAROS" -e '
  local e = require "eventring"
  X = setmetatable({}, {__gc = function() for i = 1, 1e5 do e.counter("flood", i) end end})
  error "before the flood"'
error_is "a flood" "before the flood"

# ---- Statuses ----

for how in "3 os.exit(3)" "3 os.exit(3,true)" "1 os.exit(false)" "255 os.exit(-1)" \
    "4 coroutine.wrap(function()os.exit(4)end)()" \
    '5 require"domain".spawn(function()os.exit(5)end):join()'; do
  leaves "${how#* }" "${how%% *}" exit "${how%% *}" "$SAROS" -e "${how#* }"
  no_error "${how#* }"
done
for how in "os.exit()" "os.exit(true,true)" "os.exit(0)" "os.exit(256)" "return" \
    'setmetatable({},{__gc=function()error"x"end})' 'pcall(error,"caught")' \
    'd=require"domain".spawn(function()error"in a domain"end)pcall(d.join,d)'; do
  nothing "$how" 0 "$SAROS" -e "$how"
done
nothing "-v" 0 "$SAROS" -v
nothing "the prompt" 0 sh -c 'printf "error(1)\nx =\n" | "$0" -i' "$SAROS"
leaves "os.exit(3) at the prompt" 3 exit 3 sh -c 'echo "os.exit(3)" | "$0" -i' "$SAROS"

# ---- Signals ----

loop='while true do local t = {} end'
# killed SIGNAL: the status of a program that it ends while the program's own code runs:
# before, SIGINT is no error yet. (A shell starts what runs in the
# background with SIGINT and SIGQUIT ignored, unless it is a job.)
killed() {
  rm -f runs
  (set -m
   "$SAROS" -e "io.open('runs', 'w'):close() $loop" & until_so [ -e runs ] && kill -"$1" $! && wait $!)
}
# who ends a program that hangs wants to know what it did
for end in "TERM 143 15" "HUP 129 1" "INT 1 2"; do
  read -r name status number <<<"$end"
  leaves "SIG$name" "$status" signal "$number" killed "$name"
  has "SIG$name: list" "terminated by SIG$name" "$("$EVENTRING" list)"
  is "SIG$name: it has ended" ended "$(jq -r .liveness show.json)"
done
mkfifo fifo
nothing "SIGTERM that the program handles" 0 bash -c '"$0" -e "
  local ffi = require \"saros.ffi\" ffi.cdef \"void *signal(int n, void *handler);\"
  ffi.C.signal(15, ffi.cast(\"void *\", 1)) io.write(\"ready\\n\") io.flush()
  io.read()" <fifo >ready & exec 3>fifo; until [ -s ready ]; do sleep 0.01; done
  kill -TERM $!; echo >&3; wait $!' "$SAROS"
leaves "SIGINT, caught, and an error later" 1 exit 1 bash -c 'set -m; "$0" -e "
  pcall(load[[while true do end]]) error [[later]]" & sleep 0.3; kill -INT $!; wait $!' "$SAROS"
error_is "SIGINT, caught, and an error later" "later"
ulimit -c 0
for end in "QUIT 3" "ABRT 6" "SEGV 11" "BUS 7" "FPE 8" "ILL 4" "PIPE 13" "USR1 10" "ALRM 14" \
    "SYS 31" "TRAP 5"; do
  [ -z "$sanitized" ] || [[ "ABRT SEGV BUS FPE ILL TRAP" != *${end% *}* ]] || continue
  leaves "SIG${end% *}" $((128 + ${end#* })) signal "${end#* }" killed "${end% *}"
  no_error "SIG${end% *}"
  is "SIG${end% *}: it is dead" dead "$(jq -r .liveness show.json)"
  has "SIG${end% *}: list" "SIG${end% *}" "$("$EVENTRING" list)"
done
leaves "SIGKILL" 137 killed null killed KILL
leaves "a broken pipe" 141 signal 13 bash -c '"$0" -e "
  for i = 1, 1e6 do print(i) end" | true; exit ${PIPESTATUS[0]}' "$SAROS"
if [ ! "$sanitized" ] && "$SAROS" -e 'require "saros.ffi"' 2>/dev/null; then
  leaves "a wild pointer" 139 signal 11 "$SAROS" -e '
    local ffi = require "saros.ffi"
    print(ffi.cast("int *", 16)[0])'
  leaves "abort" 134 signal 6 "$SAROS" -e '
    local ffi = require "saros.ffi" ffi.cdef "void abort(void);" ffi.C.abort()'
fi
SAROS_EVENTRING_PRESERVE=1 leaves "SIGTERM, preserved" 143 signal 15 killed TERM
SAROS_EVENTRING_PRESERVE=1 leaves "an orderly end, preserved" 0 exit 0 "$SAROS" -e 'return'
is "preserved: the last line of dump" lifecycle \
  "$("$EVENTRING" dump --json ./*.eventring | tail -1 | jq -r .kind)"
is "preserved: clean" "0 files removed" "$("$EVENTRING" clean . | tail -1 | cut -d, -f1)"

# ---- Choices ----

export SAROS_EVENTRING_PRESERVE=0
nothing "an error, never kept" 1 "$SAROS" error.lua
export SAROS_EVENTRING_PRESERVE=onerror
leaves "an error, onerror" 1 exit 1 "$SAROS" error.lua
nothing "an orderly end, onerror" 0 "$SAROS" -e 'return'
export SAROS_EVENTRING_START=standby
nothing "a status, standby" 3 "$SAROS" -e 'os.exit(3)'
leaves "an error, standby" 1 exit 1 "$SAROS" error.lua
export SAROS_EVENTRING_START=1
for bad in "PRESERVE=2 0, 1 or onerror" "KEEP=-1 a whole number from 0" "KEEP=x a whole number"; do
  rm -f ./*.eventring
  has "${bad%% *}" "SAROS_EVENTRING_${bad%% *}: must be ${bad#* }" \
    "$(env "SAROS_EVENTRING_${bad%% *}" "$SAROS" -e 'return' 2>&1)"
done
finish
