/* SPDX-License-Identifier: MIT */
/* rules.c: whether conditions hold for a recording (rules.h). */
#include "analysis/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/so_far.h"
#include "analysis/figures.h"
#include "analysis/names.h"
#include "eventring/tools.h"
#include "format/array.h"

/* How the events of a definition count for a rule. */
enum role {
  UNKNOWN, NOTHING,
  DURATION,        /* the event ends a span */
  ASYNC_DURATION,
  VALUE,           /* a value of a counter */
  WORDS_VALUE,     /* a value of a counter in words of 8 bytes; the rule wants bytes */
  TOTAL,           /* the sum of the counter, at the borders of spans (within) */
  WORDS_TOTAL,
  OCCURRENCE,      /* neither a begin nor an end */
  BEGUN            /* a lifecycle event NAME_begin */
};

struct eva_rules_domain {
  uint32_t incarnation;
  struct eventring_pause pause;
  int64_t heap; /* bytes */
};

static enum eventring_subject subject_of(const struct eva_rule *r) {
  return (enum eventring_subject)r->condition.subject;
}
static bool counts(const struct eva_rule *r) {
  return r->condition.figure == EVENTRING_FIGURE_COUNT;
}
static bool is_upper(const struct eva_rule *r) {
  return r->condition.comparison == EVENTRING_LESS || r->condition.comparison == EVENTRING_NOT_MORE;
}
static bool is_lower(const struct eva_rule *r) {
  return r->condition.comparison == EVENTRING_MORE ||
         r->condition.comparison == EVENTRING_NOT_LESS;
}

/* ---- Rules ------------------------------------------------------------------------- */

static bool make_rule(struct eva_rule *r, const struct eventring_condition *condition,
                      const char *text, size_t size, unsigned line) {
  bool within = condition->within[0] != 0;
  *r = (struct eva_rule){.condition = *condition, .line = line};
  r->text = strndup(text, size);
  r->role = calloc(1, EVENTRING_MAX_EVENTS);
  if (condition->figure == EVENTRING_QUANTILE) r->histogram = calloc(1, sizeof *r->histogram);
  if (within) r->within = calloc(EVENTRING_MAX_DOMAINS, sizeof *r->within);
  if (counts(r)) r->named = calloc(EVENTRING_MAX_EVENTS, sizeof *r->named);
  return r->text && r->role && (r->histogram || condition->figure != EVENTRING_QUANTILE) &&
         (r->within || !within) && (r->named || !counts(r));
}

static void free_rule(struct eva_rule *r) {
  free(r->text);
  free(r->role);
  free(r->named);
  free(r->within);
  if (r->histogram) eva_histogram_free(r->histogram);
  free(r->histogram);
}

int eva_rules_add(struct eva_rules *rules, const struct eventring_condition *condition,
                  const char *text, size_t size, unsigned line) {
  if (rules->count == EVA_MAX_RULES) return EVENTRING_E_FULL;
  if (!rules->domains) rules->domains = calloc(EVENTRING_MAX_DOMAINS, sizeof *rules->domains);
  if (!rules->domains || !EVR_MAKE_ROOM(rules->rule, rules->room, rules->count, 8))
    return EVENTRING_E_MEMORY;
  struct eva_rule *r = &rules->rule[rules->count];
  if (!make_rule(r, condition, text, size, line)) {
    free_rule(r);
    return EVENTRING_E_MEMORY;
  }
  rules->count++;
  return EVENTRING_OK;
}

void eva_rules_free(struct eva_rules *rules) {
  for (size_t i = 0; i < rules->count; i++) free_rule(&rules->rule[i]);
  free(rules->rule);
  free(rules->domains);
  eva_links_free(&rules->links);
  *rules = (struct eva_rules){0};
}

/* ---- What a definition is for a rule ----------------------------------------------- */

static bool has_suffix(const char *name, size_t stem, const char *suffix) {
  return strlen(name) == stem + strlen(suffix) && strcmp(name + stem, suffix) == 0;
}

/* Tells whether the definition's name is STEM followed by `suffix`, where the rule's name
   is STEM_bytes. */
static bool is_stem_and(const struct eventring_def *def, const char *name, const char *suffix) {
  size_t size = strlen(name), bytes = strlen("_bytes");
  return size > bytes && strcmp(name + size - bytes, "_bytes") == 0 &&
         strncmp(def->name, name, size - bytes) == 0 &&
         has_suffix(def->name, size - bytes, suffix);
}

static enum role role_of_heap(const struct eventring_def *def) {
  if (def->quantity != EVENTRING_QUANTITY_HEAP) return NOTHING;
  return eventring_is_in_words(def) ? WORDS_VALUE : VALUE;
}

