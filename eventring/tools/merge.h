/* SPDX-License-Identifier: MIT */
/* merge.h: several recordings become one.
 *
 * A file orders events only within a ring; readers merge rings by time. So the recordings
 * are saved one after the other, each as a part of one file (struct eventring_saver_part,
 * which says what becomes of domains, definitions and links). The memory needed does not
 * depend on their length, nor, except for some kilobytes each, on their number. Each is
 * opened twice: first all are asked what they are, and when they began.
 *
 * Times: by the wall clock, a moment of a recording is what its start says (nanoseconds
 * after the epoch) plus what has passed since then on its own clock. If all starts show
 * the same relation of the two clocks (within 50 ms, for corrections of the wall clock),
 * the machine was not restarted between them: then the monotonic clock orders them,
 * exactly.
 *
 * The recordings are taken in the order of their starts, so that the events of a slot
 * that is used again stay in order. Two processes of one program and pid are
 * distinguished by a number. */
#ifndef EVENTRING_TOOL_MERGE_H
#define EVENTRING_TOOL_MERGE_H

#include "tool.h"

enum merge_clock { MERGE_AUTO, MERGE_WALL, MERGE_MONOTONIC };

struct merge_options {
  enum merge_clock clock;
  bool shared_links; /* equal links of several processes are those of one span or flow */
};

struct merge_result {
  uint64_t events, missed, lost;
  size_t recordings, processes, domains;
  bool by_wall_clock;
  /* by how much, at most, what the starts say of the two clocks differs */
  uint64_t apart_ns;
  /* some recording has an error, which was reported; the rest was read */
  bool damaged;
};

/* Merges the recordings of `count` PIDs or FILEs, 1 or more, into a new file `output`;
   for any command. Leaves signals alone. Reports what is wrong. Returns STATUS_OK;
   STATUS_WRONG if there is no such file; or STATUS_USAGE (a recording is named twice). */
int merge_recordings(const char *output, char *const *inputs, size_t count,
                     const struct merge_options *options, struct merge_result *result);

#endif /* EVENTRING_TOOL_MERGE_H */
