/* SPDX-License-Identifier: MIT */
/* parts.h: copies under way. */
#ifndef EVENTRING_PARTS_H
#define EVENTRING_PARTS_H

#include "eventring.h"

#pragma GCC visibility push(hidden)

#define EVR_PART_SUFFIX ".part"

/* As eventring_snapshot, but the file has its name with EVR_PART_SUFFIX, and is locked, until
   it is complete. What has the name then is not replaced (E_EXISTS). */
int evr_snapshot_part(eventring_cursor *cursor, const char *path, struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_PARTS_H */
