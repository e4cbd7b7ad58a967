/* SPDX-License-Identifier: MIT */
/* stdlib/lib_domain.h: what the parts of the module `domain` share: lib_domain.c,
 * lib_channel.c, lib_pool.c. */
#ifndef SAROS_STDLIB_LIB_DOMAIN_H
#define SAROS_STDLIB_LIB_DOMAIN_H

#include "lauxlib.h"
#include "lua.h"
#include "peer.h"

/* Makes the types that values sent between domains may need. Called before anything is
 * decoded in a domain; only the first call has an effect. */
void domain_lib_prepare(lua_State *L);

/* Adds channel and select to the module on top of the stack (lib_channel.c). */
void channel_lib_open(lua_State *L);
/* Makes the type of channels (lib_channel.c). */
void channel_lib_prepare(lua_State *L);
/* Implements domain.pool (lib_pool.c), whose Lua code is loaded when it is first
   called. */
int pool_lib_pool(lua_State *L);

typedef struct DomainOptions {
  const char *name; /* name of the domain, or NULL for "domain N" */
  size_t memory;    /* limit of the heap in bytes; 0 for no limit */
} DomainOptions;

/* Returns the options of new domains in argument `arg`, a table. Pushes the name, so that
 * it stays alive, or nil. Raises if a name or a value is wrong. */
DomainOptions domain_lib_options(lua_State *L, int arg);

/* Returns the optional number of seconds at an index as a deadline of the runtime's
 * clock: no deadline if the value is nil, 0 if it is not above zero. */
uint64_t domain_lib_deadline(lua_State *L, int index);
/* The peer of the running domain. */
#define domain_lib_self(L) ((L)->domain->peer)

#endif
