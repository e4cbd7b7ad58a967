/* SPDX-License-Identifier: MIT */
/* domains.c: the life of a domain (see domains.h). (The file is long because gates, the
   rings in a recording and the probes' slow path change together, and the compiler
   inlines that path into one piece.) */
#include "producer/last_stack.h"
#include "producer/domains.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/atomics.h"
#include "format/error.h"
#include "format/text.h"
#include "producer/catalogue.h"
#include "producer/growth.h"
#include "producer/producer.h"
#include "producer/ring.h"
#include "producer/thread_exit.h"

static const uint64_t closed_gate = 0;
static uint64_t fork_gate; /* gate word of a forked child that is to be recorded later;
                              atomic */

/* The domain that a host gets when there is no memory for one: probes only ever read its
   gates. */
static struct evr_domain inert_domain = {
    .failed = true,
    .lanes.hot.lane = {[0 ... EVENTRING_RINGS - 1] = {.gate = &closed_gate}}};

/* The domain that this thread started last. Another thread may have stopped it: see
   evr_domain_own. */
static __thread struct evr_domain *self;

/* ---- Gates and attention ---------------------------------------------------------- */

static void set_gate(struct evr_domain *d, const uint64_t *gate) {
  for (int r = 0; r < EVENTRING_RINGS; r++)
    __atomic_store_n(&d->lanes.hot.lane[r].gate, gate, __ATOMIC_RELAXED);
}

/* Sends the next probes of other threads' domains of this recording into the slow path.
   seq_cst (a release would do): pairs with the acquire loads of `attention` below, which
   then see the gates that were set before. The barrier on all threads pairs with the
   signal fence in evr_lane_publish_limit; without it (an old kernel) a domain that is
   changing blocks right now might notice only at its next change. */
static void request_attention_locked(const struct evr_recording *r) {
  for (struct evr_domain *d = evr_producer.domains; d; d = d->next)
    if (d->recording == r) __atomic_store_n(&d->lanes.attention, 1, __ATOMIC_SEQ_CST);
  syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
  for (struct evr_domain *d = evr_producer.domains; d; d = d->next)
    for (int i = 0; d->recording == r && i < EVENTRING_RINGS; i++)
      __atomic_store_n(&d->lanes.hot.lane[i].limit, NULL, __ATOMIC_RELAXED);
}

void evr_domains_watch_locked(const struct evr_recording *r) {
  bool others = false;
  for (struct evr_domain *d = evr_producer.domains; d; d = d->next) {
    bool own = pthread_equal(d->owner, pthread_self());
    for (int i = 0; own && d->recording == r && i < EVENTRING_RINGS; i++)
      if (evr_watch_covers((unsigned)i))
        __atomic_store_n(&d->lanes.hot.lane[i].limit, NULL, __ATOMIC_RELAXED);
    others |= !own && d->recording == r;
  }
  if (others) request_attention_locked(r);
}

/* ---- Attaching a domain to the recording ------------------------------------------- */

static int free_slot_locked(const struct evr_recording *r) {
  for (int i = 0; i < EVENTRING_MAX_DOMAINS; i++)
    if (!r->slot[i].owner) return i;
  return -1;
}

static void store_name(struct format_domain *e, const char *name) {
  uint64_t words[sizeof e->name / 8];
  memcpy(words, name, sizeof words);
  evr_store_words(e->name, words, sizeof words);
}

/* Writes the domain's entry in the domain table at a start, a stop or a new name. The
   version is odd while the fields change: a seqlock (as in lane.c). */
static void write_entry_locked(struct evr_domain *d, enum format_life life) {
  struct evr_recording *r = d->recording;
  struct format_domain *e = evr_domain_entry(r, (unsigned)d->slot);
  uint64_t now = evr_clock_ticks(r->clock);
  uint32_t version = __atomic_load_n(&e->version, __ATOMIC_RELAXED) | 1;
  __atomic_store_n(&e->version, version, __ATOMIC_RELAXED);
  /* release fence: pairs with the second acquire fence in evr_metadata_domain
     (reader/metadata.c): a reader that sees a field stored below sees the odd version */
  evr_fence_release();
  if (life != FORMAT_LIFE_STOP) store_name(e, d->name);
  if (life == FORMAT_LIFE_START) {
    __atomic_store_n(&e->start_ticks, now, __ATOMIC_RELAXED);
    __atomic_store_n(&e->tid, d->tid, __ATOMIC_RELAXED);
    __atomic_store_n(&e->incarnation, d->lanes.incarnation, __ATOMIC_RELAXED);
  }
  bool alive = life != FORMAT_LIFE_STOP;
  __atomic_store_n(&e->stop_ticks, alive ? 0 : now, __ATOMIC_RELAXED);
  __atomic_store_n(&e->state, alive ? FORMAT_SLOT_ALIVE : FORMAT_SLOT_FREE, __ATOMIC_RELAXED);
  /* release: pairs with the first acquire fence in evr_metadata_domain: a reader that
     sees this version sees the fields */
  __atomic_store_n(&e->version, version + 1, __ATOMIC_RELEASE);
  if (!r->ended)
    evr_records_life_locked(&r->records, life, (unsigned)d->slot, d->lanes.incarnation, d->tid,
                            now, d->name);
}

