#include "agent/symbols/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/symbols/kallsyms.h"
#include "common/symbols/hash.h"
#include "common/symbols/notes.h"

#define KALLSYMS_PATH "/proc/kallsyms"
#define NOTES_PATH "/sys/kernel/notes"

enum {
    NOTES_BYTES_MAX = 64 << 10,
    FUNCTION_BYTES_MAX = 1 << 20, /* a module's last function reaches no further than this */
    REFRESH_PAUSE_MAX = 64, /* calls of kernel_symbols_refresh between two fruitless readings */
};

struct kernel_image { /* the core kernel's code; start 0: addresses are hidden */
    uint64_t start, end;
};

struct kernel_symbols {
    struct build_id id;
    struct kernel_image image;
    struct symtab movable; /* by address: modules, BPF programs, trampolines */
    const char *degraded; /* NULL: all is well */
    bool missed; /* an address was unknown since the last reading */
    uint32_t pause, skipped; /* refreshes to skip, skipped so far */
};

static enum status id_from_notes(struct build_id *out)
{
    uint8_t *bytes = malloc(NOTES_BYTES_MAX);
    int fd = open(NOTES_PATH, O_RDONLY | O_CLOEXEC);
    enum status st = ST_NOT_FOUND;
    ssize_t length = 0;
    struct slice note;

    if (bytes == NULL || fd < 0)
        goto out;
    length = read(fd, bytes, NOTES_BYTES_MAX);
    if (length > 0 &&
        notes_find((struct slice){bytes, (size_t)length}, 4, "GNU", NOTE_GNU_BUILD_ID, &note))
        st = build_id_from_bytes(note.bytes, note.length, out);
out:
    if (fd >= 0)
        close(fd);
    free(bytes);
    return st;
}

/* Release and version tell builds of one configuration apart, if not two builds of one minute. */
static enum status id_from_uname(struct build_id *out)
{
    struct utsname name;
    char text[sizeof(name.release) + sizeof(name.version) + 2];
    int length;

    if (uname(&name) != 0)
        return status_from_errno(errno);
    length = snprintf(text, sizeof(text), "%s %s", name.release, name.version);
    return hash_bytes((struct slice){(const uint8_t *)text, (size_t)length}, out);
}

/* Calls `visit` for each line that parses, from the first on, until it fails. */
static enum status each_symbol(FILE *f, enum status (*visit)(void *arg, const struct kallsym *s),
                               void *arg)
{
    enum status st = ST_OK;
    char line[KALLSYMS_LINE_MAX];
    struct kallsym s;

    rewind(f);
    while (st == ST_OK && fgets(line, sizeof(line), f) != NULL)
        if (kallsyms_parse(line, &s))
            st = visit(arg, &s);
    return st;
}

struct reading { /* of all of kallsyms */
    struct kernel_image image;
    uint64_t text_end; /* where a kernel without data symbols ends */
    struct symtab movable;
};

static enum status read_one(void *arg, const struct kallsym *s)
{
    struct reading *r = arg;
    char name[KALLSYMS_NAME_MAX + KALLSYMS_MODULE_MAX + 4];

    if (s->address == 0)
        return ST_OK;
    if (s->module[0] != '\0') {
        if (!kallsym_is_text(s))
            return ST_OK;
        (void)snprintf(name, sizeof(name), "%s [%s]", s->name, s->module);
        return symtab_add(&r->movable, s->address, 0, name);
    }
    if (strcmp(s->name, "_text") == 0)
        r->image.start = s->address;
    else if (strcmp(s->name, "_end") == 0)
        r->image.end = s->address;
    else if (strcmp(s->name, "_etext") == 0 || strcmp(s->name, "_einittext") == 0)
        r->text_end = s->address > r->text_end ? s->address : r->text_end;
    return ST_OK;
}

/* Sizes are not in kallsyms: a function ends where the next begins, but not megabytes away. */
static void bound_sizes(struct symtab *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        struct symbol *s = &t->symbols[i];

        s->size = FUNCTION_BYTES_MAX;
        if (i + 1 < t->count && t->symbols[i + 1].start - s->start < s->size)
            s->size = t->symbols[i + 1].start - s->start;
    }
}

static struct kernel_image whole_image(const struct reading *r)
{
    return (struct kernel_image){r->image.start, r->image.end != 0 ? r->image.end : r->text_end};
}

static bool is_shown(struct kernel_image image)
{
    return image.start != 0 && image.end > image.start;
}

