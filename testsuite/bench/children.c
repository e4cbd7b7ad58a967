/* SPDX-License-Identifier: MIT */
/* children.c: loops that run in another program, alternating in rounds with this
 * program's pair of clock reads: guest programs (guest.lua, run by saros), and the same
 * loop with LTTng-UST's tracepoints (lttng_loop.c, in a session that lttng.sh makes).
 *
 * The child reads a line for each round, runs its loops, and writes lines `NAME
 * NANOSECONDS-PER-ITERATION`, and then the line `.`.
 */
#include "bench.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOPS_MAX = 16 };

struct child {
  pid_t pid;
  FILE *to, *from;
  int count;
  char name[LOOPS_MAX][64];
  struct series series[LOOPS_MAX];
  struct series pair; /* this program's pair, in the same rounds */
};

/* ---- The conversation ------------------------------------------------------------- */

static bool start_child(struct child *child, char *const argv[]) {
  int to[2], from[2];
  if (pipe(to) != 0 || pipe(from) != 0) return false;
  child->pid = fork();
  if (child->pid < 0) return false;
  if (child->pid == 0) {
    dup2(to[0], 0);
    dup2(from[1], 1);
    close(to[0]), close(to[1]), close(from[0]), close(from[1]);
    execv(argv[0], argv);
    perror(argv[0]);
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  child->to = fdopen(to[1], "w");
  child->from = fdopen(from[0], "r");
  return child->to && child->from;
}

static int end_child(struct child *child) {
  int status = -1;
  fclose(child->to);
  while (fgetc(child->from) != EOF) continue;
  fclose(child->from);
  waitpid(child->pid, &status, 0);
  return status;
}

static struct series *series_of(struct child *child, const char *name) {
  for (int i = 0; i < child->count; i++)
    if (strcmp(child->name[i], name) == 0) return &child->series[i];
  if (child->count == LOOPS_MAX) return NULL;
  snprintf(child->name[child->count], sizeof child->name[0], "%s", name);
  return &child->series[child->count++];
}

/* Runs one round; `keep` is false for rounds that only warm up. */
static bool one_round(struct child *child, bool keep) {
  char line[128], name[64];
  double ns;
  fputs("round\n", child->to);
  fflush(child->to);
  while (fgets(line, sizeof line, child->from)) {
    if (line[0] == '.') return true;
    char *number = strrchr(line, ' ');
    if (!number || sscanf(number, "%lf", &ns) != 1) continue;
    snprintf(name, sizeof name, "%.*s", (int)(number - line), line);
    struct series *series = keep ? series_of(child, name) : NULL;
    if (series) sample(series, ns);
  }
  return false;
}

/* Runs all rounds, with the pair in turn. Returns false if the child failed. */
static bool converse(struct child *child, char *const argv[]) {
  signal(SIGPIPE, SIG_IGN);
  if (!start_child(child, argv)) return false;
  bool good = true;
  for (int round = -2; good && round < 8 * bench.rounds; round++) {
    if (round >= 0) sample(&child->pair, time_of(bench_pair, NULL));
    good = one_round(child, round >= 0);
  }
  return end_child(child) == 0 && good;
}

static struct series *named(struct child *child, const char *name) {
  for (int i = 0; i < child->count; i++)
    if (strcmp(child->name[i], name) == 0) return &child->series[i];
  return NULL;
}

/* ---- Guest programs --------------------------------------------------------------- */

static void bench_guest(struct child *child) {
  char script[4096];
  snprintf(script, sizeof script, "%s/guest.lua", bench.folder);
  char *argv[] = {(char *)bench.saros, script, NULL};
  setenv("SAROS_EVENTRING_START", "1", 1);
  setenv("SAROS_EVENTRING_PREFIX", bench.disk, 1);
  bool good = converse(child, argv);
  unsetenv("SAROS_EVENTRING_START");
  unsetenv("SAROS_EVENTRING_PREFIX");
  table("A guest program");
  if (!good) remark("%s %s failed", bench.saros, script);
  for (int i = 0; i < child->count; i++) {
    bool callback = strstr(child->name[i], "callback");
    struct row row = {"ns", &child->pair, callback ? NULL : named(child, "empty loop"),
                      callback ? BAR_VALUE : NO_BAR, 120};
    report(&row, &child->series[i], "%s", child->name[i]);
  }
}

/* ---- LTTng-UST -------------------------------------------------------------------- */

static void bench_lttng(struct child *child, const char *mode) {
  char script[4096];
  snprintf(script, sizeof script, "%s/lttng.sh", bench.folder);
  char *argv[] = {"/bin/bash", script, (char *)mode, (char *)bench.lttng, NULL};
  bool good = converse(child, argv);
  table("The same loop with LTTng-UST, session in %s mode", mode);
  if (!good) remark("the session failed");
  struct series *pair = named(child, "pair of bare clock reads");
  for (int i = 0; i < child->count; i++)
    report(&(struct row){"ns", pair, named(child, "empty loop"), NO_BAR, 0}, &child->series[i],
           "%s", child->name[i]);
}

void bench_children(void) {
  struct child *children = calloc(3, sizeof *children);
  if (!children) exit(1);
  if (bench.saros) bench_guest(&children[0]);
  if (bench.lttng) {
    bench_lttng(&children[1], "snapshot");
    bench_lttng(&children[2], "stream");
  }
  free(children);
}