/* Detaches the domain from its recording. Owner, or a thread that knows that the owner is
   gone. */
static void detach_locked(struct evr_domain *d) {
  struct evr_recording *r = d->recording;
  set_gate(d, &closed_gate);
  evr_watch_forget(&d->watching);
  for (int ring = 0; ring < EVENTRING_RINGS; ring++)
    evr_lane_close(&d->lanes, (enum eventring_ring)ring);
  write_entry_locked(d, FORMAT_LIFE_STOP);
  if (d->heap) evr_heap_detach_locked(d->heap);
  r->slot[d->slot].owner = NULL;
  if (r->ended) evr_ring_finish_slot_locked(r, (unsigned)d->slot);
  d->recording = NULL;
  d->slot = -1;
  evr_recording_release_locked(r);
}

/* Puts the domain at the head of a list. The list is doubly linked because a process may
   have thousands of domains: adding or removing one does not walk the list. */
static void link_locked(struct evr_domain **list, struct evr_domain *d) {
  d->prev = NULL;
  d->next = *list;
  if (d->next) d->next->prev = d;
  *list = d;
}

static void unlink_locked(struct evr_domain **list, const struct evr_domain *d) {
  if (d->next) d->next->prev = d->prev;
  if (d->prev) d->prev->next = d->next;
  else *list = d->next;
}

/* Counts domains that end with their thread: `change` is 1 when one begins, -1 when it
   ends or may go on without its thread. */
static void count_bound_locked(const struct evr_domain *d, int change) {
  if (!d->unbound) evr_producer.bound += (unsigned)change;
}

/* Ends the domain for good. Owner, or a thread that knows that the owner is gone. */
static void end_domain_locked(struct evr_domain *d) {
  if (evr_producer.recording) evr_room_found(evr_producer.recording, &d->room);
  if (d->recording) detach_locked(d);
  unlink_locked(&evr_producer.domains, d);
  count_bound_locked(d, -1);
  set_gate(d, &closed_gate);
  d->failed = d->ended = true;
  link_locked(&evr_producer.ended_domains, d);
}

/* Ends the domains of threads that have ended without running the destructors of
   thread-specific data, which would have ended them (thread_exit.h). */
static void end_domains_of_the_gone_locked(void) {
  unsigned left = evr_producer.bound;
  for (struct evr_domain *d = evr_producer.domains, *next; d && left > 0; d = next) {
    next = d->next;
    if (d->unbound) continue;
    left--;
    if (evr_thread_is_gone(d->tid)) end_domain_locked(d);
  }
}

/* Memory of ended domains, linked by `next`, to be used again. malloc gives pieces of
   this size back to the system, so a host that opens and closes thousands of states would
   get fresh pages for each of them. */
#define SPARES_MOST 2048
static struct evr_domain *spares;
static unsigned spare_count;

static struct evr_domain *take_spare_locked(void) {
  struct evr_domain *d = spares;
  if (!d) return NULL;
  spares = d->next;
  spare_count--;
  return d;
}

static void free_domain_locked(struct evr_domain *d) {
  evr_heap_free(d->heap);
  evr_stack_cache_free(&d->stacks);
  if (spare_count == SPARES_MOST) {
    free(d);
    return;
  }
  d->next = spares;
  spares = d;
  spare_count++;
}

/* Frees ended domains whose threads are gone: nobody can stop them any more. */
static void free_ended_domains_locked(void) {
  for (struct evr_domain *d = evr_producer.ended_domains, *next; d; d = next) {
    next = d->next;
    if (!evr_thread_is_gone(d->tid)) continue;
    unlink_locked(&evr_producer.ended_domains, d);
    free_domain_locked(d);
  }
}

static int take_slot_locked(struct evr_domain *d, struct evr_recording *r,
                            struct eventring_error *error) {
  int slot = free_slot_locked(r);
  if (slot < 0) {
    end_domains_of_the_gone_locked();
    slot = free_slot_locked(r);
  }
  if (slot < 0) {
    /* each domain is counted once, because it does not try again. relaxed: nothing else
       depends on this number */
    __atomic_fetch_add(&evr_status(r)->unrecorded, 1, __ATOMIC_RELAXED);
    return evr_fail(error, EVENTRING_E_FULL, 0,
                    "domain \"%s\" is not recorded: %d are already", d->name,
                    EVENTRING_MAX_DOMAINS);
  }
  int status = evr_recording_use_slot_locked(r, (unsigned)slot, error);
  if (status != EVENTRING_OK) return status;
  r->slot[slot].owner = d;
  d->lanes.incarnation = ++r->slot[slot].incarnation;
  d->slot = slot;
  d->recording = r;
  evr_recording_hold_locked(r);
  return EVENTRING_OK;
}

