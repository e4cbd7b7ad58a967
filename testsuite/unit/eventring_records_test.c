/* SPDX-License-Identifier: MIT */
/* eventring_records_test.c: blocks of records. How records are appended, their budgets,
   and what is dropped when the budgets are used up (producer/record_blocks.c, over
   memory). How a reader reads records in a whole recording: short-lived domains that
   share blocks, kinds that the reader does not know, ids without a definition. */
#include "eventring_common.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "format/checksum.h"
#include "producer/record_blocks.h"

/* ---- Appending -------------------------------------------------------------------- */

enum { MOST_BLOCKS = 1000 };

static struct file { /* a file of blocks, in memory */
  struct format_status status;
  uint64_t (*block)[FORMAT_BLOCK_WORDS];
  unsigned claimed, room;
} file;

static struct evr_records records;

static struct format_block *claim_block(void *owner, enum format_kind kind) {
  struct file *f = owner;
  return f->claimed < f->room ? (struct format_block *)f->block[f->claimed++] : NULL;
}

static void new_file(unsigned room) {
  free(file.block);
  file = (struct file){.block = calloc(MOST_BLOCKS, sizeof *file.block), .room = room};
  assert_non_null(file.block);
  records = (struct evr_records){.status = &file.status, .claim = claim_block, .owner = &file};
}

static const struct format_count *counts(enum format_kind kind) { return &file.status.kind[kind]; }

/* Returns the size of record n in words: 1 + n % 20. Each record also has its number. */
static unsigned words_of(uint32_t n) { return 1 + n % 20; }

static enum evr_appended append(enum format_kind kind, uint32_t n) {
  uint64_t record[32] = {format_record(999, 1, n)};
  for (unsigned i = 1; i < words_of(n); i++) record[i] = i % 2 ? n + i : 0;
  return evr_records_append_locked(&records, kind, record, words_of(n));
}

/* Checks a block that begins with record n; returns the record after it. */
static uint32_t check_record_block(const uint64_t *words, enum format_kind kind, uint32_t n,
                                   bool finished) {
  const struct format_block *h = (const struct format_block *)words;
  unsigned at = FORMAT_BLOCK_HEADER_WORDS;
  assert_int_equal(h->kind, kind);
  assert_int_equal(h->before, n);
  for (; at < FORMAT_BLOCK_WORDS && words[at]; at += words_of(n), n++) {
    assert_int_equal(words[at], format_record(words_of(n), 1, n));
    for (unsigned i = 1; i < words_of(n); i++) assert_int_equal(words[at + i], i % 2 ? n + i : 0);
  }
  assert_int_equal(words[FORMAT_SEAL_WORD], finished ? evr_seal(at, evr_checksum(words, at)) : 0);
  for (; at < FORMAT_BLOCK_WORDS; at++) assert_int_equal(words[at], 0);
  return n;
}

static void blocks_follow_each_other(void **state) {
  uint32_t n = 0;
  new_file(MOST_BLOCKS);
  for (; file.claimed < 50; n++) {
    assert_int_equal(append(FORMAT_CLOCK, n), EVR_APPENDED);
    assert_int_equal(counts(FORMAT_CLOCK)->records, n + 1);
  }
  uint32_t next = 0;
  for (unsigned i = 0; i < file.claimed; i++) {
    assert_int_equal(file.block[i][0], i + 1);
    next = check_record_block(file.block[i], FORMAT_CLOCK, next, i + 1 < file.claimed);
  }
  assert_int_equal(next, n);
  evr_records_finish_locked(&records);
  uint32_t first = (uint32_t)((struct format_block *)file.block[49])->before;
  check_record_block(file.block[49], FORMAT_CLOCK, first, true);
}

/* Checks that when a budget is used up, further records are dropped, and counted. */
static void a_budget_is_kept(void **state) {
  new_file(MOST_BLOCKS);
  uint32_t n = 0;
  while (evr_records_have_room_locked(&records, FORMAT_CLOCK, 1, words_of(n)) ||
         append(FORMAT_CLOCK, n) == EVR_APPENDED) {
    if (evr_records_have_room_locked(&records, FORMAT_CLOCK, 1, words_of(n)))
      assert_int_equal(append(FORMAT_CLOCK, n), EVR_APPENDED);
    n++;
  }
  assert_int_equal(file.claimed, 128);
  assert_int_equal(counts(FORMAT_CLOCK)->records, n);
  uint64_t dropped = counts(FORMAT_CLOCK)->dropped;
  assert_int_equal(dropped, 1);
  evr_records_drop_locked(&records, FORMAT_CLOCK);
  assert_int_equal(counts(FORMAT_CLOCK)->dropped, 2);
  /* each kind has a budget of its own */
  assert_int_equal(append(FORMAT_DEFINITIONS, 0), EVR_APPENDED);
  assert_int_equal(file.claimed, 129);
}

