/* SPDX-License-Identifier: MIT */
/* cmd_stack.c: `eventring stack`: shows what a process does now, or, for a FILE, what it
 * did last.
 *
 * A process is read while it runs (remote/stack_read.h); it needs no preparation.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names.h"
#include "analysis/figures.h"
#include "coroutine_groups.h"
#include "domain_state.h"
#include "format/now.h"
#include "last_stacks.h"
#include "options.h"
#include "profile_view.h"
#include "remote_frames.h"
#include "remote/stack_read.h"
#include "remote/tasks.h"
#include "tool.h"

enum {
  SEARCH_MS = 100,   /* time for the search for coroutines, without --coroutines */
  TRIES = 64,        /* attempts to read a stack that keeps changing */
  TRIES_MS = 10
};

struct request {
  struct view_choice as;
  bool locals, coroutines;
  uint64_t domain; /* UINT64_MAX: all */
};

/* The output, and the process. */
struct showing {
  const struct request *request;
  struct view_to *to; /* NULL: the output is text */
  pid_t pid;
  struct remote_host host;
  struct remote_functions functions;
  struct remote_stack stack;
  uint64_t domains, coroutines, torn;
  uint64_t searched; /* bytes of heaps that were searched for coroutines */
  bool cut;
};

/* A domain, or a group of its coroutines, with a stack. */
struct row {
  struct showing *showing;
  const struct remote_domain *about;
  const struct remote_task *task;
  const char *state;
  const char *coroutine; /* address of the group's first coroutine; NULL if the row is a
                            domain */
  uint64_t count;        /* number of coroutines in the group */
};

/* ---- Domains ------------------------------------------------------------- */

static bool is_domain(const void *row) { return !((const struct row *)row)->coroutine; }
static bool has_subject(const void *row) {
  return is_domain(row) && ((const struct row *)row)->about->has_subject;
}

VIEW_GETTER(domain_id, struct row) { return view_uint(row->about->id); }
VIEW_GETTER(domain_name, struct row) { return view_text(row->about->name); }
VIEW_GETTER(thread, struct row) { return view_int(row->task->tid); }
VIEW_GETTER(activity, struct row) { return view_text(eva_activity_name(row->about->activity)); }
VIEW_GETTER(subject, struct row) { return view_uint(row->about->subject); }
VIEW_GETTER(os_state, struct row) { return view_text(remote_task_text(row->task)); }

static void frames_of(struct view_to *to, const void *row) {
  struct showing *view = ((const struct row *)row)->showing;
  remote_frames_put(to, &view->functions, &view->stack, view->request->locals);
}

static VIEW(stack_view, struct showing,
    {"moving", NULL, VIEW_PLAIN, ROW(stack.moving), .help = "inner frames are missing"},
    {"below", NULL, VIEW_COUNT, ROW(stack.below), .help = "outer frames that were left out"})

#define DOMAIN .has = is_domain, .flags = VIEW_PART
static VIEW(row_view, struct row,
    {"domain", NULL, VIEW_PLAIN, VIEW_GET(U32, domain_id)},
    {"domain_name", NULL, VIEW_PLAIN, VIEW_GET(TEXT, domain_name), DOMAIN},
    {"thread", NULL, VIEW_PLAIN, VIEW_GET(I32, thread), DOMAIN},
    {"activity", NULL, VIEW_PLAIN, VIEW_GET(TEXT, activity), DOMAIN},
    {"coroutine", NULL, VIEW_PLAIN, ROW(coroutine), .flags = VIEW_MAYBE | VIEW_NO_0,
     .help = "the address of one of the group"},
    {"count", NULL, VIEW_COUNT, ROW(count), .flags = VIEW_MAYBE | VIEW_NO_0,
     .help = "coroutines in the group: those that stand in the same lines"},
    {"state", NULL, VIEW_PLAIN, ROW(state)},
    {"subject", NULL, VIEW_PLAIN, VIEW_GET(U32, subject), .has = has_subject, .flags = VIEW_PART,
     .help = "the channel, domain ... that it waits for"},
    {"os_state", NULL, VIEW_PLAIN, VIEW_GET(TEXT, os_state), DOMAIN},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct row, showing), .flags = VIEW_POINTER,
     .view = &stack_view},
    {"frames", .form = VIEW_ROWS, .view = &remote_frame_view, .rows = frames_of})

