/* SPDX-License-Identifier: MIT */
/* view_head.c: writes section `head` of a page: the contents of the overview. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ending.h"
#include "analysis/figures.h"
#include "analysis/names.h"
#include "analysis/saturating.h"
#include "reader.h"
#include "shared_views.h"
#include "view/lists.h"
#include "view_figures.h"
#include "view_page.h"

/* Writes a number that may be too large to be exact in JavaScript. */
static void put_decimal(struct eva_json *json, const char *key, int64_t value) {
  char text[24];
  snprintf(text, sizeof text, "%" PRId64, value);
  eva_json_string_at(json, key, text);
}

/* ---- The run ------------------------------------------------------------------ */

/* Returns the time from the first event to the last one, or to the last sample of a
   stack. */
static uint64_t length_of(const struct page_run *run) {
  const uint64_t first = run->events->tally->first_ns, end = run->events->end_ns;
  return first && end > first ? end - first : 0;
}

static void put_run(const struct page_run *run, const struct eva_tally *tally,
                    struct eva_json *json) {
  const struct eventring_info *info = &tally->info;
  eva_json_key(json, "run");
  eva_json_open_object(json);
  view_members(json, head_view, info);
  put_decimal(json, "start_wall_ns", info->start_wall_ns);
  eva_json_uint_at(json, "length_ns", length_of(run));
  eva_json_string_at(json, "state", eva_state_name(info->state));
  eva_json_string_at(json, "target", run->target);
  eva_json_close_object(json);
}

static void put_grid(const struct page_run *run, struct eva_json *json) {
  eva_json_key(json, "grid");
  eva_json_open_object(json);
  put_decimal(json, "begin_ns", (int64_t)run->grid.begin_ns);
  put_decimal(json, "start_ns", (int64_t)run->info.start_ns);
  eva_json_uint_at(json, "cell_ns", run->grid.cell_ns);
  eva_json_uint_at(json, "cells", run->grid.cells);
  eva_json_close_object(json);
}

static void put_totals(const struct eva_tally *tally, struct eva_json *json) {
  const struct eventring_totals *totals = &tally->totals;
  eva_json_key(json, "totals");
  eva_json_open_object(json);
  eva_json_uint_at(json, "events", totals->delivered);
  eva_json_uint_at(json, "lost", totals->lost);
  eva_json_uint_at(json, "missed", totals->missed);
  eva_json_uint_at(json, "torn", totals->torn);
  eva_json_close_object(json);
}

/* ---- Facts and answers -------------------------------------------------------- */

static void put_fact(struct eva_json *json, const char *label, const char *value) {
  eva_json_open_object(json);
  eva_json_string_at(json, "label", label);
  eva_json_string_at(json, "value", value);
  eva_json_close_object(json);
}

static void put_ending(const struct eventring_info *info, struct eva_json *json) {
  char how[EVA_ENDING];
  const struct eva_ending ending = eva_ending_of(info);
  eva_ending_text(how, &ending);
  put_fact(json, "Ended", how[0] ? how
                        : info->liveness == EVENTRING_LIVE ? "not yet"
                                                           : eva_liveness_name(info->liveness));
  if (info->error_text[0]) put_fact(json, "Error", info->error_text);
}

static void put_losses(const struct eventring_totals *totals, struct eva_json *json) {
  char text[4 * EVA_FIGURE];
  if (!totals->lost && !totals->missed) {
    put_fact(json, "Losses", "none");
    return;
  }
  snprintf(text, sizeof text, "%s events, and %s before reading began", eva_count(totals->lost),
           eva_count(totals->missed));
  put_fact(json, "Losses", text);
}

static void put_collector(const struct eva_tally_domain *all, struct eva_json *json) {
  char text[4 * EVA_FIGURE];
  uint64_t cpu;
  if (!all->times.in_gc) return;
  snprintf(text, sizeof text, "%s, %s of the time", eva_duration(all->times.in_gc),
           eva_percent(all->times.in_gc, all->watched));
  put_fact(json, "In the collector", text);
  if (eva_gc_times_cpu(&all->times, &cpu))
    put_fact(json, "CPU of the collector", eva_duration(cpu));
}

static void find_peak(void *context, const struct eva_tally_entry *entry) {
  uint64_t *peak = context;
  const struct eva_tally_counter *counter = entry->counter;
  if (!counter || !counter->samples || counter->is_double || counter->max <= 0 ||
      entry->quantity != EVENTRING_QUANTITY_HEAP)
    return;
  const uint64_t most =
      eva_times((uint64_t)counter->max, strcmp(entry->unit, "words") == 0 ? 8 : 1);
  if (most > *peak) *peak = most;
}

