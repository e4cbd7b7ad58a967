/* SPDX-License-Identifier: MIT */
/* sample.h: a profile of samples of a live process (`eventring stack --hz`). */
#ifndef EVENTRING_TOOL_SAMPLE_H
#define EVENTRING_TOOL_SAMPLE_H

#include "tool.h"

/* Do the words of a command ask for samples, by --hz? */
bool sample_is_asked(int count, char **words);
/* The command `self`, with all its words; returns the exit status. */
int sample_command(const struct command *self, int count, char **words);

#endif
