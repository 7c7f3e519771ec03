#include "agent/resolve.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/utf8.h"

/* A pid that is gone has no serial of its own: a number that the table never gives. */
#define SERIAL_OF_GONE(pid) (UINT64_C(1) << 63 | (pid))
/* Those that the agent cannot see have no pid either: they are told apart by name. */
#define SERIAL_OF_INVISIBLE(hash) (UINT64_C(3) << 62 | (hash))

static const char kernel_path[] = "[kernel]";

static struct resolved_frame *next_frame(struct resolver *r)
{
    struct resolved_frame *f = &r->frames[r->frame_count++];

    *f = (struct resolved_frame){0};
    return f;
}

static void add_mark(struct resolver *r, const char *name)
{
    struct resolved_frame *f = next_frame(r);

    f->kind = FRAME_MARK;
    f->name = name;
}

/* What a thread waits for is its innermost frame, so every view tells the kinds apart. */
static const char *const wait_marks[ABI_WAITS] = {
#define X(number, NAME, text, help) [ABI_WAIT_##NAME] = (text),
    ABI_WAIT_LIST(X)
#undef X
};

static void add_named(struct resolver *r, const char *name)
{
    struct resolved_frame *f = next_frame(r);

    f->kind = FRAME_NAMED;
    f->name = name;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

/* For the next frame: code that has no identity which holds on another host. */
static const char *address_name(struct resolver *r, const char *what, uint64_t offset)
{
    char *name = r->names[r->frame_count];

    (void)snprintf(name, RESOLVE_NAME_MAX, "%.40s+0x%" PRIx64, what, offset);
    utf8_repair(name, strlen(name));
    return name;
}

static void add_user(struct resolver *r, uint32_t pid, const struct mapping *m, uint64_t address)
{
    const char *name;
    uint64_t offset = address - m->start + m->file_offset;
    struct resolved_frame *f;

    if (m->binary == NULL) {
        name = processes_name_jit(r->processes, pid, address);
        add_named(r, name != NULL ? name : "[jit]");
        return;
    }
    if (m->binary->id.length == 0) {
        add_named(r, address_name(r, base_name(m->binary->path), offset));
        return;
    }
    f = next_frame(r);
    f->kind = FRAME_NATIVE;
    f->binary = &m->binary->id;
    f->path = m->binary->path;
    f->offset = offset;
}

/* A return address names the instruction after the call, which may belong to the next function: the
 * call itself lies one byte before. The innermost frame is where the CPU was. */
static uint64_t code_address(const uint64_t *frames, uint32_t i)
{
    return i == 0 ? frames[0] : frames[i] - 1;
}

/* A walk over frame pointers goes astray in code that has none: it is believed as far as its
 * addresses lie in code that the process has mapped. One by tables leads nowhere else. The
 * innermost is no guess: it is the CPU's own, and if it lies nowhere, a mapping escaped us. */
static uint32_t believable(struct resolver *r, const struct sample *s)
{
    uint32_t n = s->user_count > 0 ? 1 : 0;

    while (n < s->user_count && processes_map(r->processes, s->pid, code_address(s->user, n)))
        n++;
    return n;
}

static const char *cut_mark(const struct sample *s, uint32_t believed)
{
    if (believed < s->user_count)
        return MARK_UNREADABLE;
    switch (s->end) {
    case WALK_TRUNCATED:
        return MARK_TRUNCATED;
    case WALK_UNREADABLE:
        return MARK_UNREADABLE;
    case WALK_UNMAPPED:
        return MARK_ASTRAY;
    case WALK_UNSUPPORTED:
        return MARK_UNSUPPORTED;
    case WALK_STUCK:
        return MARK_STUCK;
    case WALK_LOST:
        return MARK_LOST;
    case WALK_UNKNOWN:
        return MARK_UNKNOWN;
    case WALK_NONE:
    case WALK_ROOT:
    case WALK_ENDS:
        break;
    }
    return NULL;
}

static void resolve_user(struct resolver *r, const struct sample *s)
{
    uint32_t believed = believable(r, s);
    const char *mark = cut_mark(s, believed);

    if (mark != NULL)
        add_mark(r, mark);
    for (uint32_t i = believed; i > 0; i--) {
        uint64_t address = code_address(s->user, i - 1);
        const struct mapping *m = processes_map(r->processes, s->pid, address);

        if (m != NULL)
            add_user(r, s->pid, m, address);
        else
            add_mark(r, MARK_UNMAPPED);
    }
}

static void add_kernel(struct resolver *r, uint64_t address)
{
    struct kernel_frame k = kernel_resolve(r->kernel, address);
    struct resolved_frame *f;

    if (!k.in_image) {
        add_named(r, k.name != NULL ? k.name : address_name(r, kernel_path, address));
        return;
    }
    f = next_frame(r);
    f->kind = FRAME_KERNEL;
    f->binary = kernel_build_id(r->kernel);
    f->path = kernel_path;
    f->offset = k.offset;
}

static void copy_name(char *out, const char comm[ABI_COMM_BYTES])
{
    size_t length = strnlen(comm, ABI_COMM_BYTES);

    memcpy(out, comm, length);
    out[length] = '\0';
    utf8_repair(out, length);
}

/* NULL: gone, or not visible from the agent's pid namespace. */
static const struct process *find_process(struct resolver *r, const struct sample *s)
{
    const struct sighting sighting = {
        .time = s->time, .pid = s->pid, .cgroup = s->cgroup, .cgroup_v1 = s->cgroup_v1};

    if (s->pid == 0)
        return NULL;
    processes_note(r->processes, &sighting);
    return processes_find(r->processes, s->pid);
}

static uint64_t serial_of(const struct sample *s, const struct process *p)
{
    uint32_t hash = 2166136261; /* FNV-1a */

    if (p != NULL)
        return p->serial;
    if (s->pid != 0)
        return SERIAL_OF_GONE(s->pid);
    for (size_t i = 0; i < ABI_COMM_BYTES && s->comm[i] != '\0'; i++)
        hash = (hash ^ (uint8_t)s->comm[i]) * 16777619;
    return SERIAL_OF_INVISIBLE(hash);
}

struct resolved_sample resolve(struct resolver *r, const struct sample *sample)
{
    static const struct labels none;
    const struct process *p = find_process(r, sample);

    r->frame_count = 0;
    if (p == NULL && !sample->kernel_thread)
        add_mark(r, sample->pid == 0 ? MARK_INVISIBLE : MARK_PROCESS_GONE);
    else if (!sample->kernel_thread)
        resolve_user(r, sample);
    for (uint32_t i = sample->kernel_count; i > 0; i--)
        add_kernel(r, code_address(sample->kernel, i - 1));
    if (r->frame_count == 0)
        add_mark(r, MARK_NO_STACK);
    if (sample->wait != ABI_WAIT_NONE)
        add_mark(r, wait_marks[sample->wait]);

    copy_name(r->thread, sample->comm);
    copy_name(r->comm, p != NULL ? p->comm : sample->comm);
    return (struct resolved_sample){
        .event = sample->event,
        .time = sample->time,
        .repeats = sample->repeats,
        .step_ns = sample->step_ns,
        .pid = sample->pid,
        .tid = sample->tid,
        .process_serial = serial_of(sample, p),
        .process_start_ns = p != NULL ? p->start_ns : 0,
        .comm = r->comm,
        .thread_name = r->thread,
        .labels = p != NULL ? &p->labels : &none,
        .frames = r->frames,
        .frame_count = r->frame_count,
        .end = sample->end,
    };
}
