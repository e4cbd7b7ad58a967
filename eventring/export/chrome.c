/* SPDX-License-Identifier: MIT */
/* chrome.c: the trace event format of Chrome (JSON), for chrome://tracing,
 * ui.perfetto.dev and the performance panel of its developer tools.
 *
 * An event is an object in the array `traceEvents`, in no order. Times are microseconds
 * since the start of the recording, with three decimals. Each track (tracks.h) is a
 * "thread" with a number of its own, whose name gives domain and ring. Each kind of event
 * becomes:
 *
 *   span                    "X", written at its end: begin and duration
 *   span that is open       "B" without an "E", written at the end; args.open
 *   end, begin unknown      "i" with args.torn
 *   begin, end not recorded "X" without duration, with args.torn and args.at_least_ns
 *   counter                 "C", one series a domain
 *   instant, lifecycle      "i", its value in args
 *   async span              "b", "e" with the link as id
 *   flow                    "X" without duration; bind_id joins its points
 *   loss                    "i" in category "loss", args.count
 *
 * A line has three parts: what the definition gives (a face), what the track gives, and
 * the times. A gigabyte of recording has tens of millions of spans, so the usual span,
 * without a value, is put together from copies of fixed size and about twenty digits.
 */
#include "export/event_formats.h"
#include "export/faces.h"
#include "export/processes.h"
#include "export/text_write.h"
#include "export/tracks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
  LINE = 2048 /* bytes of an event without its args */,
  LABEL = 6 * EXPORT_DOMAIN_TEXT + 2
};

struct chrome {
  struct export_run *run;
  struct export_out *out;
  uint64_t start_ns;
  bool failed; /* no memory */
  /* The digits of the whole seconds, which many consecutive times share. */
  uint64_t second;
  uint32_t second_size;
  char second_text[16];
  struct export_tracks tracks;
  struct export_processes processes;
  struct { uint32_t incarnation; uint32_t size; char text[LABEL]; } label[EVENTRING_MAX_DOMAINS];
  struct export_faces faces;
};

/* Copies `size` bytes, 16 at a time: reads and writes up to 15 more. */
static inline char *copy_most(char *to, const char *from, size_t size) {
  for (size_t at = 0; at < size; at += 16) memcpy(to + at, from + at, 16);
  return to + size;
}

/* ---- Times ------------------------------------------------------------------------ */

static inline char *put_thousandths(char *to, uint32_t ns) {
  *to = '.';
  return export_three(to + 1, ns);
}

static void set_second(struct chrome *c, uint64_t second) {
  c->second = second;
  c->second_size = second ? (uint32_t)(export_uint(c->second_text, second % 1000000000000) -
                                       c->second_text) : 0;
}

/* Writes nanoseconds as microseconds since the start of the recording. */
static inline char *put_moment(struct chrome *c, char *to, uint64_t ns) {
  if (__builtin_expect(ns < c->start_ns, 0)) {
    *to = '-';
    to = export_uint(to + 1, (c->start_ns - ns) / 1000);
    return put_thousandths(to, (uint32_t)((c->start_ns - ns) % 1000));
  }
  ns -= c->start_ns;
  uint64_t second = ns / 1000000000;
  uint32_t rest = (uint32_t)(ns - second * 1000000000);
  if (second != c->second) set_second(c, second);
  if (!c->second_size) {
    to = export_uint(to, rest / 1000);
  } else {
    memcpy(to, c->second_text, 16);
    to = export_padded(to + c->second_size, rest / 1000, 6);
  }
  return put_thousandths(to, rest % 1000);
}

static inline char *put_duration(char *to, uint64_t ns) {
  to = export_uint(to, ns / 1000);
  return put_thousandths(to, (uint32_t)(ns % 1000));
}

/* ---- Names ------------------------------------------------------------------------ */