static void put_facts(const struct page_run *run, const struct eva_tally *tally,
                      struct eva_json *json) {
  uint64_t peak = 0;
  eva_tally_each(&tally->all, find_peak, &peak);
  eva_json_key(json, "facts");
  eva_json_open_array(json);
  put_fact(json, "Program", tally->info.program);
  put_ending(&tally->info, json);
  put_fact(json, "Length", eva_duration(length_of(run)));
  put_fact(json, "Domains", eva_count(tally->domains_used));
  put_fact(json, "Events", eva_count(tally->totals.delivered));
  put_losses(&tally->totals, json);
  put_collector(&tally->all, json);
  if (peak) put_fact(json, "Largest heap", eva_bytes(peak));
  eva_json_close_array(json);
}

void view_put_command(const struct page_run *run, const char *command, struct eva_json *json) {
  char *line;
  if (asprintf(&line, "eventring %s %s", command, run->target) < 0) no_memory();
  eva_json_string_at(json, "command", line);
  free(line);
}

/* Writes an answer. `command`: NULL if no command takes such a target. */
static void put_answer(const struct page_run *run, const char *question, const char *answer,
                       const char *command, struct eva_json *json) {
  eva_json_open_object(json);
  eva_json_string_at(json, "question", question);
  eva_json_string_at(json, "answer", answer);
  if (command) view_put_command(run, command, json);
  else eva_json_string_at(json, "command", NULL);
  eva_json_close_object(json);
}

static bool is_program(const struct page_run *run) { return strncmp(run->target, "-- ", 3) == 0; }

const char *view_sampling(const struct page_run *run) {
  return run->cpu ? "profile --cpu --hz 1000" : "profile --hz 1000";
}

/* Returns what is known about the time by line, and sets *command to a command for
   details, or NULL if there is none. */
static const char *about_time(const struct page_run *run, const char **command) {
  *command = NULL;
  if (run->sampled.has_calls) {
    *command = "profile --by line";
    return "Calls were measured by the process itself.";
  }
  if (is_program(run) && !run->launch) {
    *command = run->cpu ? "profile --cpu --hz 1000 --children --by line"
                        : "profile --hz 1000 --children --by line";
    return "The program made several recordings; stacks are sampled only where there is one, so "
           "here are those that processes wrote each second. This command samples all processes.";
  }
  if (!run->sampled.has_written) return "Neither stacks nor calls were recorded.";
  *command = is_program(run) ? NULL : "stack";
  return "Stacks are those that the process wrote each second; more were not sampled.";
}

/* Tells whether so many stacks lack the innermost function that another line may be the
   hottest. */
static bool misses_functions(const struct page_run *run) {
  enum { RARE = 20 };
  return run->sampled.moving > run->sampled.stacks / RARE;
}

/* Tells whether the program did not note each instruction for more than a moment. */
static bool has_coarse_lines(const struct page_run *run) {
  enum { RARE = 20 };
  return run->sampled.coarse > run->sampled.stacks / RARE;
}

/* Writes how stacks were sampled. */
static void tell_samples(const struct page_run *run, char *text, size_t room) {
  const int size = snprintf(text, room,
                            "Stacks were sampled %" PRIu64 " times a second, %s.%s",
                            run->sampled.hz,
                            run->cpu ? "while on a processor"
                                     : "on a processor or not (--cpu: only those on one)",
                            has_coarse_lines(run)
                                ? " The function is that of the moment; its line is the last one "
                                  "noted: of a call, an allocation, a turn of a loop, which count "
                                  "for the lines behind them."
                                : "");
  if (!misses_functions(run)) return;
  snprintf(text + size, room - (size_t)size,
           " %s of the stacks lack the innermost functions, which are short: their time is at the "
           "line that called them.%s",
           eva_percent(run->sampled.moving, run->sampled.stacks),
           is_program(run) ? " Without --hz the command measures each call instead, by function."
                           : "");
}

static void put_hot_line(const struct page_run *run, struct eva_json *json) {
  char text[640], sampling[64];
  const char *command, *answer = about_time(run, &command);
  if (run->sampled.hz) {
    tell_samples(run, text, sizeof text);
    snprintf(sampling, sizeof sampling, "%s --by line", view_sampling(run));
    answer = text;
    command = sampling;
  }
  put_answer(run, "Which line takes the time?", answer, command, json);
}

/* Writes what was allocated, by exact counts. The collector counts its heap. The profile
   of samples, like the estimates, also counts what objects hold outside the heap. */
