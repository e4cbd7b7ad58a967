/* SPDX-License-Identifier: MIT */
/* follow.h: reads the recording of a PID, of a FILE or of a PROGRAM to its end.
 *
 * Between polls it sleeps in eventring_wait, which keeps up with the producer.
 *
 * Errors of the file are reported once each; reading goes on where the library can
 * (analysis/read.h): one poll may deliver a part of what is there.
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

/* Opens the recording of `pid_or_file`; of a process that has ended, that which it has
   left (dead.h), and says so. -1, or the exit status. */
int reader_open_target(struct reader *reader, const char *pid_or_file,
                       unsigned flags);
/* The same without what others have left. */
int reader_open_present(struct reader *reader, const char *pid_or_file, unsigned flags);
/* As reader_open_target, of a subcommand's operands, launching the command if there is
   one; `prefix` begins the names of the environment variables of its recording. */
int reader_open(struct reader *reader, const struct operands *operands,
                const char *prefix, unsigned flags);

/* The number of the process that commands of this machine take, as far as it is known:
   that by which the recording was found, else the one in the file. */
pid_t pid_here(const struct eventring_info *info);
/* "4711", or "4711 (2 in its container)" if it has another number there; "(several)" of a
   recording made of others. Returns `text`. */
enum { PROCESS_TEXT = 64 };
char *process_text(char text[PROCESS_TEXT], const struct eventring_info *info);

/* Says on standard error that control words were, or will be, ignored, or that the gate
   is not what they ask for. */
void complain_of_control(const struct eventring_info *info);

/* Says on standard error that the recording ended because its file was deleted, if it
   did. */
void tell_of_deletion(eventring_cursor *cursor);

struct reading {
  const struct eventring_callbacks *callbacks;
  void *context;
  bool follow;         /* until the recording ends, instead of what there is */
  uint64_t limit_ns;   /* when following: for at most this long; 0: no limit */
  uint64_t until;      /* to this time of the recording, also when following; UINT64_MAX: to
                          its end. The first event after that is delivered, too. The cursor
                          is merged if it is not UINT64_MAX */
  /* after events came, with what has been read so far; may be NULL */
  void (*after_poll)(void *context, const struct eventring_totals *totals);
};

/* Reads; SIGINT and SIGTERM end the following of a process that this command did not
   launch. */
void reader_run(struct reader *reader, const struct reading *reading);
/* The same in a thread, one for each reader, and without care of signals: whoever starts
   the threads lets SIGINT and SIGTERM end the reading of all, while `on`. */
void reader_read(struct reader *reader, const struct reading *reading);
void reader_catch_signals(bool on);
/* For callbacks: ends the reading after this event (return 1 as well). */
void reader_stop(void);
/* Has reader_stop been called, or has a signal come? */
bool reader_is_stopped(void);

/* After all of it was read: if several processes of a launched command have recorded, or
   one several times, the path of one recording of all, to be freed (launch_merge); else
   NULL. */
char *reader_merge(struct reader *reader);
/* Reads on in this recording. False after a message, which counts as an error of the
   file. */
bool reader_go_on_in(struct reader *reader, const char *path, unsigned flags);
/* For what has told already what it has read: if other processes have recorded, too,
   reads on in one recording of these. False: there are none. */
bool reader_go_on_in_others(struct reader *reader);

/* Closes; of a launched command waits for its end. Returns the exit status:
   that of the command if it is not 0, else 1 when `status` is or when the file
   had an error. */
int reader_close(struct reader *reader, int status);

#endif
