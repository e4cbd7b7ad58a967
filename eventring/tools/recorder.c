/* SPDX-License-Identifier: MIT */
/* recorder.c: the loop of `eventring record`.
 *
 * Each round takes back what was written, fills one free buffer and submits its pieces,
 * goes on with an update if one is under way or due, and sleeps if there was nothing to
 * fill. The time of sleep follows how far the fullest ring had been filled by the round:
 * it aims at an eighth, so that a ring that suddenly fills twice as fast is still
 * drained in time.
 *
 * An update (newest blocks, records) fills buffers as well. Its front is made when the last
 * of them is filled, and submitted when all jobs that were submitted before it have been
 * written. A new update begins UPDATE_NS after the front of the last one was written. */
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
  PIECES = 128,                   /* of a buffer */
  BLOCK = 4096,
  UPDATE_NS = 100 * 1000 * 1000,
  PROGRESS_NS = 1000 * 1000 * 1000,
  LIVENESS_NS = 10 * 1000 * 1000, /* so often the producer's end is noticed */
  SHORTEST_SLEEP_NS = 50 * 1000,
  FIRST_SLEEP_NS = 200 * 1000,
  LONGEST_SLEEP_NS = 10 * 1000 * 1000
};

struct buffer;
struct piece_job {
  struct write_job job;
  struct eventring_piece piece;
  struct buffer *buffer;
  uint64_t update; /* number of the update before whose front it was submitted */
};

struct buffer {
  uint8_t *bytes;
  unsigned pending; /* jobs that are not finished */
  struct piece_job jobs[PIECES];
};

enum update_state {
  UPDATE_NONE,
  UPDATE_FILLING, /* newest blocks and records are being copied */
  UPDATE_WAITING, /* for what the front announces */
  UPDATE_WRITING  /* the front */
};

struct recorder {
  struct recorder_options options;
  struct reader *reader;
  eventring_saver *saver;
  struct writer *writer;
  int fd;
  bool regular;      /* the output has a size */
  uint64_t extended; /* bytes that the file has been made long */
  unsigned count;    /* of buffers */
  struct buffer *buffers;
  struct buffer front;
  enum update_state update;
  uint64_t updates;          /* number of the present update */
  unsigned before_front;     /* jobs of it that are not finished */
  uint64_t next_update, next_progress, next_liveness;
  bool has_header;           /* the magic was written */
  bool ending, last_update, done;
  uint64_t failures, failures_said; /* jobs that failed; by the last update of all */
  unsigned repeated;                /* last updates */
  uint64_t sleep_ns, last_fill;
  struct recorder_result result;
};

static uint64_t clock_ns(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}
static uint64_t now_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

eventring_saver *recorder_saver(struct recorder *recorder) { return recorder->saver; }

/* ---- Errors ------------------------------------------------------------------------- */

/* Each kind of error once in succession. */
static void report_write_error(struct recorder *r, int error) {
  if (!r->result.write_error) r->result.write_error = error;
  if (!r->result.failed)
    complain("cannot write %s: %s; recording goes on, what cannot be written is counted as "
             "lost", r->options.path, strerror(error));
  r->result.failed = true;
}

static void report_read_error(struct recorder *r, const struct eventring_error *error) {
  complain("%s", error->text);
  r->result.failed = true;
  r->result.end = RECORDER_ERROR;
}

/* ---- Writing ------------------------------------------------------------------------ */

/* A block that was written in part must not look like one. */
static void blank_torn_block(struct recorder *r, const struct write_job *job) {
  static const uint64_t zero;
  size_t whole = job->written - job->written % BLOCK;
  if (whole == job->written || job->written == job->size) return;
  if (pwrite(r->fd, &zero, sizeof zero, (off_t)(job->offset + whole)) < 0)
    report_write_error(r, errno);
}

static void take_back(struct recorder *r, struct piece_job *p) {
  struct buffer *buffer = p->buffer;
  bool is_front = p->piece.kind == EVENTRING_PIECE_FRONT;
  if (p->job.error) {
    r->failures++;
    report_write_error(r, p->job.error);
    if (!is_front) blank_torn_block(r, &p->job);
    eventring_saver_unwritten(r->saver, buffer->bytes, &p->piece, p->job.written);
  } else if (is_front && p->piece.offset == 0) {
    r->has_header = true;
  }
  buffer->pending--;
  if (!is_front && r->update == UPDATE_WAITING && p->update < r->updates) r->before_front--;
}

