/* SPDX-License-Identifier: MIT */
/* cmd_memory.c: `eventring memory`: what the memory of a process is used for.
 *
 * The domains of a live process are asked to measure (question.h), and the kernel's list of
 * mappings is read right after that: what the process does in between is in the difference,
 * as is what nobody knows. Of a dead process, or a copy, what was recorded last is shown. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/json.h"
#include "analysis/names.h"
#include "analysis/so_far.h"
#include "analysis/units.h"
#include "memory_lines.h"
#include "text_table.h"

enum { MOST_DOMAINS_SHOWN = 3, MOST_TABLE = 12 };

struct memory {
  const struct command *self;
  bool json;
  uint64_t wait_ns, domain; /* UINT64_MAX: all */
  struct reader reader;
  struct eventring_info info;
  struct memory_lines m;
  uint64_t end_ns; /* now, or the last moment that the recording knows of */
};

/* ---- the lines that are shown ----------------------------------------------------------- */

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

static bool are_many(const struct memory *c) {
  return c->m.domain_count > MOST_DOMAINS_SHOWN && c->domain == UINT64_MAX;
}

/* The lines of all domains become one a name, of domain 0. */
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

/* ---- text --------------------------------------------------------------------------------- */

static void cell_bytes(struct table *table, uint64_t bytes) {
  char figure[EVA_FIGURE];
  table_cell(table, bytes ? eva_bytes_text(figure, bytes) : "-");
}

static void cell_share(struct table *table, uint64_t bytes, uint64_t all) {
  char text[16];
  snprintf(text, sizeof text, "%.1f%%", all ? 100.0 * (double)bytes / (double)all : 0.0);
  table_cell(table, text);
}

static void add_line(struct table *table, const struct memory *c, uint64_t resident,
                     uint64_t reserved, const char *name, const char *doc) {
  cell_bytes(table, resident);
  cell_share(table, resident, c->m.resident != UINT64_MAX ? c->m.resident : c->m.attributed);
  cell_bytes(table, reserved);
  table_cell(table, name);
  table_cell(table, doc);
}

static void print_group(const struct memory *c, int domain) {
  TABLE(table, "resident", "share", "?reserved", "<use", "<+");
  uint64_t resident = 0;
  for (size_t i = 0; i < c->m.count; i++) {
    const struct memory_line *line = &c->m.lines[i];
    if (line->domain != domain || !is_wanted(c, line)) continue;
    resident += line->resident;
    if (line->resident || line->reserved >= 1024)
      add_line(&table, c, line->resident, line->reserved, line->name, line->doc);
  }
  char figure[EVA_FIGURE];
  printf(": %s\n", eva_bytes_text(figure, resident));
  table_print(&table, stdout, 2);
}


static void print_age(const struct memory *c, const struct memory_domain *d) {
  char figure[EVA_FIGURE];
  const uint64_t now = c->end_ns;
  if (!d->said) fputs(" (it has not said yet what it uses)", stdout);
  else if (!d->answered && c->info.liveness == EVENTRING_LIVE)
    printf(" (as of %s ago, it has not answered)",
           eva_duration_text(figure, now > d->ns ? now - d->ns : 0));
  else if (!d->measured) fputs(" (by its own counts)", stdout);
}

