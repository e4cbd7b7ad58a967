/* SPDX-License-Identifier: MIT */
/* pages.c: which pages take memory (eventring/footprint.h).
 *
 * The kernel counts a page as resident when it has memory of its own. A page that was
 * read and never written is mapped to the page of zeros that all processes share, and
 * does not count, but mincore reports it as present. So /proc/self/pagemap is used:
 *
 *   scan      a request of Linux 6.7 names runs of pages that are present and not that
 *             page;
 *   entries   before Linux 6.7, a word for each page says whether it is present, whether
 *             nobody else has it mapped, and whether it belongs to a file. The last two
 *             statements are false for the page of zeros, and for a page that a fork left
 *             shared with a child: only their contents differ. So a shared page that
 *             holds only zeros counts as absent.
 *
 * Contents are read from /proc/self/mem, so that a page that may not be read, or is gone,
 * causes no fault. Without /proc, only mincore remains. */
#include "producer/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "eventring/footprint.h"

enum { AT_ONCE = 1024, RUNS = 128 };

/* ---- scan -------------------------------------------------------------------------- */

/* as in <linux/fs.h> of Linux 6.7 */
struct scan_request {
  uint64_t size, flags, start, end, walk_end, runs, run_count, most_pages;
  uint64_t inverted, all_of, any_of, returned;
};
struct scan_run {
  uint64_t start, end, categories;
};
#define SCAN_PAGES _IOWR('f', 16, struct scan_request)
#define IS_PRESENT (UINT64_C(1) << 3)
#define IS_ZERO_PAGE (UINT64_C(1) << 5)

static bool scan(const struct eventring_pages *pages, uintptr_t first, size_t count,
                 unsigned char *there) {
  struct scan_run runs[RUNS];
  struct scan_request r = {.size = sizeof r, .start = first, .end = first + count * pages->size,
                           .runs = (uintptr_t)runs, .run_count = RUNS,
                           .inverted = IS_ZERO_PAGE, .all_of = IS_PRESENT | IS_ZERO_PAGE,
                           .returned = IS_PRESENT};
  memset(there, 0, count);
  while (r.start < r.end) {
    int found = ioctl(pages->pagemap, SCAN_PAGES, &r);
    if (found < 0 || found > RUNS || r.walk_end <= r.start) return false;
    for (int i = 0; i < found; i++)
      memset(there + (runs[i].start - first) / pages->size, 1,
             (runs[i].end - runs[i].start) / pages->size);
    r.start = r.walk_end;
  }
  return true;
}

/* ---- entries ----------------------------------------------------------------------- */

#define ENTRY_PRESENT (UINT64_C(1) << 63)
#define ENTRY_FILE (UINT64_C(1) << 61) /* or shared memory */
#define ENTRY_EXCLUSIVE (UINT64_C(1) << 56)

static bool is_zero(const unsigned char *bytes, size_t count) {
  return !bytes[0] && memcmp(bytes, bytes + 1, count - 1) == 0;
}

/* Tells whether a page holds only zeros. For most other pages, the first bytes are enough
   to tell. */
static bool holds_zeros(const struct eventring_pages *pages, uintptr_t page) {
  unsigned char bytes[4096];
  size_t some = 64;
  for (size_t at = 0; at < pages->size; at += some, some = sizeof bytes) {
    if (some > pages->size - at) some = pages->size - at;
    if (pread(pages->memory, bytes, some, (off_t)(page + at)) != (ssize_t)some ||
        !is_zero(bytes, some))
      return false;
  }
  return true;
}

static bool is_there(const struct eventring_pages *pages, uintptr_t page, uint64_t entry) {
  if (!(entry & ENTRY_PRESENT)) return false;
  return entry & (ENTRY_FILE | ENTRY_EXCLUSIVE) || !holds_zeros(pages, page);
}

