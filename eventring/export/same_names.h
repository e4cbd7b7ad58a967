/* SPDX-License-Identifier: MIT */
/* same_names.h: finds functions that a reader who identifies functions by name would take
   for one. */
#ifndef EVENTRING_EXPORT_SAME_NAMES_H
#define EVENTRING_EXPORT_SAME_NAMES_H

#include "export/export.h"

enum export_sharing {
  EXPORT_NAME_ALONE,
  EXPORT_NAME_IN_FILES, /* functions in other files have the name, no other in its file */
  EXPORT_NAME_IN_FILE   /* a function at another line of the same file has the name */
};

/* Finds for each function which functions share its name. Returns a list to be freed, or
   NULL when out of memory. */
enum export_sharing *export_find_same_names(const struct export_profile *profile);

#endif
