/* SPDX-License-Identifier: MIT */
/* own_modules.h - the modules that are part of this program.
 *
 * luaL_openlibs lists them in a table of the registry, from which `require` loads them
 * (lib_package.c): the long name of each, "saros.ffi", with the function that opens it; a
 * short name, "ffi", with the long one. A new module has a long name only.
 */
#ifndef SAROS_STDLIB_OWN_MODULES_H
#define SAROS_STDLIB_OWN_MODULES_H

#define OWN_MODULES_KEY "_SAROS_MODULES"
#define OWN_MODULES_PREFIX "saros."

#endif
