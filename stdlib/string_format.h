/* SPDX-License-Identifier: MIT */
/* stdlib/string_format.h: string.format. */
#ifndef SAROS_STDLIB_STRING_FORMAT_H
#define SAROS_STDLIB_STRING_FORMAT_H

#include "lua.h"

int strlib_format(lua_State *L);

#endif
