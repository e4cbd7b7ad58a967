/* SPDX-License-Identifier: MIT */
/* sample_names.h: functions that are known by their texts alone, each once, for the nodes of a
 * tree of samples (sample_tree.h). */
#ifndef EVENTRING_TOOL_SAMPLE_NAMES_H
#define EVENTRING_TOOL_SAMPLE_NAMES_H

#include "format/table.h"
#include "remote/functions.h"
#include "tool.h"

struct sample_names { /* {0} at first */
  struct evr_table functions;
};

/* The function of that name and source (both are cut, if they are long), made if there is none;
   it stays until sample_names_free. */
const struct remote_function *sample_name(struct sample_names *names, const char *name,
                                          const char *source, bool is_c);
void sample_names_free(struct sample_names *names);

#endif