static void reap_all(struct recorder *r, uint64_t timeout_ns) {
  struct write_job *job;
  while ((job = writer_reap(r->writer, timeout_ns)) != NULL) {
    take_back(r, (struct piece_job *)job);
    timeout_ns = 0;
  }
}

static void submit(struct recorder *r, struct buffer *buffer, int pieces) {
  buffer->pending = (unsigned)pieces;
  for (int i = 0; i < pieces; i++) {
    struct piece_job *p = &buffer->jobs[i];
    p->buffer = buffer;
    p->update = r->updates;
    p->job.from = buffer->bytes + p->piece.from;
    p->job.size = p->piece.size;
    p->job.offset = p->piece.offset;
    writer_submit(r->writer, &p->job);
  }
}

static struct buffer *free_buffer(struct recorder *r) {
  for (unsigned i = 0; i < r->count; i++)
    if (!r->buffers[i].pending) return &r->buffers[i];
  return NULL;
}

static void keep_pieces(struct buffer *buffer, const struct eventring_piece *pieces, int count) {
  for (int i = 0; i < count; i++) buffer->jobs[i].piece = pieces[i];
}

/* ---- Filling ------------------------------------------------------------------------ */

enum filled { FILLED_ALL, FILLED_SOME, FILLED_NONE, NO_BUFFER };

static enum filled fill(struct recorder *r) {
  struct buffer *buffer = free_buffer(r);
  struct eventring_piece pieces[PIECES];
  struct eventring_error error;
  size_t used;
  if (!buffer) {
    r->result.waits++;
    return NO_BUFFER;
  }
  int count = eventring_saver_fill(r->saver, buffer->bytes, r->options.buffer_bytes, pieces,
                                   PIECES, &used, &error);
  if (count < 0) report_read_error(r, &error);
  if (count <= 0) return FILLED_NONE;
  r->result.fills++;
  keep_pieces(buffer, pieces, count);
  submit(r, buffer, count);
  return used > r->options.buffer_bytes / 2 ? FILLED_ALL : FILLED_SOME;
}

/* ---- Updates ------------------------------------------------------------------------ */

/* Makes the file as long as what was handed out needs, which costs no space. Returns how
   long it is. */
static uint64_t extend_file(struct recorder *r) {
  uint64_t size = eventring_saver_size(r->saver);
  struct stat st;
  if (!r->regular || size <= r->extended) return size;
  if (ftruncate(r->fd, (off_t)size) == 0) {
    r->extended = size;
    return size;
  }
  report_write_error(r, errno);
  return fstat(r->fd, &st) == 0 ? (uint64_t)st.st_size : r->extended;
}

static void begin_waiting(struct recorder *r) {
  r->update = UPDATE_WAITING;
  r->updates++;
  r->before_front = writer_jobs(r->writer);
}

static void fill_update(struct recorder *r) {
  struct buffer *buffer = free_buffer(r);
  struct eventring_piece pieces[PIECES];
  struct eventring_error error;
  size_t used;
  bool more;
  if (!buffer) return;
  int count = eventring_saver_update(r->saver, buffer->bytes, r->options.buffer_bytes, pieces,
                                     PIECES, &used, &more, &error);
  if (count < 0) {
    report_read_error(r, &error);
    count = 0;
  }
  keep_pieces(buffer, pieces, count);
  submit(r, buffer, count);
  if (!more) begin_waiting(r);
}

/* What could not be written since the last update is said by another one. */
static bool needs_another(struct recorder *r) {
  bool needs = r->last_update && r->failures != r->failures_said && r->repeated < 3;
  r->failures_said = r->failures;
  r->repeated += needs;
  return needs;
}

static void write_front(struct recorder *r) {
  struct eventring_piece pieces[2];
  struct eventring_error error;
  if (eventring_saver_front(r->saver, r->front.bytes, extend_file(r), pieces, &error) < 0) {
    report_read_error(r, &error);
    r->update = UPDATE_NONE;
    r->done = r->last_update;
    return;
  }
  keep_pieces(&r->front, pieces, 2);
  submit(r, &r->front, r->has_header && !r->last_update ? 1 : 2);
  r->update = UPDATE_WRITING;
}

