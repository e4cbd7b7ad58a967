/* SPDX-License-Identifier: MIT */
/* trace_input.h: a trace file as fuzzing wants it, and everything done with it.
 *
 * A recording of the smallest rings is 2 MiB of holes around a few pages. Packed it
 * is: its length (32 bits), then for each page that is not empty its number (32
 * bits) and its 4096 bytes (the last one may be cut). Any bytes are a packed file.
 */
#ifndef TRACE_INPUT_H
#define TRACE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INPUT_PAGE = 4096, INPUT_MAX = 4 << 20 /* length of a file */ };

/* Writes the file that `packed` stands for; false: it could not be written. */
bool input_unpack(const char *path, const uint8_t *packed, size_t size);
/* The packed form of a file, from malloc; NULL: it could not be read. */
uint8_t *input_pack(const char *path, size_t *size);

/* Opens the trace and does all that can be done with it: polls to the end, asks for
   all there is, lists open spans, looks for recordings beside it and, if `copy` is
   a path, takes a snapshot and reads that. The first error, or 0. Aborts when a
   call breaks its promises. */
int input_read_everything(const char *path, unsigned flags, const char *copy);

#endif
