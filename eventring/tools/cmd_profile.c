/* SPDX-License-Identifier: MIT */
/* cmd_profile.c: `eventring profile`: where time goes.
 *
 * It shows either the profile of calls of a recording, or samples of a live process. It
 * samples if it gets options of samples, or if the process keeps no profile of calls. A
 * PROGRAM is started with SAROS_PROFILE=calls, unless the variable is set, and its
 * profile is shown when it has ended. A PROGRAM to be sampled is started without
 * SAROS_PROFILE. With --perf, samples of perf and a recording make one profile
 * (perf_merge.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "formats.h"
#include "heap_export.h"
#include "options.h"
#include "perf_merge.h"
#include "profile_view.h"
#include "reader.h"
#include "sample.h"
#include "sample_self.h"

struct profile_options {
  struct profile_view view;
  struct sample_options sample;
  struct perf_merge_options perf;
  bool samples, graph, cpu, wall;
  const char *prefix, *to, *output;
};

enum { DEFAULT_TOP = 20, DEFAULT_HZ = 1000 };
#define ASK_NS ((uint64_t)2000000000) /* how long all domains together may take to
                                         answer */

/* ---- Words -------------------------------------------------------------------- */

/* Tells whether the words ask for samples. (--cpu does not, since it also applies to the
   calls of a PROGRAM.) */
bool profile_is_of_samples(int count, char **words) {
  static const char *const names[] = {"--hz", "--wall", "--idle", "--seconds", "--children"};
  for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++)
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
      size_t size = strlen(names[n]);
      if (strncmp(words[i], names[n], size) == 0 && (!words[i][size] || words[i][size] == '='))
        return true;
    }
  return false;
}

static int check_words(const struct command *self, struct profile_options *o,
                       const struct operands *operands) {
  struct profile_view *view = &o->view;
  if (o->perf.below && !o->perf.path) return usage_error(self, "--native-below goes with --perf");
  if (o->perf.event && !o->perf.path) return usage_error(self, "--perf-event goes with --perf");
  if (o->perf.event && !*o->perf.event) return usage_error(self, "--perf-event: the name is empty");
  if (o->perf.path && (o->samples || o->cpu))
    return usage_error(self, "--perf reads samples: no --cpu, and no option that takes samples");
  if (o->perf.path && operands->command)
    return usage_error(self, "--perf needs a PID or FILE, not a PROGRAM");
  if (o->samples && o->wall + o->cpu + o->sample.idle > 1)
    return usage_error(self, "only one of --wall, --cpu, --idle");
  if (view->tree && (view->callers || !view_wants_text(&view->as) || view->by != EVA_BY_FUNCTION))
    return usage_error(self, "--tree cannot be combined with --by, --callers, --json or --csv");
  if (view->callers && view->by != EVA_BY_FUNCTION)
    return usage_error(self, "--callers and --by cannot be combined");
  if (o->graph && o->to) return usage_error(self, "--graph means --to dot: give only one of them");
  if (o->graph) o->to = "dot";
  if (o->to && !format_of_profiles(o->to))
    return usage_error(self, "`--to %s': must be one of %s", o->to, formats_of_profiles());
  if (o->to && (view->tree || !view_wants_text(&view->as) || view->callers))
    return usage_error(self, "only one of --to, --json, --tree, --callers");
  if (o->output && !o->to) return usage_error(self, "-o goes with --to or --graph");
  return STATUS_GO_ON;
}

