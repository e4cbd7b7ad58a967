/* SPDX-License-Identifier: MIT */
/* recording.c: a recording: its front, its blocks of records, creation and end.
 *
 * Space is reserved before it is used (space.h). If someone cuts the file short
 * nevertheless, the process goes on (guard.c).
 */
#include "producer/heap_profile.h"
#include "producer/recording.h"
#include "format/header.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "format/checksum.h"
#include "format/error.h"
#include "format/process.h"
#include "format/text.h"
#include "producer/classes.h"
#include "producer/outside.h"
#include "producer/redact.h"
#include "producer/ring.h"
#include "producer/space.h"

enum {
  /* bytes of the front at the start: with one page of the domain table */
  FRONT_FIRST = FORMAT_DOMAINS_OFFSET + 4096,
  SLOTS_PER_PAGE = 4096 / sizeof(struct format_domain),
  RECORD_BLOCKS = EVR_EXTENT_UNIT, /* blocks claimed at a time for records */
  RECORD_READY = 3, /* blocks of a claim that are made ready at once: what the smallest
                       program needs */
  ENDING_BLOCKS = 2, /* as in FORMAT_RECORD_KINDS */
  OBEYS = 1u << FORMAT_WORD_WANTED | 1u << FORMAT_WORD_HOLD | 1u << FORMAT_WORD_TRIGGERS,
  OBEYS_SAMPLES = 1u << FORMAT_WORD_SAMPLE_RATE,
  OBEYS_PROFILE = 1u << FORMAT_WORD_CALL_PROFILE,
  OBEYS_SPANS = 1u << FORMAT_WORD_SPANS,
  OBEYS_QUESTIONS = 1u << FORMAT_WORD_QUESTION,
  OBEYS_STACKS = 1u << FORMAT_WORD_STACKS
};

/* ---- Blocks of records ----------------------------------------------------------- */

static int claim_record_blocks(struct evr_recording *r, enum evr_claim how,
                               struct eventring_error *error) {
  int status = evr_extents_claim_locked(&r->extents, RECORD_BLOCKS, how, &r->record_extent, error);
  if (status != EVENTRING_OK) return status;
  r->record_at = r->record_ready = 0;
  r->record_end = r->record_extent->blocks;
  return EVENTRING_OK;
}

/* Makes blocks of records ready: several at a time, which saves system calls, or one if
   there is no room for several. */
static bool make_records_ready(struct evr_recording *r) {
  struct eventring_error error;
  const struct evr_extent *extent = r->record_extent;
  uint32_t left = r->record_end - r->record_at, count = left < RECORD_READY ? left : RECORD_READY;
  int status = evr_extents_make_ready(&r->extents, extent, r->record_at, count, &error);
  if (status != EVENTRING_OK) {
    count = 1;
    status = evr_extents_make_ready(&r->extents, extent, r->record_at, count, &error);
  }
  if (status == EVENTRING_OK) r->record_ready = r->record_at + count;
  return status == EVENTRING_OK;
}

static struct format_block *block_at(const struct evr_extent *extent, uint32_t at) {
  return (struct format_block *)(extent->map + at * (uint64_t)FORMAT_BLOCK_BYTES);
}

static void set_ending_blocks_aside(struct evr_recording *r) {
  r->record_end -= ENDING_BLOCKS;
  r->ending_extent = r->record_extent;
  r->ending_at = r->record_end;
}

static struct format_block *next_ending_block(struct evr_recording *r) {
  struct eventring_error error;
  if (evr_extents_make_ready(&r->extents, r->ending_extent, r->ending_at, 1, &error) !=
      EVENTRING_OK)
    return NULL;
  return block_at(r->ending_extent, r->ending_at++);
}

/* Makes sure that there is a block for records, claimed and ready. If there is no room
   for all blocks of a claim, there may be room for some. */
static bool have_record_block(struct evr_recording *r) {
  struct eventring_error error;
  if (r->record_at == r->record_end &&
      claim_record_blocks(r, EVR_CLAIM_NOW, &error) != EVENTRING_OK &&
      claim_record_blocks(r, EVR_CLAIM_BARE, &error) != EVENTRING_OK)
    return false;
  return r->record_at < r->record_ready || make_records_ready(r);
}

/* Gives the next block of a kind, for evr_records; NULL if there is no room. */
static struct format_block *next_record_block(void *owner, enum format_kind kind) {
  struct evr_recording *r = owner;
  if (kind == FORMAT_ENDINGS) return next_ending_block(r);
  if (r->record_room.failure && evr_room_is_hopeless(r, &r->record_room)) return NULL;
  bool found = have_record_block(r);
  r->record_room.failure = found ? 0 : ENOSPC;
  return found ? block_at(r->record_extent, r->record_at++) : NULL;
}

