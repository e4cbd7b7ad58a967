/* reader.h: the consuming side, inside libeventring.
 *
 *   window.c     a file mapped for reading
 *   source.c     bytes and blocks of a file or of this process's own mapping
 *   metadata.c      what the file says of itself: header, status, catalogue,
 *                domains, control page; all checked
 *   span_stack.c  the spans open in one ring, as the reader knows them
 *   ring_reader.c       one ring: its blocks one after the other, losses, limits
 *   delivery.c    one ring: the events of a block, handed to the callbacks
 *   cursor.c     all rings: opening, polling, merging, closing
 *   locate.c     files by pid, by path, by directory
 *   inspect.c    answers to eventring_cursor_info and the like
 *   snapshot.c   copies of a recording
 *   remote.c     control of the process that records
 *
 * A file is hostile input. It is read through a guarded mapping or with pread, so
 * that a file cut short is an error and not SIGBUS; whatever is read is copied first,
 * then checked, then used (nothing is loaded twice that its owner may change in
 * between); loops are bounded by the geometry that the header check has limited, and
 * by a budget for damaged blocks in each poll.
 */
#ifndef EVENTRING_READER_H
#define EVENTRING_READER_H

#include <limits.h>

#include "eventring/probe.h"
#include "format/atomics.h"
#include "format/clock.h"
#include "format/control.h"
#include "format/error.h"
#include "format/guard.h"
#include "format/memory.h"
#include "format/process.h"

#pragma GCC visibility push(hidden)

/* Keeps the compiler from using what it knows of a value, as that it is equal to
   another one. */
static inline void evr_forget(uint32_t *value) { __asm__("" : "+r"(*value)); }

/* ---- window.c ----------------------------------------------------------------- */

struct evr_window {
  uint8_t *map; /* read-only; NULL: the file is not mapped */
  uint64_t bytes;
};
/* Maps a file, up to `bytes`, if that is safe. */
void evr_window_open(struct evr_window *window, int fd, uint64_t bytes);
void evr_window_close(struct evr_window *window);
/* Is it a mapping of the file (still)? */
static inline bool evr_window_is_whole(const struct evr_window *window) {
  return window->map &&
         __atomic_load_n((const uint64_t *)window->map, __ATOMIC_RELAXED) != 0;
}

/* ---- source.c ----------------------------------------------------------------- */

struct evr_source {
  int fd;                   /* of the file, or -1 */
  struct evr_memory memory; /* of a recording of this process, if it is lent to us */
  struct evr_window window; /* on the file */
};

/* Is it memory of this process, and no file? */
static inline bool evr_source_lent(const struct evr_source *source) {
  return source->memory.words_at != NULL;
}

/* Is what it reads mapped? A window may be lost at any moment: to be asked again after
   copying. */
static inline bool evr_source_mapped(const struct evr_source *source) {
  return evr_source_lent(source) || evr_window_is_whole(&source->window);
}

void evr_source_close(struct evr_source *source);
/* Descriptor of the file, which stays the source's; -1: there is none. */
int evr_source_descriptor(const struct evr_source *source);
/* Copies `size` bytes (a multiple of 8) at `offset` (aligned): 0, E_TRUNCATED or
   E_SYSTEM. */
int evr_source_read(const struct evr_source *source, uint64_t offset, void *to,
                    size_t size, struct eventring_error *error);
/* The heads of the rings of the first `count` slots. */
int evr_source_heads(const struct evr_source *source, unsigned count,
                     uint64_t (*heads)[EVENTRING_RINGS], struct eventring_error *error);

enum evr_read {
  EVR_READ_OK,
  EVR_READ_GONE,    /* another block is, or is being written, in its place */
  EVR_READ_CORRUPT, /* this block, but not a valid one */
  EVR_READ_FAILED   /* *error says why */
};

struct evr_block {
  uint64_t words[FORMAT_BLOCK_WORDS]; /* header included */
  uint32_t have;                      /* words committed; the rest is undefined */
};
static inline const struct format_block *
evr_block_header(const struct evr_block *block) {
  return (const struct format_block *)block->words;
}
static inline uint32_t evr_block_first(const struct evr_block *block) {
  return FORMAT_BLOCK_HEADER_WORDS +
         evr_block_header(block)->open * (uint32_t)FORMAT_OPEN_WORDS;
}

/* Copies block `sequence`, which lies at `offset`, and checks its structure
   (header against slot and ring, lengths of events). The caller has seen, with
   acquire, that the ring's head is `sequence` or more; `complete`: that it is
   more. `*block` is undefined unless the result is OK. */
