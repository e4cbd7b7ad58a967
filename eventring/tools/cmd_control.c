/* SPDX-License-Identifier: MIT */
/* cmd_control.c: `eventring control`: changes what a live process records.
 *
 * It changes the control page, which the process and this command both map: the process
 * is not interrupted and need not react. Requests are checked first, so that a wrong one
 * changes nothing. Then come --start, the classes, pause or resume, the copy, and the output
 * of --status.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eventring/memory.h"
#include "eventring/conditions.h"
#include "analysis/names.h"
#include "class_list.h"
#include "copy.h"
#include "eventring/tools.h"
#include "options.h"
#include "start.h"
#include "follow.h"
#include "shared_views.h"

struct request {
  bool start, pause, resume, status;
  struct view_choice as;
  pid_t pid;                    /* of --start */
  const char *directory;        /* of its file, or NULL */
  char *enable, *disable;       /* comma-separated names, or NULL */
  uint64_t enabled, disabled;   /* the classes that they name */
  const char *profile;          /* `calls' or `off', or NULL */
  uint64_t hold_ns;             /* that rings grow for; UINT64_MAX: not asked for */
  const char *memprof;          /* rate of samples, or NULL */
  double rate;                  /* that it says */
  const char *triggers;         /* the list that is to be in force, or NULL */
  const char *snapshot;         /* the copy to make, or NULL */
};

/* ---- Status -------------------------------------------------------------- */

VIEW_GETTER(process, struct eventring_info) {
  char process[PROCESS_TEXT];
  return view_printf(to, "%s, %s", process_text(process, row), eva_liveness_name(row->liveness));
}

VIEW_GETTER(state, struct eventring_info) {
  return view_printf(to, "%s%s", eva_state_name(row->state),
                     row->liveness == EVENTRING_DEAD ? " when it died" : "");
}

/* Those that are on, or off. */
VIEW_GETTER(class_names, struct eventring_info) {
  size_t used = 0;
  to->room[0] = '\0';
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++) {
    const char *name = eventring_cursor_name(to->cursor, EVENTRING_NAME_CLASS, i);
    if (name && (row->classes >> i & 1) == column->argument && used < sizeof to->room)
      used += (size_t)snprintf(to->room + used, sizeof to->room - used, "%s%s", used ? " " : "",
                               name);
  }
  return view_text(to->room);
}

VIEW_GETTER(domains, struct eventring_info) {
  return view_printf(to, "%u recorded", row->domains_laid_out);
}

static VIEW(class_view, bool,
{"", .type = VIEW_BOOL})

static void all_classes(struct view_to *to, const void *row) {
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++) {
    const char *name = eventring_cursor_name(to->cursor, EVENTRING_NAME_CLASS, i);
    bool is_on = ((const struct eventring_info *)row)->classes >> i & 1;
    if (name) view_named_row(to, name, &is_on);
  }
}

static VIEW(status_view, struct eventring_info,
    {.form = VIEW_INCLUDE, .view = &head_view},
    {NULL, "process", VIEW_PLAIN, VIEW_GET(TEXT, process)},
    {NULL, "program", VIEW_PLAIN, ROW(program)},
    {NULL, "state", VIEW_PLAIN, VIEW_GET(TEXT, state)},
    {NULL, "on", VIEW_PLAIN, VIEW_GET(TEXT, class_names), .argument = true},
    {NULL, "off", VIEW_PLAIN, VIEW_GET(TEXT, class_names), .argument = false},
    {NULL, "domains", VIEW_PLAIN, VIEW_GET(TEXT, domains)},
    {NULL, "file", VIEW_PLAIN, ROW(path)},
    {"state", NULL, VIEW_STATE, ROW(state)},
    {"domains_laid_out", NULL, VIEW_COUNT, ROW(domains_laid_out)},
    {"classes", .form = VIEW_MAP, .view = &class_view, .rows = all_classes},
    {"control_malformed", NULL, VIEW_PLAIN, ROW(control_malformed)},
    {"control_rejected", NULL, VIEW_COUNT, ROW(control_rejected)})

