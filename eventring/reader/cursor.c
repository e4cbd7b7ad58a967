/* SPDX-License-Identifier: MIT */
/* cursor.c: delivers the events of all rings of a file, poll by poll.
 *
 * A poll first notes the end of each ring (its limit). Then it reads what events refer
 * to: definitions and the log of the control page, which are written before the events
 * that need them. Then it delivers the events up to the limits. Whatever callbacks write
 * lies beyond the limits, so a poll always returns. One exception: a reader that the
 * producer has overtaken beyond its limit moves the limit once.
 *
 * Order: ring by ring, or merged by time, or in a coarser order (eventring_cursor_order).
 * The coarser order exists because going from ring to ring with each event costs ten
 * times as much as the event. Within a ring, events are delivered as written. A merged
 * poll continues with the ring whose next event is the oldest, until another ring has an
 * older event. If a thread was delayed between reading the clock and storing the event
 * word, the next poll delivers its event, after later events of other rings.
 */
#include "reader/backwards.h"
#include "reader/cursor.h"
#include "format/atomics.h"
#include "format/sized.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DAMAGE_BUDGET = EVENTRING_POLL_BLOCKS /* unreadable blocks that one poll tries */ };

/* ---- Readers --------------------------------------------------------------------- */

/* The watch of a ring that every poll must check. Its word is not 0, so the ring always
   counts as one to which an event was added. */
static const uint64_t always_news = 1;
static const struct evr_watch not_idle = {&always_news, &always_news, 0};

static bool reads_backwards(const eventring_cursor *c) {
  return c->flags & EVENTRING_OPEN_BACKWARDS;
}

static int make_reader(eventring_cursor *c, unsigned i, struct eventring_error *error) {
  unsigned slot = i / EVENTRING_RINGS, ring = i % EVENTRING_RINGS, at = c->made_count;
  c->reader[i] = evr_ring_reader_new(&c->meta, &c->definitions, slot, ring,
                                     c->opened_head[slot][ring]);
  if (!c->reader[i]) return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a cursor");
  if (c->seek_ns && !reads_backwards(c)) evr_ring_reader_seek(c->reader[i], c->seek_ns);
  c->reader[i]->tells_switches = c->switched != NULL;
  c->reader[i]->blocks.threaded = c->flags & EVENTRING_OPEN_AHEAD;
  evr_cursor_set_batches(c, c->reader[i]);
  for (c->made_count++; at > 0 && c->made[at - 1] > i; at--) {
    c->made[at] = c->made[at - 1];
    c->watch[at] = c->watch[at - 1];
  }
  c->made[at] = (uint16_t)i;
  c->watch[at] = not_idle;
  return EVENTRING_OK;
}

/* Makes readers for new rings. */
static int make_readers(eventring_cursor *c, struct eventring_error *error) {
  int status = EVENTRING_OK;
  while (status == EVENTRING_OK && c->taken < c->meta.made_count) {
    unsigned i = c->meta.made[c->taken];
    if (!c->rings || c->rings >> i % EVENTRING_RINGS & 1) status = make_reader(c, i, error);
    if (status == EVENTRING_OK) c->taken++;
  }
  return status;
}

/* Moves the readers to the present. Without EVENTRING_OPEN_NOW, readers find their first
   position in the first poll, which makes opening cheap. */
static int join_now(eventring_cursor *c, struct eventring_error *error) {
  unsigned budget = DAMAGE_BUDGET;
  int status = make_readers(c, error);
  if (status != EVENTRING_OK) return status;
  for (unsigned n = 0; n < c->made_count; n++)
    evr_ring_reader_join_now(c->reader[c->made[n]], &budget);
  return EVENTRING_OK;
}

/* ---- Opening and closing --------------------------------------------------------- */

static void destroy_cursor(eventring_cursor *c) {
  for (unsigned i = 0; i < EVR_ALL_RINGS; i++) evr_ring_reader_free(c->reader[i]);
  evr_definitions_free(&c->definitions);
  evr_metadata_close(&c->meta);
  free(c->batch_room);
  free(c);
}

