/* SPDX-License-Identifier: MIT */
/* dump_format.c: prints one event as a line of text or of JSON. */
#include "dump_format.h"

#include "eventring/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ending.h"
#include "analysis/figures.h"
#include "analysis/json.h"
#include "analysis/names.h"
#include "analysis/traces.h"
#include "export/text_write.h"
#include "shared_views.h"

/* ---- Text ----------------------------------------------------------------
 *
 *      0.001234567   0 main     runtime > minor = 3
 *      0.001240000   0 main     runtime < minor  5.433 µs
 *
 * A line has the time, the domain and its name, the ring, and then the event, indented by
 * the spans around it: `>` begins and `<` ends a span, `=` is a counter, `!` an event,
 * `*` a lifecycle event; `{` begins and `}` ends an async span or a flow, `~` is a step
 * of it, `#7` its link. */

enum { DEEPEST_INDENT = 40 };

static void print_time(const struct dump_format *format, uint64_t ns) {
  int64_t since = (int64_t)(ns - format->start_ns);
  switch (format->time) {
    case DUMP_SINCE_START:
      fprintf(format->out, "%16s", eva_seconds(since));
      break;
    case DUMP_MONOTONIC: fprintf(format->out, "%20" PRIu64, ns); break;
    case DUMP_WALL: {
      int64_t wall = (int64_t)((uint64_t)format->start_wall_ns + (uint64_t)since);
      int64_t rest = wall % 1000000;
      fprintf(format->out, "%s%06d", eva_wall(wall), (int)(rest < 0 ? rest + 1000000 : rest));
      break;
    }
  }
}

/* Returns the name of the domain of an event, or "" if the recording has none. */
static const char *domain_name(const struct dump_format *format, uint32_t slot,
                               uint32_t incarnation) {
  struct dump_domain *domain = &format->domains[slot % EVENTRING_MAX_DOMAINS];
  struct eventring_domain_info info = {.size = sizeof info};
  if (domain->incarnation == incarnation) return domain->name;
  *domain = (struct dump_domain){.incarnation = incarnation};
  if (eventring_cursor_life(format->cursor, slot, incarnation, &info) == 0 ||
      (eventring_cursor_domain(format->cursor, slot, &info) == 0 &&
       info.incarnation == incarnation))
    memcpy(domain->name, info.name, sizeof domain->name);
  return domain->name;
}

/* Prints foreign text, and then spaces up to a width. */
static void print_padded(FILE *out, const char *text, size_t width) {
  size_t size = strlen(text);
  print_foreign(out, text, size);
  for (; size < width; size++) fputc(' ', out);
}

static void print_head(const struct dump_format *format, uint64_t ns, uint32_t domain,
                       uint32_t incarnation, uint8_t ring, uint32_t depth) {
  print_time(format, ns);
  unsigned indent = 2 * (depth < DEEPEST_INDENT ? depth : DEEPEST_INDENT);
  fprintf(format->out, " %3" PRIu32 " ", domain);
  print_padded(format->out, domain_name(format, domain, incarnation), 8);
  fputc(' ', format->out);
  print_padded(format->out, eva_ring_name(format->cursor, ring), 7);
  fprintf(format->out, " %*s", (int)indent, "");
}

static void print_hex(FILE *out, const void *bytes, size_t size) {
  const unsigned char *from = bytes;
  for (size_t i = 0; i < size; i++) fprintf(out, "%02x", from[i]);
}

static void print_trace(FILE *out, const struct eventring_trace *ids) {
  static const uint8_t none[sizeof ids->parent_id];
  fputs(" = ", out);
  print_hex(out, ids->trace_id, sizeof ids->trace_id);
  fputs(", span ", out);
  print_hex(out, ids->span_id, sizeof ids->span_id);
  if (memcmp(ids->parent_id, none, sizeof none) != 0) {
    fputs(", parent ", out);
    print_hex(out, ids->parent_id, sizeof ids->parent_id);
  }
  if (!(ids->flags & EVENTRING_TRACE_SAMPLED)) fputs(", not sampled", out);
}

