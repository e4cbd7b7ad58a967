/* SPDX-License-Identifier: MIT */
/* runtime/memprof.c: sampling of allocations.
 *
 * Design ------ Each word that the program asks for is a sample with probability `rate`,
 * independently of all others. Two meters number the words as they are asked for. The
 * first counts the words allocated at the heap's cursor, the second all other words
 * (second cursor, large blocks, parts used again). For each meter the number of the next
 * sample is drawn (memprof_random.c). The number for the first meter is planted in the
 * limit of the heap's fast path (heap_plant). An allocation that reaches it takes the
 * slow path, which reports each block here; all other allocations cost nothing. The
 * functions of the heap that count on the second meter compare it with the next sample.
 * So neither meter depends on what the other counts. Memory outside the heap is reported
 * by its owner, and counts as a part on the second meter.
 *
 * A sampled block is *tracked*: an entry of 64 bytes says where the block is, what it is,
 * who owns it, and whether it is young. Objects do not move, so entries need no
 * correction, except those of large parts. Passes over compact lists find out what has
 * become of blocks:
 *
 *   young   by the minor collection, when all that can be reached is promoted
 *           (memprof_minor): what is still young is dead
 *   old     by the major cycle, after the strings are swept (memprof_major): what is not
 *           marked is dead. By then finalizers have revived what they want, and no lookup
 *           can bring a string back
 *   parts   when their owner dies, or earlier, when they are given back
 *           (memprof_part_gone)
 *   all     at the end of the domain
 *
 * A part has no header. The heap's report says who owns it. The parts of a new table are
 * allocated before it, so they wait for it (Heap.orphans: the next object takes the slow
 * path).
 *
 * Subscribers. There are two, the guest's profile and the recording's profile. Each draws
 * its own samples, at its own rate, and has its own entries, so neither can disturb the
 * other.
 *
 * Callbacks of the guest. An entry goes through allocation, promotion and death. For each
 * of these steps that its profile wants to know, the entry is put in the queue. Callbacks
 * run at the next safepoint of a Lua function (memprof_safe_point), one after the other:
 * allocate, track, call back. So the block of a callback exists whatever the callback
 * does, and an error leaves later callbacks in the queue. They do not run inside each
 * other, in finalizers, in hooks, in the collector, or below a C function. When a profile
 * stops, entries whose allocation was not called back yet are dropped.
 *
 * Failure. If there is no memory for an entry, or for its place in a list or in the
 * queue, its samples are lost, and counted. So with callbacks, the samples called back
 * and those that are lost add up to all samples.
 */
#include "memprof_internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "clock.h"
#include "gc_inline.h"
#include "heap.h"
#include "peer.h"
#include "stress.h"
#include "thread.h"

#define LEAST_PARTS 2048 /* buckets at least; several for each part, most of them empty */

/* ---- memory -------------------------------------------------------------- */

SAMPLE_PATH bool ids_push(Ids *ids, uint32_t id) {
  if (stress_record_fails()) return false;
  if (ids->n == ids->capacity) {
    size_t capacity = ids->capacity == 0 ? 256 : 2 * ids->capacity;
    uint32_t *grown = realloc(ids->items, capacity * sizeof *grown);
    if (grown == NULL) return false;
    ids->items = grown;
    ids->capacity = capacity;
  }
  ids->items[ids->n++] = id;
  return true;
}

static uint64_t first_seed(void) {
  const char *text = secure_getenv("SAROS_MEMPROF_SEED");
  uint64_t seed;
  char *end;
  if (text != NULL && *text != '\0') {
    errno = 0;
    seed = strtoull(text, &end, 0);
    if (*end == '\0' && errno == 0) return seed;
  }
  if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed) return seed;
  return monotonic_ns();
}

static void free_blocks(const Memprof *m) {
  free(m->tracked_memory);
  free(m->young.items);
  free(m->old.items);
  free(m->queue.items);
  free(m->dropped.items);
  free(m->parts);
  free(m->heap->sampled_parts);
}

