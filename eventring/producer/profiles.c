/* SPDX-License-Identifier: MIT */
/* profiles.c: writing profiles of calls into the recording.
 *
 * A profile is a set of blocks, its *parts*. Each part begins with a record of its
 * domain, the number of the profile, the number of the part, and how many parts there
 * are; a profile is whole if it has all parts. A domain has two sets of blocks and writes
 * them in turn, so that the last whole profile stays until the next one is whole, and a
 * killed process leaves one. A domain whose last profile was final gives the older set
 * back.
 *
 * The parts are built in private memory. The mutex is held to provide the blocks and to
 * count them, but not while they are filled, because a set belongs to its domain. A part
 * is stored as a whole, its sequence last; readers check that, as with blocks of rings,
 * which are rewritten, too (FORMAT.md, section 11).
 *
 * The budget is FORMAT_PROFILE_BUDGET blocks for all domains. When it is used up, the
 * profile of the domain that ended first is dropped. If no domain has ended, the former
 * profile stays, and the parts that found no room are counted.
 */
#include "producer/profiles.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "eventring/calls.h"
#include "calls/inside.h"
#include "format/array.h"
#include "format/control.h"
#include "format/error.h"
#include "format/profile_parts.h"
#include "format/text.h"
#include "producer/domains.h"
#include "producer/lock.h"
#include "producer/outside.h"
#include "producer/producer.h"
#include "producer/replace.h"

/* Time between two checks if nobody wakes this thread (LOOK_NS), and if the system cannot
   wait for a change of the word (POLL_NS). */
#define LOOK_NS ((uint64_t)1000000000)
#define POLL_NS ((uint64_t)10000000)

#define STORE(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

_Static_assert((int)FORMAT_PROFILE_BUCKETS == (int)EVENTRING_CALLS_BUCKETS, "buckets");

/* ---- Putting it together ----------------------------------------------------------- */

enum { PART_WORDS = sizeof(struct format_profile) / 8 };

/* Copies the histogram into 32-bit buckets: all are halved until they fit. */
static void narrow_histogram(uint32_t *to, const eventring_calls *calls,
                             const struct eventring_calls_node *node) {
  uint64_t buckets[EVENTRING_CALLS_BUCKETS], all = 0;
  unsigned shift = 0;
  evc_histogram(calls, node, buckets);
  for (unsigned i = 0; i < FORMAT_PROFILE_BUCKETS; i++) all |= buckets[i];
  while (all >> shift > UINT32_MAX) shift++;
  for (unsigned i = 0; i < FORMAT_PROFILE_BUCKETS; i++) to[i] = (uint32_t)(buckets[i] >> shift);
}

static void add_node(struct evr_profile_parts *parts, const eventring_calls *calls,
                     unsigned type, uint32_t number) {
  const bool flat = type == FORMAT_PROFILE_FLAT;
  const struct eventring_calls_node *n =
      flat ? eventring_calls_flat_at(calls, number) : eventring_calls_node_at(calls, number);
  const struct eventring_calls_rest *rest = eventring_calls_rest_of(calls, n);
  struct eventring_calls_lost lost = {0, 0};
  uint32_t histogram[FORMAT_PROFILE_BUCKETS];
  if (!flat) lost = eventring_calls_lost_below(calls, n);
  narrow_histogram(histogram, calls, n);
  const struct evr_profile_node node = {
      .parent = flat || n->parent == EVENTRING_CALLS_ROOT ? UINT32_MAX : n->parent,
      .function = n->id == EVENTRING_CALLS_NO_ID ? UINT32_MAX : (uint32_t)n->id,
      .open = rest->open,
      .figures = {n->count, n->exclusive, n->most ? n->least : 0, n->most,
                  rest->suspended, lost.calls, lost.ticks},
      .histogram = histogram};
  evr_profile_parts_node(parts, type, number, &node);
}

