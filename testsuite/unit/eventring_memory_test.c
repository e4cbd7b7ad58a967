/* SPDX-License-Identifier: MIT */
/* eventring_memory_test.c: functions, stacks, samples of allocations and heap profiles
   (eventring/memory.h), written and read. */
#include <math.h>
#include <sys/wait.h>

#include "eventring/memory.h"
#include "eventring/tools.h"
#include "eventring_common.h"

enum { RATE_PERCENT = 25 };
static const double RATE = RATE_PERCENT / 100.0;

static struct eventring_config sampled_config(void) {
  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  config.has_samples = true;
  config.sample_rate = RATE;
  return config;
}

static eventring_domain *start_sampled(void) {
  struct eventring_config config = sampled_config();
  struct eventring_error error = {0};
  if (eventring_start(&config, &error) != EVENTRING_OK) fail_msg("%s", error.text);
  return start_domain("main");
}

static void end(eventring_domain *domain) {
  eventring_domain_stop(domain);
  eventring_stop();
}

static uint32_t function(const char *name, const char *source, uint32_t line) {
  struct eventring_function f = {name, strlen(name), source, strlen(source), line, line + 9};
  return eventring_function(&f);
}

static unsigned resolved;
static struct eventring_place resolve(void *context, size_t index) {
  const struct eventring_frame *frames = context;
  resolved++;
  return (struct eventring_place){100 + frames[index].position, 7};
}

static uint32_t stack(eventring_domain *domain, struct eventring_frame *frames, size_t count) {
  return eventring_stack(domain, frames, count, resolve, frames);
}

/* ---- Functions and stacks --------------------------------------------------------- */

static void functions_are_interned(void **state) {
  uint32_t early = function("early", "a.lua", 1);
  assert_int_not_equal(early, 0);
  eventring_domain *d = start_sampled();
  uint32_t late = function("late", "a.lua", 1), other = function("early", "b.lua", 1);
  assert_int_equal(function("early", "a.lua", 1), early);
  assert_int_equal(function("late", "a.lua", 1), late);
  assert_true(early != late && late != other && early != other);
  eventring_cursor *c = open_self(0);
  struct eventring_function_info info;
  assert_int_equal(eventring_cursor_function(c, early, &info), EVENTRING_OK);
  assert_string_equal(info.name, "early");
  assert_string_equal(info.source, "a.lua");
  assert_int_equal(info.line, 1);
  assert_int_equal(info.last_line, 10);
  assert_int_equal(eventring_cursor_function(c, late, &info), EVENTRING_OK);
  assert_string_equal(info.name, "late");
  assert_int_equal(eventring_cursor_function(c, 0, &info), EVENTRING_E_NOT_FOUND);
  assert_int_equal(eventring_cursor_function(c, 1000000, &info), EVENTRING_E_NOT_FOUND);
  eventring_close(c);
  end(d);
}

static void texts_are_cut_and_cleaned(void **state) {
  char source[3000];
  memset(source, 'x', sizeof source);
  memcpy(source + sizeof source - 8, "/end.lua", 8);
  eventring_domain *d = start_sampled();
  struct eventring_function f = {"a\nb\xff", 4, source, sizeof source, 0, 0};
  uint32_t id = eventring_function(&f);
  eventring_cursor *c = open_self(0);
  struct eventring_function_info info;
  assert_int_equal(eventring_cursor_function(c, id, &info), EVENTRING_OK);
  assert_string_equal(info.name, "a?b?");
  assert_int_equal(strlen(info.source), EVENTRING_MAX_FUNCTION_SOURCE);
  assert_string_equal(info.source + strlen(info.source) - 8, "/end.lua");
  eventring_close(c);
  end(d);
}

