-- SPDX-License-Identifier: MIT
-- A tour of the Penlight modules that need no C; prints what they give.
--   penlight_tour.lua PART

local pretty = require "pl.pretty"
local function show(...)
  local out = {}
  for i = 1, select("#", ...) do
    local v = select(i, ...)
    out[i] = type(v) == "table" and not (getmetatable(v) and getmetatable(v).__tostring) and pretty.write(v, "") or tostring(v)
  end
  print(table.concat(out, "\t"))
end

local parts = {}

function parts.lists()
  local List = require "pl.List"
  local seq = require "pl.seq"
  local permute = require "pl.permute"
  local l = List { 10, 20, 30 }
  show(l, l:append(40), l:slice(2, 3), l:reverse(), l:index(20), l:contains(99))
  show(List.range(1, 10):filter(function(x) return x % 2 == 0 end):map(function(x) return x * x end))
  show(List { 3, 1, 2 }:sort(), List { 3, 1, 2 }:sort(function(a, b) return a > b end), List.split("a,b,c", ","))
  show(List.range(1, 5):reduce(function(a, b) return a + b end), l:extend { 1, 2 }, l:insert(1, 0), l:remove(1), l:pop(), l:join "-")
  show(List { 1, 2, 3 } .. List { 4 }, List { 1, 2 } == List { 1, 2 }, l:clone(), l:count(20), #l, l:partition(function(x) return x > 20 end))
  show(seq.sum { 1, 2, 3 }, seq.copy(seq.map(function(x) return x + 1 end, seq.list { 1, 2 })), seq.copy(seq.zip({ 1, 2 }, { 3, 4 })))
  show(seq { 1, 2, 3 }:map(function(x) return x * 2 end):filter(function(x) return x > 2 end):copy())
  show(seq.minmax { 5, 3, 9 }, seq.count_map { "a", "b", "a" }, seq.copy(seq.unique(seq.list { 1 })), seq.reduce(math.max, seq.list { 4, 8, 2 }))
  for p in permute.order_iter { 1, 2, 3 } do io.write(table.concat(p, ""), " ") end
  print()
  local array2d = require "pl.array2d"
  local a = array2d.new(3, 3, function(i, j) return i * j end)
  show(a, array2d.row(a, 2), array2d.column(a, 3), array2d.map("*", a, 10), array2d.reduce_rows("+", a), array2d.transpose(a))
end

function parts.tables()
  local tablex = require "pl.tablex"
  local OrderedMap, MultiMap, Map, Set = require "pl.OrderedMap", require "pl.MultiMap", require "pl.Map", require "pl.Set"
  show(tablex.deepcompare({ a = { 1, 2 } }, { a = { 1, 2 } }), tablex.deepcopy { x = { y = 1 } }, tablex.size { a = 1, b = 2, 3 })
  show(tablex.map(function(v) return v * 2 end, { 1, 2, 3 }), tablex.filter({ 1, 2, 3, 4 }, function(v) return v > 2 end))
  show(tablex.find({ "a", "b" }, "b"), tablex.merge({ a = 1, b = 2 }, { b = 3, c = 4 }), tablex.merge({ a = 1 }, { c = 4 }, true))
  show(tablex.zip({ 1, 2 }, { 3, 4 }), tablex.range(1, 9, 2), tablex.rotate and "rotate" or "", tablex.sub({ 1, 2, 3, 4 }, 2, 3), tablex.removevalues({ 1, 2, 3, 4 }, 2, 3))
  for k, v in tablex.sort { c = 3, a = 1, b = 2 } do io.write(k, "=", v, " ") end
  for k, v in tablex.sortv { c = 3, a = 1, b = 2 } do io.write(k, "=", v, " ") end
  print()
  local om = OrderedMap()
  om:set("z", 1) om:set("a", 2) om:set("m", 3)
  show(om:keys(), om:values(), tostring(om))
  for k, v in om:iter() do io.write(k, ":", v, " ") end
  print()
  local mm = MultiMap()
  mm:set("k", 1) mm:set("k", 2)
  show(mm:get "k")
  local m = Map { a = 1, b = 2 }
  local keys = m:keys() keys:sort()
  show(keys, m == Map { a = 1, b = 2 }, m:len())
  local s, t = Set { 1, 2, 3 }, Set { 2, 3, 4 }
  local function sorted(set) local v = Set.values(set) table.sort(v) return v end
  show(sorted(s + t), sorted(s * t), sorted(s - t), sorted(s ^ t), s < Set { 1, 2, 3, 4 }, #s, s == Set { 3, 2, 1 }, Set.isdisjoint(s, Set { 9 }))
end

function parts.strings()
  local stringx = require "pl.stringx"
  show(stringx.split("a b  c"), stringx.split("a,b,,c", ","), stringx.strip "  x ", stringx.lstrip "  x", stringx.rstrip "x  ", stringx.strip("--x--", "-"))
  show(stringx.startswith("hello", "he"), stringx.endswith("hello", { "lo", "x" }), stringx.center("x", 5, "*"), stringx.ljust("x", 3), stringx.rjust("x", 3))
  show(stringx.replace("aaa", "a", "b", 2), stringx.count("banana", "an"), stringx.partition("k=v=w", "="), stringx.rpartition("k=v=w", "="))
  show(stringx.title "the quick fox", stringx.capitalize and "c" or "", stringx.isalpha "abc", stringx.isdigit "12x", stringx.isspace " ", stringx.isupper "AB")
  show(stringx.splitlines "a\nb\r\nc", stringx.expandtabs("a\tb", 4), stringx.lfind("abcabc", "c"), stringx.rfind("abcabc", "c"), stringx.join(",", { 1, 2 }))
  show(stringx.shorten("a long sentence", 8), stringx.quote_string 'say "hi"', stringx.at("abc", 2), stringx.splitv("x y", " "))
  show(stringx.format_operator and (function() stringx.format_operator() return "%d-%s" % { 1, "x" } end)())
  show(stringx.indent("a\nb", 2), stringx.dedent "    a\n      b\n    c", stringx.wrap(("word "):rep(20), 30), stringx.fill(("word "):rep(12), 30))
  local utils = require "pl.utils"
  show(utils.split("a.b.c", ".", true), utils.escape "a.b*c", utils.is_type(1, "number"), utils.choose(true, 1, 2), utils.pack(1, nil, 3).n)
  show(utils.array_tostring({ 1, true, "x" }), utils.unpack(utils.pack(1, 2)), select("#", utils.unpack(utils.pack(nil, nil))))
  local url = require "pl.url"
  show(url.quote "a b&c/ä", url.unquote "a%20b%26", url.quote("x y", true))
  local stringio = require "pl.stringio"
  local f = stringio.open "first\nsecond 12\n3.5 end"
  show(f:read(), f:read "*l", f:read "*n", f:read "*a")
  local out = stringio.create()
  out:write("a", 1, 2.5) out:writef("%d|", 7)
  show(out:value())
end

function parts.functional()
  local func = require "pl.func"
  local _1, _2 = func._1, func._2
  local I = func.I
  show(I(_1 + _2 * 2)(1, 3), I(_1:upper())("x"), I(-_1)(5), tostring(_1 + 2 * _2))
  local operator = require "pl.operator"
  show(operator.add(1, 2), operator.concat("a", "b"), operator.lt(1, 2), operator.optable["*"](3, 4), operator.table(1, 2), operator.index({ 5 }, 1))
  local comp = require "pl.comprehension".new()
  show(comp "x*x for x=1,5" (), comp "x for x=1,10 if x % 3 == 0" (), comp "{x,y} for x=1,2 for y=1,2" (), comp "sum(x for x=1,100)" (), comp "table(k, v*2 for k,v in pairs(_1))" { a = 1 })
  local utils = require "pl.utils"
  show(utils.bind1(math.max, 10)(5), utils.bind2(math.pow or function(a, b) return a ^ b end, 2)(3), utils.string_lambda "|x,y| x + y" (1, 2), utils.memoize(function(x) return x * 2 end)(4))
  local types = require "pl.types"
  show(types.is_callable(print), types.is_empty {}, types.is_integer(3.0), types.is_iterable {}, types.to_bool "yes", types.type(io.stdout))
  local ok, e = pcall(utils.assert_arg, 2, "x", "number")
  show(ok, (e:gsub("^[^:]*:%d+: ", "")))
end

function parts.classes()
  local class = require "pl.class"
  local Animal = class()
  function Animal:_init(name) self.name = name end
  function Animal:__tostring() return self.name .. ": " .. self:speak() end
  local Dog = class(Animal)
  function Dog:speak() return "bark" end
  local Cat = class(Animal)
  function Cat:_init(name, breed) self:super(name) self.breed = breed end
  function Cat:speak() return "meow" end
  local Lion = class(Cat)
  function Lion:speak() return "roar" end
  local fido, felix, leo = Dog "Fido", Cat("Felix", "Tabby"), Lion("Leo", "African")
  show(tostring(fido), tostring(felix), tostring(leo), leo:is_a(Animal), leo:is_a(Dog), Dog:class_of(fido), Cat:class_of(leo), felix.breed)
  class.Named { _init = function(self, a) self.a = a end, get = function(self) return self.a end }
  show(Named(5):get(), Named._name)
  local P = class.properties and class(class.properties)
  if P then
    function P:_init() self._x = 1 end
    function P:get_x() return self._x * 10 end
    function P:set_x(v) self._x = v end
    local p = P()
    p.x = 4
    show(p.x)
  end
  local ok, e = pcall(function() require "pl.strict".module("m", {}) return end)
  show(ok)
  local strict = require "pl.strict"
  local M = strict.module "mymod"
  M.a = 1
  show(M.a, pcall(function() return M.undefined end) == false)
end

function parts.text()
  local template = require "pl.template"
  show(template.substitute("# for i = 1, 3 do\n<li>$(i * i) $(name)</li>\n# end\n", { name = "item" }))
  local text = require "pl.text"
  show(text.Template "${a} and $b":substitute { a = 1, b = 2 }, text.dedent "  a\n    b", text.format_operator and "op")
  local xml = require "pl.xml"
  local doc = xml.parse("<root a='1'><item id='x'>text &amp; more</item><item id='y'/><!-- comment --></root>", false, true) -- true: without the C parser
  show(tostring(doc), doc:child_with_name("item").attr.id, doc:get_elements_with_name "item" [2].attr.id, xml.tostring(doc, "", "  "))
  local d = xml.new "people"
  d:addtag("person", { name = "A" }):text("hello <world>"):up()
  show(tostring(d), doc:match [[<root a='$a'/>]] and "m" or "n")
  local pretty = require "pl.pretty"
  show(pretty.write { 1, 2, x = { y = "z", [3] = true } }, pretty.read "{1, 2, a = {b = 3}}", pretty.number(123456789, "N"), pretty.number(5e6, "M"))
  local x, e = pretty.read "{os.exit()}"
  show(x, e ~= nil)
end

function parts.parsing()
  local lexer = require "pl.lexer"
  for kind, value in lexer.lua("local x = 'str' .. 12.5e3 -- comment\nif x ~= nil then f{[[long]]} end") do io.write(kind, "<", tostring(value), "> ") end
  print()
  for kind, value in lexer.cpp("int x = 5; /* c */ y += 0x1F;", { space = true, comments = true }) do io.write(kind, "<", tostring(value), "> ") end
  print()
  local sip = require "pl.sip"
  local r = {}
  show(sip.match("$v{name} = $i{value}", "count = 42", r), r, sip.compile "($i,$i)" and "ok")
  show(sip.match("$S{file}($i{line}): $r{rest}", "main.c(12): error here", r) and r, sip.create_pattern "$q{quoted} $d{digits}")
  local data = require "pl.data"
  local t = data.read(require "pl.stringio".open "name,age,city\nAnn,30,Berlin\nBob,25,Paris\n")
  show(t.fieldnames, t[1], t[2][2], t:column_by_name "age")
  local q = t:select "name where age > 26"
  show(q())
  local config = require "pl.config"
  show(config.read(require "pl.stringio".open "# comment\nport = 8080\nname = server\nlist = 1,2,3\n[section]\nkey = value\nflag=true\n"))
  local luabalanced = require "pl.luabalanced"
  show(luabalanced.match_expression("a + f(x)[1] then", 1), luabalanced.match_namelist("a, b, c = 1", 1))
  local lapp = require "pl.lapp"
  arg = { "-v", "--count", "7", "input.txt", [0] = "tool" }
  local args = lapp [[
A tool
  -v,--verbose  say more
  -c,--count (default 1) how many
  -n,--name (default none)
  <file> (string) input
]]
  show(args.verbose, args.count, args.name, args.file)
end

function parts.dates()
  local ok, Date = pcall(require, "pl.Date")
  if not ok then print "no Date" return end
  local d = Date { year = 2024, month = 2, day = 28, hour = 12 }
  d:add { day = 2 }
  show(d:year(), d:month(), d:day(), d:weekday_name(), d:last_day():day())
  local fmt = Date.Format "yyyy-mm-dd HH:MM:SS"
  show(fmt:tostring(Date { year = 2020, month = 1, day = 2, hour = 3, min = 4, sec = 5 }), fmt:parse("2021-12-31 23:59:58"):year())
  show(Date { year = 2024, month = 3, day = 1 } - Date { year = 2024, month = 2, day = 1 } ~= nil, Date { year = 2024, month = 1, day = 1 } < Date { year = 2024, month = 1, day = 2 })
end

parts[assert(arg[1], "which part?")]()
