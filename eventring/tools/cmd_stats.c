/* SPDX-License-Identifier: MIT */
/* cmd_stats.c: `eventring stats`: shows statistics of recordings.
 *
 * Each PID or FILE is read in a thread of its own, so that a busy process does not make
 * another one wait; SIGINT and SIGTERM are left to the main thread, which shows the
 * progress if standard error is a terminal. A launched PROGRAM is read by the main thread
 * itself, which shows no progress: the terminal is the PROGRAM's.
 *
 * Only the thread of a recording uses its reader and its tally; the main thread uses them
 * after that thread has ended. While it runs, relaxed atomics pass the figures of the
 * progress; they guard nothing.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/figures.h"
#include "class_list.h"
#include "heap_export.h"
#include "options.h"
#include "reader.h"
#include "tally_print.h"
#include "time_window.h"

struct stats_options {
  struct view_choice as;
  bool from_now;
  uint64_t limit_ns;
  struct time_window window;
  struct tally_choice choice;
  const char *class_name;
  const char *output; /* NULL: standard output */
  const char *prefix;
};

static int read_words(const struct command *self, int count, char **words,
                      struct stats_options *options,
                      struct operands *operands) {
  *options = (struct stats_options){.prefix = "SAROS_EVENTRING", .window = TIME_WINDOW_ALL,
                                    .choice = TALLY_ALL};
  struct tally_choice *choice = &options->choice;
  const struct option_spec specs[] = {
      VIEW_SPECS(&options->as, stats_view, "one JSON object a recording"),
      {"seconds", 's', OPTION_SECONDS, &options->limit_ns, "N",
       "watch a live process for N seconds, not until it ends (10 without a terminal)"},
      {"from-now", 'n', OPTION_FLAG, &options->from_now, NULL,
       "leave out what is in the rings already"},
      TIME_WINDOW_SPECS(&options->window),
      {"by-domain", 'b', OPTION_FLAG, &choice->by_domain, NULL,
       "tables of each domain, too, if there are several"},
      DOMAIN_SPEC(&choice->domain),
      {"class", 'c', OPTION_TEXT, &options->class_name, "NAME", "only events of this class"},
      NAME_SPEC(&choice->name, "events"),
      {"top", 't', OPTION_COUNT, &choice->top, "N", "at most N rows a table, by their total"},
      {"output", 'o', OPTION_TEXT, &options->output, "FILE",
       "write to FILE, not to standard output"},
      ENV_PREFIX_SPEC(&options->prefix)};
  int status =
      options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (goes_on(status)) status = time_window_check(self, &options->window);
  return goes_on(status) ? require_targets(self, operands) : status;
}

/* ---- Watching ------------------------------------------------------------- */

struct watching {
  const struct stats_options *options;
  struct reader reader;
  struct eva_tally *tally;
  struct tally_choice choice; /* choice of rows, with the classes of this recording */
  uint64_t seen; /* number of events and losses that the callbacks got */
  uint64_t limit_ns; /* for how long a live process is watched; 0: until it ends */
  pthread_t thread;
  bool ended; /* whether the thread has ended and was joined */
  uint64_t events, lost; /* numbers so far; written by the thread, atomic */
};

/* Ends the command if the tally is out of memory: its figures would be wrong. */
static void check_tally(const struct eva_tally *tally) {
  if (tally->status != EVENTRING_OK) no_memory();
}

/* Handles an event, as the tally does. The context is the struct watching, as in the
   callbacks below. */
static int on_event(void *context, const struct eventring_event *event) {
  enum { OFTEN = 1 << 16 };
  struct watching *watching = context;
  if (++watching->seen % OFTEN == 0)
    __atomic_store_n(&watching->events, watching->seen, __ATOMIC_RELAXED);
  return eva_tally_callbacks.event(watching->tally, event);
}

static int on_batch(void *context, const struct eventring_batch *batch) {
  struct watching *watching = context;
  watching->seen += batch->count;
  __atomic_store_n(&watching->events, watching->seen, __ATOMIC_RELAXED);
  return eva_tally_batch(watching->tally, batch);
}

static int on_lost(void *context, const struct eventring_loss *loss) {
  const struct watching *watching = context;
  return eva_tally_callbacks.lost(watching->tally, loss);
}

static void after_poll(void *context, const struct eventring_totals *totals) {
  struct watching *watching = context;
  check_tally(watching->tally);
  __atomic_store_n(&watching->events, totals->delivered, __ATOMIC_RELAXED);
  __atomic_store_n(&watching->lost, totals->lost, __ATOMIC_RELAXED);
}

static const struct eventring_callbacks callbacks = {sizeof callbacks, on_event, on_lost};

