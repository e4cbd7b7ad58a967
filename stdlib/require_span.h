/* SPDX-License-Identifier: MIT */
/* require_span.h - the span that `require` records of itself.
 *
 * These functions are separate from lib_package.c because they read the domain from the
 * state; the library uses the C API alone. */
#ifndef SAROS_STDLIB_REQUIRE_SPAN_H
#define SAROS_STDLIB_REQUIRE_SPAN_H

#include "lua.h"

/* Begins the span of a module; require_span_end ends it. For the thread of L's domain.
 * The spans nest. */
void require_span_begin(lua_State *L, const char *name);
void require_span_end(lua_State *L);

#endif
