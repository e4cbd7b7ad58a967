/* SPDX-License-Identifier: MIT */
/* table.h: finds things by their keys: the hash table for everything outside shared
 * memory.
 *
 * An entry has the hash of a key, and a value: a pointer, or a number from 1 on. A free
 * entry has the value 0. A search begins at the entry that the hash selects and goes on
 * to the next ones (open addressing, at most half of the entries are used). `same` says
 * whether a value has the key; it is called only where all 64 bits of the hashes agree. A
 * dropped value leaves no mark: the values behind it move up.
 *
 * Keys come from files, and a file that could choose colliding keys would make each
 * search as long as the table. So hashes begin with evr_hash_seed(), which no file can
 * know. The order of the entries is arbitrary and differs between processes.
 *
 * An empty table is zeroed. Threads: one at a time for a table.
 */
#ifndef EVENTRING_TABLE_H
#define EVENTRING_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

struct evr_table_entry {
  uint64_t hash;
  uintptr_t value;
};

struct evr_table {
  struct evr_table_entry *entries;
  size_t room, used; /* room: 0 or a power of two */
};

/* Tells whether `value` has the key. `context` is the argument of the search. */
typedef bool evr_table_same(const void *context, uintptr_t value, const void *key);

/* ---- Hashes ------------------------------------------------------------------------ */

/* Returns the random value with which all hashes of this process begin. */
static inline uint64_t evr_hash_seed(void) {
  static uint64_t drawn; /* 0: not yet */
  uint64_t seed = __atomic_load_n(&drawn, __ATOMIC_RELAXED), none = 0;
  if (seed) return seed;
  if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
    seed = (uintptr_t)&seed; /* the address of the stack is random, too */
  seed |= 1;
  if (__atomic_compare_exchange_n(&drawn, &none, seed, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    return seed;
  return none;
}

/* Adds a word to a hash; evr_hash_text adds a text with its terminating 0. */
static inline uint64_t evr_hash_word(uint64_t hash, uint64_t word) {
  __extension__ typedef unsigned __int128 Wide;
  const Wide product = (Wide)(hash ^ word) * 0x9e3779b97f4a7c15;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}
static inline uint64_t evr_hash_text(uint64_t hash, const char *text) {
  do hash = evr_hash_word(hash, (unsigned char)*text);
  while (*text++);
  return hash;
}

/* ---- The table --------------------------------------------------------------------- */

/* Inlined, so that `same` is inlined, too. */
#define EVR_TABLE_INLINE static inline __attribute__((always_inline))

/* Returns the entry of a key, or the free entry where it would be. The table must have
   entries. */
EVR_TABLE_INLINE struct evr_table_entry *evr_table_entry(const struct evr_table *table,
                                                         uint64_t hash, evr_table_same *same,
                                                         const void *context, const void *key) {
  for (size_t at = hash;; at++) {
    struct evr_table_entry *entry = &table->entries[at & (table->room - 1)];
    if (!entry->value || (entry->hash == hash && same(context, entry->value, key))) return entry;
  }
}

/* Returns the value of a key, or 0 if the table does not have it. */
EVR_TABLE_INLINE uintptr_t evr_table_find(const struct evr_table *table, uint64_t hash,
                                          evr_table_same *same, const void *context,
                                          const void *key) {
  return table->room ? evr_table_entry(table, hash, same, context, key)->value : 0;
}

/* Makes room for one more value. Returns false, with nothing changed, when there is no
   memory. */
static inline bool evr_table_make_room(struct evr_table *table) {
  if (2 * table->used < table->room) return true;
  const size_t room = table->room ? 2 * table->room : 32;
  struct evr_table_entry *entries = calloc(room, sizeof *entries);
  if (!entries) return false;
  for (size_t i = 0; i < table->room; i++) {
    size_t at = table->entries[i].hash;
    if (!table->entries[i].value) continue;
    while (entries[at & (room - 1)].value) at++;
    entries[at & (room - 1)] = table->entries[i];
  }
  free(table->entries);
  table->entries = entries;
  table->room = room;
  return true;
}

/* Returns a pointer to the value of a key, or NULL when out of memory. When the value is
   0, the key is new, and the caller stores a value. The pointer is valid until the next
   call. */
EVR_TABLE_INLINE uintptr_t *evr_table_take(struct evr_table *table, uint64_t hash,
                                           evr_table_same *same, const void *context,
                                           const void *key) {
  if (2 * table->used >= table->room && !evr_table_make_room(table)) return NULL;
  struct evr_table_entry *entry = evr_table_entry(table, hash, same, context, key);
  if (!entry->value) {
    entry->hash = hash;
    table->used++;
  }
  return &entry->value;
}

/* Drops a value that the table has. */
static inline void evr_table_drop(struct evr_table *table, uint64_t hash, uintptr_t value) {
  const size_t mask = table->room - 1;
  struct evr_table_entry *entries = table->entries;
  size_t hole = hash & mask;
  while (entries[hole].value != value) hole = (hole + 1) & mask;
  for (size_t at = (hole + 1) & mask; entries[at].value; at = (at + 1) & mask) {
    /* a value stays if its search begins behind the hole */
    if (((at - entries[at].hash) & mask) < ((at - hole) & mask)) continue;
    entries[hole] = entries[at];
    hole = at;
  }
  entries[hole].value = 0;
  table->used--;
}

static inline void evr_table_free(struct evr_table *table) {
  free(table->entries);
  *table = (struct evr_table){0};
}

#endif /* EVENTRING_TABLE_H */
