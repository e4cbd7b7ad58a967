/* SPDX-License-Identifier: MIT */
/* snapshot.c: copies a recording.
 *
 * The copy has the layout of the original and is marked FORMAT_SNAPSHOT. The blocks of
 * events come first, each as a reader sees it: whole, or not at all (a hole, whose
 * sequence reads 0 and is not valid). The head of each ring and its runs are those of the
 * moment at which its copying began. Then come records and control log: what the events refer to
 * was there before them. Each block lies where it lay. Rings and records whose blocks are
 * claimed in the meantime are not in the copy. */
#include "reader/cursor.h"
#include "reader/parts.h"

#include "format/checksum.h"
#include "format/process.h"
#include "format/rename_new.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BATCH = 64 /* blocks that are written at once */ };

struct copy {
  struct evr_metadata *meta;
  uint64_t claimed; /* blocks of the copy */
  struct evr_block_cursor blocks; /* of the ring being copied */
  struct evr_block *rooms;
  uint64_t *batch; /* blocks that follow each other in the file, not written yet ... */
  uint64_t batch_offset;
  unsigned batch_count; /* ... their number */
  int fd;
  int directory;     /* that the names are in, or AT_FDCWD */
  const char *name;
  const char *final; /* the name that it gets when it is complete; NULL: it has it */
  const char *path;  /* for messages */
  uint64_t *tables; /* domain and run table of the copy */
  struct evr_places places[EVENTRING_RINGS]; /* of the domain being copied */
  struct eventring_error *error;
};

