/* SPDX-License-Identifier: MIT */
/* places.h: finds names for C functions that have none in a module. The names are the
 * same in each run, wherever files are mapped.
 */
#ifndef EVENTRING_REMOTE_PLACES_H
#define EVENTRING_REMOTE_PLACES_H

#include "remote/memory.h"

struct remote_places; /* what is mapped where, as of the last reading */

/* Writes the name that its file has for the function at `address`; if there is none,
   "FILE+0xOFFSET", with FILE without folders; "" if no file is mapped there. Writes at
   most `room` bytes with the NUL. `*places` is NULL at first, and must be freed. */
void remote_place_name(struct remote_places **places, struct remote_memory *memory,
                       uint64_t address, char *name, size_t room);
void remote_places_free(struct remote_places *places);

#endif
