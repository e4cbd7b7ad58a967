/* SPDX-License-Identifier: MIT */
/* domains.h: the domains of this process: their life, and the slow path of probes.
 *
 * A domain belongs to the thread that started it. Its gates show its state:
 *
 *   nothing is recorded     gate -> a zero word, limit NULL
 *   a forked child will be  gate -> a word with the classes of the parent, limit NULL:
 *                           events come to follow.c
 *   standby or running,
 *   domain not yet attached gate -> control word of the recording, limit NULL:
 *                           the first probe that passes attaches the domain
 *   attached                gate -> control word, limit: end of the block
 *   could not be attached   gate -> a zero word, until the next start; if the disk had no
 *                           room, until eventring_domain_check finds some
 *   ended by its thread     gate -> a zero word, for good
 *
 * A domain that its host has not stopped ends when its thread exits (thread_exit.h). Its
 * memory stays until the host stops it after all, in a destructor that comes later, or
 * until the thread is gone. Threads that vanish without destructors leave their domains
 * attached; these are ended when there is no other slot.
 */
#ifndef EVENTRING_DOMAINS_H
#define EVENTRING_DOMAINS_H

#include <pthread.h>

#include "producer/heap_profile.h"
#include "producer/lane.h"
#include "producer/recording.h"
#include "producer/stacks.h"
#include "producer/traces.h"
#include "producer/watch.h"

#pragma GCC visibility push(hidden)

struct evr_domain {
  struct evr_lanes lanes; /* must be first: it begins with the part that the host uses */
  struct evr_recording *recording; /* the recording to which the domain is attached, or
                                      NULL; owner, under the mutex */
  int slot;
  bool failed; /* the domain could not be attached to the present recording; under the
                  mutex */
  struct evr_room room; /* lack of room for attaching the domain; under the mutex */
  bool unbound; /* the domain does not end with its thread */
  bool ended;   /* the domain ended when its thread exited; it is in the list of ended
                   domains */
  pthread_t owner;
  int32_t tid; /* thread id of the owner */
  uint64_t cpu_ns; /* processor time of its thread at the helper's last check; under the
                      mutex */
  struct evr_watching watching; /* owner */
  char name[EVENTRING_MAX_DOMAIN_NAME + 1];
  struct evr_heap *heap; /* heap profile, or NULL if the domain has none; owner */
  struct evr_stack_cache stacks; /* owner */
  struct evr_traces traces; /* owner */
  void *host;  /* data of the host (eventring_stack_keep_host); owner */
  struct evr_domain *next, *prev; /* neighbours in the producer's list of domains or of
                                     ended domains; under the mutex */
};

/* Admits all domains to a recording that has begun: they may attach to it. */
void evr_domains_admit_locked(struct evr_recording *recording);
/* Dismisses the domains of a recording that ends. Detaches the domains of the calling
   thread at once, so that all that they wrote is complete before the file is marked
   ended; the domains of other threads detach themselves later. `next` is NULL, or the
   recording that replaces the ended one: gates then lead to it, so that no probe finds
   its gate closed meanwhile. */
void evr_domains_dismiss_locked(const struct evr_recording *recording,
                                const struct evr_recording *next);
/* Releases recordings that have ended, if no thread but the caller has a domain: then
   nobody can hold a pointer to one of their gates any more. */
void evr_domains_drop_ended_locked(void);
/* Closes all domains in a forked child, whose thread holds the mutex; events of the
   classes in `gate` take the slow path. */
void evr_domains_after_fork(uint64_t gate);
/* Closes the gate that a forked child waits with; under the mutex. */
void evr_domains_close_fork_gate(void);
/* Brings the heap profile in the file up to date. If `over`, this is the last time, and
   the domain has no profile afterwards. Owner, without the mutex. */
void evr_domain_publish_heap(struct evr_domain *domain, bool over);
/* Tells whether this is the domain that a host gets when there is no memory for one. */
bool evr_domain_is_inert(const struct evr_domain *domain);
/* Returns the exact number of events written into a ring of the domain's slot since the
   slot was first used, by all incarnations, or 0 if the domain is not recorded. Used only
   by tests. Owner. */
uint64_t evr_domain_emitted(const eventring_domain *domain, enum eventring_ring ring);
/* Attaches the last domain that the calling thread started, if possible. */
void evr_domain_attach_own(void);
/* Writes one of the library's own lifecycle events into the last domain that the calling
   thread started, if that is recorded. */
void evr_domain_emit_own(enum eventring_builtin_id id, int64_t data);
/* Sends the probes of watched rings into the slow path, from the next one on, after the
   table of triggers has changed. (If a domain of another thread records, the call waits
   for all processors.) */
void evr_domains_watch_locked(const struct evr_recording *recording);
/* Writes the events of triggers that fired, and lets the helper make the copies. `domain`
   is NULL if none of this thread's domains records. */
void evr_domain_report_fired(struct evr_domain *domain, uint64_t fired);
/* Answers the open question for domains that have not run since the previous call
   (question.c, <eventring/question.h>). On the helper's thread, without the mutex. */
void evr_questions_aside(void);
/* Drops the parent's list of children in a forked child, which has none of its own. */
void evr_questions_after_fork(void);
/* Returns the last domain that the calling thread started, or NULL. */
struct evr_domain *evr_domain_own(void);
/* Tells whether this process is a child made by clone(2), past the handlers of fork. Such
   a child shares its parent's rings, and must leave them as they are, however it ends.
   (Does not take the mutex, which a thread that is not in the child may have held.) */
bool evr_domain_is_raw_child(const struct evr_recording *recording);

#pragma GCC visibility pop

#endif /* EVENTRING_DOMAINS_H */
