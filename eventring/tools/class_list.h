/* SPDX-License-Identifier: MIT */
/* class_list.h: finds the classes that the user names. */
#ifndef EVENTRING_TOOL_CLASS_LIST_H
#define EVENTRING_TOOL_CLASS_LIST_H

#include "eventring/read.h"
#include "tool.h"

enum { CLASS_TROUBLE = EVENTRING_MAX_CLASSES * (EVENTRING_MAX_CLASS_NAME + 2) + 256 };

/* Sets *classes to the bit of the recording's class of this name; leaves it as it is if
   the name is NULL. Returns false, after a message, if there is no such class. */
bool class_find(const eventring_cursor *cursor, const char *name, uint64_t *classes);

/* Adds the classes of `NAME,NAME...` to *classes; `all` stands for all classes of the
   recording. If `off`, the classes are to be switched off. Then the list may also name
   classes that only other programs have, but not `lifecycle` alone, which is always
   recorded. Returns false if the list is wrong (an empty list is right), with the reason
   in `trouble`. `trouble` contains names as they were given, so print it with complain or
   print_foreign. */
bool class_list_read(const eventring_cursor *cursor, const char *list, bool off,
                     uint64_t *classes, char trouble[CLASS_TROUBLE]);

#endif
