/* SPDX-License-Identifier: MIT */
/* reader.c: reads a recording to its end. */
#include "reader.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/read_all.h"
#include "dead.h"
#include "format/now.h"
#include "parents.h"
#include "start.h"

static int stopped; /* set by a handler or a callback, read by all threads: atomic */

static void stop_on_signal(int number) {
  (void)number;
  reader_stop();
}

void reader_stop(void) { __atomic_store_n(&stopped, 1, __ATOMIC_RELAXED); }
bool reader_is_stopped(void) { return __atomic_load_n(&stopped, __ATOMIC_RELAXED); }

/* Reports that a process does not record, and how to make it record. Returns the exit
   status. */
static int does_not_record(pid_t pid, const char *former, const struct eventring_error *error) {
  char start[START_TEXT];
  if (start_is_due(pid, start)) return wrong("%s: %s", error->text, start);
  if (former)
    return wrong("%s; %s is of an earlier process %d", error->text, former, (int)pid);
  return wrong("%s (`eventring control --start %d' has it record, or start it with "
               "SAROS_EVENTRING_START=1)", error->text, (int)pid);
}

/* Opens the recording of an ended process, if there is one in the directories that `list`
   searches. Returns STATUS_GO_ON, or the exit status. */
static int open_left(struct reader *reader, pid_t pid, unsigned flags,
                     const struct eventring_error *error) {
  char *left = dead_recording(pid);
  int status = STATUS_WRONG;
  if (process_runs(pid)) {
    does_not_record(pid, left, error);
  } else if (!left) {
    wrong("%s; it has left no recording where `eventring list' looks", error->text);
  } else {
    complain("process %d has ended: this is %s", (int)pid, left);
    status = reader_open_target(reader, left, flags & ~(unsigned)EVENTRING_OPEN_FOLLOW);
  }
  free(left);
  return status;
}

/* Opens a recording. Gives a newly started process time to begin: a process that a shell
   has put into the background may not have run its first instruction yet. */
static int open_any(eventring_cursor **cursor, const char *pid_or_file, unsigned flags,
                    struct eventring_error *error) {
  static const uint64_t to_begin_ns = 2000000000;
  static const struct timespec pause = {.tv_nsec = 10000000};
  pid_t pid;
  int status;
  while ((status = eventring_open_any(cursor, pid_or_file, flags, error)) ==
             EVENTRING_E_NOT_FOUND &&
         !reader_is_stopped() && read_process_number(pid_or_file, &pid) && process_runs(pid) &&
         process_age_ns(pid) < to_begin_ns)
    nanosleep(&pause, NULL);
  return status;
}

int reader_open_target(struct reader *reader, const char *pid_or_file,
                       unsigned flags) {
  struct eventring_error error;
  pid_t pid;
  *reader = (struct reader){0};
  if (open_any(&reader->cursor, pid_or_file, flags, &error) == 0) return STATUS_GO_ON;
  bool is_left = error.code == EVENTRING_E_NOT_FOUND && read_process_number(pid_or_file, &pid);
  return is_left ? open_left(reader, pid, flags, &error) : wrong("%s", error.text);
}

int reader_open_present(struct reader *reader, const char *pid_or_file, unsigned flags) {
  struct eventring_error error;
  pid_t pid;
  *reader = (struct reader){0};
  if (open_any(&reader->cursor, pid_or_file, flags, &error) == 0) return STATUS_GO_ON;
  bool runs = error.code == EVENTRING_E_NOT_FOUND && read_process_number(pid_or_file, &pid) &&
              process_runs(pid);
  return runs ? does_not_record(pid, NULL, &error) : wrong("%s", error.text);
}

static int open_command(struct reader *reader, char **command,
                        const char *prefix, unsigned flags) {
  *reader = (struct reader){0};
  int status = launch_start(&reader->launch, command, prefix, false);
  if (!goes_on(status)) return status;
  reader->launched = true;
  status = launch_open(&reader->launch, &reader->cursor, flags);
  return goes_on(status) ? STATUS_GO_ON : reader_close(reader, status);
}

int reader_open(struct reader *reader, const struct operands *operands,
                const char *prefix, unsigned flags) {
  if (operands->command)
    return open_command(reader, operands->command, prefix, flags);
  return reader_open_target(reader, operands->words[0], flags | EVENTRING_OPEN_FOLLOW);
}

/* ---- What is known of the process ---------------------------------------- */

pid_t pid_here(const struct eventring_info *info) {
  return info->process ? info->process : info->pid;
}

char *process_text(char text[PROCESS_TEXT], const struct eventring_info *info) {
  if (!pid_here(info)) return strcpy(text, "(several)");
  int length = snprintf(text, PROCESS_TEXT, "%ld", (long)pid_here(info));
  if (pid_here(info) != info->pid)
    snprintf(text + length, PROCESS_TEXT - (size_t)length, " (%ld in its container)",
             (long)info->pid);
  return text;
}

