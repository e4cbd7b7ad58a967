/* SPDX-License-Identifier: MIT */
/* dot.c: a graph of functions and calls for Graphviz. A box is a function, with its own
 * share and its share including callees. The larger the share, the redder the box.
 * Functions and calls with a share of less than 1/200 are left out.
 */
#include "export/export.h"

#include <inttypes.h>

#include "export/paths.h"
#include "export/text_write.h"

#define LEAST_SHARE 0.005

/* Writes a text that stands between two quotes. */
static void put_text(FILE *out, const char *text) { export_write_text(out, text, "\"\\", ""); }

/* Writes the colour of a share, from white to red. */
static void put_colour(FILE *out, double share) {
  unsigned other = (unsigned)(255 - 175 * (share < 1 ? share : 1));
  fprintf(out, "\"#ff%02x%02x\"", other, other);
}

static void put_function(const struct export_profile *p, const struct export_paths *paths,
                         uint32_t function, FILE *out) {
  const struct export_function *f = &p->functions[function];
  double total = paths->total[p->main_value];
  double inclusive = paths->inclusive[function][p->main_value] / total;
  double own = paths->own[function][p->main_value] / total;
  fprintf(out, "  f%" PRIu32 " [label=\"", function);
  put_text(out, f->name[0] ? f->name : "?");
  if (f->source[0]) {
    fputs("\\n", out);
    put_text(out, f->source);
    if (f->line) fprintf(out, ":%" PRIu32, f->line);
  }
  fprintf(out, "\\n%.1f %% (own %.1f %%)\", fillcolor=", 100 * inclusive, 100 * own);
  put_colour(out, inclusive);
  fputs("];\n", out);
}

static void put_edge(const struct export_profile *p, const struct export_paths *paths,
                     const struct export_edge *e, FILE *out) {
  double total = paths->total[p->main_value];
  double share = (e->value[p->main_value] + e->recursive[p->main_value]) / total;
  if (share > 1) share = 1; /* each recursive call counts, so the sum may be above 1 */
  fprintf(out, "  f%" PRIu32 " -> f%" PRIu32 " [label=\"%.1f %%\", penwidth=%.1f, color=",
          e->caller, e->callee, 100 * share, 1 + 4 * share);
  put_colour(out, 0.3 + 0.7 * share);
  fputs("];\n", out);
}

static bool is_shown(const struct export_profile *p, const struct export_paths *paths,
                     uint32_t function) {
  double total = paths->total[p->main_value];
  return total > 0 && paths->inclusive[function][p->main_value] >= LEAST_SHARE * total;
}

int export_dot(const struct export_profile *p, FILE *out) {
  struct export_paths paths;
  int status = export_paths_make(&paths, p, false);
  if (status == 0) {
    fputs("digraph profile {\n  label=\"", out);
    put_text(out, p->program);
    fprintf(out, ": %s\";\n  node [shape=box, style=filled];\n",
            p->value_count ? p->values[p->main_value].name : "");
    for (uint32_t f = 0; f < p->function_count; f++)
      if (is_shown(p, &paths, f)) put_function(p, &paths, f, out);
    for (size_t i = 0; i < paths.count; i++) {
      const struct export_edge *e = &paths.edges[i];
      if (e->callee != UINT32_MAX && is_shown(p, &paths, e->caller) &&
          is_shown(p, &paths, e->callee))
        put_edge(p, &paths, e, out);
    }
    fputs("}\n", out);
  }
  export_paths_free(&paths);
  return status;
}