static void print_domains(const struct memory *c) {
  size_t shown = 0;
  if (are_many(c)) {
    char count[EVA_FIGURE];
    printf("\n%s domains", eva_count_text(count, c->m.domain_count));
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
  if (!shown) puts("\nno such domain");
}

static int compare_domains(const void *left, const void *right) {
  const struct memory_domain *a = left, *b = right;
  if (a->resident != b->resident) return a->resident > b->resident ? -1 : 1;
  return (a->slot > b->slot) - (a->slot < b->slot);
}

static void print_table_of_domains(struct memory *c) {
  TABLE(table, "resident", "share", "domain", "<+name");
  char number[16];
  size_t count = c->m.domain_count < MOST_TABLE ? c->m.domain_count : MOST_TABLE;
  qsort(c->m.domains, c->m.domain_count, sizeof *c->m.domains, compare_domains);
  for (size_t i = 0; i < count; i++) {
    const struct memory_domain *d = &c->m.domains[i];
    snprintf(number, sizeof number, "%u", d->slot);
    cell_bytes(&table, d->resident);
    cell_share(&table, d->resident, c->m.resident);
    table_cell(&table, number);
    table_cell(&table, d->name);
  }
  putchar('\n');
  table_print(&table, stdout, 2);
  if (count < c->m.domain_count)
    printf("  and %zu more (--domain, --json)\n", c->m.domain_count - count);
}

static size_t count_silent(const struct memory *c) {
  size_t silent = 0;
  for (size_t i = 0; i < c->m.domain_count; i++) silent += !c->m.domains[i].answered;
  return silent;
}

static void print_head(const struct memory *c) {
  char process[PROCESS_TEXT], figure[EVA_FIGURE], swapped[EVA_FIGURE], age[EVA_FIGURE];
  print_foreign_text(stdout, c->info.program);
  printf(", process %s\n", process_text(process, &c->info));
  print_foreign_text(stdout, c->info.path);
  putchar('\n');
  if (c->m.resident == UINT64_MAX) return;
  printf("%s resident, %s", eva_bytes_text(figure, c->m.resident),
         c->m.from_kernel ? "as the kernel counts (smaps)" : "as recorded");
  if (!c->m.from_kernel)
    printf(" %s before the end",
           eva_duration_text(age, c->end_ns > c->m.ns ? c->end_ns - c->m.ns : 0));
  if (c->m.swapped) printf("; %s swapped out", eva_bytes_text(swapped, c->m.swapped));
  putchar('\n');
}

static void print_rest(const struct memory *c) {
  char figure[EVA_FIGURE], share[EVA_FIGURE];
  const struct memory_lines *m = &c->m;
  if (m->resident == UINT64_MAX || c->domain != UINT64_MAX) return;
  uint64_t rest = m->resident > m->attributed ? m->resident - m->attributed
                                              : m->attributed - m->resident;
  printf("\n%s: %s, %s\n", m->resident >= m->attributed ? "Unattributed" : "Counted twice",
         eva_bytes_text(figure, rest), eva_percent_text(share, rest, m->resident));
}

static void print_text(struct memory *c) {
  if (are_many(c)) join_domains(&c->m);
  if (c->m.count) qsort(c->m.lines, c->m.count, sizeof *c->m.lines, compare_lines);
  print_head(c);
  print_domains(c);
  if (are_many(c)) {
    print_table_of_domains(c);
    if (c->info.liveness == EVENTRING_LIVE && count_silent(c))
      printf("  %zu of them have not answered: what they said last counts\n", count_silent(c));
  }
  if (c->domain == UINT64_MAX) {
    fputs("\nThe process", stdout);
    print_group(c, -1);
  }
  print_rest(c);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void put_known(struct eva_json *json, const char *key, uint64_t value) {
  eva_json_key(json, key);
  if (value == UINT64_MAX) eva_json_null(json);
  else eva_json_uint(json, value);
}

static void put_total(const struct memory *c, struct eva_json *json) {
  const struct memory_lines *m = &c->m;
  const uint64_t now = c->end_ns;
  eva_json_key(json, "total");
  eva_json_open_object(json);
  put_known(json, "resident_bytes", m->resident);
  put_known(json, "reserved_bytes", m->reserved);
  eva_json_uint_at(json, "attributed_bytes", m->attributed);
  eva_json_key(json, "unattributed_bytes"); /* below 0: counted twice */
  if (m->resident == UINT64_MAX) eva_json_null(json);
  else eva_json_int(json, (int64_t)(m->resident - m->attributed));
  eva_json_uint_at(json, "swapped_bytes", m->swapped);
  eva_json_string_at(json, "source", m->from_kernel ? "smaps" : "recorded");
  put_known(json, "malloc_used_bytes", m->malloc_used);
  put_known(json, "malloc_free_bytes", m->malloc_free);
  put_known(json, "malloc_mapped_bytes", m->malloc_mapped);
  put_known(json, "age_ns", m->ns == 0 ? UINT64_MAX : now > m->ns ? now - m->ns : 0);
  eva_json_close_object(json);
}

static void put_domain(const struct memory *c, const struct memory_domain *d,
                       struct eva_json *json) {
  const uint64_t now = c->end_ns;
  eva_json_open_object(json);
  eva_json_uint_at(json, "domain", d->slot);
  eva_json_uint_at(json, "incarnation", d->incarnation);
  eva_json_string_at(json, "name", d->name);
  eva_json_bool_at(json, "answered", d->answered);
  eva_json_bool_at(json, "measured", d->measured);
  put_known(json, "age_ns", !d->said ? UINT64_MAX : now > d->ns ? now - d->ns : 0);
  eva_json_uint_at(json, "resident_bytes", d->resident);
  eva_json_close_object(json);
}

static void put_line(const struct memory_line *line, struct eva_json *json) {
  eva_json_open_object(json);
  put_known(json, "domain", line->domain < 0 ? UINT64_MAX : (uint64_t)line->domain);
  eva_json_string_at(json, "name", line->name);
  eva_json_string_at(json, "what", line->doc);
  eva_json_string_at(json, "in", memory_source_names[line->source]);
  eva_json_uint_at(json, "resident_bytes", line->resident);
  eva_json_uint_at(json, "reserved_bytes", line->reserved);
  eva_json_close_object(json);
}

static void print_json(struct memory *c) {
  struct eva_json json;
  if (c->m.count) qsort(c->m.lines, c->m.count, sizeof *c->m.lines, compare_lines);
  eva_json_start(&json, stdout);
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "version", 1);
  eva_json_string_at(&json, "program", c->info.program);
  put_process(&json, &c->info);
  eva_json_string_at(&json, "liveness", eva_liveness_name(c->info.liveness));
  put_total(c, &json);
  eva_json_key(&json, "domains");
  eva_json_open_array(&json);
  for (size_t i = 0; i < c->m.domain_count; i++) put_domain(c, &c->m.domains[i], &json);
  eva_json_close_array(&json);
  eva_json_key(&json, "rows");
  eva_json_open_array(&json);
  for (size_t i = 0; i < c->m.count; i++)
    if (is_wanted(c, &c->m.lines[i])) put_line(&c->m.lines[i], &json);
  eva_json_close_array(&json);
  eva_json_close_object(&json);
  eva_json_line(&json);
}

/* ---- the command ------------------------------------------------------------------------------ */

/* -1, or the exit status after a message. */
static int gather(struct memory *c) {
  struct ask ask = {.reader = &c->reader};
  bool live = c->info.liveness == EVENTRING_LIVE;
  int status = live ? ask_domains(&ask, &c->reader, EVENTRING_ASKS_MEMORY, c->wait_ns) : -1;
  if (status >= 0) return status;
  if (memory_lines_read(&c->m, c->reader.cursor, &ask) != 0) {
    complain("%s", eventring_cursor_error(c->reader.cursor)->text);
    return STATUS_WRONG;
  }
  if (live && memory_lines_add_live(&c->m, pid_here(&c->info), c->info.path)) return -1;
  if (live)
    complain("process %d: /proc/%d/smaps: %s: what was recorded is shown",
             (int)pid_here(&c->info), (int)pid_here(&c->info), strerror(errno));
  memory_lines_add_recorded(&c->m);
  return -1;
}

static int report(struct memory *c) {
  c->end_ns = eva_end(c->reader.cursor);
  bool says_something = c->m.ns != 0 || c->m.from_kernel;
  if (!says_something) {
    complain("%s: it does not say what its memory is used for", c->info.path);
    return STATUS_WRONG;
  }
  (c->json ? print_json : print_text)(c);
  return STATUS_OK;
}

int command_memory(const struct command *self, int count, char **words) {
  struct memory c = {.self = self, .wait_ns = 3000000000u, .domain = UINT64_MAX};
  struct operands operands;
  const struct option_spec specs[] = {
      {"json", 'j', OPTION_FLAG, &c.json, NULL, "one JSON object"},
      {"domain", 'd', OPTION_COUNT, &c.domain, "N", "only domain N"},
      {"wait", 'w', OPTION_SECONDS, &c.wait_ns, "N",
       "for a domain to answer, at most N seconds (3)"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  if (status < 0) status = require_target(self, &operands, false);
  if (status < 0) status = reader_open_target(&c.reader, operands.words[0], EVENTRING_OPEN_NOW);
  if (status >= 0) return status;
  eventring_cursor_info(c.reader.cursor, &c.info);
  status = gather(&c);
  if (status < 0) status = report(&c);
  memory_lines_free(&c.m);
  return reader_close(&c.reader, status);
}
