/* SPDX-License-Identifier: MIT */
/* output.c: writes one file for a recorder (output.h has the design). */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "new_file.h"
#include "format/now.h"

enum {
  UPDATE_NS = 100 * 1000 * 1000,
  SHORT_NS = 1000 * 1000, /* longest wait for a packet while writes are in flight */
  RESERVE = 256 << 10,    /* bytes reserved for the last update of a packed file */
  RESERVE_STEP = 1 << 20, /* bytes reserved at once for everything before the last
                             update */
  MOST_AHEAD = 120,       /* packets that may follow an unwritten one; FORMAT.md allows
                             127 */
  MOST_REPEATED = 3       /* most repetitions of the last update */
};

/* ---- Errors ------------------------------------------------------------------- */

/* Reports an error of a write, once in a recording. */
void report_write_error(struct recorder_result *result, const char *path, int error) {
  if (!result->write_failed)
    complain("cannot write %s: %s; recording goes on, what cannot be written is counted as "
             "lost", path, strerror(error));
  result->failed = result->write_failed = true;
}

void report_read_error(struct recorder_result *result, const struct eventring_error *error) {
  complain("%s", error->text);
  result->failed = true;
  result->end = RECORDER_ERROR;
}

static const char *name_of(const struct output *o) { return o->partial ? o->partial : o->path; }

static void report(struct output *o, int error) { report_write_error(o->result, o->path, error); }

/* ---- Buffers ------------------------------------------------------------------ */

static uint8_t *map_room(size_t size) {
  void *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return room == MAP_FAILED ? NULL : room;
}

/* Returns the room for the packets of a buffer. (Two packets take no more than one with
   all their bytes and an empty one.) */
size_t output_packed_room(size_t bytes) { return pack_room(bytes, PARTS) + 2 * pack_room(0, 0); }

static bool make_buffer(struct buffer *buffer, size_t size, bool packed) {
  buffer->bytes = map_room(size);
  if (buffer->bytes && packed) buffer->packet = map_room(output_packed_room(size));
  return buffer->bytes && (buffer->packet || !packed);
}

static void free_buffer_bytes(struct buffer *buffer, size_t size) {
  if (buffer->bytes) munmap(buffer->bytes, size);
  if (buffer->packet) munmap(buffer->packet, output_packed_room(size));
}

