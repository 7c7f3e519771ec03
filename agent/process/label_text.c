#include "agent/process/label_text.h"

#include <string.h>

#include "common/utf8.h"

enum status label_text_set(struct labels *l, const char *key, const char *text)
{
    size_t length = utf8_cut(text, strlen(text), LABEL_VALUE_MAX);
    char clean[LABEL_VALUE_MAX + 1];

    if (length == 0)
        return ST_OK;
    memcpy(clean, text, length);
    clean[length] = '\0';
    utf8_repair(clean, length);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)clean[i] < ' ' || clean[i] == 0x7f)
            clean[i] = '?';
    return labels_set(l, key, clean);
}
