/* SPDX-License-Identifier: MIT */
/* runtime/channel.h: channels, through which domains pass messages (design: top
 * of channel.c).
 */
#ifndef SAROS_RUNTIME_CHANNEL_H
#define SAROS_RUNTIME_CHANNEL_H

#include "peer.h"

typedef struct Channel Channel;

typedef enum ChannelResult {
  CHANNEL_OK,
  CHANNEL_CLOSED,
  CHANNEL_ORPHANED,  /* would wait, but no other domain holds the channel any more */
  CHANNEL_TIMEOUT,   /* or, with the deadline 0, full or empty */
  CHANNEL_ATTENTION  /* there is a request to the domain: peer_take_up */
} ChannelResult;

/* Any number from 0 on. The caller has the first handle. NULL: no memory. */
Channel *channel_new(Peer *self, uint32_t capacity);
uint32_t channel_id(const Channel *c);
uint32_t channel_capacity(const Channel *c);
uint32_t channel_waiting(Channel *c); /* messages in it at this moment */
bool channel_is_closed(Channel *c);

/* Each handle that a domain has; false: no memory. */
bool channel_hold(Channel *c, Peer *self);
void channel_let_go(Channel *c, Peer *self);
/* What a message holds. */
void channel_hold_in_flight(Channel *c);
void channel_drop_in_flight(Channel *c);
/* Frees the channels that lie in each other and are held by nothing else, if there may be
 * some: at the end of a domain. */
void channel_find_cycles(void);
/* Around a fork: no operation is half done. In the child, only `self` holds channels and
 * nothing waits (releases what channel_lock_all took). */
void channel_lock_all(void);
void channel_unlock_all(void);
void channel_forget_others(const Peer *self);
/* Channels that exist, of all domains. */
uint32_t channel_count(void);
/* When a channel was last left with a single domain, whose waits on it fail from then on; ns
 * of the monotonic clock, 0: never. Any thread. */
uint64_t channel_last_orphaned(void);
/* What the channels of the process take, with the messages in them: bytes that malloc gave,
 * and bytes of mappings. */
void channel_measure(size_t *bytes, size_t *mapped);

/* Passes the message on; it remains the caller's unless CHANNEL_OK is returned. */
ChannelResult channel_send(Channel *c, Peer *self, Message *m, uint64_t deadline);
ChannelResult channel_receive(Channel *c, Peer *self, Message **m, uint64_t deadline);
/* The first of these that has a message, in turn; *index says which, also of one
 * that is closed and empty (CHANNEL_CLOSED). waiters: room for n. */
ChannelResult channel_select(Channel **channels, Waiter *waiters, uint32_t n, Peer *self,
                             Message **m, uint32_t *index, uint64_t deadline);
/* No more can be sent; what is in it can still be received. Any number of times. */
void channel_close(Channel *c);

#endif
