/* SPDX-License-Identifier: MIT */
/* unpack.c: frames of zstd, through a library that is loaded at run time.
 *
 * libeventring links libc only: it is part of programs that record and never read a
 * packed file. So libzstd is loaded when the first packed file is opened, and stays. Only
 * functions of its stable interface are used, whose types are declared here. */
#include "reader/unpack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { CHECKSUM_FLAG = 1 << 2 }; /* in a frame's descriptor, the byte after its magic */

static struct {
  void *(*create)(void);
  size_t (*free)(void *context);
  size_t (*decompress)(void *context, void *to, size_t room, const void *from, size_t size);
  unsigned (*is_error)(size_t code);
  char cause[200]; /* why the library is not loaded; empty: it is loaded */
} zstd;

static pthread_once_t loaded = PTHREAD_ONCE_INIT;

static void note_cause(const char *cause) {
  size_t i = 0;
  for (; cause && cause[i] && i + 1 < sizeof zstd.cause; i++) zstd.cause[i] = cause[i];
  zstd.cause[i] = 0;
}

/* Finds a function of the library. POSIX requires that a pointer to a function fits into
   one to an object. */
static bool find(void *library, const char *name, void *function) {
  *(void **)function = dlsym(library, name);
  return *(void **)function != NULL;
}

static void load(void) {
  void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    note_cause(dlerror());
    return;
  }
  if (!find(library, "ZSTD_createDCtx", &zstd.create) ||
      !find(library, "ZSTD_freeDCtx", &zstd.free) ||
      !find(library, "ZSTD_decompressDCtx", &zstd.decompress) ||
      !find(library, "ZSTD_isError", &zstd.is_error))
    note_cause("it lacks a function");
}

int evr_unpack_load(struct eventring_error *error) {
  pthread_once(&loaded, load);
  if (!zstd.cause[0]) return EVENTRING_OK;
  return evr_fail(error, EVENTRING_E_SYSTEM, 0,
                  "it is compressed, and libzstd.so.1 cannot be loaded (Debian package: "
                  "libzstd1): %s", zstd.cause);
}

void *evr_unpack_new(void) { return zstd.create(); }

void evr_unpack_free(void *unpacker) {
  if (unpacker) zstd.free(unpacker);
}

/* Refuses frames without a checksum, which would hide damage. No writer makes such
   frames. */
bool evr_unpack(void *unpacker, const void *frame, size_t frame_bytes, void *to, size_t bytes) {
  if (frame_bytes < 5 || !(((const uint8_t *)frame)[4] & CHECKSUM_FLAG)) return false;
  size_t got = zstd.decompress(unpacker, to, bytes, frame, frame_bytes);
  return !zstd.is_error(got) && got == bytes;
}
