/* reader.h: the consuming side, inside libeventring.
 *
 *   source.c     bytes and blocks of a file or of this process's own mapping
 *   trace.c      what the file says of itself: header, status, catalogue,
 *                domains, control page; all checked
 *   spanstack.c  the spans open in one ring, as the reader knows them
 *   lane.c       one ring: blocks into items (events, losses)
 *   cursor.c     all rings: opening, polling, merging, closing
 *   locate.c     files by pid, by path, by directory
 *   inspect.c    answers to eventring_cursor_info and the like
 *   snapshot.c   copies of a recording
 *   remote.c     control of the process that records
 *
 * A file is hostile input. It is read with pread into private memory, so that a
 * file cut short is an error and not SIGBUS; whatever is read is copied first,
 * then checked, then used; loops are bounded by the geometry that the header
 * check has limited, and by a budget for damaged blocks in each poll.
 */
#ifndef EVENTRING_READER_H
#define EVENTRING_READER_H

#include <limits.h>

#include "internal.h"

#pragma GCC visibility push(hidden)

struct evr_recording;

/* ---- source.c ----------------------------------------------------------------- */

struct evr_source {
  int fd;                    /* of the file, or -1 */
  struct evr_recording *own; /* the recording of this process, or NULL */
};

void evr_source_close(struct evr_source *source);
/* Copies `size` bytes (a multiple of 8) at `offset` (aligned): 0, E_TRUNCATED or
   E_SYSTEM. */
int evr_source_read(const struct evr_source *source, uint64_t offset, void *to,
                    size_t size, struct eventring_error *error);

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
/* Does block `sequence` have a word after the first `have`? A quick look for a
   poll that finds nothing; true when in doubt. */
bool evr_source_has_more(const struct evr_source *source, uint64_t offset,
                         uint64_t sequence, uint32_t have);

/* ---- trace.c -------------------------------------------------------------------- */

struct evr_definition {
  struct eventring_def def; /* points into text */
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
  struct format_domain domain[EVENTRING_MAX_DOMAINS]; /* 0 .. laid_out-1 */
  uint32_t definitions;
  struct evr_definition *chunk[EVENTRING_MAX_EVENTS / EVR_DEFINITION_CHUNK];
  const struct eventring_def *def[EVENTRING_MAX_EVENTS]; /* NULL: not defined */
  struct eventring_error damage; /* first damage found since it was reported */
};

/* Reads and checks everything; path may be NULL. The source must be set. */
int evr_trace_open(struct evr_trace *trace, struct eventring_error *error);
/* Reads anew how far the producers have come. */
int evr_trace_refresh(struct evr_trace *trace, struct eventring_error *error);
/* Reads anew what events refer to: definitions, control log, conversion. To be
   called after the events were seen: what they need was written before them. */
int evr_trace_catch_up(struct evr_trace *trace, struct eventring_error *error);
void evr_trace_close(struct evr_trace *trace);
/* NULL when not defined (or damaged). */
static inline const struct eventring_def *
evr_trace_def(const struct evr_trace *trace, unsigned id) {
  return id < EVENTRING_MAX_EVENTS ? trace->def[id] : NULL;
}
enum eventring_liveness evr_trace_liveness(const struct evr_trace *trace);
uint64_t evr_trace_block_offset(const struct evr_trace *trace, unsigned slot,
                                unsigned ring, uint64_t sequence);
/* One entry of the domain table, of one piece. */
int evr_trace_domain(const struct evr_trace *trace, unsigned slot,
                     struct format_domain *domain, struct eventring_error *error);
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

/* ---- spanstack.c ------------------------------------------------------------------ */

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

/* ---- lane.c --------------------------------------------------------------------------- */

enum evr_item_kind { EVR_ITEM_EVENT, EVR_ITEM_LOSS };

/* What a lane has to deliver next. */
struct evr_item {
  enum evr_item_kind kind;
  uint64_t order_ns; /* its place in a merged order */
  struct eventring_event event;
  struct eventring_loss loss;
};

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
  struct evr_block block;
  uint64_t sequence;  /* of the block held; 0: none */
  uint64_t next;      /* first block that has not been looked at */
  bool complete;      /* the block was complete when it was copied */
  uint32_t at;        /* next word to interpret */
  uint64_t base;      /* that times refer to */
  uint64_t now;       /* ticks at which what is queued is found out */
  uint64_t position;  /* number of the next event in the ring, from 0 */
  uint32_t incarnation;
  uint32_t switches;  /* entries of the control log taken into account */
  uint64_t switch_due; /* ticks before which the next entry is of no interest */
  bool joined;        /* has had a first position */
  uint64_t limit_sequence; /* this poll ends at this word of this block */
  uint32_t limit_at;
  bool limit_moved;   /* by a jump; at most once in a poll */
  struct evr_span_stack stack;
  struct evr_pending *pending;
  uint32_t pending_count, pending_room, pending_at;
  bool has_item;
  struct evr_item item;
  uint64_t missed, delivered, lost, torn;
};

/* Where a poll delivers to. */
struct evr_sink {
  struct eventring_callbacks callbacks;
  void *context;
  uint64_t left;      /* events that may still be delivered */
  uint64_t delivered; /* real ones */
  unsigned budget;    /* unreadable blocks that may still be looked at */
  bool stopped;       /* by a callback or by the maximum */
};

struct evr_lane *evr_lane_new(unsigned slot, unsigned ring);
void evr_lane_free(struct evr_lane *lane);
/* Takes its first position (see EVENTRING_OPEN_NOW). `before`: what is already
   overwritten was so before the cursor came. */
void evr_lane_join(struct evr_trace *trace, struct evr_lane *lane, bool now,
                   bool before, unsigned *budget);
/* Notes how far the producer has come. */
void evr_lane_limit(struct evr_trace *trace, struct evr_lane *lane,
                    unsigned *budget);
/* Makes lane->item the next item, unless it holds one not yet delivered; false at
   the limit. *budget counts down the blocks that turned out unreadable. */
bool evr_lane_peek(struct evr_trace *trace, struct evr_lane *lane, unsigned *budget);
/* Delivers what is not later than `until`, until the sink has enough. True: there
   is an item left. */
bool evr_lane_drain(struct evr_trace *trace, struct evr_lane *lane, uint64_t until,
                    struct evr_sink *sink);
/* A synthetic begin for entry `index` of the stack. */
void evr_lane_open_span(const struct evr_trace *trace, const struct evr_lane *lane,
                        uint32_t index, struct eventring_event *event);
/* Events in a block. */
uint64_t evr_block_events(const struct evr_block *block);

/* ---- cursor.c ---------------------------------------------------------------------------- */

enum { EVR_LANES = EVENTRING_MAX_DOMAINS * EVENTRING_RINGS };

struct eventring_cursor {
  struct evr_trace trace;
  unsigned flags;
  bool busy;     /* a poll is in progress */
  bool finished;
  struct evr_lane *lane[EVR_LANES]; /* slot * 2 + ring; NULL: nothing there yet */
  struct eventring_error error;
};
/* Opens a cursor on a source, which it owns from here on (also on failure). */
int evr_cursor_open(eventring_cursor **cursor, struct evr_source source,
                    const char *path, unsigned flags,
                    struct eventring_error *error);

/* ---- locate.c ------------------------------------------------------------------------------ */

/* Opens a file for reading, never following a link at the end, never blocking;
   a regular file or an error. */
int evr_open_regular(const char *path, int flags, int *fd,
                     struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_READER_H */
