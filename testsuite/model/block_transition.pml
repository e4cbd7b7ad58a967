/* SPDX-License-Identifier: MIT */
/* block_transition.pml: a ring's block transition, one writer and two readers.
 *
 * The steps are those of the C code: W1 .. W6 in eventring/producer/lane.c, R0 .. R5 in
 * eventring/reader/block.c (R0 in metadata.c), may_be_gone in block_cursor.c.
 * Checked over wrap-around: the ring has two places, the writer goes through BLOCKS
 * blocks and reuses each place. W1 and the zeros are left out at a place that was
 * never used.
 *
 * With -DNO_ROOM the last place is not there until the writer finds room for it, in any
 * round. Until then the writer leaves out its block (step S), of which readers then find
 * that all words of the place are 0.
 *
 * What the words of a block say (to which context and incarnation its events belong) is
 * not of this model but of shared_blocks.pml, which relies on what is proved here.
 *
 * Memory. Promela's is sequentially consistent, so what C11 allows beyond is
 * modelled as reordering:
 *   - stores go through a window of pending ones and reach memory in any order,
 *     except that a store waits for earlier ones to the same word, a release store
 *     for all earlier ones, and a store after a release fence for all before it;
 *   - loads between two acquire operations happen in any order (a mask of those
 *     that are left); a load after an acquire load or fence waits for those before it.
 * That is more than x86-64 does and what arm64 may do.
 *
 * A place has five words that stand for all: the sequence number (SEQ), the header
 * (HDR: before, base, context, incarnation, open spans), a payload word (PAY), the event
 * word (or remark) that announces it (WORD), and the word of the committed length and the
 * checksum (SEAL). Block s writes the value s. The seal of block s is s, too, for its
 * checksum covers the sequence number and all that the block holds: to a complete block it
 * is right if and only if all words are of that block.
 *
 * Properties
 *   whole   what a reader accepts as block s is of block s only, an event that is
 *           seen has its payload, and a block known to be complete has all that was
 *           written into it;
 *   exact   a block that should be there by the head is missing only when the writer has
 *           begun to reuse its place: nothing is counted as lost that is not;
 *   sound   no block is called damaged, as none is: neither one that R5 accepts, whose
 *           seal must be right if it is complete, nor one that is gone, for the head,
 *           loaded then, shows that its place is about to be reused (may_be_gone).
 *
 * Readers try again and again, at any moment. They keep nothing from one attempt to the
 * next but a block that was being filled, and neither the writer nor the other reader knows
 * of them. What is finished is forgotten, so that it does not distinguish states. Once a copy
 * is spoilt, the remaining loads decide nothing and are left out: only whether R5 accepts it
 * counts, and R5 may come at once or any time later.
 *
 * -DMAPPING=n -DFILE=m -DAHEAD=l: numbers of readers of each kind (1, 1 and 0); -DPLACES=n
 * -DBLOCKS=n (2 and 4).
 *
 * Mutations (check-model.sh says which must fail, and which hold and why):
 *   -DNO_W2 -DNO_R4        a fence is missing
 *   -DNO_R1 -DNO_R5        a load of the sequence number (AHEAD: the head) is missing
 *   -DONE_MORE             AHEAD allows the head to come one block nearer
 *   -DNO_SEQUENCE          AHEAD takes a block for damaged when only its number is another
 *                          (which W1_RELAXED alone would allow)
 *   -DNO_R3                the file's second copy is missing
 *   -DNO_R4_OF_MORE        a fence is missing, where what was added is copied
 *   -DNO_FENCE_WHEN_GONE   the one of may_be_gone
 *   -DSEAL_AFTER_R5        the seal of a block that was held is checked too late
 *   -DSEAL_OF_UNFINISHED   one that is there is compared though the head has not moved
 *   -DNO_W1 -DNO_ZEROS     left out at a place that was used
 *   -DNO_S                 of NO_ROOM: the head does not pass the block that is left out
 *   -DNO_W2_IF_NEW         of NO_ROOM: no fence at a place that was never used
 *   -DW1_RELAXED -DW4_RELAXED -DW5_RELAXED -DW6_RELAXED -DSEAL_RELAXED
 *   -DR0_RELAXED -DR1_RELAXED -DR2_RELAXED
 *   -DW1_AFTER_W3 -DW3_AFTER_W4 -DW3_AFTER_W5 -DW4_AFTER_W5 -DWORD_BEFORE_PAYLOAD
 *   -DSEAL_AFTER_W1 -DSEAL_AFTER_W5 -DSEAL_BEFORE_W6
 *                          two steps are swapped
 *   -DREACHED_REUSE        fails when a block is accepted from a place that was
 *   -DREACHED_GONE         reused, when one is found gone, when the seal of one that
 *   -DREACHED_SEAL         was held is compared, when one is found left out: the proof
 *   -DREACHED_LEFT_OUT     that the properties are not true of nothing
 */

