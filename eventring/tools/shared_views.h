/* SPDX-License-Identifier: MIT */
/* shared_views.h: views that several commands include (view.h). */
#ifndef EVENTRING_TOOL_SHARED_VIEWS_H
#define EVENTRING_TOOL_SHARED_VIEWS_H

#include "view.h"

extern const struct view ending_view; /* of a struct eva_ending */
extern const struct view so_far_view; /* of a struct eva_so_far */
extern const struct view head_view;   /* of a struct eventring_info: who it is, how it ended */

#endif