/* Makes the face of a definition: `,\n{"name":"request","cat":"user","ph":"` */
static __attribute__((noinline)) struct export_face *make_face(struct chrome *c,
                                                               const struct eventring_event *e) {
  char text[6 * (EVENTRING_MAX_NAME + EVENTRING_MAX_CLASS_NAME) + 64];
  const char *class_name = export_class_name(c->run->cursor, e);
  char *to = EXPORT_TEXT(text, ",\n{\"name\":");
  to = export_json_text(to, e->name, strnlen(e->name, EVENTRING_MAX_NAME));
  to = EXPORT_TEXT(to, ",\"cat\":");
  to = export_json_text(to, class_name, strnlen(class_name, EVENTRING_MAX_CLASS_NAME));
  to = EXPORT_TEXT(to, ",\"ph\":\"");
  struct export_face *face = export_face_make(&c->faces, e, text, (size_t)(to - text));
  if (!face) c->failed = true;
  return face;
}

static inline struct export_face *face_of(struct chrome *c, const struct eventring_event *e) {
  struct export_face *face = export_face_of(&c->faces, e);
  return __builtin_expect(face != NULL, 1) ? face : make_face(c, e);
}

static void put_process(struct chrome *c, uint32_t pid, const char *name) {
  char *to = export_room(c->out, LINE);
  to = EXPORT_TEXT(to, ",\n{\"name\":\"process_name\",\"ph\":\"M\",\"ts\":0,\"pid\":");
  to = export_uint(to, pid);
  to = EXPORT_TEXT(to, ",\"tid\":0,\"args\":{\"name\":");
  to = export_json_text(to, name, strlen(name));
  c->out->at = EXPORT_TEXT(to, "}}");
}

static char *put_thread(char *to, const char *what, const struct export_track *track) {
  to = EXPORT_TEXT(to, ",\n{\"name\":\"thread_");
  to = export_copy(to, what, strlen(what));
  to = EXPORT_TEXT(to, "\",\"ph\":\"M");
  to = export_copy(to, track->text, track->text_size);
  return EXPORT_TEXT(to, "0,\"args\":{");
}

static void put_track_name(struct chrome *c, const struct export_track *track,
                           const char *domain) {
  char name[EXPORT_DOMAIN_TEXT + EVENTRING_MAX_CLASS_NAME + 64], ring[24], lane[16] = "";
  const char *ring_name = eventring_cursor_name(c->run->cursor, EVENTRING_NAME_RING, track->ring);
  snprintf(ring, sizeof ring, "ring%u", track->ring);
  if (track->lane) snprintf(lane, sizeof lane, " +%" PRIu32, track->lane);
  snprintf(name, sizeof name, "%s %s%s", domain, ring_name ? ring_name : ring, lane);
  char *to = put_thread(export_room(c->out, LINE), "name", track);
  to = export_json_text(EXPORT_TEXT(to, "\"name\":"), name, strlen(name));
  to = put_thread(EXPORT_TEXT(to, "}}"), "sort_index", track);
  to = export_uint(EXPORT_TEXT(to, "\"sort_index\":"),
                   (track->domain * EVENTRING_RINGS + track->ring) * 1000 +
                       (track->lane < 999 ? track->lane : 999));
  c->out->at = EXPORT_TEXT(to, "}}");
}

/* Prepares the text of a track, `","pid":4711,"tid":3,"ts":`, and writes its name. */
static void introduce(void *context, struct export_track *track) {
  struct chrome *c = context;
  char domain[EXPORT_DOMAIN_TEXT], name[EVENTRING_MAX_PROGRAM + 1];
  int32_t tid;
  bool is_new;
  uint32_t process = export_domain_text(domain, c->run->cursor, track->domain,
                                        track->incarnation, &tid);
  uint32_t pid = export_process_pid(&c->processes, c->run->cursor, c->run->info, process, name,
                                    &is_new);
  if (!pid) c->failed = true;
  if (is_new) put_process(c, pid, name);
  char *to = export_uint(EXPORT_TEXT(track->text, "\",\"pid\":"), pid);
  to = export_uint(EXPORT_TEXT(to, ",\"tid\":"), track->id);
  to = EXPORT_TEXT(to, ",\"ts\":");
  track->text_size = (uint8_t)(to - track->text);
  put_track_name(c, track, domain);
  to = export_json_text(c->label[track->domain].text, domain, strlen(domain));
  c->label[track->domain].size = (uint32_t)(to - c->label[track->domain].text);
}

