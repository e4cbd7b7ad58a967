/* SPDX-License-Identifier: MIT */
/* otlp_write.c: messages of OTLP, as protocol buffers or as JSON. */
#include "export/otlp_write.h"

#include <math.h>

#include "analysis/names.h"
#include "eventring/tools.h"

enum type {
  MESSAGE, STRING, BYTES, ID, UINT32, INT32, INT64, UINT64, FIXED32, FIXED64, SFIXED64, DOUBLE, BOOL
};

static const struct { const char *json; uint8_t number, type; } fields[OTLP_FIELDS] = {
#define OTLP(id, number, json, type) {json, number, type},
#include "export/otlp.def"
};

static void put_char(struct otlp_text *t, char c) { protobuf_add(&t->b, &c, 1); }

/* Puts a comma before a member or an element, unless it is the first. */
static void separate(struct otlp_text *t) {
  const char last = t->b.size ? t->b.data[t->b.size - 1] : '{';
  if (last != '{' && last != '[') put_char(t, ',');
}

static void put_key(struct otlp_text *t, enum otlp_field field) {
  separate(t);
  put_char(t, '"');
  protobuf_add(&t->b, fields[field].json, strlen(fields[field].json));
  protobuf_add(&t->b, "\":", 2);
}

/* ---- Messages --------------------------------------------------------------------- */

size_t otlp_open(struct otlp_text *t, enum otlp_field field) {
  if (!t->is_json) return protobuf_open(&t->b, fields[field].number);
  put_key(t, field);
  put_char(t, '{');
  return 0;
}

void otlp_close(struct otlp_text *t, size_t begin) {
  if (t->is_json) put_char(t, '}');
  else protobuf_close(&t->b, begin);
}

void otlp_open_list(struct otlp_text *t, enum otlp_field field) {
  if (!t->is_json) return;
  put_key(t, field);
  put_char(t, '[');
}

size_t otlp_item(struct otlp_text *t, enum otlp_field field) {
  if (!t->is_json) return protobuf_open(&t->b, fields[field].number);
  separate(t);
  put_char(t, '{');
  return 0;
}

void otlp_close_list(struct otlp_text *t) {
  if (t->is_json) put_char(t, ']');
}

void otlp_join(struct otlp_text *t, const void *members, size_t size) {
  if (!size) return;
  if (t->is_json) separate(t);
  protobuf_add(&t->b, members, size);
}

/* ---- Texts and bytes -------------------------------------------------------------- */

static void put_json_text(struct otlp_text *t, const void *text, size_t size) {
  if (!protobuf_make_room(&t->b, 6 * size + 2)) return;
  t->b.size = (size_t)(export_json_text(t->b.data + t->b.size, text, size) - t->b.data);
}

void otlp_string(struct otlp_text *t, enum otlp_field field, const void *text, size_t size) {
  if (t->is_json) {
    put_key(t, field);
    put_json_text(t, text, size);
    return;
  }
  const size_t begin = protobuf_open(&t->b, fields[field].number);
  if (!protobuf_make_room(&t->b, 3 * size)) return;
  t->b.size = (size_t)(export_utf8(t->b.data + t->b.size, text, size) - t->b.data);
  protobuf_close(&t->b, begin);
}

void otlp_string_item(struct otlp_text *t, enum otlp_field field, const char *text) {
  if (!t->is_json) {
    otlp_string(t, field, text, strlen(text));
    return;
  }
  separate(t);
  put_json_text(t, text, strlen(text));
}

static char *put_base64(char *to, const unsigned char *from, size_t size) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t at = 0; at < size; at += 3) {
    const size_t left = size - at;
    const uint32_t bits = (uint32_t)from[at] << 16 | (left > 1 ? (uint32_t)from[at + 1] << 8 : 0) |
                          (left > 2 ? from[at + 2] : 0u);
    *to++ = digits[bits >> 18];
    *to++ = digits[bits >> 12 & 63];
    *to++ = left > 1 ? digits[bits >> 6 & 63] : '=';
    *to++ = left > 2 ? digits[bits & 63] : '=';
  }
  return to;
}

void otlp_bytes(struct otlp_text *t, enum otlp_field field, const void *bytes, size_t size) {
  if (!t->is_json) {
    protobuf_add_part(&t->b, fields[field].number, bytes, size);
    return;
  }
  put_key(t, field);
  if (!protobuf_make_room(&t->b, 2 * size + 8)) return;
  char *to = t->b.data + t->b.size;
  *to++ = '"';
  to = fields[field].type == ID ? export_hex(to, bytes, size) : put_base64(to, bytes, size);
  *to++ = '"';
  t->b.size = (size_t)(to - t->b.data);
}

/* ---- Numbers ---------------------------------------------------------------------- */

