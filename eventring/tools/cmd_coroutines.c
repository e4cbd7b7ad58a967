/* SPDX-License-Identifier: MIT */
/* cmd_coroutines.c: `eventring coroutines`: which coroutines wait, where, and for how
 * long.
 *
 * A process is read as it runs (remote/coroutines.h). For a group of equal stacks, the
 * stack of one of them is shown.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures.h"
#include "ask.h"
#include "child_answer.h"
#include "coroutine_groups.h"
#include "coroutines_export.h"
#include "coroutines_file.h"
#include "format/now.h"
#include "formats.h"
#include "last_stacks.h"
#include "options.h"
#include "remote_frames.h"
#include "retain_answer.h"
#include "tool.h"

enum {
  DEFAULT_TOP = 10,
  SHOWN_SPANS = 3,
  MOST_SPAN_NAMES = 32,
  SHOWN_HOLDERS = 3,
  MOST_HOLDERS = 64,
  MOST_ANSWERS = 64 << 20 /* for all domains together */
};
#define WALK_NS UINT64_C(90000000000)

/* The question, and the process that is asked. */
struct listing {
  struct coroutines_request request;
  /* the process */
  pid_t pid;
  struct remote_host host;
  struct remote_functions functions;
  struct remote_stack stack;     /* stack of the group that is shown */
  /* cursor of the recording of the process, for names of spans; NULL if there is none */
  eventring_cursor *cursor;
  struct view_to *to;            /* NULL if output is text or a format of another tool */
  const char *format, *output;   /* operands of --to and -o; may be NULL */
  struct coroutines_export export;
  uint64_t leaked_ns;
  struct ask_patience patience;
  bool held;                     /* --held: ask what holds the coroutines */
  int status;                    /* status of the question of --held: not STATUS_OK if a
                                    domain has not answered */
  struct child_answer *children; /* the texts of the answers */
  struct retain_answer *answers; /* the answers of the domains that answered */
  size_t answer_count;
  /* figures of what was found */
  uint64_t domains, coroutines, groups, shown, bytes, torn, searched;
  bool cut;
};

/* The call that created, or resumed, a coroutine. */
struct site {
  const struct remote_function *function; /* NULL: not known */
  uint32_t line;                          /* 0: not known */
};

/* An innermost open span, and how many coroutines of a group have it. */
struct span_count {
  uint16_t id;
  const char *name;
  uint64_t count;
};

/* A way in which coroutines of a group are held. */
struct holder {
  const struct retain_shape *way; /* NULL: no holder is known */
  uint64_t count;
};

struct row {
  struct listing *listing;
  const struct remote_domain *domain;
  const struct coroutine_group *group;
  char address[32]; /* address of the coroutine that has been suspended longest */
  const struct remote_function *begins; /* what coroutines that have not begun will run */
  struct site created, resumed;
  struct span_count spans[MOST_SPAN_NAMES];
  size_t span_count;
  struct holder holders[MOST_HOLDERS];
  size_t holder_count;
  uint64_t held_otherwise; /* number of coroutines held in other ways than `holders` */
};

/* ---- sites --------------------------------------------------------------- */

static struct site site_of(struct listing *l, uint64_t prototype, uint32_t at) {
  const struct remote_function *f =
      prototype != 0 ? remote_function_at(&l->functions, prototype) : NULL;
  const uint64_t size = l->host.at.prototype.instruction;
  if (f == NULL) return (struct site){0};
  return (struct site){f, remote_function_line(&l->functions, f, f->code + at * size)};
}

VIEW_GETTER(site_name, struct site) { return view_text(remote_function_name(row->function)); }
VIEW_GETTER(site_source, struct site) { return view_text(row->function->source); }

static VIEW(site_view, struct site,
    {"name", NULL, VIEW_PLAIN, VIEW_GET(TEXT, site_name), .help = "of the function"},
    {"source", NULL, VIEW_PLAIN, VIEW_GET(TEXT, site_source)},
    {"line", NULL, VIEW_PLAIN, ROW(line), .flags = VIEW_MAYBE | VIEW_NO_0})

/* Prints a site: "spawn  app.lua:31". */
static void print_site(const char *what, const struct site *site, const char *remark) {
  char line[16] = "";
  if (site->function == NULL) return;
  if (site->line != 0) snprintf(line, sizeof line, ":%" PRIu32, site->line);
  table_say(stdout, 4, 4, "%s %s  %s%s%s", what, remote_function_name(site->function),
            site->function->source, line, remark);
}

