// SPDX-License-Identifier: MIT
// The headers as C++11 sees them: every kind of declaration and each probe is used.
#include <eventring.h>
#include <eventring/probe.h>
#include <eventring/read.h>

// The structures by their bare names, which no function may hide.
static int take(void *context, const eventring_event *event) {
  const eventring_event copy = *event;
  *static_cast<long *>(context) += copy.kind == EVENTRING_BEGIN;
  return 0;
}

int main() {
  eventring_config config;
  eventring_error error;
  if (eventring_check_version(EVENTRING_VERSION, &error) < 0) return 1;
  eventring_config_init(&config);
  config.start = EVENTRING_START_ON;
  int span = eventring_register_user(EVENTRING_DEF_SPAN, "span", 4, EVENTRING_NONE, &error);
  int text = eventring_register_user(EVENTRING_DEF_INSTANT, "text", 4, EVENTRING_STRING, &error);
  int point = eventring_register_user(EVENTRING_DEF_INSTANT, "point", 5, EVENTRING_NONE, &error);
  int level = eventring_register_user(EVENTRING_DEF_COUNTER, "level", 5, EVENTRING_DOUBLE, &error);
  if (span < 0 || text < 0 || point < 0 || level < 0) return 2;
  if (eventring_start(&config, &error) < 0) return 2;
  eventring_domain *domain = eventring_domain_start("main", &error);
  const unsigned id = static_cast<unsigned>(span);
  for (int i = 0; i < 10; i++) {
    eventring_user_begin(domain, id);
    eventring_instant(domain, EVENTRING_USER, EVENTRING_CLASS_USER,
                      static_cast<unsigned>(point));
    eventring_instant_bytes(domain, EVENTRING_USER, EVENTRING_CLASS_USER,
                          static_cast<unsigned>(text), "x", 1);
    eventring_counter_double(domain, EVENTRING_USER, EVENTRING_CLASS_USER,
                             static_cast<unsigned>(level), 0.5);
    eventring_user_end(domain, id);
  }
  eventring_cursor *cursor = nullptr;
  long begins = 0;
  const eventring_callbacks callbacks = {sizeof callbacks, take, nullptr};
  if (eventring_open_self(&cursor, 0, &error) < 0) return 3;
  if (eventring_poll(cursor, &callbacks, &begins, 0) < 50 || begins != 10) return 4;
  eventring_close(cursor);
  const enum eventring_state state = eventring_state();
  eventring_domain_stop(domain);
  eventring_stop();
  return state == EVENTRING_RUNNING ? 0 : 5;
}
