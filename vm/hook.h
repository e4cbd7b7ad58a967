/* SPDX-License-Identifier: MIT */
/* vm/hook.h: hooks (lua_sethook; design: top of hook.c). */
#ifndef SAROS_VM_HOOK_H
#define SAROS_VM_HOOK_H

#include "object.h"

/* Called by the interpreter when a hook is on. */
void vm_hook(lua_State *L, int event, int line, int first_transfer, int ntransfer);
/* Line and count hooks, called by the interpreter before each instruction that they may
 * want, to which pc points; the frame's own pc points behind it. */
void hook_before_instruction(lua_State *L, const Instruction *pc);

#endif
