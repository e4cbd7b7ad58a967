/* SPDX-License-Identifier: MIT */
/* footprint.c: writes what the memory of a domain is used for (eventring/footprint.h).
 *
 * A slot has two blocks, claimed when its owner first writes. They are written in turns:
 * the older one is rewritten, by the steps W1 to W4 of lane.c, and sealed, so that the
 * newer one is whole whenever the process dies. The next owner of the slot goes on with
 * these blocks. */
#include "eventring/footprint.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/text.h"
#include "producer/domains.h"
#include "producer/lock.h"
#include "producer/replace.h"

enum { BUDGET = 2 * EVENTRING_MAX_DOMAINS };

/* ---- Figures of the system --------------------------------------------------------- */

/* Reads fields 2 and 3 of /proc/self/statm, in pages. */
static bool read_statm(uint64_t *resident, uint64_t *shared) {
  char text[128], *at = text;
  int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
  if (fd >= 0) close(fd);
  if (n <= 0) return false;
  text[n] = '\0';
  strtoull(at, &at, 10);
  *resident = strtoull(at, &at, 10);
  *shared = strtoull(at, &at, 10);
  return *resident > 0;
}

#ifdef __GLIBC__ /* (nested: without glibc, the next line would be a syntax error) */
#if __GLIBC_PREREQ(2, 33)
#define HAS_MALLINFO2
#endif
#endif

/* Asks the C library for the amounts of its heap. The numbers are kept until any domain
   asks again; they may be of two moments. */
static void ask_malloc(struct evr_footprints *all) {
#ifdef HAS_MALLINFO2
  struct mallinfo2 m = mallinfo2();
  const uint64_t amounts[3] = {m.uordblks, m.fordblks, m.hblkhd};
  for (int i = 0; i < 3; i++) __atomic_store_n(&all->malloc[i], amounts[i], __ATOMIC_RELAXED);
  /* release: pairs with the acquire load of malloc_asked in add_system */
  __atomic_store_n(&all->malloc_asked, 1, __ATOMIC_RELEASE);
#else
  (void)all;
#endif
}

static void add_system(struct evr_footprints *all, struct format_footprint *f, unsigned flags) {
  uint64_t resident, shared, page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t *const amounts[3] = {&f->malloc_used, &f->malloc_free, &f->malloc_mapped};
  f->resident_bytes = f->shared_bytes = UINT64_MAX;
  if (read_statm(&resident, &shared)) {
    f->resident_bytes = resident * page;
    f->shared_bytes = shared * page;
  }
  if (flags & EVENTRING_FOOTPRINT_SYSTEM) ask_malloc(all);
  /* acquire: pairs with the release in ask_malloc: if the flag is seen, so are the
     amounts */
  bool asked = __atomic_load_n(&all->malloc_asked, __ATOMIC_ACQUIRE);
  for (int i = 0; i < 3; i++)
    *amounts[i] = asked ? __atomic_load_n(&all->malloc[i], __ATOMIC_RELAXED) : UINT64_MAX;
}

/* ---- The block --------------------------------------------------------------------- */

struct image {
  uint64_t words[FORMAT_BLOCK_WORDS];
  uint32_t end;
};

static bool is_text(const char *text, size_t size, size_t most) {
  return size <= most && evr_text_check(text, size) == EVR_TEXT_OK;
}

static int add_row(struct image *image, const struct eventring_footprint_row *row,
                   uint32_t number) {
  size_t name = row->name ? strlen(row->name) : 0, doc = row->doc ? strlen(row->doc) : 0;
  if (!name || !is_text(row->name, name, EVENTRING_MAX_FOOTPRINT_NAME) ||
      !is_text(doc ? row->doc : "", doc, EVENTRING_MAX_FOOTPRINT_DOC) ||
      row->resident > row->reserved || (unsigned)row->of > EVENTRING_FOOTPRINT_PROCESS ||
      (unsigned)row->in > EVENTRING_FOOTPRINT_MALLOC)
    return EVENTRING_E_ARGUMENT;
  unsigned words = sizeof(struct format_footprint_row) / 8 + format_text_words(name + doc);
  if (words > FORMAT_BLOCK_WORDS - image->end) return EVENTRING_E_FULL;
  const struct format_footprint_row r = {
      .first = format_record(words, FORMAT_FOOTPRINT_ROW, number),
      .resident_bytes = row->resident, .reserved_bytes = row->reserved,
      .of = (uint8_t)row->of, .in = (uint8_t)row->in, .name_bytes = (uint16_t)name,
      .doc_bytes = (uint16_t)doc};
  char *to = (char *)(image->words + image->end);
  memcpy(to, &r, sizeof r);
  memcpy(to + sizeof r, row->name, name);
  if (doc) memcpy(to + sizeof r + name, row->doc, doc);
  image->end += words;
  return EVENTRING_OK;
}

