/* SPDX-License-Identifier: MIT */
/* record_summary.c: prints the summary of `eventring record` for one process. */
#include "record_summary.h"

#include <inttypes.h>
#include <stdio.h>

#include "analysis/figures.h"
#include "analysis/names.h"
#include "reader.h"

enum {
  LEAST_WSIZE = 9, /* log2 of the words of a block */
  PART_TEXT = EVA_FIGURE + 16
};

/* Returns the SAROS_EVENTRING_WSIZE that a ring would have needed, or 0 if nothing was
   overwritten. */
static unsigned wsize_needed(const struct eventring_saver_ring *ring) {
  unsigned wsize = LEAST_WSIZE;
  uint64_t blocks = ring->places + ring->longest_gap + ring->longest_gap / 4;
  if (!ring->longest_gap) return 0;
  while (wsize < 63 && (uint64_t)1 << (wsize - LEAST_WSIZE) < blocks) wsize++;
  return wsize;
}

/* Writes which part of the recording time a loss took; nothing if the loss began before
   the recording. Returns the text. */
static const char *part_text(char text[PART_TEXT], uint64_t lost_ns, uint64_t duration_ns) {
  if (lost_ns > duration_ns) return "";
  snprintf(text, PART_TEXT, " (%s of the time)", eva_percent(lost_ns, duration_ns));
  return text;
}

static void print_ring(const eventring_cursor *cursor, const struct eventring_saver_ring *ring,
                       uint64_t duration_ns) {
  char part[PART_TEXT];
  table_say(stderr, 2, 2, "domain %u, ring %s: %s events lost in %" PRIu64 " gaps, %s%s%s%s%s",
            ring->domain, eva_ring_name(cursor, ring->ring), eva_count(ring->lost), ring->gaps,
            eva_duration(ring->lost_ns), part_text(part, ring->lost_ns, duration_ns),
            ring->unwritten ? ", " : "", ring->unwritten ? eva_count(ring->unwritten) : "",
            ring->unwritten ? " not written" : "");
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
  char part[PART_TEXT];
  char files[32] = "";
  recorder_info(recorder, &info);
  if (result->files > 1) snprintf(files, sizeof files, " in %u files", result->files);
  complain("%s: %s events in %s, %s%s%s", recorder_file(recorder),
           eva_count(info.saved), eva_duration(result->duration_ns),
           eva_bytes(result->file_bytes), files, reason_text(result->end));
  if (info.missed)
    complain("%s events had been overwritten before", eva_count(info.missed));
  if (info.damaged) complain_damaged(info.damaged);
  if (!info.lost) return;
  complain("%s events lost, in %s%s", eva_count(info.lost), eva_duration(info.lost_ns),
           part_text(part, info.lost_ns, result->duration_ns));
  print_losses(cursor, recorder, result);
}

/* ---- As JSON ------------------------------------------------------------------ */

static const char *reason_name(enum recorder_end end) {
  static const char *const names[] = {
      [RECORDER_PRODUCER] = "ended", [RECORDER_SIGNAL] = "stopped", [RECORDER_TIME] = "seconds",
      [RECORDER_SIZE] = "max-size", [RECORDER_ERROR] = "error"};
  return names[end];
}

struct summary {
  const struct recorder *recorder;
  struct recorder_result result;
  struct eventring_info process;
  bool has_process;
  struct eventring_saver_info saved;
};

VIEW_GETTER(ring_name, struct eventring_saver_ring) {
  return view_text(eventring_cursor_name(to->cursor, EVENTRING_NAME_RING, row->ring));
}
VIEW_GETTER(ring_wsize, struct eventring_saver_ring) { return view_uint(wsize_needed(row)); }

static VIEW(ring_view, struct eventring_saver_ring,
    {"domain", NULL, VIEW_PLAIN, ROW(domain)},
    {"ring", NULL, VIEW_PLAIN, ROW(ring)},
    {"name", NULL, VIEW_PLAIN, VIEW_GET(TEXT, ring_name), .flags = VIEW_MAYBE},
    {"emitted", NULL, VIEW_COUNT, ROW(known)},
    {"missed", NULL, VIEW_COUNT, ROW(missed)},
    {"saved", NULL, VIEW_COUNT, ROW(saved)},
    {"lost", NULL, VIEW_COUNT, ROW(lost)},
    {"unwritten", NULL, VIEW_COUNT, ROW(unwritten)},
    {"gaps", NULL, VIEW_COUNT, ROW(gaps)},
    {"lost_ns", NULL, VIEW_NS, ROW(lost_ns)},
    {"wsize_needed", NULL, VIEW_PLAIN, VIEW_GET(U32, ring_wsize)})

static void all_rings(struct view_to *to, const void *summary) {
  const struct summary *s = summary;
  struct eventring_saver_ring ring;
  for (unsigned n = 0; recorder_ring(s->recorder, n, &ring) == 0; n++) view_row(to, &ring);
}

VIEW_GETTER(file, struct summary) { return view_text(recorder_file(row->recorder)); }
VIEW_GETTER(pid, struct summary) { return view_int(pid_here(&row->process)); }
VIEW_GETTER(end, struct summary) { return view_text(reason_name(row->result.end)); }

#define KNOWN VIEW_IF(has_process), .flags = VIEW_PART
VIEW(record_summary_view, struct summary,
    {"file", NULL, VIEW_PLAIN, VIEW_GET(TEXT, file)},
    {"program", NULL, VIEW_PLAIN, ROW(process.program), KNOWN},
    {"pid", NULL, VIEW_PLAIN, VIEW_GET(I32, pid), KNOWN},
    {"own_pid", NULL, VIEW_PLAIN, ROW(process.pid), KNOWN},
    {"end", NULL, VIEW_PLAIN, VIEW_GET(TEXT, end)},
    {"failed", NULL, VIEW_PLAIN, ROW(result.failed)},
    {"duration_ns", NULL, VIEW_NS, ROW(result.duration_ns)},
    {"files", NULL, VIEW_COUNT, ROW(result.files)},
    {"bytes", NULL, VIEW_BYTES, ROW(result.file_bytes)},
    {"emitted", NULL, VIEW_COUNT, ROW(saved.known)},
    {"missed", NULL, VIEW_COUNT, ROW(saved.missed)},
    {"saved", NULL, VIEW_COUNT, ROW(saved.saved)},
    {"lost", NULL, VIEW_COUNT, ROW(saved.lost)},
    {"unwritten", NULL, VIEW_COUNT, ROW(saved.unwritten)},
    {"damaged", NULL, VIEW_COUNT, ROW(saved.damaged), .help = "blocks"},
    {"lost_ns", NULL, VIEW_NS, ROW(saved.lost_ns)},
    {"rings", .form = VIEW_ROWS, .view = &ring_view, .rows = all_rings})

void put_record_summary(eventring_cursor *cursor, struct recorder *recorder,
                        const struct recorder_result *result, FILE *out) {
  struct summary summary = {.process.size = sizeof summary.process, .recorder = recorder,
                            .result = *result};
  struct view_to to = {.out = out, .cursor = cursor};
  recorder_info(recorder, &summary.saved);
  summary.has_process = eventring_cursor_info(cursor, &summary.process) == 0;
  view_object(&to, &record_summary_view, &summary);
}
