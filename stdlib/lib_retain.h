/* SPDX-License-Identifier: MIT */
/* stdlib/lib_retain.h: the function of module `saros.retain`, which `memprof` has,
   too. */
#ifndef SAROS_STDLIB_LIB_RETAIN_H
#define SAROS_STDLIB_LIB_RETAIN_H

#include "lua.h"

int retain_report(lua_State *L);

#endif
