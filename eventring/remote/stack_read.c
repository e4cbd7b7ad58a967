/* SPDX-License-Identifier: MIT */
/* stack_read.c: reads a stack of a process while it runs.
 *
 * The memory of the process changes while it is copied. Two things make a copy the stack
 * of one moment: the order of the reads, which one system call does (a few, if there are
 * very many frames); and `entries`, a counter in each frame that grows whenever another
 * function begins in it:
 *
 *   A   all frames of the thread, and the functions' slots of these frames
 *   T   which thread runs, and which frame is its innermost one
 *   B   all frames again
 *   C   all frames again
 *   U   the threads as in T
 *
 * The frames of a thread are a list. Position d of it holds the frame at depth d, even
 * after the function has returned, until another function begins there. So if `entries`
 * and the fields that identify the function are the same in A, B and C, position d holds
 * the same activation in all three, and held it at T. If the frame at depth m is the
 * innermost one at T, all positions up to depth m are on the stack at T. Hence:
 *
 * 1. If positions 0..m are the same in A, B and C, they are the stack at T. Nothing else
 *    need be checked.
 * 2. If only positions 0..j are the same (j < m), these were on the stack at T, and so
 *    was something in position j+1. Position j held its activation before and after B. So
 *    what position j+1 holds in B began during that activation and was called by it, and
 *    0..j+1 is a stack that existed. The frames above it are not shown (`moving`). In
 *    this way functions of less than a microsecond are seen.
 * 3. If not even position 1 is the same, the stack is torn, and nothing is shown.
 *
 * A host fills a frame in an order that keeps rule 2 true even if its thread is
 * interrupted between two stores (INTROSPECTION.md). Slots of functions are read after A
 * and before T: at that time, activations that are the same in A and B had begun and had
 * not ended.
 *
 * A coroutine runs while another thread waits for it. Waiting threads do not run, so all
 * of their frames must be the same, and T and U must agree about which threads they are.
 * (If a thread was left and entered again in between, its resumer's innermost frame has
 * begun again.) If one of them differs, the stack ends there, as in rule 2. A coroutine
 * without a resumer was left at that moment, unless T and U both show it as the running
 * one and it is not suspended.
 *
 * To read everything in one system call, the addresses must be known before. A plan keeps
 * the addresses of the last time. Frames do not move as long as their thread lives. Each
 * copy is checked against the plan (depth, the link to the frame below). If the check
 * fails, a new plan is made, link by link.
 */
#include "remote/stack_read.h"

#include <stdlib.h>
#include <string.h>

#include "remote/activity.h"
#include "remote/frame_fields.h"
#include "remote/plan.h"

enum { ATTEMPTS = 3 /* new plans for one stack */ };

struct remote_reader {
  struct remote_functions *functions;
  struct remote_host *host;
  uint64_t domain;
  struct remote_plan plan;
  bool planned;
  struct remote_activity activity;
};

struct remote_reader *remote_reader_open(struct remote_functions *functions, uint64_t domain) {
  struct remote_reader *reader = calloc(1, sizeof *reader);
  if (reader == NULL) return NULL;
  reader->functions = functions;
  reader->host = functions->host;
  reader->domain = domain;
  return reader;
}

void remote_reader_close(struct remote_reader *reader) {
  if (reader == NULL) return;
  remote_plan_free(&reader->plan);
  free(reader);
}

/* ---- what a domain does -------------------------------------------------- */

bool remote_domain_notes(struct remote_host *host, uint64_t domain) {
  uint64_t address;
  uint8_t noted;
  return remote_locate(host, domain, host->at.lines.noted, &address) &&
         remote_read(&host->memory, address, &noted, sizeof noted) && noted != 0;
}

bool remote_domain_read(struct remote_host *host, uint64_t domain, struct remote_domain *about) {
  const struct eventring_introspection *at = &host->at;
  uint64_t address;
  uint32_t thread;
  memset(about, 0, sizeof *about);
  about->address = domain;
  about->text = "";
  about->notes = remote_domain_notes(host, domain);
  if (!remote_locate(host, domain, at->domain.id, &address) ||
      !remote_read_u32(&host->memory, address, &about->id) ||
      !remote_locate(host, domain, at->domain.thread, &address) ||
      !remote_read_u32(&host->memory, address, &thread))
    return false;
  about->thread = (int32_t)thread;
  size_t size = at->domain.name_size < sizeof about->name - 1 ? at->domain.name_size
                                                              : sizeof about->name - 1;
  if (!remote_locate(host, domain, at->domain.name, &address) ||
      !remote_read(&host->memory, address, about->name, size))
    return false;
  about->name[size] = '\0';
  remote_activity_read(host, NULL, about);
  return true;
}

