/* SPDX-License-Identifier: MIT */
/* events.c: takes the events of a recording for the parts of a page. */
#include "view/events.h"

#include "view/cells.h"
#include "view/lists.h"
#include "view/moments.h"
#include "view/pauses.h"
#include "view/spans_queue.h"

/* ---- The beginning ---------------------------------------------------------------- */

static void on_step(void *context, const struct eva_step *step);

/* Prepares nothing: exporters make the text of a track here. */
static void introduce(void *context, struct export_track *track) {
  (void)context;
  (void)track;
}

/* Returns the bytes to use for rows: several times the limit of the page, which leaves a
   choice of what to show. */
static size_t room_of(const struct page_run *run, unsigned times) {
  enum { MIB = 1 << 20, LEAST = 2 * MIB, MOST = 12 * MIB, OF_ALL = 64 * MIB };
  const uint64_t room = run->limit ? run->limit * times : OF_ALL;
  if (room < LEAST) return LEAST;
  return room > MOST && run->limit ? MOST : (size_t)room;
}

int page_events_begin(struct page_events *events, struct page_run *run, struct page *page) {
  *events = (struct page_events){.run = run, .page = page};
  run->events = events;
  events->tally = eva_tally_new();
  events->shares = eva_shares_new();
  if (!events->tally || !events->shares ||
      export_tracks_open(&events->tracks, introduce, events) < 0)
    return events->status = EVENTRING_E_MEMORY;
  events->tally->since = run->since;
  events->tally->until = run->until;
  events->steps.report = on_step;
  events->steps.context = events;
  events->cells = page_cells_new(run, events->tally, room_of(run, 6));
  events->spans = page_spans_new(run, room_of(run, 4), !run->limit);
  if (events->cells) events->cells_now = page_cells_now(events->cells);
  events->queue = events->spans ? page_spans_queue_new(events->spans) : NULL;
  events->moments = page_moments_new(run);
  events->pauses = page_pauses_new(run);
  events->texts = page_texts_new(run);
  const bool made = events->cells && events->queue && events->moments && events->pauses &&
                    events->texts;
  return events->status = made ? EVENTRING_OK : EVENTRING_E_MEMORY;
}

void page_events_free(struct page_events *events) {
  page_cells_free(events->cells);
  page_spans_queue_free(events->queue);
  page_spans_free(events->spans);
  page_moments_free(events->moments);
  page_pauses_free(events->pauses);
  page_texts_free(events->texts);
  eva_shares_free(events->shares);
  eva_tally_free(events->tally);
  export_tracks_close(&events->tracks);
}

/* ---- The grid --------------------------------------------------------------------- */

/* Makes cells twice as long. */
static int halve(struct page_events *events) {
  struct page *page = events->page;
  int status = page_cells_halve(events->cells);
  if (status == EVENTRING_OK) status = page_spans_queue_halve(events->queue);
  page_pauses_halve(events->pauses);
  for (size_t i = 0; i < page->count; i++)
    if (page->made[i].part->halve) page->made[i].part->halve(page->made[i].state);
  events->run->grid.cell_ns *= 2;
  events->now = (struct page_cell_at){0};
  return status;
}

/* Extends the grid to a moment. */
static __attribute__((noinline)) int grow(struct page_events *events, uint64_t ns) {
  int status = EVENTRING_OK;
  while (page_grid_is_past(&events->run->grid, ns) && status == EVENTRING_OK)
    status = halve(events);
  return status;
}
static inline int reach(struct page_events *events, uint64_t ns) {
  return __builtin_expect(page_cell_has(&events->now, ns), 1) ? EVENTRING_OK : grow(events, ns);
}

static inline bool is_async_end(const struct eventring_event *event) {
  return __builtin_expect(event->kind == EVENTRING_LINKED, 0) && event->def &&
         event->def->kind == EVENTRING_DEF_ASYNC;
}

/* Takes the time of an event: extends the grid to it, and moves the cells to its cell. */
static inline int turn(struct page_events *events, const struct eventring_event *event) {
  int status = reach(events, event->ns);
  if (status != EVENTRING_OK || event->ns < events->run->since) return status;
  const uint32_t cell = page_grid_cell_at(&events->run->grid, &events->now, event->ns);
  status = page_cells_turn(events->cells, events->cells_now, event->domain, cell);
  if (status == EVENTRING_OK && is_async_end(event))
    status = page_cells_turn_async(events->cells, cell);
  return status;
}

/* ---- Spans ------------------------------------------------------------------------ */

