/* SPDX-License-Identifier: MIT */
/* cmd_show.c: `eventring show`: what a recording says of itself. */
#include <stdio.h>
#include <string.h>

#include "analysis/ending.h"
#include "analysis/json.h"
#include "analysis/lives.h"
#include "analysis/names.h"
#include "analysis/reach.h"
#include "options.h"
#include "follow.h"
#include "text_table.h"
#include "analysis/units.h"

/* ---- Text ---------------------------------------------------------------- */

static void line(const char *label, const char *text) {
  printf("%-12s ", label);
  print_foreign_text(stdout, text);
  putchar('\n');
}

/* Each line of the error on one of its own. */
static void print_error(const struct eventring_info *info) {
  char part[2 * EVENTRING_MAX_END_TEXT + 1];
  const char *label = "error";
  for (const char *at = info->error_text; *at; label = "") {
    size_t size = strcspn(at, "\n"), tabs = strspn(at, "\t");
    snprintf(part, sizeof part, "%*s%.*s", (int)(2 * tabs), "", (int)(size - tabs), at + tabs);
    line(label, part);
    at += size + (at[size] == '\n');
  }
  if (info->error_bytes > strlen(info->error_text)) line("", "...");
}

static void print_end(const struct eventring_info *info) {
  char text[EVA_ENDING + EVA_FIGURE + 16], how[EVA_ENDING], length[EVA_FIGURE];
  const struct eva_ending ending = eva_ending_of(info);
  eva_ending_text(how, &ending);
  if (info->end_ns > info->start_ns)
    snprintf(text, sizeof text, "%s later%s%s",
             eva_duration_text(length, info->end_ns - info->start_ns), how[0] ? ", " : "", how);
  else
    snprintf(text, sizeof text, "%s", how);
  if (text[0]) line("ended", text);
  print_error(info);
}

static void print_state(const struct eventring_info *info) {
  char text[128], start[EVA_FIGURE], length[EVA_FIGURE];
  snprintf(text, sizeof text, "%s, %s", eva_liveness_name(info->liveness),
           eva_state_name(info->state));
  line("state", text);
  snprintf(text, sizeof text, "%s (monotonic %s s)",
           eva_wall_text(start, info->start_wall_ns),
           eva_seconds_text(length, (int64_t)info->start_ns));
  line("started", text);
  print_end(info);
}

/* Which rings are streams, of those that are there. */
static void print_streams(const eventring_cursor *cursor, const struct eventring_info *info) {
  if (!info->has_streams) return;
  printf("%-12s", "streams");
  for (unsigned ring = 0; ring < EVENTRING_RINGS; ring++) {
    if (!(info->stream_rings >> ring & 1)) continue;
    fputs(" ", stdout);
    print_foreign_text(stdout, eva_ring_name(cursor, (uint8_t)ring));
  }
  printf("   (%s)\n", info->incomplete ? "saved from the rings of a live process"
                                        : "nothing is overwritten");
}

static void print_layout(const eventring_cursor *cursor, const struct eventring_info *info) {
  char text[192], a[EVA_FIGURE], b[EVA_FIGURE];
  snprintf(text, sizeof text, "%s, %.6g MHz", info->clock, info->clock_hz / 1e6);
  line("clock", text);
  snprintf(text, sizeof text, "%u blocks of %u words (wsize %u), %s each that is used",
           info->blocks, info->block_words, info->wsize,
           eva_bytes_text(a, (uint64_t)info->blocks * info->block_words * 8));
  line("rings", text);
  if (info->hold_ns) {
    snprintf(text, sizeof text, "until they hold the last %s, by at most %s in all",
             eva_duration_text(a, info->hold_ns), eva_bytes_text(b, info->grow_bytes));
    line("growing", text);
  }
  print_streams(cursor, info);
  snprintf(text, sizeof text, "%u of %u have rings", info->domains_laid_out,
           info->max_domains);
  line("domains", text);
  snprintf(text, sizeof text, "%s, %s on disk", eva_bytes_text(a, info->file_size),
           eva_bytes_text(b, info->disk_size));
  line("size", text);
  if (info->plain_size) {
    snprintf(text, sizeof text, "with zstd, from %s", eva_bytes_text(a, info->plain_size));
    line("compressed", text);
  }
  snprintf(text, sizeof text, "%s claimed", eva_count_text(a, info->blocks_claimed));
  line("blocks", text);
}