static void stacks_share_their_callers(void **state) {
  eventring_domain *d = start_sampled();
  uint32_t f = function("f", "s.lua", 1), g = function("g", "s.lua", 20);
  struct eventring_frame in_f[] = {{f, 3}, {g, 5}}, in_f_too[] = {{f, 4}, {g, 5}};
  resolved = 0;
  uint32_t first = stack(d, in_f, 2);
  assert_int_equal(resolved, 2);
  uint32_t second = stack(d, in_f_too, 2);
  assert_int_equal(stack(d, in_f, 2), first);
  assert_int_equal(resolved, 4);
  assert_int_not_equal(first, second);
  assert_int_equal(stack(d, NULL, 0), 0);
  eventring_cursor *c = open_self(0);
  struct eventring_stack_info a, b;
  assert_int_equal(eventring_cursor_stack(c, first, &a), EVENTRING_OK);
  assert_int_equal(eventring_cursor_stack(c, second, &b), EVENTRING_OK);
  assert_int_equal(a.parent, b.parent);
  assert_true(a.depth == 2 && a.function == f && a.line == 103 && a.column == 7);
  assert_int_equal(b.line, 104);
  assert_int_equal(eventring_cursor_stack(c, a.parent, &b), EVENTRING_OK);
  assert_true(b.parent == 0 && b.depth == 1 && b.function == g && b.line == 105);
  eventring_close(c);
  end(d);
  /* a later recording has the same functions and stacks */
  d = start_sampled();
  c = open_self(0);
  assert_int_equal(eventring_cursor_stack(c, first, &a), EVENTRING_OK);
  assert_int_equal(a.function, f);
  eventring_close(c);
  end(d);
}

/* Checks so many stacks that the table of the domain grows and is emptied. */
static void many_stacks(void **state) {
  enum { COUNT = 40000 };
  static uint32_t ids[COUNT];
  eventring_domain *d = start_sampled();
  uint32_t f = function("many", "m.lua", 1);
  for (uint32_t i = 0; i < COUNT; i++) ids[i] = stack(d, (struct eventring_frame[]){{f, i}}, 1);
  for (uint32_t i = 0; i < COUNT; i++)
    assert_int_equal(stack(d, (struct eventring_frame[]){{f, i}}, 1), ids[i]);
  eventring_cursor *c = open_self(0);
  for (uint32_t i = 0; i < COUNT; i += 997) {
    struct eventring_stack_info info;
    assert_int_equal(eventring_cursor_stack(c, ids[i], &info), EVENTRING_OK);
    assert_int_equal(info.line, 100 + i);
  }
  eventring_close(c);
  end(d);
}

/* ---- Events ----------------------------------------------------------------------- */

struct seen_memory {
  unsigned count;
  enum eventring_memory_event what[64];
  struct eventring_memory memory[64];
  uint64_t ns[64];
};

static int see_memory(void *context, const struct eventring_event *event) {
  struct seen_memory *seen = context;
  if (seen->count == 64) return 1;
  enum eventring_memory_event what = eventring_event_memory(event, &seen->memory[seen->count]);
  if (what) {
    seen->ns[seen->count] = event->ns;
    seen->what[seen->count++] = what;
  }
  return 0;
}

static void events_are_delivered(void **state) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, see_memory, NULL};
  eventring_domain *d = start_sampled();
  assert_true(eventring_memory_rate(d) == RATE);
  assert_int_equal(eventring_memory_start(d, RATE), EVENTRING_OK);
  struct eventring_tracked small, large, unknown = {.profile = UINT32_MAX};
  eventring_memory_sampled(d, &(struct eventring_sample){2, 5, 7, 9, 3, 1}, &small);
  struct eventring_sample big = {((uint64_t)1 << 39) + 77, ((uint64_t)1 << 45) + 1, UINT32_MAX,
                                 0x1fff, 63, 15};
  eventring_memory_sampled(d, &big, &large);
  eventring_memory_promoted(d, &small);
  eventring_memory_collected(d, &(struct eventring_collection){100, UINT64_MAX});
  eventring_memory_freed(d, &small, true);
  eventring_memory_freed(d, &large, false);
  eventring_memory_freed(d, &unknown, false); /* an allocation of another profile; does
                                                 nothing */
  eventring_memory_stop(d);
  eventring_memory_freed(d, &large, false);
  eventring_cursor *c = open_self(0);
  struct seen_memory seen = {0};
  assert_true(eventring_poll(c, &callbacks, &seen, 0) >= 0);
  static const enum eventring_memory_event expected[] = {
      EVENTRING_MEMORY_RATE, EVENTRING_MEMORY_ALLOC, EVENTRING_MEMORY_ALLOC,
      EVENTRING_MEMORY_PROMOTE, EVENTRING_MEMORY_COLLECTED, EVENTRING_MEMORY_FREE_OLD,
      EVENTRING_MEMORY_FREE_YOUNG, EVENTRING_MEMORY_RATE};
  assert_int_equal(seen.count, 8);
  for (int i = 0; i < 8; i++) assert_int_equal(seen.what[i], expected[i]);
  assert_true(seen.memory[0].rate == RATE && seen.memory[7].rate == 0);
  const struct eventring_sample *s = &seen.memory[1].sample;
  assert_true(s->samples == 2 && s->words == 5 && s->stack == 7 && s->span == 9 &&
              s->kind == 3 && s->origin == 1);
  s = &seen.memory[2].sample;
  assert_true(s->samples == big.samples && s->words == big.words && s->stack == big.stack &&
              s->span == big.span && s->kind == 63 && s->origin == 15);
  assert_int_equal(seen.memory[3].block, seen.memory[1].block);
  assert_int_equal(seen.memory[5].block, seen.memory[1].block);
  assert_int_equal(seen.memory[6].block, seen.memory[2].block);
  assert_int_equal(seen.memory[4].collection, 1);
  eventring_close(c);
  end(d);
}

