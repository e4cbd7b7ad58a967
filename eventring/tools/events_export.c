/* SPDX-License-Identifier: MIT */
/* events_export.c: writes all events of a recording in the formats of other tools.
 *
 * Without a window and a domain, the callbacks of the poll are those of the format.
 * Otherwise the events pass a filter first. If neither the format nor the end of the
 * window needs the order of time, rings are read one after the other, which is faster.
 *
 * Unless the recording was launched, SIGINT, SIGTERM and SIGHUP end the watching of a
 * live process. At any other time they end the export, and no file is left: formats call
 * `show` now and then, which notices the signal and sets `run.error` and `out.failed`;
 * each of these two ends the poll. */
#include "events_export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/so_far.h"
#include "export/event_formats.h"
#include "format/now.h"
#include "formats.h"
#include "new_file.h"

struct events_export {
  struct query *q;
  const struct export_events *format;
  struct export_run run;
  struct export_out out;
  void *state;
  uint64_t available; /* number of events at the beginning */
  uint64_t shown_ns;  /* when progress was shown */
  const char *path;   /* name of the complete file or folder */
  char *all;          /* path of a recording of all processes of the PROGRAM, exported
                         instead of the one that was read; or NULL */
  bool is_binary;     /* whether the format is binary */
  bool watching;      /* a process is watched until N seconds have passed or a signal
                         comes */
};

/* ---- Interruption ------------------------------------------------------------- */

/* Tells whether a signal has ended the export, and sets its error then. */
static bool is_interrupted(struct events_export *e) {
  if (e->watching || e->q->reader.launched || !reader_is_stopped()) return false;
  if (!e->run.error[0])
    snprintf(e->run.error, sizeof e->run.error, "interrupted; %.400s is removed", e->path);
  e->out.failed = true;
  return true;
}

/* ---- Progress ----------------------------------------------------------------- */

static uint64_t count_available(eventring_cursor *cursor) {
  uint64_t sum = 0;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    for (unsigned ring = 0; ring < EVENTRING_RINGS; ring++) {
      struct eventring_ring_info info = {.size = sizeof info};
      if (eventring_cursor_ring(cursor, slot, (enum eventring_ring)ring, &info) == 0)
        sum += info.available;
    }
  return sum;
}

/* Shows a bar on a terminal, ten times a second. */
static void show(void *context) {
  enum { WIDTH = 50, EVERY_NS = 100 * 1000 * 1000 };
  struct events_export *e = context;
  struct eventring_totals totals = {.size = sizeof totals};
  char bar[WIDTH + 1];
  uint64_t now = now_ns();
  if (is_interrupted(e) || now - e->shown_ns < EVERY_NS) return;
  e->shown_ns = now;
  eventring_cursor_totals(e->run.cursor, &totals);
  double share = e->available ? (double)totals.delivered / (double)e->available : 0;
  if (share > 1) share = 1;
  memset(bar, '.', WIDTH);
  memset(bar, '#', (size_t)(share * WIDTH));
  bar[WIDTH] = '\0';
  show_progress("export %s %3d %%", bar, (int)(share * 100));
}

/* ---- The part that is asked for ----------------------------------------------- */

/* Tells whether the format gets the events of a moment. The moment lies in the window, or
   before it for a format that also reads the time before the window. */
static bool is_known(const struct events_export *e, uint64_t ns) {
  return e->format->reads_before || query_is_past_start(e->q, ns);
}

/* Passes the begin of a span that began before the window, and ends in it or later. */
static int begin_again(struct events_export *e, const struct eventring_event *end) {
  struct eventring_event begin = *end;
  begin.kind = EVENTRING_BEGIN;
  begin.ns = begin.begin_ns;
  begin.flags = (uint16_t)(EVENTRING_SYNTHETIC | (end->flags & EVENTRING_UNKNOWN));
  begin.payload = EVENTRING_NONE;
  begin.value.u = begin.suspended_ns = begin.size = 0;
  begin.bytes = NULL;
  return e->format->event(e->state, &begin);
}