/* What is missing of the records, and what this program does not know; mostly nothing. */
static void print_exceptions(const struct eventring_info *info) {
  char text[160], a[EVA_FIGURE], b[EVA_FIGURE];
  if (info->names_dropped || info->lives_dropped) {
    snprintf(text, sizeof text, "%s definitions (their events are \"(other)\"), %s records of "
             "domains", eva_count_text(a, info->names_dropped),
             eva_count_text(b, info->lives_dropped));
    line("dropped", text);
  }
  if (info->events_dropped) {
    snprintf(text, sizeof text, "%s events, for which there was never any room",
             eva_count_text(a, info->events_dropped));
    line("lost", text);
  }
  if (info->unknown_blocks || info->unknown_records) {
    snprintf(text, sizeof text, "%s blocks, %s records of kinds that this version does not know",
             eva_count_text(a, info->unknown_blocks), eva_count_text(b, info->unknown_records));
    line("passed over", text);
  }
}

static void print_header(eventring_cursor *cursor,
                         const struct eventring_info *info) {
  char text[PROCESS_TEXT];
  line("file", info->path);
  line("program", info->program);
  line("process", process_text(text, info));
  print_state(info);
  snprintf(text, sizeof text, "%u", info->version);
  line("format", text);
  print_layout(cursor, info);
  print_exceptions(info);
  printf("%-12s", "classes");
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++) {
    const char *name = eventring_cursor_class(cursor, i);
    if (!name) continue;
    fputs(info->classes >> i & 1 ? " " : " -", stdout);
    print_foreign_text(stdout, name);
  }
  printf("   (- is off)\n");
}

/* Its kind; of several values also their names; of a counter also what it measures. */
static void cell_payload(struct table *table, const struct eventring_def *def) {
  char text[EVENTRING_MAX_FIELDS + 32];
  const char *more = def->measure ? eva_measure_name(def->measure) : def->fields;
  bool has_more = more && more[0];
  snprintf(text, sizeof text, has_more ? "%s (%s)" : "%s", eva_payload_name(def->payload), more);
  table_cell(table, text);
}

static void catalogue_row(struct table *table, eventring_cursor *cursor,
                          const struct eventring_def *def) {
  char text[16];
  const char *class_name = eventring_cursor_class(cursor, def->event_class);
  snprintf(text, sizeof text, "%u", def->id);
  table_cell(table, text);
  table_cell(table, def->name);
  table_cell(table, eva_def_kind_name(def->kind));
  table_cell(table, class_name ? class_name : "?");
  table_cell(table, eva_ring_name(cursor, def->ring));
  cell_payload(table, def);
  table_cell(table, def->unit ? def->unit : "");
  table_cell(table, def->doc ? def->doc : "");
}

static void print_catalogue(eventring_cursor *cursor) {
  TABLE(table, "id", "<name", "<kind", "<class", "<ring", "|<payload", "<unit",
        "<+meaning");
  for (unsigned id = 0; id < EVENTRING_MAX_EVENTS; id++) {
    const struct eventring_def *def = eventring_cursor_def(cursor, id);
    if (def) catalogue_row(&table, cursor, def);
  }
  printf("\nCatalogue\n");
  table_print(&table, stdout, 2);
}

/* Moments are shown in seconds since the start of the recording. */
static void cell_moment(struct table *table, const struct eventring_info *info,
                        uint64_t ns) {
  char figure[EVA_FIGURE];
  table_cell(table, ns == 0 ? "-" : eva_seconds_text(figure,
                                        (int64_t)(ns - info->start_ns)));
}

