/* SPDX-License-Identifier: MIT */
/* variables.h - the variables of the environment that `saros` reads. */
#ifndef SAROS_STDLIB_VARIABLES_H
#define SAROS_STDLIB_VARIABLES_H

/* Prints a warning on standard error for each variable SAROS_... that is not known and whose name
 * is near that of one which is. `program`: the name that begins the message. Before threads run. */
void warn_of_variables(const char *program);

#endif
