/* SPDX-License-Identifier: MIT */
/* text.c: checking, copying and showing texts (see text.h). UTF-8 is that of RFC 3629: no
 * overlong forms, no surrogates, nothing above U+10FFFF.
 *
 * Text that someone else chose (names, payloads, paths, the environment) is shown to
 * people only through this file: eventring_printable for output, evr_text_clean_message
 * for error texts, eventring_character_at where another notation is needed (JSON). Names
 * in a file are restricted less (evr_text_check, doc/FORMAT.md): a joiner between two
 * letters is part of some languages; it is allowed, and shown as \xNN. */
#include "format/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "eventring/types.h"

static bool is_continuation(uint8_t byte) { return (byte & 0xc0) == 0x80; }

/* Tells whether `second` may follow `first` in a sequence. */
static bool second_is_valid(uint8_t first, uint8_t second) {
  switch (first) {
    case 0xe0:
      return second >= 0xa0;
    case 0xed:
      return second < 0xa0;
    case 0xf0:
      return second >= 0x90;
    case 0xf4:
      return second < 0x90;
    default:
      return true;
  }
}

static size_t length_by_first(uint8_t first) {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  if (first < 0xe0) return 2;
  if (first < 0xf0) return 3;
  return first < 0xf5 ? 4 : 0;
}

size_t evr_text_sequence(const char *text, size_t size) {
  const uint8_t *bytes = (const uint8_t *)text;
  size_t length = size ? length_by_first(bytes[0]) : 0;
  if (length > size) return 0;
  for (size_t i = 1; i < length; i++)
    if (!is_continuation(bytes[i])) return 0;
  return length > 1 && !second_is_valid(bytes[0], bytes[1]) ? 0 : length;
}

static bool is_control(const uint8_t *sequence, size_t length) {
  if (length == 1) return sequence[0] < 32 || sequence[0] == 127;
  return length == 2 && sequence[0] == 0xc2 && sequence[1] < 0xa0;
}

/* Tells whether these bytes, at most eight, are ASCII without control characters. (A
   borrow or a carry from one byte to the next can only make the result false.) */
static bool is_plain(const char *bytes, size_t size) {
  uint64_t word = 0x2020202020202020;
  memcpy(&word, bytes, size);
  return !((word | (word - 0x2020202020202020) | (word + 0x0101010101010101)) &
           0x8080808080808080);
}

enum evr_text evr_text_check(const char *text, size_t size) {
  for (size_t at = 0, length; at < size; at += length) {
    length = size - at < 8 ? size - at : 8;
    if (is_plain(text + at, length)) continue;
    length = evr_text_sequence(text + at, size - at);
    if (!length) return EVR_TEXT_NOT_UTF8;
    if (is_control((const uint8_t *)text + at, length)) return EVR_TEXT_CONTROL;
  }
  return EVR_TEXT_OK;
}

size_t evr_text_copy(char *to, size_t room, const char *from) {
  size_t size = from ? strlen(from) : 0;
  if (size >= room)
    for (size = room - 1; size && is_continuation((uint8_t)from[size]);) size--;
  if (size) memcpy(to, from, size);
  to[size] = 0;
  return size;
}

/* Tells whether a text is UTF-8, with any characters. */
static bool is_utf8(const char *text, size_t size) {
  for (size_t at = 0, length; at < size; at += length) {
    length = size - at < 8 ? size - at : 8;
    if (is_plain(text + at, length)) continue;
    length = evr_text_sequence(text + at, size - at);
    if (!length) return false;
  }
  return true;
}

size_t eventring_text_fit(const void *text, size_t size, size_t room) {
  const char *bytes = text;
  if (size <= room) return size;
  size_t last = room; /* start of the last character, which may not fit */
  while (last > 0 && room - last < 3 && is_continuation((uint8_t)bytes[last])) last--;
  bool is_cut = evr_text_sequence(bytes + last, size - last) > room - last;
  return is_cut && is_utf8(bytes, last) ? last : room;
}

/* ---- What is not to reach a terminal -------------------------------------------- */

/* Code points that a terminal obeys, that change the order or the lines of the text
   around them, or that are invisible, so that two names look alike. */