bool buffers_make(struct buffers *buffers, unsigned count, size_t bytes, bool packed) {
  bool made = true;
  *buffers = (struct buffers){need_zeroed(count, sizeof *buffers->all), count, bytes};
  for (unsigned i = 0; made && i < count; i++)
    made = make_buffer(&buffers->all[i], bytes, packed);
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

/* ---- Writing ------------------------------------------------------------------ */

/* Blanks a block that was written in part, so that it does not look like a block. */
static void blank_unfinished_block(struct output *o, const struct write_job *job) {
  static const uint64_t zero;
  size_t whole = job->written - job->written % EVENTRING_BLOCK_BYTES;
  if (whole == job->written || job->written == job->size) return;
  if (pwrite(o->fd, &zero, sizeof zero, (off_t)(job->offset + whole)) < 0)
    report(o, errno);
}

/* Blanks a packet that was written in part, so that it does not look like a damaged
   packet. If nothing of the last packet was written, its space is free again, as no
   reader has seen it. */
static void blank_unfinished_packet(struct output *o, const struct write_job *job) {
  static const uint8_t zeros[EVENTRING_PACKET_ALIGNMENT];
  bool is_last = job->size && job->offset + job->size == o->packed_bytes;
  if (job->written && pwrite(o->fd, zeros, sizeof zeros, (off_t)job->offset) < 0)
    report(o, errno);
  else if (!job->written && is_last)
    o->packed_bytes = job->offset;
}

static bool is_front(const struct piece_job *p) {
  return p->piece->kind == EVENTRING_PIECE_FRONT;
}

static void note_end(struct output *o, uint64_t end) {
  if (end > o->extended) o->extended = end;
}

/* Makes a plain file longer, which costs no space. Returns 0 or an errno. */
static int extend_to(struct output *o, uint64_t end) {
  if (end > o->extended && ftruncate(o->fd, (off_t)end) != 0) return errno;
  note_end(o, end);
  return 0;
}

/* Makes a file long enough for all units of a piece, because no front shows a part of a
   unit; if the size of files is limited, long enough for some of the units. */
static void extend_for(struct output *o, struct piece_job *p) {
  uint64_t unit = EVENTRING_UNIT_BYTES, begin = p->piece->offset;
  uint64_t end = begin + p->piece->size + unit - 1;
  for (end -= (end - EVENTRING_FRONT_BYTES) % unit; end > begin; end -= unit) {
    int error = extend_to(o, end);
    if (!error) break;
    if (!p->no_room) p->no_room = error;
  }
  if (p->no_room) p->job.size = end > begin ? end - begin : 0;
}

static void note_failure(struct output *o, struct piece_job *p) {
  o->failures++;
  report(o, p->job.error);
  if (o->packer) blank_unfinished_packet(o, &p->job);
  else if (!is_front(p)) blank_unfinished_block(o, &p->job);
}

/* Returns how many bytes of a piece were written. Of a packet, either all counts as
   written or nothing. */
static size_t written_of(const struct output *o, const struct piece_job *p, unsigned piece) {
  if (!p->job.error) return p->piece[piece].size;
  return o->packer ? 0 : p->job.written;
}

/* Adds a job to the list of jobs under way. (The list is made by hand: not every libc has
   <sys/queue.h>.) */
static void be_under_way(struct output *o, struct piece_job *p) {
  p->before = o->newest;
  p->after = NULL;
  *(p->before ? &p->before->after : &o->oldest) = p;
  o->newest = p;
}

static void end_being_under_way(struct output *o, struct piece_job *p) {
  *(p->before ? &p->before->after : &o->oldest) = p->after;
  *(p->after ? &p->after->before : &o->newest) = p->before;
}

static void release(struct output *o, struct piece_job *p) {
  end_being_under_way(o, p);
  o->jobs--;
  for (unsigned i = 0; i < p->count; i++)
    eventring_saver_written(o->saver, p->buffer->bytes, &p->piece[i], written_of(o, p, i));
  if (o->packer && !p->job.error) note_end(o, p->job.offset + p->job.size);
  if (is_front(p)) o->front_failed = p->job.error != 0;
  if (is_front(p) && !p->job.error && p->piece[p->count - 1].offset == 0) o->has_header = true;
  o->has_begin |= o->has_header;
  p->buffer->pending--;
  if (!is_front(p) && o->update == UPDATE_WAITING && p->update < o->updates) o->before_front--;
}

/* Takes back a finished job. What is lost by a failure depends on earlier writes. In a
   plain file this is the earlier job for the same offset, which was written first. In a
   packed file a failed job waits for all earlier ones. */
static void take_back(struct output *o, struct piece_job *p) {
  if (!p->job.error) p->job.error = p->no_room;
  if (p->job.error) note_failure(o, p);
  p->failed = p->job.error && o->packer;
  if (!p->failed) release(o, p);
  while ((p = o->oldest) != NULL && p->failed) release(o, p);
}

/* Allocates the space of a packed file up to `end`. Returns 0 or an errno. (Not every
   file system obeys the limit if no length changes.) */
static int take_space(struct output *o, uint64_t end) {
  struct rlimit most;
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && end > most.rlim_cur) return EFBIG;
  if (fallocate(o->fd, FALLOC_FL_KEEP_SIZE, (off_t)o->reserved, (off_t)(end - o->reserved)) != 0)
    return errno;
  o->reserved = end;
  return 0;
}

/* Ensures that the file has its space up to `end`, and behind it the reserve for the last
   update. Returns 0 or an errno. */
static int reserve(struct output *o, uint64_t end) {
  end += RESERVE;
  if (!o->regular || o->cannot_reserve || end <= o->reserved) return 0;
  if (take_space(o, end + RESERVE_STEP) == 0) return 0;
  int error = take_space(o, end);
  o->cannot_reserve = error && error != ENOSPC && error != EDQUOT && error != EFBIG;
  return o->cannot_reserve ? 0 : error;
}

/* Gives back space that was allocated and is not needed. */
static void give_back_space(struct output *o) {
  if (o->reserved <= o->packed_bytes) return;
  (void)fallocate(o->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)o->packed_bytes,
                  (off_t)(o->reserved - o->packed_bytes));
  struct stat st; /* setting the same length frees what lies behind the end */
  if (fstat(o->fd, &st) == 0) (void)!ftruncate(o->fd, st.st_size);
}

