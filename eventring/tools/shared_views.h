/* SPDX-License-Identifier: MIT */
/* shared_views.h: views that several commands include (view.h). */
#ifndef EVENTRING_TOOL_SHARED_VIEWS_H
#define EVENTRING_TOOL_SHARED_VIEWS_H

#include "view.h"

view_function ending_view; /* of a struct eva_ending */
view_function so_far_view; /* of a struct eva_so_far */
view_function loss_view;   /* of a struct eventring_totals */
view_function head_view;   /* of a struct eventring_info: who it is, how it ended */

/* Getters. Of a struct eva_so_far: "12.3 ms so far". */
struct view_value view_so_far(struct view_to *to, const void *row, const struct view_column *c);
/* Of a struct eventring_info: for how many rings there is no room; nothing where there
   is. */
struct view_value view_no_room(struct view_to *to, const void *row, const struct view_column *c);
/* Of a struct eva_histogram: the quantile `argument`. */
struct view_value view_quantile(struct view_to *to, const void *row, const struct view_column *c);
#define VIEW_QUANTILE(row_type, histogram, q)                                                \
  VIEW_GET(UINT, view_quantile), .offset = offsetof(row_type, histogram), .argument = (q)

#endif
