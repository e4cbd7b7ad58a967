-- SPDX-License-Identifier: MIT
rockspec_format = "3.0"
package = "saros-eventring"
version = "0.1.0-1"
source = {
   url = "file://.", -- `luarocks make` takes the files of this folder
}
description = {
   summary = "Instrument a library once: spans and counters on Saros, nothing in other Luas",
   detailed = [[
A stub of the module saros.eventring of Saros, a Lua 5.4 runtime that records what programs
do. With it a library calls spans, counters and events in every Lua: where there is no Saros,
the functions check their arguments and record nothing. On Saros the module of Saros is used.
Limits of tests (words allocated, time, no major collection) for busted and LuaUnit.]],
   license = "MIT",
}
dependencies = {
   "lua >= 5.1, < 5.5",
}
build = {
   type = "builtin",
   modules = {
      ["saros.eventring"] = "saros/eventring.lua",
      ["saros.limits"] = "saros/limits.lua",
      ["saros.busted"] = "saros/busted.lua",
      ["saros.luaunit"] = "saros/luaunit.lua",
   },
}