/* Returns the definition whose id is the value, or NULL if the value is no id. */
static const struct eventring_def *named_value(const struct dump_format *format,
                                               const struct eventring_event *event) {
  bool integer = event->payload == EVENTRING_INT || event->payload == EVENTRING_UINT;
  if (!integer || !event->def || !event->def->unit ||
      strcmp(event->def->unit, EVENTRING_UNIT_ID) != 0 || !format->cursor ||
      event->value.u > UINT16_MAX)
    return NULL;
  return eventring_cursor_def(format->cursor, (uint32_t)event->value.u);
}

static void print_string(FILE *out, const void *text, size_t size) {
  fputc('"', out);
  print_foreign(out, text, size);
  fputc('"', out);
}

static void print_one_value(FILE *out, const struct eventring_value *value) {
  switch (value->payload) {
    case EVENTRING_INT: fprintf(out, "%" PRId64, value->value.i); break;
    case EVENTRING_UINT: fprintf(out, "%" PRIu64, value->value.u); break;
    case EVENTRING_DOUBLE: fprintf(out, "%.15g", value->value.d); break;
    case EVENTRING_STRING: print_string(out, value->bytes, value->size); break;
    default:
      fputs("0x", out);
      print_hex(out, value->bytes, value->size);
      break;
  }
}

/* Takes the name of the next value from a definition's `fields`: sets *name and moves
   *fields on. Returns the bytes of the name; 0 if the value has none. */
static size_t next_field(const char **fields, const char **name) {
  *name = *fields;
  size_t size = strcspn(*fields, ",");
  *fields += size + ((*fields)[size] == ',');
  return size;
}

static const char *fields_of(const struct eventring_event *event) {
  return event->def && event->def->fields ? event->def->fields : "";
}

/* Prints the sample of an allocation: its block, how much was sampled, kind and stack. */
static void print_sample(FILE *out, const struct eventring_event *event) {
  struct eventring_sample sample;
  uint64_t block = eventring_event_sample(event, &sample);
  fprintf(out,
          " = block %" PRIu64 " of %" PRIu64 " words, %" PRIu64 " sampled, kind %u, stack %" PRIu32,
          block, sample.words, sample.samples, sample.kind, sample.stack);
}

/* Prints values: `(a = 1, b = "x")`, or without names `(1, "x")`. */
static void print_values(FILE *out, const struct eventring_event *event) {
  struct eventring_value values[EVENTRING_MAX_VALUES];
  size_t count = eventring_event_values(event, values, EVENTRING_MAX_VALUES);
  const char *fields = fields_of(event), *name;
  fputs(" = (", out);
  for (size_t i = 0; i < count; i++) {
    size_t size = next_field(&fields, &name);
    if (i > 0) fputs(", ", out);
    print_foreign(out, name, size);
    if (size > 0) fputs(" = ", out);
    print_one_value(out, &values[i]);
  }
  fputc(')', out);
}

static void print_value(const struct dump_format *format,
                        const struct eventring_event *event) {
  FILE *out = format->out;
  struct eventring_trace ids;
  const struct eventring_def *named = named_value(format, event);
  if (named) {
    fputs(" = ", out);
    print_foreign(out, named->name, strlen(named->name));
    return;
  }
  switch (event->payload) {
    case EVENTRING_NONE: return;
    case EVENTRING_INT: fprintf(out, " = %" PRId64, event->value.i); break;
    case EVENTRING_UINT: fprintf(out, " = %" PRIu64, event->value.u); break;
    case EVENTRING_DOUBLE: fprintf(out, " = %.15g", event->value.d); break;
    case EVENTRING_STRING:
      fputs(" = ", out);
      print_string(out, event->bytes, event->size);
      break;
    case EVENTRING_STACK_ID: fprintf(out, " = stack %" PRIu64, event->value.u); break;
    case EVENTRING_VALUES: print_values(out, event); break;
    case EVENTRING_SAMPLE: print_sample(out, event); return;
    default:
      if (eva_trace(event, &ids)) {
        print_trace(out, &ids);
        return;
      }
      fputs(" = 0x", out);
      print_hex(out, event->bytes, event->size);
      return;
  }
  if (event->def && event->def->unit && event->def->unit[0]) {
    fputc(' ', out);
    print_foreign(out, event->def->unit, strlen(event->def->unit));
  }
}

