/* SPDX-License-Identifier: MIT */
/* vm/safe_point.c: obeying requests to a domain. */
#include "safe_point.h"

#include "gc.h"
#include "gc_inline.h"
#include "opinfo.h"
#include "probes.h"
#include "question.h"
#include "thread.h"

/* steps that a call counts for: it may be an operand of another call, but may also take
   long */
#define CALL_STEPS 64

/* Tells whether a message is on its way from the function that received it to a variable
 * or table (peer_hand_over). Counts the instruction that is about to run as a step. */
static bool is_handing_over(const lua_State *L) {
  Peer *peer = L->domain->peer;
  uint32_t step = 1;
  if (peer->handing_over == 0) return false;
  switch (is_lua_frame(L->ci) ? op_base(L->ci->u.lua.pc[-1]) : OP_LOOP) {
    case OP_LOOP: case OP_FORLOOP: case OP_TFORCALL: step = peer->handing_over; break;
    case OP_CALL: case OP_TAILCALL: step = CALL_STEPS; break;
    default: break;
  }
  peer->handing_over -= step < peer->handing_over ? step : peer->handing_over;
  return peer->handing_over > 0;
}

/* Obeys the requests. A request that may raise waits while a hook or a finalizer runs,
 * which ends soon: errors there would be lost. */
void vm_take_up(lua_State *L) {
  Peer *peer = L->domain->peer;
  if (__atomic_load_n(&peer->attention, __ATOMIC_RELAXED) & ATTENTION_QUESTION) {
    peer_withdraw(peer, ATTENTION_QUESTION);
    if (L->domain->hooks.profile_obey != NULL) L->domain->hooks.profile_obey(L->domain);
    vm_answer_question(L);
  }
  if (L->allow_hook && peer_asked(L->domain->peer) != 0 && !is_handing_over(L)) peer_take_up(L);
}

void vm_request_point(lua_State *L) {
  probes_safe_point(L->domain);
  if (vm_is_asked(L->domain)) vm_take_up(L);
}

void vm_safe_point(lua_State *L) {
  vm_request_point(L);
  if (gc_is_wanted(L->domain)) gc_step(L);
}