/* ---- Processes ----------------------------------------------------------- */

static void process_row(struct table *table, const struct eventring_info *info, unsigned number,
                        const struct eventring_process *process) {
  char text[16], figure[EVA_FIGURE], how[EVA_ENDING];
  const struct eva_ending ending = eva_ending_of_process(process);
  snprintf(text, sizeof text, "%u", number);
  table_cell(table, text);
  table_cell(table, process->program);
  snprintf(text, sizeof text, "%ld", (long)process->pid);
  table_cell(table, text);
  cell_moment(table, info, process->start_ns);
  cell_moment(table, info, process->end_ns);
  table_cell(table, eva_ending_text(how, &ending)[0] ? how : eva_liveness_name(ending.liveness));
  table_cell(table, eva_count_text(figure, process->events));
  table_cell(table, eva_count_text(figure, process->missed));
  table_cell(table, eva_count_text(figure, process->lost));
  table_cell(table, process->source);
}

/* Of a recording that was made of others. */
static void print_processes(eventring_cursor *cursor, const struct eventring_info *info) {
  TABLE(table, "process", "<program", "pid", "from s", "to s", "<ended", "events", "missed",
        "lost", "<recording");
  struct eventring_process process;
  unsigned number = 1;
  for (; eventring_cursor_process(cursor, number, &process) == 0; number++)
    process_row(&table, info, number, &process);
  if (number == 1) return;
  printf("\nProcesses\n");
  table_print(&table, stdout, 2);
}

/* ---- Domains ------------------------------------------------------------- */

/* What the rows of the domains are written with. */
struct domain_list {
  struct table *table;
  const struct eventring_info *info;
};

static void domain_row(void *context, const struct eventring_domain_info *domain) {
  const struct domain_list *list = context;
  struct table *table = list->table;
  char text[16];
  snprintf(text, sizeof text, "%u", domain->slot);
  table_cell(table, text);
  table_cell(table, domain->name);
  snprintf(text, sizeof text, "%u", domain->incarnation);
  table_cell(table, text);
  snprintf(text, sizeof text, "%ld", (long)domain->tid);
  table_cell(table, text);
  cell_moment(table, list->info, domain->start_ns);
  cell_moment(table, list->info, domain->stop_ns);
}

static void ring_row(struct table *table, eventring_cursor *cursor,
                     const struct eventring_info *info,
                     unsigned slot, enum eventring_ring ring,
                     const struct eventring_ring_info *figures, uint64_t last_ns) {
  char text[16], figure[EVA_FIGURE];
  snprintf(text, sizeof text, "%u", slot);
  table_cell(table, text);
  table_cell(table, eva_ring_name(cursor, (uint8_t)ring));
  table_cell(table, eva_count_text(figure, figures->emitted));
  table_cell(table, eva_count_text(figure, figures->available));
  table_cell(table, eva_count_text(figure, figures->emitted > figures->available
                                           ? figures->emitted - figures->available
                                           : 0));
  table_cell(table, eva_count_text(figure, figures->blocks_written));
  cell_moment(table, info, figures->oldest_ns);
  cell_moment(table, info, figures->newest_ns);
  bool whole = eva_ring_is_whole(figures);
  table_cell(table, whole ? "all"
                          : eva_duration_text(figure, eva_ring_reach(figures, last_ns)));
}

/* Time of the newest event of all rings. */
static uint64_t last_event(eventring_cursor *cursor, unsigned slots) {
  struct eventring_ring_info figures;
  uint64_t last = 0;
  for (unsigned slot = 0; slot < slots; slot++)
    for (int ring = 0; ring < EVENTRING_RINGS; ring++)
      if (eventring_cursor_ring(cursor, slot, (enum eventring_ring)ring, &figures) >= 0 &&
          figures.newest_ns > last)
        last = figures.newest_ns;
  return last;
}

