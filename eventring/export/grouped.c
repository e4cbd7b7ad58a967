/* SPDX-License-Identifier: MIT */
/* grouped.c: rows of a table, kept and given back by groups that have the same texts.
 *
 * A recording has few names, so to sort its rows by name it is enough to put each row at
 * the end of those of its group, and to sort the groups.
 *
 * The rows of a group lie in parts, as bytes. When all parts together exceed KEPT bytes,
 * they are written to a temporary file, where SQLite makes its own, and their memory is
 * freed. So memory grows with the number of groups, but not with that of rows (but for a
 * few bytes a part). Parts are so small that each group can have one in memory: otherwise
 * the few parts that fit would be written with a row or two in each.
 *
 * The key of a group: for each column a byte, 0 for NULL, or 1, the text and a byte 0.
 * (No text has a byte 0, rows.h.) So keys are in the order of the columns' texts. */
#include "export/grouped.h"
#include "format/array.h"
#include "format/table.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(sizeof(size_t) == 8, "a size is kept in eight bytes");

enum {
  KEPT = 32 << 20,  /* bytes of parts in memory */
  SMALLEST = 512,   /* bytes of the first part of a group */
  LARGEST = 1 << 16,
  RECENT = 64       /* groups that were found lately */
};

struct part {
  uint8_t *bytes; /* NULL: the part is in the file */
  uint64_t at;    /* where it is in the file */
  uint32_t size, room;
};

struct group {
  struct part *parts;
  size_t part_count, part_room, written; /* the first `written` parts are in the file */
  size_t key_size;
  char key[];
};

struct export_grouped {
  uint32_t values; /* bits of the columns that are kept with each row */
  uint8_t keys[EXPORT_MOST_COLUMNS];
  int key_count;
  int64_t rows;
  struct evr_table table; /* groups by key */
  struct group **groups;
  size_t group_count, group_room;
  const struct group *recent[RECENT]; /* by the address of the first text */
  char *key; /* the key of a row */
  size_t key_room;
  size_t kept; /* bytes of parts in memory */
  FILE *file;  /* NULL: none yet */
  uint64_t file_size;
  /* what is given back: */
  size_t group, part;
  const uint8_t *from, *end; /* what is left of the part */
  uint8_t *loaded;           /* a part from the file */
  size_t loaded_room;
  struct export_cell row[EXPORT_MOST_COLUMNS];
};

struct export_grouped *export_grouped_new(uint32_t used, const uint8_t *keys, int key_count) {
  struct export_grouped *g = calloc(1, sizeof *g);
  if (!g) return NULL;
  g->values = used;
  g->key_count = key_count;
  memcpy(g->keys, keys, (size_t)key_count);
  for (int i = 0; i < key_count; i++) g->values &= ~(1u << keys[i]);
  return g;
}

void export_grouped_free(struct export_grouped *g) {
  if (!g) return;
  for (size_t i = 0; i < g->group_count; i++) {
    struct group *group = g->groups[i];
    for (size_t n = 0; n < group->part_count; n++) free(group->parts[n].bytes);
    free(group->parts);
    free(group);
  }
  evr_table_free(&g->table);
  free(g->groups);
  free(g->key);
  free(g->loaded);
  if (g->file) fclose(g->file);
  free(g);
}

/* ---- Groups ----------------------------------------------------------------------- */

static bool reserve(void **memory, size_t *room, size_t size) {
  if (size <= *room) return true;
  void *grown = realloc(*memory, 2 * size);
  if (!grown) return false;
  *memory = grown;
  *room = 2 * size;
  return true;
}

/* Makes g->key; returns its size, or 0 when out of memory. */
static size_t make_key(struct export_grouped *g, const struct export_cell *cells) {
  size_t size = 0;
  for (int i = 0; i < g->key_count; i++) size += 2 + cells[g->keys[i]].size;
  if (!reserve((void **)&g->key, &g->key_room, size)) return 0;
  char *to = g->key;
  for (int i = 0; i < g->key_count; i++) {
    const struct export_cell *cell = &cells[g->keys[i]];
    *to++ = cell->type == EXPORT_STRING;
    if (cell->type != EXPORT_STRING) continue;
    memcpy(to, cell->text, cell->size);
    to += cell->size;
    *to++ = '\0';
  }
  return (size_t)(to - g->key);
}

/* Tells whether the key of a group is that of a row. */
static bool has_key(const struct export_grouped *g, const struct group *group,
                    const struct export_cell *cells) {
  const char *from = group->key;
  size_t left = group->key_size;
  for (int i = 0; i < g->key_count; i++) {
    const struct export_cell *cell = &cells[g->keys[i]];
    const bool is_text = cell->type == EXPORT_STRING;
    if (*from++ != is_text) return false;
    left--;
    if (!is_text) continue;
    if (cell->size >= left || from[cell->size] || memcmp(from, cell->text, cell->size) != 0)
      return false;
    from += cell->size + 1, left -= cell->size + 1;
  }
  return true;
}

