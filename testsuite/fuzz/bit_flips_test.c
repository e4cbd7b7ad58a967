/* SPDX-License-Identifier: MIT */
/* bit_flips_test.c: no bit of a recording changes unnoticed.
 *
 *   bit_flips_test [FLIPS [SEED [FILE...]]]     (default 1500 for each file, less in slow
 *                                               builds; FILE: recordings of dead
 *                                               processes)
 *
 * Records with several domains: a recording that ended in order, one that was killed, one
 * that was killed after rings had grown, a copy of the latter, and streams, ended and
 * killed. Then it flips single bits, reads everything, and compares the result with what
 * the file said before. If the result is different, and the reader has reported no
 * damage, the flip must lie in one of the places that no checksum covers (is_exempt);
 * otherwise the test fails.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit/slowness.h"
#include "eventring/probe.h"
#include "eventring/tools.h"
#include "format/format.h"

#define REQUIRE(condition) \
  ((condition) ? (void)0 \
               : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), abort()))

static uint64_t seed = 0x5a05;
static uint64_t random64(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed;
}
static uint64_t below(uint64_t n) { return random64() % n; }

/* ---- The contents of a file, as one number ---------------------------------------- */

static uint64_t digest;

static void add(uint64_t value) {
  digest = (digest ^ value) * 0x9e3779b97f4a7c15u;
  digest ^= digest >> 29;
}

static void add_bytes(const void *bytes, size_t size) {
  const uint8_t *from = bytes;
  add(size);
  for (size_t i = 0; i < size; i++) add(from[i]);
}

static void add_text(const char *text) { add_bytes(text ? text : "", text ? strlen(text) : 0); }

static void add_def(const struct eventring_def *def) {
  if (!def) return;
  add_text(def->name), add_text(def->unit), add_text(def->doc), add_text(def->fields);
  add(def->kind), add(def->event_class), add(def->ring), add(def->payload), add(def->measure);
}

static int add_event(void *context, const struct eventring_event *e) {
  (void)context;
  add(e->ns), add(e->begin_ns), add(e->suspended_ns), add(e->domain), add(e->incarnation);
  add(e->id), add(e->ring), add(e->kind), add(e->event_class), add(e->payload), add(e->flags);
  add(e->depth), add(e->context), add(e->link), add(e->role), add(e->value.u);
  add_text(e->name), add_bytes(e->bytes, e->size);
  return 0;
}

static int add_loss(void *context, const struct eventring_loss *loss) {
  (void)context;
  add(loss->count), add(loss->domain), add(loss->ring), add(loss->ns), add(loss->flags);
  return 0;
}

static void add_domain(const struct eventring_domain_info *d) {
  add(d->incarnation), add((uint64_t)d->tid), add(d->alive), add(d->start_ns), add(d->stop_ns);
  add_text(d->name);
}

static void add_figures(eventring_cursor *cursor) {
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    struct eventring_domain_info domain = {.size = sizeof domain};
    struct eventring_ring_info ring = {.size = sizeof ring};
    if (eventring_cursor_domain(cursor, slot, &domain) == EVENTRING_OK) add_domain(&domain);
    for (uint32_t life = 1; life < 6; life++)
      if (eventring_cursor_life(cursor, slot, life, &domain) == EVENTRING_OK) add_domain(&domain);
    for (unsigned r = 0; r < EVENTRING_RINGS; r++)
      if (eventring_cursor_ring(cursor, slot, (enum eventring_ring)r, &ring) == EVENTRING_OK)
        add(ring.emitted), add(ring.available), add(ring.blocks_written), add(ring.newest_ns);
  }
}