static void print_domain(const struct row *row) {
  char thread[96] = "";
  if (row->task->tid)
    snprintf(thread, sizeof thread, " (thread %ld%s%s)", (long)row->task->tid,
             row->task->state ? ", " : "", row->task->state ? remote_task_text(row->task) : "");
  table_say(stdout, 0, 4, "domain %" PRIu32 " %s: %s%s", row->about->id, row->about->name,
            row->state, thread);
}

static void show_row(struct showing *view, const struct row *row) {
  if (view->to) return view_row(view->to, row);
  if (!row->coroutine) print_domain(row);
  else if (row->count == 1)
    table_say(stdout, 2, 4, "coroutine %s, %s", row->coroutine, row->state);
  else
    table_say(stdout, 2, 4, "%s coroutines, %s (one is %s)", eva_count(row->count), row->state,
              row->coroutine);
  remote_frames_print(&view->functions, &view->stack, view->request->locals);
}

/* Reads a stack again while parts of it are missing, for at most TRIES_MS. */
static enum remote_result read_stack(struct showing *view, struct remote_reader *reader,
                                     struct remote_domain *about) {
  uint64_t end = now_ns() + (uint64_t)TRIES_MS * 1000000;
  enum remote_result result = REMOTE_TORN;
  for (int i = 0; i < TRIES && (i < 4 || now_ns() < end); i++) {
    remote_domain_read(&view->host, about->address, about);
    result = remote_stack_read(reader, &view->stack, about, now_ns());
    if (result == REMOTE_GONE || result == REMOTE_EMPTY) return result;
    if (result == REMOTE_READ && !view->stack.moving) return result;
    view->torn += result == REMOTE_TORN;
  }
  return result;
}

static void show_group(struct showing *view, const struct remote_domain *about,
                       const struct coroutine_group *group) {
  char address[32], state[2 * REMOTE_NAME + 64] = "suspended";
  const struct remote_function *f = coroutine_group_function(group, &view->functions);
  snprintf(address, sizeof address, "0x%" PRIx64, group->of->address);
  if (group->of->is_new)
    snprintf(state, sizeof state, "not begun: %s", remote_function_name(f));
  view->coroutines += group->count;
  show_row(view, &(struct row){view, about, NULL, state, address, group->count});
}

static void show_coroutines(struct showing *view, struct remote_reader *reader,
                            const struct remote_domain *about) {
  struct coroutine_groups groups;
  coroutine_groups_read(&groups, &view->host, about->address,
                        view->request->coroutines ? 0 : (uint64_t)SEARCH_MS * 1000000, 0);
  for (size_t i = 0; i < groups.group_count; i++)
    if (coroutine_group_stack(&groups.groups[i], reader, now_ns(), &view->stack))
      show_group(view, about, &groups.groups[i]);
    else view->torn += groups.groups[i].count;
  view->cut |= groups.cut;
  view->torn += groups.torn;
  view->searched += groups.searched;
  coroutine_groups_free(&groups);
}

static void show_domain(struct showing *view, struct remote_domain *about) {
  char state[DOMAIN_STATE_TEXT];
  /* the domain has ended meanwhile */
  if (!remote_domain_read(&view->host, about->address, about)) return;
  struct remote_reader *reader = remote_reader_open(&view->functions, about->address);
  if (!reader) no_memory();
  enum remote_result result = read_stack(view, reader, about);
  struct remote_task task = remote_task_find(view->host.memory.pid, about->thread);
  if (result == REMOTE_TORN || result == REMOTE_GONE) view->stack.count = view->stack.below = 0;
  if (result == REMOTE_TORN) view->stack.moving = true;
  domain_state_text(state, about, &view->stack, result);
  view->domains++;
  show_row(view, &(struct row){view, about, &task, state, NULL, 0});
  show_coroutines(view, reader, about);
  remote_reader_close(reader);
}