enum evr_read evr_source_block(const struct evr_source *source, uint64_t offset,
                               uint64_t sequence, unsigned slot, unsigned ring,
                               bool complete, struct evr_block *block,
                               struct eventring_error *error);
/* Copies what was added to a block since it was copied and found valid; checks that.
   `*block` stays as it was unless the result is OK. */
enum evr_read evr_source_more(const struct evr_source *source, uint64_t offset,
                              uint64_t sequence, bool complete,
                              struct evr_block *block,
                              struct eventring_error *error);

enum { EVR_AHEAD = 16 /* blocks of a file that are read at once with pread */ };
/* Copies `count` complete blocks of a file from block `sequence` on, which follow
   each other in the file, unless the producer may have come near them: then, and on
   failure, the result is 0, else `count`. They are not checked: see evr_source_valid.
   `head_offset`: where the ring's head lies. */
unsigned evr_source_blocks(const struct evr_source *source, uint64_t offset,
                           uint64_t sequence, uint64_t head_offset,
                           uint32_t ring_blocks, struct evr_block *block,
                           unsigned count);
bool evr_source_valid(const struct evr_block *block, uint64_t sequence, unsigned slot,
                      unsigned ring);

/* Words that are committed in block `sequence`, 0 when it is gone. */
uint32_t evr_source_length(const struct evr_source *source, uint64_t offset,
                           uint64_t sequence);
/* For polls that find nothing: where word number `word` of a block is mapped (it
   becomes other than 0 when an event is added), NULL if it isn't; and the same
   question for a file that is not mapped, true when in doubt. */
const uint64_t *evr_source_word(const struct evr_source *source, uint64_t offset,
                                uint32_t word);
bool evr_source_has_more(const struct evr_source *source, uint64_t offset,
                         uint32_t have);

/* ---- metadata.c -------------------------------------------------------------------- */

struct evr_definition {
  struct eventring_def def; /* points into text */
  /* For delivery.c, made by evr_definition_prepare: what its events have in common, */
  struct {
    const char *name;
    const struct eventring_def *def;
  } face;
  uint64_t tags;
  /* and the kind and length of its usual event: a begin without payload, else an
     event with a number; what that adds to the tags. */
  uint32_t plain;
  uint64_t plain_tags;
  struct format_definition text;
};
enum { EVR_DEFINITION_CHUNK = 64 };

struct evr_trace {
  struct evr_source source;
  char path[1024];
  struct format_header header; /* as read once, checked, strings terminated */
  uint32_t blocks;             /* of a ring */
  struct format_status status; /* as of the last refresh, checked */
  struct evr_conversion conversion;
  struct format_segment segment; /* the last one used ... */
  uint64_t segment_end;          /* ... and the ticks at which the next begins; 0:
                                    none is known */
  struct format_control control; /* as of the last refresh */
  uint32_t switches; /* entries 0 .. switches-1 of its log are written (or were
                        given up by who began to write them) */
  uint64_t head[EVENTRING_MAX_DOMAINS][EVENTRING_RINGS]; /* as last read */
  uint32_t definitions;
  struct evr_definition *chunk[EVENTRING_MAX_EVENTS / EVR_DEFINITION_CHUNK];
  const struct evr_definition *definition[EVENTRING_MAX_EVENTS]; /* NULL: none */
  struct eventring_error damage; /* first damage found since it was reported */
};

/* Reads and checks everything; path may be NULL. The source must be set. `map`: a file
   may be mapped. */
int evr_trace_open(struct evr_trace *trace, bool map, struct eventring_error *error);
/* Reads anew how far the producers have come. */
int evr_trace_refresh(struct evr_trace *trace, struct eventring_error *error);
/* Is the file as long as its rings need? */
int evr_trace_check_size(const struct evr_trace *trace, struct eventring_error *error);
/* Reads anew what events refer to: definitions, control log, conversion. To be
   called after the events were seen: what they need was written before them. */
int evr_trace_catch_up(struct evr_trace *trace, struct eventring_error *error);
void evr_trace_close(struct evr_trace *trace);
/* NULL when not defined (or damaged). */
static inline const struct eventring_def *
evr_trace_def(const struct evr_trace *trace, unsigned id) {
  const struct evr_definition *d =
      id < EVENTRING_MAX_EVENTS ? trace->definition[id] : NULL;
  return d ? &d->def : NULL;
}
enum eventring_liveness evr_trace_liveness(const struct evr_trace *trace);
uint64_t evr_trace_block_offset(const struct evr_trace *trace, unsigned slot,
                                unsigned ring, uint64_t sequence);