static void free_all(Memprof *m) {
  free_blocks(m);
  m->heap->sampled_parts = NULL;
  free(m->profiles);
  stacks_free(&m->stacks);
  if (m->aside != NULL) {
    stacks_free(m->aside);
    free(m->aside);
  }
  free(m);
}

static Memprof *new_memprof(Domain *d) {
  Memprof *m = aligned_alloc(_Alignof(Memprof), sizeof *m);
  if (m == NULL) return NULL;
  memset(m, 0, sizeof *m);
  m->heap = &d->heap;
  m->parts = calloc(LEAST_PARTS, sizeof *m->parts);
  m->heap->sampled_parts = calloc(LEAST_PARTS / 64, sizeof *m->heap->sampled_parts);
  m->heap->sampled_parts_mask = LEAST_PARTS - 1;
  m->ntracked = m->nprofiles = 1;
  m->seed = first_seed();
  for (int i = 0; i < SUBSCRIBERS; i++)
    stream_seed(&m->streams[i], m->seed + (uint64_t)d->id * 1000003 + (uint64_t)i);
  if (!stacks_init(&m->stacks, m->seed) || m->parts == NULL || m->heap->sampled_parts == NULL) {
    free_all(m);
    return NULL;
  }
  return m;
}

/* Makes a forked child draw samples of its own. The parent goes on drawing as before. */
static void begin_in_child(void) {
  Domain *d = peer_own_domain();
  Memprof *m = d != NULL ? d->memprof : NULL;
  memprof_dump_after_fork();
  if (m == NULL) return;
  m->seed += (uint64_t)getpid() << 20;
  for (int i = 0; i < SUBSCRIBERS; i++) {
    MemprofStream *s = &m->streams[i];
    bool on = s->at[METER_CURSOR] != SAMPLE_NEVER;
    stream_seed(s, m->seed + (uint64_t)i);
    if (on) stream_start(s, s->rate, &d->heap);
  }
  memprof_watch(d);
}

static void prepare_for_forks(void) { pthread_atfork(NULL, NULL, begin_in_child); }

Memprof *memprof_of(Domain *d) {
  static pthread_once_t prepared = PTHREAD_ONCE_INIT;
  if (d->memprof != NULL) return d->memprof;
  pthread_once(&prepared, prepare_for_forks);
  d->memprof = new_memprof(d);
  return d->memprof;
}

/* Frees all entries, which belong to the recording that has stopped. */
static void forget_blocks(Memprof *m) {
  uint32_t *parts = calloc(LEAST_PARTS, sizeof *parts);
  uint64_t *filter = calloc(LEAST_PARTS / 64, sizeof *filter);
  if (parts == NULL || filter == NULL) {
    free(parts);
    free(filter);
    return;
  }
  free_blocks(m);
  m->parts = parts;
  m->heap->sampled_parts = filter;
  m->heap->sampled_parts_mask = LEAST_PARTS - 1;
  m->tracked = NULL;
  m->tracked_memory = NULL;
  m->free = m->tracked_room = m->nparts = 0;
  m->ntracked = 1;
  m->young = m->old = m->queue = m->dropped = (Ids){.n = 0};
  m->queue_first = m->major_from = m->major_to = 0;
}

void memprof_release(Domain *d) {
  Memprof *m = d->memprof;
  if (m == NULL || m->aside == NULL) return;
  if (!stacks_release(m->aside, &m->heap->malloc_freed)) return;
  m->aside = NULL;
  gc_trim_malloc(d);
}

void memprof_give_back(Memprof *m) {
  bool is_guests = m->nprofiles > 1; /* the guest has, or had, a profile */
  if (is_guests) return;
  rt_assert(m->nfates == 0);
  forget_blocks(m);
  if (m->aside == NULL) m->aside = stacks_set_aside(&m->stacks, m->seed);
}

void memprof_free(Domain *d) {
  d->heap.watched = false;
  if (d->memprof != NULL) free_all(d->memprof);
  d->memprof = NULL;
}

uint64_t memprof_asked(const Domain *d) { return heap_asked(&d->heap) + d->memprof->external; }

