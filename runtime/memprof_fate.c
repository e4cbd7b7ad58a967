/* SPDX-License-Identifier: MIT */
/* runtime/memprof_fate.c: what becomes of sampled blocks (design: top of memprof.c).
 *
 * An entry stays in its list, young or old, until the pass over that list reaches it. If
 * its block is gone by then, the entry is removed from the list, and used again as soon
 * as no callback is due for it. */
#include "memprof_internal.h"

#include "gc_internal.h"
#include "thread.h"

/* work of examining an entry: the entry and its block are a cache miss each */
#define TRACKED_WORK 64
#define PREFETCH_AHEAD 16 /* blocks; entries are prefetched twice as far ahead */

static NOINLINE void leave_profile(Memprof *m, const Tracked *t) {
  Profile *p = &m->profiles[t->guest.profile];
  p->blocks--;
  if (t->guest.value != 0) ids_push(&m->dropped, t->guest.value);
  if ((p->discarded || p->given_up) && p->blocks == 0) p->used = false;
}

ALWAYS_INLINE void release(Memprof *m, uint32_t id) {
  Tracked *t = &m->tracked[id];
  if (t->flags & (TRACKED_LISTED | TRACKED_QUEUED)) return;
  if (!(t->flags & TRACKED_GONE)) return;
  if (t->subscriber == SUBSCRIBER_GUEST) leave_profile(m, t);
  t->next = m->free;
  m->free = id;
}

void tracked_release(Memprof *m, uint32_t id) { release(m, id); }

static bool wants_death(const Memprof *m, const Tracked *t) {
  const Profile *p = &m->profiles[t->guest.profile];
  unsigned death = t->flags & TRACKED_OLD ? MEMPROF_WANTS_OLD : MEMPROF_WANTS_YOUNG;
  return !p->discarded && (p->wants & death);
}

ALWAYS_INLINE void die(Domain *d, uint32_t id) {
  Memprof *m = d->memprof;
  Tracked *t = &m->tracked[id];
  if (t->flags & TRACKED_PART) tracked_forget_part(m, id);
  t->flags |= TRACKED_GONE;
  if (t->subscriber == SUBSCRIBER_RECORDING) record_death(d, t);
  else if (wants_death(m, t)) memprof_enqueue(d, id);
}

void tracked_die(Domain *d, uint32_t id) { die(d, id); }

ALWAYS_INLINE void promote(Domain *d, uint32_t id) {
  Memprof *m = d->memprof;
  Tracked *t = &m->tracked[id];
  t->flags |= TRACKED_OLD;
  if (t->subscriber == SUBSCRIBER_RECORDING) {
    record_promoted(d, t);
    return;
  }
  const Profile *p = &m->profiles[t->guest.profile];
  if (p->discarded || !(p->wants & MEMPROF_WANTS_PROMOTE)) return;
  t->flags |= TRACKED_PROMOTED;
  memprof_enqueue(d, id);
}

/* ---- minor collections --------------------------------------------------- */

/* Tells whether the object is a string that may stay young and alive because it belongs
 * to the running function (gc_thread.c). */
static bool stays_young(const GCObject *o) {
  return o->type == TYPE_LONG_STRING && heap_is_large(string_bytes((const String *)o)) &&
         heap_large_of(o)->stays;
}

typedef enum Fate { FATE_YOUNG, FATE_OLD, FATE_DEAD } Fate;

ALWAYS_INLINE const GCObject *object_of(const Tracked *t) {
  return t->flags & TRACKED_PART ? t->owner : t->block;
}

/* Prefetches entries and blocks that will be examined soon. */
ALWAYS_INLINE void prefetch_ahead(const Memprof *m, const Ids *list, size_t i) {
  if (i + 2 * PREFETCH_AHEAD < list->n)
    __builtin_prefetch(&m->tracked[list->items[i + 2 * PREFETCH_AHEAD]], 1);
  if (i + PREFETCH_AHEAD >= list->n) return;
  const Tracked *t = &m->tracked[list->items[i + PREFETCH_AHEAD]];
  __builtin_prefetch(object_of(t));
  __builtin_prefetch(&m->parts[heap_part_index(m->heap, t->block)], 1);
}

ALWAYS_INLINE Fate minor_fate(const Tracked *t) {
  const GCObject *o = object_of(t);
  if (o == NULL) return FATE_DEAD; /* the table to which it belongs was never made */
  if (!is_young(o)) return FATE_OLD;
  return !(t->flags & TRACKED_PART) && stays_young(o) ? FATE_YOUNG : FATE_DEAD;
}

ALWAYS_INLINE void unlist(Memprof *m, uint32_t id) {
  m->tracked[id].flags &= (uint16_t)~TRACKED_LISTED;
  release(m, id);
}

NOINLINE void tracked_lose(Domain *d, uint32_t id) {
  Memprof *m = d->memprof;
  Tracked *t = &m->tracked[id];
  if (t->flags & TRACKED_PART) tracked_forget_part(m, id);
  t->flags |= TRACKED_GONE | TRACKED_LOST;
  if (t->subscriber == SUBSCRIBER_RECORDING) return;
  Profile *p = &m->profiles[t->guest.profile];
  bool called = (t->flags & TRACKED_CALLED) || m->called == id;
  if (!profile_has_callbacks(p) || !called) p->lost += t->guest.samples;
}

/* Finds out what has become of a young block. Returns whether its entry stays in the
 * list. */
ALWAYS_INLINE bool settle_young(Domain *d, uint32_t id) {
  Memprof *m = d->memprof;
  if (m->tracked[id].flags & TRACKED_GONE) {
    unlist(m, id);
    return false;
  }
  Fate fate = minor_fate(&m->tracked[id]);
  if (fate == FATE_YOUNG) return true;
  if (fate == FATE_OLD) {
    if (ids_push(&m->old, id)) {
      promote(d, id);
    } else {
      tracked_lose(d, id);
      unlist(m, id);
    }
    return false;
  }
  die(d, id);
  unlist(m, id);
  return false;
}

void memprof_minor(Domain *d) {
  Memprof *m = d->memprof;
  size_t kept = 0;
  d->heap.orphans = false;
  d->gc.step_work += m->young.n * TRACKED_WORK;
  for (size_t i = 0; i < m->young.n; i++) {
    uint32_t id = m->young.items[i];
    prefetch_ahead(m, &m->young, i);
    if (settle_young(d, id)) m->young.items[kept++] = id;
  }
  record_fates(d);
  m->young.n = kept;
}

/* ---- major cycles -------------------------------------------------------- */

ALWAYS_INLINE bool settle_old(Domain *d, uint32_t id) {
  Memprof *m = d->memprof;
  Tracked *t = &m->tracked[id];
  if (!(t->flags & TRACKED_GONE)) {
    const GCObject *o = object_of(t);
    if (is_young(o) || is_marked(d, o)) return true;
    die(d, id);
  }
  unlist(m, id);
  return false;
}

bool memprof_major(Domain *d, size_t most, size_t *work) {
  Memprof *m = d->memprof;
  size_t n = m->old.n - m->major_from, at_once = most / TRACKED_WORK + 1;
  bool last = n <= at_once;
  if (!last) n = at_once;
  *work += n * TRACKED_WORK;
  for (; n > 0; n--) {
    prefetch_ahead(m, &m->old, m->major_from);
    uint32_t id = m->old.items[m->major_from++];
    if (settle_old(d, id)) m->old.items[m->major_to++] = id;
  }
  record_fates(d);
  if (!last) return false;
  m->old.n = m->major_to;
  m->major_from = m->major_to = 0;
  return true;
}
