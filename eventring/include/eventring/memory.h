/* SPDX-License-Identifier: MIT */
/* memory.h: samples of allocations, call stacks, and the heap profile of a recording.
 *
 * A host samples its allocations, each word with a probability of `rate`. Through these
 * functions it reports the blocks that it has sampled and what became of them. The
 * library
 *
 *   - interns functions and call stacks, and writes them into the recording before their
 *     first use;
 *   - writes samples, promotions and deallocations as events of class ALLOC into the ring
 *     EVENTRING_ALLOC;
 *   - keeps for each domain a *heap profile*: by stack, kind, origin and span, how much
 *     was allocated and how much of it is alive. Each collection brings it up to date in
 *     the file, so that after a SIGKILL the file has it as of the last collection.
 *
 * Order of calls in a domain:
 *
 *   eventring_memory_rate        at safepoints: what the recording asks for
 *   eventring_memory_start       a profile begins
 *   eventring_memory_expect      optional, some 100 ns before each call of the next one
 *   eventring_memory_sampled     for each block with samples; it is tracked from then on
 *   eventring_memory_promoted    when a tracked block becomes old; at most once
 *   eventring_memory_freed       when a tracked block is dead; at most once
 *   eventring_memory_fates       instead of these two, for many blocks at once
 *   eventring_memory_collected   after each collection
 *   eventring_memory_stop        the profile ends
 *
 * All these functions work whether anything is recorded or not, so that a host may use
 * the stacks for its own purposes; a recording that begins later gets the profile with
 * the next collection. Sampling is the host's business; a profile has one rate from its
 * start to its stop, because the estimates depend on it.
 */
#ifndef EVENTRING_MEMORY_SAMPLES_H
#define EVENTRING_MEMORY_SAMPLES_H

#include "eventring.h"
#include "eventring/probe.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ==== PRODUCER ========================================================== */

/* ---- Functions and stacks ----------------------------------------------- */

enum {
  EVENTRING_MAX_FUNCTION_NAME = 255,
  EVENTRING_MAX_FUNCTION_SOURCE = 1023,
  EVENTRING_MAX_DEPTH = 1024 /* most frames of a stack */
};

/* A function of the program that the host runs. */
struct eventring_function {
  /* UTF-8, not terminated; NULL if it has none. Cut to EVENTRING_MAX_FUNCTION_NAME
     bytes */
  const char *name;
  size_t name_size;
  const char *source;  /* file or chunk; if it is too long, its end is kept,
                          EVENTRING_MAX_FUNCTION_SOURCE bytes */
  size_t source_size;
  uint32_t line;       /* line where it is defined; 0 if not known */
  uint32_t last_line;
};
/* Returns the id of a function, from 1 on. The same name, source and lines have the same
   id as long as the process lives, in all its recordings. Returns 0 if there is no room
   for more functions; stacks may contain this 0. Any thread; takes a lock, so keep the
   id. */
uint32_t eventring_function(const struct eventring_function *function);

/* A frame of a stack: the function, and a position in it (an instruction, for example),
   from which the host can find line and column. */
struct eventring_frame {
  uint32_t function; /* id of the function */
  uint32_t position;
};
/* Line and column of a position, counted from 1; 0 if not known. */
struct eventring_place {
  uint32_t line, column;
};
/* Returns the id of a stack of `count` frames, innermost first. The same frames have the
   same id as long as the process lives. Returns 0 if the stack has no frames, or there is
   no room for more stacks. The outermost frames beyond EVENTRING_MAX_DEPTH are left out.
   For a new stack, `resolve` is called with the index of each frame; it must not call
   this library. In the usual case, a stack that the domain has seen, this takes no lock
   and about 2 ns a frame. (A domain recognises a stack by a hash of 64 bits.) Owner of
   the domain. */
typedef struct eventring_place eventring_resolve(void *context, size_t index);
uint32_t eventring_stack(eventring_domain *domain, const struct eventring_frame *frames,
                         size_t count, eventring_resolve *resolve, void *context);

/* The things that have names in the samples of a host. */
enum eventring_memory_name {
  EVENTRING_MEMORY_KIND = 0,  /* kinds of blocks, 0 .. 63 */
  EVENTRING_MEMORY_ORIGIN = 1 /* origins of allocations, 0 .. 15 */
};
/* Gives a name to a kind or an origin of this host. Readers show it, and the number where
   there is none. Blocks of a kind whose name ends in " part" belong to an object: their
   bytes count, but they do not count as objects. To be called before the recording
   starts. Returns 0, E_ARGUMENT, E_NAME. Any thread. */
int eventring_memory_name(enum eventring_memory_name of, unsigned number, const char *name);

/* ---- What a recording asks for --------------------------------------------- */

