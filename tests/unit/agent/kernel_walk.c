/* kernel_walk - shards are made as the agent makes them: arrays of one, inside an array of maps. */
#include "tests/unit/agent/kernel_walk.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/agent/walk.skel.h"

struct kernel_walk {
    struct walk_bpf *skeleton;
    double load_ms;
    int statistics; /* the kernel counts as long as this is open; -1: it does not */
};

static int say_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
    return level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

static struct bpf_program *find(const struct kernel_walk *k, const char *program)
{
    struct bpf_program *p = bpf_object__find_program_by_name(k->skeleton->obj, program);

    if (p == NULL)
        abort();
    return p;
}

static double now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int load(struct kernel_walk *k, const char *const *programs)
{
    struct bpf_program *p;
    double start = now_ms();
    int rc;

    bpf_object__for_each_program(p, k->skeleton->obj)
    {
        bpf_program__set_autoload(p, false);
    }
    for (; *programs != NULL; programs++)
        bpf_program__set_autoload(find(k, *programs), true);
    rc = bpf_map__set_max_entries(k->skeleton->maps.processes, 16);
    if (rc == 0)
        rc = walk_bpf__load(k->skeleton);
    k->load_ms = now_ms() - start;
    return rc;
}

struct kernel_walk *kernel_walk_open(const char *const *programs)
{
    struct kernel_walk *k = calloc(1, sizeof(*k));
    int rc = -1;

    if (k == NULL)
        return NULL;
    k->statistics = -1;
    libbpf_set_print(say_nothing);
    k->skeleton = walk_bpf__open();
    if (k->skeleton != NULL)
        rc = load(k, programs);
    if (rc != 0) {
        (void)fprintf(stderr, "skipped: loading walk.bpf.c: %s\n", strerror(-rc));
        kernel_walk_close(k);
        return NULL;
    }
    return k;
}

void kernel_walk_close(struct kernel_walk *k)
{
    if (k == NULL)
        return;
    if (k->statistics >= 0)
        close(k->statistics);
    walk_bpf__destroy(k->skeleton);
    free(k);
}

void kernel_walk_set_page(struct kernel_walk *k, __u32 pid, __u32 page,
                          const struct abi_page *value)
{
    const struct abi_page_key key = {pid, page};

    if (bpf_map_update_elem(bpf_map__fd(k->skeleton->maps.processes), &key, value, BPF_ANY) != 0)
        abort();
}

void kernel_walk_drop_page(struct kernel_walk *k, __u32 pid, __u32 page)
{
    const struct abi_page_key key = {pid, page};

    (void)bpf_map_delete_elem(bpf_map__fd(k->skeleton->maps.processes), &key);
}

void kernel_walk_set_shard(struct kernel_walk *k, __u32 number, const struct abi_shard *value)
{
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
    __u32 zero = 0;
    int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "shard", sizeof(zero), sizeof(*value), 1, &options);

    if (fd < 0 || bpf_map_update_elem(fd, &zero, value, BPF_ANY) != 0 ||
        bpf_map_update_elem(bpf_map__fd(k->skeleton->maps.shards), &number, &fd, BPF_ANY) != 0)
        abort();
    close(fd);
}

enum walk_end kernel_walk_run(struct kernel_walk *k, const char *program, __u32 pid,
                              const struct abi_registers *at, __u32 *count)
{
    __u64 args[] = {at->ip, at->sp, at->bp, at->r10, pid};
    union bpf_attr attr = {.test = {.prog_fd = (__u32)bpf_program__fd(find(k, program)),
                                    .ctx_in = (__u64)(uintptr_t)args,
                                    .ctx_size_in = sizeof(args)}};

    k->skeleton->bss->frame_count = UINT32_MAX;
    if (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr)) != 0)
        abort();
    *count = k->skeleton->bss->frame_count;
    return k->skeleton->bss->end;
}

const __u64 *kernel_walk_frames(const struct kernel_walk *k)
{
    return k->skeleton->bss->frames;
}

static struct bpf_prog_info info_of(const struct kernel_walk *k, const char *program)
{
    struct bpf_prog_info info = {0};
    __u32 length = sizeof(info);

    (void)bpf_obj_get_info_by_fd(bpf_program__fd(find(k, program)), &info, &length);
    return info;
}

__u32 kernel_walk_instructions(struct kernel_walk *k, const char *program)
{
    return info_of(k, program).verified_insns;
}

double kernel_walk_load_ms(const struct kernel_walk *k)
{
    return k->load_ms;
}

void kernel_walk_read_time(struct kernel_walk *k, const char *program, __u64 *ns, __u64 *runs)
{
    struct bpf_prog_info info = info_of(k, program);

    *ns = info.run_time_ns;
    *runs = info.run_cnt;
}

bool kernel_walk_count_time(struct kernel_walk *k)
{
    k->statistics = bpf_enable_stats(BPF_STATS_RUN_TIME);
    return k->statistics >= 0;
}
