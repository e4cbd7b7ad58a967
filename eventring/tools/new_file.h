/* SPDX-License-Identifier: MIT */
/* new_file.h: a file, or a folder, that gets its name when it is complete.
 *
 * Until then it is called NAME.partial. So whatever ends the command, also SIGKILL or a
 * lost machine, no part of it is ever under NAME. What was killed leaves NAME.partial.
 * That is locked until it is called NAME (partial_open), so the next command that makes
 * NAME knows that nobody is at work on it, and removes it. NAME must not exist, at the
 * beginning and at the end, but for new_file_replace. Where others may write, in /tmp for
 * example, nothing is followed, cut short or written to that they put there, and the file
 * is readable by its user alone. */
#ifndef EVENTRING_TOOL_NEW_FILE_H
#define EVENTRING_TOOL_NEW_FILE_H

#include <stdbool.h>

struct new_file {
  const char *path; /* NAME */
  char *partial;
  int held;      /* a descriptor beside the one that is written, which keeps the lock; or -1 */
  bool (*is_ours)(const char *name); /* of a folder: may a file in it have this name? else NULL */
  bool replaces; /* what has the name when it is complete */
};

/* Does the name stand for standard output? "-" does, wherever a file is written in
   order. */
bool is_standard_output(const char *path);
/* The name for messages: "standard output", or as it is. */
const char *shown_path(const char *path);
/* May `what`, which is no text, be written there? False after a message: it is a
   terminal. */
bool standard_output_takes(const char *what);

/* Creates NAME.partial, locked as long as it is open; what a command that was killed has
   left under that name is removed. Its descriptor, for reading and writing; -1 with
   errno: EEXIST: somebody is at work on it, or it is no file of this user. */
int partial_open(const char *partial);

/* Creates it: its descriptor, for writing; -1 after a message. Then new_file_keep or
   new_file_drop is to be called. Of "-" it is a descriptor of standard output, which
   these two leave as it is. file->path is the name for messages. */
int new_file_create(struct new_file *file, const char *path);
/* As new_file_create, but NAME may be there: a file, or a link to one, is replaced when
   the new one is complete, and not followed. What is no file is written to as it is
   (special_open). */
int new_file_replace(struct new_file *file, const char *path);
/* As new_file_create, but makes a folder, whose files have names that `is_ours`. One that
   a killed command has left is removed only if it has nothing else. False after a
   message. */
bool new_folder_create(struct new_file *file, const char *path, bool (*is_ours)(const char *name));
/* It is complete: gives it its name. False after a message: then it was removed. */
bool new_file_keep(struct new_file *file);
/* It is not complete: removes it. */
void new_file_drop(struct new_file *file);

/* Opens for writing what has this name and is no file: a terminal or another device of
   this user or of root, a FIFO of this user; and whatever this command has been given
   open (/dev/stdout, /dev/fd/N), to append to it. Nothing is made, cut short or opened
   that is something else. -1 with errno: EEXIST: a file, a folder ...; EPERM: another
   user's. */
int special_open(const char *path);

/* Renames FROM, in the open directory IN (or AT_FDCWD), to TO in INTO, without replacing
   what has this name. 0 or an errno. Not every file system can do this at once; of these
   some have hard links, and where there are none either, what gets the name TO at the
   same moment is replaced. */
int rename_new_at(int in, const char *from, int into, const char *to);

#endif
