/* SPDX-License-Identifier: MIT */
/* control_page.h: writing into the control page of a live recording of another
   process. */
#ifndef EVENTRING_CONTROL_PAGE_H
#define EVENTRING_CONTROL_PAGE_H

#include "reader/cursor.h"

#pragma GCC visibility push(hidden)

/* Returns E_PERMISSION if the cursor may only read the file (see evr_open_file in
   locate.c), E_ARGUMENT if `cursor` is NULL, else 0. */
int evr_control_page_check(const eventring_cursor *cursor, struct eventring_error *error);
/* Returns E_STATE if the process ignores this word, else 0. `why` is the text of the
   message for a process that does not know the word. */
int evr_control_page_obeys(const struct evr_metadata *meta, enum format_control_word word,
                           const char *why, struct eventring_error *error);
/* Changes the page. Returns 0 or an error code. */
typedef int evr_control_page_act(struct format_control *page, void *context);
/* Maps the control page of the very file that the cursor reads, for the duration of the
   action. The mapping is guarded like those of a producer (guard.c), in case the file is
   cut short; if this sets a handler of SIGBUS, it is removed afterwards. Fails as open
   and mmap do, with E_FULL if there are too many mappings, or with E_TRUNCATED if the
   file was cut short; else returns what the action returned, without filling *error. */
int evr_control_page_act_on(const struct evr_metadata *meta, evr_control_page_act *action,
                            void *context, struct eventring_error *error);

/* Opens a question to the process of the recording, or closes it (ask.c). Fails as
   eventring_cursor_control does. */
int evr_ask(eventring_cursor *cursor, uint32_t kinds, struct eventring_error *error);
int evr_ask_no_more(eventring_cursor *cursor, struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_CONTROL_PAGE_H */
