/* SPDX-License-Identifier: MIT */
/* cmd_show.c: `eventring show`: prints what a recording says about itself. */
#include <stdio.h>
#include <string.h>

#include "analysis/ending.h"
#include "analysis/figures.h"
#include "analysis/lives.h"
#include "analysis/names.h"
#include "analysis/reach.h"
#include "options.h"
#include "reader.h"
#include "shared_views.h"

/* ---- The header --------------------------------------------------------------- */

VIEW_GETTER(process, struct eventring_info) { return view_text(process_text(to->room, row)); }

VIEW_GETTER(state, struct eventring_info) {
  return view_printf(to, "%s, %s%s", eva_liveness_name(row->liveness), eva_state_name(row->state),
                     eva_room_text(row->no_room));
}

VIEW_GETTER(started, struct eventring_info) {
  return view_printf(to, "%s (monotonic %s s)", eva_wall(row->start_wall_ns),
                     eva_seconds((int64_t)row->start_ns));
}

VIEW_GETTER(ended, struct eventring_info) {
  char how[EVA_ENDING];
  const struct eva_ending ending = eva_ending_of(row);
  eva_ending_text(how, &ending);
  if (row->end_ns <= row->start_ns) return view_text(how[0] ? strcpy(to->room, how) : NULL);
  return view_printf(to, "%s later%s%s", eva_duration(row->end_ns - row->start_ns),
                     how[0] ? ", " : "", how);
}

static bool is_error_cut(const void *row) {
  const struct eventring_info *info = row;
  return info->error_bytes > strlen(info->error_text);
}

VIEW_GETTER(cut, struct eventring_info) { return view_text("..."); }

VIEW_GETTER(ticks, struct eventring_info) {
  return view_printf(to, "%s, %.6g MHz", row->clock, row->clock_hz / 1e6);
}

VIEW_GETTER(ring_size, struct eventring_info) {
  return view_printf(to, "%u blocks of %u words (wsize %u), %s for each ring in use", row->blocks,
                     row->block_words, row->wsize,
                     eva_bytes((uint64_t)row->blocks * row->block_words * 8));
}

VIEW_GETTER(growing, struct eventring_info) {
  if (!row->hold_ns) return view_none();
  return view_printf(to, "until they hold the last %s, by at most %s in all",
                     eva_duration(row->hold_ns), eva_bytes(row->grow_bytes));
}

/* Returns the names of the rings that are streams. */
VIEW_GETTER(streams, struct eventring_info) {
  size_t used = 0;
  if (!row->has_streams) return view_none();
  for (unsigned ring = 0; ring < EVENTRING_RINGS; ring++)
    if (row->stream_rings >> ring & 1)
      used += (size_t)snprintf(to->room + used, sizeof to->room - used, "%s ",
                               eva_ring_name(to->cursor, (uint8_t)ring));
  snprintf(to->room + used, sizeof to->room - used, "  (%s)",
           row->incomplete ? "saved from the rings of a live process" : "nothing is overwritten");
  return view_text(to->room);
}

VIEW_GETTER(domains, struct eventring_info) {
  if (row->unrecorded)
    return view_printf(to, "%u of %u have rings; %s more were not recorded",
                       row->domains_laid_out, row->max_domains, eva_count(row->unrecorded));
  return view_printf(to, "%u of %u have rings", row->domains_laid_out, row->max_domains);
}

VIEW_GETTER(size, struct eventring_info) {
  return view_printf(to, "%s, %s on disk", eva_bytes(row->file_size), eva_bytes(row->disk_size));
}

VIEW_GETTER(compressed, struct eventring_info) {
  if (!row->plain_size) return view_none();
  return view_printf(to, "with zstd, from %s", eva_bytes(row->plain_size));
}

VIEW_GETTER(claimed, struct eventring_info) {
  return view_printf(to, "%s claimed", eva_count(row->blocks_claimed));
}

/* Returns which records are missing. This value and the next two are mostly absent. */
VIEW_GETTER(dropped, struct eventring_info) {
  if (!row->names_dropped && !row->lives_dropped) return view_none();
  return view_printf(to, "%s definitions (their events are \"(other)\"), %s records of domains",
                     eva_count(row->names_dropped), eva_count(row->lives_dropped));
}

VIEW_GETTER(lost, struct eventring_info) {
  if (!row->events_dropped) return view_none();
  return view_printf(to, "%s events of rings that found no room for a block",
                     eva_count(row->events_dropped));
}

VIEW_GETTER(unknown, struct eventring_info) {
  if (!row->unknown_blocks && !row->unknown_records) return view_none();
  return view_printf(to, "%s blocks, %s records of kinds that this version does not know",
                     eva_count(row->unknown_blocks), eva_count(row->unknown_records));
}

