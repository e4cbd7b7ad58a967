/* SPDX-License-Identifier: MIT */
/* cmd_stack.c: `eventring stack`: what a process does at this moment, or (FILE) what it did last.
 *
 * A process is read as it runs (remote/stack.h); nothing of it needs to be prepared.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/json.h"
#include "analysis/units.h"
#include "format/now.h"
#include "last_stacks.h"
#include "options.h"
#include "profile_view.h"
#include "remote/search.h"
#include "remote/stack.h"
#include "remote/tasks.h"
#include "remote/values.h"
#include "tool.h"

enum {
  SEARCH_MS = 20,    /* for coroutines, without --coroutines */
  TRIES = 64,        /* of a stack that changes all the time */
  TRIES_MS = 10
};

struct request {
  bool json, locals, coroutines;
  uint64_t domain; /* UINT64_MAX: all */
};

/* All that is shown goes through here. */
struct showing {
  const struct request *request;
  struct remote_host host;
  struct remote_functions functions;
  struct remote_stack stack;
  struct eva_json json;
  uint64_t domains, coroutines, torn;
  uint64_t searched, bytes; /* of heaps, for coroutines */
  bool cut;
};

/* ---- Frames -------------------------------------------------------------- */

static void print_variable(void *closure, const struct remote_variable *variable) {
  (void)closure;
  printf("            ");
  print_foreign_text(stdout, variable->name);
  printf(" = %s\n", variable->text); /* printable ASCII */
}

static void print_frame(struct showing *view, const struct remote_frame *frame) {
  const struct remote_function *f = frame->function;
  printf("    ");
  print_foreign_text(stdout, remote_function_name(f));
  if (f == NULL || f->is_c) {
    printf("  [C]");
  } else {
    printf("  ");
    print_foreign_text(stdout, f->source);
    if (frame->line)
      printf(":%" PRIu32 "%s", frame->line, frame->line_noted ? " (last noted)" : "");
    else if (f->first_line) printf(":%" PRIu32 " (its first line)", f->first_line);
  }
  printf("%s%s\n", frame->tail ? ", tail-called" : "", frame->finalizer ? ", a finalizer" : "");
  if (view->request->locals) remote_variables(&view->functions, frame, print_variable, NULL);
}

static void variable_json(void *closure, const struct remote_variable *variable) {
  struct eva_json *json = closure;
  eva_json_open_object(json);
  eva_json_string_at(json, "name", variable->name);
  eva_json_string_at(json, "type", variable->type);
  eva_json_string_at(json, "value", variable->text);
  eva_json_close_object(json);
}

static void frame_json(struct showing *view, const struct remote_frame *frame) {
  struct eva_json *json = &view->json;
  const struct remote_function *f = frame->function;
  eva_json_open_object(json);
  eva_json_string_at(json, "name", remote_function_name(f));
  eva_json_string_at(json, "kind", f == NULL || f->is_c ? "c" : "lua");
  if (f != NULL && !f->is_c) {
    eva_json_string_at(json, "source", f->source);
    eva_json_uint_at(json, "defined", f->first_line);
    if (frame->line) eva_json_uint_at(json, "line", frame->line);
    eva_json_bool_at(json, "line_noted", frame->line_noted);
  }
  if (frame->tail) eva_json_bool_at(json, "tail", true);
  if (frame->finalizer) eva_json_bool_at(json, "finalizer", true);
  if (view->request->locals) {
    eva_json_key(json, "locals");
    eva_json_open_array(json);
    remote_variables(&view->functions, frame, variable_json, json);
    eva_json_close_array(json);
  }
  eva_json_close_object(json);
}

static void show_frames(struct showing *view) {
  const struct remote_stack *stack = &view->stack;
  if (view->request->json) {
    eva_json_bool_at(&view->json, "moving", stack->moving);
    eva_json_uint_at(&view->json, "below", stack->below);
    eva_json_key(&view->json, "frames");
    eva_json_open_array(&view->json);
    for (size_t i = 0; i < stack->count; i++) frame_json(view, &stack->frames[i]);
    eva_json_close_array(&view->json);
    return;
  }
  if (stack->moving) printf("    ... (inner frames, which changed while they were read)\n");
  for (size_t i = 0; i < stack->count; i++) {
    if (i > 0 && stack->frames[i].thread != stack->frames[i - 1].thread)
      printf("  which was resumed by\n");
    print_frame(view, &stack->frames[i]);
  }
  if (stack->below) printf("    ... (%" PRIu64 " more)\n", stack->below);
}

