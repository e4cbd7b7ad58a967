/* SPDX-License-Identifier: MIT */
/* output.c: one file that a recorder writes (output.h has the design). */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
  BLOCK = 4096,
  UPDATE_NS = 100 * 1000 * 1000
};

uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* ---- Errors ------------------------------------------------------------------------- */

/* Once in a recording. */
void report_write_error(struct recorder_result *result, const char *path, int error) {
  if (!result->write_error) result->write_error = error;
  if (!result->failed)
    complain("cannot write %s: %s; recording goes on, what cannot be written is counted as "
             "lost", path, strerror(error));
  result->failed = true;
}

void report_read_error(struct recorder_result *result, const struct eventring_error *error) {
  complain("%s", error->text);
  result->failed = true;
  result->end = RECORDER_ERROR;
}

static void report(struct output *o, int error) { report_write_error(o->result, o->path, error); }

/* ---- Buffers ------------------------------------------------------------------------ */

static bool make_buffer(struct buffer *buffer, size_t size) {
  void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return false;
  buffer->bytes = bytes;
  return true;
}

static void free_buffer_bytes(struct buffer *buffer, size_t size) {
  if (buffer->bytes) munmap(buffer->bytes, size);
}

bool buffers_make(struct buffers *buffers, unsigned count, size_t bytes) {
  bool made = true;
  *buffers = (struct buffers){need_zeroed(count, sizeof *buffers->all), count, bytes};
  for (unsigned i = 0; made && i < count; i++) made = make_buffer(&buffers->all[i], bytes);
  if (!made) complain("no memory for %u buffers", count);
  return made;
}

void buffers_free(struct buffers *buffers) {
  for (unsigned i = 0; buffers->all && i < buffers->count; i++)
    free_buffer_bytes(&buffers->all[i], buffers->bytes);
  free(buffers->all);
}

struct buffer *buffers_take(struct buffers *buffers) {
  for (unsigned i = 0; i < buffers->count; i++)
    if (!buffers->all[i].pending) return &buffers->all[i];
  return NULL;
}

/* ---- Writing ------------------------------------------------------------------------ */

/* A block that was written in part must not look like one. */
static void blank_torn_block(struct output *o, const struct write_job *job) {
  static const uint64_t zero;
  size_t whole = job->written - job->written % BLOCK;
  if (whole == job->written || job->written == job->size) return;
  if (pwrite(o->fd, &zero, sizeof zero, (off_t)(job->offset + whole)) < 0)
    report(o, errno);
}

static void take_back(struct output *o, struct piece_job *p) {
  struct buffer *buffer = p->buffer;
  bool is_front = p->piece.kind == EVENTRING_PIECE_FRONT;
  if (p->job.error) {
    o->failures++;
    report(o, p->job.error);
    if (!is_front) blank_torn_block(o, &p->job);
    eventring_saver_unwritten(o->saver, buffer->bytes, &p->piece, p->job.written);
  } else if (is_front && p->piece.offset == 0) {
    o->has_header = true;
  }
  buffer->pending--;
  if (!is_front && o->update == UPDATE_WAITING && p->update < o->updates) o->before_front--;
}

void output_reap(struct output *o, uint64_t timeout_ns) {
  struct write_job *job;
  while ((job = writer_reap(o->writer, timeout_ns)) != NULL) {
    take_back(o, (struct piece_job *)job);
    timeout_ns = 0;
  }
}

static void submit(struct output *o, struct buffer *buffer, int pieces) {
  buffer->pending = (unsigned)pieces;
  for (int i = 0; i < pieces; i++) {
    struct piece_job *p = &buffer->jobs[i];
    p->buffer = buffer;
    p->update = o->updates;
    p->job.from = buffer->bytes + p->piece.from;
    p->job.size = p->piece.size;
    p->job.offset = p->piece.offset;
    writer_submit(o->writer, &p->job);
  }
}

void output_submit(struct output *o, struct buffer *buffer,
                   const struct eventring_piece *pieces, int count) {
  for (int i = 0; i < count; i++) buffer->jobs[i].piece = pieces[i];
  submit(o, buffer, count);
}

/* ---- Updates ------------------------------------------------------------------------ */

/* Makes the file as long as what was handed out needs, which costs no space. Returns how
   long it is. */
static uint64_t extend_file(struct output *o) {
  uint64_t size = eventring_saver_size(o->saver);
  struct stat st;
  if (!o->regular || size <= o->extended) return size;
  if (ftruncate(o->fd, (off_t)size) == 0) {
    o->extended = size;
    return size;
  }
  report(o, errno);
  return fstat(o->fd, &st) == 0 ? (uint64_t)st.st_size : o->extended;
}

static void begin_waiting(struct output *o) {
  o->update = UPDATE_WAITING;
  o->updates++;
  o->before_front = writer_jobs(o->writer);
}

