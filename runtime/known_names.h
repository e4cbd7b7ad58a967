/* SPDX-License-Identifier: MIT */
/* runtime/known_names.h: the strings that each domain keeps at hand: names of metamethods
 * (metamethods.def), names of types, and texts for messages (known_names.def). */
#ifndef SAROS_RUNTIME_KNOWN_NAMES_H
#define SAROS_RUNTIME_KNOWN_NAMES_H

#include "lua.h"

typedef enum Metamethod {
#define METAMETHOD(id, name) META_##id,
#include "metamethods.def"
#undef METAMETHOD
  META_COUNT
} Metamethod;

typedef enum Name {
#define TYPE_NAME(type, text) NAME_##type,
#define NAME(id, text) NAME_##id,
#include "known_names.def"
#undef NAME
#undef TYPE_NAME
  NAME_COUNT
} Name;

#endif