/* ---- Domains ------------------------------------------------------------- */

/* "in C function string.find", "receiving from channel 3". */
static void state_text(const struct showing *view, const struct remote_domain *about,
                       enum remote_result result, char *text, size_t room) {
  const struct remote_stack *stack = &view->stack;
  const struct remote_frame *top = stack->count > 0 && !stack->moving ? &stack->frames[0] : NULL;
  if (about->activity != EVENTRING_ACTIVITY_RUNNING && about->has_subject)
    snprintf(text, room, "%.*s %" PRIu32, EVENTRING_RULE_TEXT, about->text, about->subject);
  else if (about->activity != EVENTRING_ACTIVITY_RUNNING)
    snprintf(text, room, "%.*s", EVENTRING_RULE_TEXT, about->text);
  else if (result == REMOTE_EMPTY)
    snprintf(text, room, "runs no function");
  else if (top != NULL && (top->function == NULL || top->function->is_c))
    snprintf(text, room, "in %s%s", top->function != NULL ? "C function " : "",
             remote_function_name(top->function));
  else
    snprintf(text, room, "running");
}

static void domain_head(struct showing *view, const struct remote_domain *about, const char *state,
                        const struct remote_task *task) {
  if (!view->request->json) {
    printf("domain %" PRIu32 " ", about->id);
    print_foreign_text(stdout, about->name);
    printf(": ");
    print_foreign_text(stdout, state);
    if (task->tid) printf(" (thread %ld", (long)task->tid);
    if (task->tid && task->state) printf(", %s", remote_task_text(task));
    printf(task->tid ? ")\n" : "\n");
    return;
  }
  static const char *const activities[] = {"running", "collecting", "finalizing", "waiting"};
  eva_json_uint_at(&view->json, "domain", about->id);
  eva_json_string_at(&view->json, "domain_name", about->name);
  eva_json_int_at(&view->json, "thread", task->tid);
  eva_json_string_at(&view->json, "activity", activities[about->activity]);
  eva_json_string_at(&view->json, "state", state);
  if (about->has_subject) eva_json_uint_at(&view->json, "subject", about->subject);
  eva_json_string_at(&view->json, "os_state", remote_task_text(task));
}

/* Reads it again while parts of it are missing, for some milliseconds. */
static enum remote_result read_stack(struct showing *view, struct remote_reader *reader,
                                     struct remote_domain *about) {
  uint64_t end = now_ns() + (uint64_t)TRIES_MS * 1000000;
  enum remote_result result = REMOTE_TORN;
  for (int i = 0; i < TRIES && (i < 4 || now_ns() < end); i++) {
    remote_domain_read(&view->host, about->address, about);
    result = remote_stack_read(reader, &view->stack, NULL, now_ns());
    if (result == REMOTE_GONE || result == REMOTE_EMPTY) return result;
    if (result == REMOTE_READ && !view->stack.moving) return result;
    view->torn += result == REMOTE_TORN;
  }
  return result;
}

static void show_coroutine(struct showing *view, const struct remote_domain *about, uint64_t thread) {
  view->coroutines++;
  if (view->request->json) {
    char text[32];
    snprintf(text, sizeof text, "0x%" PRIx64, thread);
    eva_json_open_object(&view->json);
    eva_json_uint_at(&view->json, "domain", about->id);
    eva_json_string_at(&view->json, "coroutine", text);
    eva_json_string_at(&view->json, "state", "suspended");
    show_frames(view);
    eva_json_close_object(&view->json);
    return;
  }
  printf("  coroutine 0x%" PRIx64 ", suspended\n", thread);
  show_frames(view);
}

static void show_coroutines(struct showing *view, struct remote_reader *reader,
                            const struct remote_domain *about) {
  struct remote_search search;
  remote_search(&view->host, about->address,
                view->request->coroutines ? 0 : (uint64_t)SEARCH_MS * 1000000, &search);
  for (size_t i = 0; i < search.count; i++)
    if (remote_stack_suspended(reader, search.threads[i], &view->stack, now_ns()) == REMOTE_READ)
      show_coroutine(view, about, search.threads[i]);
  view->cut |= search.cut;
  view->searched += search.searched;
  view->bytes += search.bytes;
  free(search.threads);
}

