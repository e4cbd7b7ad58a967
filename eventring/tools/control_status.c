/* SPDX-License-Identifier: MIT */
/* control_status.c: prints what a process records, for `eventring control --status`. */
#include "control_status.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "analysis/figures.h"
#include "analysis/names.h"
#include "eventring/conditions.h"
#include "eventring/tools.h"
#include "reader.h"
#include "shared_views.h"

/* ---- What is on -------------------------------------------------------------- */

VIEW_GETTER(process, struct eventring_info) {
  char process[PROCESS_TEXT];
  return view_printf(to, "%s, %s", process_text(process, row), eva_liveness_name(row->liveness));
}

VIEW_GETTER(state, struct eventring_info) {
  return view_printf(to, "%s%s%s", eva_state_name(row->state), eva_room_text(row->no_room),
                     row->liveness == EVENTRING_DEAD ? " when it died" : "");
}

/* Returns the names of the classes that are on (argument 1) or off (0). */
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

/* ---- What else is asked for --------------------------------------------------- */

VIEW_GETTER(memprof, struct eventring_info) {
  if (!row->sample_rate) return view_text("off");
  return view_printf(to, "%g samples a word", row->sample_rate);
}

/* States of a profile, by whether it is requested and whether it is kept. */
static const struct profile_state {
  const char *name, *text;
} profile_states[2][2] = {
    {{"off", "none"}, {"ending", "of calls, which is to end at the next safepoint"}},
    {{"asked", "of calls, which begins at the next safepoint"}, {"on", "of calls"}}};

static const struct profile_state *profile_state(const struct eventring_info *info) {
  return &profile_states[info->profile_asked][info->profile_kept];
}
VIEW_GETTER(profile, struct eventring_info) { return view_text(profile_state(row)->text); }
VIEW_GETTER(profile_name, struct eventring_info) { return view_text(profile_state(row)->name); }

VIEW_GETTER(call_names, struct eventring_info) {
  if (row->call_names[0]) return view_text(row->call_names);
  return view_text(row->classes >> EVENTRING_CLASS_CALLS & 1 ? "all functions" : "none");
}

static bool is_ring(struct view_to *to, unsigned ring) {
  return eventring_cursor_name(to->cursor, EVENTRING_NAME_RING, ring) != NULL;
}

VIEW_GETTER(streams, struct eventring_info) {
  size_t used = 0;
  for (unsigned ring = 0; ring < EVENTRING_RINGS; ring++)
    if (row->stream_rings >> ring & 1 && used < sizeof to->room)
      used += (size_t)snprintf(to->room + used, sizeof to->room - used, "%s%s", used ? " " : "",
                               eva_ring_name(to->cursor, (uint8_t)ring));
  return view_text(used ? to->room : "none");
}

static void all_rings(struct view_to *to, const void *row) {
  const struct eventring_info *info = row;
  for (unsigned ring = 0; ring < EVENTRING_RINGS; ring++) {
    bool is_stream = info->stream_rings >> ring & 1;
    if (is_ring(to, ring)) view_named_row(to, eva_ring_name(to->cursor, (uint8_t)ring), &is_stream);
  }
}

/* Finds how many bytes the user may still write to the disk of the file. Returns false if
   that is unknown. */
static bool free_bytes(const struct eventring_info *info, uint64_t *bytes) {
  struct statvfs disk;
  if (statvfs(info->path, &disk) != 0) return false;
  *bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
  return true;
}

VIEW_GETTER(disk_free, struct eventring_info) {
  uint64_t bytes;
  return free_bytes(row, &bytes) ? view_uint(bytes) : view_none();
}

VIEW_GETTER(disk, struct eventring_info) {
  uint64_t bytes;
  char taken[64];
  snprintf(taken, sizeof taken, "%s", eva_bytes(row->disk_size));
  if (!free_bytes(row, &bytes)) return view_printf(to, "%s taken", taken);
  return view_printf(to, "%s taken, %s free", taken, eva_bytes(bytes));
}

/* ---- Triggers ----------------------------------------------------------------- */

VIEW_GETTER(condition, struct eventring_trigger_state) {
  char text[EVENTRING_MAX_NAME + 1];
  if (!eventring_cursor_condition(to->cursor, row, text)) return view_text(NULL);
  return view_printf(to, "%s", text);
}

VIEW_GETTER(owner, struct eventring_trigger_state) {
  static const char *const names[] = {[EVENTRING_BY_PROGRAM] = "program",
                                      [EVENTRING_BY_CONFIG] = "environment",
                                      [EVENTRING_BY_CONTROL] = "control"};
  return view_text(row->owner < sizeof names / sizeof names[0] ? names[row->owner] : NULL);
}

VIEW_GETTER(trouble, struct eventring_trigger_state) {
  return view_text(row->error ? eventring_strerror(row->error) : NULL);
}

