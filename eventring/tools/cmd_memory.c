/* SPDX-License-Identifier: MIT */
/* cmd_memory.c: `eventring memory`: shows what the memory of a process is used for.
 *
 * The domains of a live process are asked to measure (query.h), and the kernel's list of
 * mappings is read right after that. The difference between the sums is memory whose use
 * is not known, and what the process allocated or freed between the two readings. For a
 * dead process or a copy, the figures that were recorded last are shown. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures.h"
#include "analysis/so_far.h"
#include "memory_lines.h"
#include "shared_views.h"

enum { MOST_DOMAINS_SHOWN = 3, MOST_TABLE = 12 };

struct memory {
  const struct command *self;
  struct view_choice as;
  struct ask_patience patience;
  uint64_t domain; /* UINT64_MAX: all */
  struct reader reader;
  struct ask ask;
  struct eventring_info info;
  struct memory_lines m;
  uint64_t end_ns; /* now, or the last moment known from the recording */
};

/* ---- the lines that are shown ------------------------------------------------- */

static bool is_wanted(const struct memory *c, const struct memory_line *line) {
  return c->domain == UINT64_MAX || (uint64_t)line->domain == c->domain;
}

static int compare_lines(const void *left, const void *right) {
  const struct memory_line *a = left, *b = right;
  bool of_process = a->domain < 0;
  if (of_process != (b->domain < 0)) return of_process ? 1 : -1;
  if (a->domain != b->domain) return a->domain < b->domain ? -1 : 1;
  if (a->resident != b->resident) return a->resident > b->resident ? -1 : 1;
  return strcmp(a->name, b->name);
}

static void sort_lines(struct memory_lines *m) {
  if (m->count) qsort(m->lines, m->count, sizeof *m->lines, compare_lines);
}

static bool are_many(const struct memory *c) {
  return c->m.domain_count > MOST_DOMAINS_SHOWN && c->domain == UINT64_MAX;
}

/* Joins the lines of all domains: one line for each name, with domain 0. */
static void join_domains(struct memory_lines *m) {
  size_t kept = 0;
  for (size_t i = 0; i < m->count; i++) {
    const struct memory_line line = m->lines[i];
    size_t at = 0;
    while (at < kept && (line.domain < 0 || m->lines[at].domain < 0 ||
                         strcmp(m->lines[at].name, line.name) != 0))
      at++;
    if (at == kept) {
      m->lines[kept] = line;
      if (line.domain >= 0) m->lines[kept].domain = 0;
      kept++;
    } else {
      m->lines[at].resident += line.resident;
      m->lines[at].reserved += line.reserved;
    }
  }
  m->count = kept;
}

/* ---- what is shown ------------------------------------------------------------ */

/* Returns how long ago something was measured; none if it was not. */
static struct view_value age_of_moment(const struct memory *c, uint64_t ns) {
  if (!ns) return view_none();
  return view_uint(c->end_ns > ns ? c->end_ns - ns : 0);
}

/* Returns the share in the memory of the process. */
VIEW_GETTER(share, uint64_t) {
  const struct memory *c = to->context;
  uint64_t all = c->m.resident != UINT64_MAX ? c->m.resident : c->m.attributed;
  return view_double(all ? (double)*row / (double)all : 0);
}

VIEW_GETTER(line_source, struct memory_line) {
  return view_text(memory_source_names[row->source]);
}

static VIEW(line_view, struct memory_line,
    {"domain", NULL, VIEW_PLAIN, ROW(domain), .flags = VIEW_NOT_NEGATIVE,
     .help = "null: the row is about the process"},
    {"resident_bytes", "resident", VIEW_BYTES, ROW(resident), .flags = VIEW_DASH_0},
    {NULL, "share", VIEW_SHARE, VIEW_GET(DOUBLE, share),
     .offset = offsetof(struct memory_line, resident)},
    {"reserved_bytes", "?reserved", VIEW_BYTES, ROW(reserved), .flags = VIEW_DASH_0},
    {"name", "<use", VIEW_PLAIN, ROW(name)},
    {"what", "<+", VIEW_PLAIN, ROW(doc)},
    {"in", NULL, VIEW_PLAIN, VIEW_GET(TEXT, line_source), .help = "mapped, malloc or system"})

