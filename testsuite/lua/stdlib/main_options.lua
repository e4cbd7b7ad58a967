-- SPDX-License-Identifier: MIT
-- The command itself: options, `arg`, the environment, exit statuses, messages.

local program = os.getenv("SAROS") or arg[-1]

local write = require "_write"

local function read(name)
  local file <close> = assert(io.open(name, "rb"))
  return file:read("a")
end

-- Runs `saros ARGUMENTS`; gives standard output, standard error, exit status.
local function run(arguments, input, environment)
  write("stdin", input or "")
  local command =
    string.format("env -u LUA_INIT -u LUA_INIT_5_4 %s '%s' %s < stdin > stdout 2> stderr",
                                environment or "", program, arguments)
  local _, how, status = os.execute(command)
  assert(how == "exit", command .. ": " .. how)
  return read("stdout"), read("stderr"), status
end

local function same(expected, got)
  if expected ~= got then error(string.format("expected %q, got %q", expected, got), 2) end
end

-- Succeeds with that output and no message.
local function prints(expected, ...)
  local out, err, status = run(...)
  if err ~= "" or status ~= 0 then error(string.format("status %d: %s", status, err), 2) end
  if out ~= expected then error(string.format("expected %q, got %q", expected, out), 2) end
end

-- Fails with status 1 and a message that contains that text.
local function fails(expected, ...)
  local out, err, status = run(...)
  if status ~= 1 then error("status " .. status .. ", expected 1", 2) end
  if not string.find(err, expected, 1, true) then
    error(string.format("expected %q, got %q", expected, err), 2)
  end
end

-- scripts and their arguments
write("args.lua", "print(#arg, arg[0], arg[1], arg[2], ...) assert(arg[-1] and not arg[3])")
prints("2\targs.lua\ta\tb c\ta\tb c\n", "args.lua a 'b c'")
prints("0\targs.lua\tnil\tnil\n", "args.lua")
write("before.lua", "print(arg[-1], arg[-2], arg[-3], arg[-4] ~= nil, arg[-5])")
prints("x = 1\t-e\t-W\ttrue\tnil\n", "-W -e 'x = 1' before.lua z")
prints("a\n", "- a", "print(...)")
prints("-\n", "- a", "print(arg[0])")
prints("nil\n", "", "print(arg[1])")
prints("saros\tnil\n", "", "print(arg[0]:match('[^/]*$'):sub(1, 5), arg[-1])")
prints("1\n", "-- script.lua", nil, "true; echo 'print(1)' > script.lua;")
write("-", "print('a file called -')")
prints("a file called -\n", "-- -")
fails("cannot open none.lua: No such file or directory", "none.lua")
fails("cannot open none.lua", "-- none.lua")

-- chunks of the command line, in their order
prints("1\n2\n", "-e 'print(1)' -e'print(2)'")
prints("1\n3\n", "-e 'a = 1 print(a)' third.lua", nil, "true; echo 'print(a + 2)' > third.lua;")
fails("(command line):1: syntax error near 'x'", "-e 'x x'")
fails("'-e' needs argument", "-e")
fails("'-e' needs argument", "-e -v")
-- what follows a failure doesn't run
same("", (run("-e 'error()' -e 'print(1)' args.lua")))

-- libraries
write("lib.lua", "print('loading', ...) return {name = ...}")
prints("loading\tlib\t./lib.lua\nlib\n", "-l lib -e 'print(lib.name)'", nil, "LUA_PATH='./?.lua'")
prints("loading\tlib\t./lib.lua\nlib\tnil\n", "-lg=lib -e 'print(g.name, lib)'", nil,
  "LUA_PATH='./?.lua'")
write("lib-v2.lua", "return 'version 2'")
prints("version 2\n", "-l lib-v2 -e 'print(lib)'", nil, "LUA_PATH='./?.lua'")
fails("module 'nolib' not found:\n\tno field package.preload['nolib']", "-l nolib")
fails("'-l' needs argument", "-l")

-- version, warnings, wrong options
local out, err, status = run("-v")
assert(out:match("^Saros %d+%.%d+%.%d+ %(Lua 5%.4%)  [^\n]*PUC%-Rio\n$") and
  err == "" and status == 0)
out = run("-v -e 'print(1)'")
assert(out:match("^Saros [^\n]*\n1\n$"))
out, err, status = run("-W -e 'warn(\"a\", \"b\")'")
assert(out == "" and err == "Lua warning: ab\n" and status == 0)
out, err =
  run("-e 'warn(\"@on\") warn(\"x\") warn(\"@off\") warn(\"y\") " ..
    "warn(\"@on\") warn(\"@unknown\") warn(\"@\", \"z\")'")
