/* SPDX-License-Identifier: MIT */
/* stream.c: rings whose blocks are appended to the file: nothing is overwritten.
 *
 * A lane of a stream writes into a *chunk*: 16 to 256 blocks next to each other, claimed
 * from the counter of the file, reserved, mapped and present. When the chunk is full, the
 * lane goes on in the next one. Reserving space and making pages present costs 1 to 2 us
 * for each block, a fifth to two fifths of the cost of its events. A helper thread does
 * this ahead: at half of a chunk the lane asks for another, twice as large, and later
 * finds it ready. The helper also unmaps the chunks that are full and starts their
 * write-back, so that resident memory does not grow with the file. One helper serves all
 * lanes of a recording. If the helper is late or missing, the lane makes a small chunk
 * itself. So the path of an event is that of a ring, and no lane waits for another or
 * takes a lock.
 *
 * Each lane has four chunks, each in one of these states; the thread that makes a chunk
 * BUSY owns it until it changes the state again:
 *
 *   FREE     nothing
 *   BUSY     helper or lane works on it
 *   CLAIMED  has blocks of the file for which there was no room: to be tried again
 *   READY    may be written to; the lane takes it when it needs one
 *   IN_USE   the lane's present chunk, or its next
 *   DONE     is full; the helper (or the lane, if no other is FREE) unmaps it
 *
 * testsuite/model/stream_chunks.pml proves that each place is written once, by the lane
 * that owns its chunk, and that no claim is lost.
 *
 * No room. The last block of a chunk is used only when the lane has its next chunk. If
 * there is none, the lane writes all further blocks at that place, one over the other,
 * until there is room again: a ring of one block, which needs nothing that could fail.
 * Sequences and `before` go on, so readers know exactly how many events are gone, also
 * when the process is killed, and have the newest ones (doc/FORMAT.md, section 6). A lane
 * without even a first chunk writes into memory of its own; `before` of its first block
 * counts these events, and until there is such a block, the status page does.
 *
 * Models: measureme, whose issue 144 proposes to claim pages in a mapped file, one at a
 * time. Here that took 28 ns a word on a disk (doc/decisions/chunks-claimed-ahead.md).
 */
#include "producer/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format/error.h"
#include "format/law.h"
#include "producer/lane.h"
#include "producer/recording.h"
#include "producer/room.h"
#include "producer/space.h"

enum {
  CHUNKS = 4,         /* chunks of a lane */
  FIRST_CHUNK = FORMAT_UNIT,     /* blocks; each chunk is twice as large as the one
                                    before, up to */
  LARGEST_CHUNK = 16 * FORMAT_UNIT,
  RETRY_MS = EVR_ROOM_RETRY_MS, /* pause of the helper after there was no room */
  STOP_US = 200       /* time for the helper to end before it is woken again */
};

enum chunk_state { FREE, BUSY, CLAIMED, READY, IN_USE, DONE };

struct evr_chunk {
  uint32_t state; /* enum chunk_state; atomic */
  uint32_t first, blocks;
  uint8_t *map;
};

struct evr_stream_lane {
  struct evr_block_source source; /* must be first */
  struct evr_recording *recording;
  unsigned slot;
  uint64_t *head;    /* head of the ring in the domain table */
  struct evr_chunk *present, *next; /* used by the owner; NULL if there is none */
  struct evr_chunk *left; /* full, but its last block is not finished yet; or NULL */
  uint32_t at;       /* number of places taken in the present chunk */
  uint32_t wanted;   /* size in blocks of the chunk that the helper is to make ready, or
                        0; atomic */
  bool starved;      /* there is no room: the last place is overwritten again and again */
  struct evr_room room;
  struct evr_chunk chunk[CHUNKS];
  uint64_t aside[FORMAT_BLOCK_WORDS]; /* the block that is written while there is no
                                         chunk */
};

/* ---- Chunks ---------------------------------------------------------------------- */

static bool change_state(struct evr_chunk *chunk, uint32_t from, uint32_t to) {
  /* acq_rel: pairs with itself and with the release in set_state, on the other thread
     (lane or helper): a thread that changes the state of a chunk sees all that was done
     to the chunk before */
  return __atomic_compare_exchange_n(&chunk->state, &from, to, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED);
}

