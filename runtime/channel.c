/* SPDX-License-Identifier: MIT */
/* runtime/channel.c: channels.
 *
 * A channel is a ring of messages with a lock, a queue of domains that wait to receive
 * and a queue of domains that wait to send. A send wakes the first receiver, a receive
 * the first sender. A woken domain tries again, and may find that another one was
 * quicker. A woken domain may leave without having used the wake-up (after a timeout, or
 * because `select` received from another channel). Then it wakes the next waiting domain,
 * so a wake-up is never lost.
 *
 * If the capacity is 0, one message can be put in for each domain that waits to receive.
 *
 * Holders
 *   `ports` counts the handles of each domain, `in_flight` the messages that name
 *   the channel. A wait returns that the channel is orphaned when the domain is the only
 *   one with a port and no message names the channel: no domain is left that could ever
 *   send or receive. When the number of holders falls, all waiting domains check again. A
 *   channel is freed, with the messages in it, when it has neither ports nor messages
 *   that name it. That releases the channels that its messages name, and so on. Messages
 *   are freed one after the other (work_off), not by recursion.
 *
 * Cycles
 *   Channels that lie in each other and are named by nothing else keep each other alive.
 *   They are found by trial deletion (search_all_locked). For each channel without a
 *   port, the messages that name it are counted, except those that lie in channels
 *   without a port. If the count is not 0, a live holder keeps the channel alive, and
 *   with it the channels that its messages name, and so on. The messages of all other
 *   channels without a port are taken out and freed, which frees these channels. A
 *   channel that lost a holder and has messages but no port may be part of a cycle. A
 *   search is made when this has happened often enough, compared with the cost of the
 *   last search, or when a domain ends.
 *
 *   `all.lock` is held while the number of holders falls, and while a channel gets its
 *   first port. So during a search a channel without a port does not change: no thread
 *   can put a message into it, take one out, or name it in another one.
 *
 * Locks: all.lock, then the lock of one channel at a time; no other lock under it.
 */
#include "channel.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "message.h"

typedef struct Port {
  const Peer *peer; /* only compared, never dereferenced */
  uint32_t handles;
} Port;

struct Channel {
  pthread_mutex_t lock;
  uint32_t id, capacity; /* constant */
  bool closed;
  /* index of the first message, number of messages, and room of the ring, a power of two
     or 0 */
  uint32_t first, count, room;
  Message **ring;
  WaitQueue receivers, senders;
  Port *ports;
  uint32_t nports, ports_room;
  uint32_t in_flight;
  /* bytes of the messages in it from malloc, and in mappings of their own */
  size_t bytes, mapped;
  /* Guarded by all.lock */
  Channel *next, *prev;
  /* For a search */
  uint32_t outside; /* messages that name it, except those in channels without a port */
  bool portless, reached;
  Channel *next_reached;
};

