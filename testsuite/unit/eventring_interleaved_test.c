/* SPDX-License-Identifier: MIT */
/* eventring_interleaved_test.c: bytes are written in chunks into three streams in turn,
 * and are read from each stream as they were written (E4 of measureme, with its sizes).
 *
 * A payload has at most EVENTRING_MAX_PAYLOAD bytes, so a longer chunk takes several
 * events. The first event of a chunk is one byte shorter than the others can be, so that
 * chunks do not end where payloads do. Byte n of a stream is computed from n and the
 * number of the stream. */
#include "eventring_common.h"

static char file[] = "interleaved.eventring";

static const struct { size_t bytes; unsigned count; } chunks[] = {
    {10, 235929}, {5 << 19, 5}, {256 << 10, 10}, {(256 << 10) - 1, 10}, {(256 << 10) + 1, 10},
    {128 << 10, 10}, {(128 << 10) - 1, 10}, {(128 << 10) + 1, 10}};

static const enum eventring_ring rings[] = {EVENTRING_RUNTIME, EVENTRING_USER, EVENTRING_ALLOC};
enum { STREAMS = 3 };

static uint8_t byte_at(unsigned stream, uint64_t n) {
  return (uint8_t)((n + stream * 1000003) * 0x9e3779b97f4a7c15u >> 40);
}

/* Returns where the chunk begins in its stream. */
static uint64_t write_chunk(eventring_domain *d, unsigned stream, uint64_t *written, size_t size) {
  uint8_t bytes[EVENTRING_MAX_PAYLOAD];
  uint64_t begin = *written;
  for (size_t left = size, most = sizeof bytes - 1; left; most = sizeof bytes) {
    size_t part = left < most ? left : most;
    for (size_t i = 0; i < part; i++) bytes[i] = byte_at(stream, *written + i);
    eventring_instant_bytes(d, rings[stream], EVENTRING_CLASS_USER, T_DATA, bytes, part);
    *written += part;
    left -= part;
  }
  return begin;
}

struct reading { uint64_t bytes[STREAMS], events[STREAMS]; };

static int compare(void *context, const struct eventring_event *e) {
  struct reading *r = context;
  unsigned stream = 0;
  if (e->id != T_DATA) return 0;
  while (rings[stream] != (enum eventring_ring)e->ring) stream++;
  assert_false(e->flags & EVENTRING_TRUNCATED);
  assert_int_equal(e->payload, EVENTRING_BYTES);
  for (size_t i = 0; i < e->size; i++)
    if (((const uint8_t *)e->bytes)[i] != byte_at(stream, r->bytes[stream] + i))
      fail_msg("byte %llu of stream %u", (unsigned long long)(r->bytes[stream] + i), stream);
  r->bytes[stream] += e->size;
  r->events[stream]++;
  return 0;
}

static int no_loss(void *context, const struct eventring_loss *loss) {
  fail_msg("%llu events are lost", (unsigned long long)loss->count);
  return 0;
}

static void read_all(unsigned flags, const uint64_t *written) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, compare, no_loss};
  struct reading r = {{0}, {0}};
  eventring_cursor *cursor = open_file(file, flags);
  while (!eventring_finished(cursor)) assert_true(eventring_poll(cursor, &callbacks, &r, 0) >= 0);
  for (unsigned stream = 0; stream < STREAMS; stream++) {
    assert_int_equal(r.bytes[stream], written[stream]);
    if (rings[stream] != EVENTRING_RUNTIME) /* the runtime ring has the library's own
                                               events, too */
      assert_int_equal(emitted(cursor, 0, rings[stream]), r.events[stream]);
  }
  eventring_close(cursor);
}

static void each_stream_is_what_was_written(void **state) {
  for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
    struct eventring_config config = test_config(EVENTRING_DEFAULT_WSIZE);
    struct eventring_error error;
    uint64_t written[STREAMS] = {0};
    unsigned count = chunks[i].count > 10 ? chunks[i].count / slowness() : chunks[i].count;
    config.stream = file;
    config.preserve = true;
    if (eventring_start(&config, &error) != EVENTRING_OK) fail_msg("%s", error.text);
    eventring_domain *d = start_domain("writer");
    for (unsigned n = 0; n < count; n++)
      for (unsigned stream = 0; stream < STREAMS; stream++)
        assert_int_equal(write_chunk(d, stream, &written[stream], chunks[i].bytes),
                         n * (uint64_t)chunks[i].bytes);
    eventring_domain_stop(d);
    eventring_stop();
    read_all(0, written);
    read_all(EVENTRING_OPEN_MERGED, written);
    unlink(file);
  }
}

int main(void) {
  register_test_events();
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_stream_is_what_was_written)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