static int read_words(const struct command *self, int count, char **words,
                      struct profile_options *o, struct operands *operands) {
  *o = (struct profile_options){
      .view = {.top = DEFAULT_TOP, .domain = UINT64_MAX}, .sample = {.hz = DEFAULT_HZ},
      .prefix = "SAROS_EVENTRING",
      .samples = profile_is_of_samples(count, words)};
  const struct option_spec specs[] = {
      {"by", 0, OPTION_CHOICE, CHOICE(&o->view.by, profile_by_names), "WHAT",
       "rows: function, line or stack"},
      {"tree", 0, OPTION_FLAG, &o->view.tree, NULL, "the tree of calls, from 1 % of the time on"},
      {"callers", 0, OPTION_TEXT, &o->view.callers, "NAME", "who calls this function"},
      {"graph", 0, OPTION_FLAG, &o->graph, NULL, "functions and calls, for Graphviz's dot"},
      {"top", 't', OPTION_COUNT, &o->view.top, "N", "at most N rows (20); 0: all"},
      {"domain", 'd', OPTION_BETWEEN, BETWEEN(&o->view.domain, 0, INT32_MAX), "N", "only domain N"},
      {"per-domain", 0, OPTION_FLAG, &o->view.per_domain, NULL, "rows of each domain apart"},
      {"to", 0, OPTION_TEXT, &o->to, "FORMAT",
       "svg (a flame graph), or folded, speedscope, pprof, callgrind, dot, otlp_profiles: for "
       "other tools"},
      {"output", 'o', OPTION_TEXT, &o->output, "FILE", "with --to: to FILE, which must not exist"},
      VIEW_SPECS(&o->view.as, profile_answer_view, "one JSON object"),
      {"hz", 0, OPTION_BETWEEN, BETWEEN(&o->sample.hz, 1, SAMPLE_MOST_HZ), "N",
       "take N samples a second (1000) from outside, instead of calls"},
      {"seconds", 's', OPTION_SECONDS, &o->sample.seconds_ns, "N",
       "samples: for N seconds (else until it ends, or ^C; 10 s without a terminal)"},
      {"wall", 0, OPTION_FLAG, &o->wall, NULL, "samples: count all (default)"},
      {"cpu", 0, OPTION_FLAG, &o->cpu, NULL,
       "samples: only threads that run; calls: a PROGRAM measures CPU time, not wall time"},
      {"idle", 0, OPTION_FLAG, &o->sample.idle, NULL, "samples: only threads that wait or sleep"},
      {"children", 0, OPTION_FLAG, &o->sample.children, NULL,
       "samples: of its descendants as well"},
      {"perf", 0, OPTION_TEXT, &o->perf.path, "FILE",
       "samples of perf: what `perf script --ns' printed, below the spans of a recording"},
      {"perf-event", 0, OPTION_TEXT, &o->perf.event, "NAME",
       "--perf: only samples of this event, if perf recorded several"},
      {"native-below", 0, OPTION_TEXT, &o->perf.below, "NAME",
       "--perf: only native frames within this one, such as the interpreter's"},
      ENV_PREFIX_SPEC(&o->prefix)};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (goes_on(status)) status = require_target(self, operands, true);
  return goes_on(status) ? check_words(self, o, operands) : status;
}

/* ---- Output ------------------------------------------------------------------- */

static int show(const struct time_profile *profile, const struct profile_options *o) {
  return o->to ? profile_export(profile, o->view.domain, o->to, o->output)
               : profile_show(profile, &o->view);
}

/* ---- Samples ------------------------------------------------------------------ */

static enum sample_detail detail_for(const struct profile_options *o) {
  if (o->to) return profile_is_by_function(o->to) ? SAMPLE_BY_FUNCTION : SAMPLE_BY_SITE;
  return o->view.by == EVA_BY_LINE ? SAMPLE_BY_LINE : SAMPLE_BY_FUNCTION;
}

/* Samples a process, or lets it sample itself if the kernel forbids that, and shows the
   samples. `launch` is the program that was launched, or NULL. */