static VIEW(trigger_view, struct eventring_trigger_state,
    {"condition", "condition", VIEW_PLAIN, VIEW_GET(TEXT, condition)},
    {"set_by", "set by", VIEW_PLAIN, VIEW_GET(TEXT, owner),
     .help = "program, environment (SAROS_EVENTRING_TRIGGER), control"},
    {"fired", "fired", VIEW_COUNT, ROW(fired), .help = "times that the condition was fulfilled"},
    {"saved", "saved", VIEW_COUNT, ROW(saved), .help = "copies"},
    {"skipped", "skipped", VIEW_COUNT, ROW(skipped),
     .help = "not saved, because of cooldown, max, size, or a copy under way"},
    {"failed", "failed", VIEW_COUNT, ROW(failed), .help = "copies that could not be made"},
    {"bytes", "size", VIEW_BYTES, ROW(bytes), .help = "of all copies"},
    {"error", "last error", VIEW_PLAIN, VIEW_GET(TEXT, trouble)})

static void all_triggers(struct view_to *to, const void *row) {
  struct eventring_trigger_state trigger;
  (void)row;
  for (unsigned i = 0; eventring_cursor_trigger(to->cursor, i, &trigger) == EVENTRING_OK; i++)
    view_row(to, &trigger);
}

/* ---- The status --------------------------------------------------------------- */

VIEW(control_status_view, struct eventring_info,
    {.form = VIEW_INCLUDE, .view = &head_view},
    {NULL, "process", VIEW_PLAIN, VIEW_GET(TEXT, process)},
    {NULL, "program", VIEW_PLAIN, ROW(program)},
    {NULL, "state", VIEW_PLAIN, VIEW_GET(TEXT, state)},
    {NULL, "on", VIEW_PLAIN, VIEW_GET(TEXT, class_names), .argument = true},
    {NULL, "off", VIEW_PLAIN, VIEW_GET(TEXT, class_names), .argument = false},
    {NULL, "domains", VIEW_PLAIN, VIEW_GET(TEXT, domains)},
    {NULL, "memprof", VIEW_PLAIN, VIEW_GET(TEXT, memprof)},
    {NULL, "profile", VIEW_PLAIN, VIEW_GET(TEXT, profile)},
    {NULL, "spans of", VIEW_PLAIN, VIEW_GET(TEXT, call_names)},
    {NULL, "streams", VIEW_PLAIN, VIEW_GET(TEXT, streams)},
    {NULL, "file", VIEW_PLAIN, ROW(path)},
    {NULL, "disk", VIEW_PLAIN, VIEW_GET(TEXT, disk)},
    {"state", NULL, VIEW_STATE, ROW(state)},
    {"domains_laid_out", NULL, VIEW_COUNT, ROW(domains_laid_out)},
    {"classes", .form = VIEW_MAP, .view = &class_view, .rows = all_classes},
    {NULL, "no room", VIEW_PLAIN, VIEW_GET(TEXT, view_no_room)},
    {"memprof_rate", NULL, VIEW_PLAIN, ROW(sample_rate), .help = "samples a word; 0: off"},
    {"profile", NULL, VIEW_PLAIN, VIEW_GET(TEXT, profile_name), .help = "off, asked, on, ending"},
    {"call_names", NULL, VIEW_PLAIN, ROW(call_names), .flags = VIEW_MAYBE | VIEW_NO_0,
     .help = "functions whose calls are spans, with commas between them"},
    {"streams", .form = VIEW_MAP, .view = &class_view, .rows = all_rings},
    {"disk_size", NULL, VIEW_BYTES, ROW(disk_size), .help = "of the file"},
    {"disk_free", NULL, VIEW_BYTES, VIEW_GET(UINT, disk_free), .help = "of its file system"},
    {"triggers", .form = VIEW_ROWS, .view = &trigger_view, .rows = all_triggers},
    {"control_malformed", NULL, VIEW_PLAIN, ROW(control_malformed)},
    {"control_rejected", NULL, VIEW_COUNT, ROW(control_rejected)})

static void print_text(struct view_to *to, const struct eventring_info *info) {
  view_lines(to, &control_status_view, info);
  view_section(to, "triggers", &trigger_view, all_triggers, info);
}

int control_status(eventring_cursor *cursor, const struct view_choice *as) {
  struct view_to to = {.out = stdout, .cursor = cursor, .as = *as};
  struct eventring_info info = {.size = sizeof info};
  if (eventring_cursor_info(cursor, &info) < 0)
    return wrong("%s", eventring_cursor_error(cursor)->text);
  if (view_wants_text(as)) print_text(&to, &info);
  else view_object(&to, &control_status_view, &info);
  complain_of_control(&info);
  return STATUS_OK;
}