static void *watch(void *context) {
  struct watching *watching = context;
  const struct reading reading = {.callbacks = &callbacks,
                                  .context = watching,
                                  .follow = true,
                                  .limit_ns = watching->limit_ns,
                                  .until = watching->tally->until,
                                  .after_poll = after_poll};
  /* (with `until`, reading ends at an event, and its batch could hold later ones) */
  if (reading.until == UINT64_MAX) {
    eva_tally_apart(watching->tally, watching->reader.cursor);
    if (eventring_cursor_batches(watching->reader.cursor, EVENTRING_BATCH_ALL, on_batch,
                                 watching) == EVENTRING_E_MEMORY)
      no_memory();
  }
  reader_read(&watching->reader, &reading);
  return NULL;
}

static void start_watching(struct watching *watching) {
  int error = pthread_create(&watching->thread, NULL, watch, watching);
  if (error == 0) return;
  complain("cannot start a thread: %s", strerror(error));
  exit(STATUS_WRONG);
}

/* ---- Progress ------------------------------------------------------------- */

enum {
  TICK_MS = 50,        /* ms between two checks whether a thread has ended */
  TICKS_OF_A_LINE = 20 /* ticks from one line of progress to the next */
};

/* Writes which process is watched, or how many recordings are read. */
static void subject_text(char *text, size_t room, const struct watching *list, size_t count) {
  struct eventring_info info = {.size = sizeof info};
  if (count != 1)
    snprintf(text, room, "%zu recordings", count);
  else if (eventring_cursor_info(list->reader.cursor, &info) == EVENTRING_OK)
    snprintf(text, room, "process %ld (%.16s)", (long)pid_here(&info), info.program);
}

static void show_watching(const struct watching *list, size_t count, const char *subject,
                          bool lives, uint64_t seconds) {
  const uint64_t limit = list->limit_ns;
  uint64_t events = 0, lost = 0;
  for (size_t i = 0; i < count; i++) {
    events += __atomic_load_n(&list[i].events, __ATOMIC_RELAXED);
    lost += __atomic_load_n(&list[i].lost, __ATOMIC_RELAXED);
  }
  show_progress("%s %s: %llu s%s%s, %s events, %s lost (Ctrl-C ends)",
                lives ? "watching" : "reading", subject, (unsigned long long)seconds,
                limit ? " of " : "", limit ? eva_duration(limit) : "", eva_count(events),
                eva_count(lost));
}

static bool any_lives(const struct watching *list, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (eventring_cursor_liveness(list[i].reader.cursor) == EVENTRING_LIVE) return true;
  return false;
}

static bool all_have_ended(struct watching *list, size_t count) {
  size_t ended = 0;
  for (size_t i = 0; i < count; i++) {
    if (!list[i].ended) list[i].ended = pthread_tryjoin_np(list[i].thread, NULL) == 0;
    ended += list[i].ended;
  }
  return ended == count;
}

static void wait_with_progress(struct watching *list, size_t count, const char *subject,
                               bool lives) {
  const struct timespec tick = {.tv_nsec = TICK_MS * 1000 * 1000};
  for (unsigned ticks = 0; !all_have_ended(list, count); ticks++) {
    /* no line at once for a file: most are read before the first second is over */
    if (ticks % TICKS_OF_A_LINE == 0 && (lives || ticks > 0))
      show_watching(list, count, subject, lives, ticks / TICKS_OF_A_LINE);
    nanosleep(&tick, NULL);
  }
  hide_progress();
}

/* ---- The command ---------------------------------------------------------- */

/* Limits how long recordings are watched. No limit is needed if the window has an end or
   no process lives, because reading ends by itself then. */
static void limit(struct watching *list, size_t count) {
  if (list->tally->until != UINT64_MAX || !any_lives(list, count)) return;
  list->limit_ns = watch_limit(list->limit_ns);
  for (size_t i = 1; i < count; i++) list[i].limit_ns = list->limit_ns;
}

static void watch_all(struct watching *list, size_t count) {
  char subject[64] = "";
  sigset_t ours, before;
  bool shows = isatty(STDERR_FILENO), lives = any_lives(list, count);
  limit(list, count);
  if (shows) subject_text(subject, sizeof subject, list, count);
  reader_catch_signals(true);
  sigemptyset(&ours);
  sigaddset(&ours, SIGINT);
  sigaddset(&ours, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ours, &before);
  for (size_t i = 0; i < count; i++) start_watching(&list[i]);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (shows) wait_with_progress(list, count, subject, lives);
  for (size_t i = 0; !shows && i < count; i++) pthread_join(list[i].thread, NULL);
  reader_catch_signals(false);
}

