/* SPDX-License-Identifier: MIT */
/* bound.h: keeps a profile from becoming a file that is out of proportion to its recording.
 *
 * A recording has a stack as a tree: a frame is a few bytes, however many stacks go through it. The
 * formats have each stack as a whole, so a chain of n frames with a figure at each becomes n * n / 2
 * frames: a file of some hundred KiB, which somebody may have made to do harm, would make one of many
 * GiB. So the stacks of all rows together may have EXPORT_FREE_BYTES of names and places, and
 * EXPORT_ROW_BYTES more for each row. Where they have more, the rows with the smallest figures are
 * one row, of stack "(others)": sums stay as they are. */
#ifndef EVENTRING_EXPORT_BOUND_H
#define EVENTRING_EXPORT_BOUND_H

#include "export/export.h"

enum { EXPORT_FREE_BYTES = 32 << 20, EXPORT_ROW_BYTES = 2048 };

struct export_bounded {
  struct export_profile profile; /* what is to be written */
  size_t others;                 /* rows that have become one; 0: none, it is the profile given */
  struct export_function *functions;
  struct export_stack *stacks;
  struct export_row *rows;
};

/* What `profile` points to must stay. Returns 0, or -1: no memory. */
int export_bound(struct export_bounded *bounded, const struct export_profile *profile);
void export_bounded_free(struct export_bounded *bounded);

#endif
