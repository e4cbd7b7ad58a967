/* SPDX-License-Identifier: MIT */
/* environment.h - the variables of the environment that `saros` reads. */
#ifndef SAROS_STDLIB_ENVIRONMENT_H
#define SAROS_STDLIB_ENVIRONMENT_H

/* Prints a warning on standard error for each variable SAROS_... that is not known and
 * whose name is close to a known one. The message begins with `program`. Called before
 * there are other threads. */
void warn_of_variables(const char *program);

#endif
