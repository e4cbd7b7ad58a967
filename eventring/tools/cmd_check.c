/* SPDX-License-Identifier: MIT */
/* cmd_check.c: `eventring check`: tells whether rules hold for a recording. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rules.h"
#include "query.h"

enum { MOST_FILE = 1 << 20 };

struct check {
  struct query q;
  struct eva_rules rules;
  const char *file; /* the file of the rules; NULL: they are on the command line */
};

/* ---- Rules -------------------------------------------------------------------- */

static void add_rule(struct check *c, const struct eventring_condition *condition,
                     const char *text, size_t size, unsigned line) {
  while (size && (text[size - 1] == ' ' || text[size - 1] == '\t')) size--;
  if (eva_rules_add(&c->rules, condition, text, size, line) == EVENTRING_E_MEMORY) no_memory();
}

/* Reads the rules of a line, which are separated by `;` or `,`. A `#` where a rule could
   begin ends the line. Returns STATUS_GO_ON, or the exit status after a message. */
static int read_line(struct check *c, const char *text, size_t size, unsigned line) {
  struct eventring_condition condition;
  struct eventring_error error;
  for (size_t at = 0, end; at < size; at += end) {
    while (at < size && strchr(" \t;,\r", text[at])) at++;
    if (at == size || text[at] == '#') return STATUS_GO_ON;
    int status = eventring_condition_parse(&condition, text + at, size - at, &end, &error);
    bool closed = at + end == size || strchr(";,#\r", text[at + end]);
    if (status == EVENTRING_OK && closed) {
      if (c->rules.count == EVA_MAX_RULES) {
        complain("more than %d rules", EVA_MAX_RULES);
        return STATUS_USAGE;
      }
      add_rule(c, &condition, text + at, end, line);
      continue;
    }
    /* parses the rule again as if nothing might follow it, for the message */
    if (status == EVENTRING_OK)
      eventring_condition_parse(&condition, text + at, size - at, NULL, &error);
    const char *what = error.text;
    unsigned long column = at;
    if (strncmp(what, "column ", 7) == 0) column += strtoul(what + 7, (char **)&what, 10);
    if (line) complain("%s:%u: column %lu%s", c->file, line, column, what);
    else complain("`%.*s': column %lu%s", (int)size, text, column, what);
    return STATUS_USAGE;
  }
  return STATUS_GO_ON;
}

static int read_text(struct check *c, const char *text, size_t size) {
  int status = STATUS_GO_ON;
  unsigned line = 1;
  for (size_t at = 0; goes_on(status) && at < size; line++) {
    const char *end = memchr(text + at, '\n', size - at);
    size_t length = end ? (size_t)(end - text) - at : size - at;
    if (memchr(text + at, 0, length)) {
      complain("%s:%u: a 0 byte: not a text", c->file, line);
      return STATUS_USAGE;
    }
    status = read_line(c, text + at, length, line);
    at += length + 1;
  }
  return status;
}

static int read_file(struct check *c) {
  char *text = need_zeroed(MOST_FILE + 1, 1);
  FILE *file = fopen(c->file, "re");
  errno = file ? 0 : errno;
  size_t size = file ? fread(text, 1, MOST_FILE + 1, file) : 0;
  int cause = errno, status = STATUS_GO_ON;
  bool failed = !file || ferror(file);
  if (file) fclose(file);
  if (failed || size > MOST_FILE) {
    complain("%s: %s", c->file,
             failed ? strerror(cause) : "larger than 1 MiB: not a file of rules");
    status = STATUS_USAGE;
  } else {
    status = read_text(c, text, size);
  }
  free(text);
  return status;
}

/* ---- Results ------------------------------------------------------------------ */

static void print_rule(const struct check *c, const struct eva_rule *r) {
  char line[32] = "", value[EVA_RULE_VALUE], of[64] = "";
  if (r->line) snprintf(line, sizeof line, ":%u: ", r->line);
  if (r->condition.figure == EVENTRING_EACH && r->values > 1 && !r->reason[0])
    snprintf(of, sizeof of, " (the worst of %" PRIu64 " of %" PRIu64 ")", r->bad, r->values);
  table_say(stdout, 0, 4, "%s%s%s: %s%s%s", r->line ? c->file : "", line, r->text,
            r->reason[0] ? "cannot hold: " : "failed: ",
            r->reason[0] ? r->reason : eva_rule_value_text(value, r, r->value), of);
}