static void fill_update(struct output *o, struct buffers *buffers) {
  struct buffer *buffer = buffers_take(buffers);
  struct eventring_piece pieces[PIECES];
  struct eventring_error error;
  size_t used;
  bool more;
  if (!buffer) return;
  int count = eventring_saver_update(o->saver, buffer->bytes, buffers->bytes, pieces, PIECES, &used,
                                     &more, &error);
  if (count < 0) {
    report_read_error(o->result, &error);
    count = 0;
  }
  output_submit(o, buffer, pieces, count);
  if (!more) begin_waiting(o);
}

/* What could not be written since the last update is said by another one. */
static bool needs_another(struct output *o) {
  bool needs = o->last_update && o->failures != o->failures_said && o->repeated < 3;
  o->failures_said = o->failures;
  o->repeated += needs;
  return needs;
}

static void write_front(struct output *o) {
  struct eventring_piece pieces[2];
  struct eventring_error error;
  if (eventring_saver_front(o->saver, o->front.bytes, extend_file(o), pieces, &error) < 0) {
    report_read_error(o->result, &error);
    o->update = UPDATE_NONE;
    o->done = o->last_update;
    return;
  }
  output_submit(o, &o->front, pieces, o->has_header && !o->last_update ? 1 : 2);
  o->update = UPDATE_WRITING;
}

void output_step(struct output *o, struct buffers *buffers, uint64_t now) {
  if (o->update == UPDATE_NONE && (now >= o->next_update || o->last_update)) {
    o->update = UPDATE_FILLING;
  }
  if (o->update == UPDATE_FILLING) fill_update(o, buffers);
  if (o->update == UPDATE_WAITING && !o->before_front) {
    if (needs_another(o)) o->update = UPDATE_FILLING;
    else write_front(o);
  }
  if (o->update == UPDATE_WRITING && !o->front.pending) {
    o->update = UPDATE_NONE;
    if (!o->first_bytes) o->first_bytes = eventring_saver_size(o->saver);
    o->next_update = now + UPDATE_NS;
    o->done = o->last_update;
  }
}

/* ---- Making ------------------------------------------------------------------------- */

static bool open_file(struct output *o, bool *exists) {
  struct stat st;
  o->fd = open(o->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  int error = errno;
  if (o->fd < 0 && error == EEXIST && stat(o->path, &st) == 0 && S_ISCHR(st.st_mode)) {
    o->fd = open(o->path, O_WRONLY | O_CLOEXEC);
    error = errno;
  }
  if (o->fd < 0) {
    if (error == EEXIST && exists) *exists = true;
    else complain("cannot create %s: %s", o->path, strerror(error));
    return false;
  }
  o->regular = fstat(o->fd, &st) == 0 && S_ISREG(st.st_mode);
  if (o->regular) o->device = st.st_dev, o->inode = st.st_ino;
  /* as a producer does: readers see that somebody writes */
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (o->regular) fcntl(o->fd, F_OFD_SETLK, &lock);
  return true;
}

static bool try_writer(struct output *o, enum writer_kind kind, unsigned buffers) {
  o->writer = writer_open(kind, o->fd, buffers);
  o->result->writer = kind;
  return o->writer != NULL;
}

static bool choose_writer(struct output *o, int wanted, unsigned buffers) {
  static const enum writer_kind best[] = {WRITER_THREADS, WRITER_URING, WRITER_AIO,
                                          WRITER_SERIAL};
  if (wanted >= 0) {
    if (try_writer(o, (enum writer_kind)wanted, buffers)) return true;
    const char *name = writer_name((enum writer_kind)wanted);
    if (errno == ENOSYS)
      complain("--writer %s: not in this build or on this machine (io_uring needs liburing "
               "when eventring is built, and a kernel that allows it)", name);
    else
      complain("--writer %s: %s", name, strerror(errno));
    return false;
  }
  for (size_t i = 0; i < sizeof best / sizeof best[0]; i++)
    if (try_writer(o, best[i], buffers)) return true;
  complain("cannot start a writer: %s", strerror(errno));
  return false;
}

struct output *output_open(const char *path, int writer, unsigned buffers,
                           struct recorder_result *result, bool *exists) {
  struct output *o = need_zeroed(1, sizeof *o);
  o->path = need_copy(path);
  o->fd = -1;
  o->result = result;
  o->began = now_ns();
  bool made = make_buffer(&o->front, EVENTRING_FRONT_BYTES);
  if (!made) complain("no memory for a file");
  if (made && open_file(o, exists) && choose_writer(o, writer, buffers)) return o;
  output_discard(o);
  return NULL;
}

void output_discard(struct output *o) {
  if (o->fd >= 0 && o->regular) unlink(o->path);
  output_free(o);
}

void output_free(struct output *o) {
  if (!o) return;
  writer_close(o->writer);
  if (o->fd >= 0) close(o->fd);
  free_buffer_bytes(&o->front, EVENTRING_FRONT_BYTES);
  eventring_saver_close(o->saver);
  free(o->path);
  free(o);
}
