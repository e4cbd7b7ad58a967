/* SPDX-License-Identifier: MIT */
/* time_window.c: --since and --until, the part of a recording that is wanted. */
#include "time_window.h"

bool time_window_is_asked_for(const struct time_window *window) {
  return window->after_start || window->end_after_start != UINT64_MAX;
}

int time_window_check(const struct command *self, const struct time_window *window) {
  if (window->after_start <= window->end_after_start) return -1;
  return usage_error(self, "--since is later than --until");
}

void time_window_apply(struct time_window *window, eventring_cursor *cursor) {
  struct eventring_info info = {0};
  eventring_cursor_info(cursor, &info); /* the poll reports what is wrong */
  uint64_t start = info.start_ns, most = UINT64_MAX - start;
  uint64_t end = window->end_after_start;
  window->since = window->after_start ? start + window->after_start : 0;
  window->until = end < most ? start + end : UINT64_MAX;
  if (window->since) eventring_cursor_seek(cursor, window->since); /* else all is read */
}