/* Stops recording the domain until the next start. */
static void fail_domain_locked(struct evr_domain *d) {
  d->failed = true;
  if (d->recording) detach_locked(d);
}

static int attach_locked(struct evr_domain *d, struct eventring_error *error) {
  struct evr_recording *r = evr_producer.recording;
  int status = take_slot_locked(d, r, error);
  if (status != EVENTRING_OK) {
    d->failed = true;
    set_gate(d, &closed_gate);
    if (status != EVENTRING_E_FULL) evr_room_lacks(r, &d->room, error->sys_errno);
    return status;
  }
  evr_room_found(r, &d->room);
  d->lanes.control = evr_control(r);
  d->lanes.recalibrate_at = &r->recalibrate_at;
  d->lanes.clock = r->clock;
  d->lanes.slot = (uint16_t)d->slot;
  write_entry_locked(d, FORMAT_LIFE_START);
  set_gate(d, &evr_control(r)->gate);
  return EVENTRING_OK;
}

/* ---- Writing ----------------------------------------------------------------------- */

/* A probe may run between a call and the program's use of errno. So every function below
   that may make system calls leaves errno as it was. */

/* Stops recording a domain. Without the mutex. */
static __attribute__((cold, noinline)) void fail_domain(struct evr_domain *d) {
  int saved = errno;
  evr_lock();
  fail_domain_locked(d);
  evr_unlock();
  errno = saved;
}

static __attribute__((cold, noinline)) void warn_of(const struct eventring_error *error) {
  int saved = errno;
  evr_producer_warn(evr_producer_listener(), error);
  errno = saved;
}

/* Sends the next probe of each lane into the slow path if the file of the recording was
   deleted; there the domain leaves the recording (leave_ended_recording). Owner. */
static void see_deletion(struct evr_domain *d) {
  if (__builtin_expect(!__atomic_load_n(&d->recording->deleted, __ATOMIC_RELAXED), 1)) return;
  __atomic_store_n(&d->lanes.attention, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < EVENTRING_RINGS; i++)
    __atomic_store_n(&d->lanes.hot.lane[i].limit, NULL, __ATOMIC_RELAXED);
}

static __attribute__((cold, noinline)) void recalibrate_now(struct evr_domain *d) {
  struct evr_recording *r = d->recording;
  int saved = errno;
  evr_lock();
  if (!r->ended) evr_recording_recalibrate_locked(r);
  evr_unlock();
  evr_recording_see_link(r, false);
  see_deletion(d);
  errno = saved;
}

static void recalibrate(struct evr_domain *d, uint64_t ticks) {
  if (ticks >= __atomic_load_n(d->lanes.recalibrate_at, __ATOMIC_RELAXED)) recalibrate_now(d);
}

static void tell_of_no_room(struct evr_recording *r) {
  struct eventring_error news;
  if (evr_room_is_news(r, &news)) warn_of(&news);
}

/* Appends the definitions for which there was no room. */
static __attribute__((cold, noinline)) void append_definitions(struct evr_recording *r) {
  struct eventring_error error;
  evr_lock();
  if (!r->ended) evr_catalogue_publish_locked(r, &error);
  evr_unlock();
}

static void append_waiting(struct evr_recording *r) {
  if (__builtin_expect(__atomic_load_n(&r->definitions_wait, __ATOMIC_RELAXED), 0))
    append_definitions(r);
}

/* Opens a lane. The ring is made when something is first written into it. */
static __attribute__((cold, noinline)) int open_lane(struct evr_domain *d,
                                                     enum eventring_ring ring,
                                                     struct eventring_error *error) {
  int saved = errno;
  evr_lock();
  struct evr_writer *writer =
      evr_ring_writer_locked(d->recording, (unsigned)d->slot, ring, error);
  evr_unlock();
  int status = writer ? evr_lane_open(&d->lanes, ring, writer, error) : error->code;
  tell_of_no_room(d->recording);
  errno = saved;
  return status;
}

/* An entry to be written: an event, or a remark on contexts. */
struct entry {
  uint64_t tail, ticks;
  const uint64_t *payload;
  size_t words;
  enum { ENTRY_EVENT, ENTRY_CONTEXT, ENTRY_SUSPEND, ENTRY_RESUME } what;
};

static inline __attribute__((always_inline)) int
write_into_lane(struct evr_domain *d, enum eventring_ring ring, struct entry *entry,
                struct eventring_error *error) {
  switch (entry->what) {
    case ENTRY_CONTEXT:
      return evr_lane_set_context(&d->lanes, ring, *entry->payload, entry->ticks, error);
    case ENTRY_SUSPEND:
      return evr_lane_switch_context(&d->lanes, ring, FORMAT_REMARK_SUSPEND, *entry->payload,
                                     entry->ticks, error);
    case ENTRY_RESUME:
      return evr_lane_switch_context(&d->lanes, ring, FORMAT_REMARK_RESUME, *entry->payload,
                                     entry->ticks, error);
    default:
      return evr_lane_write(&d->lanes, ring, entry->tail, &entry->ticks, entry->payload,
                            entry->words, error);
  }
}

