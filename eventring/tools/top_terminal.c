/* SPDX-License-Identifier: MIT */
/* top_terminal.c: finds what the terminal can do.
 *
 * This is a file of its own because <term.h> defines words such as `columns' and
 * `lines' as macros. (newterm would also report an unknown terminal, but then it leaks
 * memory.) */
#include "top_terminal.h"

#ifdef HAVE_NCURSES

#include <unistd.h>

#include <ncurses.h>
#include <term.h>

bool top_terminal_moves(void) {
  int why;
  if (setupterm(NULL, STDOUT_FILENO, &why) != OK) return false;
  const char *move = tigetstr("cup");
  const bool moves = move && move != (const char *)-1;
  del_curterm(cur_term);
  return moves;
}

#else

bool top_terminal_moves(void) { return false; }

#endif
