/* SPDX-License-Identifier: MIT */
/* mappings.h: finds names for C functions that have none in a module. The names are the
 * same in each run, wherever files are mapped.
 */
#ifndef EVENTRING_REMOTE_MAPPINGS_H
#define EVENTRING_REMOTE_MAPPINGS_H

#include "remote/process_memory.h"

struct remote_mappings; /* what is mapped where, as of the last reading */

/* Writes the name that its file has for the function at `address`; if there is none,
   "FILE+0xOFFSET", with FILE without folders; "" if no file is mapped there. Writes at
   most `room` bytes with the NUL. `*mappings` is NULL at first, and must be freed. */
void remote_mapped_name(struct remote_mappings **mappings, struct remote_memory *memory,
                        uint64_t address, char *name, size_t room);
void remote_mappings_free(struct remote_mappings *mappings);

#endif