/* Checks the gate and the file at a change of blocks, lets the ring grow, and writes what
   waited for room. */
static void follow_block(struct evr_domain *d, enum eventring_ring ring, uint64_t ticks) {
  struct evr_recording *r = d->recording;
  int saved = errno;
  evr_recording_check_gate(r);
  see_deletion(d);
  evr_ring_follow(&r->slot[d->slot].ring[ring], (unsigned)d->slot, ring, ticks);
  append_waiting(r);
  tell_of_no_room(r);
  errno = saved;
}

/* Writes into an attached domain. When out of memory for the ring, drops the event and
   stops recording the domain; the caller must warn the host. To be called between
   evr_lane_begin_writing and _end_writing. */
static inline __attribute__((always_inline)) int
write_entry(struct evr_domain *d, enum eventring_ring ring, struct entry *entry,
            struct eventring_error *error) {
  int status = EVENTRING_OK;
  /* probes read the processor's counter, but this recording has another clock */
  if (d->lanes.clock == FORMAT_CLOCK_MONOTONIC) entry->ticks = evr_clock_ticks(d->lanes.clock);
  recalibrate(d, entry->ticks);
  if (__builtin_expect(!d->lanes.writer[ring], 0)) {
    status = open_lane(d, ring, error);
    /* the time of a span does not include the making of its ring */
    entry->ticks = evr_clock_ticks(d->recording->clock);
  }
  if (__builtin_expect(status == EVENTRING_OK, 1))
    status = write_into_lane(d, ring, entry, error);
  if (__builtin_expect(status == EVENTRING_OK, 1)) return status;
  if (status == EVR_NEW_BLOCK) follow_block(d, ring, entry->ticks);
  else fail_domain(d);
  return status;
}

/* Writes one of the library's own lifecycle events. A result below 0 is an error of which
   the caller must warn the host. */
static int write_builtin(struct evr_domain *d, enum eventring_builtin_id id, int64_t data,
                         struct eventring_error *error) {
  const enum eventring_ring ring = EVENTRING_RUNTIME;
  uint64_t payload = (uint64_t)data;
  if (!d->recording ||
      !eventring_enabled(&d->lanes.hot, ring, EVENTRING_CLASS_LIFECYCLE))
    return EVENTRING_OK;
  bool outermost = evr_lane_begin_writing(&d->lanes, ring);
  struct entry entry = {.tail = EVENTRING_TAIL(EVENTRING_LIFECYCLE, id, 1),
                        .ticks = evr_clock_ticks(d->recording->clock),
                        .payload = &payload, .words = 1};
  int status = write_entry(d, ring, &entry, error);
  evr_lane_end_writing(&d->lanes, ring, outermost);
  return status;
}

static void emit_builtin(struct evr_domain *d, enum eventring_builtin_id id, int64_t data) {
  struct eventring_error error;
  if (write_builtin(d, id, data, &error) < 0) warn_of(&error);
}

void evr_domain_report_fired(struct evr_domain *d, uint64_t fired) {
  for (unsigned i = 0; d && i < EVENTRING_MAX_TRIGGERS; i++) {
    int64_t value;
    unsigned id = fired >> i & 1 ? evr_watch_fired(i, &value) : 0;
    if (id) emit_builtin(d, (enum eventring_builtin_id)id, value);
  }
  if (d) evr_stack_wanted(d, EVENTRING_STACK_TRIGGER, 0, false);
  evr_watch_post(fired);
}

static __attribute__((cold, noinline)) void report_fired(struct evr_domain *d, uint64_t fired) {
  int saved = errno;
  evr_domain_report_fired(d, fired);
  errno = saved;
}

/* Passes an event of a watched ring to the triggers; returns those that fired. To be
   called between evr_lane_begin_writing and _end_writing. */
static __attribute__((noinline)) uint64_t watch(struct evr_domain *d, enum eventring_ring ring,
                                                const struct entry *entry) {
  if (entry->what != ENTRY_EVENT) return 0;
  /* acquire: as in fold_block (lane.c) */
  const uint32_t switches = __atomic_load_n(&d->lanes.control->switches, __ATOMIC_ACQUIRE);
  if (__builtin_expect(switches != d->watching.switches_seen, 0))
    evr_watch_switched(&d->watching, d->lanes.control, switches, entry->ticks);
  const struct evr_watched event = {
      .context = d->lanes.hot.lane[ring].context, .tail = entry->tail, .ticks = entry->ticks,
      .payload = entry->payload, .no_cpu_time = d->recording->no_cpu_time,
      .rate = __atomic_load_n(&d->recording->rate, __ATOMIC_RELAXED)};
  return evr_watch_event(&d->watching, &event);
}

/* ---- Attaching: the owner, without the mutex --------------------------------------- */