/* ---- spans --------------------------------------------------------------- */

static const char *span_name(const struct listing *l, uint16_t id) {
  const struct eventring_def *def = l->cursor ? eventring_cursor_def(l->cursor, id) : NULL;
  return def ? def->name : "?";
}

static void count_span(struct row *row, uint16_t id) {
  for (size_t i = 0; i < row->span_count; i++)
    if (row->spans[i].id == id) {
      row->spans[i].count++;
      return;
    }
  if (row->span_count < MOST_SPAN_NAMES)
    row->spans[row->span_count++] = (struct span_count){id, span_name(row->listing, id), 1};
}

static int more_first(const void *left, const void *right) {
  const struct span_count *a = left, *b = right;
  if (a->count != b->count) return a->count < b->count ? 1 : -1;
  return (a->id > b->id) - (a->id < b->id);
}

static void count_spans(struct row *row) {
  const struct coroutine_group *g = row->group;
  for (size_t i = 0; i < g->count; i++)
    if (g->of[i].span_count > 0) count_span(row, g->of[i].span[g->of[i].span_count - 1]);
  qsort(row->spans, row->span_count, sizeof *row->spans, more_first);
}

static VIEW(span_view, struct span_count,
    {"name", NULL, VIEW_PLAIN, ROW(name)},
    {"count", NULL, VIEW_COUNT, ROW(count), .help = "coroutines whose innermost span it is"})

static void spans_of(struct view_to *to, const void *group) {
  const struct row *row = group;
  for (size_t i = 0; i < row->span_count; i++) view_row(to, &row->spans[i]);
}

static void print_spans(const struct row *row) {
  char text[512];
  size_t used = 0;
  if (row->group->with_spans == 0) return;
  for (size_t i = 0; i < row->span_count && i < SHOWN_SPANS; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%.100s (%s)", i ? ", " : "",
                             row->spans[i].name, eva_count(row->spans[i].count));
  table_say(stdout, 4, 4, "open spans: %s%s", text,
            row->span_count > SHOWN_SPANS ? ", others" : "");
}

/* ---- holders ------------------------------------------------------------- */

static const struct retain_shape *way_of(const struct listing *l, uint64_t coroutine) {
  const struct retain_shape *way = NULL;
  for (size_t i = 0; i < l->answer_count && !way; i++)
    way = retain_answer_way(&l->answers[i], coroutine);
  return way;
}

static void count_holder(struct row *row, const struct retain_shape *way) {
  for (size_t i = 0; i < row->holder_count; i++)
    if (row->holders[i].way == way) {
      row->holders[i].count++;
      return;
    }
  if (row->holder_count == MOST_HOLDERS) row->held_otherwise++;
  else row->holders[row->holder_count++] = (struct holder){way, 1};
}

static int most_first(const void *left, const void *right) {
  const struct holder *a = left, *b = right;
  return (a->count < b->count) - (a->count > b->count);
}

static void count_holders(struct row *row) {
  const struct coroutine_group *g = row->group;
  if (!row->listing->held) return;
  for (size_t i = 0; i < g->count; i++) count_holder(row, way_of(row->listing, g->of[i].address));
  qsort(row->holders, row->holder_count, sizeof *row->holders, most_first);
}

VIEW_GETTER(holder_path, struct holder) { return view_text(row->way ? row->way->path : NULL); }
VIEW_GETTER(holder_shape, struct holder) { return view_text(row->way ? row->way->shape : NULL); }

static VIEW(holder_view, struct holder,
    {"count", NULL, VIEW_COUNT, ROW(count)},
    {"path", NULL, VIEW_PLAIN, VIEW_GET(TEXT, holder_path),
     .help = "a shortest path to one of them; null: nothing holds them, or not known"},
    {"shape", NULL, VIEW_PLAIN, VIEW_GET(TEXT, holder_shape)})

static void holders_of(struct view_to *to, const void *group) {
  const struct row *row = group;
  for (size_t i = 0; i < row->holder_count; i++) view_row(to, &row->holders[i]);
}

static void print_holders(const struct row *row) {
  uint64_t others = row->held_otherwise;
  for (size_t i = 0; i < row->holder_count; i++) {
    const struct holder *h = &row->holders[i];
    if (i >= SHOWN_HOLDERS) others += h->count;
    else if (h->way) table_say(stdout, 4, 4, "held by %s (%s)", h->way->shape, eva_count(h->count));
    else table_say(stdout, 4, 4, "%s that nothing is known to hold", eva_count(h->count));
  }
  if (others) table_say(stdout, 4, 4, "held in other ways: %s", eva_count(others));
}