/* Checks that kinds whose newest records matter drop the oldest block. */
static void the_oldest_block_goes(enum format_kind kind, unsigned budget) {
  uint32_t n = 0, per_round = 0;
  new_file(MOST_BLOCKS);
  for (int round = 0; round < 5; round++) {
    uint32_t blocks_begun = 0, last = records.kind[kind].sequence;
    for (; blocks_begun < budget; n++) {
      assert_int_equal(append(kind, n), EVR_APPENDED);
      if (records.kind[kind].sequence != last) blocks_begun++;
      last = (uint32_t)records.kind[kind].sequence;
    }
    if (round == 0) per_round = n;
    assert_int_equal(file.claimed, budget);
  }
  assert_true(per_round > budget);
  assert_int_equal(records.kind[kind].sequence, 5 * budget);
  assert_int_equal(counts(kind)->records, n);
  uint64_t there = 0;
  for (uint64_t s = 4 * budget + 1; s <= 5 * budget; s++) {
    const uint64_t *words = file.block[(s - 1) % budget];
    uint32_t first = (uint32_t)((const struct format_block *)words)->before;
    assert_int_equal(words[0], s);
    there += check_record_block(words, kind, first, s < 5 * budget) - first;
  }
  assert_int_equal(there + counts(kind)->dropped, n);
}

static void oldest_blocks_go(void **state) {
  the_oldest_block_goes(FORMAT_LIVES, 64);
  the_oldest_block_goes(FORMAT_LAST_STACKS, 32);
}

/* Checks a full disk: what came before stays, and later there may be room again. */
static void no_room_for_a_block(void **state) {
  uint32_t n = 0;
  new_file(2);
  while (append(FORMAT_LIVES, n) == EVR_APPENDED) n++;
  assert_int_equal(counts(FORMAT_LIVES)->records, n);
  assert_int_equal(counts(FORMAT_LIVES)->dropped, 1);
  uint32_t next = check_record_block(file.block[0], FORMAT_LIVES, 0, true);
  assert_int_equal(check_record_block(file.block[1], FORMAT_LIVES, next, false), n);
  file.room++;
  assert_int_equal(append(FORMAT_LIVES, n), EVR_APPENDED);
  assert_int_equal(file.block[2][0], 3);
  assert_int_equal(((struct format_block *)file.block[2])->before, n);
}

/* ---- Domains one after the other -------------------------------------------------- */

enum { THREADS = 5000, EACH = 20, WSIZE = 14 };

static void *live_shortly(void *argument) {
  char name[32];
  int64_t number = (intptr_t)argument;
  snprintf(name, sizeof name, "life %lld", (long long)number);
  eventring_domain *d = eventring_domain_start(name, NULL);
  for (int i = 0; i < EACH; i++)
    eventring_instant_int(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_SIZE, number);
  eventring_domain_stop(d);
  return NULL;
}

static void live_one_after_the_other(void) {
  for (intptr_t i = 1; i <= THREADS; i++) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, live_shortly, (void *)i), 0);
    pthread_join(thread, NULL);
  }
}

