/* SPDX-License-Identifier: MIT */
/* symbols.c: reads the symbols of a file from disk: static functions are only in the
 * table .symtab, which no process has in its memory.
 *
 * The file may be damaged or hostile: sizes are bounded before memory is allocated, and
 * indexes before they are used. If the file changes while it is read, a read comes out
 * short, without a signal. */
#include "symbols/symbols.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* most bytes of each part that is read: the sections, the symbols, their texts */
enum { MOST_BYTES = 1 << 25 };

static bool read_at(int fd, uint64_t at, void *to, size_t size) {
  return at <= INT64_MAX && pread(fd, to, size, (off_t)at) == (ssize_t)size;
}

/* Reads a part of a file into new memory. Returns NULL if the part is empty, too large or
   unreadable, or when out of memory. */
static void *read_part(int fd, uint64_t at, uint64_t size) {
  void *part = size > 0 && size <= MOST_BYTES ? malloc(size) : NULL;
  if (part != NULL && read_at(fd, at, part, size)) return part;
  free(part);
  return NULL;
}

static Elf64_Shdr *read_sections(int fd, size_t *count) {
  Elf64_Ehdr head;
  if (!read_at(fd, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof(Elf64_Shdr))
    return NULL;
  *count = head.e_shnum;
  return read_part(fd, head.e_shoff, head.e_shnum * sizeof(Elf64_Shdr));
}

/* Returns the section with the table of symbols, .symtab before .dynsym, or NULL if there
   is none. */
static const Elf64_Shdr *find_table(const Elf64_Shdr *sections, size_t count) {
  const Elf64_Shdr *found = NULL;
  for (size_t i = 0; i < count; i++) {
    const Elf64_Shdr *s = &sections[i];
    if (s->sh_entsize != sizeof(Elf64_Sym) || s->sh_link >= count) continue;
    if (s->sh_type == SHT_SYMTAB || (s->sh_type == SHT_DYNSYM && found == NULL)) found = s;
  }
  return found;
}

/* Returns the length of a symbol's text without the suffix of a compiler, as in
   "f.constprop.0". */
static size_t text_length(const char *text) { return strcspn(text, "."); }

/* Finds the name of the function that begins at `value`. Of several names, takes the
   first in byte order, so that each run finds the same one. */
static bool find_function(const Elf64_Sym *symbols, size_t count, const char *texts,
                          size_t text_size, uint64_t value, char *name, size_t room) {
  const char *found = NULL;
  for (size_t i = 0; i < count; i++) {
    if (symbols[i].st_value != value || symbols[i].st_shndx == SHN_UNDEF ||
        ELF64_ST_TYPE(symbols[i].st_info) != STT_FUNC || symbols[i].st_name >= text_size)
      continue;
    const char *text = texts + symbols[i].st_name;
    if (text_length(text) > 0 && (found == NULL || strcmp(text, found) < 0)) found = text;
  }
  if (found == NULL) return false;
  size_t size = text_length(found);
  if (size >= room) size = room - 1;
  memcpy(name, found, size);
  name[size] = '\0';
  return true;
}

bool symbol_name(int fd, uint64_t value, char *name, size_t room) {
  size_t count = 0;
  bool found = false;
  Elf64_Shdr *sections = read_sections(fd, &count);
  const Elf64_Shdr *table = sections != NULL ? find_table(sections, count) : NULL;
  if (table != NULL) {
    const size_t text_size = sections[table->sh_link].sh_size;
    Elf64_Sym *symbols = read_part(fd, table->sh_offset, table->sh_size);
    char *texts = read_part(fd, sections[table->sh_link].sh_offset, text_size);
    if (symbols != NULL && texts != NULL) {
      texts[text_size - 1] = '\0';
      found = find_function(symbols, table->sh_size / sizeof *symbols, texts, text_size, value,
                            name, room);
    }
    free(symbols);
    free(texts);
  }
  free(sections);
  return found;
}
