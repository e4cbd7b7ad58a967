/* SPDX-License-Identifier: MIT */
/* cmd_stack.c: `eventring stack`: what a process does at this moment, or (FILE) what it did last.
 *
 * A process is read as it runs (remote/stack.h); nothing of it needs to be prepared.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  struct view_choice as;
  bool locals, coroutines;
  uint64_t domain; /* UINT64_MAX: all */
};

/* What is shown, and of what. */
struct showing {
  const struct request *request;
  struct view_to *to; /* NULL: it is text */
  pid_t pid;
  struct remote_host host;
  struct remote_functions functions;
  struct remote_stack stack;
  uint64_t domains, coroutines, torn;
  uint64_t searched, bytes; /* of heaps, for coroutines */
  bool cut;
};

/* A domain, or one of its coroutines, and its stack. */
struct row {
  struct showing *showing;
  const struct remote_domain *about;
  const struct remote_task *task;
  const char *state;
  const char *coroutine; /* its address; NULL: it is the domain */
};

/* ---- Frames -------------------------------------------------------------- */

struct frame_row {
  struct showing *showing;
  const struct remote_frame *frame;
  const struct remote_function *function;
};

/* Is it of the language? */
static bool is_lua(const void *row) {
  const struct remote_function *f = ((const struct frame_row *)row)->function;
  return f != NULL && !f->is_c;
}

VIEW_GETTER(frame_name, struct frame_row) { return view_text(remote_function_name(row->function)); }
VIEW_GETTER(frame_kind, struct frame_row) { return view_text(is_lua(row) ? "lua" : "c"); }

static VIEW(function_view, struct remote_function,
    {"source", NULL, VIEW_PLAIN, ROW(source)},
    {"defined", NULL, VIEW_PLAIN, ROW(first_line), .help = "its first line"})

static VIEW(line_view, struct remote_frame,
    {"line", NULL, VIEW_PLAIN, ROW(line), .flags = VIEW_MAYBE | VIEW_NO_0},
    {"line_noted", NULL, VIEW_PLAIN, ROW(line_noted), .help = "the line may be past"})
static VIEW(call_view, struct remote_frame,
    {"tail", NULL, VIEW_PLAIN, ROW(tail), VIEW_IF(tail), .flags = VIEW_PART},
    {"finalizer", NULL, VIEW_PLAIN, ROW(finalizer), VIEW_IF(finalizer),
     .flags = VIEW_PART})

static void print_variable(void *closure, const struct remote_variable *variable) {
  (void)closure;
  table_say(stdout, 12, 4, "%s = %s", variable->name, variable->text);
}

static void put_variable(void *to, const struct remote_variable *variable) {
  view_row(to, variable);
}

static bool has_locals(const void *row) {
  return ((const struct frame_row *)row)->showing->request->locals;
}

static void locals_of(struct view_to *to, const void *row) {
  const struct frame_row *r = row;
  remote_variables(&r->showing->functions, r->frame, put_variable, to);
}

static VIEW(local_view, struct remote_variable,
    {"name", NULL, VIEW_PLAIN, ROW(name)},
    {"type", NULL, VIEW_PLAIN, ROW(type)},
    {"value", NULL, VIEW_PLAIN, ROW(text)})

#define OF_FRAME .form = VIEW_INCLUDE, .offset = offsetof(struct frame_row, frame)
static VIEW(frame_view, struct frame_row,
    {"name", NULL, VIEW_PLAIN, VIEW_GET(TEXT, frame_name)},
    {"kind", NULL, VIEW_PLAIN, VIEW_GET(TEXT, frame_kind), .help = "lua or c"},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct frame_row, function), .has = is_lua,
     .flags = VIEW_POINTER, .view = &function_view},
    {OF_FRAME, .has = is_lua, .flags = VIEW_POINTER, .view = &line_view},
    {OF_FRAME, .flags = VIEW_POINTER, .view = &call_view},
    {"locals", .form = VIEW_ROWS, .has = has_locals, .view = &local_view, .rows = locals_of})

static void frames_of(struct view_to *to, const void *row) {
  struct showing *view = ((const struct row *)row)->showing;
  const struct remote_frame *frames = view->stack.frames;
  for (size_t i = 0; i < view->stack.count; i++)
    view_row(to, &(struct frame_row){view, &frames[i], frames[i].function});
}

static void print_frame(struct showing *view, const struct remote_frame *frame) {
  const struct frame_row row = {view, frame, frame->function};
  const struct remote_function *f = frame->function;
  uint32_t line = !is_lua(&row) ? 0 : frame->line ? frame->line : f->first_line;
  char number[16] = "", remark[64];
  if (line) snprintf(number, sizeof number, "%" PRIu32, line);
  snprintf(remark, sizeof remark, "%s%s%s",
           line && !frame->line ? " (its first line)" : frame->line_noted ? " (last noted)" : "",
           frame->tail ? ", tail-called" : "", frame->finalizer ? ", a finalizer" : "");
  stack_line_print(remote_function_name(f), is_lua(&row) ? f->source : "[C]", number, remark);
  if (view->request->locals) remote_variables(&view->functions, frame, print_variable, NULL);
}

static void print_frames(struct showing *view) {
  const struct remote_stack *stack = &view->stack;
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

static bool is_domain(const void *row) { return !((const struct row *)row)->coroutine; }
static bool has_subject(const void *row) {
  return is_domain(row) && ((const struct row *)row)->about->has_subject;
}

VIEW_GETTER(domain_id, struct row) { return view_uint(row->about->id); }
VIEW_GETTER(domain_name, struct row) { return view_text(row->about->name); }
VIEW_GETTER(thread, struct row) { return view_int(row->task->tid); }
VIEW_GETTER(activity, struct row) {
  static const char *const names[] = {"running", "collecting", "finalizing", "waiting"};
  return view_text(names[row->about->activity]);
}
VIEW_GETTER(subject, struct row) { return view_uint(row->about->subject); }
VIEW_GETTER(os_state, struct row) { return view_text(remote_task_text(row->task)); }

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
     .help = "its address"},
    {"state", NULL, VIEW_PLAIN, ROW(state)},
    {"subject", NULL, VIEW_PLAIN, VIEW_GET(U32, subject), .has = has_subject, .flags = VIEW_PART,
     .help = "the channel, domain ... that it waits for"},
    {"os_state", NULL, VIEW_PLAIN, VIEW_GET(TEXT, os_state), DOMAIN},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct row, showing), .flags = VIEW_POINTER,
     .view = &stack_view},
    {"frames", .form = VIEW_ROWS, .view = &frame_view, .rows = frames_of})

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
  if (row->coroutine) printf("  coroutine %s, %s\n", row->coroutine, row->state);
  else print_domain(row);
  print_frames(view);
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

static void show_coroutine(struct showing *view, const struct remote_domain *about,
                           uint64_t thread) {
  char address[32];
  snprintf(address, sizeof address, "0x%" PRIx64, thread);
  view->coroutines++;
  show_row(view, &(struct row){view, about, NULL, "suspended", address});
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
  show_row(view, &(struct row){view, &about, &task, state, NULL});
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
  if (status < 0) status = require_target(self, &operands, false);
  if (status >= 0) return status;
  if (read_process_number(operands.words[0], &pid)) return show_process(pid, &request);
  if (request.locals || request.coroutines)
    return usage_error(self, "--locals and --coroutines are of a live process: PID");
  return last_stacks_show(operands.words[0], request.domain, &request.as);
}