static void short_lives_share_blocks(void **state) {
  struct log log = {0};
  struct eventring_ring_info ring = {.size = sizeof ring};
  start_recording(WSIZE);
  live_one_after_the_other();
  eventring_cursor *cursor = open_file(own_path(), 0);
  assert_true(poll_log(cursor, &log, 0) > 0);
  assert_int_equal(eventring_cursor_ring(cursor, 0, EVENTRING_USER, &ring), EVENTRING_OK);
  assert_int_equal(ring.emitted, THREADS * EACH);
  uint64_t most = format_ring_blocks(WSIZE) * (FORMAT_BLOCK_WORDS - FORMAT_BLOCK_HEADER_WORDS) / 2;
  assert_in_range(ring.available, most * 9 / 10, most);
  assert_int_equal(ring.available, ring.delivered);
  assert_int_equal(ring.missed + ring.delivered, THREADS * EACH);
  for (size_t i = 0; i < log.count; i++)
    if (log.seen[i].event.id == T_SIZE)
      assert_int_equal(log.seen[i].event.incarnation, log.seen[i].event.value.u);
  struct eventring_info info = {.size = sizeof info};
  assert_int_equal(eventring_cursor_info(cursor, &info), EVENTRING_OK);
  unsigned known = 0;
  uint64_t last_start = 0;
  for (uint32_t n = 1; n <= THREADS; n++) {
    struct eventring_domain_info life = {.size = sizeof life};
    char name[32];
    if (eventring_cursor_life(cursor, 0, n, &life) != EVENTRING_OK) continue;
    known++;
    snprintf(name, sizeof name, "life %u", n);
    if (n < THREADS - 3000) continue; /* the record of the domain's start may be gone */
    assert_string_equal(life.name, name);
    assert_false(life.alive);
    assert_true(life.tid > 0 && life.start_ns >= last_start && life.stop_ns >= life.start_ns);
    last_start = life.start_ns;
  }
  assert_true(known >= 3000);
  assert_true(info.lives_dropped > 0 && info.lives_dropped < 2 * THREADS - 2 * 3000);
  struct eventring_domain_info present = {.size = sizeof present};
  assert_int_equal(eventring_cursor_domain(cursor, 0, &present), EVENTRING_OK);
  assert_int_equal(present.incarnation, THREADS);
  clear_log(&log);
  eventring_close(cursor);
  eventring_stop();
}

/* Checks that a cursor that follows gets all lives and all names, however often the
   records turn over. */
static void a_cursor_follows_short_lives(void **state) {
  struct log log = {0};
  start_recording(WSIZE);
  eventring_cursor *cursor = open_file(own_path(), 0);
  for (intptr_t i = 1; i <= THREADS; i++) {
    struct eventring_domain_info life = {.size = sizeof life};
    live_shortly((void *)i);
    if (i % 30) continue;
    poll_log(cursor, &log, 0);
    assert_int_equal(eventring_cursor_life(cursor, 0, (uint32_t)i, &life), EVENTRING_OK);
    assert_int_equal(strtol(life.name + 5, NULL, 10), i);
  }
  uint64_t next = 0;
  for (size_t i = 0; i < log.count; i++) {
    const struct eventring_event *e = &log.seen[i].event;
    if (e->id != T_SIZE) continue;
    assert_int_equal(e->value.u, 1 + next++ / EACH);
    assert_int_equal(e->incarnation, e->value.u);
  }
  assert_true(next >= THREADS / 30 * 30 * EACH);
  for (uint32_t n = 1; n <= THREADS / 30 * 30; n++) {
    struct eventring_domain_info life = {.size = sizeof life};
    assert_int_equal(eventring_cursor_life(cursor, 0, n, &life), EVENTRING_OK);
    assert_int_equal(strtol(life.name + 5, NULL, 10), n);
    assert_true(life.stop_ns >= life.start_ns && life.start_ns > 0);
  }
  clear_log(&log);
  eventring_close(cursor);
  eventring_stop();
}

enum { ALIGNMENTS = 9, LIVES = 4500 };

/* Checks that a life whose stop is in the file does not go on, even if the start and the
   stop of the life are in two blocks of records. */
static void check_that_all_stopped(unsigned lives) {
  struct eventring_domain_info life = {.size = sizeof life};
  unsigned known = 0;
  eventring_cursor *cursor = open_file(own_path(), 0);
  for (uint32_t n = 1; n <= lives; n++) {
    if (eventring_cursor_life(cursor, 0, n, &life) != EVENTRING_OK) continue;
    assert_false(life.alive);
    known++;
  }
  assert_true(known > LIVES / 2);
  eventring_close(cursor);
}

