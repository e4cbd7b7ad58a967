-- SPDX-License-Identifier: MIT
-- c_modules.lua NAME: what a module compiled for Debian's lua5.4 does here.

local use = {}

function use.lpeg(lpeg)
  local P, R, C, Ct, V = lpeg.P, lpeg.R, lpeg.C, lpeg.Ct, lpeg.V
  local nested = P{ "S", S = Ct((C(R"09"^1) + V"P")^0), P = "(" * V"S" * ")" }
  local t = nested:match("12(34(5))6")
  print(#t, t[1], t[2][1], t[2][2][1], t[3])
  print((lpeg.Cs((P"a" / "b" + 1)^0)):match("banana"), lpeg.Cg(C(1), "x") and (P(1) - "b")^1 / string.upper and "ok")
  print(pcall(lpeg.match, lpeg.Cmt(1, function() error("inside") end), "x"))
  local re = require "re"
  for _, pair in ipairs(re.match("a=1, b=22", "{| ({| {[a-z]} '=' {[0-9]+} |} / .)* |}")) do print(pair[1], pair[2]) end
end

function use.cjson(cjson)
  print(cjson.encode{1, 2.5, "x\n", {a = cjson.null}}, cjson.decode('{"x":[1,2.5,"y"]}').x[3])
  print(pcall(cjson.decode, "{bad"))
  print(pcall(cjson.encode, {[{}] = 1}))
end

function use.lfs(lfs)
  print(lfs.mkdir("made"), lfs.attributes("made", "mode"), lfs.chdir("made"), lfs.currentdir():match("made$"), lfs.chdir(".."))
  for name in lfs.dir("made") do print(#name <= 2) end
  print(lfs.rmdir("made"), lfs.attributes("made"))
  local it, dir = lfs.dir(".")
  dir:close()
  print(pcall(it, dir))
end

use["luasql.sqlite3"] = function(sql)
  local env = sql.sqlite3()
  local db = env:connect(":memory:")
  db:execute "create table t(a, b)"
  for i = 1, 3 do db:execute(("insert into t values(%d, 'n%d')"):format(i, i)) end
  local cursor = db:execute "select * from t order by a desc"
  local row = cursor:fetch({}, "a")
  while row do print(row.a, row.b) row = cursor:fetch(row, "a") end
  print(pcall(cursor.fetch, cursor), db:execute "nonsense")
  cursor:close() db:close() env:close()
end

function use.lxp(lxp)
  local parser = lxp.new{
    StartElement = function(_, name, attributes) print("start", name, attributes.id) end,
    CharacterData = function(_, text) print("text", text) end,
    EndElement = function(_, name) if name == "stop" then error("stopped") end end,
  }
  print(parser:parse("<a id='1'><b>hi</b>") ~= nil, pcall(parser.parse, parser, "<stop></stop>"))
end

function use.socket(socket)
  local server = assert(socket.bind("127.0.0.1", 0))
  local _, port = server:getsockname()
  local client = assert(socket.connect("127.0.0.1", port))
  local peer = assert(server:accept())
  peer:send("one\ntwo\nrest")
  peer:close()
  print(client:receive("*l"), client:receive("*l"), client:receive("*a"))
  local try = socket.newtry(function() print("cleaned up") end)
  print(socket.protect(function() try(nil, "failed") end)())
  print((require "mime").b64("hello"))
end

function use.rex_pcre2(rex)
  print(rex.match("foo123", "([a-z]+)(\\d+)"))
  print(rex.gsub("aXbX", "X", function(s) return s:lower() end))
  for word in rex.gmatch("three small words", "\\w+") do print(word) end
end

function use.yaml()
  local lyaml = require "lyaml"
  print(lyaml.load("a: [1, 2, {b: c}]").a[3].b, lyaml.dump{{1, "two"}})
end

function use.zlib(zlib)
  local packed = zlib.deflate()(("x"):rep(1000), "finish")
  print(#packed, #zlib.inflate()(packed))
end

use["openssl.digest"] = function(digest)
  print((digest.new("sha256"):final("abc"):gsub(".", function(c) return ("%02x"):format(c:byte()) end)))
end

function use.cqueues(cqueues)
  local queue, log = cqueues.new(), {}
  for i = 1, 3 do
    queue:wrap(function()
      log[#log + 1] = "a" .. i
      cqueues.sleep(i / 100)
      log[#log + 1] = "b" .. i
    end)
  end
  print(queue:loop(), table.concat(log, " ", 1, 3), #log)
  queue:wrap(function() error("in a coroutine") end)
  print(select("#", queue:step()), queue:count())
end

function use.luv(uv)
  local timer = uv.new_timer()
  timer:start(1, 0, function() print("timer") timer:close() end)
  uv.run()
  uv.new_work(function(x) return x * 2 end, function(result) print("result", result) end):queue(21)
  uv.run()
  print(uv.loop_alive())
end

local name = assert(arg[1])
use[name](require(name))