#ifndef MAPPING
#define MAPPING 1
#endif
#ifndef FILE
#define FILE 1
#endif

#ifndef AHEAD
#define AHEAD 0
#endif

#ifndef PLACES
#define PLACES 2
#endif
#ifndef BLOCKS
#define BLOCKS 4
#endif
#define WINDOW 5 /* stores pending at most */

#define PLACE(s) (((s) - 1) % PLACES)
#define SEQ(p) (5 * (p))
#define HDR(p) (5 * (p) + 1)
#define WORD(p) (5 * (p) + 2)
#define PAY(p) (5 * (p) + 3)
#define SEAL(p) (5 * (p) + 4)
#define HEAD (5 * PLACES)

byte memory[5 * PLACES + 1];
byte begun; /* the block whose W1 has been done last, perhaps not in memory yet */

/* ---- Stores ------------------------------------------------------------------- */

typedef Store { byte word; byte value; bit release; byte epoch }
hidden byte k;
Store pending[WINDOW];
byte stores; /* pending */
byte epoch;  /* release fences since the pending stores began */

inline put(w, v, r) {
  d_step {
    stores < WINDOW;
    pending[stores].word = w;
    pending[stores].value = v;
    pending[stores].release = r;
    pending[stores].epoch = epoch;
    stores++
  }
}

inline store_relaxed(w, v) { put(w, v, 0) }
inline store_release(w, v) { put(w, v, 1) }
inline release_fence() { d_step { if :: stores > 0 -> epoch++ :: else fi } }

/* Removes pending store i, which has reached memory. */
inline take_out(i) {
  k = i;
  do
  :: k + 1 < stores ->
     pending[k].word = pending[k + 1].word;
     pending[k].value = pending[k + 1].value;
     pending[k].release = pending[k + 1].release;
     pending[k].epoch = pending[k + 1].epoch;
     k++
  :: else -> break
  od;
  stores--;
  pending[stores].word = 0;
  pending[stores].value = 0;
  pending[stores].release = 0;
  pending[stores].epoch = 0;
  if :: stores == 0 -> epoch = 0 :: else fi;
  k = 0
}

#define BEFORE(j, i) \
  (pending[j].word == pending[i].word || pending[j].epoch < pending[i].epoch)
#define FREE(i, j) (i <= j || !BEFORE(j, i))
#define MAY_REACH(i) (stores > i && (i == 0 || !pending[i].release) && \
  FREE(i, 0) && FREE(i, 1) && FREE(i, 2) && FREE(i, 3))

#define REACH(i) \
  d_step { MAY_REACH(i) -> memory[pending[i].word] = pending[i].value; take_out(i) }

active proctype memory_system() {
end:
  do
  :: REACH(0)
  :: REACH(1)
  :: REACH(2)
  :: REACH(3)
  :: REACH(4)
  od
}

/* ---- The writer: next_block, put_event, finish_block in producer/lane.c ------------- */

inline invalidate() {
#ifdef W1_RELAXED
  store_relaxed(SEQ(PLACE(s)), 0)
#else
  store_release(SEQ(PLACE(s)), 0)
#endif
}

inline clear() {
  store_relaxed(WORD(PLACE(s)), 0);
  store_relaxed(PAY(PLACE(s)), 0);
  store_relaxed(SEAL(PLACE(s)), 0)
}

/* The place of s was used; else its words are 0, and no reader takes it for a block. */
#ifdef NO_ROOM
#define IS_LAST(s) (PLACE(s) == PLACES - 1)
#define USED (s > PLACES && (there || !IS_LAST(s)))
#else
#define USED (s > PLACES)
#endif
#ifdef NO_W2_IF_NEW
#define FENCED USED
#else
#define FENCED true
#endif

