/* SPDX-License-Identifier: MIT */
/* top_process.c: reads what `eventring top` shows of one process.
 *
 * Each refresh polls only the ring of the runtime, which is small and has the steps and
 * the figures of the collector. The first poll delivers what is in the ring already, so
 * the first figures cover the seconds before the first refresh. Figures come from the
 * engines of `stats` and `pauses` (gc_clock.h, steps.h), so `top` shows the same shares
 * and pauses as these commands.
 *
 * - share of the collector, rate: differences of growing sums between now and the newest
 *   refresh that is at least as old as the window. The first refresh counts from the
 *   first event in the window on;
 * - longest pause: the longest of each tenth of a second of the window, and the open
 *   step;
 * - heap: the last value of each domain that runs, however old;
 * - CPU, resident: what the system says of the process (no events).
 *
 * Losses: an event that was overwritten before a refresh read it counts as lost; the
 * collector's clock leaves the gap out.
 */
#include "top_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/gc_clock.h"
#include "analysis/names.h"
#include "analysis/read_all.h"
#include "analysis/steps.h"
#include "analysis/usage.h"
#include "format/now.h"
#include "reader.h"
#include "shared_views.h"

enum {
  TENTHS = 100,                  /* number of tenths of a second in the window */
  MARKS = 64                     /* most refreshes that are stored */
};
#define TENTH_NS (TOP_WINDOW_NS / TENTHS)
#define MARK_NS (TOP_WINDOW_NS / (MARKS - 2))

struct tenth { /* the longest step that ended in a tenth of a second */
  uint64_t number; /* number of the tenth: time / TENTH_NS */
  uint64_t ns;
};

struct mark { /* sums at a refresh */
  uint64_t ns, watched, in_gc, allocated;
};

struct heap_of_domain {
  bool known;
  uint32_t incarnation;
  uint64_t bytes;
};

struct top_reading {
  uint64_t since;                 /* start of the window of the first refresh */
  uint64_t first_ns;              /* time of the first event in the window; 0 if there is
                                     none */
  struct eva_gc_clock clocks[EVENTRING_MAX_DOMAINS];
  struct eva_steps steps;
  struct tenth tenths[TENTHS + 1];
  struct heap_of_domain heaps[EVENTRING_MAX_DOMAINS];
  /* the incarnation of the domain that runs in a slot; 0: none */
  uint32_t running[EVENTRING_MAX_DOMAINS];
  uint64_t allocated;             /* bytes */
  bool allocates;                 /* there is a counter of allocation */
  struct mark marks[MARKS];       /* the oldest first */
  unsigned mark_count;
  uint64_t cpu_ns, cpu_read_ns;   /* processor time of the process, and when it was read;
                                     0 if not yet */
};

/* ---- Events ------------------------------------------------------------------- */

static void on_step(void *context, const struct eva_step *step) {
  struct top_reading *r = context;
  const uint64_t number = (step->begin_ns + step->ns) / TENTH_NS;
  struct tenth *tenth = &r->tenths[number % (TENTHS + 1)];
  if (number < tenth->number) return;
  if (number > tenth->number) *tenth = (struct tenth){.number = number};
  if (step->ns > tenth->ns) tenth->ns = step->ns;
}

static void take_quantity(struct top_reading *r, const struct eventring_event *event) {
  if (event->kind != EVENTRING_COUNTER || event->payload != EVENTRING_INT || event->value.i < 0)
    return;
  const uint64_t unit = strcmp(event->def->unit, "words") == 0 ? 8 : 1;
  const uint64_t bytes = (uint64_t)event->value.i * unit;
  if (event->def->quantity == EVENTRING_QUANTITY_HEAP)
    r->heaps[event->domain % EVENTRING_MAX_DOMAINS] =
        (struct heap_of_domain){true, event->incarnation, bytes};
  if (event->def->quantity != EVENTRING_QUANTITY_ALLOCATED) return;
  r->allocates = true;
  if (event->ns >= r->since) r->allocated += bytes;
}

static int on_event(void *context, const struct eventring_event *event) {
  struct top_reading *r = context;
  struct eva_gc_clock *clock = &r->clocks[event->domain % EVENTRING_MAX_DOMAINS];
  if (event->ns >= r->since) {
    if (!(event->flags & EVENTRING_SYNTHETIC) && (!r->first_ns || event->ns < r->first_ns))
      r->first_ns = event->ns;
    eva_gc_clock_cut(clock, r->since, event->incarnation);
  }
  eva_gc_clock_event(clock, event);
  eva_steps_event(&r->steps, NULL, event);
  if (event->def && event->def->quantity) take_quantity(r, event);
  return 0;
}

static int on_lost(void *context, const struct eventring_loss *loss) {
  struct top_reading *r = context;
  eva_gc_clock_lost(&r->clocks[loss->domain % EVENTRING_MAX_DOMAINS], loss);
  return 0;
}

static void poll_all(struct top_process *p) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, on_event, on_lost};
  const int status = eva_read_all(p->cursor, &callbacks, p->reading);
  p->error[0] = '\0';
  if (status < 0)
    snprintf(p->error, sizeof p->error, "%s", eventring_cursor_error(p->cursor)->text);
  eva_steps_finish(&p->reading->steps); /* a step whose work is not known yet is a pause,
                                           too */
}

