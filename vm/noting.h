/* SPDX-License-Identifier: MIT */
/* vm/noting.h: noting each instruction, for tools that sample lines from outside (design:
   noting.c). */
#ifndef SAROS_VM_NOTING_H
#define SAROS_VM_NOTING_H

#include "domain.h"

/* Follows the requests of other processes. For the domain's own thread, at a
   safepoint. */
void vm_noting_obey(Domain *d);
/* Checks whether noting is still wanted. To be called when the domain of L notes and
   noting_left is 0. For the domain's own thread, at a safepoint. */
void vm_noting_check(lua_State *L) COLD;

#endif
