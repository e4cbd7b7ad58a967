/* SPDX-License-Identifier: MIT */
/* recording_input.h: a recording in a packed form for fuzzing, and everything that is
 * done with it.
 *
 * A recording of the smallest rings is 2 MiB of holes around a few pages. Its packed form
 * is its length (32 bits), and for each page that is not empty the page's number (32
 * bits) and its 4096 bytes (the last page may be cut). Any bytes are a packed file.
 */
#ifndef RECORDING_INPUT_H
#define RECORDING_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INPUT_PAGE = 4096, INPUT_MAX = 4 << 20 /* length of a file */ };

/* Writes the file that `packed` stands for. Returns false if it could not be written. */
bool input_unpack(const char *path, const uint8_t *packed, size_t size);
/* Returns the packed form of a file, from malloc, or NULL if it could not be read. */
uint8_t *input_pack(const char *path, size_t *size);

/* Opens the recording and does all that can be done with it: polls to the end, queries
   everything, lists open spans, discovers recordings beside it and, if `copy` is a path,
   writes a snapshot and reads the snapshot. Returns the first error, or 0. Aborts if a
   call breaks its promises. */
int input_read_everything(const char *path, unsigned flags, const char *copy);

#endif
