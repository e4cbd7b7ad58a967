/* SPDX-License-Identifier: MIT */
/* eventring.c: the `eventring` command: picks the subcommand. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
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
        "`eventring COMMAND --help` shows the options of a command;\n"
        "`eventring --version` the version.\n"
        "\n"
        "Exit status: 0; 1 when what was asked about is wrong (a corrupt file, no\n"
        "such process); 2 on wrong usage. `-- PROGRAM` passes on the status of\n"
        "PROGRAM.\n",
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

static int no_command(const char *name) {
  struct eva_nearest nearest;
  eva_nearest_begin(&nearest, name, strlen(name));
  for (int i = 0; i < COMMANDS; i++) eva_nearest_try(&nearest, commands[i].name);
  if (nearest.word)
    complain("no command `%s'; did you mean `%s'? (see `eventring --help')", name, nearest.word);
  else
    complain("no command `%s'; `eventring --help' lists them", name);
  return STATUS_USAGE;
}

static int run(int count, char **words) {
  if (count == 0) {
    print_help(stderr);
    return STATUS_USAGE;
  }
  if (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0 ||
      strcmp(words[0], "help") == 0) {
    print_help(stdout);
    return STATUS_OK;
  }
  if (strcmp(words[0], "--version") == 0) {
    print_version();
    return STATUS_OK;
  }
  const struct command *command = command_named(words[0]);
  if (!command) return no_command(words[0]);
  return command->run(command, count - 1, words + 1);
}

/* A failed write is an error: a full disk must not look like a short recording. EPIPE is
   none: the program that read the output closed it. */
static int check_output(int status) {
  if (fflush(stdout) != 0 && !output_errno) output_errno = errno;
  if (!ferror(stdout) || output_errno == EPIPE) return status;
  complain("cannot write to standard output: %s",
           strerror(output_errno ? output_errno : EIO));
  return status == STATUS_OK ? STATUS_WRONG : status;
}

int main(int argc, char **argv) {
  setlocale(LC_CTYPE, "");
  return check_output(run(argc - 1, argv + 1));
}