static int find_track(struct page_events *events, const struct export_track *track,
                      uint64_t context) {
  const struct page_lane lane = {.slot = track->domain, .lane = track->lane, .ring = track->ring};
  const struct page_owner owner = {context, track->incarnation, track->ring};
  int found = page_track(events->run->lists, &lane, context);
  if (found >= 0 && page_spans_queue_own(events->queue, (uint32_t)found, &owner) < 0) found = -1;
  events->last_track.track = (uint32_t)found;
  events->last_track.context = context;
  events->last_track.id = found < 0 ? 0 : track->id;
  return found;
}

/* Returns the index of the track of an event, or -1 when out of memory. */
static inline int track_of(struct page_events *events, const struct eventring_event *event) {
  const struct export_track *track = export_track_of(&events->tracks, event);
  if (!track) return -1;
  if (track->id == events->last_track.id && event->context == events->last_track.context)
    return (int)events->last_track.track;
  return find_track(events, track, event->context);
}

static unsigned flags_of(const struct eventring_event *end) {
  if (end->flags & EVENTRING_SYNTHETIC) return PAGE_SPAN_NO_END;
  return end->flags & EVENTRING_MATCHED ? 0 : PAGE_SPAN_NO_BEGIN;
}

static bool is_plain(const struct eventring_event *end, const struct eva_span_time *time) {
  return time->knows_own && time->knows_parts && !time->suspended &&
         !(time->part[EVA_COLLECTOR] | time->part[EVA_WAITING]) &&
         eventring_event_off_cpu(end) < 0 && end->begin_ns && end->begin_ns <= end->ns;
}

static int add_plain(struct page_events *events, const struct eventring_event *end, uint32_t track,
                     const struct eva_span_time *time) {
  struct page_plain_span *span = page_spans_queue_plain(events->queue);
  if (!span) return EVENTRING_E_MEMORY;
  *span = (struct page_plain_span){.ns = end->ns - end->begin_ns, .begin_ns = end->begin_ns,
                                   .own = time->own, .track = track, .depth = end->depth,
                                   .id = end->id};
  return EVENTRING_OK;
}

/* Adds a span that has ended. `time` is NULL if the span is torn. */
static int add_span(struct page_events *events, const struct eventring_event *end, uint32_t track,
                    const struct eva_span_time *time) {
  static const struct eva_span_time unknown = {0};
  const unsigned flags = flags_of(end);
  if (time && is_plain(end, time) && !flags) return add_plain(events, end, track, time);
  const bool knows_begin = end->begin_ns && end->begin_ns <= end->ns && flags != PAGE_SPAN_NO_BEGIN;
  struct page_span *span = page_spans_queue_span(events->queue);
  if (!span) return EVENTRING_E_MEMORY;
  if (!time) time = &unknown;
  *span = (struct page_span){.begin_ns = knows_begin ? end->begin_ns : end->ns,
                             .ns = knows_begin ? end->ns - end->begin_ns : 0,
                             .suspended = time->suspended, .own = time->own,
                             .part = {time->part[EVA_COLLECTOR], time->part[EVA_WAITING]},
                             .off_cpu = eventring_event_off_cpu(end), .track = track,
                             .depth = end->depth, .id = end->id, .flags = (uint8_t)flags,
                             .knows_own = time->knows_own, .knows_parts = time->knows_parts};
  return EVENTRING_OK;
}
_Static_assert(EVA_PARTS == 2, "add_span");

/* Takes the begin or the end of a span. `time` is NULL except at the end of a whole
   span. */
static int take_span(struct page_events *events, const struct eventring_event *event,
                     const struct eva_span_time *time) {
  const bool is_wanted = event->ns >= events->run->since;
  const int track = track_of(events, event);
  if (track < 0) return EVENTRING_E_MEMORY;
  int status = EVENTRING_OK;
  if (event->kind == EVENTRING_BEGIN) {
    if (event->payload != EVENTRING_NONE)
      status = page_spans_queue_begin(events->queue, event, (uint32_t)track);
  } else {
    if (is_wanted) status = add_span(events, event, (uint32_t)track, time);
    export_track_ended(&events->tracks, event);
  }
  return status;
}

/* ---- Events ----------------------------------------------------------------------- */

static void on_step(void *context, const struct eva_step *step) {
  struct page_events *events = context;
  if (!page_wants_time(events->run, step->begin_ns + step->ns) ||
      !page_wants_domain(events->run, step->domain) || events->status != EVENTRING_OK)
    return;
  events->status = page_cells_add_step(events->cells, step);
  if (events->status == EVENTRING_OK) events->status = page_pauses_add(events->pauses, step);
}

/* Passes an event to the parts that take events by themselves. */
static int give(const struct page_events *events, const struct eventring_event *event) {
  const struct page *page = events->page;
  int status = EVENTRING_OK;
  for (size_t i = 0; i < page->count && status == EVENTRING_OK; i++)
    if (page->made[i].part->classes >> event->event_class & 1)
      status = page->made[i].part->event(page->made[i].state, event);
  return status;
}

