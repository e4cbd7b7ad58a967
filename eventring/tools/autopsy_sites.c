/* SPDX-License-Identifier: MIT */
/* autopsy_sites.c: which lines of the program had allocated what was alive at the end, if the
 * file has a heap profile. */
#include <stdio.h>

#include "analysis/saturating.h"
#include "analysis/units.h"
#include "autopsy.h"
#include "text_table.h"

enum { SITES = 5, BRIEF_SITES = 2 };

void autopsy_read_sites(struct autopsy *a) {
  eventring_cursor *cursor = a->q.reader.cursor;
  a->heap = eva_heap_new();
  if (!a->heap) no_memory();
  int status = eva_heap_read(a->heap, cursor);
  if (status == EVENTRING_E_MEMORY) no_memory();
  if (status < 0) {
    complain("%s", eventring_cursor_error(cursor)->text);
    a->q.reader.failed = true;
  }
  a->has_sites = eva_heap_state(a->heap)->most_rate > 0;
  if (a->has_sites) heap_view_make(&a->sites, a->heap, BY_LINE, EVA_LIVE, cursor);
}

void autopsy_free_sites(struct autopsy *a) {
  if (a->has_sites) heap_view_free(&a->sites);
  eva_heap_free(a->heap);
}

/* The i-th in order; NULL: nothing of it was alive. */
static const struct heap_node *site_at(const struct autopsy *a, uint32_t i) {
  const struct heap_view *v = &a->sites;
  if (!a->has_sites || i + 1 >= v->count) return NULL;
  const struct heap_node *node = &v->nodes[v->order[i]];
  return node->total[EVA_LIVE].samples > 0 ? node : NULL;
}

static uint64_t rounded(double value) {
  return eva_whole(value);
}

void autopsy_print_sites(const struct autopsy *a) {
  char figure[EVA_FIGURE], label[HEAP_LABEL];
  uint32_t most = a->brief ? BRIEF_SITES : SITES, more = 0;
  char as_of[HEAP_AS_OF];
  if (!site_at(a, 0)) return;
  if (heap_as_of(as_of, a->heap, a->q.info.start_ns))
    printf("\nMemory in use %s, by line\n", as_of);
  else puts("\nMemory in use, by the line that allocated it (estimates)");
  TABLE(table, "live", "error", "objects", "<+line");
  for (uint32_t i = 0; i < most && site_at(a, i); i++) {
    const struct eva_amount *live = &site_at(a, i)->total[EVA_LIVE];
    table_cell(&table, eva_bytes_text(figure, rounded(live->bytes)));
    table_cell(&table, eva_bytes_text(figure, rounded(eva_amount_error(live))));
    table_cell(&table, eva_count_text(figure, rounded(live->objects)));
    heap_label(label, &a->sites, site_at(a, i));
    table_cell(&table, label);
  }
  table_print(&table, stdout, 2);
  for (uint32_t i = most; site_at(a, i); i++) more++;
  if (more && !a->brief) printf("  and %u more (eventring heap)\n", more);
}

void autopsy_put_sites(struct eva_json *json, const struct autopsy *a) {
  char number[24];
  eva_json_key(json, "sites");
  eva_json_open_array(json);
  for (uint32_t i = 0; i < a->q.top && site_at(a, i); i++) {
    const struct heap_node *node = site_at(a, i);
    eva_json_open_object(json);
    eva_json_string_at(json, "function", heap_name(&a->sites, node, number));
    eva_json_string_at(json, "source", heap_source(&a->sites, node));
    eva_json_uint_at(json, "line", node->line);
    if (heap_through(&a->sites, node))
      eva_json_string_at(json, "through", heap_through(&a->sites, node));
    eva_json_uint_at(json, "live_bytes", rounded(node->total[EVA_LIVE].bytes));
    eva_json_uint_at(json, "error_bytes", rounded(eva_amount_error(&node->total[EVA_LIVE])));
    eva_json_uint_at(json, "live_objects", rounded(node->total[EVA_LIVE].objects));
    eva_json_close_object(json);
  }
  eva_json_close_array(json);
  eva_json_key(json, "sites_sampling_ended_ns");
  if (eva_heap_state(a->heap)->over) eva_json_uint(json, eva_heap_state(a->heap)->over_ns);
  else eva_json_null(json);
}
