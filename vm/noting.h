/* SPDX-License-Identifier: MIT */
/* vm/noting.h: noting each instruction, for who samples lines from outside (design:
   noting.c). */
#ifndef SAROS_VM_NOTING_H
#define SAROS_VM_NOTING_H

#include "domain.h"

/* Follows what others ask for. On the domain's own thread, at a safepoint. */
void vm_noting_obey(Domain *d);
/* The domain of L notes, and noting_left is 0: is that still wanted? Likewise. */
void vm_noting_check(lua_State *L) COLD;

#endif
