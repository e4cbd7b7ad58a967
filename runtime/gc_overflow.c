/* SPDX-License-Identifier: MIT */
/* runtime/gc_overflow.c: what the collector does when there is no memory for its own
 * records.
 *
 * Marking, barriers and tables work without memory for records. Each record that cannot
 * be made is replaced by something that needs no memory and costs time or exactness:
 *
 *   mark stacks (Gc.promoted, Gc.grey),  a bit for the object, see below
 *   remembered set
 *   Gc.remembered_threads                is a list through the threads themselves
 *   Gc.partial                           the object is scanned at once (gc_scan.c,
 *                                        gc_thread.c)
 *   Gc.cards                             the part is scanned whole (`fresh` becomes 2)
 *   Gc.new_interned                      the whole intern table is examined (gc_sweep.c)
 *   weak slots, ephemerons that wait     this marking follows them as strong references
 *   GcEphemerons.reached                 all entries that wait are examined
 *   Gc.candidates, Gc.found              the object lives until a later cycle
 *   Gc.finalizers                        the dead wait in Gc.found for an empty queue
 *   Gc.finalizable, Gc.fixed             are allocated where an error can be raised
 *
 * The bits. A chunk's header has a bit for each 8 bytes of the chunk, in pages that are
 * not touched while no bit is set. For a large object LargeHeader.logged is the bit. A
 * set bit means that the object is to be scanned. Three reasons share the bit:
 *
 *   promoted  a minor marking has promoted the object and has yet to scan it;
 *   logged    the barrier has logged it, and the next minor collection has to scan it;
 *   grey      a major marking has marked it (or must rescan it) and has yet to scan it.
 *
 * Gc.overflow_minor says that there may be a promoted or logged object with a bit,
 * Gc.overflow_major that there may be a grey one.
 *
 * A minor collection clears the bits of all objects and scans these by the minor marking,
 * in passes over the chunks, until a pass has promoted no new object. That is right for
 * each reason. A promoted or logged object needs just this scan and is clean afterwards,
 * and a scan of any other object does no harm. A grey object counts as scanned by the
 * major marking too, because the minor marking turns white objects grey. The exceptions
 * are objects of which the minor marking leaves a part out: large parts of tables, and
 * slots below the watermark of a thread (scans_all). Such objects go to Gc.grey, or get
 * their bit again as grey ones. So after a minor collection each set bit belongs to a
 * grey object that is clean or a thread; outside of marking no bit is set.
 *
 * When Gc.grey is empty, the major marking moves objects with a bit there; Gc.grey has
 * room for 16 from the beginning (LEAST_RECORDS, gc_records.c). Objects that are not
 * marked or are logged are left to the next minor collection (Gc.overflow_minor). Each
 * undivided step at the end of marking begins with a minor collection, after which all
 * objects with a bit can be moved. So marking ends.
 *
 * Both kinds of passes end, since a pass follows another one only if an object was
 * promoted or marked in between. In most heaps one pass with a mark stack of 64 is
 * enough.
 *
 * An object does not die while its bit is set. While the program runs, only these have a
 * bit: logged objects, grey ones, and those that a piece of a minor collection has
 * promoted and left to the next piece. Each of them was reachable when the last minor
 * collection ended, or later, and the end of marking of each cycle contains a minor
 * collection.
 */
#include "gc_internal.h"

#include "gc.h"
#include "heap.h"
#include "thread.h"

#define WORD_BITS 64
#define BLOCK_WORDS (HEAP_BLOCK_SIZE / HEAP_GRANULE / WORD_BITS)
#define PASS_WORK 512   /* work of examining a chunk */
#define LARGE_WORK 64   /* work of examining a large allocation */

_Static_assert(sizeof(lua_State) + LUA_EXTRASPACE <= HEAP_SMALL_MAX,
               "a large object begins behind its LargeHeader");

/* Returns the number of words of Chunk.overflow that belong to blocks in use. */
static size_t words_of(const Chunk *c) { return c->nblocks * BLOCK_WORDS; }

