/* snapshot.c: copying a recording.
 *
 * The copy has the layout of the original and says FORMAT_SNAPSHOT. First the
 * blocks are copied, each as a reader sees it: all of it or nothing (a hole,
 * whose sequence reads 0: not valid). The head of each ring is what it was when
 * its copying began. Then come catalogue, control log and clock: what the blocks
 * refer to was there before them. Domains that appear in the meantime are not in
 * the copy. */
#include "reader/cursor.h"
#include "reader/locate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct copy {
  struct evr_metadata *meta;
  int fd;
  const char *path;
  struct eventring_error *error;
};

static int write_part(struct copy *copy, uint64_t offset, const void *from, size_t size) {
  ssize_t done;
  do done = pwrite(copy->fd, from, size, (off_t)offset);
  while (done < 0 && errno == EINTR);
  if (done == (ssize_t)size) return EVENTRING_OK;
  int cause = done < 0 ? errno : ENOSPC;
  return evr_fail(copy->error, evr_code_of_errno(cause), cause, "cannot write %.300s",
                  copy->path);
}

/* A block that was being filled is complete in the copy as far as it went. */
static int write_block(struct copy *copy, uint64_t offset, struct evr_block *block) {
  struct format_block *h = (struct format_block *)block->words;
  h->committed = block->have;
  memset(block->words + block->have, 0, (FORMAT_BLOCK_WORDS - block->have) * 8);
  return write_part(copy, offset, block->words, FORMAT_BLOCK_BYTES);
}

static int copy_ring(struct copy *copy, unsigned slot, unsigned ring,
                     uint64_t *newest) {
  struct evr_metadata *meta = copy->meta;
  uint64_t head = evr_metadata_head(meta, slot, ring);
  uint64_t from = head >= meta->blocks ? head - meta->blocks + 1 : 1;
  struct evr_block block;
  *newest = 0;
  for (; from <= head && head; from++) {
    uint64_t offset = evr_metadata_block_offset(meta, slot, ring, from);
    enum evr_read read = evr_block_copy(&meta->source, offset, from, slot, ring,
                                          from < head, &block, copy->error);
    if (read == EVR_READ_FAILED) return copy->error->code;
    if (read != EVR_READ_OK) continue;
    int status = write_block(copy, offset, &block);
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
      status = evr_metadata_domain(copy->meta, i, &d, copy->error);
    if (status != EVENTRING_OK) break;
    memcpy(d.head, head, sizeof head);
    status = write_part(copy, FORMAT_DOMAINS_OFFSET + i * sizeof d, &d, sizeof d);
  }
  return status;
}

static int copy_catalogue(struct copy *copy) {
  struct format_catalogue_block block;
  unsigned count = copy->meta->definitions;
  int status = EVENTRING_OK;
  for (unsigned i = 0; status == EVENTRING_OK && i < count;
       i += FORMAT_DEFINITIONS_PER_BLOCK) {
    uint64_t offset = FORMAT_CATALOGUE_OFFSET +
                      i / FORMAT_DEFINITIONS_PER_BLOCK * (uint64_t)sizeof block;
    status = evr_source_read(&copy->meta->source, offset, &block, sizeof block,
                             copy->error);
    if (status == EVENTRING_OK) status = write_part(copy, offset, &block, sizeof block);
  }
  return status;
}

static int copy_front(struct copy *copy, unsigned laid_out) {
  struct evr_metadata *meta = copy->meta;
  struct format_status s = meta->status;
  s.laid_out = laid_out;
  s.definitions = meta->definitions;
  int status = write_part(copy, FORMAT_STATUS_OFFSET, &s, sizeof s);
  if (status == EVENTRING_OK)
    status = write_part(copy, FORMAT_CONTROL_OFFSET, &meta->control, sizeof meta->control);
  struct format_header h = meta->header;
  h.layout = FORMAT_SNAPSHOT;
  return status == EVENTRING_OK ? write_part(copy, 0, &h, sizeof h) : status;
}

static int copy_all(struct copy *copy) {
  struct evr_metadata *meta = copy->meta;
  int status = evr_metadata_refresh(meta, copy->error);
  unsigned laid_out = meta->status.laid_out;
  uint64_t size = FORMAT_RINGS_OFFSET + laid_out * meta->header.domain_stride;
  if (status == EVENTRING_OK && ftruncate(copy->fd, (off_t)size) != 0)
    status = evr_fail(copy->error, evr_code_of_errno(errno), errno,
                      "cannot write %.300s", copy->path);
  if (status == EVENTRING_OK) status = copy_domains(copy, laid_out);
  if (status == EVENTRING_OK) status = evr_metadata_catch_up(meta, copy->error);
  if (status == EVENTRING_OK) status = copy_catalogue(copy);
  return status == EVENTRING_OK ? copy_front(copy, laid_out) : status;
}

int eventring_snapshot(eventring_cursor *c, const char *path,
                       struct eventring_error *error) {
  struct eventring_error own;
  if (!c || !path) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no cursor or path");
  struct copy copy = {.meta = &c->meta, .path = path, .error = error ? error : &own};
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
