/* SPDX-License-Identifier: MIT */
/* runtime/peer_internal.h: what peer.c and peer_wait.c share. */
#ifndef SAROS_RUNTIME_PEER_INTERNAL_H
#define SAROS_RUNTIME_PEER_INTERNAL_H

#include "peer.h"

/* Counts of domains. The high half counts live domains, the low half domains that are
 * PARK_BLOCKED. */
#define ALIVE ((uint64_t)1 << 32)
HIDDEN extern uint64_t peer_waits;

/* longest time in ns that a wait spins, and the time of the first wait: as long as it may
 * take to wake a processor */
#define SPIN_MOST 100000

/* Asks a domain to raise an error if all live domains are blocked. `now` is the new value
 * of peer_waits. */
void peer_look_for_deadlock(uint64_t now);

#endif
