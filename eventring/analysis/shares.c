/* SPDX-License-Identifier: MIT */
/* shares.c: what the time of spans was spent on.
 *
 * A domain has a clock for each part, and for each ring a table of the contexts with open
 * spans. A context has a frame for each depth. The frame holds what the clocks showed
 * when the span began, less what they had counted while the context was suspended.
 *
 * Why there are frames although the reader has a stack: the reader follows one ring at a
 * time, so it knows only what ran within a span in its own ring. But spans of another
 * ring drive a clock, and what the clock shows at a begin depends on the order of the
 * events of all rings, which only merged delivery gives. Durations and own times come
 * from the reader; only readings of clocks are kept here. */
#include "analysis/shares.h"
#include "format/array.h"
#include "format/table.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_FRAMES = 8, MOST_DEPTH = 1 << 16 };
#define NEVER UINT64_MAX

struct frame {
  uint64_t domain_losses;   /* number of losses of all rings at the begin; NEVER if the
                               clocks are not known */
  uint64_t at[EVA_PARTS];   /* what the clocks showed */
  uint16_t id;
};

struct flow { /* a flow of control: a context with open spans */
  uint64_t context;
  uint64_t elsewhere[EVA_PARTS]; /* what the clocks counted while the context was
                                    suspended */
  uint64_t left_at[EVA_PARTS];   /* what the clocks showed when the context was left */
  uint64_t from;                 /* the context that ran before this context and goes on
                                    after it */
  bool is_left;
  uint32_t open, room;
  struct frame *frame;
};

struct flows { /* the flows of a ring of a domain */
  struct evr_table table;
  struct flow *present; /* the flow of the last event, if it has open spans and was not
                           left */
  struct flow *idle;    /* the flow whose last span ended most recently; most contexts
                           soon begin another span */
};

struct clock { /* counts the ns under the topmost spans of a part */
  uint64_t counted, since;
  uint64_t context;
  uint32_t depth;
  uint8_t ring;
  bool open;
};

struct domain {
  uint32_t incarnation;
  unsigned clocks_open; /* number of clocks that are running */
  uint64_t losses;
  struct clock clock[EVA_PARTS];
  struct flows flows[EVENTRING_RINGS];
};

struct eva_shares {
  struct domain domain[EVENTRING_MAX_DOMAINS];
};

struct eva_shares *eva_shares_new(void) { return calloc(1, sizeof(struct eva_shares)); }

/* ---- Contexts ---------------------------------------------------------------------- */

static uint64_t hash_of(uint64_t context) { return evr_hash_word(evr_hash_seed(), context); }

static bool has_context(const void *none, uintptr_t value, const void *context) {
  (void)none;
  return ((const struct flow *)value)->context == *(const uint64_t *)context;
}

/* Returns the flow of this context if it is one of the two most likely flows; else
   NULL. */
static struct flow *near_flow(const struct flows *flows, uint64_t context) {
  if (flows->present && flows->present->context == context) return flows->present;
  return flows->idle && flows->idle->context == context ? flows->idle : NULL;
}

/* Returns the flow of this context; NULL: it has no spans open. */
static struct flow *find_flow(const struct flows *flows, uint64_t context) {
  struct flow *near = near_flow(flows, context);
  if (near) return near;
  return (struct flow *)evr_table_find(&flows->table, hash_of(context), has_context, NULL,
                                       &context);
}

/* Returns the flow of this context, made if there is none; NULL: no memory. */
static struct flow *flow_at(struct flows *flows, uint64_t context) {
  struct flow *flow = near_flow(flows, context);
  if (flow) return flow;
  uintptr_t *value =
      evr_table_take(&flows->table, hash_of(context), has_context, NULL, &context);
  if (!value || *value) return value ? (struct flow *)*value : NULL;
  flow = calloc(1, sizeof *flow);
  *value = (uintptr_t)flow;
  if (flow) flow->context = context;
  return flow;
}

static void free_flow(struct flow *flow) {
  free(flow->frame);
  free(flow);
}

/* Makes another context the present one. (A context that resumes another one is not left,
   so its spans go on running. It becomes the present one again when the other context is
   left or has no open spans.) */
