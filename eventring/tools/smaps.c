/* SPDX-License-Identifier: MIT */
/* smaps.c: divides the resident memory of a process by what is mapped.
 *
 * The kernel names mappings of files, the heap that brk makes and the stack of the main
 * thread. Arenas of the C library beyond that heap are recognised by their shape: 64 MiB
 * of addresses, aligned to 64 MiB; the first part is accessible, the rest is not. Zeroed
 * data of a library follow its data. Everything else is anonymous.
 *
 * The list of mappings may change while it is read; each line is counted by itself. */
#include "smaps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tool.h"

#define ARENA ((uint64_t)64 << 20) /* HEAP_MAX_SIZE of glibc on 64-bit systems */

struct mapping {
  uint64_t start, end, inode, resident, swapped;
  dev_t device;
  bool readable, writable, executable;
  bool follows_data; /* the mapping begins where the data of a program or library end */
  char *path;        /* path or name; "" for anonymous memory */
};

struct mappings {
  struct mapping *items;
  size_t count;
};

/* ---- reading ------------------------------------------------------------------ */

/* Parses the head of a mapping: "5581a0-5581b0 r-xp 00001000 08:01 131 /usr/bin/x". */
static bool parse_head(char *line, struct mapping *m) {
  char rights[5], *path;
  unsigned major, minor;
  int at = 0;
  *m = (struct mapping){0};
  if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %x:%x %" SCNu64 " %n", &m->start, &m->end,
             rights, &major, &minor, &m->inode, &at) < 6 || !at)
    return false;
  m->device = makedev(major, minor);
  m->readable = rights[0] == 'r';
  m->writable = rights[1] == 'w';
  m->executable = rights[2] == 'x';
  path = line + at;
  path[strcspn(path, "\n")] = '\0';
  m->path = need_copy(path);
  return true;
}

static void take_line(struct mappings *all, char *line) {
  struct mapping m;
  uint64_t kib;
  if (parse_head(line, &m)) {
    *NEED_NEXT(all->items, all->count) = m;
  } else if (all->count && sscanf(line, "Rss: %" SCNu64 " kB", &kib) == 1) {
    all->items[all->count - 1].resident = kib << 10;
  } else if (all->count && sscanf(line, "Swap: %" SCNu64 " kB", &kib) == 1) {
    all->items[all->count - 1].swapped = kib << 10;
  }
}

static bool read_mappings(struct mappings *all, pid_t pid) {
  char path[64], *line = NULL;
  size_t room = 0;
  snprintf(path, sizeof path, "/proc/%d/smaps", (int)pid);
  FILE *file = fopen(path, "re");
  if (!file) return false;
  errno = 0;
  while (getline(&line, &room, file) >= 0) take_line(all, line);
  int error = errno;
  free(line);
  fclose(file);
  errno = error ? error : ESRCH; /* a process that is ending has no mappings any more */
  return all->count > 0;
}

/* ---- what they are ------------------------------------------------------------ */

static bool is_anonymous(const struct mapping *m) { return !m->path[0] && !m->inode; }

static bool is_file(const struct mapping *m) { return m->inode && m->path[0] == '/'; }

static bool is_same_file(const struct mapping *a, const struct mapping *b) {
  return a->inode == b->inode && a->device == b->device;
}

/* Tells whether a mapping belongs to a file of which some part, anywhere in the list, is
   mapped executable. */
static bool is_program(const struct mappings *all, const struct mapping *m) {
  for (size_t i = 0; i < all->count; i++)
    if (all->items[i].executable && is_file(&all->items[i]) && is_same_file(&all->items[i], m))
      return true;
  return false;
}

static bool is_arena(const struct mappings *all, size_t i) {
  const struct mapping *m = &all->items[i];
  if (m->start % ARENA || !m->writable) return false;
  if (m->end - m->start == ARENA) return true;
  if (i + 1 == all->count) return false;
  const struct mapping *rest = &all->items[i + 1];
  return is_anonymous(rest) && !rest->readable && rest->start == m->end &&
         rest->end >= m->start + ARENA;
}

static enum smaps_kind kind_of(const struct mappings *all, size_t i, const struct stat *file) {
  struct mapping *m = &all->items[i];
  const struct mapping *before = i ? &all->items[i - 1] : NULL;
  bool follows = before && before->end == m->start && before->follows_data;
  if (strcmp(m->path, "[heap]") == 0) return SMAPS_MALLOC;
  if (strcmp(m->path, "[stack]") == 0) return SMAPS_STACK;
  /* [vdso] and others */
  if (m->path[0] == '[' && m->path[1] == 'v') return SMAPS_PROGRAM;
  if (file && m->inode == file->st_ino && m->device == file->st_dev) return SMAPS_RECORDING;
  if (is_file(m)) {
    if (!is_program(all, m)) return SMAPS_FILES;
    m->follows_data = m->writable;
    return SMAPS_PROGRAM;
  }
  if (m->inode) return SMAPS_FILES; /* shared memory without a name */
  if (is_anonymous(m) && follows) return SMAPS_PROGRAM;
  if (is_anonymous(m) && is_arena(all, i)) return SMAPS_MALLOC;
  return SMAPS_ANONYMOUS;
}

static void count(struct smaps *smaps, const struct mapping *m, enum smaps_kind kind) {
  uint64_t reserved = m->readable || m->writable ? m->end - m->start : m->resident;
  smaps->resident[kind] += m->resident;
  smaps->reserved[kind] += reserved;
  smaps->all += m->resident;
  smaps->all_reserved += reserved;
  smaps->swapped += m->swapped;
}

bool smaps_read(struct smaps *smaps, pid_t pid, const char *recording) {
  struct mappings all = {NULL, 0};
  struct stat file;
  bool has_file = recording && stat(recording, &file) == 0;
  memset(smaps, 0, sizeof *smaps);
  bool done = read_mappings(&all, pid);
  int error = errno;
  for (size_t i = 0; i < all.count; i++)
    count(smaps, &all.items[i], kind_of(&all, i, has_file ? &file : NULL));
  for (size_t i = 0; i < all.count; i++) free(all.items[i].path);
  free(all.items);
  errno = error;
  return done;
}