static void print_domains(eventring_cursor *cursor,
                          const struct eventring_info *info) {
  TABLE(domains, "domain", "<name", "turn", "thread", "from s", "to s");
  TABLE(rings, "domain", "<ring", "emitted", "still there", "overwritten",
        "blocks", "oldest s", "newest s", "holds");
  uint64_t last_ns = last_event(cursor, info->domains_laid_out);
  for (unsigned slot = 0; slot < info->domains_laid_out; slot++) {
    struct eventring_ring_info figures;
    eva_each_life(cursor, slot, domain_row, &(struct domain_list){&domains, info});
    for (int ring = 0; ring < EVENTRING_RINGS; ring++)
      if (eventring_cursor_ring(cursor, slot, (enum eventring_ring)ring,
                                &figures) >= 0)
        ring_row(&rings, cursor, info, slot, (enum eventring_ring)ring, &figures, last_ns);
  }
  printf("\nDomains\n");
  table_print(&domains, stdout, 2);
  printf("\nRings\n");
  table_print(&rings, stdout, 2);
}

static void show_text(eventring_cursor *cursor,
                      const struct eventring_info *info) {
  print_header(cursor, info);
  print_processes(cursor, info);
  print_catalogue(cursor);
  print_domains(cursor, info);
}

/* ---- JSON ---------------------------------------------------------------- */

static void put_header(struct eva_json *json, const struct eventring_info *info) {
  eva_json_string_at(json, "path", info->path);
  eva_json_string_at(json, "program", info->program);
  put_process(json, info);
  eva_json_uint_at(json, "process_start", info->process_start);
  eva_json_string_at(json, "liveness", eva_liveness_name(info->liveness));
  eva_json_string_at(json, "state", eva_state_name(info->state));
  eva_json_uint_at(json, "version", info->version);
  eva_json_uint_at(json, "start_ns", info->start_ns);
  eva_json_int_at(json, "start_wall_ns", info->start_wall_ns);
  eva_json_uint_at(json, "end_ns", info->end_ns);
  const struct eva_ending ending = eva_ending_of(info);
  eva_ending_put(json, &ending);
  if (info->error_ns) {
    eva_json_uint_at(json, "error_ns", info->error_ns);
    eva_json_uint_at(json, "error_bytes", info->error_bytes);
  }
  eva_json_string_at(json, "clock", info->clock);
  eva_json_double_at(json, "clock_hz", info->clock_hz);
  eva_json_uint_at(json, "wsize", info->wsize);
  eva_json_uint_at(json, "blocks", info->blocks);
  eva_json_uint_at(json, "block_words", info->block_words);
  eva_json_uint_at(json, "hold_ns", info->hold_ns);
  eva_json_uint_at(json, "grow_bytes", info->grow_bytes);
  eva_json_uint_at(json, "max_domains", info->max_domains);
  eva_json_uint_at(json, "domains_laid_out", info->domains_laid_out);
  eva_json_uint_at(json, "file_size", info->file_size);
  eva_json_uint_at(json, "disk_size", info->disk_size);
  eva_json_uint_at(json, "plain_size", info->plain_size);
  eva_json_bool_at(json, "control_malformed", info->control_malformed);
  eva_json_uint_at(json, "control_rejected", info->control_rejected);
  eva_json_uint_at(json, "blocks_claimed", info->blocks_claimed);
  eva_json_uint_at(json, "names_dropped", info->names_dropped);
  eva_json_uint_at(json, "lives_dropped", info->lives_dropped);
  eva_json_uint_at(json, "events_dropped", info->events_dropped);
  eva_json_uint_at(json, "unknown_blocks", info->unknown_blocks);
  eva_json_uint_at(json, "unknown_records", info->unknown_records);
}