static void add_front(eventring_cursor *cursor) {
  struct eventring_info i = {.size = sizeof i};
  if (eventring_cursor_info(cursor, &i) == EVENTRING_OK) {
    add((uint64_t)i.pid), add(i.liveness), add(i.state), add(i.classes), add(i.start_ns);
    add((uint64_t)i.start_wall_ns), add(i.end_ns), add(i.wsize), add(i.names_dropped);
    add(i.lives_dropped), add(i.blocks_claimed), add(i.control_rejected), add_text(i.program);
    add_text(i.clock), add((uint64_t)i.clock_hz);
  }
  for (unsigned r = 0; r < EVENTRING_RINGS; r++)
    add_text(eventring_cursor_name(cursor, EVENTRING_NAME_RING, r));
  for (unsigned n = 0; n < EVENTRING_MAX_CLASSES; n++)
    add_text(eventring_cursor_name(cursor, EVENTRING_NAME_CLASS, n));
  for (unsigned id = 0; id < EVENTRING_MAX_EVENTS; id++) add_def(eventring_cursor_def(cursor, id));
}

/* Returns the digest of a file's contents. Sets *is_sound to whether all contents were
   found sound. */
static uint64_t read_file(const char *path, bool *is_sound) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, add_event, add_loss};
  eventring_cursor *cursor;
  digest = 1;
  *is_sound = false;
  if (eventring_open_path(&cursor, path, EVENTRING_OPEN_MERGED, NULL) != EVENTRING_OK) return 0;
  *is_sound = true;
  for (int polls = 0, status = 1; polls < 50 && status != 0; polls++) {
    status = eventring_poll(cursor, &callbacks, NULL, 0);
    if (status < 0) *is_sound = false;
    if (status < 0 && eventring_finished(cursor)) break;
  }
  eventring_open_spans(cursor, add_event, NULL);
  add_front(cursor);
  add_figures(cursor);
  eventring_close(cursor);
  return digest;
}

/* ---- Where bits are flipped ------------------------------------------------------- */

enum place { HEADER, STATUS, CONTROL, TABLE, EVENTS, RECORDS, PLACES };
static const char *const place_names[PLACES] = {"header",       "status page", "control page",
                                                "tables",       "events",      "records"};

struct file {
  const char *path, *name;
  uint8_t *bytes;
  size_t size;
  uint64_t said;
  uint32_t *blocks; /* numbers of the used blocks */
  uint32_t block_count;
};

static const struct format_status *status_of(const struct file *file) {
  return (const struct format_status *)(file->bytes + FORMAT_STATUS_OFFSET);
}

static const struct format_block *block_at(const struct file *file, uint64_t offset) {
  offset -= (offset - FORMAT_BLOCKS_OFFSET) % FORMAT_BLOCK_BYTES;
  return (const struct format_block *)(file->bytes + offset);
}

static enum place place_of(const struct file *file, uint64_t offset) {
  if (offset < FORMAT_STATUS_OFFSET) return HEADER;
  if (offset < FORMAT_CONTROL_OFFSET) return STATUS;
  if (offset < FORMAT_DOMAINS_OFFSET) return CONTROL;
  if (offset < FORMAT_BLOCKS_OFFSET) return TABLE;
  return block_at(file, offset)->kind == FORMAT_EVENTS ? EVENTS : RECORDS;
}

/* Tells whether damage at this place may stay unnoticed, since a process or a tool may
   change it at any moment until the process is killed:

   - the control page, which tools write;
   - status page, domain and run table, unless the recording ended in order, with all
     domains detached, or is a copy (then these have a checksum);
   - the block of a ring that was being filled.

   (Impossible values there are reported in any case: reader/end_check.c.) */
static bool is_exempt(const struct file *file, uint64_t offset) {
  switch (place_of(file, offset)) {
    case CONTROL:
      return true;
    case STATUS:
    case TABLE:
      return status_of(file)->checksum == 0;
    case EVENTS:
      return block_at(file, offset)->committed == 0;
    default:
      return false;
  }
}

static uint64_t some_offset(const struct file *file) {
  switch (below(16)) {
    case 0:
    case 1:
      return below(sizeof(struct format_header));
    case 2:
      return FORMAT_STATUS_OFFSET + below(below(2) ? 64 : sizeof(struct format_status));
    case 3:
      return FORMAT_CONTROL_OFFSET + below(below(2) ? 48 : sizeof(struct format_control));
    case 4:
      return FORMAT_DOMAINS_OFFSET +
             below((status_of(file)->slots + 1) * sizeof(struct format_domain));
    case 5:
      return FORMAT_RUNS_OFFSET + below((status_of(file)->slots + 1) * sizeof(struct format_runs));
    default:
      return format_block_offset(file->blocks[below(file->block_count)]) +
             below(FORMAT_BLOCK_BYTES);
  }
}