static void enter(struct flows *flows, struct flow *flow) {
  if (flows->present == flow) return;
  flow->from = flows->present ? flows->present->context : flow->context;
  flows->present = flow;
}

static void return_from(struct flows *flows, const struct flow *flow) {
  if (flows->present != flow) return;
  flows->present = NULL;
  struct flow *from = flow->from != flow->context ? find_flow(flows, flow->from) : NULL;
  if (from && from->open && !from->is_left) flows->present = from;
}

static void drop_flow(struct flows *flows, struct flow *gone) {
  evr_table_drop(&flows->table, hash_of(gone->context), (uintptr_t)gone);
  free_flow(gone);
}

/* Retires a flow whose last span has ended: it becomes the idle flow, and the previous
   idle flow is dropped. */
static void retire_flow(struct flows *flows, struct flow *flow) {
  return_from(flows, flow);
  struct flow *before = flows->idle;
  flows->idle = flow;
  if (before && before != flow && !before->open) drop_flow(flows, before);
}

static void clear_flows(struct flows *flows) {
  for (size_t i = 0; i < flows->table.room; i++)
    if (flows->table.entries[i].value) free_flow((struct flow *)flows->table.entries[i].value);
  evr_table_free(&flows->table);
  *flows = (struct flows){0};
}

static void clear_domain(struct domain *domain) {
  for (int ring = 0; ring < EVENTRING_RINGS; ring++) clear_flows(&domain->flows[ring]);
  memset(domain->clock, 0, sizeof domain->clock);
  domain->clocks_open = 0;
}

void eva_shares_free(struct eva_shares *shares) {
  for (int i = 0; shares && i < EVENTRING_MAX_DOMAINS; i++) clear_domain(&shares->domain[i]);
  free(shares);
}

/* Returns the domain of a slot, emptied if the slot has a new incarnation. */
static struct domain *domain_of(struct eva_shares *shares, uint32_t slot, uint32_t incarnation) {
  struct domain *domain = &shares->domain[slot % EVENTRING_MAX_DOMAINS];
  if (domain->incarnation != incarnation) {
    clear_domain(domain);
    domain->incarnation = incarnation;
  }
  return domain;
}

/* ---- Clocks ------------------------------------------------------------------------ */

static uint64_t shows(const struct clock *clock, uint64_t ns) {
  return clock->counted + (clock->open && ns > clock->since ? ns - clock->since : 0);
}

static void drive(struct domain *domain, enum eva_part part,
                  const struct eventring_event *event) {
  struct clock *clock = &domain->clock[part];
  if (event->kind == EVENTRING_BEGIN && !clock->open) {
    *clock = (struct clock){.counted = clock->counted, .since = event->ns, .open = true,
                            .depth = event->depth, .ring = event->ring,
                            .context = event->context};
    domain->clocks_open++;
  } else if (event->kind == EVENTRING_END && clock->open && event->ring == clock->ring &&
             event->context == clock->context && event->depth <= clock->depth) {
    clock->counted = shows(clock, event->ns);
    clock->open = false;
    domain->clocks_open--;
  }
}

/* The classes whose spans drive a clock. */
static const uint64_t driving = 1ull << EVENTRING_CLASS_GC | 1ull << EVENTRING_CLASS_DOMAIN |
                                1ull << EVENTRING_CLASS_IO;

static bool drives(const struct eventring_event *event) {
  return event->event_class < 64 && driving >> event->event_class & 1;
}

static void drive_clock(struct domain *domain, const struct eventring_event *event) {
  drive(domain, event->event_class == EVENTRING_CLASS_GC ? EVA_COLLECTOR : EVA_WAITING, event);
}

/* ---- Spans ------------------------------------------------------------------------- */

static void leave(const struct domain *domain, struct flow *flow, uint64_t ns) {
  if (flow->is_left) return;
  flow->is_left = true;
  for (int p = 0; p < EVA_PARTS; p++) flow->left_at[p] = shows(&domain->clock[p], ns);
}

static void go_on(const struct domain *domain, struct flow *flow, uint64_t ns) {
  if (!flow->is_left) return;
  flow->is_left = false;
  for (int p = 0; p < EVA_PARTS; p++)
    flow->elsewhere[p] += shows(&domain->clock[p], ns) - flow->left_at[p];
}

