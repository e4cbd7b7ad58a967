/* SPDX-License-Identifier: MIT */
/* writer_test.c: the writers of `eventring record`, each over a backend whose results
 * this test changes to failures: short writes, EINTR, EAGAIN, no space in the middle, all
 * buffers busy.
 *
 * The linker replaces the tools' write_backend_open by the function below (-Wl,--wrap),
 * and also pwrite, for the results of the system itself. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../unit/cases.h"
#include "../unit/draw.h"
#include "tools/writer/backend.h"

/* ---- Failures --------------------------------------------------------------------- */

enum { MOST = 64, UNIT = 65536 };

static struct {
  unsigned short_writes, interrupts, refusals, again; /* one of this many; 0: none */
  uint64_t full_from, full_to; /* range of offsets at which there is no space */
  bool always_again;
  unsigned in_flight, most_in_flight;
} faults;

struct faulty {
  struct write_backend backend, *real;
  struct { void *token; ssize_t result; } fake[MOST];
  unsigned fakes;
};

static bool happens(unsigned one_of) { return one_of && draw(one_of) == 0; }

static int fake(struct faulty *self, void *token, ssize_t result) {
  self->fake[self->fakes].token = token;
  self->fake[self->fakes++].result = result;
  return 0;
}

static int start(struct write_backend *backend, const void *from, size_t size, uint64_t offset,
                 void *token) {
  struct faulty *self = (struct faulty *)backend;
  if (faults.always_again || happens(faults.refusals)) return EAGAIN;
  if (++faults.in_flight > faults.most_in_flight) faults.most_in_flight = faults.in_flight;
  if (happens(faults.interrupts)) return fake(self, token, -EINTR);
  if (happens(faults.again)) return fake(self, token, -EAGAIN);
  if (offset < faults.full_to && offset + size > faults.full_from) {
    if (offset >= faults.full_from) return fake(self, token, -ENOSPC);
    size = faults.full_from - offset; /* the part for which there is space */
  } else if (size > 1 && happens(faults.short_writes)) {
    size = 1 + draw((unsigned)size - 1);
  }
  return self->real->start(self->real, from, size, offset, token);
}

static bool collect(struct write_backend *backend, uint64_t timeout_ns, void **token,
                    ssize_t *result) {
  struct faulty *self = (struct faulty *)backend;
  bool has = self->fakes != 0;
  if (has) {
    *token = self->fake[--self->fakes].token;
    *result = self->fake[self->fakes].result;
  } else {
    has = self->real->collect(self->real, timeout_ns, token, result);
  }
  faults.in_flight -= has;
  return has;
}

static void close_faulty(struct write_backend *backend) {
  struct faulty *self = (struct faulty *)backend;
  self->real->close(self->real);
  free(self);
}

struct write_backend *__real_write_backend_open(enum writer_kind kind, int fd, unsigned depth);
struct write_backend *__wrap_write_backend_open(enum writer_kind kind, int fd, unsigned depth);
struct write_backend *__wrap_write_backend_open(enum writer_kind kind, int fd, unsigned depth) {
  struct write_backend *real = __real_write_backend_open(kind, fd, depth);
  struct faulty *self = real ? calloc(1, sizeof *self) : NULL;
  if (!self) return NULL;
  self->backend = (struct write_backend){start, collect, close_faulty};
  self->real = real;
  return &self->backend;
}

/* ---- Beneath the backends --------------------------------------------------------- */

static struct {
  unsigned short_writes, interrupts, again; /* one of this many; 0: none */
  unsigned count;                           /* number of calls, by any thread */
} system_faults;

/* Tells whether a call fails: every n-th call, because threads have no random numbers of
   their own. */
static bool is_due(unsigned one_of, unsigned number) { return one_of && number % one_of == 0; }