/* Makes room for more entries. Each entry has a cache line of its own. realloc keeps the
 * offset of the array within a line when it moves pages instead of bytes (large arrays);
 * then nothing is copied. */
static bool grow_tracked(Memprof *m) {
  uint32_t room = m->tracked_room == 0 ? 256 : 2 * m->tracked_room;
  size_t used = m->tracked != NULL ? m->ntracked * sizeof *m->tracked : 0;
  size_t before = m->tracked != NULL ? (size_t)((char *)m->tracked - m->tracked_memory) : 0;
  if (room <= m->tracked_room) return false;
  char *grown = realloc(m->tracked_memory, (room + (size_t)1) * sizeof *m->tracked);
  if (grown == NULL) return false;
  size_t left_out = -(uintptr_t)grown % sizeof *m->tracked;
  if (left_out != before) memmove(grown + left_out, grown + before, used);
  m->tracked_memory = grown;
  m->tracked = (Tracked *)(grown + left_out);
  m->tracked_room = room;
  return true;
}

SAMPLE_PATH static uint32_t new_entry(Memprof *m) {
  uint32_t id = m->free;
  if (id != 0) {
    m->free = m->tracked[id].next;
    __builtin_prefetch(&m->tracked[m->free], 1); /* for the next sample */
  } else if (m->ntracked < m->tracked_room || grow_tracked(m)) {
    id = m->ntracked++;
  }
  return id;
}

/* ---- parts by address ---------------------------------------------------- */

SAMPLE_PATH static void link_part(Memprof *m, uint32_t id) {
  uint32_t i = heap_part_index(m->heap, m->tracked[id].block);
  m->tracked[id].next = m->parts[i];
  m->parts[i] = id;
  m->heap->sampled_parts[i / 64] |= UINT64_C(1) << i % 64;
}

static NOINLINE void widen_parts(Memprof *m) {
  uint32_t *old = m->parts, before = m->heap->sampled_parts_mask, mask = 2 * before + 1;
  uint32_t *wider = calloc((size_t)mask + 1, sizeof *wider);
  uint64_t *filter = calloc(((size_t)mask + 1) / 64, sizeof *filter);
  if (wider == NULL || filter == NULL) { /* without memory, the chains get longer */
    free(wider);
    free(filter);
    return;
  }
  free(m->heap->sampled_parts);
  m->parts = wider;
  m->heap->sampled_parts = filter;
  m->heap->sampled_parts_mask = mask;
  for (uint32_t i = 0; i <= before; i++)
    for (uint32_t id = old[i], next; id != 0; id = next) {
      next = m->tracked[id].next;
      link_part(m, id);
    }
  free(old);
}

static void note_part(Memprof *m, uint32_t id) {
  if (++m->nparts > m->heap->sampled_parts_mask / 8) widen_parts(m);
  link_part(m, id);
}

static bool is_noted_part(const Tracked *t) {
  return (t->flags & (TRACKED_PART | TRACKED_GONE)) == TRACKED_PART;
}

/* ---- the heap's reports -------------------------------------------------- */

static uint64_t next_sample(const Memprof *m, Meter meter) {
  uint64_t guest = m->streams[SUBSCRIBER_GUEST].at[meter],
           recording = m->streams[SUBSCRIBER_RECORDING].at[meter];
  return guest < recording ? guest : recording;
}

void memprof_watch(Domain *d) {
  Memprof *m = d->memprof;
  Heap *h = &d->heap;
  h->sample_at = next_sample(m, METER_CURSOR);
  h->watched = h->sample_at != SAMPLE_NEVER || m->nparts > 0;
  heap_plant(h);
  heap_plant_elsewhere(h, next_sample(m, METER_ELSEWHERE));
}

static MemprofOrigin origin_of(const lua_State *L, MemprofKind kind) {
  if (kind == MEMPROF_EXTERNAL) return MEMPROF_FROM_EXTERNAL;
  if (L->domain->origin != MEMPROF_ORIGINS) return (MemprofOrigin)L->domain->origin;
  return is_lua_frame(L->domain->current->ci) ? MEMPROF_FROM_PROGRAM : MEMPROF_FROM_LIBRARY;
}