struct key {
  const char *bytes;
  size_t size;
};

static bool is_group_of(const void *none, uintptr_t value, const void *key) {
  const struct group *group = (const struct group *)value;
  const struct key *k = key;
  (void)none;
  return group->key_size == k->size && memcmp(group->key, k->bytes, k->size) == 0;
}

static struct group *make_group(struct export_grouped *g, const struct key *key) {
  if (!EVR_MAKE_ROOM(g->groups, g->group_room, g->group_count, 16)) return NULL;
  struct group *group = calloc(1, sizeof *group + key->size);
  if (!group) return NULL;
  group->key_size = key->size;
  memcpy(group->key, key->bytes, key->size);
  return g->groups[g->group_count++] = group;
}

static struct group *find_group(struct export_grouped *g, const struct export_cell *cells) {
  const size_t size = make_key(g, cells);
  const struct key key = {.bytes = g->key, .size = size};
  if (!size) return NULL;
  uint64_t hash = evr_hash_seed();
  for (size_t i = 0; i < key.size; i++) hash = evr_hash_word(hash, (unsigned char)key.bytes[i]);
  uintptr_t *value = evr_table_take(&g->table, hash, is_group_of, NULL, &key);
  if (!value) return NULL;
  if (!*value) *value = (uintptr_t)make_group(g, &key);
  return (struct group *)*value;
}

/* ---- Keeping ---------------------------------------------------------------------- */

/* Opens a new file without a name in a directory. Returns NULL, and sets errno, if that
   fails. */
static FILE *open_in(const char *directory) {
  char name[PATH_MAX];
  const int size = snprintf(name, sizeof name, "%s/eventring-XXXXXX", directory);
  errno = ENAMETOOLONG;
  const int file = size < (int)sizeof name ? mkostemp(name, O_CLOEXEC) : -1;
  if (file < 0) return NULL;
  unlink(name);
  FILE *opened = fdopen(file, "w+");
  if (!opened) close(file);
  return opened;
}

/* Opens a temporary file in the first directory that takes one, of those in which SQLite
   makes its own. (The directory of tmpfile may be small.) */
static FILE *open_temporary(void) {
  const char *const directories[] = {secure_getenv("SQLITE_TMPDIR"), secure_getenv("TMPDIR"),
                                     "/var/tmp", "/usr/tmp", "/tmp", "."};
  FILE *file = NULL;
  for (size_t i = 0; !file && i < sizeof directories / sizeof *directories; i++)
    if (directories[i] && directories[i][0]) file = open_in(directories[i]);
  return file;
}

/* Writes all parts in memory to the file. Returns 0 or the code of an error. */
static int write_parts(struct export_grouped *g) {
  if (!g->file && !(g->file = open_temporary())) return errno;
  for (size_t i = 0; i < g->group_count; i++) {
    struct group *group = g->groups[i];
    for (; group->written < group->part_count; group->written++) {
      struct part *part = &group->parts[group->written];
      if (fwrite(part->bytes, 1, part->size, g->file) != part->size) return errno;
      part->at = g->file_size;
      g->file_size += part->size;
      free(part->bytes);
      part->bytes = NULL;
    }
  }
  g->kept = 0;
  return fflush(g->file) == 0 ? 0 : errno;
}

static struct part *last_part(const struct group *group) {
  return group->part_count ? &group->parts[group->part_count - 1] : NULL;
}

/* Returns a part of the group with room for a row of `size` bytes, or NULL when out of
   memory. */
static struct part *part_for(struct export_grouped *g, struct group *group, size_t size) {
  const struct part *last = last_part(group);
  const size_t share = KEPT / 2 / g->group_count;
  size_t room = last ? 2 * (size_t)last->room : SMALLEST;
  if (room > share) room = share > SMALLEST ? share : SMALLEST;
  if (room > LARGEST) room = LARGEST;
  if (room < size) room = size;
  if (!EVR_MAKE_ROOM(group->parts, group->part_room, group->part_count, 4)) return NULL;
  uint8_t *bytes = malloc(room);
  if (!bytes) return NULL;
  g->kept += room;
  group->parts[group->part_count++] = (struct part){.bytes = bytes, .room = (uint32_t)room};
  return last_part(group);
}

enum { NUMBER = 8 }; /* bytes of a number, of a text's size, and of the number of a row */

static size_t row_size(const struct export_grouped *g, const struct export_cell *cells) {
  size_t size = NUMBER;
  for (uint32_t left = g->values; left; left &= left - 1) {
    const struct export_cell *cell = &cells[__builtin_ctz(left)];
    size += 1;
    if (cell->type != EXPORT_NULL) size += NUMBER;
    if (cell->type == EXPORT_STRING) size += cell->size;
  }
  return size;
}