static int make_image(struct image *image, const struct evr_domain *d,
                      const struct eventring_footprint_row *rows, size_t count,
                      unsigned flags) {
  struct format_block *b = (struct format_block *)image->words;
  struct format_footprint f = {
      .first = format_record(sizeof f / 8, FORMAT_FOOTPRINT, (uint32_t)count),
      .slot = (uint32_t)d->slot, .incarnation = d->lanes.incarnation,
      .ticks = evr_clock_ticks(d->recording->clock),
      .flags = flags & EVENTRING_FOOTPRINT_MEASURED};
  int status = EVENTRING_OK;
  memset(image, 0, sizeof *image);
  b->kind = FORMAT_FOOTPRINTS;
  b->domain = (uint16_t)d->slot;
  b->incarnation = d->lanes.incarnation;
  add_system(&d->recording->footprints, &f, flags);
  memcpy(image->words + FORMAT_BLOCK_HEADER_WORDS, &f, sizeof f);
  image->end = FORMAT_BLOCK_HEADER_WORDS + sizeof f / 8;
  for (size_t i = 0; status == EVENTRING_OK && i < count; i++)
    status = add_row(image, &rows[i], (uint32_t)i);
  return status;
}

static bool claim_blocks(struct evr_recording *r, struct format_block **block) {
  struct evr_footprints *all = &r->footprints;
  evr_lock();
  if (all->claimed + 2 <= BUDGET) {
    block[0] = r->records.claim(r->records.owner, FORMAT_FOOTPRINTS);
    block[1] = block[0] ? r->records.claim(r->records.owner, FORMAT_FOOTPRINTS) : NULL;
    all->claimed += (block[0] != NULL) + (block[1] != NULL);
    /* release: pairs with the acquire fence of readers in read_status
       (reader/metadata.c), which then look for the blocks that were claimed */
    __atomic_store_n(&evr_status(r)->kind[FORMAT_FOOTPRINTS].records, all->claimed,
                     __ATOMIC_RELEASE);
  }
  evr_unlock();
  if (block[1]) return true;
  block[0] = NULL;
  return false;
}

static int write_rows(struct evr_domain *d, const struct eventring_footprint_row *rows,
                      size_t count, unsigned flags) {
  struct evr_recording *r = d->recording;
  struct evr_footprints *all = &r->footprints;
  struct image image;
  int status = make_image(&image, d, rows, count, flags);
  if (status != EVENTRING_OK) return status;
  if (!all->slot[d->slot].block[0] && !claim_blocks(r, all->slot[d->slot].block))
    return EVENTRING_E_FULL;
  unsigned turn = all->slot[d->slot].next;
  uint64_t generation = __atomic_add_fetch(&all->generation, 1, __ATOMIC_RELAXED);
  evr_block_replace(all->slot[d->slot].block[turn], image.words, image.end, generation);
  all->slot[d->slot].next = !turn;
  return EVENTRING_OK;
}

int eventring_footprint_write(eventring_domain *domain,
                              const struct eventring_footprint_row *rows, size_t count,
                              unsigned flags) {
  struct evr_domain *d = (struct evr_domain *)domain;
  int saved = errno, status = EVENTRING_E_STATE;
  if (count > UINT16_MAX || (count && !rows)) return EVENTRING_E_ARGUMENT;
  /* acquire: pairs with the store in request_attention_locked (domains.c); the end itself
     is seen under the mutex */
  if (d && !evr_domain_is_inert(d) && d->recording && !evr_domain_is_raw_child(d->recording) &&
      !__atomic_load_n(&d->lanes.attention, __ATOMIC_ACQUIRE))
    status = write_rows(d, rows, count, flags);
  errno = saved;
  return status;
}

/* ---- The library's own ------------------------------------------------------------- */

static void add_own(struct eventring_pages *pages, const void *memory, size_t size,
                    uint64_t *resident, uint64_t *reserved) {
  *resident += eventring_pages_resident(pages, memory, size);
  *reserved += size;
}

int eventring_footprint_own(eventring_domain *domain, struct eventring_pages *pages,
                            struct eventring_footprint_own *own) {
  struct evr_domain *d = (struct evr_domain *)domain;
  *own = (struct eventring_footprint_own){0, 0, 0, 0};
  if (!d || evr_domain_is_inert(d) || !d->recording ||
      /* acquire: as in eventring_footprint_write */
      __atomic_load_n(&d->lanes.attention, __ATOMIC_ACQUIRE))
    return EVENTRING_E_STATE;
  add_own(pages, d->recording, sizeof *d->recording, &own->process_resident,
          &own->process_reserved);
  for (unsigned i = 0; i < EVENTRING_RINGS; i++)
    if (d->lanes.writer[i])
      add_own(pages, d->lanes.writer[i], sizeof *d->lanes.writer[i], &own->domain_resident,
              &own->domain_reserved);
  return EVENTRING_OK;
}