VIEW_GETTER(domain_age, struct memory_domain) {
  return age_of_moment(to->context, row->said ? row->ns : 0);
}

static bool is_silent(const struct memory *c, const struct memory_domain *d) {
  return !d->answered && c->info.liveness == EVENTRING_LIVE;
}

VIEW_GETTER(domain_state, struct memory_domain) {
  const struct memory *c = to->context;
  if (!is_silent(c, row)) return view_text(NULL);
  ask_why_silent(to->room, &c->ask, row->slot);
  return view_text(to->room);
}

static VIEW(domain_view, struct memory_domain,
    {"resident_bytes", "resident", VIEW_BYTES, ROW(resident), .flags = VIEW_DASH_0},
    {NULL, "share", VIEW_SHARE, VIEW_GET(DOUBLE, share),
     .offset = offsetof(struct memory_domain, resident)},
    {"domain", "domain", VIEW_PLAIN, ROW(slot)},
    {"incarnation", NULL, VIEW_PLAIN, ROW(incarnation)},
    {"name", "<+name", VIEW_PLAIN, ROW(name)},
    {"answered", NULL, VIEW_PLAIN, ROW(answered),
     .help = "true: the domain has answered now; false: its last report"},
    {"measured", NULL, VIEW_PLAIN, ROW(measured),
     .help = "true: measured; false: by its own counts"},
    {"age_ns", NULL, VIEW_NS, VIEW_GET(UINT, domain_age)},
    {"state", NULL, VIEW_PLAIN, VIEW_GET(TEXT, domain_state),
     .help = "why it has not answered: \"asleep in C function io.read\"; else null"})

VIEW_GETTER(unattributed, struct memory) {
  if (row->m.resident == UINT64_MAX) return view_none();
  return view_int((int64_t)(row->m.resident - row->m.attributed));
}
VIEW_GETTER(source, struct memory) {
  return view_text(row->m.from_kernel ? "smaps" : "recorded");
}
VIEW_GETTER(age, struct memory) { return age_of_moment(row, row->m.ns); }

static VIEW(total_view, struct memory,
    {"resident_bytes", NULL, VIEW_BYTES, ROW(m.resident), .flags = VIEW_NO_MAX},
    {"reserved_bytes", NULL, VIEW_BYTES, ROW(m.reserved), .flags = VIEW_NO_MAX},
    {"attributed_bytes", NULL, VIEW_BYTES, ROW(m.attributed)},
    {"unattributed_bytes", NULL, VIEW_BYTES, VIEW_GET(INT, unattributed),
     .help = "below 0: some memory was counted twice"},
    {"swapped_bytes", NULL, VIEW_BYTES, ROW(m.swapped)},
    {"source", NULL, VIEW_PLAIN, VIEW_GET(TEXT, source), .help = "smaps or recorded"},
    {"malloc_used_bytes", NULL, VIEW_BYTES, ROW(m.malloc_used), .flags = VIEW_NO_MAX},
    {"malloc_free_bytes", NULL, VIEW_BYTES, ROW(m.malloc_free), .flags = VIEW_NO_MAX},
    {"malloc_mapped_bytes", NULL, VIEW_BYTES, ROW(m.malloc_mapped), .flags = VIEW_NO_MAX},
    {"age_ns", NULL, VIEW_NS, VIEW_GET(UINT, age)})

static void all_domains(struct view_to *to, const void *memory) {
  const struct memory *c = memory;
  for (size_t i = 0; i < c->m.domain_count; i++)
    if (!view_is_text(to) || i < MOST_TABLE) view_row(to, &c->m.domains[i]);
}

static void all_lines(struct view_to *to, const void *memory) {
  const struct memory *c = memory;
  for (size_t i = 0; i < c->m.count; i++)
    if (is_wanted(c, &c->m.lines[i])) view_row(to, &c->m.lines[i]);
}

