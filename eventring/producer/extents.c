/* SPDX-License-Identifier: MIT */
/* extents.c: claiming, mapping and finding blocks (see extents.h). */
#include "producer/extents.h"

#include <errno.h>
#include <unistd.h>

#include "format/error.h"
#include "format/law.h"
#include "producer/space.h"

static int no_room(const struct evr_extents *e, int failure, struct eventring_error *error) {
  return evr_fail(error, evr_code_of_errno(failure), failure,
                  "no room for more blocks in %.250s", e->path);
}

/* Claims blocks by a compare-and-exchange, repeated while other claims come first. An
   atomic addition could not stop at the limit of the file. */
bool evr_extents_take(struct evr_extents *e, uint32_t blocks, uint32_t *first) {
  uint64_t next = __atomic_load_n(&e->next, __ATOMIC_RELAXED);
  do {
    if (blocks > e->most || next > e->most - blocks) return false;
  } while (!__atomic_compare_exchange_n(&e->next, &next, next + blocks, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
  *first = (uint32_t)next;
  return true;
}

/* Gives back blocks that could not be used. If blocks behind them were claimed meanwhile,
   they stay a hole. */
static void give_back(struct evr_extents *e, uint32_t first, uint32_t blocks) {
  uint64_t next = (uint64_t)first + blocks;
  __atomic_compare_exchange_n(&e->next, &next, (uint64_t)first, false, __ATOMIC_RELAXED,
                              __ATOMIC_RELAXED);
}

/* Raises the number of blocks that readers see. Blocks before `end` that others have
   claimed are a hole until they are reserved. */
void evr_extents_publish(struct evr_extents *e, uint64_t end) {
  uint64_t claimed = __atomic_load_n(e->claimed, __ATOMIC_RELAXED);
  /* release: pairs with the acquire fence of readers in read_status (reader/metadata.c),
     which then find the file that long */
  while (claimed < end &&
         !__atomic_compare_exchange_n(e->claimed, &claimed, end, true, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED))
    continue;
}

/* Checks the law of the extents: they are in ascending order and do not overlap. */
static inline bool is_in_order(const struct evr_extents *e) {
  for (uint32_t i = 1; i < e->count; i++)
    if (e->extent[i].first < (uint64_t)e->extent[i - 1].first + e->extent[i - 1].blocks)
      return false;
  return true;
}

/* Makes the file at least this long. A file that other threads lengthen at the same time
   must not be cut, so with streams this writes the last byte instead of setting the
   length. */
static int set_length(const struct evr_extents *e, int fd, uint64_t bytes) {
  if (!e->has_streams) return ftruncate(fd, (off_t)bytes) == 0 ? 0 : errno;
  return evr_space_reserve(fd, e->in_memory, bytes - 1, 1);
}

/* Lengthens the file. Returns 0 or an errno. */
static int extend_file(const struct evr_extents *e, int fd, uint64_t from, uint64_t bytes,
                       enum evr_claim how) {
  struct statfs fs;
  bool reserve = how == EVR_CLAIM_NOW && !e->in_memory;
  int failure = evr_space_check_file_size(from + bytes);
  if (!failure && how != EVR_CLAIM_BARE && fstatfs(fd, &fs) == 0)
    failure = evr_space_check_free(&fs, bytes);
  if (!failure) failure = set_length(e, fd, from + bytes);
  if (!failure && reserve) failure = evr_space_reserve(fd, false, from, bytes);
  return failure;
}

int evr_extents_claim_locked(struct evr_extents *e, uint32_t blocks, enum evr_claim how,
                             const struct evr_extent **extent, struct eventring_error *error) {
  uint32_t first;
  blocks = (blocks + EVR_EXTENT_UNIT - 1) / EVR_EXTENT_UNIT * EVR_EXTENT_UNIT;
  uint64_t bytes = blocks * (uint64_t)FORMAT_BLOCK_BYTES;
  if (e->count == EVR_MAX_EXTENTS)
    return evr_fail(error, EVENTRING_E_FULL, 0, "%.250s has as many blocks as it can", e->path);
  if (!evr_space_leaves_room(bytes))
    return evr_fail(error, EVENTRING_E_LIMIT, 0,
                    "cannot map more blocks of %.250s: the limit on address space leaves too "
                    "little for them", e->path);
  bool later = how != EVR_CLAIM_NOW || e->in_memory;
  int fd = evr_descriptor_use(&e->file, e->path);
  if (fd < 0) return no_room(e, EBADF, error);
  if (!evr_extents_take(e, blocks, &first))
    return evr_fail(error, EVENTRING_E_FULL, 0, "%.250s has as many blocks as it can", e->path);
  uint64_t offset = format_block_offset(first);
  int failure = extend_file(e, fd, offset, bytes, how);
  uint8_t *map = failure ? NULL : evr_space_map(fd, offset, bytes, e->together);
  if (!map) {
    int cause = errno;
    give_back(e, first, blocks);
    if (failure) return no_room(e, failure, error);
    return evr_fail(error, EVENTRING_E_LIMIT, cause, "cannot map more blocks of %.250s",
                    e->path);
  }
  e->extent[e->count] = (struct evr_extent){
      .first = first, .blocks = blocks, .later = later, .map = map};
  *extent = &e->extent[e->count];
  /* release: pairs with the acquire load in extent_of, for cursors of this process: they
     find the extent and its mapping */
  __atomic_store_n(&e->count, e->count + 1, __ATOMIC_RELEASE);
  evr_extents_publish(e, (uint64_t)first + blocks);
  EVR_LAW(is_in_order(e));
  return EVENTRING_OK;
}

/* Notes that blocks of the extent are ready. If there are too many runs, the blocks are
   not entered, and cursors of this process find zeros there. */
static void note_ready(struct evr_extent *extent, uint32_t at, uint32_t count) {
  uint32_t runs = extent->ready_runs;
  for (uint32_t i = 0; i < runs; i++) {
    struct evr_ready_run *run = &extent->ready[i];
    if (run->at + run->count != at) continue;
    /* release: pairs with the acquire load of the count in is_ready: a thread that finds
       the blocks in the run finds them in the file */
    __atomic_store_n(&run->count, run->count + count, __ATOMIC_RELEASE);
    return;
  }
  EVR_LAW(runs < EVR_READY_RUNS);
  if (runs == EVR_READY_RUNS) return;
  extent->ready[runs] = (struct evr_ready_run){at, count};
  /* release: pairs with the acquire load of ready_runs in is_ready, which then sees the
     run */
  __atomic_store_n(&extent->ready_runs, runs + 1, __ATOMIC_RELEASE);
}

static bool is_ready(const struct evr_extent *extent, uint64_t at, uint64_t end) {
  if (!extent->later) return true;
  /* acquire: pairs with the releases in note_ready: here with that of the run, below with
     that of its count */
  uint32_t runs = __atomic_load_n(&extent->ready_runs, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < runs; i++) {
    const struct evr_ready_run *run = &extent->ready[i];
    if (at >= run->at && end <= run->at + __atomic_load_n(&run->count, __ATOMIC_ACQUIRE))
      return true;
  }
  return false;
}

static int reserve(struct evr_extents *e, uint64_t offset, uint64_t bytes) {
  int fd = evr_descriptor_use(&e->file, e->path);
  return fd < 0 ? EBADF : evr_space_reserve(fd, e->in_memory, offset, bytes);
}

int evr_extents_make_ready(struct evr_extents *e, const struct evr_extent *extent,
                           uint32_t at, uint32_t count, struct eventring_error *error) {
  uint64_t bytes = count * (uint64_t)FORMAT_BLOCK_BYTES;
  uint64_t offset = format_block_offset(extent->first + at);
  if (extent->later) {
    int failure = reserve(e, offset, bytes);
    if (failure) return no_room(e, failure, error);
  }
  evr_space_touch_ahead(extent->map + at * (uint64_t)FORMAT_BLOCK_BYTES, bytes);
  if (extent->later) note_ready(&e->extent[extent - e->extent], at, count);
  return EVENTRING_OK;
}

/* Returns the extent of a block, or NULL. Extents are in the order of their blocks. */
static const struct evr_extent *extent_of(const struct evr_extents *e, uint64_t block) {
  /* acquire: pairs with the release in evr_extents_claim_locked */
  uint32_t low = 0, high = __atomic_load_n(&e->count, __ATOMIC_ACQUIRE);
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const struct evr_extent *extent = &e->extent[middle];
    if (block < extent->first) high = middle;
    else if (block >= (uint64_t)extent->first + extent->blocks) low = middle + 1;
    else return extent;
  }
  return NULL;
}

const uint64_t *evr_extents_words(const struct evr_extents *e, uint64_t offset, size_t size) {
  static const uint64_t zeros[FORMAT_BLOCK_WORDS];
  uint64_t at = offset - FORMAT_BLOCKS_OFFSET;
  const struct evr_extent *extent = extent_of(e, at / FORMAT_BLOCK_BYTES);
  if (!extent) return NULL;
  at -= extent->first * (uint64_t)FORMAT_BLOCK_BYTES;
  if (at + size > extent->blocks * (uint64_t)FORMAT_BLOCK_BYTES) return NULL;
  if (!is_ready(extent, at / FORMAT_BLOCK_BYTES,
                (at + size + FORMAT_BLOCK_BYTES - 1) / FORMAT_BLOCK_BYTES))
    return size <= sizeof zeros ? zeros : NULL;
  return (const uint64_t *)(extent->map + at);
}

void evr_extents_protect(const struct evr_extents *e) {
  for (uint32_t i = 0; i < e->count; i++)
    evr_space_protect(e->extent[i].map, e->extent[i].blocks * (uint64_t)FORMAT_BLOCK_BYTES);
}

void evr_extents_unmap(struct evr_extents *e) {
  for (uint32_t i = 0; i < e->count; i++)
    evr_space_unmap(e->extent[i].map, e->extent[i].blocks * (uint64_t)FORMAT_BLOCK_BYTES);
  e->count = 0;
}
