/* SPDX-License-Identifier: MIT */
/* database.c: a file in SQLite's format with the tables of tables.def.
 *
 * The file is not written by SQLite: an insertion takes it several times as long as it
 * takes to put the bytes of a row where they belong. The format is specified at
 * https://www.sqlite.org/fileformat2.html:
 *
 *  - A file is pages of PAGE bytes, numbered from 1. Page 1 begins with the header of the
 *    file and has the table of the tables (sqlite_schema), which must fit into it.
 *  - A table is a B-tree by row number. A leaf has rows. An inner page has a cell (child,
 *    largest row number below it) for each child but the last, which its header names.
 *  - A page has a header, the offsets of its cells in their order, and free space. Cells
 *    lie at the end of the page, the first cell last.
 *  - A row is a record: the length of its head and the types of its values, which are the
 *    head, and then the values. What is too long for a leaf continues in a chain of
 *    overflow pages.
 *
 * Rows come in the order of their numbers, so each tree is built from the left to the
 * right, and of each level only the last page is in memory. When it has no room for the
 * next cell, it is written behind all pages that were written before, whatever their
 * table, and becomes a child of the level above. At the end the pages in memory are
 * written from the leaf up; the highest is the root. An inner page must have a cell, and
 * so two children. Page 1, which says where the roots are, is written last.
 *
 * Memory: a page for each level of each table, OUTPUT bytes of full pages, and a record.
 * An error is remembered, and nothing is written after it. */
#include "export/database.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eventring/memory.h"

enum {
  PAGE = 4096,
  OUTPUT = 64 * PAGE,
  LEVELS = 8, /* enough for 2^32 pages, since an inner page has some hundred children */
  FILE_HEADER = 100,
  LEAF = 13, /* kinds of pages */
  INNER = 5,
  LEAF_HEADER = 8,
  INNER_HEADER = 12,
  POINTER = 2,            /* bytes of the offset of a cell */
  MOST_LOCAL = PAGE - 35, /* bytes of the longest record without overflow pages */
  LEAST_LOCAL = (PAGE - 12) * 32 / 255 - 23,
  OVERFLOW = PAGE - 4,    /* bytes of a record that an overflow page has */
  MOST_CHILD = 4 + 9,     /* bytes of the longest cell of an inner page */
  MOST_HEAD = 1 + 5 * EXPORT_MOST_COLUMNS, /* types are below 2^35 */
  SLACK = 8               /* bytes behind a record that may be written to */
};
_Static_assert(MOST_HEAD < 128, "the length of a record's head is one byte");

/* SQLite locks the bytes from 2^30 on; the page that has them remains unused. */
#define LOCK_PAGE ((1u << 30) / PAGE + 1)

struct page {
  uint8_t bytes[PAGE];
  uint32_t cells, used; /* number of cells, and their bytes */
};

struct child {
  uint32_t page;    /* 0: none */
  uint64_t largest; /* the largest row number below it */
};

/* The page that is being made of a level of inner pages. Its last two children have no
   cells yet. */
struct level {
  struct page page;
  struct child older, last;
};

struct tree {
  int columns;
  uint64_t rows;
  struct page leaf;
  struct level level[LEVELS]; /* from the one above the leaves; all zero: not used */
};

struct export_database {
  int file, error;
  uint32_t pages; /* number of pages that were taken, page 1 included */
  struct tree tree[EXPORT_TABLES];
  uint8_t *record;
  size_t record_room;
  size_t filled; /* bytes of `output` that are not in the file yet */
  uint8_t output[OUTPUT];
};

/* ---- Numbers: the most significant byte comes first ------------------------------- */

static void put16(uint8_t *to, uint32_t value) {
  to[0] = (uint8_t)(value >> 8);
  to[1] = (uint8_t)value;
}

static void put32(uint8_t *to, uint32_t value) {
  put16(to, value >> 16);
  put16(to + 2, value);
}

/* Writes the low `size` bytes of a number, from 1 to 8. Eight bytes at `to` change. */
static inline uint8_t *put_low(uint8_t *to, uint64_t value, unsigned size) {
  const uint64_t bytes = __builtin_bswap64(value << (64 - 8 * size));
  memcpy(to, &bytes, sizeof bytes);
  return to + size;
}

static inline unsigned varint_size(uint64_t value) {
  unsigned size = 1;
  while (value >>= 7) size++;
  return size;
}

