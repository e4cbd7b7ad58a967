/* cmd_show.c: `eventring show`: what a recording says of itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/json.h"
#include "analysis/names.h"
#include "options.h"
#include "reading.h"
#include "table.h"
#include "analysis/units.h"

/* ---- Text ---------------------------------------------------------------- */

static void line(const char *label, const char *text) {
  size_t size = strlen(text), room = 4 * size + 1;
  char *safe = need_zeroed(room, 1);
  printf("%-12s %s\n", label, printable(safe, room, text, size));
  free(safe);
}

static void print_state(const struct eventring_info *info) {
  char text[128], start[FIGURE], length[FIGURE];
  snprintf(text, sizeof text, "%s, %s", liveness_name(info->liveness),
           state_name(info->state));
  line("state", text);
  snprintf(text, sizeof text, "%s (monotonic %s s)",
           wall_text(start, info->start_wall_ns),
           seconds_text(length, (int64_t)info->start_ns));
  line("started", text);
  if (info->end_ns > info->start_ns) {
    snprintf(text, sizeof text, "%s later",
             duration_text(length, info->end_ns - info->start_ns));
    line("ended", text);
  }
}

static void print_layout(const struct eventring_info *info) {
  char text[192], a[FIGURE], b[FIGURE];
  snprintf(text, sizeof text, "%s, %.6g MHz", info->clock, info->clock_hz / 1e6);
  line("clock", text);
  snprintf(text, sizeof text, "%u blocks of %u words (wsize %u), %s each",
           info->blocks, info->block_words, info->wsize,
           bytes_text(a, (uint64_t)info->blocks * info->block_words * 8));
  line("rings", text);
  snprintf(text, sizeof text, "%u of %u have rings", info->domains_laid_out,
           info->max_domains);
  line("domains", text);
  snprintf(text, sizeof text, "%s, %s on disk", bytes_text(a, info->file_size),
           bytes_text(b, info->disk_size));
  line("size", text);
}

static void print_header(eventring_cursor *cursor,
                         const struct eventring_info *info) {
  char text[64];
  line("file", info->path);
  line("program", info->program);
  snprintf(text, sizeof text, "%ld", (long)info->pid);
  line("process", text);
  print_state(info);
  snprintf(text, sizeof text, "%u", info->version);
  line("format", text);
  print_layout(info);
  printf("%-12s", "classes");
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++) {
    const char *name = eventring_cursor_class(cursor, i);
    char safe[4 * EVENTRING_MAX_CLASS_NAME + 1];
    if (name)
      printf(" %s%s", info->classes >> i & 1 ? "" : "-",
             printable(safe, sizeof safe, name, strlen(name)));
  }
  printf("   (- is off)\n");
}

static void catalogue_row(struct table *table, eventring_cursor *cursor,
                          const struct eventring_def *def) {
  char text[16];
  const char *class_name = eventring_cursor_class(cursor, def->event_class);
  snprintf(text, sizeof text, "%u", def->id);
  table_cell(table, text);
  table_cell(table, def->name);
  table_cell(table, def_kind_name(def->kind));
  table_cell(table, class_name ? class_name : "?");
  table_cell(table, ring_name(def->ring));
  table_cell(table, payload_name(def->payload));
  table_cell(table, def->unit ? def->unit : "");
  table_cell(table, def->doc ? def->doc : "");
}

static void print_catalogue(eventring_cursor *cursor) {
  TABLE(table, "id", "<name", "<kind", "<class", "<ring", "<payload", "<unit",
        "<meaning");
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
  char figure[FIGURE];
  table_cell(table, ns == 0 ? "-" : seconds_text(figure,
                                        (int64_t)(ns - info->start_ns)));
}

static void domain_row(struct table *table, const struct eventring_info *info,
                       const struct eventring_domain_info *domain) {
  char text[16];
  snprintf(text, sizeof text, "%u", domain->slot);
  table_cell(table, text);
  table_cell(table, domain->name);
  snprintf(text, sizeof text, "%u", domain->incarnation);
  table_cell(table, text);
  snprintf(text, sizeof text, "%ld", (long)domain->tid);
  table_cell(table, text);
  cell_moment(table, info, domain->start_ns);
  cell_moment(table, info, domain->stop_ns);
}

static void ring_row(struct table *table, const struct eventring_info *info,
                     unsigned slot, enum eventring_ring ring,
                     const struct eventring_ring_info *figures) {
  char text[16], figure[FIGURE];
  snprintf(text, sizeof text, "%u", slot);
  table_cell(table, text);
  table_cell(table, ring_name((uint8_t)ring));
  table_cell(table, count_text(figure, figures->emitted));
  table_cell(table, count_text(figure, figures->available));
  table_cell(table, count_text(figure, figures->emitted > figures->available
                                           ? figures->emitted - figures->available
                                           : 0));
  table_cell(table, count_text(figure, figures->blocks_written));
  cell_moment(table, info, figures->oldest_ns);
  cell_moment(table, info, figures->newest_ns);
}

static void print_domains(eventring_cursor *cursor,
                          const struct eventring_info *info) {
  TABLE(domains, "domain", "<name", "users", "thread", "from s", "to s");
  TABLE(rings, "domain", "<ring", "emitted", "still there", "overwritten",
        "blocks", "oldest s", "newest s");
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    struct eventring_domain_info domain;
    struct eventring_ring_info figures;
    if (eventring_cursor_domain(cursor, slot, &domain) < 0) continue;
    domain_row(&domains, info, &domain);
    for (int ring = 0; ring < EVENTRING_RINGS; ring++)
      if (eventring_cursor_ring(cursor, slot, (enum eventring_ring)ring,
                                &figures) >= 0)
        ring_row(&rings, info, slot, (enum eventring_ring)ring, &figures);
  }
  printf("\nDomains\n");
  table_print(&domains, stdout, 2);
  printf("\nRings\n");
  table_print(&rings, stdout, 2);
}

