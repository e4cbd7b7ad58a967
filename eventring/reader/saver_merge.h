/* SPDX-License-Identifier: MIT */
/* saver_merge.h: makes a saved recording a part of a file that holds several recordings.
 *
 *   saver_merge.c         the file: opening, slots of domains, processes, the front
 *   saver_merge_events.c  numbers and times in blocks of events; definitions
 *   saver_merge_memory.c  functions and stacks; heap profiles and other blocks of records
 *   saver_merge_records.c blocks of records that are made here
 *
 * Blocks of events keep their form: each word is rewritten in place. Slots, incarnations,
 * ids of definitions, stacks and links get other numbers; ticks become nanoseconds of the
 * merged file, so that readers need one clock. A nanosecond is usually longer than a
 * tick, so a time that fits in 41 bits relative to a base still fits. If the ticks of a
 * clock are longer than a nanosecond, all times of the file are in units of 2^coarse
 * nanoseconds, which are at least as long as these ticks. Each process keeps its own log
 * of switches: the header of a block says which one applies.
 *
 * The record of a number is written when the number is first needed. Equal definitions,
 * functions and stacks of several recordings become one. Records are collected in blocks
 * that are kept in memory until they are full. At the end of each part, a copy of each
 * block that is being filled is put where the whole block will lie.
 *
 * Where a slot is used again for another recording, its rings continue: the sequences of
 * their blocks go on, and so do their counts of events, which include missing events. */
#ifndef EVENTRING_SAVER_MERGE_H
#define EVENTRING_SAVER_MERGE_H

#include "format/table.h"
#include "reader/saver.h"

#pragma GCC visibility push(hidden)

struct merge_records { /* the blocks of records of one kind */
  /* sequence of the block that is being filled; 0 if there is none yet */
  uint64_t sequence;
  uint64_t records, dropped;
  uint64_t most; /* the greatest sequence of the blocks that are copied whole */
  /* added to the sequences of blocks that are copied whole in the present part */
  uint64_t base;
  uint64_t block;      /* block of the file that is being filled */
  uint32_t at;         /* how many of its words are used */
  /* the block that is being filled has changed since it was last put into the file */
  bool changed;
  uint64_t words[FORMAT_BLOCK_WORDS];
};

/* a set of keys made of words; keys are numbered from 1 as they are added */
struct merge_set {
  uint64_t *words;   /* the words of all keys; before each key, how many it has */
  uint32_t *start;   /* where each key begins in `words`; key n is at index n - 1 */
  struct evr_table numbers;
  uint32_t used, room, count, start_room;
};

struct merge_definition {
  /* hash of the properties that must agree besides kind, class and name */
  uint64_t meaning;
  uint16_t id;
};

struct merge_slot { /* a slot of the merged file */
  uint64_t busy_until;   /* time until which it is in use, in ns of the merged file */
  /* number of incarnations given to domains; 0 if the slot was never used */
  uint32_t incarnations;
};

struct merge_ring { uint64_t head, events; };

struct merge_block { /* a block that waits to be put into the file */
  uint64_t block;
  uint64_t words[FORMAT_BLOCK_WORDS];
};

struct saver_merge { /* the merged file */
  struct format_header header;
  bool has_ring[EVENTRING_RINGS]; /* the name of this ring was taken */
  /* bits of the classes that were recorded; bits of the classes that some part has
     switched off */
  uint64_t classes, classes_off;
  struct merge_slot slot[EVENTRING_MAX_DOMAINS];
  struct merge_ring ring[EVENTRING_MAX_DOMAINS][EVENTRING_RINGS];
  struct format_domain domain[EVENTRING_MAX_DOMAINS];
  /* how many slots, numbers of processes and numbers of heap profiles were given away */
  uint32_t slots, processes, heaps;
  uint32_t heap_base; /* added to the numbers of heap profiles of this part */
  uint64_t end_ns;                  /* the latest end of all parts */
  /* how the recording ended; set if there is only one part */
  uint32_t end_reason, end_detail;
  /* events, definitions and lives that the producers dropped */
  uint64_t dropped[FORMAT_KINDS];
  uint32_t unrecorded;              /* domains that the producers did not record */
  struct merge_records *records[FORMAT_KINDS];
  struct merge_set definition_keys, functions, frames;
  /* definition n of definition_keys is at index n - 1 */
  struct merge_definition definitions[EVENTRING_MAX_EVENTS];
  uint32_t ids;        /* ids 0 .. ids-1 are in use */
  char kind[FORMAT_MEMORY_KINDS][EVENTRING_MAX_CLASS_NAME + 1];
  char origin[FORMAT_MEMORY_ORIGINS][EVENTRING_MAX_CLASS_NAME + 1];
  struct merge_block *waiting;
  uint32_t waiting_count, waiting_room, waiting_at;
};

