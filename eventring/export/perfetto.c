/* SPDX-License-Identifier: MIT */
/* perfetto.c: the protobuf traces of Perfetto (https://perfetto.dev), for ui.perfetto.dev
 * and its trace processor.
 *
 * A trace is a sequence of packets. Each has a time on CLOCK_MONOTONIC of the recorded
 * machine, as in the recording. There is a track for each process, each domain (a
 * "thread"), each row of a ring of a domain (tracks.h), each counter of a domain, and
 * each async span:
 *
 *   span                    SLICE_BEGIN and SLICE_END; without an end it is open
 *   end, begin unknown      an instant with the annotation `torn`
 *   begin, end not recorded SLICE_END at the time of its begin, with `torn` and
 *                           `at_least_ns`: a slice of no length. Importers sort packets
 *                           by time, so what was written within the span meanwhile does
 *                           not matter
 *   counter                 a counter track
 *   instant, lifecycle      an instant; its value is an annotation
 *   async span              a slice on a track of its own
 *   flow                    an instant with a flow id
 *   loss                    an instant in category "loss", with `count`
 *
 * Names and classes are interned. Varints may be longer than necessary (protobuf.h), so
 * the usual event, without annotations, has all its parts at fixed offsets. It is put
 * together from copies of what the track and the definition have prepared, without any
 * loop. */
#include "eventring/tools.h"
#include "export/event_formats.h"
#include "export/faces.h"
#include "export/processes.h"
#include "export/protobuf.h"
#include "export/text_write.h"
#include "export/tracks.h"

#include <stdio.h>
#include <stdlib.h>

#include "eventring/memory.h"

enum { /* fields of messages */
  TRACE_PACKET = 1,
  PACKET_CLOCK_SNAPSHOT = 6, PACKET_TIMESTAMP = 8, PACKET_SEQUENCE_ID = 10, PACKET_TRACK_EVENT = 11,
  PACKET_INTERNED_DATA = 12, PACKET_SEQUENCE_FLAGS = 13, PACKET_CLOCK_ID = 58,
  PACKET_DEFAULTS = 59, PACKET_TRACK_DESCRIPTOR = 60,
  SNAPSHOT_CLOCKS = 1, SNAPSHOT_PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIME = 2,
  INTERNED_CATEGORIES = 1, INTERNED_NAMES = 2, INTERNED_IID = 1, INTERNED_NAME = 2,
  EVENT_CATEGORY_IIDS = 3, EVENT_ANNOTATIONS = 4, EVENT_TYPE = 9, EVENT_NAME_IID = 10,
  EVENT_TRACK = 11, EVENT_CATEGORIES = 22, EVENT_NAME = 23, EVENT_COUNTER = 30,
  EVENT_DOUBLE_COUNTER = 44, EVENT_FLOW = 47, EVENT_LAST_FLOW = 48,
  ANNOTATION_BOOL = 2, ANNOTATION_UINT = 3, ANNOTATION_INT = 4, ANNOTATION_DOUBLE = 5,
  ANNOTATION_STRING = 6, ANNOTATION_NAME = 10, ANNOTATION_DICT = 11, ANNOTATION_ARRAY = 12,
  TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5,
  TRACK_COUNTER = 8,
  PROCESS_PID = 1, PROCESS_NAME = 6, THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5,
  COUNTER_UNIT_NAME = 6
};
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 }; /* types of events */
enum { CLOCK_IS_REALTIME = 1, CLOCK_IS_MONOTONIC = 3 };
enum { STATE_CLEARED = 1, NEEDS_STATE = 2 }; /* sequence flags */

/* Ids of tracks. Ids below 2^28 are for the rows of rings. */
#define DOMAIN_TRACKS ((uint64_t)1 << 32)
#define PROCESS_TRACKS ((uint64_t)2 << 32)
#define COUNTER_TRACKS ((uint64_t)3 << 32)
#define ASYNC_TRACKS ((uint64_t)1 << 63)