static const struct { uint32_t first, last; } unprintable[] = {
    {0x0000, 0x001f},   /* C0 */
    {0x007f, 0x009f},   /* DEL, C1: 0x9b is ESC [ */
    {0x061c, 0x061c},   /* Arabic letter mark */
    {0x180e, 0x180e},   /* Mongolian vowel separator, without width */
    {0x200b, 0x200f},   /* without width: space, joiners, marks of direction */
    {0x2028, 0x202e},   /* line and paragraph separator; embeddings, overrides */
    {0x2060, 0x206f},   /* without width: word joiner, operators; isolates, older ones */
    {0xfeff, 0xfeff},   /* byte order mark */
    {0xfff9, 0xfffb},   /* interlinear annotations */
    {0xe0000, 0xe007f}, /* tags: a hidden copy of ASCII */
};

static bool is_printable(uint32_t code) {
  size_t i = 0, count = sizeof unprintable / sizeof unprintable[0];
  while (i < count && code > unprintable[i].last) i++;
  return i == count || code < unprintable[i].first;
}

static uint32_t decode(const uint8_t *sequence, size_t length) {
  uint32_t code = length == 1 ? sequence[0] : sequence[0] & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; i++) code = code << 6 | (sequence[i] & 0x3fu);
  return code;
}

struct eventring_character eventring_character_at(const void *text, size_t size) {
  size_t length = evr_text_sequence(text, size);
  if (!length) return (struct eventring_character){.size = 1};
  uint32_t code = decode(text, length);
  return (struct eventring_character){.code = code, .size = (uint8_t)length, .valid = true,
                                      .printable = is_printable(code)};
}

char *eventring_printable(char *safe, size_t room, const void *text, size_t size) {
  static const char digits[] = "0123456789ABCDEF";
  const uint8_t *from = text;
  char *to = safe;
  while (size > 0) {
    if (*from >= ' ' && *from <= '~' && *from != '\\') { /* the common case */
      if ((size_t)(to - safe) + 2 > room) break;
      *to++ = (char)*from++, size--;
      continue;
    }
    struct eventring_character c = eventring_character_at(from, size);
    /* also the backslash, which would make escapes ambiguous */
    bool escape = !c.printable || c.code == '\\';
    size_t needed = escape ? 4u * c.size : c.size;
    if ((size_t)(to - safe) + needed + 1 > room) break;
    for (size_t i = 0; i < c.size; i++) {
      if (escape) {
        *to++ = '\\', *to++ = 'x';
        *to++ = digits[from[i] >> 4], *to++ = digits[from[i] & 15];
      } else {
        *to++ = (char)from[i];
      }
    }
    from += c.size, size -= c.size;
  }
  *to = 0;
  return safe;
}

/* ---- Cleaning ------------------------------------------------------------------- */

/* Replaces by '?' each byte of characters that `is_harmless` rejects, and each byte that
   is not UTF-8. */
static void clean(char *text, size_t size, bool (*is_harmless)(struct eventring_character)) {
  for (size_t at = 0, length; at < size; at += length) {
    length = size - at < 8 ? size - at : 8;
    if (is_plain(text + at, length)) continue;
    struct eventring_character c = eventring_character_at(text + at, size - at);
    length = c.size;
    if (!is_harmless(c)) memset(text + at, '?', length);
  }
}

static bool is_no_control(struct eventring_character c) {
  return c.valid && c.code >= 32 && (c.code < 127 || c.code > 159);
}

static bool is_in_lines(struct eventring_character c) {
  return is_no_control(c) || c.code == '\n' || c.code == '\t';
}

static bool may_be_shown(struct eventring_character c) { return c.printable; }

void evr_text_clean(char *text, size_t room) {
  text[room - 1] = 0;
  evr_text_clean_bytes(text, strlen(text));
}

void evr_text_clean_bytes(char *text, size_t size) { clean(text, size, is_no_control); }

void evr_text_clean_message(char *text, size_t room) {
  text[room - 1] = 0;
  clean(text, strlen(text), may_be_shown);
}

void evr_text_clean_lines(char *text, size_t size) { clean(text, size, is_in_lines); }
