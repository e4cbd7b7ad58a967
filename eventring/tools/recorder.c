/* SPDX-License-Identifier: MIT */
/* recorder.c: the loop of `eventring record`.
 *
 * Each round takes back what was written, fills one free buffer and submits its pieces,
 * continues an update if one is under way or due, and sleeps if there was nothing to
 * fill. The length of the sleep depends on how full the fullest ring was at the round.
 * The aim is an eighth, so that a ring is still drained in time if it suddenly fills
 * twice as fast.
 *
 * A switch makes the next file first; if that fails, the present one goes on. From then
 * on the rings are copied into the next file. The previous one is being finished: it gets
 * its last update, and its writes are awaited. At most one file at a time is being
 * finished. Then a thread flushes and closes it, and removes the oldest file if there are
 * too many, since both may take long. */
#include "recorder.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "file_names.h"
#include "output.h"
#include "format/now.h"

enum {
  PROGRESS_NS = 1000 * 1000 * 1000,
  LIVENESS_NS = 10 * 1000 * 1000, /* how often to check whether the producer has ended */
  ATTEND_NS = 2 * 1000 * 1000,    /* how often options.attend is called */
  RETRY_NS = 1000 * 1000 * 1000,  /* time until the next attempt after a failed switch */
  SHORTEST_SLEEP_NS = 50 * 1000,
  FIRST_SLEEP_NS = 200 * 1000,
  LONGEST_SLEEP_NS = 10 * 1000 * 1000,
  MOST_NUMBERS = 10000 /* most numbers that are skipped because their files exist */
};

struct kept_file { /* a finished file of this run */
  char *path;
  dev_t device;
  ino_t inode;
};

struct chore { /* work on a finished file that may take long, done by a thread */
  pthread_t thread;
  bool threaded;
  char *sync; /* path of the file if it must be synced to disk; else NULL */
  int fd, sync_error, error;
  struct kept_file oldest; /* file to be removed; its path is NULL if there is none */
  int removal_error;
  int is_done; /* atomic */
};

struct recorder {
  struct recorder_options options;
  struct reader *reader;
  struct buffers buffers;
  struct output *current;
  struct output *closing; /* the file that is being finished; NULL: none */
  struct chore *chore;    /* the chore of the closing file */
  unsigned number;        /* number of the current file */
  unsigned switches;      /* number of switches that were requested and have not begun */
  uint64_t next_switch;   /* earliest time of the next switch */
  bool stop;
  bool is_full; /* a packed file has room for no more events */
  struct kept_file *kept; /* the oldest first */
  unsigned kept_count;
  char *last_finished;
  uint64_t finished_bytes, finished_loss_ns; /* bytes and losses (ns) of all earlier
                                                files */
  struct eventring_saver_ring *finished;     /* sums over these files, by number of the
                                                ring */
  unsigned finished_rings;
  uint64_t next_progress, next_liveness, next_attend;
  bool ending;
  uint64_t sleep_ns;
  struct recorder_result result;
};

/* ---- Filling ------------------------------------------------------------------ */

enum filled { FILLED_ALL, FILLED_SOME, FILLED_NONE, NO_BUFFER };

/* Returns how much the last update may add to a packed file: the newest block of each
   ring, records of the last moments, the front. */
static uint64_t last_update_bytes(const struct recorder *r) {
  struct eventring_saver_info info;
  eventring_saver_info(r->current->saver, &info);
  return output_packed_room(info.rings * (size_t)EVENTRING_BLOCK_BYTES +
                            2 * EVENTRING_UNIT_BYTES + EVENTRING_FRONT_BYTES);
}

/* Returns how many bytes of events a packed file may still get (for plain files the saver
   has the limit). Keeps room for an update, whatever size the packets being compressed
   will have. */