SAMPLE_PATH uint16_t memprof_span(const lua_State *L) {
  const Domain *d = L->domain;
  return d->hooks.innermost_span != NULL ? d->hooks.innermost_span(d->current) : 0;
}

static bool is_part_kind(MemprofKind kind) {
  return kind == MEMPROF_ARRAY || kind == MEMPROF_HASH || kind == MEMPROF_STACK;
}

static uint16_t flags_of(MemprofKind kind, const GCObject *owner) {
  uint16_t flags = 0;
  if (owner != NULL || is_part_kind(kind)) flags |= TRACKED_PART;
  if (owner != NULL && !(owner->gc & GC_YOUNG)) flags |= TRACKED_OLD | TRACKED_BORN_OLD;
  return flags;
}

static void enter_guest(lua_State *L, Tracked *t, uint64_t samples, uint64_t words,
                        MemprofKind kind) {
  Memprof *m = L->domain->memprof;
  Profile *p = &m->profiles[m->sampling];
  uint32_t stack = stacks_capture(L->domain->current, &m->stacks, p->depth);
  p->blocks++;
  t->guest = (MemprofSample){.words = words, .samples = samples, .ns = monotonic_ns(),
                             .stack = stack, .profile = m->sampling, .kind = (uint8_t)kind,
                             .origin = (uint8_t)origin_of(L, kind), .span = memprof_span(L)};
}

void memprof_call_for_attention(Domain *d) {
  d->gc.pending = GC_DUE;
  if (d->hooks.interrupt != NULL) d->hooks.interrupt(d->current);
}

bool memprof_enqueue(Domain *d, uint32_t id) {
  Memprof *m = d->memprof;
  Tracked *t = &m->tracked[id];
  if (t->flags & TRACKED_QUEUED) return true;
  if (!ids_push(&m->queue, id)) return false;
  t->flags |= TRACKED_QUEUED;
  if (!m->calling && !d->gc.running) memprof_call_for_attention(d);
  return true;
}

/* Puts a new entry without a sample into its list. Returns NULL if out of memory. The
 * entry has no stack until the caller captures it: capturing may forget stacks, for which
 * it reads the stacks of all entries (mark_block). */
ALWAYS_INLINE Tracked *track(Domain *d, Subscriber subscriber, void *block, MemprofKind kind,
                      GCObject *owner, uint32_t *id) {
  Memprof *m = d->memprof;
  uint16_t flags = flags_of(kind, owner);
  if ((*id = new_entry(m)) == 0) return NULL;
  Tracked *t = &m->tracked[*id];
  if (!ids_push(flags & TRACKED_OLD ? &m->old : &m->young, *id)) {
    t->next = m->free;
    m->free = *id;
    return NULL;
  }
  t->block = block;
  t->owner = owner;
  t->next = 0;
  t->flags = flags | TRACKED_LISTED;
  t->subscriber = (uint8_t)subscriber;
  if (subscriber == SUBSCRIBER_GUEST) t->guest.stack = 0;
  else tracked_of(t)->stack = 0;
  return t;
}

/* Makes a part findable by its address, once its entry is in its list and has its
 * sample. */
ALWAYS_INLINE void note_if_part(Domain *d, const Tracked *t, uint32_t id) {
  if (!(t->flags & TRACKED_PART)) return;
  note_part(d->memprof, id);
  if (t->owner == NULL) d->heap.orphans = true;
}

static void note_guest(lua_State *L, void *block, uint64_t samples, uint64_t words,
                       MemprofKind kind, GCObject *owner) {
  Domain *d = L->domain;
  Memprof *m = d->memprof;
  Profile *p = &m->profiles[m->sampling];
  uint32_t id;
  if (m->calling) return;
  p->samples += samples;
  Tracked *t = track(d, SUBSCRIBER_GUEST, block, kind, owner, &id);
  if (t == NULL) {
    p->lost += samples;
    return;
  }
  enter_guest(L, t, samples, words, kind);
  note_if_part(d, t, id);
  if (profile_has_callbacks(p) && !memprof_enqueue(d, id)) tracked_lose(d, id);
}

