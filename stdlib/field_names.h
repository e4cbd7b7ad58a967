/* SPDX-License-Identifier: MIT */
/* field_names.h - tables of options or callbacks that a guest gives to a function. */
#ifndef SAROS_STDLIB_FIELD_NAMES_H
#define SAROS_STDLIB_FIELD_NAMES_H

#include "lua.h"

/* Raises "bad argument #arg (no KIND 'name'; did you mean 'names[i]'?)" when argument `arg`, a
 * table, has a key that is not among `names` (ends with NULL): it is misspelt, most likely,
 * and would be ignored.
 * The question is left out where none of `names` is near.
 * Pushes nothing; runs no code of the guest except __tostring and __name of such a key. */
void check_field_names(lua_State *L, int arg, const char *kind, const char *const *names);

#endif