static int take_moment(struct page_events *events, const struct eventring_event *event) {
  const int track = track_of(events, event);
  return track < 0 ? EVENTRING_E_MEMORY
                   : page_moments_add(events->moments, event, (uint32_t)track);
}

/* Takes an event of a domain that is wanted. */
static inline int take_wanted(struct page_events *events, const struct eventring_event *event) {
  struct eva_span_time time;
  bool ended;
  int status = eva_shares_event(events->shares, event, &time, &ended);
  if (status != EVENTRING_OK) return status;
  if (event->event_class == EVENTRING_CLASS_GC) {
    eva_steps_collector_event(&events->steps, events->shares, event);
    if (events->status != EVENTRING_OK) return events->status; /* set by on_step */
  }
  if (event->kind <= EVENTRING_END) status = take_span(events, event, ended ? &time : NULL);
  if (status != EVENTRING_OK || event->ns < events->run->since) return status;
  if (event->kind > EVENTRING_END && event->kind != EVENTRING_COUNTER)
    status = take_moment(events, event);
  if (__builtin_expect(events->classes >> event->event_class & 1, 0) && status == EVENTRING_OK &&
      event->payload != EVENTRING_NONE)
    status = give(events, event);
  return status;
}

/* Takes an event that is not after the window. */
static inline int take_event(struct page_events *events, const struct eventring_event *event) {
  int status = turn(events, event);
  if (status == EVENTRING_OK) status = eva_tally_callbacks.event(events->tally, event);
  if (status != EVENTRING_OK) return status;
  if (!(event->flags & EVENTRING_SYNTHETIC))
    events->last_ns[event->domain % EVENTRING_MAX_DOMAINS][event->ring % EVENTRING_RINGS] =
        event->ns;
  return page_wants_domain(events->run, event->domain) ? take_wanted(events, event) : EVENTRING_OK;
}

static int on_event(void *context, const struct eventring_event *event) {
  struct page_events *events = context;
  if (events->status != EVENTRING_OK) return events->status;
  const bool is_late = event->ns > events->run->until;
  const int status = is_late ? eva_tally_callbacks.event(events->tally, event)
                             : take_event(events, event);
  if (__builtin_expect(status != EVENTRING_OK, 0)) events->status = status;
  return status;
}

static int on_lost(void *context, const struct eventring_loss *loss) {
  struct page_events *events = context;
  const struct page *page = events->page;
  if (events->status != EVENTRING_OK) return events->status;
  const uint64_t *last =
      &events->last_ns[loss->domain % EVENTRING_MAX_DOMAINS][loss->ring % EVENTRING_RINGS];
  events->status = eva_tally_callbacks.lost(events->tally, loss);
  eva_shares_lost(events->shares, loss);
  if (events->status == EVENTRING_OK)
    events->status = page_pauses_lost(events->pauses, loss, *last);
  for (size_t i = 0; i < page->count && events->status == EVENTRING_OK; i++)
    if (page->made[i].part->lost)
      events->status = page->made[i].part->lost(page->made[i].state, loss);
  return events->status;
}

const struct eventring_callbacks page_events_callbacks = {sizeof(struct eventring_callbacks),
                                                          on_event, on_lost};

int page_events_switch(void *context, const struct eventring_switch *change) {
  eva_shares_switch(((struct page_events *)context)->shares, change);
  return 0;
}

/* ---- Batches ---------------------------------------------------------------------- */

/* Takes the spans that began before the batch and ended in it. */
static int take_outer(struct page_events *events, const struct eventring_batch *batch,
                      const struct eva_span_time *times, uint32_t track) {
  uint32_t depth = batch->depth;
  int status = EVENTRING_OK;
  for (const struct eventring_brief *ended = batch->ended;
       depth > batch->depth_around && status == EVENTRING_OK; ended++) {
    if (!ended->began_before) continue;
    const uint64_t ns = batch->earliest_ns + ended->after;
    const struct eventring_event end = {
        .ns = ns, .begin_ns = ns - times->ns, .id = ended->id, .kind = EVENTRING_END,
        .flags = EVENTRING_MATCHED, .depth = --depth};
    status = add_span(events, &end, track, times++);
  }
  return status;
}

/* Takes a batch as a whole, if it lies in one cell and drives no clock. Returns 1; 0 if
   its events must be taken one by one; or an error. */