/* Writes a number below 2^56 in groups of seven bits. */
static inline uint8_t *put_varint(uint8_t *to, uint64_t value) {
  for (unsigned left = value < 128 ? 1 : varint_size(value); --left;)
    *to++ = (uint8_t)(value >> 7 * left | 0x80);
  *to++ = (uint8_t)(value & 0x7F);
  return to;
}

/* ---- The file --------------------------------------------------------------------- */

static void fail(struct export_database *d, int error) {
  if (!d->error) d->error = error;
}

static void write_at(struct export_database *d, const uint8_t *bytes, size_t size, off_t at) {
  while (size > 0 && !d->error) {
    const ssize_t written = pwrite(d->file, bytes, size, at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      fail(d, written < 0 ? errno : EIO);
      return;
    }
    bytes += written, size -= (size_t)written, at += written;
  }
}

static void flush(struct export_database *d) {
  write_at(d, d->output, d->filled, (off_t)d->pages * PAGE - (off_t)d->filled);
  d->filled = 0;
}

static uint8_t *take_next(struct export_database *d) {
  if (d->filled == sizeof d->output) flush(d);
  if (d->pages == UINT32_MAX - 1) fail(d, EFBIG);
  else d->pages++;
  d->filled += PAGE;
  return d->output + d->filled - PAGE;
}

/* Takes the next page that may be used; returns the memory for its bytes. */
static uint8_t *take_page(struct export_database *d) {
  if (d->pages + 1 == LOCK_PAGE) memset(take_next(d), 0, PAGE);
  return take_next(d);
}

/* Returns the number of the page that will be taken next. */
static uint32_t next_page(const struct export_database *d) {
  return d->pages + 1 == LOCK_PAGE ? d->pages + 2 : d->pages + 1;
}

/* ---- Pages ------------------------------------------------------------------------ */

static inline bool has_room(const struct page *page, uint32_t header, uint32_t size) {
  return header + POINTER * (page->cells + 1) + page->used + size <= PAGE;
}

/* Adds a cell behind the others; returns the memory for its bytes. */
static inline uint8_t *add_cell(struct page *page, uint32_t header, uint32_t size) {
  page->used += size;
  put16(page->bytes + header + POINTER * page->cells++, PAGE - page->used);
  return page->bytes + PAGE - page->used;
}

static void put_header(uint8_t *to, uint8_t kind, const struct page *page) {
  to[0] = kind;
  put16(to + 3, page->cells);
  put16(to + 5, PAGE - page->used);
}

/* Writes a page and empties it; returns its number. */
static uint32_t write_page(struct export_database *d, struct page *page, uint8_t kind) {
  put_header(page->bytes, kind, page);
  memcpy(take_page(d), page->bytes, PAGE);
  *page = (struct page){.cells = 0};
  return d->pages;
}

/* ---- Trees ------------------------------------------------------------------------ */

static void add_child_cell(struct page *page, const struct child *child) {
  uint8_t *to = add_cell(page, INNER_HEADER, 4 + varint_size(child->largest));
  put32(to, child->page);
  put_varint(to + 4, child->largest);
}

/* Writes the page of a level, of which `last` becomes the last child. */
static struct child write_level(struct export_database *d, struct level *level,
                                const struct child *last) {
  put32(level->page.bytes + LEAF_HEADER, last->page);
  return (struct child){.page = write_page(d, &level->page, INNER), .largest = last->largest};
}

/* Adds a child to the right of all others of its level. The page keeps room for a cell of
   the older of the two children without one. */
static void add_child(struct export_database *d, struct tree *t, int at, struct child child) {
  struct level *level = &t->level[at];
  if (at == LEVELS) {
    fail(d, EFBIG);
    return;
  }
  if (level->older.page && has_room(&level->page, INNER_HEADER, 2 * MOST_CHILD + POINTER))
    add_child_cell(&level->page, &level->older);
  else if (level->older.page)
    add_child(d, t, at + 1, write_level(d, level, &level->older));
  level->older = level->last;
  level->last = child;
}

static void end_leaf(struct export_database *d, struct tree *t) {
  add_child(d, t, 0, (struct child){.page = write_page(d, &t->leaf, LEAF), .largest = t->rows});
}

/* Writes what remains of a tree; returns the number of its root. Each level that is used
   has at least two children: the first came when another one was begun. */
