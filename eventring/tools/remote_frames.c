/* SPDX-License-Identifier: MIT */
/* remote_frames.c: shows the frames of a stack of a live process. */
#include "remote_frames.h"

#include <inttypes.h>
#include <stdio.h>

#include "last_stacks.h"
#include "remote/variables.h"

struct frame_row {
  struct remote_functions *functions;
  const struct remote_frame *frame;
  const struct remote_function *function;
  bool locals;
};

/* Tells whether a frame is of a function of the language. */
static bool is_lua(const void *row) {
  const struct remote_function *f = ((const struct frame_row *)row)->function;
  return f != NULL && !f->is_c;
}

VIEW_GETTER(frame_name, struct frame_row) { return view_text(remote_function_name(row->function)); }
VIEW_GETTER(frame_kind, struct frame_row) { return view_text(is_lua(row) ? "lua" : "c"); }

static VIEW(function_view, struct remote_function,
    {"source", NULL, VIEW_PLAIN, ROW(source)},
    {"defined", NULL, VIEW_PLAIN, ROW(first_line), .help = "its first line"})

static VIEW(line_view, struct remote_frame,
    {"line", NULL, VIEW_PLAIN, ROW(line), .flags = VIEW_MAYBE | VIEW_NO_0},
    {"line_noted", NULL, VIEW_PLAIN, ROW(line_noted), .help = "the line may be past"})
static VIEW(call_view, struct remote_frame,
    {"tail", NULL, VIEW_PLAIN, ROW(tail), VIEW_IF(tail), .flags = VIEW_PART},
    {"finalizer", NULL, VIEW_PLAIN, ROW(finalizer), VIEW_IF(finalizer),
     .flags = VIEW_PART})

static void print_variable(void *closure, const struct remote_variable *variable) {
  (void)closure;
  table_say(stdout, 12, 4, "%s = %s", variable->name, variable->text);
}

static void put_variable(void *to, const struct remote_variable *variable) {
  view_row(to, variable);
}

static bool has_locals(const void *row) { return ((const struct frame_row *)row)->locals; }

static void locals_of(struct view_to *to, const void *row) {
  const struct frame_row *r = row;
  remote_variables(r->functions, r->frame, put_variable, to);
}

static VIEW(local_view, struct remote_variable,
    {"name", NULL, VIEW_PLAIN, ROW(name)},
    {"type", NULL, VIEW_PLAIN, ROW(type)},
    {"value", NULL, VIEW_PLAIN, ROW(text)})

#define OF_FRAME .form = VIEW_INCLUDE, .offset = offsetof(struct frame_row, frame)
VIEW(remote_frame_view, struct frame_row,
    {"name", NULL, VIEW_PLAIN, VIEW_GET(TEXT, frame_name)},
    {"kind", NULL, VIEW_PLAIN, VIEW_GET(TEXT, frame_kind), .help = "lua or c"},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct frame_row, function), .has = is_lua,
     .flags = VIEW_POINTER, .view = &function_view},
    {OF_FRAME, .has = is_lua, .flags = VIEW_POINTER, .view = &line_view},
    {OF_FRAME, .flags = VIEW_POINTER, .view = &call_view},
    {"locals", .form = VIEW_ROWS, .has = has_locals, .view = &local_view, .rows = locals_of})

void remote_frames_put(struct view_to *to, struct remote_functions *functions,
                       const struct remote_stack *stack, bool locals) {
  for (size_t i = 0; i < stack->count; i++)
    view_row(to, &(struct frame_row){functions, &stack->frames[i], stack->frames[i].function,
                                     locals});
}

static void print_frame(const struct frame_row *row) {
  const struct remote_frame *frame = row->frame;
  const struct remote_function *f = row->function;
  uint32_t line = !is_lua(row) ? 0 : frame->line ? frame->line : f->first_line;
  char number[16] = "", remark[64];
  if (line) snprintf(number, sizeof number, "%" PRIu32, line);
  snprintf(remark, sizeof remark, "%s%s%s",
           line && !frame->line ? " (its first line)" : frame->line_noted ? " (last noted)" : "",
           frame->tail ? ", tail-called" : "", frame->finalizer ? ", a finalizer" : "");
  stack_line_print(remote_function_name(f), is_lua(row) ? f->source : "[C]", number, remark);
  if (row->locals) remote_variables(row->functions, frame, print_variable, NULL);
}

void remote_frames_print(struct remote_functions *functions, const struct remote_stack *stack,
                         bool locals) {
  if (stack->moving) printf("    ... (inner frames, which changed while they were read)\n");
  for (size_t i = 0; i < stack->count; i++) {
    const struct remote_frame *frame = &stack->frames[i];
    if (i > 0 && frame->thread != stack->frames[i - 1].thread)
      printf("  which was resumed by\n");
    print_frame(&(struct frame_row){functions, frame, frame->function, locals});
  }
  if (stack->below) printf("    ... (%" PRIu64 " more)\n", stack->below);
}
