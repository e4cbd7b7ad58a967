/* SPDX-License-Identifier: MIT */
/* producer.h: the producer: its state for the whole process.
 *
 * There is at most one present *recording*: a file with its mappings. Only the code that
 * starts and stops domains and recordings accesses it (domains.c, register.c, state.c);
 * all other functions get their recording as an argument.
 */
#ifndef EVENTRING_PRODUCER_H
#define EVENTRING_PRODUCER_H

#include "format/lent_memory.h"
#include "producer/lock.h"
#include "producer/recording.h"

#pragma GCC visibility push(hidden)

struct evr_listener { /* the host's function for problems that no result can report */
  void (*warn)(void *context, const struct eventring_error *error);
  void *context;
};

/* Functions of the helper (trigger/helper.c), which makes the copies of triggers, for
   which it needs the reader, and watches the file. Called without the mutex. */
struct evr_helper {
  void (*begin)(void); /* starts the helper if something is recorded and there is none */
  /* Makes the copies that are due, and ends the helper. `exits` says that the process
     exits, and that this code is not unloaded before its end. */
  void (*finish)(bool exits);
  void (*wait)(uint64_t ns); /* until no copy is due or being made. Async-signal-safe */
  void (*after_fork)(void); /* in the child, with the mutex: the child has no helper */
};
/* Starts as eventring_start does, with the helper. */
int evr_start(const struct eventring_config *config, const struct evr_helper *helper,
              struct eventring_error *error);

struct evr_producer { /* guarded by the mutex */
  struct evr_recording *recording; /* the present recording, or NULL */
  unsigned joined; /* number of hosts that joined the recording and have not stopped */
  struct evr_domain *domains; /* a list; the domain started last is first */
  unsigned bound; /* the number of domains that end with their threads */
  struct evr_domain *ended_domains; /* domains of exited threads that the host has not
                                       stopped */
  struct evr_recording *ended[8]; /* recordings that have ended, kept mapped while a probe
                                     of another thread may still hold a pointer to their
                                     gate */
  unsigned ended_count;
  unsigned telling; /* number of threads in on_deleted (state.c): the host may not know
                       yet that it must not use words of the former page; meanwhile
                       recordings in `ended` stay mapped */
  /* Starts the recording of a forked child like its parent's: at once (`now`), or if it
     is clear that the child goes on (follow.c). NULL except in a child that is to follow
     its parent, until it follows or is known not to. Atomic; called without the mutex. */
  void (*follow)(bool now);
  struct evr_listener listener;
  const struct evr_helper *helper; /* NULL if nothing was ever started; atomic */
};
extern struct evr_producer evr_producer;

/* Returns the listener of the present recording; its members are NULL without one.
   Without the mutex. */
struct evr_listener evr_producer_listener(void);
/* Starts the recording of a forked child in which the host uses the recording. Without
   the mutex. */
void evr_producer_follow_now(void);
/* Warns the host. Without the mutex. */
void evr_producer_warn(struct evr_listener listener, const struct eventring_error *error);

/* Calls one of the functions of the helper, if there is one. acquire: pairs with the
   release in evr_start (state.c), after their initialisation. */
#define evr_helper_do(what, ...) \
  do { \
    const struct evr_helper *helper_ = \
        __atomic_load_n(&evr_producer.helper, __ATOMIC_ACQUIRE); \
    if (helper_) helper_->what(__VA_ARGS__); \
  } while (0)

/* ---- lend.c: the present recording, for readers in this process ---- */

/* Lends the memory of the recording (format/lent_memory.h) and stores its path. Returns
   false when there is no recording. Any thread without the mutex. */
bool evr_producer_lend(struct evr_memory *memory, char path[PATH_MAX]);

#pragma GCC visibility pop

#endif /* EVENTRING_PRODUCER_H */
