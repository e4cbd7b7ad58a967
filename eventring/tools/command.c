/* SPDX-License-Identifier: MIT */
/* command.c: the `eventring` command: chooses the subcommand, runs it, and ends. */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/nearest.h"
#include "tool.h"

#define COMMAND(name, synopsis, summary) \
  int command_##name(const struct command *self, int count, char **words);
#include "commands.def"
#undef COMMAND

static const struct command commands[] = {
#define COMMAND(name, synopsis, summary) \
  {#name, synopsis, summary, command_##name},
#include "commands.def"
#undef COMMAND
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_help(FILE *out) {
  fputs("Usage: eventring COMMAND [OPTIONS] ...\n"
        "\n"
        "Reads the .eventring files in which programs record what they do.\n"
        "\n"
        "Commands:\n",
        out);
  for (int i = 0; i < COMMANDS; i++)
    fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
  fputs("\n"
        "PID is a live process that records; FILE a recording of a live process,\n"
        "one that a dead process left behind, or a saved copy.\n"
        "`eventring help COMMAND` shows the options of a command;\n"
        "`eventring --version` the version.\n"
        "\n"
        "Exit status: 0; 1 when what was asked about is wrong (a corrupt file, no\n"
        "such process); 2 on wrong usage; 3 where a rule of `check` does not hold.\n"
        "`-- PROGRAM` passes on the status of PROGRAM.\n",
        out);
}

static void print_version(void) {
  unsigned version = eventring_library_version();
  printf("eventring %d.%d.%d (library %u.%u.%u)\n", EVENTRING_VERSION_MAJOR,
         EVENTRING_VERSION_MINOR, EVENTRING_VERSION_PATCH, version / 10000,
         version / 100 % 100, version % 100);
}

static const struct command *command_named(const char *name) {
  for (int i = 0; i < COMMANDS; i++)
    if (strcmp(commands[i].name, name) == 0) return &commands[i];
  return NULL;
}

/* Tells whether a word in the place of a command is a number or a recording's file. */
static bool is_recording(const char *name) {
  const char *dot = strrchr(name, '.');
  return strspn(name, "0123456789") == strlen(name) || (dot && strcmp(dot, ".eventring") == 0);
}

static int no_command(const char *name) {
  struct eva_nearest nearest;
  if (name[0] && is_recording(name)) {
    complain("`%s' is no command; of a recording, try `eventring stats %s' or `eventring view %s'",
             name, name, name);
    return STATUS_USAGE;
  }
  eva_nearest_begin(&nearest, name, strlen(name));
  for (int i = 0; i < COMMANDS; i++) eva_nearest_try(&nearest, commands[i].name);
  if (nearest.word)
    complain("no command `%s'; did you mean `%s'? (see `eventring --help')", name, nearest.word);
  else
    complain("no command `%s'; `eventring --help' lists them", name);
  return STATUS_USAGE;
}

/* Runs `help COMMAND', which is `COMMAND --help'. */
static int run_help(int count, char **words) {
  char option[] = "--help", *help[] = {option, NULL};
  const struct command *command = count > 0 ? command_named(words[0]) : NULL;
  if (command) return command->run(command, 1, help);
  if (count > 0) return no_command(words[0]);
  print_help(stdout);
  return STATUS_OK;
}

static int run(int count, char **words) {
  if (count == 0) {
    print_help(stderr);
    return STATUS_USAGE;
  }
  if (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0 ||
      strcmp(words[0], "help") == 0)
    return run_help(count - 1, words + 1);
  if (strcmp(words[0], "--version") == 0) {
    print_version();
    return STATUS_OK;
  }
  const struct command *command = command_named(words[0]);
  if (!command) return no_command(words[0]);
  return command->run(command, count - 1, words + 1);
}

/* Returns the exit status. A failed write is an error, since a full disk must not look
   like a short recording. EPIPE is no error, since the reader of the output has closed
   it. */
static int check_output(int status) {
  if (fflush(stdout) != 0 && !output_errno) output_errno = errno;
  if (!ferror(stdout) || output_errno == EPIPE) return status;
  complain("cannot write to standard output: %s",
           strerror(output_errno ? output_errno : EIO));
  return status == STATUS_OK ? STATUS_WRONG : status;
}

static void on_limit(int number) { (void)number; }

/* Makes a write beyond the limit on sizes (`ulimit -f`) fail with an error. Otherwise the
   signal would end the command, and a part of the file would stay. Programs that are
   started do not inherit a handler, unlike an ignored signal. */
static void fail_at_file_limit(void) {
  struct sigaction now, action = {.sa_handler = on_limit};
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGXFSZ, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
    sigaction(SIGXFSZ, &action, NULL);
}

static struct command_line line;

const struct command_line *command_line(void) { return &line; }

static void take_line(int count, char **words) {
  int before = 0;
  while (before < count && strcmp(words[before], "--") != 0) before++;
  line = (struct command_line){count, words, before < count ? words + before + 1 : NULL};
}

int run_of_file(const char *file) {
  const int count = (int)(line.program - line.words) - 1;
  char **words = need_zeroed((size_t)count + 2, sizeof *words);
  memcpy(words, line.words, (size_t)count * sizeof *words);
  words[count] = need_copy(file);
  int status = run(count + 1, words);
  free(words[count]);
  free(words);
  return status;
}

void end_command(int status) { exit(check_output(status)); }

int run_command_line(int argc, char **argv) {
  fail_at_file_limit();
  signal(SIGCHLD, SIG_DFL); /* where it is ignored, children cannot be waited for */
  setlocale(LC_CTYPE, "");
  take_line(argc - 1, argv + 1);
  return check_output(run(line.count, line.words));
}
