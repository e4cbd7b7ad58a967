/* SPDX-License-Identifier: MIT */
/* record_summary.c: what `eventring record` says of one process at the end. */
#include "record_summary.h"

#include <inttypes.h>
#include <stdio.h>

#include "analysis/json.h"
#include "analysis/units.h"
#include "follow.h"

enum {
  LEAST_WSIZE = 9, /* log2 of the words of a block */
  PART_TEXT = EVA_FIGURE + 16
};

/* What SAROS_EVENTRING_WSIZE would have been enough for this ring; 0: nothing was
   overwritten. */
static unsigned wsize_needed(const struct eventring_saver_ring *ring) {
  unsigned wsize = LEAST_WSIZE;
  uint64_t blocks = ring->places + ring->longest_gap + ring->longest_gap / 4;
  if (!ring->longest_gap) return 0;
  while (wsize < 63 && (uint64_t)1 << (wsize - LEAST_WSIZE) < blocks) wsize++;
  return wsize;
}

/* Which part of the time of recording a loss took; nothing if it began before that. */
static const char *part_text(char text[PART_TEXT], uint64_t lost_ns, uint64_t duration_ns) {
  char part[EVA_FIGURE];
  if (lost_ns > duration_ns) return "";
  snprintf(text, PART_TEXT, " (%s of the time)", eva_percent_text(part, lost_ns, duration_ns));
  return text;
}

static void print_ring(const eventring_cursor *cursor, const struct eventring_saver_ring *ring,
                       uint64_t duration_ns) {
  char lost[EVA_FIGURE], time[EVA_FIGURE], part[PART_TEXT], number[16];
  const char *name = eventring_cursor_ring_name(cursor, ring->ring);
  snprintf(number, sizeof number, "%u", ring->ring);
  fprintf(stderr, "  domain %u, ring ", ring->domain);
  print_foreign_text(stderr, name ? name : number);
  fprintf(stderr, ": %s events lost in %" PRIu64 " gaps, %s%s",
          eva_count_text(lost, ring->lost), ring->gaps, eva_duration_text(time, ring->lost_ns),
          part_text(part, ring->lost_ns, duration_ns));
  if (ring->unwritten) fprintf(stderr, ", %s not written", eva_count_text(lost, ring->unwritten));
  fputc('\n', stderr);
}

static void print_losses(const eventring_cursor *cursor, const struct recorder *recorder,
                         const struct recorder_result *result) {
  struct eventring_saver_ring ring;
  unsigned wsize = 0;
  for (unsigned n = 0; recorder_ring(recorder, n, &ring) == 0; n++) {
    if (!ring.lost) continue;
    print_ring(cursor, &ring, result->duration_ns);
    if (wsize_needed(&ring) > wsize) wsize = wsize_needed(&ring);
  }
  if (wsize > EVENTRING_MAX_WSIZE)
    complain("no ring is large enough for this rate: record fewer classes, or to a faster disk");
  else if (wsize)
    complain("rings of SAROS_EVENTRING_WSIZE=%u would have been large enough", wsize);
}

static const char *reason_text(enum recorder_end end) {
  switch (end) {
    case RECORDER_SIGNAL: return ", stopped";
    case RECORDER_TIME: return ", time is up";
    case RECORDER_SIZE: return ", --max-size is reached";
    case RECORDER_ERROR: return ", the recording cannot be read any more";
    case RECORDER_PRODUCER: break;
  }
  return "";
}

