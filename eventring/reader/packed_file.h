/* SPDX-License-Identifier: MIT */
/* packed_file.h: the plain file that a packed one stands for (packed_file.c). */
#ifndef EVENTRING_READER_PACKED_FILE_H
#define EVENTRING_READER_PACKED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/error.h"

#pragma GCC visibility push(hidden)

struct evr_packed;

/* Opens a packed file; the caller still owns `fd`. *packed is NULL if the file is not
   packed. Returns 0, E_BYTE_ORDER, E_VERSION, E_CORRUPT, E_SYSTEM or E_MEMORY. */
int evr_packed_open(struct evr_packed **packed, int fd, struct eventring_error *error);
void evr_packed_close(struct evr_packed *packed);
/* Finds the packets that were written since the file was last searched. Returns 0,
   E_SYSTEM or E_MEMORY. */
int evr_packed_refresh(struct evr_packed *packed, struct eventring_error *error);
/* Copies bytes of the plain file; bytes that no packet has are zeros. Returns 0,
   E_TRUNCATED, E_SYSTEM or E_MEMORY. */
int evr_packed_read(struct evr_packed *packed, uint64_t offset, void *to, size_t size,
                    struct eventring_error *error);
/* Tells whether no packet has any of these bytes. */
bool evr_packed_is_hole(const struct evr_packed *packed, uint64_t offset, uint64_t size);
/* Returns the size of the plain file in bytes. */
uint64_t evr_packed_bytes(const struct evr_packed *packed);
/* Moves into *damage the first damage found since the last call. If *damage is set
   already, it stays, and what was found is forgotten. */
void evr_packed_take_damage(struct evr_packed *packed, struct eventring_error *damage);

#pragma GCC visibility pop

#endif /* EVENTRING_READER_PACKED_FILE_H */
