/* SPDX-License-Identifier: MIT */
/* vm/retain_edge.h: edges that have no number (retain_edge.c). */
#ifndef SAROS_VM_RETAIN_EDGE_H
#define SAROS_VM_RETAIN_EDGE_H

#include <stdint.h>

#define EDGE_METATABLE (UINT32_MAX - 1)
#define EDGE_CODE (UINT32_MAX - 2)

#endif
