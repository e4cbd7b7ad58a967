/* SPDX-License-Identifier: MIT */
/* heap_export.c: writes a heap in the formats of other tools. */
#include "heap_export.h"
#include "eventring/tools.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/bound.h"
#include "export/export.h"
#include "formats.h"
#include "new_file.h"
#include "signals.h"

/* ---- The file ----------------------------------------------------------------- */

static sigset_t before; /* the signals that were blocked before the file was opened */
static struct new_file file;

static FILE *open_with(int create(struct new_file *, const char *), const char *path) {
  int fd = create(&file, path);
  FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
  if (out) return out;
  if (fd >= 0) {
    new_file_drop(&file);
    no_memory();
  }
  return NULL;
}

FILE *output_file_open(const char *path) {
  if (!path || is_standard_output(path)) return stdout;
  before = signals_hold();
  FILE *out = open_with(new_file_create, path);
  if (out) return out;
  signals_release(&before);
  return NULL;
}

FILE *output_file_replace(const char *path) {
  sigset_t none;
  if (path && is_standard_output(path)) path = NULL;
  sigemptyset(&none);
  if (path) pthread_sigmask(SIG_BLOCK, &none, &before);
  return path ? open_with(new_file_replace, path) : stdout;
}

int output_file_close(FILE *out, const char *path) {
  if (out == stdout) return STATUS_OK; /* errors of standard output are reported at the
                                          end */
  bool failed = ferror(out);
  if (fclose(out) != 0) failed = true;
  if (failed) {
    complain("cannot write %s: %s", path, strerror(errno));
    new_file_drop(&file);
  } else {
    failed = !new_file_keep(&file);
  }
  signals_release(&before);
  return failed ? STATUS_WRONG : STATUS_OK;
}

/* ---- The profile -------------------------------------------------------------- */

static const char *text_or(const char *text, const char *other) { return text ? text : other; }

/* Returns the functions: function n has index n; unknown ones are "?". */
static struct export_function *functions_of(const eventring_cursor *cursor, uint32_t count) {
  struct export_function *functions = need_zeroed(count, sizeof *functions);
  for (uint32_t id = 0; id < count; id++) {
    struct eventring_function_info info;
    functions[id] = (struct export_function){"", "", 0};
    if (eventring_cursor_function(cursor, id, &info) == 0)
      functions[id] = (struct export_function){info.name, info.source, info.line};
  }
  return functions;
}

static struct export_stack *stacks_of(const eventring_cursor *cursor, uint32_t count,
                                      uint32_t functions) {
  struct export_stack *stacks = need_zeroed(count, sizeof *stacks);
  for (uint32_t id = 0; id < count; id++) {
    struct eventring_stack_info info;
    if (eventring_cursor_stack(cursor, id, &info) != 0) continue;
    uint32_t function = info.function < functions ? info.function : 0;
    stacks[id] = (struct export_stack){info.parent, function, info.line};
  }
  return stacks;
}

/* Writes a profile. If it would be too long, joins the stacks with the smallest figures
   (export/bound.h). Ends the command if it is out of memory. */
static void write_bounded(const struct export_profile *profile, const struct format *format,
                          FILE *out) {
  struct export_bounded bounded;
  if (export_bound(&bounded, profile) != 0) no_memory();
  if (format->write_profile(&bounded.profile, out) != 0) no_memory();
  if (bounded.others)
    complain("%zu of %zu stacks, those with the smallest figures, are `(others)': all would make "
             "too long a file", bounded.others, profile->row_count);
  export_bounded_free(&bounded);
}

/* The figures, in the order of the formats' values. */
static const struct {
  enum eva_measure measure;
  bool objects;
  struct export_value value;
} values[] = {
    {EVA_LIVE, true, {"inuse_objects", "count", NULL}},
    {EVA_LIVE, false, {"inuse_space", "bytes", "bytes that are alive"}},
    {EVA_ALLOCATED, true, {"alloc_objects", "count", NULL}},
    {EVA_ALLOCATED, false, {"alloc_space", "bytes", "bytes that were allocated"}},
    {EVA_TEMPORARY, false,
     {"temporary_space", "bytes", "bytes that died in their first collection"}},
    {EVA_PEAK, false, {"peak_space", "bytes", "bytes that were alive when most were"}}};