static VIEW(memory_view, struct memory,
    {.form = VIEW_INCLUDE, .offset = offsetof(struct memory, info), .view = &head_view},
    {"total", .form = VIEW_OBJECT, .view = &total_view},
    {"domains", .form = VIEW_ROWS, .view = &domain_view, .rows = all_domains},
    {"rows", .form = VIEW_ROWS, .view = &line_view, .rows = all_lines, .flags = VIEW_MAIN})

/* ---- text --------------------------------------------------------------------- */

struct group {
  const struct memory *c;
  int domain;
};

static void lines_of_group(struct view_to *to, const void *group) {
  const struct group *g = group;
  for (size_t i = 0; i < g->c->m.count; i++) {
    const struct memory_line *line = &g->c->m.lines[i];
    if (line->domain == g->domain && (line->resident || line->reserved >= 1024))
      view_row(to, line);
  }
}

static void print_group(const struct memory *c, int domain) {
  const struct group group = {c, domain};
  struct view_to to = {.out = stdout, .context = c};
  uint64_t resident = 0;
  for (size_t i = 0; i < c->m.count; i++)
    if (c->m.lines[i].domain == domain) resident += c->m.lines[i].resident;
  printf(": %s\n", eva_bytes(resident));
  view_table(&to, &line_view, lines_of_group, &group, 2);
}

static void print_age(const struct memory *c, const struct memory_domain *d) {
  const uint64_t now = c->end_ns;
  char why[DOMAIN_STATE_TEXT];
  if (!is_silent(c, d)) {
    if (!d->said) fputs(" (it has not said yet what it uses)", stdout);
    else if (!d->measured) fputs(" (by its own counts)", stdout);
    return;
  }
  if (!d->said) fputs(" (it has not said yet what it uses: ", stdout);
  else printf(" (as of %s ago: ", eva_duration(now > d->ns ? now - d->ns : 0));
  ask_why_silent(why, &c->ask, d->slot);
  print_foreign_text(stdout, why);
  putchar(')');
}

/* Prints that no domain is recorded: the process is on standby, or it slept while the
   recording went on in a new file. */
static void print_no_domain(const struct memory *c) {
  char why[DOMAIN_STATE_TEXT];
  fputs("\nno domain is recorded", stdout);
  if (c->info.liveness == EVENTRING_LIVE && ask_is_silent(why, &c->ask)) {
    fputs(" yet: ", stdout);
    print_foreign_text(stdout, why);
  }
  putchar('\n');
}

static void print_domains(const struct memory *c) {
  size_t shown = 0;
  if (are_many(c)) {
    printf("\n%s domains", eva_count(c->m.domain_count));
    print_group(c, 0);
    return;
  }
  for (size_t i = 0; i < c->m.domain_count; i++) {
    const struct memory_domain *d = &c->m.domains[i];
    if (c->domain != UINT64_MAX && d->slot != c->domain) continue;
    printf("\nDomain %u ", d->slot);
    print_foreign_text(stdout, d->name);
    print_age(c, d);
    print_group(c, (int)d->slot);
    shown++;
  }
  if (!shown && c->m.domain_count > 0) puts("\nno such domain");
  if (!shown && c->m.domain_count == 0) print_no_domain(c);
}

static int compare_domains(const void *left, const void *right) {
  const struct memory_domain *a = left, *b = right;
  if (a->resident != b->resident) return a->resident > b->resident ? -1 : 1;
  return (a->slot > b->slot) - (a->slot < b->slot);
}

static size_t count_silent(const struct memory *c) {
  size_t silent = 0;
  for (size_t i = 0; i < c->m.domain_count; i++) silent += !c->m.domains[i].answered;
  return silent;
}

