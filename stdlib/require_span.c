/* SPDX-License-Identifier: MIT */
/* require_span.c - the span that `require` records of itself. */
#include "require_span.h"

#include <string.h>

#include "thread.h"
#include "probes.h"

void require_span_begin(lua_State *L, const char *name) {
  PROBE_BEGIN_TEXT(L->domain, REQUIRE, name, strlen(name));
}

void require_span_end(lua_State *L) { PROBE_END(L->domain, REQUIRE); }
