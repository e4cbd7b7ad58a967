/* SPDX-License-Identifier: MIT */
/* json.c: a streaming JSON writer. */
#include "analysis/json.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eventring/types.h"

/* A dump writes millions of lines. Streams are not locked, since the command has one
   thread, and runs of plain characters, which most text consists of, are written at
   once. */

static void put_char(FILE *out, char c) { fputc_unlocked(c, out); }

static void put_bytes(FILE *out, const void *bytes, size_t size) {
  fwrite_unlocked(bytes, 1, size, out);
}

static void put_number(FILE *out, uint64_t value, bool negative) {
  char digits[24], *from = digits + sizeof digits;
  do *--from = (char)('0' + value % 10);
  while (value /= 10);
  if (negative) *--from = '-';
  put_bytes(out, from, (size_t)(digits + sizeof digits - from));
}

void eva_json_start(struct eva_json *json, FILE *out) {
  *json = (struct eva_json){.out = out};
}

void eva_json_line(struct eva_json *json) {
  assert(json->depth == 0);
  put_char(json->out, '\n');
  json->filled = 0;
}

/* Writes the comma before a value, unless the value is the first or its key has written
   the comma. */
static void before_value(struct eva_json *json) {
  uint64_t bit = (uint64_t)1 << json->depth;
  if (!json->after_key && json->depth > 0 && json->filled & bit)
    put_char(json->out, ',');
  json->filled |= bit;
  json->after_key = false;
}

static void open_container(struct eva_json *json, char bracket) {
  before_value(json);
  assert(json->depth < 63);
  json->depth++;
  json->filled &= ~((uint64_t)1 << json->depth);
  put_char(json->out, bracket);
}

static void close_container(struct eva_json *json, char bracket) {
  assert(json->depth > 0 && !json->after_key);
  json->depth--;
  put_char(json->out, bracket);
}

void eva_json_open_object(struct eva_json *json) { open_container(json, '{'); }
void eva_json_close_object(struct eva_json *json) { close_container(json, '}'); }
void eva_json_open_array(struct eva_json *json) { open_container(json, '['); }
void eva_json_close_array(struct eva_json *json) { close_container(json, ']'); }

static size_t plain_length(const unsigned char *text, size_t size) {
  size_t length = 0;
  while (length < size && text[length] >= 0x20 && text[length] < 0x7F &&
         text[length] != '"' && text[length] != '\\')
    length++;
  return length;
}

/* Writes a character as JSON escapes it: beyond U+FFFF as two surrogates. */
static void write_escape(FILE *out, uint32_t code) {
  if (code > 0xffff)
    fprintf(out, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
  else
    fprintf(out, "\\u%04x", code);
}

/* Writes one character that is not plain, and returns its length. */
static size_t write_special(FILE *out, const unsigned char *text, size_t size) {
  struct eventring_character c = eventring_character_at(text, size);
  if (!c.valid)
    put_bytes(out, "\xEF\xBF\xBD", 3);
  else if (!c.printable)
    write_escape(out, c.code);
  else if (text[0] == '"' || text[0] == '\\')
    put_char(out, '\\'), put_char(out, (char)text[0]);
  else
    put_bytes(out, text, c.size);
  return c.size;
}

static void write_text(FILE *out, const void *text, size_t size) {
  const unsigned char *from = text;
  put_char(out, '"');
  while (size > 0) {
    size_t length = plain_length(from, size);
    put_bytes(out, from, length);
    from += length, size -= length;
    if (size == 0) break;
    length = write_special(out, from, size);
    from += length, size -= length;
  }
  put_char(out, '"');
}

void eva_json_key(struct eva_json *json, const char *key) {
  before_value(json);
  write_text(json->out, key, strlen(key));
  put_char(json->out, ':');
  json->after_key = true;
}

void eva_json_text(struct eva_json *json, const void *text, size_t size) {
  before_value(json);
  write_text(json->out, text, size);
}

void eva_json_string(struct eva_json *json, const char *text) {
  if (text) eva_json_text(json, text, strlen(text));
  else eva_json_null(json);
}

void eva_json_hex(struct eva_json *json, const void *bytes, size_t size) {
  const unsigned char *from = bytes;
  before_value(json);
  fputc('"', json->out);
  for (size_t i = 0; i < size; i++) fprintf(json->out, "%02x", from[i]);
  fputc('"', json->out);
}

void eva_json_uint(struct eva_json *json, uint64_t value) {
  before_value(json);
  put_number(json->out, value, false);
}

void eva_json_int(struct eva_json *json, int64_t value) {
  before_value(json);
  put_number(json->out, value < 0 ? -(uint64_t)value : (uint64_t)value, value < 0);
}

void eva_json_double(struct eva_json *json, double value) {
  char digits[32];
  if (isnan(value)) { eva_json_string(json, "nan"); return; }
  if (isinf(value)) { eva_json_string(json, value < 0 ? "-inf" : "inf"); return; }
  before_value(json);
  snprintf(digits, sizeof digits, "%.15g", value);
  if (strtod(digits, NULL) != value)
    snprintf(digits, sizeof digits, "%.17g", value);
  fputs(digits, json->out);
}

void eva_json_bool(struct eva_json *json, bool value) {
  before_value(json);
  fputs(value ? "true" : "false", json->out);
}

void eva_json_null(struct eva_json *json) {
  before_value(json);
  fputs("null", json->out);
}

void eva_json_string_at(struct eva_json *json, const char *key, const char *text) {
  eva_json_key(json, key);
  eva_json_string(json, text);
}

void eva_json_uint_at(struct eva_json *json, const char *key, uint64_t value) {
  eva_json_key(json, key);
  eva_json_uint(json, value);
}

void eva_json_int_at(struct eva_json *json, const char *key, int64_t value) {
  eva_json_key(json, key);
  eva_json_int(json, value);
}

void eva_json_double_at(struct eva_json *json, const char *key, double value) {
  eva_json_key(json, key);
  eva_json_double(json, value);
}

void eva_json_bool_at(struct eva_json *json, const char *key, bool value) {
  eva_json_key(json, key);
  eva_json_bool(json, value);
}