static int tell_status(eventring_cursor *cursor, const struct view_choice *as) {
  struct view_to to = {.out = stdout, .cursor = cursor, .as = *as};
  struct eventring_info info = {.size = sizeof info};
  if (eventring_cursor_info(cursor, &info) < 0)
    return wrong("%s", eventring_cursor_error(cursor)->text);
  if (view_wants_text(as)) view_lines(&to, &status_view, &info);
  else view_object(&to, &status_view, &info);
  complain_of_control(&info);
  return STATUS_OK;
}

/* ---- What is asked ------------------------------------------------------- */

static int read_words(const struct command *self, int count, char **words,
                      struct request *request, struct operands *operands) {
  const struct option_spec specs[] = {
      {"start", 0, OPTION_FLAG, &request->start, NULL,
       "have a process record that was started without"},
      {"directory", 0, OPTION_TEXT, &request->directory, "DIR",
       "of the file of --start (the current one)"},
      {"pause", 0, OPTION_FLAG, &request->pause, NULL, "record nothing for now"},
      {"resume", 0, OPTION_FLAG, &request->resume, NULL,
       "go on; also start a recording that stands by"},
      {"enable", 0, OPTION_LIST, &request->enable, "CLASS,...",
       "record these classes of events (or all)"},
      {"disable", 0, OPTION_LIST, &request->disable, "CLASS,...",
       "no longer record these (or all)"},
      {"hold", 0, OPTION_SECONDS, &request->hold_ns, "N",
       "let rings grow until they hold the last N seconds (or 500ms, 2m)"},
      {"memprof", 0, OPTION_TEXT, &request->memprof, "on|RATE|off",
       "sample allocations, at RATE a word (on: 1e-4)"},
      {"profile", 0, OPTION_TEXT, &request->profile, "WHAT",
       "calls: keep a profile of calls from now on; off: end it"},
      {"trigger", 0, OPTION_TEXT, &request->triggers, "TRIGGER[;...]",
       "save a copy when its condition is fulfilled; off: no longer"},
      {"snapshot", 0, OPTION_TEXT, &request->snapshot, "FILE",
       "write a copy to FILE, which must not exist yet"},
      {"status", 0, OPTION_FLAG, &request->status, NULL,
       "say what is recorded, after any change"},
      {"json", 'j', OPTION_FLAG, &request->as.json, NULL,
       "--status as one JSON object"},
      {"json-schema", 0, OPTION_SCHEMA, (void *)&status_view, NULL,
       "what --json writes, as JSON Schema"}};
  *request = (struct request){.hold_ns = UINT64_MAX};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (status < 0 && request->start) return require_process(self, operands, &request->pid);
  return status >= 0 ? status : require_target(self, operands, false);
}

static bool changes_something(const struct request *request) {
  return request->pause || request->resume || request->enable || request->disable ||
         request->hold_ns != UINT64_MAX || request->memprof || request->profile ||
         request->triggers;
}

/* Than --start. */
static bool asks_more(const struct request *request) {
  return changes_something(request) || request->snapshot || request->status;
}

static int check_words(const struct command *self, struct request *request) {
  struct eventring_error error;
  if (request->memprof &&
      eventring_memory_parse_rate(request->memprof, &request->rate, &error) != 0)
    return usage_error(self, "--memprof %s", error.text);
  if (request->pause && request->resume)
    return usage_error(self, "both --pause and --resume");
  if (request->profile && strcmp(request->profile, "calls") && strcmp(request->profile, "off"))
    return usage_error(self, "--profile: calls or off");
  if (request->triggers && strcmp(request->triggers, "off") != 0) {
    int count = eventring_triggers_check(request->triggers, strlen(request->triggers), &error);
    if (count < 0) return usage_error(self, "--trigger: %s", error.text);
    if (!count) return usage_error(self, "--trigger: there is none");
  }
  if (request->as.json && !request->status)
    return usage_error(self, "--json is for --status");
  if (request->directory && !request->start)
    return usage_error(self, "--directory is for --start");
  if (!request->start && !asks_more(request))
    return usage_error(self, "nothing is asked for");
  return -1;
}

/* ---- Classes ------------------------------------------------------------- */