/* The state of a domain's track. */
struct life {
  uint64_t track; /* 0 if not written yet */
  uint32_t process;
  int32_t tid; /* 0 if its track is not that of a thread */
};

/* The domains of a slot that are known, by incarnation. Rings are read one after the
   other, so the domains of a slot come again with each ring. */
struct slot {
  struct life *lives; /* the domains of incarnations below `room` */
  uint32_t room, incarnation; /* incarnation: of the domain that `counter` belongs to */
  uint32_t *counter; /* number of a counter's track, by definition; 0 if none yet */
};

struct perfetto {
  struct export_run *run;
  struct export_out *out;
  bool failed; /* no memory */
  uint64_t classes; /* bits of the classes whose names are written */
  uint64_t domains;  /* number of domains written so far */
  uint32_t counters;
  struct slot slot[EVENTRING_MAX_DOMAINS];
  struct life beyond; /* used for incarnations for which there is no room */
  struct export_tracks tracks;
  struct export_processes processes;
  struct export_faces faces;
};

/* ---- Messages --------------------------------------------------------------------- */

/* Writes a text as UTF-8; what is not UTF-8 becomes U+FFFD. */
static char *put_text(char *to, unsigned field, const void *text, size_t size) {
  char valid[3 * EVENTRING_MAX_PAYLOAD + 8];
  if (size > EVENTRING_MAX_PAYLOAD) size = EVENTRING_MAX_PAYLOAD;
  char *end = export_utf8(valid, text, size);
  return protobuf_part(to, field, valid, (size_t)(end - valid));
}

static char *put_string(char *to, unsigned field, const char *text) {
  return put_text(to, field, text, strlen(text));
}

/* Begins a packet without a time. */
enum { PACKET = 8 << 10 /* most bytes of an event with annotations */ };
static char *begin_packet(struct perfetto *p) {
  return protobuf_begin(export_room(p->out, 3 * PACKET), TRACE_PACKET);
}

static void end_packet(struct perfetto *p, char *begin, char *to) {
  to = protobuf_number(to, PACKET_SEQUENCE_ID, 1);
  p->out->at = protobuf_end(begin, protobuf_number(to, PACKET_SEQUENCE_FLAGS, NEEDS_STATE));
}

/* ---- The usual event --------------------------------------------------------------
 *
 *   0  packet, length      2  timestamp, 9 bytes     12  sequence id     14  flags
 *  16  track event, length     18  track, 4 bytes     23  type     25  name, 3 bytes
 *  29  category     31
 *
 * The track keeps bytes 12 to 24, the face those from 25 on. */

enum { WHOLE = 31, WITHOUT_NAME = 25 };

/* Spreads 56 bits over 8 bytes of 7, each with its continuation bit. */
static inline uint64_t spread(uint64_t x) {
  x = (x & 0x000000000fffffff) | (x & 0x00fffffff0000000) << 4;
  x = (x & 0x00003fff00003fff) | (x & 0x0fffc0000fffc000) << 2;
  x = (x & 0x007f007f007f007f) | (x & 0x3f803f803f803f80) << 1;
  return x | 0x8080808080808080;
}

static void put_padded(char *to, uint32_t value, int size) {
  for (int i = 0; i < size; i++)
    to[i] = (char)((value >> 7 * i & 0x7f) | (i < size - 1 ? 0x80 : 0));
}

static inline char *put_usual(char *to, const struct export_track *track,
                              const struct export_face *face, unsigned type, uint64_t ns) {
  uint64_t time = spread(ns);
  int size = type == SLICE_END ? WITHOUT_NAME : WHOLE;
  to[0] = TRACE_PACKET << 3 | 2;
  to[1] = (char)(size - 2);
  to[2] = PACKET_TIMESTAMP << 3;
  memcpy(to + 3, &time, 8);
  to[11] = (char)(ns >> 56 & 0x7f);
  memcpy(to + 12, track->text, 16);
  to[17] = (char)(size - 18);
  to[24] = (char)type;
  memcpy(to + 25, face->text, 8);
  return to + size;
}