/* Tracks a block for the recording. If there is no memory for an entry, the block counts
 * as one that lives for ever. */
ALWAYS_INLINE void note_recording(lua_State *L, void *block, uint64_t samples, uint64_t words,
                           MemprofKind kind, GCObject *owner) {
  uint32_t id;
  eventring_memory_expect(L->domain->rings);
  Tracked untracked, *t = track(L->domain, SUBSCRIBER_RECORDING, block, kind, owner, &id);
  record_sample(L, t != NULL ? t : &untracked, samples, words, kind, origin_of(L, kind));
  if (t != NULL) note_if_part(L->domain, t, id);
}

/* Tracks a block that has taken the meter to `end`, for each subscriber with a sample in
 * the block. */
SAMPLE_PATH
static void note_sampled(lua_State *L, Meter meter, uint64_t end, void *block, uint64_t words,
                         MemprofKind kind, GCObject *owner) {
  Memprof *m = L->domain->memprof;
  MemprofStream *guest = &m->streams[SUBSCRIBER_GUEST],
                *recording = &m->streams[SUBSCRIBER_RECORDING];
  if (end > recording->at[meter])
    note_recording(L, block, stream_take(recording, meter, end), words, kind, owner);
  if (end > guest->at[meter])
    note_guest(L, block, stream_take(guest, meter, end), words, kind, owner);
}

/* Makes the table the owner of the parts that were made for it. */
SAMPLE_PATH static void adopt(Domain *d, GCObject *o, MemprofKind kind) {
  Memprof *m = d->memprof;
  /* another part of the same table */
  if (kind == MEMPROF_ARRAY || kind == MEMPROF_HASH) return;
  d->heap.orphans = false;
  if (kind != MEMPROF_TABLE) return; /* an error prevented the table */
  for (size_t i = m->young.n; i-- > 0;) {
    Tracked *t = &m->tracked[m->young.items[i]];
    if (!(t->flags & TRACKED_PART) || t->owner != NULL) break;
    t->owner = o;
  }
}

SAMPLE_PATH void memprof_took(lua_State *L, void *p, size_t size, MemprofKind kind, void *owner) {
  Heap *h = &L->domain->heap;
  /* the address of the object itself */
  if (kind == MEMPROF_THREAD) p = (char *)p + LUA_EXTRASPACE;
  __builtin_prefetch(&L->domain->memprof->parts[heap_part_index(h, p)], 1);
  if (unlikely(h->orphans)) adopt(L->domain, p, kind);
  uint64_t at_cursor = heap_asked_at_cursor(h), words = heap_round(size) / 8;
  const Memprof *m = L->domain->memprof;
  if (at_cursor > h->sample_at) {
    note_sampled(L, METER_CURSOR, at_cursor, p, words, kind, owner);
    h->sample_at = next_sample(m, METER_CURSOR);
  } else if (h->elsewhere_left < 0) {
    note_sampled(L, METER_ELSEWHERE, heap_asked_elsewhere(h), p, words, kind, owner);
    heap_plant_elsewhere(h, next_sample(m, METER_ELSEWHERE));
  }
  heap_plant(h); /* the number of orphans may have become 0, or no longer be 0 */
}

/* Counts the bytes as asked for now. The meter does not count these bytes, so the next
 * sample is moved back by as many bytes. */
void memprof_took_external(lua_State *L, void *record, size_t more, Userdata *owner) {
  Domain *d = L->domain;
  Memprof *m = d->memprof;
  more = heap_round(more);
  m->external += more;
  uint64_t end = heap_asked_elsewhere(&d->heap) + more;
  note_sampled(L, METER_ELSEWHERE, end, record, more / 8, MEMPROF_EXTERNAL, (GCObject *)owner);
  for (int i = 0; i < SUBSCRIBERS; i++) {
    uint64_t *at = &m->streams[i].at[METER_ELSEWHERE];
    if (*at != SAMPLE_NEVER) *at -= more;
  }
  memprof_watch(d);
}

