/* SPDX-License-Identifier: MIT */
/* steps.c: the steps of the collector. */
#include "analysis/steps.h"

#include <string.h>

#include "analysis/names.h"

static void report(struct eva_steps *steps, struct eva_newest_step *newest) {
  if (newest->waits) steps->report(steps->context, &newest->step);
  newest->waits = false;
}

static void begin(struct eva_steps *steps, struct eva_newest_step *newest,
                  const struct eva_shares *shares, const struct eventring_event *event) {
  report(steps, newest);
  eventring_pause_begin(&newest->pause, event->depth, event->id, event->ns);
  newest->ring = event->ring;
  newest->spans_context = event->context;
  newest->step = (struct eva_step){
      .begin_ns = event->ns, .domain = event->domain, .incarnation = event->incarnation,
      .id = event->id, .reason = eva_named_by(event), .work = -1, .off_cpu = -1,
      .span = shares ? eva_shares_running(shares, event->domain, EVENTRING_USER) : -1,
      .function = shares ? eva_shares_running(shares, event->domain, EVENTRING_CALLS) : -1};
}

static void add_phase(struct eva_step *step, uint16_t id, uint64_t ns) {
  unsigned i = 0;
  while (i < step->phases && step->phase[i].id != id) i++;
  if (i == EVA_STEP_PHASES) return;
  if (i == step->phases) step->phase[step->phases++] = (struct eva_phase){.id = id};
  step->phase[i].ns += ns;
}

static void end(struct eva_steps *steps, struct eva_newest_step *newest,
                const struct eventring_event *event) {
  const int64_t took = eventring_event_took(event);
  if (event->depth == newest->pause.depth + 1) {
    if (took >= 0) add_phase(&newest->step, event->id, (uint64_t)took);
    return;
  }
  if (event->depth > newest->pause.depth) return;
  newest->waits = eventring_pause_end(&newest->pause, event->depth) && took >= 0;
  if (!newest->waits) steps->torn++;
  newest->step.begin_ns = event->begin_ns;
  newest->step.ns = event->ns - event->begin_ns;
  newest->step.off_cpu = eventring_event_off_cpu(event);
}

static void count_work(struct eva_step *step, const struct eventring_event *event) {
  if (event->payload == EVENTRING_INT && event->value.i >= 0 && event->def &&
      event->def->quantity == EVENTRING_QUANTITY_PAUSE_WORK)
    step->work = event->value.i;
}

/* Tells whether a step is open in the ring and the context of the event. */
static bool is_its(const struct eva_newest_step *newest, const struct eventring_event *event) {
  return newest->pause.open && event->ring == newest->ring &&
         event->context == newest->spans_context;
}

void eva_steps_collector_event(struct eva_steps *steps, const struct eva_shares *shares,
                               const struct eventring_event *event) {
  struct eva_newest_step *newest = &steps->newest[event->domain % EVENTRING_MAX_DOMAINS];
  if (event->incarnation != newest->step.incarnation) newest->pause.open = false;
  if (event->kind == EVENTRING_BEGIN &&
      (!newest->pause.open || (event->depth <= newest->pause.depth && is_its(newest, event))))
    begin(steps, newest, shares, event);
  else if (event->kind == EVENTRING_END && is_its(newest, event))
    end(steps, newest, event);
  else if (event->kind == EVENTRING_COUNTER && newest->waits)
    count_work(&newest->step, event);
}

const struct eva_step *eva_steps_open(const struct eva_steps *steps,
                                      const struct eventring_event *event) {
  const struct eva_newest_step *newest = &steps->newest[event->domain % EVENTRING_MAX_DOMAINS];
  const bool is_open = is_its(newest, event) && event->event_class == EVENTRING_CLASS_GC &&
                       event->depth == newest->pause.depth &&
                       event->incarnation == newest->step.incarnation;
  return is_open ? &newest->step : NULL;
}

void eva_steps_finish(struct eva_steps *steps) {
  for (int i = 0; i < EVENTRING_MAX_DOMAINS; i++) report(steps, &steps->newest[i]);
}
