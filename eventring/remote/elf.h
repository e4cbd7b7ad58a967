/* SPDX-License-Identifier: MIT */
/* elf.h: reads headers and symbols of an executable or library where a process has mapped
   it. */
#ifndef EVENTRING_REMOTE_ELF_H
#define EVENTRING_REMOTE_ELF_H

#include "remote/process_memory.h"

#include <elf.h>

enum { REMOTE_ELF_HEADERS = 64 }; /* most program headers of a file */

struct remote_elf {
  uint64_t base;  /* address of its first byte */
  uint64_t shift; /* to add to addresses in the file */
  Elf64_Ehdr head;
  unsigned count;
  Elf64_Phdr headers[REMOTE_ELF_HEADERS];
};

/* Reads the headers of the file that is mapped at `base`. Returns false if there is none,
   or they are unreadable. Does not check their contents. */
bool remote_elf_read(struct remote_memory *memory, uint64_t base, struct remote_elf *elf);
/* Tells whether this is the same file: it has the same headers, which locate everything
   else. */
bool remote_elf_is_file(const struct remote_elf *elf, int fd);
/* Writes the name of the function that begins at `address` among those that the file
   exports, at most `room` bytes with the NUL. Returns false if there is none, or the data
   is not sound. */
bool remote_elf_symbol(struct remote_memory *memory, const struct remote_elf *elf,
                       uint64_t address, char *name, size_t room);

#endif