static int say_not_held(const struct ask *ask, unsigned slot, const struct child_answer *child) {
  char why[DOMAIN_STATE_TEXT];
  if (child->over)
    return wrong("domain %u has not said who holds its coroutines in a way that is known", slot);
  if (child->pid && !child->ended) snprintf(why, sizeof why, "its child has not finished");
  else ask_why_silent(why, ask, slot);
  return wrong("domain %u has not said who holds its coroutines: %s", slot, why);
}

/* Reads from the answer of each domain the paths that lead to its coroutines. */
static void collect(struct listing *l, struct reader *reader, const struct ask *ask,
                    const struct eventring_info *info) {
  const uint64_t end = now_ns() + WALK_NS;
  size_t most = MOST_ANSWERS, count = 0;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    if (!ask->asked[slot]) continue;
    struct child_answer *child = NEED_NEXT(l->children, count);
    child_answer_await(child, reader, info, ask->answers[slot], most, end);
    most -= child->size;
    struct retain_answer said;
    if (!child->over || !retain_answer_take(&said, child->text, child->size)) {
      l->status = say_not_held(ask, slot, child);
      continue;
    }
    if (said.end != 0)
      l->status = wrong("domain %u: not all that holds coroutines was seen", slot);
    *NEED_NEXT(l->answers, l->answer_count) = said;
  }
}

/* Asks the domains what holds their coroutines. Returns STATUS_GO_ON, or the exit status.
   */
static int ask_holders(struct listing *l, const char *pid) {
  static struct ask ask;
  char why[DOMAIN_STATE_TEXT];
  struct reader reader;
  struct eventring_info info = {.size = sizeof info};
  int status = reader_open_target(&reader, pid, EVENTRING_OPEN_NOW);
  if (!goes_on(status)) return status;
  eventring_cursor_info(reader.cursor, &info);
  status = ask_domains(&ask, &reader, EVENTRING_ASKS_COROUTINES, l->patience);
  if (goes_on(status)) {
    collect(l, &reader, &ask, &info);
    ask_nothing(&ask);
    if (l->answer_count == 0 && l->status == STATUS_OK && ask_is_silent(why, &ask))
      l->status = wrong("no domain is recorded yet, and can say who holds coroutines: %s", why);
    l->held = true;
  }
  const int closed = reader_close(&reader, STATUS_OK);
  if (!goes_on(status)) return status;
  return closed == STATUS_OK ? STATUS_GO_ON : closed;
}

/* ---- rows ---------------------------------------------------------------- */

static const struct remote_coroutine *longest(const struct row *row) { return row->group->of; }
static const struct remote_coroutine *shortest(const struct row *row) {
  return &row->group->of[row->group->count - 1];
}
static bool is_new(const void *row) { return longest(row)->is_new; }
static bool is_created_known(const void *row) {
  return ((const struct row *)row)->created.function != NULL;
}
static bool is_resumed_known(const void *row) {
  return ((const struct row *)row)->resumed.function != NULL;
}

static bool is_held(const void *row) { return ((const struct row *)row)->listing->held; }

VIEW_GETTER(domain_id, struct row) { return view_uint(row->domain->id); }
VIEW_GETTER(domain_name, struct row) { return view_text(row->domain->name); }
VIEW_GETTER(state, struct row) { return view_text(is_new(row) ? "not begun" : "suspended"); }
VIEW_GETTER(count, struct row) { return view_uint(row->group->count); }
VIEW_GETTER(bytes, struct row) { return view_uint(row->group->bytes); }
VIEW_GETTER(least_ns, struct row) { return view_uint(longest(row)->least_ns); }
VIEW_GETTER(most_ns, struct row) { return view_uint(longest(row)->most_ns); }
VIEW_GETTER(shortest_least_ns, struct row) { return view_uint(shortest(row)->least_ns); }
VIEW_GETTER(shortest_most_ns, struct row) { return view_uint(shortest(row)->most_ns); }
VIEW_GETTER(function, struct row) { return view_text(remote_function_name(row->begins)); }
VIEW_GETTER(resumed_alike, struct row) { return view_uint(row->group->resumed_alike); }
VIEW_GETTER(with_spans, struct row) { return view_uint(row->group->with_spans); }

