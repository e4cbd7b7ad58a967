/* SPDX-License-Identifier: MIT */
/* steps.c: the steps of the collector. */
#include "analysis/steps.h"

#include <string.h>

#include "analysis/names.h"

static void report(struct eva_steps *steps, struct eva_step_place *place) {
  if (place->waits) steps->report(steps->context, &place->step);
  place->waits = false;
}

static void begin(struct eva_steps *steps, struct eva_step_place *place,
                  const struct eva_shares *shares, const struct eventring_event *event) {
  report(steps, place);
  place->open = true;
  place->depth = event->depth;
  place->ring = event->ring;
  place->spans_context = event->context;
  place->step = (struct eva_step){
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

static void end(struct eva_steps *steps, struct eva_step_place *place,
                const struct eventring_event *event) {
  const int64_t took = eventring_event_took(event);
  if (event->depth == place->depth + 1) {
    if (took >= 0) add_phase(&place->step, event->id, (uint64_t)took);
    return;
  }
  if (event->depth > place->depth) return;
  place->open = false;
  place->waits = took >= 0 && event->depth == place->depth;
  if (!place->waits) steps->torn++;
  place->step.begin_ns = event->begin_ns;
  place->step.ns = event->ns - event->begin_ns;
  place->step.off_cpu = eventring_event_off_cpu(event);
}

static void count_work(struct eva_step *step, const struct eventring_event *event) {
  if (event->payload == EVENTRING_INT && event->value.i >= 0 && event->def &&
      event->def->quantity == EVENTRING_QUANTITY_PAUSE_WORK)
    step->work = event->value.i;
}

void eva_steps_event(struct eva_steps *steps, const struct eva_shares *shares,
                     const struct eventring_event *event) {
  struct eva_step_place *place = &steps->place[event->domain % EVENTRING_MAX_DOMAINS];
  if (event->event_class != EVENTRING_CLASS_GC) return;
  if (event->incarnation != place->step.incarnation) place->open = false;
  bool is_its = event->ring == place->ring && event->context == place->spans_context;
  if (event->kind == EVENTRING_BEGIN && (!place->open || (is_its && event->depth <= place->depth)))
    begin(steps, place, shares, event);
  else if (event->kind == EVENTRING_END && place->open && is_its)
    end(steps, place, event);
  else if (event->kind == EVENTRING_COUNTER && place->waits)
    count_work(&place->step, event);
}

const struct eva_step *eva_steps_open(const struct eva_steps *steps,
                                      const struct eventring_event *event) {
  const struct eva_step_place *place = &steps->place[event->domain % EVENTRING_MAX_DOMAINS];
  bool is_its = place->open && event->event_class == EVENTRING_CLASS_GC &&
                event->depth == place->depth && event->ring == place->ring &&
                event->context == place->spans_context &&
                event->incarnation == place->step.incarnation;
  return is_its ? &place->step : NULL;
}

void eva_steps_finish(struct eva_steps *steps) {
  for (int i = 0; i < EVENTRING_MAX_DOMAINS; i++) report(steps, &steps->place[i]);
}
