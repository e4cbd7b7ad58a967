/* SPDX-License-Identifier: MIT */
/* rules.c: do conditions hold for a recording (rules.h)? */
#include "analysis/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/units.h"

/* How the events of a definition count for a rule. */
enum role {
  UNKNOWN, NOTHING,
  DURATION,        /* ends of spans */
  ASYNC_DURATION,
  VALUE,           /* of a counter */
  WORDS_VALUE,     /* the same in words of 8 bytes, of which the rule wants bytes */
  OCCURRENCE,      /* begins, and all other events */
  BEGUN            /* lifecycle events NAME_begin */
};

struct eva_rules_domain {
  uint32_t incarnation;
  /* of class gc, the outermost span that is open */
  bool in_pause;
  uint32_t pause_depth;
  int64_t heap; /* bytes */
};

static enum eventring_subject subject_of(const struct eva_rule *r) {
  return (enum eventring_subject)r->condition.subject;
}
static bool counts(const struct eva_rule *r) {
  return r->condition.figure == EVENTRING_FIGURE_COUNT;
}

/* ---- Rules ------------------------------------------------------------------------------ */

static bool make_rule(struct eva_rule *r, const struct eventring_condition *condition,
                      const char *text, size_t size, unsigned line) {
  bool within = condition->within[0] != 0;
  *r = (struct eva_rule){.condition = *condition, .line = line};
  r->text = strndup(text, size);
  r->role = calloc(1, EVENTRING_MAX_EVENTS);
  if (condition->figure == EVENTRING_QUANTILE) r->histogram = calloc(1, sizeof *r->histogram);
  if (within) r->within = calloc(EVENTRING_MAX_DOMAINS, sizeof *r->within);
  return r->text && r->role && (r->histogram || condition->figure != EVENTRING_QUANTILE) &&
         (r->within || !within);
}

static void free_rule(struct eva_rule *r) {
  free(r->text);
  free(r->role);
  free(r->within);
  if (r->histogram) eva_histogram_free(r->histogram);
  free(r->histogram);
}

static bool make_room(struct eva_rules *rules) {
  size_t room = rules->room ? 2 * rules->room : 8;
  if (rules->count < rules->room) return true;
  struct eva_rule *rule = realloc(rules->rule, room * sizeof *rule);
  if (!rule) return false;
  rules->rule = rule;
  rules->room = room;
  return true;
}