SAMPLE_PATH void memprof_part_gone(Domain *d, const void *part) {
  Memprof *m = d->memprof;
  if (m->nparts == 0) return;
  for (uint32_t id = m->parts[heap_part_index(m->heap, part)], next; id != 0; id = next) {
    next = m->tracked[id].next;
    if (m->tracked[id].block == part) tracked_die(d, id);
  }
  record_fates(d);
}

void memprof_frames_gone(Domain *d, const CallInfo *first) {
  for (; first != NULL; first = first->next) memprof_part_gone(d, first);
  stacks_forget_notes(&d->memprof->stacks);
}

void memprof_part_moved(Domain *d, const void *from, void *to) {
  Memprof *m = d->memprof;
  if (from == to || m->nparts == 0) return;
  uint32_t moved = 0, i = heap_part_index(m->heap, from);
  for (uint32_t *link = &m->parts[i]; *link != 0;) {
    uint32_t id = *link;
    Tracked *t = &m->tracked[id];
    if (t->block != from) {
      link = &t->next;
      continue;
    }
    *link = t->next;
    t->block = to;
    t->next = moved;
    moved = id;
  }
  parts_update_filter(m, i);
  for (uint32_t next; moved != 0; moved = next) {
    next = m->tracked[moved].next;
    link_part(m, moved);
  }
}

/* ---- profiles of the guest ----------------------------------------------- */

uint32_t memprof_new(Domain *d) {
  Memprof *m = memprof_of(d);
  if (m == NULL) return 0;
  for (uint32_t i = 1; i < m->nprofiles; i++)
    if (!m->profiles[i].used) return i;
  Profile *grown = realloc(m->profiles, (m->nprofiles + 1) * sizeof *grown);
  if (grown == NULL) return 0;
  m->profiles = grown;
  m->profiles[m->nprofiles] = (Profile){.used = false};
  return m->nprofiles++;
}

void memprof_start(lua_State *L, uint32_t profile, double rate, uint32_t depth, unsigned wants,
                   const MemprofModule *module) {
  Domain *d = L->domain;
  Memprof *m = d->memprof;
  if (m->sampling != 0) memprof_stop(d, m->sampling);
  m->profiles[profile] = (Profile){.used = true, .sampling = true, .wants = (uint8_t)wants,
                                   .depth = depth, .from = memprof_asked(d)};
  m->sampling = profile;
  m->module = module;
  /* words that a callback asks for are not sampled */
  if (m->calling) m->calling_from = memprof_asked(d);
  stacks_forget_notes(&m->stacks);
  stream_start(&m->streams[SUBSCRIBER_GUEST], rate, &d->heap);
  memprof_watch(d);
}

uint32_t memprof_running(const Domain *d) {
  return d->memprof != NULL ? d->memprof->sampling : 0;
}

bool memprof_is_sampling(const Domain *d, uint32_t profile) {
  uint32_t running = memprof_running(d);
  return running != 0 && (profile == 0 || running == profile);
}

/* Returns the words asked for since the profile began, without those that callbacks have
 * asked for. */
static uint64_t words_so_far(const Domain *d, const Profile *p) {
  const Memprof *m = d->memprof;
  uint64_t to = m->calling ? m->calling_from : memprof_asked(d);
  return p->words + (to - p->from) / 8;
}

void memprof_stop(Domain *d, uint32_t profile) {
  Memprof *m = d->memprof;
  Profile *p = &m->profiles[profile];
  if (!p->sampling) return;
  p->words = words_so_far(d, p);
  p->sampling = false;
  m->sampling = 0;
  stream_stop(&m->streams[SUBSCRIBER_GUEST]);
  memprof_watch(d);
}

/* Ends the tracking of a block. */
static void drop(Domain *d, uint32_t id) {
  Memprof *m = d->memprof;
  Tracked *t = &m->tracked[id];
  if (is_noted_part(t)) tracked_forget_part(m, id);
  t->flags |= TRACKED_GONE;
}

static void drop_all_of(Domain *d, Ids *list, uint32_t profile) {
  for (size_t i = 0; i < list->n; i++) {
    const Tracked *t = &d->memprof->tracked[list->items[i]];
    if (t->subscriber == SUBSCRIBER_GUEST && t->guest.profile == profile &&
        !(t->flags & TRACKED_GONE))
      drop(d, list->items[i]);
  }
}