static int skip_frames(struct flow *flow, uint32_t count) {
  while (count > flow->room)
    if (!EVR_MAKE_ROOM(flow->frame, flow->room, flow->room, FIRST_FRAMES))
      return EVENTRING_E_MEMORY;
  for (; flow->open < count; flow->open++)
    flow->frame[flow->open] = (struct frame){.domain_losses = NEVER};
  flow->open = count;
  return EVENTRING_OK;
}

/* Makes the number of open frames `count`; skipped frames belong to spans whose begins
   were not seen. */
static inline int open_frames(struct flow *flow, uint32_t count, bool begins) {
  if (count > flow->room || count > flow->open + begins) return skip_frames(flow, count);
  flow->open = count; /* a begin fills its own frame */
  return EVENTRING_OK;
}

static void begin(const struct domain *domain, struct flow *flow,
                  const struct eventring_event *event) {
  struct frame *frame = &flow->frame[event->depth];
  bool seen = !(event->flags & EVENTRING_SYNTHETIC);
  *frame = (struct frame){.domain_losses = seen ? domain->losses : NEVER, .id = event->id};
  for (int p = 0; p < EVA_PARTS; p++)
    frame->at[p] = shows(&domain->clock[p], event->ns) - flow->elsewhere[p];
}

/* Returns a part of a span. Even in a damaged file, with times that go back, it does not
   exceed the span. */
static inline uint64_t part_of(const struct domain *domain, const struct flow *flow,
                               const struct frame *frame, enum eva_part part,
                               const struct eventring_event *event) {
  uint64_t now = shows(&domain->clock[part], event->ns) - flow->elsewhere[part];
  uint64_t ns = now > frame->at[part] ? now - frame->at[part] : 0;
  uint64_t whole = event->ns - event->begin_ns;
  return ns < whole ? ns : whole;
}

static inline void fill(const struct domain *domain, const struct flow *flow,
                        const struct eventring_event *event, struct eva_span_time *time) {
  const int64_t own_ns = eventring_event_own(event);
  const struct frame *frame = &flow->frame[event->depth];
  const bool knows_parts = frame->domain_losses == domain->losses;
  time->ns = event->ns - event->begin_ns;
  time->suspended = event->suspended_ns;
  time->knows_parts = knows_parts;
  time->knows_own = own_ns >= 0;
  time->own = own_ns >= 0 ? (uint64_t)own_ns : 0;
  for (int p = 0; p < EVA_PARTS; p++)
    time->part[p] = knows_parts ? part_of(domain, flow, frame, (enum eva_part)p, event) : 0;
}

static int take_span(struct domain *domain, const struct eventring_event *event,
                     struct eva_span_time *time, bool *ended) {
  struct flows *flows = &domain->flows[event->ring];
  struct flow *flow = flow_at(flows, event->context);
  bool begins = event->kind == EVENTRING_BEGIN;
  if (!flow || open_frames(flow, event->depth + 1, begins) < 0) return EVENTRING_E_MEMORY;
  if (!(event->flags & EVENTRING_SYNTHETIC)) {
    go_on(domain, flow, event->ns);
    enter(flows, flow);
  }
  if (begins) {
    begin(domain, flow, event);
    return EVENTRING_OK;
  }
  *ended = eventring_event_took(event) >= 0;
  if (*ended) fill(domain, flow, event, time);
  flow->open = event->depth;
  if (!flow->open) retire_flow(flows, flow);
  /* a gap begins (eva_shares_lost) */
  if (event->flags & EVENTRING_SYNTHETIC) flows->present = NULL;
  return EVENTRING_OK;
}

/* Notes that the context of an event runs. If it has no open spans, the context before it
   has resumed it, and the spans of the context before go on. (If these had been left,
   there would be an event of the switch.) */
static void note_context(struct domain *domain, const struct eventring_event *event) {
  struct flows *flows = &domain->flows[event->ring];
  struct flow *flow = flows->present;
  if (!flow || flow->context != event->context) flow = find_flow(flows, event->context);
  if (!flow || !flow->open) return;
  go_on(domain, flow, event->ns);
  enter(flows, flow);
}

