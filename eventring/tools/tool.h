/* SPDX-License-Identifier: MIT */
/* tool.h: shared declarations of the `eventring` command.
 *
 * The command is built on eventring.h alone: it knows nothing of the format.
 *
 *   eventring.c   chooses the subcommand (commands.def); tool.c: messages, memory
 *   options.c     parses its words
 *   cmd_*.c       one subcommand each: options, then the work
 *   reader.c      opens a PID, a FILE or a PROGRAM and reads it to its end
 *   launch.c      starts a PROGRAM that records itself
 *   recorder.c    keeps a recording in files (output.c, file_names.c), through writer/
 *   group.c       records several processes, each with a recorder
 *   command_fifo.c  obeys what is written into the FIFO of a recorder
 *   tally_views.c shows what ../analysis/tally.c counted
 *   view.c        one table per view: its text, JSON, CSV, JSON Schema; text_table.c:
 *                 aligned tables
 *   top_*.c       the screen and the lines of `top`: processes, and commands in children
 *   shared_views.c   views that several commands include
 *
 * What several tools need to compute or to write (statistics, units, JSON, names) is in
 * libanalysis.a, ../analysis/.
 */
#ifndef EVENTRING_TOOL_H
#define EVENTRING_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "eventring/types.h"

/* Exit statuses of the command. A step of a command that ends it (with help, a usage
   error, a failure after its message) returns the exit status; any other step returns
   STATUS_GO_ON. */
enum {
  STATUS_GO_ON = -1,
  STATUS_OK = 0,
  STATUS_WRONG = 1, /* the subject is wrong: corrupt, not found ... */
  STATUS_USAGE = 2, /* the words of the command are wrong */
  STATUS_FAILED = 3 /* a rule does not hold */
};

/* Tells whether the command goes on after a step that returned this, as there is no exit
   status yet. */
static inline bool goes_on(int status) { return status == STATUS_GO_ON; }

/* Runs the command of this process. Returns its exit status. */
int run_command_line(int argc, char **argv);
/* Runs the command again, for FILE instead of `-- PROGRAM...'. Returns its exit
   status. */
int run_of_file(const char *file);
/* The words of this process, COMMAND first, and the words of PROGRAM among them, or NULL.
   They stay the same when the command is run for a FILE instead. */
struct command_line {
  int count;
  char **words, **program;
};
const struct command_line *command_line(void);
/* Ends this process as its command would end it with this status. */
_Noreturn void end_command(int status);

/* A subcommand. `run` gets the words after its name and returns the status. */
struct command {
  const char *name;
  const char *synopsis; /* its operands */
  const char *summary;
  int (*run)(const struct command *self, int count, char **words);
};

/* Writes "eventring: ...\n" to stderr. What a terminal would act on (in names of files,
   or from files) is shown as \xNN. Returns false; `wrong` returns STATUS_WRONG. */
bool complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
int wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Sets what writes the output that a command keeps in memory besides that of the stream:
   before each message, `write` is called with `output`, and then the stream is flushed.
   NULL: there is no such output. */
void write_before_messages(void (*write)(void *output), void *output);
/* Tells whether there is a terminal, so that a user can press ^C. */
bool someone_can_interrupt(void);
/* Returns for how long to watch a live process, in ns; 0 means until it ends. This is the
   given time. If no time is given and no user can interrupt, returns 10 s, after a
   message. */
uint64_t watch_limit(uint64_t asked_ns);
/* Reports what was not copied from a recording. */
void complain_damaged(uint64_t blocks);

/* Writes foreign text: names and payloads of a recording, paths, words of the command
   line. All such text is written by this function, by complain or in a table
   (text_table.h): what a terminal would act on is shown as \xNN (eventring_printable).
   `size`: any number of bytes. */
void print_foreign(FILE *out, const void *text, size_t size);
void print_foreign_text(FILE *out, const char *text);

/* Shows a line on standard error, if that is a terminal, cut at 79 bytes, in place of the
   previous one; hide_progress and complain remove it. Any thread. */
void show_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void hide_progress(void);

/* The errno of a failed write to standard output, for the message at the end; 0: none.
   The code that notices the failure stores it at once. */
extern int output_errno;

/* Ends the command with status 1 and a message that it is out of memory. The functions
   below are calloc, realloc and strdup, but do this if they fail. */
void no_memory(void) __attribute__((noreturn));
void *need_zeroed(size_t count, size_t size);
void *need_resized(void *memory, size_t count, size_t size);
char *need_copy(const char *text);
/* Adds an element to an array of `count` and returns its address. The element is not set.
   The array must grow only by this, as it has room for the next power of two. (The count
   may fall.) */
#define NEED_NEXT(array, count) \
  ((array) = need_next(array, count, sizeof *(array)), &(array)[(count)++])
void *need_next(void *array, size_t count, size_t size);

#endif
