/* SPDX-License-Identifier: MIT */
/* cmd_record.c: `eventring record`: keeps all events of a process in a file. */
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analysis/units.h"
#include "commands.h"
#include "options.h"
#include "recorder.h"

struct record_options {
  struct recorder_options recorder;
  const char *prefix, *writer, *fifos;
  uint64_t buffers, buffer_bytes, keep;
  bool strict, quiet;
};

enum {
  MOST_BUFFERS = 64, LEAST_BUFFER = 64 << 10, MOST_BUFFER = 4 << 20,
  LEAST_WSIZE = 9 /* log2 of the words of a block */
};

/* ---- The words ---------------------------------------------------------------------- */

static int check_words(const struct command *self, struct record_options *options) {
  struct recorder_options *r = &options->recorder;
  if (!r->path) return usage_error(self, "no -o FILE given");
  if (options->buffers < 1 || options->buffers > MOST_BUFFERS)
    return usage_error(self, "--buffers: 1 to %d", MOST_BUFFERS);
  if (options->buffer_bytes < LEAST_BUFFER || options->buffer_bytes > MOST_BUFFER ||
      options->buffer_bytes % LEAST_BUFFER)
    return usage_error(self, "--buffer-size: 64K to 4M, a multiple of 64K");
  r->writer = options->writer ? writer_kind_named(options->writer) : -1;
  if (options->writer && r->writer < 0)
    return usage_error(self, "--writer: no `%s' (there are serial, threads, aio, uring)",
                       options->writer);
  if (r->max_bytes && r->max_bytes < (1 << 20))
    return usage_error(self, "--max-size: at least 1M");
  if (r->rotate_bytes && r->rotate_bytes < 2 * options->buffer_bytes)
    return usage_error(self, "--rotate-size: at least 2 buffers (--buffer-size)");
  if (r->rotate_ns && r->rotate_ns < 10000000)
    return usage_error(self, "--rotate-time: at least 10ms");
  if (options->keep == UINT64_MAX) options->keep = 0;
  else if (options->keep < 1 || options->keep > INT_MAX)
    return usage_error(self, "--keep: at least 1");
  r->keep = (unsigned)options->keep;
  r->numbered = r->rotate_bytes || r->rotate_ns || r->keep;
  r->buffers = (unsigned)options->buffers;
  r->buffer_bytes = (size_t)options->buffer_bytes;
  return -1;
}