static size_t count_failed(const struct check *c) {
  size_t failed = 0;
  for (size_t i = 0; i < c->rules.count; i++) failed += !c->rules.rule[i].holds;
  return failed;
}

static size_t count_undecided(const struct check *c) {
  size_t undecided = 0;
  for (size_t i = 0; i < c->rules.count; i++) undecided += c->rules.rule[i].undecided;
  return undecided;
}

static void print_text(const struct check *c) {
  size_t failed = count_failed(c), count = c->rules.count;
  for (size_t i = 0; i < count; i++)
    if (!c->rules.rule[i].holds) print_rule(c, &c->rules.rule[i]);
  if (failed) printf("%zu of %zu rule%s failed\n", failed, count, count == 1 ? "" : "s");
  else printf("%zu rule%s\n", count, count == 1 ? " holds" : "s hold");
}

VIEW_GETTER(holds, struct eva_rule) {
  return row->undecided ? view_none() : view_bool(row->holds);
}

static VIEW(rule_view, struct eva_rule,
    {"rule", NULL, VIEW_PLAIN, ROW(text)},
    {"line", NULL, VIEW_PLAIN, ROW(line)},
    {"holds", NULL, VIEW_PLAIN, VIEW_GET(BOOL, holds), .help = "null: undecided"},
    {"value", NULL, VIEW_PLAIN, ROW(value), VIEW_IF(has_value)},
    {"at_least", NULL, VIEW_PLAIN, ROW(at_least), VIEW_IF(is_open),
     .flags = VIEW_PART, .help = "a span of the value is open, and may have gone on"},
    {"values", NULL, VIEW_COUNT, ROW(values)},
    {"bad", NULL, VIEW_COUNT, ROW(bad)},
    {"reason", NULL, VIEW_PLAIN, ROW(reason), .flags = VIEW_NO_0})

static void all_rules(struct view_to *to, const void *check) {
  const struct check *c = check;
  for (size_t i = 0; i < c->rules.count; i++) view_row(to, &c->rules.rule[i]);
}

VIEW_GETTER(failed, struct check) { return view_uint(count_failed(row)); }
VIEW_GETTER(undecided, struct check) { return view_uint(count_undecided(row)); }

static VIEW(total_view, struct check,
    {"rules", NULL, VIEW_COUNT, ROW(rules.count)},
    {"failed", NULL, VIEW_COUNT, VIEW_GET(UINT, failed)},
    {"undecided", NULL, VIEW_COUNT, VIEW_GET(UINT, undecided)})

static VIEW(check_view, struct check,
    {.form = VIEW_INCLUDE, .offset = offsetof(struct check, q), .view = &query_view},
    {"total", .form = VIEW_OBJECT, .view = &total_view},
    {"rows", .form = VIEW_ROWS, .view = &rule_view, .rows = all_rules, .flags = VIEW_MAIN})

/* ---- Classes ------------------------------------------------------------------ */

/* Adds `+"NAMESUFFIX"`, so that PROGRAM switches on the class of the event of that
   name. */
static void add_class(FILE *list, const char *name, size_t size, const char *suffix) {
  if (!size) return;
  fputs(ftell(list) > 0 ? ",+\"" : "+\"", list);
  for (size_t i = 0; i < size; i++) {
    if (name[i] == '"' || name[i] == '\\') putc('\\', list);
    putc(name[i], list);
  }
  fprintf(list, "%s\"", suffix);
}

