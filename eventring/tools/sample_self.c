/* SPDX-License-Identifier: MIT */
/* sample_self.c: samples a process whose memory cannot be read.
 *
 * A process that records has a control page, through which it can be asked for its
 * stacks. Then each domain writes its own stack as a record at its next safepoint
 * (<eventring/stack.h>). So samples lie only at safepoints (ends of loops, tail calls,
 * collections). A domain that reaches none in time, because it waits or runs a C
 * function, is counted as "(not at a safepoint)".
 */
#include "sample_self.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "eventring/stack.h"
#include "format/now.h"
#include "last_stacks.h"
#include "sample_tree.h"

enum { LOOK_NS = 200000, MOST_DEPTH = 256 };

static const char not_there[] = "(not at a safepoint)";

static void rest(uint64_t ns) {
  nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
                               .tv_nsec = (long)(ns % 1000000000u)}, NULL);
}

/* ---- Asking ------------------------------------------------------------------- */

/* Opens the recording of the process in a directory, by its usual name. */
static bool open_in(eventring_cursor **cursor, pid_t pid, const char *directory) {
  char path[4096];
  struct eventring_info info = {.size = sizeof info};
  int size = snprintf(path, sizeof path, "%s/%ld.eventring", directory, (long)pid);
  if (size < 0 || size >= (int)sizeof path ||
      eventring_open_path(cursor, path, EVENTRING_OPEN_NOW | EVENTRING_OPEN_OWN, NULL) != 0)
    return false;
  if (eventring_cursor_info(*cursor, &info) == 0 && info.pid == pid &&
      info.liveness == EVENTRING_LIVE)
    return true;
  eventring_close(*cursor);
  return false;
}

/* Opens the recording of a process. If /proc does not show what the process maps,
   searches for the recording's file in the default directory, and where programs that are
   started here put their files. */
static int open_recording(eventring_cursor **cursor, pid_t pid, const char *why) {
  struct eventring_error error;
  int status = eventring_open_pid(cursor, pid, EVENTRING_OPEN_NOW, &error);
  if (status == 0) return 0;
  const char *prefix = secure_getenv("SAROS_EVENTRING_PREFIX");
  if (status == EVENTRING_E_PERMISSION &&
      (open_in(cursor, pid, ".") || (prefix && *prefix && open_in(cursor, pid, prefix))))
    return 0;
  if (status == EVENTRING_E_PERMISSION)
    complain("%ld: %s; and it cannot be asked for its stacks: there is no recording %ld.eventring "
             "of this user in this directory or in SAROS_EVENTRING_PREFIX", (long)pid, why,
             (long)pid);
  else
    complain("%ld: %s; and it has no recording, through which it could be asked for its stacks "
             "(start it with SAROS_EVENTRING_START=1)", (long)pid, why);
  return STATUS_WRONG;
}

int sample_self_open(eventring_cursor **cursor, pid_t pid, const char *why) {
  struct eventring_error error;
  if (open_recording(cursor, pid, why) != 0) return STATUS_WRONG;
  if (eventring_cursor_control(*cursor, EVENTRING_CHANGE(STACKS, .on = false), &error) == 0)
    return STATUS_GO_ON;
  complain("%ld: %s; and it cannot be asked for its stacks: %s", (long)pid, why, error.text);
  eventring_close(*cursor);
  return STATUS_WRONG;
}

static bool is_alive(eventring_cursor *cursor, unsigned slot) {
  struct eventring_domain_info info = {.size = sizeof info};
  return eventring_cursor_domain(cursor, slot, &info) == 0 && info.alive;
}

/* Returns how many domains have answered, and sets *alive to how many there are. */
static int count_answers(eventring_cursor *cursor, uint64_t asked_ns, int *alive) {
  struct eventring_last_stack stack;
  int count = 0;
  *alive = 0;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    if (!is_alive(cursor, slot)) continue;
    (*alive)++;
    count += eventring_cursor_last_stack(cursor, slot, &stack) == 0 && stack.ns >= asked_ns;
  }
  return count;
}

int sample_self_ask(eventring_cursor *cursor, uint64_t ns, uint64_t *asked_ns) {
  int count = 0, alive = 1;
  uint64_t begun = *asked_ns = now_ns();
  if (eventring_cursor_control(cursor, EVENTRING_CHANGE(STACKS, .on = true), NULL) != 0) return -1;
  while (count < alive && now_ns() - begun < ns) {
    rest(LOOK_NS);
    if (eventring_cursor_catch_up(cursor, NULL) != 0) break;
    count = count_answers(cursor, *asked_ns, &alive);
  }
  eventring_cursor_control(cursor, EVENTRING_CHANGE(STACKS, .on = false), NULL);
  return eventring_cursor_liveness(cursor) == EVENTRING_LIVE ? count : -1;
}

