/* SPDX-License-Identifier: MIT */
/* error.c: error codes, their texts, and the version. */
#include "format/error.h"

#include "format/atomics.h"
#include "format/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#if defined(__SANITIZE_THREAD__) || defined(EVR_TSAN)
uint32_t evr_fence_word;
#endif

unsigned eventring_library_version(void) { return EVENTRING_VERSION; }

int eventring_check_version(unsigned compiled_for, struct eventring_error *error) {
  unsigned major = compiled_for / 10000, minor = compiled_for / 100 % 100;
  bool fits = major == EVENTRING_VERSION_MAJOR && minor <= EVENTRING_VERSION_MINOR;
  if (major == 0 && minor != EVENTRING_VERSION_MINOR) fits = false;
  if (fits) return EVENTRING_OK;
  return evr_fail(error, EVENTRING_E_LIBRARY, 0,
                  "compiled for libeventring %u.%u.%u, but %d.%d.%d is linked", major,
                  minor, compiled_for % 100, EVENTRING_VERSION_MAJOR,
                  EVENTRING_VERSION_MINOR, EVENTRING_VERSION_PATCH);
}

const char *eventring_strerror(int code) {
  switch (code) {
#define CASE(name, value, text) \
    case EVENTRING_##name: \
      return text;
      EVENTRING_ERRORS(CASE)
#undef CASE
    default:
      return "unknown error";
  }
}

/* Returns the text of an errno. In glibc strerror_r returns the text; in other libraries
   (musl) it fills the buffer. */
static const char *describe(int sys_errno, char *buffer, size_t size) {
#ifdef __GLIBC__
  return strerror_r(sys_errno, buffer, size);
#else
  return strerror_r(sys_errno, buffer, size) == 0 ? buffer : "unknown error";
#endif
}

int evr_fail(struct eventring_error *error, int code, int sys_errno,
             const char *format, ...) {
  if (!error) return code;
  error->code = code;
  error->sys_errno = sys_errno;
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(error->text, sizeof error->text, format, arguments);
  va_end(arguments);
  if (sys_errno && length >= 0 && (size_t)length < sizeof error->text - 1) {
    char buffer[128];
    snprintf(error->text + length, sizeof error->text - (size_t)length, ": %s",
             describe(sys_errno, buffer, sizeof buffer));
  }
  /* the text may contain names from files, with characters that must not reach a
     terminal */
  evr_text_clean_message(error->text, sizeof error->text);
  return code;
}

int evr_code_of_errno(int sys_errno) {
  switch (sys_errno) {
    case ENOENT:
    case ESRCH:
      return EVENTRING_E_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
      return EVENTRING_E_PERMISSION;
    case ENOSPC:
    case EDQUOT:
      return EVENTRING_E_SPACE;
    case EFBIG:
    case EMFILE:
    case ENFILE:
      return EVENTRING_E_LIMIT;
    case ENOMEM:
      return EVENTRING_E_MEMORY;
    case EEXIST:
    case ELOOP:
      return EVENTRING_E_EXISTS;
    case ENOTDIR:
    case ENAMETOOLONG:
      return EVENTRING_E_DIRECTORY;
    default:
      return EVENTRING_E_SYSTEM;
  }
}