/* ---- Front ----------------------------------------------------------------------- */

static void name_program(struct format_header *h, const char *program) {
  const char *name = program;
  if (!name) {
    const char *path = (const char *)getauxval(AT_EXECFN); /* never moves */
    const char *slash = path ? strrchr(path, '/') : NULL;
    name = slash ? slash + 1 : path;
  }
  evr_text_copy(h->program, sizeof h->program, name);
  evr_text_clean(h->program, sizeof h->program);
}

static uint32_t grow_blocks(const struct eventring_config *config) {
  uint64_t bytes = config->grow_bytes ? config->grow_bytes : EVENTRING_DEFAULT_GROW;
  uint64_t blocks = bytes / FORMAT_BLOCK_BYTES;
  return blocks < FORMAT_MAX_BLOCKS / 2 ? (uint32_t)blocks : FORMAT_MAX_BLOCKS / 2;
}

static void fill_header(struct evr_recording *r, const struct eventring_config *config) {
  struct format_header *h = &r->header;
  evr_header_set_constants(h);
  h->layout = r->streams.rings ? FORMAT_STREAM : FORMAT_FLIGHT_RECORDER;
  h->wsize = config->wsize;
  h->grow_blocks = grow_blocks(config);
  h->pid = getpid();
  h->clock = r->clock;
  /* needed only without locks: reading the start time takes 20 us, sometimes 3 ms */
  h->process_start = r->locked ? 0 : evr_process_start(h->pid);
  h->start_ticks = r->origin.ticks;
  h->start_ns = r->origin.ns;
  h->start_wall_ns = evr_wall_ns() - (int64_t)(evr_monotonic_ns() - r->origin.ns);
  memcpy(h->rings, evr_ring_names, sizeof h->rings);
  memcpy(h->classes, evr_class_names, sizeof h->classes);
}

/* Returns the bytes that the first rings and the first blocks of records take when
   full. */
static uint64_t first_need(const struct evr_recording *r) {
  return RECORD_BLOCKS * (uint64_t)FORMAT_BLOCK_BYTES + 2 * ((uint64_t)8 << r->header.wsize);
}

static int map_front(struct evr_recording *r, struct eventring_error *error) {
  struct statfs fs;
  int fd = r->extents.file.fd;
  if (!evr_space_leaves_room(FORMAT_FRONT_BYTES + first_need(r)))
    return evr_fail(error, EVENTRING_E_LIMIT, 0, "cannot map %.300s: the limit on "
                    "address space leaves too little for it", r->path);
  if (fstatfs(fd, &fs) != 0)
    return evr_fail(error, EVENTRING_E_SYSTEM, errno, "%.300s", r->path);
  r->in_memory = fs.f_type == TMPFS_MAGIC;
  int failure = evr_space_check_free(&fs, FRONT_FIRST + first_need(r));
  if (!failure) failure = evr_space_check_file_size(FORMAT_FRONT_BYTES);
  if (!failure && ftruncate(fd, FORMAT_FRONT_BYTES) != 0) failure = errno;
  if (!failure) failure = evr_space_reserve(fd, r->in_memory, 0, FRONT_FIRST);
  if (failure)
    return evr_fail(error, evr_code_of_errno(failure), failure, "no room for %.300s", r->path);
  r->front = evr_space_map(fd, 0, FORMAT_FRONT_BYTES, r);
  if (!r->front)
    return evr_fail(error, EVENTRING_E_LIMIT, errno, "cannot map %.300s", r->path);
  evr_space_touch_ahead(r->front, FRONT_FIRST);
  return EVENTRING_OK;
}

static int make_front(struct evr_recording *r, struct eventring_error *error) {
  int status = map_front(r, error);
  if (status != EVENTRING_OK) return status;
  r->extents.in_memory = r->in_memory;
  r->extents.path = r->path;
  r->extents.together = r;
  r->extents.claimed = &evr_status(r)->claimed;
  r->extents.has_streams = r->streams.rings != 0;
  r->records.status = evr_status(r);
  r->records.claim = next_record_block;
  r->records.owner = r;
  r->records.keeps_all = r->streams.rings != 0;
  status = claim_record_blocks(r, EVR_CLAIM_NOW, error);
  if (status == EVENTRING_OK) set_ending_blocks_aside(r);
  return status;
}

