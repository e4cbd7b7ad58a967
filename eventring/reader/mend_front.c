/* SPDX-License-Identifier: MIT */
/* mend_front.c: the front of a damaged file (mend.c). */
#include "reader/mend_scan.h"
#include "format/header.h"

#include <string.h>

#include "format/checksum.h"
#include "format/control.h"
#include "format/text.h"

/* ---- The header ---------------------------------------------------------------------- */

/* What is left when nothing proves it: values that are possible. */
static void set_possible(struct format_header *h) {
  if (h->layout < FORMAT_FLIGHT_RECORDER || h->layout > FORMAT_SNAPSHOT)
    h->layout = FORMAT_SNAPSHOT;
  if (h->clock < FORMAT_CLOCK_MONOTONIC || h->clock > FORMAT_CLOCK_CNTVCT)
    h->clock = FORMAT_CLOCK_MONOTONIC;
  if (h->wsize < EVENTRING_MIN_WSIZE || h->wsize > EVENTRING_MAX_WSIZE)
    h->wsize = EVENTRING_MIN_WSIZE;
}

static bool header_is_right(const struct format_header *h) {
  return h->checksum && h->checksum == evr_header_checksum(h);
}

/* A header of a version that is not ours is not damage. */
static int check_version(struct evr_scan *s) {
  struct format_header *h = evr_mended_header(s->mended), known = *h;
  evr_header_set_constants(&known);
  if (!memcmp(h->magic, known.magic, sizeof h->magic) && h->byte_order == FORMAT_BYTE_ORDER &&
      h->version != FORMAT_VERSION && header_is_right(h))
    return evr_fail(s->error, EVENTRING_E_VERSION, 0,
                    "format version %u; this reader knows version %d", h->version, FORMAT_VERSION);
  return EVENTRING_OK;
}

static bool is_text(const char *text, size_t room) {
  char clean[EVENTRING_MAX_PROGRAM + 1];
  memcpy(clean, text, room);
  evr_text_clean(clean, room);
  return !memcmp(clean, text, room);
}

/* Two damaged bytes that are the highest of their words often have the checksum of another one,
   so that more has to be right. */
static bool is_plausible(const struct format_header *h) {
  struct format_header possible = *h;
  bool is_plausible = !(h->flags & ~(uint32_t)(FORMAT_INCOMPLETE | FORMAT_HAS_STREAMS)) &&
                      is_text(h->program, sizeof h->program);
  evr_header_set_constants(&possible);
  set_possible(&possible);
  memset(possible.reserved, 0, sizeof possible.reserved);
  for (unsigned i = 0; i < EVENTRING_RINGS; i++)
    is_plausible &= is_text(h->rings[i], sizeof h->rings[i]);
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++)
    is_plausible &= is_text(h->classes[i], sizeof h->classes[i]);
  return is_plausible && !memcmp(&possible, h, sizeof possible);
}

static bool mend_byte(struct format_header *h) {
  const size_t at = offsetof(struct format_header, checksum) / 8;
  struct format_header mended = *h;
  uint32_t checksum = h->checksum;
  mended.checksum = 0;
  if (!checksum ||
      !evr_mend_byte((uint64_t *)&mended, sizeof mended / 8, at, 0xffffffff, &checksum))
    return false;
  mended.checksum = checksum;
  if (!is_plausible(&mended)) return false;
  *h = mended;
  return true;
}

int evr_mend_header(struct evr_scan *s) {
  struct format_header *h = evr_mended_header(s->mended), before = *h;
  int status = check_version(s);
  if (status != EVENTRING_OK) return status;
  evr_header_set_constants(h);
  if (!header_is_right(h)) {
    h->flags &= FORMAT_INCOMPLETE | FORMAT_HAS_STREAMS;
    memset(h->reserved, 0, sizeof h->reserved);
    s->report->header_doubtful = !header_is_right(h) && !mend_byte(h);
  }
  set_possible(h);
  s->report->header_mended = memcmp(&before, h, sizeof before) != 0;
  return EVENTRING_OK;
}

/* ---- The status page ----------------------------------------------------------------- */

