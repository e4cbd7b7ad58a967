/* SPDX-License-Identifier: MIT */
/* mend.c: opens a damaged file as a sound one.
 *
 * The whole file is read once. Each block says in its header what it is, and, when it is
 * finished, proves it by its checksum. So neither the heads nor the places of rings in the
 * front are needed: the sound blocks of each ring are listed where they lie, as those of a
 * stream (units.h), and the cursor that is opened sees a stream of which blocks may be
 * missing, whatever the file was. Its source shows, instead of what is in the file,
 *
 *   the front         with a header whose fields are possible, a control page that is valid,
 *                     the heads that are there, and entries of domains that agree with the
 *                     records
 *   damaged records   as far as they could be put right, else zeros
 *
 * What is put right is proved: a checksum that is right again after one byte was changed, and
 * after no other change of one byte; or a second checksum that holds. All else is left out and
 * named. A block of events is never put right, so nothing is delivered of which the file does
 * not say that it is whole.
 *
 * An unfinished block has no checksum. It is believed when its sequence follows that of the
 * newest finished one, or is the head in the front: a ring has one such block at most. Of
 * several that say so, all but one have a damaged header; that of the front comes first. */
#include "reader/mend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/process.h"
#include "format/sized.h"
#include "reader/locate.h"
#include "reader/mend_scan.h"

enum { MOST_PATCHES = 1 << 18, MOST_MENDED = 1024 /* patches with words: 4 MiB */ };

/* ---- Reading ------------------------------------------------------------------------ */

/* Copies what a source has at `from` into the part of it that was asked for. */
static void overlay(uint64_t from, const void *bytes, size_t length, uint64_t offset, void *to,
                    size_t size) {
  uint64_t begin = from > offset ? from : offset;
  uint64_t end = from + length < offset + size ? from + length : offset + size;
  if (begin >= end) return;
  uint8_t *at = (uint8_t *)to + (begin - offset);
  if (bytes) memcpy(at, (const uint8_t *)bytes + (begin - from), end - begin);
  else memset(at, 0, end - begin);
}

/* The first patch of this block or a later one. */
static uint32_t find_patch(const struct evr_mended *mended, uint64_t block) {
  uint32_t low = 0, high = mended->patch_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (mended->patches[middle].block < block) low = middle + 1;
    else high = middle;
  }
  return low;
}

int evr_mended_read(const struct evr_mended *mended, uint64_t offset, void *to, size_t size,
                    struct eventring_error *error) {
  int status = evr_source_read_padded(&mended->file, offset, to, size, error);
  if (status != EVENTRING_OK) return status;
  overlay(0, mended->front, FORMAT_FRONT_BYTES, offset, to, size);
  if (offset + size <= FORMAT_BLOCKS_OFFSET || !mended->patch_count) return EVENTRING_OK;
  uint64_t first = offset > FORMAT_BLOCKS_OFFSET
                       ? (offset - FORMAT_BLOCKS_OFFSET) / FORMAT_BLOCK_BYTES : 0;
  for (uint32_t i = find_patch(mended, first); i < mended->patch_count; i++) {
    uint64_t from = format_block_offset(mended->patches[i].block);
    if (from >= offset + size) break;
    overlay(from, mended->patches[i].words, FORMAT_BLOCK_BYTES, offset, to, size);
  }
  return EVENTRING_OK;
}

void evr_mended_free(struct evr_mended *mended) {
  if (!mended) return;
  for (uint32_t i = 0; i < mended->patch_count; i++) free(mended->patches[i].words);
  free(mended->patches);
  free(mended->front);
  evr_units_free(&mended->units);
  free(mended);
}

static int no_memory(struct evr_scan *s) {
  return evr_fail(s->error, EVENTRING_E_MEMORY, 0, "no memory to repair a file");
}

bool evr_mended_has_room(const struct evr_scan *s) { return s->mended_words < MOST_MENDED; }

int evr_mended_patch(struct evr_scan *s, uint64_t block, const uint64_t *words) {
  struct evr_mended *m = s->mended;
  uint64_t *copy = NULL;
  if (m->patch_count == m->patch_room) {
    uint32_t room = m->patch_room ? 2 * m->patch_room : 64;
    if (room > MOST_PATCHES)
      return evr_fail(s->error, EVENTRING_E_CORRUPT, 0, "more than %d blocks are damaged",
                      MOST_PATCHES);
    struct evr_patch *grown = realloc(m->patches, room * sizeof *grown);
    if (!grown) return no_memory(s);
    m->patches = grown;
    m->patch_room = room;
  }
  if (words && s->mended_words < MOST_MENDED) {
    if (!(copy = malloc(FORMAT_BLOCK_BYTES))) return no_memory(s);
    memcpy(copy, words, FORMAT_BLOCK_BYTES);
    s->mended_words++;
  }
  m->patches[m->patch_count++] = (struct evr_patch){block, copy, false};
  return EVENTRING_OK;
}