/* Gives a finished packet its offset, and submits the write. */
static void append_packet(struct output *o, struct piece_job *p) {
  o->coming_bytes -= p->pack.room;
  p->job = (struct write_job){.from = p->pack.to, .size = p->pack.size, .offset = o->packed_bytes,
                              .error = p->pack.error};
  if (!p->job.error && !p->is_vital) p->job.error = reserve(o, o->packed_bytes + p->pack.size);
  if (p->job.error) {
    p->job.size = 0; /* the packet gets no offset */
    take_back(o, p);
    return;
  }
  o->packed_bytes += p->pack.size;
  writer_submit(o->writer, &p->job);
}

static struct piece_job *job_of_pack(struct pack_job *pack) {
  return (struct piece_job *)((char *)pack - offsetof(struct piece_job, pack));
}

static void append_packets(struct output *o, uint64_t timeout_ns) {
  struct pack_job *pack;
  if (!o->packer) return;
  if (writer_jobs(o->writer) && timeout_ns > SHORT_NS) timeout_ns = SHORT_NS;
  while ((pack = packer_reap(o->packer, timeout_ns)) != NULL) {
    append_packet(o, job_of_pack(pack));
    timeout_ns = 0;
  }
}

bool output_is_busy(const struct output *o) { return o->jobs != 0; }

void output_reap(struct output *o, uint64_t timeout_ns) {
  struct write_job *job;
  append_packets(o, timeout_ns);
  /* packets may be finished earlier */
  if (o->packer && packer_jobs(o->packer)) timeout_ns = 0;
  while ((job = writer_reap(o->writer, timeout_ns)) != NULL) {
    take_back(o, (struct piece_job *)job);
    timeout_ns = 0;
  }
}

static void begin_job(struct output *o, struct piece_job *p) {
  be_under_way(o, p);
  o->jobs++;
}

static void write_pieces(struct output *o, struct buffer *buffer, unsigned count) {
  buffer->pending = count;
  for (unsigned i = 0; i < count; i++) {
    struct piece_job *p = &buffer->jobs[i];
    struct eventring_piece *piece = &buffer->pieces[i];
    *p = (struct piece_job){.buffer = buffer, .piece = piece, .count = 1, .update = o->updates,
                            .job = {.from = buffer->bytes + piece->from, .size = piece->size,
                                    .offset = piece->offset}};
    begin_job(o, p);
    if (o->regular && !is_front(p)) extend_for(o, p);
    if (p->job.size) writer_submit(o->writer, &p->job);
    else take_back(o, p);
  }
}

/* Makes a packet of pieces at `to`. Returns the latest end that it may have. */
static uint8_t *pack_some(struct output *o, struct buffer *buffer, unsigned first, unsigned count,
                          uint8_t *to) {
  struct piece_job *p = &buffer->jobs[buffer->pending++];
  size_t bytes = 0;
  for (unsigned i = 0; i < count; i++) bytes += buffer->pieces[first + i].size;
  *p = (struct piece_job){.buffer = buffer, .piece = &buffer->pieces[first], .count = count,
                          .update = o->updates};
  p->pack = (struct pack_job){
      .buffer = buffer->bytes, .pieces = p->piece, .count = count,
      .is_last = o->last_update && !o->again && buffer == &o->front,
      .sequence = ++o->packets, .plain_bytes = eventring_saver_size(o->saver),
      .to = to, .room = pack_room(bytes, count)};
  bool ends = o->last_update && (o->again || p->piece->kind >= EVENTRING_PIECE_RECORDS);
  p->is_vital = ends || (!o->first_bytes && p->piece->kind >= EVENTRING_PIECE_RECORDS);
  begin_job(o, p);
  o->coming_bytes += p->pack.room;
  packer_submit(o->packer, &p->pack);
  return to + p->pack.room;
}

/* Returns the end of the part that is packed together with `offset`. A part is either the
   first blocks of a unit, whose headers say what the unit has (reader/units.c reads the
   first, and the second if another unit comes before), or its other blocks. */
static uint64_t end_of_part(uint64_t offset, bool *is_head) {
  enum { HEAD = 2 * EVENTRING_BLOCK_BYTES };
  const uint64_t within = (offset - EVENTRING_FRONT_BYTES) % EVENTRING_UNIT_BYTES;
  *is_head = within < HEAD;
  return offset - within + (*is_head ? HEAD : EVENTRING_UNIT_BYTES);
}

