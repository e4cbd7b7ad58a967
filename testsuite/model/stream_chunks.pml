/* SPDX-License-Identifier: MIT */
/* stream_chunks.pml: claiming chunks of a stream, and handing them between lanes and helper.
 *
 * The steps are those of eventring/producer/stream.c. A chunk's state changes by
 * compare-and-exchange with acquire and release, or by a release store of who owns it, so
 * memory is that of Promela. Chunks have three blocks here, and each lane CHUNKS of them. There
 * is room for some chunks only (ROOM), until someone makes more, at any time (MORE_ROOM).
 *
 * A lane writes BLOCKS blocks. At each it first finds the place of the next block, then
 * finishes the present one, then writes the next. At the last place of a chunk it needs the
 * next chunk; without one it starves: it uses that place again and again.
 *
 * Properties
 *   mapped    a lane writes into chunks only that are mapped and its own;
 *   once      no place is written to twice, but the last one of a chunk by a lane that starves;
 *   disjoint  each claim is one chunk's;
 *   claimed   no claim is lost: each is a chunk that was written to, or is still kept;
 *   done      when a lane is finished and the helper sleeps, none of its full chunks is mapped,
 *             and it waits for nothing.
 *
 * Mutations (check-model.sh; all must fail)
 *   -DRELEASED_EARLY   a full chunk is released before its last block is finished
 *   -DFREE_BEFORE_UNMAP  a released chunk is free before it is unmapped
 *   -DCLAIM_IN_TWO     the claim loads and stores
 *   -DTAKE_IN_TWO      a state is loaded and stored, not compared and exchanged
 *   -DCLAIM_DROPPED    a claim for which there was no room is forgotten
 *   -DWAKE_FIRST       the helper is woken before there is something for it
 *   -DSTARVES_LATE     the last place is used although there is no next chunk, and then again
 *   -DREACHED_STARVED -DREACHED_OWN -DREACHED_HELP  fail when a lane starves; makes a chunk by
 *                      itself; uses one that the helper made
 */
#ifndef LANES
#define LANES 1
#endif
#ifndef CHUNKS
#define CHUNKS 4
#endif
#ifndef BLOCKS
#define BLOCKS 9
#endif
#ifndef ROOM
#define ROOM 2
#endif
#ifndef MORE_ROOM
#define MORE_ROOM 4
#endif
#define CLAIMS 8
#define NONE 15

#define FREE 0
#define BUSY 1
#define CLAIMED 2
#define READY 3
#define IN_USE 4
#define DONE 5

typedef lane_t {
  byte state[CHUNKS];
  byte claim[CHUNKS];
  bool mapped[CHUNKS];
  byte written[CHUNKS]; /* bits 0 to 2: of its places */
  bool wanted;
  bool finished
}
lane_t lane[LANES];
byte next_claim, room = ROOM;
byte owners[CLAIMS]; /* chunks that ever had this claim */
byte work;
bool asleep;

/* found = a chunk of lane l that was in state `from` and is now in `to`, or NONE */
#ifdef TAKE_IN_TWO
#define FIND(l, from, to, found, i) \
  found = NONE; i = 0; \
  do \
  :: i < CHUNKS && lane[l].state[i] == from -> found = i; break \
  :: i < CHUNKS && lane[l].state[i] != from -> i++ \
  :: i == CHUNKS -> break \
  od; \
  if \
  :: found != NONE -> lane[l].state[found] = to \
  :: else \
  fi; i = 0
#else
#define FIND(l, from, to, found, i) \
  found = NONE; i = 0; \
  do \
  :: atomic { i < CHUNKS && lane[l].state[i] == from -> lane[l].state[i] = to; found = i; break } \
  :: i < CHUNKS && lane[l].state[i] != from -> i++ \
  :: i == CHUNKS -> break \
  od; i = 0
#endif

#ifdef CLAIM_IN_TWO
#define CLAIM(to) to = next_claim; next_claim = to + 1
#else
#define CLAIM(to) atomic { to = next_claim; next_claim = next_claim + 1 }
#endif

/* ok = whether lane l has got a chunk ready; c, i and n are of the caller */
#define PREPARE(l, ok, c, i, n) \
  FIND(l, CLAIMED, BUSY, c, i); \
  if \
  :: c == NONE -> \
    FIND(l, FREE, BUSY, c, i); \
    if \
    :: c != NONE -> CLAIM(n); assert(n < CLAIMS); lane[l].claim[c] = n; \
       owners[n]++; assert(owners[n] == 1) \
    :: else \
    fi \
  :: else \
  fi; \
  ok = false; \
  if \
  :: c != NONE -> \
    if \
    :: room > 0 -> \
      atomic { if :: room > 0 -> room--; ok = true :: else fi } \
    :: room == 0 \
    fi; \
    if \
    :: ok -> assert(!lane[l].mapped[c]); lane[l].mapped[c] = true; lane[l].written[c] = 0; \
       lane[l].state[c] = READY \
    :: else -> GIVE_UP(l, c) \
    fi \
  :: else \
  fi

