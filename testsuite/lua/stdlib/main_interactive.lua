-- SPDX-License-Identifier: MIT
-- The command's interactive part, without a terminal; interruption.

local program = os.getenv("SAROS") or arg[-1]

local write = require "_write"

local function read(name)
  local file <close> = assert(io.open(name, "rb"))
  return file:read("a")
end

-- Runs the lines interactively; gives what was printed between the line of the
-- version and the end, and what went to standard error.
local function session(lines, options)
  write("stdin", lines)
  assert(os.execute(string.format(
    "env -u LUA_INIT '%s' -e \"_PROMPT='' _PROMPT2=''\" %s -i < stdin > stdout 2> stderr", program,
    options or "")))
  local version, rest = read("stdout"):match("^([^\n]*\n)(.*)\n$")
  assert(version:find("^Saros "), version)
  return rest, read("stderr")
end

local function prints_lines(expected, lines)
  local out, err = session(lines)
  if err ~= "" or out ~= expected then
    error(string.format("expected %q, got %q and %q", expected, out, err), 2)
  end
end

local function complains(expected, lines)
  local out, err = session(lines)
  if err ~= expected then error(string.format("expected %q, got %q", expected, err), 2) end
end

-- expressions, statements, several lines (the input is echoed)
prints_lines("1 + 1\n2\n", "1 + 1\n")
prints_lines("=2 + 2\n4\n", "=2 + 2\n")
prints_lines("return 1, nil, 's'\n1\tnil\ts\n", "return 1, nil, 's'\n")
prints_lines("x = 1\nlocal y\n\n-- a comment\n", "x = 1\nlocal y\n\n-- a comment\n")
prints_lines("x =\n\n5\nprint(x)\n5\n", "x =\n\n5\nprint(x)\n")
prints_lines("for i = 1, 2 do\nprint(i)\nend\n1\n2\n", "for i = 1, 2 do\nprint(i)\nend\n")
prints_lines("s = [[a\nb]]\ns\na\nb\n", "s = [[a\nb]]\ns\n")
prints_lines("f = function(a,\nb)\nreturn a + b end\nf(1, 2)\n3\n",
  "f = function(a,\nb)\nreturn a + b end\nf(1, 2)\n")
prints_lines("x = 7\nx\n7\n", "x = 7\nx") -- a last line without an end
local long = ("x"):rep(10000)
prints_lines("'" .. long .. "'\n" .. long .. "\n", "'" .. long .. "'\n")
-- `print` is the program's own
prints_lines("local p = print print = function(x) p('<' .. x .. '>') end\n1\n<1>\n",
        "local p = print print = function(x) p('<' .. x .. '>') end\n1\n")

-- errors don't end the session
complains([[
stdin:1: boo
stack traceback:
	[C]: in function 'error'
	stdin:1: in main chunk
	[C]: in ?
]], "error('boo')\nx = 1\n")
complains("stdin:1: syntax error near 'x'\n", "x x\n")
complains("stdin:1: unfinished string near '\"abc'\n", "\"abc\nx\n")
complains("stdin:1: unexpected symbol near <eof>\n", "x =\n")
local out, err = session("print = 1\n2\n")
assert(err == "error calling 'print' (attempt to call a number value)\n")
out, err = session("error({})\n1\n")
assert(out == "error({})\n1\n1\n" and err:find("^%(error object is a table value%)\n"))

-- prompts
write("stdin",
  "1\n_PROMPT = 'P>'\nx =\n2\n" ..
  "_PROMPT2 = setmetatable({}, {__tostring = function() return 'Q>' end})\nx =\n3\n")
os.execute(string.format("'%s' -i < stdin > stdout 2> stderr", program))
local text = read("stdout"):gsub("^[^\n]*\n", "")
assert(text == "> 1\n1\n> _PROMPT = 'P>'\nP>x =\n>> 2\n" ..
               "P>_PROMPT2 = setmetatable({}, {__tostring = function() return 'Q>' end})\n" ..
                "P>x =\nQ>3\nP>\n", text)

-- after a script and chunks
write("script.lua", "print('script', ...) y = 9")
write("stdin", "y\n")
os.execute(string.format("'%s' -i -e 'print(0)' script.lua a < stdin > stdout 2> stderr", program))
text = read("stdout"):gsub("^[^\n]*\n", "")
assert(text == "0\nscript\ta\n> y\n9\n> \n", text)
-- not after a script that fails
write("bad.lua", "error('bad')")
local ok, how,
  status = os.execute(string.format("'%s' -i bad.lua < stdin > stdout 2> stderr", program))
assert(not ok and status == 1)

-- SIGINT becomes an error with a traceback, whichever coroutine runs
local function interrupt(script)
  write("loop.lua", "io.stdout:write('ready\\n'):flush()\n" .. script)
  write("run.sh", string.format([[
trap - INT
rm -f stdout
'%s' loop.lua > stdout 2> stderr &
pid=$!
n=0
while ! grep -q ready stdout; do sleep 0.05; n=$((n + 1)); [ $n -lt 200 ] || exit 9; done
kill -INT $pid
wait $pid
]], program))
  local ok, how, status = os.execute("bash -m run.sh 2> /dev/null")
  assert(how == "exit" and status == 1, status)
  return read("stderr")
end
err = interrupt("local function busy() while true do end end busy()")
assert(err:find("loop.lua:2: interrupted!", 1, true) and err:find("in local 'busy'", 1, true), err)
err = interrupt("local co = coroutine.wrap(function() while true do end end) co()")
assert(err:find("loop.lua:2: interrupted!", 1, true), err)
err = interrupt("print(pcall(function() while true do end end)) error('after')")
assert(err:find("loop.lua:2: after", 1, true), err)
assert(read("stdout"):find("\nfalse\t[^\n]*interrupted!\n"))
