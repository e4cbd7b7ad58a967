/* SPDX-License-Identifier: MIT */
/* command_fifo.c: takes commands for a running recorder from a FIFO. */
#include "command_fifo.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/names.h"
#include "class_list.h"
#include "eventring/tools.h"

enum {
  LINE = PATH_MAX + 64,
  ANSWER = 2048 /* less than PIPE_BUF: an answer is written whole or not at all */
};

struct fifo {
  char *path;
  int fd;
  bool made;
};

enum under_way { NOTHING, SWITCHING, STOPPING, COPYING };

struct copying { /* a snapshot that a thread makes */
  pthread_t thread;
  char *target, *path;
  struct eventring_error error;
  int status;
  int is_done; /* atomic */
};

struct command_fifo {
  struct fifo control, answers;
  char line[LINE];
  size_t used;
  bool too_long; /* the rest of the line is to be skipped */
  enum under_way under_way;
  unsigned files; /* number of files when the switch was requested */
  struct copying copying;
};

/* ---- Answers ------------------------------------------------------------------ */

static void answer(struct command_fifo *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void answer(struct command_fifo *c, const char *format, ...) {
  char text[ANSWER], safe[ANSWER];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (c->answers.fd < 0) return;
  eventring_printable(safe, sizeof safe - 1, text, strlen(text));
  size_t size = strlen(safe);
  safe[size] = '\n';
  ssize_t written = write(c->answers.fd, safe, size + 1);
  (void)written; /* dropped if nobody reads it */
}

/* ---- Classes, pause and resume ------------------------------------------------ */

/* Changes what the process records. Uses a cursor of its own, since the recorder's cursor
   may have followed a link. */
static void control(struct command_fifo *c, const char *target,
                    const struct eventring_change *change) {
  eventring_cursor *cursor;
  struct eventring_error error;
  if (eventring_open_any(&cursor, target, EVENTRING_OPEN_NOW, &error) < 0) {
    answer(c, "error: %s", error.text);
    return;
  }
  if (eventring_cursor_control(cursor, change, &error) < 0) answer(c, "error: %s", error.text);
  else answer(c, "ok");
  eventring_close(cursor);
}

static void control_classes(struct command_fifo *c, const struct reader *reader, const char *target,
                            enum eventring_control what, const char *list) {
  char trouble[CLASS_TROUBLE];
  uint64_t classes = 0;
  bool off = what == EVENTRING_CONTROL_DISABLE;
  if (!*list) answer(c, "error: no class is named");
  else if (!class_list_read(reader->cursor, list, off, &classes, trouble))
    answer(c, "error: %s", trouble);
  else if (!classes) answer(c, "ok"); /* classes without events in this program are off */
  else control(c, target, &(struct eventring_change){.what = what, .classes = classes});
}

/* ---- Snapshots ---------------------------------------------------------------- */

static void *copy(void *context) {
  struct copying *copying = context;
  eventring_cursor *cursor;
  copying->status = eventring_open_any(&cursor, copying->target, EVENTRING_OPEN_FOLLOW,
                                       &copying->error);
  if (copying->status == 0) {
    copying->status = eventring_snapshot(cursor, copying->path, &copying->error);
    eventring_close(cursor);
  }
  /* pairs with the acquire load in go_on: the outcome of the copy is visible there */
  __atomic_store_n(&copying->is_done, 1, __ATOMIC_RELEASE);
  return NULL;
}

static void begin_copy(struct command_fifo *c, const char *target, const char *path) {
  struct copying *copying = &c->copying;
  if (!*path) {
    answer(c, "error: no FILE is named");
    return;
  }
  *copying = (struct copying){.target = need_copy(target), .path = need_copy(path)};
  int error = pthread_create(&copying->thread, NULL, copy, copying);
  if (error == 0) {
    c->under_way = COPYING;
    return;
  }
  answer(c, "error: %s", strerror(error));
  free(copying->target);
  free(copying->path);
}

static void end_copy(struct command_fifo *c) {
  struct copying *copying = &c->copying;
  pthread_join(copying->thread, NULL);
  if (copying->status < 0) answer(c, "error: %s", copying->error.text);
  else answer(c, "ok %s", copying->path);
  free(copying->target);
  free(copying->path);
  c->under_way = NOTHING;
}

/* ---- Switch, status ----------------------------------------------------------- */

static void begin_switch(struct command_fifo *c, struct recorder *recorder) {
  c->files = recorder_files(recorder);
  recorder_switch(recorder);
  c->under_way = SWITCHING;
}

static void end_switch(struct command_fifo *c, const struct recorder *recorder) {
  if (recorder_files(recorder) == c->files)
    answer(c, "error: recording goes on in %s", recorder_file(recorder));
  else
    answer(c, "ok %s", recorder_last_file(recorder));
  c->under_way = NOTHING;
}

static void tell_status(struct command_fifo *c, const struct recorder *recorder,
                        const struct reader *reader) {
  struct eventring_saver_info info;
  struct eventring_info process = {.size = sizeof process};
  recorder_info(recorder, &info);
  if (eventring_cursor_info(reader->cursor, &process) < 0) {
    answer(c, "error: %s", eventring_cursor_error(reader->cursor)->text);
    return;
  }
  answer(c, "ok state=%s events=%" PRIu64 " lost=%" PRIu64 " bytes=%" PRIu64 " files=%u file=%s",
         eva_state_name(process.state), info.saved, info.lost, recorder_bytes(recorder),
         recorder_files(recorder), recorder_file(recorder));
}

/* ---- Lines -------------------------------------------------------------------- */

static bool is_word(const char *line, const char *word, const char **rest) {
  size_t size = strlen(word);
  if (strncmp(line, word, size) != 0 || (line[size] && line[size] != ' ')) return false;
  *rest = line + size + strspn(line + size, " ");
  return true;
}

/* Obeys a command without operands. Returns false if the line is no such command. */
static bool obey_word(struct command_fifo *c, struct recorder *recorder,
                      const struct reader *reader, const char *target, const char *line) {
  if (strcmp(line, "ping") == 0) answer(c, "ok");
  else if (strcmp(line, "status") == 0) tell_status(c, recorder, reader);
  else if (strcmp(line, "switch") == 0) begin_switch(c, recorder);
  else if (strcmp(line, "pause") == 0) control(c, target, EVENTRING_CHANGE(PAUSE));
  else if (strcmp(line, "resume") == 0) control(c, target, EVENTRING_CHANGE(RESUME));
  else if (strcmp(line, "stop") == 0) {
    recorder_stop(recorder);
    c->under_way = STOPPING;
  } else return false;
  return true;
}

static void obey(struct command_fifo *c, struct recorder *recorder, const struct reader *reader,
                 const char *target, const char *line) {
  const char *rest;
  if (obey_word(c, recorder, reader, target, line)) return;
  if (is_word(line, "enable", &rest))
    control_classes(c, reader, target, EVENTRING_CONTROL_ENABLE, rest);
  else if (is_word(line, "disable", &rest))
    control_classes(c, reader, target, EVENTRING_CONTROL_DISABLE, rest);
  else if (is_word(line, "snapshot", &rest))
    begin_copy(c, target, rest);
  else
    answer(c, "error: no command `%.100s' (there are switch, pause, resume, enable CLASS, "
           "disable CLASS, snapshot FILE, status, stop, ping)", line);
}

/* Takes the next line out of what was read. Returns false if there is none. */
static bool take_line(struct command_fifo *c, char *line) {
  char *end = memchr(c->line, '\n', c->used);
  if (!end) {
    c->too_long |= c->used == sizeof c->line;
    if (c->too_long) c->used = 0;
    return false;
  }
  size_t size = (size_t)(end - c->line);
  memcpy(line, c->line, size);
  line[size] = 0;
  if (memchr(line, 0, size)) line[0] = 0; /* no command contains a zero */
  c->used -= size + 1;
  memmove(c->line, end + 1, c->used);
  return true;
}

static void read_more(struct command_fifo *c) {
  ssize_t got = read(c->control.fd, c->line + c->used, sizeof c->line - c->used);
  if (got > 0) c->used += (size_t)got;
}

static void go_on(struct command_fifo *c, const struct recorder *recorder) {
  if (c->under_way == SWITCHING && !recorder_is_switching(recorder)) end_switch(c, recorder);
  /* pairs with the release store in copy: the outcome of the copy is visible here */
  if (c->under_way == COPYING && __atomic_load_n(&c->copying.is_done, __ATOMIC_ACQUIRE))
    end_copy(c);
}

void command_fifo_attend(struct command_fifo *c, struct recorder *recorder,
                         struct reader *reader, const char *target) {
  char line[LINE + 1];
  go_on(c, recorder);
  if (c->under_way != NOTHING) return;
  read_more(c);
  if (!take_line(c, line)) return;
  if (c->too_long) answer(c, "error: the line is too long");
  else obey(c, recorder, reader, target, line);
  c->too_long = false;
}

/* ---- Opening and closing ------------------------------------------------------ */

/* Returns NULL, or why the FIFO must not be obeyed: another user has made it, or has put
   a link in its place, and may write commands. */
static const char *refuse_fifo(const struct fifo *fifo) {
  struct stat st;
  if (fifo->fd < 0) return errno == ELOOP ? "it is a symbolic link" : strerror(errno);
  if (fstat(fifo->fd, &st) != 0) return strerror(errno);
  if (!S_ISFIFO(st.st_mode)) return "it is no FIFO";
  if (st.st_uid != geteuid()) return "it is another user's (name one that is not there yet)";
  return NULL;
}

static bool open_fifo(struct fifo *fifo, const char *path, size_t size) {
  fifo->path = need_zeroed(size + 1, 1);
  memcpy(fifo->path, path, size);
  fifo->made = mkfifo(fifo->path, 0600) == 0;
  if (fifo->made || errno == EEXIST)
    fifo->fd = open(fifo->path, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  const char *why = refuse_fifo(fifo);
  if (why) complain("--command-fifo: cannot open %s: %s", fifo->path, why);
  return !why;
}

static void close_fifo(struct fifo *fifo) {
  struct stat st, named;
  bool same = fifo->fd >= 0 && fstat(fifo->fd, &st) == 0 && lstat(fifo->path, &named) == 0 &&
              st.st_dev == named.st_dev && st.st_ino == named.st_ino;
  if (fifo->made && same) unlink(fifo->path);
  if (fifo->fd >= 0) close(fifo->fd);
  free(fifo->path);
}

struct command_fifo *command_fifo_open(const char *fifos) {
  struct command_fifo *c = need_zeroed(1, sizeof *c);
  size_t size = strcspn(fifos, ",");
  c->control.fd = c->answers.fd = -1;
  bool opened = open_fifo(&c->control, fifos, size);
  if (opened && fifos[size])
    opened = open_fifo(&c->answers, fifos + size + 1, strlen(fifos + size + 1));
  if (opened) return c;
  command_fifo_close(c, NULL);
  return NULL;
}

void command_fifo_close(struct command_fifo *c, struct recorder *recorder) {
  if (!c) return;
  if (c->under_way == COPYING) end_copy(c);
  if (c->under_way == SWITCHING && recorder) end_switch(c, recorder);
  if (c->under_way == STOPPING && recorder) answer(c, "ok %s", recorder_file(recorder));
  close_fifo(&c->control);
  close_fifo(&c->answers);
  free(c);
}