/* ---- Events ----------------------------------------------------------------------- */

/* Writes the beginning of a line, up to and including its time. */
static inline char *put_head(struct chrome *c, const struct export_face *face, const char *ph,
                             const struct export_track *track, uint64_t ns) {
  char *to = copy_most(export_room(c->out, LINE + EXPORT_VALUE), face->text, face->size);
  to = export_copy(to, ph, strlen(ph));
  to = copy_most(to, track->text, track->text_size);
  return put_moment(c, to, ns);
}

/* Writes the key of a member of args; the first one begins args. */
static char *put_key(char *to, bool *begun, const char *key) {
  to = *begun ? EXPORT_TEXT(to, ",\"") : EXPORT_TEXT(to, ",\"args\":{\"");
  *begun = true;
  to = export_copy(to, key, strlen(key));
  return EXPORT_TEXT(to, "\":");
}

static char *put_end(char *to, bool begun) {
  return begun ? EXPORT_TEXT(to, "}}") : EXPORT_TEXT(to, "}");
}

/* Tells whether the event is the end of a span whose own end was not recorded. */
static bool is_cut_off(const struct eventring_event *e) {
  return e->kind == EVENTRING_END && e->flags & EVENTRING_SYNTHETIC;
}

static const char *torn_text(const struct eventring_event *e) {
  return e->flags & EVENTRING_SYNTHETIC ? "\"its end was not recorded\""
                                        : "\"its begin is unknown\"";
}

/* Writes the args of a span that ends or is open: its value, its context, its times and
   what is torn. */
static char *put_span_args(struct chrome *c, struct export_track *track,
                           const struct eventring_event *e, char *to) {
  bool begun = false;
  size_t size = 0;
  const char *held = track->held_count ? export_held(&c->tracks, track, e->depth, &size) : NULL;
  int64_t off_cpu = eventring_event_off_cpu(e);
  if (held) to = export_copy(put_key(to, &begun, "value"), held, size);
  if (e->context) to = export_uint(put_key(to, &begun, "context"), e->context);
  if (e->suspended_ns) to = export_uint(put_key(to, &begun, "suspended_ns"), e->suspended_ns);
  if (off_cpu > 0) to = export_uint(put_key(to, &begun, "off_cpu_ns"), (uint64_t)off_cpu);
  if (e->flags & EVENTRING_TORN) {
    const char *text = torn_text(e);
    to = export_copy(put_key(to, &begun, "torn"), text, strlen(text));
  }
  if (is_cut_off(e))
    to = export_uint(put_key(to, &begun, "at_least_ns"), e->ns - e->begin_ns);
  if (e->kind == EVENTRING_BEGIN) to = EXPORT_TEXT(put_key(to, &begun, "open"), "true");
  return put_end(to, begun);
}

/* Writes a span that has args, or that is torn. */
static __attribute__((noinline)) int put_odd_span(struct chrome *c, struct export_track *track,
                                                  const struct export_face *face,
                                                  const struct eventring_event *e) {
  bool has_begin = e->flags & (EVENTRING_MATCHED | EVENTRING_SYNTHETIC);
  uint64_t begin = e->begin_ns < e->ns ? e->begin_ns : e->ns;
  char *to = has_begin ? put_head(c, face, "X", track, begin)
                       : put_head(c, face, "i\",\"s\":\"t", track, e->ns);
  uint64_t duration = is_cut_off(e) ? 0 : e->ns - begin;
  if (has_begin) to = put_duration(EXPORT_TEXT(to, ",\"dur\":"), duration);
  c->out->at = put_span_args(c, track, e, to);
  export_track_ended(&c->tracks, e);
  return c->out->failed || c->failed;
}

