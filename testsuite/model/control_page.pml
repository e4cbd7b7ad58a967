/* SPDX-License-Identifier: MIT */
/* control_page.pml: the words wanted and gate of the control page, and the log of it.
 *
 * The steps are those of the C code: evr_control_change, evr_control_settle and
 * log_switch in eventring/format/control.c, evr_recording_check_gate in
 * eventring/producer/gate.c, the reader's use of the log in eventring/reader. All
 * accesses to the two words are sequentially consistent, and an entry is made valid by a
 * release store before the gate changes, so memory is that of Promela.
 *
 * CHANGERS processes change `wanted` once each, in any way, and bring the gate in line. With
 * DEATH the first of them may die between any two steps; with GARBAGE another process stores
 * what is no class into `wanted`. The producer brings the gate in line at its safepoints,
 * which come at any time.
 *
 * With SPAN the producer's probes record one span of class X: its begin, at any time while the
 * class goes on, and later an end of its id. If the class is off at the true end, that is
 * lost, and the end that is recorded afterwards is another span's. A reader notes how far the
 * events have come, then reads the log, then delivers. Time is kept only as far as it matters:
 * of each entry of the log, whether its ticks were read after those of the begin, and after
 * those of the end. (DEATH changes nothing there: it is no more than a step that takes long.)
 *
 * Properties
 *   follows   after all changers are done and the producer has passed a safepoint, the gate
 *             follows from wanted, which is valid; without a safepoint, too, if none has died;
 *   kept      no change of wanted is lost: each is made to what the one before has left;
 *   logged    no class goes on that is not in an entry of the log that is valid;
 *   torn      a reader never takes an end for that of a span whose end was lost. An entry has
 *             two times for that: one before the gate changes and one after, the latter endless
 *             until then; who comes to an event later than the first tears what began before
 *             the second. With the first alone (ONE_TIME) it holds only if nobody is held up at
 *             two places, which is what PROMPT says:
 *               - between reading an entry's ticks and changing the gate. Else the gate may go
 *                 on, off, and then on again by that late change, whose entry is older than a
 *                 span that has lost its end;
 *               - between the test of the gate and the reading of the clock in a probe. Else a
 *                 span begins, by the file, after the ticks of an entry, though the class
 *                 was off, and may lose its end before the class goes on.
 *
 * A place of the log is not used again here (it has ENTRIES): who is held up in writing an
 * entry while 64 others are written is not of this model.
 *
 * Mutations (check-model.sh says which must fail):
 *   -DNO_SECOND_LOOK       who has changed the gate does not look again
 *   -DNO_SAFEPOINT         the producer does not settle
 *   -DNO_REPAIR            the producer leaves garbage where it is
 *   -DWANTED_STORED -DGATE_STORED
 *                          stored, not compared and exchanged
 *   -DGATE_BEFORE_WANTED   who changes settles first
 *   -DNO_LOG -DLOG_AFTER_GATE
 *   -DTICKS_BEFORE_GATE    the entry's time is read before the gate is loaded
 *   -DLOG_BEFORE_EVENTS    the reader reads the log first, then notes the events
 *   -DHOLES_PASSED         the reader never looks again at an entry that was being written
 *                          while the next one was there
 *   -DONE_TIME              entries have no second time
 *   -DREACHED_TORN         fails when a span is torn, when an end is matched, when a safepoint
 *   -DREACHED_MATCH        finds something to do after a death: the proof that the
 *   -DREACHED_SETTLE       properties are not true of nothing
 * -DPAUSES: changes are pauses and resumptions only.
 */

#ifndef CHANGERS
#define CHANGERS 2
#endif
#ifndef GARBAGE
#define GARBAGE 0
#endif
#ifndef DEATH
#define DEATH 0
#endif
#ifndef SPAN
#define SPAN 1
#endif
#define ENTRIES 8

#define RUNS 1
#define X 2
#define Y 4
#define BAD 8 /* no class has this bit */
#define NAMED (RUNS | X | Y)
#define GATE_OF(w) (((w) & RUNS) -> (w) : 0)

byte wanted, gate;
#define SAME_GATE (gate == g)

typedef Entry { bit valid; byte classes; bit after_begin; bit after_end; bit opening }
Entry log[ENTRIES];
byte switches;

bool begun, ended; /* the ticks of the begin, and of an end, have been read */
byte events;       /* published: 1 the begin, 2 an end */
bool lost;         /* the true end was not recorded */

byte done;    /* changers that will do nothing any more */
bool dead;    /* the first has died on the way, */
bool over;    /* or has come to its end */
bool started; /* wanted and gate are set */
bool settling; /* the producer */