void evr_mend_status(struct evr_scan *s) {
  struct format_status *status = evr_mended_status(s->mended), before = *status;
  const uint64_t *tables = (const uint64_t *)evr_mended_domains(s->mended);
  const struct format_header *h = evr_mended_header(s->mended);
  bool is_final = status->state == FORMAT_ENDED || h->layout == FORMAT_SNAPSHOT;
  s->report->front_doubtful = is_final && status->checksum &&
                              status->checksum != evr_front_checksum(status, tables);
  if (status->state != FORMAT_RECORDING && status->state != FORMAT_ENDED)
    status->state = FORMAT_RECORDING;
  if (status->state == FORMAT_ENDED && status->end_ticks < s->start_ticks)
    status->state = FORMAT_RECORDING;
  if (status->slots > EVENTRING_MAX_DOMAINS) status->slots = 0;
  if (status->claimed > s->blocks + FORMAT_UNIT) {
    s->report->missing_bytes = status->claimed <= FORMAT_MAX_BLOCKS
                                   ? format_block_offset(status->claimed) - s->file_bytes : 0;
    status->claimed = s->blocks;
  } else if (format_block_offset(status->claimed) > s->file_bytes) {
    s->report->missing_bytes = format_block_offset(status->claimed) - s->file_bytes;
    status->claimed = s->blocks;
  }
  status->checksum = before.checksum;
  s->report->status_mended = memcmp(&before, status, sizeof before) != 0;
}

/* ---- The control page ---------------------------------------------------------------- */

/* `wanted` is valid if its bits are those of classes with a name, and the gate follows from it.
   Of a gate that is open and valid, that is what was wanted. */
void evr_mend_control(struct evr_scan *s) {
  struct format_control *control = evr_mended_control(s->mended), before = *control;
  uint64_t named = evr_named_classes(evr_mended_header(s->mended)->classes);
  uint64_t gate = control->gate;
  if (!evr_wanted_valid(control->wanted, named))
    control->wanted = gate && evr_wanted_valid(gate, named) && gate == format_gate(gate)
                          ? gate : control->wanted & named;
  control->gate = format_gate(control->wanted);
  memset(control->reserved2, 0, sizeof control->reserved2);
  s->report->control_mended = memcmp(&before, control, sizeof before) != 0;
}

/* ---- The rings ----------------------------------------------------------------------- */

/* The places of a ring that has never had to use one again; 0: it is not such a ring, or its
   entry, which is about to be replaced, does not say. */
static uint64_t places_of(struct evr_scan *s, unsigned slot, unsigned ring) {
  const struct format_ring *r = &evr_mended_domains(s->mended)[slot].ring[ring];
  const struct format_runs *runs =
      (const struct format_runs *)((uint8_t *)s->mended->front + FORMAT_RUNS_OFFSET) + slot;
  const struct format_growth *growth = &runs->ring[ring];
  uint32_t places = r->blocks;
  if (places == FORMAT_STREAM_RING)
    return evr_mended_header(s->mended)->flags & FORMAT_INCOMPLETE ? 0 : UINT64_MAX;
  if (places > FORMAT_MAX_RING_BLOCKS) return 0;
  for (int i = 0; i < FORMAT_MORE_RUNS && growth->run[i]; i++)
    if (growth->rounds == 1 && run_places(growth->run[i]) <= FORMAT_MAX_RING_BLOCKS)
      places = run_places(growth->run[i]);
  return places;
}

/* Blocks that should be there by those that are. A stream that finds no room uses the last
   place of a unit for several blocks; a copy may lack any. */
static uint64_t count_missing(struct evr_scan *s, unsigned slot, unsigned ring) {
  const struct evr_stretches *known = &s->mended->units.stream[slot][ring];
  const struct format_header *h = evr_mended_header(s->mended);
  uint64_t places = places_of(s, slot, ring), missing = 0, expected = 1;
  if (h->layout == FORMAT_SNAPSHOT || h->flags & FORMAT_INCOMPLETE) return 0;
  uint64_t head = s->mended->head[slot][ring];
  if (head >= places) expected = head - places + (s->ended ? 1 : 2); /* the next may be begun */
  if (!places && known->count) expected = known->list[0].sequence;
  for (uint32_t i = 0; i < known->count; i++) {
    const struct evr_stretch *stretch = &known->list[i];
    bool is_last_place = h->layout == FORMAT_STREAM && i &&
                         stretch->first % FORMAT_UNIT + 1 == FORMAT_UNIT &&
                         stretch->first == stretch[-1].first + stretch[-1].blocks;
    if (stretch->sequence > expected && !is_last_place) missing += stretch->sequence - expected;
    expected = stretch->sequence + stretch->blocks;
  }
  return missing;
}

static void mend_rings(struct evr_scan *s) {
  struct format_status *status = evr_mended_status(s->mended);
  for (unsigned i = 0; i < EVR_ALL_RINGS; i++) {
    unsigned slot = i / EVENTRING_RINGS, ring = i % EVENTRING_RINGS;
    struct format_ring *r = &evr_mended_domains(s->mended)[slot].ring[ring];
    uint64_t head = s->mended->head[slot][ring];
    if (r->head > head) s->report->short_rings++;
    if (r->head < head) s->report->stale_rings++;
    s->mended->from_start[slot][ring] = head <= places_of(s, slot, ring);
    s->report->missing_blocks += count_missing(s, slot, ring);
    *r = (struct format_ring){head, 0, head ? FORMAT_STREAM_RING : 0};
    if (head && status->slots <= slot) status->slots = slot + 1;
  }
  memset((uint8_t *)s->mended->front + FORMAT_RUNS_OFFSET, 0,
         FORMAT_FRONT_BYTES - FORMAT_RUNS_OFFSET);
}

