/* SPDX-License-Identifier: MIT */
/* eventring.c: the `eventring` command. Test programs link all but this. */
#include "tool.h"

int main(int argc, char **argv) { return run_command_line(argc, argv); }
