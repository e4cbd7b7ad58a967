/* SPDX-License-Identifier: MIT */
/* stdlib/domain_lib.h: what the parts of the module `domain` share: lib_domain.c,
 * lib_channel.c, lib_pool.c. */
#ifndef SAROS_STDLIB_DOMAIN_LIB_H
#define SAROS_STDLIB_DOMAIN_LIB_H

#include "lauxlib.h"
#include "lua.h"
#include "peer.h"

/* Makes the types that values sent between domains may need, once a domain; before
 * anything is decoded in it. */
void domain_lib_prepare(lua_State *L);

/* Adds channel and select to the module on top of the stack (lib_channel.c). */
void channel_lib_open(lua_State *L);
/* Makes the type of channels (lib_channel.c). */
void channel_lib_prepare(lua_State *L);
/* domain.pool (lib_pool.c): its functions are loaded when it is first called. */
int pool_lib_pool(lua_State *L);

typedef struct DomainOptions {
  const char *name; /* NULL: "domain N" */
  size_t memory;    /* bytes; 0: no limit */
} DomainOptions;

/* The options of new domains in argument `arg`, a table; pushes the name or nil, which
 * keeps it. Raises when a name or value is wrong. */
DomainOptions domain_lib_options(lua_State *L, int arg);

/* The optional number of seconds at an index as a deadline of the runtime's clock: nil
 * is none, what is not above zero 0. */
uint64_t domain_lib_deadline(lua_State *L, int index);
/* The peer of the running domain. */
#define domain_lib_self(L) ((L)->domain->peer)

#endif