/* Returns how a span counts. It counts when it ends, for `count`, too, as in all
   commands. */
static enum role role_of_span(const struct eventring_def *def) {
  if (def->kind == EVENTRING_DEF_SPAN) return DURATION;
  return def->kind == EVENTRING_DEF_ASYNC ? ASYNC_DURATION : NOTHING;
}

static enum role role_of_counter(const struct eva_rule *r, const struct eventring_def *def) {
  const char *name = r->condition.name;
  size_t size = strlen(name);
  if (strcmp(def->name, name) == 0) return VALUE;
  if (is_stem_and(def, name, "_words")) return WORDS_VALUE;
  if (!r->within) return NOTHING;
  if (is_stem_and(def, name, "_words_total")) return WORDS_TOTAL;
  return strncmp(def->name, name, size) == 0 && has_suffix(def->name, size, "_total") ? TOTAL
                                                                                      : NOTHING;
}

static enum role role_of_count(const struct eva_rule *r, const struct eventring_def *def) {
  const char *name = r->condition.name;
  size_t size = strlen(name);
  bool begun = strncmp(def->name, name, size) == 0 && has_suffix(def->name, size, "_begin");
  if (begun && def->kind == EVENTRING_DEF_LIFECYCLE) return BEGUN;
  if (strcmp(def->name, name) != 0) return NOTHING;
  enum role role = role_of_span(def);
  return role == NOTHING ? OCCURRENCE : role;
}

/* Returns how a definition counts for a rule with a name alone. If the rule compares with
   a time, durations count, and values of a counter in ns; otherwise values of
   counters. */
static enum role role_of_name(const struct eva_rule *r, const struct eventring_def *def) {
  bool time = r->condition.unit == EVENTRING_TIME;
  bool same = strcmp(def->name, r->condition.name) == 0;
  if (counts(r)) return role_of_count(r, def);
  if (def->kind != EVENTRING_DEF_COUNTER) return same && time ? role_of_span(def) : NOTHING;
  if (!time) return role_of_counter(r, def);
  return same && def->unit && strcmp(def->unit, "ns") == 0 ? VALUE : NOTHING;
}

static enum role find_role(const struct eva_rule *r, const struct eventring_def *def) {
  switch (subject_of(r)) {
    case EVENTRING_SUBJECT_PAUSE: /* chosen by class */
      return def->kind == EVENTRING_DEF_SPAN && def->event_class == EVENTRING_CLASS_GC ? DURATION
                                                                                       : NOTHING;
    case EVENTRING_SUBJECT_HEAP:
      return role_of_heap(def);
    case EVENTRING_SUBJECT_SPAN:
      return strcmp(def->name, r->condition.name) == 0 ? role_of_span(def) : NOTHING;
    case EVENTRING_SUBJECT_COUNTER:
      return strcmp(def->name, r->condition.name) == 0 && def->kind == EVENTRING_DEF_COUNTER
                 ? VALUE : NOTHING;
    case EVENTRING_SUBJECT_NAME:
      return role_of_name(r, def);
    default:
      return NOTHING;
  }
}

static enum role role_of(struct eva_rule *r, const struct eventring_event *e) {
  if (e->id >= EVENTRING_MAX_EVENTS || !e->def) return NOTHING;
  if (!r->role[e->id]) r->role[e->id] = (uint8_t)find_role(r, e->def);
  return (enum role)r->role[e->id];
}

/* ---- Values ------------------------------------------------------------------------ */

/* Tells whether the value is farther on the wrong side than the worst value so far. */
static bool is_worse(const struct eva_rule *r, double value) {
  switch (r->condition.comparison) {
    case EVENTRING_LESS: case EVENTRING_NOT_MORE: return value > r->value;
    case EVENTRING_MORE: case EVENTRING_NOT_LESS: return value < r->value;
    default: return false; /* the first value stays */
  }
}

static void check_each(struct eva_rule *r, double value) {
  if (eventring_condition_holds(&r->condition, value)) {
    r->met = true;
    return;
  }
  if (r->bad++ == 0 || is_worse(r, value)) r->value = value;
}

static int take_value(struct eva_rule *r, double value) {
  if (r->values == 0 || value < r->min) r->min = value;
  if (r->values == 0 || value > r->max) r->max = value;
  r->values++;
  r->sum += value;
  r->last = value;
  if (r->condition.figure == EVENTRING_EACH) check_each(r, value);
  if (!r->histogram) return EVENTRING_OK;
  /* for values below 0 a quantile would need another histogram */
  return eva_histogram_add(r->histogram, value < 0 ? 0 : (uint64_t)value);
}