void complain_of_control(const struct eventring_info *info) {
  if (info->control_rejected)
    complain("process %ld ignored %llu malformed control words", (long)pid_here(info),
             (unsigned long long)info->control_rejected);
  bool live = info->liveness == EVENTRING_LIVE;
  if (info->control_word & ~info->classes_known)
    complain("the control word %#llx is malformed%s", (unsigned long long)info->control_word,
             live ? "; the process will ignore it" : "");
  else if (info->control_malformed)
    complain("the gate does not agree with the control word %#llx%s",
             (unsigned long long)info->control_word,
             live ? "; the process will put it right" : "");
}

void tell_of_deletion(eventring_cursor *cursor) {
  struct eventring_info info = {.size = sizeof info};
  eventring_cursor_info(cursor, &info);
  if (info.end_reason != EVENTRING_END_DELETED) return;
  complain(
      "%s was deleted: this is what was recorded until then; process %ld goes on in a new file "
      "of that name",
      info.path, (long)pid_here(&info));
}

/* ---- Reading ------------------------------------------------------------- */

/* State of one reader_run. */
struct progress {
  struct reader *reader;
  const struct reading *reading;
  uint64_t began;
  struct eventring_info info; /* as it was before any error */
  char last_error[sizeof((struct eventring_error *)0)->text];
  struct eva_read read;
  bool past;      /* an event after `until` was delivered */
  unsigned quiet; /* polls in succession without an event */
};

static void tell_error(struct progress *progress) {
  const char *text = eventring_cursor_error(progress->reader->cursor)->text;
  if (strcmp(text, progress->last_error) != 0)
    complain("%s: %s", progress->info.path, text);
  snprintf(progress->last_error, sizeof progress->last_error, "%s", text);
  progress->reader->failed = true;
}

/* Handles events in the order of their times, up to the first one after `until`. */
static int on_event_until(void *context, const struct eventring_event *event) {
  struct progress *progress = context;
  const struct reading *reading = progress->reading;
  progress->past = event->ns > reading->until;
  int result = reading->callbacks->event(reading->context, event);
  return progress->past ? 1 : result;
}

static int on_lost_until(void *context, const struct eventring_loss *loss) {
  const struct reading *reading = ((struct progress *)context)->reading;
  return reading->callbacks->lost(reading->context, loss);
}

static int poll(struct progress *progress) {
  static const struct eventring_callbacks until = {sizeof until, on_event_until, on_lost_until};
  const struct reading *reading = progress->reading;
  eventring_cursor *cursor = progress->reader->cursor;
  return reading->until == UINT64_MAX
             ? eva_read_poll(&progress->read, cursor, reading->callbacks, reading->context, 0)
             : eva_read_poll(&progress->read, cursor, &until, progress, 0);
}

/* Polls once. Returns the number of events. */
static uint64_t poll_once(struct progress *progress) {
  eventring_cursor *cursor = progress->reader->cursor;
  const struct reading *reading = progress->reading;
  struct eventring_totals before = {.size = sizeof before}, after = {.size = sizeof after};
  eventring_cursor_totals(cursor, &before);
  int result = poll(progress);
  eventring_cursor_totals(cursor, &after);
  uint64_t events = after.delivered - before.delivered;
  if (result < 0) tell_error(progress);
  if (events > 0 && reading->after_poll) reading->after_poll(reading->context, &after);
  return events;
}

/* Tells whether nothing has come for a while and no process is left to write. The library
   itself reports the end of a sound file (eventring_finished); this function is for
   damaged files. */
static bool nobody_left(struct progress *progress, uint64_t events) {
  progress->quiet = events == 0 ? progress->quiet + 1 : 0;
  if (progress->quiet < 16) return false;
  progress->quiet = 0;
  return eventring_cursor_liveness(progress->reader->cursor) != EVENTRING_LIVE;
}

static bool time_is_up(const struct progress *progress) {
  uint64_t limit = progress->reading->limit_ns;
  return limit > 0 && now_ns() - progress->began >= limit;
}

/* How the recording of a live process is read up to the time `until`.
 *
 * Each poll delivers in the order of times, but the next poll may deliver older events of
 * another ring. So the last poll, which reaches `until`, must begin when all rings are
 * past `until`. Clocks differ by some microseconds, and a thread may be interrupted
 * between reading the clock and storing the event. So no poll begins in the last
 * MARGIN_NS before `until`, and the last poll begins MARGIN_NS after it. */
enum { MARGIN_NS = 10 * 1000 * 1000 };