static int read_words(const struct command *self, int count, char **words,
                      struct record_options *options, struct operands *operands) {
  *options = (struct record_options){.prefix = "SAROS_EVENTRING", .buffers = 4,
                                     .buffer_bytes = 1 << 20, .keep = UINT64_MAX};
  struct recorder_options *r = &options->recorder;
  const struct option_spec specs[] = {
      {"output", 'o', OPTION_TEXT, &r->path, "FILE",
       "where the events go; must not exist yet"},
      {"seconds", 's', OPTION_SECONDS, &r->limit_ns, "N", "end after N seconds"},
      {"max-size", 0, OPTION_SIZE, &r->max_bytes, "SIZE",
       "end when FILE has SIZE bytes (K, M, G), or all files together"},
      {"rotate-size", 0, OPTION_SIZE, &r->rotate_bytes, "SIZE",
       "go on in another file before one has SIZE bytes"},
      {"rotate-time", 0, OPTION_SECONDS, &r->rotate_ns, "N",
       "go on in another file after N seconds (or 500ms, 2m)"},
      {"command-fifo", 0, OPTION_TEXT, &options->fifos, "CTL[,ACK]",
       "obey commands in FIFO CTL, answer in FIFO ACK (see the manual)"},
      {"keep", 0, OPTION_COUNT, &options->keep, "N", "keep the newest N files"},
      {"writer", 'w', OPTION_TEXT, &options->writer, "KIND",
       "threads, uring, aio or serial (the best there is)"},
      {"buffers", 0, OPTION_COUNT, &options->buffers, "N", "writes in flight, 1 to 64 (4)"},
      {"buffer-size", 0, OPTION_SIZE, &options->buffer_bytes, "SIZE", "of each (1M)"},
      {"strict", 0, OPTION_FLAG, &options->strict, NULL, "status 1 if any event was lost"},
      {"sync", 0, OPTION_FLAG, &r->sync, NULL, "at the end wait until FILE is on its disk"},
      {"quiet", 'q', OPTION_FLAG, &options->quiet, NULL, "no progress, no summary"},
      {"env-prefix", 0, OPTION_TEXT, &options->prefix, "NAME",
       "of the variables that make PROGRAM record (SAROS_EVENTRING)"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (status < 0) status = require_target(self, operands, true);
  return status >= 0 ? status : check_words(self, options);
}

/* ---- The next file ------------------------------------------------------------------ */

static int switch_signals; /* SIGUSR2 that came and are not yet obeyed: atomic */

static void count_signal(int number) {
  (void)number;
  __atomic_fetch_add(&switch_signals, 1, __ATOMIC_RELAXED);
}

static void catch_switch_signals(void) {
  struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(SIGUSR2, &action, NULL);
}

static void obey_signals(struct recorder *recorder) {
  for (int n = __atomic_exchange_n(&switch_signals, 0, __ATOMIC_RELAXED); n > 0; n--)
    recorder_switch(recorder);
}

/* ---- Progress ----------------------------------------------------------------------- */

struct progress {
  struct recorder *recorder;
  struct reader *reader;
  struct commands *commands; /* NULL: none */
  const char *target;        /* of those */
  uint64_t at, bytes;
};

static uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void attend(void *context) {
  struct progress *progress = context;
  obey_signals(progress->recorder);
  if (progress->commands)
    commands_attend(progress->commands, progress->recorder, progress->reader,
                    progress->target);
}

static void show(void *context) {
  struct progress *progress = context;
  struct eventring_saver_info info;
  char line[256], size[EVA_FIGURE], rate[EVA_FIGURE], lost[EVA_FIGURE], events[EVA_FIGURE];
  uint64_t now = now_ns(), bytes = recorder_bytes(progress->recorder);
  double seconds = (double)(now - progress->at) / 1e9;
  recorder_info(progress->recorder, &info);
  eva_bytes_text(rate, (uint64_t)((double)(bytes - progress->bytes) / seconds));
  snprintf(line, sizeof line, "%s events, %s, %s/s, %s lost, fullest ring %.0f %%",
           eva_count_text(events, info.saved), eva_bytes_text(size, bytes), rate,
           eva_count_text(lost, info.lost), 100 * info.fullest);
  show_progress(line);
  progress->at = now;
  progress->bytes = bytes;
}

/* ---- The summary -------------------------------------------------------------------- */

/* What SAROS_EVENTRING_WSIZE would have been enough for this ring; 0: nothing was
   overwritten. */
static unsigned wsize_needed(const struct eventring_saver_ring *ring) {
  unsigned wsize = LEAST_WSIZE;
  uint64_t blocks = ring->places + ring->longest_gap + ring->longest_gap / 4;
  if (!ring->longest_gap) return 0;
  while (wsize < 63 && (uint64_t)1 << (wsize - LEAST_WSIZE) < blocks) wsize++;
  return wsize;
}

static void print_ring(const eventring_cursor *cursor, const struct eventring_saver_ring *ring,
                       uint64_t duration_ns) {
  char lost[EVA_FIGURE], time[EVA_FIGURE], part[EVA_FIGURE], number[16];
  const char *name = eventring_cursor_ring_name(cursor, ring->ring);
  snprintf(number, sizeof number, "%u", ring->ring);
  fprintf(stderr, "  domain %u, ring ", ring->domain);
  print_foreign_text(stderr, name ? name : number);
  fprintf(stderr, ": %s events lost in %" PRIu64 " gaps, %s (%s)",
          eva_count_text(lost, ring->lost), ring->gaps, eva_duration_text(time, ring->lost_ns),
          eva_percent_text(part, ring->lost_ns, duration_ns));
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

static void print_summary(const eventring_cursor *cursor, struct recorder *recorder,
                          const struct recorder_result *result) {
  struct eventring_saver_info info;
  char time[EVA_FIGURE], events[EVA_FIGURE], size[EVA_FIGURE], lost[EVA_FIGURE];
  char lost_time[EVA_FIGURE], part[EVA_FIGURE], missed[EVA_FIGURE];
  char files[32] = "";
  recorder_info(recorder, &info);
  if (result->files > 1) snprintf(files, sizeof files, " in %u files", result->files);
  complain("%s: %s events in %s, %s%s%s", recorder_file(recorder),
           eva_count_text(events, info.saved), eva_duration_text(time, result->duration_ns),
           eva_bytes_text(size, result->file_bytes), files, reason_text(result->end));
  if (info.missed)
    complain("%s events had been overwritten before", eva_count_text(missed, info.missed));
  if (!info.lost) return;
  complain("%s events lost, in %s (%s of the time)", eva_count_text(lost, info.lost),
           eva_duration_text(lost_time, info.lost_ns),
           eva_percent_text(part, info.lost_ns, result->duration_ns));
  print_losses(cursor, recorder, result);
}

/* ---- The command -------------------------------------------------------------------- */

static int status_of(struct recorder *recorder, const struct record_options *options,
                     const struct recorder_result *result, bool launched) {
  struct eventring_saver_info info;
  recorder_info(recorder, &info);
  bool lost = info.lost || (launched && info.missed);
  return result->failed || (options->strict && lost) ? STATUS_WRONG : STATUS_OK;
}

static int record(struct reader *reader, const char *target, struct commands *commands,
                  struct record_options *options) {
  struct progress progress = {.reader = reader, .commands = commands, .target = target,
                              .at = now_ns()};
  struct recorder_result result;
  options->recorder.progress = options->quiet || reader->launched ? NULL : show;
  options->recorder.attend = attend;
  options->recorder.context = &progress;
  struct recorder *recorder = recorder_new(reader, &options->recorder);
  if (!recorder) {
    commands_close(commands, NULL);
    return STATUS_WRONG;
  }
  progress.recorder = recorder;
  if (!reader->launched) reader_catch_signals(true);
  recorder_run(recorder, &result);
  if (!reader->launched) reader_catch_signals(false);
  show_progress("");
  commands_close(commands, recorder);
  if (!options->quiet)
    print_summary(reader->cursor, recorder, &result);
  int status = status_of(recorder, options, &result, reader->launched);
  recorder_free(recorder);
  return status;
}

int command_record(const struct command *self, int count, char **words) {
  struct record_options options;
  struct operands operands;
  struct reader reader;
  int status = read_words(self, count, words, &options, &operands);
  if (status >= 0) return status;
  struct commands *commands = NULL;
  struct eventring_info info;
  if (options.fifos && !(commands = commands_open(options.fifos))) return STATUS_WRONG;
  catch_switch_signals();
  status = reader_open(&reader, &operands, options.prefix, 0);
  if (status >= 0) {
    commands_close(commands, NULL);
    return status;
  }
  eventring_cursor_info(reader.cursor, &info);
  const char *target = reader.launched ? info.path : operands.words[0];
  return reader_close(&reader, record(&reader, target, commands, &options));
}
