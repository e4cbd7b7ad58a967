/* SPDX-License-Identifier: MIT */
/* ctf.c: the Common Trace Format 1.8, for babeltrace2, Trace Compass and lttng-analyses.
 *
 * A trace is a folder: `metadata`, which describes all types in text (TSDL), and a file
 * for each ring of each domain, d0r1 for instance, with packets of events in the order of
 * time. Lost events are counted in the packets (events_discarded): readers report them
 * between two packets.
 *
 * A definition has an event class for each kind of event and each kind of value that it
 * occurs with. Classes are numbered in the order of first use, so the metadata are
 * written last.
 *
 *   NAME:begin, NAME:end    a span; `end` has its begin (0: not known), for how long it
 *                           was suspended and off the processor, and `torn`: 1 the begin
 *                           is not known, 2 the end was not recorded: the event is where
 *                           the span is last known to have been open
 *   NAME:open               a span that began earlier: before reading, or before a loss
 *   NAME                    a counter, an instant, a lifecycle event
 *   NAME:begin, :step, :end with `link`: an async span or a flow
 *
 * Within a file times never go back: an event that was recorded out of order gets the
 * time of the event before it. All fields are aligned to bytes. Memory: a packet for each
 * ring, 16 MiB at most.
 */
#include "eventring.h"
#include "export/event_formats.h"
#include "export/text_write.h"
#include "format/array.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RINGS = EVENTRING_MAX_DOMAINS * EVENTRING_RINGS };
enum { PACKET = 16 << 10, HEADER = 4 + 4 + 5 * 8 + 4 + 4, MOST_EVENT = 13 << 10 };
#define CTF_MAGIC 0xC1FC1FC1u

enum doing {
  DOES_POINT, DOES_BEGIN, DOES_END, DOES_OPEN, DOES_START, DOES_STEP, DOES_STOP, DOINGS
};
static const char *const doing_text[DOINGS] = {"", ":begin", ":end", ":open", ":begin", ":step",
                                               ":end"};
/* How values are written. */
enum shape { NO_VALUE, SIGNED, UNSIGNED, REAL, TEXT, BYTES, SHAPES };

struct stream {
  char *packet; /* NULL if none is open */
  size_t size;
  uint64_t begin_ns, last_ns; /* times of the packet's begin and of its last event */
  uint64_t discarded;
  uint32_t incarnation; /* the incarnation whose name was written */
  bool discards; /* events were lost since the last packet */
};

struct names { uint32_t id[DOINGS][SHAPES]; }; /* 0 if not used yet */

struct class { /* an event class, at its number - 1 */
  char *name;
  uint8_t doing, shape;
};

struct ctf {
  struct export_run *run;
  bool failed;
  struct stream stream[RINGS];
  struct names *known[EVENTRING_MAX_EVENTS], *unknown;
  struct class *classes;
  uint32_t count, room;
  uint32_t domain_class; /* class of the event with the name of a domain */
};

/* ---- Files ------------------------------------------------------------------------ */

static int fail(struct ctf *c, const char *what, const char *path) {
  if (!c->run->error[0])
    snprintf(c->run->error, sizeof c->run->error, "cannot %s %.350s: %s", what, path,
             strerror(errno));
  return 1;
}

static void path_of(const struct ctf *c, uint32_t number, char path[4096]) {
  snprintf(path, 4096, "%.3000s/d%" PRIu32 "r%" PRIu32, c->run->path, number / EVENTRING_RINGS,
           number % EVENTRING_RINGS);
}

static int append(struct ctf *c, uint32_t number, const char *bytes, size_t size) {
  char path[4096];
  path_of(c, number, path);
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return fail(c, "create", path);
  while (size > 0) {
    ssize_t done = write(fd, bytes, size);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) {
      fail(c, "write", path);
      close(fd);
      return 1;
    }
    bytes += done, size -= (size_t)done;
  }
  if (close(fd) != 0) return fail(c, "write", path);
  c->run->progress(c->run->progress_context);
  return c->run->error[0] != '\0';
}

/* Tells whether the export makes files of this name: "metadata", or a name of path_of. */
static bool makes(const char *name) {
  unsigned domain, ring;
  int end = 0;
  bool is_stream = sscanf(name, "d%3ur%1u%n", &domain, &ring, &end) == 2 && !name[end];
  return is_stream || strcmp(name, "metadata") == 0;
}