/* ---- Within ------------------------------------------------------------------------ */

/* Takes the exact amount of the period that ends now, if the total was written at both
   ends of the period. */
static void take_totals(struct eva_rule *r, struct eva_rule_within *w) {
  r->bounds.spans++;
  if (w->totals < 2) return;
  r->bounds.counted++;
  r->bounds.exact += w->total_last - w->total_first;
}

static void begin_within(struct eva_rule_within *w, uint64_t ns) {
  if (w->open++ > 0) return;
  w->since = ns;
  w->totals = 0;
}

static void end_within(struct eva_rule *r, struct eva_rule_within *w, uint64_t ns) {
  if (w->open == 0 || --w->open > 0) return;
  w->until = ns;
  take_totals(r, w);
}

static void follow_within(struct eva_rule *r, const struct eventring_event *e) {
  if (!e->def || e->def->kind != EVENTRING_DEF_SPAN || strcmp(e->name, r->condition.within) != 0)
    return;
  struct eva_rule_within *w = &r->within[e->domain];
  if (e->kind == EVENTRING_BEGIN) begin_within(w, e->ns);
  if (e->kind == EVENTRING_END) end_within(r, w, e->ns);
}

static bool is_within(const struct eva_rule *r, const struct eventring_event *e, uint64_t ns) {
  if (!r->within) return true;
  const struct eva_rule_within *w = &r->within[e->domain];
  if (!w->since && !w->open) return false;
  return ns >= w->since && (w->open > 0 || ns < w->until);
}

/* Takes a difference, which covers the time from the previous value of the counter to
   `ns`. */
static void take_difference(struct eva_rule *r, struct eva_rule_within *w, double value,
                            uint64_t ns) {
  bool ends_in = w->open > 0, begins_in = w->counted_ns >= w->since && w->since;
  bool touches = ends_in || (w->since && w->until > w->counted_ns);
  if (touches) r->bounds.most += value;
  if (ends_in && begins_in) r->bounds.least += value;
  w->counted_ns = ns;
}

static void take_total(struct eva_rule_within *w, double value) {
  if (w->open == 0) return;
  if (w->totals++ == 0) w->total_first = value;
  w->total_last = value;
}

/* ---- Events ------------------------------------------------------------------------ */

/* Follows the pauses of a domain, and tells whether the event ends one. */
static bool ends_pause(struct eva_rules_domain *d, const struct eventring_event *e) {
  if (e->event_class != EVENTRING_CLASS_GC) return false;
  if (e->kind == EVENTRING_BEGIN) eventring_pause_begin(&d->pause, e->depth, e->id, e->ns);
  return e->kind == EVENTRING_END && eventring_pause_end(&d->pause, e->depth);
}

static bool number_of(const struct eventring_event *e, double *number) {
  if (e->kind != EVENTRING_COUNTER) return false;
  if (e->payload == EVENTRING_DOUBLE) *number = e->value.d;
  else if (e->payload == EVENTRING_UINT) *number = (double)e->value.u;
  else if (e->payload == EVENTRING_INT) *number = (double)e->value.i;
  else return false;
  return true;
}

/* Sets the heap of the event's domain to `bytes` and returns the heap of all domains
   together. The heap of a domain that has ended is 0, as for triggers
   (producer/watch.c). */
static double heap_of_all(struct eva_rules *rules, const struct eventring_event *e, double bytes) {
  double all = 0;
  rules->domains[e->domain].heap = bytes < 0x1p62 ? (int64_t)bytes : 0;
  for (unsigned i = 0; i < EVENTRING_MAX_DOMAINS; i++) all += (double)rules->domains[i].heap;
  return all;
}

/* Tells whether the event is an occurrence. Each point of a flow is one, as in
   `stats`. */
static bool is_occurrence(const struct eventring_event *e) {
  return !(e->flags & EVENTRING_SYNTHETIC) && e->kind != EVENTRING_BEGIN &&
         e->kind != EVENTRING_END;
}

static int take_duration(struct eva_rule *r, const struct eventring_event *e, bool pause) {
  bool wanted = subject_of(r) != EVENTRING_SUBJECT_PAUSE || pause;
  const struct eventring_measured measured = {(double)eventring_event_took(e),
                                              (double)eventring_event_off_cpu(e)};
  double value;
  if (!wanted || measured.value < 0 || !is_within(r, e, e->begin_ns)) return EVENTRING_OK;
  if (eventring_condition_value(&r->condition, &measured, &value)) return take_value(r, value);
  r->unmeasured++;
  return EVENTRING_OK;
}