static void prepare_track(struct export_track *track) {
  char *to = track->text;
  memset(to, 0, sizeof track->text);
  to[0] = PACKET_SEQUENCE_ID << 3;
  to[1] = 1;
  to[2] = PACKET_SEQUENCE_FLAGS << 3;
  to[3] = NEEDS_STATE;
  to[4] = PACKET_TRACK_EVENT << 3 | 2;
  to[6] = EVENT_TRACK << 3;
  put_padded(to + 7, track->id, 4);
  to[11] = EVENT_TYPE << 3;
}

/* ---- Names ------------------------------------------------------------------------ */

static void put_interned(struct perfetto *p, unsigned field, uint32_t iid, const char *name) {
  char *begin = begin_packet(p), *data = protobuf_begin(begin, PACKET_INTERNED_DATA);
  char *entry = protobuf_begin(data, field);
  char *to = protobuf_number(entry, INTERNED_IID, iid);
  to = protobuf_end(entry, put_string(to, INTERNED_NAME, name));
  end_packet(p, begin, protobuf_end(data, to));
}

static __attribute__((noinline)) struct export_face *make_face(struct perfetto *p,
                                                               const struct eventring_event *e) {
  char text[8] = {EVENT_NAME_IID << 3, 0, 0, 0, EVENT_CATEGORY_IIDS << 3,
                  (char)(e->event_class % EVENTRING_MAX_CLASSES + 1)};
  struct export_face *face = export_face_make(&p->faces, e, text, sizeof text);
  if (!face) {
    p->failed = true;
    return NULL;
  }
  put_padded(face->text + 1, face->number, 3);
  if (!(p->classes >> e->event_class % EVENTRING_MAX_CLASSES & 1)) {
    p->classes |= EVENTRING_CLASS_BIT(e->event_class % EVENTRING_MAX_CLASSES);
    put_interned(p, INTERNED_CATEGORIES, e->event_class % EVENTRING_MAX_CLASSES + 1u,
                 export_class_name(p->run->cursor, e));
  }
  put_interned(p, INTERNED_NAMES, face->number, e->name);
  return face;
}

static inline struct export_face *face_of(struct perfetto *p, const struct eventring_event *e) {
  struct export_face *face = export_face_of(&p->faces, e);
  return __builtin_expect(face != NULL, 1) ? face : make_face(p, e);
}

/* ---- Tracks ----------------------------------------------------------------------- */

static char *begin_track(struct perfetto *p, char **begin, uint64_t uuid, uint64_t parent) {
  *begin = begin_packet(p);
  char *to = protobuf_number(protobuf_begin(*begin, PACKET_TRACK_DESCRIPTOR), TRACK_UUID, uuid);
  return parent ? protobuf_number(to, TRACK_PARENT, parent) : to;
}

static void end_track(struct perfetto *p, char *begin, char *to) {
  end_packet(p, begin, protobuf_end(protobuf_begin(begin, PACKET_TRACK_DESCRIPTOR), to));
}

static void put_track(struct perfetto *p, uint64_t uuid, uint64_t parent, const char *name) {
  char *begin, *to = begin_track(p, &begin, uuid, parent);
  end_track(p, begin, put_string(to, TRACK_NAME, name));
}

static void put_process(struct perfetto *p, uint32_t number, uint32_t pid, const char *name) {
  char *begin, *to = begin_track(p, &begin, PROCESS_TRACKS + number, 0);
  char *process = protobuf_begin(to, TRACK_PROCESS);
  to = protobuf_number(process, PROCESS_PID, pid);
  end_track(p, begin, protobuf_end(process, put_string(to, PROCESS_NAME, name)));
}

