/* SPDX-License-Identifier: MIT */
/* text.c: checking and copying texts (see text.h). UTF-8 is that of RFC 3629: no overlong
 * forms, no surrogates, nothing above U+10FFFF. */
#include "format/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool is_continuation(uint8_t byte) { return (byte & 0xc0) == 0x80; }

/* The bytes that may follow the first one of a sequence of `length`. */
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

/* Are these bytes, at most eight, ASCII without control characters? (A borrow or a carry
   from one byte to the next can only make it say no.) */
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

void evr_text_clean(char *text, size_t room) {
  text[room - 1] = 0;
  evr_text_clean_bytes(text, strlen(text));
}

void evr_text_clean_bytes(char *text, size_t size) {
  for (size_t at = 0, length; at < size; at += length) {
    length = evr_text_sequence(text + at, size - at);
    bool harmless = length && !is_control((const uint8_t *)text + at, length);
    if (!length) length = 1;
    if (!harmless) memset(text + at, '?', length);
  }
}
