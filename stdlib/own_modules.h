/* SPDX-License-Identifier: MIT */
/* own_modules.h - the modules that are part of this program.
 *
 * luaL_openlibs puts the function that opens each module into package.preload, under the
 * module's long name ("saros.ffi"). Some modules have a short name ("ffi") as well: the
 * last searcher of `require` looks up the long name for it in package.preload
 * (lib_package.c). So a module that a host removes from package.preload is gone under
 * both names. A new module has a long name only.
 */
#ifndef SAROS_STDLIB_OWN_MODULES_H
#define SAROS_STDLIB_OWN_MODULES_H

#define OWN_MODULES_PREFIX "saros."

#ifdef HAVE_FFI
#define OWN_MODULE_FFI(X) X(ffi, 1)
#else
#define OWN_MODULE_FFI(X)
#endif
#define OWN_MODULES(X) /* X(name, has a short name) */ \
  X(domain, 1) \
  X(eventring, 1) \
  X(retain, 0) \
  X(coroutines, 0) \
  X(memprof, 1) \
  OWN_MODULE_FFI(X) \
  X(profile, 1)

#endif
