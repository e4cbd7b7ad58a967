/* SPDX-License-Identifier: MIT */
/* callgrind.c: the profile format of callgrind
 * (https://valgrind.org/docs/manual/cl-format.html), for callgrind_annotate and
 * KCachegrind.
 *
 * Each function has a section: lines "LINE FIGURES..." with what its own lines took, and
 * for each call "cfi=", "cfn=", "calls=COUNT LINE" and a line with all that the call
 * took. The format identifies functions by name and file, so two functions with the same
 * name in one file get their lines added to the names. The figures of a recursive call
 * are 0, since the outermost call has them.
 *
 * The format has no escapes: what is not printable is written as \xNN. Readers would take
 * a name that begins with "(" for the number of a name, so its number is written before
 * it: "(3) (outside)".
 */
#include "export/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/paths.h"
#include "export/same_names.h"
#include "export/text_write.h"

static void put_text(FILE *out, const char *text) {
  export_write_text(out, text, "", "");
}

/* Writes the name of a file or function. `number`: its number among the names that begin
   with "(". */
static void put_name(FILE *out, const char *key, const char *name, size_t number) {
  fputs(key, out);
  if (name[0] == '(') fprintf(out, "(%zu) ", number);
  put_text(out, name);
}

static void put_source(FILE *out, const char *key, const struct export_profile *p,
                       uint32_t function) {
  const char *source = p->functions[function].source;
  put_name(out, key, source[0] ? source : "???", function + 1u);
  putc('\n', out);
}

/* Writes the name of a function. `sharing` says of each function which others share its
   name. */
static void put_function(FILE *out, const char *key, const struct export_profile *p,
                         uint32_t function, const enum export_sharing *sharing) {
  const struct export_function *f = &p->functions[function];
  put_name(out, key, f->name[0] ? f->name : "?", function + 1u);
  if (sharing[function] == EXPORT_NAME_IN_FILE) fprintf(out, ":%" PRIu32, f->line);
  putc('\n', out);
}

static void put_figures(FILE *out, uint32_t line, const double *value, size_t count) {
  fprintf(out, "%" PRIu32, line);
  for (size_t v = 0; v < count; v++)
    fprintf(out, " %.0f", value[v] < 0x1p63 ? value[v] : 0x1p63);
  putc('\n', out);
}

/* Returns the index of the figure that counts calls, or value_count if there is none. */
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
                     const enum export_sharing *sharing, FILE *out) {
  size_t calls = calls_of(p);
  if (e->callee == UINT32_MAX) {
    put_figures(out, e->line, e->value, p->value_count);
    return;
  }
  double count = calls < p->value_count ? e->own[calls] : 1;
  put_source(out, "cfi=", p, e->callee);
  put_function(out, "cfn=", p, e->callee, sharing);
  fprintf(out, "calls=%.0f %" PRIu32 "\n", count > 0 ? count : 1, e->callee_line);
  put_figures(out, e->line, e->value, p->value_count);
}

int export_callgrind(const struct export_profile *p, FILE *out) {
  struct export_paths paths;
  enum export_sharing *sharing = export_find_same_names(p);
  int status = export_paths_make(&paths, p, true);
  if (status == 0 && sharing) {
    put_head(p, &paths, out);
    for (size_t i = 0; i < paths.count; i++) {
      const struct export_edge *e = &paths.edges[i];
      if (i == 0 || e->caller != e[-1].caller) {
        putc('\n', out);
        put_source(out, "fl=", p, e->caller);
        put_function(out, "fn=", p, e->caller, sharing);
      }
      put_edge(p, e, sharing, out);
    }
  }
  export_paths_free(&paths);
  status = sharing ? status : -1;
  free(sharing);
  return status;
}
