/* SPDX-License-Identifier: MIT */
/* runtime/memprof_sites.c: where the blocks that are tracked now were allocated.
 *
 * A block of the guest's profile has the number of its stack in this process, a block of
 * the recording the stack's number in the recording. Each stack has both numbers. */
#include "memprof_sites.h"

#include "memprof_internal.h"

static Subscriber subscriber_of(const Memprof *m) {
  return m->recording_rate > 0 ? SUBSCRIBER_RECORDING : SUBSCRIBER_GUEST;
}

uint32_t memprof_sited(const Domain *d, double *rate) {
  const Memprof *m = d->memprof;
  if (m == NULL || (m->recording_rate <= 0 && m->sampling == 0)) return 0;
  *rate = m->streams[subscriber_of(m)].rate;
  return m->ntracked;
}

static uint32_t stack_of(const Tracked *t) {
  if (t->subscriber == SUBSCRIBER_GUEST) return t->guest.stack;
  return tracked_of(t)->stack;
}

static uint64_t samples_of(const Tracked *t) {
  if (t->subscriber == SUBSCRIBER_GUEST) return t->guest.samples;
  return tracked_of(t)->samples;
}

bool memprof_sited_at(const Domain *d, uint32_t number, MemprofSited *sited) {
  const Memprof *m = d->memprof;
  const Tracked *t = &m->tracked[number];
  if (t->subscriber != subscriber_of(m) || !(t->flags & TRACKED_LISTED) ||
      (t->flags & TRACKED_GONE))
    return false;
  *sited = (MemprofSited){t->flags & TRACKED_PART ? t->owner : t->block, stack_of(t),
                          samples_of(t)};
  return sited->object != NULL && sited->stack != 0;
}

/* Returns the stack with that number, or NULL if there is none. */
static const InternedStack *find_stack(const Memprof *m, uint32_t stack) {
  const Stacks *s = &m->stacks;
  if (subscriber_of(m) == SUBSCRIBER_GUEST)
    return stack < s->nstacks ? &s->stacks[stack] : NULL;
  for (uint32_t i = 1; i < s->nstacks; i++)
    if (s->stacks[i].recorded == stack) return &s->stacks[i];
  return NULL;
}

uint32_t memprof_site_frames(const Domain *d, uint32_t stack, uint32_t most,
                             MemprofSiteFrame *frames) {
  const Memprof *m = d->memprof;
  const InternedStack *found = find_stack(m, stack);
  uint32_t n = found == NULL ? 0 : found->depth < most ? found->depth : most;
  for (uint32_t i = 0; i < n; i++) {
    const MemprofFrame *f = &frames_of(found)[i];
    const MemprofFunction *function = &m->stacks.functions[f->function];
    frames[i] = (MemprofSiteFrame){function->name, function->source,
                                   f->line != 0 ? f->line : function->line};
  }
  return n;
}
