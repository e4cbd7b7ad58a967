/* SPDX-License-Identifier: MIT */
/* domain_state.c: finds what a domain does, and whether its thread is asleep.
 *
 * No command wakes a thread to make it answer: a signal would end its system call with
 * EINTR, and watching must change nothing. So this code recognises from outside that a
 * thread is asleep: at two checks the system reports it as asleep or stopped, and in
 * between it has not left a processor (proc_pid_status(5) counts that), so it has not
 * run. */
#include "domain_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/now.h"
#include "remote/tasks.h"

/* ---- In words ----------------------------------------------------------------- */

void domain_state_text(char text[static DOMAIN_STATE_TEXT], const struct remote_domain *about,
                       const struct remote_stack *stack, enum remote_result result) {
  const struct remote_frame *top = stack->count > 0 && !stack->moving ? &stack->frames[0] : NULL;
  if (about->activity != EVENTRING_ACTIVITY_RUNNING && about->has_subject)
    snprintf(text, DOMAIN_STATE_TEXT, "%.*s %" PRIu32, EVENTRING_RULE_TEXT, about->text,
             about->subject);
  else if (about->activity != EVENTRING_ACTIVITY_RUNNING)
    snprintf(text, DOMAIN_STATE_TEXT, "%.*s", EVENTRING_RULE_TEXT, about->text);
  else if (result == REMOTE_EMPTY)
    snprintf(text, DOMAIN_STATE_TEXT, "runs no function");
  else if (top != NULL && (top->function == NULL || top->function->is_c))
    snprintf(text, DOMAIN_STATE_TEXT, "in %s%s", top->function != NULL ? "C function " : "",
             remote_function_name(top->function));
  else
    snprintf(text, DOMAIN_STATE_TEXT, "running");
}

static bool find_domain(struct remote_host *host, pid_t own_tid, struct remote_domain *about) {
  static struct remote_domain domains[REMOTE_DOMAINS];
  const size_t count = remote_domains_read(host, domains);
  for (size_t i = 0; i < count; i++)
    if (domains[i].thread == own_tid || count == 1) {
      *about = domains[i];
      return true;
    }
  return false;
}

/* Writes what the domain does, according to the memory of the process. Returns false if
   that is unknown. */
static bool read_state(char text[static DOMAIN_STATE_TEXT], pid_t pid, pid_t own_tid) {
  static struct remote_host host;
  static struct remote_functions functions;
  static struct remote_stack stack;
  struct remote_domain about;
  if (!remote_host_open(&host, pid) || !find_domain(&host, own_tid, &about)) return false;
  remote_functions_open(&functions, &host);
  struct remote_reader *reader = remote_reader_open(&functions, about.address);
  enum remote_result result =
      reader ? remote_stack_read(reader, &stack, &about, now_ns()) : REMOTE_GONE;
  if (result == REMOTE_TORN || result == REMOTE_GONE) stack.count = 0;
  domain_state_text(text, &about, &stack, result);
  remote_reader_close(reader);
  remote_functions_close(&functions);
  return true;
}

static bool is_asleep(char state) { return state == 'S' || state == 'D'; }
static bool is_stopped(char state) { return state == 'T' || state == 't'; }

void domain_thread_text(char text[static DOMAIN_STATE_TEXT], pid_t pid, pid_t own_tid) {
  static const char in[] = "in ";
  const struct remote_task task = remote_task_find(pid, own_tid);
  char state[DOMAIN_STATE_TEXT] = "";
  if (is_stopped(task.state)) {
    snprintf(text, DOMAIN_STATE_TEXT, "%s", remote_task_text(&task));
    return;
  }
  const bool known = read_state(state, pid, own_tid);
  const bool asleep = is_asleep(task.state);
  if (asleep && (!known || strcmp(state, "running") == 0))
    snprintf(text, DOMAIN_STATE_TEXT, "asleep");
  else
    snprintf(text, DOMAIN_STATE_TEXT, "%s%.*s",
             asleep && strncmp(state, in, sizeof in - 1) == 0 ? "asleep " : "",
             DOMAIN_STATE_TEXT - (int)sizeof "asleep ", state);
}

/* ---- Is it asleep? ------------------------------------------------------------ */

bool sleep_watch_look(struct sleep_watch *w, pid_t pid, pid_t own_tid, uint64_t ns) {
  if (w->tid == 0) w->tid = remote_task_find(pid, own_tid).tid;
  struct remote_task task = {.tid = w->tid};
  uint64_t switches, now = now_ns();
  if (w->tid == 0 || !remote_task_switches(pid, w->tid, &switches) ||
      !remote_task_read(pid, &task))
    return false;
  w->stopped = is_stopped(task.state);
  const bool sleeps = is_asleep(task.state) || w->stopped;
  if (!sleeps || !w->sleeps || switches != w->switches) w->since_ns = now;
  w->sleeps = sleeps;
  w->switches = switches;
  return sleeps && now - w->since_ns >= ns;
}
