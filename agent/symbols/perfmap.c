#include "agent/symbols/perfmap.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"

#define TRAMPOLINE_PREFIX "py::"

enum { OVERHEAD_BYTES = 64 }; /* of an entry: its node in the tree, and what malloc adds to both */

struct code {
    uint64_t start, end;
    struct code *older, *newer;
    char name[];
};

struct perfmap {
    void *tree; /* of entries, none of which overlap, by address */
    struct code *oldest, *newest;
    uint64_t bytes;
    uint32_t trampolines;
};

/* Entries that overlap are equal: a search for a range finds what lies in it. */
static int compare(const void *left, const void *right)
{
    const struct code *a = left, *b = right;

    if (a->end <= b->start)
        return -1;
    return a->start >= b->end;
}

static struct code *find(const struct perfmap *p, uint64_t start, uint64_t end)
{
    const struct code key = {.start = start, .end = end};
    void *const *node = tfind(&key, &p->tree, compare);

    return node != NULL ? *node : NULL;
}

static uint64_t bytes_of(const struct code *e)
{
    return sizeof(*e) + strlen(e->name) + 1 + OVERHEAD_BYTES;
}

static bool is_trampoline(const struct code *e)
{
    return strncmp(e->name, TRAMPOLINE_PREFIX, strlen(TRAMPOLINE_PREFIX)) == 0;
}

static void drop(struct perfmap *p, struct code *e)
{
    (void)tdelete(e, &p->tree, compare);
    if (e->older != NULL)
        e->older->newer = e->newer;
    else
        p->oldest = e->newer;
    if (e->newer != NULL)
        e->newer->older = e->older;
    else
        p->newest = e->older;
    p->bytes -= bytes_of(e);
    p->trampolines -= is_trampoline(e);
    free(e);
}

/* Takes `e` over. */
static void insert(struct perfmap *p, struct code *e)
{
    struct code *old;

    while ((old = find(p, e->start, e->end)) != NULL)
        drop(p, old);
    while (p->oldest != NULL && p->bytes + bytes_of(e) > PERFMAP_BYTES_MAX)
        drop(p, p->oldest);
    if (tsearch(e, &p->tree, compare) == NULL) { /* out of memory */
        free(e);
        return;
    }
    e->older = p->newest;
    if (p->newest != NULL)
        p->newest->newer = e;
    else
        p->oldest = e;
    p->newest = e;
    p->bytes += bytes_of(e);
    p->trampolines += is_trampoline(e);
}

/* ---- lines ---- */

static int digit_value(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Takes a number, which some write with 0x, and the blanks behind it. */
static bool take_number(struct slice *line, uint64_t *out)
{
    const uint8_t *at = line->bytes, *end = at + line->length;
    uint64_t value = 0;
    int digits = 0;

    if (line->length > 2 && at[0] == '0' && at[1] == 'x')
        at += 2;
    for (; at < end && digit_value(*at) >= 0; at++, digits++)
        value = value << 4 | (uint64_t)digit_value(*at);
    if (digits == 0 || digits > 16 || at == end || *at != ' ')
        return false;
    while (at < end && *at == ' ')
        at++;
    *line = (struct slice){at, (size_t)(end - at)};
    *out = value;
    return true;
}

static void copy_name(char *out, struct slice name, size_t length)
{
    memcpy(out, name.bytes, length);
    out[length] = '\0';
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)out[i] < ' ' || out[i] == 0x7f)
            out[i] = '?';
    utf8_repair(out, length);
}

static void take_line(struct perfmap *p, struct slice line)
{
    uint64_t start, size;
    struct code *e;
    size_t length;

    if (!take_number(&line, &start) || !take_number(&line, &size))
        return;
    while (line.length > 0 && line.bytes[line.length - 1] <= ' ')
        line.length--;
    if (size == 0 || start + size < start || line.length == 0)
        return;
    length = utf8_cut((const char *)line.bytes, line.length, PERFMAP_NAME_MAX);
    e = calloc(1, sizeof(*e) + length + 1);
    if (e == NULL)
        return;
    e->start = start;
    e->end = start + size;
    copy_name(e->name, line, length);
    insert(p, e);
}

size_t perfmap_add(struct perfmap *p, struct slice text)
{
    const uint8_t *at = text.bytes, *end = text.bytes + text.length, *newline;

    while (at < end && (newline = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        take_line(p, (struct slice){at, (size_t)(newline - at)});
        at = newline + 1;
    }
    return (size_t)(at - text.bytes);
}

/* ---- questions ---- */

const char *perfmap_find(const struct perfmap *p, uint64_t address)
{
    const struct code *e = address < UINT64_MAX ? find(p, address, address + 1) : NULL;

    return e != NULL ? e->name : NULL;
}

bool perfmap_has_trampolines(const struct perfmap *p, uint64_t start, uint64_t end)
{
    const struct code *e = p->trampolines > 0 ? find(p, start, end) : NULL;

    return e != NULL && is_trampoline(e);
}

uint64_t perfmap_bytes(const struct perfmap *p)
{
    return p->bytes;
}

enum status perfmap_new(struct perfmap **out)
{
    struct perfmap *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return ST_NOMEM;
    p->bytes = sizeof(*p);
    *out = p;
    return ST_OK;
}

void perfmap_free(struct perfmap *p)
{
    if (p == NULL)
        return;
    tdestroy(p->tree, free);
    free(p);
}
