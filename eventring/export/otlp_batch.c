/* SPDX-License-Identifier: MIT */
/* otlp_batch.c: writes a file of OTLP: messages, each with the items of one process. */
#include "export/otlp_batch.h"

#include <stdio.h>
#include <stdlib.h>

#include "eventring/tools.h"
#include "format/array.h"

uint64_t otlp_wall_ns(const struct eventring_info *info, uint64_t ns) {
  const uint64_t wall = info->start_wall_ns > 0 ? (uint64_t)info->start_wall_ns : 0;
  if (ns < info->start_ns) return wall > info->start_ns - ns ? wall - (info->start_ns - ns) : 0;
  return ns - info->start_ns < UINT64_MAX - wall ? wall + (ns - info->start_ns) : UINT64_MAX;
}

int otlp_file_open(struct otlp_file *file, struct export_run *run, bool is_json,
                   enum otlp_field data, enum otlp_field of_scope, enum otlp_field item) {
  *file = (struct otlp_file){.run = run, .is_json = is_json, .data = data, .of_scope = of_scope,
                             .item = item};
  char text[sizeof run->note];
  const int status = otlp_said_read(&file->said, run->resource, text, sizeof text);
  if (status < 0 && text[0]) snprintf(run->error, sizeof run->error, "%s", text);
  if (status > 0) snprintf(run->note, sizeof run->note, "%s", text);
  return status < 0 ? -1 : 0;
}

/* ---- Messages --------------------------------------------------------------------- */

static void put_count(struct otlp_text *t, const char *key, uint64_t count) {
  if (count) otlp_attribute_int(t, OTLP_SCOPE_ATTRIBUTES, key, (int64_t)count);
}

static void put_scope(struct otlp_file *file, struct otlp_text *t) {
  const struct otlp_counts *c = &file->counts;
  const size_t scope = otlp_open(t, OTLP_SCOPE);
  otlp_put_scope(t);
  if (c->missed || c->lost || c->steps || c->events) {
    otlp_open_list(t, OTLP_SCOPE_ATTRIBUTES);
    put_count(t, "eventring.events_missed", c->missed);
    put_count(t, "eventring.events_lost", c->lost);
    put_count(t, "eventring.steps_outside_spans", c->steps);
    put_count(t, "eventring.events_outside_spans", c->events);
    otlp_close_list(t);
  }
  otlp_close(t, scope);
}

static void write_batch(struct otlp_file *file, struct otlp_batch *batch) {
  struct otlp_text t = {.is_json = file->is_json};
  if (t.is_json) protobuf_add(&t.b, "{", 1);
  otlp_open_list(&t, file->data);
  const size_t of_process = otlp_item(&t, file->data), resource = otlp_open(&t, OTLP_RESOURCE);
  otlp_join(&t, batch->resource.b.data, batch->resource.b.size);
  otlp_close(&t, resource);
  otlp_open_list(&t, file->of_scope);
  const size_t of_scope = otlp_item(&t, file->of_scope);
  put_scope(file, &t);
  if (batch->items.b.size) {
    otlp_open_list(&t, file->item);
    otlp_join(&t, batch->items.b.data, batch->items.b.size);
    otlp_close_list(&t);
  }
  otlp_close(&t, of_scope);
  otlp_close_list(&t);
  otlp_close(&t, of_process);
  otlp_close_list(&t);
  if (t.is_json) protobuf_add(&t.b, "}\n", 2);
  file->failed |= t.b.failed || batch->items.b.failed || batch->resource.b.failed;
  if (!file->failed) export_put(file->run->out, t.b.data, t.b.size);
  free(t.b.data);
  batch->items.b.size = 0;
  file->has_written = true;
}

/* ---- Processes -------------------------------------------------------------------- */

static void put_process(struct otlp_file *file, struct otlp_batch *batch) {
  struct eventring_process process;
  const struct eventring_info *info = file->run->info;
  if (batch->process && eventring_cursor_process(file->run->cursor, batch->process, &process) == 0)
    otlp_put_resource(&batch->resource, &file->said, process.program, process.pid);
  else
    otlp_put_resource(&batch->resource, &file->said, info->program, info->pid);
}

static void free_batch(struct otlp_batch *batch) {
  free(batch->resource.b.data);
  free(batch->items.b.data);
}

static void write_all(struct otlp_file *file) {
  for (uint32_t i = 0; i < file->count; i++) {
    if (file->batches[i].items.b.size) write_batch(file, &file->batches[i]);
    free_batch(&file->batches[i]);
  }
  file->count = 0;
}

static struct otlp_batch *batch_of(struct otlp_file *file, uint32_t process) {
  for (uint32_t i = 0; i < file->count; i++)
    if (file->batches[i].process == process) return &file->batches[i];
  if (file->count == OTLP_MOST_BATCHES) write_all(file);
  if (!EVR_MAKE_ROOM(file->batches, file->room, file->count, 4)) {
    file->failed = true;
    return NULL;
  }
  struct otlp_batch *batch = &file->batches[file->count++];
  *batch = (struct otlp_batch){.process = process};
  batch->resource.is_json = batch->items.is_json = file->is_json;
  put_process(file, batch);
  return batch;
}

struct otlp_text *otlp_file_items(struct otlp_file *file, uint32_t process) {
  struct otlp_batch *batch = batch_of(file, process);
  if (batch && batch->items.b.size >= OTLP_BATCH) write_batch(file, batch);
  return batch ? &batch->items : NULL;
}

void otlp_file_finish(struct otlp_file *file) {
  write_all(file);
  struct otlp_batch *batch = file->has_written ? NULL : batch_of(file, 0);
  /* a file without items still says which process it is of, and what was lost */
  if (batch) write_batch(file, batch);
}

void otlp_file_close(struct otlp_file *file) {
  for (uint32_t i = 0; i < file->count; i++) free_batch(&file->batches[i]);
  free(file->batches);
  otlp_said_free(&file->said);
}