#define EVENTRING_MEMORY_DEFAULT_RATE 1e-4

/* Reads "on" (EVENTRING_MEMORY_DEFAULT_RATE), "off" or "0" (0), or a rate above 0 and up
   to 1. Returns 0, or E_ARGUMENT with a text that says what is allowed. Any thread. */
int eventring_memory_parse_rate(const char *text, double *rate, struct eventring_error *error);
/* Returns the rate at which the recording wants this domain to sample, above 0 and up to
   1, or 0 for no samples (nothing is recorded, class ALLOC is off, or no rate is set). A
   tool may change the rate (EVENTRING_CONTROL_SAMPLE), so call this at safepoints: it
   costs some loads. Owner. */
double eventring_memory_rate(const eventring_domain *domain);

/* ---- Profiles ---------------------------------------------------------------- */

/* Begins a heap profile of this domain at `rate` and ends the present one. Returns 0,
   E_ARGUMENT (rate), E_MEMORY. Owner. */
int eventring_memory_start(eventring_domain *domain, double rate);
/* Ends the profile; the file keeps its present state. Tracked blocks must not be passed
   to the functions below any more (they would be ignored). Owner. */
void eventring_memory_stop(eventring_domain *domain);

/* A block of which at least one word was sampled. */
struct eventring_sample {
  uint64_t samples; /* words of it that were sampled, at least 1 */
  uint64_t words;   /* words that were asked for; less than 2^48 */
  uint32_t stack;   /* id of the stack; 0 if not known */
  uint16_t span;    /* id of the innermost open span, plus 1; 0 if there is none */
  uint8_t kind;     /* kind of the block, 0 .. 63 */
  uint8_t origin;   /* origin of the block, 0 .. 15: why it was allocated */
};
/* What the library needs to know later about a block. The host keeps this structure with
   the block. */
struct eventring_tracked {
  uint64_t words;
  uint64_t samples;
  /* number of the block in this domain, for readers: from 1, modulo 2^40 */
  uint64_t block;
  uint32_t entry;   /* entry of the profile */
  uint32_t profile; /* number of the profile */
  uint32_t born;    /* number of collections before it was allocated */
  uint32_t stack;   /* id of the stack of the sample */
};
/* Loads into the cache what the next sample needs, while the host prepares that sample.
   Changes nothing. Owner. */
void eventring_memory_expect(const eventring_domain *domain);
/* Counts a block as allocated and alive, writes the event and fills *tracked. Without a
   profile, empties *tracked and writes nothing. Owner. */
void eventring_memory_sampled(eventring_domain *domain, const struct eventring_sample *sample,
                              struct eventring_tracked *tracked);
enum eventring_fate_kind {
  EVENTRING_FATE_PROMOTED,    /* it has survived and become old */
  EVENTRING_FATE_FREED_YOUNG, /* it is dead */
  EVENTRING_FATE_FREED_OLD    /* it is dead; it had been promoted or allocated as old */
};
struct eventring_fate {
  const struct eventring_tracked *block;
  enum eventring_fate_kind kind;
};
/* Records what has become of `count` blocks, in this order. Reads the clock once, so all
   their events have the same time; where the clock is slow, reading it is most of the
   cost. Pass a few dozen blocks at once, so that few events of other domains fall between
   that time and the time of writing. Owner. */
void eventring_memory_fates(eventring_domain *domain, const struct eventring_fate *fates,
                            size_t count);

/* Records that one block has survived and become old. Owner. */
static inline void eventring_memory_promoted(eventring_domain *domain,
                                             const struct eventring_tracked *block) {
  const struct eventring_fate fate = {block, EVENTRING_FATE_PROMOTED};
  eventring_memory_fates(domain, &fate, 1);
}
/* Records that one block is dead. `old` says that it had been promoted, or allocated as
   old. Owner. */
static inline void eventring_memory_freed(eventring_domain *domain,
                                          const struct eventring_tracked *block, bool old) {
  const struct eventring_fate fate = {block, old ? EVENTRING_FATE_FREED_OLD
                                                 : EVENTRING_FATE_FREED_YOUNG};
  eventring_memory_fates(domain, &fate, 1);
}

/* The result of a collection. */
struct eventring_collection {
  /* all words that this domain has allocated since the profile began, not only the
     sampled ones */
  uint64_t words;
  uint64_t live_words; /* those of these words that are alive; UINT64_MAX if not known */
};
/* Records that a collection is over, and brings the profile in the file up to date. Costs
   some 0.4 us for each page of 56 entries that has changed. Owner. */
void eventring_memory_collected(eventring_domain *domain,
                                const struct eventring_collection *collection);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* EVENTRING_MEMORY_SAMPLES_H */
