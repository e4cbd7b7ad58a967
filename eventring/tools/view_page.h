/* SPDX-License-Identifier: MIT */
/* view_page.h: shared declarations of the files of `eventring view` (cmd_view.c has the
   order of steps). */
#ifndef EVENTRING_TOOL_VIEW_PAGE_H
#define EVENTRING_TOOL_VIEW_PAGE_H

#include "view/events.h"

/* Writes the value of section `head` (DATA.md). */
void view_head(const struct page *page, struct eva_json *json);
/* Returns the command that samples stacks as was done for the page. */
const char *view_sampling(const struct page_run *run);
/* Writes the member `command`: a command line for the target of the page. */
void view_put_command(const struct page_run *run, const char *command, struct eva_json *json);

#endif