static void fates_are_delivered_in_order(void **state) {
  enum { BLOCKS = 20 };
  static const struct eventring_callbacks callbacks = {sizeof callbacks, see_memory, NULL};
  eventring_domain *d = start_sampled();
  assert_int_equal(eventring_memory_start(d, RATE), EVENTRING_OK);
  struct eventring_tracked block[BLOCKS], unknown = {.profile = UINT32_MAX};
  for (int i = 0; i < BLOCKS; i++)
    eventring_memory_sampled(d, &(struct eventring_sample){1, 2, 3, 0, 0, 0}, &block[i]);
  struct eventring_fate fates[BLOCKS + 1];
  for (int i = 0; i < BLOCKS; i++)
    fates[i] = (struct eventring_fate){&block[i], (enum eventring_fate_kind)(i % 3)};
  /* this fate changes nothing */
  fates[BLOCKS] = (struct eventring_fate){&unknown, EVENTRING_FATE_FREED_OLD};
  eventring_memory_fates(d, fates, BLOCKS + 1);
  eventring_memory_fates(d, fates, 0);
  eventring_cursor *c = open_self(0);
  struct seen_memory seen = {0};
  assert_true(eventring_poll(c, &callbacks, &seen, 0) >= 0);
  assert_int_equal(seen.count, 1 + 2 * BLOCKS);
  for (int i = 0, at = 1 + BLOCKS; i < BLOCKS; i++, at++) {
    assert_int_equal(seen.what[at], EVENTRING_MEMORY_PROMOTE + i % 3);
    assert_int_equal(seen.memory[at].block, seen.memory[1 + i].block);
    assert_true(seen.ns[at] >= seen.ns[at - 1]);
  }
  eventring_close(c);
  end(d);
}

static void the_rate_is_controlled(void **state) {
  eventring_domain *d = start_sampled();
  struct eventring_error error = {0};
  double rate = 0.5;
  assert_true(eventring_memory_rate(d) == RATE);
  assert_int_equal(eventring_control(own_path(), EVENTRING_CHANGE(SAMPLE, .rate = rate), &error),
                   0);
  assert_true(eventring_memory_rate(d) == 0.5);
  assert_int_equal(eventring_control(own_path(), EVENTRING_CHANGE(SAMPLE, .rate = 0), &error), 0);
  assert_true(eventring_memory_rate(d) == 0);
  uint64_t classes;
  eventring_get_classes(&classes);
  assert_false(classes & EVENTRING_CLASS_BIT(EVENTRING_CLASS_ALLOC));
  rate = 1.5;
  assert_int_equal(eventring_control(own_path(), EVENTRING_CHANGE(SAMPLE, .rate = rate), &error),
                   EVENTRING_E_ARGUMENT);
  end(d);
  start_recording(EVENTRING_MIN_WSIZE);
  assert_int_equal(eventring_control(own_path(), EVENTRING_CHANGE(SAMPLE, .rate = 0), &error),
                   EVENTRING_E_STATE);
  eventring_stop();
}