/* Appends to `to` the parts of a piece that are heads, or the parts that are not. Returns
   the new number of parts: more than PARTS if there is no room. */
static unsigned add_parts(struct eventring_piece *to, unsigned count,
                          const struct eventring_piece *piece, bool heads) {
  const uint64_t end = piece->offset + piece->size;
  bool is_head;
  for (uint64_t at = piece->offset, next; at < end; at = next) {
    next = end_of_part(at, &is_head);
    if (next > end) next = end;
    if (is_head != heads) continue;
    if (count >= PARTS) return PARTS + 1;
    to[count++] = (struct eventring_piece){
        .offset = at, .from = piece->from + (size_t)(at - piece->offset),
        .size = (size_t)(next - at), .kind = piece->kind};
  }
  return count;
}

/* Divides the first `events` pieces of the buffer into heads and others. Returns the new
   number of all pieces: *heads heads come first, then *others others. If there would be
   too many pieces, divides nothing and returns `count`, with 0 heads. */
static unsigned divide_pieces(struct buffer *buffer, unsigned events, unsigned count,
                              unsigned *heads, unsigned *others) {
  struct eventring_piece part[PARTS];
  unsigned parts = 0;
  *others = events;
  *heads = 0;
  for (unsigned i = 0; i < events; i++) parts = add_parts(part, parts, &buffer->pieces[i], true);
  const unsigned head_parts = parts;
  for (unsigned i = 0; i < events; i++) parts = add_parts(part, parts, &buffer->pieces[i], false);
  if (parts + count - events > PARTS) return count;
  *heads = head_parts;
  *others = parts - head_parts;
  memmove(&buffer->pieces[parts], &buffer->pieces[events],
          (count - events) * sizeof *buffer->pieces);
  memcpy(buffer->pieces, part, parts * sizeof *part);
  return parts + count - events;
}

/* Packs the pieces of a buffer; records, which come last, are a packet of their own. */
static void pack_pieces(struct output *o, struct buffer *buffer, unsigned count) {
  unsigned events = 0, heads, others;
  while (events < count && buffer->pieces[events].kind < EVENTRING_PIECE_RECORDS) events++;
  count = divide_pieces(buffer, events, count, &heads, &others);
  uint8_t *to = buffer->packet;
  buffer->pending = 0;
  if (heads) to = pack_some(o, buffer, 0, heads, to);
  if (others) to = pack_some(o, buffer, heads, others, to);
  if (count > heads + others)
    pack_some(o, buffer, heads + others, count - heads - others, to);
}

/* Tells whether another buffer may be submitted. (To a reader of a packed file, a packet
   that is missing for long is damage.) */
bool output_may_submit(const struct output *o) {
  const struct piece_job *oldest = o->oldest;
  return !o->packer || !oldest || o->packets < oldest->pack.sequence + MOST_AHEAD;
}

void output_submit(struct output *o, struct buffer *buffer,
                   const struct eventring_piece *pieces, int count) {
  if (count <= 0) return;
  memcpy(buffer->pieces, pieces, (size_t)count * sizeof *pieces);
  (o->packer ? pack_pieces : write_pieces)(o, buffer, (unsigned)count);
}

uint64_t output_bytes(const struct output *o) {
  if (o->done && o->regular) return o->ended_bytes;
  return o->packer ? o->packed_bytes : eventring_saver_size(o->saver);
}

/* ---- Updates ------------------------------------------------------------------ */

/* Reports, once, that another program has truncated the file, so that what was written is
   gone. */
static void check_length(struct output *o, uint64_t length) {
  struct stat st;
  if (!o->regular || o->was_cut || fstat(o->fd, &st) != 0 || (uint64_t)st.st_size >= length) return;
  o->was_cut = o->result->failed = true;
  complain("%s was cut short by somebody else: events that were saved are not there any more",
           o->path);
}

/* Checks that the first word is still there. (A truncated file may have grown again.) */
static void check_begin(struct output *o) {
  uint64_t first = 0;
  if (!o->regular || o->was_cut || !o->has_begin) return;
  if (pread(o->fd, &first, sizeof first, 0) == (ssize_t)sizeof first && !first)
    check_length(o, UINT64_MAX);
}

/* Makes the file long enough for what was handed out, which costs no space. Returns its
   length. (For a packed file, returns the length of the plain one.) */
