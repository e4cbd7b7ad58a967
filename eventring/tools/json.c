/* json.c: a streaming JSON writer. */
#include "json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

void json_start(struct json *json, FILE *out) {
  *json = (struct json){.out = out};
}

void json_line(struct json *json) {
  assert(json->depth == 0);
  fputc('\n', json->out);
  json->filled = 0;
}

/* Before a value: the comma, unless a key has just put it. */
static void before_value(struct json *json) {
  uint64_t bit = (uint64_t)1 << json->depth;
  if (!json->after_key && json->depth > 0 && json->filled & bit)
    fputc(',', json->out);
  json->filled |= bit;
  json->after_key = false;
}

static void open_container(struct json *json, char bracket) {
  before_value(json);
  assert(json->depth < 63);
  json->depth++;
  json->filled &= ~((uint64_t)1 << json->depth);
  fputc(bracket, json->out);
}

static void close_container(struct json *json, char bracket) {
  assert(json->depth > 0 && !json->after_key);
  json->depth--;
  fputc(bracket, json->out);
}

void json_open_object(struct json *json) { open_container(json, '{'); }
void json_close_object(struct json *json) { close_container(json, '}'); }
void json_open_array(struct json *json) { open_container(json, '['); }
void json_close_array(struct json *json) { close_container(json, ']'); }

static void write_character(FILE *out, const unsigned char *text, size_t length) {
  if (text[0] == '"' || text[0] == '\\')
    fputc('\\', out), fputc(text[0], out);
  else if (text[0] < 0x20 || text[0] == 0x7F)
    fprintf(out, "\\u%04x", text[0]);
  else
    fwrite(text, 1, length, out);
}

static void write_text(FILE *out, const void *text, size_t size) {
  const unsigned char *from = text;
  fputc('"', out);
  while (size > 0) {
    size_t length = utf8_length(from, size);
    if (length > 0)
      write_character(out, from, length);
    else
      fputs("\xEF\xBF\xBD", out), length = 1;
    from += length, size -= length;
  }
  fputc('"', out);
}

void json_key(struct json *json, const char *key) {
  before_value(json);
  write_text(json->out, key, strlen(key));
  fputc(':', json->out);
  json->after_key = true;
}

void json_text(struct json *json, const void *text, size_t size) {
  before_value(json);
  write_text(json->out, text, size);
}

void json_string(struct json *json, const char *text) {
  json_text(json, text, strlen(text));
}

void json_hex(struct json *json, const void *bytes, size_t size) {
  const unsigned char *from = bytes;
  before_value(json);
  fputc('"', json->out);
  for (size_t i = 0; i < size; i++) fprintf(json->out, "%02x", from[i]);
  fputc('"', json->out);
}

void json_uint(struct json *json, uint64_t value) {
  before_value(json);
  fprintf(json->out, "%" PRIu64, value);
}

void json_int(struct json *json, int64_t value) {
  before_value(json);
  fprintf(json->out, "%" PRId64, value);
}

void json_double(struct json *json, double value) {
  char digits[32];
  if (isnan(value)) { json_string(json, "nan"); return; }
  if (isinf(value)) { json_string(json, value < 0 ? "-inf" : "inf"); return; }
  before_value(json);
  snprintf(digits, sizeof digits, "%.15g", value);
  if (strtod(digits, NULL) != value)
    snprintf(digits, sizeof digits, "%.17g", value);
  fputs(digits, json->out);
}

void json_bool(struct json *json, bool value) {
  before_value(json);
  fputs(value ? "true" : "false", json->out);
}

void json_null(struct json *json) {
  before_value(json);
  fputs("null", json->out);
}

void json_string_at(struct json *json, const char *key, const char *text) {
  json_key(json, key);
  json_string(json, text);
}

void json_uint_at(struct json *json, const char *key, uint64_t value) {
  json_key(json, key);
  json_uint(json, value);
}

void json_int_at(struct json *json, const char *key, int64_t value) {
  json_key(json, key);
  json_int(json, value);
}

void json_double_at(struct json *json, const char *key, double value) {
  json_key(json, key);
  json_double(json, value);
}

void json_bool_at(struct json *json, const char *key, bool value) {
  json_key(json, key);
  json_bool(json, value);
}