ssize_t __real_pwrite(int fd, const void *from, size_t size, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *from, size_t size, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *from, size_t size, off_t offset) {
  unsigned number = __atomic_add_fetch(&system_faults.count, 1, __ATOMIC_RELAXED);
  bool interrupted = is_due(system_faults.interrupts, number);
  if (interrupted || is_due(system_faults.again, number)) {
    errno = interrupted ? EINTR : EAGAIN;
    return -1;
  }
  if (size > 1 && is_due(system_faults.short_writes, number)) size = size / 2 + 1;
  return __real_pwrite(fd, from, size, offset);
}

/* ---- A file and its writer -------------------------------------------------------- */

static char path[64];
static int fd;
static struct writer *writer;
static enum writer_kind kind; /* the kind of this run of the tests */

static void begin(unsigned depth) {
  snprintf(path, sizeof path, "/tmp/writer-test-XXXXXX");
  fd = mkstemp(path);
  assert_true(fd >= 0);
  writer = writer_open(kind, fd, depth, UNIT);
  if (!writer) {
    close(fd);
    unlink(path);
    skip(); /* not in this build, or not allowed on this machine */
  }
}

static void end(void) {
  assert_int_equal(writer_jobs(writer), 0);
  writer_close(writer);
  close(fd);
  unlink(path);
  assert_int_equal(faults.in_flight, 0);
  memset(&faults, 0, sizeof faults);
}

static struct write_job *reap(void) {
  struct write_job *job = writer_reap(writer, (uint64_t)10 * 1000000000);
  assert_non_null(job);
  return job;
}

static void expect_bytes(uint64_t offset, const void *bytes, size_t size) {
  char *got = malloc(size);
  assert_int_equal(pread(fd, got, size, (off_t)offset), size);
  assert_memory_equal(got, bytes, size);
  free(got);
}

static char *random_bytes(size_t size) {
  char *bytes = malloc(size);
  for (size_t i = 0; i < size; i++) bytes[i] = (char)random_bits();
  return bytes;
}

/* ---- Tests ------------------------------------------------------------------------ */

enum { JOBS = 64, MOST_BYTES = 3 * UNIT };

/* Checks that all pieces, of all sizes and apart from each other, are there at the
   end. */
static void write_apart(unsigned depth) {
  static struct write_job jobs[JOBS];
  begin(depth);
  for (unsigned i = 0; i < JOBS; i++) {
    size_t size = 1 + draw(MOST_BYTES);
    jobs[i] = (struct write_job){.from = random_bytes(size), .size = size,
                                 .offset = (uint64_t)i * 4 * UNIT};
    writer_submit(writer, &jobs[i]);
  }
  for (unsigned i = 0; i < JOBS; i++) {
    const struct write_job *job = reap();
    assert_int_equal(job->error, 0);
    assert_int_equal(job->written, job->size);
  }
  assert_null(writer_reap(writer, 0));
  for (unsigned i = 0; i < JOBS; i++) {
    expect_bytes(jobs[i].offset, jobs[i].from, jobs[i].size);
    free((void *)(uintptr_t)jobs[i].from);
  }
  assert_true(faults.most_in_flight <= depth);
  end();
}

static void test_apart(void **state) {
  for (unsigned depth = 1; depth <= 8; depth *= 2) write_apart(depth);
}

static void test_hindered(void **state) {
  faults.short_writes = 2;
  faults.interrupts = 5;
  write_apart(4);
  faults.refusals = 6;
  faults.again = 6;
  faults.short_writes = 4;
  write_apart(3);
}

/* Checks the writers with failures of system calls. (The calls of POSIX AIO are the C
   library's own.) */
static void test_system(void **state) {
  for (unsigned depth = 1; depth <= 8; depth *= 2) {
    system_faults.short_writes = 2;
    system_faults.interrupts = 3;
    system_faults.again = 5;
    write_apart(depth);
    if (kind == WRITER_THREADS || kind == WRITER_SERIAL) assert_true(system_faults.count > JOBS);
    memset(&system_faults, 0, sizeof system_faults);
  }
}

