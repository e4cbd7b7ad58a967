/* SPDX-License-Identifier: MIT */
/* unpack.h: frames of zstd, through a library that is loaded at run time (unpack.c). */
#ifndef EVENTRING_UNPACK_H
#define EVENTRING_UNPACK_H

#include <stdbool.h>

#include "format/error.h"

#pragma GCC visibility push(hidden)

/* Loads the library unless that has been done. Returns 0, or E_SYSTEM if the library is
   missing or lacks a function. Any thread. */
int evr_unpack_load(struct eventring_error *error);
/* Returns an unpacker, for one thread at a time, or NULL when out of memory. To be called
   after evr_unpack_load. */
void *evr_unpack_new(void);
void evr_unpack_free(void *unpacker);
/* Unpacks a frame that must have exactly `bytes` bytes and a correct checksum. Returns
   false otherwise; `to` is then undefined. */
bool evr_unpack(void *unpacker, const void *frame, size_t frame_bytes, void *to, size_t bytes);

#pragma GCC visibility pop

#endif /* EVENTRING_UNPACK_H */