int evr_recording_use_slot_locked(struct evr_recording *r, unsigned slot,
                                  struct eventring_error *error) {
  if (slot < r->slots) return EVENTRING_OK;
  int failure = 0;
  if (slot > 0 && slot % SLOTS_PER_PAGE == 0) {
    uint64_t at = FORMAT_DOMAINS_OFFSET + slot * sizeof(struct format_domain);
    int fd = evr_descriptor_use(&r->extents.file, r->path);
    failure = fd < 0 ? EBADF : evr_space_reserve(fd, r->in_memory, at, 4096);
    if (!failure) evr_space_touch_ahead(r->front + at, 4096);
  }
  if (failure)
    return evr_fail(error, evr_code_of_errno(failure), failure,
                    "no room for another domain in %.250s", r->path);
  r->slots = slot + 1;
  /* release: pairs with the acquire fence of readers in read_status (reader/metadata.c),
     which then find the slot's entry in the file */
  __atomic_store_n(&evr_status(r)->slots, slot + 1, __ATOMIC_RELEASE);
  return EVENTRING_OK;
}

/* ---- Creation -------------------------------------------------------------------- */

static void destroy(struct evr_recording *r) {
  evr_heaps_free(r);
  evr_profiles_free(&r->profiles);
  evr_streams_free(r);
  evr_ring_free_all(r);
  evr_extents_unmap(&r->extents);
  evr_space_unmap(r->front, FORMAT_FRONT_BYTES);
  evr_descriptor_close(&r->extents.file);
  evr_descriptor_close(&r->directory);
  evr_descriptor_close(&r->rescued);
  evr_space_free(r, sizeof *r);
}

static void set_streams(struct evr_recording *r, const struct eventring_config *config) {
  bool is_stream = config->stream && config->stream[0];
  uint64_t most = config->stream_max / FORMAT_BLOCK_BYTES;
  uint64_t front = FORMAT_FRONT_BYTES / FORMAT_BLOCK_BYTES;
  r->extents.most = FORMAT_MAX_BLOCKS;
  if (!is_stream) return;
  r->streams.rings = config->stream_rings ? config->stream_rings : (1u << EVENTRING_RINGS) - 1;
  if (config->stream_max) most = most > front ? most - front : 0;
  if (config->stream_max && most < FORMAT_MAX_BLOCKS) r->extents.most = most;
}

static int build(struct evr_recording *r, const struct eventring_config *config,
                 struct eventring_error *error) {
  name_program(&r->header, config->program); /* the file's name may contain it */
  int status = evr_recording_create_file(r, config, error);
  if (status != EVENTRING_OK) return status;
  fill_header(r, config);
  status = make_front(r, error);
  if (status != EVENTRING_OK) {
    evr_recording_unlink(r);
    return status;
  }
  evr_recording_set_preserve(r, r->streams.rings ? EVENTRING_PRESERVE_ALWAYS : config->preserve);
  evr_recording_calibrate_first(r);
  return EVENTRING_OK;
}

int evr_recording_create(struct evr_recording **recording,
                         const struct eventring_config *config, bool elsewhere,
                         struct eventring_error *error) {
  struct evr_recording *r = evr_space_zeroed(sizeof *r);
  if (!r) return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for the recording");
  r->extents.file.fd = r->directory.fd = r->rescued.fd = -1;
  r->references = 1;
  bool always = config->preserve == EVENTRING_PRESERVE_ALWAYS;
  r->keep = always && !config->keep_preserved ? 0 : config->keep;
  r->elsewhere = elsewhere;
  r->no_cpu_time = config->no_cpu_time;
  evr_redact_parse(config->redact, &r->redacted, error); /* the list was checked */
  r->answer_aside = config->answers ? config->answer_aside : NULL;
  set_streams(r, config);
  r->clock = evr_clock_kind();
  r->origin = evr_clock_pair(r->clock);
  int status = build(r, config, error);
  if (status != EVENTRING_OK) {
    destroy(r);
    return status;
  }
  *recording = r;
  return EVENTRING_OK;
}

void evr_recording_discard(struct evr_recording *r) {
  evr_recording_unlink(r);
  destroy(r);
}

void evr_recording_show(struct evr_recording *r, const struct eventring_config *config) {
  evr_recording_open_gate(r, config);
  r->header.checksum = evr_header_checksum(&r->header);
  struct format_status *status = evr_status(r);
  r->hold_ns = config->hold_ns;
  memcpy(&r->sample_rate, &config->sample_rate, sizeof r->sample_rate);
  __atomic_store_n(&evr_control(r)->hold_ns, r->hold_ns, __ATOMIC_RELAXED);
  __atomic_store_n(&evr_control(r)->sample_rate, r->sample_rate, __ATOMIC_RELAXED);
  uint64_t obeys = OBEYS | (config->has_samples ? OBEYS_SAMPLES : 0) |
                   (config->profiles_calls ? OBEYS_PROFILE : 0) |
                   (config->names_calls ? OBEYS_SPANS : 0) |
                   (config->answers ? OBEYS_QUESTIONS : 0) |
                   (config->writes_stacks ? OBEYS_STACKS : 0);
  r->closed = config->closed;
  r->lets_read = config->lets_read;
  evr_outside_begin(r, obeys);
  status->redacted = r->redacted;
  __atomic_store_n(&status->state, FORMAT_RECORDING, __ATOMIC_RELAXED);
  struct format_header *h = (struct format_header *)r->front;
  memcpy((uint8_t *)h + 8, (uint8_t *)&r->header + 8, sizeof *h - 8);
  uint64_t magic;
  memcpy(&magic, r->header.magic, sizeof magic);
  /* Stores the magic last: until then readers find no recording here. release: the header
     is stored before; read_header (reader/metadata.c) has no acquire for it, and compares
     the checksum of the header */
  __atomic_store_n((uint64_t *)h, magic, __ATOMIC_RELEASE);
  r->shown = true;
}

