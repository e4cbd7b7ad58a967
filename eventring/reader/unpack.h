/* SPDX-License-Identifier: MIT */
/* unpack.h: frames of zstd, through a library that is loaded at run time (unpack.c). */
#ifndef EVENTRING_UNPACK_H
#define EVENTRING_UNPACK_H

#include <stdbool.h>

#include "format/error.h"

#pragma GCC visibility push(hidden)

/* Loads the library unless that has been done. Returns 0, or E_SYSTEM if it is not there,
   or is not what it should be. Any thread. */
int evr_unpack_load(struct eventring_error *error);
/* Returns an unpacker, or NULL without memory. It is for one thread at a time; only after
   evr_unpack_load. */
void *evr_unpack_new(void);
void evr_unpack_free(void *unpacker);
/* Unpacks a frame that has exactly `bytes` bytes and a checksum which is right. Returns
   false if the frame is a different one; `to` is then undefined. */
bool evr_unpack(void *unpacker, const void *frame, size_t frame_bytes, void *to, size_t bytes);

#pragma GCC visibility pop

#endif /* EVENTRING_UNPACK_H */
