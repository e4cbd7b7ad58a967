/* SPDX-License-Identifier: MIT */
/* protobuf.h: messages of protocol buffers
 * (https://protobuf.dev/programming-guides/encoding).
 *
 * A message is a run of fields: a key (number << 3 | wire type) and a varint, 4 or 8
 * bytes, or for type 2 a length and bytes. Varints may be longer than necessary, so room
 * can be reserved for a length that is not known yet.
 *
 * There are two ways to write a message: into a buffer with enough room (by the functions
 * that take `to` and return the end of what they have put), or into memory that grows
 * (struct protobuf).
 */
#ifndef EVENTRING_EXPORT_PROTOBUF_H
#define EVENTRING_EXPORT_PROTOBUF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "export/text_write.h"

enum { PROTOBUF_VARINT = 0, PROTOBUF_FIXED64 = 1, PROTOBUF_PART = 2, PROTOBUF_FIXED32 = 5 };
enum { PROTOBUF_MOST_VARINT = 10 }; /* bytes */

/* ---- Where there is room ---------------------------------------------------------- */

static inline char *protobuf_varint(char *to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = (char)(value | 0x80);
  *to++ = (char)value;
  return to;
}

static inline char *protobuf_key(char *to, unsigned field, unsigned type) {
  return protobuf_varint(to, field << 3 | type);
}

static inline char *protobuf_number(char *to, unsigned field, uint64_t value) {
  return protobuf_varint(protobuf_key(to, field, PROTOBUF_VARINT), value);
}

static inline char *protobuf_fixed(char *to, unsigned field, uint64_t value) {
  to = protobuf_key(to, field, PROTOBUF_FIXED64);
  return export_copy(to, &value, sizeof value);
}

static inline char *protobuf_part(char *to, unsigned field, const void *bytes, size_t size) {
  to = protobuf_varint(protobuf_key(to, field, PROTOBUF_PART), size);
  return export_copy(to, bytes, size);
}

/* Begins a message within another. Reserves four bytes for its length; returns where its
   contents go. */
static inline char *protobuf_begin(char *to, unsigned field) {
  return protobuf_key(to, field, PROTOBUF_PART) + 4;
}

static inline char *protobuf_end(char *begin, char *to) {
  size_t size = (size_t)(to - begin);
  for (int i = 0; i < 4; i++) begin[i - 4] = (char)((size >> 7 * i & 0x7f) | (i < 3 ? 0x80 : 0));
  return to;
}

/* ---- In memory that grows --------------------------------------------------------- */

/* A zeroed struct is empty. `data` is to be freed. */
struct protobuf {
  char *data;
  size_t size, room;
  bool failed; /* no memory: something is missing */
};

/* Makes room for `size` more bytes. Returns false when out of memory. */
static inline bool protobuf_make_room(struct protobuf *b, size_t size) {
  if (__builtin_expect(size <= b->room - b->size, 1)) return true;
  const size_t room = 2 * b->room + size + 64;
  char *grown = realloc(b->data, room);
  if (!grown) {
    b->failed = true;
    return false;
  }
  b->data = grown;
  b->room = room;
  return true;
}

static inline void protobuf_add(struct protobuf *b, const void *bytes, size_t size) {
  if (!size || !protobuf_make_room(b, size)) return;
  memcpy(b->data + b->size, bytes, size);
  b->size += size;
}

static inline void protobuf_add_number(struct protobuf *b, unsigned field, uint64_t value) {
  if (!protobuf_make_room(b, 2 * PROTOBUF_MOST_VARINT)) return;
  b->size = (size_t)(protobuf_number(b->data + b->size, field, value) - b->data);
}

static inline void protobuf_add_part(struct protobuf *b, unsigned field, const void *bytes,
                                     size_t size) {
  if (!protobuf_make_room(b, 2 * PROTOBUF_MOST_VARINT)) return;
  char *to = protobuf_key(b->data + b->size, field, PROTOBUF_PART);
  b->size = (size_t)(protobuf_varint(to, size) - b->data);
  protobuf_add(b, bytes, size);
}

/* Appends a message to another one, and empties it. */
static inline void protobuf_add_message(struct protobuf *b, unsigned field,
                                        struct protobuf *message) {
  protobuf_add_part(b, field, message->data, message->size);
  b->failed |= message->failed;
  message->size = 0;
}

/* Begins a message within this one, of any length. Returns what protobuf_close needs. */
static inline size_t protobuf_open(struct protobuf *b, unsigned field) {
  if (!protobuf_make_room(b, PROTOBUF_MOST_VARINT + 1)) return b->size;
  b->size = (size_t)(protobuf_key(b->data + b->size, field, PROTOBUF_PART) - b->data) + 1;
  return b->size;
}

/* Ends the message that protobuf_open began. Most messages have less than 128 bytes, so
   one byte was reserved for the length; longer messages are moved up. */
static inline void protobuf_close(struct protobuf *b, size_t begin) {
  char text[PROTOBUF_MOST_VARINT];
  if (b->failed) return;
  const size_t size = b->size - begin, more = (size_t)(protobuf_varint(text, size) - text) - 1;
  if (!protobuf_make_room(b, more)) return;
  if (more) memmove(b->data + begin + more, b->data + begin, size);
  memcpy(b->data + begin - 1, text, more + 1);
  b->size += more;
}

#endif
