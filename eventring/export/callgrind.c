/* SPDX-License-Identifier: MIT */
/* callgrind.c: the profile format of callgrind (https://valgrind.org/docs/manual/cl-format.html),
 * for callgrind_annotate and KCachegrind.
 *
 * A section for each function: lines "LINE FIGURES..." of what its own lines took, and for each
 * call "cfi=", "cfn=", "calls=COUNT LINE" and a line with all that the call took. Functions are
 * known by name and file there: two of the same name in a file get their line in it. The
 * figures of a recursive call are 0, since the outermost one has them.
 *
 * The format has no escapes: the end of a line is written as '?', and "(" at the beginning of a
 * name, which would be a number, as '['. */
#include "export/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/paths.h"

static void put_text(FILE *out, const char *text) {
  for (const char *at = text; *at; at++)
    putc(*at == '\n' || *at == '\r' ? '?' : *at == '(' && at == text ? '[' : *at, out);
}

static void put_source(FILE *out, const char *key, const struct export_function *f) {
  fputs(key, out);
  put_text(out, f->source[0] ? f->source : "???");
  putc('\n', out);
}

/* `shared`: another one of this file has the name. */
static void put_function(FILE *out, const char *key, const struct export_function *f,
                         bool shared) {
  fputs(key, out);
  put_text(out, f->name[0] ? f->name : "?");
  if (shared) fprintf(out, ":%" PRIu32, f->line);
  putc('\n', out);
}

static int compare_names(const struct export_function *a, const struct export_function *b) {
  int order = strcmp(a->source, b->source);
  return order ? order : strcmp(a->name, b->name);
}

static int compare_pointers(const void *left, const void *right) {
  return compare_names(*(const struct export_function *const *)left,
                       *(const struct export_function *const *)right);
}

/* Which functions have a name that another one at another line has as well. */
static bool *find_shared(const struct export_profile *p) {
  const struct export_function **order = malloc((p->function_count + 1) * sizeof *order);
  bool *shared = calloc(p->function_count + 1, sizeof *shared);
  for (size_t i = 0; order && i < p->function_count; i++) order[i] = &p->functions[i];
  if (order && p->function_count) qsort(order, p->function_count, sizeof *order, compare_pointers);
  for (size_t i = 1; order && shared && i < p->function_count; i++)
    if (compare_names(order[i - 1], order[i]) == 0 && order[i - 1]->line != order[i]->line)
      shared[order[i - 1] - p->functions] = shared[order[i] - p->functions] = true;
  bool failed = !order;
  free(order);
  if (!failed) return shared;
  free(shared);
  return NULL;
}

static void put_figures(FILE *out, uint32_t line, const double *value, size_t count) {
  fprintf(out, "%" PRIu32, line);
  for (size_t v = 0; v < count; v++)
    fprintf(out, " %.0f", value[v] < 0x1p63 ? value[v] : 0x1p63);
  putc('\n', out);
}

/* The figure that is the number of calls; value_count: there is none. */
static size_t calls_of(const struct export_profile *p) {
  size_t v = 0;
  while (v < p->value_count && strcmp(p->values[v].name, "calls") != 0) v++;
  return v;
}

static void put_head(const struct export_profile *p, const struct export_paths *paths, FILE *out) {
  fputs("# callgrind format\nversion: 1\ncreator: eventring\ncmd: ", out);
  put_text(out, p->program);
  fputs("\npositions: line\nevents:", out);
  for (size_t v = 0; v < p->value_count; v++) fprintf(out, " %s", p->values[v].name);
  fputs("\nsummary:", out);
  for (size_t v = 0; v < p->value_count; v++) fprintf(out, " %.0f", paths->total[v]);
  putc('\n', out);
}

static void put_edge(const struct export_profile *p, const struct export_edge *e,
                     const bool *shared, FILE *out) {
  size_t calls = calls_of(p);
  if (e->callee == UINT32_MAX) {
    put_figures(out, e->line, e->value, p->value_count);
    return;
  }
  const struct export_function *callee = &p->functions[e->callee];
  double count = calls < p->value_count ? e->own[calls] : 1;
  put_source(out, "cfi=", callee);
  put_function(out, "cfn=", callee, shared[e->callee]);
  fprintf(out, "calls=%.0f %" PRIu32 "\n", count > 0 ? count : 1, e->callee_line);
  put_figures(out, e->line, e->value, p->value_count);
}

int export_callgrind(const struct export_profile *p, FILE *out) {
  struct export_paths paths;
  bool *shared = find_shared(p);
  int status = export_paths_make(&paths, p, true);
  if (status == 0 && shared) {
    put_head(p, &paths, out);
    for (size_t i = 0; i < paths.count; i++) {
      const struct export_edge *e = &paths.edges[i];
      if (i == 0 || e->caller != e[-1].caller) {
        putc('\n', out);
        put_source(out, "fl=", &p->functions[e->caller]);
        put_function(out, "fn=", &p->functions[e->caller], shared[e->caller]);
      }
      put_edge(p, e, shared, out);
    }
  }
  export_paths_free(&paths);
  status = shared ? status : -1;
  free(shared);
  return status;
}
