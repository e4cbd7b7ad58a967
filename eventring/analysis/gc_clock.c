/* SPDX-License-Identifier: MIT */
/* gc_clock.c: watched time, and time in the collector and in finalizers, of one ring. */
#include "analysis/gc_clock.h"

#include <string.h>

#include "analysis/saturating.h"

void eva_gc_times_add(struct eva_gc_times *into, const struct eva_gc_times *more) {
  into->in_gc = eva_add(into->in_gc, more->in_gc);
  into->gc_off_cpu = eva_add(into->gc_off_cpu, more->gc_off_cpu);
  into->gc_unmeasured = eva_add(into->gc_unmeasured, more->gc_unmeasured);
  into->off_cpu = eva_add(into->off_cpu, more->off_cpu);
  into->in_finalizers = eva_add(into->in_finalizers, more->in_finalizers);
}

bool eva_gc_times_cpu(const struct eva_gc_times *times, uint64_t *ns) {
  *ns = times->in_gc - times->gc_off_cpu;
  return times->gc_unmeasured == 0;
}

uint64_t eva_gc_times_on_cpu(const struct eva_gc_times *times, uint64_t watched) {
  uint64_t off = eva_add(times->gc_off_cpu, times->off_cpu);
  return watched > off ? watched - off : 0;
}

/* Returns how many ns of the present stretch, up to `until`, the span covers. The span is
   open or has just ended. */
static uint64_t covered(const struct eva_gc_clock *clock, const struct eventring_pause *span,
                        uint64_t until) {
  uint64_t begin = span->since > clock->from ? span->since : clock->from;
  return clock->running && until > begin ? until - begin : 0;
}

/* Returns the times of a span of the collector that covers `ns` of the stretch. `off`:
   for how long the thread was not on a processor in the span; below 0: not known. (If the
   span began before the stretch, some of `off` may lie before the stretch.) */
static struct eva_gc_times collector_times(const struct eva_gc_clock *clock, uint64_t ns,
                                           int64_t off) {
  uint64_t known = off > 0 ? (uint64_t)off : 0;
  return (struct eva_gc_times){.in_gc = ns, .gc_off_cpu = known < ns ? known : ns,
                               .gc_unmeasured = clock->gc_measured ? 0 : ns};
}

static void begin_stretch(struct eva_gc_clock *clock, uint64_t ns) {
  clock->running = true;
  clock->from = clock->last = ns;
}

static void end_stretch(struct eva_gc_clock *clock) {
  if (!clock->running) return;
  struct eva_gc_times open =
      collector_times(clock, clock->gc.open ? covered(clock, &clock->gc, clock->last) : 0, 0);
  if (clock->finalizers.open)
    open.in_finalizers = covered(clock, &clock->finalizers, clock->last);
  eva_gc_times_add(&clock->times, &open);
  clock->watched = eva_add(clock->watched, clock->last - clock->from);
  clock->running = false;
}

/* Returns the time under the span that the event ends, in the present stretch. */
static inline uint64_t see(const struct eva_gc_clock *clock, struct eventring_pause *span,
                    const struct eventring_event *event) {
  if (event->kind == EVENTRING_BEGIN)
    eventring_pause_begin(span, event->depth, event->id, event->ns);
  if (event->kind != EVENTRING_END || !eventring_pause_end(span, event->depth)) return 0;
  /* a torn span was counted up to the gap that tore it */
  return eventring_event_took(event) >= 0 ? covered(clock, span, event->ns) : 0;
}

/* Returns the time of a counter off_cpu, limited to the length of the present stretch so
   far; 0: the event is no such counter. */
static uint64_t off_cpu_until(const struct eva_gc_clock *clock,
                              const struct eventring_event *event) {
  bool is_it = event->def && event->def->quantity == EVENTRING_QUANTITY_OFF_CPU &&
               event->payload == EVENTRING_INT && event->value.i > 0;
  uint64_t most = clock->running && event->ns > clock->from ? event->ns - clock->from : 0;
  if (!is_it) return 0;
  return event->value.u < most ? event->value.u : most;
}

static struct eva_gc_times see_collector(struct eva_gc_clock *clock,
                                         const struct eventring_event *event) {
  const uint64_t ns = see(clock, &clock->gc, event);
  struct eva_gc_times times = collector_times(clock, ns, eventring_event_off_cpu(event));
  if (event->kind == EVENTRING_BEGIN && event->depth == clock->gc.depth)
    clock->gc_measured = event->def && event->def->measure == EVENTRING_OFF_CPU;
  times.off_cpu = off_cpu_until(clock, event);
  return times;
}

static void forget_open(struct eva_gc_clock *clock) {
  clock->gc.open = clock->finalizers.open = false;
}