const uint64_t *evr_recording_words(const struct evr_recording *r, uint64_t offset,
                                    size_t size) {
  if (offset + size <= FORMAT_FRONT_BYTES) return (const uint64_t *)(r->front + offset);
  return offset < FORMAT_BLOCKS_OFFSET ? NULL : evr_extents_words(&r->extents, offset, size);
}

/* ---- End ------------------------------------------------------------------------- */

/* Returns the final checksum of the front; 0 (none) if a domain may still write into it,
   or its tables cannot be read. The tables are read from the file with a system call:
   their unused pages do not exist, and on a full tmpfs a load from such a page would
   raise SIGBUS. */
static uint32_t front_checksum_locked(const struct evr_recording *r) {
  struct format_status s = *evr_status(r);
  s.state = FORMAT_ENDED;
  for (unsigned slot = 0; slot < r->slots; slot++)
    if (r->slot[slot].owner) return 0;
  uint64_t *tables = malloc(FORMAT_TABLES_BYTES);
  ssize_t size = tables ? pread(r->extents.file.fd, tables, FORMAT_TABLES_BYTES,
                                FORMAT_DOMAINS_OFFSET) : 0;
  uint32_t checksum = size == FORMAT_TABLES_BYTES ? evr_front_checksum(&s, tables) : 0;
  free(tables);
  return checksum;
}

int evr_recording_end_locked(struct evr_recording *r, struct evr_end end, bool in_handler) {
  struct format_status *status = evr_status(r);
  __atomic_store_n(&r->ended, true, __ATOMIC_RELAXED);
  if (in_handler) {
    evr_streams_dismiss(r);
  } else {
    evr_streams_stop(r);
    evr_ring_finish_free_slots_locked(r);
    evr_records_finish_locked(&r->records);
    evr_streams_count_aside_locked(r);
    evr_ring_count_aside_locked(r);
    evr_streams_trim_locked(r);
  }
  end = evr_recording_end_of(r, end);
  __atomic_store_n(&status->end_detail, end.detail, __ATOMIC_RELAXED);
  __atomic_store_n(&status->end_reason, (uint32_t)end.reason, __ATOMIC_RELAXED);
  __atomic_store_n(&status->end_ticks, evr_clock_ticks(r->clock), __ATOMIC_RELAXED);
  if (!in_handler && evr_recording_is_kept(r, end))
    __atomic_store_n(&status->checksum, front_checksum_locked(r), __ATOMIC_RELAXED);
  /* release: pairs with the acquire fences in evr_metadata_liveness and read_status
     (reader/metadata.c): a reader that sees the end finds everything that this thread and
     stopped domains wrote */
  __atomic_store_n(&status->state, FORMAT_ENDED, __ATOMIC_RELEASE);
  if (!evr_recording_is_kept(r, end)) {
    evr_recording_drop_rescued(r);
    return evr_recording_unlink(r);
  }
  if (end.reason != FORMAT_END_DELETED) evr_recording_rescue(r);
  if (!in_handler) evr_recording_limit_kept(r, r->keep - 1); /* else at the next start */
  return 0;
}

bool evr_recording_is_lost(const struct evr_recording *r) {
  return __atomic_load_n((const uint64_t *)r->front, __ATOMIC_RELAXED) == 0;
}

void evr_recording_disown(struct evr_recording *r) {
  evr_descriptor_close(&r->extents.file);
  evr_descriptor_close(&r->directory);
  evr_descriptor_close(&r->rescued);
  evr_space_protect(r->front, FORMAT_FRONT_BYTES);
  evr_extents_protect(&r->extents);
  evr_streams_protect(r);
}

void evr_recording_hold_locked(struct evr_recording *r) { r->references++; }

void evr_recording_release_locked(struct evr_recording *r) {
  if (--r->references == 0) destroy(r);
}