VIEW_GETTER(class_names, struct eventring_info) {
  size_t used = 0;
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++) {
    const char *name = eventring_cursor_name(to->cursor, EVENTRING_NAME_CLASS, i);
    if (name && used < sizeof to->room)
      used += (size_t)snprintf(to->room + used, sizeof to->room - used, "%s%s ",
                               row->classes >> i & 1 ? "" : "-", name);
  }
  if (used < sizeof to->room) snprintf(to->room + used, sizeof to->room - used, "  (- is off)");
  return view_text(to->room);
}

/* ---- Classes, catalogue ------------------------------------------------------- */

struct class_row {
  unsigned index;
  const char *name;
  bool on;
};
static VIEW(class_view, struct class_row,
    {"index", NULL, VIEW_PLAIN, ROW(index)},
    {"name", NULL, VIEW_PLAIN, ROW(name)},
    {"on", NULL, VIEW_PLAIN, ROW(on)})

static void all_classes(struct view_to *to, const void *row) {
  const struct eventring_info *info = row;
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++) {
    const char *name = eventring_cursor_name(to->cursor, EVENTRING_NAME_CLASS, i);
    if (name) view_row(to, &(struct class_row){i, name, info->classes >> i & 1});
  }
}

/* Returns the kind of a payload, with the names of its values, or with what a counter
   measures. */
VIEW_GETTER(payload, struct eventring_def) {
  const char *more = row->measure ? eva_measure_name(row->measure) : row->fields;
  bool has_more = more && more[0];
  return view_printf(to, has_more ? "%s (%s)" : "%s", eva_payload_name(row->payload), more);
}

static bool is_counter(const void *row) {
  return ((const struct eventring_def *)row)->kind == EVENTRING_DEF_COUNTER;
}

static bool has_quantity(const void *row) {
  return ((const struct eventring_def *)row)->quantity != EVENTRING_QUANTITY_NONE;
}

static VIEW(def_view, struct eventring_def,
    {"id", "id", VIEW_PLAIN, ROW(id)},
    {"name", "<name", VIEW_PLAIN, ROW(name)},
    {"kind", "<kind", VIEW_DEF_KIND, ROW(kind)},
    {"class", "<class", VIEW_CLASS, ROW(event_class)},
    {"ring", "<ring", VIEW_RING, ROW(ring)},
    {NULL, "|<payload", VIEW_PLAIN, VIEW_GET(TEXT, payload)},
    {"payload", NULL, VIEW_PAYLOAD, ROW(payload)},
    {"unit", "<unit", VIEW_PLAIN, ROW(unit)},
    {"doc", "<+meaning", VIEW_PLAIN, ROW(doc)},
    {"measure", NULL, VIEW_MEASURE, ROW(measure), .has = is_counter, .flags = VIEW_MAYBE},
    {"quantity", NULL, VIEW_QUANTITY, ROW(quantity), .has = has_quantity, .flags = VIEW_MAYBE},
    {"fields", NULL, VIEW_PLAIN, ROW(fields), .flags = VIEW_MAYBE | VIEW_NO_0})

static void all_defs(struct view_to *to, const void *row) {
  (void)row;
  for (unsigned id = 0; id < EVENTRING_MAX_EVENTS; id++) {
    const struct eventring_def *def = eventring_cursor_def(to->cursor, id);
    if (def) view_row(to, def);
  }
}

/* ---- Processes of a recording that was made of others ------------------------- */

struct process_row {
  struct eventring_process is;
  unsigned number;
  struct eva_ending ending;
};

VIEW_GETTER(process_ended, struct process_row) {
  bool says_how = eva_ending_text(to->room, &row->ending)[0];
  return view_text(says_how ? to->room : eva_liveness_name(row->ending.liveness));
}

static VIEW_WITH(process_view, struct process_row, (.keys = 2),
    {"process", "process", VIEW_PLAIN, ROW(number)},
    {"program", "<program", VIEW_PLAIN, ROW(is.program)},
    {"pid", "pid", VIEW_PLAIN, ROW(is.pid)},
    {"start_ns", "from", VIEW_MOMENT, ROW(is.start_ns)},
    {"end_ns", "to", VIEW_MOMENT, ROW(is.end_ns)},
    {NULL, "<ended", VIEW_PLAIN, VIEW_GET(TEXT, process_ended)},
    {"events", "events", VIEW_COUNT, ROW(is.events)},
    {"missed", "missed", VIEW_COUNT, ROW(is.missed)},
    {"lost", "lost", VIEW_COUNT, ROW(is.lost)},
    {"path", "<+recording", VIEW_PLAIN, ROW(is.source)},
    {"liveness", NULL, VIEW_LIVENESS, ROW(is.liveness)},
    {"start_wall_ns", NULL, VIEW_WALL, ROW(is.start_wall_ns)},
    {"shift_ns", NULL, VIEW_NS, ROW(is.shift_ns), .help = "ns added to its times"},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct process_row, ending), .view = &ending_view},
    {"error_ns", NULL, VIEW_MOMENT, ROW(is.error_ns), .flags = VIEW_MAYBE | VIEW_NO_0})

