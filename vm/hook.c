/* SPDX-License-Identifier: MIT */
/* vm/hook.c: hooks.
 *
 * A hook is one of the two watchers of a thread (watch.c). Line and count events come
 * from hook_before_instruction, before each instruction; call and return events come from
 * vm_call_entered and vm_call_left. A hook that yields leaves the frame at the
 * instruction that it was about to run, marked CALL_HOOK_YIELDED so that the hook is not
 * called again for it.
 *
 * Code that runs while hooks are off (finalizers, hooks) may run between two instructions
 * of a frame: it does not change L->old_pc, from which that frame's line hook
 * continues.
 */
#include "hook.h"

#include "debuginfo.h"
#include "opcodes.h"
#include "opinfo.h"
#include "thread.h"
#include "throw.h"

static uint32_t mask_of_event(int event) {
  return event == LUA_HOOKTAILCALL ? LUA_MASKCALL : 1u << event;
}

/* Calls the hook for an event of the current frame, if the hook wants the event and hooks
 * are on. The stack below L->top and the registers of a Lua frame do not change; hooks
 * are off while it runs. */
void vm_hook(lua_State *L, int event, int line, int first_transfer, int ntransfer) {
  lua_Hook hook = L->hook;
  if (hook == NULL || !L->allow_hook || !(L->hook_mask & mask_of_event(event))) return;
  CallInfo *ci = L->ci;
  ptrdiff_t top = stack_save(L, L->top), ci_top = stack_save(L, ci->top);
  uint32_t mark = CALL_HOOKED;
  lua_Debug ar;
  ar.event = event;
  ar.currentline = line;
  ar.i_ci = ci;
  if (ntransfer != 0) {
    mark |= CALL_TRANSFER;
    ci->u2.transfer.first = (uint16_t)first_transfer;
    ci->u2.transfer.count = (uint16_t)ntransfer;
  }
  if (is_lua_frame(ci) && L->top < ci->top) L->top = ci->top; /* all registers are live */
  stack_check(L, LUA_MINSTACK);
  if (ci->top < L->top + LUA_MINSTACK) ci->top = L->top + LUA_MINSTACK;
  L->allow_hook = 0;
  ci->status |= mark;
  hook(L, &ar);
  L->allow_hook = 1;
  ci->top = stack_restore(L, ci_top);
  L->top = stack_restore(L, top);
  ci->status &= ~mark;
}

/* Tells whether the instruction at old_pc jumped to the LOOP at pc. If so, hooks see the
 * program continue at the start of the loop, as in the reference, where such jumps lead
 * there. The test at the end of a `repeat` is reversed: it jumps over the LOOP that goes
 * back, and the code behind it was reached without a jump. */
static bool jumped_to_loop(const Prototype *p, int old_pc, int pc) {
  if (op_base(p->code[old_pc]) == OP_JMP) return true;
  if (!(op_info[INS_OP(p->code[old_pc])].flags & OPFLAG_T)) return false;
  /* `if c then goto` this */
  if (pc == old_pc + 2) return INS_sJ(p->code[old_pc + 1]) == 0;
  return pc != old_pc + 3 || op_base(p->code[old_pc + 2]) != OP_LOOP;
}

/* Tells whether the instruction at pc is, for hooks, still part of the one at old_pc. */
static bool continues_step(const Prototype *p, int old_pc, int pc) {
  switch (op_base(p->code[pc])) {
    case OP_LOOP: return jumped_to_loop(p, old_pc, pc);
    case OP_TFORCALL: return op_base(p->code[old_pc]) == OP_TFORPREP;
    /* the instruction runs once more after a __close */
    case OP_CLOSE: case OP_RETURN: return pc == old_pc;
    default: return false;
  }
}

/* Calls the line hook if the program came to a new line, or back to the start of a
   line. */
static void call_line_hook(lua_State *L, const Prototype *p, int pc) {
  int old_pc = (uint32_t)L->old_pc < p->ncode ? L->old_pc : 0;
  if (continues_step(p, old_pc, pc)) return;
  if (pc <= old_pc || prototype_line(p, pc) != prototype_line(p, old_pc))
    vm_hook(L, LUA_HOOKLINE, prototype_line(p, pc), 0, 0);
  L->old_pc = pc;
}

/* Yields. The thread stays at this instruction, which runs when the thread is resumed.
 * Until then the frame's pc is behind the instruction, as always. */
_Noreturn static void yield_from_hook(lua_State *L, const Instruction *pc, bool counted) {
  if (counted) L->hook_count = 1; /* the count event is due again */
  L->ci->u.lua.pc = pc + 1;
  L->ci->status |= CALL_HOOK_YIELDED;
  error_throw(L, LUA_YIELD);
}

static NOINLINE void call_step_hooks(lua_State *L, const Instruction *pc, int mask, bool counted) {
  CallInfo *ci = L->ci;
  const Prototype *p = frame_closure(ci)->p;
  if (counted) L->hook_count = L->base_hook_count;
  if (ci->status & CALL_HOOK_YIELDED) {
    ci->status &= ~(uint32_t)CALL_HOOK_YIELDED;
    return;
  }
  if (counted) vm_hook(L, LUA_HOOKCOUNT, -1, 0, 0);
  if ((mask & LUA_MASKLINE) && L->allow_hook) call_line_hook(L, p, (int)(pc - p->code));
  if (unlikely(L->status == LUA_YIELD)) yield_from_hook(L, pc, counted);
}

void hook_before_instruction(lua_State *L, const Instruction *pc) {
  /* VARARGPREP is part of the call; the next instruction begins a line */
  if (INS_OP(*pc) == OP_VARARGPREP) {
    if (L->allow_hook) L->old_pc = 1;
    return;
  }
  /* a change made by the hook holds from the next instruction on */
  int mask = L->hook_mask;
  bool counted = (mask & LUA_MASKCOUNT) && --L->hook_count == 0;
  if (!counted && !(mask & LUA_MASKLINE)) return;
  call_step_hooks(L, pc, mask, counted);
}
