/* SPDX-License-Identifier: MIT */
/* tally_print.h: statistics as text (tally_text.c) and as JSON (tally_json.c). */
#ifndef EVENTRING_TOOL_TALLY_PRINT_H
#define EVENTRING_TOOL_TALLY_PRINT_H

#include <stdio.h>

#include "analysis/tally.h"

void tally_print_text(const struct eva_tally *tally, FILE *out);
void tally_print_json(const struct eva_tally *tally, FILE *out);

#endif
