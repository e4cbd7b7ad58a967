/* SPDX-License-Identifier: MIT */
/* launch.h: runs a PROGRAM that records itself, and finds its recording.
 *
 * The command gets these variables in its environment (PREFIX is SAROS_EVENTRING by
 * default):
 *   PREFIX_START=1       makes it record from its first instruction
 *   PREFIX_PREFIX=DIR    a new directory, where only it and its descendants write: under
 *                        the user's PREFIX_PREFIX if set, else under $TMPDIR or /tmp
 *   PREFIX_PRESERVE=1    keeps the files, so that a very short run is read to its end
 * A PREFIX_STREAM of the user stays: the stream is read where it is, and stays there.
 *
 * The recording that is read belongs to the command's own process, or else is the first
 * recording of a descendant (the command may be a shell script). At the end the files of
 * processes that ended are removed, or moved to where they would have been if the user
 * had asked to preserve them (PREFIX_PRESERVE=1, or =onerror for processes that ended
 * badly). The files of killed processes are kept and named.
 *
 * While the command runs, this process ignores SIGINT, which the terminal sends to the
 * command as well, and passes on SIGTERM and SIGHUP. A process has one command at a time.
 */
#ifndef EVENTRING_TOOL_LAUNCH_H
#define EVENTRING_TOOL_LAUNCH_H

#include <sys/types.h>

#include "eventring/read.h"
#include "tool.h"

struct launch {
  pid_t pid;
  char *command;   /* name of the command, for messages */
  char *directory; /* the new directory, absolute; NULL: started without a prefix */
  char *keep_in;   /* where preserved files and the copies of triggers go */
  bool keeps;      /* whether files are preserved */
  char *stream;    /* PREFIX_STREAM, if the user has set it; the file then belongs to the
                      user */
  char *merged;    /* name of the recording of all processes, if one was made */
  int base_fd;     /* descriptor of the parent of the new directory */
  int fd;          /* descriptor of the new directory; its path may lead elsewhere
                      later */
  bool only_bad;   /* only files of processes that ended badly are preserved */
  bool forks;      /* children that are forked record as well */
  bool merges_silently; /* launch_merge does not print how many recordings there are */
  bool ended;
  int status;      /* status from waitpid, once `ended` */
};

/* Sets another variable of the program: for the prefix SAROS_EVENTRING and "PROFILE",
   SAROS_PROFILE. If `replace`, sets it even if the user has set it. */
void launch_set_sibling(const char *prefix, const char *name, const char *value, bool replace);
/* Makes commands that are started later record the classes of this list, too: adds the
   list to PREFIX_CLASSES in the environment of this process, or to the defaults. */
void launch_add_classes(const char *prefix, const char *list);

/* Starts the command. Returns STATUS_GO_ON if it runs; else the exit status: 1 after an
   error of this program, 126 if the command cannot be executed, 127 if there is none. If
   `prefix` is NULL, its environment stays, and it records only if the environment says
   so. If `forks`, PREFIX_FORK=1 is set too, so that children that the command forks
   record as well. */
int launch_start(struct launch *launch, char **command, const char *prefix, bool forks);

/* Makes the processes that the command leaves behind children of this process. To be
   called before launch_start. */
void launch_adopt(void);
/* Reaps the processes left behind that have ended, and the command. Returns whether any
   process is left. */
bool launch_reap_all(struct launch *launch);

/* Calls `visit` with the path of each *.eventring in a directory until one returns true.
   Returns whether one did. */
bool each_recording(const char *directory, bool (*visit)(void *, const char *), void *context);

/* Opens the command's recording, waiting until there is one. Returns STATUS_GO_ON, or the
   exit status if there will be none. */
int launch_open(struct launch *launch, eventring_cursor **cursor, unsigned flags);

/* Merges the recordings of the command into one in the new directory, if the command has
   ended and several of its processes have recorded, or one of them several times (by
   exec). Returns the path, which the caller frees. Returns NULL if there is only one
   recording, the command still runs, or merging failed. Sets *failed, after a message, if
   the recording is incomplete or missing. launch_finish removes the file. `but` is a
   recording that was read and is left out; if only one other recording remains, returns
   its path. */
char *launch_merge(struct launch *launch, const struct eventring_info *but, bool *failed);

/* Returns the paths of the existing recordings, of processes that run or have ended, in a
   new array that ends with NULL. The caller frees the array and each path. */
char **launch_recordings(struct launch *launch);

/* Makes a new file without a name beside the recordings. Returns its descriptor, or -1
   after a message. */
int launch_scratch(struct launch *launch);

/* Checks whether the command has ended, and stores its status. (It must be called now and
   then: a process that nobody has waited for looks alive.) */
void launch_check(struct launch *launch);

/* Waits for the end of the command, and clears up. Returns its exit status, or 128 + the
   number of the signal that ended it. */
int launch_finish(struct launch *launch);

#endif
