/* SPDX-License-Identifier: MIT */
/* atomics.h: fences, and stores into memory that other processes read. */
#ifndef EVENTRING_ATOMICS_H
#define EVENTRING_ATOMICS_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* ---- Fences ---------------------------------------------------------------------
 * ThreadSanitizer does not know fences. In a build for it, a fence is a read-modify-write
 * of one word, which orders more than a fence does. So ThreadSanitizer finds races that
 * no fence would prevent, and does not report races that fences prevent. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EVR_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(EVR_TSAN)
extern uint32_t evr_fence_word;
static inline void evr_fence_acquire(void) {
  /* acq_rel, for both kinds of fences: each caller names the partner */
  (void)__atomic_fetch_add(&evr_fence_word, 0, __ATOMIC_ACQ_REL);
}
static inline void evr_fence_release(void) { evr_fence_acquire(); }
#else
/* Keeps what follows after the loads before it; its caller names the partner. */
static inline void evr_fence_acquire(void) { __atomic_thread_fence(__ATOMIC_ACQUIRE); }
/* Keeps what precedes it before the stores after it; its caller names the partner. */
static inline void evr_fence_release(void) { __atomic_thread_fence(__ATOMIC_RELEASE); }
#endif

/* ---- Test points -------------------------------------------------------------- Names
 * for the steps of the block transition (lane.c, block.c), and for two moments of a
 * reader. A race test that is compiled with EVENTRING_TESTPOINTS stops a thread at one of
 * these steps. */
enum evr_step {
  EVR_W1, EVR_W2, EVR_W3, EVR_W4, EVR_W5, EVR_W6,
  EVR_R1, EVR_R2, EVR_R3, EVR_R4, EVR_R5,
  EVR_RECORDS, /* between the two reads of a block of records out of a file */
  EVR_RUNS     /* between the loads of a ring's head and of its runs */
};
#ifdef EVENTRING_TESTPOINTS
/* Runs before the step; the test defines it. */
void eventring_testpoint(enum evr_step step);
#define evr_testpoint(step) eventring_testpoint(EVR_##step)
#else
#define evr_testpoint(step) ((void)0)
#endif

/* Stores whole words into memory that readers may be reading, each by a relaxed store. */
static inline void evr_store_words(void *to, const void *from, size_t bytes) {
  uint64_t *word = (uint64_t *)to;
  for (size_t i = 0; i < bytes / sizeof *word; i++) {
    uint64_t value;
    __builtin_memcpy(&value, (const char *)from + i * sizeof value, sizeof value);
    __atomic_store_n(&word[i], value, __ATOMIC_RELAXED);
  }
}

/* Stores zeros to 64-bit words, each by a relaxed store. The string instruction stores
   whole quadwords. The order of these stores is undefined, but all come before the stores
   that follow. */
static inline void evr_store_zeros(uint64_t *words, size_t count) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(EVR_TSAN)
  __asm__ __volatile__("rep stosq" : "+D"(words), "+c"(count) : "a"(0ull) : "memory");
#else
  for (size_t i = 0; i < count; i++) __atomic_store_n(&words[i], 0, __ATOMIC_RELAXED);
#endif
}

#pragma GCC visibility pop

#endif /* EVENTRING_ATOMICS_H */
