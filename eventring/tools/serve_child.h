/* SPDX-License-Identifier: MIT */
/* serve_child.h: runs a command of `eventring` for a request of `eventring serve`, in a
 * process of its own: what goes wrong there harms no other request. */
#ifndef EVENTRING_TOOL_SERVE_CHILD_H
#define EVENTRING_TOOL_SERVE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVE_MESSAGE = 2048 };

struct serve_child {
  int status;                  /* exit status; -1: it did not end by itself */
  bool late;                   /* it took longer than it may, and was ended */
  char message[SERVE_MESSAGE]; /* what it wrote to standard error, as far as it has room */
};

/* Runs `words`, which ends with a NULL and begins with the name of the command, with
   `out` as its standard output, for at most limit_ns, and not longer than until `*stop`
   is true. It ends with the thread that calls this. False: it could not be started
   (errno). Any thread. */
bool serve_child_run(struct serve_child *child, const char *const *words, int out,
                     uint64_t limit_ns, const bool *stop);

/* A command whose output is read while it runs. */
struct serve_stream {
  int pid; /* 0: it was not started, or has ended */
  int fd;  /* of its standard output */
};

/* Starts it, without standard error. It ends with the thread that calls this. False: it
   could not be started (errno). */
bool serve_stream_begin(struct serve_stream *stream, const char *const *words);
/* Waits for output until `*stop` is true. Bytes that were read into `bytes`; 0: there
   will be no more. */
size_t serve_stream_read(struct serve_stream *stream, char *bytes, size_t room, const bool *stop);
/* Ends the command. One that was not begun: nothing. */
void serve_stream_end(struct serve_stream *stream);

#endif
