# SPDX-License-Identifier: MIT
# However a program of several domains ends, all of them end first: the file is ended in
# order, with the end of each domain in it, and the status is right.
. "$TESTSUITE/faults/_faults.sh"
cat >ending.lua <<'END'
local domain = require "saros.domain"
local how = ...
local channel, started = domain.channel(), domain.channel()
local handles = {}
for i = 1, 2 do
  handles[i] = domain.spawn(function()
    started:send(true)
    local t = {}
    while true do t = {t[1]} end
  end)
end
for i = 3, 4 do
  handles[i] = domain.spawn(function()
    local closed <close> = setmetatable({}, {__close = function() io.open("closed" .. i, "w"):close() end})
    started:send(true)
    channel:receive()
  end)
end
for i = 1, 4 do started:receive() end
if how == "exit" then os.exit(3)
elseif how == "exit and close" then os.exit(4, true)
elseif how == "exit of another" then
  domain.spawn(function() os.exit(5) end)
  while true do end
elseif how == "exits of several" then
  for i = 1, 5 do domain.spawn(function() os.exit(6) end) end
  channel:receive()
elseif how == "exit of another, joined" then domain.spawn(function() os.exit(7, true) end):join()
elseif how == "error" then error("the end")
elseif how == "stubborn" then
  domain.spawn(function()
    started:send(true)
    while true do pcall(function() while true do end end) end
  end)
  started:receive()
  os.exit(8)
elseif how == "return" then
  handles[1]:cancel()
  handles[2]:cancel()
  return
end
io.open("ready", "w"):close()
if how == "wait" then channel:receive() end
if how == "match" then (("a"):rep(60)):find(("a?"):rep(60) .. ("a"):rep(60) .. "b") end
while true do end
END

export SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1
# ends STATUS HOW [SIGNAL]
ends() {
  rm -f ready closed* ./*.eventring
  "$SAROS" ending.lua "$2" >out.txt 2>&1 &
  pid=$!
  if [ -n "${3-}" ]; then
    until_so [ -e ready ]
    kill -"$3" $pid
  fi
  wait $pid
  is "$2 ${3-}: status" "$1" $?
  is "$2 ${3-}: closed variables" 2 "$(ls closed* 2>/dev/null | wc -l)"
  "$EVENTRING" dump --json ./*.eventring >dump.json || fail "$2 ${3-}: dump"
  is "$2 ${3-}: liveness" '"ended"' "$("$EVENTRING" show --json ./*.eventring | jq .liveness)"
  is "$2 ${3-}: domains that began but did not end" "" \
    "$(jq -rs '([.[] | select(.name == "domain_spawn") | .value] - [.[] | select(.name == "domain_terminate") | .value])[]' dump.json)"
  is "$2 ${3-}: domains" true \
    "$(jq -s '[.[] | select(.name == "domain_spawn")] | length >= 4' dump.json)"
}
ends 3 exit
ends 4 "exit and close"
ends 5 "exit of another"
ends 6 "exits of several"
ends 7 "exit of another, joined"
ends 1 error
ends 8 stubborn
ends 0 return
ends 143 loop TERM
ends 143 wait TERM
ends 129 wait HUP
ends 1 loop INT
ends 1 wait INT
has "interrupted while it waits" "interrupted!" "$(cat out.txt)"
ends 1 match INT
has "interrupted in a function of C" "interrupted!" "$(cat out.txt)"
unset SAROS_EVENTRING_START SAROS_EVENTRING_PRESERVE

# An error that nobody received is a warning at the end; other ends are none.
"$SAROS" -e 'local domain = require "saros.domain"
  local slow = setmetatable({}, {__gc = function() domain.sleep(0.05) end}) -- after the channel is gone
  domain.spawn({name = "lost"}, function() error("nobody listens") end)
  local h = domain.spawn(function() error("told") end)
  pcall(h.join, h)
  local c = domain.channel()
  domain.spawn(function() c:receive() end)
  domain.spawn(function() while true do end end):cancel()' >out.txt 2>&1
is "warnings: status" 0 $?
is "warnings" 1 "$(grep -c '^saros: warning: domain' out.txt)"
has "warning" "saros: warning: domain 1 (lost) ended with an error, and was not joined: (command line):3: nobody listens" "$(cat out.txt)"
is "warning: lines of the traceback" 1 "$(grep -c '^stack traceback:$' out.txt)"

# Domains that wait for each other when main has been closed are cancelled before that:
# what closes their variables is left in peace.
cat >waiting.lua <<'END'
local domain = require "saros.domain"
local ballast = {} -- so that closing main takes its time
for i = 1, 100000 do ballast[i] = {i} end
local channel, started = domain.channel(), domain.channel()
for i = 1, 2 do
  domain.spawn(function()
    local closed <close> = setmetatable({}, {__close = function(_, why)
      domain.sleep(0.05)
      local file <close> = io.open("closed" .. i, "w")
      file:write(tostring(why))
    end})
    started:send(true)
    channel:receive()
  end)
end
for i = 1, 2 do started:receive() end
if ... == "error" then error("the end") else os.exit(3, true) end
END
for how in error exit; do
  rm -f closed*
  "$SAROS" waiting.lua $how 2>out.txt
  is "waiting, $how: closed variables" 2 "$(cat closed* | grep -o "domain was cancelled" | wc -l)"
done

# Of domains that end because the program does nothing is printed, however they wait, and
# whoever waits for them: a join of one that was cancelled, a channel that is orphaned now.
cat >quiet.lua <<'END'
local domain = require "saros.domain"
local how = ...
warn "@on"
local started, channel, full = domain.channel(20), domain.channel(), domain.channel()
local function waits() started:send(true) channel:receive() end
domain.spawn(function() end):join() -- `joiner` joins one that has its place, before its own
local joiner = domain.spawn(function()
  local inner = domain.spawn(waits)
  started:send(true)
  inner:join()
end)
local receiver = domain.spawn(waits)
local others = {
  function() started:send(true) domain.select {channel, domain.channel()} end,
  function() started:send(true) full:send(1) end,
  function() started:send(true) domain.sleep(1000) end,
  function() started:send(true) while true do end end,
  function() coroutine.wrap(waits)() end,
  function() started:send(true) domain.pool(2):map(function() domain.sleep(1000) end, {1, 2}) end,
  function()
    setmetatable({}, {__gc = function() started:send(true) domain.sleep(1000) end})
    collectgarbage()
  end,
  function()
    local closed <close> = setmetatable({}, {__close = function() channel:receive() end})
    waits()
  end,
}
for _, other in ipairs(others) do domain.spawn(other) end
for i = 1, #others + 2 do started:receive() end
if how == "exit" then os.exit(8) end
if how == "exit and close" then os.exit(8, true) end
if how == "error" then error("the end", 0) end
local closes = how:find "closes" and true
if how:find "another" then domain.spawn(function() os.exit(8, closes) end) end
io.open("ready", "w"):close()
if how:find "joiner" then joiner:join() end
if how:find "receiver" then receiver:join() end
if how:find "channel" then channel:receive() end
if how:find "select" then domain.select {channel} end
if how:find "sleep" then domain.sleep(1000) end
if how:find "pool" then domain.pool(2):map(function() domain.sleep(1000) end, {1, 2}) end
while true do end
END
# quiet STATUS HOW [SIGNAL]
quiet() {
  rm -f ready
  "$SAROS" quiet.lua "$2" >out.txt 2>&1 &
  pid=$!
  if [ -n "${3-}" ]; then
    until_so [ -e ready ]
    kill -"$3" $pid
  fi
  wait $pid
  is "quiet, $2 ${3-}: status" "$1" $?
  is "quiet, $2 ${3-}: output" "${4-}" "$(cat out.txt)"
}
quiet 8 exit
quiet 8 "exit and close"
for main in joiner receiver channel select sleep loop pool; do
  quiet 8 "another, $main"
  quiet 8 "another closes, $main"
done
quiet 143 joiner TERM
quiet 129 channel HUP
quiet 1 error "" "$(printf '%s: the end\nstack traceback:\n\t[C]: in function %s\n\tquiet.lua:33: in main chunk\n\t[C]: in ?' "$SAROS" "'error'")"

# One that catches its cancellation is cancelled again at each safepoint, also in Lua's handlers of
# messages: these are not called for that, one within the other, until the stack of C is full.
cat >handler.lua <<'END'
local domain = require "saros.domain"
local ready = domain.channel()
domain.spawn(function()
  getmetatable("").__close = io.write -- in C, where nothing is cancelled
  for i = 1, 2 do
    xpcall(function()
      local closed <close> = "closed for "
      if i == 1 then ready:send(true) end
      while true do end
    end, function(message) for j = 1, 3 do message = message .. j end return message .. "\n" end)
  end
end)
ready:receive()
os.exit(5)
END
status=0
"$SAROS" handler.lua >out.txt 2>&1 || status=$?
is "cancelled in a handler: status" 5 $status
is "cancelled in a handler" "closed for handler.lua:9: domain was cancelled123
closed for domain was cancelled" "$(cat out.txt)"
finish
