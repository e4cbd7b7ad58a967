/* SPDX-License-Identifier: MIT */
/* cmd_dump.c: `eventring dump`: prints the events of a recording, one a line, in the
 * order of their times; and at the end the spans that are still open. With --backwards,
 * everything comes in the opposite order. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis/ending.h"
#include "analysis/names.h"
#include "class_list.h"
#include "dump_format.h"
#include "name_choice.h"
#include "options.h"
#include "reader.h"
#include "text_table.h"
#include "time_window.h"

/* Which events are wanted. NULL, -1 and UINT64_MAX stand for all. */
struct filter {
  struct name_choice name;
  const char *class_name, *ring;
  int ring_index;   /* index of `ring` */
  uint64_t classes; /* bit of `class_name` */
  uint64_t domain;
  struct time_window window;
};

struct dump_options {
  struct dump_format format;
  struct filter filter;
  bool follow, from_now;
  uint64_t limit_ns;
  uint64_t most, printed; /* most events to print (0 if there is no limit); number of
                             events printed */
  const char *prefix;
  struct eventring_event late; /* the first event after the window; zeroed: none came */
  struct eva_known known;      /* what is known at the end of reading */
};

/* ---- Options ------------------------------------------------------------- */

static int check_options(const struct command *self, struct dump_options *options,
                         const struct operands *operands) {
  struct filter *filter = &options->filter;
  int status = time_window_check(self, &filter->window);
  if (!goes_on(status)) return status;
  bool goes_on = options->follow || options->limit_ns || options->from_now || operands->command;
  if (filter->window.backwards && goes_on)
    return usage_error(self, "--backwards cannot show what is still to come: no --follow, "
                             "--seconds, --from-now or a PROGRAM");
  if (options->limit_ns > 0 || operands->command) options->follow = true;
  return require_target(self, operands, true);
}

static int read_words(const struct command *self, int count, char **words,
                      struct dump_options *options, struct operands *operands) {
  static const char *const times[] = {[DUMP_SINCE_START] = "start",
                                      [DUMP_MONOTONIC] = "monotonic",
                                      [DUMP_WALL] = "wall", NULL};
  *options = (struct dump_options){.prefix = "SAROS_EVENTRING",
                                   .filter = {.window = TIME_WINDOW_ALL, .domain = UINT64_MAX,
                                              .classes = UINT64_MAX}};
  struct filter *filter = &options->filter;
  const struct option_spec specs[] = {
      {"json", 'j', OPTION_FLAG, &options->format.json, NULL,
       "one JSON object a line"},
      {"follow", 'f', OPTION_FLAG, &options->follow, NULL,
       "go on until the process ends"},
      {"seconds", 's', OPTION_SECONDS, &options->limit_ns, "N",
       "follow for N seconds"},
      {"from-now", 'n', OPTION_FLAG, &options->from_now, NULL,
       "leave out what is in the rings already"},
      TIME_WINDOW_SPECS(&filter->window),
      {"backwards", 0, OPTION_FLAG, &filter->window.backwards, NULL,
       "the latest event first; reads what it prints only"},
      {"events", 0, OPTION_COUNT, &options->most, "N",
       "at most N events: the first ones, with --backwards the last"},
      DOMAIN_SPEC(&filter->domain),
      {"ring", 'r', OPTION_TEXT, &filter->ring, "RING",
       "only this ring: runtime, user, ..., as show names them"},
      {"class", 'c', OPTION_TEXT, &filter->class_name, "NAME",
       "only events of this class"},
      NAME_SPEC(&filter->name, "events"),
      {"time", 't', OPTION_CHOICE, CHOICE(&options->format.time, times), "HOW",
       "start (seconds since then), monotonic (ns) or wall"},
      ENV_PREFIX_SPEC(&options->prefix)};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (!goes_on(status)) return status;
  return check_options(self, options, operands);
}

/* ---- Filter -------------------------------------------------------------- */

static bool wants_source(const struct filter *filter, uint32_t domain,
                         uint8_t ring, uint64_t ns) {
  if (filter->domain != UINT64_MAX && domain != filter->domain) return false;
  if (filter->ring_index >= 0 && ring != filter->ring_index) return false;
  return ns >= filter->window.since && ns <= filter->window.until;
}

/* Looks up the name of the ring. Returns false, after a message, if there is no such
   ring. */
