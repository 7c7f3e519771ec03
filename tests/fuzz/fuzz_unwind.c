/* Any bytes as a stack, as registers and as unwind tables: the walk reads within them and ends. */
#include <stdint.h>
#include <string.h>

#include "bpf/unwind_world.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/unwind_input.h"

enum { READS_MAX = 3 * ABI_FRAMES_MAX /* the most that a rule wants: CFA, rbp, return address */ };

struct memory {
    const __u8 *stack;
    size_t length;
    struct abi_page pages[INPUT_PAGES];
    struct abi_shard *shard;
    __u32 reads;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_stack(void *arg, __u64 address, void *to, __u32 bytes)
{
    struct memory *m = arg;

    m->reads++;
    require(bytes <= 8 * UNWIND_WORDS);
    if (address < INPUT_STACK_START || address - INPUT_STACK_START > m->length ||
        m->length - (address - INPUT_STACK_START) < bytes)
        return -1;
    memcpy(to, m->stack + (address - INPUT_STACK_START), bytes);
    return 0;
}

static const struct abi_page *find_page(void *arg, __u32 pid, __u32 page)
{
    const struct memory *m = arg;

    require(pid == INPUT_PID);
    return page < INPUT_PAGES ? &m->pages[page] : NULL;
}

static const struct abi_shard *find_shard(void *arg, __u32 shard)
{
    const struct memory *m = arg;

    return shard == 0 ? m->shard : NULL;
}

/* Rows lie at both ends of the one shard that all runs fill: ranges may name any. */
static void fill(struct memory *m, const struct unwind_input *t)
{
    static struct abi_shard *shard; /* on the heap, whose bounds are watched */

    if (shard == NULL)
        shard = calloc(1, sizeof(*shard));
    require(shard != NULL);
    m->shard = shard;
    memcpy(m->shard->rows, t->rows, sizeof(t->rows));
    memcpy(m->shard->rows + ABI_SHARD_ROWS - INPUT_ROWS, t->rows, sizeof(t->rows));
    for (int i = 0; i < INPUT_PAGES; i++) {
        m->pages[i].ranges = t->page[i].ranges;
        m->pages[i].pages = t->page[i].pages;
        memcpy(m->pages[i].range, t->page[i].range, sizeof(t->page[i].range));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct unwind_input t;
    struct memory m = {0};
    struct unwind_world w = {.read = read_stack, .page = find_page, .shard = find_shard, .arg = &m};
    __u64 frames[ABI_FRAMES_MAX];
    struct unwound walk;

    if (size < sizeof(t))
        return -1;
    memcpy(&t, data, sizeof(t));
    m.stack = data + sizeof(t);
    m.length = size - sizeof(t);
    fill(&m, &t);
    walk = unwind_world_walk(&w, INPUT_PID, &t.at, frames);
    require(walk.frames >= 1 && walk.frames <= ABI_FRAMES_MAX && frames[0] == t.at.ip);
    require(walk.end > WALK_NONE && walk.end < WALK_ENDS);
    require(m.reads <= READS_MAX);
    return 0;
}