/* Tells whether the next poll must be the last one. Waits if no poll may begin yet. */
static bool has_come(uint64_t until) {
  uint64_t now = now_ns();
  if (now < until && until - now > MARGIN_NS) return false;
  if (now > until && now - until >= MARGIN_NS) return true;
  uint64_t rest = until + MARGIN_NS - now;
  nanosleep(&(struct timespec){.tv_nsec = (long)rest}, NULL);
  return true;
}

/* how often signals and the PROGRAM are checked */
enum { LONGEST_WAIT_NS = 100 * 1000 * 1000 };

/* Waits until there is something to poll or to check. */
static void wait_for_news(const struct progress *progress) {
  uint64_t ns = LONGEST_WAIT_NS, limit = progress->reading->limit_ns, now = now_ns();
  uint64_t until = progress->reading->until;
  if (limit > 0) {
    uint64_t spent = now - progress->began;
    uint64_t left = limit > spent ? limit - spent : 0;
    if (ns > left) ns = left;
  }
  if (until > now && ns > until - now) ns = until - now;
  /* the caller handles a signal that ends the wait */
  eventring_wait(progress->reader->cursor, ns);
}

static void read_on(struct progress *progress) {
  struct reader *reader = progress->reader;
  const struct eva_read *read = &progress->read;
  for (;;) {
    if (reader->launched) launch_check(&reader->launch);
    bool last = progress->reading->follow && has_come(progress->reading->until);
    uint64_t events = poll_once(progress);
    if (read->is_stopped || reader_is_stopped() || time_is_up(progress)) return;
    if (!read->is_over) continue;
    bool once = last || read->failures || !progress->reading->follow;
    if (once || eventring_finished(reader->cursor) || nobody_left(progress, events)) return;
    wait_for_news(progress);
  }
}

/* Catches a signal, or lets it end the process again. An ignored SIGHUP stays ignored, as
   with nohup. */
static void catch_signal(int number, bool on) {
  struct sigaction action = {.sa_handler = on ? stop_on_signal : SIG_DFL}, before;
  sigemptyset(&action.sa_mask);
  if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_IGN && number == SIGHUP)
    return;
  sigaction(number, &action, NULL);
}

void reader_catch_signals(bool on) {
  if (on) __atomic_store_n(&stopped, 0, __ATOMIC_RELAXED);
  catch_signal(SIGINT, on);
  catch_signal(SIGTERM, on);
  catch_signal(SIGHUP, on);
}

void reader_read(struct reader *reader, const struct reading *reading) {
  struct progress progress = {
      .info.size = sizeof progress.info, .reader = reader, .reading = reading, .began = now_ns()};
  eventring_cursor_info(reader->cursor, &progress.info);
  read_on(&progress);
  if (reading->follow) tell_of_deletion(reader->cursor);
}

void reader_run(struct reader *reader, const struct reading *reading) {
  bool catches = reading->follow && !reader->launched;
  if (catches) reader_catch_signals(true);
  reader_read(reader, reading);
  if (catches) reader_catch_signals(false);
}

/* Merges the recordings of a launched command, except the recording that `but` describes;
   NULL for all recordings. Waits for the end of the command first: its recording may have
   ended only because the command has executed another program. */
static char *merge(struct reader *reader, const struct eventring_info *but) {
  if (!reader->launched || eventring_cursor_liveness(reader->cursor) == EVENTRING_LIVE) return NULL;
  while (!reader->launch.ended) {
    launch_check(&reader->launch);
    if (!reader->launch.ended) nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
  }
  return launch_merge(&reader->launch, but, &reader->failed);
}

char *reader_merge(struct reader *reader) { return merge(reader, NULL); }

bool reader_go_on_in(struct reader *reader, const char *path, unsigned flags) {
  struct eventring_error error;
  eventring_cursor *cursor;
  if (eventring_open_path(&cursor, path, flags, &error) != 0) {
    reader->failed = true;
    return complain("%s", error.text);
  }
  eventring_close(reader->cursor);
  reader->cursor = cursor;
  return true;
}

bool reader_go_on_in_others(struct reader *reader) {
  struct eventring_info read = {.size = sizeof read};
  eventring_cursor_info(reader->cursor, &read);
  char *others = merge(reader, &read);
  const bool goes_on = others && reader_go_on_in(reader, others, EVENTRING_OPEN_MERGED);
  free(others);
  return goes_on;
}

int reader_close(struct reader *reader, int status) {
  if (reader->cursor) eventring_close(reader->cursor);
  reader->cursor = NULL;
  if (reader->failed && status == STATUS_OK) status = STATUS_WRONG;
  if (!reader->launched) return status;
  int theirs = launch_finish(&reader->launch);
  return theirs != 0 ? theirs : status;
}
