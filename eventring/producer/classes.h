/* classes.h: the classes of this process. */
#ifndef EVENTRING_CLASSES_H
#define EVENTRING_CLASSES_H

#include <stddef.h>
#include <stdint.h>

#include "eventring.h"

#pragma GCC visibility push(hidden)

extern char evr_class_names[EVENTRING_MAX_CLASSES][EVENTRING_MAX_CLASS_NAME + 1];
uint32_t evr_default_classes(void);
/* Index of the class of this name, or EVENTRING_E_NOT_FOUND. */
int evr_class_by_bytes(const char *name, size_t size);

#pragma GCC visibility pop

#endif /* EVENTRING_CLASSES_H */