static uint32_t pid_of(struct perfetto *p, uint32_t number) {
  char name[EVENTRING_MAX_PROGRAM + 1];
  bool is_new;
  uint32_t pid = export_process_pid(&p->processes, p->run->cursor, p->run->info, number, name,
                                    &is_new);
  if (!pid) p->failed = true;
  if (is_new) put_process(p, number, pid, name);
  return pid;
}

/* Tells whether a track may be that of a thread. A domain is a thread of its process. If
   the number of the thread is not known, or the newest domain of another slot has the
   same number, the track is a plain one. */
static bool is_thread_free(const struct perfetto *p, int32_t tid) {
  for (int i = 0; i < EVENTRING_MAX_DOMAINS; i++) {
    const struct slot *slot = &p->slot[i];
    if (slot->incarnation < slot->room && slot->lives[slot->incarnation].tid == tid) return false;
  }
  return tid > 0;
}

/* Returns what is known of a domain of the slot. (A damaged file may claim any
   number.) */
static struct life *life_of(struct perfetto *p, struct slot *slot, uint32_t incarnation) {
  enum { MOST = 1 << 20 };
  if (incarnation < slot->room) return &slot->lives[incarnation];
  uint32_t room = incarnation < 4 ? 8 : 2 * incarnation;
  struct life *lives = incarnation < MOST ? realloc(slot->lives, room * sizeof *lives) : NULL;
  if (!lives) {
    p->beyond = (struct life){0};
    return &p->beyond;
  }
  memset(lives + slot->room, 0, (room - slot->room) * sizeof *lives);
  slot->lives = lives;
  slot->room = room;
  return &lives[incarnation];
}

static void describe_domain(struct perfetto *p, struct life *life, uint32_t number,
                            uint32_t incarnation) {
  char name[EXPORT_DOMAIN_TEXT];
  int32_t tid;
  life->process = export_domain_text(name, p->run->cursor, number, incarnation, &tid);
  uint32_t pid = pid_of(p, life->process);
  life->track = DOMAIN_TRACKS + ++p->domains;
  if (!is_thread_free(p, tid)) {
    put_track(p, life->track, PROCESS_TRACKS + life->process, name);
    return;
  }
  life->tid = tid;
  char *begin, *to = begin_track(p, &begin, life->track, PROCESS_TRACKS + life->process);
  char *thread = protobuf_begin(put_string(to, TRACK_NAME, name), TRACK_THREAD);
  to = protobuf_number(protobuf_number(thread, THREAD_PID, pid), THREAD_TID, (uint32_t)tid);
  end_track(p, begin, protobuf_end(thread, put_string(to, THREAD_NAME, name)));
}

static const struct life *domain_of(struct perfetto *p, uint32_t number, uint32_t incarnation) {
  struct slot *slot = &p->slot[number % EVENTRING_MAX_DOMAINS];
  struct life *life = life_of(p, slot, incarnation);
  if (slot->incarnation != incarnation && slot->counter)
    memset(slot->counter, 0, EVENTRING_MAX_EVENTS * sizeof *slot->counter);
  slot->incarnation = incarnation;
  if (!life->track) describe_domain(p, life, number, incarnation);
  return life;
}

static void introduce(void *context, struct export_track *track) {
  struct perfetto *p = context;
  char name[64];
  const char *ring = eventring_cursor_name(p->run->cursor, EVENTRING_NAME_RING, track->ring);
  if (ring) snprintf(name, sizeof name, "%.*s", EVENTRING_MAX_CLASS_NAME, ring);
  else snprintf(name, sizeof name, "ring%u", track->ring);
  if (track->lane) snprintf(name + strlen(name), 16, " +%u", track->lane);
  const struct life *domain = domain_of(p, track->domain, track->incarnation);
  prepare_track(track);
  put_track(p, track->id, domain->track, name);
}

/* ---- Events with annotations ------------------------------------------------------ */