static int by_number(const void *a, const void *b) {
  const struct remote_domain *x = a, *y = b;
  return (x->id > y->id) - (x->id < y->id);
}

size_t remote_domains_read(struct remote_host *host, struct remote_domain domains[REMOTE_DOMAINS]) {
  uint64_t addresses[REMOTE_DOMAINS];
  const size_t count = remote_domains(host, addresses, REMOTE_DOMAINS);
  size_t read = 0;
  for (size_t i = 0; i < count; i++)
    if (remote_domain_read(host, addresses[i], &domains[read])) read++;
  qsort(domains, read, sizeof *domains, by_number);
  return read;
}

/* ---- judging ------------------------------------------------------------- */

static bool stays(const struct eventring_introspection *at, const struct remote_planned *thread,
                  size_t i) {
  const size_t size = at->frame.size;
  const unsigned char *a = thread->a + i * size, *b = thread->b + i * size,
                      *c = thread->c + i * size;
  return remote_frame_stays(at, a, b) && remote_frame_stays(at, b, c);
}

/* Returns the position of the frame at this address in the plan, or SIZE_MAX. */
static size_t position_of(const struct remote_planned *thread, uint64_t frame) {
  for (size_t i = thread->count; i > 0; i--)
    if (thread->frames[i - 1] == frame) return i - 1;
  return SIZE_MAX;
}

/* Tells whether the frames up to position `last` are where the plan says. */
static bool links_hold(const struct eventring_introspection *at,
                       const struct remote_planned *thread, size_t last) {
  for (size_t i = 1; i <= last; i++) {
    const unsigned char *b = thread->b + i * at->frame.size;
    if (FRAME(b, previous, 8) != thread->frames[i - 1] ||
        FRAME(b, depth, 4) != thread->from + i)
      return false;
  }
  return true;
}

/* ---- frames -------------------------------------------------------------- */

/* Finds the function in position i. `slot` is true if the value of its slot may be used,
 * provided that the plan has the slot's present address. The word in a C frame is the
 * function until the function sets a continuation. So if that word has a name in the
 * modules, it certainly is a function. Otherwise the plan must have the right slot. */
static struct remote_function *function_of(struct remote_reader *reader,
                                           const struct remote_planned *thread, size_t i,
                                           bool slot) {
  const bool certain = slot;
  const struct eventring_introspection *at = &reader->host->at;
  const unsigned char *frame = thread->b + i * at->frame.size;
  const unsigned char *value = thread->slots + i * at->value.size;
  uint8_t kind = reader->host->kinds[value[at->value.tag]];
  uint64_t payload = remote_word(value + at->value.payload, 8), address;
  slot = slot && thread->slot_of[i] == FRAME(frame, function, 8);
  if (!remote_frame_is_c(at, frame)) {
    uint64_t identity = FRAME(frame, identity, 8);
    struct remote_function *f = remote_function_known(reader->functions, identity, false);
    if (f == NULL && slot && kind == EVENTRING_VALUE_FUNCTION)
      f = remote_function_read(reader->functions, identity, payload);
    return f;
  }
  if (slot && kind == EVENTRING_VALUE_CFUNCTION)
    return remote_function_c(reader->functions, payload);
  if (slot && kind == EVENTRING_VALUE_CCLOSURE &&
      remote_read_pointer(&reader->host->memory, payload + at->closure.c_function, &address))
    return remote_function_c(reader->functions, address);
  address = FRAME(frame, c_function, 8);
  struct remote_function *f =
      !slot && address != 0 ? remote_function_c(reader->functions, address) : NULL;
  if (certain && (f == NULL || f->name[0] == '\0')) reader->plan.unsure = true;
  return f;
}

/* Adds the frame in position i. Returns false if its function is no longer readable. */
static bool add_frame(struct remote_reader *reader, struct remote_stack *stack,
                      const struct remote_planned *thread, size_t i, bool slot, bool innermost) {
  const struct eventring_introspection *at = &reader->host->at;
  const unsigned char *bytes = thread->b + i * at->frame.size;
  if (stack->count == REMOTE_FRAMES) {
    stack->below++;
    return true;
  }
  struct remote_frame *frame = &stack->frames[stack->count];
  const unsigned char *caller = bytes - at->frame.size; /* position 0 is never shown */
  uint64_t status = FRAME(bytes, status, 4);
  *frame = (struct remote_frame){.function = function_of(reader, thread, i, slot),
                                 .thread = thread->address,
                                 .tail = status & at->frame.tail_mask,
                                 .finalizer = FRAME(caller, status, 4) & at->frame.finalizer_mask};
  if (frame->function == NULL && !remote_frame_is_c(at, bytes)) return false;
  if (!remote_frame_is_c(at, bytes)) {
    frame->pc = FRAME(bytes, pc, 8);
    frame->line = remote_function_line(reader->functions, frame->function, frame->pc);
    frame->line_noted = innermost;
  }
  frame->variables = FRAME(bytes, function, 8) + at->value.size;
  stack->count++;
  return true;
}

