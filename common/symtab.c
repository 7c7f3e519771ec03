/* symtab's table in memory; symtab_codec.c has the bytes. */
#include "common/symtab.h"

#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"

/* Sized symbols may lie inside each other (assembler labels in functions); a look-up steps back
 * over at most this many inner ones. */
enum { NESTING_MAX = 16 };

enum { FIRST_SYMBOLS = 256, FIRST_TEXT = 16 * 1024 };

static enum status reserve_symbol(struct symtab *t)
{
    uint32_t capacity = t->capacity > 0 ? 2 * t->capacity : FIRST_SYMBOLS;
    struct symbol *symbols;

    if (t->count < t->capacity)
        return ST_OK;
    if (t->count >= SYMTAB_SYMBOLS_MAX)
        return ST_FULL;
    symbols = realloc(t->symbols, capacity * sizeof(*symbols));
    if (symbols == NULL)
        return ST_NOMEM;
    t->symbols = symbols;
    t->capacity = capacity;
    return ST_OK;
}

static enum status reserve_text(struct symtab *t, size_t more)
{
    size_t capacity = t->text_capacity > 0 ? t->text_capacity : FIRST_TEXT;
    char *text;

    if (more > SYMTAB_PLAIN_MAX - t->text_length)
        return ST_FULL;
    while (capacity < t->text_length + more)
        capacity *= 2;
    if (capacity == t->text_capacity)
        return ST_OK;
    text = realloc(t->text, capacity);
    if (text == NULL)
        return ST_NOMEM;
    t->text = text;
    t->text_capacity = capacity;
    return ST_OK;
}

enum status symtab_add(struct symtab *t, uint64_t start, uint64_t size, const char *name)
{
    size_t length = utf8_cut(name, strlen(name), SYMTAB_NAME_MAX);
    enum status st;

    if (length == 0)
        return ST_INVALID;
    st = reserve_symbol(t);
    if (st == ST_OK)
        st = reserve_text(t, length + 1);
    if (st != ST_OK)
        return st;

    memcpy(t->text + t->text_length, name, length);
    utf8_repair(t->text + t->text_length, length);
    t->text[t->text_length + length] = '\0';
    t->symbols[t->count++] = (struct symbol){start, size, (uint32_t)t->text_length};
    t->text_length += length + 1;
    return ST_OK;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By start; of one start the name to keep comes first. `text` is the table's. */
static int compare_symbols(const void *left, const void *right, void *text)
{
    const struct symbol *a = left, *b = right;
    const char *a_name = (const char *)text + a->name, *b_name = (const char *)text + b->name;
    int order = compare_numbers(a->start, b->start);

    if (order == 0)
        order = compare_numbers(a->size == 0, b->size == 0);
    if (order == 0)
        order = compare_numbers(strspn(a_name, "_"), strspn(b_name, "_"));
    if (order == 0)
        order = strcmp(a_name, b_name);
    return order;
}

void symtab_sort(struct symtab *t)
{
    uint32_t kept = 0;

    if (t->count == 0)
        return;
    qsort_r(t->symbols, t->count, sizeof(*t->symbols), compare_symbols, t->text);
    for (uint32_t i = 0; i < t->count; i++)
        if (kept == 0 || t->symbols[i].start != t->symbols[kept - 1].start)
            t->symbols[kept++] = t->symbols[i];
    t->count = kept;
}

/* How many symbols start at or before `offset`. */
static uint32_t count_started(const struct symtab *t, uint64_t offset)
{
    uint32_t low = 0, high = t->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (t->symbols[middle].start <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const char *symtab_find(const struct symtab *t, uint64_t offset)
{
    uint32_t started = count_started(t, offset);

    for (uint32_t back = 1; back <= started && back <= NESTING_MAX; back++) {
        const struct symbol *s = &t->symbols[started - back];
        bool reaches_next = s->size == 0 && back == 1;

        if (reaches_next || offset - s->start < s->size)
            return t->text + s->name;
    }
    return NULL;
}

enum symtab_grade symtab_grade(const struct symtab *t)
{
    const uint32_t functions =
        SYMTAB_FROM_SYMTAB | SYMTAB_FROM_DEBUGDATA | SYMTAB_FROM_GOPCLNTAB | SYMTAB_FROM_KALLSYMS;

    if ((t->sources & SYMTAB_FROM_DWARF) != 0)
        return t->is_cut ? SYMTAB_GRADE_PLACES_CUT : SYMTAB_GRADE_PLACES;
    return (t->sources & functions) != 0 ? SYMTAB_GRADE_FUNCTIONS : SYMTAB_GRADE_EXPORTS;
}

void symtab_deinit(struct symtab *t)
{
    places_deinit(&t->places);
    free(t->symbols);
    free(t->text);
    *t = (struct symtab){0};
}
