/* block_transition.pml: a ring's block transition, one writer and two readers.
 *
 * The steps are those of the C code: W1 .. W6 in eventring/ring.c, R0 .. R5 in
 * eventring/source.c (R0 in eventring/trace.c). Checked over wrap-around: the ring
 * has two places, the writer goes through BLOCKS blocks and reuses each place.
 *
 * Memory. Promela's is sequentially consistent, so what C11 allows beyond is
 * modelled as reordering:
 *   - stores go through a window of pending ones and reach memory in any order,
 *     except that a store waits for earlier ones to the same word, a release store
 *     for all earlier ones, and a store after a release fence for all before it;
 *   - loads between two acquire operations happen in any order (one done flag each);
 *     a load after an acquire load or fence waits for those before it.
 * That is more than x86-64 does and what arm64 may do.
 *
 * A place has five words that stand for all: the sequence number (SEQ), the header
 * (HDR: events_before, base, open spans), a payload word (PAY), the event word that
 * announces it (WORD), and the committed length (COM). Block s writes the value s.
 *
 * Property: what a reader accepts as block s is of block s only, an event seen has
 * its payload, and a block known to be complete has all that was written into it.
 *
 * The whole search with both readers is long; they do not act on each other nor on
 * the writer, so that each is checked in full with the writer (-DMAPPING_READER_ONLY,
 * -DFILE_READER_ONLY) and both together with hashed states.
 *
 * Mutations, each of which must fail: -DNO_W2 -DNO_R4 (the fences), -DNO_R5 (the
 * second look), -DW4_RELAXED (both releases, W4 and W5: either alone orders
 * W3 for those who have seen the head),
 * -DW6_RELAXED, -DR2_RELAXED (payload and word). -DREACHED fails
 * when a reader accepts a block from a place that was reused: the proof that the
 * property is not true of nothing.
 */

#define PLACES 2
#define BLOCKS 4
#define WINDOW 5 /* stores pending at most */

#define PLACE(s) (((s) - 1) % PLACES)
#define SEQ(p) (5 * (p))
#define HDR(p) (5 * (p) + 1)
#define WORD(p) (5 * (p) + 2)
#define PAY(p) (5 * (p) + 3)
#define COM(p) (5 * (p) + 4)
#define HEAD (5 * PLACES)

byte memory[5 * PLACES + 1];

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

/* ---- The writer: next_block, put, complete_block in ring.c ----------------------- */

active proctype writer() {
  byte s = 1;
  do
  :: s <= BLOCKS ->
     store_relaxed(SEQ(PLACE(s)), 0);   /* W1 */
#ifndef NO_W2
     release_fence();             /* W2 */
#endif
     store_relaxed(WORD(PLACE(s)), 0);  /* W3: zeros, then the header */
     store_relaxed(PAY(PLACE(s)), 0);
     store_relaxed(COM(PLACE(s)), 0);
     store_relaxed(HDR(PLACE(s)), s);
#ifdef W4_RELAXED
     store_relaxed(SEQ(PLACE(s)), s);
     store_relaxed(HEAD, s);
#else
     store_release(SEQ(PLACE(s)), s);   /* W4 */
     store_release(HEAD, s);            /* W5 */
#endif
     store_relaxed(PAY(PLACE(s)), s);   /* W6 */
#ifdef W6_RELAXED
     store_relaxed(WORD(PLACE(s)), s);
#else
     store_release(WORD(PLACE(s)), s);
#endif
     store_release(COM(PLACE(s)), 1);   /* complete_block: before the next W1 */
     s++
  :: else -> break
  od
}

/* ---- Readers ------------------------------------------------------------------------
 * Each tries once, at any moment: it keeps nothing from one attempt to the next, and
 * the writer does not know of it. Of what it copies only what matters is kept. */

#define LOADED_HEADER 1
#define LOADED_COMMITTED 2
#define LOADED_WORD 4
#define LOADED_PAYLOAD 8
#define LOADED_SEQUENCE 16 /* again: R5 */
#define LOADED_COPY 15

/* R0: the head, acquire; a block that it vouches for: the newest, or the one before,
   which is complete. */
inline choose_block() {
  atomic {
    memory[HEAD] > 0 -> s = memory[HEAD];
    if
    :: done = LOADED_COMMITTED /* of no interest */
    :: s > 1 -> s--; complete = true
    fi
  }
}

