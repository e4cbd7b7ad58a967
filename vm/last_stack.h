/* SPDX-License-Identifier: MIT */
/* vm/last_stack.h: the last stacks of domains, for when the process is dead
 * (<eventring/stack.h>; design: last_stack.c). */
#ifndef SAROS_VM_LAST_STACK_H
#define SAROS_VM_LAST_STACK_H

#include "domain.h"

/* Makes it possible from now on to ask the domain of L for its stack. */
void last_stack_attach(lua_State *L);
/* Writes the stack of the domain into the recording, if there is one. `reason`: one of
 * enum eventring_stack_reason. For the domain's own thread. */
void last_stack_note(Domain *d, int reason, int64_t value);

#endif
