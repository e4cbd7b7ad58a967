/* SPDX-License-Identifier: MIT */
/* eventring.c: the `eventring` command. Test programs link everything except this
   file. */
#include "tool.h"

int main(int argc, char **argv) { return run_command_line(argc, argv); }