static int announce(struct evr_domain *d, bool first, struct eventring_error *error) {
  int status = EVENTRING_OK;
  if (first) status = write_builtin(d, EVENTRING_ID_RECORDER_START, getpid(), error);
  if (status >= 0)
    status = write_builtin(d, EVENTRING_ID_DOMAIN_START, d->lanes.incarnation, error);
  return status < 0 ? status : EVENTRING_OK;
}

/* Attaches the domain, and writes domain_start into its ring. */
static int attach_and_announce(struct evr_domain *d, struct eventring_error *error) {
  evr_lock();
  struct evr_recording *r = evr_producer.recording;
  int status = EVENTRING_E_STATE;
  bool first = false;
  if (r && !d->failed) {
    status = attach_locked(d, error);
    if (status == EVENTRING_OK) {
      first = !r->announced;
      r->announced = true;
    }
  } else {
    evr_fail(error, status, 0, "nothing is being recorded");
  }
  evr_unlock();
  return status == EVENTRING_OK ? announce(d, first, error) : status;
}

/* Detaches the domain from a recording that has ended. If the recording's file was
   deleted, ends the recording here, provided that another file can be made. */
static void leave_ended_recording(struct evr_domain *d) {
  if (d->recording && __atomic_load_n(&d->recording->deleted, __ATOMIC_RELAXED))
    evr_on_deleted(EVR_KNOWN);
  evr_lock();
  __atomic_store_n(&d->lanes.attention, 0, __ATOMIC_RELAXED);
  if (d->recording && d->recording->ended) detach_locked(d);
  evr_domains_drop_ended_locked(); /* the helper may have replaced the recording, and does
                                      not drop it */
  if (evr_producer.recording && !d->failed && !d->recording)
    set_gate(d, &evr_control(evr_producer.recording)->gate);
  evr_unlock();
}

/* Attaches a domain for which there was no room, when it is time to try again. */
static __attribute__((cold, noinline)) void attach_again(struct evr_domain *d) {
  struct eventring_error error;
  int saved = errno;
  evr_lock();
  struct evr_recording *r = evr_producer.recording;
  bool is_due = r && !r->ended && d->failed && !evr_room_is_hopeless(r, &d->room);
  if (is_due) {
    d->failed = false;
    set_gate(d, &evr_control(r)->gate);
  }
  evr_unlock();
  if (is_due) attach_and_announce(d, &error);
  errno = saved;
}

/* Lets the recording of a forked child begin, at once (`now`) or when it is clear that
   the child goes on. Does nothing for a probe of a signal handler, whose domain is not
   the thread's last one. Returns true when the recording is yet to begin. */
static bool awaits_own_recording(const struct evr_domain *d, bool now) {
  /* acquire, for both loads: pairs with the release in after_fork_in_child (state.c),
     after the child's state was renewed */
  void (*follow)(bool) = __atomic_load_n(&evr_producer.follow, __ATOMIC_ACQUIRE);
  if (__builtin_expect(!follow, 1)) return false;
  if (d == self || d->unbound) follow(now);
  return __atomic_load_n(&evr_producer.follow, __ATOMIC_ACQUIRE) != NULL;
}

/* Brings a domain up to date with the producer. */
static void bring_up_to_date(struct evr_domain *d, bool now) {
  struct eventring_error error = {0};
  if (!d->recording && awaits_own_recording(d, now)) return;
  /* acquire: pairs with the store in request_attention_locked; all else of the end is
     seen under the mutex */
  if (__atomic_load_n(&d->lanes.attention, __ATOMIC_ACQUIRE)) leave_ended_recording(d);
  if (d->recording) return;
  int status = attach_and_announce(d, &error);
  if (status != EVENTRING_OK && status != EVENTRING_E_STATE) warn_of(&error);
}

/* Brings the domain up to date, and leaves errno as it was. Returns true when the domain
   is attached. */
static __attribute__((cold, noinline)) bool settle(struct evr_domain *d, bool now) {
  int saved = errno;
  bring_up_to_date(d, now);
  errno = saved;
  return d->recording != NULL;
}

/* ---- Entry points of the probes ---------------------------------------------------- */

/* Tells whether this probe was called by a handler of a signal that has interrupted what
   the probe needs. */
static bool must_drop(const struct evr_domain *d) { return d->lanes.writing || evr_locking(); }

static inline __attribute__((always_inline)) void
emit_entry(struct evr_domain *d, enum eventring_ring ring, struct entry entry) {
  bool outermost = evr_lane_begin_writing(&d->lanes, ring), attached = true;
  /* acquire: as in bring_up_to_date */
  if (__builtin_expect(!d->recording, 0) ||
      __builtin_expect(__atomic_load_n(&d->lanes.attention, __ATOMIC_ACQUIRE), 0)) {
    attached = settle(d, ring == EVENTRING_USER);
    /* so that the event is not before domain_start */
    if (attached) entry.ticks = evr_clock_ticks(d->recording->clock);
  }
  struct eventring_error error;
  uint64_t fired = 0;
  int status = attached ? write_entry(d, ring, &entry, &error) : EVENTRING_OK;
  if (__builtin_expect(evr_watch_covers(ring), 0) && attached && status >= 0)
    fired = watch(d, ring, &entry);
  evr_lane_end_writing(&d->lanes, ring, outermost);
  if (__builtin_expect(fired != 0, 0)) report_fired(d, fired);
  if (__builtin_expect(status < 0, 0)) warn_of(&error);
}