static int sample_it(pid_t pid, struct launch *launch, struct profile_options *o) {
  struct sampling *sampling;
  struct time_profile profile;
  o->sample.domain = o->view.domain;
  o->sample.cpu = o->cpu;
  o->sample.lines = detail_for(o) != SAMPLE_BY_FUNCTION;
  int status = sample_process(&sampling, pid, launch, &o->sample);
  if (goes_on(status)) sample_profile(sampling, detail_for(o), &profile);
  else if (status == SAMPLE_FORBIDDEN)
    status = sample_self(pid, launch, &o->sample, detail_for(o), sample_why_not(sampling),
                         &profile);
  if (goes_on(status)) {
    if (launch) snprintf(profile.program, sizeof profile.program, "%s", launch->command);
    status = show(&profile, o);
    time_profile_free(&profile);
  }
  sample_free(sampling);
  return status;
}

static int sample_live(pid_t pid, struct profile_options *o) {
  o->sample.seconds_ns = watch_limit(o->sample.seconds_ns);
  return sample_it(pid, NULL, o);
}

static int sample_program(char **command, struct profile_options *o) {
  struct launch launch;
  int status = launch_start(&launch, command, NULL, false);
  if (!goes_on(status)) return status;
  int shown = sample_it(launch.pid, &launch, o);
  status = launch_finish(&launch);
  return status != 0 ? status : shown;
}

/* ---- Recordings --------------------------------------------------------------- */

/* Shows the profile of the program of a recording. */
static int show_recorded(eventring_cursor *cursor, struct time_profile *profile,
                      const struct profile_options *o) {
  struct eventring_info info = {.size = sizeof info};
  eventring_cursor_info(cursor, &info);
  profile->start_wall_ns = info.start_wall_ns;
  snprintf(profile->program, sizeof profile->program, "%s", info.program);
  return show(profile, o);
}

/* ---- Samples of perf ---------------------------------------------------------- */

static int show_perf(const char *target, const struct profile_options *o) {
  struct reader reader = {0};
  struct perf_merge *merge;
  struct time_profile profile = {0};
  int status = reader_open_target(&reader, target, EVENTRING_OPEN_MERGED | EVENTRING_OPEN_FOLLOW);
  if (!goes_on(status)) return status;
  status = perf_merge(&merge, &reader, &o->perf, detail_for(o), &profile);
  if (goes_on(status)) {
    status = show_recorded(reader.cursor, &profile, o);
    time_profile_free(&profile);
  }
  perf_merge_free(merge);
  return reader_close(&reader, status);
}

/* ---- The profile of calls ----------------------------------------------------- */

static int take_profiles(eventring_cursor *cursor, struct time_profile *profile) {
  struct eventring_error error;
  if (eventring_cursor_profiles(cursor, &profile->profiles, &error) >= 0) return STATUS_OK;
  return wrong("%s", error.text);
}

/* Tells whether a live process keeps a profile, or is about to. */
static bool is_kept(eventring_cursor *cursor) {
  struct eventring_info info = {.size = sizeof info};
  return eventring_cursor_info(cursor, &info) >= 0 && info.liveness == EVENTRING_LIVE &&
         info.profile_asked;
}

/* Asks for a profile that the process keeps but has not written yet. A process writes its
   profile once each period, and when a tool asks for it. */
static int ask_for_profile(struct reader *reader, const char *target,
                           struct time_profile *profile) {
  static struct ask ask;
  char why[DOMAIN_STATE_TEXT];
  /* the other reader cannot ask if it has followed a link */
  struct reader asker = {0};
  int status = reader_open_target(&asker, target, EVENTRING_OPEN_NOW);
  if (!goes_on(status)) return status;
  status = ask_domains(&ask, &asker, EVENTRING_ASKS_PROFILE,
                       (struct ask_patience){UINT64_MAX, ASK_NS});
  const bool is_silent = goes_on(status) && ask_is_silent(why, &ask);
  status = reader_close(&asker, goes_on(status) ? STATUS_OK : status);
  if (status == STATUS_OK) status = take_profiles(reader->cursor, profile);
  if (status != STATUS_OK || profile->profiles.count) return status;
  return wrong(
      "it keeps a profile of calls from its next safepoint on, and has not written it yet%s%s "
      "(--hz 1000 takes samples)",
      is_silent ? ": " : "", is_silent ? why : "");
}

