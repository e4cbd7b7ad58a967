/* SPDX-License-Identifier: MIT */
/* autopsy_json.c: `eventring autopsy --json`, and what ring would hold how much. */
#include "analysis/names.h"
#include "analysis/reach.h"
#include "analysis/saturating.h"
#include "autopsy.h"
#include "last_stacks.h"

uint64_t autopsy_reach(const struct autopsy *a, const struct ring *ring) {
  return eva_ring_reach(&ring->info, a->end_ns);
}

uint64_t autopsy_needed(const struct autopsy *a, const struct ring *ring) {
  uint64_t reach = autopsy_reach(a, ring);
  uint64_t blocks = ring->info.blocks_written < ring->info.blocks ? ring->info.blocks_written
                                                                  : ring->info.blocks;
  double bytes = (double)blocks * 4096 * (double)a->hold_ns / (double)(reach ? reach : 1);
  return reach ? eva_whole(bytes) : 0;
}

unsigned autopsy_wsize(uint64_t bytes) {
  unsigned wsize = EVENTRING_MIN_WSIZE;
  while (wsize < EVENTRING_MAX_WSIZE && (UINT64_C(8) << wsize) < bytes) wsize++;
  return wsize;
}

const char *autopsy_ring_name(const struct autopsy *a, const struct ring *ring) {
  return eva_ring_name(a->q.reader.cursor, ring->ring);
}

static void put_note(struct eva_json *json, const struct note *note, bool open) {
  bool span = note->kind == EVENTRING_END;
  eva_json_open_object(json);
  eva_json_uint_at(json, "ns", note->ns);
  eva_json_uint_at(json, "domain", note->domain);
  eva_json_uint_at(json, "context", note->context);
  eva_json_string_at(json, "kind", span || open ? "span" : eva_kind_name(note->kind));
  eva_json_string_at(json, "name", note->name);
  if (open) eva_json_uint_at(json, "depth", note->depth);
  if (open && note->may_be_over) eva_json_bool_at(json, "may_be_over", true);
  if (open) eva_so_far_put(json, &note->so_far);
  if (span) eva_json_uint_at(json, "duration_ns", note->duration);
  else if (!open && note->payload == EVENTRING_INT) eva_json_int_at(json, "value", note->value.i);
  else if (!open && note->payload == EVENTRING_DOUBLE)
    eva_json_double_at(json, "value", note->value.d);
  else if (!open && note->payload == EVENTRING_STRING)
    eva_json_string_at(json, "value", note->text);
  eva_json_close_object(json);
}

static void put_memory(struct eva_json *json, const struct autopsy *a) {
  eva_json_key(json, "memory");
  eva_json_open_array(json);
  for (size_t i = 0; i < a->gauge_count; i++) {
    const struct gauge *gauge = &a->gauge[i];
    const struct eventring_def *def = eventring_cursor_def(a->q.reader.cursor, gauge->id);
    eva_json_open_object(json);
    eva_json_uint_at(json, "domain", gauge->domain);
    question_put_name(&a->q, json, "name", gauge->id);
    eva_json_string_at(json, "unit", def && def->unit ? def->unit : "");
    eva_json_int_at(json, "last", gauge->last);
    eva_json_int_at(json, "max", gauge->greatest);
    eva_json_close_object(json);
  }
  eva_json_close_array(json);
}

static void put_collector(struct eva_json *json, const struct autopsy *a) {
  eva_json_key(json, "collector");
  eva_json_open_object(json);
  eva_json_uint_at(json, "steps", a->steps_last);
  eva_json_uint_at(json, "total_ns", a->gc_last_ns);
  eva_json_uint_at(json, "longest_ns", a->longest.ns);
  eva_json_key(json, "cycles");
  eva_json_open_array(json);
  for (unsigned d = 0; d < EVENTRING_MAX_DOMAINS; d++) {
    if (!a->cycle[d].open) continue;
    eva_json_open_object(json);
    eva_json_uint_at(json, "domain", d);
    eva_json_int_at(json, "number", a->cycle[d].number);
    eva_json_uint_at(json, "since_ns", a->cycle[d].since);
    eva_json_close_object(json);
  }
  eva_json_close_array(json);
  eva_json_close_object(json);
}

static void put_rings(struct eva_json *json, const struct autopsy *a) {
  eva_json_key(json, "rings");
  eva_json_open_array(json);
  for (size_t i = 0; i < a->ring_count; i++) {
    const struct ring *ring = &a->ring[i];
    uint64_t needed = autopsy_needed(a, ring);
    eva_json_open_object(json);
    eva_json_uint_at(json, "domain", ring->domain);
    eva_json_string_at(json, "ring", autopsy_ring_name(a, ring));
    eva_json_uint_at(json, "available", ring->info.available);
    eva_json_uint_at(json, "emitted", ring->info.emitted);
    eva_json_uint_at(json, "lost", ring->info.lost);
    eva_json_uint_at(json, "reach_ns", autopsy_reach(a, ring));
    eva_json_bool_at(json, "stream", ring->info.is_stream);
    eva_json_uint_at(json, "bytes", ring->info.blocks * UINT64_C(4096));
    eva_json_uint_at(json, "needed_bytes", needed);
    eva_json_uint_at(json, "wsize", needed ? autopsy_wsize(needed) : 0);
    eva_json_close_object(json);
  }
  eva_json_close_array(json);
}

void autopsy_print_json(const struct autopsy *a) {
  struct eva_json json;
  eva_json_start(&json, stdout);
  eva_json_open_object(&json);
  question_put_head(&a->q, &json);
  eva_json_key(&json, "total");
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "end_ns", a->end_ns);
  eva_json_uint_at(&json, "open", a->open_count);
  eva_json_uint_at(&json, "events", a->noted);
  eva_json_close_object(&json);
  eva_json_key(&json, "open_spans");
  eva_json_open_array(&json);
  for (size_t i = 0; i < a->opens; i++) put_note(&json, &a->open[i], true);
  eva_json_close_array(&json);
  eva_json_key(&json, "stacks");
  last_stacks_put(&json, a->q.reader.cursor, UINT64_MAX, eva_end(a->q.reader.cursor));
  put_memory(&json, a);
  autopsy_put_sites(&json, a);
  put_collector(&json, a);
  put_rings(&json, a);
  eva_json_key(&json, "rows");
  eva_json_open_array(&json);
  for (size_t i = 0; i < a->lasts; i++) put_note(&json, &a->last[i], false);
  eva_json_close_array(&json);
  eva_json_close_object(&json);
  eva_json_line(&json);
}