void memprof_discard(Domain *d, uint32_t profile) {
  Memprof *m = d->memprof;
  memprof_stop(d, profile);
  Profile *p = &m->profiles[profile];
  p->discarded = true;
  drop_all_of(d, &m->young, profile);
  drop_all_of(d, &m->old, profile);
  if (p->blocks == 0) p->used = false;
}

void memprof_give_up(Domain *d, uint32_t profile) {
  Memprof *m = d->memprof;
  memprof_stop(d, profile);
  Profile *p = &m->profiles[profile];
  p->given_up = true;
  if (p->blocks == 0) p->used = false;
}

void memprof_figures(const Domain *d, uint32_t profile, MemprofFigures *figures) {
  const Memprof *m = d->memprof;
  const Profile *p = &m->profiles[profile];
  *figures = (MemprofFigures){p->sampling ? words_so_far(d, p) : p->words, p->samples, p->lost,
                              p->blocks, m->stacks.unknown, m->seed};
}

static bool is_to_be_dropped(const Memprof *m, const Tracked *t) {
  const Profile *p = &m->profiles[t->guest.profile];
  return p->discarded || (t->flags & TRACKED_LOST) ||
         (!p->sampling && profile_has_callbacks(p) && !(t->flags & TRACKED_CALLED));
}

void memprof_each(Domain *d, uint32_t profile,
                  void (*f)(void *context, const MemprofSample *sample), void *context) {
  Memprof *m = d->memprof;
  for (uint32_t id = 1; id < m->ntracked; id++) {
    Tracked *t = &m->tracked[id];
    if (t->subscriber == SUBSCRIBER_GUEST && (t->flags & TRACKED_LISTED) &&
        !(t->flags & TRACKED_GONE) && t->guest.profile == profile && !is_to_be_dropped(m, t)) {
      MemprofSample copy = t->guest;
      f(context, &copy);
    }
  }
}

/* ---- callbacks ----------------------------------------------------------- */

bool memprof_is_due(const Domain *d) {
  const Memprof *m = d->memprof;
  return m != NULL && !m->calling && (m->queue_first < m->queue.n || m->dropped.n > 0);
}

uint32_t memprof_dropped(Domain *d) {
  Ids *dropped = &d->memprof->dropped;
  return dropped->n > 0 ? dropped->items[--dropped->n] : 0;
}

static MemprofCallback callback_of(Memprof *m, const Tracked *t) {
  unsigned wants = m->profiles[t->guest.profile].wants;
  if (!(t->flags & TRACKED_CALLED))
    return t->flags & TRACKED_BORN_OLD ? MEMPROF_ALLOC_OLD : MEMPROF_ALLOC_YOUNG;
  if ((t->flags & TRACKED_PROMOTED) && (wants & MEMPROF_WANTS_PROMOTE)) return MEMPROF_PROMOTE;
  if (!(t->flags & TRACKED_GONE)) return MEMPROF_NOTHING;
  if (t->flags & TRACKED_OLD) return wants & MEMPROF_WANTS_OLD ? MEMPROF_DEALLOC_OLD : 0;
  return wants & MEMPROF_WANTS_YOUNG ? MEMPROF_DEALLOC_YOUNG : MEMPROF_NOTHING;
}

/* Removes the first entry from the queue: no callback is due for it any more. */
static void leave_queue(Domain *d, uint32_t id) {
  Memprof *m = d->memprof;
  m->queue_first++;
  if (m->queue_first == m->queue.n) m->queue_first = m->queue.n = 0;
  m->tracked[id].flags &= (uint16_t)~TRACKED_QUEUED;
  tracked_release(m, id);
}