static void lives_across_two_blocks(void **state) {
  static const char *const names[] = {"", "a name", "a longer name"};
  for (int i = 0; i < ALIGNMENTS; i++) {
    start_recording(EVENTRING_MIN_WSIZE);
    for (int n = 0; n < i; n++) eventring_domain_stop(start_domain(names[n % 3]));
    for (int n = 0; n < LIVES; n++) eventring_domain_stop(start_domain(names[n * n % 3]));
    check_that_all_stopped((unsigned)(i + LIVES));
    eventring_stop();
  }
}

static void renamed_domains(void **state) {
  struct eventring_domain_info info = {.size = sizeof info};
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_domain *d = start_domain("before");
  eventring_cursor *cursor = open_file(own_path(), 0);
  assert_int_equal(eventring_domain_rename(d, "after"), EVENTRING_OK);
  assert_int_equal(eventring_domain_rename(d, "a\nb"), EVENTRING_E_NAME);
  assert_int_equal(eventring_domain_rename(d, "\xff"), EVENTRING_E_NAME);
  assert_int_equal(eventring_domain_rename(d, NULL), EVENTRING_E_ARGUMENT);
  assert_int_equal(eventring_cursor_domain(cursor, 0, &info), EVENTRING_OK);
  assert_string_equal(info.name, "after");
  assert_int_equal(eventring_cursor_life(cursor, 0, 1, &info), EVENTRING_OK);
  assert_string_equal(info.name, "after");
  assert_true(info.alive && info.tid > 0);
  eventring_domain_stop(d);
  assert_int_equal(eventring_cursor_life(cursor, 0, 1, &info), EVENTRING_OK);
  assert_false(info.alive);
  assert_int_equal(eventring_cursor_life(cursor, 0, 2, &info), EVENTRING_E_NOT_FOUND);
  assert_int_equal(eventring_cursor_life(cursor, 128, 1, &info), EVENTRING_E_ARGUMENT);
  eventring_close(cursor);
  eventring_stop();
}

/* ---- Ids without a definition ----------------------------------------------------- */

/* Checks events whose id is not registered, or registered only later, for all readers,
   whenever they read. */
static void ids_that_are_not_registered(void **state) {
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_domain *d = start_domain("main");
  eventring_cursor *early = open_self(0);
  int id = eventring_register_user(EVENTRING_DEF_COUNTER, "one", 3, EVENTRING_INT, NULL) + 1;
  eventring_user_counter(d, (unsigned)id, 1);
  eventring_user_begin(d, (unsigned)id + 1);
  eventring_user_end(d, (unsigned)id + 1);
  struct log log = {0}, late = {0};
  poll_log(early, &log, 0);
  assert_int_equal(eventring_register_user(EVENTRING_DEF_COUNTER, "two", 3, EVENTRING_INT, NULL),
                   id);
  assert_int_equal(eventring_register_user(EVENTRING_DEF_SPAN, "three", 5, EVENTRING_NONE, NULL),
                   id + 1);
  eventring_user_counter(d, (unsigned)id, 2);
  eventring_user_begin(d, (unsigned)id + 1);
  eventring_user_end(d, (unsigned)id + 1);
  poll_log(early, &log, 0);
  eventring_cursor *cursor = open_file(own_path(), 0);
  poll_log(cursor, &late, 0);
  drop_builtins(&log);
  drop_builtins(&late);
  assert_int_equal(log.count, 6);
  assert_int_equal(late.count, 6);
  for (int i = 0; i < 6; i++) {
    static const char *const names[] = {"(other)", "(other)", "(other)", "two", "three", "three"};
    const struct eventring_event *both[] = {&log.seen[i].event, &late.seen[i].event};
    for (int n = 0; n < 2; n++) {
      assert_string_equal(both[n]->name, names[i]);
      assert_int_equal((both[n]->flags & EVENTRING_UNKNOWN) != 0, i < 3);
      assert_int_equal(both[n]->def == NULL, i < 3);
    }
  }
  assert_int_equal(late.seen[0].event.value.i, 1);
  assert_true(late.seen[2].event.flags & EVENTRING_MATCHED);
  clear_log(&log);
  clear_log(&late);
  eventring_close(early);
  eventring_close(cursor);
  eventring_domain_stop(d);
  eventring_stop();
}

/* ---- What a reader does not know -------------------------------------------------- */

static uint8_t *saved;
static size_t saved_size;
static const char *const changed_path = "changed.eventring";

