/* SPDX-License-Identifier: MIT */
/* heap_query.c: reads the heap for `heap`, `export` and `diff --heap`. */
#include "heap_query.h"

#include <stdlib.h>
#include <string.h>

#include "domain_state.h"
#include "text_table.h"

int heap_query_check(const struct command *self, const struct heap_query *h) {
  if (h->live + h->allocated + h->peak + h->temporary > 1)
    return usage_error(self, "only one of --live, --allocated, --peak and --temporary");
  if (h->survived && (h->peak || h->temporary))
    return usage_error(self, "--survived goes with --live and --allocated only");
  return time_window_check(self, &h->q.window);
}

static bool asks_for_events(const struct heap_query *h) {
  return h->survived || time_window_is_asked_for(&h->q.window) || h->q.limit_ns;
}

static int on_event(void *context, const struct eventring_event *event) {
  struct heap_query *h = context;
  if (query_is_past_end(&h->q, event->ns)) return 0;
  if (eva_heap_event(h->heap, event) < 0) no_memory();
  return 0;
}

static int ignore(void *context, const struct eventring_event *event) {
  (void)context, (void)event;
  return 0;
}

/* Reports an error that occurred when profiles were read. Returns whether there was
   none. */
static bool check(struct heap_query *h, int status) {
  if (status == EVENTRING_E_MEMORY) no_memory();
  if (status >= 0) return true;
  complain("%s", eventring_cursor_error(h->q.reader.cursor)->text);
  h->q.reader.failed = true;
  return false;
}

static void read_events(struct heap_query *h) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, on_event, NULL};
  eventring_cursor *cursor = h->q.reader.cursor;
  uint64_t since = h->q.window.since;
  if (h->q.limit_ns && !since) { /* from now on */
    struct eventring_info *info = &h->q.info;
    since = eventring_now() > info->start_ns ? eventring_now() : 0;
  }
  eva_heap_window(h->heap, since, h->survived);
  check(h, eva_heap_rates(h->heap, cursor));
  query_read(&h->q, &callbacks, NULL, h);
  eva_heap_settle(h->heap);
}

/* Reads the profiles, after following a program to its end. */
static void read_profiles(struct heap_query *h) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, ignore, NULL};
  query_read(&h->q, &callbacks, NULL, h);
  check(h, eva_heap_read(h->heap, h->q.reader.cursor));
}

static int complain_of_none(const struct heap_query *h) {
  const struct eventring_info *info = &h->q.info;
  char state[DOMAIN_STATE_TEXT] = "";
  if (info->liveness == EVENTRING_LIVE && info->sample_rate > 0) {
    domain_thread_text(state, pid_here(info), info->pid);
    return wrong("%s: no allocation was sampled yet, though samples are taken%s%s", info->path,
                 state[0] ? ": it is " : "", state);
  }
  return wrong("%s: no allocations were sampled (start it with SAROS_MEMPROF=on, or, while it "
               "runs: eventring control --memprof on %d)", info->path, (int)info->pid);
}

int heap_query_read(struct heap_query *h, const struct operands *operands) {
  if (operands->command) launch_set_sibling(h->q.prefix, "MEMPROF", "on", false);
  int status = query_open(&h->q, operands);
  if (!goes_on(status)) return status;
  h->heap = eva_heap_new();
  if (!h->heap) no_memory();
  eva_heap_only_domain(h->heap, h->q.domain);
  (asks_for_events(h) ? read_events : read_profiles)(h);
  const struct eva_heap_state *state = eva_heap_state(h->heap);
  if (!(state->most_rate > 0)) return heap_query_close(h, complain_of_none(h));
  return STATUS_GO_ON;
}

enum eva_measure heap_query_main(const struct heap_query *h) {
  const struct eva_heap_row *rows;
  size_t count = eva_heap_rows(h->heap, &rows);
  if (h->allocated) return EVA_ALLOCATED;
  if (h->peak) return EVA_PEAK;
  if (h->temporary) return EVA_TEMPORARY;
  for (size_t i = 0; i < count; i++)
    if (h->live || rows[i].amount[EVA_LIVE].samples > 0) return EVA_LIVE;
  return EVA_ALLOCATED;
}

int heap_query_close(struct heap_query *h, int status) {
  eva_heap_free(h->heap);
  h->heap = NULL;
  return reader_close(&h->q.reader, status);
}