/* Checks that the last of the pieces of one unit wins, however they are delayed. */
static void test_order(void **state) {
  static struct write_job jobs[JOBS];
  static uint64_t value[JOBS][512];
  faults.short_writes = 3;
  faults.interrupts = 3;
  begin(8);
  for (unsigned i = 0; i < JOBS; i++) {
    for (unsigned n = 0; n < 512; n++) value[i][n] = i + 1;
    jobs[i] = (struct write_job){.from = value[i], .size = sizeof value[i],
                                 .offset = i % 4 * (uint64_t)UNIT + i % 3 * 1024};
    writer_submit(writer, &jobs[i]);
  }
  for (unsigned i = 0; i < JOBS; i++) assert_int_equal(reap()->error, 0);
  for (unsigned unit = 0; unit < 4; unit++) {
    uint64_t last = JOBS - 4 + unit;
    expect_bytes(jobs[last].offset, value[last], sizeof value[last]);
  }
  end();
}

/* Checks that only pieces fail that find no space, or that wait for a piece that finds
   none. */
static void test_full(void **state) {
  static struct write_job jobs[JOBS];
  static char bytes[2 * UNIT];
  memset(bytes, 'x', sizeof bytes);
  faults.full_from = 10 * 2 * UNIT + 5000;
  faults.full_to = 20 * 2 * UNIT;
  begin(4);
  for (unsigned i = 0; i < JOBS - 1; i++) {
    jobs[i] = (struct write_job){.from = bytes, .size = sizeof bytes,
                                 .offset = i * sizeof bytes};
    writer_submit(writer, &jobs[i]);
    if (i != 10) continue;
    /* writes the second half of the same piece again */
    jobs[JOBS - 1] = (struct write_job){.from = bytes, .size = 10,
                                        .offset = i * sizeof bytes + UNIT};
    writer_submit(writer, &jobs[JOBS - 1]);
  }
  for (unsigned i = 0; i < JOBS; i++) reap();
  for (unsigned i = 0; i < JOBS - 1; i++) {
    bool full = i >= 10 && i < 20;
    assert_int_equal(jobs[i].error, full ? ENOSPC : 0);
    assert_int_equal(jobs[i].written, i == 10 ? 5000 : full ? 0 : sizeof bytes);
  }
  assert_int_equal(jobs[JOBS - 1].error, ENOSPC);
  end();
}

/* Checks that a queue that never takes anything makes the job fail, rather than the
   caller wait for ever. */
static void test_never(void **state) {
  struct write_job job = {.from = "x", .size = 1};
  faults.always_again = true;
  begin(2);
  writer_submit(writer, &job);
  assert_null(writer_reap(writer, 1000 * 1000));
  assert_ptr_equal(reap(), &job);
  assert_int_equal(job.error, EAGAIN);
  end();
}

/* Checks errors of the system itself. */
static void test_real_errors(void **state) {
  struct write_job job = {.from = "x", .size = 1};
  fd = open("/dev/full", O_WRONLY);
  assert_true(fd >= 0);
  writer = writer_open(kind, fd, 2, UNIT);
  if (!writer) skip();
  writer_submit(writer, &job);
  assert_ptr_equal(reap(), &job);
  assert_int_equal(job.error, ENOSPC);
  writer_close(writer);
  close(fd);
  memset(&faults, 0, sizeof faults);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_apart), cmocka_unit_test(test_hindered), cmocka_unit_test(test_system),
      cmocka_unit_test(test_order), cmocka_unit_test(test_full),
      cmocka_unit_test(test_never), cmocka_unit_test(test_real_errors)};
  int failed = 0;
  for (int k = 0; k < WRITER_KINDS; k++) {
    kind = (enum writer_kind)k;
    failed += cmocka_run_group_tests_name(writer_names[k], tests, NULL, NULL);
  }
  return failed != 0;
}
