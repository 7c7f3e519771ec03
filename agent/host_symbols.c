#include "agent/host_symbols.h"

#include <unistd.h>

#include "agent/symbol_child.h"

static enum status run(struct symbol_job *job, int *out_fd, char why[SYMBOL_WHY_MAX])
{
    return symbol_child_run(job->data, out_fd, why);
}

static void cancel(struct symbol_job *job)
{
    symbol_child_kill(job->data);
}

static void close_job(struct symbol_job *job)
{
    symbol_child_free(job->data);
    job->data = NULL;
}

enum status host_symbols_open(const struct kernel_symbols *kernel, struct processes *processes,
                              const struct build_id *id, struct symbol_job *out)
{
    bool of_kernel = build_id_equal(id, kernel_build_id(kernel));
    struct symbol_child *child = NULL;
    int fd = -1;
    enum status st =
        of_kernel ? kernel_open_kallsyms(&fd) : processes_open_binary(processes, id, &fd);

    if (st != ST_OK)
        return st;
    st = symbol_child_new(fd, of_kernel ? SYMBOL_INPUT_KALLSYMS : SYMBOL_INPUT_ELF, &child);
    if (st != ST_OK) {
        close(fd);
        return st;
    }
    *out = (struct symbol_job){*id, child, run, cancel, close_job};
    return ST_OK;
}