void dump_value(FILE *out, eventring_cursor *cursor, const struct eventring_event *event) {
  const struct dump_format format = {.out = out, .cursor = cursor};
  print_value(&format, event);
}

/* Tells whether the value is the time that the thread spent off the processor. */
static bool says_off_cpu(const struct eventring_event *event) {
  return event->payload == EVENTRING_UINT && eventring_event_off_cpu(event) >= 0;
}

static void print_duration(FILE *out, const struct eventring_event *event) {
  if (event->kind != EVENTRING_END) return;
  const int64_t took = eventring_event_took(event);
  if (took >= 0)
    fprintf(out, "  %s", eva_duration((uint64_t)took));
  else
    fputs(event->flags & EVENTRING_SYNTHETIC ? "  (torn: its end was not recorded)"
                                             : "  (torn: its begin is unknown)",
          out);
  if (event->suspended_ns > 0)
    fprintf(out, "  (suspended %s)", eva_duration(event->suspended_ns));
  if (eventring_event_off_cpu(event) > 0)
    fprintf(out, "  (off CPU %s)", eva_duration(event->value.u));
}

static void print_remarks(FILE *out, const struct eventring_event *event) {
  if (event->context) fprintf(out, "  (context %" PRIu64 ")", event->context);
  if (event->kind == EVENTRING_BEGIN && event->flags & EVENTRING_SYNTHETIC)
    fputs("  (open already)", out);
  if (event->flags & EVENTRING_TRUNCATED) fputs("  (cut)", out);
  if (event->flags & EVENTRING_UNKNOWN)
    fprintf(out, "  (unknown event %u)", event->id);
}

static char sign_of_role(uint8_t role) {
  switch (role) {
    case EVENTRING_ROLE_BEGIN: return '{';
    case EVENTRING_ROLE_END: return '}';
    case EVENTRING_ROLE_STEP: return '~';
    default: return '?';
  }
}

static char sign_of(const struct eventring_event *event) {
  switch (event->kind) {
    case EVENTRING_BEGIN: return '>';
    case EVENTRING_END: return '<';
    case EVENTRING_COUNTER: return '=';
    case EVENTRING_INSTANT: return '!';
    case EVENTRING_LIFECYCLE: return '*';
    case EVENTRING_LINKED: return sign_of_role(event->role);
    default: return '?';
  }
}

/* A line that is being made. On a terminal, an event that is wider than the page
   continues on further lines; in a file or a pipe, it is one line. */
struct line {
  struct dump_format format; /* the format that writes the line */
};

static void begin_line(struct line *line, const struct dump_format *format) {
  line->format = *format;
  if (!format->making) return;
  rewind(format->making->stream);
  line->format.out = format->making->stream;
}

static void end_line(const struct line *line, FILE *out) {
  enum { CONTINUED = 38 }; /* column at which further lines begin: below the event */
  struct dump_line *making = line->format.making;
  if (!making) {
    fputc('\n', out);
    return;
  }
  if (fflush(making->stream) != 0) no_memory();
  making->text[making->size] = '\0'; /* `text` may have held a longer line */
  if (making->size > making->page) table_lines(out, making->text, making->page, 0, CONTINUED);
  else fwrite(making->text, 1, making->size, out), fputc('\n', out);
}

void dump_line_open(struct dump_line *line, size_t page) {
  line->page = page;
  line->stream = open_memstream(&line->text, &line->size);
  if (!line->stream) no_memory();
}

void dump_line_close(struct dump_line *line) {
  fclose(line->stream);
  free(line->text);
}

