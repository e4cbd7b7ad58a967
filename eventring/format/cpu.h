/* SPDX-License-Identifier: MIT */
/* cpu.h: which instructions this processor has.
 *
 * Asks the C library, which has found them out already. The compiler's builtin runs CPUID
 * at each start of a program, which takes as long in a virtual machine as starting a
 * recording. */
#ifndef EVENTRING_CPU_H
#define EVENTRING_CPU_H

/* A test also compiles sources with EVENTRING_PLAIN_RUNS: the code for other
   processors. */
#if defined(__x86_64__) && !defined(EVENTRING_PLAIN_RUNS)
#define EVR_AVX2 1
#endif

#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#define EVR_CPU_HAS(compiler, library) CPU_FEATURE_ACTIVE(library)
#elif defined(__x86_64__)
#define EVR_CPU_HAS(compiler, library) __builtin_cpu_supports(#compiler)
#endif

#endif /* EVENTRING_CPU_H */
