/* SPDX-License-Identifier: MIT */
/* retain_answer.c: see retain_answer.h. */
#include "retain_answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define LAST_LINE "\nend\n"

enum { RETAIN_ANSWER = 2, MOST_FIELDS = 7, MOST_KINDS = 1 << 15, MOST_HOLDERS = 1 << 19 };

struct lines {
  struct retain_answer *answer;
  bool has_total, has_cut;
};

/* ---- fields ------------------------------------------------------------------- */

/* Splits a line at its tabs. Returns the number of fields; MOST_FIELDS + 1 if there are
   more. */
static size_t split(char *line, char **fields) {
  size_t n = 0;
  for (char *at = line; at; n++) {
    if (n == MOST_FIELDS) return n + 1;
    fields[n] = at;
    at = strchr(at, '\t');
    if (at) *at++ = '\0';
  }
  return n;
}

static bool take_number(const char *text, uint64_t *number) {
  if (!*text || text[strspn(text, "0123456789")]) return false;
  errno = 0;
  *number = strtoull(text, NULL, 10);
  return errno == 0;
}

static bool take_numbers(char **fields, size_t count, uint64_t *numbers) {
  for (size_t i = 0; i < count; i++)
    if (!take_number(fields[i], &numbers[i])) return false;
  return true;
}

/* ---- lines -------------------------------------------------------------------- */

static bool take_total(struct lines *l, char **f, size_t n) {
  struct retain_answer *a = l->answer;
  uint64_t numbers[5];
  if (n != 6 || l->has_total || !take_numbers(f + 1, 5, numbers)) return false;
  a->objects = numbers[0];
  a->bytes = numbers[1];
  a->end = numbers[2];
  a->walk_ns = numbers[3];
  a->fork_ns = numbers[4];
  l->has_total = true;
  return true;
}

static bool take_kind(struct lines *l, char **f, size_t n, bool is_site) {
  struct retain_answer *a = l->answer;
  uint64_t numbers[3];
  if (n != 5 || !l->has_total || a->kind_count == MOST_KINDS || !take_numbers(f + 1, 3, numbers))
    return false;
  *NEED_NEXT(a->kinds, a->kind_count) = (struct retain_kind){
      .is_site = is_site, .objects = numbers[0], .bytes = numbers[1],
      .more_holders = numbers[2], .name = f[4]};
  return true;
}

/* Takes the fields of a way: objects, bytes, steps, path, shape. */
static bool take_way_of(struct retain_answer *a, struct retain_kind *k, char **f) {
  uint64_t numbers[3];
  if (a->holder_count == MOST_HOLDERS || !take_numbers(f, 3, numbers)) return false;
  *NEED_NEXT(k->holders, k->holder_count) =
      (struct retain_holder){numbers[0], numbers[1], numbers[2],
                                                         f[3], f[4]};
  a->holder_count++;
  return true;
}

static bool take_holder(struct lines *l, char **f, size_t n) {
  struct retain_answer *a = l->answer;
  return n == 6 && a->kind_count && take_way_of(a, &a->kinds[a->kind_count - 1], f + 1);
}

/* Takes a way, which until now was only counted in more_holders. */
static bool take_way(struct lines *l, char **f, size_t n) {
  struct retain_answer *a = l->answer;
  uint64_t number;
  if (n != 7 || !take_number(f[1], &number) || number < 1 || number > a->kind_count) return false;
  struct retain_kind *k = &a->kinds[number - 1];
  if (k->more_holders) k->more_holders--;
  return take_way_of(a, k, f + 2);
}

static bool take_cut(struct lines *l, char **f, size_t n) {
  struct retain_answer *a = l->answer;
  uint64_t numbers[4];
  if (n != 5 || l->has_cut || !take_numbers(f + 1, 4, numbers)) return false;
  a->cut_kinds = numbers[0];
  a->cut_ways = numbers[1];
  a->in_no_way = numbers[2];
  a->in_no_kind = numbers[3];
  return l->has_cut = true;
}

static bool take_shape(struct retain_answer *a, char **f, size_t n) {
  uint64_t numbers[2];
  if (n != 5 || a->shape_count + a->thread_count == MOST_HOLDERS ||
      !take_numbers(f + 1, 2, numbers))
    return false;
  *NEED_NEXT(a->shapes, a->shape_count) =
      (struct retain_shape){numbers[0], numbers[1], f[3], f[4]};
  return true;
}

