/* SPDX-License-Identifier: MIT */
/* cmd_control.c: `eventring control`: changes what a live process records.
 *
 * It changes the control page, which the process and this command both map: the process
 * is not interrupted and need not react. Requests are checked first, and the file of the
 * copy is created, so that a wrong request changes nothing. Then come triggers, classes,
 * pause or resume, named functions, the copy, and the output of --status. (--start comes
 * before all of this, since before it there is nothing to check.)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "class_list.h"
#include "control_status.h"
#include "copy.h"
#include "eventring/conditions.h"
#include "eventring/memory.h"
#include "eventring/tools.h"
#include "new_file.h"
#include "options.h"
#include "reader.h"
#include "start.h"

struct request {
  bool start, pause, resume, status;
  struct view_choice as;
  const char *directory;        /* for the file of --start, or NULL */
  char *enable, *disable;       /* comma-separated names, or NULL */
  uint64_t enabled, disabled;   /* bits of the classes that `enable` and `disable` name */
  const char *profile;          /* `calls' or `off', or NULL */
  char *spans, *no_spans;       /* comma-separated names of functions, or NULL */
  /* how much of the past the rings shall grow to hold; UINT64_MAX: not given */
  uint64_t hold_ns;
  const char *memprof;          /* rate of samples, as text, or NULL */
  double rate;                  /* the rate as a number */
  const char *triggers;         /* the list of triggers to set, or NULL */
  const char *snapshot;         /* the copy to make, or NULL */
  char *names;                  /* names of functions whose calls shall be spans, or
                                   NULL */
  bool changes_spans;           /* whether the process gets `names` */
};

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
      {"profile", 0, OPTION_TEXT, &request->profile, "calls|off",
       "calls: keep a profile of calls from now on; off: end it"},
      {"span", 0, OPTION_LIST, &request->spans, "FUNCTION,...",
       "make a span of each call of these functions"},
      {"no-span", 0, OPTION_LIST, &request->no_spans, "FUNCTION,...",
       "no longer of these (or all)"},
      {"trigger", 0, OPTION_TEXT, &request->triggers, "TRIGGER[;...]",
       "save a copy when its condition is fulfilled; off: no longer"},
      {"snapshot", 0, OPTION_TEXT, &request->snapshot, "FILE",
       "write a copy to FILE, which must not exist yet"},
      {"status", 0, OPTION_FLAG, &request->status, NULL,
       "say what is recorded, after any change"},
      {"json", 'j', OPTION_FLAG, &request->as.json, NULL,
       "--status as one JSON object"},
      {"json-schema", 0, OPTION_SCHEMA, (void *)&control_status_view, NULL,
       "what --json writes, as JSON Schema"}};
  *request = (struct request){.hold_ns = UINT64_MAX};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (goes_on(status) && operands->command) return usage_error(self, "cannot launch a command");
  return goes_on(status) ? require_targets(self, operands) : status;
}

static bool changes_something(const struct request *request) {
  return request->pause || request->resume || request->enable || request->disable ||
         request->hold_ns != UINT64_MAX || request->memprof || request->profile ||
         request->triggers || request->spans || request->no_spans;
}

/* Tells whether the request has more than --start. */
static bool asks_more(const struct request *request) {
  return changes_something(request) || request->snapshot || request->status;
}

/* ---- Names with commas between them ---------------------------------------- */

/* Returns the first name of a list, sets *size to its bytes and moves *list behind it.
   Returns NULL if there is none. */
static const char *next_name(const char **list, size_t *size) {
  const char *name = *list;
  if (!name || !*name) return NULL;
  *size = strcspn(name, ",");
  *list = name + *size + (name[*size] == ',');
  return name;
}

static bool has_name(const char *list, const char *name, size_t size) {
  size_t other_size;
  for (const char *other; (other = next_name(&list, &other_size));)
    if (other_size == size && memcmp(other, name, size) == 0) return true;
  return false;
}

/* ---- Before a recording is opened ------------------------------------------- */

static int check_span_words(const struct command *self, const struct request *request) {
  const char *list = request->spans;
  size_t size;
  if (has_name(list, "all", 3))
    return usage_error(self, "--span: `all' is no function (--enable calls records spans of all "
                             "functions)");
  for (const char *name; (name = next_name(&list, &size));)
    if (has_name(request->no_spans, name, size))
      return usage_error(self, "`%.*s' is given both in --span and in --no-span", (int)size, name);
  return STATUS_GO_ON;
}

