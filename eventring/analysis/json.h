/* json.h: a streaming JSON writer (RFC 8259): nothing is held in memory.
 *
 * It puts the commas; the caller closes what it opens. In an object each value
 * is preceded by its json_key. Nesting at most 63 deep.
 */
#ifndef EVENTRING_TOOL_JSON_H
#define EVENTRING_TOOL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json {
  FILE *out;
  uint64_t filled; /* bit n: the container n deep has a member already */
  unsigned depth;
  bool after_key;
};

void json_start(struct json *json, FILE *out);
/* Ends a top-level value with a newline; the next may follow. */
void json_line(struct json *json);

void json_open_object(struct json *json);
void json_close_object(struct json *json);
void json_open_array(struct json *json);
void json_close_array(struct json *json);
void json_key(struct json *json, const char *key);

void json_string(struct json *json, const char *text);
/* Bytes that are not UTF-8 become U+FFFD. */
void json_text(struct json *json, const void *text, size_t size);
void json_hex(struct json *json, const void *bytes, size_t size);
void json_uint(struct json *json, uint64_t value);
void json_int(struct json *json, int64_t value);
/* With all digits that it takes to read the same value back; what JSON cannot
   write is one of the strings "nan", "inf", "-inf". */
void json_double(struct json *json, double value);
void json_bool(struct json *json, bool value);
void json_null(struct json *json);

/* A member of an object: key and value. */
void json_string_at(struct json *json, const char *key, const char *text);
void json_uint_at(struct json *json, const char *key, uint64_t value);
void json_int_at(struct json *json, const char *key, int64_t value);
void json_double_at(struct json *json, const char *key, double value);
void json_bool_at(struct json *json, const char *key, bool value);

#endif