static int write_part(struct copy *copy, uint64_t offset, const void *from, size_t size) {
  for (size_t at = 0; at < size;) {
    ssize_t done = pwrite(copy->fd, (const char *)from + at, size - at, (off_t)(offset + at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      int cause = done < 0 ? errno : ENOSPC;
      return evr_fail(copy->error, evr_code_of_errno(cause), cause, "cannot write %.300s",
                      copy->path);
    }
    at += (size_t)done;
  }
  return EVENTRING_OK;
}

/* ---- Blocks ----------------------------------------------------------------------- */

static int write_batch(struct copy *copy) {
  size_t size = (size_t)copy->batch_count * FORMAT_BLOCK_BYTES;
  copy->batch_count = 0;
  return size ? write_part(copy, copy->batch_offset, copy->batch, size) : EVENTRING_OK;
}

/* A block that was being filled is complete in the copy as far as it went. */
static void append_block(struct copy *copy, const struct evr_block *block) {
  uint64_t *to = copy->batch + copy->batch_count++ * (size_t)FORMAT_BLOCK_WORDS;
  memcpy(to, block->words, block->have * sizeof *to);
  memset(to + block->have, 0, (FORMAT_BLOCK_WORDS - block->have) * sizeof *to);
  to[FORMAT_SEAL_WORD] = evr_seal(block->have, evr_checksum(to, block->have));
}

static int keep_block(struct copy *copy) {
  const struct evr_block_cursor *blocks = &copy->blocks;
  uint64_t offset = evr_metadata_place(copy->meta, blocks->slot, blocks->ring,
                                       blocks->sequence).offset;
  uint64_t end = copy->batch_offset + copy->batch_count * (uint64_t)FORMAT_BLOCK_BYTES;
  int status = EVENTRING_OK;
  if (copy->batch_count == BATCH || offset != end) status = write_batch(copy);
  if (!copy->batch_count) copy->batch_offset = offset;
  append_block(copy, blocks->held);
  return status;
}

/* The head of a ring and its places at the same moment. A run may be younger than a head; then
   the head, loaded again, is at least that at which the ring grew. What is written after this
   moment lies at the same places, also if the ring grows again, as far as it is there then. */
static uint64_t head_and_places(struct copy *copy, unsigned slot, unsigned ring) {
  struct evr_places *places = &copy->places[ring];
  for (int attempt = 0;; attempt++) {
    uint64_t head = evr_block_cursor_head(&copy->blocks);
    *places = copy->meta->places[slot][ring];
    if (attempt || head >= evr_places_since(places)) return head;
  }
}

/* What is damaged, or overwritten meanwhile, is left out. */
static int copy_ring(struct copy *copy, unsigned slot, unsigned ring, uint64_t *newest) {
  struct evr_block_cursor *blocks = &copy->blocks;
  struct eventring_error damage = {0};
  unsigned budget = UINT_MAX;
  int status = EVENTRING_OK;
  evr_block_cursor_init(blocks, copy->meta, slot, ring, &damage);
  blocks->rooms = copy->rooms;
  blocks->room_count = evr_block_cursor_rooms(blocks);
  uint64_t head = head_and_places(copy, slot, ring);
  *newest = evr_places_since(&copy->places[ring]);
  while (status == EVENTRING_OK && blocks->next <= head &&
         evr_block_cursor_next(blocks, &budget) && blocks->sequence <= head) {
    *newest = blocks->sequence;
    status = keep_block(copy);
  }
  if (status == EVENTRING_OK) status = write_batch(copy);
  if (status == EVENTRING_OK && blocks->failed) {
    *copy->error = damage;
    return damage.code;
  }
  /* nobody overwrites what is over */
  if (copy->meta->over && damage.code && !copy->meta->damage.code) copy->meta->damage = damage;
  return status;
}

/* ---- Records --------------------------------------------------------------------- */

/* A block that was being filled is complete in the copy as far as it went, as above. One
   that is damaged is left out: it would become valid. */
static int copy_record_block(struct copy *copy, uint64_t block) {
  uint64_t words[FORMAT_BLOCK_WORDS];
  uint32_t end;
  uint64_t offset = format_block_offset(block);
  bool sound;
  int status = evr_records_copy(&copy->meta->source, offset, words, &end, &sound, copy->error);
  if (status != EVENTRING_OK || !end) return status;
  if (((struct format_block *)words)->kind == FORMAT_EVENTS) return EVENTRING_OK;
  if (!evr_records_valid(words, end, sound)) {
    if (copy->meta->over)
      evr_note_damage(&copy->meta->damage, "block %llu of the file has records, and is not valid",
                      (unsigned long long)block);
    return EVENTRING_OK;
  }
  memset(words + end, 0, (FORMAT_BLOCK_WORDS - end) * sizeof *words);
  if (evr_records_vouched_for(words, end)) /* else the copy shows the same damage */
    words[FORMAT_SEAL_WORD] = evr_seal(end, evr_checksum(words, end));
  return write_part(copy, offset, words, sizeof words);
}

static int copy_record_units(struct copy *copy) {
  const struct evr_unit_list *units = &copy->meta->units.records;
  int status = EVENTRING_OK;
  for (uint32_t i = 0; i < units->count; i++)
    for (uint32_t k = 0; status == EVENTRING_OK && k < FORMAT_UNIT; k++)
      if (units->block[i] < copy->claimed) status = copy_record_block(copy, units->block[i] + k);
  return status;
}

/* The claimed blocks that are in no ring, as far as a reader looks at them. */
static int copy_records(struct copy *copy) {
  if (evr_metadata_has_streams(copy->meta)) return copy_record_units(copy);
  int status = EVENTRING_OK;
  unsigned left = EVR_MOST_LOOSE_BLOCKS;
  for (uint64_t block = 0; status == EVENTRING_OK && block < copy->claimed && left;) {
    uint64_t end = evr_metadata_run_end(copy->meta, block);
    if (!end) status = copy_record_block(copy, block);
    left -= !end;
    block = end ? end : block + 1;
  }
  return status;
}

/* ---- The front ------------------------------------------------------------------- */

/* The runs that the rings of a domain had when they were copied, which may have been
   claimed since the copy began. */
static int copy_runs(struct copy *copy, unsigned slot) {
  struct format_runs row = {0};
  for (unsigned ring = 0; ring < EVENTRING_RINGS; ring++) {
    const struct evr_places *places = &copy->places[ring];
    for (unsigned i = 1; i < places->runs; i++) {
      const struct evr_run *run = &places->run[i];
      uint32_t before = run[-1].end;
      uint64_t end = (uint64_t)run->first + run->end - before;
      if (end > copy->claimed) copy->claimed = end;
      row.ring[ring].run[i - 1] = format_run(run->first, run->end);
      row.ring[ring].rounds = (uint32_t)((places->floor - 1) / before + 1);
    }
  }
  uint64_t offset = FORMAT_RUNS_OFFSET + slot * sizeof row;
  memcpy((uint8_t *)copy->tables + offset - FORMAT_DOMAINS_OFFSET, &row, sizeof row);
  return write_part(copy, offset, &row, sizeof row);
}

/* The entry of a domain, with its rings as far as they were copied. */
static int copy_domain(struct copy *copy, unsigned slot) {
  struct format_ring ring[EVENTRING_RINGS] = {{0}};
  struct format_domain d;
  int status = EVENTRING_OK;
  for (unsigned i = 0; status == EVENTRING_OK && i < EVENTRING_RINGS; i++)
    if (evr_metadata_blocks(copy->meta, slot, i)) {
      ring[i] = copy->meta->ring[slot][i];
      status = copy_ring(copy, slot, i, &ring[i].head);
    }
  if (status == EVENTRING_OK) status = evr_metadata_domain(copy->meta, slot, &d, copy->error);
  if (status != EVENTRING_OK) return status;
  memcpy(d.ring, ring, sizeof ring);
  memcpy((uint8_t *)copy->tables + slot * sizeof d, &d, sizeof d);
  status = write_part(copy, FORMAT_DOMAINS_OFFSET + slot * sizeof d, &d, sizeof d);
  return status == EVENTRING_OK ? copy_runs(copy, slot) : status;
}

/* The copy of what is damaged shows that. */
static uint32_t checksum_of_copy(uint32_t checksum, bool is_damaged) {
  return is_damaged ? ~checksum : checksum;
}

static int copy_front(struct copy *copy, unsigned slots) {
  struct evr_metadata *meta = copy->meta;
  struct format_status s = meta->status;
  s.slots = slots;
  s.claimed = copy->claimed;
  s.checksum = checksum_of_copy(evr_front_checksum(&s, copy->tables), meta->front_is_damaged);
  int status = write_part(copy, FORMAT_STATUS_OFFSET, &s, sizeof s);
  if (status == EVENTRING_OK)
    status = write_part(copy, FORMAT_CONTROL_OFFSET, &meta->control, sizeof meta->control);
  struct format_header h = meta->header;
  h.layout = FORMAT_SNAPSHOT;
  h.checksum = checksum_of_copy(evr_header_checksum(&h), meta->header_is_damaged);
  return status == EVENTRING_OK ? write_part(copy, 0, &h, sizeof h) : status;
}

/* As long as its blocks need. */
static int set_length(struct copy *copy) {
  if (ftruncate(copy->fd, (off_t)format_block_offset(copy->claimed)) == 0) return EVENTRING_OK;
  return evr_fail(copy->error, evr_code_of_errno(errno), errno, "cannot write %.300s",
                  copy->path);
}

static int copy_all(struct copy *copy) {
  struct evr_metadata *meta = copy->meta;
  int status = evr_metadata_refresh(meta, copy->error);
  unsigned slots = meta->status.slots;
  copy->claimed = meta->status.claimed;
  for (unsigned slot = 0; status == EVENTRING_OK && slot < slots; slot++)
    status = copy_domain(copy, slot);
  if (status == EVENTRING_OK) status = evr_metadata_catch_up(meta, copy->error);
  if (status == EVENTRING_OK) status = set_length(copy);
  if (status == EVENTRING_OK) status = copy_records(copy);
  return status == EVENTRING_OK ? copy_front(copy, slots) : status;
}

/* A copy under way is locked as a producer's file is, so that nobody takes it for one that
   was left behind (remove.c). Between creating and locking, it may have been taken for that. */
static int lock_part(const struct copy *copy) {
  struct stat st;
  evr_lock_file(copy->fd); /* where there are no locks, nobody removes it */
  if (fstat(copy->fd, &st) == 0 && st.st_nlink > 0) return EVENTRING_OK;
  return evr_fail(copy->error, EVENTRING_E_BUSY, 0, "%.300s was removed", copy->path);
}

/* It is complete. */
static int name_finally(const struct copy *copy) {
  int error = evr_rename_new(copy->directory, copy->name, copy->final);
  if (error == 0) return EVENTRING_OK;
  return evr_fail(copy->error, error == EEXIST ? EVENTRING_E_EXISTS : evr_code_of_errno(error),
                  error, "cannot name a copy %.300s", copy->path);
}

static int write_snapshot(struct copy *copy) {
  const char *path = copy->path;
  copy->fd = openat(copy->directory, copy->name,
                    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (copy->fd < 0)
    return evr_fail(copy->error, evr_code_of_errno(errno), errno, "cannot create %.300s",
                    path);
  int status = copy->final ? lock_part(copy) : EVENTRING_OK;
  if (status == EVENTRING_OK) status = copy_all(copy);
  if (status == EVENTRING_OK && copy->final) status = name_finally(copy);
  if (close(copy->fd) != 0 && status == EVENTRING_OK)
    status = evr_fail(copy->error, evr_code_of_errno(errno), errno, "cannot write %.300s",
                      path);
  if (status != EVENTRING_OK) unlinkat(copy->directory, copy->name, 0);
  return status;
}

static bool make_rooms(struct copy *copy) {
  copy->rooms = malloc(EVR_AHEAD * sizeof *copy->rooms);
  copy->batch = malloc((size_t)BATCH * FORMAT_BLOCK_BYTES);
  copy->tables = calloc(1, FORMAT_TABLES_BYTES);
  return copy->rooms && copy->batch && copy->tables;
}

static void free_rooms(struct copy *copy) {
  free(copy->rooms);
  free(copy->batch);
  free(copy->tables);
}

static int copy_cursor(eventring_cursor *c, struct copy copy, struct eventring_error *error) {
  struct eventring_error own;
  copy.meta = &c->meta;
  copy.error = error ? error : &own;
  if (!make_rooms(&copy)) {
    free_rooms(&copy);
    return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a copy");
  }
  c->meta.over |= evr_metadata_is_settled(&c->meta);
  int status = write_snapshot(&copy);
  free_rooms(&copy);
  return status;
}

int eventring_snapshot(eventring_cursor *c, const char *path,
                       struct eventring_error *error) {
  if (!c || !path) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no cursor or path");
  return copy_cursor(c, (struct copy){.directory = AT_FDCWD, .name = path, .path = path}, error);
}

int evr_snapshot_part(eventring_cursor *c, int directory, const char *path,
                      struct eventring_error *error) {
  char part[NAME_MAX + 1];
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  int size = snprintf(part, sizeof part, "%s" EVR_PART_SUFFIX, name);
  if (size >= (int)sizeof part)
    return evr_fail(error, EVENTRING_E_NAME, 0, "%.300s: too long a name", path);
  return copy_cursor(c, (struct copy){.directory = directory, .name = part, .final = name,
                                      .path = path}, error);
}