MemprofCallback memprof_next(Domain *d, uint32_t *id, MemprofSample *sample) {
  Memprof *m = d->memprof;
  while (m->queue_first < m->queue.n) {
    *id = m->queue.items[m->queue_first];
    Tracked *t = &m->tracked[*id];
    MemprofCallback callback = MEMPROF_NOTHING;
    if (is_to_be_dropped(m, t)) drop(d, *id);
    else callback = callback_of(m, t);
    if (callback != MEMPROF_NOTHING) {
      *sample = t->guest;
      m->called = *id;
      return callback;
    }
    leave_queue(d, *id);
  }
  return MEMPROF_NOTHING;
}

void memprof_called(Domain *d, uint32_t id, bool keep, uint32_t value) {
  Memprof *m = d->memprof;
  Tracked *t = &m->tracked[id];
  m->called = 0;
  t->guest.value = value;
  if (!(t->flags & TRACKED_CALLED)) t->flags |= TRACKED_CALLED;
  else if (t->flags & TRACKED_PROMOTED) t->flags &= (uint16_t)~TRACKED_PROMOTED;
  if (!keep) drop(d, id);
  if (!keep || (t->flags & TRACKED_LOST) || callback_of(m, t) == MEMPROF_NOTHING)
    leave_queue(d, id);
}

/* Tells whether callbacks may run now: not in hooks, finalizers and C functions. */
static bool may_call(const lua_State *L) {
  const Domain *d = L->domain;
  return memprof_is_due(d) && !d->gc.running && !d->gc.closing && L->allow_hook &&
         is_lua_frame(L->ci) && d->memprof->module != NULL;
}

/* Ends the tracking of the block whose callback has raised. */
static void abandon_called(lua_State *L) {
  Memprof *m = L->domain->memprof;
  uint32_t id = m->called;
  if (id == 0) return;
  m->module->forget(L, m->tracked[id].guest.value);
  memprof_called(L->domain, id, false, 0);
}

/* Runs the callbacks that are due. Words that they ask for do not count as the
   program's. */
static int run_callbacks(lua_State *L) {
  Domain *d = L->domain;
  Memprof *m = d->memprof;
  m->calling = true;
  m->calling_from = memprof_asked(d);
  gc_set_trigger(d); /* nothing of the sampler is due while callbacks run */
  /* a message on its way to its variable must not be lost (vm/safe_point.c), so a request
   * to the domain waits */
  bool handing_over = d->peer->handing_over > 0;
  if (handing_over) peer_mask(d->peer);
  /* the instruction continues, so its line is not a new line for hooks */
  int line_seen = L->old_pc;
  int status = d->hooks.call_protected(L, m->module->run);
  L->old_pc = line_seen;
  if (status != LUA_OK) abandon_called(L);
  if (handing_over) peer_unmask(d->peer);
  m->calling = false;
  if (m->sampling != 0) m->profiles[m->sampling].from += memprof_asked(d) - m->calling_from;
  gc_set_trigger(d);
  return status;
}

NOINLINE void memprof_safe_point(lua_State *L) {
  if (!may_call(L)) return;
  int error = errno, status = run_callbacks(L); /* as gc_run_finalizers */
  errno = error;
  if (status != LUA_OK) L->domain->hooks.raise_again(L, status);
}

void memprof_flush(lua_State *L) {
  if (!memprof_is_due(L->domain)) return;
  int status = run_callbacks(L);
  if (status != LUA_OK) L->domain->hooks.raise_again(L, status);
}

/* ---- the end ------------------------------------------------------------- */

static void end_list(Domain *d, Ids *list) {
  for (size_t i = 0; i < list->n; i++)
    if (!(d->memprof->tracked[list->items[i]].flags & TRACKED_GONE)) tracked_die(d, list->items[i]);
}

void memprof_end(lua_State *L) {
  Domain *d = L->domain;
  Memprof *m = d->memprof;
  if (m == NULL) return;
  if (m->sampling != 0) memprof_stop(d, m->sampling);
  memprof_end_recording(d);
  end_list(d, &m->young);
  end_list(d, &m->old);
  record_fates(d);
  m->calling = false;
  while (memprof_is_due(d)) {
    size_t before = m->queue_first;
    if (run_callbacks(L) != LUA_OK) L->top--;
    /* no callback has left the queue: even the next one could not be called */
    if (m->queue_first == before) break;
  }
}