static void print(struct watching *watching, FILE *out) {
  struct eventring_info info = {.size = sizeof info};
  eva_tally_finish(watching->tally, watching->reader.cursor);
  check_tally(watching->tally);
  name_choice_look(&watching->choice.name, watching->reader.cursor,
                   watching->choice.classes ? watching->choice.classes : UINT64_MAX);
  tally_print(watching->tally, &watching->choice, watching->options->as, out);
  if (eventring_cursor_info(watching->reader.cursor, &info) == 0) complain_of_control(&info);
}

/* Prepares the reading of a recording. Returns false, after a message, if the window can
   have no events or there is no such class. */
static bool prepare(struct watching *watching, const struct stats_options *options) {
  struct time_window window = options->window; /* of this recording */
  watching->choice = options->choice;
  if (!class_find(watching->reader.cursor, options->class_name, &watching->choice.classes) ||
      !time_window_apply(&window, watching->reader.cursor))
    return false;
  watching->options = options;
  watching->limit_ns = options->limit_ns;
  watching->tally = eva_tally_new();
  if (!watching->tally) no_memory();
  watching->tally->since = window.since;
  watching->tally->until = window.until;
  if (options->from_now) eva_tally_begin(watching->tally, watching->reader.cursor);
  /* this is what is shown if the file cannot be read any more at the end */
  watching->tally->info.size = sizeof watching->tally->info;
  eventring_cursor_info(watching->reader.cursor, &watching->tally->info);
  return true;
}

/* Opens all that can be opened, and sets *count to their number. Returns the exit
   status. */
static int open_all(struct watching *list, size_t *count, const struct operands *operands,
                    const struct stats_options *options, unsigned flags) {
  int status = STATUS_OK;
  for (size_t i = 0; i < operands->count; i++) {
    struct watching *watching = &list[*count];
    if (reader_open_target(&watching->reader, operands->words[i],
                           flags | EVENTRING_OPEN_FOLLOW) >= 0) {
      status = STATUS_WRONG;
      continue;
    }
    if (prepare(watching, options)) ++*count;
    else status = reader_close(&watching->reader, STATUS_WRONG);
  }
  return status;
}

static int stats_of_all(const struct operands *operands, const struct stats_options *options,
                        unsigned flags, FILE *out) {
  struct watching *list = need_zeroed(operands->count, sizeof *list);
  size_t count = 0;
  int status = open_all(list, &count, operands, options, flags);
  if (count > 0) watch_all(list, count);
  for (size_t i = 0; i < count; i++) {
    if (i > 0 && view_wants_text(&options->as)) fputs("\n\n", out);
    print(&list[i], out);
    eva_tally_free(list[i].tally);
    status = reader_close(&list[i].reader, status);
  }
  free(list);
  return status;
}

/* Reads a recording of all processes instead of the recording of the first. Returns false
   after a message. */
static bool watch_again(struct watching *watching, char *path, const struct stats_options *options,
                        unsigned flags) {
  struct eventring_error error;
  eva_tally_free(watching->tally);
  eventring_close(watching->reader.cursor);
  bool done = eventring_open_path(&watching->reader.cursor, path, flags, &error) == EVENTRING_OK;
  free(path);
  if (!done) {
    watching->reader.cursor = NULL;
    return complain("%s", error.text);
  }
  if (!prepare(watching, options)) return false;
  watch(watching);
  return true;
}

static int stats_of_command(const struct operands *operands, const struct stats_options *options,
                            unsigned flags, FILE *out) {
  struct watching watching = {0};
  int status = reader_open(&watching.reader, operands, options->prefix, flags);
  if (!goes_on(status)) return status;
  if (!prepare(&watching, options)) return reader_close(&watching.reader, STATUS_WRONG);
  watch(&watching);
  char *all = reader_merge(&watching.reader);
  if (all && !watch_again(&watching, all, options, flags))
    return reader_close(&watching.reader, STATUS_WRONG);
  print(&watching, out);
  eva_tally_free(watching.tally);
  return reader_close(&watching.reader, STATUS_OK);
}

int command_stats(const struct command *self, int count, char **words) {
  struct stats_options options;
  struct operands operands;
  int status = read_words(self, count, words, &options, &operands);
  if (!goes_on(status)) return status;
  /* create the file before reading: an hour of watching must not end with "permission
     denied" */
  FILE *out = output_file_replace(options.output);
  if (!out) return STATUS_WRONG;
  unsigned flags = EVENTRING_OPEN_MERGED | EVENTRING_OPEN_AHEAD |
                   (options.from_now ? EVENTRING_OPEN_NOW : 0);
  status = (operands.command ? stats_of_command : stats_of_all)(&operands, &options, flags, out);
  int written = output_file_close(out, options.output);
  return status != STATUS_OK ? status : written;
}