/* Tells whether the functions of the language in the stack still exist. Reads them again,
   all at once. */
static bool functions_hold(struct remote_reader *reader, const struct remote_stack *stack) {
  const size_t size = reader->host->at.prototype.size;
  struct remote_plan *plan = &reader->plan;
  struct remote_function *last = NULL;
  size_t used = 0;
  for (size_t i = 0; i < stack->count; i++) {
    struct remote_function *f = stack->frames[i].function;
    if (f == NULL || f->is_c || f == last) continue;
    plan->checked[used] = last = f;
    plan->ranges[used++] =
        (struct iovec){.iov_base = (void *)(uintptr_t)f->prototype, .iov_len = size};
  }
  if (used > 0 && (!remote_bytes_room(&plan->again, &plan->again_room, used * size) ||
                   !remote_read_ranges(&reader->host->memory, plan->ranges, used, plan->again)))
    return false;
  bool hold = true;
  for (size_t i = 0; i < used; i++)
    if (!remote_function_holds(reader->functions, plan->checked[i], plan->again + i * size))
      hold = false;
  return hold;
}

/* ---- reading ------------------------------------------------------------- */

/* Tells whether the outermost thread had just been left when its head was read, so that
 * no thread seems to wait for it. (No thread ever waits for the main thread, which does
 * not count.) */
static bool was_left(const struct eventring_introspection *at, const struct remote_plan *plan) {
  const struct remote_planned *outer = &plan->threads[plan->count - 1];
  return !plan->is_suspended && outer->address != plan->main &&
         (remote_word(outer->t + at->thread.status, 1) == at->thread.suspended ||
          plan->current_u != plan->current_t);
}

static bool is_suspended(const struct eventring_introspection *at, const unsigned char *head) {
  return remote_word(head + at->thread.type, 1) == at->thread.is_type &&
         remote_word(head + at->thread.status, 1) == at->thread.suspended;
}

/* Tells whether a stack can be that of a suspended thread. The memory of a thread that is
   garbage may have been reused in part, while the rest still looks like a thread. A
   suspended thread has last called a C function, which yields, and the pc of each other
   frame is at a call. (A thread that a hook has suspended cannot be distinguished.) */
static bool can_be_suspended(const struct remote_reader *reader, const struct remote_stack *stack) {
  for (size_t i = 0; i < stack->count; i++) {
    const struct remote_frame *frame = &stack->frames[i];
    const bool is_c = frame->function == NULL || frame->function->is_c;
    if (i == 0 ? !is_c
               : !is_c && !remote_function_has(reader->functions, frame->function, frame->pc))
      return false;
  }
  return true;
}

/* How much of a plan is certain. */
struct extent {
  size_t last[REMOTE_THREADS]; /* position of each thread's innermost certain frame */
  size_t top;                  /* the innermost thread with certain frames */
  bool extra;                  /* in thread `top`, the position above `last` is certain,
                                  too */
};

/* Tells whether the copies fit the plan. If so, stores in `last` the position of each
   thread's innermost frame at T. */
static bool find_innermost(const struct eventring_introspection *at, const struct remote_plan *plan,
                           struct extent *extent) {
  if (plan->current_t != plan->threads[0].address && !plan->is_suspended) return false;
  for (size_t t = plan->count; t-- > 0;) {
    const struct remote_planned *thread = &plan->threads[t];
    uint64_t resumer = remote_word(thread->t + at->thread.resumer, 8);
    uint64_t frame = remote_word(thread->t + at->thread.frame, 8);
    size_t last = extent->last[t] = position_of(thread, frame);
    uint64_t outer = t + 1 < plan->count ? plan->threads[t + 1].address : 0;
    if (last == SIZE_MAX || !links_hold(at, thread, last) ||
        (resumer != outer && !plan->is_suspended))
      return false;
  }
  return !was_left(at, plan);
}

static bool is_same_in_u(const struct eventring_introspection *at,
                         const struct remote_planned *thread) {
  return memcmp(thread->t + at->thread.frame, thread->u + at->thread.frame, 8) == 0 &&
         memcmp(thread->t + at->thread.resumer, thread->u + at->thread.resumer, 8) == 0;
}

/* Finds how far the frames are certain, from the outermost thread on. Returns false if no
   frame of a thread is certain. */
