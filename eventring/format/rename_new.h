/* SPDX-License-Identifier: MIT */
/* rename_new.h: renames a file without replacing another one. */
#ifndef EVENTRING_RENAME_NEW_H
#define EVENTRING_RENAME_NEW_H

#pragma GCC visibility push(hidden)

/* Renames FROM to TO, both relative to the open directory DIRECTORY (or AT_FDCWD).
   Returns 0 or an errno: EEXIST if something has the name TO. Where the file system
   supports neither RENAME_NOREPLACE nor hard links, a file that gets the name TO at the
   same moment is replaced. */
int evr_rename_new(int directory, const char *from, const char *to);

#pragma GCC visibility pop

#endif /* EVENTRING_RENAME_NEW_H */