static int check_words(const struct command *self, struct request *request,
                       const struct operands *operands) {
  struct eventring_error error;
  pid_t pid;
  for (size_t i = 0; request->start && i < operands->count; i++)
    if (!read_process_number(operands->words[i], &pid))
      return usage_error(self, "%s is not the number of a process", operands->words[i]);
  if (request->snapshot && operands->count > 1)
    return usage_error(self, "--snapshot needs one PID or FILE, no more");
  if (request->snapshot && is_standard_output(request->snapshot) && request->status)
    return usage_error(self, "--snapshot - and --status cannot both write to standard output");
  if (request->memprof &&
      eventring_memory_parse_rate(request->memprof, &request->rate, &error) != 0)
    return usage_error(self, "--memprof %s", error.text);
  if (request->pause && request->resume)
    return usage_error(self, "--pause and --resume cannot be combined");
  if (request->profile && strcmp(request->profile, "calls") && strcmp(request->profile, "off"))
    return usage_error(self, "--profile: must be calls or off");
  if (request->triggers && strcmp(request->triggers, "off") != 0) {
    int count = eventring_triggers_check(request->triggers, strlen(request->triggers), &error);
    if (count < 0) return usage_error(self, "--trigger: %s", error.text);
    if (!count) return usage_error(self, "--trigger: the text contains no trigger");
  }
  if (request->as.json && !request->status)
    return usage_error(self, "--json needs --status");
  if (request->directory && !request->start)
    return usage_error(self, "--directory needs --start");
  if (!request->start && !asks_more(request))
    return usage_error(self, "nothing to do: no option says what to change or show");
  return check_span_words(self, request);
}

/* ---- Classes ------------------------------------------------------------- */

static int read_classes(eventring_cursor *cursor, const char *list, bool off,
                        uint64_t *classes) {
  char trouble[CLASS_TROUBLE];
  if (!list || class_list_read(cursor, list, off, classes, trouble)) return STATUS_OK;
  return wrong("%s", trouble);
}

/* Finds the named classes. Refuses what is impossible before anything is changed. */
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
  const uint64_t switched = request->enabled | request->disabled;
  if ((request->spans || request->no_spans) && switched >> EVENTRING_CLASS_CALLS & 1) {
    complain("class `calls' is of all functions: it cannot be switched together with %s",
             request->spans ? "--span" : "--no-span");
    return STATUS_USAGE;
  }
  return STATUS_OK;
}

/* ---- Functions that are spans ---------------------------------------------- */

/* Adds to `names` those names of `list` that are in neither `names` nor `but`. */
static void add_names(char **names, const char *list, const char *but) {
  size_t size;
  for (const char *name; (name = next_name(&list, &size));) {
    const size_t used = *names ? strlen(*names) : 0;
    if (!size || has_name(*names, name, size) || has_name(but, name, size)) continue;
    *names = need_resized(*names, used + size + 2, 1);
    snprintf(*names + used, size + 2, "%s%.*s", used ? "," : "", (int)size, name);
  }
}

static int check_named(const struct request *r, const struct eventring_info *info) {
  const char *no = r->no_spans;
  size_t size;
  if (r->spans && !info->call_names[0] && info->classes >> EVENTRING_CLASS_CALLS & 1)
    return wrong("class `calls' is on: every call is a span (--disable calls)");
  if (has_name(no, "all", 3)) return STATUS_OK;
  for (const char *name; (name = next_name(&no, &size));)
    if (!has_name(info->call_names, name, size))
      return wrong("no span was asked for of `%.*s'", (int)size, name);
  return STATUS_OK;
}

/* Finds request->names: the names that others have set, with the given names added and
   the --no-spans names removed. */
static int check_spans(eventring_cursor *cursor, struct request *r) {
  struct eventring_info info = {.size = sizeof info};
  if (!r->spans && !r->no_spans) return STATUS_OK;
  eventring_cursor_info(cursor, &info);
  int status = check_named(r, &info);
  if (status != STATUS_OK) return status;
  if (!has_name(r->no_spans, "all", 3)) add_names(&r->names, info.call_names, r->no_spans);
  add_names(&r->names, r->spans, NULL);
  /* otherwise class calls stays as it is */
  r->changes_spans = r->names || info.call_names[0];
  return STATUS_OK;
}

/* ---- What is done -------------------------------------------------------- */

