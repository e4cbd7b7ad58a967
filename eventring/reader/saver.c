/* SPDX-License-Identifier: MIT */
/* saver.c: which blocks of which ring are copied next (saver.h has the design). */
#include "reader/saver.h"

#include <stdlib.h>
#include <string.h>

#include "format/sized.h"

/* ---- Opening ----------------------------------------------------------------------- */

static uint64_t blocks_within(uint64_t max_bytes) {
  if (!max_bytes) return FORMAT_MAX_BLOCKS;
  if (max_bytes <= FORMAT_BLOCKS_OFFSET) return 0;
  uint64_t blocks = (max_bytes - FORMAT_BLOCKS_OFFSET) / FORMAT_BLOCK_BYTES;
  return blocks < FORMAT_MAX_BLOCKS ? blocks : FORMAT_MAX_BLOCKS;
}

int eventring_saver_open(eventring_saver **saver, eventring_cursor *cursor,
                         const struct eventring_saver_options *options,
                         struct eventring_error *error) {
  if (!saver || !cursor || !options)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no saver, cursor or options");
  eventring_saver *s = calloc(1, sizeof *s);
  if (!s) return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a saver");
  s->options = *options;
  s->cursor = cursor;
  s->meta = &cursor->meta;
  /* must be set before the rings are read: in a file that nobody writes into any more,
     all units are examined */
  s->meta->over |= evr_metadata_is_settled(s->meta);
  s->most = blocks_within(s->options.max_bytes);
  /* the first unit is reserved for records */
  s->claimed = FORMAT_UNIT;
  int status = s->options.stripped ? saver_strip_begin(s, error) : EVENTRING_OK;
  if (s->options.part) status = saver_merge_begin(s, error);
  if (status == EVENTRING_OK) *saver = s;
  else eventring_saver_close(s);
  return status;
}

void eventring_saver_close(eventring_saver *saver) {
  if (!saver) return;
  for (unsigned n = 0; n < saver->made_count; n++) free(saver->stream[saver->made[n]]);
  free(saver->records);
  free(saver->buffer);
  if (saver->totals) evr_totals_free(saver->totals);
  free(saver->totals);
  saver_strip_end(saver);
  saver_merge_close(saver);
  free(saver);
}

uint64_t eventring_saver_size(const eventring_saver *saver) {
  return format_block_offset(saver->claimed);
}

static bool arguments_are_valid(const eventring_saver *saver, const void *buffer, size_t size,
                                const struct eventring_piece *pieces, size_t room,
                                const size_t *used) {
  return saver && buffer && (uintptr_t)buffer % sizeof(uint64_t) == 0 &&
         size >= FORMAT_BLOCK_BYTES && pieces && room >= 8 && used;
}

static int refresh(eventring_saver *saver, struct eventring_error *error) {
  int status = evr_metadata_refresh(saver->meta, error);
  return status == EVENTRING_OK ? saver_take_rings(saver, error) : status;
}

/* ---- Filling ----------------------------------------------------------------------- */

/* Returns the share of a ring's places that have blocks not copied yet. A stream, whose
   blocks stay, counts as a ring with more places than any other. */
static double fullness(const eventring_saver *saver, const struct saver_stream *stream) {
  uint32_t places = evr_metadata_blocks(saver->meta, stream->slot, stream->ring);
  return (double)saver_backlog(saver, stream) / places;
}

static uint32_t places_of(const eventring_saver *saver, const struct saver_stream *stream) {
  uint32_t places = evr_metadata_blocks(saver->meta, stream->slot, stream->ring);
  return places == EVR_STREAM_PLACES ? 0 : places;
}

/* Returns the ring that will be overwritten first, or NULL if no ring has anything to
   copy. */
static struct saver_stream *most_urgent(const eventring_saver *saver) {
  struct saver_stream *urgent = NULL;
  double fullest = 0;
  for (unsigned n = 0; n < saver->made_count; n++) {
    struct saver_stream *stream = saver->stream[saver->made[n]];
    double full = stream->held_back ? 0 : fullness(saver, stream);
    if (full > fullest) {
      fullest = full;
      urgent = stream;
    }
  }
  return urgent;
}

