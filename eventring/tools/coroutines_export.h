/* SPDX-License-Identifier: MIT */
/* coroutines_export.h: writes where coroutines wait, in the formats of other tools
   (export/export.h). */
#ifndef EVENTRING_TOOL_COROUTINES_EXPORT_H
#define EVENTRING_TOOL_COROUTINES_EXPORT_H

#include "export/export.h"
#include "remote/stack_read.h"

struct coroutines_export { /* zeroed: empty */
  struct export_function *functions; /* index is the number of a remote function, plus
                                        1 */
  size_t function_count;
  struct export_stack *stacks;
  size_t stack_count;
  struct export_row *rows;
  size_t row_count;
};

/* Adds coroutines with this stack. If the stack is empty, adds coroutines that will begin
   with `begins`, NULL if that is not known. Copies `domain`. */
void coroutines_export_add(struct coroutines_export *x, const struct remote_stack *stack,
                           const struct remote_function *begins, const char *domain,
                           uint64_t count, uint64_t bytes);
/* Writes all to `path` (NULL: standard output) and frees it. Returns the exit status. */
int coroutines_export_write(struct coroutines_export *x, const char *program, const char *format,
                            const char *path);

#endif
