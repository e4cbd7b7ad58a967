/* SPDX-License-Identifier: MIT */
/* lua.hpp - the C API for C++: its functions have the linkage of C. */
#ifndef lua_hpp
#define lua_hpp

extern "C" {
#include "lua.h"
#include "lauxlib.h"
#include "lualib.h"
}

#endif
