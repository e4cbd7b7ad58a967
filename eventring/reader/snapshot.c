/* snapshot.c: copying a recording, removing a dead one. */
#include "reader/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Snapshot ---------------------------------------------------------------------------
 *
 * The copy has the layout of the original and says FORMAT_SNAPSHOT. First the
 * blocks are copied, each as a reader sees it: all of it or nothing (a hole,
 * whose sequence reads 0: not valid). The head of each ring is what it was when
 * its copying began. Then come catalogue, control log and clock: what the blocks
 * refer to was there before them. Domains that appear in the meantime are not in
 * the copy. */

struct copy {
  struct evr_trace *trace;
  int fd;
  const char *path;
  struct eventring_error *error;
};

static int put(struct copy *copy, uint64_t offset, const void *from, size_t size) {
  ssize_t done;
  do done = pwrite(copy->fd, from, size, (off_t)offset);
  while (done < 0 && errno == EINTR);
  if (done == (ssize_t)size) return EVENTRING_OK;
  int cause = done < 0 ? errno : ENOSPC;
  return evr_fail(copy->error, evr_code_of_errno(cause), cause, "cannot write %.300s",
                  copy->path);
}

/* A block that was being filled is complete in the copy as far as it went. */
static int put_block(struct copy *copy, uint64_t offset, struct evr_block *block) {
  struct format_block *h = (struct format_block *)block->words;
  h->committed = block->have;
  memset(block->words + block->have, 0, (FORMAT_BLOCK_WORDS - block->have) * 8);
  return put(copy, offset, block->words, FORMAT_BLOCK_BYTES);
}

static int copy_ring(struct copy *copy, unsigned slot, unsigned ring,
                     uint64_t *newest) {
  struct evr_trace *trace = copy->trace;
  uint64_t head = evr_trace_head(trace, slot, ring);
  uint64_t from = head >= trace->blocks ? head - trace->blocks + 1 : 1;
  struct evr_block block;
  *newest = 0;
  for (; from <= head && head; from++) {
    uint64_t offset = evr_trace_block_offset(trace, slot, ring, from);
    enum evr_read read = evr_source_block(&trace->source, offset, from, slot, ring,
                                          from < head, &block, copy->error);
    if (read == EVR_READ_FAILED) return copy->error->code;
    if (read != EVR_READ_OK) continue;
    int status = put_block(copy, offset, &block);
    if (status != EVENTRING_OK) return status;
    *newest = from;
  }
  return EVENTRING_OK;
}

static int copy_domains(struct copy *copy, unsigned laid_out) {
  int status = EVENTRING_OK;
  for (unsigned i = 0; status == EVENTRING_OK && i < laid_out; i++) {
    uint64_t head[EVENTRING_RINGS];
    struct format_domain d;
    status = copy_ring(copy, i, EVENTRING_RUNTIME, &head[0]);
    if (status == EVENTRING_OK) status = copy_ring(copy, i, EVENTRING_USER, &head[1]);
    if (status == EVENTRING_OK)
      status = evr_trace_domain(copy->trace, i, &d, copy->error);
    if (status != EVENTRING_OK) break;
    memcpy(d.head, head, sizeof head);
    status = put(copy, FORMAT_DOMAINS_OFFSET + i * sizeof d, &d, sizeof d);
  }
  return status;
}

static int copy_catalogue(struct copy *copy) {
  struct format_catalogue_block block;
  unsigned count = copy->trace->definitions;
  int status = EVENTRING_OK;
  for (unsigned i = 0; status == EVENTRING_OK && i < count;
       i += FORMAT_DEFINITIONS_PER_BLOCK) {
    uint64_t offset = FORMAT_CATALOGUE_OFFSET +
                      i / FORMAT_DEFINITIONS_PER_BLOCK * (uint64_t)sizeof block;
    status = evr_source_read(&copy->trace->source, offset, &block, sizeof block,
                             copy->error);
    if (status == EVENTRING_OK) status = put(copy, offset, &block, sizeof block);
  }
  return status;
}