/* Shows the profiles of a recording. `target` is the word by which it was opened, or
 * NULL. Sets *none to whether there is no profile. */
static int serve(struct reader *reader, const char *target, const struct profile_options *o,
                 bool *none) {
  struct time_profile profile = {0};
  struct eventring_error error;
  if (reader->launched) {
    const struct eventring_callbacks nothing = {sizeof nothing, NULL, NULL};
    const struct reading reading = {.callbacks = &nothing, .follow = true, .until = UINT64_MAX};
    reader_run(reader, &reading);
    char *all = reader_merge(reader);
    if (all) {
      eventring_close(reader->cursor);
      int status = eventring_open_path(&reader->cursor, all, 0, &error);
      free(all);
      if (status != EVENTRING_OK) return reader->cursor = NULL, wrong("%s", error.text);
    }
  }
  int status = take_profiles(reader->cursor, &profile);
  if (status == STATUS_OK && !profile.profiles.count && target && is_kept(reader->cursor))
    status = ask_for_profile(reader, target, &profile);
  if (status != STATUS_OK) return status;
  if (profile.profiles.damaged && eventring_cursor_liveness(reader->cursor) != EVENTRING_LIVE)
    complain("%llu parts of profiles are not valid", (unsigned long long)profile.profiles.damaged);
  *none = profile.profiles.count == 0;
  status = *none ? STATUS_WRONG : show_recorded(reader->cursor, &profile, o);
  time_profile_free(&profile);
  return status;
}

static int show_recording(const struct operands *operands, struct profile_options *o) {
  struct reader reader;
  bool none = false;
  if (operands->command)
    launch_set_sibling(o->prefix, "PROFILE", o->cpu ? "calls,cpu" : "calls", o->cpu);
  int status = reader_open(&reader, operands, o->prefix, 0);
  if (!goes_on(status)) return status;
  status = serve(&reader, operands->command ? NULL : operands->words[0], o, &none);
  if (none)
    status = wrong("no profile of calls in this recording (start it with SAROS_PROFILE=calls, or "
                   "ask a live process with eventring control PID --profile calls; --hz 1000 "
                   "takes samples)");
  return reader_close(&reader, status);
}

/* Shows the profile of calls of a process, or samples the process if it keeps none. */
static int show_process(pid_t pid, const char *word, struct profile_options *o) {
  struct eventring_error error;
  struct reader reader = {0};
  bool none = eventring_open_pid(&reader.cursor, pid, 0, &error) != 0;
  int status = STATUS_OK;
  if (!none) {
    eventring_close(reader.cursor);
    status = reader_open_target(&reader, word, EVENTRING_OPEN_FOLLOW);
    if (!goes_on(status)) return status;
    status = reader_close(&reader, serve(&reader, word, o, &none));
  }
  if (!none) return status;
  complain("%ld: it keeps no profile of calls; taking samples%s", (long)pid,
           o->sample.seconds_ns || !someone_can_interrupt() ? "" : " (^C ends that)");
  return sample_live(pid, o);
}

int command_profile(const struct command *self, int count, char **words) {
  struct profile_options o;
  struct operands operands;
  pid_t pid;
  int status = read_words(self, count, words, &o, &operands);
  if (!goes_on(status)) return status;
  if (o.perf.path) return show_perf(operands.words[0], &o);
  if (operands.command)
    return o.samples ? sample_program(operands.command, &o) : show_recording(&operands, &o);
  if (o.samples) {
    status = require_process(self, &operands, &pid);
    return goes_on(status) ? sample_live(pid, &o) : status;
  }
  if (read_process_number(operands.words[0], &pid))
    return show_process(pid, operands.words[0], &o);
  return show_recording(&operands, &o);
}
