/* SPDX-License-Identifier: MIT */
/* saver_merge.h: what is saved of a recording becomes a part of a file of several.
 *
 *   saver_merge.c         the file: opening, places of domains, processes, the front
 *   saver_merge_events.c  numbers and times in blocks of events; definitions
 *   saver_merge_memory.c  functions and stacks; heap profiles and other blocks of records
 *   saver_merge_records.c blocks of records that are made here
 *
 * Blocks of events stay what they are: each word is rewritten where it stands. Another number
 * takes the place of a slot, an incarnation, the id of a definition, a stack, a link; and ticks
 * become nanoseconds of the merged file, so that readers need one clock. Nanoseconds are smaller
 * numbers than ticks, so that what is relative to a base in 41 bits stays so; of a clock that is
 * slower, all times of the file are counted in units of 2^coarse nanoseconds, which are as long as
 * its ticks. The log of switches stays that of a process: the header of a block says whose it is.
 *
 * What a number stands for is written when it is first needed: definitions, functions and stacks
 * that agree are one, whatever recording they came of. They are put together in blocks that are
 * kept here until they are full; at the end of each part, a copy of those that are being filled is
 * put where the whole one will lie.
 *
 * Where a slot is used again for another recording, a ring goes on: its sequences and its count of
 * events, with those that are missing. */
#ifndef EVENTRING_SAVER_MERGE_H
#define EVENTRING_SAVER_MERGE_H

#include "format/table.h"
#include "reader/saver.h"

#pragma GCC visibility push(hidden)

struct merge_records { /* of one kind */
  uint64_t sequence;   /* of the block that is being filled; 0: none yet */
  uint64_t records, dropped;
  uint64_t most;       /* the greatest sequence of blocks that are copied whole, */
  uint64_t base;       /* and what is added to those of the present part */
  uint64_t place;      /* of that block, in the file */
  uint32_t at;         /* its words */
  bool changed;        /* since it was put into the file */
  uint64_t words[FORMAT_BLOCK_WORDS];
};

struct merge_set { /* of keys, which are words; the first one that was added has number 1 */
  uint64_t *words;   /* of all keys; each is preceded by how many it has */
  uint32_t *start;   /* where each begins, by number */
  struct evr_table numbers;
  uint32_t used, room, count, start_room;
};

struct merge_definition {
  uint64_t meaning; /* what must agree besides kind, class and name */
  uint16_t id;
};

struct merge_slot { /* of the merged file */
  uint64_t busy_until;   /* on its clock, in ns */
  uint32_t incarnations; /* that were given away; 0: it was never used */
};

struct merge_ring { uint64_t head, events; };

struct merge_block { /* that waits to be put into the file */
  uint64_t place;
  uint64_t words[FORMAT_BLOCK_WORDS];
};

struct saver_merge { /* the merged file */
  struct format_header header;
  bool has_ring[EVENTRING_RINGS]; /* the name of this ring is known */
  uint64_t classes, classes_off;  /* that were recorded; that a part has, and has off */
  struct merge_slot slot[EVENTRING_MAX_DOMAINS];
  struct merge_ring ring[EVENTRING_MAX_DOMAINS][EVENTRING_RINGS];
  struct format_domain domain[EVENTRING_MAX_DOMAINS];
  uint32_t slots, processes, heaps; /* given away */
  uint32_t heap_base;               /* added to the numbers of heap profiles of the part */
  uint64_t end_ns;                  /* the latest of all parts */
  uint32_t end_reason, end_detail;  /* of one that is alone */
  uint64_t dropped[FORMAT_KINDS];   /* by the producers: events, definitions, lives */
  uint32_t unrecorded;              /* domains, by the producers */
  struct merge_records *records[FORMAT_KINDS];
  struct merge_set definition_keys, functions, frames;
  struct merge_definition definitions[EVENTRING_MAX_EVENTS]; /* by number in their set, less 1 */
  uint32_t ids;        /* that are taken: 0 .. ids-1 */
  char kind[FORMAT_MEMORY_KINDS][EVENTRING_MAX_CLASS_NAME + 1];
  char origin[FORMAT_MEMORY_ORIGINS][EVENTRING_MAX_CLASS_NAME + 1];
  struct merge_block *waiting;
  uint32_t waiting_count, waiting_room, waiting_at;
};

