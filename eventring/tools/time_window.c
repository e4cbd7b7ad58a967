/* SPDX-License-Identifier: MIT */
/* time_window.c: --since, --until and --last: the wanted part of a recording. */
#include "time_window.h"

bool time_window_is_asked_for(const struct time_window *window) {
  return window->from.base || window->to.base || window->last_ns;
}

int time_window_check(const struct command *self, const struct time_window *window) {
  const struct time_point *from = &window->from, *to = &window->to;
  bool is_before_end = from->base == TIME_BEFORE_END;
  if (window->last_ns && (from->base || to->base))
    return usage_error(self, "--last cannot be combined with --since or --until");
  if (from->base && from->base == to->base &&
      (is_before_end ? from->ns < to->ns : from->ns > to->ns))
    return usage_error(self, "--since is later than --until");
  return STATUS_GO_ON;
}

/* Returns the time of the newest event of all rings, or 0 if there is none. */
static uint64_t newest_ns(eventring_cursor *cursor, unsigned slots) {
  uint64_t newest = 0;
  for (unsigned i = 0; i < slots * EVENTRING_RINGS; i++) {
    struct eventring_ring_info info = {.size = sizeof info};
    if (eventring_cursor_ring(cursor, i / EVENTRING_RINGS,
                              (enum eventring_ring)(i % EVENTRING_RINGS), &info) >= 0 &&
        info.newest_ns > newest)
      newest = info.newest_ns;
  }
  return newest;
}

static uint64_t add(uint64_t ns, uint64_t more) {
  return more < UINT64_MAX - ns ? ns + more : UINT64_MAX;
}

static uint64_t subtract(uint64_t ns, uint64_t less) { return less < ns ? ns - less : 0; }

/* Returns a moment on the clock of the recording, whose newest event is at `newest`. */
static uint64_t moment(const struct time_point *point, const struct eventring_info *info,
                       uint64_t newest) {
  if (point->base == TIME_AFTER_START) return add(info->start_ns, point->ns);
  if (point->base == TIME_BEFORE_END) return subtract(newest, point->ns);
  uint64_t start = info->start_wall_ns < 0 ? 0 : (uint64_t)info->start_wall_ns;
  return point->ns >= start ? add(info->start_ns, point->ns - start)
                            : subtract(info->start_ns, start - point->ns);
}

bool time_window_apply(struct time_window *window, eventring_cursor *cursor) {
  struct eventring_info info = {.size = sizeof info};
  eventring_cursor_info(cursor, &info); /* the poll reports any error */
  struct time_point from = window->from;
  if (window->last_ns) from = (struct time_point){TIME_BEFORE_END, window->last_ns};
  bool needs_end = from.base == TIME_BEFORE_END || window->to.base == TIME_BEFORE_END;
  uint64_t newest = needs_end ? newest_ns(cursor, info.domains_laid_out) : 0;
  window->since = from.base ? moment(&from, &info, newest) : 0;
  window->until = window->to.base ? moment(&window->to, &info, newest) : UINT64_MAX;
  if (window->since <= info.start_ns) window->since = 0; /* no bound: all is read */
  if (window->since > window->until)
    return complain("%s: --since is later than --until there", info.path);
  uint64_t begin = window->backwards ? window->until : window->since;
  if (begin && begin != UINT64_MAX) eventring_cursor_seek(cursor, begin);
  return true;
}
