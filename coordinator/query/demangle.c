/* demangle - libiberty's two demanglers that write through a callback: they allocate nothing for
 * the text, and the callback can put an end to a name that explodes. */
#include "coordinator/query/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

struct text {
    char *bytes;
    size_t length;
    jmp_buf too_long;
};

/* The demanglers have no way to be told to stop, so a name past the limit leaves through longjmp.
 * They keep their state on the stack; only a Rust identifier in Punycode holds a small buffer. */
static void append(const char *bytes, size_t length, void *arg)
{
    struct text *t = arg;

    if (length >= DEMANGLE_TEXT_MAX - t->length)
        longjmp(t->too_long, 1);
    memcpy(t->bytes + t->length, bytes, length);
    t->length += length;
}

static bool is_candidate(const char *name)
{
    while (*name == '.' || *name == '$') /* PowerPC entry points and the like */
        name++;
    return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0 ||
           strncmp(name, "_GLOBAL_", 8) == 0;
}

/* Old Rust names are valid C++ names as well, so Rust is asked first. */
static bool demangle_into(const char *mangled, struct text *t)
{
    if (setjmp(t->too_long) != 0)
        return false;
    if (rust_demangle_callback(mangled, DMGL_NO_OPTS, append, t))
        return true;
    t->length = 0;
    return cplus_demangle_v3_callback(mangled, DMGL_NO_OPTS, append, t);
}

bool demangle(const char *mangled, char out[DEMANGLE_TEXT_MAX])
{
    struct text t = {.bytes = out};

    if (!is_candidate(mangled) || !demangle_into(mangled, &t) || t.length == 0)
        return false;
    out[t.length] = '\0';
    return true;
}