inline fill() { /* zeros, then the header */
#ifndef NO_ZEROS
  if :: USED -> clear() :: else fi;
#endif
  store_relaxed(HDR(PLACE(s)), s)
}

inline validate() {
#ifdef W4_RELAXED
  store_relaxed(SEQ(PLACE(s)), s)
#else
  store_release(SEQ(PLACE(s)), s)
#endif
}

inline publish() {
#ifdef W5_RELAXED
  store_relaxed(HEAD, s)
#else
  store_release(HEAD, s)
#endif
}

inline announce() {
#ifdef W6_RELAXED
  store_relaxed(WORD(PLACE(s)), s)
#else
  store_release(WORD(PLACE(s)), s)
#endif
}

/* The committed length and the checksum of block x, in one word. */
inline seal(x, value) {
#ifdef SEAL_RELAXED
  store_relaxed(SEAL(PLACE(x)), value)
#else
  store_release(SEAL(PLACE(x)), value)
#endif
}

inline seal_before() { if :: s > 1 -> seal(s - 1, s - 1) :: else fi }

#ifdef NO_ROOM
/* S: at the last place, for which there may be no room. */
inline find_room() {
  if
  :: IS_LAST(s) && !there ->
     if
     :: has_room = true
     :: s < BLOCKS ->
#ifndef NO_S
        store_release(HEAD, s);
#endif
        s++
     fi
  :: else
  fi
}
#endif

active proctype writer() {
  byte s = 1;
#ifdef NO_ROOM
  bool there = false, has_room = false; /* the last place: has it been used? */
#endif
  do
  :: s <= BLOCKS ->
#ifdef NO_ROOM
     find_room();
#endif
     begun = s;
#if !defined(W1_AFTER_W3) && !defined(NO_W1)
     if :: USED -> invalidate() :: else fi; /* W1 */
#endif
#ifdef SEAL_AFTER_W1
     seal_before();
#endif
#ifndef NO_W2
     if :: FENCED -> release_fence() :: else fi; /* W2 */
#endif
#if !defined(W3_AFTER_W4) && !defined(W3_AFTER_W5)
     fill();                            /* W3 */
#endif
#ifdef W1_AFTER_W3
     if :: USED -> invalidate() :: else fi;
#endif
#ifndef W4_AFTER_W5
     validate();                        /* W4 */
#endif
#ifdef W3_AFTER_W4
     fill();
#endif
     publish();                         /* W5 */
#ifdef SEAL_AFTER_W5
     seal_before();
#endif
#ifdef W3_AFTER_W5
     fill();
#endif
#ifdef W4_AFTER_W5
     validate();
#endif
#ifdef SEAL_BEFORE_W6 /* then it is that of other words */
     seal(s, s + BLOCKS);
#endif
#ifdef WORD_BEFORE_PAYLOAD
     announce();
     store_relaxed(PAY(PLACE(s)), s);
#else
     store_relaxed(PAY(PLACE(s)), s);   /* W6 */
     announce();
#endif
#if !defined(SEAL_AFTER_W5) && !defined(SEAL_AFTER_W1) && !defined(SEAL_BEFORE_W6)
     seal(s, s);                        /* finish_block: before the next W1 */
#endif
#ifdef NO_ROOM
     there = there || has_room;
#endif
     s++
  :: else -> break
  od
}

/* ---- Readers ------------------------------------------------------------------------ */

#define LOAD_HEADER 1
#define LOAD_SEAL 2
#define LOAD_WORD 4
#define LOAD_PAYLOAD 8
#define LOAD_SEQUENCE 16
#define LOAD_HEAD 32

/* One load of a group, once in it. */
#define LOAD(what, condition, action) \
  atomic { (left & what) && (condition) -> left = left & ~what; action }

#define READER_STATE \
  byte s, left; /* the block; loads of the group that are to be done */ \
  bool complete, torn, seen, stale MUTANT_STATE

/* By the head, the producer is about to reuse the place of s. */
#define NEAR (memory[HEAD] >= s + PLACES - 1)

