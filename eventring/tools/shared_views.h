/* SPDX-License-Identifier: MIT */
/* shared_views.h: views that several commands include (view.h). */
#ifndef EVENTRING_TOOL_SHARED_VIEWS_H
#define EVENTRING_TOOL_SHARED_VIEWS_H

#include "view.h"

view_function ending_view; /* of a struct eva_ending */
view_function so_far_view; /* of a struct eva_so_far */
view_function loss_view;   /* of a struct eventring_totals */
view_function head_view;   /* of a struct eventring_info: the process, how it ended */

/* Returns "12.3 ms so far", for a struct eva_so_far. (This function and the next two are
   getters.) */
struct view_value view_so_far(struct view_to *to, const void *row, const struct view_column *c);
/* Returns how many rings lack room, for a struct eventring_info; no value if none
   does. */
struct view_value view_no_room(struct view_to *to, const void *row, const struct view_column *c);
/* Returns the quantile `argument`, for a struct eva_histogram. */
struct view_value view_quantile(struct view_to *to, const void *row, const struct view_column *c);
#define VIEW_QUANTILE(row_type, histogram, q)                                                \
  VIEW_GET(UINT, view_quantile), .offset = offsetof(row_type, histogram), .argument = (q)

#endif
