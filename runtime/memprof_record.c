/* SPDX-License-Identifier: MIT */
/* runtime/memprof_record.c: samples for the recording (design: top of memprof.c).
 *
 * The recording says at which rate it wants samples (eventring_memory_rate). A domain
 * reads the rate when it begins and at each minor collection. A change begins a new
 * profile, and drops the blocks tracked for the former profile. Samples and fates are
 * passed to libeventring as they are found. It writes the events and keeps the heap
 * profile of the file, which each collection brings up to date.
 *
 * Stacks and functions are interned here (memprof_stack.c). They get numbers in the
 * recording when the numbers are first needed.
 */
#include <string.h>

#include "heap.h"
#include "memprof_internal.h"
#include "peer.h"
#include "thread.h"

/* ---- functions and stacks -------------------------------------------------- */

static uint32_t recorded_function(MemprofFunction *f) {
  if (f->recorded != 0) return f->recorded;
  struct eventring_function function = {.name = f->name, .name_size = strlen(f->name),
                                        .source = f->source, .source_size = strlen(f->source),
                                        .line = f->line, .last_line = f->last_line};
  f->recorded = eventring_function(&function);
  return f->recorded;
}

static struct eventring_place line_and_column(void *context, size_t i) {
  const MemprofFrame *frames = context;
  return (struct eventring_place){frames[i].line, frames[i].column};
}

/* Returns the position that identifies a frame of a function in the recording. It is a
 * hash of the frame's line and column, so that a chunk that is loaded again has the same
 * sites. (Two positions in a function have the same hash only if their lines are some
 * thousand apart and their columns match.) Without lines it is the index of the
 * instruction. */
static uint32_t position_of(const MemprofFrame *frame, StackKey key) {
  return frame->line != 0 ? frame->line * UINT32_C(0x9E3779B1) + frame->column : key.pc;
}

SAMPLE_PATH static uint32_t recorded_stack(Domain *d, uint32_t id) {
  Stacks *s = &d->memprof->stacks;
  struct eventring_frame frames[RECORDED_DEPTH];
  InternedStack *stack = &s->stacks[id];
  if (id == 0 || stack->recorded != 0) return id == 0 ? 0 : stack->recorded;
  uint32_t n = stack->depth < RECORDED_DEPTH ? stack->depth : RECORDED_DEPTH;
  MemprofFrame *known = frames_of(stack);
  for (uint32_t i = 0; i < n; i++) {
    frames[i].function = recorded_function(&s->functions[known[i].function]);
    frames[i].position = position_of(&known[i], stack->keys[stack->depth - 1 - i]);
  }
  stack->recorded = eventring_stack(d->rings, frames, n, line_and_column, known);
  if (stack->recorded > s->most_recorded) s->most_recorded = stack->recorded;
  return stack->recorded;
}

/* ---- samples and fates ------------------------------------------------------ */

SAMPLE_PATH void record_sample(lua_State *L, Tracked *t, uint64_t samples, uint64_t words,
                   MemprofKind kind, MemprofOrigin origin) {
  Domain *d = L->domain;
  uint32_t stack = stacks_capture(d->current, &d->memprof->stacks, RECORDED_DEPTH);
  struct eventring_sample sample = {.samples = samples, .words = words,
                                    .stack = recorded_stack(d, stack), .kind = (uint8_t)kind,
                                    .origin = (uint8_t)origin, .span = memprof_span(L)};
  eventring_memory_sampled(d->rings, &sample, tracked_of(t));
}

void record_fates(Domain *d) {
  Memprof *m = d->memprof;
  if (m->nfates == 0) return;
  eventring_memory_fates(d->rings, m->fates, m->nfates);
  m->nfates = 0;
}

/* ---- profiles ---------------------------------------------------------------- */

/* Drops the blocks that were tracked for the former profile. */
static void drop_all(Domain *d) {
  Memprof *m = d->memprof;
  Ids *lists[] = {&m->young, &m->old};
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; i < lists[k]->n; i++) {
      uint32_t id = lists[k]->items[i];
      Tracked *t = &m->tracked[id];
      if (t->subscriber != SUBSCRIBER_RECORDING || (t->flags & TRACKED_GONE)) continue;
      if (t->flags & TRACKED_PART) tracked_forget_part(m, id);
      t->flags |= TRACKED_GONE;
    }
}

static void stop_recording(Domain *d) {
  Memprof *m = d->memprof;
  drop_all(d);
  eventring_memory_stop(d->rings);
  stream_stop(&m->streams[SUBSCRIBER_RECORDING]);
  m->recording_rate = 0;
}

static COLD void change_rate(Domain *d, double rate) {
  Memprof *m = memprof_of(d);
  if (m == NULL) return; /* this is tried again at the next collection */
  /* the recording of the child begins later */
  if (rate == 0 && eventring_fork_pending()) return;
  if (m->recording_rate > 0) {
    /* the report includes the words asked for since the last collection */
    memprof_collected(d);
    stop_recording(d);
  }
  if (rate >= MEMPROF_LEAST_RATE && eventring_memory_start(d->rings, rate) == 0) {
    m->recording_rate = rate;
    m->recording_from = memprof_asked(d);
    stacks_forget_notes(&m->stacks);
    stream_start(&m->streams[SUBSCRIBER_RECORDING], rate, &d->heap);
  } else {
    memprof_give_back(m);
  }
  memprof_watch(d);
}

void memprof_follow_recording(Domain *d) {
  memprof_release(d);
  double now = d->memprof != NULL ? d->memprof->recording_rate : 0;
  double rate = d->rings != NULL ? eventring_memory_rate(d->rings) : 0;
  if (unlikely(rate != now)) change_rate(d, rate);
}

double memprof_recording_rate(const Domain *d) {
  return d->memprof != NULL ? d->memprof->recording_rate : 0;
}

void memprof_collected(Domain *d) {
  Memprof *m = d->memprof;
  if (m == NULL || m->recording_rate <= 0) return;
  struct eventring_collection collection = {(memprof_asked(d) - m->recording_from) / 8,
                                            UINT64_MAX};
  eventring_memory_collected(d->rings, &collection);
}

void memprof_leave(Domain *d) {
  Memprof *m = d->memprof;
  if (m == NULL || m->recording_rate <= 0) return;
  memprof_collected(d);
  memprof_dump(true);
}

/* Ends the recording's profile of a domain of the host before its blocks die, so that the
 * file shows the blocks that were alive at the end. The profile of a spawned domain
 * continues: its blocks die with the domain. */
void memprof_end_recording(Domain *d) {
  Memprof *m = d->memprof;
  if (m == NULL || m->recording_rate <= 0) return;
  memprof_collected(d);
  if (d->peer->spawned) return;
  memprof_dump(true);
  stop_recording(d);
}
