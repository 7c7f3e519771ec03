/* hex - golden bytes as people can read them in a test: hex digits, blanks ignored. */
#ifndef TESTS_SUPPORT_HEX_H
#define TESTS_SUPPORT_HEX_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/compress.h"

static inline int hex_digit(char c)
{
    const char *digits = "0123456789abcdef", *at = c != '\0' ? strchr(digits, c) : NULL;

    return at != NULL ? (int)(at - digits) : -1;
}

/* The caller deinits. */
static inline struct blob hex_bytes(const char *text)
{
    struct blob b = {.bytes = calloc(1, strlen(text) / 2 + 1)};
    int high = -1;

    for (; b.bytes != NULL && *text != '\0'; text++) {
        int digit = hex_digit(*text);

        if (digit < 0)
            continue;
        if (high >= 0)
            b.bytes[b.length++] = (uint8_t)(high << 4 | digit);
        high = high >= 0 ? -1 : digit;
    }
    return b;
}

/* 1 when equal; else 0 after printing the bytes, ready to be compared and pasted. */
static inline int hex_equal(struct slice got, const char *want)
{
    struct blob b = hex_bytes(want);
    int equal = b.length == got.length && memcmp(b.bytes, got.bytes, b.length) == 0;

    for (size_t i = 0; !equal && i < got.length; i++)
        printf(i % 32 == 31 ? "%02x\n" : "%02x", got.bytes[i]);
    if (!equal)
        printf("\n");
    blob_deinit(&b);
    return equal;
}

#endif
