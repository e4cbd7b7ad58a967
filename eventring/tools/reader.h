/* SPDX-License-Identifier: MIT */
/* reader.h: reads the recording of a PID, of a FILE or of a PROGRAM to its end.
 *
 * Between polls it sleeps in eventring_wait, which keeps up with the producer.
 *
 * Each error of the file is reported once. Reading goes on where the library can
 * (analysis/read_all.h), so one poll may deliver only a part.
 */
#ifndef EVENTRING_TOOL_READER_H
#define EVENTRING_TOOL_READER_H

#include "launch.h"
#include "options.h"

struct reader {
  eventring_cursor *cursor;
  bool launched;
  struct launch launch;
  bool failed; /* the file has an error, which was reported */
};

/* Opens the recording of `pid_or_file`. If the process has ended, opens the recording
   that the process has left (dead.h), and prints that it does so. Returns STATUS_GO_ON,
   or the exit status. */
int reader_open_target(struct reader *reader, const char *pid_or_file,
                       unsigned flags);
/* Opens the recording of `pid_or_file`, but not a recording that an ended process has
   left. Returns STATUS_GO_ON, or the exit status. */
int reader_open_present(struct reader *reader, const char *pid_or_file, unsigned flags);
/* Opens a recording as reader_open_target does, for a subcommand's operands; launches
   the command if there is one. `prefix` begins the names of the environment variables
   of its recording. */
int reader_open(struct reader *reader, const struct operands *operands,
                const char *prefix, unsigned flags);

/* Returns the pid that commands on this machine take, as far as known: the pid by which
   the recording was found, else the pid in the file. */
pid_t pid_here(const struct eventring_info *info);
/* Writes "4711", or "4711 (2 in its container)" if the process has another number in its
   container, or "(several)" for a merged recording. Returns `text`. */
enum { PROCESS_TEXT = 64 };
char *process_text(char text[PROCESS_TEXT], const struct eventring_info *info);

/* Prints on standard error that control words were or will be ignored, or that the gate
   differs from what the control words ask for. */
void complain_of_control(const struct eventring_info *info);

/* Prints on standard error that the recording ended because its file was deleted, if it
   ended for that reason. */
void tell_of_deletion(eventring_cursor *cursor);

struct reading {
  const struct eventring_callbacks *callbacks;
  void *context;
  bool follow;         /* read to the end of the recording, not only what exists now */
  uint64_t limit_ns;   /* most ns to follow; 0 if there is no limit */
  /* last time of the recording to read, also when following; UINT64_MAX: to its end. The
     first event after that time is delivered, too. The cursor must be merged, except with
     UINT64_MAX. */
  uint64_t until;
  /* called after events came, with what has been read so far; may be NULL */
  void (*after_poll)(void *context, const struct eventring_totals *totals);
};

/* Reads a recording. SIGINT and SIGTERM end the following of a process, unless this
   command has launched it. */
void reader_run(struct reader *reader, const struct reading *reading);
/* Reads a recording in a thread, one for each reader, without handling of signals: the
   main thread calls reader_catch_signals. */
void reader_read(struct reader *reader, const struct reading *reading);
/* Makes SIGINT, SIGTERM and SIGHUP end the reading of all threads, while `on`. */
void reader_catch_signals(bool on);
/* Ends the reading after this event; for callbacks, which must return 1 as well. */
void reader_stop(void);
/* Tells whether reader_stop was called or a signal has come. */
bool reader_is_stopped(void);

/* Returns the path of one recording of all processes (launch_merge), if several processes
   of a launched command have recorded, or one of them several times; else NULL. To be
   called when the recording was read; the caller frees the path. */
char *reader_merge(struct reader *reader);
/* Makes the reader go on in this recording. Returns false after a message, which counts
   as an error of the file. */
bool reader_go_on_in(struct reader *reader, const char *path, unsigned flags);
/* Makes the reader go on in one recording of all other processes, for a caller that has
   already shown what it read. Returns false if there are none. */
bool reader_go_on_in_others(struct reader *reader);

/* Closes the reader, and waits for the end of a launched command. Returns the exit
   status: the command's status if that is not 0; else `status`, or 1 if `status` is 0 and
   the file had an error. */
int reader_close(struct reader *reader, int status);

#endif