same("Lua warning: x\nLua warning: @z\n", err)
-- those beyond the reference, where each is a wrong option
for _, option in ipairs {"-h", "--help", "-W -h", "-e 'print(1)' --help", "--help script.lua",
  "-l none -h"} do
  out, err, status = run(option, "", "SAROS_EVENTRING_START=1")
  assert(out:match("^usage: [^\n]*\nAvailable options are:\n  %-e stat"), option)
  assert(out:find("SAROS_EVENTRING_START=1", 1, true) and err == "" and status == 0, option)
end
out, err, status = run("--version")
assert(out == run("-v") and err == "" and status == 0)
prints("--help\t-h\t--version\n", "options.lua --help -h --version", nil,
  "true; echo 'print(...)' > options.lua;")
prints("-h\n", "- -h", "print(...)")
for _, option in ipairs {"-x", "-hx", "-vh", "--helpp", "--version=1", "-vv", "-Ex", "-ix", "-Wx", "--foo", "--disassemble"} do
  out, err, status = run(option)
  local complaint = option == "--disassemble" and "'--disassemble' needs argument" or
    "unrecognized option '" .. option .. "'"
  assert(status == 1 and err:find(complaint, 1, true), option)
  assert(err:find("usage: ", 1, true) and err:find("Available options are:\n  -e stat", 1, true))
end

-- exit statuses: those of os.exit are in os_process.lua
-- a finalizer that ends the program while the state is closed: the others run,
-- new ones don't
write("finalizers.lua", [[
kept = setmetatable({}, {__gc = function() print("first") end})
kept_as_well = setmetatable({}, {__gc = function()
  setmetatable({}, {__gc = function() print("never") end})
  print(collectgarbage())
  os.exit(0, true)
end})
]])
prints("nil\nfirst\n", "finalizers.lua")
out, err, status = run("", "error('from stdin')")
assert(status == 0 and err:find("stdin:1: from stdin", 1, true))
fails("stdin:1: from stdin", "-", "error('from stdin')")

-- error messages
write("trace.lua", "local function f()\n  error('broken')\nend\nf()\n")
out, err, status = run("trace.lua")
same(program .. [[
: trace.lua:2: broken
stack traceback:
	[C]: in function 'error'
	trace.lua:2: in local 'f'
	trace.lua:4: in main chunk
	[C]: in ?
]], err)
assert(status == 1)
fails(": (error object is a nil value)\nstack traceback:", "-e 'error()'")
fails(": (error object is a table value)\nstack traceback:", "-e 'error({})'")
out, err = run("-e 'error(setmetatable({}, {__tostring = function() return \"shown\" end}))'")
same(program .. ": shown\n", err)
fails("trace2.lua:2: unexpected symbol near <eof>", "trace2.lua", nil,
  "true; echo 'x =' > trace2.lua;")
fails("attempt to yield from outside a coroutine", "-e 'coroutine.yield()'")
fails("'arg' is not a table", "-e 'arg = 1' args.lua")

-- environment
prints("init\n2\n", "-e 'print(2)'", nil, "LUA_INIT='print(\"init\")'")
prints("5.4\n2\n", "-e 'print(2)'", nil, "LUA_INIT='print(1)' LUA_INIT_5_4='print(5.4)'")
prints("2\n", "-E -e 'print(2)'", nil, "LUA_INIT='print(1)'")
write("init.lua", "print('from file')")
prints("from file\n", "-e ''", nil, "LUA_INIT=@init.lua")
fails("cannot open none.lua", "-e ''", nil, "LUA_INIT=@none.lua")
fails("LUA_INIT:1: ')' expected near <eof>", "-e ''", nil, "LUA_INIT='print(1'")
local default = run("-E -e 'io.write(package.path)'")
local function path(setting, expected)
  prints(expected, "-e 'io.write(package.path)'", nil, setting)
end
path("LUA_PATH=A", "A")
path("LUA_PATH=A LUA_PATH_5_4=B", "B")
path("LUA_PATH=", "")
path("LUA_PATH='A;;B'", "A;" .. default .. ";B")
path("LUA_PATH=';;B'", default .. ";B")
path("LUA_PATH='A;;'", "A;" .. default)
path("LUA_PATH=';;'", default)
path("LUA_PATH='A;;B;;C'", "A;" .. default .. ";B;;C")
prints("C\n", "-e 'print(package.cpath)'", nil, "LUA_CPATH=C")
prints("true\n", "-E -e 'print(package.path ~= \"A\")'", nil, "LUA_PATH=A")
prints("true\n", "-E -e 'print(debug.getregistry().LUA_NOENV)'")

-- bytecode
out, err, status = run("--disassemble trace.lua")
assert(status == 0 and err == "" and #out > 0)
fails("cannot open none.lua", "--disassemble none.lua")