/* most blocks that one flush copies; later fills, which their user may limit, copy the
   others */
enum { MOST_FLUSHED = FORMAT_UNIT };

static void begin_fill(eventring_saver *saver) {
  for (unsigned n = 0; n < saver->made_count; n++) {
    struct saver_stream *stream = saver->stream[saver->made[n]];
    stream->tries = 0;
    stream->account.backlog = saver_backlog(saver, stream);
    stream->held_back = saver->flushing && stream->account.backlog > MOST_FLUSHED;
    stream->account.places = places_of(saver, stream);
  }
}

static int fill(eventring_saver *saver, struct saver_output *out,
                struct eventring_error *error) {
  struct saver_stream *stream;
  int status = EVENTRING_OK;
  saver->full = false;
  begin_fill(saver);
  if (!saver_merge_flush(saver, out)) return status;
  while (status == EVENTRING_OK && saver_room(out) && !saver->full &&
         (stream = most_urgent(saver)) != NULL)
    status = saver_copy_run(saver, stream, out, error);
  return status == EVENTRING_OK ? saver_merge_status(saver, error) : status;
}

int eventring_saver_fill(eventring_saver *saver, void *buffer, size_t size,
                         struct eventring_piece *pieces, size_t room, size_t *used,
                         struct eventring_error *error) {
  struct eventring_error own;
  if (!arguments_are_valid(saver, buffer, size, pieces, room, used))
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no saver, or no room");
  struct saver_output out = {.buffer = buffer, .size = size, .pieces = pieces, .room = room};
  if (!error) error = &own;
  int status = refresh(saver, error);
  if (status == EVENTRING_OK) status = fill(saver, &out, error);
  *used = out.used;
  /* pieces that were made before an error are returned first: they are counted as
     saved */
  return out.count || status == EVENTRING_OK ? (int)out.count : status;
}

/* ---- Updates ----------------------------------------------------------------------- */

/* Begins an update with the heads that the front will show. */
static int begin_update(eventring_saver *saver, struct eventring_error *error) {
  int status = refresh(saver, error);
  saver->slots = saver->meta->status.slots;
  saver->stage = SAVER_WHOLE;
  saver->flushing = true;
  saver->at = 0;
  return status;
}

static int copy_whole_blocks(eventring_saver *saver, struct saver_output *out,
                             struct eventring_error *error) {
  int status = fill(saver, out, error);
  if (status == EVENTRING_OK && (saver->full || !most_urgent(saver))) {
    saver->stage = SAVER_NEWEST;
    saver->flushing = false;
  }
  return status;
}

static int copy_newest_blocks(eventring_saver *saver, struct saver_output *out,
                              struct eventring_error *error) {
  int status = EVENTRING_OK;
  while (status == EVENTRING_OK && saver->at < saver->made_count && saver_room(out))
    status = saver_copy_newest(saver, saver->stream[saver->made[saver->at++]], out, error);
  return status;
}

/* Returns the head that the front may show. A ring whose blocks were all lost is not in
   the file. */
static uint64_t head_within(const struct saver_stream *stream, uint64_t head) {
  return head >= stream->first ? head : 0;
}

static void announce(eventring_saver *saver) {
  for (unsigned n = 0; n < saver->made_count; n++) {
    struct saver_stream *stream = saver->stream[saver->made[n]];
    bool has_newest = stream->newest.sequence && !saver->handed_on;
    uint64_t last = has_newest ? stream->newest.sequence : stream->copied;
    if (stream->lost_from && stream->lost_to == last) last = stream->lost_from - 1;
    if (stream->present) stream->announced = head_within(stream, last);
  }
}

void saver_withdraw(eventring_saver *saver) {
  for (unsigned n = 0; n < saver->made_count; n++) {
    struct saver_stream *stream = saver->stream[saver->made[n]];
    if (stream->lost_from && stream->announced >= stream->lost_from &&
        stream->announced <= stream->lost_to)
      stream->announced = head_within(stream, stream->lost_from - 1);
  }
}

