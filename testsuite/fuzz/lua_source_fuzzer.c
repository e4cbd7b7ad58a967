/* SPDX-License-Identifier: MIT */
/* lua_source_fuzzer.c: source text, compiled and run. (Builds with asserts verify all
 * code that the code generator makes.)
 *
 * Half of the mutations are of whole tokens (lua_mutate.c), because a text that is
 * changed byte by byte seldom compiles. */
#include "lauxlib.h"
#include "lua_harness.h"
#include "lua_mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lua_State *L = harness_open();
  if (luaL_loadbufferx(L, (const char *)data, size, "=fuzz", "t") == LUA_OK)
    harness_call(L, harness_push_arguments(L));
  harness_close(L);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed) {
  if (seed & 1) return LLVMFuzzerMutate(data, size, room);
  return mutate_tokens(data, size, room, seed >> 1);
}
