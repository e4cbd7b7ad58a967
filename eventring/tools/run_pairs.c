/* SPDX-License-Identifier: MIT */
/* run_pairs.c: runs two programs in turn.
 *
 * The load of the machine changes from minute to minute. So the sides take turns, also in
 * being first: A B, B A, A B ... */
#include "run_pairs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader.h"

bool run_pairs_split(char **words, char **programs[2]) {
  char **next = words;
  while (*next && strcmp(*next, "--") != 0) next++;
  programs[0] = words;
  programs[1] = *next ? next + 1 : next;
  *next = NULL;
  return *programs[0] && *programs[1];
}

/* Returns the words of a program as they are shown; allocated. */
static char *joined(char **words) {
  size_t size = 1;
  for (char **word = words; *word; word++) size += strlen(*word) + 1;
  char *text = need_zeroed(size, 1), *end = text;
  for (char **word = words; *word; word++)
    end += snprintf(end, size - (size_t)(end - text), "%s%s", end > text ? " " : "", *word);
  return text;
}

/* ---- What a launch changes in this process ------------------------------------ */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
enum { SIGNALS = sizeof signals / sizeof signals[0] };

struct before {
  struct sigaction action[SIGNALS]; /* signal actions, which the next program must inherit
                                       as the first did */
  int in, out;
};

static int open_nothing(int as, int flags) {
  int kept = fcntl(as, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), nothing = open("/dev/null", flags);
  if (kept >= 0 && nothing >= 0 && dup2(nothing, as) < 0) {
    close(kept);
    kept = -1;
  }
  if (nothing >= 0 && nothing != as) close(nothing);
  return nothing >= 0 ? kept : -1;
}

/* Gives a program empty input and no output, and saves what a launch changes. Returns
   false after a message. */
static bool change(struct before *before) {
  for (size_t i = 0; i < SIGNALS; i++) sigaction(signals[i], NULL, &before->action[i]);
  fflush(stdout);
  before->in = open_nothing(STDIN_FILENO, O_RDONLY);
  before->out = open_nothing(STDOUT_FILENO, O_WRONLY);
  if (before->in >= 0 && before->out >= 0) return true;
  return complain("cannot give a program /dev/null: %s", strerror(errno));
}

static void put_back(int as, int kept) {
  if (kept < 0) return;
  dup2(kept, as);
  close(kept);
}

static void restore(const struct before *before) {
  put_back(STDIN_FILENO, before->in);
  put_back(STDOUT_FILENO, before->out);
  for (size_t i = 0; i < SIGNALS; i++) sigaction(signals[i], &before->action[i], NULL);
}

/* ---- Running ------------------------------------------------------------------ */

static int run_and_read(struct runs *runs, size_t n, char **program, const char *prefix) {
  struct reader reader;
  const struct operands operands = {.command = program};
  int status = reader_open(&reader, &operands, prefix, EVENTRING_OPEN_MERGED);
  if (!goes_on(status)) return status;
  reader.launch.merges_silently = n >= 2; /* the number of recordings is printed once for
                                             each side */
  return runs_read(runs, n, &reader);
}

static int run_one(struct runs *runs, size_t n, char **const programs[2], const char *prefix) {
  struct before before;
  char line[64];
  size_t side = n % 2;
  snprintf(line, sizeof line, "run %zu of %zu of %c", n / 2 + 1, runs->count / 2,
           (int)('A' + side));
  show_progress("%s", line);
  int status = change(&before) ? run_and_read(runs, n, programs[side], prefix) : STATUS_WRONG;
  restore(&before);
  if (status > STATUS_OK) complain("%s ended with status %d", line, status);
  return status;
}

int run_pairs(struct runs *runs, char **const programs[2], const char *prefix) {
  int status = STATUS_GO_ON;
  for (size_t i = 0; i < runs->count; i++) runs->run[i].command = joined(programs[i % 2]);
  for (size_t i = 0; goes_on(status) && i < runs->count; i++)
    status = run_one(runs, i / 2 % 2 ? i ^ 1 : i, programs, prefix);
  hide_progress();
  return status;
}