static void print_event(const struct dump_format *to, const struct eventring_event *event) {
  struct line line;
  const struct dump_format *format = &line.format;
  begin_line(&line, to);
  print_head(format, event->ns, event->domain, event->incarnation, event->ring, event->depth);
  fprintf(format->out, "%c ", sign_of(event));
  print_foreign(format->out, event->name, strlen(event->name));
  if (event->kind == EVENTRING_LINKED) fprintf(format->out, " #%" PRIu64, event->link);
  if (!says_off_cpu(event)) print_value(format, event);
  print_duration(format->out, event);
  print_remarks(format->out, event);
  end_line(&line, to->out);
}

static void print_loss(const struct dump_format *to, const struct eventring_loss *loss) {
  struct line line;
  const struct dump_format *format = &line.format;
  begin_line(&line, to);
  print_head(format, loss->ns, loss->domain, loss->incarnation, loss->ring, 0);
  fprintf(format->out, "# %s events lost%s", eva_count(loss->count), loss->flags &
          EVENTRING_LOST_BEFORE ? " (overwritten before reading began)" : "");
  end_line(&line, to->out);
}

static void print_open_span(const struct dump_format *to, const struct eventring_event *event,
                            const struct eva_so_far *so_far) {
  struct line line;
  const struct dump_format *format = &line.format;
  char text[EVA_SO_FAR];
  begin_line(&line, to);
  print_head(format, event->ns, event->domain, event->incarnation, event->ring, event->depth);
  fputs("| ", format->out);
  print_foreign(format->out, event->name, strlen(event->name));
  if (event->flags & EVENTRING_MAY_BE_OVER)
    fputs("  (open since then, or ended while its class was off)", format->out);
  else if (!so_far->known)
    fputs("  (open since then)", format->out);
  else
    fprintf(format->out, "  (open since then: %s)", eva_so_far_text(text, so_far));
  if (event->context) fprintf(format->out, "  (context %" PRIu64 ")", event->context);
  end_line(&line, to->out);
}

/* ---- JSON ---------------------------------------------------------------- */

static bool is_utf8(const void *text, size_t size) {
  const char *from = text;
  while (size > 0) {
    uint64_t word; /* up to eight bytes, all below 0x80, at once */
    if (size < sizeof word && !(export_last_bytes(from, size) & 0x8080808080808080)) return true;
    if (size >= sizeof word && !(memcpy(&word, from, sizeof word), word & 0x8080808080808080)) {
      from += sizeof word, size -= sizeof word;
      continue;
    }
    if (!(*from & 0x80)) {
      from++, size--;
      continue;
    }
    struct eventring_character c = eventring_character_at(from, size);
    if (!c.valid) return false;
    from += c.size, size -= c.size;
  }
  return true;
}

/* Puts bytes that are no text as an object, so that they are not taken for text. */
static void put_hex(struct eva_json *json, const void *bytes, size_t size) {
  eva_json_open_object(json);
  eva_json_key(json, "hex");
  eva_json_hex(json, bytes, size);
  eva_json_close_object(json);
}

static void put_one_value(struct eva_json *json, const struct eventring_value *value) {
  bool is_text = value->payload == EVENTRING_STRING && is_utf8(value->bytes, value->size);
  switch (value->payload) {
    case EVENTRING_INT: eva_json_int(json, value->value.i); break;
    case EVENTRING_UINT: eva_json_uint(json, value->value.u); break;
    case EVENTRING_DOUBLE: eva_json_double(json, value->value.d); break;
    default:
      if (is_text) eva_json_text(json, value->bytes, value->size);
      else put_hex(json, value->bytes, value->size);
      break;
  }
}

/* Puts several values: if they have names, as an object, in which a value without a name
   gets its number, from 1; otherwise as an array. */
static void put_values(struct eva_json *json, const struct eventring_event *event) {
  struct eventring_value values[EVENTRING_MAX_VALUES];
  size_t count = eventring_event_values(event, values, EVENTRING_MAX_VALUES);
  const char *fields = fields_of(event), *name;
  bool named = fields[0] != '\0';
  eva_json_key(json, "value");
  (named ? eva_json_open_object : eva_json_open_array)(json);
  for (size_t i = 0; i < count; i++) {
    char key[EVENTRING_MAX_FIELDS + 1];
    size_t size = next_field(&fields, &name);
    if (size > 0) snprintf(key, sizeof key, "%.*s", (int)size, name);
    else snprintf(key, sizeof key, "%zu", i + 1);
    if (named) eva_json_key(json, key);
    put_one_value(json, &values[i]);
  }
  (named ? eva_json_close_object : eva_json_close_array)(json);
}

