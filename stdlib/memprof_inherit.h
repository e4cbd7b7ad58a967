/* SPDX-License-Identifier: MIT */
/* stdlib/memprof_inherit.h: the guest's profile in domains that it spawns
   (lib_memprof.c). */
#ifndef SAROS_STDLIB_MEMPROF_INHERIT_H
#define SAROS_STDLIB_MEMPROF_INHERIT_H

#include "lua.h"

struct Message;

/* Pushes the value that a newly spawned domain needs, which is sent as a message of its
 * own (root "callbacks"), or nil if nothing is inherited. Returns whether the spawn fails
 * if the value cannot be sent. */
bool memprof_push_inheritance(lua_State *L);
/* Takes the message and starts the profile, in the new domain. */
void memprof_inherit(lua_State *L, struct Message *m);

#endif
