/* SPDX-License-Identifier: MIT */
/* cmd_record.c: `eventring record`: stores all events of a process in a file. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/figures.h"
#include "await.h"
#include "command_fifo.h"
#include "copy.h"
#include "file_names.h"
#include "format/now.h"
#include "group.h"
#include "merge.h"
#include "new_file.h"
#include "options.h"
#include "record_summary.h"
#include "recorder.h"
#include "writer/pack.h"

struct record_options {
  struct recorder_options recorder;
  const char *prefix, *fifos;
  uint64_t buffers, buffer_bytes, keep, realtime;
  uint64_t zstd, zstd_threads; /* UINT64_MAX: not given */
  bool strict, quiet, children, json, merge;
  struct await await;
  char *merged; /* the file for the merge at the end; NULL: none */
};

enum {
  MOST_BUFFERS = 64, LEAST_BUFFER = 64 << 10, MOST_BUFFER = 4 << 20,
  USUAL_LEVEL = 1, USUAL_THREADS = 4 /* of zstd */
};

/* ---- The words ---------------------------------------------------------------- */

static uint64_t usual_threads(void) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  return processors < 1 ? 1 : processors < USUAL_THREADS ? (uint64_t)processors : USUAL_THREADS;
}

static int check_words(const struct command *self, struct record_options *options) {
  struct recorder_options *r = &options->recorder;
  if (!r->path) return usage_error(self, "no -o FILE given");
  if (is_standard_output(r->path))
    return usage_error(self, "a recording that goes on is written in place, not to `-o -'");
  if (options->buffer_bytes < LEAST_BUFFER || options->buffer_bytes > MOST_BUFFER ||
      options->buffer_bytes % LEAST_BUFFER)
    return usage_error(self, "--buffer-size: must be a multiple of 64K, from 64K to 4M");
  if (r->max_bytes && r->max_bytes < (1 << 20))
    return usage_error(self, "--max-size: must be at least 1M");
  if (r->rotate_bytes && r->rotate_bytes < 2 * options->buffer_bytes)
    return usage_error(self, "--rotate-size: must be at least 2 buffers (--buffer-size)");
  if (r->rotate_ns && r->rotate_ns < 10000000)
    return usage_error(self, "--rotate-time: must be at least 10ms");
  if (!r->limit_ns) return usage_error(self, "--seconds: must be more than 0");
  if (options->zstd_threads != UINT64_MAX && options->zstd == UINT64_MAX)
    return usage_error(self, "--zstd-threads needs --zstd");
  if (options->zstd != UINT64_MAX && !pack_is_built())
    return usage_error(self, "--zstd: not in this build (it needs libzstd when eventring is built; "
                       "Debian package: libzstd-dev)");
  if (r->limit_ns == UINT64_MAX) r->limit_ns = 0;
  r->realtime = (unsigned)options->realtime;
  r->keep = (unsigned)options->keep;
  r->numbered = r->rotate_bytes || r->rotate_ns || r->keep;
  r->buffers = (unsigned)options->buffers;
  r->buffer_bytes = (size_t)options->buffer_bytes;
  if (options->zstd == UINT64_MAX) return STATUS_GO_ON;
  r->zstd_level = options->zstd ? (int)options->zstd : USUAL_LEVEL;
  if (options->zstd_threads == UINT64_MAX) options->zstd_threads = usual_threads();
  r->zstd_threads = (unsigned)options->zstd_threads;
  return STATUS_GO_ON;
}

static bool is_group(const struct record_options *options, const struct operands *operands) {
  return options->children || options->merge || operands->count > 1;
}

/* Checks the options of --merge: the file for the merge must not exist yet. Returns
   STATUS_GO_ON, or the exit status after a message. */
static int check_merge(const struct command *self, struct record_options *options) {
  const struct recorder_options *r = &options->recorder;
  struct stat st;
  if (!options->merge) return STATUS_GO_ON;
  if (r->numbered)
    return usage_error(self, "--merge cannot be combined with several files of one process");
  if (file_name_has_process(r->path) || file_name_has_number(r->path))
    return usage_error(self, "--merge makes one file, so FILE must not contain %%p or %%i");
  options->merged = file_name(r->path, false, 1);
  if (lstat(options->merged, &st) != 0) return STATUS_GO_ON;
  return wrong("cannot create %s: %s", options->merged, strerror(EEXIST));
}