/* Puts the sample of an allocation, whatever the name of the event is. */
static void put_sample(struct eva_json *json, const struct eventring_event *event) {
  struct eventring_sample sample;
  uint64_t block = eventring_event_sample(event, &sample);
  eva_json_key(json, "sample");
  eva_json_open_object(json);
  eva_json_uint_at(json, "block", block);
  eva_json_uint_at(json, "words", sample.words);
  eva_json_uint_at(json, "samples", sample.samples);
  eva_json_uint_at(json, "stack", sample.stack);
  eva_json_uint_at(json, "span", sample.span);
  eva_json_uint_at(json, "kind", sample.kind);
  eva_json_uint_at(json, "origin", sample.origin);
  eva_json_close_object(json);
}

static void put_value(const struct dump_format *format, struct eva_json *json,
                      const struct eventring_event *event) {
  const struct eventring_def *named = named_value(format, event);
  if (named) eva_json_string_at(json, "value_name", named->name);
  switch (event->payload) {
    case EVENTRING_NONE: return;
    case EVENTRING_INT: eva_json_int_at(json, "value", event->value.i); return;
    case EVENTRING_UINT: eva_json_uint_at(json, "value", event->value.u); return;
    case EVENTRING_DOUBLE: eva_json_double_at(json, "value", event->value.d); return;
    case EVENTRING_STACK_ID: eva_json_uint_at(json, "stack_id", event->value.u); return;
    case EVENTRING_VALUES: put_values(json, event); return;
    case EVENTRING_SAMPLE: put_sample(json, event); return;
    case EVENTRING_STRING:
      if (!is_utf8(event->bytes, event->size)) break;
      eva_json_key(json, "value");
      eva_json_text(json, event->bytes, event->size);
      return;
    default: break;
  }
  eva_json_key(json, "hex");
  eva_json_hex(json, event->bytes, event->size);
}

static void put_flag(struct eva_json *json, const struct eventring_event *event,
                     uint16_t flag, const char *key) {
  if (event->flags & flag) eva_json_bool_at(json, key, true);
}

static void put_source(const struct dump_format *format, struct eva_json *json, uint32_t domain,
                       uint32_t incarnation, uint8_t ring) {
  const char *name = domain_name(format, domain, incarnation);
  eva_json_uint_at(json, "domain", domain);
  eva_json_uint_at(json, "incarnation", incarnation);
  if (name[0]) eva_json_string_at(json, "domain_name", name);
  eva_json_string_at(json, "ring", eva_ring_name(format->cursor, ring));
}

static void put_head(const struct dump_format *format, struct eva_json *json, uint64_t ns,
                     uint32_t domain, uint32_t incarnation, uint8_t ring) {
  eva_json_open_object(json);
  eva_json_uint_at(json, "version", 1);
  eva_json_uint_at(json, "ns", ns);
  put_source(format, json, domain, incarnation, ring);
}

static void put_identity(const struct dump_format *format, struct eva_json *json, const char *kind,
                         const struct eventring_event *event) {
  const char *class_name =
      eventring_cursor_name(format->cursor, EVENTRING_NAME_CLASS, event->event_class);
  eva_json_string_at(json, "kind", kind);
  eva_json_string_at(json, "name", event->name);
  eva_json_uint_at(json, "id", event->id);
  eva_json_string_at(json, "class", class_name ? class_name : "?");
}

static void put_duration(struct eva_json *json, const struct eventring_event *event) {
  const int64_t took = eventring_event_took(event);
  if (event->kind != EVENTRING_END) return;
  if (took >= 0 || event->flags & EVENTRING_SYNTHETIC)
    eva_json_uint_at(json, "begin_ns", event->begin_ns);
  if (took < 0) return;
  eva_json_uint_at(json, "duration_ns", (uint64_t)took);
  if (event->suspended_ns > 0)
    eva_json_uint_at(json, "suspended_ns", event->suspended_ns);
  int64_t off_cpu = eventring_event_off_cpu(event);
  if (off_cpu >= 0) eva_json_uint_at(json, "off_cpu_ns", (uint64_t)off_cpu);
}

