/* SPDX-License-Identifier: MIT */
/* shared_blocks.pml: to whom the events of a ring belong: contexts, and domains that share
 * blocks.
 *
 * The steps are those of the C code in eventring/producer/lane.c: evr_lane_open and
 * evr_lane_close (under the mutex, domains.c), evr_lane_write, evr_lane_set_context,
 * next_block, finish_block; and of open_spans.c. That a reader has a block, or the first
 * words of the newest, whole, is proved by block_transition.pml; here it is taken for
 * granted: a word, and a block's header, is stored and loaded at once, in order.
 *
 * The domains of a slot write into its ring one after the other, in any order, some of them
 * nothing. Each goes on in the present block, after a remark with its incarnation, or begins
 * the next block; a block has ROOM words. It writes events, begins and ends of spans, of
 * which a context has at most one, and changes between two contexts, until it stops, or the
 * ring comes to its end. The words are put down together with what they truly are.
 *
 * A reader joins at any block at any time, knows of it what its header says, and goes on as
 * far as it wants.
 *
 * Properties
 *   attributed  each event belongs to the incarnation and the context that wrote it;
 *   matched     an end closes a span if and only if its context has one open;
 *   exact       a header's number of events is that of all events before; a reader that
 *               reads on has the same number and the same open spans.
 *
 * Mutations (check-model.sh: each must fail):
 *   -DNO_CONTEXT_IN_HEADER -DNO_INCARNATION_IN_HEADER
 *   -DOPEN_OF_CONTEXT_ONLY     the list has the spans of the block's context only
 *   -DNO_WALK                  the list is that of the block before
 *   -DSPANS_OUTLIVE            the list is kept when the incarnation changes with the block
 *   -DNO_INCARNATION_REMARK
 *   -DHEADER_PATCHED           the header is changed instead
 *   -DALWAYS_NEXT              the remark never says which incarnation
 *   -DREMARK_AFTER_EVENT       the remark of a context comes too late
 *   -DCONTEXT_OUTLIVES         the reader keeps the context when the incarnation changes
 *   -DREMARK_COUNTED           as an event
 *   -DCOUNT_NOT_HANDED_OVER    the next domain does not know of the remarks in the block
 *   -DNO_MUTEX                 the slot is free before the position is handed over
 *   -DREACHED_SHARED           fails when a block has events of two incarnations, when
 *   -DREACHED_SKIPPED          one between wrote nothing, when a span of another context
 *   -DREACHED_OTHER            than the header's is closed: the proof that the properties
 *                              are not true of nothing
 */

#ifndef DOMAINS
#define DOMAINS 3
#endif
#ifndef BLOCKS
#define BLOCKS 3
#endif
#ifndef ROOM
#define ROOM 3
#endif

/* words; 0: none yet */
#define EVENT 1
#define BEGIN 2
#define END 3
#define CONTEXT(c) (4 + (c))
#define NEXT_INCARNATION 6
#define INCARNATION(i) (8 + (i))
#define IS_EVENT(word) ((word) <= END)

#define BIT(context) (1 << (context))
#define TRUTH(incarnation, context, closes) (4 * (incarnation) + 2 * (context) + (closes))

typedef Block {
  byte before, context, incarnation, open; /* open: a bit for each context */
  byte word[ROOM];
  byte truth[ROOM];
  byte truly_before
}
Block block[BLOCKS + 1]; /* from 1 */
byte head;

/* evr_writer: what outlives a domain */
byte w_next, w_extra, w_incarnation, w_context, w_open, w_events;

byte slot_incarnation;
bool owned;    /* the slot */
byte written;  /* events, truly */

/* What a word does to who walks over words, the producer's own walk and a reader's. */
inline apply(what, at_context, at_incarnation, spans) {
  if
  :: what == BEGIN -> spans = spans | BIT(at_context)
  :: what == END -> spans = spans & ~BIT(at_context)
  :: what == CONTEXT(0) || what == CONTEXT(1) -> at_context = what - CONTEXT(0)
  :: what >= NEXT_INCARNATION ->
     if
     :: what == NEXT_INCARNATION -> at_incarnation++
     :: else -> at_incarnation = what - INCARNATION(0)
     fi;
#ifndef CONTEXT_OUTLIVES
     at_context = 0;
#endif
     spans = 0
  :: else
  fi
}

/* ---- The producer ---------------------------------------------------------------------- */

/* The open spans at the end of the present block, and the number of its events. */
inline finish_block() {
  w_context = block[head].context;
#ifndef NO_WALK
  i = 0;
  do
  :: i < next -> apply(block[head].word[i], w_context, passed, w_open); i++
  :: else -> break
  od;
  i = 0; passed = 0;
#endif
  w_events = w_events + next - extra
}