static bool read_entries(const struct eventring_pages *pages, uintptr_t first, size_t count,
                         unsigned char *there) {
  uint64_t entries[AT_ONCE];
  ssize_t wanted = (ssize_t)(count * sizeof *entries);
  off_t at = (off_t)(first / pages->size * sizeof *entries);
  if (pread(pages->pagemap, entries, (size_t)wanted, at) != wanted) return false;
  for (size_t i = 0; i < count; i++)
    there[i] = is_there(pages, first + i * pages->size, entries[i]);
  return true;
}

/* ---- which of them ----------------------------------------------------------------- */

static bool ask_mincore(const struct eventring_pages *pages, uintptr_t first, size_t count,
                        unsigned char *there) {
  if (mincore((void *)first, count * pages->size, there) != 0) return false;
  for (size_t i = 0; i < count; i++) there[i] &= 1;
  return true;
}

static bool ask_in_one_way(const struct eventring_pages *pages, uintptr_t first, size_t count,
                           unsigned char *there) {
  switch ((enum evr_pages_how)pages->how) {
    case EVR_PAGES_SCAN: return scan(pages, first, count, there);
    case EVR_PAGES_ENTRIES: return read_entries(pages, first, count, there);
    default: return ask_mincore(pages, first, count, there);
  }
}

/* Determines which of at most AT_ONCE pages take memory. A page that cannot be examined
   counts as taking memory. */
static void ask(struct eventring_pages *pages, uintptr_t first, size_t count,
                unsigned char *there) {
  while (!ask_in_one_way(pages, first, count, there)) {
    if (pages->how == EVR_PAGES_MINCORE) {
      memset(there, 1, count);
      return;
    }
    pages->how++;
  }
}

static int open_own(const char *path) { return open(path, O_RDONLY | O_CLOEXEC); }

void eventring_pages_open(struct eventring_pages *pages) {
  int saved = errno;
  pages->size = (size_t)sysconf(_SC_PAGESIZE);
  pages->pagemap = open_own("/proc/self/pagemap");
  pages->memory = open_own("/proc/self/mem");
  pages->how = pages->pagemap >= 0 ? EVR_PAGES_SCAN : EVR_PAGES_MINCORE;
  errno = saved;
}

void eventring_pages_close(struct eventring_pages *pages) {
  int saved = errno;
  if (pages->pagemap >= 0) close(pages->pagemap);
  if (pages->memory >= 0) close(pages->memory);
  pages->pagemap = pages->memory = -1;
  errno = saved;
}

void eventring_pages_there(struct eventring_pages *pages, const void *first, size_t count,
                           unsigned char *there) {
  int saved = errno;
  uintptr_t page = (uintptr_t)first;
  for (size_t done = 0, some; done < count; done += some) {
    some = count - done < AT_ONCE ? count - done : AT_ONCE;
    ask(pages, page + done * pages->size, some, there + done);
  }
  errno = saved;
}

/* Returns the size of the part of a page that is within [from, end). */
static uint64_t part_of_page(uintptr_t page, size_t page_size, uintptr_t from, uintptr_t end) {
  uintptr_t first = page > from ? page : from;
  uintptr_t last = page + page_size < end ? page + page_size : end;
  return last - first;
}

uint64_t eventring_pages_resident(struct eventring_pages *pages, const void *start, size_t size) {
  const size_t page_size = pages->size;
  uintptr_t from = (uintptr_t)start, end = from + size;
  unsigned char there[AT_ONCE];
  uint64_t resident = 0;
  int saved = errno;
  if (!size || end < from) return 0;
  for (uintptr_t page = from & ~(page_size - 1); page < end;) {
    size_t count = (end - page + page_size - 1) / page_size;
    if (count > AT_ONCE) count = AT_ONCE;
    ask(pages, page, count, there);
    for (size_t i = 0; i < count; i++, page += page_size)
      if (there[i]) resident += part_of_page(page, page_size, from, end);
  }
  errno = saved;
  return resident;
}