static int read_classes(eventring_cursor *cursor, const char *list, bool off,
                        uint64_t *classes) {
  char trouble[CLASS_TROUBLE];
  if (!list || class_list_read(cursor, list, off, classes, trouble)) return STATUS_OK;
  return wrong("%s", trouble);
}

/* Refuses what cannot be done before anything is changed. */
static int check_classes(eventring_cursor *cursor, struct request *request) {
  uint64_t always = EVENTRING_CLASS_BIT(EVENTRING_CLASS_LIFECYCLE);
  int status = read_classes(cursor, request->enable, false, &request->enabled);
  if (status == STATUS_OK)
    status = read_classes(cursor, request->disable, true, &request->disabled);
  if (status != STATUS_OK) return status;
  uint64_t both = request->enabled & request->disabled & ~always;
  if (both) {
    complain("class `%s' cannot be both enabled and disabled",
             eventring_cursor_name(cursor, EVENTRING_NAME_CLASS, (unsigned)__builtin_ctzll(both)));
    return STATUS_USAGE;
  }
  return STATUS_OK;
}

/* ---- What is done -------------------------------------------------------- */

static int ask(eventring_cursor *cursor, bool wanted, const struct eventring_change *change) {
  struct eventring_error error;
  if (!wanted || eventring_cursor_control(cursor, change, &error) == 0) return STATUS_OK;
  return wrong("%s", error.text);
}

static int change(eventring_cursor *cursor, const struct request *r) {
  /* in the place of those that another command has set */
  const char *triggers = r->triggers && strcmp(r->triggers, "off") != 0 ? r->triggers : NULL;
  const bool calls = r->profile && strcmp(r->profile, "calls") == 0;
  const struct {
    bool wanted;
    struct eventring_change change;
  } all[] = {
      {r->enabled != 0, *EVENTRING_CHANGE(ENABLE, .classes = r->enabled)},
      {r->disabled != 0, *EVENTRING_CHANGE(DISABLE, .classes = r->disabled)},
      {r->pause, *EVENTRING_CHANGE(PAUSE)},
      {r->resume, *EVENTRING_CHANGE(RESUME)},
      {r->hold_ns != UINT64_MAX, *EVENTRING_CHANGE(HOLD, .hold_ns = r->hold_ns)},
      {r->memprof != NULL, *EVENTRING_CHANGE(SAMPLE, .rate = r->rate)},
      {r->profile != NULL, *EVENTRING_CHANGE(PROFILE, .on = calls)},
      {r->triggers != NULL, *EVENTRING_CHANGE(TRIGGERS, .triggers = triggers)}};
  int status = STATUS_OK;
  for (size_t i = 0; i < sizeof all / sizeof all[0] && status == STATUS_OK; i++)
    status = ask(cursor, all[i].wanted, &all[i].change);
  return status;
}

static int copy(eventring_cursor *cursor, const char *path) {
  const struct copy_options options = {.path = path, .quiet = true};
  return path ? copy_recording(cursor, &options) : STATUS_OK;
}

/* ---- The command --------------------------------------------------------- */

/* Only who changes nothing follows a symbolic link. */
static unsigned open_flags(const struct request *request) {
  return EVENTRING_OPEN_NOW | (changes_something(request) ? 0 : EVENTRING_OPEN_FOLLOW);
}

static int serve(const char *pid_or_file, struct request *request) {
  struct reader reader;
  int status = reader_open_target(&reader, pid_or_file, open_flags(request));
  if (status >= 0) return status;
  status = check_classes(reader.cursor, request);
  if (status == STATUS_OK) status = change(reader.cursor, request);
  if (status == STATUS_OK) status = copy(reader.cursor, request->snapshot);
  if (status == STATUS_OK && request->status)
    status = tell_status(reader.cursor, &request->as);
  return reader_close(&reader, status);
}

int command_control(const struct command *self, int count, char **words) {
  struct request request;
  struct operands operands;
  int status = read_words(self, count, words, &request, &operands);
  if (status < 0) status = check_words(self, &request);
  if (status < 0 && request.start) {
    status = start_recording(self, request.pid, request.directory);
    if (status == STATUS_OK && asks_more(&request)) status = -1;
  }
  if (status < 0) status = serve(operands.words[0], &request);
  free(request.enable);
  free(request.disable);
  return status;
}
