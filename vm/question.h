/* SPDX-License-Identifier: MIT */
/* vm/question.h: answers what tools ask of a domain (eventring/question.h). */
#ifndef SAROS_VM_QUESTION_H
#define SAROS_VM_QUESTION_H

#include "domain.h"

/* Answers the question that is open; where L->top and the pc of L's frame are those of a
 * call. Raises nothing. */
void vm_answer_question(lua_State *L);

/* From now on, questions are answered for domains that are asleep in functions in C,
   too. */
void vm_answer_questions_aside(void);

#endif
