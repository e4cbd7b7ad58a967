/* SPDX-License-Identifier: MIT */
/* parts.h: copies under way. */
#ifndef EVENTRING_PARTS_H
#define EVENTRING_PARTS_H

#include "eventring/read.h"

#pragma GCC visibility push(hidden)

#define EVR_PART_SUFFIX ".part"

/* As eventring_snapshot, in an open directory. `path`: of the file, for messages; its last component
   is the name. */
int evr_snapshot_in(eventring_cursor *cursor, int directory, const char *path,
                    struct eventring_error *error);
/* As eventring_remove_parts, in an open directory. Returns how many, or an error. */
int evr_remove_parts(int directory);

#pragma GCC visibility pop

#endif /* EVENTRING_PARTS_H */
