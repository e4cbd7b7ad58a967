/* SPDX-License-Identifier: MIT */
/* parts.h: copies under way. */
#ifndef EVENTRING_PARTS_H
#define EVENTRING_PARTS_H

#include "eventring/read.h"

#pragma GCC visibility push(hidden)

#define EVR_PART_SUFFIX ".part"

/* As eventring_snapshot, but the file is made in an open directory, and has its name with
   EVR_PART_SUFFIX, and is locked, until it is complete. What has the name then is not replaced
   (E_EXISTS). `path`: of the file, for messages; its last component is the name. */
int evr_snapshot_part(eventring_cursor *cursor, int directory, const char *path,
                      struct eventring_error *error);
/* As eventring_remove_parts, in an open directory. Returns how many, or an error. */
int evr_remove_parts(int directory);

#pragma GCC visibility pop

#endif /* EVENTRING_PARTS_H */
