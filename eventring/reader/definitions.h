/* SPDX-License-Identifier: MIT */
/* definitions.h: what events refer to: definitions, lives of domains, the conversion of
 * times. */
#ifndef EVENTRING_DEFINITIONS_H
#define EVENTRING_DEFINITIONS_H

#include "reader/decode.h"
#include "reader/last_stack.h"
#include "reader/record_scan.h"
#include "reader/stacks.h"

#pragma GCC visibility push(hidden)

struct evr_definition {
  struct eventring_def def; /* points into the texts below */
  /* name and definition of its events, for delivery.c; set by evr_definition_prepare */
  struct {
    const char *name;
    const struct eventring_def *def;
  } face;
  uint64_t tags;
  /* kind and length of its usual event (a begin without payload, else an event with a
     number); plain_tags is what such an event adds to the tags */
  uint32_t plain;
  uint64_t plain_tags;
  uint64_t since_ticks; /* ticks before which no event has this definition */
  char name[EVENTRING_MAX_NAME + 1];
  char unit[EVENTRING_MAX_UNIT + 1];
  char doc[EVENTRING_MAX_DOC + 1];
  char fields[EVENTRING_MAX_FIELDS + 1];
};
/* Fills in the members that delivery.c needs. */
void evr_definition_prepare(struct evr_definition *definition);
/* Tells whether the definition is of the kind that events of kind `kind` refer to. */
bool evr_definition_explains(const struct evr_definition *definition, unsigned kind);
/* Returns what decode.c needs of the definition. */
struct evr_batched evr_definition_batched(const struct evr_definition *definition);

enum { EVR_DEFINITION_CHUNK = 64 };

struct evr_life { /* the life of a domain */
  uint32_t slot, incarnation;
  int32_t tid;
  uint64_t start_ticks, stop_ticks; /* 0 if not known, or not yet */
  /* number of its record of kind PROCESSES; 0 for the process of the header */
  uint32_t process;
  char name[EVENTRING_MAX_DOMAIN_NAME + 1];
};

/* the error with which the process ends, as the process has noted it */
struct evr_ending {
  uint64_t ticks;
  uint32_t bytes, whole; /* bytes of the text, and of the whole text before it was cut */
  char text[EVENTRING_MAX_END_TEXT + 1];
};

struct evr_process { /* a record of kind PROCESSES, its texts made harmless */
  struct format_process record;
  char program[EVENTRING_MAX_PROGRAM + 1];
  char source[EVENTRING_MAX_SOURCE + 1];
  char *error; /* NULL if it noted no error */
};

struct evr_process_log { /* the log of a process that is part of this recording */
  struct evr_log log;
  struct format_switch entry[FORMAT_LOG_ENTRIES];
};

/* more than the blocks of their records have room for */
enum { EVR_MOST_PROCESSES = 16384 };
enum { EVR_MAX_LIVES = 16384 /* lives that are kept; older ones are dropped */ };

struct evr_definitions {
  struct evr_record_scan scan;
  uint32_t count;              /* definitions that were read */
  uint64_t newest_since_ticks; /* events from these ticks on may have any definition */
  uint64_t unknown;            /* records of types that this reader does not know */
  struct evr_definition *chunk[EVENTRING_MAX_EVENTS / EVR_DEFINITION_CHUNK];
  const struct evr_definition *definition[EVENTRING_MAX_EVENTS]; /* NULL: none */
  struct evr_batched batched[EVENTRING_MAX_EVENTS];
  struct evr_stacks stacks;
  struct evr_last_stack *last_stacks[EVENTRING_MAX_DOMAINS]; /* NULL: none */
  struct evr_ending ending;    /* the last ending; ticks 0 if there is none */
  /* lives in the order of their starts; a circle that begins at lives_first */
  struct evr_life *lives;
  uint32_t lives_count, lives_room, lives_first;
  struct evr_process *processes; /* process n is at index n - 1 */
  uint32_t processes_count, processes_room;
  /* the log of process n is at index n - 1; NULL if it has none */
  struct evr_process_log **logs;
  uint32_t logs_count;
};

/* Reads again what events refer to: the records and the control log. To be called after
   the events were seen, because the records that they refer to were written before the
   events. */
int evr_definitions_catch_up(struct evr_definitions *definitions, struct evr_metadata *meta,
                             struct eventring_error *error);
void evr_definitions_free(struct evr_definitions *definitions);
/* Returns the definition of an id, or NULL if it is not defined or its record is
   damaged. */
static inline const struct eventring_def *
evr_definition_of(const struct evr_definitions *definitions, unsigned id) {
  const struct evr_definition *d =
      id < EVENTRING_MAX_EVENTS ? definitions->definition[id] : NULL;
  return d ? &d->def : NULL;
}
/* Returns the log of switches of a process, for process 0 the log of the control page.
   Returns an empty log for a process that has none. */
const struct evr_log *evr_definitions_log(const struct evr_definitions *definitions,
                                          const struct evr_metadata *meta, uint32_t process);
/* Tells whether a record of `words` words is valid for its kind and type. Records of
   known types that this reader does not evaluate further are checked for their form
   only. */
bool evr_record_is_valid(unsigned kind, const uint64_t *record, unsigned words);
/* Returns the life of a domain, or NULL if it is not known or was dropped. */
const struct evr_life *evr_definitions_life(const struct evr_definitions *definitions,
                                            unsigned slot, uint32_t incarnation);

#pragma GCC visibility pop

#endif /* EVENTRING_DEFINITIONS_H */
