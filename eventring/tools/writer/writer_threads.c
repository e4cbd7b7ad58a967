/* SPDX-License-Identifier: MIT */
/* writer_threads.c: threads that call pwrite.
 *
 * One lock guards a ring of orders and a ring of results, each of `depth` elements. A
 * write that finds no idle thread gets a new thread, up to the depth. */
#include "backend.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "format/now.h"
#include <unistd.h>

struct order {
  const void *from;
  size_t size;
  uint64_t offset;
  void *token;
  ssize_t result;
};

struct threads {
  struct write_backend backend;
  int fd;
  unsigned depth;
  pthread_mutex_t lock;
  pthread_cond_t has_order, has_result;
  /* guarded by the lock */
  bool ends;
  unsigned idle;
  struct order *orders, *results; /* rings of `depth` elements */
  unsigned order_first, orders_waiting, result_first, results_waiting;
  /* used by the user's thread only */
  unsigned count;
  pthread_t *thread;
};

static struct order carry_out(const struct threads *threads, struct order order) {
  ssize_t result = pwrite(threads->fd, order.from, order.size, (off_t)order.offset);
  order.result = result < 0 ? -errno : result;
  return order;
}

static void *work(void *context) {
  struct threads *threads = context;
  pthread_mutex_lock(&threads->lock);
  for (;;) {
    threads->idle++;
    while (!threads->orders_waiting && !threads->ends)
      pthread_cond_wait(&threads->has_order, &threads->lock);
    threads->idle--;
    if (!threads->orders_waiting) break;
    struct order order = threads->orders[threads->order_first];
    threads->order_first = (threads->order_first + 1) % threads->depth;
    threads->orders_waiting--;
    pthread_mutex_unlock(&threads->lock);
    order = carry_out(threads, order);
    pthread_mutex_lock(&threads->lock);
    threads->results[(threads->result_first + threads->results_waiting++) % threads->depth] =
        order;
    pthread_cond_signal(&threads->has_result);
  }
  pthread_mutex_unlock(&threads->lock);
  return NULL;
}

/* Makes a thread that gets no signals, which are for the user's thread. */
static int make_thread(struct threads *threads) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  int error = pthread_create(&threads->thread[threads->count], NULL, work, threads);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  threads->count += error == 0;
  return error;
}

static int start(struct write_backend *self, const void *from, size_t size, uint64_t offset,
                 void *token) {
  struct threads *threads = (struct threads *)self;
  pthread_mutex_lock(&threads->lock);
  bool needs_thread = threads->idle <= threads->orders_waiting;
  pthread_mutex_unlock(&threads->lock);
  if (needs_thread && threads->count < threads->depth && make_thread(threads) != 0 &&
      !threads->count)
    return EAGAIN;
  pthread_mutex_lock(&threads->lock);
  threads->orders[(threads->order_first + threads->orders_waiting++) % threads->depth] =
      (struct order){from, size, offset, token, 0};
  pthread_cond_signal(&threads->has_order);
  pthread_mutex_unlock(&threads->lock);
  return 0;
}

static struct timespec time_after(uint64_t ns) {
  uint64_t at = now_ns() + ns;
  return (struct timespec){.tv_sec = (time_t)(at / 1000000000), .tv_nsec = (long)(at % 1000000000)};
}

static bool collect(struct write_backend *self, uint64_t timeout_ns, void **token,
                    ssize_t *result) {
  struct threads *threads = (struct threads *)self;
  struct timespec deadline = time_after(timeout_ns);
  pthread_mutex_lock(&threads->lock);
  while (timeout_ns && !threads->results_waiting &&
         pthread_cond_timedwait(&threads->has_result, &threads->lock, &deadline) == 0) {}
  bool has = threads->results_waiting != 0;
  if (has) {
    *token = threads->results[threads->result_first].token;
    *result = threads->results[threads->result_first].result;
    threads->result_first = (threads->result_first + 1) % threads->depth;
    threads->results_waiting--;
  }
  pthread_mutex_unlock(&threads->lock);
  return has;
}

static void close_threads(struct write_backend *self) {
  struct threads *threads = (struct threads *)self;
  pthread_mutex_lock(&threads->lock);
  threads->ends = true;
  pthread_cond_broadcast(&threads->has_order);
  pthread_mutex_unlock(&threads->lock);
  for (unsigned i = 0; i < threads->count; i++) pthread_join(threads->thread[i], NULL);
  pthread_cond_destroy(&threads->has_order);
  pthread_cond_destroy(&threads->has_result);
  pthread_mutex_destroy(&threads->lock);
  free(threads->orders);
  free(threads->results);
  free(threads->thread);
  free(threads);
}

static void init_locks(struct threads *threads) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&threads->lock, NULL);
  pthread_cond_init(&threads->has_order, NULL);
  pthread_cond_init(&threads->has_result, &monotonic);
  pthread_condattr_destroy(&monotonic);
}

struct write_backend *threads_backend(int fd, unsigned depth) {
  struct threads *threads = calloc(1, sizeof *threads);
  if (!threads) return NULL;
  *threads = (struct threads){.backend = {start, collect, close_threads}, .fd = fd,
                              .depth = depth};
  init_locks(threads);
  threads->orders = calloc(depth, sizeof *threads->orders);
  threads->results = calloc(depth, sizeof *threads->results);
  threads->thread = calloc(depth, sizeof *threads->thread);
  if (threads->orders && threads->results && threads->thread) return &threads->backend;
  close_threads(&threads->backend);
  errno = ENOMEM;
  return NULL;
}