#ifdef CLAIM_DROPPED
#define GIVE_UP(l, c) lane[l].state[c] = FREE
#else
#define GIVE_UP(l, c) lane[l].state[c] = CLAIMED
#endif

#ifdef FREE_BEFORE_UNMAP
#define RELEASE(l, c) lane[l].state[c] = FREE; lane[l].mapped[c] = false
#else
#define RELEASE(l, c) lane[l].mapped[c] = false; lane[l].state[c] = FREE
#endif

#define WAKE() atomic { work = work + 1; asleep = false }

/* The helper retries after a while when there was no room. */
active proctype helper() {
  byte seen, l, c, i, n;
  bool ok, all_served;
end:
  do
  :: seen = work; all_served = true; l = 0;
     do
     :: l < LANES ->
        do
        :: FIND(l, DONE, BUSY, c, i);
           if
           :: c == NONE -> break
           :: else -> RELEASE(l, c)
           fi
        od;
        if
        :: lane[l].wanted ->
           PREPARE(l, ok, c, i, n);
           if
           :: ok -> lane[l].wanted = false
           :: else -> all_served = false
           fi
        :: else
        fi;
        l++
     :: else -> break
     od;
     l = 0; c = 0; n = 0; ok = false;
     atomic {
       if
       :: work == seen && all_served -> asleep = true
       :: else
       fi
     };
end_waiting:
     !asleep
  od
}

/* Someone makes room, once. */
active proctype others() {
  room = room + MORE_ROOM
}

active [LANES] proctype writer() {
  byte l = _pid - 2, c, i, n, block, present = NONE, next = NONE, left = NONE, at;
  byte held = NONE; /* the chunk of the present block */
  bool ok, starved, take;
  do
  :: block < BLOCKS ->
     /* next_place */
     if
     :: left != NONE -> lane[l].state[left] = DONE; left = NONE; WAKE()
     :: else
     fi;
     if
     :: present != NONE && at == 1 ->
        at = 2; take = true;
        /* half of the chunk */
#ifdef WAKE_FIRST
        WAKE(); lane[l].wanted = true
#else
        lane[l].wanted = true; WAKE()
#endif
     :: else ->
        if
        :: next == NONE ->
           FIND(l, READY, IN_USE, next, i);
           if
           :: next == NONE ->
              PREPARE(l, ok, c, i, n);
              FIND(l, READY, IN_USE, next, i);
#ifdef REACHED_OWN
              assert(next == NONE)
#endif
           :: else ->
#ifdef REACHED_HELP
              assert(false)
#else
              skip
#endif
           fi
        :: else
        fi;
        c = 0; n = 0; ok = false;
        if
#ifdef STARVES_LATE
        :: next == NONE && present != NONE && at == 2 && !starved -> at = 4; take = true
        :: next == NONE && !(present != NONE && at == 2 && !starved) ->
#else
        :: next == NONE ->
#endif
           starved = (present != NONE);
           take = false
#ifdef REACHED_STARVED
           ; assert(!starved)
#endif
        :: next != NONE && present != NONE && at == 2 && !starved -> at = 4; take = true
        :: else ->
           left = present; present = next; next = NONE; at = 1; starved = false; take = true
        fi
     fi;
#ifdef RELEASED_EARLY
     if
     :: left != NONE -> lane[l].state[left] = DONE; left = NONE; WAKE()
     :: else
     fi;
#endif
     /* the present block is finished */
     if
     :: held != NONE -> assert(lane[l].mapped[held] && lane[l].state[held] == IN_USE)
     :: else
     fi;
     /* the next one is written */
     if
     :: present == NONE -> held = NONE /* aside */
     :: else ->
        held = present;
        assert(lane[l].mapped[present] && lane[l].state[present] == IN_USE);
        if
        :: take ->
           assert(!(lane[l].written[present] & at));
           lane[l].written[present] = lane[l].written[present] | at
        :: !take ->
           assert(starved);
           assert(at == 2); /* what was recorded stays */
           lane[l].written[present] = lane[l].written[present] | 4
        fi
     fi;
     block++
  :: else -> break
  od;
  lane[l].finished = true;
  /* done: when the helper sleeps, what is full has gone */
  asleep;
  assert(!lane[l].wanted);
  c = 0;
  do
  :: c < CHUNKS -> assert(lane[l].state[c] != DONE); c++
  :: else -> break
  od
}