static void assemble(struct evr_profile_parts *parts,
                     const struct eventring_profile_source *source) {
  uint32_t nodes = (uint32_t)eventring_calls_count(source->calls);
  uint32_t flat = (uint32_t)evc_flat_count(source->calls);
  evr_profile_parts_begin(parts, PART_WORDS);
  for (uint32_t i = 0; i < source->function_count; i++)
    evr_profile_parts_function(parts, i, &source->functions[i]);
  for (uint32_t i = 0; i < nodes; i++) add_node(parts, source->calls, FORMAT_PROFILE_NODE, i);
  for (uint32_t i = 0; i < flat; i++) add_node(parts, source->calls, FORMAT_PROFILE_FLAT, i);
}

/* Fills the first words of each part, behind the header. */
static void head_parts(struct evr_profile_parts *parts,
                       const struct eventring_profile_source *source,
                       const struct evr_profile_area *area, uint64_t now) {
  struct format_profile head = {
      .slot = area->slot, .incarnation = area->incarnation, .written = area->written + 1,
      .parts = parts->count, .flags = source->flags, .start_ticks = source->start_ticks,
      .written_ticks = now, .functions = source->function_count,
      .nodes = (uint32_t)eventring_calls_count(source->calls),
      .backwards = source->calls->backwards,
      .flat = (uint32_t)evc_flat_count(source->calls)};
  for (uint32_t i = 0; i < parts->count; i++) {
    head.first = format_record(PART_WORDS, FORMAT_PROFILE_PART, i);
    memcpy(parts->words[i] + FORMAT_BLOCK_HEADER_WORDS, &head, sizeof head);
  }
}

/* ---- Blocks ------------------------------------------------------------------------ */

static bool keep_block(struct evr_profile_blocks *blocks, struct format_block *block) {
  if (!EVR_MAKE_ROOM(blocks->list, blocks->room, blocks->count, 16))
    return false;
  blocks->list[blocks->count++] = block;
  return true;
}

static void give_back(struct evr_profiles *p, struct evr_profile_blocks *blocks) {
  while (blocks->count > 0 && keep_block(&p->unused, blocks->list[blocks->count - 1]))
    blocks->count--;
}

/* Drops the profile of the domain that ended first. Returns false if none has ended. */
static bool drop_oldest(struct evr_profiles *p) {
  struct evr_profile_area **link = &p->areas;
  while (*link && !(*link)->final) link = &(*link)->next;
  struct evr_profile_area *area = *link;
  if (!area) return false;
  *link = area->next;
  for (int i = 0; i < 2; i++) {
    give_back(p, &area->half[i]);
    free(area->half[i].list);
  }
  free(area);
  return true;
}

static struct format_block *next_block_locked(struct evr_recording *r) {
  struct evr_profiles *p = &r->profiles;
  if (p->unused.count) return p->unused.list[--p->unused.count];
  if (p->claimed < FORMAT_PROFILE_BUDGET) {
    struct format_block *block = r->records.claim(r->records.owner, FORMAT_PROFILES);
    p->claimed += block != NULL;
    if (block) return block;
  }
  return drop_oldest(p) && p->unused.count ? p->unused.list[--p->unused.count] : NULL;
}

/* Returns the area of the present life in a slot, or NULL when out of memory. */
static struct evr_profile_area *area_locked(struct evr_recording *r, unsigned slot) {
  struct evr_profile_area **link = &r->profiles.areas;
  uint32_t incarnation = r->slot[slot].incarnation;
  while (*link && ((*link)->slot != slot || (*link)->incarnation != incarnation))
    link = &(*link)->next;
  if (*link) return *link;
  struct evr_profile_area *area = calloc(1, sizeof *area);
  if (!area) return NULL;
  area->slot = slot;
  area->incarnation = incarnation;
  return *link = area;
}

/* Provides blocks for the next profile, or fails with E_LIMIT: no room for all. */
static int provide_locked(struct evr_recording *r, struct evr_profile_area *area,
                          uint32_t parts, struct eventring_error *error) {
  struct evr_profile_blocks *blocks = &area->half[(area->written + 1) % 2];
  area->final = false; /* so that it is not dropped */
  while (blocks->count < parts) {
    struct format_block *block = next_block_locked(r);
    if (block && keep_block(blocks, block)) continue;
    if (block) keep_block(&r->profiles.unused, block);
    struct format_count *count = &evr_status(r)->kind[FORMAT_PROFILES];
    STORE(count->dropped, count->dropped + parts);
    return evr_fail(error, EVENTRING_E_LIMIT, 0,
                    "the recording has no room for a profile of %u blocks", parts);
  }
  return EVENTRING_OK;
}