/* ---- The process --------------------------------------------------------- */

static void show_domains(struct showing *view) {
  static struct remote_domain domains[REMOTE_DOMAINS];
  const size_t count = remote_domains_read(&view->host, domains);
  for (size_t i = 0; i < count; i++)
    if (view->request->domain == UINT64_MAX || view->request->domain == domains[i].id)
      show_domain(view, &domains[i]);
}

static void all_rows(struct view_to *to, const void *showing) {
  struct showing *view = (struct showing *)showing;
  view->to = to;
  show_domains(view);
}

static VIEW(stack_loss_view, struct showing,
    {"torn", NULL, VIEW_COUNT, ROW(torn)},
    {"search_cut", NULL, VIEW_PLAIN, ROW(cut), .help = "the time for coroutines was up"},
    {"searched_bytes", NULL, VIEW_BYTES, ROW(searched)})

static VIEW(total_view, struct showing,
    {"domains", NULL, VIEW_COUNT, ROW(domains)},
    {"coroutines", NULL, VIEW_COUNT, ROW(coroutines)})

static VIEW_WITH(process_view, struct showing, (.other = &last_stacks_view),
    {"pid", NULL, VIEW_PLAIN, ROW(pid)},
    {"host", NULL, VIEW_PLAIN, ROW(host.at.host)},
    {"rows", .form = VIEW_ROWS, .view = &row_view, .rows = all_rows, .flags = VIEW_MAIN},
    {"loss", .form = VIEW_OBJECT, .view = &stack_loss_view},
    {"total", .form = VIEW_OBJECT, .view = &total_view})

static void finish_text(const struct showing *view) {
  if (!view->cut) return;
  printf("The search for coroutines ended after %d ms and %s (--coroutines searches all).\n",
         SEARCH_MS, eva_bytes(view->searched));
}

static int show_process(pid_t pid, const struct request *request) {
  static struct showing view;
  view.request = request;
  view.pid = pid;
  if (!remote_host_open(&view.host, pid)) {
    if (view.host.forbidden)
      return last_stacks_ask(pid, request->domain, &request->as, view.host.error);
    return wrong("%ld: %s", (long)pid, view.host.error);
  }
  struct view_to to = {.out = stdout, .as = request->as};
  remote_functions_open(&view.functions, &view.host);
  if (view_wants_text(&request->as)) {
    show_domains(&view);
    finish_text(&view);
  } else {
    view_object(&to, &process_view, &view);
  }
  remote_functions_close(&view.functions);
  if (view.domains > 0) return STATUS_OK;
  return wrong("%ld: it %s", (long)pid,
               request->domain == UINT64_MAX ? "runs no domain now" : "has no such domain");
}

int command_stack(const struct command *self, int count, char **words) {
  struct request request = {.domain = UINT64_MAX};
  uint64_t samples = 0;
  if (profile_is_of_samples(count, words)) return command_profile(self, count, words);
  const struct option_spec specs[] = {
    {"locals", 0, OPTION_FLAG, &request.locals, NULL, "with the local variables of each function"},
    {"coroutines", 0, OPTION_FLAG, &request.coroutines, NULL,
     "search the whole heap for suspended coroutines, a minute at most"},
    {"domain", 0, OPTION_COUNT, &request.domain, "N", "of this domain only"},
    VIEW_SPECS(&request.as, process_view, "one JSON object"),
    {"hz", 0, OPTION_COUNT, &samples, "N", "take N samples a second and count them; --hz --help "
     "lists the options of that"},
  };
  struct operands operands;
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  pid_t pid;
  if (goes_on(status)) status = require_target(self, &operands, false);
  if (!goes_on(status)) return status;
  if (read_process_number(operands.words[0], &pid)) return show_process(pid, &request);
  if (request.locals || request.coroutines)
    return usage_error(self, "--locals and --coroutines need a live process (PID)");
  return last_stacks_show(operands.words[0], request.domain, &request.as);
}