static uint64_t extend_file(struct output *o) {
  uint64_t size = eventring_saver_size(o->saver);
  struct stat st;
  if (!o->regular || o->packer) return size;
  check_length(o, o->extended);
  if (size <= o->extended) return size;
  int error = extend_to(o, size);
  if (!error) return size;
  report(o, error);
  return fstat(o->fd, &st) == 0 ? (uint64_t)st.st_size : o->extended;
}

static void begin_waiting(struct output *o) {
  o->update = UPDATE_WAITING;
  o->updates++;
  o->before_front = o->jobs;
}

static void fill_update(struct output *o, struct buffers *buffers) {
  struct buffer *buffer = buffers_take(buffers);
  struct eventring_piece pieces[PIECES];
  struct eventring_error error;
  size_t used;
  bool more;
  if (!buffer || !output_may_submit(o)) return;
  int count = eventring_saver_update(o->saver, buffer->bytes, buffers->bytes, pieces, PIECES, &used,
                                     &more, &error);
  if (count < 0) {
    report_read_error(o->result, &error);
    count = 0;
  }
  output_submit(o, buffer, pieces, count);
  if (!more) begin_waiting(o);
}

/* Tells whether another update is needed, to record what could not be written since the
   last one. */
static bool needs_another(struct output *o) {
  bool needs =
      o->last_update && o->failures != o->failures_said && o->repeated < MOST_REPEATED;
  o->failures_said = o->failures;
  o->repeated += needs;
  return needs;
}

/* Gives the file its name, once its front is written or can no longer be written. If
   something else has the name by now, the file stays PATH.partial, which is reported. */
static void take_name(struct output *o) {
  if (!o->partial) return;
  int error = rename_new_at(AT_FDCWD, o->partial, AT_FDCWD, o->path);
  if (error) report(o, error);
  free(error ? o->path : o->partial);
  if (error) o->path = o->partial;
  o->partial = NULL;
}

/* Ends the file, when everything that will ever be written is written. */
static void end_file(struct output *o) {
  struct stat st;
  take_name(o);
  if (o->packer) check_begin(o), check_length(o, o->extended);
  if (o->packer) give_back_space(o);
  if (o->regular && fstat(o->fd, &st) == 0) o->ended_bytes = (uint64_t)st.st_size;
}

static void write_front(struct output *o) {
  struct eventring_piece pieces[2];
  struct eventring_error error;
  check_begin(o); /* before the first word is written again */
  int status = eventring_saver_front(o->saver, o->front.bytes, extend_file(o), o->last_update,
                                     pieces, &error);
  o->again = status == EVENTRING_AGAIN;
  if (status < 0) {
    report_read_error(o->result, &error);
    o->update = UPDATE_NONE;
    o->done = o->last_update;
    if (o->done) end_file(o);
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
    if (!o->first_bytes && !o->front_failed) o->first_bytes = output_bytes(o);
    o->next_update = now + UPDATE_NS;
    bool again = o->again || o->front_failed;
    if (o->last_update && again) o->last_fronts++;
    o->done = o->last_update && (!again || o->last_fronts > MOST_REPEATED);
    if (o->has_header) take_name(o);
    if (o->done) end_file(o);
  }
}

/* ---- The disk ----------------------------------------------------------------- */

/* Waits until a directory is on its disk. Some file systems cannot do that (EINVAL).
   Returns 0 or an errno. */
static int sync_directory(const char *path) {
  char *copy = need_copy(path);
  int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int error = fd < 0 || (fsync(fd) != 0 && errno != EINVAL) ? errno : 0;
  if (fd >= 0) close(fd);
  free(copy);
  return error;
}

int output_sync(int fd, const char *path) {
  return fsync(fd) == 0 ? sync_directory(path) : errno;
}

/* ---- Making ------------------------------------------------------------------- */

/* Makes PATH.partial, if there is no PATH. Returns -1 with errno. */
static int make_partial(struct output *o) {
  struct stat st;
  if (lstat(o->path, &st) == 0) {
    errno = EEXIST;
    return -1;
  }
  size_t room = strlen(o->path) + sizeof ".partial";
  o->partial = need_zeroed(room, 1);
  snprintf(o->partial, room, "%s.partial", o->path);
  return partial_open(o->partial);
}