int evr_cursor_open(eventring_cursor **cursor, struct evr_source source,
                    const char *path, unsigned flags,
                    struct eventring_error *error) {
  struct eventring_error cause = {0};
  if (flags & EVENTRING_OPEN_NOW && flags & EVENTRING_OPEN_BACKWARDS) {
    evr_source_close(&source);
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "%.200s: begin at the present, backwards",
                    path);
  }
  eventring_cursor *c = calloc(1, sizeof *c);
  if (!c) {
    evr_source_close(&source);
    return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a cursor");
  }
  c->meta.source = source;
  c->flags = flags;
  snprintf(c->meta.path, sizeof c->meta.path, "%s", path);
  int status = evr_metadata_open(&c->meta, !(flags & EVENTRING_OPEN_UNMAPPED), &cause);
  if (status == EVENTRING_OK)
    status = evr_definitions_catch_up(&c->definitions, &c->meta, &cause);
  if (status == EVENTRING_OK) evr_check_start(c);
  for (unsigned i = 0; i < EVR_ALL_RINGS; i++)
    (&c->opened_head[0][0])[i] = (&c->meta.ring[0][0])[i].head;
  if (status == EVENTRING_OK && flags & EVENTRING_OPEN_NOW) status = join_now(c, &cause);
  if (status != EVENTRING_OK) {
    destroy_cursor(c);
    return evr_fail(error, status, cause.sys_errno, "%.200s: %s", path, cause.text);
  }
  *cursor = c;
  return EVENTRING_OK;
}

int eventring_cursor_seek(eventring_cursor *c, uint64_t ns) {
  if (c->begun || c->busy || c->made_count || c->flags & EVENTRING_OPEN_NOW)
    return EVENTRING_E_STATE;
  c->seek_ns = ns ? ns : 1;
  return EVENTRING_OK;
}

int eventring_cursor_again(eventring_cursor *c, uint64_t ns) {
  if (reads_backwards(c) || c->busy) return EVENTRING_E_STATE;
  for (unsigned n = 0; n < c->made_count; n++) {
    evr_ring_reader_free(c->reader[c->made[n]]);
    c->reader[c->made[n]] = NULL;
  }
  c->made_count = c->taken = c->actives = 0;
  c->begun = c->finished = false;
  c->seek_ns = ns ? ns : 1;
  return EVENTRING_OK;
}

int eventring_cursor_switches(eventring_cursor *c,
                              int (*callback)(void *context,
                                              const struct eventring_switch *change),
                              void *context) {
  if (reads_backwards(c) || c->begun || c->busy) return EVENTRING_E_STATE;
  c->switched = callback;
  c->switched_context = context;
  for (unsigned n = 0; n < c->made_count; n++)
    c->reader[c->made[n]]->tells_switches = callback != NULL;
  return EVENTRING_OK;
}

int eventring_cursor_select(eventring_cursor *c, uint32_t rings) {
  if (c->begun || c->busy || c->made_count) return EVENTRING_E_STATE;
  if (rings >> EVENTRING_RINGS) return EVENTRING_E_ARGUMENT;
  c->rings = rings;
  return EVENTRING_OK;
}

int eventring_close(eventring_cursor *c) {
  if (!c) return EVENTRING_OK;
  if (c->busy) return EVENTRING_E_BUSY;
  destroy_cursor(c);
  return EVENTRING_OK;
}

/* ---- Polling --------------------------------------------------------------------- */

static bool is_quiet(const struct evr_watch *watch, uint64_t head) {
  return watch->head == head && !__atomic_load_n(watch->word, __ATOMIC_RELAXED);
}

/* Tells whether nothing has been written since the last poll, which had nothing to
   deliver. Reads the watched words in the mapped file. If the mapping is lost, all are 0,
   which counts as news because no head is 0. */
static bool is_idle(const eventring_cursor *c) {
  uint64_t news = 0;
  if (c->taken != c->meta.made_count || !evr_metadata_stands(&c->meta)) return false;
  for (unsigned n = 0; n < c->made_count; n++) {
    const struct evr_watch *watch = &c->watch[n];
    news |= __atomic_load_n(watch->word, __ATOMIC_RELAXED) |
            (__atomic_load_n(watch->head_now, __ATOMIC_RELAXED) ^ watch->head);
  }
  return !news && evr_source_mapped(&c->meta.source);
}

/* Watches the ring of the n-th reader from the next poll on. */
static void watch_ring(eventring_cursor *c, unsigned n, uint64_t head) {
  const struct evr_block_cursor *blocks = &c->reader[c->made[n]]->blocks;
  uint64_t offset = evr_metadata_head_offset(blocks->slot, blocks->ring);
  const uint64_t *word = evr_block_cursor_watch(blocks);
  const uint64_t *head_now = evr_source_words(&c->meta.source, offset, sizeof *head_now);
  if (word && head_now) c->watch[n] = (struct evr_watch){word, head_now, head};
}