/* ---- Writing ----------------------------------------------------------------------- */

static void store_part(struct format_block *block, uint64_t *words, uint32_t end,
                       uint64_t sequence) {
  struct format_block *header = (struct format_block *)words;
  header->kind = FORMAT_PROFILES;
  header->before = sequence - 1;
  evr_block_replace(block, words, end, sequence);
}

/* Counts the parts that were written. If the recording has ended meanwhile, its front has
   a checksum and stays as it is. */
static void finish_locked(struct evr_recording *r, struct evr_profile_area *area,
                          const struct eventring_profile_source *source, uint32_t parts) {
  struct format_count *count = &evr_status(r)->kind[FORMAT_PROFILES];
  area->written++;
  area->final = source->flags & EVENTRING_PROFILE_FINAL;
  if (area->final) give_back(&r->profiles, &area->half[(area->written + 1) % 2]);
  /* release: pairs with the acquire fence of readers in read_status (reader/metadata.c),
     which then find the parts */
  if (!r->ended) __atomic_store_n(&count->records, count->records + parts, __ATOMIC_RELEASE);
}

static int begin_locked(struct evr_domain *d, uint32_t parts, struct evr_profile_area **area,
                        uint64_t *sequence, struct eventring_error *error) {
  struct evr_recording *r = d->recording;
  if (!r || r->ended)
    return evr_fail(error, EVENTRING_E_STATE, 0, "the domain is not recorded");
  *area = area_locked(r, (unsigned)d->slot);
  if (!*area) return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a profile");
  int status = provide_locked(r, *area, parts, error);
  if (status != EVENTRING_OK) return status;
  *sequence = r->profiles.sequence;
  r->profiles.sequence += parts;
  return EVENTRING_OK;
}

static int write_parts(struct evr_domain *d, struct evr_profile_parts *parts,
                       const struct eventring_profile_source *source,
                       struct eventring_error *error) {
  struct evr_profile_area *area;
  uint64_t sequence = 0;
  evr_lock();
  int status = begin_locked(d, parts->count, &area, &sequence, error);
  struct evr_recording *r = d->recording;
  if (status == EVENTRING_OK) evr_recording_hold_locked(r);
  evr_unlock();
  if (status != EVENTRING_OK) return status;
  head_parts(parts, source, area, evr_clock_ticks(r->clock));
  for (uint32_t i = 0; i < parts->count; i++)
    store_part(area->half[(area->written + 1) % 2].list[i], parts->words[i], parts->ends[i],
               sequence + i + 1);
  evr_lock();
  finish_locked(r, area, source, parts->count);
  evr_recording_release_locked(r);
  evr_unlock();
  return EVENTRING_OK;
}

int eventring_calls_write(eventring_domain *domain, const struct eventring_profile_source *source,
                          struct eventring_error *error) {
  struct evr_profile_parts parts;
  eventring_domain_check(domain); /* attaches the domain, if that is possible */
  assemble(&parts, source);
  int status = parts.failed ? evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a profile")
                        : write_parts((struct evr_domain *)domain, &parts, source, error);
  evr_profile_parts_free(&parts);
  return status;
}

/* ---- What a profiler needs --------------------------------------------------------- */

static const uint32_t *word_of(const struct evr_recording *r) {
  if (!r || __atomic_load_n(&r->ended, __ATOMIC_RELAXED)) return NULL;
  return &evr_control(r)->requests;
}

/* Returns the address of the word with which tools ask for profiles of the present
   recording, and stores its value. Returns NULL if nothing is recorded. The mapping may
   end at any moment. */
static const uint32_t *find_word(uint32_t *value) {
  evr_lock();
  const uint32_t *word = word_of(evr_producer.recording);
  if (word) *value = __atomic_load_n(word, __ATOMIC_RELAXED);
  evr_unlock();
  return word;
}

/* Returns the word. Safepoints call this as long as there is something to obey. A
   recorded domain knows its recording, so it needs no mutex. */
