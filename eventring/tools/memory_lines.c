/* SPDX-License-Identifier: MIT */
/* memory_lines.c: makes the lines of `eventring memory`.
 *
 *   of domains, of the process   rows of the host (eventring/footprint.h)
 *   of the system                files, stack, arenas of malloc (smaps.c)
 *
 * Rows that lie in the heap of the C library are parts of it. The whole heap is the
 * arenas and what malloc has mapped. It consists of these rows, of free memory, and of
 * the rest, which other code uses. Mappings that malloc has made for single allocations
 * look like other anonymous memory; the C library reports their sum. If rows of the host
 * are not wholly resident, the heap lacks the difference, too. */
#include "memory_lines.h"
#include "eventring/tools.h"

#include <stdlib.h>
#include <string.h>

#include "smaps.h"

#define UNKNOWN UINT64_MAX

const char *const memory_source_names[] = {[MEMORY_MAPPED] = "mapped", [MEMORY_MALLOC] = "malloc",
                                           [MEMORY_SYSTEM] = "system"};

static struct memory_line *new_line(struct memory_lines *m) {
  struct memory_line *line = NEED_NEXT(m->lines, m->count);
  memset(line, 0, sizeof *line);
  return line;
}

static void copy_text(char *to, size_t room, const char *from) {
  snprintf(to, room, "%s", from);
}

static void fill_line(struct memory_line *line, const struct eventring_footprint_row *row,
                      int domain) {
  line->domain = domain;
  line->source = row->in == EVENTRING_FOOTPRINT_MALLOC ? MEMORY_MALLOC : MEMORY_MAPPED;
  copy_text(line->name, sizeof line->name, row->name);
  copy_text(line->doc, sizeof line->doc, row->doc);
  line->resident = row->resident;
  line->reserved = row->reserved;
}

static void add_system(struct memory_lines *m, const char *name, const char *doc,
                       uint64_t resident, uint64_t reserved) {
  struct memory_line *line = new_line(m);
  line->domain = -1;
  line->source = MEMORY_SYSTEM;
  copy_text(line->name, sizeof line->name, name);
  copy_text(line->doc, sizeof line->doc, doc);
  line->resident = resident;
  line->reserved = reserved > resident ? reserved : resident;
}

/* ---- what is recorded --------------------------------------------------------- */

struct reading_rows {
  struct memory_lines *m;
  uint64_t process_ns; /* time of the rows of the process that were taken */
};

static void drop_process_rows(struct memory_lines *m) {
  size_t kept = 0;
  for (size_t i = 0; i < m->count; i++)
    if (m->lines[i].domain >= 0) m->lines[kept++] = m->lines[i];
  m->count = kept;
}

static bool has_process_rows(const struct eventring_footprint *f,
                             const struct eventring_footprint_row *rows) {
  for (size_t i = 0; i < f->rows; i++)
    if (rows[i].of == EVENTRING_FOOTPRINT_PROCESS) return true;
  return false;
}

/* Takes the figures of the process: the latest figures of any domain, even of a domain
   that has ended. */
static void take_process(struct reading_rows *r, const struct eventring_footprint *f,
                         const struct eventring_footprint_row *rows) {
  struct memory_lines *m = r->m;
  if (f->ns >= m->ns) {
    m->ns = f->ns;
    m->resident = f->resident;
    m->reserved = f->shared; /* until the sums are known */
  }
  if (f->malloc_used != UNKNOWN && f->ns >= m->malloc_ns) {
    m->malloc_ns = f->ns;
    m->malloc_used = f->malloc_used;
    m->malloc_free = f->malloc_free;
    m->malloc_mapped = f->malloc_mapped;
  }
  if (!has_process_rows(f, rows) || f->ns < r->process_ns) return;
  drop_process_rows(m);
  r->process_ns = f->ns;
  for (size_t i = 0; i < f->rows; i++)
    if (rows[i].of == EVENTRING_FOOTPRINT_PROCESS) fill_line(new_line(m), &rows[i], -1);
}

static struct memory_domain *domain_of(struct memory_lines *m,
                                       const struct eventring_footprint *f) {
  for (size_t i = 0; i < m->domain_count; i++)
    if (m->domains[i].slot == f->domain && m->domains[i].incarnation == f->incarnation)
      return &m->domains[i];
  return NULL;
}

static int take_footprint(void *context, const struct eventring_footprint *f,
                          const struct eventring_footprint_row *rows) {
  struct reading_rows *r = context;
  take_process(r, f, rows);
  struct memory_domain *d = domain_of(r->m, f);
  if (!d) return 0; /* the domain has ended: what it had is free */
  d->said = true;
  d->measured = f->measured;
  d->ns = f->ns;
  for (size_t i = 0; i < f->rows; i++) {
    if (rows[i].of != EVENTRING_FOOTPRINT_DOMAIN) continue;
    fill_line(new_line(r->m), &rows[i], (int)f->domain);
    d->resident += rows[i].resident;
  }
  return 0;
}