static size_t room_left(const struct recorder *r) {
  const struct output *o = r->current;
  uint64_t most = r->options.max_bytes, room = r->buffers.bytes;
  if (!o->packer || !most) return (size_t)room;
  uint64_t used = recorder_bytes(r) + o->coming_bytes + (r->closing ? r->closing->coming_bytes : 0);
  uint64_t least = used + last_update_bytes(r);
  if (least >= most) return 0;
  if (most - least < output_packed_room((size_t)room)) room = (most - least) / 2;
  return (size_t)(room - room % EVENTRING_BLOCK_BYTES);
}

/* Tells whether enough is left for another buffer. (If buffers were submitted less than
   half full, all would soon be under way.) */
static bool is_half_left(const struct recorder *r) {
  struct eventring_saver_info info;
  eventring_saver_info(r->current->saver, &info);
  return info.backlog * EVENTRING_BLOCK_BYTES >= r->buffers.bytes / 2;
}

static enum filled fill(struct recorder *r) {
  struct buffer *buffer = buffers_take(&r->buffers);
  struct eventring_piece pieces[PIECES];
  struct eventring_error error;
  size_t used;
  size_t room = room_left(r);
  if (!buffer || !output_may_submit(r->current)) return NO_BUFFER;
  if (room < EVENTRING_UNIT_BYTES) {
    r->is_full = !r->current->coming_bytes && !(r->closing && r->closing->coming_bytes);
    return r->is_full ? FILLED_NONE : NO_BUFFER;
  }
  int count = eventring_saver_fill(r->current->saver, buffer->bytes, room, pieces, PIECES, &used,
                                   &error);
  if (count < 0) report_read_error(&r->result, &error);
  if (count <= 0) return FILLED_NONE;
  output_submit(r->current, buffer, pieces, count);
  return is_half_left(r) ? FILLED_ALL : FILLED_SOME;
}

/* ---- Accounts ----------------------------------------------------------------- */

/* Adds the figures of a ring in one file to its sums. A ring has the same number in all
   files. The missed events of a file include all events in the files before it. */
static void add_ring(struct eventring_saver_ring *sum, const struct eventring_saver_ring *ring) {
  uint64_t longest = sum->longest_gap > ring->longest_gap ? sum->longest_gap : ring->longest_gap;
  sum->domain = ring->domain;
  sum->ring = ring->ring;
  sum->missed += ring->missed - sum->known;
  sum->known = ring->known;
  sum->saved += ring->saved;
  sum->lost += ring->lost;
  sum->unwritten += ring->unwritten;
  sum->blocks += ring->blocks;
  sum->gaps += ring->gaps;
  sum->damaged += ring->damaged;
  sum->lost_ns += ring->lost_ns;
  sum->longest_gap = longest;
  sum->places = ring->places;
  sum->backlog = ring->backlog;
}

int recorder_ring(const struct recorder *r, unsigned n, struct eventring_saver_ring *sum) {
  struct eventring_saver_ring ring;
  int status = eventring_saver_ring(r->current->saver, n, &ring);
  if (status < 0) return status;
  *sum = n < r->finished_rings ? r->finished[n] : (struct eventring_saver_ring){0};
  if (r->closing) {
    struct eventring_saver_ring before;
    if (eventring_saver_ring(r->closing->saver, n, &before) == 0) add_ring(sum, &before);
  }
  add_ring(sum, &ring);
  return 0;
}

void recorder_info(const struct recorder *r, struct eventring_saver_info *info) {
  struct eventring_saver_info own, before = {0};
  struct eventring_saver_ring ring;
  eventring_saver_info(r->current->saver, &own);
  if (r->closing) eventring_saver_info(r->closing->saver, &before);
  *info = (struct eventring_saver_info){
      .lost_ns = r->finished_loss_ns + before.lost_ns + own.lost_ns, .rings = own.rings,
      .backlog = own.backlog, .fullest = own.fullest, .full = own.full};
  for (unsigned n = 0; recorder_ring(r, n, &ring) == 0; n++) eventring_saver_add(info, &ring);
}

uint64_t recorder_bytes(const struct recorder *r) {
  return r->finished_bytes + (r->closing ? output_bytes(r->closing) : 0) +
         output_bytes(r->current);
}