static void all_processes(struct view_to *to, const void *row) {
  struct process_row process = {.number = 1};
  (void)row;
  for (; eventring_cursor_process(to->cursor, process.number, &process.is) == 0; process.number++) {
    process.ending = eva_ending_of_process(&process.is);
    view_row(to, &process);
  }
}

/* ---- Domains and rings -------------------------------------------------------- */

static VIEW_WITH(life_view, struct eventring_domain_info, (.keys = 2),
    {NULL, "domain", VIEW_PLAIN, ROW(slot)},
    {"name", "<name", VIEW_PLAIN, ROW(name)},
    {"incarnation", "turn", VIEW_PLAIN, ROW(incarnation)},
    {"tid", "thread", VIEW_PLAIN, ROW(tid)},
    {"start_ns", "from", VIEW_MOMENT, ROW(start_ns)},
    {"stop_ns", "to", VIEW_MOMENT, ROW(stop_ns)},
    {"alive", NULL, VIEW_PLAIN, ROW(alive)},
    {"process", NULL, VIEW_PLAIN, ROW(process), .flags = VIEW_MAYBE | VIEW_NO_0})

static void add_life(void *to, const struct eventring_domain_info *life) { view_row(to, life); }

static void lives_of(struct view_to *to, const void *row) {
  eva_each_life(to->cursor, ((const struct eventring_domain_info *)row)->slot, add_life, to);
}

struct ring_row {
  unsigned slot;
  uint8_t ring;
  struct eventring_ring_info info;
  uint64_t overwritten;
};

/* Returns the time of the newest event of all rings. */
static uint64_t last_event(eventring_cursor *cursor) {
  struct eventring_ring_info figures = {.size = sizeof figures};
  uint64_t last = 0;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    for (int ring = 0; ring < EVENTRING_RINGS; ring++)
      if (eventring_cursor_ring(cursor, slot, (enum eventring_ring)ring, &figures) >= 0 &&
          figures.newest_ns > last)
        last = figures.newest_ns;
  return last;
}

VIEW_GETTER(reach, struct ring_row) {
  if (eva_ring_is_whole(&row->info)) return view_text("all");
  return view_text(
      eva_duration_text(to->room, eva_ring_reach(&row->info, *(const uint64_t *)to->context)));
}

static VIEW_WITH(ring_view, struct ring_row, (.keys = 2),
    {NULL, "domain", VIEW_PLAIN, ROW(slot)},
    {NULL, "<ring", VIEW_RING, ROW(ring)},
    {"emitted", "emitted", VIEW_COUNT, ROW(info.emitted)},
    {"available", "still there", VIEW_COUNT, ROW(info.available)},
    {NULL, "overwritten", VIEW_COUNT, ROW(overwritten)},
    {"blocks_written", "blocks", VIEW_COUNT, ROW(info.blocks_written)},
    {"oldest_ns", "|oldest", VIEW_MOMENT, ROW(info.oldest_ns)},
    {"newest_ns", "newest", VIEW_MOMENT, ROW(info.newest_ns)},
    {NULL, "holds", VIEW_PLAIN, VIEW_GET(TEXT, reach)},
    {"stream", NULL, VIEW_PLAIN, ROW(info.is_stream),
     .help = "true: nothing of the ring is overwritten"})

static void rings_of(struct view_to *to, const void *row) {
  struct ring_row ring = {.info.size = sizeof ring.info,
                          .slot = ((const struct eventring_domain_info *)row)->slot};
  for (; ring.ring < EVENTRING_RINGS; ring.ring++) {
    const struct eventring_ring_info *info = &ring.info;
    if (eventring_cursor_ring(to->cursor, ring.slot, (enum eventring_ring)ring.ring, &ring.info) <
        0)
      continue;
    ring.overwritten = info->emitted > info->available ? info->emitted - info->available : 0;
    view_named_row(to, eva_ring_name(to->cursor, ring.ring), &ring);
  }
}