/* Notes the limit of the n-th reader; makes it active, or watches it from now on. */
static void set_limit(eventring_cursor *c, unsigned n, uint64_t head, struct evr_sink *sink) {
  struct evr_ring_reader *reader = c->reader[c->made[n]];
  c->watch[n] = not_idle;
  if (evr_ring_reader_limit(reader, &sink->budget))
    c->active[c->actives++] = reader;
  else if (reader->blocks.sequence && reader->blocks.sequence == head)
    watch_ring(c, n, head);
}

/* Reads again what events refer to, when there are events or new records. */
static int catch_up(eventring_cursor *c) {
  if (!c->actives && !evr_record_scan_has_news(&c->definitions.scan, &c->meta))
    return EVENTRING_OK;
  return evr_definitions_catch_up(&c->definitions, &c->meta, &c->error);
}

static void set_all_limits(eventring_cursor *c, bool mapped, struct evr_sink *sink) {
  const struct format_ring *ring = &c->meta.ring[0][0];
  c->actives = 0;
  for (unsigned n = 0; n < c->made_count; n++) {
    uint64_t head = ring[c->made[n]].head;
    if (!mapped || !is_quiet(&c->watch[n], head)) set_limit(c, n, head, sink);
  }
}

static int set_limits(eventring_cursor *c, struct evr_sink *sink) {
  c->actives = 0;
  if (is_idle(c)) return EVENTRING_OK;
  int status = evr_metadata_refresh(&c->meta, &c->error);
  if (status == EVENTRING_OK) status = make_readers(c, &c->error);
  if (status != EVENTRING_OK) return status;
  bool mapped = evr_source_mapped(&c->meta.source);
  set_all_limits(c, mapped, sink);
  /* the mapping was lost: watched words became 0 */
  if (mapped && !evr_source_mapped(&c->meta.source))
    set_all_limits(c, false, sink);
  return catch_up(c);
}

/* Tells whether nobody writes into the file any more, and sets meta.over. To be called
   before the limits are set, so that the limits include all that a dead producer has
   written. */
static bool is_over(eventring_cursor *c) {
  bool over = evr_metadata_liveness(&c->meta) != EVENTRING_LIVE;
  c->meta.over = over && evr_metadata_is_settled(&c->meta);
  return over;
}

/* ---- Backwards ------------------------------------------------------------------- */

/* Begins to read backwards, once: copies the newest block of each ring, and after that
   reads what the events of these blocks refer to. */
static int begin_backwards(eventring_cursor *c, struct evr_sink *sink) {
  if (c->back_begun) return EVENTRING_OK;
  int status = evr_metadata_refresh(&c->meta, &c->error);
  if (status == EVENTRING_OK) status = make_readers(c, &c->error);
  if (status != EVENTRING_OK) return status;
  c->back_begun = true;
  for (unsigned n = 0; n < c->made_count; n++)
    evr_backwards_begin(c->reader[c->made[n]], c->seek_ns, &sink->budget);
  return evr_definitions_catch_up(&c->definitions, &c->meta, &c->error);
}

/* Makes the readers active that have something left to deliver. They ignore events that
   were written after reading began. */
static int set_back_limits(eventring_cursor *c, struct evr_sink *sink) {
  int status = begin_backwards(c, sink);
  c->actives = 0;
  for (unsigned n = 0; status == EVENTRING_OK && n < c->made_count; n++) {
    struct evr_ring_reader *reader = c->reader[c->made[n]];
    if (!evr_backwards_is_over(reader)) c->active[c->actives++] = reader;
  }
  return status;
}

static bool is_over_backwards(const eventring_cursor *c) {
  bool over = c->back_begun;
  for (unsigned n = 0; n < c->made_count; n++)
    over = over && evr_backwards_is_over(c->reader[c->made[n]]);
  return over;
}

int evr_cursor_prepare_backwards(eventring_cursor *c) {
  struct evr_sink sink = {.budget = DAMAGE_BUDGET};
  if (!reads_backwards(c)) return EVENTRING_OK;
  is_over(c);
  int status = begin_backwards(c, &sink);
  for (unsigned n = 0; status == EVENTRING_OK && n < c->made_count; n++)
    evr_backwards_prepare(c->reader[c->made[n]]);
  return status;
}

/* ---- Ring by ring ---------------------------------------------------------------- */

static bool look(struct evr_ring_reader *reader, unsigned *budget) {
  return (reader->back ? evr_backwards_look : evr_ring_reader_look)(reader, budget);
}

static bool drain(struct evr_ring_reader *reader, uint64_t until, struct evr_sink *sink) {
  return (reader->back ? evr_backwards_drain : evr_ring_reader_drain)(reader, until, sink);
}

