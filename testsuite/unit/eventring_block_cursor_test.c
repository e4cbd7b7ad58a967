/* SPDX-License-Identifier: MIT */
/* eventring_block_cursor_test.c: goes from block to block of a ring (block_cursor.c)
 * without definitions, as a copier of raw blocks does. Each event of the ring must be
 * counted once: in a block or in a gap. */
#include "eventring_common.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "reader/block_cursor.h"
#include "reader/locate.h"

enum way { MAPPED, CALLS, WAYS };
enum { WSIZE = 13 /* rings of 16 blocks, of which four are read ahead */ };

struct raw {
  struct evr_metadata meta;
  struct evr_block_cursor blocks;
  struct evr_block rooms[EVR_AHEAD];
  struct eventring_error damage;
};

static eventring_domain *domain;

static void open_raw(struct raw *raw, enum way way) {
  struct eventring_error error = {0};
  memset(raw, 0, sizeof *raw);
  assert_int_equal(evr_open_regular(AT_FDCWD, own_path(), own_path(),
                                    &raw->meta.source.fd,
                                    &error), 0);
  assert_int_equal(evr_metadata_open(&raw->meta, way == MAPPED, &error), 0);
  evr_block_cursor_init(&raw->blocks, &raw->meta, 0, EVENTRING_USER, &raw->damage);
  raw->blocks.rooms = raw->rooms;
  raw->blocks.room_count = evr_block_cursor_rooms(&raw->blocks);
  assert_int_equal(raw->blocks.room_count, way == MAPPED ? 1 : EVR_AHEAD);
}

static void emit(unsigned events) {
  for (unsigned i = 0; i < events; i++) eventring_user_counter(domain, T_COUNT, i);
}

static uint64_t emitted_so_far(void) {
  return evr_domain_emitted(domain, EVENTRING_USER);
}

/* Counts the events of the present block, and moves behind the block. */
static uint64_t pass_block(struct raw *raw) {
  uint64_t events = evr_block_events(raw->blocks.held);
  raw->blocks.position += events;
  return events;
}

/* Reads all there is. Returns the number of events in blocks, adds up gaps
   and counts blocks. */
static uint64_t read_all(struct raw *raw, uint64_t *lost, unsigned *count) {
  uint64_t events = 0, last = raw->blocks.sequence;
  unsigned budget = 100;
  while (evr_block_cursor_next(&raw->blocks, &budget)) {
    assert_true(raw->blocks.sequence > last);
    last = raw->blocks.sequence;
    *lost += raw->blocks.gap;
    *count += 1;
    events += pass_block(raw);
  }
  assert_int_equal(raw->damage.code, 0);
  return events;
}

static void start(void) {
  start_recording(WSIZE);
  domain = start_domain("main");
}

static void stop(struct raw *raw) {
  evr_metadata_close(&raw->meta);
  eventring_domain_stop(domain);
  eventring_stop();
}

static void counts_each_event_once(enum way way) {
  struct raw raw;
  uint64_t lost = 0;
  unsigned count = 0;
  start();
  emit(600);
  open_raw(&raw, way);
  assert_int_equal(read_all(&raw, &lost, &count), emitted_so_far());
  assert_int_equal(lost, 0);
  assert_int_equal(count, evr_block_cursor_head(&raw.blocks));
  stop(&raw);
}

/* Checks that gaps count what was overwritten before the first block, and between two
   visits. */
static void gaps_hold_what_was_overwritten(enum way way) {
  struct raw raw;
  uint64_t lost = 0, read = 0;
  unsigned count = 0;
  start();
  emit(20000);
  open_raw(&raw, way);
  read += read_all(&raw, &lost, &count);
  assert_true(lost > 0 && count == evr_metadata_blocks(&raw.meta, 0, EVENTRING_USER));
  uint64_t before = lost;
  /* the present block was not full when it was copied */
  uint64_t sequence = raw.blocks.sequence;
  emit(30000);
  assert_true(evr_block_cursor_head(&raw.blocks) - sequence >
              evr_metadata_blocks(&raw.meta, 0, EVENTRING_USER));
  read += read_all(&raw, &lost, &count);
  assert_true(lost > before);
  assert_int_equal(read + lost, emitted_so_far());
  stop(&raw);
}

