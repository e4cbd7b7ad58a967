/* SPDX-License-Identifier: MIT */
/* commands.h: commands to a recorder that runs, through a FIFO.
 *
 * A command is a line. Each is answered with one line in a second FIFO, if there is one,
 * when it is done: `ok` and what there is to say, or `error: ` and why not. The next
 * command is read then. doc/eventring.md lists the commands.
 *
 * Nothing here waits: the FIFOs are open for both directions, so that they have a reader
 * and a writer at any time. An answer for which the FIFO has no room is dropped. What may
 * take long is done by a thread. */
#ifndef EVENTRING_TOOL_COMMANDS_H
#define EVENTRING_TOOL_COMMANDS_H

#include "recorder.h"

struct commands;
/* Opens `CTL[,ACK]`, and makes what does not exist. NULL after a message. */
struct commands *commands_open(const char *fifos);
/* Obeys what has come, and goes on with what is under way. `target`: PID or FILE by which
   the recording is found again; `reader` is used at once only. */
void commands_attend(struct commands *commands, struct recorder *recorder,
                     struct reader *reader, const char *target);
/* At the end of the recording: answers what is under way, removes the FIFOs that it made.
   `recorder` NULL: there was none. */
void commands_close(struct commands *commands, struct recorder *recorder);

#endif /* EVENTRING_TOOL_COMMANDS_H */