/* Takes the most frequent events, none of which drives a clock: a begin or an end in the
   context of the last event or of the last span that ended, and other events in the
   context that runs. Returns false, with nothing done, for all others. */
static bool take_plain(struct domain *domain, const struct eventring_event *event,
                       struct eva_span_time *time, bool *ended) {
  struct flows *flows = &domain->flows[event->ring % EVENTRING_RINGS];
  struct flow *flow = flows->present ? flows->present : flows->idle;
  uint32_t depth = event->depth;
  if (!flow || flow->context != event->context || flow->is_left ||
      domain->incarnation != event->incarnation)
    return false;
  /* the context goes on */
  if (event->kind > EVENTRING_END) return flow == flows->present && flow->open;
  if (domain->clocks_open || drives(event) ||
      event->flags & (EVENTRING_SYNTHETIC | EVENTRING_TORN) || depth >= flow->room)
    return false;
  struct frame *frame = &flow->frame[depth];
  if (event->kind == EVENTRING_BEGIN) {
    if (depth > flow->open) return false;
    enter(flows, flow);
    flow->open = depth + 1;
    *frame = (struct frame){.domain_losses = domain->losses, .id = event->id};
    for (int p = 0; p < EVA_PARTS; p++)
      frame->at[p] = domain->clock[p].counted - flow->elsewhere[p];
    return true;
  }
  if (depth >= flow->open || event->suspended_ns) return false;
  *ended = eventring_event_took(event) >= 0;
  if (*ended) fill(domain, flow, event, time);
  flow->open = depth;
  if (!depth) retire_flow(flows, flow);
  return true;
}

static __attribute__((noinline)) int take_other(struct eva_shares *shares,
                                                const struct eventring_event *event,
                                                struct eva_span_time *time, bool *ended) {
  struct domain *domain = domain_of(shares, event->domain, event->incarnation);
  /* the file is damaged */
  if (event->ring >= EVENTRING_RINGS || event->depth > MOST_DEPTH) return EVENTRING_OK;
  if (event->kind > EVENTRING_END) {
    note_context(domain, event);
    return EVENTRING_OK;
  }
  const bool begins = event->kind == EVENTRING_BEGIN, is_driving = drives(event);
  if (begins && is_driving) drive_clock(domain, event);
  int status = take_span(domain, event, time, ended);
  if (!begins && is_driving) drive_clock(domain, event);
  return status;
}

int eva_shares_event(struct eva_shares *shares, const struct eventring_event *event,
                     struct eva_span_time *time, bool *ended) {
  *ended = false;
  if (take_plain(&shares->domain[event->domain % EVENTRING_MAX_DOMAINS], event, time, ended))
    return EVENTRING_OK;
  return take_other(shares, event, time, ended);
}

/* ---- Batches ----------------------------------------------------------------------- */

/* Tells whether no clock is running and the events of the batch drive none. */
static bool is_plain(const struct domain *domain, const struct eventring_batch *batch) {
  return domain->incarnation == batch->incarnation && !domain->clocks_open &&
         !(batch->classes & driving);
}

/* Takes the end of a span that began before the batch. */
static int end_outer(const struct domain *domain, struct flow *flow,
                     const struct eventring_batch *batch, const struct eventring_brief *ended,
                     const struct eventring_outer *outer, uint32_t depth,
                     struct eva_span_time *time) {
  const uint64_t ns = batch->earliest_ns + ended->after;
  const struct eventring_event event = {.ns = ns, .begin_ns = ns - outer->took, .depth = depth,
                                        .kind = EVENTRING_END, .flags = EVENTRING_MATCHED,
                                        .within_ns = outer->within, .ring = batch->ring,
                                        .suspended_ns = outer->suspended};
  if (open_frames(flow, depth + 1, false) < 0) return EVENTRING_E_MEMORY;
  fill(domain, flow, &event, time);
  return EVENTRING_OK;
}