static void print_text(struct memory *c) {
  const struct memory_lines *m = &c->m;
  struct view_to to = {.out = stdout, .context = c};
  char process[PROCESS_TEXT];
  if (are_many(c)) {
    join_domains(&c->m);
    sort_lines(&c->m);
  }
  table_say(stdout, 0, 4, "%s, process %s", c->info.program, process_text(process, &c->info));
  table_say(stdout, 0, 4, "%s", c->info.path);
  if (m->resident != UINT64_MAX) {
    printf("%s resident, %s", eva_bytes(m->resident),
           m->from_kernel ? "as the kernel counts (smaps)" : "as recorded");
    if (!m->from_kernel)
      printf(" %s before the end", eva_duration(c->end_ns > m->ns ? c->end_ns - m->ns : 0));
    if (m->swapped) printf("; %s swapped out", eva_bytes(m->swapped));
    putchar('\n');
  }
  print_domains(c);
  if (are_many(c)) {
    qsort(m->domains, m->domain_count, sizeof *m->domains, compare_domains);
    putchar('\n');
    view_table(&to, &domain_view, all_domains, c, 2);
    if (m->domain_count > MOST_TABLE)
      printf("  and %zu more (--domain, --json)\n", m->domain_count - MOST_TABLE);
    if (c->info.liveness == EVENTRING_LIVE && count_silent(c))
      printf("  %zu of them have not answered: what they said last counts\n", count_silent(c));
  }
  if (c->domain != UINT64_MAX) return;
  fputs("\nThe process", stdout);
  print_group(c, -1);
  if (m->resident == UINT64_MAX) return;
  uint64_t rest = m->resident > m->attributed ? m->resident - m->attributed
                                              : m->attributed - m->resident;
  printf("\n%s: %s, %s\n", m->resident >= m->attributed ? "Unattributed" : "Counted twice",
         eva_bytes(rest), eva_percent(rest, m->resident));
}

/* ---- the command -------------------------------------------------------------- */

/* Gathers the lines. Returns STATUS_GO_ON, or the exit status after a message. */
static int gather(struct memory *c) {
  bool live = c->info.liveness == EVENTRING_LIVE;
  int status = STATUS_GO_ON;
  if (live) status = ask_domains(&c->ask, &c->reader, EVENTRING_ASKS_MEMORY, c->patience);
  if (!goes_on(status)) return status;
  if (memory_lines_read(&c->m, c->reader.cursor, &c->ask) != 0)
    return wrong("%s", eventring_cursor_error(c->reader.cursor)->text);
  if (live && memory_lines_add_live(&c->m, pid_here(&c->info), c->info.path)) return STATUS_GO_ON;
  if (live)
    complain("process %d: /proc/%d/smaps: %s: what was recorded is shown",
             (int)pid_here(&c->info), (int)pid_here(&c->info), strerror(errno));
  memory_lines_add_recorded(&c->m);
  return STATUS_GO_ON;
}

static int report(struct memory *c) {
  c->end_ns = eva_end(c->reader.cursor);
  bool says_something = c->m.ns != 0 || c->m.from_kernel;
  if (!says_something)
    return wrong("%s: it does not say what its memory is used for", c->info.path);
  sort_lines(&c->m);
  struct view_to to = {.out = stdout, .context = c, .as = c->as};
  if (view_wants_text(&c->as)) print_text(c);
  else view_object(&to, &memory_view, c);
  return STATUS_OK;
}

int command_memory(const struct command *self, int count, char **words) {
  static struct memory c;
  c = (struct memory){.self = self, .patience = {UINT64_MAX, 3000000000u}, .domain = UINT64_MAX};
  struct operands operands;
  const struct option_spec specs[] = {
      VIEW_SPECS(&c.as, memory_view, "one JSON object"),
      DOMAIN_SPEC(&c.domain),
      {"wait", 'w', OPTION_SECONDS, &c.patience.ns, "N",
       "for a domain to answer, at most N seconds (3, but not for one that is asleep)"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  if (goes_on(status)) status = require_target(self, &operands, false);
  if (goes_on(status))
    status = reader_open_target(&c.reader, operands.words[0], EVENTRING_OPEN_NOW);
  if (!goes_on(status)) return status;
  c.info.size = sizeof c.info;
  eventring_cursor_info(c.reader.cursor, &c.info);
  status = gather(&c);
  if (goes_on(status)) status = report(&c);
  memory_lines_free(&c.m);
  return reader_close(&c.reader, status);
}
