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
  eventring_pause_begin(&place->pause, event->depth, event->id, event->ns);
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
  if (event->depth == place->pause.depth + 1) {
    if (took >= 0) add_phase(&place->step, event->id, (uint64_t)took);
    return;
  }
  if (event->depth > place->pause.depth) return;
  place->waits = eventring_pause_end(&place->pause, event->depth) && took >= 0;
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

/* Tells whether a step is open in the ring and the context of the event. */
static bool is_its(const struct eva_step_place *place, const struct eventring_event *event) {
  return place->pause.open && event->ring == place->ring &&
         event->context == place->spans_context;
}

void eva_steps_collector_event(struct eva_steps *steps, const struct eva_shares *shares,
                               const struct eventring_event *event) {
  struct eva_step_place *place = &steps->place[event->domain % EVENTRING_MAX_DOMAINS];
  if (event->incarnation != place->step.incarnation) place->pause.open = false;
  if (event->kind == EVENTRING_BEGIN &&
      (!place->pause.open || (event->depth <= place->pause.depth && is_its(place, event))))
    begin(steps, place, shares, event);
  else if (event->kind == EVENTRING_END && is_its(place, event))
    end(steps, place, event);
  else if (event->kind == EVENTRING_COUNTER && place->waits)
    count_work(&place->step, event);
}

const struct eva_step *eva_steps_open(const struct eva_steps *steps,
                                      const struct eventring_event *event) {
  const struct eva_step_place *place = &steps->place[event->domain % EVENTRING_MAX_DOMAINS];
  const bool is_open = is_its(place, event) && event->event_class == EVENTRING_CLASS_GC &&
                       event->depth == place->pause.depth &&
                       event->incarnation == place->step.incarnation;
  return is_open ? &place->step : NULL;
}

void eva_steps_finish(struct eva_steps *steps) {
  for (int i = 0; i < EVENTRING_MAX_DOMAINS; i++) report(steps, &steps->place[i]);
}
