/* tally_json.c: statistics as one JSON object; doc/eventring.md describes it. */
#include "analysis/json.h"
#include "analysis/names.h"
#include "analysis/tally.h"

/* What the members of a list are written with. */
struct section {
  struct json *json;
  const struct tally_domain *domain;
  bool total; /* the sums over all domains */
};

static void put_identity(const struct section *section,
                         const struct tally_entry *entry) {
  struct json *json = section->json;
  json_open_object(json);
  if (!section->total) json_uint_at(json, "domain", section->domain->info.slot);
  json_string_at(json, "name", entry->name);
  json_uint_at(json, "id", entry->id);
  json_string_at(json, "ring", ring_name(entry->ring));
}

static void put_span(void *context, const struct tally_entry *entry) {
  const struct section *section = context;
  struct json *json = section->json;
  if (!entry->span) return;
  const struct histogram *durations = &entry->span->durations;
  put_identity(section, entry);
  json_bool_at(json, "gc", entry->event_class == EVENTRING_CLASS_GC);
  json_uint_at(json, "count", durations->count);
  json_uint_at(json, "torn", entry->span->torn);
  json_uint_at(json, "open", entry->span->open);
  json_uint_at(json, "total_ns", durations->total);
  json_uint_at(json, "mean_ns", histogram_mean(durations));
  json_uint_at(json, "min_ns", durations->min);
#define FIELD(title, key, q) \
  json_uint_at(json, key, histogram_quantile(durations, q));
  TALLY_QUANTILES(FIELD)
#undef FIELD
  json_uint_at(json, "max_ns", durations->max);
  json_close_object(json);
}

static void put_counter(void *context, const struct tally_entry *entry) {
  const struct section *section = context;
  struct json *json = section->json;
  const struct tally_counter *counter = entry->counter;
  if (!counter || counter->samples == 0) return;
  put_identity(section, entry);
  json_string_at(json, "unit", entry->unit);
  json_uint_at(json, "samples", counter->samples);
#define FIELD(key, field) \
  if (counter->is_double) \
    json_double_at(json, key, counter->d##field); \
  else \
    json_int_at(json, key, counter->field)
  FIELD("sum", sum);
  FIELD("min", min);
  FIELD("max", max);
  if (!section->total) { FIELD("last", last); }
#undef FIELD
  json_close_object(json);
}

static void put_event(void *context, const struct tally_entry *entry) {
  const struct section *section = context;
  if (entry->events + entry->lifecycle == 0) return;
  put_identity(section, entry);
  json_uint_at(section->json, "count", entry->events + entry->lifecycle);
  json_close_object(section->json);
}

/* A list over the entries of each domain, or over the sums. */
static void put_list(struct json *json, const struct tally *tally,
                     const char *key, bool total,
                     void (*visit)(void *, const struct tally_entry *)) {
  json_key(json, key);
  json_open_array(json);
  struct section section = {json, &tally->all, total};
  if (total) tally_each(&tally->all, visit, &section);
  for (unsigned slot = 0; !total && slot < EVENTRING_MAX_DOMAINS; slot++) {
    section.domain = &tally->domains[slot];
    if (section.domain->used) tally_each(section.domain, visit, &section);
  }
  json_close_array(json);
}

static void put_words(struct json *json, const char *key, int64_t words) {
  json_key(json, key);
  if (words < 0)
    json_null(json);
  else
    json_int(json, words);
}

static void put_gc(struct json *json, const struct tally_domain *domain) {
  json_uint_at(json, "watched_ns", domain->watched);
  json_uint_at(json, "gc_ns", domain->in_gc);
  json_double_at(json, "gc_share", domain->watched ? (double)domain->in_gc /
                                       (double)domain->watched : 0);
  put_words(json, "allocated_words", domain->allocated);
  put_words(json, "promoted_words", domain->promoted);
}

static void put_ring(struct json *json, const struct tally_domain *domain,
                     int ring) {
  const struct eventring_ring_info *info = &domain->rings[ring].info;
  if (!domain->rings[ring].seen) return;
  json_key(json, ring_name((uint8_t)ring));
  json_open_object(json);
  json_uint_at(json, "emitted", info->emitted);
  json_uint_at(json, "delivered", info->delivered);
  json_uint_at(json, "missed", info->missed);
  json_uint_at(json, "lost", info->lost);
  json_uint_at(json, "torn", info->torn);
  json_close_object(json);
}

static void put_domain(struct json *json, const struct tally_domain *domain) {
  json_open_object(json);
  json_uint_at(json, "domain", domain->info.slot);
  json_string_at(json, "name", domain->info.name);
  json_uint_at(json, "incarnation", domain->info.incarnation);
  json_bool_at(json, "alive", domain->info.alive);
  put_gc(json, domain);
  json_key(json, "rings");
  json_open_object(json);
  for (int ring = 0; ring < EVENTRING_RINGS; ring++) put_ring(json, domain, ring);
  json_close_object(json);
  json_close_object(json);
}

static void put_domains(struct json *json, const struct tally *tally) {
  json_key(json, "domains");
  json_open_array(json);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    if (tally->domains[slot].used) put_domain(json, &tally->domains[slot]);
  json_close_array(json);
}

static void put_head(struct json *json, const struct tally *tally) {
  const struct eventring_info *info = &tally->info;
  json_string_at(json, "program", info->program);
  json_string_at(json, "path", info->path);
  json_int_at(json, "pid", info->pid);
  json_string_at(json, "liveness", liveness_name(info->liveness));
  json_string_at(json, "state", state_name(info->state));
  json_uint_at(json, "first_ns", tally->first_ns);
  json_uint_at(json, "last_ns", tally->last_ns);
}

static void put_total(struct json *json, const struct tally *tally) {
  json_key(json, "total");
  json_open_object(json);
  put_gc(json, &tally->all);
  json_uint_at(json, "delivered", tally->totals.delivered);
  json_uint_at(json, "missed", tally->totals.missed);
  json_uint_at(json, "lost", tally->totals.lost);
  json_uint_at(json, "torn", tally->totals.torn);
  put_list(json, tally, "spans", true, put_span);
  put_list(json, tally, "counters", true, put_counter);
  put_list(json, tally, "events", true, put_event);
  json_close_object(json);
}

void tally_print_json(const struct tally *tally, FILE *out) {
  struct json json;
  json_start(&json, out);
  json_open_object(&json);
  put_head(&json, tally);
  put_domains(&json, tally);
  put_list(&json, tally, "spans", false, put_span);
  put_list(&json, tally, "counters", false, put_counter);
  put_list(&json, tally, "events", false, put_event);
  put_total(&json, tally);
  json_close_object(&json);
  json_line(&json);
}