static inline int put_span(struct chrome *c, struct export_track *track,
                           const struct export_face *face, const struct eventring_event *e) {
  if (__builtin_expect(e->flags != EVENTRING_MATCHED || e->context || e->suspended_ns ||
                           e->payload != EVENTRING_NONE || track->held_count, 0))
    return put_odd_span(c, track, face, e);
  char *to = put_head(c, face, "X", track, e->begin_ns);
  to = put_duration(EXPORT_TEXT(to, ",\"dur\":"), e->ns - e->begin_ns);
  *to = '}';
  c->out->at = to + 1;
  return c->out->failed;
}

/* Takes the begin of a span, of which nothing is written yet; keeps its value. */
static inline int take_begin(struct chrome *c, struct export_track *track,
                             const struct eventring_event *e) {
  if (__builtin_expect(e->payload == EVENTRING_NONE, 1)) return 0;
  char text[EXPORT_VALUE];
  char *end = export_json_value(text, e);
  export_hold(&c->tracks, track, e->depth, text, (size_t)(end - text));
  return c->failed;
}

static char *put_value_args(const struct eventring_event *e, char *to) {
  bool begun = false;
  if (e->payload != EVENTRING_NONE) to = export_json_value(put_key(to, &begun, "value"), e);
  if (e->context) to = export_uint(put_key(to, &begun, "context"), e->context);
  if (e->flags & EVENTRING_TRUNCATED) to = EXPORT_TEXT(put_key(to, &begun, "cut"), "true");
  if (e->flags & EVENTRING_UNKNOWN) to = export_uint(put_key(to, &begun, "unknown_id"), e->id);
  return put_end(to, begun);
}

static char *put_counter(struct chrome *c, const struct export_track *track,
                         const struct export_face *face, const struct eventring_event *e) {
  char *to = put_head(c, face, "C", track, e->ns);
  to = EXPORT_TEXT(to, ",\"args\":{");
  to = export_copy(to, c->label[track->domain].text, c->label[track->domain].size);
  *to++ = ':';
  return EXPORT_TEXT(export_json_value(to, e), "}}");
}

static char *put_link(char *to, const struct eventring_event *e) {
  to = EXPORT_TEXT(to, "\"0x");
  to += sprintf(to, "%" PRIx64, e->link);
  *to++ = '"';
  return to;
}

static char *put_linked(struct chrome *c, const struct export_track *track,
                        const struct export_face *face, const struct eventring_event *e) {
  char *to;
  if (e->def && e->def->kind == EVENTRING_DEF_FLOW) {
    to = put_head(c, face, "X", track, e->ns);
    to = put_link(EXPORT_TEXT(to, ",\"dur\":0,\"bind_id\":"), e);
    if (e->role != EVENTRING_ROLE_BEGIN) to = EXPORT_TEXT(to, ",\"flow_in\":true");
    if (e->role != EVENTRING_ROLE_END) to = EXPORT_TEXT(to, ",\"flow_out\":true");
  } else {
    const char *ph = e->role == EVENTRING_ROLE_BEGIN ? "b"
                     : e->role == EVENTRING_ROLE_END ? "e" : "n";
    to = put_link(EXPORT_TEXT(put_head(c, face, ph, track, e->ns), ",\"id\":"), e);
  }
  return put_value_args(e, to);
}

static __attribute__((noinline)) int put_point(struct chrome *c, const struct export_track *track,
                                               const struct export_face *face,
                                               const struct eventring_event *e) {
  char *end;
  bool number = e->payload == EVENTRING_INT || e->payload == EVENTRING_UINT ||
                e->payload == EVENTRING_DOUBLE;
  if (e->kind == EVENTRING_COUNTER && number) end = put_counter(c, track, face, e);
  else if (e->kind == EVENTRING_LINKED) end = put_linked(c, track, face, e);
  else end = put_value_args(e, put_head(c, face, "i\",\"s\":\"t", track, e->ns));
  c->out->at = end;
  return c->out->failed || c->failed;
}

