/* SPDX-License-Identifier: MIT */
/* runtime/str.c: strings.
 *
 * Strings of at most SHORT_STRING_MAX bytes are interned: a domain has only one with each
 * content, so that equality is identity and a table finds a field by address. The intern
 * table (Domain.strings) chains strings through their own `u.next`; it does not keep them
 * alive. The collector unlinks strings that it is about to reclaim. A string that is
 * found here while it is dead to the collector is brought back by gc_string_found before
 * any other code sees it.
 *
 * Strings lie all over the heap, so that examining one is a cache miss. Therefore each
 * link of a chain, the bucket included, has a filter of 16 bits above the address. Each
 * string from there on sets one of these bits, chosen by its hash. When a string is not
 * in the chain, most often because it is new, the bucket alone shows this in 15 of 16
 * cases. A link keeps the value that the bucket had before its string was put in front.
 * So the filter stays exact when the newest string is removed; when an older string is
 * removed, a bit too many may stay set.
 *
 * Each longer string is a separate object. It is hashed only when it is used as a key
 * (string_hash_long); until then `hash` holds the seed.
 *
 * The table grows by linear hashing (W. Litwin, "Linear hashing: a new tool for file and
 * table addressing", VLDB 1980): when strings outnumber buckets, each new string adds one
 * bucket, which gets half of the strings of an existing bucket. So a large table is never
 * rehashed as a whole. Buckets lie in segments beside the heap (heap_memory), released by
 * string_table_free. If there is no memory for a segment, the chains only get longer.
 *
 * Nothing here collects; only allocation raises.
 */
#include "str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain.h"
#include "gc.h"
#include "gc_inline.h"
#include "heap.h"
#include "number.h"
#include "stress.h"
#include "thread.h"
#include "throw.h"

#ifdef SAROS_STRESS /* buckets are added and merged all the time */
#define INTERN_MIN_BUCKETS 4
#define INTERN_IS_FULL(table) ((table)->used * 2 >= (table)->size)
#define INTERN_IS_SPARSE(table) ((table)->used < (table)->size)
#else
#define INTERN_MIN_BUCKETS 256
#define INTERN_IS_FULL(table) ((table)->used >= (table)->size)
#define INTERN_IS_SPARSE(table) ((table)->used < (table)->size / 4)
#endif
#define INTERN_MAX_BUCKETS (UINT32_C(1) << 30)
#define MAX_STRING_LEN ((size_t)PTRDIFF_MAX - 64)

/* ---- hashing ------------------------------------------------------------- */

/* Odd constants without structure. The multiplication folds the upper half of its result
 * back, so that each input bit reaches each bit of the result. */
#define HASH_FACTOR UINT64_C(0xd6e8feb86659fd93)
#define HASH_LENGTH UINT64_C(0x9e3779b97f4a7c15)