static inline void emit(struct evr_domain *d, enum eventring_ring ring, uint64_t tail,
                        uint64_t ticks, const uint64_t *payload, size_t words) {
  if (__builtin_expect(must_drop(d), 0)) evr_lane_drop(&d->lanes, ring);
  else emit_entry(d, ring, (struct entry){.tail = tail, .ticks = ticks, .payload = payload,
                                          .words = words});
}

void eventring_emit_slow(eventring_domain *domain, enum eventring_ring ring,
                         uint64_t tail, uint64_t ticks, const uint64_t *payload,
                         size_t words) {
  emit((struct evr_domain *)domain, ring, tail, ticks, payload, words);
}

void eventring_emit_words(eventring_domain *domain, enum eventring_ring ring, uint64_t tail,
                          const uint64_t *words, size_t count) {
  if (count > FORMAT_PAYLOAD_WORDS) count = FORMAT_PAYLOAD_WORDS;
  tail |= (uint64_t)count << EVENTRING_WORD_LENGTH_SHIFT;
  emit((struct evr_domain *)domain, ring, tail, eventring_ticks(), words, count);
}

/* Writes a remark on contexts. A signal handler that cannot write leaves the context as
   it is: the events of the handler are dropped as well. */
static void emit_remark(eventring_domain *domain, enum eventring_ring ring, int what,
                        uint64_t context) {
  struct evr_domain *d = (struct evr_domain *)domain;
  if (must_drop(d)) return;
  emit_entry(d, ring, (struct entry){.ticks = eventring_ticks(), .payload = &context,
                                     .words = 1, .what = what});
}

void eventring_enter_context(eventring_domain *domain, enum eventring_ring ring,
                             uint64_t context) {
  emit_remark(domain, ring, ENTRY_CONTEXT, context);
}

void eventring_leave_context(eventring_domain *domain, enum eventring_ring ring,
                             uint64_t context) {
  emit_remark(domain, ring, ENTRY_SUSPEND, context);
}

void eventring_continue_context(eventring_domain *domain, enum eventring_ring ring,
                                uint64_t context) {
  emit_remark(domain, ring, ENTRY_RESUME, context);
}

void eventring_emit_bytes(eventring_domain *domain, enum eventring_ring ring,
                          uint64_t tail, const void *bytes, size_t size) {
  uint64_t payload[FORMAT_PAYLOAD_WORDS];
  size_t kept = size <= EVENTRING_MAX_PAYLOAD
                    ? size : eventring_text_fit(bytes, size, EVENTRING_MAX_PAYLOAD);
  size_t words = 1 + (kept + 7) / 8;
  payload[words - 1] = 0; /* padding of the last word */
  payload[0] = kept | (kept < size ? FORMAT_BYTES_TRUNCATED : 0);
  if (kept) memcpy(payload + 1, bytes, kept);
  tail |= (uint64_t)words << EVENTRING_WORD_LENGTH_SHIFT;
  emit((struct evr_domain *)domain, ring, tail, eventring_ticks(), payload, words);
}

/* ---- Domains: public --------------------------------------------------------------- */

static struct evr_domain *new_domain(const char *name) {
  evr_lock();
  struct evr_domain *d = take_spare_locked();
  evr_unlock();
  if (!d && posix_memalign((void **)&d, 64, sizeof *d) != 0) return NULL;
  memset(d, 0, sizeof *d);
  set_gate(d, &closed_gate);
  d->slot = -1;
  d->owner = pthread_self();
  d->tid = (int32_t)syscall(SYS_gettid);
  evr_text_copy(d->name, sizeof d->name, name);
  return d;
}

bool evr_domain_is_raw_child(const struct evr_recording *r) {
  return r && r->header.pid != getpid();
}

static void say_that_it_stops(struct evr_domain *d) {
  /* acquire: as in bring_up_to_date */
  if (!__atomic_load_n(&d->lanes.attention, __ATOMIC_ACQUIRE))
    emit_builtin(d, EVENTRING_ID_DOMAIN_STOP, d->lanes.incarnation);
}

bool evr_domain_is_inert(const struct evr_domain *d) { return d == &inert_domain; }

void evr_domain_publish_heap(struct evr_domain *d, bool over) {
  int saved = errno;
  /* acquire: as in bring_up_to_date */
  bool attached = d->recording && !__atomic_load_n(&d->lanes.attention, __ATOMIC_ACQUIRE);
  struct evr_heap *heap = d->heap;
  if (attached)
    evr_heap_publish(heap, d->recording,
                     (struct evr_heap_owner){(uint32_t)d->slot, d->lanes.incarnation, over});
  if (over) {
    evr_lock();
    evr_heap_detach_locked(heap);
    d->heap = NULL;
    evr_unlock();
    evr_heap_free(heap);
  }
  errno = saved;
}

