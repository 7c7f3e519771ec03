/* loader - tries one sampling program after the other, the best one first. */
#include "agent/sampler/loader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sampler/cgroups.h"
#include "agent/sampler/last_words.h"
#include "bpf/oncpu.skel.h"

/* ---- one attempt ---- */

static struct bpf_program *sampling_program(const struct oncpu_bpf *skeleton,
                                            enum sampler_walk walk)
{
    switch (walk) {
    case SAMPLER_WALK_FAST:
        return skeleton->progs.on_cpu;
    case SAMPLER_WALK_COMPAT:
        return skeleton->progs.on_cpu_compat;
    case SAMPLER_WALK_PLAIN:
        break;
    }
    return skeleton->progs.on_cpu_plain;
}

/* The plain walk wants no tables, so none can keep it from running either. */
static int configure(struct oncpu_bpf *skeleton, const struct loader_options *options,
                     enum sampler_walk walk)
{
    bool tables = walk != SAMPLER_WALK_PLAIN;

    skeleton->rodata->agent_pid_namespace = options->pid_namespace;
    skeleton->rodata->cgroup_v1_memory = cgroup_memory_is_on_v1();
    bpf_program__set_autoload(skeleton->progs.on_cpu, walk == SAMPLER_WALK_FAST);
    bpf_program__set_autoload(skeleton->progs.on_cpu_compat, walk == SAMPLER_WALK_COMPAT);
    bpf_program__set_autoload(skeleton->progs.on_cpu_plain, walk == SAMPLER_WALK_PLAIN);
    bpf_program__set_autoload(skeleton->progs.on_exec, tables);
    bpf_program__set_autoload(skeleton->progs.on_exit, tables);
    if (!tables && bpf_map__set_max_entries(skeleton->maps.processes, 1) != 0)
        return -EINVAL;
    return bpf_map__set_max_entries(skeleton->maps.ring, options->ring_bytes);
}

/* A negative errno; then `out` is as it was. */
static int try_walk(const struct loader_options *options, enum sampler_walk walk,
                    struct loaded *out)
{
    struct oncpu_bpf *skeleton = oncpu_bpf__open();
    int rc;

    if (skeleton == NULL)
        return -errno;
    rc = configure(skeleton, options, walk);
    if (rc == 0)
        rc = oncpu_bpf__load(skeleton);
    if (rc != 0) {
        oncpu_bpf__destroy(skeleton);
        return rc;
    }
    out->skeleton = skeleton;
    out->program_fd = bpf_program__fd(sampling_program(skeleton, walk));
    out->walk = walk;
    return 0;
}

/* ---- attempts ---- */

static const char *const left_out[] = {
    [SAMPLER_WALK_FAST] = "",
    [SAMPLER_WALK_COMPAT] = "stacks are walked by the program for old kernels",
    [SAMPLER_WALK_PLAIN] = "stacks are walked over frame pointers alone",
};

static void note(struct loaded *l, const char *what, const char *why)
{
    size_t used = strlen(l->degraded);

    (void)snprintf(l->degraded + used, sizeof(l->degraded) - used, "%s%s: %s",
                   used == 0 ? "" : "; ", what, why);
}

static bool kernel_has_loops(void)
{
    return libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) == 1;
}

/* Without permission or memory no other program fares better. */
static int try_walks(const struct loader_options *options, struct loaded *out)
{
    enum sampler_walk walk = options->walk;
    char why[LAST_WORDS_MAX] = "as it was asked to";
    int rc;

    if (walk == SAMPLER_WALK_FAST && !kernel_has_loops()) {
        walk = SAMPLER_WALK_COMPAT;
        (void)snprintf(why, sizeof(why), "this kernel has no bpf_loop");
    }
    for (;; walk++) {
        last_words_forget();
        rc = try_walk(options, walk, out);
        if (rc == 0 || rc == -EPERM || rc == -ENOMEM || walk == SAMPLER_WALK_PLAIN)
            break;
        (void)snprintf(why, sizeof(why), "%s", last_words());
    }
    if (rc == 0 && walk != SAMPLER_WALK_FAST)
        note(out, left_out[walk], why);
    return rc;
}

/* Without them a walk may go by the tables of a process that is no more, until the agent hears. */
static void attach_hooks(struct loaded *l)
{
    if (l->walk == SAMPLER_WALK_PLAIN)
        return;
    l->on_exec = bpf_program__attach(l->skeleton->progs.on_exec);
    l->on_exit = bpf_program__attach(l->skeleton->progs.on_exit);
    if (l->on_exec == NULL || l->on_exit == NULL)
        note(l, "unwind tables outlive their process a little", last_words());
}

enum status loader_load(const struct loader_options *options, struct loaded *out,
                        char why[SAMPLER_WHY_MAX])
{
    int rc;

    last_words_listen(true);
    rc = try_walks(options, out);
    if (rc == 0)
        attach_hooks(out);
    last_words_listen(false);
    return rc == 0 ? ST_OK : last_words_explain(-rc, why);
}

void loader_unload(struct loaded *l)
{
    bpf_link__destroy(l->on_exec);
    bpf_link__destroy(l->on_exit);
    oncpu_bpf__destroy(l->skeleton);
    memset(l, 0, sizeof(*l));
}