/* Begins the stage of records, which were written before the events that need them. */
static int begin_records(eventring_saver *saver, struct eventring_error *error) {
  announce(saver);
  int status = evr_metadata_catch_up(saver->meta, error);
  if (status == EVENTRING_OK)
    status = evr_definitions_catch_up(&saver->cursor->definitions, saver->meta, error);
  if (status == EVENTRING_OK) status = saver_list_records(saver, error);
  saver->stage = SAVER_RECORDS;
  saver->at = 0;
  return status;
}

static int end_update(eventring_saver *saver, struct saver_output *out,
                      struct eventring_error *error) {
  int status = saver->merge ? saver_merge_end(saver, error) : EVENTRING_OK;
  if (!saver_merge_flush(saver, out)) return status;
  saver->stage = SAVER_IDLE;
  if (saver->ending && saver->meta->over) evr_cursor_check_end(saver->cursor);
  return status;
}

static int update(eventring_saver *saver, struct saver_output *out,
                  struct eventring_error *error) {
  int status = EVENTRING_OK;
  if (saver->stage == SAVER_IDLE) status = begin_update(saver, error);
  if (status == EVENTRING_OK && saver->stage == SAVER_WHOLE)
    status = copy_whole_blocks(saver, out, error);
  if (status == EVENTRING_OK && saver->stage == SAVER_NEWEST) {
    status = copy_newest_blocks(saver, out, error);
    if (status == EVENTRING_OK && saver->at == saver->made_count)
      status = begin_records(saver, error);
  }
  if (status == EVENTRING_OK && saver->stage == SAVER_RECORDS) {
    status = saver_copy_records(saver, out, error);
    if (saver->at == saver->record_count) saver->stage = SAVER_TOTALS;
  }
  if (status == EVENTRING_OK && saver->stage == SAVER_TOTALS)
    status = saver_copy_totals(saver, out, error);
  if (status == EVENTRING_OK && saver->stage == SAVER_LAST && saver_room(out))
    status = end_update(saver, out, error);
  return status;
}

/* Keeps an error that occurred after the first pieces were made; the next call returns
   it. */
static void keep_error(eventring_saver *saver, int status, const struct eventring_error *error) {
  saver->failed = status;
  saver->failure = *error;
}

static int say_error(eventring_saver *saver, struct eventring_error *error) {
  int status = saver->failed;
  saver->failed = EVENTRING_OK;
  if (status != EVENTRING_OK && error) *error = saver->failure;
  return status;
}

int eventring_saver_update(eventring_saver *saver, void *buffer, size_t size,
                           struct eventring_piece *pieces, size_t room, size_t *used,
                           bool *more, struct eventring_error *error) {
  struct eventring_error own;
  if (!arguments_are_valid(saver, buffer, size, pieces, room, used) || !more)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no saver, or no room");
  struct saver_output out = {.buffer = buffer, .size = size, .pieces = pieces, .room = room};
  int status = say_error(saver, error);
  if (status == EVENTRING_OK) status = update(saver, &out, error ? error : &own);
  *used = out.used;
  *more = status == EVENTRING_OK && saver->stage != SAVER_IDLE;
  if (status == EVENTRING_OK) return (int)out.count;
  saver->stage = SAVER_IDLE;
  saver->flushing = false;
  if (!out.count) return status;
  keep_error(saver, status, error ? error : &own);
  *more = true;
  return (int)out.count;
}

int eventring_saver_end(eventring_saver *saver, bool over, struct eventring_error *error) {
  struct eventring_error own;
  if (!saver) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no saver");
  int status = refresh(saver, error ? error : &own);
  /* definitions say what events mean */
  if (status == EVENTRING_OK && (saver->strip || saver->merge))
    status = evr_definitions_catch_up(&saver->cursor->definitions, saver->meta,
                                      error ? error : &own);
  saver->over = over;
  saver->meta->over = over && evr_metadata_is_settled(saver->meta);
  saver->end_ticks = evr_clock_ticks((enum format_clock)saver->meta->header.clock);
  saver->ending = true;
  for (unsigned n = 0; n < saver->made_count; n++)
    saver_end_ring(saver, saver->stream[saver->made[n]]);
  if (saver->cut_short)
    saver->end_ticks = evr_metadata_ticks(saver->meta, saver->options.until_ns);
  if (status == EVENTRING_OK && saver->merge)
    status = saver_merge_slots(saver, error ? error : &own);
  return status;
}

