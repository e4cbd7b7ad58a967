/* SPDX-License-Identifier: MIT */
/* saros.h - the functions for a program that embeds Saros, besides Lua's C API.
 *
 * The functions are in libsaros (pkg-config name `saros`) and in the program `saros`.
 * They are not in the stand-in for liblua5.4.so.0, which has only the names of the
 * reference's library.
 */
#ifndef saros_h
#define saros_h

#ifdef __cplusplus
extern "C" {
#endif
#include "lua.h"
#pragma GCC visibility push(default)

/* Returns the domain of libeventring into whose rings the state of `L` records. The
 * collections of the state, and the events that the program writes with the probes of
 * <eventring/probe.h>, are recorded in these rings in one order. All coroutines of a
 * state have the same domain; it exists until lua_close, also while nothing is recorded.
 * Only the thread that runs the state may use the domain, and the thread must not stop
 * the domain. Never returns NULL. */
struct eventring_domain *saros_domain(lua_State *L);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