/* ---- Packets ---------------------------------------------------------------------- */

static char *put32(char *to, uint32_t value) { return export_copy(to, &value, sizeof value); }
static char *put64(char *to, uint64_t value) { return export_copy(to, &value, sizeof value); }

static int write_packet(struct ctf *c, uint32_t number) {
  struct stream *s = &c->stream[number];
  char *to = put32(put32(s->packet, CTF_MAGIC), 0);
  to = put64(put64(to, s->begin_ns), s->last_ns);
  to = put64(put64(to, s->size * 8), s->size * 8);
  to = put64(to, s->discarded);
  put32(put32(to, number / EVENTRING_RINGS), number % EVENTRING_RINGS);
  int result = append(c, number, s->packet, s->size);
  s->size = HEADER;
  s->begin_ns = s->last_ns;
  s->discards = false;
  return result;
}

static uint32_t number_of(uint32_t domain, uint8_t ring) {
  return (domain % EVENTRING_MAX_DOMAINS) * EVENTRING_RINGS + ring % EVENTRING_RINGS;
}

static struct stream *stream_of(struct ctf *c, uint32_t number, uint64_t ns) {
  struct stream *s = &c->stream[number];
  if (s->packet) return s;
  s->packet = malloc(PACKET);
  if (!s->packet) {
    c->failed = true;
    return NULL;
  }
  s->size = HEADER;
  s->begin_ns = s->last_ns = ns;
  return s;
}

/* ---- Classes ---------------------------------------------------------------------- */

static uint32_t new_class(struct ctf *c, const char *name, enum doing doing, enum shape shape) {
  if (!EVR_MAKE_ROOM(c->classes, c->room, c->count, 64)) return 0;
  char *copy = strdup(name);
  if (!copy) return 0;
  c->classes[c->count] = (struct class){copy, (uint8_t)doing, (uint8_t)shape};
  return ++c->count;
}

static uint32_t class_of(struct ctf *c, const struct eventring_event *e, enum doing doing,
                         enum shape shape) {
  struct names **names = e->def ? &c->known[e->id % EVENTRING_MAX_EVENTS] : &c->unknown;
  if (!*names) *names = calloc(1, sizeof **names);
  if (!*names) return 0;
  uint32_t *id = &(*names)->id[doing][shape];
  if (!*id) *id = new_class(c, e->name, doing, shape);
  return *id;
}

static enum doing doing_of(const struct eventring_event *e) {
  switch (e->kind) {
    case EVENTRING_BEGIN: return e->flags & EVENTRING_SYNTHETIC ? DOES_OPEN : DOES_BEGIN;
    case EVENTRING_END: return DOES_END;
    case EVENTRING_LINKED:
      return e->role == EVENTRING_ROLE_BEGIN ? DOES_START
             : e->role == EVENTRING_ROLE_END ? DOES_STOP : DOES_STEP;
    default: return DOES_POINT;
  }
}

static enum shape shape_of(const struct eventring_event *e) {
  if (e->kind == EVENTRING_END) return NO_VALUE;
  switch (e->payload) {
    case EVENTRING_NONE: return NO_VALUE;
    case EVENTRING_INT: return SIGNED;
    case EVENTRING_UINT: case EVENTRING_STACK_ID: return UNSIGNED;
    case EVENTRING_DOUBLE: return REAL;
    case EVENTRING_STRING: case EVENTRING_VALUES: case EVENTRING_SAMPLE: return TEXT;
    default: return BYTES;
  }
}

/* ---- Events ----------------------------------------------------------------------- */

/* Writes a text with a NUL at its end. A NUL within it, and what is not
   UTF-8, becomes U+FFFD. */
static char *put_text(char *to, const char *text, size_t size) {
  while (size > 0) {
    struct eventring_character c = eventring_character_at(text, size);
    to = c.valid && c.code ? export_copy(to, text, c.size) : EXPORT_TEXT(to, "\xEF\xBF\xBD");
    text += c.size, size -= c.size;
  }
  *to++ = '\0';
  return to;
}

