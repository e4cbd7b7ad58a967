/* require_span.c - the span that `require` records of itself. */
#include "require_span.h"
#include "thread.h"
#include "trace.h"

void trace_require_begin(lua_State *L) { TRACE_BEGIN(L->domain, REQUIRE); }

void trace_require_end(lua_State *L) { TRACE_END(L->domain, REQUIRE); }
