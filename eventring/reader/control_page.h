/* SPDX-License-Identifier: MIT */
/* control_page.h: writing into the control page of a live recording of another process. */
#ifndef EVENTRING_CONTROL_PAGE_H
#define EVENTRING_CONTROL_PAGE_H

#include "reader/cursor.h"

#pragma GCC visibility push(hidden)

/* E_PERMISSION where the file may only be read (locate.c says why); else 0. `cursor` may be
   NULL: E_ARGUMENT. */
int evr_control_page_check(const eventring_cursor *cursor, struct eventring_error *error);
/* E_STATE if the process ignores this word; `why`: the words of a message for one that does not
   know it. */
int evr_control_page_obeys(const struct evr_metadata *meta, enum format_control_word word,
                           const char *why, struct eventring_error *error);
/* What is done with the page. Not 0: why it was not done. */
typedef int evr_control_page_act(struct format_control *page, void *context);
/* Maps the page of the very file that the cursor reads, for the moment of the action. In case
   the file is cut short at that moment, the mapping is guarded like those of a producer
   (guard.c); a handler of SIGBUS that was not there before is removed afterwards. Fails as
   open and mmap do; E_FULL: too many mappings; E_TRUNCATED: the file was cut short; or
   returns what the action returned, of which *error then says nothing. */
int evr_control_page_act_on(const struct evr_metadata *meta, evr_control_page_act *action,
                            void *context, struct eventring_error *error);

/* Open a question to the process of the recording, and close it (ask.c). As
   eventring_cursor_control. */
int evr_ask(eventring_cursor *cursor, uint32_t kinds, struct eventring_error *error);
int evr_ask_no_more(eventring_cursor *cursor, struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_CONTROL_PAGE_H */