static int take_counter(struct eva_rules *rules, struct eva_rule *r,
                        const struct eventring_event *e, bool words) {
  double value;
  if (!number_of(e, &value)) return EVENTRING_OK;
  if (words) value *= 8;
  if (subject_of(r) == EVENTRING_SUBJECT_HEAP) value = heap_of_all(rules, e, value);
  if (r->within && e->def->measure == EVENTRING_DIFFERENCE)
    take_difference(r, &r->within[e->domain], value, e->ns);
  return is_within(r, e, e->ns) ? take_value(r, value) : EVENTRING_OK;
}

static void take_total_of(struct eva_rule *r, const struct eventring_event *e, bool words) {
  double value;
  if (number_of(e, &value)) take_total(&r->within[e->domain], words ? 8 * value : value);
}

static int take_async(struct eva_rule *r, const struct eventring_event *e,
                      const struct eva_link_outcome *pair) {
  if (!pair->paired || pair->end.ns < pair->begin.ns) return EVENTRING_OK;
  if (!is_within(r, e, pair->begin.ns)) return EVENTRING_OK;
  if (r->condition.cpu) { /* an async span belongs to no thread */
    r->unmeasured++;
    return EVENTRING_OK;
  }
  return take_value(r, (double)(pair->end.ns - pair->begin.ns));
}

/* Counts a value that stands for another definition as one event of that definition, as
   in `stats`. */
static void take_named(struct eva_rule *r, const struct eventring_event *e) {
  int id = eva_named_by(e);
  if (id >= 0 && is_within(r, e, e->ns)) r->named[id]++;
}

static int take_for_rule(struct eva_rules *rules, struct eva_rule *r,
                         const struct eventring_event *e, bool pause,
                         const struct eva_link_outcome *pair) {
  if (r->within) follow_within(r, e);
  if (r->named) take_named(r, e);
  switch (role_of(r, e)) {
    case DURATION: return take_duration(r, e, pause);
    case ASYNC_DURATION: return take_async(r, e, pair);
    case VALUE: return take_counter(rules, r, e, false);
    case WORDS_VALUE: return take_counter(rules, r, e, true);
    case TOTAL: case WORDS_TOTAL:
      take_total_of(r, e, role_of(r, e) == WORDS_TOTAL);
      return EVENTRING_OK;
    case OCCURRENCE:
      if (is_occurrence(e) && is_within(r, e, e->ns)) r->values++;
      return EVENTRING_OK;
    case BEGUN:
      if (is_within(r, e, e->ns)) r->begun++;
      return EVENTRING_OK;
    default: return EVENTRING_OK;
  }
}

/* Ends all that was open in a domain that has ended, or that was replaced in its slot by
   the incarnation `incarnation`. */
static void end_domain(struct eva_rules *rules, const struct eventring_event *e,
                       uint32_t incarnation) {
  rules->domains[e->domain] = (struct eva_rules_domain){.incarnation = incarnation};
  for (size_t i = 0; i < rules->count; i++) {
    struct eva_rule *r = &rules->rule[i];
    if (!r->within) continue;
    struct eva_rule_within *w = &r->within[e->domain];
    if (w->open > 0) w->open = 1;
    end_within(r, w, e->ns);
  }
}

static bool stops_domain(const struct eventring_event *e) {
  return e->kind == EVENTRING_LIFECYCLE && e->id == EVENTRING_ID_DOMAIN_STOP;
}

int eva_rules_event(struct eva_rules *rules, const struct eventring_event *e) {
  struct eva_link_outcome pair = {0};
  if (rules->status != EVENTRING_OK || !rules->domains || e->domain >= EVENTRING_MAX_DOMAINS)
    return rules->status;
  if (!rules->since && !(e->flags & EVENTRING_SYNTHETIC)) rules->since = e->ns;
  if (rules->domains[e->domain].incarnation != e->incarnation) end_domain(rules, e, e->incarnation);
  bool pause = ends_pause(&rules->domains[e->domain], e);
  bool async = e->kind == EVENTRING_LINKED && e->def && e->def->kind == EVENTRING_DEF_ASYNC;
  const struct eva_link_event link = {.link = e->link, .at_ns = e->ns, .domain = e->domain,
                                      .id = e->id, .role = e->role};
  if (async && e->role != EVENTRING_ROLE_STEP)
    rules->status = eva_links_take(&rules->links, &link, &pair);
  for (size_t i = 0; rules->status == EVENTRING_OK && i < rules->count; i++)
    rules->status = take_for_rule(rules, &rules->rule[i], e, pause, &pair);
  if (stops_domain(e)) end_domain(rules, e, e->incarnation);
  return rules->status;
}