/* ---- Figures ------------------------------------------------------------------ */

/* Returns the sums over all domains, as if the clocks of the running ones stopped now. */
static struct mark sums_at(const struct top_process *p, uint64_t now) {
  const struct top_reading *r = p->reading;
  struct mark sums = {.ns = now, .allocated = r->allocated};
  for (unsigned i = 0; i < EVENTRING_MAX_DOMAINS; i++) {
    struct eva_gc_clock clock = r->clocks[i];
    const bool runs = !p->gone_ns && clock.incarnation && r->running[i] == clock.incarnation;
    eva_gc_clock_stop(&clock, runs ? now : 0);
    sums.watched += clock.watched;
    sums.in_gc += clock.times.in_gc;
  }
  return sums;
}

/* Returns the newest mark that is at least as old as the window, or the first one. */
static const struct mark *base_of(struct top_reading *r, uint64_t now) {
  unsigned old = 0;
  while (old + 1 < r->mark_count && r->marks[old + 1].ns + TOP_WINDOW_NS <= now) old++;
  memmove(r->marks, r->marks + old, (r->mark_count - old) * sizeof *r->marks);
  r->mark_count -= old;
  return &r->marks[0];
}

static void keep_mark(struct top_reading *r, const struct mark *mark) {
  const struct mark *last = &r->marks[r->mark_count - 1];
  if (r->mark_count > 1 && mark->ns - last->ns < MARK_NS) return;
  if (r->mark_count < MARKS) r->marks[r->mark_count++] = *mark;
}

static uint64_t longest_step(const struct top_process *p, uint64_t now) {
  const struct top_reading *r = p->reading;
  const bool goes_on = !p->gone_ns && p->info.state == EVENTRING_RUNNING;
  const uint64_t from = now > TOP_WINDOW_NS ? now - TOP_WINDOW_NS : 0;
  uint64_t longest = 0;
  for (unsigned i = 0; i <= TENTHS; i++)
    if ((r->tenths[i].number + 1) * TENTH_NS > from && r->tenths[i].ns > longest)
      longest = r->tenths[i].ns;
  for (unsigned i = 0; goes_on && i < EVENTRING_MAX_DOMAINS; i++) {
    const struct eva_newest_step *newest = &r->steps.newest[i];
    if (newest->pause.open && now > newest->step.begin_ns && now - newest->step.begin_ns > longest)
      longest = now - newest->step.begin_ns;
  }
  return longest;
}

static void take_differences(struct top_process *p, uint64_t now) {
  struct top_reading *r = p->reading;
  struct top_figures *f = &p->figures;
  const struct mark sums = sums_at(p, now);
  if (!r->first_ns) return;
  if (!r->mark_count)
    r->marks[r->mark_count++] = (struct mark){.ns = r->first_ns};
  const struct mark base = *base_of(r, now);
  f->of_ns = now > base.ns ? now - base.ns : 0;
  const uint64_t watched = sums.watched > base.watched ? sums.watched - base.watched : 0;
  const uint64_t in_gc = sums.in_gc > base.in_gc ? sums.in_gc - base.in_gc : 0;
  f->has_gc = watched > 0;
  if (f->has_gc) f->gc = (double)in_gc / (double)watched;
  f->has_rate = r->allocates && f->of_ns > 0;
  if (f->has_rate)
    f->rate = (uint64_t)((double)(sums.allocated - base.allocated) * 1e9 / (double)f->of_ns);
  keep_mark(r, &sums);
}

static void add_domains(struct top_process *p) {
  struct top_reading *r = p->reading;
  struct top_figures *f = &p->figures;
  memset(r->running, 0, sizeof r->running);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS && slot < p->info.domains_laid_out; slot++) {
    struct eventring_domain_info domain = {.size = sizeof domain};
    const struct heap_of_domain *heap = &r->heaps[slot];
    if (eventring_cursor_domain(p->cursor, slot, &domain) != 0 || !domain.alive) continue;
    r->running[slot] = domain.incarnation;
    f->domains++;
    if (!heap->known || heap->incarnation != domain.incarnation) continue;
    f->has_heap = true;
    f->heap += heap->bytes;
  }
}

/* ---- The system --------------------------------------------------------------- */

void top_process_clock(struct top_process *p) {
  struct top_reading *r = p->reading;
  r->cpu_read_ns = eva_cpu_time_of(p->pid, &r->cpu_ns) ? now_ns() : 0;
}

static void ask_system(struct top_process *p) {
  enum { LEAST_MS = 50 };
  struct top_reading *r = p->reading;
  struct top_figures *f = &p->figures;
  const uint64_t cpu = r->cpu_ns, read = r->cpu_read_ns;
  f->has_resident = eva_resident_of(p->pid, &f->resident);
  /* too short for a meaningful figure */
  if (read && now_ns() - read < LEAST_MS * UINT64_C(1000000)) return;
  top_process_clock(p);
  f->has_cpu = read && r->cpu_read_ns > read && r->cpu_ns >= cpu;
  if (f->has_cpu) f->cpu = (double)(r->cpu_ns - cpu) / (double)(r->cpu_read_ns - read);
}

