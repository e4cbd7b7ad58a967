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

/* A stack that was counted: for the periods that begin at ns, ns + period_ns, ... */
struct sample_moment {
  uint32_t life, node; /* number of the domain's life (sample_life), node of its tree */
  uint64_t ns, periods; /* CLOCK_MONOTONIC */
};

struct sample_options {
  uint64_t hz;         /* 1 to SAMPLE_MOST_HZ */
  uint64_t seconds_ns; /* 0: until the process ends */
  uint64_t domain;     /* UINT64_MAX: all */
  bool cpu, idle;      /* only of threads that run; that do not. Not both */
  bool children;       /* of the processes that descend from it as well */
  bool lines;          /* the lines are to be exact: the process notes each instruction meanwhile */
  /* Called with each stack that is counted; NULL: nobody asks when. */
  void (*on_sample)(void *context, const struct sample_moment *moment);
  void *context;
  /* Not NULL: by a thread beside one that reads, which catches the signals; it complains
     of nothing, and ends when this is set. */
  const bool *stop; /* atomic */
};

enum { SAMPLE_FORBIDDEN = 1000 };
/* Samples the process, until the time is up, it ends, or the user interrupts. `launch`:
   the program that was started as that process, or NULL. -1, or the exit status after a
   message, or SAMPLE_FORBIDDEN: the kernel does not let its memory be read
   (sample_why_not). */
int sample_process(struct sampling **sampling, pid_t pid, struct launch *launch,
                   const struct sample_options *options);
/* What was counted; freed apart. */
void sample_profile(const struct sampling *sampling, enum sample_detail detail,
                    struct time_profile *profile);
/* A domain that was seen, and its tree, which grows while sampling goes on. NULL: there
   is no life of this number; they are numbered from 0. */
const struct sample_tree *sample_life(const struct sampling *sampling, uint32_t life,
                                      const struct remote_domain **about);
const char *sample_why_not(const struct sampling *sampling);
void sample_free(struct sampling *sampling);

#endif
