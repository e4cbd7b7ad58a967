/* SPDX-License-Identifier: MIT */
/* elf.c: reads headers and exported symbols of files that another process has mapped,
 * from its memory. On disk the file may have been replaced, or may not be visible from
 * here; before mappings.c uses symbols from disk, it compares the file with these
 * headers.
 *
 * The dynamic section leads to the table of symbols. Only the hash table, which has one
 * of two forms, gives its length. All of it may be damaged or hostile: sizes are bounded
 * before anything is read, and the kernel checks each address.
 */
#include "remote/elf.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  MOST_OFFSET = 65536,   /* largest offset of the program headers in a file, in bytes */
  MOST_DYNAMIC = 256,    /* entries of the dynamic section */
  MOST_SYMBOLS = 1 << 18, /* symbols of a file: 6 MiB */
  MOST_CHAIN = 1024       /* symbols in a chain of the hash table */
};

bool remote_elf_read(struct remote_memory *memory, uint64_t base, struct remote_elf *elf) {
  Elf64_Ehdr *head = &elf->head;
  elf->base = elf->shift = base;
  elf->count = 0;
  if (!remote_read(memory, base, head, sizeof *head)) return false;
  if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
      head->e_phentsize != sizeof *elf->headers || head->e_phnum > REMOTE_ELF_HEADERS ||
      head->e_phoff > MOST_OFFSET)
    return false;
  if (!remote_read(memory, base + head->e_phoff, elf->headers,
                   head->e_phnum * sizeof *elf->headers))
    return false;
  elf->count = head->e_phnum;
  for (unsigned i = 0; i < elf->count; i++)
    if (elf->headers[i].p_type == PT_LOAD && elf->headers[i].p_offset == 0)
      elf->shift = base - elf->headers[i].p_vaddr;
  return true;
}

bool remote_elf_is_file(const struct remote_elf *elf, int fd) {
  Elf64_Ehdr head;
  Elf64_Phdr headers[REMOTE_ELF_HEADERS];
  const size_t size = elf->count * sizeof *headers;
  return pread(fd, &head, sizeof head, 0) == sizeof head &&
         memcmp(&head, &elf->head, sizeof head) == 0 &&
         pread(fd, headers, size, (off_t)head.e_phoff) == (ssize_t)size &&
         memcmp(headers, elf->headers, size) == 0;
}

/* ---- symbols ------------------------------------------------------------- */

struct dynamic { /* addresses; 0 if the section has none */
  uint64_t symbols, texts, text_size, hash, gnu_hash;
};

/* Returns the address in the process for an address of the dynamic section. glibc writes
   addresses of the process into the section; other loaders leave those of the file, which
   are lower than any mapping. */
static uint64_t mapped(const struct remote_elf *elf, uint64_t address) {
  return address != 0 && address < elf->base ? address + elf->shift : address;
}

static bool read_dynamic(struct remote_memory *memory, const struct remote_elf *elf,
                         struct dynamic *d) {
  static Elf64_Dyn entries[MOST_DYNAMIC];
  const Elf64_Phdr *header = NULL;
  *d = (struct dynamic){0};
  for (unsigned i = 0; i < elf->count; i++)
    if (elf->headers[i].p_type == PT_DYNAMIC) header = &elf->headers[i];
  if (header == NULL) return false;
  size_t count = header->p_memsz / sizeof *entries;
  if (count > MOST_DYNAMIC) count = MOST_DYNAMIC;
  if (!remote_read(memory, elf->shift + header->p_vaddr, entries, count * sizeof *entries))
    return false;
  for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
    const uint64_t value = entries[i].d_un.d_val;
    switch (entries[i].d_tag) {
      case DT_SYMTAB: d->symbols = mapped(elf, value); break;
      case DT_STRTAB: d->texts = mapped(elf, value); break;
      case DT_STRSZ: d->text_size = value; break;
      case DT_HASH: d->hash = mapped(elf, value); break;
      case DT_GNU_HASH: d->gnu_hash = mapped(elf, value); break;
      default: break;
    }
  }
  return d->symbols != 0 && d->texts != 0;
}

