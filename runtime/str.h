/* SPDX-License-Identifier: MIT */
/* runtime/str.h: strings. Strings of at most SHORT_STRING_MAX bytes are interned. */
#ifndef SAROS_RUNTIME_STR_H
#define SAROS_RUNTIME_STR_H

#include <stdarg.h>

#include "mappings.h"
#include "object.h"

String *string_new(lua_State *L, const char *s, size_t len);
/* Returns a short string if it exists or can be made without the slow path, otherwise
 * NULL. Neither raises nor samples. */
String *string_try_short(lua_State *L, const char *s, size_t len);
String *string_from_c(lua_State *L, const char *s);
typedef struct KnownText {
  const char *text;
  uint8_t len; /* at most SHORT_STRING_MAX */
} KnownText;
/* Makes short strings that the domain keeps, so they are not among the young strings that
 * may be dead: the list of these stays small in a state that does little. */
void string_make_known(lua_State *L, const KnownText *texts, size_t n, String **strings);
/* Allocates a string of more than SHORT_STRING_MAX bytes; the caller fills in its
 * data. */
String *string_new_long(lua_State *L, size_t len);
bool string_equal(const String *a, const String *b); /* strings of any kind */
/* Returns the hash of a long string, which is computed once. Until then String.hash is
 * the domain's seed, from the creation of the string on. */
uint32_t string_hash_long(String *s);
/* Compares strings in the order of strcoll. Embedded zeros are allowed. */
int string_compare(const String *a, const String *b);
/* Prints as snprintf does, but knows only %s, %d, %c and %%, which are all that messages
 * use. */
size_t string_print(char *out, size_t size, const char *fmt, va_list args);
/* Formats a string as string_print does, and pushes the result on the stack. */
String *string_format(lua_State *L, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- the intern table of a domain ---------------------------------------- */

/* The intern table grows and shrinks bucket by bucket (linear hashing; design in str.c):
 * it is never rehashed as a whole. */
#define STRING_SEGMENT_BITS 8
#define STRING_SEGMENT (1u << STRING_SEGMENT_BITS)
typedef struct StringTable {
  /* directory of segments of STRING_SEGMENT buckets each. The first directory and the
   * first segment are in Domain.first_strings */
  StringLink **segments;
  uint32_t directory;  /* room of `segments`, in entries */
  uint32_t size;       /* number of buckets in use; mask / 2 < size <= mask + 1 */
  uint32_t mask;       /* a power of two less one */
  uint32_t used;       /* strings */
} StringTable;

/* The first part of a table, which is enough for most states. */
#define STRING_FEW_SEGMENTS 8
typedef struct FirstStrings {
  StringLink *directory[STRING_FEW_SEGMENTS];
  StringLink buckets[STRING_SEGMENT];
} FirstStrings;

ALWAYS_INLINE StringLink *string_bucket(const StringTable *table, uint32_t index) {
  return &table->segments[index >> STRING_SEGMENT_BITS][index & (STRING_SEGMENT - 1)];
}
/* Returns the index of the bucket to which a hash belongs at the present size. */
ALWAYS_INLINE uint32_t string_bucket_index(const StringTable *table, uint32_t hash) {
  uint32_t index = hash & table->mask;
  return index < table->size ? index : index & table->mask >> 1;
}

/* bits of the address in a StringLink: user addresses on Linux have at most that many,
 * unless a program asks for more */
#define STRING_ADDRESS_BITS 48

ALWAYS_INLINE String *string_at(StringLink link) {
  return (String *)(uintptr_t)(link & ((UINT64_C(1) << STRING_ADDRESS_BITS) - 1));
}
/* Returns the number of the bit in a link that says whether a string with such a hash may
 * follow. The number comes from bits of the hash that the index of a bucket does not
 * use. */
ALWAYS_INLINE uint32_t string_filter_bit(uint32_t hash) { return STRING_ADDRESS_BITS | hash >> 28; }
ALWAYS_INLINE bool string_may_follow(StringLink link, uint32_t hash) {
  return link >> string_filter_bit(hash) & 1;
}
/* Puts the string before the rest of its chain. Returns the link to it. */
ALWAYS_INLINE StringLink string_chain(String *s, StringLink rest) {
  StringLink address = (uintptr_t)s, known = rest >> STRING_ADDRESS_BITS << STRING_ADDRESS_BITS;
  rt_assert(address >> STRING_ADDRESS_BITS == 0);
  s->u.next = rest;
  return (known | address) | UINT64_C(1) << string_filter_bit(s->hash);
}

void string_table_init(Domain *d);
void string_table_free(Domain *d);
/* Reverses the order of a chain. Returns the link to its new first string. */
StringLink string_chain_reversed(StringLink chain);
/* Removes up to `most` buckets if the table is much larger than needed. Returns true when
 * the table is no longer much larger than needed. */
bool string_table_trim(Domain *d, uint32_t most);
/* Calls `part` for each piece of memory of the table. */
void string_table_each_part(const StringTable *table, MemoryPart *part, void *context);

#endif
