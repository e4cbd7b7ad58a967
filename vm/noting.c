/* SPDX-License-Identifier: MIT */
/* vm/noting.c: noting each instruction, for tools that sample lines from outside.
 *
 * The interpreter keeps the running instruction in a register, and stores it into the
 * frame where it leaves the loop: at calls, allocations, rounds of loops. A reader in
 * another process sees only the frame. So it would attribute all the time of straight
 * code to the line of the last store. While a tool samples lines, dispatch is a table
 * (vm_dispatch_noting) whose handler stores the instruction into the frame before it goes
 * to the handler that runs it. Pairs of instructions are split, so that each instruction
 * is noted by itself.
 *
 * The tool stores the time until which it samples (struct eventring_request,
 * lines_until), and extends it again and again. It raises the word that safepoints test,
 * for a few milliseconds at a time, until each domain has Domain.noting; collections
 * check the word as well. (Recursion without a loop, a tail call or a new object reaches
 * neither a safepoint nor a collection; its samples are counted as coarse.) If the tool
 * is killed, the time runs out: the domain checks the clock at every LOOPS_BETWEEN-th
 * call or round of a loop. Nothing else ends noting.
 *
 * As with a watch of calls (watch.c), coroutines that wait keep their former table until
 * they run; then ATTENTION_WATCHED sends them to vm_update_dispatch.
 */
#include "noting.h"

#include "call_profile.h"
#include "clock.h"
#include "eventring/calls.h"
#include "introspection.h"
#include "watch.h"

#define LOOPS_BETWEEN 16384

static bool is_wanted(void) {
  const uint64_t until = introspection_lines_until();
  return until != 0 && monotonic_ns() < until;
}

static void set_noting(lua_State *L, bool on) {
  Domain *d = L->domain;
  d->noting_left = LOOPS_BETWEEN;
  if (d->noting == on) return;
  d->noting = on;
  __atomic_fetch_or(&d->peer->attention, ATTENTION_WATCHED, __ATOMIC_RELAXED);
  vm_update_dispatch(L);
}

/* Lowers the words, because the tool that asked has ended: safepoints need not call this
   file any more. */
static void lower_words(Domain *d) {
  uint32_t *word = d->rings != NULL ? (uint32_t *)eventring_calls_word(d->rings) : NULL;
  introspection_lines_seen();
  if (word != NULL && __atomic_load_n(word, __ATOMIC_RELAXED) & CONTROL_REQUEST_LINES)
    __atomic_fetch_and(word, ~(uint32_t)CONTROL_REQUEST_LINES, __ATOMIC_RELAXED);
}

void vm_noting_obey(Domain *d) {
  const bool wanted = is_wanted();
  if (!wanted) lower_words(d);
  if (d->current != NULL) set_noting(d->current, wanted);
}

void vm_noting_check(lua_State *L) { set_noting(L, is_wanted()); }