static bool find_certain(const struct eventring_introspection *at, const struct remote_plan *plan,
                         struct extent *extent, struct remote_stack *stack) {
  extent->extra = false;
  for (size_t t = plan->count; t-- > 0;) {
    const struct remote_planned *thread = &plan->threads[t];
    const size_t last = extent->last[t];
    size_t certain = 0;
    extent->top = t;
    if (!stays(at, thread, 0)) return false;
    while (certain < last && stays(at, thread, certain + 1)) certain++;
    if (certain == last &&
        (t == 0 || (is_same_in_u(at, thread) && plan->current_u == plan->current_t)))
      continue;
    stack->moving = certain < last || t > 0;
    extent->extra = certain < last;
    extent->last[t] = certain;
    break;
  }
  return true;
}

/* Tells whether a thread was suspended all the time. T is not quite a single moment: the
   status may have been read before the frame, so U must agree. */
static bool stayed_suspended(const struct eventring_introspection *at,
                             const struct remote_planned *thread) {
  return is_suspended(at, thread->t) && is_suspended(at, thread->u) &&
         memcmp(thread->t + at->thread.frame, thread->u + at->thread.frame, 8) == 0;
}

/* Adds the frames that are certain. Returns false if a function is no longer readable. */
static bool add_frames(struct remote_reader *reader, struct remote_stack *stack,
                       const struct extent *extent) {
  const struct remote_plan *plan = &reader->plan;
  const size_t top = extent->top;
  if (extent->extra)
    add_frame(reader, stack, &plan->threads[top], extent->last[top] + 1, false, true);
  for (size_t t = top; t < plan->count; t++) {
    const struct remote_planned *thread = &plan->threads[t];
    for (size_t i = extent->last[t]; i > 0; i--)
      if (!add_frame(reader, stack, thread, i, true, stack->count == 0 && !stack->moving))
        return false;
    stack->below += thread->from;
  }
  return true;
}

/* Makes a stack from the copies. Returns TORN with plan->wrong: the plan does not fit. */
static enum remote_result judge(struct remote_reader *reader, struct remote_stack *stack) {
  const struct eventring_introspection *at = &reader->host->at;
  struct remote_plan *plan = &reader->plan;
  struct extent extent;
  stack->count = stack->below = 0;
  stack->moving = false;
  stack->thread = plan->threads[0].address;
  plan->unsure = false;
  plan->wrong = !find_innermost(at, plan, &extent);
  if (plan->wrong || !find_certain(at, plan, &extent, stack)) return REMOTE_TORN;
  if (plan->is_suspended && (stack->moving || !stayed_suspended(at, &plan->threads[0])))
    return REMOTE_TORN;
  if (!add_frames(reader, stack, &extent) || !functions_hold(reader, stack)) return REMOTE_TORN;
  if (plan->is_suspended && !can_be_suspended(reader, stack)) return REMOTE_TORN;
  return stack->count == 0 && !stack->moving ? REMOTE_EMPTY : REMOTE_READ;
}

static enum remote_result read_planned(struct remote_reader *reader, struct remote_stack *stack) {
  struct remote_plan *plan = &reader->plan;
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (reader->planned && remote_plan_read(plan, reader->host, reader->domain)) {
      enum remote_result result = judge(reader, stack);
      remote_plan_note(plan, reader->host);
      if (!plan->wrong && !plan->unsure) return result;
      /* the slots are planned by now; the last attempt must do with what is known */
      if (!plan->wrong) {
        if (attempt + 1 == ATTEMPTS) return result;
        continue;
      }
    }
    uint64_t thread = plan->suspended;
    reader->planned = remote_plan_make(plan, reader->host, reader->domain, thread);
    if (!reader->planned && plan->gone) return REMOTE_GONE;
  }
  return REMOTE_TORN;
}

enum remote_result remote_stack_read(struct remote_reader *reader, struct remote_stack *stack,
                                     struct remote_domain *about, uint64_t now) {
  remote_functions_name(reader->functions, reader->domain, now);
  if (reader->plan.suspended != 0) reader->planned = false;
  reader->plan.suspended = 0;
  about->address = reader->domain;
  remote_activity_read(reader->host, &reader->activity, about);
  enum remote_result result = read_planned(reader, stack);
  if (about->notes && result == REMOTE_READ && stack->count > 0)
    stack->frames[0].line_noted = false;
  return result;
}

enum remote_result remote_stack_suspended(struct remote_reader *reader, uint64_t thread,
                                          struct remote_stack *stack, uint64_t now) {
  remote_functions_name(reader->functions, reader->domain, now);
  reader->planned = false;
  reader->plan.suspended = thread;
  return read_planned(reader, stack);
}
