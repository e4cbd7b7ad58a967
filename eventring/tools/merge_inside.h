/* SPDX-License-Identifier: MIT */
/* merge_inside.h: what the parts of a merge share (merge.h has the design).
 *
 *   merge.c         the order of things; times; the output
 *   merge_plan.c    what the recordings are; slots; names of domains
 *   merge_events.c  the events of one recording, with other numbers
 *   merge_memory.c  its functions and stacks, heap profiles and profiles of calls */
#ifndef EVENTRING_TOOL_MERGE_INSIDE_H
#define EVENTRING_TOOL_MERGE_INSIDE_H

#include <sys/stat.h>

#include "eventring/memory.h"
#include "follow.h"
#include "merge.h"
#include "new_file.h"

struct merge_slot { /* of a recording */
  bool used;
  uint64_t first_ns, last_ns; /* on the recording's own clock; UINT64_MAX: still in use */
  uint32_t newest;  /* incarnation */
  bool placed;
  uint8_t to;       /* slot of the merged recording */
  uint32_t before;  /* incarnations of that slot before those of this one */
};

struct merge_source { /* a recording */
  const char *name;  /* as given */
  struct eventring_info info;
  dev_t device;
  ino_t inode;
  unsigned processes;     /* that it has records of; 0: one, which info describes */
  unsigned first_process; /* number of the first in the merged recording, less 1 */
  unsigned twin;          /* 1, 2, ... among those of the same program and pid; 0: the only */
  int64_t shift_ns;       /* added to its times */
  uint64_t end_ns;        /* of the process, on its own clock, as far as is known; 0: it lives */
  struct merge_slot slot[EVENTRING_MAX_DOMAINS];
};

struct merge_target { /* a slot of the merged recording */
  uint64_t busy_until; /* on its clock */
  uint32_t incarnations; /* that were given away; 0: the slot was never used */
};

struct merge {
  const char *output;
  int fd;
  struct new_file file;
  eventring_encoder *encoder;
  struct merge_source **sources; /* in the order of their starts, once times are set */
  size_t count;
  struct merge_target target[EVENTRING_MAX_DOMAINS];
  uint64_t start_ns;       /* of the merged recording */
  int64_t start_wall_ns;
  const struct merge_options *options;
  bool keeps_names;        /* there is one process in all */
  bool has_ring[EVENTRING_RINGS]; /* the name of this ring is known */
  char ring[EVENTRING_RINGS][EVENTRING_MAX_CLASS_NAME + 1];
  uint64_t classes;        /* that were recorded, as the merged recording numbers them */
  uint64_t classes_off;    /* that a source has, and has off */
  struct eventring_info end; /* what it says of its end */
  struct merge_result *result;
};

struct merge_memory { /* numbers of a recording in the merged one */
  uint32_t *function_to, *stack_to; /* plus 1; 0: not yet. NULL: of none */
  uint32_t functions, stacks;       /* room */
  bool has_names;                   /* the following are known */
  uint8_t kind_to[64], origin_to[16];
};

struct translation { /* of a recording */
  struct merge *merge;
  struct merge_source *source;
  eventring_cursor *cursor;
  struct eventring_error error; /* of the encoder; code 0: none */
  bool stopped;                 /* after a message */
  uint8_t class_to[EVENTRING_MAX_CLASSES];
  uint16_t known[EVENTRING_MAX_EVENTS];   /* ids of events with a definition, */
  uint16_t unknown[EVENTRING_MAX_EVENTS]; /* and of those without; NO_ID: none came yet */
  bool taken[EVENTRING_MAX_EVENTS];       /* ids of the merged recording */
  struct merge_memory memory;
};

/* A time of a source on the merged clock. */
uint64_t merge_time(const struct merge *merge, const struct merge_source *source, uint64_t ns);

/* Asks a recording what it is. -1, or an exit status after a message. */
int merge_survey(struct merge *merge, struct merge_source *source);
/* Notes which processes cannot be told apart by program and pid. */
void merge_find_twins(struct merge *merge);
/* Gives a slot of a source a place. False, after a message: there is none. */
bool merge_place(struct merge *merge, struct merge_source *source, unsigned slot);
/* The name of a domain in the merged recording. */
void merge_domain_name(const struct merge *merge, const struct merge_source *source,
                       const char *program, pid_t pid, const char *name,
                       char out[EVENTRING_MAX_DOMAIN_NAME + 1]);

/* The id of a definition of the source; negative: t->error. */
int merge_id(struct translation *t, const struct eventring_def *def);
/* Has the slot of the source a place? False, after a message: there is none. */
bool merge_slot_is_placed(struct translation *t, unsigned number);
/* The id of a stack of the source; 0: not known. May set t->error. */
uint32_t merge_stack(struct translation *t, uint64_t id);
/* A sample of an allocation, in `words`. May set t->error. */
void merge_sample(struct translation *t, const struct eventring_event *from,
                  struct eventring_event *to, uint64_t words[EVENTRING_SAMPLE_WORDS]);
/* Encodes heap profiles and profiles of calls, when all events are read. May set t->error. */
void merge_profiles(struct translation *t);
void merge_memory_free(struct translation *t);

/* Reads a recording and encodes all that it has. -1, or an exit status after a message. */
int merge_encode(struct merge *merge, struct merge_source *source);

#endif /* EVENTRING_TOOL_MERGE_INSIDE_H */