/* ---- The process -------------------------------------------------------------- */

static void look(struct top_process *p) {
  eventring_cursor_info(p->cursor, &p->info);
  p->pid = pid_here(&p->info);
  if (p->info.liveness != EVENTRING_LIVE && !p->gone_ns) p->gone_ns = now_ns();
}

struct top_process *top_process_new(eventring_cursor *cursor) {
  struct top_process *p = need_zeroed(1, sizeof *p);
  const uint64_t now = now_ns();
  p->cursor = cursor;
  p->info.size = sizeof p->info;
  p->reading = need_zeroed(1, sizeof *p->reading);
  p->reading->since = now > TOP_WINDOW_NS ? now - TOP_WINDOW_NS : 0;
  p->reading->steps.report = on_step;
  p->reading->steps.context = p->reading;
  eventring_cursor_select(cursor, 1u << EVENTRING_RUNTIME);
  look(p);
  /* a stream has everything, so seek; all of a ring is wanted, even an old figure of the
     heap */
  if (p->info.has_streams) eventring_cursor_seek(cursor, p->reading->since);
  top_process_clock(p);
  return p;
}

void top_process_free(struct top_process *p) {
  eventring_close(p->cursor);
  free(p->reading);
  free(p);
}

void top_process_refresh(struct top_process *p) {
  struct eventring_totals totals = {.size = sizeof totals};
  if (p->gone_ns) return;
  p->figures = (struct top_figures){0};
  poll_all(p);
  look(p);
  const uint64_t now = now_ns();
  eventring_cursor_totals(p->cursor, &totals);
  p->figures.lost = totals.lost + p->info.events_dropped;
  if (!p->gone_ns) add_domains(p);
  take_differences(p, now);
  p->figures.pause_ns = longest_step(p, now);
  p->figures.has_pause = p->reading->first_ns != 0;
  if (!p->gone_ns) ask_system(p);
}

/* ---- Views -------------------------------------------------------------------- */

static VIEW(figures_view, struct top_figures,
    {"cpu_share", "CPU", VIEW_SHARE, ROW(cpu), VIEW_IF(has_cpu),
     .help = "share of one processor, since the last refresh"},
    {"gc_share", "GC", VIEW_SHARE, ROW(gc), VIEW_IF(has_gc),
     .help = "share of the time of its domains, in the last 10 s"},
    {"longest_pause_ns", "pause", VIEW_NS, ROW(pause_ns), VIEW_IF(has_pause),
     .help = "the longest step of the collector in the last 10 s, also one that goes on"},
    {"allocated_bytes_per_s", "alloc/s", VIEW_BYTES, ROW(rate), VIEW_IF(has_rate),
     .help = "in the last 10 s"},
    {"heap_bytes", "heap", VIEW_BYTES, ROW(heap), VIEW_IF(has_heap),
     .help = "in use by the domains that run"},
    {"resident_bytes", "resident", VIEW_BYTES, ROW(resident), VIEW_IF(has_resident)},
    {"lost", "?lost", VIEW_COUNT, ROW(lost), .flags = VIEW_DASH_0,
     .help = "events overwritten before they were read, or dropped for lack of room"},
    {"domains", NULL, VIEW_COUNT, ROW(domains), .help = "number of domains that run"},
    {"window_ns", NULL, VIEW_NS, ROW(of_ns),
     .help = "the part of the last 10 s of which there are events"})

/* Returns the state, if the process does not simply run. */
VIEW_GETTER(state, struct top_process) {
  const struct eventring_info *info = &row->info;
  if (info->liveness != EVENTRING_LIVE) return view_text(eva_liveness_name(info->liveness));
  if (row->error[0]) return view_text(row->error);
  if (info->state == EVENTRING_RUNNING && !info->no_room) return view_none();
  return view_printf(to, "%s%s", eva_state_name(info->state), eva_room_text(info->no_room));
}

/* Returns the file name of the program: in a narrow column, folders do not help to
   distinguish processes. */
VIEW_GETTER(program, struct top_process) {
  const char *slash = strrchr(row->info.program, '/');
  return view_text(slash && slash[1] ? slash + 1 : row->info.program);
}

VIEW_GETTER(pid, struct top_process) { return view_int(row->pid); }

VIEW(top_process_view, struct top_process,
    {NULL, "pid", VIEW_PLAIN, VIEW_GET(I32, pid), .flags = VIEW_NO_0},
    {NULL, "<+program", VIEW_PLAIN, VIEW_GET(TEXT, program)},
    {NULL, "?<state", VIEW_PLAIN, VIEW_GET(TEXT, state)},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct top_process, info), .view = &head_view},
    {"state", NULL, VIEW_STATE, ROW(info.state)},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct top_process, figures), .view = &figures_view},
    {"error", NULL, VIEW_PLAIN, ROW(error), .flags = VIEW_NO_0 | VIEW_MAYBE})
