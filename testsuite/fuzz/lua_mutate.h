/* SPDX-License-Identifier: MIT */
/* lua_mutate.h: mutations of source text by whole tokens. */
#ifndef SAROS_FUZZ_LUA_MUTATE_H
#define SAROS_FUZZ_LUA_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* Changes the text data[0, size), which has room for `room` bytes, in place. The same
   seed makes the same changes. Returns the new size, at most room. */
size_t mutate_tokens(uint8_t *data, size_t size, size_t room, unsigned seed);

#endif
