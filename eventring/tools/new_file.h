/* SPDX-License-Identifier: MIT */
/* new_file.h: makes a file, or a folder, that gets its name when it is complete.
 *
 * Until then it is called NAME.partial. So whatever ends the command, even SIGKILL or a
 * crash of the machine, NAME is never an incomplete file. A killed command leaves
 * NAME.partial. NAME.partial is locked until it becomes NAME (partial_open). So the next
 * command that makes NAME can tell that no command works on NAME.partial, and removes it.
 * NAME must not exist at the beginning or at the end, except for new_file_replace. In a
 * folder where others may write, such as /tmp, no file of theirs is followed, truncated
 * or written, and only its user can read the new file. */
#ifndef EVENTRING_TOOL_NEW_FILE_H
#define EVENTRING_TOOL_NEW_FILE_H

#include <stdbool.h>

struct new_file {
  const char *path; /* NAME */
  char *partial;
  /* another descriptor of the file, which keeps the lock, or -1 */
  int held;
  /* for a folder: tells whether a file in the folder may have this name; else NULL */
  bool (*is_ours)(const char *name);
  bool replaces; /* at the end, the file replaces what has the name */
};

/* Tells whether the name stands for standard output, as "-" does wherever a file is
   written in order. */
bool is_standard_output(const char *path);
/* Returns the name for messages: "standard output", or the name as it is. */
const char *shown_path(const char *path);
/* Tells whether `what`, which is not text, may be written to standard output. Returns
   false, after a message, if standard output is a terminal. */
bool standard_output_takes(const char *what);

/* Creates NAME.partial, locked as long as it is open, after removing what a killed
   command has left under that name. Returns its descriptor, for reading and writing.
   Returns -1 with errno, which is EEXIST if another command works on the file or it is no
   file of this user. */
int partial_open(const char *partial);

/* Creates a file. Returns its descriptor, for writing, or -1 after a message. Then
   new_file_keep or new_file_drop must be called. For "-" returns a descriptor of standard
   output, which these two leave as it is. file->path is the name for messages. */
int new_file_create(struct new_file *file, const char *path);
/* Creates a file as new_file_create does, but NAME may exist. A file, or a link itself,
   is replaced when the new file is complete. Anything else is written to directly
   (special_open). */
int new_file_replace(struct new_file *file, const char *path);
/* Creates a folder as new_file_create does a file; its files have names for which
   `is_ours` is true. A folder that a killed command has left is removed only if it has no
   other files. Returns false after a message. */
bool new_folder_create(struct new_file *file, const char *path, bool (*is_ours)(const char *name));
/* Gives a complete file its name. Returns false, after a message, if that failed and the
   file was removed. */
bool new_file_keep(struct new_file *file);
/* Removes a file that is not complete. */
void new_file_drop(struct new_file *file);

/* Opens for appending something that is no file: a terminal or another device of this
   user or of root, a FIFO of this user, or whatever was open when this command was
   started (/dev/stdout, /dev/fd/N). Does not create, truncate or open anything else.
   Returns -1 with errno: EEXIST for a file, a folder ...; EPERM for another user's. */
int special_open(const char *path);

/* Renames FROM, in the open directory IN (or AT_FDCWD), to TO in INTO, without replacing
   what has this name. Returns 0 or an errno. Not every file system can do this in one
   step; for others, hard links are used. On a file system without hard links, a file that
   gets the name TO at the same moment is replaced. */
int rename_new_at(int in, const char *from, int into, const char *to);

#endif