/* Tells whether the word's bits mean anything: those of a block without memory are not
 * zero yet. */
static bool has_memory(const Chunk *c, size_t word) {
  return c->blocks[word / BLOCK_WORDS].state != BLOCK_VACANT;
}

/* ---- setting bits -------------------------------------------------------- */

static void set_bit(Domain *d, GCObject *o) {
  if (o->gc & GC_LARGE) {
    heap_large_of(o)->logged = 1;
    d->gc.overflow_large = 1;
    return;
  }
  HeapLocation at = heap_location_of(&d->heap, o);
  size_t granule = at.offset / HEAP_GRANULE;
  at.chunk->overflow[granule / WORD_BITS] |= UINT64_C(1) << granule % WORD_BITS;
  at.chunk->overflowed = true;
}

NOINLINE void gc_overflow_minor(Domain *d, GCObject *o) {
  set_bit(d, o);
  d->gc.overflow_minor = 1;
}

NOINLINE void gc_overflow_major(Domain *d, GCObject *o) {
  set_bit(d, o);
  d->gc.overflow_major = 1;
}

bool gc_has_overflowed(Domain *d, const GCObject *o) {
  if (o->gc & GC_YOUNG) return false;
  if (o->gc & GC_LARGE) return heap_large_of(o)->logged;
  HeapLocation at = heap_location_of(&d->heap, o);
  size_t granule = at.offset / HEAP_GRANULE;
  return at.chunk->overflow[granule / WORD_BITS] >> granule % WORD_BITS & 1;
}

static GCObject *object_at(Chunk *c, size_t word, uint64_t bits) {
  size_t granule = word * WORD_BITS + (size_t)__builtin_ctzll(bits);
  return heap_address_of((HeapLocation){c, granule * HEAP_GRANULE});
}

/* ---- the minor marking --------------------------------------------------- */

static bool has_large_part(const Table *t) {
  return heap_is_large(array_bytes(t)) || heap_is_large(node_bytes(t));
}

/* Tells whether the minor marking follows all references of an old object. */
static bool scans_all(const GCObject *o) {
  return o->type != LUA_TTHREAD && (o->type != LUA_TTABLE || !has_large_part((const Table *)o));
}

/* Rescans the object and makes it clean, except a thread, which is logged in a list. */
static void scan_minor(Domain *d, GCObject *o) {
  gc_rescan(d, o);
  if (o->type != LUA_TTHREAD) o->gc |= GC_CLEAN;
  if (is_marking(d) && is_marked(d, o) && !scans_all(o)) GC_PUSH_GREY(d, o);
  gc_drain_promoted(d);
}

static void scan_chunk_minor(Domain *d, Chunk *c) {
  c->overflowed = false;
  for (size_t i = 0; i < words_of(c); i++) {
    uint64_t bits = c->overflow[i];
    if (bits == 0 || !has_memory(c, i)) continue;
    c->overflow[i] = 0; /* bits that are set from now on are for the next pass */
    for (; bits != 0; bits &= bits - 1) scan_minor(d, object_at(c, i, bits));
  }
}

static bool take_large_bit(LargeHeader *large) {
  if (large->cards != NULL || !large->logged) return false; /* a part: not this bit */
  large->logged = 0;
  return true;
}

static void scan_large_minor(Domain *d) {
  LargeHeader *list = &d->heap.large_old;
  if (!d->gc.overflow_large) return;
  d->gc.overflow_large = 0;
  for (LargeHeader *large = list->next; large != list;
       large = large->next, d->gc.step_work += LARGE_WORK)
    if (take_large_bit(large)) scan_minor(d, (GCObject *)(large + 1));
}

void gc_scan_overflowed(Domain *d) {
  d->gc.overflow_minor = 0;
  for (Chunk *c = d->heap.chunks; c != NULL; c = c->next, d->gc.step_work += PASS_WORK)
    if (c->overflowed) scan_chunk_minor(d, c);
  scan_large_minor(d);
}

/* ---- the major marking --------------------------------------------------- */

