/* SPDX-License-Identifier: MIT */
/* mutations_test.c: reads thousands of damaged recordings, always the same ones.
 *
 *   mutations_test [COUNT [SEED [FIRST]]]    (default 1500, less in slow builds; those
 *                                            before number FIRST are made and not read)
 *   mutations_test --make-corpus DIRECTORY
 *   mutations_test --add FILE.eventring INPUT    (an input of a recording; `compressed`
 *                                                is one made by eventring record --zstd,
 *                                                `sampled` one with stacks, a heap
 *                                                profile, a profile of calls and
 *                                                footprints, `merged` one of it)
 *
 * Takes the packed files of testsuite/fuzz/corpus/eventring (wrapped and unwrapped rings
 * of the smallest size) and damages each in turn in one of six ways. No read may crash or
 * take 4 s (times TEST_SLOWNESS), and damage of the structure must be an error: a header
 * with a changed magic, version, byte order, size or offset; a file that is shorter than
 * its blocks. In most other cases the checksums are corrected, so that the reader gets
 * past them. The compressed file is damaged in ways of its own. `make check-mutations`
 * runs 20,000 under AddressSanitizer.
 *
 * mutations_read.c defines how a file is read. With questions_read.c in its place this
 * program is questions_test, which asks each file all questions that commands answer.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../unit/slowness.h"
#include "format/checksum.h"
#include "format/format.h"
#include "format/packed.h"
#include "eventring/probe.h"
#include "recording_input.h"

#define REQUIRE(condition) \
  ((condition) ? (void)0 \
               : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), abort()))

/* ---- Random numbers, the same everywhere ------------------------------------------ */

static uint64_t seed = 0x5a05;
static uint64_t random64(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed;
}
static uint64_t below(uint64_t n) { return random64() % n; }

static uint64_t extreme(void) {
  static const uint64_t values[] = {0, 1, 2, 127, 128, 255, 512, 4095, 4096, 8191, 8192,
                                    0x7fffffff, 0x80000000, 0xffffffff,
                                    (uint64_t)1 << 56, ((uint64_t)1 << 63) - 1,
                                    (uint64_t)1 << 63, UINT64_MAX};
  size_t count = sizeof values / sizeof values[0];
  return below(3) ? values[below(count)] : random64();
}

/* ---- A packed file to be damaged -------------------------------------------------- */

struct input { char name[64]; uint8_t *bytes; size_t size; };

static struct input inputs[16];
static unsigned input_count;

/* Returns where a byte of the file is in the packed form, or NULL if it is in a hole. */
static uint8_t *place(uint8_t *packed, size_t size, uint64_t offset) {
  for (size_t at = 4; at + 4 + INPUT_PAGE <= size; at += 4 + INPUT_PAGE) {
    uint32_t number;
    memcpy(&number, packed + at, 4);
    if (number == offset / INPUT_PAGE) return packed + at + 4 + offset % INPUT_PAGE;
  }
  return NULL;
}

static void store(uint8_t *packed, size_t size, uint64_t offset, uint64_t value, size_t bytes) {
  uint8_t *to = place(packed, size, offset);
  if (to) memcpy(to, &value, bytes);
}

/* Returns the offset of a random page that is there, from `first` on. */
static uint64_t some_page(const uint8_t *packed, size_t size, uint64_t first) {
  for (int attempt = 0; attempt < 200; attempt++) {
    size_t pages = (size - 4) / (4 + INPUT_PAGE);
    uint32_t number;
    memcpy(&number, packed + 4 + below(pages) * (4 + INPUT_PAGE), 4);
    if ((uint64_t)number * INPUT_PAGE >= first) return (uint64_t)number * INPUT_PAGE;
  }
  return 0;
}

/* ---- Six ways of damage; each returns whether it must be an error ----------------- */

