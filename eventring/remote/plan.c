/* SPDX-License-Identifier: MIT */
/* plan.c: finds where the frames of a stack are.
 *
 * Every link is followed a bounded number of times, so that a cycle or an endless list
 * costs little. If a stack is deeper than REMOTE_FRAMES, only its innermost frames are
 * planned.
 */
#include "remote/plan.h"

#include <stdlib.h>
#include <string.h>

static bool range_room(struct remote_plan *plan, size_t count) {
  if (count <= plan->range_room) return true;
  size_t room = count + count / 2 + 64;
  struct iovec *ranges = realloc(plan->ranges, room * sizeof *ranges);
  if (ranges == NULL) return false;
  plan->ranges = ranges;
  plan->range_room = room;
  return true;
}

bool remote_bytes_room(unsigned char **bytes, size_t *room, size_t size) {
  if (size <= *room) return true;
  free(*bytes);
  *room = 0;
  *bytes = malloc(size + size / 2);
  if (*bytes != NULL) *room = size + size / 2;
  return *bytes != NULL;
}

static bool frame_room(struct remote_planned *thread, size_t count) {
  if (count <= thread->room) return true;
  size_t room = 2 * count;
  uint64_t *frames = realloc(thread->frames, room * sizeof *frames);
  if (frames != NULL) thread->frames = frames;
  uint64_t *slots = frames != NULL ? realloc(thread->slot_of, room * sizeof *slots) : NULL;
  if (slots == NULL) return false;
  thread->slot_of = slots;
  thread->room = room;
  return true;
}

void remote_plan_free(struct remote_plan *plan) {
  for (size_t i = 0; i < REMOTE_THREADS; i++) {
    free(plan->threads[i].frames);
    free(plan->threads[i].slot_of);
  }
  free(plan->ranges);
  free(plan->bytes);
  free(plan->again);
}

/* ---- following links ----------------------------------------------------- */

static bool add_frame(struct remote_planned *thread, uint64_t frame) {
  if (!frame_room(thread, thread->count + 1)) return false;
  thread->frames[thread->count] = frame;
  thread->slot_of[thread->count++] = 0;
  return true;
}

static void reverse(uint64_t *items, size_t count) {
  for (size_t i = 0; i < count / 2; i++) {
    uint64_t item = items[i];
    items[i] = items[count - 1 - i];
    items[count - 1 - i] = item;
  }
}

/* Plans the frames of a thread, from the innermost one down, and some positions beyond
   it. Returns false if they changed in the meantime, or are unreadable. */
static bool plan_frames(struct remote_host *host, struct remote_planned *thread, uint64_t frame,
                        size_t most) {
  const struct eventring_introspection *at = &host->at;
  const uint64_t end = thread->address + at->thread.first_frame;
  unsigned char bytes[4096];
  uint64_t innermost = frame, next = frame;
  uint32_t depth = 0;
  thread->count = 0;
  while (thread->count < most) {
    if (frame == 0 || !remote_read(&host->memory, frame, bytes, at->frame.size)) return false;
    depth = (uint32_t)remote_word(bytes + at->frame.depth, 4);
    if (frame == innermost) next = remote_word(bytes + at->frame.next, 8);
    if (!add_frame(thread, frame)) return false;
    thread->slot_of[thread->count - 1] = remote_word(bytes + at->frame.function, 8);
    if (frame == end) break;
    frame = remote_word(bytes + at->frame.previous, 8);
  }
  thread->from = depth;
  reverse(thread->frames, thread->count);
  reverse(thread->slot_of, thread->count);
  for (int i = 0; i < PLAN_SPARE && next != 0; i++) {
    if (!remote_read(&host->memory, next, bytes, at->frame.size)) break;
    if (!add_frame(thread, next)) return false;
    thread->slot_of[thread->count - 1] = remote_word(bytes + at->frame.function, 8);
    next = remote_word(bytes + at->frame.next, 8);
  }
  return true;
}

static bool plan_thread(struct remote_plan *plan, struct remote_host *host, uint64_t domain,
                        uint64_t thread, size_t most, uint64_t *resumer) {
  const struct eventring_introspection *at = &host->at;
  struct remote_planned *planned = &plan->threads[plan->count];
  unsigned char head[4096];
  if (!remote_read(&host->memory, thread, head, at->thread.head)) return false;
  if (remote_word(head + at->thread.type, 1) != at->thread.is_type ||
      remote_word(head + at->thread.domain, 8) != domain)
    return false;
  planned->address = thread;
  *resumer = remote_word(head + at->thread.resumer, 8);
  if (!plan_frames(host, planned, remote_word(head + at->thread.frame, 8), most)) return false;
  plan->count++;
  return true;
}

