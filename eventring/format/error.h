/* SPDX-License-Identifier: MIT */
/* error.h: filling struct eventring_error. */
#ifndef EVENTRING_ERROR_H
#define EVENTRING_ERROR_H

#include "eventring/types.h"

#pragma GCC visibility push(hidden)

/* Fills *error (may be NULL) from a printf format; when sys_errno is not 0, its
   text is appended. Returns code, so that callers may `return evr_fail(...)`. */
int evr_fail(struct eventring_error *error, int code, int sys_errno,
             const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Returns the code that fits the errno of a failed open, mkdir, fallocate ... */
int evr_code_of_errno(int sys_errno);

#pragma GCC visibility pop

#endif /* EVENTRING_ERROR_H */