static void tell_allocated(const struct page_run *run, const struct eva_tally *tally, char *text,
                           size_t room) {
  const struct eva_heap *profiles = page_heap_profiles();
  const bool is_whole = !run->since && run->until == UINT64_MAX;
  const uint64_t counted = is_whole && profiles ? eva_heap_state(profiles)->words : 0;
  const int64_t words = tally->all.allocated;
  const bool sampled = run->sampled.has_allocations;
  size_t used = 0;
  text[0] = '\0';
  if (counted && sampled)
    used =
        (size_t)snprintf(text, room, "%s were counted, exactly, while allocations were sampled. ",
                         eva_bytes(eva_times(counted, 8)));
  if (words >= 0)
    used += (size_t)snprintf(text + used, room - used, "%s were allocated in the heap in all%s. ",
                             eva_bytes(eva_times((uint64_t)words, 8)),
                             sampled ? "" : "; allocations were not sampled, as `view PID` and "
                                            "`view -- PROGRAM` do, so their lines are not known");
  else if (!sampled) used += (size_t)snprintf(text + used, room - used, "Not recorded. ");
  if (sampled)
    used += (size_t)snprintf(text + used, room - used,
                             "Figures of lines are estimates from samples, with what objects hold "
                             "outside the heap; shares are of their sum. ");
  if (used) text[used - 1] = '\0';
}

static void put_answers(const struct page_run *run, const struct eva_tally *tally,
                        struct eva_json *json) {
  char text[512];
  const struct eva_tally_domain *all = &tally->all;
  eva_json_key(json, "answers");
  eva_json_open_array(json);
  put_hot_line(run, json);
  snprintf(text, sizeof text, all->times.in_gc ? "%s of the time" : "No step of it was recorded.",
           eva_percent(all->times.in_gc, all->watched));
  put_answer(run, "Is it the collector?", text, "pauses", json);
  tell_allocated(run, tally, text, sizeof text);
  put_answer(run, "Which line allocates?", text,
             run->sampled.has_allocations ? "heap --allocated --by line" : NULL, json);
  snprintf(text, sizeof text, "%s events up to the last one, %s after the start",
           eva_count(tally->totals.delivered),
           eva_duration(tally->last_ns > tally->info.start_ns
                            ? tally->last_ns - tally->info.start_ns : 0));
  put_answer(run, "What was it doing last?", text, is_program(run) ? NULL : "autopsy", json);
  eva_json_close_array(json);
}

/* ---- What was left out -------------------------------------------------------- */

static void put_left(const struct page_left *left, struct eva_json *json) {
  if (!left->what) return;
  eva_json_open_object(json);
  eva_json_string_at(json, "what", left->what);
  eva_json_uint_at(json, "kept", left->kept);
  eva_json_uint_at(json, "of", left->of);
  eva_json_string_at(json, "why", left->why ? left->why : "the size of the page");
  eva_json_close_object(json);
}

static void put_left_out(const struct page *page, struct eva_json *json) {
  eva_json_key(json, "left_out");
  eva_json_open_array(json);
  for (size_t i = 0; i < page->count; i++) put_left(&page->made[i].left, json);
  eva_json_close_array(json);
}

static void put_chunks(const struct page *page, struct eva_json *json) {
  eva_json_key(json, "chunks");
  eva_json_open_array(json);
  for (size_t i = 0; i < page->chunks; i++) {
    const struct page_chunk *chunk = &page->chunk[i];
    eva_json_open_object(json);
    eva_json_string_at(json, "section", chunk->section.name);
    eva_json_int_at(json, "begin", chunk->begin);
    eva_json_int_at(json, "end", chunk->end);
    eva_json_uint_at(json, "count", chunk->count);
    eva_json_close_object(json);
  }
  eva_json_close_array(json);
}

void view_head(const struct page *page, struct eva_json *json) {
  const struct page_run *run = page->run;
  const struct eva_tally *tally = run->events->tally;
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", EVENTRING_VERSION_MAJOR, EVENTRING_VERSION_MINOR,
           EVENTRING_VERSION_PATCH);
  eva_json_open_object(json);
  eva_json_uint_at(json, "version", 1);
  eva_json_string_at(json, "made_by", version);
  eva_json_string_at(json, "command", run->command_line);
  put_run(run, tally, json);
  put_grid(run, json);
  page_lists_write(run->lists, &run->grid, json);
  put_answers(run, tally, json);
  put_facts(run, tally, json);
  put_totals(tally, json);
  eva_json_key(json, "sampled");
  if (!run->sampled.hz && run->sampled.rate == 0) {
    eva_json_null(json);
  } else {
    eva_json_open_object(json);
    eva_json_uint_at(json, "hz", run->sampled.hz);
    if (run->sampled.hz) {
      eva_json_string_at(json, "command", view_sampling(run));
      eva_json_uint_at(json, "stacks", run->sampled.stacks);
      eva_json_uint_at(json, "moving", run->sampled.moving);
      eva_json_uint_at(json, "torn", run->sampled.torn);
      eva_json_uint_at(json, "late", run->sampled.late);
    }
    eva_json_double_at(json, "rate", run->sampled.rate);
    eva_json_double_at(json, "seconds", run->sampled.seconds);
    if (run->sampled.hz)
      eva_json_int_at(json, "begin", (int64_t)(run->sampled.begin_ns - run->grid.begin_ns));
    eva_json_close_object(json);
  }
  put_chunks(page, json);
  put_left_out(page, json);
  eva_json_uint_at(json, "size_limit", run->limit);
  eva_json_close_object(json);
}
