/* SPDX-License-Identifier: MIT */
/* class_list.h: the classes that words of the user name. */
#ifndef EVENTRING_TOOL_CLASS_LIST_H
#define EVENTRING_TOOL_CLASS_LIST_H

#include "eventring/read.h"
#include "tool.h"

enum { CLASS_TROUBLE = EVENTRING_MAX_CLASSES * (EVENTRING_MAX_CLASS_NAME + 2) + 256 };

/* Sets *classes to the bit of the recording's class of this name; NULL: leaves it as it
   is. False, after a message: there is no such class. */
bool class_find(const eventring_cursor *cursor, const char *name, uint64_t *classes);

/* Adds the classes of `NAME,NAME...` to *classes; `all` is all that the recording has.
   `off`: they are to be switched off, so they may also be some that programs have and
   this one has no events of, and not `lifecycle` alone, which is always recorded. False,
   with the reason in `trouble` (with names as they were given: print it with complain or
   print_foreign), if the list is not right. An empty list is. */
bool class_list_read(const eventring_cursor *cursor, const char *list, bool off,
                     uint64_t *classes, char trouble[CLASS_TROUBLE]);

#endif
