#include "common/selector.h"

#include <ctype.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum operator{ OPERATOR_EQUAL, OPERATOR_NOT_EQUAL, OPERATOR_MATCH, OPERATOR_NO_MATCH, OPERATOR_IN };

struct term {
    enum operator operator;
    char key[LABEL_KEY_MAX + 1];
    char *value; /* EQUAL, NOT_EQUAL, IN: a list for IN, its items end with a NUL each */
    size_t length; /* of value, with the last NUL */
    regex_t expression;
    bool compiled;
};

struct selector {
    struct term terms[SELECTOR_TERMS_MAX];
    size_t count;
};

/* Text between the commas, and where the parser stands in it. */
struct parser {
    const char *next;
    char *why;
};

static enum status fail(struct parser *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum status fail(struct parser *p, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(p->why, SELECTOR_WHY_MAX, format, arguments);
    va_end(arguments);
    return ST_INVALID;
}

static void skip_blanks(struct parser *p)
{
    while (*p->next == ' ' || *p->next == '\t')
        p->next++;
}

static bool is_key_char(char c)
{
    return islower((unsigned char)c) || isdigit((unsigned char)c) || c == '_' || c == '.' ||
           c == '-';
}

static enum status read_key(struct parser *p, struct term *t)
{
    size_t length = 0;

    skip_blanks(p);
    while (is_key_char(p->next[length]))
        length++;
    if (length == 0)
        return fail(p, "a label key was expected at '%.40s': keys are [a-z0-9_.-]+", p->next);
    if (length > LABEL_KEY_MAX)
        return fail(p, "the key '%.20s...' is longer than %d bytes", p->next, LABEL_KEY_MAX);
    memcpy(t->key, p->next, length);
    t->key[length] = '\0';
    p->next += length;
    skip_blanks(p);
    return ST_OK;
}

static enum status read_operator(struct parser *p, struct term *t)
{
    static const struct {
        const char *text;
        enum operator operator;
    } operators[] = {
        {"=~", OPERATOR_MATCH}, {"!~", OPERATOR_NO_MATCH}, {"!=", OPERATOR_NOT_EQUAL},
        {"=", OPERATOR_EQUAL},  {"in ", OPERATOR_IN},      {"in(", OPERATOR_IN},
    };

    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        if (strncmp(p->next, operators[i].text, strlen(operators[i].text)) != 0)
            continue;
        t->operator= operators[i].operator;
        p->next += t->operator== OPERATOR_IN ? 2 : strlen(operators[i].text);
        return ST_OK;
    }
    return fail(p, "after '%s' one of = != =~ !~ in was expected, not '%.20s'", t->key, p->next);
}

static char *copy_trimmed(const char *from, size_t length)
{
    while (length > 0 && (*from == ' ' || *from == '\t'))
        from++, length--;
    while (length > 0 && (from[length - 1] == ' ' || from[length - 1] == '\t'))
        length--;
    return strndup(from, length);
}

/* "(a, b)": stored as "a\0b\0". */
static enum status read_list(struct parser *p, struct term *t)
{
    const char *end;
    char *out;

    skip_blanks(p);
    end = *p->next == '(' ? strchr(p->next, ')') : NULL;
    if (end == NULL)
        return fail(p, "'%s in' wants a list such as (a,b), not '%.20s'", t->key, p->next);
    out = t->value = calloc(1, (size_t)(end - p->next) + 1);
    if (out == NULL)
        return ST_NOMEM;
    for (const char *item = p->next + 1; item <= end;) {
        size_t length = strcspn(item, ",)");
        char *trimmed = copy_trimmed(item, length);

        if (trimmed == NULL)
            return ST_NOMEM;
        out = stpcpy(out, trimmed) + 1;
        free(trimmed);
        item += length + 1;
    }
    t->length = (size_t)(out - t->value);
    p->next = end + 1;
    skip_blanks(p);
    if (*p->next != '\0' && *p->next != ',')
        return fail(p, "after the list of '%s' a comma was expected, not '%.20s'", t->key, p->next);
    return ST_OK;
}