/* ---- Bringing the gate in line -------------------------------------------------------- */

#ifndef ONE_TIME
#define OPENING_STATE ; bool done_it
#else
#define OPENING_STATE
#endif
#define SETTLE_STATE byte g, next, n TICKS_STATE OPENING_STATE

#ifdef TICKS_BEFORE_GATE
#define TICKS_STATE ; bool after_begin, after_end
#define EARLY_TICKS d_step { after_begin = begun; after_end = ended }
#else
#define TICKS_STATE
#define EARLY_TICKS skip
#endif

/* An entry has a second time, until which spans that began are torn. It is
   endless when the entry becomes valid, and is read after the gate has changed; who does not
   change it takes the entry back. */
inline store_ticks() {
  d_step {
    log[n].classes = next & ~g;
#ifndef ONE_TIME
    log[n].opening = 1;
#endif
#ifdef TICKS_BEFORE_GATE
    log[n].after_begin = after_begin;
    log[n].after_end = after_end
#else
    log[n].after_begin = begun;
    log[n].after_end = ended
#endif
  }
}

inline make_valid() { log[n].valid = 1 }

inline log_switch() {
  d_step { assert(switches < ENTRIES); n = switches; switches++ };
#ifdef PROMPT /* together with the change of the gate */
#else
  store_ticks();
  make_valid()
#endif
}

inline end_opening() {
#ifndef ONE_TIME
  d_step {
    if
    :: (next & ~g) && done_it -> log[n].after_begin = begun; log[n].opening = 0
    :: (next & ~g) && !done_it -> log[n].classes = 0; log[n].opening = 0
    :: else
    fi
  };
#endif
  d_step { forget_settling() }
}

/* The class is in an entry that is valid; that it is there in time is what the reader
   finds out. */
#define LOGGED(i, class) (log[i].valid && (log[i].classes & class))
#define IN_LOG(class) (LOGGED(0, class) || LOGGED(1, class) || LOGGED(2, class) || \
  LOGGED(3, class) || LOGGED(4, class) || LOGGED(5, class) || LOGGED(6, class) || \
  LOGGED(7, class))
#define ON(class) ((next & class) && !(gate & class))

inline forget_settling() {
#ifdef TICKS_BEFORE_GATE
  after_begin = false; after_end = false;
#endif
#ifndef ONE_TIME
  done_it = false;
#endif
  g = 0; next = 0; n = 0
}

inline change_gate() {
  atomic {
#ifdef PROMPT
    if :: (next & ~g) -> store_ticks(); make_valid() :: else fi;
#endif
    if
#ifdef GATE_STORED
    :: true ->
#else
    :: gate == g ->
#endif
       assert(!ON(X) || IN_LOG(X));
       assert(!ON(Y) || IN_LOG(Y));
#ifndef ONE_TIME
       done_it = true;
#endif
       gate = next
#ifndef GATE_STORED
    :: else /* someone else was quicker */
#endif
    fi
  }
}

inline settle() {
  do
  :: EARLY_TICKS;
     g = gate;
     atomic {
       next = GATE_OF(wanted);
       if :: g == next -> forget_settling(); break :: else fi
     };
#ifdef LOG_AFTER_GATE
     change_gate();
#endif
#ifndef NO_LOG
     if :: (next & ~g) -> log_switch() :: else fi;
#endif
#ifndef LOG_AFTER_GATE
     change_gate();
#endif
     end_opening();
#ifdef NO_SECOND_LOOK
     break
#endif
  od
}

/* ---- Who changes what is recorded ------------------------------------------------------- */

inline choose_change() {
  if
  :: set = 0; clear = RUNS /* pause */
  :: set = RUNS; clear = 0 /* resume */
#ifndef PAUSES
  :: set = X; clear = 0
  :: set = 0; clear = X
  :: set = Y; clear = X
#endif
  fi
}

#define CHANGED(w) ((((w) & NAMED) | set) & ~clear)

inline change_wanted() {
  do
  :: w = wanted;
     atomic {
       if
#ifdef WANTED_STORED
       :: true ->
#else
       :: wanted == w ->
#endif
          assert(CHANGED(w) == CHANGED(wanted));
          wanted = CHANGED(w); w = 0; set = 0; clear = 0; break
#ifndef WANTED_STORED
       :: else
#endif
       fi
     }
  od
}

/* Nobody is at work. */
#define ALL_DONE (done == CHANGERS + GARBAGE)
#define QUIET (ALL_DONE && !settling && !dead && !GARBAGE)