/* Damages a field that says what the file is: any other value must be an error. */
static bool damage_header(uint8_t *packed, size_t *size) {
  static const struct { uint16_t offset, bytes; } fields[] = {
      {0, 8}, {8, 4}, {12, 4}, {16, 4}, {20, 4}, {24, 4}, {28, 4}, {32, 4}, {36, 4}, {40, 8},
      {48, 8}, {56, 8}, {64, 8}};
  size_t i = below(sizeof fields / sizeof fields[0]);
  uint64_t value = extreme(), before = 0;
  memcpy(&before, place(packed, *size, fields[i].offset), fields[i].bytes);
  /* so that the value is not another valid layout */
  if (fields[i].offset == 24 && value <= FORMAT_STREAM) value += FORMAT_STREAM;
  store(packed, *size, fields[i].offset, value, fields[i].bytes);
  if (fields[i].bytes == 4) value = (uint32_t)value;
  return value != before;
}

enum { FIRST_BLOCK = FORMAT_BLOCKS_OFFSET };

static uint64_t some_block(const uint8_t *packed, size_t size) {
  return some_page(packed, size, FIRST_BLOCK);
}

/* Corrects the checksums for the lengths that the blocks state, so that checksums do not
   protect a reader. */
static void seal_blocks(uint8_t *packed, size_t size) {
  for (size_t at = 4; at + 4 + INPUT_PAGE <= size; at += 4 + INPUT_PAGE) {
    uint64_t words[FORMAT_BLOCK_WORDS];
    uint32_t number;
    memcpy(&number, packed + at, 4);
    memcpy(words, packed + at + 4, sizeof words);
    uint32_t committed = (uint32_t)words[FORMAT_SEAL_WORD];
    if ((uint64_t)number * INPUT_PAGE < FIRST_BLOCK || committed < FORMAT_BLOCK_HEADER_WORDS ||
        committed > FORMAT_BLOCK_WORDS)
      continue;
    words[FORMAT_SEAL_WORD] = evr_seal(committed, evr_checksum(words, committed));
    memcpy(packed + at + 4, words, sizeof words);
  }
}

/* Damages lengths: committed, open, and those of the events and records themselves. */
static bool damage_lengths(uint8_t *packed, size_t *size) {
  uint64_t block = some_block(packed, *size);
  for (uint64_t n = 1 + below(4); n; n--)
    switch (below(5)) {
      case 0: store(packed, *size, block + 48, extreme(), 4); break;
      case 1: store(packed, *size, block + 14, extreme(), 2); break;
      case 2: store(packed, *size, block + 64 + 8 * below(100), extreme(), 2); break;
      default: {
        uint8_t *word = place(packed, *size, block + 64 + 8 * below(504));
        word[0] ^= (uint8_t)(below(32) << 3);
        word[1] ^= (uint8_t)below(4);
    }
    }
  seal_blocks(packed, *size);
  return false; /* events may still be sound */
}

/* Damages ids and kinds: of events, records, blocks. */
static bool damage_ids(uint8_t *packed, size_t *size) {
  uint64_t block = some_block(packed, *size);
  for (uint64_t n = 1 + below(4); n; n--)
    switch (below(4)) {
      case 0: store(packed, *size, block + 8 + 2 * below(4), extreme(), 2); break;
      case 1: store(packed, *size, block + 64 + 8 * below(20), extreme(), below(2) ? 2 : 4); break;
      default: store(packed, *size, block + 64 + 8 * below(504), extreme(), 1 + below(8)); break;
    }
  seal_blocks(packed, *size);
  return false;
}

/* Damages counts and places: status, rings, sequence numbers, events before,
   the control page. */
static bool damage_counts(uint8_t *packed, size_t *size) {
  for (uint64_t n = 1 + below(3); n; n--)
    switch (below(7)) {
      case 6: store(packed, *size, FORMAT_RUNS_OFFSET + 4 * below(40), extreme(), 4); break;
      case 0: store(packed, *size, FORMAT_STATUS_OFFSET + 4 * below(40), extreme(), 4); break;
      case 1: store(packed, *size, FORMAT_STATUS_OFFSET + 512 + 8 * below(20), extreme(), 8); break;
      case 2:
        store(packed, *size, FORMAT_DOMAINS_OFFSET + 256 * below(2) + 128 + 4 * below(32),
              extreme(), 4);
        break;
      case 3:
        store(packed, *size, FORMAT_CONTROL_OFFSET + 8 * below(2) + (below(2) ? 0 : 8 * below(384)),
              extreme(), 8);
        break;
      case 4: store(packed, *size, some_block(packed, *size), extreme(), 8); break;
      default:
        store(packed, *size, some_block(packed, *size) + 16 + 8 * below(4), extreme(), 8);
        break;
    }
  if (below(2)) seal_blocks(packed, *size);
  return false;
}