void print_record_summary(const eventring_cursor *cursor, struct recorder *recorder,
                          const struct recorder_result *result) {
  struct eventring_saver_info info;
  char time[EVA_FIGURE], events[EVA_FIGURE], size[EVA_FIGURE], lost[EVA_FIGURE];
  char lost_time[EVA_FIGURE], part[PART_TEXT], missed[EVA_FIGURE];
  char files[32] = "";
  recorder_info(recorder, &info);
  if (result->files > 1) snprintf(files, sizeof files, " in %u files", result->files);
  complain("%s: %s events in %s, %s%s%s", recorder_file(recorder),
           eva_count_text(events, info.saved), eva_duration_text(time, result->duration_ns),
           eva_bytes_text(size, result->file_bytes), files, reason_text(result->end));
  if (info.missed)
    complain("%s events had been overwritten before", eva_count_text(missed, info.missed));
  if (info.damaged) complain_damaged(info.damaged);
  if (!info.lost) return;
  complain("%s events lost, in %s%s", eva_count_text(lost, info.lost),
           eva_duration_text(lost_time, info.lost_ns),
           part_text(part, info.lost_ns, result->duration_ns));
  print_losses(cursor, recorder, result);
}

/* ---- As JSON ------------------------------------------------------------------------ */

static const char *reason_name(enum recorder_end end) {
  static const char *const names[] = {
      [RECORDER_PRODUCER] = "ended", [RECORDER_SIGNAL] = "stopped", [RECORDER_TIME] = "seconds",
      [RECORDER_SIZE] = "max-size", [RECORDER_ERROR] = "error"};
  return names[end];
}

static void put_ring(struct eva_json *json, const eventring_cursor *cursor,
                     const struct eventring_saver_ring *ring) {
  const char *name = eventring_cursor_ring_name(cursor, ring->ring);
  eva_json_open_object(json);
  eva_json_uint_at(json, "domain", ring->domain);
  eva_json_uint_at(json, "ring", ring->ring);
  if (name) eva_json_string_at(json, "name", name);
  eva_json_uint_at(json, "emitted", ring->known);
  eva_json_uint_at(json, "missed", ring->missed);
  eva_json_uint_at(json, "saved", ring->saved);
  eva_json_uint_at(json, "lost", ring->lost);
  eva_json_uint_at(json, "unwritten", ring->unwritten);
  eva_json_uint_at(json, "gaps", ring->gaps);
  eva_json_uint_at(json, "lost_ns", ring->lost_ns);
  eva_json_uint_at(json, "wsize_needed", wsize_needed(ring));
  eva_json_close_object(json);
}

static void put_rings(struct eva_json *json, const eventring_cursor *cursor,
                      const struct recorder *recorder) {
  struct eventring_saver_ring ring;
  eva_json_key(json, "rings");
  eva_json_open_array(json);
  for (unsigned n = 0; recorder_ring(recorder, n, &ring) == 0; n++)
    put_ring(json, cursor, &ring);
  eva_json_close_array(json);
}

void put_record_summary(eventring_cursor *cursor, struct recorder *recorder,
                        const struct recorder_result *result, FILE *out) {
  struct eventring_saver_info info;
  struct eventring_info process;
  struct eva_json json;
  recorder_info(recorder, &info);
  eva_json_start(&json, out);
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "version", 1);
  eva_json_string_at(&json, "file", recorder_file(recorder));
  if (eventring_cursor_info(cursor, &process) == 0) {
    eva_json_string_at(&json, "program", process.program);
    put_process(&json, &process);
  }
  eva_json_string_at(&json, "end", reason_name(result->end));
  eva_json_bool_at(&json, "failed", result->failed);
  eva_json_uint_at(&json, "duration_ns", result->duration_ns);
  eva_json_uint_at(&json, "files", result->files);
  eva_json_uint_at(&json, "bytes", result->file_bytes);
  eva_json_uint_at(&json, "emitted", info.known);
  eva_json_uint_at(&json, "missed", info.missed);
  eva_json_uint_at(&json, "saved", info.saved);
  eva_json_uint_at(&json, "lost", info.lost);
  eva_json_uint_at(&json, "unwritten", info.unwritten);
  eva_json_uint_at(&json, "damaged", info.damaged);
  eva_json_uint_at(&json, "lost_ns", info.lost_ns);
  put_rings(&json, cursor, recorder);
  eva_json_close_object(&json);
  eva_json_line(&json);
}