static char *put_json_number(char *to, enum type type, uint64_t value) {
  switch (type) {
    case BOOL: return value ? EXPORT_TEXT(to, "true") : EXPORT_TEXT(to, "false");
    case UINT32: case FIXED32: return export_uint(to, value);
    case INT32: return export_int(to, (int64_t)value);
    default: break;
  }
  *to++ = '"'; /* in quotes: JavaScript's numbers cannot hold all values */
  to = type == INT64 || type == SFIXED64 ? export_int(to, (int64_t)value) : export_uint(to, value);
  *to++ = '"';
  return to;
}

static char *put_fixed32(char *to, unsigned number, uint32_t value) {
  return export_copy(protobuf_key(to, number, PROTOBUF_FIXED32), &value, sizeof value);
}

static char *put_number(char *to, unsigned number, enum type type, uint64_t value) {
  switch (type) {
    case FIXED32: return put_fixed32(to, number, (uint32_t)value);
    case FIXED64: case SFIXED64: return protobuf_fixed(to, number, value);
    default: return protobuf_number(to, number, value);
  }
}

void otlp_number(struct otlp_text *t, enum otlp_field field, uint64_t value) {
  enum { MOST = 24 };
  const enum type type = fields[field].type;
  if (t->is_json) put_key(t, field);
  if (!protobuf_make_room(&t->b, MOST)) return;
  char *to = t->b.data + t->b.size;
  to = t->is_json ? put_json_number(to, type, value)
                  : put_number(to, fields[field].number, type, value);
  t->b.size = (size_t)(to - t->b.data);
}

/* Writes a number; protocol buffers' JSON has names for infinity and NaN. */
static char *put_json_double(char *to, double value) {
  if (isnan(value)) return EXPORT_TEXT(to, "\"NaN\"");
  if (isinf(value) && value < 0) return EXPORT_TEXT(to, "\"-Infinity\"");
  if (isinf(value)) return EXPORT_TEXT(to, "\"Infinity\"");
  return export_double(to, value, 0);
}

void otlp_double(struct otlp_text *t, enum otlp_field field, double value) {
  enum { MOST = 32 };
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (t->is_json) put_key(t, field);
  if (!protobuf_make_room(&t->b, MOST)) return;
  char *to = t->b.data + t->b.size;
  to = t->is_json ? put_json_double(to, value) : protobuf_fixed(to, fields[field].number, bits);
  t->b.size = (size_t)(to - t->b.data);
}

/* ---- Packed lists ----------------------------------------------------------------- */

size_t otlp_open_packed(struct otlp_text *t, enum otlp_field field) {
  if (!t->is_json) return protobuf_open(&t->b, fields[field].number);
  put_key(t, field);
  put_char(t, '[');
  return 0;
}

void otlp_close_packed(struct otlp_text *t, size_t begin) {
  if (t->is_json) put_char(t, ']');
  else protobuf_close(&t->b, begin);
}

void otlp_pack(struct otlp_text *t, enum otlp_field field, uint64_t value) {
  enum { MOST = 24 };
  const enum type type = fields[field].type;
  const bool is_fixed = type == FIXED64 || type == SFIXED64;
  if (t->is_json) separate(t);
  if (!protobuf_make_room(&t->b, MOST)) return;
  char *to = t->b.data + t->b.size;
  to = t->is_json ? put_json_number(to, type, value)
       : is_fixed ? export_copy(to, &value, sizeof value) : protobuf_varint(to, value);
  t->b.size = (size_t)(to - t->b.data);
}

void otlp_pack_double(struct otlp_text *t, double value) {
  enum { MOST = 32 };
  if (t->is_json) separate(t);
  if (!protobuf_make_room(&t->b, MOST)) return;
  char *to = t->b.data + t->b.size;
  to = t->is_json ? put_json_double(to, value) : export_copy(to, &value, sizeof value);
  t->b.size = (size_t)(to - t->b.data);
}

/* ---- Attributes ------------------------------------------------------------------- */

struct attribute { size_t item, value; };

static struct attribute begin_attribute(struct otlp_text *t, enum otlp_field field,
                                        const void *key, size_t size) {
  struct attribute a = {.item = otlp_item(t, field)};
  otlp_string(t, OTLP_KEY, key, size);
  a.value = otlp_open(t, OTLP_VALUE);
  return a;
}

static void end_attribute(struct otlp_text *t, struct attribute a) {
  otlp_close(t, a.value);
  otlp_close(t, a.item);
}

void otlp_attribute_text(struct otlp_text *t, enum otlp_field field, const char *key,
                         const void *text, size_t size) {
  const struct attribute a = begin_attribute(t, field, key, strlen(key));
  otlp_string(t, OTLP_STRING_VALUE, text, size);
  end_attribute(t, a);
}

void otlp_attribute_int(struct otlp_text *t, enum otlp_field field, const char *key,
                        int64_t value) {
  const struct attribute a = begin_attribute(t, field, key, strlen(key));
  otlp_number(t, OTLP_INT_VALUE, (uint64_t)value);
  end_attribute(t, a);
}

