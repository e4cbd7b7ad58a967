/* SPDX-License-Identifier: MIT */
/* vm/call_profile.h: the profile of calls of a domain, and calls as spans (design: top of
 * call_profile.c). call_profile_process.c decides when the process keeps a profile. */
#ifndef SAROS_VM_CALL_PROFILE_H
#define SAROS_VM_CALL_PROFILE_H

#include "domain.h"
#include "eventring/calls.h"
#include "watch.h"

typedef struct CallProfileOptions {
  bool cpu;            /* time on the processor instead of real time */
  size_t budget;       /* memory in bytes; 0 for CALL_PROFILE_BUDGET */
  /* the profile is written into the recording at least this often; 0 for 1 s */
  uint64_t period_ns;
  /* patterns with `*`, separated by commas: only these functions are profiled; NULL for
     all functions */
  const char *include;
  const char *exclude; /* patterns of functions that are not profiled; NULL for none */
} CallProfileOptions;

/* Bits of the word by which other processes ask for the profile and for other things
   (FORMAT.md, section 4: requests). */
#define CONTROL_REQUEST_CALLS 1u
#define CONTROL_REQUEST_SPANS 2u
#define CONTROL_REQUEST_LINES 32u
#define CONTROL_REQUEST_OBEYED 8u /* the profile runs, and ends when CALLS is cleared */

#define CALL_PROFILE_BUDGET ((size_t)16 << 20)
#define CALL_PROFILE_LEAST ((size_t)64 << 10)
#define CALL_PROFILE_PERIOD ((uint64_t)1000000000)

typedef struct CallProfile CallProfile;

/* A function that was called: a Lua function (its prototype), a C function, or an
   activity of the runtime. */
typedef struct CalledFunction {
  char *name, *source;
  char *path;      /* path of its file, if `source` is too short for it; otherwise NULL */
  uint32_t line;
  uint8_t kind;    /* enum eventring_calls_function_kind */
  bool hidden;     /* it gets no node in the profile */
  bool named;      /* its calls are spans, because another process has named it */
  uint16_t event;  /* id of its spans; 0 if it is not defined yet */
} CalledFunction;

/* ---- of one domain (call_profile.c) -------------------------------------- */

/* Begins to profile the domain whose thread L runs: from a C function, from the host, or
 * between two instructions. Returns NULL if the domain is profiled already, or if there
 * is no memory (*no_memory). */
CallProfile *call_profile_start(lua_State *L, const CallProfileOptions *options, bool *no_memory);
/* Ends a profile. The caller owns it and frees it; its contents do not change any
   more. */
void call_profile_stop(lua_State *L, CallProfile *profile);
void call_profile_free(CallProfile *profile);
/* Returns the running profile of a domain, or NULL if there is none. */
CallProfile *call_profile_of(const Domain *d);
/* Writes a profile into the recording. For the thread of its domain. */
void call_profile_write(CallProfile *profile, bool final);
void call_profile_write_if_due(CallProfile *profile);
/* Writes the profile of a domain that ends, and frees it. */
void call_profile_end(CallProfile *profile);
/* Installs the watcher for calls as spans, which are recorded while class calls is on, or
   removes it. */
void call_profile_check_spans(lua_State *L);

const eventring_calls *call_profile_calls(const CallProfile *profile);
const CalledFunction *call_profile_function(const CallProfile *profile, uint64_t number);
size_t call_profile_functions(const CallProfile *profile); /* their number */
/* Charges the time up to now to the running function. */
void call_profile_charge(CallProfile *profile);
uint64_t call_profile_started(const CallProfile *profile); /* ticks */
bool call_profile_is_cpu(const CallProfile *profile);

/* ---- of the functions of a domain (called_functions.c) ------------------- */

typedef struct CalledFunctions {
  uint32_t count, room;
  CalledFunction *list;
  struct CalledKey *keys; /* keys of C functions, by address */
  uint32_t key_room;
} CalledFunctions;

enum { CALLED_COLLECTOR, CALLED_FINALIZERS, CALLED_WAIT, CALLED_OTHER, CALLED_FIRST };

bool called_functions_begin(CalledFunctions *f); /* returns false if there is no memory */
void called_functions_free(CalledFunctions *f);
/* Returns the number of the function that runs in a frame which has just been entered. */
uint32_t called_function_find(CalledFunctions *f, lua_State *L, const CallInfo *frame);
bool called_function_matches(const CalledFunction *function, const char *patterns);
/* Tells whether a function is among the names, which are separated by commas. A name is
 * the function's full name, "M.f"; the last part of the full name, "f"; the last part
 * behind the name of the module's file, "m.f"; or the file, or the end of its path, with
 * the line where the function begins, "m.lua:12". */
bool called_function_is_named(const CalledFunction *function, const char *names);

/* ---- of the process (call_profile_process.c) ----------------------------- */

/* Reads SAROS_PROFILE before the recording starts. Warnings begin with `warner`. */
void call_profile_begin_process(const char *warner);
/* Begins to profile a domain that begins, if the process keeps a profile. */
void call_profile_attach(lua_State *L);
/* Writes the last profile of a domain that ends. */
void call_profile_detach(Domain *d);
/* Starts, stops and writes the profile as the process is asked to; called at a
   safepoint. */
void call_profile_obey(Domain *d);

#endif