enum { VALUES = sizeof values / sizeof values[0] };
_Static_assert((int)VALUES <= (int)EXPORT_VALUES, "values");

static void fill_row(struct export_row *to, const struct eva_heap_row *row,
                     eventring_cursor *cursor, uint32_t stacks) {
  const char *kind = eventring_cursor_name(cursor, EVENTRING_NAME_MEMORY_KIND, row->kind);
  const struct eventring_def *span =
      row->span ? eventring_cursor_def(cursor, row->span - 1u) : NULL;
  const char *origin = eventring_cursor_name(cursor, EVENTRING_NAME_MEMORY_ORIGIN, row->origin);
  struct eventring_stack_info info;
  bool known = row->stack < stacks && eventring_cursor_stack(cursor, row->stack, &info) == 0;
  *to = (struct export_row){.stack = known ? row->stack : 0};
  for (int v = 0; v < VALUES; v++) {
    const struct eva_amount *amount = &row->amount[values[v].measure];
    double value = values[v].objects ? amount->objects : amount->bytes;
    to->value[v] = value > 0 ? value : 0;
  }
  to->label[0] = (struct export_label){"kind", text_or(kind, "?")};
  if (origin) to->label[1] = (struct export_label){"origin", origin};
  if (span) to->label[2] = (struct export_label){"span", span->name};
}

static size_t main_value(enum eva_measure main) {
  for (size_t v = 0; v < VALUES; v++)
    if (values[v].measure == main && !values[v].objects) return v;
  return 0;
}

static int write_profile(const struct eva_heap *heap, enum eva_measure main,
                         eventring_cursor *cursor, const char *resource,
                         const struct format *format, FILE *out) {
  const struct eva_heap_row *rows;
  struct export_value names[VALUES];
  struct eventring_info info = {.size = sizeof info};
  const struct eva_heap_state *state = eva_heap_state(heap);
  size_t count = eva_heap_rows(heap, &rows);
  struct export_row *to = need_zeroed(count + 1, sizeof *to);
  eventring_cursor_info(cursor, &info);
  /* at least one, for "?" */
  const uint32_t function_end = info.function_end ? info.function_end : 1;
  const uint32_t stack_end = info.stack_end ? info.stack_end : 1;
  for (int v = 0; v < VALUES; v++) names[v] = values[v].value;
  for (size_t i = 0; i < count; i++) fill_row(&to[i], &rows[i], cursor, stack_end);
  struct export_function *functions = functions_of(cursor, function_end);
  struct export_stack *stacks = stacks_of(cursor, stack_end, function_end);
  const struct export_profile profile = {
      .program = info.program, .resource = resource, .start_wall_ns = info.start_wall_ns,
      .duration_ns = state->ns > state->start_ns ? state->ns - state->start_ns : 0,
      .values = names, .value_count = VALUES, .main_value = main_value(main),
      .functions = functions, .function_count = function_end, .stacks = stacks,
      .stack_count = stack_end, .rows = to, .row_count = count};
  write_bounded(&profile, format, out);
  free(functions);
  free(stacks);
  free(to);
  return STATUS_OK;
}

/* Opens the output: `path`, or standard output if that is NULL or "-". */
static FILE *open_profile(const struct format *format, const char *path) {
  const bool is_stdout = !path || is_standard_output(path);
  if (is_stdout && format->is_binary && !standard_output_takes("this format")) return NULL;
  return output_file_open(path);
}

int export_write(const struct export_profile *profile, const char *name, const char *path) {
  const struct format *format = format_of_profiles(name);
  FILE *out = open_profile(format, path);
  if (!out) return STATUS_WRONG;
  write_bounded(profile, format, out);
  return output_file_close(out, path);
}

int heap_export(const struct eva_heap *heap, enum eva_measure main, eventring_cursor *cursor,
                const char *resource, const char *name, const char *path) {
  const struct format *format = format_of_profiles(name);
  FILE *out = open_profile(format, path);
  if (!out) return STATUS_WRONG;
  write_profile(heap, main, cursor, resource, format, out);
  return output_file_close(out, path);
}
