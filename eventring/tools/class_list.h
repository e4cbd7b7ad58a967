/* SPDX-License-Identifier: MIT */
/* class_list.h: the classes that words of the user name. */
#ifndef EVENTRING_TOOL_CLASS_LIST_H
#define EVENTRING_TOOL_CLASS_LIST_H

#include "tool.h"

enum { CLASS_TROUBLE = EVENTRING_MAX_CLASSES * (EVENTRING_MAX_CLASS_NAME + 2) + 256 };

/* The bit of the recording's class of this name, `size` bytes; 0: there is none. Then
   `trouble` has why, with the classes that there are (the name as it was given: print it with
   complain or print_foreign). */
uint64_t class_by_name(const eventring_cursor *cursor, const char *name, size_t size,
                       char trouble[CLASS_TROUBLE]);

/* Adds the classes of `NAME,NAME...` to *classes; `all` is all that the recording has.
   `off`: they are to be switched off, so they may also be some that programs have and this
   one has no events of, and not `lifecycle` alone, which is always recorded. False, with the
   reason in `trouble`, if the list is not right. An empty list is. */
bool class_list_read(const eventring_cursor *cursor, const char *list, bool off,
                     uint64_t *classes, char trouble[CLASS_TROUBLE]);

#endif