/* Takes the begins of the spans that the batch leaves open, from the depth `depth` on. */
static int begin_opened(const struct domain *domain, struct flow *flow,
                        const struct eventring_batch *batch, uint32_t depth) {
  for (size_t i = 0; i < batch->opened_count; i++, depth++) {
    const struct eventring_brief *opened = &batch->opened[i];
    const struct eventring_event event = {.ns = batch->earliest_ns + opened->after,
                                          .id = opened->id, .depth = depth, .ring = batch->ring};
    if (open_frames(flow, depth + 1, true) < 0) return EVENTRING_E_MEMORY;
    begin(domain, flow, &event);
  }
  return EVENTRING_OK;
}

static int take_outer(const struct domain *domain, struct flow *flow,
                      const struct eventring_batch *batch, struct eva_span_time *times) {
  const struct eventring_brief *ended = batch->ended;
  const struct eventring_outer *outer = batch->outer;
  uint32_t depth = batch->depth;
  for (; depth > batch->depth_around; ended++)
    if (ended->began_before &&
        end_outer(domain, flow, batch, ended, outer++, --depth, times++) < 0)
      return EVENTRING_E_MEMORY;
  if (open_frames(flow, depth, false) < 0) return EVENTRING_E_MEMORY;
  return begin_opened(domain, flow, batch, depth);
}

int eva_shares_batch(struct eva_shares *shares, const struct eventring_batch *batch,
                     struct eva_span_time *times) {
  struct domain *domain = &shares->domain[batch->domain % EVENTRING_MAX_DOMAINS];
  if (!is_plain(domain, batch)) return 0;
  struct flows *flows = &domain->flows[batch->ring % EVENTRING_RINGS];
  if (!batch->ended_count && !batch->opened_count) {
    note_context(domain, &(struct eventring_event){.ns = batch->earliest_ns, .ring = batch->ring,
                                                   .context = batch->context});
    return 1;
  }
  struct flow *flow = flow_at(flows, batch->context);
  if (!flow) return EVENTRING_E_MEMORY;
  go_on(domain, flow, batch->earliest_ns);
  enter(flows, flow);
  if (take_outer(domain, flow, batch, times) < 0) return EVENTRING_E_MEMORY;
  if (!flow->open) retire_flow(flows, flow);
  return 1;
}

void eva_shares_lost(struct eva_shares *shares, const struct eventring_loss *loss) {
  struct domain *domain = domain_of(shares, loss->domain, loss->incarnation);
  domain->losses++;
  /* not known until the next event of the ring */
  domain->flows[loss->ring % EVENTRING_RINGS].present = NULL;
  for (int p = 0; p < EVA_PARTS; p++)
    if (domain->clock[p].open && domain->clock[p].ring == loss->ring) {
      domain->clock[p].open = false;
      domain->clocks_open--;
    }
}

void eva_shares_switch(struct eva_shares *shares, const struct eventring_switch *change) {
  struct domain *domain = domain_of(shares, change->domain, change->incarnation);
  struct flows *flows = &domain->flows[change->ring % EVENTRING_RINGS];
  struct flow *flow = find_flow(flows, change->context);
  if (flow && change->resumed) {
    go_on(domain, flow, change->ns);
    enter(flows, flow);
  } else if (flow) {
    leave(domain, flow, change->ns);
    return_from(flows, flow);
  }
}

/* Returns the flow of control that runs in this ring of a domain; NULL: none with open
   spans is known. */
static const struct flow *running_flow(const struct eva_shares *shares, uint32_t domain,
                                       uint8_t ring) {
  const struct domain *d = &shares->domain[domain % EVENTRING_MAX_DOMAINS];
  const struct flow *flow = d->flows[ring % EVENTRING_RINGS].present;
  return flow && flow->open && !flow->is_left ? flow : NULL;
}

int eva_shares_running(const struct eva_shares *shares, uint32_t domain, uint8_t ring) {
  const struct flow *flow = running_flow(shares, domain, ring);
  return flow ? flow->frame[flow->open - 1].id : -1;
}

bool eva_shares_innermost(const struct eva_shares *shares, uint32_t domain, uint8_t ring,
                          uint64_t *context, uint32_t *depth) {
  const struct flow *flow = running_flow(shares, domain, ring);
  if (!flow) return false;
  *context = flow->context;
  *depth = flow->open - 1;
  return true;
}