static bool take_thread(struct retain_answer *a, char **f, size_t n) {
  uint64_t numbers[2];
  if (n != 3 || a->shape_count + a->thread_count == MOST_HOLDERS ||
      !take_numbers(f + 1, 2, numbers))
    return false;
  *NEED_NEXT(a->threads, a->thread_count) = (struct retain_thread){numbers[0], numbers[1]};
  return true;
}

static bool take_line(struct lines *l, char *line) {
  char *f[MOST_FIELDS];
  size_t n = split(line, f);
  if (strcmp(f[0], "total") == 0) return take_total(l, f, n);
  if (strcmp(f[0], "kind") == 0) return take_kind(l, f, n, false);
  if (strcmp(f[0], "site") == 0) return take_kind(l, f, n, true);
  if (strcmp(f[0], "held") == 0) return take_holder(l, f, n);
  if (strcmp(f[0], "way") == 0) return take_way(l, f, n);
  if (strcmp(f[0], "shape") == 0) return take_shape(l->answer, f, n);
  if (strcmp(f[0], "thread") == 0) return take_thread(l->answer, f, n);
  if (strcmp(f[0], "cut") == 0) return take_cut(l, f, n);
  return true;
}

/* Returns the text after its first line, or NULL if it is not of this version. */
static char *after_first_line(char *text) {
  char *f[MOST_FIELDS], *next = strchr(text, '\n');
  uint64_t version;
  if (!next) return NULL;
  *next = '\0';
  bool known = split(text, f) == 2 && strcmp(f[0], "retain") == 0 &&
               take_number(f[1], &version) && version == RETAIN_ANSWER;
  return known ? next + 1 : NULL;
}

/* ---- answers ------------------------------------------------------------------ */

bool retain_answer_is_over(const char *text, size_t size) {
  const size_t last = sizeof LAST_LINE - 1;
  return size >= last && memcmp(text + size - last, LAST_LINE, last) == 0;
}

static bool take_lines(struct lines *l, char *text) {
  char *next;
  for (char *at = after_first_line(text); at && *at; at = next) {
    next = strchr(at, '\n');
    if (next) *next++ = '\0';
    if (!take_line(l, at)) return false;
  }
  return l->has_total;
}

static int by_address(const void *left, const void *right) {
  const struct retain_thread *a = left, *b = right;
  return (a->address > b->address) - (a->address < b->address);
}

static int by_number(const void *left, const void *right) {
  const struct retain_shape *a = left, *b = right;
  return (a->number > b->number) - (a->number < b->number);
}

/* Orders the threads and their shapes. Returns false if a shape comes twice, or a thread
   has none. */
static bool order_threads(struct retain_answer *a) {
  if (a->thread_count) qsort(a->threads, a->thread_count, sizeof *a->threads, by_address);
  if (a->shape_count) qsort(a->shapes, a->shape_count, sizeof *a->shapes, by_number);
  for (size_t i = 1; i < a->shape_count; i++)
    if (a->shapes[i].number == a->shapes[i - 1].number) return false;
  for (size_t i = 0; i < a->thread_count; i++)
    if (!retain_answer_way(a, a->threads[i].address)) return false;
  return true;
}

const struct retain_shape *retain_answer_way(const struct retain_answer *a, uint64_t address) {
  const struct retain_thread thread = {.address = address}, *found;
  if (!a->thread_count || !a->shape_count) return NULL;
  found = bsearch(&thread, a->threads, a->thread_count, sizeof thread, by_address);
  const struct retain_shape shape = {.number = found ? found->shape : UINT64_MAX};
  return found ? bsearch(&shape, a->shapes, a->shape_count, sizeof shape, by_number) : NULL;
}

bool retain_answer_take(struct retain_answer *a, char *text, size_t size) {
  struct lines l = {.answer = a};
  *a = (struct retain_answer){0};
  if (retain_answer_is_over(text, size) && !memchr(text, '\0', size) && take_lines(&l, text) &&
      order_threads(a))
    return true;
  retain_answer_free(a);
  return false;
}

void retain_answer_free(struct retain_answer *a) {
  for (size_t i = 0; i < a->kind_count; i++) free(a->kinds[i].holders);
  free(a->kinds);
  free(a->threads);
  free(a->shapes);
  *a = (struct retain_answer){0};
}
