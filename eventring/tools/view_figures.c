/* SPDX-License-Identifier: MIT */
/* view_figures.c: makes sections `stacks`, `samples`, `allocated`, `live` and `calls` of
 * a page (view/part.h): one tree of sites, and the figures on it (view_stacks.h).
 *
 * For a file, the stacks are those that the process wrote each second, if it did.
 *
 * For a process that is watched, a thread samples stacks from outside, from before the
 * reading to its end. The process itself samples allocations. It stops sampling as soon
 * as reading is over, unless it sampled before. The program needs no change and no spans.
 *
 * The parts share one state. With each level of reduction the tree has half as many
 * sites, the others become "(other)"; at every second level cells become twice as
 * long. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "view_figures.h"
#include "view_recorded.h"
#include "view_samples.h"

enum { HZ = 1000, LEVELS = 12 };
static const double rate_of_allocations = 1e-4;

static struct shared {
  struct page_run *run;
  struct page_stacks *stacks;
  struct page_heap heap;
  struct eva_heap *profiles; /* heap profiles; NULL if they are unreadable */
  /* samples; NULL if none are taken */
  struct page_samples *samples;
  struct sampling *sampling;
  pthread_t thread;
  bool stop; /* atomic */
  uint64_t begin_ns;
  bool asked_for_allocations; /* the process was asked to sample allocations, and must be
                                 asked to stop */
  bool class_was_on;           /* whether class alloc was on before */
  double former_rate;          /* rate before, even if the class was off */
  /* the stacks at the level being written; NULL for all */
  struct page_stacks *less;
  unsigned level;
} shared;

/* ---- Sampling ----------------------------------------------------------------- */

static void *sample_beside(void *none) {
  (void)none;
  const struct sample_options options = {
      .hz = HZ, .domain = shared.run->domain, .cpu = shared.run->cpu, .lines = true,
      .on_sample = page_samples_take, .context = shared.samples, .stop = &shared.stop};
  sample_process(&shared.sampling, shared.run->live, NULL, &options);
  return NULL;
}

/* Begins to sample, in a thread that gets no signals, which are for the reading
   thread. */