static void put_classes(struct eva_json *json, eventring_cursor *cursor,
                        const struct eventring_info *info) {
  eva_json_key(json, "classes");
  eva_json_open_array(json);
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++) {
    const char *name = eventring_cursor_class(cursor, i);
    if (!name) continue;
    eva_json_open_object(json);
    eva_json_uint_at(json, "index", i);
    eva_json_string_at(json, "name", name);
    eva_json_bool_at(json, "on", info->classes >> i & 1);
    eva_json_close_object(json);
  }
  eva_json_close_array(json);
}

static void put_def(struct eva_json *json, eventring_cursor *cursor,
                    const struct eventring_def *def) {
  const char *class_name = eventring_cursor_class(cursor, def->event_class);
  eva_json_open_object(json);
  eva_json_uint_at(json, "id", def->id);
  eva_json_string_at(json, "name", def->name);
  eva_json_string_at(json, "kind", eva_def_kind_name(def->kind));
  eva_json_string_at(json, "class", class_name ? class_name : "?");
  eva_json_string_at(json, "ring", eva_ring_name(cursor, def->ring));
  eva_json_string_at(json, "payload", eva_payload_name(def->payload));
  eva_json_string_at(json, "unit", def->unit ? def->unit : "");
  eva_json_string_at(json, "doc", def->doc ? def->doc : "");
  if (def->kind == EVENTRING_DEF_COUNTER)
    eva_json_string_at(json, "measure", eva_measure_name(def->measure));
  if (def->fields && def->fields[0]) eva_json_string_at(json, "fields", def->fields);
  eva_json_close_object(json);
}

static void put_catalogue(struct eva_json *json, eventring_cursor *cursor) {
  eva_json_key(json, "catalogue");
  eva_json_open_array(json);
  for (unsigned id = 0; id < EVENTRING_MAX_EVENTS; id++) {
    const struct eventring_def *def = eventring_cursor_def(cursor, id);
    if (def) put_def(json, cursor, def);
  }
  eva_json_close_array(json);
}

static void put_ring(struct eva_json *json, eventring_cursor *cursor, unsigned slot,
                     enum eventring_ring ring) {
  struct eventring_ring_info figures;
  if (eventring_cursor_ring(cursor, slot, ring, &figures) < 0) return;
  eva_json_key(json, eva_ring_name(cursor, (uint8_t)ring));
  eva_json_open_object(json);
  eva_json_uint_at(json, "emitted", figures.emitted);
  eva_json_uint_at(json, "available", figures.available);
  eva_json_uint_at(json, "blocks_written", figures.blocks_written);
  eva_json_uint_at(json, "oldest_ns", figures.oldest_ns);
  eva_json_uint_at(json, "newest_ns", figures.newest_ns);
  eva_json_bool_at(json, "stream", figures.is_stream);
  eva_json_close_object(json);
}

static void put_life(void *context, const struct eventring_domain_info *life) {
  struct eva_json *json = context;
  eva_json_open_object(json);
  eva_json_uint_at(json, "incarnation", life->incarnation);
  eva_json_string_at(json, "name", life->name);
  eva_json_bool_at(json, "alive", life->alive);
  eva_json_int_at(json, "tid", life->tid);
  eva_json_uint_at(json, "start_ns", life->start_ns);
  eva_json_uint_at(json, "stop_ns", life->stop_ns);
  if (life->process) eva_json_uint_at(json, "process", life->process);
  eva_json_close_object(json);
}

static void put_domain(struct eva_json *json, eventring_cursor *cursor,
                       unsigned slot) {
  struct eventring_domain_info domain;
  if (eventring_cursor_domain(cursor, slot, &domain) < 0) return;
  eva_json_open_object(json);
  eva_json_uint_at(json, "domain", slot);
  eva_json_string_at(json, "name", domain.name);
  eva_json_uint_at(json, "incarnation", domain.incarnation);
  eva_json_bool_at(json, "alive", domain.alive);
  eva_json_int_at(json, "tid", domain.tid);
  eva_json_uint_at(json, "start_ns", domain.start_ns);
  eva_json_uint_at(json, "stop_ns", domain.stop_ns);
  if (domain.process) eva_json_uint_at(json, "process", domain.process);
  eva_json_key(json, "lives");
  eva_json_open_array(json);
  eva_each_life(cursor, slot, put_life, json);
  eva_json_close_array(json);
  eva_json_key(json, "rings");
  eva_json_open_object(json);
  for (int ring = 0; ring < EVENTRING_RINGS; ring++)
    put_ring(json, cursor, slot, (enum eventring_ring)ring);
  eva_json_close_object(json);
  eva_json_close_object(json);
}