static void show_text(eventring_cursor *cursor,
                      const struct eventring_info *info) {
  print_header(cursor, info);
  print_catalogue(cursor);
  print_domains(cursor, info);
}

/* ---- JSON ---------------------------------------------------------------- */

static void put_header(struct json *json, const struct eventring_info *info) {
  json_string_at(json, "path", info->path);
  json_string_at(json, "program", info->program);
  json_int_at(json, "pid", info->pid);
  json_uint_at(json, "process_start", info->process_start);
  json_string_at(json, "liveness", liveness_name(info->liveness));
  json_string_at(json, "state", state_name(info->state));
  json_uint_at(json, "version", info->version);
  json_uint_at(json, "start_ns", info->start_ns);
  json_int_at(json, "start_wall_ns", info->start_wall_ns);
  json_uint_at(json, "end_ns", info->end_ns);
  json_string_at(json, "clock", info->clock);
  json_double_at(json, "clock_hz", info->clock_hz);
  json_uint_at(json, "wsize", info->wsize);
  json_uint_at(json, "blocks", info->blocks);
  json_uint_at(json, "block_words", info->block_words);
  json_uint_at(json, "max_domains", info->max_domains);
  json_uint_at(json, "domains_laid_out", info->domains_laid_out);
  json_uint_at(json, "file_size", info->file_size);
  json_uint_at(json, "disk_size", info->disk_size);
  json_bool_at(json, "control_malformed", info->control_malformed);
  json_uint_at(json, "control_rejected", info->control_rejected);
}

static void put_classes(struct json *json, eventring_cursor *cursor,
                        const struct eventring_info *info) {
  json_key(json, "classes");
  json_open_array(json);
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++) {
    const char *name = eventring_cursor_class(cursor, i);
    if (!name) continue;
    json_open_object(json);
    json_uint_at(json, "index", i);
    json_string_at(json, "name", name);
    json_bool_at(json, "on", info->classes >> i & 1);
    json_close_object(json);
  }
  json_close_array(json);
}

static void put_def(struct json *json, eventring_cursor *cursor,
                    const struct eventring_def *def) {
  const char *class_name = eventring_cursor_class(cursor, def->event_class);
  json_open_object(json);
  json_uint_at(json, "id", def->id);
  json_string_at(json, "name", def->name);
  json_string_at(json, "kind", def_kind_name(def->kind));
  json_string_at(json, "class", class_name ? class_name : "?");
  json_string_at(json, "ring", ring_name(def->ring));
  json_string_at(json, "payload", payload_name(def->payload));
  json_string_at(json, "unit", def->unit ? def->unit : "");
  json_string_at(json, "doc", def->doc ? def->doc : "");
  json_close_object(json);
}

static void put_catalogue(struct json *json, eventring_cursor *cursor) {
  json_key(json, "catalogue");
  json_open_array(json);
  for (unsigned id = 0; id < EVENTRING_MAX_EVENTS; id++) {
    const struct eventring_def *def = eventring_cursor_def(cursor, id);
    if (def) put_def(json, cursor, def);
  }
  json_close_array(json);
}

static void put_ring(struct json *json, eventring_cursor *cursor, unsigned slot,
                     enum eventring_ring ring) {
  struct eventring_ring_info figures;
  if (eventring_cursor_ring(cursor, slot, ring, &figures) < 0) return;
  json_key(json, ring_name((uint8_t)ring));
  json_open_object(json);
  json_uint_at(json, "emitted", figures.emitted);
  json_uint_at(json, "available", figures.available);
  json_uint_at(json, "blocks_written", figures.blocks_written);
  json_uint_at(json, "oldest_ns", figures.oldest_ns);
  json_uint_at(json, "newest_ns", figures.newest_ns);
  json_close_object(json);
}

static void put_domain(struct json *json, eventring_cursor *cursor,
                       unsigned slot) {
  struct eventring_domain_info domain;
  if (eventring_cursor_domain(cursor, slot, &domain) < 0) return;
  json_open_object(json);
  json_uint_at(json, "domain", slot);
  json_string_at(json, "name", domain.name);
  json_uint_at(json, "incarnation", domain.incarnation);
  json_bool_at(json, "alive", domain.alive);
  json_int_at(json, "tid", domain.tid);
  json_uint_at(json, "start_ns", domain.start_ns);
  json_uint_at(json, "stop_ns", domain.stop_ns);
  json_key(json, "rings");
  json_open_object(json);
  for (int ring = 0; ring < EVENTRING_RINGS; ring++)
    put_ring(json, cursor, slot, (enum eventring_ring)ring);
  json_close_object(json);
  json_close_object(json);
}

static void show_json(eventring_cursor *cursor,
                      const struct eventring_info *info) {
  struct json json;
  json_start(&json, stdout);
  json_open_object(&json);
  put_header(&json, info);
  put_classes(&json, cursor, info);
  put_catalogue(&json, cursor);
  json_key(&json, "domains");
  json_open_array(&json);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    put_domain(&json, cursor, slot);
  json_close_array(&json);
  json_close_object(&json);
  json_line(&json);
}

/* ---- The command --------------------------------------------------------- */

/* Reads all blocks once, so that a file that is damaged beyond its header is not
   shown as if it were sound. */
static void check_blocks(struct reader *reader) {
  static const struct eventring_callbacks nothing = {NULL, NULL};
  const struct reading reading = {.callbacks = &nothing};
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
  if (status < 0) status = reader_open_target(&reader, operands.words[0], 0);
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