/* ---- Results ----------------------------------------------------------------------- */

/* The definitions of the catalogue that matter for a rule. */
struct found {
  bool span, counter, begun, within, any, sums;
  uint64_t classes; /* classes of these definitions */
};

static struct found find_definitions(const struct eva_rule *r, eventring_cursor *cursor) {
  struct found found = {0};
  for (unsigned id = 0; id < EVENTRING_MAX_EVENTS; id++) {
    const struct eventring_def *def = eventring_cursor_def(cursor, id);
    if (!def) continue;
    enum role role = find_role(r, def);
    bool same = strcmp(def->name, r->condition.name) == 0;
    bool within = strcmp(def->name, r->condition.within) == 0 && def->kind == EVENTRING_DEF_SPAN;
    bool total = role == TOTAL || role == WORDS_TOTAL;
    found.any |= role != NOTHING && !total;
    found.begun |= role == BEGUN;
    found.sums |= r->within && (role == VALUE || role == WORDS_VALUE) &&
                  def->measure == EVENTRING_DIFFERENCE;
    found.span |= same && (def->kind == EVENTRING_DEF_SPAN || def->kind == EVENTRING_DEF_ASYNC);
    found.counter |= same && def->kind == EVENTRING_DEF_COUNTER;
    found.within |= within;
    if (within || (role != NOTHING && !total))
      found.classes |= EVENTRING_CLASS_BIT(def->event_class);
  }
  /* a name without a definition has not occurred, if it could have been recorded */
  if (!found.any) found.classes |= EVENTRING_CLASS_BIT(EVENTRING_CLASS_USER);
  return found;
}

uint64_t eva_rules_classes(const struct eva_rules *rules, eventring_cursor *cursor) {
  uint64_t classes = 0;
  for (size_t i = 0; i < rules->count; i++)
    for (unsigned id = 0; id < EVENTRING_MAX_EVENTS; id++) {
      const struct eventring_def *def = eventring_cursor_def(cursor, id);
      if (def && (find_role(&rules->rule[i], def) != NOTHING ||
                  strcmp(def->name, rules->rule[i].condition.within) == 0))
        classes |= EVENTRING_CLASS_BIT(def->event_class);
    }
  return classes & ~EVENTRING_CLASS_BIT(EVENTRING_CLASS_CALLS);
}

/* Writes the reason why a rule cannot hold: its subject does not exist, or has another
   kind than the rule assumes. */
static void find_reason(struct eva_rule *r, const struct found *found) {
  const char *name = r->condition.name;
  if (r->condition.within[0] && !found->within) {
    snprintf(r->reason, sizeof r->reason, "no span is called %.96s", r->condition.within);
    return;
  }
  if (found->any || counts(r)) return;
  r->is_wrong = found->span || found->counter;
  if (found->span)
    snprintf(r->reason, sizeof r->reason, "%.96s is a span: compare it with a time", name);
  else if (found->counter)
    snprintf(r->reason, sizeof r->reason, "%.96s is a counter: compare it with a number", name);
  else if (name[0])
    snprintf(r->reason, sizeof r->reason, "nothing is called %.96s", name);
  else
    snprintf(r->reason, sizeof r->reason, "nothing like that is recorded");
}

static double figure_of(const struct eva_rule *r) {
  switch (r->condition.figure) {
    case EVENTRING_FIGURE_COUNT: return (double)r->values;
    case EVENTRING_FIGURE_SUM: return r->sum;
    case EVENTRING_FIGURE_MIN: return r->min;
    case EVENTRING_FIGURE_MAX: return r->max;
    case EVENTRING_FIGURE_MEAN: return r->sum / (double)r->values;
    case EVENTRING_FIGURE_LAST: return r->last;
    case EVENTRING_QUANTILE:
      return (double)eva_histogram_quantile(r->histogram, r->condition.quantile);
    default: return 0;
  }
}

/* Decides a rule by its values. Without values it holds; but a count or a sum is 0 then,
   and is compared. */
static void conclude_values(struct eva_rule *r) {
  if (r->condition.figure == EVENTRING_EACH) {
    r->has_value = r->bad > 0;
    r->holds = r->bad == 0;
    return;
  }
  bool always = counts(r) || r->condition.figure == EVENTRING_FIGURE_SUM;
  r->has_value = always || r->values > 0;
  if (r->has_value) r->value = figure_of(r);
  r->holds = !r->has_value || eventring_condition_holds(&r->condition, r->value);
}

/* ---- Sums within spans ------------------------------------------------------------- */

