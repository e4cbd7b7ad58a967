/* SPDX-License-Identifier: MIT */
/* vm/call_profile.h: the profile of calls of a domain, and calls as spans (design: top of
 * call_profile.c); when the process keeps one (call_profile_process.c). */
#ifndef SAROS_VM_CALL_PROFILE_H
#define SAROS_VM_CALL_PROFILE_H

#include "domain.h"
#include "eventring/calls.h"
#include "watch.h"

typedef struct CallProfileOptions {
  bool cpu;            /* time of the processor */
  size_t budget;       /* bytes; 0: CALL_PROFILE_BUDGET */
  uint64_t period_ns;  /* it is written into the recording at least that often; 0: 1 s */
  const char *include; /* patterns with `*`, with commas between them: only these functions; */
  const char *exclude; /* not these. NULL: all, none */
} CallProfileOptions;

/* Bits of the word by which others ask for it (FORMAT.md, section 4: call_profile). */
#define CALL_PROFILE_WORD_CALLS 1u
#define CALL_PROFILE_WORD_SPANS 2u
#define CALL_PROFILE_WORD_LINES 32u
#define CALL_PROFILE_WORD_OBEYED 8u /* the profile runs, and ends when CALLS is cleared */

#define CALL_PROFILE_BUDGET ((size_t)16 << 20)
#define CALL_PROFILE_LEAST ((size_t)64 << 10)
#define CALL_PROFILE_PERIOD ((uint64_t)1000000000)

typedef struct CallProfile CallProfile;

/* A function that was called: one of Lua (its prototype), of C, or what the runtime does. */
typedef struct CalledFunction {
  char *name, *source;
  char *path;      /* of its source, where that is too long for `source'; else NULL */
  uint32_t line;
  uint8_t kind;    /* enum eventring_calls_function_kind */
  bool hidden;     /* it is to have no node */
  bool named;      /* its calls are to be spans, as others have named it */
  uint16_t event;  /* id of its spans; 0: not defined yet */
} CalledFunction;

/* ---- of one domain (call_profile.c) -------------------------------------- */

/* Begins to profile the domain whose thread L runs, from a C function, the host, or
 * between two instructions. NULL: it is profiled already, or *no_memory. */
CallProfile *call_profile_start(lua_State *L, const CallProfileOptions *options, bool *no_memory);
/* Ends it. The result is the caller's, who frees it; what it holds does not change. */
void call_profile_stop(lua_State *L, CallProfile *profile);
void call_profile_free(CallProfile *profile);
/* That of the domain which is running; NULL: none. */
CallProfile *call_profile_of(const Domain *d);
/* Writes it into the recording. Own thread. */
void call_profile_write(CallProfile *profile, bool final);
void call_profile_write_if_due(CallProfile *profile);
/* The domain ends: writes it, and frees it. */
void call_profile_end(CallProfile *profile);
/* Calls are spans while class calls is on. Installs what that needs, or removes it. */
void call_profile_check_spans(lua_State *L);

const eventring_calls *call_profile_calls(const CallProfile *profile);
const CalledFunction *call_profile_function(const CallProfile *profile, uint64_t number);
size_t call_profile_functions(const CallProfile *profile); /* how many there are */
/* The time up to now goes to what runs. */
void call_profile_charge(CallProfile *profile);
uint64_t call_profile_started(const CallProfile *profile); /* ticks */
bool call_profile_is_cpu(const CallProfile *profile);

/* ---- of the functions of a domain (call_profile_names.c) ----------------- */

typedef struct CalledFunctions {
  uint32_t count, room;
  CalledFunction *list;
  struct CalledKey *keys; /* of those of C, by address */
  uint32_t key_room;
} CalledFunctions;

enum { CALLED_COLLECTOR, CALLED_FINALIZERS, CALLED_WAIT, CALLED_OTHER, CALLED_FIRST };

bool called_functions_begin(CalledFunctions *f); /* false: no memory */
void called_functions_free(CalledFunctions *f);
/* The number of the function that runs in a frame which has just been entered. */
uint32_t called_function_find(CalledFunctions *f, lua_State *L, const CallInfo *frame);
bool called_function_matches(const CalledFunction *function, const char *patterns);
/* Is it one of those that are named, with commas between them? By its name, "M.f"; by the last part
 * of that, "f"; by that and its module, as its file is called, "m.f"; by its file, or the end of the
 * path, and the line where it begins, "m.lua:12". */
bool called_function_is_named(const CalledFunction *function, const char *names);

/* ---- of the process (call_profile_process.c) ----------------------------- */

/* Reads SAROS_PROFILE before the recording starts. `warner` stands before warnings. */
void call_profile_begin_process(const char *warner);
/* A domain begins: it is profiled if the process is. */
void call_profile_attach(lua_State *L);
/* It ends: its last profile is written. */
void call_profile_detach(Domain *d);
/* At a safepoint: starts, stops and writes as the process is asked to. */
void call_profile_obey(Domain *d);

#endif