void eva_gc_clock_event(struct eva_gc_clock *clock, const struct eventring_event *event) {
  if (eva_gc_clock_only_moves(clock, event)) {
    if (event->ns > clock->last) clock->last = event->ns;
    return;
  }
  if (event->incarnation != clock->incarnation) {
    end_stretch(clock);
    forget_open(clock);
    clock->incarnation = event->incarnation;
  }
  if (!(event->flags & EVENTRING_SYNTHETIC)) {
    if (!clock->running) begin_stretch(clock, event->ns);
    if (event->ns > clock->last) clock->last = event->ns;
  }
  if (event->kind == EVENTRING_LIFECYCLE && event->id == EVENTRING_ID_PAUSE)
    end_stretch(clock);
  struct eva_gc_times more = {0};
  if (event->event_class == EVENTRING_CLASS_GC) more = see_collector(clock, event);
  if (event->event_class == EVENTRING_CLASS_FINALIZERS)
    more.in_finalizers = see(clock, &clock->finalizers, event);
  eva_gc_times_add(&clock->times, &more);
}

/* ---- Batches ----------------------------------------------------------------------- */

/* The topmost span of a class. Spans are visited from the end of a batch backwards. After
   the topmost span, deeper spans lie within it, up to the first span that is not
   deeper. */
struct topmost {
  bool open;
  uint8_t depth;
};

static bool is_topmost(struct topmost *top, const struct eventring_brief *ended, bool is_of_class) {
  if (top->open && ended->depth > top->depth) return false;
  *top = (struct topmost){is_of_class, ended->depth};
  return is_of_class;
}

/* Tells whether this span and the one that ended before it are of one definition and
   ended at the same time. Then it is unknown to which of the two spans the payload of a
   point belongs. */
static bool is_like_the_one_before(const struct eventring_batch *batch, size_t i) {
  return i > 0 && batch->ended[i].id == batch->ended[i - 1].id &&
         batch->ended[i].after == batch->ended[i - 1].after;
}

/* Returns for how long the thread was off the processor in a span; 0 if no point says so.
   *points is the number of points up to this span. Callers go through the spans from the
   last to the first. */
static uint64_t off_cpu_of(const struct eventring_batch *batch,
                           const struct eventring_brief *ended, size_t *points) {
  for (; *points; --*points) {
    const struct eventring_point *point = &batch->points[*points - 1];
    if (point->after < ended->after) return 0;
    if (point->kind == EVENTRING_END && point->after == ended->after && point->id == ended->id)
      return point->value;
  }
  return 0;
}

bool eva_gc_clock_batch(struct eva_gc_clock *clock, const struct eventring_batch *batch) {
  struct topmost collector = {0}, finalizers = {0};
  struct eva_gc_times more = {0};
  size_t points = batch->point_count;
  if (!clock->running || !clock->is_cut || clock->incarnation != batch->incarnation ||
      clock->gc.open || clock->finalizers.open || batch->opened_count ||
      batch->depth != batch->depth_around)
    return false;
  for (size_t i = batch->ended_count; i-- > 0;) {
    const struct eventring_brief *ended = &batch->ended[i];
    const struct eventring_def *def = eventring_cursor_def(batch->cursor, ended->id);
    const uint64_t end = batch->earliest_ns + ended->after;
    const struct eventring_pause span = {.since = end - ended->took};
    if (is_topmost(&collector, ended, def->event_class == EVENTRING_CLASS_GC)) {
      const bool measured = def->measure == EVENTRING_OFF_CPU;
      if (measured && is_like_the_one_before(batch, i)) return false;
      const uint64_t ns = covered(clock, &span, end);
      const uint64_t off = measured ? off_cpu_of(batch, ended, &points) : 0;
      more.in_gc = eva_add(more.in_gc, ns);
      more.gc_off_cpu = eva_add(more.gc_off_cpu, off < ns ? off : ns);
      more.gc_unmeasured = eva_add(more.gc_unmeasured, measured ? 0 : ns);
    }
    if (is_topmost(&finalizers, ended, def->event_class == EVENTRING_CLASS_FINALIZERS))
      more.in_finalizers = eva_add(more.in_finalizers, covered(clock, &span, end));
  }
  eva_gc_times_add(&clock->times, &more);
  if (batch->latest_ns > clock->last) clock->last = batch->latest_ns;
  return true;
}

void eva_gc_clock_begin(struct eva_gc_clock *clock, uint64_t ns, uint32_t incarnation) {
  *clock = (struct eva_gc_clock){.is_cut = true, .incarnation = incarnation};
  begin_stretch(clock, ns);
}

void eva_gc_clock_lost(struct eva_gc_clock *clock, const struct eventring_loss *loss) {
  end_stretch(clock);
  if (loss->incarnation != clock->incarnation) forget_open(clock);
  clock->incarnation = loss->incarnation;
  begin_stretch(clock, loss->ns);
}

void eva_gc_clock_cut(struct eva_gc_clock *clock, uint64_t ns, uint32_t incarnation) {
  if (clock->is_cut) return;
  if (incarnation != clock->incarnation) *clock = (struct eva_gc_clock){0};
  clock->is_cut = true;
  clock->watched = 0;
  clock->times = (struct eva_gc_times){0};
  if (clock->running && clock->from < ns) begin_stretch(clock, ns);
}

void eva_gc_clock_stop(struct eva_gc_clock *clock, uint64_t end) {
  if (clock->running && end > clock->last) clock->last = end;
  end_stretch(clock);
}
