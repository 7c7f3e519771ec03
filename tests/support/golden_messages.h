/* golden_messages - one message of each type, as a value and as bytes.
 * The bytes are what peers in the field send: they do not change. */
#ifndef TESTS_SUPPORT_GOLDEN_MESSAGES_H
#define TESTS_SUPPORT_GOLDEN_MESSAGES_H

#include "common/message.h"

enum { GOLDEN_MESSAGES = 13 }; /* one a type, and symbols that a host does not have */

struct message golden_message(unsigned index); /* the caller deinits */
const char *golden_message_hex(unsigned index);

#endif