static void frames_of(struct view_to *to, const void *row) {
  struct listing *l = ((const struct row *)row)->listing;
  remote_frames_put(to, &l->functions, &l->stack, false);
}

static VIEW(stack_view, struct listing,
    {"below", NULL, VIEW_COUNT, ROW(stack.below), .help = "outer frames that were left out"})

static VIEW(row_view, struct row,
    {"domain", NULL, VIEW_PLAIN, VIEW_GET(U32, domain_id)},
    {"domain_name", NULL, VIEW_PLAIN, VIEW_GET(TEXT, domain_name)},
    {"state", NULL, VIEW_PLAIN, VIEW_GET(TEXT, state), .help = "suspended, or not begun"},
    {"count", NULL, VIEW_COUNT, VIEW_GET(UINT, count)},
    {"bytes", NULL, VIEW_BYTES, VIEW_GET(UINT, bytes), .help = "with their stacks"},
    {"least_ns", NULL, VIEW_NS, VIEW_GET(UINT, least_ns),
     .help = "the longest suspended has not run for at least this time"},
    {"most_ns", NULL, VIEW_NS, VIEW_GET(UINT, most_ns),
     .help = "the longest suspended has not run for at most this time"},
    {"shortest_least_ns", NULL, VIEW_NS, VIEW_GET(UINT, shortest_least_ns)},
    {"shortest_most_ns", NULL, VIEW_NS, VIEW_GET(UINT, shortest_most_ns)},
    {"coroutine", NULL, VIEW_PLAIN, ROW(address), .help = "address of the longest suspended"},
    {"function", NULL, VIEW_PLAIN, VIEW_GET(TEXT, function), .has = is_new, .flags = VIEW_PART,
     .help = "the function that they will run"},
    {"created", .form = VIEW_OBJECT, .offset = offsetof(struct row, created), .view = &site_view,
     .has = is_created_known, .flags = VIEW_PART},
    {"resumed", .form = VIEW_OBJECT, .offset = offsetof(struct row, resumed), .view = &site_view,
     .has = is_resumed_known, .flags = VIEW_PART,
     .help = "where the longest suspended was last resumed"},
    {"resumed_alike", NULL, VIEW_COUNT, VIEW_GET(UINT, resumed_alike),
     .help = "how many of them were last resumed there"},
    {"with_spans", NULL, VIEW_COUNT, VIEW_GET(UINT, with_spans)},
    {"spans", .form = VIEW_ROWS, .view = &span_view, .rows = spans_of},
    {"holders", .form = VIEW_ROWS, .view = &holder_view, .rows = holders_of, .has = is_held,
     .help = "with --leaked"},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct row, listing), .flags = VIEW_POINTER,
     .view = &stack_view},
    {"frames", .form = VIEW_ROWS, .view = &remote_frame_view, .rows = frames_of})

/* ---- text ---------------------------------------------------------------- */

/* Writes for how long a coroutine has not run: "12.3 s", "4 s to 9 s", or "up to 4 s" if
   no lower bound is known. Returns the text. */
static const char *age_text(char *text, size_t room, const struct remote_coroutine *c) {
  if (c->least_ns == 0) snprintf(text, room, "up to %s", eva_duration(c->most_ns));
  else if (c->most_ns - c->least_ns < c->least_ns / 8)
    snprintf(text, room, "%s", eva_duration(c->least_ns));
  else
    snprintf(text, room, "%s to %s", eva_duration(c->least_ns), eva_duration(c->most_ns));
  return text;
}

static void print_row(const struct row *row) {
  const struct coroutine_group *g = row->group;
  char age[64], last[64] = "", remark[64] = "";
  age_text(age, sizeof age, longest(row));
  if (g->count > 1) age_text(last, sizeof last, shortest(row));
  if (strcmp(age, last) == 0) last[0] = '\0';
  putchar('\n');
  table_say(stdout, 0, 4, "%s %s for %s%s%s, %s", eva_count(g->count),
            is_new(row) ? "not begun" : "suspended", age,
            last[0] ? ", the last of them for " : "", last, eva_bytes(g->bytes));
  if (is_new(row)) table_say(stdout, 4, 4, "%s", remote_function_name(row->begins));
  remote_frames_print(&row->listing->functions, &row->listing->stack, false);
  print_site("created by", &row->created, "");
  if (g->resumed_alike < g->count)
    snprintf(remark, sizeof remark, " (%s of them)", eva_count(g->resumed_alike));
  print_site("last resumed by", &row->resumed, remark);
  print_spans(row);
  print_holders(row);
}

