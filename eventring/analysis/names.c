/* SPDX-License-Identifier: MIT */
/* names.c: the words for the library's enumerations. */
#include "analysis/names.h"

#include <stdio.h>
#include <string.h>

#include "eventring/introspection.h"

static const char *name_in(const char *const *names, size_t count,
                           unsigned value) {
  return value < count && names[value] ? names[value] : "?";
}
#define NAME_IN(names, value) \
  name_in(names, sizeof(names) / sizeof((names)[0]), (unsigned)(value))

const char *eva_ring_name(const eventring_cursor *cursor, uint8_t ring) {
  static const char *const numbered[EVENTRING_RINGS] = {
      "ring0", "ring1", "ring2", "ring3", "ring4", "ring5", "ring6", "ring7"};
  const char *name = cursor ? eventring_cursor_name(cursor, EVENTRING_NAME_RING, ring) : NULL;
  return name ? name : NAME_IN(numbered, ring);
}

const char *eva_kind_name(uint8_t kind) {
  static const char *const names[] = {
      [EVENTRING_BEGIN] = "begin",     [EVENTRING_END] = "end",
      [EVENTRING_COUNTER] = "counter", [EVENTRING_INSTANT] = "event",
      [EVENTRING_LIFECYCLE] = "lifecycle", [EVENTRING_LINKED] = "linked"};
  return NAME_IN(names, kind);
}

const char *eva_role_name(uint8_t role) {
  static const char *const names[] = {[EVENTRING_ROLE_BEGIN] = "begin",
                                      [EVENTRING_ROLE_END] = "end",
                                      [EVENTRING_ROLE_STEP] = "step"};
  return NAME_IN(names, role);
}

const char *eva_def_kind_name(uint8_t kind) {
  static const char *const names[] = {
      [EVENTRING_DEF_SPAN] = "span",   [EVENTRING_DEF_COUNTER] = "counter",
      [EVENTRING_DEF_INSTANT] = "event", [EVENTRING_DEF_LIFECYCLE] = "lifecycle",
      [EVENTRING_DEF_ASYNC] = "async",   [EVENTRING_DEF_FLOW] = "flow"};
  return NAME_IN(names, kind);
}

const char *eva_measure_name(uint8_t measure) {
  static const char *const names[] = {
      [EVENTRING_MEASURE_NONE] = "none", [EVENTRING_LEVEL] = "level",
      [EVENTRING_DIFFERENCE] = "difference", [EVENTRING_RATE] = "rate",
      [EVENTRING_OFF_CPU] = "off_cpu"};
  return NAME_IN(names, measure);
}

const char *eva_quantity_name(uint8_t quantity) {
#define NAME(name, text, kind, what) [EVENTRING_QUANTITY_##name] = text,
  static const char *const names[] = {[EVENTRING_QUANTITY_NONE] = "none",
                                      EVENTRING_QUANTITIES(NAME)};
#undef NAME
  return NAME_IN(names, quantity);
}

const char *eva_payload_name(uint8_t payload) {
  static const char *const names[] = {
      [EVENTRING_NONE] = "none",     [EVENTRING_INT] = "int",
      [EVENTRING_UINT] = "uint",     [EVENTRING_DOUBLE] = "double",
      [EVENTRING_STRING] = "string", [EVENTRING_BYTES] = "bytes",
      [EVENTRING_VALUES] = "values",
      [EVENTRING_STACK_ID] = "stack_id", [EVENTRING_SAMPLE] = "sample", [EVENTRING_RAW] = "raw"};
  return NAME_IN(names, payload);
}

const char *eva_activity_name(uint32_t activity) {
  static const char *const names[] = {
      [EVENTRING_ACTIVITY_RUNNING] = "running", [EVENTRING_ACTIVITY_COLLECTING] = "collecting",
      [EVENTRING_ACTIVITY_FINALIZING] = "finalizing", [EVENTRING_ACTIVITY_WAITING] = "waiting"};
  return NAME_IN(names, activity);
}

const char *eva_liveness_name(enum eventring_liveness liveness) {
  static const char *const names[] = {
      [EVENTRING_LIVE] = "live", [EVENTRING_ENDED] = "ended",
      [EVENTRING_DEAD] = "dead", [EVENTRING_SAVED] = "saved"};
  return NAME_IN(names, liveness);
}

const char *eva_state_name(enum eventring_state state) {
  static const char *const names[] = {
      [EVENTRING_STOPPED] = "stopped", [EVENTRING_STANDBY] = "standby",
      [EVENTRING_RUNNING] = "running", [EVENTRING_PAUSED] = "paused"};
  return NAME_IN(names, state);
}

const char *eva_room_text(uint32_t no_room) { return no_room ? ", no room" : ""; }

char *eva_no_room_text(char *text, const struct eventring_info *info) {
  double since = info->no_room_ns > info->start_ns
                     ? (double)(info->no_room_ns - info->start_ns) / 1e9 : 0;
  text[0] = 0;
  if (info->no_room)
    snprintf(text, EVA_NO_ROOM, "the disk has none for %u ring%s, since %.6f s after the start: %s",
             info->no_room, info->no_room == 1 ? "" : "s", since,
             info->liveness == EVENTRING_LIVE ? "they go on in the blocks that they have"
                                              : "they had less to go on in");
  return text;
}

int eva_named_by(const struct eventring_event *event) {
  bool is_id = event->payload == EVENTRING_INT && !(event->flags & EVENTRING_SYNTHETIC) &&
               event->def && event->def->unit &&
               strcmp(event->def->unit, EVENTRING_UNIT_ID) == 0;
  return is_id && event->value.u < EVENTRING_MAX_EVENTS ? (int)event->value.u : -1;
}
