/* SPDX-License-Identifier: MIT */
/* cursor.h: all rings of a file, for the functions that open, poll and inspect a cursor.
 *
 * The files of the reader, from the bytes up:
 *
 *   window.c       a file mapped for reading
 *   source.c       bytes of a file, or of memory that is lent
 *   block.c        one block, copied and checked
 *   metadata.c     what the file says of itself: header, status, domains, control page;
 *                  all checked
 *   decode.c       the begins and ends of a block, as spans in arrays
 *   ahead.c        a thread that reads blocks, and decodes them, ahead
 *   block_cursor.c one ring: from block to block
 *   definitions.c  what events refer to
 *   ring_reader.c  one ring: losses, open spans, limits
 *   delivery.c     one ring: the events of a block, handed to the callbacks
 *   batch.c        one ring: spans, handed over many at a time
 *   backwards.c    one ring: from its newest event to its oldest
 *   cursor.c       all rings: opening, polling, merging, closing
 *   end_check.c    what must hold of a file that nobody writes into any more
 *   wait.c         sleeping until there is something to poll
 *
 * On top of these are inspect.c (what a cursor knows), snapshot.c (copies), locate.c
 * (finding files), remote.c (control of recording processes) and remove.c (dead files).
 *
 * A file is hostile input. It is read through a guarded mapping or with pread, so that a
 * file cut short is an error and not SIGBUS. Everything is first copied, then checked,
 * then used: nothing that the owner of the file may change is loaded twice. Loops are
 * bounded by the geometry that the check of the header has limited, and by a budget for
 * damaged blocks in each poll. */
#ifndef EVENTRING_CURSOR_H
#define EVENTRING_CURSOR_H

#include "reader/delivery.h"

#pragma GCC visibility push(hidden)

enum { EVR_ALL_RINGS = EVENTRING_MAX_DOMAINS * EVENTRING_RINGS };

/* The words that a poll compares first for a ring that is mapped and had nothing to
   deliver in the last poll. For any other ring both pointers refer to a word that always
   means news. */
struct evr_watch {
  const uint64_t *word; /* 0 until an event is added */
  const uint64_t *head_now;
  uint64_t head;
};

/* When wait.c checks for news. */
struct evr_pace {
  uint64_t ns;        /* ns from one check to the next; 0 if not set yet */
  uint64_t looked;    /* time of the last check, in ns */
  uint64_t delivered; /* events that the last poll delivered */
  bool unfinished;    /* the last poll ended before it had delivered all */
};

struct eventring_cursor {
  struct evr_metadata meta;
  struct evr_definitions definitions;
  unsigned flags;
  enum eventring_order order;
  uint64_t settled_ns; /* see eventring_cursor_settled */
  /* pid by which the recording was found; 0 if it was opened by path, or is the process's
     own */
  pid_t process;
  bool busy;     /* a poll is in progress */
  bool finished;
  enum eventring_poll_end poll_end; /* how the last poll ended */
  bool begun;    /* the cursor has been polled */
  int (*switched)(void *context, const struct eventring_switch *change); /* or NULL */
  void *switched_context;
  int (*batch)(void *context, const struct eventring_batch *batch); /* or NULL */
  void *batch_context;
  unsigned batch_contents;
  struct evr_batch_room *batch_room; /* NULL if batches were never asked for */
  bool back_begun; /* reading backwards has begun */
  unsigned rings; /* bits of the rings that are read; 0 means all rings */
  /* how many entries of meta.made have been given a reader, or are not to get one */
  unsigned taken;
  uint64_t seek_ns; /* time at which reading begins, in ns; 0 for the oldest block */
  bool end_checked; /* the file was checked once more after the end */
  /* the readers, by slot * EVENTRING_RINGS + ring; NULL if there is none yet */
  struct evr_ring_reader *reader[EVR_ALL_RINGS];
  /* indices in `reader` of the readers that exist, ascending */
  uint16_t made[EVR_ALL_RINGS];
  unsigned made_count;
  /* the watches, in the order of `made`; a poll of an idle process reads little else */
  struct evr_watch watch[EVR_ALL_RINGS];
  /* the readers that have something to deliver in this poll */
  struct evr_ring_reader *active[EVR_ALL_RINGS];
  unsigned actives;
  uint64_t opened_head[EVENTRING_MAX_DOMAINS][EVENTRING_RINGS];
  struct evr_pace pace;
  struct eventring_error error;
};
/* Tells a reader, and its thread, whether to make batches and with which contents. */
void evr_cursor_set_batches(const eventring_cursor *cursor, struct evr_ring_reader *reader);
/* Tells whether a poll has something to do: events, damage to report, the producer's end.
   Checks the rings as a poll does, without callbacks. */
bool evr_cursor_has_news(eventring_cursor *cursor);
/* Reads what a cursor that reads backwards needs to know which spans are open at the
   end. */
int evr_cursor_prepare_backwards(eventring_cursor *cursor);
/* Notes damage in cursor->meta. evr_check_start checks what was read at the opening;
   evr_check_end checks all that must hold once everything has been read and nobody writes
   into the file any more. */
void evr_check_start(eventring_cursor *cursor);
void evr_check_end(eventring_cursor *cursor);
/* Checks a file that nobody writes into any more, once, after a poll has delivered
   everything or a saver has copied everything: its size, evr_check_end, and the blocks
   held. */
void evr_cursor_check_end(eventring_cursor *cursor);
/* Notes damage of heap profiles in a file that nobody writes into any more. */
void evr_check_heaps(eventring_cursor *cursor);
/* Notes damage in the records of what memory was used for, in a file that nobody writes
   into any more (footprints.c). */
void evr_check_footprints(eventring_cursor *cursor);
/* Opens a cursor on a source, which it owns from here on (also on failure). */
int evr_cursor_open(eventring_cursor **cursor, struct evr_source source,
                    const char *path, unsigned flags,
                    struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_CURSOR_H */
