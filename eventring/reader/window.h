/* SPDX-License-Identifier: MIT */
/* window.h: a file mapped for reading. */
#ifndef EVENTRING_WINDOW_H
#define EVENTRING_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct evr_window {
  uint8_t *map; /* read-only; NULL if the file is not mapped */
  uint64_t bytes;
};
/* Maps a file, up to `bytes`, if that is safe. */
void evr_window_open(struct evr_window *window, int fd, uint64_t bytes);
void evr_window_close(struct evr_window *window);
/* Tells whether the window is (still) a mapping of the file. */
static inline bool evr_window_is_whole(const struct evr_window *window) {
  return window->map &&
         __atomic_load_n((const uint64_t *)window->map, __ATOMIC_RELAXED) != 0;
}

#pragma GCC visibility pop

#endif /* EVENTRING_WINDOW_H */
