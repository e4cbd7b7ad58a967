/* SPDX-License-Identifier: MIT */
/* testsuite/unit/channel_test.c: holders of channels, and when channels are freed, by
   their counts and when they contain each other. */
#include <stdlib.h>

#include "cases.h"
#include "channel.h"
#include "domain.h"
#include "thread.h"

#define MANY 300

static lua_State *L;
static Peer *self;

static int set_up(void **state) {
  L = domain_new(NULL, NULL);
  if (L == NULL) return -1;
  self = L->domain->peer;
  return channel_count() == 0 ? 0 : -1;
}

static int tear_down(void **state) {
  domain_close(L);
  return channel_count() == 0 ? 0 : -1;
}

static Channel *new_channel(void) { return channel_new(self, 2 * MANY); }

static Message *channel_name(Channel *c) {
  Message *m = message_new(0);
  m->channels = malloc(sizeof *m->channels);
  m->channels[0] = c;
  m->nchannels = 1;
  channel_hold_in_flight(c);
  return m;
}

static void send_text(Channel *into, Channel *c) {
  assert_int_equal(channel_send(into, self, channel_name(c), 0), CHANNEL_OK);
}

static Message *receive_text(Channel *c) {
  Message *m = NULL;
  assert_int_equal(channel_receive(c, self, &m, 0), CHANNEL_OK);
  return m;
}

static void release(Channel *c) { channel_let_go(c, self); }

static void a_chain_goes_with_its_head(void **state) {
  Channel *head = new_channel();
  Channel *last = head;
  for (int i = 0; i < MANY; i++) {
    Channel *next = new_channel();
    send_text(last, next);
    if (last != head) release(last);
    last = next;
  }
  release(last);
  assert_int_equal(channel_count(), MANY + 1);
  release(head);
  assert_int_equal(channel_count(), 0);
}

static void one_that_lies_in_itself_goes(void **state) {
  Channel *c = new_channel();
  for (int i = 0; i < 3; i++) send_text(c, c);
  release(c);
  assert_int_equal(channel_count(), 0);
}

static void those_that_lie_in_each_other_go(void **state) {
  Channel *c[10];
  for (int i = 0; i < 10; i++) c[i] = new_channel();
  for (int i = 0; i < 10; i++) send_text(c[i], c[(i + 1) % 10]), send_text(c[i], c[(i + 3) % 10]);
  for (int i = 0; i < 9; i++) release(c[i]);
  assert_int_equal(channel_count(), 10);
  release(c[9]);
  channel_find_cycles();
  assert_int_equal(channel_count(), 0);
}

/* Checks that a cycle of channels stays, with all that it holds, while a message in a
   domain's channel holds the cycle. */
static void a_cycle_that_can_be_reached_stays(void **state) {
  Channel *held = new_channel(), *a = new_channel(), *b = new_channel(), *leaf = new_channel();
  send_text(held, a);
  send_text(a, b);
  send_text(b, a);
  send_text(b, leaf);
  release(a);
  release(b);
  release(leaf);
  channel_find_cycles();
  assert_int_equal(channel_count(), 4);
  Message *m = receive_text(held);
  channel_find_cycles();
  assert_int_equal(channel_count(), 4); /* the message is on its way */
  assert_true(channel_hold(m->channels[0], self));
  message_free(m);
  assert_int_equal(channel_count(), 4);
  m = receive_text(a);
  assert_ptr_equal(m->channels[0], b);
  message_free(m); /* now nothing holds b, and nothing its leaf */
  assert_int_equal(channel_count(), 2);
  release(a);
  release(held);
  assert_int_equal(channel_count(), 0);
}

static void a_message_that_is_lost_frees_the_cycle(void **state) {
  Channel *a = new_channel(), *b = new_channel();
  send_text(a, b);
  send_text(b, a);
  Message *m = channel_name(a);
  release(a);
  release(b);
  channel_find_cycles();
  assert_int_equal(channel_count(), 2);
  message_free(m);
  channel_find_cycles();
  assert_int_equal(channel_count(), 0);
}

/* Checks that many cycles are found without one search for each. */
static void cycles_do_not_pile_up(void **state) {
  Channel *held[MANY];
  for (int i = 0; i < MANY; i++) held[i] = new_channel();
  for (int i = 0; i < 10 * MANY; i++) {
    Channel *c = new_channel();
    send_text(c, c);
    release(c);
    assert_true(channel_count() <= 2 * MANY);
  }
  for (int i = 0; i < MANY; i++) release(held[i]);
  channel_find_cycles();
  assert_int_equal(channel_count(), 0);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(a_chain_goes_with_its_head),
      TEST(one_that_lies_in_itself_goes),
      TEST(those_that_lie_in_each_other_go),
      TEST(a_cycle_that_can_be_reached_stays),
      TEST(a_message_that_is_lost_frees_the_cycle),
      TEST(cycles_do_not_pile_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