static uint32_t end_tree(struct export_database *d, struct tree *t) {
  if (!t->level[0].last.page) return write_page(d, &t->leaf, LEAF);
  end_leaf(d, t);
  for (int at = 0;; at++) {
    struct level *level = &t->level[at];
    add_child_cell(&level->page, &level->older);
    const struct child written = write_level(d, level, &level->last);
    if (at + 1 == LEVELS || !t->level[at + 1].last.page) return written.page;
    add_child(d, t, at + 1, written);
  }
}

/* ---- Records ---------------------------------------------------------------------- */

enum { TYPE_REAL = 7, TYPE_ZERO = 8, TYPE_ONE = 9, TYPE_TEXT = 13 /* + 2 * its size */ };

/* The type of an integer by its bytes, and how many bytes that type has. */
static const uint8_t type_of_bytes[9] = {0, 1, 2, 3, 4, 5, 5, 6, 6};
static const uint8_t bytes_of_type[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};

static inline uint64_t type_of_integer(int64_t value) {
  if (value == 0 || value == 1) return TYPE_ZERO + (uint64_t)value;
  const uint64_t magnitude = (uint64_t)(value < 0 ? ~value : value);
  const unsigned bits = 65 - (unsigned)__builtin_clzll(magnitude | 1); /* and a sign */
  return type_of_bytes[(bits + 7) / 8];
}

static inline uint64_t type_of(const struct export_cell *cell) {
  switch (cell->type) {
    case EXPORT_INTEGER: return type_of_integer(cell->number.i);
    case EXPORT_REAL: return isnan(cell->number.d) ? 0 : TYPE_REAL;
    case EXPORT_STRING: return TYPE_TEXT + 2 * (uint64_t)cell->size;
    default: return 0;
  }
}

static inline uint8_t *put_value(uint8_t *to, const struct export_cell *cell, uint64_t type) {
  if (type >= TYPE_TEXT) {
    memcpy(to, cell->text, cell->size);
    return to + cell->size;
  }
  const unsigned size = bytes_of_type[type];
  return size ? put_low(to, (uint64_t)cell->number.i, size) : to;
}

static bool reserve_record(struct export_database *d, size_t size) {
  if (size <= d->record_room) return true;
  uint8_t *grown = size <= INT32_MAX ? realloc(d->record, 2 * size) : NULL;
  if (!grown) {
    fail(d, ENOMEM);
    return false;
  }
  d->record = grown;
  d->record_room = 2 * size;
  return true;
}

/* Makes d->record; returns its size, or 0 when out of memory. */
static size_t make_record(struct export_database *d, const struct export_cell *cells,
                          int columns) {
  uint64_t type[EXPORT_MOST_COLUMNS];
  size_t head = 1, size = 0;
  for (int i = 0; i < columns; i++) {
    type[i] = type_of(&cells[i]);
    head += varint_size(type[i]);
    size += type[i] >= TYPE_TEXT ? cells[i].size : bytes_of_type[type[i]];
  }
  size += head;
  if (!reserve_record(d, size + SLACK)) return 0;
  uint8_t *to = d->record;
  *to++ = (uint8_t)head;
  for (int i = 0; i < columns; i++) to = put_varint(to, type[i]);
  for (int i = 0; i < columns; i++) to = put_value(to, &cells[i], type[i]);
  return size;
}

/* Returns how many bytes of a record its cell has itself. */
static size_t local_part(size_t size) {
  if (size <= MOST_LOCAL) return size;
  const size_t rest = LEAST_LOCAL + (size - LEAST_LOCAL) % OVERFLOW;
  return rest <= MOST_LOCAL ? rest : LEAST_LOCAL;
}

static void write_overflow(struct export_database *d, const uint8_t *bytes, size_t size) {
  while (size > 0) {
    const size_t part = size < OVERFLOW ? size : OVERFLOW;
    uint8_t *to = take_page(d);
    put32(to, part < size ? next_page(d) : 0);
    memcpy(to + 4, bytes, part);
    memset(to + 4 + part, 0, OVERFLOW - part);
    bytes += part, size -= part;
  }
}