/* ---- All of it ----------------------------------------------------------------------- */

static int scan_file(struct evr_scan *s) {
  int status = evr_source_bytes(&s->mended->file, &s->file_bytes, s->error);
  if (status != EVENTRING_OK) return status;
  uint64_t behind = s->file_bytes > FORMAT_BLOCKS_OFFSET ? s->file_bytes - FORMAT_BLOCKS_OFFSET : 0;
  s->blocks = (behind + FORMAT_BLOCK_BYTES - 1) / FORMAT_BLOCK_BYTES;
  if (!s->blocks || s->blocks > FORMAT_MAX_BLOCKS - FORMAT_UNIT)
    return evr_fail(s->error, EVENTRING_E_NOT_EVENTRING, 0, "not an eventring file");
  status = evr_source_read_padded(&s->mended->file, 0, s->mended->front, FORMAT_FRONT_BYTES,
                                  s->error);
  if (status == EVENTRING_OK) status = evr_mend_header(s);
  if (status != EVENTRING_OK) return status;
  s->start_ticks = s->report->header_doubtful ? 0 : evr_mended_header(s->mended)->start_ticks;
  evr_mend_status(s);
  evr_mend_control(s);
  s->ended = evr_mended_status(s->mended)->state == FORMAT_ENDED;
  status = evr_mend_blocks(s);
  if (status != EVENTRING_OK) return status;
  uint64_t found = s->mended->units.records.count;
  for (unsigned i = 0; i < EVR_ALL_RINGS; i++) found += (&s->mended->head[0][0])[i] != 0;
  if (!found) return evr_fail(s->error, EVENTRING_E_NOT_EVENTRING, 0, "not an eventring file");
  if (!s->has_clock) status = evr_mend_clock(s);
  evr_mend_front(s);
  return status;
}

static struct evr_scan *no_scan(struct eventring_error *error) {
  evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory to repair a file");
  return NULL;
}

static struct evr_scan *new_scan(const struct evr_source *file, struct eventring_repair *report,
                             struct eventring_error *error) {
  struct evr_scan *s = calloc(1, sizeof *s);
  if (!s) return no_scan(error);
  s->mended = calloc(1, sizeof *s->mended);
  if (s->mended) s->mended->front = calloc(1, FORMAT_FRONT_BYTES);
  if (!s->mended || !s->mended->front) {
    evr_mended_free(s->mended);
    free(s);
    return no_scan(error);
  }
  s->mended->file = *file;
  s->report = report;
  s->error = error;
  return s;
}

static int open_damaged(eventring_cursor **cursor, int fd, const char *path,
                        struct eventring_repair *report, struct eventring_error *error) {
  struct evr_source source = {.fd = fd};
  struct eventring_error cause = {0};
  if (evr_file_locked(fd) > 0) {
    close(fd);
    return evr_fail(error, EVENTRING_E_BUSY, 0, "%.300s: a live process writes it", path);
  }
  int status = evr_source_open(&source, &cause);
  struct evr_scan *s = status == EVENTRING_OK ? new_scan(&source, report, &cause) : NULL;
  if (status == EVENTRING_OK && !s) status = EVENTRING_E_MEMORY;
  if (s) {
    struct eventring_error damage = {0};
    status = scan_file(s);
    evr_source_take_damage(&source, &damage);
    report->packed_damaged = damage.code != 0;
    source.mended = s->mended;
    free(s->unfinished);
    free(s->records);
  }
  free(s);
  if (status != EVENTRING_OK) {
    evr_source_close(&source);
    return evr_fail(error, status, cause.sys_errno, "%.300s: %s", path, cause.text);
  }
  struct evr_mended *mended = source.mended;
  status = evr_cursor_open(cursor, source, path, EVENTRING_OPEN_UNMAPPED, error);
  if (status == EVENTRING_OK) evr_mend_domains(*cursor, mended, report);
  return status;
}

int eventring_open_damaged_sized(eventring_cursor **cursor, const char *path,
                                 struct eventring_repair *report, size_t report_size,
                                 struct eventring_error *error) {
  struct eventring_repair full = {0};
  int fd;
  if (!cursor || !path || !report)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no cursor, path or report");
  int status = evr_open_file(path, EVENTRING_OPEN_FOLLOW, &fd, error);
  if (status == EVENTRING_OK) status = open_damaged(cursor, fd, path, &full, error);
  evr_copy_sized(report, report_size, &full, sizeof full);
  return status;
}