static char *put_one_value(char *to, const struct eventring_value *value) {
  char hex[2 * EVENTRING_MAX_PAYLOAD + 32] = "0x";
  switch (value->payload) {
    case EVENTRING_INT: return protobuf_number(to, ANNOTATION_INT, value->value.u);
    case EVENTRING_DOUBLE: return protobuf_fixed(to, ANNOTATION_DOUBLE, value->value.u);
    case EVENTRING_STRING: return put_text(to, ANNOTATION_STRING, value->bytes, value->size);
    case EVENTRING_BYTES: {
      enum { MOST = EVENTRING_MAX_PAYLOAD + 8 };
      size_t size = value->size < MOST ? value->size : MOST;
      char *end = export_hex(hex + 2, value->bytes, size);
      return protobuf_part(to, ANNOTATION_STRING, hex, (size_t)(end - hex));
    }
    default: return protobuf_number(to, ANNOTATION_UINT, value->value.u);
  }
}

static char *put_uint_entry(char *to, const char *name, uint64_t value) {
  char *entry = protobuf_begin(to, ANNOTATION_DICT);
  to = put_string(entry, ANNOTATION_NAME, name);
  return protobuf_end(entry, protobuf_number(to, ANNOTATION_UINT, value));
}

static char *put_sample(char *to, const struct eventring_event *e) {
  struct eventring_sample sample;
  uint64_t block = eventring_event_sample(e, &sample);
  to = put_uint_entry(to, "block", block);
  to = put_uint_entry(to, "words", sample.words);
  to = put_uint_entry(to, "samples", sample.samples);
  to = put_uint_entry(to, "stack", sample.stack);
  return put_uint_entry(to, "kind", sample.kind);
}

/* Puts several values: if they have names, as a dictionary, in which a value without a
   name gets its number as key; otherwise as an array. */
static char *put_values(char *to, const struct eventring_event *e) {
  struct eventring_value values[EVENTRING_MAX_VALUES];
  size_t count = eventring_event_values(e, values, EVENTRING_MAX_VALUES);
  const char *fields = e->def && e->def->fields ? e->def->fields : "";
  bool named = fields[0] != '\0';
  for (size_t i = 0; i < count; i++) {
    size_t size = strcspn(fields, ",");
    char number[24];
    char *entry = protobuf_begin(to, named ? ANNOTATION_DICT : ANNOTATION_ARRAY);
    to = entry;
    snprintf(number, sizeof number, "%zu", i + 1);
    if (named && size) to = put_text(to, ANNOTATION_NAME, fields, size);
    else if (named) to = put_string(to, ANNOTATION_NAME, number);
    to = protobuf_end(entry, put_one_value(to, &values[i]));
    fields += size + (fields[size] == ',');
  }
  return to;
}

static char *put_payload(char *to, const struct eventring_event *e) {
  bool is_bytes = e->payload == EVENTRING_BYTES || e->payload == EVENTRING_RAW ||
                  e->payload > EVENTRING_SAMPLE;
  struct eventring_value value = {.payload = is_bytes ? EVENTRING_BYTES : e->payload,
                                  .value.u = e->value.u, .bytes = e->bytes, .size = e->size};
  if (e->payload == EVENTRING_NONE) return to;
  char *annotation = protobuf_begin(to, EVENT_ANNOTATIONS);
  to = put_string(annotation, ANNOTATION_NAME, "value");
  if (e->payload == EVENTRING_VALUES) to = put_values(to, e);
  else if (e->payload == EVENTRING_SAMPLE) to = put_sample(to, e);
  else to = put_one_value(to, &value);
  return protobuf_end(annotation, to);
}

static char *put_amount(char *to, const char *name, uint64_t value) {
  char *annotation = protobuf_begin(to, EVENT_ANNOTATIONS);
  to = put_string(annotation, ANNOTATION_NAME, name);
  return protobuf_end(annotation, protobuf_number(to, ANNOTATION_UINT, value));
}