static void keep_account(struct recorder *r, const struct output *o) {
  eventring_saver *saver = o->saver;
  struct eventring_saver_info info;
  struct eventring_saver_ring ring;
  eventring_saver_info(saver, &info);
  if (info.rings > r->finished_rings) {
    r->finished = need_resized(r->finished, info.rings, sizeof *r->finished);
    memset(r->finished + r->finished_rings, 0,
           (info.rings - r->finished_rings) * sizeof *r->finished);
    r->finished_rings = info.rings;
  }
  for (unsigned n = 0; eventring_saver_ring(saver, n, &ring) == 0; n++)
    add_ring(&r->finished[n], &ring);
  r->finished_loss_ns += info.lost_ns;
  r->finished_bytes += output_bytes(o);
}

/* ---- Finished files ----------------------------------------------------------- */

static void remove_file(const struct kept_file *file, int *error) {
  struct stat st;
  if (lstat(file->path, &st) != 0 || st.st_dev != file->device || st.st_ino != file->inode)
    return; /* another process has removed it */
  if (unlink(file->path) != 0) *error = errno;
}

static void report_sync_error(struct recorder_result *result, const char *path, int error) {
  if (!error) return;
  complain("%s may not be on its disk: %s", path, strerror(error));
  result->failed = true;
}

static void *do_chore(void *context) {
  struct chore *chore = context;
  if (chore->sync) chore->sync_error = output_sync(chore->fd, chore->sync);
  if (close(chore->fd) != 0) chore->error = errno;
  if (chore->oldest.path) remove_file(&chore->oldest, &chore->removal_error);
  /* pairs with the acquire load in end_closing: the errors are visible there */
  __atomic_store_n(&chore->is_done, 1, __ATOMIC_RELEASE);
  return NULL;
}

static struct kept_file take_oldest(struct recorder *r) {
  struct kept_file oldest = r->kept[0];
  memmove(r->kept, r->kept + 1, --r->kept_count * sizeof *r->kept);
  return oldest;
}

/* Begins the chore of a file that is completely written. */
static void begin_chore(struct recorder *r) {
  struct output *o = r->closing;
  struct chore *chore = need_zeroed(1, sizeof *chore);
  chore->fd = o->fd;
  if (r->options.sync && o->regular) chore->sync = need_copy(o->path);
  o->fd = -1;
  if (o->regular) {
    *NEED_NEXT(r->kept, r->kept_count) =
        (struct kept_file){need_copy(o->path), o->device, o->inode};
    if (r->options.keep && r->kept_count >= r->options.keep) chore->oldest = take_oldest(r);
  }
  r->chore = chore;
  chore->threaded = pthread_create(&chore->thread, NULL, do_chore, chore) == 0;
  if (!chore->threaded) do_chore(chore);
}

static void end_closing(struct recorder *r) {
  struct chore *chore = r->chore;
  struct output *o = r->closing;
  /* pairs with the release store in do_chore: its errors are visible here */
  if (!__atomic_load_n(&chore->is_done, __ATOMIC_ACQUIRE)) return;
  if (chore->threaded) pthread_join(chore->thread, NULL);
  report_sync_error(&r->result, o->path, chore->sync_error);
  if (chore->error) report_write_error(&r->result, o->path, chore->error);
  if (chore->removal_error)
    complain("cannot remove %s: %s", chore->oldest.path, strerror(chore->removal_error));
  free(chore->oldest.path);
  free(chore->sync);
  free(chore);
  r->chore = NULL;
  keep_account(r, o);
  free(r->last_finished);
  r->last_finished = need_copy(o->path);
  output_free(o);
  r->closing = NULL;
}

static void step_closing(struct recorder *r, uint64_t now) {
  struct output *o = r->closing;
  if (!o) return;
  if (o->update == UPDATE_NONE && !o->done) o->last_update = true;
  if (!o->done) output_step(o, &r->buffers, now);
  if (o->done && !r->chore) begin_chore(r);
  if (r->chore) end_closing(r);
}

/* ---- Switching ---------------------------------------------------------------- */

/* Returns how many bytes the next file may have; 0 if there is no limit, 1 if it may have
   nothing. */
