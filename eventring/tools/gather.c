/* SPDX-License-Identifier: MIT */
/* gather.c: the metrics of all processes that record (gather.h). */
#include "gather.h"

#include "tool.h"

bool gather_metrics(struct live_processes *live, struct metrics *metrics, FILE *out,
                    enum metrics_format format, bool says) {
  bool all = true;
  for (size_t i = 0; i < live->count; i++) {
    struct live_process *p = &live->list[i];
    struct eva_usage usage;
    if (!live_records(p)) continue;
    const bool has_usage = eva_usage_of(p->pid, &usage);
    int status = metrics_add(metrics, p->cursor, p->pid, has_usage ? &usage : NULL);
    if (status == EVENTRING_E_MEMORY) no_memory();
    if (status == 0) continue;
    all = false;
    if (says) complain("process %ld: %s", (long)p->pid, eventring_cursor_error(p->cursor)->text);
  }
  if (metrics_write(metrics, out, format) < 0) no_memory();
  return all;
}
