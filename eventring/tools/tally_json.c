/* SPDX-License-Identifier: MIT */
/* tally_json.c: statistics as one JSON object; doc/eventring.md describes it. */
#include "analysis/ending.h"
#include "analysis/json.h"
#include "analysis/names.h"
#include "follow.h"
#include "tally_print.h"

/* What the members of a list are written with. */
struct section {
  struct eva_json *json;
  const struct eva_tally *tally;
  const struct eva_tally_domain *domain;
  bool total; /* the sums over all domains */
  const struct tally_choice *choice;
};

static void put_identity(const struct section *section,
                         const struct eva_tally_entry *entry) {
  struct eva_json *json = section->json;
  eva_json_open_object(json);
  if (!section->total) eva_json_uint_at(json, "domain", section->domain->info.slot);
  eva_json_string_at(json, "name", entry->name);
  eva_json_uint_at(json, "id", entry->id);
  eva_json_string_at(json, "ring", section->tally->ring_names[entry->ring % EVENTRING_RINGS]);
}

static void put_durations(const struct section *section, const struct eva_tally_entry *entry,
                          const struct eva_tally_span *span) {
  struct eva_json *json = section->json;
  if (!span) return;
  const struct eva_histogram *durations = &span->durations;
  put_identity(section, entry);
  eva_json_bool_at(json, "gc", entry->event_class == EVENTRING_CLASS_GC);
  eva_json_uint_at(json, "count", durations->count);
  eva_json_uint_at(json, "torn", span->torn);
  eva_json_uint_at(json, "open", span->open);
  eva_json_uint_at(json, "total_ns", durations->total);
  eva_json_uint_at(json, "mean_ns", eva_histogram_mean(durations));
  eva_json_uint_at(json, "min_ns", durations->min);
#define FIELD(title, key, q) \
  eva_json_uint_at(json, key, eva_histogram_quantile(durations, q));
  EVA_TALLY_QUANTILES(FIELD)
#undef FIELD
  eva_json_uint_at(json, "max_ns", durations->max);
  eva_json_uint_at(json, "suspended_ns", span->suspended);
  if (span->open) eva_so_far_put(json, &span->longest_open);
  if (span == entry->span) {
    eva_json_uint_at(json, "own_ns", span->own);
    eva_json_uint_at(json, "own_count", span->own_count);
  }
  if (entry->measure == EVENTRING_OFF_CPU) {
    eva_json_uint_at(json, "interrupted", span->interrupted);
    eva_json_uint_at(json, "off_cpu_ns", span->off_cpu);
  }
  eva_json_close_object(json);
}

static void put_span(void *context, const struct eva_tally_entry *entry) {
  put_durations(context, entry, entry->span);
}

static void put_async(void *context, const struct eva_tally_entry *entry) {
  put_durations(context, entry, entry->async);
}

