/* SPDX-License-Identifier: MIT */
/* view_recorded.c: reads the figures on stacks that a recording has.
 *
 * The heap profiles have what was allocated in the whole run, even if the ring of samples
 * was overwritten. The remaining events show what was allocated in each cell. */
#include "view_recorded.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/call_rows.h"
#include "analysis/names.h"
#include "eventring/calls.h"
#include "eventring/introspection.h"
#include "eventring/stack.h"
#include "eventring/tools.h"
#include "last_stacks.h"

/* Returns a function in the form that all sections use: C functions have no file. */
static uint32_t function_of(struct page_stacks *s, const char *name, const char *source,
                            uint32_t line, bool is_c) {
  is_c |= strcmp(source, "[C]") == 0;
  return page_function(s, &(struct page_function){name[0] ? name : "?", is_c ? "" : source,
                                                  is_c ? 0 : line, is_c});
}

static uint32_t special(struct page_stacks *s, uint32_t parent, const char *name) {
  return page_node(s, parent, function_of(s, name, "", 0, true), 0);
}

/* ---- Allocations -------------------------------------------------------------- */

void page_heap_open(struct page_heap *h, const struct page_run *run, struct page_stacks *stacks) {
  *h = (struct page_heap){.run = run, .stacks = stacks, .rates = eva_heap_new()};
  if (!h->rates || eva_heap_rates(h->rates, run->cursor) == EVENTRING_E_MEMORY) no_memory();
}

static uint32_t site_of_frame(struct page_heap *h, uint32_t parent,
                              const struct eventring_stack_info *info) {
  struct eventring_function_info f = {.name = "?", .source = ""};
  eventring_cursor_function(h->run->cursor, info->function, &f);
  return page_node(h->stacks, parent, function_of(h->stacks, f.name, f.source, f.line, false),
                   info->line);
}

/* Makes room for all stacks known so far. */
static void grow(struct page_heap *h) {
  struct eventring_info info = {.size = sizeof info};
  if (eventring_cursor_info(h->run->cursor, &info) != 0 || info.stack_end <= h->site_count) return;
  h->site = need_resized(h->site, info.stack_end, sizeof *h->site);
  memset(h->site + h->site_count, 0, (info.stack_end - h->site_count) * sizeof *h->site);
  h->site_count = info.stack_end;
}

/* Returns the site of a stack, after adding its frames, outermost first. */
static uint32_t site_of_stack(struct page_heap *h, uint32_t stack) {
  struct eventring_stack_info info;
  uint32_t path[EVENTRING_MAX_DEPTH], depth = 0, site = 0;
  if (stack >= h->site_count && stack != UINT32_MAX) grow(h);
  for (uint32_t at = stack; at && depth < EVENTRING_MAX_DEPTH; at = info.parent) {
    if (at < h->site_count && (site = h->site[at]) != 0) break;
    if (eventring_cursor_stack(h->run->cursor, at, &info) != 0) break;
    path[depth++] = at;
  }
  if (!depth && !site) return special(h->stacks, 0, stack == UINT32_MAX ? "(found no room)" : "?");
  while (depth-- > 0) {
    eventring_cursor_stack(h->run->cursor, path[depth], &info);
    site = site_of_frame(h, site, &info);
    if (path[depth] < h->site_count) h->site[path[depth]] = site;
  }
  return site;
}

static void begin(struct page_stacks *s, enum page_kind kind, const char *from) {
  s->figures[kind].unit = "bytes";
  s->figures[kind].from = from;
}

void page_heap_event(struct page_heap *h, const struct eventring_event *event) {
  struct eva_heap_row row;
  if (!eva_heap_allocation(h->rates, event, &row)) return;
  const struct eva_amount *amount = &row.amount[EVA_ALLOCATED];
  const uint32_t site = site_of_stack(h, row.stack), slot = event->domain;
  const uint32_t cell = page_grid_cell(&h->run->grid, event->ns);
  begin(h->stacks, PAGE_ALLOCATED, "estimated from samples of allocations");
  page_add_at(h->stacks, PAGE_ALLOCATED, (struct page_set){slot, PAGE_BYTES}, site, cell,
              amount->bytes);
  page_vary(h->stacks, PAGE_ALLOCATED, (struct page_set){slot, PAGE_BYTES}, site, amount->bytes,
            amount->variance);
  page_add_at(h->stacks, PAGE_ALLOCATED, (struct page_set){slot, PAGE_OBJECTS}, site, cell,
              amount->objects);
}

static void add_amount(struct page_heap *h, enum page_kind kind, uint32_t slot,
                       uint32_t site, const struct eva_amount *amount) {
  if (!(amount->samples > 0)) return;
  page_add(h->stacks, kind, (struct page_set){slot, PAGE_BYTES}, site, amount->bytes);
  page_vary(h->stacks, kind, (struct page_set){slot, PAGE_BYTES}, site, amount->bytes,
            amount->variance);
  page_add(h->stacks, kind, (struct page_set){slot, PAGE_OBJECTS}, site, amount->objects);
}

static void add_profiles(struct page_heap *h, const struct eva_heap *heap) {
  const struct eva_heap_row *rows;
  size_t count = eva_heap_rows(heap, &rows);
  begin(h->stacks, PAGE_ALLOCATED, "estimated from samples of allocations");
  begin(h->stacks, PAGE_LIVE, "estimated from samples, as of the last collection");
  for (size_t i = 0; i < count; i++) {
    const uint32_t site = site_of_stack(h, rows[i].stack);
    add_amount(h, PAGE_ALLOCATED, rows[i].domain, site, &rows[i].amount[EVA_ALLOCATED]);
    add_amount(h, PAGE_LIVE, rows[i].domain, site, &rows[i].amount[EVA_LIVE]);
  }
}

