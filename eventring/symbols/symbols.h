/* SPDX-License-Identifier: MIT */
/* symbols.h: reads the symbols of an executable or library, for the names of C
   functions. */
#ifndef EVENTRING_SYMBOLS_H
#define EVENTRING_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds the name of the function that begins at `value`, an address as in the file.
   Searches all symbols, or the exported ones if the file has no others. Writes at most
   `room` bytes with the NUL. Returns false if the function has no name or the file is no
   sound ELF file. Reads the file with pread, at most 96 MiB of it, and keeps nothing. Any
   thread. */
bool symbol_name(int fd, uint64_t value, char *name, size_t room);

#endif
