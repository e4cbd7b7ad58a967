/* SPDX-License-Identifier: MIT */
/* cmd_metrics.c: `eventring metrics`: writes the metrics of the recordings of live
 * processes, for Prometheus.
 *
 * A new file is made beside the old one and replaces it when it is complete. So a program
 * that scrapes it, such as the textfile collector of node_exporter, never reads a
 * part. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/now.h"
#include "gather.h"
#include "new_file.h"
#include "reader.h"

struct metrics_options {
  const char *path; /* "-": standard output */
  uint64_t every_ns;
  uint64_t most_names;
  bool openmetrics;
};

struct gathering {
  struct metrics_options options;
  struct live_processes live;
  struct metrics *metrics;
  bool said; /* it was reported that a recording is unreadable; reset when it is readable
                again */
};

static bool gather(struct gathering *g, FILE *out) {
  bool all = gather_metrics(&g->live, g->metrics, out,
                            g->options.openmetrics ? METRICS_OPENMETRICS : METRICS_PROMETHEUS,
                            !g->said);
  g->said = !all;
  return all;
}

/* Makes the file readable for everyone to whom the umask gives new files, since the
   collector runs as another user. (The file was created for its owner alone.) */
static void let_others_read(int fd) {
  const mode_t mask = umask(0);
  umask(mask);
  if (fchmod(fd, 0644 & ~mask) != 0) complain("%s", strerror(errno));
}

/* Writes a new file that replaces the old one. Returns a status. */
static int write_file(struct gathering *g) {
  struct new_file file;
  int fd = new_file_replace(&file, g->options.path);
  if (fd < 0) return STATUS_WRONG;
  let_others_read(fd);
  FILE *out = fdopen(fd, "w");
  if (!out) no_memory();
  bool all = gather(g, out);
  bool failed = ferror(out) != 0;
  int error = errno;
  if (fclose(out) != 0 && !failed) {
    failed = true;
    error = errno;
  }
  if (failed) {
    new_file_drop(&file);
    return wrong("%s: %s", g->options.path, strerror(error));
  }
  if (!new_file_keep(&file)) return STATUS_WRONG;
  return all ? STATUS_OK : STATUS_WRONG;
}

static int write_once(struct gathering *g) {
  live_refresh(&g->live);
  if (!is_standard_output(g->options.path)) return write_file(g);
  bool all = gather(g, stdout);
  if (fflush(stdout) != 0) output_errno = errno;
  return all ? STATUS_OK : STATUS_WRONG;
}

/* Reports the named processes that do not record. Returns a status. */
static int check_named(const struct live_processes *live) {
  int status = STATUS_OK;
  for (size_t i = 0; i < live->only_count; i++) {
    bool found = false;
    for (size_t j = 0; j < live->count; j++)
      found |= live->list[j].pid == live->only[i] && live->list[j].cursor;
    if (!found) status = wrong("process %ld does not record", (long)live->only[i]);
  }
  return status;
}

/* Writes the file again and again until SIGINT or SIGTERM. Then removes it, since its
   figures would soon be wrong. */
static int write_again(struct gathering *g) {
  uint64_t next = now_ns();
  int status = STATUS_OK;
  reader_catch_signals(true);
  while (!reader_is_stopped() && !ferror(stdout)) {
    status = write_once(g);
    next += g->options.every_ns;
    uint64_t now = now_ns();
    if (next < now) next = now; /* this process was late, or was stopped */
    const struct timespec until = {.tv_sec = (time_t)(next / 1000000000),
                                   .tv_nsec = (long)(next % 1000000000)};
    while (!reader_is_stopped() &&
           clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {}
  }
  reader_catch_signals(false);
  struct stat st;
  if (!is_standard_output(g->options.path) && lstat(g->options.path, &st) == 0 &&
      S_ISREG(st.st_mode) && unlink(g->options.path) != 0)
    status = wrong("%s: %s", g->options.path, strerror(errno));
  return status;
}

static int take_pids(const struct command *self, const struct operands *operands, pid_t **pids) {
  *pids = need_zeroed(operands->count + 1, sizeof **pids);
  for (size_t i = 0; i < operands->count; i++)
    if (!read_process_number(operands->words[i], &(*pids)[i]))
      return usage_error(self,
                         "`%s' is no process: metrics are those of live processes (export --to "
                         "openmetrics writes those of a FILE)",
                         operands->words[i]);
  return STATUS_GO_ON;
}

static int run(struct gathering *g) {
  g->metrics = metrics_new((unsigned)g->options.most_names);
  if (!g->metrics) no_memory();
  int status = g->options.every_ns ? write_again(g) : write_once(g);
  if (!g->options.every_ns && status == STATUS_OK) status = check_named(&g->live);
  metrics_free(g->metrics);
  live_free(&g->live);
  return status;
}

int command_metrics(const struct command *self, int count, char **words) {
  struct gathering g = {.options = {.path = "-", .most_names = METRICS_NAMES}};
  struct operands operands;
  const struct option_spec specs[] = {
      {"output", 'o', OPTION_TEXT, &g.options.path, "FILE",
       "write to FILE, which is replaced at once, not to standard output"},
      {"every", 'e', OPTION_SECONDS, &g.options.every_ns, "N",
       "again each N seconds; when this ends, FILE is removed"},
      {"openmetrics", 0, OPTION_FLAG, &g.options.openmetrics, NULL,
       "the format OpenMetrics, not Prometheus' own"},
      {"max-series", 0, OPTION_BETWEEN,
       BETWEEN(&g.options.most_names, 0, EVENTRING_MAX_EVENTS), "N",
       "at most N names of a process have series of their own (1000); the others are added up as "
       "`(other)'"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  if (!goes_on(status)) return status;
  if (operands.command) return usage_error(self, "cannot launch a command");
  pid_t *pids = NULL;
  status = take_pids(self, &operands, &pids);
  if (operands.count) g.live.only = pids;
  g.live.only_count = operands.count;
  if (goes_on(status)) status = run(&g);
  free(pids);
  return status;
}