/* One entry of the domain table, of one piece. */
int evr_trace_domain(const struct evr_trace *trace, unsigned slot,
                     struct format_domain *domain, struct eventring_error *error);
uint64_t evr_trace_head_offset(unsigned slot, unsigned ring);
/* Newest block of a ring now; 0: none. */
uint64_t evr_trace_head(struct evr_trace *trace, unsigned slot, unsigned ring);
static inline uint64_t evr_trace_ns(const struct evr_trace *trace, uint64_t ticks) {
  return evr_to_ns(&trace->conversion, ticks);
}
void evr_trace_use_segment(struct evr_trace *trace, uint64_t ticks);
/* The same, quicker for times that come one after the other. */
static inline uint64_t evr_trace_next_ns(struct evr_trace *trace, uint64_t ticks) {
  const struct format_segment *s = &trace->segment;
  if (__builtin_expect(ticks < s->from_ticks || ticks >= trace->segment_end, 0)) {
    evr_trace_use_segment(trace, ticks);
    return evr_trace_ns(trace, ticks);
  }
  return s->from_ns + (uint64_t)((unsigned __int128)(ticks - s->from_ticks) *
                                 s->multiplier >> FORMAT_CLOCK_SHIFT);
}
/* Remembers damage, to be reported by the poll. */
void evr_trace_damaged(struct evr_trace *trace, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- span_stack.c ------------------------------------------------------------------ */

struct evr_span {
  uint64_t ticks;
  uint64_t ns;
  uint32_t id;
};
struct evr_span_stack {
  struct evr_span *span;
  uint32_t count, room;
  uint32_t hidden; /* open spans of which only the number is known ... */
  uint32_t mark;   /* ... they lie between span[mark-1] and span[mark] */
};
void evr_span_push_slow(struct evr_span_stack *stack, struct evr_span span);
bool evr_span_pop_slow(struct evr_span_stack *stack, unsigned id,
                       struct evr_span *begin);
static inline void evr_span_push(struct evr_span_stack *stack, struct evr_span span) {
  if (__builtin_expect(stack->count == stack->room, 0))
    evr_span_push_slow(stack, span);
  else
    stack->span[stack->count++] = span;
}
/* Closes a span by an end of this id: true when its begin is known, which is
   then in *begin. */
static inline bool evr_span_pop(struct evr_span_stack *stack, unsigned id,
                                struct evr_span *begin) {
  uint32_t top = stack->count;
  if (__builtin_expect(stack->hidden || !top || stack->span[top - 1].id != id, 0))
    return evr_span_pop_slow(stack, id, begin);
  *begin = stack->span[top - 1];
  stack->count = top - 1;
  return true;
}
void evr_span_remove(struct evr_span_stack *stack, uint32_t index);
void evr_span_clear(struct evr_span_stack *stack);

/* ---- ring_reader.c --------------------------------------------------------------------------- */

struct evr_pending { /* to be delivered before the next event of the block */
  uint8_t kind;      /* 0: loss; EVENTRING_BEGIN or _END: synthetic */
  uint8_t flags;
  uint16_t id;
  uint32_t depth;
  uint32_t incarnation;
  uint64_t when;     /* ticks */
  uint64_t value;    /* of a loss: its count; of a begin: its ticks */
};

struct evr_lane {
  unsigned slot, ring;
  struct evr_block *block;  /* that is held: one of those in `blocks` */
  uint32_t at;              /* its next word to interpret ... */
  uint32_t end;             /* ... and where this poll ends in it */
  uint64_t base;            /* that times refer to */
  uint64_t tags;            /* of all events of the ring (delivery.c) */
  uint64_t order_ns;        /* what comes next: its place in a merged order */
  uint64_t position;        /* number of the next event in the ring, from 0 */
  uint64_t missed, delivered, lost, torn;
  uint64_t in_run;          /* events of the run that goes on (delivery.c): not yet in
                               position and delivered */
  uint64_t sequence;        /* of the block held; 0: none */
  uint64_t next;            /* first block that has not been looked at */
  uint64_t opened_head;     /* newest block when the cursor was opened */
  struct evr_block *blocks; /* NULL: nothing has been read yet */
  unsigned room;            /* of these: one, where the source is mapped, else
                               EVR_AHEAD */
  uint64_t ahead;           /* sequence of the first of those read ahead, which
                               are blocks[0 .. ahead_count-1] */
  unsigned ahead_count;
  bool complete;            /* the block was complete when it was copied */
  bool nested;              /* the spans of the block held seem to be (delivery.c) */
  bool joined;              /* has had a first position */
  bool limit_moved;         /* by a jump; at most once in a poll */
  uint32_t incarnation;
  uint32_t switches;        /* entries of the control log taken into account */
  uint64_t switch_due;      /* ticks before which the next is of no interest */
  uint64_t now;             /* ticks at which what is queued is found out */
  uint64_t limit_sequence;  /* this poll ends at this word of this block */
  uint32_t limit_at;
  struct evr_span_stack stack;
  struct evr_pending *pending;
  uint32_t pending_count, pending_room, pending_at;
  struct eventring_event event; /* delivered last; filled anew each time */
};

/* Where a poll delivers to. */
struct evr_sink {
  struct eventring_callbacks callbacks; /* both set */
  void *context;
  uint64_t left;      /* events that may still be delivered */
  uint64_t delivered; /* real ones */
  unsigned budget;    /* unreadable blocks that may still be looked at */
  bool stopped;       /* by a callback or by the maximum */
};

struct evr_lane *evr_lane_new(unsigned slot, unsigned ring, uint64_t opened_head);
void evr_lane_free(struct evr_lane *lane);
/* Stands before the first event written from now on (EVENTRING_OPEN_NOW). */
void evr_lane_join_now(struct evr_trace *trace, struct evr_lane *lane,
                       unsigned *budget);
/* Notes how far the producer has come. False: there is nothing to deliver. */
bool evr_lane_limit(struct evr_trace *trace, struct evr_lane *lane,
                    unsigned *budget);
/* Of a producer that is no more: is the newest block still there as it was read? */
void evr_lane_check_end(struct evr_trace *trace, const struct evr_lane *lane);
/* The block held is used up: goes on to what follows. False: nothing up to the
   limit. *budget counts down the blocks that turned out unreadable. */
bool evr_lane_go_on(struct evr_trace *trace, struct evr_lane *lane, unsigned *budget);
/* Applies what was switched up to `ticks` (control.c). */
void evr_lane_switch(const struct evr_trace *trace, struct evr_lane *lane,
                     uint64_t ticks);
/* How deep entry `index` of the stack lies. */
uint32_t evr_lane_depth(const struct evr_lane *lane, uint32_t index);
/* Events in a block. */
uint64_t evr_block_events(const struct evr_block *block);

/* ---- delivery.c ------------------------------------------------------------------------- */

void evr_definition_prepare(struct evr_definition *definition);
/* Looks at what a block has, when something was copied into the one that is held. */
void evr_lane_survey(struct evr_lane *lane);

/* Looks for what is to be delivered next and sets lane->order_ns; false at the
   limit. */
bool evr_lane_look(struct evr_trace *trace, struct evr_lane *lane, unsigned *budget);
/* Delivers what is not later than `until`, until the sink has enough. True: there
   is something left, and order_ns is set. */
bool evr_lane_drain(struct evr_trace *trace, struct evr_lane *lane, uint64_t until,
                    struct evr_sink *sink);
/* A synthetic begin for entry `index` of the stack. */
void evr_lane_open_span(const struct evr_trace *trace, const struct evr_lane *lane,
                        uint32_t index, struct eventring_event *event);

/* ---- cursor.c ---------------------------------------------------------------------------- */

enum { EVR_LANES = EVENTRING_MAX_DOMAINS * EVENTRING_RINGS };

/* What a poll compares first of a ring that is mapped and had nothing to deliver the
   last time. */
struct evr_watch {
  const uint64_t *word; /* that is 0 until something is added; NULL: look closer */
  uint64_t head;
};

struct eventring_cursor {
  struct evr_trace trace;
  unsigned flags;
  bool busy;     /* a poll is in progress */
  bool finished;
  bool end_checked; /* all was looked at once more, after the end */
  struct evr_lane *lane[EVR_LANES]; /* slot * 2 + ring; NULL: nothing there yet */
  struct evr_watch watch[EVR_LANES];
  struct evr_lane *active[EVR_LANES]; /* of this poll: with something to deliver */
  unsigned actives;
  uint64_t opened_head[EVENTRING_MAX_DOMAINS][EVENTRING_RINGS];
  struct eventring_error error;
};
/* Opens a cursor on a source, which it owns from here on (also on failure). */
int evr_cursor_open(eventring_cursor **cursor, struct evr_source source,
                    const char *path, unsigned flags,
                    struct eventring_error *error);

/* ---- locate.c ------------------------------------------------------------------------------ */

/* Opens a file in a directory (or AT_FDCWD) for reading, never following a link at the
   end, never blocking; a regular file or an error, which names it `path`. */
int evr_open_regular(int directory, const char *name, const char *path, int *fd,
                     struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_READER_H */