/* Adds up the figures of the cells: for a part of the run, or without a profile, the sums
   are known from events only. */
static void add_up_cells(struct page_figures *f) {
  for (uint32_t i = 0; i < f->cell_count; i++) f->rows[f->cells[i].row].self += f->cells[i].figure;
}

static bool is_of_part(const struct page_run *run) {
  return run->since || run->until != UINT64_MAX;
}

struct eva_heap *page_heap_close(struct page_heap *h) {
  struct eva_heap *heap = eva_heap_new();
  if (!heap) no_memory();
  eva_heap_only_domain(heap, h->run->domain);
  int status = eva_heap_read(heap, h->run->cursor);
  if (status == EVENTRING_E_MEMORY) no_memory();
  if (status < 0) complain("%s", eventring_cursor_error(h->run->cursor)->text);
  if (status >= 0 && eva_heap_state(heap)->profiles && !is_of_part(h->run)) add_profiles(h, heap);
  else add_up_cells(&h->stacks->figures[PAGE_ALLOCATED]);
  eva_heap_free(h->rates);
  free(h->site);
  if (status >= 0) return heap;
  eva_heap_free(heap);
  return NULL;
}

/* ---- Stacks ------------------------------------------------------------------- */

struct written {
  const struct page_run *run;
  struct page_stacks *stacks;
};

/* Returns the site of a stack from its text. If the text has only some of the functions,
   they are the innermost ones. */
static uint32_t site_of_text(struct page_stacks *s, const char *text) {
  enum { MOST = EVENTRING_MAX_STACK_TEXT / 3 };
  uint32_t function[MOST], line[MOST], depth = 0, site = 0;
  struct last_frame frame;
  for (; depth < MOST && last_frame_next(&text, &frame); depth++) {
    function[depth] = function_of(s, frame.name, frame.source, 0, false);
    line[depth] = frame.line;
  }
  while (depth-- > 0) site = page_node(s, site, function[depth], line[depth]);
  return site;
}

/* Handles a stack that the process wrote. (Stacks that were written for another reason
   are no samples of time.) */
static int on_written(void *context, const struct eventring_last_stack *stack) {
  const struct written *w = context;
  const struct page_run *run = w->run;
  if (stack->reason != EVENTRING_STACK_PERIOD || !page_wants_domain(run, stack->domain) ||
      !page_wants_time(run, stack->ns) || stack->ns < run->grid.begin_ns)
    return 0;
  const struct page_set set = {stack->domain, PAGE_SAMPLES};
  uint32_t site = site_of_text(w->stacks, stack->text);
  if (stack->activity != EVENTRING_ACTIVITY_RUNNING)
    site = special(w->stacks, site, eva_activity_name(stack->activity));
  if (!site) site = special(w->stacks, 0, "(outside)");
  page_add(w->stacks, PAGE_SAMPLED, set, site, 1);
  page_add_at(w->stacks, PAGE_SAMPLED, set, site,
              page_grid_cell_of_all(&run->grid, stack->ns), 1);
  w->stacks->figures[PAGE_SAMPLED].unit = "samples";
  w->stacks->figures[PAGE_SAMPLED].from = "written by the process each second";
  return 0;
}

void page_written_stacks_add(const struct page_run *run, struct page_stacks *s) {
  struct written written = {run, s};
  int status = eventring_cursor_last_stacks(run->cursor, on_written, &written);
  if (status == EVENTRING_E_MEMORY) no_memory();
  if (status < 0) complain("%s", eventring_cursor_error(run->cursor)->text);
}

/* ---- Calls -------------------------------------------------------------------- */

static void add_calls(struct page_stacks *s, uint32_t slot, uint32_t site, uint64_t ns,
                      uint64_t count) {
  if (ns) page_add(s, PAGE_CALLS, (struct page_set){slot, PAGE_NS}, site, (double)ns);
  if (count) page_add(s, PAGE_CALLS, (struct page_set){slot, PAGE_COUNT}, site, (double)count);
}

static void add_profile(struct page_stacks *s, const struct eventring_profile *p) {
  uint32_t *site = need_zeroed(p->node_count, sizeof *site);
  for (uint32_t i = 0; i < p->node_count; i++) {
    const struct eventring_profile_node *n = &p->nodes[i];
    if (i > 0) {
      const struct eventring_calls_function *f = &p->functions[n->function];
      site[i] = page_node(s, site[n->parent],
                          function_of(s, f->name, f->source, f->line, f->kind), 0);
    }
    uint32_t own = i || (!n->exclusive && !n->count) ? site[i] : special(s, 0, "(outside)");
    add_calls(s, p->slot, own, n->exclusive, n->count);
    if (n->lost_ns || n->lost_calls)
      add_calls(s, p->slot, special(s, site[i], EVA_NOT_KEPT), n->lost_ns, n->lost_calls);
  }
  free(site);
}

void page_calls_add(const struct page_run *run, struct page_stacks *s) {
  struct eventring_profiles profiles = {0};
  struct eventring_error error;
  if (eventring_cursor_profiles(run->cursor, &profiles, &error) < 0) complain("%s", error.text);
  for (size_t i = 0; i < profiles.count; i++) {
    const struct eventring_profile *p = &profiles.list[i];
    if (!page_wants_domain(run, p->slot)) continue;
    add_profile(s, p);
    s->figures[PAGE_CALLS].unit = "ns";
    s->figures[PAGE_CALLS].from =
        p->flags & EVENTRING_PROFILE_CPU ? "profile of calls, CPU time" : "profile of calls";
  }
  eventring_profiles_free(&profiles);
}