static struct {
  pthread_mutex_t lock;
  Channel *first;
  size_t suspicions; /* channels that may be in a cycle, counted since the last search */
  size_t work;       /* channels and messages that the last search examined */
  /* when a channel was last left with a single holder; 0 if never */
  uint64_t orphaned_ns;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define FIRST_ROOM 8
/* channels and messages that may be examined for each suspicion */
#define SUSPICION_WORK 16

uint32_t channel_id(const Channel *c) { return c->id; }
uint32_t channel_capacity(const Channel *c) { return c->capacity; }

static void lock_channel(Channel *c) { pthread_mutex_lock(&c->lock); }
static void unlock_channel(Channel *c) { pthread_mutex_unlock(&c->lock); }

static bool grow_ring(Channel *c) {
  uint32_t room = c->room > 0 ? c->room * 2 : FIRST_ROOM;
  Message **ring = malloc(room * sizeof *ring);
  if (ring == NULL) return false;
  for (uint32_t i = 0; i < c->count; i++) ring[i] = c->ring[(c->first + i) & (c->room - 1)];
  free(c->ring);
  c->ring = ring;
  c->room = room;
  c->first = 0;
  return true;
}

/* ---- life ---------------------------------------------------------------- */

static void link_channel(Channel *c) {
  pthread_mutex_lock(&all.lock);
  c->next = all.first;
  if (c->next != NULL) c->next->prev = c;
  all.first = c;
  pthread_mutex_unlock(&all.lock);
}

static void unlink_all_locked(Channel *c) {
  if (c->next != NULL) c->next->prev = c->prev;
  if (c->prev != NULL) c->prev->next = c->next;
  else all.first = c->next;
}

Channel *channel_new(Peer *self, uint32_t capacity) {
  static uint32_t next_id = 1;
  Channel *c = calloc(1, sizeof *c);
  if (c == NULL) return NULL;
  /* the lock is held for a moment only: spin before sleeping */
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
  pthread_mutex_init(&c->lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
  c->id = __atomic_fetch_add(&next_id, 1, __ATOMIC_RELAXED);
  c->capacity = capacity;
  /* with a ring, a message can fail to fit only if the ring holds others */
  if (grow_ring(c) && channel_hold(c, self)) {
    link_channel(c);
    return c;
  }
  free(c->ring);
  pthread_mutex_destroy(&c->lock);
  free(c);
  return NULL;
}

static __thread Message *doomed; /* messages still to be freed by this thread */
static __thread bool is_working_off;

static void doom_messages(Channel *c) {
  c->bytes = c->mapped = 0;
  for (; c->count > 0; c->count--) {
    Message *m = c->ring[c->first++ & (c->room - 1)];
    m->next = doomed;
    doomed = m;
  }
}

static void work_off(void) {
  if (is_working_off) return;
  is_working_off = true;
  for (Message *m; (m = doomed) != NULL;) {
    doomed = m->next;
    message_free(m);
  }
  is_working_off = false;
}

static void free_channel(Channel *c) {
  doom_messages(c);
  pthread_mutex_destroy(&c->lock);
  free(c->ring);
  free(c->ports);
  free(c);
}

static Port *find_port(Channel *c, const Peer *self) {
  for (uint32_t i = 0; i < c->nports; i++)
    if (c->ports[i].peer == self) return &c->ports[i];
  return NULL;
}

static Port *add_port_locked(Channel *c, const Peer *self) {
  if (c->nports == c->ports_room) {
    uint32_t room = c->ports_room > 0 ? c->ports_room * 2 : 2;
    Port *ports = realloc(c->ports, room * sizeof *ports);
    if (ports == NULL) return NULL;
    c->ports = ports;
    c->ports_room = room;
  }
  Port *port = &c->ports[c->nports++];
  *port = (Port){.peer = self};
  return port;
}

static bool hold_locked(Channel *c, const Peer *self) {
  Port *port = find_port(c, self);
  if (port == NULL) port = add_port_locked(c, self);
  if (port != NULL) port->handles++;
  return port != NULL;
}

/* Adds the first port of the channel, with all.lock held, so that no search runs. */
static bool hold_first(Channel *c, const Peer *self) {
  pthread_mutex_lock(&all.lock);
  lock_channel(c);
  bool held = hold_locked(c, self);
  unlock_channel(c);
  pthread_mutex_unlock(&all.lock);
  return held;
}

bool channel_hold(Channel *c, Peer *self) {
  lock_channel(c);
  bool first = c->nports == 0, held = !first && hold_locked(c, self);
  unlock_channel(c);
  return first ? hold_first(c, self) : held;
}

/* ---- cycles -------------------------------------------------------------- */

/* Calls f for each channel that a message in c names. */
static void each_named(Channel *c, void (*f)(Channel *named, Channel **list), Channel **list) {
  for (uint32_t i = 0; i < c->count; i++) {
    const Message *m = c->ring[(c->first + i) & (c->room - 1)];
    for (uint32_t k = 0; k < m->nchannels; k++) f(m->channels[k], list);
  }
}

static void look_at_channel(Channel *c) {
  lock_channel(c);
  c->portless = c->nports == 0;
  c->outside = c->in_flight;
  c->reached = false;
  all.work += 1 + (c->portless ? c->count : 0);
  unlock_channel(c);
}

static void count_inside(Channel *named, Channel **list) {
  (void)list;
  if (named->portless) named->outside--;
}

static void reach_channel(Channel *c, Channel **list) {
  if (!c->portless || c->reached) return;
  c->reached = true;
  c->next_reached = *list;
  *list = c;
}

/* Searches all channels. Channels without a port that it does not reach are dead. */
static void search_all_locked(void) {
  Channel *list = NULL;
  for (Channel *c = all.first; c != NULL; c = c->next) look_at_channel(c);
  for (Channel *c = all.first; c != NULL; c = c->next)
    if (c->portless) each_named(c, count_inside, NULL);
  for (Channel *c = all.first; c != NULL; c = c->next)
    if (c->outside > 0) reach_channel(c, &list);
  while (list != NULL) {
    Channel *c = list;
    list = c->next_reached;
    each_named(c, reach_channel, &list);
  }
}

static void find_cycles_all_locked(void) {
  all.suspicions = all.work = 0;
  search_all_locked();
  for (Channel *c = all.first; c != NULL; c = c->next)
    if (c->portless && !c->reached) doom_messages(c);
}

uint32_t channel_count(void) {
  uint32_t n = 0;
  pthread_mutex_lock(&all.lock);
  for (const Channel *c = all.first; c != NULL; c = c->next) n++;
  pthread_mutex_unlock(&all.lock);
  return n;
}

void channel_measure(size_t *bytes, size_t *mapped) {
  *bytes = *mapped = 0;
  pthread_mutex_lock(&all.lock);
  for (Channel *c = all.first; c != NULL; c = c->next) {
    lock_channel(c);
    *bytes += sizeof *c + c->room * sizeof *c->ring + c->bytes;
    *mapped += c->mapped;
    unlock_channel(c);
  }
  pthread_mutex_unlock(&all.lock);
}

void channel_find_cycles(void) {
  pthread_mutex_lock(&all.lock);
  if (all.suspicions > 0) find_cycles_all_locked();
  pthread_mutex_unlock(&all.lock);
  work_off();
}

/* ---- holders ------------------------------------------------------------- */

/* Handles the loss of a holder: wakes the waiting domains if the channel is orphaned now,
 * and frees it if it has no holder. Releases the channel's lock and all.lock. */
static void after_letting_go(Channel *c) {
  bool gone = c->nports == 0 && c->in_flight == 0, suspect = c->nports == 0 && c->count > 0;
  if (!gone && c->nports <= 1 && c->in_flight == 0) {
    all.orphaned_ns = monotonic_ns();
    waiter_notify_all(&c->receivers);
    waiter_notify_all(&c->senders);
  }
  unlock_channel(c);
  if (gone) unlink_all_locked(c);
  else if (suspect && ++all.suspicions * SUSPICION_WORK >= all.work) find_cycles_all_locked();
  pthread_mutex_unlock(&all.lock);
  if (gone) free_channel(c);
  work_off();
}

static void lock_to_let_go(Channel *c) {
  pthread_mutex_lock(&all.lock);
  lock_channel(c);
}

uint64_t channel_last_orphaned(void) {
  pthread_mutex_lock(&all.lock);
  uint64_t ns = all.orphaned_ns;
  pthread_mutex_unlock(&all.lock);
  return ns;
}

void channel_let_go(Channel *c, Peer *self) {
  lock_to_let_go(c);
  Port *port = find_port(c, self);
  if (--port->handles == 0) *port = c->ports[--c->nports];
  after_letting_go(c);
}

/* ---- fork ---------------------------------------------------------------- */

void channel_lock_all(void) {
  pthread_mutex_lock(&all.lock);
  for (Channel *c = all.first; c != NULL; c = c->next) lock_channel(c);
}

void channel_unlock_all(void) {
  for (Channel *c = all.first; c != NULL; c = c->next) unlock_channel(c);
  pthread_mutex_unlock(&all.lock);
}

static void forget_others(Channel *c, const Peer *self) {
  const Port *port = find_port(c, self);
  if (port != NULL) c->ports[0] = *port;
  c->nports = port != NULL;
  c->receivers = c->senders = (WaitQueue){0};
}

/* Frees the channels that only other domains held, except channels that are named by a
 * message on its way to such a domain. */
void channel_forget_others(const Peer *self) {
  for (Channel *c = all.first, *next; c != NULL; c = next) {
    next = c->next;
    forget_others(c, self);
    unlock_channel(c);
    if (c->nports > 0 || c->in_flight > 0) continue;
    unlink_all_locked(c);
    free_channel(c);
  }
  all.suspicions++;
  pthread_mutex_unlock(&all.lock);
  channel_find_cycles();
}

void channel_hold_in_flight(Channel *c) {
  lock_channel(c);
  c->in_flight++;
  unlock_channel(c);
}

void channel_drop_in_flight(Channel *c) {
  lock_to_let_go(c);
  c->in_flight--;
  after_letting_go(c);
}

void channel_close(Channel *c) {
  lock_channel(c);
  c->closed = true;
  waiter_notify_all(&c->receivers);
  waiter_notify_all(&c->senders);
  unlock_channel(c);
}

uint32_t channel_waiting(Channel *c) {
  lock_channel(c);
  uint32_t n = c->count;
  unlock_channel(c);
  return n;
}

bool channel_is_closed(Channel *c) {
  lock_channel(c);
  bool closed = c->closed;
  unlock_channel(c);
  return closed;
}

/* ---- the ring ------------------------------------------------------------ */

static uint32_t count_waiters(const WaitQueue *queue) {
  uint32_t n = 0;
  for (const Waiter *w = queue->first; w != NULL; w = w->next) n++;
  return n;
}

static bool has_room(const Channel *c) {
  if (c->capacity > 0) return c->count < c->capacity;
  return c->receivers.first != NULL && c->count < count_waiters(&c->receivers);
}

static bool put_locked(Channel *c, Message *m) {
  if (c->count == c->room && !grow_ring(c)) return false;
  c->ring[(c->first + c->count++) & (c->room - 1)] = m;
  size_t mapped;
  c->bytes += message_memory(m, &mapped);
  c->mapped += mapped;
  return true;
}

static Message *take_locked(Channel *c) {
  Message *m = c->ring[c->first++ & (c->room - 1)];
  size_t mapped;
  c->count--;
  c->bytes -= message_memory(m, &mapped);
  c->mapped -= mapped;
  return m;
}

static bool is_orphaned(const Channel *c) { return c->nports <= 1 && c->in_flight == 0; }

/* ---- sending and receiving ----------------------------------------------- */

/* Tries once to send. Returns CHANNEL_TIMEOUT if it would have to wait. *wake is to be
 * passed to peer_wake. */
static ChannelResult try_send_locked(Channel *c, Message *m, uint32_t **wake) {
  if (c->closed) return CHANNEL_CLOSED;
  if (!has_room(c) || !put_locked(c, m)) return CHANNEL_TIMEOUT;
  *wake = waiter_notify_first(&c->receivers);
  return CHANNEL_OK;
}

static ChannelResult try_receive_locked(Channel *c, Message **m, uint32_t **wake) {
  if (c->count == 0) return c->closed ? CHANNEL_CLOSED : CHANNEL_TIMEOUT;
  *m = take_locked(c);
  *wake = waiter_notify_first(&c->senders);
  return CHANNEL_OK;
}

/* Leaves the queue. Passes a wake-up that was not used on to the next waiter, if that
 * waiter can go on. */
static uint32_t *leave_locked(WaitQueue *queue, Waiter *w, bool another_can_go) {
  waiter_remove(queue, w);
  return w->notified && another_can_go ? waiter_notify_first(queue) : NULL;
}

/* Leaves with CHANNEL_ORPHANED. Requests to the domain are obeyed first: later they would
 * raise in the code that closes the domain's variables. */
static ChannelResult leave_orphaned(Peer *self) {
  if (peer_asked(self) != 0) return CHANNEL_ATTENTION;
  self->abandoned = true;
  return CHANNEL_ORPHANED;
}

/* Returns why the domain must not wait, or CHANNEL_OK if it may. */
static ChannelResult reason_to_leave(const Channel *c, Peer *self, uint64_t deadline) {
  if (deadline == 0) return CHANNEL_TIMEOUT;
  return is_orphaned(c) ? leave_orphaned(self) : CHANNEL_OK;
}

static ChannelResult result_of_wait(WaitResult waited) {
  return waited == WAIT_ATTENTION ? CHANNEL_ATTENTION
         : waited == WAIT_TIMEOUT ? CHANNEL_TIMEOUT
                                  : CHANNEL_OK;
}

ChannelResult channel_send(Channel *c, Peer *self, Message *m, uint64_t deadline) {
  Waiter w = {.peer = self};
  ChannelResult waited = CHANNEL_OK;
  for (bool again = false;; again = true) {
    uint32_t *wake = NULL, *other = NULL;
    lock_channel(c);
    ChannelResult result = try_send_locked(c, m, &wake);
    if (again) other = leave_locked(&c->senders, &w, result != CHANNEL_OK && has_room(c));
    if (result == CHANNEL_TIMEOUT) {
      result = waited != CHANNEL_OK ? waited : reason_to_leave(c, self, deadline);
      if (result == CHANNEL_OK) {
        peer_prepare(self, WAIT_SEND, c->id);
        waiter_enqueue(&c->senders, &w);
        unlock_channel(c);
        waited = result_of_wait(peer_wait(self, deadline));
        continue;
      }
    }
    unlock_channel(c);
    peer_wake(wake);
    peer_wake(other);
    if (again && result != CHANNEL_ATTENTION) peer_end_wait(self);
    return result;
  }
}

/* Queues a receiver. In a channel without a buffer a waiting receiver makes room, so a
 * sender may go on. The result is to be passed to peer_wake. */
static uint32_t *enqueue_receiver_locked(Channel *c, Waiter *w) {
  waiter_enqueue(&c->receivers, w);
  return c->capacity == 0 && has_room(c) ? waiter_notify_first(&c->senders) : NULL;
}

ChannelResult channel_receive(Channel *c, Peer *self, Message **m, uint64_t deadline) {
  Waiter w = {.peer = self};
  ChannelResult waited = CHANNEL_OK;
  for (bool again = false;; again = true) {
    uint32_t *wake = NULL;
    lock_channel(c);
    /* the domain was woken for a message, which another domain may have taken since
       then */
    if (again) waiter_remove(&c->receivers, &w);
    ChannelResult result = try_receive_locked(c, m, &wake);
    if (result == CHANNEL_TIMEOUT) {
      result = waited != CHANNEL_OK ? waited : reason_to_leave(c, self, deadline);
      if (result == CHANNEL_OK) {
        peer_prepare(self, WAIT_RECEIVE, c->id);
        wake = enqueue_receiver_locked(c, &w);
        unlock_channel(c);
        peer_wake(wake);
        waited = result_of_wait(peer_wait(self, deadline));
        continue;
      }
    }
    unlock_channel(c);
    peer_wake(wake);
    if (again && result != CHANNEL_ATTENTION) peer_end_wait(self);
    return result;
  }
}

/* ---- select -------------------------------------------------------------- */

typedef struct Selection {
  Channel **channels;
  Waiter *waiters;
  uint32_t n, orphaned;
  Peer *self;
  Message **message;
  bool again;     /* the waiters have been in the queues */
  bool prepared;
  bool may_wait;  /* whether a channel without a message gets its waiter queued again */
} Selection;

/* Removes the waiter from queue i. A wake-up that was not used is passed on to the next
 * waiter. */
static void leave_selected(const Selection *s, uint32_t i) {
  Channel *c = s->channels[i];
  lock_channel(c);
  uint32_t *wake = leave_locked(&c->receivers, &s->waiters[i], c->count > 0);
  unlock_channel(c);
  peer_wake(wake);
}

static void enter_selected_locked(Selection *s, uint32_t i, uint32_t **wake) {
  Channel *c = s->channels[i];
  if (!s->prepared) peer_prepare(s->self, WAIT_SELECT, s->channels[0]->id);
  s->prepared = true;
  s->orphaned += is_orphaned(c);
  *wake = enqueue_receiver_locked(c, &s->waiters[i]);
}

/* Tries to receive from channel i. If there is nothing, queues its waiter. */
static ChannelResult try_selected(Selection *s, uint32_t i) {
  Channel *c = s->channels[i];
  uint32_t *wake = NULL;
  lock_channel(c);
  if (s->again) waiter_remove(&c->receivers, &s->waiters[i]);
  ChannelResult result = try_receive_locked(c, s->message, &wake);
  if (result == CHANNEL_TIMEOUT && s->may_wait) enter_selected_locked(s, i, &wake);
  unlock_channel(c);
  peer_wake(wake);
  return result;
}

/* Tries all channels once. Unless CHANNEL_TIMEOUT is returned, no waiter is queued
 * afterwards. */
static ChannelResult try_all(Selection *s, uint32_t *index) {
  ChannelResult result = CHANNEL_TIMEOUT;
  uint32_t found = 0;
  s->orphaned = 0;
  s->prepared = false;
  while (found < s->n && (result = try_selected(s, found)) == CHANNEL_TIMEOUT) found++;
  if (result == CHANNEL_TIMEOUT) return result;
  *index = found;
  for (uint32_t i = 0; i < s->n; i++)
    if (i < found ? s->may_wait : i > found && s->again) leave_selected(s, i);
  return result;
}

static void leave_all(const Selection *s) {
  for (uint32_t i = 0; i < s->n; i++) leave_selected(s, i);
}

ChannelResult channel_select(Channel **channels, Waiter *waiters, uint32_t n, Peer *self,
                             Message **m, uint32_t *index, uint64_t deadline) {
  Selection s = {.channels = channels, .waiters = waiters, .n = n, .self = self, .message = m};
  ChannelResult waited = deadline == 0 ? CHANNEL_TIMEOUT : CHANNEL_OK, result;
  for (uint32_t i = 0; i < n; i++) waiters[i] = (Waiter){.peer = self};
  for (;;) {
    s.may_wait = waited == CHANNEL_OK;
    result = try_all(&s, index);
    if (result != CHANNEL_TIMEOUT || !s.may_wait) break;
    s.again = true;
    if (s.orphaned == n) {
      leave_all(&s);
      result = leave_orphaned(self);
      break;
    }
    waited = result_of_wait(peer_wait(self, deadline));
  }
  if (result == CHANNEL_TIMEOUT) result = waited;
  if (s.again && result != CHANNEL_ATTENTION) peer_end_wait(self);
  return result;
}