#if defined(NO_FENCE_WHEN_GONE)
#define MUTANT_STATE , near /* what the head said when it was loaded too early */
#define MAY_BE_GONE near
#else
#define MAY_BE_GONE NEAR /* as early as can be: together with the number */
#endif
#if defined(SEAL_AFTER_R5) || defined(REACHED_SEAL) || defined(NO_R4_OF_MORE)
#define MUTANT_STATE , again /* this is evr_block_copy_more */
#endif
#ifdef SEAL_OF_UNFINISHED
#define MUTANT_STATE , sealed
#define SEAL_ALWAYS true
#else
#define SEAL_ALWAYS false
#endif
#ifndef MUTANT_STATE
#define MUTANT_STATE
#endif
#if defined(NO_R4)
#define NO_R4_HERE true
#elif defined(NO_R4_OF_MORE)
#define NO_R4_HERE again
#endif

/* R0: the head, acquire; a block that is there by the head: the newest, or the one before,
   which is complete. With R0_RELAXED the head is loaded among the other loads. */
inline choose_block() {
#ifdef R0_RELAXED
  if :: s = 3 :: s = 4; complete = true fi;
  left = LOAD_HEAD
#else
  memory[HEAD] > 0 -> s = memory[HEAD];
  if :: true :: s > 1 -> s--; complete = true fi
#endif
}
#define HEAD_SHOWS (memory[HEAD] >= s + complete)

/* The producer has not reached the block before the one that takes the place of s. */
#ifdef ONE_MORE
#define FAR (memory[HEAD] - s < PLACES)
#else
#define FAR (memory[HEAD] - s < PLACES - 1)
#endif

/* The loads so far say whether the copy is spoilt; if so, no other load matters. */
#define SPOILT (torn || (seen && stale))
inline judge() {
  if :: SPOILT -> left = left & (LOAD_SEQUENCE | LOAD_HEAD) :: else fi
}
inline take_header() { torn = torn || memory[HDR(PLACE(s))] != s; judge() }
/* The seal counts only when the block is complete: another one may have been stored
   before, and be seen before, an event that was not seen yet (SEAL_OF_UNFINISHED). */
inline take_seal() {
#ifdef SEAL_OF_UNFINISHED
  sealed = memory[SEAL(PLACE(s))] != 0;
  torn = torn || (complete && !sealed);
#endif
  torn = torn || (complete && memory[SEAL(PLACE(s))] != s);
  judge()
}
inline take_word() {
  seen = memory[WORD(PLACE(s))] != 0;
  torn = torn || (seen && memory[WORD(PLACE(s))] != s) || (complete && !seen);
  /* a payload that nothing announces is not read */
  if :: !seen -> left = left & ~LOAD_PAYLOAD; stale = false :: else fi;
  judge()
}
inline take_payload() { stale = memory[PAY(PLACE(s))] != s; judge() }

#define IS_EMPTY(p) \
  (memory[SEQ(p)] + memory[HDR(p)] + memory[WORD(p)] + memory[PAY(p)] + memory[SEAL(p)] == 0)

/* The sequence number is another one: the block must have been overwritten, and the
   head, loaded after that, say so: else note_failure (block_cursor.c) calls it damage. */
inline gone(about_to_be_reused) {
#ifdef REACHED_GONE
  assert(false);
#endif
  if
#ifdef NO_ROOM
  :: IS_LAST(s) && IS_EMPTY(PLACE(s)) ->
#ifdef REACHED_LEFT_OUT
     assert(false);
#endif
     skip /* is_skipped, block_cursor.c: there is no such block */
#endif
  :: else ->
     assert(begun >= s + PLACES);
     assert(about_to_be_reused)
  fi
}

/* is_valid, or the comparison of mapped_more and file_more: else it is called damage. */
inline accept() {
#ifdef REACHED_REUSE
  assert(s <= PLACES);
#endif
#ifdef REACHED_SEAL
  assert(!(again && complete));
#endif
#ifdef SEAL_OF_UNFINISHED
  assert(!sealed || seen);
#endif
  assert(!SPOILT)
}

inline forget() {
  s = 0; left = 0; complete = false; torn = false; seen = false;
#if defined(NO_FENCE_WHEN_GONE)
  near = false;
#elif defined(SEAL_AFTER_R5) || defined(REACHED_SEAL) || defined(NO_R4_OF_MORE)
  again = false;
#elif defined(SEAL_OF_UNFINISHED)
  sealed = false;
#endif
  stale = false
}

/* A block that was being filled may be held until a later poll. */
inline hold() {
  if :: forget(); goto end :: !complete fi
}

