/* SPDX-License-Identifier: MIT */
/* runtime/str.h: strings; those of at most SHORT_STRING_MAX bytes are interned. */
#ifndef SAROS_RUNTIME_STR_H
#define SAROS_RUNTIME_STR_H

#include <stdarg.h>

#include "mappings.h"
#include "object.h"

String *string_new(lua_State *L, const char *s, size_t len);
/* A short string, if it is there or there is room at hand; else NULL. Neither raises nor
 * samples. */
String *string_try_short(lua_State *L, const char *s, size_t len);
String *string_from_c(lua_State *L, const char *s);
/* A string of more than SHORT_STRING_MAX bytes whose data the caller fills in. */
String *string_new_long(lua_State *L, size_t len);
bool string_equal(const String *a, const String *b); /* any kinds */
/* computes once, seeds from the domain at creation */
uint32_t string_hash_long(String *s);
int string_compare(const String *a, const String *b); /* strcoll order, embedded zeros allowed */
/* snprintf of %s, %d, %c and %% alone, which messages consist of. */
size_t string_print(char *out, size_t size, const char *fmt, va_list args);
/* The same; the result is pushed on the stack. */
String *string_format(lua_State *L, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- the intern table of a domain ---------------------------------------- */

/* The intern table grows and shrinks bucket by bucket (linear hashing; design in
 * str.c): no moment in which all of it is rehashed. */
#define STRING_SEGMENT_BITS 8
#define STRING_SEGMENT (1u << STRING_SEGMENT_BITS)
typedef struct StringTable {
  StringLink **segments; /* directory of segments of STRING_SEGMENT buckets each; at first, and
                            the first segment always, in Domain.first_strings */
  uint32_t directory;  /* room in it */
  uint32_t size;       /* buckets in use: mask / 2 < size <= mask + 1 */
  uint32_t mask;       /* a power of two less one */
  uint32_t used;       /* strings */
} StringTable;

/* As much of it as most states need. */
#define STRING_FEW_SEGMENTS 8
typedef struct FirstStrings {
  StringLink *directory[STRING_FEW_SEGMENTS];
  StringLink buckets[STRING_SEGMENT];
} FirstStrings;

ALWAYS_INLINE StringLink *string_bucket(const StringTable *table, uint32_t index) {
  return &table->segments[index >> STRING_SEGMENT_BITS][index & (STRING_SEGMENT - 1)];
}
/* The bucket that a hash belongs to at the present size. */
ALWAYS_INLINE uint32_t string_bucket_index(const StringTable *table, uint32_t hash) {
  uint32_t index = hash & table->mask;
  return index < table->size ? index : index & table->mask >> 1;
}

/* of a StringLink; more than user addresses have on Linux, unless asked for */
#define STRING_ADDRESS_BITS 48

ALWAYS_INLINE String *string_at(StringLink link) {
  return (String *)(uintptr_t)(link & ((UINT64_C(1) << STRING_ADDRESS_BITS) - 1));
}
/* Which bit of a link says that a string with such a hash may follow. Of the hash, it
 * takes what the index of a bucket does not. */
ALWAYS_INLINE uint32_t string_filter_bit(uint32_t hash) { return STRING_ADDRESS_BITS | hash >> 28; }
ALWAYS_INLINE bool string_may_follow(StringLink link, uint32_t hash) {
  return link >> string_filter_bit(hash) & 1;
}
/* Puts the string before the rest of its chain; returns the link to it. */
ALWAYS_INLINE StringLink string_chain(String *s, StringLink rest) {
  StringLink address = (uintptr_t)s, known = rest >> STRING_ADDRESS_BITS << STRING_ADDRESS_BITS;
  rt_assert(address >> STRING_ADDRESS_BITS == 0);
  s->u.next = rest;
  return (known | address) | UINT64_C(1) << string_filter_bit(s->hash);
}

void string_table_init(Domain *d);
void string_table_free(Domain *d);
/* A chain in the opposite order. */
StringLink string_chain_reversed(StringLink chain);
/* Takes up to `most` buckets away when the table is far larger than its use; true
 * when it is not any more. */
bool string_table_trim(Domain *d, uint32_t most);
/* Calls `part` for each piece of memory of the table. */
void string_table_each_part(const StringTable *table, MemoryPart *part, void *context);

#endif