static int on_event_after(struct events_export *e, const struct eventring_event *event) {
  struct eventring_event begin;
  if (!eva_open_before(event, e->q->window.until, &begin)) return 0;
  int result = is_known(e, event->begin_ns) ? 0 : begin_again(e, event);
  return result ? result : e->format->open(e->state, &begin);
}

static int on_event(void *context, const struct eventring_event *event) {
  struct events_export *e = context;
  if (!query_wants_domain(e->q, event->domain)) return 0;
  if (query_is_past_end(e->q, event->ns)) return on_event_after(e, event);
  if (!is_known(e, event->ns)) return 0;
  if (eventring_event_took(event) >= 0 && !is_known(e, event->begin_ns)) {
    int result = begin_again(e, event);
    if (result) return result;
  }
  return e->format->event(e->state, event);
}

static int on_lost(void *context, const struct eventring_loss *loss) {
  struct events_export *e = context;
  bool wanted = query_wants_domain(e->q, loss->domain) &&
                is_known(e, loss->ns) && !query_is_past_end(e->q, loss->ns);
  return wanted ? e->format->lost(e->state, loss) : 0;
}

static int on_open(void *context, const struct eventring_event *event) {
  struct events_export *e = context;
  if (!query_wants_domain(e->q, event->domain) || query_is_past_end(e->q, event->ns))
    return 0;
  struct eventring_event end = *event;
  int result = is_known(e, event->ns) ? 0 : begin_again(e, &end);
  return result ? result : e->format->open(e->state, event);
}

/* ---- Reading and writing ------------------------------------------------------ */

static bool is_filtered(const struct query *q) {
  return q->domain != UINT64_MAX || q->window.since || q->window.until != UINT64_MAX;
}

static void read_all(struct events_export *e) {
  static const struct eventring_callbacks filter = {sizeof filter, on_event, on_lost};
  const struct eventring_callbacks own = {sizeof own, e->format->event, e->format->lost};
  struct query *q = e->q;
  bool filtered = is_filtered(q);
  const struct reading reading = {.callbacks = filtered ? &filter : &own,
                                  .context = filtered ? (void *)e : e->state,
                                  .follow = q->limit_ns > 0 || q->reader.launched,
                                  .limit_ns = q->limit_ns, .until = q->window.until};
  e->watching = q->limit_ns > 0;
  reader_read(&q->reader, &reading);
  /* the next signal interrupts */
  if (e->watching && !q->reader.launched) reader_catch_signals(true);
  e->watching = false;
  if (!e->out.failed && !e->run.error[0])
    eventring_open_spans(q->reader.cursor, on_open, e);
}

static int export_all(struct events_export *e) {
  e->state = e->format->begin(&e->run);
  if (!e->state && !e->run.error[0]) no_memory();
  if (!e->state) return STATUS_WRONG;
  read_all(e);
  if (e->format->finish(e->state) != 0 && !e->run.error[0]) no_memory();
  hide_progress();
  if (!e->run.error[0]) e->all = reader_merge(&e->q->reader);
  return e->run.error[0] || e->all ? STATUS_WRONG : STATUS_OK;
}

static bool ends_with(const char *text, const char *end) {
  size_t size = strlen(text), tail = strlen(end);
  return size >= tail && strcmp(text + size - tail, end) == 0;
}

/* Opens the output. If a PROGRAM has several processes, the export of the process that
   was read is discarded. So an export is written to standard output only when it is
   certain not to be discarded. */
static int open_output(struct events_export *e, struct new_file *file, const char *path) {
  int fd = new_file_create(file, path);
  if (fd < 0 || !is_standard_output(path) || !e->q->reader.launched) return fd;
  close(fd);
  return launch_scratch(&e->q->reader.launch);
}

/* Copies a file to standard output. Returns 0 or an errno. */
static int copy_to_standard_output(int from) {
  static char buffer[1 << 16];
  struct export_out out;
  ssize_t size = 0;
  int error = export_out_open(&out, STDOUT_FILENO, false);
  if (error) return error;
  if (lseek(from, 0, SEEK_SET) < 0) error = errno;
  while (!error && (size = read(from, buffer, sizeof buffer)) > 0)
    export_put(&out, buffer, (size_t)size);
  if (size < 0) error = errno;
  const int failed = export_out_close(&out);
  return error ? error : failed;
}

