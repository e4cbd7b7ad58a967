/* SPDX-License-Identifier: MIT */
/* merge.h: several recordings become one.
 *
 * A file orders events within a ring only; readers merge rings by time. So the recordings
 * are saved one after the other, each as a part of one file (struct eventring_saver_part,
 * which says what becomes of domains, definitions and links): memory does not depend on
 * their length, nor, but for some kilobytes each, on their number. Each is opened twice:
 * first all are asked what they are, and when they began.
 *
 * Time. By the wall clock a moment of each recording is what its start says, so many
 * nanoseconds after the epoch, and what has passed since then on its own clock. If all
 * starts say the same relation of the two clocks (to 50 ms, for what the wall clock is
 * corrected by), the machine was not restarted between them: then the monotonic clock
 * orders them, exactly.
 *
 * The recordings are taken in the order of their starts, so that the events of a slot
 * that is used again stay in order. Two processes of one program and pid are told apart
 * by a number. */
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
  uint64_t apart_ns; /* what the starts say of the two clocks differs by this, at most */
  bool damaged;      /* some recording has an error, which was reported; the rest was read */
};

/* Merges the recordings of `count` PIDs or FILEs, 1 or more, into a new file `output`.
   For any command; it leaves signals alone. Complains of what is wrong. Returns
   STATUS_OK; STATUS_WRONG, and there is no such file; or STATUS_USAGE (a recording is
   named twice). */
int merge_recordings(const char *output, char *const *inputs, size_t count,
                     const struct merge_options *options, struct merge_result *result);

#endif /* EVENTRING_TOOL_MERGE_H */