static uint64_t bytes_left(const struct recorder *r) {
  uint64_t used = recorder_bytes(r), most = r->options.max_bytes;
  if (!most || r->current->packer) return 0; /* see room_left */
  return used < most ? most - used : 1;
}

/* Makes the file with the next free number. */
static struct output *open_next(struct recorder *r) {
  struct output *o = NULL;
  bool exists = true;
  for (unsigned tries = 0; exists && tries < MOST_NUMBERS; tries++) {
    char *path = file_name(r->options.path, r->options.numbered, ++r->number);
    exists = false;
    o = output_open(path, &r->options, &r->result, &exists);
    if (exists && tries + 1 == MOST_NUMBERS) complain("cannot create %s: it exists", path);
    free(path);
  }
  return o;
}

static bool switch_files(struct recorder *r, uint64_t now) {
  struct eventring_error error;
  unsigned number = r->number;
  struct output *next = open_next(r);
  if (next && eventring_saver_next(r->current->saver, &next->saver, bytes_left(r), &error) < 0) {
    complain("%s", error.text);
    output_discard(next);
    next = NULL;
  }
  if (!next) {
    complain("recording goes on in %s", r->current->path);
    r->result.failed = true;
    r->number = number;
    r->next_switch = now + RETRY_NS;
    return false;
  }
  r->closing = r->current;
  r->current = next;
  r->result.files++;
  return true;
}

/* Returns how much the next buffer and the last update may add to a file, given that each
   ring may begin a unit. */
static uint64_t may_come(const struct recorder *r) {
  struct eventring_saver_info info;
  if (r->current->packer) return output_packed_room(r->buffers.bytes) + last_update_bytes(r);
  eventring_saver_info(r->current->saver, &info);
  return r->buffers.bytes + (info.rings + 4) * (uint64_t)EVENTRING_UNIT_BYTES;
}

/* Tells whether a switch is due. A file is full when the next buffer might make it too
   long. Each file has the records of the whole run; even if the records alone are too
   long, the file still gets some events. */
static bool is_due(const struct recorder *r, uint64_t now) {
  const struct output *o = r->current;
  uint64_t size = output_bytes(o) + o->coming_bytes, most = r->options.rotate_bytes;
  if (r->options.rotate_ns && now - o->began >= r->options.rotate_ns) return true;
  return most && o->first_bytes && size + may_come(r) > most &&
         size - o->first_bytes >= most / 8;
}

/* Begins a switch that is due. Returns whether there is a switch to wait for. */
static bool check_switch(struct recorder *r, uint64_t now) {
  if (now < r->next_switch || r->ending) return false;
  if (!r->switches && !is_due(r, now)) return false;
  if (r->closing) return r->switches != 0;
  bool asked = r->switches != 0;
  switch_files(r, now);
  r->switches -= asked;
  return r->switches != 0;
}

void recorder_switch(struct recorder *r) { r->switches++; }
bool recorder_is_switching(const struct recorder *r) { return r->switches || r->closing; }
void recorder_stop(struct recorder *r) { r->stop = true; }
const char *recorder_last_file(const struct recorder *r) { return r->last_finished; }
unsigned recorder_files(const struct recorder *r) { return r->result.files; }
const char *recorder_file(const struct recorder *r) { return r->current->path; }

/* ---- Time --------------------------------------------------------------------- */

/* Returns the longest time to sleep. A burst after a silence may fill a ring within one
   sleep: at full speed a byte takes 1.5 ns. Sleeps of 10 ns per byte cost an idle
   recorder less than 1 % of a processor. */
static uint64_t longest_sleep(uint32_t places) {
  if (!places) return LONGEST_SLEEP_NS; /* a stream overwrites nothing */
  uint64_t ns = (uint64_t)places * EVENTRING_BLOCK_BYTES * 10;
  if (ns < 1000 * 1000) return 1000 * 1000;
  return ns < LONGEST_SLEEP_NS ? ns : LONGEST_SLEEP_NS;
}

