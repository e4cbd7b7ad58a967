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
  /* the caller would have to wait, but no other domain holds the channel any more */
  CHANNEL_ORPHANED,
  /* the deadline has passed; with deadline 0, the channel is full or empty */
  CHANNEL_TIMEOUT,
  /* there is a request to this domain, from another domain or a signal: see
     peer_take_up */
  CHANNEL_ATTENTION
} ChannelResult;

/* Creates a channel and gives `self` its first handle. `capacity` is 0 or more. Returns
 * NULL if out of memory. */
Channel *channel_new(Peer *self, uint32_t capacity);
uint32_t channel_id(const Channel *c);
uint32_t channel_capacity(const Channel *c);
/* Returns the number of messages in the channel at this moment. */
uint32_t channel_waiting(Channel *c);
bool channel_is_closed(Channel *c);

/* Adds a handle of the domain `self` to the channel; channel_let_go removes one. Returns
 * false if out of memory. */
bool channel_hold(Channel *c, Peer *self);
void channel_let_go(Channel *c, Peer *self);
/* Adds one to the number of messages that name the channel; the function below subtracts
   one. */
void channel_hold_in_flight(Channel *c);
void channel_drop_in_flight(Channel *c);
/* Frees cycles: channels that are named only by messages in each other. Searches for them
 * only if there may be some. Called at the end of a domain. */
void channel_find_cycles(void);
/* Keeps channels consistent across a fork: channel_lock_all locks all channels before the
 * fork, so that no operation is half done, and channel_unlock_all unlocks them in the
 * parent. In the child channel_forget_others unlocks them: from then on only `self` holds
 * channels in the child, and nothing waits. */
void channel_lock_all(void);
void channel_unlock_all(void);
void channel_forget_others(const Peer *self);
/* Returns how many channels exist, in all domains. */
uint32_t channel_count(void);
/* Returns the time at which a channel was last left with a single domain, whose waits on
 * it fail from then on. The time is in ns of the monotonic clock, 0 if that has never
 * happened. Any thread. */
uint64_t channel_last_orphaned(void);
/* Measures the memory of all channels of the process, with the messages in them: bytes
 * from malloc, and bytes of mappings. */
void channel_measure(size_t *bytes, size_t *mapped);

/* Sends the message; the function below receives one. A message to be sent remains the
 * caller's unless CHANNEL_OK is returned. */
ChannelResult channel_send(Channel *c, Peer *self, Message *m, uint64_t deadline);
ChannelResult channel_receive(Channel *c, Peer *self, Message **m, uint64_t deadline);
/* Tries n channels in their order, and receives from the first that has a message. If one
 * that is closed and empty comes before that, returns CHANNEL_CLOSED. In both cases sets
 * *index to the number of the channel. `waiters` has room for n. */
ChannelResult channel_select(Channel **channels, Waiter *waiters, uint32_t n, Peer *self,
                             Message **m, uint32_t *index, uint64_t deadline);
/* Closes the channel: no more messages can be sent, but messages in it can still be
 * received. May be called any number of times. */
void channel_close(Channel *c);

#endif