static void step_update(struct recorder *r, uint64_t now) {
  if (r->update == UPDATE_NONE && (now >= r->next_update || r->last_update)) {
    r->update = UPDATE_FILLING;
  }
  if (r->update == UPDATE_FILLING) fill_update(r);
  if (r->update == UPDATE_WAITING && !r->before_front) {
    if (needs_another(r)) r->update = UPDATE_FILLING;
    else write_front(r);
  }
  if (r->update == UPDATE_WRITING && !r->front.pending) {
    r->update = UPDATE_NONE;
    r->next_update = now + UPDATE_NS;
    r->done = r->last_update;
  }
}

/* ---- Time --------------------------------------------------------------------------- */

/* A burst after a silence may fill a ring within one sleep: at full speed a byte takes 1.5 ns.
   Sleeping as long as 10 ns a byte costs an idle recorder less than 1 % of a processor. */
static uint64_t longest_sleep(uint32_t places) {
  uint64_t ns = (uint64_t)places * BLOCK * 10;
  if (ns < 1000 * 1000) return 1000 * 1000;
  return ns < LONGEST_SLEEP_NS ? ns : LONGEST_SLEEP_NS;
}

static void adapt_sleep(struct recorder *r) {
  struct eventring_saver_info info;
  struct eventring_saver_ring ring;
  uint64_t longest = LONGEST_SLEEP_NS;
  eventring_saver_info(r->saver, &info);
  for (unsigned n = 0; eventring_saver_ring(r->saver, n, &ring) == 0; n++)
    if (longest_sleep(ring.places) < longest) longest = longest_sleep(ring.places);
  double aim = info.fullest > 0.01 ? 0.125 / info.fullest : 2;
  if (aim > 1.25) aim = 1.25;
  r->sleep_ns = (uint64_t)((double)r->sleep_ns * aim);
  if (r->sleep_ns > longest) r->sleep_ns = longest;
  if (r->sleep_ns < SHORTEST_SLEEP_NS) r->sleep_ns = SHORTEST_SLEEP_NS;
}

static void sleep_for(uint64_t ns) {
  struct timespec time = {.tv_nsec = (long)ns};
  nanosleep(&time, NULL); /* a signal that ends it is noticed by the loop */
}

/* ---- The end ------------------------------------------------------------------------ */

static void begin_end(struct recorder *r, enum recorder_end why, bool over) {
  struct eventring_error error;
  r->ending = true;
  r->result.end = why;
  if (eventring_saver_end(r->saver, over, &error) < 0) report_read_error(r, &error);
}

static void check_end(struct recorder *r, uint64_t now, uint64_t began) {
  struct eventring_saver_info info;
  eventring_saver_info(r->saver, &info);
  if (r->result.end == RECORDER_ERROR)
    begin_end(r, RECORDER_ERROR, true);
  else if (info.full)
    begin_end(r, RECORDER_SIZE, false);
  else if (reader_is_stopped())
    begin_end(r, RECORDER_SIGNAL, false);
  else if (r->options.limit_ns && now - began >= r->options.limit_ns)
    begin_end(r, RECORDER_TIME, false);
  else if (now >= r->next_liveness) {
    r->next_liveness = now + LIVENESS_NS;
    if (r->reader->launched) launch_check(&r->reader->launch);
    if (eventring_cursor_liveness(r->reader->cursor) != EVENTRING_LIVE)
      begin_end(r, RECORDER_PRODUCER, true);
  }
}

/* Has all been copied that was there at the end? */
static bool is_drained(struct recorder *r) {
  struct eventring_saver_info info;
  eventring_saver_info(r->saver, &info);
  return !info.backlog || info.full || r->result.end == RECORDER_ERROR;
}

static void round_of_work(struct recorder *r, uint64_t began) {
  uint64_t now = now_ns();
  reap_all(r, 0);
  if (!r->ending) check_end(r, now, began);
  enum filled filled = r->last_update ? FILLED_NONE : fill(r);
  if (r->ending && filled == FILLED_NONE && r->update == UPDATE_NONE && is_drained(r))
    r->last_update = true;
  step_update(r, now);
  if (r->options.progress && now >= r->next_progress) {
    r->options.progress(r->options.context);
    r->next_progress = now + PROGRESS_NS;
  }
  if (r->ending) {
    if (!r->done && filled != FILLED_ALL) reap_all(r, SHORTEST_SLEEP_NS);
    return;
  }
  if (filled != NO_BUFFER) adapt_sleep(r);
  if (filled == NO_BUFFER) reap_all(r, r->sleep_ns);
  else if (filled != FILLED_ALL) sleep_for(r->sleep_ns);
}

