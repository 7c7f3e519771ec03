#include "agent/sampler/sample.h"

#include <string.h>

static bool record_is_whole(const struct abi_sample *s, size_t size)
{
    return size >= sizeof(*s) && s->kernel_frames <= ABI_FRAMES_MAX &&
           s->user_frames <= ABI_FRAMES_MAX && s->end < WALK_ENDS &&
           size >= sizeof(*s) + (s->kernel_frames + s->user_frames) * sizeof(s->frames[0]);
}

/* The copy of the stack behind a whole record's frames; NULL: there is none. */
static const struct abi_raw_stack *raw_stack(const struct abi_sample *s, size_t size)
{
    const void *end_of_frames = s->frames + s->kernel_frames + s->user_frames;
    const struct abi_raw_stack *raw = end_of_frames;
    size_t room = size - (size_t)((const char *)end_of_frames - (const char *)s);

    if ((s->flags & ABI_DEFERRED) == 0 || room < sizeof(*raw) || raw->bytes > ABI_RAW_STACK_MAX ||
        room - sizeof(*raw) < raw->bytes)
        return NULL;
    return raw;
}

bool sample_read(const void *record, size_t size, enum event event, struct sample *out)
{
    const struct abi_sample *s = record;

    if (!record_is_whole(s, size))
        return false;
    *out = (struct sample){
        .event = event,
        .time = {s->time_ns},
        .cgroup = s->cgroup,
        .cgroup_v1 = s->cgroup_v1,
        .pid = s->pid,
        .tid = s->tid,
        .cpu = s->cpu,
        .end = s->end,
        .kernel_thread = (s->flags & ABI_KERNEL_THREAD) != 0,
        .kernel = (const uint64_t *)s->frames,
        .kernel_count = s->kernel_frames,
        .user = (const uint64_t *)s->frames + s->kernel_frames,
        .user_count = s->user_frames,
        .raw = raw_stack(s, size),
    };
    memcpy(out->comm, s->comm, sizeof(out->comm));
    return true;
}
