/* SPDX-License-Identifier: MIT */
/* json.h: a streaming JSON writer (RFC 8259): nothing is held in memory.
 *
 * It writes the commas; the caller closes what it opens. In an object each value is
 * preceded by its eva_json_key. Containers nest at most 63 deep.
 *
 * Errors: those of the stream, which keeps them (ferror). Locale: LC_NUMERIC must be "C",
 * the default of a program. Threads: one at a time for a writer and its stream, which is
 * written without taking its lock.
 */
#ifndef EVENTRING_ANALYSIS_JSON_H
#define EVENTRING_ANALYSIS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct eva_json {
  FILE *out;
  uint64_t filled; /* bit n: the container at depth n has a member already */
  unsigned depth;
  bool after_key;
};

/* Begins to write to a stream, which the caller opens and closes. */
void eva_json_start(struct eva_json *json, FILE *out);
/* Ends a top-level value with a newline; the next may follow. */
void eva_json_line(struct eva_json *json);

void eva_json_open_object(struct eva_json *json);
void eva_json_close_object(struct eva_json *json);
void eva_json_open_array(struct eva_json *json);
void eva_json_close_array(struct eva_json *json);
void eva_json_key(struct eva_json *json, const char *key);

/* Writes text; a string that is NULL becomes null. Characters that are not printable
   (eventring_character_at) are written as \uNNNN, so that a parser gets them back; bytes
   that are not UTF-8 become U+FFFD. `size`: bytes. */
void eva_json_string(struct eva_json *json, const char *text);
void eva_json_text(struct eva_json *json, const void *text, size_t size);
/* Writes bytes as a string, two hexadecimal digits each. */
void eva_json_hex(struct eva_json *json, const void *bytes, size_t size);
void eva_json_uint(struct eva_json *json, uint64_t value);
void eva_json_int(struct eva_json *json, int64_t value);
/* Writes a number with as many digits as it takes to read the same value back. Values
   that JSON lacks become one of the strings "nan", "inf", "-inf". */
void eva_json_double(struct eva_json *json, double value);
void eva_json_bool(struct eva_json *json, bool value);
void eva_json_null(struct eva_json *json);

/* Writes a member of an object: key and value. */
void eva_json_string_at(struct eva_json *json, const char *key, const char *text);
void eva_json_uint_at(struct eva_json *json, const char *key, uint64_t value);
void eva_json_int_at(struct eva_json *json, const char *key, int64_t value);
void eva_json_double_at(struct eva_json *json, const char *key, double value);
void eva_json_bool_at(struct eva_json *json, const char *key, bool value);

#endif