/* Makes PROGRAM switch on the classes of all events that the rules name. */
static void record_what_rules_name(const struct check *c) {
  char *text = NULL;
  size_t text_size = 0;
  FILE *list = open_memstream(&text, &text_size);
  if (!list) no_memory();
  for (size_t i = 0; i < c->rules.count; i++) {
    const struct eventring_condition *condition = &c->rules.rule[i].condition;
    const char *name = condition->name, *within = condition->within;
    size_t size = strlen(name), bytes = strlen("_bytes");
    bool is_bytes = size > bytes && strcmp(name + size - bytes, "_bytes") == 0;
    bool gc = condition->subject == EVENTRING_SUBJECT_PAUSE ||
              condition->subject == EVENTRING_SUBJECT_HEAP;
    add_class(list, "gc", gc ? 2 : 0, "");
    add_class(list, name, size, "");
    add_class(list, name, is_bytes ? size - bytes : 0, "_words");
    add_class(list, name, condition->figure == EVENTRING_FIGURE_COUNT ? size : 0, "_begin");
    add_class(list, within, strlen(within), "");
    /* the counter that is written at the borders of spans */
    add_class(list, name, within[0] ? size : 0, "_total");
    add_class(list, name, within[0] && is_bytes ? size - bytes : 0, "_words_total");
  }
  if (fclose(list) != 0) no_memory();
  if (text_size) launch_add_classes(c->q.prefix, text);
  free(text);
}

/* ---- The command -------------------------------------------------------------- */

static int on_event(void *context, const struct eventring_event *event) {
  struct check *c = context;
  if (!query_is_past_start(&c->q, event->ns) || query_is_past_end(&c->q, event->ns))
    return 0;
  if (eva_rules_event(&c->rules, event) != EVENTRING_OK) no_memory();
  return 0;
}

static int check(struct check *c, const struct operands *operands) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, on_event, NULL};
  if (operands->command) record_what_rules_name(c);
  int status = query_open(&c->q, operands);
  if (!goes_on(status)) return status;
  c->rules.since = c->q.window.since;
  query_read(&c->q, &callbacks, NULL, c);
  /* for a PROGRAM that was watched from its start, events that were overwritten early
     count as lost, too */
  const uint64_t lost = c->q.totals.lost + (c->q.reader.launched ? c->q.totals.missed : 0);
  eva_rules_finish(&c->rules, c->q.reader.cursor, lost, c->q.window.until);
  if (view_wants_text(&c->q.as)) print_text(c);
  else query_put(&c->q, &check_view, c);
  status = reader_close(&c->q.reader, STATUS_OK);
  if (status != STATUS_OK) return status;
  /* a rule that no recording can fulfil outweighs one that this recording does not
     fulfil */
  for (size_t i = 0; i < c->rules.count; i++)
    if (c->rules.rule[i].is_wrong) return STATUS_USAGE;
  return count_failed(c) ? STATUS_FAILED : STATUS_OK;
}

/* Reads the rules: those given with --expression, or else those in the file that the
   first operand names. Returns STATUS_GO_ON, or the exit status after a message. */
static int take_rules(const struct command *self, struct check *c, const char *expressions,
                      struct operands *operands) {
  if (expressions) {
    c->file = NULL;
    return read_line(c, expressions, strlen(expressions), 0);
  }
  if (operands->count == 0) return usage_error(self, "no RULES given");
  c->file = operands->words[0];
  operands->words++;
  operands->count--;
  return STATUS_GO_ON;
}

static int read_words(const struct command *self, int count, char **words, struct check *c,
                      struct operands *operands) {
  struct query *q = &c->q;
  char *expressions = NULL;
  const struct option_spec specs[] = {
      {"expression", 'e', OPTION_LIST, &expressions, "RULE[;...]",
       "these rules instead of those of a file"},
      VIEW_SPECS(&q->as, check_view, "one JSON object"),
      TIME_WINDOW_SPECS(&q->window),
      {"seconds", 's', OPTION_SECONDS, &q->limit_ns, "N",
       "watch a live process for N seconds, not only what it holds"},
      ENV_PREFIX_SPEC(&q->prefix)};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (goes_on(status)) status = time_window_check(self, &q->window);
  if (goes_on(status)) status = take_rules(self, c, expressions, operands);
  if (goes_on(status)) status = require_target(self, operands, true);
  if (goes_on(status) && c->file) status = read_file(c);
  if (goes_on(status) && !c->rules.count) {
    complain("%s: no rules", c->file ? c->file : "--expression");
    status = STATUS_USAGE;
  }
  free(expressions);
  return status;
}

int command_check(const struct command *self, int count, char **words) {
  struct check *c = need_zeroed(1, sizeof *c);
  struct operands operands;
  c->q = (struct query)QUERY_NEW(0);
  int status = read_words(self, count, words, c, &operands);
  if (goes_on(status)) status = check(c, &operands);
  eva_rules_free(&c->rules);
  free(c);
  return status;
}