const uint32_t *eventring_calls_word(const eventring_domain *domain) {
  const struct evr_domain *d = (const struct evr_domain *)domain;
  uint32_t value;
  return d->recording ? word_of(d->recording) : find_word(&value);
}

int eventring_calls_names(const eventring_domain *domain, char names[EVENTRING_MAX_CALL_NAMES + 1],
                          uint32_t *version) {
  const struct evr_domain *d = (const struct evr_domain *)domain;
  struct evr_recording *r = d->recording;
  const uint32_t seen = *version;
  if (!r || __atomic_load_n(&r->ended, __ATOMIC_RELAXED)) return EVENTRING_E_STATE;
  if (!evr_outside_obeys(r, FORMAT_WORD_SPANS)) return EVENTRING_E_STATE;
  const struct format_list *list = &evr_control(r)->spans;
  /* acquire: pairs with the release at the end of evr_control_write_list
     (format/control.c); evr_control_read_list has its own acquire when it reads the
     names */
  if (__atomic_load_n(&list->version, __ATOMIC_ACQUIRE) == seen) return EVENTRING_OK;
  int size = evr_control_read_list(list, names, version);
  if (size < 0) {
    *version = seen;
    return EVENTRING_E_BUSY;
  }
  names[size] = '\0';
  evr_text_clean(names, EVENTRING_MAX_CALL_NAMES + 1);
  return EVENTRING_OK;
}

static void sleep_ns(uint64_t ns) {
  const struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};
  nanosleep(&t, NULL);
}

/* Tells whether the word asks for something. A profile that is already kept does not
   count as a request, and neither does its end when none is kept. */
static bool asks_something(uint32_t word) {
  return word & (FORMAT_REQUEST_SPANS | FORMAT_REQUEST_QUESTION | FORMAT_REQUEST_STACKS |
                 FORMAT_REQUEST_LINES) ||
         !(word & FORMAT_REQUEST_CALLS) != !(word & FORMAT_REQUEST_OBEYED);
}

bool eventring_calls_wait(uint64_t ns) {
  const uint64_t begin = evr_monotonic_ns();
  for (;;) {
    uint32_t seen = 0;
    const uint32_t *word = find_word(&seen);
    if (word && asks_something(seen)) return true;
    const uint64_t passed = evr_monotonic_ns() - begin;
    if (passed >= ns) return false;
    const uint64_t left = ns - passed < LOOK_NS ? ns - passed : LOOK_NS;
    if (!word) sleep_ns(left);
    else if (!evr_control_await_change(word, seen, left)) sleep_ns(left < POLL_NS ? left : POLL_NS);
  }
}

bool eventring_ticks_are_inline(void) { return evr_clock_kind() != FORMAT_CLOCK_MONOTONIC; }

/* Returns the nanoseconds per tick, times 2^40, measured once, which takes 5 ms. */
static uint64_t measured_unit(enum format_clock kind) {
  static uint64_t unit; /* 0 if not measured yet */
  uint64_t known = __atomic_load_n(&unit, __ATOMIC_RELAXED);
  if (known) return known;
  struct evr_pair from = evr_clock_pair(kind);
  const struct timespec nap = {.tv_nsec = 5000000};
  nanosleep(&nap, NULL);
  known = evr_clock_measured(from, evr_clock_pair(kind));
  /* if several threads measure at once, any result will do */
  __atomic_store_n(&unit, known, __ATOMIC_RELAXED);
  return known;
}

double eventring_ns_per_tick(void) {
  enum format_clock kind = evr_clock_kind();
  const double unit = (double)((uint64_t)1 << FORMAT_CLOCK_SHIFT);
  if (kind == FORMAT_CLOCK_MONOTONIC) return 1;
  uint64_t nominal = evr_clock_nominal(kind);
  return (double)(nominal ? nominal : measured_unit(kind)) / unit;
}

void evr_profiles_free(struct evr_profiles *p) {
  while (p->areas) {
    struct evr_profile_area *area = p->areas;
    p->areas = area->next;
    for (int i = 0; i < 2; i++) free(area->half[i].list);
    free(area);
  }
  free(p->unused.list);
  p->unused = (struct evr_profile_blocks){0};
}
