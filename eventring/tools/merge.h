/* SPDX-License-Identifier: MIT */
/* merge.h: makes one recording of several.
 *
 * A file orders events only within a ring; readers merge rings by time. So the recordings
 * are saved one after the other, each as a part of one file (struct eventring_saver_part,
 * which says what becomes of domains, definitions and links). A merge needs only some
 * kilobytes of memory for each recording, however long it is. Each recording is opened
 * twice: first to learn what it is and when it began.
 *
 * Times: by the wall clock, a moment of a recording is its start (nanoseconds after the
 * epoch) plus what has passed since then on its own clock. If the wall clock and the own
 * clocks have the same relation at all starts (within 50 ms, for corrections of the wall
 * clock), the machine was not restarted in between. Then the monotonic clock orders the
 * recordings, exactly.
 *
 * The recordings are taken in the order of their starts, so that the events of a slot
 * that is used again stay in order. A number distinguishes two processes with the same
 * program and pid. */
#ifndef EVENTRING_TOOL_MERGE_H
#define EVENTRING_TOOL_MERGE_H

#include "tool.h"

enum merge_clock { MERGE_AUTO, MERGE_WALL, MERGE_MONOTONIC };

struct merge_options {
  enum merge_clock clock;
  bool shared_links; /* equal links in several processes belong to one span or flow */
};

struct merge_result {
  uint64_t events, missed, lost;
  size_t recordings, processes, domains;
  bool by_wall_clock;
  /* greatest difference between the starts in the relation of the two clocks, in ns */
  uint64_t apart_ns;
  /* some recording has an error, which was reported; the rest was read */
  bool damaged;
};

/* Merges the recordings of `count` PIDs or FILEs, 1 or more, into a new file `output`;
   for any command. Does not handle signals. Reports errors. Returns STATUS_OK;
   STATUS_WRONG if there is no such file; or STATUS_USAGE (a recording is named twice). */
int merge_recordings(const char *output, char *const *inputs, size_t count,
                     const struct merge_options *options, struct merge_result *result);

#endif /* EVENTRING_TOOL_MERGE_H */