static void begin_samples(struct page_run *run) {
  sigset_t all, before;
  shared.samples = page_samples_new(HZ, &run->grid);
  shared.begin_ns = eventring_now();
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  if (pthread_create(&shared.thread, NULL, sample_beside, NULL) != 0) {
    page_samples_free(shared.samples);
    shared.samples = NULL;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int note_running(void *context, const struct eventring_heap *heap) {
  bool *runs = context;
  *runs |= !heap->over;
  return 0;
}

/* Asks the process for a change. Opens its path without following a link, since the
   cursor may have followed one. */
static bool ask(const struct page_run *run, const struct eventring_change *change) {
  return eventring_control(run->info.path, change, NULL) == EVENTRING_OK;
}

/* Restores the former rate and class. If another command has changed the rate in the
   meantime, the new rate stays. */
static void end_allocations(const struct shared *s) {
  static const uint64_t alloc = EVENTRING_CLASS_BIT(EVENTRING_CLASS_ALLOC);
  struct eventring_info info = {.size = sizeof info};
  if (eventring_cursor_info(s->run->cursor, &info) == EVENTRING_OK &&
      info.asked_rate != rate_of_allocations)
    return;
  if (!s->class_was_on) ask(s->run, EVENTRING_CHANGE(DISABLE, .classes = alloc));
  ask(s->run, EVENTRING_CHANGE(RATE, .rate = s->former_rate));
}

/* Tells whether samples were requested before (they may have no profile until the next
   collection). Notes class and rate. */
static bool samples_are_asked_for(eventring_cursor *cursor) {
  struct eventring_info info = {.size = sizeof info};
  if (eventring_cursor_info(cursor, &info) != EVENTRING_OK) return false;
  shared.class_was_on = info.classes & EVENTRING_CLASS_BIT(EVENTRING_CLASS_ALLOC);
  shared.former_rate = info.asked_rate;
  return info.sample_rate > 0;
}

/* Begins the sampling of allocations. (A program that this command starts is asked
   through its environment.) */
static void begin_allocations(struct page_run *run) {
  static const struct eventring_heap_callbacks callbacks = {note_running, NULL};
  bool runs = run->launch != NULL || samples_are_asked_for(run->cursor);
  if (!runs) eventring_cursor_heaps(run->cursor, &callbacks, &runs);
  if (runs) return;
  shared.asked_for_allocations = ask(run, EVENTRING_CHANGE(SAMPLE, .rate = rate_of_allocations));
}

static void *begin(struct page_run *run) {
  shared.run = run;
  shared.stacks = page_stacks_new();
  page_heap_open(&shared.heap, run, shared.stacks);
  if (run->live) begin_allocations(run);
  if (run->live) begin_samples(run);
  return &shared;
}

static void *begin_other(struct page_run *run) {
  (void)run;
  return &shared;
}

/* Stops the sampling, unless the process has ended. Returns the time of the last sample,
   or 0. */
static uint64_t stop(void *state) {
  struct shared *s = state;
  if (s->asked_for_allocations) end_allocations(s);
  if (!s->samples) return 0;
  /* pairs with the acquire load in goes_on (sample.c); the join orders the results of the
     thread */
  __atomic_store_n(&s->stop, true, __ATOMIC_RELEASE);
  pthread_join(s->thread, NULL);
  return page_samples_last_ns(s->samples);
}

/* ---- Taking ------------------------------------------------------------------- */

static int take_event(void *state, const struct eventring_event *event) {
  page_heap_event(&((struct shared *)state)->heap, event);
  return EVENTRING_OK;
}

static void halve(void *state) { page_halve(((struct shared *)state)->stacks, PAGE_ALLOCATED); }

static void note_quality(struct shared *s) {
  struct time_profile profile;
  sample_profile(s->sampling, SAMPLE_BY_FUNCTION, &profile);
  s->run->sampled.stacks = profile.samples - profile.late;
  s->run->sampled.moving = profile.moving;
  s->run->sampled.torn = profile.torn;
  s->run->sampled.late = profile.late;
  s->run->sampled.coarse = profile.coarse;
  time_profile_free(&profile);
}

static void note_samples(struct shared *s) {
  const uint64_t last_ns = page_samples_last_ns(s->samples);
  if (!last_ns) return;
  note_quality(s);
  const char *from = s->run->cpu ? "sampled from outside while on a processor"
                                 : "sampled from outside, on a processor or not";
  page_samples_add(s->samples, s->sampling, &s->run->grid, from, s->stacks);
  s->run->sampled.hz = HZ;
  s->run->sampled.begin_ns = s->begin_ns;
  s->run->sampled.seconds =
      last_ns > s->begin_ns ? (double)(last_ns - s->begin_ns) / 1e9 : 0;
}

static int finish(void *state) {
  struct shared *s = state;
  if (s->samples) note_samples(s);
  if (!s->run->sampled.hz) page_written_stacks_add(s->run, s->stacks);
  s->profiles = page_heap_close(&s->heap);
  if (s->profiles && (s->asked_for_allocations || s->run->launch))
    s->run->sampled.rate = eva_heap_state(s->profiles)->most_rate;
  page_calls_add(s->run, s->stacks);
  const struct page_figures *figures = s->stacks->figures;
  s->run->sampled.has_written = figures[PAGE_SAMPLED].from && !s->run->sampled.hz;
  s->run->sampled.has_calls = figures[PAGE_CALLS].from != NULL;
  s->run->sampled.has_allocations = figures[PAGE_ALLOCATED].from != NULL;
  page_stacks_finish(s->stacks);
  return EVENTRING_OK;
}

void page_sampled_profile(struct time_profile *profile) {
  if (shared.sampling && page_samples_last_ns(shared.samples))
    sample_profile(shared.sampling, SAMPLE_BY_FUNCTION, profile);
}

const struct eva_heap *page_heap_profiles(void) { return shared.profiles; }

const struct page_stacks *page_all_stacks(void) { return shared.stacks; }

static void free_all(void *state) {
  struct shared *s = state;
  page_samples_free(s->samples);
  eva_heap_free(s->profiles);
  if (s->sampling) sample_free(s->sampling);
  page_stacks_free(s->less);
  page_stacks_free(s->stacks);
  *s = (struct shared){0};
}

/* ---- Writing ------------------------------------------------------------------ */

/* Returns the stacks at a level. */
static const struct page_stacks *stacks_of(struct shared *s, unsigned level) {
  if (!level) return s->stacks;
  if (s->less && s->level == level) return s->less;
  page_stacks_free(s->less);
  s->less = page_stacks_reduced(s->stacks, s->stacks->node_count >> level);
  s->level = level;
  return s->less;
}

static bool write_stacks(void *state, struct eva_json *json, unsigned level,
                         struct page_left *left) {
  struct shared *s = state;
  if (s->stacks->node_count == 1) return false;
  const struct page_stacks *stacks = stacks_of(s, level);
  page_stacks_write(stacks, json);
  const uint32_t kept = s->stacks->node_count >> level, of = s->stacks->node_count - 1;
  if (level && kept < of) *left = (struct page_left){.what = "sites", .kept = kept, .of = of};
  return true;
}

static bool write_figures(struct shared *s, enum page_kind kind, struct eva_json *json,
                          unsigned level) {
  const struct page_stacks *stacks = stacks_of(s, level);
  if (!stacks->figures[kind].row_count) return false;
  page_figures_write(stacks, kind, s->run->lists, level / 2, json);
  return true;
}

#define FIGURES(part, kind)                                                               \
  static bool write_##part(void *state, struct eva_json *json, unsigned level,            \
                           struct page_left *left) {                                      \
    (void)left;                                                                           \
    return write_figures(state, kind, json, level);                                       \
  }                                                                                       \
  const struct page_part page_part_##part = {.name = #part, .with = "stacks",             \
                                             .levels = LEVELS, .begin = begin_other,      \
                                             .write = write_##part}
const struct page_part page_part_stacks = {
    .name = "stacks", .levels = LEVELS, .begin = begin,
    .classes = (uint64_t)1 << EVENTRING_CLASS_ALLOC, .event = take_event, .stop = stop,
    .halve = halve, .finish = finish, .write = write_stacks, .free = free_all};
FIGURES(samples, PAGE_SAMPLED);
FIGURES(allocated, PAGE_ALLOCATED);
FIGURES(live, PAGE_LIVE);
FIGURES(calls, PAGE_CALLS);