static void print_domain(const struct listing *l, const struct remote_domain *about,
                         const struct coroutine_groups *groups) {
  if (l->domains > 1) putchar('\n');
  table_say(stdout, 0, 4, "domain %" PRIu32 " %s: %s coroutine%s, %s with their stacks", about->id,
            about->name, eva_count(groups->count), groups->count == 1 ? " waits" : "s wait",
            eva_bytes(groups->bytes));
}

static void print_loss(const struct listing *l) {
  if (l->shown < l->groups)
    printf("\nand %s more groups (--top)\n", eva_count(l->groups - l->shown));
  if (l->torn || l->cut) putchar('\n');
  if (l->torn)
    table_say(stdout, 0, 4, "%s more ran, or changed, whenever they were looked at.",
              eva_count(l->torn));
  if (l->cut)
    table_say(stdout, 0, 4, "The search ended early, after %s of the heap.",
              eva_bytes(l->searched));
}

/* ---- groups -------------------------------------------------------------- */

static void show_group(struct listing *l, const struct remote_domain *about,
                       const struct coroutine_group *group) {
  const struct remote_coroutine *first = group->of;
  struct row row = {.listing = l, .domain = about, .group = group,
                    .begins = coroutine_group_function(group, &l->functions),
                    .created = site_of(l, first->created_in, first->created_at),
                    .resumed = site_of(l, first->resumed_in, first->resumed_at)};
  snprintf(row.address, sizeof row.address, "0x%" PRIx64, first->address);
  count_spans(&row);
  count_holders(&row);
  l->shown++;
  if (l->format)
    coroutines_export_add(&l->export, &l->stack, row.begins, about->name, group->count,
                          group->bytes);
  else if (l->to) view_row(l->to, &row);
  else print_row(&row);
}

static void show_groups(struct listing *l, struct remote_reader *reader,
                        const struct remote_domain *about, struct coroutine_groups *groups) {
  if (!l->to && !l->format) print_domain(l, about, groups);
  for (size_t i = 0; i < groups->group_count; i++) {
    const struct coroutine_group *group = &groups->groups[i];
    l->groups++;
    if (l->shown >= l->request.top && !l->format) continue;
    if (coroutine_group_stack(group, reader, now_ns(), &l->stack)) show_group(l, about, group);
    else l->torn += group->count;
  }
}

static void show_domain(struct listing *l, const struct remote_domain *about) {
  struct coroutine_groups groups;
  struct remote_reader *reader = remote_reader_open(&l->functions, about->address);
  if (!reader) no_memory();
  remote_functions_name(&l->functions, about->address, now_ns());
  coroutine_groups_read(&groups, &l->host, about->address, 0, l->request.least_ns);
  l->domains++;
  l->coroutines += groups.count;
  l->bytes += groups.bytes;
  l->torn += groups.torn;
  l->searched += groups.searched;
  l->cut |= groups.cut;
  show_groups(l, reader, about, &groups);
  coroutine_groups_free(&groups);
  remote_reader_close(reader);
}

static void show_domains(struct listing *l) {
  static struct remote_domain domains[REMOTE_DOMAINS];
  const size_t count = remote_domains_read(&l->host, domains);
  for (size_t i = 0; i < count; i++)
    if (l->request.domain == UINT64_MAX || l->request.domain == domains[i].id)
      show_domain(l, &domains[i]);
}

/* ---- the answer ---------------------------------------------------------- */

static void all_rows(struct view_to *to, const void *listing) {
  struct listing *l = (struct listing *)listing;
  l->to = to;
  show_domains(l);
}

static VIEW(listing_loss_view, struct listing,
    {"torn", NULL, VIEW_COUNT, ROW(torn),
     .help = "coroutines that changed whenever they were read"},
    {"search_cut", NULL, VIEW_PLAIN, ROW(cut), .help = "the search did not see the whole heap"},
    {"searched_bytes", NULL, VIEW_BYTES, ROW(searched)})

static VIEW(total_view, struct listing,
    {"domains", NULL, VIEW_COUNT, ROW(domains)},
    {"coroutines", NULL, VIEW_COUNT, ROW(coroutines)},
    {"groups", NULL, VIEW_COUNT, ROW(groups)},
    {"bytes", NULL, VIEW_BYTES, ROW(bytes)})