static void load_saved(const char *path) {
  struct stat st;
  int fd = open(path, O_RDONLY);
  assert_true(fd >= 0 && fstat(fd, &st) == 0);
  saved_size = (size_t)st.st_size;
  saved = malloc(saved_size);
  assert_true(saved && read(fd, saved, saved_size) == (ssize_t)saved_size);
  close(fd);
  unlink(path);
}

static void save_changed(void) {
  int fd = open(changed_path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  assert_int_equal(write(fd, saved, saved_size), (ssize_t)saved_size);
  close(fd);
}

static uint64_t *block_of_kind(unsigned kind) {
  for (size_t at = FORMAT_BLOCKS_OFFSET; at < saved_size; at += FORMAT_BLOCK_BYTES) {
    const struct format_block *h = (const struct format_block *)(saved + at);
    if (h->sequence && h->kind == kind) return (uint64_t *)(saved + at);
  }
  fail_msg("no block of kind %u", kind);
  return NULL;
}

static void seal(uint64_t *words) {
  uint32_t committed = (uint32_t)words[FORMAT_SEAL_WORD];
  words[FORMAT_SEAL_WORD] = evr_seal(committed, evr_checksum(words, committed));
}

/* Reads the changed file. The cursor stays open, for names. */
static struct eventring_info read_changed(struct log *log, eventring_cursor **opened) {
  struct eventring_info info = {.size = sizeof info};
  save_changed();
  eventring_cursor *cursor = *opened = open_file(changed_path, 0);
  assert_true(poll_log(cursor, log, 0) > 0);
  assert_int_equal(poll_log(cursor, log, 0), 0);
  assert_int_equal(eventring_cursor_info(cursor, &info), EVENTRING_OK);
  drop_builtins(log);
  unlink(changed_path);
  return info;
}

static void close_changed(eventring_cursor *cursor, struct log *log) {
  clear_log(log);
  eventring_close(cursor);
}

static void unknown_things_are_passed_over(void **state) {
  char path[4096];
  struct log log = {0};
  start_preserved(EVENTRING_MIN_WSIZE);
  snprintf(path, sizeof path, "%s", own_path());
  eventring_domain *d = start_domain("main");
  for (int i = 0; i < 10; i++) eventring_user_counter(d, T_COUNT, i);
  eventring_domain_stop(d);
  assert_int_equal(eventring_note_error("an error", 8), EVENTRING_OK);
  eventring_stop();
  load_saved(path);
  eventring_cursor *cursor;
  struct eventring_info info = read_changed(&log, &cursor);
  assert_int_equal(info.unknown_blocks + info.unknown_records, 0);
  assert_int_equal(log.count, 10);
  close_changed(cursor, &log);
  /* a block of another kind, a record of another type, a payload of another kind */
  uint64_t *block = block_of_kind(FORMAT_ENDINGS);
  ((struct format_block *)block)->kind = FORMAT_KINDS - 1;
  seal(block);
  struct format_status *status = (struct format_status *)(saved + FORMAT_STATUS_OFFSET);
  status->kind[FORMAT_KINDS - 1] = status->kind[FORMAT_ENDINGS];
  status->kind[FORMAT_ENDINGS] = (struct format_count){0, 0};
  status->checksum = 0; /* 0: there is no checksum */
  block = block_of_kind(FORMAT_LIVES);
  unsigned words = record_words(block[8]);
  block[8] = format_record(words, 9, record_number(block[8]));
  seal(block);
  info = read_changed(&log, &cursor);
  assert_int_equal(info.unknown_blocks, 1);
  assert_int_equal(info.unknown_records, 1);
  assert_int_equal(log.count, 10);
  assert_string_equal(log.seen[9].event.name, "count");
  close_changed(cursor, &log);
  block = block_of_kind(FORMAT_DEFINITIONS);
  for (unsigned at = 8; block[at]; at += record_words(block[at]))
    if (record_number(block[at]) == T_COUNT)
      ((struct format_definition *)(block + at))->payload = 77;
  seal(block);
  read_changed(&log, &cursor);
  assert_int_equal(log.count, 10);
  for (int i = 0; i < 10; i++) {
    const struct eventring_event *e = &log.seen[i].event;
    assert_string_equal(e->name, "count");
    assert_int_equal(e->payload, EVENTRING_RAW);
    assert_int_equal(e->size, 8);
    assert_int_equal(e->value.i, i);
  }
  close_changed(cursor, &log);
  free(saved);
}

/* ---- Linked events and payloads of several values --------------------------------- */

static void linked_events(void **state) {
  struct log log = {0};
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_domain *a = start_domain("a"), *b = start_domain("b");
  unsigned async =
      (unsigned)eventring_register_user(EVENTRING_DEF_ASYNC, "request", 7, EVENTRING_NONE, NULL);
  unsigned flow =
      (unsigned)eventring_register_user(EVENTRING_DEF_FLOW, "message", 7, EVENTRING_INT, NULL);
  eventring_cursor *cursor = open_file(own_path(), EVENTRING_OPEN_MERGED);
  eventring_linked(a, EVENTRING_USER, EVENTRING_CLASS_USER, async, 77, EVENTRING_ROLE_BEGIN);
  const uint64_t with_payload[] = {UINT64_MAX, EVENTRING_ROLE_STEP, 123};
  eventring_emit_words(b, EVENTRING_USER, EVENTRING_TAIL(EVENTRING_LINKED, flow, 0), with_payload,
                       3);
  eventring_set_context(b, EVENTRING_USER, 5);
  eventring_linked(b, EVENTRING_USER, EVENTRING_CLASS_USER, async, 77, EVENTRING_ROLE_END);
  poll_log(cursor, &log, 0);
  drop_builtins(&log);
  assert_int_equal(log.count, 3);
  static const struct { uint64_t link, context; uint8_t role, payload; } expected[] = {
      {77, 0, EVENTRING_ROLE_BEGIN, EVENTRING_NONE},
      {UINT64_MAX, 0, EVENTRING_ROLE_STEP, EVENTRING_INT},
      {77, 5, EVENTRING_ROLE_END, EVENTRING_NONE}};
  for (int i = 0; i < 3; i++) {
    const struct eventring_event *e = &log.seen[i].event;
    assert_int_equal(e->kind, EVENTRING_LINKED);
    assert_true(e->link == expected[i].link);
    assert_int_equal(e->role, expected[i].role);
    assert_int_equal(e->context, expected[i].context);
    assert_int_equal(e->payload, expected[i].payload);
    assert_int_equal(e->flags, 0);
    assert_string_equal(e->name, i == 1 ? "message" : "request");
    assert_int_equal(e->domain, i != 0);
  }
  assert_int_equal(log.seen[1].event.value.i, 123);
  clear_log(&log);
  eventring_close(cursor);
  eventring_domain_stop(a);
  eventring_domain_stop(b);
  eventring_stop();
}

/* Checks that link and role are read as the words before the payload, even if these words
   could be a payload: a text of up to eight bytes, or an integer with something after
   it. */
static void links_that_look_like_payloads(void **state) {
  static const enum eventring_payload payloads[] = {EVENTRING_NONE, EVENTRING_INT,
                                                    EVENTRING_STRING, EVENTRING_BYTES};
  enum { LINKS = 20 };
  struct log log = {0};
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_domain *d = start_domain("main");
  eventring_cursor *cursor = open_file(own_path(), 0);
  for (size_t p = 0; p < sizeof payloads / sizeof *payloads; p++) {
    char name = (char)('a' + p);
    unsigned id =
        (unsigned)eventring_register_user(EVENTRING_DEF_ASYNC, &name, 1, payloads[p], NULL);
    for (uint64_t link = 1; link <= LINKS; link++)
      eventring_linked(d, EVENTRING_USER, EVENTRING_CLASS_USER, id, link, EVENTRING_ROLE_END);
    poll_log(cursor, &log, 0);
    drop_builtins(&log);
    assert_int_equal(log.count, LINKS);
    for (int i = 0; i < LINKS; i++) {
      const struct eventring_event *e = &log.seen[i].event;
      assert_int_equal(e->link, i + 1);
      assert_int_equal(e->role, EVENTRING_ROLE_END);
      assert_int_equal(e->payload, EVENTRING_NONE);
    }
    clear_log(&log);
  }
  eventring_close(cursor);
  eventring_domain_stop(d);
  eventring_stop();
}

/* Checks values within the callback, because they point into the event. */
static int check_values(void *context, const struct eventring_event *event) {
  struct eventring_value v[EVENTRING_MAX_VALUES];
  if (event->id < EVENTRING_ID_HOST) return 0;
  unsigned n = (*(unsigned *)context)++;
  if (n == 0) {
    assert_int_equal(event->payload, EVENTRING_VALUES);
    assert_string_equal(event->def->fields, "count,share,text,size,blob");
    assert_int_equal(eventring_event_values(event, v, EVENTRING_MAX_VALUES), 5);
    assert_true(v[0].payload == EVENTRING_INT && v[0].value.i == -5);
    assert_true(v[1].payload == EVENTRING_DOUBLE && v[1].value.d == 0.25);
    assert_int_equal(v[2].payload, EVENTRING_STRING);
    assert_int_equal(v[2].size, 11);
    assert_memory_equal(v[2].bytes, "eleven byte", 11);
    assert_true(v[3].payload == EVENTRING_UINT && v[3].value.u == UINT64_MAX);
    assert_true(v[4].payload == EVENTRING_BYTES && v[4].size == 0);
    assert_int_equal(eventring_event_values(event, v, 1), 5); /* number of all values */
  } else { /* values that do not match are raw */
    assert_int_equal(event->payload, n == 1 ? EVENTRING_VALUES : EVENTRING_RAW);
    assert_int_equal(eventring_event_values(event, v, EVENTRING_MAX_VALUES), 0);
  }
  return 0;
}

static uint64_t double_word(double value) {
  uint64_t word;
  memcpy(&word, &value, sizeof word);
  return word;
}

static void payloads_of_several_values(void **state) {
  static const struct eventring_def def = {
      .name = "several", .kind = EVENTRING_DEF_INSTANT, .event_class = EVENTRING_CLASS_USER,
      .ring = EVENTRING_USER, .payload = EVENTRING_VALUES, .fields = "count,share,text,size,blob"};
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_domain *d = start_domain("main");
  int id = eventring_register(&def, NULL);
  assert_true(id > 0);
  uint64_t words[] = {5 | EVENTRING_INT << 4 | EVENTRING_DOUBLE << 8 | EVENTRING_STRING << 12 |
                          EVENTRING_UINT << 16 | EVENTRING_BYTES << 20,
                      (uint64_t)-5, double_word(0.25), 11, 0, 0, UINT64_MAX, 0};
  memcpy(&words[4], "eleven byte", 11);
  const uint64_t tail = EVENTRING_TAIL(EVENTRING_INSTANT, (unsigned)id, 0);
  eventring_emit_words(d, EVENTRING_USER, tail, words, 8);
  static const uint64_t none[] = {0};
  eventring_emit_words(d, EVENTRING_USER, tail, none, 1); /* no value at all */
  eventring_emit_words(d, EVENTRING_USER, tail, words, 7); /* one value is missing */
  static const uint64_t unknown[] = {1 | 9 << 4, 7};
  /* this kind of value is not known */
  eventring_emit_words(d, EVENTRING_USER, tail, unknown, 2);
  static const uint64_t longer[] = {1 | EVENTRING_STRING << 4, 17, 0, 0};
  eventring_emit_words(d, EVENTRING_USER, tail, longer, 4); /* a value reaches beyond the
                                                               payload */
  eventring_cursor *cursor = open_file(own_path(), 0);
  unsigned seen = 0;
  static const struct eventring_callbacks callbacks = {sizeof callbacks, check_values, NULL};
  eventring_poll(cursor, &callbacks, &seen, 0);
  assert_int_equal(seen, 5);
  eventring_close(cursor);
  eventring_domain_stop(d);
  eventring_stop();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_follow_each_other),
      cmocka_unit_test(a_budget_is_kept),
      cmocka_unit_test(oldest_blocks_go),
      cmocka_unit_test(no_room_for_a_block),
      cmocka_unit_test(short_lives_share_blocks),
      cmocka_unit_test(a_cursor_follows_short_lives),
      cmocka_unit_test(lives_across_two_blocks),
      cmocka_unit_test(renamed_domains),
      cmocka_unit_test(ids_that_are_not_registered),
      cmocka_unit_test(unknown_things_are_passed_over),
      cmocka_unit_test(linked_events),
      cmocka_unit_test(links_that_look_like_payloads),
      cmocka_unit_test(payloads_of_several_values),
  };
  register_test_events();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  free(file.block);
  return failed;
}