static VIEW(domain_view, struct eventring_domain_info,
    {"domain", NULL, VIEW_PLAIN, ROW(slot)},
    {.form = VIEW_INCLUDE, .view = &life_view},
    {"lives", NULL, VIEW_ROWS, .view = &life_view, .rows = lives_of},
    {"rings", NULL, VIEW_MAP, .view = &ring_view, .rows = rings_of})

/* Calls `of` for each domain; in text, `of` prints one part of the output. */
static void each_domain(struct view_to *to, void (*of)(struct view_to *to, const void *row)) {
  struct eventring_domain_info domain = {.size = sizeof domain};
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    if (eventring_cursor_domain(to->cursor, slot, &domain) >= 0) of(to, &domain);
}

static void all_domains(struct view_to *to, const void *row) {
  (void)row;
  each_domain(to, view_row);
}

static void all_lives(struct view_to *to, const void *row) {
  (void)row;
  each_domain(to, lives_of);
}

static void all_rings(struct view_to *to, const void *row) {
  (void)row;
  each_domain(to, rings_of);
}

/* ---- All of it ---------------------------------------------------------------- */

static bool has_error(const void *row) {
  return ((const struct eventring_info *)row)->error_ns != 0;
}

/* Tells whether a recording was merged from others, and so has processes. */
static bool is_made_of_others(const void *row) {
  return pid_here(row) == 0;
}

static VIEW_WITH(show_view, struct eventring_info, (.has_version = true),
    {.form = VIEW_INCLUDE, .view = &head_view},
    {NULL, "file", VIEW_PLAIN, ROW(path)},
    {NULL, "program", VIEW_PLAIN, ROW(program)},
    {NULL, "process", VIEW_PLAIN, VIEW_GET(TEXT, process)},
    {NULL, "state", VIEW_PLAIN, VIEW_GET(TEXT, state)},
    {NULL, "no room", VIEW_PLAIN, VIEW_GET(TEXT, view_no_room)},
    {NULL, "started", VIEW_PLAIN, VIEW_GET(TEXT, started)},
    {NULL, "ended", VIEW_PLAIN, VIEW_GET(TEXT, ended)},
    {NULL, "error", VIEW_PLAIN, ROW(error_text), .flags = VIEW_NO_0},
    {NULL, "", VIEW_PLAIN, VIEW_GET(TEXT, cut), .has = is_error_cut},
    {"process_start", NULL, VIEW_PLAIN, ROW(process_start),
     .help = "clock ticks after boot, as in /proc/PID/stat; 0: not known"},
    {"state", NULL, VIEW_STATE, ROW(state)},
    {"version", "format", VIEW_PLAIN, ROW(version), .help = "of the file's format"},
    {"start_ns", NULL, VIEW_MOMENT, ROW(start_ns)},
    {"start_wall_ns", NULL, VIEW_WALL, ROW(start_wall_ns)},
    {"end_ns", NULL, VIEW_MOMENT, ROW(end_ns), .help = "0: it has not ended"},
    {"error_ns", NULL, VIEW_MOMENT, ROW(error_ns), .has = has_error, .flags = VIEW_MAYBE},
    {"error_bytes", NULL, VIEW_BYTES, ROW(error_bytes), .has = has_error, .flags = VIEW_MAYBE,
     .help = "of its text before it was cut"},
    {NULL, "clock", VIEW_PLAIN, VIEW_GET(TEXT, ticks)},
    {"clock", NULL, VIEW_PLAIN, ROW(clock)},
    {"clock_hz", NULL, VIEW_PLAIN, ROW(clock_hz)},
    {NULL, "rings", VIEW_PLAIN, VIEW_GET(TEXT, ring_size)},
    {NULL, "growing", VIEW_PLAIN, VIEW_GET(TEXT, growing)},
    {NULL, "streams", VIEW_PLAIN, VIEW_GET(TEXT, streams)},
    {"wsize", NULL, VIEW_PLAIN, ROW(wsize), .help = "log2 of the words of a ring"},
    {"blocks", NULL, VIEW_COUNT, ROW(blocks)},
    {"block_words", NULL, VIEW_COUNT, ROW(block_words)},
    {"hold_ns", NULL, VIEW_NS, ROW(hold_ns)},
    {"grow_bytes", NULL, VIEW_BYTES, ROW(grow_bytes)},
    {NULL, "domains", VIEW_PLAIN, VIEW_GET(TEXT, domains)},
    {"max_domains", NULL, VIEW_COUNT, ROW(max_domains)},
    {"domains_laid_out", NULL, VIEW_COUNT, ROW(domains_laid_out)},
    {"unrecorded", NULL, VIEW_COUNT, ROW(unrecorded),
     .help = "domains so far that found all slots in use: nothing of them is recorded"},
    {NULL, "size", VIEW_PLAIN, VIEW_GET(TEXT, size)},
    {NULL, "compressed", VIEW_PLAIN, VIEW_GET(TEXT, compressed)},
    {"file_size", NULL, VIEW_BYTES, ROW(file_size)},
    {"disk_size", NULL, VIEW_BYTES, ROW(disk_size)},
    {"plain_size", NULL, VIEW_BYTES, ROW(plain_size)},
    {"control_malformed", NULL, VIEW_PLAIN, ROW(control_malformed)},
    {"control_rejected", NULL, VIEW_COUNT, ROW(control_rejected)},
    {NULL, "blocks", VIEW_PLAIN, VIEW_GET(TEXT, claimed)},
    {NULL, "dropped", VIEW_PLAIN, VIEW_GET(TEXT, dropped)},
    {NULL, "lost", VIEW_PLAIN, VIEW_GET(TEXT, lost)},
    {NULL, "passed over", VIEW_PLAIN, VIEW_GET(TEXT, unknown)},
    {"blocks_claimed", NULL, VIEW_COUNT, ROW(blocks_claimed)},
    {"names_dropped", NULL, VIEW_COUNT, ROW(names_dropped)},
    {"lives_dropped", NULL, VIEW_COUNT, ROW(lives_dropped)},
    {"unknown_blocks", NULL, VIEW_COUNT, ROW(unknown_blocks)},
    {"unknown_records", NULL, VIEW_COUNT, ROW(unknown_records)},
    {NULL, "classes", VIEW_PLAIN, VIEW_GET(TEXT, class_names)},
    {"classes", NULL, VIEW_ROWS, .view = &class_view, .rows = all_classes},
    {"catalogue", NULL, VIEW_ROWS, .view = &def_view, .rows = all_defs, .flags = VIEW_MAIN},
    {"processes", NULL, VIEW_ROWS, .has = is_made_of_others, .view = &process_view,
     .rows = all_processes},
    {"domains", NULL, VIEW_ROWS, .view = &domain_view, .rows = all_domains})