static bool cut_short(uint8_t *packed, size_t *size) {
  (void)size;
  uint32_t length, shorter;
  memcpy(&length, packed, 4);
  shorter = (uint32_t)(below(4) ? below(length) : below(16) * INPUT_PAGE + below(16) * 8);
  memcpy(packed, &shorter, 4);
  return shorter < length; /* all blocks of the file are claimed */
}

static bool random_bytes(uint8_t *packed, size_t *size) {
  for (uint64_t n = 1 + below(64); n; n--) packed[4 + below(*size - 4)] ^= (uint8_t)random64();
  return false;
}

/* ---- A compressed recording ------------------------------------------------------- */

struct packet { /* a packet of a compressed recording */
  struct packet_header header;
  struct packet_extent extents[PACKET_MOST_EXTENTS];
};

static bool move_bytes(uint8_t *packed, size_t size, uint64_t offset, void *bytes, size_t count,
                       bool into) {
  for (size_t i = 0; i < count; i++) {
    uint8_t *at = place(packed, size, offset + i), *byte = (uint8_t *)bytes + i;
    if (!at) return false;
    if (into) *at = *byte;
    else *byte = *at;
  }
  return true;
}

/* Reads the packet that begins at a place. Returns false if there is none. */
static bool read_packet(uint8_t *packed, size_t size, uint64_t at, struct packet *packet) {
  return move_bytes(packed, size, at, &packet->header, sizeof packet->header, false) &&
         evr_packet_header_valid(&packet->header) &&
         move_bytes(packed, size, at + sizeof packet->header, packet->extents,
                    packet->header.extents * sizeof *packet->extents, false);
}

static uint64_t some_packet(uint8_t *packed, size_t size, struct packet *packet) {
  uint32_t length;
  memcpy(&length, packed, 4);
  for (;;) {
    uint64_t at = below(length / PACKET_ALIGNMENT) * PACKET_ALIGNMENT;
    if (read_packet(packed, size, at, packet)) return at;
  }
}

/* Damages words of packets, with correct checksums: sizes, places, sequences. */
static bool damage_packets(uint8_t *packed, size_t *size) {
  for (uint64_t n = 1 + below(4); n; n--) {
    struct packet packet;
    uint64_t at = some_packet(packed, *size, &packet), value = extreme();
    size_t header = sizeof packet.header, extents = packet.header.extents;
    uint8_t *to = below(2) ? (uint8_t *)&packet.header + 8 + 4 * below(8)
                           : (uint8_t *)packet.extents + 4 * below(4 * extents);
    if (below(2)) value = value % 4096 * 4096;
    memcpy(to, &value, 4);
    if (packet.header.extents <= PACKET_MOST_EXTENTS)
      packet.header.checksum = evr_packet_checksum(&packet.header, packet.extents);
    move_bytes(packed, *size, at, &packet.header, header, true);
    move_bytes(packed, *size, at + header, packet.extents, extents * sizeof *packet.extents, true);
  }
  return false;
}

/* Copies one packet to the place of another. */
static bool copy_packets(uint8_t *packed, size_t *size) {
  for (uint64_t n = 1 + below(8); n; n--) {
    uint8_t bytes[INPUT_PAGE];
    struct packet packet;
    uint64_t from = some_packet(packed, *size, &packet);
    size_t count = packet_length(&packet.header) < sizeof bytes ? packet_length(&packet.header)
                                                                : sizeof bytes;
    if (move_bytes(packed, *size, from, bytes, count, false))
      move_bytes(packed, *size, some_packet(packed, *size, &packet), bytes, count, true);
  }
  return false;
}

