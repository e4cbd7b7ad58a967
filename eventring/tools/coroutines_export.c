/* SPDX-License-Identifier: MIT */
/* coroutines_export.c: writes where coroutines wait, for other tools: one stack for each
 * group, with the number and the bytes of its coroutines. */
#include "coroutines_export.h"

#include <stdlib.h>
#include <time.h>

#include "heap_export.h"
#include "tool.h"

enum { COUNT, BYTES, VALUES };

/* Returns the index of a function, or 0 if it is not known. */
static uint32_t index_of(struct coroutines_export *x, const struct remote_function *f) {
  if (!f) return 0;
  while (x->function_count <= (size_t)f->number + 1)
    *NEED_NEXT(x->functions, x->function_count) = (struct export_function){0};
  struct export_function *to = &x->functions[f->number + 1];
  if (!to->name)
    *to = (struct export_function){need_copy(remote_function_name(f)),
                                   need_copy(f->is_c ? f->site : f->source), f->first_line};
  return f->number + 1;
}

static uint32_t add_frame(struct coroutines_export *x, uint32_t parent,
                          const struct remote_function *f, uint32_t line) {
  const uint32_t function = index_of(x, f);
  if (!x->stack_count) *NEED_NEXT(x->stacks, x->stack_count) = (struct export_stack){0};
  *NEED_NEXT(x->stacks, x->stack_count) = (struct export_stack){parent, function, line};
  return (uint32_t)x->stack_count - 1;
}

void coroutines_export_add(struct coroutines_export *x, const struct remote_stack *stack,
                           const struct remote_function *begins, const char *domain,
                           uint64_t count, uint64_t bytes) {
  uint32_t at = 0;
  for (size_t i = stack->count; i-- > 0;)
    at = add_frame(x, at, stack->frames[i].function, stack->frames[i].line);
  if (!stack->count) at = add_frame(x, 0, begins, begins ? begins->first_line : 0);
  *NEED_NEXT(x->rows, x->row_count) =
      (struct export_row){.stack = at, .value = {[COUNT] = (double)count, [BYTES] = (double)bytes},
                          .label = {{"domain", need_copy(domain)}}};
}

int coroutines_export_write(struct coroutines_export *x, const char *program, const char *format,
                            const char *path) {
  static const struct export_value values[VALUES] = {
      [COUNT] = {"coroutines", "count", "coroutines that wait"},
      [BYTES] = {"space", "bytes", "bytes of them and their stacks"}};
  if (!x->function_count) *NEED_NEXT(x->functions, x->function_count) = (struct export_function){0};
  for (size_t i = 0; i < x->function_count; i++)
    if (!x->functions[i].name)
      x->functions[i] = (struct export_function){need_copy("?"), need_copy(""), 0};
  const struct export_profile profile = {
      .program = program, .start_wall_ns = time(NULL) * INT64_C(1000000000), .values = values,
      .value_count = VALUES,
      .functions = x->functions, .function_count = x->function_count, .stacks = x->stacks,
      .stack_count = x->stack_count, .rows = x->rows, .row_count = x->row_count};
  int status = export_write(&profile, format, path);
  for (size_t i = 0; i < x->function_count; i++) {
    free((char *)x->functions[i].name);
    free((char *)x->functions[i].source);
  }
  for (size_t i = 0; i < x->row_count; i++) free((char *)x->rows[i].label[0].text);
  free(x->functions);
  free(x->stacks);
  free(x->rows);
  *x = (struct coroutines_export){0};
  return status;
}
