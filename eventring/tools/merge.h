/* SPDX-License-Identifier: MIT */
/* merge.h: several recordings become one.
 *
 * A file orders events within a ring only; readers merge rings by time. So the recordings
 * are read one after the other, ring by ring, and an encoder (eventring.h) writes what they
 * deliver, with other numbers: memory does not depend on their length, nor, but for some
 * kilobytes each, on their number. Each is opened twice: first all are asked what they are,
 * when they began, and when their domains ran.
 *
 * Time. By the wall clock a moment of each recording is what its start says, so many
 * nanoseconds after the epoch, and what has passed since then on its own clock. If all starts
 * say the same relation of the two clocks (to 50 ms, for what the wall clock is corrected by),
 * the machine was not restarted between them: then the monotonic clock orders them, exactly.
 *
 * Domains. Each slot of each recording gets one of the 128 slots, and keeps its incarnations'
 * order. When none is left, a slot is used whose domains had all stopped before: their
 * incarnations go on counting. The recordings are taken in the order of their starts, so
 * that the events of such a slot stay in order. A domain is called `PROGRAM[PID] NAME`;
 * what does not fit is cut from the program, to 8 bytes, and then from the name. Two processes
 * of one program and pid have `[PID.1]` and `[PID.2]`. If there is one process in all, names
 * stay. A domain that ran when its process ended has stopped then: others go on, and its open
 * spans did not last longer.
 *
 * Definitions of the same kind, class and name become one, if they agree in all that matters
 * to a reader; if not, a later one is called `NAME (2)`. Classes go by their names; when there
 * is no number left for one, its events are in class user. A ring that is called differently
 * has no name.
 *
 * Links of async spans and flows are numbers of a process. The number of the process, less 1,
 * is added to their 16 high bits, so that those of two processes do not meet; if they are
 * shared, those of one flow through several processes, they stay.
 *
 * Functions and stacks that agree are one, whatever recording they came of. Heap profiles
 * and profiles of calls are those of their domains; the latter keep the ticks of their clock,
 * by which their buckets are divided. Kinds and origins of memory go by their names.
 *
 * Not kept: what memory was used for, the limits of blocks, when within a span its context
 * was suspended (the sum is kept, but for one that ends before another that began within
 * it), when classes were switched (what that tore is kept), and all but the last name of a
 * domain. An id whose events are without definition gets one of its own. */
#ifndef EVENTRING_TOOL_MERGE_H
#define EVENTRING_TOOL_MERGE_H

#include "tool.h"

enum merge_clock { MERGE_AUTO, MERGE_WALL, MERGE_MONOTONIC };

struct merge_options {
  enum merge_clock clock;
  bool shared_links; /* equal links of several processes are those of one span or flow */
  bool (*interrupted)(void); /* asked now and then: shall it fail? NULL: it is not asked */
};

struct merge_result {
  uint64_t events, missed, lost;
  size_t recordings, processes, domains;
  bool by_wall_clock;
  uint64_t apart_ns; /* what the starts say of the two clocks differs by this, at most */
  bool damaged;      /* some recording has an error, which was reported; the rest was read */
};

/* Merges the recordings of `count` PIDs or FILEs, 1 or more, into a new file `output`. For any
   command; it leaves signals alone.
   Complains of what is wrong. Returns STATUS_OK; STATUS_WRONG, and there is no such file; or
   STATUS_USAGE (a recording is named twice). */
int merge_recordings(const char *output, char *const *inputs, size_t count,
                     const struct merge_options *options, struct merge_result *result);

#endif /* EVENTRING_TOOL_MERGE_H */