static char *put_said(char *to, const char *name, uint64_t value) {
  return value ? put_amount(to, name, value) : to;
}

/* Tells whether the event is the end of a span whose own end was not recorded. */
static bool is_cut_off(const struct eventring_event *e) {
  return e->kind == EVENTRING_END && e->flags & EVENTRING_SYNTHETIC;
}

static char *put_torn(char *to, const struct eventring_event *e) {
  if (!(e->flags & EVENTRING_TORN)) return to;
  char *annotation = protobuf_begin(to, EVENT_ANNOTATIONS);
  to = put_string(annotation, ANNOTATION_NAME, "torn");
  to = put_string(to, ANNOTATION_STRING, e->flags & EVENTRING_SYNTHETIC
                                             ? "its end was not recorded" : "its begin is unknown");
  to = protobuf_end(annotation, to);
  return is_cut_off(e) ? put_amount(to, "at_least_ns", e->ns - e->begin_ns) : to;
}

static char *put_annotations(char *to, const struct eventring_event *e) {
  int64_t off_cpu = eventring_event_off_cpu(e);
  if (e->kind != EVENTRING_END) to = put_payload(to, e);
  if (e->kind != EVENTRING_END || e->flags & EVENTRING_TORN)
    to = put_said(to, "context", e->context);
  to = put_said(to, "suspended_ns", e->suspended_ns);
  to = put_said(to, "off_cpu_ns", off_cpu > 0 ? (uint64_t)off_cpu : 0);
  if (e->flags & EVENTRING_TRUNCATED) to = put_said(to, "cut", 1);
  if (e->flags & EVENTRING_UNKNOWN) to = put_said(to, "unknown_id", e->id);
  return put_torn(to, e);
}

/* Begins a track event of type `type` at `ns`, and writes it up to its name. */
static char *begin_event(struct perfetto *p, char **begin, char **event, uint64_t track,
                         unsigned type, uint64_t ns) {
  *begin = begin_packet(p);
  char *to = protobuf_number(*begin, PACKET_TIMESTAMP, ns);
  *event = protobuf_begin(to, PACKET_TRACK_EVENT);
  to = protobuf_number(*event, EVENT_TRACK, track);
  return protobuf_number(to, EVENT_TYPE, type);
}

static char *put_face(char *to, const struct export_face *face) {
  return export_copy(to, face->text, 6);
}

static void put_event(struct perfetto *p, uint64_t track, const struct export_face *face,
                      unsigned type, const struct eventring_event *e) {
  uint64_t ns = is_cut_off(e) ? e->begin_ns : e->ns;
  char *begin, *event, *to = begin_event(p, &begin, &event, track, type, ns);
  if (type != SLICE_END) to = put_face(to, face);
  end_packet(p, begin, protobuf_end(event, put_annotations(to, e)));
}

/* ---- Counters, async spans, flows ------------------------------------------------- */

static uint64_t counter_track(struct perfetto *p, const struct eventring_event *e) {
  const struct life *domain = domain_of(p, e->domain, e->incarnation);
  struct slot *slot = &p->slot[e->domain % EVENTRING_MAX_DOMAINS];
  if (!slot->counter) slot->counter = calloc(EVENTRING_MAX_EVENTS, sizeof *slot->counter);
  if (!slot->counter) {
    p->failed = true;
    return 0;
  }
  uint32_t *counter = &slot->counter[e->id % EVENTRING_MAX_EVENTS];
  if (*counter) return COUNTER_TRACKS + *counter;
  *counter = ++p->counters;
  char *begin, *to = begin_track(p, &begin, COUNTER_TRACKS + *counter, domain->track);
  char *described = protobuf_begin(put_string(to, TRACK_NAME, e->name), TRACK_COUNTER);
  to = described;
  if (e->def && e->def->unit && e->def->unit[0])
    to = put_string(to, COUNTER_UNIT_NAME, e->def->unit);
  end_track(p, begin, protobuf_end(described, to));
  return COUNTER_TRACKS + *counter;
}