static void adapt_sleep(struct recorder *r) {
  struct eventring_saver_info info;
  struct eventring_saver_ring ring;
  uint64_t longest = LONGEST_SLEEP_NS;
  eventring_saver_info(r->current->saver, &info);
  for (unsigned n = 0; eventring_saver_ring(r->current->saver, n, &ring) == 0; n++)
    if (longest_sleep(ring.places) < longest) longest = longest_sleep(ring.places);
  double aim = info.fullest > 0.01 ? 0.125 / info.fullest : 2;
  if (aim > 1.25) aim = 1.25;
  r->sleep_ns = (uint64_t)((double)r->sleep_ns * aim);
  if (r->sleep_ns > longest) r->sleep_ns = longest;
  if (r->sleep_ns < SHORTEST_SLEEP_NS) r->sleep_ns = SHORTEST_SLEEP_NS;
}

static void sleep_for(uint64_t ns) {
  struct timespec time = {.tv_nsec = (long)ns};
  nanosleep(&time, NULL); /* the loop notices a signal that ends the sleep */
}

/* ---- The end ------------------------------------------------------------------ */

static void begin_end(struct recorder *r, enum recorder_end why, bool over) {
  struct eventring_error error;
  r->ending = true;
  r->result.end = why;
  if (eventring_saver_end(r->current->saver, over, &error) < 0)
    report_read_error(&r->result, &error);
}

static void check_end(struct recorder *r, uint64_t now, uint64_t began) {
  struct eventring_saver_info info;
  eventring_saver_info(r->current->saver, &info);
  if (r->result.end == RECORDER_ERROR)
    begin_end(r, RECORDER_ERROR, true);
  else if (info.full || r->is_full)
    begin_end(r, RECORDER_SIZE, false);
  else if (reader_is_stopped() || r->stop)
    begin_end(r, RECORDER_SIGNAL, false);
  else if (r->options.limit_ns && now - began >= r->options.limit_ns)
    begin_end(r, RECORDER_TIME, false);
  else if (now >= r->next_liveness) {
    r->next_liveness = now + LIVENESS_NS;
    if (r->reader->launched) launch_check(&r->reader->launch);
    if (eventring_cursor_liveness(r->reader->cursor) == EVENTRING_LIVE) return;
    tell_of_deletion(r->reader->cursor);
    begin_end(r, RECORDER_PRODUCER, true);
  }
}

/* Tells whether everything that existed at the end was copied. */
static bool is_drained(struct recorder *r) {
  struct eventring_saver_info info;
  eventring_saver_info(r->current->saver, &info);
  return !info.backlog || info.full || r->is_full || r->result.end == RECORDER_ERROR;
}

/* ---- A round ------------------------------------------------------------------ */

static void attend(struct recorder *r, uint64_t now) {
  if (r->options.attend && now >= r->next_attend) {
    r->options.attend(r->options.context);
    r->next_attend = now + ATTEND_NS;
  }
  if (r->options.progress && now >= r->next_progress) {
    r->options.progress(r->options.context);
    r->next_progress = now + PROGRESS_NS;
  }
}

static void reap(struct recorder *r, uint64_t timeout_ns) {
  if (r->closing) {
    bool busy = output_is_busy(r->closing);
    output_reap(r->closing, busy ? timeout_ns : 0);
    if (busy) timeout_ns = 0;
  }
  output_reap(r->current, timeout_ns);
}

static void rest(struct recorder *r, enum filled filled) {
  if (r->ending) {
    if (r->current->done && r->closing) sleep_for(SHORTEST_SLEEP_NS);
    else if (!r->current->done && filled != FILLED_ALL) reap(r, SHORTEST_SLEEP_NS);
    return;
  }
  if (filled != NO_BUFFER) adapt_sleep(r);
  if (filled == NO_BUFFER) reap(r, ATTEND_NS); /* ends with the next finished write */
  else if (filled != FILLED_ALL) sleep_for(r->sleep_ns);
}