enum merge_payload { /* what is to be done with the payload of an event */
  MERGE_VERBATIM, MERGE_ID, MERGE_INCARNATION, MERGE_STACK, MERGE_SAMPLE
};

struct saver_part { /* the recording that is being saved, as a part of the merged file */
  /* new id, plus 1, of each id that has a definition (`known`) and of each that has none
     (`unknown`); 0 if no event with it has come yet */
  uint16_t known[EVENTRING_MAX_EVENTS];
  uint16_t unknown[EVENTRING_MAX_EVENTS];
  /* enum merge_payload, for the events with a definition */
  uint8_t payload[EVENTRING_MAX_EVENTS];
  bool taken[EVENTRING_MAX_EVENTS];       /* ids of the merged file that this part has */
  uint8_t class_to[EVENTRING_MAX_CLASSES];
  uint8_t kind_to[FORMAT_MEMORY_KINDS], origin_to[FORMAT_MEMORY_ORIGINS];
  uint32_t *function_to, *stack_to; /* new numbers plus 1; 0 if not given yet */
  uint32_t functions, stacks;       /* length of these lists */
  uint32_t first_process;           /* number of its first process, less 1 */
  uint64_t end_ns; /* when the process ended, on its own clock; 0 if it lives */
  struct {
    bool used;
    uint8_t to;
    /* incarnations of slot `to` before the first incarnation of this slot */
    uint32_t before;
    uint64_t last_ns;
  } slot[EVENTRING_MAX_DOMAINS];
  bool ended; /* the processes and domains of the part have been written */
  struct eventring_error failure; /* code 0 if nothing has failed */
};

/* Converts a time of the recording to ticks, or to nanoseconds, of the merged file. */
uint64_t merge_ticks(eventring_saver *saver, uint64_t ticks);
uint64_t merge_ns(const eventring_saver *saver, uint64_t ns);
/* Translates the domain of a record. Returns false if the domain has no number. */
bool merge_domain(const eventring_saver *saver, uint32_t *slot, uint32_t *incarnation);
/* Returns the number that a process of the recording has in the merged file; 0 if it is
   not known. */
uint32_t merge_process(const eventring_saver *saver, uint32_t process);
/* Notes a failure, after which the file is of no use. */
void merge_fail(eventring_saver *saver, int code, const char *text);

/* Returns the id in the merged file of an id of the recording. `is_known` says whether
   that id has a definition. */
unsigned merge_id(eventring_saver *saver, unsigned id, bool is_known);
/* Defines the library's own events. */
bool merge_define_builtins(eventring_saver *saver);
/* Returns the number, in the merged file, of a stack of the recording, or 0 if it is not
   known. */
uint32_t merge_stack(eventring_saver *saver, uint32_t id);
/* Returns the id of the definition of a span, plus 1, or 0 if it has none. */
uint16_t merge_span(eventring_saver *saver, uint16_t span);
/* Gives the kinds and origins of memory of the recording their numbers. */
void merge_memory_names(eventring_saver *saver);

/* Returns zeroed room for a record of `words` words; the caller writes its first word
   with format_record. If there is no room, counts the record as dropped and returns NULL.
   Also returns NULL when out of memory. */
uint64_t *merge_record(eventring_saver *saver, enum format_kind kind, unsigned words);
/* Returns the number of blocks that a kind may have. For lives this is more than in the
   recording of a process, which uses the oldest block of lives again. */
uint64_t merge_budget(enum format_kind kind);
/* Returns the blocks of records of a kind, or NULL when out of memory. */
struct merge_records *merge_records(eventring_saver *saver, enum format_kind kind);
/* Returns the number of a key, and sets *is_new if it was added. Returns 0 when out of
   memory. */
uint32_t merge_number(eventring_saver *saver, struct merge_set *set, const uint64_t *key,
                      uint32_t words, bool *is_new);
/* Puts a block of `end` words into the file, as soon as there is room in the output. */
void merge_put(eventring_saver *saver, const uint64_t *words, uint32_t end, uint64_t block);
/* Puts into the file copies of the blocks that are being filled. */
void merge_put_unfinished(eventring_saver *saver);
void merge_free(struct saver_merge *merge);

#pragma GCC visibility pop

#endif /* EVENTRING_SAVER_MERGE_H */