/* R5, and what it decides: the block is gone, or accepted, and then perhaps held. */
inline look_again() {
  if
#if defined(NO_R4) || defined(NO_R5)
  :: accept()
#else
#ifdef NO_R4_OF_MORE
  :: again -> accept()
#endif
  :: memory[SEQ(PLACE(s))] != s -> gone(MAY_BE_GONE); forget(); goto end
  :: memory[SEQ(PLACE(s))] == s -> accept()
#endif
  fi
#ifndef SEAL_AFTER_R5
  ;
  hold()
#endif
}

#ifdef SEAL_AFTER_R5
inline compare_late() {
  if :: again && complete -> take_seal(); accept() :: else fi;
  hold()
}
#endif

/* evr_block_copy_more, at that poll: what was added to the block. When it is complete by
   now, by the head, its seal is compared too. */
inline copy_again(added) {
  if
  :: !seen -> left = added
  :: memory[HEAD] > s ->
     complete = true;
     if :: !seen -> left = LOAD_WORD | LOAD_PAYLOAD :: else fi;
#ifndef SEAL_AFTER_R5
     left = left | LOAD_SEAL
#endif
  fi;
#ifdef NO_R4_HERE /* of a file's block that grows R5 comes with the second call */
  if :: complete || (left & LOAD_PAYLOAD) -> left = left | LOAD_SEQUENCE :: else fi;
#endif
#if defined(SEAL_AFTER_R5) || defined(REACHED_SEAL) || defined(NO_R4_OF_MORE)
  again = true;
#endif
  goto more
}

#if MAPPING > 0
/* mapped_block; mapped_more: a block that was being filled is held, and what was added
   to it is copied later. */
active [MAPPING] proctype mapping_reader() {
  READER_STATE;
end:
  do
  :: atomic {
       choose_block();                                           /* R0 */
       left = left | LOAD_HEADER | LOAD_WORD | LOAD_PAYLOAD;
       if :: complete || SEAL_ALWAYS -> left = left | LOAD_SEAL :: else fi;
#if defined(NO_R4) || defined(R1_RELAXED)
       left = left | LOAD_SEQUENCE;
#endif
     };
#if !defined(NO_R1) && !defined(R1_RELAXED)
     atomic {                                                    /* R1, acquire */
       if
       :: memory[SEQ(PLACE(s))] == s -> skip
       :: else -> gone(NEAR); forget(); goto end
       fi
     };
#endif
more:
     do
     :: LOAD(LOAD_HEADER, true, take_header())                   /* R3 */
     :: LOAD(LOAD_SEAL, true, take_seal())
     :: LOAD(LOAD_WORD, true, take_word())                       /* R2, acquire */
#ifdef R2_RELAXED
     :: LOAD(LOAD_PAYLOAD, true, take_payload())
#else
     :: LOAD(LOAD_PAYLOAD, complete || !(left & LOAD_WORD), take_payload()) /* R3 */
#endif
#ifdef NO_R4_HERE /* then R5 may come before what R3 copies, not before R2 */
     :: LOAD(LOAD_SEQUENCE, !(left & LOAD_WORD),
             if :: memory[SEQ(PLACE(s))] == s :: else -> forget(); goto end fi)
#endif
#ifdef R1_RELAXED
     :: LOAD(LOAD_SEQUENCE, true,
             if :: memory[SEQ(PLACE(s))] == s :: else -> forget(); goto end fi)
#endif
#ifdef R0_RELAXED
     :: LOAD(LOAD_HEAD, true, if :: HEAD_SHOWS :: else -> forget(); goto end fi)
#endif
     :: left == 0 -> break
     od;                                                         /* R4 */
#ifdef NO_FENCE_WHEN_GONE
     near = NEAR;
#endif
     atomic { look_again() };                                    /* R5 */
#ifdef SEAL_AFTER_R5
     atomic { compare_late() };
#endif
end_held:
     atomic { copy_again(LOAD_WORD | LOAD_PAYLOAD) }          /* mapped_more */
  od
}
#endif

#if FILE > 0
/* file_block: with pread, whose loads within one call come in any order. What is
   not complete, and has an event, is copied a second time; of the first call then
   only counts that it was seen. file_more does the same with what was added (and
   does not read the header again, but for the seal). */