static int on_event(void *state, const struct eventring_event *e) {
  struct chrome *c = state;
  struct export_track *track = export_track_of(&c->tracks, e);
  struct export_face *face = face_of(c, e);
  if (__builtin_expect(!track || !face, 0)) {
    c->failed = true;
    return 1;
  }
  if (e->kind == EVENTRING_BEGIN) return take_begin(c, track, e);
  if (e->kind == EVENTRING_END) return put_span(c, track, face, e);
  return put_point(c, track, face, e);
}

static int on_open(void *state, const struct eventring_event *e) {
  struct chrome *c = state;
  struct export_track *track = export_track_of(&c->tracks, e);
  struct export_face *face = face_of(c, e);
  if (!track || !face) {
    c->failed = true;
    return 1;
  }
  c->out->at = put_span_args(c, track, e, put_head(c, face, "B", track, e->ns));
  return c->out->failed;
}

static int on_lost(void *state, const struct eventring_loss *loss) {
  struct chrome *c = state;
  const struct export_track *track =
      export_track_of_ring(&c->tracks, loss->domain, loss->incarnation, loss->ring);
  if (!track) {
    c->failed = true;
    return 1;
  }
  char *to = export_room(c->out, LINE);
  to = EXPORT_TEXT(to, ",\n{\"name\":\"events lost\",\"cat\":\"loss\",\"ph\":\"i\",\"s\":\"t");
  to = put_moment(c, export_copy(to, track->text, track->text_size), loss->ns);
  to = export_uint(EXPORT_TEXT(to, ",\"args\":{\"count\":"), loss->count);
  if (loss->flags & EVENTRING_LOST_BEFORE) to = EXPORT_TEXT(to, ",\"before_reading\":true");
  c->out->at = EXPORT_TEXT(to, "}}");
  return c->out->failed;
}

/* ---- The file --------------------------------------------------------------------- */

/* Writes the beginning of the file, with a first event, which every file has and which
   needs no comma before it. */
static void put_begin(struct chrome *c) {
  const struct eventring_info *info = c->run->info;
  char *to = export_room(c->out, LINE + 12 * EVENTRING_MAX_PROGRAM);
  to = EXPORT_TEXT(to, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"program\":");
  to = export_json_text(to, info->program, strlen(info->program));
  to = export_uint(EXPORT_TEXT(to, ",\"start_ns\":"), info->start_ns);
  to = export_int(EXPORT_TEXT(to, ",\"start_wall_ns\":"), info->start_wall_ns);
  to = EXPORT_TEXT(to, "},\"traceEvents\":[\n{\"name\":\"recording_start\","
                       "\"cat\":\"__metadata\",\"ph\":\"M\",\"ts\":0,\"pid\":");
  to = export_uint(to, (uint64_t)info->pid);
  c->out->at = EXPORT_TEXT(to, ",\"tid\":0,\"args\":{}}");
}

static void *begin(struct export_run *run) {
  struct chrome *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->run = run;
  c->out = run->out;
  c->start_ns = run->info->start_ns;
  if (export_tracks_open(&c->tracks, introduce, c) != 0) {
    free(c);
    return NULL;
  }
  put_begin(c);
  return c;
}

static int finish(void *state) {
  struct chrome *c = state;
  int result = c->failed ? -1 : 0;
  export_puts(c->out, "\n]}\n");
  export_tracks_close(&c->tracks);
  export_faces_free(&c->faces);
  export_processes_free(&c->processes);
  free(c);
  return result;
}

const struct export_events export_events_chrome = {
    .begin = begin, .event = on_event, .lost = on_lost, .open = on_open, .finish = finish};