static void put_link(struct eva_json *json, const struct eventring_event *event) {
  if (event->kind != EVENTRING_LINKED) return;
  eva_json_string_at(json, "role", eva_role_name(event->role));
  eva_json_uint_at(json, "link", event->link);
}

/* Puts an event. `so_far` is NULL unless the event is an open span. */
static void put_event(const struct dump_format *format, const char *kind,
                      const struct eventring_event *event, const struct eva_so_far *so_far) {
  struct eva_json json;
  dump_write_lines(format);
  eva_json_start(&json, format->out);
  put_head(format, &json, event->ns, event->domain, event->incarnation, event->ring);
  put_identity(format, &json, kind, event);
  eva_json_uint_at(&json, "depth", event->depth);
  if (event->context) eva_json_uint_at(&json, "context", event->context);
  put_link(&json, event);
  if (!says_off_cpu(event)) put_value(format, &json, event);
  put_duration(&json, event);
  if (so_far) view_members(&json, &so_far_view, so_far);
  put_flag(&json, event, EVENTRING_SYNTHETIC, "synthetic");
  put_flag(&json, event, EVENTRING_TORN, "torn");
  put_flag(&json, event, EVENTRING_TRUNCATED, "truncated");
  put_flag(&json, event, EVENTRING_UNKNOWN, "unknown");
  put_flag(&json, event, EVENTRING_MAY_BE_OVER, "may_be_over");
  eva_json_close_object(&json);
  eva_json_line(&json);
}

/* ---- JSON of frequent events ---------------------------------------------------
 *
 * Many lines share two parts: where the event comes from, and what it is. Each part is
 * made once, as put_event makes it, and copied from then on; the numbers and texts
 * between them are collected in a buffer. Events that have more than this are left to
 * put_event. */

struct face { /* a part of lines: members, each with a comma before it */
  char *text;
  size_t size;
};

enum {
  SOURCES = EVENTRING_MAX_DOMAINS * EVENTRING_RINGS,
  KINDS = 8,
  LINES = 64 << 10, /* bytes of lines that are collected */
  LINE = 8192       /* the most bytes of a line of a common event */
};

struct dump_faces {
  size_t size; /* bytes of `lines` that are not written yet */
  char lines[LINES + LINE];
  /* All but the last eight digits of the latest time, and their text. */
  uint64_t high;
  char high_text[16];
  size_t high_size;
  struct {
    uint32_t incarnation; /* 0: none yet */
    struct face face;
  } source[SOURCES];
  struct face identity[EVENTRING_MAX_EVENTS][KINDS];
};

static void free_faces(struct dump_faces *faces) {
  for (size_t i = 0; i < SOURCES; i++) free(faces->source[i].face.text);
  for (size_t i = 0; i < EVENTRING_MAX_EVENTS; i++)
    for (size_t kind = 0; kind < KINDS; kind++) free(faces->identity[i][kind].text);
  free(faces);
}

void dump_write_lines(const struct dump_format *format) {
  struct dump_faces *faces = format->faces;
  if (!faces || !faces->size) return;
  if (fwrite_unlocked(faces->lines, 1, faces->size, format->out) != faces->size && !output_errno)
    output_errno = errno;
  faces->size = 0;
}

void dump_close(struct dump_format *format) {
  dump_write_lines(format);
  if (format->faces) free_faces(format->faces);
  format->faces = NULL;
}

void dump_forget(struct dump_format *format) {
  memset(format->domains, 0, EVENTRING_MAX_DOMAINS * sizeof *format->domains);
  dump_close(format);
  format->faces = format->json ? need_zeroed(1, sizeof *format->faces) : NULL;
}

/* Makes a face from the members of an object that `put` writes, with a comma instead of
   the bracket. */