static void put_counter(void *context, const struct eva_tally_entry *entry) {
  const struct section *section = context;
  struct eva_json *json = section->json;
  const struct eva_tally_counter *counter = entry->counter;
  if (!counter || counter->samples == 0) return;
  put_identity(section, entry);
  eva_json_string_at(json, "unit", entry->unit);
  eva_json_string_at(json, "measure", eva_measure_name(entry->measure));
  eva_json_uint_at(json, "samples", counter->samples);
#define FIELD(key, field) \
  if (counter->is_double) \
    eva_json_double_at(json, key, counter->d##field); \
  else \
    eva_json_int_at(json, key, counter->field)
  if (eva_tally_has_sum(entry)) { FIELD("sum", sum); }
  eva_json_double_at(json, "mean", eva_tally_mean(counter));
  FIELD("min", min);
  FIELD("max", max);
  if (!section->total) { FIELD("last", last); }
#undef FIELD
  eva_json_close_object(json);
}

static void put_event(void *context, const struct eva_tally_entry *entry) {
  const struct section *section = context;
  if (entry->events + entry->lifecycle == 0) return;
  put_identity(section, entry);
  eva_json_uint_at(section->json, "count", entry->events + entry->lifecycle);
  eva_json_close_object(section->json);
}

/* A list over the entries of each domain, or over the sums. */
static void put_list(struct section *section, const char *key, enum tally_table table,
                     void (*visit)(void *, const struct eva_tally_entry *)) {
  const struct eva_tally *tally = section->tally;
  eva_json_key(section->json, key);
  eva_json_open_array(section->json);
  section->domain = &tally->all;
  if (section->total) tally_choose(&tally->all, section->choice, table, visit, section);
  for (unsigned slot = 0; !section->total && slot < EVENTRING_MAX_DOMAINS; slot++) {
    section->domain = &tally->domains[slot];
    if (section->domain->used && tally_wants_domain(section->choice, slot))
      tally_choose(section->domain, section->choice, table, visit, section);
  }
  eva_json_close_array(section->json);
}

static void put_lists(struct section *section) {
  put_list(section, "spans", TALLY_SPANS, put_span);
  put_list(section, "async_spans", TALLY_ASYNC, put_async);
  put_list(section, "counters", TALLY_COUNTERS, put_counter);
  put_list(section, "events", TALLY_EVENTS, put_event);
}

static void put_words(struct eva_json *json, const char *key, int64_t words) {
  eva_json_key(json, key);
  if (words < 0)
    eva_json_null(json);
  else
    eva_json_int(json, words);
}

static double share(uint64_t part, uint64_t whole) {
  return whole ? (double)part / (double)whole : 0;
}

/* null: not known. */
static void put_gc_cpu(struct eva_json *json, uint64_t watched,
                       const struct eva_gc_times *times) {
  uint64_t cpu;
  bool known = eva_gc_times_cpu(times, &cpu);
  eva_json_key(json, "gc_cpu_ns");
  if (known) eva_json_uint(json, cpu);
  else eva_json_null(json);
  eva_json_key(json, "gc_cpu_share");
  if (known) eva_json_double(json, share(cpu, eva_gc_times_on_cpu(times, watched)));
  else eva_json_null(json);
}

static void put_gc(struct eva_json *json, uint64_t watched, const struct eva_gc_times *times,
                   int64_t allocated, int64_t promoted) {
  eva_json_uint_at(json, "watched_ns", watched);
  eva_json_uint_at(json, "gc_ns", times->in_gc);
  eva_json_double_at(json, "gc_share", share(times->in_gc, watched));
  put_gc_cpu(json, watched, times);
  eva_json_uint_at(json, "finalizers_ns", times->in_finalizers);
  eva_json_double_at(json, "finalizers_share", share(times->in_finalizers, watched));
  put_words(json, "allocated_words", allocated);
  put_words(json, "promoted_words", promoted);
}

static void put_gc_of(struct eva_json *json, const struct eva_tally_domain *domain) {
  put_gc(json, domain->watched, &domain->times, domain->allocated, domain->promoted);
}

static void put_life(struct eva_json *json, const struct eva_life *life) {
  eva_json_open_object(json);
  eva_json_uint_at(json, "incarnation", life->incarnation);
  eva_json_string_at(json, "name", eva_life_name(life));
  if (life->info) {
    eva_json_bool_at(json, "alive", life->info->alive);
    eva_json_int_at(json, "tid", life->info->tid);
    eva_json_uint_at(json, "start_ns", life->info->start_ns);
    eva_json_uint_at(json, "stop_ns", life->info->stop_ns);
  }
  put_gc(json, life->watched, &life->times, life->allocated, life->promoted);
  eva_json_close_object(json);
}

static void put_lives(struct eva_json *json, const struct eva_lives *lives) {
  eva_json_key(json, "lives");
  eva_json_open_array(json);
  for (size_t i = 0; i < lives->count; i++) put_life(json, &lives->life[i]);
  eva_json_close_array(json);
}

static void put_ring(struct eva_json *json, const struct eva_tally *tally,
                     const struct eva_tally_domain *domain, int ring) {
  const struct eventring_ring_info *info = &domain->rings[ring].info;
  if (!domain->rings[ring].seen) return;
  eva_json_key(json, tally->ring_names[ring]);
  eva_json_open_object(json);
  eva_json_uint_at(json, "emitted", info->emitted);
  eva_json_uint_at(json, "delivered", info->delivered);
  eva_json_uint_at(json, "missed", info->missed);
  eva_json_uint_at(json, "lost", info->lost);
  eva_json_uint_at(json, "torn", info->torn);
  eva_json_uint_at(json, "available", info->available);
  eva_json_uint_at(json, "oldest_ns", info->oldest_ns);
  eva_json_uint_at(json, "newest_ns", info->newest_ns);
  eva_json_close_object(json);
}

static void put_domain(struct eva_json *json, const struct eva_tally *tally,
                       const struct eva_tally_domain *domain) {
  eva_json_open_object(json);
  eva_json_uint_at(json, "domain", domain->info.slot);
  eva_json_string_at(json, "name", domain->info.name);
  eva_json_uint_at(json, "incarnation", domain->info.incarnation);
  eva_json_bool_at(json, "alive", domain->info.alive);
  put_gc_of(json, domain);
  put_lives(json, &domain->lives);
  eva_json_key(json, "rings");
  eva_json_open_object(json);
  for (int ring = 0; ring < EVENTRING_RINGS; ring++) put_ring(json, tally, domain, ring);
  eva_json_close_object(json);
  eva_json_close_object(json);
}

static void put_domains(struct eva_json *json, const struct eva_tally *tally,
                        const struct tally_choice *choice) {
  eva_json_key(json, "domains");
  eva_json_open_array(json);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    if (tally->domains[slot].used && tally_wants_domain(choice, slot))
      put_domain(json, tally, &tally->domains[slot]);
  eva_json_close_array(json);
}

static void put_head(struct eva_json *json, const struct eva_tally *tally) {
  const struct eventring_info *info = &tally->info;
  eva_json_string_at(json, "program", info->program);
  eva_json_string_at(json, "path", info->path);
  put_process(json, info);
  eva_json_string_at(json, "liveness", eva_liveness_name(info->liveness));
  eva_json_string_at(json, "state", eva_state_name(info->state));
  const struct eva_ending ending = eva_ending_of(info);
  eva_ending_put(json, &ending);
  eva_json_uint_at(json, "first_ns", tally->first_ns);
  eva_json_uint_at(json, "last_ns", tally->last_ns);
}

static void put_bound(struct eva_json *json, const char *key, uint64_t ns, bool is_there) {
  eva_json_key(json, key);
  if (is_there) eva_json_uint(json, ns);
  else eva_json_null(json);
}

static void put_window(struct eva_json *json, const struct eva_tally *tally) {
  eva_json_key(json, "window");
  eva_json_open_object(json);
  eva_json_uint_at(json, "start_ns", tally->info.start_ns);
  put_bound(json, "since_ns", tally->since, tally->since > 0);
  put_bound(json, "until_ns", tally->until, tally->until != UINT64_MAX);
  eva_json_uint_at(json, "first_ns", tally->first_ns);
  eva_json_uint_at(json, "last_ns", tally->last_ns);
  eva_json_close_object(json);
}

static void put_counts(struct eva_json *json, const struct eva_tally *tally) {
  eva_json_uint_at(json, "delivered", tally->totals.delivered);
  eva_json_uint_at(json, "missed", tally->totals.missed);
  eva_json_uint_at(json, "lost", tally->totals.lost);
  eva_json_uint_at(json, "torn", tally->totals.torn);
}

static void put_loss(struct eva_json *json, const struct eva_tally *tally) {
  eva_json_key(json, "loss");
  eva_json_open_object(json);
  put_counts(json, tally);
  eva_json_close_object(json);
}

static void put_total(struct eva_json *json, struct section *section) {
  eva_json_key(json, "total");
  eva_json_open_object(json);
  put_gc_of(json, &section->tally->all);
  put_counts(json, section->tally);
  section->total = true;
  put_lists(section);
  eva_json_close_object(json);
}

void tally_print_json(const struct eva_tally *tally, const struct tally_choice *choice,
                      FILE *out) {
  struct eva_json json;
  struct section section = {.json = &json, .tally = tally, .choice = choice};
  eva_json_start(&json, out);
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "version", 1);
  put_head(&json, tally);
  put_window(&json, tally);
  put_loss(&json, tally);
  put_domains(&json, tally, choice);
  put_lists(&section);
  put_total(&json, &section);
  eva_json_close_object(&json);
  eva_json_line(&json);
}
