/* SPDX-License-Identifier: MIT */
/* last_stack.c: the last stacks of domains. Only the newest last stack of each slot is
 * kept, so that the number of slots bounds the memory; earlier ones are read again on
 * request. */
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
  struct evr_last_stack **newest = &stacks[record_number(s.first)];
  if (!*newest && !(*newest = calloc(1, sizeof **newest))) return false;
  if ((*newest)->record.ticks > s.ticks) return true;
  (*newest)->record = s;
  memcpy((*newest)->text, record + sizeof s / sizeof *record, s.bytes);
  evr_text_clean_lines((*newest)->text, s.bytes);
  (*newest)->text[s.bytes] = '\0';
  return true;
}

int eventring_cursor_catch_up(eventring_cursor *c, struct eventring_error *error) {
  if (!c) return EVENTRING_E_ARGUMENT;
  int status = evr_metadata_refresh(&c->meta, error);
  return status == EVENTRING_OK ? evr_definitions_catch_up(&c->definitions, &c->meta, error)
                                : status;
}

static struct eventring_last_stack stack_of(const eventring_cursor *c,
                                            const struct evr_last_stack *s, unsigned domain) {
  return (struct eventring_last_stack){
      .domain = domain, .incarnation = s->record.incarnation,
      .ns = evr_metadata_ns(&c->meta, s->record.ticks), .frames = s->record.frames,
      .reason = s->record.reason, .activity = s->record.activity, .subject = s->record.subject,
      .value = s->record.value, .text = s->text, .size = s->record.bytes};
}

int eventring_cursor_last_stack(eventring_cursor *c, unsigned domain,
                                struct eventring_last_stack *stack) {
  if (!c || !stack || domain >= EVENTRING_MAX_DOMAINS) return EVENTRING_E_ARGUMENT;
  const struct evr_last_stack *s = c->definitions.last_stacks[domain];
  if (!s) return EVENTRING_E_NOT_FOUND;
  *stack = stack_of(c, s, domain);
  return EVENTRING_OK;
}

/* ---- All of them ------------------------------------------------------------------- */

struct each_stack {
  const eventring_cursor *cursor;
  int (*on_stack)(void *context, const struct eventring_last_stack *stack);
  void *context;
  /* the last stack that was read, by slot */
  struct evr_last_stack *stack[EVENTRING_MAX_DOMAINS];
  bool done;
};

/* Delivers the stack of a record. (A record that is not valid was noted as damage when
   the records were read for the cursor.) */
static int on_record(void *context, enum format_kind kind, const uint64_t *record, unsigned words,
                     struct eventring_error *error) {
  struct each_stack *each = context;
  const unsigned slot = record_number(*record) % EVENTRING_MAX_DOMAINS;
  if (kind != FORMAT_LAST_STACKS || each->done || !evr_record_is_valid(kind, record, words))
    return EVENTRING_OK;
  /* the newer record replaces the previous one, whatever its time */
  if (each->stack[slot]) each->stack[slot]->record.ticks = 0;
  if (!evr_last_stack_take(each->stack, record))
    return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for last stacks");
  const struct eventring_last_stack stack = stack_of(each->cursor, each->stack[slot], slot);
  each->done = each->on_stack(each->context, &stack) != 0;
  return EVENTRING_OK;
}

int eventring_cursor_last_stacks(eventring_cursor *c,
                                 int (*on_stack)(void *, const struct eventring_last_stack *),
                                 void *context) {
  if (!c || !on_stack) return EVENTRING_E_ARGUMENT;
  struct each_stack each = {.cursor = c, .on_stack = on_stack, .context = context};
  struct evr_record_scan scan = {0};
  const struct eventring_error damage = c->meta.damage;
  int status = evr_record_scan(&scan, &c->meta, on_record, &each, &c->error);
  c->meta.damage = damage;
  evr_record_scan_free(&scan);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) free(each.stack[slot]);
  return status;
}
