/* SPDX-License-Identifier: MIT */
/* stdlib/memprof_inherit.h: the guest's profile in domains that it spawns
   (lib_memprof.c). */
#ifndef SAROS_STDLIB_MEMPROF_INHERIT_H
#define SAROS_STDLIB_MEMPROF_INHERIT_H

#include "lua.h"

struct Message;

/* Pushes the value that a newly spawned domain needs, or nil if nothing is inherited. The
 * value is sent as a separate message (root "callbacks"). Returns whether the spawn fails
 * if the value cannot be sent. */
bool memprof_push_inheritance(lua_State *L);
/* Takes the message and starts the profile. Called in the new domain. */
void memprof_inherit(lua_State *L, struct Message *m);

#endif