static void put_counter(struct perfetto *p, const struct eventring_event *e) {
  uint64_t track = counter_track(p, e);
  char *begin, *event, *to = begin_event(p, &begin, &event, track, COUNTER, e->ns);
  double large = (double)e->value.u;
  uint64_t bits = e->value.u;
  if (e->payload == EVENTRING_UINT && e->value.i < 0) memcpy(&bits, &large, sizeof bits);
  bool is_double = e->payload == EVENTRING_DOUBLE || bits != e->value.u;
  to = is_double ? protobuf_fixed(to, EVENT_DOUBLE_COUNTER, bits)
                 : protobuf_number(to, EVENT_COUNTER, bits);
  end_packet(p, begin, protobuf_end(event, to));
}

/* Returns a number that is the same for all events with this link and definition. */
static uint64_t number_of_link(const struct eventring_event *e) {
  uint64_t x = (e->link + 1) * 0x9e3779b97f4a7c15 ^ (uint64_t)(e->id + 1u) * 0xd6e8feb86659fd93;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
  return (x ^ x >> 29) | 1;
}

static void put_async(struct perfetto *p, const struct export_face *face,
                      const struct eventring_event *e) {
  const struct life *domain = domain_of(p, e->domain, e->incarnation);
  uint64_t track = number_of_link(e) | ASYNC_TRACKS;
  unsigned type = e->role == EVENTRING_ROLE_BEGIN ? SLICE_BEGIN
                  : e->role == EVENTRING_ROLE_END ? SLICE_END : INSTANT;
  put_track(p, track, PROCESS_TRACKS + domain->process, e->name);
  char *begin, *event, *to = begin_event(p, &begin, &event, track, type, e->ns);
  if (type != SLICE_END) to = put_face(to, face);
  if (type == SLICE_BEGIN) to = put_said(to, "link", e->link);
  end_packet(p, begin, protobuf_end(event, put_annotations(to, e)));
}

static void put_flow(struct perfetto *p, const struct export_track *track,
                     const struct export_face *face, const struct eventring_event *e) {
  char *begin, *event, *to = begin_event(p, &begin, &event, track->id, INSTANT, e->ns);
  const unsigned field = e->role == EVENTRING_ROLE_END ? EVENT_LAST_FLOW : EVENT_FLOW;
  to = protobuf_fixed(put_face(to, face), field, number_of_link(e));
  to = put_said(to, "link", e->link);
  end_packet(p, begin, protobuf_end(event, put_annotations(to, e)));
}

/* ---- Events ----------------------------------------------------------------------- */

static unsigned type_of(const struct eventring_event *e) {
  bool has_begin = e->flags & (EVENTRING_MATCHED | EVENTRING_SYNTHETIC);
  if (e->kind == EVENTRING_BEGIN) return SLICE_BEGIN;
  return e->kind == EVENTRING_END && has_begin ? SLICE_END : INSTANT;
}

static __attribute__((noinline)) int put_odd(struct perfetto *p, const struct export_track *track,
                                             const struct export_face *face,
                                             const struct eventring_event *e) {
  bool number = e->payload == EVENTRING_INT || e->payload == EVENTRING_UINT ||
                e->payload == EVENTRING_DOUBLE;
  if (e->kind == EVENTRING_COUNTER && number) put_counter(p, e);
  else if (e->kind != EVENTRING_LINKED) put_event(p, track->id, face, type_of(e), e);
  else if (e->def && e->def->kind == EVENTRING_DEF_FLOW) put_flow(p, track, face, e);
  else put_async(p, face, e);
  if (e->kind == EVENTRING_END) export_track_ended(&p->tracks, e);
  return p->out->failed || p->failed;
}

