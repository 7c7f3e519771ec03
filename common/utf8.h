/* utf8 - is this text, and if not, make it text.
 * Strings on the wire are UTF-8; names that come from kernels and binaries may be anything. */
#ifndef COMMON_UTF8_H
#define COMMON_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Strict: no over-long forms, no surrogates, nothing above U+10FFFF. NUL bytes are text here. */
bool utf8_valid(const char *bytes, size_t length);

/* Puts '?' in the place of every byte that belongs to no valid character. */
void utf8_repair(char *bytes, size_t length);

/* The largest length <= `limit` at which `text` can be cut without splitting a character. */
size_t utf8_cut(const char *text, size_t length, size_t limit);

#endif
