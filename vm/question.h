/* SPDX-License-Identifier: MIT */
/* vm/question.h: answers the questions of tools about a domain (eventring/question.h). */
#ifndef SAROS_VM_QUESTION_H
#define SAROS_VM_QUESTION_H

#include "domain.h"

/* Answers the open question, at a point where L->top and the pc of L's frame are those of
 * a call. Raises nothing. */
void vm_answer_question(lua_State *L);

/* Answers questions from now on also for domains that are asleep in C functions. */
void vm_answer_questions_aside(void);

#endif