static uint8_t *put_bytes(uint8_t *to, const void *bytes, size_t size) {
  memcpy(to, bytes, size);
  return to + size;
}

static void put_row(const struct export_grouped *g, uint8_t *to, const struct export_cell *cells) {
  to = put_bytes(to, &g->rows, NUMBER);
  for (uint32_t left = g->values; left; left &= left - 1) {
    const struct export_cell *cell = &cells[__builtin_ctz(left)];
    *to++ = cell->type;
    if (cell->type == EXPORT_STRING)
      to = put_bytes(put_bytes(to, &cell->size, NUMBER), cell->text, cell->size);
    else if (cell->type != EXPORT_NULL)
      to = put_bytes(to, &cell->number, NUMBER);
  }
}

int export_grouped_add(struct export_grouped *g, const struct export_cell *cells) {
  const uintptr_t address = (uintptr_t)cells[g->keys[0]].text;
  const struct group **recent = &g->recent[(address >> 3 ^ address >> 9) % RECENT];
  struct group *group = (struct group *)*recent;
  if (!group || !has_key(g, group, cells)) group = find_group(g, cells);
  if (!group) return ENOMEM;
  *recent = group;
  const size_t size = row_size(g, cells);
  struct part *part = last_part(group);
  if (!part || !part->bytes || part->room - part->size < size) part = part_for(g, group, size);
  if (!part) return ENOMEM;
  put_row(g, part->bytes + part->size, cells);
  part->size += (uint32_t)size;
  g->rows++;
  return g->kept <= KEPT ? 0 : write_parts(g);
}

/* ---- Giving back ------------------------------------------------------------------ */

static int compare_groups(const void *a, const void *b) {
  const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;
  const size_t size = x->key_size < y->key_size ? x->key_size : y->key_size;
  const int order = memcmp(x->key, y->key, size);
  return order ? order : (x->key_size > y->key_size) - (x->key_size < y->key_size);
}

int export_grouped_end(struct export_grouped *g) {
  if (g->group_count) qsort(g->groups, g->group_count, sizeof *g->groups, compare_groups);
  return g->file ? write_parts(g) : 0;
}

/* Sets the cells of the key's columns to those of a group. */
static void take_key(struct export_grouped *g, const struct group *group) {
  const char *from = group->key;
  for (int i = 0; i < g->key_count; i++) {
    struct export_cell *cell = &g->row[g->keys[i]];
    *cell = (struct export_cell){.type = EXPORT_NULL};
    if (!*from++) continue;
    *cell = (struct export_cell){.type = EXPORT_STRING, .text = from, .size = strlen(from)};
    from += cell->size + 1;
  }
}

/* Makes the rows of a part the next ones. Returns 0 or the code of an error. */
static int load_part(struct export_grouped *g, const struct part *part) {
  g->from = part->bytes;
  if (!part->bytes) {
    if (!reserve((void **)&g->loaded, &g->loaded_room, part->size)) return ENOMEM;
    errno = EIO; /* of a file that is too short */
    if (pread(fileno(g->file), g->loaded, part->size, (off_t)part->at) != (ssize_t)part->size)
      return errno;
    g->from = g->loaded;
  }
  g->end = g->from + part->size;
  return 0;
}

/* Goes on to the next part. Returns false after the last one, or with a code in *error.
   */
static bool next_part(struct export_grouped *g, int *error) {
  for (; g->group < g->group_count; g->group++, g->part = 0) {
    const struct group *group = g->groups[g->group];
    if (g->part == group->part_count) continue;
    if (g->part == 0) take_key(g, group);
    *error = load_part(g, &group->parts[g->part++]);
    return !*error;
  }
  return false;
}

static const uint8_t *take_cell(struct export_cell *cell, const uint8_t *from) {
  cell->type = *from++;
  if (cell->type == EXPORT_STRING) {
    memcpy(&cell->size, from, NUMBER);
    cell->text = (const char *)from + NUMBER;
    return from + NUMBER + cell->size;
  }
  if (cell->type == EXPORT_NULL) return from;
  memcpy(&cell->number, from, NUMBER);
  return from + NUMBER;
}

const struct export_cell *export_grouped_next(struct export_grouped *g, int64_t *number,
                                              int *error) {
  *error = 0;
  if (g->from == g->end && !next_part(g, error)) return NULL;
  const uint8_t *from = g->from;
  memcpy(number, from, NUMBER);
  from += NUMBER;
  for (uint32_t left = g->values; left; left &= left - 1)
    from = take_cell(&g->row[__builtin_ctz(left)], from);
  g->from = from;
  return g->row;
}
