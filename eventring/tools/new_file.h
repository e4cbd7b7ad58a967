/* SPDX-License-Identifier: MIT */
/* new_file.h: a file, or a folder, that gets its name when it is complete.
 *
 * Until then it is called NAME.partial. So whatever ends the command, also SIGKILL or a lost
 * machine, no part of it is ever under NAME. What was killed leaves NAME.partial, which nothing
 * overwrites or removes. NAME must not exist, at the beginning and at the end. */
#ifndef EVENTRING_TOOL_NEW_FILE_H
#define EVENTRING_TOOL_NEW_FILE_H

#include <stdbool.h>

struct new_file {
  const char *path; /* NAME */
  char *partial;
};

/* Creates it: its descriptor, for writing; -1 after a message. Then new_file_keep or
   new_file_drop is to be called. */
int new_file_create(struct new_file *file, const char *path);
/* For those who create NAME.partial themselves (it must not be there yet), and remove it if it
   does not become complete: may it be made? False after a message. Then new_file_keep or
   new_file_forget is to be called. */
bool new_file_begin(struct new_file *file, const char *path);
/* It is complete: gives it its name. False after a message: then the file was removed (a folder
   stays as NAME.partial). */
bool new_file_keep(struct new_file *file);
/* It is not complete: removes it. */
void new_file_drop(struct new_file *file);
/* It was removed. */
void new_file_forget(struct new_file *file);

/* Renames FROM to TO, without replacing what has this name. 0 or an errno. Not every file system
   can do this at once; of these some have hard links, and where there are none either, what gets
   the name TO at the same moment is replaced. */
int rename_new(const char *from, const char *to);

#endif
