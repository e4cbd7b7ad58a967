/* SPDX-License-Identifier: MIT */
/* serve_child.h: runs a command of `eventring` for a request of `eventring serve`, in a
 * process of its own, so that an error there affects no other request. */
#ifndef EVENTRING_TOOL_SERVE_CHILD_H
#define EVENTRING_TOOL_SERVE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVE_MESSAGE = 2048 };

struct serve_child {
  int status;                  /* exit status of the command; -1 if it did not end by
                                  itself */
  bool late;                   /* the command took too long, and was ended */
  char message[SERVE_MESSAGE]; /* the command's standard error, as far as there is room */
};

/* Runs `words`, the name of the command and its words up to a NULL, with `out` as
   standard output. Ends it after limit_ns, when `*stop` is true, or with the calling
   thread. Returns false if it could not be started (errno). Any thread. */
bool serve_child_run(struct serve_child *child, const char *const *words, int out,
                     uint64_t limit_ns, const bool *stop);

/* A command whose output is read while it runs. */
struct serve_stream {
  int pid; /* 0: not started, or ended */
  int fd;  /* descriptor of its standard output */
};

/* Starts a command, without standard error. It ends with the calling thread. Returns
   false if it could not be started (errno). */
bool serve_stream_begin(struct serve_stream *stream, const char *const *words);
/* Waits for output until `*stop` is true. Returns the number of bytes read into `bytes`;
   0 if no more will come. */
size_t serve_stream_read(struct serve_stream *stream, char *bytes, size_t room, const bool *stop);
/* Ends the command, if it was begun. */
void serve_stream_end(struct serve_stream *stream);

#endif
