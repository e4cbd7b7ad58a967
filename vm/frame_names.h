/* SPDX-License-Identifier: MIT */
/* vm/frame_names.h: names and places of frames for the sampler of allocations
 * (RuntimeHooks.frame_name, frame_place). */
#ifndef SAROS_VM_FRAME_NAMES_H
#define SAROS_VM_FRAME_NAMES_H

#include "frame.h"

void frame_name(lua_State *L, CallInfo *frame, char *name, char *source, uint32_t *line,
                uint32_t *last_line);
void frame_place(const Prototype *p, uint32_t pc, uint32_t *line, uint32_t *column);

#endif