static void set_undecided(struct eva_rule *r, const char *format, const char *name) {
  r->holds = r->has_value = false;
  r->undecided = true;
  snprintf(r->reason, sizeof r->reason, format, name);
}

/* Tells whether the spans have ended in each domain. (are_counted tells whether the
   counter was written after their end.) */
static bool are_over(const struct eva_rule *r) {
  bool open = false;
  for (unsigned i = 0; i < EVENTRING_MAX_DOMAINS; i++) open |= r->within[i].open > 0;
  return !open;
}
static bool are_counted(const struct eva_rule *r) {
  bool missing = false;
  for (unsigned i = 0; i < EVENTRING_MAX_DOMAINS; i++)
    missing |= r->within[i].until > r->within[i].counted_ns;
  return !missing;
}

/* Decides a rule about the sum of a counter of differences in spans: by the exact sum if
   values at the borders of the spans give it, else by the bounds of the sum. If the
   bounds do not decide the rule, it is undecided. */
static void conclude_sum(struct eva_rule *r) {
  const bool is_over = are_over(r);
  const struct eva_rule_bounds *b = &r->bounds;
  if (b->counted == b->spans && is_over) {
    r->value = b->exact;
    r->holds = eventring_condition_holds(&r->condition, r->value);
    return;
  }
  bool least = eventring_condition_holds(&r->condition, b->least);
  bool most = eventring_condition_holds(&r->condition, b->most);
  r->value = b->least;
  r->holds = least && most;
  if ((is_upper(r) && !least) || (is_lower(r) && least)) r->holds = least;
  else if (!is_over || !are_counted(r) || least != most || !(is_upper(r) || is_lower(r)))
    set_undecided(r, "%.96s was not counted where the spans begin and end (class gc_detail)",
                  r->condition.name);
}

/* ---- What was not recorded --------------------------------------------------------- */

/* Tells whether the values that were not recorded cannot change the result. */
static bool is_decided(const struct eva_rule *r) {
  switch (r->condition.figure) {
    case EVENTRING_EACH: return !r->holds;
    case EVENTRING_FIGURE_COUNT: case EVENTRING_FIGURE_MAX:
      return r->has_value && (r->holds ? is_lower(r) : is_upper(r));
    case EVENTRING_FIGURE_SUM: return r->min >= 0 && (r->holds ? is_lower(r) : is_upper(r));
    case EVENTRING_FIGURE_MIN:
      return r->has_value && (r->holds ? is_upper(r) : is_lower(r));
    default: return false;
  }
}

/* Makes a rule undecided if classes that it needs were off, unless the known values
   decide it. `off` is the set of classes that were off, `its` the set of the rule's
   classes. */
static void check_classes(struct eva_rule *r, eventring_cursor *cursor, uint64_t off,
                          uint64_t its) {
  const char *name = "";
  if (!(off & its) || is_decided(r)) return;
  if (off & EVENTRING_CLASS_BIT(EVENTRING_CLASS_LIFECYCLE)) {
    set_undecided(r, "the recording was paused%s", "");
    return;
  }
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES && !name[0]; i++)
    if ((off & its) >> i & 1 && eventring_cursor_name(cursor, EVENTRING_NAME_CLASS, i))
      name = eventring_cursor_name(cursor, EVENTRING_NAME_CLASS, i);
  set_undecided(r, "class %s was off", name);
}

/* ---- Spans that are open ----------------------------------------------------------- */

struct opens {
  struct eva_rules *rules;
  struct eva_rule *rule;
  eventring_cursor *cursor;
  const struct eva_known *known;
  uint64_t values_before; /* number of the rule's values from spans that have ended */
};

static bool is_open_pause(const struct eva_rules *rules, const struct eventring_event *e) {
  const struct eva_rules_domain *d = &rules->domains[e->domain];
  return d->pause.open && d->incarnation == e->incarnation && e->depth == d->pause.depth;
}

/* Takes the length of an open span as if it ended now. (When out of memory, the span does
   not break the rule.) */
static void take_open(const struct opens *o, const struct eventring_event *begin) {
  const struct eva_rules *rules = o->rules;
  if (begin->ns < rules->open_since || !is_within(o->rule, begin, begin->ns) ||
      (rules->one_domain && begin->domain != rules->domain))
    return;
  const struct eva_so_far so_far = eva_so_far(o->known, o->cursor, begin);
  if (!so_far.known) return;
  struct eva_rule *r = o->rule;
  const bool is_first = r->values == o->values_before;
  const double last = r->last, ns = (double)so_far.ns;
  r->at_least = so_far.at_least;
  take_value(r, ns);
  if (!is_first && last < ns) r->last = last; /* it is unknown which span ends last */
}

