/* SPDX-License-Identifier: MIT */
/* field_names.h - tables of options or callbacks that a guest gives to a function. */
#ifndef SAROS_STDLIB_FIELD_NAMES_H
#define SAROS_STDLIB_FIELD_NAMES_H

#include <stdint.h>

#include "lua.h"

/* Raises "bad argument #arg (no KIND 'name'; did you mean 'names[i]'?)" if argument
 * `arg`, a table, has a key that is not among `names` (which ends with NULL). Such a key
 * is most likely misspelt, and would be ignored. The question is left out if no name is
 * close. Pushes nothing; runs no code of the guest except __tostring and __name of a
 * wrong key. Returns which of the first 64 names the table itself has: bit i stands for
 * names[i]. */
uint64_t check_field_names(lua_State *L, int arg, const char *kind, const char *const *names);
/* Checks a table in another slot of the stack, a field of argument `arg`, as
   check_field_names does. */
uint64_t check_field_names_at(lua_State *L, int table, int arg, const char *kind,
                              const char *const *names);

/* Returns a field of the table of options that is argument `table`: an integer from 1 to
 * `most`, or `otherwise` if the field is nil. Raises if it is anything else. */
lua_Integer option_integer(lua_State *L, int table, const char *name, lua_Integer most,
                           lua_Integer otherwise);
/* Reads a field in seconds, above 0 and up to 1,000,000. Returns it in ns, or 0 if it is
   nil. */
uint64_t option_seconds(lua_State *L, int table, const char *name);

#endif