enum merge_payload { /* what is to be done with that of an event */
  MERGE_VERBATIM, MERGE_ID, MERGE_INCARNATION, MERGE_STACK, MERGE_SAMPLE
};

struct saver_part { /* the recording that is being saved, in the merged file */
  uint16_t known[EVENTRING_MAX_EVENTS];   /* ids of events with a definition, */
  uint16_t unknown[EVENTRING_MAX_EVENTS]; /* and of those without; plus 1; 0: none came yet */
  uint8_t payload[EVENTRING_MAX_EVENTS];  /* enum merge_payload, of those that are known */
  bool taken[EVENTRING_MAX_EVENTS];       /* ids of the merged file */
  uint8_t class_to[EVENTRING_MAX_CLASSES];
  uint8_t kind_to[FORMAT_MEMORY_KINDS], origin_to[FORMAT_MEMORY_ORIGINS];
  uint32_t *function_to, *stack_to; /* plus 1; 0: not yet */
  uint32_t functions, stacks;       /* room */
  uint32_t first_process;           /* number of its first process, less 1 */
  uint64_t end_ns;                  /* of the process, on its clock; 0: it lives */
  struct {
    bool used;
    uint8_t to;
    uint32_t before; /* incarnations of that slot before those of this one */
    uint64_t last_ns;
  } slot[EVENTRING_MAX_DOMAINS];
  bool ended; /* its processes and domains were written */
  struct eventring_error failure; /* code 0: none */
};

/* A time of the recording in ticks of the merged file, and in its nanoseconds. */
uint64_t merge_ticks(eventring_saver *saver, uint64_t ticks);
uint64_t merge_ns(const eventring_saver *saver, uint64_t ns);
/* Translates the domain of a record. False: it has no number. */
bool merge_domain(const eventring_saver *saver, uint32_t *slot, uint32_t *incarnation);
/* Number of a process of the recording. */
uint32_t merge_process(const eventring_saver *saver, uint32_t process);
/* Remembers a failure: the file is of no use. */
void merge_fail(eventring_saver *saver, int code, const char *text);

/* Returns the id of a definition of the recording, which may have none. */
unsigned merge_id(eventring_saver *saver, unsigned id, bool is_known);
/* Defines the library's own events. */
bool merge_define_builtins(eventring_saver *saver);
/* Of a stack of the recording; 0: not known. */
uint32_t merge_stack(eventring_saver *saver, uint32_t id);
/* Of the definition of a span, plus 1; 0: none. */
uint16_t merge_span(eventring_saver *saver, uint16_t span);
/* Gives the kinds and origins of memory of the recording their numbers. */
void merge_memory_names(eventring_saver *saver);

/* Room for a record of so many words, zeroed; the first one is to be made by format_record. NULL:
   there is none, which was counted. */
uint64_t *merge_record(eventring_saver *saver, enum format_kind kind, unsigned words);
/* Blocks that a kind may have: in a stream, more of those that come and go. */
uint64_t merge_budget(enum format_kind kind);
/* What is kept of a kind; NULL: no memory. */
struct merge_records *merge_records(eventring_saver *saver, enum format_kind kind);
/* The number of a key; *is_new: it was added. 0: no memory. */
uint32_t merge_number(eventring_saver *saver, struct merge_set *set, const uint64_t *key,
                      uint32_t words, bool *is_new);
/* Puts a block of `end` words into the file, when there is room in the output. */
void merge_put(eventring_saver *saver, const uint64_t *words, uint32_t end, uint64_t place);
/* Copies of the blocks that are being filled are to be put into the file. */
void merge_put_unfinished(eventring_saver *saver);
void merge_free(struct saver_merge *merge);

#pragma GCC visibility pop

#endif /* EVENTRING_SAVER_MERGE_H */
