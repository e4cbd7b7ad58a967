/* SPDX-License-Identifier: MIT */
/* profile_view.h: shows a profile of time (time_profile.h): rows, callers, trees, JSON,
 * and the formats of other tools. */
#ifndef EVENTRING_TOOL_PROFILE_VIEW_H
#define EVENTRING_TOOL_PROFILE_VIEW_H

#include "analysis/call_rows.h"
#include "time_profile.h"
#include "view.h"

struct profile_view {
  struct view_choice as;
  bool tree, per_domain;
  const char *callers; /* --callers: the name of a function; NULL: not given */
  enum eva_calls_by by;
  uint64_t top;        /* 0: all */
  uint64_t domain;     /* UINT64_MAX: all */
};

extern const char *const profile_by_names[]; /* names of the values of enum eva_calls_by;
                                                ends with NULL */
/* The view that --json prints. */
view_function profile_answer_view;
/* Shows a profile. Returns the exit status. */
int profile_show(const struct time_profile *profile, const struct profile_view *view);
/* Writes the rows of a profile for a page (view_data). Returns how many there are. */
size_t profile_data(const struct time_profile *profile, const struct profile_view *view,
                    struct eva_json *json);
/* Writes "name file.lua:12" into `text`, and returns it. */
const char *profile_function_text(char *text, size_t room,
                                  const struct eventring_calls_function *f);
void profile_print_trees(const struct time_profile *profile, const struct profile_view *view);
/* Exports a profile to `path`; NULL is standard output. Returns the exit status. */
int profile_export(const struct time_profile *profile, uint64_t domain, const char *format,
                   const char *path);
/* Tells whether a format has no lines of functions, and only numbers of samples. */
bool profile_is_by_function(const char *format);

/* Runs the command `profile`. The command `stack` calls this, too, when it is asked for
   samples. */
int command_profile(const struct command *self, int count, char **words);
/* Tells whether the words of `profile` or `stack` ask for samples. */
bool profile_is_of_samples(int count, char **words);

#endif
