/* SPDX-License-Identifier: MIT */
/* speedscope.c: the file format of speedscope (JSON schema at
 * https://www.speedscope.app/file-format-schema.json): a table of frames, and for each
 * figure a profile of type "sampled", whose samples are stacks with their weights. */
#include "export/export.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/json.h"

/* The frames of the stacks, by function and line. Equal frames share an index. */
struct frames {
  uint32_t *of_stack; /* index of the frame of each stack */
  uint32_t *stack_of; /* for each frame, a stack that has it */
  uint32_t count;
};

static const struct export_profile *sorting;

static int compare_frames(const void *left, const void *right) {
  const struct export_stack *a = &sorting->stacks[*(const uint32_t *)left];
  const struct export_stack *b = &sorting->stacks[*(const uint32_t *)right];
  if (a->function != b->function) return a->function < b->function ? -1 : 1;
  if (a->line != b->line) return a->line < b->line ? -1 : 1;
  return 0;
}

static int number_frames(const struct export_profile *p, struct frames *f) {
  size_t room = p->stack_count + 1;
  uint32_t *order = malloc(room * sizeof *order), used = 0;
  f->of_stack = calloc(room, sizeof *f->of_stack);
  f->stack_of = calloc(room, sizeof *f->stack_of);
  if (!order || !f->of_stack || !f->stack_of) {
    free(order);
    return -1;
  }
  for (uint32_t i = 1; i < p->stack_count; i++) order[used++] = i;
  sorting = p;
  if (used) qsort(order, used, sizeof *order, compare_frames);
  f->stack_of[f->count++] = 0; /* the frame of rows without a stack */
  for (uint32_t i = 0; i < used; i++) {
    if (!i || compare_frames(&order[i - 1], &order[i]) != 0) f->stack_of[f->count++] = order[i];
    f->of_stack[order[i]] = f->count - 1;
  }
  free(order);
  return 0;
}

static void put_frame(struct eva_json *json, const struct export_profile *p, uint32_t stack) {
  const struct export_stack *s = &p->stacks[stack];
  const struct export_function *f = &p->functions[stack ? s->function : 0];
  eva_json_open_object(json);
  eva_json_string_at(json, "name", f->name[0] ? f->name : "?");
  if (f->source[0]) eva_json_string_at(json, "file", f->source);
  if (stack && s->line) eva_json_uint_at(json, "line", s->line);
  eva_json_close_object(json);
}

static void put_sample(struct eva_json *json, const struct export_profile *p,
                       const struct frames *frames, uint32_t stack, uint32_t *path) {
  size_t depth = 0;
  for (uint32_t s = stack; s; s = p->stacks[s].parent) path[depth++] = frames->of_stack[s];
  eva_json_open_array(json);
  if (!depth) eva_json_uint(json, 0);
  while (depth-- > 0) eva_json_uint(json, path[depth]);
  eva_json_close_array(json);
}

static void put_profile(struct eva_json *json, const struct export_profile *p,
                        const struct frames *frames, size_t value, uint32_t *path) {
  bool bytes = strcmp(p->values[value].unit, "bytes") == 0;
  bool time = strcmp(p->values[value].unit, "nanoseconds") == 0;
  double sum = 0;
  eva_json_open_object(json);
  eva_json_string_at(json, "type", "sampled");
  eva_json_string_at(json, "name", p->values[value].name);
  eva_json_string_at(json, "unit", bytes ? "bytes" : time ? "nanoseconds" : "none");
  eva_json_key(json, "samples");
  eva_json_open_array(json);
  for (size_t i = 0; i < p->row_count; i++)
    if (p->rows[i].value[value] > 0) put_sample(json, p, frames, p->rows[i].stack, path);
  eva_json_close_array(json);
  eva_json_key(json, "weights");
  eva_json_open_array(json);
  for (size_t i = 0; i < p->row_count; i++) {
    if (!(p->rows[i].value[value] > 0)) continue;
    eva_json_double(json, p->rows[i].value[value]);
    sum += p->rows[i].value[value];
  }
  eva_json_close_array(json);
  eva_json_uint_at(json, "startValue", 0);
  eva_json_double_at(json, "endValue", sum);
  eva_json_close_object(json);
}

static void put_all(const struct export_profile *p, const struct frames *frames, uint32_t *path,
                    FILE *out) {
  struct eva_json json;
  eva_json_start(&json, out);
  eva_json_open_object(&json);
  eva_json_string_at(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
  eva_json_string_at(&json, "name", p->program);
  eva_json_string_at(&json, "exporter", "eventring");
  eva_json_uint_at(&json, "activeProfileIndex", p->main_value);
  eva_json_key(&json, "shared");
  eva_json_open_object(&json);
  eva_json_key(&json, "frames");
  eva_json_open_array(&json);
  for (uint32_t i = 0; i < frames->count; i++) put_frame(&json, p, frames->stack_of[i]);
  eva_json_close_array(&json);
  eva_json_close_object(&json);
  eva_json_key(&json, "profiles");
  eva_json_open_array(&json);
  for (size_t v = 0; v < p->value_count; v++) put_profile(&json, p, frames, v, path);
  eva_json_close_array(&json);
  eva_json_close_object(&json);
  eva_json_line(&json);
}

int export_speedscope(const struct export_profile *p, FILE *out) {
  struct frames frames = {0};
  uint32_t *path = malloc((p->stack_count + 1) * sizeof *path);
  int status = path ? number_frames(p, &frames) : -1;
  if (status == 0) put_all(p, &frames, path, out);
  free(path);
  free(frames.of_stack);
  free(frames.stack_of);
  return status;
}