/* One load of a group, at most once in it. */
#define LOAD(what, condition, action) \
  atomic { !(done & what) && (condition) -> action; done = done | what }

#define TAKE_HEADER torn = torn || memory[HDR(PLACE(s))] != s
#define TAKE_COMMITTED partial = memory[COM(PLACE(s))] != 1
#define TAKE_WORD seen = memory[WORD(PLACE(s))] != 0; \
                  torn = torn || (seen && memory[WORD(PLACE(s))] != s)
#define TAKE_PAYLOAD stale = memory[PAY(PLACE(s))] != s

inline accept() {
#ifdef REACHED
  assert(s <= PLACES);
#endif
  assert(!torn);
  assert(!(seen && stale));
  assert(!complete || (seen && !partial))
}

/* What is finished leaves nothing that would tell one state from another. */
inline forget() {
  d_step {
    s = 0; done = 0; complete = false; torn = false; seen = false; stale = false;
    partial = false; same = false
  }
}

#ifndef FILE_READER_ONLY
/* own_block: through the mapping. */
active proctype mapping_reader() {
  byte s, done;
  bool complete, torn, seen, stale, partial, same;
end:
  choose_block();                                              /* R0 */
  if
  :: memory[SEQ(PLACE(s))] == s -> skip                        /* R1, acquire */
  :: else -> goto over
  fi;
  do
  :: LOAD(LOADED_HEADER, true, TAKE_HEADER)                    /* R3 */
  :: LOAD(LOADED_COMMITTED, true, TAKE_COMMITTED)
  :: LOAD(LOADED_WORD, true, TAKE_WORD)                        /* R2, acquire */
#ifdef R2_RELAXED
  :: LOAD(LOADED_PAYLOAD, true, TAKE_PAYLOAD)
#else
  :: LOAD(LOADED_PAYLOAD, done & LOADED_WORD, TAKE_PAYLOAD)    /* R3 */
#endif
#ifdef NO_R4
  :: LOAD(LOADED_SEQUENCE, true, same = memory[SEQ(PLACE(s))] == s)
  :: done == (LOADED_COPY | LOADED_SEQUENCE) -> break
#else
  :: done == LOADED_COPY -> break                              /* R4 */
#endif
  od;
#ifndef NO_R4
  same = memory[SEQ(PLACE(s))] == s;                           /* R5 */
#endif
#ifdef NO_R5
  same = true;
#endif
  if :: same -> accept() :: else fi;
over:
  forget()
}

#endif
#ifndef MAPPING_READER_ONLY
/* file_block: with pread, whose loads within one call come in any order. What is
   not complete is copied a second time; only what the first call saw counts. */
active proctype file_reader() {
  byte s, done;
  bool complete, torn, seen, stale, partial, same;
end:
  choose_block();                                              /* R0 */
  do /* first call: R1, R2 */
  :: LOAD(LOADED_HEADER, true, TAKE_HEADER)
  :: LOAD(LOADED_COMMITTED, true, TAKE_COMMITTED)
  :: LOAD(LOADED_WORD, true, TAKE_WORD)
  :: LOAD(LOADED_PAYLOAD, true, TAKE_PAYLOAD)
  :: LOAD(LOADED_SEQUENCE, true, same = memory[SEQ(PLACE(s))] == s)
  :: done == (LOADED_COPY | LOADED_SEQUENCE) -> break
  od;
  if
  :: !same -> goto over
  :: same && (complete || !seen) -> done = 0 /* the first copy will do */
  :: same && !complete && seen ->
     done = LOADED_COMMITTED; torn = false; same = false;
     do /* second call: R3 */
     :: LOAD(LOADED_HEADER, true, TAKE_HEADER)
     :: LOAD(LOADED_WORD, true, TAKE_WORD)
     :: LOAD(LOADED_PAYLOAD, true, TAKE_PAYLOAD)
#ifdef NO_R4
     :: LOAD(LOADED_SEQUENCE, true, same = memory[SEQ(PLACE(s))] == s)
     :: done == (LOADED_COPY | LOADED_SEQUENCE) -> break
#else
     :: done == LOADED_COPY -> break                           /* R4 */
#endif
     od
  fi;
#ifdef NO_R4
  if :: done == 0 -> same = true :: else fi; /* as if loaded with the first call */
#else
  same = memory[SEQ(PLACE(s))] == s;                           /* R5 */
#endif
#ifdef NO_R5
  same = true;
#endif
  if :: same -> accept() :: else fi;
over:
  forget()
}
#endif