/* ---- Flipping --------------------------------------------------------------------- */

struct tally { unsigned flips, same, reported, exempt, silent; };

static void flip_one(const struct file *file, int fd, const char *path, struct tally *tally) {
  uint64_t offset = some_offset(file);
  unsigned bit = (unsigned)below(8);
  uint8_t byte = file->bytes[offset] ^ (uint8_t)(1u << bit);
  bool is_sound;
  REQUIRE(pwrite(fd, &byte, 1, (off_t)offset) == 1);
  uint64_t said = read_file(path, &is_sound);
  REQUIRE(pwrite(fd, &file->bytes[offset], 1, (off_t)offset) == 1);
  struct tally *t = &tally[place_of(file, offset)];
  t->flips++;
  if (!is_sound) {
    t->reported++;
  } else if (said == file->said) {
    t->same++;
  } else if (is_exempt(file, offset)) {
    t->exempt++;
  } else {
    if (!t->silent++)
      printf("%s: byte %llu, bit %u: another output, and no damage reported\n", file->name,
             (unsigned long long)offset, bit);
  }
}

static void print_row(const char *name, const char *place, const struct tally *t) {
  printf("%-10s %-13s %8u %8u %8u %8u %8u\n", name, place, t->flips, t->same, t->reported,
         t->exempt, t->silent);
}

