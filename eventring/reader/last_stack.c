/* SPDX-License-Identifier: MIT */
/* last_stack.c: the last stacks of domains. Only the newest of each slot is kept, so that no
 * file needs more memory than its slots. */
#include "reader/last_stack.h"

#include <stdlib.h>
#include <string.h>

#include "eventring/stack.h"
#include "format/error.h"
#include "format/text.h"
#include "reader/cursor.h"

bool evr_last_stack_valid(const uint64_t *record) {
  struct format_last_stack s;
  memcpy(&s, record, sizeof s);
  return record_number(s.first) < EVENTRING_MAX_DOMAINS && s.incarnation && s.reason &&
         s.reason <= FORMAT_STACK_REASONS && s.activity <= FORMAT_STACK_ACTIVITIES;
}

bool evr_last_stack_take(struct evr_last_stack **stacks, const uint64_t *record) {
  struct format_last_stack s;
  memcpy(&s, record, sizeof s);
  struct evr_last_stack **place = &stacks[record_number(s.first)];
  if (!*place && !(*place = calloc(1, sizeof **place))) return false;
  if ((*place)->record.ticks > s.ticks) return true;
  (*place)->record = s;
  memcpy((*place)->text, record + sizeof s / sizeof *record, s.bytes);
  evr_text_clean_lines((*place)->text, s.bytes);
  (*place)->text[s.bytes] = '\0';
  return true;
}

int eventring_cursor_catch_up(eventring_cursor *c, struct eventring_error *error) {
  if (!c) return EVENTRING_E_ARGUMENT;
  int status = evr_metadata_refresh(&c->meta, error);
  return status == EVENTRING_OK ? evr_definitions_catch_up(&c->definitions, &c->meta, error)
                                : status;
}

int eventring_cursor_last_stack(eventring_cursor *c, unsigned domain,
                                struct eventring_last_stack *stack) {
  if (!c || !stack || domain >= EVENTRING_MAX_DOMAINS) return EVENTRING_E_ARGUMENT;
  const struct evr_last_stack *s = c->definitions.last_stacks[domain];
  if (!s) return EVENTRING_E_NOT_FOUND;
  *stack = (struct eventring_last_stack){
      .domain = domain, .incarnation = s->record.incarnation,
      .ns = evr_metadata_ns(&c->meta, s->record.ticks), .frames = s->record.frames,
      .reason = s->record.reason, .activity = s->record.activity, .subject = s->record.subject,
      .value = s->record.value, .text = s->text, .size = s->record.bytes};
  return EVENTRING_OK;
}