static char *put_value(char *to, const struct eventring_event *e, enum shape shape) {
  switch (shape) {
    case SIGNED: case UNSIGNED: case REAL: return put64(to, e->value.u);
    case TEXT:
      if (e->payload == EVENTRING_STRING) return put_text(to, e->bytes, e->size);
      to = export_json_value(to, e);
      *to++ = '\0';
      return to;
    case BYTES:
      to = put32(to, (uint32_t)e->size);
      return e->size ? export_copy(to, e->bytes, e->size) : to;
    default: return to;
  }
}

static char *put_fields(char *to, const struct eventring_event *e, enum doing doing) {
  int64_t off_cpu = eventring_event_off_cpu(e);
  if (doing == DOES_OPEN) return put64(to, e->ns);
  if (doing >= DOES_START) return put64(to, e->link);
  if (doing != DOES_END) return to;
  bool has_begin = e->flags & (EVENTRING_MATCHED | EVENTRING_SYNTHETIC);
  to = put64(to, has_begin ? e->begin_ns : 0);
  to = put64(put64(to, e->suspended_ns), off_cpu > 0 ? (uint64_t)off_cpu : 0);
  *to++ = e->flags & EVENTRING_TORN ? has_begin ? 2 : 1 : 0;
  return to;
}

/* Writes the header and the context of an event. */
static char *begin_event(struct stream *s, uint32_t class, uint64_t ns, uint64_t context,
                         uint32_t depth) {
  if (ns > s->last_ns) s->last_ns = ns;
  char *to = put64(put32(s->packet + s->size, class - 1), s->last_ns);
  return put32(put64(to, context), depth);
}

static int put_domain(struct ctf *c, struct stream *s, const struct eventring_event *e) {
  struct eventring_domain_info info = {.size = sizeof info};
  char name[EVENTRING_MAX_DOMAIN_NAME + 1] = "";
  if (eventring_cursor_life(c->run->cursor, e->domain, e->incarnation, &info) == 0)
    memcpy(name, info.name, sizeof name);
  if (!c->domain_class) c->domain_class = new_class(c, "eventring_domain", DOES_POINT, TEXT);
  if (!c->domain_class) return 1;
  char *to = begin_event(s, c->domain_class, s->last_ns, 0, 0);
  s->size = (size_t)(put_text(to, name, strlen(name)) - s->packet);
  s->incarnation = e->incarnation;
  return 0;
}

static int on_event(void *state, const struct eventring_event *e) {
  struct ctf *c = state;
  uint32_t number = number_of(e->domain, e->ring);
  enum doing doing = doing_of(e);
  enum shape shape = shape_of(e);
  struct stream *s = stream_of(c, number, e->ns);
  uint32_t class = class_of(c, e, doing, shape);
  if (!s || !class) {
    c->failed = true;
    return 1;
  }
  if (s->size + MOST_EVENT > PACKET && write_packet(c, number) != 0) return 1;
  if (s->incarnation != e->incarnation && put_domain(c, s, e) != 0) {
    c->failed = true;
    return 1;
  }
  char *to = begin_event(s, class, e->ns, e->context, e->depth);
  s->size = (size_t)(put_value(put_fields(to, e, doing), e, shape) - s->packet);
  return 0;
}

/* Ends the packet before the loss, even if it is empty; the next packet has the new
   count. */
static int on_lost(void *state, const struct eventring_loss *loss) {
  struct ctf *c = state;
  uint32_t number = number_of(loss->domain, loss->ring);
  struct stream *s = stream_of(c, number, loss->ns);
  if (!s) return 1;
  if (write_packet(c, number) != 0) return 1;
  s->discarded += loss->count;
  s->discards = true;
  return 0;
}

/* Writes nothing for a span that is open at the end: its begin was written before. */
static int on_open(void *state, const struct eventring_event *e) {
  (void)state, (void)e;
  return 0;
}

/* ---- Metadata --------------------------------------------------------------------- */

static void put_quoted(FILE *out, const char *text) {
  putc('"', out);
  export_write_text(out, text, "\"\\", "");
  putc('"', out);
}

static const char *const value_text[SHAPES] = {
    "", "    int64_t value;\n", "    uint64_t value;\n", "    double_t value;\n",
    "    string value;\n", "    uint32_t value_length;\n    uint8_t value[value_length];\n"};