bool remote_plan_make(struct remote_plan *plan, struct remote_host *host, uint64_t domain,
                      uint64_t suspended) {
  uint64_t thread = suspended, resumer = 0;
  size_t left = REMOTE_FRAMES;
  plan->count = 0;
  plan->gone = false;
  plan->is_suspended = suspended != 0;
  if (!plan->is_suspended &&
      (!remote_read_pointer(&host->memory, domain + host->at.domain.main, &plan->main) ||
       !remote_read_pointer(&host->memory, domain + host->at.domain.current, &thread))) {
    plan->gone = true;
    return false;
  }
  while (thread != 0 && plan->count < REMOTE_THREADS) {
    /* keep some frames for each thread, since few may be left for the outer ones */
    if (!plan_thread(plan, host, domain, thread, left > 16 ? left : 16, &resumer)) return false;
    size_t used = plan->threads[plan->count - 1].count;
    left = used < left ? left - used : 0;
    if (plan->is_suspended) break;
    thread = resumer;
  }
  return plan->count > 0;
}

/* ---- copying ------------------------------------------------------------- */

static unsigned char *put(struct remote_plan *plan, uint64_t address, size_t size) {
  unsigned char *at = plan->bytes + plan->size;
  struct iovec *last = plan->range_count > 0 ? &plan->ranges[plan->range_count - 1] : NULL;
  plan->size += size;
  if (last != NULL && (uintptr_t)last->iov_base + last->iov_len == address &&
      last->iov_len < 65536) {
    last->iov_len += size;
    return at;
  }
  plan->ranges[plan->range_count++] =
      (struct iovec){.iov_base = (void *)(uintptr_t)address, .iov_len = size};
  return at;
}

static unsigned char *put_frames(struct remote_plan *plan, const struct remote_host *host,
                                 const struct remote_planned *thread) {
  unsigned char *at = plan->bytes + plan->size;
  for (size_t i = 0; i < thread->count; i++) put(plan, thread->frames[i], host->at.frame.size);
  return at;
}

static unsigned char *put_slots(struct remote_plan *plan, const struct remote_host *host,
                                const struct remote_planned *thread) {
  unsigned char *at = plan->bytes + plan->size;
  const size_t size = host->at.value.size;
  /* the slot of a frame that was never used may lie anywhere */
  for (size_t i = 0; i < thread->count; i++)
    put(plan, thread->slot_of[i] != 0 ? thread->slot_of[i] : thread->address, size);
  return at;
}

void remote_plan_note(struct remote_plan *plan, const struct remote_host *host) {
  for (size_t t = 0; t < plan->count; t++) {
    struct remote_planned *thread = &plan->threads[t];
    for (size_t i = 0; i < thread->count; i++)
      thread->slot_of[i] =
          remote_word(thread->c + i * host->at.frame.size + host->at.frame.function, 8);
  }
}

bool remote_plan_read(struct remote_plan *plan, struct remote_host *host, uint64_t domain) {
  const struct eventring_introspection *at = &host->at;
  size_t frames = 0;
  for (size_t t = 0; t < plan->count; t++) frames += plan->threads[t].count;
  size_t size = frames * (3 * (size_t)at->frame.size + at->value.size) +
                plan->count * 2 * (size_t)at->thread.head + 16;
  if (!remote_bytes_room(&plan->bytes, &plan->byte_room, size) ||
      !range_room(plan, 4 * frames + 2 * plan->count + 2))
    return false;
  plan->size = plan->range_count = 0;
  for (size_t t = 0; t < plan->count; t++) {
    struct remote_planned *thread = &plan->threads[t];
    thread->a = put_frames(plan, host, thread);
    thread->slots = put_slots(plan, host, thread);
  }
  unsigned char *current_t = put(plan, domain + at->domain.current, 8);
  for (size_t t = 0; t < plan->count; t++)
    plan->threads[t].t = put(plan, plan->threads[t].address, at->thread.head);
  for (size_t t = 0; t < plan->count; t++)
    plan->threads[t].b = put_frames(plan, host, &plan->threads[t]);
  for (size_t t = 0; t < plan->count; t++)
    plan->threads[t].c = put_frames(plan, host, &plan->threads[t]);
  unsigned char *current_u = put(plan, domain + at->domain.current, 8);
  for (size_t t = 0; t < plan->count; t++)
    plan->threads[t].u = put(plan, plan->threads[t].address, at->thread.head);
  if (!remote_read_ranges(&host->memory, plan->ranges, plan->range_count, plan->bytes))
    return false;
  plan->current_t = remote_word(current_t, 8);
  plan->current_u = remote_word(current_u, 8);
  return true;
}