static struct evr_domain *first_own_locked(void) {
  struct evr_domain *d = evr_producer.domains;
  while (d && (d->unbound || !pthread_equal(d->owner, pthread_self()))) d = d->next;
  return d;
}

static void end_own_domains(void) {
  struct evr_domain *d;
  do {
    evr_lock();
    d = first_own_locked();
    evr_unlock();
    if (!d || evr_domain_is_raw_child(d->recording)) break;
    if (d->heap) evr_domain_publish_heap(d, true);
    say_that_it_stops(d);
    evr_lock();
    end_domain_locked(d);
    evr_domains_drop_ended_locked();
    evr_unlock();
  } while (true);
  self = NULL;
}

/* Adds the domain to the list; returns true when it is to be recorded at once. */
static bool add_to_list(struct evr_domain *d) {
  evr_lock();
  free_ended_domains_locked();
  link_locked(&evr_producer.domains, d);
  count_bound_locked(d, 1);
  struct evr_recording *r = evr_producer.recording;
  if (r) set_gate(d, &evr_control(r)->gate);
  bool running = r && __atomic_load_n(&evr_control(r)->gate, __ATOMIC_RELAXED) != 0;
  evr_unlock();
  return running;
}

eventring_domain *eventring_domain_start(const char *name,
                                         struct eventring_error *error) {
  struct eventring_error failure = {0};
  evr_producer_follow_now();
  struct evr_domain *d = new_domain(name);
  if (d) {
    evr_thread_at_exit(end_own_domains);
    self = d;
    if (add_to_list(d)) attach_and_announce(d, &failure);
  } else {
    evr_fail(&failure, EVENTRING_E_MEMORY, 0, "no memory for a domain");
  }
  if (failure.code != EVENTRING_OK && failure.code != EVENTRING_E_STATE)
    warn_of(&failure);
  if (error) *error = failure;
  return d ? &d->lanes.hot : &inert_domain.lanes.hot;
}

void eventring_domain_unbind(eventring_domain *domain) {
  struct evr_domain *d = (struct evr_domain *)domain;
  if (!d || d == &inert_domain) return;
  evr_lock();
  if (!d->ended) count_bound_locked(d, -1);
  d->unbound = true;
  evr_unlock();
}

void eventring_domain_stop(eventring_domain *domain) {
  struct evr_domain *d = (struct evr_domain *)domain;
  if (!d || d == &inert_domain || evr_domain_is_raw_child(d->recording)) return;
  if (d->heap) evr_domain_publish_heap(d, true);
  say_that_it_stops(d);
  evr_lock();
  if (!d->ended) end_domain_locked(d);
  unlink_locked(&evr_producer.ended_domains, d);
  evr_domains_drop_ended_locked();
  free_domain_locked(d);
  evr_unlock();
  if (self == d) self = NULL;
}

int eventring_domain_rename(eventring_domain *domain, const char *name) {
  struct evr_domain *d = (struct evr_domain *)domain;
  if (!d || !name) return EVENTRING_E_ARGUMENT;
  if (evr_text_check(name, strlen(name)) != EVR_TEXT_OK) return EVENTRING_E_NAME;
  if (d == &inert_domain) return EVENTRING_OK;
  evr_lock();
  memset(d->name, 0, sizeof d->name);
  evr_text_copy(d->name, sizeof d->name, name);
  if (d->recording) write_entry_locked(d, FORMAT_LIFE_RENAME);
  evr_unlock();
  return EVENTRING_OK;
}

int eventring_domain_slot(const eventring_domain *domain) {
  const struct evr_domain *d = (const struct evr_domain *)domain;
  return d && d->recording ? d->slot : -1;
}

static void check_recording(struct evr_domain *d) {
  evr_recording_check_gate(d->recording);
  if (must_drop(d)) return;
  see_deletion(d);
  if (__atomic_load_n(&d->lanes.attention, __ATOMIC_RELAXED)) leave_ended_recording(d);
}

/* Checks the file of a recording that stands by, because no lane does. */
static void look_at_standby(void) {
  static uint64_t look_at; /* ns; atomic */
  uint64_t now = evr_monotonic_ns();
  if (evr_locking() || now < __atomic_load_n(&look_at, __ATOMIC_RELAXED)) return;
  __atomic_store_n(&look_at, now + EVR_LINK_LOOK_MS * (uint64_t)1000000, __ATOMIC_RELAXED);
  evr_on_deleted(EVR_LOOK);
  evr_lock();
  evr_domains_drop_ended_locked();
  evr_unlock();
}

