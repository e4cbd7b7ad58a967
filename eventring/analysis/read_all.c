/* SPDX-License-Identifier: MIT */
/* read_all.c: reads a whole recording. */
#include "analysis/read_all.h"

int eva_read_poll(struct eva_read *read, eventring_cursor *cursor,
                  const struct eventring_callbacks *callbacks, void *context, uint64_t max) {
  enum { MOST_FAILURES = 2 };
  struct eventring_totals before = {.size = sizeof before}, after = {.size = sizeof after};
  eventring_cursor_totals(cursor, &before);
  int result = eventring_poll(cursor, callbacks, context, max);
  eventring_cursor_totals(cursor, &after);
  enum eventring_poll_end end = eventring_poll_end(cursor);
  bool is_vain = end == EVENTRING_POLL_FAILED && after.delivered == before.delivered;
  read->failures = is_vain ? read->failures + 1 : 0;
  read->is_stopped = end == EVENTRING_POLL_STOPPED;
  read->is_over = end == EVENTRING_POLL_ALL || read->failures >= MOST_FAILURES;
  return result;
}

int eva_read_all(eventring_cursor *cursor, const struct eventring_callbacks *callbacks,
                 void *context) {
  struct eva_read read = {0};
  int status = 0;
  while (!read.is_over && !read.is_stopped) {
    int result = eva_read_poll(&read, cursor, callbacks, context, 0);
    if (result < 0 && !status) status = result;
  }
  return status;
}