static int read_words(const struct command *self, int count, char **words,
                      struct record_options *options, struct operands *operands) {
  *options = (struct record_options){.prefix = "SAROS_EVENTRING", .buffers = 4,
                                     .buffer_bytes = 1 << 20,
                                     .zstd = UINT64_MAX, .zstd_threads = UINT64_MAX,
                                     .await.before_ns = UINT64_MAX,
                                     .recorder = {.limit_ns = UINT64_MAX, .writer = -1}};
  struct recorder_options *r = &options->recorder;
  const struct option_spec specs[] = {
      {"output", 'o', OPTION_TEXT, &r->path, "FILE",
       "where the events go; must not exist yet; %p: the PID"},
      {"on", 0, OPTION_TEXT, &options->await.text, "CONDITION",
       "begin when this happens: with what the rings hold of before"},
      {"before", 0, OPTION_SECONDS, &options->await.before_ns, "N",
       "with --on: let the rings hold the N seconds before"},
      {"seconds", 's', OPTION_SECONDS, &r->limit_ns, "N", "end after N seconds"},
      {"max-size", 0, OPTION_SIZE, &r->max_bytes, "SIZE",
       "end when FILE has SIZE bytes (K, M, G), or all files together"},
      {"rotate-size", 0, OPTION_SIZE, &r->rotate_bytes, "SIZE",
       "go on in another file before one has SIZE bytes"},
      {"rotate-time", 0, OPTION_SECONDS, &r->rotate_ns, "N",
       "go on in another file after N seconds (or 500ms, 2m)"},
      {"command-fifo", 0, OPTION_TEXT, &options->fifos, "CTL[,ACK]",
       "obey commands in FIFO CTL, answer in FIFO ACK (see the manual)"},
      {"keep", 0, OPTION_BETWEEN, BETWEEN(&options->keep, 1, INT_MAX), "N",
       "keep the newest N files"},
      {"writer", 'w', OPTION_CHOICE, CHOICE(&r->writer, writer_names), "KIND",
       "threads, aio or serial (the best there is)"},
      {"children", 'c', OPTION_FLAG, &options->children, NULL,
       "record children as well, each process into a file of its own"},
      {"buffers", 0, OPTION_BETWEEN, BETWEEN(&options->buffers, 1, MOST_BUFFERS), "N",
       "writes in flight, 1 to 64 (4)"},
      {"buffer-size", 0, OPTION_SIZE, &options->buffer_bytes, "SIZE", "of each (1M)"},
      {"zstd", 0, OPTION_LEVEL, BETWEEN(&options->zstd, PACK_LEAST_LEVEL, PACK_MOST_LEVEL),
       "[=LEVEL]", "compress the file, with level 1 to 19 (1)"},
      {"zstd-threads", 0, OPTION_BETWEEN, BETWEEN(&options->zstd_threads, 1, PACK_MOST_THREADS),
       "N", "that compress, 1 to 64 (as many as processors, 4 at most)"},
      {"strict", 0, OPTION_FLAG, &options->strict, NULL, "status 1 if any event was lost"},
      {"sync", 0, OPTION_FLAG, &r->sync, NULL, "at the end wait until FILE is on its disk"},
      {"realtime", 0, OPTION_BETWEEN, BETWEEN(&options->realtime, 1, 99), "PRIORITY",
       "drain the rings with a real-time priority, 1 to 99 (needs the right to)"},
      {"merge", 0, OPTION_FLAG, &options->merge, NULL,
       "at the end make one recording of all processes, in FILE"},
      {"json", 0, OPTION_FLAG, &options->json, NULL,
       "the summary as JSON, a line for each process, on standard output"},
      {"json-schema", 0, OPTION_SCHEMA, (void *)&record_summary_view, NULL,
       "what --json writes, as JSON Schema"},
      {"quiet", 'q', OPTION_FLAG, &options->quiet, NULL, "no progress, no summary"},
      ENV_PREFIX_SPEC(&options->prefix)};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (goes_on(status)) status = require_targets(self, operands);
  if (goes_on(status)) status = check_words(self, options);
  if (goes_on(status)) status = check_merge(self, options);
  if (goes_on(status)) status = await_check(self, &options->await);
  if (goes_on(status) && options->await.text && is_group(options, operands))
    status = usage_error(self, "--on needs one process, no more");
  if (goes_on(status) && options->fifos && is_group(options, operands))
    status = usage_error(self, "--command-fifo needs one process, no more");
  return status;
}

