/* SPDX-License-Identifier: MIT */
/* same_names.h: functions that a reader who knows functions by name would take for
   one. */
#ifndef EVENTRING_EXPORT_SAME_NAMES_H
#define EVENTRING_EXPORT_SAME_NAMES_H

#include "export/export.h"

enum export_sharing {
  EXPORT_NAME_ALONE,
  EXPORT_NAME_IN_FILES, /* functions of other files have the name, none of its own file */
  EXPORT_NAME_IN_FILE   /* a function of another line of its file has it */
};

/* Finds for each function who shares its name. Returns a list to be freed, or NULL: no
   memory. */
enum export_sharing *export_find_same_names(const struct export_profile *profile);

#endif
