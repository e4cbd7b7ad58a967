/* SPDX-License-Identifier: MIT */
/* symbols.h: the symbols of an executable or library, for the names of C functions. */
#ifndef EVENTRING_SYMBOLS_H
#define EVENTRING_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds the name of the function that begins at the address `value`, as the file itself
   counts them, among all its symbols, or those that it exports if it has no others. Writes
   at most `room` bytes with the NUL. false: it has none, or is no sound ELF file. Reads the
   file with pread, at most 96 MiB of it, and keeps nothing. Any thread. */
bool symbol_name(int fd, uint64_t value, char *name, size_t room);

#endif