/* ---- The front ----------------------------------------------------------------------- */

/* The clock of a header that is doubtful begins as its first segment does. A processor counts
   faster than nanoseconds, the virtual counter of arm64 slower. */
static void take_start(struct format_header *h, const struct format_segment *first) {
  const uint64_t one_to_one = (uint64_t)1 << FORMAT_CLOCK_SHIFT;
  h->start_ticks = first->from_ticks;
  h->start_ns = first->from_ns;
  if (h->clock == FORMAT_CLOCK_MONOTONIC && first->multiplier != one_to_one)
    h->clock = first->multiplier < one_to_one ? FORMAT_CLOCK_TSC : FORMAT_CLOCK_CNTVCT;
}

/* What the cursor is shown: a stream of which blocks may be missing. */
void evr_mend_front(struct evr_scan *s) {
  struct format_header *h = evr_mended_header(s->mended);
  mend_rings(s);
  if (s->report->header_doubtful && s->first.multiplier) take_start(h, &s->first);
  uint64_t units = (s->blocks + FORMAT_UNIT - 1) / FORMAT_UNIT;
  h->layout = FORMAT_STREAM;
  h->flags |= FORMAT_INCOMPLETE | FORMAT_HAS_STREAMS;
  h->checksum = evr_header_checksum(h);
  evr_mended_status(s->mended)->claimed = units * FORMAT_UNIT;
  evr_mended_status(s->mended)->checksum = 0;
}

/* ---- Domains ------------------------------------------------------------------------- */

/* The latest life of a slot that is recorded. */
static const struct evr_life *latest_life(const eventring_cursor *c, unsigned slot) {
  const struct evr_definitions *definitions = &c->definitions;
  const struct evr_life *latest = NULL;
  for (uint32_t n = 0; n < definitions->lives_count; n++) {
    const struct evr_life *life =
        &definitions->lives[(definitions->lives_first + n) % EVR_MAX_LIVES];
    if (life->slot == slot && (!latest || life->incarnation > latest->incarnation)) latest = life;
  }
  return latest;
}

static bool entry_holds(const struct evr_metadata *meta, const struct format_domain *d,
                        const struct evr_life *life) {
  bool alive = d->state == FORMAT_SLOT_ALIVE;
  if (d->version & 1 || !d->incarnation) return !d->incarnation && !life;
  if (d->state > FORMAT_SLOT_ALIVE || d->start_ticks < meta->header.start_ticks ||
      (alive ? d->stop_ticks != 0 : d->stop_ticks < d->start_ticks))
    return false;
  if (!life || life->incarnation != d->incarnation) return true; /* its record may be gone */
  return (!life->start_ticks || (life->tid == d->tid && life->start_ticks == d->start_ticks)) &&
         (!life->stop_ticks || !d->stop_ticks || life->stop_ticks == d->stop_ticks);
}

static void mend_domain(eventring_cursor *c, struct format_domain *d, const struct evr_life *life) {
  struct format_domain to = {.version = 2, .incarnation = 1, .state = FORMAT_SLOT_ALIVE,
                             .start_ticks = c->meta.header.start_ticks};
  if (life) {
    to.incarnation = life->incarnation;
    to.tid = life->tid;
    if (life->start_ticks > to.start_ticks) to.start_ticks = life->start_ticks;
    to.stop_ticks = life->stop_ticks;
    if (to.stop_ticks && to.stop_ticks < to.start_ticks) to.stop_ticks = to.start_ticks;
    to.process = life->process;
    to.state = life->stop_ticks ? FORMAT_SLOT_FREE : FORMAT_SLOT_ALIVE;
    memcpy(to.name, life->name, sizeof to.name);
  }
  memcpy(to.ring, d->ring, sizeof to.ring);
  *d = to;
}

static bool is_in_use(const struct format_domain *d) {
  const uint64_t *words = (const uint64_t *)d;
  uint64_t any = 0;
  for (size_t i = 0; i < sizeof *d / 8; i++) any |= words[i];
  return any != 0;
}

void evr_mend_domains(eventring_cursor *c, const struct evr_mended *mended,
                      struct eventring_repair *report) {
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    struct format_domain *d = &evr_mended_domains(mended)[slot];
    const struct evr_life *life = latest_life(c, slot);
    bool in_use = slot < c->meta.status.slots;
    if (in_use ? entry_holds(&c->meta, d, life) : !is_in_use(d)) continue;
    report->domains++;
    if (in_use) mend_domain(c, d, life);
    else memset(d, 0, sizeof *d);
  }
}