void otlp_attribute_bool(struct otlp_text *t, enum otlp_field field, const char *key, bool value) {
  const struct attribute a = begin_attribute(t, field, key, strlen(key));
  otlp_number(t, OTLP_BOOL_VALUE, value);
  end_attribute(t, a);
}

/* Puts an unsigned value. Numbers of OTLP are signed, so larger ones become texts. */
static void put_uint(struct otlp_text *t, uint64_t value) {
  char text[24];
  if (value <= INT64_MAX) otlp_number(t, OTLP_INT_VALUE, value);
  else otlp_string(t, OTLP_STRING_VALUE, text, (size_t)(export_uint(text, value) - text));
}

static void put_value(struct otlp_text *t, const struct eventring_value *value) {
  switch (value->payload) {
    case EVENTRING_INT: otlp_number(t, OTLP_INT_VALUE, value->value.u); break;
    case EVENTRING_DOUBLE: otlp_double(t, OTLP_DOUBLE_VALUE, value->value.d); break;
    case EVENTRING_STRING: otlp_string(t, OTLP_STRING_VALUE, value->bytes, value->size); break;
    case EVENTRING_BYTES: otlp_bytes(t, OTLP_BYTES_VALUE, value->bytes, value->size); break;
    default: put_uint(t, value->value.u); break;
  }
}

/* Puts several values: if they have names, as a list of keys and values, in which a value
   without a name gets its number as key; otherwise as an array. */
static void put_values(struct otlp_text *t, const struct eventring_event *event) {
  struct eventring_value values[EVENTRING_MAX_VALUES];
  const size_t count = eventring_event_values(event, values, EVENTRING_MAX_VALUES);
  const char *names = event->def && event->def->fields ? event->def->fields : "";
  const bool named = names[0] != '\0';
  const size_t list = otlp_open(t, named ? OTLP_LIST_VALUE : OTLP_ARRAY_VALUE);
  if (count) otlp_open_list(t, OTLP_VALUES);
  for (size_t i = 0; i < count; i++) {
    const size_t size = strcspn(names, ",");
    char number[24];
    struct attribute a = {0};
    if (!named) a.item = otlp_item(t, OTLP_VALUES);
    else if (size) a = begin_attribute(t, OTLP_VALUES, names, size);
    else a = begin_attribute(t, OTLP_VALUES, number, (size_t)(export_uint(number, i + 1) - number));
    put_value(t, &values[i]);
    if (named) end_attribute(t, a);
    else otlp_close(t, a.item);
    names += size + (names[size] == ',');
  }
  if (count) otlp_close_list(t);
  otlp_close(t, list);
}

static void put_sample(struct otlp_text *t, const struct eventring_event *event) {
  struct eventring_sample sample;
  const uint64_t block = eventring_event_sample(event, &sample);
  const struct { const char *name; uint64_t value; } parts[] = {
      {"block", block}, {"words", sample.words}, {"samples", sample.samples},
      {"stack", sample.stack}, {"kind", sample.kind}};
  const size_t list = otlp_open(t, OTLP_LIST_VALUE);
  otlp_open_list(t, OTLP_VALUES);
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    otlp_attribute_int(t, OTLP_VALUES, parts[i].name, (int64_t)parts[i].value);
  otlp_close_list(t);
  otlp_close(t, list);
}

static void put_payload(struct otlp_text *t, const struct eventring_event *event) {
  struct eventring_value value = {.payload = event->payload, .value.u = event->value.u,
                                  .bytes = event->bytes, .size = event->size};
  switch (event->payload) {
    case EVENTRING_VALUES:
      if (export_is_single(event, &value)) put_value(t, &value);
      else put_values(t, event);
      break;
    case EVENTRING_SAMPLE: put_sample(t, event); break;
    case EVENTRING_INT: case EVENTRING_UINT: case EVENTRING_DOUBLE: case EVENTRING_STRING:
    case EVENTRING_STACK_ID: put_value(t, &value); break;
    default: otlp_bytes(t, OTLP_BYTES_VALUE, event->bytes, event->size); break;
  }
}

void otlp_attribute_payload(struct otlp_text *t, enum otlp_field field, const char *key,
                            const eventring_cursor *cursor, const struct eventring_event *event) {
  if (event->payload == EVENTRING_NONE) return;
  const int named_by = eva_named_by(event);
  const struct eventring_def *def =
      named_by >= 0 ? eventring_cursor_def(cursor, (unsigned)named_by) : NULL;
  if (def) {
    otlp_attribute_string(t, field, key, def->name);
    return;
  }
  const struct attribute a = begin_attribute(t, field, key, strlen(key));
  put_payload(t, event);
  end_attribute(t, a);
}
