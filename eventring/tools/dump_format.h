/* SPDX-License-Identifier: MIT */
/* dump_format.h: prints one event as a line of text or of JSON. */
#ifndef EVENTRING_TOOL_DUMP_FORMAT_H
#define EVENTRING_TOOL_DUMP_FORMAT_H

#include <stdio.h>

#include "analysis/so_far.h"
#include "tool.h"

enum dump_time {
  DUMP_SINCE_START, /* seconds since the start of the recording */
  DUMP_MONOTONIC,   /* nanoseconds of CLOCK_MONOTONIC */
  DUMP_WALL         /* date and time of day */
};

/* The domain of a slot that was seen last. */
struct dump_domain {
  uint32_t incarnation; /* 0: not known yet */
  char name[EVENTRING_MAX_DOMAIN_NAME + 1];
};

/* Room for making a line of text that may be longer than the page. */
struct dump_line {
  FILE *stream; /* writes into `text` */
  char *text;
  size_t size;
  size_t page; /* most characters of a line */
};
void dump_line_open(struct dump_line *line, size_t page);
void dump_line_close(struct dump_line *line);

struct dump_format {
  FILE *out;
  bool json;
  struct dump_line *making; /* NULL if an event is one line, however long */
  enum dump_time time;
  uint64_t start_ns;     /* of the recording */
  int64_t start_wall_ns;
  eventring_cursor *cursor; /* for the names of classes, rings, domains and values */
  struct dump_domain *domains; /* by slot, zeroed at first */
  struct dump_faces *faces; /* parts that many lines of JSON share, or NULL */
};

/* Forgets names: domains may have other names now, or the cursor has changed. */
void dump_forget(struct dump_format *format);
/* Writes the lines of JSON that are collected in memory, at most 72 KiB. */
void dump_write_lines(const struct dump_format *format);
/* Writes these lines, too, and frees what the functions have allocated. */
void dump_close(struct dump_format *format);

void dump_event(const struct dump_format *format,
                const struct eventring_event *event);
void dump_loss(const struct dump_format *format,
               const struct eventring_loss *loss);
/* Prints a span that has begun and not ended when reading ends. */
void dump_open_span(const struct dump_format *format, const struct eventring_event *event,
                    const struct eva_so_far *so_far);
/* Prints the value of an event as text, " = 7 bytes"; nothing if it has none. */
void dump_value(FILE *out, eventring_cursor *cursor, const struct eventring_event *event);
/* Prints how the process ended. */
void dump_end(const struct dump_format *format, const struct eventring_info *info);

#endif