void recorder_run(struct recorder *r, struct recorder_result *result) {
  uint64_t began = now_ns();
  r->sleep_ns = FIRST_SLEEP_NS;
  r->next_progress = began + PROGRESS_NS;
  prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
  while (!r->done) round_of_work(r, began);
  reap_all(r, 0);
  r->result.duration_ns = now_ns() - began;
  r->result.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  r->result.file_bytes = eventring_saver_size(r->saver);
  if (r->options.sync && r->regular && fsync(r->fd) != 0) report_write_error(r, errno);
  int closed = close(r->fd);
  r->fd = -1;
  if (closed != 0) report_write_error(r, errno);
  *result = r->result;
}

/* ---- Making ------------------------------------------------------------------------- */

static bool open_output(struct recorder *r) {
  const char *path = r->options.path;
  struct stat st;
  r->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (r->fd < 0 && errno == EEXIST && stat(path, &st) == 0 && S_ISCHR(st.st_mode))
    r->fd = open(path, O_WRONLY | O_CLOEXEC);
  if (r->fd < 0) {
    complain("cannot create %s: %s", path, strerror(errno));
    return false;
  }
  r->regular = fstat(r->fd, &st) == 0 && S_ISREG(st.st_mode);
  /* as a producer does: readers see that somebody writes */
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (r->regular) fcntl(r->fd, F_OFD_SETLK, &lock);
  return true;
}

static bool make_buffer(struct buffer *buffer, size_t size) {
  void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return false;
  buffer->bytes = bytes;
  return true;
}

static bool make_buffers(struct recorder *r) {
  r->count = r->options.buffers;
  r->buffers = need_zeroed(r->count, sizeof *r->buffers);
  bool made = make_buffer(&r->front, EVENTRING_FRONT_BYTES);
  for (unsigned i = 0; made && i < r->count; i++)
    made = make_buffer(&r->buffers[i], r->options.buffer_bytes);
  if (!made) complain("no memory for %u buffers", r->count);
  return made;
}

static bool try_writer(struct recorder *r, enum writer_kind kind) {
  r->writer = writer_open(kind, r->fd, r->options.buffers);
  r->result.writer = kind;
  return r->writer != NULL;
}

static bool choose_writer(struct recorder *r) {
  static const enum writer_kind best[] = {WRITER_THREADS, WRITER_URING, WRITER_AIO,
                                          WRITER_SERIAL};
  if (r->options.writer >= 0) {
    if (try_writer(r, (enum writer_kind)r->options.writer)) return true;
    const char *name = writer_name((enum writer_kind)r->options.writer);
    if (errno == ENOSYS)
      complain("--writer %s: not in this build or on this machine (io_uring needs liburing "
               "when eventring is built, and a kernel that allows it)", name);
    else
      complain("--writer %s: %s", name, strerror(errno));
    return false;
  }
  for (size_t i = 0; i < sizeof best / sizeof best[0]; i++)
    if (try_writer(r, best[i])) return true;
  complain("cannot start a writer: %s", strerror(errno));
  return false;
}

struct recorder *recorder_new(struct reader *reader, const struct recorder_options *options) {
  struct eventring_error error;
  struct recorder *r = need_zeroed(1, sizeof *r);
  r->options = *options;
  r->reader = reader;
  r->fd = -1;
  if (eventring_saver_open(&r->saver, reader->cursor, options->max_bytes, &error) < 0)
    complain("%s", error.text);
  else if (make_buffers(r) && open_output(r) && choose_writer(r))
    return r;
  if (r->fd >= 0 && r->regular) unlink(options->path);
  recorder_free(r);
  return NULL;
}

static void free_buffer_bytes(struct buffer *buffer, size_t size) {
  if (buffer->bytes) munmap(buffer->bytes, size);
}

void recorder_free(struct recorder *r) {
  if (!r) return;
  writer_close(r->writer);
  if (r->fd >= 0) close(r->fd);
  for (unsigned i = 0; r->buffers && i < r->count; i++)
    free_buffer_bytes(&r->buffers[i], r->options.buffer_bytes);
  free_buffer_bytes(&r->front, EVENTRING_FRONT_BYTES);
  free(r->buffers);
  eventring_saver_close(r->saver);
  free(r);
}