/* ---- The next file ------------------------------------------------------------ */

/* number of SIGUSR2 that came (with one process, those not obeyed yet); atomic */
static int switch_signals;

static void count_signal(int number) {
  (void)number;
  __atomic_fetch_add(&switch_signals, 1, __ATOMIC_RELAXED);
}

static void catch_switch_signals(void) {
  struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(SIGUSR2, &action, NULL);
}

/* Handles SIGXFSZ by doing nothing, so that a file beyond the limit on sizes is an error
   of the write, after which the recorder goes on. (A launched program would inherit
   SIG_IGN.) */
static void pass_over(int number) { (void)number; }
static void survive_size_limit(void) {
  struct sigaction action = {.sa_handler = pass_over, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(SIGXFSZ, &action, NULL);
}

/* Makes SIGUSR2 do nothing: files that will be merged are not switched. */
static void ignore_switch_signals(void) {
  struct sigaction action = {.sa_handler = pass_over, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(SIGUSR2, &action, NULL);
}

static void obey_signals(struct recorder *recorder) {
  for (int n = __atomic_exchange_n(&switch_signals, 0, __ATOMIC_RELAXED); n > 0; n--)
    recorder_switch(recorder);
}

/* ---- Progress ----------------------------------------------------------------- */

struct progress {
  struct recorder *recorder;
  struct reader *reader;
  struct command_fifo *fifo; /* NULL: none */
  const char *target;        /* the PID or FILE to which commands in the FIFO apply */
  uint64_t at, bytes;
};

static void attend(void *context) {
  struct progress *progress = context;
  obey_signals(progress->recorder);
  if (progress->fifo)
    command_fifo_attend(progress->fifo, progress->recorder, progress->reader, progress->target);
}

static void show(void *context) {
  struct progress *progress = context;
  struct eventring_saver_info info;
  uint64_t now = now_ns(), bytes = recorder_bytes(progress->recorder);
  double seconds = (double)(now - progress->at) / 1e9;
  recorder_info(progress->recorder, &info);
  show_progress("%s events, %s, %s/s, %s lost, fullest ring %.0f %%", eva_count(info.saved),
                eva_bytes(bytes),
                eva_bytes((uint64_t)((double)(bytes - progress->bytes) / seconds)),
                eva_count(info.lost), 100 * info.fullest);
  progress->at = now;
  progress->bytes = bytes;
}

/* ---- The command -------------------------------------------------------------- */

static int status_of(struct recorder *recorder, const struct record_options *options,
                     const struct recorder_result *result, bool launched) {
  struct eventring_saver_info info;
  recorder_info(recorder, &info);
  bool lost = info.lost || (launched && info.missed);
  /* without --quiet, the summary reports the damage */
  if (info.damaged && options->quiet) complain_damaged(info.damaged);
  return result->failed || info.damaged || (options->strict && lost) ? STATUS_WRONG : STATUS_OK;
}

static int record(struct reader *reader, const char *target, struct command_fifo *fifo,
                  struct record_options *options) {
  struct progress progress = {.reader = reader, .fifo = fifo, .target = target, .at = now_ns()};
  struct recorder_result result;
  bool is_live = eventring_cursor_liveness(reader->cursor) == EVENTRING_LIVE;
  options->recorder.progress = options->quiet || reader->launched ? NULL : show;
  options->recorder.attend = attend;
  options->recorder.context = &progress;
  if (!reader->launched) reader_catch_signals(true); /* before a file is created */
  int awaited = await_condition(&options->await, reader);
  struct recorder *recorder = goes_on(awaited) ? recorder_new(reader, &options->recorder) : NULL;
  if (!recorder) {
    if (!reader->launched) reader_catch_signals(false);
    command_fifo_close(fifo, NULL);
    return STATUS_WRONG;
  }
  progress.recorder = recorder;
  recorder_run(recorder, &result);
  if (!reader->launched) reader_catch_signals(false);
  hide_progress();
  command_fifo_close(fifo, recorder);
  if (!options->quiet) print_record_summary(reader->cursor, recorder, &result);
  if (options->json) put_record_summary(reader->cursor, recorder, &result, stdout);
  if (!is_live && report_damage(reader->cursor)) result.failed = true;
  int status = status_of(recorder, options, &result, reader->launched);
  recorder_free(recorder);
  return status;
}

static void print_group_summary(const struct group_result *result) {
  complain("%u process%s: %s events, %s, %s lost", result->processes, result->processes == 1 ? "" :
           "es", eva_count(result->saved), eva_bytes(result->bytes), eva_count(result->lost));
}

/* Merges the files of the processes into one, and removes the files if the merged file is
   complete. */
static bool merge_group(const char *path, const struct group_result *group) {
  const struct merge_options options = {0};
  struct merge_result result;
  reader_catch_signals(true);
  bool merged = merge_recordings(path, group->files, group->processes, &options, &result) ==
                    STATUS_OK && !result.damaged;
  reader_catch_signals(false);
  for (unsigned i = 0; merged && i < group->processes; i++)
    if (unlink(group->files[i]) != 0) {
      complain("cannot remove %s: %s", group->files[i], strerror(errno));
      merged = false;
    }
  if (!merged) complain("what each process recorded is in a file of its own, as %s",
                        group->files[0]);
  return merged;
}

/* Records several processes, each in a file of its own. */
static int record_group(const struct record_options *options, const struct operands *operands) {
  const struct group_options group = {
      .recorder = options->recorder, .children = options->children || operands->command,
      .progress = !options->quiet && !operands->command, .summary = !options->quiet,
      .json = options->json,
      .switch_signals = &switch_signals};
  struct group_result result = {0};
  int theirs = 0;
  if (options->merge) ignore_switch_signals();
  else catch_switch_signals();
  survive_size_limit();
  int status = operands->command
                   ? group_launch(&group, operands->command, options->prefix, &result, &theirs)
                   : group_record(&group, operands->words, operands->count, &result);
  if (!goes_on(status)) return status;
  if (!options->quiet) print_group_summary(&result);
  if (options->merge && result.processes)
    result.failed |= !merge_group(options->merged, &result);
  group_result_free(&result);
  if (theirs) return theirs;
  return result.failed || (options->strict && result.incomplete) ? STATUS_WRONG : STATUS_OK;
}

int command_record(const struct command *self, int count, char **words) {
  struct record_options options;
  struct operands operands;
  struct reader reader;
  int status = read_words(self, count, words, &options, &operands);
  if (!goes_on(status)) {
    free(options.merged);
    return status;
  }
  if (is_group(&options, &operands)) {
    status = record_group(&options, &operands);
    free(options.merged);
    return status;
  }
  struct command_fifo *fifo = NULL;
  struct eventring_info info = {.size = sizeof info};
  if (options.fifos && !(fifo = command_fifo_open(options.fifos))) return STATUS_WRONG;
  catch_switch_signals();
  survive_size_limit();
  status = reader_open(&reader, &operands, options.prefix, 0);
  if (!goes_on(status)) {
    command_fifo_close(fifo, NULL);
    return status;
  }
  eventring_cursor_info(reader.cursor, &info);
  const char *target = reader.launched ? info.path : operands.words[0];
  char *path = file_name_has_process(options.recorder.path)
                   ? file_name_of_process(options.recorder.path, pid_here(&info), 1)
                   : need_copy(options.recorder.path);
  options.recorder.path = path;
  status = reader_close(&reader, record(&reader, target, fifo, &options));
  free(path);
  return status;
}
