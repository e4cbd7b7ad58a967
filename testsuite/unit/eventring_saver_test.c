/* SPDX-License-Identifier: MIT */
/* eventring_saver_test.c: a saver whose writes fail at random. For each ring, what it
 * reports as saved and lost must be what a reader finds in the file. */
#include <fcntl.h>

#include "eventring/saver.h"
#include "eventring_common.h"
#include "draw.h"

static const struct eventring_saver_options no_options;

enum {
  IMAGE_BYTES = 16 << 20,
  BUFFER_BYTES = 64 << 10,
  PIECES = 64,
  MOST_JOBS = 4000,
  DOMAINS = 2,
  MOST_UNDER_WAY = 8
};

struct job { /* the pieces of a buffer */
  struct eventring_piece piece[PIECES];
  int count;
  uint8_t *bytes;
  bool done, failed, told;
};

static struct job job[MOST_JOBS];
static unsigned jobs, under_way;
static uint8_t *image; /* contents of the file */
static eventring_saver *saver;
static enum { PLAIN, LATE, PACKED } way; /* LATE has many writes of a plain file under
                                            way */
static bool full, stays_full /* the disk is full until the end */, saver_ends, updating;
static unsigned failures;

/* ---- Writing ---------------------------------------------------------------------- */

/* Tells whether a write fails. At the end, writes of records succeed. */
static bool write_fails(enum eventring_piece_kind kind) {
  bool has_room = kind == EVENTRING_PIECE_RECORDS && saver_ends;
  return full && draw(10) < 7 && !has_room;
}

static void put(const struct job *j, const struct eventring_piece *piece, size_t size) {
  assert_true(piece->offset + piece->size <= IMAGE_BYTES);
  memcpy(image + piece->offset, j->bytes + piece->from, size);
}

/* Writes the pieces of a plain file. Each piece is a write, which may stop anywhere. */
static void write_plain(const struct job *j) {
  static const uint64_t zero;
  for (int i = 0; i < j->count; i++) {
    const struct eventring_piece *piece = &j->piece[i];
    bool fails = write_fails((enum eventring_piece_kind)piece->kind);
    size_t written = piece->size;
    if (fails) written = draw(2) ? draw((unsigned)piece->size) : written / 8192 * 4096;
    put(j, piece, written);
    size_t in_part = written % EVENTRING_BLOCK_BYTES;
    if (fails && in_part) memcpy(image + piece->offset + written - in_part, &zero, sizeof zero);
    failures += fails;
    eventring_saver_written(saver, j->bytes, piece, written);
  }
}

static bool overlap(const struct job *a, const struct job *b) {
  for (int i = 0; i < a->count; i++)
    for (int k = 0; k < b->count; k++)
      if (a->piece[i].offset < b->piece[k].offset + b->piece[k].size &&
          b->piece[k].offset < a->piece[i].offset + a->piece[i].size)
        return true;
  return false;
}

/* Tells whether job k may be written: jobs for the same place are written in the order in
   which they were made. */
static bool may_be_written(unsigned first, unsigned k) {
  if (job[k].done) return false;
  for (unsigned i = first; i < k; i++)
    if (!job[i].done && overlap(&job[i], &job[k])) return false;
  return true;
}

static void write_any(void) {
  static unsigned first;
  unsigned k, waiting = 0, chosen;
  if (jobs < first) first = 0;
  while (first < jobs && job[first].done) first++;
  for (k = first; k < jobs; k++) waiting += may_be_written(first, k);
  if (!waiting) return;
  chosen = draw(waiting);
  for (k = first; !may_be_written(first, k) || chosen; k++) chosen -= may_be_written(first, k);
  write_plain(&job[k]);
  job[k].done = true;
  under_way--;
}

/* Reports to the saver what became of a job. Packets are written in any order; the file
   is made of the packets at the end. */
static void tell(struct job *j) {
  for (int i = 0; i < j->count; i++)
    eventring_saver_written(saver, j->bytes, &j->piece[i], j->failed ? 0 : j->piece[i].size);
  j->told = true;
  under_way--;
}