int export_database_row(struct export_database *d, enum export_table table,
                        const struct export_cell *cells) {
  struct tree *t = &d->tree[table];
  const size_t size = make_record(d, cells, t->columns);
  if (d->error) return d->error;
  const size_t local = local_part(size);
  const uint32_t bytes = (uint32_t)(varint_size(size) + varint_size(t->rows + 1) + local +
                                    (local < size ? 4 : 0));
  if (!has_room(&t->leaf, LEAF_HEADER, bytes)) end_leaf(d, t);
  uint8_t *to = add_cell(&t->leaf, LEAF_HEADER, bytes);
  to = put_varint(put_varint(to, size), ++t->rows);
  memcpy(to, d->record, local);
  if (local < size) {
    put32(to + local, next_page(d));
    write_overflow(d, d->record + local, size - local);
  }
  return d->error;
}

/* ---- Page 1 ----------------------------------------------------------------------- */

static void put_file_header(const struct export_database *d, uint8_t *to) {
  enum { FORMAT_OF_TABLES = 4, UTF_8 = 1, RELEASE = 3040000, CHANGES = 1 };
  memcpy(to, "SQLite format 3", 16);
  put16(to + 16, PAGE);
  to[18] = to[19] = 1; /* without a log */
  to[21] = 64;         /* three constants */
  to[22] = to[23] = 32;
  put32(to + 24, CHANGES);
  put32(to + 28, d->pages);
  put32(to + 40, EXPORT_TABLES); /* a number that changes with the tables */
  put32(to + 44, FORMAT_OF_TABLES);
  put32(to + 56, UTF_8);
  put32(to + 92, CHANGES);
  put32(to + 96, RELEASE);
}

static struct export_cell text_cell(const char *text) {
  return (struct export_cell){.type = EXPORT_STRING, .text = text, .size = strlen(text)};
}

/* Writes the statement that would make a table. */
static void put_statement(char *to, size_t room, enum export_table table) {
  int count;
  const struct export_column *column = export_table_columns(table, &count);
  size_t used = (size_t)snprintf(to, room, "CREATE TABLE %s(", export_table_name(table));
  for (int i = 0; i < count; i++)
    used += (size_t)snprintf(to + used, room - used, "%s\"%s\" %s", i ? ", " : "",
                             column[i].name,
                             strcmp(column[i].type, "ANY") == 0 ? "" : column[i].type);
  snprintf(to + used, room - used, ")");
}

/* Adds the row of sqlite_schema that describes a table. */
static void add_table(struct export_database *d, struct page *page, enum export_table table,
                      uint32_t root) {
  enum { HEADER = FILE_HEADER + LEAF_HEADER };
  char statement[1024];
  const char *name = export_table_name(table);
  put_statement(statement, sizeof statement, table);
  const struct export_cell cells[] = {text_cell("table"), text_cell(name), text_cell(name),
                                      {.type = EXPORT_INTEGER, .number.i = root},
                                      text_cell(statement)};
  const size_t size = make_record(d, cells, sizeof cells / sizeof cells[0]);
  const uint32_t bytes = (uint32_t)(varint_size(size) + 1 + size);
  if (!has_room(page, HEADER, bytes)) fail(d, EOVERFLOW);
  if (d->error) return;
  uint8_t *to = put_varint(add_cell(page, HEADER, bytes), size);
  *to++ = (uint8_t)page->cells; /* its number */
  memcpy(to, d->record, size);
}

int export_database_end(struct export_database *d) {
  struct page first = {.cells = 0};
  for (int t = 0; t < EXPORT_TABLES; t++)
    add_table(d, &first, (enum export_table)t, end_tree(d, &d->tree[t]));
  flush(d);
  put_file_header(d, first.bytes);
  put_header(first.bytes + FILE_HEADER, LEAF, &first);
  write_at(d, first.bytes, sizeof first.bytes, 0);
  return d->error;
}

/* ---- Opening and closing ---------------------------------------------------------- */

struct export_database *export_database_open(const char *path) {
  struct export_database *d = calloc(1, sizeof *d);
  if (!d) return NULL;
  d->pages = 1;
  for (int t = 0; t < EXPORT_TABLES; t++)
    export_table_columns((enum export_table)t, &d->tree[t].columns);
  d->file = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
  if (d->file >= 0) return d;
  const int error = errno;
  free(d);
  errno = error;
  return NULL;
}

int export_database_close(struct export_database *d) {
  if (close(d->file) != 0) fail(d, errno);
  const int error = d->error;
  free(d->record);
  free(d);
  return error;
}