static int copy_front(struct copy *copy, unsigned laid_out) {
  struct evr_trace *trace = copy->trace;
  struct format_status s = trace->status;
  s.laid_out = laid_out;
  s.definitions = trace->definitions;
  int status = put(copy, FORMAT_STATUS_OFFSET, &s, sizeof s);
  if (status == EVENTRING_OK)
    status = put(copy, FORMAT_CONTROL_OFFSET, &trace->control, sizeof trace->control);
  struct format_header h = trace->header;
  h.layout = FORMAT_SNAPSHOT;
  return status == EVENTRING_OK ? put(copy, 0, &h, sizeof h) : status;
}

static int copy_all(struct copy *copy) {
  struct evr_trace *trace = copy->trace;
  int status = evr_trace_refresh(trace, copy->error);
  unsigned laid_out = trace->status.laid_out;
  uint64_t size = FORMAT_RINGS_OFFSET + laid_out * trace->header.domain_stride;
  if (status == EVENTRING_OK && ftruncate(copy->fd, (off_t)size) != 0)
    status = evr_fail(copy->error, evr_code_of_errno(errno), errno,
                      "cannot write %.300s", copy->path);
  if (status == EVENTRING_OK) status = copy_domains(copy, laid_out);
  if (status == EVENTRING_OK) status = evr_trace_catch_up(trace, copy->error);
  if (status == EVENTRING_OK) status = copy_catalogue(copy);
  return status == EVENTRING_OK ? copy_front(copy, laid_out) : status;
}

int eventring_snapshot(eventring_cursor *c, const char *path,
                       struct eventring_error *error) {
  struct eventring_error own;
  if (!c || !path) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no cursor or path");
  struct copy copy = {.trace = &c->trace, .path = path, .error = error ? error : &own};
  copy.fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (copy.fd < 0)
    return evr_fail(error, evr_code_of_errno(errno), errno, "cannot create %.300s",
                    path);
  int status = copy_all(&copy);
  if (close(copy.fd) != 0 && status == EVENTRING_OK)
    status = evr_fail(error, evr_code_of_errno(errno), errno, "cannot write %.300s",
                      path);
  if (status != EVENTRING_OK) unlink(path);
  return status;
}

/* ---- Removing a dead recording ---------------------------------------------------------------
 *
 * What is looked at is what goes, whatever others rename meanwhile: the directory is held
 * open, the file is opened in it, everything is asked of that descriptor, and its name
 * is removed in the same directory if it still means the same file.
 *
 * The lock is the readers' kind. A live producer's excludes it, so having it means that there
 * is none; and those who ask meanwhile whether one is there do not take us for one.
 * Only a file with our magic is locked: a producer writes that after it has locked its
 * file, and must find that free before. */

struct removal {
  const char *path;
  const char *name; /* in the directory */
  int directory, fd;
  unsigned flags;
  struct eventring_error *error;
};

enum { KEEP_NOTHING = 1u << 31 }; /* saved copies may go as well */

static int open_directory(struct removal *r) {
  const char *slash = strrchr(r->path, '/');
  char *directory = slash ? strndup(r->path, (size_t)(slash - r->path) + 1) : strdup(".");
  r->name = slash ? slash + 1 : r->path;
  if (!directory) return evr_fail(r->error, EVENTRING_E_MEMORY, 0, "out of memory");
  r->directory = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
  int cause = errno;
  free(directory);
  if (r->directory >= 0) return EVENTRING_OK;
  return evr_fail(r->error, evr_code_of_errno(cause), cause, "%.300s", r->path);
}