/* A comma inside brackets, braces or parentheses belongs to the expression. */
static size_t expression_length(const char *text)
{
    int depth = 0;
    size_t i;

    for (i = 0; text[i] != '\0'; i++) {
        if (text[i] == '\\' && text[i + 1] != '\0')
            i++;
        else if (strchr("([{", text[i]) != NULL)
            depth++;
        else if (strchr(")]}", text[i]) != NULL)
            depth--;
        else if (text[i] == ',' && depth <= 0)
            break;
    }
    return i;
}

static enum status read_value(struct parser *p, struct term *t)
{
    bool expression = t->operator== OPERATOR_MATCH || t->operator== OPERATOR_NO_MATCH;
    size_t length = expression ? expression_length(p->next) : strcspn(p->next, ",");
    int rc;

    t->value = copy_trimmed(p->next, length);
    if (t->value == NULL)
        return ST_NOMEM;
    t->length = strlen(t->value) + 1;
    p->next += length;
    if (!expression)
        return ST_OK;

    rc = regcomp(&t->expression, t->value, REG_EXTENDED | REG_NOSUB);
    if (rc != 0) {
        char text[64];

        (void)regerror(rc, &t->expression, text, sizeof(text));
        return fail(p, "'%.60s' is not a regular expression: %s", t->value, text);
    }
    t->compiled = true;
    return ST_OK;
}

static enum status read_term(struct parser *p, struct term *t)
{
    enum status st = read_key(p, t);

    if (st == ST_OK)
        st = read_operator(p, t);
    if (st != ST_OK)
        return st;
    return t->operator== OPERATOR_IN ? read_list(p, t) : read_value(p, t);
}

static enum status read_terms(struct parser *p, struct selector *s)
{
    for (;;) {
        enum status st;

        if (s->count == SELECTOR_TERMS_MAX)
            return fail(p, "more than %d terms", SELECTOR_TERMS_MAX);
        st = read_term(p, &s->terms[s->count++]);
        if (st != ST_OK)
            return st;
        if (*p->next == '\0')
            return ST_OK;
        p->next++; /* the comma */
    }
}

enum status selector_parse(const char *text, struct selector **out, char why[SELECTOR_WHY_MAX])
{
    struct parser p = {text, why};
    struct selector *s;
    enum status st = ST_OK;

    why[0] = '\0';
    if (strlen(text) > SELECTOR_TEXT_MAX) {
        (void)fail(&p, "the selector is longer than %d bytes", SELECTOR_TEXT_MAX);
        return ST_TOO_BIG;
    }
    s = calloc(1, sizeof(*s));
    if (s == NULL)
        return ST_NOMEM;
    skip_blanks(&p);
    if (*p.next != '\0' && strcmp(p.next, "*") != 0)
        st = read_terms(&p, s);
    if (st != ST_OK) {
        selector_free(s);
        return st;
    }
    *out = s;
    return ST_OK;
}

void selector_free(struct selector *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->count; i++) {
        free(s->terms[i].value);
        if (s->terms[i].compiled)
            regfree(&s->terms[i].expression);
    }
    free(s);
}

static bool list_has(const struct term *t, const char *value)
{
    for (const char *item = t->value; item < t->value + t->length; item += strlen(item) + 1)
        if (strcmp(item, value) == 0)
            return true;
    return false;
}

static bool term_matches(const struct term *t, const char *value)
{
    switch (t->operator) {
    case OPERATOR_EQUAL:
        return strcmp(value, t->value) == 0;
    case OPERATOR_NOT_EQUAL:
        return strcmp(value, t->value) != 0;
    case OPERATOR_MATCH:
        return regexec(&t->expression, value, 0, NULL, 0) == 0;
    case OPERATOR_NO_MATCH:
        return regexec(&t->expression, value, 0, NULL, 0) != 0;
    case OPERATOR_IN:
        return list_has(t, value);
    }
    return false;
}

bool selector_matches_by(const struct selector *s,
                         const char *(*get)(const void *arg, const char *key), const void *arg)
{
    for (size_t i = 0; i < s->count; i++) {
        const char *value = get(arg, s->terms[i].key);

        if (!term_matches(&s->terms[i], value == NULL ? "" : value))
            return false;
    }
    return true;
}

static const char *get_label(const void *arg, const char *key)
{
    return labels_get(arg, key);
}

bool selector_matches(const struct selector *s, const struct labels *labels)
{
    return selector_matches_by(s, get_label, labels);
}