static bool open_file(struct output *o, bool *exists) {
  struct stat st;
  o->fd = make_partial(o);
  int error = errno;
  if (o->fd < 0 && error == EEXIST && !o->partial && (o->fd = special_open(o->path)) < 0)
    error = errno;
  else if (error == EEXIST && o->fd >= 0 && (fstat(o->fd, &st) != 0 || !S_ISCHR(st.st_mode))) {
    close(o->fd); /* not allowed: a recording is not written in order */
    o->fd = -1;
  }
  if (o->fd < 0) {
    if (error == EEXIST && exists) *exists = true;
    else complain("cannot create %s: %s", name_of(o), strerror(error));
    return false;
  }
  o->regular = fstat(o->fd, &st) == 0 && S_ISREG(st.st_mode);
  if (o->regular) o->device = st.st_dev, o->inode = st.st_ino;
  return true; /* the file is locked, as by a producer: readers see that it is being
                  written */
}

static bool try_writer(struct output *o, enum writer_kind kind, unsigned buffers) {
  /* packets share no byte, so their writes need no order */
  o->writer = writer_open(kind, o->fd, buffers,
                          o->packer ? EVENTRING_PACKET_ALIGNMENT : EVENTRING_UNIT_BYTES);
  return o->writer != NULL;
}

static bool choose_writer(struct output *o, int wanted, unsigned buffers) {
  static const enum writer_kind best[] = {WRITER_THREADS, WRITER_AIO, WRITER_SERIAL};
  if (wanted >= 0) {
    if (try_writer(o, (enum writer_kind)wanted, buffers)) return true;
    return complain("--writer %s: %s", writer_names[wanted], strerror(errno));
  }
  for (size_t i = 0; i < sizeof best / sizeof best[0]; i++)
    if (try_writer(o, best[i], buffers)) return true;
  return complain("cannot start a writer: %s", strerror(errno));
}

/* Begins a packed file: writes its header at once. */
static bool begin_packed(struct output *o, const struct recorder_options *options) {
  uint8_t header[EVENTRING_PACKED_HEADER_BYTES];
  if (!options->zstd_level) return true;
  o->packer = packer_open(options->zstd_level, options->zstd_threads);
  if (!o->packer) return complain("cannot compress: %s", strerror(errno));
  eventring_packed_header(header);
  ssize_t written = pwrite(o->fd, header, sizeof header, 0);
  o->packed_bytes = sizeof header;
  int error = written == (ssize_t)sizeof header ? reserve(o, sizeof header)
              : written < 0 ? errno : ENOSPC;
  if (error) complain("cannot write %s: %s", o->path, strerror(error));
  return !error;
}

/* Begins a plain file: allocates the space of its front and first records. */
static bool begin_plain(struct output *o, const struct recorder_options *options) {
  if (options->zstd_level || !o->regular) return true;
  int error = posix_fallocate(o->fd, 0, EVENTRING_FRONT_BYTES + EVENTRING_UNIT_BYTES);
  if (!error) note_end(o, EVENTRING_FRONT_BYTES + EVENTRING_UNIT_BYTES);
  if (error) complain("cannot write %s: %s", o->path, strerror(error));
  return !error;
}

struct output *output_open(const char *path, const struct recorder_options *options,
                           struct recorder_result *result, bool *exists) {
  struct output *o = need_zeroed(1, sizeof *o);
  o->path = need_copy(path);
  o->fd = -1;
  o->oldest = o->newest = NULL;
  o->result = result;
  o->began = now_ns();
  bool made = make_buffer(&o->front, EVENTRING_FRONT_BYTES, options->zstd_level != 0);
  if (!made) complain("no memory for a file");
  if (made && open_file(o, exists) && begin_plain(o, options) && begin_packed(o, options) &&
      choose_writer(o, options->writer, options->buffers))
    return o;
  output_discard(o);
  return NULL;
}

void output_discard(struct output *o) {
  struct stat st;
  bool same = o->fd >= 0 && o->regular && lstat(name_of(o), &st) == 0 &&
              st.st_dev == o->device && st.st_ino == o->inode;
  if (same) unlink(name_of(o));
  output_free(o);
}

void output_free(struct output *o) {
  if (!o) return;
  packer_close(o->packer);
  writer_close(o->writer);
  if (o->fd >= 0) close(o->fd);
  free_buffer_bytes(&o->front, EVENTRING_FRONT_BYTES);
  eventring_saver_close(o->saver);
  free(o->partial);
  free(o->path);
  free(o);
}
