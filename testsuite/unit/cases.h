/* SPDX-License-Identifier: MIT */
/* cases.h: cmocka, and the headers that it needs. It passes a state to each test, and
 * tests have callbacks: most of these do not use all of their arguments, and need not say
 * so. */
#ifndef CASES_H
#define CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "slowness.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#endif /* CASES_H */
