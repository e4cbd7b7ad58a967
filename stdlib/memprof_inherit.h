/* SPDX-License-Identifier: MIT */
/* stdlib/memprof_inherit.h: the guest's profile in domains that it spawns (lib_memprof.c). */
#ifndef SAROS_STDLIB_MEMPROF_INHERIT_H
#define SAROS_STDLIB_MEMPROF_INHERIT_H

#include "lua.h"

struct Message;

/* Pushes what a domain that is spawned now needs, a value that goes as a message of its own
 * (root "callbacks"), or nil: nothing is inherited. True: if it cannot be sent, that is an
 * error of the spawn. */
bool memprof_push_inheritance(lua_State *L);
/* In the new domain: takes the message and starts the profile. */
void memprof_inherit(lua_State *L, struct Message *m);

#endif