static void add_domain(struct memory_lines *m, const struct eventring_domain_info *info,
                       const struct ask *ask) {
  struct memory_domain *d = NEED_NEXT(m->domains, m->domain_count);
  *d = (struct memory_domain){.slot = info->slot, .incarnation = info->incarnation,
                              .answered = ask && ask->answers[info->slot]};
  copy_text(d->name, sizeof d->name, info->name);
}

/* Lists the domains that live, or lived when the process died. If the process ended in
   order, lists the domain that stopped last. */
static void list_domains(struct memory_lines *m, eventring_cursor *cursor,
                         const struct ask *ask) {
  struct eventring_domain_info info = {.size = sizeof info}, last = {.size = sizeof last};
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    if (eventring_cursor_domain(cursor, slot, &info) != 0) continue;
    if (info.alive) add_domain(m, &info, ask);
    else if (info.stop_ns > last.stop_ns) last = info;
  }
  if (!m->domain_count && last.stop_ns) add_domain(m, &last, ask);
}

int memory_lines_read(struct memory_lines *m, eventring_cursor *cursor, const struct ask *ask) {
  struct reading_rows r = {.m = m};
  *m = (struct memory_lines){.resident = UNKNOWN, .reserved = UNKNOWN, .malloc_used = UNKNOWN,
                             .malloc_free = UNKNOWN, .malloc_mapped = UNKNOWN};
  list_domains(m, cursor, ask);
  return eventring_cursor_footprints(cursor, take_footprint, &r);
}

/* ---- sums --------------------------------------------------------------------- */

static uint64_t less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/* Returns the bytes of the host's rows in the heap of the C library, and sets *absent to
   those that are not resident. */
static uint64_t known_malloc(const struct memory_lines *m, uint64_t *absent) {
  uint64_t known = 0;
  *absent = 0;
  for (size_t i = 0; i < m->count; i++) {
    if (m->lines[i].source != MEMORY_MALLOC) continue;
    known += m->lines[i].resident;
    *absent += m->lines[i].reserved - m->lines[i].resident;
  }
  return known;
}

/* Adds the lines of the heap of the C library, which has `all` bytes, of which `unused`
   are in no allocation. */
static void add_malloc(struct memory_lines *m, uint64_t all, uint64_t unused) {
  uint64_t absent, known = known_malloc(m, &absent);
  if (unused > all) unused = all;
  add_system(m, "C library's heap, other", "what malloc gave to others: libraries, the recorder",
             less(all - unused, known), 0);
  add_system(m, "C library's heap, free", "freed and not given back to the system", unused, 0);
}

static void add_up(struct memory_lines *m) {
  m->attributed = 0;
  for (size_t i = 0; i < m->count; i++) m->attributed += m->lines[i].resident;
}

bool memory_lines_add_live(struct memory_lines *m, pid_t pid, const char *recording) {
  static const struct {
    enum smaps_kind kind;
    const char *name, *doc;
  } lines[] = {
      {SMAPS_PROGRAM, "program and libraries", "their code and data"},
      {SMAPS_RECORDING, "recording", "its rings and records, in the file"},
      {SMAPS_FILES, "other files", "that are mapped, and shared memory"},
      {SMAPS_STACK, "main thread's stack", "of C functions"}};
  struct smaps smaps;
  if (!smaps_read(&smaps, pid, recording)) return false;
  uint64_t absent, arenas = smaps.resident[SMAPS_MALLOC], mapped = 0, unused = 0;
  known_malloc(m, &absent);
  if (m->malloc_used != UNKNOWN) {
    mapped = less(m->malloc_mapped, absent);
    unused = less(arenas, m->malloc_used);
  }
  add_malloc(m, arenas + mapped, unused);
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
    add_system(m, lines[i].name, lines[i].doc, smaps.resident[lines[i].kind],
               smaps.reserved[lines[i].kind]);
  m->from_kernel = true;
  m->resident = smaps.all;
  m->reserved = smaps.all_reserved;
  m->swapped = smaps.swapped;
  add_up(m);
  return true;
}

void memory_lines_add_recorded(struct memory_lines *m) {
  uint64_t shared = m->reserved, absent;
  m->reserved = UNKNOWN;
  if (m->malloc_used != UNKNOWN) {
    known_malloc(m, &absent);
    add_malloc(m, m->malloc_used + m->malloc_free + less(m->malloc_mapped, absent),
               m->malloc_free);
  }
  if (shared != UNKNOWN)
    add_system(m, "mapped files", "program, libraries, recording, as far as not changed", shared,
               0);
  add_up(m);
}

void memory_lines_free(struct memory_lines *m) {
  free(m->lines);
  free(m->domains);
}
