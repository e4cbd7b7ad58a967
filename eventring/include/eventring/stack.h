/* SPDX-License-Identifier: MIT */
/* stack.h: the last stacks of domains, kept in the recording for when the process is
 * dead.
 *
 * A host describes as text what a domain runs; the library writes the text as a record,
 * not as an event. Readers show the newest stack of each domain, with its age. A host
 * writes a stack
 *
 *   - when it is asked: eventring_stack_asked, at safepoints. eventring_stack_ask asks,
 *     and so do other processes, through the control page;
 *   - after something took long, a step of its collector for instance;
 *   - when the library asks for it (eventring_on_stack): a trigger fired, and the copy is
 *     to have the stack; or an error, or a signal that ends the process, was noted.
 */
#ifndef EVENTRING_STACK_H
#define EVENTRING_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eventring.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Why a stack was written: X(name, number, text). */
#define EVENTRING_STACK_REASONS(X) \
  X(PERIOD, 1, "period") \
  X(STEP, 2, "long step of the collector") \
  X(TRIGGER, 3, "trigger") \
  X(ERROR, 4, "error") \
  X(SIGNAL, 5, "signal") \
  X(MEMORY, 6, "out of memory") \
  X(END, 7, "end")

enum eventring_stack_reason {
#define EVENTRING_STACK_REASON(name, number, text) EVENTRING_STACK_##name = number,
  EVENTRING_STACK_REASONS(EVENTRING_STACK_REASON)
#undef EVENTRING_STACK_REASON
  EVENTRING_STACK_NO_REASON = 0
};

enum { EVENTRING_MAX_STACK_TEXT = 1600 };

/* A line for each function, the innermost first: its name, a tab, its source, a tab, its
   line, a newline; the last two may be empty. UTF-8; other bytes, and other control
   characters, are written as '?'. Whole lines beyond EVENTRING_MAX_STACK_TEXT bytes are
   left out. */
struct eventring_stack_text {
  const char *text;
  size_t size;
  uint32_t frames; /* number of functions on the stack, also those without a line */
  uint8_t reason;  /* enum eventring_stack_reason */
  uint8_t activity; /* enum eventring_activity (<eventring/introspection.h>) */
  uint32_t subject; /* what the domain waits for; 0 for nothing */
  int64_t value;   /* for a step, its ns; for a signal, its number; else 0 */
};

/* Writes the stack. Returns 0, E_STATE (the domain is not recorded), E_SPACE, or
   E_ARGUMENT. Owner. With in_handler (a signal handler has interrupted the owner) it is
   async-signal-safe, and returns E_BUSY when the producer's lock is taken. */
int eventring_stack_write(eventring_domain *domain, const struct eventring_stack_text *stack,
                          bool in_handler);

/* Asks all domains of this process for their stacks, or, with `on` false, ends the
   request. While the request is open, bit 4 of the word of eventring_calls_word is set.
   Returns false when no domain is recorded. Any thread. */
bool eventring_stack_ask(bool on);
/* Makes the library's own thread ask all domains for their stacks once in each period of
   `ns` as long as a domain is recorded, for the first time within 20 ms; 0 ends that.
   There is one period, that of the last call. Returns false if the thread does not exist
   (without /proc, or if it could not be started). Any thread; a call that changes nothing
   costs some ns. */
bool eventring_stack_ask_each(uint64_t ns);
/* Returns the number of the present request for stacks; 0 if there is none. A domain
   writes one stack for each number. Owner; costs some ns. */
uint32_t eventring_stack_asked(const eventring_domain *domain);

/* Keeps a pointer of the host with a domain, so that the function set by
   eventring_on_stack quickly finds the host's data of the domain. NULL at first.
   Owner. */
void eventring_stack_keep_host(eventring_domain *domain, void *host);
/* Returns the pointer of eventring_stack_keep_host. Owner. */
void *eventring_stack_host(const eventring_domain *domain);

/* Sets the function that is called on the thread whose stack is wanted, before copies of
   triggers are made. `in_handler` says that a signal handler calls it. `domain` is the
   domain of the trigger; NULL means the thread's own. The function must not write events.
   A process has one such function; NULL removes it. Any thread. */
typedef void eventring_stack_wanted(eventring_domain *domain, enum eventring_stack_reason reason,
                                    int64_t value, bool in_handler);
void eventring_on_stack(eventring_stack_wanted *wanted);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* EVENTRING_STACK_H */