/* Tells whether a poll is to end. When the budget is used up, no further blocks of a ring
   are tried. The rest of that ring then waits for the next poll, and later events of
   other rings must not be delivered before it. */
static bool has_enough(const struct evr_sink *sink) { return sink->stopped || !sink->budget; }

static void poll_ring_by_ring(eventring_cursor *c, struct evr_sink *sink) {
  for (unsigned i = 0; i < c->actives && !has_enough(sink); i++)
    drain(c->active[i], UINT64_MAX, sink);
}

/* ---- Merging ------------------------------------------------------------------------
 *
 * The active readers are a heap by time: reader i never comes before its parent, reader
 * (i - 1) / 2. */

static bool comes_before(const struct evr_ring_reader *a, const struct evr_ring_reader *b) {
  if (a->order_ns != b->order_ns) return a->order_ns < b->order_ns;
  return a->blocks.slot != b->blocks.slot ? a->blocks.slot < b->blocks.slot
                                          : a->blocks.ring < b->blocks.ring;
}

/* Moves active[i] down the heap to where it belongs. */
static void sift_down(struct evr_ring_reader **active, unsigned count, unsigned i) {
  struct evr_ring_reader *reader = active[i];
  for (;;) {
    unsigned below = 2 * i + 1;
    if (below + 1 < count && comes_before(active[below + 1], active[below])) below++;
    if (below >= count || comes_before(reader, active[below])) break;
    active[i] = active[below];
    i = below;
  }
  active[i] = reader;
}

/* Returns the time up to which the first reader of the heap may deliver before another
   one comes first. */
static uint64_t time_of_second(struct evr_ring_reader **active, unsigned count) {
  uint64_t ns = count > 1 ? active[1]->order_ns : UINT64_MAX;
  return count > 2 && active[2]->order_ns < ns ? active[2]->order_ns : ns;
}

/* Makes a heap of the readers, among the first `count`, that have something left. Returns
   their number. */
static unsigned make_heap(struct evr_ring_reader **active, unsigned count,
                          struct evr_sink *sink) {
  unsigned left = 0;
  for (unsigned i = 0; i < count; i++)
    if (look(active[i], &sink->budget)) active[left++] = active[i];
  for (unsigned i = left / 2; i-- > 0;) sift_down(active, left, i);
  return left;
}

static void merge(struct evr_ring_reader **active, unsigned count, struct evr_sink *sink) {
  count = make_heap(active, count, sink);
  while (count && !has_enough(sink)) {
    if (!drain(active[0], time_of_second(active, count), sink))
      active[0] = active[--count];
    sift_down(active, count, 0);
  }
}

static void poll_merged(eventring_cursor *c, struct evr_sink *sink) {
  merge(c->active, c->actives, sink);
}

/* Merges the rings of each domain, one domain after the other. The active readers are in
   the order of their slots. */
static void poll_domains(eventring_cursor *c, struct evr_sink *sink) {
  for (unsigned i = 0, end; i < c->actives && !has_enough(sink); i = end) {
    const unsigned slot = c->active[i]->blocks.slot;
    for (end = i + 1; end < c->actives && c->active[end]->blocks.slot == slot;) end++;
    merge(&c->active[i], end - i, sink);
  }
}

/* Merges the rings a block at a time, so that they alternate rarely. */
static void poll_blocks(eventring_cursor *c, struct evr_sink *sink) {
  struct evr_ring_reader **active = c->active;
  unsigned count = make_heap(active, c->actives, sink);
  sink->by_block = true;
  while (count && !has_enough(sink)) {
    c->settled_ns = time_of_second(active, count);
    if (!drain(active[0], UINT64_MAX, sink)) active[0] = active[--count];
    sift_down(active, count, 0);
  }
}

static void poll_in_order(eventring_cursor *c, struct evr_sink *sink) {
  const bool is_merged = c->flags & EVENTRING_OPEN_MERGED;
  switch (c->order) {
    case EVENTRING_ORDER_DOMAINS: poll_domains(c, sink); break;
    case EVENTRING_ORDER_BLOCKS: poll_blocks(c, sink); break;
    default: (is_merged ? poll_merged : poll_ring_by_ring)(c, sink); break;
  }
}

int eventring_cursor_order(eventring_cursor *c, enum eventring_order order) {
  if (reads_backwards(c) || c->busy) return EVENTRING_E_STATE;
  if ((unsigned)order > EVENTRING_ORDER_BLOCKS) return EVENTRING_E_ARGUMENT;
  c->order = order;
  return EVENTRING_OK;
}

uint64_t eventring_cursor_settled(const eventring_cursor *c) { return c->settled_ns; }