static bool is_logged_table(const Table *t) {
  return (heap_is_large(array_bytes(t)) && heap_large_of(t->array)->logged) ||
         (heap_is_large(node_bytes(t)) && heap_large_of(t->node)->logged);
}

static bool is_logged(const GCObject *o) {
  return !(o->gc & GC_CLEAN) || (o->type == LUA_TTABLE && is_logged_table((const Table *)o));
}

/* Tells whether the bit is set only because the object is grey. If not, the next minor
 * collection has to reach the object, even if the bit was not set for that reason. An
 * object that a piece of a minor collection has promoted and left to the next piece looks
 * like a grey one. */
static bool is_only_grey(Domain *d, const GCObject *o) {
  bool left = d->gc.minor_begun && d->gc.overflow_minor; /* there may be such objects */
  bool only = !left && is_marked(d, o) && (o->type == LUA_TTHREAD || !is_logged(o));
  if (!only) d->gc.overflow_minor = 1;
  return only;
}

/* Moves the grey objects of one word to Gc.grey, which is empty. A word has at most 32:
 * the smallest object is a closure of 16 bytes. Those that find no room stay for another
 * pass. */
static void move_word(Domain *d, Chunk *c, size_t i) {
  GcVector *grey = &d->gc.grey;
  if (!has_memory(c, i)) return;
  for (uint64_t bits = c->overflow[i]; bits != 0; bits &= bits - 1) {
    GCObject *o = object_at(c, i, bits);
    if (grey->n == grey->capacity) {
      d->gc.overflow_major = 1;
      return;
    }
    if (!is_only_grey(d, o)) continue;
    c->overflow[i] &= ~(bits & -bits);
    grey->items[grey->n++] = o;
  }
}

static void move_large(Domain *d) {
  GcVector *grey = &d->gc.grey;
  LargeHeader *list = &d->heap.large_old;
  for (LargeHeader *large = list->next; large != list;
       large = large->next, d->gc.step_work += LARGE_WORK) {
    GCObject *o = (GCObject *)(large + 1);
    if (large->cards != NULL || !large->logged || !is_only_grey(d, o)) continue;
    if (grey->n == grey->capacity) {
      d->gc.overflow_major = 1; /* another pass moves the others */
      return;
    }
    large->logged = 0;
    grey->items[grey->n++] = o;
  }
}

static bool has_bits(const Chunk *c) {
  for (size_t i = 0; i < words_of(c); i++)
    if (c->overflow[i] != 0 && has_memory(c, i)) return true;
  return false;
}

static void start_pass(Domain *d) {
  Gc *gc = &d->gc;
  gc->overflow_major = 0;
  gc->overflow_chunk = d->heap.chunks;
  gc->overflow_word = 0;
  if (gc->overflow_large) move_large(d);
}

static void end_chunk(Gc *gc) {
  gc->overflow_chunk->overflowed = has_bits(gc->overflow_chunk);
  gc->overflow_chunk = gc->overflow_chunk->next;
  gc->overflow_word = 0;
}

/* Continues the pass until it finds objects. New chunks come first in the list and have
 * no bits that this pass must see. Returns the work done. */
static size_t continue_pass(Domain *d) {
  Gc *gc = &d->gc;
  size_t looked = 0;
  while (gc->overflow_chunk != NULL && gc->grey.n == 0) {
    if (gc->overflow_chunk->overflowed && gc->overflow_word < words_of(gc->overflow_chunk)) {
      looked += sizeof(uint64_t);
      move_word(d, gc->overflow_chunk, gc->overflow_word++);
    } else {
      looked += PASS_WORK;
      end_chunk(gc);
    }
  }
  return looked;
}

size_t gc_refill_grey(Domain *d) {
  Gc *gc = &d->gc;
  if (gc->overflow_chunk == NULL) {
    if (!gc->overflow_major) return 0;
    start_pass(d);
  }
  return OBJECT_WORK + continue_pass(d);
}

void gc_forget_overflowed_major(Domain *d) {
  d->gc.overflow_major = 0;
  d->gc.overflow_chunk = NULL;
}
