/* SPDX-License-Identifier: MIT */
/* eventring_bench.c: what recording and reading cost, compared with a pair of bare clock
 * reads and the limits that the project has set itself.
 *
 *   eventring_bench [--json] [--rounds=N] [--only=PART] [--disk=DIRECTORY]
 *                   [--shm=DIRECTORY] [--saros=PROGRAM] [--folder=testsuite/bench]
 *                   [--lttng=PROGRAM] [--brief]
 *
 * Parts: probes, writers, reading, streams, starting, children (guest programs,
 * LTTng-UST). --rounds (default 5) scales how often everything is repeated. Loops that
 * are compared are run in turn. Without --saros there are no guest programs, without
 * --lttng no LTTng-UST. --brief shortens the streams, which otherwise write 16 GiB; the
 * figures then mean nothing, and only show that all parts run. `make bench` runs all of
 * them; doc/PERFORMANCE.md has the figures.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options bench = {.rounds = 5, .disk = ".", .folder = "."};

static const struct {
  const char *name;
  void (*run)(void);
} parts[] = {{"probes", bench_probes},
             {"writers", bench_writers},
             {"reading", bench_reading},
             {"streams", bench_streams},
             {"starting", bench_starting},
             {"children", bench_children}};

static const char *only;

static _Noreturn void usage(void) {
  fprintf(stderr, "usage: eventring_bench [--json] [--rounds=N] [--only=PART] [--disk=DIRECTORY]\n"
                  "  [--shm=DIRECTORY] [--saros=PROGRAM] [--folder=DIRECTORY] [--lttng=PROGRAM]\n"
                  "  [--brief]\n");
  exit(2);
}

static void read_option(const char *argument) {
  static const struct { const char *name; const char **to; } texts[] = {
      {"--only=", &only},          {"--disk=", &bench.disk},     {"--shm=", &bench.shm},
      {"--saros=", &bench.saros},  {"--folder=", &bench.folder}, {"--lttng=", &bench.lttng}};
  if (strcmp(argument, "--json") == 0) {
    output_json();
    return;
  }
  if (strcmp(argument, "--brief") == 0) {
    bench.brief = true;
    return;
  }
  if (strncmp(argument, "--rounds=", 9) == 0) {
    bench.rounds = atoi(argument + 9);
    if (bench.rounds < 1 || bench.rounds > 50) usage();
    return;
  }
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    size_t size = strlen(texts[i].name);
    if (strncmp(argument, texts[i].name, size) != 0) continue;
    *texts[i].to = argument + size;
    return;
  }
  usage();
}

int main(int argc, char **argv) {
  static char self[4096];
  bool any = false;
  if (argc > 1 && strcmp(argv[1], "--trivial") == 0) return trivial_program(argc, argv);
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 1;
  bench.self = self;
  bench.shm = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NULL;
  for (int i = 1; i < argc; i++) read_option(argv[i]);
  register_events();
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (!only || strcmp(only, parts[i].name) == 0) {
      parts[i].run();
      any = true;
    }
  if (!any) usage();
  output_end();
  return 0;
}
