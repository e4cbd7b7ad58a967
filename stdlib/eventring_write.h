/* SPDX-License-Identifier: MIT */
/* stdlib/eventring_write.h: the functions of module eventring that write events. */
#ifndef SAROS_STDLIB_EVENTRING_WRITE_H
#define SAROS_STDLIB_EVENTRING_WRITE_H

#include "lua.h"

/* Puts them into the table on top of the stack. */
void eventring_add_writers(lua_State *L);

#endif