/* Leaves what was there when it cannot be read. */
static enum status read_kallsyms(struct kernel_symbols *k)
{
    struct reading r = {0};
    FILE *f = fopen(KALLSYMS_PATH, "re");
    enum status st = f == NULL ? status_from_errno(errno) : each_symbol(f, read_one, &r);

    if (f != NULL)
        (void)fclose(f); /* only read */
    if (st != ST_OK) {
        symtab_deinit(&r.movable);
        if (st == ST_NOMEM)
            return st;
        k->degraded = "kernel functions have no names: " KALLSYMS_PATH " cannot be read";
        return ST_OK;
    }
    if (!is_shown(whole_image(&r))) {
        symtab_deinit(&r.movable);
        k->degraded = "kernel functions have no names: their addresses are hidden "
                      "(kernel.kptr_restrict); CAP_SYSLOG shows them";
        return ST_OK;
    }
    symtab_sort(&r.movable);
    bound_sizes(&r.movable);
    symtab_deinit(&k->movable);
    k->movable = r.movable;
    k->image = whole_image(&r);
    k->degraded = NULL;
    return ST_OK;
}

enum status kernel_symbols_open(struct kernel_symbols **out)
{
    struct kernel_symbols *k = calloc(1, sizeof(*k));
    enum status st = ST_NOMEM;

    if (k == NULL)
        return ST_NOMEM;
    st = id_from_notes(&k->id);
    if (st != ST_OK)
        st = id_from_uname(&k->id);
    if (st != ST_OK)
        goto out;
    st = read_kallsyms(k);
    if (st != ST_OK)
        goto out;
    *out = k;
    k = NULL;
out:
    kernel_symbols_close(k);
    return st;
}

void kernel_symbols_close(struct kernel_symbols *k)
{
    if (k == NULL)
        return;
    symtab_deinit(&k->movable);
    free(k);
}

const struct build_id *kernel_build_id(const struct kernel_symbols *k)
{
    return &k->id;
}

const char *kernel_degraded(const struct kernel_symbols *k)
{
    return k->degraded;
}

struct kernel_frame kernel_resolve(struct kernel_symbols *k, uint64_t address)
{
    struct kernel_frame frame = {.offset = address};

    if (address >= k->image.start && address < k->image.end) {
        frame.in_image = true;
        frame.offset = address - k->image.start;
        return frame;
    }
    frame.name = symtab_find(&k->movable, address);
    if (frame.name == NULL)
        k->missed = true;
    return frame;
}

/* Reading takes some 80 ms, so addresses that stay unknown are asked for less and less often. */
enum status kernel_symbols_refresh(struct kernel_symbols *k)
{
    if (!k->missed)
        return ST_OK;
    if (k->skipped < k->pause) {
        k->skipped++;
        return ST_OK;
    }
    k->missed = false;
    k->skipped = 0;
    k->pause = k->pause == 0 ? 1 : 2 * k->pause;
    if (k->pause > REFRESH_PAUSE_MAX)
        k->pause = REFRESH_PAUSE_MAX;
    return read_kallsyms(k);
}

enum status kernel_open_kallsyms(int *out)
{
    int fd = open(KALLSYMS_PATH, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return status_from_errno(errno);
    *out = fd;
    return ST_OK;
}

struct core_reading {
    struct kernel_image image;
    struct symtab table;
};

static enum status read_core(void *arg, const struct kallsym *s)
{
    struct core_reading *r = arg;

    if (s->module[0] != '\0' || !kallsym_is_text(s) || s->address < r->image.start ||
        s->address >= r->image.end)
        return ST_OK;
    return symtab_add(&r->table, s->address - r->image.start, 0, s->name);
}

/* Twice through the file: where the image ends is known at its end. */
static enum status read_core_table(FILE *f, struct symtab *out)
{
    struct reading whole = {0};
    struct core_reading r = {0};
    enum status st = each_symbol(f, read_one, &whole);

    r.image = whole_image(&whole);
    symtab_deinit(&whole.movable);
    if (st == ST_OK && is_shown(r.image))
        st = each_symbol(f, read_core, &r);
    if (st != ST_OK) {
        symtab_deinit(&r.table);
        return st;
    }
    symtab_sort(&r.table);
    r.table.sources = SYMTAB_FROM_KALLSYMS;
    *out = r.table;
    return ST_OK;
}

enum status kernel_symtab(int kallsyms, struct symtab *out)
{
    int fd = fcntl(kallsyms, F_DUPFD_CLOEXEC, 0);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    enum status st;

    if (f == NULL) {
        st = status_from_errno(errno);
        if (fd >= 0)
            close(fd);
        return st;
    }
    st = read_core_table(f, out);
    (void)fclose(f); /* only read */
    return st;
}