static void make_face(struct face *face, const struct dump_format *format,
                      const struct eventring_event *event,
                      void (*put)(const struct dump_format *, struct eva_json *,
                                  const struct eventring_event *)) {
  struct eva_json json;
  free(face->text);
  face->text = NULL;
  FILE *out = open_memstream(&face->text, &face->size);
  if (!out) no_memory();
  eva_json_start(&json, out);
  eva_json_open_object(&json);
  put(format, &json, event);
  if (fclose(out) != 0) no_memory();
  face->text[0] = ',';
}

static void put_source_of(const struct dump_format *format, struct eva_json *json,
                          const struct eventring_event *event) {
  put_source(format, json, event->domain, event->incarnation, event->ring);
}

static void put_identity_of(const struct dump_format *format, struct eva_json *json,
                            const struct eventring_event *event) {
  put_identity(format, json, eva_kind_name(event->kind), event);
}

static const struct face *source_of(const struct dump_format *format,
                                    const struct eventring_event *event) {
  struct dump_faces *faces = format->faces;
  const size_t number =
      event->domain % EVENTRING_MAX_DOMAINS * EVENTRING_RINGS + event->ring % EVENTRING_RINGS;
  if (faces->source[number].incarnation != event->incarnation) {
    make_face(&faces->source[number].face, format, event, put_source_of);
    faces->source[number].incarnation = event->incarnation;
  }
  return &faces->source[number].face;
}

static const struct face *identity_of(const struct dump_format *format,
                                      const struct eventring_event *event) {
  struct face *face = &format->faces->identity[event->id][event->kind % KINDS];
  if (!face->text) make_face(face, format, event, put_identity_of);
  return face;
}

/* Tells whether an event has only what put_common writes. */
static bool is_common(const struct dump_format *format, const struct eventring_event *event) {
  enum { SHORT = 256 };
  if (!format->faces || !event->def || !event->incarnation || event->flags & ~EVENTRING_MATCHED)
    return false;
  if (event->kind == EVENTRING_END)
    return event->flags & EVENTRING_MATCHED && (!event->payload || says_off_cpu(event));
  switch (event->payload) {
    case EVENTRING_NONE:
    case EVENTRING_DOUBLE: return true;
    case EVENTRING_INT:
    case EVENTRING_UINT: return !named_value(format, event);
    case EVENTRING_STRING: return event->size <= SHORT && is_utf8(event->bytes, event->size);
    default: return false;
  }
}

#define PUT_NUMBER(to, key, value) export_uint(EXPORT_TEXT(to, ",\"" key "\":"), value)

static char *put_common_value(char *to, const struct eventring_event *event) {
  if (event->payload == EVENTRING_NONE) return to;
  to = EXPORT_TEXT(to, ",\"value\":");
  switch (event->payload) {
    case EVENTRING_INT: return export_int(to, event->value.i);
    case EVENTRING_UINT: return export_uint(to, event->value.u);
    case EVENTRING_DOUBLE: return export_double(to, event->value.d, '"');
    default: return export_json_text(to, event->bytes, event->size);
  }
}

/* Writes a time. The times of one tenth of a second share their first digits. */
static inline char *put_time(struct dump_faces *faces, char *to, uint64_t ns) {
  enum { LOW = 100000000 };
  const uint64_t high = ns / LOW;
  if (!high) return export_uint(to, ns);
  if (high != faces->high) {
    faces->high = high;
    faces->high_size = (size_t)(export_uint(faces->high_text, high) - faces->high_text);
  }
  memcpy(to, faces->high_text, sizeof faces->high_text);
  return export_padded(to + faces->high_size, (uint32_t)(ns % LOW), 8);
}

