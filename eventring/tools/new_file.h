/* SPDX-License-Identifier: MIT */
/* new_file.h: a file, or a folder, that gets its name when it is complete.
 *
 * Until then it is called NAME.partial. So whatever ends the command, also SIGKILL or a lost
 * machine, no part of it is ever under NAME. What was killed leaves NAME.partial, which nothing
 * overwrites or removes. NAME must not exist, at the beginning and at the end, but for
 * new_file_replace. Where others may write, in /tmp for example, nothing is followed, cut short or
 * written to that they put there, and the file is readable by its user alone. */
#ifndef EVENTRING_TOOL_NEW_FILE_H
#define EVENTRING_TOOL_NEW_FILE_H

#include <stdbool.h>

struct new_file {
  const char *path; /* NAME */
  char *partial;
  bool replaces; /* what has the name when it is complete */
};

/* Creates it: its descriptor, for writing; -1 after a message. Then new_file_keep or
   new_file_drop is to be called. */
int new_file_create(struct new_file *file, const char *path);
/* As new_file_create, but NAME may be there: a file, or a link to one, is replaced when the new one
   is complete, and not followed. What is no file is written to as it is (special_open). */
int new_file_replace(struct new_file *file, const char *path);
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

/* Opens for writing what has this name and is no file: a terminal or another device of this user
   or of root, a FIFO of this user; and whatever this command has been given open (/dev/stdout,
   /dev/fd/N), to append to it. Nothing is made, cut short or opened that is something else. -1
   with errno: EEXIST: a file, a folder ...; EPERM: another user's. */
int special_open(const char *path);

/* Renames FROM, in the open directory IN (or AT_FDCWD), to TO in INTO, without replacing what has
   this name. 0 or an errno. Not every file system
   can do this at once; of these some have hard links, and where there are none either, what gets
   the name TO at the same moment is replaced. */
int rename_new_at(int in, const char *from, int into, const char *to);

#endif