static bool cut_packets(uint8_t *packed, size_t *size) {
  cut_short(packed, size);
  return false; /* the result may still be a recording */
}

struct damage { const char *name; bool (*apply)(uint8_t *, size_t *); };
static const struct damage damages[] = {
    {"header", damage_header}, {"lengths", damage_lengths}, {"ids", damage_ids},
    {"counts", damage_counts}, {"truncation", cut_short},   {"random bytes", random_bytes}};
enum { DAMAGES = sizeof damages / sizeof damages[0] };
static const struct damage of_compressed[DAMAGES] = {
    {"", damage_packets}, {"", copy_packets}, {"", damage_packets},
    {"", damage_packets}, {"", cut_packets},  {"", random_bytes}};

/* ---- Running ---------------------------------------------------------------------- */

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct tally { unsigned runs, reported, unreported; };

static double slowest, most_seconds = 4; /* seconds of processor time for one file */

/* Reads a file in all ways. Returns the first error, or 0. */
int read_mutation(const char *path, unsigned number);
/* The default number of files that are read. */
extern const unsigned mutations_by_default;

static unsigned first_read;

static void run_one(unsigned number, const char *path, struct tally tallies[DAMAGES]) {
  const struct input *input = &inputs[number % input_count];
  size_t size = input->size;
  unsigned kind = number / input_count % DAMAGES;
  uint8_t *bytes = malloc(size);
  REQUIRE(bytes);
  memcpy(bytes, input->bytes, size);
  bool is_compressed = strcmp(input->name, "compressed") == 0;
  bool must = (is_compressed ? of_compressed : damages)[kind].apply(bytes, &size);
  if (number < first_read) {
    free(bytes);
    return;
  }
  REQUIRE(input_unpack(path, bytes, size));
  double before = seconds();
  int status = read_mutation(path, number);
  double took = seconds() - before;
  if (took > slowest) slowest = took;
  if (took > most_seconds)
    fprintf(stderr, "mutation %u of %s took %.1f s\n", number, input->name, took);
  tallies[kind].runs++;
  tallies[kind].reported += status < 0;
  if (must && status == 0) {
    fprintf(stderr, "mutation %u of %s (%s) is not reported\n", number, input->name,
            damages[kind].name);
    tallies[kind].unreported++;
  }
  free(bytes);
}

static void load_file(const char *directory, const char *name) {
  char path[4200];
  struct stat st;
  struct input *input = &inputs[input_count];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  int fd = open(path, O_RDONLY);
  REQUIRE(fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 4);
  input->size = (size_t)st.st_size;
  input->bytes = malloc(input->size);
  REQUIRE(input->bytes && read(fd, input->bytes, input->size) == st.st_size);
  close(fd);
  snprintf(input->name, sizeof input->name, "%.60s", name);
  input_count++;
}

static void load_corpus(void) {
  static const char *const names[] = {"wrapped", "unwrapped", "grown", "streamed",
                                      "compressed", "sampled", "merged"};
  const char *source = getenv("SRCDIR");
  char directory[4096];
  snprintf(directory, sizeof directory, "%s/testsuite/fuzz/corpus/eventring",
           source ? source : SOURCE_DIRECTORY);
  for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) load_file(directory, names[i]);
}