static void round_of_work(struct recorder *r, uint64_t began) {
  uint64_t now = now_ns();
  reap(r, 0);
  step_closing(r, now);
  attend(r, now);
  struct output *o = r->current;
  /* before events take all free buffers, a new file needs one to become a recording */
  if (!o->has_header && !o->done) output_step(o, &r->buffers, now);
  enum filled filled = o->last_update ? FILLED_NONE : fill(r);
  if (!check_switch(r, now) && !r->ending) check_end(r, now, began);
  else if (r->ending && filled == FILLED_NONE && o->update == UPDATE_NONE && is_drained(r))
    o->last_update = true;
  if (!r->current->done) output_step(r->current, &r->buffers, now);
  rest(r, filled);
}

/* Closes the current file, which is the last one. */
static void close_last(struct recorder *r) {
  struct output *o = r->current;
  struct stat st;
  if (o->regular && fstat(o->fd, &st) == 0 && !st.st_nlink) {
    complain("%s was removed while it was written", o->path);
    r->result.failed = true;
  }
  if (r->options.sync && o->regular)
    report_sync_error(&r->result, o->path, output_sync(o->fd, o->path));
  int closed = close(o->fd);
  o->fd = -1;
  if (closed != 0) report_write_error(&r->result, o->path, errno);
}

/* Raises the priority of the thread. Otherwise a process with work for all processors may
   keep it waiting for longer than a ring lasts. (Threads and processes that it starts
   later have a normal priority.) */
static void raise_priority(struct recorder *r) {
  const struct sched_param priority = {.sched_priority = (int)r->options.realtime};
  if (!r->options.realtime) return;
  /* by its number, since musl's function always fails */
  if (syscall(SYS_sched_setscheduler, 0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority) == 0) return;
  complain("--realtime %u: %s; recording goes on with the normal priority", r->options.realtime,
           strerror(errno));
  r->result.failed = true;
}

void recorder_run(struct recorder *r, struct recorder_result *result) {
  uint64_t began = now_ns();
  r->sleep_ns = FIRST_SLEEP_NS;
  r->next_progress = began + PROGRESS_NS;
  prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
  raise_priority(r);
  while (!r->current->done || r->closing) round_of_work(r, began);
  reap(r, 0);
  r->result.duration_ns = now_ns() - began;
  r->result.file_bytes = recorder_bytes(r);
  close_last(r);
  *result = r->result;
}

/* ---- Making ------------------------------------------------------------------- */

/* Opens the first file, which must not exist unless it has a number. */
static struct output *open_first(struct recorder *r) {
  if (r->options.numbered) return open_next(r);
  char *path = file_name(r->options.path, false, r->number = 1);
  struct output *o = output_open(path, &r->options, &r->result, NULL);
  free(path);
  return o;
}

static bool begin_first(struct recorder *r) {
  struct eventring_error error;
  r->current = open_first(r);
  r->result.files = 1;
  if (!r->current) return false;
  /* for packed files, see room_left; only recordings that are not live are checked, since
     that takes time */
  const struct eventring_saver_options saver_options = {
      .max_bytes = r->current->packer ? 0 : r->options.max_bytes,
      .checked = eventring_cursor_liveness(r->reader->cursor) != EVENTRING_LIVE};
  if (eventring_saver_open(&r->current->saver, r->reader->cursor, &saver_options, &error) == 0)
    return true;
  complain("%s", error.text);
  output_discard(r->current);
  r->current = NULL;
  return false;
}

struct recorder *recorder_new(struct reader *reader, const struct recorder_options *options) {
  struct recorder *r = need_zeroed(1, sizeof *r);
  r->options = *options;
  r->reader = reader;
  bool packed = options->zstd_level != 0;
  if (buffers_make(&r->buffers, options->buffers, options->buffer_bytes, packed) && begin_first(r))
    return r;
  recorder_free(r);
  return NULL;
}

void recorder_free(struct recorder *r) {
  if (!r) return;
  output_free(r->current);
  buffers_free(&r->buffers);
  for (unsigned i = 0; i < r->kept_count; i++) free(r->kept[i].path);
  free(r->kept);
  free(r->finished);
  free(r->last_finished);
  free(r);
}
