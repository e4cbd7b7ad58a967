/* SPDX-License-Identifier: MIT */
/* places.h: names for C functions that no module names. They are the same in each run,
 * wherever files are mapped.
 */
#ifndef EVENTRING_REMOTE_PLACES_H
#define EVENTRING_REMOTE_PLACES_H

#include "remote/memory.h"

struct remote_places; /* what is mapped where, as it was last read */

/* Writes, in at most `room` bytes with the NUL, the name that its file has for the
   function at `address`, else "FILE+0xOFFSET", FILE without folders, or "" if no file is
   mapped there. `*places` is NULL at first, and to be freed. */
void remote_place_name(struct remote_places **places, struct remote_memory *memory,
                       uint64_t address, char *name, size_t room);
void remote_places_free(struct remote_places *places);

#endif
