/* SPDX-License-Identifier: MIT */
/* text_write.c: numbers and texts for exporters. */
#include "export/text_write.h"
#include "eventring/tools.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "eventring/memory.h"

const char export_digits[200] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

/* Writes a number below 10^4, with leading zeros. */
static inline char *put_four(char *to, uint32_t value) {
  return export_two(export_two(to, value / 100), value % 100);
}

/* Writes a number below 10^8, with leading zeros. (With 32 bits, a division by a constant
   is a multiplication.) */
static inline char *put_eight(char *to, uint32_t value) {
  return put_four(put_four(to, value / 10000), value % 10000);
}

/* Writes a number below 10^8, without leading zeros. */
static inline char *put_up_to_eight(char *to, uint32_t value) {
  if (value < 10000) return export_uint(to, value);
  return put_four(export_uint(to, value / 10000), value % 10000);
}

char *export_long(char *to, uint64_t value) {
  enum { EIGHT = 100000000 };
  if (value < EIGHT) return put_up_to_eight(to, (uint32_t)value);
  const uint64_t high = value / EIGHT;
  to = high < EIGHT ? put_up_to_eight(to, (uint32_t)high)
                    : put_eight(put_up_to_eight(to, (uint32_t)(high / EIGHT)),
                                (uint32_t)(high % EIGHT));
  return put_eight(to, (uint32_t)(value % EIGHT));
}

static char *put_odd(char *to, const char *text, char odd) {
  if (odd) *to++ = odd;
  to = export_copy(to, text, strlen(text));
  if (odd) *to++ = odd;
  return to;
}

/* Writes a number with at most nine digits before the point and six behind it, as the
   shortest text that reads back as the same number. (Both operands of the division are
   whole and exact, so its result is the number nearest to the digits.) Returns NULL for
   any other number. */
static char *put_short_double(char *to, double value) {
  const double scale = 1e6, size = fabs(value);
  if (!(size >= 1e-4 && size < 1e9)) return NULL;
  uint64_t digits = (uint64_t)(size * scale + 0.5);
  if ((double)digits / scale != size) return NULL;
  if (value < 0) *to++ = '-';
  to = export_uint(to, digits / 1000000);
  *to++ = '.';
  to = export_padded(to, (uint32_t)(digits % 1000000), 6);
  while (to[-1] == '0') to--;
  return to;
}

char *export_double(char *to, double value, char odd) {
  if (isnan(value)) return put_odd(to, "nan", odd);
  if (isinf(value)) return put_odd(to, value < 0 ? "-inf" : "inf", odd);
  if (fabs(value) < 1e15 && value == (double)(int64_t)value && (value != 0 || !signbit(value)))
    return export_int(to, (int64_t)value);
  char text[32], *end = put_short_double(to, value);
  if (end) return end;
  int size = snprintf(text, sizeof text, "%.15g", value);
  if (strtod(text, NULL) != value) size = snprintf(text, sizeof text, "%.17g", value);
  return export_copy(to, text, (size_t)size);
}

/* ---- JSON ------------------------------------------------------------------------- */

static const char hex_digits[] = "0123456789abcdef";

static char *put_unicode(char *to, uint32_t code) {
  to = EXPORT_TEXT(to, "\\u");
  for (int shift = 12; shift >= 0; shift -= 4) *to++ = hex_digits[code >> shift & 15];
  return to;
}

static char *put_character(char *to, const char *text, const struct eventring_character *c) {
  if (!c->valid) return EXPORT_TEXT(to, "\xEF\xBF\xBD");
  if (!c->printable && c->code > 0xffff)
    return put_unicode(put_unicode(to, 0xd7c0 + (c->code >> 10)), 0xdc00 + (c->code & 0x3ff));
  if (!c->printable) return put_unicode(to, c->code);
  if (*text == '"' || *text == '\\') *to++ = '\\';
  return export_copy(to, text, c->size);
}

