/* SPDX-License-Identifier: MIT */
/* places.c: where in which file a C function of another process lies.
 *
 * /proc/PID/maps is read when an address is asked for that was in none of the files mapped
 * before, and then at most MOST_READS times: libraries are loaded rarely. A file is counted
 * from its first byte in memory, as the dynamic linker does (dladdr).
 */
#include "remote/places.h"

#include "remote/elf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MOST_FILES = 4096,       /* mappings with code */
  MOST_READS = 64,         /* of what is mapped */
  MOST_SEARCHES = 256,     /* of symbols, each of at most 6 MiB */
  FILE_NAME = 96           /* bytes with the NUL; longer ones are cut */
};

struct code {
  uint64_t from, to, base;
  char name[FILE_NAME]; /* of the file, without folders */
};

struct remote_places {
  unsigned reads, searches;
  size_t count, room;
  struct code *codes;
};

/* The last part of a path; what does not belong into a name becomes '?'. */
static void copy_name(char *name, const char *path) {
  static const char deleted[] = " (deleted)";
  const char *slash = strrchr(path, '/');
  const char *text = slash != NULL ? slash + 1 : path;
  size_t size = strcspn(text, "\n");
  const size_t end = sizeof deleted - 1;
  if (size > end && strncmp(text + size - end, deleted, end) == 0) size -= end;
  if (size >= FILE_NAME) size = FILE_NAME - 1;
  memcpy(name, text, size);
  name[size] = '\0';
  for (; *name != '\0'; name++)
    if ((unsigned char)*name < ' ' || *name == 127) *name = '?';
}

static bool add(struct remote_places *places, const struct code *code) {
  if (places->count == places->room) {
    const size_t room = places->room ? 2 * places->room : 64;
    struct code *more = room <= MOST_FILES ? realloc(places->codes, room * sizeof *more) : NULL;
    if (more == NULL) return false;
    places->codes = more;
    places->room = room;
  }
  places->codes[places->count++] = *code;
  return true;
}

static void read_maps(struct remote_places *places, pid_t pid) {
  char path[64], line[4352], file[4096] = "";
  uint64_t base = 0;
  snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
  FILE *maps = fopen(path, "re");
  places->count = 0;
  places->reads++;
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
    copy_name(code.name, file);
    if (rights[2] == 'x' && !add(places, &code)) break;
  }
  if (maps != NULL) fclose(maps);
}

/* NULL: there is none. */
static const struct code *code_at(const struct remote_places *places, uint64_t address) {
  for (size_t i = 0; i < places->count; i++)
    if (address >= places->codes[i].from && address < places->codes[i].to)
      return &places->codes[i];
  return NULL;
}

void remote_place_name(struct remote_places **of, struct remote_memory *memory, uint64_t address,
                       char *name, size_t room) {
  struct remote_places *places = *of != NULL ? *of : (*of = calloc(1, sizeof *places));
  struct remote_elf elf;
  name[0] = '\0';
  if (places == NULL) return;
  const struct code *code = code_at(places, address);
  if (code == NULL && places->reads < MOST_READS) {
    read_maps(places, memory->pid);
    code = code_at(places, address);
  }
  if (code == NULL) return;
  if (places->searches++ < MOST_SEARCHES && remote_elf_read(memory, code->base, &elf) &&
      remote_elf_symbol(memory, &elf, address, name, room))
    return;
  snprintf(name, room, "function %s+0x%" PRIx64, code->name, address - code->base);
}

void remote_places_free(struct remote_places *places) {
  if (places == NULL) return;
  free(places->codes);
  free(places);
}