static void rates_are_parsed(void **state) {
  struct eventring_error error = {0};
  double rate = 7;
  assert_int_equal(eventring_memory_parse_rate("on", &rate, &error), 0);
  assert_true(rate == EVENTRING_MEMORY_DEFAULT_RATE);
  assert_int_equal(eventring_memory_parse_rate("1", &rate, &error), 0);
  assert_true(rate == 1);
  assert_int_equal(eventring_memory_parse_rate("1e-3", &rate, &error), 0);
  assert_true(rate == 1e-3);
  assert_int_equal(eventring_memory_parse_rate("off", &rate, &error), 0);
  assert_true(rate == 0);
  static const char *const bad[] = {"", "x", "1.5", "-1", "nan", "inf", "1e-3x", " 1", "On"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    assert_int_equal(eventring_memory_parse_rate(bad[i], &rate, &error), EVENTRING_E_ARGUMENT);
}

/* ---- Heap profiles ---------------------------------------------------------------- */

struct sums {
  unsigned heaps, entries;
  struct eventring_heap last;
  uint64_t allocated, live, temporary, peak;
  uint64_t other_live, other_allocated; /* words of entries that found no room or lost
                                           their place */
  double objects;
};

static int see_heap(void *context, const struct eventring_heap *heap) {
  struct sums *sums = context;
  sums->heaps++;
  sums->last = *heap;
  sums->entries = 0;
  sums->allocated = sums->live = sums->temporary = sums->peak = 0;
  sums->other_live = sums->other_allocated = 0;
  sums->objects = 0;
  return 0;
}

static int see_entry(void *context, const struct eventring_heap *heap,
                     const struct eventring_heap_entry *entry) {
  struct sums *sums = context;
  assert_int_equal(heap->number, sums->last.number);
  sums->entries++;
  sums->allocated += entry->allocated.samples;
  sums->live += entry->live.samples;
  sums->temporary += entry->temporary.samples;
  sums->peak += entry->peak.samples;
  sums->objects += entry->live.objects;
  if (entry->stack == UINT32_MAX) sums->other_live += entry->live.samples;
  if (entry->stack == UINT32_MAX) sums->other_allocated += entry->allocated.samples;
  return 0;
}

static struct sums read_heaps(eventring_cursor *c) {
  static const struct eventring_heap_callbacks callbacks = {see_heap, see_entry};
  struct sums sums = {0};
  assert_int_equal(eventring_cursor_heaps(c, &callbacks, &sums), 0);
  return sums;
}

static void a_profile_is_kept(void **state) {
  enum { KINDS = 40, STACKS = 5, EACH = 3 }; /* several pages */
  static struct eventring_tracked tracked[STACKS][KINDS][EACH];
  eventring_domain *d = start_sampled();
  assert_int_equal(eventring_memory_start(d, RATE), EVENTRING_OK);
  for (uint32_t s = 0; s < STACKS; s++)
    for (uint8_t k = 0; k < KINDS; k++)
      for (int i = 0; i < EACH; i++)
        eventring_memory_sampled(d, &(struct eventring_sample){2, 1, s, 0, k, 0},
                                 &tracked[s][k][i]);
  eventring_memory_collected(d, &(struct eventring_collection){4321, 1234});
  eventring_cursor *c = open_self(0);
  struct sums sums = read_heaps(c);
  assert_int_equal(sums.heaps, 1);
  assert_false(sums.last.torn);
  assert_false(sums.last.over);
  assert_int_equal(sums.entries, STACKS * KINDS + 1); /* and one entry for all without
                                                         room */
  assert_int_equal(sums.live, STACKS * KINDS * EACH * 2);
  assert_int_equal(sums.peak, sums.live);
  assert_int_equal(sums.last.live.samples, sums.live);
  assert_int_equal(sums.last.words, 4321);
  assert_int_equal(sums.last.live_words, 1234);
  /* each sampled block of one word stands for 1 / RATE */
  assert_true(fabs(sums.objects - STACKS * KINDS * EACH / RATE) < 0.1);
  assert_true(sums.last.live.bytes == (double)sums.live / RATE * 8);
  for (uint32_t s = 1; s < STACKS; s++)
    for (uint8_t k = 0; k < KINDS; k++)
      for (int i = 0; i < EACH; i++) eventring_memory_freed(d, &tracked[s][k][i], s > 2);
  eventring_memory_sampled(d, &(struct eventring_sample){6, 1, 99, 0, 0, 0}, &tracked[1][0][0]);
  eventring_memory_freed(d, &tracked[1][0][0], false);
  assert_int_equal(read_heaps(c).live, sums.live); /* as of the last collection */
  eventring_memory_collected(d, &(struct eventring_collection){5000, UINT64_MAX});
  sums = read_heaps(c);
  assert_int_equal(sums.live, KINDS * EACH * 2);
  assert_int_equal(sums.allocated, STACKS * KINDS * EACH * 2 + 6);
  assert_int_equal(sums.temporary, 6);
  assert_int_equal(sums.peak, STACKS * KINDS * EACH * 2);
  assert_int_equal(sums.last.collections, 2);
  eventring_memory_stop(d);
  sums = read_heaps(c);
  assert_true(sums.heaps == 1 && sums.last.over);
  eventring_close(c);
  end(d);
}

/* Checks as many profiles as the file has room for. For further profiles, the oldest
   ended profiles are removed. */
static void many_profiles(void **state) {
  enum { PROFILES = 300 };
  eventring_domain *d = start_sampled();
  for (uint32_t i = 0; i < PROFILES; i++) {
    struct eventring_tracked tracked;
    assert_int_equal(eventring_memory_start(d, RATE), EVENTRING_OK);
    eventring_memory_sampled(d, &(struct eventring_sample){1, 1, i, 0, 0, 0}, &tracked);
    eventring_memory_collected(d, &(struct eventring_collection){4, 4});
  }
  eventring_cursor *c = open_self(0);
  struct sums sums = read_heaps(c);
  struct eventring_info info = {.size = sizeof info};
  assert_int_equal(eventring_cursor_info(c, &info), EVENTRING_OK);
  assert_int_equal(sums.heaps + info.heaps_dropped, PROFILES);
  assert_true(sums.heaps >= 100);
  assert_int_equal(sums.live, 1);
  assert_false(sums.last.torn);
  eventring_close(c);
  end(d);
}

/* Checks a recording with more entries than pages. */
static void what_finds_no_page_is_counted(void **state) {
  enum { SAMPLES = 130000 };
  eventring_domain *d = start_sampled();
  assert_int_equal(eventring_memory_start(d, RATE), EVENTRING_OK);
  for (uint32_t i = 0; i < SAMPLES; i++) {
    struct eventring_tracked tracked;
    eventring_memory_sampled(d, &(struct eventring_sample){1, 1, i, 0, 0, 0}, &tracked);
  }
  eventring_memory_collected(d, &(struct eventring_collection){4 * SAMPLES, UINT64_MAX});
  eventring_cursor *c = open_self(0);
  struct sums sums = read_heaps(c);
  assert_false(sums.last.torn);
  assert_int_equal(sums.last.live.samples, SAMPLES);
  assert_int_equal(sums.live + sums.last.lost_live.samples, SAMPLES);
  eventring_close(c);
  end(d);
}

/* Checks four times as many sites as there is room for. One site in a hundred stays
   alive. All live sites are known, and so is a site that allocates much. */
static void a_dead_site_gives_up_its_place(void **state) {
  enum { SITES = 260000, KEPT = 100, BUSY = 7 };
  eventring_domain *d = start_sampled();
  assert_int_equal(eventring_memory_start(d, RATE), EVENTRING_OK);
  for (uint32_t i = 0; i < SITES; i++) {
    struct eventring_tracked site, busy;
    eventring_memory_sampled(d, &(struct eventring_sample){1, 1, 1000 + i, 0, 0, 0}, &site);
    eventring_memory_sampled(d, &(struct eventring_sample){1, 1, BUSY, 0, 0, 0}, &busy);
    if (i % KEPT != 0) eventring_memory_freed(d, &site, false);
    eventring_memory_freed(d, &busy, false);
    if (i % 50000 == 49999)
      eventring_memory_collected(d, &(struct eventring_collection){8 * i, UINT64_MAX});
  }
  eventring_memory_collected(d, &(struct eventring_collection){8 * SITES, UINT64_MAX});
  eventring_cursor *c = open_self(0);
  struct sums sums = read_heaps(c);
  assert_false(sums.last.torn);
  assert_true(sums.last.lost_entries < SITES / 1000); /* these were counted before pages
                                                         ran out */
  assert_int_equal(sums.allocated + sums.last.lost_allocated.samples, 2 * SITES);
  assert_int_equal(sums.live + sums.last.lost_live.samples, SITES / KEPT);
  assert_true(sums.last.lost_live.samples < 10);
  assert_int_equal(sums.other_live, 0);
  assert_true(sums.other_allocated > SITES / 2 && sums.other_allocated < SITES);
  eventring_close(c);
  end(d);
}

/* Checks that a profile goes on where one recording ends and another begins. */
static void a_later_recording_has_it_all(void **state) {
  struct eventring_tracked tracked;
  eventring_domain *d = start_sampled();
  assert_int_equal(eventring_memory_start(d, RATE), EVENTRING_OK);
  eventring_memory_sampled(d, &(struct eventring_sample){3, 1, 1, 0, 0, 0}, &tracked);
  eventring_memory_collected(d, &(struct eventring_collection){12, 12});
  eventring_stop();
  eventring_memory_sampled(d, &(struct eventring_sample){4, 1, 2, 0, 0, 0}, &tracked);
  eventring_memory_collected(d, &(struct eventring_collection){28, 28});
  struct eventring_config config = sampled_config();
  assert_int_equal(eventring_start(&config, NULL), EVENTRING_OK);
  eventring_memory_collected(d, &(struct eventring_collection){28, 28});
  eventring_cursor *c = open_self(0);
  struct sums sums = read_heaps(c);
  assert_true(sums.heaps == 1 && sums.live == 7 && sums.last.collections == 3);
  eventring_close(c);
  end(d);
}

static void a_child_writes_its_own(void **state) {
  struct eventring_tracked tracked;
  eventring_domain *d = start_sampled();
  assert_int_equal(eventring_memory_start(d, RATE), EVENTRING_OK);
  eventring_memory_sampled(d, &(struct eventring_sample){3, 1, 1, 0, 0, 0}, &tracked);
  eventring_memory_collected(d, &(struct eventring_collection){12, 12});
  pid_t child = fork();
  if (!child) {
    struct eventring_config config = sampled_config();
    eventring_memory_sampled(d, &(struct eventring_sample){4, 1, 2, 0, 0, 0}, &tracked);
    eventring_memory_collected(d, &(struct eventring_collection){28, 28});
    if (eventring_start(&config, NULL) != EVENTRING_OK) _exit(1);
    eventring_memory_collected(d, &(struct eventring_collection){28, 28});
    eventring_cursor *c = open_self(0);
    struct sums sums = read_heaps(c);
    eventring_close(c);
    eventring_stop();
    _exit(sums.live == 7 ? 0 : 2);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  eventring_cursor *c = open_self(0);
  assert_int_equal(read_heaps(c).live, 3);
  eventring_close(c);
  end(d);
}

/* ---- Copies ----------------------------------------------------------------------- */

static void a_snapshot_has_it(void **state) {
  struct eventring_tracked tracked;
  struct eventring_error error = {0};
  eventring_domain *d = start_sampled();
  uint32_t f = function("copied", "c.lua", 3);
  uint32_t id = stack(d, (struct eventring_frame[]){{f, 1}}, 1);
  assert_int_equal(eventring_memory_start(d, RATE), EVENTRING_OK);
  eventring_memory_sampled(d, &(struct eventring_sample){3, 1, id, 0, 0, 0}, &tracked);
  for (int i = 0; i < 5; i++)
    eventring_memory_collected(d, &(struct eventring_collection){12, 12});
  eventring_cursor *c = open_self(0);
  assert_int_equal(eventring_snapshot(c, "copy.eventring", &error), 0);
  eventring_close(c);
  end(d);
  c = open_file("copy.eventring", 0);
  struct sums sums = read_heaps(c);
  assert_true(sums.heaps == 1 && !sums.last.torn && sums.live == 3);
  struct eventring_stack_info info;
  assert_int_equal(eventring_cursor_stack(c, id, &info), EVENTRING_OK);
  assert_int_equal(eventring_poll(c, NULL, NULL, 0) >= 0, 1);
  assert_int_equal(eventring_cursor_damage(c), 0);
  eventring_close(c);
  unlink("copy.eventring");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(functions_are_interned),
      cmocka_unit_test(texts_are_cut_and_cleaned),
      cmocka_unit_test(stacks_share_their_callers),
      cmocka_unit_test(many_stacks),
      cmocka_unit_test(events_are_delivered),
      cmocka_unit_test(fates_are_delivered_in_order),
      cmocka_unit_test(the_rate_is_controlled),
      cmocka_unit_test(rates_are_parsed),
      cmocka_unit_test(a_profile_is_kept),
      cmocka_unit_test(many_profiles),
      cmocka_unit_test(what_finds_no_page_is_counted),
      cmocka_unit_test(a_dead_site_gives_up_its_place),
      cmocka_unit_test(a_later_recording_has_it_all),
      cmocka_unit_test(a_child_writes_its_own),
      cmocka_unit_test(a_snapshot_has_it),
  };
  register_test_events();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