static int check_removable(const struct removal *r) {
  struct stat st;
  size_t length = strlen(r->name), suffix = strlen(EVENTRING_SUFFIX);
  if (length <= suffix || strcmp(r->name + length - suffix, EVENTRING_SUFFIX) != 0)
    return evr_fail(r->error, EVENTRING_E_NAME, 0, "%.300s: not named *%s", r->path,
                    EVENTRING_SUFFIX);
  if (fstat(r->fd, &st) != 0 ||
      (st.st_uid != geteuid() && !(r->flags & EVENTRING_REMOVE_ANY_OWNER)))
    return evr_fail(r->error, EVENTRING_E_PERMISSION, 0, "%.300s: another user's file",
                    r->path);
  return EVENTRING_OK;
}

static int check_unwanted(const struct removal *r, const struct format_header *h) {
  uint32_t state = 0;
  if (r->flags & KEEP_NOTHING) return EVENTRING_OK;
  if (h->layout == FORMAT_SNAPSHOT)
    return evr_fail(r->error, EVENTRING_E_STATE, 0, "%.300s: a saved copy", r->path);
  if (!(r->flags & EVENTRING_REMOVE_ENDED) &&
      pread(r->fd, &state, sizeof state, FORMAT_STATUS_OFFSET) == (ssize_t)sizeof state &&
      state == FORMAT_ENDED)
    return evr_fail(r->error, EVENTRING_E_STATE, 0, "%.300s: preserved at an orderly end",
                    r->path);
  return EVENTRING_OK;
}

/* A file without a valid header that is ours by name and magic may go too. */
static int check_dead(const struct removal *r) {
  struct format_header h;
  if (pread(r->fd, &h, sizeof h, 0) != (ssize_t)sizeof h ||
      memcmp(h.magic, FORMAT_MAGIC, sizeof h.magic) != 0)
    return evr_fail(r->error, EVENTRING_E_NOT_EVENTRING, 0,
                    "%.300s: not an eventring file", r->path);
  int cause = evr_lock_out_producer(r->fd);
  bool alive = cause == EAGAIN || cause == EACCES;
  if (!alive) /* (a producer that could not lock its file has left its start time) */
    alive = h.pid > 0 && h.process_start && evr_process_start(h.pid) == h.process_start;
  if (alive)
    return evr_fail(r->error, EVENTRING_E_BUSY, 0, "%.300s: process %d records into it",
                    r->path, (int)h.pid);
  return check_unwanted(r, &h);
}

static int check_same(const struct removal *r) {
  struct stat held, named;
  if (fstat(r->fd, &held) == 0 &&
      fstatat(r->directory, r->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
      held.st_dev == named.st_dev && held.st_ino == named.st_ino)
    return EVENTRING_OK;
  return evr_fail(r->error, EVENTRING_E_NOT_FOUND, 0, "%.300s: was replaced or removed",
                  r->path);
}

static int remove_held(const struct removal *r) {
  int status = check_removable(r);
  if (status == EVENTRING_OK) status = check_dead(r);
  if (status == EVENTRING_OK) status = check_same(r);
  if (status == EVENTRING_OK && unlinkat(r->directory, r->name, 0) != 0)
    status = evr_fail(r->error, evr_code_of_errno(errno), errno, "cannot remove %.300s",
                      r->path);
  return status;
}

static int remove_file(const char *path, unsigned flags, struct eventring_error *error) {
  struct removal r = {.path = path, .flags = flags, .error = error};
  if (!path) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no path");
  int status = open_directory(&r);
  if (status != EVENTRING_OK) return status;
  status = evr_open_regular(r.directory, r.name, path, &r.fd, error);
  if (status == EVENTRING_OK) {
    status = remove_held(&r);
    close(r.fd);
  }
  close(r.directory);
  return status;
}

int eventring_remove_dead(const char *path, struct eventring_error *error) {
  return remove_file(path, KEEP_NOTHING, error);
}

int eventring_remove(const char *path, unsigned flags, struct eventring_error *error) {
  if (flags & ~(EVENTRING_REMOVE_ENDED | EVENTRING_REMOVE_ANY_OWNER))
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "unknown flags");
  return remove_file(path, flags, error);
}
