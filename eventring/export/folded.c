/* SPDX-License-Identifier: MIT */
/* folded.c: one stack a line, outermost frame first:
 *
 *   main;load (a.lua:3);parse (a.lua:17) 4096
 *
 * The format has no escapes: a semicolon is written as '?', an unprintable character as
 * \xNN. A row whose figure is below one half is left out.
 */
#include "export/export.h"

#include <inttypes.h>
#include <stdlib.h>

#include "export/text_write.h"

static void put_text(FILE *out, const char *text) {
  export_write_text(out, text, "", ";");
}

static void put_frame(const struct export_profile *p, const struct export_stack *s, FILE *out) {
  const struct export_function *f = &p->functions[s->function];
  put_text(out, f->name[0] ? f->name : "?");
  if (!f->source[0]) return;
  fputs(" (", out);
  put_text(out, f->source);
  if (s->line) fprintf(out, ":%" PRIu32, s->line);
  putc(')', out);
}

/* Stores the stacks from `stack` to the outermost; returns their number. */
static size_t unwind(const struct export_profile *p, uint32_t stack, uint32_t *path) {
  size_t count = 0;
  for (; stack; stack = p->stacks[stack].parent) path[count++] = stack;
  return count;
}

int export_folded(const struct export_profile *p, FILE *out) {
  uint32_t *path = malloc((p->stack_count + 1) * sizeof *path);
  if (!path) return -1;
  for (size_t i = 0; i < p->row_count; i++) {
    const struct export_row *row = &p->rows[i];
    if (row->value[p->main_value] < 0.5) continue;
    size_t depth = unwind(p, row->stack, path);
    if (!depth) fputs("?", out);
    for (size_t n = depth; n-- > 0;) {
      put_frame(p, &p->stacks[path[n]], out);
      if (n) putc(';', out);
    }
    fprintf(out, " %.0f\n", row->value[p->main_value]);
  }
  free(path);
  return 0;
}
