/* SPDX-License-Identifier: MIT */
/* text_write.h: writes numbers and texts for exporters, into buffers with enough room.
 * Each function returns the end of what it has written. */
#ifndef EVENTRING_EXPORT_TEXT_WRITE_H
#define EVENTRING_EXPORT_TEXT_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct eventring_event;
struct eventring_value;

extern const char export_digits[200]; /* "00" to "99" */

static inline char *export_two(char *to, unsigned value) {
  memcpy(to, export_digits + 2 * value, 2);
  return to + 2;
}
static inline char *export_three(char *to, unsigned value) {
  *to = (char)('0' + value / 100);
  return export_two(to + 1, value % 100);
}
/* Writes a number below 10^8, with leading zeros up to `digits`: 2, 4, 6 or 8. */
static inline char *export_padded(char *to, uint32_t value, int digits) {
  for (int at = digits - 2; at >= 0; at -= 2, value /= 100) export_two(to + at, value % 100);
  return to + digits;
}
char *export_long(char *to, uint64_t value);
/* Writes a decimal number; at most 20 digits. */
static inline char *export_uint(char *to, uint64_t value) {
  if (value >= 10000) return export_long(to, value);
  if (value >= 1000) return export_two(export_two(to, (unsigned)value / 100), value % 100);
  if (value >= 100) return export_three(to, (unsigned)value);
  if (value >= 10) return export_two(to, (unsigned)value);
  *to = (char)('0' + value);
  return to + 1;
}
static inline char *export_int(char *to, int64_t value) {
  if (value >= 0) return export_uint(to, (uint64_t)value);
  *to = '-';
  return export_uint(to + 1, -(uint64_t)value);
}
/* Writes a number with as many digits as it takes to read the same value back; at most 25
   bytes. `odd`: a character to put around "nan", "inf" and "-inf", such as a quote in
   JSON; 0 if none. */
char *export_double(char *to, double value, char odd);

static inline char *export_copy(char *to, const void *text, size_t size) {
  memcpy(to, text, size);
  return to + size;
}
#define EXPORT_TEXT(to, text) export_copy(to, text, sizeof(text) - 1)

/* Returns the last bytes of a text, up to 7, as the first ones of a word; the others are
   spaces. (A loop over the bytes would be as short, but its end is hard to predict.) */
static inline uint64_t export_last_bytes(const char *text, size_t size) {
  const unsigned char *from = (const unsigned char *)text;
  const uint64_t spaces = 0x2020202020202020;
  uint64_t word = 0;
  if (size >= 4) {
    uint32_t first, last;
    memcpy(&first, from, sizeof first);
    memcpy(&last, from + size - sizeof last, sizeof last);
    word = first | (uint64_t)last << 8 * (size - sizeof last);
  } else if (size) {
    word = from[0] | (uint64_t)from[size / 2] << 8 * (size / 2) |
           (uint64_t)from[size - 1] << 8 * (size - 1);
  }
  return word | spaces << 8 * size;
}

/* Writes a text as UTF-8: NUL and bytes that are not UTF-8 become U+FFFD. At most 3 bytes
   for each byte of the text. */
char *export_utf8(char *to, const void *text, size_t size);
/* Writes a string of JSON, with its quotes: unprintable characters become \uNNNN, bytes
   that are not UTF-8 become U+FFFD. At most 6 * size + 2 bytes. */
char *export_json_text(char *to, const void *text, size_t size);
/* Writes a text of the recording for a format of lines: unprintable characters and bytes
   that are not UTF-8 become \xNN; characters in `escaped` get a backslash before them (if
   the backslash is one of these, each \xNN gets one, too); characters in `replaced`
   become '?'. At most 5 bytes for each byte of the text. */
char *export_text(char *to, const void *text, size_t size, const char *escaped,
                  const char *replaced);
void export_write_text(FILE *out, const char *text, const char *escaped, const char *replaced);

char *export_hex(char *to, const void *bytes, size_t size);

/* Writes the payload of an event as JSON: a number, a text, {"hex":"..."} for bytes, null
   if there is none; several values as an object with their names, or as an array. At most
   EXPORT_VALUE bytes. */
enum { EXPORT_VALUE = 12 << 10 };
char *export_json_value(char *to, const struct eventring_event *event);
/* Tells whether an event (payload EVENTRING_VALUES) has a single value without a name;
   then a column has the value itself. Bytes of the value point into the event. */
bool export_is_single(const struct eventring_event *event, struct eventring_value *value);

#endif
