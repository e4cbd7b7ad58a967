/* SPDX-License-Identifier: MIT */
/* lua_declaration_fuzzer.c: tests the module ffi with any C declarations, and with
 * objects of the declared types.
 *
 * The input is a text. It is declared twice, and parsed as a type and as a constant. Then
 * each word of the text is tried as the name of a type, and all words are read and
 * written as members of objects of these types. No C function is called. */
#include "lauxlib.h"
#include "lualib.h"
#include "lua_harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char guest[] =
    "local ffi, text = ...\n"
    "pcall(ffi.cdef, text)\n"
    "pcall(ffi.cdef, text)\n"
    "pcall(ffi.cdef, text, 'name', 3, ffi.typeof 'int', 'other')\n"
    "local ok, type = pcall(ffi.typeof, text)\n"
    "local types = {ok and type or nil}\n"
    "pcall(ffi.eval, text)\n"
    "local words = {}\n"
    "for word in text:gmatch '[%a_][%w_]*' do\n"
    "  if #words < 12 then words[#words + 1] = word end\n"
    "end\n"
    "for _, word in ipairs(words) do\n"
    "  for _, keyword in ipairs {'', 'struct ', 'union ', 'enum '} do\n"
    "    local ok, t = pcall(ffi.typeof, keyword .. word)\n"
    "    if ok then types[#types + 1] = t end\n"
    "  end\n"
    "end\n"
    "for _, t in ipairs(types) do\n"
    "  tostring(t)\n"
    "  ffi.alignof(t)\n"
    "  local size = ffi.sizeof(t, 3)\n"
    "  local ok, object\n"
    "  if size and size < 100000 then ok, object = pcall(ffi.new, t) end\n"
    "  if size and size < 100000 and not ok then ok, object = pcall(ffi.new, t, 3) end\n"
    "  if ok then\n"
    "    tostring(object)\n"
    "    for _, word in ipairs(words) do\n"
    "      ffi.offsetof(t, word)\n"
    "      pcall(function() object[word] = -1 end)\n"
    "      pcall(function() object[word] = {1, 2.5, 'x'} end)\n"
    "      pcall(function() object[word] = object[word] end)\n"
    "    end\n"
    "    pcall(ffi.new, t, object)\n"
    "  end\n"
    "end\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lua_State *L = harness_open();
  luaL_requiref(L, "ffi", luaopen_ffi, 0);
  if (luaL_loadstring(L, guest) != LUA_OK) __builtin_trap();
  lua_insert(L, 1);
  lua_pushlstring(L, (const char *)data, size);
  harness_call(L, 2);
  harness_close(L);
  return 0;
}