static int export_to_file(struct events_export *e, const char *path) {
  bool compress = ends_with(path, ".gz");
  if (compress && !export_can_compress())
    return wrong("%s: this eventring was built without zlib (Debian package: zlib1g-dev)", path);
  struct new_file file;
  if (is_standard_output(path) && e->is_binary && !standard_output_takes("this format"))
    return STATUS_WRONG;
  int fd = open_output(e, &file, path);
  if (fd < 0) return STATUS_WRONG;
  int error = export_out_open(&e->out, fd, compress);
  if (error == ENOMEM) no_memory();
  e->out.progress = show;
  e->out.context = e;
  e->run.out = &e->out;
  int status = error ? STATUS_WRONG : export_all(e);
  if (is_interrupted(e)) status = STATUS_WRONG;
  if (!error) error = export_out_close(&e->out);
  if (!error && status == STATUS_OK && is_standard_output(path) && e->q->reader.launched)
    error = copy_to_standard_output(fd);
  if (close(fd) != 0 && !error) error = errno;
  if (error) complain("cannot write %s: %s", file.path, strerror(error));
  if (error) status = STATUS_WRONG;
  if (status == STATUS_OK) return new_file_keep(&file) ? STATUS_OK : STATUS_WRONG;
  new_file_drop(&file);
  return status;
}

/* Exports in a format that writes its file, or the files in its folder, by itself. */
static int export_to_path(struct events_export *e, const char *path) {
  struct new_file file;
  if (is_standard_output(path))
    return wrong("this format makes a file, or a folder, of its own: not `-o -'");
  int fd = -1;
  bool made = e->format->makes ? new_folder_create(&file, path, e->format->makes)
                               : (fd = new_file_create(&file, path)) >= 0;
  if (!made) return STATUS_WRONG;
  if (fd >= 0) close(fd);
  e->run.path = file.partial;
  int status = export_all(e);
  if (status == STATUS_OK) return new_file_keep(&file) ? STATUS_OK : STATUS_WRONG;
  new_file_drop(&file);
  return status;
}

/* Opens the recording as query_open does, but merged only if necessary. */
static int open_recording(struct events_export *e, const struct operands *operands) {
  struct query *q = e->q;
  bool ends = q->window.to.base != TIME_NOT_SAID;
  int status = reader_open(&q->reader, operands, q->prefix,
                           e->format->merged || ends ? EVENTRING_OPEN_MERGED : 0);
  if (!goes_on(status)) return status;
  q->info.size = sizeof q->info;
  eventring_cursor_info(q->reader.cursor, &q->info); /* the poll reports any error */
  if (!time_window_apply(&q->window, q->reader.cursor))
    return reader_close(&q->reader, STATUS_WRONG);
  e->run.cursor = q->reader.cursor;
  e->run.info = &q->info;
  e->run.since_ns = q->window.since;
  e->run.until_ns = q->window.until;
  e->available = count_available(q->reader.cursor);
  return STATUS_GO_ON;
}

int events_export(struct query *q, const struct operands *operands, const char *format,
                  const char *path, uint64_t every_ns, const char *resource) {
  struct events_export e = {.q = q, .format = format_of_events(format)->events};
  e.path = path;
  e.is_binary = format_of_events(format)->is_binary;
  e.run.every_ns = every_ns;
  e.run.resource = resource;
  e.run.progress = show;
  e.run.progress_context = &e;
  int status = open_recording(&e, operands);
  if (!goes_on(status)) return status;
  bool catches = !q->reader.launched;
  if (catches) reader_catch_signals(true); /* before a file is created */
  status = (e.format->own_file || e.format->makes ? export_to_path : export_to_file)(&e, path);
  if (catches) reader_catch_signals(false);
  if (e.run.error[0]) complain("%s", e.run.error);
  else if (e.run.note[0] && status == STATUS_OK) complain("%s", e.run.note);
  if (e.all) status = run_of_file(e.all);
  free(e.all);
  return reader_close(&q->reader, status);
}