static bool find_ring(struct filter *filter, const eventring_cursor *cursor) {
  char known[EVENTRING_RINGS * 24] = "";
  filter->ring_index = -1;
  if (!filter->ring) return true;
  for (int ring = 0; ring < EVENTRING_RINGS; ring++) {
    const char *name = eva_ring_name(cursor, (uint8_t)ring);
    size_t used = strlen(known);
    snprintf(known + used, sizeof known - used, " %s", name);
    if (strcmp(name, filter->ring) == 0) filter->ring_index = ring;
  }
  if (filter->ring_index < 0)
    complain("no ring `%s' in this recording; it has%s", filter->ring, known);
  return filter->ring_index >= 0;
}

static bool wants(const struct dump_options *options,
                  const struct eventring_event *event) {
  const struct filter *filter = &options->filter;
  if (!name_choice_wants(&filter->name, event->name)) return false;
  if (!(filter->classes >> event->event_class & 1)) return false;
  return wants_source(filter, event->domain, event->ring, event->ns);
}

/* ---- Reading ------------------------------------------------------------- */

/* Returns 1, which ends the reading, if the output cannot be written or enough was
   printed. */
static int go_on(const struct dump_options *options, bool is_enough) {
  bool failed = ferror(options->format.out);
  if (!failed && !is_enough) return 0;
  if (failed && !output_errno) output_errno = errno;
  reader_stop();
  return 1;
}

/* Tells whether all events that are wanted were printed. (Synthetic events do not
   count.) */
static bool is_enough(struct dump_options *options, const struct eventring_event *event,
                      bool is_printed) {
  const struct time_window *window = &options->filter.window;
  if (event->flags & EVENTRING_SYNTHETIC) return false;
  options->printed += is_printed;
  return (options->most && options->printed >= options->most) ||
         (window->backwards && event->ns < window->since);
}

static int on_event(void *context, const struct eventring_event *event) {
  struct dump_options *options = context;
  bool is_wanted = wants(options, event);
  if (event->ns > options->filter.window.until) options->late = *event;
  if (is_wanted) dump_event(&options->format, event);
  return go_on(options, is_enough(options, event, is_wanted));
}

static int on_lost(void *context, const struct eventring_loss *loss) {
  const struct dump_options *options = context;
  if (wants_source(&options->filter, loss->domain, loss->ring, loss->ns))
    dump_loss(&options->format, loss);
  return go_on(options, false);
}

static int on_open_span(void *context, const struct eventring_event *event) {
  const struct dump_options *options = context;
  struct dump_options ever = *options;
  struct eventring_event span = *event;
  ever.filter.window.since = 0; /* the span counts however long it has been open */
  /* the flag is about the end of the recording, not about an earlier end of the window */
  if (options->filter.window.until != UINT64_MAX) span.flags &= ~(unsigned)EVENTRING_MAY_BE_OVER;
  if (!wants(&ever, event)) return go_on(options, false);
  const struct eva_so_far so_far = eva_so_far(&options->known, options->format.cursor, event);
  dump_open_span(&options->format, &span, &so_far);
  return go_on(options, false);
}

static void dump_open_spans(struct reader *reader, struct dump_options *options) {
  struct eventring_event late;
  eva_known_find(&options->known, reader->cursor, options->filter.window.until);
  eventring_open_spans(reader->cursor, on_open_span, options);
  /* if the first event after the window ends a span, that span was open, too */
  if (eva_open_before(&options->late, options->filter.window.until, &late))
    on_open_span(options, &late);
}

/* Prints how a process ended, if it ended unusually and all events are wanted. */
static void dump_unusual_end(struct reader *reader, const struct dump_options *options) {
  const struct filter *filter = &options->filter;
  struct eventring_info info = {.size = sizeof info};
  if (filter->name.text || filter->class_name || filter->ring || filter->domain != UINT64_MAX ||
      eventring_cursor_info(reader->cursor, &info) < 0)
    return;
  const struct eva_ending ending = eva_ending_of(&info);
  bool noted = info.end_reason != EVENTRING_END_UNKNOWN || ending.error[0];
  if (noted && eva_ended_unusually(&ending)) dump_end(&options->format, &info);
}