static void finish_any(void) {
  static unsigned first;
  unsigned k, waiting = 0, chosen;
  if (jobs < first) first = 0;
  while (first < jobs && job[first].told) first++;
  for (k = first; k < jobs; k++) waiting += !job[k].done;
  if (!waiting) return;
  chosen = draw(waiting);
  for (k = first; job[k].done || chosen; k++) chosen -= !job[k].done;
  job[k].done = true;
  job[k].failed = write_fails((enum eventring_piece_kind)job[k].piece->kind);
  failures += job[k].failed;
  if (!job[k].failed) tell(&job[k]);
  for (; first < jobs && (job[first].told || job[first].failed); first++)
    if (!job[first].told) tell(&job[first]);
}

static void finish_one(void) {
  if (way == PACKED) finish_any();
  else write_any();
}

static void finish_all(void) {
  while (under_way) finish_one();
}

static void submit(const uint8_t *bytes, size_t size, const struct eventring_piece *pieces,
                   int count) {
  assert_true(count >= 0 && jobs < MOST_JOBS);
  if (!count) return;
  struct job *j = &job[jobs++];
  *j = (struct job){.count = count, .bytes = malloc(size)};
  memcpy(j->bytes, bytes, size);
  memcpy(j->piece, pieces, (size_t)count * sizeof *pieces);
  if (way == PLAIN) {
    write_plain(j);
    return;
  }
  under_way++;
  while (under_way >= MOST_UNDER_WAY || (under_way && draw(2))) finish_one();
}

/* ---- Saving ----------------------------------------------------------------------- */

static uint64_t buffer[BUFFER_BYTES / 8];

static int fill(void) {
  struct eventring_piece piece[PIECES];
  struct eventring_error error = {0};
  size_t used;
  int count = eventring_saver_fill(saver, buffer, sizeof buffer, piece, PIECES, &used, &error);
  if (count < 0) fail_msg("%s", error.text);
  submit((uint8_t *)buffer, used, piece, count);
  return count;
}

/* Begins an update: makes what comes before the front of the update. The update may be
   under way for a while. */
static void begin_update(void) {
  struct eventring_piece piece[PIECES];
  struct eventring_error error = {0};
  bool more = true;
  updating = true;
  while (more) {
    size_t used;
    int count =
        eventring_saver_update(saver, buffer, sizeof buffer, piece, PIECES, &used, &more, &error);
    if (count < 0) fail_msg("%s", error.text);
    submit((uint8_t *)buffer, used, piece, count);
  }
}

static void end_update(void) {
  struct eventring_piece piece[PIECES];
  struct eventring_error error = {0};
  finish_all();
  updating = false;
  if (eventring_saver_front(saver, buffer, UINT64_MAX, saver_ends, piece, &error) < 0)
    fail_msg("%s", error.text);
  bool before = full;
  full = false; /* the front has its place in the file already */
  submit((uint8_t *)buffer, EVENTRING_FRONT_BYTES, piece, 2);
  finish_all();
  full = before;
}

static void save_all(void) {
  if (updating) end_update();
  while (fill()) {} /* an update leaves much to write for later fills */
  begin_update();
  end_update();
}

static void write_some(eventring_domain *domain) {
  for (unsigned left = draw(draw(8) ? 300 : 9000); left; left--) {
    eventring_begin_int(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER, left);
    if (draw(3)) eventring_user_counter(domain, T_COUNT, left);
    eventring_end(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER);
  }
}

static void save_at_random(eventring_domain **domain) {
  for (int round = 0; round < 400; round++) {
    write_some(domain[draw(DOMAINS)]);
    /* What is lost before the first block of a file counts as missed in it. */
    if (round == 20) save_all();
    if (round > 20 && !draw(25)) full = !full;
    if (draw(4)) fill();
    if (!draw(6)) (updating ? end_update : begin_update)();
  }
  full = stays_full;
  /* writes again, so nothing is lost at the end, unless the disk stays full */
  for (int d = 0; d < DOMAINS; d++) {
    eventring_user_counter(domain[d], T_COUNT, 1);
    eventring_begin_int(domain[d], EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER, 1);
    eventring_end(domain[d], EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER);
  }
  assert_int_equal(eventring_saver_end(saver, false, NULL), 0);
  saver_ends = true;
  save_all();
}