/* Checks a change or makes it. */
typedef int act_function(eventring_cursor *cursor, const struct eventring_change *change,
                         struct eventring_error *error);

/* Calls `act` for each change that is wanted, until one fails. */
static int act_on(eventring_cursor *cursor, const struct request *r, act_function *act) {
  /* the triggers replace those that another command has set */
  const char *triggers = r->triggers && strcmp(r->triggers, "off") != 0 ? r->triggers : NULL;
  const bool calls = r->profile && strcmp(r->profile, "calls") == 0;
  const struct {
    bool wanted;
    struct eventring_change change;
  } all[] = {
      {r->triggers != NULL, *EVENTRING_CHANGE(TRIGGERS, .triggers = triggers)},
      {r->enabled != 0, *EVENTRING_CHANGE(ENABLE, .classes = r->enabled)},
      {r->disabled != 0, *EVENTRING_CHANGE(DISABLE, .classes = r->disabled)},
      {r->pause, *EVENTRING_CHANGE(PAUSE)},
      {r->resume, *EVENTRING_CHANGE(RESUME)},
      {r->hold_ns != UINT64_MAX, *EVENTRING_CHANGE(HOLD, .hold_ns = r->hold_ns)},
      {r->memprof != NULL, *EVENTRING_CHANGE(SAMPLE, .rate = r->rate)},
      {r->profile != NULL, *EVENTRING_CHANGE(PROFILE, .on = calls)},
      {r->changes_spans, *EVENTRING_CHANGE(SPANS, .spans = r->names)}};
  struct eventring_error error;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (all[i].wanted && act(cursor, &all[i].change, &error) != 0) return wrong("%s", error.text);
  return STATUS_OK;
}

/* Makes the changes and then the copy, if nothing is wrong with any of them: before the
   first change, all are checked and the file of the copy is created. */
static int check_and_change(eventring_cursor *cursor, struct request *r) {
  struct copy *copy = NULL;
  int status = check_classes(cursor, r);
  if (status == STATUS_OK) status = check_spans(cursor, r);
  if (status == STATUS_OK) status = act_on(cursor, r, eventring_cursor_control_check);
  if (status == STATUS_OK && r->snapshot && !(copy = copy_begin(r->snapshot)))
    status = STATUS_WRONG;
  if (status != STATUS_OK) return status;
  status = act_on(cursor, r, eventring_cursor_control);
  if (!copy) return status;
  const struct copy_options options = {.path = r->snapshot, .begun = copy, .quiet = true};
  if (status == STATUS_OK) return copy_recording(cursor, &options);
  copy_end(copy, false);
  return status;
}

/* ---- The command --------------------------------------------------------- */

static int control(const struct command *self, const char *pid_or_file, struct request *request) {
  struct reader reader;
  pid_t pid;
  if (request->start && read_process_number(pid_or_file, &pid)) {
    int status = start_recording(self, pid, request->directory);
    if (status != STATUS_OK || !asks_more(request)) return status;
  }
  /* a symbolic link is followed only if nothing is changed */
  const unsigned link = changes_something(request) ? 0 : EVENTRING_OPEN_FOLLOW;
  int status = reader_open_present(&reader, pid_or_file, EVENTRING_OPEN_NOW | link);
  if (!goes_on(status)) return status;
  status = check_and_change(reader.cursor, request);
  if (status == STATUS_OK && request->status)
    status = control_status(reader.cursor, &request->as);
  return reader_close(&reader, status);
}

/* Changes each named process. If one is gone, the others are changed nevertheless. */
static int control_all(const struct command *self, const struct operands *operands,
                       struct request *request) {
  int status = STATUS_OK;
  for (size_t i = 0; i < operands->count; i++) {
    request->enabled = request->disabled = 0; /* another process may have other numbers */
    free(request->names);
    request->names = NULL; /* another process may have other names */
    request->changes_spans = false;
    if (i > 0 && request->status && !request->as.json) putchar('\n');
    int one = control(self, operands->words[i], request);
    if (one != STATUS_OK) status = one;
  }
  return status;
}

int command_control(const struct command *self, int count, char **words) {
  struct request request;
  struct operands operands;
  int status = read_words(self, count, words, &request, &operands);
  if (goes_on(status)) status = check_words(self, &request, &operands);
  if (goes_on(status)) status = control_all(self, &operands, &request);
  free(request.enable);
  free(request.disable);
  free(request.spans);
  free(request.no_spans);
  free(request.names);
  return status;
}