static void set_state(struct evr_chunk *chunk, enum chunk_state state) {
  /* release: pairs with the acquire in change_state on the other thread */
  __atomic_store_n(&chunk->state, (uint32_t)state, __ATOMIC_RELEASE);
}

static struct evr_chunk *find_chunk(struct evr_stream_lane *lane, uint32_t from, uint32_t to) {
  for (int i = 0; i < CHUNKS; i++)
    if (change_state(&lane->chunk[i], from, to)) return &lane->chunk[i];
  return NULL;
}

static uint64_t offset_of(const struct evr_chunk *chunk) {
  return format_block_offset(chunk->first);
}

static uint64_t bytes_of(const struct evr_chunk *chunk) {
  return chunk->blocks * (uint64_t)FORMAT_BLOCK_BYTES;
}

/* Reserves and maps the claimed blocks. Returns 0 or an errno. */
static int make_present(struct evr_recording *r, struct evr_chunk *chunk) {
  int fd = evr_descriptor_use(&r->extents.file, r->path);
  if (fd < 0) return EBADF;
  if (!evr_space_leaves_room(bytes_of(chunk))) return ENOMEM;
  int failure = evr_space_reserve(fd, r->in_memory, offset_of(chunk), bytes_of(chunk));
  if (failure && chunk->blocks > FIRST_CHUNK) { /* the rest of the claim stays a hole */
    chunk->blocks = FIRST_CHUNK;
    failure = evr_space_reserve(fd, r->in_memory, offset_of(chunk), bytes_of(chunk));
  }
  if (failure) return failure;
  chunk->map = evr_space_map(fd, offset_of(chunk), bytes_of(chunk), r);
  if (!chunk->map) return errno;
  evr_space_touch_ahead(chunk->map, bytes_of(chunk));
  return 0;
}

/* Makes a chunk ready, preferably one that was claimed before. Returns 0 or an errno. */
static int prepare_chunk(struct evr_stream_lane *lane, uint32_t blocks) {
  struct evr_recording *r = lane->recording;
  struct evr_chunk *chunk = find_chunk(lane, CLAIMED, BUSY);
  if (!chunk) {
    chunk = find_chunk(lane, FREE, BUSY);
    if (!chunk) return EAGAIN;
    if (!evr_extents_take(&r->extents, blocks, &chunk->first)) {
      set_state(chunk, FREE);
      return EFBIG;
    }
    chunk->blocks = blocks;
  }
  int failure = make_present(r, chunk);
  if (!failure)
    evr_extents_publish(&r->extents, chunk->first + (uint64_t)chunk->blocks);
  set_state(chunk, failure ? CLAIMED : READY);
  return failure;
}

/* Releases a chunk that is BUSY. On a disk, starts its write-back without waiting. */
static void release_chunk(struct evr_recording *r, struct evr_chunk *chunk) {
  evr_space_unmap(chunk->map, bytes_of(chunk));
  chunk->map = NULL;
  int fd = __atomic_load_n(&r->extents.file.fd, __ATOMIC_RELAXED);
  if (!r->in_memory && fd >= 0)
    sync_file_range(fd, (off_t)offset_of(chunk), (off_t)bytes_of(chunk), SYNC_FILE_RANGE_WRITE);
  set_state(chunk, FREE);
}

static void release_done(struct evr_stream_lane *lane) {
  struct evr_chunk *chunk;
  while ((chunk = find_chunk(lane, DONE, BUSY)) != NULL) release_chunk(lane->recording, chunk);
}

/* ---- The helper ------------------------------------------------------------------- */

