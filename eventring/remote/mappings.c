/* SPDX-License-Identifier: MIT */
/* mappings.c: finds in which file a C function of another process lies, and where.
 *
 * /proc/PID/maps is read again when an address is in none of the known files, but at most
 * MOST_READS times, since libraries are loaded rarely. Offsets in a file are counted from
 * its first byte in memory, as the dynamic linker does (dladdr).
 */
#include "remote/mappings.h"

#include "format/array.h"
#include "remote/elf.h"
#include "symbols/symbols.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  MOST_FILES = 4096,       /* mappings with code */
  MOST_READS = 64,         /* readings of the list of mappings */
  MOST_SEARCHES = 256,     /* searches for symbols, each of at most 100 MiB */
  FILE_PATH = 1024         /* bytes with the NUL; longer paths are cut */
};

struct code {
  uint64_t from, to, base;
  char *path; /* path of the file, as the process sees it */
};

struct remote_mappings {
  unsigned reads, searches;
  size_t count, room;
  struct code *codes;
};

/* Copies the path from a line of the maps; characters that do not belong in a name become
   '?'. */
static void copy_path(char *path, const char *line) {
  static const char deleted[] = " (deleted)";
  const size_t end = sizeof deleted - 1;
  size_t size = strcspn(line, "\n");
  if (size > end && strncmp(line + size - end, deleted, end) == 0) size -= end;
  if (size >= FILE_PATH) size = FILE_PATH - 1;
  memcpy(path, line, size);
  path[size] = '\0';
  for (; *path != '\0'; path++)
    if ((unsigned char)*path < ' ' || *path == 127) *path = '?';
}

static void forget_codes(struct remote_mappings *mappings) {
  for (size_t i = 0; i < mappings->count; i++) free(mappings->codes[i].path);
  mappings->count = 0;
}

static bool add(struct remote_mappings *mappings, const struct code *code, const char *line) {
  char path[FILE_PATH];
  if (mappings->count == MOST_FILES ||
      !EVR_MAKE_ROOM(mappings->codes, mappings->room, mappings->count, 64))
    return false;
  copy_path(path, line);
  struct code *added = &mappings->codes[mappings->count];
  *added = *code;
  added->path = strdup(path);
  mappings->count += added->path != NULL;
  return added->path != NULL;
}

static void read_maps(struct remote_mappings *mappings, pid_t pid) {
  char path[64], line[4352], file[4096] = "";
  uint64_t base = 0;
  snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
  FILE *maps = fopen(path, "re");
  forget_codes(mappings);
  mappings->reads++;
  while (maps != NULL && fgets(line, sizeof line, maps)) {
    struct code code;
    char rights[5];
    uint64_t offset;
    int at = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &code.from, &code.to,
               rights, &offset, &at) != 4 || at == 0 || line[at] != '/')
      continue;
    if (offset == 0 || strcmp(file, line + at) != 0) base = code.from;
    snprintf(file, sizeof file, "%s", line + at);
    code.base = base;
    if (rights[2] == 'x' && !add(mappings, &code, file)) break;
  }
  if (maps != NULL) fclose(maps);
}

/* Returns the mapping with code at an address, or NULL if there is none. */
static const struct code *code_at(const struct remote_mappings *mappings, uint64_t address) {
  for (size_t i = 0; i < mappings->count; i++)
    if (address >= mappings->codes[i].from && address < mappings->codes[i].to)
      return &mappings->codes[i];
  return NULL;
}

/* Finds the name of a function in its file, if the file can be opened and is still the
   same. Opens it under the root of the process, or as the program of the process, which
   may have been deleted. */
static bool find_in_file(const struct code *code, const struct remote_elf *elf, pid_t pid,
                         uint64_t address, char *name, size_t room) {
  char path[FILE_PATH + 64];
  bool found = false;
  for (int i = 0; i < 2 && !found; i++) {
    if (i == 0) snprintf(path, sizeof path, "/proc/%ld/root%s", (long)pid, code->path);
    else snprintf(path, sizeof path, "/proc/%ld/exe", (long)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) continue;
    found = remote_elf_is_file(elf, fd) && symbol_name(fd, address - elf->shift, name, room);
    close(fd);
  }
  return found;
}

void remote_mapped_name(struct remote_mappings **of, struct remote_memory *memory, uint64_t address,
                        char *name, size_t room) {
  struct remote_mappings *mappings = *of != NULL ? *of : (*of = calloc(1, sizeof *mappings));
  struct remote_elf elf;
  name[0] = '\0';
  if (mappings == NULL) return;
  const struct code *code = code_at(mappings, address);
  if (code == NULL && mappings->reads < MOST_READS) {
    read_maps(mappings, memory->pid);
    code = code_at(mappings, address);
  }
  if (code == NULL) return;
  if (mappings->searches++ < MOST_SEARCHES && remote_elf_read(memory, code->base, &elf) &&
      (find_in_file(code, &elf, memory->pid, address, name, room) ||
       remote_elf_symbol(memory, &elf, address, name, room)))
    return;
  const char *slash = strrchr(code->path, '/');
  snprintf(name, room, "%s+0x%" PRIx64, slash != NULL ? slash + 1 : code->path,
           address - code->base);
}

void remote_mappings_free(struct remote_mappings *mappings) {
  if (mappings == NULL) return;
  forget_codes(mappings);
  free(mappings->codes);
  free(mappings);
}