static bool is_plain(char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

#define EVERY(byte) ((byte) * 0x0101010101010101ull)
/* Returns a word with bit 7 set in each byte that equals `byte`, if all bytes are below
   0x80. */
static inline uint64_t equal_bytes(uint64_t word, unsigned char byte) {
  return ~((word ^ EVERY((uint64_t)byte)) + EVERY(0x7F)) & EVERY(0x80);
}

/* Tells whether eight bytes are all plain (is_plain). (A sum carries into the next byte
   only from a byte of 0x80 or more, and then the word is not plain anyway.) */
static inline bool are_plain(uint64_t word) {
  const uint64_t not_below_0x20 = word + EVERY(0x80 - 0x20);
  return !((word | ~not_below_0x20 | equal_bytes(word, 0x7F) | equal_bytes(word, '"') |
            equal_bytes(word, '\\')) & EVERY(0x80));
}

char *export_json_text(char *to, const void *text, size_t size) {
  const char *from = text;
  *to++ = '"';
  while (size > 0) {
    uint64_t word;
    for (; size >= sizeof word; size -= sizeof word) {
      memcpy(&word, from, sizeof word);
      if (!are_plain(word)) break;
      to = export_copy(to, &word, sizeof word);
      from += sizeof word;
    }
    /* the room for two bytes of text is enough for a whole word */
    if (size >= 2 && size < sizeof word && are_plain(word = export_last_bytes(from, size))) {
      memcpy(to, &word, sizeof word);
      to += size;
      break;
    }
    for (; size > 0 && is_plain(*from); size--) *to++ = *from++;
    if (!size) break;
    struct eventring_character c = eventring_character_at(from, size);
    to = put_character(to, from, &c);
    from += c.size, size -= c.size;
  }
  *to++ = '"';
  return to;
}

/* ---- UTF-8 ------------------------------------------------------------------------ */

char *export_utf8(char *to, const void *text, size_t size) {
  const char *from = text;
  while (size > 0) {
    struct eventring_character c = eventring_character_at(from, size);
    to = c.valid && c.code ? export_copy(to, from, c.size) : EXPORT_TEXT(to, "\xEF\xBF\xBD");
    from += c.size, size -= c.size;
  }
  return to;
}

/* ---- Lines of text ---------------------------------------------------------------- */

static char *put_unprintable(char *to, const char *bytes, size_t size, bool twice) {
  static const char digits[] = "0123456789ABCDEF"; /* as in eventring_printable */
  for (size_t i = 0; i < size; i++) {
    if (twice) *to++ = '\\';
    to = EXPORT_TEXT(to, "\\x");
    *to++ = digits[(unsigned char)bytes[i] >> 4];
    *to++ = digits[bytes[i] & 15];
  }
  return to;
}

char *export_text(char *to, const void *text, size_t size, const char *escaped,
                  const char *replaced) {
  const char *from = text;
  bool twice = strchr(escaped, '\\') != NULL;
  while (size > 0) {
    struct eventring_character c = eventring_character_at(from, size);
    if (!c.printable) to = put_unprintable(to, from, c.size, twice);
    else if (c.size == 1 && strchr(replaced, *from)) *to++ = '?';
    else {
      if (c.size == 1 && strchr(escaped, *from)) *to++ = '\\';
      to = export_copy(to, from, c.size);
    }
    from += c.size, size -= c.size;
  }
  return to;
}

void export_write_text(FILE *out, const char *text, const char *escaped, const char *replaced) {
  for (size_t size = strlen(text); size > 0;) {
    char part[24];
    size_t one = eventring_character_at(text, size).size;
    fwrite(part, 1, (size_t)(export_text(part, text, one, escaped, replaced) - part), out);
    text += one, size -= one;
  }
}

/* ---- Values ----------------------------------------------------------------------- */

char *export_hex(char *to, const void *bytes, size_t size) {
  const unsigned char *from = bytes;
  for (size_t i = 0; i < size; i++) {
    *to++ = hex_digits[from[i] >> 4];
    *to++ = hex_digits[from[i] & 15];
  }
  return to;
}

static char *put_bytes(char *to, const void *bytes, size_t size) {
  to = export_hex(EXPORT_TEXT(to, "{\"hex\":\""), bytes, size);
  return EXPORT_TEXT(to, "\"}");
}

static char *put_value(char *to, const struct eventring_value *value) {
  switch (value->payload) {
    case EVENTRING_INT: return export_int(to, value->value.i);
    case EVENTRING_DOUBLE: return export_double(to, value->value.d, '"');
    case EVENTRING_STRING: return export_json_text(to, value->bytes, value->size);
    case EVENTRING_BYTES: return put_bytes(to, value->bytes, value->size);
    default: return export_uint(to, value->value.u);
  }
}

/* Writes the name of a field and a colon. A field without a name gets its number, from
   1. */
static char *put_field(char *to, const char **fields, size_t number) {
  size_t size = strcspn(*fields, ",");
  if (size) {
    to = export_json_text(to, *fields, size);
  } else {
    *to++ = '"';
    to = export_uint(to, number);
    *to++ = '"';
  }
  *fields += size + ((*fields)[size] == ',');
  *to++ = ':';
  return to;
}

static const char *fields_of(const struct eventring_event *event) {
  return event->def && event->def->fields ? event->def->fields : "";
}

bool export_is_single(const struct eventring_event *event, struct eventring_value *value) {
  struct eventring_value values[EVENTRING_MAX_VALUES];
  if (fields_of(event)[0] || eventring_event_values(event, values, EVENTRING_MAX_VALUES) != 1)
    return false;
  *value = values[0];
  return true;
}

static char *put_values(char *to, const struct eventring_event *event) {
  struct eventring_value values[EVENTRING_MAX_VALUES];
  size_t count = eventring_event_values(event, values, EVENTRING_MAX_VALUES);
  const char *fields = fields_of(event);
  bool named = fields[0] != '\0';
  *to++ = named ? '{' : '[';
  for (size_t i = 0; i < count; i++) {
    if (i) *to++ = ',';
    if (named) to = put_field(to, &fields, i + 1);
    to = put_value(to, &values[i]);
  }
  *to++ = named ? '}' : ']';
  return to;
}

/* Writes a sample of an allocation. */
static char *put_sample(char *to, const struct eventring_event *event) {
  struct eventring_sample sample;
  uint64_t block = eventring_event_sample(event, &sample);
  to = export_uint(EXPORT_TEXT(to, "{\"block\":"), block);
  to = export_uint(EXPORT_TEXT(to, ",\"words\":"), sample.words);
  to = export_uint(EXPORT_TEXT(to, ",\"samples\":"), sample.samples);
  to = export_uint(EXPORT_TEXT(to, ",\"stack\":"), sample.stack);
  to = export_uint(EXPORT_TEXT(to, ",\"kind\":"), sample.kind);
  *to++ = '}';
  return to;
}

char *export_json_value(char *to, const struct eventring_event *event) {
  struct eventring_value value = {.payload = event->payload, .value.u = event->value.u,
                                  .bytes = event->bytes, .size = event->size};
  switch (event->payload) {
    case EVENTRING_NONE: return EXPORT_TEXT(to, "null");
    case EVENTRING_VALUES: return put_values(to, event);
    case EVENTRING_SAMPLE: return put_sample(to, event);
    case EVENTRING_INT: case EVENTRING_UINT: case EVENTRING_DOUBLE: case EVENTRING_STRING:
    case EVENTRING_STACK_ID: return put_value(to, &value);
    default: return put_bytes(to, event->bytes, event->size);
  }
}
