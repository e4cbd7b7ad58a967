/* SPDX-License-Identifier: MIT */
/* bound.h: keeps a profile from becoming a file that is out of proportion to its
 * recording.
 *
 * A recording stores its stacks as a tree, where a frame takes a few bytes, however many
 * stacks go through it. But the formats write each stack as a whole, so a chain of n
 * frames with a figure at each becomes n * n / 2 frames. A malicious file of some hundred
 * KiB would become one of many GiB. So the stacks of all rows together may have
 * EXPORT_FREE_BYTES of names and sites, and EXPORT_ROW_BYTES more for each row. If they
 * have more, the rows with the smallest figures are joined into one row with the stack
 * "(others)"; sums do not change.
 */
#ifndef EVENTRING_EXPORT_BOUND_H
#define EVENTRING_EXPORT_BOUND_H

#include "export/export.h"

enum { EXPORT_FREE_BYTES = 32 << 20, EXPORT_ROW_BYTES = 2048 };

struct export_bounded {
  struct export_profile profile; /* the profile to write */
  size_t others;                 /* number of joined rows; 0 if `profile` is the given
                                    profile */
  struct export_function *functions;
  struct export_stack *stacks;
  struct export_row *rows;
};

/* Makes a bounded profile. `profile` and all that it points to must stay valid. Returns
   0, or -1 when out of memory. */
int export_bound(struct export_bounded *bounded, const struct export_profile *profile);
void export_bounded_free(struct export_bounded *bounded);

#endif
