/* SPDX-License-Identifier: MIT */
/* parts.h: files of unfinished copies. */
#ifndef EVENTRING_PARTS_H
#define EVENTRING_PARTS_H

#include "eventring/read.h"

#pragma GCC visibility push(hidden)

#define EVR_PART_SUFFIX ".part"

/* Makes a snapshot as eventring_snapshot does, but in an open directory. `path` names the
   file in messages; its last component is the name. */
int evr_snapshot_in(eventring_cursor *cursor, int directory, const char *path,
                    struct eventring_error *error);
/* Removes the files that eventring_remove_parts removes, but in an open directory.
   Returns their number, or an error. */
int evr_remove_parts(int directory);

#pragma GCC visibility pop

#endif /* EVENTRING_PARTS_H */
