/* SPDX-License-Identifier: MIT */
/* vm/safe_point.h: safepoints of C functions that run for long.
 *
 * Such a function counts its work, in units of about a nanosecond: 1 for a byte examined,
 * 20 for an element of a table. Every SAFE_POINT_WORK units it checks for requests to the
 * domain from elsewhere (SIGINT, cancel, the start of a recording) and for a due
 * collection, and may raise there. So at that moment everything that the function has
 * begun must be consistent, and owned by the collector. */
#ifndef SAROS_VM_SAFE_POINT_H
#define SAROS_VM_SAFE_POINT_H

#include "domain.h"
#include "peer.h"

/* Tells whether there is a request to the domain (runtime/peer.h). */
ALWAYS_INLINE bool vm_is_asked(const Domain *d) {
  return __atomic_load_n(&d->peer->attention, __ATOMIC_RELAXED) & ATTENTION_ASKED;
}
/* Obeys the request: raises, or returns. The frame's pc and L->top are those of a
   call. */
void vm_take_up(lua_State *L);

#define SAFE_POINT_WORK ((ptrdiff_t)1 << 18)
#define ELEMENT_WORK 20

void vm_safe_point(lua_State *L); /* L->ci is the frame of a C function; may raise */

/* Obeys requests and does not collect, so no finalizer runs. For functions that refer to
 * something that guest code could change or free, and allocate nothing meanwhile, so that
 * nothing becomes due. */
void vm_request_point(lua_State *L);

/* Counts work. *left is the number of units until the next safepoint; it begins as
   SAFE_POINT_WORK or 0. */
ALWAYS_INLINE void vm_work(lua_State *L, ptrdiff_t *left, size_t units) {
  if (likely((*left -= (ptrdiff_t)units) >= 0)) return;
  *left = SAFE_POINT_WORK;
  vm_safe_point(L);
}
/* Counts work like vm_work, up to the next vm_request_point. */
ALWAYS_INLINE void vm_work_alone(lua_State *L, ptrdiff_t *left, size_t units) {
  if (likely((*left -= (ptrdiff_t)units) >= 0)) return;
  *left = SAFE_POINT_WORK;
  vm_request_point(L);
}

#endif