#if DEATH
#define ALIVE provided (!(dead && _pid == 0))
#else
#define ALIVE
#endif

active [CHANGERS] proctype changer() ALIVE {
  byte w, set, clear;
  SETTLE_STATE;
  started;
  choose_change();
#ifdef GATE_BEFORE_WANTED
  settle();
#endif
  change_wanted();
#ifndef GATE_BEFORE_WANTED
  settle();
#endif
  atomic {
    done++;
    if :: _pid == 0 -> over = true :: else fi;
    assert(!QUIET || gate == GATE_OF(wanted))
  }
}

#if DEATH
active proctype death() {
  if
  :: atomic { started && !over -> dead = true; done++ }
  :: over
  fi
}
#endif

#if GARBAGE
active proctype stray_store() {
  atomic { started -> wanted = BAD | RUNS | X; done++ }
}
#endif

/* ---- The producer ------------------------------------------------------------------------- */

/* One span of class X, and an end of its id. Who has tested the gate may be held up before it
   reads the clock, but for PROMPT. */
inline probe() {
  if
#ifdef PROMPT
  :: atomic { events == 0 && (gate & X) -> begun = true; events = 1 }
#else
  :: atomic { events == 0 && (gate & X) -> skip };
     atomic { begun = true; events = 1 }
#endif
  :: atomic { events == 1 && !(gate & X) -> lost = true }
  :: atomic { events == 1 && (gate & X) -> skip };
     atomic { ended = true; events = 2 }
  fi
}

/* evr_recording_check_gate */
inline safepoint() {
  atomic { all_done = ALL_DONE; g = gate };
  atomic {
    if
    :: g == seen_gate && wanted == seen_wanted -> g = 0
    :: else -> g = 0; settling = true
    fi
  };
#ifdef NO_SAFEPOINT
  settling = false;
#endif
  if
  :: settling ->
#ifdef REACHED_SETTLE
     assert(!(dead && all_done && gate != GATE_OF(wanted)));
#endif
     w = wanted;
     atomic {
       if
       :: !(w & ~NAMED) -> seen_wanted = w
#ifndef NO_REPAIR
       :: (w & ~NAMED) && wanted == w -> wanted = seen_wanted
#endif
       :: else
       fi;
       w = 0
     };
     settle();
     atomic { seen_gate = GATE_OF(seen_wanted); settling = false }
  :: else
  fi;
  atomic {
    assert(!all_done || (gate == GATE_OF(wanted) && !(wanted & ~NAMED)));
    assert(!QUIET || gate == GATE_OF(wanted));
    all_done = false
  }
}

active proctype producer() {
  byte w, seen_wanted, seen_gate;
  bool all_done;
  SETTLE_STATE;
  atomic {
    if :: wanted = X | RUNS :: wanted = X fi;
    gate = GATE_OF(wanted);
    seen_wanted = wanted; seen_gate = gate;
    started = true
  };
end:
  do
#if SPAN
  :: probe()
#endif
  :: safepoint()
  od
}

#if SPAN
/* ---- A reader ------------------------------------------------------------------------------ */

#define TEARS(e) \
  ((e.classes & X) && !e.after_end && (e.after_begin || e.opening))

#if defined(HOLES_PASSED) || defined(LOG_BEFORE_EVENTS)
#define NEWS (events > noted || events == 1)
#else
#define NEWS (events == 2) /* what it reads of the log earlier it reads again */
#endif

inline note_events() { atomic { NEWS -> noted = events } }

/* The entries written since the last time. Those that were being written then are read again,
   as are, for simplicity, all others: an entry may be applied twice. */
inline read_log() {
  atomic {
    at = seen; last = seen;
    do
    :: at < switches ->
       if
       :: log[at].valid ->
          last = at + 1;
          torn = torn || TEARS(log[at])
       :: else
       fi;
       at++
    :: else -> break
    od;
#ifdef HOLES_PASSED
    seen = last;
#endif
    at = 0; last = 0
  }
}

active proctype reader() {
  byte noted, seen, at, last;
  bool torn;
end:
  do
  ::
#ifdef LOG_BEFORE_EVENTS
     read_log();
     note_events();
#else
     note_events();
     read_log();
#endif
     atomic {
       if
       :: noted == 2 ->
#ifdef REACHED_TORN
          assert(!torn);
#endif
#ifdef REACHED_MATCH
          assert(torn);
#endif
          assert(torn || !lost);
          break
       :: else -> noted = 0
       fi
     }
  od
}
#endif