static void put_one_process(struct eva_json *json, unsigned number,
                            const struct eventring_process *process) {
  const struct eva_ending ending = eva_ending_of_process(process);
  eva_json_open_object(json);
  eva_json_uint_at(json, "process", number);
  eva_json_string_at(json, "program", process->program);
  eva_json_int_at(json, "pid", process->pid);
  eva_json_string_at(json, "path", process->source);
  eva_json_string_at(json, "liveness", eva_liveness_name(process->liveness));
  eva_json_uint_at(json, "start_ns", process->start_ns);
  eva_json_int_at(json, "start_wall_ns", process->start_wall_ns);
  eva_json_int_at(json, "shift_ns", process->shift_ns);
  eva_json_uint_at(json, "end_ns", process->end_ns);
  eva_ending_put(json, &ending);
  if (process->error_ns) eva_json_uint_at(json, "error_ns", process->error_ns);
  eva_json_uint_at(json, "events", process->events);
  eva_json_uint_at(json, "missed", process->missed);
  eva_json_uint_at(json, "lost", process->lost);
  eva_json_close_object(json);
}

static void put_processes(struct eva_json *json, eventring_cursor *cursor) {
  struct eventring_process process;
  if (eventring_cursor_process(cursor, 1, &process) < 0) return;
  eva_json_key(json, "processes");
  eva_json_open_array(json);
  for (unsigned n = 1; eventring_cursor_process(cursor, n, &process) == 0; n++)
    put_one_process(json, n, &process);
  eva_json_close_array(json);
}

static void show_json(eventring_cursor *cursor,
                      const struct eventring_info *info) {
  struct eva_json json;
  eva_json_start(&json, stdout);
  eva_json_open_object(&json);
  put_header(&json, info);
  put_classes(&json, cursor, info);
  put_catalogue(&json, cursor);
  put_processes(&json, cursor);
  eva_json_key(&json, "domains");
  eva_json_open_array(&json);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    put_domain(&json, cursor, slot);
  eva_json_close_array(&json);
  eva_json_close_object(&json);
  eva_json_line(&json);
}

/* ---- The command --------------------------------------------------------- */

/* Reads all blocks once, so that a file that is damaged beyond its header is not
   shown as if it were sound. */
static void check_blocks(struct reader *reader) {
  static const struct eventring_callbacks nothing = {NULL, NULL};
  const struct reading reading = {.callbacks = &nothing, .until = UINT64_MAX};
  reader_run(reader, &reading);
}

int command_show(const struct command *self, int count, char **words) {
  bool json = false;
  struct operands operands;
  struct reader reader;
  struct eventring_info info;
  const struct option_spec specs[] = {
      {"json", 'j', OPTION_FLAG, &json, NULL, "one JSON object"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  if (status < 0) status = require_target(self, &operands, false);
  if (status < 0) status = reader_open_target(&reader, operands.words[0], EVENTRING_OPEN_FOLLOW);
  if (status >= 0) return status;
  if (eventring_cursor_info(reader.cursor, &info) < 0) {
    complain("%s", eventring_cursor_error(reader.cursor)->text);
    return reader_close(&reader, STATUS_WRONG);
  }
  check_blocks(&reader);
  complain_of_control(&info);
  (json ? show_json : show_text)(reader.cursor, &info);
  return reader_close(&reader, STATUS_OK);
}
