/* SPDX-License-Identifier: MIT */
/* sample.h: samples the stacks of live processes (design: sample.c). */
#ifndef EVENTRING_TOOL_SAMPLE_H
#define EVENTRING_TOOL_SAMPLE_H

#include "launch.h"
#include "time_profile.h"

enum { SAMPLE_MOST_HZ = 20000 };

struct sampling;
struct sample_tree;
struct remote_domain;

/* A stack that was counted, for the periods that begin at ns, ns + period_ns, ... */
struct sample_moment {
  uint32_t life, node; /* number of the domain (sample_life), and node in the domain's
                          tree */
  uint64_t ns, periods; /* begin (CLOCK_MONOTONIC) and number of the periods */
};

struct sample_options {
  uint64_t hz;         /* 1 to SAMPLE_MOST_HZ */
  uint64_t seconds_ns; /* 0: until the process ends */
  uint64_t domain;     /* UINT64_MAX: all */
  bool cpu, idle;      /* sample only threads that run, or only threads that do not run;
                          not both are set */
  bool children;       /* sample the descendants of the process, too */
  /* lines must be exact, so the process is made to note each instruction */
  bool lines;
  /* called with each counted stack; may be NULL */
  void (*on_sample)(void *context, const struct sample_moment *moment);
  void *context;
  /* If not NULL, the sampling thread runs beside a reading thread, which catches the
     signals. The sampling thread reports no errors, and ends when *stop is set. */
  const bool *stop; /* atomic */
};

enum { SAMPLE_FORBIDDEN = 1000 };
/* Samples the process until the time is up, the process ends, or the user interrupts.
   `launch` is the program that was started as this process, or NULL. Returns
   STATUS_GO_ON, or the exit status after a message, or SAMPLE_FORBIDDEN if the kernel
   forbids reading its memory (sample_why_not). */
int sample_process(struct sampling **sampling, pid_t pid, struct launch *launch,
                   const struct sample_options *options);
/* Makes a profile of what was counted; it must be freed separately. */
void sample_profile(const struct sampling *sampling, enum sample_detail detail,
                    struct time_profile *profile);
/* Returns the tree of a domain, which grows while sampling goes on, and sets *about to
   the domain. Domains are numbered from 0; returns NULL if there is none with this
   number. */
const struct sample_tree *sample_life(const struct sampling *sampling, uint32_t life,
                                      const struct remote_domain **about);
const char *sample_why_not(const struct sampling *sampling);
void sample_free(struct sampling *sampling);

#endif
