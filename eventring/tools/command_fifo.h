/* SPDX-License-Identifier: MIT */
/* command_fifo.h: takes commands for a running recorder from a FIFO.
 *
 * A command is a line. When it is done, one line is written to a second FIFO, if there is
 * one: `ok` and the result, or `error: ` and the reason. Only then is the next command
 * read. doc/eventring.md lists the commands.
 *
 * Nothing here blocks: the FIFOs are open for both directions, so they always have a
 * reader and a writer. An answer for which the FIFO has no room is dropped. A thread does
 * what may take long. */
#ifndef EVENTRING_TOOL_COMMAND_FIFO_H
#define EVENTRING_TOOL_COMMAND_FIFO_H

#include "recorder.h"

struct command_fifo;
/* Opens the FIFOs `CTL[,ACK]`, and makes the FIFOs that do not exist. Returns NULL after
   a message. */
struct command_fifo *command_fifo_open(const char *fifos);
/* Obeys the commands that have come, and continues the one under way. `target` is the PID
   or FILE by which the recording is found again; `reader` is used only during the
   call. */
void command_fifo_attend(struct command_fifo *fifo, struct recorder *recorder,
                         struct reader *reader, const char *target);
/* Answers the command under way at the end of the recording, and removes the FIFOs that
   it made. `recorder` is NULL if there was none. */
void command_fifo_close(struct command_fifo *fifo, struct recorder *recorder);

#endif /* EVENTRING_TOOL_COMMAND_FIFO_H */