static unsigned flip_many(const struct file *file, unsigned count) {
  struct tally tally[PLACES] = {{0}}, all = {0};
  char path[64];
  snprintf(path, sizeof path, "%s/bit-flips-%d.eventring",
           access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  REQUIRE(fd >= 0 && write(fd, file->bytes, file->size) == (ssize_t)file->size);
  for (unsigned i = 0; i < count; i++) flip_one(file, fd, path, tally);
  close(fd);
  unlink(path);
  for (int i = 0; i < PLACES; i++) {
    const struct tally *t = &tally[i];
    print_row(file->name, place_names[i], t);
    all.flips += t->flips, all.same += t->same, all.reported += t->reported;
    all.exempt += t->exempt, all.silent += t->silent;
  }
  print_row(file->name, "all", &all);
  return all.silent;
}

/* ---- Files ------------------------------------------------------------------------ */

static void list_blocks(struct file *file) {
  uint64_t claimed = status_of(file)->claimed;
  file->blocks = calloc(claimed, sizeof *file->blocks);
  REQUIRE(file->blocks);
  for (uint64_t block = 0; block < claimed; block++)
    if (block_at(file, format_block_offset(block))->sequence)
      file->blocks[file->block_count++] = (uint32_t)block;
}

static struct file load(const char *path, const char *name) {
  struct file file = {.path = path, .name = name};
  struct stat st;
  bool is_sound;
  int fd = open(path, O_RDONLY);
  REQUIRE(fd >= 0 && fstat(fd, &st) == 0);
  file.size = (size_t)st.st_size;
  file.bytes = malloc(file.size);
  REQUIRE(file.bytes && read(fd, file.bytes, file.size) == st.st_size);
  close(fd);
  file.said = read_file(path, &is_sound);
  if (!is_sound) fprintf(stderr, "%s is damaged before any flip\n", path);
  REQUIRE(is_sound);
  list_blocks(&file);
  return file;
}

static void write_events(eventring_domain *d, const int *id, unsigned rounds) {
  for (unsigned i = 0; i < rounds; i++) {
    eventring_user_begin(d, (unsigned)id[0]);
    eventring_user_counter(d, (unsigned)id[1], i);
    if (i % 5 == 0)
      eventring_instant_bytes(d, EVENTRING_USER, EVENTRING_CLASS_USER, (unsigned)id[2], "a text",
                              6);
    if (i % 9) eventring_user_end(d, (unsigned)id[0]);
    if (i % 7 == 3) eventring_suspend(d, EVENTRING_USER, EVENTRING_CLASS_USER, 1 + i % 3);
    eventring_set_context(d, EVENTRING_USER, i / 5 % 4);
    eventring_linked(d, EVENTRING_USER, EVENTRING_CLASS_USER, (unsigned)id[3], i, 1 + i % 3);
    eventring_begin_int(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, (unsigned)id[0], i);
    if (i == 20) eventring_pause(), eventring_resume();
  }
}

/* Makes a recording in a process of its own, with several domains, some of which use a
   slot in turn. */
static void record(const char *to, bool is_killed, bool grows, bool streams) {
  struct eventring_config config;
  char path[4096];
  eventring_domain *d[4];
  eventring_config_init(&config);
  config.start = EVENTRING_START_ON;
  config.wsize = EVENTRING_MIN_WSIZE;
  config.preserve = true;
  config.stream = streams ? "streams" : NULL;
  config.hold_ns = grows ? 3600000000000 : 0;
  config.grow_bytes = 512 << 10;
  config.program = "bit flips";
  REQUIRE(eventring_start(&config, NULL) == EVENTRING_OK);
  const int id[] = {
      eventring_register_user(EVENTRING_DEF_SPAN, "span", 4, EVENTRING_NONE, NULL),
      eventring_register_user(EVENTRING_DEF_COUNTER, "count", 5, EVENTRING_INT, NULL),
      eventring_register_user(EVENTRING_DEF_INSTANT, "text", 4, EVENTRING_STRING, NULL),
      eventring_register_user(EVENTRING_DEF_FLOW, "flow", 4, EVENTRING_NONE, NULL)};
  for (int i = 0; i < 4; i++) {
    eventring_domain_stop(eventring_domain_start("short", NULL));
    d[i] = eventring_domain_start("long-lived", NULL);
    write_events(d[i], id, i % 2 ? 40 : 1500);
  }
  eventring_domain_rename(d[1], "renamed");
  eventring_path(path, sizeof path);
  REQUIRE(rename(path, to) == 0);
  if (is_killed) raise(SIGKILL);
  for (int i = 0; i < 4; i++) eventring_domain_stop(d[i]);
  eventring_stop();
  _exit(0);
}

static void make_file(const char *path, bool is_killed, bool grows, bool streams) {
  int status;
  unlink(path);
  pid_t pid = fork();
  if (pid == 0) record(path, is_killed, grows, streams);
  REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
  REQUIRE(is_killed ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void make_copy(const char *from, const char *to) {
  eventring_cursor *cursor;
  unlink(to);
  REQUIRE(eventring_open_path(&cursor, from, 0, NULL) == EVENTRING_OK);
  REQUIRE(eventring_snapshot(cursor, to, NULL) == EVENTRING_OK);
  eventring_close(cursor);
}

int main(int argc, char **argv) {
  static const char *const own[] = {"ended.eventring", "killed.eventring", "grown.eventring",
                                    "copy.eventring", "streamed.eventring",
                                    "streamed-killed.eventring"};
  static const char *const names[] = {"ended", "killed", "grown", "copy", "streamed",
                                      "str.killed"};
  enum { OWN = sizeof own / sizeof own[0] };
  unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 1500 / slowness(), silent = 0;
  if (argc > 2) seed = strtoull(argv[2], NULL, 0) | 1;
  printf("%-10s %-13s %8s %8s %8s %8s %8s\n", "file", "place", "flips", "same", "reported",
         "exempt", "silent");
  if (argc <= 3) {
    make_file(own[0], false, false, false);
    make_file(own[1], true, false, false);
    make_file(own[2], true, true, false);
    make_copy(own[2], own[3]);
    make_file(own[4], false, false, true);
    make_file(own[5], true, false, true);
  }
  for (int i = 0; i < (argc > 3 ? argc - 3 : OWN); i++) {
    struct file file = argc > 3 ? load(argv[3 + i], argv[3 + i]) : load(own[i], names[i]);
    silent += flip_many(&file, count);
    free(file.blocks);
    free(file.bytes);
  }
  return silent ? 1 : 0;
}
