/* SPDX-License-Identifier: MIT */
/* stack_read.h: reads the stacks of another process as they were at one moment (design:
   stack_read.c). */
#ifndef EVENTRING_REMOTE_STACK_READ_H
#define EVENTRING_REMOTE_STACK_READ_H

#include "remote/functions.h"

enum {
  REMOTE_FRAMES = 1024,  /* most frames of one stack; of a deeper stack, the innermost are
                            read */
  REMOTE_THREADS = 208,  /* threads that wait for each other in one stack */
  REMOTE_DOMAIN_NAME = 64
};

struct remote_frame {
  struct remote_function *function; /* NULL for an unknown C function */
  uint64_t thread;    /* the thread of the frame */
  uint64_t pc;        /* address behind the last noted instruction; 0 for a C function */
  uint64_t variables; /* address of its first variable */
  uint32_t line;      /* 0 if not known */
  bool line_noted;    /* in a running function: line of the last noted instruction, which
                         may be past; false: line of a call */
  bool tail;          /* called by a tail call: its caller is not on the stack */
  bool finalizer;
};

struct remote_stack {
  struct remote_frame frames[REMOTE_FRAMES]; /* the innermost first */
  size_t count;
  uint64_t below;   /* number of frames outside those in `frames`, which were not read */
  bool moving;      /* the innermost frames changed meanwhile, and are missing */
  uint64_t thread;  /* the thread that runs */
};

/* What a domain is and does. */
struct remote_domain {
  uint64_t address;
  uint32_t id;
  int32_t thread;   /* number of its thread in the process */
  char name[REMOTE_DOMAIN_NAME];
  uint32_t activity;        /* enum eventring_activity */
  bool notes;               /* the domain notes each instruction; as of the last
                               reading */
  const char *text;         /* text of its rule, EVENTRING_RULE_TEXT bytes; "" while it
                               runs */
  bool has_subject;
  uint32_t subject;         /* number of the channel, domain ... for which it waits */
};

enum remote_result {
  REMOTE_READ,     /* the stack is right, but lacks `moving` frames */
  REMOTE_TORN,     /* it changed while it was read; nothing is known */
  REMOTE_EMPTY,    /* no function runs */
  REMOTE_GONE      /* memory is unreadable (by now) */
};

/* A reader of the stacks of one domain, used repeatedly: it remembers where the frames
   are. */
struct remote_reader;
/* Makes a reader. Returns NULL when out of memory. */
struct remote_reader *remote_reader_open(struct remote_functions *functions, uint64_t domain);
void remote_reader_close(struct remote_reader *reader);

/* Reads the stack of the domain's running thread, with those of the threads that wait for
   it, and the domain's activity at the same moment. `about` comes from
   remote_domain_read; `now` is as in remote_functions_name. */
enum remote_result remote_stack_read(struct remote_reader *reader, struct remote_stack *stack,
                                     struct remote_domain *about, uint64_t now);
/* Reads the stack of a suspended thread of the domain. */
enum remote_result remote_stack_suspended(struct remote_reader *reader, uint64_t thread,
                                          struct remote_stack *stack, uint64_t now);

/* Tells whether the domain notes each instruction at this moment. */
bool remote_domain_notes(struct remote_host *host, uint64_t domain);
/* Reads the name, number and activity of a domain. Returns false if they are
   unreadable. */
bool remote_domain_read(struct remote_host *host, uint64_t domain, struct remote_domain *about);
/* Reads the names, numbers and activities of all readable domains, sorted by number.
   Returns how many there are. */
size_t remote_domains_read(struct remote_host *host, struct remote_domain domains[REMOTE_DOMAINS]);

#endif