/* Handles the end of a pass of the reader: domains may have other names by now. */
static void after_poll(void *context, const struct eventring_totals *totals) {
  (void)totals;
  struct dump_options *options = context;
  name_choice_look(&options->filter.name, options->format.cursor, options->filter.classes);
  dump_forget(&options->format);
  fflush(options->format.out);
}

/* Prints the spans that were still open at the end of the window. (The open spans are not
   known if the window is read backwards and the recording goes on after the window.) */
static void dump_rest(struct reader *reader, struct dump_options *options) {
  const struct time_window *window = &options->filter.window;
  if (ferror(stdout)) return;
  if (window->backwards) {
    if (window->until != UINT64_MAX) return;
    dump_unusual_end(reader, options);
    dump_open_spans(reader, options);
    return;
  }
  dump_open_spans(reader, options);
  if (!ferror(stdout)) dump_unusual_end(reader, options);
}

static void dump_recording(struct reader *reader, struct dump_options *options) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, on_event, on_lost};
  const bool backwards = options->filter.window.backwards;
  options->format.cursor = reader->cursor;
  dump_forget(&options->format);
  name_choice_look(&options->filter.name, reader->cursor, options->filter.classes);
  const struct reading reading = {.callbacks = &callbacks,
                                  .context = options,
                                  .follow = options->follow,
                                  .until = backwards ? UINT64_MAX : options->filter.window.until,
                                  .limit_ns = options->limit_ns,
                                  .after_poll = options->follow ? after_poll : NULL};
  if (backwards) dump_rest(reader, options);
  if (!ferror(stdout)) reader_run(reader, &reading);
  if (!backwards) dump_rest(reader, options);
}

/* Finds the ring and the class in this recording: their numbers may differ from recording
   to recording. Returns false after a message. */
static bool find_numbers(struct filter *filter, const eventring_cursor *cursor) {
  return find_ring(filter, cursor) && class_find(cursor, filter->class_name, &filter->classes);
}

/* Prints the other recordings of a PROGRAM: those of its further processes, and those
   that its first process has made after an exec. They come after what was printed while
   that process ran, with times on the same scale. */
static void dump_others(struct reader *reader, struct dump_options *options) {
  if (ferror(stdout) || reader_is_stopped() || !reader_go_on_in_others(reader)) return;
  memset(&options->late, 0, sizeof options->late);
  memset(&options->known, 0, sizeof options->known);
  if (find_numbers(&options->filter, reader->cursor)) dump_recording(reader, options);
  else reader->failed = true;
}

static void write_collected(void *format) { dump_write_lines(format); }

/* Prints the recording. Returns false, after a message, if the window can have no
   events. */
static bool dump(struct reader *reader, struct dump_options *options) {
  static struct dump_domain domains[EVENTRING_MAX_DOMAINS];
  struct eventring_info info = {.size = sizeof info};
  struct dump_line making;
  if (!time_window_apply(&options->filter.window, reader->cursor)) return false;
  eventring_cursor_info(reader->cursor, &info);
  options->format.out = stdout;
  options->format.domains = domains;
  if (isatty(STDOUT_FILENO)) {
    dump_line_open(&making, table_page(stdout));
    options->format.making = &making;
  }
  options->format.start_ns = info.start_ns;
  options->format.start_wall_ns = info.start_wall_ns;
  static char buffer[1 << 18];
  /* lines of JSON are collected before they come to the stream (dump_format.c) */
  if (!options->format.json) setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  write_before_messages(write_collected, &options->format);
  dump_recording(reader, options);
  dump_others(reader, options);
  write_before_messages(NULL, NULL);
  if (options->format.making) dump_line_close(&making);
  dump_close(&options->format);
  return true;
}

int command_dump(const struct command *self, int count, char **words) {
  struct dump_options options;
  struct operands operands;
  struct reader reader;
  int status = read_words(self, count, words, &options, &operands);
  if (!goes_on(status)) return status;
  status = reader_open(&reader, &operands, options.prefix,
                       EVENTRING_OPEN_MERGED |
                           (options.filter.window.backwards ? EVENTRING_OPEN_BACKWARDS : 0) |
                           (options.from_now ? EVENTRING_OPEN_NOW : 0));
  if (!goes_on(status)) return status;
  if (!find_numbers(&options.filter, reader.cursor))
    return reader_close(&reader, STATUS_WRONG);
  return reader_close(&reader, dump(&reader, &options) ? STATUS_OK : STATUS_WRONG);
}