/* Reports damage once; reading then goes on with the undamaged parts. */
static int take_damage(eventring_cursor *c) {
  evr_source_take_damage(&c->meta.source, &c->meta.damage);
  int code = c->meta.damage.code;
  if (code) c->error = c->meta.damage;
  c->meta.damage.code = 0;
  return code;
}

int eventring_cursor_damage(eventring_cursor *c) {
  return c ? take_damage(c) : EVENTRING_E_ARGUMENT;
}

/* Checks the file once, when nobody writes into it any more. A file that was cut short
   after it was read is damaged, although no event is missing. */
void evr_cursor_check_end(eventring_cursor *c) {
  if (c->end_checked) return;
  c->end_checked = true;
  if (!c->meta.damage.code) evr_metadata_check_size(&c->meta, &c->meta.damage);
  evr_check_end(c);
  for (unsigned n = 0; n < c->made_count; n++)
    evr_block_cursor_check_end(&c->reader[c->made[n]]->blocks);
}

/* Returns how a poll that has read the rings ended. `status` is the code of the damage
   that it found, or 0. */
static enum eventring_poll_end end_of_poll(const struct evr_sink *sink, int status) {
  if (status != EVENTRING_OK && status != EVENTRING_E_CORRUPT) return EVENTRING_POLL_FAILED;
  if (sink->stopped) return EVENTRING_POLL_STOPPED;
  return sink->budget ? EVENTRING_POLL_ALL : EVENTRING_POLL_UNREADABLE;
}

static int poll_all(eventring_cursor *c, struct evr_sink *sink) {
  c->begun = true;
  c->poll_end = EVENTRING_POLL_FAILED;
  bool over = is_over(c);
  int status = (reads_backwards(c) ? set_back_limits : set_limits)(c, sink);
  if (status != EVENTRING_OK) {
    c->finished = over;
    return status;
  }
  poll_in_order(c, sink);
  if (reads_backwards(c)) over = is_over_backwards(c);
  c->finished = over && !has_enough(sink);
  if (c->finished && c->meta.over) evr_cursor_check_end(c);
  status = take_damage(c);
  c->poll_end = end_of_poll(sink, status);
  return status;
}

static int pass_over_event(void *context, const struct eventring_event *event) {
  (void)context, (void)event;
  return 0;
}
static int pass_over_loss(void *context, const struct eventring_loss *loss) {
  (void)context, (void)loss;
  return 0;
}

int eventring_poll(eventring_cursor *c, const struct eventring_callbacks *callbacks,
                   void *context, uint64_t max) {
  if (!c || (callbacks && !callbacks->size)) return EVENTRING_E_ARGUMENT;
  if (c->busy) return EVENTRING_E_BUSY;
  struct evr_sink sink = {.context = context, .left = max ? max : UINT64_MAX,
                          .switched = c->switched, .switched_context = c->switched_context,
                          .batch = c->batch, .batch_context = c->batch_context,
                          .contents = c->batch_contents,
                          .room = c->batch_room, .cursor = c,
                          .budget = DAMAGE_BUDGET};
  if (callbacks)
    evr_copy_sized(&sink.callbacks, sizeof sink.callbacks, callbacks, callbacks->size);
  if (!sink.callbacks.event) sink.callbacks.event = pass_over_event;
  if (!sink.callbacks.lost) sink.callbacks.lost = pass_over_loss;
  c->busy = true;
  int status = poll_all(c, &sink);
  c->busy = false;
  c->pace.delivered = sink.delivered;
  c->pace.unfinished = has_enough(&sink) && c->poll_end != EVENTRING_POLL_FAILED;
  if (status != EVENTRING_OK) return status;
  return sink.delivered > INT_MAX ? INT_MAX : (int)sink.delivered;
}

bool evr_cursor_has_news(eventring_cursor *c) {
  struct evr_sink sink = {.budget = DAMAGE_BUDGET};
  if (reads_backwards(c)) return true; /* there is nothing to wait for */
  if (evr_metadata_liveness(&c->meta) != EVENTRING_LIVE) return true;
  return set_limits(c, &sink) != EVENTRING_OK || c->actives || c->meta.damage.code;
}

const struct eventring_error *eventring_cursor_error(const eventring_cursor *c) {
  return &c->error;
}

bool eventring_finished(eventring_cursor *c) { return c->finished; }

enum eventring_poll_end eventring_poll_end(const eventring_cursor *c) { return c->poll_end; }

enum eventring_liveness eventring_cursor_liveness(eventring_cursor *c) {
  return evr_metadata_liveness(&c->meta);
}