static void put_common(const struct dump_format *format, const struct eventring_event *event) {
  struct dump_faces *faces = format->faces;
  const struct face *source = source_of(format, event), *identity = identity_of(format, event);
  if (source->size + identity->size > LINE / 2) {
    put_event(format, eva_kind_name(event->kind), event, NULL);
    return;
  }
  char *to = faces->lines + faces->size; /* names and values are short (is_common) */
  to = put_time(faces, EXPORT_TEXT(to, "{\"version\":1,\"ns\":"), event->ns);
  to = export_copy(to, source->text, source->size);
  to = export_copy(to, identity->text, identity->size);
  to = PUT_NUMBER(to, "depth", event->depth);
  if (event->context) to = PUT_NUMBER(to, "context", event->context);
  if (event->kind == EVENTRING_LINKED) {
    const char *role = eva_role_name(event->role);
    to = export_copy(EXPORT_TEXT(to, ",\"role\":\""), role, strlen(role));
    to = PUT_NUMBER(EXPORT_TEXT(to, "\""), "link", event->link);
  }
  if (event->kind == EVENTRING_END) {
    const int64_t off_cpu = eventring_event_off_cpu(event);
    to = put_time(faces, EXPORT_TEXT(to, ",\"begin_ns\":"), event->begin_ns);
    to = PUT_NUMBER(to, "duration_ns", event->ns - event->begin_ns);
    if (event->suspended_ns) to = PUT_NUMBER(to, "suspended_ns", event->suspended_ns);
    if (off_cpu >= 0) to = PUT_NUMBER(to, "off_cpu_ns", (uint64_t)off_cpu);
  } else {
    to = put_common_value(to, event);
  }
  to = EXPORT_TEXT(to, "}\n");
  faces->size = (size_t)(to - faces->lines);
  if (faces->size > LINES) dump_write_lines(format);
}

/* ---- JSON of all others ------------------------------------------------------- */

static void put_loss(const struct dump_format *format,
                     const struct eventring_loss *loss) {
  struct eva_json json;
  dump_write_lines(format);
  eva_json_start(&json, format->out);
  put_head(format, &json, loss->ns, loss->domain, loss->incarnation, loss->ring);
  eva_json_string_at(&json, "kind", "lost");
  eva_json_uint_at(&json, "count", loss->count);
  eva_json_bool_at(&json, "before", loss->flags & EVENTRING_LOST_BEFORE);
  eva_json_close_object(&json);
  eva_json_line(&json);
}

/* ---- The end ------------------------------------------------------------- */

/* Returns when a process ended; for a killed process, the last time that is known. */
static uint64_t end_ns(const struct eventring_info *info) {
  return info->end_ns ? info->end_ns : info->error_ns;
}

static void print_end(const struct dump_format *to, const struct eventring_info *info) {
  struct line line;
  const struct eva_ending ending = eva_ending_of(info);
  char how[EVA_ENDING];
  uint64_t ns = end_ns(info);
  begin_line(&line, to);
  if (ns) print_time(&line.format, ns);
  fprintf(line.format.out, "%sended: %s", ns ? " " : "", eva_ending_text(how, &ending));
  end_line(&line, to->out);
  if (ending.error[0]) table_labelled(to->out, "", ending.error);
}

static void put_end(const struct dump_format *format, const struct eventring_info *info) {
  const struct eva_ending ending = eva_ending_of(info);
  struct eva_json json;
  dump_write_lines(format);
  eva_json_start(&json, format->out);
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "version", 1);
  if (end_ns(info)) eva_json_uint_at(&json, "ns", end_ns(info));
  eva_json_string_at(&json, "kind", "ended");
  view_members(&json, &ending_view, &ending);
  eva_json_close_object(&json);
  eva_json_line(&json);
}

/* ---- Either -------------------------------------------------------------- */

void dump_event(const struct dump_format *format,
                const struct eventring_event *event) {
  if (!format->json) print_event(format, event);
  else if (is_common(format, event)) put_common(format, event);
  else put_event(format, eva_kind_name(event->kind), event, NULL);
}

void dump_loss(const struct dump_format *format,
               const struct eventring_loss *loss) {
  (format->json ? put_loss : print_loss)(format, loss);
}

void dump_open_span(const struct dump_format *format, const struct eventring_event *event,
                    const struct eva_so_far *so_far) {
  if (format->json)
    put_event(format, "open", event, so_far);
  else
    print_open_span(format, event, so_far);
}

void dump_end(const struct dump_format *format, const struct eventring_info *info) {
  (format->json ? put_end : print_end)(format, info);
}