/* Returns the number of the last symbol in this symbol's chain, plus 1, or 0 if it is not
   known. */
static size_t end_of_chain(struct remote_memory *memory, uint64_t chains, uint32_t symbol) {
  uint32_t word;
  for (uint32_t i = 0; i < MOST_CHAIN; i++)
    if (!remote_read_u32(memory, chains + ((uint64_t)symbol + i) * sizeof word, &word)) return 0;
    else if (word & 1) return (size_t)symbol + i + 1;
  return 0;
}

/* Counts symbols by the hash table of GNU: a bucket has the lowest symbol of its chain.
   Symbols below the first one are not in the table, and are not defined in the file.
   Returns 0 if the number is not known. */
static size_t count_by_gnu_hash(struct remote_memory *memory, uint64_t table) {
  uint32_t head[4]; /* buckets, first symbol, words of the filter, shift */
  if (!remote_read(memory, table, head, sizeof head)) return 0;
  if (head[0] > MOST_SYMBOLS || head[1] > MOST_SYMBOLS || head[2] > MOST_SYMBOLS) return 0;
  const uint64_t buckets = table + sizeof head + (uint64_t)head[2] * 8;
  uint32_t *bucket = malloc((head[0] ? head[0] : 1) * sizeof *bucket), last = 0;
  if (bucket != NULL && remote_read(memory, buckets, bucket, head[0] * sizeof *bucket))
    for (uint32_t i = 0; i < head[0]; i++)
      if (bucket[i] > last) last = bucket[i];
  free(bucket);
  if (last < head[1] || last == 0 || last > MOST_SYMBOLS) return 0;
  return end_of_chain(memory, buckets + ((uint64_t)head[0] - head[1]) * sizeof *bucket, last);
}

/* Returns the number of symbols, or 0 if it is not known. */
static size_t count_symbols(struct remote_memory *memory, const struct dynamic *d) {
  uint32_t chains = 0;
  if (d->gnu_hash != 0) return count_by_gnu_hash(memory, d->gnu_hash);
  if (d->hash == 0 || !remote_read_u32(memory, d->hash + 4, &chains)) return 0;
  return chains <= MOST_SYMBOLS ? chains : 0;
}

static bool read_text(struct remote_memory *memory, const struct dynamic *d, uint32_t at,
                      char *text, size_t room) {
  if (at >= d->text_size) return false;
  size_t size = d->text_size - at < room ? (size_t)(d->text_size - at) : room;
  return remote_read(memory, d->texts + at, text, size) && text[0] != '\0' &&
         memchr(text, '\0', size) != NULL;
}

/* Finds the name of the function that begins at `value`. If it has several, takes the
   first in byte order, so that each run finds the same one. */
static bool find_symbol(struct remote_memory *memory, const struct dynamic *d,
                        const Elf64_Sym *symbols, size_t count, uint64_t value, char *name,
                        size_t room) {
  char text[256];
  bool found = false;
  if (room > sizeof text) room = sizeof text;
  for (size_t i = 0; i < count; i++) {
    const unsigned type = ELF64_ST_TYPE(symbols[i].st_info);
    if (symbols[i].st_value != value || symbols[i].st_shndx == SHN_UNDEF ||
        (type != STT_FUNC && type != STT_NOTYPE) ||
        !read_text(memory, d, symbols[i].st_name, text, room))
      continue;
    if (!found || strcmp(text, name) < 0) strcpy(name, text);
    found = true;
  }
  return found;
}

bool remote_elf_symbol(struct remote_memory *memory, const struct remote_elf *elf,
                       uint64_t address, char *name, size_t room) {
  struct dynamic d;
  if (!read_dynamic(memory, elf, &d)) return false;
  size_t count = count_symbols(memory, &d);
  if (count > MOST_SYMBOLS) count = 0;
  Elf64_Sym *symbols = count > 0 ? malloc(count * sizeof *symbols) : NULL;
  const bool found = symbols != NULL &&
                     remote_read(memory, d.symbols, symbols, count * sizeof *symbols) &&
                     find_symbol(memory, &d, symbols, count, address - elf->shift, name, room);
  free(symbols);
  return found;
}