static VIEW_WITH(listing_view, struct listing, (.other = &coroutines_file_view),
    {"pid", NULL, VIEW_PLAIN, ROW(pid)},
    {"host", NULL, VIEW_PLAIN, ROW(host.at.host)},
    {"rows", .form = VIEW_ROWS, .view = &row_view, .rows = all_rows, .flags = VIEW_MAIN},
    {"loss", .form = VIEW_OBJECT, .view = &listing_loss_view},
    {"total", .form = VIEW_OBJECT, .view = &total_view})

/* Writes all groups for another tool. Returns the exit status. */
static int export_all(struct listing *l) {
  struct eventring_info info = {.size = sizeof info};
  show_domains(l);
  bool is_known = l->cursor && eventring_cursor_info(l->cursor, &info) == EVENTRING_OK;
  return coroutines_export_write(&l->export, is_known ? info.program : "", l->format, l->output);
}

static void show(struct listing *l) {
  struct view_to to = {.out = stdout, .as = l->request.as};
  if (l->format) {
    l->status = export_all(l);
  } else if (view_wants_text(&l->request.as)) {
    show_domains(l);
    print_loss(l);
  } else {
    view_object(&to, &listing_view, l);
  }
}

/* Opens the recording of a process. Returns NULL if it does not record; then no coroutine
   has open spans. */
static eventring_cursor *open_recording(const char *pid) {
  eventring_cursor *cursor;
  return eventring_open_any(&cursor, pid, EVENTRING_OPEN_NOW, NULL) == EVENTRING_OK ? cursor : NULL;
}

static int list_process(struct listing *l, const char *pid) {
  if (!remote_host_open(&l->host, l->pid)) return wrong("%s: %s", pid, l->host.error);
  const int status = l->leaked_ns ? ask_holders(l, pid) : STATUS_GO_ON;
  if (!goes_on(status)) return status;
  remote_functions_open(&l->functions, &l->host);
  l->cursor = open_recording(pid);
  show(l);
  if (l->cursor) eventring_close(l->cursor);
  remote_functions_close(&l->functions);
  for (size_t i = 0; i < l->answer_count; i++) retain_answer_free(&l->answers[i]);
  if (l->domains > 0) return l->status;
  return wrong("%s: it %s", pid,
               l->request.domain == UINT64_MAX ? "runs no domain now" : "has no such domain");
}

int command_coroutines(const struct command *self, int count, char **words) {
  static struct listing l;
  l.request = (struct coroutines_request){.domain = UINT64_MAX, .top = DEFAULT_TOP};
  l.patience = (struct ask_patience){UINT64_MAX, 10000000000u};
  const struct option_spec specs[] = {
    {"top", 't', OPTION_COUNT, &l.request.top, "N", "the N groups that are longest suspended (10)"},
    {"longer", 0, OPTION_SECONDS, &l.request.least_ns, "N",
     "only those that have not run for at least N seconds"},
    {"leaked", 0, OPTION_SECONDS, &l.leaked_ns, "N",
     "the same, and who holds them: the process is asked, which has to record"},
    {"wait", 'w', OPTION_SECONDS, &l.patience.ns, "N",
     "for that answer, at most N seconds (10; until it is seen to be asleep)"},
    DOMAIN_SPEC(&l.request.domain),
    {"to", 0, OPTION_TEXT, &l.format, "FORMAT",
     "svg (a flame graph), or pprof, speedscope, folded, otlp_profiles: for other tools, of all "
     "groups"},
    {"output", 'o', OPTION_TEXT, &l.output, "FILE", "with --to: to FILE, which must not exist"},
    VIEW_SPECS(&l.request.as, listing_view, "one JSON object"),
  };
  struct operands operands;
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  if (goes_on(status)) status = require_target(self, &operands, false);
  if (!goes_on(status)) return status;
  if (l.format && !format_of_profiles(l.format))
    return usage_error(self, "`--to %s': must be one of %s", l.format, formats_of_profiles());
  if (l.output && !l.format) return usage_error(self, "-o goes with --to");
  if (l.format && (!view_wants_text(&l.request.as) || l.leaked_ns))
    return usage_error(self, "only one of --to, --json, --csv, --leaked");
  if (l.leaked_ns > l.request.least_ns) l.request.least_ns = l.leaked_ns;
  if (!read_process_number(operands.words[0], &l.pid) && l.format)
    return usage_error(self, "--to needs a PID: a FILE knows only coroutines with open spans");
  if (!l.pid)
    return coroutines_file_show(operands.words[0], &l.request);
  return list_process(&l, operands.words[0]);
}