static void put_class(FILE *out, const struct class *class, uint32_t id) {
  char name[EVENTRING_MAX_NAME + 16];
  snprintf(name, sizeof name, "%s%s", class->name, doing_text[class->doing]);
  fputs("event {\n  name = ", out);
  put_quoted(out, name);
  fprintf(out, ";\n  id = %" PRIu32 ";\n  stream_id = 0;\n  fields := struct {\n", id);
  if (class->doing == DOES_OPEN) fputs("    uint64_t begin_ns;\n", out);
  if (class->doing == DOES_END)
    fputs("    uint64_t begin_ns;\n    uint64_t suspended_ns;\n    uint64_t off_cpu_ns;\n"
          "    uint8_t torn;\n", out);
  if (class->doing >= DOES_START) fputs("    uint64_t link;\n", out);
  fprintf(out, "%s  };\n};\n", value_text[class->shape]);
}

/* Writes the clock, with its offset to the wall clock. */
static void put_clock(FILE *out, const struct eventring_info *info) {
  /* Both times may have any value. */
  int64_t offset = (int64_t)((uint64_t)info->start_wall_ns - info->start_ns);
  fprintf(out, "clock {\n  name = monotonic;\n  freq = 1000000000;\n  offset_s = %" PRId64 ";\n"
               "  offset = %" PRId64 ";\n  absolute = false;\n};\n",
          offset > 0 ? offset / 1000000000 : 0, offset > 0 ? offset % 1000000000 : 0);
}

static void put_metadata(const struct ctf *c, FILE *out) {
  fputs("/* CTF 1.8 */\n"
        "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
        "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
        "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
        "typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
        "typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := double_t;\n"
        "trace {\n  major = 1;\n  minor = 8;\n  byte_order = le;\n"
        "  packet.header := struct {\n    uint32_t magic;\n    uint32_t stream_id;\n  };\n};\n"
        "env {\n  program = ", out);
  put_quoted(out, c->run->info->program);
  fprintf(out, ";\n  pid = %d;\n};\n", (int)c->run->info->pid);
  put_clock(out, c->run->info);
  fputs("typealias integer { size = 64; align = 8; signed = false;"
        " map = clock.monotonic.value; } := time_t;\n"
        "stream {\n  id = 0;\n"
        "  packet.context := struct {\n    time_t timestamp_begin;\n    time_t timestamp_end;\n"
        "    uint64_t content_size;\n    uint64_t packet_size;\n    uint64_t events_discarded;\n"
        "    uint32_t domain;\n    uint32_t ring;\n  };\n"
        "  event.header := struct {\n    uint32_t id;\n    time_t timestamp;\n  };\n"
        "  event.context := struct {\n    uint64_t context;\n    uint32_t depth;\n  };\n};\n", out);
  for (uint32_t i = 0; i < c->count; i++) put_class(out, &c->classes[i], i);
}

static void write_metadata(struct ctf *c) {
  char path[4096];
  snprintf(path, sizeof path, "%.3000s/metadata", c->run->path);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
  if (!out) {
    fail(c, "create", path);
    if (fd >= 0) close(fd);
    return;
  }
  put_metadata(c, out);
  bool failed = ferror(out);
  if (fclose(out) != 0 || failed) fail(c, "write", path);
}

static void *begin(struct export_run *run) {
  struct ctf *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->run = run;
  if (strlen(run->path) <= 3000) return c;
  errno = ENAMETOOLONG;
  fail(c, "create", run->path);
  free(c);
  return NULL;
}

static void free_all(struct ctf *c) {
  for (uint32_t number = 0; number < RINGS; number++) free(c->stream[number].packet);
  for (uint32_t i = 0; i < c->count; i++) free(c->classes[i].name);
  for (int i = 0; i < EVENTRING_MAX_EVENTS; i++) free(c->known[i]);
  free(c->unknown);
  free(c->classes);
  free(c);
}

static int finish(void *state) {
  struct ctf *c = state;
  struct export_run *run = c->run;
  for (uint32_t number = 0; number < RINGS && !run->error[0] && !c->failed; number++) {
    const struct stream *s = &c->stream[number];
    if (s->packet && (s->size > HEADER || s->discards)) write_packet(c, number);
  }
  if (!run->error[0] && !c->failed) write_metadata(c);
  int result = run->error[0] || c->failed ? -1 : 0;
  free_all(c);
  return result;
}

const struct export_events export_events_ctf = {
    .makes = makes, .begin = begin, .event = on_event, .lost = on_lost, .open = on_open,
    .finish = finish};