active [FILE] proctype file_reader() {
  READER_STATE;
end:
  do
  :: atomic {
       choose_block();                                           /* R0 */
       left = left | LOAD_SEQUENCE | LOAD_HEADER | LOAD_WORD;
       if :: complete -> left = left | LOAD_PAYLOAD | LOAD_SEAL :: else fi;
       if :: SEAL_ALWAYS -> left = left | LOAD_SEAL :: else fi;
#ifdef NO_R3
       left = left | LOAD_PAYLOAD;
#endif
#ifdef NO_FENCE_WHEN_GONE
       near = NEAR
#endif
     };
more:
     do /* first call: R1, R2; of a block that is complete also R3 */
     :: LOAD(LOAD_SEQUENCE, true,                                /* R1 */
             if
             :: memory[SEQ(PLACE(s))] == s
             :: else -> gone(MAY_BE_GONE); forget(); goto end
             fi)
     :: LOAD(LOAD_HEADER, true, take_header())
     :: LOAD(LOAD_SEAL, true, take_seal())
     :: LOAD(LOAD_WORD, true, take_word())                       /* R2 */
     :: LOAD(LOAD_PAYLOAD, true, take_payload())
#ifdef R0_RELAXED
     :: LOAD(LOAD_HEAD, true, if :: HEAD_SHOWS :: else -> forget(); goto end fi)
#endif
     :: left == 0 -> break
     od;
#ifndef NO_R3
     if
     :: !complete && seen ->
        atomic {
          torn = false;
          left = LOAD_HEADER | LOAD_WORD | LOAD_PAYLOAD;
#ifdef NO_R4_HERE
          if :: NO_R4_HERE -> left = left | LOAD_SEQUENCE :: else fi
#endif
        };
        do /* second call: R3 */
        :: LOAD(LOAD_HEADER, true, take_header())
        :: LOAD(LOAD_WORD, true, torn = torn || memory[WORD(PLACE(s))] != s; judge())
        :: LOAD(LOAD_PAYLOAD, true, take_payload())
#ifdef NO_R4_HERE
        :: LOAD(LOAD_SEQUENCE, true,
                if :: memory[SEQ(PLACE(s))] == s :: else -> forget(); goto end fi)
#endif
        :: left == 0 -> break
        od                                                       /* R4 */
     :: else
     fi;
#endif
#ifdef NO_FENCE_WHEN_GONE
     near = NEAR;
#endif
     atomic { look_again() };                                    /* R5 */
#ifdef SEAL_AFTER_R5
     atomic { compare_late() };
#endif
end_held:
     atomic { copy_again(LOAD_WORD) }                         /* file_more */
  od
}
#endif

#if AHEAD > 0
/* evr_blocks_copy: complete blocks with one pread; R5 is one load of the head. */
active [AHEAD] proctype ahead_reader() {
  READER_STATE;
end:
  do
  :: atomic { /* R0: any complete block, also one that is gone by now */
       memory[HEAD] > 1 -> s = memory[HEAD] - 1;
       if :: true :: s > 1 -> s-- fi;
       complete = true;
       left = LOAD_SEQUENCE | LOAD_HEADER | LOAD_SEAL | LOAD_WORD | LOAD_PAYLOAD;
#ifdef NO_R4
       left = left | LOAD_HEAD;
#endif
     };
     do                                                          /* R3 */
#ifdef NO_SEQUENCE /* W1 may be seen before the head that precedes it */
     :: LOAD(LOAD_SEQUENCE, true, torn = torn || memory[SEQ(PLACE(s))] != s; judge())
#else
     :: LOAD(LOAD_SEQUENCE, true, /* another one: it is read alone instead */
             if :: memory[SEQ(PLACE(s))] == s :: else -> forget(); goto end fi)
#endif
     :: LOAD(LOAD_HEADER, true, take_header())
     :: LOAD(LOAD_SEAL, true, take_seal())
     :: LOAD(LOAD_WORD, true, take_word())
     :: LOAD(LOAD_PAYLOAD, true, take_payload())
#ifdef NO_R4
     :: LOAD(LOAD_HEAD, true, if :: FAR :: else -> forget(); goto end fi)
#endif
     :: left == 0 -> break
     od;                                                         /* R4 */
     atomic {                                                    /* R5 */
       if
#if !defined(NO_R4) && !defined(NO_R5)
       :: FAR -> accept()
       :: else /* read one by one instead */
#else
       :: accept()
#endif
       fi;
       forget()
     }
  od
}
#endif