static void show_domain(struct showing *view, uint64_t domain) {
  struct remote_domain about;
  char state[REMOTE_NAME + 64];
  if (!remote_domain_read(&view->host, domain, &about)) return;
  if (view->request->domain != UINT64_MAX && view->request->domain != about.id) return;
  struct remote_reader *reader = remote_reader_open(&view->functions, domain);
  if (!reader) no_memory();
  enum remote_result result = read_stack(view, reader, &about);
  struct remote_task task = remote_task_find(view->host.memory.pid, about.thread);
  if (result == REMOTE_TORN || result == REMOTE_GONE) view->stack.count = view->stack.below = 0;
  if (result == REMOTE_TORN) view->stack.moving = true;
  state_text(view, &about, result, state, sizeof state);
  view->domains++;
  if (view->request->json) eva_json_open_object(&view->json);
  domain_head(view, &about, state, &task);
  show_frames(view);
  if (view->request->json) eva_json_close_object(&view->json);
  show_coroutines(view, reader, &about);
  remote_reader_close(reader);
}

/* ---- The process --------------------------------------------------------- */

static int by_number(const void *a, const void *b) {
  const struct remote_domain *x = a, *y = b;
  return (x->id > y->id) - (x->id < y->id);
}

static void show_domains(struct showing *view) {
  static uint64_t domains[REMOTE_DOMAINS];
  static struct remote_domain sorted[REMOTE_DOMAINS];
  size_t count = remote_domains(&view->host, domains, REMOTE_DOMAINS), n = 0;
  for (size_t i = 0; i < count; i++)
    if (remote_domain_read(&view->host, domains[i], &sorted[n])) n++;
  qsort(sorted, n, sizeof *sorted, by_number);
  for (size_t i = 0; i < n; i++) show_domain(view, sorted[i].address);
}

static void finish_json(struct showing *view) {
  struct eva_json *json = &view->json;
  eva_json_close_array(json);
  eva_json_key(json, "loss");
  eva_json_open_object(json);
  eva_json_uint_at(json, "torn", view->torn);
  eva_json_bool_at(json, "search_cut", view->cut);
  eva_json_uint_at(json, "searched_bytes", view->searched);
  eva_json_close_object(json);
  eva_json_key(json, "total");
  eva_json_open_object(json);
  eva_json_uint_at(json, "domains", view->domains);
  eva_json_uint_at(json, "coroutines", view->coroutines);
  eva_json_close_object(json);
  eva_json_close_object(json);
  eva_json_line(json);
}

static void finish_text(const struct showing *view) {
  if (!view->cut) return;
  char figure[EVA_FIGURE];
  printf("The search for coroutines ended after %d ms and %s (--coroutines searches all).\n",
         SEARCH_MS, eva_bytes_text(figure, view->searched));
}

static int show_process(pid_t pid, const struct request *request) {
  static struct showing view;
  view.request = request;
  if (!remote_host_open(&view.host, pid)) {
    if (view.host.forbidden)
      return last_stacks_ask(pid, request->domain, request->json, view.host.error);
    complain("%ld: %s", (long)pid, view.host.error);
    return STATUS_WRONG;
  }
  remote_functions_open(&view.functions, &view.host);
  if (request->json) {
    eva_json_start(&view.json, stdout);
    eva_json_open_object(&view.json);
    eva_json_uint_at(&view.json, "version", 1);
    eva_json_int_at(&view.json, "pid", pid);
    eva_json_string_at(&view.json, "host", view.host.at.host);
    eva_json_key(&view.json, "rows");
    eva_json_open_array(&view.json);
  }
  show_domains(&view);
  if (request->json) finish_json(&view);
  else finish_text(&view);
  remote_functions_close(&view.functions);
  if (view.domains > 0) return STATUS_OK;
  complain("%ld: %s", (long)pid, request->domain == UINT64_MAX ? "it runs no domain now"
                                                               : "it has no such domain");
  return STATUS_WRONG;
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
    {"json", 0, OPTION_FLAG, &request.json, NULL, "as JSON"},
    {"hz", 0, OPTION_COUNT, &samples, "N", "take N samples a second and count them; --hz --help "
     "lists the options of that"},
  };
  struct operands operands;
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  pid_t pid;
  if (status < 0) status = require_target(self, &operands, false);
  if (status >= 0) return status;
  if (read_process_number(operands.words[0], &pid)) return show_process(pid, &request);
  if (request.locals || request.coroutines)
    return usage_error(self, "--locals and --coroutines are of a live process: PID");
  return last_stacks_show(operands.words[0], request.domain, request.json);
}