/* ---- The next file ----------------------------------------------------------------- */

static int make_streams(eventring_saver *to, const eventring_saver *from,
                        struct eventring_error *error) {
  for (unsigned n = 0; n < from->made_count; n++) {
    unsigned index = from->made[n];
    to->stream[index] = calloc(1, sizeof *to->stream[index]);
    if (!to->stream[index]) return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a ring");
    to->made[to->made_count++] = (uint16_t)index;
  }
  to->taken = from->taken;
  return EVENTRING_OK;
}

static void hand_on(eventring_saver *saver, eventring_saver *next) {
  saver->ending = saver->handed_on = true;
  saver->end_ticks = evr_clock_ticks((enum format_clock)saver->meta->header.clock);
  for (unsigned n = 0; n < saver->made_count; n++)
    saver_hand_on(saver->stream[saver->made[n]], next->stream[saver->made[n]]);
}

int eventring_saver_next(eventring_saver *saver, eventring_saver **next, uint64_t max_bytes,
                         struct eventring_error *error) {
  eventring_saver *made;
  if (!saver || !next) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no saver");
  if (saver->ending) return evr_fail(error, EVENTRING_E_STATE, 0, "the file has ended");
  struct eventring_saver_options options = saver->options;
  options.max_bytes = max_bytes;
  int status = eventring_saver_open(&made, saver->cursor, &options, error);
  if (status != EVENTRING_OK) return status;
  status = make_streams(made, saver, error);
  if (status != EVENTRING_OK) {
    eventring_saver_close(made);
    return status;
  }
  hand_on(saver, made);
  *next = made;
  return EVENTRING_OK;
}

void eventring_saver_written(eventring_saver *saver, const void *buffer,
                             const struct eventring_piece *piece, size_t written) {
  if (!saver || !buffer || !piece || saver->merge) return;
  const uint8_t *bytes = (const uint8_t *)buffer + piece->from;
  bool newest = piece->kind == EVENTRING_PIECE_NEWEST, in_part = written % FORMAT_BLOCK_BYTES != 0;
  if (written >= piece->size) {
    if (newest) saver_confirm_newest(saver, bytes, piece->offset);
    return;
  }
  written -= written % FORMAT_BLOCK_BYTES;
  size_t size = piece->size - written;
  uint64_t offset = piece->offset + written;
  if (newest || piece->kind == EVENTRING_PIECE_EVENTS)
    saver_lose_blocks(saver, bytes + written, offset, size, newest, in_part);
  else if (piece->kind == EVENTRING_PIECE_RECORDS)
    saver_records_unwritten(saver, offset, size);
}

/* ---- Accounts ---------------------------------------------------------------------- */

void eventring_saver_info(eventring_saver *saver, struct eventring_saver_info *info) {
  struct eventring_saver_info full = {.rings = saver->made_count, .full = saver->full,
                                      .domains = saver->domains,
                                      .classes_lost = saver->classes_lost,
                                      .lost_ns = saver_loss_ns(saver)};
  for (unsigned n = 0; n < saver->made_count; n++) {
    const struct eventring_saver_ring *ring = &saver->stream[saver->made[n]]->account;
    double fill = ring->places ? (double)ring->backlog / ring->places : 0;
    eventring_saver_add(&full, ring);
    full.backlog += saver_backlog(saver, saver->stream[saver->made[n]]);
    if (fill > full.fullest) full.fullest = fill;
  }
  *info = full;
}

int eventring_saver_ring(eventring_saver *saver, unsigned n,
                         struct eventring_saver_ring *info) {
  if (!saver || !info) return EVENTRING_E_ARGUMENT;
  if (n >= saver->made_count) return EVENTRING_E_NOT_FOUND;
  *info = saver->stream[saver->made[n]]->account;
  return EVENTRING_OK;
}