static int run_all(unsigned count) {
  struct tally tallies[DAMAGES] = {{0}};
  char path[64];
  unsigned unreported = 0;
  load_corpus();
  snprintf(path, sizeof path, "%s/mutation-%d.eventring",
           access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
  for (unsigned i = 0; i < input_count; i++) {
    REQUIRE(input_unpack(path, inputs[i].bytes, inputs[i].size));
    REQUIRE(read_mutation(path, 0) == EVENTRING_OK);
  }
  for (unsigned i = 0; i < count; i++) run_one(i, path, tallies);
  unlink(path);
  for (int i = 0; i < DAMAGES; i++) {
    printf("%-13s %6u mutations, %6u reported as errors\n", damages[i].name, tallies[i].runs,
           tallies[i].reported);
    unreported += tallies[i].unreported;
  }
  printf("slowest %.3f s\n", slowest);
  return unreported || slowest > most_seconds;
}

/* ---- The corpus ------------------------------------------------------------------- */

/* Uses a short-lived domain. Such domains share blocks. */
static void use_another_domain(unsigned span) {
  eventring_domain *other = eventring_domain_start("another", NULL);
  eventring_user_begin(other, span);
  eventring_domain_stop(other);
}

static void add_input(const char *path, const char *to) {
  size_t size;
  uint8_t *packed = input_pack(path, &size);
  FILE *file = fopen(to, "wb");
  REQUIRE(packed && file && fwrite(packed, 1, size, file) == size && fclose(file) == 0);
  free(packed);
}

static void make_file(const char *directory, const char *name, unsigned rounds,
                      uint64_t grow_blocks, const char *stream) {
  struct eventring_config config;
  char path[4096], to[4200];
  eventring_config_init(&config);
  config.start = rounds ? EVENTRING_START_ON : EVENTRING_START_STANDBY;
  config.wsize = EVENTRING_MIN_WSIZE;
  config.preserve = true;
  config.stream = stream;
  config.program = "corpus";
  config.hold_ns = grow_blocks ? 1000000000000 : 0;
  config.grow_bytes = grow_blocks * FORMAT_BLOCK_BYTES;
  REQUIRE(eventring_start(&config, NULL) == EVENTRING_OK);
  int span = eventring_register_user(EVENTRING_DEF_SPAN, "span", 4, EVENTRING_NONE, NULL);
  int count = eventring_register_user(EVENTRING_DEF_COUNTER, "count", 5, EVENTRING_INT, NULL);
  int text = eventring_register_user(EVENTRING_DEF_INSTANT, "text", 4, EVENTRING_STRING, NULL);
  int flow = eventring_register_user(EVENTRING_DEF_FLOW, "flow", 4, EVENTRING_NONE, NULL);
  eventring_domain *d = eventring_domain_start("one", NULL);
  for (unsigned i = 0; i < rounds; i++) {
    eventring_user_begin(d, (unsigned)span);
    eventring_user_counter(d, (unsigned)count, i);
    if (i % 5 == 0)
      eventring_instant_bytes(d, EVENTRING_USER, EVENTRING_CLASS_USER, (unsigned)text,
                              "some text", 9);
    if (i % 9) eventring_user_end(d, (unsigned)span);
    if (i % 50 == 20) eventring_pause(), eventring_resume();
    if (i % 7 == 3) eventring_suspend(d, EVENTRING_USER, EVENTRING_CLASS_USER, 1 + i % 3);
    eventring_set_context(d, EVENTRING_USER, i / 5 % 4);
    if (i % 11 == 0)
      eventring_linked(d, EVENTRING_USER, EVENTRING_CLASS_USER, (unsigned)flow, i,
                       1 + i % 3);
    if (i % 13 == 0) use_another_domain((unsigned)span);
  }
  eventring_path(path, sizeof path);
  eventring_domain_stop(d);
  eventring_stop();
  snprintf(to, sizeof to, "%s/%s", directory, name);
  add_input(path, to);
  unlink(path);
}

int main(int argc, char **argv) {
  most_seconds *= slowness();
  if (argc == 3 && strcmp(argv[1], "--make-corpus") == 0) {
    make_file(argv[2], "wrapped", 2000, 0, NULL);
    make_file(argv[2], "unwrapped", 60, 0, NULL);
    make_file(argv[2], "standby", 0, 0, NULL);
    /* the ring of this file grows to 16 blocks, and wraps several times */
    make_file(argv[2], "grown", 4000, 64, NULL);
    make_file(argv[2], "streamed", 2500, 0, "streamed"); /* this file has units of several
                                                            chunks */
    return 0;
  }
  if (argc == 4 && strcmp(argv[1], "--add") == 0) {
    add_input(argv[2], argv[3]);
    return 0;
  }
  unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : mutations_by_default / slowness();
  if (argc > 2) seed = strtoull(argv[2], NULL, 0) | 1;
  if (argc > 3) first_read = (unsigned)atoi(argv[3]);
  return run_all(count);
}