/* ---- Counting ----------------------------------------------------------------- */

struct self {
  eventring_cursor *cursor;
  struct sample_tree tree[EVENTRING_MAX_DOMAINS]; /* by slot; `nodes` is NULL if there is
                                                     no tree */
  char name[EVENTRING_MAX_DOMAINS][EVENTRING_MAX_DOMAIN_NAME + 1];
  struct sample_names names; /* names of functions; trees refer to them */
  uint64_t samples, late;
};

/* Counts a stack for all periods since the stack before (sample.c). */
static void count_stack(struct self *s, unsigned slot, const struct eventring_last_stack *stack,
                        uint64_t periods) {
  struct sample_key keys[MOST_DEPTH];
  struct last_frame frame;
  struct sample_tree *tree = &s->tree[slot];
  size_t depth = 0;
  uint32_t node = 0;
  if (!stack) node = sample_tree_child(tree, 0, (struct sample_key){.text = not_there});
  for (const char *at = stack ? stack->text : "";
       depth < MOST_DEPTH && last_frame_next(&at, &frame); depth++)
    keys[depth] = (struct sample_key){
        .function = sample_name(&s->names, frame.name, frame.source,
                                strcmp(frame.source, "[C]") == 0),
        .line = frame.line};
  while (depth-- > 0) node = sample_tree_child(tree, node, keys[depth]);
  tree->nodes[node].here += periods;
  s->samples += periods;
  s->late += periods - 1;
}

static void count_all(struct self *s, uint64_t domain, uint64_t asked_ns, uint64_t periods) {
  struct eventring_last_stack stack;
  struct eventring_domain_info info = {.size = sizeof info};
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    if ((domain != UINT64_MAX && domain != slot) || !is_alive(s->cursor, slot)) continue;
    const bool known = s->tree[slot].nodes != NULL;
    if (!known) {
      sample_tree_open(&s->tree[slot]);
      if (eventring_cursor_domain(s->cursor, slot, &info) == 0)
        memcpy(s->name[slot], info.name, sizeof s->name[slot]);
    }
    bool answered = eventring_cursor_last_stack(s->cursor, slot, &stack) == 0 &&
                    stack.ns >= asked_ns;
    count_stack(s, slot, answered ? &stack : NULL, known ? periods : 1);
  }
}

static void sample_until_end(struct self *s, struct launch *launch,
                             const struct sample_options *options, uint64_t period) {
  uint64_t start = now_ns(), due = start, asked_ns;
  while (!reader_is_stopped()) {
    uint64_t now = now_ns();
    if (options->seconds_ns && now - start >= options->seconds_ns) return;
    if (launch) launch_check(launch);
    const uint64_t periods = now > due ? (now - due) / period + 1 : 1;
    if (sample_self_ask(s->cursor, period / 2, &asked_ns) < 0) return;
    count_all(s, options->domain, asked_ns, periods);
    due += periods * period;
    now = now_ns();
    if (due > now) rest(due - now);
  }
}

/* ---- The result --------------------------------------------------------------- */

static void fill(const struct self *s, enum sample_detail detail, struct time_profile *profile) {
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    if (!s->tree[slot].nodes) continue;
    struct eventring_profile *p = sample_tree_add(&s->tree[slot], detail, profile);
    p->slot = slot;
    memcpy(p->domain, s->name[slot], sizeof p->domain);
  }
}

static void release(struct self *s) {
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    sample_tree_close(&s->tree[slot]);
  sample_names_free(&s->names);
  eventring_close(s->cursor);
  free(s);
}

int sample_self(pid_t pid, struct launch *launch, const struct sample_options *options,
                enum sample_detail detail, const char *why, struct time_profile *profile) {
  static char how[256];
  uint64_t hz = options->hz < SAMPLE_SELF_MOST_HZ ? options->hz : SAMPLE_SELF_MOST_HZ;
  const uint64_t period = 1000000000u / hz;
  struct self *s = need_zeroed(1, sizeof *s);
  int status = sample_self_open(&s->cursor, pid, why);
  if (!goes_on(status)) {
    free(s);
    return status;
  }
  if (!launch) reader_catch_signals(true);
  sample_until_end(s, launch, options, period);
  snprintf(how, sizeof how, "The process has sampled itself, at safepoints only, %d times a second "
           "(the kernel does not let its memory be read).", (int)hz);
  *profile = (struct time_profile){.sampled = true, .pid = pid, .period_ns = period,
                                   .samples = s->samples, .late = s->late, .how = how};
  fill(s, detail, profile);
  release(s);
  return STATUS_GO_ON;
}
