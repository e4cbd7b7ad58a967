/* SPDX-License-Identifier: MIT */
/* saver_front.c: the front of the file that a saver makes. */
#include "reader/saver.h"

#include <string.h>

#include "format/checksum.h"

/* Tells whether the file is a copy of a recording that went on, directly or through
   another copy. */
static bool went_on(const eventring_saver *saver) {
  return saver->options.copy && (!saver->over || saver->meta->header.flags & FORMAT_WENT_ON);
}

/* Writes the header. A copy of a damaged header shows the damage. */
static void put_header(const eventring_saver *saver, struct format_header *h) {
  *h = saver->meta->header;
  h->layout = FORMAT_STREAM;
  h->flags = FORMAT_INCOMPLETE;
  if (saver->options.copy) h->flags |= FORMAT_COPY | (went_on(saver) ? FORMAT_WENT_ON : 0);
  h->checksum = evr_header_checksum(h);
  if (saver->meta->header_is_damaged) h->checksum = ~h->checksum;
}

static int put_domain(const eventring_saver *saver, unsigned slot, struct format_domain *d,
                      struct eventring_error *error) {
  int status = evr_metadata_domain(saver->meta, slot, d, error);
  memset(d->ring, 0, sizeof d->ring);
  for (unsigned ring = 0; ring < EVENTRING_RINGS; ring++) {
    const struct saver_stream *stream = saver->stream[slot * EVENTRING_RINGS + ring];
    if (stream && stream->announced)
      d->ring[ring] = (struct format_ring){stream->announced, 0, FORMAT_STREAM_RING};
  }
  return status;
}

static unsigned count_streams(const eventring_saver *saver) {
  unsigned count = 0;
  for (unsigned n = 0; n < saver->made_count; n++)
    count += saver->stream[saver->made[n]]->announced != 0;
  return count;
}

/* Writes the counts of the records that are in the file. Counts as dropped the records
   that the producer dropped or that could not be written. */
static void put_counts(const eventring_saver *saver, struct format_status *s) {
  for (unsigned kind = 0; kind < FORMAT_KINDS; kind++)
    s->kind[kind].records = saver->record_counts[kind];
  s->kind[FORMAT_EVENTS].records = count_streams(saver);
  for (unsigned kind = 0; kind < FORMAT_KINDS; kind++)
    s->kind[kind].dropped += saver_missing_records(saver, kind);
}

/* Tells whether the file has no copy of a newest block that is in the next file. */
static bool is_clear(const eventring_saver *saver) {
  bool any = false;
  for (unsigned n = 0; saver->handed_on && n < saver->made_count; n++)
    any |= saver->stream[saver->made[n]]->newest.sequence != 0;
  return !any;
}

/* Writes how the recording ends. If the process is gone and the file is not cut short,
   the file has the end that the process wrote (none if it was killed). Otherwise the
   recording ends where the saver ends, unless the file is a copy of a recording that went
   on. Until the last front is written, the file says that the recording goes on, even if
   the process has ended, because readers take an ended file for complete. */
static void put_end(const eventring_saver *saver, bool is_last, struct format_status *s,
                    const uint64_t *tables) {
  s->checksum = 0;
  if (!is_last || !is_clear(saver)) {
    s->state = FORMAT_RECORDING;
    return;
  }
  if (!went_on(saver) && (!saver->over || saver->cut_short)) {
    s->state = FORMAT_ENDED;
    s->end_ticks = saver->end_ticks;
    s->end_reason = FORMAT_END_STOPPED;
    s->end_detail = 0;
  }
  s->preserve = FORMAT_PRESERVE_ALWAYS;
  if (saver->options.copy || s->state == FORMAT_ENDED)
    s->checksum = evr_front_checksum(s, tables);
}

/* Returns how many blocks the file has room for, because a front must not claim more. */
static uint64_t claimed_within(const eventring_saver *saver, uint64_t file_bytes) {
  uint64_t blocks = file_bytes > FORMAT_BLOCKS_OFFSET
                        ? (file_bytes - FORMAT_BLOCKS_OFFSET) / FORMAT_BLOCK_BYTES : 0;
  return blocks < saver->claimed ? blocks - blocks % FORMAT_UNIT : saver->claimed;
}

static int put_front(eventring_saver *saver, uint8_t *to, uint64_t file_bytes, bool is_last,
                     struct eventring_error *error) {
  int status = EVENTRING_OK;
  saver_withdraw(saver);
  put_header(saver, (struct format_header *)to);
  struct format_domain *domains = (struct format_domain *)(to + FORMAT_DOMAINS_OFFSET);
  for (unsigned slot = 0; status == EVENTRING_OK && slot < saver->slots; slot++)
    status = put_domain(saver, slot, &domains[slot], error);
  if (status != EVENTRING_OK) return status;
  memcpy(to + FORMAT_CONTROL_OFFSET, &saver->meta->control, sizeof saver->meta->control);
  struct format_status *s = (struct format_status *)(to + FORMAT_STATUS_OFFSET);
  *s = saver->meta->status;
  s->slots = saver->slots;
  s->claimed = claimed_within(saver, file_bytes);
  put_counts(saver, s);
  saver_strip_front(saver, to);
  put_end(saver, is_last, s, (const uint64_t *)(to + FORMAT_DOMAINS_OFFSET));
  return status;
}

int eventring_saver_front(eventring_saver *saver, void *buffer, uint64_t file_bytes,
                          bool is_last, struct eventring_piece pieces[2],
                          struct eventring_error *error) {
  struct eventring_error own;
  int status = EVENTRING_OK;
  if (!saver || !buffer || !pieces)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no saver, buffer or pieces");
  memset(buffer, 0, EVENTRING_FRONT_BYTES);
  if (saver->merge) saver_merge_front(saver, buffer);
  else status = put_front(saver, buffer, file_bytes, is_last, error ? error : &own);
  if (status != EVENTRING_OK) return status;
  pieces[0] = (struct eventring_piece){FORMAT_STATUS_OFFSET, FORMAT_STATUS_OFFSET,
                                       EVENTRING_FRONT_BYTES - FORMAT_STATUS_OFFSET,
                                       EVENTRING_PIECE_FRONT};
  pieces[1] = (struct eventring_piece){0, 0, FORMAT_STATUS_OFFSET, EVENTRING_PIECE_FRONT};
  if (!is_last) return EVENTRING_OK;
  saver->withdrawn = saver->handed_on;
  return is_clear(saver) ? EVENTRING_OK : EVENTRING_AGAIN;
}
