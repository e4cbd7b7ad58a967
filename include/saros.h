/* SPDX-License-Identifier: MIT */
/* saros.h - what a program that embeds Saros may use besides Lua's C API.
 *
 * The functions are in libsaros (pkg-config name `saros`) and in the program `saros`, not in the
 * stand-in for liblua5.4.so.0, which has the names of the reference's library alone.
 */
#ifndef saros_h
#define saros_h

#ifdef __cplusplus
extern "C" {
#endif
#include "lua.h"
#pragma GCC visibility push(default)

/* Returns the domain of libeventring into whose rings the state of `L` records: its collections,
 * and what the program writes there with the probes of <eventring/probe.h>, in one order. It is
 * there whether something is recorded or not, until lua_close; a coroutine has that of its
 * state. Only the thread that runs the state now may use it, and must not stop it. Never NULL. */
struct eventring_domain *saros_domain(lua_State *L);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