/* ---- Checking --------------------------------------------------------------------- */

static void save_image(const char *path) {
  for (unsigned i = 0; way == PACKED && i < jobs; i++)
    for (int k = 0; !job[i].failed && k < job[i].count; k++)
      put(&job[i], &job[i].piece[k], job[i].piece[k].size);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  size_t size = eventring_saver_size(saver);
  assert_int_equal(pwrite(fd, image, size, 0), size);
  close(fd);
}

static void check_rings(eventring_cursor *cursor) {
  static const char *const ways[] = {"plain", "late", "packed"};
  struct eventring_saver_ring said;
  for (unsigned n = 0; eventring_saver_ring(saver, n, &said) == 0; n++) {
    struct eventring_ring_info found = {.size = sizeof found};
    assert_int_equal(
        eventring_cursor_ring(cursor, said.domain, (enum eventring_ring)said.ring, &found), 0);
    if (said.saved != found.delivered || (!stays_full && said.lost != found.lost) ||
        said.missed != found.missed)
      fail_msg("%s, domain %u, ring %u: %llu saved, %llu lost, %llu missed; in the file %llu, "
               "%llu, %llu", ways[way], said.domain, said.ring,
               (unsigned long long)said.saved, (unsigned long long)said.lost,
               (unsigned long long)said.missed, (unsigned long long)found.delivered,
               (unsigned long long)found.lost, (unsigned long long)found.missed);
    assert_int_equal(said.known, said.missed + said.saved + said.lost);
  }
}

static int pass(void *context, const struct eventring_event *event) {
  (void)context, (void)event;
  return 0;
}

static uint64_t check_file(const char *path) {
  const struct eventring_callbacks callbacks = {sizeof callbacks, pass, NULL};
  struct eventring_totals totals = {.size = sizeof totals};
  eventring_cursor *cursor = open_file(path, 0);
  while (eventring_poll(cursor, &callbacks, NULL, 0) > 0) {}
  const struct eventring_error *error = eventring_cursor_error(cursor);
  if (error && error->code) fail_msg("%s", error->text);
  check_rings(cursor);
  eventring_cursor_totals(cursor, &totals);
  eventring_close(cursor);
  return totals.lost;
}

static uint64_t save_once(void) {
  eventring_domain *domain[DOMAINS];
  full = saver_ends = updating = false;
  jobs = under_way = failures = 0;
  memset(image, 0, IMAGE_BYTES);
  start_recording(15);
  for (int d = 0; d < DOMAINS; d++) domain[d] = start_domain("d");
  eventring_cursor *cursor = open_file(own_path(), 0);
  assert_int_equal(eventring_saver_open(&saver, cursor, &no_options, NULL), 0);
  save_at_random(domain);
  save_image("saved.eventring");
  uint64_t lost = check_file("saved.eventring");
  eventring_saver_close(saver);
  eventring_close(cursor);
  for (int d = 0; d < DOMAINS; d++) eventring_domain_stop(domain[d]);
  eventring_stop();
  for (unsigned i = 0; i < jobs; i++) free(job[i].bytes);
  return lost;
}

static void save_often(int as) {
  uint64_t lost = 0, failed = 0;
  way = as;
  for (int i = 0; i < 25; i++) {
    stays_full = i % 2;
    lost += save_once();
    failed += failures;
  }
  assert_true(failed > 500 && lost > 50000); /* otherwise the test has tested nothing */
}

static void test_plain(void **unused) {
  save_often(PLAIN);
}

static void test_late(void **unused) {
  save_often(LATE);
}

static void test_packed(void **unused) {
  save_often(PACKED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain), cmocka_unit_test(test_late),
                                     cmocka_unit_test(test_packed)};
  image = malloc(IMAGE_BYTES);
  register_test_events();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