static void show_text(struct view_to *to, const struct eventring_info *info) {
  uint64_t last_ns = last_event(to->cursor);
  view_lines(to, &show_view, info);
  view_section(to, "Processes", &process_view, all_processes, info);
  view_section(to, "Catalogue", &def_view, all_defs, info);
  view_section(to, "Domains", &life_view, all_lives, info);
  to->context = &last_ns;
  view_section(to, "Rings", &ring_view, all_rings, info);
}

/* ---- The command --------------------------------------------------------- */

/* Reads all blocks once, so that a file that is damaged after its header is not shown as
   sound. */
static void check_blocks(struct reader *reader) {
  static const struct eventring_callbacks nothing = {sizeof nothing, NULL, NULL};
  const struct reading reading = {.callbacks = &nothing, .until = UINT64_MAX};
  reader_run(reader, &reading);
}

static int show(const char *pid_or_file, struct view_choice as) {
  struct view_to to = {.out = stdout, .as = as};
  struct reader reader;
  struct eventring_info info = {.size = sizeof info};
  int status = reader_open_target(&reader, pid_or_file, EVENTRING_OPEN_FOLLOW);
  if (!goes_on(status)) return status;
  if (eventring_cursor_info(reader.cursor, &info) < 0) {
    complain("%s", eventring_cursor_error(reader.cursor)->text);
    return reader_close(&reader, STATUS_WRONG);
  }
  check_blocks(&reader);
  complain_of_control(&info);
  to.cursor = reader.cursor;
  to.start_ns = info.start_ns;
  if (view_wants_text(&to.as)) show_text(&to, &info);
  else view_object(&to, &show_view, &info);
  return reader_close(&reader, STATUS_OK);
}

int command_show(const struct command *self, int count, char **words) {
  struct view_choice as = {0};
  struct operands operands;
  const struct option_spec specs[] = {
      VIEW_SPECS(&as, show_view, "one JSON object a recording")};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  if (goes_on(status) && operands.command) return usage_error(self, "cannot launch a command");
  if (goes_on(status)) status = require_targets(self, &operands);
  if (!goes_on(status)) return status;
  status = STATUS_OK;
  for (size_t i = 0; i < operands.count; i++) {
    if (i > 0 && view_wants_text(&as)) fputs("\n\n", stdout);
    int one = show(operands.words[i], as);
    if (one != STATUS_OK) status = one;
  }
  return status;
}