int eva_rules_add(struct eva_rules *rules, const struct eventring_condition *condition,
                  const char *text, size_t size, unsigned line) {
  if (rules->count == EVA_MAX_RULES) return EVENTRING_E_FULL;
  if (!rules->domains) rules->domains = calloc(EVENTRING_MAX_DOMAINS, sizeof *rules->domains);
  if (!rules->domains || !make_room(rules)) return EVENTRING_E_MEMORY;
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

/* ---- What a definition is for a rule ----------------------------------------------------- */

static bool has_suffix(const char *name, size_t stem, const char *suffix) {
  return strlen(name) == stem + strlen(suffix) && strcmp(name + stem, suffix) == 0;
}

/* Is the definition `stem`_words, and the rule about `stem`_bytes? */
static bool is_in_words(const struct eventring_def *def, const char *name) {
  size_t size = strlen(name), suffix = strlen("_bytes");
  return size > suffix && strcmp(name + size - suffix, "_bytes") == 0 &&
         strncmp(def->name, name, size - suffix) == 0 &&
         has_suffix(def->name, size - suffix, "_words");
}

static enum role role_of_heap(const struct eventring_def *def) {
  if (def->event_class != EVENTRING_CLASS_GC || def->kind != EVENTRING_DEF_COUNTER)
    return NOTHING;
  if (strcmp(def->name, "heap_words") == 0) return WORDS_VALUE;
  return strcmp(def->name, "heap_bytes") == 0 || strcmp(def->name, "heap") == 0 ? VALUE
                                                                                 : NOTHING;
}

static enum role role_of_span(const struct eventring_def *def, bool count) {
  if (def->kind == EVENTRING_DEF_SPAN) return count ? OCCURRENCE : DURATION;
  if (def->kind == EVENTRING_DEF_ASYNC) return count ? OCCURRENCE : ASYNC_DURATION;
  return NOTHING;
}

/* Of a name alone: durations if the rule compares with a time, values of counters if not. */
static enum role role_of_name(const struct eva_rule *r, const struct eventring_def *def) {
  const char *name = r->condition.name;
  size_t size = strlen(name);
  bool time = r->condition.unit == EVENTRING_TIME;
  bool counter = def->kind == EVENTRING_DEF_COUNTER;
  bool same = strcmp(def->name, name) == 0;
  if (counts(r)) {
    bool begun = strncmp(def->name, name, size) == 0 && has_suffix(def->name, size, "_begin");
    if (begun && def->kind == EVENTRING_DEF_LIFECYCLE) return BEGUN;
    return same ? OCCURRENCE : NOTHING;
  }
  if (counter && !time) return same ? VALUE : is_in_words(def, name) ? WORDS_VALUE : NOTHING;
  if (counter) return same && def->unit && strcmp(def->unit, "ns") == 0 ? VALUE : NOTHING;
  return same && time ? role_of_span(def, false) : NOTHING;
}

static enum role find_role(const struct eva_rule *r, const struct eventring_def *def) {
  switch (subject_of(r)) {
  case EVENTRING_SUBJECT_PAUSE: /* by its class */
    return def->kind == EVENTRING_DEF_SPAN && def->event_class == EVENTRING_CLASS_GC ? DURATION
                                                                                     : NOTHING;
  case EVENTRING_SUBJECT_HEAP:
    return role_of_heap(def);
  case EVENTRING_SUBJECT_SPAN:
    return strcmp(def->name, r->condition.name) == 0 ? role_of_span(def, counts(r)) : NOTHING;
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

/* ---- Values ------------------------------------------------------------------------------ */

/* The one that is farthest on the wrong side. */
static bool is_worse(const struct eva_rule *r, double value) {
  switch (r->condition.comparison) {
  case EVENTRING_LESS: case EVENTRING_NOT_MORE: return value > r->value;
  case EVENTRING_MORE: case EVENTRING_NOT_LESS: return value < r->value;
  default: return false; /* the first stays */
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
  /* a quantile of what is below 0 would need another histogram */
  return eva_histogram_add(r->histogram, value < 0 ? 0 : (uint64_t)value);
}

/* ---- Within ------------------------------------------------------------------------------ */

static void follow_within(struct eva_rule *r, const struct eventring_event *e) {
  if (!e->def || e->def->kind != EVENTRING_DEF_SPAN || strcmp(e->name, r->condition.within) != 0)
    return;
  struct eva_rule_within *w = &r->within[e->domain];
  if (e->kind == EVENTRING_BEGIN && w->open++ == 0) w->since = e->ns;
  if (e->kind == EVENTRING_END && w->open > 0 && --w->open == 0) w->until = e->ns;
}

static bool is_within(const struct eva_rule *r, const struct eventring_event *e, uint64_t ns) {
  if (!r->within) return true;
  const struct eva_rule_within *w = &r->within[e->domain];
  if (!w->since && !w->open) return false;
  return ns >= w->since && (w->open > 0 || ns < w->until);
}

/* ---- Events ------------------------------------------------------------------------------ */

/* Is this the end of a pause? Follows the outermost spans of class gc. */
static bool ends_pause(struct eva_rules_domain *d, const struct eventring_event *e) {
  if (e->event_class != EVENTRING_CLASS_GC) return false;
  if (e->kind == EVENTRING_BEGIN && (!d->in_pause || e->depth <= d->pause_depth)) {
    d->in_pause = true;
    d->pause_depth = e->depth;
  }
  if (e->kind != EVENTRING_END || !d->in_pause || e->depth != d->pause_depth) return false;
  d->in_pause = false;
  return true;
}

static bool is_whole_span(const struct eventring_event *e) {
  return e->kind == EVENTRING_END && e->flags & EVENTRING_MATCHED && !(e->flags & EVENTRING_TORN);
}

static bool number_of(const struct eventring_event *e, double *number) {
  if (e->kind != EVENTRING_COUNTER) return false;
  if (e->payload == EVENTRING_DOUBLE) *number = e->value.d;
  else if (e->payload == EVENTRING_UINT) *number = (double)e->value.u;
  else if (e->payload == EVENTRING_INT) *number = (double)e->value.i;
  else return false;
  return true;
}

/* The heap of all domains. */
static double heap_of_all(struct eva_rules *rules, const struct eventring_event *e, double bytes) {
  double all = 0;
  rules->domains[e->domain].heap = bytes < 0x1p62 ? (int64_t)bytes : 0;
  for (unsigned i = 0; i < EVENTRING_MAX_DOMAINS; i++) all += (double)rules->domains[i].heap;
  return all;
}

static bool is_occurrence(const struct eventring_event *e) {
  if (e->flags & EVENTRING_SYNTHETIC || e->kind == EVENTRING_END) return false;
  return e->kind != EVENTRING_LINKED || e->role == EVENTRING_ROLE_BEGIN;
}

static int take_duration(struct eva_rule *r, const struct eventring_event *e, bool pause) {
  bool wanted = subject_of(r) != EVENTRING_SUBJECT_PAUSE || pause;
  if (!wanted || !is_whole_span(e) || !is_within(r, e, e->begin_ns)) return EVENTRING_OK;
  return take_value(r, (double)(e->ns - e->begin_ns));
}

static int take_counter(struct eva_rules *rules, struct eva_rule *r,
                        const struct eventring_event *e, bool words) {
  double value;
  if (!number_of(e, &value)) return EVENTRING_OK;
  if (words) value *= 8;
  if (subject_of(r) == EVENTRING_SUBJECT_HEAP) value = heap_of_all(rules, e, value);
  return is_within(r, e, e->ns) ? take_value(r, value) : EVENTRING_OK;
}

static int take_async(struct eva_rule *r, const struct eventring_event *e,
                      const struct eva_link_outcome *pair) {
  if (!pair->paired || pair->end.ns < pair->begin.ns) return EVENTRING_OK;
  if (!is_within(r, e, pair->begin.ns)) return EVENTRING_OK;
  return take_value(r, (double)(pair->end.ns - pair->begin.ns));
}

static int take_for_rule(struct eva_rules *rules, struct eva_rule *r,
                         const struct eventring_event *e, bool pause,
                         const struct eva_link_outcome *pair) {
  if (r->within) follow_within(r, e);
  switch (role_of(r, e)) {
  case DURATION: return take_duration(r, e, pause);
  case ASYNC_DURATION: return take_async(r, e, pair);
  case VALUE: return take_counter(rules, r, e, false);
  case WORDS_VALUE: return take_counter(rules, r, e, true);
  case OCCURRENCE:
    if (is_occurrence(e) && is_within(r, e, e->ns)) r->values++;
    return EVENTRING_OK;
  case BEGUN:
    if (is_within(r, e, e->ns)) r->begun++;
    return EVENTRING_OK;
  default: return EVENTRING_OK;
  }
}

static void change_incarnation(struct eva_rules *rules, const struct eventring_event *e) {
  struct eva_rules_domain *d = &rules->domains[e->domain];
  if (d->incarnation == e->incarnation) return;
  *d = (struct eva_rules_domain){.incarnation = e->incarnation};
  for (size_t i = 0; i < rules->count; i++)
    if (rules->rule[i].within && rules->rule[i].within[e->domain].open > 0) {
      rules->rule[i].within[e->domain].open = 0;
      rules->rule[i].within[e->domain].until = e->ns;
    }
}

int eva_rules_event(struct eva_rules *rules, const struct eventring_event *e) {
  struct eva_link_outcome pair = {0};
  if (rules->status != EVENTRING_OK || !rules->domains || e->domain >= EVENTRING_MAX_DOMAINS)
    return rules->status;
  change_incarnation(rules, e);
  bool pause = ends_pause(&rules->domains[e->domain], e);
  bool async = e->kind == EVENTRING_LINKED && e->def && e->def->kind == EVENTRING_DEF_ASYNC;
  if (async && e->role != EVENTRING_ROLE_STEP)
    rules->status = eva_links_take(&rules->links, e, &pair);
  for (size_t i = 0; rules->status == EVENTRING_OK && i < rules->count; i++)
    rules->status = take_for_rule(rules, &rules->rule[i], e, pause, &pair);
  return rules->status;
}

bool eva_rules_met(const struct eva_rules *rules) {
  for (size_t i = 0; i < rules->count; i++)
    if (rules->rule[i].met) return true;
  return false;
}

/* ---- Results ----------------------------------------------------------------------------- */

/* What the catalogue has of a rule's name. */
struct found {
  bool span, counter, begun, within, any;
};

static struct found find_definitions(const struct eva_rule *r, eventring_cursor *cursor) {
  struct found found = {0};
  for (unsigned id = 0; id < EVENTRING_MAX_EVENTS; id++) {
    const struct eventring_def *def = eventring_cursor_def(cursor, id);
    if (!def) continue;
    enum role role = find_role(r, def);
    bool same = strcmp(def->name, r->condition.name) == 0;
    found.any |= role != NOTHING;
    found.begun |= role == BEGUN;
    found.span |= same && (def->kind == EVENTRING_DEF_SPAN || def->kind == EVENTRING_DEF_ASYNC);
    found.counter |= same && def->kind == EVENTRING_DEF_COUNTER;
    found.within |= strcmp(def->name, r->condition.within) == 0 && def->kind == EVENTRING_DEF_SPAN;
  }
  return found;
}

/* Says what a rule is about that is not there, or not what the rule takes it for. */
static void find_reason(struct eva_rule *r, const struct found *found) {
  const char *name = r->condition.name;
  if (r->condition.within[0] && !found->within)
    snprintf(r->reason, sizeof r->reason, "no span is called %.96s", r->condition.within);
  else if (found->any || counts(r))
    return;
  else if (found->span)
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

/* Of each value: a rule of which there is none holds. */
static void conclude_events(struct eva_rule *r, eventring_cursor *cursor) {
  struct found found = find_definitions(r, cursor);
  find_reason(r, &found);
  if (counts(r) && found.begun) r->values = r->begun;
  if (r->condition.figure == EVENTRING_EACH) {
    r->has_value = r->bad > 0;
    r->holds = r->bad == 0;
  } else {
    bool always = counts(r) || r->condition.figure == EVENTRING_FIGURE_SUM;
    r->has_value = always || r->values > 0;
    if (r->has_value) r->value = figure_of(r);
    r->holds = !r->has_value || eventring_condition_holds(&r->condition, r->value);
  }
  if (r->reason[0]) r->holds = r->has_value = false;
}

/* Of the process: how it ended. A process that died without a word was killed by SIGKILL. */
static double value_of_process(const struct eva_rule *r, const struct eventring_info *info,
                               uint64_t lost) {
  enum { KILLED = 9 };
  switch (subject_of(r)) {
  case EVENTRING_SUBJECT_LOST: return (double)lost;
  case EVENTRING_SUBJECT_ERROR: return info->error_ns != 0;
  default:
    if (info->end_reason == EVENTRING_END_SIGNAL) return info->end_detail;
    return info->liveness == EVENTRING_DEAD && info->end_reason == EVENTRING_END_UNKNOWN ? KILLED
                                                                                          : 0;
  }
}

static bool is_of_process(const struct eva_rule *r) {
  return subject_of(r) == EVENTRING_SUBJECT_LOST || subject_of(r) == EVENTRING_SUBJECT_ERROR ||
         subject_of(r) == EVENTRING_SUBJECT_SIGNAL;
}

void eva_rules_finish(struct eva_rules *rules, eventring_cursor *cursor, uint64_t lost) {
  struct eventring_info info = {0};
  eventring_cursor_info(cursor, &info);
  for (size_t i = 0; i < rules->count; i++) {
    struct eva_rule *r = &rules->rule[i];
    if (is_of_process(r)) {
      r->has_value = true;
      r->value = value_of_process(r, &info, lost);
      r->holds = eventring_condition_holds(&r->condition, r->value);
    } else {
      conclude_events(r, cursor);
    }
  }
}

char *eva_rule_value_text(char *text, const struct eva_rule *r, double value) {
  char figure[EVA_FIGURE];
  size_t size = strlen(r->condition.name);
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