static void wake_helper(struct evr_streams *s) {
  /* release: pairs with the acquire load of `work` in help, which then sees the work */
  __atomic_fetch_add(&s->work, 1, __ATOMIC_RELEASE);
  if (s->has_helper) syscall(SYS_futex, &s->work, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void wait_for_work(struct evr_streams *s, uint32_t seen, bool soon) {
  const struct timespec retry = {.tv_nsec = RETRY_MS * 1000000};
  syscall(SYS_futex, &s->work, FUTEX_WAIT_PRIVATE, seen, soon ? &retry : NULL, NULL, 0);
}

/* Serves a lane; returns false when there is no room for the chunk that it asked for. */
static bool serve_lane(struct evr_stream_lane *lane) {
  release_done(lane);
  /* acquire: pairs with the release in ask */
  uint32_t blocks = __atomic_load_n(&lane->wanted, __ATOMIC_ACQUIRE);
  if (!blocks) return true;
  if (prepare_chunk(lane, blocks) != 0) return false;
  /* release, without a partner: only this thread reads the word, and the lane takes the
     chunk by its state */
  __atomic_store_n(&lane->wanted, 0, __ATOMIC_RELEASE);
  return true;
}

static void *help(void *recording) {
  struct evr_streams *s = &((struct evr_recording *)recording)->streams;
  /* acquire: pairs with the release in evr_streams_dismiss, which passes on nothing
     else */
  while (!__atomic_load_n(&s->stopped, __ATOMIC_ACQUIRE)) {
    /* acquire, for both loads: pairs with the releases in wake_helper (the work) and in
       evr_stream_writer_locked (the lanes) */
    uint32_t seen = __atomic_load_n(&s->work, __ATOMIC_ACQUIRE);
    uint32_t count = __atomic_load_n(&s->count, __ATOMIC_ACQUIRE);
    bool all_served = true;
    for (uint32_t i = 0; i < count; i++) all_served &= serve_lane(s->lane[i]);
    wait_for_work(s, seen, !all_served);
  }
  /* release: pairs with the acquire load in evr_streams_stop: the helper does nothing
     more */
  __atomic_store_n(&s->has_ended, 1, __ATOMIC_RELEASE);
  return NULL;
}

/* Starts the helper. It blocks signals, which are for the program's own threads, but not
   SIGBUS: if another process cuts the file short, the helper itself may get that fault,
   and a thread that blocks SIGBUS then ends the program (format/guard.c). */
void evr_streams_start(struct evr_recording *r) {
  struct evr_streams *s = &r->streams;
  sigset_t all, before;
  pthread_attr_t attributes;
  if (!s->rings || pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN + 65536);
  sigfillset(&all);
  sigdelset(&all, SIGBUS);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  s->has_ended = 0;
  s->has_helper = pthread_create(&s->helper, &attributes, help, r) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (s->has_helper) pthread_setname_np(s->helper, "eventring");
  pthread_attr_destroy(&attributes);
}

void evr_streams_dismiss(struct evr_recording *r) {
  /* release: pairs with the acquire load of `stopped` in help */
  __atomic_store_n(&r->streams.stopped, 1, __ATOMIC_RELEASE);
}

void evr_streams_stop(struct evr_recording *r) {
  struct evr_streams *s = &r->streams;
  if (!s->has_helper) return;
  evr_streams_dismiss(r);
  const struct timespec soon = {.tv_nsec = STOP_US * 1000};
  /* acquire: pairs with the release at the end of help */
  while (!__atomic_load_n(&s->has_ended, __ATOMIC_ACQUIRE)) {
    wake_helper(s); /* again, in case a wake-up has failed */
    nanosleep(&soon, NULL);
  }
  pthread_join(s->helper, NULL);
  s->has_helper = false;
}

/* ---- The source -------------------------------------------------------------------- */

/* Asks for the chunk after the present one. */
static void ask(struct evr_stream_lane *lane) {
  uint32_t blocks = 2 * lane->present->blocks;
  if (!lane->recording->streams.has_helper) return;
  /* release: pairs with the acquire load of `wanted` in serve_lane */
  __atomic_store_n(&lane->wanted, blocks < LARGEST_CHUNK ? blocks : LARGEST_CHUNK,
                   __ATOMIC_RELEASE);
  wake_helper(&lane->recording->streams);
}

static struct evr_chunk *take_ready(struct evr_stream_lane *lane) {
  return find_chunk(lane, READY, IN_USE);
}

/* Makes the next chunk on the lane's own thread. Returns NULL if there is no room. */
static __attribute__((cold, noinline)) struct evr_chunk *make_chunk(struct evr_stream_lane *lane) {
  if (evr_room_is_hopeless(lane->recording, &lane->room)) return NULL;
  lane->room.failure = prepare_chunk(lane, FIRST_CHUNK);
  if (lane->room.failure == EAGAIN) { /* the helper has not released the full ones yet */
    release_done(lane);
    lane->room.failure = prepare_chunk(lane, FIRST_CHUNK);
  }
  return take_ready(lane);
}

static void need_next(struct evr_stream_lane *lane) {
  if (!lane->next) lane->next = take_ready(lane);
  if (!lane->next) lane->next = make_chunk(lane);
}

static void enter_next(struct evr_stream_lane *lane) {
  struct evr_chunk *former = lane->present;
  if (!former) {
    lane->source.sequence = 0; /* blocks outside the file do not count */
    evr_room_count_aside(lane->recording, &lane->room, 0);
    lane->source.head = lane->head;
  }
  lane->present = lane->next;
  lane->next = NULL;
  lane->at = 0;
  lane->starved = false;
  evr_room_found(lane->recording, &lane->room);
  lane->left = former;
}

/* Releases the former chunk: its last block, which was still being written at the last
   call, is now finished. */
static void release_left(struct evr_stream_lane *lane) {
  set_state(lane->left, DONE);
  lane->left = NULL;
  wake_helper(&lane->recording->streams);
}

/* Finds the place to which a lane without room writes. */
static void starve(struct evr_stream_lane *lane, struct evr_place *place) {
  evr_room_lacks(lane->recording, &lane->room, lane->room.failure);
  if (!lane->present) {
    lane->source.sequence = 0;
    evr_room_count_aside(lane->recording, &lane->room, lane->source.events);
    *place = (struct evr_place){.block = (struct format_block *)lane->aside, .used = true};
    return;
  }
  uint8_t *last = lane->present->map + bytes_of(lane->present) - FORMAT_BLOCK_BYTES;
  *place = (struct evr_place){.block = (struct format_block *)last, .used = lane->starved};
  lane->starved = true;
}

/* Checks the law of a lane: it has at most one next chunk, all chunks in use are its own,
   and it has taken at most as many places as there are. */
static inline bool is_lawful(const struct evr_stream_lane *lane) {
  unsigned in_use = 0;
  for (int i = 0; i < CHUNKS; i++)
    in_use += __atomic_load_n(&lane->chunk[i].state, __ATOMIC_RELAXED) == IN_USE;
  unsigned held = (lane->present != NULL) + (lane->next != NULL) + (lane->left != NULL);
  return in_use == held && (!lane->present || lane->at <= lane->present->blocks) &&
         (!lane->starved || lane->present);
}

static struct format_block *take_place(struct evr_stream_lane *lane) {
  uint64_t at = lane->at++ * (uint64_t)FORMAT_BLOCK_BYTES;
  return (struct format_block *)(lane->present->map + at);
}

/* Goes on at the last place of a chunk, in the next chunk, or without a chunk. */
static __attribute__((cold, noinline)) void go_on(struct evr_stream_lane *lane,
                                                  struct evr_place *place) {
  bool last_is_free = lane->present && lane->at < lane->present->blocks && !lane->starved;
  need_next(lane);
  if (!lane->next) {
    starve(lane, place);
    return;
  }
  if (!last_is_free) enter_next(lane);
  *place = (struct evr_place){.block = take_place(lane)};
}

static int next_place(struct evr_block_source *source, struct evr_place *place,
                      struct eventring_error *error) {
  struct evr_stream_lane *lane = (struct evr_stream_lane *)source;
  (void)error;
  if (lane->left) release_left(lane);
  if (!lane->present || lane->at + 1 >= lane->present->blocks) {
    go_on(lane, place);
    EVR_LAW(is_lawful(lane));
    return EVENTRING_OK;
  }
  *place = (struct evr_place){.block = take_place(lane)};
  if (lane->at == lane->present->blocks / 2) ask(lane);
  EVR_LAW(is_lawful(lane));
  return EVENTRING_OK;
}

/* ---- Making and ending ------------------------------------------------------------- */

static void publish_ring(struct evr_recording *r, unsigned slot, enum eventring_ring index) {
  struct format_ring *entry = &evr_domain_entry(r, slot)->ring[index];
  __atomic_store_n(&entry->first, 0, __ATOMIC_RELAXED);
  /* release: pairs with the acquire fence R0 in read_rings (reader/metadata.c). The first
     head, which is stored with release, comes later */
  __atomic_store_n(&entry->blocks, FORMAT_STREAM_RING, __ATOMIC_RELEASE);
  uint64_t *made = &evr_status(r)->kind[FORMAT_EVENTS].records;
  /* release: pairs with the acquire fence of readers in read_status
     (reader/metadata.c) */
  __atomic_store_n(made, *made + 1, __ATOMIC_RELEASE);
}

struct evr_writer *evr_stream_writer_locked(struct evr_recording *r, unsigned slot,
                                            enum eventring_ring ring,
                                            struct eventring_error *error) {
  struct evr_streams *s = &r->streams;
  struct evr_stream_lane *lane = evr_space_zeroed(sizeof *lane);
  struct evr_writer *writer = lane ? evr_space_zeroed(sizeof *writer) : NULL;
  if (!writer) {
    if (lane) evr_space_free(lane, sizeof *lane);
    evr_fail(error, EVENTRING_E_MEMORY, errno, "no memory for a stream of %.250s", r->path);
    return NULL;
  }
  lane->source.next_place = next_place;
  lane->recording = r;
  lane->slot = slot;
  lane->head = &evr_domain_entry(r, slot)->ring[ring].head;
  writer->source = &lane->source;
  publish_ring(r, slot, ring);
  s->lane[s->count] = lane;
  /* release: pairs with the acquire load of `count` in help, which then finds the lane */
  __atomic_store_n(&s->count, s->count + 1, __ATOMIC_RELEASE);
  return writer;
}

void evr_streams_count_aside_locked(struct evr_recording *r) {
  for (uint32_t i = 0; i < r->streams.count; i++) {
    struct evr_stream_lane *lane = r->streams.lane[i];
    if (!lane->present) evr_room_count_aside(r, &lane->room, lane->source.events);
  }
}

/* Gives back the places from `from` on. The file keeps its length. If the file system
   cannot make a hole, they simply stay. */
static void give_back(struct evr_recording *r, const struct evr_chunk *chunk, uint32_t from) {
  uint64_t used = from * (uint64_t)FORMAT_BLOCK_BYTES;
  int fd = evr_descriptor_use(&r->extents.file, r->path);
  if (fd >= 0 && used < bytes_of(chunk))
    (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    (off_t)(offset_of(chunk) + used), (off_t)(bytes_of(chunk) - used));
}

void evr_streams_trim_locked(struct evr_recording *r) {
  for (uint32_t i = 0; i < r->streams.count; i++) {
    struct evr_stream_lane *lane = r->streams.lane[i];
    if (r->slot[lane->slot].owner) continue; /* it may be writing */
    for (int n = 0; n < CHUNKS; n++)
      if (lane->chunk[n].state == READY) give_back(r, &lane->chunk[n], 0);
    if (lane->next) give_back(r, lane->next, 0);
    if (lane->present && !lane->starved) give_back(r, lane->present, lane->at);
  }
}

void evr_streams_protect(struct evr_recording *r) {
  r->streams.has_helper = false;
  for (uint32_t i = 0; i < r->streams.count; i++)
    for (int n = 0; n < CHUNKS; n++) {
      const struct evr_chunk *chunk = &r->streams.lane[i]->chunk[n];
      if (chunk->map) evr_space_protect(chunk->map, bytes_of(chunk));
    }
}

void evr_streams_free(struct evr_recording *r) {
  evr_streams_stop(r);
  for (uint32_t i = 0; i < r->streams.count; i++) {
    struct evr_stream_lane *lane = r->streams.lane[i];
    for (int n = 0; n < CHUNKS; n++)
      evr_space_unmap(lane->chunk[n].map, bytes_of(&lane->chunk[n]));
    evr_space_free(lane, sizeof *lane);
  }
}
