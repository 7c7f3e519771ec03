/* label_text - makes labels of whatever text a process gives. Pure. */
#ifndef AGENT_PROCESS_LABEL_TEXT_H
#define AGENT_PROCESS_LABEL_TEXT_H

#include "common/labels.h"

/* A text that is too long is cut, one that is none is repaired, an empty one is left out. */
enum status label_text_set(struct labels *l, const char *key, const char *text);

#endif
