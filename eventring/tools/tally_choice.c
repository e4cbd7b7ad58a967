/* SPDX-License-Identifier: MIT */
/* tally_choice.c: chooses which statistics are shown. */
#include <stdlib.h>
#include <string.h>

#include "tally_print.h"
#include "tool.h"

/* Returns the weight that ranks an entry in a table; 0 if the entry has no such
   figures. */
static uint64_t weight(const struct eva_tally_entry *entry, enum tally_table table) {
  const struct eva_tally_span *span = table == TALLY_SPANS ? entry->span : entry->async;
  switch (table) {
    case TALLY_SPANS:
    case TALLY_ASYNC: return span ? span->durations.total + 1 : 0;
    case TALLY_COUNTERS: return entry->counter ? entry->counter->samples : 0;
    case TALLY_EVENTS: return entry->events + entry->lifecycle;
  }
  return 0;
}

bool tally_wants(const struct tally_choice *choice, const char *name, unsigned event_class) {
  return name_choice_wants(&choice->name, name) &&
         (!choice->classes || choice->classes >> event_class & 1);
}

struct chosen {
  const struct tally_choice *choice;
  enum tally_table table;
  struct ranked {
    uint64_t weight;
    const struct eva_tally_entry *entry;
  } *ranked;
  size_t count;
};

static void consider(void *context, const struct eva_tally_entry *entry) {
  struct chosen *chosen = context;
  const struct tally_choice *choice = chosen->choice;
  uint64_t rank = weight(entry, chosen->table);
  if (!rank || !tally_wants(choice, entry->name, entry->event_class)) return;
  *NEED_NEXT(chosen->ranked, chosen->count) = (struct ranked){rank, entry};
}

static int heavier_first(const void *a, const void *b) {
  const struct ranked *x = a, *y = b;
  if (x->weight != y->weight) return x->weight < y->weight ? 1 : -1;
  return (x->entry->id > y->entry->id) - (x->entry->id < y->entry->id);
}

void tally_choose(const struct eva_tally_domain *domain, const struct tally_choice *choice,
                  enum tally_table table,
                  void (*visit)(void *context, const struct eva_tally_entry *entry),
                  void *context) {
  struct chosen chosen = {.choice = choice, .table = table};
  eva_tally_each(domain, consider, &chosen);
  bool ranks = choice->top != UINT64_MAX && chosen.count > 0;
  if (ranks) qsort(chosen.ranked, chosen.count, sizeof *chosen.ranked, heavier_first);
  for (size_t i = 0; i < chosen.count && i < choice->top; i++)
    visit(context, chosen.ranked[i].entry);
  free(chosen.ranked);
}