static int on_event(void *state, const struct eventring_event *e) {
  struct perfetto *p = state;
  const struct export_track *track = export_track_of(&p->tracks, e);
  const struct export_face *face = face_of(p, e);
  if (__builtin_expect(!track || !face, 0)) {
    p->failed = true;
    return 1;
  }
  if (e->kind <= EVENTRING_END && !(e->flags & ~EVENTRING_MATCHED) &&
      e->payload == EVENTRING_NONE && !e->context && !e->suspended_ns) {
    char *to = export_room(p->out, 64);
    p->out->at = put_usual(to, track, face, e->kind, e->ns);
    return p->out->failed;
  }
  return put_odd(p, track, face, e);
}

/* Writes nothing: in this format an open span has a begin without an end. */
static int on_open(void *state, const struct eventring_event *e) {
  (void)e;
  struct perfetto *p = state;
  return p->out->failed;
}

static int on_lost(void *state, const struct eventring_loss *loss) {
  struct perfetto *p = state;
  const struct export_track *track =
      export_track_of_ring(&p->tracks, loss->domain, loss->incarnation, loss->ring);
  if (!track) {
    p->failed = true;
    return 1;
  }
  char *begin, *event, *to = begin_event(p, &begin, &event, track->id, INSTANT, loss->ns);
  to = put_string(put_string(to, EVENT_NAME, "events lost"), EVENT_CATEGORIES, "loss");
  to = put_said(put_said(to, "count", loss->count), "before_reading",
                loss->flags & EVENTRING_LOST_BEFORE ? 1 : 0);
  end_packet(p, begin, protobuf_end(event, to));
  return p->out->failed;
}

/* ---- The file --------------------------------------------------------------------- */

static char *put_clock(char *to, unsigned clock, uint64_t ns) {
  char *entry = protobuf_begin(to, SNAPSHOT_CLOCKS);
  char *to_time = protobuf_number(entry, CLOCK_ID, clock);
  return protobuf_end(entry, protobuf_number(to_time, CLOCK_TIME, ns));
}

/* Writes to which clock the times belong, and what this clock and the wall clock showed
   at the start; then the state of the sequence of packets that follows. */
static void put_begin(struct perfetto *p) {
  const struct eventring_info *info = p->run->info;
  char *begin = begin_packet(p), *clocks = protobuf_begin(begin, PACKET_CLOCK_SNAPSHOT);
  char *to = put_clock(clocks, CLOCK_IS_MONOTONIC, info->start_ns);
  to = put_clock(to, CLOCK_IS_REALTIME, (uint64_t)info->start_wall_ns);
  to = protobuf_end(clocks, protobuf_number(to, SNAPSHOT_PRIMARY, CLOCK_IS_MONOTONIC));
  char *defaults = protobuf_begin(to, PACKET_DEFAULTS);
  to = protobuf_end(defaults, protobuf_number(defaults, PACKET_CLOCK_ID, CLOCK_IS_MONOTONIC));
  to = protobuf_number(to, PACKET_SEQUENCE_ID, 1);
  p->out->at = protobuf_end(begin, protobuf_number(to, PACKET_SEQUENCE_FLAGS, STATE_CLEARED));
}

static void *begin(struct export_run *run) {
  struct perfetto *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  p->run = run;
  p->out = run->out;
  if (export_tracks_open(&p->tracks, introduce, p) != 0) {
    free(p);
    return NULL;
  }
  put_begin(p);
  return p;
}

static int finish(void *state) {
  struct perfetto *p = state;
  int result = p->failed ? -1 : 0;
  for (int i = 0; i < EVENTRING_MAX_DOMAINS; i++) {
    free(p->slot[i].counter);
    free(p->slot[i].lives);
  }
  export_tracks_close(&p->tracks);
  export_faces_free(&p->faces);
  export_processes_free(&p->processes);
  free(p);
  return result;
}

const struct export_events export_events_perfetto = {
    .begin = begin, .event = on_event, .lost = on_lost, .open = on_open, .finish = finish};
