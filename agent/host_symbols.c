#include "agent/host_symbols.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/symbols/debug_file.h"
#include "common/symbols/extract.h"

struct symbol_file { /* data of a symbol_job: one of the two */
    struct kernel_image image; /* the kernel's */
    int fd; /* an ELF file's; -1: the kernel */
};

static enum status read_symbols(struct symbol_job *job, struct symtab *out)
{
    static const struct extract_options options = {DEBUG_FILE_ROOT, .places = false};
    const struct symbol_file *f = job->data;

    return f->fd < 0 ? kernel_symtab(f->image, out) : extract_symbols(f->fd, &options, out);
}

static void close_symbols(struct symbol_job *job)
{
    struct symbol_file *f = job->data;

    if (f->fd >= 0)
        close(f->fd);
    free(f);
    job->data = NULL;
}

enum status host_symbols_open(const struct kernel_symbols *kernel, struct processes *processes,
                              const struct build_id *id, struct symbol_job *out)
{
    struct symbol_file *f = calloc(1, sizeof(*f));
    enum status st = ST_OK;

    if (f == NULL)
        return ST_NOMEM;
    f->fd = -1;
    if (build_id_equal(id, kernel_build_id(kernel)))
        f->image = kernel_image(kernel);
    else
        st = processes_open_binary(processes, id, &f->fd);
    if (st != ST_OK) {
        free(f);
        return st;
    }
    *out = (struct symbol_job){*id, f, read_symbols, close_symbols};
    return ST_OK;
}