static int take_batch(struct page_events *events, const struct eventring_batch *batch) {
  struct eva_span_time times[EVENTRING_BATCH];
  const struct page_run *run = events->run;
  const uint32_t cell = page_grid_cell_at(&run->grid, &events->now, batch->earliest_ns);
  if (batch->earliest_ns < run->since || !page_cell_has(&events->now, batch->latest_ns) ||
      !run->limit)
    return 0;
  int status = eva_shares_batch(events->shares, batch, times);
  if (status <= 0) return status;
  const struct eventring_event like = {
      .domain = batch->domain, .incarnation = batch->incarnation, .ring = batch->ring,
      .kind = EVENTRING_BEGIN, .context = batch->context};
  const int track = track_of(events, &like);
  if (track < 0) return EVENTRING_E_MEMORY;
  events->last_ns[batch->domain % EVENTRING_MAX_DOMAINS][batch->ring % EVENTRING_RINGS] =
      batch->latest_ns;
  status = page_cells_turn(events->cells, events->cells_now, batch->domain, cell);
  if (status == EVENTRING_OK) status = eva_tally_batch(events->tally, batch);
  if (status == EVENTRING_OK) status = take_outer(events, batch, times, (uint32_t)track);
  if (status == EVENTRING_OK)
    status = page_spans_queue_batch(events->queue, batch, (uint32_t)track);
  if (!batch->depth_around && !batch->opened_count) export_track_ended(&events->tracks, &like);
  return status == EVENTRING_OK ? 1 : status;
}

int page_events_batch(void *context, const struct eventring_batch *batch) {
  struct page_events *events = context;
  if (events->status != EVENTRING_OK) return events->status;
  events->status = reach(events, batch->latest_ns);
  if (events->status != EVENTRING_OK) return events->status;
  const bool is_wanted = page_wants_domain(events->run, batch->domain);
  const int taken = is_wanted ? take_batch(events, batch) : 0;
  if (taken < 0) return events->status = taken;
  if (!taken) return eventring_batch_each(batch, on_event, events);
  return EVENTRING_OK;
}

/* ---- The end ---------------------------------------------------------------------- */

static int on_open(void *context, const struct eventring_event *begin) {
  struct page_events *events = context;
  if (begin->ns > events->run->until || !page_wants_domain(events->run, begin->domain))
    return EVENTRING_OK;
  const struct eva_so_far so_far = eva_so_far(&events->tally->known, events->run->cursor, begin);
  const int track = track_of(events, begin);
  if (track < 0) return EVENTRING_E_MEMORY;
  struct page_span *span = page_spans_queue_span(events->queue);
  if (!span) return EVENTRING_E_MEMORY;
  *span = (struct page_span){.begin_ns = begin->ns, .ns = so_far.known ? so_far.ns : 0,
                             .off_cpu = -1, .track = (uint32_t)track, .depth = begin->depth,
                             .id = begin->id, .flags = PAGE_SPAN_OPEN};
  return EVENTRING_OK;
}

/* Extends the grid to the last moment of a part. */
static int reach_end(struct page_events *events, uint64_t ns) {
  if (ns > events->end_ns) events->end_ns = ns;
  return reach(events, ns);
}

/* Removes the cells after the last moment. */
static void end_grid(struct page_events *events) {
  struct page_grid *grid = &events->run->grid;
  if (events->tally->last_ns > events->end_ns) events->end_ns = events->tally->last_ns;
  grid->cells = page_grid_cell(grid, events->end_ns) + 1;
}

int page_events_finish(struct page_events *events) {
  struct page_run *run = events->run;
  const struct page *page = events->page;
  struct eventring_event late;
  for (size_t i = 0; i < page->count && events->status == EVENTRING_OK; i++)
    if (page->made[i].part->stop)
      events->status = reach_end(events, page->made[i].part->stop(page->made[i].state));
  if (events->status == EVENTRING_OK) eva_steps_finish(&events->steps);
  if (events->status == EVENTRING_OK) events->status = page_cells_finish(events->cells);
  if (events->status == EVENTRING_OK)
    events->status = eva_tally_finish(events->tally, run->cursor);
  if (events->status == EVENTRING_OK) events->status = page_cells_complete(events->cells);
  run->info = events->tally->info;
  run->totals = events->tally->totals;
  if (events->status != EVENTRING_OK) return events->status;
  events->status = eventring_open_spans(run->cursor, on_open, events);
  if (events->status == EVENTRING_OK && eva_open_before(&events->tally->late, run->until, &late))
    events->status = on_open(events, &late);
  const int taken = page_spans_queue_end(events->queue);
  if (events->status == EVENTRING_OK) events->status = taken;
  page_spans_queue_free(events->queue);
  events->queue = NULL;
  page_spans_tell_depths(events->spans);
  end_grid(events);
  return events->status;
}
