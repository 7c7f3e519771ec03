/* dwarf_cursor - reads DWARF's numbers from untrusted bytes: never beyond their end, and with
 * sticky failure, after which every number is 0. Pure. */
#ifndef AGENT_UNWIND_DWARF_CURSOR_H
#define AGENT_UNWIND_DWARF_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire.h"

struct dwarf_cursor { /* value: a copy reads on by itself */
    const uint8_t *next, *end;
    uint64_t address; /* where `next` is mapped, as the file has it */
    bool failed;
};

/* DW_EH_PE_...: how a pointer is written, and what it is relative to. Linux Standard Base Core,
 * section 10.5.1. */
enum {
    DWARF_POINTER_ABSOLUTE = 0x00,
    DWARF_POINTER_FORMAT = 0x0f,
    DWARF_POINTER_SIGNED = 0x08,
    DWARF_POINTER_BASE = 0x70,
    DWARF_POINTER_INDIRECT = 0x80, /* the address of a pointer, which only a process can follow */
    DWARF_POINTER_OMITTED = 0xff,
};

struct dwarf_bases { /* what relative pointers are relative to, beside their own address */
    uint64_t text, data;
};

struct dwarf_cursor dwarf_cursor(struct slice bytes, uint64_t address);
size_t dwarf_left(const struct dwarf_cursor *c);

uint64_t dwarf_unsigned(struct dwarf_cursor *c, unsigned bytes); /* at most 8, little-endian */
uint64_t dwarf_uleb(struct dwarf_cursor *c); /* bits beyond 64 are dropped */
int64_t dwarf_sleb(struct dwarf_cursor *c);
struct slice dwarf_bytes(struct dwarf_cursor *c, uint64_t length); /* empty on failure */
const char *dwarf_text(struct dwarf_cursor *c); /* up to its NUL; "" on failure */

/* Fails on what cannot be had without a process, or makes no sense. */
uint64_t dwarf_pointer(struct dwarf_cursor *c, uint8_t encoding, struct dwarf_bases bases);

#endif