/* Checks that the newest block grows under the cursor, and is reported as complete when
   it is complete. */
static void continues_with_what_was_added(enum way way) {
  struct raw raw;
  unsigned budget = 100;
  start();
  emit(10);
  open_raw(&raw, way);
  struct evr_block_cursor *blocks = &raw.blocks;
  assert_true(evr_block_cursor_next(blocks, &budget));
  assert_false(blocks->complete);
  assert_int_equal(evr_block_events(blocks->held), emitted_so_far());
  const uint64_t *watched = evr_block_cursor_watch(blocks);
  assert_true((watched != NULL) == (way == MAPPED));
  if (watched) assert_int_equal(*watched, 0);
  else assert_false(evr_block_cursor_has_more(blocks));
  emit(5);
  assert_true(evr_block_cursor_has_more(blocks));
  if (watched) assert_int_not_equal(*watched, 0);
  assert_true(evr_block_cursor_more(blocks, evr_block_cursor_head(blocks)));
  assert_int_equal(evr_block_events(blocks->held), emitted_so_far());
  emit(600);
  assert_true(evr_block_cursor_more(blocks, evr_block_cursor_head(blocks)));
  assert_true(blocks->complete);
  uint64_t events = pass_block(&raw), lost = 0;
  unsigned count = 1;
  events += read_all(&raw, &lost, &count);
  assert_int_equal(events, emitted_so_far());
  assert_int_equal(lost, 0);
  stop(&raw);
}

/* Checks that damage is skipped, counted in the gap, and noted where the user of the
   cursor wants. */
static void passes_over_damage(enum way way) {
  struct raw raw;
  unsigned budget = 100, blocks = 0;
  uint64_t events = 0, lost = 0, kind = 99;
  start();
  emit(1200);
  open_raw(&raw, way);
  int fd = open(own_path(), O_RDWR);
  uint64_t offset = evr_metadata_place(&raw.meta, 0, EVENTRING_USER, 2).offset;
  assert_int_equal(pwrite(fd, &kind, sizeof kind, (off_t)offset + 8), sizeof kind);
  close(fd);
  for (; evr_block_cursor_next(&raw.blocks, &budget); blocks++) {
    assert_true(raw.blocks.sequence != 2);
    assert_true((raw.blocks.gap > 0) == (raw.blocks.sequence == 3));
    lost += raw.blocks.gap;
    events += pass_block(&raw);
  }
  assert_int_equal(budget, 99);
  assert_int_equal(raw.damage.code, EVENTRING_E_CORRUPT);
  assert_int_equal(raw.meta.damage.code, 0);
  assert_false(raw.blocks.failed);
  assert_int_equal(blocks + 1, evr_block_cursor_head(&raw.blocks));
  assert_int_equal(events + lost, emitted_so_far());
  stop(&raw);
}

static const struct {
  const char *name;
  void (*run)(enum way way);
} tests[] = {{"counts each event once", counts_each_event_once},
             {"gaps hold what was overwritten", gaps_hold_what_was_overwritten},
             {"continues with what was added", continues_with_what_was_added},
             {"passes over damage", passes_over_damage}};

/* Runs a test in a process of its own: cmocka's runner sets a handler of SIGBUS, and
   under that no file is mapped. (Outside of the runner, cmocka's assertions end the
   process.) */
static int run(size_t i, enum way way) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    tests[i].run(way);
    exit(0);
  }
  if (child < 0 || waitpid(child, &status, 0) != child) return 1;
  printf("%s, %s: %s\n", tests[i].name, way == MAPPED ? "mapped" : "with pread",
         status ? "FAILED" : "ok");
  fflush(stdout);
  return status != 0;
}

int main(void) {
  int failures = 0;
  register_test_events();
  for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
    for (enum way way = MAPPED; way < WAYS; way++) failures += run(i, way);
  return failures != 0;
}
