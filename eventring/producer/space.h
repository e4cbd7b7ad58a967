/* SPDX-License-Identifier: MIT */
/* space.h: disk space and mapped pages for a recording.
 *
 * No page is touched through a mapping before its disk space is reserved, so that a full
 * disk is an error here and not SIGBUS later. The file-size limit is checked first, so
 * that exceeding it does not raise SIGXFSZ. Pages are made present and writable before
 * probes get them.
 *
 * Functions that return an int return 0 or an errno.
 */
#ifndef EVENTRING_SPACE_H
#define EVENTRING_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/vfs.h>

#pragma GCC visibility push(hidden)

/* Checks that a file of this process may have `end` bytes. */
int evr_space_check_file_size(uint64_t end);
/* Checks that the disk has room for `bytes` more. */
int evr_space_check_free(const struct statfs *fs, uint64_t bytes);
/* Reserves disk space in the file; in_memory: it lies on tmpfs. */
int evr_space_reserve(int fd, bool in_memory, uint64_t offset, uint64_t bytes);
/* Makes pages present and writable. Their disk space must have been reserved. */
void evr_space_touch_ahead(uint8_t *map, size_t bytes);
/* Tells whether the limit on address space leaves room for `bytes`. Under such a limit
   the recording takes at most a quarter of what is left, and nothing when less than 4 MiB
   are left, because the program needs the rest. */
bool evr_space_leaves_room(uint64_t bytes);
/* Maps a part of the file; returns NULL with errno on failure. The mapping is guarded: if
   the file is cut short, anonymous memory replaces all mappings with the same `together`
   (guard.c). */
uint8_t *evr_space_map(int fd, uint64_t offset, uint64_t bytes, const void *together);
/* Makes a mapping read-only from here on. */
void evr_space_protect(uint8_t *map, uint64_t bytes);
void evr_space_unmap(uint8_t *map, uint64_t bytes);

/* Maps zeroed private memory, whose pages take nothing before they are touched, for large
   and little used structures. Returns NULL when out of memory. */
void *evr_space_zeroed(size_t bytes);
void evr_space_free(void *memory, size_t bytes);

#pragma GCC visibility pop

#endif /* EVENTRING_SPACE_H */