static int on_open(void *context, const struct eventring_event *e) {
  const struct opens *o = context;
  bool pause = subject_of(o->rule) == EVENTRING_SUBJECT_PAUSE;
  if (e->domain < EVENTRING_MAX_DOMAINS && role_of(o->rule, e) == DURATION &&
      (!pause || is_open_pause(o->rules, e)))
    take_open(o, e);
  return 0;
}

static void on_open_link(void *context, const struct eva_link *link) {
  const struct opens *o = context;
  const struct eventring_event begin = {.ns = link->begin.ns, .domain = link->begin.domain};
  if (link->begin.there && o->rule->role[link->id] == ASYNC_DURATION) take_open(o, &begin);
}

/* Tells whether events were lost. The end of an async span may be among them. */
static bool lost_any(const eventring_cursor *cursor) {
  struct eventring_totals totals = {.size = sizeof totals};
  eventring_cursor_totals(cursor, &totals);
  return totals.lost > 0;
}

static void visit_open(struct opens *opens) {
  eventring_open_spans(opens->cursor, on_open, opens);
  if (!lost_any(opens->cursor)) eva_links_each(&opens->rules->links, on_open_link, opens);
}

/* Tells whether the length of a span that has not ended can decide the rule, now or when
   it ends. r->holds is the result without it. All figures but `count` only grow with this
   length. A longer span can neither repair a rule that another value breaks, nor raise
   the least of several values. */
static bool may_be_decided_by_open(const struct eva_rule *r) {
  const uint8_t figure = r->condition.figure;
  if (figure == EVENTRING_FIGURE_COUNT || r->condition.cpu) return false;
  if (is_lower(r)) return !r->holds && figure != EVENTRING_EACH && figure != EVENTRING_FIGURE_MIN;
  return r->holds && (is_upper(r) || r->condition.comparison == EVENTRING_EQUAL);
}

/* Tells whether the figure, with the open spans, exceeds what the rule compares with. (A
   smaller figure may still grow to equal it.) */
static bool is_decided_by_open(const struct eva_rule *r) {
  const double most = r->condition.figure == EVENTRING_EACH ? r->max : r->value;
  if (is_lower(r)) return r->holds;
  return !r->holds && (is_upper(r) || most > r->condition.number);
}

/* Decides the rule by spans that have not ended, if they can decide it. */
static void check_open(struct eva_rules *rules, struct eva_rule *r, eventring_cursor *cursor,
                       const struct eva_known *known) {
  struct eva_rule before = *r;
  if (!may_be_decided_by_open(r)) return;
  visit_open(&(struct opens){rules, r, cursor, known, r->values});
  if (r->values == before.values) return;
  conclude_values(r);
  r->is_open = is_decided_by_open(r);
  if (!r->is_open) *r = before;
}

bool eva_rules_met(const struct eva_rules *rules) {
  for (size_t i = 0; i < rules->count; i++)
    if (rules->rule[i].met) return true;
  return false;
}

bool eva_rules_open_met(struct eva_rules *rules, eventring_cursor *cursor) {
  struct eva_known known;
  if (!rules->domains) return false; /* there are no rules */
  eva_known_find(&known, cursor, UINT64_MAX);
  for (size_t i = 0; i < rules->count; i++)
    if (is_lower(&rules->rule[i]) && rules->rule[i].condition.unit == EVENTRING_TIME &&
        !rules->rule[i].condition.cpu)
      visit_open(&(struct opens){rules, &rules->rule[i], cursor, &known,
                                 rules->rule[i].values});
  return eva_rules_met(rules);
}

/* ---- The end ----------------------------------------------------------------------- */

static void add_named(struct eva_rule *r, eventring_cursor *cursor) {
  for (unsigned id = 0; id < EVENTRING_MAX_EVENTS; id++) {
    const struct eventring_def *def = r->named[id] ? eventring_cursor_def(cursor, id) : NULL;
    if (def && find_role(r, def) == OCCURRENCE) r->values += r->named[id];
  }
}

static void conclude_events(struct eva_rules *rules, struct eva_rule *r, eventring_cursor *cursor,
                            const struct eva_known *known, uint64_t off) {
  struct found found = find_definitions(r, cursor);
  find_reason(r, &found);
  if (r->named) add_named(r, cursor);
  if (counts(r) && found.begun) r->values = r->begun;
  conclude_values(r);
  if (found.sums && r->condition.figure == EVENTRING_FIGURE_SUM)
    conclude_sum(r);
  if (r->reason[0]) {
    r->holds = r->has_value = false;
    return;
  }
  check_open(rules, r, cursor, known);
  if (r->unmeasured && !is_decided(r))
    set_undecided(r, "its ends do not say for how long the thread was off the processor%s", "");
  check_classes(r, cursor, off, found.classes);
}