ALWAYS_INLINE uint64_t hash_mix(uint64_t x) {
  unsigned __int128 product = (unsigned __int128)x * HASH_FACTOR;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

ALWAYS_INLINE uint64_t load_64(const char *p) {
  uint64_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

ALWAYS_INLINE uint64_t load_32(const char *p) {
  uint32_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

/* Hashes eight bytes in each step. The last step overlaps the one before it instead of
 * handling a tail. */
ALWAYS_INLINE uint32_t hash_bytes(const char *s, size_t len, uint32_t seed) {
  uint64_t h = (seed + len) * HASH_LENGTH;
  if (len >= 8) {
    const char *last = s + len - 8;
    for (; s < last; s += 8) h = hash_mix(h ^ load_64(s));
    h = hash_mix(h ^ load_64(last));
  } else if (len >= 4) {
    h = hash_mix(h ^ (load_32(s) | load_32(s + len - 4) << 32));
  } else if (len > 0) {
    uint64_t first = (uint8_t)s[0], middle = (uint8_t)s[len >> 1], last = (uint8_t)s[len - 1];
    h = hash_mix(h ^ (first | middle << 8 | last << 16));
  }
  return (uint32_t)(h ^ h >> 32);
}

uint32_t string_hash_long(String *s) {
  if (!s->extra) {
    s->hash = hash_bytes(s->data, s->u.long_len, s->hash);
    s->extra = 1;
  }
  return s->hash;
}

/* ---- the intern table ---------------------------------------------------- */

#define SEGMENT_BYTES (STRING_SEGMENT * sizeof(StringLink))

static bool has_first_directory(const Domain *d) {
  return d->strings.segments == d->first_strings.directory;
}

static void free_directory(Domain *d) {
  StringTable *table = &d->strings;
  if (!has_first_directory(d))
    heap_memory_free(d, table->segments, table->directory * sizeof *table->segments);
}

static bool extend_directory(Domain *d) {
  StringTable *table = &d->strings;
  uint32_t room = table->directory * 2;
  StringLink **grown = heap_memory_try_resize(d, NULL, 0, room * sizeof *grown);
  if (grown == NULL) return false;
  memcpy(grown, table->segments, table->directory * sizeof *grown);
  free_directory(d);
  table->segments = grown;
  table->directory = room;
  return true;
}

static bool add_segment(Domain *d) {
  StringTable *table = &d->strings;
  if (stress_allocation_fails()) return false;
  uint32_t n = table->size >> STRING_SEGMENT_BITS;
  if (n >= table->directory && !extend_directory(d)) return false;
  table->segments[n] = heap_memory_zeroed(d, SEGMENT_BYTES);
  return table->segments[n] != NULL;
}

void string_table_init(Domain *d) {
  d->first_strings.directory[0] = d->first_strings.buckets;
  d->strings = (StringTable){.segments = d->first_strings.directory,
                             .directory = STRING_FEW_SEGMENTS,
                             .size = INTERN_MIN_BUCKETS,
                             .mask = INTERN_MIN_BUCKETS - 1};
}

void string_table_free(Domain *d) {
  StringTable *table = &d->strings;
  for (uint32_t i = STRING_SEGMENT; i < table->size; i += STRING_SEGMENT)
    heap_memory_free(d, table->segments[i >> STRING_SEGMENT_BITS], SEGMENT_BYTES);
  free_directory(d);
  *table = (StringTable){0};
}

void string_table_each_part(const StringTable *table, MemoryPart *part, void *context) {
  part(context, table->segments, table->directory * sizeof *table->segments);
  for (uint32_t i = 0; i < table->size; i += STRING_SEGMENT)
    part(context, table->segments[i >> STRING_SEGMENT_BITS], STRING_SEGMENT * sizeof(StringLink));
}

StringLink string_chain_reversed(StringLink chain) {
  StringLink reversed = 0;
  for (String *s; (s = string_at(chain)) != NULL;) {
    chain = s->u.next;
    reversed = string_chain(s, reversed);
  }
  return reversed;
}

/* Adds one bucket. Moves to it half of the strings of the bucket that it splits, with the
 * newest first. If the collector is sweeping the table, bucket by bucket upwards, the
 * strings that move are still ahead of it. */
static NOINLINE void split_bucket(Domain *d) {
  StringTable *table = &d->strings;
  /* out of memory: the chains only get longer */
  if ((table->size & (STRING_SEGMENT - 1)) == 0 && !add_segment(d)) return;
  uint32_t added = table->size++;
  if (added > table->mask) table->mask = table->mask * 2 + 1;
  StringLink *from = string_bucket(table, added & table->mask >> 1),
             *to = string_bucket(table, added);
  StringLink chain = string_chain_reversed(*from);
  *from = *to = 0;
  for (String *s; (s = string_at(chain)) != NULL;) {
    StringLink *bucket = (s->hash & table->mask) == added ? to : from;
    chain = s->u.next;
    *bucket = string_chain(s, *bucket);
  }
}

static void merge_last_bucket(Domain *d) {
  StringTable *table = &d->strings;
  uint32_t last = table->size - 1;
  StringLink *bucket = string_bucket(table, last & table->mask >> 1),
             chain = *string_bucket(table, last);
  for (String *s; (s = string_at(chain)) != NULL;) {
    chain = s->u.next;
    *bucket = string_chain(s, *bucket);
  }
  *string_bucket(table, last) = 0;
  if ((last & (STRING_SEGMENT - 1)) == 0)
    heap_memory_free(d, table->segments[last >> STRING_SEGMENT_BITS], SEGMENT_BYTES);
  table->size = last;
  if (last == table->mask / 2 + 1) table->mask >>= 1;
}

bool string_table_trim(Domain *d, uint32_t most) {
  StringTable *table = &d->strings;
  for (; table->size > INTERN_MIN_BUCKETS && INTERN_IS_SPARSE(table); most--) {
    if (most == 0) return false;
    merge_last_bucket(d);
  }
  return true;
}

/* Returns the size of a string object: data and its NUL, rounded up to the unit of the
 * heap. */
ALWAYS_INLINE size_t string_object_size(size_t len) {
  return (offsetof(String, data) + len + 1 + 7) & ~(size_t)7;
}

/* Compares the bytes, reading them as hash_bytes does. */
ALWAYS_INLINE bool same_bytes(const char *a, const char *b, size_t len) {
  if (len >= 8) {
    const char *last = a + len - 8;
    for (; a < last; a += 8, b += 8)
      if (load_64(a) != load_64(b)) return false;
    return load_64(last) == load_64(b + (last - a));
  }
  if (len >= 4) return load_32(a) == load_32(b) && load_32(a + len - 4) == load_32(b + len - 4);
  return len == 0 || (a[0] == b[0] && a[len >> 1] == b[len >> 1] && a[len - 1] == b[len - 1]);
}

ALWAYS_INLINE void copy_bytes(char *to, const char *from, size_t len) {
  if (len >= 8) {
    char *last = to + len - 8;
    uint64_t end = load_64(from + len - 8);
    for (; to < last; to += 8, from += 8) memcpy(to, from, 8);
    memcpy(last, &end, 8);
  } else if (len >= 4) {
    memcpy(to + len - 4, from + len - 4, 4);
    memcpy(to, from, 4);
  } else if (len > 0) {
    to[0] = from[0];
    to[len >> 1] = from[len >> 1];
    to[len - 1] = from[len - 1];
  }
}

ALWAYS_INLINE String *add_interned(lua_State *L, String *s, const char *bytes, size_t len,
                                   uint32_t hash, StringLink *bucket) {
  Domain *d = L->domain;
  object_init(L, (GCObject *)s, TYPE_SHORT_STRING);
  s->extra = 0;
  s->short_len = (uint8_t)len;
  s->hash = hash;
  copy_bytes(s->data, bytes, len);
  s->data[len] = '\0';
  *bucket = string_chain(s, *bucket);
  d->strings.used++;
  gc_note_interned(d, s);
  return s;
}

static NOINLINE String *intern_new_slow(lua_State *L, const char *bytes, size_t len,
                                        uint32_t hash) {
  String *s = heap_alloc(L, string_object_size(len), MEMPROF_STRING);
  StringTable *table = &L->domain->strings;
  if (INTERN_IS_FULL(table) && table->size < INTERN_MAX_BUCKETS) split_bucket(L->domain);
  return add_interned(L, s, bytes, len, hash,
                      string_bucket(table, string_bucket_index(table, hash)));
}

/* Makes the string if there is room for it without the slow path, otherwise returns NULL.
 * Calls no other function, which saves a third of the time. */
ALWAYS_INLINE String *intern_at_hand(lua_State *L, const char *bytes, size_t len, uint32_t hash,
                                     StringLink *bucket) {
  Domain *d = L->domain;
  size_t size = string_object_size(len);
  bool room = size <= (size_t)(d->heap.limit - d->heap.cursor) && !INTERN_IS_FULL(&d->strings) &&
              gc_interned_has_room(d);
  if (unlikely(!room)) return NULL;
  String *s = (String *)d->heap.cursor;
  d->heap.cursor += size;
  return add_interned(L, s, bytes, len, hash, bucket);
}

static NOINLINE String *intern_new(lua_State *L, const char *bytes, size_t len, uint32_t hash,
                                   StringLink *bucket) {
  String *s = intern_at_hand(L, bytes, len, hash, bucket);
  return likely(s != NULL) ? s : intern_new_slow(L, bytes, len, hash);
}

/* Returns the string in the chain, or NULL if it is not there. */
ALWAYS_INLINE String *find_in_chain(lua_State *L, const char *bytes, size_t len, uint32_t hash,
                                    StringLink link) {
  while (string_may_follow(link, hash)) {
    String *s = string_at(link);
    if (s->hash == hash && s->short_len == len && same_bytes(s->data, bytes, len)) {
      gc_string_found(L->domain, s);
      return s;
    }
    link = s->u.next;
  }
  return NULL;
}

static NOINLINE String *intern_in_chain(lua_State *L, const char *bytes, size_t len, uint32_t hash,
                                        StringLink *bucket) {
  String *s = find_in_chain(L, bytes, len, hash, *bucket);
  return s != NULL ? s : intern_new(L, bytes, len, hash, bucket);
}

static String *intern_string(lua_State *L, const char *bytes, size_t len) {
  Domain *d = L->domain;
  uint32_t hash = hash_bytes(bytes, len, d->seed);
  StringLink *bucket = string_bucket(&d->strings, string_bucket_index(&d->strings, hash));
  if (string_may_follow(*bucket, hash)) return intern_in_chain(L, bytes, len, hash, bucket);
  return intern_new(L, bytes, len, hash, bucket);
}

/* Makes most of the strings without a search, as their chains are empty. Two texts may be
 * the same. */
void string_make_known(lua_State *L, const KnownText *texts, size_t n, String **strings) {
  Domain *d = L->domain;
  for (size_t i = 0; i < n; i++) {
    const char *text = texts[i].text;
    size_t len = texts[i].len;
    uint32_t hash = hash_bytes(text, len, d->seed);
    StringLink *bucket = string_bucket(&d->strings, string_bucket_index(&d->strings, hash));
    bool is_new = !string_may_follow(*bucket, hash);
    String *s = is_new ? intern_at_hand(L, text, len, hash, bucket) : NULL;
    strings[i] = s != NULL ? s : intern_string(L, text, len);
    d->gc.new_interned.n = 0;
  }
}

String *string_try_short(lua_State *L, const char *bytes, size_t len) {
  StringTable *table = &L->domain->strings;
  uint32_t hash = hash_bytes(bytes, len, L->domain->seed);
  StringLink *bucket = string_bucket(table, string_bucket_index(table, hash));
  String *s = find_in_chain(L, bytes, len, hash, *bucket);
  return s != NULL ? s : intern_at_hand(L, bytes, len, hash, bucket);
}

/* ---- making strings ------------------------------------------------------ */

String *string_new_long(lua_State *L, size_t len) {
  if (unlikely(len > MAX_STRING_LEN)) error_run(L, "memory allocation error: block too big");
  size_t size = string_object_size(len);
  String *s = size < HEAP_LINED_LEAST ? heap_alloc(L, size, MEMPROF_STRING)
                                      : heap_alloc_on_line(L, size);
  object_init(L, (GCObject *)s, TYPE_LONG_STRING);
  s->extra = 0;
  s->short_len = 0;
  s->hash = L->domain->seed;
  s->u.long_len = len;
  s->data[len] = '\0';
  return s;
}

String *string_new(lua_State *L, const char *bytes, size_t len) {
  if (likely(len <= SHORT_STRING_MAX)) return intern_string(L, bytes, len);
  String *s = string_new_long(L, len);
  memcpy(s->data, bytes, len);
  return s;
}

String *string_from_c(lua_State *L, const char *text) { return string_new(L, text, strlen(text)); }

static String *push_string(lua_State *L, String *s) {
  set_string(L->top, s);
  L->top++;
  stack_check(L, 0); /* leaves a free slot for a later push without a check */
  return s;
}

/* The buffer for a text, and the length of the whole text, which may not fit. */
typedef struct Print {
  char *out;
  size_t size, len;
} Print;

static void print_bytes(Print *p, const char *s, size_t len) {
  if (p->len < p->size) memcpy(p->out + p->len, s, len < p->size - p->len ? len : p->size - p->len);
  p->len += len;
}

size_t string_print(char *out, size_t size, const char *fmt, va_list args) {
  Print p = {.out = out, .size = size - 1};
  for (const char *mark; (mark = strchr(fmt, '%')) != NULL; fmt = mark + 2) {
    print_bytes(&p, fmt, (size_t)(mark - fmt));
    switch (mark[1]) {
      case 's': {
        const char *s = va_arg(args, const char *);
        print_bytes(&p, s, strlen(s));
        break;
      }
      case 'd': {
        char text[NUMBER_TEXT_MAX];
        TValue number;
        set_int(&number, va_arg(args, int));
        print_bytes(&p, text, number_to_text(&number, text));
        break;
      }
      case 'c': {
        char c = (char)va_arg(args, int);
        print_bytes(&p, &c, 1);
        break;
      }
      default: rt_assert(mark[1] == '%'); print_bytes(&p, "%", 1);
    }
  }
  print_bytes(&p, fmt, strlen(fmt));
  out[p.len < size ? p.len : size - 1] = '\0';
  return p.len;
}

String *string_format(lua_State *L, const char *fmt, ...) {
  char buffer[256];
  va_list args;
  va_start(args, fmt);
  size_t len = string_print(buffer, sizeof buffer, fmt, args);
  va_end(args);
  if (len < sizeof buffer) return push_string(L, string_new(L, buffer, len));
  String *s = string_new_long(L, len);
  va_start(args, fmt);
  string_print(s->data, len + 1, fmt, args);
  va_end(args);
  return push_string(L, s);
}

/* ---- comparing ----------------------------------------------------------- */

bool string_equal(const String *a, const String *b) {
  if (a == b) return true;
  if (a->type != TYPE_LONG_STRING || b->type != TYPE_LONG_STRING) return false;
  return a->u.long_len == b->u.long_len && memcmp(a->data, b->data, a->u.long_len) == 0;
}

/* Compares strings whose first pieces are equal. strcoll stops at a zero, so this
 * function compares piece by piece; each piece ends at a zero or at the end of its
 * string. */
static NOINLINE int compare_behind_zeros(const String *a, const String *b) {
  const char *p = a->data, *p_end = p + string_len(a);
  const char *q = b->data, *q_end = q + string_len(b);
  for (int order = 0;; order = strcoll(p, q)) {
    if (order != 0) return order;
    p += strlen(p);
    q += strlen(q);
    if (q == q_end) return p != p_end;
    if (p == p_end) return -1;
    p++;
    q++;
  }
}

int string_compare(const String *a, const String *b) {
  int order = strcoll(a->data, b->data);
  return likely(order != 0) ? order : compare_behind_zeros(a, b);
}
