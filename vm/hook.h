/* SPDX-License-Identifier: MIT */
/* vm/hook.h: hooks (lua_sethook; design: top of hook.c). */
#ifndef SAROS_VM_HOOK_H
#define SAROS_VM_HOOK_H

#include "object.h"

/* Calls the hook; called by the interpreter when a hook is on. */
void vm_hook(lua_State *L, int event, int line, int first_transfer, int ntransfer);
/* Calls the line and count hooks, if they are due, before the instruction at pc. The
 * frame's own pc points behind that instruction. */
void hook_before_instruction(lua_State *L, const Instruction *pc);

#endif