/* Returns the number of the signal that ended a process; 0: none did. A process that died
   without recording its end was killed by SIGKILL. */
static double signal_of(enum eventring_liveness liveness, enum eventring_end_reason reason,
                        uint32_t detail) {
  enum { KILLED = 9 };
  if (reason == EVENTRING_END_SIGNAL) return detail;
  return liveness == EVENTRING_DEAD && reason == EVENTRING_END_UNKNOWN ? KILLED : 0;
}

/* Tells whether the process has executed another program, which has a recording of its
   own here. */
static bool went_on(eventring_cursor *cursor, const struct eventring_process *p) {
  struct eventring_process other;
  for (unsigned n = 1; eventring_cursor_process(cursor, n, &other) == EVENTRING_OK; n++)
    if (other.pid == p->pid && other.start_ns > p->start_ns) return true;
  return false;
}

/* Returns the largest value of all processes of a recording that was made of several; 0
   if there are none. */
static double value_of_processes(const struct eva_rule *r, eventring_cursor *cursor) {
  struct eventring_process p;
  double most = 0;
  for (unsigned n = 1; eventring_cursor_process(cursor, n, &p) == EVENTRING_OK; n++) {
    double value = subject_of(r) == EVENTRING_SUBJECT_ERROR ? p.error_ns != 0
                   : went_on(cursor, &p) ? 0 : signal_of(p.liveness, p.end_reason, p.end_detail);
    if (value > most) most = value;
  }
  return most;
}

/* Returns the value of a rule about the process: how many events were lost, or how it
   ended. */
static double value_of_process(const struct eva_rule *r, eventring_cursor *cursor,
                               const struct eventring_info *info, uint64_t lost) {
  double own = subject_of(r) == EVENTRING_SUBJECT_ERROR
                   ? info->error_ns != 0
                   : signal_of(info->liveness, info->end_reason, info->end_detail);
  if (subject_of(r) == EVENTRING_SUBJECT_LOST) return (double)lost;
  double of_all = value_of_processes(r, cursor);
  return own > of_all ? own : of_all;
}

static bool is_of_process(const struct eva_rule *r) {
  return subject_of(r) == EVENTRING_SUBJECT_LOST || subject_of(r) == EVENTRING_SUBJECT_ERROR ||
         subject_of(r) == EVENTRING_SUBJECT_SIGNAL;
}

void eva_rules_finish(struct eva_rules *rules, eventring_cursor *cursor, uint64_t lost,
                      uint64_t until) {
  struct eventring_info info = {.size = sizeof info};
  struct eva_known known;
  eventring_cursor_info(cursor, &info);
  eva_known_find(&known, cursor, until);
  uint64_t off = eventring_cursor_classes_off(cursor, rules->since ? rules->since : info.start_ns);
  for (size_t i = 0; i < rules->count; i++) {
    struct eva_rule *r = &rules->rule[i];
    if (is_of_process(r)) {
      r->has_value = true;
      r->value = value_of_process(r, cursor, &info, lost);
      r->holds = eventring_condition_holds(&r->condition, r->value);
    } else {
      conclude_events(rules, r, cursor, &known, off);
    }
  }
}

char *eva_rule_value_text(char *text, const struct eva_rule *r, double value) {
  char figure[EVA_FIGURE];
  size_t size = strlen(r->condition.name);
  const struct eva_so_far so_far = {true, r->at_least, value < 0x1p63 ? (uint64_t)value : 0};
  if (r->is_open && r->condition.unit == EVENTRING_TIME && value >= 0)
    return eva_so_far_text(text, &so_far);
  bool bytes = subject_of(r) == EVENTRING_SUBJECT_HEAP ||
               (size > 6 && strcmp(r->condition.name + size - 6, "_bytes") == 0);
  bool whole = value >= 0 && value < 0x1p62 && value == (double)(uint64_t)value;
  if (counts(r) || (!bytes && r->condition.unit != EVENTRING_TIME && whole))
    eva_count_text(figure, (uint64_t)value);
  else if (r->condition.unit == EVENTRING_TIME && value >= 0 && value < 0x1p63)
    eva_duration_text(figure, (uint64_t)value);
  else if (bytes && value >= 0 && value < 0x1p63)
    eva_bytes_text(figure, (uint64_t)value);
  else
    eva_double_text(figure, value);
  snprintf(text, EVA_RULE_VALUE, "%s", figure);
  return text;
}