inline next_block() {
  if :: head > 0 -> finish_block() :: else fi;
#ifndef SPANS_OUTLIVE
  if :: w_incarnation != mine -> w_open = 0 :: else fi;
#endif
#ifndef NO_INCARNATION_IN_HEADER
  w_incarnation = mine;
#else
  if :: head == 0 -> w_incarnation = mine :: else fi;
#endif
  block[head + 1].before = w_events;
  block[head + 1].truly_before = written;
#ifndef NO_CONTEXT_IN_HEADER
  block[head + 1].context = context;
#endif
  block[head + 1].incarnation = w_incarnation;
#ifdef OPEN_OF_CONTEXT_ONLY
  block[head + 1].open = w_open & BIT(context);
#else
  block[head + 1].open = w_open;
#endif
  head++;
  next = 0; extra = 0
}

#define FULL (next == ROOM || head == 0)
#define NO_ROOM (FULL && head == BLOCKS)

inline put_word(what, closing) {
  block[head].word[next] = what;
  block[head].truth[next] = TRUTH(mine, context, closing);
  next++
}

inline put_remark(what) {
  put_word(what, 0);
#ifndef REMARK_COUNTED
  extra++
#endif
}

inline put_event(what) {
  d_step {
    if :: FULL -> next_block() :: else fi;
    put_word(what, (what == END && (open & BIT(context))));
    apply(what, context, mine, open);
    written++
  }
}

inline set_context(to) {
  d_step {
    if :: FULL -> next_block() :: else fi;
#ifdef REMARK_AFTER_EVENT
    context = to; put_word(EVENT, 0); written++; context = 1 - to;
    if :: FULL && head < BLOCKS -> next_block() :: else fi;
    if :: next < ROOM -> put_remark(CONTEXT(to)) :: else fi;
#else
    put_remark(CONTEXT(to));
#endif
    context = to
  }
}

/* evr_lane_open, change_incarnation */
inline open_lane() {
  atomic { next = w_next; extra = w_extra };
#ifdef COUNT_NOT_HANDED_OVER
  extra = 0;
#endif
  d_step {
    if
    :: head == 0 -> next_block()
    :: head > 0 && NO_ROOM /* nothing more is written */
    :: head > 0 && !NO_ROOM && FULL -> next_block()
    :: else ->
#ifdef HEADER_PATCHED
       block[head].incarnation = mine;
#elif !defined(NO_INCARNATION_REMARK)
       if
#ifndef ALWAYS_NEXT
       :: mine != w_incarnation + 1 -> put_remark(INCARNATION(mine))
#endif
       :: else -> put_remark(NEXT_INCARNATION)
       fi;
#endif
       w_incarnation = mine
    fi
  }
}

active [DOMAINS] proctype domain() {
  byte mine, context, open, next, extra, i, passed;
  atomic { !owned -> owned = true; slot_incarnation++; mine = slot_incarnation };
  if
  :: open_lane();
     do
     :: !NO_ROOM -> put_event(EVENT)
     :: !NO_ROOM && !(open & BIT(context)) -> put_event(BEGIN)
     :: !NO_ROOM -> put_event(END)
     :: !NO_ROOM -> set_context(1 - context)
     :: break
     od;
#ifdef NO_MUTEX
     owned = false;
#endif
     atomic { w_next = next; w_extra = extra }
  :: true /* it writes nothing into this ring */
  fi;
  atomic { owned = false; mine = 0; context = 0; open = 0; next = 0; extra = 0 }
}

/* ---- A reader ----------------------------------------------------------------------------- */

inline take_header() {
  assert(block[b].before == block[b].truly_before);
  at = 0;
  position = block[b].before;
  context = block[b].context;
  incarnation = block[b].incarnation;
  open = block[b].open
}

inline take_word() {
  word = block[b].word[at];
  if
  :: IS_EVENT(word) ->
     closes = word == END && (open & BIT(context));
     assert(block[b].truth[at] == TRUTH(incarnation, context, closes));
#ifdef REACHED_SHARED
     assert(incarnation == block[b].incarnation);
#endif
#ifdef REACHED_OTHER
     assert(!(closes && (block[b].open & BIT(context)) && context != block[b].context));
#endif
     position++
  :: else
  fi;
#ifdef REACHED_SKIPPED
  assert(word < INCARNATION(0));
#endif
  apply(word, context, incarnation, open);
  word = 0; closes = 0;
  at++
}

#define AT_END (at == ROOM || block[b].word[at] == 0)

inline go_on() {
  b++;
  assert(block[b].before == position);
  if
  :: block[b].incarnation == incarnation ->
     assert(block[b].context == context && block[b].open == open)
  :: else -> assert(block[b].context == 0 && block[b].open == 0)
  fi;
  take_header()
}

active proctype reader() {
  byte b, at, position, context, incarnation, open, word;
  bit closes;
end_joining:
  atomic {
    head > 0 -> b = head;
    do :: b > 1 -> b-- :: break od;
    take_header()
  };
end:
  do
  :: d_step { at < ROOM && block[b].word[at % ROOM] != 0 -> take_word() }
  :: d_step { b < head && (at == ROOM || block[b].word[at % ROOM] == 0) -> go_on() }
  od
}