void eventring_domain_check(eventring_domain *domain) {
  struct evr_domain *d = (struct evr_domain *)domain;
  if (!d || d == &inert_domain) return;
  if (!d->recording && awaits_own_recording(d, false)) return;
  const uint64_t *gate = __atomic_load_n(&d->lanes.hot.lane[0].gate, __ATOMIC_RELAXED);
  /* acquire: as in bring_up_to_date */
  bool attention = __atomic_load_n(&d->lanes.attention, __ATOMIC_ACQUIRE);
  bool may_attach = !d->recording && __atomic_load_n(gate, __ATOMIC_RELAXED);
  if (attention) leave_ended_recording(d);
  else if (may_attach) settle(d, false);
  else if (__builtin_expect(evr_room_is_short(&d->room), 0)) attach_again(d);
  if (d->recording) check_recording(d);
  /* acquire: pairs with the release in set_recording_locked (state.c), which comes after
     everything that the recording needs */
  else if (__atomic_load_n(&evr_producer.recording, __ATOMIC_ACQUIRE)) look_at_standby();
}

uint64_t eventring_domain_bytes(const eventring_domain *domain) {
  const struct evr_domain *d = (const struct evr_domain *)domain;
  return d && d->recording ? evr_ring_bytes(d->recording, (unsigned)d->slot) : 0;
}

uint64_t evr_domain_emitted(const eventring_domain *domain, enum eventring_ring ring) {
  const struct evr_domain *d = (const struct evr_domain *)domain;
  if (!d || !d->recording || ring >= EVENTRING_RINGS) return 0;
  if (d->lanes.writer[ring]) return evr_lane_emitted(&d->lanes, ring);
  const struct evr_writer *writer = d->recording->slot[d->slot].ring[ring].writer;
  return writer ? evr_writer_emitted(writer) : 0;
}

/* ---- All domains, and the calling thread's ----------------------------------------- */

void evr_domains_admit_locked(struct evr_recording *r) {
  for (struct evr_domain *d = evr_producer.domains; d; d = d->next) {
    d->failed = false;
    evr_room_reset(&d->room);
    set_gate(d, &evr_control(r)->gate);
  }
}

void evr_domains_dismiss_locked(const struct evr_recording *r, const struct evr_recording *next) {
  const uint64_t *gate = next ? &evr_control(next)->gate : &closed_gate;
  bool others = false;
  for (struct evr_domain *d = evr_producer.domains; d; d = d->next) {
    set_gate(d, gate);
    if (d->recording != r) continue;
    if (pthread_equal(d->owner, pthread_self()))
      detach_locked(d);
    else
      others = true;
  }
  if (others) request_attention_locked(r);
}

void evr_domains_drop_ended_locked(void) {
  if (evr_producer.telling || evr_producer.ended_count == 0) return;
  for (struct evr_domain *d = evr_producer.domains; d; d = d->next)
    if (!pthread_equal(d->owner, pthread_self())) return;
  while (evr_producer.ended_count)
    evr_recording_release_locked(evr_producer.ended[--evr_producer.ended_count]);
}

void evr_domains_close_fork_gate(void) { __atomic_store_n(&fork_gate, 0, __ATOMIC_RELAXED); }

/* Closes all domains: first all gates, before anything else may run, so that no probe of
   the child reaches its parent's rings. The mappings stay while cursors read them. */
void evr_domains_after_fork(uint64_t gate) {
  int32_t tid = (int32_t)syscall(SYS_gettid);
  fork_gate = gate;
  for (struct evr_domain *d = evr_producer.domains; d; d = d->next) {
    for (int ring = 0; ring < EVENTRING_RINGS; ring++) {
      d->lanes.hot.lane[ring] = (struct eventring_lane){.gate = &fork_gate};
      d->lanes.writer[ring] = NULL;
      d->lanes.dropped_seen[ring] = d->lanes.dropped[ring]; /* the parent's */
    }
    if (d->recording) evr_recording_release_locked(d->recording);
    if (d->heap) evr_heap_after_fork(d->heap, pthread_equal(d->owner, pthread_self()));
    d->recording = NULL;
    d->slot = -1;
    d->lanes.attention = 0;
    d->watching = (struct evr_watching){0};
    d->traces.left = 0; /* the parent goes on using these bytes */
    d->failed = d->lanes.writing = false;
    evr_room_reset(&d->room);
    d->owner = pthread_self();
    d->tid = tid;
  }
  for (struct evr_domain *d = evr_producer.ended_domains; d; d = d->next)
    if (pthread_equal(d->owner, pthread_self())) d->tid = tid;
}

struct evr_domain *evr_domain_own(void) {
  evr_lock();
  struct evr_domain *d = evr_producer.domains;
  while (d && !(d == self && pthread_equal(d->owner, pthread_self()))) d = d->next;
  evr_unlock();
  return d;
}

void evr_domain_attach_own(void) {
  struct evr_domain *own = evr_domain_own();
  if (own && !own->recording) eventring_domain_check(&own->lanes.hot);
}

void evr_domain_emit_own(enum eventring_builtin_id id, int64_t data) {
  struct evr_domain *own = evr_domain_own();
  /* acquire: as in bring_up_to_date */
  if (own && !__atomic_load_n(&own->lanes.attention, __ATOMIC_ACQUIRE))
    emit_builtin(own, id, data);
}
