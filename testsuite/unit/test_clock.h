/* SPDX-License-Identifier: MIT */
/* test_clock.h: included before everything else (-include) by the sources of the library
 * and of a test that sets the time. It replaces the instruction that reads the time stamp
 * counter, and clock_gettime, by functions of the test. Nothing in the library depends on
 * it. */
#ifndef TEST_CLOCK_H
#define TEST_CLOCK_H

#include <stdint.h>
#include <time.h>

uint64_t test_clock_ticks(void);
int test_clock_gettime(clockid_t clock, struct timespec *time);
#define clock_gettime test_clock_gettime

#if defined(__x86_64__)
#include <cpuid.h>
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#undef CPU_FEATURE_PRESENT
#define CPU_FEATURE_PRESENT(feature) 1
#endif
#define __builtin_ia32_rdtsc() test_clock_ticks()
#endif

#endif /* TEST_CLOCK_H */
