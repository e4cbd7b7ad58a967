/* SPDX-License-Identifier: MIT */
/* launch.h: runs a PROGRAM that records itself, and finds its recording.
 *
 * The command gets these in its environment (PREFIX is SAROS_EVENTRING by default):
 *   PREFIX_START=1       so that it records from its first instruction
 *   PREFIX_PREFIX=DIR    a new directory, where only it and its descendants write: under
 *                        the user's PREFIX_PREFIX if set, else under $TMPDIR or /tmp
 *   PREFIX_PRESERVE=1    so that even a very short run is read to its last event
 * A PREFIX_STREAM of the user stays: the stream is read where it is, and stays there.
 *
 * The recording that is read is that of the command's own process or else the first of a
 * descendant (the command may be a shell script). At the end the files of processes that
 * ended are removed, or moved to where they would have been if the user had asked to
 * preserve them (PREFIX_PRESERVE=1, or =onerror for those that ended badly); those of
 * processes that were killed are kept and named.
 *
 * While the command runs SIGINT is left to it (the terminal sends it one too),
 * SIGTERM and SIGHUP are passed on. A process has one command at a time.
 */
#ifndef EVENTRING_TOOL_LAUNCH_H
#define EVENTRING_TOOL_LAUNCH_H

#include <sys/types.h>

#include "eventring/read.h"
#include "tool.h"

struct launch {
  pid_t pid;
  char *command;   /* its name, for messages */
  char *directory; /* the new one, absolute; NULL: started without a prefix */
  char *keep_in;   /* where preserved files go, and copies that triggers have saved */
  bool keeps;      /* files are preserved */
  char *stream;    /* PREFIX_STREAM, if the user has set it: the file is the user's then */
  char *merged;    /* name of a recording of all processes, if it was made */
  int base_fd;     /* open: what the new one is in */
  int fd;          /* open: the new one; what has its path later is not cleared */
  bool only_bad;   /* of processes that ended badly */
  bool forks;      /* children that are forked record as well */
  bool merges_silently; /* launch_merge does not say how many recordings there are */
  bool ended;
  int status;      /* of waitpid, once ended */
};

/* Sets another variable of the program whose recording has `prefix`: SAROS_EVENTRING,
   "PROFILE": SAROS_PROFILE. `replace`: also if the user has set it. */
void launch_set_sibling(const char *prefix, const char *name, const char *value, bool replace);
/* Lets commands that are started later record the classes of this list, too:
   PREFIX_CLASSES, in the environment of this process, is that of the user or the
   defaults, and these. */
void launch_add_classes(const char *prefix, const char *list);

/* Starts the command. -1 when it runs; else the exit status: 1 after an error of
   this program, 126 when the command cannot be executed, 127 when there is none.
   `prefix` NULL: its environment stays, and it records only if that says so.
   `forks`: PREFIX_FORK=1 too, so that children that it forks record as well. */
int launch_start(struct launch *launch, char **command, const char *prefix, bool forks);

/* What the command leaves behind when it ends becomes a child of this process (before
   launch_start); takes back those of them that have ended, and the command. Returns
   whether any process is left. */
void launch_adopt(void);
bool launch_reap_all(struct launch *launch);

/* Calls `visit` with the path of each *.eventring in a directory until one returns true;
   whether one did. */
bool each_recording(const char *directory, bool (*visit)(void *, const char *), void *context);

/* Opens its recording, waiting until there is one. -1, or the exit status when
   there is none to come. */
int launch_open(struct launch *launch, eventring_cursor **cursor, unsigned flags);

/* When it has ended, and several processes of it, or one several times (by exec), have
   recorded: makes one recording of all, in the new directory; its path, to be freed.
   NULL: there is but one, or the command still runs, or it failed. *failed is set after a
   message that something is missing in it, or that there is none. launch_finish removes
   it. `but`: of all but the recording of this process and start, which has been read; if
   that is one, its own path. */
char *launch_merge(struct launch *launch, const struct eventring_info *but, bool *failed);

/* The paths of the recordings that are there, of processes that run or have ended, in a
   new array with a NULL at its end; it and each of them is to be freed. */
char **launch_recordings(struct launch *launch);

/* A new file without a name beside the recordings: its descriptor, -1 after a message. */
int launch_scratch(struct launch *launch);

/* Takes note of the command's end, if it has come (must be called now and then:
   a process not waited for looks alive). */
void launch_check(struct launch *launch);

/* Waits for the end, clears up; returns the command's exit status, 128 + the
   number of the signal that ended it. */
int launch_finish(struct launch *launch);

#endif
